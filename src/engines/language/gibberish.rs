//! Is the answer made of words at all?
//!
//! **Formula**: value = the largest of
//! - implausible words / words, over the lower-case words of 4 to 30 letters a to z outside of code, when there are at least
//!   [`WORDS_MIN`]. A word is implausible when it holds a pair of letters that hardly any language in Latin script has, no
//!   vowel, or 6 consonants in a row; see [`spelling`](crate::text::spelling)
//! - odd words / words, over the same words, when there are at least [`ODD_WORDS_MIN`]: implausible ones and those with two pairs
//!   of letters that are uncommon in English
//! - damaged characters / code points x 20, at most 1: U+FFFD, UTF-8 that was read as Latin-1 ("Ã©", "â€™"), and the marks of
//!   tokenizers ("Ġthe", "▁of", "<0x0A>")
//!
//! `gibberish` fires from [`WORDS_FIRE_FROM`] on for implausible words, from [`ODD_FIRE_FROM`] on for odd ones, and from [`DAMAGED_MIN`] damaged characters and [`DAMAGED_FIRE_FROM`]
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

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{degraded, of_response};
use crate::{
    engines::{About, Assessment, Detail, Effect, Engine, Question, SignalAbout, Status, View},
    text::{
        Features, code,
        spelling::{Spelling, WORD_LETTERS, is_odd},
    },
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Answers that are not made of words, or whose characters are damaged.",
    formula: "largest of implausible words / words, odd words / words and 20 x damaged characters / code points",
    range: "0 (words) to 1 (none)",
    source: "ours",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "The answer is not made of words.",
        owasp: "",
        help: "Look at sampling settings and at the encoding of the log.",
    }],
};

