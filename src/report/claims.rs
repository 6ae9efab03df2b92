//! Claims of answers against the documents that the model was given.

use schemars::JsonSchema;
use serde::Serialize;

use super::table::counted;
use crate::engines::grounding::Grounding;

/// Claims by verdict, over all answers that had documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    answers: u64,
    /// By the order of [`ClaimVerdict`](crate::engines::grounding::trust::ClaimVerdict).
    counts: [u64; 4],
}

/// What the claims of all answers come to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClaimSummary {
    /// Answers that were compared with documents.
    pub answers: u64,
    /// Their claims.
    pub claims: u64,
    /// Claims that the documents bear out.
    pub supported: u64,
    /// Claims of which they say otherwise.
    pub contradicted: u64,
    /// Claims of which they say nothing.
    pub unsupported: u64,
    /// Claims with nothing to compare.
    pub not_assessed: u64,
    /// Supported claims / claims that could be compared.
    pub trust: f64,
}

impl Claims {
    /// Counts the claims of one answer.
    pub fn add(&mut self, grounding: &Grounding) {
        self.answers += 1;
        self.counts.iter_mut().zip(grounding.counts).for_each(|(sum, count)| *sum += u64::from(count));
    }

    /// Adds the claims of another part.
    pub fn merge(&mut self, next: &Claims) {
        self.answers += next.answers;
        self.counts.iter_mut().zip(next.counts).for_each(|(sum, count)| *sum += count);
    }

    /// Supported claims, and all that could be compared.
    pub fn of_all(&self) -> (u64, u64) {
        let [supported, contradicted, unsupported, _] = self.counts;
        (supported, supported + contradicted + unsupported)
    }

    /// What they come to; `None` when no answer was compared.
    pub fn summary(&self) -> Option<ClaimSummary> {
        let (_, compared) = self.of_all();
        let claims = self.counts.iter().sum();
        let [supported, contradicted, unsupported, not_assessed] = self.counts;
        let trust = supported as f64 / compared.max(1) as f64;
        let answers = self.answers;
        let found = ClaimSummary { answers, claims, supported, contradicted, unsupported, not_assessed, trust };
        (claims > 0).then_some(found)
    }
}

impl ClaimSummary {
    /// One line for people.
    pub fn line(&self) -> String {
        format!(
            "of {} in {}, the documents bear out {}, contradict {} and do not know {}{}: trust {:.2}",
            counted(self.claims, "claim", "claims"),
            counted(self.answers, "answer", "answers"),
            self.supported,
            self.contradicted,
            self.unsupported,
            if self.not_assessed > 0 {
                format!("; {} could not be compared (code, tables, greetings, questions)", self.not_assessed)
            } else {
                String::new()
            },
            self.trust,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::grounding::SourceKind;

    #[test]
    fn claims_are_summed() {
        let of = |counts| Grounding {
            source: SourceKind::Context,
            trust_score: 0.5,
            counts,
            relevance: Vec::new(),
            claims: Vec::new(),
        };
        let mut all = Claims::default();
        assert_eq!(all.summary(), None);
        all.add(&of([3, 1, 0, 0]));
        let mut other = Claims::default();
        other.add(&of([0, 0, 3, 1]));
        all.merge(&other);
        assert_eq!(all.of_all(), (3, 7));
        let line = all.summary().unwrap().line();
        assert_eq!(
            line,
            "of 8 claims in 2 answers, the documents bear out 3, contradict 1 and do not know 3; 1 could not be compared (code, tables, greetings, questions): trust 0.43"
        );
    }
}
