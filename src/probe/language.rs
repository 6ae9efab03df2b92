//! The language engines, one at a time: JSON in, JSON out, in the shapes of the golden vectors.
//!
//! Every function takes the `input` of a vector and the settings to run under. Answers hold at least the keys of the
//! vectors' `expected` and `seed_expected`.

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::{
    engines::{
        Assessment, Detail,
        language::{compliance, compression, hallucination, intent, json_repair},
        runtime::structure,
    },
    text::Features,
};

/// `{"text"}` → primary and candidates.
pub fn intent(input: &Value, settings: &intent::Settings) -> Result<Value> {
    let found = intent::detect(&Features::of(text(input, "text")?), settings);
    let candidates = found.candidates.iter().map(|candidate| {
        json!({
            "tag": candidate.intent.as_str(),
            "confidence": candidate.confidence,
            "matched": candidate.matched,
        })
    });
    let primary = found.primary.map(intent::Intent::as_str);
    Ok(json!({"primary": primary, "candidates": candidates.collect::<Vec<_>>()}))
}

/// `{"prompt", "output"}` → the four scores, risk and label.
pub fn hallucination(input: &Value, settings: &hallucination::Settings) -> Result<Value> {
    let (prompt, output) = (text(input, "prompt")?, text(input, "output")?);
    let prompt = (&Features::of(prompt), prompt);
    let (scores, findings) = hallucination::examine(output, &Features::of(output), Some(prompt), settings);
    let risk = hallucination::risk(&scores, &settings.weights);
    let signals = json!({
        "speculativeFactsScore": scores.speculative_facts,
        "fabricatedKeysScore": scores.fabricated_keys,
        "overconfidentScore": scores.overconfident,
        "contradictionScore": scores.contradiction,
        "customHooksCount": 0,
    });
    let spans: Vec<Value> =
        findings.iter().map(|f| json!({"rule": f.rule, "start": f.span.start, "end": f.span.end})).collect();
    let label = hallucination::label(risk, settings);
    Ok(merged(&signals, json!({"signals": signals, "risk": risk, "label": label, "findings": spans})))
}

/// `{"prompt", "output", "baselineEntropy"}` → the terms, score and label.
pub fn compression(input: &Value, settings: &compression::Settings) -> Result<Value> {
    let prompt = Features::of(text(input, "prompt")?);
    let output = Features::of(text(input, "output")?);
    let usual = match &input["baselineEntropy"] {
        Value::Null => None,
        entropy => Some(entropy.as_f64().context("baselineEntropy is not a number")?),
    };
    let base = compression::base_score(&prompt, &output, settings);
    let score = compression::score(&base, output.entropy_bits, usual, settings);
    let metrics = json!({
        "complexityLevel": base.level,
        "expectedWords": base.expected_words,
        "lengthDeficit": base.length_deficit,
        "entropyDrop": compression::entropy_drop(output.entropy_bits, usual),
        "missingTransitions": u8::from(base.missing_transitions),
        "repetitionScore": base.repetition,
    });
    let label = compression::label(score, settings);
    Ok(merged(&metrics, json!({"metrics": metrics, "score": score, "label": label})))
}

/// `{"rules", "output"}` → one result per rule, ratio and verdict.
pub fn compliance(input: &Value, settings: &compliance::Settings) -> Result<Value> {
    let output = text(input, "output")?;
    let rules = input["rules"].as_array().context("rules is not a list")?;
    let report = compliance::check(rules, output, &Features::of(output), settings);
    let results = report.results.iter().map(|result| match &result.outcome {
        compliance::Outcome::Passed => json!({"id": result.id, "passed": true}),
        compliance::Outcome::Failed(reason) => json!({"id": result.id, "passed": false, "reason": reason}),
        compliance::Outcome::Invalid(reason) => json!({"id": result.id, "invalid": true, "reason": reason}),
    });
    Ok(json!({
        "ruleResults": results.collect::<Vec<_>>(),
        "complianceRatio": report.ratio,
        "instructionFollowed": report.ratio >= settings.followed_from,
    }))
}

/// `{"text"}` → the JSON, the steps, and each change with its offset.
pub fn json_repair(input: &Value, settings: &json_repair::Settings) -> Result<Value> {
    let text = text(input, "text")?;
    let found = json_repair::repair(text, settings);
    let steps = found.steps.iter().map(|(step, applied)| json!({"step": step.as_str(), "applied": applied}));
    let repairs = found.repairs.iter().map(|change| {
        json!({
            "step": change.step.as_str(),
            "offset": change.offset,
            "removedBytes": change.removed_bytes,
            "inserted": change.inserted,
        })
    });
    Ok(json!({
        "isJson": found.succeeded,
        "normalizedJson": found.value,
        "candidate": found.candidate.map(|span| &text[span]),
        "steps": steps.collect::<Vec<_>>(),
        "repairs": repairs.collect::<Vec<_>>(),
        "repairSucceeded": found.succeeded,
    }))
}

/// `{"call": {"responseText", "promptText"?}}` → status, value and metadata.
pub fn structure(input: &Value, settings: &structure::Settings) -> Result<Value> {
    let response = Features::of(text(&input["call"], "responseText")?);
    let prompt = Features::of(input["call"]["promptText"].as_str().unwrap_or_default());
    let engine = structure::Structure::new(settings.clone());
    let details = details(&engine.assess_features(&response, &prompt));
    Ok(merged(&details["details"], details.clone()))
}

fn text<'i>(input: &'i Value, name: &str) -> Result<&'i str> {
    input[name].as_str().with_context(|| format!("{name} is missing or not a text"))
}

/// The status, the value and the details of an assessment, with names in camel case.
fn details(assessment: &Assessment) -> Value {
    let details = assessment.details.iter().map(|(name, detail)| (camel_case(name), written(detail)));
    json!({
        "status": assessment.status.as_str(),
        "value": assessment.value,
        "details": details.collect::<Map<_, _>>(),
    })
}

fn written(detail: &Detail) -> Value {
    match detail {
        Detail::Number(number) => json!(number),
        Detail::Count(count) => json!(count),
        Detail::Flag(flag) => json!(flag),
        Detail::Label(label) => json!(label),
        Detail::Labels(labels) => json!(labels),
        Detail::Text(text) => json!(text),
    }
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_string();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at(word.len().min(1));
        name + &initial.to_uppercase() + rest
    })
}

/// `over` with the entries of `under` that it does not have.
fn merged(under: &Value, over: Value) -> Value {
    let mut entries = under.as_object().cloned().unwrap_or_default();
    entries.extend(over.as_object().cloned().unwrap_or_default());
    Value::Object(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_turn_into_camel_case() {
        assert_eq!(camel_case("code_block_count"), "codeBlockCount");
    }
}
