//! Does the answer contradict what is known?
//!
//! What is known are statements of files that the configuration names ([`load`]): subject, predicate, object. A sentence of
//! the answer that names a subject and, in one of its words, a predicate, and that states an object of the same kind, is a
//! claim about the statement. Kinds are numbers (with the same unit), dates, and names.
//!
//! **Formula**: value = claims in conflict with what is known, or superseded / claims that could be checked.
//!
//! **Range**: 0 (all as known) to 1 (nothing is). Without files, or without such a claim, the engine is not assessed.
//!
//! **Source**: seed 003, verifier 05 (Knowledge Graph): fabricated and superseded statements, wrong relations.
//!
//! **Limits**: matching is careful rather than complete. Questions, denials, suppositions and what is quoted in the prompt
//! are no claims, and what is said of the past is checked for dates only. A name contradicts another only when it is the
//! object of the same predicate elsewhere in the files, or follows directly on "is" and ends the clause. A name of the
//! subject that stands before another noun is part of that one's name. A sentence with two numbers of the same unit is
//! ambiguous and not assessed; an amount per month says nothing of one per year, nor does a difference ("$20 less").
//! [`LOOKUPS_MAX`] lookups and [`QUOTE_BYTES_MAX`] bytes of prompt searched for one record; names of up to [`NAME_WORDS_MAX`] words.

pub mod load;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
    sync::{Arc, LazyLock},
};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    date,
    sentence::{self, Stance},
};
use crate::{
    engines::{
        About, Assessment, Detail, Engine, Finding, Question, RatioSource, Severity, Signal, SignalAbout, Status, Tier,
        View,
    },
    record::Kind,
    text::{
        code,
        excerpt::unredacted,
        quantity::{
            self,
            number::{self, Literal},
            spelled,
        },
    },
};
use load::Statement;

/// What is known of the engine.
pub const ABOUT: About = About {
    name: NAME,
    summary: "Statements that contradict the knowledge files, or that these say are superseded.",
    formula: "claims in conflict or superseded / claims that could be checked",
    range: "0 (all as known) to 1 (nothing is)",
    source: "seed 003, verifier 05",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Fabricated,
        title: "The answer contradicts the knowledge files, or repeats what they say is superseded.",
        owasp: "LLM09",
        help: "Compare with the statement named in the evidence; which of the two is current?",
    }],
};

/// The engine.
pub const NAME: &str = "knowledge";
/// The signal.
pub const SIGNAL: &str = "knowledge_conflict";
/// Ours: alone it flags, with anything else it blocks. The files are the user's own, but the matching is not certain.
pub const LIKELIHOOD_RATIO: f64 = 5.0;
/// The ratio with which claims that agree speak against fabrication.
const ABSENT_RATIO: f64 = 2.0;
/// How often a predicate is looked for in a sentence, for one record.
pub const LOOKUPS_MAX: usize = 20_000;
/// Bytes of prompt in which quoted sentences are looked for, for one record, counted anew for each sentence.
pub const QUOTE_BYTES_MAX: usize = 64 << 20;
/// Words of a name that is recognised as the object of another statement.
pub const NAME_WORDS_MAX: usize = 8;
/// Findings of one record.
const FINDINGS_MAX: usize = 50;
/// Characters of a known value in a detail.
const VALUE_CHARS_MAX: usize = 80;
/// Names up to this length are looked for in their own case only: US, WHO.
const SHORT_NAME_BYTES: usize = 3;

/// Which files hold what is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Files {
    /// Files with statements: .jsonl, .csv, .nt or .ttl; relative to the configuration file.
    pub files: Vec<String>,
}

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

/// What is known.
#[derive(Debug, Default)]
pub struct Base {
    names: Option<AhoCorasick>,
    /// The subject of each pattern of `names`, and whether its case counts.
    patterns: Vec<(usize, Option<String>)>,
    subjects: Vec<Subject>,
    /// The words for each predicate.
    predicates: Vec<Vec<String>>,
    /// Every name that is the object of a predicate, as [`name_key`] has it.
    objects: HashMap<usize, HashSet<String>>,
}

#[derive(Debug, Default)]
struct Subject {
    facts: BTreeMap<usize, Vec<Fact>>,
}

#[derive(Debug)]
struct Fact {
    object: Object,
    shown: String,
    valid_from: Option<i64>,
    valid_to: Option<i64>,
    replaced_by: Option<String>,
}

/// An object, by its kind.
#[derive(Clone, Debug, PartialEq)]
enum Object {
    Number(f64, Unit),
    Days(i64, i64),
    Names(Vec<String>),
}

