//! Checks of one's own: what the configuration asserts of every record, and expects of many together.
//!
//! **Formula**: a check is a filter, an assertion and an effect. Its filter says which records it is about; on each of them
//! that has what the assertion looks at, the signal `check/NAME` is looked for, and fires when one of the assertions does
//! not hold. With the effect `flag` it is a fact, with `block` a proof that no ceiling of its question holds back. A check
//! that holds says nothing for or against its question. What is expected of many records ([`expect`]) is counted by the
//! report and decided where verdicts are (`verdict/expectation.rs`).
//!
//! **Range**: 0 (all checks hold) to 1 (none does): the share of the checks that do not.
//!
//! **Source**: the user's.
//!
//! **Limits**: [`CHECKS_MAX`] checks, [`FINDINGS_MAX`] findings of a check on one record. Patterns are linear regular expressions of
//! at most [`PATTERN_BYTES_MAX`] bytes when compiled. Names of checks live as long as the process.

pub mod expect;
pub mod filter;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use whatlang::Lang;

use super::{
    About, Assessment, Class, Detail, Finding, Question, RatioSource, Severity, Signal, Status, Tier, View,
    facts::schema::{breaches, compile::Compiled},
    language::other_language::{LETTERS_MIN, are_alike, prose_of, sure_language},
};
use crate::{
    record::{Kind, Note, Record, json::Json},
    rules::Suppressions,
    text::{JsonPart, excerpt::name as shown_name, nearest::nearest},
};

use expect::Expectation;
use filter::{Field, Filter, GroupBy, Looked, Pointers};

/// The engine.
pub const NAME: &str = "check";
/// What the names of checks begin with, as signals and as rules of findings.
pub const PREFIX: &str = "check/";
/// Checks of one configuration.
pub const CHECKS_MAX: usize = 200;
/// Findings of one check on one record.
pub const FINDINGS_MAX: usize = 20;
/// Bytes of a compiled pattern.
pub const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Bytes of a name.
const NAME_BYTES_MAX: usize = 64;
/// Records that an interval takes at least.
pub const RECORDS_MIN: u64 = 20;
/// That of a fact.
const LIKELIHOOD_RATIO: f64 = 20.0;
/// Characters of a pattern that a detail shows.
const PATTERN_CHARS_SHOWN: usize = 60;

/// What is known of the engine.
pub const ABOUT: About = About {
    name: NAME,
    summary: "Checks of one's own, by the configuration.",
    formula: "checks that do not hold / checks that were looked at",
    range: "0 (all hold) to 1 (none does)",
    source: "the user's",
    signals: &[],
};

/// What follows from a check that does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Consequence {
    /// The record is flagged; what is expected of many is shown.
    Flag,
    /// The record is blocked; what is expected of many fails the gate.
    #[default]
    Block,
}

impl Consequence {
    /// The name in reports and in the configuration.
    pub fn as_str(self) -> &'static str {
        if self == Consequence::Flag { "flag" } else { "block" }
    }
}

/// Which kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kinds {
    /// Calls of a model.
    Llm,
    /// Calls of a tool.
    Tool,
}

/// A JSON Schema, or the file that holds it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SchemaOf {
    /// A file, relative to the configuration file.
    File(String),
    /// The schema itself.
    Inline(serde_json::Map<String, Value>),
}

impl<'de> Deserialize<'de> for SchemaOf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SchemaOf, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(file) => Ok(SchemaOf::File(file)),
            Value::Object(schema) => Ok(SchemaOf::Inline(schema)),
            _ => Err(de::Error::custom("a JSON Schema is a table, or the name of a file")),
        }
    }
}

/// One check of one's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Check {
    /// The name: letters, digits, `_`, `-` and `.`. Reports call the check `check/NAME`.
    pub name: String,
    /// What to say when it does not hold; empty for the assertion itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What follows when it does not hold: `flag` or `block`. By default a record is flagged, and what is expected of many
    /// fails the gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Consequence>,
    /// The question that it bears on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,

    /// Only calls of a model (`llm`), or of a tool (`tool`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kinds>,
    /// Only these models, as globs.
    #[serde(deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany")]
    pub model: Vec<String>,
    /// Only these tools, as globs.
    #[serde(deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany")]
    pub tool: Vec<String>,
    /// Only these sessions, as globs.
    #[serde(deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany")]
    pub session: Vec<String>,
    /// Only records of these sources, as globs of their paths.
    #[serde(deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany")]
    pub path: Vec<String>,
    /// Only records of which a field (`prompt`, `label`, or a JSON Pointer such as `/meta/region`) matches a pattern.
    #[serde(rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub conditions: BTreeMap<String, String>,

    /// What is looked at: `response`, `prompt`, `system`, `context`, `args`, `result`, `error` and so on, a JSON Pointer into
    /// one of these (`/result/status`), or one into the log's own record (`/meta/region`). By default the response of a
    /// model and the result of a tool.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// There must be something in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not_empty: bool,
    /// It must hold a match of each of these patterns.
    #[serde(deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany")]
    pub must_match: Vec<String>,
    /// It must hold a match of none of these patterns.
    #[serde(deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany")]
    pub must_not_match: Vec<String>,
    /// It must be JSON that satisfies this schema: a table, or a file relative to the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<SchemaOf>,
    /// It must be in one of these languages, by their codes: `de`, `en`.
    #[serde(deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany")]
    pub language: Vec<String>,
    /// It must not have more words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_words: Option<u64>,
    /// The call must not take longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_latency_ms: Option<f64>,
    /// The call must not cost more, by `[[prices]]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,

    /// What is expected of all these records together: `error_rate < 2%`, `p95_latency_ms < 5000`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub expect: String,
    /// What is expected is expected of each group by this field: `model`, `tool`, `session`, `stream` or a JSON Pointer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group_by: String,
    /// Fewer records are not judged; without groups they are no audit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_records: Option<u64>,
}

