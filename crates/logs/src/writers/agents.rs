//! Runs of agents: OpenHands, SWE-agent, mini-swe-agent, CrewAI, and the messages of Pydantic AI.
//!
//! - OpenHands: events (`action`, `observation`), below `history` or `trajectory`, or units of their own. The response of the
//!   model stands in `tool_call_metadata` of each action that it led to, and is one call; events of the later SDK have a
//!   `kind`, and name the response that they are of
//! - SWE-agent: `history` of messages; those of a demonstration are no calls; how long a tool took stands in `trajectory`
//! - mini-swe-agent: `messages`, with the response below `extra`
//! - CrewAI: a line for each task that is completed; the output of a crew
//! - Pydantic AI: messages of the `kind` `request` and `response`
//!
//! **Source**: All-Hands-AI/OpenHands `events/serialization`, OpenHands/software-agent-sdk `event`, SWE-agent/SWE-agent
//! `types.py`, SWE-agent/mini-swe-agent, crewAIInc/crewAI `FileHandler` and `CrewOutput`, pydantic/pydantic-ai `messages.py`.
//!
//! **Limits**: a task of CrewAI may take several calls of a model, of which nothing is known but the last answer.

use std::borrow::Cow;

use super::{
    Writer, chat,
    conversation::{self, Frame, Speaker, message},
    has_all, has_any, text,
};
use crate::record::{
    Container, Entry,
    body::message::{take_name, take_text, text_of},
    call::{Call, Entries, decoded},
    json::Json,
};

const OPENHANDS: Container = Container::named("openhands");
const SWE_AGENT: Container = Container::named("swe_agent");
const MINI: Container = Container::named("mini_swe_agent");
const CREWAI: Container = Container::named("crewai");
const PYDANTIC_AI: Container = Container::named("pydantic_ai");

/// Runs of agents.
pub(super) const WRITER: Writer = Writer {
    container: Container::named("agent_run"),
    about: "runs of OpenHands, SWE-agent, mini-swe-agent, CrewAI; messages of Pydantic AI",
    told_by: "`action` or `observation` with a `source`; `trajectory` with `history`; `trajectory_format`; `task` with `agent` and `status`; `kind` with `parts`",
    marks: &[
        "action",
        "observation",
        "llm_message",
        "tool_call",
        "history",
        "trajectory",
        "trajectory_format",
        "messages",
        "tasks_output",
        "task_name",
        "part_kind",
        "kind",
    ],
    matches: |value| Run::of(value).is_some(),
    read,
    joiner: None,
};

