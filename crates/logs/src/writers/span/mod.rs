//! Spans of tracers, in all dialects of attributes:
//!
//! | dialect | told by | a call of a model | a call of a tool |
//! |---|---|---|---|
//! | Vercel AI SDK | `ai.operationId` | `*.doGenerate`, `*.doStream` | `ai.toolCall` |
//! | OpenInference | `openinference.span.kind` | LLM | TOOL |
//! | Traceloop, one key per message | `gen_ai.prompt.N.*`, `llm.request.type` | chat, completion | `traceloop.span.kind` = tool |
//! | Traceloop from 0.6 on | `gen_ai.is_streaming`, `traceloop.*` | as GenAI | as GenAI |
//! | GenAI from 1.37 on | `gen_ai.provider.name`, `gen_ai.input.messages` | chat, generate_content, text_completion | execute_tool, `tools/call` |
//! | GenAI up to 1.36 | `gen_ai.system` | the same; the texts are in events | the same |
//! | Logfire | `request_data` | `messages` or `prompt` in it | as GenAI |
//! | Langfuse SDK from 3 on | `langfuse.observation.type` | generation | tool |
//!
//! Only leaves are calls: spans of agents, chains and workflows repeat the tokens and texts of their children, and are
//! parents. Anything else (HTTP, databases, embeddings) holds no call.
//!
//! **Source**: the semantic conventions of the writers; `gen_ai.response.time_to_first_chunk` is in seconds,
//! `ai.response.msToFirstChunk` in milliseconds.

mod flat;
pub(super) mod genai;
mod langfuse;
mod logfire;
mod openinference;
mod vercel;

use std::borrow::Cow;

use super::{
    attributes::{Attributes, list_of},
    clients,
};
use crate::record::{
    Container, Dialect, Entry, Format, Ignored, Passage, Record,
    body::message::{passage, passages, result_text},
    call::{Call, decoded, is_said},
    json::Json,
};

/// What Gemini CLI calls a call of a tool.
const CLIENT_TOOL: &str = "tool_call";

/// The attribute in which OpenInference says what a span is.
pub(super) const KIND: &str = "openinference.span.kind";

/// A span, whoever wrote it.
#[derive(Debug, Default)]
pub(super) struct Span<'a> {
    pub trace_id: Option<Cow<'a, str>>,
    pub id: Option<Cow<'a, str>>,
    pub parent_id: Option<Cow<'a, str>>,
    pub name: Option<Cow<'a, str>>,
    pub start: Option<Json<'a>>,
    pub end: Option<Json<'a>>,
    pub attributes: Attributes<'a>,
    pub events: Vec<Event<'a>>,
    pub is_error: bool,
    pub message: Option<Cow<'a, str>>,
    /// When the first token came, where the span says it beside its events.
    pub first_token: Option<Json<'a>>,
}

/// Something that happened during a span.
#[derive(Debug)]
pub(super) struct Event<'a> {
    pub name: Cow<'a, str>,
    pub time: Option<Json<'a>>,
    pub attributes: Attributes<'a>,
}

