//! Does the response follow the rules that it was given?
//!
//! **Formula**: ratio = passed rules / valid rules; followed from 0.8 on. A rule is `{"id", "type", "params"}`:
//! - `format`: `expect` is `json` (JSON that parses), `list` (an item), `paragraph` (no item, two sentences) or `code`
//!   (a fence, a tab or four spaces)
//! - `length`: `minWords`, `maxWords`, `minBullets`, `maxBullets`
//! - `include`, `exclude`: `terms` that must, or must not, stand in the text, in any case
//! - `schema`: `requiredKeys` of the top level of its JSON
//! - `coverage`: `entities` that must be mentioned
//!
//! **Range**: 0 (no rule passed) to 1 (all did).
//!
//! **Source**: seed 001, "Instruction Compliance".
//!
//! **Limits**: terms are looked for as they stand, also inside of words. Rules are data: one of an unknown type or with
//! unusable parameters is reported as invalid and counts neither way. [`RULES_MAX`], [`TERMS_MAX`].

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{degraded, of_response};
use crate::{
    engines::{
        About, Assessment, Detail, Effect, Engine, Finding, Question, Severity, Signal, SignalAbout, Status, View,
    },
    text::{Features, excerpt::shown},
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: "compliance",
    summary: "Checks the response against rules of format, length, terms, keys and coverage.",
    formula: "passed rules / valid rules; followed from 0.8 on",
    range: "0 (no rule passed) to 1 (all did)",
    source: "seed 001, Instruction Compliance",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "The answer breaks a rule that it was given.",
        owasp: "",
        help: "Look at the rule and the place in the evidence; enforce formats outside of the model.",
    }],
};

/// The signal.
pub const SIGNAL: &str = "instruction_violated";
/// Whoever writes rules means them.
pub const LIKELIHOOD_RATIO: f64 = 3.0;
/// Rules that are checked; further ones are invalid.
pub const RULES_MAX: usize = 100;
/// Terms of one rule; a rule with more is invalid.
pub const TERMS_MAX: usize = 100;
/// Failed or invalid rules that are named in the details.
const NAMED_RULES_MAX: usize = 5;

/// The share of rules that passed; 1 when there are none.
pub fn compliance_ratio(passed: usize, valid: usize) -> f64 {
    if valid == 0 { 1.0 } else { passed as f64 / valid as f64 }
}

/// What one rule says.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleResult {
    /// The rule's own id, or its number from 1.
    pub id: String,
    /// Passed, failed or invalid.
    pub outcome: Outcome,
    /// Excluded terms that were found.
    pub found: Vec<Range<usize>>,
}

/// What became of a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The condition is met.
    Passed,
    /// It is not, and why.
    Failed(String),
    /// The rule cannot be checked, and why.
    Invalid(String),
}

/// All rules, one by one.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// One result per rule, in order.
    pub results: Vec<RuleResult>,
    /// Passed rules / valid rules.
    pub ratio: f64,
    /// Rules that could be checked.
    pub valid: usize,
}

/// Checks `rules` against a text and its features.
pub fn check(rules: &[Value], text: &str, features: &Features, settings: &Settings) -> Report {
    let results: Vec<RuleResult> =
        rules.iter().enumerate().map(|(index, rule)| check_rule(index, rule, text, features, settings)).collect();
    let valid = results.iter().filter(|result| !matches!(result.outcome, Outcome::Invalid(_))).count();
    let passed = results.iter().filter(|result| result.outcome == Outcome::Passed).count();
    Report { results, ratio: compliance_ratio(passed, valid), valid }
}

