//! Logs that grow while they are audited: each record is judged as it comes, and the report is that of the whole.

#![cfg(unix)]

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

/// More than a busy machine needs; what is written comes out after about a tenth of a second.
const PATIENCE: Duration = Duration::from_secs(30);

struct Audit {
    child: Child,
    lines: Receiver<String>,
}

impl Audit {
    fn start(arguments: &[&str]) -> Audit {
        let mut child = Command::new(env!("CARGO_BIN_EXE_llmverify"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["audit", "--isolated", "--format", "jsonl"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Audit { child, lines }
    }

    /// The line that comes next, before the input is over.
    fn next(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a verdict comes while the log goes on")
    }

    #[track_caller]
    fn check_next(&self, id: &str) {
        let line = self.next();
        assert!(line.contains(&format!("\"id\":\"{id}\"")), "{line}");
    }

    /// Interrupts it: what it writes then, and what it says on standard error.
    fn interrupt(self) -> (Vec<String>, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let rest = std::iter::from_fn(|| self.lines.recv_timeout(PATIENCE).ok()).collect();
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.code().is_some(), "it ends by itself");
        (rest, String::from_utf8(output.stderr).unwrap())
    }
}

fn record(id: &str) -> String {
    format!("{{\"id\":\"{id}\",\"prompt\":\"What is it?\",\"response\":\"It is one.\",\"model\":\"m\"}}\n")
}

fn append(path: &Path, text: &str) {
    File::options().append(true).create(true).open(path).and_then(|mut file| file.write_all(text.as_bytes())).unwrap();
}

#[test]
fn standard_input_is_judged_as_it_comes() {
    for threads in ["1", "3"] {
        let mut audit = Audit::start(&["-", "--threads", threads]);
        let mut input = audit.child.stdin.take().unwrap();
        for id in ["a", "b", "c"] {
            input.write_all(record(id).as_bytes()).unwrap();
            audit.check_next(id);
        }
        let (rest, _) = audit.interrupt();
        assert!(rest.len() == 1 && rest[0].contains("\"audited\":3"), "{rest:?}");
    }
}

#[test]
fn a_followed_file_is_judged_as_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.jsonl");
    append(&path, &record("a"));
    let audit = Audit::start(&["--follow", path.to_str().unwrap()]);
    audit.check_next("a");
    append(&path, &record("b"));
    audit.check_next("b");
    fs::rename(&path, folder.path().join("app.jsonl.1")).unwrap();
    append(&path, &record("c"));
    audit.check_next("c");
    File::create(&path).unwrap();
    // A file that is as long again when it is looked at is taken for the same.
    thread::sleep(Duration::from_millis(500));
    append(&path, "{}");
    append(&path, "\n");
    append(&path, &record("d"));
    let lines = [audit.next(), audit.next()];
    assert!(lines[0].contains("rejected") && lines[1].contains("\"id\":\"d\""), "{lines:?}");
    let (rest, err) = audit.interrupt();
    assert!(rest.len() == 1 && rest[0].contains("\"files\":3") && rest[0].contains("\"audited\":4"), "{rest:?}");
    assert!(err.contains("was cut while it was followed"), "{err}");
}

#[test]
fn what_was_followed_to_its_end_reads_as_the_whole() {
    const LOG: &str = "fixtures/demo.jsonl";
    let whole = Audit::start(&[LOG]);
    let expected: Vec<String> = std::iter::from_fn(|| whole.lines.recv_timeout(PATIENCE).ok()).collect();
    let audit = Audit::start(&["--follow", LOG]);
    let mut lines: Vec<String> = (1..expected.len()).map(|_| audit.next()).collect();
    lines.extend(audit.interrupt().0);
    assert!(lines == expected);
}
