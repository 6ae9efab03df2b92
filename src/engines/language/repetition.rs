//! Does the answer say the same over and over?
//!
//! **Formula**: value = the largest of
//! - loop: r / (r + 4), where one character stands [`SAME_CHARS_MIN`] times in a row, one line [`SAME_LINES_IN_A_ROW`] times, or the text ends with r repetitions of one sequence of words (or, in a text without words, of
//!   characters), r at least [`LOOPS_MIN`] and the whole at least [`LOOP_WORDS_MIN`] words or [`LOOP_CHARS_MIN`] characters
//! - lines: the share of the lines that are the same one, when it stands at least [`SAME_LINES_MIN`] times
//! - phrases: 1 - distinct / all sequences of [`GRAM_WORDS`] words, of texts of at least [`GRAM_WORDS_MIN`] words
//!
//! The first two are looked for in everything, the third outside of code. `repetition` fires on a loop, from 0.5 on for
//! lines, and from [`GRAM_SHARE_FIRES`] on for phrases; not when the prompt asks to repeat.
//!
//! **Range**: 0 (nothing said twice) to 1 (nothing else).
//!
//! **Source**: period by the prefix function of the reversed text (Knuth, Morris, Pratt 1977); share of repeated n-grams as
//! in Holtzman et al. 2020 (neural text degeneration).
//!
//! **Limits**: linear in the text but for a sort of its lines. A loop is looked for when the last bytes of the text, or those before
//! its last word, stand in it three times. Of a long text the last [`WORDS_MAX`] words count. Tables and lists
//! that differ in one word per line repeat phrases by nature, which is why that cut is high.

use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{degraded, of_response};
use crate::{
    engines::{About, Assessment, Detail, Effect, Engine, Question, SignalAbout, Status, View},
    text::{Features, code, hash::hash_as_written, lexicon::REQUESTS, words::ascii_runs},
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Answers that say the same over and over.",
    formula: "largest of r/(r+4) for a loop of r, share of one line, share of repeated 4-grams of words",
    range: "0 (nothing said twice) to 1 (nothing else)",
    source: "Knuth, Morris, Pratt 1977 (period); Holtzman et al. 2020 (repeated n-grams)",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "The answer says the same over and over.",
        owasp: "LLM10",
        help: "Look at sampling settings; limit the tokens of an answer.",
    }],
};

/// The engine and its signal.
pub const SIGNAL: &str = "repetition";
/// Modest until it is fitted.
pub const LIKELIHOOD_RATIO: f64 = 3.0;
/// Repetitions of a loop.
pub const LOOPS_MIN: usize = 5;
/// Words of a loop, all repetitions together.
pub const LOOP_WORDS_MIN: usize = 16;
/// Characters of a loop in a text without words.
pub const LOOP_CHARS_MIN: usize = 200;
/// Characters of a loop in a script that writes a syllable or a word as one.
pub const LOOP_DENSE_CHARS_MIN: usize = 30;
/// The same character, a letter or a mark of prose, so often in a row is a loop.
pub const SAME_CHARS_MIN: usize = 30;
/// The same line so often in a row is a loop, also in code.
pub const SAME_LINES_IN_A_ROW: usize = 10;
/// Lines that are the same.
pub const SAME_LINES_MIN: usize = 8;
/// Words of a phrase.
pub const GRAM_WORDS: usize = 4;
/// Words of the shortest text whose phrases are counted.
pub const GRAM_WORDS_MIN: usize = 100;
/// The share of repeated phrases from which the signal fires.
pub const GRAM_SHARE_FIRES: f64 = 0.6;
/// Words of code are not counted among the phrases, and the vocabulary is that of the whole text.
const DIVERSITY_MARGIN: f64 = 0.1;
/// Words that are looked at, from the end.
pub const WORDS_MAX: usize = 200_000;
/// Words, or characters, from the end in which a loop is looked for.
const LOOP_SEEN_MAX: usize = 20_000;
/// Bytes of the shortest line that counts.
const LINE_BYTES_MIN: usize = 20;
/// A number of times that somebody asks for.
static TIMES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twenty|fifty|(?:a )?hundred|(?:a )?thousand|many|several) times\b|\b\d+ ?(?:mal|fois|veces|volte|vezes|keer|раз)\b")
        .expect("a pattern of this crate")
});

