//! Whether a text holds any mark of material at all. Most texts hold none, and are asked no more than this.
//!
//! Looked at: the beginnings of lines, what stands in front of their colons, closing tags, and the few words that sentences
//! hand material over with. What may be a mark is then read as it will be; nothing is told here that is not told there.

use std::{ops::Range, sync::LazyLock};

use memchr::memmem::Finder;

use super::{
    handing::{Handing, handing},
    lines::{self, Kind, Label},
    tags::{label_of_tag, tag_at},
    words::{BEHIND, GIVEN, HANDED, MATERIAL, NUMBERED, RESULTS, TEXTUAL, groups, is_of_word},
};

/// Bytes in front of a colon in which a heading may stand.
const HEADING_BYTES_MAX: usize = 80;
/// Words of a heading.
const HEADING_WORDS_MAX: usize = 10;
/// Bytes of the longest line that can be a heading without a colon.
const LOUD_BYTES_MAX: usize = 60;

/// Whether anything in a text may be a mark of material.
pub(super) fn has_mark(text: &str) -> bool {
    let bytes = text.as_bytes();
    if has_closing_tag(text) {
        return true;
    }
    let mut start = 0;
    let mut is_doubtful = false;
    for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
        match of_line(text, start, end) {
            Mark::Sure => return true,
            Mark::Doubtful => is_doubtful = true,
            Mark::None => {}
        }
        start = end + 1;
    }
    has_cue(text) || asks_for_summary(bytes) || (ends_with_place(text) && (is_doubtful || speaks_of_context(bytes)))
}

/// `Summarize this article.`: nothing else need say that it follows.
fn asks_for_summary(bytes: &[u8]) -> bool {
    /// Bytes of a task that stands alone in front of its material.
    const BYTES_MAX: usize = 300;
    memchr::memmem::find(&bytes[..bytes.len().min(BYTES_MAX)], b"ummar").is_some()
}

/// Whether a text ends with a place for the answer, as programs leave it: there less marks material.
fn ends_with_place(text: &str) -> bool {
    text.trim_end().ends_with([':', '"', '：'])
}

fn speaks_of_context(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"context").is_some()
}

/// What a line marks.
enum Mark {
    None,
    /// A heading that any prompt may have, such as `Data:`.
    Doubtful,
    Sure,
}

/// Whether a tag is closed that may enclose material.
fn has_closing_tag(text: &str) -> bool {
    let mut closes = memchr::memchr_iter(b'<', text.as_bytes());
    closes.any(|at| {
        let tag = tag_at(text, at).filter(|tag| tag.is_close);
        tag.is_some_and(|tag| matches!(label_of_tag(&text[tag.name]), Some(Label::Material(_))))
    })
}

/// Whether a line is a heading of material, numbers a document, or ends with a colon that announces material.
fn of_line(text: &str, start: usize, end: usize) -> Mark {
    let bytes = &text.as_bytes()[start..end];
    let Some(skip) = bytes.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r')) else { return Mark::None };
    let line = &bytes[skip..];
    let is_decorated = match line[0] {
        b'[' | b'#' | b'=' | b'_' | b'<' | b'~' => true,
        b'*' | b'-' => line.get(1) == line.first(),
        b'`' | b'"' | b'\'' => {
            let is_announced = line.starts_with(&[line[0]; 3]) && is_fence_announced(text, start);
            return if is_announced { Mark::Sure } else { Mark::None };
        }
        _ => false,
    };
    let head = &line[..line.len().min(HEADING_BYTES_MAX)];
    let is_heading = match memchr::memchr2(b':', 0xef, head) {
        Some(colon) => names_material(&head[..colon]),
        None => is_decorated || is_loud(line),
    };
    if is_heading || is_numbered(line) {
        let span = start..end;
        let is_announced = || handing(text, &span).is_some_and(|said| said.announces());
        let label = match lines::kind(text, &span) {
            Kind::Heading { label, .. } | Kind::Rule { label: Some(label), .. } => Some(label),
            Kind::Number { number, is_named, .. } if is_named || number <= 1 => return Mark::Sure,
            _ => None,
        };
        match label {
            Some(Label::Material(groups)) if groups & (HANDED | TEXTUAL | RESULTS) != 0 => return Mark::Sure,
            _ if is_announced() => return Mark::Sure,
            Some(Label::Material(_)) => return Mark::Doubtful,
            _ => {}
        }
    }
    let rest = line.trim_ascii_end();
    match rest.strip_suffix(b":").filter(|rest| rest.len() > HEADING_BYTES_MAX) {
        Some(rest) if names_material(&rest[rest.len() - HEADING_BYTES_MAX..]) => Mark::Sure,
        _ => Mark::None,
    }
}

