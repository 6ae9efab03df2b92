//! Tool calls that an answer writes as text, as models without a channel for them do.
//!
//! Three forms, each of which must be the whole answer, a code fence around it left aside:
//! - `[{"name": "f", "arguments": {...}}]`, also one such object, also `[{"f": {...}}]`, where a known tool is named: much
//!   else has a name and parameters
//! - `<tool_call>{"name": "f", "arguments": {...}}</tool_call>`, once or more often, with text before the first (Hermes, Qwen),
//!   and nothing behind the last: prose about the tags goes on
//! - `[f(a=1, b="x"), g()]`, calls as in Python (Llama)
//!
//! **Source**: the chat templates of the models named; the shapes in gorilla's function-calling leaderboard.
//!
//! **Limits**: a call with arguments that have no names, or with expressions for values, is none of these. [`CALLS_MAX`],
//! [`NESTING_MAX`].

use std::ops::Range;

use serde_json::{Map, Value};

/// Calls of one answer.
pub const CALLS_MAX: usize = 100;
/// Brackets nested in the arguments of a call.
const NESTING_MAX: usize = 64;

/// One call in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextCall {
    /// The tool.
    pub name: String,
    /// Its arguments; a string when they are no JSON.
    pub args: Value,
    /// Where the call, or what should be one, stands.
    pub span: Range<usize>,
    /// Whether the form says by itself that it is a call: tags, and nothing else. Lists of objects or of names with
    /// parentheses, and tags that end a text, may also be data or an example.
    pub is_explicit: bool,
}

/// The calls in `text`, if that is what it consists of. `is_tool` knows the names of the tools.
pub fn in_text(text: &str, is_tool: impl Fn(&str) -> bool) -> Vec<TextCall> {
    let span = unfenced(text);
    let inner = &text[span.clone()];
    let mut calls = if inner.contains("<tool_call>") {
        tagged(text, span, &is_tool)
    } else if inner.starts_with(['[', '{']) {
        let json = serde_json::from_str(inner).ok().map(|value| listed(value, span.clone(), &is_tool));
        json.unwrap_or_else(|| pythonic(text, span).unwrap_or_default())
    } else {
        Vec::new()
    };
    calls.truncate(CALLS_MAX);
    calls
}

/// The text without white space and without a code fence around it.
fn unfenced(text: &str) -> Range<usize> {
    let trimmed = |range: Range<usize>| {
        let part = &text[range.clone()];
        let start = range.start + (part.len() - part.trim_start().len());
        start..start + part.trim().len()
    };
    let whole = trimmed(0..text.len());
    let part = &text[whole.clone()];
    let fenced =
        part.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")).filter(|rest| !rest.contains("```"));
    match fenced.and_then(|rest| rest.find('\n').map(|at| (rest, at))) {
        Some((rest, line)) => {
            let start = whole.start + "```".len();
            trimmed(start + line..start + rest.len())
        }
        None => whole,
    }
}

fn tagged(text: &str, span: Range<usize>, is_tool: &impl Fn(&str) -> bool) -> Vec<TextCall> {
    const OPEN: &str = "<tool_call>";
    const CLOSE: &str = "</tool_call>";
    let (mut calls, mut at) = (Vec::new(), span.start);
    let is_explicit = text[span.clone()].starts_with(OPEN);
    while let Some(found) = text[at..span.end].find(OPEN).filter(|_| calls.len() < CALLS_MAX) {
        let start = at + found + OPEN.len();
        let length = text[start..span.end].find(CLOSE).unwrap_or(span.end - start);
        let part = text[start..start + length].trim();
        let is_apart = at > span.start && !text[at..at + found].trim().is_empty();
        if is_apart || !part.starts_with(['{', '[']) {
            return Vec::new();
        }
        let place = start..start + length;
        match serde_json::from_str::<Value>(part) {
            Ok(value) => calls.extend(named(&value, &place).map(|call| TextCall { is_explicit, ..call })),
            Err(_) => calls.push(TextCall {
                name: String::new(),
                args: Value::String(part.to_owned()),
                span: place,
                is_explicit,
            }),
        }
        at = (start + length + CLOSE.len()).min(span.end);
    }
    let goes_on = calls.len() < CALLS_MAX && !text[at..span.end].trim().is_empty();
    let is_known = is_explicit || calls.iter().any(|call| is_tool(&call.name));
    if goes_on || !is_known { Vec::new() } else { calls }
}

