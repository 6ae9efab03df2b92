//! A piece of YAML → JSON: an element of a list, or a document.
//!
//! Scalars are read by the core schema of YAML 1.2. What is a number there and not in JSON (`007`, `.inf`) stays text, and so do times.
//!
//! **Limits**: keys are scalars; tags other than `!!str` mean nothing; merge keys (`<<`) are keys. Aliases are put in for what
//! they stand for as long as the whole stays below `max_record_bytes`, so that a short text cannot grow beyond all bounds. Anchors
//! do not reach from one element of a list to the next.

use std::{collections::BTreeMap, ops::Range};

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::{Cut, framing::MAX_DEPTH};

/// Appends the JSON of a piece to `out`. Of a list, which has one element, it is that element.
pub(super) fn to_json(text: &[u8], max_record_bytes: u64, out: &mut Vec<u8>) -> Result<Range<usize>, Cut> {
    let begin = out.len();
    let text = std::str::from_utf8(text).map_err(|_| broken("the YAML is not UTF-8"))?;
    let is_element = text.starts_with('-') && text[1..].starts_with([' ', '\t', '\r', '\n']);
    let mut writer = Writer { out, begin, limit: max_record_bytes, open: Vec::new(), anchors: BTreeMap::new() };
    let result = writer.write(text);
    if let Err(cut) = result {
        out.truncate(begin);
        return Err(cut);
    }
    match is_element {
        true => Ok(begin + 1..out.len() - 1),
        false => Ok(begin..out.len()),
    }
}

fn broken(reason: &str) -> Cut {
    Cut::Truncated(reason.to_owned())
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    begin: usize,
    limit: u64,
    open: Vec<Open>,
    /// Where the JSON of what has an anchor stands.
    anchors: BTreeMap<usize, Range<usize>>,
}

/// A list or a mapping that is open.
struct Open {
    is_mapping: bool,
    /// Keys and values, or elements, so far.
    nodes: usize,
    anchor: usize,
    begin: usize,
}

impl Writer<'_> {
    fn write(&mut self, text: &str) -> Result<(), Cut> {
        let mut has_document = false;
        for event in Parser::new_from_str(text) {
            let (event, _) = event.map_err(|error| {
                let (line, reason) = (error.marker().line(), error.info());
                broken(&format!("not YAML: {reason}, on its line {line}"))
            })?;
            match event {
                Event::DocumentStart(_) if has_document => return Err(broken("several YAML documents in one")),
                Event::DocumentStart(_) => has_document = true,
                Event::Scalar(text, style, anchor, tag) => {
                    let is_key = self.begin_node(true)?;
                    let begin = self.out.len();
                    let is_text = tag.is_some_and(|tag| tag.suffix == "str") || style != ScalarStyle::Plain;
                    match plain(&text).filter(|_| !is_text && !is_key) {
                        Some(plain) => self.out.extend_from_slice(plain.as_bytes()),
                        None => self.text(&text)?,
                    }
                    self.end_node(anchor, begin)?;
                }
                Event::Alias(anchor) => self.alias(anchor)?,
                Event::SequenceStart(anchor, _) => self.begin_list(anchor, false)?,
                Event::MappingStart(anchor, _) => self.begin_list(anchor, true)?,
                Event::SequenceEnd | Event::MappingEnd => self.end_list()?,
                Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            }
        }
        if self.out.len() == self.begin { Err(broken("no YAML but comments")) } else { Ok(()) }
    }

    /// Before a node: writes what stands between it and the one before. Whether it is a key.
    fn begin_node(&mut self, is_scalar: bool) -> Result<bool, Cut> {
        let Some(open) = self.open.last_mut() else { return Ok(false) };
        let is_key = open.is_mapping && open.nodes % 2 == 0;
        if is_key && !is_scalar {
            return Err(broken("a key that is no scalar"));
        }
        if open.is_mapping && !is_key {
            self.out.push(b':');
        } else if open.nodes > 0 {
            self.out.push(b',');
        }
        open.nodes += 1;
        Ok(is_key)
    }

    fn end_node(&mut self, anchor: usize, begin: usize) -> Result<(), Cut> {
        if anchor > 0 {
            self.anchors.insert(anchor, begin..self.out.len());
        }
        let bytes = (self.out.len() - self.begin) as u64;
        if bytes > self.limit { Err(Cut::TooLarge { bytes, limit: self.limit }) } else { Ok(()) }
    }

    fn text(&mut self, text: &str) -> Result<(), Cut> {
        serde_json::to_writer(&mut *self.out, text).map_err(|error| broken(&error.to_string()))
    }

    fn alias(&mut self, anchor: usize) -> Result<(), Cut> {
        let Some(range) = self.anchors.get(&anchor).cloned() else {
            return Err(broken("an alias inside of its anchor"));
        };
        let is_key = self.begin_node(true)?;
        if is_key && self.out.get(range.start) != Some(&b'"') {
            return Err(broken("a key that is no text"));
        }
        let begin = self.out.len();
        let bytes = (begin - self.begin + range.len()) as u64;
        if bytes > self.limit {
            return Err(Cut::TooLarge { bytes, limit: self.limit });
        }
        self.out.extend_from_within(range);
        self.end_node(0, begin)
    }

    fn begin_list(&mut self, anchor: usize, is_mapping: bool) -> Result<(), Cut> {
        self.begin_node(false)?;
        if self.open.len() == MAX_DEPTH {
            return Err(Cut::TooDeep { limit: MAX_DEPTH });
        }
        let begin = self.out.len();
        self.open.push(Open { is_mapping, nodes: 0, anchor, begin });
        self.out.push(if is_mapping { b'{' } else { b'[' });
        Ok(())
    }

    fn end_list(&mut self) -> Result<(), Cut> {
        let Some(Open { is_mapping, anchor, begin, .. }) = self.open.pop() else { return Ok(()) };
        self.out.push(if is_mapping { b'}' } else { b']' });
        self.end_node(anchor, begin)
    }
}

