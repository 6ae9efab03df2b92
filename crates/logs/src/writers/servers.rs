//! Logs of inference servers: the results of `vllm bench serve`, and SGLang's request log.
//!
//! - vLLM: one document of parallel arrays, one element per request; `ttfts` and `latencies` are in seconds, and are 0
//!   for requests that failed
//! - SGLang: `request.finished` has the whole call (`e2e_latency` in seconds, `timestamp` at its end); `request.received`
//!   repeats its beginning
//!
//! **Source**: vllm `benchmarks/serve.py`, sglang 0.5 `request_logger.py`.
//!
//! **Limits**: vLLM's own request log is text in Python's notation, and is not read.

use super::{Writer, has_all};
use crate::record::{
    Container, LatencySource,
    body::message::{take_name, take_text},
    call::{Call, Entries, Outcome, count, parent},
    json::Json,
    values::{self, Unit},
};

const VLLM_BENCH: Container = Container::named("vllm");
const SGLANG_LOG: Container = Container::named("sglang");

/// Results of `vllm bench serve`.
pub(super) const VLLM: Writer = Writer {
    container: VLLM_BENCH,
    about: "results of `vllm bench serve`",
    told_by: "`generated_texts`",
    marks: &["generated_texts"],
    matches: |_| true,
    read: read_vllm,
    joiner: None,
};

/// Request logs of SGLang.
pub(super) const SGLANG: Writer = Writer {
    container: SGLANG_LOG,
    about: "request log",
    told_by: "`event` and `rid`",
    marks: &["rid"],
    matches: |value| has_all(value, &["event", "rid"]),
    read: |value, entries| entries.push(read_sglang(value)),
    joiner: None,
};

/// Reads the results of a benchmark.
fn read_vllm<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let model = take_text(&mut value, "model_id");
    let mut column = |key: &str| match value.take(key) {
        Some(Json::Array(items)) => items,
        _ => Vec::new(),
    };
    let (texts, errors) = (column("generated_texts"), column("errors"));
    let (latencies, ttfts) = (column("latencies"), column("ttfts"));
    let (inputs, outputs) = (column("input_lens"), column("output_lens"));
    if texts.is_empty() {
        entries.skipped(VLLM_BENCH, "totals of a benchmark");
    }
    for (index, text) in texts.into_iter().enumerate() {
        let mut call = Call::llm(VLLM_BENCH);
        call.requested = model.clone();
        let error = errors.get(index).and_then(Json::as_str).filter(|error| !error.is_empty());
        call.record.error = error.map(|error| error.to_owned().into());
        call.tokens(inputs.get(index), outputs.get(index));
        if call.record.error.is_none() {
            call.answer(Some(text));
            call.reported_latency(latencies.get(index), Unit::S);
            call.reported_ttft(ttfts.get(index), Unit::S);
        }
        entries.push(Ok(call.finish()));
    }
}

/// Reads a line of SGLang's request log.
fn read_sglang(mut value: Json<'_>) -> Outcome<'_> {
    if value.get("event").and_then(Json::as_str) == Some("request.received") {
        return Ok(parent(SGLANG_LOG, "the beginning of a request"));
    }
    let mut call = Call::llm(SGLANG_LOG);
    call.record.id = take_name(&mut value, "rid");
    let mut object = value.take("obj").unwrap_or_default();
    call.ask(object.take("text").or_else(|| object.take("messages")));
    let mut out = value.take("out").unwrap_or_default();
    let mut about = out.take("meta_info").unwrap_or_default();
    call.answer(out.take("text"));
    call.record.finish_reason = match about.take("finish_reason") {
        Some(Json::String(reason)) => Some(reason),
        Some(mut reason) => take_text(&mut reason, "type"),
        None => None,
    };
    call.tokens(about.get("prompt_tokens"), about.get("completion_tokens"));
    call.record.cached_tokens = count(about.get("cached_tokens"));
    call.reported_latency(about.get("e2e_latency"), Unit::S);
    // The line is written when the answer is complete.
    let end = value.get("timestamp").and_then(|at| values::timestamp_ms(at, None).ok());
    let took = call.record.latency_ms.filter(|_| call.record.latency_source == Some(LatencySource::Reported));
    call.record.timestamp_ms = end.map(|end| end.saturating_sub(took.unwrap_or_default() as i64));
    Ok(call.finish())
}
