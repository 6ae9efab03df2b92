//! Rows of stores of traces and logs: a span or a log record a row, attributes in a map or in columns.
//!
//! | store | attributes | times |
//! |---|---|---|
//! | ClickHouse (the collector's exporter) | `SpanAttributes`, `LogAttributes` | `Timestamp`, `Duration` in nanoseconds |
//! | SigNoz | `attributes_string`, `attributes_number`, `attributes_bool` | `timestamp`, `duration_nano` |
//! | Honeycomb, and whoever flattens | columns of their own, beside `trace.trace_id` | `Timestamp`, `duration_ms` |
//! | Logfire | `attributes`, beside `start_timestamp` | `start_timestamp`, `end_timestamp` |
//! | Elasticsearch, OpenSearch | `attributes`, beside `@timestamp` | `@timestamp`, `duration` in nanoseconds |
//! | Application Insights | `customDimensions` | `timestamp`, `duration` in milliseconds |
//!
//! **Source**: the schemas of the stores. Cells may be JSON in a string, as CSV exports have them.
//!
//! **Limits**: a row is known by its map of attributes, or by a column that only a call of a model has.

use std::borrow::Cow;

use super::{
    Writer,
    attributes::Attributes,
    has_any,
    log_event::{self, LogEvent},
    otlp::hex_id,
    span::{self, Event, Span},
};
use crate::record::{
    Container,
    call::{Outcome, decoded, is_said},
    json::Json,
    values::{self, Unit},
};

const CONTAINER: Container = Container::named("span_row");

/// Maps of attributes.
const MAPS: [&str; 9] = [
    "SpanAttributes",
    "LogAttributes",
    "attributes_string",
    "attributes_number",
    "attributes_bool",
    "attributes_float",
    "customDimensions",
    "span_attributes",
    "Attributes",
];
const TRACES: [&str; 8] =
    ["TraceId", "trace_id", "trace.trace_id", "traceID", "traceId", "operation_Id", "trace.id", "OperationId"];
const SPANS: [&str; 8] = ["SpanId", "span_id", "trace.span_id", "spanID", "spanId", "id", "span.id", "Id"];
const PARENTS: [&str; 8] = [
    "ParentSpanId",
    "parent_span_id",
    "trace.parent_id",
    "parentSpanID",
    "parentSpanId",
    "operation_ParentId",
    "parent.id",
    "ParentId",
];
const STARTS: [&str; 8] =
    ["start_timestamp", "StartTime", "start_time", "startTime", "Timestamp", "timestamp", "@timestamp", "time"];
const ENDS: [&str; 4] = ["end_timestamp", "EndTime", "end_time", "endTime"];
/// What a span took, with its unit.
const LENGTHS: [(&str, Unit); 10] = [
    ("Duration", Unit::Ns),
    ("duration_nano", Unit::Ns),
    ("durationNano", Unit::Ns),
    ("duration_ns", Unit::Ns),
    ("duration_ms", Unit::Ms),
    ("durationMs", Unit::Ms),
    ("DurationMs", Unit::Ms),
    ("duration_us", Unit::Us),
    ("duration.us", Unit::Us),
    ("span.duration.us", Unit::Us),
];

/// Rows of stores of traces.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "rows of stores of traces and logs (ClickHouse, SigNoz, Honeycomb, Logfire, Elasticsearch, Application Insights)",
    told_by: "`SpanAttributes`, `LogAttributes`, `attributes_string`, `customDimensions`; `gen_ai.*` or `openinference.span.kind` as columns",
    marks: &[
        "SpanAttributes",
        "LogAttributes",
        "attributes_string",
        "customDimensions",
        "span_attributes",
        "Attributes",
        "attributes",
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.system",
        "gen_ai.request.model",
        "gen_ai.input.messages",
        "openinference.span.kind",
        "llm.request.type",
        "ai.operationId",
        "traceloop.span.kind",
        "langfuse.observation.type",
    ],
    matches: |value| {
        let is_map = |key: &&str| value.get(key).is_some_and(|map| is_genai(&decoded(map.clone())));
        // Columns alone are those of a span where they stand beside its trace.
        MAPS.iter().any(is_map)
            || ((has_any(value, &TRACES) || has_any(value, &STARTS)) && is_map(&"attributes"))
            || (has_any(value, &TRACES) && is_genai(value))
    },
    read: |value, entries| entries.push(read(value)),
    joiner: None,
};

/// Whether a map has an attribute that tells of a model or a tool.
fn is_genai(map: &Json<'_>) -> bool {
    const PREFIXES: [&str; 10] = [
        "gen_ai.",
        "llm.",
        "openinference.",
        "ai.",
        "traceloop.",
        "langfuse.observation.",
        "request_data",
        "event.name",
        "mcp.",
        "gcp.vertex.agent.",
    ];
    let entries = map.as_object().unwrap_or_default();
    entries.iter().any(|(key, _)| {
        PREFIXES.iter().any(|prefix| key.starts_with(prefix) && (prefix.ends_with('.') || key == prefix))
    })
}

