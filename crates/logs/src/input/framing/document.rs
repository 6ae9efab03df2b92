//! A document that is too large to be one unit: which of its arrays holds the units, and what stands around them.
//!
//! **Which array**: of those that are open when the document has grown to `document_bytes`, the outermost that holds an
//! object which the reader knows for something of its own. When there is none the question is asked again at each
//! doubling. The answer depends on the bytes alone, and not on how they come in.
//!
//! From then on every array under the same keys counts, as in `resourceSpans[].scopeSpans[].spans[]`: an element of it is a
//! unit, the rest is [shell](super::super::shell).

use std::sync::Arc;

use memchr::memchr;

use super::{Begun, Framer, GOES_ON, MAX_DEPTH, Mode, State, path::Path, truncated};
use crate::input::{
    Content, Cut, Unit,
    scanner::{LINE_BREAK_IN_STRING, NO_COMMA, NOT_FIRST, Outcome, is_blank},
    shell::{Rest, Shell},
};

/// What the next bytes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Shell,
    /// A key of a bracket on the path, and the shell.
    Key,
    /// An element that is a unit.
    Element,
}

/// What the first line break of a document means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstLine {
    /// It tells that units go over several lines, as none has yet.
    Decides,
    /// The document is over, unless it visibly goes on.
    IsLine,
    /// Nothing; or it is behind.
    Over,
}

/// What stands between the brackets of two arrays on the path, or before the first.
#[derive(Debug, Default)]
struct Level {
    text: Vec<u8>,
    is_cut: bool,
    /// The shell for what the array below holds, once that was reached; `None` inside when it is too large.
    shell: Option<Option<Arc<Shell>>>,
}

/// A document that is being cut.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) begun: Begun,
    part: Part,
    first_line: FirstLine,
    /// Where the first line ends, once that is known, and up to where it does not.
    line_break: Option<u64>,
    unbroken_to: u64,
    /// Units that begin on its first line.
    on_first_line: u32,
    /// The last byte so far that is no blank.
    last: u8,
    /// Whether a part of the shell was too large to be kept.
    is_cut: bool,
    path: Path,
    /// Brackets of the path that are open.
    depth: usize,
    levels: Vec<Level>,
    key: Vec<u8>,
    elements: u64,
    shell_bytes: usize,
}

impl Document {
    fn new(begun: Begun, path: Path, first_line: FirstLine, shell_bytes: usize) -> Document {
        Document {
            begun,
            part: Part::Shell,
            first_line,
            line_break: None,
            unbroken_to: 0,
            on_first_line: 0,
            last: 0,
            is_cut: false,
            path,
            depth: 0,
            levels: vec![Level::default()],
            key: Vec::new(),
            elements: 0,
            shell_bytes,
        }
    }

    /// Whether the next value is an element of the array.
    fn is_in_array(&self) -> bool {
        self.depth == self.path.len()
    }

    /// Where in the bytes from `offset` on the first line ends, as long as that matters.
    fn first_line_end(&mut self, bytes: &[u8], offset: u64) -> Option<usize> {
        if self.first_line == FirstLine::Over {
            return None;
        }
        if self.line_break.is_none() {
            // What was searched at the stop before is not searched again.
            let known = (self.unbroken_to.saturating_sub(offset) as usize).min(bytes.len());
            let found = memchr(b'\n', &bytes[known..]).map(|length| offset + (known + length) as u64);
            (self.line_break, self.unbroken_to) = (found, offset + bytes.len() as u64);
        }
        self.line_break.map(|at| (at - offset) as usize)
    }

