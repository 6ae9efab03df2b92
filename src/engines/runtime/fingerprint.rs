//! Answers shaped unlike the stream's usual ones.
//!
//! **Formula**: for each of tokens, sentences, average sentence length and entropy, diff = |current - baseline| /
//! max(baseline, 1); distance = Σ weight · diff with the weights 0.3, 0.3, 0.2, 0.2. The value is min(1, distance),
//! `warn` from 0.3 and `error` from 0.6. Beside it stands `style_similarity`, the cosine of the stylistic vectors
//! (sentence count, average word length, vocabulary diversity, punctuation rate). Tokens are words between white space,
//! entropy is Shannon's over the code points, in bits, and there is always at least one sentence.
//!
//! **Range**: [0, 1]; 0 matches the baseline, 1 differs completely. The cosine of two such vectors is in [0, 1].
//!
//! **Source**: seed 001, "FingerprintEngine" (value, status, weights, cuts); seed 000, "FingerprintEngine" (style).
//!
//! **Limits**: on mixed workloads the fixed cuts call most answers unusual, so by default the status is reported and
//! no evidence: what counts for `degraded` is the *distance* on the stream's control chart (`history`).
//! [`Settings::status_counts`] makes the status itself a signal.

use serde::{Deserialize, Serialize};

use crate::{
    engines::{
        About, Assessment, Baseline, BaselineEngine, Detail, Fingerprint, Question, RatioSource, Row, Signal,
        SignalAbout, Status, Tier,
    },
    text::Features,
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: "fingerprint",
    summary: "Finds answers shaped unlike the stream's usual ones.",
    formula: "distance = 0.3 tokens + 0.3 sentences + 0.2 average sentence length + 0.2 entropy, each |current - baseline| / max(baseline, 1); value = min(1, distance)",
    range: "0 (matches the baseline) to 1 (completely different)",
    source: "seed 001, FingerprintEngine; seed 000 for style_similarity",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "The answer is shaped unlike the model's usual ones.",
        owasp: "",
        help: "Has the model or its system prompt changed?",
    }],
};

/// The signal of this engine, when [`Settings::status_counts`] is set.
pub const SIGNAL: &str = "style_shift";
/// Modest until it is fitted: a new kind of question changes the shape as much as a new model does.
pub const LIKELIHOOD_RATIO: f64 = 3.0;

/// The weights and cuts of the engine.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How much each component counts.
    pub weights: Weights,
    /// `warn` from this value on.
    pub warn_value: f64,
    /// `error` from this value on.
    pub error_value: f64,
    /// Whether the status is evidence for `degraded`; else only the distance on the control chart is.
    pub status_counts: bool,
    /// Likelihood ratio of the signal, when the status counts.
    pub likelihood_ratio: f64,
    /// Whether sentences are the non-blank pieces between . ! ?, so that "3.11.7" adds two; else our splitter's.
    pub pieces_are_sentences: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            weights: Weights::default(),
            warn_value: 0.3,
            error_value: 0.6,
            status_counts: false,
            likelihood_ratio: LIKELIHOOD_RATIO,
            pieces_are_sentences: false,
        }
    }
}

impl Settings {
    /// As seed 001 has it: the status counts, and sentences are what its program takes for them.
    pub fn seed() -> Settings {
        Settings { status_counts: true, pieces_are_sentences: true, ..Settings::default() }
    }
}

/// How much each component of a fingerprint counts.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Weights {
    /// Weight of the number of words.
    pub tokens: f64,
    /// Weight of the number of sentences.
    pub sentences: f64,
    /// Weight of words per sentence.
    pub average_sentence_length: f64,
    /// Weight of the entropy of the characters.
    pub entropy: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights { tokens: 0.3, sentences: 0.3, average_sentence_length: 0.2, entropy: 0.2 }
    }
}

/// The fingerprint of a text.
pub fn extract(text: &Features, settings: &Settings) -> Fingerprint {
    let sentences = if settings.pieces_are_sentences { text.pieces } else { text.sentences };
    let (tokens, sentences) = (text.words as f64, sentences.max(1) as f64);
    Fingerprint { tokens, sentences, average_sentence_length: tokens / sentences, entropy_bits: text.entropy_bits }
}

