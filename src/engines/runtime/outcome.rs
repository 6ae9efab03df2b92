//! Did the call of a model end well? An error instead of an answer, or an answer without a word in it.
//!
//! **Formula**: value = 1 when the record holds an error, the response is the text of one ([`error_text`]) or blank, else 0. A
//! response that consists of tool calls is an answer. `call_failed` fires on the error, `empty_response` where the log has
//! an answer and it is blank. A failed call is one fault: it fires `call_failed` alone.
//!
//! **Range**: 0 (ended well) to 1 (did not).
//!
//! **Source**: ours; both are what a provider's own status reports.
//!
//! **Limits**: an error that the provider hid behind a friendly text is not seen here. A record without response and
//! error says nothing of the answer: most logs without texts were told not to keep them. The text of an error counts as one
//! where it is the whole answer and the user did not speak of errors, programs or pages.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error_text;
use crate::{
    engines::{
        About, Assessment, Detail, Effect, Engine, Question, RatioSource, Signal, SignalAbout, Status, Tier, View,
    },
    record::Kind,
};

/// Finish reasons of an answer that consists of tool calls, in the spellings of the providers.
const TOOL_FINISH_REASONS: [&str; 4] = ["tool_calls", "tool_use", "function_call", "tool-calls"];

/// The signal of a failed call.
pub const FAILED: &str = "call_failed";
/// The signal of an empty answer.
pub const EMPTY: &str = "empty_response";

/// Constants of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Likelihood ratio of `call_failed`, where it counts as evidence.
    pub failed_likelihood_ratio: f64,
    /// What a failed call counts as: `fact`, `evidence`, `off`.
    pub failed_effect: Effect,
    /// Likelihood ratio of `empty_response`, where it counts as evidence.
    pub empty_likelihood_ratio: f64,
    /// What an empty answer counts as: `fact`, `evidence`, `off`.
    pub empty_effect: Effect,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            failed_likelihood_ratio: 9.0,
            failed_effect: Effect::Fact,
            empty_likelihood_ratio: 3.0,
            empty_effect: Effect::Fact,
        }
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

/// Whether there is nothing to read in a text: white space, characters without width, quotation marks around nothing, the
/// marks of an empty code block, a few dots or dashes in the place of words. One alone may be an answer, and many a code.
fn is_blank(text: &str) -> bool {
    const MARKS: RangeInclusive<usize> = 3..=6;
    let is_nothing = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}' | '"' | '\'' | '`')
    };
    let mut said = text.chars().filter(|c| !is_nothing(*c));
    let Some(first) = said.next() else { return true };
    let count = 1 + said.by_ref().take(*MARKS.end()).take_while(|c| *c == first).count();
    let is_alone = text.chars().filter(|c| !is_nothing(*c)).nth(count).is_none();
    is_alone && (first == '…' || (matches!(first, '.' | '-' | '–' | '—' | '_') && MARKS.contains(&count)))
}

/// Whether an answer is there, `None` when the record does not say.
fn is_answered(response: Option<&str>, finish_reason: Option<&str>) -> Option<bool> {
    let is_tool_call = finish_reason.is_some_and(|reason| TOOL_FINISH_REASONS.contains(&reason));
    match response {
        Some(text) => Some(is_tool_call || !is_blank(text)),
        None => is_tool_call.then_some(true),
    }
}

/// What is known of the engine.
pub const ABOUT: About = About {
    name: "outcome",
    summary: "Calls that ended with an error, or without a word.",
    formula: "value = 1 if the record holds an error, or the response is the text of one or blank, else 0",
    range: "0 (ended well) or 1 (did not)",
    source: "ours",
    signals: &[
        SignalAbout {
            id: FAILED,
            question: Question::Degraded,
            title: "The call ended with an error.",
            owasp: "",
            help: "Look at the error of the record and at the provider's status at that time.",
        },
        SignalAbout {
            id: EMPTY,
            question: Question::Degraded,
            title: "The model answered nothing.",
            owasp: "",
            help: "Look at finish reason and token limit; a filter may have removed the answer.",
        },
    ],
};

