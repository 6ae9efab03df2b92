//! Messages and the parts that they are made of, in the spellings of all dialects.
//!
//! A part says what it is by its type or by its only key, so that one reader does for all of them:
//!
//! | part | OpenAI | Anthropic | Gemini | Bedrock | OpenTelemetry | Vercel |
//! |---|---|---|---|---|---|---|
//! | text | `text`, `input_text`, `output_text`, `refusal` | `text` | `{text}` | `{text}` | `text` with `content` | `text` |
//! | call | `tool_calls[].function` | `tool_use` | `functionCall` | `toolUse` | `tool_call` | `tool-call` |
//! | result | role `tool` | `tool_result` | `functionResponse` | `toolResult` | `tool_call_response` | `tool-result` |
//!
//! The result of a tool becomes a message of its own, of the role `tool`. Thoughts are left out; what is neither text,
//! call, result nor thought (an image, a file) is left out with a note. Documents that hold text are context.

use std::borrow::Cow;

use crate::record::{Message, Note, Notes, Passage, ToolCall, json::Json, values};

/// The role of messages that do not say who speaks.
const DEFAULT_ROLE: &str = "user";

/// What some messages say, and what stands beside them.
#[derive(Debug, Default)]
pub(in crate::record) struct Said<'a> {
    pub turns: Vec<Turn<'a>>,
    /// Documents among the parts.
    pub context: Vec<Passage<'a>>,
    pub notes: Notes,
}

/// One message.
#[derive(Debug, Default)]
pub(in crate::record) struct Turn<'a> {
    pub message: Message<'a>,
    /// Whether there was a text, if an empty one.
    pub has_text: bool,
    /// Whether it calls tools, if in a way that cannot be read.
    pub calls_tools: bool,
}

/// How the texts of several parts become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) enum Joined {
    /// By newlines: each part is a text of its own.
    ByLines,
    /// As they stand: the parts are pieces of one text.
    AsTheyStand,
}

impl<'a> Said<'a> {
    /// Reads a list of messages.
    pub fn of_list(messages: Vec<Json<'a>>) -> Said<'a> {
        let mut said = Said { turns: Vec::with_capacity(messages.len()), ..Said::default() };
        messages.into_iter().for_each(|message| said.add(message, Joined::ByLines));
        said
    }

    /// Reads one message; the results of tools in it come as messages before it.
    pub fn add(&mut self, mut message: Json<'a>, joined: Joined) {
        if let Json::String(text) = message {
            let message = Message::new(DEFAULT_ROLE, text);
            return self.turns.push(Turn { message, has_text: true, calls_tools: false });
        }
        let mut turn = Turn::default();
        turn.message.role = role_of(&mut message);
        let calls =
            message.take("tool_calls").or_else(|| message.take("function_call")).or_else(|| message.take("toolCalls"));
        turn.calls_tools = calls.as_ref().is_some_and(|calls| calls.as_array().is_none_or(|calls| !calls.is_empty()));
        turn.message.tool_calls = calls.map(read_calls).unwrap_or_default();
        let content = ["content", "parts", "value"].into_iter().find_map(|key| message.take(key));
        let first_result = self.turns.len();
        let is_result = turn.message.role == "tool" && !matches!(content, Some(Json::Array(_)));
        let text = match content {
            Some(content) if is_result => Some(result_text(content)),
            content => content.and_then(|content| self.content(content, &mut turn, joined)),
        };
        let text = match text {
            Some(text) if !text.is_empty() => Some(text),
            empty => take_text(&mut message, "refusal").or_else(|| take_text(&mut message, "text")).or(empty),
        };
        if turn.message.role == "tool" {
            turn.message.call_id = ["tool_call_id", "toolCallId", "call_id", "id"]
                .into_iter()
                .find_map(|key| take_text(&mut message, key));
            turn.message.tool =
                ["name", "tool_name", "function"].into_iter().find_map(|key| take_text(&mut message, key));
            turn.message.is_error = message.get("error").is_some_and(|error| !error.is_null())
                || message.get("status").and_then(Json::as_str) == Some("error");
        }
        let is_only_results = text.is_none() && !turn.calls_tools && self.turns.len() > first_result;
        if is_only_results {
            return;
        }
        turn.has_text = text.is_some();
        turn.message.text = text.unwrap_or_default();
        self.turns.push(turn);
    }

    /// Reads a content and returns its text.
    fn content(&mut self, content: Json<'a>, turn: &mut Turn<'a>, joined: Joined) -> Option<Cow<'a, str>> {
        match content {
            Json::String(text) => Some(text),
            Json::Array(parts) => {
                let mut texts: Vec<Cow<'a, str>> = Vec::new();
                for part in parts {
                    texts.extend(self.part(part, turn));
                }
                if texts.len() < 2 {
                    return texts.pop();
                }
                Some(texts.join(if joined == Joined::ByLines { "\n" } else { "" }).into())
            }
            part @ Json::Object(_) => match part.get("parts") {
                Some(Json::Array(_)) => {
                    let mut part = part;
                    part.take("parts").and_then(|parts| self.content(parts, turn, joined))
                }
                _ => self.part(part, turn),
            },
            _ => None,
        }
    }