/// How far a fingerprint is from the baseline's: 0 when equal, not bounded above (the value is its minimum with 1).
pub fn distance(current: &Fingerprint, baseline: &Fingerprint, weights: &Weights) -> f64 {
    let diff = |current: f64, baseline: f64| (current - baseline).abs() / baseline.max(1.0);
    weights.tokens * diff(current.tokens, baseline.tokens)
        + weights.sentences * diff(current.sentences, baseline.sentences)
        + weights.average_sentence_length * diff(current.average_sentence_length, baseline.average_sentence_length)
        + weights.entropy * diff(current.entropy_bits, baseline.entropy_bits)
}

/// Cosine of two stylistic vectors; `None` when one of them has no direction.
pub fn style_similarity(current: &[f64; 4], baseline: &[f64; 4]) -> Option<f64> {
    let dot = |a: &[f64; 4], b: &[f64; 4]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let norms = (dot(current, current) * dot(baseline, baseline)).sqrt();
    (norms > 0.0 && norms.is_finite()).then(|| (dot(current, baseline) / norms).clamp(-1.0, 1.0))
}

/// Compares a row's fingerprint with its baseline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FingerprintDrift {
    settings: Settings,
}

impl FingerprintDrift {
    /// The engine with its constants.
    pub fn new(settings: Settings) -> FingerprintDrift {
        FingerprintDrift { settings }
    }
}

impl BaselineEngine for FingerprintDrift {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, row: &Row, baseline: &Baseline) -> Option<Assessment> {
        if row.is_tool || row.feedback.is_some() {
            return None;
        }
        let Some(current) = &row.fingerprint else {
            return Some(Assessment::not_assessed("no response text"));
        };
        if !baseline.stable {
            return Some(Assessment::not_assessed("baseline not stable yet"));
        }
        let Some(usual) = &baseline.fingerprint else {
            return Some(Assessment::not_assessed("no fingerprint in the baseline"));
        };
        let distance = distance(current, usual, &self.settings.weights);
        let value = distance.min(1.0);
        let status = Status::from_cuts(value, self.settings.warn_value, self.settings.error_value);
        let similarity = row.style.zip(baseline.style).and_then(|(current, usual)| style_similarity(&current, &usual));
        let fired = status != Status::Ok;
        let mut assessment = Assessment::new(status, value)
            .with("distance", Detail::Number(distance))
            .with("tokens", Detail::Number(current.tokens))
            .with("sentences", Detail::Number(current.sentences))
            .with("average_sentence_length", Detail::Number(current.average_sentence_length))
            .with("entropy_bits", Detail::Number(current.entropy_bits));
        if let Some(similarity) = similarity {
            assessment = assessment.with("style_similarity", Detail::Number(similarity));
        }
        if !self.settings.status_counts {
            return Some(assessment);
        }
        let ratio = RatioSource::default_or_config(self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
        let absent = Signal::absent(SIGNAL, Question::Degraded, Tier::One, ratio);
        Some(assessment.signal(if fired { absent.fire(value, clause(current, usual)) } else { absent }))
    }
}

