//! Events of spans of the OpenTelemetry GenAI conventions up to 1.36: `gen_ai.user.message`, `gen_ai.choice` and others.
//!
//! The piece is `{trace_id, span_id, event, time, body}`, with plain values.

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

/// Reads an event.
pub fn read(mut value: Json<'static>) -> Result<Part, String> {
    let mut body = value.take("body").unwrap_or_default();
    let id = |key| text(&value, key).filter(|id| !id.is_empty());
    let name = text(&value, "event");
    let said = match name.as_deref().and_then(|name| name.strip_prefix("gen_ai.")) {
        Some("choice") => Said::Choice(body),
        Some(message) if message.ends_with(".message") => {
            let role = text(&body, "role").unwrap_or_else(|| message.trim_end_matches(".message").to_owned());
            if let Json::Object(entries) = &mut body {
                entries.retain(|(key, _)| key != "role");
                // The id of a tool's message is that of the call that it answers.
                entries.iter_mut().filter(|(key, _)| key == "id").for_each(|(key, _)| *key = "tool_call_id".into());
                entries.insert(0, ("role".into(), string(role)));
            } else {
                body = object([("role", string(role)), ("content", body)]);
            }
            Said::Message(body)
        }
        _ => return Ok(Part::Aside("an event that is no message")),
    };
    Ok(Part::OtelEvent(Event { span: id("trace_id").zip(id("span_id")), time_ms: time_ms(value.get("time")), said }))
}