/// A text, or a list of texts.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it only describes the configuration")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Texts;

    impl<'de> de::Visitor<'de> for Texts {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or a list of texts")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<String>, E> {
            Ok(vec![text.to_owned()])
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
            let mut texts = Vec::new();
            while let Some(text) = list.next_element()? {
                texts.push(text);
            }
            Ok(texts)
        }
    }

    deserializer.deserialize_any(Texts)
}

/// The key of a check that cannot be used, and why.
pub type Refused = (&'static str, String);

/// A check that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its number in the list, from 0.
    pub index: usize,
    /// Its name, as far as it has one.
    pub name: String,
    /// The key.
    pub key: &'static str,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.index + 1;
        let name = if self.name.is_empty() { format!("{number} of the list") } else { format!("`{}`", self.name) };
        write!(f, "[[check]] {name}: {}: {}", self.key, self.why)
    }
}

/// The signal of a name, for as long as the process lives: signals are known by names that do not end, and a configuration
/// has few.
pub fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let new: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(new);
    new
}

/// A pattern, ready to be looked for.
fn pattern(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX).build();
    built.map_err(|why| match why {
        regex::Error::CompiledTooBig(limit) => format!("the pattern takes more than {limit} bytes when compiled"),
        // The last line says what is wrong, those before it point at the place.
        why => format!(
            "is no pattern: {}",
            why.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ")
        ),
    })
}

/// What is asserted of one record.
#[derive(Debug)]
enum Assertion {
    NotEmpty,
    Match(Vec<Regex>),
    NoMatch(Vec<Regex>),
    Schema(Compiled),
    Language(Vec<Lang>),
    Words(u64),
    Latency(f64),
    Cost(f64),
}

/// A check of every record.
#[derive(Debug)]
pub struct OfRecord {
    /// `check/NAME`.
    pub id: &'static str,
    /// What follows when it does not hold.
    pub effect: Consequence,
    question: Question,
    message: String,
    filter: Filter,
    field: Option<Field>,
    assertions: Vec<Assertion>,
}

/// What is expected of many records.
#[derive(Debug)]
pub struct OfMany {
    /// `check/NAME`.
    pub id: &'static str,
    /// What follows when it does not hold.
    pub effect: Consequence,
    /// What to say when it does not hold; empty for nothing.
    pub message: String,
    /// What is expected.
    pub expectation: Expectation,
    /// How many records it takes, and whether the user says so.
    pub records_min: (u64, bool),
    /// What is expected is expected of each group.
    pub group_by: GroupBy,
    filter: Filter,
}

impl OfMany {
    /// Whether it is about `record`, which comes from `source`.
    pub fn takes(&self, record: &Record<'_>, source: &str, pointers: &[String]) -> bool {
        self.filter.takes(record, source, pointers)
    }
}

/// All checks, ready to be asked.
#[derive(Debug, Default)]
pub struct Checks {
    /// Those of every record, in the order of the configuration.
    pub of_record: Vec<OfRecord>,
    /// Those of many records together.
    pub of_many: Vec<OfMany>,
    /// The JSON Pointers into the log's own records that they need.
    pub pointers: Vec<String>,
}

/// What the checks say of one record.
#[derive(Debug)]
pub struct Said {
    /// For the verdict and the report.
    pub assessment: Assessment,
    /// Indices of the suppressions that took a finding out.
    pub suppressed: Vec<usize>,
    /// Rule and fingerprint of every finding, while suppressions are drafted.
    pub fingerprints: Vec<(String, String)>,
}

impl Checks {
    /// Compiles `checks`. `signals` are the names of the signals that a rate may be of, `read` gives the text of a file.
    ///
    /// # Errors
    /// When one cannot be used.
    pub fn new(
        checks: &[Check],
        signals: &[&str],
        read: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Checks, Fault> {
        let (mut made, mut pointers, mut names) = (Checks::default(), Pointers::default(), BTreeSet::new());
        let ids: Vec<String> = checks
            .iter()
            .filter(|check| check.expect.is_empty())
            .map(|check| format!("{PREFIX}{}", check.name))
            .collect();
        let signals: Vec<&str> = signals.iter().copied().chain(ids.iter().map(String::as_str)).collect();
        for (index, check) in checks.iter().enumerate() {
            let fault = |(key, why): Refused| Fault { index, name: check.name.clone(), key, why };
            check.validate().map_err(fault)?;
            if index >= CHECKS_MAX {
                return Err(fault(("name", format!("there are more than {CHECKS_MAX} checks"))));
            }
            if !names.insert(check.name.as_str()) {
                return Err(fault(("name", "another check has this name".to_owned())));
            }
            if check.expect.is_empty() {
                made.of_record.push(OfRecord::new(check, &mut pointers, &read).map_err(fault)?);
            } else {
                made.of_many.push(OfMany::new(check, &mut pointers, &signals).map_err(fault)?);
            }
        }
        made.pointers = pointers.0;
        Ok(made)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.of_record.is_empty() && self.of_many.is_empty()
    }

    /// Whether one looks at what a call costs.
    pub fn need_prices(&self) -> Option<&'static str> {
        let costs = |assertion: &Assertion| matches!(assertion, Assertion::Cost(_));
        let of_record = self.of_record.iter().find(|check| check.assertions.iter().any(costs)).map(|check| check.id);
        of_record
            .or_else(|| self.of_many.iter().find(|check| check.expectation.measure.is_cost()).map(|check| check.id))
    }

