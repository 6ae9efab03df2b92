//! Is a whole stream out of order? What no single record shows: most of its calls are degraded, it became slow and stayed so,
//! it fails more than it did.
//!
//! **Formula**, for a stream of at least [`RECORDS_MIN`] records:
//! - `max_degraded`: the lower end of the 95% Wilson interval of the share of records that are degraded lies above the limit.
//!   A record is degraded when its question `degraded` is flagged, when the call failed, or when the model declined a request
//!   that is no attack and speaks of nothing that a model rightly declines
//! - `max_level_shift`: the mean logarithm of the latency of the last quarter of the calls after some point, up to the end of
//!   the log, is higher than before that point by the logarithm of the limit; all calls after the point are higher by half of it, by Welch's t at least [`T_MIN`]. Where tokens per second are known on both sides, they have
//!   fallen by half of the limit, too: longer answers take longer
//! - `rising_errors`: the share of calls that are degraded (as above) after some point, up to the end, is above that before it, by
//!   a test of two rates at [`P_MAX`] over all points that were tried; at least [`FAILED_MIN`], and so is that of the last
//!   quarter
//!
//! The point is the one of at most as many as a chart has buckets at which the difference is most certain; at least
//! [`BEFORE_MIN`] calls lie before it and [`AFTER_MIN`] after it.
//!
//! **Source**: ours; B. L. Welch (1947) for t, and [`two_rates`].
//!
//! **Limits**: in the order of the input, not of time. A log that begins when the service is already slow shows no shift.

use crate::stats::{two_rates, wilson};

/// The rules of the gate, as its settings name them.
pub const DEGRADED: &str = "max_degraded";
/// See [`DEGRADED`].
pub const LEVEL_SHIFT: &str = "max_level_shift";
/// See [`DEGRADED`].
pub const RISING_ERRORS: &str = "rising_errors";
/// Records of the smallest stream that is judged.
pub const RECORDS_MIN: u64 = 20;
/// Calls before a change.
pub const BEFORE_MIN: u64 = 20;
/// Calls after a change.
pub const AFTER_MIN: u64 = 10;
/// Welch's t of a shift.
pub const T_MIN: f64 = 6.0;
/// How likely the rise of errors would be by chance, over all points that were tried.
pub const P_MAX: f64 = 0.001;
/// The least share of failed calls that is a rise.
pub const FAILED_MIN: f64 = 0.05;

/// Calls in a row: how many, and the sum and the sum of squares of what was measured of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Block {
    /// The number in the stream of the first record that it may hold.
    pub first: u64,
    /// Calls.
    pub calls: u64,
    /// Sum of the values.
    pub sum: f64,
    /// Sum of their squares.
    pub squares: f64,
}

impl Block {
    fn plus(self, other: &Block) -> Block {
        Block {
            first: if self.calls > 0 { self.first } else { other.first },
            calls: self.calls + other.calls,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        }
    }

    fn of(blocks: &[Block]) -> Block {
        blocks.iter().fold(Block::default(), Block::plus)
    }

    fn mean(&self) -> f64 {
        self.sum / self.calls.max(1) as f64
    }

    /// Variance of the mean.
    fn error(&self) -> f64 {
        let (n, mean) = (self.calls as f64, self.mean());
        let variance = ((self.squares - n * mean * mean) / (n - 1.0).max(1.0)).max(0.0);
        variance / n.max(1.0)
    }
}

/// What a stream's calls were, in their order.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// Records.
    pub records: u64,
    /// Those that are degraded.
    pub degraded: u64,
    /// Logarithms of latencies.
    pub latency: Vec<Block>,
    /// Logarithms of tokens per second.
    pub speed: Vec<Block>,
    /// 1 for each call that failed or is degraded, 0 for each other.
    pub failed: Vec<Block>,
}

/// What is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Highest share of degraded records.
    pub degraded: Option<f64>,
    /// Factor of latency from which a level has shifted.
    pub level_shift: Option<f64>,
    /// Whether errors must not rise.
    pub rising_errors: bool,
}

/// What is wrong with a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// The rule of the gate.
    pub rule: &'static str,
    /// What was found, as a sentence without a full stop that goes on after the stream's name.
    pub message: String,
}

