//! A field that nearly every earlier result had and this one lacks.
//!
//! **Formula**: over at least [`RESULTS_MIN`] earlier results, a field is expected when it was in [`EXPECTED_FROM`] of
//! them. Score = [`MISSING_SCORE`] when an expected field is missing; a control chart of its own.
//!
//! **Range**: 0 or [`MISSING_SCORE`].
//!
//! **Source**: seed 002, "SPC Baselines" (the baseline tracks field frequency); rule and score are ours.
//!
//! **Limits**: the past weighs at most [`WEIGHT_MAX`] results, so that a field dropped for good is expected for some
//! two dozen results more. A result with more than 64 fields is not compared.

use serde::{Deserialize, Serialize};

/// Settings of the field-frequency chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether it counts (seed 002's program: no).
    pub counts: bool,
    /// Earlier results from which fields are compared.
    pub results_min: u64,
    /// Share of earlier results from which a field is expected.
    pub expected_from: f64,
    /// Score when an expected field is missing.
    pub missing_score: f64,
    /// Greatest weight of the past, in results.
    pub weight_max: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            counts: true,
            results_min: RESULTS_MIN,
            expected_from: EXPECTED_FROM,
            missing_score: MISSING_SCORE,
            weight_max: WEIGHT_MAX,
        }
    }
}

impl Settings {
    /// The letter of seed 002 and, where it is silent, its program.
    pub fn seed() -> Settings {
        Settings { counts: false, ..Settings::default() }
    }
}

/// Fewer results say little about what is always there.
pub const RESULTS_MIN: u64 = 20;
/// Nineteen of twenty.
pub const EXPECTED_FROM: f64 = 0.95;
/// As much as one point beyond three sigmas.
pub const MISSING_SCORE: f64 = 0.4;
/// As for the charts.
pub const WEIGHT_MAX: f64 = 500.0;

/// The rate of a field after one more result, when `results` came before.
pub fn learn(rate: f64, present: bool, results: u64, weight_max: f64) -> f64 {
    let sample = if present { 1.0 } else { 0.0 };
    rate + (sample - rate) / ((results + 1) as f64).min(weight_max).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_share_of_results() {
        let present = [true, true, false, true];
        let rate = present.iter().zip(0..).fold(0.0, |rate, (&yes, n)| learn(rate, yes, n, WEIGHT_MAX));
        assert!((rate - 0.75).abs() < 1e-12);
    }

    #[test]
    fn a_dropped_field_is_forgotten_soon() {
        let mut rate = (0..10_000).fold(0.0, |rate, n| learn(rate, true, n, WEIGHT_MAX));
        let mut missed = 0;
        while rate >= EXPECTED_FROM {
            rate = learn(rate, false, 10_000 + missed, WEIGHT_MAX);
            missed += 1;
        }
        assert_eq!(missed, 26);
    }
}
