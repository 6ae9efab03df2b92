//! GitHub Actions: annotations, as workflow commands on standard output.
//!
//! Issues are put together by rule and stream, and the annotation stands at the worst of them; blocked ones are errors,
//! flagged ones warnings. What the gate has against the audit comes first. The step summary is the Markdown report.
//!
//! Text of the log reaches the output only inside of a command, with everything escaped that could end it
//! ([`data`], [`property`]), so that no record can run a command of its own.
//!
//! **Source**: GitHub, "Workflow commands for GitHub Actions".
//!
//! **Limits**: [`ANNOTATIONS_MAX`] errors and as many warnings; GitHub shows no more of one step.

use std::collections::BTreeMap;

use super::{
    catalogue,
    format::Format,
    issues::Issue,
    source_path::Folder,
    summary::Report,
    table::counted,
    terminal::{clip, safe},
};
use crate::verdict::Decision;

/// Annotations of each level.
pub const ANNOTATIONS_MAX: usize = 10;

const TITLE_CHARS_MAX: usize = 120;
const MESSAGE_CHARS_MAX: usize = 800;

/// The GitHub format.
#[derive(Clone, Debug, Default)]
pub struct Github {
    /// The root of the repository.
    pub folder: Folder,
}

impl Format for Github {
    fn summary(&self, report: &Report, out: &mut Vec<u8>) {
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        for reason in &report.gate.reasons {
            let title = format!("llmverify: {}", reason.rule);
            errors.push(command("error", &[("title", &title)], &clip(&reason.message, MESSAGE_CHARS_MAX)));
        }
        for (worst, records) in groups(report) {
            if worst.decision == Decision::Block {
                errors.push(self.annotation("error", worst, records));
            } else {
                warnings.push(self.annotation("warning", worst, records));
            }
        }
        let shown = errors.len().min(ANNOTATIONS_MAX) + warnings.len().min(ANNOTATIONS_MAX);
        let more = errors.len() + warnings.len() - shown;
        let decisions = &report.verdicts.decisions;
        let mut text = format!(
            "llmverify audited {}: {} blocked, {} flagged, gate {}",
            counted(report.input.audited, "record", "records"),
            decisions.block,
            decisions.flag,
            if report.gate.passed { "passed" } else { "not passed" },
        );
        if more > 0 {
            text.push_str(&format!("; {} not shown", counted(more as u64, "annotation", "annotations")));
        }
        errors.truncate(ANNOTATIONS_MAX);
        warnings.truncate(ANNOTATIONS_MAX);
        for line in errors.iter().chain(&warnings).chain([&command("notice", &[("title", "llmverify")], &text)]) {
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        }
    }
}

/// The worst issue of each rule and stream with the number of records, worst first.
fn groups(report: &Report) -> Vec<(&Issue, u64)> {
    let mut groups: Vec<(&Issue, u64)> = Vec::new();
    let mut known: BTreeMap<(&str, &str, Option<&str>), usize> = BTreeMap::new();
    for issue in &report.issues.worst {
        let key = (issue.rule, issue.kind, issue.stream.as_deref());
        let at = *known.entry(key).or_insert(groups.len());
        if at == groups.len() {
            groups.push((issue, 0));
        }
        groups[at].1 += 1;
    }
    groups
}

impl Github {
    fn annotation(&self, level: &str, worst: &Issue, records: u64) -> String {
        let file = self.folder.path_to(&worst.source);
        let stream = worst.stream.as_deref().unwrap_or(worst.kind);
        let title = format!("{} in {} of {stream}", worst.rule, counted(records, "record", "records"));
        let title = clip(&title, TITLE_CHARS_MAX);
        let text = format!("{} {}", catalogue::title(worst.rule), worst.message());
        let properties = [("file", &*safe(&file)), ("line", &worst.line.to_string()), ("title", &title)];
        command(level, &properties, &clip(&text, MESSAGE_CHARS_MAX))
    }
}

/// A workflow command with its properties and its message.
pub fn command(name: &str, properties: &[(&str, &str)], message: &str) -> String {
    let properties: Vec<String> = properties.iter().map(|(key, value)| format!("{key}={}", property(value))).collect();
    let space = if properties.is_empty() { "" } else { " " };
    format!("::{name}{space}{}::{}", properties.join(","), data(message))
}

/// The message of a command: what ends it is escaped.
pub fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a command: what ends it is escaped.
pub fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{super::samples, *};

    fn write(report: &Report) -> String {
        let mut out = Vec::new();
        Github::default().summary(report, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn issues_are_put_together_by_rule_and_stream() {
        let text = write(&samples::report());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[0].starts_with("::error title=llmverify%3A max_rejected::"), "{text}");
        assert!(lines[1].starts_with("::error title=llmverify%3A fail_on::"), "{text}");
        assert!(
            lines[2].starts_with("::error file=app.jsonl,line=22,title=schema_mismatch in 1 record of get_weather::"),
            "{text}"
        );
        assert!(lines[3].starts_with("::warning file=app.jsonl,line=21,"), "{text}");
        assert!(
            lines[4].starts_with("::notice title=llmverify::llmverify audited 22 records: 1 blocked, 1 flagged"),
            "{text}"
        );
    }

    #[test]
    fn the_file_is_a_path_and_no_uri() {
        let mut report = samples::report();
        report.issues.worst.iter_mut().for_each(|issue| issue.source = "/ci/work/logs/a b, 100%.jsonl".to_owned());
        let mut out = Vec::new();
        Github { folder: Folder::new(Path::new("/ci/work")) }.summary(&report, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("::error file=logs/a b%2C 100%25.jsonl,line=22,"), "{text}");
    }

    #[test]
    fn what_ends_a_command_is_escaped() {
        let line = command("error", &[("title", "a,b:c\n%")], "x\r\n::stop-commands::y%");
        assert_eq!(line, "::error title=a%2Cb%3Ac%0A%25::x%0D%0A::stop-commands::y%25");
    }

    #[test]
    fn a_hostile_log_runs_no_command() {
        for hostile in samples::HOSTILE {
            let text = write(&samples::hostile_report(hostile));
            let own = ["::error file=", "::error title=llmverify%3A ", "::warning file=", "::notice title=llmverify::"];
            for line in text.lines() {
                assert!(own.iter().any(|own| line.starts_with(own)), "{hostile:?}: {line}");
                let (head, _) = line[2..].split_once("::").unwrap();
                assert!(!head.contains("::"), "{line}");
            }
            assert!(!text.replace('\n', "").contains(super::super::terminal::is_unsafe), "{hostile:?}");
        }
    }
}
