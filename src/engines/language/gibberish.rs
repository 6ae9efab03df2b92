//! Is the answer made of words at all?
//!
//! **Formula**: value = the larger of
//! - implausible words / words, over the lower-case words of [`WORD_LETTERS`] letters a to z in prose, when there are at
//!   least [`WORDS_MIN`]. A word is implausible when it holds a pair of letters that hardly any language in Latin script
//!   has ([`RARE_PAIRS`]), no vowel, or [`CONSONANTS_MAX`] consonants in a row
//! - damaged characters / code points x 20, at most 1: U+FFFD, and UTF-8 that was read as Latin-1 ("Ã©", "â€™")
//!
//! `gibberish` fires from [`WORDS_FIRE_FROM`] on for words, and from [`DAMAGED_MIN`] damaged characters and [`DAMAGED_FIRE_FROM`]
//! on for these; not when the prompt holds damaged characters itself.
//!
//! **Range**: 0 (words) to 1 (none).
//!
//! **Source**: ours. The pairs occur less than 8 times in a million pairs of 3 million letters of English prose, and in no
//! native word of German, Dutch, Nordic, Romance or Slavic languages that we know. A random word of six letters holds
//! one in half of the cases.
//!
//! **Limits**: words of other alphabets are not judged; a text of them alone is `not_assessed`. Salad of real words is
//! not seen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NO_RESPONSE;
use crate::{
    engines::{About, Assessment, Detail, Engine, Question, RatioSource, Signal, Status, Tier, View},
    record::Kind,
    text::code,
};

/// The engine and its signal.
pub const SIGNAL: &str = "gibberish";
/// Modest until it is fitted.
pub const LIKELIHOOD_RATIO: f64 = 3.0;
/// Letters of a word that is judged.
pub const WORD_LETTERS: std::ops::RangeInclusive<usize> = 4..=30;
/// Words of the shortest text that is judged.
pub const WORDS_MIN: u64 = 12;
/// The share of implausible words from which the signal fires.
pub const WORDS_FIRE_FROM: f64 = 0.3;
/// Consonants in a row of an implausible word; y is none.
pub const CONSONANTS_MAX: usize = 6;
/// Damaged characters below which nothing fires.
pub const DAMAGED_MIN: u64 = 3;
/// The value of damaged characters from which the signal fires.
pub const DAMAGED_FIRE_FROM: f64 = 0.1;

/// Letters that hardly ever follow the first one.
pub const RARE_PAIRS: &[(u8, &[u8])] = &[
    (b'b', b"qx"),
    (b'c', b"bfgjpvx"),
    (b'd', b"qx"),
    (b'f', b"cqvx"),
    (b'g', b"qx"),
    (b'h', b"x"),
    (b'j', b"cqx"),
    (b'k', b"qx"),
    (b'l', b"qx"),
    (b'm', b"qx"),
    (b'p', b"qx"),
    (b'q', b"bcdfghjklmnprstvwxz"),
    (b's', b"x"),
    (b't', b"qx"),
    (b'v', b"bfqwx"),
    (b'w', b"jqvx"),
    (b'x', b"bdfgjkmnqrsvwxz"),
    (b'y', b"q"),
    (b'z', b"fjqx"),
];

/// The same as bits: one number per first letter.
static RARE: [u32; 26] = {
    let mut bits = [0; 26];
    let mut row = 0;
    while row < RARE_PAIRS.len() {
        let (first, seconds) = RARE_PAIRS[row];
        let mut column = 0;
        while column < seconds.len() {
            bits[(first - b'a') as usize] |= 1 << (seconds[column] - b'a');
            column += 1;
        }
        row += 1;
    }
    bits
};

/// What speaks against a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Words that were judged.
    pub words: u64,
    /// Those that hardly any language has.
    pub implausible: u64,
    /// Characters that were damaged on their way.
    pub damaged: u64,
}

impl Counts {
    /// Counts in the prose of `text`.
    pub fn of(text: &str) -> Counts {
        let code = code::code_ranges(text);
        let mut counts = Counts { damaged: damaged(text), ..Counts::default() };
        for part in code::outside(text, &code) {
            counts.add_words(part.as_bytes());
        }
        counts
    }

    /// Words stand between blanks, with quotation marks in front and punctuation behind.
    fn add_words(&mut self, bytes: &[u8]) {
        let opens = |byte: &u8| byte.is_ascii_whitespace() || b"(\"'*_".contains(byte);
        let closes = |byte: &u8| byte.is_ascii_whitespace() || b".,;:!?)\"'*_".contains(byte);
        let mut at = 0;
        while at < bytes.len() {
            let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
            let end = at + length;
            let stands_alone = (at == 0 || opens(&bytes[at - 1])) && bytes.get(end).is_none_or(closes);
            if stands_alone && WORD_LETTERS.contains(&length) {
                self.words += 1;
                self.implausible += u64::from(is_implausible(&bytes[at..end]));
            }
            at = end + 1;
        }
    }

    /// The share of implausible words; 0 when too few were judged.
    pub fn word_share(&self) -> f64 {
        if self.words < WORDS_MIN { 0.0 } else { self.implausible as f64 / self.words as f64 }
    }

    /// Damaged characters of so many code points, as a value.
    pub fn damage(&self, code_points: u64) -> f64 {
        if code_points == 0 { 0.0 } else { (20.0 * self.damaged as f64 / code_points as f64).min(1.0) }
    }
}