    /// What the checks of records say of one, which comes from `source` and costs `cost`. `None` when none is about it.
    pub fn assess(
        &self,
        view: &View<'_, '_>,
        source: &str,
        cost: Option<f64>,
        suppressions: &Suppressions,
    ) -> Option<Said> {
        let mut said =
            Said { assessment: Assessment::new(Status::Ok, 0.0), suppressed: Vec::new(), fingerprints: Vec::new() };
        let (mut looked_at, mut failed) = (0_u32, 0_u32);
        for check in &self.of_record {
            let record = view.record;
            if !check.filter.takes(record, source, &self.pointers) {
                continue;
            }
            let Some(mut faults) = check.faults(view, cost, &self.pointers) else { continue };
            faults.retain(|fault| {
                let by = suppressions.suppresses(check.id, &fault.evidence);
                said.suppressed.extend(by);
                if by.is_none() && suppressions.is_drafting() {
                    said.fingerprints.push((check.id.to_owned(), suppressions.fingerprint(check.id, &fault.evidence)));
                }
                by.is_none()
            });
            looked_at += 1;
            failed += u32::from(!faults.is_empty());
            said.assessment.signals.push(check.signal(&faults));
            let severity = if check.effect == Consequence::Block { Severity::High } else { Severity::Medium };
            let findings = faults.into_iter().take(FINDINGS_MAX);
            said.assessment
                .findings
                .extend(findings.map(|fault| Finding::new(check.id, severity, fault.pointer, fault.span)));
        }
        if looked_at == 0 {
            return None;
        }
        let Said { assessment, .. } = &mut said;
        assessment.status = if failed > 0 { Status::Error } else { Status::Ok };
        assessment.value = Some(f64::from(failed) / f64::from(looked_at));
        assessment.details.push(("looked_at", Detail::Count(looked_at.into())));
        assessment.details.push(("failed", Detail::Count(failed.into())));
        Some(said)
    }
}

/// One way in which a check does not hold.
struct Failure {
    /// As a clause; no text of the log is in it.
    detail: String,
    /// Where.
    pointer: Cow<'static, str>,
    span: Range<usize>,
    /// What suppressions know it by.
    evidence: String,
}

