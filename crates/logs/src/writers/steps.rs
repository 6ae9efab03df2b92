//! Steps of traces, as back ends and agents export them: one object per step, which says what kind of step it is, what went
//! in and what came out.
//!
//! They differ in names alone, so that one reader does for all of them:
//!
//! | of | kind | in and out | parts |
//! |---|---|---|---|
//! | OpenAI Agents | `span_data.type` | `span_data.input`, `.output` | spans and traces, one a line |
//! | Braintrust | `span_attributes.type` | `input`, `output` | `root_span_id`, `span_parents`; `metrics.start`, `.end` in seconds |
//! | Opik | `type` | `input`, `output` | traces and spans apart, or `trace` and `spans` |
//! | Galileo, LangWatch | `type` | `input`, `output`, also below `value` | `spans` within a trace, within steps |
//! | HoneyHive | `event_type` | `inputs`, `outputs` | `session_id` is the trace |
//! | Literal AI, Chainlit | `type` | `generation`, `input`, `output` | `threadId`, `parentId` |
//! | Lunary | `type` | `input`, `output` | events (`start`, `end`, `error`) of a `runId`, which are merged |
//! | deepeval | `type` | `input`, `output` | lists by kind: `llmSpans`, `toolSpans`, ... |
//! | Parea | | `inputs` with a `configuration`, `output` | `root_trace_id` |
//!
//! - a step of a model is a call, a tool or function one of a tool; a retrieval gives documents; all others repeat what is
//!   below them, and the root of a trace is what it was asked and answered where no call of it is in the log
//! - a `response` of OpenAI Agents names a response that is not in the log: its tokens and times are
//! - a time to the first token below `metrics` is in seconds
//!
//! **Source**: a trace of openai-agents; the API references of the others, not checked against logs of theirs.
//!
//! **Limits**: steps lie at most [`DEPTH_MAX`] deep.

use std::borrow::Cow;

use super::{Writer, has_all, has_any, native};
use crate::{
    assemble::merges::{Merges, Parts},
    hash,
    record::{
        Container, Entry, Format, Fragment, Ignored,
        body::{
            self, error_of,
            message::{is_documents, passages, take_name, take_text},
            unwrapped,
            usage::Usage,
        },
        call::{Call, Entries, decoded, is_said, name_at},
        json::Json,
        values::{self, Unit},
    },
};

const CONTAINER: Container = Container::named("steps");

/// Steps of traces.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "steps of traces: OpenAI Agents, Braintrust, Opik, Galileo, LangWatch, HoneyHive, Literal AI, Lunary, Parea, deepeval",
    told_by: "a kind of step (`type`, `span_data.type`, `span_attributes.type`, `event_type`) with an id of a \
              trace or a parent, and something that went in or came out; `workflow_name`",
    marks: &[
        "span_data",
        "span_attributes",
        "spans",
        "llmSpans",
        "traces",
        "trace_id",
        "traceId",
        "root_span_id",
        "parent_span_id",
        "parent_id",
        "parentId",
        "parentRunId",
        "parent_run_id",
        "parent_trace_id",
        "runId",
        "threadId",
        "event_type",
        "workflow_name",
        "project_name",
        "project_id",
    ],
    matches,
    read: |value, entries| read(value, &Outer::default(), 0, entries),
    joiner: Some(|limits| Box::new(Merges::new(PARTS, limits))),
};

/// A step is told in events: when it begins, and when it ends.
const PARTS: Parts = Parts {
    key: |part| Some(hash::name(&name_at(part, &["runId"])?)),
    has_ended: |part| has_any(part, &["endTime", "error"]),
    read: |value, entries| step(value, &Outer::default(), entries),
};

/// Steps within steps that are followed.
const DEPTH_MAX: usize = 32;

/// Where a step says what it is, beside at its top.
const INNER: [&str; 3] = ["span_data", "span_attributes", "attributes"];
/// Names of the kind of a step.
const KINDS: [&str; 9] =
    ["type", "kind", "span.kind", "span_type", "spanType", "span_kind", "spanKind", "event_type", "step_type"];
