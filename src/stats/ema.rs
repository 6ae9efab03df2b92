//! The exponential moving average: one number that follows a series.
//!
//! **Formula** (seed 001): the first value is copied; then average = (1 - alpha) · average + alpha · value.
//!
//! **Range**: between the smallest and the largest value seen, for alpha in [0, 1].
//!
//! **Source**: seed 001, "BaselineEngine".
//!
//! **Limits**: the order of the values matters, so averages of parts cannot be merged; they live in the ordered stage.

/// Weight of a new value (seed 001).
pub const ALPHA: f64 = 0.1;

/// The average after `value`, given the average before it (`None` before the first value).
pub fn update(average: Option<f64>, value: f64, alpha: f64) -> f64 {
    match average {
        None => value,
        Some(average) => (1.0 - alpha) * average + alpha * value,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_value_is_copied_and_the_next_weighs_a_tenth() {
        assert_eq!(update(None, 200.0, ALPHA), 200.0);
        assert!((update(Some(200.0), 300.0, ALPHA) - 210.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_average_stays_between_the_old_one_and_the_value(a in -1e9..1e9f64, b in -1e9..1e9f64, alpha in 0.0..=1.0f64) {
            let average = update(Some(a), b, alpha);
            let slack = 1e-9 * (a.abs() + b.abs() + 1.0);
            prop_assert!(average >= a.min(b) - slack && average <= a.max(b) + slack);
        }
    }
}
