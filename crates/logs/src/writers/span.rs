//! Spans of tracers, in all dialects of attributes:
//!
//! | dialect | told by | a call of a model | a call of a tool |
//! |---|---|---|---|
//! | Vercel AI SDK | `ai.operationId` | `*.doGenerate`, `*.doStream` | `ai.toolCall` |
//! | OpenInference | `openinference.span.kind` | LLM | TOOL |
//! | Traceloop, one key per message | `gen_ai.prompt.N.*`, `llm.request.type` | chat, completion | `traceloop.span.kind` = tool |
//! | Traceloop from 0.6 on | `gen_ai.is_streaming`, `traceloop.*` | as GenAI | as GenAI |
//! | GenAI from 1.37 on | `gen_ai.provider.name`, `gen_ai.input.messages` | chat, generate_content, text_completion | execute_tool, `tools/call` |
//! | GenAI up to 1.36 | `gen_ai.system` | the same; the texts are in log records | the same |
//!
//! Only leaves are calls: spans of agents, chains and workflows repeat the tokens and texts of their children, and are
//! parents. Anything else (HTTP, databases, embeddings) holds no call.
//!
//! **Source**: the semantic conventions of the writers; `gen_ai.response.time_to_first_chunk` is in seconds,
//! `ai.response.msToFirstChunk` in milliseconds.
//!
//! **Limits**: OpenInference overwrites `llm.model_name` by the model that answered; the one that was asked for stands
//! in `llm.invocation_parameters`, where it is logged.

use std::borrow::Cow;

use super::attributes::{Attributes, list_of};
use crate::record::{
    Container, Dialect, Entry, Format, Ignored, Passage,
    body::{
        self, Answer, Conversation,
        message::{Joined, Said, args_of, passage, read_calls, take_text, text_of},
    },
    call::{Call, count, decoded},
    json::Json,
    values::Unit,
};

/// The attribute in which OpenInference says what a span is.
pub(super) const KIND: &str = "openinference.span.kind";

/// A span, whoever wrote it.
#[derive(Debug)]
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
            frame(span, call)
        }
        Role::Model => {
            let mut call = Call::llm(container);
            match dialect {
                Dialect::OpenInference => read_openinference(&mut span, &mut call),
                Dialect::Vercel => read_vercel(&mut span, &mut call),
                _ => read_genai(&mut span, dialect, &mut call),
            }
            frame(span, call)
        }
    };
    if let Entry::Record(record) = &mut entry {
        record.format.dialect = Some(dialect);
    }
    entry
}

/// A span that holds no call, with what it tells the calls of its trace.
fn without_call<'a>(mut span: Span<'a>, ignored: Ignored<'a>) -> Entry<'a> {
    let session_id = session_of(&mut span.attributes);
    let documents = documents_of(&mut span.attributes);
    let mut call = Call::llm(ignored.format.container);
    call.record.session_id = session_id;
    call.times(span.start, span.end, None);
    call.span(span.trace_id, span.id, span.parent_id);
    call.without_call(ignored, documents)
}

/// The conversation that a span belongs to.
fn session_of<'a>(of: &mut Attributes<'a>) -> Option<Cow<'a, str>> {
    let session =
        ["session.id", "gen_ai.conversation.id", "ai.telemetry.metadata.sessionId", "thread.id", "mcp.session.id"];
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
    let (mut vercel, mut openinference, mut flat, mut traceloop, mut current, mut older) = Default::default();
    for key in attributes.keys() {
        match key {
            "ai.operationId" => vercel = true,
            KIND => openinference = true,
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
            _ if key.starts_with("gen_ai.prompt.") || key.starts_with("gen_ai.completion.") => flat = true,
            _ if key.starts_with("traceloop.") => traceloop = true,
            _ => {}
        }
    }
    let has_provider =
        attributes.get("gen_ai.provider.name").is_some() || attributes.get("gen_ai.input.messages").is_some();
    match () {
        () if vercel => Some(Dialect::Vercel),
        () if openinference => Some(Dialect::OpenInference),
        () if flat || (traceloop && !current) => Some(Dialect::TraceloopFlat),
        () if traceloop => Some(Dialect::Traceloop),
        () if older && !has_provider => Some(Dialect::GenAi136),
        () if current || older => Some(Dialect::GenAi),
        () => None,
    }
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
        _ => match text("gen_ai.operation.name").or(text("llm.request.type")).unwrap_or_default() {
            "execute_tool" => Role::Tool,
            "embeddings" | "embedding" => Role::Other("an embedding"),
            "rerank" | "retrieval" => Role::Other("a retrieval"),
            "invoke_agent" | "create_agent" | "invoke_workflow" | "plan" => Role::Parent("a span of an agent"),
            "chat" | "generate_content" | "text_completion" | "completion" => Role::Model,
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
    let first_token = first_token.and_then(|event| event.time.take());
    call.times(span.start.take(), span.end.take(), first_token);
    let exception = span.events.iter_mut().find(|event| event.name == "exception");
    let exception = exception.and_then(|event| event.attributes.name(&["exception.message", "exception.type"]));
    let kind = span.attributes.name(&["error.type", "error.message"]);
    if span.is_error || kind.is_some() {
        let message = span.message.filter(|message| !message.is_empty());
        let error = message.or(exception).or(kind).unwrap_or("the span has the status of an error".into());
        call.record.error = call.record.error.take().or(Some(error));
    }
    call.record.session_id = call.record.session_id.take().or_else(|| session_of(&mut span.attributes));
    call.record.id = call.record.id.take().or_else(|| span.id.clone());
    call.span(span.trace_id, span.id, span.parent_id);
    call.finish()
}

