//! Langfuse: the batches in which its clients send events, observations in camelCase (UI, API) and in snake_case (blob
//! export), and downloaded traces.
//!
//! - a batch `{"batch": [{"type": "generation-create", "body": {...}}, ...]}` tells of an observation when it begins
//!   (`-create`) and as it goes on (`-update`), in the same batch or in others; the parts are merged by the id of the body.
//!   So are events on lines of their own, as the event store keeps them
//! - GENERATION is a call of a model, TOOL a call of a tool; CHAIN, AGENT and SPAN repeat their children; the others
//!   hold no call. A span that gives documents is a retrieval
//! - a trace with texts is a call where none of its observations is one, or none is in the log
//! - latency: `endTime` - `startTime`. `latency` is in milliseconds in one place and in seconds in another of the same
//!   file, and is not read
//! - time to the first token: `completionStartTime` - `startTime`
//! - session: that of the trace, else `metadata.attributes["session.id"]`
//! - input and output are bodies of any dialect, also as JSON in a string
//! - an observation of the level ERROR ended with `statusMessage`
//! - counts in another unit than tokens (`usage.unit`) are none
//!
//! **Source**: langfuse 2.0 to 3.x, `packages/shared/src/server/ingestion/types.ts`; the `observations` API and the blob
//! export; traces as the UI downloads them.

use std::borrow::Cow;

use super::{Writer, text};
use crate::{
    assemble::merges::{Merges, Parts},
    hash,
    record::{
        Container, Entry, Format, Fragment, Ignored,
        body::{
            message::{is_documents, passages, take_name, take_text},
            usage::Usage,
        },
        call::{Call, Entries, Outcome, decoded, is_said, name_at},
        json::Json,
        values::Unit,
    },
};

const CONTAINER: Container = Container::named("langfuse");

/// Batches of events, observations (UI, API), blob export, trace download.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "batches of events; observations (UI, API), blob export, trace download",
    told_by: "`batch` of events with a `type` and a `body`; `traceId` with an observation `type`; `trace_id` with \
              `provided_model_name`; `observations`; `bookmarked`",
    marks: &["traceId", "trace_id", "observations", "batch", "body", "bookmarked"],
    matches,
    read,
    joiner: Some(|limits| Box::new(Merges::new(PARTS, limits))),
};

/// An observation is told in parts: its beginning in one event, its end in another.
const PARTS: Parts = Parts {
    key: id_of,
    has_ended: |one| ["endTime", "end_time"].iter().any(|key| one.get(key).is_some_and(is_said)),
    read: |value, entries| entries.push(if is_trace(&value) { trace(value) } else { observation_of(value, None) }),
};

/// Types of observations.
const TYPES: [&str; 12] = [
    "GENERATION",
    "SPAN",
    "EVENT",
    "AGENT",
    "TOOL",
    "CHAIN",
    "RETRIEVER",
    "EVALUATOR",
    "EMBEDDING",
    "GUARDRAIL",
    "TRACE",
    "DEFAULT",
];

fn matches(value: &Json<'_>) -> bool {
    is_observation(value)
        || value.get("observations").is_some_and(|list| list.as_array().is_some())
        || (value.get("bookmarked").is_some() && value.get("input").is_some() && value.get("output").is_some())
        || is_event(value)
        || value.get("batch").and_then(Json::as_array).is_some_and(|events| events.iter().any(is_event))
}

fn is_observation(value: &Json<'_>) -> bool {
    let is_typed = || TYPES.contains(&text(value, "type"));
    (value.get("traceId").is_some() && is_typed())
        || (value.get("trace_id").is_some() && (value.get("provided_model_name").is_some() || is_typed()))
}

/// Whether a value is an event that a client sends.
fn is_event(value: &Json<'_>) -> bool {
    let kind = text(value, "type");
    let is_kind = kind.ends_with("-create") || kind.ends_with("-update") || kind == "sdk-log";
    is_kind && value.get("body").is_some_and(|body| body.as_object().is_some())
}

fn is_trace(value: &Json<'_>) -> bool {
    text(value, "type") == "TRACE"
}

/// The hash of the id of an observation, or of a trace.
fn id_of(value: &Json<'_>) -> Option<u64> {
    let id = hash::name(&name_at(value, &["id"])?);
    Some(if is_trace(value) { hash::combine(id, id) } else { id })
}

