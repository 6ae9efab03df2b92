//! Spans of Datadog LLM Observability: as the SDKs send them, and as the export interface gives them.
//!
//! - the kind stands in `meta.span.kind`, `meta.kind` or `meta["span.kind"]`; of exports in `span_kind`
//! - input and output: `messages`, a `value`, or `documents`
//! - `start_ns` and `duration` are in nanoseconds, `metrics.time_to_first_token` in seconds
//!
//! **Source**: `ddtrace/llmobs` 2 to 4 (`_llmobs.py`, `types.py`), dd-trace-js `llmobs`, the export interface for spans.

use std::borrow::Cow;

use super::{Writer, has_all};
use crate::record::{
    Container, Format, Ignored,
    body::{
        Conversation,
        message::{passages, take_name, take_text},
        usage::Usage,
    },
    call::{Call, Outcome, decoded, is_said},
    json::Json,
    values::{self, Unit},
};

const CONTAINER: Container = Container::named("datadog");

/// Spans of Datadog LLM Observability.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "spans of LLM Observability, as they are sent and exported",
    told_by: "`start_ns` with `meta` or `span_kind`; `spans` of these",
    marks: &["start_ns", "spans"],
    matches: |value| is_span(value) || spans(value).is_some_and(|spans| spans.iter().all(is_span)),
    read: |mut value, entries| {
        if is_span(&value) {
            return entries.push(read(value));
        }
        if let Some(Json::Array(spans)) = value.take("spans") {
            spans.into_iter().for_each(|span| entries.push(read(span)));
        }
    },
    joiner: None,
};

fn is_span(value: &Json<'_>) -> bool {
    value.get("start_ns").is_some()
        && (value.get("meta").is_some_and(|meta| meta.as_object().is_some())
            || has_all(value, &["span_kind", "span_id"]))
}

/// The spans of a payload.
fn spans<'v, 'a>(value: &'v Json<'a>) -> Option<&'v [Json<'a>]> {
    value.get("spans")?.as_array().filter(|spans| !spans.is_empty())
}

fn read(mut value: Json<'_>) -> Outcome<'_> {
    let mut meta = value.take("meta").map(decoded).unwrap_or_default();
    let kind = take_text(&mut meta, "kind")
        .or_else(|| meta.take("span").and_then(|mut span| take_text(&mut span, "kind")))
        .or_else(|| take_text(&mut meta, "span.kind"))
        .or_else(|| take_text(&mut value, "span_kind"))
        .unwrap_or_default();
    let name = take_name(&mut value, "name");
    let mut call = if kind == "tool" { Call::tool(CONTAINER, name) } else { Call::llm(CONTAINER) };
    let mut either = |key: &str| meta.take(key).filter(is_said).or_else(|| value.take(key)).map(decoded);
    let (input, output) = (either("input").unwrap_or_default(), either("output").unwrap_or_default());
    let error = either("error").unwrap_or_default();
    let (model, provider) = (either("model_name"), either("model_provider"));
    let tools = either("tool_definitions");
    let metrics = value.take("metrics").map(decoded).unwrap_or_default();
    let start = value.take("start_ns").and_then(|start| values::moment_ns(&start, Some(Unit::Ns)).ok());
    let took = value.take("duration").and_then(|took| values::duration_ms(&took, Unit::Ns).ok());
    let end = start.zip(took).map(|(start, took)| start + (took * 1e6) as i128);
    let nanos = |ns: Option<i128>| ns.map(|ns| Json::String(ns.to_string().into()));
    call.times(nanos(start), nanos(end), None);
    call.reported_ttft(metrics.get("time_to_first_token"), Unit::S);
    let mut id = |key: &str| take_name(&mut value, key).filter(|id| !matches!(&**id, "" | "undefined"));
    let (trace_id, span_id, parent_id) = (id("trace_id"), id("span_id"), id("parent_id"));
    call.record.id = span_id.clone();
    call.record.session_id = id("session_id");
    call.span(trace_id, span_id, parent_id);
    if call.record.session_id.is_none() {
        call.record.session_id = tag(&value, "session_id:");
    }
    let format = Format::of(CONTAINER);
    let ignored = match &*kind {
        "llm" | "tool" => None,
        "embedding" => Some(Ignored::skipped(format, "an embedding")),
        "retrieval" => Some(Ignored::skipped(format, "a retrieval")),
        _ => Some(Ignored::parent(format, "a span of a framework")),
    };
    if let Some(ignored) = ignored {
        let documents = { output }.take("documents").map(passages).unwrap_or_default();
        return Ok(call.without_call(ignored, documents));
    }
    if kind == "tool" {
        call.args(content(input));
        call.result(content(output).filter(is_said));
    } else {
        call.requested = model.and_then(name_of);
        call.record.provider = provider.and_then(name_of);
        call.record.tools = tools;
        ask(input, &mut call);
        answer(output, &mut call);
        Usage::of(&metrics).fill(&mut call.record);
        call.record.cached_tokens = metrics
            .get("cache_read_input_tokens")
            .and_then(|count| values::count(count).ok())
            .or(call.record.cached_tokens);
    }
    let is_error = value.get("status").and_then(Json::as_str) == Some("error");
    let message = { error }.take("message").or_else(|| meta.take("error.message")).and_then(name_of);
    if is_error || message.is_some() {
        call.record.error = Some(message.unwrap_or("the span has the status of an error".into()));
    }
    Ok(call.finish())
}

fn name_of(value: Json<'_>) -> Option<Cow<'_, str>> {
    values::name(value).ok().flatten()
}

/// The value of a tag in a list of `name:value`.
fn tag<'a>(value: &Json<'a>, prefix: &str) -> Option<Cow<'a, str>> {
    let tags = value.get("tags")?.as_array()?;
    tags.iter().find_map(|tag| tag.as_str()?.strip_prefix(prefix).map(|found| found.to_owned().into()))
}

/// What a tool was given or gave.
fn content(mut value: Json<'_>) -> Option<Json<'_>> {
    match value {
        Json::Object(_) => value.take("value").or_else(|| value.take("messages")),
        Json::Null => None,
        other => Some(other),
    }
}

fn ask<'a>(mut input: Json<'a>, call: &mut Call<'a>) {
    let documents = input.take("documents").map(passages).unwrap_or_default();
    call.record.context.extend(documents);
    match input.take("messages").map(decoded) {
        Some(Json::Array(messages)) => call.asked(Conversation::of_messages(messages)),
        _ => call.ask(content(input)),
    }
}

/// The messages of an answer; the first that says something or calls a tool is read.
fn answer<'a>(mut output: Json<'a>, call: &mut Call<'a>) {
    let messages = match output.take("messages").map(decoded) {
        Some(Json::Array(messages)) => messages,
        _ => return call.answer(content(output)),
    };
    let has_said =
        |message: &Json<'_>| ["content", "tool_calls"].iter().any(|key| message.get(key).is_some_and(is_said));
    // Thoughts stand before the answer, as messages of their own.
    let is_answer =
        |message: &Json<'_>| has_said(message) && message.get("role").and_then(Json::as_str) != Some("reasoning");
    let mut answers = messages.into_iter().filter(is_answer);
    if let Some(first) = answers.next() {
        call.answer(Some(first));
        let rest: Vec<Json<'a>> = answers.collect();
        // A message that calls tools may follow the one that says so.
        if call.record.tool_calls.is_empty() {
            let calls = rest.into_iter().filter_map(|mut message| message.take("tool_calls"));
            call.record.tool_calls = calls.flat_map(crate::record::body::message::read_calls).collect();
        }
    }
}
