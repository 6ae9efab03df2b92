//! Bytes → units, with exact lines and byte offsets, in one pass and in bounded memory.
//!
//! How a source is framed is decided at its first byte that is not blank, and stays so to its end:
//!
//! - **Lines**: a unit is a line. So when the first line holds a whole JSON object, breaks off inside of a string, or
//!   does not begin with a bracket (which makes text logs one rejected unit per line). A line that begins an object
//!   which can go on in the next line (its last byte is one of [`GOES_ON`], outside of a string) is a value as below. A
//!   line that a runtime of containers has cut into pieces is one unit, and so are the rows that a database copied out
//!   between `COPY ... FROM stdin;` and `\.`.
//! - **Values**: a unit is a JSON object, or an element of a top-level array, however many lines it takes. So when the
//!   first line begins an object that can go on in the next line, or an array (of objects or arrays, or one that
//!   goes on in the next line). White space and commas separate values; text between them is a unit to the end of its
//!   line, a scalar in an array is a unit too, and an empty array holds none.
//!
//! - **Rows**: a unit is a row of a table, whose first line is the [header](super::header). So when the source is called
//!   `.csv` or `.tsv`, or the first line has names that logs have. A row goes on in the next line inside of quotes. A line
//!   `sep=;` before the header tells the separator and is no row. Tables with bars and rules ([`ruled`](super::ruled)) have rows,
//!   too; their rules and the line that counts their rows are no units, and behind that line the source begins anew.
//!
//! An object that grows beyond `document_bytes` is looked into: when one of its arrays holds what the reader knows for
//! something of its own, the elements of that array are units from there on, and what is left of the document is one more
//! ([`document`]). So a document takes no more memory than its largest element.
//!
//! - **Texts**: a unit is a history of a chat. So when the first line is one that begins such a history, or the source is called
//!   `.md` ([`text`]).
//!
//! - **YAML**: a unit is an element of a list that begins in the first column, or a document. So when the source is called
//!   `.yaml` or `.yml`, or the first line is `---` or `- key: value`.
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
//! A quote that is never closed makes the rest of a table one row, which is rejected.

use std::{ops::Range, sync::Arc};

use memchr::{memchr, memchr2};

mod document;
mod path;
mod ruled;
mod split;
mod text;
mod yaml;
#[cfg(test)]
mod tests;
pub use super::scanner::MAX_DEPTH;
use super::{
    Content, Cut, Header, Unit,
    reader::Limits,
    scanner::{NOT_FIRST, Outcome, Scanner, is_blank},
};
use document::{Document, FirstLine};
pub use split::split_values;
use text::Mark;

/// Whether a reader would know an object for something of its own, and not for a part of what stands around it.
pub type Recognises = fn(&[u8]) -> bool;

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
    /// A new list of units; this one holds [`MAX_UNITS_PER_BATCH`], or enough bytes.
    BatchFull,
    /// Nothing: the source is at its end, or what follows cannot be framed.
    Finished,
}

/// Cuts one source into units. It looks at a buffer that grows at its end and shrinks at its front.
#[derive(Debug)]
pub struct Framer {
    batch_bytes: usize,
    max_record_bytes: u64,
    document_bytes: u64,
    shell_bytes: usize,
    recognises: Recognises,
    /// Where in the source the unit at hand is looked into, if it gets there.
    look_at: u64,
    /// Where the line at hand of a row with bars begins, or the first line of a source ends.
    row_line: u64,
    /// Whether the source is YAML by its name.
    is_called_yaml: bool,
    /// Whether the document of YAML at hand is a list whose elements are units; `None` before its first line.
    yaml_list: Option<bool>,
    /// Whether the source is one text by its name.
    is_called_text: bool,
    /// What the texts of the source begin with.
    text_mark: Option<Mark>,
    /// Whether the table with bars is over.
    table_is_over: bool,
    /// Whether the line before was a rule of the table.
    is_after_rule: bool,
    /// The document that is being cut.
    document: Option<Box<Document>>,
    shells_cut: u64,
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
    Yaml,
    Text,
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
    /// On the lines after it, of which it is not known whether they are the rule of a table.
    Head,
    /// In a row of a table with bars.
    RuledRow,
    /// At the beginning of a line of YAML.
    YamlLine,
    /// In a line of YAML.
    Yaml,
    /// At the beginning of a line of a text.
    TextLine,
    /// In a line of a text.
    Text,
    /// In a unit that ends with the line.
    Line,
    /// In a row of a table.
    Row(Cell),
    /// In a unit that the scanner follows to its end.
    Value,
    /// In an element that is a string.
    String { escaped: bool },
    /// In an element that is neither string, object nor array.
    Scalar,
    /// In a document that is cut into the elements of an array.
    Document,
    /// In the rest of a line on which a document broke.
    Skip,
    /// After a rejected value, before the next line that can begin one.
    Resync,
    /// Nothing is left to do.
    Finished,
}

