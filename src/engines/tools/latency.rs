//! A tool that answered faster than it can (`latency_anomaly`), or slower than it should (`slow_tool`).
//!
//! **Formula**: for a time of t ms and a plausible range from a to b ms:
//! - below [`FLOOR_MS`]: score = 1 - t / 2. When the tool is registered with network I/O and the clock is finer than a
//!   millisecond, the ratio is at least [`FLOOR_RATIO`], and [`NEAR_CERTAIN_RATIO`] from a score of
//!   [`NEAR_CERTAIN_FROM`] on, so that it blocks by itself. A tool without network I/O has no floor
//! - below a: score = √(1 - t / a), fires from [`FIRES_FROM`] on
//! - both apply: the one that weighs more counts
//! - above b: `slow_tool`, score = min(1, t / b - 1), fires from [`FIRES_FROM`] on
//! - against the stream's own history, `history::latency` adds to both
//!
//! **Range**: 0 (plausible) to 1 (no time at all; twice the maximum).
//!
//! **Source**: seed 002, signal `latency_anomaly` (ratio 3.5; "< 2 ms = near-certain fabrication"); the scores and
//! the raised ratios are its program's. `slow_tool` is ours: being slow is no sign of being made up.
//!
//! **Limits**: whole milliseconds cannot tell 0.2 ms from 1 ms, so a clock that shows nothing finer raises no ratio.
//! A clock counts as finer when the time at hand is not whole, or an earlier one of the same stream was not. Without a
//! profile nothing is known of the tool either, and a local one takes no time at all: times below the floor say nothing then, until
//! its own past shows that it takes time (`history`). A call that failed may have failed before it did anything, and is not looked at; nor is a time
//! whose unit is assumed (`duration`), without a profile: seconds would be condemned as milliseconds.

use serde::{Deserialize, Serialize};

use crate::engines::{About, Question, SignalAbout};

/// Settings of the latency check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// P(fires | fabricated) / P(fires | real) of `latency_anomaly`.
    pub likelihood_ratio: f64,
    /// Scores against the range fire from here on.
    pub fires_from: f64,
    /// No real I/O takes less, in milliseconds.
    pub floor_ms: f64,
    /// Whether times below the floor raise the ratio (seed 002: no).
    pub floor_raises_ratio: bool,
    /// Whether the floor holds also for tools without network I/O (seed 002).
    pub floor_without_network_io: bool,
    /// Whether the range counts below the floor too, when it weighs more (seed 002: no).
    pub range_below_floor: bool,
    /// Whether the floor holds for a tool without a profile, whatever its own past shows (seed 002).
    pub unknown_tools_count: bool,
    /// Whether calls that failed can be too fast (seed 002).
    pub failed_calls_count: bool,
    /// Whether a time whose unit the log does not tell counts for a tool without a profile (seed 002).
    pub assumed_unit_counts: bool,
    /// Least ratio below the floor.
    pub floor_ratio: f64,
    /// Least ratio below the floor from `near_certain_from` on.
    pub near_certain_ratio: f64,
    /// Scores below the floor are near-certain from here on.
    pub near_certain_from: f64,
    /// Whether a call above the maximum is a sign of `degraded` (seed 002: nothing).
    pub slow_counts: bool,
    /// P(fires | degraded) / P(fires | well) of `slow_tool`.
    pub slow_likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            likelihood_ratio: LIKELIHOOD_RATIO,
            fires_from: FIRES_FROM,
            floor_ms: FLOOR_MS,
            floor_raises_ratio: true,
            floor_without_network_io: false,
            range_below_floor: true,
            unknown_tools_count: false,
            failed_calls_count: false,
            assumed_unit_counts: false,
            floor_ratio: FLOOR_RATIO,
            near_certain_ratio: NEAR_CERTAIN_RATIO,
            near_certain_from: NEAR_CERTAIN_FROM,
            slow_counts: true,
            slow_likelihood_ratio: SLOW_LIKELIHOOD_RATIO,
        }
    }
}