impl OfRecord {
    fn new(
        check: &Check,
        pointers: &mut Pointers,
        read: &impl Fn(&str) -> Result<String, String>,
    ) -> Result<OfRecord, Refused> {
        let patterns = |key: &'static str, texts: &[String]| -> Result<Option<Vec<Regex>>, Refused> {
            let patterns: Vec<Regex> =
                texts.iter().map(|text| pattern(text)).collect::<Result<_, _>>().map_err(|why| (key, why))?;
            Ok((!patterns.is_empty()).then_some(patterns))
        };
        let mut filter = Filter::new(check, pointers)?;
        let field = if check.field.is_empty() {
            None
        } else {
            Some(pointers.field(&check.field).map_err(|why| ("field", why))?)
        };
        filter.with_calls = matches!(&field, Some(Field::Normal("args", _))) && check.kind != Some(Kinds::Tool);
        let mut assertions = Vec::new();
        assertions.extend(check.not_empty.then_some(Assertion::NotEmpty));
        assertions.extend(patterns("must_match", &check.must_match)?.map(Assertion::Match));
        assertions.extend(patterns("must_not_match", &check.must_not_match)?.map(Assertion::NoMatch));
        if let Some(schema) = &check.json_schema {
            assertions.push(Assertion::Schema(compiled(schema, read).map_err(|why| ("json_schema", why))?));
        }
        if !check.language.is_empty() {
            assertions.push(Assertion::Language(languages(&check.language).map_err(|why| ("language", why))?));
        }
        assertions.extend(check.max_words.map(Assertion::Words));
        assertions.extend(check.max_latency_ms.map(Assertion::Latency));
        assertions.extend(check.max_cost.map(Assertion::Cost));
        Ok(OfRecord {
            id: interned(&format!("{PREFIX}{}", check.name)),
            effect: check.effect.unwrap_or(Consequence::Flag),
            question: check.question.unwrap_or(Question::Degraded),
            message: check.message.clone(),
            filter,
            field,
            assertions,
        })
    }

    /// In which ways the check does not hold; `None` when there is nothing to look at.
    fn faults(&self, view: &View<'_, '_>, cost: Option<f64>, pointers: &[String]) -> Option<Vec<Failure>> {
        let record = view.record;
        let texts = match &self.field {
            Some(field) => field.texts(record, pointers, self.filter.tool.as_ref()),
            None if record.kind == Kind::Llm => RESPONSE.texts(record, pointers, None),
            None => RESULT.texts(record, pointers, None),
        };
        let mut faults = Vec::new();
        let mut is_looked_at = false;
        for assertion in &self.assertions {
            is_looked_at |= self.assert(assertion, view, cost, &texts, &mut faults);
        }
        is_looked_at.then_some(faults)
    }

    /// Adds the ways in which `assertion` does not hold; whether there was something to look at.
    fn assert(
        &self,
        assertion: &Assertion,
        view: &View<'_, '_>,
        cost: Option<f64>,
        texts: &[Looked<'_>],
        faults: &mut Vec<Failure>,
    ) -> bool {
        let record = view.record;
        let what = || {
            if self.field.is_none() {
                if record.kind == Kind::Llm { "the response" } else { "the result" }
            } else {
                "the field"
            }
        };
        match assertion {
            Assertion::NotEmpty => {
                let is_empty = texts.iter().all(Looked::is_empty);
                // A call that failed has said so, one that calls tools has answered, and who keeps no texts has none.
                let excuses = [Note::HealthOnly, Note::HalfMissing, Note::Unanswered];
                let is_excused = self.field.is_none()
                    && (record.error.is_some()
                        || !record.tool_calls.is_empty()
                        || excuses.iter().any(|note| record.notes.has(*note)));
                if is_empty && is_excused {
                    return false;
                }
                if is_empty {
                    let pointer =
                        texts.first().map_or(Cow::Borrowed(""), |looked| looked.pointer.clone().into_owned().into());
                    faults.push(Failure {
                        detail: format!("{} is empty", what()),
                        pointer,
                        span: 0..0,
                        evidence: own(record),
                    });
                }
                true
            }
            Assertion::Match(patterns) => {
                for pattern in patterns.iter().filter(|_| !texts.is_empty()) {
                    if !texts.iter().any(|looked| pattern.is_match(&looked.text)) {
                        let detail = format!("{} does not match `{}`", what(), brief(pattern.as_str()));
                        faults.push(Failure::of(&texts[0], detail));
                    }
                }
                !texts.is_empty()
            }
            Assertion::NoMatch(patterns) => {
                for (pattern, looked) in
                    patterns.iter().flat_map(|pattern| texts.iter().map(move |looked| (pattern, looked)))
                {
                    let detail = || format!("{} matches `{}`", what(), brief(pattern.as_str()));
                    for found in pattern.find_iter(&looked.text).take(FINDINGS_MAX) {
                        let pointer = looked.pointer.clone().into_owned().into();
                        faults.push(Failure {
                            detail: detail(),
                            pointer,
                            span: found.range(),
                            evidence: found.as_str().to_owned(),
                        });
                    }
                }
                !texts.is_empty()
            }
            Assertion::Schema(schema) => {
                for looked in texts {
                    let detail = match instance(looked) {
                        None => Some(format!("{} is no JSON", what())),
                        Some(instance) => match breaches(schema, &instance) {
                            Ok(found) => found.first().map(|breach| breach.detail.clone()),
                            Err(refusal) => Some(refusal.to_owned()),
                        },
                    };
                    faults.extend(detail.map(|detail| Failure::of(looked, detail)));
                }
                !texts.is_empty()
            }
            Assertion::Language(wanted) => {
                let mut is_told = false;
                for looked in texts {
                    let Some((is_other, found)) = is_in_another(&looked.text, wanted) else { continue };
                    is_told = true;
                    if is_other {
                        let names: Vec<&str> = wanted.iter().map(|lang| code(*lang)).collect();
                        let (found, wanted) = (code(found), names.join("` or `"));
                        let detail = format!("{} is in the language `{found}`, not `{wanted}`", what());
                        faults.push(Failure::of(looked, detail));
                    }
                }
                is_told
            }
            Assertion::Words(limit) => {
                for looked in texts {
                    let words = looked.text.split_whitespace().count() as u64;
                    if words > *limit {
                        faults.push(Failure::of(looked, format!("{} has {words} words, more than {limit}", what())));
                    }
                }
                !texts.is_empty()
            }
            Assertion::Latency(limit) => {
                let latency = if record.kind == Kind::Llm { record.latency_ms } else { record.execution_time_ms };
                if let Some(latency) = latency.filter(|latency| latency > limit) {
                    faults.push(Failure::of_record(record, format!("took {latency:.0} ms, more than {limit} ms")));
                }
                latency.is_some()
            }
            Assertion::Cost(limit) => {
                if let Some(cost) = cost.filter(|cost| cost > limit) {
                    faults.push(Failure::of_record(record, format!("cost {cost:.4}, more than {limit}")));
                }
                cost.is_some()
            }
        }
    }

    fn signal(&self, faults: &[Failure]) -> Signal {
        let ratio = (LIKELIHOOD_RATIO, RatioSource::Config);
        let signal = Signal::absent(self.id, self.question, Tier::Zero, ratio);
        let Some(first) = faults.first() else {
            // That a rule of one's own holds is the rule; it says nothing of the rest.
            return Signal { fitted_log_odds: Some(0.0), ..signal };
        };
        let mut detail =
            if self.message.is_empty() { first.detail.clone() } else { format!("{}: {}", self.message, first.detail) };
        let others: BTreeSet<&str> = faults.iter().map(|fault| fault.detail.as_str()).collect();
        if others.len() > 1 {
            detail.push_str(&format!(", and {} more", others.len() - 1));
        }
        let class = if self.effect == Consequence::Block { Class::Proof } else { Class::Fact };
        Signal { class, is_stated: true, ..signal.fire(1.0, detail) }
    }
}

