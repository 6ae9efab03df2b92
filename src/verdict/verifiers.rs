//! The seven verifiers of seed 003 and their weighted confidence, reported beside the posteriors.
//!
//! **Formula**: confidence = sum(score x weight) / sum(weight) over the verifiers that ran. `accept` (PASS) from
//! [`PASS_FROM`] on, `flag` from [`FLAG_FROM`] on, else `block`; a proof blocks whatever the confidence. A score is 1 minus
//! the engine's value; the symbolic solver knows only 1 and 0.
//!
//! **Range**: 0 (all failed) to 1 (all passed). When none ran there is no confidence, which is neither.
//!
//! **Source**: seed 003, "Verdict Aggregation", "The Seven Verifiers" (weights; they sum to 1.5) and "Fast path vs. full
//! pipeline".
//!
//! **Limits**: the record's verdict comes from the posteriors and the proofs, not from this. The cross-examiner and the
//! hallucination detector need a judge model and are skipped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Decision;
use crate::engines::{Assessment, Class, Signal, Status, facts};

/// Seed 003: PASS from this confidence on.
pub const PASS_FROM: f64 = 0.8;
/// Seed 003: FLAG from this confidence on.
pub const FLAG_FROM: f64 = 0.5;
/// A weighted mean of equal scores may fall short of them by rounding.
const ROUNDING: f64 = 1e-9;

/// Which verifiers run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Symbolic solver, knowledge graph, schema validator, model fingerprinter.
    Fast,
    /// All of them.
    #[default]
    Full,
}

impl Mode {
    /// The name in reports and in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Fast => "fast",
            Mode::Full => "full",
        }
    }

    /// Whether the engine `name` runs in this mode.
    pub fn runs(self, name: &str) -> bool {
        self == Mode::Full || name != facts::temporal::NAME
    }
}

/// Mode, thresholds and weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `full`, or `fast` for the four verifiers that only compute.
    pub mode: Mode,
    /// Confidence from which the verifiers pass a record.
    pub pass_from: f64,
    /// Confidence from which they flag it; below they block it.
    pub flag_from: f64,
    /// What each verifier weighs.
    pub weights: Weights,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { mode: Mode::Full, pass_from: PASS_FROM, flag_from: FLAG_FROM, weights: Weights::default() }
    }
}

/// What each verifier weighs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Weights {
    /// Source attribution.
    pub model_fingerprinter: f64,
    /// Consistency with a second model.
    pub cross_examiner: f64,
    /// Epistemic honesty.
    pub hallucination_detector: f64,
    /// Numerical accuracy.
    pub symbolic_solver: f64,
    /// Factual accuracy.
    pub knowledge_graph: f64,
    /// Currency.
    pub temporal_consistency: f64,
    /// Structural integrity.
    pub schema_validator: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights {
            model_fingerprinter: 0.10,
            cross_examiner: 0.20,
            hallucination_detector: 0.18,
            symbolic_solver: 0.50,
            knowledge_graph: 0.22,
            temporal_consistency: 0.12,
            schema_validator: 0.18,
        }
    }
}

impl Weights {
    fn all(&self) -> [f64; 7] {
        [
            self.model_fingerprinter,
            self.cross_examiner,
            self.hallucination_detector,
            self.symbolic_solver,
            self.knowledge_graph,
            self.temporal_consistency,
            self.schema_validator,
        ]
    }
}

/// The verifiers in the order of the seed: name, engine, signal. Those that need a judge model have no engine.
const VERIFIERS: [(&str, &str, &str); 7] = [
    ("model_fingerprinter", facts::identity::NAME, facts::identity::SIGNAL),
    ("cross_examiner", "", ""),
    ("hallucination_detector", "", ""),
    ("symbolic_solver", facts::arithmetic::NAME, facts::arithmetic::SIGNAL),
    ("knowledge_graph", facts::knowledge::NAME, facts::knowledge::SIGNAL),
    ("temporal_consistency", facts::temporal::NAME, facts::temporal::SIGNAL),
    ("schema_validator", facts::schema::NAME, facts::schema::SIGNAL),
];

/// The confidence of scores with their weights, and what follows; `None` when none of them weighs anything.
pub fn aggregate(votes: &[(f64, f64)], is_proven: bool, pass_from: f64, flag_from: f64) -> Option<(f64, Decision)> {
    let weight: f64 = votes.iter().map(|(_, weight)| weight).sum();
    if weight <= 0.0 {
        return None;
    }
    let confidence = votes.iter().map(|(score, weight)| score * weight).sum::<f64>() / weight;
    let decision = if is_proven || confidence + ROUNDING < flag_from {
        Decision::Block
    } else if confidence + ROUNDING < pass_from {
        Decision::Flag
    } else {
        Decision::Accept
    };
    Some((confidence, decision))
}

/// What one verifier says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vote {
    /// The verifier.
    pub name: &'static str,
    /// Its weight.
    pub weight: f64,
    /// Its score, or why it was skipped.
    pub score: Result<f64, &'static str>,
    /// Whether it proves a failure.
    pub is_proof: bool,
}