const TRACES: [&str; 7] =
    ["trace_id", "traceId", "traceUuid", "root_span_id", "root_trace_id", "threadId", "session_id"];
const IDS: [&str; 8] = ["span_id", "spanId", "id", "uuid", "run_id", "runId", "event_id", "trace_id"];
const PARENTS: [&str; 9] = [
    "parentUuid",
    "parent_span_id",
    "parentSpanId",
    "parent_id",
    "parentId",
    "parent_run_id",
    "parentRunId",
    "parent_trace_id",
    "span_parents",
];
const INPUTS: [&str; 2] = ["input", "inputs"];
const OUTPUTS: [&str; 2] = ["output", "outputs"];
const STARTS: [&str; 8] =
    ["start_time", "startTime", "started_at", "startedAt", "start_timestamp", "start", "createdAt", "created_at"];
const ENDS: [&str; 8] =
    ["end_time", "endTime", "ended_at", "endedAt", "finished_at", "end_timestamp", "end", "completed_at"];
const SESSIONS: [&str; 6] = ["thread_id", "conversation_id", "session_id", "sessionId", "group_id", "threadId"];
const MODELS: [&str; 4] = ["model", "model_name", "modelName", "model_id"];
/// What holds steps within a step.
const CHILDREN: [&str; 5] = ["spans", "children", "child_spans", "steps", "child_runs"];
/// Lists of the steps of a trace of deepeval, by kind.
const LISTS: [&str; 5] = ["baseSpans", "agentSpans", "llmSpans", "retrieverSpans", "toolSpans"];

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Llm,
    Tool,
    Retrieval,
    Embedding,
    /// It repeats what is below it.
    Frame,
    /// It holds no call, by this noun.
    Other(&'static str),
}

impl Kind {
    fn of(name: &str) -> Option<Kind> {
        let plain = name.to_ascii_lowercase().replace(['-', ' ', '.'], "_");
        Some(match plain.as_str() {
            "llm" | "generation" | "chat_model" | "model" | "chat" | "completion" | "chat_completion" | "response"
            | "llm_call" | "model_call" => Kind::Llm,
            "tool" | "function" | "tool_call" | "function_call" => Kind::Tool,
            "retriever" | "retrieval" | "rerank" | "reranker" | "rag" | "vector_db" => Kind::Retrieval,
            "embedding" | "embed" | "embeddings" => Kind::Embedding,
            "base" | "chain" | "agent" | "workflow" | "task" | "span" | "step" | "trace" | "root" | "run"
            | "general" | "session" | "thread" | "turn" | "custom" | "pipeline" | "operation" | "undefined"
            | "eval" | "graph" | "node" | "query" | "component" | "module" => Kind::Frame,
            "handoff" => Kind::Other("a handoff"),
            "guardrail" | "moderation" => Kind::Other("a guardrail"),
            "evaluator" | "evaluation" | "score" | "scorer" | "facet" => Kind::Other("an evaluation"),
            "mcp_tools" => Kind::Other("a list of tools"),
            "transcription" | "speech" | "speech_group" => Kind::Other("speech"),
            "event" | "log" | "parser" | "prompt" | "cache" => Kind::Other("an event"),
            _ => return None,
        })
    }
}

/// What stands around a step and holds for it.
#[derive(Clone, Default)]
struct Outer<'a> {
    trace_id: Option<Cow<'a, str>>,
    parent_id: Option<Cow<'a, str>>,
    session_id: Option<Cow<'a, str>>,
}

/// What kind of step a value is, and where its other fields may stand beside its top.
fn kind_of(value: &Json<'_>) -> Option<(Kind, Option<&'static str>)> {
    let of = |place: &Json<'_>| KINDS.iter().find_map(|key| Kind::of(place.get(key)?.as_str()?));
    let inner = INNER.into_iter().find_map(|key| Some((of(value.get(key)?)?, Some(key))));
    // A step that says how a model was called is one of a model.
    let is_configured = || value.get("configuration").is_some_and(|config| config.get("model").is_some());
    inner.or_else(|| Some((of(value).or_else(|| is_configured().then_some(Kind::Llm))?, None)))
}

