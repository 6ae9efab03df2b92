//! Where sentences end.
//!
//! **Formula**: a text is cut behind `.`, `!` and `?` (and the closing quotes and brackets behind them) before white
//! space, behind the full stops of Chinese and Japanese, and at line breaks. No cut stands behind an abbreviation, an
//! initial or the number of a list, or inside of code; a number, an address or a version has no white space behind its
//! points.
//!
//! **Limits**: English abbreviations. "etc.", "a.m." and "p.m." end a sentence when a capital follows; other abbreviations
//! never do. [`words`](super::words) counts sentences by a shorter rule, for which the text need not be held.

use std::ops::Range;

/// Bytes of a sentence to either side of a place around which it is looked for; a longer one is cut there.
pub const SENTENCE_BYTES_MAX: usize = 1_000;

/// The sentence in which the bytes of `place` stand.
pub fn around(text: &str, place: Range<usize>) -> Range<usize> {
    let floor = text.floor_char_boundary(place.start.saturating_sub(SENTENCE_BYTES_MAX));
    let ceiling = text.ceil_char_boundary((place.end + SENTENCE_BYTES_MAX).min(text.len()));
    let bytes = text.as_bytes();
    let floor = memchr::memrchr(b'\n', &bytes[floor..place.start]).map_or(floor, |at| floor + at + 1);
    let ceiling = memchr::memchr(b'\n', &bytes[place.end..ceiling]).map_or(ceiling, |at| place.end + at);
    let mut found = place.clone();
    split(&text[floor..ceiling], &[], |sentence| {
        let (start, end) = (floor + sentence.start, floor + sentence.end);
        if start < place.end.max(place.start + 1) && place.start < end {
            found = found.start.min(start)..found.end.max(end);
        }
    });
    found
}

/// Hands every sentence of `text` to `take`, in order and without white space around it; `code` is not cut.
pub fn split(text: &str, code: &[Range<usize>], mut take: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let mut start = 0;
    let mut code = code.iter().peekable();
    let mut push = |from: usize, to: usize| {
        let piece = &text[from..to];
        let trimmed = piece.trim_start();
        let from = from + piece.len() - trimmed.len();
        let to = from + trimmed.trim_end().len();
        if from < to {
            take(from..to);
        }
    };
    let mut at = 0;
    while at < bytes.len() {
        let is_candidate = CANDIDATE[usize::from(bytes[at])];
        if !is_candidate {
            at += 1;
            continue;
        }
        while code.peek().is_some_and(|range| range.end <= at) {
            code.next();
        }
        if let Some(range) = code.peek().filter(|range| range.start <= at) {
            at = range.end;
            continue;
        }
        match bytes[at] {
            b'\n' => {
                push(start, at);
                start = at + 1;
                at += 1;
            }
            b'.' | b'!' | b'?' => {
                let end = behind_closers(bytes, at);
                // A no-break space is white space, too.
                let is_break = match bytes.get(end) {
                    None => true,
                    Some(byte) if byte.is_ascii() => byte.is_ascii_whitespace(),
                    Some(_) => text[end..].starts_with(char::is_whitespace),
                };
                if is_break && !(bytes[at] == b'.' && is_protected(text, start, at, end)) {
                    push(start, end);
                    start = end;
                }
                at = end.max(at + 1);
            }
            _ => {
                let width = cjk_stop(bytes, at);
                if width > 0 {
                    let end = behind_cjk_closers(bytes, at + width);
                    push(start, end);
                    start = end;
                    at = end;
                } else {
                    at += 1;
                }
            }
        }
    }
    push(start, bytes.len());
}

/// Bytes at which a sentence may end: line breaks, stops, and the first byte of full-width ones.
const CANDIDATE: [bool; 256] = {
    let mut is = [false; 256];
    is[b'\n' as usize] = true;
    is[b'.' as usize] = true;
    is[b'!' as usize] = true;
    is[b'?' as usize] = true;
    is[0xE3] = true;
    is[0xEF] = true;
    is
};

/// Behind further stops and closing quotes and brackets.
fn behind_closers(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    loop {
        end += match bytes[end..] {
            [b'.' | b'!' | b'?' | b'"' | b'\'' | b')' | b']' | b'*', ..] => 1,
            [0xE2, 0x80, 0x99 | 0x9D, ..] => 3,
            [0xC2, 0xBB, ..] => 2,
            _ => return end,
        };
    }
}

/// Bytes of the full-width full stop, exclamation or question mark at `at`; else 0.
fn cjk_stop(bytes: &[u8], at: usize) -> usize {
    match bytes[at..] {
        [0xE3, 0x80, 0x82, ..] | [0xEF, 0xBC, 0x81 | 0x9F, ..] | [0xEF, 0xBD, 0xA1, ..] => 3,
        _ => 0,
    }
}