fn check_rule(index: usize, rule: &Value, text: &str, features: &Features, settings: &Settings) -> RuleResult {
    let id = match &rule["id"] {
        Value::String(id) => id.clone(),
        Value::Number(id) => id.to_string(),
        _ => (index + 1).to_string(),
    };
    let mut found = Vec::new();
    let rule = if index < RULES_MAX { Rule::read(rule) } else { Err(format!("more than {RULES_MAX} rules")) };
    let failure = rule.map(|rule| rule.failure(text, features, settings, &mut found));
    let outcome = match failure {
        Ok(None) => Outcome::Passed,
        Ok(Some(reason)) => Outcome::Failed(reason),
        Err(reason) => Outcome::Invalid(reason),
    };
    RuleResult { id, outcome, found }
}

/// A rule that can be checked.
enum Rule {
    Format(Format),
    Length { words: Bounds, bullets: Bounds },
    Include(Vec<String>),
    Exclude(Vec<String>),
    Schema(Vec<String>),
    Coverage(Vec<String>),
}

#[derive(Clone, Copy)]
enum Format {
    Json,
    List,
    Paragraph,
    Code,
}

struct Bounds {
    min: Option<u64>,
    max: Option<u64>,
}

impl Rule {
    fn read(rule: &Value) -> Result<Rule, String> {
        let params = &rule["params"];
        match rule["type"].as_str() {
            Some("format") => read_format(params).map(Rule::Format),
            Some("length") => {
                let words = Bounds { min: read_count(params, "minWords")?, max: read_count(params, "maxWords")? };
                let bullets = Bounds { min: read_count(params, "minBullets")?, max: read_count(params, "maxBullets")? };
                let has_bound = [words.min, words.max, bullets.min, bullets.max].iter().any(Option::is_some);
                has_bound.then_some(Rule::Length { words, bullets }).ok_or_else(|| "has no bound".into())
            }
            Some("include") => read_terms(params, "terms").map(Rule::Include),
            Some("exclude") => read_terms(params, "terms").map(Rule::Exclude),
            Some("schema") => read_terms(params, "requiredKeys").map(Rule::Schema),
            Some("coverage") => read_terms(params, "entities").map(Rule::Coverage),
            Some(_) => Err("is of an unknown type".into()),
            None => Err("has no type".into()),
        }
    }

    /// Why the rule fails, if it does; excluded terms are put into `found`.
    fn failure(
        &self,
        text: &str,
        features: &Features,
        settings: &Settings,
        found: &mut Vec<Range<usize>>,
    ) -> Option<String> {
        match self {
            Rule::Format(format) => format.failure(text, features, settings).map(String::from),
            Rule::Length { words, bullets } => {
                let items = features.lines.list_items();
                words.failure(features.words, "words").or_else(|| bullets.failure(items, "list items"))
            }
            Rule::Include(terms) => named("Missing required terms", missing(text, terms)),
            Rule::Coverage(entities) => named("Missing coverage of", missing(text, entities)),
            Rule::Exclude(terms) => {
                let places = find_terms(text, terms);
                let forbidden: Vec<&str> = terms
                    .iter()
                    .zip(&places)
                    .filter(|(_, place)| place.is_some())
                    .map(|(term, _)| term.as_str())
                    .collect();
                found.extend(places.into_iter().flatten());
                named("Found forbidden terms", forbidden)
            }
            Rule::Schema(required) => {
                let Some(json) = features.json.as_ref().filter(|json| json.valid) else {
                    return Some("Expected JSON output but none found".into());
                };
                let is_missing = |key: &&String| json.keys.binary_search(key).is_err();
                named("Missing required keys", required.iter().filter(is_missing).map(String::as_str).collect())
            }
        }
    }
}

impl Format {
    fn failure(self, text: &str, features: &Features, settings: &Settings) -> Option<&'static str> {
        let items = features.lines.list_items();
        let sentences = if settings.sentences_are_pieces { features.pieces } else { features.sentences };
        let (met, reason) = match self {
            Format::Json => {
                (features.json.as_ref().is_some_and(|json| json.valid), "Expected JSON output but none found")
            }
            Format::List => (items > 0, "Expected list format but no list items found"),
            Format::Paragraph => {
                (items == 0 && sentences >= 2, "Expected paragraph format but found a list or a fragment")
            }
            Format::Code => {
                let indented = || features.has_tab || memmem::find(text.as_bytes(), b"    ").is_some();
                (features.lines.blocks > 0 || indented(), "Expected code but none found")
            }
        };
        (!met).then_some(reason)
    }
}

