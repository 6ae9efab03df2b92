//! Any text has the same views every time, within the limits, and every byte of them leads back to characters of the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llmverify::text::decode::{VIEW_BYTES_MAX, VIEWS_MAX, views};

fuzz_target!(|text: &str| {
    let found = views(text);
    assert!(found.views.len() <= VIEWS_MAX);
    assert!(found.views.iter().map(|view| view.text.len()).sum::<usize>() <= VIEW_BYTES_MAX);
    for view in &found.views {
        let middle = view.text.len() / 2;
        for span in [0..view.text.len(), 0..middle, middle..view.text.len()] {
            assert!(text.get(view.original(span)).is_some(), "{:?}", view.steps);
        }
    }
});