fn read_tool<'a>(span: &mut Span<'a>, dialect: Dialect, call: &mut Call<'a>) {
    let of = &mut span.attributes;
    call.record.call_id = of.name(&["gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id"]);
    let named = of.name(&["gen_ai.tool.name", "ai.toolCall.name", "tool.name", "traceloop.entity.name"]);
    call.record.tool = named.or_else(|| span.name.take());
    let args = of.take(&[
        "gen_ai.tool.call.arguments",
        "ai.toolCall.args",
        "ai.toolCall.input",
        "gcp.vertex.agent.tool_call_args",
    ]);
    let args = args.or_else(|| match dialect {
        Dialect::OpenInference => of.take(&["input.value", "tool.parameters"]),
        _ => of.take(&["traceloop.entity.input", "input.value"]).map(|input| arguments_of_entity(decoded(input))),
    });
    call.args(args);
    let result = of.take(&[
        "gen_ai.tool.call.result",
        "ai.toolCall.result",
        "ai.toolCall.output",
        "gcp.vertex.agent.tool_response",
    ]);
    call.result(result.or_else(|| of.take(&["output.value", "traceloop.entity.output"])));
}

/// Traceloop keeps the arguments of a decorated function as `{"args": [...], "kwargs": {...}}`, or below `inputs`.
fn arguments_of_entity(mut input: Json<'_>) -> Json<'_> {
    let is_filled = |value: &Json<'_>| value.as_object().is_some_and(|entries| !entries.is_empty());
    input.take("kwargs").filter(is_filled).or_else(|| input.take("inputs")).unwrap_or(input)
}

fn read_genai<'a>(span: &mut Span<'a>, dialect: Dialect, call: &mut Call<'a>) {
    if dialect == Dialect::TraceloopFlat {
        read_flat_messages(&mut span.attributes, call);
    }
    for event in &mut span.events {
        read_content_event(event, call);
    }
    let of = &mut span.attributes;
    call.record.provider = of.name(&["gen_ai.provider.name", "gen_ai.system"]);
    call.requested = of.name(&["gen_ai.request.model"]);
    call.served = of.name(&["gen_ai.response.model"]);
    call.record.response_id = of.name(&["gen_ai.response.id"]);
    call.record.id = call.record.response_id.clone();
    let system = of.take(&["gen_ai.system_instructions"]).map(decoded).and_then(text_of);
    if let Some(Json::Array(messages)) = of.take(&["gen_ai.input.messages", "gen_ai.prompt"]).map(decoded) {
        call.asked(Conversation::of_messages(messages));
    }
    call.record.system = body::join_lines(system.into_iter().chain(call.record.system.take()).collect());
    if let Some(Json::Array(messages)) = of.take(&["gen_ai.output.messages", "gen_ai.completion"]).map(decoded) {
        read_output(messages, call);
    }
    let reasons = of.take(&["gen_ai.response.finish_reasons"]).map(decoded);
    let reason = reasons.and_then(|reasons| match reasons {
        Json::Array(reasons) => reasons.into_iter().find_map(text_of),
        reason => text_of(reason),
    });
    call.record.finish_reason = reason.or(call.record.finish_reason.take());
    call.record.tools = call.record.tools.take().or_else(|| of.take(&["gen_ai.tool.definitions"]).map(decoded));
    call.record.context.extend(documents_of(of));
    call.tokens(
        of.get("gen_ai.usage.input_tokens").or_else(|| of.get("gen_ai.usage.prompt_tokens")),
        of.get("gen_ai.usage.output_tokens").or_else(|| of.get("gen_ai.usage.completion_tokens")),
    );
    let cached =
        of.get("gen_ai.usage.cache_read.input_tokens").or_else(|| of.get("gen_ai.usage.cache_read_input_tokens"));
    call.record.cached_tokens = count(cached);
    let reasoning = of.get("gen_ai.usage.reasoning.output_tokens").or_else(|| of.get("gen_ai.usage.reasoning_tokens"));
    call.record.reasoning_tokens = count(reasoning);
    call.reported_ttft(
        of.take(&["gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token"]).as_ref(),
        Unit::S,
    );
}

