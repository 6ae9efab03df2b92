//! Fragments become records: what several units hold together is put together here, in input order, in bounded memory.
//!
//! - [`waiting`]: records that wait for further fragments, with what they take
//! - [`merges`]: objects that a log tells in several parts (posts and patches), by their id
//! - [`traces`]: spans of one trace: parents and leaves, twins, documents, sessions
//! - [`tool_calls`]: calls in conversations and their results, whatever the log was written by
//! - `claims`: records of the log's own for calls that conversations tell too
//! - [`duplicates`]: answers that the log holds twice
//!
//! What a fragment of a writer means is known to its [`Joiner`], which stands in the file of the writer; the
//! [`Assembler`] gives each its fragments, sees to the limits, and sends what comes out of a joiner and stands in a trace
//! on to the others of its trace. [`Pairer`](tool_calls::Pairer) and [`Answers`](duplicates::Answers) look at records that
//! are whole, and at what the joiners say of calls of tools. Records of our own form are never joined, merged or held to be
//! duplicates; the calls in their conversations are paired like all others.
//!
//! A record stands where its first fragment stands, and comes out in the order of the fragment that completed it; one that
//! was not completed comes out when there is no more room for it, or at the end of the input, in the order in which they
//! began. What comes out, and in which order, depends on the order of the fragments alone, never on batches or threads.
//!
//! **Ledger**: a unit that begins a record is counted with it when it comes out; every other fragment is counted as merged.
//! What holds no call (notifications, headings, meta lines) is counted by name, as skipped.
//!
//! **Limits**: [`Limits`]. Fragments that wait are bounded in number and bytes; the oldest record goes first, as far as it
//! has come, and the report notes how often that was so.

mod claims;
pub mod duplicates;
pub mod merges;
pub mod tool_calls;
pub mod traces;
pub mod waiting;

use std::{fmt, mem, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    hash,
    input::Place,
    record::{Container, Entry, Format, Fragment, Ignored, Note, Problem, Record, json::Json},
};
use tool_calls::Traffic;
use traces::Traces;

/// What bounds the memory of the stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Records that may wait for further fragments, spans of traces that have not ended among them; a batch file of OpenAI
    /// holds at most 50,000 requests.
    pub records_max: usize,
    /// Bytes of the fragments that they wait with, and of the tools that connections have declared.
    pub bytes_max: u64,
    /// Sessions and connections of which something is remembered (the model, declared tools); the longest unused go first.
    pub sessions_max: usize,
    /// Calls of tools that are remembered: those that wait for a result, and those that were seen.
    pub calls_max: usize,
    /// Answers that are remembered, to tell duplicates.
    pub answers_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            records_max: 131_072,
            bytes_max: 256 << 20,
            sessions_max: 4_096,
            calls_max: 65_536,
            answers_max: 65_536,
        }
    }
}

impl Limits {
    /// Sessions, as a cache is bounded by them.
    pub(crate) fn sessions(&self) -> std::num::NonZeroUsize {
        std::num::NonZeroUsize::new(self.sessions_max).unwrap_or(std::num::NonZeroUsize::MIN)
    }

    /// Answers, as a cache is bounded by them.
    pub(crate) fn answers(&self) -> std::num::NonZeroUsize {
        std::num::NonZeroUsize::new(self.answers_max).unwrap_or(std::num::NonZeroUsize::MIN)
    }
}

/// What a fragment takes beside its text.
const FRAGMENT_BYTES: u64 = 256;

/// What came out of the stage.
#[derive(Debug)]
pub struct Joined {
    /// Where it begins.
    pub place: Place,
    /// Whether no unit is counted with it.
    pub is_further: bool,
    /// What it is.
    pub whole: Whole,
    /// The declaration of the tool that it calls, shared by all of its calls.
    pub declaration: Option<Arc<Json<'static>>>,
    /// Whether the calls in it came out already.
    pub is_paired: bool,
    /// What it takes.
    bytes: u64,
}

/// What a unit that waited turned out to be.
#[derive(Debug)]
pub enum Whole {
    /// A record.
    Record(Box<Record<'static>>),
    /// Something without a call of its own.
    Ignored(Ignored<'static>),
    /// The same call as one that another unit tells.
    Merged,
    /// None of what it seemed to be, and why.
    Rejected(String),
}

impl Joined {
    /// A record that begins at `place`.
    pub(crate) fn record(place: Place, record: Record<'static>) -> Joined {
        Joined::whole(place, Whole::Record(Box::new(record)))
    }

    fn whole(place: Place, whole: Whole) -> Joined {
        Joined { place, is_further: false, whole, declaration: None, is_paired: false, bytes: 0 }
    }

    /// A further record of a unit that is counted with another one, or not with any.
    pub(crate) fn further(self) -> Joined {
        Joined { is_further: true, ..self }
    }

    fn noted(mut self, note: Note) -> Joined {
        if let Whole::Record(record) = &mut self.whole {
            record.notes.add(note);
        }
        self
    }

    /// The other half of the call is not in the log. All that the log has of it was read.
    pub(crate) fn without_half(self) -> Joined {
        self.noted(Note::HalfMissing)
    }

    /// What was said last, without an answer.
    pub(crate) fn unanswered(self) -> Joined {
        self.noted(Note::Unanswered)
    }

    pub(crate) fn lacking(mut self, field: &str, reason: impl Into<String>) -> Joined {
        if let Whole::Record(record) = &mut self.whole {
            record.problems.insert(0, Problem { field: field.to_owned(), reason: reason.into() });
        }
        self
    }

    /// The record, when it is one.
    pub(crate) fn as_record(&self) -> Option<&Record<'static>> {
        if let Whole::Record(record) = &self.whole { Some(record) } else { None }
    }

    /// The record, to be changed, when it is one.
    pub(crate) fn record_mut(&mut self) -> Option<&mut Record<'static>> {
        if let Whole::Record(record) = &mut self.whole { Some(record) } else { None }
    }

