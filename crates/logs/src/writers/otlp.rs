//! OpenTelemetry: OTLP/JSON (`resourceSpans`, `resourceLogs`), one span a line.
//!
//! A line of OTLP holds any number of spans and log records, and each gives an entry: [`span`], [`log_event`].
//!
//! **Source**: OpenTelemetry protocol 1.x, JSON encoding: ids in hexadecimal, 64-bit integers as strings or numbers,
//! unknown fields ignored.
//!
//! **Limits**: metrics hold no calls.

use std::borrow::Cow;

use super::{
    Writer,
    attributes::{Attributes, any_value},
    clients,
    log_event::{self, LogEvent},
    span::{self, Event, Span},
};
use crate::record::{
    Container,
    body::message::{take_name, take_text},
    call::{Entries, Outcome},
    json::Json,
};

pub(super) const CONTAINER: Container = Container::named("otlp");

/// OpenTelemetry, as OTLP/JSON.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
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
    joiner: Some(clients::joiner),
};

/// Whether the object is a trace as query interfaces give it: OTLP under another name.
fn is_span_batches(value: &Json<'_>) -> bool {
    let batches = value.get("batches").and_then(Json::as_array).unwrap_or_default();
    batches.iter().any(|batch| batch.get("scopeSpans").or_else(|| batch.get("instrumentationLibrarySpans")).is_some())
}

/// Reads one line of OTLP, or a span that stands alone.
fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    if value.get("startTimeUnixNano").is_some() || value.get("start_time_unix_nano").is_some() {
        return entries.push(Ok(span::read(otlp_span(value), CONTAINER)));
    }
    let before = entries.list.len();
    for key in ["resourceSpans", "resource_spans", "batches"] {
        for resource in items(&mut value, key) {
            for_each_in(resource, &["scopeSpans", "scope_spans", "instrumentationLibrarySpans"], &["spans"], |one| {
                entries.push(Ok(span::read(otlp_span(one), CONTAINER)));
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
        entries.skipped(CONTAINER, "metrics");
    }
    if entries.list.len() == before {
        entries.skipped(CONTAINER, "no span");
    }
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
    let time = value.take("timeUnixNano").or_else(|| value.take("time_unix_nano"));
    let event = LogEvent {
        trace_id: either_text(&mut value, "traceId", "trace_id").map(hex_id),
        span_id: either_text(&mut value, "spanId", "span_id").map(hex_id),
        name: either_text(&mut value, "eventName", "event_name"),
        time: time
            .filter(|time| time.as_str() != Some("0"))
            .or_else(|| value.take("observedTimeUnixNano").or_else(|| value.take("observed_time_unix_nano"))),
        attributes: value.take("attributes").map(Attributes::of_otlp).unwrap_or_default(),
        body: value.take("body").map(any_value).unwrap_or_default(),
    };
    log_event::read(event, CONTAINER)
}

/// An id in the spelling that all writers can be compared by.
pub(super) fn hex_id(id: Cow<'_, str>) -> Cow<'_, str> {
    let bare = match id {
        Cow::Borrowed(id) => Cow::Borrowed(id.strip_prefix("0x").unwrap_or(id)),
        Cow::Owned(id) => Cow::Owned(id.strip_prefix("0x").map_or_else(|| id.clone(), str::to_owned)),
    };
    if bare.bytes().any(|byte| byte.is_ascii_uppercase()) { bare.to_ascii_lowercase().into() } else { bare }
}

pub(super) fn is_error_status(status: &Json<'_>) -> bool {
    let is_error = |code: &Json<'_>| match code {
        Json::Number(code) => code.as_integer() == Some(2),
        code => code.as_str().is_some_and(|code| code == "ERROR" || code == "STATUS_CODE_ERROR" || code == "2"),
    };
    ["code", "status_code"].iter().any(|key| status.get(key).is_some_and(is_error))
}

pub(super) fn events<'a>(
    value: &mut Json<'a>,
    times: [&str; 2],
    attributes: fn(Json<'a>) -> Attributes<'a>,
) -> Vec<Event<'a>> {
    let events = items(value, "events").into_iter().map(|mut event| Event {
        name: take_name(&mut event, "name").unwrap_or_default(),
        time: times.iter().find_map(|key| event.take(key)),
        attributes: event.take("attributes").map(attributes).unwrap_or_default(),
    });
    events.collect()
}

pub(super) fn items<'a>(value: &mut Json<'a>, key: &str) -> Vec<Json<'a>> {
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