    /// Takes bytes that were scanned.
    fn take(&mut self, bytes: &[u8]) {
        if let Some(&last) = bytes.iter().rev().find(|&&byte| !is_blank(byte)) {
            self.last = last;
        }
        if self.part == Part::Element || self.is_in_array() {
            return;
        }
        if self.part == Part::Key {
            // One byte more than the longest of them tells that it is none of them.
            let room = (self.path.longest_key() + 1).saturating_sub(self.key.len());
            self.key.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        self.write(bytes);
    }

    fn write(&mut self, bytes: &[u8]) {
        let limit = self.shell_bytes;
        let Some(level) = self.levels.last_mut() else { return };
        if level.is_cut || level.text.len() + bytes.len() > limit {
            level.is_cut = true;
            self.is_cut = true;
            level.text = Vec::new();
        } else {
            level.text.extend_from_slice(bytes);
        }
    }

    fn begin_key(&mut self) {
        self.key.clear();
        self.part = Part::Key;
    }

    fn begin_element(&mut self) {
        self.elements += 1;
        self.part = Part::Element;
    }

    /// Whether the value that begins with `byte` is the next bracket of the path.
    fn is_next(&self, byte: u8) -> bool {
        self.path.is_bracket(self.depth, byte, &self.key)
    }

    /// Goes into the next bracket of the path, which is `byte`.
    fn enter(&mut self, byte: u8) {
        let is_element = self.depth > 0 && !self.path.is_object(self.depth - 1);
        if is_element && let Some(level) = self.levels.last_mut() {
            *level = Level::default();
        }
        self.depth += 1;
        self.write(&[byte]);
        if byte == b'[' {
            self.close_level();
            self.levels.push(Level::default());
        }
    }

    /// Leaves the innermost bracket of the path.
    fn leave(&mut self) {
        self.depth -= 1;
        if !self.path.is_object(self.depth) {
            self.levels.pop();
            self.write(b"]");
        }
    }

    /// Makes the shell for what the array holds that was just entered. A second array of the same element (a key that
    /// comes twice) is read with the shell of the first, so that shells take no more memory than the bytes they come from.
    fn close_level(&mut self) {
        let (outer, limit) = (self.outer_shell(), self.shell_bytes);
        let closing = self.path.closing(self.depth);
        let Some(level) = self.levels.last_mut() else { return };
        if level.shell.is_some() {
            return;
        }
        let shell = outer.filter(|_| !level.is_cut).map(|outer| Shell::new(outer, &level.text, closing));
        let shell = shell.filter(|shell| shell.bytes_before() <= limit);
        self.is_cut |= shell.is_none();
        level.shell = Some(shell.map(Arc::new));
    }

    /// The shell around the innermost level; `None` when it is too large, `Some(None)` when there is none.
    fn outer_shell(&self) -> Option<Option<Arc<Shell>>> {
        match self.levels.len() {
            0 | 1 => Some(None),
            count => self.levels[count - 2].shell.clone().flatten().map(Some),
        }
    }

    /// The shell of an element that begins on `line`, which is counted.
    pub(super) fn shell_of(&mut self, line: u64, item: Option<u32>) -> Option<Arc<Shell>> {
        if line == self.begun.line {
            self.on_first_line = item.unwrap_or(0).saturating_add(1);
        }
        self.outer_shell().flatten().filter(|_| self.is_in_array())
    }

    /// Whether the bytes at hand belong to an element.
    pub(super) fn is_in_element(&self) -> bool {
        self.part == Part::Element
    }

    /// What is left of the whole document.
    fn rest(&self) -> Rest {
        let text = self.levels.first().filter(|level| !level.is_cut).map(|level| level.text.as_slice().into());
        Rest { text, elements: self.elements }
    }
}

impl Framer {
    /// The bytes up to where the unit at hand is looked into.
    pub(super) fn up_to_look<'b>(&self, buffer: &'b [u8]) -> &'b [u8] {
        let ahead = usize::try_from(self.look_at.saturating_sub(self.offset())).unwrap_or(usize::MAX);
        let rest = &buffer[self.position..];
        &rest[..rest.len().min(ahead)]
    }

    /// Whether the framer stands where the unit at hand is looked into. The unit is no larger than the limit then.
    pub(super) fn is_at_look(&self) -> bool {
        self.offset() == self.look_at
    }

    /// Looks into the line at hand, which may have text before its object.
    pub(super) fn look_into_line(&mut self, buffer: &[u8]) {
        if self.promised.is_some() {
            return self.look_later();
        }
        let start = self.index(self.unit.byte);
        let window = &buffer[start..self.position.min(start + PREFIX_BYTES_MAX)];
        let Some(prefix) = memchr(b'{', window) else { return self.look_later() };
        let first_line = FirstLine::IsLine;
        let mut line = self.line;
        self.scanner.reset();
        let object = &buffer[start + prefix..self.position];
        let (count, outcome) = self.scanner.scan(object, self.unit.byte + prefix as u64, &mut line);
        self.work += count as u64;
        if outcome == Outcome::Open {
            self.look_into(buffer, start + prefix, first_line);
        } else {
            self.look_later();
        }
    }

    /// Looks into the unit at hand, whose object begins at `object` and has been scanned up to here. When it is a document
    /// with an array of units, goes back to its beginning to cut it.
    pub(super) fn look_into(&mut self, buffer: &[u8], object: usize, first_line: FirstLine) {
        let base = self.base;
        let open = self.scanner.open_brackets_with_kind();
        let open: Vec<(usize, bool)> = open.map(|(offset, is)| ((offset - base) as usize - object, is)).collect();
        let bytes = &buffer[object..self.position];
        self.work += bytes.len() as u64;
        let Some(path) = Path::find(bytes, &open, self.recognises) else { return self.look_later() };
        let start = self.index(self.unit.byte);
        let mut document = Document::new(self.unit, path, first_line, self.shell_bytes);
        document.take(&buffer[start..object]);
        document.on_first_line = self.last.filter(|last| last.0 == self.unit.line).map_or(0, |last| last.1 + 1);
        if first_line == FirstLine::IsLine {
            self.mode = self.mode.or(Some(Mode::Lines));
        }
        (self.position, self.line) = (object, self.unit.line);
        self.scanner.reset();
        self.enter(buffer[object], &mut document);
        self.document = Some(Box::new(document));
        self.state = State::Document;
    }

    /// Looks again when the unit has grown to twice its size.
    fn look_later(&mut self) {
        let bytes = self.unit_size();
        let next = if bytes >= self.max_record_bytes { u64::MAX } else { (2 * bytes).min(self.max_record_bytes) };
        self.look_at = self.unit.byte.saturating_add(next);
    }

    pub(super) fn document(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        let Some(mut document) = self.document.take() else { return self.resync_from_here() };
        let line_end = document.first_line_end(&buffer[self.position..], self.offset());
        let rest = &buffer[self.position..line_end.map_or(buffer.len(), |length| self.position + length)];
        let (count, outcome) = self.scanner.scan(rest, self.offset(), &mut self.line);
        self.position += count;
        self.work += count as u64;
        document.take(&rest[..count]);
        match outcome {
            Outcome::Open => {
                let reason = line_end.and_then(|_| self.end_first_line(&mut document));
                self.document = Some(document);
                if let Some(reason) = reason {
                    self.break_document(truncated(reason), units);
                }
                return;
            }
            Outcome::Key => document.begin_key(),
            Outcome::Begins => self.begin_value(buffer, &mut document),
            Outcome::Ends if document.part == Part::Element => {
                self.document = Some(document);
                return self.end_element(buffer, units);
            }
            Outcome::Ends => document.part = Part::Shell,
            Outcome::Left => {
                document.leave();
                self.scanner.watch(document.depth);
            }
            Outcome::Complete => return self.end_document(&document, units),
            // As in a top-level array, a comma may be missing.
            Outcome::Broken(NO_COMMA) if document.part == Part::Shell && document.is_in_array() => {
                self.scanner.resume(document.depth, self.scanner.blanks());
            }
            Outcome::Broken(reason) => {
                self.document = Some(document);
                return self.break_document(truncated(reason), units);
            }
            Outcome::TooDeep => {
                self.document = Some(document);
                return self.break_document(Cut::TooDeep { limit: MAX_DEPTH }, units);
            }
        }
        self.document = Some(document);
    }

    /// At the end of the first line of a document, which is still open; why it breaks there, if it does.
    fn end_first_line(&mut self, document: &mut Document) -> Option<&'static str> {
        if self.scanner.in_string() {
            return Some(LINE_BREAK_IN_STRING);
        }
        if document.first_line == FirstLine::IsLine && !GOES_ON.contains(&document.last) {
            return Some("a line that ends inside of a value");
        }
        if document.first_line == FirstLine::Decides {
            self.mode = Some(Mode::Values);
        }
        document.first_line = FirstLine::Over;
        None
    }

    fn begin_value(&mut self, buffer: &[u8], document: &mut Document) {
        if document.is_in_array() {
            let blanks = self.scanner.blanks();
            let indent = if blanks == NOT_FIRST { 0 } else { blanks };
            self.unit = Begun { byte: self.offset(), line: self.line, indent };
            return document.begin_element();
        }
        let byte = buffer[self.position];
        if document.is_next(byte) {
            self.enter(byte, document);
        }
    }

    /// Goes into a bracket of the path.
    fn enter(&mut self, bracket: u8, document: &mut Document) {
        let _ = self.scanner.scan(&[bracket], self.offset(), &mut self.line);
        self.position += 1;
        document.last = bracket;
        document.enter(bracket);
        self.scanner.watch(document.depth);
    }

    fn end_element(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        self.cut(buffer, units);
        self.state = State::Document;
        if let Some(document) = &mut self.document {
            document.part = Part::Shell;
        }
    }

    /// One more unit for what is left of the document. It stands where the document begins.
    fn end_document(&mut self, document: &Document, units: &mut Vec<Unit>) {
        if document.first_line == FirstLine::Decides {
            self.mode = Some(Mode::Lines);
        }
        let rest = document.rest();
        self.shells_cut += u64::from(document.is_cut);
        let (begun, on_first_line) = (document.begun, document.on_first_line);
        let item = (on_first_line > 0).then_some(on_first_line);
        if self.last.is_some_and(|last| last.0 == begun.line) {
            self.last = Some((begun.line, on_first_line));
        }
        self.units += 1;
        units.push(Unit { line: begun.line, item, byte: begun.byte, content: Content::Rest(rest), shell: None });
        self.blanks = NOT_FIRST;
        self.state = State::Between;
    }

    /// Rejects what of the document cannot go on: the element at hand, or the document from here on. What stands behind a
    /// broken element may be its next ones.
    pub(super) fn break_document(&mut self, cut: Cut, units: &mut Vec<Unit>) {
        let Some(document) = &mut self.document else { return self.resync_from_here() };
        let is_element = document.part == Part::Element;
        let is_first_line = document.first_line != FirstLine::Over;
        let begun = document.begun;
        document.part = Part::Shell;
        if is_element && !is_first_line {
            return match cut {
                Cut::TooDeep { .. } if !self.is_too_large() => {
                    self.push(Content::Rejected(cut), units);
                    self.resync_from_here();
                }
                cut => self.reject(cut, units),
            };
        }
        if !is_element {
            self.unit = Begun { byte: self.offset(), line: self.line, indent: begun.indent };
        }
        let cut = match cut {
            _ if is_element && self.is_too_large() => self.too_large(),
            Cut::Truncated(reason) if !is_element => {
                let Begun { line, byte, .. } = begun;
                Cut::Truncated(format!("{reason}, in the document that begins on line {line} (byte {byte})"))
            }
            cut => cut,
        };
        self.push(Content::Rejected(cut), units);
        self.drop_document();
        if is_first_line {
            self.mode = self.mode.or(Some(Mode::Lines));
            self.state = State::Skip;
        } else {
            self.resync_from_here();
        }
    }

    fn drop_document(&mut self) {
        if let Some(document) = self.document.take() {
            self.shells_cut += u64::from(document.is_cut);
        }
    }

    /// Before a bracket at the beginning of a line, after an element that broke: goes on in the document, if the bracket
    /// is indented further than that.
    pub(super) fn goes_on_in_document(&mut self) -> bool {
        let blanks = self.blanks;
        let Some(document) = &self.document else { return false };
        let is_further = document.is_in_array() && blanks != NOT_FIRST && blanks > document.begun.indent;
        if !is_further {
            self.drop_document();
            return false;
        }
        self.scanner.resume(document.depth, blanks);
        self.state = State::Document;
        true
    }

    /// Skips the rest of a line.
    pub(super) fn skip(&mut self, buffer: &[u8]) {
        let rest = &buffer[self.position..];
        match memchr(b'\n', rest) {
            Some(length) => {
                self.position += length;
                self.blanks = NOT_FIRST;
                self.state = State::Between;
            }
            None => self.position = buffer.len(),
        }
    }
}

