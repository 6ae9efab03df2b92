//! Answers that take much longer than the stream's average.
//!
//! **Formula**: deviation = max(0, latency / baseline - 1). Below [`Settings::warn_deviation`] the value is 0 and the
//! status `ok`; from there on the value is min(1, deviation / [`Settings::error_deviation`]), with `warn` below
//! [`Settings::error_deviation`] and `error` from it. By default `warn` begins at 2.5 times the baseline and `error` at
//! 4 times.
//!
//! **Range**: [0, 1]; 0 is as fast as usual or nearly so, 1 is four times the baseline or more.
//!
//! **Source**: seed 001, "LatencyEngine".
//!
//! **Limits**: the network counts as much as the model, and a long prompt is not told apart from a slow service. For a
//! tool only the value is reported, for its health: its timing becomes evidence in the tool's own engines and charts,
//! and one fact must not count twice.

use serde::{Deserialize, Serialize};

use crate::engines::{
    About, Assessment, Baseline, BaselineEngine, Detail, Effect, Question, RatioSource, Row, Signal, SignalAbout,
    Status, Tier,
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: "latency",
    summary: "Finds answers that take much longer than the stream's average.",
    formula: "deviation = max(0, latency / baseline - 1); 0 below warn_deviation, else min(1, deviation / error_deviation)",
    range: "0 (as usual) to 1 (four times the baseline or more)",
    source: "seed 001, LatencyEngine",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "The answer took much longer than usual.",
        owasp: "",
        help: "Look at the provider's status, prompt length and retries at that time.",
    }],
};

/// The signal of this engine.
pub const SIGNAL: &str = "latency_high";
/// Modest until it is fitted: slow answers are common among sound ones.
pub const LIKELIHOOD_RATIO: f64 = 3.0;

/// The cuts of the engine.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `warn` from this deviation on: 1.5 is two and a half times the baseline.
    pub warn_deviation: f64,
    /// `error` from this deviation on: 3 is four times the baseline. It is also the deviation with the value 1.
    pub error_deviation: f64,
    /// What a call that takes ten times the usual counts as: `fact`, `evidence`, `off`.
    pub effect: Effect,
    /// Likelihood ratio of `latency_high`, where it counts as evidence.
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { warn_deviation: 1.5, error_deviation: 3.0, effect: Effect::Fact, likelihood_ratio: LIKELIHOOD_RATIO }
    }
}

impl Settings {
    /// The letter of seed 001.
    pub fn seed() -> Settings {
        Settings { effect: Effect::Off, ..Settings::default() }
    }
}

/// Status and value of a latency, given a baseline above 0.
pub fn deviation(latency_ms: f64, baseline_ms: f64, settings: &Settings) -> (Status, f64) {
    let deviation = (latency_ms / baseline_ms - 1.0).max(0.0);
    let status = Status::from_cuts(deviation, settings.warn_deviation, settings.error_deviation);
    let value = match status {
        Status::Ok => 0.0,
        _ => (deviation / settings.error_deviation).min(1.0),
    };
    (status, value)
}

/// Compares a row's latency with its baseline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    settings: Settings,
}

impl Latency {
    /// The engine with its constants.
    pub fn new(settings: Settings) -> Latency {
        Latency { settings }
    }
}

impl BaselineEngine for Latency {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, row: &Row, baseline: &Baseline) -> Option<Assessment> {
        if row.feedback.is_some() {
            return None;
        }
        let Some(latency_ms) = row.latency_ms else {
            return Some(Assessment::not_assessed("no latency"));
        };
        if !baseline.stable {
            return Some(Assessment::not_assessed("baseline not stable yet"));
        }
        let Some(baseline_ms) = baseline.latency_ms.filter(|ms| *ms > 0.0) else {
            return Some(Assessment::not_assessed("no latency in the baseline"));
        };
        if row.is_error {
            return Some(Assessment::not_assessed("the call failed"));
        }
        let (status, value) = deviation(latency_ms, baseline_ms, &self.settings);
        let fired = status != Status::Ok;
        let assessment = Assessment::new(status, value)
            .with("latency_ms", Detail::Number(latency_ms))
            .with("baseline_ms", Detail::Number(baseline_ms))
            .with("ratio", Detail::Number(latency_ms / baseline_ms));
        if row.is_tool {
            return Some(assessment);
        }
        let ratio = RatioSource::default_or_config(self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
        let absent = Signal::absent(SIGNAL, Question::Degraded, Tier::One, ratio);
        Some(match row.slowness(baseline).zip(baseline.usual).filter(|_| self.settings.effect != Effect::Off) {
            Some((times, usual)) => {
                let usual_ms = usual.median_ms;
                let detail = format!("the answer took {latency_ms:.0} ms, {times:.0} times the usual {usual_ms:.0} ms");
                assessment.signal(self.settings.effect.of(absent.fire(1.0, detail)))
            }
            None if fired => assessment.signal(absent.fire(value, clause(latency_ms, baseline_ms))),
            None => assessment.signal(absent),
        })
    }
}

