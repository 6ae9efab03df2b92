//! Sessions of Gemini CLI: one document, `messages` of the user and of the model in their order.
//!
//! - a message of the type `gemini` is a call of the model: its `content` is the answer, and what was said since the answer
//!   before is the prompt, the results of tools among it
//! - `toolCalls` of a message: calls of the answer, and those with a `result` records of tools
//! - tokens: `input` counts the cache in, `output` does not count the thoughts
//! - what the user said last and nobody answered is a call without a response
//!
//! **Source**: gemini-cli 0.20, `ConversationRecord`.
//!
//! **Limits**: a message has one time, so that nothing is known of latency. Thoughts are left out. Sessions of later
//! versions, in JSON Lines with `$set` and `$rewindTo`, are named and not read.

use std::borrow::Cow;

use super::{Writer, has_all, native, text};
use crate::record::{
    Container, Dialect, Note, ToolCall,
    body::{
        Conversation,
        message::{result_text, take_name, take_text, text_of},
    },
    call::{Call, Entries, Outcome},
    json::Json,
    values,
};

const CONTAINER: Container = Container::named("gemini_cli");

/// Sessions of Gemini CLI.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "sessions of Gemini CLI (JSON; the later JSON Lines are named and not read)",
    told_by: "`sessionId` and `projectHash`",
    marks: &["projectHash", "content"],
    matches: is_session,
    read,
    joiner: None,
};

fn is_session(value: &Json<'_>) -> bool {
    let has_messages = || value.get("messages").is_some_and(|list| list.as_array().is_some());
    (has_all(value, &["sessionId", "projectHash"]) && (has_messages() || native::holds_no_call(value)))
        || (text(value, "type") == "gemini" && value.get("content").is_some() && native::holds_no_call(value))
}

/// Reads a session.
fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let session = take_name(&mut value, "sessionId");
    let Some(Json::Array(messages)) = value.take("messages") else {
        return entries.push(Err("a line of a Gemini CLI session in JSON Lines, which is not read".to_owned()));
    };
    let mut asked = Vec::new();
    let mut last_said = None;
    for mut message in messages {
        match message.get("type").and_then(Json::as_str) {
            Some("user") => {
                asked.push(turn("user", message.take("content").and_then(text_of).unwrap_or_default()));
                last_said = message.take("timestamp");
            }
            Some("gemini") => {
                let calls = match message.take("toolCalls") {
                    Some(Json::Array(calls)) => calls,
                    _ => Vec::new(),
                };
                let mut call = of_session(session.clone());
                call.asked(conversation(std::mem::take(&mut asked)));
                answer(&mut call, message, &calls);
                entries.push(Ok(call.finish()));
                last_said = None;
                for call in calls {
                    asked.extend(result_of(&call));
                    entries.list.extend(tool(call, session.clone()));
                }
            }
            _ => entries.skipped(CONTAINER, "a notice of the client"),
        }
    }
    if last_said.is_some() {
        let mut call = of_session(session);
        call.asked(conversation(asked));
        call.times(last_said, None, None);
        call.record.notes.add(Note::Unanswered);
        entries.push(Ok(call.finish()));
    }
    if entries.list.is_empty() {
        entries.skipped(CONTAINER, "a session without a message");
    }
}

fn of_session(session: Option<Cow<'_, str>>) -> Call<'_> {
    let mut call = Call::llm(CONTAINER);
    call.record.session_id = session;
    call
}

fn conversation(messages: Vec<Json<'_>>) -> Conversation<'_> {
    Conversation { dialect: Some(Dialect::Gemini), ..Conversation::of_messages(messages) }
}

fn answer<'a>(call: &mut Call<'a>, mut message: Json<'a>, calls: &[Json<'a>]) {
    call.record.id = take_name(&mut message, "id");
    call.served = take_text(&mut message, "model");
    call.times(message.take("timestamp"), None, None);
    call.record.response = message.take("content").and_then(text_of);
    call.record.tool_calls = calls.iter().filter_map(tool_call).collect();
    if call.record.response.as_deref() == Some("") && !call.record.tool_calls.is_empty() {
        (call.record.response, call.record.finish_reason) = (None, Some("tool_calls".into()));
    }
    let Some(tokens) = message.take("tokens") else { return };
    let count = |key: &str| values::count(tokens.get(key)?).ok();
    let (output, thoughts) = (count("output"), count("thoughts"));
    call.record.prompt_tokens = count("input");
    call.record.cached_tokens = count("cached");
    call.record.reasoning_tokens = thoughts;
    call.record.response_tokens = output.map(|output| output + thoughts.unwrap_or(0));
}

fn tool_call<'a>(call: &Json<'a>) -> Option<ToolCall<'a>> {
    let name = |key: &str| values::name(call.get(key)?.clone()).ok().flatten();
    let args = call.get("args").cloned().unwrap_or(Json::Object(Vec::new()));
    Some(ToolCall { id: name("id"), name: name("name")?, args })
}

/// The result of a call as a message of the next prompt.
fn result_of<'a>(call: &Json<'a>) -> Option<Json<'a>> {
    let text = answered(call.get("result")?.clone())?;
    let mut message = turn("tool", result_text(text));
    if let Json::Object(entries) = &mut message {
        let own = [("tool_call_id", "id"), ("name", "name"), ("status", "status")];
        let own = own.into_iter().filter_map(|(key, from)| Some((key.into(), call.get(from)?.clone())));
        entries.extend(own);
    }
    Some(message)
}

/// A call with its result as a record.
fn tool<'a>(mut call: Json<'a>, session: Option<Cow<'a, str>>) -> Option<Outcome<'a>> {
    let result = answered(call.take("result")?)?;
    let mut record = Call::tool(CONTAINER, take_name(&mut call, "name"));
    record.record.call_id = take_name(&mut call, "id");
    record.record.id = record.record.call_id.clone();
    record.record.session_id = session;
    record.times(call.take("timestamp"), None, None);
    record.args(call.take("args"));
    match call.get("status").and_then(Json::as_str) {
        Some("error" | "cancelled") => record.record.error = Some(result_text(result)),
        _ => record.result(Some(result)),
    }
    Some(Ok(record.finish()))
}

/// What a tool answered: the response in its parts, without their frame.
fn answered(result: Json<'_>) -> Option<Json<'_>> {
    match result {
        Json::Null => None,
        Json::Array(parts) => {
            let mut found: Vec<Json<'_>> = parts.into_iter().map(response_of).collect();
            if found.len() > 1 { Some(Json::Array(found)) } else { found.pop() }
        }
        one => Some(response_of(one)),
    }
}

/// `{"functionResponse": {"response": {"output": ...}}}`.
fn response_of(mut part: Json<'_>) -> Json<'_> {
    let Some(mut framed) = part.take("functionResponse") else { return part };
    let Some(mut response) = framed.take("response") else { return framed };
    match response.as_object().map(<[_]>::len) {
        Some(1) => response.take("output").or_else(|| response.take("error")).unwrap_or(response),
        _ => response,
    }
}

fn turn<'a>(role: &'static str, text: Cow<'a, str>) -> Json<'a> {
    Json::Object(vec![("role".into(), Json::String(role.into())), ("content".into(), Json::String(text))])
}
