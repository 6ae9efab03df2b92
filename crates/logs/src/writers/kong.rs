//! Kong's AI gateway: lines of its log plugins.
//!
//! - each plugin below `ai` that called a model is a call: `meta` (provider, models, `llm_latency` in milliseconds), `usage`,
//!   and `payload` where payloads are logged; old lines have the three below `ai` itself
//! - the request and the response beside them are those of HTTP, and say only how it ended
//! - embeddings hold no call
//!
//! **Source**: Kong's reference of AI audit logs; not checked against a log of a gateway.

use super::{Writer, has_any};
use crate::record::{
    Container,
    body::{
        self,
        message::{take_name, take_text},
        usage::Usage,
    },
    call::{Call, Entries, count, decoded, is_said},
    json::Json,
    values::{self, Unit},
};

const CONTAINER: Container = Container::named("kong");

/// Lines of Kong's AI gateway.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "lines of the AI gateway of Kong",
    told_by: "`ai` with `meta`, `usage` or `payload` of a plugin, beside `latencies`, `started_at` or `upstream_uri`",
    marks: &["ai"],
    matches: |value| {
        has_any(value, &["latencies", "started_at", "upstream_uri", "tries"])
            && value.get("ai").is_some_and(|ai| {
                is_plugin(ai) || ai.as_object().unwrap_or_default().iter().any(|(_, plugin)| is_plugin(plugin))
            })
    },
    read,
    joiner: None,
};

/// Whether a plugin has called a model.
fn is_plugin(value: &Json<'_>) -> bool {
    let is_object = |key: &str| value.get(key).is_some_and(|part| part.as_object().is_some());
    is_object("payload")
        || (is_object("usage") && is_object("meta"))
        || value.get("meta").is_some_and(|meta| has_any(meta, &["request_model", "provider_name"]))
}

fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let Some(mut ai) = value.take("ai") else { return };
    if is_plugin(&ai) {
        return call_of(&mut ai, &value, entries);
    }
    let Json::Object(plugins) = ai else { return };
    for (_, mut plugin) in plugins.into_iter().filter(|(_, plugin)| is_plugin(plugin)) {
        call_of(&mut plugin, &value, entries);
    }
}

/// The call of one plugin.
fn call_of<'a>(plugin: &mut Json<'a>, line: &Json<'a>, entries: &mut Entries<'a>) {
    let mut part = |key: &str| plugin.take(key).unwrap_or_default();
    let (mut meta, usage, mut payload) = (part("meta"), part("usage"), part("payload"));
    let [request, response] = ["request", "response"].map(|key| payload.take(key).filter(is_said).map(decoded));
    let uri = line.pointer("/request/uri").and_then(Json::as_str).unwrap_or_default();
    let noun = response.as_ref().and_then(body::no_call);
    if let Some(noun) = noun.or_else(|| uri.ends_with("/embeddings").then_some("an embedding")) {
        return entries.skipped(CONTAINER, noun);
    }
    let mut call = Call::llm(CONTAINER);
    call.times(line.get("started_at").cloned(), None, None);
    call.reported_latency(meta.get("llm_latency"), Unit::Ms);
    call.reported_latency(line.pointer("/latencies/proxy"), Unit::Ms);
    call.reported_ttft(usage.get("time_to_first_token"), Unit::Ms);
    call.record.provider = take_text(&mut meta, "provider_name");
    call.requested = take_text(&mut meta, "request_model").filter(|name| !name.is_empty());
    call.served = take_text(&mut meta, "response_model").filter(|name| !name.is_empty());
    call.ask(request);
    call.answer(response);
    let status = line.pointer("/response/status").and_then(|status| values::count(status).ok());
    if let Some(status) = status.filter(|status| *status >= 400) {
        let failed = || format!("the response has the status {status}").into();
        call.record.error = call.record.error.take().or_else(|| Some(failed()));
    } else {
        Usage::of(&usage).fill(&mut call.record);
        call.tokens(usage.get("prompt_token"), usage.get("completion_token"));
        call.record.prompt_tokens = call.record.prompt_tokens.or_else(|| count(usage.get("prompt_tokens")));
    }
    let id = line.get("request").cloned().and_then(|mut request| take_name(&mut request, "id"));
    call.record.id = call.record.id.take().or(id);
    entries.push(Ok(call.finish()));
}
