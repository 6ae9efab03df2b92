//! Spans of one trace: which of them are calls, and what they tell one another.
//!
//! Calls in a trace are held until it has ended: its root was seen, and no span of it came for [`GRACE_ENTRIES`] entries.
//! Then, in this order:
//!
//! - **twins** are one call with the union of their fields: spans and events with one span id (a span and its log records,
//!   posts and patches, two exports); calls with one id of the provider that were under way at the same time, in one trace
//!   or in two; and calls of one model that two instrumentations tell, one within the time of the other, with the same
//!   answer or the same token counts. A request of which nothing is told but the question is the beginning of the call
//!   beside it that asks the same and has the answer: streams are told when they end
//! - **parents**: a call of a model that contains a call of a model repeats it, and is none, unless only the inner one
//!   failed; so does a call of a tool that contains the same one. It lends a single child what that lacks: one of two instrumentations has the texts, the
//!   other the token counts
//! - **outlines**: what a whole trace was asked and answered is a call only where the log has no call of the trace
//! - **sessions**: calls without one take that of their trace; calls of tools also take the model that called them
//! - **documents** of a retrieval become the context of those calls that follow it in the nearest common scope and whose
//!   prompts hold one of them; where none does, of the first that follows
//!
//! Calls come out in the order in which they began. A call without texts waits for them to the end of the input, or as
//! long as there is room: its events may stand in another file.
//!
//! **Limits**: a trace of more than [`SPANS_MAX`] calls is settled in parts of that size. Ancestors are followed through
//! [`DEPTH_MAX`] spans. A span that comes when its trace has gone is merged where its twin has gone, else it is alone.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    mem,
};

use lru::LruCache;

use crate::{
    hash,
    record::{Around, Format, Ignored, Kind, LatencySource, Note, Passage, Prompt, Record, Span, json::Json},
};

use super::{Fate, Joined, Limits, Load, Step, Whole, waiting::Waiting};

/// Entries that may pass after the last span of a trace whose root was seen, before it is held to have ended.
pub const GRACE_ENTRIES: u64 = 256;
/// Calls of a trace that are held.
pub const SPANS_MAX: usize = 4_096;
/// Ancestors of a span that are followed.
const DEPTH_MAX: usize = 32;
/// What a trace takes beside its spans.
const TRACE_BYTES: u64 = 512;
/// What a span without a call takes.
const LINK_BYTES: u64 = 64;
/// Later calls that a retrieval is held against.
const LATER_CALLS_MAX: usize = 32;
/// Bytes of a document that are looked for in a prompt.
const SAMPLE_BYTES: usize = 60;

/// The traces that have not ended.
#[derive(Debug)]
pub struct Traces {
    open: Waiting<Trace>,
    /// Calls that are held.
    calls: usize,
    /// Traces whose roots were seen: when they were touched, and which.
    ended: VecDeque<(u64, u64)>,
    /// Spans that have gone.
    late: LruCache<u64, ()>,
    /// Calls that are held, by the id of the provider: their trace, and their place in it.
    answers: HashMap<u64, (u64, usize)>,
}

/// What is known of a trace.
#[derive(Debug, Default)]
struct Trace {
    members: Vec<Member>,
    /// Parents of spans, calls among them.
    parents: HashMap<u64, u64>,
    retrievals: Vec<Retrieval>,
    session_id: Option<String>,
    has_root: bool,
    touched: u64,
}

/// A call in a trace.
#[derive(Debug)]
struct Member {
    joined: Joined,
    id: Option<u64>,
}

/// Documents that were retrieved.
#[derive(Debug)]
struct Retrieval {
    parent: Option<u64>,
    start_ns: Option<i64>,
    /// Calls that came before it.
    order: usize,
    documents: Vec<Passage<'static>>,
}

impl Traces {
    /// No trace yet.
    pub fn new(limits: &Limits) -> Traces {
        Traces {
            open: Waiting::default(),
            calls: 0,
            ended: VecDeque::new(),
            late: LruCache::new(limits.answers()),
            answers: HashMap::new(),
        }
    }

    /// What is held.
    pub fn load(&self) -> Load {
        Load { records: self.calls, ..self.open.load() }
    }

