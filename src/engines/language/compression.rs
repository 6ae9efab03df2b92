//! Answers that are too shallow for their prompts: reasoning that was compressed away.
//!
//! **Formula**: score = 0.4 length deficit + 0.3 entropy drop + 0.2 missing transitions + 0.1 repetition, clamped to
//! [0, 1]; `low` to 0.3, `moderate` to 0.6, else `high`.
//! - the prompt's level is 3 above 400 words or with several parts; else 2 from 150 words on or with a verb of
//!   reasoning; else 1. Expected are 50, 150 and 250 words
//! - length deficit = max(0, (expected - words) / expected)
//! - entropy drop = (baseline - entropy) / baseline, also below 0; 0 without a baseline
//! - missing transitions = 1 from level 2 on when no word joins one step to the next, else 0
//! - repetition = occurrences of the most frequent word that is no function word / words
//!
//! **Range**: 0 (as long and rich as can be expected) to 1 (nothing left).
//!
//! **Source**: seed 001, "Reasoning Compression Score". That level 3 outranks level 2 follows from its order.
//!
//! **Limits**: on real traffic a short answer to a hard question is common and often right, so its likelihood ratio
//! is small. The lists of verbs and transitions are English and ours ([`crate::text::phrases`]).

use serde::{Deserialize, Serialize};

use super::NO_RESPONSE;
use crate::{
    engines::{
        About, Assessment, Baseline, BaselineEngine, Detail, Question, RatioSource, Row, Signal, SignalAbout, Status,
        Tier, View,
    },
    record::Kind,
    text::{Family, Features},
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: "compression",
    summary: "Finds answers that are too shallow for their prompts.",
    formula: "0.4 length deficit + 0.3 entropy drop + 0.2 missing transitions + 0.1 repetition",
    range: "0 (as long and rich as can be expected) to 1 (nothing left)",
    source: "seed 001, Reasoning Compression Score",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "The answer is too shallow for its prompt.",
        owasp: "",
        help: "Look at token limits and at the model that answered.",
    }],
};

/// The signal.
pub const SIGNAL: &str = "reasoning_compressed";
/// Modest: short answers to hard questions are common.
pub const LIKELIHOOD_RATIO: f64 = 1.5;

/// All terms but the entropy, for which the stream's baseline is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Base {
    /// How complex the prompt is: 1, 2 or 3.
    pub level: u8,
    /// Words that can be expected of the answer.
    pub expected_words: f64,
    /// The share of them that is missing.
    pub length_deficit: f64,
    /// Whether a transition should be there and is not.
    pub missing_transitions: bool,
    /// The share of the most frequent word.
    pub repetition: f64,
}

/// All terms but the entropy.
pub fn base_score(prompt: &Features, response: &Features, settings: &Settings) -> Base {
    let level = level(prompt, settings);
    let expected_words = settings.expected_words[usize::from(level) - 1];
    Base {
        level,
        expected_words,
        length_deficit: length_deficit(response.words as f64, expected_words),
        missing_transitions: level >= 2 && !response.phrases.has(Family::Transition),
        repetition: if response.words == 0 { 0.0 } else { response.top_word_count as f64 / response.words as f64 },
    }
}

/// All terms but the entropy, of an LLM record that has a prompt and a response.
pub fn base_of(view: &View<'_, '_>, settings: &Settings) -> Option<Base> {
    let record = view.record;
    let has_both = record.kind == Kind::Llm && record.response.is_some() && !record.prompt.is_absent();
    has_both.then(|| base_score(view.prompt, view.response, settings))
}

/// The share of the expected words that is missing.
pub fn length_deficit(words: f64, expected_words: f64) -> f64 {
    if expected_words > 0.0 { ((expected_words - words) / expected_words).max(0.0) } else { 0.0 }
}

/// How far the entropy lies below the baseline, as a share of it; below 0 when it lies above.
pub fn entropy_drop(entropy_bits: f64, baseline_bits: Option<f64>) -> f64 {
    match baseline_bits {
        Some(baseline) if baseline > 0.0 => (baseline - entropy_bits) / baseline,
        _ => 0.0,
    }
}

