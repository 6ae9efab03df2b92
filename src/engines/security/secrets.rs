//! Keys, tokens and passwords.

use serde::{Deserialize, Serialize};

use crate::{
    engines::{About, Assessment, Detail, Engine, Finding, Question, RatioSource, Signal, Status, Tier, View},
    rules::{Family, Scanner},
};

/// The signal.
pub const SIGNAL: &str = "secrets";

/// Settings of the engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {}

/// The engine.
pub struct Secrets {
    scanner: std::sync::Arc<Scanner>,
}

impl Secrets {
    /// The engine with the rules of `scanner`.
    pub fn new(_settings: Settings, scanner: std::sync::Arc<Scanner>) -> Secrets {
        Secrets { scanner }
    }
}

impl Engine for Secrets {
    fn about(&self) -> About {
        About {
            name: SIGNAL,
            summary: "Keys, tokens and passwords.",
            formula: "largest likelihood ratio of the hits",
            range: "0 (nothing found) to 1",
            source: "seed 000",
        }
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        let mut findings = Vec::new();
        let mut ratio = 0.0_f64;
        for text in &view.evidence.texts {
            for found in text.found(&self.scanner, Family::Secret) {
                let Some(span) = found.span() else { continue };
                ratio = ratio.max(found.hit.likelihood_ratio);
                let detail = found.view.map_or("".into(), |view| view.chain().into());
                findings.push(Finding {
                    rule: found.rule.id.clone().into(),
                    severity: found.rule.severity,
                    field: text.field.clone(),
                    span,
                    detail,
                });
            }
        }
        let absent = Signal::absent(SIGNAL, Question::Leaking, Tier::Zero, (ratio.max(2.0), RatioSource::Default));
        let signal = if findings.is_empty() { absent } else { absent.fire(1.0, "rules hit") };
        let status = if findings.is_empty() { Status::Ok } else { Status::Error };
        let mut assessment = Assessment::new(status, if findings.is_empty() { 0.0 } else { 1.0 })
            .with("findings", Detail::Count(findings.len() as u64))
            .signal(signal);
        assessment.findings = findings;
        Some(assessment)
    }
}
