//! Containers of one line each that have little or no frame: bare bodies, lists of messages.
//!
//! - bare: a response body alone, in any dialect but Chat Completions (which is read beside our own names)
//! - chat: a FastChat server log, and instruction data (`instruction`, `input`, `output`)
//! - ShareGPT: `conversations` of `from` and `value`; the last message of the assistant is the answer

use super::{Writer, has_all, text};
use crate::record::{
    Container, Entry,
    body::{
        self, Conversation,
        message::{take_name, take_text},
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
    marks: &["candidates", "promptFeedback", "usageMetadata", "content", "done", "object", "type", "output"],
    matches: is_bare,
    read: |value, entries| entries.push(bare(value)),
    joiner: None,
};

/// Lists of messages, and what is like one.
pub(super) const CHAT: Writer = Writer {
    container: Container::CHAT,
    about: "lists of messages; FastChat server logs; instruction data",
    told_by: "`messages` alone; `tstamp`; `instruction` with `output`",
    marks: &["tstamp", "instruction"],
    matches: |value| has_all(value, &["tstamp", "state"]) || has_all(value, &["instruction", "output"]),
    read: |value, entries| entries.push(chat(value)),
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
    let has_mark =
        ["candidates", "promptFeedback", "usageMetadata", "content", "done"].iter().any(|key| value.get(key).is_some());
    let is_body = has_mark || text(value, "object") == "response" || text(value, "type") == "error";
    is_body && body::is_response_body(value)
}

fn is_sharegpt(value: &Json<'_>) -> bool {
    let list = value.get("conversations").or_else(|| value.get("conversation")).and_then(Json::as_array);
    list.is_some_and(|list| !list.is_empty() && list.iter().all(|turn| turn.as_object().is_some()))
}

/// A response body alone.
fn bare(value: Json<'_>) -> Outcome<'_> {
    let answer = body::read_response_body(value).map_err(|_| "no response body of a known dialect".to_owned())?;
    let mut call = Call::llm(Container::BARE);
    call.answered(answer);
    Ok(call.finish())
}

/// A line of a FastChat server log, or of instruction data.
fn chat(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(Container::CHAT);
    call.record.id = take_name(&mut value, "id").or_else(|| take_name(&mut value, "conv_id"));
    if let Some(instruction) = take_text(&mut value, "instruction") {
        let input = take_text(&mut value, "input").filter(|input| !input.is_empty());
        let text = match input {
            Some(input) => format!("{instruction}\n{input}").into(),
            None => instruction,
        };
        call.record.system = take_text(&mut value, "system");
        call.asked(Conversation { text: Some(text), ..Conversation::default() });
        call.answer(value.take("output"));
        return Ok(call.finish());
    }
    let messages = value.take("messages").or_else(|| value.take("conversation"));
    if let Some(Json::Array(messages)) = messages {
        return Ok(closing_with_answer(call, messages));
    }
    call.requested = take_name(&mut value, "model");
    call.times(value.take("start").or_else(|| value.take("tstamp")), value.take("finish"), None);
    let Some(Json::Array(turns)) = value.take("state").and_then(|mut state| state.take("messages")) else {
        return Err("a line of a chat log without messages".to_owned());
    };
    // FastChat keeps `[role, text]`, with a null text for the answer that is still to come.
    let turns = turns.into_iter().filter_map(|turn| match turn {
        Json::Array(pair) => {
            let [role, text] = <[_; 2]>::try_from(pair).ok()?;
            let role = if role.as_str().is_some_and(|role| role.eq_ignore_ascii_case("assistant")) {
                "assistant"
            } else {
                "user"
            };
            Some(Json::Object(vec![("role".into(), Json::String(role.into())), ("content".into(), text)]))
        }
        other => Some(other),
    });
    Ok(closing_with_answer(call, turns.collect()))
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

/// Messages of which the last of the assistant is the answer.
fn closing_with_answer<'a>(mut call: Call<'a>, messages: Vec<Json<'a>>) -> Entry<'a> {
    let mut asked = Conversation::of_messages(messages);
    let last = asked.split_last_answer();
    call.asked(asked);
    if let Some((answer, unread)) = last {
        call.answered(answer);
        if unread > 0 {
            call.problem("messages", format!("has {unread} after the last answer, which are not read"));
        }
    }
    call.finish()
}
