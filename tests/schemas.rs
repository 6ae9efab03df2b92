//! What the program writes is what its schemas say, and what its schemas describe can be read.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use jsonschema::Validator;
use serde_json::Value;

const DEMO: [&str; 3] = ["fixtures/demo.jsonl", "--config", "fixtures/demo.toml"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// What a command prints; its status may be that of a gate.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_llmverify"))
        .current_dir(root())
        .args(arguments)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn audit(format: &str) -> String {
    printed(&[&["audit"], &DEMO[..], &["--format", format]].concat())
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn schema(name: &str) -> Validator {
    let schema: Value = serde_json::from_str(&printed(&["schema", name])).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

#[track_caller]
fn check(validator: &Validator, value: &Value, place: &str) {
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{place}: {}", errors.join("\n"));
}

#[track_caller]
fn check_toml(validator: &Validator, text: &str, place: &str) {
    let table: toml::Table = text.parse().unwrap();
    check(validator, &serde_json::to_value(table).unwrap(), place);
}

#[track_caller]
fn assert_keys(value: &Value, keys: &[&str], place: &str) {
    let object = value.as_object().unwrap_or_else(|| panic!("{place} is not an object"));
    for key in keys {
        assert!(object.contains_key(*key), "{place} has no `{key}`");
    }
}

#[test]
fn every_line_of_jsonl_fits_its_schema() {
    let verdict = schema("verdict");
    let lines = lines(&audit("jsonl"));
    for (index, line) in lines.iter().enumerate() {
        check(&verdict, line, &format!("line {}", index + 1));
    }
    let (summary, records) = lines.split_last().unwrap();
    assert_eq!(summary["type"], "summary");
    assert_eq!(summary["input"]["audited"], records.len());
}

#[test]
fn the_lines_of_bad_input_fit_too() {
    let verdict = schema("verdict");
    let output = Command::new(env!("CARGO_BIN_EXE_llmverify"))
        .current_dir(root())
        .args(["audit", "fixtures/bad_input.jsonl", "--isolated", "--format", "jsonl"])
        .output()
        .unwrap();
    let lines = lines(&String::from_utf8(output.stdout).unwrap());
    let rejected = lines.iter().filter(|line| line["type"] == "rejected").count();
    assert_eq!(rejected, 8);
    for (index, line) in lines.iter().enumerate() {
        check(&verdict, line, &format!("line {}", index + 1));
    }
}

#[test]
fn the_report_fits_its_schema() {
    let report: Value = serde_json::from_str(&audit("json")).unwrap();
    check(&schema("report"), &report, "report");
    let clean = printed(&["audit", "fixtures/cli/clean.jsonl", "--isolated", "--format", "json"]);
    check(&schema("report"), &serde_json::from_str(&clean).unwrap(), "a report in which nothing is wrong");
}

#[test]
fn configurations_fit_their_schema() {
    let config = schema("config");
    for path in ["fixtures/demo.toml", "fixtures/cli/tools.toml"] {
        check_toml(&config, &fs::read_to_string(root().join(path)).unwrap(), path);
    }
    let template = printed(&["init", "--stdout"]);
    check_toml(&config, &template, "init --stdout");
    check_toml(&config, &uncommented(&template), "init --stdout, with every default written out");

    let unknown: toml::Table =
        fs::read_to_string(root().join("fixtures/cli/unknown_key.toml")).unwrap().parse().unwrap();
    assert!(!config.is_valid(&serde_json::to_value(unknown).unwrap()), "an unknown key breaks the schema");
}

/// The template with its defaults in force: `# key = value` becomes `key = value`, prose stays a comment. The examples
/// at its end set some keys again, so they are left out.
fn uncommented(template: &str) -> String {
    let (defaults, _examples) = template.split_once("# [map]").unwrap();
    let line = |line: &str| match line.strip_prefix("# ").or_else(|| line.strip_prefix('#')) {
        Some(rest) if rest.parse::<toml::Table>().is_ok() => rest.to_owned(),
        _ => line.to_owned(),
    };
    defaults.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn demo_records_fit_the_schema_of_records() {
    let record = schema("record");
    let demo = fs::read_to_string(root().join("fixtures/demo.jsonl")).unwrap();
    for (index, line) in lines(&demo).iter().enumerate() {
        check(&record, line, &format!("demo.jsonl:{}", index + 1));
    }
}

#[test]
fn a_record_says_all_that_others_rely_on() {
    const RECORD: &[&str] = &[
        "type",
        "source",
        "line",
        "id",
        "kind",
        "model",
        "tool",
        "session_id",
        "verdict",
        "questions",
        "signals",
        "findings",
        "confidence",
        "is_hallucinated",
        "engines",
        "health",
        "tier_reached",
        "explanation",
    ];
    const QUESTION: &[&str] = &["state", "prior", "posterior", "verdict"];
    const SIGNAL: &[&str] = &["id", "question", "fired", "score", "likelihood_ratio", "log_odds", "tier", "detail"];
    const FINDING: &[&str] = &["rule", "severity", "field", "start", "end", "excerpt"];

    let lines = lines(&audit("jsonl"));
    let mut findings = 0;
    for record in lines.iter().filter(|line| line["type"] == "record") {
        let place = format!("line {}", record["line"]);
        assert_keys(record, RECORD, &place);
        assert!(record["model"].is_string() || record["tool"].is_string(), "{place} names neither model nor tool");
        for question in ["fabricated", "attacked", "leaking", "degraded"] {
            assert_keys(&record["questions"][question], QUESTION, &place);
        }
        for signal in record["signals"].as_array().unwrap() {
            assert_keys(signal, SIGNAL, &place);
        }
        for finding in record["findings"].as_array().unwrap() {
            assert_keys(finding, FINDING, &place);
            findings += 1;
        }
        let fabricated = &record["questions"]["fabricated"];
        let confidence = if fabricated["state"] == "assessed" { &fabricated["posterior"] } else { &Value::Null };
        assert_eq!(record["confidence"], *confidence, "{place}");
    }
    assert!(findings > 0, "the demo log has findings");
}

#[test]
fn posteriors_follow_from_prior_and_signals() {
    for record in lines(&audit("jsonl")).iter().filter(|line| line["type"] == "record") {
        for (name, question) in record["questions"].as_object().unwrap() {
            if question["state"] != "assessed" {
                continue;
            }
            let prior = question["prior"].as_f64().unwrap();
            let terms = record["signals"].as_array().unwrap().iter().filter(|signal| signal["question"] == *name);
            let log_odds =
                (prior / (1.0 - prior)).ln() + terms.map(|term| term["log_odds"].as_f64().unwrap()).sum::<f64>();
            let expected = 1.0 / (1.0 + (-log_odds).exp());
            let posterior = question["posterior"].as_f64().unwrap();
            assert!((posterior - expected).abs() < 1e-9, "line {}: {name} {posterior}, not {expected}", record["line"]);
        }
    }
}

#[test]
fn a_report_says_all_that_others_rely_on() {
    const REPORT: &[&str] = &[
        "schema",
        "tool",
        "gate",
        "input",
        "verdicts",
        "questions",
        "streams",
        "events",
        "timeline",
        "health",
        "top",
        "rejected",
        "problems",
        "limits_reached",
        "records",
    ];
    let report: Value = serde_json::from_str(&audit("json")).unwrap();
    assert_keys(&report, REPORT, "the report");
    assert_keys(&report["gate"], &["passed", "exit", "reasons"], "gate");
    assert_keys(&report["top"], &["signals", "findings", "records"], "top");
    for stream in report["streams"].as_array().unwrap() {
        assert_keys(stream, &["name", "kind", "requests", "errors", "latency_ms", "health", "verdicts"], "a stream");
    }
}

#[test]
fn a_report_in_csv_is_known_by_its_first_columns() {
    let columns = llmverify::report::csv::COLUMNS.join(",");
    assert!(columns.starts_with(llmverify::input::paths::REPORT_COLUMNS));
}
