//! Sessions of coding clients in frames of their own: GitHub Copilot, opencode, Continue, Zed, Qwen Code, Cline; and what
//! clients keep beside their sessions.
//!
//! - Copilot Chat (VS Code, exported or stored): `requests`, each with `message` and `response`. Where the rounds of a request
//!   are told (`toolCallRounds`), each is a call; else the request is one
//! - Copilot CLI: an event a line, `{type, data, id, timestamp}`
//! - opencode: an export (`info` and `messages`), or files of messages and of their parts, which are put together at the end
//! - Continue: `history` of messages with `contextItems`, which are documents; its count of tokens repeats its interactions
//! - Zed: `messages` of `User` and `Agent`
//! - Qwen Code: a line for each `Content` of Gemini, in a frame like that of Claude Code
//! - histories of prompts, and what Cline shows, repeat the sessions beside them
//!
//! Cline, Roo Code, goose, Amp and pi keep lists or lines of messages, which need no frame to be read ([`chat`](super::chat)).
//!
//! **Source**: microsoft/vscode `chatModel.ts`, sst/opencode `message-v2.ts`, continuedev/continue, zed-industries/zed
//! `agent/src/db.rs`, QwenLM/qwen-code `chatRecordingService.ts`.
//!
//! **Limits**: the time that an answer of opencode took is known only where it calls no tools: they run inside of it. Edits
//! that Copilot shows are no text of its answer.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    Writer, chat,
    conversation::{self, Frame, Message, Speaker, Turns, message},
    has_all, has_any, text,
};
use crate::{
    assemble::{Fate, Joined, Joiner, Load, Step, waiting::Waiting},
    hash,
    input::Place,
    record::{
        Container, Content, Dialect, Entry, Format, Fragment,
        body::message::{take_name, take_text, text_of},
        call::Entries,
        json::Json,
    },
};

const COPILOT: Container = Container::named("copilot_chat");
const COPILOT_CLI: Container = Container::named("copilot_cli");
const OPENCODE: Container = Container::named("opencode");
const CONTINUE: Container = Container::named("continue");
const ZED: Container = Container::named("zed");
const QWEN: Container = Container::named("qwen_code");
const HISTORY: Container = Container::named("prompt_history");
const CLINE: Container = Container::named("cline");

/// Sessions of coding clients.
pub(super) const WRITER: Writer = Writer {
    container: Container::named("coding_client"),
    about: "sessions of GitHub Copilot, opencode, Continue, Zed, Qwen Code; histories of prompts",
    told_by: "`requests` with `response`; `type` with `data` of the Copilot CLI; `sessionID` with `messageID`; `history` with `contextItems`; `User` and `Agent`",
    marks: &[
        "requests",
        "requestId",
        "data",
        "info",
        "sessionID",
        "history",
        "messages",
        "uuid",
        "display",
        "ts",
        "messageId",
        "eventName",
    ],
    matches: |value| Client::of(value).is_some(),
    read,
    joiner: Some(|_| Box::new(Files::default())),
};

/// Whose session it is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Client {
    Copilot,
    CopilotRequest,
    CopilotCli,
    OpencodeExport,
    OpencodeFile,
    Continue,
    Zed,
    Qwen,
    /// What holds no call, and why.
    Aside(Container, &'static str),
}

