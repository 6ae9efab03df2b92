//! Containers of one line each that have little or no frame: bare bodies, conversations of a data set.
//!
//! - bare: a response body alone, in any dialect but Chat Completions (which is read beside our own names)
//! - ShareGPT: `conversations` of `from` and `value`; the last message of the assistant is the answer

use super::{Writer, chat::closing_with_answer, text};
use crate::record::{
    Container,
    body::{
        self, Conversation, cohere,
        message::{take_name, take_text},
        servers,
    },
    call::{Call, Outcome},
    json::Json,
};

const SHAREGPT_ROWS: Container = Container::named("sharegpt");

/// Response bodies that stand alone.
pub(super) const BARE: Writer = Writer {
    container: Container::BARE,
    about: "a response body alone",
    told_by: "a body of a dialect below",
    marks: &[
        "candidates",
        "promptFeedback",
        "usageMetadata",
        "content",
        "done",
        "object",
        "type",
        "output",
        "message",
        "text",
    ],
    matches: is_bare,
    read: |value, entries| entries.push(bare(value)),
    joiner: None,
};

/// Conversations in the form of ShareGPT.
pub(super) const SHAREGPT: Writer = Writer {
    container: SHAREGPT_ROWS,
    about: "conversations of `from` and `value`",
    told_by: "`conversations`",
    marks: &["conversations", "conversation"],
    matches: is_sharegpt,
    read: |value, entries| entries.push(sharegpt(value)),
    joiner: None,
};

fn is_bare(value: &Json<'_>) -> bool {
    const MARKS: [&str; 7] = ["candidates", "promptFeedback", "usageMetadata", "content", "done", "message", "text"];
    let has_mark = MARKS.iter().any(|key| value.get(key).is_some());
    let is_body = has_mark || text(value, "object") == "response" || text(value, "type") == "error";
    is_body && body::is_response_body(value)
}

fn is_sharegpt(value: &Json<'_>) -> bool {
    let list = value.get("conversations").or_else(|| value.get("conversation")).and_then(Json::as_array);
    list.is_some_and(|list| !list.is_empty() && list.iter().all(is_turn))
}

/// Whether an element of a list is something said, by whomever.
fn is_turn(turn: &Json<'_>) -> bool {
    ["role", "from", "value", "content", "text", "tool_calls"].iter().any(|key| turn.get(key).is_some())
}

/// A response body alone.
fn bare(mut value: Json<'_>) -> Outcome<'_> {
    let asked = take_asked(&mut value);
    let answer = body::read_response_body(value).map_err(|_| "no response body of a known dialect".to_owned())?;
    let mut call = Call::llm(Container::BARE);
    call.asked(asked);
    call.answered(answer);
    Ok(call.finish())
}

/// What an answer repeats of its question.
pub(super) fn take_asked<'a>(body: &mut Json<'a>) -> Conversation<'a> {
    if let Some(Json::Array(history)) = body.take("chat_history") {
        return cohere::read_history(history);
    }
    let is_llama_cpp = body.get("prompt").is_some() && servers::is_llama_cpp(body);
    let text = if is_llama_cpp { take_text(body, "prompt") } else { None };
    Conversation { text, ..Conversation::default() }
}

/// A conversation in the form of ShareGPT.
fn sharegpt(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(SHAREGPT_ROWS);
    call.record.id = ["id", "conversation_id"].into_iter().find_map(|key| take_name(&mut value, key));
    call.requested = take_name(&mut value, "model");
    call.record.system = take_text(&mut value, "system").filter(|system| !system.is_empty());
    let Some(Json::Array(turns)) = value.take("conversations").or_else(|| value.take("conversation")) else {
        return Err("ShareGPT without conversations".to_owned());
    };
    Ok(closing_with_answer(call, turns))
}
