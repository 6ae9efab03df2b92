//! JSON inside of a text: where it stands, whether it parses, and its top-level keys. Parsed once, for all engines.
//!
//! **Where**: the first fenced block in an unnamed or JSON fence that begins with a bracket; else from the first `{`
//! or `[` to the last closing bracket of its kind. A `[` before a `{` counts only when its array encloses the object
//! ("see [1] for {...}" is an object). Where brackets stay open and the last closing one stands in a string or before a
//! comma, or where none closes, the part ends with the text.
//!
//! **Source**: seed 001, "JSON Detection" and "JSON Repair".
//!
//! **Limits**: [`KEYS_MAX`] keys are kept, of the first [`ITEMS_MAX`] objects of an array.

use std::{fmt, ops::Range};

use memchr::{memchr, memrchr};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::lines::{Block, Lines};

/// Top-level keys that are kept.
pub const KEYS_MAX: usize = 1_024;
/// Items of a top-level array whose keys are kept.
pub const ITEMS_MAX: usize = 16;

/// Where JSON stands in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// The text begins with it.
    Opening,
    /// In a fence that names JSON; whether the text begins with that fence.
    JsonFence {
        /// Nothing stands before the fence.
        opens_text: bool,
    },
    /// In a fence without a name; whether the text begins with that fence.
    PlainFence {
        /// Nothing stands before the fence.
        opens_text: bool,
    },
    /// Somewhere inside.
    Embedded,
}

/// The JSON of a text, valid or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPart {
    /// The bytes that should be JSON, without white space around.
    pub span: Range<usize>,
    /// Where they stand.
    pub stand: Stand,
    /// Whether they parse as one value.
    pub valid: bool,
    /// Whether they begin with a value that parses, whatever follows (JSON Lines, a second object).
    pub begins_valid: bool,
    /// Whether the text ends where the value goes on.
    pub is_cut: bool,
    /// Whether the first bracket is followed by what follows it in JSON, and not in prose or code.
    pub looks_like_json: bool,
    /// Keys of the top-level object, or of the objects in the top-level array; sorted, each once. Empty when not valid.
    pub keys: Vec<String>,
}

impl JsonPart {
    /// Finds and parses the JSON of `text`.
    pub fn of(text: &str) -> Option<JsonPart> {
        JsonPart::with_lines(text, &Lines::of(text))
    }

    /// As [`JsonPart::of`], with the lines already at hand.
    pub fn with_lines(text: &str, lines: &Lines) -> Option<JsonPart> {
        let (span, stand) = locate(text, lines.json_block.as_ref())?;
        let part = &text[span.clone()];
        let mut values = serde_json::Deserializer::from_str(part).into_iter::<Outline>();
        let first = values.next();
        let is_cut = matches!(&first, Some(Err(error)) if error.is_eof());
        let first = first.and_then(Result::ok);
        let begins_valid = first.is_some();
        let valid = begins_valid && part[values.byte_offset()..].trim_ascii().is_empty();
        let mut keys = first.filter(|_| valid).unwrap_or_default().keys;
        keys.sort_unstable();
        keys.dedup();
        let looks_like_json = looks_like_json(part.as_bytes());
        Some(JsonPart { span, stand, valid, begins_valid, is_cut, looks_like_json, keys })
    }

    /// Whether the text answers with this JSON: it begins with it, in a fence or without one.
    pub fn opens_text(&self) -> bool {
        match self.stand {
            Stand::Opening => true,
            Stand::JsonFence { opens_text } | Stand::PlainFence { opens_text } => opens_text,
            Stand::Embedded => false,
        }
    }
}

/// Where the JSON of `text` should be, given its first fenced block that may hold some.
pub fn locate(text: &str, block: Option<&Block>) -> Option<(Range<usize>, Stand)> {
    let (span, stand) = match block {
        Some(block) => {
            let opens_text = text[..block.start].trim_ascii().is_empty();
            let fence =
                if block.names_json { Stand::JsonFence { opens_text } } else { Stand::PlainFence { opens_text } };
            (block.content.clone(), fence)
        }
        None => {
            let span = bracketed(text.as_bytes())?;
            let opens = text[..span.start].trim_ascii().is_empty();
            (span, if opens { Stand::Opening } else { Stand::Embedded })
        }
    };
    let part = &text[span.clone()];
    let start = span.start + (part.len() - part.trim_ascii_start().len());
    let length = part.trim_ascii().len();
    Some((start..start + length, stand))
}

