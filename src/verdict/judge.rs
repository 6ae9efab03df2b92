//! Signals → one answer per question → one decision.
//!
//! **Formula**: each question has a [`Policy`]; its posterior is [`log_odds::posterior`] over the question's signals.
//! `accept` below `flag_from`, `flag` below `block_from`, else `block`; never above the policy's ceiling; a proof
//! blocks on its own, a fact flags on its own; a question on which nothing fired is accepted, whatever its thresholds, unless its policy
//! asks for no evidence; a question of which a signal that fired says that it is contained is flagged at most. The
//! record's decision is the worst of its assessed questions, and `not_assessed` when there is none.
//!
//! **High risk**: a proof, or a posterior of at least [`HIGH_RISK_FROM`] on a question that blocks.
//!
//! **Source**: seed 002 (thresholds, combiner); `docs/algorithms.md` for the four questions.

use serde::{Deserialize, Serialize};

use crate::{
    engines::{Class, Question, Signal},
    stats::log_odds,
};

/// A posterior from here on is high risk.
pub const HIGH_RISK_FROM: f64 = 0.9;

/// What is done about a record, or about one of its questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// There was nothing to go on: neither a pass nor a failure.
    NotAssessed,
    /// Nothing speaks strongly enough against it.
    Accept,
    /// Worth a look.
    Flag,
    /// Should not have passed.
    Block,
}

impl Decision {
    /// All decisions, in the order of reports.
    pub const ALL: [Decision; 4] = [Decision::Accept, Decision::Flag, Decision::Block, Decision::NotAssessed];

    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::NotAssessed => "not_assessed",
            Decision::Accept => "accept",
            Decision::Flag => "flag",
            Decision::Block => "block",
        }
    }
}

/// How one question is decided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// P(yes) before any evidence.
    pub prior: f64,
    /// A posterior from here on is flagged.
    pub flag_from: f64,
    /// A posterior from here on is blocked.
    pub block_from: f64,
    /// The worst that this question can decide.
    pub ceiling: Decision,
    /// Whether something must have fired before the question is flagged or blocked (seed 002's program: no, so that a
    /// prior alone can).
    pub needs_evidence: bool,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { prior: 0.01, flag_from: 0.2, block_from: 0.5, ceiling: Decision::Block, needs_evidence: true }
    }
}

impl Policy {
    /// The decision for a posterior, given the strongest class of what fired; `None` when nothing did.
    pub fn decide(&self, posterior: f64, fired: Option<Class>) -> Decision {
        let is_fired = fired.is_some() || !self.needs_evidence;
        let decision = if fired == Some(Class::Proof) || (is_fired && posterior >= self.block_from) {
            Decision::Block
        } else if fired == Some(Class::Fact) || (is_fired && posterior >= self.flag_from.min(self.block_from)) {
            Decision::Flag
        } else {
            Decision::Accept
        };
        decision.min(self.ceiling)
    }
}

/// The answer to one question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// `None` when assessed; else why there was nothing to go on.
    pub not_assessed: Option<&'static str>,
    /// P(yes) before the evidence.
    pub prior: f64,
    /// P(yes) after it; the prior when not assessed.
    pub posterior: f64,
    /// What follows.
    pub decision: Decision,
    /// The strongest class of the signals that fired; evidence when none did.
    pub class: Class,
}

/// The answers of one record, and what follows from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The worst decision of the questions.
    pub decision: Decision,
    /// One answer per question, in the order of [`Question::ALL`].
    pub answers: [Answer; 4],
    /// Whether the record is high risk.
    pub high_risk: bool,
}

impl Verdict {
    /// P(fabricated), which seed 002 calls `confidence`; `None` when that was not assessed.
    pub fn confidence(&self) -> Option<f64> {
        let answer = &self.answers[Question::Fabricated as usize];
        answer.not_assessed.is_none().then_some(answer.posterior)
    }

    /// The posterior that the decision rests on: the largest among the questions that decided the same.
    pub fn deciding_posterior(&self) -> f64 {
        let deciding = self.answers.iter().filter(|answer| answer.decision == self.decision);
        deciding.map(|answer| answer.posterior).fold(0.0, f64::max)
    }

    /// Whether the record is blocked as fabricated.
    pub fn is_hallucinated(&self) -> bool {
        self.answers[Question::Fabricated as usize].decision == Decision::Block
    }
}

