//! Any text is a configuration or an error that names the file.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use llmverify::config::Layers;

fuzz_target!(|text: &str| {
    match Layers::parse(text, Path::new("llmverify.toml")) {
        Ok(layers) => drop(layers.settings()),
        Err(error) => assert!(error.to_string().starts_with("llmverify.toml")),
    }
});
