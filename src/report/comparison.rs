//! This report against an earlier one: what got worse, what is new, and whether that can be chance.
//!
//! Rates (flagged or blocked, of those assessed) are compared per question, per stream and question, and per rule by
//! [`two_rates`]; a rate has changed when the 95% interval of the difference leaves 0 out and P is below [`P_MAX`]: the two
//! rest on different approximations, and on few records one alone says more than both bear out. Issues are told apart by
//! their fingerprints: new, known, and gone. Tables leave out what is as before; the JSON has all of it.
//!
//! **Limits**: each rate is tested by itself, so that of many that are as before one in twenty seems to have changed. A
//! report lists the fingerprints of its worst [`ISSUES_MAX`](super::issues::ISSUES_MAX) issues; when the
//! earlier one has more, what seems new may be known ([`IssueChanges::is_complete`]).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    safe_json,
    summary::{QuestionCounted, Report},
    table::{counted, grouped, percent},
    terminal::{Styles, clip, guard_line},
    verdict_record::Questions,
};
use crate::{
    engines::Question,
    stats::two_rates,
    verdict::gate::{ExitStatus, Reason},
};

/// A difference that chance makes at least as often as this is no change.
pub const P_MAX: f64 = 0.05;
/// No comparison lists more streams than this.
pub const STREAM_CHANGES_MAX: usize = 100;

