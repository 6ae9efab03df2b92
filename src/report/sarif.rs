//! SARIF 2.1.0, for code scanning: one result per issue, worst first, at the line of its record.
//!
//! A result is known again by its fingerprint (rule and record, never the line). Paths are relative to the folder that the
//! audit runs in, so that an audit in the root of a repository points into it ([`source_path`](super::source_path)).
//!
//! **Source**: OASIS, SARIF 2.1.0; GitHub, "SARIF support for code scanning".
//!
//! **Limits**: [`RESULTS_MAX`] results, of which GitHub shows as many, and [`TEXT_CHARS_MAX`] characters per text; the
//! true totals stand in the properties of the run, and the last result says how many are left out.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    catalogue,
    format::Format,
    issues::{ISSUES_MAX, Issue},
    safe_json,
    source_path::Folder,
    summary::Report,
    table::counted,
    terminal::clip,
};
use crate::{
    engines::{Question, Severity},
    verdict::Decision,
};

/// Results of a run; beyond, GitHub shows none.
pub const RESULTS_MAX: usize = ISSUES_MAX;
/// Characters of one text; GitHub takes 1,024.
pub const TEXT_CHARS_MAX: usize = 1000;

/// The SARIF format.
#[derive(Clone, Debug, Default)]
pub struct Sarif {
    /// The root of the repository.
    pub folder: Folder,
}

impl Format for Sarif {
    fn summary(&self, report: &Report, out: &mut Vec<u8>) {
        out.extend_from_slice(&safe_json::pretty(&document(report, &self.folder)));
        out.push(b'\n');
    }
}

fn document(report: &Report, folder: &Folder) -> Value {
    let rules = rules(report);
    let index: BTreeMap<&str, usize> = rules.iter().enumerate().map(|(at, (id, ..))| (*id, at)).collect();
    let listed = &report.issues.worst[..report.issues.worst.len().min(RESULTS_MAX)];
    let result = |issue: &Issue| result(issue, folder, report, index.get(issue.rule));
    let mut results: Vec<Value> = listed.iter().map(|issue| result(issue)).collect();
    let more = report.issues.total.saturating_sub(listed.len() as u64);
    if let (true, Some(last)) = (more > 0, results.last_mut()) {
        let text = last["message"]["text"].as_str().unwrap_or_default();
        last["message"]["text"] = format!("{text} ({} more not shown)", counted(more, "issue", "issues")).into();
    }
    let mut driver = json!({
        "name": "llmverify",
        "version": report.tool.version,
        "semanticVersion": report.tool.version,
        "rules": rules.iter().map(|(id, question, severity)| rule(id, *question, *severity)).collect::<Vec<_>>(),
    });
    if !env!("CARGO_PKG_REPOSITORY").is_empty() {
        driver["informationUri"] = env!("CARGO_PKG_REPOSITORY").into();
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": driver},
            "automationDetails": {"id": "llmverify/audit/"},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": report.gate.exit.code() < 2,
                "exitCode": report.gate.exit.code(),
            }],
            "results": results,
            "properties": {
                "records": report.input.audited,
                "flagged": report.verdicts.decisions.flag,
                "blocked": report.verdicts.decisions.block,
                "issues": report.issues.total,
                "issuesShown": listed.len(),
                "gatePassed": report.gate.passed,
            },
        }],
    })
}

/// The rules that have issues, with the worst severity of these.
fn rules(report: &Report) -> Vec<(&str, Question, Severity)> {
    let mut worst: BTreeMap<&str, Severity> = BTreeMap::new();
    for issue in &report.issues.worst {
        let severity = worst.entry(issue.rule).or_insert(issue.severity);
        *severity = issue.severity.max(*severity);
    }
    let found = report.issues.by_rule.iter().filter(|(_, rule)| rule.records > 0);
    let severity = |id: &str| worst.get(id).copied().unwrap_or(Severity::Medium);
    found.map(|(id, rule)| (id.as_str(), rule.question, severity(id))).collect()
}