impl Bounds {
    fn failure(&self, count: u64, unit: &str) -> Option<String> {
        match (self.min, self.max) {
            (Some(min), _) if count < min => Some(format!("Expected at least {min} {unit}, got {count}")),
            (_, Some(max)) if count > max => Some(format!("Expected at most {max} {unit}, got {count}")),
            _ => None,
        }
    }
}

fn read_format(params: &Value) -> Result<Format, String> {
    match params["expect"].as_str() {
        Some("json") => Ok(Format::Json),
        Some("list") => Ok(Format::List),
        Some("paragraph") => Ok(Format::Paragraph),
        Some("code") => Ok(Format::Code),
        _ => Err("has no known format in params.expect".into()),
    }
}

fn read_count(params: &Value, name: &str) -> Result<Option<u64>, String> {
    match &params[name] {
        Value::Null => Ok(None),
        count => count.as_u64().map(Some).ok_or_else(|| format!("params.{name} is not a whole number from 0 on")),
    }
}

fn read_terms(params: &Value, name: &str) -> Result<Vec<String>, String> {
    let terms = params[name].as_array().ok_or_else(|| format!("params.{name} is not a list"))?;
    if terms.is_empty() || terms.len() > TERMS_MAX {
        return Err(format!("params.{name} needs 1 to {TERMS_MAX} terms"));
    }
    let read = terms.iter().map(|term| term.as_str().filter(|term| !term.is_empty()).map(String::from));
    read.collect::<Option<_>>().ok_or_else(|| format!("params.{name} holds something else than text"))
}

fn named(what: &str, terms: Vec<&str>) -> Option<String> {
    (!terms.is_empty()).then(|| format!("{what}: {}", terms.join(", ")))
}

fn missing<'t>(text: &str, terms: &'t [String]) -> Vec<&'t str> {
    let places = find_terms(text, terms);
    terms.iter().zip(places).filter(|(_, place)| place.is_none()).map(|(term, _)| term.as_str()).collect()
}

/// The first place of each term in any case; a term that only matches in another case of letters beyond ASCII is found
/// at an empty place at the beginning.
fn find_terms(text: &str, terms: &[String]) -> Vec<Option<Range<usize>>> {
    let mut places = vec![None; terms.len()];
    let built =
        AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::NoncontiguousNFA)).build(terms);
    if let Ok(automaton) = built {
        let mut open = terms.len();
        for found in automaton.find_overlapping_iter(text) {
            let place = &mut places[found.pattern().as_usize()];
            if place.is_none() {
                *place = Some(found.span().range());
                open -= 1;
            }
            if open == 0 {
                break;
            }
        }
    }
    if terms.iter().zip(&places).any(|(term, place)| place.is_none() && !term.is_ascii()) {
        let lower = text.to_lowercase();
        for (term, place) in terms.iter().zip(&mut places).filter(|(term, place)| place.is_none() && !term.is_ascii()) {
            *place = lower.contains(&term.to_lowercase()).then_some(0..0);
        }
    }
    places
}

/// The numbers of the engine, and the rules for records without their own.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// What the fault counts as: `fact`, `evidence`, `off`.
    pub effect: Effect,
    /// The ratio from which on the instructions are followed.
    pub followed_from: f64,
    /// P(fires | degraded) / P(fires | not), where it counts as evidence.
    pub likelihood_ratio: f64,
    /// Whether a sentence is whatever stands between any two of . ! ? (seed 001).
    pub sentences_are_pieces: bool,
    /// Rules for records that bring none.
    pub rules: Vec<Value>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            effect: Effect::Fact,
            followed_from: 0.8,
            likelihood_ratio: LIKELIHOOD_RATIO,
            sentences_are_pieces: false,
            rules: Vec::new(),
        }
    }
}

