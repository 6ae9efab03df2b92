//! Spans of Logfire's integrations of OpenAI and Anthropic: the body of the request in `request_data`, and what was
//! answered in `response_data`.
//!
//! A streamed answer is told in a log of its own, a span without length that says how long the stream took; the span of
//! the request has ended before it. What a span says when it begins (`pending_span`) is told again at its end.
//!
//! **Source**: `logfire/_internal/integrations/llm_providers` of logfire 3.0, 4.0 and 5.4.

use super::Span;
use crate::record::{
    body::{
        Answer,
        message::{Joined, Said, take_text},
        usage::Usage,
    },
    call::{Call, decoded, is_said},
    json::Json,
    values::{Unit, duration_ms},
};

/// What kind of span it is: `span`, `log`, `pending_span`.
pub(super) const TYPE: &str = "logfire.span_type";
pub(super) const REQUEST: &str = "request_data";

/// Whether the request asks a model: not for an embedding or an image.
pub(super) fn is_call(span: &Span<'_>) -> bool {
    let request = span.attributes.get(REQUEST).cloned().map(decoded).unwrap_or_default();
    let has = |key: &str| request.get(key).is_some();
    // The Responses API and newer versions of the conventions leave but the model in it.
    has("messages") || (has("prompt") && !has("n")) || span.attributes.get("events").is_some()
}

/// Whether the request asks for an embedding.
pub(super) fn is_embedding(span: &Span<'_>) -> bool {
    let request = span.attributes.get(REQUEST).cloned().map(decoded).unwrap_or_default();
    request.get("input").is_some()
}

pub(super) fn read<'a>(span: &mut Span<'a>, call: &mut Call<'a>) {
    let of = &mut span.attributes;
    let mut request = of.take(&[REQUEST]).map(decoded).unwrap_or_default();
    call.requested = take_text(&mut request, "model");
    if request.get("messages").is_some() {
        call.ask(Some(request));
    } else {
        call.ask(request.take("prompt"));
    }
    let Some(mut response) = of.take(&["response_data"]).map(decoded) else { return };
    if let Some(usage) = response.take("usage").filter(is_said) {
        Usage::of(&usage).fill(&mut call.record);
    }
    let mut answer = match response.take("message").filter(is_said) {
        Some(message) => {
            let mut said = Said::default();
            said.add(message, Joined::ByLines);
            Answer::of_said(said)
        }
        None => {
            let text = take_text(&mut response, "text").or_else(|| take_text(&mut response, "combined_chunk_content"));
            Answer { text, ..Answer::default() }
        }
    };
    answer.finish_reason = take_text(&mut response, "finish_reason").or(answer.finish_reason);
    call.answered(answer);
    if of.text(TYPE) == Some("log") {
        let took = of.get("duration").and_then(|took| duration_ms(took, Unit::S).ok());
        span.start = began(span.start.take(), took);
    }
}

/// When something began that ended at a moment.
fn began<'a>(end: Option<Json<'a>>, took_ms: Option<f64>) -> Option<Json<'a>> {
    let ended = crate::record::values::moment_ns(end.as_ref()?, None).ok();
    let began = ended.zip(took_ms).and_then(|(ended, ms)| i64::try_from(ended - (ms * 1e6) as i128).ok());
    match began {
        Some(ns) => Some(Json::String(ns.to_string().into())),
        None => end,
    }
}
