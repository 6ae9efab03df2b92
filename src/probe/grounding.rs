//! The parts of grounding, one at a time: JSON in, JSON out, in the shapes of the golden vectors.
//!
//! The similarities and the scores of a model, which the engine does without, are given in the input: what is shown is the
//! decision that is made of them.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::{
    engines::grounding::{
        claims::{self, has_outside_phrase, is_meta_statement},
        trust,
    },
    text::code,
};

/// The best similarity below which no model is asked (seed 004).
const SIMILARITY_GATE: f64 = 0.25;
/// Characters of the shortest sentence of a source (seed 004).
const SOURCE_CHARS_MIN: usize = 11;

/// `{"text"}` → the sentences that claim something, white space folded.
pub fn claim_split(input: &Value) -> Result<Value> {
    let claims = split(text(input, "text")?).into_iter().map(|claim| folded(&claim));
    Ok(json!({"claims": claims.collect::<Vec<_>>()}))
}

/// `{"text"}` → whether it says that the documents are silent.
pub fn meta_statement(input: &Value) -> Result<Value> {
    Ok(json!({"is_meta_statement": is_meta_statement(text(input, "text")?)}))
}

/// `{"text"}` → whether it says that it rests on other knowledge than the documents.
pub fn hallucination_pattern(input: &Value) -> Result<Value> {
    Ok(json!({"has_pattern": has_outside_phrase(text(input, "text")?)}))
}

/// `{"claim", "sts", "nli": {"contradiction", "entailment"} | null}` → whether it is supported, and whether it is flagged.
pub fn claim_decision(input: &Value) -> Result<Value> {
    let claim = text(input, "claim")?;
    let similarity = best(&input["sts"]);
    let score = |name: &str| input["nli"][name].as_f64();
    let scores = score("entailment").zip(score("contradiction"));
    let decided = Decided::of(claim, similarity, scores);
    Ok(json!({
        "supported": decided.is_supported,
        "score": similarity,
        "nli_ran": decided.is_asked,
        "entailment_score": decided.entailment,
        "contradiction_score": decided.contradiction,
        "is_hallucination": decided.is_flagged,
        "is_meta_statement": is_meta_statement(claim),
        "has_hallucination_pattern": has_outside_phrase(claim),
    }))
}

/// `{"response", "sources", "sts": [[claim, source, score]], "nli": [[source, claim, [contradiction, neutral,
/// entailment]]]}` → the trust score and what becomes of each claim.
pub fn response(input: &Value) -> Result<Value> {
    let answer = text(input, "response")?;
    let sources = input["sources"].as_array().context("sources is not a list")?;
    let sources: Vec<&str> =
        sources.iter().filter_map(Value::as_str).filter(|source| source.chars().count() >= SOURCE_CHARS_MIN).collect();
    let rows = |name: &str| input[name].as_array().map_or(&[][..], Vec::as_slice);
    let claims = split(answer);
    let decided = claims.iter().map(|claim| {
        let claim = folded(claim);
        let is_source = |source: &Value| source.as_str().is_some_and(|source| sources.contains(&source));
        let similar = rows("sts").iter().filter(|row| row[0] == claim.as_str() && is_source(&row[1]));
        let similarity = similar.filter_map(|row| row[2].as_f64()).fold(0.0, f64::max);
        let model = rows("nli").iter().find(|row| row[1] == claim.as_str() && is_source(&row[0]));
        let scores = model.and_then(|row| row[2][2].as_f64().zip(row[2][0].as_f64()));
        Decided::of(&claim, similarity, scores)
    });
    let decided: Vec<Decided> = decided.collect();
    let supported = decided.iter().filter(|claim| claim.is_supported).count();
    let flagged = decided.iter().filter(|claim| claim.is_flagged).count();
    let trust = if decided.is_empty() { 0.0 } else { supported as f64 / decided.len() as f64 };
    Ok(json!({
        "trust_score": trust,
        "claims": decided.len(),
        "supported": supported,
        "hallucination_count": flagged,
        "all_supported": supported == decided.len(),
    }))
}

/// What becomes of a claim.
struct Decided {
    is_supported: bool,
    is_flagged: bool,
    is_asked: bool,
    entailment: f64,
    contradiction: f64,
}

impl Decided {
    fn of(claim: &str, similarity: f64, scores: Option<(f64, f64)>) -> Decided {
        let is_asked = similarity >= SIMILARITY_GATE && scores.is_some();
        let scores = scores.filter(|_| is_asked);
        let (is_supported, is_flagged) = trust::decide(scores, is_meta_statement(claim), has_outside_phrase(claim));
        let (entailment, contradiction) = scores.unwrap_or((0.0, 0.0));
        Decided { is_supported, is_flagged, is_asked, entailment, contradiction }
    }
}

/// A similarity, or the mean over the sentences of a claim of the best one that each has.
fn best(similarity: &Value) -> f64 {
    let largest = |row: &Value| match row.as_array() {
        Some(row) => row.iter().filter_map(Value::as_f64).fold(0.0, f64::max),
        None => row.as_f64().unwrap_or_default(),
    };
    match similarity.as_array().filter(|rows| !rows.is_empty()) {
        Some(rows) => rows.iter().map(largest).sum::<f64>() / rows.len() as f64,
        None => largest(similarity),
    }
}

fn split(text: &str) -> Vec<String> {
    let sentences = claims::claims(text, &code::code_ranges(text)).into_iter();
    sentences.filter(|claim| claim.is_claim).map(|claim| text[claim.span].to_owned()).collect()
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn text<'i>(input: &'i Value, name: &str) -> Result<&'i str> {
    input[name].as_str().with_context(|| format!("{name} is not a string"))
}
