//! A literal of Python is read as the JSON of the same value, and any text in the place of one is read or rejected.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llmverify::{
    reader::{Parsed, RecordReader},
    record::{Entry, Note},
};
use serde_json::{Value, json};

fuzz_target!(|text: &str| {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        let unit = format!("{{'prompt': {text}}}");
        if let Parsed::One(Err(rejected)) = RecordReader::default().read(unit.as_bytes()) {
            assert!(rejected.byte <= unit.len() && !rejected.reason.is_empty());
        }
        return;
    };
    let value = json!({ "prompt": "p", "response": value });
    let (literal, json) = (repr(&value), value.to_string());
    let read = |unit: &str| match RecordReader::default().read(unit.as_bytes()) {
        Parsed::One(Ok(Entry::Record(mut record))) => {
            record.notes.remove(Note::PythonLiteral);
            Some(record.into_owned())
        }
        _ => None,
    };
    assert_eq!(read(&literal), read(&json), "{literal}");
});

/// The value as Python would show it, with an escape for whatever is no letter or digit.
fn repr(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            let escaped = text.chars().map(|c| match c.is_ascii_alphanumeric() {
                true => c.to_string(),
                false => format!("\\U{:08x}", c as u32),
            });
            format!("'{}'", escaped.collect::<String>())
        }
        Value::Array(items) => format!("[{}]", list(items.iter().map(repr).collect())),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| format!("{}: {}", repr(&json!(key)), repr(value));
            format!("{{{}}}", list(entries.iter().map(entry).collect()))
        }
    }
}
