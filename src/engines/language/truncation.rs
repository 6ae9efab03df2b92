//! Does the answer break off?
//!
//! **Formula**: value = the strongest of
//! - 1 when the record's finish reason says that a limit of length was reached
//! - 0.9 when the text ends inside of a code fence, or inside of JSON that it answers with
//! - 0.8 when the text ends inside of a sentence: with a comma, a hyphen after a letter, or a word after which a sentence goes
//!   on ("the", "of", "and"); or with a mark by which logs cut texts
//! - 0.7 when the last line ends without a mark, in a sentence of at least [`UNFINISHED_WORDS_MIN`] words, after one with a mark
//! - 0.4 when a bracket or quotation mark of the last paragraph is never closed
//! - 0.3 when the last line of prose ends without a mark
//! - 0 else
//!
//! `truncation` fires from [`FIRES_FROM`] on.
//!
//! **Range**: 0 (complete) to 1 (cut off).
//!
//! **Source**: ours; the finish reasons are those of OpenAI, Anthropic, Google, Mistral and Cohere.
//!
//! **Limits**: the words are those of seven languages. Code, lists, headings, tables and answers below [`WORDS_MIN`] words end as they
//! like. Only the last [`TAIL_BYTES`] bytes are looked at.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{degraded, of_response};
use crate::{
    engines::runtime::structure,
    engines::{About, Assessment, Detail, Effect, Engine, Question, SignalAbout, Status, View},
    text::{
        JsonPart,
        lexicon::{OPEN_WORDS, function_word_share},
    },
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Answers that break off.",
    formula: "1 for a finish reason of length, 0.9 in code or JSON, 0.8 in mid-sentence, 0.7 unfinished, 0.4 unclosed, 0.3 unmarked, else 0",
    range: "0 (complete) to 1 (cut off)",
    source: "ours",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "The answer breaks off.",
        owasp: "",
        help: "Raise the token limit, or ask for shorter answers.",
    }],
};

/// The engine and its signal.
pub const SIGNAL: &str = "truncation";
/// A cut answer is a limit as often as a fault.
pub const LIKELIHOOD_RATIO: f64 = 2.0;
/// The value from which the signal fires.
pub const FIRES_FROM: f64 = 0.5;
/// Words of the shortest text whose end is looked at.
pub const WORDS_MIN: u64 = 8;
/// Words of a last sentence that must have a mark when the one before has one.
pub const UNFINISHED_WORDS_MIN: usize = 6;
/// Words of a line whose last sentence must have a mark.
pub const UNFINISHED_LINE_WORDS_MIN: usize = 15;
/// The share of a language's function words from which a line is in it.
const OWN_WORDS_MIN: f64 = 0.2;
/// Bytes at the end that are looked at.
pub const TAIL_BYTES: usize = 2_000;

/// Finish reasons that name a limit of length, in lower case.
const LENGTH_REASONS: [&str; 8] = [
    "length",
    "max_tokens",
    "max_output_tokens",
    "model_length",
    "max_length",
    "token_limit",
    "incomplete",
    "error_limit",
];

/// Marks by which logs cut a text.
const CUT_MARKS: [&str; 4] = ["[truncated]", "...[truncated", "<truncated>", "(truncated)"];

/// How a text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As a text does, or so that nothing can be said.
    Complete,
    /// Inside of a code fence.
    OpenFence,
    /// Inside of JSON.
    OpenJson,
    /// In prose without a mark, after sentences with one.
    Unfinished,
    /// In prose without a mark.
    Unmarked,
    /// In a bracket or quotation that was opened.
    Unclosed,
    /// Inside of a sentence or word.
    MidSentence,
    /// By a mark of a log.
    CutMark,
}

impl Ending {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Ending::Complete => "complete",
            Ending::OpenFence => "open_fence",
            Ending::OpenJson => "open_json",
            Ending::Unfinished => "unfinished",
            Ending::Unmarked => "unmarked",
            Ending::Unclosed => "unclosed",
            Ending::MidSentence => "mid_sentence",
            Ending::CutMark => "cut_mark",
        }
    }

    fn value(self) -> f64 {
        match self {
            Ending::Complete => 0.0,
            Ending::Unmarked => 0.3,
            Ending::Unclosed => 0.4,
            Ending::Unfinished => 0.7,
            Ending::MidSentence | Ending::CutMark => 0.8,
            Ending::OpenFence | Ending::OpenJson => 0.9,
        }
    }
}

/// Whether the finish reason names a limit of length.
pub fn is_length_reason(reason: &str) -> bool {
    LENGTH_REASONS.iter().any(|known| reason.eq_ignore_ascii_case(known))
}