fn matches(value: &Json<'_>) -> bool {
    is_step(value) || is_head(value) || is_event(value) || is_untyped(value) || holds_steps(value)
}

/// Whether a value is a step by its kind and its place in a trace.
fn is_step(value: &Json<'_>) -> bool {
    let Some((kind, inner)) = kind_of(value) else { return false };
    let holds =
        |place: &Json<'_>| has_any(place, &INPUTS) || has_any(place, &OUTPUTS) || place.get("generation").is_some();
    let is_held = holds(value) || inner.is_some_and(|key| value.get(key).is_some_and(holds));
    let is_placed =
        has_any(value, &PARENTS) || has_any(value, &["span_id", "spanId", "root_span_id", "trace_id", "traceId"]);
    // OpenAI Agents gives steps that have neither input nor output.
    is_placed && (is_held || (kind != Kind::Llm && inner == Some("span_data")) || value.get("span_data").is_some())
}

/// Whether a value is the head of a trace of OpenAI Agents.
fn is_head(value: &Json<'_>) -> bool {
    value.get("object").and_then(Json::as_str) == Some("trace") && value.get("workflow_name").is_some()
}

/// Whether a value is an event of a run: its beginning, its end, or what went wrong.
fn is_event(value: &Json<'_>) -> bool {
    let is_kind =
        matches!(value.get("event").and_then(Json::as_str), Some("start" | "end" | "error" | "feedback" | "chat"));
    is_kind && value.get("runId").is_some() && value.get("type").is_some()
}

/// Whether a value is a trace or a step that does not say its kind, but stands in a project or below a root.
fn is_untyped(value: &Json<'_>) -> bool {
    let is_told =
        INPUTS.iter().any(|key| value.get(key).is_some()) && OUTPUTS.iter().any(|key| value.get(key).is_some());
    let is_traced = has_any(value, &["root_span_id", "root_trace_id"])
        || (has_any(value, &["project_id", "project_name", "projectId"])
            && has_any(value, &["start_time", "startTime"])
            && has_any(
                value,
                &["feedback_scores", "error_info", "last_updated_at", "thread_id", "span_count", "end_time"],
            ));
    is_told && is_traced && kind_of(value).is_none()
}

/// Whether a value holds a list of steps, as a trace does.
fn holds_steps(value: &Json<'_>) -> bool {
    let is_list = |list: &Json<'_>| {
        list.as_array().is_some_and(|steps| {
            let is_one = |step: &Json<'_>| {
                is_step(step) || (kind_of(step).is_some() && (has_any(step, &INPUTS) || has_any(step, &OUTPUTS)))
            };
            !steps.is_empty() && steps.iter().all(is_one)
        })
    };
    value.get("spans").is_some_and(is_list) || has_all(value, &["uuid", "llmSpans", "baseSpans"])
}

fn read<'a>(mut value: Json<'a>, outer: &Outer<'a>, depth: usize, entries: &mut Entries<'a>) {
    if is_event(&value) {
        return event(value, entries);
    }
    if is_head(&value) {
        return head(value, entries);
    }
    let children = CHILDREN.iter().find_map(|key| match value.get(key) {
        Some(Json::Array(steps)) if steps.iter().any(|step| step.as_object().is_some()) => value.take(key),
        _ => None,
    });
    let listed: Vec<Json<'a>> = LISTS
        .iter()
        .filter_map(|key| if let Some(Json::Array(steps)) = value.take(key) { Some(steps) } else { None })
        .flatten()
        .collect();
    let children = children.or_else(|| (!listed.is_empty()).then_some(Json::Array(listed)));
    let mut inside = Outer {
        trace_id: first_name(&value, &TRACES).or_else(|| outer.trace_id.clone()),
        parent_id: first_name(&value, &IDS),
        session_id: session_of(&value).or_else(|| outer.session_id.clone()),
    };
    // A bundle has the trace beside its steps.
    let bundled = children.is_some().then(|| value.take("trace").filter(|trace| trace.as_object().is_some())).flatten();
    if let Some(trace) = bundled {
        inside = Outer {
            trace_id: first_name(&trace, &["id", "trace_id"]),
            parent_id: None,
            session_id: session_of(&trace),
        };
        step(trace, &Outer::default(), entries);
    } else if children.is_none() || has_any(&value, &INPUTS) || has_any(&value, &OUTPUTS) {
        step(value, outer, entries);
    }
    let Some(Json::Array(children)) = children else { return };
    if inside.trace_id.is_none() {
        inside.trace_id = inside.parent_id.clone();
    }
    for child in children.into_iter().filter(|child| child.as_object().is_some()) {
        if depth < DEPTH_MAX {
            read(child, &inside, depth + 1, entries);
        }
    }
}

