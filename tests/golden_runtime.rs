//! Golden vectors of the runtime engines, under the settings of the seed.
//!
//! What binds is `seed_expected` where a vector has it, else `expected` where `agrees_with_seed` is true. Every key of
//! it must be in the answer, numbers within 1e-9.

use std::path::Path;

use llmverify::{
    engines::runtime::{fingerprint, health, latency, token_rate},
    probe::runtime,
};
use serde_json::Value;

const TOLERANCE: f64 = 1e-9;

#[test]
fn latency_answers_as_the_seed() {
    check("latency", 19, |input| runtime::latency(input, &latency::Settings::seed()));
}

#[test]
fn token_rate_answers_as_the_seed() {
    check("token_rate", 20, |input| runtime::token_rate(input, &token_rate::Settings::seed()));
}

#[test]
fn fingerprint_answers_as_the_seed() {
    check("fingerprint", 13, |input| runtime::fingerprint(input, &fingerprint::Settings::seed()));
}

#[test]
fn fingerprint_extract_answers_as_the_seed() {
    check("fingerprint_extract", 13, |input| runtime::fingerprint_extract(input, &fingerprint::Settings::seed()));
}

#[test]
fn health_answers_as_the_seed() {
    check("health", 13, |input| runtime::health(input, &health::Settings::seed()));
}

/// Runs the vectors of one engine, of which `binding_count` bind.
#[track_caller]
fn check(engine: &str, binding_count: usize, run: impl Fn(&Value) -> anyhow::Result<Value>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/golden").join(format!("{engine}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap();
    let vectors: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut failures = Vec::new();
    let mut bound = 0;
    for vector in &vectors {
        let answer = run(&vector["input"]).unwrap();
        let Some(expected) = binding(vector) else { continue };
        bound += 1;
        for (key, value) in expected.as_object().unwrap() {
            if !agrees(&answer[key], value) {
                failures.push(format!("{}: {key} is {} and not {value}", vector["id"], answer[key]));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!(bound, binding_count, "{engine}: binding vectors");
}

fn binding(vector: &Value) -> Option<&Value> {
    vector.get("seed_expected").or_else(|| vector.get("expected").filter(|_| vector["agrees_with_seed"] == true))
}

fn agrees(got: &Value, expected: &Value) -> bool {
    match (got, expected) {
        (Value::Number(got), Value::Number(expected)) => {
            (got.as_f64().unwrap() - expected.as_f64().unwrap()).abs() <= TOLERANCE
        }
        (Value::Object(got), Value::Object(expected)) => {
            expected.iter().all(|(key, value)| got.get(key).is_some_and(|got| agrees(got, value)))
        }
        (Value::Array(got), Value::Array(expected)) => {
            got.len() == expected.len() && got.iter().zip(expected).all(|(got, expected)| agrees(got, expected))
        }
        _ => got == expected,
    }
}
