//! Labels, measuring and fitting from end to end, with files that are written.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const LOG: &str = "fixtures/cli/labelled.jsonl";
const PROFILE: [&str; 2] = ["--config", "fixtures/cli/tools.toml"];

fn run(args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    Command::new(env!("CARGO_BIN_EXE_llmverify")).current_dir(root).env("NO_COLOR", "1").args(args).output().unwrap()
}

#[track_caller]
fn succeed(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn path(folder: &tempfile::TempDir, name: &str) -> String {
    let path: PathBuf = folder.path().join(name);
    path.display().to_string()
}

#[test]
fn a_calibration_gains_and_the_audit_takes_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(&folder, "calibration.toml");
    let [config, profile] = PROFILE;
    let said = succeed(&["calibrate", LOG, config, profile, "--group", "meta.day", "--best-f1", "-o", &file]);
    assert!(said.contains("158 labels in 40 groups, 79 of them yes"), "{said}");

    let auroc = |more: &[&str]| {
        let args = [&["eval", LOG, config, profile, "--resamples", "0", "--format", "json"], more].concat();
        let report: serde_json::Value = serde_json::from_str(&succeed(&args)).unwrap();
        (report["all"]["metrics"]["auroc"]["value"].as_f64().unwrap(), report["threshold"].as_f64().unwrap())
    };
    let (before, after) = (auroc(&[]), auroc(&["--calibration", &file]));
    assert!(after.0 > before.0, "{before:?} {after:?}");
    assert_ne!(after.1, before.1);

    let explained = succeed(&["explain", LOG, config, profile, "--calibration", &file, "--line", "2", "--json"]);
    assert!(explained.contains("\"ratio_source\": \"fitted\""), "{explained}");
    let seed = succeed(&[
        "explain",
        LOG,
        config,
        profile,
        "--calibration",
        &file,
        "--line",
        "2",
        "--json",
        "--compat",
        "seed",
    ]);
    assert!(!seed.contains("fitted"), "{seed}");

    // What stands there of other questions stays.
    let written = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{written}\n[leaking]\nprior = 0.25\n")).unwrap();
    succeed(&["calibrate", LOG, config, profile, "-o", &file, "--fusion", "temperature", "--force"]);
    let again = fs::read_to_string(&file).unwrap();
    assert!(again.contains("prior = 0.25") && again.contains("temperature = "), "{again}");
}

#[test]
fn numbers_and_fits_do_not_depend_on_threads_or_batches() {
    let folder = tempfile::tempdir().unwrap();
    let [config, profile] = PROFILE;
    let run = |name: &str, threads: &str, batch: &str| {
        let file = path(&folder, name);
        let with = ["-j", threads, "--batch-bytes", batch];
        let evaluated =
            [&["eval", LOG, config, profile, "--by", "meta.site", "-f", "csv", "--resamples", "20"][..], &with];
        let said = succeed(&evaluated.concat());
        succeed(&[&["calibrate", LOG, config, profile, "-o", &file][..], &with].concat());
        (said, fs::read(file).unwrap())
    };
    assert_eq!(run("a.toml", "1", "1000000"), run("b.toml", "4", "700"));
}

#[test]
fn a_session_can_be_gone_on_with_and_its_labels_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let [config, profile] = PROFILE;
    let (labels, keys) = (path(&folder, "labels.jsonl"), path(&folder, "keys.txt"));
    let label = |answers: &str| {
        fs::write(&keys, answers).unwrap();
        let said = succeed(&["label", LOG, config, profile, "-o", &labels, "--answers", &keys]);
        (said, fs::read_to_string(&labels).unwrap_or_default())
    };
    let (said, file) = label("y n s u u y ? q");
    // Skipped and undone: the first answer is left, and the second was given again.
    assert!(said.contains("2 new labels"), "{said}");
    let entries: Vec<serde_json::Value> = file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries.iter().map(|entry| entry["label"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 1]);
    assert!(!file.contains("temperature") && !file.contains("overcast"), "{file}");

    let (_, gone_on) = label("n n n");
    assert!(gone_on.starts_with(&file));
    let ids = |text: &str| {
        let id = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].to_string();
        text.lines().map(id).collect::<std::collections::BTreeSet<String>>().len()
    };
    assert_eq!((gone_on.lines().count(), ids(&gone_on)), (5, 5));

    let args = ["eval", LOG, config, profile, "--labels", &labels, "--resamples", "0", "--format", "json"];
    let report: serde_json::Value = serde_json::from_str(&succeed(&args)).unwrap();
    assert_eq!((report["all"]["records"].as_u64(), report["all"]["positives"].as_u64()), (Some(5), Some(2)));
    assert_eq!(report["unlabelled"], 155);
}

#[test]
fn a_file_of_labels_whose_last_line_is_open_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let [config, profile] = PROFILE;
    let (labels, keys) = (path(&folder, "labels.jsonl"), path(&folder, "keys.txt"));
    fs::write(&keys, "y n").unwrap();
    let label = || succeed(&["label", LOG, config, profile, "-o", &labels, "--answers", &keys]);
    label();
    let text = fs::read_to_string(&labels).unwrap();
    fs::write(&labels, text.trim_end()).unwrap();
    label();
    let lines = fs::read_to_string(&labels).unwrap();
    assert_eq!(lines.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()).count(), 4);
}

