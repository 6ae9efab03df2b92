//! What kind of text the response is: summary, code, list and so on.
//!
//! **Formula**: confidence = min(1, matched patterns / patterns · weight + boost), times 0.7 below 20 words. The boost is
//! 0.3 for a list with at least 3 items and 0.4 for code with a fence. Candidates are sorted by confidence, ties in the
//! order of declaration. The first is the primary intent when it reaches 0.3; with no candidate it is `unknown`, 0.5.
//!
//! **Range**: 0 to 1; the value is the confidence of the first candidate.
//!
//! **Source**: seed 001, "Intent Detection"; the intents beyond its five, and all numbers of patterns and weights,
//! are those of its program; the phrases beyond its own are ours ([`crate::text::phrases`]).
//!
//! **Limits**: English phrases; a text of mixed intent has several candidates. Metadata: no evidence for any question.

use serde::{Deserialize, Serialize};

use super::of_response;
use crate::{
    engines::{About, Assessment, Detail, Engine, Status, View},
    text::{Family, Features},
};

/// The confidence of one intent.
pub fn confidence(matched: u32, patterns: u32, boost: f64, words: u64, weight: f64, settings: &Settings) -> f64 {
    let plain = f64::from(matched) / f64::from(patterns.max(1)) * weight;
    let short = if words < settings.short_below_words { settings.short_factor } else { 1.0 };
    (plain + boost).min(1.0) * short
}

/// What kind of text the features show.
pub fn detect(text: &Features, settings: &Settings) -> Detection {
    let candidates = Intent::DETECTABLE.iter().filter_map(|intent| {
        let (matched, patterns) = intent.patterns(text);
        let weight = settings.weights.of(*intent);
        let confidence = confidence(matched, patterns, intent.boost(text, settings), text.words, weight, settings);
        (matched > 0).then_some(Candidate { intent: *intent, confidence, matched })
    });
    let mut candidates: Vec<Candidate> = candidates.collect();
    candidates.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    let Some(first) = candidates.first() else {
        let unknown = Candidate { intent: Intent::Unknown, confidence: settings.unknown_confidence, matched: 1 };
        return Detection { primary: Some(Intent::Unknown), candidates: vec![unknown] };
    };
    let primary = (first.confidence >= settings.primary_from).then_some(first.intent);
    Detection { primary, candidates }
}

/// What [`detect`] finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Detection {
    /// The first candidate, when it is sure enough.
    pub primary: Option<Intent>,
    /// All intents of which something matched, the surest first; [`Intent::Unknown`] when none did.
    pub candidates: Vec<Candidate>,
}

/// One possible intent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The intent.
    pub intent: Intent,
    /// How sure it is, from 0 to 1.
    pub confidence: f64,
    /// Patterns that matched.
    pub matched: u32,
}

/// A kind of text, in the order in which ties are broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Intent {
    Summary,
    Explanation,
    Code,
    List,
    Question,
    Instruction,
    Creative,
    Analysis,
    Comparison,
    Definition,
    Translation,
    Conversation,
    Data,
    Unknown,
}

