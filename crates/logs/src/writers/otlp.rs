//! OpenTelemetry: OTLP/JSON (`resourceSpans`, `resourceLogs`), one span a line, console exporters, Phoenix.
//!
//! A line of OTLP holds any number of spans, and each gives an entry: a record if a model or a tool was called in it,
//! else an aside. Log records with the whole of a call become records; those with one message of it (the events of the
//! conventions up to 1.36) are pieces, which are joined with their span elsewhere. A piece is an object of `trace_id`,
//! `span_id`, `event`, `time` and `body`.
//!
//! **Source**: OpenTelemetry protocol 1.x, JSON encoding: ids in hexadecimal, 64-bit integers as strings or numbers,
//! unknown fields ignored.
//!
//! **Limits**: metrics hold no calls.

use std::borrow::Cow;

use super::{
    Writer,
    attributes::{Attributes, any_value},
    has_all, native,
    span::{self, Event, Span, genai},
};
use crate::record::{
    Container, Dialect, Entry, Note,
    body::{
        Conversation,
        message::{take_name, take_text},
    },
    call::{Call, Entries, Outcome, name_at, skipped},
    json::Json,
};

const OTLP_LINES: Container = Container::named("otlp");
const PHOENIX_SPANS: Container = Container::named("phoenix");
const CONSOLE_SPANS: Container = Container::named("otel_console");

/// OpenTelemetry, as OTLP/JSON.
pub(super) const OTLP: Writer = Writer {
    container: OTLP_LINES,
    about: "OpenTelemetry: a line of spans, logs or metrics; one span alone",
    told_by: "`resourceSpans`, `resourceLogs`, `resourceMetrics`, `startTimeUnixNano`",
    marks: &[
        "resourceSpans",
        "resourceLogs",
        "resourceMetrics",
        "startTimeUnixNano",
        "resource_spans",
        "resource_logs",
        "resource_metrics",
        "batches",
    ],
    matches: |value| value.get("batches").is_none() || is_span_batches(value),
    read,
    joiner: None,
};

/// Spans of Phoenix.
pub(super) const PHOENIX: Writer = Writer {
    container: PHOENIX_SPANS,
    about: "spans: REST, rows of the data frame",
    told_by: "`context`, `span_kind` and `attributes`; `context.span_id`",
    marks: &["context.trace_id", "context.span_id", "span_kind"],
    matches: |value| {
        value.get("span_kind").is_none()
            || has_all(value, &["context", "attributes"])
            || super::has_any(value, &["context.trace_id", "context.span_id"])
    },
    read: |value, entries| entries.push(read_phoenix(value)),
    joiner: None,
};

/// Spans as the console exporters print them.
pub(super) const CONSOLE: Writer = Writer {
    container: CONSOLE_SPANS,
    about: "spans as the console exporters print them",
    told_by: "`context.span_id` and `attributes`",
    marks: &["attributes"],
    matches: |value| {
        value.get("context").is_some_and(|context| context.get("span_id").is_some()) || value.get("traceId").is_some()
    },
    read: |value, entries| entries.push(read_console(value)),
    joiner: None,
};

/// Whether the object is a trace as query interfaces give it: OTLP under another name.
fn is_span_batches(value: &Json<'_>) -> bool {
    let batches = value.get("batches").and_then(Json::as_array).unwrap_or_default();
    batches.iter().any(|batch| batch.get("scopeSpans").or_else(|| batch.get("instrumentationLibrarySpans")).is_some())
}

/// Reads one line of OTLP, or a span that stands alone.
fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    if value.get("startTimeUnixNano").is_some() || value.get("start_time_unix_nano").is_some() {
        return entries.push(Ok(span::read(otlp_span(value), OTLP_LINES)));
    }
    let before = entries.list.len();
    for key in ["resourceSpans", "resource_spans", "batches"] {
        for resource in items(&mut value, key) {
            for_each_in(resource, &["scopeSpans", "scope_spans", "instrumentationLibrarySpans"], &["spans"], |one| {
                entries.push(Ok(span::read(otlp_span(one), OTLP_LINES)));
            });
        }
    }
    for key in ["resourceLogs", "resource_logs"] {
        for resource in items(&mut value, key) {
            let scopes = ["scopeLogs", "scope_logs", "instrumentationLibraryLogs"];
            for_each_in(resource, &scopes, &["logRecords", "log_records"], |one| entries.push(log_record(one)));
        }
    }
    if value.get("resourceMetrics").or_else(|| value.get("resource_metrics")).is_some() {
        entries.skipped(OTLP_LINES, "metrics");
    }
    if entries.list.len() == before {
        entries.skipped(OTLP_LINES, "no span");
    }
}