/// The first message of an output is the answer; others are other answers.
fn read_output<'a>(messages: Vec<Json<'a>>, call: &mut Call<'a>) {
    let count = messages.len();
    let Some(mut first) = messages.into_iter().next() else { return };
    let finish_reason = take_text(&mut first, "finish_reason");
    let mut said = Said::default();
    said.add(first, Joined::ByLines);
    let mut answer = Answer::of_said(said);
    answer.finish_reason = finish_reason.or(answer.finish_reason);
    if count > 1 {
        answer.notes.add(crate::record::Note::FurtherAnswers);
    }
    call.answered(answer);
}

/// Older writers put the texts into events of the span.
fn read_content_event<'a>(event: &mut Event<'a>, call: &mut Call<'a>) {
    match &*event.name {
        "gen_ai.content.prompt" => {
            let prompt = event.attributes.take(&["gen_ai.prompt", "gen_ai.event.content"]);
            call.ask(prompt);
        }
        "gen_ai.content.completion" => {
            match event.attributes.take(&["gen_ai.completion", "gen_ai.event.content"]).map(decoded) {
                Some(Json::Array(messages)) => read_output(messages, call),
                other => call.answer(other),
            }
        }
        "gen_ai.client.inference.operation.details" => {
            if let Some(Json::Array(messages)) = event.attributes.take(&["gen_ai.input.messages"]).map(decoded) {
                call.asked(Conversation::of_messages(messages));
            }
            if let Some(Json::Array(messages)) = event.attributes.take(&["gen_ai.output.messages"]).map(decoded) {
                read_output(messages, call);
            }
        }
        _ => {}
    }
}

fn read_flat_messages<'a>(of: &mut Attributes<'a>, call: &mut Call<'a>) {
    let messages: Vec<Json<'a>> = of.list("gen_ai.prompt.").into_iter().map(flat_message).collect();
    if !messages.is_empty() {
        call.asked(Conversation::of_messages(messages));
    }
    let answers: Vec<Json<'a>> = of.list("gen_ai.completion.").into_iter().map(flat_message).collect();
    if !answers.is_empty() {
        read_output(answers, call);
    }
    let tools = of.list("llm.request.functions.").into_iter().map(|mut tool| {
        if let Json::Object(entries) = &mut tool
            && let Some((_, schema)) = entries.iter_mut().find(|(key, _)| key == "parameters")
        {
            *schema = decoded(std::mem::take(schema));
        }
        tool
    });
    let tools: Vec<Json<'a>> = tools.collect();
    if !tools.is_empty() {
        call.record.tools = Some(Json::Array(tools));
    }
}

/// A message of flat keys: calls are listed by index, and a content may be a list of parts in JSON.
fn flat_message(mut message: Json<'_>) -> Json<'_> {
    let calls = message.take("tool_calls").map(list_of);
    let content = message.take("content");
    let is_tool = message.get("role").and_then(Json::as_str) == Some("tool");
    let content = content.map(|content| match content {
        Json::String(text) if !is_tool && text.starts_with("[{") && text.contains("\"type\"") => {
            match Json::parse_text(text) {
                Ok(Json::Array(parts)) if parts.iter().all(|part| part.get("type").is_some()) => Json::Array(parts),
                Ok(other) => Json::String(other.to_compact_string().into()),
                Err(text) => Json::String(text),
            }
        }
        content => content,
    });
    if let Json::Object(entries) = &mut message {
        entries.retain(|(_, value)| !value.is_null());
        entries.extend(content.map(|content| ("content".into(), content)));
        entries.extend(calls.map(|calls| ("tool_calls".into(), Json::Array(calls))));
    }
    message
}

fn read_openinference<'a>(span: &mut Span<'a>, call: &mut Call<'a>) {
    let of = &mut span.attributes;
    let messages: Vec<Json<'a>> = of.list_at("llm.input_messages").into_iter().map(openinference_message).collect();
    let output: Vec<Json<'a>> = of.list_at("llm.output_messages").into_iter().map(openinference_message).collect();
    let (input_value, output_value) = (of.take(&["input.value"]).map(decoded), of.take(&["output.value"]).map(decoded));
    if messages.is_empty() {
        call.ask(input_value);
    } else {
        call.asked(Conversation::of_messages(messages));
    }
    // The body that the answer came in knows its id; messages say what was answered.
    let body = output_value.map(body::read_answer).and_then(Result::ok);
    if !output.is_empty() {
        read_output(output, call);
    }
    call.record.finish_reason = of.name(&["llm.finish_reason"]).or(call.record.finish_reason.take());
    if let Some(mut body) = body {
        if call.record.response.is_some() || !call.record.tool_calls.is_empty() {
            (body.text, body.tool_calls) = (None, Vec::new());
        }
        call.answered(Answer { model: None, created: None, ..body });
    }
    let parameters = of.take(&["llm.invocation_parameters"]).map(decoded);
    let requested = of.name(&["llm.request.model_name"]).or_else(|| take_text(&mut parameters?, "model"));
    let answered = of.name(&["llm.response.model_name", "llm.model_name"]);
    (call.requested, call.served) = match (requested, answered) {
        (None, answered) => (answered, None),
        both => both,
    };
    call.record.provider = of.name(&["llm.provider", "llm.system"]);
    let tools: Vec<Json<'a>> = of
        .list_at("llm.tools")
        .into_iter()
        .filter_map(|mut tool| tool.take("tool")?.take("json_schema").map(decoded))
        .collect();
    if !tools.is_empty() {
        call.record.tools = Some(Json::Array(tools));
    }
    call.record.context.extend(documents_of(of));
    (call.record.prompt_tokens, call.record.response_tokens) = (
        count(of.get("llm.token_count.prompt")).or(call.record.prompt_tokens),
        count(of.get("llm.token_count.completion")).or(call.record.response_tokens),
    );
    call.record.cached_tokens =
        count(of.get("llm.token_count.prompt_details.cache_read")).or(call.record.cached_tokens);
    call.record.reasoning_tokens =
        count(of.get("llm.token_count.completion_details.reasoning")).or(call.record.reasoning_tokens);
}