/// The head of a trace, which names its conversation.
fn head<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let mut call = Call::llm(CONTAINER);
    call.record.session_id = session_of(&value);
    let id = take_name(&mut value, "id");
    call.span(id.clone(), id, None);
    entries.push(Ok(call.without_call(Ignored::parent(Format::of(CONTAINER), "a trace"), Vec::new())));
}

/// An event of a run, as a part of its step.
fn event<'a>(value: Json<'a>, entries: &mut Entries<'a>) {
    let name = value.get("event").and_then(Json::as_str).unwrap_or_default().to_owned();
    let at = match name.as_str() {
        "start" => "startTime",
        "end" | "error" => "endTime",
        _ => return entries.skipped(CONTAINER, "an event"),
    };
    let Json::Object(mut parts) = value else { return };
    for (key, _) in &mut parts {
        if key == "timestamp" {
            *key = at.into();
        }
    }
    parts.retain(|(key, _)| key != "event");
    entries.push(Ok(Entry::Fragment(Fragment::of_value(Format::of(CONTAINER), Json::Object(parts)))));
}

fn first_name<'a>(value: &Json<'a>, keys: &[&str]) -> Option<Cow<'a, str>> {
    keys.iter().find_map(|key| match value.get(key)? {
        Json::Array(items) => values::name(items.first()?.clone()).ok().flatten(),
        other => values::name(other.clone()).ok().flatten(),
    })
}

fn session_of<'a>(value: &Json<'a>) -> Option<Cow<'a, str>> {
    let own = || first_name(value, &SESSIONS);
    own().or_else(|| first_name(value.get("metadata")?, &SESSIONS))
}

/// Reads one step.
fn step<'a>(mut value: Json<'a>, outer: &Outer<'a>, entries: &mut Entries<'a>) {
    let (kind, inner) = kind_of(&value).unwrap_or((Kind::Frame, None));
    let mut inside = inner.and_then(|key| value.take(key)).unwrap_or_default();
    let mut call = match kind {
        Kind::Tool => Call::tool(CONTAINER, None),
        _ => Call::llm(CONTAINER),
    };
    place(&mut call, &value, outer, inner.is_none() && kind_of(&value).is_none());
    times(&mut call, &mut value);
    let [input, output] = [&INPUTS, &OUTPUTS].map(|keys| {
        let of = |place: &mut Json<'a>| keys.iter().find_map(|key| place.take(key)).filter(is_said);
        of(&mut inside).or_else(|| of(&mut value)).map(|held| held_of(decoded(held)))
    });
    let error = error_in(&mut value, &mut inside);
    // Braintrust calls an embedding a step of a model.
    let kind = match &output {
        Some(given) if kind == Kind::Llm && is_embedding(given) => Kind::Embedding,
        _ => kind,
    };
    let noun = |what| Ignored::skipped(Format::of(CONTAINER), what);
    let outcome = match kind {
        Kind::Llm => {
            model(&mut call, &mut value, &mut inside, input, output);
            call.record.error = call.record.error.take().or(error);
            call.finish()
        }
        Kind::Tool => {
            call.record.tool = first_name(&inside, &["name", "tool_name"])
                .or_else(|| first_name(&value, &["name", "event_name", "toolName"]));
            call.args(input);
            call.result(output.map(unwrapped));
            call.record.error = call.record.error.take().or(error);
            complete(&mut call, value);
            call.finish()
        }
        Kind::Retrieval => call.without_call(noun("a retrieval"), documents(output)),
        Kind::Embedding => call.without_call(noun("an embedding"), Vec::new()),
        Kind::Frame if output.as_ref().is_some_and(is_documents) => {
            call.without_call(noun("a retrieval"), documents(output))
        }
        Kind::Frame => call.outline(input, output, Ignored::parent(Format::of(CONTAINER), "a span of a framework")),
        Kind::Other(what) => call.without_call(noun(what), Vec::new()),
    };
    entries.push(Ok(outcome));
}