/// Reads a span as the console exporters print it.
fn read_console(mut value: Json<'_>) -> Outcome<'_> {
    let mut context = value.take("context").unwrap_or_default();
    let status = value.take("status");
    let is_error = status.as_ref().is_some_and(is_error_status);
    let start = value.take("start_time").or_else(|| value.take("timestamp"));
    let end = value.take("end_time");
    let span = Span {
        trace_id: take_text(&mut context, "trace_id").or_else(|| take_text(&mut value, "traceId")).map(hex_id),
        id: take_text(&mut context, "span_id").or_else(|| take_text(&mut value, "id")).map(hex_id),
        parent_id: take_text(&mut value, "parent_id").or_else(|| take_text(&mut value, "parentId")).map(hex_id),
        name: take_text(&mut value, "name"),
        start,
        end,
        attributes: value.take("attributes").map(Attributes::of_object).unwrap_or_default(),
        events: events(&mut value, ["timestamp", "time"], Attributes::of_object),
        is_error,
        message: status
            .and_then(|mut status| take_text(&mut status, "description").or_else(|| take_text(&mut status, "message"))),
        first_token: None,
    };
    Ok(span::read(span, CONSOLE_SPANS))
}

/// Reads a span of Phoenix: as its REST interface gives it, or as a row of its data frame.
fn read_phoenix(mut value: Json<'_>) -> Outcome<'_> {
    let is_row = ["context.span_id", "context.trace_id"].iter().any(|key| value.get(key).is_some());
    let mut context = value.take("context").unwrap_or_default();
    let kind = take_text(&mut value, "span_kind");
    let is_error = take_text(&mut value, "status_code").is_some_and(|code| code == "ERROR");
    let message = take_text(&mut value, "status_message").filter(|message| !message.is_empty());
    let (start, end) = (value.take("start_time"), value.take("end_time"));
    let events = events(&mut value, ["timestamp", "time"], Attributes::of_object);
    let parent_id = take_text(&mut value, "parent_id");
    let name = take_text(&mut value, "name");
    let mut id = |flat: &str, key: &str| take_text(&mut value, flat).or_else(|| take_text(&mut context, key));
    let (trace_id, span_id) = (id("context.trace_id", "trace_id"), id("context.span_id", "span_id"));
    let mut attributes = match value {
        Json::Object(entries) if is_row => {
            let entries = entries.into_iter().filter_map(|(key, value)| Some((shortened(key, "attributes.")?, value)));
            Json::Object(entries.collect())
        }
        mut other => other.take("attributes").unwrap_or_default(),
    };
    if let (Json::Object(entries), Some(kind)) = (&mut attributes, kind) {
        entries.push((span::KIND.into(), Json::String(kind)));
    }
    let attributes = Attributes::of_object(attributes);
    let span = Span {
        trace_id,
        id: span_id,
        parent_id,
        name,
        start,
        end,
        attributes,
        events,
        is_error,
        message,
        first_token: None,
    };
    Ok(span::read(span, PHOENIX_SPANS))
}

fn otlp_span(mut value: Json<'_>) -> Span<'_> {
    let status = value.take("status");
    Span {
        trace_id: either_text(&mut value, "traceId", "trace_id").map(hex_id),
        id: either_text(&mut value, "spanId", "span_id").map(hex_id),
        parent_id: either_text(&mut value, "parentSpanId", "parent_span_id").filter(|id| !id.is_empty()).map(hex_id),
        name: take_text(&mut value, "name"),
        start: value.take("startTimeUnixNano").or_else(|| value.take("start_time_unix_nano")),
        end: value.take("endTimeUnixNano").or_else(|| value.take("end_time_unix_nano")),
        attributes: value.take("attributes").map(Attributes::of_otlp).unwrap_or_default(),
        events: events(&mut value, ["timeUnixNano", "time_unix_nano"], Attributes::of_otlp),
        is_error: status.as_ref().is_some_and(is_error_status),
        message: status.and_then(|mut status| take_text(&mut status, "message")),
        first_token: None,
    }
}

/// A text under one of the two spellings of OTLP: that of its JSON mapping, and that of its fields.
fn either_text<'a>(value: &mut Json<'a>, camel: &str, snake: &str) -> Option<Cow<'a, str>> {
    take_text(value, camel).or_else(|| take_text(value, snake))
}

fn log_record(mut value: Json<'_>) -> Outcome<'_> {
    let attributes = value.take("attributes").map(Attributes::of_otlp).unwrap_or_default();
    let body = value.take("body").map(any_value).unwrap_or_default();
    let event: Option<Cow<'_, str>> = either_text(&mut value, "eventName", "event_name")
        .or_else(|| name_of_event(&attributes))
        .or_else(|| name_at(&body, &["event.name"]));
    let time = value
        .take("timeUnixNano")
        .filter(|time| time.as_str() != Some("0"))
        .or_else(|| value.take("observedTimeUnixNano"));
    let (trace_id, span_id) = (
        either_text(&mut value, "traceId", "trace_id").map(hex_id),
        either_text(&mut value, "spanId", "span_id").map(hex_id),
    );
    let event = event.unwrap_or_default();
    match &*event {
        "gen_ai.client.inference.operation.details" => {
            let span = Span {
                trace_id,
                id: span_id,
                parent_id: None,
                name: None,
                start: time,
                end: None,
                attributes: with_body(attributes, body),
                events: Vec::new(),
                is_error: false,
                message: None,
                first_token: None,
            };
            let mut entry = span::read(span, OTLP_LINES);
            if let Entry::Record(record) = &mut entry {
                // The log record tells of the span in which it was written.
                match &mut record.span {
                    Some(span) => span.is_event = true,
                    None => record.notes.add(Note::HalfMissing),
                }
            }
            Ok(entry)
        }
        name if genai::kind_of_event(name).is_some() => Ok(message_event(&event, body, (trace_id, span_id), time)),
        // Agents log their requests as events with a model and a duration among the attributes.
        name if (name.ends_with("api_request") || name.ends_with("api_response"))
            && attributes.get("model").is_some() =>
        {
            let mut record = native::read(attributes.into_object(), &Default::default())?;
            record.format = crate::record::Format::of(OTLP_LINES);
            record.timestamp_ms =
                record.timestamp_ms.or_else(|| crate::record::values::timestamp_ms(&time?, None).ok());
            Ok(Entry::Record(record))
        }
        _ => Ok(skipped(OTLP_LINES, "a log record without a call")),
    }
}

/// One message of a call, in an event of its own: a part of the call that is the event's span.
fn message_event<'a>(
    event: &str,
    body: Json<'a>,
    (trace_id, span_id): (Option<Cow<'a, str>>, Option<Cow<'a, str>>),
    time: Option<Json<'a>>,
) -> Entry<'a> {
    let mut call = Call::llm(OTLP_LINES);
    call.record.format.dialect = Some(Dialect::GenAi136);
    call.record.timestamp_ms = time.and_then(|time| crate::record::values::moment_ms(&time));
    let kind = genai::kind_of_event(event).unwrap_or_default();
    match genai::message_in(body, kind) {
        Some(choice) if kind == "choice" => genai::answer_choices(vec![choice], &mut call),
        Some(message) => call.asked(Conversation::of_messages(vec![message])),
        None => {}
    }
    call.record.format.dialect = Some(Dialect::GenAi136);
    let is_part = trace_id.is_some() && span_id.is_some();
    if is_part {
        call.span(trace_id, span_id, None);
    } else {
        call.record.notes.add(Note::HalfMissing);
    }
    let mut record = call.record();
    if let Some(span) = &mut record.span {
        span.is_event = true;
    }
    Entry::Record(record)
}

