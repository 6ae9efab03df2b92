//! The engines of security, one at a time: JSON in, JSON out, in the shapes of the golden vectors.
//!
//! What is found is named by its rule and its place, and never printed: the values of an input may be secret.

use std::{
    ops::Range,
    sync::{Arc, LazyLock},
};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::{
    config,
    engines::{
        Engine, View,
        security::{Evidence, injection::Injection},
    },
    record::{Kind, Prompt, Record},
    rules::{Family, Library, Scanner, Suppressions, resolve},
    text::{Features, excerpt::REDACTED},
};

/// The built-in rules; compiled once for all inputs.
static SCANNER: LazyLock<Arc<Scanner>> = LazyLock::new(|| Arc::new(Scanner::new(Library::built_in())));

/// A proof goes before any ratio where hits overlap.
const PROOF_STRENGTH: f64 = 1e6;

/// `{"text"}` → each value of a person and each secret, how many there are, and the text without them.
pub fn pii(input: &Value, settings: &config::Settings) -> Result<Value> {
    let text = text(input)?;
    let library = SCANNER.library();
    let ignored = &settings.engines.pii.ignore;
    let scan = SCANNER.scan(text);
    let hits: Vec<_> = scan
        .hits
        .iter()
        .filter(|hit| matches!(library.rule(hit.rule).family(), Family::Pii | Family::Secret))
        .filter(|hit| !ignored.contains(&library.rule(hit.rule).id))
        .collect();
    let strength = |proven: bool, ratio: f64| ratio + if proven { PROOF_STRENGTH } else { 0.0 };
    let spans: Vec<_> =
        hits.iter().map(|hit| (hit.span.clone(), strength(hit.is_proven, hit.likelihood_ratio))).collect();
    let mut kept: Vec<_> = resolve::strongest(&spans).into_iter().map(|index| hits[index]).collect();
    kept.sort_by_key(|hit| hit.span.start);
    let findings = kept.iter().map(|hit| {
        let rule = library.rule(hit.rule);
        json!({
            "type": rule.id,
            "category": rule.category,
            "severity": rule.severity,
            "likelihoodRatio": hit.likelihood_ratio,
            "isExample": hit.example.is_some(),
            "start": hit.span.start,
            "end": hit.span.end,
        })
    });
    let redacted = without(text, kept.iter().map(|hit| hit.span.clone()));
    Ok(json!({"findings": findings.collect::<Vec<_>>(), "redacted": redacted, "piiCount": kept.len()}))
}

/// The text with a mark in the place of each span.
fn without(text: &str, spans: impl Iterator<Item = Range<usize>>) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        if let Some(between) = text.get(at..span.start) {
            shown.push_str(between);
            shown.push_str(REDACTED);
            at = span.end;
        }
    }
    shown + text.get(at..).unwrap_or_default()
}

/// `{"text"}` → what a user who says so tries, its ratio, and whether it is safe: below the ratio that flags.
pub fn injection(input: &Value, settings: &config::Settings) -> Result<Value> {
    let text = text(input)?;
    let mut record = Record::new(Kind::Llm);
    record.prompt = Prompt::Text(text.into());
    let evidence = Evidence::of(&record, &SCANNER, &Suppressions::default());
    let nothing = Features::default();
    let view = View { record: &record, response: &nothing, prompt: &nothing, prompt_text: text, evidence: &evidence };
    let engine = Injection::new(settings.engines.prompt_injection.clone(), SCANNER.clone());
    let assessment = engine.assess(&view).context("no prompt")?;
    let category = |rule: &str| SCANNER.library().find(rule).map(|rule| rule.category.clone());
    let findings = assessment.findings.iter().map(|finding| {
        json!({
            "rule": finding.rule,
            "category": category(&finding.rule),
            "severity": finding.severity,
            "start": finding.span.start,
            "end": finding.span.end,
        })
    });
    let ratio = assessment.signals.iter().filter(|signal| signal.fired).map(|signal| signal.likelihood_ratio);
    Ok(json!({
        "findings": findings.collect::<Vec<_>>(),
        "likelihoodRatio": ratio.fold(1.0, f64::max),
        "value": assessment.value,
        "safe": assessment.signals.iter().all(|signal| !signal.fired),
    }))
}

fn text(input: &Value) -> Result<&str> {
    input["text"].as_str().context("text is not a string")
}
