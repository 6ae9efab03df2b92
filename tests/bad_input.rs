//! Bad input is data: each fault is named with its place, the records around it are audited, the ledger adds up.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A record that nothing is wrong with.
const SOUND: &str = r#"{"id": "sound", "model": "m", "prompt": "Say hello.", "response": "Hello!", "latency_ms": 5}"#;

fn llmverify(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llmverify"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).env("NO_COLOR", "1");
    command
}

fn audit(paths: &[&Path], arguments: &[&str]) -> (Value, Output) {
    let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    let output = llmverify(&["audit", "--isolated", "--format", "json", "--records", "all"])
        .args(paths)
        .args(arguments)
        .output()
        .unwrap();
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (report, output)
}

fn ledger(report: &Value, part: &str) -> u64 {
    report["input"][part].as_u64().unwrap_or_else(|| panic!("no {part}"))
}

/// The sum that must hold, whatever was read.
#[track_caller]
fn assert_adds_up(report: &Value) {
    let parts = ["audited", "feedback", "merged", "parent", "rejected", "skipped"];
    let sum: u64 = parts.iter().map(|part| ledger(report, part)).sum();
    assert_eq!(sum, ledger(report, "units"), "{}", report["input"]);
    assert_eq!(report["input"]["ledger_adds_up"], true);
    assert_eq!(report["records"].as_array().unwrap().len() as u64, ledger(report, "audited"));
}

