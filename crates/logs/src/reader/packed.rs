//! Values that log systems pack into texts: JSON, JSON behind some words, base64 of it (Kinesis, Pub/Sub, CloudEvents), base64
//! of gzip (CloudWatch's subscriptions), a list of bytes (journald).
//!
//! **Limits**: base64 is told by how it begins when it holds JSON or gzip, and looked into once. Texts in texts are unpacked
//! [`PACKINGS_MAX`] deep, gzip to at most [`UNPACKED_RATIO_MAX`] times its size, and all of a unit to at most
//! [`UNPACKED_BYTES_MAX`]; what is packed beyond that is left alone.

use std::{borrow::Cow, cell::Cell, io::Read as _};

use flate2::read::MultiGzDecoder;

use super::text_line::{self, Line};
use crate::record::{json::Json, values};

/// Texts within texts that are unpacked.
const PACKINGS_MAX: u8 = 4;

/// Bytes to which all that a unit holds in gzip unpacks at most.
const UNPACKED_BYTES_MAX: u64 = 16 << 20;

/// Bytes that one byte of gzip stands for at most; of logs it is about ten.
const UNPACKED_RATIO_MAX: u64 = 64;

/// What of a unit may still be unpacked.
pub(super) struct Budget {
    packings: Cell<u8>,
    bytes: Cell<u64>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { packings: Cell::new(PACKINGS_MAX), bytes: Cell::new(UNPACKED_BYTES_MAX) }
    }
}

impl Budget {
    /// What `act` makes of the value that a text holds, if it holds one and no more texts stand around it than may.
    #[expect(clippy::ptr_arg, reason = "a borrowed text lends what it holds, an owned one cannot")]
    pub fn unpack<'a, T>(&self, text: &Cow<'a, str>, act: impl FnOnce(Json<'a>) -> T) -> Option<T> {
        let left = self.packings.get().checked_sub(1)?;
        let value = unpacked(text, self)?;
        self.packings.set(left);
        let made = act(value);
        self.packings.set(left + 1);
        Some(made)
    }
}

/// How base64 begins when it holds `{"`, `{ `, `{\n`, `[{`, `[[`, `["`, `[ `, `[\n` or gzip.
const BASE64_BEGINS: [&str; 9] = ["eyJ", "eyA", "ewo", "ew0", "W3s", "W1s", "WyJ", "Wwo", "H4s"];

/// The object or array that a text holds, however it is packed.
fn unpacked<'a>(text: &Cow<'a, str>, budget: &Budget) -> Option<Json<'a>> {
    let trimmed = text.trim();
    let holds = |value: &Json<'_>| matches!(value, Json::Object(_) | Json::Array(_));
    if trimmed.starts_with(['{', '[']) {
        let parsed = Json::parse_text(text.clone()).ok().filter(holds);
        // `[2026-11-20] INFO {...}` begins with a bracket, too.
        return parsed.or_else(|| if trimmed.starts_with('[') { behind(text) } else { None });
    }
    if BASE64_BEGINS.iter().any(|begin| trimmed.starts_with(begin))
        && let Some(bytes) = values::base64(trimmed)
    {
        let text = String::from_utf8(gunzipped(bytes, budget)?).ok()?;
        let plain = text.trim_start().starts_with(['{', '[']).then_some(Cow::Owned::<str>(text))?;
        return Some(unpacked(&plain, budget)?.into_owned());
    }
    behind(text)
}

/// The value that a text ends with.
fn behind<'a>(text: &Cow<'a, str>) -> Option<Json<'a>> {
    fn value(text: &str) -> Option<Json<'_>> {
        match text_line::behind(text)? {
            Line::Behind(_, value) => Some(value),
            _ => None,
        }
    }
    if text.contains(text_line::ESCAPE) {
        return Some(value(&text_line::without_colours(text))?.into_owned());
    }
    match text {
        Cow::Borrowed(text) => value(text.trim_end()),
        Cow::Owned(text) => Some(value(text.trim_end())?.into_owned()),
    }
}

