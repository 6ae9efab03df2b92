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

/// What checks expect of groups, and which of too many groups are told apart.
#[test]
fn threads_and_batches_change_no_check() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("checks.toml");
    fs::write(
        &config,
        "[[check]]\nname = 'slow'\nexpect = 'p95_latency_ms < 900'\ngroup_by = 'id'\nmin_records = 1\n\
         [[check]]\nname = 'long'\nmax_words = 60\n[[check]]\nname = 'mean'\nexpect = 'mean_latency_ms < 1'\ngroup_by = 'session'\n",
    )
    .unwrap();
    let log = folder.path().join("log.jsonl");
    let mut lines = String::new();
    for i in 0..1_500 {
        let (id, latency) = (i * 7919 % 1_009, 800 + i % 300);
        let _ = writeln!(
            lines,
            "{{\"id\":\"{id}\",\"model\":\"m\",\"session_id\":\"s{}\",\"response\":\"It left today.\",\"latency_ms\":{latency}}}",
            i % 3
        );
    }
    fs::write(&log, lines).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_llmverify"))
            .args(["audit", "--format", "json", "--config", config.to_str().unwrap(), log.to_str().unwrap()])
            .args(arguments)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let reference = run(&["--threads", "1"]);
    assert!(reference.contains("check_groups") && reference.contains("(others)"), "{reference}");
    for (threads, batch_bytes) in [("1", "1"), ("2", "700"), ("7", "5000")] {
        let output = run(&["--threads", threads, "--batch-bytes", batch_bytes]);
        assert!(output == reference, "differs with {threads} threads and batches of {batch_bytes}");
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
