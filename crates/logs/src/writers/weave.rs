//! Weave calls.
//!
//! A call of a provider's SDK (`openai.chat.completions.create`), and of an operation of the kind `llm`, is one of a model,
//! one of the kind `tool` is one of a tool; others are functions that repeat the usage of what they call, and the root of a
//! trace without a call is what it was asked and answered. Values that Python could not write are its own notation
//! (`<openai.Omit object ...>`) and are not read.
//!
//! **Source**: Weave's `CallSchema`; an export of the service.

use super::Writer;
use crate::record::{
    Container, Format, Ignored,
    body::{self, message::take_name, message::take_text, usage::Usage},
    call::{Call, Outcome, decoded, name_at},
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
    let mut inputs = value.take("inputs").map(decoded).unwrap_or_default();
    let output = value.take("output").map(decoded);
    let is_provider = PROVIDER_OPS.iter().any(|known| name.to_ascii_lowercase().contains(known));
    let kind = value.pointer("/attributes/weave/kind").and_then(Json::as_str).unwrap_or_default();
    let is_embedding = name.contains("embed") || output.as_ref().and_then(body::no_call).is_some();
    let is_tool = kind == "tool" && !is_provider;
    let is_llm = is_provider || kind == "llm";
    let mut call = match is_tool {
        true => Call::tool(CONTAINER, Some(name.to_owned().into())),
        false => Call::llm(CONTAINER),
    };
    call.record.id = take_name(&mut value, "id");
    call.record.session_id = take_name(&mut value, "thread_id");
    let (trace_id, parent_id) = (take_name(&mut value, "trace_id"), take_name(&mut value, "parent_id"));
    let id = call.record.id.clone();
    call.span(trace_id, id, parent_id);
    call.times(value.take("started_at"), value.take("ended_at"), None);
    let mut summary = value.take("summary").unwrap_or_default();
    if let Some(weave) = summary.take("weave") {
        call.reported_latency(weave.get("latency_ms"), Unit::Ms);
    }
    let error = take_text(&mut value, "exception").filter(|error| !error.is_empty());
    if is_embedding {
        return Ok(call.without_call(Ignored::skipped(Format::of(CONTAINER), "an embedding"), Vec::new()));
    }
    if is_tool {
        call.args(Some(inputs));
        call.result(output);
        call.record.error = error;
        return Ok(call.finish());
    }
    if !is_llm {
        let parent = Ignored::parent(Format::of(CONTAINER), "a span of a framework");
        return Ok(call.outline(Some(inputs), output, parent));
    }
    drop_python_values(&mut inputs);
    call.requested = name_at(&inputs, &["model"]);
    call.ask(Some(inputs));
    call.answer(output);
    if let Some(Json::Object(usage)) = summary.take("usage")
        && let [(model, counts)] = usage.as_slice()
    {
        Usage::of(counts).fill(&mut call.record);
        call.served = call.served.take().or_else(|| Some(model.clone()));
    }
    call.record.error = call.record.error.take().or(error);
    Ok(call.finish())
}

fn drop_python_values(inputs: &mut Json<'_>) {
    if let Json::Object(entries) = inputs {
        let is_python =
            |value: &Json<'_>| value.as_str().is_some_and(|text| text.starts_with('<') && text.contains(" object"));
        entries.retain(|(_, value)| !is_python(value));
    }
}
