//! A line of JSON → its strings and numbers, whatever they belong to; and from decoded text back to raw bytes.
//!
//! A [`Lexer`] goes on over lines, so that values may take several; strings cannot, which is what makes a line a unit of
//! work. It knows whether a string is a key, and behind which key a value stands.
//!
//! **Limits**: it reads more than strict JSON (`NaN`, control characters in strings, a comma too many), never less.
//! Brackets deeper than [`DEPTH_MAX`] make a line text.

use std::{borrow::Cow, ops::Range, sync::Arc};

use memchr::memchr2;

/// Brackets that may be open.
pub const DEPTH_MAX: usize = 1_000;
/// Bytes of a key that serve as the name of what stands behind it.
const NAME_BYTES_MAX: usize = 200;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
const LITERALS: [&[u8]; 5] = [b"true", b"false", b"null", b"NaN", b"Infinity"];

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A string that names a member.
    Key,
    /// Any other string.
    String,
    /// A number.
    Number,
    /// A line that is no JSON.
    Text,
}

/// Something to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its bytes; those between the quotation marks of a string.
    pub raw: Range<usize>,
    /// What it is.
    pub kind: Kind,
    /// The key behind which it stands.
    pub name: Option<Arc<str>>,
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// JSON, or a part of it.
    Json,
    /// JSON up to a token that begins here and may go on behind the line.
    Open(usize),
    /// Something else.
    Text,
}

/// What is open at the end of a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lexer {
    open: Vec<Open>,
}

#[derive(Clone, Debug, PartialEq)]
struct Open {
    is_object: bool,
    expects_key: bool,
    name: Option<Arc<str>>,
}

impl Lexer {
    /// Whether a bracket is open.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Appends the tokens of `bytes[line]`, or none when it is text.
    pub fn line(&mut self, bytes: &[u8], line: Range<usize>, tokens: &mut Vec<Token>) -> Line {
        let before = tokens.len();
        let kind = self.read(bytes, line, tokens);
        if kind == Line::Text {
            tokens.truncate(before);
        }
        kind
    }

    fn read(&mut self, bytes: &[u8], line: Range<usize>, tokens: &mut Vec<Token>) -> Line {
        let end = line.end;
        let mut at = line.start;
        if bytes[at..end].starts_with(BYTE_ORDER_MARK) {
            at += BYTE_ORDER_MARK.len();
        }
        while at < end {
            let byte = bytes[at];
            at += 1;
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {}
                b'"' => {
                    let Some(close) = string_end(&bytes[..end], at) else { return Line::Open(at - 1) };
                    self.string(bytes, at..close, tokens);
                    at = close + 1;
                }
                b'{' | b'[' => {
                    if self.open.len() == DEPTH_MAX {
                        return Line::Text;
                    }
                    let is_object = byte == b'{';
                    let name = if is_object { None } else { self.name() };
                    self.open.push(Open { is_object, expects_key: is_object, name });
                }
                b'}' | b']' => match self.open.pop() {
                    Some(open) if open.is_object == (byte == b'}') => {}
                    _ => return Line::Text,
                },
                b',' => match self.open.last_mut() {
                    Some(open) if open.is_object => {
                        open.expects_key = true;
                        open.name = None;
                    }
                    Some(_) => {}
                    None => return Line::Text,
                },
                b':' if self.open.last().is_some_and(|open| open.is_object && !open.expects_key) => {}
                b'-' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                    let start = at - 1;
                    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                    at = start + bytes[start..end].iter().take_while(|byte| is_part(byte)).count();
                    let scalar = &bytes[start..at];
                    if at == end && !scalar.is_empty() && bytes[end - 1] != b'\n' && self.is_open() {
                        return Line::Open(start);
                    }
                    if is_number(scalar) {
                        tokens.push(Token { raw: start..at, kind: Kind::Number, name: self.name() });
                    } else if !LITERALS.contains(&scalar.strip_prefix(b"-").unwrap_or(scalar)) {
                        return Line::Text;
                    }
                }
                _ => return Line::Text,
            }
        }
        Line::Json
    }

    fn string(&mut self, bytes: &[u8], raw: Range<usize>, tokens: &mut Vec<Token>) {
        match self.open.last_mut() {
            Some(open) if open.is_object && open.expects_key => {
                let shown = &bytes[raw.start..raw.end.min(raw.start + NAME_BYTES_MAX)];
                open.name = Some(decoded(shown, Kind::Key).text.as_ref().into());
                open.expects_key = false;
                tokens.push(Token { raw, kind: Kind::Key, name: None });
            }
            _ => tokens.push(Token { raw, kind: Kind::String, name: self.name() }),
        }
    }

    fn name(&self) -> Option<Arc<str>> {
        self.open.last().and_then(|open| open.name.clone()).filter(|name| !name.is_empty())
    }
}