fn listed(value: Value, span: Range<usize>, is_tool: &impl Fn(&str) -> bool) -> Vec<TextCall> {
    let items = match value {
        Value::Array(items) => items,
        other => vec![other],
    };
    let of = |read: fn(&Value, &Range<usize>) -> Option<TextCall>| -> Vec<TextCall> {
        let calls: Vec<TextCall> = items.iter().filter_map(|item| read(item, &span)).collect();
        let is_all = !calls.is_empty() && calls.len() == items.len();
        if is_all && calls.iter().any(|call| is_tool(&call.name)) { calls } else { Vec::new() }
    };
    let calls = of(named);
    if calls.is_empty() { of(keyed) } else { calls }
}

/// `{"name": "f", "arguments": {...}}`.
fn named(value: &Value, span: &Range<usize>) -> Option<TextCall> {
    let name = value["name"].as_str()?.to_owned();
    let args = ["arguments", "parameters", "args", "input"].iter().find_map(|key| value.get(*key))?;
    Some(TextCall { name, args: decoded(args), span: span.clone(), is_explicit: false })
}

/// `{"f": {...}}`.
fn keyed(value: &Value, span: &Range<usize>) -> Option<TextCall> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    let (name, args) = members.iter().next()?;
    let args = decoded(args);
    args.is_object().then(|| TextCall { name: name.clone(), args, span: span.clone(), is_explicit: false })
}

/// Arguments that are JSON in a string.
fn decoded(args: &Value) -> Value {
    let text = args.as_str();
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| args.clone())
}

fn pythonic(text: &str, span: Range<usize>) -> Option<Vec<TextCall>> {
    let mut parser = Parser { text: text.as_bytes(), at: span.start, end: span.end };
    parser.expect(b'[')?;
    let mut calls = Vec::new();
    loop {
        parser.skip_space();
        if parser.peek() == Some(b']') && !calls.is_empty() {
            break;
        }
        calls.push(parser.call()?);
        parser.skip_space();
        match parser.next()? {
            b',' if calls.len() < CALLS_MAX => {}
            b']' => {
                parser.at -= 1;
                break;
            }
            _ => return None,
        }
    }
    parser.expect(b']')?;
    parser.skip_space();
    (parser.at == span.end).then_some(calls)
}

