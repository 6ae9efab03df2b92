//! Bytes → units, with exact lines and byte offsets, in one pass and in bounded memory.
//!
//! How a source is framed is decided at its first byte that is not blank, and stays so to its end:
//!
//! - **Lines**: a unit is a line. So when the first line holds a whole JSON object, breaks off inside of a string, or
//!   does not begin with a bracket (which makes text logs one rejected unit per line).
//! - **Values**: a unit is a JSON object, or an element of a top-level array, however many lines it takes. So when the
//!   first line begins an object that can go on in the next line, or an array (of objects or arrays, or one that
//!   goes on in the next line). White space and commas separate values; text between them is a unit to the end of its
//!   line, a scalar in an array is a unit too, and an empty array holds none.
//!
//! - **Rows**: a unit is a row of a table, whose first line is the [header](super::header). So when the source is called
//!   `.csv` or `.tsv`, or the first line has names that logs have. A row goes on in the next line inside of quotes.
//!
//! A unit begins and ends with a byte that is not blank. Blank lines between units are counted and are no units.
//!
//! A value that cannot go on (a bracket that does not match, a line break inside of a string, a value where a key must
//! stand) is rejected from its first byte, and framing goes on at the next line after that byte which begins with `{`
//! or `[`, indented no deeper than the rejected value: one truncated object does not swallow its neighbours.
//!
//! **Limits**: a unit above `max_record_bytes` is skipped in constant memory and rejected by name, one nested deeper
//! than [`MAX_DEPTH`] too; both go on from where they broke. A batch holds at most [`MAX_UNITS_PER_BATCH`] units. Going
//! back is linear, too: see [`Framer::work`]. An array that is cut between two elements is not told from a complete one.
//! A stream of values whose first one is a whole object on one line is framed as lines.

use std::{ops::Range, sync::Arc};

use memchr::{memchr, memchr2};

pub use super::scanner::MAX_DEPTH;
use super::{
    Content, Cut, Header, Unit,
    scanner::{NOT_FIRST, Outcome, Scanner, is_blank},
};

/// Units in one batch at most; bounds the memory of a batch of very short units.
pub const MAX_UNITS_PER_BATCH: usize = 1 << 16;

/// How a source ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All of it was read.
    Complete,
    /// It could not be read on, and why.
    Failed(String),
}

/// What the framer asks for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes, or the end.
    NeedsBytes,
    /// A new list of units; this one holds [`MAX_UNITS_PER_BATCH`].
    BatchFull,
    /// Nothing: the source is at its end, or what follows cannot be framed.
    Finished,
}

/// Cuts one source into units. It looks at a buffer that grows at its end and shrinks at its front.
#[derive(Debug)]
pub struct Framer {
    max_record_bytes: u64,
    mode: Option<Mode>,
    state: State,
    /// Offset in the source of the buffer's first byte.
    base: u64,
    /// Where in the buffer the next byte to look at stands.
    position: usize,
    /// The line of that byte, from 1.
    line: u64,
    /// Blanks between the last line break and that byte, or [`NOT_FIRST`]. Not kept up inside of a unit.
    blanks: usize,
    in_array: bool,
    unit: Begun,
    /// Line and position on it of the unit before.
    last: Option<(u64, u32)>,
    scanner: Scanner,
    doomed: Doomed,
    last_line_is_open: bool,
    blank_lines: u64,
    units: u64,
    failure_reported: bool,
    work: u64,
    /// The separator of cells that the name of the source promises.
    promised: Option<u8>,
    header: Option<Arc<Header>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Lines,
    Values,
    Rows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the byte order mark.
    Start,
    /// Outside of units.
    Between,
    /// On the first line, in an object of which it is not known whether it ends there.
    FirstObject,
    /// On the first line, after a `[` of which it is not known whether it begins an array.
    FirstBracket,
    /// On the first line, of which it is not known whether it is a header.
    FirstLine,
    /// In a unit that ends with the line.
    Line,
    /// In a row of a table, perhaps inside of quotes.
    Row { quoted: bool },
    /// In a unit that the scanner follows to its end.
    Value,
    /// In an element that is a string.
    String { escaped: bool },
    /// In an element that is neither string, object nor array.
    Scalar,
    /// After a rejected value, before the next line that can begin one.
    Resync,
    /// Nothing is left to do.
    Finished,
}

/// A unit that has begun.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    byte: u64,
    line: u64,
    /// Blanks before it, when it is the first on its line; else 0.
    indent: usize,
}

/// The brackets that were open when a value broke. A value that begins with one of them would break at the same byte:
/// it is rejected without scanning it again, which keeps the whole linear.
#[derive(Debug)]
struct Doomed {
    brackets: Vec<u64>,
    cut: Cut,
}

impl Framer {
    /// A framer at the start of a source.
    pub fn new(max_record_bytes: u64) -> Framer {
        Framer {
            max_record_bytes,
            mode: None,
            state: State::Start,
            base: 0,
            position: 0,
            line: 1,
            blanks: 0,
            in_array: false,
            unit: Begun::default(),
            last: None,
            scanner: Scanner::new(),
            doomed: Doomed { brackets: Vec::new(), cut: Cut::Truncated(String::new()) },
            last_line_is_open: false,
            blank_lines: 0,
            units: 0,
            failure_reported: false,
            work: 0,
            promised: None,
            header: None,
        }
    }

    /// Takes the source for a table when its name says so.
    #[must_use]
    pub fn of_source(self, name: &str) -> Framer {
        Framer { promised: Header::delimiter_of(name), ..self }
    }

