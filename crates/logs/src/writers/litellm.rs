//! LiteLLM: the standard logging payload, what its callbacks are given, and the rows of `LiteLLM_SpendLogs`.
//!
//! - a callback's arguments that hold a payload (`standard_logging_object`) are that
//! - what asks no model of language (`call_type`: embeddings, images, files, ...) holds no call; `call_mcp_tool` is one of a
//!   tool
//! - latency: `endTime` - `startTime` (seconds with a fraction, or text). `response_time` is the time to the first token when
//!   the answer was streamed, and is not read
//! - time to the first token: `completionStartTime` - `startTime`, of streamed answers only: of others
//!   `completionStartTime` is the end
//! - session: `session_id`, else `trace_id`, in which the session of the caller ends up
//! - model that answered: that of the response, unless it was streamed: then LiteLLM puts the name that was asked for
//!   in its place, and nobody knows
//! - of a row the request may stand in `proxy_server_request`, and what went wrong in `metadata.error_information`
//!
//! **Source**: litellm 1.40 to 1.109: `StandardLoggingPayload`, `CallTypes`, `litellm_core_utils/litellm_logging.py`,
//! `proxy/schema.prisma`, `SpendLogsPayload`.

use super::{Writer, has_all, has_any, text};
use crate::record::{
    Container,
    body::{error_of, message::take_name, message::take_text},
    call::{Call, Entries, Outcome, decoded, is_said},
    json::Json,
    values::{self, Unit},
};

const CONTAINER: Container = Container::named("litellm");

/// What LiteLLM logs.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "LiteLLM: standard logging payloads, arguments of callbacks, rows of spend",
    told_by: "`litellm_call_id`, `model_map_information`, `standard_logging_object`, also below `kwargs`; `call_type` with `request_id` or \
              `completionStartTime`",
    marks: &["litellm_call_id", "model_map_information", "standard_logging_object", "call_type", "kwargs"],
    matches: |value| {
        has_any(value, &["litellm_call_id", "model_map_information"])
            || is_full(value.get("standard_logging_object"))
            || is_callback(value)
            || has_all(value, &["call_type", "request_id", "startTime"])
            || has_all(value, &["call_type", "completionStartTime"])
    },
    read,
    joiner: None,
};

/// Whether a value is what a callback was given: its arguments, the response and the times.
fn is_callback(value: &Json<'_>) -> bool {
    value.get("kwargs").is_some_and(|given| has_any(given, &["litellm_call_id", "standard_logging_object"]))
}

fn is_full(value: Option<&Json<'_>>) -> bool {
    value.and_then(Json::as_object).is_some_and(|entries| !entries.is_empty())
}

/// What LiteLLM was asked for that is no call of a model of language, as a noun.
fn no_call(call_type: &str) -> Option<&'static str> {
    const NOUNS: [(&str, &str); 11] = [
        ("embedding", "an embedding"),
        ("rerank", "a retrieval"),
        ("search", "a retrieval"),
        ("moderation", "a moderation"),
        ("image", "an image"),
        ("video", "a video"),
        ("transcription", "speech"),
        ("speech", "speech"),
        ("ocr", "a scan of a document"),
        ("list_mcp_tools", "a list of tools"),
        ("mcp_list", "a list of tools"),
    ];
    // Requests that keep house: files, batches, assistants, threads, answers of before.
    const HOUSEKEEPING: [&str; 10] =
        ["create_", "acreate_", "get_", "aget_", "list_", "alist_", "delete_", "adelete_", "cancel_", "acancel_"];
    const OBJECTS: [&str; 7] = ["file", "vector_store", "batch", "container", "assistant", "fine_tuning", "_item"];
    let is_of = |part: &str| call_type.contains(part);
    let noun = NOUNS.into_iter().find(|(part, _)| is_of(part)).map(|(_, noun)| noun);
    noun.or_else(|| {
        let is_request = HOUSEKEEPING.into_iter().any(|prefix| call_type.starts_with(prefix));
        let keeps_house = (is_request && !is_of("interaction")) || OBJECTS.into_iter().any(is_of);
        keeps_house.then_some("a request that asks no model")
    })
}

fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    if is_callback(&value)
        && let Some(Json::Object(mut given)) = value.take("kwargs")
    {
        let beside = ["response_obj", "start_time", "end_time"];
        given.extend(beside.into_iter().filter_map(|key| Some((key.into(), value.take(key)?))));
        value = Json::Object(given);
    }
    if is_full(value.get("standard_logging_object")) {
        value = value.take("standard_logging_object").unwrap_or_default();
    }
    let call_type = text(&value, "call_type");
    if let Some(noun) = no_call(call_type) {
        return entries.skipped(CONTAINER, noun);
    }
    let outcome = if call_type == "call_mcp_tool" { read_tool(value) } else { read_call(value) };
    entries.push(outcome);
}

