//! Does an answer contradict what its own tools said?
//!
//! **Formula**: value = contradictions, at most 1; each is one of
//! - an *id* that no text of the record has, and that differs in one character from exactly one id in the results of tools;
//! - a *number* after the name of a field (`total baggages: 5`), when every result gives other numbers for that field and no
//!   text of the record has this one;
//! - a *success* that is claimed ("successfully") after all tools that were called since the user spoke have failed.
//!
//! **Range**: 0 (none) or 1.
//!
//! **Source**: ours; seed 004 for results of tools as what an answer must rest on.
//!
//! **Limits**: only what is certain without understanding: ids are six characters and more, of capitals and digits or with a
//! run of four digits, no years, and not the next one of a series. Names of fields have two words and more; lines that speak
//! of sums, differences or changes are left out. English only. [`ANSWER_BYTES_MAX`] of an answer, [`IDS_MAX`] ids of it and
//! [`FIELDS_MAX`] names of fields are looked at. What has more than [`SOURCE_BYTES_MAX`] of results, or [`TEXT_BYTES_MAX`] of
//! texts, is not looked at for ids and numbers: the rest might have them.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
    ops::Range,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    engines::{
        About, Assessment, Detail, Engine, Finding, Question, RatioSource, Severity, Signal, SignalAbout, Status, Tier,
        View,
    },
    record::{Kind, Message, Prompt, json::Json},
    text::{
        quantity::{
            number::{self, Literal},
            spelled,
        },
        sentence,
    },
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Finds answers that contradict what the tools in the conversation said.",
    formula: "1 for an id one character off, another number for a named field, or a success claimed after failures only",
    range: "0 (none) or 1",
    source: "llmverify; seed 004 for results as sources",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Fabricated,
        title: "The answer contradicts what a tool of the conversation has said.",
        owasp: "LLM09",
        help: "Compare the answer with the result of the tool beside it.",
    }],
};

/// The engine and its signal.
pub const SIGNAL: &str = "tool_contradiction";
/// Ours, modest until it is fitted.
pub const LIKELIHOOD_RATIO: f64 = 3.0;
/// Bytes of an answer that are looked at.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Bytes of the results of tools that are looked at.
pub const SOURCE_BYTES_MAX: usize = 1 << 20;
/// Bytes of all texts of a record that are looked at.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// Ids of an answer that are looked for.
pub const IDS_MAX: usize = 200;
/// Names of fields in results that are looked for.
pub const FIELDS_MAX: usize = 200;
/// Characters of the shortest id.
const ID_CHARS_MIN: usize = 6;
/// Words of a sentence in which a success is not claimed but denied, hoped for or asked about.
const UNCERTAIN: [&str; 22] = [
    "not", "no", "unable", "cannot", "couldn", "wasn", "isn", "hasn", "didn", "failed", "fail", "if", "once", "when",
    "after", "will", "would", "before", "until", "can", "could", "may",
];
/// Words of a line in which a number may well be computed.
const COMPUTED: [&str; 22] = [
    "sum",
    "average",
    "mean",
    "difference",
    "combined",
    "together",
    "increase",
    "increased",
    "decrease",
    "decreased",
    "new",
    "updated",
    "changed",
    "instead",
    "from",
    "after",
    "remaining",
    "left",
    "refund",
    "approximately",
    "about",
    "each",
];

/// Settings of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// P(fires | fabricated) / P(fires | not).
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { likelihood_ratio: LIKELIHOOD_RATIO }
    }
}

/// One contradiction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The rule.
    pub rule: &'static str,
    /// Where it stands in the answer.
    pub span: Range<usize>,
}

/// The rule of an id.
pub const ID_RULE: &str = "agent/misquoted_id";
/// The rule of a number.
pub const NUMBER_RULE: &str = "agent/misstated_number";
/// The rule of a success.
pub const SUCCESS_RULE: &str = "agent/claimed_success";

