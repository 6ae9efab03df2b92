//! Rolling averages of a stream: latency, tokens per second, the shape and the style of its answers.
//!
//! **Formula**: average ← (1 - α) · average + α · sample; the first sample is copied. Tokens per second of a call are
//! tokens / latency_ms · 1000. A stream is stable once [`STABLE_FROM`] samples were learnt.
//!
//! **Range**: that of the samples.
//!
//! **Source**: seed 001, "BaselineEngine" (α 0.1, 5 samples); the clamp of α is its program's.
//!
//! **Limits**: one α for all averages; half of the weight lies on the last 7 calls, so that a baseline follows slow
//! drift and only sudden changes stand out against it. A component that a call lacks leaves its average as it is.

use serde::{Deserialize, Serialize};

use crate::engines::{Baseline, Fingerprint, Row};

/// Settings of the baselines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Weight of the newest sample; used within [[`ALPHA_MIN`], 1].
    pub alpha: f64,
    /// Samples from which a baseline can be compared with.
    pub stable_from: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { alpha: ALPHA, stable_from: STABLE_FROM }
    }
}

/// Seed 001: weight of the newest sample.
pub const ALPHA: f64 = 0.1;
/// Seed 001's program: the least weight of the newest sample.
pub const ALPHA_MIN: f64 = 0.01;
/// Seed 001: samples from which a baseline is stable.
pub const STABLE_FROM: u64 = 5;

/// Moves an average towards a sample; the first sample is copied.
pub fn blend(average: Option<f64>, sample: f64, alpha: f64) -> f64 {
    match average {
        Some(average) => (1.0 - alpha) * average + alpha * sample,
        None => sample,
    }
}

/// Tokens per second; `None` when no time has passed.
pub fn tokens_per_second(tokens: f64, latency_ms: f64) -> Option<f64> {
    (latency_ms > 0.0).then(|| tokens / latency_ms * 1000.0)
}

/// Learns one row.
pub fn learn(baseline: &mut Baseline, row: &Row, settings: &Settings) {
    let alpha = if settings.alpha.is_nan() { ALPHA } else { settings.alpha.clamp(ALPHA_MIN, 1.0) };
    let speed = row.response_tokens.zip(row.latency_ms).and_then(|(tokens, ms)| tokens_per_second(tokens, ms));
    move_to(&mut baseline.latency_ms, row.latency_ms, alpha);
    move_to(&mut baseline.tokens_per_second, speed, alpha);
    if let Some(sample) = row.fingerprint {
        baseline.fingerprint = Some(blend_fingerprint(baseline.fingerprint, sample, alpha));
    }
    if let Some(sample) = row.style {
        let old = baseline.style;
        baseline.style = Some(std::array::from_fn(|i| blend(old.map(|style| style[i]), sample[i], alpha)));
    }
    baseline.samples += 1;
    baseline.stable = baseline.samples >= settings.stable_from;
}

fn move_to(average: &mut Option<f64>, sample: Option<f64>, alpha: f64) {
    if let Some(sample) = sample {
        *average = Some(blend(*average, sample, alpha));
    }
}

fn blend_fingerprint(average: Option<Fingerprint>, sample: Fingerprint, alpha: f64) -> Fingerprint {
    let part = |of: fn(&Fingerprint) -> f64| blend(average.as_ref().map(of), of(&sample), alpha);
    Fingerprint {
        tokens: part(|f| f.tokens),
        sentences: part(|f| f.sentences),
        average_sentence_length: part(|f| f.average_sentence_length),
        entropy_bits: part(|f| f.entropy_bits),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(latency_ms: f64, tokens: f64) -> Row {
        Row { latency_ms: Some(latency_ms), response_tokens: Some(tokens), ..Row::default() }
    }

    #[test]
    fn the_first_sample_is_copied_and_five_are_stable() {
        let mut baseline = Baseline::default();
        for (calls, stable) in [(1, false), (2, false), (3, false), (4, false), (5, true)] {
            learn(&mut baseline, &row(1000.0, 50.0), &Settings::default());
            assert_eq!((baseline.samples, baseline.stable), (calls, stable));
            assert!((baseline.tokens_per_second.unwrap() - 50.0).abs() < 1e-9);
        }
        learn(&mut baseline, &row(2000.0, 50.0), &Settings::default());
        assert!((baseline.latency_ms.unwrap() - 1100.0).abs() < 1e-9);
        assert!((baseline.tokens_per_second.unwrap() - 47.5).abs() < 1e-9);
    }

    #[test]
    fn what_a_call_lacks_is_not_learnt() {
        let mut baseline = Baseline::default();
        learn(&mut baseline, &row(0.0, 50.0), &Settings::default());
        assert_eq!((baseline.latency_ms, baseline.tokens_per_second), (Some(0.0), None));
        learn(&mut baseline, &Row::default(), &Settings::default());
        assert_eq!((baseline.latency_ms, baseline.fingerprint), (Some(0.0), None));
    }

    #[test]
    fn alpha_is_kept_in_bounds() {
        for (alpha, expected) in [(0.001, 101.0), (7.0, 200.0), (f64::NAN, 110.0)] {
            let settings = Settings { alpha, ..Settings::default() };
            let mut baseline = Baseline::default();
            learn(&mut baseline, &row(100.0, 10.0), &settings);
            learn(&mut baseline, &row(200.0, 20.0), &settings);
            assert!((baseline.latency_ms.unwrap() - expected).abs() < 1e-9, "{alpha}");
        }
    }

    proptest! {
        #[test]
        fn an_average_stays_between_its_samples(samples in prop::collection::vec(0.0..1e6f64, 1..50)) {
            let average = samples.iter().fold(None, |average, &x| Some(blend(average, x, ALPHA))).unwrap();
            let (low, high) = samples.iter().fold((f64::MAX, f64::MIN), |(l, h), &x| (l.min(x), h.max(x)));
            prop_assert!(average >= low - 1e-6 && average <= high + 1e-6);
        }
    }
}