fn rule(id: &str, question: Question, severity: Severity) -> Value {
    let (title, help) = (catalogue::title(id), catalogue::help(id));
    let mut properties = json!({
        "tags": catalogue::tags(id, question),
        "precision": "medium",
        "problem.severity": if severity >= Severity::High { "error" } else { "warning" },
    });
    if catalogue::is_security(question) {
        properties["security-severity"] = catalogue::security_severity(severity).into();
    }
    json!({
        "id": id,
        "shortDescription": {"text": clip(title, TEXT_CHARS_MAX)},
        "fullDescription": {"text": format!("{title} Bears on the question `{}`.", question.as_str())},
        "help": {
            "text": format!("{help} `llmverify explain FILE --line N` shows the evidence of a record."),
            "markdown": format!("{help}\n\n`llmverify explain FILE --line N` shows the evidence of a record."),
        },
        "defaultConfiguration": {"level": if severity >= Severity::High { "error" } else { "warning" }},
        "properties": properties,
    })
}

fn result(issue: &Issue, folder: &Folder, report: &Report, rule_index: Option<&usize>) -> Value {
    let fingerprint = issue.fingerprint();
    let level = if issue.decision == Decision::Block { "error" } else { "warning" };
    let mut result = json!({
        "ruleId": issue.rule,
        "level": level,
        "message": {"text": clip(&issue.message(), TEXT_CHARS_MAX)},
        "locations": [{
            "physicalLocation": {
                "artifactLocation": {"uri": folder.uri_of(&issue.source)},
                "region": {"startLine": issue.line.max(1), "startColumn": 1},
            },
            "logicalLocations": [{"name": clip(&issue.id, TEXT_CHARS_MAX), "kind": "record"}],
        }],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint, "llmverifyIssue/v1": fingerprint},
        "properties": {
            "question": issue.question.as_str(),
            "stream": issue.stream.as_deref().map(|stream| clip(stream, TEXT_CHARS_MAX)),
            "kind": issue.kind,
        },
    });
    if let Some(index) = rule_index {
        result["ruleIndex"] = (*index).into();
    }
    if let Some(is_new) = report.is_new_issue(&fingerprint) {
        result["baselineState"] = if is_new { "new" } else { "unchanged" }.into();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    fn write(report: &Report) -> Value {
        let mut out = Vec::new();
        Sarif::default().summary(report, &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn a_result_names_rule_place_and_fingerprint() {
        let sarif = write(&samples::report());
        let run = &sarif["runs"][0];
        assert_eq!(run["results"].as_array().unwrap().len(), 2);
        let result = &run["results"][0];
        assert_eq!((&result["ruleId"], &result["level"]), (&json!("schema_mismatch"), &json!("error")));
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(
            (&place["artifactLocation"]["uri"], &place["region"]["startLine"]),
            (&json!("app.jsonl"), &json!(22))
        );
        assert_eq!(result["partialFingerprints"]["primaryLocationLineHash"].as_str().unwrap().len(), 16);
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], "schema_mismatch");
        assert!(rule["properties"]["tags"].as_array().unwrap().contains(&json!("OWASP-LLM09-2025")));
        assert_eq!(rule["properties"].get("security-severity"), None);
    }

    #[test]
    fn what_is_left_out_is_said() {
        let mut report = samples::report();
        report.issues.total = 7000;
        let sarif = write(&report);
        let last = sarif["runs"][0]["results"][1]["message"]["text"].as_str().unwrap();
        assert!(last.ends_with("(6,998 issues more not shown)"), "{last}");
        assert_eq!(sarif["runs"][0]["properties"]["issues"], 7000);
    }

    #[test]
    fn hostile_text_is_escaped() {
        for hostile in samples::HOSTILE {
            let mut out = Vec::new();
            Sarif::default().summary(&samples::hostile_report(hostile), &mut out);
            let text = String::from_utf8(out).unwrap();
            assert!(!text.replace('\n', "").contains(super::super::terminal::is_unsafe), "{hostile:?}");
            assert!(text.lines().all(|line| !line.trim_start().starts_with("::")), "{hostile:?}");
        }
    }
}
