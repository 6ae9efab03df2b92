//! Unit → [`Record`] or [`Rejected`], by the dialects beside this file.
//!
//! A unit is parsed strictly first, borrowing its text. Only what the strict parser refuses goes through the slower
//! `scan`, which names the fault or reads around the oddities of real writers (`NaN`, broken UTF-8), with a note.
//! A unit that holds several values, an array of them, or a document with many records gives as many items. What a value
//! was written by is [detected](super::detect) for each by itself. What nobody knows is looked into: a list below one key
//! ([`wrapped`]), a record in a string, a line of a stream.
//!
//! **Limits**: [`MAX_ITEMS_PER_UNIT`] items; a unit that breaks in its first value, or an array that breaks anywhere,
//! is rejected as a whole, since nobody knows where the next record begins.

use std::ops::Range;

use super::{
    Container, Format, Note, Prompt, Record,
    detect::detect,
    envelope::{self, Entries, wrapped},
    json::{Json, ParseError},
    mapping::Mapping,
    native, passages,
    scan::{self, next_visible},
    text_line,
};
use crate::input::{Header, framing::split_values};

/// Records that one unit may hold; a unit with more is rejected, so that its size bounds the memory that it takes.
pub const MAX_ITEMS_PER_UNIT: usize = 65_536;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Wrappings that are taken off a value: a list below a key, a record in a string.
const MAX_WRAPPINGS: usize = 2;

/// Texts with which gateways and SDKs replace what they were told not to log.
const PLACEHOLDERS: [&str; 9] = [
    "redacted-by-litellm",
    "[REDACTED]",
    "<REDACTED>",
    "REDACTED",
    "[redacted]",
    "<redacted>",
    "redacted",
    "<redacted by OpenTelemetry>",
    "[Filtered]",
];

/// Reads units into records. Cheap to share between threads.
#[derive(Clone, Debug, Default)]
pub struct RecordReader {
    mapping: Mapping,
    container: Option<Container>,
}

/// What one value gave.
#[expect(clippy::large_enum_variant, reason = "one entry per value is the rule, and should cost no allocation")]
enum Values<'a> {
    One(Result<Entry<'a>, Rejected>),
    Many(Vec<Result<Entry<'a>, Rejected>>),
}

/// What a unit turned out to be.
#[expect(clippy::large_enum_variant, reason = "one record per unit is the rule, and should cost no allocation")]
#[derive(Debug, PartialEq)]
pub enum Parsed<'a> {
    /// One record, as a rule.
    One(Result<Entry<'a>, Rejected>),
    /// Several values on one line, an array of them, or a document that holds many.
    Many(Vec<Item<'a>>),
}

/// What was read.
#[expect(clippy::large_enum_variant, reason = "a record is the rule, and should cost no allocation")]
#[derive(Clone, Debug, PartialEq)]
pub enum Entry<'a> {
    /// A record.
    Record(Record<'a>),
    /// A part of a record whose other parts stand in other units.
    Piece(Piece<'a>),
    /// Recognised, and known to hold no call of its own.
    Aside(Aside),
}

impl<'a> Entry<'a> {
    /// The record, when this is one.
    pub fn record(self) -> Option<Record<'a>> {
        if let Entry::Record(record) = self { Some(record) } else { None }
    }

    /// The record, borrowed, when this is one.
    pub fn as_record(&self) -> Option<&Record<'a>> {
        if let Entry::Record(record) = self { Some(record) } else { None }
    }
}

/// A value that is a part of a record: a chunk of a stream, half of a pair, a line of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece<'a> {
    /// What it was written by.
    pub format: Format,
    /// The value. A line of a desktop client's MCP log, which is no JSON, comes as an object of `timestamp`, `server`,
    /// `direction` (`client` or `server`: who sent it) and `message`.
    pub value: Json<'a>,
}

impl Piece<'_> {
    /// The same piece, owning its text.
    pub fn into_owned(self) -> Piece<'static> {
        Piece { format: self.format, value: self.value.into_owned() }
    }
}

/// A value that holds no call of its own, and is counted by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aside {
    /// What it was written by.
    pub format: Format,
    /// What it is, as a noun ("a span of a framework").
    pub what: &'static str,
    /// Whether it repeats what its children say; it is counted as `parent` then, else as `skipped`.
    pub is_parent: bool,
}

