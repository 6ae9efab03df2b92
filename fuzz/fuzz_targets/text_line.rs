//! Any line of text is read or rejected, and a record behind some words is found.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llmverify::{
    reader::{Parsed, RecordReader},
    record::{Entry, Note},
};
use serde_json::json;

fuzz_target!(|parts: (&str, &str)| {
    let (prefix, prompt) = parts;
    let line = format!("{prefix}{}", json!({ "prompt": prompt, "response": "r" }));
    let parsed = RecordReader::default().read(line.as_bytes());
    // A line of words, which are no field of a stream, no literal and no mark of a log.
    let has_words_only = prefix.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ') && !prefix.trim().is_empty();
    if !has_words_only || prefix.len() >= 1_024 {
        return;
    }
    let Parsed::One(Ok(Entry::Record(record))) = parsed else { panic!("{line}") };
    assert!(record.notes.has(Note::Wrapped) && record.response.as_deref() == Some("r"), "{line}");
});
