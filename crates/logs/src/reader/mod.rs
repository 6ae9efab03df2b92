//! Unit → [`Entry`]s or [`Rejected`].
//!
//! A unit is parsed strictly first, borrowing its text. Only what the strict parser refuses goes through the slower
//! `scan`, which names the fault or reads around the oddities of real writers (`NaN`, broken UTF-8), with a note.
//! A unit that holds several values, an array of them, or a document with many records gives as many items. What a value
//! was written by is told for each by itself ([`Writer`]). What is no record is looked into: [`locate`].
//!
//! **Limits**: [`MAX_ITEMS_PER_UNIT`] items; a unit that breaks in its first value, or an array that breaks anywhere,
//! is rejected as a whole, since nobody knows where the next record begins.

pub mod locate;
mod notices;
mod packed;
mod python;
mod text_line;

use std::{
    collections::HashMap,
    mem,
    ops::Range,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    assemble::{self, Assembler, Limits},
    input::{Header, Shell, framing::split_values},
    record::{
        Container, Entry, Format, Ignored, Note, Rejected,
        call::Entries,
        json::{Json, ParseError},
        mapping::{Mapped, Mapping},
        scan::{self, next_visible},
    },
    writers::{
        self, Writer,
        native::{self, Refused},
        normal,
    },
};
use locate::{Candidate, Place};

/// Records that one unit may hold; a unit with more is rejected, so that its size bounds the memory that it takes.
pub const MAX_ITEMS_PER_UNIT: usize = 65_536;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What RFC 7464 puts before each value.
const RECORD_SEPARATOR: u8 = 0x1e;

/// Reads units into records. Cheap to share between threads.
#[derive(Clone, Default)]
pub struct RecordReader {
    mapping: Mapping,
    /// JSON Pointers of values that are kept beside the fields of the record.
    extras: Arc<[String]>,
    writer: Option<&'static Writer>,
    /// The mapped fields that were found somewhere, as bits.
    mapped: Arc<AtomicU64>,
}

type Outcome<'a> = Result<Entry<'a>, Rejected>;

