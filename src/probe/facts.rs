//! The engines that check facts, one at a time: JSON in, JSON out.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::engines::facts::arithmetic;

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

fn text<'v>(input: &'v Value, key: &str) -> Result<&'v str> {
    input[key].as_str().with_context(|| format!("{key} is not a string"))
}