impl Base {
    /// What the statements say together.
    ///
    /// # Errors
    /// When there are too many names for one search.
    pub fn new(statements: Vec<Statement>) -> Result<Base, String> {
        let mut base = Base::default();
        let (mut subjects, mut predicates) = (HashMap::new(), HashMap::new());
        let mut names: Vec<(String, usize)> = Vec::new();
        for statement in statements {
            let subject = if statement.subject.is_empty() {
                None
            } else {
                let index = *subjects.entry(statement.subject.to_lowercase()).or_insert_with(|| {
                    names.push((statement.subject.clone(), base.subjects.len()));
                    base.subjects.push(Subject::default());
                    base.subjects.len() - 1
                });
                names.extend(statement.aliases.iter().map(|alias| (alias.trim().to_owned(), index)));
                Some(index)
            };
            if statement.predicate.is_empty() {
                continue;
            }
            let predicate = *predicates.entry(statement.predicate.to_lowercase()).or_insert_with(|| {
                base.predicates.push(vec![words_for(&statement.predicate)]);
                base.predicates.len() - 1
            });
            for alias in &statement.predicate_aliases {
                if !base.predicates[predicate].contains(alias) && !alias.trim().is_empty() {
                    base.predicates[predicate].push(alias.trim().to_owned());
                }
            }
            if let Some(subject) = subject.filter(|_| !statement.object.is_empty()) {
                base.add_fact(subject, predicate, &statement);
            }
        }
        names.retain(|(name, _)| !name.is_empty());
        names.sort();
        names.dedup();
        if !names.is_empty() {
            let mut builder = AhoCorasick::builder();
            builder.ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest);
            let built = builder.build(names.iter().map(|(name, _)| name));
            base.names = Some(built.map_err(|error| format!("the names cannot be searched: {error}"))?);
        }
        let own_case = |name: String| (name.len() <= SHORT_NAME_BYTES).then_some(name);
        base.patterns = names.into_iter().map(|(name, subject)| (subject, own_case(name))).collect();
        Ok(base)
    }

    fn add_fact(&mut self, subject: usize, predicate: usize, statement: &Statement) {
        let object = Object::read(&statement.object, &statement.object_aliases);
        if let Object::Names(names) = &object {
            self.objects.entry(predicate).or_default().extend(names.iter().map(|name| name_key(name)));
        }
        self.subjects[subject].facts.entry(predicate).or_default().push(Fact {
            object,
            shown: cut(&statement.object),
            valid_from: statement.valid_from,
            valid_to: statement.valid_to,
            replaced_by: statement.replaced_by.clone(),
        });
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.names.is_none()
    }
}

/// `capitalOf`, `capital_of` → `capital of`.
fn words_for(predicate: &str) -> String {
    let words = load::split_words(predicate);
    let bare = ["has ", "is ", "was "].iter().find_map(|verb| words.strip_prefix(verb)).unwrap_or(&words);
    bare.to_owned()
}

/// A value of the user's own files, cut; it stands in no log, and is not redacted like one.
fn cut(text: &str) -> String {
    let cut: String = text.chars().take(VALUE_CHARS_MAX).collect();
    unredacted(&cut, 0..cut.len())
}

/// A name by which it is looked up: without signs around it, in lower case.
fn name_key(name: &str) -> String {
    name.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase()
}

impl Object {
    fn read(text: &str, aliases: &[String]) -> Object {
        if let Some((number, unit)) = only_number(text) {
            // A bare year is a date when it stands for one; as a number it is equal to itself all the same.
            return Object::Number(number, unit);
        }
        if let Some((from, to)) = date::parse(text) {
            return Object::Days(from, to);
        }
        Object::Names(std::iter::once(text).chain(aliases.iter().map(String::as_str)).map(str::to_owned).collect())
    }
}

/// A number in a text, with the word behind it.
struct Number {
    value: f64,
    /// Half a unit of the last digit that is written.
    half_unit: f64,
    unit: Unit,
    span: Range<usize>,
    /// Where number and unit end.
    end: usize,
    /// Whether it says how much more or less.
    is_difference: bool,
}

/// What a number counts, and per what.
#[derive(Clone, Debug, Default, PartialEq)]
struct Unit {
    name: String,
    per: String,
}

/// Words behind a number that make it a difference.
const DIFFERENCES: [&str; 14] = [
    "less", "more", "fewer", "cheaper", "dearer", "higher", "lower", "taller", "shorter", "longer", "larger",
    "smaller", "off", "extra",
];
/// Words that say per what, and what it is.
const RATES: [(&str, &str); 9] = [
    ("hourly", "hour"),
    ("daily", "day"),
    ("nightly", "night"),
    ("weekly", "week"),
    ("monthly", "month"),
    ("quarterly", "quarter"),
    ("yearly", "year"),
    ("annually", "year"),
    ("annum", "year"),
];
/// What an amount may be counted by after "a" or "each".
const PERIODS: [&str; 12] =
    ["second", "minute", "hour", "day", "night", "week", "month", "quarter", "year", "person", "user", "seat"];

/// Per what the amount before `rest` is, and how many bytes say so.
fn rate(rest: &str) -> Option<(String, usize)> {
    let (word, end) = word_at(rest, 0)?;
    let known = |word: &str| RATES.iter().find(|(rate, _)| *rate == word).map(|(_, per)| (*per).to_owned());
    if let Some(per) = known(&word) {
        return Some((per, end));
    }
    let is_slash = rest.starts_with('/');
    let (word, end) = match word.as_str() {
        _ if is_slash => (word, end),
        "per" => word_at(rest, end)?,
        "a" | "an" | "each" | "every" => word_at(rest, end).filter(|(word, _)| PERIODS.contains(&word.as_str()))?,
        _ => return None,
    };
    Some((known(&word).unwrap_or(word), end))
}

