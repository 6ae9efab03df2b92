//! Where does a JSON object or array end? Brackets, strings and the order of tokens, without parsing a value.
//!
//! The scanner is fed bytes in pieces of any size and stops at the end of the value, or at the first byte that cannot
//! stand where it stands. Finding that byte early is what keeps one truncated object from swallowing its neighbours.
//!
//! **Limits**: scalars are any run of bytes that JSON gives no structural meaning (`nul` and `01` pass), escapes are
//! skipped and not checked, and a comma before a closing bracket passes: the parser says what is wrong with these.

use memchr::memchr3;

/// Deepest nesting of a value, in brackets; deeper values are rejected. The limit that `serde_json` has, too.
pub const MAX_DEPTH: usize = 128;

/// As a count of blanks: something else than blanks has been seen on this line.
pub(super) const NOT_FIRST: usize = usize::MAX;

/// Whether JSON takes the byte for white space and it does not end a line.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// What became of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is open still at the end of the bytes.
    Open,
    /// It ends with the last byte consumed.
    Complete,
    /// The byte after the last one consumed cannot stand there, and why.
    Broken(&'static str),
    /// The byte after the last one consumed opens a bracket deeper than [`MAX_DEPTH`].
    TooDeep,
    /// The byte after the last one consumed begins a key of the watched bracket.
    Key,
    /// The byte after the last one consumed begins a value in the watched bracket.
    Begins,
    /// A key of the watched bracket, or a value in it, has ended.
    Ends,
    /// The last byte consumed closes the watched bracket.
    Left,
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// A key or the end of the object.
    Key,
    /// The colon after a key.
    Colon,
    /// The value after a colon.
    Value,
    /// An element or the end of the array.
    Element,
    /// A comma or a closing bracket, after a value.
    Comma,
}

/// The token that the bytes so far have left unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    None,
    String,
    Escape,
    Scalar,
}

/// Scans one value that begins with `{` or `[`.
#[derive(Debug)]
pub(super) struct Scanner {
    /// The open brackets, outermost first: offset times two, plus one for an object.
    open: Vec<u64>,
    expect: Expect,
    token: Token,
    /// Blanks between the last line break and the next byte, or [`NOT_FIRST`].
    blanks: usize,
    /// How many brackets are open where the scanner stops at each key and each value, or [`NOWHERE`].
    watched: usize,
    /// Whether it has stopped before the next byte already.
    has_stopped: bool,
}

/// As a number of brackets: the scanner stops at no key and no value.
const NOWHERE: usize = usize::MAX;

impl Scanner {
    /// A scanner that stands before the first byte of a value.
    pub(super) fn new() -> Scanner {
        Scanner {
            open: Vec::new(),
            expect: Expect::Element,
            token: Token::None,
            blanks: NOT_FIRST,
            watched: NOWHERE,
            has_stopped: false,
        }
    }

    /// Goes back before the first byte of a value.
    pub(super) fn reset(&mut self) {
        self.open.clear();
        self.expect = Expect::Element;
        self.token = Token::None;
        self.blanks = NOT_FIRST;
        self.watched = NOWHERE;
        self.has_stopped = false;
    }

    /// Stops from here on at each key and each value of the bracket at this depth, counted from 1.
    pub(super) fn watch(&mut self, depth: usize) {
        self.watched = depth;
    }

    /// Goes back to before an element of the bracket at this depth, which is an array; `blanks` stand before it.
    pub(super) fn resume(&mut self, depth: usize, blanks: usize) {
        self.open.truncate(depth);
        self.expect = Expect::Element;
        self.token = Token::None;
        self.blanks = blanks;
        self.has_stopped = false;
    }

    /// Offsets of the brackets that are open, outermost first.
    pub(super) fn open_brackets(&self) -> impl Iterator<Item = u64> {
        self.open.iter().map(|bracket| bracket >> 1)
    }

    /// As [`Scanner::open_brackets`], with whether they are objects.
    pub(super) fn open_brackets_with_kind(&self) -> impl Iterator<Item = (u64, bool)> {
        self.open.iter().map(|bracket| (bracket >> 1, bracket & 1 == 1))
    }

    /// Whether the bytes so far end inside of a string.
    pub(super) fn in_string(&self) -> bool {
        matches!(self.token, Token::String | Token::Escape)
    }

