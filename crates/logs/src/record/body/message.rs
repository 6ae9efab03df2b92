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

use super::langchain;
use crate::record::{Message, Note, Notes, Passage, ToolCall, json::Json, values};

/// The role of messages that do not say who speaks.
const DEFAULT_ROLE: &str = "user";

/// What some messages say, and what stands beside them.
#[derive(Debug, Default)]
pub(crate) struct Said<'a> {
    pub turns: Vec<Turn<'a>>,
    /// Documents among the parts.
    pub context: Vec<Passage<'a>>,
    pub notes: Notes,
}

/// One message.
#[derive(Debug, Default)]
pub(crate) struct Turn<'a> {
    pub message: Message<'a>,
    /// Whether there was a text, if an empty one.
    pub has_text: bool,
    /// Whether it calls tools, if in a way that cannot be read.
    pub calls_tools: bool,
}

/// How the texts of several parts become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joined {
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
    pub fn add(&mut self, message: Json<'a>, joined: Joined) {
        let mut message = langchain::deserialised(message);
        if let Json::String(text) = message {
            let message = Message::new(DEFAULT_ROLE, text);
            return self.turns.push(Turn { message, has_text: true, calls_tools: false });
        }
        let mut turn = Turn::default();
        turn.message.role = role_of(&mut message);
        let calls = take_calls(&mut message)
            .or_else(|| message.take("additional_kwargs").and_then(|mut further| take_calls(&mut further)));
        turn.calls_tools = calls.is_some();
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
            turn.message.call_id = ["tool_call_id", "toolCallId", "call_id", "tool_use_id", "id"]
                .into_iter()
                .find_map(|key| take_text(&mut message, key));
            turn.message.tool =
                ["name", "tool_name", "toolName", "function"].into_iter().find_map(|key| take_text(&mut message, key));
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
        for key in ["functionCall", "function_call", "toolUse", "tool_call"] {
            if let Some(call) = part.take(key) {
                return self.call(call, turn);
            }
        }
        for key in ["functionResponse", "function_response", "toolResult", "tool_call_result"] {
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

    /// A call among the parts; LangChain has it beside them, too.
    fn call(&mut self, call: Json<'a>, turn: &mut Turn<'a>) -> Option<Cow<'a, str>> {
        turn.calls_tools = true;
        let call = read_call(call)?;
        let calls = &mut turn.message.tool_calls;
        if call.id.is_none() || !calls.iter().any(|known| known.id == call.id) {
            calls.push(call);
        }
        None
    }

    /// The result of a tool, as a message of its own.
    fn result(&mut self, mut result: Json<'a>) -> Option<Cow<'a, str>> {
        let call_id = ["tool_use_id", "toolUseId", "toolUseID", "tool_call_id", "toolCallId", "call_id", "id"]
            .into_iter()
            .find_map(|key| take_text(&mut result, key));
        let tool = ["name", "toolName", "tool_name"].into_iter().find_map(|key| take_text(&mut result, key));
        let is_error = result.get("is_error").or_else(|| result.get("isError")).and_then(Json::as_bool) == Some(true)
            || result.get("status").and_then(Json::as_str) == Some("error");
        let content = ["content", "response", "result", "output", "toolResult", "run"]
            .into_iter()
            .find_map(|key| result.take(key));
        let content = content.map(|mut framed| match framed.get("status").is_some() {
            true => framed.take("value").or_else(|| framed.take("result")).unwrap_or(framed),
            false => framed,
        });
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
            "tool_use" | "server_tool_use" | "mcp_tool_use" | "tool_call" | "tool-call" | "toolCall"
            | "toolRequest" | "function_call" => PartKind::Call,
            "tool_call_response" | "tool-result" | "function_call_output" | "tool_response" | "toolResponse" => {
                PartKind::Result
            }
            "document" => PartKind::Document,
            _ if name.ends_with("tool_result") => PartKind::Result,
            _ => PartKind::Unknown,
        }
    }
}

