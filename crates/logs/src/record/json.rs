//! The borrowed JSON tree that a unit is parsed into.
//!
//! Strings without escapes borrow from the unit, objects keep the order of their keys, and integers keep every digit
//! up to 64 bits. Parsing is strict: what RFC 8259 leaves open is decided against the log (a key that occurs twice is
//! an error, for it is unknown which one the writer meant).
//!
//! **Limits**: [`MAX_DEPTH`] nested containers; an integer beyond 64 bits becomes a float; a number beyond the range
//! of a 64-bit float is an error.

use std::{
    borrow::Cow,
    collections::{HashSet, hash_map::RandomState},
    fmt,
    hash::{BuildHasher, Hasher},
};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor},
    ser::{SerializeMap, SerializeSeq},
};
use siphasher::sip::SipHasher13;

use super::scan;

/// Containers that may be nested in one another, the outermost included (the limit of `serde_json`).
pub const MAX_DEPTH: usize = 127;

/// Keys that an object has room for from the start; most have no more, and growing costs as much as parsing.
const USUAL_KEYS: usize = 8;

/// Objects up to this many keys are searched key by key for a duplicate; beyond it a set of hashes takes over.
const LINEAR_KEYS: usize = 24;

/// Keys of [`Json::canonical_hash`]: fixed, so that a hash means the same in every run. The first 128 bits of the
/// fractional part of pi.
const HASH_KEYS: (u64, u64) = (0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344);

/// One JSON value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string, borrowed when it holds no escapes.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object, in the order of its keys.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// A JSON number, exact for integers of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer from 0 on.
    Unsigned(u64),
    /// A negative integer.
    Signed(i64),
    /// Anything else; finite when it was parsed.
    Float(f64),
}

/// Why bytes are not one JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Offset of the fault in the bytes.
    pub byte: usize,
    /// What is wrong there, as a clause; shows no text of the input beyond key names.
    pub reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at byte {}", self.reason, self.byte)
    }
}

impl std::error::Error for ParseError {}