/// What one value gave.
#[expect(clippy::large_enum_variant, reason = "one entry per value is the rule, and should cost no allocation")]
enum Values<'a> {
    One(Outcome<'a>),
    Many(Vec<Outcome<'a>>),
}

/// What a unit turned out to be.
#[expect(clippy::large_enum_variant, reason = "one record per unit is the rule, and should cost no allocation")]
#[derive(Debug, PartialEq)]
pub enum Parsed<'a> {
    /// One record, as a rule.
    One(Outcome<'a>),
    /// Several values on one line, an array of them, or a document that holds many.
    Many(Vec<Item<'a>>),
}

/// One of several values of a unit.
#[derive(Debug, PartialEq)]
pub struct Item<'a> {
    /// Its position, from 0.
    pub item: u32,
    /// Offset of its first byte in the unit.
    pub byte: usize,
    /// What it holds.
    pub outcome: Outcome<'a>,
}

impl RecordReader {
    /// A reader that looks for fields where `mapping` says, and under their usual names.
    pub fn new(mapping: Mapping) -> RecordReader {
        RecordReader { mapping, ..RecordReader::default() }
    }

    /// Takes every value for one of `writer`, whatever it looks like.
    #[must_use]
    pub fn with_writer(self, writer: Option<&'static Writer>) -> RecordReader {
        RecordReader { writer, ..self }
    }

    /// Keeps the values at these JSON Pointers, into the object that a record is read from, beside its fields. Records that
    /// are put together from several units have none.
    #[must_use]
    pub fn with_extras(self, pointers: Vec<String>) -> RecordReader {
        RecordReader { extras: pointers.into(), ..self }
    }

    /// The values that are kept beside the fields, as text: a string as it stands, anything else as JSON.
    fn extras(&self, tree: &Json<'_>) -> Vec<(u32, String)> {
        let found = (0..).zip(self.extras.iter()).filter_map(|(index, pointer)| {
            let value = tree.pointer(pointer).filter(|value| !value.is_null())?;
            Some((index, value.as_str().map_or_else(|| value.to_compact_string(), str::to_owned)))
        });
        found.collect()
    }

    /// What puts the parts of records together that this reader gives.
    pub fn assembler(limits: &Limits) -> Assembler {
        Assembler::new(limits, writers::joiners(limits))
    }

    /// The mapped fields that were found in no record so far.
    pub fn unmatched(&self) -> Vec<&'static str> {
        self.mapping.unmatched(self.mapped.load(Ordering::Relaxed))
    }

    /// Reads one unit.
    pub fn read<'a>(&self, unit: &'a [u8]) -> Parsed<'a> {
        settled(self.read_unit(unit))
    }

    fn read_unit<'a>(&self, unit: &'a [u8]) -> Parsed<'a> {
        let mut begin = if unit.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        begin += usize::from(unit.get(begin) == Some(&RECORD_SEPARATOR));
        match next_visible(unit, begin) {
            Some(at) if unit[at] == b'{' => self.read_objects(unit, at),
            Some(at) if unit[at] == b'[' => self.read_array(unit, at),
            Some(at) => self.read_text(unit, at),
            None => Parsed::One(Err(Rejected { byte: 0, reason: "blank".to_owned() })),
        }
    }

    /// Reads an element of a document that is too large to be one unit, as if it were the only one that the document holds.
    pub fn read_element(&self, shell: &Shell, element: &[u8]) -> Parsed<'static> {
        let document = shell.around(element);
        match self.read(&document).into_owned() {
            Parsed::One(outcome) => Parsed::One(outcome.map_err(|rejected| within(rejected, shell))),
            Parsed::Many(items) => Parsed::Many(
                items
                    .into_iter()
                    .map(|item| Item {
                        byte: item.byte.saturating_sub(shell.bytes_before()),
                        outcome: item.outcome.map_err(|rejected| within(rejected, shell)),
                        ..item
                    })
                    .collect(),
            ),
        }
    }

    /// Whether an object is a record or a part of one, and no message of a conversation around it.
    pub fn is_record(object: &[u8]) -> bool {
        if Json::parse(object).is_ok_and(|value| writers::is_chat_line(&value)) {
            return false;
        }
        let is_one = |outcome: &Outcome<'_>| matches!(outcome, Ok(Entry::Record(_) | Entry::Fragment(_)));
        match RecordReader::default().read(object) {
            Parsed::One(outcome) => is_one(&outcome),
            Parsed::Many(items) => items.iter().any(|item| is_one(&item.outcome)),
        }
    }

    /// Reads a row of a table as the object of its cells by the names of their columns. Empty cells are absent; cells
    /// that hold an object or an array in JSON are that.
    pub fn read_row(&self, header: &Header, row: &[u8]) -> Parsed<'static> {
        let cells = match header.cells(row) {
            Ok(cells) => cells,
            Err(reason) => return Parsed::One(Err(Rejected { byte: 0, reason })),
        };
        let is_short = cells.len() < header.names.len();
        if cells.iter().any(|(name, cell)| *name == "schema" && *cell == normal::SCHEMA) {
            let of = |(name, cell): &(&str, String)| {
                Some(((*name).to_owned().into(), normal::value_of_cell(name, cell)?.into_owned()))
            };
            let values = self.to_values(Json::Object(cells.iter().filter_map(of).collect()), b"", 0);
            return settled(self.as_parsed(values, 0));
        }
        let cells = cells.into_iter().filter(|(_, cell)| !cell.is_empty()).map(|(name, cell)| {
            let value = match cell.trim_start().starts_with(['{', '[']) {
                true => Json::parse_text(cell.into()).unwrap_or_else(Json::String).into_owned(),
                false => Json::String(cell.into()),
            };
            // Columns are called in words (`Latency (ms)`), names are not.
            (name.trim_end_matches(')').replace([' ', '('], "_").replace("__", "_").into(), value)
        });
        let mut values = self.to_values(Json::Object(cells.collect()), b"", 0);
        values.note(Note::TableRow);
        if is_short {
            values.note(Note::ShortRow);
        }
        settled(self.as_parsed(values, 0))
    }

    /// A unit that begins with an object: one record, unless more text follows.
    fn read_objects<'a>(&self, unit: &'a [u8], at: usize) -> Parsed<'a> {
        let bytes = &unit[at..];
        let several = match Json::parse_first(bytes) {
            Some((tree, true)) => return self.as_parsed(self.to_values(tree, bytes, at), at),
            Some((_, false)) => true,
            None => scan::scan(bytes, at).is_ok_and(|scan| next_visible(bytes, scan.end).is_some()),
        };
        if several {
            let ranges = split_values(bytes);
            if let Some(whole) = joined(bytes, &ranges) {
                return self.as_parsed(self.to_values(whole, b"", at), at);
            }
            return self.read_items(unit, at, ranges);
        }
        self.as_parsed(self.read_item(bytes, at), at)
    }

    fn read_array<'a>(&self, unit: &'a [u8], at: usize) -> Parsed<'a> {
        let bytes = &unit[at..];
        let scan = scan::scan(bytes, at);
        let is_whole = scan.as_ref().is_ok_and(|scan| next_visible(bytes, scan.end).is_none());
        // A line of a log may begin with a bracket, too: `[pod/api] {...}`, `[2026-11-20] INFO {...}`.
        if !is_whole && let Some(line) = std::str::from_utf8(bytes).ok().and_then(text_line::behind) {
            return self.read_line(line, at);
        }
        match scan {
            Err(error) => Parsed::One(Err(error.into())),
            Ok(_) if !is_whole => self.read_items(unit, at, split_values(bytes)),
            // A tag or a time before what was logged, as Fluent Bit has it.
            Ok(scan)
                if is_tagged(&bytes[..scan.end], &scan.elements)
                    && let Some((tree, _)) = Json::parse_first(bytes) =>
            {
                self.as_parsed(self.to_values(tree, b"", at), at)
            }
            Ok(scan) if scan.elements.is_empty() => {
                Parsed::One(Err(Rejected { byte: at, reason: "not a JSON object but an empty array".to_owned() }))
            }
            Ok(scan) => self.read_items(unit, at, scan.elements),
        }
    }

    /// A unit that does not begin with a bracket.
    fn read_text<'a>(&self, unit: &'a [u8], at: usize) -> Parsed<'a> {
        let bytes = &unit[at..];
        if bytes.contains(&(text_line::ESCAPE as u8))
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return self.read(text_line::without_colours(text).as_bytes()).into_owned();
        }
        match text_line::read(bytes) {
            Some(line) => self.read_line(line, at),
            None => Parsed::One(Err(not_an_object(bytes, at))),
        }
    }

    /// A line of a stream or of a log that holds a value.
    fn read_line<'a>(&self, line: text_line::Line<'a>, at: usize) -> Parsed<'a> {
        let values = match line {
            text_line::Line::Entry(entry) => return Parsed::One(Ok(entry)),
            text_line::Line::Entries(entries) => {
                let of = |entry: Result<Entry<'a>, String>| entry.and_then(|entry| self.tidied(entry));
                let rejected = |reason| Rejected { byte: at, reason };
                Values::Many(entries.into_iter().map(|entry| of(entry).map_err(rejected)).collect())
            }
            text_line::Line::Rejected(reason) => {
                return Parsed::One(Err(Rejected { byte: at, reason: reason.to_owned() }));
            }
            text_line::Line::Joined(whole) => return self.read(whole.as_bytes()).into_owned(),
            text_line::Line::Value(value) => self.to_values(value, b"", at),
            text_line::Line::Behind(prefix, value) => {
                let mut values = self.to_values(value, b"", at);
                values.note(Note::Wrapped);
                values.each(|entry| {
                    if let Entry::Record(record) = entry {
                        text_line::lend(prefix, record);
                    }
                });
                values
            }
            text_line::Line::InString(value) => {
                let mut values = self.to_values(value, b"", at);
                values.note(Note::DoubleEncoded);
                values
            }
        };
        self.as_parsed(values, at)
    }

    /// Reads the values at `ranges`, which count from `base`.
    fn read_items<'a>(&self, unit: &'a [u8], base: usize, ranges: Vec<Range<usize>>) -> Parsed<'a> {
        if ranges.len() > MAX_ITEMS_PER_UNIT {
            return Parsed::One(Err(too_many(base)));
        }
        let mut items: Vec<Item<'a>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            let end = (base + range.end).min(unit.len());
            let byte = next_visible(&unit[..end], base + range.start).unwrap_or(end);
            let outcomes = self.read_item(&unit[byte..end], byte).into_outcomes();
            if items.len() + outcomes.len() > MAX_ITEMS_PER_UNIT {
                return Parsed::One(Err(too_many(base)));
            }
            let next = items.len();
            items.extend((next..).zip(outcomes).map(|(item, outcome)| Item { item: item as u32, byte, outcome }));
        }
        Parsed::Many(items)
    }

    /// What the only value of a unit gave.
    fn as_parsed<'a>(&self, values: Values<'a>, byte: usize) -> Parsed<'a> {
        match values {
            Values::One(outcome) => Parsed::One(outcome),
            Values::Many(outcomes) if outcomes.len() > MAX_ITEMS_PER_UNIT => Parsed::One(Err(too_many(byte))),
            Values::Many(outcomes) => {
                Parsed::Many((0..).zip(outcomes).map(|(item, outcome)| Item { item, byte, outcome }).collect())
            }
        }
    }

    /// Reads bytes that should be one value and nothing else; `base` is their offset in the unit.
    fn read_item<'a>(&self, bytes: &'a [u8], base: usize) -> Values<'a> {
        if !bytes.starts_with(b"{") && !bytes.starts_with(b"[") {
            return Values::One(Err(not_an_object(bytes, base)));
        }
        match Json::parse_first(bytes) {
            Some((tree, true)) => self.to_values(tree, bytes, base),
            _ => self.read_oddities(bytes, base),
        }
    }

    /// Reads an object that is not strict JSON, if its oddities can be read around.
    fn read_oddities<'a>(&self, bytes: &'a [u8], base: usize) -> Values<'a> {
        let scan = match (scan::scan(bytes, base), std::str::from_utf8(bytes)) {
            (Ok(scan), _) => scan,
            (Err(error), text) => {
                let Some(value) = text.ok().and_then(python::parse) else { return Values::One(Err(error.into())) };
                let mut values = self.to_values(value, b"", base);
                values.note(Note::PythonLiteral);
                return values;
            }
        };
        let patched = scan.patched.filter(|_| next_visible(bytes, scan.end).is_none());
        let tree = patched.as_deref().map(Json::parse).and_then(Result::ok).map(Json::into_owned);
        let Some(tree) = tree else {
            let ParseError { byte, reason } = scan::fault(bytes);
            return Values::One(Err(Rejected { byte: byte + base, reason }));
        };
        let mut values = self.to_values(tree, bytes, base);
        let mut problems = Some(scan.problems);
        values.each(|entry| {
            if let Entry::Record(record) = entry {
                record.problems.splice(0..0, problems.take().unwrap_or_default());
            }
        });
        values
    }

    /// Reads a value. `source` is its text, empty where there is none.
    fn to_values<'a>(&self, tree: Json<'a>, source: &[u8], base: usize) -> Values<'a> {
        let is_table = self.writer.is_none() && locate::is_table_by_index(&tree);
        let recognised = if is_table { Err(tree) } else { self.recognised(tree, source, base) };
        let tree = match recognised {
            Ok(values) => return values,
            Err(tree) => tree,
        };
        if let Some(notice) = notices::of(&tree) {
            return Values::One(Ok(notice));
        }
        let reason = match &tree {
            Json::Array(items) if !items.iter().any(|item| matches!(item, Json::Object(_) | Json::Array(_))) => {
                "not a JSON object but an array"
            }
            _ => native::NO_CALL,
        };
        let rejected = || Rejected { byte: base, reason: reason.to_owned() };
        self.located(tree, base).unwrap_or_else(|| Values::One(Err(rejected())))
    }

    /// Reads a value that is a call, or known to hold none; gives any other back.
    fn recognised<'a>(&self, tree: Json<'a>, source: &[u8], base: usize) -> Result<Values<'a>, Json<'a>> {
        let Some(writer) = self.writer.or_else(|| Writer::of(&tree)).filter(|writer| !is_native(writer.container))
        else {
            return self.native(tree, source, base);
        };
        let (mapped, extras) = (self.mapping.find(&tree), self.extras(&tree));
        let mut entries = Entries::default();
        writer.read(tree, &mut entries);
        let rejected = |reason| Rejected { byte: base, reason };
        let tidied =
            |outcome: Result<Entry<'a>, String>| outcome.and_then(|entry| self.tidied(entry)).map_err(rejected);
        let mut outcomes: Vec<Outcome<'a>> = entries.list.into_iter().map(tidied).collect();
        if !mapped.is_empty()
            && let [Ok(Entry::Record(record))] = outcomes.as_mut_slice()
        {
            self.used(bits(&mapped));
            native::overlay(record, mapped);
        }
        for outcome in outcomes.iter_mut().filter(|_| !extras.is_empty()) {
            if let Ok(Entry::Record(record)) = outcome {
                record.extras.clone_from(&extras);
            }
        }
        Ok(match outcomes.len() {
            1 => Values::One(outcomes.remove(0)),
            _ => Values::Many(outcomes),
        })
    }

    fn native<'a>(&self, tree: Json<'a>, source: &[u8], base: usize) -> Result<Values<'a>, Json<'a>> {
        let (mapped, extras) = (self.mapping.find(&tree), self.extras(&tree));
        let used = bits(&mapped);
        let reason = match native::read_call(tree, mapped, source) {
            Ok(mut record) => {
                self.used(used);
                record.extras = extras;
                let entry = self.tidied(Entry::Record(record));
                return Ok(Values::One(entry.map_err(|reason| Rejected { byte: base, reason })));
            }
            // Whoever names the format means the value as it stands.
            Err(Refused::NoCall(_)) if self.writer.is_some() => native::NO_CALL.to_owned(),
            Err(Refused::NoCall(tree)) => return Err(tree),
            Err(Refused::Known(what)) => {
                return Ok(Values::One(Ok(Entry::Ignored(Ignored::skipped(Format::of(Container::PAIR), what)))));
            }
            Err(Refused::Lacking(reason)) => reason,
        };
        Ok(Values::One(Err(Rejected { byte: base, reason })))
    }

    /// Remembers the fields that a record got by the user's map.
    fn used(&self, mapped: u64) {
        if mapped != 0 {
            self.mapped.fetch_or(mapped, Ordering::Relaxed);
        }
    }

    /// What stands somewhere below a value that is no record itself: the shallowest objects that are some.
    fn located<'a>(&self, tree: Json<'a>, base: usize) -> Option<Values<'a>> {
        let budget = packed::Budget::default();
        let mut candidates = locate::candidates(tree, &budget);
        let mut silent = None;
        for _ in 0..=locate::DEPTH_MAX {
            let (mut found, mut others) = (Vec::new(), Vec::new());
            for Candidate { value, place } in candidates {
                // A message below something else is part of a conversation that nobody knows.
                if place.around.is_some() && writers::is_chat_line(&value) {
                    others.push(Candidate { value, place });
                    continue;
                }
                match self.recognised(value, b"", base) {
                    Ok(values) => found.push(Found { values, place }),
                    Err(value) => others.push(Candidate { value, place }),
                }
            }
            // A call of which only model and times are known may have its texts further down.
            match (found.is_empty(), found.iter().all(is_silent), silent.take()) {
                (true, _, before) => silent = before,
                (false, false, before) => {
                    let mut values = lent(found, others);
                    if let Some((before, _)) = before {
                        values.join(lent(before, Vec::new()));
                    }
                    return Some(values);
                }
                (false, true, None) => silent = Some((found, others.clone())),
                (false, true, before) => silent = before,
            }
            candidates = locate::below(others, &budget);
        }
        silent.map(|(found, others)| lent(found, others))
    }

    /// An entry as far as it says something: texts that are placeholders are absent, and what was forced into a container
    /// must hold something.
    fn tidied<'a>(&self, mut entry: Entry<'a>) -> Result<Entry<'a>, String> {
        let Entry::Record(record) = &mut entry else { return Ok(entry) };
        record.tidy();
        if let Some(writer) = self.writer
            && record.is_empty()
        {
            return Err(format!("read as `{}`, it holds nothing to audit", writer.container.as_str()));
        }
        Ok(entry)
    }
}

