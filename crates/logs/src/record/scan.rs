//! Why a unit is not strict JSON, and the little that can be read all the same.
//!
//! The parser is fast and says little; only when it refuses does this scanner walk the unit once more. It either
//! names the first fault (in plain words, with its byte), or finds nothing but the four oddities that real writers
//! produce, and makes a copy without them:
//!
//! - `NaN`, `Infinity` and `-Infinity` (Python writes them): read as missing, that is null
//! - a number beyond the range of a 64-bit float (`1e400`): read as missing
//! - half of a surrogate pair in an escape: read as U+FFFD
//! - bytes that are not UTF-8, inside of a string: read as U+FFFD
//!
//! **Limits**: one note per oddity, with the place of the first and the number of the others.

use std::{borrow::Cow, collections::HashSet, fmt::Write, ops::Range};

use super::{
    Problem,
    json::{MAX_DEPTH, ParseError},
};

/// Characters of a key that a reason shows.
const SHOWN_KEY_CHARS: usize = 40;

/// What reads in place of text that is not Unicode.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// A unit that is JSON but for oddities.
pub(crate) struct Scan {
    /// Where the first value ends.
    pub end: usize,
    /// Its elements, when it is an array.
    pub elements: Vec<Range<usize>>,
    /// The value without its oddities; `None` when it has none.
    pub patched: Option<Vec<u8>>,
    /// What was patched.
    pub problems: Vec<Problem>,
    /// Where the first patch begins, and what stood there.
    pub first_oddity: Option<(usize, &'static str)>,
}

/// Scans the value that `bytes` begin with. `base` is added to the bytes that reasons name.
pub(crate) fn scan(bytes: &[u8], base: usize) -> Result<Scan, ParseError> {
    let mut scanner = Scanner::new(bytes);
    match scanner.value() {
        Ok(()) => Ok(scanner.finish(base)),
        Err(ParseError { byte, reason }) => Err(ParseError { byte: byte + base, reason }),
    }
}

/// Why `bytes` are not exactly one JSON value, given that the strict parser refused them.
pub(crate) fn fault(bytes: &[u8]) -> ParseError {
    match scan(bytes, 0) {
        Err(error) => error,
        Ok(scan) => {
            let trailing = next_visible(bytes, scan.end).map(|byte| (byte, "more text after the value"));
            let (byte, reason) = trailing.or(scan.first_oddity).unwrap_or((0, "not strict JSON"));
            ParseError { byte, reason: reason.to_owned() }
        }
    }
}

/// Offset of the first byte from `from` on that is not JSON white space.
pub(crate) fn next_visible(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).map(|at| from + at)
}

#[derive(Clone, Copy)]
enum Oddity {
    NotFinite,
    OutOfRange,
    LoneSurrogate,
    InvalidUtf8,
}

const ODDITIES: [(&str, &str); 4] = [
    ("NaN or Infinity", "is read as missing"),
    ("a number beyond the range of 64-bit floats", "is read as missing"),
    ("half of a surrogate pair", "is read as U+FFFD"),
    ("text that is not UTF-8", "is read as U+FFFD"),
];

/// The first place of an oddity, and how often it occurs.
struct Note {
    byte: usize,
    pointer: String,
    count: usize,
}

/// A container that is open at the scanner's place.
enum Frame<'a> {
    Array { count: usize, start: usize },
    Object { key: Range<usize>, keys: HashSet<Cow<'a, str>> },
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    frames: Vec<Frame<'a>>,
    elements: Vec<Range<usize>>,
    patched: Vec<u8>,
    copied: usize,
    notes: [Option<Note>; 4],
}

/// What a value turned out to be.
enum Step {
    /// A container was opened.
    Opened,
    /// A value is complete.
    Done,
}