impl<'a> Json<'a> {
    /// Parses bytes that hold exactly one value and white space.
    pub fn parse(bytes: &'a [u8]) -> Result<Json<'a>, ParseError> {
        match Json::parse_first(bytes) {
            Some((value, true)) => Ok(value),
            _ => Err(scan::fault(bytes)),
        }
    }

    /// Parses the value that the bytes begin with, and tells whether only white space follows. `None` when it is not
    /// strict JSON; the scanner knows why.
    pub(crate) fn parse_first(bytes: &'a [u8]) -> Option<(Json<'a>, bool)> {
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let value = Json::deserialize(&mut deserializer).ok()?;
        Some((value, deserializer.end().is_ok()))
    }

    /// Parses a text that may hold JSON; gives it back when it does not.
    pub(crate) fn parse_text(text: Cow<'a, str>) -> Result<Json<'a>, Cow<'a, str>> {
        let parsed = match &text {
            Cow::Borrowed(text) => Json::parse_first(text.as_bytes()),
            Cow::Owned(text) => Json::parse_first(text.as_bytes()).map(|(json, whole)| (json.into_owned(), whole)),
        };
        match parsed {
            Some((json, true)) => Ok(json),
            _ => Err(text),
        }
    }

    /// The value of a key, when this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.as_object()?.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The value at a JSON Pointer (RFC 6901); the empty pointer is the value itself.
    pub fn pointer(&self, pointer: &str) -> Option<&Json<'a>> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |value, token| match value {
            Json::Object(_) if token.contains('~') => value.get(&token.replace("~1", "/").replace("~0", "~")),
            Json::Object(_) => value.get(token),
            Json::Array(items) => items.get(array_index(token)?),
            _ => None,
        })
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// The truth value, when this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Json::Bool(value) = self { Some(*value) } else { None }
    }

    /// The number, when this is one.
    pub fn as_number(&self) -> Option<Number> {
        if let Json::Number(number) = self { Some(*number) } else { None }
    }

    /// The number as a float, when this is one; beyond 2^53 the nearest float.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number().map(Number::as_f64)
    }

    /// The string, when this is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Json::String(text) = self { Some(text) } else { None }
    }

    /// The elements, when this is an array.
    pub fn as_array(&self) -> Option<&[Json<'a>]> {
        if let Json::Array(items) = self { Some(items) } else { None }
    }

    /// The keys and values in order, when this is an object.
    pub fn as_object(&self) -> Option<&[(Cow<'a, str>, Json<'a>)]> {
        if let Json::Object(entries) = self { Some(entries) } else { None }
    }

    /// What kind of value this is, with its article: `a number`, `an object`, `null`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "a string",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        }
    }

    /// The value of a key, moved out (null stays behind); `None` when there is none or it is null.
    pub(crate) fn take(&mut self, key: &str) -> Option<Json<'a>> {
        let Json::Object(entries) = self else { return None };
        let (_, value) = entries.iter_mut().find(|(name, _)| name == key)?;
        Some(std::mem::take(value)).filter(|value| !value.is_null())
    }

    /// The same value, owning its text.
    pub fn into_owned(self) -> Json<'static> {
        match self {
            Json::Null => Json::Null,
            Json::Bool(value) => Json::Bool(value),
            Json::Number(number) => Json::Number(number),
            Json::String(text) => Json::String(owned(text)),
            Json::Array(items) => Json::Array(items.into_iter().map(Json::into_owned).collect()),
            Json::Object(entries) => {
                Json::Object(entries.into_iter().map(|(key, value)| (owned(key), value.into_owned())).collect())
            }
        }
    }

    /// The same value as `serde_json` has it; a float that is not finite becomes null.
    pub fn to_value(&self) -> serde_json::Value {
        use serde_json::Value;
        match self {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(Number::Unsigned(value)) => Value::from(*value),
            Json::Number(Number::Signed(value)) => Value::from(*value),
            Json::Number(Number::Float(value)) => Value::from(*value),
            Json::String(text) => Value::from(text.as_ref()),
            Json::Array(items) => items.iter().map(Json::to_value).collect(),
            Json::Object(entries) => entries.iter().map(|(key, value)| (key.as_ref(), value.to_value())).collect(),
        }
    }

    /// The JSON text without any spaces, as a response that was logged as an object is read.
    pub fn to_compact_string(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The JSON text as Python's `json.dumps(value, ensure_ascii=False)` writes it: `", "` and `": "` between the
    /// parts, characters outside ASCII as they are. Patterns and lengths of tool results are about this text.
    pub fn to_spaced_string(&self) -> String {
        let mut out = String::new();
        let _infallible = self.write_spaced(&mut out);
        out
    }

    /// The length of [`Json::to_spaced_string`] in Unicode code points, without making it.
    pub fn spaced_length_chars(&self) -> usize {
        let mut out = CharCounter(0);
        let _infallible = self.write_spaced(&mut out);
        out.0
    }

    /// About how many bytes the value takes in memory.
    pub fn weight_bytes(&self) -> usize {
        match self {
            Json::String(text) => text.len(),
            Json::Array(items) => items.iter().map(|item| 32 + item.weight_bytes()).sum(),
            Json::Object(entries) => entries.iter().map(|(key, value)| 56 + key.len() + value.weight_bytes()).sum(),
            _ => 0,
        }
    }

    /// A hash that is the same for equal values: keys in any order, numbers by value (`1` and `1.0` agree), and the
    /// same in every run and on every machine.
    pub fn canonical_hash(&self) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(HASH_KEYS.0, HASH_KEYS.1);
        self.hash_into(&mut hasher);
        hasher.finish()
    }

    fn write_spaced(&self, out: &mut impl fmt::Write) -> fmt::Result {
        match self {
            Json::Null => out.write_str("null"),
            Json::Bool(true) => out.write_str("true"),
            Json::Bool(false) => out.write_str("false"),
            Json::Number(Number::Unsigned(value)) => write!(out, "{value}"),
            Json::Number(Number::Signed(value)) => write!(out, "{value}"),
            Json::Number(Number::Float(value)) => write_float(*value, out),
            Json::String(text) => write_string(text, out),
            Json::Array(items) => {
                out.write_char('[')?;
                for (i, item) in items.iter().enumerate() {
                    out.write_str(if i == 0 { "" } else { ", " })?;
                    item.write_spaced(out)?;
                }
                out.write_char(']')
            }
            Json::Object(entries) => {
                out.write_char('{')?;
                for (i, (key, value)) in entries.iter().enumerate() {
                    out.write_str(if i == 0 { "" } else { ", " })?;
                    write_string(key, out)?;
                    out.write_str(": ")?;
                    value.write_spaced(out)?;
                }
                out.write_char('}')
            }
        }
    }

    /// Every value begins with a tag and every sequence with its length, so that no two values write the same bytes.
    fn hash_into(&self, hasher: &mut SipHasher13) {
        match self {
            Json::Null => hasher.write(b"n"),
            Json::Bool(value) => hasher.write(if *value { b"t" } else { b"f" }),
            Json::Number(number) => number.hash_into(hasher),
            Json::String(text) => hash_text(b's', text, hasher),
            Json::Array(items) => {
                hash_length(b'a', items.len(), hasher);
                items.iter().for_each(|item| item.hash_into(hasher));
            }
            Json::Object(entries) => {
                hash_length(b'o', entries.len(), hasher);
                let mut sorted: Vec<_> = entries.iter().collect();
                sorted.sort_by(|(left, _), (right, _)| left.cmp(right));
                for (key, value) in sorted {
                    hash_text(b'k', key, hasher);
                    value.hash_into(hasher);
                }
            }
        }
    }
}

