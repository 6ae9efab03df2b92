//! OpenAI Chat Completions: request and response bodies, messages, and the parts that they are made of.
//!
//! The envelope around a body (id, time, latency, session) is read by the names of [`native`](super::native); this
//! module reads what such a name holds: `request` a request body, `response` a response body, each also as a string
//! that holds it as JSON. A bare response body is an envelope of its own, with `choices` in it.
//!
//! - system: the messages of the roles system and developer, joined by newlines; prompt: all other messages
//! - response: `choices[0].message.content`, else its `refusal`. A message without text that calls tools is an
//!   answer: there is no response then, and the finish reason is `tool_calls`
//! - expected schema: that of the request's `response_format`, where it declares one
//! - model: the one that answered, else the one that was asked for
//! - an error body `{"error": {"message", "type", "code"}}`: an error and no response
//! - a response that is one message may carry `id`, `model`, `usage` and `stop_reason` itself, as Anthropic's do; one
//!   below `body`, as in batch files, is unwrapped
//! - a log of `messages` alone: the last message of the assistant is the response, those before it are the prompt
//!
//! **Source**: the OpenAI API reference (openai/openai-openapi); `created` is in whole seconds of the provider's
//! clock, good enough for a timestamp and never for a latency.
//!
//! **Limits**: of several choices only the first is read; parts that are not text and the arguments of tool calls are
//! left out; pieces of a stream are refused.

use std::borrow::Cow;

use super::{Message, Prompt, ToolCall, json::Json};

/// The role of messages that do not say who speaks.
const DEFAULT_ROLE: &str = "user";

/// The finish reason of an answer that calls tools.
const TOOL_CALLS: &str = "tool_calls";

/// What a message may have. An object without a role and with other keys is a structured answer and no message.
const MESSAGE_KEYS: [&str; 14] = [
    "role",
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "annotations",
    "audio",
    "name",
    "type",
    "id",
    "reasoning",
    "reasoning_content",
    "additional_kwargs",
    "response_metadata",
];

/// What a response body, a message or a text says.
#[derive(Debug, Default)]
pub(super) struct Answer<'a> {
    pub id: Option<Cow<'a, str>>,
    pub model: Option<Cow<'a, str>>,
    pub created: Option<Json<'a>>,
    pub text: Option<Cow<'a, str>>,
    pub finish_reason: Option<Cow<'a, str>>,
    pub usage: Option<Json<'a>>,
    pub error: Option<Cow<'a, str>>,
    pub tool_calls: Vec<ToolCall<'a>>,
}

/// What a request body, a list of messages or a text asks.
#[derive(Debug, Default)]
pub(super) struct Conversation<'a> {
    pub system: Option<Cow<'a, str>>,
    pub model: Option<Cow<'a, str>>,
    pub tools: Option<Json<'a>>,
    pub expected_schema: Option<Json<'a>>,
    text: Option<Cow<'a, str>>,
    turns: Vec<Turn<'a>>,
}

/// One message, and the tools that it calls.
#[derive(Debug)]
struct Turn<'a> {
    role: Cow<'a, str>,
    text: Option<Cow<'a, str>>,
    calls_tools: bool,
    calls: Vec<ToolCall<'a>>,
}

impl<'a> Conversation<'a> {
    /// The conversation as a prompt.
    pub fn prompt(&mut self) -> Prompt<'a> {
        if let Some(text) = self.text.take() {
            return Prompt::Text(text);
        }
        if self.turns.is_empty() {
            return Prompt::Absent;
        }
        let turns = std::mem::take(&mut self.turns).into_iter();
        Prompt::Messages(turns.map(|turn| Message { role: turn.role, text: turn.text.unwrap_or_default() }).collect())
    }

    /// Takes the last message of the assistant out, and tells how many messages stood after it; they go too.
    pub fn split_last_answer(&mut self) -> Option<(Answer<'a>, usize)> {
        let last = self.turns.iter().rposition(|turn| turn.role == "assistant")?;
        let mut tail = self.turns.drain(last..);
        let answer = tail.next()?.into_answer();
        Some((answer, tail.count()))
    }
}

