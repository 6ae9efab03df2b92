//! Tail and quantile of the standard normal distribution, two-sided, and the normal equivalent of Student's t.
//!
//! **Formula**: tail(z) = P(|Z| > z) = erfc(z / √2); [`quantile`] is its inverse. erfc(x) is 1 minus the Taylor series of
//! erf below [`SERIES_BELOW`], and the continued fraction exp(-x²)/√π · 1/(x + ½/(x + 1/(x + 1½/(x + …)))) above.
//!
//! A t with ν degrees of freedom is about as rare as z = √(ν ln(1 + t² / ν)) · (8ν + 1) / (8ν + 3).
//!
//! **Range**: tail in [0, 1]; quantile in [0, [`QUANTILE_MAX`]].
//!
//! **Source**: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.5 and 7.1.14; D. L. Wallace, "Bounds on
//! normal approximations to Student's and the chi-square distributions", Annals of Mathematical Statistics 30 (1959).
//!
//! **Limits**: relative error of the tail below 1e-12 for z up to 10; tail and quantile are meant for limits that are
//! computed once, not for hot paths. The equivalent of t is right to 0.02 from 5 degrees of freedom on.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// The series of erf is used below this argument, the continued fraction from it on.
pub const SERIES_BELOW: f64 = 2.0;
/// The largest quantile, which stands for a tail probability that is (nearly) zero.
pub const QUANTILE_MAX: f64 = 37.0;

/// Terms of the continued fraction; enough for full precision from [`SERIES_BELOW`] on.
const FRACTION_TERMS: u32 = 120;
/// Newton steps at most; it converges from below in fewer.
const NEWTON_STEPS_MAX: u32 = 200;

/// P(|Z| > z) for a standard normal Z.
pub fn tail(z: f64) -> f64 {
    erfc(z.max(0.0) * FRAC_1_SQRT_2)
}

/// The z with P(|Z| > z) = `probability`.
pub fn quantile(probability: f64) -> f64 {
    if probability >= 1.0 {
        return 0.0;
    }
    if probability <= tail(QUANTILE_MAX) {
        return QUANTILE_MAX;
    }
    // The tail is convex for z > 0, so that Newton's steps from 0 never overshoot.
    let mut z = 0.0_f64;
    for _ in 0..NEWTON_STEPS_MAX {
        let density = 2.0 * (-z * z / 2.0).exp() / (SQRT_2 * PI.sqrt());
        let step = (tail(z) - probability) / density;
        z += step;
        if step.abs() <= 1e-13 * z {
            break;
        }
    }
    z.min(QUANTILE_MAX)
}

/// The standard normal z that is as rare as `t` is with `degrees` degrees of freedom.
pub fn equivalent_of_t(t: f64, degrees: f64) -> f64 {
    let z = (degrees * (t * t / degrees).ln_1p()).sqrt() * (8.0 * degrees + 1.0) / (8.0 * degrees + 3.0);
    z.copysign(t)
}

/// How rare a value is that lies `sigmas` sample standard deviations away from the mean of `count` earlier values, as a
/// standard normal z. Mean and sigma of few values are uncertain themselves.
pub fn of_sample(sigmas: f64, count: f64) -> f64 {
    equivalent_of_t(sigmas / (1.0 + 1.0 / count).sqrt(), count - 1.0)
}

/// The complementary error function for x ≥ 0.
fn erfc(x: f64) -> f64 {
    if x < SERIES_BELOW {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term.abs() > 1e-17 * sum.abs() {
            n += 1.0;
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        return 1.0 - sum * 2.0 / PI.sqrt();
    }
    let fraction = (1..=FRACTION_TERMS).rev().fold(x, |below, k| x + f64::from(k) / 2.0 / below);
    (-x * x).exp() / PI.sqrt() / fraction
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// From the tables of Abramowitz and Stegun, and to more digits from arbitrary-precision arithmetic.
    #[test]
    fn known_tails() {
        for (z, expected) in [
            (0.0, 1.0),
            (1.0, 0.317_310_507_862_914_1),
            (2.0, 0.045_500_263_896_358_42),
            (3.0, 0.002_699_796_063_260_189),
            (5.0, 5.733_031_437_583_878e-7),
        ] {
            assert!((tail(z) - expected).abs() <= 1e-11 * expected, "tail({z}) = {:e}", tail(z));
        }
    }

    #[test]
    fn the_ends_are_finite() {
        assert_eq!(quantile(0.0), QUANTILE_MAX);
        assert_eq!(quantile(1.0), 0.0);
        assert_eq!(tail(-1.0), 1.0);
        assert_eq!(tail(f64::INFINITY), 0.0);
    }

    /// Two-sided tails of Student's t, as z: t = 5.408 with 7 degrees is P = 0.001, which is z = 3.291.
    #[test]
    fn rare_t_of_few_points_are_not_so_rare() {
        for (t, degrees, z) in [(5.408, 7.0, 3.291), (-2.365, 7.0, -1.960), (3.390, 100.0, 3.291), (0.0, 7.0, 0.0)] {
            assert!((equivalent_of_t(t, degrees) - z).abs() < 0.02, "{t}: {}", equivalent_of_t(t, degrees));
        }
    }

    proptest! {
        #[test]
        fn the_quantile_inverts_the_tail(z in 0.001..8.0f64) {
            prop_assert!((quantile(tail(z)) - z).abs() < 1e-9 * z.max(1.0));
        }

        #[test]
        fn a_larger_z_has_a_smaller_tail(a in 0.0..9.0f64, b in 0.0..9.0f64) {
            prop_assert!(tail(a.min(b)) >= tail(a.max(b)));
        }
    }
}
