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
//! object of the same predicate elsewhere in the files, or follows directly on "is". A sentence with two numbers of the
//! same unit is ambiguous and not assessed. [`LOOKUPS_MAX`] lookups for one record.

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
        About, Assessment, Detail, Engine, Finding, Question, RatioSource, Severity, Signal, Status, Tier, View,
    },
    record::Kind,
    text::{code, excerpt::shown},
};
use load::Statement;

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
    /// Every name that is the object of a predicate.
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
    Number(f64, String),
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
            self.objects.entry(predicate).or_default().extend(names.iter().cloned());
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

fn cut(text: &str) -> String {
    shown(&text.chars().take(VALUE_CHARS_MAX).collect::<String>())
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

static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?-u)(?P<sign>[-+]?)(?P<money>[$])?(?P<n>[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?) ?(?P<scale>thousand|million|billion|trillion)?(?P<unit> ?(?:%|[A-Za-z]+(?:/[A-Za-z]+)?))?").ok()
});

/// A number in a text, with the word behind it.
struct Number {
    value: f64,
    /// Half a unit of the last digit that is written.
    half_unit: f64,
    unit: String,
    span: Range<usize>,
}

fn numbers(text: &str) -> Vec<Number> {
    let Some(pattern) = NUMBER.as_ref() else { return Vec::new() };
    let read = |captures: regex::Captures<'_>| {
        let digits = captures.name("n")?;
        let start = captures.name("money").map_or(digits.start(), |money| money.start());
        let before = text[..start].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '/')) {
            return None;
        }
        let plain = digits.as_str().replace(',', "");
        let scale = match captures.name("scale").map(|scale| scale.as_str()) {
            Some("thousand") => 1e3,
            Some("million") => 1e6,
            Some("billion") => 1e9,
            Some("trillion") => 1e12,
            _ => 1.0,
        };
        let is_negative =
            captures.name("sign").is_some_and(|sign| sign.as_str() == "-") && before.is_none_or(|c| c != '-');
        let value: f64 = plain.parse().ok()?;
        let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len().min(18));
        let unit = captures.name("unit").map_or("", |unit| unit.as_str().trim());
        let unit = if captures.name("money").is_some() { "usd" } else { unit };
        Some(Number {
            value: if is_negative { -value * scale } else { value * scale },
            half_unit: 0.5 * scale * 10f64.powi(-(decimals as i32)),
            unit: unit_name(unit),
            span: start..captures.name("scale").map_or(digits.end(), |scale| scale.end()),
        })
    };
    pattern.captures_iter(text).filter_map(read).collect()
}

/// Units by one name, in the singular.
fn unit_name(unit: &str) -> String {
    let lower = unit.to_ascii_lowercase();
    match lower.as_str() {
        "percent" => "%".to_owned(),
        "dollar" | "dollars" => "usd".to_owned(),
        "euro" | "euros" => "eur".to_owned(),
        _ => lower.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(&lower).to_owned(),
    }
}

/// A text that is a number with at most a unit.
fn only_number(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let first = text.bytes().next()?;
    if !first.is_ascii_digit() && !matches!(first, b'-' | b'+' | b'$') {
        return None;
    }
    let mut all = numbers(text);
    let only = all.pop().filter(|_| all.is_empty())?;
    let rest = text[only.span.end..].trim();
    let is_whole = rest.is_empty() || (unit_name(rest) == only.unit && rest.split_whitespace().count() == 1);
    is_whole.then_some((only.value, only.unit))
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
            let is_year = (1000.0..3000.0).contains(known) && known.fract() == 0.0 && unit.is_empty();
            let dates: Vec<Range<usize>> = date::mentions(sentence).into_iter().map(|date| date.span).collect();
            let is_date = |number: &Number| {
                dates.iter().any(|date| date.start <= number.span.start && number.span.end <= date.end)
            };
            let mut others = numbers(sentence);
            others.retain(|number| {
                is_free(&number.span) && (unit.is_empty() || number.unit == *unit) && (is_year || !is_date(number))
            });
            if others.iter().any(agrees) {
                return Said::Same;
            }
            match others.as_slice() {
                // A bare number may count anything, unless it follows on the predicate.
                [only] if !unit.is_empty() || is_direct(sentence, taken, only.span.start) => {
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
            let rival = || {
                let rivals = rivals?.iter().filter_map(|rival| sentence::find_phrase(sentence, rival)).filter(is_free);
                rivals.min_by_key(|span| (span.start, span.end))
            };
            match rival().filter(|span| !shares_a_word(&sentence[span.clone()], names)).or(known) {
                Some(span) => Said::Other(span),
                None => Said::Nothing,
            }
        }
    }
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
    Regex::new(r"^\s*(?:is|are|=|:)\s+(?:the |an? )?(\p{Lu}[\w'’-]*(?:\s+(?:of |de |van |von )?\p{Lu}[\w'’-]*)*)").ok()
});

/// The name that follows on subject and predicate: "the capital of Australia is Sydney".
fn after_is(sentence: &str, taken: &[Range<usize>]) -> Option<Range<usize>> {
    let end = taken.iter().map(|span| span.end).max()?;
    let name = AFTER_IS.as_ref()?.captures(&sentence[end..])?.get(1)?;
    Some(end + name.start()..end + name.end())
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
pub fn examine(text: &str, prompt: &str, today: Option<i64>, base: &Base) -> Report {
    let mut report = Report::default();
    let Some(names) = &base.names else { return report };
    let (mut code, mut lookups, mut done) = (None, 0, HashSet::new());
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
            let is_quoted = !prompt.is_empty() && prompt.contains(words);
            if is_quoted || !Stance::of(words).is_statement() {
                continue;
            }
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
            .filter(|number| is_free(&number.span) && (unit.is_empty() || number.unit == *unit))
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
        About {
            name: NAME,
            summary: "Statements that contradict the knowledge files, or that these say are superseded.",
            formula: "claims in conflict or superseded / claims that could be checked",
            range: "0 (all as known) to 1 (nothing is)",
            source: "seed 003, verifier 05",
        }
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
            "France has a population of about 68,123,000 or 68 million people.",
            "Acme was founded in 1987.",
            "NZ has its capital at Wellington.",
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

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "(Australia|Everest|Acme|capital|high|founded|is|8,8|49 m|[é.?$5 ]){0,12}") {
            for conflict in report(&text, "2024").conflicts {
                prop_assert!(text.get(conflict.span).is_some());
            }
        }
    }
}
