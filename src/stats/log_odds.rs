//! The Bayesian combiner: a prior, one likelihood ratio per signal, and their sum on the log-odds scale.
//!
//! **Formula** (seed 002): log odds = ln(p / (1 - p)) + Σ contribution, with the prior p clamped to
//! [[`PRIOR_MIN`], 1 - [`PRIOR_MIN`]]. A signal that fired contributes ln(max(1 + (LR - 1) · score, [`RATIO_MIN`])). A
//! signal that was applicable but did not fire contributes ln(1 / max(LR · [`ABSENT_SHARE`], [`ABSENT_RATIO_MIN`])), and
//! only in tier 0. A signal that was fitted contributes what was fitted. The posterior is 1 / (1 + exp(-log odds)).
//!
//! **Range**: posterior in (0, 1); contribution in log-odds (nats). A signal that fired with a ratio of at least 1 never
//! lowers the posterior, one that did not fire never raises it.
//!
//! **Source**: seed 002, "How the Bayesian Combiner Works"; clamps and the tier-0 rule from the same engine, whose
//! quick start (0.127 from a prior of 0.15 with two absent signals) follows from them.
//!
//! **Limits**: signals are taken as independent given the answer. Correlated signals overstate; ratios that were not
//! fitted are kept small for this reason.

/// Priors are kept this far away from 0 and 1.
pub const PRIOR_MIN: f64 = 1e-6;
/// The share of a likelihood ratio with which its absence speaks against the question.
pub const ABSENT_SHARE: f64 = 0.1;
/// An absent signal divides the odds by at least this.
pub const ABSENT_RATIO_MIN: f64 = 1.01;
/// No signal divides the odds by more than the inverse of this, so that a ratio of 0 stays a number.
pub const RATIO_MIN: f64 = 1e-6;

/// One signal, as the combiner sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Whether it fired.
    pub fired: bool,
    /// Strength in [0, 1].
    pub score: f64,
    /// P(fires | yes) / P(fires | no) at full score.
    pub likelihood_ratio: f64,
    /// Whether its absence counts: applicable, and in tier 0.
    pub absence_counts: bool,
    /// What it adds to the log odds, where that was fitted; nothing else counts then.
    pub fitted_log_odds: Option<f64>,
}

impl Evidence {
    /// What the signal adds to the log odds, in nats.
    pub fn contribution(&self) -> f64 {
        if let Some(log_odds) = self.fitted_log_odds {
            log_odds
        } else if self.fired {
            (1.0 + (self.likelihood_ratio - 1.0) * self.score).max(RATIO_MIN).ln()
        } else if self.absence_counts {
            -(self.likelihood_ratio * ABSENT_SHARE).max(ABSENT_RATIO_MIN).ln()
        } else {
            0.0
        }
    }
}

/// The log odds of a prior, which is clamped first.
pub fn prior_log_odds(prior: f64) -> f64 {
    let prior = prior.clamp(PRIOR_MIN, 1.0 - PRIOR_MIN);
    (prior / (1.0 - prior)).ln()
}

/// The probability that belongs to `log_odds`.
pub fn probability(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// The posterior after all `evidence`, summed in its order.
pub fn posterior(prior: f64, evidence: impl IntoIterator<Item = Evidence>) -> f64 {
    let log_odds = evidence.into_iter().fold(prior_log_odds(prior), |sum, signal| sum + signal.contribution());
    probability(log_odds)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fired(score: f64, likelihood_ratio: f64) -> Evidence {
        Evidence { fired: true, score, likelihood_ratio, absence_counts: true, fitted_log_odds: None }
    }

    #[test]
    fn the_quick_start_of_the_seed_gives_0_127() {
        let absent = |likelihood_ratio| Evidence { fired: false, score: 0.0, ..fired(0.0, likelihood_ratio) };
        let p = posterior(0.15, [absent(3.5), absent(12.0)]);
        assert!((p - 0.127_097_102_186_070_15).abs() < 1e-12, "{p}");
    }

    #[test]
    fn no_evidence_leaves_the_prior() {
        assert!((posterior(0.15, []) - 0.15).abs() < 1e-12);
    }

    #[test]
    fn a_ratio_below_one_speaks_against() {
        let p = posterior(0.15, [fired(1.0, 0.5)]);
        assert!((p - 0.081_081_081_081_081_1).abs() < 1e-12, "{p}");
        assert!(posterior(0.15, [fired(1.0, 0.0)]) > 0.0);
    }

    #[test]
    fn certain_priors_are_clamped() {
        assert!(posterior(0.0, [fired(1.0, 12.0)]) > 0.0);
        assert!(posterior(1.0, []) < 1.0);
    }

    proptest! {
        #[test]
        fn a_fired_signal_never_lowers_the_posterior(prior in 0.0..1.0f64, score in 0.0..1.0f64, ratio in 1.0..1e4f64) {
            prop_assert!(posterior(prior, [fired(score, ratio)]) >= posterior(prior, []) - 1e-12);
        }

        #[test]
        fn the_posterior_grows_with_the_score(prior in 0.01..0.99f64, a in 0.0..1.0f64, b in 0.0..1.0f64, ratio in 1.0..1e3f64) {
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            prop_assert!(posterior(prior, [fired(low, ratio)]) <= posterior(prior, [fired(high, ratio)]) + 1e-12);
        }
    }
}
