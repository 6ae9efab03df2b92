//! Langfuse: observations in camelCase (UI, API) and in snake_case (blob export), and downloaded traces.
//!
//! - GENERATION is a call of a model, TOOL a call of a tool; CHAIN, AGENT and SPAN repeat their children; the others
//!   hold no call
//! - latency: `endTime` - `startTime`. `latency` is in milliseconds in one place and in seconds in another of the same
//!   file, and is not read
//! - time to the first token: `completionStartTime` - `startTime`
//! - session: that of the trace, else `metadata.attributes["session.id"]`
//! - input and output are bodies of any dialect, also as JSON in a string
//! - an observation of the level ERROR ended with `statusMessage`
//!
//! **Source**: langfuse `observations` API and blob export; traces as the UI downloads them.

use std::borrow::Cow;

use super::{Writer, text};
use crate::record::{
    Container, Format, Ignored,
    body::{
        message::{passages, take_name, take_text},
        usage::Usage,
    },
    call::{Call, Entries, Outcome, decoded, is_said, name_at, parent},
    json::Json,
    values::Unit,
};

const CONTAINER: Container = Container::named("langfuse");

/// Observations (UI, API), blob export, trace download.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "observations (UI, API), blob export, trace download",
    told_by: "`traceId` with an observation `type`; `trace_id` with `provided_model_name`; `observations`",
    marks: &["traceId", "trace_id", "observations"],
    matches: is_observation,
    read,
    joiner: None,
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

fn is_observation(value: &Json<'_>) -> bool {
    let is_typed = || TYPES.contains(&text(value, "type"));
    (value.get("traceId").is_some() && is_typed())
        || (value.get("trace_id").is_some() && (value.get("provided_model_name").is_some() || is_typed()))
        || value.get("observations").is_some_and(|list| list.as_array().is_some())
}

/// Reads an observation, or a trace with its observations.
fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    match value.take("observations") {
        Some(Json::Array(observations)) => {
            let trace = value.take("trace").unwrap_or(value);
            let session = name_at(&trace, &["sessionId"]).or_else(|| name_at(&trace, &["session_id"]));
            entries.push(Ok(parent(CONTAINER, "a trace")));
            // Lists of traces name their observations only.
            for observation in observations.into_iter().filter(|one| one.as_object().is_some()) {
                entries.push(observation_of(observation, session.clone()));
            }
        }
        _ => entries.push(observation_of(value, None)),
    }
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
        let documents = output.filter(|_| kind == "RETRIEVER").map(passages).unwrap_or_default();
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
        call.ask(input);
        call.answer(output);
        call.record.provider = take_name(&mut attributes, "gen_ai.provider.name")
            .or_else(|| take_name(&mut attributes, "llm.provider"))
            .or_else(|| take_name(&mut attributes, "gen_ai.system"))
            .or_else(|| take_name(&mut attributes, "llm.system"));
        let parameters = value.take("modelParameters").or_else(|| value.take("model_parameters")).map(decoded);
        let tools = parameters.and_then(|mut parameters| parameters.take("tools")).map(decoded);
        call.record.tools = call.record.tools.take().or(tools);
        if let Some(usage) =
            value.take("usageDetails").or_else(|| value.take("usage_details")).or_else(|| value.take("usage"))
        {
            Usage::of(&decoded(usage)).fill(&mut call.record);
        }
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
