//! Decisions over time: at most [`BUCKETS_MAX`] buckets, whatever the log covers.
//!
//! **Formula**: bucket = ⌊timestamp / width⌋, aligned to the epoch. The width is the smallest of [`WIDTHS_MS`] (and,
//! beyond, of its last one doubled) with which no more than [`BUCKETS_MAX`] buckets hold a record. Each width divides
//! the next, so that a bucket falls into exactly one wider bucket and the result does not depend on how, or in which
//! order, the records were counted. Empty buckets are left out: one wrong timestamp must not stretch the scale.
//!
//! **Range**: counts; starts in UTC.
//!
//! **Limits**: while counting, at most [`COLLECTED_MAX`] buckets are held.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::verdict_record::rfc3339;
use crate::verdict::Decision;

/// No report shows more buckets than this.
pub const BUCKETS_MAX: usize = 24;
/// No more buckets than this are held while counting.
pub const COLLECTED_MAX: usize = 1024;
/// Widths in milliseconds: 1 minute, 10 minutes, 1 hour, 6 hours, 1 day, 7 days, 28 days.
pub const WIDTHS_MS: [i64; 7] = [60_000, 600_000, 3_600_000, 21_600_000, 86_400_000, 604_800_000, 2_419_200_000];

/// How many records met each decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Decisions {
    /// Accepted.
    pub accept: u64,
    /// Flagged.
    pub flag: u64,
    /// Blocked.
    pub block: u64,
    /// Nothing could be assessed.
    pub not_assessed: u64,
}

impl Decisions {
    /// Counts one decision.
    pub fn add(&mut self, decision: Decision) {
        match decision {
            Decision::Accept => self.accept += 1,
            Decision::Flag => self.flag += 1,
            Decision::Block => self.block += 1,
            Decision::NotAssessed => self.not_assessed += 1,
        }
    }

    /// How many records met `decision`.
    pub fn of(&self, decision: Decision) -> u64 {
        match decision {
            Decision::Accept => self.accept,
            Decision::Flag => self.flag,
            Decision::Block => self.block,
            Decision::NotAssessed => self.not_assessed,
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Decisions) {
        self.accept += other.accept;
        self.flag += other.flag;
        self.block += other.block;
        self.not_assessed += other.not_assessed;
    }

    /// All records counted.
    pub fn total(&self) -> u64 {
        self.accept + self.flag + self.block + self.not_assessed
    }
}

/// Decisions per bucket, while they are counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    width_ms: i64,
    buckets: BTreeMap<i64, Decisions>,
    untimed: u64,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { width_ms: WIDTHS_MS[0], buckets: BTreeMap::new(), untimed: 0 }
    }
}

impl Timeline {
    /// Counts one record.
    pub fn add(&mut self, timestamp_ms: Option<i64>, decision: Decision) {
        let Some(timestamp_ms) = timestamp_ms else {
            self.untimed += 1;
            return;
        };
        self.buckets.entry(timestamp_ms.div_euclid(self.width_ms)).or_default().add(decision);
        self.coarsen_to(COLLECTED_MAX);
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, mut other: Timeline) {
        self.widen_to(other.width_ms);
        other.widen_to(self.width_ms);
        for (bucket, decisions) in &other.buckets {
            self.buckets.entry(*bucket).or_default().merge(decisions);
        }
        self.untimed += other.untimed;
        self.coarsen_to(COLLECTED_MAX);
    }

    /// The timeline as it is reported.
    pub fn finish(mut self) -> TimelineSummary {
        self.coarsen_to(BUCKETS_MAX);
        let bucket = |(index, decisions): (&i64, &Decisions)| Bucket {
            start: rfc3339(index.saturating_mul(self.width_ms)),
            decisions: *decisions,
        };
        TimelineSummary {
            bucket_ms: self.width_ms,
            untimed: self.untimed,
            buckets: self.buckets.iter().map(bucket).collect(),
        }
    }

    fn coarsen_to(&mut self, buckets_max: usize) {
        while self.buckets.len() > buckets_max {
            self.widen_to(wider(self.width_ms));
        }
    }

    fn widen_to(&mut self, width_ms: i64) {
        if width_ms <= self.width_ms {
            return;
        }
        let factor = width_ms / self.width_ms;
        let mut buckets: BTreeMap<i64, Decisions> = BTreeMap::new();
        for (index, decisions) in &self.buckets {
            buckets.entry(index.div_euclid(factor)).or_default().merge(decisions);
        }
        *self = Timeline { width_ms, buckets, untimed: self.untimed };
    }
}