/// One of several values of a unit.
#[derive(Debug, PartialEq)]
pub struct Item<'a> {
    /// Its position, from 0.
    pub item: u32,
    /// Offset of its first byte in the unit.
    pub byte: usize,
    /// What it holds.
    pub outcome: Result<Entry<'a>, Rejected>,
}

/// A unit, or a part of one, that is not a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Offset of the fault in the unit (not in the item).
    pub byte: usize,
    /// What is wrong, as a clause; shows no text of the record beyond names of keys.
    pub reason: String,
}

impl From<ParseError> for Rejected {
    fn from(ParseError { byte, reason }: ParseError) -> Rejected {
        Rejected { byte, reason }
    }
}

impl RecordReader {
    /// A reader that looks for fields where `mapping` says, and under their usual names.
    pub fn new(mapping: Mapping) -> RecordReader {
        RecordReader { mapping, container: None }
    }

    /// Takes every value for one of `container`, whatever it looks like.
    #[must_use]
    pub fn with_container(self, container: Option<Container>) -> RecordReader {
        RecordReader { container, ..self }
    }

    /// Reads one unit.
    pub fn read<'a>(&self, unit: &'a [u8]) -> Parsed<'a> {
        let begin = if unit.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        match next_visible(unit, begin) {
            Some(at) if unit[at] == b'{' => self.read_objects(unit, at),
            Some(at) if unit[at] == b'[' => self.read_array(unit, at),
            Some(at) => self.read_text(&unit[at..], at),
            None => Parsed::One(Err(Rejected { byte: 0, reason: "blank".to_owned() })),
        }
    }

    /// Reads a tree that was put together from several units: a body, or a pair of bodies.
    ///
    /// # Errors
    /// When it is no record.
    pub fn read_tree(&self, tree: Json<'static>) -> Result<Entry<'static>, Rejected> {
        if detect(&tree) == Container::Bare {
            // What is left of a stream that breaks off is a part no more.
            let entry = envelope::read_body(tree).and_then(|entry| self.settled(entry));
            return entry.map_err(|reason| Rejected { byte: 0, reason });
        }
        match self.to_values(tree, b"", 0, 0) {
            Values::One(outcome) => outcome,
            Values::Many(outcomes) => outcomes.into_iter().next().unwrap_or_else(|| Err(too_many(0))),
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
        let cells = cells.into_iter().filter(|(_, cell)| !cell.is_empty()).map(|(name, cell)| {
            let value = match cell.trim_start().starts_with(['{', '[']) {
                true => Json::parse_text(cell.into()).unwrap_or_else(Json::String).into_owned(),
                false => Json::String(cell.into()),
            };
            // Columns are called in words (`Latency (ms)`), names are not.
            (name.trim_end_matches(')').replace([' ', '('], "_").replace("__", "_").into(), value)
        });
        let mut values = self.to_values(Json::Object(cells.collect()), b"", 0, 0);
        values.note(Note::TableRow);
        if is_short {
            values.note(Note::ShortRow);
        }
        self.as_parsed(values, 0)
    }

    /// A unit that begins with an object: one record, unless more text follows.
    fn read_objects<'a>(&self, unit: &'a [u8], at: usize) -> Parsed<'a> {
        let bytes = &unit[at..];
        let several = match Json::parse_first(bytes) {
            Some((tree, true)) => return self.as_parsed(self.to_values(tree, bytes, at, 0), at),
            Some((_, false)) => true,
            None => scan::scan(bytes, at).is_ok_and(|scan| next_visible(bytes, scan.end).is_some()),
        };
        if several {
            return self.read_items(unit, at, split_values(bytes));
        }
        self.as_parsed(self.read_item(bytes, at), at)
    }

    fn read_array<'a>(&self, unit: &'a [u8], at: usize) -> Parsed<'a> {
        let bytes = &unit[at..];
        match scan::scan(bytes, at) {
            Err(error) => Parsed::One(Err(error.into())),
            Ok(scan) if next_visible(bytes, scan.end).is_some() => self.read_items(unit, at, split_values(bytes)),
            Ok(scan) if scan.elements.is_empty() => {
                Parsed::One(Err(Rejected { byte: at, reason: "not a JSON object but an empty array".to_owned() }))
            }
            Ok(scan) => self.read_items(unit, at, scan.elements),
        }
    }

    /// A unit that does not begin with a bracket: a line of a stream or of a log that holds a value, or JSON in a string.
    fn read_text<'a>(&self, bytes: &'a [u8], at: usize) -> Parsed<'a> {
        match text_line::read(bytes) {
            Some(text_line::Line::Entry(entry)) => Parsed::One(Ok(entry)),
            Some(text_line::Line::Value(value)) => self.as_parsed(self.to_values(value, b"", at, 0), at),
            Some(text_line::Line::InString(value)) => {
                let mut values = self.to_values(value, b"", at, 1);
                values.note(Note::DoubleEncoded);
                self.as_parsed(values, at)
            }
            Some(text_line::Line::Rejected(reason)) => {
                Parsed::One(Err(Rejected { byte: at, reason: reason.to_owned() }))
            }
            None => Parsed::One(Err(not_an_object(bytes, at))),
        }
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
            let outcomes = match self.read_item(&unit[byte..end], byte) {
                Values::One(outcome) => vec![outcome],
                Values::Many(outcomes) => outcomes,
            };
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

    /// Reads bytes that should be one object and nothing else; `base` is their offset in the unit.
    fn read_item<'a>(&self, bytes: &'a [u8], base: usize) -> Values<'a> {
        if !bytes.starts_with(b"{") {
            return Values::One(Err(not_an_object(bytes, base)));
        }
        match Json::parse_first(bytes) {
            Some((tree, true)) => self.to_values(tree, bytes, base, 0),
            _ => self.read_oddities(bytes, base),
        }
    }

    /// Reads an object that is not strict JSON, if its oddities can be read around.
    fn read_oddities<'a>(&self, bytes: &'a [u8], base: usize) -> Values<'a> {
        let scan = match scan::scan(bytes, base) {
            Ok(scan) => scan,
            Err(error) => return Values::One(Err(error.into())),
        };
        let patched = scan.patched.filter(|_| next_visible(bytes, scan.end).is_none());
        let tree = patched.as_deref().map(Json::parse).and_then(Result::ok).map(Json::into_owned);
        let Some(tree) = tree else {
            let ParseError { byte, reason } = scan::fault(bytes);
            return Values::One(Err(Rejected { byte: byte + base, reason }));
        };
        let mut values = self.to_values(tree, bytes, base, 0);
        let mut problems = Some(scan.problems);
        values.each(|entry| {
            if let Entry::Record(record) = entry {
                record.problems.splice(0..0, problems.take().unwrap_or_default());
            }
        });
        values
    }

    /// Reads a value, from which `wrappings` were taken off already. `source` is its text, empty where there is none.
    fn to_values<'a>(&self, tree: Json<'a>, source: &'a [u8], base: usize, wrappings: usize) -> Values<'a> {
        let container = self.container.unwrap_or_else(|| detect(&tree));
        if matches!(container, Container::Native | Container::Pair) {
            return self.read_native(tree, source, base, wrappings);
        }
        let mapped = self.mapping.find(&tree);
        let mut entries = Entries::default();
        envelope::read(container, tree, &mut entries);
        let mut values: Vec<Result<Entry<'a>, Rejected>> = Vec::with_capacity(entries.list.len());
        for outcome in entries.list {
            values
                .push(outcome.and_then(|entry| self.settled(entry)).map_err(|reason| Rejected { byte: base, reason }));
        }
        if !mapped.is_empty()
            && let [Ok(Entry::Record(record))] = values.as_mut_slice()
        {
            native::overlay(record, mapped);
        }
        match values.len() {
            1 => Values::One(values.pop().unwrap_or_else(|| Err(Rejected { byte: base, reason: "empty".to_owned() }))),
            _ => Values::Many(values),
        }
    }

    fn read_native<'a>(&self, tree: Json<'a>, source: &'a [u8], base: usize, wrappings: usize) -> Values<'a> {
        let may_be_wrapped = wrappings < MAX_WRAPPINGS && self.container.is_none();
        // Without its text a value cannot be parsed again, so it is looked at before.
        if source.is_empty() && may_be_wrapped && native::is_stranger(&tree, &self.mapping) {
            return match self.unwrapped(tree, base, wrappings) {
                Ok(values) => values,
                Err(tree) => self.read_own(tree, source, base),
            };
        }
        let values = self.read_own(tree, source, base);
        if !may_be_wrapped || !matches!(values, Values::One(Err(_))) {
            return values;
        }
        let inner = Json::parse_first(source).map(|(tree, _)| self.unwrapped(tree, base, wrappings));
        inner.and_then(Result::ok).unwrap_or(values)
    }

    fn read_own<'a>(&self, tree: Json<'a>, source: &[u8], base: usize) -> Values<'a> {
        let record = native::read(tree, &self.mapping, source).map(Entry::Record);
        let entry = record.and_then(|entry| self.settled(entry));
        Values::One(entry.map_err(|reason| Rejected { byte: base, reason }))
    }

    /// What stands below a key of a value that is no record itself; gives the value back when nothing does.
    fn unwrapped<'a>(&self, tree: Json<'a>, base: usize, wrappings: usize) -> Result<Values<'a>, Json<'a>> {
        let mut values = match wrapped::line(&tree) {
            Some(line) => self.to_values(line, b"", base, wrappings + 1),
            None => {
                let list = wrapped::list(tree)?;
                let mut outcomes = Vec::with_capacity(list.len());
                for value in list {
                    match self.to_values(value, b"", base, wrappings + 1) {
                        Values::One(outcome) => outcomes.push(outcome),
                        Values::Many(inner) => outcomes.extend(inner),
                    }
                }
                Values::Many(outcomes)
            }
        };
        values.note(Note::Wrapped);
        Ok(values)
    }

    /// The last look at an entry: texts that are placeholders are absent, and what was forced into a container must
    /// hold something.
    fn settled<'a>(&self, mut entry: Entry<'a>) -> Result<Entry<'a>, String> {
        let Entry::Record(record) = &mut entry else { return Ok(entry) };
        drop_placeholders(record);
        passages::cut(record);
        if let Some(container) = self.container
            && is_empty(record)
        {
            return Err(format!("read as `{}`, it holds nothing to audit", container.as_str()));
        }
        Ok(entry)
    }
}

