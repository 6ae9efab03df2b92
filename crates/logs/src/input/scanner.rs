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
}

impl Scanner {
    /// A scanner that stands before the first byte of a value.
    pub(super) fn new() -> Scanner {
        Scanner { open: Vec::new(), expect: Expect::Element, token: Token::None, blanks: NOT_FIRST }
    }

    /// Goes back before the first byte of a value.
    pub(super) fn reset(&mut self) {
        self.open.clear();
        self.expect = Expect::Element;
        self.token = Token::None;
        self.blanks = NOT_FIRST;
    }

    /// Offsets of the brackets that are open, outermost first.
    pub(super) fn open_brackets(&self) -> impl Iterator<Item = u64> {
        self.open.iter().map(|bracket| bracket >> 1)
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
            if self.token != Token::None
                && let Some(reason) = self.finish_token(bytes, &mut at)
            {
                break Outcome::Broken(reason);
            }
            let Some(&byte) = bytes.get(at) else { break Outcome::Open };
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
                    if self.open.is_empty() {
                        at += 1;
                        break Outcome::Complete;
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

const LINE_BREAK_IN_STRING: &str = "a line break inside of a string";
const NO_COLON: &str = "a key without a colon after it";
const NO_COMMA: &str = "a value without a comma before it";

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
