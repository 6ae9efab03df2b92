//! The one way through a log: units are read in parallel, parts of records are put together in order, and every whole
//! record is looked at once. What is made of a record is said by an [`Analyse`]: `audit`, `inspect`, `convert` and `label`
//! are sinks of this drive, so that all of them count the same.
//!
//! A unit that is a record by itself is parsed and analysed in one go. A unit that is a part of one waits for
//! [`Assembly::run`], the ordered step between reading and analysis: it hands the parts of a chunk to
//! [`assemble`](crate::assemble), analyses what comes out in parallel, and then does the same with the calls of tools in
//! conversations. A chunk without parts and calls does not pass it.
//!
//! Batches are read in rounds, and a round goes through the stages in chunks. Everything overlaps: while a chunk is
//! analysed, the one before it is observed, the one before that rendered and committed, and the next round read. A step
//! begins when all of the step before has ended, and each stage owns what it works on, so that the output cannot depend
//! on the number of threads or the size of a batch.

use std::{mem, ops::ControlFlow};

use anyhow::Result;
use rayon::prelude::*;

use crate::{
    assemble::{
        self, Assembler, Fate, Joined, Whole,
        duplicates::{Answers, Mark},
        tool_calls::{self, Pairer, Recorded, Traffic},
    },
    input::{Batch, Content, Cut, Header, Place, Reader},
    reader::{Parsed, RecordReader},
    record::{Entry, Ignored, Record, Rejected},
};

use super::filter::Filter;

/// Batches of a chunk, per thread: enough that a slow batch does not leave the other threads idle.
const BATCHES_PER_CHUNK: usize = 2;
/// Chunks of a round: enough that its beginning and its end, where not all stages have work, cost little.
const CHUNKS_PER_ROUND: usize = 8;

/// How far a drive has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read from disk (compressed, where the source is).
    pub bytes_on_disk: u64,
    /// Units committed.
    pub units: u64,
}

/// What is made of a whole record.
pub trait Analyse: Sync {
    /// What it is made to.
    type Out<'a>: Send;

    /// Takes one record. `origin` is the unit that it stands in, `None` when it was put together of several.
    fn analyse<'a>(&self, record: Record<'a>, seen: &Seen<'_>) -> Self::Out<'a>;
}

/// What is known of a record beside itself.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'u> {
    /// The conversation that it belongs to, where that is not told by its session id.
    pub scope: Option<u64>,
    /// The unit that it stands in; `None` when it was put together of several.
    pub unit: Option<UnitOf<'u>>,
}

/// The unit that a record stands in.
#[derive(Clone, Copy, Debug)]
pub struct UnitOf<'u> {
    /// Its bytes.
    pub bytes: &'u [u8],
    /// The header of the table whose row it is.
    pub header: Option<&'u Header>,
    /// How many units of the input came before it.
    pub number: u64,
    /// The position of the record in it.
    pub position: usize,
}

/// One unit, or one item of a unit.
pub struct Unit<'a, T> {
    /// Where it stands.
    pub place: Place,
    /// Whether it is a further item of the unit that the one before it comes from.
    pub is_further: bool,
    /// What became of it.
    pub outcome: Outcome<'a, T>,
    /// What the ordered step has to know of the record, until it has taken it.
    marks: Option<Box<Marks>>,
}

