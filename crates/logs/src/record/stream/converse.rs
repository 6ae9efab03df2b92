//! Bedrock Converse: `messageStart`, content blocks by their index, `messageStop`, `metadata` → a response.
//!
//! Each event is an object with one key, as the SDKs of AWS give them.
//!
//! **Source**: `ConverseStream` in the API reference of the Bedrock runtime.

use std::collections::BTreeMap;

use super::{PARTS_MAX, Progress, append, arguments, object, string};
use crate::record::json::{Json, Number};

/// The keys of events.
const EVENTS: [&str; 6] =
    ["messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"];

/// A stream of which some events have been seen.
#[derive(Debug, Default)]
pub struct Stream {
    blocks: BTreeMap<usize, Block>,
    has_begun: bool,
    stop: Option<Json<'static>>,
    metadata: Json<'static>,
}

#[derive(Debug, Default)]
struct Block {
    text: String,
    call: Option<Json<'static>>,
    input: String,
}

/// Whether an object is an event.
pub fn is_event(object: &Json<'_>) -> bool {
    let [(key, value)] = object.as_object().unwrap_or_default() else { return false };
    EVENTS.contains(&key.as_ref())
        && match key.as_ref() {
            "messageStart" => value.get("role").is_some(),
            "messageStop" => value.get("stopReason").is_some(),
            "metadata" => value.get("usage").is_some_and(|usage| usage.get("inputTokens").is_some()),
            _ => value.get("contentBlockIndex").is_some() || value.get("delta").is_some(),
        }
}

impl Stream {
    /// Whether the first event was seen.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether an event has said why the answer ended.
    pub fn has_ended(&self) -> bool {
        self.stop.is_some()
    }

    /// Takes the next event.
    pub fn absorb(&mut self, event: Json<'static>) -> Progress {
        let Json::Object(entries) = event else { return Progress::Open };
        for (key, mut value) in entries {
            let index = value.get("contentBlockIndex").and_then(Json::as_number).and_then(Number::as_integer);
            let index = index.and_then(|index| usize::try_from(index).ok()).unwrap_or(0);
            match key.as_ref() {
                "messageStart" => self.has_begun = true,
                "contentBlockStart" => {
                    let call = value.take("start").and_then(|mut start| start.take("toolUse"));
                    if let Some(block) = self.block(index) {
                        block.call = call;
                    }
                }
                "contentBlockDelta" => {
                    let delta = value.take("delta").unwrap_or_default();
                    if let Some(block) = self.block(index) {
                        append(&delta, "text", &mut block.text);
                        if let Some(call) = delta.get("toolUse") {
                            append(call, "input", &mut block.input);
                        }
                    }
                }
                "messageStop" => self.stop = value.take("stopReason"),
                "metadata" => self.metadata = value,
                _ => {}
            }
        }
        match (&self.stop, &self.metadata) {
            (Some(_), Json::Null) => Progress::Ended,
            (Some(_), _) => Progress::Complete,
            (None, _) => Progress::Open,
        }
    }

    fn block(&mut self, index: usize) -> Option<&mut Block> {
        let has_room = self.blocks.len() < PARTS_MAX || self.blocks.contains_key(&index);
        has_room.then(|| self.blocks.entry(index).or_default())
    }

    /// The response.
    pub fn into_body(self) -> Json<'static> {
        let content = self.blocks.into_values().filter_map(Block::into_json).collect();
        let message = object([("role", string("assistant")), ("content", Json::Array(content))]);
        let stop = self.stop.map(|stop| ("stopReason", stop));
        let mut metadata = self.metadata;
        let measured = ["usage", "metrics"].map(|key| metadata.take(key).map(|value| (key, value)));
        object(
            [("output", object([("message", message)]))].into_iter().chain(stop).chain(measured.into_iter().flatten()),
        )
    }
}

impl Block {
    fn into_json(self) -> Option<Json<'static>> {
        match self.call {
            Some(Json::Object(mut call)) => {
                call.push(("input".into(), arguments(self.input)));
                Some(object([("toolUse", Json::Object(call))]))
            }
            _ if self.text.is_empty() => None,
            _ => Some(object([("text", string(self.text))])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_become_a_response() {
        let mut stream = Stream::default();
        let events = [
            r#"{"messageStart":{"role":"assistant"}}"#,
            r#"{"contentBlockDelta":{"delta":{"text":"Hel"},"contentBlockIndex":0}}"#,
            r#"{"contentBlockDelta":{"delta":{"text":"lo"},"contentBlockIndex":0}}"#,
            r#"{"contentBlockStop":{"contentBlockIndex":0}}"#,
            r#"{"contentBlockStart":{"start":{"toolUse":{"toolUseId":"t","name":"f"}},"contentBlockIndex":1}}"#,
            r#"{"contentBlockDelta":{"delta":{"toolUse":{"input":"{\"a\":"}},"contentBlockIndex":1}}"#,
            r#"{"contentBlockDelta":{"delta":{"toolUse":{"input":"1}"}},"contentBlockIndex":1}}"#,
            r#"{"messageStop":{"stopReason":"tool_use"}}"#,
            r#"{"metadata":{"usage":{"inputTokens":3,"outputTokens":2},"metrics":{"latencyMs":9}}}"#,
        ];
        let mut progress = Progress::Open;
        for event in events {
            let event = Json::parse(event.as_bytes()).unwrap().into_owned();
            assert!(is_event(&event), "{event:?}");
            progress = stream.absorb(event);
        }
        assert_eq!(progress, Progress::Complete);
        assert_eq!(
            stream.into_body().to_compact_string(),
            r#"{"output":{"message":{"role":"assistant","content":[{"text":"Hello"},{"toolUse":{"toolUseId":"t","name":"f","input":{"a":1}}}]}},"stopReason":"tool_use","usage":{"inputTokens":3,"outputTokens":2},"metrics":{"latencyMs":9}}"#
        );
        for object in [r#"{"metadata":{"model":"m"}}"#, r#"{"messageStop":{"stopReason":"s"},"a":1}"#, "{}"] {
            assert!(!is_event(&Json::parse(object.as_bytes()).unwrap()), "{object}");
        }
    }
}
