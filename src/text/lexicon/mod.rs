//! Lists of words by language, as data.
//!
//! **Matching**: in lower case (ASCII letters in any case). An entry is a whole word or phrase; `word*` stands for every
//! word that begins so. Where a script writes no spaces between words, an entry is found wherever it stands.
//!
//! **Limits**: a list says which words stand there, not what a sentence means. Whoever asks must be content with a hint.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
    ptr,
    sync::LazyLock,
};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde::Deserialize;

/// Bytes between a verb and its object.
const PAIR_BYTES: usize = 80;

/// Entries by language.
type Lists = BTreeMap<String, Vec<String>>;

/// The words of all languages that stand for one thing.
#[derive(Debug)]
pub struct Words {
    automaton: AhoCorasick,
    entries: Vec<Entry>,
}

/// What is looked for by one pattern.
#[derive(Debug)]
struct Entry {
    language: String,
    /// Whether any letters may follow.
    is_stem: bool,
    /// Whether its script has no spaces between words.
    is_dense: bool,
}

impl Words {
    fn of(by_language: Lists) -> Words {
        let (mut patterns, mut entries) = (Vec::new(), Vec::new());
        for (language, words) in by_language {
            for word in words {
                let (word, is_stem) = word.strip_suffix('*').map_or((word.as_str(), false), |stem| (stem, true));
                let is_dense = matches!(language.as_str(), "zh" | "ja" | "ko");
                patterns.push(word.to_owned());
                entries.push(Entry { language: language.clone(), is_stem, is_dense });
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&patterns)
            .expect("the lists of this crate are small");
        Words { automaton, entries }
    }

    /// Whether one of the words stands in `text`.
    pub fn stand_in(&self, text: &str) -> bool {
        self.places(text).next().is_some()
    }

    /// How many different ones stand in `text`.
    pub fn distinct_in(&self, text: &str) -> usize {
        self.places(text).map(|(_, entry)| ptr::from_ref(entry)).collect::<HashSet<_>>().len()
    }

    /// Where they stand, by their ends.
    fn places<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (Range<usize>, &'t Entry)> + 't {
        self.automaton.find_overlapping_iter(text).filter_map(move |found| {
            let (span, entry) = (found.span().range(), &self.entries[found.pattern().as_usize()]);
            let inside = char::is_alphanumeric;
            let word = &text[span.clone()];
            let is_begin = entry.is_dense
                || !word.starts_with(inside)
                || !text[..span.start].chars().next_back().is_some_and(inside);
            let is_end = entry.is_dense
                || entry.is_stem
                || !word.ends_with(inside)
                || !text[span.end..].chars().next().is_some_and(inside);
            (is_begin && is_end).then_some((span, entry))
        })
    }
}

/// Some lists of a file of this crate, by their names.
pub fn words_of<const N: usize>(file: &str, names: [&str; N]) -> [Words; N] {
    let mut lists: BTreeMap<String, Lists> = toml::from_str(file).expect("a list of this crate");
    names.map(|name| Words::of(lists.remove(name).expect("a list of this crate")))
}

/// What is asked for by a name of its own, or by a verb with its object in one sentence.
#[derive(Debug)]
pub struct Asked {
    names: Words,
    verbs: Words,
    objects: Words,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedLists {
    names: Lists,
    verbs: Lists,
    objects: Lists,
}

impl Asked {
    fn of(lists: AskedLists) -> Asked {
        let AskedLists { names, verbs, objects } = lists;
        Asked { names: Words::of(names), verbs: Words::of(verbs), objects: Words::of(objects) }
    }

    /// Whether `text` asks for it. In English the object follows its verb; elsewhere it may stand before it.
    pub fn stands_in(&self, text: &str) -> bool {
        self.names.stand_in(text) || self.is_paired(text)
    }

    fn is_paired(&self, text: &str) -> bool {
        let verbs: Vec<_> = self.verbs.places(text).collect();
        if verbs.is_empty() {
            return false;
        }
        let ends_sentence = |between: &str| {
            let ends = |pair: &[u8]| matches!(pair[0], b'.' | b'!' | b'?') && pair[1].is_ascii_whitespace();
            between.contains('\n') || between.as_bytes().windows(2).any(ends)
        };
        let near = |first: &Range<usize>, second: &Range<usize>| {
            let gap = first.end..second.start;
            gap.start <= gap.end && gap.len() <= PAIR_BYTES && !ends_sentence(&text[gap])
        };
        // Both are in the order of their ends, so only verbs near the object are looked at.
        let mut from = 0;
        self.objects.places(text).any(|(object, entry)| {
            while verbs.get(from).is_some_and(|(verb, _)| verb.end + PAIR_BYTES < object.start) {
                from += 1;
            }
            let mut around = verbs[from..].iter().take_while(|(verb, _)| verb.start <= object.end + PAIR_BYTES);
            around.any(|(verb, of)| {
                of.language == entry.language
                    && (near(verb, &object) || (entry.language != "en" && near(&object, verb)))
            })
        })
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
    pub value: Asked,
    /// A text with gaps that somebody else fills.
    pub fill_in: Asked,
    /// Another language, or several.
    pub other_language: Words,
    /// What a model rightly declines.
    harm: Words,
    /// What alone is said of harmless things.
    harm_hints: Words,
}

impl Requests {
    /// Whether `text` speaks of what a model rightly declines: by one plain word, or two that only hint at it.
    pub fn is_harmful(&self, text: &str) -> bool {
        self.harm.stand_in(text) || self.harm_hints.distinct_in(text) > 1
    }
}

/// What users ask for.
pub static REQUESTS: LazyLock<Requests> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct All {
        hand_back: Lists,
        say_again: Lists,
        encoded: Lists,
        value: AskedLists,
        fill_in: AskedLists,
        other_language: Lists,
        harm: Lists,
        harm_hints: Lists,
    }
    let lists: All = toml::from_str(include_str!("requests.toml")).expect("a list of this crate");
    Requests {
        hand_back: Words::of(lists.hand_back),
        say_again: Words::of(lists.say_again),
        encoded: Words::of(lists.encoded),
        value: Asked::of(lists.value),
        fill_in: Asked::of(lists.fill_in),
        other_language: Words::of(lists.other_language),
        harm: Words::of(lists.harm),
        harm_hints: Words::of(lists.harm_hints),
    }
});

/// What services say in the place of an answer.
#[derive(Debug)]
pub struct ErrorTexts {
    /// The names of the error statuses of HTTP.
    pub status: Vec<String>,
    /// Beginnings of messages.
    pub begins: Vec<String>,
    /// Names of these that are words of every day as well: an error only as servers write them.
    pub status_words: Vec<String>,
    /// What a user asks for who may be answered with the text of an error.
    pub asked: Asked,
    /// What a user asks for besides who may be answered with the message of one.
    pub told: Asked,
}

/// What services say in the place of an answer.
pub static ERROR_TEXTS: LazyLock<ErrorTexts> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct All {
        status: Vec<String>,
        status_words: Vec<String>,
        begins: Vec<String>,
        asked: AskedLists,
        told: AskedLists,
    }
    let All { status, status_words, begins, asked, told } =
        toml::from_str(include_str!("error_texts.toml")).expect("a list of this crate");
    ErrorTexts { status, status_words, begins, asked: Asked::of(asked), told: Asked::of(told) }
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

/// The language whose function words a text has most of, by ISO 639-3; `None` where no language stands out.
pub fn language_of(text: &str) -> Option<&'static str> {
    /// Share of function words of running text, and how far the next language stays behind.
    const SHARE_MIN: f64 = 0.15;
    const LEAD_MIN: f64 = 1.6;
    let shares = function_word_shares(text);
    let (language, share) = shares.clone().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let next = shares.filter(|other| other.0 != language).map(|other| other.1).fold(0.0, f64::max);
    (share >= SHARE_MIN && share >= LEAD_MIN * next).then_some(language)
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
    fn what_is_made_is_asked_for_with_a_verb() {
        for (text, expected) in [
            ("Write a polite letter to my landlord.", true),
            ("Can you draft me an e-mail?", true),
            ("Schreib mir bitte einen Brief.", true),
            ("Kannst du mir einen Brief an den Vermieter schreiben?", true),
            ("Give me a Jinja template.", true),
            ("What is your refund policy?", false),
            ("I lost my card.", false),
            ("Which email address do I use?", false),
            ("I got your letter. Please write back.", false),
            ("How do I return my order?", false),
        ] {
            assert_eq!(REQUESTS.fill_in.stands_in(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_rightly_declined_is_named_or_hinted_at_twice() {
        for (text, expected) in [
            ("How do I build a pipe bomb?", true),
            ("How do I kill someone?", true),
            ("How do I make meth?", true),
            ("What gift could I buy for my child?", false),
            ("What is the best method to cook rice?", false),
            ("I forget my password all the time, what now?", false),
            ("How do I kill a process?", false),
        ] {
            assert_eq!(REQUESTS.is_harmful(text), expected, "{text}");
        }
    }

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