/// How `text` of so many words ends, when it does not end in code.
pub fn ending(text: &str, words: u64) -> Ending {
    let text = text.trim_end();
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(TAIL_BYTES))..];
    if CUT_MARKS.iter().any(|mark| tail.len() >= mark.len() && ends_with_ascii(tail, mark)) {
        return Ending::CutMark;
    }
    // The mark or number of an item that was never written, where a list goes on.
    let (before, line) = tail.rsplit_once('\n').unwrap_or(("", tail));
    if words >= WORDS_MIN && is_open_item(before, line.trim()) {
        return Ending::MidSentence;
    }
    // Most texts end with a mark, and what else the line is need not be asked.
    let last = tail.chars().next_back().unwrap_or('.');
    if words < WORDS_MIN || !(last.is_alphanumeric() || matches!(last, ',' | '-')) {
        return Ending::Complete;
    }
    let line = &tail[memchr::memrchr(b'\n', tail.as_bytes()).map_or(0, |at| at + 1)..].trim();
    let last_word = line.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default().to_lowercase();
    // Items of lists and lines with code in them end like sentences, too, but seldom with a mark.
    let is_item = !is_prose(line);
    let plain = without_code_and_marker(line);
    if is_item && !is_prose(&plain) {
        return Ending::Complete;
    }
    // "Something to be proud of": where no sentence of the text has a mark, a preposition may be its end.
    let is_open = |words: &BTreeMap<String, HashSet<String>>| {
        words.iter().any(|(language, words)| {
            words.contains(&last_word)
                && function_word_share(&plain, language).is_some_and(|share| share >= OWN_WORDS_MIN)
        })
    };
    let before = &tail[..tail.len() - line.len()];
    let has_marks = || [before, line].iter().any(|part| ends_sentence(part));
    let is_open_word = is_open(&OPEN_WORDS.always) || (is_open(&OPEN_WORDS.after_a_mark) && has_marks());
    let is_hyphenated = last == '-' && line.chars().rev().nth(1).is_some_and(char::is_alphabetic);
    if last == ',' || is_hyphenated || (last.is_alphabetic() && is_open_word) {
        return Ending::MidSentence;
    }
    if is_item {
        return Ending::Complete;
    }
    if last.is_alphanumeric() {
        let paragraph = tail.rsplit("\n\n").next().unwrap_or(line);
        return match (has_unclosed(paragraph), is_unfinished(line)) {
            (_, true) => Ending::Unfinished,
            (true, false) => Ending::Unclosed,
            (false, false) => Ending::Unmarked,
        };
    }
    Ending::Complete
}

/// Whether a line is only the mark or number of an item, behind another item of its list or what announces the first.
fn is_open_item(before: &str, line: &str) -> bool {
    /// Bytes of an answer that announces a list; a shorter one may announce a number.
    const ANNOUNCED_BYTES_MIN: usize = 40;
    let item = |start: &str| {
        before.lines().any(|line| line.trim_start().starts_with(start) && line.trim().len() > start.len())
    };
    match line {
        "-" | "*" | "•" => item(&format!("{line} ")),
        "1." => before.len() > ANNOUNCED_BYTES_MIN && before.trim_end().ends_with(':'),
        _ => {
            let number = line.strip_suffix(['.', ')']).and_then(|number| number.parse::<u32>().ok());
            number.is_some_and(|number| {
                number > 1 && (item(&format!("{}.", number - 1)) || item(&format!("{})", number - 1)))
            })
        }
    }
}

/// A line without the mark or number of an item, and with a word for each piece of inline code.
fn without_code_and_marker(line: &str) -> String {
    let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || ".)-*+• ".contains(c));
    line.split('`').enumerate().map(|(index, part)| if index % 2 == 0 { part } else { "code" }).collect()
}

/// Whether a line has sentences with marks, and a last one of some length without.
fn is_unfinished(line: &str) -> bool {
    let ends: Vec<usize> = line
        .match_indices(['.', '!', '?'])
        .map(|(at, _)| at + 1)
        // An abbreviation or an initial ends no sentence.
        .filter(|end| {
            let (before, after) = line.split_at(*end);
            let word = before.trim_end_matches(['.', '!', '?']).rsplit(|c: char| !c.is_alphanumeric()).next();
            word.is_some_and(|word| word.chars().filter(|c| c.is_lowercase()).count() >= 3)
                && after.strip_prefix(' ').is_some_and(|after| after.starts_with(char::is_uppercase))
        })
        .collect();
    let Some(end) = ends.last() else { return false };
    let rest = &line[*end..];
    let words = |text: &str| text.split_whitespace().count();
    words(rest) >= UNFINISHED_WORDS_MIN && words(line) >= UNFINISHED_LINE_WORDS_MIN && !rest.contains(['#', '@', '/'])
}

/// Whether a sentence of `text` ends with a mark before the end of the text.
fn ends_sentence(text: &str) -> bool {
    text.as_bytes().windows(2).any(|pair| matches!(pair[0], b'.' | b'!' | b'?') && pair[1].is_ascii_whitespace())
}

