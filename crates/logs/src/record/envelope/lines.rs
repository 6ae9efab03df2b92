//! Containers of one line each that have little or no frame: bare bodies, lists of messages, batch files.
//!
//! - bare: a response body alone, in any dialect but Chat Completions (which is read beside our own names)
//! - chat: a FastChat server log, and instruction data (`instruction`, `input`, `output`)
//! - ShareGPT: `conversations` of `from` and `value`; the last message of the assistant is the answer
//! - OpenAI batch: `{custom_id, method, url, body}` asked, `{custom_id, response | error}` answered
//! - Anthropic batch: `{custom_id, params}` asked, `{custom_id, result}` answered
//!
//! **Limits**: each line of a batch is read by itself, a question without an answer as a record without a response. A
//! batch has no latency: its window is a day.

use super::{Call, Outcome, aside};
use crate::record::{
    Container, Entry, Note,
    body::{
        self, Conversation, error_of,
        message::{take_name, take_text},
    },
    json::Json,
    values,
};

/// HTTP statuses from here on are errors.
const FIRST_ERROR_STATUS: u64 = 400;

/// A response body alone.
pub(super) fn bare(value: Json<'_>) -> Outcome<'_> {
    let answer = body::read_response_body(value).map_err(|_| "no response body of a known dialect".to_owned())?;
    let mut call = Call::llm(Container::Bare);
    call.answered(answer);
    Ok(call.finish())
}

/// A line of a FastChat server log, or of instruction data.
pub(super) fn chat(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(Container::Chat);
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
pub(super) fn sharegpt(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(Container::ShareGpt);
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

/// A line of an OpenAI batch file, of what was asked or of what was answered.
pub(super) fn openai_batch(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(Container::OpenAiBatch);
    call.record.id = take_name(&mut value, "custom_id");
    if let Some(request) = value.take("body") {
        if value.get("url").and_then(Json::as_str).is_some_and(|url| url.ends_with("/embeddings")) {
            return Ok(aside(Container::OpenAiBatch, "an embedding"));
        }
        call.ask(Some(request));
        return Ok(call.finish());
    }
    let error = value.take("error").and_then(error_of);
    if let Some(mut response) = value.take("response") {
        let status = response.get("status_code").and_then(|status| values::count(status).ok());
        let body = response.take("body");
        if body.as_ref().is_some_and(|body| body.get("object").and_then(Json::as_str) == Some("list")) {
            return Ok(aside(Container::OpenAiBatch, "an embedding"));
        }
        call.answer(body);
        if status.is_some_and(|status| status >= FIRST_ERROR_STATUS) && call.record.error.is_none() {
            call.record.error = Some(format!("HTTP status {}", status.unwrap_or_default()).into());
            call.record.response = None;
        }
    }
    call.record.error = call.record.error.take().or(error);
    Ok(call.finish())
}

/// A line of an Anthropic batch, of what was asked or of what was answered.
pub(super) fn anthropic_batch(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(Container::AnthropicBatch);
    call.record.id = take_name(&mut value, "custom_id");
    if let Some(request) = value.take("params") {
        call.ask(Some(request));
        call.record.format.dialect = Some(crate::record::Dialect::Anthropic);
        return Ok(call.finish());
    }
    let Some(mut result) = value.take("result") else {
        return Err("a line of a batch with neither params nor result".to_owned());
    };
    let kind = take_text(&mut result, "type");
    call.answer(result.take("message"));
    if call.record.response.is_none() && call.record.tool_calls.is_empty() {
        let error = result.take("error").and_then(|mut error| match error.take("error") {
            Some(inner) => error_of(inner),
            None => error_of(error),
        });
        call.record.error = error.or_else(|| kind.filter(|kind| kind != "succeeded"));
    }
    Ok(call.finish())
}

/// Notes that the texts stand somewhere else.
pub(super) fn elsewhere(call: &mut Call<'_>) {
    call.record.notes.add(Note::ContentElsewhere);
}