fn behind_cjk_closers(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    loop {
        end += match bytes[end..] {
            [0xE3, 0x80, 0x8D | 0x8F | 0x91, ..] | [0xEF, 0xBC, 0x89, ..] | [0xE2, 0x80, 0x99 | 0x9D, ..] => 3,
            _ if cjk_stop(bytes, end) > 0 => 3,
            _ => return end,
        };
    }
}

/// Abbreviations behind which a sentence goes on, in lower case and without their last point.
const ABBREVIATIONS: &[&str] = &[
    "dr", "mr", "mrs", "ms", "prof", "sr", "jr", "st", "vs", "inc", "ltd", "co", "corp", "nos", "gov", "sen", "rep",
    "gen", "lt", "col", "capt", "sgt", "rev", "hon", "fig", "figs", "eq", "sec", "ch", "vol", "pp", "ed", "eds", "al",
    "approx", "dept", "est", "ave", "blvd", "mt", "ft", "u.s", "u.k", "u.n", "e.u", "e.g", "i.e", "cf", "d.c", "ph.d",
    "b.sc", "m.sc", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
];
/// Abbreviations only before a number: alone they are words.
const NUMBERED_ABBREVIATIONS: &[&str] = &["no", "art", "ca"];
/// Abbreviations that end a sentence when a capital follows.
const ENDING_ABBREVIATIONS: &[&str] = &["etc", "a.m", "p.m"];

/// Whether the point at `at`, of a sentence that begins at `start`, ends no sentence.
fn is_protected(text: &str, start: usize, at: usize, end: usize) -> bool {
    let bytes = text.as_bytes();
    if end > at + 1 && bytes[at + 1] == b'.' {
        return false;
    }
    /// Blanks before the number of a list.
    const INDENT_BYTES_MAX: usize = 64;
    /// Bytes of the longest abbreviation, and one more.
    const ABBREVIATION_BYTES: usize = 8;
    let window = &bytes[at.saturating_sub(ABBREVIATION_BYTES).max(start)..at];
    let word = window.rsplit(|byte| !byte.is_ascii_alphanumeric() && *byte != b'.').next().unwrap_or_default();
    let indent = &bytes[start..at - word.len()];
    let is_first = indent.len() <= INDENT_BYTES_MAX && indent.trim_ascii().is_empty();
    if word.is_empty() || word.len() == ABBREVIATION_BYTES {
        return false;
    }
    if word.iter().all(u8::is_ascii_digit) {
        return is_first && word.len() <= 3;
    }
    if let [initial] = word {
        return initial.is_ascii_uppercase() && (*initial != b'I' || is_first);
    }
    let is = |list: &[&str]| list.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    if is(ENDING_ABBREVIATIONS) {
        let next = text[end..].trim_start().chars().next();
        return end == at + 1 && next.is_some_and(|c| !c.is_uppercase());
    }
    // "No." alone is an answer; "No. 7" is not.
    if is(NUMBERED_ABBREVIATIONS) {
        return text[end..].trim_start().starts_with(|c: char| c.is_ascii_digit());
    }
    is(ABBREVIATIONS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_sentence_around_a_place() {
        for (text, word, expected) in [
            ("One, two. Three x four. Five", "x", "Three x four."),
            ("Mr. J. Doe, x, lives in St. Gallen. No", "x", "Mr. J. Doe, x, lives in St. Gallen."),
            ("He said \"No.\" The x is \"here.\" Fine.", "x", "The x is \"here.\""),
            ("See Art. 6 of x. It is art. That is x.", "6", "See Art. 6 of x."),
            ("one\ntwo x 1.5 kg\nthree", "x", "two x 1.5 kg"),
            ("x", "x", "x"),
            ("It is open.\u{a0}The x is\u{a0}5\u{202f}km long.\u{202f}Go.", "x", "The x is\u{a0}5\u{202f}km long."),
            ("See Dr.\u{a0}x now. Go.", "x", "See Dr.\u{a0}x now."),
            ("Ä. é x ü! Ö", "x", "é x ü!"),
        ] {
            let at = text.find(word).unwrap();
            assert_eq!(&text[around(text, at..at + 1)], expected, "{text}");
        }
        let two = "A first one. A second one.";
        assert_eq!(&two[around(two, 8..16)], two);
    }

    #[test]
    fn what_stands_far_away_costs_nothing() {
        // Nothing in here is white space, so that a word reaches back to the beginning.
        let text = ".\"".repeat(1 << 20);
        for at in 0..1000 {
            let found = around(&text, text.len() - at - 1..text.len() - at);
            assert!(found.len() <= 2 * SENTENCE_BYTES_MAX + 1);
        }
    }

    proptest! {
        #[test]
        fn sentences_cover_all_but_white_space(text in "[ a-zA-Z0-9.!?\"'\\n\u{3002}\u{e9}]{0,80}") {
            let mut last = 0;
            let mut kept = String::new();
            split(&text, &[], |span| {
                assert!(span.start >= last && span.start < span.end);
                last = span.end;
                kept.push_str(&text[span]);
            });
            let solid = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(solid(&kept), solid(&text));
        }
    }
}
