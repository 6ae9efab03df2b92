//! The runtime engines of one record in one number and one label.
//!
//! **Formula**: score = Σ weight · value / Σ weight over the metrics that apply, with the weights latency 0.25, token
//! rate 0.25, fingerprint 0.30 and structure 0.20. `stable` up to 0.25, `minor_variation` up to 0.50, `degraded` up to
//! 0.75, else `unstable`.
//!
//! **Range**: [0, 1]; 0 is well, 1 is unwell.
//!
//! **Source**: seed 001, "HealthScoreEngine".
//!
//! **Limits**: reported, never evidence: the posterior of `degraded` decides. A metric that was not assessed has no
//! weight, so the score of a record with one metric is that metric.

use serde::{Deserialize, Serialize};

use crate::engines::About;

/// What it is.
pub const ABOUT: About = About {
    name: "health",
    summary: "The runtime engines in one number and one label, reported beside the verdict.",
    formula: "sum(weight * value) / sum(weight) over the metrics that apply: latency 0.25, token_rate 0.25, fingerprint 0.30, structure 0.20",
    range: "0 (well) to 1 (unwell); stable <= 0.25 < minor_variation <= 0.50 < degraded <= 0.75 < unstable",
    source: "seed 001, HealthScoreEngine",
    signals: &[],
};

/// The labels, from well to unwell.
pub const LABELS: [&str; 4] = ["stable", "minor_variation", "degraded", "unstable"];

/// The weights and cuts of the score.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Weight of the latency engine's value.
    pub latency_weight: f64,
    /// Weight of the token rate engine's value.
    pub token_rate_weight: f64,
    /// Weight of the fingerprint engine's value.
    pub fingerprint_weight: f64,
    /// Weight of the structure engine's value.
    pub structure_weight: f64,
    /// `stable` up to this score.
    pub stable_up_to: f64,
    /// `minor_variation` up to this score.
    pub minor_variation_up_to: f64,
    /// `degraded` up to this score, `unstable` above it.
    pub degraded_up_to: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            latency_weight: 0.25,
            token_rate_weight: 0.25,
            fingerprint_weight: 0.30,
            structure_weight: 0.20,
            stable_up_to: 0.25,
            minor_variation_up_to: 0.50,
            degraded_up_to: 0.75,
        }
    }
}

impl Settings {
    /// The seed's weights and cuts, which are also the default.
    pub fn seed() -> Settings {
        Settings::default()
    }

    fn weight(&self, metric: &str) -> f64 {
        match metric {
            "latency" => self.latency_weight,
            "token_rate" => self.token_rate_weight,
            "fingerprint" => self.fingerprint_weight,
            "structure" => self.structure_weight,
            _ => 0.0,
        }
    }
}

/// Score and label of the metrics that apply; a metric without a weight is ignored. `None` when none applies.
pub fn score<'m>(
    results: impl IntoIterator<Item = (&'m str, f64)>,
    settings: &Settings,
) -> Option<(f64, &'static str)> {
    let mut weighted_sum = 0.0;
    let mut total_weight = 0.0;
    for (metric, value) in results.into_iter().filter(|(_, value)| value.is_finite()) {
        let weight = settings.weight(metric);
        weighted_sum += weight * value;
        total_weight += weight;
    }
    if total_weight <= 0.0 {
        return None;
    }
    let score = weighted_sum / total_weight;
    Some((score, label(score, settings)))
}

/// The label of a score.
pub fn label(score: f64, settings: &Settings) -> &'static str {
    let cuts = [settings.stable_up_to, settings.minor_variation_up_to, settings.degraded_up_to];
    LABELS[cuts.iter().filter(|cut| score > **cut).count()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const METRICS: [&str; 4] = ["latency", "token_rate", "fingerprint", "structure"];

    #[track_caller]
    fn check(values: [f64; 4], expected: f64, label: &str) {
        let results: Vec<_> = METRICS.into_iter().zip(values).collect();
        let (got, got_label) = score(results, &Settings::default()).unwrap();
        assert!((got - expected).abs() < 1e-12, "{values:?}: {got}");
        assert_eq!(got_label, label, "{values:?}");
    }

    #[test]
    fn the_weights_and_cuts_of_the_seed() {
        check([0.0, 0.0, 0.0, 0.0], 0.0, "stable");
        check([1.0, 0.0, 0.0, 0.0], 0.25, "stable");
        check([0.0, 0.0, 1.0, 0.0], 0.30, "minor_variation");
        check([1.0, 1.0, 0.0, 0.0], 0.50, "minor_variation");
        check([1.0, 1.0, 0.0, 1.0], 0.70, "degraded");
        check([1.0, 1.0, 1.0, 1.0], 1.0, "unstable");
    }

    #[test]
    fn only_metrics_that_apply_have_weight() {
        let settings = Settings::default();
        assert_eq!(score([("fingerprint", 0.4)], &settings), Some((0.4, "minor_variation")));
        assert_eq!(score([("fingerprint", 0.4), ("structure", f64::NAN)], &settings), Some((0.4, "minor_variation")));
        assert_eq!(score([("consistency", 0.9)], &settings), None);
        assert_eq!(score([], &settings), None);
    }

    proptest! {
        #[test]
        fn the_score_is_in_range_and_monotone(values in proptest::array::uniform4(0.0..1.0f64), i in 0..4usize) {
            let at = |values: [f64; 4]| {
                let results: Vec<_> = METRICS.into_iter().zip(values).collect();
                score(results, &Settings::default()).unwrap().0
            };
            let mut worse = values;
            worse[i] = 1.0;
            prop_assert!((0.0..=1.0 + 1e-12).contains(&at(values)));
            prop_assert!(at(values) <= at(worse) + 1e-12);
        }
    }
}
