//! OpenAI Responses: `input` and `instructions` asked, a list of `output` items answered.
//!
//! - response: the `output_text` parts of the messages among the items; prompt: `input`, a text or items
//! - tool calls: items `function_call`, `custom_tool_call` and `mcp_call`. What the provider runs itself (web search,
//!   file search, code interpreter) is no call that the application makes, and is left out
//! - context: the texts of `file_search_call` results, where they were asked for
//! - finish reason: `incomplete_details.reason`, else `status`
//!
//! **Source**: the OpenAI API reference (openai/openai-openapi).
//!
//! **Limits**: `created_at` and `completed_at` are whole seconds; their difference is no latency, which is noted.

use std::borrow::Cow;

use super::{
    Answer, Conversation, TOOL_CALLS, error_of, join_lines,
    message::{Joined, Said, Turn, args_of, read_call, result_text, take_text, text_of},
    usage::Usage,
};
use crate::record::{Dialect, Message, Note, Passage, ToolCall, json::Json};

/// Whether the value is a response body.
pub(crate) fn is_response(value: &Json<'_>) -> bool {
    let Some(Json::Array(output)) = value.get("output") else { return false };
    let is_item = |item: &Json<'_>| item.get("type").and_then(Json::as_str).is_some_and(is_item_type);
    value.get("object").and_then(Json::as_str) == Some("response") || (!output.is_empty() && output.iter().all(is_item))
}

/// Whether the value is a request body.
pub(crate) fn is_request(value: &Json<'_>) -> bool {
    let input = value.get("input");
    let items = input.and_then(Json::as_array).unwrap_or_default();
    let is_input = matches!(input, Some(Json::String(_))) || !items.is_empty();
    let is_typed = |item: &Json<'_>| item.pointer("/content/0/type").and_then(Json::as_str) == Some("input_text");
    is_input && (value.get("model").and_then(Json::as_str).is_some() || items.iter().any(is_typed) || is_items(items))
}

