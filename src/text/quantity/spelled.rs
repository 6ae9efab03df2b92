//! Numbers in words: "fifty-four", "two hundred and five", "three quarters".
//!
//! **Formula**: ones and tens add up; a scale multiplies what stands before it; a smaller scale adds to a larger one.
//!
//! **Range**: 0 to [`VALUE_MAX`].
//!
//! **Limits**: the languages of `numbers.toml`, today English, and below a hundred German and French. "A hundred" begins with its scale; ordinals are read as
//! parts only.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use serde::Deserialize;

/// The largest number in words.
pub const VALUE_MAX: i64 = 1_000_000_000_000;

/// The words of one language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Language {
    ones: Vec<String>,
    tens: Vec<String>,
    #[serde(default)]
    scales: BTreeMap<String, u32>,
    #[serde(default)]
    money_scales: BTreeMap<String, u32>,
    #[serde(default)]
    joins: Vec<String>,
    #[serde(default)]
    parts: BTreeMap<String, i64>,
    joined: Option<String>,
    #[serde(default)]
    words: BTreeMap<String, i64>,
}

#[derive(Clone, Copy, Debug)]
enum Word {
    One(i64),
    Ten(i64),
    Scale(i64),
    Join,
}

/// The table of words that count by themselves.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    counting: BTreeMap<String, BTreeMap<String, i64>>,
    quiet: HashMap<String, i64>,
}

/// All words, with what they say.
struct Known {
    words: HashMap<String, Word>,
    money_scales: HashMap<String, u32>,
    parts: HashMap<String, i64>,
    counting: Vec<(String, i64)>,
    quiet: HashMap<String, i64>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let table: BTreeMap<String, Language> = toml::from_str(include_str!("numbers.toml")).unwrap_or_default();
    let File { counting, quiet } = toml::from_str(include_str!("counting.toml")).expect("a test reads the table");
    let mut all: Vec<(String, i64)> = counting.into_values().flatten().collect();
    if let Some(english) = table.get("en") {
        all.extend(english.ones.iter().cloned().zip(0..).filter(|(_, value)| *value != 1));
        all.extend(english.tens.iter().cloned().zip((20..).step_by(10)));
    }
    let mut known =
        Known { words: HashMap::new(), money_scales: HashMap::new(), parts: HashMap::new(), counting: all, quiet };
    for language in table.into_values() {
        if let Some(join) = &language.joined {
            for (ten, value) in language.tens.iter().zip((20..).step_by(10)) {
                for (one, count) in language.ones.iter().zip(0..10).skip(1) {
                    // "einundzwanzig" is of one, and has no s.
                    let one = if count == 1 { one.strip_suffix('s').unwrap_or(one) } else { one };
                    known.words.insert(format!("{one}{join}{ten}"), Word::One(value + count));
                }
            }
        }
        known.words.extend(language.words.into_iter().map(|(word, value)| (word, Word::One(value))));
        known.words.extend(language.ones.into_iter().zip(0..).map(|(word, value)| (word, Word::One(value))));
        known.words.extend(language.tens.into_iter().zip(2..).map(|(word, tens)| (word, Word::Ten(10 * tens))));
        known.words.extend(language.scales.into_iter().map(|(word, power)| (word, Word::Scale(10_i64.pow(power)))));
        known.words.extend(language.joins.into_iter().map(|word| (word, Word::Join)));
        known.money_scales.extend(language.money_scales);
        known.parts.extend(language.parts);
    }
    known
});

/// A number as far as its words were read.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// What scales from a thousand on have closed.
    total: i64,
    /// What is below the next such scale.
    group: Option<i64>,
}

impl Sum {
    /// With one more word; `None` when that does not belong to the same number.
    fn with(self, word: Word) -> Option<Sum> {
        let Sum { total, group } = self;
        let is_hundreds = |sum: i64| sum >= 100 && sum % 100 == 0;
        let group = match (word, group) {
            (Word::One(value) | Word::Ten(value), None) => Some(value),
            (Word::One(value @ 1..=9), Some(sum)) if sum % 100 >= 20 && sum % 10 == 0 => Some(sum + value),
            (Word::One(value @ 1..) | Word::Ten(value), Some(sum)) if is_hundreds(sum) => Some(sum + value),
            (Word::Scale(100), Some(sum @ 1..100)) => Some(sum * 100),
            (Word::Scale(scale), Some(sum @ 1..1_000)) if scale > 100 && total % (scale * 1_000) == 0 => {
                let total = total + sum * scale;
                return (total <= VALUE_MAX).then_some(Sum { total, group: None });
            }
            _ => return None,
        };
        Some(Sum { total, group })
    }

