//! Whether two rates differ: Fisher's exact test for small counts, the score test for large ones, and an interval.
//!
//! **Formula**: with a of n and b of m, p = (a + b) / (n + m):
//! - Fisher: the sum of all hypergeometric probabilities of tables with the same margins that are no likelier than the
//!   one at hand. Used while an expected count is below [`EXPECTED_MIN`].
//! - Score: z = (a/n - b/m) / √(p(1 - p)(1/n + 1/m)); two-sided.
//! - Newcombe's interval of a/n - b/m, from the Wilson intervals (l, u) of both: d - √((p₁ - l₁)² + (u₂ - p₂)²) to
//!   d + √((u₁ - p₁)² + (p₂ - l₂)²).
//!
//! **Range**: P in [0, 1]; differences in [-1, 1].
//!
//! **Source**: R. A. Fisher (1935); R. G. Newcombe, "Interval estimation for the difference between independent
//! proportions", Statistics in Medicine 17 (1998), method 10.
//!
//! **Limits**: records are taken as independent; several tests at once find something by chance.

use super::{normal, wilson};

/// With every expected count from here on, the score test is close enough.
pub const EXPECTED_MIN: f64 = 10.0;
/// Tables that Fisher's test adds up at most; beyond, the score test answers.
pub const TABLES_MAX: u64 = 100_000;

/// How two rates compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The second rate less the first.
    pub difference: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// How likely a difference at least as large is when there is none.
    pub p: f64,
    /// Whether that is Fisher's exact test.
    pub is_exact: bool,
}

/// Compares `before` and `after`, each successes and trials; `None` when one has no trials.
pub fn compare(before: (u64, u64), after: (u64, u64)) -> Option<Difference> {
    let ((a, n), (b, m)) = ((before.0.min(before.1), before.1), (after.0.min(after.1), after.1));
    let ((low_a, high_a), (low_b, high_b)) = (wilson::interval(a, n)?, wilson::interval(b, m)?);
    let (rate_a, rate_b) = (a as f64 / n as f64, b as f64 / m as f64);
    let difference = rate_b - rate_a;
    let hits = a + b;
    let smallest = hits.min(n + m - hits) as f64 * n.min(m) as f64 / (n + m) as f64;
    let is_exact = smallest < EXPECTED_MIN && hits.min(n + m - hits) < TABLES_MAX;
    Some(Difference {
        difference,
        low: (difference - (rate_b - low_b).hypot(high_a - rate_a)).clamp(-1.0, 1.0),
        high: (difference + (high_b - rate_b).hypot(rate_a - low_a)).clamp(-1.0, 1.0),
        p: if is_exact { fisher(a, n, b, m) } else { score(a, n, b, m) },
        is_exact,
    })
}

/// The two-sided score test.
fn score(a: u64, n: u64, b: u64, m: u64) -> f64 {
    let (n_f, m_f) = (n as f64, m as f64);
    let p = (a + b) as f64 / (n_f + m_f);
    let sigma = (p * (1.0 - p) * (1.0 / n_f + 1.0 / m_f)).sqrt();
    if sigma == 0.0 {
        return 1.0;
    }
    let z = (b as f64 / m_f - a as f64 / n_f) / sigma;
    normal::tail(z.abs()).min(1.0)
}

/// Fisher's exact test, two-sided.
fn fisher(a: u64, n: u64, b: u64, m: u64) -> f64 {
    /// Two tables are equally likely when they differ by less than rounding.
    const SLACK: f64 = 1e-7;
    let hits = a + b;
    let (least, most) = (hits.saturating_sub(m), hits.min(n));
    let log = |k: u64| ln_choose(n, k) + ln_choose(m, hits - k);
    let (total, own) = (ln_choose(n + m, hits), log(a));
    let sum: f64 = (least..=most).map(log).filter(|&log| log <= own + SLACK).map(|log| (log - total).exp()).sum();
    sum.min(1.0)
}

fn ln_choose(n: u64, k: u64) -> f64 {
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

/// ln n!, by the product for small n and Stirling's series for large ones.
fn ln_factorial(n: u64) -> f64 {
    const SMALL: u64 = 32;
    if n < SMALL {
        return (2..=n).map(|k| (k as f64).ln()).sum();
    }
    let x = n as f64;
    x * x.ln() - x + 0.5 * (std::f64::consts::TAU * x).ln() + 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(before: (u64, u64), after: (u64, u64), p: f64, is_exact: bool) {
        let got = compare(before, after).unwrap();
        assert!((got.p - p).abs() < 1e-6 && got.is_exact == is_exact, "{got:?}");
    }

    // Fisher: the values of R's fisher.test; score: 2 · (1 - Φ(|z|)) by hand.
    #[test]
    fn known_tests() {
        check((3, 4), (1, 4), 0.485_714, true);
        check((8, 10), (1, 10), 0.005_477, true);
        check((0, 50), (0, 70), 1.0, true);
        check((100, 1000), (150, 1000), 0.000_723, false);
    }

    // Newcombe 1998, table II: 56/70 - 48/80, method 10.
    #[test]
    fn a_known_interval() {
        let got = compare((48, 80), (56, 70)).unwrap();
        assert!((got.low - 0.0524).abs() < 1e-4 && (got.high - 0.3339).abs() < 1e-4, "{got:?}");
    }

    #[test]
    fn without_trials_there_is_nothing_to_compare() {
        assert_eq!(compare((0, 0), (1, 2)), None);
        assert_eq!(compare((1, 2), (0, 0)), None);
    }

    #[test]
    fn factorials_meet_where_the_series_begins() {
        let by_product: f64 = (2..=40u64).map(|k| (k as f64).ln()).sum();
        assert!((ln_factorial(40) - by_product).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_difference_and_both_orders_agree(
            a in 0..300u64, more_a in 1..300u64, b in 0..300u64, more_b in 1..300u64,
        ) {
            let (before, after) = ((a, a + more_a), (b, b + more_b));
            let (one, other) = (compare(before, after).unwrap(), compare(after, before).unwrap());
            prop_assert!(one.low <= one.difference && one.difference <= one.high);
            prop_assert!((0.0..=1.0).contains(&one.p));
            prop_assert!((one.p - other.p).abs() < 1e-9 && (one.difference + other.difference).abs() < 1e-12);
        }
    }
}
