//! GitLab code quality: one object per issue, worst first, with unique fingerprints.
//!
//! **Source**: GitLab, "Code Quality report format".
//!
//! **Limits**: [`ENTRIES_MAX`] entries. Two records with the same id share a fingerprint, which GitLab does not allow; from
//! the second on it is made of the first and a number.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    format::Format,
    issues::{ISSUES_MAX, Issue, written},
    safe_json,
    source_path::Folder,
    summary::Report,
    terminal::{clip, safe},
};
use crate::{engines::Severity, hash};

/// Entries of a report.
pub const ENTRIES_MAX: usize = ISSUES_MAX;
const TEXT_CHARS_MAX: usize = 1000;

/// The GitLab format.
#[derive(Clone, Debug, Default)]
pub struct Gitlab {
    /// The root of the repository.
    pub folder: Folder,
}

impl Format for Gitlab {
    fn summary(&self, report: &Report, out: &mut Vec<u8>) {
        let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
        let entry = |issue: &Issue| {
            let times = seen.entry(issue.fingerprint).or_default();
            let unique = if *times == 0 { issue.fingerprint } else { hash::combine(issue.fingerprint, *times) };
            *times += 1;
            entry(issue, &self.folder.path_to(&issue.source), &written(unique))
        };
        let entries: Vec<Value> =
            report.issues.worst.iter().take(ENTRIES_MAX).map(|issue| &**issue).map(entry).collect();
        out.extend_from_slice(&safe_json::pretty(&entries));
        out.push(b'\n');
    }
}

fn entry(issue: &Issue, path: &str, fingerprint: &str) -> Value {
    let severity = match issue.severity {
        Severity::Critical => "blocker",
        Severity::High => "critical",
        Severity::Medium => "minor",
        Severity::Low | Severity::Info => "info",
    };
    json!({
        "description": clip(&issue.message(), TEXT_CHARS_MAX),
        "check_name": issue.rule,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": safe(path), "lines": {"begin": issue.line.max(1)}},
    })
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    #[test]
    fn an_entry_names_rule_place_and_severity() {
        let mut report = samples::report();
        let twin = report.issues.worst[0].clone();
        report.issues.worst.push(twin);
        let mut out = Vec::new();
        Gitlab::default().summary(&report, &mut out);
        let entries: Vec<Value> = serde_json::from_slice(&out).unwrap();
        assert_eq!(entries.len(), 3);
        assert_eq!(
            (&entries[0]["check_name"], &entries[0]["severity"]),
            (&json!("schema_mismatch"), &json!("critical"))
        );
        assert_eq!(entries[0]["location"], json!({"path": "app.jsonl", "lines": {"begin": 22}}));
        assert_ne!(entries[0]["fingerprint"], entries[2]["fingerprint"]);
    }
}