/// What is wrong with `stream`.
pub fn facts(stream: &Stream, limits: &Limits) -> Vec<Fact> {
    if stream.records < RECORDS_MIN {
        return Vec::new();
    }
    let degraded = limits.degraded.and_then(|limit| too_degraded(stream, limit));
    let shifted = limits.level_shift.and_then(|times| shifted(stream, times));
    let rising = limits.rising_errors.then(|| rising(&stream.failed)).flatten();
    let named = [(DEGRADED, degraded), (LEVEL_SHIFT, shifted), (RISING_ERRORS, rising)];
    named.into_iter().filter_map(|(rule, message)| Some(Fact { rule, message: message? })).collect()
}

fn too_degraded(stream: &Stream, limit: f64) -> Option<String> {
    let low = wilson::lower_bound(stream.degraded, stream.records);
    (low > limit).then(|| {
        format!(
            "{} of {} records are degraded, failed or declined: a rate of at least {:.0}% (95% confidence), allowed {:.0}%",
            stream.degraded,
            stream.records,
            low * 100.0,
            limit * 100.0
        )
    })
}

/// The blocks before and after each point that has enough calls on both sides.
fn splits(blocks: &[Block]) -> impl Iterator<Item = (Block, &[Block])> {
    (1..blocks.len()).filter_map(move |at| {
        let (before, after) = (Block::of(&blocks[..at]), &blocks[at..]);
        (before.calls >= BEFORE_MIN && Block::of(after).calls >= AFTER_MIN).then_some((before, after))
    })
}

/// The last quarter of the calls, in whole blocks.
fn last_quarter(blocks: &[Block]) -> Block {
    let all = Block::of(blocks).calls;
    let mut calls = 0;
    let taken = blocks.iter().rev().take_while(|block| {
        let is_needed = calls * 4 < all;
        calls += block.calls;
        is_needed
    });
    Block::of(&blocks[blocks.len() - taken.count()..])
}

fn shifted(stream: &Stream, times: f64) -> Option<String> {
    let step = times.ln();
    let t = |before: &Block, after: &Block| {
        let error = (before.error() + after.error()).sqrt();
        if error > 0.0 { (after.mean() - before.mean()) / error } else { f64::INFINITY }
    };
    let is_shift = |(before, after): &(Block, &[Block])| {
        let (whole, last) = (Block::of(after), last_quarter(after));
        let rise = last.mean() - before.mean();
        rise >= step && whole.mean() - before.mean() >= step / 2.0 && t(before, &whole) >= T_MIN
    };
    let certainty = |(before, after): &(Block, &[Block])| t(before, &Block::of(after));
    let (before, blocks) =
        splits(&stream.latency).filter(is_shift).max_by(|one, other| certainty(one).total_cmp(&certainty(other)))?;
    let after = Block::of(blocks);
    if is_explained(&stream.speed, &after, step / 2.0) {
        return None;
    }
    // What rose slowly is told by its end.
    let end = if after.mean() - before.mean() >= step { after } else { last_quarter(blocks) };
    let (from, to) = (before.mean().exp(), end.mean().exp());
    Some(format!(
        "the last {} calls took {} on average, {:.1} times the {} of the first {}",
        end.calls,
        milliseconds(to),
        to / from,
        milliseconds(from),
        before.calls
    ))
}

/// Whether the calls since `slow` began were nearly as fast for the tokens that they gave. Where the tokens of most of them
/// are not known, nothing is explained.
fn is_explained(speed: &[Block], slow: &Block, step: f64) -> bool {
    let (before, after) = speed.split_at(speed.partition_point(|block| block.first < slow.first));
    let (before, after) = (Block::of(before), Block::of(after));
    before.calls >= BEFORE_MIN && after.calls * 2 >= slow.calls && before.mean() - after.mean() < step
}

fn rising(failed: &[Block]) -> Option<String> {
    let count = |block: &Block| (block.sum.round() as u64, block.calls);
    let tried = splits(failed).count() as f64;
    let risen = splits(failed).filter_map(|(before, after)| {
        let whole = Block::of(after);
        let differs = two_rates::compare(count(&before), count(&whole))?;
        let last = last_quarter(after).mean();
        let is_rise = differs.difference > 0.0
            && differs.p * tried <= P_MAX
            && whole.mean() >= FAILED_MIN
            && last >= FAILED_MIN
            && last > before.mean();
        is_rise.then_some((differs.p, before, whole))
    });
    let (_, before, after) = risen.min_by(|one, other| one.0.total_cmp(&other.0))?;
    let ((failed_before, before), (failed_after, after)) = (count(&before), count(&after));
    Some(format!(
        "{failed_after} of the last {after} calls are degraded, failed or declined, {failed_before} of the {before} before"
    ))
}