/// Whether the last words of a phrase are those of material.
fn names_material(phrase: &[u8]) -> bool {
    let mut end = phrase.len();
    for _ in 0..HEADING_WORDS_MAX {
        while end > 0 && !is_of_word(phrase[end - 1]) {
            // No heading has signs of code in it, or the end of a sentence.
            if matches!(phrase[end - 1], b'.' | b';' | b'{' | b'}' | b'=' | b'<' | b'>' | b'"' | b'$' | b'|' | b'\\') {
                return false;
            }
            end -= 1;
        }
        let mut start = end;
        while start > 0 && is_of_word(phrase[start - 1]) {
            start -= 1;
        }
        if start == end {
            return false;
        }
        if groups(&phrase[start..end]) & (MATERIAL | RESULTS) != 0 {
            return true;
        }
        end = start;
    }
    false
}

/// `CONTEXT`, `BEGIN DOCUMENT`
fn is_loud(line: &[u8]) -> bool {
    line.len() <= LOUD_BYTES_MAX && line[0].is_ascii_uppercase() && !line.iter().any(u8::is_ascii_lowercase)
}

/// `Document 1`, `source [2]`
fn is_numbered(line: &[u8]) -> bool {
    let word = line.iter().take(HEADING_BYTES_MAX).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let number = line[word..].iter().find(|byte| !matches!(byte, b' ' | b'#' | b'[' | b'(' | b'-' | b'_'));
    word > 0 && number.is_some_and(u8::is_ascii_digit) && groups(&line[..word]) & NUMBERED != 0
}

/// Whether the line in front of a fence announces what the fence encloses.
fn is_fence_announced(text: &str, fence: usize) -> bool {
    let before = text[..fence].trim_end();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    handing(text, &(start..before.len())).is_some_and(|said| said.announces())
}

/// Words that hand material over, without the letter that may be a capital.
const CUES: [&str; 5] = ["ollowing", "elow", "bove", "iven", "rovided"];

static FINDERS: LazyLock<[Finder<'static>; CUES.len()]> = LazyLock::new(|| CUES.map(Finder::new));

/// Whether a sentence with one of the words that hand material over does so, or looks back at it.
fn has_cue(text: &str) -> bool {
    let bytes = text.as_bytes();
    FINDERS.iter().any(|finder| {
        let mut done = 0;
        finder.find_iter(bytes).any(|at| {
            if at < done {
                return false;
            }
            let sentence = sentence_around(text, at);
            done = sentence.end;
            let hands = |said: Handing| said.announces() || said.is(BEHIND | GIVEN);
            handing(text, &sentence).is_some_and(hands)
        })
    })
}

/// The sentence around a byte, on its line.
fn sentence_around(text: &str, at: usize) -> Range<usize> {
    /// Bytes of a sentence on each side.
    const BYTES_MAX: usize = 300;
    let is_stop = |byte: u8| matches!(byte, b'\n' | b'.' | b'?' | b'!');
    let bytes = text.as_bytes();
    let low = text.ceil_char_boundary(at.saturating_sub(BYTES_MAX));
    let start = bytes[low..at].iter().rposition(|byte| is_stop(*byte)).map_or(low, |stop| low + stop + 1);
    let high = text.floor_char_boundary(bytes.len().min(at + BYTES_MAX));
    let end = bytes[at..high].iter().position(|byte| is_stop(*byte)).map_or(high, |stop| at + stop);
    start..end
}

/// Whether one of the words that hand material over stands in a line.
pub(super) fn has_cue_word(line: &[u8]) -> bool {
    FINDERS.iter().any(|finder| finder.find(line).is_some())
}
