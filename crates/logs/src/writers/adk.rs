//! Sessions of Google's Agent Development Kit: `events` with a `content` in the dialect of Gemini, in camelCase (REST, JSON
//! of pydantic) and in snake_case; one document, or an event a line.
//!
//! - an event whose content is of the model is a call; what was said since the one before it is the prompt
//! - results of functions are said in the role of the user, whoever is the author
//! - pieces of an answer (`partial`) are said again as a whole
//! - an event without a content (changes of state, transfers) holds no call; one with an `errorCode` is a failed call
//! - cases of an evaluation set: `user_content` with `final_response`
//!
//! **Source**: google/adk-python 1.x, `Event`, `Session`, `EvalCase`.
//!
//! **Limits**: an event has one time, so that nothing is known of latency.

use super::{
    Writer, chat,
    conversation::{self, Frame, Speaker, message},
    has_any,
};
use crate::record::{
    Container, Dialect, Entry,
    body::{gemini, message::take_name},
    call::{Call, Entries},
    json::Json,
};

const CONTAINER: Container = Container::named("adk");

/// Sessions of the Agent Development Kit.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "sessions of Google's Agent Development Kit",
    told_by: "`events` with `invocationId` (or `invocation_id`) and `author`; such an event; `user_content` with `final_response`",
    marks: &["events", "invocationId", "invocation_id", "final_response"],
    matches: |value| is_session(value) || is_event(value) || is_case(value),
    read,
    joiner: None,
};

fn is_session(value: &Json<'_>) -> bool {
    let events = value.get("events").and_then(Json::as_array).unwrap_or_default();
    !events.is_empty() && events.iter().all(is_event)
}

fn is_event(value: &Json<'_>) -> bool {
    has_any(value, &["invocationId", "invocation_id"])
        && value.get("author").is_some_and(|author| author.as_str().is_some())
}

fn is_case(value: &Json<'_>) -> bool {
    let has_parts = |key: &str| value.get(key).is_some_and(|content| content.get("parts").is_some());
    has_parts("user_content") && has_parts("final_response")
}

fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    if is_case(&value) {
        let mut call = Call::llm(CONTAINER);
        call.record.id = take_name(&mut value, "invocation_id");
        call.times(value.take("creation_timestamp"), None, None);
        call.asked(gemini::read_contents(value.take("user_content").into_iter().collect()));
        let answer = [("content".into(), value.take("final_response").unwrap_or_default())];
        call.answered(gemini::read_candidate(Json::Object(answer.into_iter().collect())));
        return entries.push(Ok(call.finish()));
    }
    if is_event(&value) {
        return match said(value) {
            Ok(said) => entries.push(Ok(Entry::Fragment(chat::fragment_of(CONTAINER, Dialect::Gemini, said)))),
            Err(what) => entries.skipped(CONTAINER, what),
        };
    }
    let Some(Json::Array(events)) = value.take("events") else { return };
    let session_id = take_name(&mut value, "id");
    let mut messages = Vec::with_capacity(events.len());
    for event in events {
        match said(event) {
            Ok(said) => messages.push(said),
            Err(what) => entries.skipped(CONTAINER, what),
        }
    }
    let frame = Frame { container: CONTAINER, dialect: Some(Dialect::Gemini), session_id, ..Frame::default() };
    conversation::push(messages, frame, entries);
}

/// What an event says, as a message; the name of one that says nothing.
fn said<'a>(mut event: Json<'a>) -> Result<Json<'a>, &'static str> {
    let mut either =
        |camel: &str, snake: &str| event.take(camel).or_else(|| event.take(snake)).filter(|value| !value.is_null());
    let error = either("errorMessage", "error_message").or_else(|| either("errorCode", "error_code"));
    let about = [
        ("usageMetadata", either("usageMetadata", "usage_metadata")),
        ("model", either("modelVersion", "model_version")),
        ("finish_reason", either("finishReason", "finish_reason")),
        ("id", event.take("id")),
        ("timestamp", event.take("timestamp")),
        ("session_id", event.take("session_id")),
        ("error", error),
    ];
    let is_error = about.iter().any(|(key, value)| *key == "error" && value.is_some());
    if event.get("partial").and_then(Json::as_bool) == Some(true) {
        return Err("a piece of an answer, which is said again as a whole");
    }
    let mut content = event.take("content").unwrap_or_default();
    let is_users = event.get("author").and_then(Json::as_str) == Some("user");
    let is_model = content.get("role").and_then(Json::as_str).map_or(!is_users, |role| role == "model");
    let parts = content.take("parts").filter(|parts| parts.as_array().is_some_and(|parts| !parts.is_empty()));
    if parts.is_none() && !is_error {
        return Err("an event without a message");
    }
    let speaker = if is_model { Speaker::Model } else { Speaker::User };
    Ok(message(speaker, parts, about))
}
