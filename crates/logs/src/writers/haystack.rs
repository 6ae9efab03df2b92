//! Spans of Haystack's own tracing, where a tracer writes them as they are.
//!
//! - a component whose type ends in `Generator` is a call of a model, one that ends in `Retriever` or `Ranker` gives documents;
//!   embedders hold no call, all other components and pipelines repeat what is in them
//! - `replies` are texts, with `meta` beside them, or messages, with `meta` in them; the first is the answer
//!
//! **Source**: the classes of haystack-ai (`ChatMessage`, `LoggingTracer`) by name; not checked against a run.
//!
//! **Limits**: such spans have neither ids nor times, unless the tracer adds some.

use super::{Writer, native};
use crate::record::{
    Container, Format, Ignored, Note,
    body::{message::passages, message::take_text, usage::Usage},
    call::{Call, Entries, Outcome, decoded, name_at, parent},
    json::Json,
};

const CONTAINER: Container = Container::named("haystack");

/// Spans of Haystack.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "spans of Haystack",
    told_by: "`operation_name` (or `name`) that begins with `haystack.`, with `tags`",
    marks: &["tags"],
    matches: |value| {
        let is_named = |key: &&str| super::text(value, key).starts_with("haystack.");
        value.get("tags").is_some_and(|tags| tags.as_object().is_some())
            && ["operation_name", "name", "operation"].iter().any(is_named)
    },
    read: |value, entries: &mut Entries<'_>| entries.push(read(value)),
    joiner: None,
};

fn read(mut value: Json<'_>) -> Outcome<'_> {
    let mut tags = value.take("tags").unwrap_or_default();
    let kind = take_text(&mut tags, "haystack.component.type").unwrap_or_default();
    let mut input = tags.take("haystack.component.input").map(decoded).unwrap_or_default();
    let mut output = tags.take("haystack.component.output").map(decoded).unwrap_or_default();
    let skipped = |what| Ignored::skipped(Format::of(CONTAINER), what);
    let mut call = Call::llm(CONTAINER);
    native::lend(value, &mut call.record);
    if kind.ends_with("Embedder") {
        return Ok(call.without_call(skipped("an embedding"), Vec::new()));
    }
    if kind.ends_with("Retriever") || kind.ends_with("Ranker") {
        let documents = output.take("documents").map(passages).unwrap_or_default();
        return Ok(call.without_call(skipped("a retrieval"), documents));
    }
    if !kind.ends_with("Generator") {
        return Ok(parent(CONTAINER, "a span of a framework"));
    }
    let asked = ["messages", "prompt"].into_iter().find_map(|key| input.take(key));
    call.ask(asked.map(|asked| match asked {
        Json::Array(messages) => Json::Array(messages.into_iter().map(message).collect()),
        text => text,
    }));
    if let Some(system) = take_text(&mut input, "system_prompt") {
        call.record.system = call.record.system.take().or(Some(system));
    }
    let (replies, meta) = (list(output.take("replies")), list(output.take("meta")));
    if replies.len() > 1 {
        call.record.notes.add(Note::FurtherAnswers);
    }
    let mut meta = meta.into_iter().next();
    if let Some(reply) = replies.into_iter().next() {
        let mut reply = message(reply);
        meta = reply.take("meta").or(meta);
        call.answer(Some(reply));
    }
    if let Some(meta) = meta {
        call.served = name_at(&meta, &["model"]);
        call.record.finish_reason = call.record.finish_reason.take().or_else(|| name_at(&meta, &["finish_reason"]));
        if let Some(usage) = meta.get("usage") {
            Usage::of(usage).fill(&mut call.record);
        }
    }
    call.requested = name_at(&input, &["generation_kwargs", "model"]);
    Ok(call.finish())
}

fn list(value: Option<Json<'_>>) -> Vec<Json<'_>> {
    if let Some(Json::Array(items)) = value { items } else { Vec::new() }
}

/// A message by its usual names: older versions have `_role`, `_content` and `_meta`, and parts are told by their keys.
fn message(value: Json<'_>) -> Json<'_> {
    let Json::Object(mut entries) = value else { return value };
    for (key, value) in &mut entries {
        if let Some(plain) = key.strip_prefix('_') {
            *key = plain.to_owned().into();
        }
        if key == "content"
            && let Json::Array(parts) = value
        {
            parts.iter_mut().for_each(part);
        }
    }
    let calls: Vec<Json<'_>> = entries
        .iter_mut()
        .filter(|(key, _)| key == "content")
        .filter_map(|(_, content)| if let Json::Array(parts) = content { Some(parts) } else { None })
        .flat_map(|parts| parts.iter_mut().filter_map(|part| part.take("tool_call")))
        .map(|mut call| {
            let named = [("id", "id"), ("name", "tool_name"), ("arguments", "arguments")];
            Json::Object(named.into_iter().filter_map(|(to, from)| Some((to.into(), call.take(from)?))).collect())
        })
        .collect();
    if !calls.is_empty() {
        entries.push(("tool_calls".into(), Json::Array(calls)));
    }
    Json::Object(entries)
}

/// The result of a tool is an object of its own in a part.
fn part(part: &mut Json<'_>) {
    if let Some(mut result) = part.take("tool_call_result")
        && let Some(text) = take_text(&mut result, "result")
    {
        *part = Json::Object(vec![("text".into(), Json::String(text))]);
    }
}
