//! Tags that enclose material: `<documents><document index="1">...`, `<context>...</context>`.
//!
//! Only tags whose names say so are looked at; any other, those of pages in HTML among them, are text.

use std::ops::Range;

use super::{
    lines::{Label, label_of},
    words::{HANDED, RESULTS, groups},
};

/// Elements of known names that may be open at once; deeper ones are text.
const OPEN_MAX: usize = 16;
/// Bytes of the name of a tag.
const NAME_BYTES_MAX: usize = 40;
/// Bytes of a whole tag with its attributes.
const TAG_BYTES_MAX: usize = 1_000;

/// Names of documents, where they stand in material.
const PARTS: [&str; 8] = ["result", "item", "entry", "hit", "node", "file", "body", "value"];

/// An element with a known name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Element {
    /// What its name says.
    pub(super) label: Label,
    pub(super) name: Range<usize>,
    /// The tag that opens it.
    pub(super) open: Range<usize>,
    /// The tag that closes it.
    pub(super) close: Range<usize>,
    /// The element around it, among the known ones.
    pub(super) parent: Option<usize>,
}

impl Element {
    /// What stands in it.
    pub(super) fn inner(&self) -> Range<usize> {
        self.open.end..self.close.start
    }

    /// All of it.
    pub(super) fn outer(&self) -> Range<usize> {
        self.open.start..self.close.end
    }
}

/// A tag.
pub(super) struct Tag {
    pub(super) name: Range<usize>,
    pub(super) span: Range<usize>,
    pub(super) is_close: bool,
    is_empty: bool,
}

/// The elements of known names that are closed, in the order of their opening tags.
pub(super) fn elements(text: &str) -> Vec<Element> {
    let mut found: Vec<Element> = Vec::new();
    // Places in `found` of those that are still open.
    let mut open: Vec<usize> = Vec::new();
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(at) = memchr::memchr(b'<', &bytes[from..]).map(|at| from + at) {
        from = at + 1;
        let Some(tag) = tag_at(text, at) else { continue };
        from = tag.span.end;
        let name = &text[tag.name.clone()];
        if tag.is_close {
            let same = |place: &usize| text[found[*place].name.clone()].eq_ignore_ascii_case(name);
            if let Some(depth) = open.iter().rposition(same) {
                found[open[depth]].close = tag.span;
                // What is open inside of a closed element was never closed.
                open.truncate(depth);
            }
            continue;
        }
        if tag.is_empty || open.len() >= OPEN_MAX {
            continue;
        }
        let parent = open.last().copied();
        let is_in_material = parent.is_some_and(|parent| matches!(found[parent].label, Label::Material(_)));
        let label = match PARTS.iter().any(|part| name.eq_ignore_ascii_case(part)) {
            true if is_in_material => Some(Label::Material(HANDED)),
            _ => label_of_tag(name),
        };
        if let Some(label) = label {
            open.push(found.len());
            found.push(Element { label, name: tag.name, open: tag.span, close: 0..0, parent });
        }
    }
    closed_only(found)
}

/// Leaves out what was never closed, and names the parents anew.
fn closed_only(found: Vec<Element>) -> Vec<Element> {
    let is_closed = |element: &Element| element.close.start >= element.open.end;
    let mut places: Vec<Option<usize>> = Vec::with_capacity(found.len());
    let mut kept: Vec<Element> = Vec::new();
    for mut element in found {
        // The place of the nearest closed element around it; those before it are settled.
        let around = element.parent.and_then(|parent| places[parent]);
        if is_closed(&element) {
            element.parent = around;
            places.push(Some(kept.len()));
            kept.push(element);
        } else {
            places.push(around);
        }
    }
    kept
}

/// What the name of a tag says. Most names are one word, and strange.
pub(super) fn label_of_tag(name: &str) -> Option<Label> {
    if name.eq_ignore_ascii_case("results") {
        return Some(Label::Material(HANDED | RESULTS));
    }
    let is_one_word = name.bytes().all(|byte| byte.is_ascii_lowercase());
    if is_one_word && groups(name.as_bytes()) == 0 {
        return None;
    }
    label_of(&spoken(name))
}

/// The name of a tag as words: `search_results`, `searchResults`, `kb-article`.
pub(super) fn spoken(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        if c.is_ascii_uppercase() && before.is_ascii_lowercase() {
            words.push(' ');
        }
        words.push(if matches!(c, '_' | '-' | '.' | ':') { ' ' } else { c });
        before = c;
    }
    words
}