    /// Takes a call that stands in a trace.
    pub fn push(&mut self, joined: Joined, step: &mut Step) -> Fate {
        let Some(mut joined) = self.unite_traces(joined) else { return Fate::Merged };
        let Whole::Record(record) = &mut joined.whole else { return Fate::Merged };
        let Some(span) = record.span.as_deref() else { return Fate::Merged };
        let Some(key) = trace_of(span) else { return Fate::Merged };
        let ids = Ids::of(key, span);
        if ids.own.is_some_and(|own| self.late.contains(&own)) {
            return Fate::Merged;
        }
        let bytes = joined.bytes.max(record.text_bytes() as u64 + LINK_BYTES);
        let number = self.trace(key, bytes, step);
        let Some(trace) = self.open.body(number) else { return Fate::Merged };
        // An event tells nothing of where its span stands.
        if !span.is_event {
            trace.link(ids);
        }
        if trace.session_id.is_none() {
            trace.session_id = record.session_id.as_deref().map(str::to_owned);
        }
        if let Some(answer) = answer_of(record) {
            self.answers.entry(answer).or_insert((number, trace.members.len()));
        }
        trace.members.push(Member { joined, id: ids.own });
        let is_full = trace.members.len() >= SPANS_MAX;
        self.calls += 1;
        self.touch(number, step);
        if is_full {
            self.let_go(number, step);
        }
        Fate::Held
    }

    /// A call with the answer of one that is held in another trace is the same call: instrumentations of streams may not
    /// see one another. Gives any other back.
    fn unite_traces(&mut self, joined: Joined) -> Option<Joined> {
        let Whole::Record(record) = &joined.whole else { return Some(joined) };
        let own = record.span.as_deref().and_then(trace_of).and_then(|key| self.open.find(key));
        let held = answer_of(record).and_then(|answer| self.answers.get(&answer).copied());
        let Some((number, at)) = held.filter(|(number, _)| Some(*number) != own) else { return Some(joined) };
        let Some(twin) = self.open.body(number).and_then(|trace| trace.members.get_mut(at)?.record_mut()) else {
            return Some(joined);
        };
        // Whether another tracer tells it; one tracer has two answers of one id from a cache.
        if twin.format == record.format || !overlap(twin, record) || !agree(twin, record) {
            return Some(joined);
        }
        if let Whole::Record(record) = joined.whole {
            twin.fill(*record);
        }
        None
    }

    /// Takes what a span without a call tells the calls of its trace.
    pub fn note(&mut self, ignored: &Ignored<'static>, step: &mut Step) {
        let Some(around) = ignored.around.as_deref() else { return };
        let Some(key) = trace_of(&around.span) else { return };
        let Around { span, session_id, documents } = around;
        let ids = Ids::of(key, span);
        let bytes: usize = documents.iter().map(|document| document.text.len()).sum();
        let number = self.trace(key, bytes as u64 + LINK_BYTES, step);
        let Some(trace) = self.open.body(number) else { return };
        trace.link(ids);
        if trace.session_id.is_none() {
            trace.session_id = session_id.as_deref().map(str::to_owned);
        }
        if !documents.is_empty() {
            let (parent, start_ns, order) = (ids.parent, span.start_ns, trace.members.len());
            trace.retrievals.push(Retrieval { parent, start_ns, order, documents: documents.clone() });
        }
        self.touch(number, step);
    }

    /// Lets the traces go that have ended.
    pub fn let_ended_go(&mut self, step: &mut Step) {
        while let Some((when, number)) = self.ended.front().copied()
            && when + GRACE_ENTRIES <= step.number
        {
            self.ended.pop_front();
            let is_over = |trace: &Trace| {
                let waits = |member: &Member| member.is_silent() || (member.is_outline() && !trace.has_calls());
                trace.touched == when && !trace.members.iter().any(waits)
            };
            if self.open.get(number).is_some_and(|open| is_over(&open.body)) {
                self.let_go(number, step);
            }
        }
    }

    /// Lets the oldest trace go.
    pub fn let_oldest_go(&mut self, step: &mut Step) {
        if let Some(number) = self.open.load().oldest {
            self.let_go(number, step);
        }
    }

