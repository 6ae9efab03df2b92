//! Literals of Python, as `print` and `%s` write them: `{'a': None, 'b': (1, "it's")}`.
//!
//! They are rewritten as JSON and parsed. Dictionaries, lists and tuples (as lists), strings with their escapes, numbers,
//! `None`, `True` and `False`; `nan` and `inf` are null. Anything else that stands where a value must
//! (`datetime.datetime(2026, 1, 1)`, `<Enum.A: 1>`) is the text that it is.
//!
//! **Limits**: bytes and strings with other prefixes than `b`, `u`, `r` and `f` are text; sets are no literals that are
//! read. Nesting is bounded by the parser of JSON.

use std::fmt::Write;

use crate::record::json::Json;

/// The value of a text that is one literal, an object or a list.
pub(super) fn parse(text: &str) -> Option<Json<'static>> {
    let text = text.trim();
    // JSON that breaks off is no literal: a dictionary has its keys in single quotes, as a rule.
    if !text.starts_with(['{', '[', '(']) || !text.contains('\'') && !text.contains("None") {
        return None;
    }
    let mut rewriter = Rewriter { text, at: 0, json: String::with_capacity(text.len()) };
    rewriter.rewrite()?;
    Json::parse(rewriter.json.as_bytes()).ok().map(Json::into_owned)
}

struct Rewriter<'t> {
    text: &'t str,
    at: usize,
    json: String,
}