/// Ids of `answer` that none of `texts` has, and that are one character from exactly one id in `results`.
pub fn misquoted_ids(answer: &str, results: &[&str], texts: &[&str]) -> Vec<Contradiction> {
    let ids: Vec<(usize, &str)> = tokens(answer).filter(|(_, token)| is_id(token)).take(IDS_MAX).collect();
    if ids.is_empty() {
        return Vec::new();
    }
    let known: HashSet<String> = results
        .iter()
        .chain(texts)
        .flat_map(|text| tokens(text))
        .map(|(_, token)| token.to_ascii_lowercase())
        .collect();
    let mut said: Vec<&str> =
        results.iter().flat_map(|text| tokens(text)).map(|(_, token)| token).filter(|token| is_id(token)).collect();
    said.sort_unstable();
    said.dedup();
    let is_misquoted = |id: &&str| {
        let mut near = said.iter().filter(|other| is_one_off(id, other));
        let twin = near.next();
        !known.contains(&id.to_ascii_lowercase())
            && near.next().is_none()
            && twin.is_some_and(|twin| !is_next(id, twin))
    };
    let found = ids.into_iter().filter(|(_, id)| is_misquoted(id));
    found.map(|(at, id)| Contradiction { rule: ID_RULE, span: at..at + id.len() }).collect()
}

/// Runs of letters, digits, `_` and `-`, with where they begin.
fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    text.split(move |c| !is_part(c)).filter_map(move |part| {
        let token = part.trim_matches(['_', '-']);
        let at = token.as_ptr() as usize - text.as_ptr() as usize;
        (token.len() >= ID_CHARS_MIN).then_some((at, token))
    })
}

/// Whether a token looks like an id that somebody made: capitals and digits, or a name with a run of four digits.
fn is_id(token: &str) -> bool {
    let letters = token.bytes().filter(u8::is_ascii_alphabetic).count();
    let runs = || token.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
    let is_year = |run: &str| run.len() == 4 && (run.starts_with("19") || run.starts_with("20"));
    let longest = runs().map(str::len).max().unwrap_or(0);
    let is_code = !token.bytes().any(|byte| byte.is_ascii_lowercase()) && !token.contains('-');
    letters >= 2 && longest > 0 && (is_code || (longest >= 4 && token.contains('_'))) && !runs().all(is_year)
}

/// Whether two ids of one length differ in one character, which is a digit in both or a letter in both.
fn is_one_off(one: &str, other: &str) -> bool {
    let mut different = one.bytes().zip(other.bytes()).filter(|(a, b)| !a.eq_ignore_ascii_case(b));
    let is_alike = |(a, b): (u8, u8)| a.is_ascii_digit() == b.is_ascii_digit();
    one.len() == other.len() && different.next().is_some_and(is_alike) && different.next().is_none()
}

/// Whether an id is the next of a series after the other, or the one before it.
fn is_next(one: &str, other: &str) -> bool {
    let number = |id: &str| id.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|tail| tail.parse::<u64>().ok());
    number(one).zip(number(other)).is_some_and(|(one, other)| one.abs_diff(other) == 1)
}

/// Numbers of `answer` after the name of a field for which `fields` has other numbers only, and that no text has. The
/// numbers of a field ascend.
pub fn misstated_numbers(answer: &str, fields: &BTreeMap<String, Vec<f64>>, texts: &[&str]) -> Vec<Contradiction> {
    let mut found = Vec::new();
    let mut known: Option<HashSet<u64>> = None;
    for (start, line) in lines(answer) {
        let lower = line.to_ascii_lowercase();
        if !lower.bytes().any(|byte| byte.is_ascii_digit()) || words(&lower).any(|word| COMPUTED.contains(&word)) {
            continue;
        }
        for (name, values) in fields {
            let Some((span, literal)) = number_after(&lower, name) else { continue };
            let number = literal.value.to_double();
            if agrees(number, values, literal.half_place()) {
                continue;
            }
            let known = known.get_or_insert_with(|| texts.iter().flat_map(|text| numbers(text)).map(bits).collect());
            if !known.contains(&bits(number)) {
                found.push(Contradiction { rule: NUMBER_RULE, span: start + span.start..start + span.end });
            }
        }
    }
    found
}