/// An earlier report, as far as it is compared.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Baseline {
    schema: String,
    tool: BaselineTool,
    input: BaselineInput,
    questions: BTreeMap<String, Counts>,
    streams: Vec<BaselineStream>,
    #[serde(default)]
    issues: BaselineIssues,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct BaselineTool {
    version: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct BaselineInput {
    audited: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
struct Counts {
    assessed: u64,
    flagged: u64,
    blocked: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct BaselineStream {
    name: Option<String>,
    kind: Option<String>,
    #[serde(default)]
    requests: u64,
    #[serde(default)]
    questions: BTreeMap<String, Counts>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct BaselineIssues {
    total: u64,
    by_rule: BTreeMap<String, BaselineRule>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct BaselineRule {
    looked_for: u64,
    records: u64,
    fingerprints: Vec<String>,
}

impl Baseline {
    /// Reads a JSON report, or the summary line of a JSON Lines report.
    ///
    /// # Errors
    /// When the text is neither.
    pub fn parse(text: &str) -> Result<Baseline, String> {
        let last_line = || text.trim_end().lines().next_back().unwrap_or_default();
        let parsed = serde_json::from_str(text).or_else(|_| serde_json::from_str(last_line()));
        let baseline: Baseline = parsed.map_err(|_: serde_json::Error| {
            "is no report that can be compared with: that takes `--format json`, or `jsonl` with its last line"
                .to_owned()
        })?;
        if baseline.schema != "llmverify.report/1" {
            return Err(format!("is no report: its schema is `{}`", clip(&baseline.schema, 64)));
        }
        Ok(baseline)
    }

    /// The same of a report at hand.
    pub fn of(report: &Report) -> Baseline {
        let counts = |of: &QuestionCounted| Counts { assessed: of.assessed, flagged: of.flagged, blocked: of.blocked };
        let streams = report.streams.iter().chain(&report.other_streams);
        let rules = report.issues.by_rule.iter().map(|(rule, of)| {
            let fingerprints = of.fingerprints.clone();
            (rule.clone(), BaselineRule { looked_for: of.looked_for, records: of.records, fingerprints })
        });
        Baseline {
            schema: "llmverify.report/1".to_owned(),
            tool: BaselineTool { version: report.tool.version.to_owned() },
            input: BaselineInput { audited: report.input.audited },
            questions: by_name(|question| {
                let of = report.questions.get(question);
                Counts { assessed: of.assessed, flagged: of.flagged, blocked: of.blocked }
            }),
            streams: streams
                .map(|stream| BaselineStream {
                    name: stream.name.clone(),
                    kind: stream.kind.map(str::to_owned),
                    requests: stream.requests,
                    questions: by_name(|question| counts(stream.questions.get(question))),
                })
                .collect(),
            issues: BaselineIssues { total: report.issues.total, by_rule: rules.collect() },
        }
    }

    fn fingerprints(&self) -> BTreeSet<&str> {
        self.issues.by_rule.values().flat_map(|rule| &rule.fingerprints).map(String::as_str).collect()
    }
}

fn by_name(of: impl Fn(Question) -> Counts) -> BTreeMap<String, Counts> {
    Question::ALL.into_iter().map(|question| (question.as_str().to_owned(), of(question))).collect()
}

/// One report against an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The earlier report: the version that wrote it, and its records.
    pub baseline: ComparedRun,
    /// Rates per question; null where one of the reports assessed nothing.
    pub questions: Questions<Option<Change>>,
    /// Rates that have changed, per stream and question, the largest difference first.
    pub streams: Vec<StreamChange>,
    /// Streams that are in this report alone.
    pub streams_new: Vec<String>,
    /// Streams that are in the earlier report alone.
    pub streams_gone: Vec<String>,
    /// Rates per rule that has issues in either report.
    pub rules: Vec<RuleChange>,
    /// Issues by fingerprint.
    pub issues: IssueChanges,
    /// Fingerprints of the listed issues that are new.
    #[serde(skip)]
    pub new_fingerprints: BTreeSet<String>,
}

/// A report that is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComparedRun {
    /// The version that wrote it.
    pub version: String,
    /// Its audited records.
    pub audited: u64,
}

/// A rate, then and now.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// Flagged or blocked in the earlier report.
    pub before: u64,
    /// Of so many.
    pub before_of: u64,
    /// Flagged or blocked now.
    pub after: u64,
    /// Of so many.
    pub after_of: u64,
    /// The rate now less the rate then.
    pub difference: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// How likely a difference at least as large is when nothing has changed.
    pub p: f64,
    /// The test that says so: `fisher` or `score`.
    pub test: &'static str,
    /// Whether the interval leaves 0 out and `p` is below 0.05.
    pub changed: bool,
}

/// A rate of one stream that has changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamChange {
    /// The stream.
    pub stream: Option<String>,
    /// `llm` or `tool`.
    pub kind: Option<String>,
    /// The question.
    pub question: Question,
    /// The rate.
    #[serde(flatten)]
    pub change: Change,
}

/// The rate of one rule.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RuleChange {
    /// The rule.
    pub rule: String,
    /// The rate of its issues among the records on which it was looked for; null where it was on none.
    pub change: Option<Change>,
    /// Listed issues that are new.
    pub new: u64,
    /// Listed issues that are gone.
    pub gone: u64,
}

/// Issues by fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IssueChanges {
    /// In this report alone.
    pub new: u64,
    /// In both.
    pub known: u64,
    /// In the earlier report alone.
    pub gone: u64,
    /// Whether both reports list all of their issues.
    pub is_complete: bool,
}

fn change(before: Counts, after: Counts) -> Option<Change> {
    let (before, after) =
        ((before.flagged + before.blocked, before.assessed), (after.flagged + after.blocked, after.assessed));
    rates(before, after)
}

fn rates(before: (u64, u64), after: (u64, u64)) -> Option<Change> {
    let two_rates::Difference { difference, low, high, p, is_exact } = two_rates::compare(before, after)?;
    Some(Change {
        before: before.0,
        before_of: before.1,
        after: after.0,
        after_of: after.1,
        difference,
        low,
        high,
        p,
        test: if is_exact { "fisher" } else { "score" },
        changed: p < P_MAX && (low > 0.0 || high < 0.0),
    })
}

