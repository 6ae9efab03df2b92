//! Calls of tools in conversations, and their results → records of tools of their own.
//!
//! A conversation brings its calls along: in messages of the assistant, in the answer, in messages of the role `tool`. A
//! call with its result is one tool record, however often the conversation is logged again with the next request: it is
//! known by its id, or where ids are short and may come again (`call_0`), by conversation, id, tool, arguments and how often
//! these came before. A result whose call is not in the same record (a session, a response that continues another) is the
//! result of the open call of its id. Results without ids answer the calls without results in their order.
//!
//! A session that is run again may repeat its ids, so that an id is one of its session where there is one.
//!
//! A call without a result in the log is no record: it is judged with the answer that asks for it.
//!
//! The conversation of a record is its session; without one, what it begins with: the first message that is not of the
//! system. A tool record stands where its call stands for the first time.
//!
//! **Limits**: `calls_max` calls wait, and as many are remembered; the longest unused go first. A conversation that begins
//! otherwise each time (a window that slides) has its calls of short ids once per beginning. A duration is known only
//! where the log has a time for both call and result.

use std::collections::{BTreeMap, HashMap, VecDeque};

use lru::LruCache;

use crate::{
    input::Place,
    record::{Format, Kind, LatencySource, Message, Prompt, Record, ToolCall, json::Json, piece::mcp::plain_result},
    stats::hash,
};

use super::{Joined, Limits, Whole};

/// Ids of this length are random enough to be the only ones: those of OpenAI have 29 characters, of Anthropic 30.
const UNIQUE_ID_CHARS: usize = 16;
/// What a call takes beside its arguments.
const CALL_BYTES: u64 = 256;

/// What one unit says of calls of tools.
#[derive(Debug)]
pub struct Traffic {
    /// The conversation.
    pub scope: u64,
    /// Its name, where it has one.
    pub session: Option<String>,
    /// The trace that it is part of: a short id is a call of its trace where that has a span of its own.
    pub trace: Option<u64>,
    /// Where it stands.
    pub place: Place,
    /// What it was written by.
    pub format: Format,
    /// What was seen, in order.
    pub actions: Vec<Action>,
}

/// Something seen of a call.
#[derive(Debug)]
pub enum Action {
    /// A tool is called.
    Call {
        /// The id of the call.
        id: String,
        /// The tool.
        tool: String,
        /// With what.
        args: Json<'static>,
        /// When, in milliseconds since the epoch.
        time_ms: Option<i64>,
    },
    /// A tool answers.
    Result {
        /// The id of the call.
        id: String,
        /// The tool, where the result names it.
        tool: Option<String>,
        /// What it answers.
        result: Json<'static>,
        /// Whether the log says that it failed.
        is_error: bool,
        /// When, in milliseconds since the epoch.
        time_ms: Option<i64>,
        /// How long it took, where the log says so.
        duration_ms: Option<f64>,
    },
    /// A tool was called and has answered.
    Whole {
        /// The id of the call, where it has one.
        id: Option<String>,
        /// What tells the call from all others.
        key: u64,
        /// The tool.
        tool: String,
        /// With what.
        args: Json<'static>,
        /// What it answers.
        result: Json<'static>,
        /// Whether the log says that it failed.
        is_error: bool,
    },
    /// A tool is called by an answer; the result is in another record, if anywhere.
    Asked {
        /// The id of the call, where it has one.
        id: Option<String>,
        /// What tells the call from all others.
        key: u64,
        /// The tool.
        tool: String,
        /// With what.
        args: Json<'static>,
    },
    /// The log has a record of its own for the call.
    Recorded {
        /// The id of the call.
        id: String,
    },
}

