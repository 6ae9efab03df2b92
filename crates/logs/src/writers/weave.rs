//! Weave calls.
//!
//! A call of a provider's SDK (`openai.chat.completions.create`) is one of a model; others are functions that repeat
//! the usage of what they call. Values that Python could not write are its own notation
//! (`<openai.Omit object ...>`) and are not read.
//!
//! **Source**: weave 0.51, `CallSchema`.

use super::Writer;
use crate::record::{
    Container,
    body::{message::take_name, message::take_text, usage::Usage},
    call::{Call, Outcome, parent},
    json::Json,
    values::Unit,
};

const CONTAINER: Container = Container::named("weave");

/// Calls.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "calls",
    told_by: "`op_name`",
    marks: &["op_name"],
    matches: |_| true,
    read: |value, entries| entries.push(read(value)),
    joiner: None,
};

/// What the operations of providers are called, in part.
const PROVIDER_OPS: [&str; 11] = [
    "openai.",
    "anthropic.",
    "google.",
    "genai.",
    "mistral",
    "cohere.",
    "groq.",
    "litellm.",
    "bedrock",
    "chat.completions",
    "messages.create",
];

/// Reads one call.
fn read(mut value: Json<'_>) -> Outcome<'_> {
    let op = take_text(&mut value, "op_name").unwrap_or_default();
    let name = op.rsplit("/op/").next().unwrap_or_default();
    let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
    let mut inputs = value.take("inputs").unwrap_or_default();
    let is_provider = PROVIDER_OPS.iter().any(|known| name.to_ascii_lowercase().contains(known));
    if !is_provider || name.contains("embed") {
        return Ok(parent(CONTAINER, "a span of a framework"));
    }
    let mut call = Call::llm(CONTAINER);
    call.record.id = take_name(&mut value, "id");
    call.record.session_id = take_name(&mut value, "thread_id");
    call.times(value.take("started_at"), value.take("ended_at"), None);
    let mut summary = value.take("summary").unwrap_or_default();
    if let Some(weave) = summary.take("weave") {
        call.reported_latency(weave.get("latency_ms"), Unit::Ms);
    }
    drop_python_values(&mut inputs);
    call.ask(Some(inputs));
    call.answer(value.take("output"));
    if let Some(Json::Object(usage)) = summary.take("usage")
        && let [(model, counts)] = usage.as_slice()
    {
        Usage::of(counts).fill(&mut call.record);
        call.served = call.served.take().or_else(|| Some(model.clone()));
    }
    let error = take_text(&mut value, "exception").filter(|error| !error.is_empty());
    call.record.error = call.record.error.take().or(error);
    let (trace_id, parent_id) = (take_name(&mut value, "trace_id"), take_name(&mut value, "parent_id"));
    let id = call.record.id.clone();
    call.span(trace_id, id, parent_id);
    Ok(call.finish())
}

fn drop_python_values(inputs: &mut Json<'_>) {
    if let Json::Object(entries) = inputs {
        let is_python =
            |value: &Json<'_>| value.as_str().is_some_and(|text| text.starts_with('<') && text.contains(" object"));
        entries.retain(|(_, value)| !is_python(value));
    }
}