/// The number that stands right after `name`, but for a colon, an equals sign, "is", marks of emphasis and a currency.
fn number_after(line: &str, name: &str) -> Option<(Range<usize>, Literal)> {
    let at = line.find(name)?;
    let is_word_before = line[..at].ends_with(|c: char| c.is_alphanumeric());
    let rest = &line[at + name.len()..];
    let gap = rest.trim_start_matches([' ', ':', '=', '*', '`', '"', '$', '\u{20ac}']);
    let gap = gap.strip_prefix("is ").or_else(|| gap.strip_prefix("are ")).unwrap_or(gap);
    let gap = gap.trim_start_matches([' ', '*', '`', '$', '\u{20ac}']);
    let begin = line.len() - gap.len();
    if !gap.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (literal, length) = number::read(gap);
    let is_whole = !gap[length..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | ':' | '%'));
    // "5 million" is not 5.
    let word = gap[length..].trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let is_said = !is_word_before && is_whole && spelled::scale(word).is_none();
    is_said.then_some((begin..begin + length, literal.ok()?))
}

/// Whether a number is a rounding of one of `values`, which ascend; it is written to twice `half_place`.
fn agrees(number: f64, values: &[f64], half_place: f64) -> bool {
    let most = half_place + 1e-9;
    let next = values.partition_point(|value| *value < number);
    let near = values[next.saturating_sub(1)..].iter().take(2);
    near.map(|value| (number - value).abs()).any(|distance| distance <= most)
}

/// The bits of a number, by which equal ones are found; both zeros have the same.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// The numbers of a text. Digits of which it is not clear what they say (1,2,3) are all that they may say.
fn numbers(text: &str) -> impl Iterator<Item = f64> {
    number::all(text).flat_map(|(span, literal)| {
        let parts = literal.is_err().then(|| text[span].split(|c: char| !c.is_ascii_digit()));
        let parts = parts.into_iter().flatten().filter_map(|part| part.parse().ok());
        let (one, other) = literal.ok().map(|literal| (literal.value, literal.with_points_as_thousands)).unzip();
        let whole = one.into_iter().chain(other.flatten()).map(|value| value.to_double());
        whole.chain(parts)
    })
}

/// The numeric fields of results: name in words, lower case, and value. Names of one word tell too little.
pub fn fields_of(results: &[&str]) -> BTreeMap<String, Vec<f64>> {
    let mut fields = BTreeMap::new();
    for result in results {
        if let Ok(value) = Json::parse(result.as_bytes()) {
            collect(&value, &mut fields);
        }
    }
    fields.values_mut().for_each(|values| values.sort_unstable_by(f64::total_cmp));
    fields
}

fn collect(value: &Json<'_>, fields: &mut BTreeMap<String, Vec<f64>>) {
    match value {
        Json::Object(entries) => {
            for (key, value) in entries {
                let name = in_words(key);
                let has_room = fields.len() < FIELDS_MAX || fields.contains_key(&name);
                if let Some(number) = value.as_f64().filter(|_| has_room && name.contains(' ')) {
                    fields.entry(name).or_default().push(number);
                }
                collect(value, fields);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| collect(item, fields)),
        _ => {}
    }
}

/// `total_baggages` and `totalBaggages` as `total baggages`.
fn in_words(key: &str) -> String {
    let mut words = String::with_capacity(key.len() + 4);
    let mut was_lower = false;
    for c in key.chars() {
        if matches!(c, '_' | '-' | ' ') || (c.is_uppercase() && was_lower) {
            words.push(' ');
        }
        if !matches!(c, '_' | '-' | ' ') {
            words.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.trim().to_owned()
}

/// Where `answer` claims a success.
pub fn claimed_success(answer: &str) -> Option<Contradiction> {
    const WORD: &str = "successfully";
    let bytes = answer.as_bytes();
    let places = memchr::memchr2_iter(b's', b'S', bytes).map(|at| at..at + WORD.len());
    let mut said =
        places.filter(|span| bytes.get(span.clone()).is_some_and(|word| word.eq_ignore_ascii_case(WORD.as_bytes())));
    let span = said.find(|span| {
        let sentence = &answer[sentence::around(answer, span.clone())];
        let lower = sentence.to_ascii_lowercase();
        !words(&lower).any(|word| UNCERTAIN.contains(&word)) && !sentence.ends_with('?')
    })?;
    Some(Contradiction { rule: SUCCESS_RULE, span })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    })
}

/// Whether a result says that the tool failed.
fn says_failure(message: &Message<'_>) -> bool {
    let text = message.text.trim_start();
    let is_error = |value: &Json<'_>| {
        value.get("error").is_some_and(|error| match error {
            Json::Null | Json::Bool(false) => false,
            Json::String(text) => !text.trim().is_empty(),
            Json::Array(items) => !items.is_empty(),
            Json::Object(members) => !members.is_empty(),
            _ => error.as_f64() != Some(0.0),
        })
    };
    message.is_error
        || ["Error:", "error:", "ERROR:", "Exception:"].iter().any(|word| text.starts_with(word))
        || (text.starts_with('{') && Json::parse(text.as_bytes()).is_ok_and(|value| is_error(&value)))
}

