//! A report is the older one or the new one, whole, whenever the process ends; and no input is ever written.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "a process is killed at moments of its run")]

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const OLDER: &str = "the older file";
const OUTPUTS: [&str; 9] = ["r.json", "v.jsonl", "v.csv", "r.html", "r.md", "r.sarif", "junit.xml", "m.prom", "m.om"];

fn log(folder: &Path, records: usize) -> String {
    let text: String = (0..records)
        .map(|n| format!("{{\"id\":\"{n}\",\"prompt\":\"What is {n} plus 1?\",\"response\":\"It is {}.\"}}\n", n + 1))
        .collect();
    let path = folder.join("log.jsonl");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn audit(folder: &Path, log: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llmverify"));
    command.args(["audit", "--isolated", "--quiet", log]).stdin(Stdio::null()).stderr(Stdio::null());
    for output in OUTPUTS {
        command.arg("--out").arg(folder.join(output));
    }
    command
}

/// Whether a file ends as its form does, and is not the older one.
fn is_new_and_whole(name: &str, text: &str) -> bool {
    let end = match name.rsplit('.').next().unwrap() {
        "json" | "sarif" => return serde_json::from_str::<serde_json::Value>(text).is_ok(),
        "jsonl" => return text.lines().last().is_some_and(|line| line.contains("\"type\":\"summary\"")),
        "html" => "</html>\n",
        "xml" => "</testsuites>\n",
        "om" => "# EOF\n",
        _ => "\n",
    };
    text.ends_with(end) && text != OLDER
}

/// Moments at which it is killed, from its begin to about its end.
const MOMENTS: u32 = 12;

#[test]
fn killed_at_any_moment_a_report_is_the_older_one_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let log = log(folder, 400);
    let begun = Instant::now();
    assert!(audit(folder, &log).status().unwrap().success());
    let whole = begun.elapsed();
    for name in OUTPUTS {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        assert!(is_new_and_whole(name, &text), "{name} is not told to be whole: {}", &text[..text.len().min(200)]);
    }
    let (mut kept, mut replaced) = (0, 0);
    for moment in 0..=MOMENTS {
        OUTPUTS.iter().for_each(|name| fs::write(folder.join(name), OLDER).unwrap());
        let mut process = audit(folder, &log).spawn().unwrap();
        // The last one is left alone, so that some files are new on a slow machine, too.
        if moment < MOMENTS {
            thread::sleep(whole * moment / MOMENTS);
            let _ = process.kill();
        }
        process.wait().unwrap();
        for name in OUTPUTS {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            let is_new = is_new_and_whole(name, &text);
            assert!(is_new || text == OLDER, "{name}, killed at {moment}/{MOMENTS}: {} bytes of neither", text.len());
            if is_new { replaced += 1 } else { kept += 1 }
        }
    }
    assert!(kept > 0 && replaced > 0, "the moments were all before or all after the end: {kept} {replaced}");
}

#[test]
fn an_interrupted_process_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), 20_000);
    let mut process = audit(folder.path(), &log).spawn().unwrap();
    let is_writing = || fs::read_dir(folder.path()).unwrap().count() > 1;
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_writing() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(130));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["log.jsonl"]);
}

#[test]
fn no_input_is_written_under_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), 3);
    let before = fs::read(&log).unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::hard_link(&log, at("hard.jsonl")).unwrap();
    std::os::unix::fs::symlink(&log, at("soft.jsonl")).unwrap();
    let run = |arguments: &[&str], input: Option<&str>| {
        let stdin = input.map_or(Stdio::null(), |path| File::open(path).unwrap().into());
        let mut command = Command::new(env!("CARGO_BIN_EXE_llmverify"));
        let status = command.args(arguments).stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null()).status();
        (status.unwrap().code(), fs::read(&log).unwrap() == before)
    };
    for name in ["log.jsonl", "hard.jsonl", "soft.jsonl", "./log.jsonl"] {
        let out = at(name).to_str().unwrap().to_owned();
        for command in ["audit", "convert", "redact"] {
            let named = [command, &log, "--out", &out, "--quiet", "--isolated"];
            assert_eq!(run(&named, None), (Some(2), true), "{named:?}");
            let piped = [command, "-", "--out", &out, "--quiet", "--isolated"];
            assert_eq!(run(&piped, Some(&log)), (Some(2), true), "{piped:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_no_success_and_no_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), 3);
    for arguments in [
        &["--help"][..],
        &["audit", "--help"],
        &["audit", &log],
        &["audit", &log, "--format", "jsonl"],
        &["explain", &log, "--line", "2"],
        &["inspect", &log],
        &["convert", &log],
        &["redact", &log],
        &["rules"],
        &["engines"],
        &["config", "show"],
        &["schema", "report"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_llmverify"));
        let status = command.args(arguments).stdin(Stdio::null()).stdout(full).stderr(Stdio::null()).status();
        assert_eq!(status.unwrap().code(), Some(3), "{arguments:?}");
    }
}
