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
//! on the number of threads or the size of a batch. Where the next units of a live input have not come yet, all that has is
//! committed first.

use std::{iter, mem, ops::ControlFlow, task::Poll};

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
    record::{Container, Entry, Format, Ignored, Record, Rejected, json::Json},
};

use super::filter::Filter;

/// Batches of a chunk, per thread: enough that a slow batch does not leave the other threads idle.
const BATCHES_PER_CHUNK: usize = 2;
/// Chunks of a round: enough that its beginning and its end, where not all stages have work, cost little.
const CHUNKS_PER_ROUND: usize = 8;

/// What a document holds beside the records that are units of their own.
const AROUND_RECORDS: &str = "a document around its records";

/// How far a drive has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read from disk (compressed, where the source is).
    pub bytes_on_disk: u64,
    /// Units committed.
    pub units: u64,
}

/// What is made of units and of whole records.
pub trait Analyse: Sync {
    /// What is kept of a unit beside its records.
    type Read: Send;
    /// What is kept of a record.
    type Out<'a>: Send;

    /// Looks at a unit as it was read, before its parts become records.
    fn read(&self, unit: &UnitOf<'_>, parsed: &Parsed<'_>) -> Option<Self::Read>;

    /// Takes one record of a source.
    fn analyse<'a>(&self, record: Record<'a>, source: &str) -> Self::Out<'a>;
}

/// A unit of the input.
#[derive(Clone, Copy, Debug)]
pub struct UnitOf<'u> {
    /// Its bytes.
    pub bytes: &'u [u8],
    /// The header of the table whose row it is.
    pub header: Option<&'u Header>,
    /// How many units of the input came before it.
    pub number: u64,
}

impl<'u> UnitOf<'u> {
    /// Its value as a tree, a row of a table as an object; `None` for what is no value by itself.
    pub fn tree(&self) -> Option<Json<'u>> {
        match self.header {
            Some(header) => {
                let cells = header.cells(self.bytes).ok()?.into_iter();
                let cells = cells.map(|(name, cell)| (name.to_owned().into(), Json::String(cell.into())));
                Some(Json::Object(cells.collect()))
            }
            None => Json::parse(self.bytes).ok(),
        }
    }
}

/// One unit, or one item of a unit.
pub struct Unit<'a, T, R> {
    /// Where it stands.
    pub place: Place,
    /// Whether it is a further item of the unit that the one before it comes from.
    pub is_further: bool,
    /// What became of it.
    pub outcome: Outcome<'a, T>,
    /// What the unit was made to beside its records, at its first item.
    pub read: Option<R>,
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
        // What was converted has been through this step.
        let is_paired = is_paired || record.format.container == Container::NORMAL;
        let traffic = if is_paired { None } else { tool_calls::traffic_of(record, place) };
        let (answer, recorded) = (Mark::of(record), Recorded::of(record).filter(|_| !is_paired));
        if traffic.is_none() && answer.is_none() && recorded.is_none() {
            return None;
        }
        Some(Box::new(Marks { traffic: traffic.into_iter().collect(), answer, recorded }))
    }
}

/// A batch, read and analysed.
struct Part<'a, T, R> {
    /// Its units, in order.
    units: Vec<Unit<'a, T, R>>,
    /// Whether parts of records wait for the ordered step.
    has_parts: bool,
    /// Whether calls of tools, or answers that may be duplicates, wait for the ordered step.
    has_marks: bool,
}

/// A unit with what the ordered stage made of its record.
pub(crate) type Observed<'a, A, N> = (UnitFor<'a, A>, Option<N>);

/// A unit, and a batch of them, as an [`Analyse`] has them.
type UnitFor<'a, A> = Unit<'a, <A as Analyse>::Out<'a>, <A as Analyse>::Read>;
type PartFor<'a, A> = Part<'a, <A as Analyse>::Out<'a>, <A as Analyse>::Read>;

/// A way through a log.
pub(crate) struct Drive<'d, A> {
    pub reader: &'d RecordReader,
    pub filter: &'d Filter,
    pub analyst: &'d A,
}

