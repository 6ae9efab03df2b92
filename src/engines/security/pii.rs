//! Data about persons: what of it stands in the record, and what the answer brought up by itself.
//!
//! Looks for the rules of the family `pii` in every text. Of hits that overlap, with each other or with a secret, the
//! strongest stays; the others of the same place are named in its detail. A value in the fields that the user or the
//! operator filled is inventory: counted and shown, no evidence. So is a value of the answer that stood there before, and
//! one that documentation and tests use is labelled and no evidence either. What is left is new, and may be a leak.
//!
//! **Formula**: ratio of the signal = max over new values of min(ratio of the hit, cap of its severity), times the number
//! of different types of high severity whose check holds in context or is a proof. Caps: info 1, low 5, medium 40, high
//! 90, critical 500. So info and low never flag, medium and one high type flag, two high types block.
//!
//! **Range**: value: the number of new values, 0 and up.
//!
//! **Source**: seed 000 (PII types); the caps follow from the prior of `leaking` and its thresholds.
//!
//! **Limits**: [`FINDINGS_MAX`] findings of one record. Whether a value stood in the input is known by its letters and
//! digits, for what the rules find there, and verbatim for the first [`ECHO_VALUES_MAX`] new values.

use std::{borrow::Cow, collections::BTreeSet, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    Place, ScannedText,
    evidence::{Evidence, Found},
};
use crate::{
    engines::{
        About, Assessment, Detail, Engine, Finding, Question, RatioSource, Severity, Signal, SignalAbout, Status, Tier,
        View,
    },
    rules::{Family, Scanner, check::number, resolve},
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Data about persons, and what of it the answer brought up by itself.",
    formula: "ratio = max(min(ratio of the hit, cap of its severity)) · number of confirmed high types, new values only",
    range: "number of new values, 0 and up",
    source: "seed 000",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Leaking,
        title: "The answer gives away data about a person.",
        owasp: "LLM02",
        help: "Find out where the data came from; redact it in the answer and in the log.",
    }],
};

/// The signal.
pub const SIGNAL: &str = "pii";
/// Findings of one record that are reported.
pub const FINDINGS_MAX: usize = 1_000;
/// New values that are looked for verbatim in the input.
pub const ECHO_VALUES_MAX: usize = 32;
/// What else a place may be that a finding names.
const ALTERNATIVES_MAX: usize = 24;
/// The ratio of the signal when nothing was found.
const ABSENT_RATIO: f64 = 2.0;
/// A proof goes before any ratio where hits overlap.
const PROOF_STRENGTH: f64 = 1e6;

/// Settings of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Fields whose values are counted and shown, and are no evidence: what went in, and what a tool was called with.
    pub inventory_fields: Vec<Place>,
    /// Rules that are not looked at. Dates and web addresses are hardly ever about a person.
    pub ignore: Vec<String>,
    /// Values that are not reported; only their letters and digits are compared.
    pub allow: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            inventory_fields: vec![
                Place::System,
                Place::User,
                Place::Assistant,
                Place::ToolResult,
                Place::Context,
                Place::Arguments,
            ],
            ignore: ["pii/date_time", "pii/date_time_short", "pii/url"].map(str::to_owned).to_vec(),
            allow: Vec::new(),
        }
    }
}

/// The largest ratio that a value of this severity adds to the signal.
pub fn cap(severity: Severity) -> f64 {
    match severity {
        Severity::Info => 1.0,
        Severity::Low => 5.0,
        Severity::Medium => 40.0,
        Severity::High => 90.0,
        Severity::Critical => 500.0,
    }
}

/// The ratio of the signal, from the ratio, the severity and the rule of each new value, and whether it is confirmed.
pub fn combined_ratio<'r>(new: impl Iterator<Item = (f64, Severity, &'r str, bool)>) -> f64 {
    let mut largest = 1.0_f64;
    let mut confirmed = BTreeSet::new();
    for (ratio, severity, rule, is_confirmed) in new {
        largest = largest.max(ratio.min(cap(severity)));
        if is_confirmed && severity >= Severity::High {
            confirmed.insert(rule);
        }
    }
    largest * confirmed.len().max(1) as f64
}

/// The engine.
pub struct Pii {
    settings: Settings,
    allowed: BTreeSet<Vec<u8>>,
    scanner: Arc<Scanner>,
}

impl Pii {
    /// The engine with the rules of `scanner`.
    pub fn new(settings: Settings, scanner: Arc<Scanner>) -> Pii {
        let allowed = settings.allow.iter().map(|value| number::compact(value)).collect();
        Pii { settings, allowed, scanner }
    }