/// What a value is of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Run {
    /// Events of OpenHands below a key.
    OpenHands(&'static str),
    OpenHandsEvent,
    SweAgent,
    Mini,
    CrewOutput,
    CrewTask,
    PydanticList(&'static str),
    PydanticMessage,
}

impl Run {
    fn of(value: &Json<'_>) -> Option<Run> {
        let list = |key: &str| value.get(key).and_then(Json::as_array).filter(|list| !list.is_empty());
        if has_all(value, &["trajectory", "history", "info"])
            && list("history").is_some_and(|all| all.iter().all(|said| said.get("role").is_some()))
        {
            return Some(Run::SweAgent);
        }
        if list("messages").is_some()
            && (value.get("trajectory_format").is_some() || value.pointer("/info/mini_version").is_some())
        {
            return Some(Run::Mini);
        }
        let keys = ["history", "trajectory", "events"];
        if let Some(key) = keys.into_iter().find(|key| list(key).is_some_and(|all| all.iter().all(is_step))) {
            return Some(Run::OpenHands(key));
        }
        if is_event(value) {
            return Some(Run::OpenHandsEvent);
        }
        if has_all(value, &["raw", "tasks_output"]) && list("tasks_output").is_some() {
            return Some(Run::CrewOutput);
        }
        if has_all(value, &["task", "agent", "status", "timestamp"]) && has_any(value, &["task_name", "output"]) {
            return Some(Run::CrewTask);
        }
        let keys = ["messages", "history", "message_history"];
        if let Some(key) = keys.into_iter().find(|key| list(key).is_some_and(|all| all.iter().all(is_pydantic))) {
            return Some(Run::PydanticList(key));
        }
        is_pydantic(value).then_some(Run::PydanticMessage)
    }
}

/// Whether a value is an event of OpenHands, or a pair of them.
fn is_step(value: &Json<'_>) -> bool {
    match value {
        Json::Array(pair) => !pair.is_empty() && pair.iter().all(is_event),
        _ => is_event(value),
    }
}

fn is_event(value: &Json<'_>) -> bool {
    let is_source = matches!(text(value, "source"), "user" | "agent" | "environment" | "hook");
    let is_first = has_all(value, &["action", "args"]) || has_all(value, &["observation", "extras"]);
    let is_later = text(value, "kind").ends_with("Event")
        && has_any(value, &["llm_message", "tool_call_id", "system_prompt", "key", "error", "tools"]);
    is_source && has_any(value, &["id", "timestamp"]) && (is_first || is_later)
}

fn is_pydantic(value: &Json<'_>) -> bool {
    let is_part = |part: &Json<'_>| part.get("part_kind").is_some_and(|kind| kind.as_str().is_some());
    matches!(text(value, "kind"), "request" | "response")
        && value.get("parts").and_then(Json::as_array).is_some_and(|parts| parts.iter().all(is_part))
}

fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    match Run::of(&value) {
        Some(Run::OpenHands(key)) => {
            let Some(Json::Array(steps)) = value.take(key) else { return };
            let session_id = ["instance_id", "id", "sid"].into_iter().find_map(|key| take_name(&mut value, key));
            let mut events = Vec::new();
            for step in steps {
                match step {
                    Json::Array(pair) => events.extend(pair),
                    event => events.push(event),
                }
            }
            let frame = Frame { container: OPENHANDS, session_id, ..Frame::default() };
            conversation::push(openhands(events), frame, entries);
        }
        Some(Run::OpenHandsEvent) => {
            let said = openhands(vec![value]);
            if said.is_empty() {
                return entries.skipped(OPENHANDS, "an event without a message");
            }
            lines(OPENHANDS, said, entries);
        }
        Some(Run::SweAgent) => swe_agent(value, entries),
        Some(Run::Mini) => mini(value, entries),
        Some(Run::CrewOutput) => crew(value, entries),
        Some(Run::CrewTask) => {
            if text(&value, "status") != "completed" {
                return entries.skipped(CREWAI, "the beginning of a task");
            }
            let mut call = Call::llm(CREWAI);
            call.times(value.take("timestamp"), None, None);
            call.ask(value.take("task"));
            call.answer(value.take("output"));
            entries.push(Ok(call.finish()));
        }
        Some(Run::PydanticList(key)) => {
            let Some(Json::Array(messages)) = value.take(key) else { return };
            let frame = chat::frame_of(PYDANTIC_AI, value);
            conversation::push(messages.into_iter().flat_map(pydantic).collect(), frame, entries);
        }
        Some(Run::PydanticMessage) => lines(PYDANTIC_AI, pydantic(value), entries),
        None => entries.push(Err("no run of an agent".to_owned())),
    }
}

/// Messages that are units of their own.
fn lines<'a>(container: Container, said: Vec<Json<'a>>, entries: &mut Entries<'a>) {
    for said in said {
        entries.push(Ok(Entry::Fragment(chat::fragment(container, said))));
    }
}

/// What the events of OpenHands say.
fn openhands<'a>(events: Vec<Json<'a>>) -> Vec<Json<'a>> {
    let mut messages: Vec<Json<'a>> = Vec::new();
    // The response that was told last: several actions may be of one.
    let mut told: Option<Cow<'a, str>> = None;
    for mut event in events {
        let at = ("timestamp", event.take("timestamp"));
        let is_agents = text(&event, "source") == "agent";
        if let Some(kind) = take_text(&mut event, "kind") {
            let response = take_text(&mut event, "llm_response_id");
            let is_same = response.is_some() && response == told;
            if let Some(said) = openhands_sdk(&kind, event, at, response.clone()) {
                match (is_same, messages.last_mut()) {
                    (true, Some(last)) => add_calls(last, said),
                    _ => messages.push(said),
                }
                if is_agents && response.is_some() {
                    told = response;
                }
            }
            continue;
        }
        let mut metadata = event.take("tool_call_metadata").unwrap_or_default();
        let tool = [("tool_call_id", metadata.take("tool_call_id")), ("name", metadata.take("function_name"))];
        if let Some(observation) = take_text(&mut event, "observation") {
            const ASIDE: [&str; 4] = ["agent_state_changed", "recall", "null", "success"];
            if ASIDE.contains(&&*observation) && tool[0].1.is_none() {
                continue;
            }
            let is_error = observation == "error";
            let [id, name] = tool;
            let name = if name.1.is_some() { name } else { ("name", Some(Json::String(observation))) };
            let status = is_error.then(|| Json::String("error".into()));
            let content = event.take("content").or_else(|| event.take("message"));
            messages.push(message(Speaker::Tool, content, [at, id, name, ("status", status)]));
            continue;
        }
        let Some(action) = take_text(&mut event, "action") else { continue };
        let mut args = event.take("args").unwrap_or_default();
        if let Some(mut response) = metadata.take("model_response").filter(|response| response.get("choices").is_some())
        {
            let id = take_text(&mut response, "id");
            if id.is_some() && id == told {
                continue;
            }
            told.clone_from(&id);
            messages.extend(of_response(response, id.map(Json::String), at));
            continue;
        }
        match (is_agents, &*action) {
            (false, "message") => messages.push(message(Speaker::User, args.take("content"), [at])),
            (_, "system") => messages.push(message(Speaker::System, args.take("content"), [])),
            (true, "message" | "finish" | "think" | "reject") => {
                let said = ["content", "final_thought", "thought"]
                    .into_iter()
                    .find_map(|key| args.take(key).filter(|said| said.as_str() != Some("")));
                messages.extend(said.map(|said| message(Speaker::Model, Some(said), [at])));
            }
            (true, "change_agent_state" | "recall" | "null" | "condensation" | "condensation_request") => {}
            (true, _) => {
                let thought = args.take("thought").filter(|said| said.as_str() != Some(""));
                let call = [("name".into(), Json::String(action)), ("arguments".into(), args)];
                let calls = Json::Array(vec![Json::Object(call.into_iter().collect())]);
                messages.push(message(Speaker::Model, thought, [at, ("tool_calls", Some(calls))]));
            }
            _ => {}
        }
    }
    messages
}

