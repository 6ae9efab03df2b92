//! JSON whose bytes are safe to show, and whose values are exact.
//!
//! serde_json escapes the ASCII control characters and writes everything else as it is, also U+009B (which some
//! terminals take for ESC [) and U+202E (which swaps what is read). Here such characters are written as `\u` escapes:
//! a parser reads the same value, a terminal sees plain text.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use super::terminal::{find_unsafe, is_unsafe};

/// Appends `value` on one line, without a newline.
pub fn compact<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    write(value, CompactFormatter, out);
}

/// `value` on indented lines, without a final newline.
pub fn pretty<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, PrettyFormatter::new(), &mut out);
    out
}

fn write<T: Serialize + ?Sized, F: Formatter>(value: &T, formatter: F, out: &mut Vec<u8>) {
    let length = out.len();
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Safe(formatter));
    if value.serialize(&mut serializer).is_err() {
        // Only a map with keys that are not text could fail, and no report object holds one.
        debug_assert!(false, "a report object does not serialise");
        out.truncate(length);
        out.extend_from_slice(b"null");
    }
}

/// Delegates the layout and rewrites what stands inside strings.
struct Safe<F>(F);

impl<F: Formatter> Formatter for Safe<F> {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let Some(first) = find_unsafe(fragment) else {
            return writer.write_all(fragment.as_bytes());
        };
        writer.write_all(&fragment.as_bytes()[..first])?;
        for c in fragment[first..].chars() {
            let mut units = [0; 2];
            if is_unsafe(c) {
                c.encode_utf16(&mut units).iter().try_for_each(|unit| write!(writer, "\\u{unit:04x}"))?;
            } else {
                writer.write_all(c.encode_utf8(&mut [0; 4]).as_bytes())?;
            }
        }
        Ok(())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_key(writer)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn text(value: &serde_json::Value) -> String {
        let mut out = Vec::new();
        compact(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn unsafe_characters_are_escaped_also_beyond_the_first_plane() {
        assert_eq!(text(&json!("a\u{202e}b\u{9b}\u{7f}")), r#""a\u202eb\u009b\u007f""#);
        assert_eq!(text(&json!("\u{e0041}")), r#""\udb40\udc41""#);
        assert_eq!(text(&json!("é \"q\" \u{1b}")), r#""é \"q\" \u001b""#);
    }

    #[test]
    fn the_layout_is_that_of_serde_json() {
        let value = json!({"a": [1, {"b": []}], "c": {}, "d": null, "e": 0.1});
        assert_eq!(text(&value), serde_json::to_string(&value).unwrap());
        assert_eq!(pretty(&value), serde_json::to_vec_pretty(&value).unwrap());
    }

    #[test]
    fn megabytes_of_unsafe_characters_take_linear_time() {
        let hostile = json!("\u{7f}".repeat(1 << 20) + "é");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text(&hostile)).unwrap(), hostile);
    }

    proptest! {
        #[test]
        fn a_parser_reads_the_same_text(key in "(?s:.*)", value in "(?s:.*)") {
            let value = json!({key: value});
            let written = text(&value);
            prop_assert!(!written.contains(is_unsafe));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), value);
        }
    }
}