    /// The open trace of a key, begun when there is none.
    fn trace(&mut self, key: u64, bytes: u64, step: &Step) -> u64 {
        match self.open.find(key) {
            Some(number) => {
                self.open.grow(number, bytes);
                number
            }
            None => {
                let number = self.open.begin(step, key, Trace::default());
                self.open.settle(number, TRACE_BYTES + bytes);
                number
            }
        }
    }

    fn touch(&mut self, number: u64, step: &Step) {
        let Some(trace) = self.open.body(number) else { return };
        trace.touched = step.number;
        if trace.has_root {
            self.ended.push_back((step.number, number));
        }
    }

    fn let_go(&mut self, number: u64, step: &mut Step) {
        let Some(open) = self.open.take(number) else { return };
        self.calls -= open.body.members.len();
        for member in &open.body.members {
            if let Some(own) = member.id {
                self.late.put(own, ());
            }
            if let Some(answer) = member.record().and_then(answer_of)
                && self.answers.get(&answer).is_some_and(|(trace, _)| *trace == number)
            {
                self.answers.remove(&answer);
            }
        }
        step.records.extend(open.body.settled());
    }
}

/// Hashes of a span and its parent, within their trace.
#[derive(Clone, Copy)]
struct Ids {
    own: Option<u64>,
    parent: Option<u64>,
}

impl Ids {
    fn of(trace: u64, span: &Span<'_>) -> Ids {
        let hashed = |id: Option<&str>| id.filter(|id| !id.is_empty()).map(|id| hash::combine(trace, hash::name(id)));
        Ids { own: hashed(span.id.as_deref()), parent: hashed(span.parent_id.as_deref()) }
    }
}

fn trace_of(span: &Span<'_>) -> Option<u64> {
    span.trace_id.as_deref().map(hash::name)
}

impl Member {
    fn record(&self) -> Option<&Record<'static>> {
        if let Whole::Record(record) = &self.joined.whole { Some(record) } else { None }
    }

    fn record_mut(&mut self) -> Option<&mut Record<'static>> {
        if let Whole::Record(record) = &mut self.joined.whole { Some(record) } else { None }
    }

    fn is_llm(&self) -> bool {
        self.record().is_some_and(|record| record.kind == Kind::Llm)
    }

    fn is_tool(&self) -> bool {
        self.record().is_some_and(|record| record.kind == Kind::Tool)
    }

    /// Whether it tells of a whole trace.
    fn outline(&self) -> Option<Format> {
        self.record()?.span.as_ref()?.outline
    }

    fn is_outline(&self) -> bool {
        self.outline().is_some()
    }

    /// Whether it is a call whose texts may still come.
    fn is_silent(&self) -> bool {
        self.record().is_some_and(|record| {
            record.kind == Kind::Llm
                && record.response.is_none()
                && record.tool_calls.is_empty()
                && record.error.is_none()
        })
    }

    fn start_ns(&self) -> Option<i64> {
        self.record()?.span.as_ref()?.start_ns
    }

    /// Takes the record out; another member tells the same call.
    fn merge(&mut self) -> Option<Box<Record<'static>>> {
        match mem::replace(&mut self.joined.whole, Whole::Merged) {
            Whole::Record(record) => Some(record),
            other => {
                self.joined.whole = other;
                None
            }
        }
    }
}

impl Trace {
    fn link(&mut self, ids: Ids) {
        self.has_root |= ids.parent.is_none();
        if let (Some(own), Some(parent)) = (ids.own, ids.parent) {
            self.parents.insert(own, parent);
        }
    }

    /// Whether a call of a model was seen.
    fn has_calls(&self) -> bool {
        self.members.iter().any(|member| member.is_llm() && !member.is_outline())
    }

    /// Of what tells of the whole trace, the first is a call where there is no other one.
    fn settle_outlines(&mut self) {
        let mut is_told = self.has_calls();
        for member in &mut self.members {
            let Some(format) = member.outline() else { continue };
            if mem::replace(&mut is_told, true) && member.merge().is_some() {
                member.joined.whole = Whole::Ignored(Ignored::parent(format, "a trace"));
            }
        }
    }

    /// The ancestors of a span, the nearest first.
    fn ancestors(&self, id: Option<u64>) -> impl Iterator<Item = u64> {
        let mut at = id;
        (0..DEPTH_MAX).map_while(move |_| {
            at = self.parents.get(&at?).copied();
            at
        })
    }