/// Whether what came out are vectors, or their length.
fn is_embedding(output: &Json<'_>) -> bool {
    has_any(output, &["embedding_length", "embedding_count"]) || body::no_call(output) == Some("an embedding")
}

/// What went in or came out, without what some put around it to say its type.
fn held_of(mut value: Json<'_>) -> Json<'_> {
    let is_typed = value.get("type").is_some() && value.get("value").is_some();
    let is_only_value = matches!(value.as_object(), Some([(key, _)]) if key == "value");
    match (is_typed || is_only_value).then(|| value.take("value")).flatten() {
        Some(inner) => decoded(inner),
        None => value,
    }
}

fn documents<'a>(output: Option<Json<'a>>) -> Vec<crate::record::Passage<'a>> {
    output.map(unwrapped).map(passages).unwrap_or_default()
}

/// Where a step stands.
fn place<'a>(call: &mut Call<'a>, value: &Json<'a>, outer: &Outer<'a>, is_trace: bool) {
    let is_id = |id: &Cow<'a, str>| !matches!(id.as_ref(), "undefined" | "0" | "null");
    let id = first_name(value, &IDS);
    let mut trace_id = first_name(value, &TRACES).or_else(|| outer.trace_id.clone());
    let mut parent_id = first_name(value, &PARENTS).filter(is_id).or_else(|| outer.parent_id.clone());
    // A trace that has no other id is called by its own.
    if is_trace && trace_id.is_none() {
        trace_id.clone_from(&id);
    }
    // Some give the root the id of the trace as its parent.
    if parent_id.is_some() && (parent_id == id || (parent_id == trace_id && outer.parent_id.is_none())) {
        parent_id = None;
    }
    call.record.id.clone_from(&id);
    call.record.session_id = session_of(value).or_else(|| outer.session_id.clone());
    call.span(trace_id, id, parent_id);
}

fn times<'a>(call: &mut Call<'a>, value: &mut Json<'a>) {
    let mut moments =
        ["metrics", "timestamps"].into_iter().filter_map(|key| value.get(key).cloned()).collect::<Vec<_>>();
    let mut first = |value: &mut Json<'a>, keys: &[&str]| {
        let nested = moments.iter_mut().find_map(|place| keys.iter().find_map(|key| place.take(key).filter(is_said)));
        nested.or_else(|| keys.iter().find_map(|key| value.take(key).filter(is_said)))
    };
    let (start, end) = (first(value, &STARTS), first(value, &ENDS));
    let first_token = first(value, &["first_token_at"]);
    call.times(start, end, first_token);
    for (path, unit) in [("/metrics/duration_ns", Unit::Ns), ("/duration_ns", Unit::Ns)] {
        call.reported_latency(value.pointer(path), unit);
    }
    for (path, unit) in [
        ("/metrics/time_to_first_token_ns", Unit::Ns),
        ("/metrics/time_to_first_token", Unit::S),
        ("/metrics/ttft", Unit::S),
        ("/ttft", Unit::Ms),
    ] {
        call.reported_ttft(value.pointer(path), unit);
    }
}