/// The last look at what a unit gave, when all is there that stands around it. A part of a trace has it when that has ended:
/// the documents that it was given may stand in another unit.
fn settled(mut parsed: Parsed<'_>) -> Parsed<'_> {
    let settle = |outcome: &mut Outcome<'_>| {
        let is_whole = outcome.as_ref().is_ok_and(|entry| !assemble::is_part(entry));
        if let (true, Ok(Entry::Record(record))) = (is_whole, outcome) {
            record.settle();
        }
    };
    match &mut parsed {
        Parsed::One(outcome) => settle(outcome),
        Parsed::Many(items) => items.iter_mut().for_each(|item| settle(&mut item.outcome)),
    }
    parsed
}

fn is_native(container: Container) -> bool {
    container == Container::NATIVE || container == Container::PAIR
}

/// What was found below a value, and where.
struct Found<'a> {
    values: Values<'a>,
    place: Place<'a>,
}

/// Records that were found somewhere below a value, with what stands around them.
fn lent<'a>(found: Vec<Found<'a>>, others: Vec<Candidate<'a>>) -> Values<'a> {
    let mut found = beside(found);
    let is_only = found.len() == 1 && matches!(found[0].values, Values::One(_));
    // Many records may stand in one wrapper, which is asked once.
    let mut places = HashMap::new();
    for Found { values, place } in &mut found {
        if place.around.is_some() {
            values.note(Note::Wrapped);
        }
        values.each(|entry| {
            let Entry::Record(record) = entry else { return };
            let mut at = place.around.as_ref();
            while let Some(around) = at {
                match is_only {
                    true => native::lend(Json::Object(around.entries.clone()), record),
                    false => {
                        let key = Rc::as_ptr(around);
                        let place = places.entry(key).or_insert_with(|| native::place_of(&around.entries));
                        native::lend_place(place, record);
                    }
                }
                at = around.outer.as_ref();
            }
        });
    }
    if is_only && let [Found { values: Values::One(Ok(Entry::Record(record))), place }] = found.as_mut_slice() {
        let others = others.into_iter().filter(|other| other.place.is_beside(place));
        others.for_each(|other| native::lend(other.value, record));
    }
    let mut outcomes: Vec<Outcome<'a>> = Vec::new();
    found.into_iter().for_each(|found| outcomes.extend(found.values.into_outcomes()));
    match outcomes.len() {
        1 => Values::One(outcomes.remove(0)),
        _ => Values::Many(outcomes),
    }
}

