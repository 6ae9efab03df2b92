//! Codex sessions (`~/.codex/sessions/**/rollout-*.jsonl`) → calls of the model, and of its tools.
//!
//! A line is `{timestamp, type, payload}`:
//!
//! - `session_meta`, `turn_context`: the session's id; the model from here on
//! - `response_item`: an item as in OpenAI Responses, said to the model or by it
//! - lines of 2025 without a `payload`: a heading with `id` and `instructions`, then the items as they are
//! - `event_msg` of the type `token_count`: the tokens of the last call (`last_token_usage`) and of the session so far
//! - `token_usage_record` (from 0.160 on): the tokens of one response, and its id; the counts that follow repeat it
//!
//! A call of the model is a run of items that it gives (reasoning, messages, calls of tools); its prompt is the run of
//! items that it was given before, not the whole session. It is whole with the token count that follows, or when the model
//! gives items again after it was given some. A count without items is a call of which only the tokens are known; the same
//! cumulative total once more is no call. What is said last and has no items is a call without an answer, unless the user
//! stopped a tool.
//!
//! The instructions of a session come along with each of its calls: whole with the first one, and cut with all that follow,
//! since a record owns its texts and all of them are looked at.
//!
//! **Source**: shapes seen in several public test suites; there is no specification. `total_token_usage` is cumulative and
//! never the tokens of a call.
//!
//! **Limits**: lines have no time at which a call of the model began, so that nothing is known of latency.
//! `duration_ms` of `task_complete` is that of a whole task and of no call.

use std::{borrow::Cow, mem, sync::Arc};

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
        Container, Content, Entry, Format, Fragment,
        body::{join_lines, openai_responses, usage::Usage},
        call::Call,
        json::Json,
        values::unwrap_container,
    },
};

use super::{
    Writer, has_all, native,
    session::{Inputs, Wants, is_users, object, text, time_ms},
};

const CONTAINER: Container = Container::named("codex");

/// Bytes of the instructions of a session that its first call brings along; further ones are cut.
const INSTRUCTIONS_BYTES_MAX: usize = 64 << 10;
/// Bytes of the instructions that the calls after the first one bring along.
const INSTRUCTIONS_AGAIN_BYTES_MAX: usize = 4 << 10;

/// How the client begins the output of a tool that the user stopped, or the last line of it.
const STOPPED: &str = "aborted by user";

/// Types of lines that say something of a call.
const TYPES: [&str; 6] =
    ["session_meta", "turn_context", "response_item", "event_msg", "compacted", "token_usage_record"];

/// All that a line has, whatever its type: releases add types.
const KEYS: [&str; 5] = ["timestamp", "type", "payload", "ordinal", "metadata"];

/// Items that call a tool.
const CALLS: [&str; 3] = ["function_call", "local_shell_call", "custom_tool_call"];

/// Items that hold what a tool gave.
const OUTPUTS: [&str; 2] = ["function_call_output", "custom_tool_call_output"];

/// All that an item has where it stands without a `payload`.
const ITEM_KEYS: [&str; 14] = [
    "type",
    "id",
    "timestamp",
    "status",
    "role",
    "content",
    "summary",
    "encrypted_content",
    "call_id",
    "name",
    "arguments",
    "input",
    "action",
    "output",
];

/// Codex sessions.
pub(super) const WRITER: Writer = Writer {
    container: CONTAINER,
    about: "sessions",
    told_by: "`payload` with a line `type`; items of the Responses API as lines of their own (2025)",
    marks: &["payload", "call_id", "content", "summary", "record_type", "instructions"],
    matches: |value| is_line(value) || is_flat_line(value),
    read: |value, entries| entries.push(Ok(Entry::Fragment(Fragment::of_value(Format::of(CONTAINER), value)))),
    joiner: Some(|limits| Box::new(Sessions::new(limits))),
};

fn is_line(value: &Json<'_>) -> bool {
    let entries = value.as_object().unwrap_or_default();
    // A type that is not known is one of a later release, where the line has nothing but what lines have, and no call.
    let is_later = || {
        let holds_nothing = |payload: &Json<'_>| payload.as_object().is_some() && !native::is_call(payload);
        entries.len() > 2
            && entries.iter().all(|(key, _)| KEYS.contains(&key.as_ref()))
            && value.get("payload").is_some_and(holds_nothing)
    };
    has_all(value, &["type", "payload"]) && (TYPES.contains(&super::text(value, "type")) || is_later())
}

