//! Lines of Claude Code sessions → calls of the model, and of its tools.
//!
//! A call of the model is a message of the assistant: all lines with its id, one content block each, with the token counts
//! of the line that counts most. Its prompt is what was said to the model since the message before it, not the whole
//! session, so that a long session is read once and not once per call. It is whole when another message begins, or the
//! user speaks; results of tools may come between its blocks. What is said last and has no message is a call without an
//! answer.
//!
//! A line whose id and content were seen already (a sidechain that replays the main conversation, a session that was
//! continued in another file) is merged, and what was said before it was answered then. So is the note of a failed call, by
//! id, time and text. What the user said, or a tool, is known by time and content, and waits for its answer once.
//!
//! Calls of tools are paired with their results by id; a duration is the time between the two lines, which includes the
//! time that a person took to allow the call.
//!
//! **Limits**: lines have no time at which a call of the model began, so that nothing is known of latency. A block that
//! comes after its message is whole is a record of its own. Lines without a time are not known again: a question that a
//! session leaves open and another session repeats counts twice then, and so does a failure that has no id either.

use std::sync::Arc;

use crate::{
    hash,
    input::Place,
    record::{
        Aside, Dialect, Format,
        json::Json,
        piece::{
            claude_code::{Line, Said},
            mcp::plain_result,
        },
    },
};

use super::{
    Assembler, Body, Fate, Joined, Key, Step, Whole,
    inputs::{Inputs, Wants, is_users, timestamp},
    object, string,
    tool_calls::{Action, Traffic, is_repeated},
};

/// How the client begins its note that the user stopped a tool: its result was not sent then.
const TOOL_STOPPED: &str = "[Request interrupted by user for tool use";

/// What was said since the last message of the assistant, and that message once it has begun.
#[derive(Debug, Default)]
pub struct Turn {
    session: Option<Arc<str>>,
    inputs: Inputs,
    /// What was said after the message began.
    next_inputs: Inputs,
    message: Option<Message>,
}

#[derive(Debug)]
struct Message {
    place: Place,
    id: Option<String>,
    time_ms: Option<i64>,
    head: Json<'static>,
    blocks: Vec<Json<'static>>,
    usage: Option<Json<'static>>,
    error: Option<String>,
}

impl Turn {
    /// The call of the model, and what has no answer.
    pub fn join(mut self, format: Format) -> impl Iterator<Item = Joined> {
        let answered = self.take_message(format);
        let session = self.session;
        let format = Format { dialect: Some(Dialect::Anthropic), ..format };
        let unanswered = self.inputs.unanswered(format, |items, time| tree(session.as_deref(), time, items, []));
        answered.into_iter().chain(unanswered)
    }

    /// What was said since the message began, or before it where there is none yet.
    fn unanswered(&mut self) -> &mut Inputs {
        if self.message.is_some() { &mut self.next_inputs } else { &mut self.inputs }
    }

    fn take_message(&mut self, format: Format) -> Option<Joined> {
        let message = self.message.take()?;
        let inputs = std::mem::replace(&mut self.inputs, std::mem::take(&mut self.next_inputs));
        let place = message.place.clone();
        let tree = message.into_pair(inputs.into_items(), self.session.as_deref());
        let mut joined = Joined::new(place, format, Whole::Tree(tree));
        joined.is_paired = true;
        Some(joined)
    }
}

/// A call as a pair of bodies.
fn tree(
    session: Option<&str>,
    time: Option<Json<'static>>,
    inputs: Vec<Json<'static>>,
    more: impl IntoIterator<Item = (&'static str, Json<'static>)>,
) -> Json<'static> {
    let request = object([("messages", Json::Array(inputs)), ("anthropic_version", Json::Null)]);
    let head = session.map(|session| ("session_id", string(session))).into_iter();
    object(head.chain(time.map(|time| ("timestamp", time))).chain([("request", request)]).chain(more))
}

impl Message {
    fn absorb(&mut self, mut message: Json<'static>) {
        match message.take("content") {
            Some(Json::Array(blocks)) => self.blocks.extend(blocks),
            Some(Json::String(text)) => {
                self.blocks.push(object([("type", string("text")), ("text", Json::String(text))]));
            }
            _ => {}
        }
        let counted = |usage: &Json<'_>| usage.get("output_tokens").and_then(Json::as_f64).unwrap_or(0.0);
        if let Some(usage) = message.take("usage")
            && self.usage.as_ref().is_none_or(|known| counted(&usage) >= counted(known))
        {
            self.usage = Some(usage);
        }
        if let Some(stop) = message.take("stop_reason")
            && let Json::Object(entries) = &mut self.head
        {
            entries.retain(|(key, _)| key != "stop_reason");
            entries.push(("stop_reason".into(), stop));
        }
    }