impl<A: Analyse> Drive<'_, A> {
    /// Drives all rounds: `observe` takes every record in input order; `render` turns the observed units of one batch into
    /// a part, in parallel; `commit` takes the parts in input order, and may stop the drive. It is given nothing where the
    /// next units are waited for.
    pub fn run<N: Send, P: Send>(
        &self,
        input: &mut Reader,
        assembly: &mut Assembly,
        mut observe: impl FnMut(&A::Out<'_>) -> N + Send,
        render: impl Fn(Vec<Observed<'_, A, N>>) -> P + Sync,
        mut commit: impl FnMut(Option<P>, &Progress) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        let mut progress = Progress::default();
        let mut units_read = 0;
        let mut round = read_round(input, Wait::Yes);
        while !round.is_empty() {
            progress.bytes_on_disk = input.totals().bytes_on_disk;
            let first = units_read;
            units_read += round.iter().map(|batch| batch.units.len() as u64).sum::<u64>();
            let (next, flow) = rayon::join(
                // Where it waited, what was read before would not come out.
                || read_round(input, Wait::No),
                || {
                    self.round(&round, first, assembly, &mut observe, &render, |part, units| {
                        progress.units += units;
                        commit(Some(part), &progress)
                    })
                },
            );
            if flow?.is_break() {
                return Ok(());
            }
            round = next;
            if round.is_empty() {
                if commit(None, &progress)?.is_break() {
                    return Ok(());
                }
                round = read_round(input, Wait::Yes);
            }
        }
        let rest = self.rest(assembly);
        if !rest.is_empty() {
            progress.units += rest.len() as u64;
            let _last = commit(Some(render(observed::<A, N>(rest, &mut observe))), &progress)?;
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
                let parts = analysed.into_iter().map(|part: PartFor<'_, A>| observed::<A, N>(part.units, observe));
                parts.collect::<Vec<_>>()
            };
            let analyse = || {
                let mut parts: Vec<PartFor<'_, A>> =
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
    fn batch<'a>(&self, batch: &'a Batch, first: u64) -> PartFor<'a, A> {
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
                Content::Rest(_) => {
                    let around = Ignored::parent(Format::of(Container::NATIVE), AROUND_RECORDS);
                    part.push(place(unit.item, 0), false, Outcome::Ignored(around), None, None);
                    continue;
                }
                Content::Rejected(cut) => {
                    let rejected = Rejected { byte: 0, reason: describe(cut) };
                    part.push(place(unit.item, 0), false, Outcome::Rejected(rejected), None, None);
                    continue;
                }
            };
            let header = batch.header.as_deref();
            let parsed = match (header, &unit.shell) {
                (Some(header), _) => self.reader.read_row(header, bytes),
                (None, Some(shell)) => self.reader.read_element(shell, bytes),
                (None, None) => self.reader.read(bytes),
            };
            let unit_of = UnitOf { bytes, header, number };
            let is_sampled = self.filter.takes_unit(&batch.source, unit.byte);
            let mut read = if is_sampled { self.analyst.read(&unit_of, &parsed) } else { None };
            let is_part = |outcome: &Result<Entry<'_>, Rejected>| outcome.as_ref().is_ok_and(assemble::is_part);
            let mut take = |place: Place, position: usize, outcome: Result<Entry<'a>, Rejected>| {
                let (outcome, marks) = match outcome {
                    // A part that the sample leaves out may belong to a record that it takes.
                    Ok(entry) if assemble::is_part(&entry) => {
                        (Outcome::Part(Box::new(entry.into_owned()), bytes.len()), None)
                    }
                    _ if !is_sampled => (Outcome::Skipped, None),
                    Ok(Entry::Record(record)) => {
                        let marks = Marks::of(&record, &place, false);
                        (self.analyse(record, &place.source), marks)
                    }
                    Ok(Entry::Ignored(ignored)) => (Outcome::Ignored(ignored), None),
                    Ok(Entry::Fragment(_)) => (Outcome::Merged, None),
                    Err(rejected) => (Outcome::Rejected(rejected), None),
                };
                part.push(place, position > 0, outcome, marks, read.take());
            };
            match parsed {
                Parsed::One(outcome) => take(place(unit.item, 0), 0, outcome),
                Parsed::Many(items) if !is_sampled && !items.iter().any(|item| is_part(&item.outcome)) => {
                    part.push(place(unit.item, 0), false, Outcome::Skipped, None, None);
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
    fn analyse<'a>(&self, record: Record<'a>, source: &str) -> Outcome<'a, A::Out<'a>> {
        if !self.filter.takes_time(record.timestamp_ms) {
            return Outcome::Skipped;
        }
        Outcome::Record(self.analyst.analyse(record, source))
    }

    /// Puts the parts of records in the next batches together, and pairs calls of tools with their results.
    fn assemble<'a>(&self, assembly: &mut Assembly, parts: &mut [PartFor<'a, A>]) {
        if parts.iter().any(|part| part.has_parts) {
            parts.iter_mut().filter(|part| part.has_parts).for_each(|part| assembly.assemble(part));
            self.analyse_joined(parts);
        }
        self.pair(assembly, parts);
    }

    fn pair<'a>(&self, assembly: &mut Assembly, parts: &mut [PartFor<'a, A>]) {
        let mut has_records = false;
        for part in parts.iter_mut().filter(|part| part.has_marks) {
            has_records |= assembly.pair(part);
        }
        if has_records {
            self.analyse_joined(parts);
        }
    }

    /// What is left at the end of the input.
    fn rest(&self, assembly: &mut Assembly) -> Vec<UnitFor<'static, A>> {
        let units = assembly.assembler.finish().into_iter().map(Unit::joined).collect();
        let mut parts = [Part { units, has_parts: true, has_marks: false }];
        self.analyse_joined(&mut parts);
        self.pair(assembly, &mut parts);
        let [part] = parts;
        part.units
    }

    /// Analyses what came out of the ordered step, in parallel.
    fn analyse_joined<'a>(&self, parts: &mut [PartFor<'a, A>]) {
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
        let is_paired = joined.is_paired;
        match joined.whole {
            Whole::Ignored(ignored) => (Outcome::Ignored(ignored), None),
            Whole::Merged => (Outcome::Merged, None),
            Whole::Rejected(reason) => (Outcome::Rejected(Rejected { byte: 0, reason }), None),
            Whole::Record(_) if !self.filter.takes_unit(&place.source, place.byte) => (Outcome::Skipped, None),
            Whole::Record(_) => {
                let Some(record) = joined.into_record() else { return (Outcome::Merged, None) };
                let marks = Marks::of(&record, place, is_paired);
                (self.analyse(record, &place.source), marks)
            }
        }
    }
}

