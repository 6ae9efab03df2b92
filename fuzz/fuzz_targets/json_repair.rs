//! Valid JSON is never changed, and what is mended parses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llmverify::engines::language::json_repair::{Settings, repair};

fuzz_target!(|text: &str| {
    let repaired = repair(text, &Settings::default());
    assert_eq!(repaired.succeeded, repaired.value.is_some());
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(text)
        && value.is_object()
    {
        assert_eq!(repaired.value, Some(value));
        assert!(repaired.steps.is_empty());
    }
});