    /// All calls of the trace, settled among one another.
    fn settled(mut self) -> impl Iterator<Item = Joined> {
        self.unite_spans();
        // Where one has no time, the log's order is the only one.
        if self.members.iter().all(|member| member.start_ns().is_some() || member.record().is_none()) {
            self.members.sort_by_key(Member::start_ns);
        }
        self.settle_outlines();
        self.settle_parents(Member::is_llm, |outer, inner| inner.error.is_none() || outer.error.is_some());
        self.settle_parents(Member::is_tool, is_same_tool_call);
        self.unite_answers();
        self.unite_instruments();
        self.unite_streams();
        self.lend_sessions();
        self.lend_documents();
        self.members.into_iter().map(|member| member.joined)
    }

    /// Members with one span id are one call.
    fn unite_spans(&mut self) {
        let mut by_id: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (at, member) in self.members.iter().enumerate() {
            if let Some(id) = member.id {
                by_id.entry(id).or_default().push(at);
            }
        }
        for places in by_id.into_values() {
            match places.as_slice() {
                [only] => self.close_events(*only),
                _ => self.unite(&places),
            }
        }
    }

    /// One message of a call, without the span of the call, is half of it.
    fn close_events(&mut self, at: usize) {
        if let Some(record) = self.members[at].record_mut()
            && record.span.as_ref().is_some_and(|span| span.is_event)
        {
            record.answer_by_last();
            record.notes.add(Note::HalfMissing);
        }
    }

    /// Makes one call of several members: events are put together first, in their order.
    fn unite(&mut self, places: &[usize]) {
        let is_event = |record: &Record<'_>| record.span.as_ref().is_some_and(|span| span.is_event);
        let (mut events, spans): (Vec<usize>, Vec<usize>) =
            places.iter().partition(|at| self.members[**at].record().is_some_and(is_event));
        // Events may be told in any order; where they have a place, it counts.
        if events.iter().all(|at| self.members[*at].start_ns().is_some()) {
            events.sort_by_key(|at| self.members[*at].start_ns());
        }
        let first = spans.first().or(events.first()).copied();
        let Some(first) = first else { return };
        let mut said: Option<Box<Record<'static>>> = None;
        for at in &events {
            let Some(record) = self.members[*at].merge() else { continue };
            match &mut said {
                Some(said) => said.append(*record),
                None => said = Some(record),
            }
        }
        if let Some(said) = &mut said {
            said.answer_by_last();
        }
        let mut whole = self.members[first].merge();
        for at in spans.iter().skip(1) {
            let Some(record) = self.members[*at].merge() else { continue };
            match &mut whole {
                Some(whole) => whole.fill(*record),
                None => whole = Some(record),
            }
        }
        let whole = match (whole, said) {
            (Some(mut whole), Some(said)) => {
                whole.fill(*said);
                whole
            }
            (Some(whole), None) => whole,
            (None, Some(mut said)) => {
                said.notes.add(Note::HalfMissing);
                said
            }
            (None, None) => return,
        };
        self.members[first].joined.whole = Whole::Record(whole);
    }

