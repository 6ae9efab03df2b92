//! What is expected of many records: counts per group, what is measured of them, and whether that holds beyond chance.
//!
//! **Formula**: an expectation fails when the whole 95% interval of what is measured lies beyond the limit.
//! - A rate: the interval of Wilson.
//! - A quantile: between order statistics, whatever the distribution. The quantile q is surely at or above a limit when the share
//!   of values at or above it is surely above 1 - q, by Wilson's interval of that share; its ends are the values of the ranks
//!   q n ∓ z √(q (1 - q) n).
//! - A mean: mean ± t s / √n, with t of n - 1 degrees by the first terms of Cornish and Fisher.
//! - A sum and a count are what they are.
//!
//! One record alone fails no rate and no quantile, unless the limit is that there be none.
//!
//! **Range**: an [`Outcome`]. `unsure` is what is beyond the limit, and may be so by chance.
//!
//! **Source**: [`wilson`]; W. J. Conover, "Practical Nonparametric Statistics" (quantiles); R. A. Fisher and E. A. Cornish, "The
//! Percentile Points of Distributions Having Known Cumulants", Technometrics 2 (1960).
//!
//! **Limits**: counts are integers and bins, so that parts of a log add up to the same in any cut. [`GROUPS_MAX`] groups of an
//! expectation are told apart: those that come first by name, whatever the order of the log; the others are one. Values count in
//! millionths, quantiles are shown within 1%. Records are taken as independent.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    engines::check::{
        OfMany,
        expect::{Expectation, Measure, Op, Quantity},
    },
    stats::{histogram::Histogram, wilson},
};

/// Groups of one expectation that are told apart.
pub const GROUPS_MAX: usize = 500;
/// Values are counted in parts of this.
const MICRO: f64 = 1e6;
/// No value counts as more: its square, a hundred million times, still has room.
const VALUE_MAX: f64 = 1e9;

/// What one record adds to one expectation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// The expectation is about the record, and it has nothing that is measured.
    Nothing,
    /// Whether the event was seen.
    Event(bool),
    /// A number.
    Number(f64),
}

/// What some records of one group add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Records that the expectation is about.
    pub records: u64,
    /// Those of which something is measured.
    measured: u64,
    /// Those with the event; of quantiles those on the wrong side of the limit.
    hits: u64,
    /// In millionths.
    sum: u128,
    squares: u128,
    values: Histogram,
}

impl Tally {
    fn add(&mut self, expectation: &Expectation, sample: Sample) {
        self.records += 1;
        match sample {
            Sample::Nothing => {}
            Sample::Event(is_seen) => {
                self.measured += 1;
                self.hits += u64::from(is_seen);
            }
            Sample::Number(value) if value.is_finite() => {
                let value = value.clamp(0.0, VALUE_MAX);
                self.measured += 1;
                match expectation.measure {
                    Measure::Quantile(..) => {
                        self.hits += u64::from(!expectation.op.holds(value, expectation.limit));
                        self.values.add(value);
                    }
                    _ => {
                        let micro = (value * MICRO).round() as u128;
                        self.sum = self.sum.saturating_add(micro);
                        self.squares = self.squares.saturating_add(micro * micro);
                    }
                }
            }
            Sample::Number(_) => {}
        }
    }

    fn merge(&mut self, next: &Tally) {
        self.records += next.records;
        self.measured += next.measured;
        self.hits += next.hits;
        self.sum = self.sum.saturating_add(next.sum);
        self.squares = self.squares.saturating_add(next.squares);
        self.values.merge(&next.values);
    }
}

/// The tallies of one expectation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tallies {
    groups: BTreeMap<Option<String>, Tally>,
    /// Those of the groups beyond [`GROUPS_MAX`].
    others: Tally,
}

impl Tallies {
    /// Counts one record of `group`.
    pub fn add(&mut self, expectation: &Expectation, group: Option<String>, sample: Sample) {
        self.groups.entry(group).or_default().add(expectation, sample);
        self.cap();
    }

    /// Adds other records.
    pub fn merge(&mut self, next: Tallies) {
        for (group, tally) in next.groups {
            self.groups.entry(group).or_default().merge(&tally);
        }
        self.others.merge(&next.others);
        self.cap();
    }

    /// Which groups are told apart must not depend on how the log was cut into parts: a group that is not among the first
    /// by name here is not among the first of the whole.
    fn cap(&mut self) {
        while self.groups.len() > GROUPS_MAX {
            let Some((_, last)) = self.groups.pop_last() else { return };
            self.others.merge(&last);
        }
    }