    /// The record with all that is known of it, when it is one.
    pub fn into_record(self) -> Option<Record<'static>> {
        let Whole::Record(mut record) = self.whole else { return None };
        record.settle();
        if record.tools.is_none() {
            record.tools = self.declaration.map(|tool| Json::Array(vec![tool.as_ref().clone()]));
        }
        Some(*record)
    }
}

/// Whether an entry has to pass the stage.
pub fn is_part(entry: &Entry<'_>) -> bool {
    match entry {
        Entry::Fragment(_) => true,
        Entry::Record(record) => record.span.as_ref().is_some_and(|span| span.trace_id.is_some()),
        Entry::Ignored(ignored) => ignored.around.as_ref().is_some_and(|around| around.span.trace_id.is_some()),
    }
}

/// What becomes of the unit of a fragment.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It begins a record, and is counted when that comes out.
    Held,
    /// It is a part of a record that another unit begins.
    Merged,
    /// It holds no call.
    Ignored(Ignored<'static>),
    /// It is none of what it seemed to be, and why.
    Rejected(String),
}

impl Fate {
    /// Something of `format` that holds no call, as a noun.
    pub(crate) fn skipped(format: Format, what: &'static str) -> Fate {
        Fate::Ignored(Ignored::skipped(format, what))
    }
}

/// What an entry led to.
#[derive(Debug)]
pub struct Pushed {
    /// What becomes of its unit.
    pub fate: Fate,
    /// What is whole now, in its order.
    pub records: Vec<Joined>,
    /// What it says of calls of tools.
    pub traffic: Vec<Traffic>,
}

/// What puts the fragments of a writer together.
pub trait Joiner: fmt::Debug + Send {
    /// Takes the next fragment of the input.
    fn push(&mut self, fragment: Fragment<'static>, step: &mut Step) -> Fate;

    /// What waits in it.
    fn load(&self) -> Load;

    /// Lets the oldest record go, as far as it has come.
    fn let_oldest_go(&mut self, step: &mut Step);

    /// Forgets what it only remembers, at the end of the input, before all that waits goes.
    fn close(&mut self) {}
}

/// What waits in a joiner.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// Records.
    pub records: usize,
    /// Bytes.
    pub bytes: u64,
    /// The number of the entry that began the oldest one.
    pub oldest: Option<u64>,
}

/// The entry at hand, and what has come of it.
#[derive(Debug)]
pub struct Step {
    /// Where it stands.
    pub place: Place,
    /// What it was written by.
    pub format: Format,
    /// What it takes.
    pub bytes: u64,
    /// How many entries came before it.
    pub number: u64,
    /// What is whole now.
    pub records: Vec<Joined>,
    /// What it says of calls of tools.
    pub traffic: Vec<Traffic>,
}

impl Step {
    /// The hash of the source, and of a name in it.
    pub(crate) fn in_source(&self, name: &str) -> u64 {
        hash::combine(hash::name(&self.place.source), hash::name(name))
    }

    /// A record that is whole, and is the unit at hand.
    pub(crate) fn release(&mut self, record: Record<'static>) -> Fate {
        self.records.push(Joined::record(self.place.clone(), record));
        Fate::Held
    }
}

/// Puts fragments together, one after another.
#[derive(Debug)]
pub struct Assembler {
    limits: Limits,
    joiners: Vec<(Container, Box<dyn Joiner>)>,
    traces: Traces,
    entries: u64,
    evicted: u64,
    evicted_for_bytes: u64,
}

impl Assembler {
    /// An assembler that holds nothing yet.
    pub fn new(limits: &Limits, joiners: Vec<(Container, Box<dyn Joiner>)>) -> Assembler {
        let traces = Traces::new(limits);
        Assembler { limits: limits.clone(), joiners, traces, entries: 0, evicted: 0, evicted_for_bytes: 0 }
    }