impl Intent {
    /// The intents that have patterns.
    pub const DETECTABLE: [Intent; 13] = [
        Intent::Summary,
        Intent::Explanation,
        Intent::Code,
        Intent::List,
        Intent::Question,
        Intent::Instruction,
        Intent::Creative,
        Intent::Analysis,
        Intent::Comparison,
        Intent::Definition,
        Intent::Translation,
        Intent::Conversation,
        Intent::Data,
    ];

    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Intent::Summary => "summary",
            Intent::Explanation => "explanation",
            Intent::Code => "code",
            Intent::List => "list",
            Intent::Question => "question",
            Intent::Instruction => "instruction",
            Intent::Creative => "creative",
            Intent::Analysis => "analysis",
            Intent::Comparison => "comparison",
            Intent::Definition => "definition",
            Intent::Translation => "translation",
            Intent::Conversation => "conversation",
            Intent::Data => "data",
            Intent::Unknown => "unknown",
        }
    }

    /// How many of the patterns match, and how many there are.
    fn patterns(self, text: &Features) -> (u32, u32) {
        let has = |family| text.phrases.has(family);
        match self {
            Intent::Summary => count([has(Family::SummaryMarker), has(Family::SummaryBrief)]),
            Intent::Explanation => {
                count([has(Family::ExplanationCause), has(Family::ExplanationReason), has(Family::ExplanationExample)])
            }
            Intent::Code => {
                count([text.lines.blocks > 0, has(Family::CodeKeyword), text.has_code_marks, has(Family::CodeTool)])
            }
            Intent::List => count([text.lines.bullets > 0, text.lines.numbered > 0, has(Family::ListLead)]),
            Intent::Question => count([text.questions > 0, has(Family::QuestionOpening)]),
            Intent::Instruction => count([has(Family::InstructionStep), has(Family::InstructionModal)]),
            Intent::Creative => count([has(Family::CreativeForm), has(Family::CreativeScene)]),
            Intent::Analysis => {
                count([has(Family::AnalysisVerb), has(Family::AnalysisSides), has(Family::AnalysisFactors)])
            }
            Intent::Comparison => count([has(Family::ComparisonMarker), has(Family::ComparisonContrast)]),
            Intent::Definition => count([has(Family::DefinitionIs), has(Family::DefinitionMeans)]),
            Intent::Translation => count([has(Family::Translation)]),
            Intent::Conversation => count([has(Family::ConversationGreeting), has(Family::ConversationOpinion)]),
            Intent::Data => {
                count([text.has_percentage || text.has_decimal, has(Family::DataTable), has(Family::DataStatistic)])
            }
            Intent::Unknown => (0, 1),
        }
    }

    fn boost(self, text: &Features, settings: &Settings) -> f64 {
        match self {
            Intent::List if text.lines.list_items() >= settings.list_boost_items => settings.list_boost,
            Intent::Code if text.lines.blocks > 0 => settings.code_boost,
            _ => 0.0,
        }
    }
}

fn count<const N: usize>(patterns: [bool; N]) -> (u32, u32) {
    (patterns.iter().map(|matched| u32::from(*matched)).sum(), N as u32)
}

/// The numbers of the engine.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The confidence that the first candidate needs to be the primary intent.
    pub primary_from: f64,
    /// The confidence of `unknown`, when nothing matches.
    pub unknown_confidence: f64,
    /// Added for a list with enough items.
    pub list_boost: f64,
    /// Items from which on a list is boosted.
    pub list_boost_items: u64,
    /// Added for code with a fence.
    pub code_boost: f64,
    /// Texts of fewer words count for less.
    pub short_below_words: u64,
    /// How much less.
    pub short_factor: f64,
    /// The weight of each intent.
    pub weights: Weights,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            primary_from: 0.3,
            unknown_confidence: 0.5,
            list_boost: 0.3,
            list_boost_items: 3,
            code_boost: 0.4,
            short_below_words: 20,
            short_factor: 0.7,
            weights: Weights::default(),
        }
    }
}

impl Settings {
    /// The letter of seed 001, which the defaults follow.
    pub fn seed() -> Settings {
        Settings::default()
    }
}

/// The weight of each intent, from 0 to 1.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Weights {
    /// Of `summary`.
    pub summary: f64,
    /// Of `explanation`.
    pub explanation: f64,
    /// Of `code`.
    pub code: f64,
    /// Of `list`.
    pub list: f64,
    /// Of `question`.
    pub question: f64,
    /// Of `instruction`.
    pub instruction: f64,
    /// Of `creative`.
    pub creative: f64,
    /// Of `analysis`.
    pub analysis: f64,
    /// Of `comparison`.
    pub comparison: f64,
    /// Of `definition`.
    pub definition: f64,
    /// Of `translation`.
    pub translation: f64,
    /// Of `conversation`.
    pub conversation: f64,
    /// Of `data`.
    pub data: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights {
            summary: 1.0,
            explanation: 0.8,
            code: 1.0,
            list: 0.9,
            question: 0.7,
            instruction: 0.8,
            creative: 0.9,
            analysis: 0.8,
            comparison: 0.9,
            definition: 0.7,
            translation: 1.0,
            conversation: 0.5,
            data: 0.7,
        }
    }
}

