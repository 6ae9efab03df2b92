//! Issues: one per rule and flagged or blocked record, as trackers and CI systems count them.
//!
//! The rule is the signal that fired on a question that was flagged or blocked. An issue has a fingerprint, by which a
//! later run knows it again: a hash of the rule and of who the record is (its own id, else its content; never its line).
//! The worst [`ISSUES_MAX`] are kept, by decision, posterior and order of the input; all are counted.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    aggregate::{Badness, OnDemand},
    explanation::explain,
    summary::Report,
    verdict_record::{Identity, Judged, place},
};
use crate::{
    engines::{Class, Question, Severity, Signal},
    hash,
    verdict::{Decision, Verdict},
};

/// No report keeps more issues than this; code scanning on GitHub shows as many of one run.
pub const ISSUES_MAX: usize = 5000;

/// One rule on one flagged or blocked record.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// The signal that fired.
    pub rule: &'static str,
    /// The question that it bears on.
    pub question: Question,
    /// What was decided on that question.
    pub decision: Decision,
    /// How bad it is, by what was decided of the record.
    pub severity: Severity,
    /// Hash of the rule and of who the record is.
    pub fingerprint: u64,
    /// `llm` or `tool`.
    pub kind: &'static str,
    /// The name of the stream.
    pub stream: Option<String>,
    /// The source of the record.
    pub source: String,
    /// Line on which it begins, from 1.
    pub line: u64,
    /// Position among the records of that line, from 0.
    pub item: Option<u32>,
    /// The id of the record.
    pub id: String,
    /// Why the signal fired.
    pub detail: String,
    /// The verdict on the record in one or two sentences.
    pub explanation: String,
    badness: Badness,
}

impl Issue {
    /// Where the record stands.
    pub fn place(&self) -> String {
        place(&self.source, self.line, self.item)
    }

    /// The fingerprint as reports write it.
    pub fn fingerprint(&self) -> String {
        written(self.fingerprint)
    }

    /// What is wrong, in one line: why the signal fired, and the verdict without its reasons.
    pub fn message(&self) -> String {
        let verdict = self.explanation.split(": ").next().unwrap_or_default();
        if self.detail.is_empty() { self.explanation.clone() } else { format!("{}. {verdict}.", self.detail) }
    }

    pub(super) fn badness(&self) -> Badness {
        self.badness
    }
}

/// A fingerprint as sixteen hexadecimal digits.
pub fn written(fingerprint: u64) -> String {
    format!("{fingerprint:016x}")
}

/// The issues of a judged record. Its texts are made only now: most records have none.
pub(super) fn of_record(
    identity: &Identity<'_>,
    judged: &Judged<'_>,
    stream: Option<&str>,
    on_demand: &OnDemand<'_>,
) -> Vec<Issue> {
    let verdict = judged.verdict;
    let fired = || judged.signals.iter().filter(|signal| is_issue(verdict, signal));
    if fired().next().is_none() {
        return Vec::new();
    }
    let identity_hash = (on_demand.identity_hash)();
    let id = (on_demand.shown)(&identity.own_id());
    let explanation = (on_demand.shown)(&explain(verdict, judged.signals));
    let issue = |signal: &Signal| Issue {
        rule: signal.id,
        question: signal.question,
        decision: verdict.answers[signal.question as usize].decision,
        severity: severity(verdict),
        fingerprint: hash::combine(hash::name(signal.id), identity_hash),
        kind: identity.kind,
        stream: stream.map(str::to_owned),
        source: identity.source.to_owned(),
        line: identity.line,
        item: identity.item,
        id: id.clone(),
        detail: (on_demand.shown)(&signal.detail),
        explanation: explanation.clone(),
        badness: Badness::new(verdict.decision, verdict.deciding_posterior()),
    };
    fired().map(issue).collect()
}

/// Whether `signal` is an issue of a record with this verdict.
pub(super) fn is_issue(verdict: &Verdict, signal: &Signal) -> bool {
    let decision = verdict.answers[signal.question as usize].decision;
    signal.fired
        && decision >= Decision::Flag
        && (signal.class > Class::Evidence || signal.evidence().contribution() > 0.0)
}

fn severity(verdict: &Verdict) -> Severity {
    match verdict.decision {
        Decision::Block if verdict.high_risk => Severity::Critical,
        Decision::Block => Severity::High,
        _ => Severity::Medium,
    }
}

/// The issues of an audit, as the JSON report holds them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct IssueSummary {
    /// Rules on flagged and blocked records: one issue per rule and record.
    pub total: u64,
    /// How many fingerprints are listed at most, those of the worst records.
    pub listed_max: u64,
    /// Issues by rule, with the fingerprints by which a later run knows them again.
    pub by_rule: BTreeMap<String, RuleIssues>,
    /// The worst issues, worst first.
    #[serde(skip)]
    pub worst: Vec<Box<Issue>>,
}

/// The issues of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleIssues {
    /// The question that it bears on.
    pub question: Question,
    /// Records on which it was looked for.
    pub looked_for: u64,
    /// Flagged or blocked records on whose question it fired.
    pub records: u64,
    /// Fingerprints of the listed ones, in their order.
    pub fingerprints: Vec<String>,
}

impl Report {
    /// Issues that are not listed because there are too many.
    pub fn issues_not_listed(&self) -> u64 {
        self.issues.total.saturating_sub(self.issues.worst.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    #[test]
    fn an_issue_is_known_by_rule_and_record_not_by_place() {
        let of = |line, hash| samples::blocked(line).issues(Some("get_weather"), hash);
        let (a, b, c) = (of(3, 7), of(900, 7), of(3, 8));
        assert_eq!(a.len(), 1);
        assert_eq!((a[0].rule, a[0].severity, a[0].decision), ("schema_mismatch", Severity::High, Decision::Block));
        assert_eq!(a[0].fingerprint, b[0].fingerprint);
        assert_ne!(a[0].fingerprint, c[0].fingerprint);
        assert_eq!(a[0].fingerprint().len(), 16);
        assert_eq!(a[0].message(), "the result lacks the required field humidity. Blocked as fabricated (P = 0.53).");
    }

    #[test]
    fn an_accepted_record_has_no_issue() {
        assert!(samples::accepted(1).issues(None, 1).is_empty());
        assert!(samples::scored(1, 0.01).issues(None, 1).is_empty());
    }
}