fn milliseconds(ms: f64) -> String {
    if ms >= 1_000.0 { format!("{:.1} s", ms / 1_000.0) } else { format!("{ms:.0} ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { degraded: Some(0.5), level_shift: Some(3.0), rising_errors: true };

    fn blocks(values: impl IntoIterator<Item = f64>) -> Vec<Block> {
        let values: Vec<f64> = values.into_iter().collect();
        let block = |(index, values): (usize, &[f64])| Block {
            first: 4 * index as u64,
            calls: values.len() as u64,
            sum: values.iter().sum(),
            squares: values.iter().map(|value| value * value).sum(),
        };
        values.chunks(4).enumerate().map(block).collect()
    }

    fn latencies(parts: &[(f64, usize)]) -> Vec<Block> {
        let of = |&(ms, calls): &(f64, usize)| (0..calls).map(move |call| (ms * (1.0 + 0.1 * (call % 5) as f64)).ln());
        blocks(parts.iter().flat_map(of))
    }

    fn rules(stream: &Stream) -> Vec<&'static str> {
        facts(stream, &LIMITS).into_iter().map(|fact| fact.rule).collect()
    }

    #[test]
    fn most_records_degraded_is_a_dead_service() {
        for (degraded, records, expected) in
            [(100, 100, true), (20, 20, true), (19, 19, false), (55, 100, false), (65, 100, true), (0, 100, false)]
        {
            let stream = Stream { records, degraded, ..Stream::default() };
            assert_eq!(!rules(&stream).is_empty(), expected, "{degraded} of {records}");
        }
    }

    #[test]
    fn a_level_that_stays_has_shifted() {
        for (parts, expected) in [
            (&[(500.0, 100), (60_000.0, 100)][..], true),
            (&[(500.0, 100), (1_600.0, 100)], true),
            (&[(500.0, 100), (1_550.0, 100)], true),
            (&[(500.0, 100), (800.0, 50), (1_300.0, 50), (2_500.0, 100)], true),
            (&[(500.0, 100), (1_000.0, 100)], false),
            (&[(500.0, 100), (60_000.0, 50), (500.0, 100)], false),
            (&[(60_000.0, 100), (500.0, 100)], false),
            (&[(500.0, 10), (60_000.0, 100)], false),
            (&[(500.0, 100), (60_000.0, 6)], false),
        ] {
            let stream = Stream { records: 200, latency: latencies(parts), ..Stream::default() };
            assert_eq!(rules(&stream) == ["max_level_shift"], expected, "{parts:?}");
        }
    }

    #[test]
    fn longer_answers_take_longer() {
        let latency = latencies(&[(500.0, 100), (5_000.0, 100)]);
        let slower =
            Stream { records: 200, latency, speed: latencies(&[(50.0, 100), (5.0, 100)]), ..Stream::default() };
        assert_eq!(rules(&slower), ["max_level_shift"]);
        let longer = Stream { speed: latencies(&[(50.0, 100), (50.0, 100)]), ..slower };
        assert_eq!(rules(&longer), [""; 0]);
        // Tokens that are known of the first half only explain nothing of the second.
        let unknown = Stream { speed: latencies(&[(50.0, 100)]), ..longer };
        assert_eq!(rules(&unknown), ["max_level_shift"]);
    }

    #[test]
    fn errors_that_rise_and_stay_are_told() {
        let failed = |parts: &[(usize, usize)]| {
            blocks(parts.iter().flat_map(|&(every, calls)| {
                (0..calls).map(move |call| f64::from(u8::from(every > 0 && call % every == 0)))
            }))
        };
        for (parts, expected) in [
            (&[(0, 200), (2, 60)][..], true),
            (&[(50, 400), (4, 100)], true),
            (&[(4, 500)], false),
            (&[(0, 200), (2, 40), (0, 200)], false),
            (&[(0, 200), (40, 80)], false),
        ] {
            let stream = Stream { records: 500, failed: failed(parts), ..Stream::default() };
            assert_eq!(rules(&stream) == ["rising_errors"], expected, "{parts:?}");
        }
    }
}