    /// The header, once it was read, when the source is a table.
    pub fn header(&self) -> Option<Arc<Header>> {
        self.header.clone()
    }

    /// Appends the units that end in `buffer` to `units`.
    ///
    /// `buffer` is that of the call before, without the bytes that [`Framer::release`] gave up, and with new ones at its
    /// end. `end` is given once no more follow.
    pub fn frame(&mut self, buffer: &[u8], end: Option<&End>, units: &mut Vec<Unit>) -> Progress {
        if let Some(&last) = buffer.last() {
            self.last_line_is_open = last != b'\n';
        }
        loop {
            if self.state == State::Finished {
                return Progress::Finished;
            }
            if units.len() >= MAX_UNITS_PER_BATCH {
                return Progress::BatchFull;
            }
            let is_short_start = self.state == State::Start && buffer.len() < BYTE_ORDER_MARK.len();
            if self.position < buffer.len() && !(is_short_start && end.is_none()) {
                self.advance(buffer, units);
            } else if let Some(end) = end {
                self.close(buffer, end, units);
            } else {
                return Progress::NeedsBytes;
            }
        }
    }

    /// Gives up the bytes at the front of the buffer that no later unit needs: the caller removes as many as this says.
    pub fn release(&mut self) -> usize {
        let count = match self.state {
            State::Start => 0,
            State::Between | State::Resync | State::Finished => self.position,
            _ if self.is_too_large() => self.position,
            _ => self.index(self.unit.byte),
        };
        self.base += count as u64;
        self.position -= count;
        count
    }

    /// Lines seen so far; all lines of the source once it is finished.
    pub fn lines(&self) -> u64 {
        self.line - 1 + u64::from(self.last_line_is_open)
    }

    /// Lines between units that hold nothing but blanks, so far.
    pub fn blank_lines(&self) -> u64 {
        self.blank_lines
    }

    /// Units cut so far.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Bytes that were looked at to find the ends of values and the lines after rejected ones: at most three times
    /// the source, whatever it holds.
    pub fn work(&self) -> u64 {
        self.work
    }

    fn advance(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        match self.state {
            State::Start => self.start(buffer, units),
            State::Between => self.between(buffer, units),
            State::FirstObject => self.first_object(buffer),
            State::FirstBracket => self.first_bracket(buffer),
            State::FirstLine => self.first_line(buffer, units),
            State::Line => self.line(buffer, units),
            State::Row { quoted } => self.row(buffer, quoted, units),
            State::Value => self.value(buffer, units),
            State::String { escaped } => self.string(buffer, escaped, units),
            State::Scalar => self.scalar(buffer, units),
            State::Resync => self.resync(buffer),
            State::Finished => {}
        }
    }

    /// At the end of the source. May go back, and then leaves bytes to look at.
    fn close(&mut self, buffer: &[u8], end: &End, units: &mut Vec<Unit>) {
        let failure = match end {
            End::Complete => None,
            End::Failed(reason) => Some(Cut::Unreadable(reason.clone())),
        };
        match self.state {
            State::Value => {
                let cut = failure.unwrap_or_else(|| truncated("the input ends inside of a value"));
                return self.reject(cut, units);
            }
            State::FirstLine if failure.is_none() => self.decide(buffer, units),
            State::FirstObject
            | State::FirstBracket
            | State::FirstLine
            | State::Line
            | State::Row { .. }
            | State::String { .. }
            | State::Scalar => match failure {
                Some(cut) if !self.is_too_large() => self.push(Content::Rejected(cut), units),
                _ => self.cut(buffer, units),
            },
            State::Between if self.blanks != NOT_FIRST && self.last_line_is_open => self.blank_lines += 1,
            _ => {}
        }
        if let End::Failed(reason) = end
            && !self.failure_reported
        {
            self.unit = Begun { byte: self.offset(), line: self.line, indent: 0 };
            self.push(Content::Rejected(Cut::Unreadable(reason.clone())), units);
        }
        self.state = State::Finished;
    }

    fn start(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        if UTF_16_MARKS.iter().any(|mark| buffer.starts_with(mark)) {
            self.unit = Begun { byte: 0, line: 1, indent: 0 };
            let reason = "the text is UTF-16; convert it with `iconv -f UTF-16 -t UTF-8`";
            self.push(Content::Rejected(Cut::Unreadable(reason.into())), units);
            self.state = State::Finished;
            return;
        }
        if buffer.starts_with(BYTE_ORDER_MARK) {
            self.position = BYTE_ORDER_MARK.len();
        }
        self.state = State::Between;
    }

    fn between(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        let values = self.mode == Some(Mode::Values);
        let rows = self.mode == Some(Mode::Rows);
        while let Some(&byte) = buffer.get(self.position) {
            match byte {
                b'\n' => self.end_line(),
                // A tab at the beginning of a row is an empty cell.
                _ if is_blank(byte) && !(rows && byte == b'\t') => self.blanks = self.blanks.saturating_add(1),
                b',' if values => self.blanks = NOT_FIRST,
                b'[' if values && !self.in_array => (self.in_array, self.blanks) = (true, NOT_FIRST),
                b']' if values && self.in_array => (self.in_array, self.blanks) = (false, NOT_FIRST),
                _ => return self.begin(byte, units),
            }
            self.position += 1;
        }
    }

