//! A tool's answer that matches none of the patterns that its real answers match.
//!
//! **Formula**: score = [`MISMATCH_SCORE`] when no pattern matches the JSON text of the answer, else 0.
//!
//! **Range**: 0 or [`MISMATCH_SCORE`].
//!
//! **Source**: seed 002, signal `pattern_mismatch` (ratio 6.0); the score is its program's. The JSON text has the
//! separators `", "` and `": "`, so that patterns written for that program go on matching; non-ASCII is not escaped.
//!
//! **Limits**: the patterns are linear-time regular expressions (no look-around, no back-references); one whose
//! compiled form exceeds [`COMPILED_SIZE_BYTES_MAX`] is refused.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use crate::engines::{About, Question, SignalAbout};

/// Settings of the pattern check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// P(fires | fabricated) / P(fires | real).
    pub likelihood_ratio: f64,
    /// Score of an answer that no pattern matches.
    pub mismatch_score: f64,
    /// Whether a pattern that does not compile is one that never matches (seed 002's program), not a wrong
    /// configuration.
    pub tolerate_bad_patterns: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { likelihood_ratio: LIKELIHOOD_RATIO, mismatch_score: MISMATCH_SCORE, tolerate_bad_patterns: false }
    }
}

impl Settings {
    /// The letter of seed 002 and, where it is silent, its program.
    pub fn seed() -> Settings {
        Settings { tolerate_bad_patterns: true, ..Settings::default() }
    }
}

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Finds tool answers that match none of the expected patterns.",
    formula: "0.8 when no pattern matches the JSON text",
    range: "0 or 0.8",
    source: "seed 002",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Fabricated,
        title: "The tool's answer matches none of the patterns that it should.",
        owasp: "LLM09",
        help: "Compare with a real answer of the tool; adjust its profile when that has changed.",
    }],
};

/// The signal of this check.
pub const SIGNAL: &str = "pattern_mismatch";
/// Seed 002, "Signal Types & Likelihood Ratios".
pub const LIKELIHOOD_RATIO: f64 = 6.0;
/// The score of seed 002's program.
pub const MISMATCH_SCORE: f64 = 0.8;
/// Largest compiled size of one pattern.
pub const COMPILED_SIZE_BYTES_MAX: usize = 1 << 20;

/// The compiled patterns of one tool.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    compiled: Vec<Regex>,
    stated: usize,
}

/// A pattern that does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPattern {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

impl std::fmt::Display for BadPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "response pattern {:?}: {}", self.pattern, self.reason)
    }
}

impl std::error::Error for BadPattern {}

impl Patterns {
    /// Compiles `patterns`; with `tolerate_bad`, leaves out those that do not compile.
    pub fn compile(patterns: &[String], tolerate_bad: bool) -> Result<Patterns, BadPattern> {
        let mut compiled = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            match RegexBuilder::new(pattern).size_limit(COMPILED_SIZE_BYTES_MAX).build() {
                Ok(regex) => compiled.push(regex),
                Err(_) if tolerate_bad => (),
                Err(error) => return Err(BadPattern { pattern: pattern.clone(), reason: error.to_string() }),
            }
        }
        Ok(Patterns { compiled, stated: patterns.len() })
    }

    /// How many patterns the profile states, those that never match included.
    pub fn stated(&self) -> usize {
        self.stated
    }

    /// Whether one of them matches somewhere in the JSON text of an answer.
    pub fn any_match(&self, json_text: &str) -> bool {
        self.compiled.iter().any(|pattern| pattern.is_match(json_text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patterns: &[&str], json_text: &str, expected: bool) {
        let patterns: Vec<String> = patterns.iter().map(|pattern| pattern.to_string()).collect();
        let patterns = Patterns::compile(&patterns, true).unwrap();
        assert_eq!(patterns.any_match(json_text), expected, "{patterns:?} on {json_text}");
    }

    #[test]
    fn one_match_is_enough() {
        check(&[r#""temperature":\s*-?\d+"#], r#"{"temperature": 18}"#, true);
        check(&[r#""temperature":\s*-?\d+"#], r#"{"temperature": "x"}"#, false);
        check(&["[bad"], r#"{"a": 1}"#, false);
        check(&["[bad", r#""a""#], r#"{"a": 1}"#, true);
        check(&["Zürich"], r#"{"city": "Zürich"}"#, true);
    }

    #[test]
    fn a_pattern_too_large_to_compile_is_refused() {
        let huge = vec![r"\w{1000}{1000}".to_string()];
        assert!(Patterns::compile(&huge, false).is_err());
    }
}