impl Settings {
    /// The letter of seed 001.
    pub fn seed() -> Settings {
        Settings { effect: Effect::Evidence, sentences_are_pieces: true, ..Settings::default() }
    }
}

/// The engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compliance {
    settings: Settings,
}

impl Compliance {
    /// The engine with these numbers and rules.
    pub fn new(settings: Settings) -> Compliance {
        Compliance { settings }
    }
}

impl Engine for Compliance {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        of_response(view, |response| {
            let own = view.record.rules.as_ref().map(|rules| rules.to_value());
            let rules = match &own {
                Some(Value::Array(rules)) => rules,
                Some(_) => return Assessment::not_assessed("the rules are not a list"),
                None => &self.settings.rules,
            };
            if rules.is_empty() {
                return Assessment::not_assessed("no rules");
            }
            self.assessment(check(rules, response, view.response, &self.settings))
        })
    }
}

impl Compliance {
    fn assessment(&self, report: Report) -> Assessment {
        let Report { results, ratio: compliance, valid } = report;
        let invalid = results.len() - valid;
        if valid == 0 {
            let assessment = Assessment::not_assessed("no valid rule");
            return assessment.with("invalid", Detail::Count(invalid as u64)).with("reasons", reasons(&results));
        }
        let failed = results.iter().filter(|result| matches!(result.outcome, Outcome::Failed(_))).count();
        let followed = compliance >= self.settings.followed_from;
        let absent = degraded(SIGNAL, self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
        let (status, signal) = if followed {
            (Status::Ok, Signal { score: 1.0 - compliance, ..absent })
        } else {
            (Status::Error, absent.fire(1.0 - compliance, format!("{failed} of {valid} rules are not followed")))
        };
        let mut assessment = Assessment::new(status, compliance)
            .with("followed", Detail::Flag(followed))
            .with("rules", Detail::Count(results.len() as u64))
            .with("failed", Detail::Count(failed as u64))
            .with("invalid", Detail::Count(invalid as u64));
        if failed + invalid > 0 {
            assessment = assessment.with("reasons", reasons(&results));
        }
        let places = results.into_iter().flat_map(|result| result.found).filter(|span| !span.is_empty());
        assessment
            .findings
            .extend(places.map(|span| Finding::new("compliance/excluded_term", Severity::Medium, "/response", span)));
        assessment.signal(self.settings.effect.of(signal))
    }
}

/// The first rules that failed or are invalid, as they may be shown.
fn reasons(results: &[RuleResult]) -> Detail {
    let reasons = results.iter().filter_map(|result| match &result.outcome {
        Outcome::Passed => None,
        Outcome::Failed(reason) => Some(shown(&format!("{}: {reason}", result.id))),
        Outcome::Invalid(reason) => Some(shown(&format!("{}: the rule {reason}", result.id))),
    });
    Detail::Text(reasons.take(NAMED_RULES_MAX).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn outcome(rule: Value, text: &str) -> Outcome {
        let report = check(&[rule], text, &Features::of(text), &Settings::default());
        report.results[0].outcome.clone()
    }

    fn rule(kind: &str, params: Value) -> Value {
        json!({"id": "r", "type": kind, "params": params})
    }

    #[test]
    fn formats() {
        let check = |format: &str, text: &str, passes: bool| {
            let outcome = outcome(rule("format", json!({"expect": format})), text);
            assert_eq!(outcome == Outcome::Passed, passes, "{format}: {text:?}");
        };
        check("json", "{\"a\":1}", true);
        check("json", "{\"a\":1", false);
        check("list", "Do:\n- a", true);
        check("list", "Do a.", false);
        check("paragraph", "One. Two.", true);
        check("paragraph", "One.", false);
        check("paragraph", "One. Two.\n- a", false);
        check("code", "a\tb", true);
        check("code", "```\nx\n```", true);
        check("code", "x = 1", false);
    }

    #[test]
    fn lengths() {
        let check = |params: Value, text: &str, reason: Option<&str>| {
            let expected = reason.map_or(Outcome::Passed, |reason| Outcome::Failed(reason.into()));
            assert_eq!(outcome(rule("length", params), text), expected);
        };
        check(json!({"minWords": 2, "maxWords": 2}), "a b", None);
        check(json!({"minWords": 3}), "a b", Some("Expected at least 3 words, got 2"));
        check(json!({"maxWords": 1}), "a b", Some("Expected at most 1 words, got 2"));
        check(json!({"maxBullets": 1}), "- a\n1. b", Some("Expected at most 1 list items, got 2"));
    }

    #[test]
    fn terms_in_any_case_also_beyond_ascii() {
        let text = "The CACHE is cold. ÜBER alles.";
        assert_eq!(outcome(rule("include", json!({"terms": ["cache", "über", "Cold"]})), text), Outcome::Passed);
        let missing = Outcome::Failed("Missing coverage of: hot, warm".into());
        assert_eq!(outcome(rule("coverage", json!({"entities": ["hot", "cold", "warm"]})), text), missing);
        let report = check(
            &[rule("exclude", json!({"terms": ["cache", "x"]}))],
            text,
            &Features::of(text),
            &Settings::default(),
        );
        assert_eq!(report.results[0].outcome, Outcome::Failed("Found forbidden terms: cache".into()));
        assert_eq!(report.results[0].found.first(), Some(&(4..9)));
    }

    #[test]
    fn keys() {
        let rule = || rule("schema", json!({"requiredKeys": ["a", "b"]}));
        assert_eq!(outcome(rule(), "{\"b\":1,\"a\":2}"), Outcome::Passed);
        assert_eq!(outcome(rule(), "{\"b\":{\"a\":2}}"), Outcome::Failed("Missing required keys: a".into()));
        assert!(matches!(outcome(rule(), "none"), Outcome::Failed(_)));
    }

    #[test]
    fn a_rule_that_cannot_be_checked_counts_neither_way() {
        let bad = [
            json!(null),
            json!({"id": 7}),
            rule("rhyme", json!({})),
            rule("format", json!({"expect": "poem"})),
            rule("length", json!({})),
            rule("length", json!({"minWords": -1})),
            rule("include", json!({"terms": []})),
            rule("include", json!({"terms": "x"})),
            rule("include", json!({"terms": [1]})),
            rule("include", json!({"terms": vec!["x"; TERMS_MAX + 1]})),
        ];
        for rule in &bad {
            assert!(matches!(outcome(rule.clone(), "x"), Outcome::Invalid(_)), "{rule}");
        }
        let mut rules = bad.to_vec();
        rules.push(rule("include", json!({"terms": ["x"]})));
        let report = check(&rules, "x", &Features::of("x"), &Settings::default());
        assert_eq!((report.valid, report.ratio), (1, 1.0));
        let many = vec![rule("include", json!({"terms": ["x"]})); RULES_MAX + 3];
        assert_eq!(check(&many, "x", &Features::of("x"), &Settings::default()).valid, RULES_MAX);
    }

    #[test]
    fn no_rules_are_followed_and_four_of_five_are_enough() {
        assert_eq!(compliance_ratio(0, 0), 1.0);
        let engine = Compliance::default();
        let passing = rule("include", json!({"terms": ["x"]}));
        let failing = rule("include", json!({"terms": ["y"]}));
        let of = |rules: &[Value]| engine.assessment(check(rules, "x", &Features::of("x"), &Settings::default()));
        let four = [passing.clone(), passing.clone(), passing.clone(), passing.clone(), failing.clone()];
        assert!(!of(&four).signals[0].fired);
        assert!(of(&[passing, failing]).signals[0].fired);
    }
}