    fn begin(&mut self, first: u8, units: &mut Vec<Unit>) {
        let indent = if self.blanks == NOT_FIRST { 0 } else { self.blanks };
        self.unit = Begun { byte: self.offset(), line: self.line, indent };
        self.blanks = NOT_FIRST;
        self.state = match (self.mode, first) {
            (None, b'{') if self.promised.is_none() => State::FirstObject,
            (None, b'[') if self.promised.is_none() => State::FirstBracket,
            (None, _) => State::FirstLine,
            (Some(Mode::Rows), _) => State::Row { quoted: false },
            (Some(Mode::Lines), _) => State::Line,
            (Some(Mode::Values), b'{' | b'[') => State::Value,
            (Some(Mode::Values), b'"') if self.in_array => State::String { escaped: false },
            (Some(Mode::Values), _) if self.in_array => State::Scalar,
            (Some(Mode::Values), _) => State::Line,
        };
        match self.state {
            State::FirstLine | State::Line | State::Row { .. } => {}
            State::FirstObject | State::Value => self.scanner.reset(),
            _ => self.position += 1,
        }
        if self.state == State::Value && self.doomed.brackets.binary_search(&self.unit.byte).is_ok() {
            self.push(Content::Rejected(self.doomed.cut.clone()), units);
            self.position += 1;
            self.state = State::Resync;
        }
    }

    fn first_object(&mut self, buffer: &[u8]) {
        let rest = &buffer[self.position..];
        let line_end = memchr(b'\n', rest);
        let on_this_line = &rest[..line_end.unwrap_or(rest.len())];
        let (count, outcome) = self.scanner.scan(on_this_line, self.base + self.position as u64, &mut self.line);
        self.position += count;
        self.work += count as u64;
        if outcome != Outcome::Open || (line_end.is_some() && self.scanner.in_string()) {
            (self.mode, self.state) = (Some(Mode::Lines), State::Line);
        } else if line_end.is_some() {
            (self.mode, self.state) = (Some(Mode::Values), State::Value);
        }
    }

    fn first_bracket(&mut self, buffer: &[u8]) {
        self.position += buffer[self.position..].iter().take_while(|&&byte| is_blank(byte)).count();
        match buffer.get(self.position) {
            None => {}
            Some(b'{' | b'[' | b']' | b'\n') => {
                (self.mode, self.state, self.in_array) = (Some(Mode::Values), State::Between, true);
            }
            Some(_) => (self.mode, self.state) = (Some(Mode::Lines), State::Line),
        }
    }

    fn first_line(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        let Some(length) = memchr(b'\n', &buffer[self.position..]) else {
            self.position = buffer.len();
            return;
        };
        self.position += length;
        self.decide(buffer, units);
        self.end_line();
        self.position += 1;
    }

    /// Takes the first line for a header, or for a unit.
    fn decide(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        // Of a line that is too large, the first bytes are gone.
        let line = (!self.is_too_large()).then(|| trim_end(buffer, self.index(self.unit.byte)..self.position));
        match line.and_then(|line| Header::of_line(&buffer[line], self.promised)) {
            Some(header) => {
                (self.mode, self.state, self.header) = (Some(Mode::Rows), State::Between, Some(Arc::new(header)));
            }
            None => {
                self.mode = Some(Mode::Lines);
                self.cut(buffer, units);
            }
        }
    }

