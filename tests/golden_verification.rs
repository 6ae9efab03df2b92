//! Golden vectors of the verification engine (seed 002) and of the baseline (seed 001), under the seed preset.
//!
//! What binds is `seed_expected` where a vector has it, else `expected` where it agrees with the seed; where the seed
//! is silent (`agrees_with_seed` is null), the seed preset follows the program, and `expected` binds as well, unless the
//! decision is our own. Every key of the binding object must be there and equal.
//!
//! Not binding:
//! - `detail`: the program's words
//! - `tier_reached`: ours is TIER_1 whenever tier 1 was evaluated
//! - `threshold` of the feedback steps, and all of `adaptive` but rate and prior: the program's threshold rises with the
//!   first confirmed hallucination, which the seed rules out
//! - signals that did not fire, beyond those that both list; the program leaves out tier 1 then
//! - `total_feedback` of `calibrate`: the program sets a prior by ten made-up feedbacks
//! - the vectors in [`OUR_RULE_STANDS`]

use llmverify::probe::verification::{NAMES, Settings, run};
use serde_json::Value;

/// Our rule is better, and stands.
const OUR_RULE_STANDS: [&str; 2] = ["agentguard/consistency_historical/009", "agentguard/consistency_historical/015"];

/// Keys that hold the program's words or its own way.
const FREE_KEYS: [&str; 4] = ["detail", "tier_reached", "total_feedback", "threshold"];

/// Floating-point tolerance; the vectors print doubles in full, or to four decimals.
const TOLERANCE: f64 = 1e-9;

fn binding(vector: &Value) -> Option<Value> {
    if OUR_RULE_STANDS.contains(&vector["id"].as_str()?) {
        return None;
    }
    if vector["engine"] == "adaptive" {
        // Parameters of the program's manager are not ours; the default one agrees in rate and prior.
        return vector["input"].get("params").is_none().then(|| vector["expected"].clone());
    }
    match vector.get("seed_expected") {
        Some(expected) => Some(expected.clone()),
        None if vector["agrees_with_seed"] != Value::Bool(false) => Some(vector["expected"].clone()),
        None => None,
    }
}

/// The first place where `got` is not what is expected.
fn difference(path: &str, expected: &Value, got: &Value) -> Option<String> {
    let differ = || Some(format!("{path}: expected {expected}, got {got}"));
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => expected.iter().find_map(|(key, value)| {
            let path = format!("{path}/{key}");
            match got.get(key) {
                _ if FREE_KEYS.contains(&key.as_str()) => None,
                Some(own) => difference(&path, value, own),
                None => Some(format!("{path}: missing")),
            }
        }),
        (Value::Array(expected), Value::Array(own)) if expected.len() == own.len() => {
            let mut pairs = expected.iter().zip(own).enumerate();
            pairs.find_map(|(i, (expected, own))| difference(&format!("{path}/{i}"), expected, own))
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64()?, b.as_f64()?);
            if (a - b).abs() <= TOLERANCE * a.abs().max(1.0) { None } else { differ() }
        }
        // A null says that the seed does not define the answer.
        (Value::Null, _) => None,
        _ if expected == got => None,
        _ => differ(),
    }
}

/// Signals that fired and that the vector does not list.
fn surplus(expected: &Value, got: &Value) -> Option<String> {
    let (expected, got) = (expected.get("signals")?.as_object()?, got["signals"].as_object()?);
    let own = got.iter().find(|(id, signal)| {
        signal["fired"] == true && signal["question"] == "fabricated" && !expected.contains_key(*id)
    });
    own.map(|(id, signal)| format!("{id} fired: {signal}"))
}

fn check(vector: &Value) -> Result<bool, String> {
    let (id, engine) = (vector["id"].as_str().unwrap(), vector["engine"].as_str().unwrap());
    let Some(expected) = binding(vector) else { return Ok(false) };
    let got = run(engine, &vector["input"], &Settings::seed()).unwrap().map_err(|error| format!("{id}: {error:#}"))?;
    let steps = |answer: &Value| answer.get("steps").or(answer.get("results")).and_then(Value::as_array).cloned();
    let pairs = steps(&expected).unwrap_or_default().into_iter().zip(steps(&got).unwrap_or_default());
    let surplus =
        pairs.enumerate().find_map(|(i, (expected, got))| Some(format!("{i}: {}", surplus(&expected, &got)?)));
    match difference("", &expected, &got).or(surplus) {
        None => Ok(true),
        Some(difference) => Err(format!("{id}: {difference}")),
    }
}

#[test]
fn the_seed_preset_answers_as_the_vectors_do() {
    let (mut bound, mut failures) = (0, Vec::new());
    for name in NAMES {
        let path = format!("{}/fixtures/golden/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            match check(&serde_json::from_str(line).unwrap()) {
                Ok(binds) => bound += usize::from(binds),
                Err(failure) => failures.push(failure),
            }
        }
    }
    assert!(failures.is_empty(), "{} of {} differ:\n{}", failures.len(), bound + failures.len(), failures.join("\n"));
    assert!(bound >= 120, "only {bound} vectors bind");
}