/// Whether the object is a line of a session before lines had a `payload`: items as they are, below a heading.
fn is_flat_line(value: &Json<'_>) -> bool {
    let entries = value.as_object().unwrap_or_default();
    let has_only = |keys: &[&str]| entries.iter().all(|(key, _)| keys.contains(&key.as_ref()));
    let is_item = match super::text(value, "type") {
        "message" => {
            let kind = value.pointer("/content/0/type").and_then(Json::as_str);
            value.get("role").is_some() && matches!(kind, Some("input_text" | "output_text"))
        }
        "reasoning" => value.get("summary").is_some_and(|summary| summary.as_array().is_some()),
        "" => {
            return has_only(&["record_type"])
                || (value.get("instructions").is_some() && has_only(&["id", "timestamp", "instructions", "git"]));
        }
        kind if CALLS.contains(&kind) => value.get("call_id").is_some() && value.get("output").is_none(),
        kind => OUTPUTS.contains(&kind) && value.get("call_id").is_some(),
    };
    is_item && has_only(&ITEM_KEYS)
}

/// What a line says.
#[derive(Debug)]
enum Said {
    /// A session begins.
    Session { id: Option<String>, provider: Option<String>, instructions: Option<String> },
    /// The model that answers from here on.
    Model(Option<String>),
    /// An item that the model is given.
    Input(Json<'static>),
    /// An item that the model gives.
    Output(Json<'static>),
    /// The tokens of the last call; the same total of the session again is the same call again.
    Tokens { usage: Usage, total: Option<u64>, model: Option<String> },
    /// The tokens of one response, under its id.
    Response { id: Option<String>, usage: Usage },
}

/// Reads a line; what holds no call is named.
fn read(mut value: Json<'static>) -> Result<Said, &'static str> {
    let kind = text(&value, "type").unwrap_or_default();
    let Some(payload) = value.take("payload") else {
        if value.get("instructions").is_some() {
            return Ok(read_heading(&value));
        }
        return read_item(value).ok_or("a line of a session that is no item");
    };
    match kind.as_str() {
        "session_meta" => Ok(read_heading(&payload)),
        "turn_context" => Ok(Said::Model(text(&payload, "model"))),
        "response_item" => read_item(payload).ok_or("an item of a session that is neither said nor called"),
        "event_msg" if super::text(&payload, "type") == "token_count" => {
            read_tokens(payload).ok_or("a state of rate limits")
        }
        "event_msg" => Err("an event of a session, which repeats or frames its items"),
        "compacted" => Err("a summary of a session"),
        "token_usage_record" => {
            let usage = payload.get("usage").map(Usage::of).ok_or("a line of a session that is no item")?;
            Ok(Said::Response { id: text(&payload, "response_id"), usage })
        }
        _ => Err("a line of a session that is no item"),
    }
}

fn read_heading(heading: &Json<'_>) -> Said {
    let base = heading.pointer("/base_instructions/text").and_then(Json::as_str).map(str::to_owned);
    Said::Session {
        id: text(heading, "id"),
        provider: text(heading, "model_provider"),
        instructions: text(heading, "instructions").or(base),
    }
}

fn read_item(item: Json<'static>) -> Option<Said> {
    let is_answer = super::text(&item, "role") == "assistant";
    match super::text(&item, "type") {
        "message" if is_answer => Some(Said::Output(item)),
        "message" => Some(Said::Input(item)),
        "reasoning" => Some(Said::Output(item)),
        other if other.ends_with("_call_output") => Some(Said::Input(item)),
        other if other.ends_with("_call") => Some(Said::Output(item)),
        _ => None,
    }
}

fn read_tokens(mut payload: Json<'static>) -> Option<Said> {
    let mut info = payload.take("info")?;
    let total = info.pointer("/total_token_usage/total_tokens").and_then(Json::as_number);
    let total = total.and_then(|total| total.as_integer()).and_then(|total| u64::try_from(total).ok());
    let model = text(&info, "model");
    Some(Said::Tokens { usage: Usage::of(&info.take("last_token_usage")?), total, model })
}

/// What is remembered of a session.
#[derive(Debug, Default)]
struct Session {
    head: Arc<Head>,
    total: Option<u64>,
    /// Whether every response has a record of its tokens; the counts of the session repeat them.
    has_records: bool,
}

/// What a call has of its session.
#[derive(Clone, Debug, Default)]
struct Head {
    id: Option<Arc<str>>,
    provider: Option<String>,
    instructions: Option<Arc<str>>,
    model: Option<String>,
}

impl Session {
    /// Another model answers from here on.
    fn answered_by(&mut self, model: Option<String>) {
        if model.is_some() && model != self.head.model {
            Arc::make_mut(&mut self.head).model = model;
        }
    }
}

/// A call of the model, and what comes before it.
#[derive(Debug, Default)]
struct Turn {
    session: Arc<Head>,
    inputs: Inputs,
    /// What was said after the model had begun.
    next_inputs: Inputs,
    outputs: Vec<Json<'static>>,
    /// Where and when the first output stands.
    begun: Option<(Place, Option<i64>)>,
    usage: Option<Usage>,
    response_id: Option<String>,
    /// Whether a call before this one has brought the instructions along.
    is_instructed: bool,
}

impl Turn {
    /// The call of the model, and what has no answer.
    fn join(mut self) -> impl Iterator<Item = Joined> {
        let answered = self.take_call();
        let inputs = mem::take(&mut self.inputs);
        let unanswered = inputs.unanswered(|items, time| self.call(time, Some(items)).record());
        answered.into_iter().chain(unanswered)
    }

    fn take_call(&mut self) -> Option<Joined> {
        let (place, time_ms) = self.begun.take()?;
        let inputs = mem::replace(&mut self.inputs, mem::take(&mut self.next_inputs));
        let (outputs, usage) = (mem::take(&mut self.outputs), self.usage.take());
        let is_counted_only = inputs.is_empty() && outputs.is_empty();
        let asked = (!is_counted_only).then(|| inputs.into_items());
        let mut call = self.call(time_ms, asked);
        if !is_counted_only {
            let mut answer = openai_responses::read_output(outputs);
            answer.finish_reason = answer.finish_reason.or(Some("completed".into()));
            call.answered(answer);
            self.is_instructed = true;
        }
        usage.unwrap_or_default().fill(&mut call.record);
        call.record.response_id = self.response_id.take().map(Cow::Owned);
        call.record.id = call.record.id.take().or_else(|| call.record.response_id.clone());
        let mut joined = Joined::record(place, call.record());
        joined.is_paired = true;
        Some(joined)
    }

    /// A call that was asked so; `None` where only its tokens are known.
    fn call(&self, time_ms: Option<i64>, inputs: Option<Vec<Json<'static>>>) -> Call<'static> {
        let Head { id, provider, model, instructions } = &*self.session;
        let mut call = Call::llm(CONTAINER);
        call.record.session_id = id.as_ref().map(|id| id.to_string().into());
        call.record.timestamp_ms = time_ms;
        call.record.provider = provider.clone().map(Into::into);
        call.requested = model.clone().map(Into::into);
        if let Some(inputs) = inputs {
            let most = if self.is_instructed { INSTRUCTIONS_AGAIN_BYTES_MAX } else { INSTRUCTIONS_BYTES_MAX };
            let instructions =
                instructions.as_deref().map(|text| Cow::Owned(text[..text.floor_char_boundary(most)].to_owned()));
            let mut asked = openai_responses::read_items(inputs);
            asked.system = join_lines(instructions.into_iter().chain(asked.system).collect());
            call.asked(asked);
        }
        call
    }
}

/// Sessions whose last words wait for an answer, or for more of it.
#[derive(Debug)]
struct Sessions {
    open: Waiting<Turn>,
    /// By source.
    known: LruCache<u64, Session>,
}

impl Joiner for Sessions {
    fn push(&mut self, fragment: Fragment<'static>, step: &mut Step) -> Fate {
        let Content::Value(value) = fragment.content else { return Fate::Rejected("no line of a session".to_owned()) };
        let time_ms = time_ms(value.get("timestamp"));
        let said = match read(value) {
            Ok(said) => said,
            Err(what) => return Fate::skipped(step.format, what),
        };
        let source = hash::name(&step.place.source);
        match said {
            Said::Session { id, provider, instructions } => {
                step.records.extend(self.open.take_of(source).into_iter().flat_map(|open| open.body.join()));
                let cut = |text: String| Arc::from(&text[..text.floor_char_boundary(INSTRUCTIONS_BYTES_MAX)]);
                let (id, instructions) = (id.map(Arc::from), instructions.map(cut));
                let head = Arc::new(Head { id, provider, instructions, model: None });
                self.known.put(source, Session { head, ..Session::default() });
                Fate::skipped(step.format, "a heading of a session")
            }
            Said::Model(model) => {
                self.session(source).answered_by(model);
                Fate::skipped(step.format, "a heading of a session")
            }
            Said::Input(item) => {
                let (scope, id) = self.scope(source);
                note_output(step, scope, id.as_ref(), &item, time_ms);
                let Some((_, turn)) = self.turn(step, source) else { return Fate::Merged };
                let inputs = if turn.begun.is_some() { &mut turn.next_inputs } else { &mut turn.inputs };
                let wants = wants(&item);
                inputs.push(step, item, time_ms, wants);
                Fate::Merged
            }
            Said::Output(item) => {
                let (scope, id) = self.scope(source);
                note_call(step, scope, id.as_ref(), &item, time_ms);
                let place = step.place.clone();
                let Some((number, turn)) = self.turn(step, source) else { return Fate::Merged };
                let before = if turn.next_inputs.is_empty() { None } else { turn.take_call() };
                let is_first = turn.begun.is_none();
                turn.begun.get_or_insert((place, time_ms));
                turn.outputs.push(item);
                let kept = turn.inputs.bytes() + step.bytes;
                if before.is_some() {
                    self.open.settle(number, kept);
                    step.records.extend(before);
                }
                if is_first { Fate::Held } else { Fate::Merged }
            }
            Said::Tokens { usage, total, model } => {
                let session = self.session(source);
                if session.has_records || (total.is_some() && session.total == total) {
                    return Fate::skipped(step.format, "a token count that was seen before");
                }
                session.total = total;
                session.answered_by(model);
                self.count(step, source, time_ms, None, usage)
            }
            Said::Response { id, usage } => {
                self.session(source).has_records = true;
                self.count(step, source, time_ms, id, usage)
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
        Sessions { open: Waiting::default(), known: LruCache::new(limits.sessions()) }
    }

    /// Takes the tokens of a call, which is whole with them.
    fn count(
        &mut self,
        step: &mut Step,
        source: u64,
        time_ms: Option<i64>,
        response_id: Option<String>,
        usage: Usage,
    ) -> Fate {
        let place = step.place.clone();
        let Some((number, turn)) = self.turn(step, source) else { return Fate::Merged };
        let is_first = turn.begun.is_none();
        turn.begun.get_or_insert((place, time_ms));
        (turn.usage, turn.response_id) = (Some(usage), response_id);
        step.records.extend(turn.take_call());
        let kept = turn.inputs.bytes();
        self.open.settle(number, kept);
        if is_first { Fate::Held } else { Fate::Merged }
    }

    fn session(&mut self, source: u64) -> &mut Session {
        self.known.get_or_insert_mut(source, Session::default)
    }

    fn scope(&mut self, source: u64) -> (u64, Option<Arc<str>>) {
        let id = self.known.get(&source).and_then(|session| session.head.id.clone());
        (id.as_ref().map_or(source, |id| hash::name(id)), id)
    }

    /// The open turn of a source, begun when there is none, with what is known of the session now.
    fn turn(&mut self, step: &Step, source: u64) -> Option<(u64, &mut Turn)> {
        let number = match self.open.find(source) {
            Some(number) => {
                self.open.grow(number, step.bytes);
                number
            }
            None => self.open.begin(step, source, Turn::default()),
        };
        let head = self.session(source).head.clone();
        let turn = self.open.body(number)?;
        turn.session = head;
        Some((number, turn))
    }
}

/// Notes a call of a tool.
fn note_call(step: &mut Step, scope: u64, session: Option<&Arc<str>>, item: &Json<'_>, time_ms: Option<i64>) {
    let Some(id) = text(item, "call_id") else { return };
    let tool = text(item, "name").or_else(|| text(item, "type").map(|kind| kind.trim_end_matches("_call").to_owned()));
    let args = ["arguments", "input", "action"].into_iter().find_map(|key| item.get(key)).cloned();
    let args = unwrap_container(args.unwrap_or_else(|| object([])).into_owned());
    Traffic::note(step, scope, session, vec![Action::Call { id, tool: tool.unwrap_or_default(), args, time_ms }]);
}

/// Notes what a tool gave.
fn note_output(step: &mut Step, scope: u64, session: Option<&Arc<str>>, item: &Json<'_>, time_ms: Option<i64>) {
    let Some(id) = text(item, "call_id") else { return };
    let result = unwrap_container(item.get("output").cloned().unwrap_or_default().into_owned());
    let failed = result.get("success").and_then(Json::as_bool) == Some(false);
    let seconds = result.pointer("/metadata/duration_seconds").and_then(Json::as_f64);
    let action = Action::Result {
        id,
        tool: None,
        is_error: failed,
        time_ms,
        duration_ms: seconds.map(|seconds| seconds * 1e3).filter(|ms| ms.is_finite() && *ms >= 0.0),
        result,
    };
    Traffic::note(step, scope, session, vec![action]);
}

/// What is to follow an item: an answer, where the user says it, or a tool that was not stopped.
fn wants(item: &Json<'_>) -> Wants {
    let text = |key| item.get(key).and_then(Json::as_str);
    let wants_answer = match (text("type"), text("role")) {
        (Some("message"), Some("user")) => {
            let parts = item.get("content").and_then(Json::as_array).unwrap_or_default();
            let texts = parts.iter().map(|part| part.get("text").and_then(Json::as_str));
            texts.chain([text("content")]).flatten().any(is_users)
        }
        (Some("message"), _) => false,
        _ if text("output").is_some_and(is_stopped) => return Wants::Stopped,
        _ => true,
    };
    // Nothing looks for it under a name.
    if wants_answer { Wants::Answer(0) } else { Wants::Nothing }
}

/// Whether the output of a tool says that the user stopped it; what comes before is how long it ran.
fn is_stopped(output: &str) -> bool {
    let last = output.trim_end().lines().next_back().unwrap_or_default();
    last.starts_with(STOPPED) || output == "aborted"
}
