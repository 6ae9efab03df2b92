//! Spans of Phoenix and Arize: as the REST interface gives them, and as rows of the data frame.
//!
//! **Source**: arize-phoenix 11 to 20, `get_spans` of its client; exports of Arize AX.

use std::borrow::Cow;

use super::{
    Writer,
    attributes::Attributes,
    has_all, has_any,
    otlp::events,
    span::{self, Span},
};
use crate::record::{Container, body::message::take_text, call::Outcome, json::Json};

const CONTAINER: Container = Container::named("phoenix");

/// Spans of Phoenix.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "spans: REST, rows of the data frame",
    told_by: "`context`, `span_kind` and `attributes`; `context.span_id`",
    marks: &["context.trace_id", "context.span_id", "span_kind"],
    matches: |value| {
        value.get("span_kind").is_none()
            || has_all(value, &["context", "attributes"])
            || has_any(value, &["context.trace_id", "context.span_id"])
    },
    read: |value, entries| entries.push(read(value)),
    joiner: None,
};

/// Reads a span of Phoenix: as its REST interface gives it, or as a row of its data frame.
fn read(mut value: Json<'_>) -> Outcome<'_> {
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
    Ok(span::read(span, CONTAINER))
}

/// A key without a prefix that it must have.
fn shortened<'a>(key: Cow<'a, str>, prefix: &str) -> Option<Cow<'a, str>> {
    match key {
        Cow::Borrowed(key) => key.strip_prefix(prefix).map(Cow::Borrowed),
        Cow::Owned(key) => key.strip_prefix(prefix).map(|key| Cow::Owned(key.to_owned())),
    }
}