    /// Takes the next entry of the input that is a part of something ([`is_part`]), and took `bytes` there.
    pub fn push(&mut self, place: Place, bytes: usize, entry: Entry<'static>) -> Pushed {
        self.entries += 1;
        let mut step = Step {
            place,
            format: Format::default(),
            bytes: bytes as u64 + FRAGMENT_BYTES,
            number: self.entries,
            records: Vec::new(),
            traffic: Vec::new(),
        };
        let fate = match entry {
            Entry::Fragment(fragment) => self.push_fragment(fragment, &mut step),
            Entry::Record(record) => {
                step.format = record.format;
                let mut joined = Joined::record(step.place.clone(), record);
                joined.bytes = step.bytes;
                self.traces.push(joined, &mut step)
            }
            Entry::Ignored(ignored) => {
                step.format = ignored.format;
                self.traces.note(&ignored, &mut step);
                Fate::Ignored(ignored)
            }
        };
        self.traces.let_ended_go(&mut step);
        self.make_room(&mut step);
        Pushed { fate, records: step.records, traffic: step.traffic }
    }

    fn push_fragment(&mut self, fragment: Fragment<'static>, step: &mut Step) -> Fate {
        step.format = fragment.format;
        let joiner = self.joiners.iter_mut().find(|(container, _)| *container == fragment.joiner);
        let Some((_, joiner)) = joiner else { return Fate::Rejected("a part of a record of no known kind".to_owned()) };
        let fate = joiner.push(fragment, step);
        self.trace(step);
        fate
    }

    /// Sends what came out of a joiner and stands in a trace on to the others of its trace.
    fn trace(&mut self, step: &mut Step) {
        for joined in mem::take(&mut step.records) {
            // A joiner may let several go at once; each is an entry of the traces, which are known by the entry that
            // began them.
            self.entries += 1;
            step.number = self.entries;
            match &joined.whole {
                Whole::Record(record) if record.span.as_ref().is_some_and(|span| span.trace_id.is_some()) => {
                    let (place, is_further) = (joined.place.clone(), joined.is_further);
                    // The unit is counted when the record comes out of its trace.
                    if self.traces.push(joined, step) != Fate::Held {
                        step.records.push(Joined { is_further, ..Joined::whole(place, Whole::Merged) });
                    }
                }
                Whole::Ignored(ignored) => {
                    self.traces.note(ignored, step);
                    step.records.push(joined);
                }
                _ => step.records.push(joined),
            }
        }
    }

    /// What has not been completed, in the order in which it began.
    pub fn finish(&mut self) -> Vec<Joined> {
        let place = Place { source: "".into(), line: 0, item: None, byte: 0 };
        let (format, records, traffic) = (Format::default(), Vec::new(), Vec::new());
        let mut step = Step { place, format, bytes: 0, number: self.entries + 1, records, traffic };
        self.joiners.iter_mut().for_each(|(_, joiner)| joiner.close());
        while let Some(oldest) = self.oldest_joiner() {
            self.joiners[oldest].1.let_oldest_go(&mut step);
            self.trace(&mut step);
        }
        while self.traces.load().oldest.is_some() {
            self.traces.let_oldest_go(&mut step);
        }
        step.records
    }

    /// The limits that were reached: name, value, how often.
    pub fn limits_reached(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        let notes = [
            ("assemble.records_max", self.limits.records_max as u64, self.evicted),
            ("assemble.bytes_max", self.limits.bytes_max, self.evicted_for_bytes),
        ];
        notes.into_iter().filter(|(_, _, times)| *times > 0)
    }

    /// All that waits.
    pub(crate) fn load(&self) -> Load {
        let loads = self.joiners.iter().map(|(_, joiner)| joiner.load()).chain([self.traces.load()]);
        loads.fold(Load::default(), |all, one| Load {
            records: all.records + one.records,
            bytes: all.bytes + one.bytes,
            oldest: all.oldest.into_iter().chain(one.oldest).min(),
        })
    }

    /// The joiner with the record that has waited longest.
    fn oldest_joiner(&self) -> Option<usize> {
        let oldest = self.joiners.iter().enumerate().filter_map(|(at, (_, joiner))| Some((joiner.load().oldest?, at)));
        oldest.min().map(|(_, at)| at)
    }

    /// Lets the oldest go where there are too many.
    fn make_room(&mut self, step: &mut Step) {
        loop {
            let Load { records, bytes, .. } = self.load();
            if records <= self.limits.records_max && bytes <= self.limits.bytes_max {
                return;
            }
            let in_joiners = self.oldest_joiner().map(|at| (self.joiners[at].1.load().oldest, at));
            let in_traces = self.traces.load().oldest;
            match (in_joiners, in_traces) {
                (None, None) => return,
                (Some((Some(number), at)), traced) if traced.is_none_or(|traced| number < traced) => {
                    self.joiners[at].1.let_oldest_go(step);
                    self.trace(step);
                }
                _ => self.traces.let_oldest_go(step),
            }
            let is_for_bytes = records <= self.limits.records_max;
            *(if is_for_bytes { &mut self.evicted_for_bytes } else { &mut self.evicted }) += 1;
        }
    }
}

/// The time between two moments in milliseconds; `None` when one is not known, or they are the wrong way round.
pub(crate) fn duration_ms(begin: Option<i64>, end: Option<i64>) -> Option<f64> {
    let ms = end?.checked_sub(begin?)?;
    (ms >= 0).then_some(ms as f64)
}
