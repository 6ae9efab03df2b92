//! Claude Code sessions (`~/.claude/projects/**/*.jsonl`) → calls of the model, and of its tools.
//!
//! A line is `{type, uuid, parentUuid, sessionId, timestamp, isSidechain, message {id, model, role, content, stop_reason,
//! usage}}`; the content is that of Anthropic Messages. The result of a tool is a block of the next line of the user: what
//! the model was given. `toolUseResult` beside it is the client's own account, which repeats what the model had asked for,
//! and is left out.
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
//! What the client prints (`--output-format stream-json`), and the messages of its SDK, are such lines, too, with
//! `session_id` and `parent_tool_use_id` in the place of `sessionId` and `agentId`. Pieces of a message (`stream_event`) are
//! said again as a whole. The `result` of a run repeats its last message; where there is no message of its session, it is
//! all that is known of the run, and a call.
//!
//! Calls of tools are paired with their results by id; a duration is the time between the two lines, which includes the
//! time that a person took to allow the call.
//!
//! **Source**: shapes seen in several public test suites (ccusage and others); there is no specification.
//!
//! **Limits**: lines have no time at which a call of the model began, so that nothing is known of latency. A block that
//! comes after its message is whole is a record of its own. Lines without a time are not known again: a question that a
//! session leaves open and another session repeats counts twice then, and so does a failure that has no id either.

use std::{mem, sync::Arc};

use lru::LruCache;

use crate::{
    assemble::{
        Fate, Joined, Joiner, Limits, Load, Step,
        tool_calls::{Action, Traffic},
        waiting::Waiting,
    },
    hash,
    input::Place,
    record::{
        Container, Content, Dialect, Entry, Format, Fragment, Record,
        body::{
            Answer, Conversation,
            message::{Joined as Texts, Said as Messages},
            usage::Usage,
        },
        call::Call,
        json::Json,
        values::unwrap_container,
    },
};

use super::{
    Writer, has_all, has_any, native,
    session::{Inputs, Wants, is_users, object, string, text, time_ms},
};

const CONTAINER: Container = Container::named("claude_code");

/// How the client begins its note that the user stopped a tool: its result was not sent then.
const TOOL_STOPPED: &str = "[Request interrupted by user for tool use";

/// What the client writes as model where it speaks itself.
const SYNTHETIC: &str = "<synthetic>";

/// Lines that hold no message and whose type is one word; those of several words are told by their hyphens
/// (`queue-operation`, `last-prompt`), because every release adds some.
const CLIENT_LINES: [&str; 3] = ["mode", "tag", "progress"];

/// Claude Code sessions.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "sessions",
    told_by: "`sessionId` with `message` or `parentUuid`, or with a `type` of the client's own (`queue-operation`) and nothing of a call; `session_id` with a `type` of the SDK",
    marks: &["sessionId", "leafUuid", "snapshot", "toolUseResult", "session_id", "parent_tool_use_id"],
    matches: |value| is_line(value) || is_printed(value),
    read: |value, entries| entries.push(Ok(Entry::Fragment(Fragment::of_value(Format::of(CONTAINER), value)))),
    joiner: Some(|limits| Box::new(Sessions::new(limits))),
};

fn is_line(value: &Json<'_>) -> bool {
    let is_said = || value.get("message").is_some_and(|message| message.as_object().is_some());
    let has_ids = || has_any(value, &["parentUuid", "uuid", "requestId", "isSidechain"]);
    value.get("leafUuid").is_some()
        || (value.get("sessionId").is_some() && has_ids() && (is_said() || value.get("parentUuid").is_some()))
        || (has_any(value, &["snapshot", "toolUseResult"]) && super::text(value, "type") == "file-history-snapshot")
        || (has_all(value, &["sessionId", "type"]) && is_client_line(value))
}

/// Types of lines that the client prints beside messages.
const PRINTED: [&str; 6] =
    ["system", "result", "stream_event", "control_request", "control_response", "control_cancel_request"];

