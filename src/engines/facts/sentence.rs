//! The sentence around a place in a text, and whether it states something as it is now.
//!
//! **Limits**: English words. A sentence longer than [`SENTENCE_BYTES_MAX`] is cut there.

use std::ops::Range;

/// Bytes of a sentence to either side of the place that is looked at.
pub const SENTENCE_BYTES_MAX: usize = 1_000;

/// Words whose full stop ends no sentence.
const ABBREVIATIONS: [&str; 22] = [
    "st", "dr", "mr", "mrs", "ms", "prof", "no", "art", "sec", "fig", "e.g", "i.e", "vs", "approx", "inc", "ltd", "co",
    "u.s", "u.k", "jr", "sr", "ca",
];
/// The sentence says that something is not so.
const NEGATIONS: [&str; 19] = [
    " not ",
    "n't ",
    "n’t ",
    " never ",
    " no longer ",
    " neither ",
    " incorrect",
    " wrong",
    " false",
    " myth",
    " instead of ",
    " rather than ",
    " contrary ",
    " unlike ",
    " mistaken",
    " invalid",
    " no such ",
    " is no ",
    " are no ",
];
/// The sentence supposes it, asks for it, or leaves it open.
const SUPPOSITIONS: [&str; 21] = [
    " if ",
    " suppose",
    " assuming ",
    " imagine ",
    " would ",
    " could ",
    " might ",
    " may be ",
    " whether ",
    " unless ",
    " hypothetical",
    " for example",
    " e.g. ",
    " example:",
    " fiction",
    " perhaps ",
    " let's say ",
    " pretend",
    " propos",
    " should ",
    " rumour",
];
/// The sentence speaks of what was.
const PAST: [&str; 26] = [
    " was ",
    " were ",
    " had ",
    " used to ",
    " former",
    " previous",
    " until ",
    " prior to ",
    " before ",
    " historic",
    " back then",
    " at the time",
    " at that time",
    " originally ",
    " earlier ",
    " old ",
    " once ",
    " repealed",
    " replaced",
    " superseded",
    " ended ",
    " expired",
    " outdated",
    " legacy ",
    " in the past",
    " no longer ",
];

/// How a sentence means what it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stance {
    /// It asks.
    pub is_question: bool,
    /// It denies something.
    pub is_negated: bool,
    /// It supposes something, or gives an example.
    pub is_supposed: bool,
    /// It speaks of the past.
    pub is_past: bool,
}

impl Stance {
    /// What the words of `sentence` say.
    pub fn of(sentence: &str) -> Stance {
        let mut lower = String::with_capacity(sentence.len() + 2);
        lower.push(' ');
        lower.extend(
            sentence
                .chars()
                .map(|c| if matches!(c, ',' | ';' | '(' | ')' | '*' | '\n') { ' ' } else { c.to_ascii_lowercase() }),
        );
        lower.push(' ');
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        Stance {
            is_question: sentence.trim_end().ends_with('?'),
            is_negated: has(&NEGATIONS),
            is_supposed: has(&SUPPOSITIONS),
            is_past: has(&PAST),
        }
    }

    /// Whether it states something.
    pub fn is_statement(self) -> bool {
        !self.is_question && !self.is_negated && !self.is_supposed
    }
}

/// The sentence in which the bytes of `place` stand.
pub fn around(text: &str, place: Range<usize>) -> Range<usize> {
    let floor = text.floor_char_boundary(place.start.saturating_sub(SENTENCE_BYTES_MAX));
    let ceiling = text.ceil_char_boundary((place.end + SENTENCE_BYTES_MAX).min(text.len()));
    let bytes = text.as_bytes();
    let start = (floor..place.start).rev().find(|&at| is_end(bytes, at)).map_or(floor, |at| at + 1);
    let end = (place.end..ceiling).find(|&at| is_end(bytes, at)).map_or(ceiling, |at| at + 1);
    let part = &text[start..end];
    let start = start + (part.len() - part.trim_start().len());
    start..(start + part.trim().len()).max(place.end)
}

/// Whether a sentence ends with the byte at `at`.
fn is_end(bytes: &[u8], at: usize) -> bool {
    match bytes[at] {
        b'\n' => true,
        b'!' | b'?' => true,
        b'.' => {
            let next = bytes.get(at + 1).copied().unwrap_or(b' ');
            if !next.is_ascii_whitespace() && !matches!(next, b'"' | b'\'' | b')') {
                return false;
            }
            let word_start = bytes[..at]
                .iter()
                .rposition(|byte| byte.is_ascii_whitespace() || *byte == b'(')
                .map_or(0, |start| start + 1);
            let word = bytes[word_start..at].to_ascii_lowercase();
            let is_initial = word.len() == 1 && word[0].is_ascii_alphabetic();
            !is_initial && !ABBREVIATIONS.iter().any(|known| known.as_bytes() == word)
        }
        _ => false,
    }
}

/// Whether the bytes of `place` are whole words of `text`.
pub fn is_whole_word(text: &str, place: &Range<usize>) -> bool {
    let before = text[..place.start].chars().next_back();
    let after = text[place.end..].chars().next();
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

/// The first place of `phrase` in `text`, in any case of ASCII letters, as whole words.
pub fn find_phrase(text: &str, phrase: &str) -> Option<Range<usize>> {
    let (hay, needle) = (text.as_bytes(), phrase.as_bytes());
    if needle.is_empty() || needle.len() > hay.len() {
        return None;
    }
    let first = [needle[0].to_ascii_lowercase(), needle[0].to_ascii_uppercase()];
    memchr::memchr2_iter(first[0], first[1], &hay[..=hay.len() - needle.len()])
        .map(|at| at..at + needle.len())
        .find(|place| hay[place.clone()].eq_ignore_ascii_case(needle) && is_whole_word(text, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences() {
        for (text, word, expected) in [
            ("One, two. Three x four. Five", "x", "Three x four."),
            ("Mr. J. Doe, x, lives in St. Gallen. No", "x", "Mr. J. Doe, x, lives in St. Gallen."),
            ("one\ntwo x 1.5 kg\nthree", "x", "two x 1.5 kg"),
            ("x", "x", "x"),
            ("Ä. é x ü! Ö", "x", "é x ü!"),
        ] {
            let at = text.find(word).unwrap();
            assert_eq!(&text[around(text, at..at + 1)], expected, "{text}");
        }
    }

    #[test]
    fn stances() {
        for (text, is_statement, is_past) in [
            ("The rate is 5%.", true, false),
            ("Is the rate 5%?", false, false),
            ("The rate isn't 5%.", false, false),
            ("If the rate is 5%, we wait.", false, false),
            ("The rate was 5%.", true, true),
            ("The former rate is 5%.", true, true),
        ] {
            let stance = Stance::of(text);
            assert_eq!((stance.is_statement(), stance.is_past), (is_statement, is_past), "{text}");
        }
    }

    #[test]
    fn phrases_are_whole_words_in_any_case() {
        assert_eq!(find_phrase("the Capital of X", "capital"), Some(4..11));
        assert_eq!(find_phrase("capitals and the capital", "capital"), Some(17..24));
        assert_eq!(find_phrase("écapital", "capital"), None);
        assert_eq!(find_phrase("ab", "abc"), None);
    }
}
