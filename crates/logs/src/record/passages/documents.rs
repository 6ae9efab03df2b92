//! Material becomes documents: by their tags, their numbers, a heading that repeats, or rules between them.
//!
//! What cannot be told apart is one document. Titles and addresses that stand in tags or behind numbers become ids.

use std::ops::Range;

use super::{
    lines::{self, Kind, Label},
    tags::{Element, attribute},
    words::{ABOUT, count, groups},
};

/// Attributes of a tag that name its document, the best first.
const NAMING: [&str; 9] = ["title", "name", "source", "url", "href", "file", "path", "id", "index"];
/// Words beside the parts of a document that are no part of it: labels and such.
const BESIDE_WORDS_MAX: usize = 3;
/// Words of a title or an address.
const ABOUT_WORDS_MAX: usize = 20;
/// Bytes of an id.
const ID_BYTES_MAX: usize = 300;

/// A document, and where its name stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) id: Option<Range<usize>>,
    pub(super) span: Range<usize>,
}

/// The documents of the material at `body`. What of it is in none of them is a mark, or white space.
pub(super) fn of_body(text: &str, body: &Range<usize>) -> Vec<Found> {
    let mut cuts = Vec::new();
    let mut first_numbers = Vec::new();
    let body_text = &text[body.clone()];
    let body_lines = lines::lines(body_text);
    let kinds: Vec<Kind> = body_lines.iter().map(|line| lines::kind(body_text, line)).collect();
    for (line, kind) in body_lines.iter().zip(&kinds) {
        if let Kind::Number { number, title, content, is_named } = kind {
            first_numbers.push(*number);
            // `### Document 1: The title`, and then the document.
            let inline = &body_text[*content..line.end];
            let is_title =
                *is_named && (1..=ABOUT_WORDS_MAX).contains(&count(inline)) && !inline.trim_end().ends_with('.');
            let id = if is_title && line.end < body_text.len() { *content..line.end } else { title.clone() };
            cuts.push(Cut { mark: line.start..*content, id: Some(id) });
        }
    }
    // Numbers that do not count are years or references.
    let counts = |numbers: &[u32]| numbers.first().is_some_and(|first| *first <= 1) || numbers.len() > 1;
    let rises = first_numbers.windows(2).all(|pair| pair[0] < pair[1]);
    if !(counts(&first_numbers) && rises && begins_with(&cuts, body_text)) {
        cuts = repeated(body_text, &body_lines, &kinds);
    }
    if cuts.is_empty() {
        cuts = between_rules(&body_lines, &kinds);
    }
    let mut found = Vec::new();
    let mut add = |span: Range<usize>, id: Option<Range<usize>>| {
        let (address, span) = addressed(body_text, trimmed(body_text, span));
        if !span.is_empty() {
            let id =
                id.or(address).map(|id| trimmed(body_text, id)).filter(|id| !id.is_empty() && id.len() <= ID_BYTES_MAX);
            let shift = |range: Range<usize>| body.start + range.start..body.start + range.end;
            found.push(Found { id: id.map(shift), span: shift(span) });
        }
    };
    add(0..cuts.first().map_or(body_text.len(), |cut| cut.mark.start), None);
    for (at, cut) in cuts.iter().enumerate() {
        let end = cuts.get(at + 1).map_or(body_text.len(), |next| next.mark.start);
        add(cut.mark.end..end, cut.id.clone());
    }
    found
}

/// A document without the one line in front of it that says where it is from: `file_path: kb/7.txt`. Several such lines
/// say more than a name, and stay.
fn addressed(text: &str, span: Range<usize>) -> (Option<Range<usize>>, Range<usize>) {
    let line = |from: usize| from..text[from..span.end].find('\n').map_or(span.end, |at| from + at);
    let address = |line: &Range<usize>| match lines::kind(text, line) {
        Kind::Heading { label: Label::About, content, .. } if count(&text[content..line.end]) == 1 => {
            Some(content..line.end)
        }
        _ => None,
    };
    let first = line(span.start);
    let rest = trimmed(text, first.end..span.end);
    match address(&first) {
        Some(name) if !rest.is_empty() && address(&line(rest.start)).is_none() => (Some(name), rest),
        _ => (None, span),
    }
}

/// Where a document ends and the next begins, with what stands between them.
struct Cut {
    mark: Range<usize>,
    id: Option<Range<usize>>,
}

/// Whether hardly anything stands in front of the first cut.
fn begins_with(cuts: &[Cut], text: &str) -> bool {
    /// Bytes of a remark in front of the first document.
    const BYTES_MAX: usize = 200;
    cuts.first().is_some_and(|cut| cut.mark.start <= BYTES_MAX || cut.mark.start <= text.len() / 10)
}

