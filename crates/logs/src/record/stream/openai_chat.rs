//! OpenAI Chat Completions: chunks with `choices[].delta` → a body with `choices[].message`.
//!
//! Deltas of text are appended by the index of their choice, those of tool calls by the index of choice and call; the
//! token counts come in a last chunk without choices, in the last one with, or never.

use std::collections::BTreeMap;

use super::{PARTS_MAX, Progress, append, index_of, object, string};
use crate::record::json::Json;

/// Members of a chunk that the body has too.
const HEAD: [&str; 5] = ["id", "created", "model", "system_fingerprint", "service_tier"];

/// A stream of which some chunks have been seen.
#[derive(Debug, Default)]
pub struct Stream {
    head: Vec<(&'static str, Json<'static>)>,
    choices: BTreeMap<usize, Choice>,
    usage: Option<Json<'static>>,
}

#[derive(Debug, Default)]
struct Choice {
    text: String,
    refusal: String,
    reasoning: String,
    calls: BTreeMap<usize, Call>,
    finish_reason: Option<Json<'static>>,
}

#[derive(Debug, Default)]
struct Call {
    id: Option<Json<'static>>,
    name: String,
    arguments: String,
}

/// Whether an object is a chunk, or an answer of the old Completions, whose chunks are written as whole answers are.
pub fn is_chunk(object: &Json<'_>) -> bool {
    let first = object.pointer("/choices/0");
    match object.get("object").and_then(Json::as_str) {
        Some("chat.completion.chunk") => true,
        Some("text_completion") => object.get("choices").is_some(),
        // Some servers name a chunk otherwise, or not at all.
        _ => first.is_some_and(|choice| choice.get("delta").is_some_and(|delta| delta.as_object().is_some())),
    }
}

/// Whether a chunk of the old Completions is a whole answer where no other came before it.
pub fn is_whole(object: &Json<'_>) -> bool {
    let finish = object.pointer("/choices/0/finish_reason");
    object.get("object").and_then(Json::as_str) == Some("text_completion")
        && finish.is_some_and(|reason| !reason.is_null())
}

impl Stream {
    /// Whether a chunk has said why the answer ended.
    pub fn has_ended(&self) -> bool {
        !self.choices.is_empty() && self.choices.values().all(|choice| choice.finish_reason.is_some())
    }

    /// Whether a chunk of the same id belongs to another stream: the answer has ended, and the chunk begins one.
    pub fn is_over_before(&self, chunk: &Json<'_>) -> bool {
        let begins = |choice: &Json<'_>| choice.pointer("/delta/role").is_some_and(|role| !role.is_null());
        self.has_ended() && chunk.get("choices").and_then(Json::as_array).is_some_and(|all| all.iter().any(begins))
    }

    /// Takes the next chunk.
    pub fn absorb(&mut self, mut chunk: Json<'static>) -> Progress {
        for key in HEAD {
            if let Some(value) = chunk.take(key)
                && !self.head.iter().any(|(known, _)| *known == key)
            {
                self.head.push((key, value));
            }
        }
        if let Some(usage) = chunk.take("usage") {
            self.usage = Some(usage);
        }
        if let Some(Json::Array(choices)) = chunk.take("choices") {
            choices.into_iter().for_each(|choice| self.absorb_choice(choice));
        }
        match (self.has_ended(), &self.usage) {
            (true, Some(_)) => Progress::Complete,
            (true, None) => Progress::Ended,
            (false, _) => Progress::Open,
        }
    }

    fn absorb_choice(&mut self, mut part: Json<'static>) {
        let index = index_of(&part);
        if self.choices.len() >= PARTS_MAX && !self.choices.contains_key(&index) {
            return;
        }
        let choice = self.choices.entry(index).or_default();
        if let Some(mut delta) = part.take("delta") {
            append(&delta, "content", &mut choice.text);
            append(&delta, "refusal", &mut choice.refusal);
            append(&delta, "reasoning_content", &mut choice.reasoning);
            if let Some(Json::Array(calls)) = delta.take("tool_calls") {
                calls.into_iter().for_each(|call| choice.absorb_call(call));
            }
            if let Some(call) = delta.take("function_call") {
                choice.absorb_call(object([("function", call)]));
            }
        }
        append(&part, "text", &mut choice.text);
        choice.finish_reason = part.take("finish_reason").or(choice.finish_reason.take());
    }

