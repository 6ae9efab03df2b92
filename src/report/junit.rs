//! JUnit XML, for the test tabs of CI systems: a suite per question, a case per rule and stream, and a suite of the gate.
//!
//! A case fails when a record with that rule in that stream fails the gate by itself (`fail_on`); a rule that was looked
//! for and did not is a passing case; a question on which nothing could be assessed is a skipped one. Rates, the number of
//! records, and what could not be read are the cases of the suite `gate`, where not being able to audit is an error.
//!
//! **Source**: the schema of the Jenkins xUnit plugin (`junit-10.xsd`).
//!
//! **Limits**: [`CASES_MAX`] cases, failing ones first; [`ISSUES_PER_CASE_MAX`] issues are named in a case.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    catalogue,
    format::Format,
    issues::Issue,
    summary::{Report, StreamSignal},
    table::counted,
    terminal::{clip, safe},
};
use crate::{
    engines::Question,
    verdict::gate::{ExitStatus, FailOn},
};

/// Cases of a report; CI systems choke on a million.
pub const CASES_MAX: usize = 10_000;
/// Issues that one case names.
pub const ISSUES_PER_CASE_MAX: usize = 10;

const NAME_CHARS_MAX: usize = 200;
const MESSAGE_CHARS_MAX: usize = 500;

/// The JUnit format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Junit;

impl Format for Junit {
    fn summary(&self, report: &Report, out: &mut Vec<u8>) {
        let mut suites = vec![gate(report)];
        suites.extend(Question::ALL.map(|question| suite(report, question)));
        let mut room = CASES_MAX;
        for suite in &mut suites {
            suite.cases.sort_by_key(|case| matches!(case.outcome, Outcome::Passed | Outcome::Skipped(_)));
            suite.cases.truncate(room);
            room -= suite.cases.len();
        }
        out.extend_from_slice(write(&suites).as_bytes());
    }
}

struct Suite {
    name: &'static str,
    cases: Vec<Case>,
}

struct Case {
    class: String,
    name: String,
    outcome: Outcome,
    /// Said beside the outcome.
    text: String,
}

enum Outcome {
    Passed,
    Skipped(String),
    Failed(String),
    CouldNotAudit(String),
}

/// The rules of the gate, each a case.
fn gate(report: &Report) -> Suite {
    let policy = &report.gate.policy;
    let asked = [
        ("unreadable_sources", true),
        ("min_records", true),
        ("max_rejected", true),
        ("min_assessed", true),
        ("fail_on", policy.fail_on != FailOn::Never),
        ("max_block_rate", policy.max_block_rate.is_some()),
        ("max_flag_rate", policy.max_flag_rate.is_some()),
        ("min_trust", policy.min_trust.is_some()),
        ("max_regression", policy.max_regression.is_some()),
    ];
    let case = |rule: &'static str| {
        let reasons: Vec<_> = report.gate.reasons.iter().filter(|reason| reason.rule == rule).collect();
        let looks_at_nothing = report.checks.iter().any(|check| check.name == rule && check.records == 0);
        let passed = if looks_at_nothing { Outcome::Skipped("no records".to_owned()) } else { Outcome::Passed };
        let outcome = reasons.first().map_or(passed, |reason| {
            let message = reasons.iter().map(|reason| reason.message.as_str()).collect::<Vec<_>>().join("; ");
            if reason.exit == ExitStatus::CouldNotAudit {
                Outcome::CouldNotAudit(message)
            } else {
                Outcome::Failed(message)
            }
        });
        Case { class: "llmverify.gate".to_owned(), name: rule.to_owned(), outcome, text: String::new() }
    };
    let rules = asked.into_iter().filter(|(_, is_asked)| *is_asked).map(|(rule, _)| rule);
    // What is asserted of every record has a case in each stream, under its question.
    let expected = report.checks.iter().filter(|check| check.expect.is_some()).map(|check| check.name);
    Suite { name: "gate", cases: rules.chain(expected).map(case).collect() }
}

/// The rules that bear on one question, by stream.
fn suite(report: &Report, question: Question) -> Suite {
    let mut listed: BTreeMap<(&str, Option<&str>), Vec<&Issue>> = BTreeMap::new();
    for issue in report.issues.worst.iter().filter(|issue| issue.question == question) {
        listed.entry((issue.rule, issue.stream.as_deref())).or_default().push(issue);
    }
    let none = Vec::new();
    let signals = report.details.signals.iter().filter(|signal| signal.question == question && signal.applicable > 0);
    let mut cases: Vec<Case> = signals
        .map(|signal| {
            let issues = listed.get(&(signal.id, signal.stream.as_deref())).unwrap_or(&none);
            case(signal, issues, report.gate.policy.fail_on)
        })
        .collect();
    for stream in report.streams.iter().filter(|stream| stream.questions.get(question).assessed == 0) {
        let outcome = Outcome::Skipped("nothing to go on".to_owned());
        let class = class(stream.kind, stream.name.as_deref());
        cases.push(Case { class, name: question.as_str().to_owned(), outcome, text: String::new() });
    }
    Suite { name: question.as_str(), cases }
}

fn class(kind: Option<&str>, stream: Option<&str>) -> String {
    match kind {
        Some(kind) => format!("{kind}.{}", stream.unwrap_or("(no name)")),
        None => "(others)".to_owned(),
    }
}