/// What all of them say together.
#[derive(Clone, Debug, PartialEq)]
pub struct Verifiers {
    /// Which ones were to run.
    pub mode: Mode,
    /// The weighted mean of the scores.
    pub confidence: f64,
    /// What follows from it, and from proofs.
    pub decision: Decision,
    /// One by one, in the order of the seed.
    pub votes: [Vote; 7],
}

impl Verifiers {
    /// Whether one of them proves a failure.
    pub fn is_proven(&self) -> bool {
        self.votes.iter().any(|vote| vote.is_proof)
    }

    /// The verdict of the verifiers; `None` when none of them ran.
    pub fn of(
        assessments: &[(&'static str, Assessment)],
        signals: &[Signal],
        settings: &Settings,
    ) -> Option<Verifiers> {
        let is_ours = |name: &str| VERIFIERS.iter().any(|(_, engine, _)| *engine == name);
        if !assessments.iter().any(|(name, said)| said.value.is_some() && is_ours(name)) {
            return None;
        }
        let weights = settings.weights.all();
        let mut index = 0;
        let votes = VERIFIERS.map(|(name, engine, signal)| {
            let weight = weights[index];
            index += 1;
            let is_proof = signals.iter().any(|other| other.id == signal && other.fired && other.class == Class::Proof);
            Vote { name, weight, score: score(engine, assessments, settings.mode), is_proof }
        });
        let ran: Vec<(f64, f64)> = votes.iter().filter_map(|vote| Some((vote.score.ok()?, vote.weight))).collect();
        let is_proven = votes.iter().any(|vote| vote.is_proof);
        let (confidence, decision) = aggregate(&ran, is_proven, settings.pass_from, settings.flag_from)?;
        Some(Verifiers { mode: settings.mode, confidence, decision, votes })
    }
}

fn score(engine: &str, assessments: &[(&'static str, Assessment)], mode: Mode) -> Result<f64, &'static str> {
    if engine.is_empty() {
        return Err(if mode == Mode::Fast { "not in fast mode" } else { "needs a judge model" });
    }
    if !mode.runs(engine) {
        return Err("not in fast mode");
    }
    let Some((_, said)) = assessments.iter().find(|(name, _)| *name == engine) else { return Err("did not run") };
    match (&said.status, said.value) {
        (Status::NotAssessed(reason), _) => Err(reason),
        (_, Some(value)) if engine == facts::arithmetic::NAME => Ok(if value > 0.0 { 0.0 } else { 1.0 }),
        (_, Some(value)) => Ok((1.0 - value).clamp(0.0, 1.0)),
        (_, None) => Err("gave no value"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engines::{Question, RatioSource, Tier};

    #[test]
    fn the_weights_are_those_of_the_seed() {
        let weights = Weights::default().all();
        assert!((weights.iter().sum::<f64>() - 1.5).abs() < 1e-12);
        let fast: f64 = VERIFIERS
            .iter()
            .zip(weights)
            .filter(|((_, engine, _), _)| !engine.is_empty() && Mode::Fast.runs(engine))
            .map(|(_, weight)| weight)
            .sum();
        assert!((fast - 1.0).abs() < 1e-12);
    }

    #[test]
    fn verifiers_that_did_not_run_do_not_count() {
        let assessments = [
            ("arithmetic", Assessment::new(Status::Ok, 0.0)),
            ("knowledge", Assessment::new(Status::Error, 1.0)),
            ("temporal", Assessment::not_assessed("nothing that is bound to a time")),
            ("latency", Assessment::new(Status::Ok, 0.0)),
        ];
        let all = Verifiers::of(&assessments, &[], &Settings::default()).unwrap();
        assert!((all.confidence - 0.5 / 0.72).abs() < 1e-12);
        assert_eq!(all.decision, Decision::Flag);
        assert_eq!(all.votes[5].score, Err("nothing that is bound to a time"));
        assert_eq!(all.votes[1].score, Err("needs a judge model"));
        assert_eq!(Verifiers::of(&assessments[2..], &[], &Settings::default()), None);
    }

    #[test]
    fn a_proof_blocks_whatever_the_confidence() {
        let assessments =
            [("identity", Assessment::new(Status::Error, 1.0)), ("arithmetic", Assessment::new(Status::Ok, 0.0))];
        let ratio = (20.0, RatioSource::Default);
        let signal = Signal::absent(facts::identity::SIGNAL, Question::Fabricated, Tier::Zero, ratio).fire(1.0, "");
        let signal = Signal { class: Class::Proof, ..signal };
        let all = Verifiers::of(&assessments, &[signal], &Settings::default()).unwrap();
        assert!(all.confidence > PASS_FROM && all.decision == Decision::Block && all.is_proven());
    }

    proptest! {
        #[test]
        fn the_confidence_lies_between_the_scores(votes in prop::collection::vec((0.0..=1.0, 0.01..2.0), 1..8)) {
            let (confidence, _) = aggregate(&votes, false, PASS_FROM, FLAG_FROM).unwrap();
            let (low, high) = votes.iter().fold((1.0f64, 0.0f64), |(low, high), (score, _)| (low.min(*score), high.max(*score)));
            prop_assert!((low - 1e-9..=high + 1e-9).contains(&confidence));
        }
    }
}