    /// Records that are counted, in all groups.
    pub fn records(&self) -> u64 {
        self.groups.values().map(|tally| tally.records).sum::<u64>() + self.others.records
    }

    /// Records in groups that are not told apart.
    pub fn beyond_limit(&self) -> u64 {
        self.others.records
    }

    /// What is to be said of each group: its name (`None` for records without one, or when nothing is grouped) and what is
    /// measured. The groups that are not told apart come last, under the name `(others)`.
    pub fn judge(&self, check: &OfMany) -> Vec<(Option<String>, Judged)> {
        /// What stands for the groups that are not told apart.
        const OTHERS: &str = "(others)";
        let judged = |tally: &Tally| judge(&check.expectation, check.records_min.0, tally);
        if self.groups.is_empty() {
            return if check.group_by.is_some() { Vec::new() } else { vec![(None, judged(&Tally::default()))] };
        }
        let groups = self.groups.iter().map(|(name, tally)| (name.clone(), judged(tally)));
        // A group of which nothing is measured is none: calls of tools have no model.
        let groups = groups.filter(|(_, judged)| judged.records > 0 || !check.group_by.is_some());
        let others = (self.others.records > 0).then(|| (Some(OTHERS.to_owned()), judged(&self.others)));
        groups.chain(others).collect()
    }
}

/// Whether an expectation holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// What is measured is as expected.
    Holds,
    /// It is not, and chance does not explain it.
    Fails,
    /// It is not, and that may be chance.
    Unsure,
    /// There are too few records to judge.
    TooFew,
}

impl Outcome {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Holds => "holds",
            Outcome::Fails => "fails",
            Outcome::Unsure => "unsure",
            Outcome::TooFew => "too few",
        }
    }
}

/// What is measured of one group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// Records of which something is measured.
    pub records: u64,
    /// What is measured.
    pub value: Option<f64>,
    /// Lower end of its 95% interval; `None` where there is none.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Whether that is as expected.
    pub outcome: Outcome,
}

fn judge(expectation: &Expectation, records_min: u64, tally: &Tally) -> Judged {
    let (op, limit, n) = (expectation.op, expectation.limit, tally.measured);
    let (value, low, high) = match &expectation.measure {
        Measure::Rate(_) => rate(tally.hits, n),
        Measure::Quantile(q, _) => quantile(*q, &tally.values),
        Measure::Mean(_) => mean(tally),
        Measure::Total(_) => (Some(tally.sum as f64 / MICRO), None, None),
        Measure::Records => (Some(tally.records as f64), None, None),
    };
    let outcome = match value {
        _ if n < records_min && !matches!(expectation.measure, Measure::Records) => Outcome::TooFew,
        None => Outcome::TooFew,
        Some(value) if op.holds(value, limit) => Outcome::Holds,
        Some(_) if expectation.measure.is_exact() => Outcome::Fails,
        Some(_) => {
            let is_sure = match &expectation.measure {
                // Of values on the wrong side there are more than a share of 1 - q explains, above; or of q, below.
                Measure::Quantile(q, _) => {
                    let allowed = if op.is_upper() { 1.0 - q } else { *q };
                    wilson::lower_bound(tally.hits, n) > allowed && tally.hits > 1
                }
                Measure::Rate(_) => {
                    let (seen, none) = if op.is_upper() { (tally.hits, 0.0) } else { (n - tally.hits, 1.0) };
                    is_beyond(op, low, high, limit) && (seen > 1 || limit == none)
                }
                _ => is_beyond(op, low, high, limit),
            };
            if is_sure { Outcome::Fails } else { Outcome::Unsure }
        }
    };
    let records = if expectation.measure == Measure::Records { tally.records } else { n };
    Judged { records, value, low, high, outcome }
}

/// Whether all of an interval is not as expected.
fn is_beyond(op: Op, low: Option<f64>, high: Option<f64>, limit: f64) -> bool {
    let nearest = if op.is_upper() { low } else { high };
    nearest.is_some_and(|end| !op.holds(end, limit))
}

type Interval = (Option<f64>, Option<f64>, Option<f64>);

fn rate(hits: u64, n: u64) -> Interval {
    match wilson::interval(hits, n) {
        Some((low, high)) => (Some(hits as f64 / n as f64), Some(low), Some(high)),
        None => (None, None, None),
    }
}

