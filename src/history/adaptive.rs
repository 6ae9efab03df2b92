//! Thresholds and priors that follow a person's feedback on a tool.
//!
//! **Formula**: rate ← (1 - α) · rate + α · label, from the prior on; block from clamp(b - (rate - prior), 0.1, 0.9) for
//! a usual threshold b; flag from the usual cut, at most the block threshold; prior = rate from the
//! [`PRIOR_FOLLOWS_FROM`]th feedback on.
//!
//! **Range**: rate in [0, 1], block threshold in [0.1, 0.9].
//!
//! **Source**: seed 002, "Adaptive Thresholds": a confirmed hallucination lowers the threshold. Its program's
//! clamp(1 - 2 · rate) raises it at first; ours starts at the usual threshold and moves the right way.
//!
//! **Limits**: feedback takes effect from where it stands in the input on, for its tool alone.

use serde::{Deserialize, Serialize};

/// Settings of the adaptation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Weight of the newest label.
    pub alpha: f64,
    /// Feedbacks from which the prior follows the rate.
    pub prior_follows_from: u64,
    /// Least block threshold that feedback can lead to.
    pub block_from_min: f64,
    /// Greatest block threshold that feedback can lead to.
    pub block_from_max: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            alpha: ALPHA,
            prior_follows_from: PRIOR_FOLLOWS_FROM,
            block_from_min: BLOCK_FROM_MIN,
            block_from_max: BLOCK_FROM_MAX,
        }
    }
}

/// Seed 002's program: weight of the newest label.
pub const ALPHA: f64 = 0.1;
/// Seed 002's program: the prior follows from the fifth feedback on.
pub const PRIOR_FOLLOWS_FROM: u64 = 5;
/// Seed 002's program: least block threshold.
pub const BLOCK_FROM_MIN: f64 = 0.1;
/// Seed 002's program: greatest block threshold.
pub const BLOCK_FROM_MAX: f64 = 0.9;

/// The prior and the thresholds of the question `fabricated`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cuts {
    /// P(fabricated) before any evidence.
    pub prior: f64,
    /// A posterior from here on is flagged.
    pub flag_from: f64,
    /// A posterior from here on is blocked.
    pub block_from: f64,
}

impl Default for Cuts {
    fn default() -> Cuts {
        Cuts { prior: PRIOR, flag_from: FLAG_FROM, block_from: BLOCK_FROM }
    }
}

/// The prior from which seed 002's quick start (0.127) follows.
pub const PRIOR: f64 = 0.15;
/// Seed 002: P < 0.2 is accepted.
pub const FLAG_FROM: f64 = 0.2;
/// Seed 002: P ≥ 0.5 is blocked.
pub const BLOCK_FROM: f64 = 0.5;

/// What feedback has taught about one tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Learnt {
    /// Rolling rate of hallucinations.
    pub rate: f64,
    /// Feedbacks so far.
    pub feedbacks: u64,
}

impl Learnt {
    /// Nothing yet: the rate is the prior.
    pub fn new(prior: f64) -> Learnt {
        Learnt { rate: prior, feedbacks: 0 }
    }

    /// Learns one label.
    pub fn learn(&mut self, was_hallucination: bool, settings: &Settings) {
        let label = if was_hallucination { 1.0 } else { 0.0 };
        self.rate = settings.alpha * label + (1.0 - settings.alpha) * self.rate;
        self.feedbacks += 1;
    }

    /// The cuts of a tool whose usual ones are `usual`.
    pub fn cuts(&self, usual: &Cuts, settings: &Settings) -> Cuts {
        if self.feedbacks == 0 {
            return *usual;
        }
        let moved = usual.block_from - (self.rate - usual.prior);
        let block_from = moved.min(settings.block_from_max).max(settings.block_from_min);
        let prior = if self.feedbacks >= settings.prior_follows_from { self.rate } else { usual.prior };
        Cuts { prior, flag_from: usual.flag_from.min(block_from), block_from }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after(labels: &[bool]) -> (Learnt, Cuts) {
        let (usual, settings) = (Cuts::default(), Settings::default());
        let mut learnt = Learnt::new(usual.prior);
        labels.iter().for_each(|&label| learnt.learn(label, &settings));
        (learnt, learnt.cuts(&usual, &settings))
    }

    /// Rates and priors of `adaptive/001`, whose program agrees with us in these.
    #[test]
    fn the_rate_and_the_prior_of_the_program() {
        let labels = [true, true, false, true, true, true, false, false, true, true];
        for (n, rate) in [(1, 0.235), (2, 0.3115), (3, 0.28035), (5, 0.417_083_5), (10, 0.501_893_635_915)] {
            let (learnt, cuts) = after(&labels[..n]);
            assert!((learnt.rate - rate).abs() < 1e-12, "{n}: {}", learnt.rate);
            assert_eq!(cuts.prior, if n >= 5 { learnt.rate } else { PRIOR });
        }
    }

    #[test]
    fn a_confirmed_hallucination_lowers_the_threshold() {
        assert!((after(&[true]).1.block_from - 0.415).abs() < 1e-12);
        assert!((after(&[false]).1.block_from - 0.515).abs() < 1e-12);
        assert_eq!(after(&[]).1, Cuts::default());
        let many = after(&[true; 60]).1;
        assert_eq!((many.block_from, many.flag_from), (0.1, 0.1));
    }

    proptest! {
        #[test]
        fn more_hallucinations_never_raise_the_threshold(labels in prop::collection::vec(any::<bool>(), 1..40), at in 0usize..40) {
            let mut worse = labels.clone();
            let at = at % labels.len();
            worse[at] = true;
            prop_assert!(after(&worse).1.block_from <= after(&labels).1.block_from + 1e-12);
            prop_assert!((BLOCK_FROM_MIN..=BLOCK_FROM_MAX).contains(&after(&labels).1.block_from));
        }
    }
}
