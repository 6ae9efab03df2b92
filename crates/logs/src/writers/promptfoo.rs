//! promptfoo results: a JSON document of all rows, or one row a line.
//!
//! - prompt: `prompt.raw`, a text or a list of messages in JSON; context: the texts among `vars` whose names say so
//! - latency: `latencyMs`, not of rows that came from a cache
//! - provider and model: `provider.id` as it was asked for, `openai:chat:gpt-4o`; the model that answered is not told. Ids
//!   of scripts and services of one's own are models as they stand
//! - an error is one of the call (`failureReason` 2), not a failed assertion
//!
//! **Source**: promptfoo 0.121, `EvaluateResult`.

use std::borrow::Cow;

use super::{Writer, has_all};
use crate::record::{
    Container,
    body::message::{passage, take_name, take_text},
    body::usage::Usage,
    call::{Call, Entries, Outcome, decoded},
    json::Json,
    values::Unit,
};

const CONTAINER: Container = Container::named("promptfoo");

/// Results, whole or one row a line.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "results, whole or one row a line",
    told_by: "`evalId` and `results`; `promptIdx` and `testIdx`",
    marks: &["evalId", "promptIdx"],
    matches: |value| has_all(value, &["evalId", "results"]) || has_all(value, &["promptIdx", "testIdx"]),
    read,
    joiner: None,
};

/// Names of variables that hold documents.
const CONTEXT_NAMES: [&str; 6] = ["context", "contexts", "documents", "docs", "sources", "passages"];

/// Reads a document, or a row.
fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let rows = match value.get("evalId").is_some().then(|| value.take("results")).flatten() {
        Some(Json::Array(rows)) => rows,
        Some(mut results) => match results.take("results") {
            Some(Json::Array(rows)) => rows,
            _ => Vec::new(),
        },
        None => return entries.push(row(value)),
    };
    if rows.is_empty() {
        entries.skipped(CONTAINER, "no row");
    }
    rows.into_iter().for_each(|one| entries.push(row(one)));
}

/// What comes before the model in the id of a provider: the service, and how it is called.
const SERVICES: [&str; 24] = [
    "ai21",
    "anthropic",
    "azure",
    "azureopenai",
    "bedrock",
    "cerebras",
    "cloudflare-ai",
    "cohere",
    "databricks",
    "deepseek",
    "fireworks",
    "github",
    "google",
    "groq",
    "huggingface",
    "litellm",
    "localai",
    "mistral",
    "ollama",
    "openai",
    "openrouter",
    "togetherai",
    "vertex",
    "xai",
];
const WAYS: [&str; 10] = [
    "assistant",
    "chat",
    "completion",
    "converse",
    "embedding",
    "embeddings",
    "messages",
    "realtime",
    "responses",
    "text-generation",
];

/// `openai:chat:gpt-4o` → `openai`, `gpt-4o`.
fn provider_and_model(id: Cow<'_, str>) -> (Option<Cow<'_, str>>, Option<Cow<'_, str>>) {
    let Some((service, rest)) = id.split_once(':').filter(|(service, _)| SERVICES.contains(service)) else {
        return (None, Some(id));
    };
    let model = match rest.split_once(':') {
        Some((way, model)) if WAYS.contains(&way) => model,
        _ => rest,
    };
    if model.is_empty() || WAYS.contains(&model) {
        return (Some(service.to_owned().into()), Some(id));
    }
    let (service, model) = (service.to_owned(), model.to_owned());
    (Some(service.into()), Some(model.into()))
}

fn row(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(CONTAINER);
    call.record.id = take_name(&mut value, "id");
    let id = match value.take("provider") {
        Some(Json::String(id)) => Some(id),
        Some(mut provider) => take_name(&mut provider, "id"),
        None => None,
    };
    (call.record.provider, call.requested) = id.map_or((None, None), provider_and_model);
    let mut response = value.take("response").unwrap_or_default();
    let prompt = match value.take("prompt") {
        Some(mut prompt @ Json::Object(_)) => prompt.take("raw"),
        other => other,
    };
    call.ask(prompt.map(decoded));
    call.answer(response.take("output"));
    let usage = response.take("tokenUsage").or_else(|| value.take("tokenUsage"));
    if call.record.response.is_some()
        && let Some(usage) = usage
    {
        Usage::of(&usage).fill(&mut call.record);
    }
    let is_cached = response.get("cached").and_then(Json::as_bool) == Some(true);
    if !is_cached {
        call.reported_latency(value.get("latencyMs"), Unit::Ms);
    }
    call.record.finish_reason = take_text(&mut response, "finishReason").or(call.record.finish_reason.take());
    if let Some(Json::Object(vars)) = value.take("vars") {
        let documents = vars.into_iter().filter(|(name, _)| CONTEXT_NAMES.contains(&name.as_ref()));
        let documents = documents.flat_map(|(_, held)| if let Json::Array(items) = held { items } else { vec![held] });
        call.record.context.extend(documents.filter_map(passage));
    }
    let is_call_error = value.get("failureReason").and_then(Json::as_f64).is_none_or(|reason| reason == 2.0);
    let error = take_text(&mut response, "error").or_else(|| take_text(&mut value, "error").filter(|_| is_call_error));
    call.record.error = call.record.error.take().or(error.filter(|error| !error.is_empty()));
    Ok(call.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_providers_are_taken_apart() {
        for (id, provider, model) in [
            ("openai:chat:gpt-4o", Some("openai"), "gpt-4o"),
            ("openai:gpt-4o-mini", Some("openai"), "gpt-4o-mini"),
            ("openai:chat:ft:gpt-4o:me::1", Some("openai"), "ft:gpt-4o:me::1"),
            ("anthropic:messages:claude-3-5-sonnet-20241022", Some("anthropic"), "claude-3-5-sonnet-20241022"),
            (
                "bedrock:us.anthropic.claude-3-haiku-20240307-v1:0",
                Some("bedrock"),
                "us.anthropic.claude-3-haiku-20240307-v1:0",
            ),
            ("ollama:chat:llama3:8b", Some("ollama"), "llama3:8b"),
            ("openai:chat", Some("openai"), "openai:chat"),
            ("file://provider.js", None, "file://provider.js"),
            ("python:provider.py", None, "python:provider.py"),
            ("gpt-4o", None, "gpt-4o"),
        ] {
            let (service, name) = provider_and_model(id.into());
            assert_eq!((service.as_deref(), name.as_deref()), (provider, Some(model)), "{id}");
        }
    }
}