fn quantile(q: f64, values: &Histogram) -> Interval {
    let n = values.count() as f64;
    let margin = wilson::Z_95 * (q * (1.0 - q) * n).sqrt();
    let (low, high) = ((q * n - margin).ceil(), (q * n + margin).floor() + 1.0);
    let at = |rank: f64| values.quantile(rank / n).filter(|_| rank >= 1.0 && rank <= n);
    (values.quantile(q), at(low), at(high))
}

fn mean(tally: &Tally) -> Interval {
    let n = tally.measured as f64;
    if tally.measured == 0 {
        return (None, None, None);
    }
    let mean = tally.sum as f64 / n;
    if tally.measured < 2 {
        return (Some(mean / MICRO), None, None);
    }
    // n Σx² - (Σx)² in integers where they have room, as the difference of what is nearly equal.
    let count = u128::from(tally.measured);
    let exact = count.checked_mul(tally.squares).zip(tally.sum.checked_mul(tally.sum));
    let spread = match exact {
        Some((squares, square)) => squares.saturating_sub(square) as f64,
        None => (n * tally.squares as f64 - (tally.sum as f64).powi(2)).max(0.0),
    };
    let deviation = (spread / (n * (n - 1.0))).sqrt();
    let margin = student(n - 1.0) * deviation / n.sqrt();
    (Some(mean / MICRO), Some((mean - margin).max(0.0) / MICRO), Some((mean + margin) / MICRO))
}

/// The two-sided 95% quantile of Student's t, within 1% from five degrees on.
fn student(degrees: f64) -> f64 {
    let z = wilson::Z_95;
    let first = (z.powi(3) + z) / (4.0 * degrees);
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * degrees.powi(2));
    z + first + second
}

