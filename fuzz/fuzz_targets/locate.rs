//! A record is found below whatever is put around it, and any value beside it is looked through.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llmverify::reader::{Parsed, RecordReader, locate::DEPTH_MAX};
use serde_json::{Value, json};

fuzz_target!(|parts: (&[u8], &str)| {
    let (shapes, beside) = parts;
    let beside: Value = serde_json::from_str(beside).unwrap_or_default();
    let mut value = json!({ "prompt": "p", "response": "r" });
    for (depth, shape) in shapes.iter().take(DEPTH_MAX).enumerate() {
        // No writer has such a key.
        let key = format!("zz{depth}{}", shape >> 2);
        value = match shape % 4 {
            0 => json!({ key: value }),
            1 => json!({ key: value.to_string(), "n": 1 }),
            2 => json!({ key: [1, [value]] }),
            _ => json!({ key: [null, value, {}] }),
        };
    }
    let alone = value.to_string();
    let Parsed::One(Ok(entry)) = RecordReader::default().read(alone.as_bytes()) else { panic!("{alone}") };
    assert_eq!(entry.as_record().and_then(|record| record.response.as_deref()), Some("r"), "{alone}");
    let all = json!({ "zzz": value, "yyy": beside }).to_string();
    drop(RecordReader::default().read(all.as_bytes()));
});