/// A plain scalar that is no text, in JSON.
fn plain(text: &str) -> Option<String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some("null".to_owned()),
        "true" | "True" | "TRUE" => return Some("true".to_owned()),
        "false" | "False" | "FALSE" => return Some("false".to_owned()),
        _ => {}
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16)
            .ok()
            .filter(|_| !digits.starts_with('+'))
            .map(|number| number.to_string());
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return u64::from_str_radix(digits, 8)
            .ok()
            .filter(|_| !digits.starts_with('+'))
            .map(|number| number.to_string());
    }
    let number = text.strip_prefix('+').unwrap_or(text);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let is_json = is_number && serde_json::from_str::<serde_json::Number>(number).is_ok();
    is_json.then(|| number.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(text: &str, limit: u64) -> Result<String, Cut> {
        let mut out = b"before".to_vec();
        let range = to_json(text.as_bytes(), limit, &mut out)?;
        Ok(String::from_utf8(out[range].to_vec()).expect("UTF-8"))
    }

    #[test]
    fn yaml_becomes_json() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(json(text, 1000).as_deref(), Ok(expected), "{text}");
        }
        check("- a: 1\n  b: x", r#"{"a":1,"b":"x"}"#);
        check("-\n  a: 1", r#"{"a":1}"#);
        check("a: 1\nb:\n- c\n- {d: [e, null]}", r#"{"a":1,"b":["c",{"d":["e",null]}]}"#);
        check("- x", r#""x""#);
        check("- - 1\n  - 2", "[1,2]");
        check(
            "a: ~\nb: true\nc: 1.5e3\nd: +7\ne: 007\nf: .inf\ng: 0x1F\nh: 2026-11-20\ni:",
            "{\"a\":null,\"b\":true,\"c\":1.5e3,\"d\":7,\"e\":\"007\",\"f\":\".inf\",\"g\":31,\"h\":\"2026-11-20\",\"i\":null}",
        );
        check("a: '1'\nb: !!str 2\n3: c", r#"{"a":"1","b":"2","3":"c"}"#);
        check("a: |\n  one\n  \"two\"\nb: >-\n  x\n  y", r#"{"a":"one\n\"two\"\n","b":"x y"}"#);
        check("a: &x {b: 1}\nc: *x\nd: [*x, *x]", r#"{"a":{"b":1},"c":{"b":1},"d":[{"b":1},{"b":1}]}"#);
        check("a: &k key\n*k : 1", r#"{"a":"key","key":1}"#);
    }

    #[test]
    fn what_is_no_json_is_named() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let Err(Cut::Truncated(reason)) = json(text, 1000) else { panic!("{text}") };
            assert!(reason.starts_with(expected), "{text}: {reason}");
        }
        check("a: [1", "not YAML: ");
        check("a: b: c", "not YAML: ");
        check("? [a]\n: b", "a key that is no scalar");
        check("a: &x [*x]", "an alias inside of its anchor");
        check("# a", "no YAML but comments");
        check("a: 1\n---\nb: 2", "several YAML documents in one");
        assert_eq!(json(&format!("a: {}", "x".repeat(1000)), 1000), Err(Cut::TooLarge { bytes: 1007, limit: 1000 }));
        assert_eq!(json(&"[".repeat(200), 1000), Err(Cut::TooDeep { limit: MAX_DEPTH }));
    }

    #[test]
    fn a_bomb_of_aliases_stays_small() {
        let mut text = "a0: &a0 [xxxxxxxxxx]\n".to_owned();
        for level in 1..40 {
            let below = format!("*a{}", level - 1);
            text += &format!("a{level}: &a{level} [{}]\n", vec![below; 10].join(", "));
        }
        let mut out = Vec::new();
        assert!(matches!(to_json(text.as_bytes(), 1 << 20, &mut out), Err(Cut::TooLarge { limit: 0x10_0000, .. })));
        assert!(out.capacity() < 8 << 20);
    }

    proptest! {
        #[test]
        fn what_comes_out_is_json(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "a", ": ", "- ", "\n", "  ", "[", "]", "{", "}", ", ", "'", "\"", "&x ", "*x", "|\n", ">", "# ", "!t ", "? ", "1", "~",
                    "---\n", "\\", "\u{e9}", "%",
                ]),
                0..40
            )
        ) {
            let text = pieces.concat();
            if let Ok(json) = json(&text, 1000) {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{}", json);
            }
        }
    }
}