#[test]
fn what_cannot_be_meant_is_refused_and_no_file_that_is_read_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let copy = |name: &str, of: &str| {
        let to = path(&folder, name);
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(of), &to).unwrap();
        to
    };
    let (log, settings) = (copy("log.json", LOG), copy("settings.txt", PROFILE[1]));
    let (labels, out) = (path(&folder, "labels.csv"), path(&folder, "out.toml"));
    fs::write(&labels, "").unwrap();
    let eval = |more: &[&str]| run(&[&["eval", &log, "--config", &settings, "--resamples", "0"], more].concat());
    let calibrate = |more: &[&str]| run(&[&["calibrate", &log, "--config", &settings], more].concat());
    for (output, expected) in [
        (eval(&["--out", &log]), "would overwrite an input"),
        (eval(&["--out", &settings]), "would overwrite the settings"),
        (eval(&["--labels", &labels, "--out", &labels]), "would overwrite the labels"),
        (calibrate(&["-o", &log]), "would overwrite an input"),
        (calibrate(&["-o", &settings]), "would overwrite the settings"),
        (calibrate(&["--labels", &labels, "-o", &labels]), "would overwrite the labels"),
        (run(&["eval", "/dev/null", "--isolated"]), "is read twice, which /dev/null cannot"),
        (eval(&["--split", "100%"]), "leaves nothing on one side"),
        (eval(&["--split", "0"]), "leaves nothing on one side"),
        (eval(&["--split", "0.1%"]), "too few groups"),
        (eval(&["--by", "nope"]), "--by nope: no record"),
        (eval(&["--within", "meta.nope"]), "--within meta.nope: no record"),
        (calibrate(&["-o", &out, "--group", "nope"]), "--group nope: no record"),
        (calibrate(&["-o", &out, "--folds", "0"]), "at least 2"),
        (calibrate(&["-o", &out, "--folds", "1"]), "at least 2"),
    ] {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(expected), "{expected}: {said}");
    }
    for (name, of) in [(&log, LOG), (&settings, PROFILE[1])] {
        assert_eq!(fs::read(name).unwrap(), fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(of)).unwrap());
    }
    let said = String::from_utf8(calibrate(&["-o", &out, "--force"]).stdout).unwrap();
    assert!(said.contains("more of them will be; --best-f1, --false-alarm-rate or --cost"), "{said}");
    let misspelt = fs::read_to_string(&out).unwrap().replace("signals.schema_mismatch", "signals.schema_mismach");
    fs::write(&out, misspelt).unwrap();
    let output = run(&["audit", &log, "--config", &settings, "--calibration", &out]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("schema_mismach: there is no such signal; did you mean `schema_mismatch`?"), "{said}");
}

#[test]
fn a_session_shows_no_personal_data_and_no_escape_sequences() {
    let folder = tempfile::tempdir().unwrap();
    let (log, labels, keys) = (path(&folder, "log.jsonl"), path(&folder, "labels.jsonl"), path(&folder, "keys.txt"));
    let record = serde_json::json!({
        "id": "a\u{1b}[2J", "model": "m", "prompt": "Write to jane.doe@firm.example",
        "response": "I am absolutely certain.\u{1b}[2J Her card is 4111 1111 1111 1111, mail jane.doe@firm.example.\n::error::x",
    });
    fs::write(&log, format!("{record}\n")).unwrap();
    fs::write(&keys, "y").unwrap();
    let said = succeed(&["label", &log, "--isolated", "--question", "leaking", "-o", &labels, "--answers", &keys]);
    let file = fs::read_to_string(&labels).unwrap();
    for text in [&said, &file] {
        assert!(!text.contains("jane.doe@") && !text.contains("4111 1111") && !text.contains('\u{1b}'), "{text}");
    }
    assert!(said.lines().all(|line| !line.trim_start().starts_with("::")), "{said}");
    assert!(said.contains("[redacted]"), "{said}");
}

#[test]
fn an_empty_file_has_nothing_to_measure() {
    let folder = tempfile::tempdir().unwrap();
    let log = path(&folder, "empty.jsonl");
    fs::write(&log, "").unwrap();
    let output = run(&["eval", &log, "--isolated"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no audited record has a label"));
}

#[test]
fn what_ranks_no_better_is_not_written_unless_it_is_forced() {
    use std::fmt::Write as _;
    let folder = tempfile::tempdir().unwrap();
    let (log, file) = (path(&folder, "noise.jsonl"), path(&folder, "calibration.toml"));
    // Labels that have nothing to do with the calls: every signal that varies looks like luck.
    let mut lines = String::new();
    for i in 0_u64..160 {
        let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        let (label, temperature) = (mixed & 1, 10 + (mixed >> 8) % 19);
        let sure = if mixed & 2 == 0 { "It is absolutely, definitely certain that it" } else { "It" };
        let answer =
            format!("{sure} is {temperature} degrees in Lyon, and 3 + {} = {}.", i % 7, 3 + i % 7 + (mixed >> 20) % 2);
        let _ = writeln!(
            lines,
            "{{\"id\":\"n{i}\",\"model\":\"m\",\"prompt\":\"Lyon?\",\"response\":\"{answer}\",\"label\":{label}}}"
        );
    }
    fs::write(&log, lines).unwrap();
    let args = ["calibrate", "--isolated", &log, "-o", &file];
    let refused = run(&args);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("not written: it ranks no better"), "{said}");
    assert!(!Path::new(&file).exists());
    let forced = run(&[&args[..], &["--force"]].concat());
    assert_eq!(forced.status.code(), Some(0));
    assert!(Path::new(&file).exists() && String::from_utf8_lossy(&forced.stderr).contains("warning: it ranks"));
}