impl Rewriter<'_> {
    fn rewrite(&mut self) -> Option<()> {
        while let Some(byte) = self.text.as_bytes().get(self.at).copied() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'{' | b'}' | b'[' | b']' | b':' => self.copy(byte as char),
                b'(' => self.copy_as('['),
                b')' => {
                    // A tuple of one ends with a comma.
                    self.drop_comma();
                    self.copy_as(']');
                }
                b',' => self.copy(','),
                b'\'' | b'"' => self.string(byte)?,
                b'-' | b'+' | b'0'..=b'9' | b'.' => self.number()?,
                _ => self.word()?,
            }
        }
        Some(())
    }

    fn copy(&mut self, c: char) {
        if matches!(c, '}' | ']') {
            self.drop_comma();
        }
        self.json.push(c);
        self.at += 1;
    }

    fn copy_as(&mut self, c: char) {
        self.json.push(c);
        self.at += 1;
    }

    fn drop_comma(&mut self) {
        if self.json.ends_with(',') {
            self.json.pop();
        }
    }

    fn string(&mut self, quote: u8) -> Option<()> {
        let bytes = self.text.as_bytes();
        self.json.push('"');
        self.at += 1;
        loop {
            match *bytes.get(self.at)? {
                byte if byte == quote => break,
                b'\\' => self.escape()?,
                b'"' => self.push_raw("\\\""),
                byte @ 0..0x20 => {
                    write!(self.json, "\\u{byte:04x}").ok()?;
                    self.at += 1;
                }
                _ => {
                    let rest = &self.text[self.at..];
                    let end = rest.find(['\'', '"', '\\', '\n', '\t', '\r']).unwrap_or(rest.len()).max(1);
                    let end = rest.ceil_char_boundary(end);
                    self.json.push_str(&rest[..end]);
                    self.at += end;
                }
            }
        }
        self.json.push('"');
        self.at += 1;
        Some(())
    }

    /// Two bytes of text as JSON has them.
    fn push_raw(&mut self, json: &str) {
        self.json.push_str(json);
        self.at += 1;
    }

    fn escape(&mut self) -> Option<()> {
        let escape = *self.text.as_bytes().get(self.at + 1)?;
        self.at += 2;
        let digits = match escape {
            b'n' | b't' | b'r' | b'b' | b'f' | b'\\' | b'"' => {
                self.json.push('\\');
                self.json.push(escape as char);
                return Some(());
            }
            b'\'' => {
                self.json.push('\'');
                return Some(());
            }
            b'\n' => return Some(()),
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            b'0' => {
                self.json.push_str("\\u0000");
                return Some(());
            }
            // A backslash before anything else stands for itself.
            _ => {
                self.json.push_str("\\\\");
                self.at -= 1;
                return Some(());
            }
        };
        let code = u32::from_str_radix(self.text.get(self.at..self.at + digits)?, 16).ok()?;
        self.at += digits;
        match char::from_u32(code) {
            Some(c) if (c as u32) < 0x20 || c == '"' || c == '\\' => write!(self.json, "\\u{:04x}", c as u32).ok(),
            Some(c) => {
                self.json.push(c);
                Some(())
            }
            None => {
                self.json.push('\u{fffd}');
                Some(())
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let end =
            rest.find(|c: char| !matches!(c, '0'..='9' | '.' | 'e' | 'E' | '+' | '-' | '_')).unwrap_or(rest.len());
        let text = rest[..end].trim_start_matches('+').replace('_', "");
        let number: f64 = text.parse().ok()?;
        match number.is_finite() {
            true if text.parse::<i64>().is_ok() => self.json.push_str(&text),
            true => write!(self.json, "{number:?}").ok()?,
            false => self.json.push_str("null"),
        }
        self.at += end;
        Some(())
    }

    /// A name: a constant, or something that has no literal.
    fn word(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(rest.len());
        let (word, next) = (&rest[..end], rest.as_bytes().get(end).copied());
        match word {
            "None" | "nan" | "inf" | "null" => self.json.push_str("null"),
            "True" | "true" => self.json.push_str("true"),
            "False" | "false" => self.json.push_str("false"),
            "b" | "u" | "r" | "f" | "B" | "U" | "R" | "F" if matches!(next, Some(b'\'' | b'"')) => {}
            _ => {
                let length = unread(rest)?;
                let text = serde_json::to_string(rest[..length].trim_end()).ok()?;
                self.json.push_str(&text);
                self.at += length;
                return Some(());
            }
        }
        self.at += end;
        Some(())
    }
}

/// Bytes of something that has no literal, up to the comma or bracket that ends it.
fn unread(rest: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(' | b'[' | b'{' | b'<') => depth += 1,
            (None, b')' | b']' | b'}' | b'>') if depth > 0 => depth -= 1,
            (None, b',' | b')' | b']' | b'}') if depth == 0 => return (at > 0).then_some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(parse(text).map(|value| value.to_compact_string()).as_deref(), expected, "{text}");
    }

    #[test]
    fn literals_become_values() {
        check(
            "{'a': 1, 'b': None, 'c': True, 'd': (1, 'x'), 'e': (2,)}",
            Some(r#"{"a":1,"b":null,"c":true,"d":[1,"x"],"e":[2]}"#),
        );
        check(r#"{'a': "it's", 'b': 'say "hi"', 'c': 'it\'s'}"#, Some(r#"{"a":"it's","b":"say \"hi\"","c":"it's"}"#));
        check(r"{'a': 'line\nbreak \x41\u00e9\U0001f600 \d'}", Some("{\"a\":\"line\\nbreak Aé😀 \\\\d\"}"));
        check(
            "{'t': datetime.datetime(2026, 1, 1, 0, 0), 'x': nan}",
            Some(r#"{"t":"datetime.datetime(2026, 1, 1, 0, 0)","x":null}"#),
        );
        check(
            "{'s': <Status.OK: 'ok'>, 'f': -1.5e3, 'b': b'raw'}",
            Some(r#"{"s":"<Status.OK: 'ok'>","f":-1500.0,"b":"raw"}"#),
        );
        check("{'cut': 'off", None);
        check("{\"a\": 1", None);
        check("{}", None);
        check("text 'with' quotes", None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_not(text in "[{\\[(]['\",:(){}\\[\\]a-zN0-9\\\\é ]{0,60}") {
            let _ = parse(&text);
        }
    }
}
