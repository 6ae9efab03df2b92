//! MLflow traces, one JSON document each.
//!
//! Every attribute of a span is JSON in a string. CHAT_MODEL and LLM spans are calls of a model, TOOL spans of a tool;
//! other spans repeat their children, retrievers and embeddings hold no call. Times are nanoseconds as numbers, ids are
//! base64.
//!
//! **Source**: mlflow 3.17, trace schema version 3.

use std::borrow::Cow;

use super::{Call, Entries, Outcome, aside, attributes::Attributes, decoded, name_at, parent};
use crate::record::{
    Container,
    body::{message::take_name, message::take_text, usage::Usage},
    json::Json,
};

/// Reads a trace.
pub(super) fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let session = name_at(&value, &["info", "trace_metadata", "mlflow.trace.session"]);
    let trace = name_at(&value, &["info", "trace_id"]);
    let spans = match value.take("data").and_then(|mut data| data.take("spans")) {
        Some(Json::Array(spans)) => spans,
        _ => Vec::new(),
    };
    if spans.is_empty() {
        entries.aside(Container::MlFlow, "no span");
    }
    for one in spans {
        entries.push(span(one, trace.clone(), session.clone()));
    }
}

fn span<'a>(mut value: Json<'a>, trace: Option<Cow<'a, str>>, session: Option<Cow<'a, str>>) -> Outcome<'a> {
    let mut of = value.take("attributes").map(decoded).map(Attributes::of_object).unwrap_or_default();
    let kind = of.take(&["mlflow.spanType"]).map(decoded);
    let mut call = match kind.as_ref().and_then(Json::as_str).unwrap_or_default() {
        "CHAT_MODEL" | "LLM" => Call::llm(Container::MlFlow),
        "TOOL" => Call::tool(Container::MlFlow, take_name(&mut value, "name")),
        "RETRIEVER" | "RERANKER" => return Ok(aside(Container::MlFlow, "a retrieval")),
        "EMBEDDING" => return Ok(aside(Container::MlFlow, "an embedding")),
        _ => return Ok(parent(Container::MlFlow, "a span of a framework")),
    };
    call.times(value.take("start_time_unix_nano"), value.take("end_time_unix_nano"), None);
    call.record.session_id = session;
    let (inputs, outputs) =
        (of.take(&["mlflow.spanInputs"]).map(decoded), of.take(&["mlflow.spanOutputs"]).map(decoded));
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
    let id = take_name(&mut value, "span_id");
    call.record.id = call.record.id.take().or_else(|| id.clone());
    let parent_id = take_name(&mut value, "parent_span_id");
    call.span(trace, id, parent_id);
    Ok(call.finish())
}