impl Number {
    /// The number as a float; beyond 2^53 the nearest one.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Unsigned(value) => value as f64,
            Number::Signed(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// The integer, when the number is one of at most 64 bits, however it is written (`3`, `3.0`, `3e0`).
    pub fn as_integer(self) -> Option<i128> {
        match self {
            Number::Unsigned(value) => Some(value.into()),
            Number::Signed(value) => Some(value.into()),
            Number::Float(value) => {
                let fits = value.fract() == 0.0 && (-(2f64.powi(63))..2f64.powi(64)).contains(&value);
                fits.then_some(value as i128)
            }
        }
    }

    fn hash_into(self, hasher: &mut SipHasher13) {
        match self.as_integer() {
            Some(integer) => {
                hasher.write(b"i");
                hasher.write(&integer.to_le_bytes());
            }
            None => {
                hasher.write(b"d");
                hasher.write(&self.as_f64().to_bits().to_le_bytes());
            }
        }
    }
}

/// The same text, owned.
pub(crate) fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

/// An array index of RFC 6901: decimal digits without a leading zero.
fn array_index(token: &str) -> Option<usize> {
    let canonical = token == "0" || (!token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit()));
    if canonical { token.parse().ok() } else { None }
}

fn hash_length(tag: u8, length: usize, hasher: &mut SipHasher13) {
    hasher.write(&[tag]);
    hasher.write(&(length as u64).to_le_bytes());
}

fn hash_text(tag: u8, text: &str, hasher: &mut SipHasher13) {
    hash_length(tag, text.len(), hasher);
    hasher.write(text.as_bytes());
}

struct CharCounter(usize);

impl fmt::Write for CharCounter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.chars().count();
        Ok(())
    }
}

fn write_string(text: &str, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_char('"')?;
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.write_str(&text[written..at])?;
        written = at + 1;
        match byte {
            b'"' => out.write_str("\\\""),
            b'\\' => out.write_str("\\\\"),
            b'\n' => out.write_str("\\n"),
            b'\r' => out.write_str("\\r"),
            b'\t' => out.write_str("\\t"),
            0x08 => out.write_str("\\b"),
            0x0c => out.write_str("\\f"),
            _ => write!(out, "\\u{byte:04x}"),
        }?;
    }
    out.write_str(&text[written..])?;
    out.write_char('"')
}