impl Settings {
    /// The letter of seed 002 and, where it is silent, its program.
    pub fn seed() -> Settings {
        Settings {
            floor_raises_ratio: false,
            floor_without_network_io: true,
            range_below_floor: false,
            unknown_tools_count: true,
            failed_calls_count: true,
            assumed_unit_counts: true,
            slow_counts: false,
            ..Settings::default()
        }
    }
}

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Finds tool answers that came faster than the tool can work.",
    formula: "below 2 ms: 1 - ms / 2; below the minimum: sqrt(1 - ms / minimum), from 0.3 on; z < -3: min(1, (|z| - 3) / 3)",
    range: "0 (plausible) to 1 (no time at all)",
    source: "seed 002",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Fabricated,
        title: "The tool answered faster than it can work.",
        owasp: "LLM09",
        help: "Was the tool called at all? Look for mocks, caches and made-up results.",
    }],
};

/// What is known of [`SLOW_SIGNAL`].
pub const SLOW_ABOUT: About = About {
    name: SLOW_SIGNAL,
    summary: "Finds tool calls that took longer than expected.",
    formula: "above the maximum: min(1, ms / maximum - 1), from 0.3 on; z > 3: min(1, (z - 3) / 3)",
    range: "0 (as expected) to 1 (twice the maximum, or 6 sigma)",
    source: "llmverify; seed 002 counts z > 3 as latency_anomaly",
    signals: &[SignalAbout {
        id: SLOW_SIGNAL,
        question: Question::Degraded,
        title: "The tool took longer than it should.",
        owasp: "",
        help: "Look at the tool's own monitoring at that time.",
    }],
};

/// The signal of a call that was too fast.
pub const SIGNAL: &str = "latency_anomaly";
/// The signal of a call that was too slow.
pub const SLOW_SIGNAL: &str = "slow_tool";
/// Seed 002, "Signal Types & Likelihood Ratios".
pub const LIKELIHOOD_RATIO: f64 = 3.5;
/// Ours, modest until it is fitted.
pub const SLOW_LIKELIHOOD_RATIO: f64 = 3.0;
/// Seed 002: "impossibly fast execution (< 2 ms)".
pub const FLOOR_MS: f64 = 2.0;
/// Seed 002's program: scores against the range fire from here on.
pub const FIRES_FROM: f64 = 0.3;
/// Seed 002's program: least ratio below the floor.
pub const FLOOR_RATIO: f64 = 15.0;
/// Seed 002's program: least ratio below the floor when the score is [`NEAR_CERTAIN_FROM`].
pub const NEAR_CERTAIN_RATIO: f64 = 50.0;
/// Seed 002's program: 0.2 ms or less.
pub const NEAR_CERTAIN_FROM: f64 = 0.9;

/// What the floor of two milliseconds says of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    /// Nothing: the tool does no network I/O.
    Off,
    /// Nothing yet: neither the tool nor the clock is known well enough.
    Unknown,
    /// Suspicious, with the usual ratio.
    Plain,
    /// Near-certain: network I/O is known, and so is that the clock is fine enough.
    Raised,
}

/// What a time says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Whether it fires.
    pub fired: bool,
    /// Strength in [0, 1].
    pub score: f64,
    /// The ratio at full score.
    pub likelihood_ratio: f64,
    /// Whether the floor says so (else the range).
    pub by_floor: bool,
}

impl Reading {
    /// By how much it raises the odds.
    pub fn weight(&self) -> f64 {
        if self.fired { (1.0 + (self.likelihood_ratio - 1.0) * self.score).max(1.0) } else { 0.0 }
    }
}

/// Which floor holds for a tool: `network_io` is that of its profile, `None` without one.
pub fn floor_for(network_io: Option<bool>, clock_is_fine: bool, settings: &Settings) -> Floor {
    match network_io {
        Some(false) if !settings.floor_without_network_io => Floor::Off,
        None if !settings.unknown_tools_count => Floor::Unknown,
        Some(true) if clock_is_fine && settings.floor_raises_ratio => Floor::Raised,
        _ => Floor::Plain,
    }
}

/// Whether `ms` is too fast for a tool that needs at least `least_ms`.
pub fn too_fast(ms: f64, least_ms: f64, floor: Floor, settings: &Settings) -> Reading {
    let range = against_range(ms, least_ms, settings);
    if ms >= settings.floor_ms || floor == Floor::Off {
        return range;
    }
    if floor == Floor::Unknown {
        return Reading { fired: false, score: 0.0, ..range };
    }
    let floor = against_floor(ms, floor, settings);
    if settings.range_below_floor && range.weight() > floor.weight() { range } else { floor }
}

/// The score of `slow_tool` for a tool that needs at most `most_ms`, and whether it fires.
pub fn too_slow(ms: f64, most_ms: f64, settings: &Settings) -> (f64, bool) {
    if ms <= most_ms || most_ms <= 0.0 {
        return (0.0, false);
    }
    let score = (ms / most_ms - 1.0).min(1.0);
    (score, score >= settings.fires_from)
}

