//! One engine at a time, for `llmverify engine NAME`: plain JSON in, plain JSON out.
//!
//! - [`runtime`]: latency, token_rate, fingerprint, health (seed 001)
//! - [`verification`]: the verification engine and its parts (seed 002)

pub mod runtime;
pub mod verification;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::config::Settings;

/// Runs one engine over one input.
pub type Probe = fn(&Value, &Settings) -> Result<Value>;

/// The engines of seed 001, by name.
const PROBES: &[(&str, Probe)] = &[
    ("latency", |input, settings| runtime::latency(input, &settings.engines.latency)),
    ("token_rate", |input, settings| runtime::token_rate(input, &settings.engines.token_rate)),
    ("fingerprint_extract", |input, settings| runtime::fingerprint_extract(input, &settings.engines.fingerprint)),
    ("fingerprint", |input, settings| runtime::fingerprint(input, &settings.engines.fingerprint)),
    ("health", |input, settings| runtime::health(input, &settings.engines.health)),
];

/// The names of all probes.
pub fn names() -> Vec<&'static str> {
    PROBES.iter().map(|(name, _)| *name).chain(verification::NAMES).collect()
}

/// Runs the engine called `name` over one input, in the shapes of `fixtures/golden`.
///
/// # Errors
/// When there is no engine of that name, or the input is not what it needs.
pub fn run(name: &str, input: &Value, settings: &Settings) -> Result<Value> {
    if let Some((_, probe)) = PROBES.iter().find(|(known, _)| *known == name) {
        return probe(input, settings);
    }
    let halves = verification::Settings { tools: settings.engines.tools.clone(), history: settings.history_settings() };
    match verification::run(name, input, &halves) {
        Some(result) => result,
        None => bail!("unknown engine `{name}`; `llmverify engine --list` names them"),
    }
}