/// Whether the client has printed a line, or its SDK has made it.
fn is_printed(value: &Json<'_>) -> bool {
    let is_said = || value.get("message").is_some_and(|message| has_all(message, &["role", "content"]));
    let is_content = |content: &Json<'_>| matches!(content, Json::String(_) | Json::Array(_));
    match super::text(value, "type") {
        "user" | "assistant" => has_any(value, &["session_id", "parent_tool_use_id"]) && is_said(),
        kind @ ("system" | "result") => {
            let has_subtype = value.get("subtype").is_some_and(|subtype| subtype.as_str().is_some());
            value.get("session_id").is_some()
                && has_subtype
                && (kind == "system" || has_any(value, &["num_turns", "is_error"]))
        }
        "" => {
            let is_result = has_all(value, &["subtype", "num_turns", "duration_api_ms", "session_id"]);
            is_result
                || (value.get("parent_tool_use_id").is_some()
                    && value.get("content").is_some_and(is_content)
                    && native::holds_no_call_beside(value, "usage"))
        }
        kind => {
            PRINTED.contains(&kind)
                && has_any(value, &["session_id", "parent_tool_use_id"])
                && native::holds_no_call(value)
        }
    }
}

/// Whether a line of a session is the client's own.
fn is_client_line(value: &Json<'_>) -> bool {
    let kind = super::text(value, "type");
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    (CLIENT_LINES.contains(&kind) || (kind.contains('-') && kind.split('-').all(is_word)))
        && native::holds_no_call(value)
}

/// A line that says something.
#[derive(Debug)]
struct Line {
    /// The session.
    session: Option<Arc<str>>,
    /// The side conversation that it belongs to; empty for the main one.
    chain: String,
    time_ms: Option<i64>,
    said: Said,
}