/// The answer in a response body of Chat Completions, as a message with what is known of it.
fn of_response<'a>(
    mut response: Json<'a>,
    id: Option<Json<'a>>,
    at: (&'static str, Option<Json<'a>>),
) -> Option<Json<'a>> {
    let Some(Json::Array(choices)) = response.take("choices") else { return None };
    let mut choice = choices.into_iter().next()?;
    let mut said = choice.take("message")?;
    let about = [
        at,
        ("id", id),
        ("model", response.take("model")),
        ("usage", response.take("usage")),
        ("finish_reason", choice.take("finish_reason")),
        ("tool_calls", said.take("tool_calls")),
    ];
    Some(message(Speaker::Model, said.take("content"), about))
}

/// What an event of OpenHands' SDK says.
fn openhands_sdk<'a>(
    kind: &str,
    mut event: Json<'a>,
    at: (&'static str, Option<Json<'a>>),
    response: Option<Cow<'a, str>>,
) -> Option<Json<'a>> {
    let id = ("id", response.map(Json::String));
    let tool = [("tool_call_id", event.take("tool_call_id")), ("name", event.take("tool_name"))];
    match kind {
        "SystemPromptEvent" => Some(message(Speaker::System, event.take("system_prompt"), [])),
        "MessageEvent" => {
            let mut said = event.take("llm_message")?;
            let speaker = Speaker::of(&said).unwrap_or(Speaker::User);
            Some(message(speaker, said.take("content"), [at, id, ("tool_calls", said.take("tool_calls"))]))
        }
        "ActionEvent" => {
            let call = event.take("tool_call").map(|call| Json::Array(vec![call]));
            Some(message(Speaker::Model, event.take("thought"), [at, id, ("tool_calls", call)]))
        }
        "ObservationEvent" => {
            let observation = event.take("observation");
            let content =
                observation.map(|mut seen| seen.take("content").or_else(|| seen.take("output")).unwrap_or(seen));
            let content = content.map(|content| match content {
                Json::Array(parts) => text_of(Json::Array(parts)).map_or(Json::Null, Json::String),
                other => other,
            });
            Some(message(Speaker::Tool, content, [at].into_iter().chain(tool)))
        }
        "AgentErrorEvent" => {
            let status = ("status", Some(Json::String("error".into())));
            Some(message(Speaker::Tool, event.take("error"), [at, status].into_iter().chain(tool)))
        }
        _ => None,
    }
}

/// Adds the calls of a message to one of the same response.
fn add_calls<'a>(to: &mut Json<'a>, mut said: Json<'a>) {
    let Some(Json::Array(further)) = said.take("tool_calls") else { return };
    let Json::Object(entries) = to else { return };
    match entries.iter_mut().find(|(key, _)| key == "tool_calls") {
        Some((_, Json::Array(calls))) => calls.extend(further),
        _ => entries.push(("tool_calls".into(), Json::Array(further))),
    }
}

