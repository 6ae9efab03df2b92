//! Running mean and variance in one pass, with an optional cap on the weight of the past.
//!
//! **Formula**: for each value x, with w the weight so far: w += 1, d = x - mean, mean += d / w, M2 += d · (x - mean);
//! variance = M2 / (w - 1). With a cap c, a weight of c is first scaled back to c - 1 (and M2 with it), so that the
//! oldest values fade out with a half-life of about 0.69 c values.
//!
//! **Range**: sigma ≥ 0; 0 for fewer than two values.
//!
//! **Source**: B. P. Welford, "Note on a method for calculating corrected sums of squares and products",
//! Technometrics 4 (1962) 419–420; seed 002, "SPC Baselines". The cap is ours.
//!
//! **Limits**: a sigma below [`FLAT_SHARE`] of the mean is rounding, and is reported as 0.

/// A sigma below this share of the absolute mean is what rounding leaves of equal values.
pub const FLAT_SHARE: f64 = 1e-12;

/// Mean and spread of the values so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Welford {
    weight: f64,
    mean: f64,
    m2: f64,
}

impl Welford {
    /// `weight` values around `mean` with a given sigma, as if they had been pushed.
    pub fn around(mean: f64, sigma: f64, weight: f64) -> Welford {
        Welford { weight, mean, m2: sigma * sigma * (weight - 1.0).max(0.0) }
    }

    /// Adds one value.
    pub fn push(&mut self, value: f64) {
        self.weight += 1.0;
        let delta = value - self.mean;
        self.mean += delta / self.weight;
        self.m2 += delta * (value - self.mean);
    }

    /// Adds one value; what came before weighs at most `cap` - 1 values.
    pub fn push_capped(&mut self, value: f64, cap: f64) {
        if self.weight >= cap && self.weight > 1.0 {
            let kept = (cap - 1.0).max(1.0);
            self.m2 *= kept / self.weight;
            self.weight = kept;
        }
        self.push(value);
    }

    /// How many values the estimate rests on; stops at the cap.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The mean; 0 before the first value.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The sample variance; 0 for fewer than two values.
    pub fn variance(&self) -> f64 {
        if self.weight < 2.0 { 0.0 } else { (self.m2 / (self.weight - 1.0)).max(0.0) }
    }

    /// The sample standard deviation; 0 when the values do not differ.
    pub fn sigma(&self) -> f64 {
        let sigma = self.variance().sqrt();
        if sigma <= self.mean.abs() * FLAT_SHARE { 0.0 } else { sigma }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[f64]) -> Welford {
        let mut moments = Welford::default();
        values.iter().for_each(|&value| moments.push(value));
        moments
    }

    #[test]
    fn few_values_have_no_spread() {
        assert_eq!(of(&[]).sigma(), 0.0);
        assert_eq!(of(&[5.0]).sigma(), 0.0);
        assert_eq!(of(&[0.1; 40]).sigma(), 0.0);
    }

    #[test]
    fn the_cap_lets_a_new_level_in() {
        let mut moments = Welford::default();
        (0..10_000).for_each(|i| moments.push_capped(f64::from(i % 2), 50.0));
        (0..200).for_each(|i| moments.push_capped(10.0 + f64::from(i % 2), 50.0));
        assert!(moments.mean() > 10.2, "{}", moments.mean());
        assert!(moments.weight() <= 50.0);
    }

    #[test]
    fn a_set_level_has_the_given_spread() {
        let moments = Welford::around(3.0, 2.0, 8.0);
        assert!((moments.sigma() - 2.0).abs() < 1e-12);
        assert!((moments.mean() - 3.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn it_agrees_with_two_passes(values in prop::collection::vec(-1e6..1e6f64, 2..60)) {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let moments = of(&values);
            prop_assert!((moments.mean() - mean).abs() <= 1e-9 * (1.0 + mean.abs()));
            prop_assert!((moments.variance() - variance).abs() <= 1e-9 * (1.0 + variance));
        }

        #[test]
        fn a_cap_that_is_not_reached_changes_nothing(values in prop::collection::vec(-1e3..1e3f64, 0..40)) {
            let mut capped = Welford::default();
            values.iter().for_each(|&value| capped.push_capped(value, 100.0));
            prop_assert_eq!(capped, of(&values));
        }
    }
}