fn clause(latency_ms: f64, baseline_ms: f64) -> String {
    let ratio = latency_ms / baseline_ms;
    format!("the answer took {latency_ms:.0} ms, {ratio:.1} times the average of {baseline_ms:.0} ms")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(latency_ms: f64, status: Status, value: f64) {
        let (got_status, got_value) = deviation(latency_ms, 1000.0, &Settings::default());
        assert_eq!(got_status, status, "{latency_ms} ms");
        assert!((got_value - value).abs() < 1e-12, "{latency_ms} ms: {got_value}");
    }

    #[test]
    fn the_cuts_are_at_two_and_a_half_and_four_times_the_baseline() {
        check(0.0, Status::Ok, 0.0);
        check(2499.0, Status::Ok, 0.0);
        check(2500.0, Status::Warn, 0.5);
        check(3999.0, Status::Warn, 2.999 / 3.0);
        check(4000.0, Status::Error, 1.0);
        check(1e9, Status::Error, 1.0);
    }

    fn row(latency_ms: f64) -> Row {
        Row { latency_ms: Some(latency_ms), ..Row::default() }
    }

    fn baseline() -> Baseline {
        Baseline { samples: 5, stable: true, latency_ms: Some(1000.0), ..Baseline::default() }
    }

    #[test]
    fn a_slow_answer_fires_and_says_why() {
        let assessment = Latency::default().assess(&row(3200.0), &baseline()).unwrap();
        let signal = &assessment.signals[0];
        assert!(signal.fired);
        assert_eq!(Some(signal.score), assessment.value);
        assert_eq!(signal.detail, "the answer took 3200 ms, 3.2 times the average of 1000 ms");
    }

    #[test]
    fn a_usual_answer_has_an_absent_signal() {
        let assessment = Latency::default().assess(&row(1100.0), &baseline()).unwrap();
        assert!(!assessment.signals[0].fired);
    }

    #[test]
    fn a_slow_tool_has_a_value_but_no_signal() {
        let slow = Row { is_tool: true, ..row(9000.0) };
        let assessment = Latency::default().assess(&slow, &baseline()).unwrap();
        assert_eq!((assessment.value, assessment.signals.len()), (Some(1.0), 0));
    }

    #[test]
    fn without_numbers_nothing_is_assessed() {
        let reason = |row: &Row, baseline: &Baseline| Latency::default().assess(row, baseline).unwrap().status;
        assert_eq!(reason(&Row::default(), &baseline()), Status::NotAssessed("no latency"));
        let young = Baseline { stable: false, ..baseline() };
        assert_eq!(reason(&row(1.0), &young), Status::NotAssessed("baseline not stable yet"));
        let zero = Baseline { latency_ms: Some(0.0), ..baseline() };
        assert_eq!(reason(&row(1.0), &zero), Status::NotAssessed("no latency in the baseline"));
    }

    proptest! {
        #[test]
        fn the_value_is_in_range_and_grows_with_the_latency(
            a in 0.0..1e7f64, b in 0.0..1e7f64, baseline_ms in 0.001..1e6f64,
        ) {
            let value = |ms| deviation(ms, baseline_ms, &Settings::default()).1;
            prop_assert!((0.0..=1.0).contains(&value(a)));
            prop_assert!(value(a.min(b)) <= value(a.max(b)));
        }
    }
}