/// The first word of `text` from `from` on, in lower case, and its end; nothing but spaces and slashes stands before it.
fn word_at(text: &str, from: usize) -> Option<(String, usize)> {
    let rest = text.get(from..)?;
    let start = from + (rest.len() - rest.trim_start_matches([' ', '/']).len());
    let word: &str = &text[start..];
    let word = &word[..word.find(|c: char| !c.is_alphabetic()).unwrap_or(word.len())];
    (!word.is_empty()).then(|| (word.to_ascii_lowercase(), start + word.len()))
}

/// The numbers of a text with what they count: any word behind a number is its unit, and its last digit is its error.
fn numbers(text: &str) -> Vec<Number> {
    number::all(text).filter_map(|(digits, literal)| number_of(text, digits, &literal.ok()?)).collect()
}

fn number_of(text: &str, digits: Range<usize>, literal: &Literal) -> Option<Number> {
    let front = &text[..digits.start];
    let currency = front.chars().next_back().and_then(currency);
    let start = digits.start - currency.map_or(0, |(length, _)| length);
    let front = &text[..start];
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '/');
    if front.ends_with(is_part) {
        return None;
    }
    // Neither a range nor a dash.
    let is_minus = |sign: char| {
        front.strip_suffix(sign).is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == sign))
    };
    let is_negative = is_minus('-') || is_minus('\u{2212}');
    let rest = |from: usize| text.get(from..).unwrap_or_default();
    let (scale, end_of_number) = scale(rest(digits.end), currency.is_some())
        .map_or((1.0, digits.end), |(power, length)| (10_f64.powi(power as i32), digits.end + length));
    let word = unit_at(rest(end_of_number)).filter(|word| {
        rate(rest(end_of_number)).is_none() && !DIFFERENCES.contains(&word.trim_start().to_ascii_lowercase().as_str())
    });
    let mut end = end_of_number + word.map_or(0, str::len);
    let (name, slash) =
        word.map_or(("", ""), |word| word.trim_start().split_once('/').unwrap_or((word.trim_start(), "")));
    let mut unit = Unit { name: unit_name(name), per: slash.to_ascii_lowercase() };
    if let Some((_, sign)) = currency {
        // What follows is what is paid for, and not what the number counts.
        (unit.name, unit.per, end) = (sign.to_owned(), String::new(), end_of_number);
    }
    if let Some((per, length)) = rate(rest(end)).filter(|_| unit.per.is_empty()) {
        (unit.per, end) = (per, end + length);
    }
    let next = word_at(rest(end), 0).map(|(word, _)| word).unwrap_or_default();
    let is_change = front.trim_end().to_ascii_lowercase().ends_with(" by");
    let value = literal.value.to_double() * scale;
    Some(Number {
        value: if is_negative { -value } else { value },
        half_unit: literal.half_place() * scale,
        unit,
        span: start..end_of_number,
        end,
        is_difference: is_change || DIFFERENCES.contains(&next.as_str()),
    })
}

/// The bytes of a sign of money, and its unit.
fn currency(sign: char) -> Option<(usize, &'static str)> {
    let unit = quantity::unit::Unit::of(sign.encode_utf8(&mut [0; 4]))
        .filter(|unit| !sign.is_alphanumeric() && unit.is_money());
    unit.map(|unit| (sign.len_utf8(), unit.name()))
}

/// The power of ten that `rest` begins with, and its bytes: " million", or "M" right behind money.
fn scale(rest: &str, is_money: bool) -> Option<(u32, usize)> {
    let word = rest.strip_prefix(' ').unwrap_or(rest);
    let length = word.bytes().take_while(u8::is_ascii_alphabetic).count();
    let power = spelled::scale(&word[..length])
        .or_else(|| spelled::money_scale(&word[..length]).filter(|_| is_money && word.len() == rest.len()))?;
    Some((power, rest.len() - word.len() + length))
}

/// The word or the percent sign that `rest` begins with, behind at most one space; "km/h" is one.
fn unit_at(rest: &str) -> Option<&str> {
    let word = rest.strip_prefix(' ').unwrap_or(rest);
    let letters = |text: &str| text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let first = letters(word);
    let length = match word.as_bytes().get(first) {
        Some(b'%') if first == 0 => 1,
        _ if first == 0 => return None,
        Some(b'/') => {
            first + Some(letters(&word[first + 1..])).filter(|second| *second > 0).map_or(0, |second| 1 + second)
        }
        _ => first,
    };
    Some(&rest[..rest.len() - word.len() + length])
}

/// Units by one name, in the singular.
fn unit_name(unit: &str) -> String {
    if let Some(known) = quantity::unit::Unit::of(unit) {
        return known.name().to_owned();
    }
    let lower = unit.to_ascii_lowercase();
    match lower.as_str() {
        "percent" => "%".to_owned(),
        _ => lower.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(&lower).to_owned(),
    }
}

/// A text that is a number with at most a unit, and per what it is.
fn only_number(text: &str) -> Option<(f64, Unit)> {
    let text = text.trim();
    let mut all = numbers(text);
    let only = all.pop().filter(|_| all.is_empty())?;
    let is_sign = |c: char| matches!(c, '-' | '+' | '\u{2212}');
    let is_alone = text[..only.span.start].trim_start_matches(is_sign).is_empty();
    (is_alone && text[only.end..].trim().is_empty()).then_some((only.value, only.unit))
}