    /// Reads one part: gives its text, or puts what it is in its place.
    fn part(&mut self, mut part: Json<'a>, turn: &mut Turn<'a>) -> Option<Cow<'a, str>> {
        if let Json::String(text) = part {
            return Some(text);
        }
        if part.get("thought").and_then(Json::as_bool) == Some(true) {
            return None;
        }
        // The type stays in the part, so it is looked at as a copy: it borrows from the unit as a rule.
        let kind = part.get("type").and_then(Json::as_str).map(PartKind::of_type).unwrap_or_default();
        match kind {
            PartKind::Text => {
                return ["text", "content", "value", "refusal"]
                    .into_iter()
                    .find_map(|key| part.take(key).and_then(text_of));
            }
            PartKind::Thought => return None,
            PartKind::Call => return self.call(part, turn),
            PartKind::Result => return self.result(part),
            PartKind::Document => return self.document(part),
            PartKind::Unknown => {}
        }
        for key in ["functionCall", "function_call", "toolUse"] {
            if let Some(call) = part.take(key) {
                return self.call(call, turn);
            }
        }
        for key in ["functionResponse", "function_response", "toolResult"] {
            if let Some(result) = part.take(key) {
                return self.result(result);
            }
        }
        if ["reasoningContent", "thinking", "executableCode", "codeExecutionResult"]
            .iter()
            .any(|key| part.get(key).is_some())
        {
            return None;
        }
        if let Some(mut guarded) = part.take("guardContent") {
            return guarded.take("text").and_then(text_of);
        }
        let text = ["text", "content", "value", "refusal"].into_iter().find_map(|key| part.take(key).and_then(text_of));
        if text.is_none() {
            self.notes.add(Note::MediaLeftOut);
        }
        text
    }

    fn call(&mut self, call: Json<'a>, turn: &mut Turn<'a>) -> Option<Cow<'a, str>> {
        turn.calls_tools = true;
        turn.message.tool_calls.extend(read_call(call));
        None
    }

    /// The result of a tool, as a message of its own.
    fn result(&mut self, mut result: Json<'a>) -> Option<Cow<'a, str>> {
        let call_id = ["tool_use_id", "toolUseId", "tool_call_id", "toolCallId", "call_id", "id"]
            .into_iter()
            .find_map(|key| take_text(&mut result, key));
        let tool = ["name", "toolName", "tool_name"].into_iter().find_map(|key| take_text(&mut result, key));
        let is_error = result.get("is_error").or_else(|| result.get("isError")).and_then(Json::as_bool) == Some(true)
            || result.get("status").and_then(Json::as_str) == Some("error");
        let content = ["content", "response", "result", "output"].into_iter().find_map(|key| result.take(key));
        let text = content.map(result_text).unwrap_or_default();
        let message = Message { role: "tool".into(), text, tool, call_id, is_error, tool_calls: Vec::new() };
        self.turns.push(Turn { message, has_text: true, calls_tools: false });
        None
    }

    /// A document that holds its text, or a list of texts.
    fn document(&mut self, mut document: Json<'a>) -> Option<Cow<'a, str>> {
        let id = take_text(&mut document, "title").or_else(|| take_text(&mut document, "name"));
        let source = document.take("source").or_else(|| document.take("document").and_then(|mut of| of.take("source")));
        let text = source.and_then(|mut source| {
            let is_text =
                source.get("type").and_then(Json::as_str).is_none_or(|kind| matches!(kind, "text" | "content"));
            let held = source.take("data").or_else(|| source.take("content")).or_else(|| source.take("text"));
            held.filter(|_| is_text).and_then(text_of)
        });
        match text {
            Some(text) if !text.is_empty() => self.context.push(Passage { id, text, place: None }),
            _ => self.notes.add(Note::MediaLeftOut),
        }
        None
    }
}

/// What a part is, by its type.
#[derive(Clone, Copy, Default)]
enum PartKind {
    Text,
    Thought,
    Call,
    Result,
    Document,
    #[default]
    Unknown,
}

impl PartKind {
    fn of_type(name: &str) -> PartKind {
        match name {
            "text" | "input_text" | "output_text" | "refusal" | "summary_text" => PartKind::Text,
            "thinking" | "redacted_thinking" | "reasoning" | "reasoning_text" => PartKind::Thought,
            "tool_use" | "server_tool_use" | "mcp_tool_use" | "tool_call" | "tool-call" | "function_call" => {
                PartKind::Call
            }
            "tool_call_response" | "tool-result" | "function_call_output" | "tool_response" => PartKind::Result,
            "document" => PartKind::Document,
            _ if name.ends_with("tool_result") => PartKind::Result,
            _ => PartKind::Unknown,
        }
    }
}

/// Who speaks, under the name that is common to all dialects.
fn role_of<'a>(message: &mut Json<'a>) -> Cow<'a, str> {
    let role = take_text(message, "role").or_else(|| take_text(message, "from")).or_else(|| take_text(message, "type"));
    match role {
        None => DEFAULT_ROLE.into(),
        Some(role) => match &*role {
            "human" | "HUMAN" | "HumanMessage" => "user".into(),
            "model" | "ai" | "gpt" | "bot" | "chatbot" | "CHATBOT" | "AIMessage" | "AIMessageChunk" | "ASSISTANT" => {
                "assistant".into()
            }
            "function" | "observation" | "function_response" | "ToolMessage" | "TOOL" => "tool".into(),
            "SystemMessage" | "SYSTEM" => "system".into(),
            "USER" | "message" => "user".into(),
            _ => role,
        },
    }
}