/// What a record says of calls of tools; `None` for the most.
pub fn traffic_of(record: &Record<'_>, place: &Place) -> Option<Traffic> {
    let of = |scope, actions: Vec<Action>| {
        let session = record.session_id.as_deref().map(str::to_owned);
        let trace = record.span.as_ref().and_then(|span| span.trace_id.as_deref()).map(hash::name);
        (!actions.is_empty()).then(|| Traffic {
            scope,
            session,
            trace,
            place: place.clone(),
            format: record.format,
            actions,
        })
    };
    if record.kind == Kind::Tool {
        let id = record.call_id.as_deref()?.to_owned();
        return of(scope_of(record, place), vec![Action::Recorded { id }]);
    }
    let messages = match &record.prompt {
        Prompt::Messages(messages) => &messages[..],
        _ => &[],
    };
    let is_about_tools = |message: &Message<'_>| !message.tool_calls.is_empty() || is_result(message);
    if record.tool_calls.is_empty() && !messages.iter().any(is_about_tools) {
        return None;
    }
    let scope = scope_of(record, place);
    let has_session = record.session_id.is_some();
    let mut walk = Walk { scope, has_session, seen: HashMap::new(), open: VecDeque::new(), actions: Vec::new() };
    for message in messages {
        message.tool_calls.iter().for_each(|call| walk.call(call));
        if is_result(message) {
            walk.result(message);
        }
    }
    walk.ask(&record.tool_calls);
    of(scope, walk.actions)
}

fn is_result(message: &Message<'_>) -> bool {
    message.call_id.is_some() || matches!(&*message.role, "tool" | "function")
}

/// The conversation of a record: its session, else what it begins with, else its place.
pub fn scope_of(record: &Record<'_>, place: &Place) -> u64 {
    if let Some(session) = &record.session_id {
        return hash::name(session);
    }
    let first = match &record.prompt {
        Prompt::Absent => None,
        Prompt::Text(text) => Some(&**text),
        Prompt::Messages(messages) => {
            let is_said = |message: &&Message<'_>| !matches!(&*message.role, "system" | "developer");
            messages.iter().find(is_said).map(|message| &*message.text)
        }
    };
    match first.filter(|text| !text.is_empty()) {
        Some(text) => hash::combine(hash::name(&place.source), hash::name(text)),
        None => hash::combine(hash::name(&place.source), place.line),
    }
}

/// A way through the messages of one record.
struct Walk {
    scope: u64,
    has_session: bool,
    /// How often each id came, or where ids are short each id, tool and arguments.
    seen: HashMap<u64, u64>,
    /// Calls without results so far, oldest first.
    open: VecDeque<Called>,
    actions: Vec<Action>,
}

struct Called {
    id: Option<String>,
    key: u64,
    tool: String,
    args: Json<'static>,
}

impl Walk {
    fn called(&mut self, call: &ToolCall<'_>) -> Called {
        let id = call.id.as_deref().filter(|id| !id.is_empty());
        let own = id.filter(|id| is_unique(id)).map(|id| id_key(self.scope, self.has_session, id));
        let same = own.unwrap_or_else(|| {
            let same = hash::combine(hash::name(id.unwrap_or_default()), hash::name(&call.name));
            hash::combine(self.scope, hash::combine(same, call.args.canonical_hash()))
        });
        let times = self.seen.entry(same).or_default();
        *times += 1;
        // Anonymised conversations may have one id twice; within a record these are two calls.
        let is_first = own.is_some() && *times == 1;
        let key = if is_first { same } else { hash::combine(same, *times) };
        let args = call.args.clone().into_owned();
        Called { id: id.map(str::to_owned), key, tool: call.name.clone().into_owned(), args }
    }

    fn call(&mut self, call: &ToolCall<'_>) {
        let called = self.called(call);
        self.open.push_back(called);
    }

    fn result(&mut self, message: &Message<'_>) {
        let id = message.call_id.as_deref().filter(|id| !id.is_empty());
        let tool = message.tool.as_deref();
        let is_answered = |called: &Called| match id {
            Some(id) => called.id.as_deref() == Some(id),
            None => tool.is_none_or(|tool| called.tool == tool),
        };
        let result = plain_result(Json::String(message.text.clone().into_owned().into()));
        let is_error = message.is_error;
        if let Some(Called { id, key, tool, args }) =
            self.open.iter().position(is_answered).and_then(|at| self.open.remove(at))
        {
            self.actions.push(Action::Whole { id, key, tool, args, result, is_error });
        } else if let Some(id) = id {
            let (id, tool) = (id.to_owned(), tool.map(str::to_owned));
            self.actions.push(Action::Result { id, tool, result, is_error, time_ms: None, duration_ms: None });
        }
    }