    fn into_pair(self, inputs: Vec<Json<'static>>, session: Option<&str>) -> Json<'static> {
        let Message { id, time_ms, mut head, blocks, usage, error, .. } = self;
        let (model, stop) = (head.take("model"), head.take("stop_reason"));
        let response = object(
            [("type", string("message")), ("role", string("assistant")), ("content", Json::Array(blocks))]
                .into_iter()
                .chain(id.clone().map(|id| ("id", string(id))))
                .chain(model.map(|model| ("model", model)))
                .chain([("stop_reason", stop.unwrap_or_default())])
                .chain(usage.map(|usage| ("usage", usage))),
        );
        let outcome = error.map_or(("response", response), |error| ("error", string(error)));
        let id = id.map(|id| ("id", string(id)));
        tree(session, timestamp(time_ms), inputs, [outcome].into_iter().chain(id))
    }
}

impl Assembler {
    pub(super) fn push_claude_code(&mut self, step: &mut Step, line: Line) -> Fate {
        let Line { session, chain, time_ms, said } = line;
        let session: Option<Arc<str>> = session.map(Arc::from);
        let name = session.as_ref().map_or_else(|| hash::name(&step.place.source), |session| hash::name(session));
        let key = Key::ClaudeCode(hash::combine(name, hash::name(&chain)));
        match said {
            Said::User { content, is_meta } => {
                let is_text = has_text(&content);
                step.note_results(name, session.as_ref(), &content, time_ms);
                let number = self.turn(step, key, session);
                let wants = if is_meta { Wants::Nothing } else { self.wants(number, &content, time_ms) };
                let input = object([("role", string("user")), ("content", content)]);
                let format = step.format;
                let Some(Body::ClaudeCode(turn)) = self.body(number) else { return Fate::Merged };
                let before = if is_text { turn.take_message(format) } else { None };
                turn.unanswered().push(step, input, time_ms, wants);
                let kept = turn.inputs.bytes();
                if before.is_some() {
                    self.settle(number, kept);
                    step.records.extend(before);
                }
                Fate::Merged
            }
            Said::Assistant { id, message } => self.push_message(step, (name, key), session, id, time_ms, message),
            Said::Failed { id, error } => {
                let number = self.turn(step, key, session);
                let named = id.as_deref().map(hash::name).or(time_ms.map(|_| 0));
                let line = named.map(|named| timed(time_ms, hash::combine(named, hash::name(&error))));
                if line.is_some_and(|line| self.claude_lines.put(line, number).is_some()) {
                    return self.repeat_message(step, number);
                }
                let mut message = Message::new(step, None, time_ms, Json::Null);
                message.error = Some(error);
                self.begin_message(step, number, message)
            }
        }
    }

    /// What is to follow what is said in a turn. What was said before, in another session, waits here if it waits still.
    fn wants(&mut self, number: u64, content: &Json<'_>, time_ms: Option<i64>) -> Wants {
        if is_stopped(content) {
            return Wants::Stopped;
        }
        if !wants_answer(content) {
            return Wants::Nothing;
        }
        let line = timed(time_ms, content.canonical_hash());
        let before = time_ms.and_then(|_| self.claude_lines.put(line, number));
        let waited = before.is_none_or(|before| match self.body(before) {
            Some(Body::ClaudeCode(turn)) => turn.unanswered().leave(line),
            _ => false,
        });
        if waited { Wants::Answer(line) } else { Wants::Nothing }
    }

    fn push_message(
        &mut self,
        step: &mut Step,
        (name, key): (u64, Key),
        session: Option<Arc<str>>,
        id: Option<String>,
        time_ms: Option<i64>,
        message: Json<'static>,
    ) -> Fate {
        let content = message.get("content").unwrap_or(&Json::Null).canonical_hash();
        let line = id.as_deref().map(|id| hash::combine(hash::name(id), content));
        let number = self.turn(step, key, session.clone());
        let is_known = line.is_some_and(|line| self.claude_lines.put(line, number).is_some());
        if !is_known {
            step.note_calls(name, session.as_ref(), &message, time_ms);
        }
        let message = Message::new(step, id, time_ms, message);
        if let Some(Body::ClaudeCode(Turn { message: Some(open), .. })) = self.body(number)
            && open.id.is_some()
            && open.id == message.id
        {
            open.add(message, is_known);
            return Fate::Merged;
        }
        if is_known { self.repeat_message(step, number) } else { self.begin_message(step, number, message) }
    }

    /// Whoever continues a session repeats its messages, and what they answer.
    fn repeat_message(&mut self, step: &mut Step, number: u64) -> Fate {
        let format = step.format;
        if let Some(Body::ClaudeCode(turn)) = self.body(number) {
            step.records.extend(turn.take_message(format));
            turn.inputs = Inputs::default();
            self.settle(number, 0);
        }
        Fate::Merged
    }

    /// Begins another message; the one before it is whole.
    fn begin_message(&mut self, step: &mut Step, number: u64, message: Message) -> Fate {
        let format = step.format;
        let Some(Body::ClaudeCode(turn)) = self.body(number) else {
            return Fate::Aside(Aside { format, what: "a line of a session that is no message", is_parent: false });
        };
        step.records.extend(turn.take_message(format));
        turn.message = Some(message);
        let kept = turn.inputs.bytes() + step.bytes;
        self.settle(number, kept);
        Fate::Held
    }