    /// What stays of the hits in `text`, each with what else it may be.
    fn found<'e>(&'e self, text: &'e ScannedText<'_>) -> Vec<Value<'e>> {
        let mut found: Vec<(Found<'e>, Range<usize>)> = Vec::new();
        for family in [Family::Secret, Family::Pii] {
            let hits = text.found(&self.scanner, family).filter(|found| !self.settings.ignore.contains(&found.rule.id));
            found.extend(hits.filter_map(|found| Some((found, found.span()?))));
        }
        if found.iter().all(|(found, _)| found.rule.family() == Family::Secret) {
            return Vec::new();
        }
        let spans: Vec<(Range<usize>, f64)> =
            found.iter().map(|(found, span)| (span.clone(), strength(found))).collect();
        let mut same_place: std::collections::BTreeMap<(usize, usize), Vec<usize>> = std::collections::BTreeMap::new();
        for (index, (_, span)) in found.iter().enumerate() {
            same_place.entry((span.start, span.end)).or_default().push(index);
        }
        let mut values = Vec::new();
        for kept in resolve::strongest(&spans) {
            let (hit, span) = &found[kept];
            if hit.rule.family() != Family::Pii {
                continue;
            }
            let others = same_place.get(&(span.start, span.end)).into_iter().flatten().filter(|other| **other != kept);
            let others = others.map(|other| found[*other].0.rule).filter(|rule| rule.id != hit.rule.id);
            let alternatives = others.map(|rule| name(&rule.id)).collect::<BTreeSet<_>>();
            let compact = number::compact(text.value().get(span.clone()).unwrap_or_default());
            values.push(Value { text, found: *hit, span: span.clone(), alternatives, compact });
        }
        values
    }

    fn is_inventory(&self, place: Place) -> bool {
        self.settings.inventory_fields.contains(&place)
    }
}

/// A value that was found.
struct Value<'e> {
    text: &'e ScannedText<'e>,
    found: Found<'e>,
    span: Range<usize>,
    alternatives: BTreeSet<&'e str>,
    /// Its letters and digits.
    compact: Vec<u8>,
}

impl Value<'_> {
    /// The value as it stands in its field.
    fn verbatim(&self) -> &str {
        self.text.value().get(self.span.clone()).unwrap_or_default()
    }

    fn finding(&self, is_inventory: bool) -> Finding {
        let mut detail: Vec<Cow<'static, str>> = Vec::new();
        if let Some(view) = self.found.view {
            detail.push(view.chain().into());
        }
        detail.extend(self.found.hit.example.map(Cow::Borrowed));
        if is_inventory {
            detail.push("inventory".into());
        }
        if !self.alternatives.is_empty() {
            let names: Vec<&str> = self.alternatives.iter().take(ALTERNATIVES_MAX).copied().collect();
            detail.push(format!("or {}", names.join(", ")).into());
        }
        Finding {
            rule: self.found.rule.id.clone().into(),
            severity: if is_inventory || self.found.hit.example.is_some() {
                Severity::Info
            } else {
                self.found.rule.severity
            },
            field: self.text.field.clone(),
            span: self.span.clone(),
            detail: detail.join("; ").into(),
        }
    }
}

/// The rule's name without its family.
fn name(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, name)| name)
}

fn strength(found: &Found<'_>) -> f64 {
    let proof = if found.hit.is_proven { PROOF_STRENGTH } else { 0.0 };
    found.hit.likelihood_ratio + proof
}

/// Of `values`, those that stood in the input: by their letters and digits, or verbatim.
fn echoes(values: &[Value<'_>], known: &BTreeSet<Vec<u8>>, evidence: &Evidence<'_>) -> Vec<bool> {
    let mut searches = 0;
    let mut is_echo = |value: &Value<'_>| {
        if known.contains(&value.compact) {
            return true;
        }
        searches += 1;
        let inputs = evidence.texts.iter().filter(|text| !text.place.is_output());
        searches <= ECHO_VALUES_MAX && inputs.into_iter().any(|text| text.value().contains(value.verbatim()))
    };
    values.iter().map(|value| value.text.place.is_output() && is_echo(value)).collect()
}

impl Engine for Pii {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        let evidence = view.evidence;
        let mut values: Vec<Value<'_>> = evidence.texts.iter().flat_map(|text| self.found(text)).collect();
        values.retain(|value| !self.allowed.contains(&value.compact));
        let known =
            values.iter().filter(|value| !value.text.place.is_output()).map(|value| value.compact.clone()).collect();
        let echoes = echoes(&values, &known, evidence);

        let mut findings = Vec::new();
        let mut new = Vec::new();
        let (mut inventory, mut examples) = (0_u64, 0_u64);
        for (value, is_echo) in values.iter().zip(echoes) {
            let is_inventory = is_echo || self.is_inventory(value.text.place);
            inventory += u64::from(is_inventory);
            examples += u64::from(value.found.hit.example.is_some());
            if !is_inventory && value.found.hit.example.is_none() {
                new.push(value);
            }
            if findings.len() < FINDINGS_MAX {
                findings.push(value.finding(is_inventory));
            }
        }
        let ratio = combined_ratio(new.iter().map(|value| {
            let Found { rule, hit, .. } = &value.found;
            (
                hit.likelihood_ratio,
                rule.severity,
                rule.id.as_str(),
                hit.is_proven || rule.check.is_some() && hit.in_context,
            )
        }));
        let names: BTreeSet<&str> = new.iter().map(|value| value.found.rule.id.as_str()).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        let worst = new.iter().map(|value| value.found.rule.severity).max();

