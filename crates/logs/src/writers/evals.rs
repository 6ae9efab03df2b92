//! Event logs of OpenAI evals: a head, events, a final report.
//!
//! A `sampling` event is a call of a model, a `function_call` one of a tool; matches and metrics hold no call. There is
//! no latency.
//!
//! **Source**: openai/evals `record.py`.

use super::{Writer, has_all};
use crate::record::{
    Container,
    body::message::{take_name, take_text},
    call::{Call, Entries, Outcome, skipped},
    json::Json,
    values,
};

const CONTAINER: Container = Container::named("openai_evals");

/// Event logs.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "event logs",
    told_by: "`spec`, `final_report`, `event_id` with `sample_id`",
    marks: &["spec", "final_report", "event_id"],
    matches: is_line,
    read,
    joiner: None,
};

fn is_line(value: &Json<'_>) -> bool {
    let is_head = |spec: &Json<'_>| spec.get("run_config").is_some() || spec.get("eval_name").is_some();
    value.get("final_report").is_some()
        || value.get("spec").is_some_and(is_head)
        || has_all(value, &["event_id", "sample_id"])
}

/// Reads one line.
fn read<'a>(value: Json<'a>, entries: &mut Entries<'a>) {
    if value.get("spec").is_some() {
        return entries.skipped(CONTAINER, "the head of a log");
    }
    if value.get("final_report").is_some() {
        return entries.skipped(CONTAINER, "a final report");
    }
    entries.push(event(value));
}

fn event(mut value: Json<'_>) -> Outcome<'_> {
    let kind = take_text(&mut value, "type").unwrap_or_default();
    let mut data = value.take("data").unwrap_or_default();
    let mut call = match &*kind {
        "sampling" => Call::llm(CONTAINER),
        "function_call" => Call::tool(CONTAINER, take_name(&mut data, "name")),
        _ => return Ok(skipped(CONTAINER, "an event without a call")),
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