/// The score, given the baseline's entropy if there is one.
pub fn score(base: &Base, entropy_bits: f64, baseline_bits: Option<f64>, settings: &Settings) -> f64 {
    let weights = &settings.weights;
    let sum = weights.length_deficit * base.length_deficit
        + weights.entropy_drop * entropy_drop(entropy_bits, baseline_bits)
        + weights.missing_transitions * f64::from(u8::from(base.missing_transitions))
        + weights.repetition * base.repetition;
    sum.clamp(0.0, 1.0)
}

/// `low`, `moderate` or `high`.
pub fn label(score: f64, settings: &Settings) -> &'static str {
    if score <= settings.low_to {
        "low"
    } else if score <= settings.moderate_to {
        "moderate"
    } else {
        "high"
    }
}

fn level(prompt: &Features, settings: &Settings) -> u8 {
    let has = |family| prompt.phrases.has(family);
    let several_parts = (has(Family::PartFirst) && has(Family::PartNext))
        || has(Family::PartAlso)
        || prompt.lines.list_items() >= settings.parts_from
        || prompt.questions >= settings.parts_from;
    if several_parts || prompt.words > settings.long_above_words {
        3
    } else if prompt.words >= settings.medium_from_words || has(Family::Reasoning) {
        2
    } else {
        1
    }
}

/// The numbers of the engine.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How much each term counts.
    pub weights: Weights,
    /// Words that can be expected of an answer to a prompt of level 1, 2 and 3.
    pub expected_words: [f64; 3],
    /// Words from which on a prompt is of level 2.
    pub medium_from_words: u64,
    /// Words above which a prompt is of level 3.
    pub long_above_words: u64,
    /// List items, or question marks, from which on a prompt has several parts.
    pub parts_from: u64,
    /// The highest score that is `low`.
    pub low_to: f64,
    /// The highest score that is `moderate`.
    pub moderate_to: f64,
    /// P(fires | degraded) / P(fires | not).
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            weights: Weights::default(),
            expected_words: [50.0, 150.0, 250.0],
            medium_from_words: 150,
            long_above_words: 400,
            parts_from: 2,
            low_to: 0.3,
            moderate_to: 0.6,
            likelihood_ratio: LIKELIHOOD_RATIO,
        }
    }
}

impl Settings {
    /// The letter of seed 001, which the defaults follow.
    pub fn seed() -> Settings {
        Settings::default()
    }
}

/// How much each term counts.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Weights {
    /// Weight of the missing words.
    pub length_deficit: f64,
    /// Weight of the entropy drop.
    pub entropy_drop: f64,
    /// Weight of missing transitions.
    pub missing_transitions: f64,
    /// Weight of repetition.
    pub repetition: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights { length_deficit: 0.4, entropy_drop: 0.3, missing_transitions: 0.2, repetition: 0.1 }
    }
}

/// The engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReasoningCompression {
    settings: Settings,
}

impl ReasoningCompression {
    /// The engine with these numbers.
    pub fn new(settings: Settings) -> ReasoningCompression {
        ReasoningCompression { settings }
    }
}