/// From the first opening bracket to the last closing one of its kind, or to the end.
fn bracketed(bytes: &[u8]) -> Option<Range<usize>> {
    let kind =
        |open, close| memchr(open, bytes).map(|start| (start, memrchr(close, &bytes[start..]).map(|at| start + at)));
    let object = kind(b'{', b'}');
    let array = kind(b'[', b']');
    let (start, close) = match (object, array) {
        (Some(object), Some(array)) if array.0 < object.0 && holds(bytes, array, object) => {
            (array.0, array.1.max(object.1))
        }
        (Some(object), _) => object,
        (None, array) => array?,
    };
    let Some(close) = close else {
        return Some(start..bytes.len());
    };
    // Code has brackets too, and is not worth the count.
    if !looks_like_json(&bytes[start..]) {
        return Some(start..close + 1);
    }
    let (depth, in_string) = depth_at_end(&bytes[start..=close]);
    let goes_on = in_string || bytes[close + 1..].trim_ascii_start().starts_with(b",");
    Some(start..if depth > 0 && goes_on { bytes.len() } else { close + 1 })
}

/// Whether an array that begins before an object holds it: by where both end, or because it stays open.
fn holds(bytes: &[u8], array: (usize, Option<usize>), object: (usize, Option<usize>)) -> bool {
    let end = array.1.map_or(bytes.len(), |close| close + 1);
    array.1.is_some_and(|close| Some(close) >= object.1)
        || (looks_like_json(&bytes[array.0..]) && depth_at_end(&bytes[array.0..end]).0 > 0)
}

/// How many more brackets open than close outside of strings, and whether a string is open at the end.
fn depth_at_end(part: &[u8]) -> (i64, bool) {
    let mut depth = 0i64;
    let mut in_string = false;
    let mut escaped = false;
    for byte in part {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
    }
    (depth, in_string)
}

/// Whether `part`, which begins with a bracket, goes on as JSON (or as what is meant to be) does.
fn looks_like_json(part: &[u8]) -> bool {
    let inside = part.get(1..).unwrap_or_default().trim_ascii_start();
    let Some(first) = inside.first() else { return true };
    if part[0] == b'{' {
        return match first {
            b'"' | b'\'' => has_colon_after_string(inside),
            b'}' => inside[1..].trim_ascii_start().first().is_none_or(|byte| b",]}".contains(byte)),
            _ => begins_key(inside),
        };
    }
    match first {
        b'{' | b'[' => {
            let inner = &inside[..inside.len().min(LOOK_BYTES)];
            // "[[1]" is an array in an array, where "[1]" alone may be a footnote.
            inner.len() == 1 || looks_like_json(inner) || begins_with_number(inner[1..].trim_ascii_start(), b",]")
        }
        b'"' | b']' => true,
        b'0'..=b'9' | b'-' => begins_with_number(inside, b","),
        _ => [&b"true"[..], b"false", b"null"].iter().any(|word| inside.starts_with(word)),
    }
}

/// Bytes that are looked at to tell JSON from prose and code.
const LOOK_BYTES: usize = 256;

fn has_colon_after_string(inside: &[u8]) -> bool {
    let quote = inside[0];
    let look = &inside[1..inside.len().min(LOOK_BYTES)];
    let mut escaped = false;
    let end = look.iter().position(|byte| {
        let closes = *byte == quote && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closes
    });
    let behind = end.map_or(&[][..], |end| look[end + 1..].trim_ascii_start());
    behind.first().is_none_or(|byte| *byte == b':')
}

fn begins_key(inside: &[u8]) -> bool {
    let name = inside.iter().take(LOOK_BYTES).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let behind = inside[name..].trim_ascii_start();
    name > 0 && behind.first() == Some(&b':') && behind.get(1) != Some(&b':')
}

/// Whether a number stands there, and one of `then` behind it.
fn begins_with_number(inside: &[u8], then: &[u8]) -> bool {
    let is_number = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let number = inside.iter().take(LOOK_BYTES).take_while(is_number).count();
    number > 0 && inside[number..].trim_ascii_start().first().is_some_and(|byte| then.contains(byte))
}

/// The top-level keys of a JSON value; everything else is checked and skipped.
#[derive(Default)]
struct Outline {
    keys: Vec<String>,
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Outline, D::Error> {
        deserializer.deserialize_any(OutlineVisitor)
    }
}

struct OutlineVisitor;