    /// Blanks before the byte at which the scanner stands, or [`NOT_FIRST`] when it is not the first on its line.
    pub(super) fn blanks(&self) -> usize {
        self.blanks
    }

    /// Scans on. `offset` is that of the first byte in the source; `line` is counted up at each line break. Returns how
    /// many bytes were consumed, and why it stopped there.
    pub(super) fn scan(&mut self, bytes: &[u8], offset: u64, line: &mut u64) -> (usize, Outcome) {
        let mut at = 0;
        let mut blanks = self.blanks;
        let outcome = loop {
            if self.token != Token::None {
                if let Some(reason) = self.finish_token(bytes, &mut at) {
                    break Outcome::Broken(reason);
                }
                if self.token == Token::None && self.open.len() == self.watched {
                    break Outcome::Ends;
                }
            }
            let Some(&byte) = bytes.get(at) else { break Outcome::Open };
            if self.open.len() == self.watched
                && !self.has_stopped
                && let Some(outcome) = self.begins(byte)
            {
                self.has_stopped = true;
                break outcome;
            }
            match byte {
                b' ' | b'\t' | b'\r' => {
                    blanks = blanks.saturating_add(1);
                    at += 1;
                    continue;
                }
                b'\n' => {
                    *line += 1;
                    blanks = 0;
                    at += 1;
                    continue;
                }
                b'"' => {
                    self.expect = match self.expect {
                        Expect::Key => Expect::Colon,
                        Expect::Value | Expect::Element => Expect::Comma,
                        Expect::Colon => break Outcome::Broken(NO_COLON),
                        Expect::Comma => break Outcome::Broken(NO_COMMA),
                    };
                    self.token = Token::String;
                }
                b'{' | b'[' => {
                    if let Some(reason) = self.no_value_here() {
                        break Outcome::Broken(reason);
                    }
                    if self.open.len() == MAX_DEPTH {
                        break Outcome::TooDeep;
                    }
                    let is_object = byte == b'{';
                    self.open.push((offset + at as u64) << 1 | u64::from(is_object));
                    self.expect = if is_object { Expect::Key } else { Expect::Element };
                }
                b'}' | b']' => {
                    if matches!(self.expect, Expect::Colon | Expect::Value) {
                        break Outcome::Broken("an object that ends after a key");
                    }
                    if self.in_object() != (byte == b'}') {
                        break Outcome::Broken("a closing bracket that does not match the open one");
                    }
                    self.open.pop();
                    self.expect = Expect::Comma;
                    let ended = match self.open.len() {
                        0 => Some(Outcome::Complete),
                        depth if depth == self.watched => Some(Outcome::Ends),
                        depth if depth + 1 == self.watched => Some(Outcome::Left),
                        _ => None,
                    };
                    if let Some(outcome) = ended {
                        at += 1;
                        blanks = NOT_FIRST;
                        break outcome;
                    }
                }
                b',' => {
                    if self.expect != Expect::Comma {
                        break Outcome::Broken("a comma without a value before it");
                    }
                    self.expect = if self.in_object() { Expect::Key } else { Expect::Element };
                }
                b':' => {
                    if self.expect != Expect::Colon {
                        break Outcome::Broken("a colon without a key before it");
                    }
                    self.expect = Expect::Value;
                }
                _ => {
                    if let Some(reason) = self.no_value_here() {
                        break Outcome::Broken(reason);
                    }
                    self.expect = Expect::Comma;
                    self.token = Token::Scalar;
                }
            }
            blanks = NOT_FIRST;
            self.has_stopped = false;
            at += 1;
        };
        self.blanks = blanks;
        (at, outcome)
    }

