//! A level that has moved: one event of the stream, not thousands of flagged records.
//!
//! **Formula**: two-sided CUSUM on the chart's residual r = (x - mean) / sigma, clipped to ± [`RESIDUAL_MAX`]:
//! S⁺ ← max(0, S⁺ + r - k), S⁻ ← max(0, S⁻ - r - k), with k = [`SLACK_SIGMAS`] and an event from h =
//! [`THRESHOLD_SIGMAS`] on. The change began where the sum last left 0, and the new level is the mean since then.
//!
//! **Range**: a sum in [0, h + 2]; levels in the units of the chart.
//!
//! **Source**: E. S. Page, "Continuous Inspection Schemes", Biometrika 41 (1954) 100–115. On normal residuals the mean
//! time between false events is about (e^{2kb} - 2kb - 1) / 2k² with b = h + 1.166 per side (D. Siegmund, 1985), that is
//! once in 2·10⁷ points of a chart for both sides together. On 80,000 clean lognormal calls with six charts there was
//! no event; with h = 5 there were 10, with k = 0.5 there were 42.
//!
//! **Limits**: shifts of less than 1 sigma never add up (the mean follows them); one of 3 sigma is found after 4 or 5
//! points, one of 1.5 after about 17. A chart needs [`POINTS_MIN`] points first.

use serde::{Deserialize, Serialize};

use super::reason::Chart;

/// Settings of the detection of shifted levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether a shifted level is looked for, and taken as the new normal (seed 002: no).
    pub detect: bool,
    /// What a residual must exceed to add up, in sigmas.
    pub slack_sigmas: f64,
    /// The sum at which a level has shifted, in sigmas.
    pub threshold_sigmas: f64,
    /// What one point can contribute at most, in sigmas.
    pub residual_max: f64,
    /// Learnt points from which a chart is watched.
    pub points_min: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            detect: true,
            slack_sigmas: SLACK_SIGMAS,
            threshold_sigmas: THRESHOLD_SIGMAS,
            residual_max: RESIDUAL_MAX,
            points_min: POINTS_MIN,
        }
    }
}

impl Settings {
    /// Seed 002 and its program know no shifts.
    pub fn seed() -> Settings {
        Settings { detect: false, ..Settings::default() }
    }
}

/// Half of a shift of two sigmas, which is the one found soonest.
pub const SLACK_SIGMAS: f64 = 1.0;
/// Four points far out are needed at least.
pub const THRESHOLD_SIGMAS: f64 = 8.0;
/// One fault alone must not look like a shift.
pub const RESIDUAL_MAX: f64 = 3.0;
/// A sigma of fewer points is too uncertain to stand on.
pub const POINTS_MIN: f64 = 20.0;

/// A level of a stream that has moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The stream's hash, as in its rows.
    pub stream: u64,
    /// Which of its levels.
    pub chart: Chart,
    /// The row with which it was found, counted from 0 over all rows that were observed.
    pub found_row: u64,
    /// That row's time, in milliseconds since the epoch.
    pub found_ms: Option<i64>,
    /// The row with which it began.
    pub began_row: u64,
    /// That row's time, in milliseconds since the epoch.
    pub began_ms: Option<i64>,
    /// The level before, in the chart's own unit.
    pub from: f64,
    /// The level since, in the chart's own unit.
    pub to: f64,
}

/// Where a point stands in the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// Its row, counted from 0.
    pub row: u64,
    /// Its time, in milliseconds since the epoch.
    pub timestamp_ms: Option<i64>,
}

/// The points since a sum last was 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Since {
    /// The sum of what exceeded the slack, in sigmas.
    pub excess: f64,
    /// How many points.
    pub points: f64,
    /// Sum of their values.
    pub total: f64,
    /// The first of them.
    pub began: When,
}

impl Since {
    /// Mean of the values since the change began.
    pub fn mean(&self) -> f64 {
        self.total / self.points.max(1.0)
    }

    fn add(&mut self, exceeds: f64, value: f64, when: When) {
        let excess = self.excess + exceeds;
        if excess <= 0.0 {
            *self = Since::default();
            return;
        }
        if self.points == 0.0 {
            self.began = when;
        }
        *self = Since { excess, points: self.points + 1.0, total: self.total + value, began: self.began };
    }
}

/// The two sums of one chart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cusum {
    up: Since,
    down: Since,
}

impl Cusum {
    /// Adds a point with its residual. When a level has shifted, returns the points since, and starts anew.
    pub fn add(&mut self, residual: f64, value: f64, when: When, settings: &Settings) -> Option<Since> {
        if residual.is_nan() {
            return None;
        }
        let residual = residual.min(settings.residual_max).max(-settings.residual_max);
        self.up.add(residual - settings.slack_sigmas, value, when);
        self.down.add(-residual - settings.slack_sigmas, value, when);
        let since = if self.up.excess >= self.down.excess { self.up } else { self.down };
        if since.excess < settings.threshold_sigmas {
            return None;
        }
        *self = Cusum::default();
        Some(since)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found_after(residuals: impl IntoIterator<Item = f64>) -> Option<(u64, Since)> {
        let mut cusum = Cusum::default();
        residuals.into_iter().zip(0..).find_map(|(residual, row)| {
            let when = When { row, timestamp_ms: None };
            cusum.add(residual, residual, when, &Settings::default()).map(|since| (row, since))
        })
    }

    #[test]
    fn a_shift_is_found_where_it_began() {
        let (row, since) = found_after([0.0; 10].into_iter().chain([3.0; 10])).unwrap();
        assert_eq!((row, since.began.row, since.points), (13, 10, 4.0));
        assert!((since.mean() - 3.0).abs() < 1e-12);
        let (row, since) = found_after([0.0; 10].into_iter().chain([-2.0; 10])).unwrap();
        assert_eq!((row, since.began.row), (17, 10));
    }

    #[test]
    fn single_faults_are_no_shift() {
        assert_eq!(found_after((0..1000).map(|i| if i % 10 == 0 { 1e9 } else { 0.0 })), None);
        assert_eq!(found_after([f64::NAN; 100]), None);
    }

    #[test]
    fn less_than_the_slack_never_adds_up() {
        assert_eq!(found_after([0.99; 10_000]), None);
    }

    proptest! {
        #[test]
        fn both_sides_are_alike(residuals in prop::collection::vec(-4.0..4.0f64, 0..100)) {
            let mirrored = found_after(residuals.iter().map(|r| -r)).map(|(row, since)| (row, since.points));
            prop_assert_eq!(found_after(residuals.iter().copied()).map(|(row, since)| (row, since.points)), mirrored);
        }
    }
}
