//! What there is to judge: how many LLM calls have a prompt, an answer, a model, a latency, documents.
//!
//! A call that failed, or that calls tools instead of answering, has no answer for a good reason ([`Coverage::excused`]);
//! the share of answers is of the others. A blank answer is counted apart ([`Coverage::empty`]): the log holds it, and it is
//! judged for what it is. A call without any text is counted as [`Coverage::health_only`]: engines of
//! text say `not_assessed` of it.

use schemars::JsonSchema;
use serde::Serialize;

use super::table::counted;

/// What one LLM call holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// A text or messages that the model was asked.
    pub prompt: bool,
    /// The text of an answer that is not blank.
    pub response: bool,
    /// An answer that is there, and blank.
    pub is_empty: bool,
    /// The name of a model.
    pub model: bool,
    /// A time to the whole answer.
    pub latency: bool,
    /// Documents that the answer should rest on.
    pub context: bool,
    /// No text at all.
    pub health_only: bool,
    /// A good reason to have no answer: an error, or calls of tools.
    pub is_excused: bool,
}

/// How many of the audited LLM calls hold what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Coverage {
    /// Audited LLM calls.
    pub llm_calls: u64,
    /// Those with a prompt.
    pub prompt: u64,
    /// Those with the text of an answer.
    pub response: u64,
    /// Those with the name of a model.
    pub model: u64,
    /// Those with a latency.
    pub latency: u64,
    /// Those with documents.
    pub context: u64,
    /// Those without any text: only their times, tokens and errors can be judged.
    pub health_only: u64,
    /// Those that have no answer because they failed, or call tools instead.
    pub excused: u64,
    /// Those whose answer is there, and blank, for no such reason.
    pub empty: u64,
}

impl Coverage {
    /// Counts one call.
    pub fn add(&mut self, holds: Holds) {
        self.llm_calls += 1;
        self.prompt += u64::from(holds.prompt);
        self.response += u64::from(holds.response);
        self.model += u64::from(holds.model);
        self.latency += u64::from(holds.latency);
        self.context += u64::from(holds.context);
        self.health_only += u64::from(holds.health_only);
        self.excused += u64::from(holds.is_excused && !holds.response);
        self.empty += u64::from(holds.is_empty && !holds.is_excused);
    }

    /// Adds the calls of another part.
    pub fn merge(&mut self, next: &Coverage) {
        self.llm_calls += next.llm_calls;
        self.prompt += next.prompt;
        self.response += next.response;
        self.model += next.model;
        self.latency += next.latency;
        self.context += next.context;
        self.health_only += next.health_only;
        self.excused += next.excused;
        self.empty += next.empty;
    }

    /// The calls that should have an answer.
    pub fn answerable(&self) -> u64 {
        self.llm_calls - self.excused
    }

    /// One line for people; `None` without LLM calls.
    pub fn line(&self) -> Option<String> {
        if self.llm_calls == 0 {
            return None;
        }
        let all = self.llm_calls;
        let mut line = format!(
            "of {}, {} have a prompt, {} an answer, {} a model, {} a latency, {} documents",
            counted(all, "LLM call", "LLM calls"),
            share(self.prompt, all),
            share(self.response, if self.answerable() > 0 { self.answerable() } else { all }),
            share(self.model, all),
            share(self.latency, all),
            share(self.context, all),
        );
        if self.excused > 0 {
            line +=
                &format!("; {} failed or called tools instead of an answer", counted(self.excused, "call", "calls"));
        }
        if self.empty > 0 {
            line += &format!("; {} empty", counted(self.empty, "answer is", "answers are"));
        }
        if self.health_only > 0 {
            line += &format!("; {} no text at all (health_only)", counted(self.health_only, "call has", "calls have"));
        }
        Some(line)
    }
}

/// A share in whole percent, in which only all is 100 and only none is 0.
pub(super) fn share(n: u64, of: u64) -> String {
    match (n, of) {
        (0, _) | (_, 0) => "0%".to_owned(),
        (n, of) if n >= of => "100%".to_owned(),
        (n, of) => format!("{}%", (n as f64 / of as f64 * 100.0).round().clamp(1.0, 99.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_of_those_that_should_have_one() {
        let full = Holds { prompt: true, response: true, model: true, latency: true, ..Holds::default() };
        let failed = Holds { prompt: true, is_excused: true, ..Holds::default() };
        let silent = Holds { model: true, health_only: true, ..Holds::default() };
        let mut counts = Coverage::default();
        assert_eq!(counts.line(), None);
        [full, full, failed, silent].into_iter().for_each(|holds| counts.add(holds));
        assert_eq!((counts.answerable(), counts.response, counts.excused, counts.health_only), (3, 2, 1, 1));
        assert_eq!(
            counts.line().unwrap(),
            "of 4 LLM calls, 75% have a prompt, 67% an answer, 75% a model, 50% a latency, 0% documents; \
             1 call failed or called tools instead of an answer; 1 call has no text at all (health_only)"
        );
        let mut twice = counts;
        twice.merge(&counts);
        assert_eq!(twice.llm_calls, 8);
    }

    #[test]
    fn an_empty_answer_is_named_and_is_no_missing_one() {
        let mut counts = Coverage::default();
        counts.add(Holds { response: true, ..Holds::default() });
        counts.add(Holds { is_empty: true, ..Holds::default() });
        counts.add(Holds { is_empty: true, is_excused: true, ..Holds::default() });
        assert_eq!((counts.response, counts.empty, counts.excused), (1, 1, 1));
        assert!(counts.line().unwrap().ends_with("instead of an answer; 1 answer is empty"));
    }

    #[test]
    fn half_an_answer_of_a_failed_call_is_an_answer() {
        let mut counts = Coverage::default();
        counts.add(Holds { response: true, is_excused: true, ..Holds::default() });
        assert_eq!((counts.response, counts.excused), (1, 0));
    }
}