/// What a span is.
enum Role {
    Model,
    Tool,
    Parent(&'static str),
    Other(&'static str),
}

/// Reads a span.
pub(super) fn read(mut span: Span<'_>, container: Container) -> Entry<'_> {
    if span.attributes.text(logfire::TYPE) == Some("pending_span") {
        return Entry::Ignored(Ignored::skipped(Format::of(container), "the beginning of a span"));
    }
    let Some(dialect) = dialect_of(&span.attributes) else {
        return without_call(span, Ignored::skipped(Format::of(container), "a span without a call"));
    };
    let format = Format { container, dialect: Some(dialect) };
    let mut entry = match role_of(&span, dialect) {
        Role::Parent(what) => return without_call(span, Ignored::parent(format, what)),
        Role::Other(what) => return without_call(span, Ignored::skipped(format, what)),
        Role::Tool => {
            let mut call = Call::tool(container, None);
            read_tool(&mut span, dialect, &mut call);
            let is_client = span.attributes.text("gen_ai.operation.name") == Some(CLIENT_TOOL);
            match frame(span, call) {
                Entry::Record(record) if is_client => return clients::tool_span(Record { format, ..record }),
                entry => entry,
            }
        }
        Role::Model => {
            let mut call = Call::llm(container);
            match dialect {
                Dialect::OpenInference => openinference::read(&mut span, &mut call),
                Dialect::Vercel => vercel::read(&mut span, &mut call),
                Dialect::Langfuse => langfuse::read(&mut span, &mut call),
                _ => {
                    if dialect == Dialect::Logfire {
                        logfire::read(&mut span, &mut call);
                    }
                    genai::read(&mut span, dialect, &mut call);
                }
            }
            frame(span, call)
        }
    };
    if let Entry::Record(record) = &mut entry {
        record.format.dialect = Some(dialect);
    }
    entry
}

/// Where frameworks keep what a span was asked and answered.
const ASKED_AND_ANSWERED: [(&str, &str); 4] = [
    ("input.value", "output.value"),
    ("langfuse.observation.input", "langfuse.observation.output"),
    ("traceloop.entity.input", "traceloop.entity.output"),
    ("gen_ai.input.messages", "gen_ai.output.messages"),
];

/// A span that holds no call, with what it tells the calls of its trace. The root of a trace also tells what the whole was
/// asked and answered.
fn without_call<'a>(mut span: Span<'a>, ignored: Ignored<'a>) -> Entry<'a> {
    let session_id = session_of(&mut span.attributes);
    let mut documents = documents_of(&mut span.attributes);
    if span.attributes.text(langfuse::TYPE) == Some("retriever") {
        let found = span.attributes.take(&["langfuse.observation.output"]).map(decoded);
        documents.extend(found.map(passages).unwrap_or_default());
    }
    let mut call = Call::llm(ignored.format.container);
    call.record.session_id = session_id;
    call.times(span.start, span.end, None);
    call.span(span.trace_id, span.id, span.parent_id);
    if !ignored.is_parent || !documents.is_empty() {
        return call.without_call(ignored, documents);
    }
    let of = &mut span.attributes;
    let told = ASKED_AND_ANSWERED.into_iter().find_map(|(asked, answered)| {
        let asked = of.take(&[asked]).map(decoded).filter(is_said)?;
        Some((asked, of.take(&[answered]).map(decoded).filter(is_said)))
    });
    let (asked, answered) = told.unzip();
    call.requested = of.name(&["gen_ai.request.model"]);
    let format = ignored.format;
    let mut entry = call.outline(asked, answered.flatten(), ignored);
    if let Entry::Record(record) = &mut entry {
        record.format = format;
    }
    entry
}

/// The conversation that a span belongs to.
fn session_of<'a>(of: &mut Attributes<'a>) -> Option<Cow<'a, str>> {
    let session = [
        "session.id",
        "langfuse.session.id",
        "gen_ai.conversation.id",
        "gcp.vertex.agent.session_id",
        "ai.telemetry.metadata.sessionId",
        "gen_ai.thread.id",
        "thread.id",
        "mcp.session.id",
    ];
    of.name(&session).or_else(|| {
        let mut named = |key: &str| of.name(&[&format!("traceloop.association.properties.{key}")]);
        ["session_id", "session.id", "thread_id", "conversation_id", "chat_id"].into_iter().find_map(&mut named)
    })
}

/// Documents that a span retrieved.
fn documents_of<'a>(of: &mut Attributes<'a>) -> Vec<Passage<'a>> {
    let found = of.list_at("retrieval.documents").into_iter().chain(of.list_at("reranker.output_documents"));
    let mut documents: Vec<Passage<'a>> =
        found.filter_map(|mut of| passage(of.take("document").unwrap_or(of))).collect();
    if let Some(held) = of.take(&["gen_ai.retrieval.documents"]).map(decoded) {
        documents.extend(list_of(held).into_iter().filter_map(passage));
    }
    documents
}