/// What those who speak are called, in lower case without `_`, `-` and blanks, and the role that is common to all dialects.
const ROLES: &[(&str, &str)] = &[
    ("user", "user"),
    ("human", "user"),
    ("prompter", "user"),
    ("you", "user"),
    ("customer", "user"),
    ("usermessage", "user"),
    ("humanmessage", "user"),
    ("humanmessagechunk", "user"),
    ("userprompt", "user"),
    ("assistant", "assistant"),
    ("model", "assistant"),
    ("ai", "assistant"),
    ("aimessage", "assistant"),
    ("aimessagechunk", "assistant"),
    ("assistantmessage", "assistant"),
    ("apimessage", "assistant"),
    ("agent", "assistant"),
    ("bot", "assistant"),
    ("chatbot", "assistant"),
    ("gpt", "assistant"),
    ("chatgpt", "assistant"),
    ("gemini", "assistant"),
    ("claude", "assistant"),
    ("copilot", "assistant"),
    ("cursor", "assistant"),
    ("qwen", "assistant"),
    ("llm", "assistant"),
    ("system", "system"),
    ("systemmessage", "system"),
    ("systemprompt", "system"),
    ("developer", "developer"),
    ("tool", "tool"),
    ("function", "tool"),
    ("toolmessage", "tool"),
    ("functionmessage", "tool"),
    ("toolresult", "tool"),
    ("functionresponse", "tool"),
    ("observation", "tool"),
];

/// Where a message says who speaks.
pub(crate) const ROLE_KEYS: [&str; 6] = ["role", "from", "sender", "author", "speaker", "type"];

/// The role of whoever is called so.
pub(crate) fn role_named(name: &str) -> Option<&'static str> {
    /// The longest of the names, with what may stand between its letters.
    const BYTES_MAX: usize = 24;
    let find = |name: &str| ROLES.iter().find(|(known, _)| *known == name).map(|(_, role)| *role);
    if name.len() > BYTES_MAX {
        return None;
    }
    find(name).or_else(|| {
        let letters = name.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
        find(&letters.map(|c| c.to_ascii_lowercase()).collect::<String>())
    })
}

/// Who speaks, under the name that is common to all dialects.
fn role_of<'a>(message: &mut Json<'a>) -> Cow<'a, str> {
    match ROLE_KEYS.into_iter().find_map(|key| take_text(message, key)) {
        None => DEFAULT_ROLE.into(),
        Some(role) if role == "message" => DEFAULT_ROLE.into(),
        Some(role) => role_named(&role).map_or(role, Cow::Borrowed),
    }
}

/// Keys of the one who speaks.
/// Who speaks in a message, as far as it says so.
pub(crate) fn role<'v>(message: &'v Json<'_>) -> Option<&'v str> {
    if let Json::Array(pair) = message {
        return pair.first().and_then(Json::as_str).map(|role| role_named(role).unwrap_or(role));
    }
    let class = || message.get("id")?.as_array()?.last()?.as_str();
    let class = if message.get("kwargs").is_some() { class() } else { None };
    let role = class.or_else(|| ROLE_KEYS.into_iter().find_map(|key| message.get(key)?.as_str()))?;
    Some(role_named(role).unwrap_or(role))
}

/// The calls of a message, where it makes some.
fn take_calls<'a>(message: &mut Json<'a>) -> Option<Json<'a>> {
    let is_call = |calls: &Json<'a>| match calls {
        Json::Array(calls) => !calls.is_empty(),
        Json::Object(_) => true,
        Json::String(text) => text.starts_with(['[', '{']) && text != "[]",
        _ => false,
    };
    ["tool_calls", "function_call", "toolCalls"].into_iter().find_map(|key| message.take(key).filter(is_call))
}