/// A trajectory of SWE-agent.
fn swe_agent<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let Some(Json::Array(history)) = value.take("history") else { return };
    let steps = match value.take("trajectory") {
        Some(Json::Array(steps)) => steps,
        _ => Vec::new(),
    };
    let mut took = steps.into_iter().map(|mut step| step.take("execution_time"));
    let config = value.take("replay_config").map(decoded);
    let model = config.as_ref().and_then(|config| config.pointer("/agent/model/name")?.as_str().map(str::to_owned));
    let session_id = take_name(&mut value, "environment");
    let frame = Frame { container: SWE_AGENT, session_id, model: model.map(Cow::Owned), ..Frame::default() };
    let mut has_acted = false;
    let messages = history.into_iter().filter_map(|mut said| {
        let is_shown =
            text(&said, "message_type") == "demonstration" || said.get("is_demo").and_then(Json::as_bool) == Some(true);
        if is_shown {
            return None;
        }
        if let Some(Json::Array(ids)) = said.take("tool_call_ids")
            && let (Json::Object(entries), Some(id)) = (&mut said, ids.into_iter().next())
        {
            entries.push(("tool_call_id".into(), id));
        }
        has_acted |= text(&said, "role") == "assistant";
        // What is observed first is the task.
        if has_acted
            && text(&said, "message_type") == "observation"
            && let (Json::Object(entries), Some(Some(took))) = (&mut said, took.next())
        {
            entries.push(("took_s".into(), took));
        }
        Some(said)
    });
    let messages = messages.collect();
    conversation::push(messages, frame, entries);
}

/// A trajectory of mini-swe-agent.
fn mini<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let Some(Json::Array(messages)) = value.take("messages") else { return };
    let model = ["/info/config/model/model_name", "/info/model_name"];
    let model = model.iter().find_map(|path| value.pointer(path)?.as_str().map(str::to_owned));
    let session_id = take_name(&mut value, "instance_id");
    let frame = Frame { container: MINI, session_id, model: model.map(Cow::Owned), ..Frame::default() };
    let messages = messages.into_iter().map(|mut said| {
        let mut extra = said.take("extra").unwrap_or_default();
        if let Some(mut response) = extra.take("response")
            && let Json::Object(entries) = &mut said
        {
            let own = ["id", "model", "usage", "created"];
            entries.extend(own.into_iter().filter_map(|key| Some((key.into(), response.take(key)?))));
        }
        if let (Some(at), Json::Object(entries)) = (extra.take("timestamp"), &mut said) {
            entries.push(("timestamp".into(), at));
        }
        said
    });
    let messages = messages.collect();
    conversation::push(messages, frame, entries);
}

/// The output of a crew: an answer for each of its tasks.
fn crew<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let Some(Json::Array(tasks)) = value.take("tasks_output") else { return };
    let is_only = tasks.len() == 1;
    let usage = value.take("token_usage").filter(|_| is_only);
    for mut task in tasks {
        let mut call = Call::llm(CREWAI);
        call.ask(task.take("description"));
        call.answer(task.take("raw"));
        if let Some(usage) = &usage {
            call.tokens(usage.get("prompt_tokens"), usage.get("completion_tokens"));
        }
        entries.push(Ok(call.finish()));
    }
}

/// What a message of Pydantic AI says: the parts of a request are said by several.
fn pydantic<'a>(mut value: Json<'a>) -> Vec<Json<'a>> {
    let is_answer = text(&value, "kind") == "response";
    let parts = match value.take("parts") {
        Some(Json::Array(parts)) => parts,
        _ => Vec::new(),
    };
    let at = value.take("timestamp");
    let (mut texts, mut calls, mut said) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(instructions) = value.take("instructions").filter(|text| text.as_str().is_some()) {
        said.push(message(Speaker::System, Some(instructions), []));
    }
    for mut part in parts {
        let tool = [("tool_call_id", part.take("tool_call_id")), ("name", part.take("tool_name"))];
        let when = ("timestamp", part.take("timestamp").or_else(|| at.clone()));
        match text(&part, "part_kind") {
            "system-prompt" => said.push(message(Speaker::System, part.take("content"), [])),
            "user-prompt" => said.push(message(Speaker::User, part.take("content"), [when])),
            "tool-return" => said.push(message(Speaker::Tool, part.take("content"), [when].into_iter().chain(tool))),
            "retry-prompt" => {
                let status = ("status", Some(Json::String("error".into())));
                let speaker = if tool[1].1.is_some() { Speaker::Tool } else { Speaker::User };
                said.push(message(speaker, part.take("content"), [when, status].into_iter().chain(tool)));
            }
            "text" => texts.extend(part.take("content")),
            "tool-call" | "builtin-tool-call" => {
                let [id, name] = tool;
                let call = [("id", id.1), name, ("arguments", part.take("args"))];
                calls.push(Json::Object(
                    call.into_iter().filter_map(|(key, value)| Some((key.into(), value?))).collect(),
                ));
            }
            _ => {}
        }
    }
    if is_answer {
        let about = [
            ("timestamp", at),
            ("id", value.take("provider_response_id").or_else(|| value.take("vendor_id"))),
            ("model", value.take("model_name")),
            ("provider", value.take("provider_name")),
            ("usage", value.take("usage")),
            ("finish_reason", value.take("finish_reason")),
            ("tool_calls", (!calls.is_empty()).then_some(Json::Array(calls))),
        ];
        said.push(message(Speaker::Model, (!texts.is_empty()).then_some(Json::Array(texts)), about));
    }
    said
}
