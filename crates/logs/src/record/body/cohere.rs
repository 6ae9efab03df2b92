//! Cohere chat: v2 answers below `message`, v1 below `text`.
//!
//! - v2: the texts of `message.content`, `message.tool_calls`; tokens below `usage.tokens`
//! - v1: `text`, `tool_calls`; tokens below `meta.tokens` (or `meta.billed_units`); `documents` are context
//!
//! **Source**: the API reference of Cohere, v1 and v2.
//!
//! **Limits**: the conversation that v1 repeats in its answer (`chat_history`) is read where the answer stands alone.

use super::{
    Answer, Conversation,
    message::{Joined, Said, passages, read_calls, take_text},
    usage::Usage,
};
use crate::record::{Dialect, Message, json::Json};

/// Whether the value is a response body.
pub(crate) fn is_response(value: &Json<'_>) -> bool {
    let is_v2 = || {
        let has_counts = ["/usage/tokens", "/usage/billed_units"].iter().any(|path| value.pointer(path).is_some());
        let message = value.get("message");
        has_counts
            && message.is_some_and(|message| message.get("content").is_some() || message.get("tool_calls").is_some())
    };
    let is_v1 = || {
        value.get("text").is_some_and(|text| text.as_str().is_some())
            && (value.get("generation_id").is_some() || value.get("chat_history").is_some())
    };
    is_v2() || is_v1()
}

/// Reads a response body.
pub(crate) fn read_response(mut body: Json<'_>) -> Answer<'_> {
    let mut answer = match body.take("message") {
        Some(message) => {
            let mut said = Said::default();
            said.add(message, Joined::AsTheyStand);
            Answer::of_said(said)
        }
        None => {
            let tool_calls = body.take("tool_calls").map(read_calls).unwrap_or_default();
            let text = take_text(&mut body, "text").filter(|text| !text.is_empty() || tool_calls.is_empty());
            Answer { text, tool_calls, ..Answer::default() }
        }
    };
    answer.dialect = Some(Dialect::Cohere);
    answer.id = ["id", "response_id", "generation_id"].into_iter().find_map(|key| take_text(&mut body, key));
    answer.finish_reason = take_text(&mut body, "finish_reason").or(answer.finish_reason);
    if let Some(documents) = body.take("documents") {
        answer.context = passages(documents);
    }
    let counts = body.take("usage").or_else(|| body.take("meta"));
    let counts = counts.and_then(|mut counts| counts.take("tokens").or_else(|| counts.take("billed_units")));
    answer.usage = counts.map(|counts| Usage::of(&counts)).unwrap_or_default();
    answer
}

/// What an answer of v1 repeats of the conversation before it.
pub(crate) fn read_history(history: Vec<Json<'_>>) -> Conversation<'_> {
    let mut said = Said::default();
    let count = history.len();
    for (index, mut message) in history.into_iter().enumerate() {
        let role = take_text(&mut message, "role").unwrap_or_default();
        let role = match role.as_ref() {
            "USER" | "User" => "user",
            "SYSTEM" | "System" => "system",
            "TOOL" | "Tool" => "tool",
            _ => "assistant",
        };
        // The last one is the answer itself.
        if role == "assistant" && index + 1 == count {
            break;
        }
        let text = take_text(&mut message, "message").unwrap_or_default();
        let message = Message::new(role, text);
        said.turns.push(super::message::Turn { message, has_text: true, calls_tools: false });
    }
    Conversation { dialect: Some(Dialect::Cohere), ..Conversation::of_said(said) }
}
