//! `docs/examples/` holds the demo in every report format, as it is written now.
//!
//! `UPDATE_DOCS=1 cargo test --test examples` rewrites it; read what changed. The pictures are made by hand, with
//! `tests/browser/page.mjs`.

use std::{env, fs, path::Path, process::Command};

/// Each example, and which records it holds.
const EXAMPLES: [(&str, &str); 12] = [
    ("report.txt", "none"),
    ("report.json", "none"),
    ("verdicts.jsonl", "flagged"),
    ("verdicts.csv", "flagged"),
    ("report.html", "none"),
    ("report.md", "none"),
    ("report.sarif", "none"),
    ("junit.xml", "none"),
    ("gl-code-quality-report.json", "none"),
    ("metrics.prom", "none"),
    ("metrics.om", "none"),
    ("github.txt", "none"),
];

fn written(name: &str, records: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let is_github = name == "github.txt";
    let mut command = Command::new(env!("CARGO_BIN_EXE_llmverify"));
    command.current_dir(root).env_remove("GITHUB_STEP_SUMMARY");
    command.args(["audit", "fixtures/demo.jsonl", "--config", "fixtures/demo.toml", "--records", records]);
    if is_github {
        command.args(["--format", "github"]);
    } else {
        command.arg("--quiet").arg("--out").arg(&file);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    if is_github { output.stdout } else { fs::read(&file).unwrap() }
}

#[test]
fn every_format_of_the_demo_is_as_it_is_written_now() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples");
    let mut stale = Vec::new();
    for (name, records) in EXAMPLES {
        let (path, now) = (folder.join(name), written(name, records));
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &now).unwrap();
        }
        if fs::read(&path).unwrap_or_default() != now {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "{stale:?} are stale: run UPDATE_DOCS=1 cargo test --test examples");
}