impl<'a> Scanner<'a> {
    fn new(bytes: &'a [u8]) -> Scanner<'a> {
        let notes = [const { None }; 4];
        Scanner { bytes, at: 0, frames: Vec::new(), elements: Vec::new(), patched: Vec::new(), copied: 0, notes }
    }

    fn finish(mut self, base: usize) -> Scan {
        let is_patched = self.notes.iter().any(Option::is_some);
        self.patched.extend_from_slice(&self.bytes[self.copied..self.at]);
        let places = self.notes.iter().zip(ODDITIES);
        let first_oddity = places.filter_map(|(note, (what, _))| Some((note.as_ref()?.byte + base, what))).min();
        let notes = self.notes.into_iter().zip(ODDITIES);
        let problems = notes.filter_map(|(note, (what, reading))| {
            let Note { byte, pointer, count } = note?;
            let more = if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
            Some(Problem { field: pointer, reason: format!("{what} at byte {}{more} {reading}", byte + base) })
        });
        let problems = problems.collect();
        Scan {
            end: self.at,
            elements: self.elements,
            patched: is_patched.then_some(self.patched),
            problems,
            first_oddity,
        }
    }

    /// One value with everything in it; a loop and not a recursion, so that hostile nesting costs no stack.
    fn value(&mut self) -> Result<(), ParseError> {
        let mut step = self.begin_value()?;
        loop {
            if let Step::Done = step
                && self.frames.is_empty()
            {
                return Ok(());
            }
            step = match (step, self.frames.last()) {
                (Step::Opened, Some(Frame::Array { .. })) => self.first_element()?,
                (Step::Opened, _) => self.first_member()?,
                (Step::Done, Some(Frame::Array { .. })) => self.after_element()?,
                (Step::Done, _) => self.after_member()?,
            };
        }
    }

    fn begin_value(&mut self) -> Result<Step, ParseError> {
        let Some(byte) = self.peek() else { return Err(self.ends(self.where_am_i("before a value"))) };
        match byte {
            b'{' => self.open(Frame::Object { key: 0..0, keys: HashSet::new() }),
            b'[' => self.open(Frame::Array { count: 0, start: 0 }),
            b'"' => self.string().map(|_| Step::Done),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            b'N' => self.not_finite("NaN"),
            b'I' => self.not_finite("Infinity"),
            _ => Err(self.expected("a value")),
        }
    }

    fn open(&mut self, frame: Frame<'a>) -> Result<Step, ParseError> {
        if self.frames.len() == MAX_DEPTH {
            return Err(self.fault(self.at, format!("nested more than {MAX_DEPTH} levels deep")));
        }
        self.at += 1;
        self.frames.push(frame);
        Ok(Step::Opened)
    }

    fn close(&mut self) -> Step {
        self.at += 1;
        self.frames.pop();
        Step::Done
    }

    fn first_element(&mut self) -> Result<Step, ParseError> {
        if self.peek() == Some(b']') {
            return Ok(self.close());
        }
        self.element()
    }

    fn element(&mut self) -> Result<Step, ParseError> {
        let _white_space_skipped = self.peek();
        if let Some(Frame::Array { start, .. }) = self.frames.last_mut() {
            *start = self.at;
        }
        self.begin_value()
    }

    fn after_element(&mut self) -> Result<Step, ParseError> {
        let end = self.at;
        let outermost = self.frames.len() == 1;
        if let Some(Frame::Array { count, start }) = self.frames.last_mut() {
            *count += 1;
            if outermost {
                self.elements.push(*start..end);
            }
        }
        match self.peek() {
            Some(b']') => Ok(self.close()),
            Some(b',') => {
                self.at += 1;
                if self.peek() == Some(b']') { Err(self.expected("a value")) } else { self.element() }
            }
            Some(_) => Err(self.expected("`,` or `]`")),
            None => Err(self.ends("inside of an array")),
        }
    }

    fn first_member(&mut self) -> Result<Step, ParseError> {
        if self.peek() == Some(b'}') {
            return Ok(self.close());
        }
        self.member()
    }

    fn member(&mut self) -> Result<Step, ParseError> {
        match self.peek() {
            Some(b'"') => {}
            Some(_) => return Err(self.expected("a key in double quotes")),
            None => return Err(self.ends("inside of an object")),
        }
        let token = self.string()?;
        if let Some(Frame::Object { key, keys }) = self.frames.last_mut() {
            *key = token.clone();
            if !keys.insert(key_text(&self.bytes[token.clone()])) {
                let shown = shown_key(&key_text(&self.bytes[token.clone()]));
                return Err(self.fault(token.start, format!("duplicate key `{shown}`")));
            }
        }
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(_) => return Err(self.expected("`:` after a key")),
            None => return Err(self.ends("inside of an object")),
        }
        self.begin_value()
    }