/// The engine and its signal.
pub const SIGNAL: &str = "gibberish";
/// Modest until it is fitted.
pub const LIKELIHOOD_RATIO: f64 = 3.0;
/// Words of the shortest text that is judged.
pub const WORDS_MIN: u64 = 12;
/// The share of implausible words from which the signal fires.
pub const WORDS_FIRE_FROM: f64 = 0.3;
/// Words of the shortest text whose odd words are counted.
pub const ODD_WORDS_MIN: u64 = 4;
/// The share of odd words from which the signal fires.
pub const ODD_FIRE_FROM: f64 = 0.5;
/// The share of implausible words below which odd ones are not counted: it costs a pass over the text.
const ODD_COUNTED_FROM: f64 = 0.15;
/// Damaged characters below which nothing fires.
pub const DAMAGED_MIN: u64 = 3;
/// The value of damaged characters from which the signal fires.
pub const DAMAGED_FIRE_FROM: f64 = 0.1;

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
    /// Counts of `text`, of which these are the features.
    pub fn of(text: &str, features: &Features) -> Counts {
        let Spelling { judged, implausible } = features.spelling;
        Counts { words: judged, implausible, damaged: damaged(text) }
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

/// The share of odd words outside of code.
fn odd_share(text: &str, code: &[Range<usize>]) -> f64 {
    let (mut words, mut odd) = (0_u64, 0_u64);
    for part in code::outside(text, code) {
        for word in part.split(|c: char| !c.is_alphanumeric()).filter(|word| WORD_LETTERS.contains(&word.len())) {
            let mut spelling = Spelling::default();
            spelling.add(word.as_bytes());
            words += spelling.judged;
            odd += u64::from(spelling.implausible > 0 || (spelling.judged > 0 && is_odd(word.as_bytes())));
        }
    }
    if words < ODD_WORDS_MIN { 0.0 } else { odd as f64 / words as f64 }
}

/// Marks of a tokenizer that were never put together: its signs for a space or a line, and bytes by their numbers.
fn token_marks(text: &str) -> u64 {
    let spaces = text.matches(['\u{120}', '\u{10A}', '\u{2581}']).count();
    // The lower block is an ornament of charts, too: in a row.
    let ornaments = text.matches("\u{2581}\u{2581}").count() * 2 + text.matches('\u{2582}').count() * 4;
    let bytes = memchr::memmem::find_iter(text.as_bytes(), b"<0x").count();
    (spaces.saturating_sub(ornaments) + bytes) as u64
}

/// Characters that were damaged on their way.
pub fn damaged(text: &str) -> u64 {
    let marks = token_marks(text);
    // What U+FFFD, Ã, Â and â begin with in UTF-8.
    if memchr::memchr2(0xEF, 0xC3, text.as_bytes()).is_none() {
        return marks;
    }
    let mut count = marks;
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
    /// What the fault counts as: `fact`, `evidence`, `off`.
    pub effect: Effect,
    /// P(fires | degraded) / P(fires | not), where it counts as evidence.
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { effect: Effect::Fact, likelihood_ratio: LIKELIHOOD_RATIO }
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
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        of_response(view, |response| {
            let counts = Counts::of(response, view.response);
            if counts.words < ODD_WORDS_MIN && counts.damaged == 0 {
                return Assessment::not_assessed("too few words in Latin letters");
            }
            let implausible_share = counts.implausible as f64 / counts.words.max(1) as f64;
            let odd =
                if implausible_share >= ODD_COUNTED_FROM { odd_share(response, &view.response.code) } else { 0.0 };
            let (words, damage) = (counts.word_share(), counts.damage(view.response.code_points));
            let is_damaged =
                counts.damaged >= DAMAGED_MIN && damage >= DAMAGED_FIRE_FROM && damaged(view.prompt_text) == 0;
            let absent = degraded(SIGNAL, self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
            let (status, signal) = if words >= WORDS_FIRE_FROM {
                (Status::Error, absent.fire((2.0 * words).min(1.0), "words of the answer are in no language"))
            } else if odd >= ODD_FIRE_FROM {
                (Status::Error, absent.fire(odd, "words of the answer are in no language"))
            } else if is_damaged {
                (Status::Warn, absent.fire(damage, "characters of the answer are damaged"))
            } else {
                (Status::Ok, absent)
            };
            Assessment::new(status, words.max(odd).max(damage))
                .with("words", Detail::Count(counts.words))
                .with("implausible_words", Detail::Count(counts.implausible))
                .with("odd_words", Detail::Number(odd))
                .with("damaged_characters", Detail::Count(counts.damaged))
                .signal(self.settings.effect.of(signal))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(text: &str) -> Counts {
        Counts::of(text, &Features::of(text))
    }

    #[test]
    fn random_letters_are_implausible_and_words_of_many_languages_are_not() {
        let noise = "xqzvb kjwhq pzxmv qwrtk vbnmx zzqpl wxcvj hgfdq mnbvc qazxw plokm wsxed";
        assert!(counts(noise).word_share() > 0.8);
        for text in [
            "the quick brown fox jumps over the lazy dog while seven rhythms strengthen their twelfths and lengths",
            "jedenfalls wurde aufbauend auf angstschweiss eine aufforderung zum wirtschaftswachstum durchgesetzt worden sein konnte niemals",
            "wszystko zmienia sprawdzenie wzrostu najwyzszy szczegolnie przedsiebiorstwo zdrowie wzgledem jednak zawsze mozna",
            "bijzonder bijwerken tijdje wijzigen onmiddellijk schrijven moeilijk vrijdag ochtend gezellig tijdwinst twijfel",
            "fjorden kjenner mjuk bjuder sjukdom tjugo skjorta hjelp alltid mellan vanligt fortsatt",
            "vrchol vzpominka vzdy zvlastni zpravy jmeno vlastne chvile nejvyssi stredisko hvezda pruvodce",
            "gjithashtu zhvillimi shqip qytet qeveria ndryshme pastaj zgjedhje mundet qofte xhaketa njerez",
        ] {
            assert!(counts(text).word_share() < 0.1, "{text}: {:?}", counts(text));
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
        assert_eq!(counts(&code).words, 0);
        assert_eq!(counts("xqzvb").word_share(), 0.0);
    }

    proptest! {
        #[test]
        fn values_are_shares(text in "\\PC{0,200}|[a-z ]{0,200}") {
            let found = counts(&text);
            prop_assert!((0.0..=1.0).contains(&found.word_share()));
            prop_assert!((0.0..=1.0).contains(&found.damage(text.chars().count() as u64)));
        }
    }
}
