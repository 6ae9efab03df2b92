//! Anthropic Messages: one message answers, made of typed blocks.
//!
//! - response: its `text` blocks; tool calls: its `tool_use` blocks; thinking is left out
//! - a request is read as one of Chat Completions, with `system` beside the messages
//! - `amazon-bedrock-invocationMetrics`, with which Bedrock ends a stream: latency, time to the first token, and token
//!   counts where the message has none
//! - an error body `{"type": "error", "error": {"type", "message"}}`: an error and no response
//!
//! **Source**: the Anthropic API reference. Tokens of the cache are counted beside `input_tokens` and added to them.
//!
//! **Limits**: what the provider's own tools did (`server_tool_use`) counts among the calls.

use super::{
    Answer, error_of,
    message::{Joined, Said, has_role, take_text},
    usage::Usage,
};
use crate::record::{Dialect, json::Json, values};

/// The key under which Bedrock says what it measured.
pub(crate) const BEDROCK_METRICS: &str = "amazon-bedrock-invocationMetrics";

/// Whether the value is a response body, or an error body.
pub(crate) fn is_response(value: &Json<'_>) -> bool {
    let kind = value.get("type").and_then(Json::as_str);
    if kind == Some("error") {
        return value.get("error").is_some_and(|error| error.get("message").is_some());
    }
    let is_blocks = value
        .get("content")
        .and_then(Json::as_array)
        .is_some_and(|blocks| blocks.iter().all(|block| block.get("type").and_then(Json::as_str).is_some()));
    let is_answer = value.get("stop_reason").is_some() || value.get("usage").is_some_and(Usage::is_one);
    is_blocks && (kind == Some("message") || is_answer) && (has_role(value) || is_answer)
}

/// Whether a body with messages is one of this dialect.
pub(crate) fn is_request(value: &Json<'_>) -> bool {
    value.get("anthropic_version").is_some()
        || value.get("system").is_some()
        || (value.get("max_tokens").is_some()
            && value.get("model").and_then(Json::as_str).is_some_and(|model| model.contains("claude")))
}

/// Reads a response body, or an error body.
pub(crate) fn read_response(mut body: Json<'_>) -> Answer<'_> {
    let id = take_text(&mut body, "id");
    let model = take_text(&mut body, "model");
    let usage = body.take("usage").map(|usage| Usage::of(&usage)).unwrap_or_default();
    let stop_reason = take_text(&mut body, "stop_reason");
    let error = body.take("error").and_then(error_of);
    let metrics = body.take(BEDROCK_METRICS);
    let mut said = Said::default();
    let has_place = body.get("content").is_some();
    if has_place {
        said.add(body, Joined::ByLines);
    }
    let answer = Answer::of_said(said);
    let finish_reason = stop_reason.or(answer.finish_reason);
    let mut answer = Answer { dialect: Some(Dialect::Anthropic), id, model, usage, error, finish_reason, ..answer };
    if has_place {
        answer = answer.or_empty();
    }
    if let Some(metrics) = metrics {
        read_metrics(&metrics, &mut answer);
    }
    answer
}

fn read_metrics(metrics: &Json<'_>, answer: &mut Answer<'_>) {
    let ms = |key: &str| values::duration_ms(metrics.get(key)?, values::Unit::Ms).ok();
    let count = |key: &str| values::count(metrics.get(key)?).ok();
    answer.latency_ms = ms("invocationLatency");
    answer.ttft_ms = ms("firstByteLatency");
    answer.usage.prompt = answer.usage.prompt.or_else(|| count("inputTokenCount"));
    answer.usage.response = answer.usage.response.or_else(|| count("outputTokenCount"));
}
