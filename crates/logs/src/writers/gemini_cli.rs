//! Sessions of Gemini CLI: one document, or from 0.30 on a line for each thing that is recorded.
//!
//! A message of the type `gemini` is a call of the model: its `content` is the answer, and what was said since the answer
//! before is the prompt, the results of tools among it.
//!
//! - `toolCalls` of a message: calls of the answer, and those with a `result` records of tools. Later releases also say the
//!   results in a message of the user
//! - tokens: `input` counts the cache in, `output` does not count the thoughts
//! - what the user said last and nobody answered is a call without a response; texts that the client puts into a tag
//!   (`<session_context>`) are none of the user's
//! - lines: a heading (`sessionId`, `projectHash`), messages, `{"$set": ...}`, `{"$rewindTo": ...}`. A message is written
//!   again, under its id, with all that has come to be known of it; it is whole when the next one is written. `$set` with
//!   `messages` replaces what the model remembers, and says again what was said: what has no call of its own (a summary)
//!   is no call. Messages that were taken back are calls all the same: the model has answered
//!
//! **Source**: gemini-cli 0.20 to 0.61, `chatRecordingService.ts`, `chatRecordingTypes.ts`.
//!
//! **Limits**: a message has one time, so that nothing is known of latency. Thoughts are left out.

use std::{borrow::Cow, collections::HashSet};

use super::{
    Writer,
    conversation::{Frame, Message, Speaker, Turns},
    has_all, has_any, native,
    session::is_users,
    text,
};
use crate::{
    assemble::{Fate, Joined, Joiner, Load, Step, waiting::Waiting},
    hash,
    input::Place,
    record::{
        Container, Content, Dialect, Entry, Format, Fragment, Record,
        body::message::{result_text, take_name, take_text, text_of},
        call::Entries,
        json::Json,
        values,
    },
};

const CONTAINER: Container = Container::named("gemini_cli");

/// Messages of a session whose ids are remembered.
const IDS_MAX: usize = 65_536;

/// All that a message has.
const MESSAGE_KEYS: [&str; 11] = [
    "id",
    "timestamp",
    "type",
    "content",
    "displayContent",
    "toolCalls",
    "thoughts",
    "tokens",
    "model",
    "agentId",
    "parentId",
];

/// Sessions of Gemini CLI.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "sessions of Gemini CLI, in JSON and in JSON Lines",
    told_by: "`sessionId` and `projectHash`; messages of the `type` `gemini`; `$set`, `$rewindTo`",
    marks: &["projectHash", "$set", "$rewindTo", "content", "toolCalls"],
    matches: |value| is_session(value) || is_line(value),
    read,
    joiner: Some(|_| Box::new(Sessions::default())),
};

fn is_session(value: &Json<'_>) -> bool {
    let is_list = || value.get("messages").is_some_and(|list| list.as_array().is_some());
    has_all(value, &["sessionId", "projectHash"]) && (is_list() || native::holds_no_call(value))
}

fn has_messages(value: &Json<'_>) -> bool {
    value.get("messages").is_some_and(|list| list.as_array().is_some_and(|list| !list.is_empty()))
}

fn is_line(value: &Json<'_>) -> bool {
    let entries = value.as_object().unwrap_or_default();
    if let [(key, change)] = entries {
        return (key == "$set" && change.as_object().is_some()) || (key == "$rewindTo" && change.as_str().is_some());
    }
    let is_type = || matches!(text(value, "type"), "gemini" | "user" | "info" | "error" | "warning");
    has_all(value, &["id", "type"])
        && is_type()
        && has_any(value, &["content", "toolCalls"])
        && entries.iter().all(|(key, _)| MESSAGE_KEYS.contains(&key.as_ref()))
}

/// Reads a session, or a line of one.
fn read<'a>(mut value: Json<'a>, entries: &mut Entries<'a>) {
    if !has_messages(&value) {
        return entries.push(Ok(Entry::Fragment(Fragment::of_value(Format::of(CONTAINER), value))));
    }
    let session = take_name(&mut value, "sessionId");
    let Some(Json::Array(messages)) = value.take("messages") else { return };
    let mut turns = Turns::new(frame(session));
    for mut message in messages {
        match read_message(&mut message) {
            Some(said) => {
                for record in say(&mut turns, said) {
                    entries.push(Ok(Entry::Record(record)));
                }
            }
            None => entries.skipped(CONTAINER, "a notice of the client"),
        }
    }
    entries.list.extend(turns.finish().map(|record| Ok(Entry::Record(record))));
    if entries.list.is_empty() {
        entries.skipped(CONTAINER, "a session without a message");
    }
}