/// Cuts at a heading that stands at the beginning and again later: `Title: ...`, `Content: ...`, `[Source: ...]`.
fn repeated(text: &str, lines: &[Range<usize>], kinds: &[Kind]) -> Vec<Cut> {
    let heading = |at: usize| match &kinds[at] {
        Kind::Heading { label: label @ (Label::Material(_) | Label::About), content, .. } => {
            let line = &text[lines[at].start..*content];
            Some((line.trim_matches(|c: char| !c.is_alphanumeric()), *content, *label))
        }
        _ => None,
    };
    let Some(first) = (0..kinds.len()).find(|at| kinds[*at] != Kind::Blank) else { return Vec::new() };
    let Some((phrase, ..)) = heading(first) else { return Vec::new() };
    let mut cuts = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(first) {
        let Some((_, content, label)) = heading(at).filter(|(same, ..)| *same == phrase) else { continue };
        let named = content..line.end;
        let is_about = matches!(label, Label::About) || matches!(label, Label::Material(groups) if groups & ABOUT != 0);
        let is_id = is_about && (1..=ABOUT_WORDS_MAX).contains(&count(&text[named.clone()]));
        let id = is_id.then(|| {
            let name = text[named.clone()].trim_end_matches([' ', '\r', ']', ')', '>', '*', '=', '-']);
            named.start..named.start + name.len()
        });
        cuts.push(Cut { mark: line.start..line.start, id });
    }
    if cuts.len() > 1 { cuts } else { Vec::new() }
}

/// Cuts at rules.
fn between_rules(lines: &[Range<usize>], kinds: &[Kind]) -> Vec<Cut> {
    let is_rule = |kind: &Kind| matches!(kind, Kind::Rule { label: None, .. });
    let rules = lines.iter().zip(kinds).filter(|(_, kind)| is_rule(kind));
    rules.map(|(line, _)| Cut { mark: line.clone(), id: None }).collect()
}

/// The documents of an element: those of the elements in it that hold its text, else its own text.
pub(super) fn of_element(text: &str, elements: &[Element], at: usize) -> Vec<Found> {
    let mut found = Vec::new();
    add_element(text, elements, at, None, &mut found);
    found
}

fn add_element(text: &str, elements: &[Element], at: usize, above: Option<Range<usize>>, found: &mut Vec<Found>) {
    let element = &elements[at];
    // Elements stand in the order of their opening tags: those inside follow, and are gone through by steps.
    let inside = elements[at + 1..].iter().take_while(|other| other.open.start < element.close.start);
    let children: Vec<usize> =
        (at + 1..).zip(inside).filter(|(_, other)| other.parent == Some(at)).map(|(at, _)| at).collect();
    let is_about = |child: &Element| {
        let name = text[child.name.clone()].to_ascii_lowercase();
        (child.label == Label::About || groups(name.as_bytes()) & ABOUT != 0)
            && count(&text[child.inner()]) <= ABOUT_WORDS_MAX
    };
    let named = children.iter().map(|child| &elements[*child]).find(|child| is_about(child)).map(Element::inner);
    let own = NAMING.iter().find_map(|name| attribute(text, &element.open, name));
    let id = named.or(own).or(above);
    let holds: Vec<usize> = children
        .iter()
        .copied()
        .filter(|child| matches!(elements[*child].label, Label::Material(_)) && !is_about(&elements[*child]))
        .collect();
    let beside = || {
        let mut words = 0;
        let mut from = element.open.end;
        for child in &children {
            words += count(&text[from..elements[*child].open.start]);
            from = elements[*child].close.end;
        }
        words + count(&text[from..element.close.start])
    };
    if !holds.is_empty() && beside() <= BESIDE_WORDS_MAX {
        holds.iter().for_each(|child| add_element(text, elements, *child, id.clone(), found));
        return;
    }
    let mut inner = of_body(text, &element.inner());
    if let [only] = inner.as_mut_slice()
        && only.id.is_none()
    {
        only.id = id.map(|id| trimmed(text, id)).filter(|id| !id.is_empty() && id.len() <= ID_BYTES_MAX);
    }
    found.append(&mut inner);
}

/// A range without the white space and the guillemets at its ends.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let is_edge = |c: char| c.is_whitespace() || matches!(c, '«' | '»');
    let inner = &text[range.clone()];
    let start = range.start + (inner.len() - inner.trim_start_matches(is_edge).len());
    start..start + inner.trim_matches(is_edge).len()
}
