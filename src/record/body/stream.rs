//! Pieces of a streamed answer that stand in one value, put together: chunks of Chat Completions, events of Anthropic
//! (also as Bedrock logs them), partial responses of Gemini, events of OpenAI Responses.
//!
//! Tool calls come in pieces by index, arguments as fragments of JSON text. The last usage counts: all of them are
//! cumulative. Elements that are no event (the string `[DONE]`) are passed over.
//!
//! **Source**: the streaming chapters of the API references of OpenAI, Anthropic and Google.
//!
//! **Limits**: pieces in several units are put together elsewhere.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    Answer, TOOL_CALLS, gemini,
    message::{args_of, take_text},
    openai_responses,
    usage::Usage,
};
use crate::record::{Dialect, ToolCall, json::Json, values};

/// Calls of one answer; an index beyond it is passed over.
const MAX_CALLS: usize = 1024;

/// Reads a list of pieces; gives it back when it is none.
pub(in crate::record) fn read(pieces: Vec<Json<'_>>) -> Result<Answer<'_>, Vec<Json<'_>>> {
    match dialect_of(&pieces) {
        Some(Dialect::OpenAiChat) => Ok(read_chunks(pieces)),
        Some(Dialect::Anthropic) => Ok(read_events(pieces)),
        Some(Dialect::Gemini) => Ok(read_partials(pieces)),
        Some(Dialect::OpenAiResponses) => match pieces.into_iter().rev().find_map(last_response) {
            Some(response) => Ok(openai_responses::read_response(response)),
            None => Ok(Answer { dialect: Some(Dialect::OpenAiResponses), ..Answer::default() }),
        },
        _ => Err(pieces),
    }
}

/// The dialect of a piece that is a part of a streamed answer.
pub(in crate::record) fn dialect_of_piece(piece: &Json<'_>) -> Option<Dialect> {
    if piece.get("object").and_then(Json::as_str) == Some("chat.completion.chunk") {
        return Some(Dialect::OpenAiChat);
    }
    match piece.get("type").and_then(Json::as_str) {
        Some(
            "message_start"
            | "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "message_delta"
            | "message_stop",
        ) => {
            return Some(Dialect::Anthropic);
        }
        Some(kind) if kind.starts_with("response.") => return Some(Dialect::OpenAiResponses),
        _ => {}
    }
    let is_partial = gemini::is_response(piece) && piece.get("candidates").is_some();
    let is_count = ["usageMetadata", "usage_metadata"].iter().any(|key| piece.get(key).is_some());
    (is_partial || is_count).then_some(Dialect::Gemini)
}

fn dialect_of(pieces: &[Json<'_>]) -> Option<Dialect> {
    let mut dialects = pieces.iter().filter(|piece| matches!(piece, Json::Object(_))).map(dialect_of_piece);
    let first = dialects.next()??;
    // Services put objects of their own between the events (`ping`, metrics); a Gemini list has nothing else.
    if first == Dialect::Gemini && !dialects.all(|dialect| dialect == Some(first)) {
        return None;
    }
    Some(first)
}

/// A text that comes in pieces.
#[derive(Default)]
struct Growing {
    text: String,
    has_begun: bool,
}

impl Growing {
    fn push(&mut self, piece: Option<Cow<'_, str>>) {
        if let Some(piece) = piece {
            self.has_begun = true;
            self.text.push_str(&piece);
        }
    }

    fn finish<'a>(self) -> Option<Cow<'a, str>> {
        self.has_begun.then_some(self.text.into())
    }
}

/// Tool calls that come in pieces, by their index.
#[derive(Default)]
struct Calls<'a> {
    calls: BTreeMap<u64, (ToolCall<'a>, String)>,
}

impl<'a> Calls<'a> {
    fn at(&mut self, index: u64) -> Option<&mut (ToolCall<'a>, String)> {
        if self.calls.len() >= MAX_CALLS && !self.calls.contains_key(&index) {
            return None;
        }
        Some(self.calls.entry(index).or_default())
    }

    fn finish(self) -> Vec<ToolCall<'a>> {
        let calls = self.calls.into_values().map(|(call, text)| {
            let args = match (text.is_empty(), call.args) {
                (true, args @ Json::Object(_)) => args,
                (true, _) => Json::Object(Vec::new()),
                (false, _) => args_of(Json::String(text.into())),
            };
            ToolCall { args, ..call }
        });
        calls.filter(|call| !call.name.is_empty()).collect()
    }
}