        let signal = |ratio: f64| Signal::absent(SIGNAL, Question::Leaking, Tier::Zero, (ratio, RatioSource::Default));
        let signal = if ratio > 1.0 {
            signal(ratio).fire(1.0, format!("new in the answer: {names}"))
        } else {
            signal(ABSENT_RATIO)
        };
        let status = match worst {
            Some(Severity::High | Severity::Critical) => Status::Error,
            Some(Severity::Medium) => Status::Warn,
            _ => Status::Ok,
        };
        let mut assessment = Assessment::new(status, new.len() as f64)
            .with("found", Detail::Count(values.len() as u64))
            .with("inventory", Detail::Count(inventory))
            .with("examples", Detail::Count(examples))
            .with("new", Detail::Count(new.len() as u64))
            .with("new_types", Detail::Text(names))
            .with("is_capped", Detail::Flag(!evidence.limits.is_empty() || values.len() > FINDINGS_MAX))
            .signal(signal);
        assessment.findings = findings;
        Some(assessment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        record::{Kind, Prompt, Record},
        rules::Library,
        text::Features,
    };

    fn assess(settings: Settings, prompt: &str, response: &str) -> Assessment {
        let scanner = Arc::new(Scanner::new(Library::built_in()));
        let mut record = Record::new(Kind::Llm);
        record.prompt = Prompt::Text(Cow::Borrowed(prompt));
        record.response = Some(Cow::Borrowed(response));
        let evidence = Evidence::of(&record, &scanner, &crate::rules::Suppressions::default());
        let features = Features::default();
        let view =
            View { record: &record, response: &features, prompt: &features, prompt_text: prompt, evidence: &evidence };
        Pii::new(settings, scanner.clone()).assess(&view).unwrap()
    }

    fn ratio(prompt: &str, response: &str) -> Option<f64> {
        let assessment = assess(Settings::default(), prompt, response);
        assessment.signals.first().filter(|signal| signal.fired).map(|signal| signal.likelihood_ratio)
    }

    #[test]
    fn what_is_new_in_the_answer_is_evidence_by_its_severity() {
        let (flag, block) = (24.8, 99.0);
        assert!(ratio("hi", "His SSN: 536-22-8417.").is_some_and(|ratio| (flag..block).contains(&ratio)));
        assert!(ratio("hi", "His SSN: 536-22-8417, card 4539 5787 6362 1486.").is_some_and(|ratio| ratio >= block));
        assert!(ratio("hi", "e-mail ana.lopez@gmail.com").is_some_and(|ratio| (flag..block).contains(&ratio)));
        assert_eq!(ratio("hi", "Mrs. Ada Grant lives at 4616 Juniper Way, Riverside, OH 34316"), None);
    }

    #[test]
    fn what_stood_in_the_prompt_and_what_documentation_uses_is_none() {
        assert_eq!(ratio("my ssn is 536 22 8417", "You said 536-22-8417."), None);
        assert_eq!(ratio("ana.lopez@gmail.com wrote", "hello ana.lopez@gmail.com"), None);
        assert_eq!(
            ratio("hi", "SSN: 123-45-6789, jo@example.com, card 4111 1111 1111 1111, call (212) 555-0142"),
            None
        );
        let assessment = assess(Settings::default(), "SSN: 536-22-8417", "fine");
        assert_eq!(assessment.findings.len(), 1);
        assert_eq!(assessment.findings[0].detail, "inventory");
    }

    #[test]
    fn settings_decide_what_is_looked_at() {
        let found = |settings: Settings| assess(settings, "hi", "SSN: 536-22-8417").findings.len();
        assert_eq!(found(Settings::default()), 1);
        assert_eq!(
            found(Settings { ignore: vec!["pii/us_ssn".into(), "pii/phone_number".into()], ..Settings::default() }),
            0
        );
        assert_eq!(found(Settings { allow: vec!["536 22 8417".into()], ..Settings::default() }), 0);
        let settings = Settings { inventory_fields: vec![Place::Response], ..Settings::default() };
        assert!(!assess(settings, "hi", "SSN: 536-22-8417").signals[0].fired);
    }

    #[test]
    fn hostile_texts_are_scanned_in_linear_time_and_the_cap_shows() {
        let scanner = Scanner::new(Library::built_in());
        for unit in [
            "4",
            "4539578763621486 ",
            "1 2 3 ",
            "12-",
            "a1b2",
            "@a.",
            "1.2.3.4 ",
            "SSN 536-22-8417 ",
            "::1:",
            "09/",
            "(1)",
        ] {
            let text = unit.repeat(60_000 / unit.len());
            let scan = scanner.scan(&text);
            assert!(scan.hits.len() <= 200 * 12, "{unit} {}", scan.hits.len());
        }
        assert!(scanner.scan(&"SSN 536-22-8417 ".repeat(300)).is_capped);
    }
}