/// What went wrong.
fn error_in<'a>(value: &mut Json<'a>, inside: &mut Json<'a>) -> Option<Cow<'a, str>> {
    let own = ["error", "error_info", "errorInfo", "exception"].into_iter().find_map(|key| value.take(key));
    let own = own.map(decoded).and_then(|mut error| {
        let detail = error.get("data").and_then(|data| data.get("error")).and_then(Json::as_str).map(str::to_owned);
        match (take_text(&mut error, "message").filter(|text| !text.is_empty()), detail) {
            (Some(message), Some(detail)) => Some(format!("{message}: {detail}").into()),
            (Some(message), None) => Some(message),
            (None, _) => error_of(error),
        }
    });
    let named = || take_text(inside, "error.message").or_else(|| inside.take("error").and_then(error_of));
    let is_failed =
        || matches!(value.get("status").and_then(Json::as_str), Some("error" | "ERROR" | "failed" | "failure"));
    own.or_else(named)
        .filter(|error| !error.is_empty())
        .or_else(|| is_failed().then(|| "the step has the status of an error".into()))
}

/// Reads what a model was asked and answered.
fn model<'a>(
    call: &mut Call<'a>,
    value: &mut Json<'a>,
    inside: &mut Json<'a>,
    input: Option<Json<'a>>,
    output: Option<Json<'a>>,
) {
    let mut generation = value.take("generation").unwrap_or_default();
    let mut metadata = value.get("metadata").cloned().map(decoded).unwrap_or_default();
    let mut config = ["config", "configuration"].into_iter().find_map(|key| value.take(key)).unwrap_or_default();
    call.record.response_id = take_name(inside, "response_id");
    let places = [&*inside, &*value, &generation, &config, &metadata];
    call.requested = places.iter().find_map(|place| first_name(place, &MODELS));
    call.record.provider = places.iter().find_map(|place| first_name(place, &["provider", "model_provider", "vendor"]));
    // Some keep the call apart from what the step was given.
    let asked = ["messages", "prompt"]
        .into_iter()
        .find_map(|key| generation.take(key))
        .filter(|asked| body::is_question(asked));
    let told = config.take("messages").filter(body::is_question);
    call.ask(asked.or(told).or(input));
    let answered =
        ["messageCompletion", "message_completion", "completion"].into_iter().find_map(|key| generation.take(key));
    call.answer(answered.or_else(|| inside.take("response").filter(body::is_answer)).or(output.map(unwrapped)));
    for key in ["tools", "toolDefinitions"] {
        call.record.tools = call
            .record
            .tools
            .take()
            .or_else(|| inside.take(key))
            .or_else(|| generation.take(key))
            .or_else(|| metadata.take(key));
    }
    for key in ["usage", "metrics", "tokens", "tokensUsage", "token_usage"] {
        let counts = inside.take(key).or_else(|| value.get(key).cloned());
        if let Some(counts) = counts.filter(|counts| counts.as_object().is_some()) {
            fill(&counts, call);
        }
    }
    for counts in [&generation, &metadata, &*value] {
        fill(counts, call);
    }
    if let Some(contexts) = value.take("contexts").filter(|list| list.as_array().is_some()) {
        call.record.context.extend(passages(contexts));
    }
    call.reported_latency(generation.get("duration"), Unit::S);
    call.reported_ttft(generation.get("ttFirstToken"), Unit::Ms);
    let ends = ["finish_reason", "stop_reason", "finishReason"];
    call.record.finish_reason = call.record.finish_reason.take().or_else(|| first_name(&metadata, &ends));
    complete(call, std::mem::take(value));
    native::lend(std::mem::take(inside), &mut call.record);
}

/// What a step says beside its input and output. The id of its trace is no session.
fn complete<'a>(call: &mut Call<'a>, mut value: Json<'a>) {
    ["trace_id", "traceId"].into_iter().for_each(|key| drop(value.take(key)));
    native::complete(value, &mut call.record);
}

fn fill<'a>(counts: &Json<'a>, call: &mut Call<'a>) {
    if !Usage::is_one(counts) {
        // Lunary and others name the halves alone.
        let half = |key: &str| counts.get(key).filter(|count| values::count(count).is_ok());
        call.tokens(half("prompt"), half("completion"));
        return;
    }
    Usage::of(counts).fill(&mut call.record);
}