/// Does the answer contradict its tools?
pub struct ContradictionEngine {
    settings: Settings,
}

impl ContradictionEngine {
    /// The engine with its constants.
    pub fn new(settings: Settings) -> ContradictionEngine {
        ContradictionEngine { settings }
    }
}

impl Engine for ContradictionEngine {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        let record = view.record;
        let Prompt::Messages(messages) = &record.prompt else { return None };
        let is_result =
            |message: &&Message<'_>| message.call_id.is_some() || matches!(&*message.role, "tool" | "function");
        let answer = record.response.as_deref().filter(|_| record.kind == Kind::Llm)?;
        if !messages.iter().any(|message| is_result(&message)) {
            return None;
        }
        let answer = &answer[..answer.floor_char_boundary(ANSWER_BYTES_MAX)];
        let mut left = SOURCE_BYTES_MAX;
        // The last results first: they are what the answer is about.
        let results: Vec<&str> = messages
            .iter()
            .rev()
            .filter(is_result)
            .map_while(|message| {
                let fits = message.text.len() <= left;
                left = left.saturating_sub(message.text.len());
                fits.then_some(&*message.text)
            })
            .collect();
        let asked: Vec<Cow<'_, str>> = messages
            .iter()
            .flat_map(|message| &message.tool_calls)
            .chain(&record.tool_calls)
            .map(|call| Cow::Owned(call.args.to_compact_string()))
            .collect();
        let mut texts: Vec<&str> = messages.iter().map(|message| &*message.text).collect();
        texts.extend(record.system.as_deref());
        texts.extend(record.context.iter().map(|passage| &*passage.text));
        texts.extend(asked.iter().map(|args| &**args));
        let mut found = Vec::new();
        // What is left out might be the source.
        let is_readable = texts.iter().map(|text| text.len()).sum::<usize>() <= TEXT_BYTES_MAX;
        if left > 0 && is_readable {
            found.extend(misquoted_ids(answer, &results, &texts));
            found.extend(misstated_numbers(answer, &fields_of(&results), &texts));
        }
        let since_user = messages.iter().rev().take_while(|message| message.role != "user").filter(is_result);
        let mut failures = since_user.map(says_failure).peekable();
        if failures.peek().is_some() && failures.all(|failed| failed) {
            found.extend(claimed_success(answer));
        }
        let ratio = RatioSource::default_or_config(self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
        let mut signal = Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, ratio);
        let (status, value) = if found.is_empty() { (Status::Ok, 0.0) } else { (Status::Error, 1.0) };
        if !found.is_empty() {
            signal = signal.fire(1.0, "the answer contradicts what a tool said");
        }
        let mut said = Assessment::new(status, value)
            .with("results", Detail::Count(results.len() as u64))
            .with("contradictions", Detail::Count(found.len() as u64))
            .signal(signal);
        said.findings = found
            .into_iter()
            .map(|Contradiction { rule, span }| Finding::new(rule, Severity::Medium, "/response", span))
            .collect();
        Some(said)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_one_character_off_are_misquoted() {
        let check = |answer: &str, result: &str, texts: &[&str], expected: &[&str]| {
            let found = misquoted_ids(answer, &[result], texts);
            let found: Vec<&str> = found.into_iter().map(|one| &answer[one.span]).collect();
            assert_eq!(found, expected, "{answer}");
        };
        let result = r#"{"reservation": "JG7FMM", "flight": "HAT028", "card": "credit_card_2929732"}"#;
        check("Your reservation JG7FNM is confirmed.", result, &[], &["JG7FNM"]);
        check("Your reservation JG7FMM is confirmed.", result, &[], &[]);
        check("Your reservation jg7fmm is confirmed.", result, &[], &[]);
        check("I charged credit_card_2929752.", result, &[], &["credit_card_2929752"]);
        check("You asked for JG7FNM, which is not there.", result, &["where is JG7FNM?"], &[]);
        check("Flight HAT128 leaves at noon.", result, &[], &["HAT128"]);
        check("After HAT028 comes HAT029.", result, &[], &[]);
        check("Flight XYZ999 is another.", result, &[], &[]);
        check("HAT017 is near two.", r#"["HAT011", "HAT012"]"#, &[], &[]);
        check("In FY2023 it was less.", r#"["FY2024"]"#, &[], &[]);
    }

    #[test]
    fn numbers_of_named_fields_must_be_those_of_the_results() {
        let check = |answer: &str, result: &str, texts: &[&str], expected: &[&str]| {
            let found = misstated_numbers(answer, &fields_of(&[result]), texts);
            let found: Vec<&str> = found.into_iter().map(|one| &answer[one.span]).collect();
            assert_eq!(found, expected, "{answer}");
        };
        let result = r#"{"total_baggages": 3, "unitPrice": 12.345, "cabin": 7}"#;
        check("- **Total Baggages:** 5", result, &[result], &["5"]);
        check("- **Total Baggages:** 3", result, &[result], &[]);
        check("The unit price is $12.35.", result, &[result], &[]);
        check("The unit price is $13.35.", result, &[result], &["13.35"]);
        check("The unit price is 12.", result, &[result], &[]);
        check("Total baggages: 5", result, &[result, "I have 5 bags"], &[]);
        check("The new total baggages: 5", result, &[result], &[]);
        check("Cabin: 9", result, &[result], &[]);
        check("Total baggages: 2/3", result, &[result], &[]);
        check("Total baggages: 5 million", result, &[result], &[]);
        check("The unit price is 13,35 or so", result, &[result], &[]);
        check("The unit price is 1.013,35.", result, &[result], &["1.013,35"]);
        check("Total baggages: 5", result, &[result, "sizes 4,5,6"], &[]);
        check("Subtotal baggages: 5", result, &[result], &[]);
    }

    #[test]
    fn a_number_is_compared_with_its_neighbours() {
        for (number, half_place, expected) in [
            (5.0, 0.5, true),
            (5.4, 0.05, false),
            (-3.0, 0.5, true),
            (7.3, 0.05, true),
            (7.3, 0.005, false),
            (100.0, 0.5, false),
            (0.0, 0.5, false),
        ] {
            assert_eq!(agrees(number, &[-3.0, 5.0, 7.25, 9.0], half_place), expected, "{number}");
        }
        assert!(!agrees(1.0, &[], 0.5));
        assert_eq!(bits(-0.0), bits(0.0));
    }

    #[test]
    fn a_success_is_claimed_in_plain_words_only() {
        for (answer, expected) in [
            ("Your flight was successfully booked.", true),
            ("It could not be booked successfully.", false),
            ("Once it is successfully booked, you get a mail.", false),
            ("Was it booked successfully?", false),
            ("The booking failed.", false),
            ("It cost $4.50 and was successfully booked, not cancelled.", false),
            ("That was not possible. The refund of 3.5 kg was Successfully booked.", true),
        ] {
            assert_eq!(claimed_success(answer).is_some(), expected, "{answer}");
        }
    }

    proptest! {
        #[test]
        fn any_texts_give_spans_inside_of_the_answer(answer in r#"[A-Z0-9_a-z é:*.,\n-]{0,80}"#, result in r#"[A-Z0-9_a-z {}":,]{0,80}"#) {
            let fields = BTreeMap::from([("a b".to_owned(), vec![1.0])]);
            let found = misquoted_ids(&answer, &[&result], &[]).into_iter().chain(misstated_numbers(&answer, &fields, &[]));
            for one in found.chain(claimed_success(&answer)) {
                prop_assert!(answer.get(one.span).is_some());
            }
        }

        #[test]
        fn what_the_results_say_is_no_contradiction(text in r#"([A-Z]{2,4}[0-9]{3,6} ){1,6}"#) {
            prop_assert_eq!(misquoted_ids(&text, &[&text], &[]), vec![]);
        }
    }
}