fn clause(current: &Fingerprint, usual: &Fingerprint) -> String {
    format!(
        "the answer has {:.0} words in {:.0} sentences against an average of {:.0} in {:.1}",
        current.tokens, current.sentences, usual.tokens, usual.sentences,
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn print(tokens: f64, sentences: f64, average_sentence_length: f64, entropy_bits: f64) -> Fingerprint {
        Fingerprint { tokens, sentences, average_sentence_length, entropy_bits }
    }

    #[test]
    fn the_empty_text_has_one_sentence_and_nothing_else() {
        assert_eq!(extract(&Features::of(""), &Settings::default()), print(0.0, 1.0, 0.0, 0.0));
    }

    #[test]
    fn a_version_number_is_pieces_only_for_the_seed() {
        let text = Features::of("Latency rose to 98.5 ms. Version 3.11.7 fixed it.");
        assert_eq!(extract(&text, &Settings::default()).sentences, 2.0);
        assert_eq!(extract(&text, &Settings::seed()).sentences, 5.0);
    }

    #[test]
    fn each_component_counts_by_its_weight() {
        let weights = Weights::default();
        let usual = print(10.0, 10.0, 10.0, 10.0);
        let check = |current: Fingerprint, expected: f64| {
            let got = distance(&current, &usual, &weights);
            assert!((got - expected).abs() < 1e-12, "{current:?}: {got}");
        };
        check(usual, 0.0);
        check(print(20.0, 10.0, 10.0, 10.0), 0.3);
        check(print(10.0, 20.0, 10.0, 10.0), 0.3);
        check(print(10.0, 10.0, 20.0, 10.0), 0.2);
        check(print(10.0, 10.0, 10.0, 0.0), 0.2);
    }

    #[test]
    fn a_baseline_below_one_divides_by_one() {
        let got = distance(&print(3.0, 1.0, 0.0, 0.0), &print(0.0, 1.0, 0.0, 0.0), &Weights::default());
        assert!((got - 0.9).abs() < 1e-12, "{got}");
    }

    #[test]
    fn style_is_compared_by_direction() {
        let usual = [4.0, 5.0, 0.5, 0.1];
        let double = usual.map(|x| 2.0 * x);
        assert!((style_similarity(&double, &usual).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(style_similarity(&[1.0, 0.0, 0.0, 0.0], &[0.0, 1.0, 0.0, 0.0]), Some(0.0));
        assert_eq!(style_similarity(&[0.0; 4], &usual), None);
    }

    fn row() -> Row {
        Row { fingerprint: Some(print(7.0, 2.0, 3.5, 4.0)), style: Some([2.0, 5.0, 0.9, 0.1]), ..Row::default() }
    }

    fn baseline() -> Baseline {
        let fingerprint = Some(print(70.0, 8.0, 9.0, 4.2));
        Baseline { samples: 9, stable: true, fingerprint, style: Some([8.0, 4.5, 0.6, 0.1]), ..Baseline::default() }
    }

    #[test]
    fn the_status_is_reported_but_counts_only_on_request() {
        let engine = FingerprintDrift::default();
        let reported = engine.assess(&row(), &baseline()).unwrap();
        assert_eq!((reported.status, reported.signals.len()), (Status::Error, 0));
        let engine = FingerprintDrift { settings: Settings { status_counts: true, ..Settings::default() } };
        let counted = engine.assess(&row(), &baseline()).unwrap();
        assert!(counted.signals[0].fired);
        assert_eq!(counted.signals[0].detail, "the answer has 7 words in 2 sentences against an average of 70 in 8.0");
    }

    #[test]
    fn without_numbers_nothing_is_assessed() {
        let engine = FingerprintDrift::default();
        let status = |row: &Row, baseline: &Baseline| engine.assess(row, baseline).unwrap().status;
        let young = Baseline { stable: false, ..baseline() };
        let bare = Baseline { fingerprint: None, ..baseline() };
        assert_eq!(status(&Row::default(), &baseline()), Status::NotAssessed("no response text"));
        assert_eq!(status(&row(), &young), Status::NotAssessed("baseline not stable yet"));
        assert_eq!(status(&row(), &bare), Status::NotAssessed("no fingerprint in the baseline"));
    }

    proptest! {
        #[test]
        fn the_distance_is_zero_only_at_the_baseline_and_grows_away_from_it(
            usual in 0.0..500.0f64, near in 0.0..100.0f64, more in 0.001..100.0f64,
        ) {
            let at = |tokens| distance(&print(tokens, 1.0, 1.0, 1.0), &print(usual, 1.0, 1.0, 1.0), &Weights::default());
            prop_assert_eq!(at(usual), 0.0);
            prop_assert!(at(usual + near) <= at(usual + near + more));
        }

        #[test]
        fn the_cosine_of_vectors_without_negative_parts_is_in_range(
            a in proptest::array::uniform4(0.0..1e3f64), b in proptest::array::uniform4(0.0..1e3f64),
        ) {
            if let Some(cosine) = style_similarity(&a, &b) {
                prop_assert!((0.0..=1.0).contains(&cosine));
            }
        }
    }
}
