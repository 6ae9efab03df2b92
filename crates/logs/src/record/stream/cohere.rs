//! Cohere: events of v1 (`event_type`) and of v2 (`type`) → a response of v2.
//!
//! - v1: `text-generation`, `tool-calls-generation`; `stream-end` brings the whole response
//! - v2: `content-delta`, `tool-call-start`, `tool-call-delta`, `message-end` with finish reason and token counts
//!
//! **Source**: the API reference of Cohere, v1 and v2.

use std::collections::BTreeMap;

use super::{PARTS_MAX, Progress, append, index_of, object, string};
use crate::record::json::Json;

/// A stream of which some events have been seen.
#[derive(Debug, Default)]
pub struct Stream {
    id: Option<Json<'static>>,
    text: String,
    calls: BTreeMap<usize, Call>,
    finish_reason: Option<Json<'static>>,
    usage: Option<Json<'static>>,
    /// The whole response, which v1 says at the end.
    whole: Option<Json<'static>>,
    has_begun: bool,
    has_ended: bool,
}

#[derive(Debug, Default)]
struct Call {
    begun: Json<'static>,
    arguments: String,
}

/// Whether an object is an event.
pub fn is_event(object: &Json<'_>) -> bool {
    let text = |key: &str| object.get(key).and_then(Json::as_str).unwrap_or_default();
    let is_v1 = object.get("is_finished").and_then(Json::as_bool).is_some() && !text("event_type").is_empty();
    let is_v2 = || match text("type") {
        "message-start" | "message-end" => object.pointer("/delta").is_some(),
        "content-start" | "content-delta" | "tool-plan-delta" | "tool-call-start" | "tool-call-delta"
        | "citation-start" => object.pointer("/delta/message").is_some(),
        "content-end" | "tool-call-end" | "citation-end" => object.get("index").is_some(),
        _ => false,
    };
    is_v1 || is_v2()
}

impl Stream {
    /// Whether the first event was seen.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether the last event was seen.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether an event begins another answer.
    pub fn is_beginning(event: &Json<'_>) -> bool {
        let text = |key: &str| event.get(key).and_then(Json::as_str);
        text("type") == Some("message-start") || text("event_type") == Some("stream-start")
    }

    /// Takes the next event.
    pub fn absorb(&mut self, mut event: Json<'static>) -> Progress {
        let kind = ["event_type", "type"].iter().find_map(|key| event.get(key).and_then(Json::as_str));
        let index = index_of(&event);
        match kind.map(str::to_owned).as_deref().unwrap_or_default() {
            "stream-start" => (self.has_begun, self.id) = (true, event.take("generation_id")),
            "message-start" => (self.has_begun, self.id) = (true, event.take("id")),
            "text-generation" => append(&event, "text", &mut self.text),
            "content-start" | "content-delta" => {
                if let Some(content) = event.pointer("/delta/message/content") {
                    append(content, "text", &mut self.text);
                }
            }
            "tool-call-start" => {
                let call = event.take("delta").and_then(|mut delta| delta.take("message")?.take("tool_calls"));
                if let Some(call) = call.filter(|_| self.calls.len() < PARTS_MAX) {
                    let mut begun = Call { begun: call, arguments: String::new() };
                    begun.append();
                    self.calls.insert(index, begun);
                }
            }
            "tool-call-delta" => {
                let function = event.pointer("/delta/message/tool_calls/function");
                if let (Some(call), Some(function)) = (self.calls.get_mut(&index), function) {
                    append(function, "arguments", &mut call.arguments);
                }
            }
            "message-end" => {
                let mut delta = event.take("delta").unwrap_or_default();
                (self.finish_reason, self.usage) = (delta.take("finish_reason"), delta.take("usage"));
                self.has_ended = true;
            }
            "stream-end" => {
                self.finish_reason = event.take("finish_reason");
                self.whole = event.take("response").filter(|whole| whole.get("text").is_some());
                self.has_ended = true;
            }
            _ => {}
        }
        if self.has_ended { Progress::Complete } else { Progress::Open }
    }

    /// The response.
    pub fn into_body(self) -> Json<'static> {
        if let Some(whole) = self.whole {
            return whole;
        }
        let calls: Vec<Json<'static>> = self.calls.into_values().map(Call::into_json).collect();
        let calls = (!calls.is_empty()).then_some(("tool_calls", Json::Array(calls)));
        let content = (!self.text.is_empty()).then(|| {
            let part = object([("type", string("text")), ("text", string(self.text))]);
            ("content", Json::Array(vec![part]))
        });
        let message = object([("role", string("assistant"))].into_iter().chain(content).chain(calls));
        let rest = [("id", self.id), ("finish_reason", self.finish_reason), ("usage", self.usage)];
        let rest = rest.into_iter().filter_map(|(key, value)| Some((key, value?)));
        object([("message", message)].into_iter().chain(rest))
    }
}

impl Call {
    /// Takes the arguments that the first event has.
    fn append(&mut self) {
        if let Some(function) = self.begun.get("function") {
            append(function, "arguments", &mut self.arguments);
        }
    }

    fn into_json(mut self) -> Json<'static> {
        let mut function = self.begun.take("function").unwrap_or_default();
        let name = function.take("name").unwrap_or_default();
        let function = object([("name", name), ("arguments", string(self.arguments))]);
        object([("id", self.begun.take("id").unwrap_or_default()), ("function", function)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(events: &[&str], expected: &str) {
        let mut stream = Stream::default();
        let mut progress = Progress::Open;
        for event in events {
            let event = Json::parse(event.as_bytes()).unwrap().into_owned();
            assert!(is_event(&event), "{event:?}");
            progress = stream.absorb(event);
        }
        assert_eq!(progress, Progress::Complete);
        assert_eq!(stream.into_body().to_compact_string(), expected);
    }

    #[test]
    fn events_of_both_versions_become_a_response() {
        check(
            &[
                r#"{"is_finished":false,"event_type":"stream-start","generation_id":"g"}"#,
                r#"{"is_finished":false,"event_type":"text-generation","text":"Hi"}"#,
                r#"{"is_finished":true,"event_type":"stream-end","finish_reason":"COMPLETE","response":{"text":"Hi","meta":{"tokens":{"input_tokens":3}}}}"#,
            ],
            r#"{"text":"Hi","meta":{"tokens":{"input_tokens":3}}}"#,
        );
        check(
            &[
                r#"{"type":"message-start","id":"i","delta":{"message":{"role":"assistant","content":[]}}}"#,
                r#"{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}"#,
                r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hi"}}}}"#,
                r#"{"type":"content-end","index":0}"#,
                r#"{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"t","type":"function","function":{"name":"f","arguments":""}}}}}"#,
                r#"{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{}"}}}}}"#,
                r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"tokens":{"input_tokens":3,"output_tokens":1}}}}"#,
            ],
            r#"{"message":{"role":"assistant","content":[{"type":"text","text":"Hi"}],"tool_calls":[{"id":"t","function":{"name":"f","arguments":"{}"}}]},"id":"i","finish_reason":"COMPLETE","usage":{"tokens":{"input_tokens":3,"output_tokens":1}}}"#,
        );
    }
}
