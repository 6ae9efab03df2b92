//! Control charts of whole streams: which values came when, against which limits, and which points broke a rule.
//!
//! **Formula**: every point of a stream has a number, counted from 0 by the ordered stage. A bucket holds the points with
//! the same ⌊number / width⌋; the width is the smallest power of two with which no more than [`BUCKETS_MAX`] buckets are
//! there. A bucket keeps how many points it has, the sums of value, centre and sigma in millionths, the extremes, how many
//! points broke each of the four Western Electric rules, and the point farthest from the centre.
//!
//! **Range**: all numbers on the scale of the chart, which is the natural logarithm of the value.
//!
//! **Limits**: at most [`COLLECTED_MAX`] buckets are held while counting. Sums are integers, so that the chart is the
//! same however the log was cut into parts.

use std::collections::BTreeMap;

pub use crate::history::spc::ControlPoint;
use crate::verdict::service::Block;

/// No chart shows more buckets than this.
pub const BUCKETS_MAX: usize = 64;
/// No more buckets than this are held while counting.
pub const COLLECTED_MAX: usize = 256;

const MICRO: f64 = 1e6;

/// The points of one chart, while they are counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ControlSeries {
    width_log2: u32,
    buckets: BTreeMap<u64, ControlBucket>,
}

/// Points that came one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControlBucket {
    /// How many there are.
    pub points: u64,
    /// How many of them had limits.
    pub limited: u64,
    /// How many broke each rule.
    pub broken: [u64; 4],
    x_micro: i64,
    /// Sum of the squares, in millionths.
    square_micro: i64,
    centre_micro: i64,
    sigma_micro: i64,
    extremes: Option<(f64, f64)>,
    /// The point that broke a rule farthest from the centre: distance in sigmas, and value.
    worst: Option<(f64, f64)>,
}

impl ControlBucket {
    /// The mean value.
    pub fn mean(&self) -> f64 {
        self.x_micro as f64 / MICRO / self.points.max(1) as f64
    }

    /// Mean of centre and sigma of the points that had them.
    pub fn limits(&self) -> Option<(f64, f64)> {
        let n = self.limited as f64;
        (self.limited > 0).then(|| (self.centre_micro as f64 / MICRO / n, self.sigma_micro as f64 / MICRO / n))
    }

    /// The smallest and the largest value.
    pub fn extremes(&self) -> (f64, f64) {
        self.extremes.unwrap_or_default()
    }

    /// The value of the point that broke a rule farthest from the centre.
    pub fn worst(&self) -> Option<f64> {
        self.worst.map(|(_, x)| x)
    }

    fn add(&mut self, point: &ControlPoint) {
        let micro = |number: f64| (number * MICRO).round() as i64;
        let mut one = ControlBucket {
            points: 1,
            x_micro: micro(point.x),
            square_micro: micro(point.x * point.x),
            extremes: Some((point.x, point.x)),
            broken: point.broken.map(u64::from),
            ..ControlBucket::default()
        };
        if let Some((centre, sigma)) = point.limits {
            (one.limited, one.centre_micro, one.sigma_micro) = (1, micro(centre), micro(sigma));
            if point.broken.contains(&true) && sigma > 0.0 {
                one.worst = Some((((point.x - centre) / sigma).abs(), point.x));
            }
        }
        self.merge(&one);
    }

    fn merge(&mut self, other: &ControlBucket) {
        self.points += other.points;
        self.limited += other.limited;
        for (sum, count) in self.broken.iter_mut().zip(other.broken) {
            *sum += count;
        }
        self.x_micro = self.x_micro.saturating_add(other.x_micro);
        self.square_micro = self.square_micro.saturating_add(other.square_micro);
        self.centre_micro = self.centre_micro.saturating_add(other.centre_micro);
        self.sigma_micro = self.sigma_micro.saturating_add(other.sigma_micro);
        self.extremes = match (self.extremes, other.extremes) {
            (Some((low, high)), Some((other_low, other_high))) => Some((low.min(other_low), high.max(other_high))),
            (one, other) => one.or(other),
        };
        let order = |(distance, x): &(f64, f64), (other_distance, other_x): &(f64, f64)| {
            distance.total_cmp(other_distance).then(x.total_cmp(other_x))
        };
        self.worst = [self.worst, other.worst].into_iter().flatten().max_by(order);
    }
}

