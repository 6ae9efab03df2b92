//! Is the answer made of words at all?
//!
//! **Formula**: value = the largest of
//! - implausible words / words, over the lower-case words of 4 to 30 letters a to z outside of code, when there are at least
//!   [`WORDS_MIN`]. A word is implausible when it holds a pair of letters that hardly any language in Latin script has, no
//!   vowel, or 6 consonants in a row; see [`spelling`](crate::text::spelling)
//! - odd words / words, over the same words, when there are at least [`ODD_WORDS_MIN`]: implausible ones and those with two pairs
//!   of letters that are uncommon in English
//! - 1 when the letters are mostly of the upper half of a code page, or the characters of many scripts at once, or the whole
//!   is one run of encoded bytes that nobody asked for
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

use std::{collections::BTreeMap, ops::Range};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{degraded, of_response};
use crate::{
    engines::{About, Assessment, Detail, Effect, Engine, Question, SignalAbout, Status, View},
    text::{
        Features, code,
        lexicon::REQUESTS,
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
/// Letters of the shortest text of which most are of one upper half of a code page.
pub const STRANGE_LETTERS_MIN: usize = 12;
/// Blocks of 256 code points of a text of many scripts.
pub const STRANGE_BLOCKS_MIN: usize = 6;
/// Bytes of the shortest run of letters and digits that is no answer by itself.
pub const BLOB_BYTES_MIN: usize = 40;
/// Words of the shortest message that such a run does not answer.
const BLOB_ASKED_WORDS_MIN: usize = 4;
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
        let damaged = code::outside(text, &features.code).into_iter().map(damaged).sum();
        Counts { words: judged, implausible, damaged }
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
    let marks = ["<0x", "<|", "[PAD]", "<pad>", "<unk>"];
    let marks = marks.iter().map(|mark| memchr::memmem::find_iter(text.as_bytes(), mark.as_bytes()).count());
    (spaces.saturating_sub(ornaments) + marks.sum::<usize>()) as u64
}

/// Characters that were damaged on their way: U+FFFD, bytes of UTF-8 that were read as Latin-1 or Windows-1252, and marks of a
/// tokenizer.
pub fn damaged(text: &str) -> u64 {
    let mut count = token_marks(text);
    if text.is_ascii() {
        return count;
    }
    let mut chars = text.chars().peekable();
    while let Some(character) = chars.next() {
        // How many bytes follow the first one of a character that begins with this.
        let following = match character {
            '\u{FFFD}' => {
                count += 1;
                continue;
            }
            '\u{C2}'..='\u{DF}' => 1,
            '\u{E0}'..='\u{EF}' => 2,
            '\u{F0}'..='\u{F4}' => 3,
            _ => continue,
        };
        let mut ahead = chars.clone();
        if (0..following).all(|_| ahead.next().is_some_and(is_continuation)) {
            count += 1;
            chars = ahead;
        }
    }
    count
}

/// Whether a character is what Latin-1 or Windows-1252 make of a byte that goes on with a character of UTF-8.
fn is_continuation(character: char) -> bool {
    matches!(character, '\u{80}'..='\u{BF}')
        || "\u{20AC}\u{201A}\u{192}\u{201E}\u{2026}\u{2020}\u{2021}\u{2C6}\u{2030}\u{160}\u{2039}\u{152}\u{17D}\u{2018}\u{2019}\u{201C}\u{201D}\u{2022}\u{2013}\u{2014}\u{2DC}\u{2122}\u{161}\u{203A}\u{153}\u{17E}\u{178}".contains(character)
}

/// Why a text without words is no text: letters of one upper half of a code page, or of many scripts at once.
fn strange(text: &str) -> Option<&'static str> {
    if text.is_ascii() {
        return None;
    }
    let (mut letters, mut upper, mut visible) = (0_usize, 0_usize, 0_usize);
    let mut blocks: BTreeMap<u32, usize> = BTreeMap::new();
    for character in text.chars().filter(|c| !c.is_whitespace()) {
        visible += 1;
        letters += usize::from(character.is_alphabetic());
        upper += usize::from(matches!(character, '\u{C0}'..='\u{FF}'));
        let code = character as u32;
        let is_common =
            code < 0x250 || (0x3000..0xA000).contains(&code) || (0xAC00..0xD7B0).contains(&code) || code >= 0xFE00;
        // Arrows, stars and emoji are no script.
        if !is_common && character.is_alphabetic() {
            *blocks.entry(code >> 8).or_default() += 1;
        }
    }
    let of_blocks: usize = blocks.values().sum();
    if letters >= STRANGE_LETTERS_MIN && upper * 2 > letters {
        Some("the letters of the answer are those of another code page")
    } else if blocks.len() >= STRANGE_BLOCKS_MIN && of_blocks * 2 > visible {
        Some("the characters of the answer are of many scripts at once")
    } else {
        None
    }
}

/// Whether the whole answer is one long run of letters and digits, such as encoded bytes, that nobody asked for.
fn is_blob(text: &str, asked: &str) -> bool {
    let text = text.trim();
    let is_run = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-');
    let has = |class: fn(&u8) -> bool| text.bytes().any(|byte| class(&byte));
    text.len() >= BLOB_BYTES_MIN
        && text.bytes().all(is_run)
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !text.contains("--")
        && asked.split_whitespace().count() >= BLOB_ASKED_WORDS_MIN
        && !REQUESTS.encoded.stand_in(asked)
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
            let asked = view.record.prompt.last_of_user().unwrap_or_default();
            let is_encoded_asked = || REQUESTS.encoded.stand_in(asked);
            let strange = strange(response).filter(|_| strange(asked).is_none() && !is_encoded_asked());
            let strange =
                strange.or_else(|| is_blob(response, asked).then_some("the answer is one run of encoded bytes"));
            if counts.words < ODD_WORDS_MIN && counts.damaged == 0 && strange.is_none() {
                return Assessment::not_assessed("too few words in Latin letters");
            }
            let implausible_share = counts.implausible as f64 / counts.words.max(1) as f64;
            let odd =
                if implausible_share >= ODD_COUNTED_FROM { odd_share(response, &view.response.code) } else { 0.0 };
            let (words, damage) = (counts.word_share(), counts.damage(view.response.code_points));
            let is_damaged = counts.damaged >= DAMAGED_MIN
                && damage >= DAMAGED_FIRE_FROM
                && damaged(view.prompt_text) == 0
                && !is_encoded_asked();
            let absent = degraded(SIGNAL, self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
            let (status, signal) = if words >= WORDS_FIRE_FROM {
                (Status::Error, absent.fire((2.0 * words).min(1.0), "words of the answer are in no language"))
            } else if let Some(reason) = strange {
                (Status::Error, absent.fire(1.0, reason))
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