/// Where the string that begins at `at` closes.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', &bytes[at..])?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
        if at > bytes.len() {
            return None;
        }
    }
}

/// RFC 8259, section 6.
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || whole > 1 && text[0] == b'0' {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let exponent = exponent.strip_prefix(b"+").or_else(|| exponent.strip_prefix(b"-")).unwrap_or(exponent);
        let length = digits(exponent);
        return length > 0 && length == exponent.len();
    }
    rest.is_empty()
}

/// What a token says, and where its raw bytes stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'b> {
    /// What it says; U+FFFD for what is no UTF-8 and for half a surrogate pair.
    pub text: Cow<'b, str>,
    /// Places from which on text and raw bytes run alike: offset in the text, offset in the raw bytes.
    alike: Vec<(usize, usize)>,
}

impl Decoded<'_> {
    /// The raw offset of a character boundary of the text.
    pub fn raw(&self, at: usize) -> usize {
        let after = self.alike.partition_point(|(text, _)| *text <= at);
        match after.checked_sub(1).map(|index| self.alike[index]) {
            Some((text, raw)) => raw + (at - text),
            None => at,
        }
    }
}

impl Decoded<'_> {
    /// The first character boundary of the text that does not lie before the raw offset `at`.
    pub fn text_from(&self, at: usize) -> usize {
        self.text.ceil_char_boundary(self.text_at(at, |_, behind| behind))
    }

    /// The last character boundary of the text that does not lie behind the raw offset `at`.
    pub fn text_to(&self, at: usize) -> usize {
        self.text.floor_char_boundary(self.text_at(at, |before, _| before))
    }

    /// The offset in the text of the raw offset `at`; in the middle of an escape, what `choose` says of its two ends.
    fn text_at(&self, at: usize, choose: impl Fn(usize, usize) -> usize) -> usize {
        let after = self.alike.partition_point(|(_, raw)| *raw <= at);
        let Some((text, raw)) = after.checked_sub(1).map(|index| self.alike[index]) else { return at };
        match self.alike.get(after) {
            Some((text_end, raw_end)) if at > raw && text_end - text != raw_end - raw => choose(text, *text_end),
            _ => text + (at - raw),
        }
    }
}

/// Decodes the raw bytes of a token.
pub fn decoded(raw: &[u8], kind: Kind) -> Decoded<'_> {
    let has_escapes = matches!(kind, Kind::Key | Kind::String) && memchr::memchr(b'\\', raw).is_some();
    if !has_escapes && let Ok(text) = std::str::from_utf8(raw) {
        return Decoded { text: Cow::Borrowed(text), alike: Vec::new() };
    }
    let mut text = String::with_capacity(raw.len());
    let mut alike = Vec::new();
    let mut at = 0;
    while at < raw.len() {
        let next = if has_escapes {
            memchr::memchr(b'\\', &raw[at..]).map_or(raw.len(), |length| at + length)
        } else {
            raw.len()
        };
        plain(&raw[at..next], at, &mut text, &mut alike);
        at = next;
        if at < raw.len() {
            let (character, length) = escape(&raw[at..]);
            alike.push((text.len(), at));
            text.push(character);
            at += length;
            alike.push((text.len(), at));
        }
    }
    Decoded { text: Cow::Owned(text), alike }
}

fn plain(raw: &[u8], offset: usize, text: &mut String, alike: &mut Vec<(usize, usize)>) {
    let mut at = offset;
    for chunk in raw.utf8_chunks() {
        text.push_str(chunk.valid());
        at += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            alike.push((text.len(), at));
            text.push(char::REPLACEMENT_CHARACTER);
            at += chunk.invalid().len();
            alike.push((text.len(), at));
        }
    }
}