fn frame(session_id: Option<Cow<'_, str>>) -> Frame<'_> {
    Frame { container: CONTAINER, dialect: Some(Dialect::Gemini), session_id, ..Frame::default() }
}

/// A message, and what its tools gave.
struct Said<'a> {
    message: Message<'a>,
    results: Vec<Message<'a>>,
    /// Whether the client says it, and not the user.
    is_frame: bool,
}

/// Reads a message; `None` for a notice of the client.
fn read_message<'a>(message: &mut Json<'a>) -> Option<Said<'a>> {
    let kind = take_text(message, "type")?;
    let speaker = match &*kind {
        "user" => Speaker::User,
        "gemini" => Speaker::Model,
        _ => return None,
    };
    let calls = match message.take("toolCalls") {
        Some(Json::Array(calls)) => calls,
        _ => Vec::new(),
    };
    let mut said =
        vec![("role".into(), Json::String(if speaker == Speaker::User { "user" } else { "assistant" }.into()))];
    let content = message.take("content");
    let is_frame = content.clone().and_then(text_of).is_some_and(|text| !is_users(&text));
    said.extend(content.map(|content| ("content".into(), content)));
    let results = calls.iter().filter_map(result_of).collect();
    let about = about(message);
    if !calls.is_empty() {
        said.push(("tool_calls".into(), Json::Array(calls)));
    }
    Some(Said { message: Message { speaker, said: Json::Object(said), about }, results, is_frame })
}

/// What is known of a message, with its token counts in the names of the API.
fn about<'a>(message: &mut Json<'a>) -> Json<'a> {
    let mut about = vec![];
    for key in ["id", "timestamp", "model"] {
        about.extend(message.take(key).map(|value| (key.into(), value)));
    }
    if let Some(Json::Object(tokens)) = message.take("tokens") {
        let names = [
            ("input", "promptTokenCount"),
            ("output", "candidatesTokenCount"),
            ("cached", "cachedContentTokenCount"),
            ("thoughts", "thoughtsTokenCount"),
        ];
        let named = |key: &str| names.iter().find(|(own, _)| *own == key).map(|(_, name)| Cow::Borrowed(*name));
        let tokens = tokens.into_iter().filter_map(|(key, count)| Some((named(&key)?, count)));
        about.push(("usageMetadata".into(), Json::Object(tokens.collect())));
    }
    Json::Object(about)
}

/// The result of a call as a message.
fn result_of<'a>(call: &Json<'a>) -> Option<Message<'a>> {
    let text = answered(call.get("result")?.clone())?;
    let mut said = vec![("role".into(), Json::String("tool".into()))];
    let is_error = matches!(call.get("status").and_then(Json::as_str), Some("error" | "cancelled"));
    let own = [("tool_call_id", "id"), ("name", "name")];
    said.extend(own.into_iter().filter_map(|(key, from)| Some((key.into(), call.get(from)?.clone()))));
    said.push(("content".into(), Json::String(result_text(text))));
    said.extend(is_error.then(|| ("status".into(), Json::String("error".into()))));
    let about = call.get("timestamp").map(|at| ("timestamp".into(), at.clone()));
    Some(Message { speaker: Speaker::Tool, said: Json::Object(said), about: Json::Object(about.into_iter().collect()) })
}