fn read_chunks(pieces: Vec<Json<'_>>) -> Answer<'_> {
    let mut answer = Answer { dialect: Some(Dialect::OpenAiChat), ..Answer::default() };
    let (mut text, mut calls) = (Growing::default(), Calls::default());
    for mut piece in pieces {
        answer.id = answer.id.or_else(|| take_text(&mut piece, "id"));
        answer.model = answer.model.or_else(|| take_text(&mut piece, "model"));
        answer.created = answer.created.or_else(|| piece.take("created"));
        if let Some(usage) = piece.take("usage") {
            answer.usage = Usage::of(&usage);
        }
        let Some(Json::Array(choices)) = piece.take("choices") else { continue };
        let is_first = |choice: &Json<'_>| index_of(choice) == 0;
        let Some(mut choice) = choices.into_iter().find(is_first) else { continue };
        answer.finish_reason = take_text(&mut choice, "finish_reason").or(answer.finish_reason);
        let Some(mut delta) = choice.take("delta") else { continue };
        text.push(take_text(&mut delta, "content").or_else(|| take_text(&mut delta, "refusal")));
        let Some(Json::Array(deltas)) = delta.take("tool_calls") else { continue };
        for mut call in deltas {
            let Some((whole, args)) = calls.at(index_of(&call)) else { continue };
            whole.id = whole.id.take().or_else(|| take_text(&mut call, "id"));
            let Some(mut function) = call.take("function") else { continue };
            if let Some(name) = take_text(&mut function, "name") {
                whole.name = format!("{}{name}", whole.name).into();
            }
            args.push_str(&take_text(&mut function, "arguments").unwrap_or_default());
        }
    }
    settle(answer, text, calls)
}

fn read_events(pieces: Vec<Json<'_>>) -> Answer<'_> {
    let mut answer = Answer { dialect: Some(Dialect::Anthropic), ..Answer::default() };
    let (mut text, mut calls) = (Growing::default(), Calls::default());
    let mut counts: Vec<(Cow<'_, str>, Json<'_>)> = Vec::new();
    for mut piece in pieces {
        let index = index_of(&piece);
        if let Some(metrics) = piece.take("amazon-bedrock-invocationMetrics") {
            read_metrics(&metrics, &mut answer);
        }
        if let Some(mut message) = piece.take("message") {
            answer.id = take_text(&mut message, "id").or(answer.id);
            answer.model = take_text(&mut message, "model").or(answer.model);
            merge_counts(&mut counts, message.take("usage"));
        }
        merge_counts(&mut counts, piece.take("usage"));
        if let Some(mut block) = piece.take("content_block") {
            if block.get("type").and_then(Json::as_str) == Some("text") {
                text.push(take_text(&mut block, "text"));
            } else if let Some(name) = take_text(&mut block, "name")
                && let Some((call, _)) = calls.at(index)
            {
                call.id = take_text(&mut block, "id");
                call.name = name;
                call.args = block.take("input").unwrap_or_default();
            }
        }
        if let Some(mut delta) = piece.take("delta") {
            text.push(take_text(&mut delta, "text"));
            answer.finish_reason = take_text(&mut delta, "stop_reason").or(answer.finish_reason);
            if let Some(json) = take_text(&mut delta, "partial_json")
                && let Some((_, args)) = calls.at(index)
            {
                args.push_str(&json);
            }
        }
    }
    let measured = std::mem::take(&mut answer.usage);
    answer.usage = Usage::of(&Json::Object(counts));
    answer.usage.prompt = answer.usage.prompt.or(measured.prompt);
    answer.usage.response = answer.usage.response.or(measured.response);
    settle(answer, text, calls)
}

/// The counts and times with which Bedrock ends a stream.
fn read_metrics(metrics: &Json<'_>, answer: &mut Answer<'_>) {
    let ms = |key: &str| values::duration_ms(metrics.get(key)?, values::Unit::Ms).ok();
    let count = |key: &str| values::count(metrics.get(key)?).ok();
    answer.latency_ms = ms("invocationLatency");
    answer.ttft_ms = ms("firstByteLatency");
    answer.usage.prompt = count("inputTokenCount");
    answer.usage.response = count("outputTokenCount");
}

fn read_partials(pieces: Vec<Json<'_>>) -> Answer<'_> {
    let mut whole = Answer { dialect: Some(Dialect::Gemini), ..Answer::default() };
    let mut text = Growing::default();
    for piece in pieces {
        let part = gemini::read_response(piece);
        text.push(part.text);
        whole.tool_calls.extend(part.tool_calls);
        whole.finish_reason = part.finish_reason.or(whole.finish_reason);
        whole.id = whole.id.or(part.id);
        whole.model = whole.model.or(part.model);
        whole.created = whole.created.or(part.created);
        whole.error = whole.error.or(part.error);
        whole.context.extend(part.context);
        whole.notes.merge(part.notes);
        if !part.usage.is_empty() {
            whole.usage = part.usage;
        }
    }
    whole.text = text.finish();
    whole
}

/// The response that an event of the Responses API carries at its end.
fn last_response(mut event: Json<'_>) -> Option<Json<'_>> {
    event.take("response").filter(|response| response.get("output").is_some())
}

fn settle<'a>(mut answer: Answer<'a>, text: Growing, calls: Calls<'a>) -> Answer<'a> {
    answer.tool_calls = calls.finish();
    answer.text = text.finish().filter(|text| !text.is_empty() || answer.tool_calls.is_empty());
    if answer.text.is_none() && !answer.tool_calls.is_empty() {
        answer.finish_reason = answer.finish_reason.or(Some(TOOL_CALLS.into()));
    }
    answer
}

/// Later counts replace earlier ones: all of them are cumulative.
fn merge_counts<'a>(counts: &mut Vec<(Cow<'a, str>, Json<'a>)>, usage: Option<Json<'a>>) {
    let Some(Json::Object(entries)) = usage else { return };
    for (key, value) in entries {
        match counts.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => counts.push((key, value)),
        }
    }
}

fn index_of(value: &Json<'_>) -> u64 {
    value.get("index").and_then(|index| values::count(index).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_list(json: &str) -> Answer<'_> {
        let Ok(Json::Array(pieces)) = Json::parse(json.as_bytes()) else { panic!("{json}") };
        read(pieces).unwrap_or_else(|_| panic!("{json}"))
    }

    #[test]
    fn chunks_of_chat_completions_become_an_answer() {
        let chunk = |rest: &str| format!(r#"{{"object":"chat.completion.chunk","id":"c","model":"m",{rest}}}"#);
        let delta = |delta: &str| chunk(&format!(r#""choices":[{{"index":0,"delta":{delta}}}]"#));
        let list = [
            delta(r#"{"role":"assistant","content":""}"#),
            delta(r#"{"content":"Hel"}"#),
            delta(r#"{"content":"lo"}"#),
            delta(r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":""}}]}"#),
            delta(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}"#),
            delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}"#),
            chunk(r#""choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]"#),
            chunk(r#""choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}"#),
            "\"[DONE]\"".to_owned(),
        ];
        let json = format!("[{}]", list.join(","));
        let answer = read_list(&json);
        assert_eq!((answer.text.as_deref(), answer.finish_reason.as_deref()), (Some("Hello"), Some("tool_calls")));
        assert_eq!((answer.usage.prompt, answer.usage.response), (Some(3), Some(4)));
        let calls: Vec<String> =
            answer.tool_calls.iter().map(|call| format!("{}({})", call.name, call.args.to_compact_string())).collect();
        assert_eq!(calls, [r#"f({"x":1})"#, "g({})"]);
        assert_eq!(answer.tool_calls[0].id.as_deref(), Some("a"));
    }

    #[test]
    fn events_of_anthropic_become_an_answer() {
        let answer = read_list(
            r#"[{"type":"message_start","message":{"id":"i","model":"m","usage":{"input_tokens":5,"cache_read_input_tokens":20,"output_tokens":1}}},
            {"type":"ping"},{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}},
            {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}},
            {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"2}"}},
            {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}]"#,
        );
        assert_eq!((answer.text.as_deref(), answer.finish_reason.as_deref()), (None, Some("tool_use")));
        assert_eq!(answer.tool_calls[0].args.to_compact_string(), r#"{"a":2}"#);
        assert_eq!((answer.usage.prompt, answer.usage.response, answer.usage.cached), (Some(25), Some(9), Some(20)));
    }

    #[test]
    fn a_list_of_something_else_is_given_back() {
        for json in ["[]", "[1]", r#"[{"a":1}]"#, r#"[{"candidates":["Bob"]}]"#, r#"["[DONE]"]"#] {
            let Ok(Json::Array(pieces)) = Json::parse(json.as_bytes()) else { panic!() };
            assert!(read(pieces).is_err(), "{json}");
        }
    }
}