/// `after` against `before`.
pub fn compare(before: &Baseline, after: &Baseline) -> Comparison {
    let counts =
        |of: &BTreeMap<String, Counts>, question: Question| of.get(question.as_str()).copied().unwrap_or_default();
    let key = |stream: &BaselineStream| (stream.kind.clone(), stream.name.clone());
    let earlier: BTreeMap<_, _> = before.streams.iter().map(|stream| (key(stream), stream)).collect();
    let later: BTreeSet<_> = after.streams.iter().map(key).collect();
    let name = |stream: &BaselineStream| stream.name.clone().unwrap_or_else(|| "(no name)".to_owned());
    let mut streams: Vec<StreamChange> = Vec::new();
    for now in &after.streams {
        let Some(then) = earlier.get(&key(now)) else { continue };
        for question in Question::ALL {
            let found = change(counts(&then.questions, question), counts(&now.questions, question));
            if let Some(change) = found.filter(|change| change.changed) {
                streams.push(StreamChange { stream: now.name.clone(), kind: now.kind.clone(), question, change });
            }
        }
    }
    streams.sort_by(|a, b| b.change.difference.abs().total_cmp(&a.change.difference.abs()));
    streams.truncate(STREAM_CHANGES_MAX);
    let (old, new) = (before.fingerprints(), after.fingerprints());
    let is_new = |stream: &&BaselineStream| !earlier.contains_key(&key(stream));
    let is_gone = |stream: &&BaselineStream| !later.contains(&key(stream));
    Comparison {
        baseline: ComparedRun { version: before.tool.version.clone(), audited: before.input.audited },
        questions: Questions::from_fn(|question| {
            change(counts(&before.questions, question), counts(&after.questions, question))
        }),
        streams,
        streams_new: after.streams.iter().filter(is_new).take(STREAM_CHANGES_MAX).map(name).collect(),
        streams_gone: before.streams.iter().filter(is_gone).take(STREAM_CHANGES_MAX).map(name).collect(),
        rules: rules(before, after, &old, &new),
        issues: IssueChanges {
            new: new.difference(&old).count() as u64,
            known: new.intersection(&old).count() as u64,
            gone: old.difference(&new).count() as u64,
            is_complete: before.issues.total <= old.len() as u64 && after.issues.total <= new.len() as u64,
        },
        new_fingerprints: new.difference(&old).map(|fingerprint| (*fingerprint).to_owned()).collect(),
    }
}

fn rules(before: &Baseline, after: &Baseline, old: &BTreeSet<&str>, new: &BTreeSet<&str>) -> Vec<RuleChange> {
    let names: BTreeSet<&String> = before.issues.by_rule.keys().chain(after.issues.by_rule.keys()).collect();
    let none = BaselineRule::default();
    let mut rules: Vec<RuleChange> = Vec::new();
    for name in names {
        let then = before.issues.by_rule.get(name).unwrap_or(&none);
        let now = after.issues.by_rule.get(name).unwrap_or(&none);
        if then.records + now.records == 0 {
            continue;
        }
        let alone = |of: &BaselineRule, others: &BTreeSet<&str>| {
            of.fingerprints.iter().filter(|fingerprint| !others.contains(fingerprint.as_str())).count() as u64
        };
        rules.push(RuleChange {
            rule: name.clone(),
            change: rates((then.records, then.looked_for), (now.records, now.looked_for)),
            new: alone(now, old),
            gone: alone(then, new),
        });
    }
    let size = |rule: &RuleChange| rule.change.map_or(0.0, |change| change.difference);
    let has_changed = |rule: &RuleChange| rule.change.is_some_and(|change| change.changed);
    rules.sort_by(|a, b| has_changed(b).cmp(&has_changed(a)).then(b.new.cmp(&a.new)).then(size(b).total_cmp(&size(a))));
    rules
}

impl RuleChange {
    /// Whether neither its rate nor its issues are others than before.
    fn is_as_before(&self) -> bool {
        self.new + self.gone == 0 && !self.change.is_some_and(|change| change.changed)
    }
}