/// Whether a word of lower-case letters a to z is in hardly any language.
pub fn is_implausible(word: &[u8]) -> bool {
    let (mut run, mut longest_run, mut has_vowel) = (0, 0, false);
    for byte in word {
        let is_vowel = matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
        run = if is_vowel { 0 } else { run + 1 };
        longest_run = longest_run.max(run);
        has_vowel |= is_vowel;
    }
    let index = |byte: u8| usize::from(byte.wrapping_sub(b'a')).min(25);
    let is_rare = |pair: &[u8]| RARE[index(pair[0])] >> index(pair[1]) & 1 == 1;
    longest_run >= CONSONANTS_MAX || !has_vowel || word.windows(2).any(is_rare)
}

/// Characters that were damaged on their way.
pub fn damaged(text: &str) -> u64 {
    if text.is_ascii() {
        return 0;
    }
    let mut count = 0;
    let mut chars = text.chars().peekable();
    while let Some(character) = chars.next() {
        let next = chars.peek().copied();
        let is_sign = |c: char| !c.is_alphanumeric() && !c.is_whitespace() && !c.is_ascii() || c == '\u{a0}';
        count += u64::from(match character {
            '\u{FFFD}' => true,
            '\u{C3}' | '\u{C2}' => next.is_some_and(is_sign),
            '\u{E2}' => next == Some('\u{20AC}') || next.is_some_and(|c| ('\u{80}'..='\u{9F}').contains(&c)),
            _ => false,
        });
    }
    count
}

/// The numbers of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// P(fires | degraded) / P(fires | not).
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { likelihood_ratio: LIKELIHOOD_RATIO }
    }
}

/// The engine.
pub struct Gibberish {
    settings: Settings,
}

impl Gibberish {
    /// The engine with these numbers.
    pub fn new(settings: Settings) -> Gibberish {
        Gibberish { settings }
    }
}

impl Engine for Gibberish {
    fn about(&self) -> About {
        About {
            name: SIGNAL,
            summary: "Answers that are not made of words, or whose characters are damaged.",
            formula: "larger of implausible words / words and 20 x damaged characters / code points",
            range: "0 (words) to 1 (none)",
            source: "ours",
        }
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        if view.record.kind != Kind::Llm {
            return None;
        }
        let Some(response) = view.record.response.as_deref() else {
            return Some(Assessment::not_assessed(NO_RESPONSE));
        };
        let counts = Counts::of(response);
        if counts.words < WORDS_MIN && counts.damaged == 0 {
            return Some(Assessment::not_assessed("too few words in Latin letters"));
        }
        let (words, damage) = (counts.word_share(), counts.damage(view.response.code_points));
        let is_damaged = counts.damaged >= DAMAGED_MIN && damage >= DAMAGED_FIRE_FROM && damaged(view.prompt_text) == 0;
        let ratio = RatioSource::default_or_config(self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
        let absent = Signal::absent(SIGNAL, Question::Degraded, Tier::Zero, ratio);
        let (status, signal) = if words >= WORDS_FIRE_FROM {
            (Status::Error, absent.fire((2.0 * words).min(1.0), "words of the answer are in no language"))
        } else if is_damaged {
            (Status::Warn, absent.fire(damage, "characters of the answer are damaged"))
        } else {
            (Status::Ok, absent)
        };
        Some(
            Assessment::new(status, words.max(damage))
                .with("words", Detail::Count(counts.words))
                .with("implausible_words", Detail::Count(counts.implausible))
                .with("damaged_characters", Detail::Count(counts.damaged))
                .signal(signal),
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn random_letters_are_implausible_and_words_of_many_languages_are_not() {
        let noise = "xqzvb kjwhq pzxmv qwrtk vbnmx zzqpl wxcvj hgfdq mnbvc qazxw plokm wsxed";
        assert!(Counts::of(noise).word_share() > 0.8);
        for text in [
            "the quick brown fox jumps over the lazy dog while seven rhythms strengthen their twelfths and lengths",
            "jedenfalls wurde aufbauend auf angstschweiss eine aufforderung zum wirtschaftswachstum durchgesetzt worden sein konnte niemals",
            "wszystko zmienia sprawdzenie wzrostu najwyzszy szczegolnie przedsiebiorstwo zdrowie wzgledem jednak zawsze mozna",
            "bijzonder bijwerken tijdje wijzigen onmiddellijk schrijven moeilijk vrijdag ochtend gezellig tijdwinst twijfel",
            "fjorden kjenner mjuk bjuder sjukdom tjugo skjorta hjelp alltid mellan vanligt fortsatt",
            "vrchol vzpominka vzdy zvlastni zpravy jmeno vlastne chvile nejvyssi stredisko hvezda pruvodce",
            "gjithashtu zhvillimi shqip qytet qeveria ndryshme pastaj zgjedhje mundet qofte xhaketa njerez",
        ] {
            assert!(Counts::of(text).word_share() < 0.1, "{text}: {:?}", Counts::of(text));
        }
    }

    #[test]
    fn damaged_characters_are_counted() {
        for (text, expected) in [
            ("cafÃ© crÃ¨me", 2),
            ("donâ€™t â€œdoâ€\u{9d}", 3),
            ("a\u{fffd}b", 1),
            ("Â© 2020Â\u{a0}x", 2),
            ("NÃO, Âmbar, âge, château", 0),
            ("plain", 0),
        ] {
            assert_eq!(damaged(text), expected, "{text}");
        }
    }

    #[test]
    fn code_and_short_texts_are_not_judged() {
        let code = format!("```\n{}\n```", "xqzvb kjwhq ".repeat(20));
        assert_eq!(Counts::of(&code).words, 0);
        assert_eq!(Counts::of("xqzvb").word_share(), 0.0);
    }

    proptest! {
        #[test]
        fn values_are_shares(text in "\\PC{0,200}|[a-z ]{0,200}") {
            let counts = Counts::of(&text);
            prop_assert!((0.0..=1.0).contains(&counts.word_share()));
            prop_assert!((0.0..=1.0).contains(&counts.damage(text.chars().count() as u64)));
        }
    }
}
