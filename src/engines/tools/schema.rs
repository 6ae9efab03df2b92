//! Fields that a tool's answer must have and does not, or must not have and does.
//!
//! **Formula**: score = violations / (required + forbidden); [`Settings::not_an_object_score`] when fields are required
//! and the answer is not an object. It fires on any violation.
//!
//! **Range**: 0 (nothing wrong) to 1 (every rule violated).
//!
//! **Source**: seed 002, signal `schema_mismatch` (ratio 12.0); the score is its program's.
//!
//! **Limits**: top-level field names only. An answer that is an explicit error is not a made-up one: its missing
//! fields do not count (`tool_error` does), its forbidden ones do.

use serde::{Deserialize, Serialize};

use crate::engines::{About, Question, SignalAbout};

/// Settings of the schema check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// P(fires | fabricated) / P(fires | real).
    pub likelihood_ratio: f64,
    /// Score of an answer that is no object although fields are required.
    pub not_an_object_score: f64,
    /// Whether an explicit error lacks its required fields like any other answer (seed 002).
    pub errors_are_violations: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            likelihood_ratio: LIKELIHOOD_RATIO,
            not_an_object_score: NOT_AN_OBJECT_SCORE,
            errors_are_violations: false,
        }
    }
}

impl Settings {
    /// The letter of seed 002 and, where it is silent, its program.
    pub fn seed() -> Settings {
        Settings { errors_are_violations: true, ..Settings::default() }
    }
}

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Finds tool answers that lack a required field or have a forbidden one.",
    formula: "violations / (required + forbidden); 0.8 when fields are required and the answer is no object",
    range: "0 (nothing wrong) to 1 (every rule violated)",
    source: "seed 002",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Fabricated,
        title: "The tool's answer lacks a required field or has a forbidden one.",
        owasp: "LLM09",
        help: "Compare with a real answer of the tool; forbidden fields betray mocks.",
    }],
};

/// The signal of this check.
pub const SIGNAL: &str = "schema_mismatch";
/// Seed 002, "Signal Types & Likelihood Ratios".
pub const LIKELIHOOD_RATIO: f64 = 12.0;
/// The score of seed 002's program for an answer that is no object.
pub const NOT_AN_OBJECT_SCORE: f64 = 0.8;

/// What the check found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mismatch<'p> {
    /// Strength in [0, 1].
    pub score: f64,
    /// Required fields that are not there.
    pub missing: Vec<&'p str>,
    /// Forbidden fields that are there.
    pub forbidden: Vec<&'p str>,
    /// How many fields are required of an answer that is no object.
    pub not_an_object: Option<usize>,
}

impl Mismatch<'_> {
    /// Whether anything is wrong.
    pub fn fired(&self) -> bool {
        self.score > 0.0
    }

    /// What is wrong, as a clause; empty when nothing is.
    pub fn describe(&self) -> String {
        if let Some(required) = self.not_an_object {
            return format!("the answer is not an object although {required} fields are required");
        }
        let mut parts = Vec::new();
        if !self.missing.is_empty() {
            parts.push(format!("missing required fields: {}", self.missing.join(", ")));
        }
        if !self.forbidden.is_empty() {
            parts.push(format!("forbidden fields present: {}", self.forbidden.join(", ")));
        }
        parts.join("; ")
    }
}

/// Checks an answer of which `present` knows the top-level fields.
pub fn check<'p>(
    is_object: bool,
    present: impl Fn(&str) -> bool,
    required: &'p [String],
    forbidden: &'p [String],
    not_an_object_score: f64,
) -> Mismatch<'p> {
    if !is_object {
        let not_an_object = (!required.is_empty()).then_some(required.len());
        let score = if not_an_object.is_some() { not_an_object_score } else { 0.0 };
        return Mismatch { score, not_an_object, ..Mismatch::default() };
    }
    let missing: Vec<&str> = required.iter().map(String::as_str).filter(|field| !present(field)).collect();
    let forbidden_found: Vec<&str> = forbidden.iter().map(String::as_str).filter(|field| present(field)).collect();
    let violations = missing.len() + forbidden_found.len();
    let score = if violations == 0 { 0.0 } else { violations as f64 / (required.len() + forbidden.len()) as f64 };
    Mismatch { score, missing, forbidden: forbidden_found, not_an_object: None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    fn score_of(fields: Option<&[&str]>, required: &[&str], forbidden: &[&str]) -> f64 {
        let (required, forbidden) = (strings(required), strings(forbidden));
        let present = |name: &str| fields.is_some_and(|fields| fields.contains(&name));
        check(fields.is_some(), present, &required, &forbidden, NOT_AN_OBJECT_SCORE).score
    }

    #[test]
    fn scores() {
        assert_eq!(score_of(Some(&["a", "b"]), &["a", "b"], &[]), 0.0);
        assert_eq!(score_of(Some(&["a"]), &["a", "b"], &[]), 0.5);
        assert_eq!(score_of(Some(&["a", "error"]), &["a"], &["error", "mock"]), 1.0 / 3.0);
        assert_eq!(score_of(Some(&["A"]), &["a"], &[]), 1.0);
        assert_eq!(score_of(None, &["a"], &["b"]), 0.8);
        assert_eq!(score_of(None, &[], &["b"]), 0.0);
    }

    #[test]
    fn the_detail_names_what_is_wrong() {
        let (required, forbidden) = (strings(&["a", "b"]), strings(&["mock"]));
        let found = check(true, |name| name == "mock", &required, &forbidden, NOT_AN_OBJECT_SCORE);
        assert_eq!(found.describe(), "missing required fields: a, b; forbidden fields present: mock");
    }

    proptest! {
        #[test]
        fn more_missing_fields_never_score_less(present in 0usize..6, required in 1usize..6) {
            let names = strings(&["a", "b", "c", "d", "e", "f"]);
            let with = |count: usize| {
                let there = &names[..count];
                check(true, |name| there.iter().any(|n| n == name), &names[..required], &[], 0.8).score
            };
            prop_assert!((0.0..=1.0).contains(&with(present)));
            prop_assert!(with(present) >= with(present + 1));
        }
    }
}