/// The fields of a user's map as bits.
fn bits(mapped: &[Mapped<'_>]) -> u64 {
    mapped.iter().fold(0, |bits, mapped| bits | 1 << mapped.field as u64)
}

/// Whether only model, times and counts of a call are known.
fn is_silent(found: &Found<'_>) -> bool {
    match &found.values {
        Values::One(Ok(Entry::Record(record))) => record.notes.has(Note::HealthOnly) && record.error.is_none(),
        _ => false,
    }
}

/// What stands beside a record with texts in the same object, and has none itself, is what is known of it.
fn beside(found: Vec<Found<'_>>) -> Vec<Found<'_>> {
    let with_texts = found.iter().filter(|found| !is_silent(found)).count();
    let Some(at) = found.iter().position(|found| !is_silent(found)).filter(|_| with_texts == 1) else { return found };
    let place = found[at].place.clone();
    let (mut kept, mut silent) = (Vec::new(), Vec::new());
    for one in found {
        if is_silent(&one) && one.place.is_beside(&place) { silent.push(one) } else { kept.push(one) }
    }
    let record = kept.iter_mut().find_map(|found| match &mut found.values {
        Values::One(Ok(Entry::Record(record))) if !record.notes.has(Note::HealthOnly) => Some(record),
        _ => None,
    });
    if let Some(record) = record {
        for Found { values, .. } in silent {
            if let Values::One(Ok(Entry::Record(other))) = values {
                record.fill(other);
                record.notes.remove(Note::HealthOnly);
            }
        }
    }
    kept
}

impl<'a> Values<'a> {
    /// Joins calls without texts that stand further up: a single one is what is known of a single call.
    fn join(&mut self, silent: Values<'a>) {
        match (&mut *self, silent) {
            (Values::One(Ok(Entry::Record(record))), Values::One(Ok(Entry::Record(known)))) => {
                record.fill(known);
                record.notes.remove(Note::HealthOnly);
            }
            (_, silent) => {
                let mut outcomes = silent.into_outcomes();
                outcomes.append(&mut mem::replace(self, Values::Many(Vec::new())).into_outcomes());
                *self = Values::Many(outcomes);
            }
        }
    }

    fn into_outcomes(self) -> Vec<Outcome<'a>> {
        match self {
            Values::One(outcome) => vec![outcome],
            Values::Many(outcomes) => outcomes,
        }
    }

    fn note(&mut self, note: Note) {
        self.each(|entry| {
            if let Entry::Record(record) = entry {
                record.notes.add(note);
            }
        });
    }

    fn each(&mut self, act: impl FnMut(&mut Entry<'a>)) {
        match self {
            Values::One(outcome) => outcome.iter_mut().for_each(act),
            Values::Many(outcomes) => outcomes.iter_mut().flatten().for_each(act),
        }
    }
}

impl Parsed<'_> {
    fn into_owned(self) -> Parsed<'static> {
        match self {
            Parsed::One(outcome) => Parsed::One(outcome.map(Entry::into_owned)),
            Parsed::Many(items) => Parsed::Many(
                items
                    .into_iter()
                    .map(|Item { item, byte, outcome }| Item { item, byte, outcome: outcome.map(Entry::into_owned) })
                    .collect(),
            ),
        }
    }
}

