//! Bodies of servers of models that have an API of their own: llama.cpp `/completion`, and Text Generation Inference.
//!
//! - llama.cpp: `content`; tokens `tokens_evaluated` and `tokens_predicted`; the time that it took stands below `timings`,
//!   in milliseconds, and that of the prompt is the time to the first token
//! - Text Generation Inference: `generated_text`; `details` has finish reason and tokens
//!
//! **Source**: tools/server/README.md of ggml-org/llama.cpp; the OpenAPI document of huggingface/text-generation-inference.

use super::{Answer, message::take_text, usage::Usage};
use crate::record::{
    Dialect,
    json::Json,
    stream::pieces::Server,
    values::{self, Unit},
};

/// Whether the value is an answer of llama.cpp.
pub(crate) fn is_llama_cpp(value: &Json<'_>) -> bool {
    Server::of(value) == Some(Server::LlamaCpp)
}

/// Reads an answer of llama.cpp.
pub(crate) fn read_llama_cpp(mut body: Json<'_>) -> Answer<'_> {
    let count = |key: &str| values::count(body.get(key)?).ok();
    let usage = Usage { prompt: count("tokens_evaluated"), response: count("tokens_predicted"), ..Usage::default() };
    let timings = body.take("timings").unwrap_or_default();
    let ms = |key: &str| timings.get(key).and_then(|took| values::duration_ms(took, Unit::Ms).ok());
    let (prompt_ms, predicted_ms) = (ms("prompt_ms"), ms("predicted_ms"));
    Answer {
        dialect: Some(Dialect::LlamaCpp),
        model: take_text(&mut body, "model"),
        finish_reason: take_text(&mut body, "stop_type"),
        text: take_text(&mut body, "content"),
        usage,
        latency_ms: prompt_ms.zip(predicted_ms).map(|(prompt, predicted)| prompt + predicted),
        ttft_ms: prompt_ms,
        ..Answer::default()
    }
}

/// Reads an answer of Text Generation Inference.
pub(crate) fn read_tgi(mut body: Json<'_>) -> Answer<'_> {
    let mut details = body.take("details").unwrap_or_default();
    let prefill = details.get("prefill").and_then(Json::as_array).map(<[_]>::len).filter(|count| *count > 0);
    let input = details.get("input_length").and_then(|count| values::count(count).ok());
    let usage = Usage {
        prompt: input.or(prefill.map(|count| count as u64)),
        response: details.get("generated_tokens").and_then(|count| values::count(count).ok()),
        ..Usage::default()
    };
    Answer {
        dialect: Some(Dialect::Tgi),
        text: take_text(&mut body, "generated_text"),
        finish_reason: take_text(&mut details, "finish_reason"),
        usage,
        ..Answer::default()
    }
}