impl ControlSeries {
    /// Counts one point.
    pub fn add(&mut self, point: &ControlPoint) {
        if !point.x.is_finite() {
            return;
        }
        self.buckets.entry(point.number >> self.width_log2).or_default().add(point);
        self.coarsen_to(COLLECTED_MAX);
    }

    /// Adds the points of `other`.
    pub fn merge(&mut self, other: &ControlSeries) {
        self.widen_to(other.width_log2);
        let shift = self.width_log2 - other.width_log2;
        for (index, bucket) in &other.buckets {
            self.buckets.entry(index >> shift).or_default().merge(bucket);
        }
        self.coarsen_to(COLLECTED_MAX);
    }

    /// The points in their order, as the service is judged by.
    pub fn blocks(&self) -> Vec<Block> {
        let sums = |(index, bucket): (&u64, &ControlBucket)| Block {
            first: index << self.width_log2,
            calls: bucket.points,
            sum: bucket.x_micro as f64 / MICRO,
            squares: bucket.square_micro as f64 / MICRO,
        };
        self.buckets.iter().map(sums).collect()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// The buckets as they are shown: the number of the first point, and the bucket.
    pub fn finish(mut self) -> Vec<(u64, ControlBucket)> {
        self.coarsen_to(BUCKETS_MAX);
        self.buckets.iter().map(|(index, bucket)| (index << self.width_log2, *bucket)).collect()
    }

    fn coarsen_to(&mut self, buckets_max: usize) {
        while self.buckets.len() > buckets_max && self.width_log2 < u64::BITS - 1 {
            self.widen_to(self.width_log2 + 1);
        }
    }

    fn widen_to(&mut self, width_log2: u32) {
        if width_log2 <= self.width_log2 {
            return;
        }
        let shift = width_log2 - self.width_log2;
        let mut buckets: BTreeMap<u64, ControlBucket> = BTreeMap::new();
        for (index, bucket) in &self.buckets {
            buckets.entry(index >> shift).or_default().merge(bucket);
        }
        *self = ControlSeries { width_log2, buckets };
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn point(number: u64, x: f64) -> ControlPoint {
        let limits = (number >= 8).then_some((0.0, 1.0));
        ControlPoint { number, x, limits, broken: [limits.is_some() && x.abs() > 3.0, false, false, x > 0.0] }
    }

    fn of(points: &[ControlPoint]) -> ControlSeries {
        let mut series = ControlSeries::default();
        points.iter().for_each(|point| series.add(point));
        series
    }

    #[test]
    fn a_bucket_says_what_its_points_were() {
        let points: Vec<_> = (0..200).map(|n| point(n, if n == 150 { 9.0 } else { 0.5 })).collect();
        let shown = of(&points).finish();
        assert_eq!(shown.len(), 50);
        let (first, bucket) = shown[37];
        assert_eq!((first, bucket.points, bucket.broken, bucket.worst()), (148, 4, [1, 0, 0, 4], Some(9.0)));
        assert_eq!((bucket.extremes(), bucket.limits()), ((0.5, 9.0), Some((0.0, 1.0))));
        assert!((bucket.mean() - (9.0 + 1.5) / 4.0).abs() < 1e-9);
        assert_eq!(shown[0].1.limits(), None);
    }

    proptest! {
        #[test]
        fn the_chart_does_not_depend_on_how_the_points_are_split(
            xs in vec(-5.0..5.0f64, 0..700), cuts in vec(0..700usize, 0..4),
        ) {
            let points: Vec<_> = xs.iter().zip(0..).map(|(x, number)| point(number, *x)).collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(points.len())).collect();
            cuts.sort_unstable();
            let mut merged = ControlSeries::default();
            let mut from = 0;
            for to in cuts.into_iter().chain([points.len()]) {
                merged.merge(&of(&points[from..to]));
                from = to;
            }
            let shown = merged.finish();
            prop_assert!(shown.len() <= BUCKETS_MAX);
            prop_assert_eq!(shown, of(&points).finish());
        }
    }
}