impl Client {
    fn of(value: &Json<'_>) -> Option<Client> {
        let entries = value.as_object()?;
        let list = |key: &str| value.get(key).and_then(Json::as_array).filter(|list| !list.is_empty());
        let has_only = |keys: &[&str]| entries.iter().all(|(key, _)| keys.contains(&key.as_ref()));
        let is_request = |request: &Json<'_>| {
            request.get("message").is_some_and(|message| has_any(message, &["text", "parts"]))
                && has_any(request, &["response", "responseId", "requestId"])
        };
        if list("requests").is_some_and(|all| all.iter().all(is_request)) {
            return Some(Client::Copilot);
        }
        if has_all(value, &["requestId", "message", "response"]) && is_request(value) {
            return Some(Client::CopilotRequest);
        }
        let kind = text(value, "type");
        if has_all(value, &["data", "id", "timestamp"])
            && COPILOT_EVENTS.iter().any(|group| kind.split_once('.').is_some_and(|(first, _)| first == *group))
        {
            return Some(Client::CopilotCli);
        }
        let is_exported = |message: &Json<'_>| has_all(message, &["info", "parts"]);
        if value.get("info").is_some() && list("messages").is_some_and(|all| all.iter().all(is_exported)) {
            return Some(Client::OpencodeExport);
        }
        if value.get("sessionID").is_some() {
            let is_message = has_all(value, &["id", "role", "time"]);
            let is_part = has_all(value, &["id", "messageID", "type"]);
            let is_event = value.get("part").is_some_and(|part| has_all(part, &["messageID", "type"]));
            return (is_message || is_part || is_event).then_some(Client::OpencodeFile);
        }
        let is_item = |item: &Json<'_>| item.get("message").is_some() && item.get("contextItems").is_some();
        if list("history").is_some_and(|all| all.iter().all(is_item)) {
            return Some(Client::Continue);
        }
        let is_tagged = |message: &Json<'_>| {
            matches!(message, Json::String(text) if text == "Resume")
                || message
                    .as_object()
                    .is_some_and(|tag| matches!(tag, [(name, _)] if name == "User" || name == "Agent"))
        };
        if list("messages").is_some_and(|all| all.iter().all(is_tagged)) {
            return Some(Client::Zed);
        }
        if has_all(value, &["uuid", "parentUuid", "sessionId", "type"]) {
            let is_content = value.get("message").is_some_and(|message| message.get("parts").is_some());
            return (is_content || has_any(value, &["systemPayload", "toolCallResult"])).then_some(Client::Qwen);
        }
        let history = "a prompt in the history of a client, without its call";
        if has_all(value, &["session_id", "ts", "text"]) && entries.len() == 3
            || has_all(value, &["display", "timestamp"])
                && has_only(&["display", "timestamp", "project", "pastedContents", "sessionId"])
            || has_all(value, &["sessionId", "messageId", "message", "timestamp"])
                && has_only(&["sessionId", "messageId", "type", "message", "timestamp"])
        {
            return Some(Client::Aside(HISTORY, history));
        }
        if value.get("ts").is_some() && ["say", "ask"].iter().any(|own| kind == *own && value.get(own).is_some()) {
            return Some(Client::Aside(CLINE, "what a client shows of a conversation"));
        }
        (text(value, "eventName") == "tokensGenerated")
            .then_some(Client::Aside(CONTINUE, "the tokens of an interaction, which has a record of its own"))
    }
}

/// The first words of the types of events of the Copilot CLI.
const COPILOT_EVENTS: [&str; 10] =
    ["session", "user", "assistant", "tool", "system", "hook", "skill", "subagent", "abort", "permission"];

fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    match Client::of(&value) {
        Some(Client::Copilot) => {
            let Some(Json::Array(requests)) = value.take("requests") else { return };
            let session_id = take_name(&mut value, "sessionId");
            let frame = Frame { container: COPILOT, session_id, ..Frame::default() };
            conversation::push(requests.into_iter().flat_map(copilot_request).collect(), frame, entries);
        }
        Some(Client::CopilotRequest) => {
            let frame = Frame { container: COPILOT, ..Frame::default() };
            conversation::push(copilot_request(value), frame, entries);
        }
        Some(Client::CopilotCli) => match copilot_event(value) {
            Some(said) => entries.push(Ok(Entry::Fragment(chat::fragment(COPILOT_CLI, said)))),
            None => entries.skipped(COPILOT_CLI, "an event of a session that is no message"),
        },
        Some(Client::OpencodeExport) => {
            let Some(Json::Array(messages)) = value.take("messages") else { return };
            let session_id = value.take("info").and_then(|mut info| take_name(&mut info, "id"));
            let frame = Frame { container: OPENCODE, session_id, ..Frame::default() };
            let said = messages.into_iter().flat_map(|mut message| {
                let parts = match message.take("parts") {
                    Some(Json::Array(parts)) => parts,
                    _ => Vec::new(),
                };
                opencode_message(message.take("info").unwrap_or_default(), parts)
            });
            conversation::push(said.collect(), frame, entries);
        }
        Some(Client::OpencodeFile) => {
            let part = value.take("part").unwrap_or(value);
            entries.push(Ok(Entry::Fragment(Fragment {
                joiner: WRITER.container,
                ..Fragment::of_value(Format::of(OPENCODE), part)
            })));
        }
        Some(Client::Continue) => {
            let Some(Json::Array(items)) = value.take("history") else { return };
            let session_id = take_name(&mut value, "sessionId");
            let model = take_text(&mut value, "chatModelTitle");
            let frame = Frame { container: CONTINUE, session_id, model, ..Frame::default() };
            conversation::push(items.into_iter().map(continue_item).collect(), frame, entries);
        }
        Some(Client::Zed) => zed(value, entries),
        Some(Client::Qwen) => {
            if matches!(text(&value, "type"), "user" | "assistant" | "tool_result") && value.get("message").is_some() {
                return entries.push(Ok(Entry::Fragment(chat::fragment_of(QWEN, Dialect::Gemini, qwen(value)))));
            }
            entries.skipped(QWEN, "a note of the client");
        }
        Some(Client::Aside(container, what)) => entries.skipped(container, what),
        None => entries.push(Err("no session of a coding client".to_owned())),
    }
}

/// The messages of one request of Copilot Chat.
fn copilot_request<'a>(mut request: Json<'a>) -> Vec<Json<'a>> {
    let asked = request.take("message").and_then(|mut message| message.take("text").or_else(|| message.take("parts")));
    let mut result = request.take("result").unwrap_or_default();
    let mut metadata = result.take("metadata").unwrap_or_default();
    let timings = result.take("timings").unwrap_or_default();
    let error = result.take("errorDetails").and_then(|mut error| error.take("message"));
    let model = request.take("modelId").map(|model| match model {
        Json::String(name) => Json::String(name.strip_prefix("copilot/").map(str::to_owned).map_or(name, Cow::Owned)),
        other => other,
    });
    let at = request.take("timestamp");
    let mut messages = vec![message(Speaker::User, asked, [("timestamp", at.clone())])];
    let rounds = match metadata.take("toolCallRounds") {
        Some(Json::Array(rounds)) => rounds,
        _ => Vec::new(),
    };
    if rounds.is_empty() {
        let parts = match request.take("response") {
            Some(Json::Array(parts)) => parts,
            one => one.into_iter().collect(),
        };
        let texts: String = parts.into_iter().filter_map(copilot_part).collect();
        let about = [
            ("id", request.take("responseId")),
            ("timestamp", at),
            ("model", model),
            ("latency_ms", timings.get("totalElapsed").cloned()),
            ("ttft_ms", timings.get("firstProgress").cloned()),
            ("error", error),
        ];
        messages.push(message(Speaker::Model, Some(Json::String(texts.into())), about));
        return messages;
    }
    let mut results = metadata.take("toolCallResults").unwrap_or_default();
    let is_only = rounds.len() == 1;
    for mut round in rounds {
        let calls = match round.take("toolCalls") {
            Some(Json::Array(calls)) => calls,
            _ => Vec::new(),
        };
        let measured = |key: &str| timings.get(key).filter(|_| is_only).cloned();
        let about = [
            ("id", round.take("id")),
            ("timestamp", round.take("timestamp").or_else(|| at.clone().filter(|_| is_only))),
            ("model", model.clone()),
            ("latency_ms", measured("totalElapsed")),
            ("ttft_ms", measured("firstProgress")),
            ("tool_calls", (!calls.is_empty()).then(|| Json::Array(calls.clone()))),
        ];
        messages.push(message(Speaker::Model, round.take("response"), about));
        for call in calls {
            let id = text(&call, "id");
            if let Some(mut result) = results.take(id) {
                let content = result.take("content").and_then(text_of).map(Json::String);
                let own =
                    [("tool_call_id", Some(Json::String(id.to_owned().into()))), ("name", call.get("name").cloned())];
                messages.push(message(Speaker::Tool, content, own));
            }
        }
    }
    messages
}

