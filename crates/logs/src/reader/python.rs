//! Literals of Python, as `print` and `%s` write them: `{'a': None, 'b': (1, "it's")}`.
//!
//! They are rewritten as JSON and parsed. Dictionaries, lists and tuples (as lists), strings with their escapes, numbers,
//! `None`, `True` and `False`; `nan` and `inf` are null. Keys that are no strings are what `json.dumps` makes of them.
//! Anything else that stands where a value must (`datetime.datetime(2026, 1, 1)`, `<Enum.A: 1>`) is the text that it is.
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
    let mut rewriter = Rewriter { text, at: 0, json: String::with_capacity(text.len()), scalar: None };
    rewriter.rewrite()?;
    Json::parse(rewriter.json.as_bytes()).ok().map(Json::into_owned)
}

struct Rewriter<'t> {
    text: &'t str,
    at: usize,
    json: String,
    /// Where a number or a constant begins, when that is what was written last.
    scalar: Option<usize>,
}

impl Rewriter<'_> {
    fn rewrite(&mut self) -> Option<()> {
        while let Some(byte) = self.text.as_bytes().get(self.at).copied() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b':' => {
                    self.quote_key();
                    self.copy(':');
                }
                b'{' | b'}' | b'[' | b']' => self.copy(byte as char),
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
        self.copy_as(c);
    }

    fn copy_as(&mut self, c: char) {
        self.scalar = None;
        self.json.push(c);
        self.at += 1;
    }

    /// A key of JSON is a string.
    fn quote_key(&mut self) {
        if let Some(begin) = self.scalar.take() {
            self.json.insert(begin, '"');
            self.json.push('"');
        }
    }

    fn drop_comma(&mut self) {
        if self.json.ends_with(',') {
            self.json.pop();
        }
    }

    fn string(&mut self, quote: u8) -> Option<()> {
        let bytes = self.text.as_bytes();
        self.scalar = None;
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
                    let is_special = |c: char| c < ' ' || matches!(c, '\'' | '"' | '\\');
                    // The first character is none that must be escaped, but may be the other quote.
                    let first = rest.chars().next()?.len_utf8();
                    let end = rest[first..].find(is_special).map_or(rest.len(), |end| first + end);
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
        self.scalar = Some(self.json.len());
        if let "-inf" | "-nan" = rest.get(..4).unwrap_or_default() {
            self.json.push_str("null");
            self.at += 4;
            return Some(());
        }
        let text = rest[..end].trim_start_matches('+').replace('_', "");
        let number: f64 = text.parse().ok()?;
        let is_integer = text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
        match number.is_finite() {
            // All of its digits count.
            true if is_integer => self.json.push_str(&text),
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
        self.scalar = Some(self.json.len());
        match word {
            // JSON as Python writes it, which is read with a note of its own.
            "NaN" | "Infinity" => return None,
            "None" | "nan" | "inf" | "null" => self.json.push_str("null"),
            "True" | "true" => self.json.push_str("true"),
            "False" | "false" => self.json.push_str("false"),
            "b" | "u" | "r" | "f" | "B" | "U" | "R" | "F" if matches!(next, Some(b'\'' | b'"')) => {}
            _ => {
                let length = unread(rest)?;
                let text = serde_json::to_string(rest[..length].trim_end()).ok()?;
                self.json.push_str(&text);
                self.at += length;
                self.scalar = None;
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
    let mut is_escaped = false;
    for (at, byte) in rest.bytes().enumerate() {
        match (quote, byte) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), b'\\') => is_escaped = true,
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
    use serde_json::{Value, json};

    use super::*;
    use crate::record::json::tests::values;

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
        check(
            "{'low': -inf, 'high': inf, 'id': 18446744073709551615, 'big': 1e+16, 'small': 1e-07}",
            Some(r#"{"low":null,"high":null,"id":18446744073709551615,"big":1e+16,"small":1e-7}"#),
        );
        check(
            "{'bias': {50256: -100, 1.5: 1, True: 2, None: 3}, 'x': {}}",
            Some(r#"{"bias":{"50256":-100,"1.5":1,"true":2,"null":3},"x":{}}"#),
        );
        check(r"{'x': Secret('it\'s, }'), 'y': 1}", Some(r#"{"x":"Secret('it\\'s, }')","y":1}"#));
        check("{'raw': 'a\tb\u{1}\u{7f}c'}", Some("{\"raw\":\"a\\tb\\u0001\u{7f}c\"}"));
        check("{'a': 1, 'b': [], 'c': ()}", Some(r#"{"a":1,"b":[],"c":[]}"#));
        // JSON of Python is no literal of Python.
        check(r#"{"a": "it's", "b": NaN}"#, None);
        check(r#"{"a": "it's", "b": [-Infinity]}"#, None);
        check("{'a': 1}, 2", None);
        check("{(1, 2): 'a'}", None);
        check("{'a': 1", None);
        check("{'cut': 'off", None);
        check("{\"a\": 1", None);
        check("{}", None);
        check("text 'with' quotes", None);
    }

    /// What `repr` gives in Python.
    fn repr(value: &Value, has_tuples: bool) -> String {
        let list = |items: &[Value]| items.iter().map(|item| repr(item, has_tuples)).collect::<Vec<_>>().join(", ");
        match value {
            Value::Null => "None".to_owned(),
            Value::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
            Value::Number(number) => match number.to_string().split_once('e') {
                Some((digits, power)) if power.starts_with('-') => format!("{digits}e-{:0>2}", &power[1..]),
                Some((digits, power)) => format!("{digits}e+{:0>2}", power.trim_start_matches('+')),
                None => number.to_string(),
            },
            Value::String(text) => repr_of_text(text),
            Value::Array(items) if has_tuples && items.len() == 1 => format!("({},)", list(items)),
            Value::Array(items) if has_tuples => format!("({})", list(items)),
            Value::Array(items) => format!("[{}]", list(items)),
            Value::Object(entries) => {
                let entries =
                    entries.iter().map(|(key, value)| format!("{}: {}", repr_of_text(key), repr(value, has_tuples)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn repr_of_text(text: &str) -> String {
        let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
        let mut out = String::from(quote);
        for c in text.chars() {
            // Close to what Python holds to be printable.
            let is_shown =
                !c.is_control() && (c == ' ' || !c.is_whitespace()) && !('\u{e000}'..'\u{f900}').contains(&c);
            match (c, c as u32) {
                ('\\', _) => out.push_str("\\\\"),
                ('\n', _) => out.push_str("\\n"),
                ('\r', _) => out.push_str("\\r"),
                ('\t', _) => out.push_str("\\t"),
                (c, _) if c == quote => out.extend(['\\', c]),
                (c, _) if is_shown => out.push(c),
                (_, code @ 0..0x100) => out.push_str(&format!("\\x{code:02x}")),
                (_, code @ 0..0x10000) => out.push_str(&format!("\\u{code:04x}")),
                (_, code) => out.push_str(&format!("\\U{code:08x}")),
            }
        }
        out.push(quote);
        out
    }

    proptest! {
        #[test]
        fn what_python_shows_is_what_it_was(value in values(), has_tuples in any::<bool>()) {
            let literal = repr(&json!({ "value": value }), has_tuples);
            let read = parse(&literal).map(|read| read.to_value());
            prop_assert_eq!(read, Some(json!({ "value": value })), "{}", literal);
        }

        #[test]
        fn texts_are_what_they_were(text in any::<String>()) {
            let literal = format!("[{}]", repr_of_text(&text));
            let read = parse(&literal).map(|read| read.to_value());
            prop_assert_eq!(read, Some(json!([text])), "{}", literal);
        }

        #[test]
        fn any_text_at_all_is_read_or_not(text in any::<String>()) {
            let _ = parse(&text);
            let _ = parse(&format!("{{'{text}"));
        }

        #[test]
        fn any_text_is_read_or_not(text in "[{\\[(]['\",:(){}\\[\\]a-zN0-9\\\\é ]{0,60}") {
            let _ = parse(&text);
        }
    }
}
