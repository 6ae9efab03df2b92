//! Points → likelihood ratio.
//!
//! **Formula**: exp of straight lines through [`POINTS_TO_RATIO`], so that the flag threshold (posterior 0.2 from a prior
//! of 0.01, ratio 24.8) and even odds (ratio 99) stand where they were tuned, and the block threshold (posterior 0.9, ratio
//! 891) between even odds and what is beyond doubt.
//!
//! **Range**: 1 to 2,000, never falling.
//!
//! **Source**: the two cuts are where 0.3% and 0.7% of the pooled benign prompts lie above (`docs/accuracy.md`); a rate
//! tuned a little lower than wanted, because on half of the prompts a threshold set on the other half lets through up
//! to twice as many.

use super::combine::along;

/// Points from which a text alone is more likely an attack than not.
pub const EVEN_POINTS: f64 = 8.1;
/// Points from which a text alone is flagged.
pub const FLAG_POINTS: f64 = 4.7;
/// Points below which nothing is said.
pub const FIRE_POINTS: f64 = 3.0;

/// The ratio below which nothing is said.
pub const FIRE_RATIO: f64 = 2.0;
/// The ratio of the flag threshold, and a little more: an absent signal beside it speaks slightly against.
pub const FLAG_RATIO: f64 = 25.0;
/// The ratio of even odds, and a little more.
pub const EVEN_RATIO: f64 = 100.0;
/// The ratio of the block threshold, and a little more: from here on an attack of which the outcome is not known blocks.
/// Policies stand in a layer above, and theirs is held against it.
pub const BLOCK_RATIO: f64 = 900.0;
/// The ratio of asking for what the system prompt protects: alone it flags. On topic or not, words in common happen.
pub const PROTECTED_RATIO: f64 = 26.0;
/// The least ratio of an attack that was flagged and worked: it blocks.
pub const SUCCEEDED_RATIO: f64 = 2000.0;
/// The largest ratio of a rule whose hit stands alone: it is shown, and does not flag.
pub const LONE_RATIO_MAX: f64 = 20.0;
/// Doubt, in points, from which a hit that stands alone is not shown.
pub const DOUBT_SHOWN: f64 = 3.0;
/// The ratio of high risk.
const HIGH_RISK_RATIO: f64 = 950.0;

/// Points and the ratios that belong to them.
pub const POINTS_TO_RATIO: [(f64, f64); 6] = [
    (0.0, 1.0),
    (FIRE_POINTS, FIRE_RATIO),
    (FLAG_POINTS, FLAG_RATIO),
    (EVEN_POINTS, EVEN_RATIO),
    (13.5, HIGH_RISK_RATIO),
    (16.0, 2000.0),
];

/// P(points | attack) / P(points | none).
pub fn likelihood_ratio(points: f64) -> f64 {
    along(&POINTS_TO_RATIO.map(|(points, ratio)| (points, ratio.ln())), points).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cuts_flag_and_block() {
        let policy = crate::config::QuestionPolicies::default().attacked;
        let (prior, flag_from, block_from) = (policy.prior, policy.flag_from, policy.block_from);
        let posterior = |ratio: f64| {
            let odds = prior / (1.0 - prior) * ratio;
            odds / (1.0 + odds)
        };
        let at = |points: f64| posterior(likelihood_ratio(points));
        assert!(at(FLAG_POINTS) >= flag_from && at(FLAG_POINTS - 0.3) < flag_from);
        assert!(at(EVEN_POINTS) >= 0.5 && at(EVEN_POINTS - 0.3) < 0.5);
        assert!(posterior(FLAG_RATIO) >= flag_from && posterior(FLAG_RATIO * 0.95) < flag_from);
        assert!(posterior(BLOCK_RATIO) >= block_from && posterior(BLOCK_RATIO * 0.95) < block_from);
        assert_eq!(likelihood_ratio(-1.0), 1.0);
        assert_eq!(likelihood_ratio(f64::INFINITY), likelihood_ratio(16.0));
    }

    #[test]
    fn more_points_never_mean_less() {
        let ratios: Vec<f64> = (0..400).map(|step| likelihood_ratio(f64::from(step) * 0.05)).collect();
        assert!(ratios.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}