/// What repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Repetition {
    /// How often the text's end is said.
    pub loops: usize,
    /// How often the most frequent line stands.
    pub same_lines: usize,
    /// The share of the lines that it is.
    pub line_share: f64,
    /// The share of phrases that were said before.
    pub gram_share: f64,
}

impl Repetition {
    /// What repeats in `text`, of which these are the features. Phrases are not counted where the share of the words that
    /// are different ones rules out that they are mostly the same: each new word begins a new phrase.
    pub fn of(text: &str, features: &Features) -> Repetition {
        let (same_lines, line_share) = same_lines(text);
        let loops = loops(text, features).max(runs(text));
        let diversity = features.vocabulary.distinct() as f64 / features.vocabulary.total().max(1) as f64;
        if diversity > 1.0 - GRAM_SHARE_FIRES + DIVERSITY_MARGIN {
            return Repetition { loops, same_lines, line_share, gram_share: 0.0 };
        }
        let mut prose: Vec<u64> = Vec::with_capacity(features.words as usize);
        for part in code::outside(text, &features.code) {
            push_words(part, &mut prose);
        }
        prose.drain(..prose.len().saturating_sub(WORDS_MAX));
        Repetition { loops, same_lines, line_share, gram_share: gram_share(&prose) }
    }

    /// The strongest of it.
    pub fn value(&self) -> f64 {
        let looped = if self.loops >= LOOPS_MIN { self.loops as f64 / (self.loops as f64 + 4.0) } else { 0.0 };
        looped.max(self.line_share).max(self.gram_share)
    }

    /// Why that is too much.
    fn reason(&self) -> Option<&'static str> {
        if self.loops >= LOOPS_MIN {
            Some("the answer ends in a loop")
        } else if self.line_share >= 0.5 {
            Some("most lines of the answer are the same")
        } else if self.gram_share >= GRAM_SHARE_FIRES {
            Some("most phrases of the answer were said before")
        } else {
            None
        }
    }
}

/// Adds the hashes of the words of `part`.
fn push_words(part: &str, words: &mut Vec<u64>) {
    for run in ascii_runs(part) {
        let bytes = part.as_bytes();
        if bytes[run.clone()].is_ascii() {
            words.push(hash_as_written(bytes, run.start, run.len()));
        } else {
            words.extend(part[run].split_whitespace().map(|word| hash_as_written(word.as_bytes(), 0, word.len())));
        }
    }
}

/// How often the end of the text is said in a row.
fn loops(text: &str, features: &Features) -> usize {
    if !may_loop(text) && !has_numbered_end(text) {
        return 0;
    }
    // The numbers of a list differ where its items are the same.
    let is_number = |word: &str| {
        word.strip_suffix(['.', ')']).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_said =
        |word: &&str| word.bytes().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()) && !is_number(word);
    let words = || text.rsplit(char::is_whitespace).filter(|word| !word.is_empty()).filter(is_said);
    let words_max = features.words as usize;
    // The last word may be cut off.
    let without_last = repetitions(words().skip(1), words_max, LOOP_WORDS_MIN);
    let by_words = repetitions(words(), words_max, LOOP_WORDS_MIN).max(without_last);
    if by_words >= LOOPS_MIN {
        return by_words;
    }
    let characters = || text.trim_end().chars().rev();
    let is_said = characters().take(LOOP_CHARS_MIN).any(char::is_alphabetic);
    let is_dense =
        text.chars().rev().take(LOOP_CHARS_MIN).filter(|c| *c >= '\u{2E80}').count() * 2 > LOOP_DENSE_CHARS_MIN;
    let length_min = if is_dense { LOOP_DENSE_CHARS_MIN } else { LOOP_CHARS_MIN };
    if is_said { repetitions(characters(), features.code_points as usize, length_min) } else { 0 }
}