    /// The body of the answer.
    pub fn into_body(self) -> Json<'static> {
        let choices = self.choices.into_iter().map(|(index, choice)| choice.into_json(index)).collect();
        let head = self.head.into_iter().chain([("object", string("chat.completion"))]);
        let usage = self.usage.map(|usage| ("usage", usage));
        object(head.chain([("choices", Json::Array(choices))]).chain(usage))
    }
}

impl Choice {
    fn absorb_call(&mut self, mut part: Json<'static>) {
        let index = index_of(&part);
        if self.calls.len() >= PARTS_MAX && !self.calls.contains_key(&index) {
            return;
        }
        let call = self.calls.entry(index).or_default();
        call.id = call.id.take().or_else(|| part.take("id"));
        if let Some(function) = part.take("function") {
            append(&function, "name", &mut call.name);
            append(&function, "arguments", &mut call.arguments);
        }
    }

    fn into_json(self, index: usize) -> Json<'static> {
        let has_text = !self.text.is_empty() || self.calls.is_empty() && self.refusal.is_empty();
        let calls: Vec<_> = self.calls.into_values().map(Call::into_json).collect();
        let message = object(
            [("role", string("assistant"))]
                .into_iter()
                .chain([("content", if has_text { string(self.text) } else { Json::Null })])
                .chain((!self.refusal.is_empty()).then(|| ("refusal", string(self.refusal))))
                .chain((!self.reasoning.is_empty()).then(|| ("reasoning_content", string(self.reasoning))))
                .chain((!calls.is_empty()).then_some(("tool_calls", Json::Array(calls)))),
        );
        let index = Json::Number(crate::record::json::Number::Unsigned(index as u64));
        let finish_reason = self.finish_reason.unwrap_or_default();
        object([("index", index), ("message", message), ("finish_reason", finish_reason)])
    }
}

impl Call {
    fn into_json(self) -> Json<'static> {
        let function = object([("name", string(self.name)), ("arguments", string(self.arguments))]);
        object([("id", self.id.unwrap_or_default()), ("type", string("function")), ("function", function)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(chunks: &[&str]) -> (Vec<Progress>, String) {
        let mut stream = Stream::default();
        let absorb = |chunk: &&str| stream.absorb(Json::parse(chunk.as_bytes()).unwrap().into_owned());
        let progress = chunks.iter().map(absorb).collect();
        (progress, stream.into_body().to_compact_string())
    }

    #[test]
    fn text_and_calls_are_appended_by_index() {
        let (progress, body) = body(&[
            r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
            r#"{"id":"c1","choices":[{"index":0,"delta":{"content":"Hel"}}]}"#,
            r#"{"id":"c1","choices":[{"index":0,"delta":{"content":"lo"}}]}"#,
            r#"{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"t2","function":{"name":"g","arguments":""}}]}}]}"#,
            r#"{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1","function":{"name":"f","arguments":"{\"a\":"}}]}}]}"#,
            r#"{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}"#,
            r#"{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            r#"{"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
        ]);
        assert_eq!(progress[..6], [Progress::Open; 6]);
        assert_eq!(progress[6..], [Progress::Ended, Progress::Complete]);
        let expected = concat!(
            r#"{"id":"c1","created":7,"model":"m","object":"chat.completion","choices":[{"index":0,"message":{"#,
            r#""role":"assistant","content":"Hello","tool_calls":["#,
            r#"{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},"#,
            r#"{"id":"t2","type":"function","function":{"name":"g","arguments":""}}]},"#,
            r#""finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#
        );
        assert_eq!(body, expected);
    }
}