/// Answers the four questions by `signals`. `absences` says, per question, why it has no signal when it has none.
pub fn judge(signals: &[Signal], policies: &[Policy; 4], absences: &[&'static str; 4]) -> Verdict {
    let answers = Question::ALL.map(|question| {
        let policy = &policies[question as usize];
        let about = || signals.iter().filter(|signal| signal.question == question);
        if about().next().is_none() {
            let not_assessed = Some(absences[question as usize]);
            let (prior, posterior) = (policy.prior, policy.prior);
            return Answer {
                question,
                not_assessed,
                prior,
                posterior,
                decision: Decision::NotAssessed,
                class: Class::Evidence,
            };
        }
        let posterior = log_odds::posterior(policy.prior, about().map(Signal::evidence));
        let fired = about().filter(|signal| signal.fired).map(|signal| signal.class).max();
        let contained = about().any(|signal| signal.fired && signal.contained);
        let decision = policy.decide(posterior, fired);
        let decision = if contained { decision.min(Decision::Flag) } else { decision };
        // A check of the user's own says itself what follows.
        let stated = about().filter(|signal| signal.fired && signal.is_stated).map(|signal| signal.class).max();
        let decision = decision.max(match stated {
            Some(Class::Proof) => Decision::Block,
            Some(Class::Fact) => Decision::Flag,
            Some(Class::Evidence) | None => Decision::NotAssessed,
        });
        Answer {
            question,
            not_assessed: None,
            prior: policy.prior,
            posterior,
            decision,
            class: fired.unwrap_or_default(),
        }
    });
    let decision = answers.iter().map(|answer| answer.decision).max().unwrap_or(Decision::NotAssessed);
    let high_risk = answers.iter().any(|answer| {
        answer.decision == Decision::Block && (answer.class == Class::Proof || answer.posterior >= HIGH_RISK_FROM)
    });
    Verdict { decision, answers, high_risk }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::{RatioSource, Tier};

    const ABSENCES: [&str; 4] = [""; 4];

    fn attacked(likelihood_ratio: f64, contained: bool, proof: bool) -> Signal {
        let ratio = (likelihood_ratio, RatioSource::Default);
        let signal = Signal::absent("attack", Question::Attacked, Tier::Zero, ratio).fire(1.0, "");
        Signal { contained, class: Class::proven_if(proof), ..signal }
    }

    #[test]
    fn what_is_contained_is_flagged_at_most() {
        for (ratio, contained, proof, expected) in [
            (1000.0, false, false, Decision::Block),
            (1000.0, true, false, Decision::Flag),
            (50.0, true, false, Decision::Flag),
            (2.0, true, false, Decision::Accept),
            (2.0, true, true, Decision::Flag),
            (2.0, false, true, Decision::Block),
        ] {
            let verdict = judge(&[attacked(ratio, contained, proof)], &[Policy::default(); 4], &ABSENCES);
            assert_eq!(verdict.answers[Question::Attacked as usize].decision, expected, "{ratio} {contained} {proof}");
            assert_eq!(verdict.high_risk, expected == Decision::Block);
        }
    }

    #[test]
    fn a_fact_flags_by_itself_and_a_proof_blocks() {
        for (class, fired, expected) in [
            (Class::Evidence, true, Decision::Accept),
            (Class::Fact, true, Decision::Flag),
            (Class::Proof, true, Decision::Block),
            (Class::Fact, false, Decision::Accept),
            (Class::Proof, false, Decision::Accept),
        ] {
            let signal = Signal { class, fired, ..attacked(1.0, false, false) };
            let verdict = judge(&[signal], &[Policy::default(); 4], &ABSENCES);
            let answer = &verdict.answers[Question::Attacked as usize];
            assert_eq!(answer.decision, expected, "{class:?} {fired}");
            assert_eq!(answer.class, if fired { class } else { Class::Evidence });
        }
    }

    #[test]
    fn no_ceiling_holds_back_what_the_configuration_states() {
        let policies = [Policy { ceiling: Decision::Flag, ..Policy::default() }; 4];
        for (class, is_stated, expected) in [
            (Class::Proof, false, Decision::Flag),
            (Class::Proof, true, Decision::Block),
            (Class::Fact, true, Decision::Flag),
            (Class::Evidence, true, Decision::Accept),
        ] {
            let signal = Signal { class, is_stated, ..attacked(1.0, false, false) };
            assert_eq!(judge(&[signal], &policies, &ABSENCES).decision, expected, "{class:?} {is_stated}");
        }
    }

    #[test]
    fn a_contained_signal_that_did_not_fire_contains_nothing() {
        let silent = Signal { contained: true, fired: false, ..attacked(1.0, true, false) };
        let verdict = judge(&[attacked(1000.0, false, false), silent], &[Policy::default(); 4], &ABSENCES);
        assert_eq!(verdict.decision, Decision::Block);
    }
}
