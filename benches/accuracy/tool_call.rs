//! Accuracy of `tool_call`: each item is an answer that calls functions, with their definitions; what counts is what the
//! engine `schema` says of the calls.
//!
//! The labels are those of the leaderboard's own checker, which compares with the arguments that were wanted. What a schema
//! can see of that are calls of functions that do not exist, and arguments that are missing, not declared, or of another type;
//! the other labels are about values, the number of calls, and the choice among the functions that exist.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::data::{Data, audit};

/// Faults that a schema can see, in the words of the checker.
const VISIBLE: [&str; 4] = ["missing_required", "unexpected_param", "type_error", "wrong_func_name"];

/// Measures and prints.
pub fn measure(data: &Data) {
    let Some(items) = data.items("tool_call", "bfcl_results") else { return };
    println!("tool_call: set, faults that a schema can see, alarms");
    let records: Vec<Value> = items.iter().map(record).collect();
    let (mut seen, mut visible, mut alarms, mut correct) = (0_usize, 0_usize, 0_usize, 0_usize);
    let mut others: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for (item, verdict) in items.iter().zip(audit(&records)) {
        let rules = rules(&verdict);
        let found = !rules.is_empty();
        let fault = fault(item);
        if item["label"] == 0 {
            correct += 1;
            alarms += usize::from(found);
        } else if VISIBLE.iter().any(|name| fault.contains(name)) {
            visible += 1;
            seen += usize::from(found);
        } else {
            let [times, of] = others.entry(fault).or_default();
            *times += usize::from(found);
            *of += 1;
            continue;
        }
        let is_wrong = (item["label"] == 0) == found;
        if is_wrong {
            println!("    {} {} {rules:?}", item["id"], item["meta"]["error"]);
        }
    }
    println!(
        "  bfcl_results: recall {seen}/{visible} ({:.3}), precision against right answers {:.3}, alarms in {alarms} of {correct} right answers",
        seen as f64 / visible.max(1) as f64,
        seen as f64 / (seen + alarms).max(1) as f64,
    );
    for (fault, [found, of]) in others {
        println!("    {fault}: findings in {found} of {of}");
    }
}

/// The answer as a record: the functions are what the model was offered.
fn record(item: &Value) -> Value {
    let definitions = item["context"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let tools = match definitions {
        Some(Value::Array(tools)) => Value::Array(tools),
        Some(tool) => json!([tool]),
        None => Value::Null,
    };
    json!({"id": item["id"], "model": "none", "prompt": item["prompt"], "tools": tools, "response": item["response"]})
}

fn rules(verdict: &Value) -> Vec<String> {
    let findings = verdict["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ours =
        findings.iter().filter_map(|finding| finding["rule"].as_str()).filter(|rule| rule.starts_with("schema/"));
    ours.map(str::to_owned).collect()
}

/// What the checker says is wrong; where it tried several functions, what it says of each.
fn fault(item: &Value) -> String {
    let kind = item["meta"]["error_type"].as_str().unwrap_or_default();
    let error = item["meta"]["error"].as_str().unwrap_or_default();
    if !kind.contains("cannot_find_match") {
        return kind.to_owned();
    }
    let visible = VISIBLE.iter().find(|name| error.contains(**name));
    match visible {
        // "Wrong" is also a function that is declared where another one was wanted.
        Some(name) if *name == "wrong_func_name" && !calls_undeclared(item) => format!("{kind}:other_function"),
        Some(name) => format!("{kind}:{name}"),
        None => kind.to_owned(),
    }
}

/// Whether the answer names none of the functions that the item declares; in names, models take underscores for points.
fn calls_undeclared(item: &Value) -> bool {
    let [context, response] = ["context", "response"].map(|field| item[field].as_str().unwrap_or_default());
    !declared(context).iter().any(|name| response.contains(name.as_str()) || response.contains(&name.replace('.', "_")))
}

fn declared(context: &str) -> Vec<String> {
    let tools: Value = serde_json::from_str(context).unwrap_or_default();
    let names = |tool: &Value| tool["name"].as_str().map(str::to_owned);
    tools
        .as_array()
        .map_or_else(|| names(&tools).into_iter().collect(), |tools| tools.iter().filter_map(names).collect())
}