fn dialect_of(attributes: &Attributes<'_>) -> Option<Dialect> {
    let (mut vercel, mut openinference, mut langfuse, mut logfire, mut flat) = Default::default();
    let (mut traceloop, mut current, mut older, mut bare) = Default::default();
    for key in attributes.keys() {
        match key {
            "ai.operationId" => vercel = true,
            KIND => openinference = true,
            langfuse::TYPE => langfuse = true,
            logfire::REQUEST => logfire = true,
            "llm.request.type" => flat = true,
            "gen_ai.is_streaming" => traceloop = true,
            "gen_ai.provider.name"
            | "gen_ai.input.messages"
            | "gen_ai.output.messages"
            | "gen_ai.operation.name"
            | "mcp.method.name" => {
                current = true;
            }
            "gen_ai.system" => older = true,
            "gen_ai.request.model" | "gen_ai.response.model" | "gen_ai.tool.name" => bare = true,
            _ if key.starts_with("gen_ai.prompt.") || key.starts_with("gen_ai.completion.") => flat |= is_indexed(key),
            _ if key.starts_with("traceloop.") => traceloop = true,
            _ => {}
        }
    }
    let has_provider =
        attributes.get("gen_ai.provider.name").is_some() || attributes.get("gen_ai.input.messages").is_some();
    match () {
        () if vercel => Some(Dialect::Vercel),
        () if openinference => Some(Dialect::OpenInference),
        () if langfuse => Some(Dialect::Langfuse),
        () if logfire => Some(Dialect::Logfire),
        () if flat || (traceloop && !current) => Some(Dialect::TraceloopFlat),
        () if traceloop => Some(Dialect::Traceloop),
        () if older && !has_provider => Some(Dialect::GenAi136),
        () if current || older || bare => Some(Dialect::GenAi),
        () => None,
    }
}