impl<'de> Visitor<'de> for OutlineVisitor {
    type Value = Outline;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object or array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outline, A::Error> {
        let mut keys = Vec::new();
        while keys.len() < KEYS_MAX {
            let Some(key) = map.next_key::<String>()? else { return Ok(Outline { keys }) };
            map.next_value::<IgnoredAny>()?;
            keys.push(key);
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Outline { keys })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Outline, A::Error> {
        let mut keys = Vec::new();
        for _ in 0..ITEMS_MAX {
            let Some(item) = items.next_element::<Item>()? else { return Ok(Outline { keys }) };
            keys.extend(item.0.keys);
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        keys.truncate(KEYS_MAX);
        Ok(Outline { keys })
    }
}

/// An item of a top-level array: the keys of an object, nothing of other values.
struct Item(Outline);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Item, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Item, A::Error> {
        OutlineVisitor.visit_map(map).map(Item)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Item, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Item(Outline::default()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Item, E> {
        Ok(Item(Outline::default()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Item, E> {
        Ok(Item(Outline::default()))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Item, E> {
        Ok(Item(Outline::default()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Item, E> {
        Ok(Item(Outline::default()))
    }

    fn visit_str<E>(self, _: &str) -> Result<Item, E> {
        Ok(Item(Outline::default()))
    }

    fn visit_unit<E>(self) -> Result<Item, E> {
        Ok(Item(Outline::default()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part(text: &str) -> Option<(&str, bool)> {
        JsonPart::of(text).map(|part| (&text[part.span], part.valid))
    }

    #[test]
    fn the_part_is_found_and_parsed() {
        for (text, expected) in [
            ("no json at all", None),
            ("{}", Some(("{}", true))),
            ("Answer: {\"a\":1} thanks", Some(("{\"a\":1}", true))),
            ("{\"a\": 1} and {\"b\": 2}", Some(("{\"a\": 1} and {\"b\": 2}", false))),
            ("see [1] for {\"a\":1}", Some(("{\"a\":1}", true))),
            ("so [{\"a\":1}, 2] it is", Some(("[{\"a\":1}, 2]", true))),
            ("[1,2", Some(("[1,2", false))),
            ("x = [1, 2] and {\"a\":1}", Some(("{\"a\":1}", true))),
            ("[[{\"a\":[]}, 1", Some(("[[{\"a\":[]}, 1", false))),
            ("{\"a\": {\"b\": 1}, \"c\": \"tru", Some(("{\"a\": {\"b\": 1}, \"c\": \"tru", false))),
            ("Use {x}: ```json\n {\"a\":1}\n```", Some(("{\"a\":1}", true))),
            ("```json\n{\"a\":[1,2\n```", Some(("{\"a\":[1,2", false))),
        ] {
            assert_eq!(part(text), expected, "{text}");
        }
    }

    #[test]
    fn a_first_value_that_parses_is_told_from_one_that_does_not() {
        let begins = |text: &str| JsonPart::of(text).map(|part| (part.valid, part.begins_valid));
        assert_eq!(begins("{\"a\":1}\n{\"b\":2}"), Some((false, true)));
        assert_eq!(begins("{\"a\":1\n{\"b\":2}"), Some((false, false)));
        assert_eq!(begins("[1] and [2]"), Some((false, true)));
    }

    #[test]
    fn prose_and_code_do_not_look_like_json() {
        let looks = |text: &str| JsonPart::of(text).is_some_and(|part| part.looks_like_json);
        for text in ["{\"a\": 1", "{'a': 1}", "{a: 1}", "{ }", "{", "[\"x\"", "[{\"a\"", "[1, 2", "[true]", "[]", "[{"]
        {
            assert!(looks(text), "{text}");
        }
        for text in [
            "[1] Smith",
            "[link](url)",
            "[func(a=1)]",
            "{name}",
            "{{name}}",
            "{ return x; }",
            "{std::move(x)}",
            "[x]",
            "[[x]]",
        ] {
            assert!(!looks(text), "{text}");
        }
    }

    #[test]
    fn keys_are_those_of_the_top_level() {
        let keys = |text: &str| JsonPart::of(text).map(|part| part.keys).unwrap_or_default();
        assert_eq!(keys("{\"b\":{\"x\":1},\"a\":[],\"b\":0}"), ["a", "b"]);
        assert_eq!(keys("[{\"a\":1}, null, \"s\", [{\"n\":1}], -1, 1.5, {\"c\":true}]"), ["a", "c"]);
        assert!(keys("{\"a\":1").is_empty());
    }

    #[test]
    fn deep_nesting_is_no_danger() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        assert_eq!(part(&deep).map(|found| found.1), Some(true));
        assert_eq!(part(&"[{".repeat(100_000)).map(|found| found.1), Some(false));
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(text in "[\\[\\]{}\",:a1 \n`é]{0,60}") {
            if let Some(part) = JsonPart::of(&text) {
                prop_assert_eq!(part.valid, serde_json::from_str::<IgnoredAny>(&text[part.span]).is_ok());
            }
        }
    }
}