/// The tag that begins at `at`.
pub(super) fn tag_at(text: &str, at: usize) -> Option<Tag> {
    let bytes = text.as_bytes();
    let is_close = bytes.get(at + 1) == Some(&b'/');
    let start = at + 1 + usize::from(is_close);
    let is_of_name =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':') || *byte >= 0x80;
    let name = bytes[start..].iter().take(NAME_BYTES_MAX + 1).take_while(|byte| is_of_name(byte)).count();
    let is_named = name > 0 && name <= NAME_BYTES_MAX && !bytes[start].is_ascii_digit();
    if !is_named || !text.is_char_boundary(start + name) {
        return None;
    }
    let limit = bytes.len().min(at + TAG_BYTES_MAX);
    let rest = &bytes[start + name..limit];
    // Another tag that opens first means that this one is no tag.
    let end = memchr::memchr2(b'>', b'<', rest).filter(|end| rest[*end] == b'>')?;
    let end = start + name + end + 1;
    let is_plain = matches!(bytes[start + name], b'>' | b'/' | b' ' | b'\t' | b'\n' | b'\r');
    is_plain.then(|| Tag { name: start..start + name, span: at..end, is_close, is_empty: bytes[end - 2] == b'/' })
}

/// The value of an attribute of the tag at `open`.
pub(super) fn attribute(text: &str, open: &Range<usize>, wanted: &str) -> Option<Range<usize>> {
    let tag = &text[open.clone()];
    let mut from = 0;
    while let Some(at) = memchr::memmem::find(&tag.as_bytes()[from..], wanted.as_bytes()).map(|at| from + at) {
        from = at + wanted.len();
        let is_begun = tag[..at].ends_with(|c: char| c.is_ascii_whitespace());
        let Some(value) = tag[from..].trim_start().strip_prefix('=').map(str::trim_start).filter(|_| is_begun) else {
            continue;
        };
        let start = open.end - value.len();
        let (skip, length) = match value.bytes().next() {
            Some(quote @ (b'"' | b'\'')) => (1, memchr::memchr(quote, &value.as_bytes()[1..])?),
            _ => (0, value.find(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/'))?),
        };
        return (length > 0).then(|| start + skip..start + skip + length);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_those_whose_names_say_material() {
        let check = |text: &str, expected: &[(&str, Option<usize>)]| {
            let found = elements(text);
            let found: Vec<(&str, Option<usize>)> =
                found.iter().map(|element| (&text[element.inner()], element.parent)).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("<context>a</context>", &[("a", None)]);
        check(
            "<documents><document index=\"1\">a</document></documents>",
            &[("<document index=\"1\">a</document>", None), ("a", Some(0))],
        );
        check("<searchResults>a</searchResults> <kb-article>b</kb-article>", &[("a", None), ("b", None)]);
        check("<CONTEXT>a</context>", &[("a", None)]);
        check("<div><context>a</div></context>", &[("a</div>", None)]);
        check("<context>a", &[]);
        check("<context>a<document>b</context>", &[("a<document>b", None)]);
        check(
            "<context>a<document><passage>b</passage></context>",
            &[("a<document><passage>b</passage>", None), ("b", Some(0))],
        );
        check("a < b and c > d, <br/>, <p>x</p>, <3 <context/>", &[]);
        check("<context <context>a</context>", &[("a", None)]);
        check("</context><context></context>", &[("", None)]);
    }

    #[test]
    fn attributes_are_found() {
        let check = |tag: &str, wanted: &str, expected: Option<&str>| {
            assert_eq!(attribute(tag, &(0..tag.len()), wanted).map(|span| &tag[span]), expected, "{tag}");
        };
        check("<document index=\"1\" title=\"The house\">", "title", Some("The house"));
        check("<document index='2'>", "index", Some("2"));
        check("<doc id=7>", "id", Some("7"));
        check("<doc grid=\"x\" id = \"7\">", "id", Some("7"));
        check("<doc title=\"\">", "title", None);
        check("<doc title=\"open>", "title", None);
        check("<doc title>", "title", None);
    }

    #[test]
    fn many_open_tags_take_linear_time() {
        let text = "<context><document>".repeat(50_000);
        assert!(elements(&text).is_empty());
        let text = format!("{}{}", "<context>".repeat(50_000), "</document>".repeat(50_000));
        assert!(elements(&text).is_empty());
    }
}
