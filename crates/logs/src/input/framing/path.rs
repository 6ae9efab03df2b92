//! The way through a document to the array whose elements are units.

use std::ops::Range;

use memchr::memrchr;

use super::Recognises;
use crate::input::scanner::{Outcome, Scanner, is_blank};

/// A bracket on the way to the array.
#[derive(Debug)]
struct Step {
    /// The key under which it stands, in its quotes; `None` for the document itself and for elements of arrays.
    key: Option<Box<[u8]>>,
    is_object: bool,
}

/// The brackets from the first one of the document to that of the array.
#[derive(Debug)]
pub(super) struct Path(Vec<Step>);

impl Path {
    /// The path to the outermost array with an element that is `recognised`, among the `open` brackets: where in `bytes`
    /// they stand, and whether they are objects.
    pub(super) fn find(bytes: &[u8], open: &[(usize, bool)], recognises: Recognises) -> Option<Path> {
        let is_it = |depth: &usize| {
            let (at, is_object) = open[*depth];
            // What stands behind the next open bracket is not whole.
            let end = open.get(depth + 1).map_or(bytes.len(), |next| next.0);
            let is_own = |element: Range<usize>| {
                let element = &bytes[at..end][element];
                element.starts_with(b"{") && recognises(element)
            };
            !is_object && elements(&bytes[at..end]).any(is_own)
        };
        let depth = (0..open.len()).find(is_it)?;
        let step = |depth: usize| {
            let (at, is_object) = open[depth];
            let is_in_object = depth.checked_sub(1).is_some_and(|parent| open[parent].1);
            let key = if is_in_object { Some(key_before(&bytes[..at])?.into()) } else { None };
            Some(Step { key, is_object })
        };
        (0..=depth).map(step).collect::<Option<Vec<Step>>>().map(Path)
    }

    /// How many brackets there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the bracket at this depth, counted from 0, is an object.
    pub(super) fn is_object(&self, depth: usize) -> bool {
        self.0[depth].is_object
    }

    /// Whether `byte`, under `key`, is the bracket at this depth.
    pub(super) fn is_bracket(&self, depth: usize, byte: u8, key: &[u8]) -> bool {
        let Some(step) = self.0.get(depth) else { return false };
        let bracket = if step.is_object { b'{' } else { b'[' };
        byte == bracket && step.key.as_deref().is_none_or(|own| own == key)
    }

    /// The longest key, in bytes with its quotes.
    pub(super) fn longest_key(&self) -> usize {
        self.0.iter().filter_map(|step| step.key.as_ref()).map(|key| key.len()).max().unwrap_or(0)
    }

    /// The brackets that close the outermost ones.
    pub(super) fn closing(&self, depth: usize) -> Vec<u8> {
        self.0[..depth].iter().rev().map(|step| if step.is_object { b'}' } else { b']' }).collect()
    }
}

/// Where the whole elements of an array stand, whose bytes may break off.
fn elements(array: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut scanner = Scanner::new();
    scanner.watch(1);
    let (mut at, mut begin) = (0, 0);
    std::iter::from_fn(move || {
        loop {
            let (count, outcome) = scanner.scan(&array[at..], at as u64, &mut 0);
            at += count;
            match outcome {
                Outcome::Begins => begin = at,
                Outcome::Ends => return Some(begin..at),
                _ => return None,
            }
        }
    })
}

/// The key, in its quotes, at the end of bytes behind which its value begins.
fn key_before(bytes: &[u8]) -> Option<&[u8]> {
    let trim = |bytes: &[u8]| bytes.len() - bytes.iter().rev().take_while(|&&byte| is_space(byte)).count();
    let bytes = bytes[..trim(bytes)].strip_suffix(b":")?;
    let key = &bytes[..trim(bytes)];
    let closing = key.strip_suffix(b"\"")?.len();
    let mut opening = closing;
    loop {
        opening = memrchr(b'"', &key[..opening])?;
        let escapes = key[..opening].iter().rev().take_while(|&&byte| byte == b'\\').count();
        if escapes % 2 == 0 {
            return Some(&key[opening..]);
        }
    }
}

fn is_space(byte: u8) -> bool {
    is_blank(byte) || byte == b'\n'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_elements_of_an_array_are_found() {
        let check = |text: &str, expected: &[&str]| {
            let got: Vec<&str> = elements(text.as_bytes()).map(|range| &text[range]).collect();
            assert_eq!(got, expected, "{text}");
        };
        check("[{\"a\":[1]} , 2,\"x,]\",[{}]]", &["{\"a\":[1]}", "2", "\"x,]\"", "[{}]"]);
        check("[{},{\"a\":", &["{}"]);
        check("[{}}", &["{}"]);
        check("[", &[]);
    }

    #[test]
    fn the_key_of_a_value_stands_before_it() {
        let check = |text: &str, expected: Option<&str>| {
            let key = key_before(text.as_bytes());
            assert_eq!(key.map(|key| std::str::from_utf8(key).unwrap()), expected, "{text}");
        };
        check("{\"a\":1,\"b\" : \n", Some("\"b\""));
        check(r#"{"a\"b\\":"#, Some(r#""a\"b\\""#));
        check(r#"{"":"#, Some(r#""""#));
        check("a:", None);
        check("\"a\"", None);
    }
}
