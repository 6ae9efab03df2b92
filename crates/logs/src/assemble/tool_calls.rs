//! Calls of tools in conversations, and their results → records of tools of their own.
//!
//! A conversation brings its calls along: in messages of the assistant, in the answer, in messages of the role `tool`. A
//! call with its result is one tool record, however often the conversation is logged again with the next request: it is
//! known by its id, or where ids are short and may come again (`call_0`), by conversation, id, tool, arguments, how often
//! these came before in the record, and its result. A result whose call is not in the same record (a session, a response
//! that continues another) is the result of the latest open call of its id; of a short id without a session, only where
//! there is but one. Results without ids answer the calls without results in their order.
//!
//! A session that is run again may repeat its ids, so that an id is one of its session where there is one.
//!
//! A log may have a record of its own for a call (a span, a run, a tool record), which knows how long it took: that counts,
//! and what the conversation tells is merged into it ([`claims`](super::claims)). It stands before the conversation:
//! calls of a trace come in the order in which they began ([`traces`](super::traces)).
//!
//! A call without a result in the log is no record: it is judged with the answer that asks for it.
//!
//! The conversation of a record is its session; without one, what it begins with: the first message that is not of the
//! system. A tool record stands where its call stands for the first time.
//!
//! **Limits**: `calls_max` calls wait, and as many are remembered; the longest unused go first. A conversation that begins
//! otherwise each time (a window that slides) has its calls of short ids once per beginning. Where ids are short, two records
//! of one conversation that agree in call and result tell of one call, and a result that is told again in other words (cut)
//! is another call's. Two spans or runs with one long id are one call, though the second may be another try with another
//! result. A duration is known only where the log has a time for both call and result. A record of our own form is never
//! merged, and takes the place of what a conversation tells where it comes before it and has the id of its call: whoever
//! writes one means it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use lru::LruCache;

use crate::{
    hash,
    input::Place,
    record::{
        Container, Format, Kind, LatencySource, Message, Prompt, Record, ToolCall, json::Json, values::unwrap_container,
    },
};

use super::{
    Joined, Limits, Step,
    claims::{Claims, Names},
};

/// Ids of this length are random enough to be the only ones: those of OpenAI have 29 characters, of Anthropic 30.
const UNIQUE_ID_CHARS: usize = 16;
/// What a call takes beside its texts.
const CALL_BYTES: u64 = 256;
/// Bytes of the name of a session that its tool records repeat; of a longer one only the hash goes on.
const SESSION_BYTES_MAX: usize = 1 << 10;

/// What one unit says of calls of tools.
#[derive(Debug)]
pub struct Traffic {
    /// The conversation.
    pub scope: u64,
    /// Whether that is a session, and not what it begins with.
    pub has_session: bool,
    /// The name of the session, where its tool records are to repeat it.
    pub session: Option<Arc<str>>,
    /// The trace that it is part of.
    pub trace: Option<u64>,
    /// Where it stands.
    pub place: Place,
    /// What it was written by.
    pub format: Format,
    /// What was seen, in order.
    pub actions: Vec<Action>,
}

impl Traffic {
    /// Notes what was seen of calls of tools in a line of a session.
    pub(crate) fn note(step: &mut Step, scope: u64, session: Option<&Arc<str>>, actions: Vec<Action>) {
        if !actions.is_empty() {
            let (place, format, has_session) = (step.place.clone(), step.format, session.is_some());
            let session = session.filter(|session| is_repeated(session)).cloned();
            step.traffic.push(Traffic { scope, has_session, session, trace: None, place, format, actions });
        }
    }
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
        /// What tells the call from all others, as long as it has no result.
        key: u64,
        /// What tells the call from all others.
        done: u64,
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
        /// The id of the call, where it has one.
        id: Option<String>,
        /// The tool.
        tool: String,
        /// The hash of its arguments.
        args: u64,
    },
}

/// By what a record of a tool is known that a conversation tells, too.
#[derive(Debug)]
pub struct Recorded {
    names: Names,
    key: u64,
}

impl Recorded {
    /// The mark of a record; `None` where it is no call of a tool, is our own, or has no id that is the only one.
    pub fn of(record: &Record<'_>) -> Option<Recorded> {
        if record.kind != Kind::Tool || record.format.container == Container::NATIVE {
            return None;
        }
        let id = own_id(record).filter(|id| is_unique(id))?;
        let session = record.session_id.as_deref().map(hash::name);
        let key = id_key(session.unwrap_or_default(), session.is_some(), id);
        Some(Recorded { names: Names::of(&[], Some(id), "", 0), key })
    }
}

