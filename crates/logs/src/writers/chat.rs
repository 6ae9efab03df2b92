//! Lists of messages, messages that are units of their own, and what is like a list of messages.
//!
//! - a list of messages whose answers say which call they are of (the model, when it was, what it took): each answer is a
//!   call ([`conversation`](super::conversation)). A list whose answers say nothing of the kind is an example, of which the
//!   last answer is the call, and what comes before it the prompt
//! - a message that is a unit of its own (a line of a chat, an element of a list): each answer is a call, too; its prompt
//!   is what was said in its session since the answer before, or in its source, where it names no session
//! - a FastChat server log, and instruction data (`instruction`, `input`, `output`)
//!
//! **Limits**: the answers of a model to one question that stand one after another are all answers to what was said before
//! the first. Messages below something else than a list of their own are no units.

use std::borrow::Cow;

use super::{
    Writer,
    conversation::{self, FRAMES, Frame, Message, Speaker, Turns},
    has_all, native,
};
use crate::{
    assemble::{Fate, Joined, Joiner, Limits, Load, Step, waiting::Waiting},
    hash,
    record::{
        Container, Content, Dialect, Entry, Format, Fragment, Kind, Record,
        body::{
            self, Conversation,
            message::{take_name, take_text},
        },
        call::{Call, Entries, Outcome},
        fields::{self, Field, Scope},
        json::Json,
        stream::Stream,
    },
};

/// The keys of these logs; the first [`LISTS_LEN`] say where a value keeps its messages.
const MARKS: [&str; 28] = [
    "messages",
    "chat_messages",
    "history",
    "chat_history",
    "turns",
    "transcript",
    "thread",
    "dialogue",
    "dialog",
    "items",
    "chat",
    "msgs",
    "tstamp",
    "instruction",
    "role",
    "type",
    "from",
    "sender",
    "author",
    "speaker",
    "message",
    "Author",
    "is_user",
    "isUser",
    "isCreatedByUser",
    "chat_metadata",
    "working_dir",
    "data",
];

const LISTS_LEN: usize = 12;

/// Lists of messages, and what is like one.
pub(super) const WRITER: Writer = Writer {
    container: Container::CHAT,
    about: "lists of messages, and messages of their own; FastChat server logs; instruction data",
    told_by: "`messages` alone; `role` with a content; `tstamp`; `instruction` with `output`",
    marks: &MARKS,
    matches: |value| {
        is_server_log(value) || is_instruction(value) || list_of(value).is_some() || is_heading(value) || is_line(value)
    },
    read,
    joiner: Some(|limits| Box::new(Lines::new(limits))),
};

/// What tells the first line of a chat, which holds no message.
const HEADINGS: [&[&str]; 2] = [&["chat_metadata", "user_name"], &["working_dir", "description"]];

fn is_server_log(value: &Json<'_>) -> bool {
    has_all(value, &["tstamp", "state"])
}

fn is_instruction(value: &Json<'_>) -> bool {
    has_all(value, &["instruction", "output"])
}

fn is_heading(value: &Json<'_>) -> bool {
    HEADINGS.iter().any(|keys| has_all(value, keys)) && native::holds_no_call(value)
}

/// Where the messages stand in a value that is the log of a conversation, and no call with its answer beside them.
fn list_of(value: &Json<'_>) -> Option<&'static str> {
    let key = MARKS[..LISTS_LEN]
        .iter()
        .copied()
        .find(|key| value.get(key).and_then(Json::as_array).is_some_and(conversation::is_log))?;
    (!has_answer(value, false)).then_some(key)
}

/// Whether something stands under a name for an answer; `own` when it must be one in any record.
fn has_answer(value: &Json<'_>, own: bool) -> bool {
    let entries = value.as_object().unwrap_or_default();
    let is_answer = |key: &str| {
        key == "choices"
            || fields::meanings(key).iter().any(|target| {
                target.field == Field::Response && target.scope == Scope::Llm && (!own || target.is_own_name())
            })
    };
    entries.iter().any(|(key, value)| !value.is_null() && is_answer(key))
}

/// Whether a value is one message of a conversation.
pub(super) fn is_line(value: &Json<'_>) -> bool {
    let inner = || FRAMES.iter().find_map(|key| Speaker::of(value.get(key)?));
    let Some(speaker) = Speaker::of(value).or_else(inner).filter(|speaker| *speaker != Speaker::Client) else {
        return false;
    };
    let is_question =
        |key: &str| fields::meanings(key).iter().any(|target| target.field == Field::Prompt && target.is_own_name());
    let is_asked =
        || value.as_object().unwrap_or_default().iter().any(|(key, value)| !value.is_null() && is_question(key));
    conversation::is_message(value)
        && !has_answer(value, speaker == Speaker::Model)
        && !is_asked()
        && !body::is_response_body(value)
        && Stream::event_of(value).is_none()
}

fn read<'a>(value: Json<'a>, entries: &mut Entries<'a>) {
    if is_server_log(&value) || is_instruction(&value) {
        return entries.push(chat(value));
    }
    if let Some(key) = list_of(&value) {
        return log(value, key, entries);
    }
    if is_heading(&value) {
        return entries.skipped(Container::CHAT, "the heading of a chat");
    }
    entries.push(Ok(Entry::Fragment(fragment(Container::CHAT, value))));
}

