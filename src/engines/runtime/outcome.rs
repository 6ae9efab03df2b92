//! Did the call of a model end well? An error instead of an answer, or an answer without a word in it.
//!
//! **Formula**: value = 1 when the record holds an error or the response is blank, else 0. A response that consists of
//! tool calls is an answer. `call_failed` fires on the error, `empty_response` on the missing or blank response; a
//! failed call without a response fires both.
//!
//! **Range**: 0 (ended well) to 1 (did not).
//!
//! **Source**: ours; both are what a provider's own status reports. The ratios stay at 3 until they are fitted.
//!
//! **Limits**: an error that the provider hid behind a friendly text is not seen here. A record without response, error
//! and finish reason says nothing about the outcome.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    engines::{About, Assessment, Detail, Engine, Question, RatioSource, Signal, Status, Tier, View},
    record::Kind,
};

/// Finish reasons of an answer that consists of tool calls, in the spellings of the providers.
const TOOL_FINISH_REASONS: [&str; 4] = ["tool_calls", "tool_use", "function_call", "tool-calls"];

/// Constants of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Likelihood ratio of `call_failed`.
    pub failed_likelihood_ratio: f64,
    /// Likelihood ratio of `empty_response`.
    pub empty_likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { failed_likelihood_ratio: 3.0, empty_likelihood_ratio: 3.0 }
    }
}

/// Did the call end well?
pub struct Outcome {
    settings: Settings,
}

impl Outcome {
    /// The engine with its constants.
    pub fn new(settings: Settings) -> Outcome {
        Outcome { settings }
    }
}

/// Whether an answer is there, `None` when the record does not say.
fn is_answered(response: Option<&str>, has_error: bool, finish_reason: Option<&str>) -> Option<bool> {
    let is_tool_call = finish_reason.is_some_and(|reason| TOOL_FINISH_REASONS.contains(&reason));
    match response {
        Some(text) => Some(is_tool_call || !text.trim().is_empty()),
        None if is_tool_call => Some(true),
        None if has_error || finish_reason.is_some() => Some(false),
        None => None,
    }
}

impl Engine for Outcome {
    fn about(&self) -> About {
        About {
            name: "outcome",
            summary: "Calls that ended with an error, or without a word.",
            formula: "value = 1 if the record holds an error or the response is blank, else 0",
            range: "0 (ended well) or 1 (did not)",
            source: "ours",
        }
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        let record = view.record;
        if record.kind != Kind::Llm {
            return None;
        }
        let has_error = record.error.is_some();
        let response = record.response.as_deref();
        // Some providers end a call of tools with the reason of any other answer.
        let calls_tools = (!record.tool_calls.is_empty()).then_some(TOOL_FINISH_REASONS[0]);
        let finish_reason = calls_tools.or(record.finish_reason.as_deref());
        let Some(is_answered) = is_answered(response, has_error, finish_reason) else {
            return Some(Assessment::not_assessed("neither response nor error"));
        };
        let signal = |id, ratio| Signal::absent(id, Question::Degraded, Tier::Zero, (ratio, RatioSource::Default));
        let mut failed = signal("call_failed", self.settings.failed_likelihood_ratio);
        let mut empty = signal("empty_response", self.settings.empty_likelihood_ratio);
        if has_error {
            failed = failed.fire(1.0, "the call ended with an error");
        }
        if !is_answered {
            empty = empty.fire(1.0, "there is no response text");
        }
        let is_well = is_answered && !has_error;
        let (status, value) = if is_well { (Status::Ok, 0.0) } else { (Status::Error, 1.0) };
        let assessment = Assessment::new(status, value)
            .with("has_error", Detail::Flag(has_error))
            .with("is_answered", Detail::Flag(is_answered));
        Some(assessment.signal(failed).signal(empty))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_text_or_a_tool_call() {
        let cases = [
            ((Some("yes"), false, None), Some(true)),
            ((Some(" \n"), false, None), Some(false)),
            ((Some(""), false, Some("tool_calls")), Some(true)),
            ((None, false, Some("tool_use")), Some(true)),
            ((None, true, None), Some(false)),
            ((None, false, Some("length")), Some(false)),
            ((None, false, None), None),
        ];
        for ((response, has_error, finish_reason), expected) in cases {
            assert_eq!(is_answered(response, has_error, finish_reason), expected, "{response:?} {finish_reason:?}");
        }
    }
}
