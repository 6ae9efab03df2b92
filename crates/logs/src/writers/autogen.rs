//! Event logs of AutoGen, and the messages of its agents.
//!
//! - `LLMCall`: a whole call, in the dialect of Chat Completions; `LLMStreamStart` has the messages of a call and
//!   `LLMStreamEnd` its answer
//! - `ToolCall`: a call of a tool with its result. The answer that asked for it has its id, by which the conversation is
//!   known to tell of the same call
//! - messages (`source`, `models_usage`, `type`): each that a model gave is a call
//! - messages between agents, and what was dropped or failed, hold no call
//!
//! **Source**: microsoft/autogen 0.4 to 0.7, `autogen_core/logging.py`, `autogen_agentchat/messages.py`.
//!
//! **Limits**: events of several calls of one agent at once are told apart by their order only.

use std::{borrow::Cow, num::NonZeroUsize};

use lru::LruCache;

use super::{
    Writer, chat,
    conversation::{self, Speaker, message},
    has_all, text,
};
use crate::{
    assemble::{Fate, Joined, Joiner, Limits, Load, Step, waiting::Waiting},
    hash,
    record::{
        Container, Content, Entry, Format, Fragment, Record,
        body::message::{take_name, take_text},
        call::{Call, Entries},
        json::Json,
    },
};

const CONTAINER: Container = Container::named("autogen");

/// Calls of tools that a log was asked for, and whose event did not come yet.
const ASKED_MAX: usize = 4_096;

/// Types of messages that a model may give.
const MESSAGES: [&str; 10] = [
    "TextMessage",
    "UserMessage",
    "SystemMessage",
    "AssistantMessage",
    "FunctionExecutionResultMessage",
    "ToolCallRequestEvent",
    "ToolCallExecutionEvent",
    "MultiModalMessage",
    "StopMessage",
    "HandoffMessage",
];

/// Types of messages that say again what others have said.
const REPEATS: [&str; 6] = [
    "ToolCallSummaryMessage",
    "ThoughtEvent",
    "ModelClientStreamingChunkEvent",
    "MemoryQueryEvent",
    "UserInputRequestedEvent",
    "SelectSpeakerEvent",
];

/// Events without a call.
const EVENTS: [&str; 4] = ["Message", "MessageDropped", "MessageHandlerException", "AgentConstructionException"];

/// Event logs of AutoGen.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "event logs of AutoGen, messages of its agents",
    told_by: "`type` = `LLMCall`, `LLMStreamEnd`, `ToolCall`; `source` and `models_usage`",
    marks: &["type", "messages"],
    matches: |value| is_event(value) || is_message(value) || is_list(value),
    read,
    joiner: Some(|limits| Box::new(Events::new(limits))),
};

fn is_event(value: &Json<'_>) -> bool {
    match text(value, "type") {
        "LLMCall" => has_all(value, &["messages", "response"]),
        "LLMStreamStart" => value.get("messages").is_some(),
        "LLMStreamEnd" => value.get("response").is_some(),
        "ToolCall" => has_all(value, &["tool_name", "arguments"]),
        kind => EVENTS.contains(&kind) && (value.get("agent_id").is_some() || has_all(value, &["payload", "sender"])),
    }
}

/// Whether a value is a message of an agent.
fn is_message(value: &Json<'_>) -> bool {
    let kind = text(value, "type");
    (MESSAGES.contains(&kind) || REPEATS.contains(&kind)) && value.get("source").is_some()
        || (kind == "SystemMessage" && value.get("content").is_some())
        || (kind == "FunctionExecutionResultMessage" && value.get("content").is_some())
}

fn is_list(value: &Json<'_>) -> bool {
    let messages = value.get("messages").and_then(Json::as_array).unwrap_or_default();
    !messages.is_empty() && messages.iter().all(is_message)
}

fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    if is_list(&value) {
        let Some(Json::Array(messages)) = value.take("messages") else { return };
        let frame = chat::frame_of(CONTAINER, value);
        return conversation::push(messages.into_iter().filter_map(said).collect(), frame, entries);
    }
    if is_message(&value) {
        return match said(value) {
            Some(said) => entries.push(Ok(Entry::Fragment(chat::fragment(CONTAINER, said)))),
            None => entries.skipped(CONTAINER, "a message that says again what others have said"),
        };
    }
    if EVENTS.contains(&text(&value, "type")) {
        return entries.skipped(CONTAINER, "a message between agents");
    }
    entries.push(Ok(Entry::Fragment(Fragment::of_value(Format::of(CONTAINER), value))));
}

/// What a message of an agent says; `None` for one that repeats others.
fn said<'a>(mut value: Json<'a>) -> Option<Json<'a>> {
    let kind = take_text(&mut value, "type").unwrap_or_default();
    let is_users = value.get("source").and_then(Json::as_str).is_some_and(|name| name.eq_ignore_ascii_case("user"));
    let has_usage = value.get("models_usage").is_some_and(|usage| !usage.is_null());
    let speaker = match &*kind {
        "SystemMessage" => Speaker::System,
        "UserMessage" => Speaker::User,
        "AssistantMessage" | "ToolCallRequestEvent" => Speaker::Model,
        "FunctionExecutionResultMessage" | "ToolCallExecutionEvent" => Speaker::Tool,
        _ if REPEATS.contains(&&*kind) => return None,
        _ if is_users && !has_usage => Speaker::User,
        _ if kind == "StopMessage" || kind == "HandoffMessage" => return None,
        _ => Speaker::Model,
    };
    let content = value.take("content");
    let about = [
        ("models_usage", value.take("models_usage")),
        ("created_at", value.take("created_at")),
        ("id", value.take("id")),
    ];
    let (content, calls) = match content {
        Some(Json::Array(calls)) if speaker == Speaker::Model => (None, Some(Json::Array(calls))),
        Some(Json::Array(results)) if speaker == Speaker::Tool => {
            (Some(Json::Array(results.into_iter().map(result).collect())), None)
        }
        content => (content, None),
    };
    let role = if speaker == Speaker::Tool { Speaker::User } else { speaker };
    Some(message(role, content, about.into_iter().chain([("tool_calls", calls)])))
}

