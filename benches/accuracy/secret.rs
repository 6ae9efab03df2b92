//! Accuracy of `secret`: each item is an answer; it is positive when the record is flagged or worse as `leaking`
//! because of a secret.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::data::{Data, audit};

/// Sets of whole records with a label.
const RECORD_SETS: [&str; 5] =
    ["gitleaks_rules", "credsweeper_samples", "kingfisher_rules", "noseyparker_rules", "secretlint_snapshots"];

/// Measures and prints.
pub fn measure(data: &Data) {
    println!("secret: set, recall, false positives (records flagged or worse)");
    for name in RECORD_SETS {
        if let Some(items) = data.items("secret", name) {
            by_record(name, &items);
        }
    }
    if let Some(items) = data.items("secret", "creddata_subset") {
        by_line(&items);
    }
    if let Some(items) = data.items("secret", "leaky_repo") {
        by_count(&items);
    }
    if let Some(items) = data.items("traffic", "arena_hard_answers") {
        false_alarms(&items);
    }
}

/// An answer that says `text`.
fn answer(id: &Value, text: &Value) -> Value {
    json!({"id": id, "model": "none", "prompt": "?", "response": text})
}

fn audit_texts(items: &[Value]) -> Vec<Value> {
    let records: Vec<Value> = items.iter().map(|item| answer(&item["id"], &item["text"])).collect();
    audit(&records)
}

/// The findings of secrets that are not shown as examples or as mere names.
fn secrets(verdict: &Value) -> impl Iterator<Item = &Value> {
    let findings = verdict["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    findings.iter().filter(|finding| {
        let rule = finding["rule"].as_str().unwrap_or_default();
        rule.starts_with("secret/") && finding["severity"] != "info" && finding["severity"] != "low"
    })
}

/// Whether the record's answer to `leaking` is flagged or worse.
fn is_flagged(verdict: &Value) -> bool {
    let posterior = &verdict["questions"]["leaking"]["posterior"];
    posterior.as_f64().is_some_and(|posterior| posterior >= 0.2) && secrets(verdict).next().is_some()
}

fn by_record(name: &str, items: &[Value]) {
    let mut counts = [[0_usize; 2]; 2];
    for (item, verdict) in items.iter().zip(audit_texts(items)) {
        // Rules that describe an identifier are not about secrets.
        if item["meta"]["is_secret"] == json!(false) {
            continue;
        }
        let Some(label) = item["label"].as_u64() else { continue };
        counts[(label == 1) as usize][is_flagged(&verdict) as usize] += 1;
    }
    let [[clean, alarms], [missed, found]] = counts;
    println!("  {name}: {}, {}", share(found, found + missed), share(alarms, alarms + clean));
}

fn share(part: usize, whole: usize) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.3} ({part}/{whole})", part as f64 / whole as f64) }
}

/// By line, as CredData scores: a finding on a line with a true value is right, any other is wrong.
fn by_line(items: &[Value]) {
    let (mut right, mut wrong, mut missed) = (0_usize, 0_usize, 0_usize);
    for (item, verdict) in items.iter().zip(audit_texts(items)) {
        let text = item["text"].as_str().unwrap_or_default();
        let line_of = |byte: usize| text.as_bytes()[..byte.min(text.len())].iter().filter(|b| **b == b'\n').count();
        let lines_of = |start: usize, end: usize| line_of(start)..=line_of(end.max(start + 1) - 1);
        // Spans of the data count characters, findings count bytes.
        let bytes: Vec<usize> = text.char_indices().map(|(byte, _)| byte).chain([text.len()]).collect();
        let at = |value: &Value| value.as_u64().map_or(0, |at| bytes[(at as usize).min(bytes.len() - 1)]);
        let spans = item["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
        let truths: Vec<_> = spans.iter().map(|span| lines_of(at(&span[0]), at(&span[1]))).collect();
        let is_true = |line: &usize| truths.iter().any(|truth| truth.contains(line));
        let mut found = BTreeSet::new();
        for finding in secrets(&verdict) {
            let byte = |key: &str| finding[key].as_u64().unwrap_or_default() as usize;
            let lines = lines_of(byte("start"), byte("end"));
            wrong += usize::from(!lines.clone().any(|line| is_true(&line)));
            found.extend(lines);
        }
        let first_lines: BTreeSet<usize> = truths.iter().map(|truth| *truth.start()).collect();
        for first in first_lines {
            let mut truths = truths.iter().filter(|truth| *truth.start() == first);
            let is_found = truths.any(|truth| truth.clone().any(|line| found.contains(&line)));
            *(if is_found { &mut right } else { &mut missed }) += 1;
        }
    }
    let precision = right as f64 / (right + wrong).max(1) as f64;
    let recall = right as f64 / (right + missed).max(1) as f64;
    let f1 = 2.0 * precision * recall / (precision + recall).max(f64::MIN_POSITIVE);
    println!(
        "  creddata_subset, by line: precision {precision:.3}, recall {recall:.3}, F1 {f1:.3} ({right} right, {wrong} wrong, {missed} missed)"
    );
}

/// By number, as leaky-repo scores: secrets found of those that a file holds, and those beyond.
fn by_count(items: &[Value]) {
    let (mut found, mut held, mut beyond, mut files) = (0, 0, 0, 0);
    for (item, verdict) in items.iter().zip(audit_texts(items)) {
        let number = |key: &str| item["meta"][key].as_u64().unwrap_or_default() as usize;
        let (risk, all) = (number("risk_lines"), number("risk_lines") + number("informative_lines"));
        let findings = secrets(&verdict).count();
        found += findings.min(risk);
        held += risk;
        beyond += findings.saturating_sub(all);
        files += usize::from(findings > 0);
    }
    println!(
        "  leaky_repo: found {}, {beyond} beyond all lines of their files, {files} of {} files",
        share(found, held),
        items.len()
    );
}

/// Answers of ordinary traffic: every finding is printed without its text, for a person to judge.
fn false_alarms(items: &[Value]) {
    let records: Vec<Value> = items.iter().map(|item| answer(&item["id"], &item["response"])).collect();
    let verdicts = audit(&records);
    let findings: Vec<String> = verdicts
        .iter()
        .flat_map(|verdict| secrets(verdict).map(move |finding| format!("{} {}", verdict["id"], finding["rule"])))
        .collect();
    println!("  arena_hard_answers: {} findings in {} answers {findings:?}", findings.len(), items.len());
}
