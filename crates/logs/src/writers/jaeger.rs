//! Spans as Jaeger and Zipkin keep them: attributes are tags, events are logs or annotations. Times are in microseconds.
//!
//! | | attributes | events | parent | error |
//! |---|---|---|---|---|
//! | Jaeger | `tags`: a list of `key` and `value`; `tag`: an object | `logs`, the name in the field `event` | `references` | `otel.status_code` = ERROR, `error` |
//! | Zipkin | `tags`: an object of texts | `annotations`, a name or JSON of it with attributes | `parentId` | `error` |
//!
//! **Source**: Jaeger's query interface and its documents in Elasticsearch; Zipkin API 2; how OpenTelemetry is mapped to
//! both.

use super::{
    Writer,
    attributes::Attributes,
    has_all,
    otlp::{hex_id, items},
    span::{self, Event, Span},
};
use crate::record::{
    Container,
    body::message::take_text,
    call::{Outcome, decoded},
    json::Json,
    values,
};

const JAEGER_SPANS: Container = Container::named("jaeger");
const ZIPKIN_SPANS: Container = Container::named("zipkin");

/// Spans of Jaeger.
pub(super) const JAEGER: Writer = Writer {
    container: JAEGER_SPANS,
    about: "spans of Jaeger",
    told_by: "`traceID`, `spanID` and `operationName`",
    marks: &["operationName"],
    matches: |value| has_all(value, &["traceID", "spanID"]),
    read: |value, entries| entries.push(read_jaeger(value)),
    joiner: None,
};

/// Spans of Zipkin.
pub(super) const ZIPKIN: Writer = Writer {
    container: ZIPKIN_SPANS,
    about: "spans of Zipkin",
    told_by: "`traceId`, `id` and `tags`",
    marks: &["tags"],
    matches: |value| {
        has_all(value, &["traceId", "id", "timestamp"])
            && value.get("tags").is_some_and(|tags| tags.as_object().is_some())
    },
    read: |value, entries| entries.push(read_zipkin(value)),
    joiner: None,
};

/// Beginning and end in nanoseconds.
fn times<'a>(value: &mut Json<'a>, start: &str) -> (Option<Json<'a>>, Option<Json<'a>>) {
    let start = value.take(start).and_then(|time| values::count(&time).ok());
    let took = value.take("duration").and_then(|time| values::count(&time).ok());
    let end = start.zip(took).and_then(|(start, took)| start.checked_add(took));
    let nanos = |us: u64| Json::String(format!("{us}000").into());
    (start.map(nanos), end.map(nanos))
}

fn read_jaeger(mut value: Json<'_>) -> Outcome<'_> {
    let (start, end) = times(&mut value, "startTime");
    let parent = items(&mut value, "references")
        .into_iter()
        .find(|reference| reference.get("refType").and_then(Json::as_str).is_none_or(|kind| kind == "CHILD_OF"));
    let events = items(&mut value, "logs").into_iter().map(|mut log| {
        let mut attributes = of_list(log.take("fields"));
        let name = attributes.name(&["event", "name", "message"]).unwrap_or_default();
        let time = log.take("timestamp").and_then(|time| values::count(&time).ok());
        Event { name, time: time.map(|us| Json::String(format!("{us}000").into())), attributes }
    });
    let events = events.collect();
    let mut attributes = match value.take("tags").filter(|tags| tags.as_array().is_some_and(|tags| !tags.is_empty())) {
        Some(tags) => of_list(Some(tags)),
        // Documents in Elasticsearch may keep tags as an object, dots as other signs.
        None => value.take("tag").map(with_dots).unwrap_or_default(),
    };
    let status = attributes.name(&["otel.status_code"]);
    let is_error = status.is_some_and(|status| status == "ERROR")
        || attributes
            .take(&["error"])
            .is_some_and(|error| error.as_bool() == Some(true) || error.as_str() == Some("true"));
    let span = Span {
        trace_id: take_text(&mut value, "traceID").map(hex_id),
        id: take_text(&mut value, "spanID").map(hex_id),
        parent_id: take_text(&mut value, "parentSpanID")
            .filter(|id| !id.is_empty())
            .or_else(|| parent.and_then(|mut parent| take_text(&mut parent, "spanID")))
            .map(hex_id),
        name: take_text(&mut value, "operationName"),
        start,
        end,
        message: attributes.name(&["otel.status_description"]),
        attributes,
        events,
        is_error,
        first_token: None,
    };
    Ok(span::read(span, JAEGER_SPANS))
}

/// A list of `key` and `value` as attributes.
fn of_list(list: Option<Json<'_>>) -> Attributes<'_> {
    let Some(Json::Array(list)) = list else { return Attributes::default() };
    let pairs = list.into_iter().filter_map(|mut tag| Some((take_text(&mut tag, "key")?, tag.take("value")?)));
    Attributes::of_object(Json::Object(pairs.collect()))
}

/// Tags whose dots were replaced: `gen_ai@system`.
fn with_dots(tags: Json<'_>) -> Attributes<'_> {
    let Json::Object(entries) = tags else { return Attributes::default() };
    let dotted = entries.into_iter().map(|(key, value)| match key.contains('@') {
        true => (key.replace('@', ".").into(), value),
        false => (key, value),
    });
    Attributes::of_object(Json::Object(dotted.collect()))
}

fn read_zipkin(mut value: Json<'_>) -> Outcome<'_> {
    let (start, end) = times(&mut value, "timestamp");
    let events = items(&mut value, "annotations").into_iter().map(|mut annotation| {
        let time = annotation.take("timestamp").and_then(|time| values::count(&time).ok());
        let time = time.map(|us| Json::String(format!("{us}000").into()));
        match annotation.take("value").map(decoded) {
            Some(Json::Object(mut entries)) if entries.len() == 1 => {
                let (name, attributes) = entries.remove(0);
                Event { name, time, attributes: Attributes::of_object(attributes) }
            }
            Some(Json::String(name)) => Event { name, time, attributes: Attributes::default() },
            _ => Event { name: "".into(), time, attributes: Attributes::default() },
        }
    });
    let events = events.collect();
    let mut attributes = value.take("tags").map(Attributes::of_object).unwrap_or_default();
    let error = attributes.name(&["error"]).filter(|error| error != "false");
    let is_error = error.is_some() || attributes.name(&["otel.status_code"]).is_some_and(|code| code == "ERROR");
    let span = Span {
        trace_id: take_text(&mut value, "traceId").map(hex_id),
        id: take_text(&mut value, "id").map(hex_id),
        parent_id: take_text(&mut value, "parentId").map(hex_id),
        name: take_text(&mut value, "name"),
        start,
        end,
        message: error.filter(|error| error != "true"),
        attributes,
        events,
        is_error,
        first_token: None,
    };
    Ok(span::read(span, ZIPKIN_SPANS))
}