/// What a sentence says of an object.
#[derive(Debug, PartialEq)]
enum Said {
    /// The object.
    Same,
    /// Another one, here.
    Other(Range<usize>),
    /// Nothing, or nothing certain.
    Nothing,
}

/// Looks for the object in `sentence`; `taken` are the places of subject and predicate.
fn said(sentence: &str, taken: &[Range<usize>], object: &Object, rivals: Option<&HashSet<String>>) -> Said {
    let is_free = |span: &Range<usize>| taken.iter().all(|taken| span.end <= taken.start || taken.end <= span.start);
    match object {
        Object::Number(known, unit) => {
            let agrees = |number: &Number| {
                (number.value - known).abs() <= number.half_unit * (1.0 + 1e-9)
                    && !(number.value == 0.0 && *known != 0.0)
            };
            let is_year = (1000.0..3000.0).contains(known) && known.fract() == 0.0 && *unit == Unit::default();
            let dates: Vec<Range<usize>> = date::mentions(sentence).into_iter().map(|date| date.span).collect();
            let is_date = |number: &Number| {
                dates.iter().any(|date| date.start <= number.span.start && number.span.end <= date.end)
            };
            let mut others = numbers(sentence);
            others.retain(|number| {
                is_free(&number.span)
                    && !number.is_difference
                    && (unit.name.is_empty() || number.unit.name == unit.name)
                    && (is_year || !is_date(number))
            });
            let may_be_same =
                |number: &&Number| number.unit.per == unit.per || number.unit.per.is_empty() || unit.per.is_empty();
            if others.iter().filter(may_be_same).any(agrees) {
                return Said::Same;
            }
            // An amount per month and one per year, or one that does not say per what, may be the same.
            others.retain(|number| number.unit.per == unit.per);
            match others.as_slice() {
                // A bare number may count anything, unless it follows on the predicate.
                [only] if !unit.name.is_empty() || is_direct(sentence, taken, only.span.start) => {
                    Said::Other(only.span.clone())
                }
                _ => Said::Nothing,
            }
        }
        Object::Days(from, to) => {
            let mentions = date::mentions(sentence);
            let overlaps =
                |mention: &date::Mention| mention.days.is_some_and(|(first, after)| first < *to && *from < after);
            if mentions.iter().any(overlaps) {
                return Said::Same;
            }
            match mentions.as_slice() {
                [only] => Said::Other(only.span.clone()),
                _ => Said::Nothing,
            }
        }
        Object::Names(names) => {
            if names.iter().any(|name| sentence::find_phrase(sentence, name).is_some()) {
                return Said::Same;
            }
            let known: Option<Range<usize>> =
                after_is(sentence, taken).filter(|span| !shares_a_word(&sentence[span.clone()], names));
            match rivals
                .and_then(|rivals| rival(sentence, rivals, is_free))
                .filter(|span| !shares_a_word(&sentence[span.clone()], names))
                .or(known)
            {
                Some(span) => Said::Other(span),
                None => Said::Nothing,
            }
        }
    }
}

/// The first place in `sentence` that is free and one of `rivals`, and there the longest.
fn rival(sentence: &str, rivals: &HashSet<String>, is_free: impl Fn(&Range<usize>) -> bool) -> Option<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for (at, c) in sentence.char_indices().filter(|(_, c)| c.is_alphanumeric()) {
        match words.last_mut() {
            Some(last) if last.end == at => last.end = at + c.len_utf8(),
            _ => words.push(at..at + c.len_utf8()),
        }
    }
    let lower = sentence.to_ascii_lowercase();
    words.iter().enumerate().find_map(|(index, first)| {
        let ends = words[index..].iter().take(NAME_WORDS_MAX).rev().map(|last| first.start..last.end);
        ends.filter(&is_free).find(|span| rivals.contains(&lower[span.clone()]))
    })
}

/// Words that may stand between a predicate and its number.
const LINKS: [&str; 22] = [
    "of",
    "is",
    "are",
    "was",
    "has",
    "had",
    "a",
    "an",
    "the",
    "at",
    "about",
    "around",
    "approximately",
    "roughly",
    "nearly",
    "over",
    "to",
    "equals",
    "s",
    "in",
    "for",
    "exactly",
];

/// Whether nothing but [`LINKS`] and the subject stands between the predicate (the second of `taken`) and `at`.
fn is_direct(sentence: &str, taken: &[Range<usize>], at: usize) -> bool {
    let [subject, predicate] = taken else { return false };
    let words = |range: Range<usize>| {
        let words = sentence.get(range).unwrap_or_default().split(|c: char| !c.is_alphanumeric());
        words.filter(|word| !word.is_empty()).all(|word| LINKS.contains(&word.to_ascii_lowercase().as_str()))
    };
    if at < predicate.end {
        return false;
    }
    if subject.start >= predicate.end && subject.end <= at {
        return words(predicate.end..subject.start) && words(subject.end..at);
    }
    words(predicate.end..at)
}