/// What became of a unit.
pub enum Outcome<'a, T> {
    /// A record, analysed.
    Record(T),
    /// Left out by the window or the sample.
    Skipped,
    /// Recognised, and no call.
    Ignored(Ignored<'a>),
    /// A part of something, on its way to the ordered step, and how many bytes its unit has.
    Part(Box<Entry<'static>>, usize),
    /// What came out of the ordered step, on its way to be analysed.
    Joined(Box<Joined>),
    /// The first part of a record, which is counted when that comes out.
    Held,
    /// A part of another record, or the same as one before.
    Merged,
    /// Not a record: why, and how many bytes into the unit.
    Rejected(Rejected),
}

/// What the ordered step has to know of a record.
#[derive(Debug, Default)]
struct Marks {
    /// What it says of calls of tools.
    traffic: Vec<Traffic>,
    /// By what the answer is known when it comes again.
    answer: Option<Mark>,
    /// By what a call of a tool is known that a conversation tells, too.
    recorded: Option<Recorded>,
}

impl Marks {
    /// `None` for most records.
    fn of(record: &Record<'_>, place: &Place, is_paired: bool) -> Option<Box<Marks>> {
        let traffic = if is_paired { None } else { tool_calls::traffic_of(record, place) };
        let (answer, recorded) = (Mark::of(record), Recorded::of(record).filter(|_| !is_paired));
        if traffic.is_none() && answer.is_none() && recorded.is_none() {
            return None;
        }
        Some(Box::new(Marks { traffic: traffic.into_iter().collect(), answer, recorded }))
    }
}

/// A batch, read and analysed.
struct Part<'a, T> {
    /// Its units, in order.
    units: Vec<Unit<'a, T>>,
    /// Whether parts of records wait for the ordered step.
    has_parts: bool,
    /// Whether calls of tools, or answers that may be duplicates, wait for the ordered step.
    has_marks: bool,
}

/// A unit with what the ordered stage made of its record.
pub(crate) type Observed<'a, A, N> = (Unit<'a, <A as Analyse>::Out<'a>>, Option<N>);

/// A way through a log.
pub(crate) struct Drive<'d, A> {
    pub reader: &'d RecordReader,
    pub filter: &'d Filter,
    pub analyst: &'d A,
}

