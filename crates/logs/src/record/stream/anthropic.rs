//! Anthropic Messages: `message_start`, content blocks by their index, `message_delta`, `message_stop` → a message.
//!
//! Token counts are cumulative: those of `message_delta` replace those of `message_start`, key by key. What Bedrock
//! measured, and says in the last event, stands in the message under the same name.

use std::{borrow::Cow, collections::BTreeMap};

use super::{PARTS_MAX, Progress, append, arguments, index_of, object, string};
use crate::record::{body::anthropic::BEDROCK_METRICS, json::Json};

/// A stream of which some events have been seen.
#[derive(Debug, Default)]
pub struct Stream {
    message: Option<Json<'static>>,
    blocks: BTreeMap<usize, Block>,
    stop: Option<Json<'static>>,
    usage: Vec<(Cow<'static, str>, Json<'static>)>,
    error: Option<Json<'static>>,
    metrics: Option<Json<'static>>,
    has_stopped: bool,
}

#[derive(Debug, Default)]
struct Block {
    begun: Json<'static>,
    text: String,
    thinking: String,
    input: String,
}

/// Whether `kind` is the type of an event, in an object that has what such an event has.
pub fn is_event(kind: &str, event: &Json<'_>) -> bool {
    match kind {
        "message_start" => event.get("message").is_some(),
        "content_block_start" => event.get("content_block").is_some(),
        "content_block_delta" | "message_delta" => event.get("delta").is_some(),
        "content_block_stop" => event.get("index").is_some(),
        "message_stop" | "ping" => true,
        _ => false,
    }
}

impl Stream {
    /// Whether the first event was seen.
    pub fn has_begun(&self) -> bool {
        self.message.is_some()
    }

    /// Whether the answer has ended.
    pub fn has_ended(&self) -> bool {
        self.has_stopped || self.stop.is_some() || self.error.is_some()
    }

    /// Takes the next event.
    pub fn absorb(&mut self, mut event: Json<'static>) -> Progress {
        let index = index_of(&event);
        self.metrics = event.take(BEDROCK_METRICS).or(self.metrics.take());
        match event.get("type").and_then(Json::as_str).unwrap_or_default() {
            "message_start" => {
                let mut message = event.take("message").unwrap_or_default();
                self.add_usage(message.take("usage"));
                self.message = Some(message);
            }
            "content_block_start" => {
                let begun = event.take("content_block").unwrap_or_default();
                if let Some(block) = self.block(index) {
                    append(&begun, "text", &mut block.text);
                    append(&begun, "thinking", &mut block.thinking);
                    block.begun = begun;
                }
            }
            "content_block_delta" => {
                let delta = event.take("delta").unwrap_or_default();
                if let Some(block) = self.block(index) {
                    append(&delta, "text", &mut block.text);
                    append(&delta, "thinking", &mut block.thinking);
                    append(&delta, "partial_json", &mut block.input);
                }
            }
            "message_delta" => {
                self.stop = event.take("delta").and_then(|mut delta| delta.take("stop_reason")).or(self.stop.take());
                self.add_usage(event.take("usage"));
            }
            "message_stop" => self.has_stopped = true,
            "error" => self.error = event.take("error"),
            _ => {}
        }
        if self.has_stopped || self.error.is_some() { Progress::Complete } else { Progress::Open }
    }

    fn block(&mut self, index: usize) -> Option<&mut Block> {
        let has_room = self.blocks.len() < PARTS_MAX || self.blocks.contains_key(&index);
        has_room.then(|| self.blocks.entry(index).or_default())
    }

    fn add_usage(&mut self, usage: Option<Json<'static>>) {
        let Some(Json::Object(counts)) = usage else { return };
        let has_room = self.usage.len() + counts.len() <= PARTS_MAX;
        for (name, count) in counts {
            match self.usage.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = count,
                None if has_room => self.usage.push((name, count)),
                None => {}
            }
        }
    }

    /// The message.
    pub fn into_body(self) -> Json<'static> {
        if let Some(error) = self.error {
            return object([("type", string("error")), ("error", error)]);
        }
        let mut message = self.message.unwrap_or_default();
        let mut kept = |key| message.take(key);
        let (id, model) = (kept("id"), kept("model"));
        let stop = self.stop.or_else(|| kept("stop_reason"));
        let content = self.blocks.into_values().map(Block::into_json).collect();
        let head = [("id", id), ("model", model)].into_iter().filter_map(|(key, value)| Some((key, value?)));
        object(
            head.chain([("type", string("message")), ("role", string("assistant"))])
                .chain([("content", Json::Array(content)), ("stop_reason", stop.unwrap_or_default())])
                .chain([("usage", Json::Object(self.usage))])
                .chain(self.metrics.map(|metrics| (BEDROCK_METRICS, metrics))),
        )
    }
}

impl Block {
    fn into_json(self) -> Json<'static> {
        let Block { mut begun, text, thinking, input } = self;
        let kind = begun.get("type").and_then(Json::as_str).unwrap_or("text").to_owned();
        match kind.as_str() {
            "text" => object([("type", string("text")), ("text", string(text))]),
            "thinking" => object([("type", string("thinking")), ("thinking", string(thinking))]),
            "tool_use" | "server_tool_use" => {
                let input = if input.is_empty() { begun.take("input").unwrap_or(object([])) } else { arguments(input) };
                let (id, name) = (begun.take("id").unwrap_or_default(), begun.take("name").unwrap_or_default());
                object([("type", string(kind)), ("id", id), ("name", name), ("input", input)])
            }
            _ => begun,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_counts_come_together() {
        let mut stream = Stream::default();
        let events = [
            r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"usage":{"input_tokens":25,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"!"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\": "}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":15}}"#,
            r#"{"type":"message_stop"}"#,
        ];
        for (position, event) in events.iter().enumerate() {
            let event = Json::parse(event.as_bytes()).unwrap().into_owned();
            assert!(is_event(event.get("type").unwrap().as_str().unwrap(), &event));
            let expected = if position + 1 == events.len() { Progress::Complete } else { Progress::Open };
            assert_eq!(stream.absorb(event), expected);
        }
        let expected = concat!(
            r#"{"id":"msg_1","model":"claude","type":"message","role":"assistant","content":[{"type":"text","text":"Hello!"},"#,
            r#"{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}],"stop_reason":"tool_use","#,
            r#""usage":{"input_tokens":25,"output_tokens":15}}"#
        );
        assert_eq!(stream.into_body().to_compact_string(), expected);
    }
}