/// What a tool answered: the response in its parts, without their frame.
fn answered(result: Json<'_>) -> Option<Json<'_>> {
    match result {
        Json::Null => None,
        Json::Array(parts) => {
            let mut found: Vec<Json<'_>> = parts.into_iter().map(response_of).collect();
            if found.len() > 1 { Some(Json::Array(found)) } else { found.pop() }
        }
        one => Some(response_of(one)),
    }
}

/// `{"functionResponse": {"response": {"output": ...}}}`.
fn response_of(mut part: Json<'_>) -> Json<'_> {
    let Some(mut framed) = part.take("functionResponse") else { return part };
    let Some(mut response) = framed.take("response") else { return framed };
    match response.as_object().map(<[_]>::len) {
        Some(1) => response.take("output").or_else(|| response.take("error")).unwrap_or(response),
        _ => response,
    }
}

/// The records of a message and of the results of its tools.
fn say<'a>(turns: &mut Turns<'a>, said: Said<'a>) -> Vec<Record<'a>> {
    let Said { message, results, is_frame } = said;
    if is_frame && message.speaker == Speaker::User {
        turns.frame_with(message);
        return Vec::new();
    }
    let mut records = turns.say(message);
    records.extend(results.into_iter().flat_map(|result| turns.say(result)));
    records
}

/// A session, as far as its lines have come.
#[derive(Debug, Default)]
struct Session {
    turns: Turns<'static>,
    /// The last message of the model, which may be written again.
    message: Option<(Place, String, Json<'static>)>,
    seen: HashSet<u64>,
}

impl Session {
    /// What is whole when something else is written.
    fn close_message(&mut self) -> Vec<Joined> {
        let Some((place, _, mut message)) = self.message.take() else { return Vec::new() };
        let records = read_message(&mut message).map(|said| say(&mut self.turns, said)).unwrap_or_default();
        let joined = records.into_iter().map(|record| Joined::record(place.clone(), record));
        joined.enumerate().map(|(index, joined)| if index == 0 { joined } else { joined.further() }).collect()
    }

    fn close(mut self, place: Place) -> Vec<Joined> {
        let mut joined = self.close_message();
        joined.extend(self.turns.finish().map(|record| Joined::record(place, record).further()));
        joined
    }

    fn is_new(&mut self, id: &str) -> bool {
        self.seen.len() >= IDS_MAX || self.seen.insert(hash::name(id))
    }
}

/// Sessions in lines, one a source.
#[derive(Debug, Default)]
struct Sessions {
    open: Waiting<Session>,
}

impl Joiner for Sessions {
    fn push(&mut self, fragment: Fragment<'static>, step: &mut Step) -> Fate {
        let Content::Value(mut value) = fragment.content else {
            return Fate::Rejected("no line of a session".to_owned());
        };
        let source = hash::name(&step.place.source);
        if value.get("projectHash").is_some() {
            step.records.extend(self.open.take_of(source).into_iter().flat_map(|open| open.body.close(open.place)));
            let session = take_name(&mut value, "sessionId").map(|id| Cow::Owned(id.into_owned()));
            let session = Session { turns: Turns::new(frame(session)), ..Session::default() };
            self.open.begin(step, source, session);
            return Fate::skipped(step.format, "a heading of a session");
        }
        let number = match self.open.find(source) {
            Some(number) => {
                self.open.grow(number, step.bytes);
                number
            }
            None => self.open.begin(step, source, Session { turns: Turns::new(frame(None)), ..Session::default() }),
        };
        let Some(session) = self.open.body(number) else { return Fate::Merged };
        if let Some(mut change) = value.take("$set") {
            let Some(Json::Array(messages)) = change.take("messages") else {
                return Fate::skipped(step.format, "a heading of a session");
            };
            return restore(session, messages, step);
        }
        if value.get("$rewindTo").is_some() {
            return Fate::skipped(step.format, "what was taken back");
        }
        let id = take_id(&value);
        if let Some((_, open, message)) = &mut session.message
            && *open == id
        {
            *message = value;
            return Fate::Merged;
        }
        if !session.is_new(&id) {
            return Fate::Merged;
        }
        step.records.extend(session.close_message());
        if text(&value, "type") == "gemini" {
            session.message = Some((step.place.clone(), id, value));
            return Fate::Held;
        }
        let Some(said) = read_message(&mut value) else { return Fate::skipped(step.format, "a notice of the client") };
        step.records.extend(records_of(session, said, step));
        Fate::Merged
    }

    fn load(&self) -> Load {
        self.open.load()
    }

    fn let_oldest_go(&mut self, step: &mut Step) {
        if let Some(open) = self.open.take_oldest() {
            step.records.extend(open.body.close(open.place));
        }
    }
}

/// The records that are whole with something said, none of which is the unit at hand.
fn records_of(session: &mut Session, said: Said<'static>, step: &Step) -> Vec<Joined> {
    let is_told = |message: &Json<'_>| tells_result(message, &session.turns);
    if said.message.speaker == Speaker::User && is_told(&said.message.said) {
        return Vec::new();
    }
    let records = say(&mut session.turns, said);
    records.into_iter().map(|record| Joined::record(step.place.clone(), record).further()).collect()
}

/// Whether a message is nothing but results that were told already with their calls.
fn tells_result(message: &Json<'_>, turns: &Turns<'_>) -> bool {
    let parts = message.get("content").and_then(Json::as_array).unwrap_or_default();
    let id_of = |part: &Json<'_>| part.pointer("/functionResponse/id").and_then(Json::as_str).map(str::to_owned);
    !parts.is_empty() && parts.iter().all(|part| id_of(part).is_some_and(|id| turns.has_result(&id)))
}

/// Takes what replaces the memory of the model: messages that were not seen are new, unless the client made them.
fn restore(session: &mut Session, messages: Vec<Json<'static>>, step: &mut Step) -> Fate {
    for mut message in messages {
        if !session.is_new(&take_id(&message)) {
            continue;
        }
        let is_made = text(&message, "type") == "gemini" && !has_any(&message, &["tokens", "model"]);
        if is_made {
            continue;
        }
        step.records.extend(session.close_message());
        if let Some(said) = read_message(&mut message) {
            step.records.extend(records_of(session, said, step));
        }
    }
    Fate::skipped(step.format, "what the model remembers")
}

fn take_id(message: &Json<'_>) -> String {
    message.get("id").cloned().and_then(|id| values::name(id).ok().flatten()).unwrap_or_default().into_owned()
}
