//! Output is a function of input and options: the same bytes for any number of threads and any batch size.

use std::{fmt::Write as _, fs, process::Command};

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

/// Records that span units: the same bytes, whatever falls into one batch, and the same sample.
#[test]
fn what_is_put_together_is_the_same_whatever_the_batches() {
    let files = [
        "otel_events.jsonl",
        "chat_history.jsonl",
        "streams.jsonl",
        "batch_answers.jsonl",
        "claude_code.jsonl",
        "mcp.jsonl",
        "mcp_desktop.log",
        "codex.jsonl",
        "batch_requests.jsonl",
        "otel_spans.jsonl",
    ];
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_llmverify"))
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/assemble"))
            .args(["audit", "--isolated", "--format", "jsonl"])
            .args(files)
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.stdout.len() > 10_000, "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    for sample in [&[][..], &["--sample", "60%"]] {
        let reference = run(&[sample, &["--threads", "1"]].concat());
        for (threads, batch_bytes) in [("1", "1"), ("2", "700"), ("7", "5000"), ("7", "1")] {
            let output = run(&[sample, &["--threads", threads, "--batch-bytes", batch_bytes]].concat());
            assert!(output == reference, "{sample:?} differs with {threads} threads and batches of {batch_bytes}");
        }
    }
}

#[test]
fn threads_and_batches_change_no_report() {
    for format in ["html", "markdown", "sarif", "junit", "github", "gitlab", "prometheus"] {
        let reference = audit(&["--format", format, "--threads", "1"]);
        let output = audit(&["--format", format, "--threads", "7", "--batch-bytes", "1"]);
        assert!(output == reference, "{format} differs with 7 threads and small batches");
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

#[test]
fn streams_beyond_the_limit_are_the_same_whatever_the_batches() {
    const STREAMS: usize = 300;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let mut log = String::new();
    // Every model comes twice: first in order, then backwards in time and the last one first.
    for (model, second) in (0..STREAMS).map(|i| (i, 30)).chain((0..STREAMS).rev().map(|i| (i, 20))) {
        let time = format!("2026-01-01T00:00:{second}Z");
        writeln!(log, r#"{{"model": "m{model}", "timestamp": "{time}", "response": "Yes."}}"#).unwrap();
    }
    fs::write(&path, log).unwrap();
    let run = |threads, batch_bytes| {
        let output = Command::new(env!("CARGO_BIN_EXE_llmverify"))
            .args(["audit", "--isolated", "--format", "json", "--threads", threads, "--batch-bytes", batch_bytes])
            .arg(&path)
            .output()
            .unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let reference = run("1", "1048576");
    assert_eq!(reference["streams"].as_array().unwrap().len(), 200);
    assert_eq!(reference["other_streams"]["requests"], 200);
    assert_eq!(reference["other_streams"]["timestamps_backwards"], 100);
    assert_eq!(reference["input"]["timestamps_backwards"], 300);
    for (threads, batch_bytes) in [("1", "1"), ("2", "4000"), ("7", "100")] {
        assert!(run(threads, batch_bytes) == reference, "{threads} threads and batches of {batch_bytes}");
    }
}