    /// The calls of the answer, and those of the conversation that have no result in it.
    fn ask(&mut self, calls: &[ToolCall<'_>]) {
        calls.iter().for_each(|call| self.call(call));
        let open = std::mem::take(&mut self.open).into_iter();
        self.actions.extend(open.map(|Called { id, key, tool, args }| Action::Asked { id, key, tool, args }));
    }
}

fn is_unique(id: &str) -> bool {
    id.len() >= UNIQUE_ID_CHARS
}

/// The name under which a result finds its call. Within a session, ids are those of the session: a session that is run
/// again may repeat them.
fn id_key(scope: u64, has_session: bool, id: &str) -> u64 {
    if is_unique(id) && !has_session { hash::name(id) } else { hash::combine(scope, hash::name(id)) }
}

/// Pairs calls with results over all records.
#[derive(Debug)]
pub struct Pairer {
    limits: Limits,
    /// Calls that are records already.
    done: LruCache<u64, ()>,
    /// Calls without results, by the order in which they came.
    open: BTreeMap<u64, Open>,
    by_key: HashMap<u64, u64>,
    by_id: HashMap<u64, u64>,
    bytes: u64,
    calls: u64,
    forgotten: u64,
}

#[derive(Debug)]
struct Open {
    key: u64,
    id_key: Option<u64>,
    id: Option<String>,
    place: Place,
    format: Format,
    session: Option<String>,
    scope: u64,
    tool: String,
    args: Json<'static>,
    time_ms: Option<i64>,
    bytes: u64,
}

/// What a tool answered.
struct Answer {
    result: Json<'static>,
    is_error: bool,
    time_ms: Option<i64>,
    duration_ms: Option<f64>,
}

impl Pairer {
    /// A pairer that knows of no call.
    pub fn new(limits: &Limits) -> Pairer {
        let calls = std::num::NonZeroUsize::new(limits.calls_max).unwrap_or(std::num::NonZeroUsize::MIN);
        Pairer {
            limits: limits.clone(),
            done: LruCache::new(calls),
            open: BTreeMap::new(),
            by_key: HashMap::new(),
            by_id: HashMap::new(),
            bytes: 0,
            calls: 0,
            forgotten: 0,
        }
    }

    /// Takes what the next unit says of calls; the tool records that are whole now, in their order.
    pub fn push(&mut self, traffic: Traffic) -> Vec<Joined> {
        let Traffic { scope, session, trace, place, format, actions } = traffic;
        let of_trace = |id: &str| trace.map(|trace| hash::combine(trace, hash::name(id)));
        let mut records = Vec::new();
        let id_key = |id: &str| id_key(scope, session.is_some(), id);
        for action in actions {
            self.calls += 1;
            match action {
                Action::Call { id, tool, args, time_ms } => {
                    let key = id_key(&id);
                    let id_key = Some(key);
                    let (id, session, place) = (Some(id), session.clone(), place.clone());
                    let bytes = 0;
                    self.hold(Open { key, id_key, id, place, format, session, scope, tool, args, time_ms, bytes });
                }
                Action::Asked { id, key, tool, args } => {
                    let id_key = id.as_deref().map(id_key);
                    let (session, place, time_ms, bytes) = (session.clone(), place.clone(), None, 0);
                    self.hold(Open { key, id_key, id, place, format, session, scope, tool, args, time_ms, bytes });
                }
                Action::Result { id, tool, result, is_error, time_ms, duration_ms } => {
                    let name = id_key(&id);
                    let answer = Answer { result, is_error, time_ms, duration_ms };
                    if let Some(open) = self.by_id.get(&name).copied().and_then(|number| self.take(number)) {
                        self.done.put(open.key, ());
                        records.push(open.answered(answer));
                    } else if let Some(tool) = tool
                        && self.done.put(name, ()).is_none()
                    {
                        // The call is not in the log, but the result says whose it is.
                        let (key, id_key, id) = (name, Some(name), Some(id));
                        let (session, place, bytes) = (session.clone(), place.clone(), 0);
                        let args = Json::Null;
                        let open =
                            Open { key, id_key, id, place, format, session, scope, tool, args, time_ms: None, bytes };
                        records.push(open.answered(answer));
                    }
                }
                Action::Whole { id, key, tool, args, result, is_error } => {
                    let known = self.by_key.get(&key).copied().and_then(|number| self.take(number));
                    let recorded = id.as_deref().and_then(of_trace).is_some_and(|own| self.done.contains(&own));
                    if self.done.put(key, ()).is_some() || recorded {
                        continue;
                    }
                    let answer = Answer { result, is_error, time_ms: None, duration_ms: None };
                    let (session, place, time_ms, bytes) = (session.clone(), place.clone(), None, 0);
                    let open =
                        Open { key, id_key: None, id, place, format, session, scope, tool, args, time_ms, bytes };
                    records.push(known.unwrap_or(open).answered(answer));
                }
                Action::Recorded { id } => {
                    let name = id_key(&id);
                    if let Some(own) = of_trace(&id) {
                        self.done.put(own, ());
                    }
                    if is_unique(&id) {
                        self.done.put(name, ());
                        self.by_key.get(&name).copied().and_then(|number| self.take(number));
                    }
                }
            }
        }
        for (ordinal, record) in (1..).zip(&mut records) {
            record.place.item = Some(record.place.item.unwrap_or(0).saturating_add(ordinal));
        }
        records
    }