/// Reads literals of Python.
struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    end: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        (self.at < self.end).then(|| self.text[self.at])
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        (self.next()? == byte).then_some(())
    }

    /// Whether `byte` comes next; it is taken then.
    fn takes(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn while_in(&mut self, is_in: impl Fn(u8) -> bool) -> &str {
        let start = self.at;
        while self.peek().is_some_and(&is_in) {
            self.at += 1;
        }
        std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default()
    }

    fn name(&mut self) -> Option<String> {
        self.skip_space();
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        let name = self.while_in(is_name);
        (!name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit())).then(|| name.to_owned())
    }

    fn call(&mut self) -> Option<TextCall> {
        let name = self.name()?;
        let start = self.at - name.len();
        self.expect(b'(')?;
        let mut args = Map::new();
        while !self.takes(b')') {
            let key = self.name()?;
            self.expect(b'=')?;
            args.insert(key, self.value(0)?);
            if !self.takes(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Some(TextCall { name, args: Value::Object(args), span: start..self.at, is_explicit: false })
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.skip_space();
        if depth > NESTING_MAX {
            return None;
        }
        match self.peek()? {
            b'"' | b'\'' => self.string().map(Value::String),
            b'[' => self.list(b']', depth),
            b'(' => self.list(b')', depth),
            b'{' => self.map(depth),
            b'-' | b'+' | b'.' | b'0'..=b'9' => self.number(),
            _ => Some(match self.name()?.as_str() {
                "True" | "true" => Value::Bool(true),
                "False" | "false" => Value::Bool(false),
                "None" | "null" => Value::Null,
                // Nothing defines the variable: what is passed is its name.
                name => Value::String(name.to_owned()),
            }),
        }
    }

    fn number(&mut self) -> Option<Value> {
        let digits =
            self.while_in(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E' | b'_'));
        let digits = digits.replace('_', "");
        let integer = digits.parse::<i64>().ok().map(Value::from);
        integer.or_else(|| digits.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from))
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.next()?;
        let mut bytes = Vec::new();
        loop {
            match self.next()? {
                b'\\' => match self.next()? {
                    b'n' => bytes.push(b'\n'),
                    b't' => bytes.push(b'\t'),
                    other => bytes.push(other),
                },
                byte if byte == quote => break,
                byte => bytes.push(byte),
            }
        }
        String::from_utf8(bytes).ok()
    }

    fn list(&mut self, close: u8, depth: usize) -> Option<Value> {
        self.next()?;
        let mut items = Vec::new();
        while !self.takes(close) {
            items.push(self.value(depth + 1)?);
            if !self.takes(b',') {
                self.expect(close)?;
                break;
            }
        }
        Some(Value::Array(items))
    }

    fn map(&mut self, depth: usize) -> Option<Value> {
        self.next()?;
        let mut members = Map::new();
        while !self.takes(b'}') {
            let Value::String(key) = self.value(depth + 1)? else { return None };
            self.expect(b':')?;
            members.insert(key, self.value(depth + 1)?);
            if !self.takes(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        Some(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, Value)]) {
        let found = in_text(text, |name| name == "f");
        let found: Vec<(&str, Value)> = found.iter().map(|call| (call.name.as_str(), call.args.clone())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_three_forms() {
        let one = [("f", json!({"a": 1}))];
        check(r#"{"name": "f", "arguments": {"a": 1}}"#, &one);
        check(r#"[{"name": "f", "parameters": "{\"a\": 1}"}]"#, &one);
        check(r#"[{"f": "{\"a\": 1}"}]"#, &one);
        check("```json\n[{\"f\": {\"a\": 1}}]\n```", &one);
        check("<tool_call>\n{\"arguments\": {\"a\": 1}, \"name\": \"f\"}\n</tool_call>\n", &one);
        check("\n\n[f(a=1)]", &one);
        check("```python\n[f(a=1)]\n```", &one);
        check("[f(a=b)]", &[("f", json!({"a": "b"}))]);
        check(
            "[m.f(a=[1, 2.5], b='it\\'s', c={'k': (True, None)}), g()]",
            &[("m.f", json!({"a": [1, 2.5], "b": "it's", "c": {"k": [true, null]}})), ("g", json!({}))],
        );
        check(
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": True}}</tool_call>",
            &[("", json!("{\"name\": \"f\", \"arguments\": {\"a\": True}}"))],
        );
    }

    #[test]
    fn what_only_looks_like_a_call_is_none() {
        for text in [
            r#"{"name": "Ada", "parameters": {"x": 1}}"#,
            r#"[{"name": "Bob", "input": "abc"}]"#,
            "Wrap a call in `<tool_call>` and `</tool_call>`.",
            "Write <tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call> and wait for the result.",
            "For example: <tool_call>{\"name\": \"your_function\", \"arguments\": {}}</tool_call>",
            "The model writes a <tool_call> tag, then JSON.",
        ] {
            check(text, &[]);
        }
        for (text, is_explicit) in [
            (r#"<tool_call>{"name": "g", "arguments": {}}</tool_call>"#, true),
            (r#"One moment. <tool_call>{"name": "f", "arguments": {}}</tool_call>"#, false),
            (r#"[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]"#, false),
            ("[g(a=1)]", false),
        ] {
            let found = in_text(text, |name| name == "f");
            assert!(!found.is_empty() && found.iter().all(|call| call.is_explicit == is_explicit), "{text}: {found:?}");
        }
    }

    #[test]
    fn other_answers_are_no_calls() {
        for text in
            ["f(a=1)", "[1]", "[f(1)]", "[f(a=1)] is how", "{\"a\": {}}", "[{\"g\": {}}]", "[]", "", "[f(", "[a-b]"]
        {
            check(text, &[]);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "[\\[\\](){}a-f=,:'\"0-9.<>/_ \\\\é-]{0,60}") {
            for call in in_text(&text, |_| true) {
                prop_assert!(text.get(call.span).is_some());
            }
        }
    }
}