/// Where in a cell of a table the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// At its first byte. A quote there opens it, and stands for itself elsewhere.
    Start,
    Plain,
    Quoted,
    /// Behind a quote that closes it. Another one opens it again: together they are a quote inside.
    Closed,
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
    pub fn new(limits: &Limits) -> Framer {
        Framer {
            batch_bytes: limits.batch_bytes,
            max_record_bytes: limits.max_record_bytes,
            document_bytes: limits.document_bytes.max(1),
            shell_bytes: limits.shell_bytes,
            recognises: |_| true,
            look_at: 0,
            row_line: 0,
            is_called_yaml: false,
            is_called_text: false,
            text_mark: None,
            yaml_list: None,
            table_is_over: false,
            is_after_rule: false,
            document: None,
            shells_cut: 0,
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

    /// Takes the source for a table, or for YAML, when its name says so.
    #[must_use]
    pub fn of_source(self, name: &str) -> Framer {
        Framer {
            promised: Header::delimiter_of(name),
            is_called_yaml: Framer::is_called_yaml(name),
            is_called_text: Framer::is_called_text(name),
            ..self
        }
    }

    /// Asks `recognises` which objects are something of their own. Without it all are.
    #[must_use]
    pub fn recognising(self, recognises: Recognises) -> Framer {
        Framer { recognises, ..self }
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
            if self.table_is_over && units.is_empty() {
                self.begin_anew();
            }
            let is_full =
                !units.is_empty() && self.position >= self.batch_bytes.saturating_mul(FULL) || self.table_is_over;
            if is_full || units.len() >= MAX_UNITS_PER_BATCH {
                return Progress::BatchFull;
            }
            let is_short_start = self.state == State::Start && buffer.len() < BYTE_ORDER_MARK.len();
            let is_short = is_short_start || self.needs_mark(buffer) || self.needs_text_mark(buffer);
            if self.position < buffer.len() && !(is_short && end.is_none()) {
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
            State::Between | State::Resync | State::Skip | State::Finished => self.position,
            State::Document if self.document.as_ref().is_some_and(|document| !document.is_in_element()) => {
                self.position
            }
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

    /// Documents that had more around their elements than `shell_bytes`.
    pub fn shells_cut(&self) -> u64 {
        self.shells_cut
    }

    /// Bytes that were looked at to find the ends of values and the lines after rejected ones: at most three times
    /// the source, whatever it holds, and five times more where values grow beyond `document_bytes`.
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
            State::Head => self.head(buffer, units),
            State::Row(cell) => self.row(buffer, cell, units),
            State::RuledRow => self.ruled_row(buffer, units),
            State::YamlLine => self.yaml_line(buffer, units),
            State::Yaml => self.yaml(buffer),
            State::TextLine => self.text_line(buffer, units),
            State::Text => self.text(buffer),
            State::Value => self.value(buffer, units),
            State::String { escaped } => self.string(buffer, escaped, units),
            State::Scalar => self.scalar(buffer, units),
            State::Document => self.document(buffer, units),
            State::Skip => self.skip(buffer),
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
        if self.state == State::RuledRow && failure.is_none() && self.is_no_row(buffer) {
            self.state = State::Between;
            return;
        }
        match self.state {
            State::Value => {
                let cut = failure.unwrap_or_else(|| truncated("the input ends inside of a value"));
                return self.reject(cut, units);
            }
            State::Document => {
                let cut = failure.unwrap_or_else(|| truncated("the input ends inside of a value"));
                return self.break_document(cut, units);
            }
            State::FirstLine if failure.is_none() => {
                self.decide(buffer, units);
                if matches!(self.state, State::YamlLine | State::TextLine | State::Line) {
                    return;
                }
                self.reject_lone_header(units);
            }
            State::Head => return self.close_head(buffer, units),
            State::Row(Cell::Quoted) if failure.is_none() && !self.is_too_large() => {
                self.push(Content::Rejected(truncated("the input ends inside of a quoted cell")), units);
            }
            State::FirstObject
            | State::FirstBracket
            | State::FirstLine
            | State::Line
            | State::Row(_)
            | State::RuledRow
            | State::YamlLine
            | State::Yaml
            | State::TextLine
            | State::Text
            | State::String { .. }
            | State::Scalar => match failure {
                Some(cut) if !self.is_too_large() => self.push(Content::Rejected(cut), units),
                _ => self.cut(buffer, units),
            },
            State::Between => {
                self.blank_lines += u64::from(self.blanks != NOT_FIRST && self.last_line_is_open);
                self.reject_lone_header(units);
            }
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
                RECORD_SEPARATOR if self.mode != Some(Mode::Text) => {}
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
        self.look_at = self.unit.byte.saturating_add(self.document_bytes.min(self.max_record_bytes));
        self.blanks = NOT_FIRST;
        self.row_line = self.unit.byte;
        if self.mode.is_none() && self.is_called_yaml && !matches!(first, b'{' | b'[') {
            self.mode = Some(Mode::Yaml);
        }
        self.state = match (self.mode, first) {
            (None, b'{') if self.promised.is_none() => State::FirstObject,
            (None, b'[') if self.promised.is_none() => State::FirstBracket,
            (None, _) => State::FirstLine,
            (Some(Mode::Yaml), _) => State::YamlLine,
            (Some(Mode::Text), _) => State::TextLine,
            (Some(Mode::Rows), _) if self.is_ruled() => State::RuledRow,
            (Some(Mode::Rows), _) => State::Row(Cell::Start),
            (Some(Mode::Lines), _) => State::Line,
            (Some(Mode::Values), b'{' | b'[') => State::Value,
            (Some(Mode::Values), b'"') if self.in_array => State::String { escaped: false },
            (Some(Mode::Values), _) if self.in_array => State::Scalar,
            (Some(Mode::Values), _) => State::Line,
        };
        match self.state {
            State::FirstLine | State::Line | State::Row(_) | State::RuledRow | State::YamlLine | State::TextLine => {}
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
        let rest = self.up_to_look(buffer);
        let line_end = memchr(b'\n', rest);
        let on_this_line = &rest[..line_end.unwrap_or(rest.len())];
        let (count, outcome) = self.scanner.scan(on_this_line, self.base + self.position as u64, &mut self.line);
        self.position += count;
        self.work += count as u64;
        if outcome == Outcome::Open && self.is_at_look() {
            return self.look_into(buffer, self.index(self.unit.byte), FirstLine::Decides);
        }
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
        if !self.is_at_line_end(buffer) {
            return;
        }
        if self.may_be_head(buffer) {
            return self.begin_head();
        }
        self.decide(buffer, units);
        if matches!(self.state, State::YamlLine | State::TextLine | State::Line) {
            return;
        }
        self.end_line();
        self.position += 1;
    }

    /// Goes to the end of the line at hand, if it is there. A line that gets long is looked into.
    fn is_at_line_end(&mut self, buffer: &[u8]) -> bool {
        let rest = self.up_to_look(buffer);
        if let Some(length) = memchr(b'\n', rest) {
            self.position += length;
            return true;
        }
        self.position += rest.len();
        if self.is_at_look() {
            self.look_into_line(buffer);
        }
        false
    }

    /// Takes the first line for a header, or for a unit.
    fn decide(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        // Of a line that is too large, the first bytes are gone.
        let line = (!self.is_too_large()).then(|| trim_end(buffer, self.index(self.unit.byte)..self.position));
        if let Some(separator) = line.as_ref().and_then(|line| Header::separator_of(&buffer[line.start..self.position]))
        {
            (self.promised, self.state) = (Some(separator), State::Between);
            return;
        }
        if line.as_ref().is_some_and(|line| self.promised.is_none() && Framer::begins_yaml(&buffer[line.clone()])) {
            self.mode = Some(Mode::Yaml);
            (self.position, self.state) = (self.index(self.unit.byte), State::YamlLine);
            return;
        }
        let mark = line.as_ref().filter(|_| self.promised.is_none()).and_then(|line| Mark::of(&buffer[line.clone()]));
        if let Some(mark) = mark.or(self.is_called_text.then_some(Mark::Whole)) {
            return self.begin_texts(mark);
        }
        if line.as_ref().is_some_and(|line| text::is_piece(&buffer[line.clone()])) {
            self.mode = Some(Mode::Lines);
            (self.position, self.state) = (self.index(self.unit.byte), State::Line);
            return;
        }
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

    /// At the end of a table without rows. What was taken for a header because the source is called a table may be its
    /// only row.
    fn reject_lone_header(&mut self, units: &mut Vec<Unit>) {
        if self.units == 0 && self.header.as_ref().is_some_and(|header| !header.is_known() && header.ruled.is_none()) {
            let reason = "the only line of a table, taken for its header, has no name that logs have";
            self.push(Content::Rejected(truncated(reason)), units);
        }
    }

    fn row(&mut self, buffer: &[u8], mut cell: Cell, units: &mut Vec<Unit>) {
        let delimiter = self.header.as_ref().map_or(b',', |header| header.delimiter);
        while let Some(&byte) = buffer.get(self.position) {
            if byte == b'\n' && cell != Cell::Quoted {
                self.cut(buffer, units);
                self.end_line();
                self.position += 1;
                return;
            }
            self.position += 1;
            cell = match (cell, byte) {
                (Cell::Start | Cell::Closed, b'"') => Cell::Quoted,
                (Cell::Quoted, b'"') => Cell::Closed,
                (Cell::Quoted, b'\n') => {
                    self.line += 1;
                    Cell::Quoted
                }
                (Cell::Quoted, _) => Cell::Quoted,
                (_, byte) if byte == delimiter => Cell::Start,
                _ => Cell::Plain,
            };
            let rest = &buffer[self.position..];
            let uneventful = match cell {
                Cell::Start | Cell::Closed => 0,
                Cell::Quoted => memchr2(b'"', b'\n', rest).unwrap_or(rest.len()),
                Cell::Plain => memchr2(delimiter, b'\n', rest).unwrap_or(rest.len()),
            };
            self.position += uneventful;
        }
        self.state = State::Row(cell);
    }

    fn line(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        if !self.is_at_line_end(buffer) {
            return;
        }
        if self.goes_on(buffer) {
            self.state = State::Value;
            return;
        }
        if self.is_cut_off(buffer) {
            self.position += 1;
            self.line += 1;
            self.row_line = self.offset();
            return;
        }
        if self.is_header_of_copy(buffer) {
            return;
        }
        self.cut(buffer, units);
        self.end_line();
        self.position += 1;
    }

    /// Whether the line at hand, which ends here, is a piece of a longer one.
    fn is_cut_off(&self, buffer: &[u8]) -> bool {
        !self.is_too_large() && text::is_piece(trimmed(&buffer[self.index(self.row_line)..self.position]))
    }

    /// Whether the line at hand, which ends here, is the header of a table that a database copied out.
    fn is_header_of_copy(&mut self, buffer: &[u8]) -> bool {
        if self.is_too_large() {
            return false;
        }
        let header = Header::of_copy(trimmed(&buffer[self.index(self.unit.byte)..self.position]));
        if let Some(header) = header {
            (self.mode, self.state, self.header) = (Some(Mode::Rows), State::Between, Some(Arc::new(header)));
            return true;
        }
        false
    }

    /// Whether the line at hand, which ends here, begins an object that goes on in the next line. The scanner then stands
    /// at the line break.
    fn goes_on(&mut self, buffer: &[u8]) -> bool {
        if self.is_too_large() {
            return false;
        }
        let line = trim_end(buffer, self.index(self.unit.byte)..self.position);
        let (start, last) = (line.start, line.end - 1);
        if buffer[start] != b'{'
            || !GOES_ON.contains(&buffer[last])
            || self.doomed.brackets.binary_search(&self.unit.byte).is_ok()
        {
            return false;
        }
        self.scanner.reset();
        let (count, outcome) = self.scanner.scan(&buffer[start..self.position], self.unit.byte, &mut self.line);
        self.work += count as u64;
        outcome == Outcome::Open && !self.scanner.in_string()
    }

    fn value(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        let offset = self.offset();
        let (count, outcome) = self.scanner.scan(self.up_to_look(buffer), offset, &mut self.line);
        self.position += count;
        self.work += count as u64;
        match outcome {
            Outcome::Open if self.is_at_look() => self.look_into(buffer, self.index(self.unit.byte), FirstLine::Over),
            Outcome::Open | Outcome::Key | Outcome::Begins | Outcome::Ends | Outcome::Left => {}
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
                if self.goes_on_in_document() {
                    break;
                }
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
            return self.push(Content::Rejected(self.too_large()), units);
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
        self.push(Content::Rejected(self.too_large()), units);
        self.resync_from_here();
    }

    fn too_large(&self) -> Cut {
        Cut::TooLarge { bytes: self.unit_size(), limit: self.max_record_bytes }
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
        let shell = self.document.as_mut().and_then(|document| document.shell_of(self.unit.line, item));
        units.push(Unit { line: self.unit.line, item, byte: self.unit.byte, content, shell });
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

/// Of the bytes that a batch is filled with, how often it takes them at most. A document that was looked into brings more.
const FULL: usize = 4;

/// Bytes with which a line ends in the middle of an object that is written on several lines.
pub const GOES_ON: [u8; 4] = *b"{[,:";

/// What RFC 7464 puts before each value.
const RECORD_SEPARATOR: u8 = 0x1e;

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

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn trim_end(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let blanks = bytes[range.clone()].iter().rev().take_while(|&&byte| is_blank(byte) || byte == b'\n').count();
    range.start..range.end - blanks
}
