//! Output is a function of input and options: the same bytes for any number of threads and any batch size.

use std::process::Command;

const DEMO: &str = "fixtures/demo.jsonl";
const BAD: &str = "fixtures/bad_input.jsonl";

fn audit(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_llmverify"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["audit", "--isolated", DEMO, BAD])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.stdout.len() > 1000, "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn threads_and_batches_change_nothing() {
    for format in ["table", "json", "jsonl", "csv"] {
        let reference = audit(&["--format", format, "--threads", "1"]);
        for threads in ["1", "2", "7"] {
            for batch_bytes in ["1", "1048576"] {
                let output = audit(&["--format", format, "--threads", threads, "--batch-bytes", batch_bytes]);
                assert!(output == reference, "{format} differs with {threads} threads and batches of {batch_bytes}");
            }
        }
    }
}

#[test]
fn a_sample_is_the_same_whatever_the_batches() {
    for sample in ["50", "10%"] {
        let reference = audit(&["--sample", sample, "--threads", "1"]);
        let output = audit(&["--sample", sample, "--threads", "7", "--batch-bytes", "1"]);
        assert!(output == reference, "--sample {sample}");
    }
}
