//! The engines that check facts, one at a time: JSON in, JSON out.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    engines::facts::arithmetic,
    text::canonical_json::canonical,
    verdict::{Decision, verifiers},
};

/// `{"text", "prompt"?}` → how many claims hold, and each that does not.
pub fn arithmetic(input: &Value, settings: &arithmetic::Settings) -> Result<Value> {
    let text = text(input, "text")?;
    let report = arithmetic::examine(text, input["prompt"].as_str().unwrap_or_default(), settings);
    let refuted = report.refuted.iter().map(
        |claim| json!({"rule": claim.rule, "start": claim.span.start, "end": claim.span.end, "detail": claim.detail}),
    );
    Ok(json!({
        "checked": report.claims(),
        "held": report.held,
        "false": refuted.collect::<Vec<_>>(),
        "notAssessed": report.skipped.iter().sum::<u64>(),
    }))
}

/// `{"lhs", "rhs"}` → whether both sides are equal; null when that is not known.
pub fn symbolic(input: &Value, settings: &arithmetic::Settings) -> Result<Value> {
    Ok(json!({"equal": arithmetic::are_equal(text(input, "lhs")?, text(input, "rhs")?, settings)}))
}

/// `{"scores", "weights", "deterministic_block"?, "flag_below"?, "block_below"?}` → the confidence of the verifiers and their
/// verdict, by the names of seed 003; null when none of them ran.
pub fn aggregate(input: &Value, settings: &verifiers::Settings) -> Result<Value> {
    let scores = input["scores"].as_object().context("scores is not an object")?;
    let default = serde_json::to_value(&settings.weights)?;
    let weight = |name: &str| input["weights"][name].as_f64().or_else(|| default[name].as_f64());
    let vote = |(name, score): (&String, &Value)| Some((score.as_f64()?, weight(name)?));
    let votes: Vec<(f64, f64)> = scores.iter().filter_map(vote).collect();
    let is_proven = input["deterministic_block"].as_array().is_some_and(|blocks| !blocks.is_empty());
    let cut = |name: &str, usual: f64| input[name].as_f64().unwrap_or(usual);
    let (pass_from, flag_from) = (cut("flag_below", settings.pass_from), cut("block_below", settings.flag_from));
    let found = verifiers::aggregate(&votes, is_proven, pass_from, flag_from);
    let verdict = found.map(|(_, decision)| match decision {
        Decision::Block => "BLOCK",
        Decision::Flag => "FLAG",
        Decision::Accept | Decision::NotAssessed => "PASS",
    });
    Ok(json!({"confidence": found.map(|(confidence, _)| confidence), "verdict": verdict}))
}

/// `{"value"}` → its canonical text, and the SHA-256 of it.
pub fn canonical_json(input: &Value) -> Result<Value> {
    let canonical = canonical(input.get("value").context("no value")?);
    let digest = Sha256::digest(canonical.as_bytes());
    let sha256: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(json!({"canonical": canonical, "sha256": sha256}))
}

fn text<'v>(input: &'v Value, key: &str) -> Result<&'v str> {
    input[key].as_str().with_context(|| format!("{key} is not a string"))
}