/// The text of a part of an answer of Copilot Chat.
fn copilot_part(mut part: Json<'_>) -> Option<Cow<'_, str>> {
    match part.get("kind").and_then(Json::as_str) {
        None | Some("markdownContent" | "markdownVuln") => {
            let said = part.take("value").or_else(|| part.take("content")).unwrap_or(part);
            text_of(said)
        }
        Some("inlineReference") => take_text(&mut part, "name"),
        _ => None,
    }
}

/// What an event of the Copilot CLI says.
fn copilot_event<'a>(mut event: Json<'a>) -> Option<Json<'a>> {
    let kind = take_text(&mut event, "type")?;
    let mut data = event.take("data")?;
    let at = ("timestamp", event.take("timestamp"));
    match &*kind {
        "user.message" => Some(message(Speaker::User, data.take("content"), [at])),
        "system.message" => Some(message(Speaker::System, data.take("content"), [at])),
        "assistant.message" => {
            let about = [
                at,
                ("id", data.take("messageId")),
                ("model", data.take("model")),
                ("tool_calls", data.take("toolRequests")),
            ];
            Some(message(Speaker::Model, data.take("content"), about))
        }
        "tool.execution_complete" => {
            let failed = data.get("success").and_then(Json::as_bool) == Some(false);
            let content = data
                .take("result")
                .or_else(|| data.take("error"))
                .map(|mut result| result.take("content").or_else(|| result.take("message")).unwrap_or(result));
            let status = failed.then(|| Json::String("error".into()));
            Some(message(
                Speaker::Tool,
                content,
                [at, ("tool_call_id", data.take("toolCallId")), ("name", data.take("toolName")), ("status", status)],
            ))
        }
        _ => None,
    }
}

/// A message of opencode with its parts, and the results of its tools.
fn opencode_message<'a>(mut info: Json<'a>, parts: Vec<Json<'a>>) -> Vec<Json<'a>> {
    let is_answer = text(&info, "role") == "assistant";
    let (mut texts, mut calls, mut results) = (Vec::new(), Vec::new(), Vec::new());
    for mut part in parts {
        match text(&part, "type") {
            "text" => texts.extend(part.take("text")),
            "tool" => {
                let id = part.take("callID");
                let name = part.take("tool");
                let mut state = part.take("state").unwrap_or_default();
                let call = [("id", id.clone()), ("name", name.clone()), ("arguments", state.take("input"))];
                calls.push(Json::Object(
                    call.into_iter().filter_map(|(key, value)| Some((key.into(), value?))).collect(),
                ));
                let is_error = text(&state, "status") == "error";
                let status = is_error.then(|| Json::String("error".into()));
                let mut time = state.take("time").unwrap_or_default();
                if let Some(output) = state.take("output").or_else(|| state.take("error")) {
                    let about = [
                        ("tool_call_id", id),
                        ("name", name),
                        ("status", status),
                        ("begun_at", time.take("start")),
                        ("timestamp", time.take("end")),
                    ];
                    results.push(message(Speaker::Tool, Some(output), about));
                }
            }
            _ => {}
        }
    }
    let content = (!texts.is_empty()).then_some(Json::Array(texts));
    let mut time = info.take("time").unwrap_or_default();
    if !is_answer {
        return vec![message(Speaker::User, content, [("timestamp", time.take("created"))])];
    }
    let time = if calls.is_empty() { ("time", Some(time)) } else { ("timestamp", time.take("created")) };
    let error = info
        .take("error")
        .map(|mut error| error.take("data").and_then(|mut data| data.take("message")).unwrap_or(error));
    let about = [
        time,
        ("id", info.take("id")),
        ("model", info.take("modelID")),
        ("provider", info.take("providerID")),
        ("finish_reason", info.take("finish")),
        ("usage", info.take("tokens").map(opencode_tokens)),
        ("error", error),
        ("tool_calls", (!calls.is_empty()).then_some(Json::Array(calls))),
    ];
    let mut messages = vec![message(Speaker::Model, content, about)];
    messages.append(&mut results);
    messages
}

