//! MLflow traces: documents of one trace, and rows of the data frame that `search_traces` gives.
//!
//! - a trace keeps its spans in `data.spans`, a row in `spans`, and all of the trace again in `trace`, as JSON in a string;
//!   they are read once. A row without spans is what its trace was asked and answered
//! - every attribute of a span is JSON in a string. CHAT_MODEL and LLM spans are calls of a model, TOOL spans of a tool;
//!   other spans repeat their children, and the root of a trace without a call is one; retrievers and embeddings hold none
//! - times are nanoseconds as numbers; ids are base64 in new traces (`span_id`), hexadecimal in old ones
//!   (`context.span_id`)
//!
//! **Source**: mlflow 2.14 to 3.17, `entities/span.py`, `entities/trace.py`, `tracing/utils/search.py`; trace schema
//! versions 2 and 3.

use std::borrow::Cow;

use super::{Writer, attributes::Attributes, has_any};
use crate::record::{
    Container, Format, Ignored,
    body::{
        message::{passages, take_name, take_text},
        unwrapped,
        usage::Usage,
    },
    call::{Call, Entries, Outcome, decoded, is_said, name_at},
    json::Json,
    values::Unit,
};

const CONTAINER: Container = Container::named("mlflow");

/// Traces, and rows of a data frame of them.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "traces; rows of `search_traces`",
    told_by: "`info` and `data.spans`; `trace_metadata` or `request_metadata` with `spans` or `trace`",
    marks: &["info", "trace_metadata", "request_metadata"],
    matches: |value| is_document(value) || is_row(value),
    read,
    joiner: None,
};

fn is_document(value: &Json<'_>) -> bool {
    value.get("info").is_some() && value.get("data").is_some_and(|data| data.get("spans").is_some())
}

fn is_row(value: &Json<'_>) -> bool {
    has_any(value, &["trace_metadata", "request_metadata"]) && has_any(value, &["spans", "trace"])
}

/// Reads a trace, or a row of one.
fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let mut whole = value.take("trace").map(decoded).filter(is_document).unwrap_or_default();
    let of_row = value.take("spans").map(decoded);
    let is_filled = |spans: &Json<'a>| spans.as_array().is_some_and(|spans| !spans.is_empty());
    if is_document(&value) {
        whole = value;
        value = Json::Null;
    }
    let info = whole.take("info").unwrap_or_default();
    let mut data = whole.take("data").unwrap_or_default();
    let about: Vec<Json<'a>> = [&info, &value]
        .into_iter()
        .flat_map(|place| ["trace_metadata", "request_metadata"].map(|key| place.get(key).cloned().map(decoded)))
        .flatten()
        .collect();
    let session = about.iter().find_map(|about| name_at(about, &["mlflow.trace.session"]));
    let trace =
        ["trace_id", "request_id"].iter().find_map(|key| name_at(&info, &[key]).or_else(|| name_at(&value, &[key])));
    let spans = of_row.filter(is_filled).or_else(|| data.take("spans").map(decoded).filter(is_filled));
    if let Some(Json::Array(spans)) = spans {
        for one in spans.into_iter().filter(|one| one.as_object().is_some()) {
            entries.push(span(one, trace.clone(), session.clone()));
        }
        return;
    }
    let mut call = Call::llm(CONTAINER);
    call.record.id.clone_from(&trace);
    call.record.session_id = session;
    let start = ["request_time", "timestamp_ms"];
    call.times(start.iter().find_map(|key| value.take(key).or_else(|| info.get(key).cloned())), None, None);
    for key in ["execution_duration", "execution_duration_ms", "execution_time_ms"] {
        call.reported_latency(value.get(key).or_else(|| info.get(key)), Unit::Ms);
    }
    call.span(trace.clone(), trace, None);
    let [request, response] =
        ["request", "response"].map(|key| value.take(key).or_else(|| data.take(key)).map(decoded));
    entries.push(Ok(call.outline(request, response, Ignored::skipped(Format::of(CONTAINER), "no span"))));
}

fn span<'a>(mut value: Json<'a>, trace: Option<Cow<'a, str>>, session: Option<Cow<'a, str>>) -> Outcome<'a> {
    let mut of = value.take("attributes").map(decoded).map(Attributes::of_object).unwrap_or_default();
    let kind = of.take(&["mlflow.spanType"]).map(decoded);
    let kind = kind.or_else(|| value.take("span_type")).unwrap_or_default();
    let kind = kind.as_str().unwrap_or_default();
    let mut call = match kind {
        "TOOL" => Call::tool(CONTAINER, name_at(&value, &["name"])),
        _ => Call::llm(CONTAINER),
    };
    let mut either = |new: &str, old: &str| value.take(new).or_else(|| value.take(old)).filter(is_said);
    let (start, end) = (either("start_time_unix_nano", "start_time"), either("end_time_unix_nano", "end_time"));
    call.times(start, end, None);
    call.record.session_id = session;
    let mut context = value.take("context").unwrap_or_default();
    let id = take_name(&mut value, "span_id").or_else(|| take_name(&mut context, "span_id"));
    let parent_id = take_name(&mut value, "parent_span_id").or_else(|| take_name(&mut value, "parent_id"));
    call.span(trace.or_else(|| take_name(&mut context, "trace_id")), id.clone(), parent_id);
    let (inputs, outputs) =
        (of.take(&["mlflow.spanInputs"]).map(decoded), of.take(&["mlflow.spanOutputs"]).map(decoded));
    let ignored = match kind {
        "CHAT_MODEL" | "LLM" | "TOOL" => None,
        "RETRIEVER" | "RERANKER" => Some(Ignored::skipped(Format::of(CONTAINER), "a retrieval")),
        "EMBEDDING" => Some(Ignored::skipped(Format::of(CONTAINER), "an embedding")),
        _ => Some(Ignored::parent(Format::of(CONTAINER), "a span of a framework")),
    };
    if let Some(ignored) = ignored {
        return Ok(match kind {
            "RETRIEVER" | "RERANKER" => {
                call.without_call(ignored, outputs.map(unwrapped).map(passages).unwrap_or_default())
            }
            "EMBEDDING" => call.without_call(ignored, Vec::new()),
            _ => call.outline(inputs, outputs, ignored),
        });
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
    let mut status = value.take("status").unwrap_or_default();
    let code = take_text(&mut status, "code").or_else(|| take_text(&mut value, "status_code"));
    if code.is_some_and(|code| code.ends_with("ERROR")) {
        let message = take_text(&mut status, "message").or_else(|| take_text(&mut value, "status_message"));
        let message = message.filter(|message| !message.is_empty()).or_else(|| exception(&value));
        call.record.error = Some(message.unwrap_or("the span has the status of an error".into()));
    }
    call.record.id = call.record.id.take().or(id);
    Ok(call.finish())
}

/// The message of the exception that a span noted.
fn exception<'a>(span: &Json<'a>) -> Option<Cow<'a, str>> {
    let events = span.get("events")?.as_array()?;
    events.iter().find_map(|event| {
        let about = event.get("attributes")?;
        let message = decoded(about.get("exception.message")?.clone());
        if let Json::String(message) = message { Some(message) } else { None }
    })
}