/// Reads a list of calls, or one.
pub(in crate::record) fn read_calls(calls: Json<'_>) -> Vec<ToolCall<'_>> {
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
pub(in crate::record) fn read_call(mut call: Json<'_>) -> Option<ToolCall<'_>> {
    // Responses items have an id of their own beside that of the call.
    let id = ["call_id", "toolUseId", "toolCallId", "tool_call_id", "id"]
        .into_iter()
        .find_map(|key| take_text(&mut call, key));
    let mut call = match call.take("function") {
        Some(function @ Json::Object(_)) => function,
        Some(Json::String(name)) => {
            return Some(ToolCall { id, name, args: call.take("arguments").map(args_of)? });
        }
        _ => match call.take("tool_call") {
            Some(inner) => return read_call(inner),
            None => call,
        },
    };
    let name = ["name", "toolName", "tool_name"].into_iter().find_map(|key| take_text(&mut call, key))?;
    let args = ["arguments", "args", "input", "parameters"].into_iter().find_map(|key| call.take(key));
    Some(ToolCall { id, name, args: args.map_or(Json::Object(Vec::new()), args_of) })
}

/// Arguments, which most providers write as JSON text; no text is no arguments.
pub(in crate::record) fn args_of(args: Json<'_>) -> Json<'_> {
    match args {
        Json::String(text) if text.trim().is_empty() => Json::Object(Vec::new()),
        Json::String(text) => Json::parse_text(text).unwrap_or_else(Json::String),
        args => args,
    }
}

/// The text of a content: a string, a typed part, or a list of those, joined by newlines.
pub(in crate::record) fn text_of(content: Json<'_>) -> Option<Cow<'_, str>> {
    match content {
        Json::String(text) => Some(text),
        Json::Array(parts) => {
            let mut texts: Vec<Cow<'_, str>> = parts.into_iter().filter_map(text_of).collect();
            if texts.len() > 1 { Some(texts.join("\n").into()) } else { texts.pop() }
        }
        mut part @ Json::Object(_) => ["text", "content", "value", "refusal", "parts"]
            .into_iter()
            .find_map(|key| part.take(key).and_then(text_of)),
        _ => None,
    }
}

/// The text of a result: that of its parts, or its JSON.
pub(in crate::record) fn result_text(result: Json<'_>) -> Cow<'_, str> {
    match result {
        Json::String(text) => text,
        Json::Array(parts) => {
            let texts: Vec<Cow<'_, str>> = parts.into_iter().map(result_text).collect();
            match <[_; 1]>::try_from(texts) {
                Ok([text]) => text,
                Err(texts) => texts.join("\n").into(),
            }
        }
        Json::Null => Cow::Borrowed(""),
        mut part @ Json::Object(_) => match part.take("json") {
            Some(json) => json.to_compact_string().into(),
            None => match part.get("text") {
                Some(Json::String(_)) => take_text(&mut part, "text").unwrap_or_default(),
                _ if part.get("type").is_some() && part.get("value").is_some() => {
                    part.take("value").map(result_text).unwrap_or_default()
                }
                _ => part.to_compact_string().into(),
            },
        },
        other => other.to_compact_string().into(),
    }
}

/// A string under a key, moved out.
pub(in crate::record) fn take_text<'a>(object: &mut Json<'a>, key: &str) -> Option<Cow<'a, str>> {
    match object.take(key) {
        Some(Json::String(text)) => Some(text),
        _ => None,
    }
}

/// A name or an id under a key, moved out; numbers keep their digits.
pub(in crate::record) fn take_name<'a>(object: &mut Json<'a>, key: &str) -> Option<Cow<'a, str>> {
    object.take(key).and_then(|value| values::name(value).ok().flatten())
}

/// Whether a value is an object that says who speaks.
pub(in crate::record) fn has_role(value: &Json<'_>) -> bool {
    value.get("role").and_then(Json::as_str).is_some()
}

/// Whether an element of a list may be a message: an object that has a role or a content, or a text.
pub(in crate::record) fn is_turn(value: &Json<'_>) -> bool {
    matches!(value, Json::String(_)) || has_role(value) || value.get("content").is_some()
}