/// How often one character, or one line with letters, stands in a row, when that is a loop; else 0.
fn runs(text: &str) -> usize {
    let (mut most, mut run, mut before) = (0, 0, '\0');
    for character in text.chars() {
        run = if character == before { run + 1 } else { 1 };
        before = character;
        // Rules of tables and headings are drawn with other marks.
        if run >= SAME_CHARS_MIN && (character.is_alphabetic() || matches!(character, '!' | '?' | ',')) {
            most = most.max(run);
        }
    }
    let (mut run, mut before) = (0, "");
    for line in text.lines().map(str::trim) {
        run = if line == before { run + 1 } else { 1 };
        before = line;
        if run >= SAME_LINES_IN_A_ROW && line.chars().filter(|c| c.is_alphabetic()).count() >= 4 {
            most = most.max(run);
        }
    }
    most
}

/// Whether the last line is an item with a number, so that its end need not stand in the text in the same bytes.
fn has_numbered_end(text: &str) -> bool {
    let line = text.trim_end().lines().next_back().unwrap_or_default().trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && line[digits..].starts_with(['.', ')'])
}

/// Whether the end of the text, or what stands before its last word, is said often enough: cheap, and false for most texts.
fn may_loop(text: &str) -> bool {
    const TAIL_BYTES: usize = 12;
    /// The shortest loop has 40 bytes, and holds its tail so often without overlaps.
    const TAILS: usize = 3;
    let text = text.trim_end();
    let without_last = &text[..text.rfind(char::is_whitespace).unwrap_or(0)];
    [text, without_last.trim_end()].into_iter().any(|text| {
        let bytes = text.as_bytes();
        let Some(start) = bytes.len().checked_sub(TAIL_BYTES) else { return false };
        memchr::memmem::find_iter(bytes, &bytes[start..]).take(TAILS).count() == TAILS
    })
}

