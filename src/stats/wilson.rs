//! The Wilson score interval: between which rates a measured one may truly lie.
//!
//! **Formula**: with p = successes / trials, n = trials and z = [`Z_95`],
//! (p + z²/2n ± z √(p(1 - p)/n + z²/4n²)) / (1 + z²/n).
//!
//! **Range**: [0, 1], and the measured rate always lies inside.
//!
//! **Source**: E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22 (1927);
//! recommended over the normal approximation by Brown, Cai and DasGupta, Statistical Science 16 (2001).
//!
//! **Limits**: records are taken as independent; bursts make the true interval wider.

/// The two-sided 95% quantile of the standard normal distribution.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// The 95% interval of the rate `successes / trials`; `None` without trials. More successes than trials count as all.
pub fn interval(successes: u64, trials: u64) -> Option<(f64, f64)> {
    if trials == 0 {
        return None;
    }
    let successes = successes.min(trials);
    let n = trials as f64;
    let p = successes as f64 / n;
    let z2 = Z_95 * Z_95;
    let centre = p + z2 / (2.0 * n);
    let margin = Z_95 * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z2 / n;
    // At the ends the exact bounds are 0 and 1; rounding must not turn them into 1e-19 or 0.999….
    let low = if successes == 0 { 0.0 } else { ((centre - margin) / scale).clamp(0.0, p) };
    let high = if successes == trials { 1.0 } else { ((centre + margin) / scale).clamp(p, 1.0) };
    Some((low, high))
}

/// The lower end of [`interval`]: the rate that is exceeded with some confidence. 0 without trials.
pub fn lower_bound(successes: u64, trials: u64) -> f64 {
    interval(successes, trials).map_or(0.0, |(low, _)| low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(successes: u64, trials: u64, low: f64, high: f64) {
        let (got_low, got_high) = interval(successes, trials).unwrap();
        assert!((got_low - low).abs() < 1e-6 && (got_high - high).abs() < 1e-6, "{got_low} {got_high}");
    }

    // Closed forms: for k = 0 the upper end is z²/(n + z²), and k = n mirrors it.
    #[test]
    fn known_values() {
        check(0, 10, 0.0, 0.277_533);
        check(10, 10, 0.722_467, 1.0);
        check(5, 10, 0.236_593, 0.763_407);
        check(1, 10, 0.017_876, 0.404_150);
    }

    #[test]
    fn no_trials_have_no_interval() {
        assert_eq!(interval(0, 0), None);
        assert_eq!(lower_bound(3, 0), 0.0);
    }

    #[test]
    fn one_stray_record_in_a_large_log_is_below_a_tenth_of_a_percent() {
        assert!(lower_bound(1, 10_000) < 0.001);
    }

    proptest! {
        #[test]
        fn the_rate_lies_inside(successes in 0..5000u64, more in 0..5000u64) {
            prop_assume!(successes + more > 0);
            let (low, high) = interval(successes, successes + more).unwrap();
            let rate = successes as f64 / (successes + more) as f64;
            prop_assert!((0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high));
            prop_assert!(low <= rate && rate <= high);
        }

        #[test]
        fn the_lower_bound_grows_with_the_successes(successes in 0..999u64, trials in 1000..5000u64) {
            prop_assert!(lower_bound(successes, trials) < lower_bound(successes + 1, trials));
        }

        #[test]
        fn more_trials_at_the_same_rate_narrow_the_interval(successes in 0..100u64, more in 1..100u64) {
            let width = |k, n| { let (low, high) = interval(k, n).unwrap(); high - low };
            prop_assert!(width(4 * successes, 4 * (successes + more)) < width(successes, successes + more));
        }
    }
}
