//! Event logs of OpenAI evals: a head, events, a final report.
//!
//! A `sampling` event is a call of a model, a `function_call` one of a tool; matches and metrics hold no call. There is
//! no latency.
//!
//! **Source**: openai/evals `record.py`.

use super::{Call, Entries, Outcome, aside};
use crate::record::{
    Container,
    body::message::{take_name, take_text},
    json::Json,
    values,
};

/// Reads one line.
pub(super) fn read<'a>(value: Json<'a>, entries: &mut Entries<'a>) {
    if value.get("spec").is_some() {
        return entries.aside(Container::OpenAiEvals, "the head of a log");
    }
    if value.get("final_report").is_some() {
        return entries.aside(Container::OpenAiEvals, "a final report");
    }
    entries.push(event(value));
}

fn event(mut value: Json<'_>) -> Outcome<'_> {
    let kind = take_text(&mut value, "type").unwrap_or_default();
    let mut data = value.take("data").unwrap_or_default();
    let mut call = match &*kind {
        "sampling" => Call::llm(Container::OpenAiEvals),
        "function_call" => Call::tool(Container::OpenAiEvals, take_name(&mut data, "name")),
        _ => return Ok(aside(Container::OpenAiEvals, "an event without a call")),
    };
    let run = take_name(&mut value, "run_id").unwrap_or_default();
    let number = take_name(&mut value, "event_id").unwrap_or_default();
    call.record.id = Some(format!("{run}/{number}").into());
    call.record.session_id = take_name(&mut value, "sample_id");
    call.record.timestamp_ms = value.get("created_at").and_then(|at| values::timestamp_ms(at, None).ok());
    if &*kind == "sampling" {
        call.requested = take_text(&mut data, "model");
        call.ask(data.take("prompt"));
        let sampled = match data.take("sampled") {
            Some(Json::Array(samples)) => samples.into_iter().next(),
            other => other,
        };
        call.answer(sampled);
    } else {
        call.args(data.take("arguments"));
        call.result(data.take("return_value"));
    }
    Ok(call.finish())
}