impl Report {
    /// Compares with an earlier report, and fails the gate when a question has become worse than the policy allows.
    pub fn compare(&mut self, baseline: &Baseline) {
        let comparison = compare(baseline, &Baseline::of(self));
        if let Some(limit) = self.gate.policy.max_regression
            && let Some(message) = comparison.regression(limit)
        {
            self.gate.add(Reason { exit: ExitStatus::PolicyViolated, rule: "max_regression", message });
        }
        self.comparison = Some(comparison);
    }

    /// Whether the issue with this fingerprint is new, where the report was compared with an earlier one.
    pub fn is_new_issue(&self, fingerprint: &str) -> Option<bool> {
        self.comparison.as_ref().map(|comparison| comparison.new_fingerprints.contains(fingerprint))
    }
}

impl Comparison {
    /// Which question has become worse by more than `limit`, beyond chance, as a sentence.
    pub fn regression(&self, limit: f64) -> Option<String> {
        let changes = self.questions.iter().filter_map(|(question, change)| Some((question, (*change)?)));
        let worst = changes
            .filter(|(_, change)| change.changed && change.low > limit)
            .max_by(|a, b| a.1.low.total_cmp(&b.1.low))?;
        let (question, change) = worst;
        let rate = |hits: u64, of: u64| percent(hits as f64 / of.max(1) as f64);
        Some(format!(
            "{} rose from {} to {}: by at least {} (95% confidence), allowed {}",
            question.as_str(),
            rate(change.before, change.before_of),
            rate(change.after, change.after_of),
            percent(change.low),
            percent(limit)
        ))
    }

    /// The comparison as one JSON object.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = safe_json::pretty(self);
        out.push(b'\n');
        out
    }

    /// The comparison for a terminal.
    pub fn to_text(&self, styles: &Styles) -> String {
        let mut text = String::new();
        for (title, rows) in self.sections() {
            let heading = styles.heading;
            let _ = writeln!(text, "{heading}{title}{heading:#}");
            let widths: Vec<usize> =
                (0..COLUMNS).map(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0)).collect();
            for row in rows {
                let mut line = String::from(" ");
                for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
                    let pad = " ".repeat(width - cell.chars().count());
                    let _ = if i == 0 { write!(line, " {cell}{pad}") } else { write!(line, "  {pad}{cell}") };
                }
                let _ = writeln!(text, "{}", guard_line(line.trim_end()));
            }
            text.push('\n');
        }
        text
    }

    /// The comparison in Markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        for (title, rows) in self.sections() {
            let _ = write!(text, "### {}\n\n", super::markdown::inline(&title));
            for (index, row) in rows.iter().enumerate() {
                let mut cells: Vec<_> = row.iter().map(|cell| super::markdown::inline(cell)).collect();
                if index > 0 {
                    cells[0] = super::markdown::code(&row[0], NAME_CHARS_MAX).into();
                }
                let _ = writeln!(text, "| {} |", cells.join(" | "));
                if index == 0 {
                    text.push_str("|---|--:|--:|--:|--:|---|\n");
                }
            }
            text.push('\n');
        }
        text
    }

    /// What both show: titles with rows, of which the first is the head.
    pub fn sections(&self) -> Vec<(String, Vec<[String; COLUMNS]>)> {
        let head = |first: &str| [first, "before", "after", "difference", "P", ""].map(str::to_owned);
        let mut questions = vec![head("question")];
        for (question, change) in self.questions.iter() {
            questions.push(row(question.as_str().to_owned(), change.as_ref(), String::new()));
        }
        let issues = self.issues;
        let hedge = if issues.is_complete { "" } else { ", of the listed ones" };
        let title = format!(
            "Against {} of llmverify {}: {} new, {} known, {} gone{hedge}",
            counted(self.baseline.audited, "record", "records"),
            clip(&self.baseline.version, 32),
            counted(issues.new, "issue", "issues"),
            grouped(issues.known),
            grouped(issues.gone),
        );
        let mut sections = vec![(title, questions)];
        let rules: Vec<&RuleChange> = self.rules.iter().filter(|rule| !rule.is_as_before()).collect();
        if !rules.is_empty() {
            let note = |rule: &RuleChange| format!("{} new, {} gone", grouped(rule.new), grouped(rule.gone));
            let named = |rule: &RuleChange| clip(&rule.rule, NAME_CHARS_MAX).into_owned();
            let rows = rules.into_iter().map(|rule| row(named(rule), rule.change.as_ref(), note(rule)));
            sections.push(("Rules".to_owned(), std::iter::once(head("rule")).chain(rows).collect()));
        }
        if !self.streams.is_empty() {
            let named = |of: &StreamChange| {
                clip(
                    &format!("{} {}", of.stream.as_deref().unwrap_or("(no name)"), of.question.as_str()),
                    NAME_CHARS_MAX,
                )
                .into_owned()
            };
            let rows = self.streams.iter().map(|of| row(named(of), Some(&of.change), String::new()));
            sections.push(("Streams that changed".to_owned(), std::iter::once(head("stream")).chain(rows).collect()));
        }
        for (title, streams) in [("New streams", &self.streams_new), ("Streams that are gone", &self.streams_gone)] {
            if !streams.is_empty() {
                let cells = |name: &String| {
                    let mut row: [String; COLUMNS] = Default::default();
                    row[0] = clip(name, NAME_CHARS_MAX).into_owned();
                    row
                };
                let mut first: [String; COLUMNS] = Default::default();
                first[0] = "stream".to_owned();
                sections.push((title.to_owned(), std::iter::once(first).chain(streams.iter().map(cells)).collect()));
            }
        }
        sections
    }
}

