//! The lines of a prompt, and what they are for: headings, rules, fences, the numbers of documents.
//!
//! What a line is, is told by its form and by the words of its heading; nothing here looks at two lines at once.

use std::ops::Range;

use super::{
    tags::{label_of_tag, tag_at},
    words::{
        ABOUT, ANSWER, ASKS, EARLIER, EXAMPLE, HANDED, HOLDS, LEADS, LINKS, MATERIAL, NUMBERED, ORDERS, PART, QUESTION,
        RESTING, RESULTS, SEARCHED, SITUATION, SPEAKER, TRAILS, Word, groups, is_of_word, words,
    },
};

/// Bytes of the longest heading.
const LABEL_BYTES_MAX: usize = 80;
/// Words of the longest heading.
const LABEL_WORDS_MAX: usize = 9;
/// Characters that make a rule.
const RULE_CHARS_MIN: usize = 3;
/// Digits of the number of a document.
const NUMBER_DIGITS_MAX: usize = 4;
/// A prompt of so few lines may have its headings inside of them.
const FLAT_LINES_MAX: usize = 3;
/// Lines below this length have no headings inside.
const FLAT_BYTES_MIN: usize = 120;

/// What a heading names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// Material, by the groups of its noun.
    Material(u64),
    /// What is asked.
    Question,
    /// What will be answered.
    Answer,
    /// Any other part of a prompt.
    Part,
    /// Who speaks next.
    Speaker,
    /// A model of what to do.
    Example,
    /// What is said about a document.
    About,
}

/// How a heading is written. Headings of one prompt look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `Context:`
    Colon,
    /// `## Context`
    Hash(u8),
    /// `[[ ## context ## ]]`
    Section,
    /// `[CONTEXT]`, `**Context**`, `BEGIN CONTEXT`
    Loud,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Blank,
    /// One character again and again, with the heading that may stand in it.
    Rule {
        byte: u8,
        label: Option<Label>,
    },
    /// Three backticks or quotation marks.
    Fence {
        byte: u8,
        /// Whether something stands behind them.
        has_more: bool,
    },
    /// A heading, and where its content begins on the same line.
    Heading {
        label: Label,
        style: Style,
        is_end: bool,
        content: usize,
    },
    /// The number of a document: where its title stands (or else its number), and its content.
    Number {
        number: u32,
        title: Range<usize>,
        content: usize,
        /// Whether a noun says what is numbered.
        is_named: bool,
    },
    Plain,
}

/// The lines of a text without their line breaks.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    let mut lines = Vec::with_capacity(16);
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()) {
        lines.push(start..end);
        start = end + 1;
    }
    lines.push(start..text.len());
    lines
}

/// The lines of a prompt. One of few lines is also cut in front of the headings inside of them.
pub(super) fn lines_of_prompt(text: &str) -> Vec<Range<usize>> {
    let lines = lines(text);
    if lines.len() > FLAT_LINES_MAX || lines.iter().all(|line| line.len() < FLAT_BYTES_MIN) {
        return lines;
    }
    let mut cut = Vec::with_capacity(lines.len());
    for line in lines {
        let mut start = line.start;
        if line.len() >= FLAT_BYTES_MIN {
            for colon in memchr::memchr_iter(b':', &text.as_bytes()[line.clone()]) {
                let colon = line.start + colon;
                if let Some(at) = heading_before(text, start, colon).filter(|at| *at > start) {
                    cut.push(start..at);
                    start = at;
                }
            }
        }
        cut.push(start..line.end);
    }
    cut
}

