//! Helicone exports: a request and its response with what the proxy measured.
//!
//! - latency: `response_created_at` - `request_created_at`, else `delay_ms`; time to the first token:
//!   `time_to_first_token` (milliseconds)
//! - a status from 400 on, or a body that says so, is an error
//! - without `--include-body` there are no texts, which is noted
//!
//! **Source**: Helicone packages/llm-mapper `HeliconeRequest`, examples/export.

use super::{Writer, has_any};
use crate::record::{
    Container,
    body::{
        FIRST_ERROR_STATUS,
        message::{take_name, take_text},
    },
    call::{Call, Outcome, count, decoded, skipped},
    json::Json,
    values::{self, Unit},
};

const CONTAINER: Container = Container::named("helicone");

/// Exports.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "exports",
    told_by: "`request_body` with `response_status`",
    marks: &["request_body"],
    matches: |value| value.get("request_body").is_some() && has_any(value, &["response_status", "response_created_at"]),
    read: |value, entries| entries.push(read(value)),
    joiner: None,
};

/// Reads one request.
fn read(mut value: Json<'_>) -> Outcome<'_> {
    let mut request = value.take("request_body").map(decoded).unwrap_or_default();
    let response = value.take("response_body").map(decoded);
    let mut call = match request.get("_type").and_then(Json::as_str) {
        Some("tool") => Call::tool(CONTAINER, take_name(&mut request, "toolName")),
        Some("vector_db") => return Ok(skipped(CONTAINER, "a retrieval")),
        _ => Call::llm(CONTAINER),
    };
    call.record.id = take_name(&mut value, "request_id").or_else(|| take_name(&mut value, "response_id"));
    call.record.provider = take_text(&mut value, "provider").map(|name| name.to_ascii_lowercase().into());
    call.times(value.take("request_created_at"), value.take("response_created_at"), None);
    call.reported_latency(value.get("delay_ms"), Unit::Ms);
    call.reported_ttft(value.get("time_to_first_token"), Unit::Ms);
    for properties in ["request_properties", "properties"] {
        if let Some(mut properties) = value.take(properties) {
            let session = take_name(&mut properties, "Helicone-Session-Id");
            call.record.session_id = call.record.session_id.take().or(session);
        }
    }
    let status = value.get("response_status").and_then(|status| values::count(status).ok());
    if call.record.tool.is_some() {
        call.args(request.take("input"));
        call.result(response);
    } else {
        call.requested = take_text(&mut value, "request_model").or_else(|| take_text(&mut value, "model"));
        call.ask(Some(request));
        call.answer(response);
        call.served = call.served.take().or_else(|| take_text(&mut value, "response_model"));
        call.tokens(value.get("prompt_tokens"), value.get("completion_tokens"));
        let cached = count(value.get("prompt_cache_read_tokens"));
        call.record.cached_tokens = call.record.cached_tokens.or(cached);
    }
    if let Some(status) = status.filter(|status| *status >= FIRST_ERROR_STATUS)
        && call.record.error.is_none()
    {
        call.record.error = Some(format!("HTTP status {status}").into());
    }
    Ok(call.finish())
}
