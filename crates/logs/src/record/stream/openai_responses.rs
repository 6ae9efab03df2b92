//! OpenAI Responses: `response.*` events → the response.
//!
//! The last event (`response.completed`, `response.incomplete`, `response.failed`) holds the whole response, which is
//! taken as it is. Where it is missing, the first one holds the head, and the items that were done hold the output; text
//! of an item that was not done is what its deltas said.

use super::{PARTS_MAX, Progress, append, object, string};
use crate::record::json::Json;

/// A stream of which some events have been seen.
#[derive(Debug, Default)]
pub struct Stream {
    response: Option<Json<'static>>,
    items: Vec<Json<'static>>,
    text: String,
    has_ended: bool,
}

/// Whether `kind` is the type of an event, in an object that has what such an event has.
pub fn is_event(kind: &str, event: &Json<'_>) -> bool {
    kind.starts_with("response.")
        && ["response", "item", "item_id", "delta", "output_index", "part", "sequence_number"]
            .iter()
            .any(|key| event.get(key).is_some())
}

impl Stream {
    /// Whether an event with the head was seen.
    pub fn has_begun(&self) -> bool {
        self.response.is_some()
    }

    /// Whether the last event was seen.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes the next event.
    pub fn absorb(&mut self, mut event: Json<'static>) -> Progress {
        let kind = event.get("type").and_then(Json::as_str).unwrap_or_default().to_owned();
        match kind.as_str() {
            "response.output_text.delta" | "response.refusal.delta" => append(&event, "delta", &mut self.text),
            "response.output_item.done" => {
                if let Some(item) = event.take("item").filter(|_| self.items.len() < PARTS_MAX) {
                    self.items.push(item);
                    self.text.clear();
                }
            }
            _ => {
                self.response = event.take("response").or(self.response.take());
                self.has_ended |=
                    matches!(kind.as_str(), "response.completed" | "response.incomplete" | "response.failed");
            }
        }
        if self.has_ended { Progress::Complete } else { Progress::Open }
    }

    /// The response.
    pub fn into_body(mut self) -> Json<'static> {
        let response = self.response.unwrap_or_default();
        if self.has_ended {
            return response;
        }
        if !self.text.is_empty() {
            let part = object([("type", string("output_text")), ("text", string(self.text))]);
            let entries = [("type", string("message")), ("role", string("assistant"))];
            self.items.push(object(entries.into_iter().chain([("content", Json::Array(vec![part]))])));
        }
        let Json::Object(mut entries) = response else {
            return object([("object", string("response")), ("output", Json::Array(self.items))]);
        };
        entries.retain(|(key, _)| key != "output");
        entries.push(("output".into(), Json::Array(self.items)));
        Json::Object(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(events: &[&str]) -> String {
        let mut stream = Stream::default();
        for event in events {
            let event = Json::parse(event.as_bytes()).unwrap().into_owned();
            assert!(is_event(event.get("type").unwrap().as_str().unwrap(), &event), "{event:?}");
            stream.absorb(event);
        }
        stream.into_body().to_compact_string()
    }

    const CREATED: &str =
        r#"{"type":"response.created","response":{"id":"resp_1","object":"response","model":"m","output":[]}}"#;
    const DELTA: &str = r#"{"type":"response.output_text.delta","item_id":"i","output_index":0,"delta":"Hi"}"#;
    const DONE: &str = r#"{"type":"response.completed","response":{"id":"resp_1","object":"response","model":"m","output":[{"type":"message"}]}}"#;

    #[test]
    fn the_last_event_holds_the_response() {
        let whole = r#"{"id":"resp_1","object":"response","model":"m","output":[{"type":"message"}]}"#;
        assert_eq!(body(&[CREATED, DELTA, DONE]), whole);
        let cut = r#"{"id":"resp_1","object":"response","model":"m","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}]}"#;
        assert_eq!(body(&[CREATED, DELTA]), cut);
    }
}