impl BaselineEngine for ReasoningCompression {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, row: &Row, baseline: &Baseline) -> Option<Assessment> {
        if row.is_tool || row.feedback.is_some() {
            return None;
        }
        let Some(current) = row.fingerprint else { return Some(Assessment::not_assessed(NO_RESPONSE)) };
        let Some(base) = row.compression_base else { return Some(Assessment::not_assessed("no prompt")) };
        let settings = &self.settings;
        let usual = baseline.fingerprint.filter(|_| baseline.stable).map(|fingerprint| fingerprint.entropy_bits);
        let score = score(&base, current.entropy_bits, usual, settings);
        let label = label(score, settings);
        let status = Status::from_cuts(score, settings.low_to.next_up(), settings.moderate_to.next_up());
        let ratio = RatioSource::default_or_config(settings.likelihood_ratio, LIKELIHOOD_RATIO);
        let absent = Signal::absent(SIGNAL, Question::Degraded, Tier::One, ratio);
        let clause = || {
            format!(
                "{} {} a prompt of level {}, {} are expected",
                current.tokens,
                if current.tokens == 1.0 { "word answers" } else { "words answer" },
                base.level,
                base.expected_words
            )
        };
        let signal = if label == "high" { absent.fire(score, clause()) } else { Signal { score, ..absent } };
        let assessment = Assessment::new(status, score)
            .with("label", Detail::Label(label))
            .with("complexity_level", Detail::Count(base.level.into()))
            .with("expected_words", Detail::Number(base.expected_words))
            .with("length_deficit", Detail::Number(base.length_deficit))
            .with("entropy_drop", Detail::Number(entropy_drop(current.entropy_bits, usual)))
            .with("missing_transitions", Detail::Flag(base.missing_transitions))
            .with("repetition", Detail::Number(base.repetition));
        Some(assessment.signal(signal))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engines::Fingerprint;

    #[test]
    fn levels_follow_words_verbs_and_parts() {
        let check = |prompt: &str, expected| {
            assert_eq!(level(&Features::of(prompt), &Settings::default()), expected, "{prompt:.60}");
        };
        check("What is DNS?", 1);
        check("Explain how DNS works", 2);
        check("Explain how DNS works step-by-step", 2);
        check("walk me through it", 2);
        check("Compare A and B. First do x and then y", 3);
        check("Do this:\n1. a\n2. b", 3);
        check("What is DNS? Who runs it?", 3);
        check(&"word ".repeat(149), 1);
        check(&"word ".repeat(150), 2);
        check(&"word ".repeat(400), 2);
        check(&"word ".repeat(401), 3);
    }

    #[test]
    fn an_empty_answer_lacks_everything_but_repeats_nothing() {
        let settings = Settings::default();
        let base = base_score(&Features::of("What is DNS?"), &Features::of(""), &settings);
        assert_eq!(score(&base, 0.0, None, &settings), 0.4);
        assert!((score(&base, 0.0, Some(5.0), &settings) - 0.7).abs() < 1e-12);
    }

    #[test]
    fn the_engine_needs_a_prompt_and_a_response_and_fires_when_high() {
        let engine = ReasoningCompression::default();
        let status = |row: &Row| engine.assess(row, &Baseline::default()).map(|assessment| assessment.status);
        assert_eq!(status(&Row { is_tool: true, ..Row::default() }), None);
        assert_eq!(status(&Row::default()), Some(Status::NotAssessed(NO_RESPONSE)));
        let answered = Row { fingerprint: Some(Fingerprint::default()), ..Row::default() };
        assert_eq!(status(&answered), Some(Status::NotAssessed("no prompt")));

        let base =
            base_score(&Features::of("Explain how DNS works"), &Features::of("It maps names."), &Settings::default());
        let row = Row { compression_base: Some(base), ..answered };
        let assessment = engine.assess(&row, &Baseline::default()).expect("an LLM record is assessed");
        assert_eq!(assessment.status, Status::Error);
        assert!(assessment.signals[0].fired);
    }

    proptest! {
        #[test]
        fn the_score_is_in_range_and_grows_with_every_term(
            deficit in 0.0..=1.0f64, repetition in 0.0..=1.0f64, missing: bool, entropy in 0.0..8.0f64, usual in 0.1..8.0f64,
        ) {
            let settings = Settings::default();
            let base = Base { level: 2, expected_words: 150.0, length_deficit: deficit, missing_transitions: missing, repetition };
            let one = score(&base, entropy, Some(usual), &settings);
            prop_assert!((0.0..=1.0).contains(&one));
            let worse = Base { length_deficit: 1.0, missing_transitions: true, repetition: 1.0, ..base };
            prop_assert!(score(&worse, 0.0, Some(usual), &settings) >= one);
        }
    }
}
