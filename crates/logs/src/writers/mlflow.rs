//! MLflow traces, one JSON document each.
//!
//! Every attribute of a span is JSON in a string. CHAT_MODEL and LLM spans are calls of a model, TOOL spans of a tool;
//! other spans repeat their children, retrievers and embeddings hold no call. Times are nanoseconds as numbers, ids are
//! base64.
//!
//! **Source**: mlflow 3.17, trace schema version 3.

use std::borrow::Cow;

use super::{Writer, attributes::Attributes};
use crate::record::{
    Container, Format, Ignored,
    body::{
        message::{passages, take_name, take_text},
        usage::Usage,
    },
    call::{Call, Entries, Outcome, decoded, name_at},
    json::Json,
};

const CONTAINER: Container = Container::named("mlflow");

/// Traces.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "traces",
    told_by: "`info` and `data.spans`",
    marks: &["info"],
    matches: |value| value.get("data").is_some_and(|data| data.get("spans").is_some()),
    read,
    joiner: None,
};

/// Reads a trace.
fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let session = name_at(&value, &["info", "trace_metadata", "mlflow.trace.session"]);
    let trace = name_at(&value, &["info", "trace_id"]);
    let spans = match value.take("data").and_then(|mut data| data.take("spans")) {
        Some(Json::Array(spans)) => spans,
        _ => Vec::new(),
    };
    if spans.is_empty() {
        entries.skipped(CONTAINER, "no span");
    }
    for one in spans {
        entries.push(span(one, trace.clone(), session.clone()));
    }
}

fn span<'a>(mut value: Json<'a>, trace: Option<Cow<'a, str>>, session: Option<Cow<'a, str>>) -> Outcome<'a> {
    let mut of = value.take("attributes").map(decoded).map(Attributes::of_object).unwrap_or_default();
    let kind = of.take(&["mlflow.spanType"]).map(decoded);
    let kind = kind.as_ref().and_then(Json::as_str).unwrap_or_default();
    let mut call = match kind {
        "TOOL" => Call::tool(CONTAINER, take_name(&mut value, "name")),
        _ => Call::llm(CONTAINER),
    };
    call.times(value.take("start_time_unix_nano"), value.take("end_time_unix_nano"), None);
    call.record.session_id = session;
    let (id, parent_id) = (take_name(&mut value, "span_id"), take_name(&mut value, "parent_span_id"));
    call.span(trace, id.clone(), parent_id);
    let (inputs, outputs) =
        (of.take(&["mlflow.spanInputs"]).map(decoded), of.take(&["mlflow.spanOutputs"]).map(decoded));
    let ignored = match kind {
        "CHAT_MODEL" | "LLM" | "TOOL" => None,
        "RETRIEVER" | "RERANKER" => Some(Ignored::skipped(Format::of(CONTAINER), "a retrieval")),
        "EMBEDDING" => Some(Ignored::skipped(Format::of(CONTAINER), "an embedding")),
        _ => Some(Ignored::parent(Format::of(CONTAINER), "a span of a framework")),
    };
    if let Some(ignored) = ignored {
        let is_retrieval = kind == "RETRIEVER" || kind == "RERANKER";
        return Ok(call.without_call(ignored, outputs.filter(|_| is_retrieval).map(passages).unwrap_or_default()));
    }
    if call.record.tool.is_some() {
        call.args(inputs);
        call.result(outputs);
    } else {
        call.ask(inputs);
        call.answer(outputs);
        let mut name = |key: &str| {
            of.take(&[key]).map(decoded).and_then(|held| if let Json::String(name) = held { Some(name) } else { None })
        };
        call.requested = name("model").or(call.requested.take());
        call.served = name("mlflow.llm.model").or(call.served.take());
        call.record.provider = name("mlflow.llm.provider");
        if let Some(usage) = of.take(&["mlflow.chat.tokenUsage"]).map(decoded) {
            Usage::of(&usage).fill(&mut call.record);
        }
        call.record.tools = call.record.tools.take().or_else(|| of.take(&["mlflow.chat.tools"]).map(decoded));
    }
    if let Some(mut status) = value.take("status")
        && status.get("code").and_then(Json::as_str).is_some_and(|code| code.ends_with("ERROR"))
    {
        let message = take_text(&mut status, "message").filter(|message| !message.is_empty());
        call.record.error = Some(message.unwrap_or("the span has the status of an error".into()));
    }
    call.record.id = call.record.id.take().or(id);
    Ok(call.finish())
}
