//! Events of New Relic's AI monitoring: a summary of a call, and one event a message, joined by the id of the completion.
//!
//! A message is a part of the call that its summary tells. What the model said has `is_response`; `duration` is in
//! milliseconds. Tools, searches and embeddings have events of their own.
//!
//! **Source**: `hooks/mlmodel_openai.py`, `mlmodel_langchain.py` and `external_botocore.py` of the Python agent 9 to 11;
//! `lib/llm-events` of the Node.js agent.

use std::borrow::Cow;

use super::{Writer, has_all, has_any, text};
use crate::record::{
    Container, Entry, Note,
    body::{
        Answer, Conversation,
        message::{take_name, take_text},
    },
    call::{Call, Outcome, is_said, skipped},
    json::Json,
    values::{self, Unit},
};

const CONTAINER: Container = Container::named("newrelic");

/// Events of New Relic's AI monitoring.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "events of AI monitoring: summaries, messages, tools",
    told_by: "`eventType` or `type` that begins with `Llm`; `completion_id` with `sequence`",
    marks: &["eventType", "type", "completion_id", "response.number_of_messages"],
    matches: |value| {
        kind_of(value).is_some() || has_all(value, &["completion_id", "sequence"]) || has_any(value, &[SUMMARY_KEY])
    },
    read: |value, entries| entries.push(read(value)),
    joiner: None,
};

const SUMMARY_KEY: &str = "response.number_of_messages";

fn kind_of<'v>(value: &'v Json<'_>) -> Option<&'v str> {
    ["eventType", "type"].into_iter().find_map(|key| text(value, key).strip_prefix("Llm"))
}

fn read(value: Json<'_>) -> Outcome<'_> {
    let kind = kind_of(&value).unwrap_or_default().to_owned();
    Ok(match kind.as_str() {
        "ChatCompletionMessage" => message(value),
        "ChatCompletionSummary" => summary(value),
        "Tool" => tool(value),
        "Embedding" => skipped(CONTAINER, "an embedding"),
        "VectorSearch" | "VectorSearchResult" => skipped(CONTAINER, "a retrieval"),
        "" if value.get("completion_id").is_some() => message(value),
        "" => summary(value),
        _ => skipped(CONTAINER, "an event without a call"),
    })
}

/// Ids, model and time, which all events have.
fn frame<'a>(value: &mut Json<'a>, call: &mut Call<'a>) {
    call.requested = take_name(value, "request.model");
    call.served = take_name(value, "response.model");
    call.record.provider = take_name(value, "vendor");
    call.record.timestamp_ms = value.take("timestamp").and_then(|time| values::timestamp_ms(&time, None).ok());
    call.record.session_id = ["llm.conversation_id", "conversation_id"].iter().find_map(|key| take_name(value, key));
}

fn failed<'a>(value: &mut Json<'a>) -> Option<Cow<'a, str>> {
    let message = take_text(value, "error.message").filter(|message| !message.is_empty());
    let has_failed = value.get("error").and_then(Json::as_bool) == Some(true);
    message.or_else(|| has_failed.then(|| "the event has the mark of an error".into()))
}

fn summary(mut value: Json<'_>) -> Entry<'_> {
    let mut call = Call::llm(CONTAINER);
    frame(&mut value, &mut call);
    let id = take_name(&mut value, "id");
    call.record.id = id.clone();
    call.reported_latency(value.get("duration"), Unit::Ms);
    call.reported_ttft(value.get("time_to_first_token"), Unit::Ms);
    call.tokens(value.get("response.usage.prompt_tokens"), value.get("response.usage.completion_tokens"));
    call.record.finish_reason = take_text(&mut value, "response.choices.finish_reason");
    call.record.error = failed(&mut value);
    call.span(take_name(&mut value, "trace_id").or_else(|| id.clone()), id, None);
    call.finish()
}

fn message(mut value: Json<'_>) -> Entry<'_> {
    let mut call = Call::llm(CONTAINER);
    frame(&mut value, &mut call);
    let completion = take_name(&mut value, "completion_id");
    let tokens = value.take("token_count").filter(|count| values::count(count).is_ok_and(|count| count > 0));
    let content = value.take("content").filter(is_said);
    let is_response = value.get("is_response").and_then(Json::as_bool) == Some(true);
    if is_response {
        call.answered(Answer {
            text: content.map(|content| match content {
                Json::String(text) => text,
                other => other.to_compact_string().into(),
            }),
            ..Answer::default()
        });
        call.tokens(None, tokens.as_ref());
    } else if let Some(content) = content {
        let role = take_text(&mut value, "role").unwrap_or("user".into());
        let message = Json::Object(vec![("role".into(), Json::String(role)), ("content".into(), content)]);
        call.asked(Conversation::of_messages(vec![message]));
    }
    let trace_id = take_name(&mut value, "trace_id").or_else(|| completion.clone());
    call.span(trace_id, completion, None);
    let mut record = call.record();
    match &mut record.span {
        Some(span) => {
            span.is_event = true;
            // Messages are told in any order.
            span.start_ns =
                value.get("sequence").and_then(|at| values::count(at).ok()).and_then(|at| i64::try_from(at).ok());
        }
        None => record.notes.add(Note::HalfMissing),
    }
    Entry::Record(record)
}

fn tool(mut value: Json<'_>) -> Entry<'_> {
    let name = take_name(&mut value, "name");
    let mut call = Call::tool(CONTAINER, name);
    frame(&mut value, &mut call);
    call.record.id = take_name(&mut value, "id");
    call.record.call_id = take_name(&mut value, "run_id");
    call.args(value.take("input"));
    call.result(value.take("output"));
    call.reported_latency(value.get("duration"), Unit::Ms);
    call.record.error = failed(&mut value);
    let id = take_name(&mut value, "span_id");
    call.span(take_name(&mut value, "trace_id"), id, None);
    call.finish()
}