/// The line that Docker has cut into pieces, each in an object of its own: one object with all of it.
fn joined(bytes: &[u8], ranges: &[Range<usize>]) -> Option<Json<'static>> {
    const KEY: &str = "log";
    if !bytes.starts_with(b"{\"log\":\"") {
        return None;
    }
    let (mut whole, mut text) = (Json::Null, String::new());
    for range in ranges {
        whole = Json::parse(&bytes[range.clone()]).ok()?;
        text.push_str(whole.get(KEY)?.as_str()?);
    }
    Json::parse(text.as_bytes()).ok()?;
    let Json::Object(mut entries) = whole.into_owned() else { return None };
    entries.iter_mut().find(|(key, _)| key == KEY)?.1 = Json::String(text.into());
    Some(Json::Object(entries))
}

/// Whether an array begins with a scalar and holds an object or an array behind it.
fn is_tagged(bytes: &[u8], elements: &[Range<usize>]) -> bool {
    let opens = |range: &Range<usize>| {
        let first = next_visible(&bytes[..range.end], range.start).map(|at| bytes[at]);
        matches!(first, Some(b'{' | b'['))
    };
    let is_pair_with_time = |range: &Range<usize>| bytes[range.clone()].trim_ascii().ends_with(b"{}]");
    match elements {
        [first, rest @ ..] => (!opens(first) || is_pair_with_time(first)) && rest.iter().any(opens),
        [] => false,
    }
}