impl Engine for Outcome {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        let record = view.record;
        if record.kind != Kind::Llm {
            return None;
        }
        let response = record.response.as_deref();
        let told = response.and_then(|text| error_text::of(text, view));
        let has_error = record.error.is_some() || told.is_some();
        // Some providers end a call of tools with the reason of any other answer.
        let calls_tools = (!record.tool_calls.is_empty()).then_some(TOOL_FINISH_REASONS[0]);
        let finish_reason = calls_tools.or(record.finish_reason.as_deref());
        let is_answered = is_answered(response, finish_reason);
        if !has_error && is_answered.is_none() {
            return Some(Assessment::not_assessed("neither response nor error"));
        }
        let is_well = !has_error && is_answered != Some(false);
        let (status, value) = if is_well { (Status::Ok, 0.0) } else { (Status::Error, 1.0) };
        let mut assessment = Assessment::new(status, value).with("has_error", Detail::Flag(has_error));
        if let Some(is_answered) = is_answered {
            assessment = assessment.with("is_answered", Detail::Flag(is_answered));
        }
        let signal = |id, ratio| Signal::absent(id, Question::Degraded, Tier::Zero, (ratio, RatioSource::Default));
        let failed = signal(FAILED, self.settings.failed_likelihood_ratio);
        if has_error {
            let detail = told.filter(|_| record.error.is_none()).unwrap_or("the call ended with an error");
            return Some(assessment.signal(self.settings.failed_effect.of(failed.fire(1.0, detail))));
        }
        let mut empty = signal(EMPTY, self.settings.empty_likelihood_ratio);
        if is_answered == Some(false) {
            empty = empty.fire(1.0, "the answer is empty");
        }
        let (failed, empty) = (self.settings.failed_effect.of(failed), self.settings.empty_effect.of(empty));
        Some(assessment.signal(failed).signal(empty))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::testing::with_view;

    #[test]
    fn an_answer_is_text_or_a_tool_call() {
        let cases = [
            ((Some("yes"), None), Some(true)),
            ((Some(" \n"), None), Some(false)),
            ((Some("\u{200b}\u{200b}"), None), Some(false)),
            ((Some("```\n```"), None), Some(false)),
            ((Some("\"\""), None), Some(false)),
            ((Some("👍"), None), Some(true)),
            ((Some(""), Some("tool_calls")), Some(true)),
            ((None, Some("tool_use")), Some(true)),
            ((None, Some("length")), None),
            ((None, None), None),
        ];
        for ((response, finish_reason), expected) in cases {
            assert_eq!(is_answered(response, finish_reason), expected, "{response:?} {finish_reason:?}");
        }
    }

    #[test]
    fn a_failed_call_is_one_fact_and_no_text_is_no_empty_answer() {
        let check = |unit: &str, expected: &[&str]| {
            let fired: Vec<&str> = with_view(unit, |view| {
                let said = Outcome::new(Settings::default()).assess(view).unwrap();
                said.signals.iter().filter(|signal| signal.fired).map(|signal| signal.id).collect()
            });
            assert_eq!(fired, expected, "{unit}");
        };
        check(r#"{"prompt":"p","response":"r"}"#, &[]);
        check(r#"{"prompt":"p","response":""}"#, &["empty_response"]);
        check(r#"{"prompt":"p","response":"..."}"#, &["empty_response"]);
        check(r#"{"prompt":"What is SOS in Morse code?","response":"... --- ..."}"#, &[]);
        check(r#"{"prompt":"Which operator takes away?","response":"-"}"#, &[]);
        check(r#"{"prompt":"p","response":"","error":"timeout"}"#, &["call_failed"]);
        check(r#"{"prompt":"p","error":"timeout"}"#, &["call_failed"]);
        check(r#"{"prompt":"p","response":"half","error":"timeout"}"#, &["call_failed"]);
        check(r#"{"model":"m","output_tokens":7,"finish_reason":"stop"}"#, &[]);
        // What a caller asked to be told in JSON is an answer; what a server says never is.
        let told = |system: &str, answer: &str| {
            serde_json::json!({"system": system, "prompt": "Where is order 8812?", "response": answer}).to_string()
        };
        let (own, servers) =
            (r#"{"error":"unknown order"}"#, r#"{"error":{"message":"overloaded","type":"server_error"}}"#);
        check(&told("You help customers.", own), &["call_failed"]);
        check(&told("Answer in JSON.", own), &[]);
        check(&told("Answer in JSON.", servers), &["call_failed"]);
        check(&told("Answer in JSON.", r#"{"error":"overloaded","status":529}"#), &["call_failed"]);
        // An everyday word in the prompt explains no error.
        let answered_with =
            |prompt: &str, answer: &str| serde_json::json!({"prompt": prompt, "response": answer}).to_string();
        let page = "502 Bad Gateway";
        for prompt in
            ["What is the status of order 7?", "I can't log in", "My message got lost", "What are your logistics?"]
        {
            check(&answered_with(prompt, page), &["call_failed"]);
        }
        check(&answered_with("Which HTTP status code does nginx send then?", page), &[]);
        check(
            &answered_with("Write an error page for our shop, HTML only.", "<html><title>404 Not Found</title></html>"),
            &[],
        );
        check(&answered_with("Is it allowed or forbidden? One word.", "Forbidden"), &[]);
        let answered = |content: &str| {
            format!(
                r#"{{"messages":[{{"role":"user","content":"p"}}],"response":{{"object":"chat.completion","choices":[{{"message":{{"role":"assistant"{content}}},"finish_reason":"length"}}]}}}}"#
            )
        };
        check(&answered(r#","content":null"#), &["empty_response"]);
        check(&answered(""), &[]);
    }
}