/// Where a heading begins that ends with the colon at `colon`, when one stands inside of a line: `... of 2020. Question: ...`.
fn heading_before(text: &str, from: usize, colon: usize) -> Option<usize> {
    /// Bytes of a heading inside of a line.
    const BYTES_MAX: usize = 40;
    let bytes = text.as_bytes();
    let word = bytes[from..colon].iter().rev().take(BYTES_MAX).take_while(|byte| is_of_word(**byte)).count();
    if groups(&bytes[colon - word..colon]) & (QUESTION | ANSWER | HANDED | RESULTS) == 0 {
        return None;
    }
    let low = text.ceil_char_boundary(colon.saturating_sub(BYTES_MAX).max(from));
    let before = &text[low..colon];
    // The words behind the last full stop, else the last word alone.
    let after_stop = before.rfind(['.', '?', '!', ';', '"', ')']).map_or(0, |at| at + 1);
    let phrase = before[after_stop..].trim_start();
    let last = before.trim_end_matches(|c: char| !c.is_whitespace()).len();
    let starts = [before.len() - phrase.len(), last];
    starts.into_iter().find_map(|at| {
        let phrase = &before[at..];
        let is_begun = low + at == 0 || text.as_bytes()[low + at - 1].is_ascii_whitespace();
        let is_loud = phrase.starts_with(|c: char| c.is_ascii_uppercase());
        let label = label_of(phrase).filter(|_| is_begun && is_loud)?;
        let counts = match label {
            Label::Question => true,
            // `Best answer:` is what somebody else gave.
            Label::Answer => at < last || starts[0] == starts[1],
            Label::Material(groups) => groups & (HANDED | RESULTS) != 0,
            _ => false,
        };
        counts.then_some(low + at)
    })
}

/// What the line at `span` is.
pub(super) fn kind(text: &str, span: &Range<usize>) -> Kind {
    let line = &text[span.clone()];
    let trimmed = line.trim_ascii();
    let Some(first) = trimmed.bytes().next() else { return Kind::Blank };
    let at = span.start + (line.len() - line.trim_ascii_start().len());
    let is_decorated = !first.is_ascii_alphanumeric() && first < 0x80;
    if is_decorated && let Some(kind) = fence(trimmed).or_else(|| rule(trimmed)).or_else(|| tagged(text, at)) {
        return kind;
    }
    let head = &trimmed.as_bytes()[..trimmed.len().min(LABEL_BYTES_MAX)];
    // Prose has neither a colon at its head nor a mark in front, and is no heading without either.
    let has_colon = memchr::memchr2(b':', 0xef, head).is_some();
    let may_be_number = is_decorated || has_colon || is_number_near(head);
    let may_be_heading =
        is_decorated || has_colon || (head.len() == trimmed.len() && !head.iter().any(u8::is_ascii_lowercase));
    let number = may_be_number.then(|| numbered(trimmed, at)).flatten();
    number.or_else(|| may_be_heading.then(|| heading(trimmed, at)).flatten()).unwrap_or(Kind::Plain)
}

/// Whether a digit stands behind the first words of a line.
fn is_number_near(head: &[u8]) -> bool {
    /// Bytes of the words in front of the number of a document.
    const BYTES_MAX: usize = 30;
    head.iter().take(BYTES_MAX).any(u8::is_ascii_digit)
}

fn fence(trimmed: &str) -> Option<Kind> {
    let byte = trimmed.bytes().next().filter(|byte| matches!(byte, b'`' | b'"' | b'\''))?;
    let run = trimmed.bytes().take_while(|other| *other == byte).count();
    (run >= 3).then_some(Kind::Fence { byte, has_more: trimmed.len() > run })
}

/// `-----`, `=== CONTEXT ===`, `-----text-----`.
fn rule(trimmed: &str) -> Option<Kind> {
    let byte = trimmed.bytes().next().filter(|byte| matches!(byte, b'-' | b'=' | b'*' | b'_' | b'#' | b'~' | b'+'))?;
    let run = trimmed.bytes().take_while(|other| *other == byte).count();
    if run < RULE_CHARS_MIN {
        return None;
    }
    let inner = trimmed[run..].trim_end_matches(byte as char);
    let is_closed = inner.len() < trimmed.len() - run;
    let inner = inner.trim();
    if inner.is_empty() {
        return Some(Kind::Rule { byte, label: None });
    }
    // `### Context` and `***bold***` are headings.
    if !is_closed || matches!(byte, b'#' | b'*' | b'_') || inner.len() > LABEL_BYTES_MAX {
        return None;
    }
    // Whatever stands in a rule is the name of a part.
    numbered(inner, 0).is_none().then(|| Kind::Rule { byte, label: label_of(inner).or(Some(Label::Part)) })
}