/// Reads a list of calls, or one.
pub(crate) fn read_calls(calls: Json<'_>) -> Vec<ToolCall<'_>> {
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
pub(crate) fn read_call(mut call: Json<'_>) -> Option<ToolCall<'_>> {
    // Responses items have an id of their own beside that of the call.
    let id = ["call_id", "toolUseId", "toolCallId", "tool_call_id", "tool_id", "id"]
        .into_iter()
        .find_map(|key| take_text(&mut call, key));
    let mut call = match call.take("function") {
        Some(function @ Json::Object(_)) => function,
        Some(Json::String(name)) => {
            return Some(ToolCall { id, name, args: call.take("arguments").map(args_of)? });
        }
        _ => match call.take("tool_call").or_else(|| call.take("toolCall")) {
            // goose says beside a call whether it could be read.
            Some(mut inner) => {
                let inner = inner.take("value").unwrap_or(inner);
                return read_call(inner).map(|call| ToolCall { id: call.id.or(id), ..call });
            }
            None => call,
        },
    };
    let name = ["name", "toolName", "tool_name"].into_iter().find_map(|key| take_text(&mut call, key))?;
    let args = ["arguments", "args", "input", "parameters"].into_iter().find_map(|key| call.take(key));
    Some(ToolCall { id, name, args: args.map_or(Json::Object(Vec::new()), args_of) })
}

/// Arguments, which most providers write as JSON text; no text is no arguments.
pub(crate) fn args_of(args: Json<'_>) -> Json<'_> {
    match args {
        Json::String(text) if text.trim().is_empty() => Json::Object(Vec::new()),
        Json::String(text) => Json::parse_text(text).unwrap_or_else(Json::String),
        args => args,
    }
}

/// The text of a content: a string, a typed part, or a list of those, joined by newlines.
pub(crate) fn text_of(content: Json<'_>) -> Option<Cow<'_, str>> {
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

/// The documents that a retrieval gave: a list of them, or an object that has one.
pub(crate) fn passages(value: Json<'_>) -> Vec<Passage<'_>> {
    const LISTS: [&str; 6] = ["documents", "results", "passages", "chunks", "nodes", "output"];
    match value {
        Json::Array(items) => items.into_iter().filter_map(passage).collect(),
        mut object @ Json::Object(_) => match LISTS.into_iter().find_map(|key| object.take(key)) {
            Some(list @ Json::Array(_)) => passages(list),
            Some(other) => passage(other).into_iter().collect(),
            None => passage(object).into_iter().collect(),
        },
        other => passage(other).into_iter().collect(),
    }
}

/// Whether a value is a list of documents that were found, whoever calls it what.
pub(crate) fn is_documents(value: &Json<'_>) -> bool {
    const TEXTS: [&str; 4] = ["text", "content", "page_content", "pageContent"];
    const ABOUT: [&str; 9] =
        ["metadata", "score", "similarity", "relevance_score", "distance", "doc_id", "document_id", "id_", "source"];
    let is_one = |item: &Json<'_>| {
        let mut item = item;
        if let Some(inner) = ["node", "document", "kwargs"].iter().find_map(|key| item.get(key)) {
            item = inner;
        }
        let has = |keys: &[&str]| keys.iter().any(|key| item.get(key).is_some());
        !has_role(item) && has(&TEXTS) && (has(&ABOUT) || has(&TEXTS[2..]))
    };
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(is_one))
}

/// One document, by the names of its text in order of precedence.
pub(crate) fn passage(value: Json<'_>) -> Option<Passage<'_>> {
    const TEXTS: [&str; 7] = ["text", "content", "page_content", "pageContent", "passage", "body", "snippet"];
    let (id, text) = match value {
        Json::Null => return None,
        Json::String(text) => (None, text),
        mut object @ Json::Object(_) => {
            // Indices and serialisers put an object around the document.
            if let Some(inner @ Json::Object(_)) = ["node", "document", "kwargs"].into_iter().find_map(|key| {
                let is_one = TEXTS.iter().any(|text| object.get(key).is_some_and(|inner| inner.get(text).is_some()));
                if is_one { object.take(key) } else { None }
            }) {
                object = inner;
            }
            let text = TEXTS.into_iter().find_map(|key| object.take(key));
            match text.and_then(text_of) {
                Some(text) => {
                    let id = ["id", "doc_id", "document_id", "_id", "id_"].into_iter().find_map(|key| object.take(key));
                    (id.and_then(|id| values::name(id).ok().flatten()), text)
                }
                None => (None, object.to_compact_string().into()),
            }
        }
        other => (None, other.to_compact_string().into()),
    };
    (!text.is_empty()).then_some(Passage { id, text, place: None })
}

/// The text of a result: that of its parts, or its JSON.
pub(crate) fn result_text(result: Json<'_>) -> Cow<'_, str> {
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
pub(crate) fn take_text<'a>(object: &mut Json<'a>, key: &str) -> Option<Cow<'a, str>> {
    match object.take(key) {
        Some(Json::String(text)) => Some(text),
        _ => None,
    }
}

/// A name or an id under a key, moved out; numbers keep their digits.
pub(crate) fn take_name<'a>(object: &mut Json<'a>, key: &str) -> Option<Cow<'a, str>> {
    object.take(key).and_then(|value| values::name(value).ok().flatten())
}

/// Whether a value is an object that says who speaks.
pub(crate) fn has_role(value: &Json<'_>) -> bool {
    value.get("role").and_then(Json::as_str).is_some()
}

/// Whether an element of a list may be a message: an object that has a role or a content, a text, or what LangChain writes.
pub(crate) fn is_turn(value: &Json<'_>) -> bool {
    match value {
        Json::String(_) => true,
        Json::Array(_) => langchain::is_shorthand(value),
        _ => has_role(value) || value.get("content").is_some() || langchain::is_serialised(value),
    }
}