/// Token counts under the names of Anthropic, who counts the cache beside the input, too.
fn opencode_tokens(mut tokens: Json<'_>) -> Json<'_> {
    let mut cache = tokens.take("cache").unwrap_or_default();
    let counts = [
        ("input_tokens", tokens.take("input")),
        ("output_tokens", tokens.take("output")),
        ("reasoning_tokens", tokens.take("reasoning")),
        ("cache_read_input_tokens", cache.take("read")),
        ("cache_creation_input_tokens", cache.take("write")),
    ];
    Json::Object(counts.into_iter().filter_map(|(key, count)| Some((key.into(), count?))).collect())
}

/// A message of Continue, with the documents that were given with it.
fn continue_item<'a>(mut item: Json<'a>) -> Json<'a> {
    let documents = item.take("contextItems").map(|items| match items {
        Json::Array(items) => Json::Array(items.into_iter().map(continue_document).collect()),
        other => other,
    });
    let documents = documents.filter(|items| items.as_array().is_some_and(|items| !items.is_empty()));
    let log = item.take("promptLogs").and_then(|logs| match logs {
        Json::Array(logs) => logs.into_iter().next_back(),
        _ => None,
    });
    let model = log.and_then(|mut log| log.take("modelTitle").or_else(|| log.take("model")));
    let mut said = item.take("message").unwrap_or_default();
    if let Json::Object(entries) = &mut said {
        let own = [("attachments", documents), ("model", model)];
        entries.extend(own.into_iter().filter_map(|(key, value)| Some((key.into(), value?))));
    }
    said
}

/// A document of Continue, as a file that was attached.
fn continue_document<'a>(mut item: Json<'a>) -> Json<'a> {
    let own = [("file_name", item.take("name")), ("extracted_content", item.take("content"))];
    Json::Object(own.into_iter().filter_map(|(key, value)| Some((key.into(), value?))).collect())
}

/// A conversation of Zed.
fn zed<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    let Some(Json::Array(tagged)) = value.take("messages") else { return };
    let mut model = value.take("model").unwrap_or_default();
    let (name, provider) = (take_text(&mut model, "model"), take_text(&mut model, "provider"));
    let frame = Frame { model: name, provider, ..chat::frame_of(ZED, value) };
    let mut messages = Vec::new();
    for tag in tagged {
        let Json::Object(tag) = tag else { continue };
        for (name, mut said) in tag {
            let speaker = if name == "User" { Speaker::User } else { Speaker::Model };
            let parts = match said.take("content") {
                Some(Json::Array(parts)) => parts,
                _ => Vec::new(),
            };
            let (mut texts, mut calls) = (Vec::new(), Vec::new());
            for mut part in parts {
                texts.extend(part.take("Text"));
                calls.extend(part.take("ToolUse"));
            }
            let content = (!texts.is_empty()).then_some(Json::Array(texts));
            let calls = (!calls.is_empty()).then_some(Json::Array(calls));
            messages.push(message(speaker, content, [("id", said.take("id")), ("tool_calls", calls)]));
            if let Some(Json::Object(results)) = said.take("tool_results") {
                messages.extend(results.into_iter().map(|(id, result)| zed_result(id, result)));
            }
        }
    }
    conversation::push(messages, frame, entries);
}

/// The result of a tool of Zed.
fn zed_result<'a>(id: Cow<'a, str>, mut result: Json<'a>) -> Json<'a> {
    let is_error = result.get("is_error").and_then(Json::as_bool) == Some(true);
    let content = result.take("content").map(|mut content| content.take("Text").unwrap_or(content));
    let status = is_error.then(|| Json::String("error".into()));
    message(
        Speaker::Tool,
        content,
        [("tool_call_id", Some(Json::String(id))), ("name", result.take("tool_name")), ("status", status)],
    )
}

