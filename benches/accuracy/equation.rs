//! Accuracy of `equation`: each item is an answer; what counts is where the engine `arithmetic` says that it is wrong.

use serde_json::{Value, json};

use crate::data::{Data, audit};

/// Measures and prints.
pub fn measure(data: &Data) {
    println!("equation: set, findings where they should be, records with any other");
    for name in ["gsm8k_gold", "gsm8k_planted", "gsm8k_model"] {
        if let Some(items) = data.items("equation", name) {
            by_span(name, &items);
        }
    }
    if let Some(items) = data.items("equation", "bigbench_mistake_arithmetic") {
        by_first_line(&items);
    }
    if let Some(items) = data.items("traffic", "arena_hard_answers") {
        on_traffic(&items);
    }
}

fn verdicts(items: &[Value], key: &str) -> Vec<Value> {
    let records: Vec<Value> = items
        .iter()
        .map(|item| json!({"id": item["id"], "model": "none", "prompt": "?", "response": item[key]}))
        .collect();
    audit(&records)
}

/// The spans of findings, in characters, as the data counts.
fn found(verdict: &Value, text: &str) -> Vec<(usize, usize)> {
    let characters =
        |byte: &Value| text[..(byte.as_u64().unwrap_or_default() as usize).min(text.len())].chars().count();
    let findings = verdict["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ours =
        findings.iter().filter(|finding| finding["rule"].as_str().is_some_and(|rule| rule.starts_with("arithmetic/")));
    ours.map(|finding| (characters(&finding["start"]), characters(&finding["end"]))).collect()
}

fn spans(item: &Value) -> Vec<(usize, usize)> {
    let at = |value: &Value| value.as_u64().unwrap_or_default() as usize;
    let spans = item["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
    spans.iter().map(|span| (at(&span[0]), at(&span[1]))).collect()
}

/// Exact spans of all that are marked, and records with a finding beside them.
fn by_span(name: &str, items: &[Value]) {
    let (mut right, mut marked, mut others, mut scored) = (0_usize, 0_usize, 0_usize, 0_usize);
    for (item, verdict) in items.iter().zip(verdicts(items, "text")) {
        if item["label"].is_null() {
            continue;
        }
        let found = found(&verdict, item["text"].as_str().unwrap_or_default());
        let spans = spans(item);
        right += spans.iter().filter(|span| found.contains(span)).count();
        marked += spans.len();
        others += usize::from(found.iter().any(|span| !spans.contains(span)));
        scored += 1;
    }
    println!(
        "  {name}: exact spans {right}/{marked} ({:.3}), other findings in {others} of {scored} records",
        share(right, marked)
    );
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// The first finding lies in the first wrong line.
fn by_first_line(items: &[Value]) {
    let (mut right, mut wrong, mut alarms, mut sound) = (0_usize, 0_usize, 0_usize, 0_usize);
    for (item, verdict) in items.iter().zip(verdicts(items, "text")) {
        let found = found(&verdict, item["text"].as_str().unwrap_or_default());
        match spans(item).first() {
            Some((start, end)) => {
                wrong += 1;
                right += usize::from(found.first().is_some_and(|first| first.0 >= *start && first.1 <= *end));
            }
            None => {
                sound += 1;
                alarms += usize::from(!found.is_empty());
            }
        }
    }
    println!(
        "  bigbench_mistake_arithmetic: first wrong line {right}/{wrong} ({:.3}), findings in {alarms} of {sound} without a mark",
        share(right, wrong)
    );
}

/// Answers of ordinary traffic: every finding is printed with what the engine says of it, for a person to judge.
fn on_traffic(items: &[Value]) {
    let mut count = 0;
    for verdict in verdicts(items, "response") {
        for finding in verdict["findings"].as_array().map(Vec::as_slice).unwrap_or_default() {
            if finding["rule"].as_str().is_some_and(|rule| rule.starts_with("arithmetic/")) {
                count += 1;
                println!("    {} {}", verdict["id"], finding["detail"]);
            }
        }
    }
    println!("  arena_hard_answers: {count} findings in {} answers", items.len());
}