impl Failure {
    /// A failure of a whole text.
    fn of(looked: &Looked<'_>, detail: String) -> Failure {
        let pointer = looked.pointer.clone().into_owned().into();
        Failure { detail, pointer, span: 0..looked.text.len(), evidence: looked.text.clone().into_owned() }
    }

    /// A failure of the call, and not of a text.
    fn of_record(record: &Record<'_>, detail: String) -> Failure {
        Failure { detail, pointer: Cow::Borrowed(""), span: 0..0, evidence: own(record) }
    }
}

/// What a record is known by where no text is at fault: its id, else what it was asked.
fn own(record: &Record<'_>) -> String {
    let text = || {
        let args = record.args.as_ref().map(Json::to_compact_string).unwrap_or_default();
        record.prompt.texts().map(|(_, text)| text).collect::<Vec<_>>().join("\n") + &args
    };
    record.id.as_deref().map_or_else(text, str::to_owned)
}

static RESPONSE: Field = Field::Normal("response", String::new());
static RESULT: Field = Field::Normal("result", String::new());

/// The value of a text: itself, else the JSON that it is or holds.
fn instance(looked: &Looked<'_>) -> Option<Value> {
    match looked.value {
        Some(value) if value.as_str().is_none() => Some(value.to_value()),
        _ => {
            let part = JsonPart::of(&looked.text).filter(|part| part.valid);
            let text = part.map_or(looked.text.trim(), |part| &looked.text[part.span]);
            serde_json::from_str(text).ok()
        }
    }
}

fn compiled(schema: &SchemaOf, read: &impl Fn(&str) -> Result<String, String>) -> Result<Compiled, String> {
    let value = match schema {
        SchemaOf::Inline(schema) => Value::Object(schema.clone()),
        SchemaOf::File(file) => {
            serde_json::from_str(&read(file)?).map_err(|why| format!("{file} is no JSON: {why}"))?
        }
    };
    Compiled::new(&value).map_err(str::to_owned)
}

/// A pattern as a detail shows it.
fn brief(pattern: &str) -> Cow<'_, str> {
    let shown = shown_name(pattern);
    match shown.char_indices().nth(PATTERN_CHARS_SHOWN) {
        Some((at, _)) => format!("{}…", &shown[..at]).into(),
        None => shown.into(),
    }
}

impl OfMany {
    fn new(check: &Check, pointers: &mut Pointers, signals: &[&str]) -> Result<OfMany, Refused> {
        let expectation = Expectation::parse(&check.expect, signals).map_err(|why| ("expect", why))?;
        let records_min = if expectation.measure.is_exact() { 0 } else { RECORDS_MIN };
        Ok(OfMany {
            id: interned(&format!("{PREFIX}{}", check.name)),
            effect: check.effect.unwrap_or(Consequence::Block),
            message: check.message.clone(),
            expectation,
            records_min: (check.min_records.unwrap_or(records_min), check.min_records.is_some()),
            group_by: GroupBy::new(&check.group_by, pointers).map_err(|why| ("group_by", why))?,
            filter: Filter::new(check, pointers)?,
        })
    }
}

impl Check {
    /// What can be told without compiling anything.
    fn validate(&self) -> Result<(), Refused> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if self.name.is_empty() {
            return Err(("name", "a check needs a name".to_owned()));
        }
        if self.name.len() > NAME_BYTES_MAX || !self.name.chars().all(is_part) {
            return Err((
                "name",
                format!("a name is made of letters, digits, `_`, `-` and `.`, at most {NAME_BYTES_MAX}"),
            ));
        }
        let reads_field: [(&'static str, bool); 6] = [
            ("not_empty", self.not_empty),
            ("must_match", !self.must_match.is_empty()),
            ("must_not_match", !self.must_not_match.is_empty()),
            ("json_schema", self.json_schema.is_some()),
            ("language", !self.language.is_empty()),
            ("max_words", self.max_words.is_some()),
        ];
        let reads_call = [("max_latency_ms", self.max_latency_ms), ("max_cost", self.max_cost)];
        let asserted = reads_field.iter().find(|(_, is_set)| *is_set).map(|(key, _)| *key);
        let of_call = reads_call.iter().find(|(_, limit)| limit.is_some()).map(|(key, _)| *key);
        if let Some(key) = asserted.or(of_call).filter(|_| !self.expect.is_empty()) {
            return Err((
                key,
                "a check asserts something of every record, or expects something of many; make it two".to_owned(),
            ));
        }
        if asserted.or(of_call).is_none() && self.expect.is_empty() {
            let all: Vec<&str> =
                reads_field.iter().map(|(key, _)| *key).chain(reads_call.iter().map(|(key, _)| *key)).collect();
            return Err(("name", format!("asserts nothing: set one of {} or expect", all.join(", "))));
        }
        if !self.field.is_empty() && asserted.is_none() {
            return Err(("field", "nothing is asserted of a field".to_owned()));
        }
        for (key, is_set) in [("group_by", !self.group_by.is_empty()), ("min_records", self.min_records.is_some())] {
            if is_set && self.expect.is_empty() {
                return Err((key, "only for what is expected of many records (expect)".to_owned()));
            }
        }
        if self.question.is_some() && !self.expect.is_empty() {
            return Err(("question", "what is expected of many records bears on no question".to_owned()));
        }
        let is_limit = |limit: f64| limit.is_finite() && limit >= 0.0;
        if let Some((key, limit)) =
            reads_call.iter().find_map(|(key, limit)| Some((*key, limit.filter(|limit| !is_limit(*limit))?)))
        {
            return Err((key, format!("{limit} is no limit: it must be a number that is not negative")));
        }
        Ok(())
    }
}