/// A message that is a unit of its own.
pub(super) fn fragment(container: Container, value: Json<'_>) -> Fragment<'_> {
    Fragment { joiner: Container::CHAT, ..Fragment::of_value(Format::of(container), value) }
}

/// A message that is a unit of its own, in a dialect.
pub(super) fn fragment_of(container: Container, dialect: Dialect, value: Json<'_>) -> Fragment<'_> {
    Fragment { joiner: Container::CHAT, ..Fragment::of_value(Format { container, dialect: Some(dialect) }, value) }
}

/// The calls of a conversation in one value.
fn log<'a>(mut value: Json<'a>, key: &str, entries: &mut Entries<'a>) {
    let Some(Json::Array(messages)) = value.take(key) else { return };
    conversation::push(messages, frame_of(Container::CHAT, value), entries);
}

/// What stands around the messages of a conversation.
pub(super) fn frame_of(container: Container, mut around: Json<'_>) -> Frame<'_> {
    let system = take_text(&mut around, "system").or_else(|| take_text(&mut around, "system_prompt"));
    let own_id = ["id", "uuid", "_id", "key"].into_iter().find_map(|key| take_name(&mut around, key));
    let mut record = Record::new(Kind::Llm);
    native::lend_deep(around, &mut record);
    Frame {
        container,
        dialect: None,
        session_id: record.session_id.or(own_id),
        model: record.model,
        provider: record.provider,
        system: system.filter(|text| !text.is_empty()),
    }
}

/// A line of a FastChat server log, or of instruction data.
fn chat(mut value: Json<'_>) -> Outcome<'_> {
    let mut call = Call::llm(Container::CHAT);
    call.record.id = take_name(&mut value, "id").or_else(|| take_name(&mut value, "conv_id"));
    if let Some(instruction) = take_text(&mut value, "instruction") {
        let input = take_text(&mut value, "input").filter(|input| !input.is_empty());
        let text = match input {
            Some(input) => format!("{instruction}\n{input}").into(),
            None => instruction,
        };
        call.record.system = take_text(&mut value, "system");
        call.asked(Conversation { text: Some(text), ..Conversation::default() });
        call.answer(value.take("output"));
        return Ok(call.finish());
    }
    let messages = value.take("messages").or_else(|| value.take("conversation"));
    if let Some(Json::Array(messages)) = messages {
        return Ok(closing_with_answer(call, messages));
    }
    call.requested = take_name(&mut value, "model");
    call.times(value.take("start").or_else(|| value.take("tstamp")), value.take("finish"), None);
    let Some(Json::Array(turns)) = value.take("state").and_then(|mut state| state.take("messages")) else {
        return Err("a line of a chat log without messages".to_owned());
    };
    // FastChat keeps `[role, text]`, with a null text for the answer that is still to come.
    let turns = turns.into_iter().filter_map(|turn| match turn {
        Json::Array(pair) => {
            let [role, text] = <[_; 2]>::try_from(pair).ok()?;
            let role = if role.as_str().is_some_and(|role| role.eq_ignore_ascii_case("assistant")) {
                "assistant"
            } else {
                "user"
            };
            Some(Json::Object(vec![("role".into(), Json::String(role.into())), ("content".into(), text)]))
        }
        other => Some(other),
    });
    Ok(closing_with_answer(call, turns.collect()))
}

/// Messages of which the last, where it is the assistant's, is the answer.
pub(super) fn closing_with_answer<'a>(mut call: Call<'a>, messages: Vec<Json<'a>>) -> Entry<'a> {
    let mut asked = Conversation::of_messages(messages);
    let last = asked.split_last_answer();
    call.asked(asked);
    if let Some(answer) = last {
        call.answered(answer);
    }
    call.finish()
}

/// Conversations whose messages are units of their own.
#[derive(Debug)]
struct Lines {
    open: Waiting<Turns<'static>>,
}

impl Lines {
    fn new(_: &Limits) -> Lines {
        Lines { open: Waiting::default() }
    }
}

impl Joiner for Lines {
    fn push(&mut self, fragment: Fragment<'static>, step: &mut Step) -> Fate {
        let Content::Value(value) = fragment.content else { return Fate::Rejected("no message of a chat".to_owned()) };
        let Ok(message) = Message::of(value) else { return Fate::Rejected("no message of a chat".to_owned()) };
        if message.speaker == Speaker::Client {
            return Fate::skipped(step.format, "a notice of the client");
        }
        let session = named_session(&message.about);
        let key = match &session {
            Some(session) => hash::combine(hash::name(session), 1),
            None => hash::name(&step.place.source),
        };
        let number = match self.open.find(key) {
            Some(number) => {
                self.open.grow(number, step.bytes);
                number
            }
            None => {
                let Format { container, dialect } = step.format;
                let frame = Frame { session_id: session, container, dialect, ..Frame::default() };
                self.open.begin(step, key, Turns::new(frame))
            }
        };
        let is_answer = message.speaker == Speaker::Model;
        let Some(turns) = self.open.body(number) else { return Fate::Merged };
        let records = turns.say(message);
        if is_answer {
            self.open.settle(number, 0);
        }
        let mut is_held = false;
        for record in records {
            let joined = Joined::record(step.place.clone(), record);
            step.records.push(if is_answer && !is_held { joined } else { joined.further() });
            is_held |= is_answer;
        }
        if is_held { Fate::Held } else { Fate::Merged }
    }

    fn load(&self) -> Load {
        self.open.load()
    }

    fn let_oldest_go(&mut self, step: &mut Step) {
        let Some(mut open) = self.open.take_oldest() else { return };
        if let Some(record) = open.body.finish() {
            step.records.push(Joined::record(open.place, record).further());
        }
    }
}

/// The session that a message names.
fn named_session(about: &Json<'_>) -> Option<Cow<'static, str>> {
    let mut record = Record::new(Kind::Llm);
    native::lend_deep(about.clone(), &mut record);
    record.session_id.map(|id| Cow::Owned(id.into_owned()))
}