/// `<question>` begins a part like a heading does.
fn tagged(text: &str, at: usize) -> Option<Kind> {
    let tag = tag_at(text, at).filter(|tag| !tag.is_close)?;
    let label = label_of_tag(&text[tag.name])?;
    let is_part = matches!(label, Label::Question | Label::Answer | Label::Part | Label::Example);
    is_part.then_some(Kind::Heading { label, style: Style::Loud, is_end: false, content: tag.span.end })
}

/// A heading with its content: `Context: ...`, `## Context`, `**Context**`, `[CONTEXT]`, `[[ ## context ## ]]`.
fn heading(trimmed: &str, at: usize) -> Option<Kind> {
    let end = at + trimmed.len();
    if let Some(inner) = trimmed.strip_prefix("[[ ##").and_then(|rest| rest.strip_suffix("## ]]")) {
        let label = label_of(&inner.replace('_', " ")).unwrap_or(Label::Part);
        return Some(Kind::Heading { label, style: Style::Section, is_end: false, content: end });
    }
    let hashes = trimmed.bytes().take_while(|byte| *byte == b'#').count();
    let bare = trimmed.trim_start_matches(['#', '*', '_', '=', '[', '<', '>', '-', ' ', '`', '~']);
    if trimmed.starts_with("- ") || trimmed.starts_with("* ") || bare.is_empty() {
        return None;
    }
    let offset = trimmed.len() - bare.len();
    let colon = bare[..bare.floor_char_boundary(LABEL_BYTES_MAX)].find([':', '：']);
    let (phrase, content, style) = match colon {
        Some(colon) => {
            let mark = bare[colon..].chars().next().map_or(1, char::len_utf8);
            let behind = &bare[colon + mark..];
            let rest = behind.trim_start_matches(['*', '_', '`', ']', '>', '=', '#', ' ', '\t']);
            let style = if hashes > 0 { Style::Hash(hashes as u8) } else { Style::Colon };
            (&bare[..colon], end - rest.len(), style)
        }
        None => {
            let phrase = bare.trim_end_matches(['#', '*', '_', '=', ']', '>', '-', ' ', '`', '~', '.']);
            let is_loud = offset > 0 && phrase.len() < bare.len() && hashes == 0;
            let is_caps = !phrase.bytes().any(|byte| byte.is_ascii_lowercase());
            let style = match hashes {
                0 if is_loud || is_caps => Style::Loud,
                0 => return None,
                hashes => Style::Hash(hashes as u8),
            };
            (phrase, end, style)
        }
    };
    let phrase = phrase.trim();
    if phrase.len() > LABEL_BYTES_MAX {
        return None;
    }
    let is_end = phrase.starts_with('/')
        || words(phrase).next().is_some_and(|word| phrase[word.span].eq_ignore_ascii_case("end"));
    let label = label_of(phrase)?;
    Some(Kind::Heading { label, style, is_end, content })
}