/// How a value of `measure` is written: a share as a percentage, a time in milliseconds.
pub fn written(measure: &Measure, value: f64) -> String {
    let quantity = match measure {
        Measure::Rate(_) => return format!("{:.2}%", value * 100.0),
        Measure::Records => return format!("{value:.0}"),
        Measure::Quantile(_, quantity) | Measure::Mean(quantity) | Measure::Total(quantity) => *quantity,
    };
    match quantity {
        Quantity::LatencyMs | Quantity::TtftMs if value >= 10.0 => format!("{value:.0} ms"),
        Quantity::LatencyMs | Quantity::TtftMs => format!("{value:.2} ms"),
        Quantity::Trust | Quantity::Health => format!("{value:.3}"),
        Quantity::Cost => format!("{value:.4}"),
        Quantity::PromptTokens | Quantity::ResponseTokens | Quantity::Words | Quantity::TokensPerSecond => {
            format!("{value:.1}")
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn expectation(text: &str) -> Expectation {
        Expectation::parse(text, &[]).unwrap()
    }

    fn tally(text: &str, samples: impl IntoIterator<Item = Sample>) -> Tally {
        let (expectation, mut tally) = (expectation(text), Tally::default());
        samples.into_iter().for_each(|sample| tally.add(&expectation, sample));
        tally
    }

    #[track_caller]
    fn check(text: &str, samples: impl IntoIterator<Item = Sample>, expected: Outcome) {
        let judged = judge(&expectation(text), 20, &tally(text, samples));
        assert_eq!(judged.outcome, expected, "{text}: {judged:?}");
    }

    fn events(seen: usize, n: usize) -> impl Iterator<Item = Sample> {
        (0..n).map(move |at| Sample::Event(at < seen))
    }

    fn numbers(parts: &[(f64, usize)]) -> Vec<Sample> {
        parts.iter().flat_map(|(value, n)| std::iter::repeat_n(Sample::Number(*value), *n)).collect()
    }

    #[test]
    fn a_rate_fails_beyond_chance_and_never_by_one_record() {
        check("error_rate < 2%", events(0, 100), Outcome::Holds);
        check("error_rate < 2%", events(1, 20), Outcome::Unsure);
        check("error_rate < 0.1%", events(1, 20), Outcome::Unsure);
        check("error_rate < 2%", events(3, 100), Outcome::Unsure);
        check("error_rate < 2%", events(9, 100), Outcome::Fails);
        check("error_rate <= 0", events(1, 100), Outcome::Fails);
        check("error_rate < 2%", events(19, 19), Outcome::TooFew);
        check("refusal_rate > 50%".replace("refusal", "flag").as_str(), events(10, 100), Outcome::Fails);
        check("flag_rate >= 100%", events(99, 100), Outcome::Fails);
    }

    #[test]
    fn a_quantile_fails_when_too_many_values_are_beyond() {
        check("p95_latency_ms < 5000", numbers(&[(900.0, 100)]), Outcome::Holds);
        check("p95_latency_ms < 5000", numbers(&[(900.0, 97), (9000.0, 3)]), Outcome::Holds);
        check("p95_latency_ms < 5000", numbers(&[(900.0, 92), (9000.0, 8)]), Outcome::Unsure);
        check("p95_latency_ms < 5000", numbers(&[(900.0, 85), (9000.0, 15)]), Outcome::Fails);
        check("p99_latency_ms < 5000", numbers(&[(900.0, 19), (9000.0, 1)]), Outcome::Unsure);
        check("p50_tokens_per_second > 20", numbers(&[(10.0, 70), (90.0, 30)]), Outcome::Fails);
        // Exactly the limit, although bins are 1% wide.
        check("p95_latency_ms <= 5000", numbers(&[(5000.0, 100)]), Outcome::Holds);
        check("p95_latency_ms < 5000", numbers(&[(5000.0, 100)]), Outcome::Fails);
    }

    #[test]
    fn a_mean_fails_when_its_interval_is_beyond() {
        check("mean_trust > 0.8", numbers(&[(0.9, 50), (1.0, 50)]), Outcome::Holds);
        check("mean_trust > 0.8", numbers(&[(0.0, 5), (0.95, 20)]), Outcome::Unsure);
        check("mean_trust > 0.8", numbers(&[(0.5, 50), (0.7, 50)]), Outcome::Fails);
        check("mean_trust > 0.8", vec![Sample::Nothing; 100], Outcome::TooFew);
        check("mean_latency_ms < 10", numbers(&[(11.0, 20)]), Outcome::Fails);
    }

    #[test]
    fn sums_and_counts_are_what_they_are() {
        let judged = |text: &str, samples| judge(&expectation(text), 0, &tally(text, samples)).outcome;
        assert_eq!(judged("total_cost < 2", numbers(&[(0.5, 3)])), Outcome::Holds);
        assert_eq!(judged("total_cost < 2", numbers(&[(0.5, 4)])), Outcome::Fails);
        assert_eq!(judged("records >= 3", vec![Sample::Nothing; 3]), Outcome::Holds);
        assert_eq!(judged("records >= 4", vec![Sample::Nothing; 3]), Outcome::Fails);
    }

    // Student's t at 97.5%: 2.571 (5), 2.093 (19), 1.984 (99).
    #[test]
    fn student_is_close() {
        for (degrees, expected) in [(5.0, 2.5706), (19.0, 2.0930), (99.0, 1.9842)] {
            assert!((student(degrees) / expected - 1.0).abs() < 0.01, "{degrees}");
        }
    }

    #[test]
    fn the_interval_of_a_mean_is_that_of_a_textbook() {
        // 1 to 20: mean 10.5, s = 5.9161, t(19) = 2.0930, so that the margin is 2.7688.
        let values = (1..=20).map(|value| Sample::Number(f64::from(value)));
        let judged = judge(&expectation("mean_latency_ms < 99"), 20, &tally("mean_latency_ms < 99", values));
        assert!(
            (judged.low.unwrap() - 7.731).abs() < 0.01 && (judged.high.unwrap() - 13.269).abs() < 0.01,
            "{judged:?}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_cut_and_order_gives_the_same(
            records in proptest::collection::vec((0..1200u32, 0.0..1e6f64), 0..1500), cut in 0..1500usize,
        ) {
            let expectation = expectation("p95_latency_ms < 5000");
            let part = |records: &[(u32, f64)]| {
                let mut tallies = Tallies::default();
                for (group, value) in records {
                    tallies.add(&expectation, Some(format!("g{group}")), Sample::Number(*value));
                }
                tallies
            };
            let cut = cut.min(records.len());
            let (mut one, mut other) = (part(&records[..cut]), part(&records[cut..]));
            other.merge(part(&records[..cut]));
            one.merge(part(&records[cut..]));
            prop_assert_eq!(&one, &part(&records));
            prop_assert_eq!(&one, &other);
            prop_assert!(one.groups.len() <= GROUPS_MAX && one.records() == records.len() as u64);
        }
    }
}