/// Letters from which on languages that trigrams mix up in short texts are told apart.
const LETTERS_SURE: usize = 200;

/// Two-letter codes of the languages that are told, beside those of ISO 639-3 that the crate has.
const CODES: [(&str, &str); 40] = [
    ("ar", "ara"),
    ("bg", "bul"),
    ("bn", "ben"),
    ("ca", "cat"),
    ("cs", "ces"),
    ("da", "dan"),
    ("de", "deu"),
    ("el", "ell"),
    ("en", "eng"),
    ("es", "spa"),
    ("et", "est"),
    ("fa", "pes"),
    ("fi", "fin"),
    ("fr", "fra"),
    ("he", "heb"),
    ("hi", "hin"),
    ("hr", "hrv"),
    ("hu", "hun"),
    ("id", "ind"),
    ("it", "ita"),
    ("ja", "jpn"),
    ("ko", "kor"),
    ("lt", "lit"),
    ("lv", "lav"),
    ("nb", "nob"),
    ("nl", "nld"),
    ("no", "nob"),
    ("pl", "pol"),
    ("pt", "por"),
    ("ro", "ron"),
    ("ru", "rus"),
    ("sk", "slk"),
    ("sl", "slv"),
    ("sr", "srp"),
    ("sv", "swe"),
    ("th", "tha"),
    ("tr", "tur"),
    ("uk", "ukr"),
    ("vi", "vie"),
    ("zh", "cmn"),
];

/// The languages that `names` mean.
fn languages(names: &[String]) -> Result<Vec<Lang>, String> {
    let language = |name: &String| {
        let lower = name.to_ascii_lowercase();
        let base = lower.split(['-', '_']).next().unwrap_or_default();
        let three = CODES.iter().find(|(two, _)| *two == base).map_or(base, |(_, three)| *three);
        Lang::from_code(three).ok_or_else(|| {
            let codes: Vec<&str> = CODES.iter().map(|(two, _)| *two).collect();
            let meant = nearest(base, &codes).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            format!("`{name}` is no code of a language that can be told ({}){meant}", codes.join(", "))
        })
    };
    names.iter().map(language).collect()
}

/// The first code of a language, else that of ISO 639-3.
fn code(lang: Lang) -> &'static str {
    CODES.iter().find(|(_, three)| *three == lang.code()).map_or(lang.code(), |(two, _)| *two)
}

