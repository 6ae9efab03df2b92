//! An answer that says itself that the call failed.
//!
//! **Formula**: score 1 when the record carries an error of the call, or when a top-level field of the answer says so:
//! `error` or `errors` that is not empty, false or null; `isError` or `is_error` true; `status` one of [`STATUS_WORDS`];
//! `status_code` (or a numeric `status`) of at least [`STATUS_CODE_FROM`].
//!
//! **Range**: 0 or 1.
//!
//! **Source**: ours, for the question `degraded`: a failed call is no sign that its answer was made up. `isError` is the
//! field of the Model Context Protocol.
//!
//! **Limits**: top-level fields only; an error told in prose is not seen.

use serde::{Deserialize, Serialize};

use crate::engines::{About, Question, SignalAbout};

/// Settings of the error check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// P(fires | degraded) / P(fires | well).
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { likelihood_ratio: LIKELIHOOD_RATIO }
    }
}

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Finds tool answers that say themselves that the call failed.",
    formula: "1 when the call or a top-level field (error, isError, status, status_code) reports an error",
    range: "0 or 1",
    source: "llmverify; Model Context Protocol for isError",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "The tool's answer says itself that the call failed.",
        owasp: "LLM09",
        help: "Did the model go on as if the call had worked?",
    }],
};

/// The signal of this check.
pub const SIGNAL: &str = "tool_error";
/// Ours, modest until it is fitted.
pub const LIKELIHOOD_RATIO: f64 = 3.0;
/// HTTP: client and server errors begin here.
pub const STATUS_CODE_FROM: f64 = 400.0;
/// HTTP: the last number that is a status code.
pub const STATUS_CODE_TO: f64 = 599.0;
/// Values of `status` that mean failure, compared without regard to case.
pub const STATUS_WORDS: [&str; 8] =
    ["error", "err", "failed", "failure", "timeout", "timed_out", "aborted", "exception"];

/// A value, as far as this check looks into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// null, or an empty list or object.
    Empty,
    /// true or false.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(&'a str),
    /// A list or object that holds something.
    Filled,
}

/// Whether this top-level field says that the call failed.
pub fn says_error(field: &str, value: Value<'_>) -> bool {
    match field {
        "error" | "errors" => match value {
            Value::Empty => false,
            Value::Bool(yes) => yes,
            Value::Number(number) => number != 0.0,
            Value::Text(text) => !text.trim().is_empty(),
            Value::Filled => true,
        },
        "isError" | "is_error" => value == Value::Bool(true),
        "status" | "status_code" | "statusCode" => match value {
            Value::Number(code) => (STATUS_CODE_FROM..=STATUS_CODE_TO).contains(&code),
            Value::Text(text) => STATUS_WORDS.iter().any(|word| word.eq_ignore_ascii_case(text.trim())),
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explicit_errors() {
        for (field, value, expected) in [
            ("error", Value::Text("upstream timeout"), true),
            ("error", Value::Text(""), false),
            ("error", Value::Empty, false),
            ("error", Value::Bool(false), false),
            ("errors", Value::Filled, true),
            ("isError", Value::Bool(true), true),
            ("isError", Value::Bool(false), false),
            ("status", Value::Text("FAILED"), true),
            ("status", Value::Text("queued"), false),
            ("status", Value::Number(503.0), true),
            ("status", Value::Number(1234.0), false),
            ("status_code", Value::Number(200.0), false),
            ("error_rate", Value::Number(0.3), false),
        ] {
            assert_eq!(says_error(field, value), expected, "{field}: {value:?}");
        }
    }
}