impl<A: Analyse> Drive<'_, A> {
    /// Drives all rounds: `observe` takes every record in input order; `render` turns the observed units of one batch into
    /// a part, in parallel; `commit` takes the parts in input order, and may stop the drive.
    pub fn run<N: Send, P: Send>(
        &self,
        input: &mut Reader,
        assembly: &mut Assembly,
        mut observe: impl FnMut(&A::Out<'_>) -> N + Send,
        render: impl Fn(Vec<Observed<'_, A, N>>) -> P + Sync,
        mut commit: impl FnMut(P, &Progress) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        let mut progress = Progress::default();
        let mut units_read = 0;
        let mut round = read_round(input);
        while !round.is_empty() {
            progress.bytes_on_disk = input.totals().bytes_on_disk;
            let first = units_read;
            units_read += round.iter().map(|batch| batch.units.len() as u64).sum::<u64>();
            let (next, flow) = rayon::join(
                || read_round(input),
                || {
                    self.round(&round, first, assembly, &mut observe, &render, |part, units| {
                        progress.units += units;
                        commit(part, &progress)
                    })
                },
            );
            if flow?.is_break() {
                return Ok(());
            }
            round = next;
        }
        let rest = self.rest(assembly);
        if !rest.is_empty() {
            progress.units += rest.len() as u64;
            let _last = commit(render(observed::<A, N>(rest, &mut observe)), &progress)?;
        }
        Ok(())
    }

    /// Drives one round, chunk by chunk: while one is analysed, the one before it is observed, and the one before that
    /// is rendered and committed.
    fn round<N: Send, P: Send>(
        &self,
        batches: &[Batch],
        mut number: u64,
        assembly: &mut Assembly,
        observe: &mut (impl FnMut(&A::Out<'_>) -> N + Send),
        render: &(impl Fn(Vec<Observed<'_, A, N>>) -> P + Sync),
        mut commit: impl FnMut(P, u64) -> Result<ControlFlow<()>> + Send,
    ) -> Result<ControlFlow<()>> {
        let (mut analysed, mut waiting) = (Vec::new(), Vec::new());
        let chunks = batches.chunks(chunk_len());
        // Two steps more than there are chunks, so that the last one comes through.
        for chunk in chunks.chain([&[][..], &[][..]]) {
            let numbered: Vec<(u64, &Batch)> = chunk
                .iter()
                .map(|batch| {
                    let first = number;
                    number += batch.units.len() as u64;
                    (first, batch)
                })
                .collect();
            let observe = || {
                let parts = analysed.into_iter().map(|part: Part<'_, _>| observed::<A, N>(part.units, observe));
                parts.collect::<Vec<_>>()
            };
            let analyse = || {
                let mut parts: Vec<Part<'_, A::Out<'_>>> =
                    numbered.par_iter().map(|(first, batch)| self.batch(batch, *first)).collect();
                self.assemble(assembly, &mut parts);
                parts
            };
            let finish = || -> Result<ControlFlow<()>> {
                let part = |batch: Vec<Observed<'_, A, N>>| (batch.len() as u64, render(batch));
                let parts: Vec<(u64, P)> = waiting.into_par_iter().map(part).collect();
                for (units, part) in parts {
                    if commit(part, units)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Ok(ControlFlow::Continue(()))
            };
            // Observing begins first, because no other thread can help with it.
            let (now_observed, (flow, now_analysed)) = rayon::join(observe, || rayon::join(finish, analyse));
            if flow?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            (analysed, waiting) = (now_analysed, now_observed);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Every unit of a batch, in order; `first` is the number of its first unit in the input.
    fn batch<'a>(&self, batch: &'a Batch, first: u64) -> Part<'a, A::Out<'a>> {
        let mut part = Part { units: Vec::with_capacity(batch.units.len()), has_parts: false, has_marks: false };
        for (number, unit) in (first..).zip(&batch.units) {
            let place = |item: Option<u32>, offset: usize| Place {
                source: batch.source.clone(),
                line: unit.line,
                item,
                byte: unit.byte + offset as u64,
            };
            let bytes = match &unit.content {
                Content::Text(range) => &batch.bytes[range.clone()],
                Content::Rejected(cut) => {
                    let rejected = Rejected { byte: 0, reason: describe(cut) };
                    part.push(place(unit.item, 0), false, Outcome::Rejected(rejected), None);
                    continue;
                }
            };
            let header = batch.header.as_deref();
            let parsed = match header {
                None => self.reader.read(bytes),
                Some(header) => self.reader.read_row(header, bytes),
            };
            let is_sampled = self.filter.takes_unit(&batch.source, unit.byte);
            let is_part = |outcome: &Result<Entry<'_>, Rejected>| outcome.as_ref().is_ok_and(assemble::is_part);
            let mut take = |place: Place, position: usize, outcome: Result<Entry<'a>, Rejected>| {
                let unit = UnitOf { bytes, header, number, position };
                let (outcome, marks) = match outcome {
                    // A part that the sample leaves out may belong to a record that it takes.
                    Ok(entry) if assemble::is_part(&entry) => {
                        (Outcome::Part(Box::new(entry.into_owned()), bytes.len()), None)
                    }
                    _ if !is_sampled => (Outcome::Skipped, None),
                    Ok(Entry::Record(record)) => {
                        let marks = Marks::of(&record, &place, false);
                        (self.analyse(record, &Seen { scope: None, unit: Some(unit) }), marks)
                    }
                    Ok(Entry::Ignored(ignored)) => (Outcome::Ignored(ignored), None),
                    Ok(Entry::Fragment(_)) => (Outcome::Merged, None),
                    Err(rejected) => (Outcome::Rejected(rejected), None),
                };
                part.push(place, position > 0, outcome, marks);
            };
            match parsed {
                Parsed::One(outcome) => take(place(unit.item, 0), 0, outcome),
                Parsed::Many(items) if !is_sampled && !items.iter().any(|item| is_part(&item.outcome)) => {
                    part.push(place(unit.item, 0), false, Outcome::Skipped, None);
                }
                Parsed::Many(items) => {
                    for (position, item) in items.into_iter().enumerate() {
                        // The offset of a fault counts from the unit, that of a record from itself.
                        let offset = if item.outcome.is_ok() { item.byte } else { 0 };
                        take(place(Some(item.item), offset), position, item.outcome);
                    }
                }
            }
        }
        part
    }

    /// A whole record, unless the window leaves it out.
    fn analyse<'a>(&self, record: Record<'a>, seen: &Seen<'_>) -> Outcome<'a, A::Out<'a>> {
        if !self.filter.takes_time(record.timestamp_ms) {
            return Outcome::Skipped;
        }
        Outcome::Record(self.analyst.analyse(record, seen))
    }

    /// Puts the parts of records in the next batches together, and pairs calls of tools with their results.
    fn assemble<'a>(&self, assembly: &mut Assembly, parts: &mut [Part<'a, A::Out<'a>>]) {
        if parts.iter().any(|part| part.has_parts) {
            parts.iter_mut().filter(|part| part.has_parts).for_each(|part| assembly.assemble(part));
            self.analyse_joined(parts);
        }
        self.pair(assembly, parts);
    }

    fn pair<'a>(&self, assembly: &mut Assembly, parts: &mut [Part<'a, A::Out<'a>>]) {
        let mut has_records = false;
        for part in parts.iter_mut().filter(|part| part.has_marks) {
            has_records |= assembly.pair(part);
        }
        if has_records {
            self.analyse_joined(parts);
        }
    }

    /// What is left at the end of the input.
    fn rest(&self, assembly: &mut Assembly) -> Vec<Unit<'static, A::Out<'static>>> {
        let units = assembly.assembler.finish().into_iter().map(Unit::joined).collect();
        let mut parts = [Part { units, has_parts: true, has_marks: false }];
        self.analyse_joined(&mut parts);
        self.pair(assembly, &mut parts);
        let [part] = parts;
        part.units
    }

    /// Analyses what came out of the ordered step, in parallel.
    fn analyse_joined<'a>(&self, parts: &mut [Part<'a, A::Out<'a>>]) {
        parts.par_iter_mut().for_each(|part| {
            part.units.par_iter_mut().for_each(|unit| {
                if !matches!(unit.outcome, Outcome::Joined(_)) {
                    return;
                }
                let Outcome::Joined(joined) = mem::replace(&mut unit.outcome, Outcome::Held) else { return };
                (unit.outcome, unit.marks) = self.joined(&unit.place, *joined);
            });
            part.has_marks |= part.units.iter().any(|unit| unit.marks.is_some());
        });
    }

    fn joined<'a>(&self, place: &Place, joined: Joined) -> (Outcome<'a, A::Out<'a>>, Option<Box<Marks>>) {
        let (scope, is_paired) = (joined.scope, joined.is_paired);
        match joined.whole {
            Whole::Ignored(ignored) => (Outcome::Ignored(ignored), None),
            Whole::Merged => (Outcome::Merged, None),
            Whole::Rejected(reason) => (Outcome::Rejected(Rejected { byte: 0, reason }), None),
            Whole::Record(_) if !self.filter.takes_unit(&place.source, place.byte) => (Outcome::Skipped, None),
            Whole::Record(_) => {
                let Some(record) = joined.into_record() else { return (Outcome::Merged, None) };
                let marks = Marks::of(&record, place, is_paired);
                (self.analyse(record, &Seen { scope, unit: None }), marks)
            }
        }
    }
}

impl<T> Unit<'_, T> {
    fn joined(joined: Joined) -> Self {
        let (place, is_further) = (joined.place.clone(), joined.is_further);
        Unit { place, is_further, outcome: Outcome::Joined(Box::new(joined)), marks: None }
    }
}

impl<'a, T> Part<'a, T> {
    fn push(&mut self, place: Place, is_further: bool, outcome: Outcome<'a, T>, marks: Option<Box<Marks>>) {
        self.has_parts |= matches!(outcome, Outcome::Part(..));
        self.has_marks |= marks.is_some();
        self.units.push(Unit { place, is_further, outcome, marks });
    }
}

/// The ordered step between reading and analysis, with what it remembers.
pub(crate) struct Assembly {
    assembler: Assembler,
    pairer: Pairer,
    answers: Answers,
}

impl Assembly {
    /// A step that has seen nothing yet.
    pub fn new(limits: &assemble::Limits) -> Assembly {
        let (assembler, pairer) = (RecordReader::assembler(limits), Pairer::new(limits));
        Assembly { assembler, pairer, answers: Answers::new(limits) }
    }

    /// The limits that were reached: name, value, how often.
    pub fn limits_reached(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        self.assembler.limits_reached().chain(self.pairer.limits_reached())
    }

    fn assemble<T>(&mut self, part: &mut Part<'_, T>) {
        let mut units = Vec::with_capacity(part.units.len());
        for mut unit in mem::take(&mut part.units) {
            let (entry, bytes) = match mem::replace(&mut unit.outcome, Outcome::Held) {
                Outcome::Part(entry, bytes) => (entry, bytes),
                outcome => {
                    units.push(Unit { outcome, ..unit });
                    continue;
                }
            };
            let pushed = self.assembler.push(unit.place.clone(), bytes, *entry);
            units.extend(pushed.records.into_iter().map(Unit::joined));
            if !pushed.traffic.is_empty() {
                part.has_marks = true;
                unit.marks = Some(Box::new(Marks { traffic: pushed.traffic, ..Marks::default() }));
            }
            unit.outcome = match pushed.fate {
                Fate::Held => Outcome::Held,
                Fate::Merged => Outcome::Merged,
                Fate::Ignored(ignored) => Outcome::Ignored(ignored),
                Fate::Rejected(reason) => Outcome::Rejected(Rejected { byte: 0, reason }),
            };
            units.push(unit);
        }
        part.units = units;
    }

    /// Merges what the log has twice, and pairs calls with results; whether records came of that.
    fn pair<T>(&mut self, part: &mut Part<'_, T>) -> bool {
        let mut units = Vec::with_capacity(part.units.len());
        let mut has_records = false;
        for mut unit in mem::take(&mut part.units) {
            let Some(marks) = unit.marks.take() else {
                units.push(unit);
                continue;
            };
            let is_known = marks.answer.is_some_and(|mark| self.answers.is_known(mark))
                || marks.recorded.is_some_and(|recorded| self.pairer.is_done(&recorded));
            if is_known {
                unit.outcome = Outcome::Merged;
                units.push(unit);
                continue;
            }
            units.push(unit);
            for traffic in marks.traffic {
                let paired = self.pairer.push(traffic);
                has_records |= !paired.is_empty();
                units.extend(paired.into_iter().map(Unit::joined));
            }
        }
        part.units = units;
        has_records
    }
}

/// Units with what observing them made of their records.
fn observed<'a, A: Analyse, N>(
    units: Vec<Unit<'a, A::Out<'a>>>,
    observe: &mut impl FnMut(&A::Out<'_>) -> N,
) -> Vec<Observed<'a, A, N>> {
    let observe = |unit: Unit<'a, A::Out<'a>>| {
        let note = if let Outcome::Record(record) = &unit.outcome { Some(observe(record)) } else { None };
        (unit, note)
    };
    units.into_iter().map(observe).collect()
}

/// Batches of a chunk, for all threads.
fn chunk_len() -> usize {
    BATCHES_PER_CHUNK * rayon::current_num_threads()
}

fn read_round(input: &mut Reader) -> Vec<Batch> {
    let batches = CHUNKS_PER_ROUND * chunk_len();
    std::iter::from_fn(|| input.next_batch()).take(batches).collect()
}

fn describe(cut: &Cut) -> String {
    match cut {
        Cut::TooLarge { bytes, limit } => {
            format!("larger than max_record_bytes: at least {bytes} bytes, the limit is {limit}")
        }
        Cut::TooDeep { limit } => format!("nested deeper than {limit} brackets"),
        Cut::Unreadable(reason) | Cut::Truncated(reason) => reason.clone(),
    }
}