/// Text before the object of a line, at most; behind more of it a line is no document.
const PREFIX_BYTES_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{
        End, Recognises,
        tests::{Told, frame_with, hostile, records},
        *,
    };
    use crate::input::Limits;

    const LIMITS: Limits =
        Limits { batch_bytes: 1, max_record_bytes: 300, document_bytes: 60, shell_bytes: 80, ..Limits::DEFAULT };

    /// Knows objects that begin with an id.
    fn has_id(object: &[u8]) -> bool {
        object.starts_with(b"{\"id\"")
    }

    fn framed(input: &[u8], chunk: usize, limits: &Limits, recognises: Recognises, end: &End) -> (Vec<Told>, u64) {
        frame_with(Framer::new(limits).recognising(recognises), input, chunk, end)
    }

    /// Units as their line, their position on it, and their text. What is left of a document begins with `=`, a reason with
    /// `!`; `around` says what is told of an element.
    #[track_caller]
    fn check(input: &str, around: bool, expected: &[(u64, u32, &str)]) {
        for chunk in [1, 7, input.len()] {
            let (units, _) = framed(input.as_bytes(), chunk, &LIMITS, has_id, &End::Complete);
            let text = |told: &Told| match &told.shell {
                Some(shell) if around => String::from_utf8(shell.around(told.text.as_bytes())).unwrap(),
                _ => told.text.clone(),
            };
            let got: Vec<(u64, u32, String)> =
                units.iter().map(|told| (told.line, told.item.unwrap_or(0), text(told))).collect();
            let expected: Vec<(u64, u32, String)> =
                expected.iter().map(|(line, item, text)| (*line, *item, (*text).to_owned())).collect();
            assert_eq!(got, expected, "{chunk} bytes at a time: {input}");
        }
    }

    const PAD: &str = "\"pad\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"";

    #[test]
    fn the_elements_of_a_large_document_are_units() {
        let line =
            format!("{{\"v\":1,\"list\":[{{\"id\":1}}, {{\"id\":2,{PAD}}},{{\"id\":3}}],\"end\":[{{\"id\":0}}]}}");
        let second = format!("{{\"id\":2,{PAD}}}");
        let rest = "={\"v\":1,\"list\":[],\"end\":[{\"id\":0}]} but 3";
        let whole = [(1, 0, "{\"id\":1}"), (1, 1, &second), (1, 2, "{\"id\":3}"), (1, 3, rest)];
        check(&line, false, &whole);
        check(&format!("{line}\n{{}}\n"), false, &[&whole[..], &[(2, 0, "{}")]].concat());
        check(&format!("{line} {{}} \n"), false, &[&whole[..], &[(1, 4, "{}")]].concat());
        let among = |lead: u64| whole.map(|(line, item, text)| (line + lead, item, text)).to_vec();
        check(&format!("{{}}\n{line}\n{{}}"), false, &[&[(1, 0, "{}")], &among(1)[..], &[(3, 0, "{}")]].concat());
        check(&format!("[{line},{{}}]"), false, &[&whole[..], &[(1, 4, "{}")]].concat());
        check(&line.replace("},{", "}{"), false, &whole);
        let shell = |element: &str| format!("{{\"v\":1,\"list\":[{element}]}}");
        let [first, second, third] = ["{\"id\":1}", &second, "{\"id\":3}"].map(shell);
        check(&line, true, &[(1, 0, &first), (1, 1, &second), (1, 2, &third), (1, 3, rest)]);
    }

    #[test]
    fn a_document_may_stand_on_many_lines_or_behind_text() {
        let pretty = format!("{{\n  \"v\": 1,\n  \"list\": [\n    {{\"id\":1}},\n    {{\"id\":2,\n{PAD}}}\n  ]\n}}");
        let second = format!("{{\"id\":2,\n{PAD}}}");
        let rest = "={\n  \"v\": 1,\n  \"list\": []\n} but 2";
        let whole = [(4, 0, "{\"id\":1}"), (5, 0, &second), (1, 0, rest)];
        check(&pretty, false, &whole);
        check(&format!("{pretty}\n{{\n}}"), false, &[&whole[..], &[(9, 0, "{\n}")]].concat());
        let among = whole.map(|(line, item, text)| (line + 1, item, text));
        check(&format!("{{}}\n{pretty}\n{{}}"), false, &[&[(1, 0, "{}")], &among[..], &[(10, 0, "{}")]].concat());
        let shell = format!("INFO {{\"l\":[{{\"id\":2,{PAD}}}]}}");
        check(
            &format!("INFO {{\"l\":[{{\"id\":1}},{{\"id\":2,{PAD}}}]}} ok\nx"),
            true,
            &[
                (1, 0, "INFO {\"l\":[{\"id\":1}]}"),
                (1, 1, &shell),
                (1, 2, "=INFO {\"l\":[]} but 2"),
                (1, 3, "ok"),
                (2, 0, "x"),
            ],
        );
    }

    #[test]
    fn arrays_under_the_same_keys_hold_units_too() {
        let spans = |name: &str, ids: [u32; 2]| {
            format!("{{\"r\":\"{name}\",\"s\":[{{\"t\":[{{\"id\":{}}},{{\"id\":{}}}]}}]}}", ids[0], ids[1])
        };
        let input = format!("{{{PAD},\"x\":[{},{}]}}", spans("a", [1, 2]), spans("b", [3, 4]));
        let shell =
            |name: &str, id: u32| format!("{{{PAD},\"x\":[{{\"r\":\"{name}\",\"s\":[{{\"t\":[{{\"id\":{id}}}]}}]}}]}}");
        let all = [shell("a", 1), shell("a", 2), shell("b", 3), shell("b", 4)];
        let rest = format!("={{{PAD},\"x\":[]}} but 4");
        let expected = [(1, 0, &*all[0]), (1, 1, &all[1]), (1, 2, &all[2]), (1, 3, &all[3]), (1, 4, &rest)];
        // The shell must have been seen when the document is looked into.
        let document_bytes = input.find("{\"id\":2").unwrap() as u64;
        let limits = Limits { document_bytes, shell_bytes: 200, ..LIMITS };
        let (units, _) = framed(input.as_bytes(), 5, &limits, has_id, &End::Complete);
        let got: Vec<(u64, u32, String)> = units
            .iter()
            .map(|told| {
                let shell = told.shell.as_ref().map(|shell| shell.around(told.text.as_bytes()));
                let text = shell.map_or(told.text.clone(), |shell| String::from_utf8(shell).unwrap());
                (told.line, told.item.unwrap_or(0), text)
            })
            .collect();
        let expected: Vec<(u64, u32, String)> =
            expected.iter().map(|(line, item, text)| (*line, *item, (*text).to_owned())).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn what_nobody_knows_stays_whole() {
        let messages = format!("{{\"messages\":[{{\"role\":\"a\"}},{{\"role\":\"b\",{PAD}}},{{\"role\":\"c\"}}]}}");
        check(&messages, false, &[(1, 0, &messages)]);
        check(&format!("{messages}\n{{}}"), false, &[(1, 0, &messages), (2, 0, "{}")]);
        let large = format!("{{\"messages\":[{}]}}", vec!["{\"role\":\"a\"}"; 30].join(","));
        check(&large, false, &[(1, 0, &format!("!larger than 300: {}", large.len()))]);
        // The question is asked again when the document has grown to twice its size.
        let late_first = format!("{{{PAD},{PAD}}}");
        let late = format!("{{\"a\":[{{{PAD},{PAD}}},{{\"id\":1}},{}]}}", vec!["{\"id\":2}"; 20].join(","));
        let (units, _) = framed(late.as_bytes(), 1, &LIMITS, has_id, &End::Complete);
        assert_eq!((units.len(), units[0].text.as_str()), (23, late_first.as_str()));
    }

    #[test]
    fn shells_and_elements_have_limits() {
        let wide = "y".repeat(400);
        let list = format!("[{{\"id\":1,{PAD}}},{{\"id\":2,\"a\":\"{wide}\"}},{{\"id\":3}},4,null,\"a,\",[5]]");
        let first = format!("{{\"id\":1,{PAD}}}");
        let elements = [(1, 0, &*first), (1, 1, "!larger than 300: 415"), (1, 2, "{\"id\":3}")];
        let others = [(1, 3, "4"), (1, 4, "null"), (1, 5, "\"a,\""), (1, 6, "[5]")];
        let all = [&elements[..], &others].concat();
        check(&format!("{{\"l\":{list}}}"), false, &[&all[..], &[(1, 7, "={\"l\":[]} but 7")]].concat());
        check(&format!("{{\"l\":{list},\"z\":\"{wide}\"}}"), false, &[&all[..], &[(1, 7, "=? but 7")]].concat());
        let input = format!("{{{PAD},{PAD},\"l\":{list}}}");
        let (units, _) = framed(input.as_bytes(), 9, &LIMITS, has_id, &End::Complete);
        assert!(units.len() == 8 && units.iter().all(|told| told.shell.is_none()), "{units:?}");
    }

    #[test]
    fn a_document_that_breaks_says_where() {
        let head = format!("{{\"l\":[{{\"id\":1}},{{\"id\":2,{PAD}}}");
        let second = format!("{{\"id\":2,{PAD}}}");
        let known = [(1, 0, "{\"id\":1}"), (1, 1, &*second)];
        let here = ", in the document that begins on line 1 (byte 0)";
        let and = |more: &[(u64, u32, &'static str)]| [&known[..], more].concat();
        check(&format!("{head},{{\"id\":3"), false, &and(&[(1, 2, "!the input ends inside of a value")]));
        let reason = format!("!the input ends inside of a value{here}");
        check(&head, false, &[&known[..], &[(1, 2, &reason)]].concat());
        check(
            &format!("{head},{{\"id\":\"x\n{{}}"),
            false,
            &and(&[(1, 2, "!a line break inside of a string"), (2, 0, "{}")]),
        );
        let reason = format!("!a line that ends inside of a value{here}");
        let among = [(2, 0, "{\"id\":1}"), (2, 1, &*second), (2, 2, &*reason), (3, 0, "{}")];
        let among = [&[(1, 0, "{}")], &among[..]].concat();
        let reason = reason.replace("line 1 (byte 0)", "line 2 (byte 3)");
        let among: Vec<_> =
            among.iter().map(|&(l, i, t)| (l, i, if t.starts_with("!a line") { &*reason } else { t })).collect();
        check(&format!("{{}}\n{head}\n{{}}"), false, &among);
        let reason = format!("!a closing bracket that does not match the open one{here}");
        check(&format!("{head}}} more\n{{}}"), false, &[&known[..], &[(1, 2, &reason), (2, 0, "{}")]].concat());
        // In a document on many lines, a broken element costs no other.
        let broken = format!(
            "{{\n  \"l\": [\n    {{\"id\":1}},\n    {second},\n    {{\"id\":\"{PAD}\n    }},\n    {{\"id\":3}}\n  ]\n}}\n{{\n}}"
        );
        let value = "!a value without a comma before it";
        let rest = "={\n  \"l\": []\n} but 4";
        let known = [(3, 0, "{\"id\":1}"), (4, 0, &*second)];
        let more = [(5, 0, value), (7, 0, "{\"id\":3}"), (1, 0, rest), (10, 0, "{\n}")];
        check(&broken, false, &[&known[..], &more].concat());
    }

    /// Knows what [`records`] gives, and not what stands in it.
    fn is_record(object: &[u8]) -> bool {
        object.starts_with(b"{\n  \"") || object.starts_with(b"{  \"")
    }

    fn document(records: &[String], head: &str, is_pretty: bool) -> String {
        let records = records.join(if is_pretty { ",\n" } else { "," });
        let records = if is_pretty { records } else { records.replace('\n', "") };
        format!("{{{head}\"list\":[{records}]}}")
    }

    proptest! {
        #[test]
        fn units_of_documents_do_not_depend_on_the_chunks(
            input in hostile(), chunk in 1_usize..40, document_bytes in 1_u64..30, max_record_bytes in 1_u64..60,
            shell_bytes in 0_usize..40, is_failed in any::<bool>()
        ) {
            let limits = Limits { document_bytes, max_record_bytes, shell_bytes, ..LIMITS };
            let end = if is_failed { End::Failed("gone".into()) } else { End::Complete };
            let (whole, work) = framed(&input, input.len().max(1), &limits, |_| true, &end);
            prop_assert!(work <= 8 * input.len() as u64, "{} for {}", work, input.len());
            prop_assert_eq!(&framed(&input, 1, &limits, |_| true, &end).0, &whole);
            prop_assert_eq!(&framed(&input, chunk, &limits, |_| true, &end).0, &whole);
            let lines = 1 + input.iter().filter(|&&byte| byte == b'\n').count() as u64;
            let mut places: Vec<(u64, Option<u32>)> = whole.iter().map(|told| (told.line, told.item)).collect();
            prop_assert!(places.iter().all(|place| place.0 <= lines));
            places.sort_unstable();
            places.dedup();
            prop_assert_eq!(places.len(), whole.len(), "a place is that of one unit");
        }

        #[test]
        fn no_element_is_lost(
            records in records(), is_pretty in any::<bool>(), has_head in any::<bool>(), document_bytes in 1_u64..200
        ) {
            let head = if has_head { "\"a\":{\"b\":[1]}," } else { "" };
            let input = document(&records, head, is_pretty);
            let limits = Limits { document_bytes, shell_bytes: 1000, max_record_bytes: 100_000, ..LIMITS };
            let (units, _) = framed(input.as_bytes(), 13, &limits, is_record, &End::Complete);
            if units.len() == 1 {
                prop_assert_eq!(&units[0].text, &input);
                return Ok(());
            }
            let texts: Vec<&str> = units.iter().map(|told| told.text.as_str()).collect();
            let (rest, elements) = texts.split_last().unwrap();
            let expected: Vec<String> =
                records.iter().map(|record| if is_pretty { record.clone() } else { record.replace('\n', "") }).collect();
            prop_assert_eq!(elements, &expected);
            prop_assert_eq!(*rest, format!("={} but {}", document(&[], head, is_pretty), records.len()));
            for (told, element) in units.iter().zip(expected) {
                let around = told.shell.as_ref().unwrap().around(element.as_bytes());
                prop_assert_eq!(String::from_utf8(around).unwrap(), document(&[element], head, true));
            }
        }
    }
}
