//! What a tool's answers look like when they are real: the profile that a user registers per tool.
//!
//! **Source**: seed 002, "ToolProfile Fields" (names, types and defaults).
//!
//! **Limits**: a profile says nothing of nested fields; a schema that the record declares does (see the facts engines).

use serde::{Deserialize, Serialize};

use super::pattern::{BadPattern, Patterns};

/// Expected time of a registered tool that does not state its own: seed 002, 50 ms to 30 s.
pub const LATENCY_RANGE_MS: (f64, f64) = (50.0, 30_000.0);
/// Expected time of a tool without a profile: seed 002, 2 ms to 60 s.
pub const UNREGISTERED_LATENCY_RANGE_MS: (f64, f64) = (2.0, 60_000.0);

/// One tool's profile, as it stands in the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolProfile {
    /// Plausible execution time in milliseconds, from and to.
    pub expected_latency_ms: (f64, f64),
    /// Top-level fields that every real answer has.
    pub required_fields: Vec<String>,
    /// Top-level fields that no real answer has.
    pub forbidden_fields: Vec<String>,
    /// Regular expressions of which at least one matches the JSON text of every real answer.
    pub response_patterns: Vec<String>,
    /// Least length of the JSON text, in code points.
    pub min_response_length: Option<u64>,
    /// Greatest length of the JSON text, in code points.
    pub max_response_length: Option<u64>,
    /// The JSON Schema of its arguments, against which calls are checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args_schema: Option<serde_json::Value>,
    /// Whether the tool talks to a network, so that an answer within 2 ms cannot be real.
    pub has_network_io: bool,
}

impl Default for ToolProfile {
    fn default() -> ToolProfile {
        ToolProfile {
            expected_latency_ms: LATENCY_RANGE_MS,
            required_fields: Vec::new(),
            forbidden_fields: Vec::new(),
            response_patterns: Vec::new(),
            min_response_length: None,
            max_response_length: None,
            args_schema: None,
            has_network_io: true,
        }
    }
}

/// A profile that is ready to be used: its numbers checked and its patterns compiled.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The profile as configured.
    pub tool: ToolProfile,
    /// Its patterns.
    pub patterns: Patterns,
}

/// Why a profile cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileError {
    /// A response pattern does not compile.
    Pattern(BadPattern),
    /// The expected times are not two finite numbers, the first not negative and not above the second.
    LatencyRange,
    /// The least length is above the greatest.
    LengthRange,
}

impl std::fmt::Display for ProfileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProfileError::Pattern(bad) => bad.fmt(f),
            ProfileError::LatencyRange => {
                f.write_str("expected_latency_ms must be two numbers, 0 <= from <= to, as in [100, 5000]")
            }
            ProfileError::LengthRange => f.write_str("min_response_length is above max_response_length"),
        }
    }
}

impl std::error::Error for ProfileError {}

impl Profile {
    /// Checks and compiles `tool`. With `tolerate_bad_patterns` (seed 002's program), a pattern that does not compile is
    /// one that never matches.
    pub fn new(tool: ToolProfile, tolerate_bad_patterns: bool) -> Result<Profile, ProfileError> {
        let (from_ms, to_ms) = tool.expected_latency_ms;
        if !(from_ms >= 0.0 && to_ms >= from_ms && to_ms.is_finite()) {
            return Err(ProfileError::LatencyRange);
        }
        if let (Some(least), Some(greatest)) = (tool.min_response_length, tool.max_response_length)
            && least > greatest
        {
            return Err(ProfileError::LengthRange);
        }
        let patterns =
            Patterns::compile(&tool.response_patterns, tolerate_bad_patterns).map_err(ProfileError::Pattern)?;
        Ok(Profile { tool, patterns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut ToolProfile), expected: Result<(), ProfileError>) {
        let mut tool = ToolProfile::default();
        change(&mut tool);
        assert_eq!(Profile::new(tool, false).map(|_| ()), expected);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        check(|_| (), Ok(()));
        check(|tool| tool.expected_latency_ms = (0.1, 100.0), Ok(()));
        check(|tool| tool.expected_latency_ms = (100.0, 50.0), Err(ProfileError::LatencyRange));
        check(|tool| tool.expected_latency_ms = (-1.0, 50.0), Err(ProfileError::LatencyRange));
        check(|tool| tool.expected_latency_ms = (f64::NAN, 50.0), Err(ProfileError::LatencyRange));
        check(|tool| tool.min_response_length = Some(5), Ok(()));
        check(
            |tool| (tool.min_response_length, tool.max_response_length) = (Some(9), Some(8)),
            Err(ProfileError::LengthRange),
        );
    }

    #[test]
    fn a_bad_pattern_is_an_error_unless_tolerated() {
        let tool = ToolProfile { response_patterns: vec!["[bad".into()], ..ToolProfile::default() };
        let error = Profile::new(tool.clone(), false).unwrap_err();
        assert!(error.to_string().contains("[bad"), "{error}");
        assert!(Profile::new(tool, true).is_ok());
    }

    #[test]
    fn unknown_keys_are_refused() {
        assert!(serde_json::from_str::<ToolProfile>(r#"{"required": ["a"]}"#).is_err());
        assert!(serde_json::from_str::<ToolProfile>(r#"{"has_network_io": false}"#).is_ok());
    }
}
