//! Spans and log records as the SDKs of OpenTelemetry print them: the console exporters of Python and of JavaScript, and
//! the objects of the JavaScript SDK as JSON, as the outfile of Gemini CLI has them.
//!
//! | | span | log record |
//! |---|---|---|
//! | Python, console | `context` (`trace_id`, `span_id` with `0x`), `start_time`, `end_time` | `trace_id`, `span_id`, `timestamp`, `body` |
//! | JavaScript, console | `traceId`, `id`, `parentId`; `timestamp` and `duration` in microseconds | `traceId`, `spanId`, `timestamp` in microseconds, `body` |
//! | JavaScript, as JSON | `_spanContext`, `startTime`, `endTime` as seconds and nanoseconds | `hrTime`, `spanContext`, `_body` |
//!
//! **Source**: opentelemetry-python `opentelemetry-sdk`, opentelemetry-js `sdk-trace-base` and `sdk-logs` 1 and 2.

use std::borrow::Cow;

use super::{
    Writer,
    attributes::Attributes,
    has_any,
    log_event::{self, LogEvent},
    otlp::{events, hex_id, is_error_status},
    span::{self, Span},
};
use crate::record::{
    Container,
    body::message::take_text,
    call::{Entries, Outcome},
    json::Json,
    values,
};

const CONTAINER: Container = Container::named("otel_console");

/// Spans and log records as the SDKs print them.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "spans and log records as the console exporters print them, and as the JavaScript SDK keeps them",
    told_by: "`context.span_id` and `attributes`; `_spanContext`; `hrTime`; `scopeMetrics`",
    marks: &["attributes", "hrTime", "scopeMetrics"],
    matches: |value| {
        value.get("context").is_some_and(|context| context.get("span_id").is_some())
            || has_any(value, &["traceId", "_spanContext", "hrTime", "scopeMetrics"])
            || is_log(value)
            || is_event(value)
    },
    read,
    joiner: None,
};

/// Whether the object is a log record as the SDK of Python prints it.
fn is_log(value: &Json<'_>) -> bool {
    has_any(value, &["severity_number", "severityNumber"]) && has_any(value, &["body", "event_name", "eventName"])
}

/// Whether the object is a log record of which nothing but the attributes is left.
fn is_event(value: &Json<'_>) -> bool {
    let name = value.get("attributes").and_then(|of| of.get("event.name")?.as_str());
    name.is_some_and(|name| name.contains('.'))
}

fn read<'a>(value: Json<'a>, entries: &mut Entries<'a>) {
    if value.get("scopeMetrics").is_some() {
        return entries.skipped(CONTAINER, "metrics");
    }
    let is_span = has_any(&value, &["_spanContext", "startTime", "start_time", "duration", "parentId", "links"])
        || value.get("context").is_some_and(|context| context.get("span_id").is_some());
    entries.push(if is_span { read_span(value) } else { read_log(value) });
}

fn read_span(mut value: Json<'_>) -> Outcome<'_> {
    let mut context =
        ["context", "_spanContext", "spanContext"].iter().find_map(|key| value.take(key)).unwrap_or_default();
    let mut parent = value.take("parentSpanContext").unwrap_or_default();
    let status = value.take("status");
    let is_error = status.as_ref().is_some_and(is_error_status);
    let start = ["start_time", "startTime"].iter().find_map(|key| value.take(key)).map(moment);
    // The console exporter of JavaScript has microseconds.
    let micros = value.take("timestamp").and_then(|time| values::count(&time).ok().map(|us| (us, time)));
    let duration = value.take("duration").and_then(|time| values::count(&time).ok());
    let ended = micros.as_ref().zip(duration).and_then(|((us, _), took)| us.checked_add(took));
    let nanos = |us: u64| Json::String(format!("{us}000").into());
    let end = ["end_time", "endTime"].iter().find_map(|key| value.take(key)).map(moment);
    let span = Span {
        trace_id: take_either(&mut context, "trace_id", "traceId")
            .or_else(|| take_text(&mut value, "traceId"))
            .map(hex_id),
        id: take_either(&mut context, "span_id", "spanId")
            .or_else(|| take_either(&mut value, "spanId", "id"))
            .map(hex_id),
        parent_id: take_either(&mut value, "parent_id", "parentId")
            .or_else(|| take_text(&mut value, "parentSpanId"))
            .or_else(|| take_text(&mut parent, "spanId"))
            .map(hex_id),
        name: take_text(&mut value, "name"),
        start: start.or_else(|| micros.map(|(us, _)| nanos(us))),
        end: end.or_else(|| ended.map(nanos)),
        attributes: value.take("attributes").map(Attributes::of_object).unwrap_or_default(),
        events: events(&mut value, ["timestamp", "time"], Attributes::of_object)
            .into_iter()
            .map(|event| span::Event { time: event.time.map(moment), ..event })
            .collect(),
        is_error,
        message: status
            .and_then(|mut status| take_text(&mut status, "description").or_else(|| take_text(&mut status, "message"))),
        first_token: None,
    };
    Ok(span::read(span, CONTAINER))
}

fn read_log(mut value: Json<'_>) -> Outcome<'_> {
    let mut context = ["spanContext", "context"].iter().find_map(|key| value.take(key)).unwrap_or_default();
    let time = ["hrTime", "timestamp", "hrTimeObserved", "observed_timestamp"].iter().find_map(|key| value.take(key));
    let is_traced = |id: &Cow<'_, str>| id.bytes().any(|byte| !matches!(byte, b'0' | b'x'));
    let trace_id =
        take_either(&mut context, "traceId", "trace_id").or_else(|| take_either(&mut value, "traceId", "trace_id"));
    let span_id =
        take_either(&mut context, "spanId", "span_id").or_else(|| take_either(&mut value, "spanId", "span_id"));
    let event = LogEvent {
        trace_id: trace_id.filter(is_traced).map(hex_id),
        span_id: span_id.filter(is_traced).map(hex_id),
        name: ["event_name", "eventName", "_eventName"].iter().find_map(|key| take_text(&mut value, key)),
        time: time.map(moment),
        attributes: value.take("attributes").map(Attributes::of_object).unwrap_or_default(),
        body: ["body", "_body"].iter().find_map(|key| value.take(key)).unwrap_or_default(),
    };
    log_event::read(event, CONTAINER)
}

fn take_either<'a>(value: &mut Json<'a>, one: &str, other: &str) -> Option<Cow<'a, str>> {
    take_text(value, one).or_else(|| take_text(value, other))
}

/// A moment; seconds and nanoseconds in a list are nanoseconds.
fn moment(time: Json<'_>) -> Json<'_> {
    let Some([seconds, nanos]) = time.as_array() else { return time };
    match (values::count(seconds), values::count(nanos)) {
        (Ok(seconds), Ok(nanos)) if nanos < 1_000_000_000 => Json::String(format!("{seconds}{nanos:09}").into()),
        _ => time,
    }
}