    /// Whether the call of a tool record is one already, in the log or made of a conversation.
    pub fn is_done(&self, record: &Record<'_>) -> bool {
        let Some(id) = record.call_id.as_deref().filter(|id| record.kind == Kind::Tool && is_unique(id)) else {
            return false;
        };
        let session = record.session_id.as_deref().map(hash::name);
        self.done.contains(&id_key(session.unwrap_or_default(), session.is_some(), id))
    }

    /// The limits that were reached: name, value, how often.
    pub fn limits_reached(&self) -> Option<(&'static str, u64, u64)> {
        (self.forgotten > 0).then_some(("assemble.calls_max", self.limits.calls_max as u64, self.forgotten))
    }

    fn hold(&mut self, mut open: Open) {
        if self.done.contains(&open.key) || self.by_key.contains_key(&open.key) {
            return;
        }
        open.bytes = CALL_BYTES + weight(&open.args);
        self.bytes += open.bytes;
        let number = self.calls;
        self.by_key.insert(open.key, number);
        if let Some(id) = open.id_key {
            self.by_id.insert(id, number);
        }
        self.open.insert(number, open);
        while self.open.len() > self.limits.calls_max || self.bytes > self.limits.bytes_max {
            let Some(oldest) = self.open.keys().next().copied() else { return };
            self.take(oldest);
            self.forgotten += 1;
        }
    }

    fn take(&mut self, number: u64) -> Option<Open> {
        let open = self.open.remove(&number)?;
        self.bytes -= open.bytes;
        self.by_key.remove(&open.key);
        if let Some(id) = open.id_key
            && self.by_id.get(&id) == Some(&number)
        {
            self.by_id.remove(&id);
        }
        Some(open)
    }
}

impl Open {
    fn answered(self, answer: Answer) -> Joined {
        let Open { id, place, format, session, scope, tool, args, time_ms, .. } = self;
        let Answer { result, is_error, time_ms: end_ms, duration_ms } = answer;
        let mut record = Record::new(Kind::Tool);
        record.format = format;
        record.call_id = id.clone().map(Into::into);
        record.id = id.map(Into::into);
        record.timestamp_ms = time_ms;
        record.session_id = session.map(Into::into);
        record.tool = Some(tool.into());
        record.args = Some(args).filter(|args| !args.is_null());
        record.error = is_error.then(|| error_text(&result).into());
        record.execution_time_ms = duration_ms.or_else(|| super::duration_ms(time_ms, end_ms));
        record.latency_source = record.execution_time_ms.map(|_| match duration_ms {
            Some(_) => LatencySource::Reported,
            None => LatencySource::StartAndEnd,
        });
        record.result = Some(result);
        let mut joined = Joined::new(place, format, Whole::Record(Box::new(record)));
        (joined.is_further, joined.scope, joined.is_paired) = (true, Some(scope), true);
        joined
    }
}

fn error_text(result: &Json<'_>) -> String {
    result.as_str().map_or_else(|| "the tool failed".to_owned(), str::to_owned)
}

/// About how many bytes a value takes.
pub(super) fn weight(value: &Json<'_>) -> u64 {
    match value {
        Json::String(text) => text.len() as u64,
        Json::Array(items) => items.iter().map(|item| 32 + weight(item)).sum(),
        Json::Object(entries) => entries.iter().map(|(key, value)| 56 + key.len() as u64 + weight(value)).sum(),
        _ => 0,
    }
}