    /// Calls that contain the same call are its parents.
    fn settle_parents(&mut self, is_one: fn(&Member) -> bool, is_same: fn(&Record<'_>, &Record<'_>) -> bool) {
        let calls: HashMap<u64, usize> = self
            .members
            .iter()
            .enumerate()
            .filter(|(_, one)| is_one(one))
            .filter_map(|(at, one)| Some((one.id?, at)))
            .collect();
        let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, member) in self.members.iter().enumerate().filter(|(_, member)| is_one(member)) {
            let parent = self.ancestors(member.id).find_map(|id| calls.get(&id).copied());
            // Of calls that are each the parent of the other, none is: else nothing would be left of them.
            let is_ring = |parent: &usize| self.ancestors(self.members[*parent].id).any(|id| Some(id) == member.id);
            if let Some(parent) = parent.filter(|parent| *parent != at && !is_ring(parent))
                && let Some((outer, inner)) = self.members[parent].record().zip(member.record())
                && is_same(outer, inner)
            {
                children.entry(parent).or_default().push(at);
            }
        }
        // The outermost first, so that what it has goes all the way down.
        let depth = |at: &usize| self.ancestors(self.members[*at].id).filter(|id| calls.contains_key(id)).count();
        let mut parents: Vec<(usize, usize)> = children.keys().map(|at| (depth(at), *at)).collect();
        parents.sort_unstable();
        for (_, at) in parents {
            let Some(record) = self.members[at].merge() else { continue };
            let ignored = Ignored::parent(record.format, "a call that contains the call");
            self.members[at].joined.whole = Whole::Ignored(ignored);
            match children[&at].as_slice() {
                [only] => {
                    if let Some(child) = self.members[*only].record_mut() {
                        child.fill(*record);
                    }
                }
                several => {
                    for child in several {
                        let Some(child) = self.members[*child].record_mut() else { continue };
                        child.session_id = child.session_id.take().or_else(|| record.session_id.clone());
                    }
                }
            }
        }
    }

    /// Calls with one id of the provider that were under way at the same time are one: two instrumentations beside each
    /// other. A cache gives one answer to calls that follow one another.
    fn unite_answers(&mut self) {
        let mut by_answer: HashMap<u64, usize> = HashMap::new();
        for at in 0..self.members.len() {
            let Some(record) = self.members[at].record().filter(|record| record.kind == Kind::Llm) else { continue };
            let Some(id) = record.response_id.as_deref().map(hash::name) else { continue };
            let Some(first) = by_answer.get(&id).copied() else {
                by_answer.insert(id, at);
                continue;
            };
            let overlap = self.members[first].record().is_some_and(|other| overlap(other, record));
            if overlap
                && let Some(record) = self.members[at].merge()
                && let Some(first) = self.members[first].record_mut()
            {
                first.fill(*record);
            }
        }
    }

    /// Calls that two instrumentations beside each other tell, without an id of the provider in both.
    fn unite_instruments(&mut self) {
        let mut before: VecDeque<usize> = VecDeque::new();
        for at in 0..self.members.len() {
            let Some(record) = self.members[at].record().filter(|record| record.kind == Kind::Llm) else { continue };
            let Some(start) = record.span.as_ref().and_then(|span| span.start_ns) else { continue };
            before
                .retain(|at| self.members[*at].record().is_some_and(|one| end_ns(one).is_some_and(|end| end >= start)));
            let twin = before.iter().copied().find(|at| {
                self.members[*at].record().is_some_and(|other| {
                    let one_id = |one: &Record<'_>| one.response_id.is_some();
                    other.format.dialect != record.format.dialect
                        && !(one_id(other) && one_id(record))
                        && is_within(other, record)
                        && is_alike(other, record)
                })
            });
            match twin {
                Some(twin) => {
                    if let Some(record) = self.members[at].merge()
                        && let Some(twin) = self.members[twin].record_mut()
                    {
                        twin.fill(*record);
                    }
                }
                None => before.push_back(at),
            }
        }
    }

    /// A request whose answer is told by a span of its own, when the stream has ended.
    fn unite_streams(&mut self) {
        for at in 0..self.members.len() {
            let Some(begun) = self.members[at].record() else { continue };
            if !self.members[at].is_silent() || begun.response_tokens.is_some() || begun.prompt.is_absent() {
                continue;
            }
            let parent = self.parent_of(at);
            let goes_on = |next: &usize| {
                self.members[*next].record().is_some_and(|one| {
                    one.kind == Kind::Llm
                        && one.response.is_some()
                        && one.format == begun.format
                        && one.prompt == begun.prompt
                        && self.parent_of(*next) == parent
                        && models(one).flatten().any(|model| models(begun).flatten().any(|other| model == other))
                })
            };
            let Some(next) = (at + 1..self.members.len()).take(LATER_CALLS_MAX).find(goes_on) else { continue };
            let (Some(mut begun), Some(ended)) = (self.members[at].merge(), self.members[next].merge()) else {
                continue;
            };
            let end = end_ns(&ended);
            let start = begun.span.as_ref().and_then(|span| span.start_ns);
            if let Some((start, end)) = start.zip(end).filter(|(start, end)| end >= start) {
                begun.latency_ms = Some((end - start) as f64 / 1e6);
                begun.latency_source = Some(LatencySource::StartAndEnd);
            }
            if let Some(span) = &mut begun.span {
                span.end_ns = end.or(span.end_ns);
            }
            begun.fill(*ended);
            self.members[at].joined.whole = Whole::Record(begun);
        }
    }

    /// The span that a call stands in.
    fn parent_of(&self, at: usize) -> Option<u64> {
        self.parents.get(&self.members[at].id?).copied()
    }

    /// Calls without a session take that of their trace; calls of tools the model that called them.
    fn lend_sessions(&mut self) {
        let mut model =
            self.members.iter().filter(|member| member.is_llm()).find_map(|one| one.record()?.model.clone());
        for member in &mut self.members {
            let Some(record) = member.record_mut() else { continue };
            if record.session_id.is_none() {
                record.session_id = self.session_id.clone().map(Into::into);
            }
            match record.kind {
                Kind::Llm => model = record.model.clone().or(model),
                _ if record.model.is_none() => record.model.clone_from(&model),
                _ => {}
            }
        }
    }

    /// Documents become the context of the calls that follow.
    fn lend_documents(&mut self) {
        if self.retrievals.is_empty() {
            return;
        }
        // Calls below each span, in their order; below none: all of them.
        let mut below: HashMap<Option<u64>, Vec<usize>> = HashMap::new();
        for (at, member) in self.members.iter().enumerate().filter(|(_, member)| member.is_llm()) {
            below.entry(None).or_default().push(at);
            for ancestor in self.ancestors(member.id) {
                below.entry(Some(ancestor)).or_default().push(at);
            }
        }
        let mut retrievals = mem::take(&mut self.retrievals);
        if retrievals.iter().all(|retrieval| retrieval.start_ns.is_some()) {
            retrievals.sort_by_key(|retrieval| retrieval.start_ns);
        }
        for retrieval in retrievals {
            let follows = |at: &usize| match (self.members[*at].start_ns(), retrieval.start_ns) {
                (Some(call), Some(retrieval)) => call >= retrieval,
                _ => *at >= retrieval.order,
            };
            let scopes = retrieval.parent.into_iter().chain(self.ancestors(retrieval.parent)).map(Some).chain([None]);
            let (mut holding, mut first) = (Vec::new(), None);
            let mut is_held: HashMap<usize, bool> = HashMap::new();
            for calls in scopes.filter_map(|scope| below.get(&scope)) {
                let following = calls.iter().copied().filter(follows).take(1 + LATER_CALLS_MAX);
                for at in following {
                    first = first.or(Some(at));
                    let holds_one = || self.members[at].record().is_some_and(|one| holds(one, &retrieval.documents));
                    if *is_held.entry(at).or_insert_with(holds_one) {
                        holding.push(at);
                    }
                }
                if !holding.is_empty() {
                    break;
                }
            }
            if holding.is_empty() {
                holding.extend(first);
            }
            for at in holding {
                if let Some(record) = self.members[at].record_mut() {
                    record.add_context(retrieval.documents.clone());
                }
            }
        }
    }
}

