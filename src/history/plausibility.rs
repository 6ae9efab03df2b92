//! A numeric field that is far from its last values.
//!
//! **Formula**: the field fires beyond mean ± 3 sigma of its last [`VALUES_MAX`] values, on the scale of its chart and
//! with the limit of its chart (widened for the number of charts, and for few values by Student's t); score = [`FIELD_SCORE`] per field that fires, at most 1. It and the control chart of the same field are one piece of
//! evidence: the larger of the two counts.
//!
//! **Range**: 0 to 1.
//!
//! **Source**: seed 002, signal `value_plausibility` (ratio 3.0; "mean ± 3σ"; 100-observation buffer); the score per
//! field is its program's, which counts chart and plausibility both, on a linear scale.
//!
//! **Limits**: [`VALUES_MIN`] values are needed; equal values (sigma 0) say nothing.

use serde::{Deserialize, Serialize};

use crate::{
    engines::{About, Question, SignalAbout},
    stats::{normal, welford::FLAT_SHARE},
};

/// Settings of the plausibility check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// P(fires | fabricated) / P(fires | real).
    pub likelihood_ratio: f64,
    /// Values from which a field is compared.
    pub values_min: usize,
    /// Last values of a field that are kept.
    pub values_max: usize,
    /// Values further away than this are implausible, in sigmas.
    pub sigmas: f64,
    /// Score of one implausible field.
    pub field_score: f64,
    /// Whether it counts beside the control chart of the same field (seed 002).
    pub beside_chart: bool,
    /// Whether a distance from few values counts as less rare, as Student's t does (seed 002: no).
    pub few_values_are_uncertain: bool,
    /// Whether its limit is widened for the number of charts, like that of a point on a chart (seed 002: no).
    pub widen_limit: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            likelihood_ratio: LIKELIHOOD_RATIO,
            values_min: VALUES_MIN,
            values_max: VALUES_MAX,
            sigmas: SIGMAS,
            field_score: FIELD_SCORE,
            beside_chart: false,
            few_values_are_uncertain: true,
            widen_limit: true,
        }
    }
}

impl Settings {
    /// The letter of seed 002 and, where it is silent, its program.
    pub fn seed() -> Settings {
        Settings { beside_chart: true, few_values_are_uncertain: false, widen_limit: false, ..Settings::default() }
    }
}

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Finds numbers far from the last hundred values of their field.",
    formula: "0.3 per field beyond mean ± 3 sigma of its last 100 values, at most 1",
    range: "0 (plausible) to 1 (four fields or more)",
    source: "seed 002",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Fabricated,
        title: "A number of the tool's answer is far from its last hundred values.",
        owasp: "LLM09",
        help: "Compare with the tool's answers just before.",
    }],
};

/// The signal of this check.
pub const SIGNAL: &str = "value_plausibility";
/// Seed 002, "Signal Types & Likelihood Ratios".
pub const LIKELIHOOD_RATIO: f64 = 3.0;
/// Seed 002: "at least 8 prior observations".
pub const VALUES_MIN: usize = 8;
/// Seed 002: "100-observation circular buffer".
pub const VALUES_MAX: usize = 100;
/// Seed 002: mean ± 3 sigma.
pub const SIGMAS: f64 = 3.0;
/// Seed 002's program: score of one implausible field.
pub const FIELD_SCORE: f64 = 0.3;

/// The score of `fields` implausible fields.
pub fn score(fields: usize, settings: &Settings) -> f64 {
    (fields as f64 * settings.field_score).min(1.0)
}

/// The last values of a chart, in a ring, with their mean and spread.
#[derive(Clone, Debug, Default)]
pub struct Window {
    values: Vec<f64>,
    next: usize,
    mean: f64,
    m2: f64,
}

impl Window {
    /// How many values it holds.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The `back`th newest value, 0 being the newest.
    pub fn newest(&self, back: usize) -> Option<f64> {
        let len = self.values.len();
        if back >= len {
            return None;
        }
        let end = if self.next == 0 { len } else { self.next };
        Some(self.values[if back < end { end - 1 - back } else { end + len - 1 - back }])
    }

