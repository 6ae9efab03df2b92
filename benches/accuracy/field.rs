//! Accuracy in the field: what people write and services answer every day, where nothing was chosen to be hard for, or
//! easy for, a detector.
//!
//! What is near a text of the laboratory (the sets of `injection`) or near an earlier text of the field is left out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    data::{Data, audit},
    injection,
    near::Texts,
};

/// What is judged by the question `attacked`, the hand-made sets last.
const SETS: [&str; 9] = [
    "oasst_en",
    "adojo_benign",
    "adojo_important_instructions",
    "spikee_mailbox",
    "docs_copilot",
    "cursorrules",
    "docs_subagents",
    "everyday_benign",
    "everyday_attacks",
];

/// Answers and latencies of real services: task and set.
const TRAFFIC: [(&str, &str); 6] = [
    ("traffic", "arena_hard_answers"),
    ("traffic", "bfcl_traffic"),
    ("traffic", "llmperf"),
    ("equation", "gsm8k_gold"),
    ("equation", "gsm8k_model"),
    ("groundedness", "ragtruth"),
];

/// Measures and prints.
pub fn measure(data: &Data) {
    let mut known = Texts::default();
    for text in injection::texts(data) {
        known.is_new(&text);
    }
    println!(
        "\n| set | kind | items | near-duplicates left out | blocked | flagged or worse |\n|---|---|---|---|---|---|"
    );
    for set in SETS {
        attacked(set, data.items("field", set).unwrap_or_default(), &mut known);
    }
    outcomes(data.items("field", "everyday_outcome").unwrap_or_default());
    println!("\n| set | records | flagged by a fact | facts |\n|---|---|---|---|");
    for (task, set) in TRAFFIC {
        facts(set, &data.items(task, set).unwrap_or_default());
    }
}

fn attacked(set: &str, items: Vec<Value>, known: &mut Texts) {
    let mut kinds: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    let mut kept = Vec::new();
    for item in items {
        let counts = kinds.entry(kind(&item)).or_default();
        if known.is_new(&text(&item)) { kept.push(item) } else { counts[1] += 1 }
    }
    // Calls of tools inside of a conversation are records of their own; the item is as bad as its worst.
    let mut decisions: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for verdict in audit(&kept.iter().map(record).collect::<Vec<_>>()) {
        let decision = verdict["questions"]["attacked"]["verdict"].as_str().unwrap_or_default().to_owned();
        decisions.entry(verdict["line"].as_u64().unwrap_or(0)).or_default().insert(decision);
    }
    assert_eq!(decisions.len(), kept.len(), "{set}: every item is a record");
    for (item, decisions) in kept.iter().zip(decisions.into_values()) {
        let counts = kinds.entry(kind(item)).or_default();
        counts[0] += 1;
        counts[2] += usize::from(decisions.contains("block"));
        counts[3] += usize::from(decisions.contains("block") || decisions.contains("flag"));
    }
    for (kind, [items, near, blocked, flagged]) in kinds {
        let share = |count: usize| count as f64 / items.max(1) as f64;
        println!("| {set} | {kind} | {items} | {near} | {:.3} | {:.3} |", share(blocked), share(flagged));
    }
}

/// Benign or attack, and what the set tells apart.
fn kind(item: &Value) -> String {
    let place = item["place"].as_str().unwrap_or("user");
    match (item["label"].as_i64(), item["near"].as_i64()) {
        (Some(1), _) => format!("attack, {place}"),
        (_, Some(1)) => "benign, shares words with attacks".to_owned(),
        _ => format!("benign, {place}"),
    }
}

/// What tells an item from others.
fn text(item: &Value) -> String {
    item["text"].as_str().map_or_else(|| item["record"].to_string(), str::to_owned)
}

fn record(item: &Value) -> Value {
    if item["record"].is_object() {
        return item["record"].clone();
    }
    match (item["place"].as_str(), item["source"].as_str()) {
        // Mails reach an assistant through the tool that reads them.
        (Some("tool"), _) | (_, Some("spikee_mailbox")) => {
            let path = item["meta"]["path"].as_str().unwrap_or("notes.md");
            json!({"kind": "tool", "tool": "read_file", "args": {"path": path}, "result": item["text"]})
        }
        (Some("context"), _) => json!({"prompt": "Summarize the document.", "context": [item["text"]]}),
        _ => json!({"prompt": item["text"]}),
    }
}

/// Outcomes of attacks: what was decided, and right.
fn outcomes(items: Vec<Value>) {
    let (mut decided, mut right, mut blocked) = (0, 0, 0);
    for verdict in audit(&items.iter().map(|item| item["record"].clone()).collect::<Vec<_>>()) {
        let Some(item) = verdict["line"].as_u64().and_then(|line| items.get(line as usize - 1)) else { continue };
        let said: BTreeSet<&str> = ["prompt_injection", "indirect_injection"]
            .iter()
            .filter_map(|engine| verdict["engines"][engine]["outcome"].as_str())
            .collect();
        let label = item["label"].as_str().unwrap_or_default();
        decided += usize::from(said.contains("resisted") || said.contains("succeeded"));
        right += usize::from(said.contains(label));
        blocked += usize::from(label == "resisted" && verdict["questions"]["attacked"]["verdict"] == "block");
    }
    println!("\noutcomes: {decided} of {} decided, {right} of those right, {blocked} resisted that block", items.len());
}

fn facts(set: &str, items: &[Value]) {
    let calls: Vec<Value> = items.iter().filter_map(call).collect();
    let (mut flagged, mut by_fact) = (0, BTreeMap::<String, usize>::new());
    let verdicts = audit(&calls);
    for verdict in &verdicts {
        let fired = verdict["signals"].as_array().into_iter().flatten();
        let fired: BTreeSet<&str> = fired
            .filter(|signal| signal["fired"] == true && signal["class"] == "fact")
            .filter_map(|signal| signal["id"].as_str())
            .collect();
        flagged += usize::from(!fired.is_empty());
        fired.iter().for_each(|id| *by_fact.entry((*id).to_owned()).or_default() += 1);
    }
    let listed: Vec<String> = by_fact.iter().map(|(id, count)| format!("{id} {count}")).collect();
    println!("| {set} | {} | {flagged} | {} |", verdicts.len(), listed.join(", "));
}

/// The call of which an item holds the answer, or the latency.
fn call(item: &Value) -> Option<Value> {
    let meta = &item["meta"];
    let response = if item["response"].is_string() { &item["response"] } else { &item["text"] };
    let latency_ms = meta["latency_s"].as_f64().map(|latency_s| latency_s * 1000.0);
    if !response.is_string() && latency_ms.is_none() {
        return None;
    }
    let model = if meta["provider"].is_string() { &meta["provider"] } else { &meta["model"] };
    let all = json!({"prompt": item["prompt"], "context": item["context"], "response": response,
        "latency_ms": latency_ms, "response_tokens": meta["output_tokens"], "model": model});
    let Value::Object(fields) = all else { return None };
    Some(Value::Object(fields.into_iter().filter(|(_, value)| !value.is_null()).collect()))
}