fn read(mut value: Json<'_>) -> Outcome<'_> {
    let is_log =
        has_any(&value, &["LogAttributes", "SeverityText", "severity_text", "SeverityNumber", "severity_number"]);
    let is_insight = value.get("customDimensions").is_some();
    let name = first_text(&mut value, &["SpanName", "span_name", "Name", "name", "operation_Name"]);
    let (trace_id, id, parent_id) = (
        first_text(&mut value, &TRACES).map(hex_id),
        first_text(&mut value, &SPANS).map(hex_id),
        first_text(&mut value, &PARENTS).filter(|id| id.bytes().any(|byte| byte != b'0')).map(hex_id),
    );
    let start = STARTS.iter().find_map(|key| value.take(key).filter(is_said));
    let end = ENDS.iter().find_map(|key| value.take(key).filter(is_said));
    let took = LENGTHS.iter().find_map(|(key, unit)| values::duration_ms(value.get(key)?, *unit).ok());
    let bare = value.take("duration").filter(|_| took.is_none() && end.is_none());
    let unit = if is_insight { Unit::Ms } else { Unit::Ns };
    let took = took.or_else(|| values::duration_ms(bare.as_ref()?, unit).ok());
    let end = end.or_else(|| after(start.as_ref()?, took?));
    let status = first_text(&mut value, &["StatusCode", "status_code_string", "otel_status_code", "status_code"]);
    let mut status_of = value.take("status").unwrap_or_default();
    let status = status.or_else(|| first_text(&mut status_of, &["code", "status_code"]));
    let failed = ["success", "Success"].iter().find_map(|key| value.take(key)).and_then(|of| values::flag(&of).ok());
    let is_flagged =
        ["error", "has_error", "hasError"].iter().any(|key| value.get(key).and_then(Json::as_bool) == Some(true));
    let is_error = status.is_some_and(|status| matches!(&*status, "Error" | "ERROR" | "STATUS_CODE_ERROR" | "2"))
        || failed == Some(false)
        || is_flagged;
    let message = first_text(&mut value, &["StatusMessage", "status_message", "otel_status_message", "statusMessage"])
        .or_else(|| first_text(&mut status_of, &["message", "description"]))
        .filter(|message| !message.is_empty());
    let body = ["Body", "body", "message"].iter().find_map(|key| value.take(key)).filter(is_said);
    let events = events(&mut value);
    let attributes = attributes(value);
    if is_log
        || (name.is_none() && end.is_none() && attributes.get("event.name").is_some())
        || (is_insight && end.is_none())
    {
        let event = LogEvent {
            trace_id,
            span_id: id.or(parent_id),
            name: None,
            time: start,
            attributes,
            body: body.map(decoded).unwrap_or_default(),
        };
        return log_event::read(event, CONTAINER);
    }
    let span =
        Span { trace_id, id, parent_id, name, start, end, attributes, events, is_error, message, first_token: None };
    Ok(span::read(span, CONTAINER))
}

/// The attributes of all maps and columns.
fn attributes(value: Json<'_>) -> Attributes<'_> {
    let Json::Object(entries) = value else { return Attributes::default() };
    let mut all: Vec<(Cow<'_, str>, Json<'_>)> = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        if MAPS.contains(&key.as_ref()) || key == "attributes" {
            if let Json::Object(inner) = decoded(value) {
                all.extend(inner);
            }
        } else if is_said(&value) {
            all.push((key, value));
        }
    }
    Attributes::of_object(Json::Object(all))
}

/// The events of a row: three lists side by side, or a list of objects.
fn events<'a>(value: &mut Json<'a>) -> Vec<Event<'a>> {
    let mut list = |key: &str| match value.take(key).map(decoded) {
        Some(Json::Array(items)) => items,
        _ => Vec::new(),
    };
    let (names, times, attributes) = (list("Events.Name"), list("Events.Timestamp"), list("Events.Attributes"));
    if !names.is_empty() {
        let mut times = times.into_iter();
        let mut attributes = attributes.into_iter();
        let event = |name: Json<'a>| Event {
            name: values::name(name).ok().flatten().unwrap_or_default(),
            time: times.next(),
            attributes: attributes.next().map(decoded).map(Attributes::of_object).unwrap_or_default(),
        };
        return names.into_iter().map(event).collect();
    }
    let objects = ["events", "otel_events", "Events"].into_iter().flat_map(list);
    let event = |event: Json<'a>| {
        let mut event = decoded(event);
        let mut take = |keys: &[&str]| keys.iter().find_map(|key| event.take(key));
        let name = take(&["name", "event_name", "Name"]).and_then(|name| values::name(name).ok().flatten());
        let time = take(&["timestamp", "event_timestamp", "time", "timeUnixNano", "Timestamp"]);
        let of = take(&["attributes", "attributeMap", "Attributes"]).map(decoded);
        Event { name: name.unwrap_or_default(), time, attributes: of.map(Attributes::of_object).unwrap_or_default() }
    };
    objects.map(event).collect()
}

fn first_text<'a>(value: &mut Json<'a>, keys: &[&str]) -> Option<Cow<'a, str>> {
    keys.iter().find_map(|key| {
        let text = value.take(key).and_then(|value| values::name(value).ok().flatten());
        text.filter(|text| !text.is_empty())
    })
}

/// The moment so many milliseconds after another.
fn after<'a>(start: &Json<'_>, took_ms: f64) -> Option<Json<'a>> {
    let start = values::moment_ns(start, None).ok()?;
    let end = i64::try_from(start + (took_ms * 1e6) as i128).ok()?;
    Some(Json::String(end.to_string().into()))
}
