//! Lists of words by language, as data.
//!
//! **Matching**: in lower case (ASCII letters in any case), at the beginning of a word; a space stands for itself.
//!
//! **Limits**: a list says what its words begin, not what a sentence means. Whoever asks must be content with a hint.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::LazyLock,
};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde::Deserialize;

/// The words of all languages that stand for one thing.
#[derive(Debug)]
pub struct Words(AhoCorasick);

impl Words {
    fn of(by_language: BTreeMap<String, Vec<String>>) -> Words {
        let words: Vec<String> = by_language.into_values().flatten().collect();
        let built = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&words);
        Words(built.expect("the lists of this crate are small"))
    }

    /// Whether one of the words stands in `text`.
    pub fn stand_in(&self, text: &str) -> bool {
        let begins_word = |at: usize, word: &str| {
            let inside = |c: char| c.is_alphanumeric();
            // Scripts without spaces between words have no other beginning.
            !word.is_ascii() || !word.starts_with(inside) || !text[..at].chars().next_back().is_some_and(inside)
        };
        self.0.find_overlapping_iter(text).any(|found| begins_word(found.start(), &text[found.span().range()]))
    }
}

/// What users ask for.
#[derive(Debug)]
pub struct Requests {
    /// What was said, again or changed a little.
    pub hand_back: Words,
    /// Exactly what was said.
    pub say_again: Words,
    /// Encoded bytes, keys, numbers in other bases.
    pub encoded: Words,
    /// The value of an expression.
    pub value: Words,
    /// What a model rightly declines.
    pub harm: Words,
    /// A text with gaps that somebody else fills.
    pub fill_in: Words,
    /// Another language, or several.
    pub other_language: Words,
}

/// What users ask for.
pub static REQUESTS: LazyLock<Requests> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Lists {
        hand_back: BTreeMap<String, Vec<String>>,
        say_again: BTreeMap<String, Vec<String>>,
        encoded: BTreeMap<String, Vec<String>>,
        value: BTreeMap<String, Vec<String>>,
        harm: BTreeMap<String, Vec<String>>,
        fill_in: BTreeMap<String, Vec<String>>,
        other_language: BTreeMap<String, Vec<String>>,
    }
    let lists: Lists = toml::from_str(include_str!("requests.toml")).expect("a list of this crate");
    Requests {
        hand_back: Words::of(lists.hand_back),
        say_again: Words::of(lists.say_again),
        encoded: Words::of(lists.encoded),
        value: Words::of(lists.value),
        harm: Words::of(lists.harm),
        fill_in: Words::of(lists.fill_in),
        other_language: Words::of(lists.other_language),
    }
});

/// What services say in the place of an answer.
#[derive(Debug)]
pub struct ErrorTexts {
    /// The names of the error statuses of HTTP.
    pub status: Vec<String>,
    /// Beginnings of messages.
    pub begins: Vec<String>,
    /// What a user speaks of who may be answered with a page or a status.
    pub errors_asked: Words,
    /// What a user speaks of besides who may be answered with the text of an error.
    pub texts_asked: Words,
}

/// What services say in the place of an answer.
pub static ERROR_TEXTS: LazyLock<ErrorTexts> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Lists {
        status: Vec<String>,
        begins: Vec<String>,
        errors_asked: BTreeMap<String, Vec<String>>,
        texts_asked: BTreeMap<String, Vec<String>>,
    }
    let Lists { status, begins, errors_asked, texts_asked } =
        toml::from_str(include_str!("error_texts.toml")).expect("a list of this crate");
    ErrorTexts { status, begins, errors_asked: Words::of(errors_asked), texts_asked: Words::of(texts_asked) }
});

/// The commonest function words of languages.
#[derive(Debug)]
pub struct FunctionWords {
    /// The languages, by ISO 639-3.
    pub languages: Vec<String>,
    /// Each word with its languages, as bits.
    words: HashMap<String, u32>,
}

/// The commonest function words of languages.
pub static FUNCTION_WORDS: LazyLock<FunctionWords> = LazyLock::new(|| {
    let lists: BTreeMap<String, Vec<String>> =
        toml::from_str(include_str!("function_words.toml")).expect("a list of this crate");
    let (mut languages, mut words) = (Vec::new(), HashMap::new());
    for (index, (language, list)) in lists.into_iter().enumerate() {
        languages.push(language);
        list.into_iter().for_each(|word| *words.entry(word).or_default() |= 1 << index);
    }
    FunctionWords { languages, words }
});

/// Different function words below which a text says nothing of its language.
pub const FUNCTION_WORDS_MIN: u32 = 3;

/// The share of the words of `text` that are function words of each language, 0 when there are fewer than
/// [`FUNCTION_WORDS_MIN`] different ones. All languages in one pass.
pub fn function_word_shares(text: &str) -> impl Iterator<Item = (&'static str, f64)> + Clone {
    let known = &*FUNCTION_WORDS;
    let (mut words, mut hits, mut distinct) = (0_u32, [0_u32; u32::BITS as usize], [0_u32; u32::BITS as usize]);
    let mut seen: HashSet<&'static str> = HashSet::new();
    let mut lower = String::new();
    for word in text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
        words += 1;
        lower.clear();
        lower.extend(word.chars().flat_map(char::to_lowercase));
        let Some((word, languages)) = known.words.get_key_value(lower.as_str()) else { continue };
        let is_new = seen.insert(word);
        for language in (0..known.languages.len()).filter(|language| languages >> language & 1 == 1) {
            hits[language] += 1;
            distinct[language] += u32::from(is_new);
        }
    }
    known.languages.iter().enumerate().map(move |(index, language)| {
        let is_enough = distinct[index] >= FUNCTION_WORDS_MIN;
        (language.as_str(), if is_enough { f64::from(hits[index]) / f64::from(words) } else { 0.0 })
    })
}

/// The share of one language's function words; `None` where they are not known.
pub fn function_word_share(text: &str, language: &str) -> Option<f64> {
    function_word_shares(text).find(|(code, _)| *code == language).map(|(_, share)| share)
}

/// Words after which a sentence goes on, by language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenWords {
    /// Nothing ends with them.
    pub always: BTreeMap<String, HashSet<String>>,
    /// Some sentences end with them.
    pub after_a_mark: BTreeMap<String, HashSet<String>>,
}

/// Words after which a sentence goes on.
pub static OPEN_WORDS: LazyLock<OpenWords> =
    LazyLock::new(|| toml::from_str(include_str!("open_words.toml")).expect("a list of this crate"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_where_a_word_begins() {
        for (text, expected) in [
            ("Please REPEAT after me", true),
            ("Répète après moi", true),
            ("Bitte wiederhole das", true),
            ("请重复一遍", true),
            ("An unrepeatable offer", false),
            ("How are you?", false),
        ] {
            assert_eq!(REQUESTS.hand_back.stand_in(text), expected, "{text}");
        }
    }
}