impl<'a> Values<'a> {
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

/// Texts that somebody put in the place of what must not be logged say nothing; they are absent, which is noted.
fn drop_placeholders(record: &mut Record<'_>) {
    let is_placeholder = |text: &str| text.len() <= 32 && PLACEHOLDERS.contains(&text.trim());
    let mut is_redacted = false;
    if record.response.as_deref().is_some_and(is_placeholder) {
        (record.response, is_redacted) = (None, true);
    }
    match &mut record.prompt {
        Prompt::Text(text) if is_placeholder(text) => (record.prompt, is_redacted) = (Prompt::Absent, true),
        Prompt::Messages(messages) => {
            let before = messages.len();
            messages.retain(|message| !is_placeholder(&message.text));
            if messages.len() < before {
                is_redacted = true;
                if messages.is_empty() {
                    record.prompt = Prompt::Absent;
                }
            }
        }
        _ => {}
    }
    if record.system.as_deref().is_some_and(is_placeholder) {
        (record.system, is_redacted) = (None, true);
    }
    if is_redacted {
        record.notes.add(Note::Redacted);
    }
}

fn is_empty(record: &Record<'_>) -> bool {
    record.prompt.is_absent()
        && record.response.is_none()
        && record.error.is_none()
        && record.latency_ms.is_none()
        && record.execution_time_ms.is_none()
        && record.prompt_tokens.is_none()
        && record.tool_calls.is_empty()
        && record.args.is_none()
        && record.result.is_none()
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
mod tests {
    use proptest::prelude::*;

    use super::*;
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
        use std::borrow::Cow;
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
            (0, "no known field; map yours with --map"),
            (
                0,
                "none of `prompt`, `response`, `error`, `latency_ms`, `ttft_ms`, `prompt_tokens`, `response_tokens`; map yours with --map",
            ),
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