fn against_range(ms: f64, least_ms: f64, settings: &Settings) -> Reading {
    let score = if ms < least_ms { (1.0 - ms / least_ms).sqrt() } else { 0.0 };
    let fired = score > 0.0 && score >= settings.fires_from;
    Reading { fired, score, likelihood_ratio: settings.likelihood_ratio, by_floor: false }
}

fn against_floor(ms: f64, floor: Floor, settings: &Settings) -> Reading {
    let score = 1.0 - ms / settings.floor_ms;
    let least_ratio = match floor {
        Floor::Raised if score >= settings.near_certain_from => settings.near_certain_ratio,
        Floor::Raised => settings.floor_ratio,
        Floor::Off | Floor::Unknown | Floor::Plain => 0.0,
    };
    Reading { fired: true, score, likelihood_ratio: settings.likelihood_ratio.max(least_ratio), by_floor: true }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seed(ms: f64, least_ms: f64) -> (bool, f64) {
        let reading = too_fast(ms, least_ms, Floor::Plain, &Settings::seed());
        (reading.fired, reading.score)
    }

    #[test]
    fn the_scores_of_the_program() {
        assert_eq!(seed(0.0, 50.0), (true, 1.0));
        assert_eq!(seed(1.999, 50.0), (true, 1.0 - 1.999 / 2.0));
        assert_eq!(seed(2.0, 50.0), (true, (1.0 - 2.0 / 50.0_f64).sqrt()));
        assert!(!seed(45.5, 50.0).0);
        assert_eq!(seed(2.0, 2.0), (false, 0.0));
    }

    #[test]
    fn the_ratio_is_raised_for_network_tools_with_a_fine_clock_only() {
        let settings = Settings::default();
        let ratio = |ms, network_io, fine| {
            too_fast(ms, 0.1, floor_for(network_io, fine, &settings), &settings).likelihood_ratio
        };
        assert_eq!(ratio(0.2, Some(true), true), 50.0);
        assert_eq!(ratio(0.3, Some(true), true), 15.0);
        assert_eq!(ratio(0.3, Some(true), false), 3.5);
        assert_eq!(ratio(0.3, None, true), 3.5);
        assert!(!too_fast(0.3, 0.1, floor_for(Some(false), true, &settings), &settings).fired);
        assert_eq!(floor_for(Some(true), true, &Settings::seed()), Floor::Plain);
        assert_eq!(floor_for(Some(false), true, &Settings::seed()), Floor::Plain);
    }

    #[test]
    fn what_is_unknown_waits_for_its_past() {
        let fires = |ms, network_io, fine, settings: &Settings| {
            too_fast(ms, 2.0, floor_for(network_io, fine, settings), settings).fired
        };
        let (ours, seed) = (Settings::default(), Settings::seed());
        for (ms, network_io, fine, expected) in [
            (0.0, None, false, [false, true]),
            (1.0, None, false, [false, true]),
            (0.0, None, true, [false, true]),
            (0.5, None, true, [false, true]),
            (0.0, Some(true), false, [true, true]),
            (2.0, None, false, [false, false]),
        ] {
            let found = [&ours, &seed].map(|settings| fires(ms, network_io, fine, settings));
            assert_eq!(found, expected, "{ms} ms, {network_io:?}, {fine}");
        }
    }

    #[test]
    fn slow_begins_at_130_percent() {
        let settings = Settings::default();
        assert_eq!(too_slow(100.0, 100.0, &settings), (0.0, false));
        assert!(!too_slow(120.0, 100.0, &settings).1);
        assert!(too_slow(131.0, 100.0, &settings).1);
        assert_eq!(too_slow(1e9, 100.0, &settings), (1.0, true));
    }

    proptest! {
        #[test]
        fn faster_never_weighs_less(a in 0.0..100.0f64, b in 0.0..100.0f64, least in 0.0..100.0f64) {
            let settings = Settings::default();
            for floor in [Floor::Off, Floor::Plain, Floor::Raised] {
                let at = |ms| too_fast(ms, least, floor, &settings);
                prop_assert!((0.0..=1.0).contains(&at(a).score));
                prop_assert!(at(a.min(b)).weight() >= at(a.max(b)).weight() - 1e-12);
            }
        }
    }
}