/// Reads a batch of events, an event, an observation, or a trace with its observations.
fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    if is_event(&value) {
        return event(value, entries);
    }
    if let Some(Json::Array(events)) = value.take("batch") {
        return events.into_iter().for_each(|one| event(one, entries));
    }
    let is_typed = TYPES.contains(&text(&value, "type"));
    if value.get("observations").is_none() && is_typed && !is_trace(&value) {
        return entries.push(observation_of(value, None));
    }
    let observations = value.take("observations");
    let whole = value.take("trace").unwrap_or(value);
    let session = name_at(&whole, &["sessionId"]).or_else(|| name_at(&whole, &["session_id"]));
    entries.push(trace(whole));
    // Lists of traces name their observations only.
    let Some(Json::Array(observations)) = observations else { return };
    for observation in observations.into_iter().filter(|one| one.as_object().is_some()) {
        entries.push(observation_of(observation, session.clone()));
    }
}

/// An event as a part of what it tells of.
fn event<'a>(mut event: Json<'a>, entries: &mut Entries<'a>) {
    let name = take_text(&mut event, "type").unwrap_or_default();
    let kind = name.rsplit_once('-').map_or("", |(kind, _)| kind);
    match kind {
        "score" => return entries.skipped(CONTAINER, "a score"),
        "sdk" => return entries.skipped(CONTAINER, "a notice of the client"),
        "dataset-run-item" => return entries.skipped(CONTAINER, "an item of a run"),
        _ => {}
    }
    let (at, body) = (event.take("timestamp"), event.take("body"));
    let Some(Json::Object(mut body)) = body else { return entries.skipped(CONTAINER, "an event without a body") };
    let has =
        |body: &[(Cow<'a, str>, Json<'a>)], key: &str| body.iter().any(|(name, value)| name == key && is_said(value));
    if kind != "observation" || !has(&body, "type") {
        body.retain(|(key, _)| key != "type");
        let kind = if kind == "observation" { "SPAN".to_owned() } else { kind.to_ascii_uppercase() };
        body.push(("type".into(), Json::String(kind.into())));
    }
    // The model that answered takes the place of the one that was asked for.
    if name.ends_with("-update")
        && let Some((key, _)) = body.iter_mut().find(|(key, _)| key == "model")
    {
        *key = "servedModel".into();
    }
    // Clients may leave the time of an observation to the event.
    if let Some(at) = at.filter(|_| name.ends_with("-create") && kind != "trace" && !has(&body, "startTime")) {
        body.push(("startTime".into(), at));
    }
    entries.push(Ok(Entry::Fragment(Fragment::of_value(Format::of(CONTAINER), Json::Object(body)))));
}

/// What a whole trace was asked and answered.
fn trace(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(CONTAINER);
    call.record.id = take_name(&mut value, "id");
    call.record.session_id = take_name(&mut value, "sessionId").or_else(|| take_name(&mut value, "session_id"));
    call.times(value.take("timestamp"), None, None);
    let id = call.record.id.clone();
    call.span(id.clone(), id, None);
    let [input, output] = ["input", "output"].map(|key| value.take(key).map(decoded).filter(is_said));
    Ok(call.outline(input, output, Ignored::parent(Format::of(CONTAINER), "a trace")))
}

