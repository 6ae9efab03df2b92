//! Inspect AI logs, as JSON documents.
//!
//! Each sample gives its calls: the `model` and `tool` events where they carry their own messages, else the sample's
//! conversation and its last answer. New logs keep messages once per sample and refer to them (`input_refs`), so that
//! the first call of a sample is not told from the last: only the last is read then, with the sample's messages.
//!
//! - latency of a model event: `completed` - `timestamp`; of a sample `output.time` (seconds)
//! - model that was asked for: `eval.model`; that answered: `output.model`
//!
//! **Source**: inspect_ai 0.3, `EvalLog` version 2.
//!
//! **Limits**: `.eval` files are archives; `inspect log dump` makes JSON of them.

use std::borrow::Cow;

use super::{Writer, has_any};
use crate::record::{
    Container,
    body::{
        Conversation, error_of,
        message::{take_name, take_text},
        openai_chat,
        usage::Usage,
    },
    call::{Call, Entries, Outcome, name_at, parent},
    json::Json,
    values::Unit,
};

const CONTAINER: Container = Container::named("inspect");

/// Inspect AI logs (JSON).
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "Inspect AI logs (JSON)",
    told_by: "`eval` with `samples` or `plan`",
    marks: &["eval"],
    matches: |value| value.get("eval").is_some() && has_any(value, &["samples", "plan"]),
    read,
    joiner: None,
};

/// Reads a log.
fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let model = name_at(&value, &["eval", "model"]);
    let run = name_at(&value, &["eval", "run_id"]);
    entries.push(Ok(parent(CONTAINER, "the head of a log")));
    let Some(Json::Array(samples)) = value.take("samples") else { return };
    for sample in samples {
        read_sample(sample, model.clone(), run.clone(), entries);
    }
}

fn read_sample<'a>(
    mut sample: Json<'a>,
    model: Option<Cow<'a, str>>,
    run: Option<Cow<'a, str>>,
    entries: &mut Entries<'a>,
) {
    let id = name_at(&sample, &["uuid"]).or_else(|| name_at(&sample, &["id"]));
    let session = run.map(|run| match name_at(&sample, &["id"]) {
        Some(id) => Cow::Owned(format!("{run}/{id}")),
        None => run,
    });
    let events = match sample.take("events") {
        Some(Json::Array(events)) => events,
        _ => Vec::new(),
    };
    let is_tool = |event: &Json<'_>| event.get("event").and_then(Json::as_str) == Some("tool");
    for event in events.into_iter().filter(is_tool) {
        entries.push(tool_event(event, session.clone()));
    }
    let mut call = Call::llm(CONTAINER);
    call.record.id = id;
    call.record.session_id = session;
    call.requested = model;
    let mut output = sample.take("output").unwrap_or_default();
    if let Some(Json::Array(mut messages)) = sample.take("messages") {
        // The last message is the answer itself, which the output repeats.
        let has_answer = output.get("choices").and_then(Json::as_array).is_some_and(|choices| !choices.is_empty());
        let is_answer =
            messages.last().is_some_and(|last| last.get("role").and_then(Json::as_str) == Some("assistant"));
        if has_answer && is_answer {
            messages.pop();
        }
        call.asked(Conversation::of_messages(messages));
    } else {
        call.ask(sample.take("input"));
    }
    call.times(sample.take("started_at"), None, None);
    call.reported_latency(output.get("time"), Unit::S);
    call.record.response_id = take_name(&mut output, "response_id");
    call.served = take_text(&mut output, "model");
    if let Some(usage) = output.take("usage") {
        Usage::of(&usage).fill(&mut call.record);
    }
    if let Some(choices) = output.take("choices") {
        call.answered(openai_chat::read_choices(choices));
    }
    let error = sample.take("error").or_else(|| output.take("error")).and_then(error_of);
    call.record.error = call.record.error.take().or(error);
    entries.push(Ok(call.finish()));
}

fn tool_event<'a>(mut event: Json<'a>, session: Option<Cow<'a, str>>) -> Outcome<'a> {
    let mut call = Call::tool(CONTAINER, take_text(&mut event, "function"));
    call.record.call_id = take_name(&mut event, "id");
    call.record.id = take_name(&mut event, "uuid").or_else(|| call.record.call_id.clone());
    call.record.session_id = session;
    call.times(event.take("timestamp"), event.take("completed"), None);
    call.reported_latency(event.get("working_time"), Unit::S);
    call.args(event.take("arguments"));
    call.result(event.take("result"));
    call.record.error = event.take("error").and_then(error_of);
    Ok(call.finish())
}