/// What a record says of calls of tools; `None` for the most.
pub fn traffic_of(record: &Record<'_>, place: &Place) -> Option<Traffic> {
    let has_session = record.session_id.is_some();
    let of = |scope, actions: Vec<Action>| {
        let session = record.session_id.as_deref().filter(|session| is_repeated(session)).map(Arc::from);
        let trace = record.span.as_ref().and_then(|span| span.trace_id.as_deref()).map(hash::name);
        (!actions.is_empty()).then(|| Traffic {
            scope,
            has_session,
            session,
            trace,
            place: place.clone(),
            format: record.format,
            actions,
        })
    };
    if record.kind == Kind::Tool {
        let id = own_id(record).map(str::to_owned);
        if id.is_none() && record.format.container == Container::NATIVE {
            return None;
        }
        let tool = record.tool.as_deref()?.to_owned();
        let args = record.args.as_ref().map_or_else(|| args_hash(&Json::Null), args_hash);
        return of(scope_of(record, place), vec![Action::Recorded { id, tool, args }]);
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
    let mut walk = Walk { scope, has_session, ..Walk::default() };
    for message in messages {
        message.tool_calls.iter().for_each(|call| walk.call(call));
        if is_result(message) {
            walk.result(message);
        }
    }
    walk.ask(&record.tool_calls);
    of(scope, walk.actions)
}

/// The id of the call that a tool record is; our own form has it for the id of the record.
fn own_id<'r>(record: &'r Record<'_>) -> Option<&'r str> {
    let is_native = record.format.container == Container::NATIVE;
    let id = record.call_id.as_deref().or_else(|| record.id.as_deref().filter(|_| is_native));
    id.filter(|id| !id.is_empty())
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
#[derive(Default)]
struct Walk {
    scope: u64,
    has_session: bool,
    /// How often each id came, or where ids are short each id, tool and arguments.
    seen: HashMap<u64, u64>,
    /// Calls in their order; those that have their result are gone.
    calls: Vec<Option<Called>>,
    /// The calls of an id, of a tool, and all (under `None`), oldest first; those that are gone are passed over.
    places: HashMap<Option<u64>, VecDeque<usize>>,
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
        let names = [called.id.as_deref().map(of_id), Some(of_tool(&called.tool)), None];
        // What has no id has but two names.
        for name in names.into_iter().skip(usize::from(called.id.is_none())) {
            self.places.entry(name).or_default().push_back(self.calls.len());
        }
        self.calls.push(Some(called));
    }

    /// The oldest call without a result that has the id, or is of the tool where the result has no id.
    fn take(&mut self, id: Option<&str>, tool: Option<&str>) -> Option<Called> {
        let places = self.places.get_mut(&id.map(of_id).or_else(|| tool.map(of_tool)))?;
        while let Some(place) = places.pop_front() {
            if let Some(called) = self.calls[place].take() {
                return Some(called);
            }
        }
        None
    }

    fn result(&mut self, message: &Message<'_>) {
        let id = message.call_id.as_deref().filter(|id| !id.is_empty());
        let tool = message.tool.as_deref();
        let result = unwrap_container(Json::String(message.text.clone().into_owned().into()));
        let is_error = message.is_error;
        if let Some(Called { id, key, tool, args }) = self.take(id, tool) {
            let done = done_key(key, id.as_deref(), &result);
            self.actions.push(Action::Whole { id, key, done, tool, args, result, is_error });
        } else if let Some(id) = id {
            let (id, tool) = (id.to_owned(), tool.map(str::to_owned));
            self.actions.push(Action::Result { id, tool, result, is_error, time_ms: None, duration_ms: None });
        }
    }

    /// The calls of the answer, and those of the conversation that have no result in it.
    fn ask(&mut self, calls: &[ToolCall<'_>]) {
        calls.iter().for_each(|call| self.call(call));
        let open = std::mem::take(&mut self.calls).into_iter().flatten();
        self.actions.extend(open.map(|Called { id, key, tool, args }| Action::Asked { id, key, tool, args }));
    }
}

fn of_id(id: &str) -> u64 {
    hash::combine(0, hash::name(id))
}

fn of_tool(tool: &str) -> u64 {
    hash::combine(1, hash::name(tool))
}

/// The hash of arguments; none are as good as an empty object.
fn args_hash(args: &Json<'_>) -> u64 {
    match args {
        Json::Object(entries) if entries.is_empty() => Json::Null.canonical_hash(),
        args => args.canonical_hash(),
    }
}

/// Whether an id is the only one of its kind.
pub(super) fn is_unique(id: &str) -> bool {
    id.len() >= UNIQUE_ID_CHARS
}

/// The name under which a result finds its call. Within a session, ids are those of the session: a session that is run
/// again may repeat them.
fn id_key(scope: u64, has_session: bool, id: &str) -> u64 {
    if is_unique(id) && !has_session { hash::name(id) } else { hash::combine(scope, hash::name(id)) }
}

/// What tells a call with its result from all others. A short id may come again in its conversation, session or not.
fn done_key(key: u64, id: Option<&str>, result: &Json<'_>) -> u64 {
    if id.is_some_and(is_unique) { key } else { hash::combine(key, result.canonical_hash()) }
}

/// Whether the tool records of a session repeat its name.
fn is_repeated(session: &str) -> bool {
    session.len() <= SESSION_BYTES_MAX
}

/// Pairs calls with results over all records.
#[derive(Debug)]
pub struct Pairer {
    limits: Limits,
    /// Calls that are records already.
    done: LruCache<u64, ()>,
    /// Calls that wait for something, by the order in which they came.
    open: BTreeMap<u64, Open>,
    by_key: HashMap<u64, u64>,
    /// Those without results by their ids, oldest first.
    by_id: HashMap<u64, BTreeSet<u64>>,
    /// Records of the log's own of which no conversation has told yet.
    recorded: Claims,
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
    session: Option<Arc<str>>,
    scope: u64,
    tool: String,
    args: Json<'static>,
    time_ms: Option<i64>,
    bytes: u64,
}

/// What a tool answered.
#[derive(Debug)]
struct Answer {
    result: Json<'static>,
    is_error: bool,
    time_ms: Option<i64>,
    duration_ms: Option<f64>,
}

/// The unit at hand: what its calls have in common, and how many there are.
struct Unit {
    scope: u64,
    has_session: bool,
    session: Option<Arc<str>>,
    groups: Vec<u64>,
    place: Place,
    format: Format,
    calls: u32,
}

impl Unit {
    fn id_key(&self, id: &str) -> u64 {
        id_key(self.scope, self.has_session, id)
    }

    /// A further call of the unit.
    fn call(&mut self, key: u64, id: Option<String>, tool: String, args: Json<'static>) -> Open {
        self.calls += 1;
        let mut place = self.place.clone();
        place.item = Some(place.item.unwrap_or(0).saturating_add(self.calls));
        let id_key = id.as_deref().map(|id| self.id_key(id));
        let (session, scope, format) = (self.session.clone(), self.scope, self.format);
        Open { key, id_key, id, place, format, session, scope, tool, args, time_ms: None, bytes: 0 }
    }

    fn names_of(&self, open: &Open) -> Names {
        Names::of(&self.groups, open.id.as_deref(), &open.tool, args_hash(&open.args))
    }
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
            recorded: Claims::default(),
            bytes: 0,
            calls: 0,
            forgotten: 0,
        }
    }

    /// Takes what the next unit says of calls; the tool records that are whole now, in their order.
    pub fn push(&mut self, traffic: Traffic) -> Vec<Joined> {
        let Traffic { scope, has_session, session, trace, place, format, actions } = traffic;
        let groups = trace.into_iter().chain(has_session.then_some(scope)).collect();
        let mut unit = Unit { scope, has_session, session, groups, place, format, calls: 0 };
        let mut records = Vec::new();
        for action in actions {
            self.calls += 1;
            self.act(action, &mut unit, &mut records);
        }
        self.make_room();
        records
    }

    /// Whether the call of a tool record is one already, in the log or made of a conversation.
    pub fn is_done(&self, recorded: &Recorded) -> bool {
        self.recorded.find(&recorded.names).is_some() || self.done.contains(&recorded.key)
    }

    /// The limits that were reached: name, value, how often.
    pub fn limits_reached(&self) -> Option<(&'static str, u64, u64)> {
        (self.forgotten > 0).then_some(("assemble.calls_max", self.limits.calls_max as u64, self.forgotten))
    }

    fn act(&mut self, action: Action, unit: &mut Unit, records: &mut Vec<Joined>) {
        match action {
            Action::Call { id, tool, args, time_ms } => {
                let key = unit.id_key(&id);
                self.hold(|| Open { time_ms, ..unit.call(key, Some(id), tool, args) }, key);
            }
            Action::Asked { id, key, tool, args } => self.hold(|| unit.call(key, id, tool, args), key),
            Action::Result { id, tool, result, is_error, time_ms, duration_ms } => {
                let name = unit.id_key(&id);
                let answer = Answer { result, is_error, time_ms, duration_ms };
                let open = self.open_of(name, &id, unit);
                // Where the call is not in the log, the result may say whose it is.
                let key = open.as_ref().map(|open| open.key).or(tool.is_some().then_some(name));
                let Some(done) = key.map(|key| done_key(key, Some(&id), &answer.result)) else { return };
                if self.done.put(done, ()).is_some() {
                    return;
                }
                let open = open.unwrap_or_else(|| unit.call(name, Some(id), tool.unwrap_or_default(), Json::Null));
                if self.recorded.take(&unit.names_of(&open)).is_none() {
                    records.push(open.answered(answer));
                }
            }
            Action::Whole { id, key, done, tool, args, result, is_error } => {
                let known = self.by_key.get(&key).copied().and_then(|number| self.take(number));
                if self.done.put(done, ()).is_some() {
                    return;
                }
                let names = Names::of(&unit.groups, id.as_deref(), &tool, args_hash(&args));
                if self.recorded.take(&names).is_some() {
                    return;
                }
                let answer = Answer { result, is_error, time_ms: None, duration_ms: None };
                match known {
                    Some(open) => records.push(open.answered(answer)),
                    None => records.push(unit.call(done, id, tool, args).answered(answer)),
                }
            }
            Action::Recorded { id, tool, args } => self.record(id.as_deref(), &tool, args, unit),
        }
    }

    /// Takes a record of the log's own. What a conversation has told of the call is left out.
    fn record(&mut self, id: Option<&str>, tool: &str, args: u64, unit: &Unit) {
        let names = Names::of(&unit.groups, id, tool, args);
        let asked = id.filter(|id| is_unique(id)).map(|id| unit.id_key(id));
        if let Some(open) = asked.and_then(|key| self.by_key.get(&key).copied()).and_then(|n| self.take(n)) {
            self.done.put(open.key, ());
        } else if !names.is_empty() {
            self.recorded.put(self.calls, names);
            self.recorded.shrink(self.limits.calls_max);
        }
    }

    /// The call without a result that has the id. A short id may be one of several conversations that begin alike.
    fn open_of(&mut self, name: u64, id: &str, unit: &Unit) -> Option<Open> {
        let numbers = self.by_id.get(&name)?;
        let is_told = numbers.len() == 1 || unit.has_session || is_unique(id);
        let number = numbers.last().copied().filter(|_| is_told)?;
        self.take(number)
    }

    /// Lets a call wait for its result, unless it has it or waits already.
    fn hold(&mut self, open: impl FnOnce() -> Open, key: u64) {
        if self.done.contains(&key) || self.by_key.contains_key(&key) {
            return;
        }
        let open = open();
        self.by_key.insert(key, self.calls);
        if let Some(id) = open.id_key {
            self.by_id.entry(id).or_default().insert(self.calls);
        }
        self.insert(open);
    }

    fn insert(&mut self, mut open: Open) {
        let session = open.session.as_ref().map_or(0, |session| session.len());
        let texts = open.tool.len() + open.id.as_ref().map_or(0, String::len) + session;
        open.bytes = CALL_BYTES + texts as u64 + open.args.weight_bytes() as u64;
        self.bytes += open.bytes;
        self.open.insert(self.calls, open);
    }

    fn make_room(&mut self) {
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
            && let Some(numbers) = self.by_id.get_mut(&id)
        {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_id.remove(&id);
            }
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
        record.session_id = session.map(|session| session.to_string().into());
        record.tool = Some(tool.into());
        record.args = Some(args).filter(|args| !args.is_null());
        record.error = is_error.then(|| error_text(&result).into());
        record.execution_time_ms = duration_ms.or_else(|| super::duration_ms(time_ms, end_ms));
        record.latency_source = record.execution_time_ms.map(|_| match duration_ms {
            Some(_) => LatencySource::Reported,
            None => LatencySource::StartAndEnd,
        });
        record.result = Some(result);
        record.scope = Some(scope);
        // Messages with results are those of a prompt, and what a session says waits for the answer that reads it.
        record.result_in_prompt = true;
        let mut joined = Joined::record(place, record);
        (joined.is_further, joined.is_paired) = (true, true);
        joined
    }
}

fn error_text(result: &Json<'_>) -> String {
    result.as_str().map_or_else(|| "the tool failed".to_owned(), str::to_owned)
}
