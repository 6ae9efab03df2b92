//! LiteLLM's standard logging payload.
//!
//! - latency: `endTime` - `startTime` (seconds with a fraction). `response_time` is the time to the first token when
//!   the answer was streamed, and is not read
//! - time to the first token: `completionStartTime` - `startTime`, of streamed answers only: of others
//!   `completionStartTime` is the end
//! - session: `session_id`, else `trace_id`, in which the session of the caller ends up
//! - model that answered: that of the response, unless it was streamed: then LiteLLM puts the name that was asked for
//!   in its place, and nobody knows
//!
//! **Source**: litellm 1.106, `StandardLoggingPayload`.

use super::Writer;
use crate::record::{
    Container,
    body::{error_of, message::take_name, message::take_text},
    call::{Call, Outcome},
    json::Json,
    values,
};

const CONTAINER: Container = Container::named("litellm");

/// LiteLLM standard logging payload.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "LiteLLM standard logging payload",
    told_by: "`litellm_call_id`, `model_map_information`",
    marks: &["litellm_call_id", "model_map_information"],
    matches: |_| true,
    read: |value, entries| entries.push(read(value)),
    joiner: None,
};

/// Reads one payload.
fn read(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(CONTAINER);
    let is_stream = value.get("stream").is_some_and(|stream| values::flag(stream) == Ok(true));
    let is_failure = value.get("status").and_then(Json::as_str) == Some("failure");
    call.record.id = take_name(&mut value, "id").or_else(|| take_name(&mut value, "litellm_call_id"));
    call.record.session_id = take_name(&mut value, "session_id").or_else(|| take_name(&mut value, "trace_id"));
    call.record.provider = take_text(&mut value, "custom_llm_provider").filter(|name| !name.is_empty());
    let first_token = value.take("completionStartTime").filter(|_| is_stream);
    call.times(value.take("startTime"), value.take("endTime"), first_token);
    call.requested = take_text(&mut value, "model").filter(|name| !name.is_empty());
    call.ask(value.take("messages"));
    let response =
        value.take("response").filter(|response| response.as_object().is_none_or(|entries| !entries.is_empty()));
    call.answer(response);
    if is_stream && call.served == call.requested {
        call.served = None;
    }
    if let Some(mut parameters) = value.take("model_parameters") {
        call.record.tools =
            call.record.tools.take().or_else(|| parameters.take("tools").or_else(|| parameters.take("functions")));
    }
    if !is_failure {
        call.tokens(value.get("prompt_tokens"), value.get("completion_tokens"));
    }
    let error = value.take("error_str").and_then(error_of);
    let error =
        error.or_else(|| value.take("error_information").and_then(|mut about| take_text(&mut about, "error_message")));
    call.record.error = call.record.error.take().or(error.filter(|error| !error.is_empty()));
    if is_failure && call.record.error.is_none() {
        call.record.error = Some("the call has the status `failure`".into());
    }
    if call.record.error.is_some() {
        call.record.finish_reason = None;
    }
    Ok(call.finish())
}
