//! Any text has features within their ranges, and excerpts that are safe to show.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llmverify::text::{Features, excerpt};

fuzz_target!(|text: &str| {
    let features = Features::of(text);
    assert!(features.entropy_bits.is_finite() && features.entropy_bits >= 0.0);
    assert!(features.words <= features.code_points);
    let shown = excerpt(text, 0..text.len(), &[]);
    assert!(!shown.contains(char::is_control));
});