impl<T, R> Unit<'_, T, R> {
    fn joined(joined: Joined) -> Self {
        let (place, is_further) = (joined.place.clone(), joined.is_further);
        Unit { place, is_further, outcome: Outcome::Joined(Box::new(joined)), read: None, marks: None }
    }
}

impl<'a, T, R> Part<'a, T, R> {
    fn push(
        &mut self,
        place: Place,
        is_further: bool,
        outcome: Outcome<'a, T>,
        marks: Option<Box<Marks>>,
        read: Option<R>,
    ) {
        self.has_parts |= matches!(outcome, Outcome::Part(..));
        self.has_marks |= marks.is_some();
        self.units.push(Unit { place, is_further, outcome, read, marks });
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

    fn assemble<T, R>(&mut self, part: &mut Part<'_, T, R>) {
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
    fn pair<T, R>(&mut self, part: &mut Part<'_, T, R>) -> bool {
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
    units: Vec<UnitFor<'a, A>>,
    observe: &mut impl FnMut(&A::Out<'_>) -> N,
) -> Vec<Observed<'a, A, N>> {
    let observe = |unit: UnitFor<'a, A>| {
        let note = if let Outcome::Record(record) = &unit.outcome { Some(observe(record)) } else { None };
        (unit, note)
    };
    units.into_iter().map(observe).collect()
}

/// Batches of a chunk, for all threads.
fn chunk_len() -> usize {
    BATCHES_PER_CHUNK * rayon::current_num_threads()
}

/// Whether a round waits for its first batch, where the bytes of the input come while it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Yes,
    No,
}

/// As many batches as are there, up to those of a round.
fn read_round(input: &mut Reader, wait: Wait) -> Vec<Batch> {
    let first = if wait == Wait::Yes { input.next_batch() } else { None };
    let missing = CHUNKS_PER_ROUND * chunk_len() - first.iter().len();
    let ready = || match input.poll_batch() {
        Poll::Ready(batch) => batch,
        Poll::Pending => None,
    };
    first.into_iter().chain(iter::from_fn(ready).take(missing)).collect()
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