    /// Adds a value; beyond `capacity`, the oldest makes room.
    pub fn push(&mut self, value: f64, capacity: usize) {
        if self.values.len() < capacity {
            self.grow(value, capacity);
            return;
        }
        let oldest = std::mem::replace(&mut self.values[self.next], value);
        self.next = if self.next + 1 == self.values.len() { 0 } else { self.next + 1 };
        if self.next == 0 {
            // Once a round, rounding errors of the sliding update are wiped out.
            self.recompute();
            return;
        }
        let earlier_mean = self.mean;
        self.mean += (value - oldest) / self.values.len() as f64;
        self.m2 += (value - oldest) * (value - self.mean + oldest - earlier_mean);
    }

    /// Mean of the values; 0 of none.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Sample standard deviation of the values; 0 when they do not differ.
    pub fn sigma(&self) -> f64 {
        if self.values.len() < 2 {
            return 0.0;
        }
        let sigma = (self.m2 / (self.values.len() as f64 - 1.0)).max(0.0).sqrt();
        if sigma <= self.mean.abs() * FLAT_SHARE { 0.0 } else { sigma }
    }

    /// Least and greatest value; `None` of none.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        let first = *self.values.first()?;
        Some(self.values.iter().fold((first, first), |(low, high), &x| (low.min(x), high.max(x))))
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        *self = Window { values: std::mem::take(&mut self.values), ..Window::default() };
        self.values.clear();
    }

    fn grow(&mut self, value: f64, capacity: usize) {
        // Grown by doubling, but never beyond what a full window takes.
        let len = self.values.len();
        if len == self.values.capacity() {
            self.values.reserve_exact(len.max(16).min(capacity - len));
        }
        self.values.push(value);
        let delta = value - self.mean;
        self.mean += delta / self.values.len() as f64;
        self.m2 += delta * (value - self.mean);
    }

    fn recompute(&mut self) {
        self.mean = self.values.iter().sum::<f64>() / self.values.len() as f64;
        self.m2 = self.values.iter().map(|value| (value - self.mean) * (value - self.mean)).sum();
    }
}

/// How many sigmas `value` is away from the last values; `None` when there are too few, or no spread.
pub fn distance(value: f64, window: &Window, settings: &Settings) -> Option<f64> {
    if window.len() < settings.values_min {
        return None;
    }
    let sigma = window.sigma();
    let z = (value - window.mean()) / sigma;
    let z = if settings.few_values_are_uncertain { normal::of_sample(z, window.len() as f64) } else { z };
    (sigma > 0.0 && z.is_finite()).then_some(z)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(values: &[f64], capacity: usize) -> Window {
        let mut window = Window::default();
        values.iter().for_each(|&value| window.push(value, capacity));
        window
    }

    #[test]
    fn a_distance_needs_values_and_spread() {
        let settings = Settings::default();
        assert_eq!(distance(9.0, &filled(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0], 100), &settings), None);
        assert_eq!(distance(9.0, &filled(&[5.0; 20], 100), &settings), None);
        let eight = filled(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0], 100);
        let raw = distance(9.0, &eight, &Settings::seed()).unwrap();
        assert!((raw - 7.5 / (2.0_f64 / 7.0).sqrt()).abs() < 1e-9, "{raw}");
        let rare = distance(9.0, &eight, &settings).unwrap();
        assert!(rare > 4.0 && rare < raw, "{rare}");
    }

    #[test]
    fn scores_add_up_to_one() {
        let settings = Settings::default();
        assert_eq!([0, 1, 2, 9].map(|fields| score(fields, &settings)), [0.0, 0.3, 0.6, 1.0]);
    }

    #[test]
    fn a_window_that_has_become_flat_says_so() {
        let mut window = filled(&[0.1, 0.7, 0.3, 0.9, 0.2], 5);
        (0..10).for_each(|_| window.push(0.1, 5));
        assert_eq!(window.sigma(), 0.0);
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_last_values(values in prop::collection::vec(-1e3..1e3f64, 1..60), capacity in 1usize..20) {
            let window = filled(&values, capacity);
            let last: Vec<f64> = values.iter().rev().take(capacity).copied().collect();
            let newest: Vec<f64> = (0..).map_while(|back| window.newest(back)).collect();
            prop_assert_eq!(&newest, &last);
            let mean = last.iter().sum::<f64>() / last.len() as f64;
            prop_assert!((window.mean() - mean).abs() < 1e-7);
            if last.len() > 1 {
                let variance = last.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (last.len() - 1) as f64;
                prop_assert!((window.sigma() - variance.sqrt()).abs() < 1e-4 * (1.0 + variance.sqrt()));
            }
        }
    }
}