/// The fault of an element, which counts from the document around it.
fn within(rejected: Rejected, shell: &Shell) -> Rejected {
    Rejected { byte: rejected.byte.saturating_sub(shell.bytes_before()), ..rejected }
}

fn too_many(byte: usize) -> Rejected {
    Rejected { byte, reason: format!("holds more than {MAX_ITEMS_PER_UNIT} values (max_items_per_unit)") }
}

/// Why bytes that do not begin with `{` are not a record.
fn not_an_object(bytes: &[u8], base: usize) -> Rejected {
    let reason = match (Json::parse(bytes), bytes.first()) {
        (Ok(value), _) => format!("not a JSON object but {}", value.type_name()),
        (Err(_), Some(0)) => "begins with a NUL byte".to_owned(),
        (Err(_), Some(0xfe | 0xff)) => "not UTF-8 but, it seems, UTF-16".to_owned(),
        (Err(_), _) => "not a JSON object but text".to_owned(),
    };
    Rejected { byte: base, reason }
}

#[cfg(test)]
mod assembled;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::borrow::Cow;

    use super::*;
    use crate::record::Record;
    use crate::record::{Kind, Problem, json::tests::values};

    const NATIVE: &str = include_str!("../../../../fixtures/records/native.jsonl");
    const TOOLS: &str = include_str!("../../../../fixtures/records/tools.jsonl");
    const ODD: &[u8] = include_bytes!("../../../../fixtures/records/odd.jsonl");
    const BROKEN: &[u8] = include_bytes!("../../../../fixtures/records/broken.jsonl");

    fn read(unit: &[u8]) -> Parsed<'_> {
        RecordReader::default().read(unit)
    }

    fn one(unit: &[u8]) -> Result<Record<'_>, Rejected> {
        match read(unit) {
            Parsed::One(outcome) => outcome.map(|entry| entry.record().unwrap()),
            Parsed::Many(items) => panic!("{items:?}"),
        }
    }

    fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
    }

    #[test]
    fn fixtures_read_without_problems() {
        let records: Vec<Record<'_>> =
            NATIVE.lines().chain(TOOLS.lines()).map(|line| one(line.as_bytes()).unwrap()).collect();
        assert!(records.iter().all(|record| record.problems.is_empty()));
        let kinds: Vec<Kind> = records.iter().map(|record| record.kind).collect();
        assert_eq!(kinds, [[Kind::Llm; 5].as_slice(), &[Kind::Tool; 4], &[Kind::Feedback]].concat());
        let latencies: Vec<Option<f64>> =
            records.iter().map(|record| record.latency_ms.or(record.execution_time_ms)).collect();
        assert_eq!(
            latencies,
            [
                Some(812.5),
                Some(640.0),
                Some(710.0),
                None,
                Some(30000.0),
                Some(312.4),
                Some(201.0),
                Some(3.0),
                Some(18.0),
                None
            ]
        );
        assert!(records.iter().all(|record| record.clone().into_owned() == *record));
    }

    #[test]
    fn text_without_escapes_is_borrowed() {
        let record = one(NATIVE.lines().next().unwrap().as_bytes()).unwrap();
        assert!(matches!(
            (record.response, record.id, record.model),
            (Some(Cow::Borrowed("Oslo.")), Some(Cow::Borrowed(_)), Some(Cow::Borrowed(_)))
        ));
    }

    #[test]
    fn oddities_are_read_with_a_note() {
        let records: Vec<Record<'_>> = lines(ODD).map(|line| one(line).unwrap()).collect();
        let notes: Vec<(&str, &str)> = records
            .iter()
            .flat_map(|record| &record.problems)
            .map(|problem| (problem.field.as_str(), problem.reason.as_str()))
            .collect();
        assert_eq!(
            notes,
            [
                ("/latency_ms", "NaN or Infinity at byte 52 is read as missing"),
                ("/prompt", "half of a surrogate pair at byte 25 is read as U+FFFD"),
                ("/prompt", "text that is not UTF-8 at byte 24 is read as U+FFFD"),
                ("/latency_ms", "a number beyond the range of 64-bit floats at byte 52 is read as missing"),
                ("/result/values/1", "NaN or Infinity at byte 44 (and 1 more) is read as missing"),
            ]
        );
        assert_eq!(records[0].latency_ms, None);
        assert_eq!(records[1].prompt.texts().next(), Some((None, "cut \u{fffd} short")));
        assert_eq!(records[2].prompt.texts().next(), Some((None, "caf\u{fffd}")));
        assert_eq!(records[4].result.as_ref().unwrap().to_compact_string(), r#"{"values":[1,null,null]}"#);
    }

    #[test]
    fn json_with_an_apostrophe_is_no_literal_of_python() {
        for (unit, expected) in [
            (r#"{"prompt":"it's","latency_ms":NaN}"#, &["NaN or Infinity at byte 30 is read as missing"][..]),
            (r#"{"prompt":"it's \ud83d"}"#, &["half of a surrogate pair at byte 16 is read as U+FFFD"]),
            (r#"{'prompt': "it's", 'latency_ms': nan}"#, &[]),
        ] {
            let record = one(unit.as_bytes()).unwrap();
            let reasons: Vec<&str> = record.problems.iter().map(|problem| problem.reason.as_str()).collect();
            assert_eq!(reasons, expected, "{unit}");
            assert_eq!(record.notes.has(Note::PythonLiteral), expected.is_empty(), "{unit}");
            assert_eq!(record.latency_ms, None);
        }
    }

    #[test]
    fn broken_lines_say_where_and_why() {
        let rejected: Vec<(usize, String)> = lines(BROKEN)
            .map(|line| match read(line) {
                Parsed::One(Err(Rejected { byte, reason })) => (byte, reason),
                Parsed::Many(items) => {
                    let Rejected { byte, reason } = items[0].outcome.clone().unwrap_err();
                    (byte, format!("item 0: {reason}"))
                }
                Parsed::One(Ok(entry)) => panic!("{entry:?}"),
            })
            .collect();
        let expected = [
            (28, "ends inside of an object"),
            (27, "ends inside of a string"),
            (14, "duplicate key `prompt`"),
            (1, "expected a key in double quotes, found a single quote"),
            (14, "expected a key in double quotes, found `}`"),
            (12, "a NUL byte inside of a string"),
            (0, "begins with a NUL byte"),
            (1, "item 0: not a JSON object but a number"),
            (0, "not a JSON object but an empty array"),
            (0, "not a JSON object but a string"),
            (0, "not a JSON object but a number"),
            (0, "not a JSON object but null"),
            (0, "not a JSON object but text"),
            (0, native::NO_CALL),
            (0, native::NO_CALL),
        ];
        assert_eq!(rejected, expected.map(|(byte, reason)| (byte, reason.to_owned())));
    }

    #[test]
    fn faults_are_named() {
        let check = |unit: &[u8], byte: usize, reason: &str| {
            assert_eq!(one(unit), Err(Rejected { byte, reason: reason.to_owned() }), "{}", unit.escape_ascii());
        };
        check(b"", 0, "blank");
        check(b" \t ", 0, "blank");
        check(b"true", 0, "not a JSON object but a boolean");
        check(b"\xff\xfe{\0", 0, "not UTF-8 but, it seems, UTF-16");
        check(b"{\"a\"", 4, "ends inside of an object");
        check(b"{\"a\":", 5, "ends inside of an object");
        check(b"{\"a\":[1", 7, "ends inside of an array");
        check(b"{\"a\":[1,", 8, "ends inside of an array");
        check(b"{\"a\":\"\\", 7, "ends inside of a string");
        check(b"{\"a\":\"\\u12", 10, "ends inside of a string");
        check(b"{\"a\":\"\\ud83d\\u", 14, "ends inside of a string");
        check(b"{\"a\":-", 6, "ends inside of a number");
        check(b"{\"a\":tr", 7, "ends inside of a word");
        check(b"{\"a\" 1}", 5, "expected `:` after a key, found a number");
        check(b"{\"a\":}", 5, "expected a value, found `}`");
        check(b"{\"a\":True}", 5, "expected a value, found a letter");
        check(b"{\"a\":1 \"b\":2}", 7, "expected `,` or `}`, found a string");
        check(b"{\"a\":[1 2]}", 8, "expected `,` or `]`, found a number");
        check(b"{\"a\":[1,]}", 8, "expected a value, found `]`");
        check(b"{\"a\":01}", 5, "a number with a leading zero");
        check(b"{\"a\":1.}", 5, "a number that breaks off");
        check(b"{\"a\":\"\\x\"}", 6, "an escape that JSON does not know");
        check(b"{\"a\":\"\\u12g4\"}", 6, "an escape without its four hexadecimal digits");
        check(b"{\"a\":\"\t\"}", 6, "a control character inside of a string (it must be escaped)");
        check(b"{\"a\":{\"b\":1,\"\\u0062\":2}}", 12, "duplicate key `b`");
        check(b"{\"a\":NaN,\"a\":1}", 9, "duplicate key `a`");
        check("{\"é\":1,\"é\":1}".as_bytes(), 8, "duplicate key `é`");
        check(b"[{\"a\":1},]", 9, "expected a value, found `]`");
        check(
            format!("{{\"{0}\":1,\"{0}\":1}}", "k\u{1}".repeat(30).replace('\u{1}', "\\u0007")).as_bytes(),
            216,
            &format!("duplicate key `{}…`", "k\u{fffd}".repeat(20)),
        );
        let deep = [b"{\"a\":".repeat(200), b"1".to_vec(), b"}".repeat(200)].concat();
        check(&deep, 127 * 5, "nested more than 127 levels deep");
    }

    #[test]
    fn several_values_are_items_with_their_places() {
        let check = |unit: &[u8], expected: &[(usize, &str)]| {
            let Parsed::Many(items) = read(unit) else { panic!("{}", unit.escape_ascii()) };
            let shown = items.into_iter().enumerate().map(|(position, Item { item, byte, outcome })| {
                assert_eq!(item as usize, position);
                let outcome = outcome.map(|entry| entry.record().unwrap().id.unwrap_or_default().into_owned());
                (byte, outcome.unwrap_or_else(|Rejected { byte, reason }| format!("{reason} at {byte}")))
            });
            let expected: Vec<(usize, String)> =
                expected.iter().map(|(byte, shown)| (*byte, (*shown).to_owned())).collect();
            assert_eq!(shown.collect::<Vec<_>>(), expected, "{}", unit.escape_ascii());
        };
        check(br#"{"id":"a","prompt":""}{"id":"b","prompt":""}"#, &[(0, "a"), (22, "b")]);
        check(br#" {"id":"a","prompt":""} {"id":"}"#, &[(1, "a"), (24, "ends inside of a string at 32")]);
        check(br#"{"id":"a","error":NaN,"prompt":""}{"id":"b","prompt":""}"#, &[(0, "a"), (34, "b")]);
        check(br#"{"id":"a","prompt":""} junk"#, &[(0, "a"), (23, "not a JSON object but text at 23")]);
        check(b"\xef\xbb\xbf[{\"id\":\"a\",\"prompt\":\"\"}]", &[(4, "a")]);
        check(
            br#"[{"id":"a","prompt":""}, {"id":"b","error":NaN,"prompt":""},3,[]]"#,
            &[
                (1, "a"),
                (25, "b"),
                (60, "not a JSON object but a number at 60"),
                (62, "not a JSON object but an array at 62"),
            ],
        );
    }

    #[test]
    fn pieces_of_a_line_are_put_together() {
        let piece = |text: &str| {
            serde_json::json!({"log": text, "stream": "stdout", "time": "2026-11-20T15:06:00Z"}).to_string()
        };
        let line = r#"{"prompt":"p","response":"r"}"#;
        let unit = format!("{}\n{}", piece(&line[..9]), piece(&format!("{}\n", &line[9..])));
        let record = one(unit.as_bytes()).unwrap();
        assert_eq!((record.response.as_deref(), record.timestamp_ms), (Some("r"), Some(1_795_187_160_000)));
        // Lines that are whole are records by themselves.
        assert!(matches!(read(format!("{0}\n{0}", piece(line)).as_bytes()), Parsed::Many(items) if items.len() == 2));
    }

    #[test]
    fn a_short_row_is_noted() {
        let header = Header::of_line(b"prompt,response,model", None).unwrap();
        for (row, is_short) in [(&b"p,r,m"[..], false), (b"p,r,", false), (b"p,r", true), (b"p", true)] {
            let Parsed::One(Ok(Entry::Record(record))) = RecordReader::default().read_row(&header, row) else {
                panic!()
            };
            assert_eq!(record.notes.has(Note::ShortRow), is_short, "{}", row.escape_ascii());
        }
    }

    #[test]
    fn notes_count_from_the_unit() {
        let Parsed::Many(items) = read(br#"[{"prompt":"p"},{"prompt":"p","latency_ms":NaN}]"#) else { panic!() };
        let note = Problem {
            field: "/latency_ms".to_owned(),
            reason: "NaN or Infinity at byte 43 is read as missing".to_owned(),
        };
        assert_eq!(items[1].outcome.as_ref().unwrap().as_record().unwrap().problems, [note]);
    }

    #[test]
    fn a_unit_holds_a_bounded_number_of_items() {
        let array = |items: usize| format!("[{}1]", "1,".repeat(items - 1)).into_bytes();
        assert!(matches!(read(&array(MAX_ITEMS_PER_UNIT)), Parsed::Many(_)));
        assert!(one(&array(MAX_ITEMS_PER_UNIT + 1)).unwrap_err().reason.contains("max_items_per_unit"));
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        assert!(one(b"\xef\xbb\xbf{\"prompt\":\"p\"}").is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_outcome(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            read(&bytes);
        }

        /// Bytes that are nearly JSON reach further into the code.
        #[test]
        fn damaged_records_give_an_outcome_inside_of_the_unit(line in 0usize..10, at in any::<prop::sample::Index>(), with in prop::collection::vec(any::<u8>(), 0..4), cut in 0usize..4) {
            let line = NATIVE.lines().chain(TOOLS.lines()).nth(line).unwrap().as_bytes();
            let at = at.index(line.len());
            let unit = [&line[..at], &with, &line[(at + cut).min(line.len())..]].concat();
            match read(&unit) {
                Parsed::One(Err(rejected)) => prop_assert!(rejected.byte <= unit.len()),
                Parsed::One(Ok(_)) => {}
                Parsed::Many(items) => for item in items {
                    prop_assert!(item.byte <= unit.len());
                    prop_assert!(item.outcome.map_or_else(|rejected| rejected.byte, |_| 0) <= unit.len());
                }
            }
        }

        /// The scanner may be kinder than the parser, by its four oddities, but never stricter.
        #[test]
        fn the_scanner_accepts_what_the_parser_accepts(value in values()) {
            let text = value.to_string();
            let scan = scan::scan(text.as_bytes(), 0).unwrap();
            prop_assert_eq!((scan.end, scan.patched, scan.problems.len()), (text.len(), None, 0));
        }

        /// What the scanner accepts parses once it is patched, and what it refuses the parser refuses.
        #[test]
        fn patched_text_is_strict_json(text in r#"[\[\]{}",:0-9.eE\\u\-NaInfity é]{0,40}"#) {
            match scan::scan(text.as_bytes(), 0) {
                Ok(scan) => {
                    let patched = scan.patched.unwrap_or_else(|| text.as_bytes()[..scan.end].to_vec());
                    prop_assert!(Json::parse_first(&patched).is_some_and(|(_, whole)| whole), "{}", patched.escape_ascii());
                }
                Err(_) => prop_assert!(Json::parse_first(text.as_bytes()).is_none()),
            }
        }

        #[test]
        fn any_object_is_read_or_refused_alike_when_owned(value in values()) {
            let unit = serde_json::json!({ "prompt": value, "response": value, "context": value, "args": value, "usage": value, "id": value, "timestamp": value, "tool": value }).to_string();
            if let Parsed::One(Ok(Entry::Record(record))) = read(unit.as_bytes()) {
                prop_assert_eq!(&record.clone().into_owned(), &record);
                prop_assert!(record.latency_ms.is_none_or(|ms| ms >= 0.0));
            }
        }
    }
}