/// Columns of a comparison.
pub const COLUMNS: usize = 6;
const NAME_CHARS_MAX: usize = 48;

fn row(name: String, change: Option<&Change>, note: String) -> [String; COLUMNS] {
    let dash = || "–".to_owned();
    let Some(change) = change else { return [name, dash(), dash(), dash(), dash(), note] };
    let rate = |hits: u64, of: u64| percent(hits as f64 / of.max(1) as f64);
    let points = |share: f64| format!("{:+.2}", share * 100.0);
    let p = if change.p < 0.0001 { "<0.0001".to_owned() } else { format!("{:.4}", change.p) };
    let verdict = match (change.changed, change.difference > 0.0) {
        (false, _) => "",
        (true, true) => "worse",
        (true, false) => "better",
    };
    let note = [verdict, &note].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    [
        name,
        rate(change.before, change.before_of),
        rate(change.after, change.after_of),
        format!("{} ({} to {})", points(change.difference), points(change.low), points(change.high)),
        p,
        note,
    ]
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Measures, Partial, samples, summary::Totals},
        *,
    };
    use crate::{engines::runtime::health, verdict::gate};

    /// A report on `blocked` blocked records and others that are fine.
    fn report(blocked: u64, fine: u64, policy: &gate::Policy) -> Report {
        let mut partial = Partial::default();
        let measures = Measures { stream: Some("get_weather"), ..Measures::default() };
        (0..blocked).for_each(|line| samples::blocked(line).count(&mut partial, &measures));
        (0..fine).for_each(|line| samples::accepted(10_000 + line).count(&mut partial, &measures));
        let totals = Totals { units: blocked + fine, ..Totals::default() };
        Report::new(partial, &totals, policy, &health::Settings::default())
    }

    fn json(report: &Report) -> Baseline {
        Baseline::parse(&String::from_utf8(safe_json::pretty(report)).unwrap()).unwrap()
    }

    #[test]
    fn a_report_is_read_back_as_it_was() {
        let report = samples::report();
        assert_eq!(json(&report), Baseline::of(&report));
        let comparison = compare(&json(&report), &Baseline::of(&report));
        assert_eq!((comparison.issues.new, comparison.issues.known, comparison.issues.gone), (0, 2, 0));
        assert!(comparison.issues.is_complete && comparison.streams.is_empty());
        assert_eq!(
            comparison.questions.fabricated.map(|change| (change.difference, change.changed)),
            Some((0.0, false))
        );
    }

    #[test]
    fn what_got_worse_fails_and_what_is_new_is_counted() {
        let policy = gate::Policy {
            fail_on: gate::FailOn::Never,
            max_rejected: 1.0,
            max_regression: Some(0.05),
            ..gate::Policy::default()
        };
        let before = report(5, 195, &policy);
        let mut after = report(60, 140, &policy);
        assert!(after.gate.passed);
        after.compare(&json(&before));
        let comparison = after.comparison.as_ref().unwrap();
        assert_eq!((comparison.issues.new, comparison.issues.known, comparison.issues.gone), (55, 5, 0));
        assert!(comparison.questions.fabricated.unwrap().changed);
        assert_eq!(comparison.streams[0].stream.as_deref(), Some("get_weather"));
        assert_eq!((comparison.rules[0].rule.as_str(), comparison.rules[0].new), ("schema_mismatch", 55));
        assert_eq!((after.gate.exit.code(), after.gate.reasons[0].rule), (1, "max_regression"));
        assert!(after.gate.reasons[0].message.starts_with("fabricated rose from 2.50% to 30.00%"));
        let mut same = report(5, 195, &policy);
        same.compare(&json(&before));
        assert!(same.gate.passed);
    }

    #[test]
    fn a_rate_has_changed_when_interval_and_test_agree() {
        for (before, after, changed) in [
            // P = 0.052 by Fisher's test, and the interval begins at +2 points.
            ((0, 30), (5, 30), false),
            ((0, 30), (6, 30), true),
            ((6, 30), (0, 30), true),
            ((50, 1000), (70, 1000), false),
            ((50, 1000), (75, 1000), true),
            ((5, 10), (5, 10), false),
        ] {
            let change = rates(before, after).unwrap();
            assert_eq!(change.changed, changed, "{change:?}");
        }
        assert!(rates((0, 30), (5, 30)).unwrap().low > 0.0);
    }

    #[test]
    fn what_is_as_before_is_in_the_json_alone() {
        let policy = gate::Policy::default();
        let same = compare(&json(&report(5, 195, &policy)), &Baseline::of(&report(5, 195, &policy)));
        assert!(same.rules.len() == 1 && !same.to_text(&Styles::plain()).contains("schema_mismatch"));
        assert!(String::from_utf8(same.to_json()).unwrap().contains("schema_mismatch"));
        let worse = compare(&json(&report(5, 195, &policy)), &Baseline::of(&report(6, 194, &policy)));
        assert!(worse.to_text(&Styles::plain()).contains("1 new, 0 gone"));
    }

    #[test]
    fn what_is_no_report_is_refused() {
        for text in [
            "",
            "{}",
            "[1]",
            r#"{"schema":"x","tool":{"version":"1"},"input":{"audited":1},"questions":{},"streams":[]}"#,
        ] {
            assert!(Baseline::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_text_is_aligned_and_hostile_names_do_nothing() {
        let mut before = Baseline::of(&samples::report());
        before.tool.version = "\u{1b}[2J::error::x".to_owned();
        before.streams[0].name = Some("::error::x\u{202e}".to_owned());
        let comparison = compare(&before, &Baseline::of(&samples::report()));
        let text = comparison.to_text(&Styles::plain());
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
        assert!(text.lines().all(|line| !line.trim_start().starts_with("::")), "{text}");
        assert!(text.contains("Streams that are gone") && text.contains("New streams"), "{text}");
    }
}