fn observation_of<'a>(mut value: Json<'a>, session: Option<Cow<'a, str>>) -> Outcome<'a> {
    let kind = take_text(&mut value, "type").unwrap_or_default().to_ascii_uppercase();
    let is_tool = kind == "TOOL";
    let mut call = if is_tool { Call::tool(CONTAINER, None) } else { Call::llm(CONTAINER) };
    let mut either = |camel: &str, snake: &str| value.take(camel).or_else(|| value.take(snake)).filter(is_said);
    let (start, end) = (either("startTime", "start_time"), either("endTime", "end_time"));
    let first_token = either("completionStartTime", "completion_start_time");
    let (input, output) = (value.take("input").map(decoded), value.take("output").map(decoded));
    let mut metadata = value.take("metadata").map(decoded).unwrap_or_default();
    let mut attributes = metadata.take("attributes").map(decoded).unwrap_or_default();
    call.times(start, end, first_token);
    call.reported_ttft(value.get("timeToFirstToken").or_else(|| value.get("time_to_first_token")), Unit::S);
    call.record.id = take_name(&mut value, "id");
    let own_session = take_name(&mut value, "sessionId").or_else(|| take_name(&mut value, "session_id"));
    call.record.session_id = own_session.or(session).or_else(|| take_name(&mut attributes, "session.id"));
    let mut name = |camel: &str, snake: &str| take_name(&mut value, camel).or_else(|| take_name(&mut value, snake));
    let (trace_id, parent_id) = (name("traceId", "trace_id"), name("parentObservationId", "parent_observation_id"));
    let id = call.record.id.clone();
    call.span(trace_id, id, parent_id);
    let skipped = |what| Ignored::skipped(Format::of(CONTAINER), what);
    let ignored = match kind.as_str() {
        "GENERATION" | "TOOL" => None,
        "CHAIN" | "AGENT" | "SPAN" | "TRACE" | "DEFAULT" | "" => {
            Some(Ignored::parent(Format::of(CONTAINER), "a span of a framework"))
        }
        "RETRIEVER" => Some(skipped("a retrieval")),
        "EMBEDDING" => Some(skipped("an embedding")),
        "EVENT" => Some(skipped("an event")),
        _ => Some(skipped("an observation without a call")),
    };
    if let Some(ignored) = ignored {
        // Older clients have no type for a retrieval.
        let is_retrieval = kind == "RETRIEVER" || output.as_ref().is_some_and(is_documents);
        let ignored = if is_retrieval { skipped("a retrieval") } else { ignored };
        if !is_retrieval && ignored.is_parent {
            return Ok(call.outline(input, output, ignored));
        }
        let documents = output.filter(|_| is_retrieval).map(passages).unwrap_or_default();
        return Ok(call.without_call(ignored, documents));
    }
    if is_tool {
        call.record.tool = take_name(&mut attributes, "gen_ai.tool.name")
            .or_else(|| take_name(&mut attributes, "tool.name"))
            .or_else(|| name("name", "name"));
        call.record.call_id = take_name(&mut attributes, "gen_ai.tool.call.id");
        read_tool(&mut call, input, output, &mut attributes);
    } else {
        call.requested = name("model", "provided_model_name");
        call.served = name("servedModel", "servedModel");
        call.ask(input);
        call.answer(output);
        call.record.provider = take_name(&mut attributes, "gen_ai.provider.name")
            .or_else(|| take_name(&mut attributes, "llm.provider"))
            .or_else(|| take_name(&mut attributes, "gen_ai.system"))
            .or_else(|| take_name(&mut attributes, "llm.system"));
        let parameters = value.take("modelParameters").or_else(|| value.take("model_parameters")).map(decoded);
        let tools = parameters.and_then(|mut parameters| parameters.take("tools")).map(decoded);
        call.record.tools = call.record.tools.take().or(tools);
        let counts =
            ["usageDetails", "usage_details", "usage"].into_iter().filter_map(|key| value.take(key).map(decoded));
        for usage in counts.filter(|usage| matches!(text(usage, "unit"), "" | "TOKENS")) {
            Usage::of(&usage).fill(&mut call.record);
        }
        call.tokens(value.get("promptTokens"), value.get("completionTokens"));
        call.tokens(value.get("inputUsage"), value.get("outputUsage"));
    }
    let level = take_text(&mut value, "level");
    if level.is_some_and(|level| level == "ERROR") {
        let message = take_text(&mut value, "statusMessage").or_else(|| take_text(&mut value, "status_message"));
        call.record.error = Some(message.unwrap_or("the observation has the level ERROR".into()));
    }
    Ok(call.finish())
}

/// Arguments and result of a tool. Some tracers leave input and output empty and put them among the attributes.
fn read_tool<'a>(call: &mut Call<'a>, input: Option<Json<'a>>, output: Option<Json<'a>>, attributes: &mut Json<'a>) {
    let is_filled = |value: &Json<'_>| value.as_object().is_none_or(|entries| !entries.is_empty()) && is_said(value);
    let mut held = |key: &str| attributes.take(key).map(decoded).filter(is_filled);
    let args = input
        .clone()
        .filter(is_filled)
        .or_else(|| held("gcp.vertex.agent.tool_call_args"))
        .or_else(|| held("input.value"));
    let result = output
        .clone()
        .filter(is_filled)
        .or_else(|| held("gcp.vertex.agent.tool_response"))
        .or_else(|| held("output.value"));
    call.args(args.or(input));
    call.result(result.or(output));
}
