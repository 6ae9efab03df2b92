//! Events of spans of the OpenTelemetry GenAI conventions up to 1.36: `gen_ai.user.message`, `gen_ai.choice` and others.
//!
//! The piece is the log record as OTLP/JSON has it: `{timeUnixNano, traceId, spanId, eventName, attributes, body}`, or the
//! same with plain values. The name of the event is in `eventName`, or in the attribute `event.name`.

use super::{Part, object, string, text, time_ms};
use crate::record::json::Json;

/// One message of a call.
#[derive(Debug)]
pub struct Event {
    /// Trace and span, in lower case.
    pub span: Option<(String, String)>,
    /// When, in milliseconds since the epoch.
    pub time_ms: Option<i64>,
    /// What it says.
    pub said: Said,
}

/// What a message says.
#[derive(Debug)]
pub enum Said {
    /// A message to the model, in the form of Chat Completions.
    Message(Json<'static>),
    /// An answer of the model: a choice, in the form of Chat Completions.
    Choice(Json<'static>),
}

/// Containers in one another that a value may have.
const DEPTH_MAX: usize = 64;

/// Reads an event.
pub fn read(mut value: Json<'static>) -> Result<Part, String> {
    let name = text(&value, "eventName").or_else(|| attribute(&value, "event.name"));
    let mut body = plain(value.take("body").unwrap_or_default(), 0);
    let time = ["timeUnixNano", "observedTimeUnixNano"].into_iter().find_map(|key| time_ms(value.get(key)));
    let id = |key| text(&value, key).filter(|id| !id.is_empty()).map(|id| id.to_ascii_lowercase());
    let said = match name.as_deref().and_then(|name| name.strip_prefix("gen_ai.")) {
        Some("choice") => Said::Choice(body),
        Some(message) if message.ends_with(".message") => {
            let role = message.trim_end_matches(".message").to_owned();
            let said_role = text(&body, "role").unwrap_or(role);
            if let Json::Object(entries) = &mut body {
                entries.retain(|(key, _)| key != "role");
                // The id of a tool's message is that of the call that it answers.
                entries.iter_mut().filter(|(key, _)| key == "id").for_each(|(key, _)| *key = "tool_call_id".into());
                entries.insert(0, ("role".into(), string(said_role)));
            } else {
                body = object([("role", string(said_role)), ("content", body)]);
            }
            Said::Message(body)
        }
        _ => return Ok(Part::Aside("an event that is no message")),
    };
    Ok(Part::OtelEvent(Event { span: id("traceId").zip(id("spanId")), time_ms: time, said }))
}

fn attribute(value: &Json<'_>, name: &str) -> Option<String> {
    match value.get("attributes")? {
        Json::Array(attributes) => {
            let found = attributes.iter().find(|attribute| attribute.get("key").and_then(Json::as_str) == Some(name))?;
            found.pointer("/value/stringValue").and_then(Json::as_str).map(str::to_owned)
        }
        attributes => text(attributes, name),
    }
}

/// A value of OTLP (`{"stringValue": …}`, `{"kvlistValue": {"values": […]}}`) as plain JSON; plain JSON as it is.
fn plain(mut value: Json<'static>, depth: usize) -> Json<'static> {
    let is_typed = value.as_object().is_some_and(|entries| entries.len() == 1 && entries[0].0.ends_with("Value"));
    if !is_typed || depth > DEPTH_MAX {
        return value;
    }
    for key in ["stringValue", "boolValue", "intValue", "doubleValue"] {
        if let Some(value) = value.take(key) {
            return value;
        }
    }
    let mut values = |key| match value.take(key).and_then(|mut list| list.take("values")) {
        Some(Json::Array(values)) => Some(values),
        _ => None,
    };
    if let Some(items) = values("arrayValue") {
        return Json::Array(items.into_iter().map(|item| plain(item, depth + 1)).collect());
    }
    let entries = values("kvlistValue").unwrap_or_default().into_iter().filter_map(|mut entry| {
        let key = text(&entry, "key")?;
        Some((key.into(), plain(entry.take("value").unwrap_or_default(), depth + 1)))
    });
    Json::Object(entries.collect())
}