fn case(signal: &StreamSignal, issues: &[&Issue], fail_on: FailOn) -> Case {
    let failing = match fail_on {
        FailOn::High => signal.high_risk,
        FailOn::Block => signal.blocked,
        FailOn::Flag => signal.issues,
        FailOn::Never => 0,
    };
    let mut text = String::new();
    for issue in issues.iter().take(ISSUES_PER_CASE_MAX) {
        let _ =
            writeln!(text, "{}: {}", clip(&issue.place(), NAME_CHARS_MAX), clip(&issue.message(), MESSAGE_CHARS_MAX));
    }
    let more = signal.issues.saturating_sub(issues.len().min(ISSUES_PER_CASE_MAX) as u64);
    if more > 0 {
        let _ = writeln!(text, "and {}", counted(more, "record more", "records more"));
    }
    let outcome = if failing > 0 {
        let of = counted(signal.applicable, "record", "records");
        Outcome::Failed(format!("{} {failing} of {of}", catalogue::title(signal.id)))
    } else {
        Outcome::Passed
    };
    Case { class: class(signal.kind, signal.stream.as_deref()), name: signal.id.to_owned(), outcome, text }
}

fn write(suites: &[Suite]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let total = |is: fn(&Outcome) -> bool| suites.iter().map(|suite| suite.count(is)).sum::<usize>();
    let cases: usize = suites.iter().map(|suite| suite.cases.len()).sum();
    let (failures, errors) = (total(Outcome::is_failed), total(Outcome::is_error));
    let _ =
        writeln!(xml, "<testsuites name=\"llmverify\" tests=\"{cases}\" failures=\"{failures}\" errors=\"{errors}\">");
    for suite in suites {
        let (failures, errors) = (suite.count(Outcome::is_failed), suite.count(Outcome::is_error));
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{}\">",
            suite.name,
            suite.cases.len(),
            suite.count(Outcome::is_skipped)
        );
        suite.cases.iter().for_each(|case| case.write(&mut xml));
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

impl Suite {
    fn count(&self, is: fn(&Outcome) -> bool) -> usize {
        self.cases.iter().filter(|case| is(&case.outcome)).count()
    }
}

impl Outcome {
    fn is_failed(&self) -> bool {
        matches!(self, Outcome::Failed(_))
    }

    fn is_error(&self) -> bool {
        matches!(self, Outcome::CouldNotAudit(_))
    }

    fn is_skipped(&self) -> bool {
        matches!(self, Outcome::Skipped(_))
    }
}

impl Case {
    fn write(&self, xml: &mut String) {
        let (class, name) = (escaped(&clip(&self.class, NAME_CHARS_MAX)), escaped(&clip(&self.name, NAME_CHARS_MAX)));
        let _ = write!(xml, "    <testcase classname=\"{class}\" name=\"{name}\" time=\"0\"");
        let (tag, message) = match &self.outcome {
            Outcome::Passed if self.text.is_empty() => return xml.push_str("/>\n"),
            Outcome::Passed => {
                let _ = writeln!(xml, ">\n      <system-out>{}</system-out>\n    </testcase>", body(&self.text));
                return;
            }
            Outcome::Skipped(message) => ("skipped", message),
            Outcome::Failed(message) => ("failure", message),
            Outcome::CouldNotAudit(message) => ("error", message),
        };
        let message = escaped(&clip(message, MESSAGE_CHARS_MAX));
        let text = body(&self.text);
        let _ = writeln!(xml, ">\n      <{tag} type=\"{name}\" message=\"{message}\">{text}</{tag}>\n    </testcase>");
    }
}

/// Lines of text, each made safe, as XML.
fn body(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| escaped(&safe(line))).collect();
    lines.join("\n")
}

/// Text as XML: what XML cannot hold at all becomes U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    fn write(report: &Report) -> String {
        let mut out = Vec::new();
        Junit.summary(report, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_case_per_rule_and_stream() {
        let mut report = samples::report();
        let xml = write(&report);
        assert!(xml.contains("<testcase classname=\"tool.get_weather\" name=\"schema_mismatch\""), "{xml}");
        assert!(xml.contains("<error type=\"max_rejected\""), "{xml}");
        let failing = |xml: &str| xml.matches("<failure").count();
        // The gate, and the record.
        assert_eq!(failing(&xml), 2, "{xml}");
        assert!(xml.contains("app.jsonl:22: the result lacks the required field humidity"), "{xml}");
        assert!(xml.contains("<skipped type=\"attacked\" message=\"nothing to go on\"></skipped>"), "{xml}");
        report.gate.policy.fail_on = FailOn::High;
        assert_eq!(failing(&write(&report)), 1, "a record that is not at high risk fails nothing by itself");
    }

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(escaped("<a b=\"c\">&'\0\u{ffff}]]>"), "&lt;a b=&quot;c&quot;&gt;&amp;&apos;\u{fffd}\u{fffd}]]&gt;");
        for hostile in samples::HOSTILE {
            let xml = write(&samples::hostile_report(hostile));
            assert!(!xml.replace('\n', "").contains(super::super::terminal::is_unsafe), "{hostile:?}");
            assert!(xml.lines().all(|line| !line.trim_start().starts_with("::")), "{hostile:?}");
        }
    }
}