/// `{"content", "name", "call_id", "is_error"}` as a part of a message.
fn result<'a>(mut result: Json<'a>) -> Json<'a> {
    if let Json::Object(entries) = &mut result {
        entries.push(("type".into(), Json::String("tool_result".into())));
    }
    result
}

/// Events of which one tells what another lacks.
#[derive(Debug)]
struct Events {
    /// Calls that were begun, by agent.
    begun: Waiting<Json<'static>>,
    /// Ids of calls of tools that an answer asked for, by source, tool and arguments.
    asked: LruCache<u64, Vec<String>>,
}

impl Events {
    fn new(_: &Limits) -> Events {
        Events {
            begun: Waiting::default(),
            asked: LruCache::new(NonZeroUsize::new(ASKED_MAX).unwrap_or(NonZeroUsize::MIN)),
        }
    }

    /// Remembers the calls that an answer asks for.
    fn remember(&mut self, record: &Record<'_>, step: &Step) {
        for call in &record.tool_calls {
            let Some(id) = &call.id else { continue };
            let ids = self.asked.get_or_insert_mut(name_of(step, &call.name, &call.args), Vec::new);
            ids.push(id.to_string());
        }
    }
}

/// The name of a call of a tool in its source.
fn name_of(step: &Step, tool: &str, args: &Json<'_>) -> u64 {
    hash::combine(step.in_source(tool), args.canonical_hash())
}

impl Joiner for Events {
    fn push(&mut self, fragment: Fragment<'static>, step: &mut Step) -> Fate {
        let Content::Value(mut value) = fragment.content else { return Fate::Rejected("no event of a log".to_owned()) };
        let agent = step.in_source(text(&value, "agent_id"));
        match text(&value, "type") {
            "LLMStreamStart" => {
                self.begun.begin(step, agent, value);
                Fate::Merged
            }
            "ToolCall" => {
                let mut record = tool(value);
                let (tool, args) = (record.tool.clone().unwrap_or_default(), record.args.clone().unwrap_or_default());
                let ids = self.asked.get_mut(&name_of(step, &tool, &args));
                record.call_id = ids.filter(|ids| !ids.is_empty()).map(|ids| Cow::Owned(ids.remove(0)));
                record.id = record.call_id.clone();
                step.release(record)
            }
            kind => {
                let is_end = kind == "LLMStreamEnd";
                if let Some(open) = is_end.then(|| self.begun.take_of(agent)).flatten() {
                    let mut begun = open.body;
                    let asked = ["messages", "tools"].map(|key| (key, begun.take(key)));
                    if let Json::Object(entries) = &mut value {
                        entries.extend(asked.into_iter().filter_map(|(key, value)| Some((key.into(), value?))));
                    }
                }
                let record = call(value);
                self.remember(&record, step);
                step.release(record)
            }
        }
    }

    fn load(&self) -> Load {
        self.begun.load()
    }

    fn let_oldest_go(&mut self, step: &mut Step) {
        if let Some(open) = self.begun.take_oldest() {
            step.records.push(Joined::record(open.place, call(open.body)).further().unanswered());
        }
    }
}

/// A call of the model.
fn call(mut event: Json<'static>) -> Record<'static> {
    let mut call = Call::llm(CONTAINER);
    call.record.session_id = take_name(&mut event, "agent_id");
    call.ask(event.take("messages"));
    call.record.tools = event.take("tools").filter(|tools| tools.as_array().is_some_and(|tools| !tools.is_empty()));
    call.tokens(event.get("prompt_tokens"), event.get("completion_tokens"));
    // What a stream ends with is no body: a text, or the calls that the answer makes.
    match event.take("response").map(answer) {
        Some(Ok(said)) => call.answer(Some(said)),
        Some(Err(response)) => call.answer(Some(response)),
        None => {}
    }
    call.record()
}

/// The result of AutoGen's own client as a message; anything else comes back.
fn answer<'a>(mut response: Json<'a>) -> Result<Json<'a>, Json<'a>> {
    if !has_all(&response, &["finish_reason", "content"]) || response.get("choices").is_some() {
        return Err(response);
    }
    let (content, calls) = match response.take("content") {
        Some(Json::Array(calls)) => (None, Some(Json::Array(calls))),
        content => (content, None),
    };
    let stop = response.take("finish_reason").filter(|_| calls.is_none());
    Ok(message(
        Speaker::Model,
        content,
        [("tool_calls", calls), ("stop_reason", stop), ("usage", response.take("usage"))],
    ))
}

/// A call of a tool.
fn tool(mut event: Json<'static>) -> Record<'static> {
    let mut call = Call::tool(CONTAINER, take_name(&mut event, "tool_name"));
    call.record.session_id = take_name(&mut event, "agent_id");
    call.args(event.take("arguments"));
    call.result(event.take("result"));
    call.record()
}