    fn can_be_joined(self) -> bool {
        self.group.map_or(self.total > 0, |sum| sum >= 100 && sum % 100 == 0)
    }
}

/// The number that `words`, in lower case, begin with, and how many of them belong to it.
pub fn read(words: &[&str]) -> Option<(i64, usize)> {
    let (mut sum, mut used) = (Sum::default(), 0);
    for (index, word) in words.iter().enumerate() {
        let Some(parts) = parts_of(word) else { break };
        if let [Some(Word::Join), _] = parts {
            // It counts with the word after it.
            if used == index && sum.can_be_joined() { continue } else { break }
        }
        let Some(longer) = parts.into_iter().flatten().try_fold(sum, Sum::with) else { break };
        (sum, used) = (longer, index + 1);
    }
    (used > 0).then(|| (sum.total + sum.group.unwrap_or_default(), used))
}

/// What a word says, or the two of a hyphenated one.
fn parts_of(word: &str) -> Option<[Option<Word>; 2]> {
    let known = &KNOWN.words;
    if let Some(one) = known.get(word) {
        return Some([Some(*one), None]);
    }
    let (front, back) = word.split_once('-')?;
    let pair = (known.get(front)?, known.get(back)?);
    matches!(pair, (Word::Ten(_), Word::One(1..=9))).then(|| [Some(*pair.0), Some(*pair.1)])
}

/// Words of all languages that count by themselves, with what they say; "one" and ordinals below the third do not.
pub fn counting() -> &'static [(String, i64)] {
    &KNOWN.counting
}

/// What a word says that is too common to claim a number ("first"), a share in percent ("half").
pub fn quiet(word: &str) -> Option<i64> {
    KNOWN.quiet.get(word).copied()
}

/// The words of [`quiet`].
pub fn quiet_words() -> impl Iterator<Item = &'static str> {
    KNOWN.quiet.keys().map(String::as_str)
}

/// The power of ten by which a word multiplies the number before it, in any case: "million".
pub fn scale(word: &str) -> Option<u32> {
    const WORD_BYTES_MAX: usize = 8;
    let lower = if word.len() > WORD_BYTES_MAX { return None } else { word.to_ascii_lowercase() };
    match KNOWN.words.get(lower.as_str())? {
        Word::Scale(scale) => Some(scale.ilog10()),
        _ => None,
    }
}

/// The same for letters that stand right behind an amount of money: $5M.
pub fn money_scale(letters: &str) -> Option<u32> {
    KNOWN.money_scales.get(letters).copied()
}

/// The denominator of a fraction in words: "third", "quarters".
pub fn part(word: &str) -> Option<i64> {
    let parts = &KNOWN.parts;
    parts.get(word).or_else(|| parts.get(word.strip_suffix('s')?)).copied().or_else(|| (word == "halves").then_some(2))
}

/// Whether a number in words can begin here.
pub fn is_number_word(word: &str) -> bool {
    matches!(parts_of(word), Some([Some(Word::One(_) | Word::Ten(_)), _]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(i64, usize)>) {
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(read(&words), expected, "{text}");
    }

    #[test]
    fn numbers_in_words_are_read_as_far_as_they_go() {
        check("seven times eight", Some((7, 1)));
        check("fifty-four apples", Some((54, 1)));
        check("fifty four", Some((54, 2)));
        check("one hundred and five", Some((105, 4)));
        check("two hundred", Some((200, 2)));
        check("two hundred and then", Some((200, 2)));
        check("three thousand two hundred and forty-one", Some((3_241, 6)));
        check("one million", Some((1_000_000, 2)));
        check("twelve thousand and six", Some((12_006, 4)));
        check("two three", Some((2, 1)));
        check("twenty and six", Some((20, 1)));
        check("hundred", None);
        check("apples", None);
        check("and five", None);
        assert_eq!(
            (part("third"), part("quarters"), part("halves"), part("apples")),
            (Some(3), Some(4), Some(2), None)
        );
        assert_eq!([scale("Million"), scale("lakh"), scale("ten"), scale("m")], [Some(6), Some(5), None, None]);
        assert_eq!([money_scale("M"), money_scale("bn"), money_scale("million")], [Some(6), Some(9), None]);
    }

    proptest! {
        #[test]
        fn no_words_make_it_fail(words in proptest::collection::vec("one|ten|forty|hundred|thousand|billion|and|fifty-two|x", 0..12)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if let Some((value, used)) = read(&words) {
                prop_assert!(used <= words.len() && (0..=VALUE_MAX + 999_999_999).contains(&value));
            }
        }
    }
}
