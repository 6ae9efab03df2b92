//! Several values on one line.

use std::ops::Range;

use memchr::memchr2;

use super::{ends_text, trim_end};
use crate::input::scanner::{Outcome, Scanner, is_blank};

/// The top-level values of one line, in order: what a JSON Lines line holds beyond one object.
///
/// Top-level arrays are unwrapped by one level. Text that is no value is a range of its own, from an unfinished value
/// on to the end. White space, the commas between values and the brackets of unwrapped arrays are in no range.
pub fn split_values(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut scanner = Scanner::new();
    let mut in_array = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let length = match byte {
            b'\n' | b',' => 0,
            _ if is_blank(byte) => 0,
            b'[' if !in_array => {
                in_array = true;
                0
            }
            b']' if in_array => {
                in_array = false;
                0
            }
            b'{' | b'[' => {
                scanner.reset();
                match scanner.scan(&bytes[at..], 0, &mut 0) {
                    (count, Outcome::Complete) => count,
                    _ => bytes.len() - at,
                }
            }
            b'"' => string_length(&bytes[at..]),
            _ => 1 + bytes[at + 1..].iter().take_while(|&&byte| !ends_text(byte, in_array)).count(),
        };
        if length == 0 {
            at += 1;
            continue;
        }
        ranges.push(trim_end(bytes, at..at + length));
        at += length;
    }
    ranges
}

/// Length of the string that the bytes begin with, with its quotes; all of them when it is not finished.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(length) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += length + 1;
        if bytes[at - 1] == b'"' {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{hostile, is_separator};
    use super::*;

    #[test]
    fn one_line_is_split_into_its_values() {
        let check = |text: &str, expected: &[&str]| {
            let got: Vec<&str> = split_values(text.as_bytes()).into_iter().map(|range| &text[range]).collect();
            assert_eq!(got, expected, "{text}");
        };
        check("", &[]);
        check(" , []", &[]);
        check("{}{\"a\":\"}{\"} , {}", &["{}", "{\"a\":\"}{\"}", "{}"]);
        check("[{}, {}, ]", &["{}", "{}"]);
        check("[[1,2],3,\"a,]\", true ]", &["[1,2]", "3", "\"a,]\"", "true"]);
        check("{} oops, {} [{}]", &["{}", "oops,", "{}", "{}"]);
        check("2026-01-01 INFO {\"a\":1}", &["2026-01-01 INFO", "{\"a\":1}"]);
        check("\"key\": {\"a\":1}", &["\"key\"", ":", "{\"a\":1}"]);
        check("{} {\"a\":1] {} \r", &["{}", "{\"a\":1] {}"]);
        check("] } \"\\", &["] } \"\\"]);
        check("[\"\\", &["\"\\"]);
    }

    proptest! {
        #[test]
        fn splitting_drops_only_separators(input in hostile()) {
            let mut at = 0;
            for range in split_values(&input) {
                prop_assert!(range.start >= at && range.end > range.start);
                prop_assert!(is_separator(&input[at..range.start]));
                at = range.end;
            }
            prop_assert!(is_separator(&input[at..]));
        }
    }
}
