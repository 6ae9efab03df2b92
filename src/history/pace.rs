//! How long the calls of a stream usually take; what is suddenly slow does not become the usual.
//!
//! **Formula**: counts of latencies in bins of a quarter of a binary order; the median and the 95th percentile of at least
//! [`CALLS_MIN`] of them are the usual. Slow calls ([`Row::slowness`](crate::engines::Row::slowness)) in a row wait: up to [`RUN_SHORT`] of them are counted
//! once a usual call follows (a cache that misses), more are an incident and dropped. A run of more than [`RUN_LONG`] calls
//! that is twice as long as all that was counted is the new usual.
//!
//! **Range**: milliseconds from [`SMALLEST_MS`] on, with an error of at most 9%.
//!
//! **Source**: ours. An average that follows each call forgets within twenty slow ones that they are slow.

use crate::engines::row::Usual;

/// Counted calls from which a latency is compared.
pub const CALLS_MIN: u64 = 20;
/// Slow calls in a row that are no incident.
pub const RUN_SHORT: u64 = 3;
/// Slow calls in a row after which they may be the new usual.
pub const RUN_LONG: u64 = 200;
/// The lower end of the first bin.
pub const SMALLEST_MS: f64 = 0.01;
/// Bins: up to 40 days.
const BINS: usize = 154;
const BINS_PER_OCTAVE: f64 = 4.0;

/// Counts of latencies.
#[derive(Clone, Debug)]
struct Bins {
    counts: [u32; BINS],
    total: u64,
}

impl Default for Bins {
    fn default() -> Bins {
        Bins { counts: [0; BINS], total: 0 }
    }
}

impl Bins {
    fn add(&mut self, ms: f64) {
        let bin = ((ms / SMALLEST_MS).max(1.0).log2() * BINS_PER_OCTAVE) as usize;
        let count = &mut self.counts[bin.min(BINS - 1)];
        *count = count.saturating_add(1);
        self.total += 1;
    }

    fn merge(&mut self, other: &Bins) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.total += other.total;
    }

    /// The middle of the bin in which the share `q` of all lies.
    fn quantile(&self, q: f64) -> f64 {
        let rank = ((q * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let bin = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        });
        SMALLEST_MS * ((bin.unwrap_or(BINS - 1) as f64 + 0.5) / BINS_PER_OCTAVE).exp2()
    }
}

/// What a stream's calls take.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    usual: Bins,
    /// Slow calls since the last usual one.
    run: Bins,
}

impl Pace {
    /// What is usual, once enough calls were counted.
    pub fn usual(&self) -> Option<Usual> {
        (self.usual.total >= CALLS_MIN)
            .then(|| Usual { median_ms: self.usual.quantile(0.5), tail_ms: self.usual.quantile(0.95) })
    }

    /// Counts a call, slow or not.
    pub fn learn(&mut self, ms: f64, is_slow: bool) {
        if !ms.is_finite() || ms < 0.0 {
            return;
        }
        if is_slow {
            self.run.add(ms);
            if self.run.total > RUN_LONG && self.run.total > 2 * self.usual.total {
                self.usual = std::mem::take(&mut self.run);
            }
            return;
        }
        if self.run.total > 0 {
            let run = std::mem::take(&mut self.run);
            if run.total <= RUN_SHORT {
                self.usual.merge(&run);
            }
        }
        self.usual.add(ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::{Baseline, Row};

    /// How many of the latencies are slow when each is judged and then learnt.
    fn slow(latencies: impl IntoIterator<Item = f64>) -> usize {
        let mut pace = Pace::default();
        let mut judge = |ms: f64| {
            let row = Row { latency_ms: Some(ms), ..Row::default() };
            let is_slow = row.slowness(&Baseline { usual: pace.usual(), ..Baseline::default() }).is_some();
            pace.learn(ms, is_slow);
            is_slow
        };
        latencies.into_iter().filter(|ms| judge(*ms)).count()
    }

    fn repeat(ms: f64, calls: usize) -> impl Iterator<Item = f64> {
        (0..calls).map(move |call| ms * (1.0 + 0.01 * (call % 7) as f64))
    }

    #[test]
    fn a_service_that_becomes_slow_stays_slow() {
        assert_eq!(slow(repeat(500.0, 100).chain(repeat(60_000.0, 100))), 100);
        assert_eq!(slow(repeat(500.0, 100).chain((0..100).map(|i| if i % 9 == 8 { 500.0 } else { 60_000.0 }))), 89);
    }

    #[test]
    fn what_always_was_so_is_not_slow() {
        assert_eq!(slow(repeat(60_000.0, 200)), 0);
        assert_eq!(slow(repeat(500.0, 10).chain(repeat(60_000.0, 200))), 0);
        assert_eq!(slow(repeat(500.0, 200).chain(repeat(4_000.0, 200))), 0);
        // A cache that misses now and then.
        let cached = (0..400).map(|call| if call % 4 == 0 { 2_000.0 } else { 5.0 });
        assert!(slow(cached) <= 3);
    }

    #[test]
    fn a_new_level_becomes_the_usual_in_the_end() {
        assert_eq!(slow(repeat(50.0, 20).chain(repeat(2_000.0, 1_000))), 201);
    }

    #[test]
    fn quantiles_are_within_nine_percent() {
        let mut bins = Bins::default();
        (1..=1_000).for_each(|ms| bins.add(f64::from(ms)));
        for (q, expected) in [(0.5, 500.0), (0.95, 950.0)] {
            assert!((bins.quantile(q) / expected - 1.0).abs() < 0.1, "{q}: {}", bins.quantile(q));
        }
    }
}