fn ends_with_ascii(text: &str, end: &str) -> bool {
    text.as_bytes()[text.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
}

/// Whether a line is a sentence, and no item, heading, table row, link or code.
fn is_prose(line: &str) -> bool {
    const WORDS_OF_A_SENTENCE: usize = 6;
    let begins = line.chars().next().unwrap_or('#');
    let is_item = line.split_once(['.', ')']).is_some_and(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()));
    let is_marked = "#-*+|<>`{}[]/\u{2022}".contains(begins) || is_item;
    let is_code =
        line.contains(['{', '}', ';', '=', '|', '`', '\\', '_']) || line.contains("://") || line.contains("()");
    let is_signature = line.split_whitespace().count() < WORDS_OF_A_SENTENCE;
    !is_marked && !is_code && !is_signature && begins.is_alphabetic()
}

fn has_unclosed(paragraph: &str) -> bool {
    let count = |c: char| paragraph.matches(c).count();
    count('(') > count(')') || count('[') > count(']') || count('"') % 2 == 1 || count('\u{201c}') > count('\u{201d}')
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
pub struct Truncation {
    settings: Settings,
}

impl Truncation {
    /// The engine with these numbers.
    pub fn new(settings: Settings) -> Truncation {
        Truncation { settings }
    }
}

impl Engine for Truncation {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        of_response(view, |response| {
            let by_length = view.record.finish_reason.as_deref().is_some_and(is_length_reason);
            let is_open = |json: &JsonPart| json.is_cut && structure::is_promised(json, view.prompt);
            let ending = if view.response.lines.unclosed {
                Ending::OpenFence
            } else if view.response.json.as_ref().is_some_and(is_open) {
                Ending::OpenJson
            } else {
                ending(response, view.response.words)
            };
            let value = if by_length { 1.0 } else { ending.value() };
            let absent = degraded(SIGNAL, self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
            let signal = match ending {
                _ if by_length => absent.fire(1.0, "the answer reached a limit of length"),
                Ending::MidSentence => absent.fire(value, "the answer ends inside of a sentence"),
                Ending::Unfinished => absent.fire(value, "the last sentence of the answer has no end"),
                Ending::CutMark => absent.fire(value, "the answer was cut by its log"),
                Ending::OpenFence => absent.fire(value, "the answer ends inside of a code block"),
                Ending::OpenJson => absent.fire(value, "the answer ends inside of JSON"),
                _ => absent,
            };
            Assessment::new(if value < FIRES_FROM { Status::Ok } else { Status::Warn }, value)
                .with("reached_length_limit", Detail::Flag(by_length))
                .with("ending", Detail::Label(ending.as_str()))
                .signal(self.settings.effect.of(signal))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_told_apart() {
        for (text, expected) in [
            ("The capital of France is Paris, and it lies on the", Ending::MidSentence),
            ("The capital of France is Paris, which has many sights,", Ending::MidSentence),
            ("The capital of France is Paris, a most beau-", Ending::MidSentence),
            ("The capital of France is Paris (the largest city", Ending::Unclosed),
            ("The capital of France is Paris and the river is the Seine", Ending::Unmarked),
            ("The capital of France is Paris and the river is the Seine.", Ending::Complete),
            ("He asked: \"what is the capital of France in the year 1920?\"", Ending::Complete),
            ("Here is the whole list of what you need:\n- flour and\n- eggs and the", Ending::Complete),
            ("| a | b | c | d | e | f | g |\n| the | the |", Ending::Complete),
            ("Best regards and many thanks for your answer\n\nJohn Smith", Ending::Complete),
            ("one two three four five six seven eight ...[truncated]", Ending::CutMark),
            ("To cook rice you need water and a pot. The steps are:\n\n1.", Ending::MidSentence),
            ("To cook rice you need water and a pot:\n- water\n-", Ending::MidSentence),
            ("Take the bus to the old town today:\n1. Buy a ticket.\n2.", Ending::MidSentence),
            ("CREATE TABLE people of the town (\n  id int,\n  name text\n)", Ending::Complete),
            ("If you multiply all of them, the product is:\n\n42.", Ending::Complete),
            ("The year in which the war ended was, as we all know,\n1945.", Ending::Complete),
            ("the", Ending::Complete),
            ("", Ending::Complete),
        ] {
            assert_eq!(ending(text, text.split_whitespace().count() as u64), expected, "{text}");
        }
    }

    #[test]
    fn finish_reasons_of_length_are_known_in_any_case() {
        assert!(is_length_reason("length") && is_length_reason("MAX_TOKENS"));
        assert!(!is_length_reason("stop") && !is_length_reason("tool_calls") && !is_length_reason(""));
    }
}