/// Whether a list is one of items, which are told from messages by one that is no message.
pub(crate) fn is_items(items: &[Json<'_>]) -> bool {
    let kind = |item: &Json<'_>| item.get("type").and_then(Json::as_str).map(is_item_type);
    items.iter().any(|item| kind(item) == Some(true))
        && items.iter().all(|item| kind(item) == Some(true) || super::has_role(item))
}

/// Reads a response body.
pub(crate) fn read_response(mut body: Json<'_>) -> Answer<'_> {
    let mut has_place = true;
    let mut answer = match body.take("output") {
        Some(Json::Array(items)) => read_output(items),
        _ => {
            has_place = false;
            Answer::default()
        }
    };
    answer.dialect = Some(Dialect::OpenAiResponses);
    answer.id = take_text(&mut body, "id");
    answer.model = take_text(&mut body, "model");
    answer.created = body.take("created_at");
    if body.get("completed_at").is_some_and(|at| !at.is_null()) {
        answer.notes.add(Note::CoarseLatency);
    }
    answer.usage = body.take("usage").map(|usage| Usage::of(&usage)).unwrap_or_default();
    answer.error = body.take("error").and_then(error_of);
    answer.system = body.take("instructions").and_then(text_of);
    answer.tools = body.take("tools").filter(|tools| tools.as_array().is_some_and(|tools| !tools.is_empty()));
    answer.session_id = match body.take("conversation") {
        Some(Json::String(id)) => Some(id),
        Some(mut conversation) => take_text(&mut conversation, "id"),
        None => None,
    };
    let reason = body.take("incomplete_details").and_then(|mut details| take_text(&mut details, "reason"));
    let status = take_text(&mut body, "status");
    let calls_tools = answer.finish_reason.take();
    has_place &= matches!(status.as_deref(), Some("completed" | "incomplete"));
    answer.finish_reason = reason.or_else(|| calls_tools.or(status));
    if has_place { answer.or_empty() } else { answer }
}

/// Reads a request body.
pub(crate) fn read_request(mut body: Json<'_>) -> Conversation<'_> {
    let mut asked = match body.take("input") {
        Some(Json::String(text)) => Conversation { text: Some(text), ..Conversation::default() },
        Some(Json::Array(items)) => read_items(items),
        _ => Conversation::default(),
    };
    asked.dialect = Some(Dialect::OpenAiResponses);
    asked.model = take_text(&mut body, "model");
    asked.tools = body.take("tools");
    asked.system = join_lines(body.take("instructions").and_then(text_of).into_iter().chain(asked.system).collect());
    asked
}

/// Reads the items of an input.
pub(crate) fn read_items(items: Vec<Json<'_>>) -> Conversation<'_> {
    let mut said = Said::default();
    for item in items {
        said.item(item);
    }
    Conversation { dialect: Some(Dialect::OpenAiResponses), ..Conversation::of_said(said) }
}

impl<'a> Said<'a> {
    fn item(&mut self, mut item: Json<'a>) {
        match item.get("type").and_then(Json::as_str) {
            Some("function_call" | "custom_tool_call" | "mcp_call") => {
                let Some(call) = read_call(item) else { return };
                self.turns.push(Turn {
                    message: Message { role: "assistant".into(), tool_calls: vec![call], ..Message::default() },
                    has_text: false,
                    calls_tools: true,
                });
            }
            Some("function_call_output" | "custom_tool_call_output") => {
                let call_id = take_text(&mut item, "call_id");
                let text = item.take("output").map(result_text).unwrap_or_default();
                let message = Message { role: "tool".into(), text, call_id, ..Message::default() };
                self.turns.push(Turn { message, has_text: true, calls_tools: false });
            }
            Some("reasoning") => {}
            Some(kind) if kind.ends_with("_call") || kind.ends_with("_call_output") => {}
            _ => self.add(item, Joined::ByLines),
        }
    }
}

pub(crate) fn read_output(items: Vec<Json<'_>>) -> Answer<'_> {
    let mut answer = Answer::default();
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    for mut item in items {
        match item.get("type").and_then(Json::as_str) {
            Some("message") => {
                let mut said = Said::default();
                said.add(item, Joined::ByLines);
                answer.notes.merge(said.notes);
                let said = said.turns.pop().filter(|turn| turn.has_text);
                texts.extend(said.map(|turn| turn.message.text));
            }
            Some("function_call") => answer.tool_calls.extend(read_call(item)),
            Some("custom_tool_call" | "mcp_call") => answer.tool_calls.extend(custom_call(item)),
            Some("file_search_call") => {
                let Some(Json::Array(results)) = item.take("results") else { continue };
                answer.context.extend(results.into_iter().filter_map(found_passage));
            }
            _ => {}
        }
    }
    answer.text = join_lines(texts);
    if answer.text.is_none() && !answer.tool_calls.is_empty() {
        answer.finish_reason = Some(TOOL_CALLS.into());
    }
    answer
}

fn custom_call(mut item: Json<'_>) -> Option<ToolCall<'_>> {
    let id = take_text(&mut item, "call_id").or_else(|| take_text(&mut item, "id"));
    let name = take_text(&mut item, "name")?;
    let args = item.take("arguments").or_else(|| item.take("input")).map_or(Json::Object(Vec::new()), args_of);
    Some(ToolCall { id, name, args })
}

fn found_passage(mut result: Json<'_>) -> Option<Passage<'_>> {
    let text = take_text(&mut result, "text").filter(|text| !text.is_empty())?;
    Some(Passage {
        id: take_text(&mut result, "filename").or_else(|| take_text(&mut result, "file_id")),
        text,
        place: None,
    })
}

fn is_item_type(kind: &str) -> bool {
    matches!(kind, "message" | "reasoning" | "function_call" | "function_call_output")
        || kind.ends_with("_call")
        || kind.ends_with("_call_output")
        || kind.starts_with("mcp_")
}