impl Weights {
    fn of(&self, intent: Intent) -> f64 {
        match intent {
            Intent::Summary => self.summary,
            Intent::Explanation => self.explanation,
            Intent::Code => self.code,
            Intent::List => self.list,
            Intent::Question => self.question,
            Intent::Instruction => self.instruction,
            Intent::Creative => self.creative,
            Intent::Analysis => self.analysis,
            Intent::Comparison => self.comparison,
            Intent::Definition => self.definition,
            Intent::Translation => self.translation,
            Intent::Conversation => self.conversation,
            Intent::Data => self.data,
            Intent::Unknown => 0.0,
        }
    }
}

/// The engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntentDetection {
    settings: Settings,
}

impl IntentDetection {
    /// The engine with these numbers.
    pub fn new(settings: Settings) -> IntentDetection {
        IntentDetection { settings }
    }
}

/// What is known of the engine.
pub const ABOUT: About = About {
    name: "intent",
    summary: "Tells what kind of text the response is: summary, code, list, question and ten others.",
    formula: "min(1, matched patterns / patterns * weight + boost), * 0.7 below 20 words",
    range: "0 (no sign of the intent) to 1 (every sign)",
    source: "seed 001, Intent Detection",
    signals: &[],
};

impl Engine for IntentDetection {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        of_response(view, |_| {
            let Detection { primary, candidates } = detect(view.response, &self.settings);
            let value = candidates.first().map_or(0.0, |candidate| candidate.confidence);
            let primary = primary.map_or("none", Intent::as_str);
            let names = candidates.iter().map(|candidate| candidate.intent.as_str()).collect();
            let assessment = Assessment::new(Status::Ok, value);
            assessment.with("primary", Detail::Label(primary)).with("candidates", Detail::Labels(names))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, primary: Option<Intent>, expected: &[(Intent, f64)]) {
        let found = detect(&Features::of(text), &Settings::default());
        assert_eq!(found.primary, primary, "{text}");
        assert_eq!(found.candidates.len(), expected.len(), "{text}: {found:?}");
        for (candidate, (intent, confidence)) in found.candidates.iter().zip(expected) {
            assert_eq!(candidate.intent, *intent, "{text}");
            assert!((candidate.confidence - confidence).abs() < 1e-9, "{text}: {found:?}");
        }
    }

    #[test]
    fn the_boosts_and_the_factor_for_short_texts() {
        check("", Some(Intent::Unknown), &[(Intent::Unknown, 0.5)]);
        check("TLDR", Some(Intent::Summary), &[(Intent::Summary, 0.35)]);
        check("- a\n- b\n3. c", Some(Intent::List), &[(Intent::List, 0.63)]);
        check("- a\n- b", None, &[(Intent::List, 0.21)]);
    }

    #[test]
    fn ties_keep_the_order_of_declaration() {
        check(
            "thanks vs data",
            Some(Intent::Comparison),
            &[(Intent::Comparison, 0.315), (Intent::Conversation, 0.175), (Intent::Data, 0.7 / 3.0 * 0.7)],
        );
        check(
            "means hi ? vs",
            Some(Intent::Comparison),
            &[
                (Intent::Comparison, 0.315),
                (Intent::Question, 0.245),
                (Intent::Definition, 0.245),
                (Intent::Conversation, 0.175),
            ],
        );
    }

    proptest! {
        #[test]
        fn confidence_stays_in_range_and_grows_with_matches(
            matched in 0u32..4, boost in 0.0..2.0f64, words in 0u64..40, weight in 0.0..1.0f64,
        ) {
            let settings = Settings::default();
            let one = confidence(matched, 4, boost, words, weight, &settings);
            prop_assert!((0.0..=1.0).contains(&one));
            prop_assert!(confidence(matched + 1, 4, boost, words, weight, &settings) >= one);
        }
    }
}