/// Whether two calls were under way at the same time; what is not known tells nothing apart.
fn overlap(one: &Record<'_>, other: &Record<'_>) -> bool {
    let times = |record: &Record<'_>| record.span.as_ref().and_then(|span| span.start_ns.zip(span.end_ns));
    match (times(one), times(other)) {
        (Some((start, end)), Some((other_start, other_end))) => start <= other_end && other_start <= end,
        _ => true,
    }
}

/// The id that the provider gave the answer of a call, hashed.
fn answer_of(record: &Record<'_>) -> Option<u64> {
    let is_span = record.kind == Kind::Llm && record.span.as_ref().is_some_and(|span| !span.is_event);
    record.response_id.as_deref().filter(|_| is_span).map(hash::name)
}

fn end_ns(record: &Record<'_>) -> Option<i64> {
    record.span.as_ref()?.end_ns
}

/// Whether one call was under way all the time that the other was.
fn is_within(one: &Record<'_>, other: &Record<'_>) -> bool {
    let times = |record: &Record<'_>| record.span.as_ref().and_then(|span| span.start_ns.zip(span.end_ns));
    let contains = |outer: (i64, i64), inner: (i64, i64)| outer.0 <= inner.0 && inner.1 <= outer.1;
    times(one).zip(times(other)).is_some_and(|(one, other)| contains(one, other) || contains(other, one))
}