/// `{"message": {"role", "content" | "contents": [{"message_content"}], "tool_calls": [{"tool_call"}]}}` as the others
/// have it.
fn openinference_message(mut message: Json<'_>) -> Json<'_> {
    let mut message = message.take("message").unwrap_or(message);
    let calls = message.take("tool_calls").map(list_of);
    let parts = message.take("contents").map(list_of);
    let parts =
        parts.map(|parts| parts.into_iter().map(|mut part| part.take("message_content").unwrap_or(part)).collect());
    if let Json::Object(entries) = &mut message {
        entries.retain(|(_, value)| !value.is_null());
        if let Some(parts) = parts {
            entries.retain(|(key, _)| key != "content");
            entries.push(("content".into(), Json::Array(parts)));
        }
        entries.extend(calls.map(|calls| ("tool_calls".into(), Json::Array(calls))));
    }
    message
}

fn read_vercel<'a>(span: &mut Span<'a>, call: &mut Call<'a>) {
    let of = &mut span.attributes;
    match of.take(&["ai.prompt.messages"]).map(decoded) {
        Some(Json::Array(messages)) => call.asked(Conversation::of_messages(messages)),
        _ => call.ask(of.take(&["ai.prompt"])),
    }
    let object = of.take(&["ai.response.object"]);
    let text = of.take(&["ai.response.text", "ai.result.text"]).or(object).and_then(text_of);
    let calls = of.take(&["ai.response.toolCalls", "ai.result.toolCalls"]).map(read_calls).unwrap_or_default();
    let text = text.filter(|text| !text.is_empty() || calls.is_empty());
    call.answered(Answer { text, tool_calls: calls, ..Answer::default() });
    call.record.finish_reason = of.name(&["ai.response.finishReason", "ai.finishReason"]);
    call.record.response_id = of.name(&["ai.response.id", "gen_ai.response.id"]);
    call.record.id = call.record.response_id.clone();
    call.requested = of.name(&["ai.model.id", "gen_ai.request.model"]);
    call.served = of.name(&["ai.response.model", "gen_ai.response.model"]);
    call.record.provider = of.name(&["ai.model.provider", "gen_ai.system"]);
    if let Some(tools) = of.take(&["ai.prompt.tools"]).map(decoded) {
        // Each tool is JSON in a string, its schema under `inputSchema`.
        call.record.tools = Some(Json::Array(list_of(tools).into_iter().map(args_of).collect()));
    }
    let prompt = of.take(&["ai.usage.inputTokens", "ai.usage.promptTokens", "gen_ai.usage.input_tokens"]);
    let response = of.take(&["ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens"]);
    call.tokens(prompt.as_ref(), response.as_ref());
    call.record.cached_tokens = count(of.get("ai.usage.cachedInputTokens"));
    call.record.reasoning_tokens = count(of.get("ai.usage.reasoningTokens"));
    call.reported_ttft(of.take(&["ai.response.msToFirstChunk"]).as_ref(), Unit::Ms);
}