    fn row(&mut self, buffer: &[u8], mut quoted: bool, units: &mut Vec<Unit>) {
        // "" inside of a quoted cell closes it and opens it again.
        let mut closed_at = None;
        while let Some(length) = memchr2(b'"', b'\n', &buffer[self.position..]) {
            self.position += length;
            if buffer[self.position] == b'"' {
                // A quote begins a cell, or stands in it as it is.
                let before = self.position.checked_sub(1).map(|at| buffer[at]);
                let is_first = before.is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b',' | b';' | b'\t'));
                let opens_again = closed_at.is_some_and(|at| at + 1 == self.position);
                closed_at = quoted.then_some(self.position);
                quoted = !quoted && (is_first || opens_again);
            } else if quoted {
                self.line += 1;
            } else {
                self.cut(buffer, units);
                self.end_line();
                self.position += 1;
                return;
            }
            self.position += 1;
        }
        self.position = buffer.len();
        self.state = State::Row { quoted };
    }

    fn line(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        let Some(length) = memchr(b'\n', &buffer[self.position..]) else {
            self.position = buffer.len();
            return;
        };
        self.position += length;
        self.cut(buffer, units);
        self.end_line();
        self.position += 1;
    }

    fn value(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        let offset = self.offset();
        let (count, outcome) = self.scanner.scan(&buffer[self.position..], offset, &mut self.line);
        self.position += count;
        self.work += count as u64;
        match outcome {
            Outcome::Open => {}
            Outcome::Complete => self.cut(buffer, units),
            Outcome::Broken(reason) => self.reject(truncated(reason), units),
            Outcome::TooDeep if self.is_too_large() => self.reject_too_large(units),
            Outcome::TooDeep => {
                self.push(Content::Rejected(Cut::TooDeep { limit: MAX_DEPTH }), units);
                self.resync_from_here();
            }
        }
    }

    fn string(&mut self, buffer: &[u8], mut escaped: bool, units: &mut Vec<Unit>) {
        while let Some(&byte) = buffer.get(self.position) {
            if byte == b'\n' {
                return self.cut(buffer, units);
            }
            self.position += 1;
            if byte == b'"' && !escaped {
                return self.cut(buffer, units);
            }
            escaped = byte == b'\\' && !escaped;
        }
        self.state = State::String { escaped };
    }

    fn scalar(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        self.position += buffer[self.position..].iter().take_while(|&&byte| !ends_element(byte)).count();
        if self.position < buffer.len() {
            self.cut(buffer, units);
        }
    }

    fn resync(&mut self, buffer: &[u8]) {
        let from = self.position;
        while let Some(&byte) = buffer.get(self.position) {
            if matches!(byte, b'{' | b'[') && self.blanks <= self.unit.indent {
                // A bracket here is more likely a new array than an element of the one that broke.
                self.in_array &= byte == b'{';
                self.state = State::Between;
                break;
            }
            if is_blank(byte) && self.blanks < self.unit.indent {
                self.blanks += 1;
                self.position += 1;
                continue;
            }
            let Some(length) = memchr(b'\n', &buffer[self.position..]) else {
                (self.position, self.blanks) = (buffer.len(), NOT_FIRST);
                break;
            };
            self.position += length + 1;
            self.line += 1;
            self.blanks = 0;
        }
        self.work += (self.position - from) as u64;
    }

    /// Ends the unit before the byte at hand, without the blanks at its end.
    fn cut(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        self.state = State::Between;
        if self.is_too_large() {
            let bytes = self.unit_size();
            return self.push(Content::Rejected(Cut::TooLarge { bytes, limit: self.max_record_bytes }), units);
        }
        let range = trim_end(buffer, self.index(self.unit.byte)..self.position);
        self.push(Content::Text(range), units);
    }

    /// Rejects a value that cannot go on, and goes back to look for the next one behind its first byte.
    fn reject(&mut self, cut: Cut, units: &mut Vec<Unit>) {
        if self.is_too_large() {
            return self.reject_too_large(units);
        }
        self.doomed.brackets.clear();
        self.doomed.brackets.extend(self.scanner.open_brackets());
        self.doomed.cut = cut.clone();
        self.push(Content::Rejected(cut), units);
        self.position = self.index(self.unit.byte) + 1;
        self.line = self.unit.line;
        self.blanks = NOT_FIRST;
        self.state = State::Resync;
    }

    /// Rejects a value above the limit that cannot go on. Its bytes are gone.
    fn reject_too_large(&mut self, units: &mut Vec<Unit>) {
        let bytes = self.unit_size();
        self.push(Content::Rejected(Cut::TooLarge { bytes, limit: self.max_record_bytes }), units);
        self.resync_from_here();
    }

    fn resync_from_here(&mut self) {
        self.blanks = self.scanner.blanks();
        self.state = State::Resync;
    }

    fn push(&mut self, content: Content, units: &mut Vec<Unit>) {
        self.failure_reported |= matches!(content, Content::Rejected(Cut::Unreadable(_)));
        let item = match self.last {
            Some((line, item)) if line == self.unit.line => Some(item.saturating_add(1)),
            _ => None,
        };
        self.last = Some((self.unit.line, item.unwrap_or(0)));
        self.units += 1;
        units.push(Unit { line: self.unit.line, item, byte: self.unit.byte, content });
    }

    /// Counts the line break at hand.
    fn end_line(&mut self) {
        self.blank_lines += u64::from(self.blanks != NOT_FIRST);
        self.line += 1;
        self.blanks = 0;
    }

    fn is_too_large(&self) -> bool {
        self.unit_size() > self.max_record_bytes
    }

    fn unit_size(&self) -> u64 {
        self.offset() - self.unit.byte
    }

    /// Offset in the source of the byte at hand.
    fn offset(&self) -> u64 {
        self.base + self.position as u64
    }

    /// Where in the buffer the byte at an offset of the source stands.
    fn index(&self, offset: u64) -> usize {
        (offset - self.base) as usize
    }
}

/// The top-level values of one line, in order: what a JSON Lines line holds beyond one object.
///
/// Top-level arrays are unwrapped by one level. Text that is no value is a range of its own, from an unfinished value
/// on to the end. White space, the commas between values and the brackets of unwrapped arrays are in no range.
pub fn split_values(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut scanner = Scanner::new();
    let mut in_array = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let length = match byte {
            b'\n' | b',' => 0,
            _ if is_blank(byte) => 0,
            b'[' if !in_array => {
                in_array = true;
                0
            }
            b']' if in_array => {
                in_array = false;
                0
            }
            b'{' | b'[' => {
                scanner.reset();
                match scanner.scan(&bytes[at..], 0, &mut 0) {
                    (count, Outcome::Complete) => count,
                    _ => bytes.len() - at,
                }
            }
            b'"' => string_length(&bytes[at..]),
            _ => 1 + bytes[at + 1..].iter().take_while(|&&byte| !ends_text(byte, in_array)).count(),
        };
        if length == 0 {
            at += 1;
            continue;
        }
        ranges.push(trim_end(bytes, at..at + length));
        at += length;
    }
    ranges
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
const UTF_16_MARKS: [&[u8]; 2] = [b"\xFF\xFE", b"\xFE\xFF"];

fn truncated(reason: &str) -> Cut {
    Cut::Truncated(reason.to_owned())
}

/// Whether the byte ends an element that is neither string, object nor array.
fn ends_element(byte: u8) -> bool {
    byte == b'\n' || ends_text(byte, true)
}

/// Whether the byte ends text between values.
fn ends_text(byte: u8, in_array: bool) -> bool {
    matches!(byte, b'{' | b'[') || (in_array && matches!(byte, b',' | b']'))
}