fn shares_a_word(stated: &str, names: &[String]) -> bool {
    let is_word = |word: &&str| word.len() >= SHORT_NAME_BYTES;
    let words = |text: &str| -> HashSet<String> {
        text.split(|c: char| !c.is_alphanumeric()).filter(is_word).map(str::to_lowercase).collect()
    };
    let stated = words(stated);
    names.iter().any(|name| words(name).iter().any(|word| stated.contains(word)))
}

static AFTER_IS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // Initials have full stops.
    let word = r"(?:(?:\p{Lu}\.)+|\p{Lu}[\w'’-]*)";
    Regex::new(&format!(r"^\s*(?:is|are|=|:)\s+(?:the |an? )?({word}(?:\s+(?:of |de |van |von )?{word})*)")).ok()
});

/// Words that may follow on the name of what something is; on any other, the name is part of a longer description.
const AFTER_NAME: [&str; 12] =
    ["and", "which", "who", "with", "in", "since", "now", "today", "as", "according", "located", "by"];

/// The name that follows on subject and predicate, and ends the clause: "the capital of Australia is Sydney".
fn after_is(sentence: &str, taken: &[Range<usize>]) -> Option<Range<usize>> {
    let end = taken.iter().map(|span| span.end).max()?;
    let name = AFTER_IS.as_ref()?.captures(&sentence[end..])?.get(1)?;
    let has_word = name.as_str().split(|c: char| !c.is_alphanumeric()).any(|word| word.chars().count() > 1);
    let is_possessive = name.as_str().ends_with("'s") || name.as_str().ends_with("’s");
    let rest = &sentence[end + name.end()..];
    let ends_clause = match word_at(rest, 0) {
        Some((word, _)) => AFTER_NAME.contains(&word.as_str()),
        None => true,
    };
    (has_word && !is_possessive && ends_clause).then(|| end + name.start()..end + name.end())
}

/// Words that may follow on a subject of which something is said.
const AFTER_SUBJECT: [&str; 33] = [
    "s", "is", "are", "was", "were", "has", "have", "had", "be", "been", "of", "in", "at", "on", "to", "for", "from",
    "by", "and", "or", "with", "which", "that", "who", "the", "a", "an", "its", "now", "itself", "will", "can",
    "about",
];

/// Whether the subject at `own` is what is spoken of. "Mount Everest base camp" is another thing than Mount Everest: a
/// noun or a name follows, where a verb ends in s or ed.
fn is_head(sentence: &str, own: &Range<usize>, predicate: &Range<usize>) -> bool {
    let rest = sentence.get(own.end..).unwrap_or_default();
    let Some((word, end)) = word_at(rest, 0).filter(|_| rest.starts_with(' ')) else { return true };
    if own.end + end - word.len() == predicate.start || AFTER_SUBJECT.contains(&word.as_str()) {
        return true;
    }
    let is_name = rest.trim_start().starts_with(char::is_uppercase);
    !is_name && (word.ends_with('s') || word.ends_with("ed") || word.ends_with("ly"))
}

/// A claim that what is known does not bear out.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// `knowledge/conflict` or `knowledge/superseded`.
    pub rule: &'static str,
    /// What is stated.
    pub span: Range<usize>,
    /// What is known.
    pub detail: String,
}

/// What was found in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Claims that agree.
    pub agreed: u64,
    /// Claims that do not.
    pub conflicts: Vec<Conflict>,
    /// Whether [`LOOKUPS_MAX`] was reached.
    pub is_cut: bool,
}

/// Checks `text`, written on `today` (days since 1970). What stands in `prompt` too, word for word, is quoted.
pub fn examine<'t>(text: &'t str, prompt: &'t str, today: Option<i64>, base: &Base) -> Report {
    let mut report = Report::default();
    let Some(names) = &base.names else { return report };
    let (mut code, mut lookups, mut done) = (None, 0, HashSet::new());
    let mut quotes = Quotes { prompt, left: QUOTE_BYTES_MAX, known: HashMap::new(), is_cut: false };
    for found in names.find_iter(text) {
        let (subject, own_case) = &base.patterns[found.pattern().as_usize()];
        let place = found.range();
        let is_own = own_case.as_ref().is_none_or(|name| text[place.clone()] == **name);
        if !is_own || !sentence::is_whole_word(text, &place) {
            continue;
        }
        if code::is_within(code.get_or_insert_with(|| code::code_ranges(text)), place.start) {
            continue;
        }
        let sentence = sentence::around(text, place.clone());
        for (predicate, facts) in &base.subjects[*subject].facts {
            lookups += base.predicates[*predicate].len();
            if lookups > LOOKUPS_MAX {
                report.is_cut = true;
                return report;
            }
            let words = &text[sentence.clone()];
            let own = place.start - sentence.start..place.end - sentence.start;
            let found = base.predicates[*predicate].iter().filter_map(|form| sentence::find_phrase(words, form));
            let Some(named) = found.into_iter().find(|span| span.end <= own.start || own.end <= span.start) else {
                continue;
            };
            if !done.insert((sentence.start, *subject, *predicate)) {
                continue;
            }
            if !is_head(words, &own, &named) || !Stance::of(words).is_statement() || quotes.hold(words) {
                report.is_cut |= quotes.is_cut;
                continue;
            }
            report.is_cut |= quotes.is_cut;
            let claim = Claim { words, taken: [own, named], rivals: base.objects.get(predicate), today };
            if let Some(mut conflict) = claim.judge(facts, &mut report.agreed) {
                conflict.span = sentence.start + conflict.span.start..sentence.start + conflict.span.end;
                report.conflicts.push(conflict);
            }
            if report.conflicts.len() == FINDINGS_MAX {
                report.is_cut = true;
                return report;
            }
        }
    }
    report
}

