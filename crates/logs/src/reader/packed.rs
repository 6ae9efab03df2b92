//! Values that log systems pack into texts: JSON, JSON behind some words, base64 of it (Kinesis, Pub/Sub, CloudEvents), base64
//! of gzip (CloudWatch's subscriptions), a list of bytes (journald).
//!
//! **Limits**: base64 is told by how it begins when it holds JSON or gzip, and looked into once; gzip unpacks to at most
//! [`UNPACKED_BYTES_MAX`], and to [`UNPACKED_RATIO_MAX`] times its size, so that many small ones are no bomb either.

use std::{borrow::Cow, io::Read as _};

use flate2::read::MultiGzDecoder;

use super::text_line::{self, Line};
use crate::record::{json::Json, values};

/// Bytes to which a text in gzip unpacks at most; beyond that it is left alone.
const UNPACKED_BYTES_MAX: u64 = 16 << 20;

/// Bytes that one byte of gzip stands for at most; of logs it is about ten.
const UNPACKED_RATIO_MAX: u64 = 64;

/// How base64 begins when it holds `{"`, `{ `, `{\n`, `[{`, `[[`, `["`, `[ `, `[\n` or gzip.
const BASE64_BEGINS: [&str; 9] = ["eyJ", "eyA", "ewo", "ew0", "W3s", "W1s", "WyJ", "Wwo", "H4s"];

/// The object or array that a text holds, however it is packed.
pub(super) fn unpacked<'a>(text: &Cow<'a, str>) -> Option<Json<'a>> {
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
        let text = String::from_utf8(gunzipped(bytes)?).ok()?;
        let plain = text.trim_start().starts_with(['{', '[']).then_some(Cow::Owned::<str>(text))?;
        return Some(unpacked(&plain)?.into_owned());
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
fn gunzipped(bytes: Vec<u8>) -> Option<Vec<u8>> {
    const GZIP: &[u8] = &[0x1f, 0x8b];
    if !bytes.starts_with(GZIP) {
        return Some(bytes);
    }
    let bytes_max = UNPACKED_BYTES_MAX.min(bytes.len() as u64 * UNPACKED_RATIO_MAX);
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(bytes.as_slice()).take(bytes_max + 1).read_to_end(&mut unpacked).ok()?;
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
            let value = unpacked(&Cow::Borrowed(text)).map(|value| value.to_compact_string());
            assert_eq!(value.as_deref(), expected, "{text}");
            let value = unpacked(&Cow::Owned(text.to_owned())).map(|value| value.to_compact_string());
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
        assert_eq!(gunzipped(bytes).unwrap(), br#"{"prompt":"p"}"#);
        assert_eq!(gunzipped(b"plain".to_vec()).unwrap(), b"plain");
        assert_eq!(gunzipped(b"\x1f\x8bcut".to_vec()), None);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![b' '; 1 << 20]).unwrap();
        assert_eq!(gunzipped(encoder.finish().unwrap()), None, "a bomb");
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