/// The width after this one; each divides the next. All times that a number can hold fit into [`BUCKETS_MAX`] buckets
/// long before doubling would overflow.
fn wider(width_ms: i64) -> i64 {
    WIDTHS_MS.into_iter().find(|width| *width > width_ms).unwrap_or(width_ms.saturating_mul(2))
}

/// Decisions over time, as they are reported.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimelineSummary {
    /// Width of a bucket, in milliseconds.
    pub bucket_ms: i64,
    /// Records without a usable timestamp.
    pub untimed: u64,
    /// The buckets that hold a record, in order of time.
    pub buckets: Vec<Bucket>,
}

/// One bucket of the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bucket {
    /// When it begins, in RFC 3339, UTC; null outside of the years that this can write.
    pub start: Option<String>,
    /// What was decided in it.
    #[serde(flatten)]
    pub decisions: Decisions,
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn of(times: &[i64]) -> Timeline {
        let mut timeline = Timeline::default();
        times.iter().for_each(|time| timeline.add(Some(*time), Decision::Accept));
        timeline
    }

    #[track_caller]
    fn check(times: &[i64], bucket_ms: i64, starts: &[&str]) {
        let summary = of(times).finish();
        assert_eq!(summary.bucket_ms, bucket_ms);
        let got: Vec<_> = summary.buckets.iter().map(|bucket| bucket.start.as_deref().unwrap_or("none")).collect();
        assert_eq!(got, starts);
    }

    #[test]
    fn buckets_are_aligned_to_the_epoch() {
        check(&[61_000, 119_999, 120_000], 60_000, &["1970-01-01T00:01:00Z", "1970-01-01T00:02:00Z"]);
        check(&[-1], 60_000, &["1969-12-31T23:59:00Z"]);
        check(&[], 60_000, &[]);
    }

    #[test]
    fn the_smallest_width_that_fits_is_taken() {
        let every = |step: i64, n: i64| (0..n).map(|i| i * step).collect::<Vec<_>>();
        assert_eq!(of(&every(60_000, 24)).finish().bucket_ms, 60_000);
        assert_eq!(of(&every(60_000, 25)).finish().bucket_ms, 600_000);
        assert_eq!(of(&every(86_400_000, 100)).finish().bucket_ms, 604_800_000);
        assert_eq!(of(&every(86_400_000, 3000)).finish().bucket_ms, 2 * 2 * 2 * 2_419_200_000);
    }

    #[test]
    fn one_wrong_timestamp_adds_one_bucket() {
        check(&[0, 1_731_234_567_890], 60_000, &["1970-01-01T00:00:00Z", "2024-11-10T10:29:00Z"]);
    }

    #[test]
    fn times_beyond_the_calendar_are_counted() {
        let summary = of(&[i64::MIN, i64::MAX]).finish();
        assert_eq!(summary.buckets.iter().map(|bucket| bucket.decisions.total()).sum::<u64>(), 2);
        assert_eq!(summary.buckets[0].start, None);
        let spread: Vec<i64> = (-1000..1000).map(|i| i * (i64::MAX / 1000)).collect();
        assert!(of(&spread).finish().buckets.len() <= BUCKETS_MAX);
    }

    #[test]
    fn every_width_divides_the_next() {
        let mut width = WIDTHS_MS[0];
        for _ in 0..30 {
            assert_eq!(wider(width) % width, 0);
            assert!(wider(width) > width);
            width = wider(width);
        }
    }

    proptest! {
        #[test]
        fn the_result_does_not_depend_on_how_the_records_are_split(
            times in vec(prop_oneof![0..100_000_000i64, 0..1_000_000_000_000i64, any::<i64>()], 0..300),
            cuts in vec(0..300usize, 0..5),
        ) {
            let whole = of(&times).finish();
            prop_assert!(whole.buckets.len() <= BUCKETS_MAX);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(times.len())).collect();
            cuts.sort_unstable();
            let mut merged = Timeline::default();
            let mut from = 0;
            for to in cuts.into_iter().chain([times.len()]) {
                merged.merge(of(&times[from..to]));
                from = to;
            }
            prop_assert_eq!(merged.finish(), whole.clone());
            let reversed: Vec<i64> = times.iter().rev().copied().collect();
            prop_assert_eq!(of(&reversed).finish(), whole);
        }
    }
}