/// Who says what.
#[derive(Debug)]
enum Said {
    /// The user, or a tool; `is_meta` when the client says it, and neither of them.
    User { content: Json<'static>, is_meta: bool },
    /// The model, or one block of what it says. Several lines of one message have the same id.
    Assistant { id: Option<String>, message: Json<'static> },
    /// The client, in the place of the model: the call failed.
    Failed { id: Option<String>, error: String },
    /// The client, of the whole run.
    Result(Json<'static>),
}

/// Reads a line; what holds no call is named.
fn read(mut value: Json<'static>) -> Result<Line, &'static str> {
    if value.get("sessionId").is_none() && value.get("message").is_none() {
        return read_sdk(value);
    }
    let Some(mut message) = value.take("message").filter(|message| message.as_object().is_some()) else {
        return Err(match super::text(&value, "type") {
            "summary" => "a summary of a session",
            "system" => "a note of the client",
            "file-history-snapshot" => "a snapshot of files",
            _ => "a line of a session that is no message",
        });
    };
    let role = text(&message, "role").or_else(|| text(&value, "type"));
    let said = match role.as_deref() {
        Some("user") => {
            let content = message.take("content").unwrap_or_default();
            let is_meta = value.get("isMeta").and_then(Json::as_bool) == Some(true);
            Said::User { content, is_meta }
        }
        Some("assistant") if text(&message, "model").as_deref() == Some(SYNTHETIC) => {
            if value.get("isApiErrorMessage").and_then(Json::as_bool) != Some(true) {
                return Err("a message that the client made");
            }
            let said = message.pointer("/content/0/text").or_else(|| message.get("content")).and_then(Json::as_str);
            let error = said.unwrap_or("the call failed").to_owned();
            Said::Failed { id: text(&message, "id"), error }
        }
        Some("assistant") => Said::Assistant { id: text(&message, "id"), message },
        _ => return Err("a line of a session that is no message"),
    };
    let is_sidechain = value.get("isSidechain").and_then(Json::as_bool) == Some(true);
    // Lines of the main conversation name the agent whose result they bring.
    let chain = is_sidechain.then(|| text(&value, "agentId").unwrap_or_else(|| "sidechain".to_owned()));
    let chain = chain.or_else(|| text(&value, "parent_tool_use_id"));
    let session = text(&value, "sessionId").or_else(|| text(&value, "session_id")).map(Arc::from);
    Ok(Line { session, chain: chain.unwrap_or_default(), time_ms: time_ms(value.get("timestamp")), said })
}

/// Reads what the client prints beside messages, and messages of its SDK, which have no frame.
fn read_sdk(mut value: Json<'static>) -> Result<Line, &'static str> {
    let session = text(&value, "session_id").map(Arc::from);
    let chain = text(&value, "parent_tool_use_id").unwrap_or_default();
    let is_result = super::text(&value, "type") == "result" || value.get("num_turns").is_some();
    let said = match value.take("content") {
        _ if is_result => Said::Result(value),
        Some(content) => {
            let content = typed(content);
            match value.get("model").is_some() {
                true => {
                    let usage = value.take("usage").map(|usage| ("usage", usage));
                    let model = value.take("model").map(|model| ("model", model));
                    let id = text(&value, "message_id");
                    let message = object([("content", content)].into_iter().chain(usage).chain(model));
                    Said::Assistant { id, message }
                }
                false => Said::User { content, is_meta: false },
            }
        }
        None if super::text(&value, "type") == "stream_event" => {
            return Err("a piece of a message, which is said again as a whole");
        }
        None => return Err("a note of the client"),
    };
    Ok(Line { session, chain, time_ms: None, said })
}

/// Blocks of a content with the types that the SDK leaves out.
fn typed(content: Json<'static>) -> Json<'static> {
    let Json::Array(blocks) = content else { return content };
    let typed = blocks.into_iter().map(|mut block| {
        if block.get("type").is_some() {
            return block;
        }
        let kind = match &block {
            block if block.get("tool_use_id").is_some() => "tool_result",
            block if has_all(block, &["id", "name", "input"]) => "tool_use",
            block if block.get("thinking").is_some() => "thinking",
            _ => "text",
        };
        if let Json::Object(entries) = &mut block {
            entries.push(("type".into(), string(kind)));
        }
        block
    });
    Json::Array(typed.collect())
}

/// The run of which nothing but its result is known.
fn run(mut result: Json<'static>, session: Option<&str>) -> Record<'static> {
    let mut call = call(session, None, Vec::new());
    let is_error = result.get("is_error").and_then(Json::as_bool) == Some(true);
    let said = result.take("result").filter(|said| said.as_str().is_some());
    let subtype = text(&result, "subtype").filter(|kind| kind.starts_with("error"));
    if let Some(usage) = result.take("usage") {
        Usage::of(&usage).fill(&mut call.record);
    }
    if let Some(Json::Object(models)) = result.take("modelUsage").or_else(|| result.take("model_usage"))
        && let [(model, _)] = models.as_slice()
    {
        call.served = Some(model.clone());
    }
    if result.get("num_turns").and_then(Json::as_f64) == Some(1.0) {
        call.reported_latency(result.get("duration_api_ms"), crate::record::values::Unit::Ms);
    }
    match said {
        Some(Json::String(text)) if is_error => call.record.error = Some(text),
        Some(text) => call.answer(Some(text)),
        None => call.record.error = Some(subtype.unwrap_or_else(|| "the run failed".to_owned()).into()),
    }
    call.record()
}

/// What was said since the last message of the assistant, and that message once it has begun.
#[derive(Debug, Default)]
struct Turn {
    session: Option<Arc<str>>,
    inputs: Inputs,
    /// What was said after the message began.
    next_inputs: Inputs,
    message: Option<Message>,
}

/// A message of the assistant, as far as its lines have come.
#[derive(Debug)]
struct Message {
    place: Place,
    id: Option<String>,
    time_ms: Option<i64>,
    model: Option<String>,
    stop_reason: Option<String>,
    blocks: Vec<Json<'static>>,
    usage: Option<Json<'static>>,
    error: Option<String>,
}

impl Turn {
    /// The call of the model, and what has no answer.
    fn join(mut self) -> impl Iterator<Item = Joined> {
        let answered = self.take_message();
        let session = self.session;
        let unanswered = self.inputs.unanswered(|items, time| call(session.as_deref(), time, items).record());
        answered.into_iter().chain(unanswered)
    }

    /// What was said since the message began, or before it where there is none yet.
    fn unanswered(&mut self) -> &mut Inputs {
        if self.message.is_some() { &mut self.next_inputs } else { &mut self.inputs }
    }

    fn take_message(&mut self) -> Option<Joined> {
        let message = self.message.take()?;
        let inputs = mem::replace(&mut self.inputs, mem::take(&mut self.next_inputs));
        let place = message.place.clone();
        let mut joined = Joined::record(place, message.answering(inputs.into_items(), self.session.as_deref()));
        joined.is_paired = true;
        Some(joined)
    }
}

/// A call that was asked so.
fn call(session: Option<&str>, time_ms: Option<i64>, inputs: Vec<Json<'static>>) -> Call<'static> {
    let mut call = Call::llm(CONTAINER);
    call.record.session_id = session.map(|session| session.to_owned().into());
    call.record.timestamp_ms = time_ms;
    call.asked(Conversation { dialect: Some(Dialect::Anthropic), ..Conversation::of_messages(inputs) });
    call
}

impl Message {
    fn new(step: &Step, id: Option<String>, time_ms: Option<i64>, message: Json<'static>) -> Message {
        let (model, place) = (text(&message, "model"), step.place.clone());
        let (stop_reason, blocks, usage, error) = (None, Vec::new(), None, None);
        let mut this = Message { place, id, time_ms, model, stop_reason, blocks, usage, error };
        this.absorb(message, false);
        this
    }

    /// Takes another line of the same message; of one that comes again only what it counts.
    fn absorb(&mut self, mut message: Json<'static>, is_known: bool) {
        match message.take("content").filter(|_| !is_known) {
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
        self.stop_reason = text(&message, "stop_reason").or(self.stop_reason.take());
    }

    /// The call that the message answers.
    fn answering(self, inputs: Vec<Json<'static>>, session: Option<&str>) -> Record<'static> {
        let mut call = call(session, self.time_ms, inputs);
        let id = self.id.map(std::borrow::Cow::Owned);
        call.record.id = id.clone();
        if let Some(error) = self.error {
            call.record.error = Some(error.into());
            return call.record();
        }
        let mut said = Messages::default();
        let content = ("content", Json::Array(self.blocks));
        said.add(object([("role", string("assistant")), content]), Texts::ByLines);
        let answer = Answer::of_said(said);
        call.answered(Answer {
            dialect: Some(Dialect::Anthropic),
            id,
            model: self.model.map(Into::into),
            usage: self.usage.map(|usage| Usage::of(&usage)).unwrap_or_default(),
            finish_reason: self.stop_reason.map(Into::into).or(answer.finish_reason),
            ..answer
        });
        call.record()
    }
}

/// Sessions whose last words wait for an answer, or for more of it.
#[derive(Debug)]
struct Sessions {
    open: Waiting<Turn>,
    /// Lines that were seen, whichever session they stand in, and in which turn.
    seen: LruCache<u64, u64>,
    /// Sessions in which the model has said something.
    sessions: LruCache<u64, ()>,
}

impl Joiner for Sessions {
    fn push(&mut self, fragment: Fragment<'static>, step: &mut Step) -> Fate {
        let Content::Value(value) = fragment.content else { return Fate::Rejected("no line of a session".to_owned()) };
        let Line { session, chain, time_ms, said } = match read(value) {
            Ok(line) => line,
            Err(what) => return Fate::skipped(step.format, what),
        };
        let name = session.as_ref().map_or_else(|| hash::name(&step.place.source), |session| hash::name(session));
        let key = hash::combine(name, hash::name(&chain));
        match said {
            Said::User { content, is_meta } => {
                let is_text = has_text(&content);
                note_results(step, name, session.as_ref(), &content, time_ms);
                let number = self.turn(step, key, session);
                let wants = if is_meta { Wants::Nothing } else { self.wants(number, &content, time_ms) };
                let input = object([("role", string("user")), ("content", content)]);
                let Some(turn) = self.open.body(number) else { return Fate::Merged };
                let before = if is_text { turn.take_message() } else { None };
                turn.unanswered().push(step, input, time_ms, wants);
                let kept = turn.inputs.bytes();
                if before.is_some() {
                    self.open.settle(number, kept);
                    step.records.extend(before);
                }
                Fate::Merged
            }
            Said::Assistant { id, message } => {
                self.sessions.put(name, ());
                self.push_message(step, (name, key), session, id, time_ms, message)
            }
            Said::Result(_) if self.sessions.contains(&name) => {
                Fate::skipped(step.format, "the result of a run, which repeats its last message")
            }
            Said::Result(result) => {
                step.records.extend(self.open.take_of(key).into_iter().flat_map(|open| open.body.join()));
                step.release(run(result, session.as_deref()))
            }
            Said::Failed { id, error } => {
                let number = self.turn(step, key, session);
                let named = id.as_deref().map(hash::name).or(time_ms.map(|_| 0));
                let line = named.map(|named| timed(time_ms, hash::combine(named, hash::name(&error))));
                if line.is_some_and(|line| self.seen.put(line, number).is_some()) {
                    return self.repeat_message(step, number);
                }
                let mut message = Message::new(step, None, time_ms, Json::Null);
                message.error = Some(error);
                self.begin_message(step, number, message)
            }
        }
    }

    fn load(&self) -> Load {
        self.open.load()
    }

    fn let_oldest_go(&mut self, step: &mut Step) {
        if let Some(open) = self.open.take_oldest() {
            step.records.extend(open.body.join());
        }
    }
}

impl Sessions {
    fn new(limits: &Limits) -> Sessions {
        let sessions = LruCache::new(limits.sessions());
        Sessions { open: Waiting::default(), seen: LruCache::new(limits.answers()), sessions }
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
        let before = time_ms.and_then(|_| self.seen.put(line, number));
        let waited =
            before.is_none_or(|before| self.open.body(before).is_some_and(|turn| turn.unanswered().leave(line)));
        if waited { Wants::Answer(line) } else { Wants::Nothing }
    }

    fn push_message(
        &mut self,
        step: &mut Step,
        (name, key): (u64, u64),
        session: Option<Arc<str>>,
        id: Option<String>,
        time_ms: Option<i64>,
        message: Json<'static>,
    ) -> Fate {
        let content = message.get("content").unwrap_or(&Json::Null).canonical_hash();
        let line = id.as_deref().map(|id| hash::combine(hash::name(id), content));
        let number = self.turn(step, key, session.clone());
        let is_known = line.is_some_and(|line| self.seen.put(line, number).is_some());
        if !is_known {
            note_calls(step, name, session.as_ref(), &message, time_ms);
        }
        if let Some(Turn { message: Some(open), .. }) = self.open.body(number)
            && open.id.is_some()
            && open.id == id
        {
            open.absorb(message, is_known);
            return Fate::Merged;
        }
        if is_known {
            return self.repeat_message(step, number);
        }
        let message = Message::new(step, id, time_ms, message);
        self.begin_message(step, number, message)
    }

    /// Whoever continues a session repeats its messages, and what they answer.
    fn repeat_message(&mut self, step: &mut Step, number: u64) -> Fate {
        if let Some(turn) = self.open.body(number) {
            step.records.extend(turn.take_message());
            turn.inputs = Inputs::default();
            self.open.settle(number, 0);
        }
        Fate::Merged
    }

    /// Begins another message; the one before it is whole.
    fn begin_message(&mut self, step: &mut Step, number: u64, message: Message) -> Fate {
        let Some(turn) = self.open.body(number) else {
            return Fate::skipped(step.format, "a line of a session that is no message");
        };
        step.records.extend(turn.take_message());
        turn.message = Some(message);
        let kept = turn.inputs.bytes() + step.bytes;
        self.open.settle(number, kept);
        Fate::Held
    }

    /// The open turn of a conversation, begun when there is none.
    fn turn(&mut self, step: &Step, key: u64, session: Option<Arc<str>>) -> u64 {
        match self.open.find(key) {
            Some(number) => {
                self.open.grow(number, step.bytes);
                number
            }
            None => self.open.begin(step, key, Turn { session, ..Turn::default() }),
        }
    }
}

/// Notes the calls in a message of the assistant.
fn note_calls(step: &mut Step, scope: u64, session: Option<&Arc<str>>, message: &Json<'_>, time_ms: Option<i64>) {
    let blocks = message.get("content").and_then(Json::as_array).unwrap_or_default();
    let calls = blocks.iter().filter(|block| super::text(block, "type") == "tool_use");
    let actions = calls.filter_map(|block| {
        Some(Action::Call {
            id: block.get("id")?.as_str()?.to_owned(),
            tool: block.get("name")?.as_str()?.to_owned(),
            args: block.get("input").cloned().unwrap_or_default().into_owned(),
            time_ms,
        })
    });
    Traffic::note(step, scope, session, actions.collect());
}

/// Notes the results of tools in a line of the user.
fn note_results(step: &mut Step, scope: u64, session: Option<&Arc<str>>, content: &Json<'_>, time_ms: Option<i64>) {
    let blocks = content.as_array().unwrap_or_default();
    let results = blocks.iter().filter(|block| super::text(block, "type") == "tool_result");
    let actions = results.filter_map(|block| {
        let is_error = block.get("is_error").and_then(Json::as_bool) == Some(true);
        let said = block.get("content").cloned().unwrap_or_default().into_owned();
        Some(Action::Result {
            id: block.get("tool_use_id")?.as_str()?.to_owned(),
            tool: None,
            result: unwrap_container(text_of(said)),
            is_error,
            time_ms,
            duration_ms: None,
        })
    });
    Traffic::note(step, scope, session, actions.collect());
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