/// The text that a list of bytes is.
pub(super) fn text_of_bytes(items: &[Json<'_>]) -> Option<String> {
    const BYTES_MIN: usize = 2;
    let byte = |item: &Json<'_>| u8::try_from(item.as_number()?.as_integer()?).ok();
    if items.len() < BYTES_MIN || items.first().and_then(byte).is_none() {
        return None;
    }
    String::from_utf8(items.iter().map(byte).collect::<Option<Vec<u8>>>()?).ok()
}

/// The same bytes, unpacked where they are gzip.
fn gunzipped(bytes: Vec<u8>, budget: &Budget) -> Option<Vec<u8>> {
    const GZIP: &[u8] = &[0x1f, 0x8b];
    if !bytes.starts_with(GZIP) {
        return Some(bytes);
    }
    let bytes_max = budget.bytes.get().min(bytes.len() as u64 * UNPACKED_RATIO_MAX);
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(bytes.as_slice()).take(bytes_max + 1).read_to_end(&mut unpacked).ok()?;
    budget.bytes.set(budget.bytes.get().saturating_sub(unpacked.len() as u64));
    (unpacked.len() as u64 <= bytes_max).then_some(unpacked)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    #[test]
    fn texts_hold_values_in_several_ways() {
        let check = |text: &str, expected: Option<&str>| {
            let value = unpacked(&Cow::Borrowed(text), &Budget::default()).map(|value| value.to_compact_string());
            assert_eq!(value.as_deref(), expected, "{text}");
            let value =
                unpacked(&Cow::Owned(text.to_owned()), &Budget::default()).map(|value| value.to_compact_string());
            assert_eq!(value.as_deref(), expected, "{text}");
        };
        check(r#" {"a":1}"#, Some(r#"{"a":1}"#));
        check("[1]", Some("[1]"));
        check(r#"INFO:app:{"a":1}"#, Some(r#"{"a":1}"#));
        check(r#"[2026-11-20] INFO {"a":1}"#, Some(r#"{"a":1}"#));
        check("\u{1b}[32mINFO\u{1b}[0m {\"a\":1}\u{1b}[0m", Some(r#"{"a":1}"#));
        check("eyJhIjoxfQ==", Some(r#"{"a":1}"#));
        check("eyJhIjoxfQ", Some(r#"{"a":1}"#));
        check("W3siYSI6MX1d", Some(r#"[{"a":1}]"#));
        check("ewogImEiOiAi\nw7_Dvj8ifQ==", Some("{\"a\":\"ÿþ?\"}"));
        // A token of the web is three pieces, a text may begin like one.
        check("eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.c2ln", None);
        check("eyJust a text", None);
        check("eyJhIjox", None);
        check("H4sIAAAA", None);
        check("plain [text]", None);
        check("", None);
    }

    #[test]
    fn base64_may_hold_gzip() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(br#"{"prompt":"p"}"#).unwrap();
        let bytes = encoder.finish().unwrap();
        assert_eq!(gunzipped(bytes, &Budget::default()).unwrap(), br#"{"prompt":"p"}"#);
        assert_eq!(gunzipped(b"plain".to_vec(), &Budget::default()).unwrap(), b"plain");
        assert_eq!(gunzipped(b"\x1f\x8bcut".to_vec(), &Budget::default()), None);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![b' '; 1 << 20]).unwrap();
        assert_eq!(gunzipped(encoder.finish().unwrap(), &Budget::default()), None, "a bomb");
    }

    #[test]
    fn texts_in_texts_end() {
        let mut text = "[1]".to_owned();
        for _ in 0..1_000 {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(Json::Array(vec![Json::String(text.into())]).to_compact_string().as_bytes()).unwrap();
            text = data_encoding::BASE64.encode(&encoder.finish().unwrap());
        }
        fn depth(text: &str, budget: &Budget) -> usize {
            let inner = |value: Json<'_>| {
                let items = value.as_array().unwrap_or_default().iter();
                items.map(|item| depth(item.as_str().unwrap_or_default(), budget)).max()
            };
            budget.unpack(&Cow::Borrowed(text), inner).flatten().map_or(0, |depth| depth + 1)
        }
        let budget = Budget::default();
        assert_eq!(depth(&text, &budget), usize::from(PACKINGS_MAX));
        assert_eq!(budget.packings.get(), PACKINGS_MAX);
    }

    #[test]
    fn a_list_of_bytes_is_a_text() {
        let check = |json: &str, expected: Option<&str>| {
            let value = Json::parse(json.as_bytes()).unwrap();
            assert_eq!(text_of_bytes(value.as_array().unwrap()).as_deref(), expected, "{json}");
        };
        check("[123,125]", Some("{}"));
        check("[123,256]", None);
        check("[123]", None);
        check("[123,\"a\"]", None);
        check("[0.5,1]", None);
        check("[255,254]", None);
        check("[]", None);
    }
}
