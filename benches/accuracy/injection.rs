//! Accuracy of `injection`: recall and false alarms per set, and how far thresholds carry to sources left out.
//!
//! A set with an operator's prompt (CyberSecEval, Tensor Trust) has it in `system`; one with a document has it in
//! `context`. What counts is the decision on `attacked`.

use serde_json::{Value, json};

use crate::{
    data::{Data, audit},
    near::Texts,
};

/// The sources of real prompts, which are pooled.
const POOL: [(&str, &str); 4] = [
    ("injection", "benign_prompts"),
    ("injection", "ifeval_benign"),
    ("injection", "wildguard_benign"),
    ("traffic", "arena_hard_answers"),
];

/// The other sets.
const SETS: [&str; 12] = [
    "notinject",
    "spikee_targeted_2024_12",
    "jailbreaks_in_the_wild",
    "garak_attacks",
    "tensortrust",
    "deepset_prompt_injections",
    "cyberseceval_injection",
    "gptfuzzer",
    "openai_guardrails_demo",
    "xstest",
    "cyberseceval_frr",
    "bipia",
];

/// Shares of the pooled benign prompts that lie above a cut, at which the cut is carried over to what is left out.
const NOMINAL: [f64; 4] = [0.003, 0.005, 0.007, 0.01];

/// One item, as the audit saw it.
struct Seen {
    set: &'static str,
    /// Items that share one are one family of attacks.
    kind: String,
    label: i64,
    points: f64,
    is_flagged: bool,
    is_blocked: bool,
}

/// Measures and prints.
pub fn measure(data: &Data) {
    let mut known = Texts::default();
    let mut left_out = 0;
    let mut distinct = |items: Vec<Value>| -> Vec<Value> {
        let all = items.len();
        let items: Vec<Value> = items.into_iter().filter(|item| known.is_new(text_of(item))).collect();
        left_out += all - items.len();
        items
    };
    let pool: Vec<Seen> =
        POOL.iter().flat_map(|(task, set)| see(set, distinct(data.items(task, set).unwrap_or_default()))).collect();
    let sets: Vec<Seen> =
        SETS.iter().flat_map(|set| see(set, distinct(data.items("injection", set).unwrap_or_default()))).collect();

    println!("\n{left_out} items are near-duplicates of earlier ones, and left out.");
    println!("\n| set | items | blocked | flagged or worse |\n|---|---|---|---|");
    for (_, set) in POOL {
        row(&format!("{set} (benign)"), pool.iter().filter(|seen| seen.set == set));
    }
    row("pooled benign", pool.iter());
    for set in SETS {
        row(&format!("{set}, attacks"), sets.iter().filter(|seen| seen.set == set && seen.label == 1));
        row(&format!("{set}, benign"), sets.iter().filter(|seen| seen.set == set && seen.label == 0));
    }
    let direct = |seen: &&Seen| seen.set == "cyberseceval_injection" && seen.kind == "en direct";
    row("cyberseceval_injection, English direct", sets.iter().filter(direct));

    println!("\nCuts at a share of the pooled benign prompts, and recall there:");
    let cuts = NOMINAL.map(|share| cut(pool.iter(), share));
    println!("| set | {} |", NOMINAL.map(|share| format!("{:.1}%", share * 100.0)).join(" | "));
    println!("| points | {} |", cuts.map(|cut| format!("{cut:.2}")).join(" | "));
    for set in SETS {
        let attacks = || sets.iter().filter(|seen| seen.set == set && seen.label == 1);
        if attacks().next().is_some() {
            println!("| {set} | {} |", cuts.map(|cut| format!("{:.3}", share_above(attacks(), cut))).join(" | "));
        }
    }
    println!("\nCuts from the other sources, share of the one left out above them:");
    for (_, left_out) in POOL {
        let cuts = NOMINAL.map(|share| cut(pool.iter().filter(|seen| seen.set != left_out), share));
        let own = || pool.iter().filter(|seen| seen.set == left_out);
        println!("| {left_out} | {} |", cuts.map(|cut| format!("{:.4}", share_above(own(), cut))).join(" | "));
    }
}

fn see(set: &'static str, items: Vec<Value>) -> Vec<Seen> {
    let scored: Vec<Value> =
        items.into_iter().filter(|item| !(item["label"].is_null() && item["text"].is_string())).collect();
    let verdicts = audit(&scored.iter().map(|item| record(set, item)).collect::<Vec<_>>());
    assert_eq!(verdicts.len(), scored.len(), "{set}: every item is a record");
    let seen = scored.iter().zip(verdicts).map(|(item, verdict)| {
        let decision = verdict["questions"]["attacked"]["verdict"].as_str().unwrap_or_default().to_owned();
        Seen {
            set,
            kind: kind(item),
            label: item["label"].as_i64().unwrap_or(0),
            points: verdict["engines"]["prompt_injection"]["value"].as_f64().unwrap_or(0.0) * 16.0,
            is_flagged: decision == "flag" || decision == "block",
            is_blocked: decision == "block",
        }
    });
    seen.collect()
}

/// The texts of all sets.
pub fn texts(data: &Data) -> Vec<String> {
    let sets = POOL.into_iter().chain(SETS.map(|set| ("injection", set)));
    let items = sets.flat_map(|(task, set)| data.items(task, set).unwrap_or_default());
    items.map(|item| text_of(&item).to_owned()).collect()
}

fn text_of(item: &Value) -> &str {
    item["text"].as_str().or(item["prompt"].as_str()).unwrap_or_default()
}

fn record(set: &str, item: &Value) -> Value {
    let mut record = json!({"id": item["id"], "prompt": text_of(item)});
    if let Some(context) = item["context"].as_str() {
        let field = if matches!(set, "cyberseceval_injection" | "tensortrust") { "system" } else { "context" };
        record[field] = context.into();
    }
    record
}

fn kind(item: &Value) -> String {
    let meta = &item["meta"];
    let of = |key: &str| meta[key].as_str().unwrap_or_default();
    let how = if of("type").is_empty() { of("category") } else { of("type") };
    format!("{} {how}", of("lang"))
}

fn row<'s>(name: &str, seen: impl Iterator<Item = &'s Seen>) {
    let (mut items, mut blocked, mut flagged) = (0, 0, 0);
    for seen in seen {
        items += 1;
        blocked += usize::from(seen.is_blocked);
        flagged += usize::from(seen.is_flagged);
    }
    if items > 0 {
        let share = |count: usize| count as f64 / items as f64;
        println!("| {name} | {items} | {:.4} | {:.4} |", share(blocked), share(flagged));
    }
}

/// The least points that at most `share` of `seen` lie above.
fn cut<'s>(seen: impl Iterator<Item = &'s Seen>, share: f64) -> f64 {
    let mut points: Vec<f64> = seen.map(|seen| seen.points).collect();
    points.sort_by(|a, b| b.total_cmp(a));
    points.get((share * points.len() as f64) as usize).copied().unwrap_or(0.0)
}

fn share_above<'s>(seen: impl Iterator<Item = &'s Seen>, cut: f64) -> f64 {
    let (mut items, mut above) = (0_usize, 0_usize);
    for seen in seen {
        items += 1;
        above += usize::from(seen.points > cut);
    }
    if items == 0 { 0.0 } else { above as f64 / items as f64 }
}