/// What stands around a call of a model and one of a tool alike.
fn place<'a>(value: &mut Json<'a>, call: &mut Call<'a>) {
    let is_stream = value.get("stream").is_some_and(|stream| values::flag(stream) == Ok(true));
    call.record.id = ["id", "request_id", "litellm_call_id"].into_iter().find_map(|key| take_name(value, key));
    let mut named = |key: &str| take_name(value, key).filter(|name| !name.is_empty());
    call.record.session_id = named("session_id").or_else(|| named("trace_id"));
    // Rows do not say whether the answer was streamed.
    let is_row = has_any(value, &["request_duration_ms", "spend"]);
    let mut moment = |names: [&str; 2]| names.into_iter().find_map(|key| value.take(key).filter(is_said));
    let (start, end) = (moment(["startTime", "start_time"]), moment(["endTime", "end_time"]));
    let first_token = moment(["completionStartTime", "completion_start_time"]);
    let first_token = first_token.filter(|first| is_stream || (is_row && end.as_ref() != Some(first)));
    call.times(start, end, first_token);
    call.reported_latency(value.get("request_duration_ms"), Unit::Ms);
}

/// A tool of a server of MCP behind the proxy.
fn read_tool(mut value: Json<'_>) -> Outcome<'_> {
    let metadata = value.get("metadata").cloned().map(decoded);
    let mut called = metadata.and_then(|mut about| about.take("mcp_tool_call_metadata")).unwrap_or_default();
    let tool = take_name(&mut called, "name").or_else(|| take_name(&mut value, "mcp_namespaced_tool_name"));
    let mut call = Call::tool(CONTAINER, tool);
    place(&mut value, &mut call);
    call.args(called.take("arguments"));
    call.result(called.take("result").or_else(|| value.take("response").map(decoded)).filter(is_not_empty));
    call.record.error = error_in(&mut value);
    Ok(call.finish())
}

/// Reads a call of a model.
fn read_call(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(CONTAINER);
    let is_stream = value.get("stream").is_some_and(|stream| values::flag(stream) == Ok(true));
    let is_failure = text(&value, "status") == "failure";
    place(&mut value, &mut call);
    call.record.provider = take_text(&mut value, "custom_llm_provider").filter(|name| !name.is_empty());
    call.requested = take_text(&mut value, "model").filter(|name| !name.is_empty());
    let mut request = value.take("proxy_server_request").map(decoded).unwrap_or_default();
    let request = request.take("body").map(decoded).unwrap_or(request);
    let messages = ["messages", "input", "prompt"]
        .into_iter()
        .find_map(|key| value.take(key).map(decoded).filter(is_not_empty).filter(is_said));
    match messages {
        Some(messages) => call.ask(Some(messages)),
        None if is_not_empty(&request) => {
            // The name that the caller used is one of the proxy.
            let model = call.requested.clone();
            call.ask(Some(request));
            call.requested = model.or(call.requested);
        }
        None => {}
    }
    const ANSWERS: [&str; 5] = [
        "response",
        "response_obj",
        "complete_streaming_response",
        "async_complete_streaming_response",
        "original_response",
    ];
    let response =
        ANSWERS.into_iter().find_map(|key| value.take(key).map(decoded).filter(is_not_empty).filter(is_said));
    call.answer(response);
    if is_stream && call.served == call.requested {
        call.served = None;
    }
    for key in ["model_parameters", "optional_params"] {
        if let Some(mut parameters) = value.take(key).map(decoded) {
            let tools = parameters.take("tools").or_else(|| parameters.take("functions"));
            call.record.tools = call.record.tools.take().or(tools);
        }
    }
    if !is_failure {
        call.tokens(value.get("prompt_tokens"), value.get("completion_tokens"));
    }
    let error = error_in(&mut value);
    call.record.error = call.record.error.take().or(error);
    if call.record.error.is_some() {
        call.record.finish_reason = None;
    }
    Ok(call.finish())
}

/// Placeholders for what is not logged are empty objects and lists.
fn is_not_empty(value: &Json<'_>) -> bool {
    match value {
        Json::Object(entries) => !entries.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Null => false,
        _ => true,
    }
}

/// What went wrong.
fn error_in<'a>(value: &mut Json<'a>) -> Option<std::borrow::Cow<'a, str>> {
    let metadata = value.get("metadata").cloned().map(decoded);
    let is_failure = text(value, "status") == "failure" || text(value, "log_event_type") == "failed_api_call";
    let told = [value.take("error_information"), metadata.and_then(|mut about| about.take("error_information"))];
    let mut told = told.into_iter().flatten().filter_map(|mut about| take_text(&mut about, "error_message"));
    let error = ["error_str", "exception"].into_iter().find_map(|key| value.take(key).and_then(error_of));
    let error = error.filter(|error| !error.is_empty()).or_else(|| told.find(|error| !error.is_empty()));
    error.or_else(|| is_failure.then(|| "the call has the status `failure`".into()))
}