    /// Skips the rest of an unfinished token; a reason when a line break cuts a string.
    fn finish_token(&mut self, bytes: &[u8], at: &mut usize) -> Option<&'static str> {
        if self.token == Token::Scalar {
            *at += bytes[*at..].iter().take_while(|&&byte| !ends_scalar(byte)).count();
            if *at < bytes.len() {
                self.token = Token::None;
            }
            return None;
        }
        while *at < bytes.len() {
            if self.token == Token::Escape {
                if bytes[*at] == b'\n' {
                    return Some(LINE_BREAK_IN_STRING);
                }
                self.token = Token::String;
                *at += 1;
            }
            let Some(length) = memchr3(b'"', b'\\', b'\n', &bytes[*at..]) else {
                *at = bytes.len();
                return None;
            };
            *at += length;
            match bytes[*at] {
                b'"' => {
                    self.token = Token::None;
                    *at += 1;
                    return None;
                }
                b'\\' => self.token = Token::Escape,
                _ => return Some(LINE_BREAK_IN_STRING),
            }
            *at += 1;
        }
        None
    }

    /// What begins with the byte, in a bracket that is watched.
    fn begins(&self, byte: u8) -> Option<Outcome> {
        match (self.expect, byte) {
            (_, b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' | b'}' | b']') => None,
            (Expect::Key, b'"') => Some(Outcome::Key),
            (Expect::Value | Expect::Element, _) => Some(Outcome::Begins),
            _ => None,
        }
    }

    fn in_object(&self) -> bool {
        self.open.last().is_some_and(|bracket| bracket & 1 == 1)
    }

    /// Why no value can begin here, if so.
    fn no_value_here(&self) -> Option<&'static str> {
        match self.expect {
            Expect::Value | Expect::Element => None,
            Expect::Key => Some("a value where a key must stand"),
            Expect::Colon => Some(NO_COLON),
            Expect::Comma => Some(NO_COMMA),
        }
    }
}

pub(super) const LINE_BREAK_IN_STRING: &str = "a line break inside of a string";
const NO_COLON: &str = "a key without a colon after it";
pub(super) const NO_COMMA: &str = "a value without a comma before it";

fn ends_scalar(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' | b'"' | b'{' | b'}' | b'[' | b']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, consumed: usize, outcome: Outcome) {
        let mut line = 1;
        assert_eq!(Scanner::new().scan(text.as_bytes(), 0, &mut line), (consumed, outcome), "{text}");
        let mut scanner = Scanner::new();
        let (mut at, mut last) = (0, Outcome::Open);
        while at < text.len() && last == Outcome::Open {
            let (count, next) = scanner.scan(&text.as_bytes()[at..=at], at as u64, &mut line);
            at += count;
            last = next;
        }
        assert_eq!((at, last), (consumed, outcome), "byte by byte: {text}");
    }

    #[test]
    fn values_end_where_their_bracket_closes() {
        for text in [
            "{}",
            "[]",
            r#"{"a":1,"b":[true,null,{"c":"x"}],}"#,
            "{\n  \"a\": \"}\\\"]\\\\\",\n  \"b\": [ ]\n}",
            "[1,2,[3,-4.5e6],]",
        ] {
            check(text, text.len(), Outcome::Complete);
            check(&format!("{text}{{"), text.len(), Outcome::Complete);
            check(&text[..text.len() - 1], text.len() - 1, Outcome::Open);
        }
    }

    #[test]
    fn impossible_bytes_are_found_at_once() {
        for (text, at) in [
            ("{\"a\":1,\n{\"b\":2}", 8),
            ("{\"a\":{}\n{\"b\":2}", 8),
            ("[{}\n{}]", 4),
            ("{\"a\":\"x\n", 7),
            ("{\"a\":\"x\\\n", 8),
            ("{\"a\"]", 4),
            ("{\"a\":}", 5),
            ("{\"a\":[}", 6),
            ("{1:2}", 1),
            ("{'a':2}", 1),
            ("{\"a\" \"b\"}", 5),
            ("{\"a\":1 2}", 7),
            ("[1:2]", 2),
            ("[,1]", 1),
            ("[1,,2]", 3),
        ] {
            let (consumed, outcome) = Scanner::new().scan(text.as_bytes(), 0, &mut 1);
            assert!(matches!(outcome, Outcome::Broken(_)), "{text}: {outcome:?}");
            check(text, at, outcome);
            assert_eq!(consumed, at);
        }
    }

    #[test]
    fn depth_is_limited() {
        let nest = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        check(&nest(MAX_DEPTH), 2 * MAX_DEPTH, Outcome::Complete);
        check(&nest(MAX_DEPTH + 1), MAX_DEPTH, Outcome::TooDeep);
    }

    #[test]
    fn the_column_of_a_broken_byte_is_known() {
        for (text, blanks) in [("[1\n{", 0), ("[1\n \t{", 2), ("[1 {", NOT_FIRST), ("[\n1 {", NOT_FIRST)] {
            let mut scanner = Scanner::new();
            scanner.scan(text.as_bytes(), 0, &mut 1);
            assert_eq!(scanner.blanks(), blanks, "{text:?}");
        }
    }
}