    fn after_member(&mut self) -> Result<Step, ParseError> {
        match self.peek() {
            Some(b'}') => Ok(self.close()),
            Some(b',') => {
                self.at += 1;
                self.member()
            }
            Some(_) => Err(self.expected("`,` or `}`")),
            None => Err(self.ends("inside of an object")),
        }
    }

    fn string(&mut self) -> Result<Range<usize>, ParseError> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at) {
                None => return Err(self.ends("inside of a string")),
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(0) => return Err(self.fault(self.at, "a NUL byte inside of a string")),
                Some(0x01..0x20) => {
                    return Err(self.fault(self.at, "a control character inside of a string (it must be escaped)"));
                }
                Some(0x80..) => self.beyond_ascii(),
                Some(_) => {
                    let rest = &self.bytes[self.at..];
                    let is_special = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\' | 0x80..);
                    self.at += rest.iter().position(is_special).unwrap_or(rest.len());
                }
            }
        }
        self.at += 1;
        Ok(start..self.at)
    }

    fn escape(&mut self) -> Result<(), ParseError> {
        match self.bytes.get(self.at + 1) {
            None => return Err(self.ends("inside of a string")),
            Some(b'u') => {}
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                return Ok(());
            }
            Some(_) => return Err(self.fault(self.at, "an escape that JSON does not know")),
        }
        match (self.unicode_escape(self.at)?, self.bytes.get(self.at + 6..self.at + 8)) {
            (0xd800..0xdc00, Some(b"\\u")) if (0xdc00..0xe000).contains(&self.unicode_escape(self.at + 6)?) => {
                self.at += 12;
            }
            (0xd800..0xe000, _) => self.patch(6, REPLACEMENT, Oddity::LoneSurrogate),
            _ => self.at += 6,
        }
        Ok(())
    }

    /// The code unit of an escape `\uXXXX`.
    fn unicode_escape(&self, at: usize) -> Result<u32, ParseError> {
        let digits = &self.bytes[(at + 2).min(self.bytes.len())..(at + 6).min(self.bytes.len())];
        let is_hexadecimal = digits.iter().all(u8::is_ascii_hexdigit);
        if is_hexadecimal && digits.len() < 4 {
            return Err(self.ends("inside of a string"));
        }
        let unit = std::str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok());
        unit.filter(|_| is_hexadecimal).ok_or_else(|| self.fault(at, "an escape without its four hexadecimal digits"))
    }

    /// A run of bytes beyond ASCII; what is not UTF-8 is replaced.
    fn beyond_ascii(&mut self) {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(u8::is_ascii).unwrap_or(rest.len());
        for chunk in rest[..length].utf8_chunks() {
            self.at += chunk.valid().len();
            if !chunk.invalid().is_empty() {
                self.patch(chunk.invalid().len(), REPLACEMENT, Oddity::InvalidUtf8);
            }
        }
    }

    fn number(&mut self) -> Result<Step, ParseError> {
        let start = self.at;
        if self.bytes[start..].starts_with(b"-I") {
            return self.not_finite("-Infinity");
        }
        self.at += usize::from(self.bytes[start] == b'-');
        if self.bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
            if self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
                return Err(self.fault(start, "a number with a leading zero"));
            }
        } else {
            self.digits(start)?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits(start)?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            self.digits(start)?;
        }
        let text = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default();
        if text.parse::<f64>().is_ok_and(f64::is_infinite) {
            let length = self.at - start;
            self.at = start;
            self.patch(length, b"null", Oddity::OutOfRange);
        }
        Ok(Step::Done)
    }

    fn digits(&mut self, start: usize) -> Result<(), ParseError> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += length;
        match (length, self.at < self.bytes.len()) {
            (0, false) => Err(self.ends("inside of a number")),
            (0, true) => Err(self.fault(start, "a number that breaks off")),
            _ => Ok(()),
        }
    }

    fn word(&mut self, word: &str) -> Result<Step, ParseError> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(Step::Done);
        }
        if word.as_bytes().starts_with(rest) {
            return Err(self.ends("inside of a word"));
        }
        Err(self.expected("a value"))
    }

    fn not_finite(&mut self, word: &str) -> Result<Step, ParseError> {
        let start = self.at;
        self.word(word)?;
        self.at = start;
        self.patch(word.len(), b"null", Oddity::NotFinite);
        Ok(Step::Done)
    }

    /// Replaces `length` bytes at the scanner's place and notes why.
    fn patch(&mut self, length: usize, replacement: &[u8], oddity: Oddity) {
        self.patched.extend_from_slice(&self.bytes[self.copied..self.at]);
        self.patched.extend_from_slice(replacement);
        match &mut self.notes[oddity as usize] {
            Some(note) => note.count += 1,
            None => {
                let pointer = self.pointer();
                self.notes[oddity as usize] = Some(Note { byte: self.at, pointer, count: 1 });
            }
        }
        self.at += length;
        self.copied = self.at;
    }

    /// JSON Pointer of the value at the scanner's place.
    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for frame in &self.frames {
            pointer.push('/');
            match frame {
                Frame::Array { count, .. } => {
                    let _infallible = write!(pointer, "{count}");
                }
                Frame::Object { key, .. } => {
                    let key = shown_key(&key_text(&self.bytes[key.clone()]));
                    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                }
            }
        }
        pointer
    }

    /// Skips white space and shows the next byte.
    fn peek(&mut self) -> Option<u8> {
        self.at = next_visible(self.bytes, self.at).unwrap_or(self.bytes.len());
        self.bytes.get(self.at).copied()
    }

    fn where_am_i(&self, outside: &'static str) -> &'static str {
        match self.frames.last() {
            None => outside,
            Some(Frame::Array { .. }) => "inside of an array",
            Some(Frame::Object { .. }) => "inside of an object",
        }
    }

    fn ends(&self, place: &str) -> ParseError {
        self.fault(self.bytes.len(), format!("ends {place}"))
    }

    fn expected(&self, what: &str) -> ParseError {
        let found = self.bytes.get(self.at).map_or("the end", |byte| describe(*byte));
        self.fault(self.at, format!("expected {what}, found {found}"))
    }

    fn fault(&self, byte: usize, reason: impl Into<String>) -> ParseError {
        ParseError { byte, reason: reason.into() }
    }
}