/// Whether two calls say nothing that the other denies.
fn agree(one: &Record<'_>, other: &Record<'_>) -> bool {
    let last = |record: &Record<'_>| record.prompt.texts().last().map(|(_, text)| hash::name(text));
    let is_one = |one: Option<&str>, other: Option<&str>| one.zip(other).is_none_or(|(one, other)| one == other);
    last(one).zip(last(other)).is_none_or(|(one, other)| one == other)
        && is_one(one.response.as_deref(), other.response.as_deref())
}

/// Whether two calls have the same model, and the same answer or the same token counts.
fn is_alike(one: &Record<'_>, other: &Record<'_>) -> bool {
    let has_one_model = models(one).flatten().any(|model| models(other).flatten().any(|other| model == other));
    let tokens = |record: &Record<'_>| record.prompt_tokens.zip(record.response_tokens);
    let has_one_answer = one.response.is_some() && one.response == other.response;
    let has_one_count = tokens(one).is_some() && tokens(one) == tokens(other);
    has_one_model && agree(one, other) && (has_one_answer || has_one_count)
}

fn models<'r>(record: &'r Record<'_>) -> impl Iterator<Item = Option<&'r str>> {
    [record.model.as_deref(), record.declared_model.as_deref()].into_iter()
}

/// Whether the call of a tool within another is the same: it has the name, and the arguments where both have some.
fn is_same_tool_call(outer: &Record<'_>, inner: &Record<'_>) -> bool {
    outer.tool == inner.tool
        && match (outer.args.as_ref().and_then(said), inner.args.as_ref().and_then(said)) {
            (Some(outer), Some(inner)) => {
                let is_one = |one: &Json<'_>, other: &Json<'_>| one.canonical_hash() == other.canonical_hash();
                is_one(outer, inner)
                    || only(outer).is_some_and(|only| is_one(only, inner))
                    || only(inner).is_some_and(|only| is_one(only, outer))
            }
            _ => true,
        }
}

/// Arguments, if there are some.
fn said<'v, 'a>(args: &'v Json<'a>) -> Option<&'v Json<'a>> {
    let is_empty = match args {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Object(entries) => entries.is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => false,
    };
    (!is_empty).then_some(args)
}

/// The only value of an object or a list.
fn only<'v, 'a>(args: &'v Json<'a>) -> Option<&'v Json<'a>> {
    match args {
        Json::Object(entries) if entries.len() == 1 => Some(&entries[0].1),
        Json::Array(items) if items.len() == 1 => items.first(),
        _ => None,
    }
}

/// Whether a prompt holds one of the documents.
fn holds(record: &Record<'_>, documents: &[Passage<'_>]) -> bool {
    let texts = || record.prompt.texts().map(|(_, text)| text).chain(record.system.as_deref());
    documents.iter().any(|document| {
        let text = document.text.trim();
        let sample = &text[..text.floor_char_boundary(SAMPLE_BYTES)];
        !sample.is_empty() && texts().any(|text| text.contains(sample))
    })
}

impl Record<'static> {
    /// What the assistant said last is the answer, where no event tells one.
    fn answer_by_last(&mut self) {
        let Prompt::Messages(messages) = &mut self.prompt else { return };
        let is_answer = self.response.is_none() && self.tool_calls.is_empty() && self.finish_reason.is_none();
        if !is_answer || messages.last().is_none_or(|last| last.role != "assistant") {
            return;
        }
        if let Some(last) = messages.pop() {
            self.response = Some(last.text).filter(|text| !text.is_empty());
            self.tool_calls = last.tool_calls;
        }
        if messages.is_empty() {
            self.prompt = Prompt::Absent;
        }
    }

    /// Takes the next message of the same call.
    fn append(&mut self, mut next: Record<'static>) {
        if let (Prompt::Messages(messages), Prompt::Messages(more)) = (&mut self.prompt, &mut next.prompt) {
            messages.append(more);
            next.prompt = Prompt::Absent;
        }
        match (&mut self.system, next.system.take()) {
            (Some(system), Some(more)) => {
                system.to_mut().push('\n');
                system.to_mut().push_str(&more);
            }
            (None, more) => self.system = more,
            _ => {}
        }
        self.fill(next);
    }
}
