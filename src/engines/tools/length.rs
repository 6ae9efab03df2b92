//! A tool's answer that is shorter or longer than its real answers are.
//!
//! **Formula**: below the minimum, score = [`SHORT_SCORE_MAX`] · (1 - length / minimum); above the maximum,
//! [`LONG_SCORE`]. Length is that of the JSON text, in code points.
//!
//! **Range**: 0 to [`SHORT_SCORE_MAX`].
//!
//! **Source**: seed 002, signal `length_anomaly` (ratio 2.0); the scores are its program's.
//!
//! **Limits**: bounds are the user's; how unusual a length is for the stream is charted in history.

use serde::{Deserialize, Serialize};

use crate::engines::{About, Question, SignalAbout};

/// Settings of the length check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// P(fires | fabricated) / P(fires | real).
    pub likelihood_ratio: f64,
    /// Score of an empty answer below the minimum.
    pub short_score_max: f64,
    /// Score of an answer above the maximum.
    pub long_score: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { likelihood_ratio: LIKELIHOOD_RATIO, short_score_max: SHORT_SCORE_MAX, long_score: LONG_SCORE }
    }
}

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Finds tool answers that are shorter or longer than expected.",
    formula: "below the minimum: 0.5 (1 - length / minimum); above the maximum: 0.2",
    range: "0 to 0.5",
    source: "seed 002",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Fabricated,
        title: "The tool's answer is shorter or longer than it should be.",
        owasp: "LLM09",
        help: "Compare with a real answer of the tool; adjust its profile when that has changed.",
    }],
};

/// The signal of this check.
pub const SIGNAL: &str = "length_anomaly";
/// Seed 002, "Signal Types & Likelihood Ratios".
pub const LIKELIHOOD_RATIO: f64 = 2.0;
/// The factor of seed 002's program below the minimum.
pub const SHORT_SCORE_MAX: f64 = 0.5;
/// The score of seed 002's program above the maximum.
pub const LONG_SCORE: f64 = 0.2;

/// The score of an answer of `length` code points; 0 when it is within the bounds.
pub fn score(length: u64, minimum: Option<u64>, maximum: Option<u64>, settings: &Settings) -> f64 {
    match (minimum, maximum) {
        (Some(minimum), _) if length < minimum => settings.short_score_max * (1.0 - length as f64 / minimum as f64),
        (_, Some(maximum)) if length > maximum => settings.long_score,
        _ => 0.0,
    }
}

/// Why a length is out of bounds, as a clause; empty when it is not.
pub fn describe(length: u64, minimum: Option<u64>, maximum: Option<u64>) -> String {
    match (minimum, maximum) {
        (Some(minimum), _) if length < minimum => format!("{length} characters, expected at least {minimum}"),
        (_, Some(maximum)) if length > maximum => format!("{length} characters, expected at most {maximum}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scores() {
        for (length, minimum, maximum, expected) in [
            (8, Some(50), None, 0.42),
            (8, Some(8), None, 0.0),
            (0, Some(10), Some(20), 0.5),
            (21, Some(10), Some(20), 0.2),
            (20, Some(10), Some(20), 0.0),
            (7, None, None, 0.0),
        ] {
            let got = score(length, minimum, maximum, &Settings::default());
            assert!((got - expected).abs() < 1e-12, "{length} in {minimum:?}..{maximum:?}: {got}");
            assert_eq!(describe(length, minimum, maximum).is_empty(), expected == 0.0);
        }
    }

    proptest! {
        #[test]
        fn shorter_never_scores_less(a in 0u64..100, b in 0u64..100, minimum in 0u64..100) {
            let at = |length| score(length, Some(minimum), None, &Settings::default());
            prop_assert!((0.0..=SHORT_SCORE_MAX).contains(&at(a)));
            prop_assert!(at(a.min(b)) >= at(a.max(b)));
        }
    }
}
