//! JSON: how often the repair gives the value that the tests of two libraries expect, and the verdicts of JSONTestSuite.

use llmverify::{
    engines::language::json_repair::{Settings, repair},
    record::json::Json,
};
use serde_json::Value;

use super::data::Data;

/// Prints the figures.
pub fn measure(data: &Data) {
    println!("\n## JSON\n");
    println!("| tests of | the expected value | share |\n|---|---|---|");
    for name in ["json_repair_py_tests", "jsonrepair_js_tests"] {
        let Some(items) = data.items("json_repair", name) else { continue };
        let broken: Vec<&Value> = items.iter().filter(|item| item["label"] == 1 && has_value(item)).collect();
        let as_expected = broken.iter().filter(|item| {
            let text = item["text"].as_str().unwrap_or_default();
            repair(text, &Settings::default())
                .value
                .is_some_and(|value| is_equal(&value, &item["meta"]["expected_value"]))
        });
        let count = as_expected.count();
        println!("| {name} | {count} of {} | {:.2} |", broken.len(), count as f64 / broken.len() as f64);
    }
    let Some(items) = data.items("json_repair", "jsontestsuite") else { return };
    let mut verdicts = [[0; 2]; 2];
    for item in items.iter().filter(|item| item["label"].is_number()) {
        let bytes = bytes_of(item);
        let is_read = Json::parse(&bytes).is_ok();
        verdicts[usize::from(item["label"] == 1)][usize::from(is_read)] += 1;
    }
    let [[lost, accepted], [rejected, wrong]] = verdicts;
    println!(
        "\nJSONTestSuite: {accepted} of {} accepted, {rejected} of {} rejected",
        accepted + lost,
        rejected + wrong
    );
}

fn has_value(item: &Value) -> bool {
    item["meta"].get("expected_value").is_some()
}

/// Numbers are equal by value: 2 is 2.0.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| is_equal(value, other)))
        }
        _ => one == other,
    }
}

/// The text, or the bytes that are no text.
fn bytes_of(item: &Value) -> Vec<u8> {
    let encoded = item["meta"]["base64"].as_str();
    match encoded.and_then(|encoded| data_encoding::BASE64.decode(encoded.as_bytes()).ok()) {
        Some(bytes) => bytes,
        None => item["text"].as_str().unwrap_or_default().as_bytes().to_vec(),
    }
}