/// What the prompt says word for word.
struct Quotes<'t> {
    prompt: &'t str,
    /// Bytes that may still be searched.
    left: usize,
    known: HashMap<&'t str, bool>,
    /// Whether there was a sentence for which nothing was left.
    is_cut: bool,
}

impl<'t> Quotes<'t> {
    fn hold(&mut self, words: &'t str) -> bool {
        if let Some(known) = self.known.get(words) {
            return *known;
        }
        if self.prompt.len() > self.left {
            self.is_cut = true;
            return false;
        }
        self.left -= self.prompt.len();
        let is_quoted = memchr::memmem::find(self.prompt.as_bytes(), words.as_bytes()).is_some();
        self.known.insert(words, is_quoted);
        is_quoted
    }
}

/// A sentence about a subject and a predicate.
struct Claim<'t> {
    words: &'t str,
    taken: [Range<usize>; 2],
    rivals: Option<&'t HashSet<String>>,
    today: Option<i64>,
}

impl Claim<'_> {
    fn judge(&self, facts: &[Fact], agreed: &mut u64) -> Option<Conflict> {
        let has_ended = |fact: &Fact| match (fact.valid_to, self.today) {
            (Some(to), Some(today)) => to <= today,
            (Some(_), None) => false,
            (None, _) => fact.replaced_by.is_some(),
        };
        let has_begun = |fact: &Fact| fact.valid_from.zip(self.today).is_none_or(|(from, today)| from <= today);
        let (ended, current): (Vec<&Fact>, Vec<&Fact>) =
            facts.iter().filter(|fact| has_begun(fact)).partition(|fact| has_ended(fact));
        let said: Vec<Said> =
            current.iter().map(|fact| said(self.words, &self.taken, &fact.object, self.rivals)).collect();
        if said.contains(&Said::Same) {
            *agreed += 1;
            return None;
        }
        let is_past = Stance::of(self.words).is_past;
        let is_dated = || {
            date::mentions(self.words)
                .iter()
                .any(|mention| !self.taken.iter().any(|taken| taken.contains(&mention.span.start)))
        };
        for fact in ended {
            if is_past || said_of(self, fact) != Said::Same {
                continue;
            }
            if !matches!(fact.object, Object::Days(..)) && is_dated() {
                return None;
            }
            let span = stated(self.words, &self.taken, &fact.object)?;
            let now = fact.replaced_by.as_deref().map(cut).or_else(|| current.first().map(|fact| fact.shown.clone()));
            let until = fact.valid_to.map(|to| format!(" since {}", date::shown(to))).unwrap_or_default();
            let now = now.map(|now| format!("; it is {now}")).unwrap_or_default();
            let detail = format!("no longer holds{until}{now}");
            return Some(Conflict { rule: "knowledge/superseded", span, detail });
        }
        let is_date = current.iter().all(|fact| matches!(fact.object, Object::Days(..)));
        if (is_past && !is_date) || current.is_empty() {
            return None;
        }
        let spans: Option<Vec<Range<usize>>> =
            said.into_iter().map(|said| if let Said::Other(span) = said { Some(span) } else { None }).collect();
        let span = spans?.into_iter().next()?;
        let known: Vec<&str> = current.iter().take(3).map(|fact| fact.shown.as_str()).collect();
        let detail = format!("known is {}", known.join(", "));
        Some(Conflict { rule: "knowledge/conflict", span, detail })
    }
}

fn said_of(claim: &Claim<'_>, fact: &Fact) -> Said {
    said(claim.words, &claim.taken, &fact.object, claim.rivals)
}

/// Where an object that is stated stands.
fn stated(words: &str, taken: &[Range<usize>], object: &Object) -> Option<Range<usize>> {
    let is_free = |span: &Range<usize>| taken.iter().all(|taken| span.end <= taken.start || taken.end <= span.start);
    match object {
        Object::Number(known, unit) => numbers(words)
            .into_iter()
            .filter(|number| is_free(&number.span) && (unit.name.is_empty() || number.unit.name == unit.name))
            .find(|number| (number.value - known).abs() <= number.half_unit)
            .map(|number| number.span),
        Object::Days(..) => date::mentions(words).into_iter().next().map(|mention| mention.span),
        Object::Names(names) => names.iter().find_map(|name| sentence::find_phrase(words, name)),
    }
}

/// The engine.
pub struct Knowledge {
    settings: Settings,
    base: Arc<Base>,
}

impl Knowledge {
    /// The engine with these settings, and what is known.
    pub fn new(settings: Settings, base: Arc<Base>) -> Knowledge {
        Knowledge { settings, base }
    }
}

