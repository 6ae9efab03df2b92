//! Whether a sentence states something as it is now, and words in it.
//!
//! **Limits**: English words.

use std::ops::Range;

pub use crate::text::sentence::around;

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