/// Whether a text is surely in none of the `wanted` languages, and in which it is; `None` when its language is not sure.
fn is_in_another(text: &str, wanted: &[Lang]) -> Option<(bool, Lang)> {
    let text = &prose_of(text, &[]);
    let found = sure_language(text, LETTERS_MIN)?;
    let may_be =
        |lang: &Lang| found == *lang || (are_alike(found, *lang) && sure_language(text, LETTERS_SURE).is_none());
    Some((!wanted.iter().any(may_be), found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::testing::with_view;

    fn checks(text: &str) -> Result<Checks, Fault> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            check: Vec<Check>,
        }
        let file: File = toml::from_str(text).unwrap();
        Checks::new(&file.check, &["refusal"], |file| Err(format!("cannot read {file}")))
    }

    const ANSWER: &str = r#"{"id":"1","model":"m-1","session_id":"s","label":"eu","prompt":"Tell me","response":"The order left today [1].","latency_ms":900}"#;
    const EMPTY: &str = r#"{"model":"m-1","prompt":"Tell me","response":" "}"#;
    const FAILED: &str = r#"{"model":"m-1","prompt":"Tell me","error":"upstream timeout"}"#;
    const CALLING: &str =
        r#"{"model":"m-1","prompt":"p","tool_calls":[{"name":"bash","arguments":{"command":"rm -rf /"}}]}"#;
    const TOOL: &str =
        r#"{"tool":"bash","args":{"command":"ls"},"result":{"status":"ok","amount":-1},"execution_time_ms":50}"#;
    const JSON: &str = r#"{"model":"m-1","prompt":"p","response":"Here:\n```json\n{\"mg\": \"two\"}\n```"}"#;

    /// Whether the check fires on `record`; `None` when it has nothing to look at.
    fn fires(check: &str, record: &str) -> Option<String> {
        let checks = checks(&format!("[[check]]\nname = \"x\"\n{check}\n")).unwrap();
        let said =
            with_view(record, |view| checks.assess(view, "logs/prod/a.jsonl", Some(0.02), &Suppressions::default()));
        said.map(|said| said.assessment.signals[0].detail.clone().into_owned())
    }

    #[track_caller]
    fn check(check: &str, record: &str, expected: Option<&str>) {
        assert_eq!(fires(check, record).as_deref(), expected, "{check} on {record}");
    }

    #[test]
    fn what_is_asserted() {
        check("not_empty = true", ANSWER, Some(""));
        check("not_empty = true", EMPTY, Some("the response is empty"));
        check("not_empty = true", FAILED, None);
        check("not_empty = true", CALLING, None);
        check("field = 'context'\nnot_empty = true", ANSWER, Some("the field is empty"));
        check("field = '/result/amount'\nnot_empty = true", TOOL, Some(""));
        check("must_match = '\\[\\d+\\]'", ANSWER, Some(""));
        check("must_match = ['order', 'refund']", ANSWER, Some("the response does not match `refund`"));
        check("must_match = 'x'", FAILED, None);
        check("must_not_match = '(?i)ORDER'", ANSWER, Some("the response matches `(?i)ORDER`"));
        check("must_not_match = 'a'", FAILED, None);
        check("max_words = 5", ANSWER, Some(""));
        check("max_words = 4", ANSWER, Some("the response has 5 words, more than 4"));
        check("max_latency_ms = 899.5", ANSWER, Some("took 900 ms, more than 899.5 ms"));
        check("max_latency_ms = 900", ANSWER, Some(""));
        check("max_latency_ms = 40", TOOL, Some("took 50 ms, more than 40 ms"));
        check("max_latency_ms = 40", EMPTY, None);
        check("max_cost = 0.01", ANSWER, Some("cost 0.0200, more than 0.01"));
        check("max_cost = 0.02", ANSWER, Some(""));
        check("message = 'Too slow'\nmax_latency_ms = 1", ANSWER, Some("Too slow: took 900 ms, more than 1 ms"));
        check("max_words = 1\nmax_latency_ms = 1", ANSWER, Some("the response has 5 words, more than 1, and 1 more"));
    }

    #[test]
    fn schemas_are_of_values_and_of_json_in_texts() {
        let amount = "json_schema = { properties = { amount = { minimum = 0 } } }";
        check(amount, TOOL, Some("/amount breaks `minimum`"));
        check("json_schema = { properties = { mg = { type = 'number' } } }", JSON, Some("/mg is a string, not number"));
        check("json_schema = { type = 'object' }", JSON, Some(""));
        check("json_schema = { type = 'object' }", ANSWER, Some("the value is an array, not object"));
        check("json_schema = { type = 'object' }", EMPTY, Some("the response is no JSON"));
    }

    #[test]
    fn languages_are_told_where_they_are_sure() {
        let german = r#"{"prompt":"p","response":"Ihre Bestellung wurde gestern verschickt und sollte am Freitag bei Ihnen ankommen."}"#;
        check("language = 'de'", german, Some(""));
        check("language = ['en', 'de-AT']", german, Some(""));
        check("language = 'en'", german, Some("the response is in the language `de`, not `en`"));
        check("language = 'fr'", ANSWER, None);
    }

    #[test]
    fn filters_say_which_records() {
        let about = |filter: &str, record: &str, expected: bool| {
            let asserted = format!("{filter}\nmax_words = 100");
            assert_eq!(fires(&asserted, record).is_some(), expected, "{filter} on {record}");
        };
        about("kind = 'llm'", ANSWER, true);
        about("kind = 'tool'", ANSWER, false);
        about("kind = 'tool'", TOOL, true);
        about("model = ['gpt-*', 'm-*']", ANSWER, true);
        about("model = 'gpt-*'", ANSWER, false);
        about("model = '*'", TOOL, false);
        about("tool = 'ba*'", TOOL, true);
        about("tool = 'ba*'", ANSWER, false);
        about("session = 's'", ANSWER, true);
        about("session = 's'", EMPTY, false);
        about("path = 'prod/*.jsonl'", ANSWER, true);
        about("path = 'logs/**'", ANSWER, true);
        about("path = '*.jsonl'", ANSWER, true);
        about("path = 'dev/**'", ANSWER, false);
        about("where = { prompt = '^Tell', label = 'eu' }", ANSWER, true);
        about("where = { '/prompt' = '^tell' }", ANSWER, false);
        about("where = { label = 'eu' }", EMPTY, false);
    }

    #[test]
    fn arguments_are_looked_at_where_a_call_is_asked_for_too() {
        let destructive = "tool = 'bash'\nfield = '/args/command'\nmust_not_match = 'rm -rf'";
        check(destructive, CALLING, Some("the field matches `rm -rf`"));
        check(destructive, TOOL, Some(""));
        check(&format!("kind = 'tool'\n{destructive}"), CALLING, None);
        check("tool = 'search'\nfield = 'args'\nmust_not_match = 'rm'", CALLING, None);
    }

    #[test]
    fn the_effect_is_the_users() {
        let made = checks(
            "[[check]]\nname='a'\nmax_words=1\n[[check]]\nname='b'\nmax_words=1\neffect='block'\nquestion='leaking'",
        )
        .unwrap();
        let said = with_view(ANSWER, |view| made.assess(view, "a", None, &Suppressions::default())).unwrap().assessment;
        let of: Vec<_> =
            said.signals.iter().map(|signal| (signal.id, signal.question, signal.class, signal.is_stated)).collect();
        assert_eq!(
            of,
            [("check/a", Question::Degraded, Class::Fact, true), ("check/b", Question::Leaking, Class::Proof, true)]
        );
        assert_eq!((said.value, &*said.findings[1].rule), (Some(1.0), "check/b"));
        assert_eq!(said.findings[0].span, 0..25);
        let holds = with_view(ANSWER, |view| {
            checks("[[check]]\nname='a'\nmax_words=9").unwrap().assess(view, "a", None, &Suppressions::default())
        });
        assert_eq!(holds.unwrap().assessment.signals[0].evidence().contribution(), 0.0);
    }

    #[test]
    fn what_is_accepted_is_left_out() {
        let made = checks("[[check]]\nname='a'\nmust_not_match='order|today'").unwrap();
        let plain = Suppressions::with_key(&[7; 32]);
        let fingerprint = |text: &str| plain.fingerprint("check/a", text);
        let entry = |text: &str| {
            format!("[[suppression]]\nrule='check/a'\nfingerprint='{}'\nreason='r'\nowner='o'\n", fingerprint(text))
        };
        let file = format!("key = '{}'\n{}", "07".repeat(32), entry("order"));
        let suppressions =
            Suppressions::parse("s.toml", &file, jiff::civil::date(2026, 1, 1), |rule| rule == "check/a").unwrap();
        let said = with_view(ANSWER, |view| made.assess(view, "a", None, &suppressions)).unwrap();
        assert_eq!((said.suppressed.len(), said.assessment.findings.len()), (1, 1));
        let drafted = with_view(ANSWER, |view| made.assess(view, "a", None, &suppressions.clone().drafting())).unwrap();
        assert_eq!(drafted.fingerprints, [("check/a".to_owned(), fingerprint("today"))]);
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_key() {
        for (text, key, why) in [
            ("", "name", "asserts nothing"),
            ("field = 'args'", "name", "asserts nothing"),
            ("field = 'args'\nmax_latency_ms = 1", "field", "nothing is asserted of a field"),
            ("field = 'respnse'\nmax_words = 1", "field", "did you mean `response`?"),
            ("must_match = '['", "must_match", "unclosed character class"),
            ("must_match = '(?=a)'", "must_match", "look-around"),
            ("must_match = '(?:a{1000}){1000}'", "must_match", "when compiled"),
            ("must_not_match = ['a', '(']", "must_not_match", "unclosed group"),
            ("model = 'gpt-['\nmax_words = 1", "model", "unclosed character class"),
            ("where = { nope = 'a' }\nmax_words = 1", "where", "there is no field `nope`"),
            ("where = { prompt = '(' }\nmax_words = 1", "where", "unclosed group"),
            ("language = 'klingon'", "language", "no code of a language"),
            ("json_schema = { type = 'objekt' }", "json_schema", "no valid JSON Schema"),
            ("json_schema = 'nowhere.json'", "json_schema", "cannot read nowhere.json"),
            ("max_latency_ms = -1", "max_latency_ms", "not negative"),
            ("max_cost = nan", "max_cost", "not negative"),
            ("expect = 'error_rte < 2%'", "expect", "did you mean `error_rate`?"),
            ("expect = 'rate(check/y) < 2%'", "expect", "there is no signal `check/y`"),
            ("expect = 'error_rate < 2%'\nmax_words = 1", "max_words", "make it two"),
            ("expect = 'error_rate < 2%'\ngroup_by = 'modl'", "group_by", "did you mean `model`?"),
            ("expect = 'error_rate < 2%'\nquestion = 'leaking'", "question", "no question"),
            ("group_by = 'model'\nmax_words = 1", "group_by", "only for what is expected"),
            ("min_records = 5\nmax_words = 1", "min_records", "only for what is expected"),
        ] {
            let fault = checks(&format!("[[check]]\nname = 'x'\n{text}\n")).unwrap_err();
            assert!(fault.key == key && fault.why.contains(why), "{text}: {fault}");
        }
        for (names, why) in [("['']", "needs a name"), ("['a b']", "made of letters"), ("['a','a']", "another check")] {
            let names: Vec<String> = serde_json::from_str(&names.replace('\'', "\"")).unwrap();
            let text: String =
                names.iter().map(|name| format!("[[check]]\nname = '{name}'\nmax_words = 1\n")).collect();
            assert!(checks(&text).unwrap_err().why.contains(why), "{text}");
        }
        let many: String = (0..=CHECKS_MAX).map(|at| format!("[[check]]\nname = 'c{at}'\nmax_words = 1\n")).collect();
        assert!(checks(&many).unwrap_err().why.contains("more than 200"));
    }

    #[test]
    fn names_are_the_same_for_as_long_as_the_process_lives() {
        assert!(std::ptr::eq(interned("check/again"), interned("check/again")));
    }
}
