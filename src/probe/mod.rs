//! One engine at a time, for `llmverify engine NAME`: plain JSON in, plain JSON out.
//!
//! - [`facts`]: arithmetic, symbolic, aggregate, canonical_json (seed 003)
//! - [`grounding`]: claim_split, meta_statement, hallucination_pattern, claim_decision, response (seed 004)
//! - [`language`]: structure, intent, hallucination, compression, compliance, json_repair (seed 001)
//! - [`runtime`]: latency, token_rate, fingerprint, health (seed 001)
//! - [`security`]: pii, injection (seed 000)
//! - [`verification`]: the verification engine and its parts (seed 002)

pub mod facts;
pub mod grounding;
pub mod language;
pub mod runtime;
pub mod security;
pub mod verification;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::config::Settings;

/// Runs one engine over one input.
pub type Probe = fn(&Value, &Settings) -> Result<Value>;

/// The engines of seeds 000, 001, 003 and 004, by name.
const PROBES: &[(&str, Probe)] = &[
    ("latency", |input, settings| runtime::latency(input, &settings.engines.latency)),
    ("token_rate", |input, settings| runtime::token_rate(input, &settings.engines.token_rate)),
    ("fingerprint_extract", |input, settings| runtime::fingerprint_extract(input, &settings.engines.fingerprint)),
    ("fingerprint", |input, settings| runtime::fingerprint(input, &settings.engines.fingerprint)),
    ("structure", |input, settings| language::structure(input, &settings.engines.structure)),
    ("intent", |input, settings| language::intent(input, &settings.engines.intent)),
    ("hallucination", |input, settings| language::hallucination(input, &settings.engines.hallucination)),
    ("compression", |input, settings| language::compression(input, &settings.engines.compression)),
    ("compliance", |input, settings| language::compliance(input, &settings.engines.compliance)),
    ("json_repair", |input, settings| language::json_repair(input, &settings.engines.json_repair)),
    ("arithmetic", |input, settings| facts::arithmetic(input, &settings.engines.arithmetic)),
    ("symbolic", |input, settings| facts::symbolic(input, &settings.engines.arithmetic)),
    ("aggregate", |input, settings| facts::aggregate(input, &settings.verifiers)),
    ("canonical_json", |input, _| facts::canonical_json(input)),
    ("pii", security::pii),
    ("injection", security::injection),
    ("claim_split", |input, _| grounding::claim_split(input)),
    ("meta_statement", |input, _| grounding::meta_statement(input)),
    ("hallucination_pattern", |input, _| grounding::hallucination_pattern(input)),
    ("claim_decision", |input, _| grounding::claim_decision(input)),
    ("response", |input, _| grounding::response(input)),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_is_an_error_and_never_a_panic() {
        let settings = Settings::default();
        for name in names() {
            for input in [json!({}), json!(null), json!([1]), json!({"text": 1, "call": 2, "rules": 3, "calls": "x"})] {
                let answer = run(name, &input, &settings);
                assert!(answer.is_err() || answer.is_ok_and(|answer| answer.is_object()), "{name} {input}");
            }
        }
        assert!(run("no_such_engine", &json!({}), &settings).is_err());
    }

    #[test]
    fn names_are_unique() {
        let mut names = names();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