/// Whether a key has an index behind its second part: `gen_ai.prompt.0.content`, but not `gen_ai.prompt.name`.
fn is_indexed(key: &str) -> bool {
    key.split('.').nth(2).is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn role_of(span: &Span<'_>, dialect: Dialect) -> Role {
    let text = |key: &str| span.attributes.text(key);
    match dialect {
        Dialect::Vercel => match text("ai.operationId").unwrap_or_default() {
            id if id.ends_with(".doGenerate") || id.ends_with(".doStream") => Role::Model,
            "ai.toolCall" => Role::Tool,
            id if id.starts_with("ai.embed") => Role::Other("an embedding"),
            _ => Role::Parent("a span of a framework"),
        },
        Dialect::OpenInference => match text(KIND).unwrap_or_default().to_ascii_uppercase().as_str() {
            "LLM" => Role::Model,
            "TOOL" => Role::Tool,
            "RETRIEVER" | "RERANKER" => Role::Other("a retrieval"),
            "EMBEDDING" => Role::Other("an embedding"),
            "GUARDRAIL" | "EVALUATOR" => Role::Other("an evaluation"),
            _ => Role::Parent("a span of a framework"),
        },
        Dialect::Langfuse => match text(langfuse::TYPE).unwrap_or_default() {
            "generation" => Role::Model,
            "tool" => Role::Tool,
            "embedding" => Role::Other("an embedding"),
            "retriever" => Role::Other("a retrieval"),
            "guardrail" | "evaluator" => Role::Other("an evaluation"),
            "event" => Role::Other("an event"),
            _ => Role::Parent("a span of a framework"),
        },
        Dialect::Logfire if logfire::is_call(span) => Role::Model,
        Dialect::Logfire if logfire::is_embedding(span) => Role::Other("an embedding"),
        _ => match text("gen_ai.operation.name").or(text("llm.request.type")).unwrap_or_default() {
            "execute_tool" | CLIENT_TOOL => Role::Tool,
            "embeddings" | "embedding" => Role::Other("an embedding"),
            "rerank" | "retrieval" => Role::Other("a retrieval"),
            "invoke_agent" | "create_agent" | "invoke_workflow" | "plan" => Role::Parent("a span of an agent"),
            "chat" | "generate_content" | "text_completion" | "completion" | "llm_call" => Role::Model,
            _ => match (text("traceloop.span.kind"), text("mcp.method.name")) {
                (Some("tool"), _) | (_, Some("tools/call")) => Role::Tool,
                (Some(_), _) => Role::Parent("a span of a framework"),
                (_, Some(_)) => Role::Other("an MCP message without a call"),
                _ if span.attributes.get("gen_ai.request.model").is_some() => Role::Model,
                _ if span.attributes.get("gen_ai.tool.name").is_some() => Role::Tool,
                _ => Role::Other("a span without a call"),
            },
        },
    }
}

/// Ids, times and errors, which all dialects share.
fn frame<'a>(mut span: Span<'a>, mut call: Call<'a>) -> Entry<'a> {
    let first_token = span.events.iter_mut().find(|event| {
        matches!(
            &*event.name,
            "First Token Stream Event"
                | "llm.content.completion.chunk"
                | "ai.stream.firstChunk"
                | "gen_ai.content.first_token"
        )
    });
    let first_token = span.first_token.take().or_else(|| first_token.and_then(|event| event.time.take()));
    call.times(span.start.take(), span.end.take(), first_token);
    let exception = span.events.iter_mut().find(|event| event.name == "exception");
    let exception = exception.and_then(|event| event.attributes.name(&["exception.message", "exception.type"]));
    let kind = span.attributes.name(&["error.type", "error.message"]);
    if span.is_error || kind.is_some() || span.attributes.text("langfuse.observation.level") == Some("ERROR") {
        let message = span.message.filter(|message| !message.is_empty());
        let message = message.or_else(|| span.attributes.name(&["langfuse.observation.status_message"]));
        let error = message.or(exception).or(kind).unwrap_or("the span has the status of an error".into());
        call.record.error = call.record.error.take().or(Some(error));
    }
    call.record.session_id = call.record.session_id.take().or_else(|| session_of(&mut span.attributes));
    call.record.id = call.record.id.take().or_else(|| span.id.clone());
    call.span(span.trace_id, span.id, span.parent_id);
    call.finish()
}

fn read_tool<'a>(span: &mut Span<'a>, dialect: Dialect, call: &mut Call<'a>) {
    let (told_args, told_result) = genai::Told::of(&mut span.events).of_tool();
    let of = &mut span.attributes;
    let call_id = of.name(&["gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "gen_ai.tool.call_id"]);
    // Google ADK writes `<not specified>`.
    call.record.call_id = call_id.filter(|id| !id.starts_with('<'));
    let named = of.name(&["gen_ai.tool.name", "ai.toolCall.name", "tool.name", "traceloop.entity.name"]);
    call.record.tool = named.or_else(|| span.name.take());
    let args = of.take(&[
        "gen_ai.tool.call.arguments",
        "ai.toolCall.args",
        "ai.toolCall.input",
        "gcp.vertex.agent.tool_call_args",
        "tool_arguments",
    ]);
    let args = args.or(told_args).or_else(|| match dialect {
        Dialect::OpenInference => of.take(&["input.value", "tool.parameters"]),
        Dialect::Langfuse => of.take(&["langfuse.observation.input"]).map(|input| arguments_of_entity(decoded(input))),
        _ => of.take(&["traceloop.entity.input", "input.value"]).map(|input| arguments_of_entity(decoded(input))),
    });
    call.args(args);
    let result = of.take(&[
        "gen_ai.tool.call.result",
        "ai.toolCall.result",
        "ai.toolCall.output",
        "gcp.vertex.agent.tool_response",
        "langfuse.observation.output",
        "tool_response",
    ]);
    let result = result.or(told_result).or_else(|| of.take(&["output.value", "traceloop.entity.output"]));
    let result = result.map(|result| result_of(decoded(result), call));
    call.result(result);
}

/// What a tool answered; of a message of LangChain its content, which also tells which call it answers.
fn result_of<'a>(mut result: Json<'a>, call: &mut Call<'a>) -> Json<'a> {
    let is_message = |of: &Json<'_>| of.get("tool_call_id").is_some() && of.get("content").is_some();
    let held = ["kwargs", "data"].into_iter().find(|key| result.get(key).is_some_and(is_message));
    let mut message = match held {
        Some(key) => result.take(key).unwrap_or_default(),
        None if is_message(&result) => result,
        None => return result,
    };
    let call_id = message.take("tool_call_id").and_then(|id| crate::record::values::name(id).ok().flatten());
    call.record.call_id = call.record.call_id.take().or(call_id);
    let content = message.take("content").map(result_text);
    if message.get("status").and_then(Json::as_str) == Some("error") {
        call.record.error = call.record.error.take().or_else(|| content.clone());
    }
    content.map_or(Json::Null, Json::String)
}

/// Traceloop keeps the arguments of a decorated function as `{"args": [...], "kwargs": {...}}`, or below `inputs`. Those
/// without a name are a list.
fn arguments_of_entity(mut input: Json<'_>) -> Json<'_> {
    let is_filled = |value: &Json<'_>| {
        value.as_object().is_some_and(|entries| !entries.is_empty())
            || value.as_array().is_some_and(|items| !items.is_empty())
    };
    let (args, kwargs) = (input.take("args").filter(is_filled), input.take("kwargs").filter(is_filled));
    kwargs.or(args).or_else(|| input.take("inputs").filter(is_said)).unwrap_or(input)
}
