//! Any bytes are a record, several, or rejected with an offset inside of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llmverify::{
    reader::{Parsed, RecordReader},
    record::Entry,
};

fuzz_target!(|bytes: &[u8]| {
    let outcomes = match RecordReader::default().read(bytes) {
        Parsed::One(outcome) => vec![outcome],
        Parsed::Many(items) => items.into_iter().map(|item| item.outcome).collect(),
    };
    for outcome in outcomes {
        match outcome {
            Err(rejected) => assert!(rejected.byte <= bytes.len() && !rejected.reason.is_empty()),
            Ok(Entry::Fragment(_) | Entry::Ignored(_)) => {}
            Ok(Entry::Record(record)) => assert!(record.latency_ms.is_none_or(|ms| ms.is_finite() && ms >= 0.0)),
        }
    }
});