    /// The open turn of a conversation, begun when there is none.
    fn turn(&mut self, step: &Step, key: Key, session: Option<Arc<str>>) -> u64 {
        match self.waiting(key) {
            Some(number) => {
                self.grow(number, step.bytes);
                number
            }
            None => self.begin(step, key, Body::ClaudeCode(Turn { session, ..Turn::default() })),
        }
    }
}

impl Message {
    fn new(step: &Step, id: Option<String>, time_ms: Option<i64>, mut message: Json<'static>) -> Message {
        let model = message.take("model");
        let head = object(model.map(|model| ("model", model)));
        let mut this =
            Message { place: step.place.clone(), id, time_ms, head, blocks: Vec::new(), usage: None, error: None };
        this.absorb(message);
        this
    }

    /// Adds another line of the same message; of one that comes again only what it counts.
    fn add(&mut self, other: Message, is_known: bool) {
        let Message { mut head, blocks, usage, .. } = other;
        let blocks = if is_known { Vec::new() } else { blocks };
        let stop = head.take("stop_reason").map(|stop| ("stop_reason", stop));
        let usage = usage.map(|usage| ("usage", usage));
        self.absorb(object([("content", Json::Array(blocks))].into_iter().chain(usage).chain(stop)));
    }
}

impl Step {
    /// Notes the calls in a message of the assistant.
    fn note_calls(&mut self, scope: u64, session: Option<&Arc<str>>, message: &Json<'_>, time_ms: Option<i64>) {
        let blocks = message.get("content").and_then(Json::as_array).unwrap_or_default();
        let calls = blocks.iter().filter(|block| block.get("type").and_then(Json::as_str) == Some("tool_use"));
        let actions = calls.filter_map(|block| {
            Some(Action::Call {
                id: block.get("id")?.as_str()?.to_owned(),
                tool: block.get("name")?.as_str()?.to_owned(),
                args: block.get("input").cloned().unwrap_or_default().into_owned(),
                time_ms,
            })
        });
        self.traffic(scope, session, actions.collect());
    }

    /// Notes the results of tools in a line of the user.
    fn note_results(&mut self, scope: u64, session: Option<&Arc<str>>, content: &Json<'_>, time_ms: Option<i64>) {
        let blocks = content.as_array().unwrap_or_default();
        let results = blocks.iter().filter(|block| block.get("type").and_then(Json::as_str) == Some("tool_result"));
        let actions = results.filter_map(|block| {
            let is_error = block.get("is_error").and_then(Json::as_bool) == Some(true);
            let said = block.get("content").cloned().unwrap_or_default().into_owned();
            Some(Action::Result {
                id: block.get("tool_use_id")?.as_str()?.to_owned(),
                tool: None,
                result: plain_result(text_of(said)),
                is_error,
                time_ms,
                duration_ms: None,
            })
        });
        self.traffic(scope, session, actions.collect());
    }

    /// Notes what was seen of calls of tools.
    pub(super) fn traffic(&mut self, scope: u64, session: Option<&Arc<str>>, actions: Vec<Action>) {
        if !actions.is_empty() {
            let (place, format, has_session) = (self.place.clone(), self.format, session.is_some());
            let session = session.filter(|session| is_repeated(session)).cloned();
            self.traffic.push(Traffic { scope, has_session, session, trace: None, place, format, actions });
        }
    }
}

/// The text of a content that is nothing but one text; else the content.
fn text_of(content: Json<'static>) -> Json<'static> {
    match content {
        Json::Array(parts) if parts.len() == 1 => {
            let text = parts[0].get("text").and_then(Json::as_str).map(str::to_owned);
            text.map_or(Json::Array(parts), string)
        }
        other => other,
    }
}

/// Whether a person says something, and not only tools.
fn has_text(content: &Json<'_>) -> bool {
    match content {
        Json::Array(blocks) => {
            blocks.iter().any(|block| block.get("type").and_then(Json::as_str) != Some("tool_result"))
        }
        Json::Null => false,
        _ => true,
    }
}

/// The name of a line: what it says, and when.
fn timed(time_ms: Option<i64>, content: u64) -> u64 {
    hash::combine(time_ms.unwrap_or_default().cast_unsigned(), content)
}

/// Whether the client notes that the user stopped a tool.
fn is_stopped(content: &Json<'_>) -> bool {
    let blocks = content.as_array().unwrap_or_default().iter();
    let texts = blocks.map(|block| block.get("text").and_then(Json::as_str)).chain([content.as_str()]);
    texts.flatten().any(|text| text.starts_with(TOOL_STOPPED))
}

/// Whether something is said that a model is to answer: by the user, or by a tool.
fn wants_answer(content: &Json<'_>) -> bool {
    match content {
        Json::String(text) => is_users(text),
        Json::Array(blocks) => blocks.iter().any(|block| match block.get("text").and_then(Json::as_str) {
            Some(text) => is_users(text),
            None => true,
        }),
        _ => false,
    }
}