/// The text of a key's token; oddities in it are patched.
fn key_text(token: &[u8]) -> Cow<'_, str> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    match std::str::from_utf8(inner) {
        Ok(text) if !text.contains('\\') => Cow::Borrowed(text),
        _ => {
            let patched = scan(token, 0).ok().and_then(|scan| scan.patched);
            Cow::Owned(serde_json::from_slice(patched.as_deref().unwrap_or(token)).unwrap_or_default())
        }
    }
}

/// A key as a reason may show it: short, and without control characters.
pub(crate) fn shown_key(key: &str) -> String {
    let mut shown: String =
        key.chars().take(SHOWN_KEY_CHARS).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if key.chars().nth(SHOWN_KEY_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

fn describe(byte: u8) -> &'static str {
    match byte {
        b'{' => "`{`",
        b'}' => "`}`",
        b'[' => "`[`",
        b']' => "`]`",
        b':' => "`:`",
        b',' => "`,`",
        b'"' => "a string",
        b'\'' => "a single quote",
        b'0'..=b'9' | b'-' => "a number",
        b'a'..=b'z' | b'A'..=b'Z' => "a letter",
        0 => "a NUL byte",
        0x01..0x20 | 0x7f => "a control character",
        0x80.. => "a byte outside of ASCII",
        _ => "a punctuation mark",
    }
}