/// `[1] ...`, `Document [1](Title: ...) ...`, `passage 1:...`, `### Source 2`, `[Doc 3]`.
fn numbered(trimmed: &str, at: usize) -> Option<Kind> {
    let bare = trimmed.trim_start_matches(['#', '*', '_', '-', '=', '<', '>', ' ', '~']);
    let end = at + trimmed.len();
    let bytes = bare.as_bytes();
    let is_bracketed = bytes.first() == Some(&b'[');
    let opened = bytes.iter().take(2).take_while(|byte| **byte == b'[').count();
    let mut cursor = opened;
    // Up to two words in front of the noun: `Retrieved document 1`, `Web search result 2`.
    let mut is_named = false;
    for _ in 0..3 {
        let word = bytes[cursor..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if word == 0 || word > LABEL_BYTES_MAX {
            break;
        }
        is_named = groups(&bytes[cursor..cursor + word]) & NUMBERED != 0;
        cursor += word;
        cursor += bytes[cursor..]
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'#' | b'-' | b'_' | b'[' | b'(' | b':'))
            .count()
            .min(3);
        if is_named && bytes.get(cursor).is_some_and(u8::is_ascii_digit) {
            break;
        }
    }
    if cursor > opened && !is_named {
        return None;
    }
    let digits = bytes[cursor..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || digits > NUMBER_DIGITS_MAX {
        return None;
    }
    let number_at = cursor..cursor + digits;
    let number = bare[number_at.clone()].parse().ok()?;
    cursor += digits;
    // `of 9` says how many there are.
    if bare[cursor..].starts_with(" of ") {
        cursor += 4 + bytes[cursor + 4..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    }
    let is_shut = matches!(bytes.get(cursor), Some(b']' | b')'));
    cursor += usize::from(is_shut);
    // `[12:30]` is a time.
    if !is_named && !is_shut {
        return None;
    }
    let mut title = number_at.clone();
    // What stands in parentheses behind the number is a title or a score.
    let rest = &bare[cursor..];
    let opened = rest.trim_start();
    let is_behind = is_named || opened.len() == rest.len();
    if opened.starts_with('(')
        && is_behind
        && let Some(close) = closing_parenthesis(opened)
    {
        let inner = &opened[1..close];
        let named = inner.find(':').map_or(0, |colon| colon + 1);
        let is_title = named == 0 || groups(inner[..named - 1].trim().as_bytes()) & ABOUT != 0;
        let text = inner[named..].trim();
        if is_title && !text.is_empty() {
            let from = cursor
                + (rest.len() - opened.len())
                + 1
                + named
                + (inner[named..].len() - inner[named..].trim_start().len());
            title = from..from + text.len();
        }
        cursor += (rest.len() - opened.len()) + close + 1;
    }
    let rest = &bare[cursor..];
    let mark = rest.trim_start_matches(['*', '_', ']', '>', ' ']);
    let is_marked = mark.starts_with([':', '-', '|', '.', '：']) || mark.starts_with('–') || mark.starts_with('—');
    let tail = mark.trim_end_matches(['-', '=', '*', '#', '>', ' ', '~', ']']);
    if is_named && !is_marked && !is_shut && !tail.is_empty() {
        // `Section 5 of the act says` is prose.
        return None;
    }
    let content = match is_marked {
        _ if tail.is_empty() => "",
        true => {
            let mut chars = mark.chars();
            chars.next();
            chars.as_str().trim_start_matches(['*', '_', ' '])
        }
        false => mark,
    };
    let offset = at + (trimmed.len() - bare.len());
    // `[Document 1: The title]`
    let is_titled_inside = is_bracketed && is_named && !is_shut && is_marked && content.ends_with(']');
    let (title, content_at) = match is_titled_inside {
        true => (end - content.len()..end - 1, end),
        false => (offset + title.start..offset + title.end, end - content.len()),
    };
    Some(Kind::Number { number, title, content: content_at, is_named })
}

/// The byte of the parenthesis that closes the first one, on this line.
fn closing_parenthesis(text: &str) -> Option<usize> {
    /// Bytes of a title.
    const BYTES_MAX: usize = 200;
    let mut depth = 0_u32;
    for (at, byte) in text.bytes().enumerate().take(BYTES_MAX) {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(at),
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// What a short phrase names; `None` when it names nothing that prompts have.
pub(super) fn label_of(phrase: &str) -> Option<Label> {
    let phrase = phrase.trim();
    let phrase = phrase.find('(').map_or(phrase, |at| &phrase[..at]);
    if phrase.is_empty()
        || phrase.len() > LABEL_BYTES_MAX
        || phrase.contains(['.', '?', '!', ';', '{', '"', '=', '|', '\\', '<', '>', '$', '`', '@'])
    {
        return None;
    }
    match phrase {
        "Q" => return Some(Label::Question),
        "A" => return Some(Label::Answer),
        _ => {}
    }
    let mut found: [Word; LABEL_WORDS_MAX] = std::array::from_fn(|_| Word { span: 0..0, groups: 0 });
    let mut count = 0;
    for word in words(phrase) {
        *found.get_mut(count)? = word;
        count += 1;
    }
    let found = &found[..count];
    let first = found.first()?;
    let opener = &phrase.as_bytes()[first.span.clone()];
    // `I searched for the text` is said, not named.
    if matches!(opener.to_ascii_lowercase().as_slice(), b"i" | b"i've" | b"i'm" | b"we" | b"we've" | b"you") {
        return None;
    }
    // `Based on the context`, `Use these sources`, `Answer the question` are tasks.
    let is_task = count > 1
        && first.is(RESTING | ASKS | LEADS | ORDERS)
        && !first.is(MATERIAL | QUESTION | ANSWER | TRAILS | AHEAD_OR_THE);
    let is_answer_task =
        count > 2 && first.is(ASKS) && first.is(ANSWER) && found[1].is(ORDERS | RESTING | AHEAD_OR_THE);
    if is_task || is_answer_task {
        return None;
    }
    if found.iter().any(|word| word.is(EXAMPLE)) {
        return Some(Label::Example);
    }
    // The noun stands in front of what it is of, and of what says where it is.
    let mut noun: Option<usize> = None;
    for (at, word) in found.iter().enumerate() {
        if phrase[word.span.clone()].eq_ignore_ascii_case("of") {
            match noun {
                Some(before) if found[before].is(HOLDS) => noun = None,
                Some(_) => break,
                None => {}
            }
            continue;
        }
        if word.is(LINKS) && noun.is_some() {
            break;
        }
        let is_number = phrase[word.span.clone()].bytes().all(|byte| byte.is_ascii_digit());
        if !is_number && (!word.is(TRAILS) || (noun.is_none() && at + 1 == count)) {
            noun = Some(at);
        }
    }
    let at = noun?;
    let groups = found[at].groups;
    let before = |wanted: u64| found[..at].iter().any(|word| word.is(wanted));
    let is_of_search = groups & RESULTS != 0 && before(SEARCHED);
    if phrase[found[at].span.clone()].eq_ignore_ascii_case("knowledge") {
        return Some(Label::Material(HANDED | SITUATION));
    }
    if groups & QUESTION != 0 && !is_of_search {
        return Some(Label::Question);
    }
    if is_of_search {
        return Some(Label::Material(HANDED | RESULTS));
    }
    if groups & PART != 0 {
        return Some(Label::Part);
    }
    if groups & ANSWER != 0 {
        // `Best answer` is what somebody else gave.
        let is_known = found.iter().all(|word| word.groups != 0);
        return is_known.then(|| if before(EARLIER) { Label::Part } else { Label::Answer });
    }
    if groups & SPEAKER != 0 && count <= 2 {
        return Some(Label::Speaker);
    }
    if groups & MATERIAL != 0 {
        // `Context information` is what its first noun says.
        let own = found[..=at].iter().filter(|word| word.is(HANDED)).fold(groups, |all, word| all | word.groups);
        return Some(Label::Material(own));
    }
    if before(HANDED) && count <= 4 && groups == 0 {
        // `Context window`, `Source code`: something else than material.
        return None;
    }
    (groups & ABOUT != 0).then_some(Label::About)
}

/// Articles and what stands like them in front of a noun.
const AHEAD_OR_THE: u64 = super::words::THE
    | super::words::HERE
    | super::words::FOLLOWING
    | super::words::BELOW
    | super::words::THIS
    | super::words::GIVEN;