/// A line of Qwen Code as a message: results of tools are said in the role of the user.
fn qwen<'a>(mut value: Json<'a>) -> Json<'a> {
    let speaker = if text(&value, "type") == "assistant" { Speaker::Model } else { Speaker::User };
    let parts = value.take("message").and_then(|mut content| content.take("parts"));
    let about = [
        ("id", value.take("uuid")),
        ("session_id", value.take("sessionId")),
        ("timestamp", value.take("timestamp")),
        ("model", value.take("model")),
        ("usageMetadata", value.take("usageMetadata")),
    ];
    message(speaker, parts, about)
}

/// A session of opencode of which messages and parts stand in files of their own.
#[derive(Debug, Default)]
struct Session {
    messages: BTreeMap<String, (Place, Json<'static>)>,
    parts: BTreeMap<(String, String), (Place, Json<'static>)>,
}

impl Session {
    /// Puts the session together: its messages in the order of their ids, which is that of time.
    fn join(mut self, name: Option<String>) -> Vec<Joined> {
        let frame = Frame { container: OPENCODE, session_id: name.map(Cow::Owned), ..Frame::default() };
        let mut turns = Turns::new(frame);
        // Parts without their message are all that is known of an answer.
        for ((message, _), (place, _)) in &self.parts {
            if !self.messages.contains_key(message) {
                let info = [("id", Json::String(message.clone().into())), ("role", Json::String("assistant".into()))];
                let info = Json::Object(info.map(|(key, value)| (key.into(), value)).into_iter().collect());
                self.messages.insert(message.clone(), (place.clone(), info));
            }
        }
        let mut joined = Vec::new();
        for (id, (place, info)) in self.messages {
            let is_answer = text(&info, "role") == "assistant";
            let last = (id.clone(), char::MAX.to_string());
            let own: Vec<(String, String)> =
                self.parts.range((id.clone(), String::new())..=last).map(|(key, _)| key.clone()).collect();
            let parts = own.iter().filter_map(|key| Some(self.parts.remove(key)?.1)).collect();
            let said = opencode_message(info, parts).into_iter().filter_map(|said| Message::of(said).ok());
            let records: Vec<_> = said.flat_map(|said| turns.say(said)).collect();
            for (index, record) in records.into_iter().enumerate() {
                let record = Joined::record(place.clone(), record);
                joined.push(if is_answer && index == 0 { record } else { record.further() });
            }
        }
        joined
    }
}

/// Sessions of opencode in files.
#[derive(Debug, Default)]
struct Files {
    open: Waiting<(Option<String>, Session)>,
}

impl Joiner for Files {
    fn push(&mut self, fragment: Fragment<'static>, step: &mut Step) -> Fate {
        let Content::Value(value) = fragment.content else { return Fate::Rejected("no part of a session".to_owned()) };
        let of = |key: &str| value.get(key).and_then(Json::as_str).map(str::to_owned);
        let (name, id) = (of("sessionID"), of("id").unwrap_or_default());
        let key = hash::name(name.as_deref().unwrap_or_default());
        let number = match self.open.find(key) {
            Some(number) => {
                self.open.grow(number, step.bytes);
                number
            }
            None => self.open.begin(step, key, (name, Session::default())),
        };
        let Some((_, session)) = self.open.body(number) else { return Fate::Merged };
        match of("messageID") {
            Some(message) => {
                session.parts.insert((message, id), (step.place.clone(), value));
                Fate::Merged
            }
            None => {
                let is_answer = text(&value, "role") == "assistant";
                session.messages.insert(id, (step.place.clone(), value));
                if is_answer { Fate::Held } else { Fate::Merged }
            }
        }
    }

    fn load(&self) -> Load {
        self.open.load()
    }

    fn let_oldest_go(&mut self, step: &mut Step) {
        if let Some(open) = self.open.take_oldest() {
            let (name, session) = open.body;
            step.records.extend(session.join(name));
        }
    }
}