impl Engine for Knowledge {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        if view.record.kind != Kind::Llm {
            return None;
        }
        if self.base.is_empty() {
            return Some(Assessment::not_assessed("no knowledge files"));
        }
        let today = view.record.timestamp_ms.map(date::day_of_ms);
        let report = examine(view.response_text(), view.prompt_text, today, &self.base);
        Some(assessment(report, &self.settings))
    }
}

fn assessment(report: Report, settings: &Settings) -> Assessment {
    let wrong = report.conflicts.len() as u64;
    let claims = report.agreed + wrong;
    if claims == 0 {
        return Assessment::not_assessed("no claim about what is known");
    }
    let status = if wrong > 0 { Status::Error } else { Status::Ok };
    let mut assessment = Assessment::new(status, wrong as f64 / claims as f64)
        .with("checked", Detail::Count(claims))
        .with("agreed", Detail::Count(report.agreed));
    if report.is_cut {
        assessment = assessment.with("limit_reached", Detail::Flag(true));
    }
    let signal = match report.conflicts.first() {
        None => Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, (ABSENT_RATIO, RatioSource::Default)),
        Some(first) => {
            let ratio = RatioSource::default_or_config(settings.likelihood_ratio, LIKELIHOOD_RATIO);
            let more = if wrong > 1 { format!("; {} more", wrong - 1) } else { String::new() };
            let detail = format!("a statement of the answer: {}{more}", first.detail);
            Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, ratio).fire(1.0, detail)
        }
    };
    let finding = |conflict: Conflict| Finding {
        detail: conflict.detail.into(),
        ..Finding::new(conflict.rule, Severity::High, "/response", conflict.span)
    };
    assessment.findings = report.conflicts.into_iter().map(finding).collect();
    assessment.signal(signal)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = r#"
{"subject":"Australia","predicate":"capital","predicate_aliases":["capital city","seat of government"],"object":"Canberra"}
{"subject":"New Zealand","aliases":["Aotearoa","NZ"],"predicate":"capital","object":"Wellington"}
{"subject":"Mount Everest","aliases":["Everest"],"predicate":"height","predicate_aliases":["tall","high"],"object":"8,849 m"}
{"subject":"France","predicate":"population","object":"68 million"}
{"subject":"Acme","predicate":"founded","predicate_aliases":["founding"],"object":"1987-03-05"}
{"subject":"Acme","predicate":"chief_executive","predicate_aliases":["CEO"],"object":"Jane Doe","valid_from":"2022-01-01"}
{"subject":"Acme","predicate":"chief_executive","object":"John Roe","valid_to":"2021-12-31"}
{"subject":"Basic plan","predicate":"price","predicate_aliases":["costs"],"object":"$49 per month"}
{"subject":"Gold plan","predicate":"price","predicate_aliases":["costs"],"object":"$49"}
{"subject":"Borg","predicate":"chief_executive","predicate_aliases":["CEO"],"object":"Maria Lindqvist"}
{"subject":"Borg","predicate":"hotline","object":"0800 1234567 890"}
{"subject":"Basel office","predicate":"rent","predicate_aliases":["costs"],"object":"€1.2 million per year"}
{"subject":"Vostok","predicate":"record_low","predicate_aliases":["coldest"],"object":"-89.2 C"}
{"subject":"filing fee","predicate":"amount","predicate_aliases":["is"],"object":"$120","replaced_by":"$150"}
"#;

    fn base() -> Base {
        Base::new(load::statements("a.jsonl", FILE).unwrap()).unwrap()
    }

    fn report(text: &str, today: &str) -> Report {
        examine(text, "", date::parse(today).map(|(day, _)| day), &base())
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let found = report(text, "2024-05-13");
        let found: Vec<(&str, &str)> =
            found.conflicts.iter().map(|conflict| (conflict.rule, &text[conflict.span.clone()])).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn what_contradicts_is_found_where_it_stands() {
        let conflict = "knowledge/conflict";
        check("The capital of Australia is Wellington.", &[(conflict, "Wellington")]);
        check("The capital of Australia is Sydney.", &[(conflict, "Sydney")]);
        check("Sure! Australia's seat of government is Port Town, by the way.", &[(conflict, "Port Town")]);
        check("Everest is 8,848 m high.", &[(conflict, "8,848")]);
        check("France has a population of 65 million people.", &[(conflict, "65 million")]);
        check("Acme was founded on 5 March 1986.", &[(conflict, "5 March 1986")]);
        check("The CEO of Acme is Ann Other.", &[(conflict, "Ann Other")]);
        check("The CEO of Acme is Maria Lindqvist of Borg.", &[(conflict, "Maria Lindqvist")]);
        check("The Basic plan costs $59 per month.", &[(conflict, "$59")]);
        check("The Basic plan costs $59/month.", &[(conflict, "$59")]);
        check("The Basic plan costs $59 a month.", &[(conflict, "$59")]);
        check("Everest stands 8,000 m high.", &[(conflict, "8,000")]);
        check("Everest is 8,848 metres high.", &[(conflict, "8,848")]);
        check("The Basel office costs €1.4M a year.", &[(conflict, "€1.4M")]);
        check("The record low of Vostok is 89.2 C.", &[(conflict, "89.2")]);
    }

    #[test]
    fn what_is_said_of_something_else_is_no_conflict() {
        for text in [
            "The capital of Australia is Europe's largest tourist hub.",
            "The capital of Australia is Home to the Parliament.",
            "The capital of Australia is Oceania’s oldest planned city.",
            "Mount Everest base camp is 5,364 m high.",
            "Everest Base Camp is 5,364 m high.",
            "The Basic plan costs $588 per year.",
            "The Basic plan costs $588 annually.",
            "The Basic plan costs $20 less than before.",
            "The Basic plan costs $588.",
            "The Gold plan costs $588 a year.",
            "The CEO of Borg is M. Lindqvist.",
            "The CEO of Borg is M.K. Lindqvist.",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn values_of_the_files_stand_in_details() {
        let found = report("The hotline of Borg is Other Number.", "2024");
        assert_eq!(found.conflicts[0].detail, "known is 0800 1234567 890");
    }

    #[test]
    fn what_is_superseded_is_called_so() {
        check("The CEO of Acme is John Roe.", &[("knowledge/superseded", "John Roe")]);
        check("The filing fee is $120.", &[("knowledge/superseded", "$120")]);
        assert_eq!(
            report("The CEO of Acme is John Roe.", "2024-05-13").conflicts[0].detail,
            "no longer holds since 2022-01-01; it is Jane Doe"
        );
        assert_eq!(report("The CEO of Acme is John Roe.", "2021-05-13").agreed, 1);
        check("The CEO of Acme in 2020 is John Roe.", &[]);
        check("The CEO of Acme was John Roe.", &[]);
    }

    #[test]
    fn what_agrees_is_counted() {
        for text in [
            "The capital of Australia is Canberra.",
            "The capital city of AUSTRALIA is Canberra",
            "Everest is 8849 m tall.",
            "Everest is 8,849 m high above sea level.",
            "The height of Everest is 8,849 m above sea level.",
            "France has a population of about 68,123,000 or 68 million people.",
            "Acme was founded in 1987.",
            "NZ has its capital at Wellington.",
            "The Basic plan costs $49 a month.",
            "The Basic plan costs $49.",
            "The Basic plan has a monthly price of 49 dollars per month.",
            "The Gold plan costs $49 per month.",
            "Everest is 8,849 meters high.",
            "The Basel office costs €1.2M a year.",
            "The record low of Vostok is -89.2 C.",
        ] {
            let found = report(text, "2024-05-13");
            assert_eq!((found.agreed, found.conflicts.len()), (1, 0), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_is_no_claim_is_not_checked() {
        for text in [
            "Is the capital of Australia Wellington?",
            "The capital of Australia is not Sydney.",
            "If the capital of Australia is Sydney, then so be it.",
            "Australia is near New Zealand. Wellington is a capital.",
            "Acme raised capital in Wellington.",
            "Everest is 29,032 feet high.",
            "Everest is high: 60 climbers died in 3 seasons.",
            "France had a population of 41 million.",
            "```\nThe capital of Australia is Sydney.\n```",
            "The nz capital is Sydney.",
            "Population growth in France is 3 times that.",
            "The population of France is discussed in chapter 7.",
            "",
        ] {
            check(text, &[]);
        }
        let text = "The capital of Australia is Sydney.";
        assert!(examine(text, "Check: The capital of Australia is Sydney.", None, &base()).conflicts.is_empty());
    }

    #[test]
    fn many_predicates_and_names_are_bounded() {
        let facts = (0..500).map(|n| Statement {
            subject: "x".into(),
            predicate: format!("p{n}"),
            object: "1".into(),
            ..Statement::default()
        });
        let base = Base::new(facts.collect()).unwrap();
        let found = examine(&"x p1 is 2. ".repeat(20_000), "", None, &base);
        assert!(found.is_cut);
    }

    #[test]
    fn quotes_and_rivals_have_a_budget() {
        let prompt = "The capital of Australia is Sydney. It lies there.";
        let mut quotes = Quotes { prompt, left: 2 * prompt.len(), known: HashMap::new(), is_cut: false };
        for (words, expected, is_cut) in [
            ("It lies there.", true, false),
            ("It lies there.", true, false),
            ("It lies here.", false, false),
            ("It lies here.", false, false),
            ("The capital of Australia is Sydney.", false, true),
            ("It lies there.", true, true),
        ] {
            assert_eq!((quotes.hold(words), quotes.is_cut), (expected, is_cut), "{words}");
        }
        let rivals = HashSet::from(["port town".to_owned(), "port".to_owned(), "a b c d e f g h i".to_owned()]);
        for (text, expected) in [
            ("by Port Town, x", Some("Port Town")),
            ("Port, Town", Some("Port")),
            ("Portly", None),
            ("a b c d e f g h i", None),
        ] {
            assert_eq!(rival(text, &rivals, |_| true).map(|span| &text[span]), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "(Australia|Everest|Acme|capital|high|founded|is|8,8|49 m|[é.?$5 ]){0,12}") {
            for conflict in report(&text, "2024").conflicts {
                prop_assert!(text.get(conflict.span).is_some());
            }
        }
    }
}