/// Length of the string that the bytes begin with, with its quotes; all of them when it is not finished.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(length) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += length + 1;
        if bytes[at - 1] == b'"' {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

fn trim_end(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let blanks = bytes[range.clone()].iter().rev().take_while(|&&byte| is_blank(byte) || byte == b'\n').count();
    range.start..range.end - blanks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NO_LIMIT: u64 = u64::MAX;

    /// A unit with its own text.
    #[derive(Clone, Debug, PartialEq)]
    struct Seen {
        line: u64,
        byte: u64,
        content: Result<Vec<u8>, Cut>,
    }

    #[derive(Clone, Debug, PartialEq)]
    struct Framed {
        seen: Vec<Seen>,
        lines: u64,
        blank_lines: u64,
    }

    /// Frames `input` as the reader does, `chunk` bytes at a time; also says how much work that was.
    fn frame_in_chunks(input: &[u8], chunk: usize, max_record_bytes: u64, end: &End) -> (Framed, u64) {
        let mut framer = Framer::new(max_record_bytes);
        let (mut buffer, mut seen, mut units) = (Vec::new(), Vec::new(), Vec::new());
        let mut chunks = input.chunks(chunk);
        let mut end_given = None;
        loop {
            let progress = framer.frame(&buffer, end_given, &mut units);
            for Unit { line, byte, content, .. } in units.drain(..) {
                let content = match content {
                    Content::Text(range) => Ok(buffer[range].to_vec()),
                    Content::Rejected(cut) => Err(cut),
                };
                seen.push(Seen { line, byte, content });
            }
            buffer.drain(..framer.release());
            match progress {
                Progress::Finished => break,
                Progress::BatchFull => {}
                Progress::NeedsBytes => match chunks.next() {
                    Some(bytes) => buffer.extend_from_slice(bytes),
                    None => end_given = Some(end),
                },
            }
        }
        (Framed { seen, lines: framer.lines(), blank_lines: framer.blank_lines() }, framer.work())
    }

    fn frame(input: &[u8]) -> Vec<Seen> {
        frame_in_chunks(input, input.len().max(1), NO_LIMIT, &End::Complete).0.seen
    }

    /// Rejected units are written as `!` and the first words of their reason.
    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        let (framed, _) = frame_in_chunks(input.as_bytes(), input.len().max(1), 1000, &End::Complete);
        let told = |seen: &Seen| match &seen.content {
            Ok(text) => String::from_utf8_lossy(text).into_owned(),
            Err(Cut::TooLarge { bytes, .. }) => format!("!{bytes} bytes"),
            Err(Cut::TooDeep { limit }) => format!("!deeper than {limit}"),
            Err(Cut::Truncated(reason) | Cut::Unreadable(reason)) => format!("!{reason}"),
        };
        let got: Vec<String> = framed.seen.iter().map(told).collect();
        let agrees = |(got, expected): (&String, &&str)| match expected.strip_prefix('!') {
            Some(reason) => got.strip_prefix('!').is_some_and(|got| got.starts_with(reason)),
            None => got == expected,
        };
        let all = got.len() == expected.len() && got.iter().zip(expected).all(agrees);
        assert!(all, "{input:?}\n     got {got:?}\nexpected {expected:?}");
    }

    #[test]
    fn lines_are_units_when_the_first_line_is_complete() {
        check("", &[]);
        check(" \n\t\r\n", &[]);
        check("{\"a\":1}\n{\"b\":2}\n", &[r#"{"a":1}"#, r#"{"b":2}"#]);
        check("{\"a\":1}\r\n  {\"b\":2} \r\n\r\nlast", &[r#"{"a":1}"#, r#"{"b":2}"#, "last"]);
        check("{}{}\n[1]\n{", &["{}{}", "[1]", "{"]);
        check("{\"a\":\"tru\n{\"b\":2}\n", &["{\"a\":\"tru", r#"{"b":2}"#]);
        check("{\"a\":\"tru\\\n{\"b\":2}\n", &["{\"a\":\"tru\\", r#"{"b":2}"#]);
        check("{\"a\":1]\n{\"b\":\n", &["{\"a\":1]", "{\"b\":"]);
        check("{\"a\":", &["{\"a\":"]);
        check("2026-01-01 INFO {\n{\n", &["2026-01-01 INFO {", "{"]);
        check("[2026-01-01] INFO\n[", &["[2026-01-01] INFO", "["]);
        check("[  ", &["["]);
        check("\"a\nb\"", &["\"a", "b\""]);
    }

    #[test]
    fn values_are_units_when_the_first_one_goes_on() {
        check("{\n\"a\": 1\n}\n{\n}{}", &["{\n\"a\": 1\n}", "{\n}", "{}"]);
        check("\n {\n }, {\n },\n", &["{\n }", "{\n }"]);
        check("{\n}\n42 \n\"x\" {}\n{}", &["{\n}", "42", "\"x\" {}", "{}"]);
        check("{\n}\n]\n}\n", &["{\n}", "]", "}"]);
    }

    #[test]
    fn top_level_arrays_are_unwrapped() {
        check("[]", &[]);
        check(" [ ]\n[\n]", &[]);
        check("[{},{}]", &["{}", "{}"]);
        check("[\n  {},\n  {},\n]\n", &["{}", "{}"]);
        check("[{}]\n[{\"a\":1}]\n{}", &["{}", "{\"a\":1}", "{}"]);
        check("[[1,2],[]]", &["[1,2]", "[]"]);
        check("[\n1 , \"a,\\\"]\", null,{}\ntrue\n]", &["1", "\"a,\\\"]\"", "null", "{}", "true"]);
        check("[\n\"cut\n{}]", &["\"cut", "{}"]);
        check(r#"[[],"a\\",{},"b\"",{}]"#, &["[]", r#""a\\""#, "{}", r#""b\"""#, "{}"]);
        check("[\n}\n:\n]", &["}", ":"]);
    }

    #[test]
    fn a_truncated_value_does_not_swallow_its_neighbours() {
        let line_break = "!a line break inside of a string";
        check("{\n\"a\": \"x\n{\n\"b\": 2\n}\n", &[line_break, "{\n\"b\": 2\n}"]);
        check("{\n\"a\": 1,\n{\"b\":2}\n", &["!a value where a key must stand", "{\"b\":2}"]);
        check("{\n\"a\": [1,\n{\"b\":2}\n{\"c\":3}", &["!a value without a comma", "{\"b\":2}", "{\"c\":3}"]);
        check("{\n\"a\":\n{\"b\":2}", &["!the input ends inside", "{\"b\":2}"]);
        check("[\n  {\n    \"a\": \"x\n    {},\n  {\n  },\n  {}\n]", &[line_break, "{\n  }", "{}"]);
        check(
            "[{\"a\":1,\n{\"b\":2}]\n[{\"c\":\n[{}]",
            &["!a value where a key must stand", "{\"b\":2}", "!the input ends inside", "{}"],
        );
    }

    #[test]
    fn limits_reject_by_name_and_go_on() {
        let wide = "x".repeat(1001);
        check(&format!("a\n{wide}\nb"), &["a", "!1001 bytes", "b"]);
        check(&format!("{{\"a\":\"{wide}\"}}\n{{}}"), &["!1009 bytes", "{}"]);
        check(&format!("{{\n\"a\":\"{wide}\"}}{{}}"), &["!1010 bytes", "{}"]);
        check(&format!("{{\n\"a\":\"{wide}\n{{}}"), &["!1008 bytes", "{}"]);
        check(&format!("[\"{wide}\",{wide},{{}}]"), &["!2010 bytes"]);
        check(&format!("[{{}},\"{wide}\",{wide},{{}}]"), &["{}", "!1003 bytes", "!1001 bytes", "{}"]);
        check(&format!("{}\n{{}}", " ".repeat(2000)), &["{}"]);
        check(&format!("{{\n\"a\":\"{wide}\",\n{{\"b\":2}}\n{{}}"), &["!1011 bytes", "{\"b\":2}", "{}"]);
        let deep = "[".repeat(MAX_DEPTH + 2);
        check(&format!("[{{}},{deep}\n{{}}"), &["{}", "!deeper than 128", "{}"]);
        check(&format!("[{{}},[{}{deep}\n{{}}", " ".repeat(1000)), &["{}", "!1128 bytes", "{}"]);
    }

    #[test]
    fn the_byte_order_mark_counts_and_is_no_text() {
        let seen = frame(b"\xEF\xBB\xBF{\"a\":1}\n{}");
        assert_eq!(seen[0], Seen { line: 1, byte: 3, content: Ok(br#"{"a":1}"#.to_vec()) });
        assert_eq!(seen[1], Seen { line: 2, byte: 11, content: Ok(b"{}".to_vec()) });
        for utf_16 in [&b"\xFF\xFE{\0}\0\n\0{\0}\0"[..], b"\xFE\xFF\0{\0}", b"\xFF\xFE"] {
            let seen = frame(utf_16);
            assert!(matches!(&seen[..], [Seen { line: 1, byte: 0, content: Err(Cut::Unreadable(_)) }]), "{seen:?}");
        }
    }

    #[test]
    fn lines_are_counted() {
        for (input, lines, blank_lines) in [
            (&b""[..], 0, 0),
            (b"\n", 1, 1),
            (b"a", 1, 0),
            (b"a\n", 1, 0),
            (b"a\n \r\n\t", 3, 2),
            (b"{\n\n}\n\n{\n}", 6, 1),
            (b"[\n{}\n\n,\n]\n", 5, 1),
        ] {
            let (framed, _) = frame_in_chunks(input, 1, NO_LIMIT, &End::Complete);
            assert_eq!((framed.lines, framed.blank_lines), (lines, blank_lines), "{input:?}");
        }
    }

    #[test]
    fn rows_of_a_table_go_on_inside_of_quotes() {
        let input = b"prompt,response\r\n\"a\n\"\"b\",c\r\n\nd,\n\"open\n";
        for chunk in [1, 3, 100] {
            let (framed, _) = frame_in_chunks(input, chunk, NO_LIMIT, &End::Complete);
            let seen: Vec<(u64, &[u8])> =
                framed.seen.iter().map(|seen| (seen.line, seen.content.as_deref().unwrap_or_default())).collect();
            assert_eq!(seen, [(2, &b"\"a\n\"\"b\",c"[..]), (5, b"d,"), (6, b"\"open")], "{chunk}");
        }
        assert!(frame(b"prompt,response\n").is_empty(), "a header alone holds no row");
        assert_eq!(frame(b"2026-01-01 INFO started\nprompt,response\n").len(), 2, "a text log is no table");
    }

    #[test]
    fn a_failure_is_told_once_at_the_unit_it_cuts() {
        let failed = End::Failed("gone".into());
        for (input, units, line, byte) in [
            (&b""[..], 1, 1, 0),
            (b"{}\n{\"a\":", 2, 2, 3),
            (b"{}\n", 2, 2, 3),
            (b"{}\n\n  ", 2, 3, 6),
            (b"{\n}\n{\n\"a\"", 2, 3, 4),
            (b"[{},\n\"a", 2, 2, 5),
        ] {
            let (framed, _) = frame_in_chunks(input, 2, NO_LIMIT, &failed);
            assert_eq!(framed.seen.len(), units, "{input:?}");
            let expected = Seen { line, byte, content: Err(Cut::Unreadable("gone".into())) };
            assert_eq!(framed.seen.last(), Some(&expected), "{input:?}");
        }
    }

    #[test]
    fn hostile_nesting_is_linear() {
        let open_lines = "{\"a\":\n".repeat(100_000);
        let late_break = format!("{}{}]", "{\"a\":[\n".repeat(60), "{},\n".repeat(50_000));
        let alternating = format!("{}]}}]", "{\"a\":[\n{},\n".repeat(30).repeat(300));
        let never_closed = format!("[\n{}", "{\"a\":[\n{},[],\n".repeat(60));
        for input in [open_lines, late_break, alternating, never_closed] {
            let (_, work) = frame_in_chunks(input.as_bytes(), input.len(), NO_LIMIT, &End::Complete);
            assert!(work <= 3 * input.len() as u64, "{work} for {} bytes of {:?}", input.len(), &input[..20]);
        }
    }

    #[test]
    fn a_batch_holds_a_bounded_number_of_units() {
        let input = "1\n".repeat(MAX_UNITS_PER_BATCH + 5);
        let mut framer = Framer::new(NO_LIMIT);
        let mut units = Vec::new();
        assert_eq!(framer.frame(input.as_bytes(), None, &mut units), Progress::BatchFull);
        assert_eq!(units.len(), MAX_UNITS_PER_BATCH);
        assert_eq!(framer.release(), 2 * MAX_UNITS_PER_BATCH);
        assert_eq!(frame(input.as_bytes()).len(), MAX_UNITS_PER_BATCH + 5);
    }

    #[test]
    fn one_line_is_split_into_its_values() {
        let check = |text: &str, expected: &[&str]| {
            let got: Vec<&str> = split_values(text.as_bytes()).into_iter().map(|range| &text[range]).collect();
            assert_eq!(got, expected, "{text}");
        };
        check("", &[]);
        check(" , []", &[]);
        check("{}{\"a\":\"}{\"} , {}", &["{}", "{\"a\":\"}{\"}", "{}"]);
        check("[{}, {}, ]", &["{}", "{}"]);
        check("[[1,2],3,\"a,]\", true ]", &["[1,2]", "3", "\"a,]\"", "true"]);
        check("{} oops, {} [{}]", &["{}", "oops,", "{}", "{}"]);
        check("2026-01-01 INFO {\"a\":1}", &["2026-01-01 INFO", "{\"a\":1}"]);
        check("\"key\": {\"a\":1}", &["\"key\"", ":", "{\"a\":1}"]);
        check("{} {\"a\":1] {} \r", &["{}", "{\"a\":1] {}"]);
        check("] } \"\\", &["] } \"\\"]);
        check("[\"\\", &["\"\\"]);
    }

    /// Bytes that break structure often.
    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            8 => prop::sample::select(&b"{}[],:\"\\\n \tx1\r"[..]).prop_map(|byte| vec![byte]),
            2 => prop::sample::select(vec!["\n{", "\n[", "\n  {", "\n\"a\":", "{\"a\":", "[\n", "{}", "[]", "\"b\"", "\r\n"])
                .prop_map(|text| text.as_bytes().to_vec()),
            1 => any::<u8>().prop_map(|byte| vec![byte]),
        ];
        let start = prop::sample::select(vec!["", "{\n", "[\n", "[{", " \n  {\n", "\u{FEFF}{\n"]);
        (start, prop::collection::vec(piece, 0..120))
            .prop_map(|(start, pieces)| [start.as_bytes(), &pieces.concat()].concat())
    }

    fn end() -> impl Strategy<Value = End> {
        prop_oneof![Just(End::Complete), Just(End::Failed("gone".into()))]
    }

    /// Objects of several lines, as a log of pretty-printed records holds them.
    fn records() -> impl Strategy<Value = Vec<String>> {
        let scalar = prop_oneof![
            Just("null".to_owned()),
            any::<i32>().prop_map(|number| number.to_string()),
            "[a-z{}\\[\\],: ]{0,8}".prop_map(|text| format!("\"{text}\\n\\\"\"")),
        ];
        let value = scalar.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(", "))),
                prop::collection::vec(inner, 1..3).prop_map(|values| object(&values, "    ")),
            ]
        });
        let record = prop::collection::vec(value, 1..4).prop_map(|values| object(&values, "  "));
        prop::collection::vec(record, 1..6)
    }

    fn object(values: &[String], indent: &str) -> String {
        let fields = values.iter().enumerate().map(|(i, value)| format!("{indent}\"k{i}\": {value}"));
        format!("{{\n{}\n{}}}", fields.collect::<Vec<_>>().join(",\n"), &indent[2..])
    }

    fn line_of(input: &[u8], byte: u64) -> u64 {
        1 + input[..byte as usize].iter().filter(|&&byte| byte == b'\n').count() as u64
    }

    proptest! {
        #[test]
        fn units_do_not_depend_on_the_chunks(
            input in hostile(), chunk in 1_usize..40, max in prop_oneof![Just(NO_LIMIT), 1_u64..40], end in end()
        ) {
            let whole = frame_in_chunks(&input, input.len().max(1), max, &end).0;
            prop_assert_eq!(&frame_in_chunks(&input, 1, max, &end).0, &whole);
            prop_assert_eq!(&frame_in_chunks(&input, chunk, max, &end).0, &whole);
        }

        #[test]
        fn every_byte_is_in_one_unit_or_separates(
            input in hostile(), max in prop_oneof![Just(NO_LIMIT), 1_u64..40], end in end()
        ) {
            let (framed, work) = frame_in_chunks(&input, input.len().max(1), max, &end);
            prop_assert!(work <= 3 * input.len() as u64);
            if input.starts_with(b"\xFF\xFE") || input.starts_with(b"\xFE\xFF") {
                return Ok(());
            }
            let breaks = input.iter().filter(|&&byte| byte == b'\n').count();
            prop_assert_eq!(framed.lines, (breaks + usize::from(!input.is_empty() && !input.ends_with(b"\n"))) as u64);
            let mut at = if input.starts_with(BYTE_ORDER_MARK) { 3 } else { 0 };
            for (i, unit) in framed.seen.iter().enumerate() {
                prop_assert_eq!(unit.line, line_of(&input, unit.byte));
                let start = unit.byte as usize;
                prop_assert!(start >= at, "units overlap at {}", start);
                prop_assert!(is_separator(&input[at..start]), "lost: {:?}", &input[at..start]);
                at = match &unit.content {
                    Ok(text) => {
                        prop_assert!(text.len() as u64 <= max && !text.is_empty());
                        prop_assert_eq!(&input[start..start + text.len()], &text[..]);
                        prop_assert!(!is_blank(text[0]) && !is_blank(text[text.len() - 1]));
                        start + text.len()
                    }
                    Err(Cut::TooLarge { bytes, limit }) => {
                        prop_assert!(bytes > limit);
                        next_start(&framed.seen, i).unwrap_or(input.len())
                    }
                    Err(_) => next_start(&framed.seen, i).unwrap_or(input.len()),
                };
            }
            prop_assert!(is_separator(&input[at..]), "lost at the end: {:?}", &input[at..]);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(input in prop::collection::vec(any::<u8>(), 0..200), chunk in 1_usize..9) {
            let whole = frame_in_chunks(&input, input.len().max(1), 50, &End::Complete).0;
            prop_assert_eq!(frame_in_chunks(&input, chunk, 50, &End::Complete).0, whole);
        }

        #[test]
        fn lines_agree_with_a_naive_reference(
            lines in prop::collection::vec("[ \\ta-c{}\\[\\]\",:]{0,12}\r?", 0..12), has_end in any::<bool>()
        ) {
            let input = format!("{{}}\n{}{}", lines.join("\n"), if has_end { "\n" } else { "" });
            let mut expected = Vec::new();
            let mut byte = 0;
            for (i, line) in input.split('\n').enumerate() {
                let text = line.trim_matches([' ', '\t', '\r']);
                if !text.is_empty() {
                    let start = (byte + line.len() - line.trim_start_matches([' ', '\t', '\r']).len()) as u64;
                    expected.push(Seen { line: i as u64 + 1, byte: start, content: Ok(text.as_bytes().to_vec()) });
                }
                byte += line.len() + 1;
            }
            prop_assert_eq!(frame(input.as_bytes()), expected);
        }

        #[test]
        fn values_are_found_where_they_were_written(
            records in records(), separator in prop::sample::select(vec!["\n", ",\n", "", " \r\n\n", " , "]), in_array in any::<bool>()
        ) {
            let (open, close) = if in_array { ("[", "\n]") } else { ("", "\n") };
            let mut input = open.to_owned();
            let mut expected = Vec::new();
            for record in &records {
                let (line, byte) = (line_of(input.as_bytes(), input.len() as u64), input.len() as u64);
                expected.push(Seen { line, byte, content: Ok(record.as_bytes().to_vec()) });
                input += record;
                input += separator;
            }
            input += close;
            prop_assert_eq!(frame(input.as_bytes()), expected);
        }

        #[test]
        fn one_truncated_record_costs_no_other(
            records in records(), which in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>(), in_array in any::<bool>()
        ) {
            let records: Vec<String> = match in_array {
                true => records.iter().map(|record| record.replace('\n', "\n  ")).collect(),
                false => records,
            };
            let (open, separator, close) = if in_array { ("[\n  ", ",\n  ", "\n]\n") } else { ("", "\n", "\n") };
            let which = which.index(records.len());
            let mut broken = records.clone();
            // At least one bracket and one line break stay, so that the first record decides for values.
            broken[which].truncate(2 + cut.index(records[which].len() - 2));
            let input = format!("{open}{}{close}", broken.join(separator));
            let mut texts: Vec<Vec<u8>> = frame(input.as_bytes()).into_iter().filter_map(|seen| seen.content.ok()).collect();
            for (i, record) in records.iter().enumerate().filter(|(i, _)| *i != which) {
                let found = texts.iter().position(|text| text == record.as_bytes());
                prop_assert!(found.is_some(), "record {} is lost in {}", i, input);
                texts.remove(found.unwrap_or(0));
            }
            prop_assert!(texts.is_empty(), "made up: {:?}", texts);
        }

        #[test]
        fn splitting_drops_only_separators(input in hostile()) {
            let mut at = 0;
            for range in split_values(&input) {
                prop_assert!(range.start >= at && range.end > range.start);
                prop_assert!(is_separator(&input[at..range.start]));
                at = range.end;
            }
            prop_assert!(is_separator(&input[at..]));
        }
    }

    fn is_separator(bytes: &[u8]) -> bool {
        bytes.iter().all(|&byte| is_blank(byte) || matches!(byte, b'\n' | b',' | b'[' | b']'))
    }

    fn next_start(seen: &[Seen], i: usize) -> Option<usize> {
        seen.get(i + 1).map(|next| next.byte as usize)
    }
}
