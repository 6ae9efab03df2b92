//! An audit of what `convert` wrote gives the verdicts that an audit of the log gives, in every form.

use std::{fs, path::PathBuf};

use llmverify::{
    config::Settings,
    input::{Limits, Reader},
    pipeline::{
        Auditor, Filter, Sink,
        convert::{Form, convert},
    },
    report::{Records, jsonl::Jsonl},
};
use serde_json::Value;

fn open(path: &str) -> Reader {
    Reader::open(&[path.to_owned()], Limits::default()).unwrap()
}

/// The verdicts on a log, without the places and ids of its records.
fn verdicts(path: &str) -> Vec<Value> {
    let auditor = Auditor::new(Settings::default()).unwrap();
    let mut lines = Vec::new();
    {
        let mut sinks = [Sink::new(&Jsonl, Records::All, &mut lines)];
        auditor.audit(&mut open(path), &Filter::default(), &mut sinks, |_| {}).unwrap();
    }
    let lines = String::from_utf8(lines).unwrap();
    let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let records = records.filter(|record| record["type"] == "record").map(|mut record| {
        for key in ["source", "line", "item", "byte", "id"] {
            record.as_object_mut().unwrap().remove(key);
        }
        record
    });
    records.collect()
}

const FORMS: &[(Form, &str)] = &[
    (Form::JsonLines, "calls.jsonl"),
    (Form::Csv, "calls.csv"),
    #[cfg(feature = "parquet")]
    (Form::Parquet, "calls.parquet"),
];

fn check(path: &str) {
    let expected = verdicts(path);
    let folder = tempfile::tempdir().unwrap();
    for (form, name) in FORMS {
        let mut written = Vec::new();
        let converted =
            convert(&mut open(path), &Settings::default(), &Filter::default(), *form, &mut written).unwrap();
        let out = folder.path().join(name);
        fs::write(&out, &written).unwrap();
        let got = verdicts(out.to_str().unwrap());
        assert!(converted.records >= got.len() as u64, "{path}");
        assert_eq!(got.len(), expected.len(), "{path} as {name}");
        for (index, (got, expected)) in got.iter().zip(&expected).enumerate() {
            assert_eq!(got, expected, "{path} as {name}, record {index}");
        }
    }
}

#[test]
fn the_verdicts_are_those_of_the_log() {
    let mut files: Vec<PathBuf> = ["fixtures/formats", "fixtures/assemble", "fixtures/cli"]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.is_file() && !path.ends_with("expected.json") && !path.ends_with("README.md"))
        .chain(["fixtures/facts.jsonl", "fixtures/demo.jsonl"].map(PathBuf::from))
        .collect();
    files.sort();
    assert!(files.len() > 50);
    for path in files {
        check(path.to_str().unwrap());
    }
}