fn name_of_event<'a>(attributes: &Attributes<'a>) -> Option<Cow<'a, str>> {
    match attributes.get("event.name") {
        Some(Json::String(name)) => Some(name.clone()),
        _ => None,
    }
}

/// Attributes, and those that older writers put in the body.
fn with_body<'a>(attributes: Attributes<'a>, body: Json<'a>) -> Attributes<'a> {
    match (attributes.into_object(), body) {
        (Json::Object(mut entries), Json::Object(body)) => {
            entries.extend(body);
            Attributes::of_object(Json::Object(entries))
        }
        (object, _) => Attributes::of_object(object),
    }
}

/// An id in the spelling that all writers can be compared by.
fn hex_id(id: Cow<'_, str>) -> Cow<'_, str> {
    let bare = match id {
        Cow::Borrowed(id) => Cow::Borrowed(id.strip_prefix("0x").unwrap_or(id)),
        Cow::Owned(id) => Cow::Owned(id.strip_prefix("0x").map_or_else(|| id.clone(), str::to_owned)),
    };
    if bare.bytes().any(|byte| byte.is_ascii_uppercase()) { bare.to_ascii_lowercase().into() } else { bare }
}

fn is_error_status(status: &Json<'_>) -> bool {
    let is_error = |code: &Json<'_>| match code {
        Json::Number(code) => code.as_integer() == Some(2),
        code => code.as_str().is_some_and(|code| code == "ERROR" || code == "STATUS_CODE_ERROR" || code == "2"),
    };
    ["code", "status_code"].iter().any(|key| status.get(key).is_some_and(is_error))
}

fn events<'a>(value: &mut Json<'a>, times: [&str; 2], attributes: fn(Json<'a>) -> Attributes<'a>) -> Vec<Event<'a>> {
    let events = items(value, "events").into_iter().map(|mut event| Event {
        name: take_name(&mut event, "name").unwrap_or_default(),
        time: times.iter().find_map(|key| event.take(key)),
        attributes: event.take("attributes").map(attributes).unwrap_or_default(),
    });
    events.collect()
}

fn items<'a>(value: &mut Json<'a>, key: &str) -> Vec<Json<'a>> {
    match value.take(key) {
        Some(Json::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn for_each_in<'a>(mut resource: Json<'a>, scopes: &[&str], leaves: &[&str], mut act: impl FnMut(Json<'a>)) {
    for scope in scopes {
        for mut scope in items(&mut resource, scope) {
            leaves.iter().for_each(|leaf| items(&mut scope, leaf).into_iter().for_each(&mut act));
        }
    }
}

/// A key without a prefix that it must have.
fn shortened<'a>(key: Cow<'a, str>, prefix: &str) -> Option<Cow<'a, str>> {
    match key {
        Cow::Borrowed(key) => key.strip_prefix(prefix).map(Cow::Borrowed),
        Cow::Owned(key) => key.strip_prefix(prefix).map(|key| Cow::Owned(key.to_owned())),
    }
}