/// The most repetitions of one sequence that make up a beginning of `items`, which are at most `items_max`, of at least
/// `length_min`; 0 when there are fewer than [`LOOPS_MIN`]. A longer beginning has no shorter period: what is too long
/// to come often enough is the end of the search.
fn repetitions<T: PartialEq>(items: impl Iterator<Item = T>, items_max: usize, length_min: usize) -> usize {
    let period_max = items_max.min(LOOP_SEEN_MAX) / LOOPS_MIN;
    let (mut seen, mut borders): (Vec<T>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut most = 0;
    for item in items.take(LOOP_SEEN_MAX) {
        let mut border = borders.last().copied().unwrap_or(0);
        while border > 0 && item != seen[border] {
            border = borders[border - 1];
        }
        let goes_on = seen.get(border).is_some_and(|first| *first == item);
        borders.push(border + usize::from(goes_on));
        seen.push(item);
        let length = seen.len();
        let period = length - borders[length - 1];
        if period > period_max {
            break;
        }
        if length >= length_min && length / period >= LOOPS_MIN {
            most = most.max(length / period);
        }
    }
    most
}

/// How often the most frequent line stands, and its share, when it stands often enough.
fn same_lines(text: &str) -> (usize, f64) {
    let lines =
        text.lines().map(str::trim).filter(|line| line.len() >= LINE_BYTES_MIN && line.contains(char::is_alphabetic));
    let mut hashes: Vec<u64> = lines.map(|line| hash_as_written(line.as_bytes(), 0, line.len())).collect();
    hashes.sort_unstable();
    let most = hashes.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap_or(0);
    if most < SAME_LINES_MIN { (most, 0.0) } else { (most, most as f64 / hashes.len() as f64) }
}

fn gram_share(words: &[u64]) -> f64 {
    if words.len() < GRAM_WORDS_MIN {
        return 0.0;
    }
    let mix = |gram: &[u64]| {
        gram.iter().fold(0_u64, |hash, word| (hash.rotate_left(21) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    };
    let all = words.len() + 1 - GRAM_WORDS;
    // A table with open addressing: sorting the phrases was most of the engine's time.
    let mut table = vec![0_u64; (2 * all).next_power_of_two()];
    let mut distinct = 0;
    for gram in words.windows(GRAM_WORDS).map(mix) {
        let gram = gram.max(1);
        let mut slot = (gram >> 20) as usize & (table.len() - 1);
        while table[slot] != 0 && table[slot] != gram {
            slot = (slot + 1) & (table.len() - 1);
        }
        distinct += usize::from(table[slot] == 0);
        table[slot] = gram;
    }
    1.0 - distinct as f64 / all as f64
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
pub struct RepetitionEngine {
    settings: Settings,
}

impl RepetitionEngine {
    /// The engine with these numbers.
    pub fn new(settings: Settings) -> RepetitionEngine {
        RepetitionEngine { settings }
    }
}

impl Engine for RepetitionEngine {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        of_response(view, |response| {
            let repetition = Repetition::of(response, view.response);
            // A list of forty zeros is data, as long as it is whole; what a text in JSON says is read as any text.
            let is_scalar = |item: &Value| item.is_number() || item.is_boolean() || item.is_null();
            let is_data =
                || matches!(serde_json::from_str(response), Ok(Value::Array(items)) if items.iter().all(is_scalar));
            let reason = repetition.reason().filter(|_| !is_data() && !is_asked_for(view.prompt_text));
            let absent = degraded(SIGNAL, self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
            let signal = match reason {
                Some(reason) => absent.fire(repetition.value(), reason),
                None => absent,
            };
            Assessment::new(if reason.is_some() { Status::Warn } else { Status::Ok }, repetition.value())
                .with("loops", Detail::Count(repetition.loops as u64))
                .with("same_lines", Detail::Count(repetition.same_lines as u64))
                .with("repeated_phrases", Detail::Number(repetition.gram_share))
                .signal(self.settings.effect.of(signal))
        })
    }
}

fn is_asked_for(prompt: &str) -> bool {
    REQUESTS.say_again.stand_in(prompt) || TIMES.is_match(prompt)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fires(text: &str) -> bool {
        Repetition::of(text, &Features::of(text)).reason().is_some()
    }

    #[test]
    fn loops_lines_and_phrases_are_found() {
        assert!(fires(&format!("Sure. {}", "I will do it now. ".repeat(10))));
        assert!(fires(&format!("Sure. {}I will do", "I will do it now. ".repeat(10))));
        assert!(fires(&"the ".repeat(40)));
        assert!(fires(&format!("好的。{}", "我不知道。".repeat(60))));
        let lines: String = (0..12).map(|n| format!("This line is always the same.\n{n}\n")).collect();
        assert!(fires(&lines));
        let phrases: String =
            (0..60).map(|n| format!("as we all know very well indeed, it is what it always was, {n}. ")).collect();
        assert!(fires(&phrases));
    }

    #[test]
    fn ordinary_texts_do_not_fire() {
        for text in [
            "",
            "no no no no no",
            "| a | b |\n|---|---|\n| --- | --- |\n----------------------------------------------------------------------------------",
            "Row, row, row your boat, gently down the stream. Merrily, merrily, merrily, merrily, life is but a dream.",
        ] {
            assert!(!fires(text), "{text}");
        }
        let list: String =
            (0..30).map(|n| format!("{n}. Take the item number {n} and put it on shelf {}.\n", n * 7)).collect();
        assert!(!fires(&list));
        let rule = format!("Title\n{}\n", "=".repeat(500));
        assert!(!fires(&rule));
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        for text in ["a".repeat(2_000_000), "a b ".repeat(500_000), "ab".repeat(999_999) + "c"] {
            let _ = Repetition::of(&text, &Features::of(&text)).value();
        }
    }

    proptest! {
        #[test]
        fn the_value_is_a_share(text in "[ab \n.]{0,400}") {
            prop_assert!((0.0..=1.0).contains(&Repetition::of(&text, &Features::of(&text)).value()));
        }

        #[test]
        fn a_search_that_stops_early_finds_what_a_whole_one_finds(
            start in "[ab]{0,60}", unit in "[a-c]{1,6}", times in 0_usize..12, end in "[ab]{0,60}",
        ) {
            let text = format!("{start}{}{end}", unit.repeat(times));
            let bytes = text.as_bytes();
            let (early, whole) = (bytes.len(), LOOPS_MIN * bytes.len());
            prop_assert_eq!(repetitions(bytes.iter(), early, 20), repetitions(bytes.iter(), whole, 20));
        }

        #[test]
        fn a_loop_is_counted(unit in "[a-z]{3,8} [a-z]{3,8}", times in 10_usize..30) {
            let text = format!("{unit} ").repeat(times);
            prop_assert!(loops(&text, &Features::of(&text)) >= times);
        }
    }
}