impl<'a> Turn<'a> {
    fn of_message(mut message: Json<'a>) -> Turn<'a> {
        if let Json::String(text) = message {
            return Turn { role: DEFAULT_ROLE.into(), text: Some(text), calls_tools: false, calls: Vec::new() };
        }
        let role = text_at(&mut message, "role").unwrap_or(DEFAULT_ROLE.into());
        let calls = message.take("tool_calls").or_else(|| message.take("function_call"));
        let mut calls_tools =
            calls.as_ref().is_some_and(|calls| calls.as_array().is_none_or(|calls| !calls.is_empty()));
        let mut calls = calls.map(read_calls).unwrap_or_default();
        let mut content = message.take("content");
        if let Some(Json::Array(parts)) = &mut content {
            let uses = parts.iter_mut().filter(|part| part.get("type").and_then(Json::as_str) == Some("tool_use"));
            calls.extend(uses.filter_map(|part| read_call(std::mem::take(part))));
            calls_tools |= !calls.is_empty();
        }
        let content = content.and_then(text_of);
        let text = match content {
            Some(text) if !text.is_empty() => Some(text),
            empty => text_at(&mut message, "refusal").or_else(|| text_at(&mut message, "text")).or(empty),
        };
        Turn { role, text, calls_tools, calls }
    }

    fn into_answer(self) -> Answer<'a> {
        let Turn { text, calls_tools, calls: tool_calls, .. } = self;
        if calls_tools && text.as_ref().is_none_or(|text| text.is_empty()) {
            return Answer { finish_reason: Some(TOOL_CALLS.into()), tool_calls, ..Answer::default() };
        }
        Answer { text, tool_calls, ..Answer::default() }
    }
}

/// Reads what a record calls its response. Gives the value back when it holds no text at all.
pub(super) fn read_answer(mut value: Json<'_>) -> Result<Answer<'_>, Json<'_>> {
    match value {
        Json::String(text) => Ok(answer_in_text(text)),
        Json::Object(_) if is_response_body(&value) => Ok(read_body(value)),
        Json::Object(_) if is_message(&value) => Ok(read_message(value)),
        Json::Object(_) if value.get("body").is_some_and(is_response_body) => {
            Ok(value.take("body").map(read_body).unwrap_or_default())
        }
        Json::Array(items) if is_parts(&items) => Ok(Answer { text: text_of(Json::Array(items)), ..Answer::default() }),
        Json::Object(_) | Json::Array(_) => {
            Ok(Answer { text: Some(value.to_compact_string().into()), ..Answer::default() })
        }
        other => Err(other),
    }
}