/// A float as Python's `repr` has it. Rust's `{:?}` agrees but for the exponent, which Python gives a sign and at
/// least two digits.
fn write_float(value: f64, out: &mut impl fmt::Write) -> fmt::Result {
    if !value.is_finite() {
        return out.write_str("null");
    }
    let text = format!("{value:?}");
    let Some((digits, exponent)) = text.split_once('e') else { return out.write_str(&text) };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    write!(out, "{digits}e{sign}{exponent:0>2}")
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(Number::Unsigned(value)) => serializer.serialize_u64(*value),
            Json::Number(Number::Signed(value)) => serializer.serialize_i64(*value),
            Json::Number(Number::Float(value)) => serializer.serialize_f64(*value),
            Json::String(text) => serializer.serialize_str(text),
            Json::Array(items) => {
                let mut out = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| out.serialize_element(item))?;
                out.end()
            }
            Json::Object(entries) => {
                let mut out = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, value)| out.serialize_entry(key, value))?;
                out.end()
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json<'a>, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Json<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(Number::Unsigned(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(u64::try_from(value).map_or(Number::Signed(value), Number::Unsigned)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::Number(Number::Float(value)))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json<'de>, A::Error> {
        let mut entries = Vec::with_capacity(USUAL_KEYS);
        let mut keys = Keys::default();
        while let Some(key) = map.next_key_seed(KeySeed)? {
            if keys.repeats(&key, &entries) {
                return Err(de::Error::custom("duplicate key"));
            }
            entries.push((key, map.next_value()?));
        }
        Ok(Json::Object(entries))
    }
}

/// Finds a key that occurs twice, in linear time for objects of any size.
#[derive(Default)]
struct Keys {
    hashes: Option<(RandomState, HashSet<u64>)>,
}

impl Keys {
    #[expect(
        clippy::disallowed_methods,
        reason = "keys come from the log: a fixed hash could be flooded; the answer is exact with any"
    )]
    fn repeats(&mut self, key: &str, entries: &[(Cow<'_, str>, Json<'_>)]) -> bool {
        let occurs = || entries.iter().any(|(name, _)| name == key);
        if entries.len() < LINEAR_KEYS {
            return occurs();
        }
        let (state, hashes) = self.hashes.get_or_insert_with(|| {
            let state = RandomState::new();
            let hashes = entries.iter().map(|(name, _)| state.hash_one(name.as_ref())).collect();
            (state, hashes)
        });
        !hashes.insert(state.hash_one(key)) && occurs()
    }
}

struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Json<'_> {
        Json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn borrows_text_without_escapes_and_keeps_the_order_of_keys() {
        let tree = parsed(r#"{"z":"plain","a":"line\nbreak"}"#);
        let entries = tree.as_object().unwrap();
        assert!(matches!(&entries[0], (Cow::Borrowed("z"), Json::String(Cow::Borrowed("plain")))));
        assert!(matches!(&entries[1].1, Json::String(Cow::Owned(text)) if text == "line\nbreak"));
    }

    #[test]
    fn integers_are_exact_to_64_bits() {
        assert_eq!(parsed("18446744073709551615"), Json::Number(Number::Unsigned(u64::MAX)));
        assert_eq!(parsed("-9223372036854775808"), Json::Number(Number::Signed(i64::MIN)));
        assert_eq!(parsed("9007199254740993"), Json::Number(Number::Unsigned((1 << 53) + 1)));
        assert_eq!(parsed("18446744073709551616"), Json::Number(Number::Float(2f64.powi(64))));
    }

    #[test]
    fn pointers_of_rfc_6901() {
        let tree = parsed(r#"{"foo":["bar","baz"],"":0,"a/b":1,"m~n":8,"~1":9}"#);
        let check = |pointer: &str, expected: Option<&str>| {
            assert_eq!(tree.pointer(pointer).map(Json::to_compact_string).as_deref(), expected, "{pointer}");
        };
        check("/foo/0", Some("\"bar\""));
        check("/foo/01", None);
        check("/foo/+1", None);
        check("/foo/-", None);
        check("/foo/2", None);
        check("/", Some("0"));
        check("/a~1b", Some("1"));
        check("/m~0n", Some("8"));
        check("/~01", Some("9"));
        check("foo", None);
        assert_eq!(tree.pointer(""), Some(&tree));
    }

    #[test]
    fn spaced_text_is_that_of_python() {
        let check = |json: &str, expected: &str| assert_eq!(parsed(json).to_spaced_string(), expected);
        check(r#"{"a":[1,2.5,null,true],"b":{}}"#, r#"{"a": [1, 2.5, null, true], "b": {}}"#);
        check(
            r#"["é\u20ac\ud83d\ude00","\u0001\n\"\\\/\b\f\u007f"]"#,
            "[\"é€😀\", \"\\u0001\\n\\\"\\\\/\\b\\f\u{7f}\"]",
        );
        // Expected texts by CPython 3.11: json.dumps(json.loads(x)).
        check(
            "[1e16,1e15,123456789012345680000,1e-5,0.0001,1.5e-7,1e100,100.0,5e-324]",
            "[1e+16, 1000000000000000.0, 1.2345678901234568e+20, 1e-05, 0.0001, 1.5e-07, 1e+100, 100.0, 5e-324]",
        );
    }

    #[test]
    fn equal_values_hash_alike_and_others_do_not() {
        let hash = |text: &str| parsed(text).canonical_hash();
        assert_eq!(hash(r#"{"a":1,"b":[2]}"#), hash(r#"{"b":[2.0],"a":1e0}"#));
        assert_eq!(hash("-0.0"), hash("0"));
        assert_eq!(hash("9007199254740992"), hash("9007199254740992.0"));
        let different = [
            "1",
            "\"1\"",
            "[1]",
            "{\"1\":1}",
            "9007199254740993",
            "9007199254740992",
            "null",
            "false",
            "[]",
            "{}",
            "[[],[]]",
            "[[[]]]",
            "1.5",
        ];
        for (i, left) in different.iter().enumerate() {
            for right in &different[i + 1..] {
                assert_ne!(hash(left), hash(right), "{left} {right}");
            }
        }
        // Fixed for ever: a changed hash would break comparisons between runs.
        assert_eq!(hash(r#"{"city":"Oslo","days":3}"#), 11_749_919_013_216_362_171);
    }

    #[test]
    fn a_key_that_occurs_twice_is_an_error_at_any_size() {
        for others in [0, 1, LINEAR_KEYS - 1, LINEAR_KEYS, LINEAR_KEYS + 1, 1000] {
            let keys: String = (0..others).map(|i| format!("\"k{i}\":0,")).collect();
            assert!(Json::parse(format!("{{{keys}\"x\":1}}").as_bytes()).is_ok(), "{others}");
            let error = Json::parse(format!("{{\"x\":1,{keys}\"\\u0078\":2}}").as_bytes()).unwrap_err();
            assert_eq!(error.reason, "duplicate key `x`");
        }
    }

    #[test]
    fn what_the_reader_reads_around_is_an_error_here() {
        let check = |json: &[u8], expected: &str| assert_eq!(Json::parse(json).unwrap_err().to_string(), expected);
        check(b"[1, NaN]", "NaN or Infinity at byte 4");
        check(b"[\"\xff\", -Infinity]", "text that is not UTF-8 at byte 2");
        check(b"1 2", "more text after the value at byte 2");
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert!(Json::parse(&nested(MAX_DEPTH)).is_ok());
        let error = Json::parse(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert_eq!((error.byte, error.reason.as_str()), (MAX_DEPTH, "nested more than 127 levels deep"));
        assert!(Json::parse(&vec![b'['; 1_000_000]).is_err());
    }

    /// Any JSON value, small.
    pub fn values() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6).prop_map(|entries| entries.into_iter().collect()),
            ]
        })
    }

    fn reversed(value: &Json<'_>) -> Json<'static> {
        match value.clone().into_owned() {
            Json::Object(entries) => Json::Object(entries.into_iter().rev().map(|(k, v)| (k, reversed(&v))).collect()),
            Json::Array(items) => Json::Array(items.iter().map(reversed).collect()),
            other => other,
        }
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(value in values()) {
            let text = value.to_string();
            let tree = parsed(&text);
            prop_assert_eq!(tree.to_value(), serde_json::from_str::<serde_json::Value>(&text).unwrap());
            prop_assert_eq!(&tree.to_compact_string(), &text);
            prop_assert_eq!(&tree.clone().into_owned(), &tree);
            prop_assert_eq!(tree.canonical_hash(), reversed(&tree).canonical_hash());
            let spaced = tree.to_spaced_string();
            prop_assert_eq!(tree.spaced_length_chars(), spaced.chars().count());
            prop_assert_eq!(parsed(&spaced), tree);
        }
    }
}
