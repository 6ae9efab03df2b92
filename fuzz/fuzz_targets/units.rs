//! Any bytes are cut into units, the same whatever the size of a batch.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llmverify::input::{Limits, Reader};

fuzz_target!(|bytes: &[u8]| {
    let places = |batch_bytes| {
        let limits = Limits { batch_bytes, max_record_bytes: 1 << 12 };
        let mut reader = Reader::from_stream("fuzz", std::io::Cursor::new(bytes.to_vec()), limits);
        let batches = std::iter::from_fn(|| reader.next_batch());
        batches.flat_map(|batch| batch.units.into_iter().map(|unit| (unit.line, unit.byte))).collect::<Vec<_>>()
    };
    assert_eq!(places(1), places(1 << 16));
});