/// Reads the `choices` of a response body.
pub(super) fn read_choices(choices: Json<'_>) -> Answer<'_> {
    let Json::Array(choices) = choices else { return Answer::default() };
    let Some(mut choice) = choices.into_iter().next() else { return Answer::default() };
    let mut answer = match choice.take("message") {
        Some(message) => Turn::of_message(message).into_answer(),
        None => Answer { text: text_at(&mut choice, "text"), ..Answer::default() },
    };
    answer.finish_reason = text_at(&mut choice, "finish_reason").or(answer.finish_reason);
    answer
}

/// Reads a list of calls, or one.
pub(super) fn read_calls(calls: Json<'_>) -> Vec<ToolCall<'_>> {
    match calls {
        Json::Array(calls) => calls.into_iter().filter_map(read_call).collect(),
        Json::Object(_) => read_call(calls).into_iter().collect(),
        Json::String(text) => match Json::parse_text(text) {
            Ok(calls @ (Json::Array(_) | Json::Object(_))) => read_calls(calls),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// `{"function": {"name", "arguments"}}`, or name and arguments at the top under the names that providers give them.
fn read_call(mut call: Json<'_>) -> Option<ToolCall<'_>> {
    let mut call = match call.take("function") {
        Some(function @ Json::Object(_)) => function,
        Some(Json::String(name)) => return Some(ToolCall { name, args: call.take("arguments").map(args_of)? }),
        _ => call,
    };
    let name = text_at(&mut call, "name")?;
    let args = ["arguments", "args", "input", "parameters"].into_iter().find_map(|key| call.take(key));
    Some(ToolCall { name, args: args.map_or(Json::Object(Vec::new()), args_of) })
}

/// Arguments, which most providers write as JSON text; no text is no arguments.
fn args_of(args: Json<'_>) -> Json<'_> {
    match args {
        Json::String(text) if text.trim().is_empty() => Json::Object(Vec::new()),
        Json::String(text) => Json::parse_text(text).unwrap_or_else(Json::String),
        args => args,
    }
}

/// Reads what a record calls its prompt. Gives the value back when it holds no text at all.
pub(super) fn read_question(value: Json<'_>) -> Result<Conversation<'_>, Json<'_>> {
    match value {
        Json::String(text) => Ok(question_in_text(text)),
        Json::Array(items) if is_parts(&items) && !items.iter().any(has_role) => {
            Ok(Conversation { text: text_of(Json::Array(items)), ..Conversation::default() })
        }
        Json::Array(items) if items.iter().all(is_turn) => Ok(read_messages(items)),
        Json::Object(_) if is_request_body(&value) => Ok(read_request(value)),
        Json::Object(_) if is_message(&value) => Ok(read_messages(vec![value])),
        Json::Object(_) | Json::Array(_) => {
            Ok(Conversation { text: Some(value.to_compact_string().into()), ..Conversation::default() })
        }
        other => Err(other),
    }
}

/// The text of a content: a string, a typed part, or a list of those, joined by newlines.
pub(super) fn text_of(content: Json<'_>) -> Option<Cow<'_, str>> {
    match content {
        Json::String(text) => Some(text),
        Json::Array(parts) => {
            let mut texts: Vec<Cow<'_, str>> = parts.into_iter().filter_map(text_of).collect();
            if texts.len() > 1 { Some(texts.join("\n").into()) } else { texts.pop() }
        }
        mut part @ Json::Object(_) => {
            ["text", "content", "value", "refusal"].into_iter().find_map(|key| part.take(key).and_then(text_of))
        }
        _ => None,
    }
}

fn answer_in_text(text: Cow<'_, str>) -> Answer<'_> {
    let may_be_body = text.starts_with('{') && (text.contains("\"choices\"") || text.contains("\"error\""));
    if !may_be_body {
        return Answer { text: Some(text), ..Answer::default() };
    }
    match Json::parse_text(text.clone()) {
        Ok(body) if is_response_body(&body) => read_body(body),
        _ => Answer { text: Some(text), ..Answer::default() },
    }
}

fn question_in_text(text: Cow<'_, str>) -> Conversation<'_> {
    let may_be_body = text.starts_with(['{', '[']) && text.contains("\"role\"");
    if may_be_body {
        match Json::parse_text(text.clone()) {
            Ok(Json::Array(items)) if !items.is_empty() && items.iter().all(has_role) => return read_messages(items),
            Ok(body) if is_request_body(&body) => return read_request(body),
            _ => {}
        }
    }
    Conversation { text: Some(text), ..Conversation::default() }
}

fn read_body(mut body: Json<'_>) -> Answer<'_> {
    let mut answer = body.take("choices").map(read_choices).unwrap_or_default();
    answer.id = text_at(&mut body, "id");
    answer.model = text_at(&mut body, "model");
    answer.created = body.take("created");
    answer.usage = body.take("usage");
    answer.error = body.take("error").and_then(|mut error| text_at(&mut error, "message"));
    answer
}

fn read_message(mut message: Json<'_>) -> Answer<'_> {
    let (id, model) = (text_at(&mut message, "id"), text_at(&mut message, "model"));
    let (usage, stop_reason) = (message.take("usage"), text_at(&mut message, "stop_reason"));
    let answer = Turn::of_message(message).into_answer();
    Answer { id, model, usage, finish_reason: stop_reason.or(answer.finish_reason), ..answer }
}

fn read_request(mut body: Json<'_>) -> Conversation<'_> {
    let messages = body.take("messages");
    let mut conversation = match messages {
        Some(Json::Array(items)) => read_messages(items),
        _ => Conversation::default(),
    };
    conversation.model = text_at(&mut body, "model");
    conversation.tools = body.take("tools").or_else(|| body.take("functions"));
    conversation.expected_schema = body.take("response_format").and_then(schema_of_format);
    let system = body.take("system").and_then(text_of);
    conversation.system = system.or(conversation.system);
    conversation
}

/// Whether a value is what requests call `response_format`, and no schema itself.
pub(super) fn is_response_format(value: &Json<'_>) -> bool {
    let Json::Object(_) = value else { return !matches!(value, Json::Bool(_)) };
    let kind = value.get("type").and_then(Json::as_str);
    value.get("json_schema").is_some() || matches!(kind, Some("json_schema" | "json_object" | "text"))
}

/// The schema in `{"type": "json_schema", "json_schema": {"schema": {...}}}`; other formats declare none.
pub(super) fn schema_of_format(mut format: Json<'_>) -> Option<Json<'_>> {
    let schema = match format.take("json_schema") {
        Some(mut named) => named.take("schema"),
        None => format.take("schema"),
    };
    schema.filter(|schema| matches!(schema, Json::Object(_)))
}

fn read_messages(messages: Vec<Json<'_>>) -> Conversation<'_> {
    let turns = messages.into_iter().map(Turn::of_message);
    let (system, turns): (Vec<_>, Vec<_>) =
        turns.partition(|turn| matches!(turn.role.as_ref(), "system" | "developer"));
    let mut texts: Vec<Cow<'_, str>> = system.into_iter().filter_map(|turn| turn.text).collect();
    let system = if texts.len() > 1 { Some(texts.join("\n").into()) } else { texts.pop() };
    Conversation { system, turns, ..Conversation::default() }
}

fn is_response_body(value: &Json<'_>) -> bool {
    let is_error = || {
        let error = value.get("error")?;
        Some(error.get("message")?.as_str().is_some() && (error.get("type").is_some() || error.get("code").is_some()))
    };
    matches!(value.get("choices"), Some(Json::Array(_))) || is_error().unwrap_or(false)
}

fn is_request_body(value: &Json<'_>) -> bool {
    value.get("messages").and_then(Json::as_array).is_some_and(|items| items.iter().all(is_turn))
}

fn is_message(value: &Json<'_>) -> bool {
    let Some(entries) = value.as_object() else { return false };
    let has_content = entries.iter().any(|(key, _)| matches!(key.as_ref(), "content" | "tool_calls"));
    has_content && (has_role(value) || entries.iter().all(|(key, _)| MESSAGE_KEYS.contains(&key.as_ref())))
}

fn has_role(value: &Json<'_>) -> bool {
    value.get("role").and_then(Json::as_str).is_some()
}

/// Whether an element of a list may be a message: an object that has a role or a content, or a text.
fn is_turn(value: &Json<'_>) -> bool {
    matches!(value, Json::String(_)) || has_role(value) || value.get("content").is_some()
}

/// Whether a list consists of typed parts, one of them with text.
fn is_parts(items: &[Json<'_>]) -> bool {
    let is_typed = |part: &Json<'_>| part.get("type").and_then(Json::as_str).is_some();
    items.iter().all(is_typed) && items.iter().any(|part| part.get("text").and_then(Json::as_str).is_some())
}

fn text_at<'a>(object: &mut Json<'a>, key: &str) -> Option<Cow<'a, str>> {
    match object.take(key) {
        Some(Json::String(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Parsed, Record, RecordReader};

    const PAIRS: &str = include_str!("../../fixtures/records/openai_chat_pair.jsonl");
    const RESPONSES: &str = include_str!("../../fixtures/records/openai_chat_response.jsonl");
    const ERROR: &str = include_str!("../../fixtures/records/openai_error.jsonl");
    const CHUNKS: &str = include_str!("../../fixtures/records/openai_chat_chunks.jsonl");

    fn read(unit: &str) -> Record<'_> {
        match RecordReader::default().read(unit.trim().as_bytes()) {
            Parsed::One(Ok(record)) => record,
            other => panic!("{unit}: {other:?}"),
        }
    }

    fn texts<'r>(record: &'r Record<'_>) -> Vec<&'r str> {
        record.prompt.texts().map(|(_, text)| text).collect()
    }

    #[test]
    fn pairs_of_request_and_response() {
        let records: Vec<Record<'_>> = PAIRS.lines().map(read).collect();
        let [plain, image, tools] = records.as_slice() else { panic!() };
        assert_eq!(plain.system.as_deref(), Some("You are a helpful assistant."));
        assert_eq!(texts(plain), ["Hello!"]);
        assert_eq!(plain.response.as_deref(), Some("Hello! How can I assist you today?"));
        assert_eq!((plain.prompt_tokens, plain.response_tokens), (Some(19), Some(10)));
        assert_eq!(plain.id.as_deref(), Some("chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT"));
        assert_eq!(plain.model.as_deref(), Some("gpt-5.4"), "the model that answered");
        assert_eq!(plain.timestamp_ms, Some(1_741_569_952_000));
        assert_eq!((plain.latency_ms, plain.finish_reason.as_deref()), (None, Some("stop")));
        assert_eq!(texts(image), ["What is in this image?"], "parts that are not text are left out");
        assert_eq!((tools.response.as_deref(), tools.finish_reason.as_deref()), (None, Some("tool_calls")));
        assert!(records.iter().all(|record| record.problems.is_empty()));
    }

    #[test]
    fn the_format_of_the_response_declares_its_schema() {
        let messages = r#""messages":[{"role":"user","content":"u"}]"#;
        let response = r#"{"choices":[{"message":{"content":"{}"}}]}"#;
        for (format, expected) in [
            (
                r#"{"type":"json_schema","json_schema":{"name":"n","schema":{"required":["a"]}}}"#,
                Some(r#"{"required":["a"]}"#),
            ),
            (r#"{"type":"json_object","schema":{"required":["a"]}}"#, Some(r#"{"required":["a"]}"#)),
            (r#"{"type":"json_object"}"#, None),
            (r#"{"type":"text"}"#, None),
            (r#""json""#, None),
            ("null", None),
        ] {
            let pair = format!(r#"{{"request":{{{messages},"response_format":{format}}},"response":{response}}}"#);
            let flat = format!(r#"{{{messages},"response_format":{format},"response":"{{}}"}}"#);
            for unit in [pair, flat] {
                let record = read(&unit);
                assert_eq!(
                    record.expected_schema.map(|schema| schema.to_compact_string()).as_deref(),
                    expected,
                    "{unit}"
                );
                assert!(record.problems.is_empty(), "{unit}: {:?}", record.problems);
            }
        }
        let both = read(r#"{"prompt":"p","response":"r","expected_schema":{"a":1},"response_format":{"type":"text"}}"#);
        assert_eq!(both.expected_schema.map(|schema| schema.to_compact_string()).as_deref(), Some(r#"{"a":1}"#));
    }

    #[test]
    fn bare_responses_read_as_those_of_pairs() {
        for (pair, response) in PAIRS.lines().map(read).zip(RESPONSES.lines().map(read)) {
            assert!(response.prompt.is_absent());
            let without_request =
                Record { prompt: Prompt::Absent, system: None, declared_model: None, tools: None, ..pair };
            assert_eq!(response, without_request);
        }
    }

    #[test]
    fn pairs_under_other_names_and_as_json_text() {
        for pair in PAIRS.lines() {
            let expected = read(pair).into_owned();
            let tree = serde_json::from_str::<serde_json::Value>(pair).unwrap();
            let (request, response) = (&tree["request"], &tree["response"]);
            let names = [
                ("req", "resp"),
                ("input", "output"),
                ("prompt", "completion"),
                ("body", "response"),
                ("Request", "Response"),
            ];
            for (asked, answered) in names {
                let objects = serde_json::json!({ asked: request, answered: response }).to_string();
                assert_eq!(read(&objects), expected, "{asked} {answered}");
                let strings =
                    serde_json::json!({ asked: request.to_string(), answered: response.to_string() }).to_string();
                assert_eq!(read(&strings), expected, "{asked} {answered} as JSON text");
            }
        }
    }

    #[test]
    fn the_envelope_adds_what_the_bodies_lack() {
        let pair = PAIRS.lines().next().unwrap();
        let unit =
            pair.replacen('{', r#"{"id":"mine","latency_ms":80,"session_id":"s","timestamp":5,"model":"alias","#, 1);
        let record = read(&unit);
        assert_eq!((record.id.as_deref(), record.session_id.as_deref()), (Some("mine"), Some("s")));
        assert_eq!((record.latency_ms, record.timestamp_ms), (Some(80.0), Some(5000)));
        assert_eq!(record.model.as_deref(), Some("gpt-5.4"), "the body says who answered");
    }

    #[test]
    fn error_bodies_are_errors_and_no_responses() {
        let message = "The model `bad-model` does not exist or you do not have access to it.";
        let body = ERROR.trim();
        let request = r#"{"model":"bad-model","messages":[{"role":"user","content":"u"}]}"#;
        for unit in [body.to_owned(), format!(r#"{{"request":{request},"response":{body}}}"#)] {
            let record = read(&unit);
            assert_eq!((record.error.as_deref(), record.response.as_deref()), (Some(message), None));
        }
        assert_eq!(read(&format!(r#"{{"request":{request},"response":{body}}}"#)).model.as_deref(), Some("bad-model"));
    }

    #[test]
    fn pieces_of_a_stream_are_refused() {
        for chunk in CHUNKS.lines() {
            assert!(matches!(RecordReader::default().read(chunk.as_bytes()), Parsed::One(Err(_))));
        }
    }

    #[test]
    fn refusals_and_other_answers() {
        let check = |message: &str, expected: (Option<&str>, Option<&str>)| {
            let unit = format!(r#"{{"choices":[{{"message":{message}}}]}}"#);
            let record = read(&unit);
            assert_eq!((record.response.as_deref(), record.finish_reason.as_deref()), expected, "{message}");
        };
        check(r#"{"role":"assistant","content":null,"refusal":"No."}"#, (Some("No."), None));
        check(r#"{"role":"assistant","content":"","refusal":null}"#, (Some(""), None));
        check(r#"{"role":"assistant","content":null}"#, (None, None));
        check(r#"{"role":"assistant","content":"a","tool_calls":[]}"#, (Some("a"), None));
        check(r#"{"role":"assistant","content":"a","tool_calls":[{}]}"#, (Some("a"), None));
        check(r#"{"role":"assistant","content":"","tool_calls":[{}]}"#, (None, Some("tool_calls")));
        check(r#"{"role":"assistant","content":null,"function_call":{}}"#, (None, Some("tool_calls")));
        assert_eq!(read(r#"{"choices":[{"text":"t","finish_reason":"length"}]}"#).response.as_deref(), Some("t"));
        assert_eq!(read(r#"{"choices":[],"error":"e"}"#).response, None);
    }

    #[test]
    fn messages_with_counts_of_their_own_and_bodies_of_batches() {
        let message = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":7}}"#;
        let unit = format!(
            r#"{{"request":{{"system":"s","messages":[{{"role":"user","content":"u"}}]}},"response":{message}}}"#
        );
        let record = read(&unit);
        assert_eq!((record.response.as_deref(), record.system.as_deref()), (Some("a"), Some("s")));
        assert_eq!((record.id.as_deref(), record.model.as_deref()), (Some("msg_1"), Some("m")));
        assert_eq!((record.prompt_tokens, record.response_tokens), (Some(5), Some(7)));
        assert_eq!(record.finish_reason.as_deref(), Some("end_turn"));

        let body = RESPONSES.lines().next().unwrap();
        let batch =
            format!(r#"{{"id":"b","custom_id":"c","response":{{"status_code":200,"body":{body}}},"error":null}}"#);
        let record = read(&batch);
        assert_eq!(record.response.as_deref(), Some("Hello! How can I assist you today?"));
        assert_eq!((record.id.as_deref(), record.response_tokens), (Some("b"), Some(10)));
    }

    #[test]
    fn a_chat_log_ends_with_its_answer() {
        let record = read(
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"},{"role":"assistant","content":"d"}]}"#,
        );
        assert_eq!(texts(&record), ["a", "b", "c"]);
        assert_eq!((record.response.as_deref(), record.system.as_deref()), (Some("d"), Some("s")));
        assert!(record.problems.is_empty());

        let cut = read(
            r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#,
        );
        assert_eq!((texts(&cut), cut.response.as_deref()), (vec!["a"], Some("b")));
        assert_eq!(cut.problems[0].reason, "has 1 after the last answer, which are not read");

        let unanswered = read(r#"{"messages":[{"role":"user","content":"a"}]}"#);
        assert_eq!((texts(&unanswered), unanswered.response.as_deref()), (vec!["a"], None));

        let answered =
            read(r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"response":"r"}"#);
        assert_eq!((texts(&answered), answered.response.as_deref()), (vec!["a", "b"], Some("r")));
    }
}