/// Audits `bad` between two sound lines: they must be audited, and `bad` must be told as `expected`: how many units are
/// rejected, how many are read in part, and what the warning says.
#[track_caller]
fn check(bad: &[u8], (rejected, partial): (u64, u64), warning: &str) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("log.jsonl");
    fs::write(&path, [SOUND.as_bytes(), b"\n", bad, b"\n", SOUND.as_bytes(), b"\n"].concat()).unwrap();
    let (report, output) = audit(&[&path], &[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_adds_up(&report);
    assert_eq!((ledger(&report, "rejected"), ledger(&report, "partially_read")), (rejected, partial), "{stderr}");
    let sound = report["records"].as_array().unwrap().iter().filter(|record| record["id"] == "sound").count();
    assert_eq!(sound, 2, "the records around it are audited: {stderr}");
    if rejected + partial > 0 {
        let place = format!("{}:2 (byte ", path.display());
        assert!(stderr.contains(&place) && stderr.contains(warning), "{stderr}");
        assert_eq!(output.status.code(), Some(3), "not everything could be read");
    } else {
        assert_eq!(output.status.code(), Some(0), "{stderr}");
    }
}

const REJECTED: (u64, u64) = (1, 0);
const PARTIAL: (u64, u64) = (0, 1);
const FINE: (u64, u64) = (0, 0);

#[test]
fn what_is_not_a_record_is_rejected() {
    check(br#"{"prompt": "a", "response": "b"#, REJECTED, "ends inside of a string");
    check(br#"{"prompt": "a", "response""#, REJECTED, "ends");
    check(b"42", REJECTED, "not a JSON object but a number");
    check(b"\"text\"", REJECTED, "not a JSON object but a string");
    check(b"null", REJECTED, "not a JSON object");
    check(b"[1, 2]", (2, 0), "not a JSON object but a number");
    check(b"plain text", REJECTED, "not a JSON object but text");
    check(b"{}", REJECTED, "field");
    check(br#"{"unheard": 1}"#, REJECTED, "--map");
    check(b"\0\0\0", REJECTED, "NUL");
    check(b"{\"prompt\": \"a\0b\", \"response\": \"c\"}", REJECTED, "NUL");
    check(br#"{"response": "a", "response": "b"}"#, REJECTED, "duplicate key `response`");
    let deep = format!("{{\"prompt\": {}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    check(deep.as_bytes(), REJECTED, "nested more than 127 levels deep");
}

#[test]
fn what_can_be_read_in_part_is_audited_with_a_note() {
    check(br#"{"response": "a", "latency_ms": NaN}"#, PARTIAL, "NaN");
    check(br#"{"response": "a", "latency_ms": -5}"#, PARTIAL, "latency_ms is negative");
    check(br#"{"response": "a", "latency_ms": 1e999}"#, PARTIAL, "latency_ms");
    check(br#"{"response": "a", "latency_ms": "soon"}"#, PARTIAL, "latency_ms");
    check(br#"{"response": "half \ud83d a pair"}"#, PARTIAL, "surrogate");
    check(b"{\"response\": \"caf\xe9\"}", PARTIAL, "UTF-8");
}

#[test]
fn what_only_looks_odd_is_read() {
    check(b"", FINE, "");
    check(b"  \t\r", FINE, "");
    check(br#"{"response": "a", "id": 9007199254740993}"#, FINE, "");
    check(b"{\"response\": \"a\"}\r", FINE, "");
    check(br#"{"response": "a"}{"response": "b"}"#, FINE, "");
    check(br#"[{"response": "a"}, {"response": "b"}]"#, FINE, "");
    check(br#"{"model": "m", "response": null, "error": {"message": "overloaded"}}"#, FINE, "");
}

#[test]
fn large_ids_keep_their_digits() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("log.jsonl");
    fs::write(&path, "{\"id\": 9007199254740993, \"response\": \"a\"}\n").unwrap();
    let (report, _) = audit(&[&path], &[]);
    assert_eq!(report["records"][0]["id"], "9007199254740993");
}

#[test]
fn a_record_above_the_limit_is_rejected_by_name_and_costs_no_memory() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("log.jsonl");
    let mut file = fs::File::create(&path).unwrap();
    let chunk = vec![b'x'; 1 << 20];
    write!(file, "{SOUND}\n{{\"response\": \"").unwrap();
    (0..20).for_each(|_| file.write_all(&chunk).unwrap());
    write!(file, "\"}}\n{SOUND}\n").unwrap();
    drop(file);
    let (report, output) = audit(&[&path], &[]);
    assert_adds_up(&report);
    assert_eq!((ledger(&report, "audited"), ledger(&report, "rejected")), (2, 1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("max_record_bytes"));
    assert_eq!(report["records"][1]["line"], 3);
    let (report, _) = audit(&[&path], &["--max-record-bytes", "33554432"]);
    assert_eq!((ledger(&report, "audited"), ledger(&report, "rejected")), (3, 0));
}

#[test]
fn a_gzip_that_is_cut_keeps_what_came_before() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("log.jsonl.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for number in 0..2000 {
        writeln!(encoder, "{{\"id\": {number}, \"prompt\": \"{}\", \"response\": \"yes\"}}", number * 7919).unwrap();
    }
    let bytes = encoder.finish().unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let sound = directory.path().join("sound.jsonl");
    fs::write(&sound, format!("{SOUND}\n")).unwrap();
    let (report, output) = audit(&[&path, &sound], &["--max-rejected", "50%"]);
    assert_adds_up(&report);
    assert!(ledger(&report, "audited") > 500, "{}", report["input"]);
    assert_eq!((ledger(&report, "rejected"), ledger(&report, "unreadable_sources")), (1, 1));
    assert_eq!(report["records"].as_array().unwrap().last().unwrap()["id"], "sound");
    assert_eq!(output.status.code(), Some(3), "a source that could not be read to its end is never tolerated");
}

#[test]
fn nothing_to_audit_is_not_a_pass() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("empty.jsonl");
    for content in ["", "\n\n", "[]"] {
        fs::write(&path, content).unwrap();
        let (report, output) = audit(&[&path], &[]);
        assert_eq!((ledger(&report, "units"), output.status.code()), (0, Some(3)), "{content:?}");
    }
    let output = llmverify(&["audit", "no/such/file.jsonl"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "a missing file is reported, and the report is written");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no/such/file.jsonl"));
    let output = llmverify(&["audit", "no/such/*.jsonl"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "a pattern that matches nothing, alone, is a wrong use");
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_opened_is_named_and_the_others_are_audited() {
    let directory = TempDir::new().unwrap();
    let logs = directory.path().join("logs");
    fs::create_dir(&logs).unwrap();
    fs::write(logs.join("a.jsonl"), format!("{SOUND}\n")).unwrap();
    std::os::unix::fs::symlink("vanished", logs.join("b.jsonl")).unwrap();
    fs::write(logs.join("c.jsonl"), format!("{SOUND}\n")).unwrap();
    let (report, output) = audit(&[&logs], &[]);
    assert_adds_up(&report);
    assert_eq!((ledger(&report, "audited"), ledger(&report, "unreadable_sources")), (2, 1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("b.jsonl"));
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn every_shape_of_the_same_log_gives_the_same_verdicts() {
    let directory = TempDir::new().unwrap();
    let records: Vec<Value> = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo.jsonl"))
        .unwrap()
        .lines()
        .take(60)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    let pretty: String = records.iter().map(|record| format!("{record:#}\n")).collect();
    let array = format!("{:#}", Value::Array(records));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(lines.as_bytes()).unwrap();
    let gzip = encoder.finish().unwrap();
    let crlf = format!("\u{feff}{}", lines.replace('\n', "\r\n"));
    let shapes =
        [lines.as_bytes(), pretty.as_bytes(), array.as_bytes(), &gzip, crlf.as_bytes(), lines.trim_end().as_bytes()];
    let verdicts = shapes.map(|shape| {
        let path = directory.path().join("log.jsonl");
        fs::write(&path, shape).unwrap();
        let (report, _) = audit(&[&path], &[]);
        assert_adds_up(&report);
        let verdict =
            |record: &Value| (record["id"].to_string(), record["verdict"].to_string(), record["questions"].clone());
        report["records"].as_array().unwrap().iter().map(verdict).collect::<Vec<_>>()
    });
    assert_eq!(verdicts[0].len(), 60);
    for (number, other) in verdicts.iter().enumerate() {
        assert!(*other == verdicts[0], "shape {number}");
    }
}

#[test]
fn standard_input_and_a_closed_pipe() {
    let mut child = llmverify(&["audit", "-", "--isolated", "--format", "jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Far more output than a pipe holds, and nobody who reads it.
    drop(child.stdout.take());
    let writer = std::thread::spawn(move || {
        for _ in 0..20_000 {
            if writeln!(stdin, "{SOUND}").is_err() {
                return;
            }
        }
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn records_of_one_line_have_addresses_of_their_own() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("log.json");
    fs::write(&path, r#"[{"response": "a"}, {"response": "b"}, {"response": "c"}]"#).unwrap();
    let (report, _) = audit(&[&path], &[]);
    let ids: Vec<String> = report["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["id"].as_str().unwrap().rsplit("log.json").next().unwrap().to_owned())
        .collect();
    assert_eq!(ids, [":1", ":1:1", ":1:2"]);
    let explained = llmverify(&["explain", path.to_str().unwrap(), "--isolated", "--line", "1", "--item", "2"]);
    let output = { explained }.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("log.json:1:2"));
}

#[test]
fn feedback_is_about_a_tool_however_streams_are_grouped() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("log.jsonl");
    let feedback = "{\"kind\": \"feedback\", \"tool\": \"t\", \"was_hallucination\": true}\n".repeat(6);
    let call = r#"{"tool": "t", "provider": "p", "args": {}, "result": {"a": 1}, "execution_time_ms": 90.5}"#;
    fs::write(&path, format!("{feedback}{call}\n")).unwrap();
    for group_by in ["model", "provider"] {
        let (report, _) = audit(&[&path], &["--group-by", group_by]);
        let prior = report["records"][0]["questions"]["fabricated"]["prior"].as_f64().unwrap();
        assert!(prior > 0.5, "{group_by}: {prior}");
    }
}

#[test]
fn a_report_never_overwrites_its_input() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("log.jsonl");
    fs::write(&path, format!("{SOUND}\n")).unwrap();
    let output = llmverify(&["audit", path.to_str().unwrap(), "--out", path.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{SOUND}\n"));
    // Also when the input was found in a folder.
    let folder = directory.path().to_str().unwrap();
    let output = llmverify(&["audit", folder, "--out", path.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{SOUND}\n"));
}
