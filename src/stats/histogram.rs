//! A histogram with fixed logarithmic bins: quantiles of 1% relative error from integer counts that merge exactly.
//!
//! **Formula**: with γ = (1 + ε) / (1 - ε) and ε = [`RELATIVE_ERROR`], bin i holds the values in (γ^(i-1), γ^i]; every
//! value of a bin is within ε of its representative 2γ^i / (γ + 1). The q-quantile is the representative of the bin
//! that holds the value of rank ⌈q · n⌉ (nearest rank), kept between the exact minimum and maximum.
//!
//! **Range**: values in [[`VALUE_MIN`], [`VALUE_MAX`]]; smaller ones count in one bin below, larger ones in one above.
//! A quantile that falls there is the exact minimum or maximum.
//!
//! **Source**: Masson, Rim and Lee, "DDSketch: A Fast and Fully-Mergeable Quantile Sketch with Relative-Error
//! Guarantees", VLDB 2019, with bins that never collapse because the range is fixed.
//!
//! **Limits**: at most [`BINS_MAX`] bins are ever held; below [`VALUE_MIN`] the error is absolute, not relative.

use std::collections::BTreeMap;

/// Half the width of a bin, relative to its values.
pub const RELATIVE_ERROR: f64 = 0.01;
/// The smallest value with a bin of its own: a microsecond, when the unit is the millisecond.
pub const VALUE_MIN: f64 = 1e-3;
/// The largest value with a bin of its own: eleven days, when the unit is the millisecond.
pub const VALUE_MAX: f64 = 1e9;
/// No histogram holds more bins than this: ⌈ln(VALUE_MAX / VALUE_MIN) / ln γ⌉ + 3.
pub const BINS_MAX: usize = 1385;

const GAMMA: f64 = (1.0 + RELATIVE_ERROR) / (1.0 - RELATIVE_ERROR);
const BELOW: i32 = i32::MIN;
const ABOVE: i32 = i32::MAX;

/// Counts per logarithmic bin, with the exact minimum and maximum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    bins: BTreeMap<i32, u64>,
    count: u64,
    extent: Option<(f64, f64)>,
}

impl Histogram {
    /// Counts `value`. A value that is negative or not finite is not counted.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() || value < 0.0 {
            return;
        }
        *self.bins.entry(bin_of(value)).or_default() += 1;
        self.count += 1;
        self.widen((value, value));
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for (bin, count) in &other.bins {
            *self.bins.entry(*bin).or_default() += count;
        }
        self.count += other.count;
        if let Some(extent) = other.extent {
            self.widen(extent);
        }
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The value below or at which the share `q` of all values lies, within [`RELATIVE_ERROR`]; `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let (min, max) = self.extent?;
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        let reaches_rank = |(_, count): &(&i32, &u64)| {
            seen += **count;
            seen >= rank
        };
        let bin = self.bins.iter().find(reaches_rank).map_or(ABOVE, |(bin, _)| *bin);
        Some(match bin {
            BELOW => min,
            ABOVE => max,
            _ => representative(bin).clamp(min, max),
        })
    }

    /// The bins that hold something, from below: upper end and count. The first and the last end at the exact minimum and
    /// maximum where they have no bin of their own.
    pub fn bins(&self) -> impl Iterator<Item = (f64, u64)> {
        let (min, max) = self.extent.unwrap_or_default();
        self.bins.iter().map(move |(bin, count)| match *bin {
            BELOW => (min, *count),
            ABOVE => (max, *count),
            bin => (GAMMA.powi(bin), *count),
        })
    }

    fn widen(&mut self, (low, high): (f64, f64)) {
        self.extent = Some(self.extent.map_or((low, high), |(min, max)| (min.min(low), max.max(high))));
    }
}

fn bin_of(value: f64) -> i32 {
    if value < VALUE_MIN {
        BELOW
    } else if value > VALUE_MAX {
        ABOVE
    } else {
        (value.ln() / GAMMA.ln()).ceil() as i32
    }
}

fn representative(bin: i32) -> f64 {
    2.0 * GAMMA.powi(bin) / (GAMMA + 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn of(values: &[f64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.add(*value));
        histogram
    }

    fn merged(a: &Histogram, b: &Histogram) -> Histogram {
        let mut sum = a.clone();
        sum.merge(b);
        sum
    }

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        assert_eq!(of(&[]).quantile(0.5), None);
        assert_eq!(of(&[f64::NAN, f64::INFINITY, -1.0]).count(), 0);
    }

    #[test]
    fn values_outside_the_range_answer_with_the_exact_ends() {
        let histogram = of(&[0.0, 1e-7, 5.0, 1e12]);
        assert_eq!(histogram.quantile(0.01), Some(0.0));
        assert_eq!(histogram.quantile(1.0), Some(1e12));
        assert_eq!(histogram.count(), 4);
    }

    #[test]
    fn bins_hold_every_value_once() {
        let histogram = of(&[0.0, 5.0, 5.0, 70.0, 1e12]);
        let bins: Vec<(f64, u64)> = histogram.bins().collect();
        assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), 5);
        assert!(bins.is_sorted_by(|a, b| a.0 < b.0), "{bins:?}");
        assert!(bins[1].0 >= 5.0 && bins[1].0 <= 5.0 * GAMMA && bins[1].1 == 2, "{bins:?}");
        assert_eq!((bins[0].0, bins[3].0), (0.0, 1e12));
    }

    #[test]
    fn one_value_is_every_quantile() {
        let histogram = of(&[123.456]);
        for q in [0.0, 0.5, 0.95, 0.99, 1.0] {
            assert_eq!(histogram.quantile(q), Some(123.456));
        }
    }

    #[test]
    fn the_number_of_bins_is_bounded() {
        let bins = bin_of(VALUE_MAX) - bin_of(VALUE_MIN) + 1 + 2;
        assert!(bins as usize <= BINS_MAX && bins as usize > BINS_MAX - 4, "{bins}");
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        vec(prop_oneof![0.0..1e4f64, 1e-6..1.0f64, 1e6..1e11f64], 0..60)
    }

    proptest! {
        #[test]
        fn quantiles_are_within_one_percent_of_the_nearest_rank(
            mut values in vec(VALUE_MIN..VALUE_MAX, 1..200), q in 0.0..=1.0f64,
        ) {
            let got = of(&values).quantile(q).unwrap();
            values.sort_by(f64::total_cmp);
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1];
            prop_assert!((got - exact).abs() <= exact * (RELATIVE_ERROR + 1e-9), "{got} for {exact}");
        }

        #[test]
        fn empty_is_neutral(a in values()) {
            let (a, empty) = (of(&a), Histogram::default());
            prop_assert_eq!(merged(&a, &empty), a.clone());
            prop_assert_eq!(merged(&empty, &a), a);
        }

        #[test]
        fn merging_commutes_and_associates(a in values(), b in values(), c in values()) {
            let (a, b, c) = (of(&a), of(&b), of(&c));
            prop_assert_eq!(merged(&a, &b), merged(&b, &a));
            prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        }

        #[test]
        fn merging_parts_is_counting_the_whole(a in values(), b in values()) {
            let whole: Vec<f64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(merged(&of(&a), &of(&b)), of(&whole));
        }
    }
}