/// The character of the escape that `raw` begins with, and its length. What is no escape stands for its backslash.
fn escape(raw: &[u8]) -> (char, usize) {
    let unit = |at: usize| {
        let hex = raw.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u32::from_str_radix(std::str::from_utf8(hex).ok().filter(|hex| !hex.starts_with('+'))?, 16).ok()
    };
    let simple = |character| (character, 2);
    match raw.get(1) {
        Some(b'n') => simple('\n'),
        Some(b't') => simple('\t'),
        Some(b'r') => simple('\r'),
        Some(b'b') => simple('\u{8}'),
        Some(b'f') => simple('\u{c}'),
        Some(b'"') => simple('"'),
        Some(b'\\') => simple('\\'),
        Some(b'/') => simple('/'),
        Some(b'u') => match (unit(0), unit(6)) {
            (Some(high @ 0xD800..=0xDBFF), Some(low @ 0xDC00..=0xDFFF)) => {
                let point = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                (char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
            }
            (Some(point), _) => (char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER), 6),
            (None, _) => ('\\', 1),
        },
        _ => ('\\', 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lex(lines: &[&str]) -> Vec<(Kind, String, Option<String>)> {
        let mut lexer = Lexer::default();
        let mut all = Vec::new();
        for line in lines {
            let mut tokens = Vec::new();
            assert_eq!(lexer.line(line.as_bytes(), 0..line.len(), &mut tokens), Line::Json, "{line}");
            all.extend(
                tokens
                    .into_iter()
                    .map(|token| (token.kind, line[token.raw].to_owned(), token.name.map(|name| name.to_string()))),
            );
        }
        all
    }

    #[test]
    fn strings_and_numbers_know_their_key() {
        let token = |kind, text: &str, name: Option<&str>| (kind, text.to_owned(), name.map(str::to_owned));
        assert_eq!(
            lex(&["{\"a\": [1, \"b\", {\"c\":", " \"d\"}, -2.5e3], \"e\": null, \"f\": \"\"}"]),
            [
                token(Kind::Key, "a", None),
                token(Kind::Number, "1", Some("a")),
                token(Kind::String, "b", Some("a")),
                token(Kind::Key, "c", None),
                token(Kind::String, "d", Some("c")),
                token(Kind::Number, "-2.5e3", Some("a")),
                token(Kind::Key, "e", None),
                token(Kind::Key, "f", None),
                token(Kind::String, "", Some("f")),
            ]
        );
        assert_eq!(lex(&["\u{feff}\"a\" 1 true"]).len(), 2);
    }

    #[test]
    fn what_is_no_json_is_text_or_goes_on() {
        let kind = |line: &str| Lexer::default().line(line.as_bytes(), 0..line.len(), &mut Vec::new());
        for line in
            ["hello", "12:30", "a, b", "{]", "}", "1,2", "{'a': 1}", "2026-01-01", "007", "{\"a\": tru3}\n", "é"]
        {
            assert_eq!(kind(line), Line::Text, "{line}");
        }
        assert_eq!(kind("[1, \"abc"), Line::Open(4));
        assert_eq!(kind("[1, \"abc\\"), Line::Open(4));
        assert_eq!(kind("[1, 23"), Line::Open(4));
        assert_eq!(kind(&"[".repeat(2_000)), Line::Text);
    }

    #[test]
    fn escapes_are_decoded_and_found_again() {
        let check = |raw: &[u8], text: &str, places: &[(usize, usize)]| {
            let decoded = decoded(raw, Kind::String);
            assert_eq!(decoded.text, text);
            for (at, expected) in places {
                assert_eq!(decoded.raw(*at), *expected, "{text:?} at {at}");
            }
        };
        check(b"abc", "abc", &[(0, 0), (3, 3)]);
        check(br"a\nb\u00e9c", "a\nbéc", &[(0, 0), (1, 1), (2, 3), (3, 4), (5, 10), (6, 11)]);
        check(br"\ud83c\udf89x", "🎉x", &[(0, 0), (4, 12), (5, 13)]);
        check(br"\ud800x\q\", "\u{fffd}x\\q\\", &[(3, 6), (4, 7), (5, 8), (7, 10)]);
        check(b"a\xffb", "a\u{fffd}b", &[(1, 1), (4, 2), (5, 3)]);
    }

    /// Any JSON value, small.
    fn values() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![any::<f64>().prop_map(Value::from), any::<String>().prop_map(Value::from)];
        leaf.prop_recursive(3, 16, 4, |inner| {
            let entries = prop::collection::vec((any::<String>(), inner.clone()), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                entries.prop_map(|entries| entries.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn valid_json_is_read_to_its_end(value in values()) {
            let line = value.to_string();
            let mut lexer = Lexer::default();
            prop_assert_eq!(lexer.line(line.as_bytes(), 0..line.len(), &mut Vec::new()), Line::Json);
            prop_assert!(!lexer.is_open());
        }

        #[test]
        fn decoding_agrees_with_serde(text in "\\PC{0,40}|[\u{0}-\u{1f}é\"\\\\]{0,20}") {
            let raw = serde_json::to_string(&text).unwrap();
            let decoded = decoded(&raw.as_bytes()[1..raw.len() - 1], Kind::String);
            prop_assert_eq!(&decoded.text, &text);
            for (at, _) in text.char_indices() {
                prop_assert!(decoded.raw(at) <= raw.len() - 2);
                prop_assert_eq!((decoded.text_from(decoded.raw(at)), decoded.text_to(decoded.raw(at))), (at, at));
            }
            prop_assert_eq!(decoded.raw(text.len()), raw.len() - 2);
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut lexer = Lexer::default();
            let _ = lexer.line(&bytes, 0..bytes.len(), &mut Vec::new());
            let decoded = decoded(&bytes, Kind::String);
            prop_assert_eq!(decoded.raw(decoded.text.len()), bytes.len());
        }
    }
}
