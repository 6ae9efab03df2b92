//! The report object: what the whole audit says, the same in every format.

use std::{borrow::Cow, cmp::Reverse, collections::BTreeMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    aggregate::{
        CALIBRATION_BINS, CalibrationCounts, EVENTS_MAX, FindingCounts, PROBLEMS_LISTED_MAX, Partial, QuestionCounts,
        REJECTED_LISTED_MAX, RuleCounts, STREAMS_MAX, SignalCounts, StreamCounts,
    },
    checks::CheckSummary,
    claims::ClaimSummary,
    comparison::Comparison,
    control::{ControlBucket, ControlSeries},
    coverage::Coverage,
    formats::FormatSummary,
    issues::{ISSUES_MAX, Issue, IssueSummary, RuleIssues},
    prices::{Cost, Unpriced},
    terminal::clip,
    timeline::{Decisions, TimelineSummary},
    times::{TimeDoubt, doubts},
    unread::UnreadSummary,
    verdict_record::{Questions, RejectedUnit, VerdictRecord},
};
use crate::{
    engines::{Question, Severity, runtime::health},
    rules::suppress::{Suppression, Suppressions},
    stats::{histogram::Histogram, wilson},
    text::excerpt::shown,
    verdict::{
        gate::{self, Counts, Outcome},
        service,
    },
};

/// No report lists more signals, or more rules, than this.
pub const TOP_MAX: usize = 20;
/// No report object shows more of the worst records than this; the HTML report shows more.
pub const WORST_SHOWN_MAX: usize = 10;

/// The whole audit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// Name and version of this object's format.
    pub schema: ReportSchema,
    /// What wrote it.
    pub tool: Tool,
    /// Whether the audit passed, and why not.
    pub gate: Outcome,
    /// What was read, and what became of it.
    pub input: Input,
    /// What the log was written by.
    pub formats: FormatSummary,
    /// What the LLM calls hold of what is judged.
    pub coverage: Coverage,
    /// Claims of answers against their documents; absent when no answer has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grounding: Option<ClaimSummary>,
    /// What went into no record.
    pub unread: UnreadSummary,
    /// Times whose unit cannot be right.
    pub time_doubts: Vec<TimeDoubt>,
    /// Decisions over all records.
    pub verdicts: Verdicts,
    /// Decisions per question.
    pub questions: Questions<QuestionSummary>,
    /// The runtime engines over all records in one number; null when they never applied.
    pub health: Option<StreamHealth>,
    /// One entry per model and tool, the busiest first.
    pub streams: Vec<StreamSummary>,
    /// The streams beyond the limit, counted together.
    pub other_streams: Option<StreamSummary>,
    /// Levels that have shifted.
    pub events: Vec<Event>,
    /// How many levels have shifted.
    pub events_total: u64,
    /// Decisions over time.
    pub timeline: TimelineSummary,
    /// What stands out.
    pub top: Top,
    /// Rules on flagged and blocked records, and how a later run knows them again.
    pub issues: IssueSummary,
    /// The checks of the configuration; absent when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckSummary>,
    /// What the tokens cost, by the prices of the configuration.
    pub cost: Vec<Cost>,
    /// What no price fits; absent when there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpriced: Option<Unpriced>,
    /// This report against an earlier one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// The units that are no records.
    pub rejected: RejectedSummary,
    /// The fields that were present but could not be used.
    pub problems: ProblemSummary,
    /// What a person has accepted, and what of that was not found or has expired.
    pub suppressions: SuppressionSummary,
    /// The limits that were reached.
    pub limits_reached: Vec<LimitReached>,
    /// What only some formats show.
    #[serde(skip)]
    pub details: Details,
}

/// What only some formats show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The worst records, worst first; [`Top::records`] are the first of them.
    pub worst: Vec<Box<VerdictRecord>>,
    /// How often each signal was looked for and found in each stream.
    pub signals: Vec<StreamSignal>,
    /// Latency over all streams, as upper ends of bins and counts.
    pub latency_ms: Vec<(f64, u64)>,
    /// Tokens per second over all streams, as upper ends of bins and counts.
    pub tokens_per_second: Vec<(f64, u64)>,
    /// The control charts of the busiest streams.
    pub charts: Vec<StreamChart>,
    /// Posterior of `fabricated` against the labels in the log; empty without labels.
    pub calibration: Vec<CalibrationBin>,
}

/// How often one signal was looked for and found in one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSignal {
    /// The signal.
    pub id: &'static str,
    /// The question that it bears on.
    pub question: Question,
    /// `llm` or `tool`; `None` for several streams together.
    pub kind: Option<&'static str>,
    /// The stream.
    pub stream: Option<String>,
    /// Records on which it was looked for.
    pub applicable: u64,
    /// Records on which it fired.
    pub fired: u64,
    /// Records on which it fired and whose question was flagged or blocked.
    pub issues: u64,
    /// Of those, blocked records.
    pub blocked: u64,
    /// Of those, records at high risk.
    pub high_risk: u64,
}

/// One control chart.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamChart {
    /// The stream.
    pub stream: Option<String>,
    /// `llm` or `tool`.
    pub kind: &'static str,
    /// What it is a chart of.
    pub what: &'static str,
    /// The unit.
    pub unit: &'static str,
    /// The number of the first point of each bucket, and the bucket.
    pub buckets: Vec<(u64, ControlBucket)>,
}

/// Labelled records whose posteriors are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationBin {
    /// Lower end of the posteriors.
    pub from: f64,
    /// Upper end.
    pub to: f64,
    /// Labelled records.
    pub labelled: u64,
    /// Those labelled yes.
    pub positive: u64,
    /// Their mean posterior.
    pub mean: f64,
}

/// No report draws the control charts of more streams than this.
pub const CHARTED_STREAMS_MAX: usize = 12;

/// What a person has accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SuppressionSummary {
    /// Hits that were taken out.
    pub hits: u64,
    /// Entries that took none out; delete them.
    pub unused: Vec<SuppressionEntry>,
    /// Entries that have expired: what they accepted counts again.
    pub expired: Vec<SuppressionEntry>,
    /// What could be suppressed, while suppressions are drafted: rule and fingerprint, and where it was first seen.
    #[serde(skip)]
    pub drafts: BTreeMap<(String, String), String>,
    #[serde(skip)]
    by_entry: BTreeMap<usize, u64>,
}

/// One entry of the file of suppressions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SuppressionEntry {
    /// The rule.
    pub rule: String,
    /// What it found, as a keyed hash.
    pub fingerprint: String,
    /// Who accepted it.
    pub owner: String,
}

impl SuppressionSummary {
    /// Names the entries of `suppressions` that have expired or were of no use.
    pub fn name(&mut self, suppressions: &Suppressions) {
        let entry = |of: &Suppression| SuppressionEntry {
            rule: of.rule.clone(),
            fingerprint: of.fingerprint.clone(),
            owner: shown(&of.owner),
        };
        let entries = suppressions.entries();
        self.expired = suppressions.expired().iter().map(|index| entry(&entries[*index])).collect();
        let is_unused = |index: &usize| !self.by_entry.contains_key(index) && !suppressions.expired().contains(index);
        self.unused = (0..entries.len()).filter(is_unused).map(|index| entry(&entries[index])).collect();
    }
}

/// Name and version of the format of [`Report`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub enum ReportSchema {
    /// The first version.
    #[default]
    #[serde(rename = "llmverify.report/1")]
    V1,
}

/// The program that wrote a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// What the reader counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sources that were opened or tried.
    pub files: u64,
    /// Bytes, after decompression.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
    /// Lines with nothing on them.
    pub blank_lines: u64,
    /// Units, as the reader cut them, those of many items counted once.
    pub units: u64,
    /// Sources that could not be opened, or not read to their end.
    pub unreadable_sources: u64,
    /// The names of the first of them.
    pub unreadable: Vec<String>,
}

/// What was read, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Input {
    /// Sources that were opened or tried.
    pub files: u64,
    /// Sources that could not be opened, or not read to their end.
    pub unreadable_sources: u64,
    /// Bytes, after decompression.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
    /// Lines with nothing on them.
    pub blank_lines: u64,
    /// Units as the reader cut them, a unit of many items (an array on one line) counted as so many.
    pub units: u64,
    /// Units that became an audited record.
    pub audited: u64,
    /// Units with feedback.
    pub feedback: u64,
    /// Units that are part of another record.
    pub merged: u64,
    /// Units that repeat their children.
    pub parent: u64,
    /// Units that are no record.
    pub rejected: u64,
    /// Units that a filter (`--since`, `--until`, `--sample`) left out, and those that hold no call (`formats.no_call`).
    pub skipped: u64,
    /// Audited records of which a field was present but unusable; also counted in `audited`.
    pub partially_read: u64,
    /// Audited records whose time is before that of the record before them in their stream.
    pub timestamps_backwards: u64,
    /// Whether audited + feedback + merged + parent + rejected + skipped is units: whether everything that was read
    /// was also accounted for.
    pub ledger_adds_up: bool,
}

/// Decisions over all records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verdicts {
    /// Counts of the decisions.
    #[serde(flatten)]
    pub decisions: Decisions,
    /// Records with a proof, or a posterior of 0.9, on a question that blocks.
    pub high_risk: u64,
}

/// Decisions on one question.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QuestionSummary {
    /// Records on which it had something to go on.
    pub assessed: u64,
    /// Records on which it had not.
    pub not_assessed: u64,
    /// Records that it flagged.
    pub flagged: u64,
    /// Records that it blocked.
    pub blocked: u64,
    /// Flagged or blocked, of those assessed.
    pub rate: Option<f64>,
    /// Lower end of the 95% interval of the rate.
    pub wilson_low: Option<f64>,
    /// Upper end of the 95% interval of the rate.
    pub wilson_high: Option<f64>,
}

/// One model or tool.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamSummary {
    /// Its name; null when the records do not say.
    pub name: Option<String>,
    /// `llm` or `tool`; null for several streams together.
    pub kind: Option<&'static str>,
    /// Records.
    pub requests: u64,
    /// Records that ended with an error.
    pub errors: u64,
    /// Latency or execution time, in milliseconds.
    pub latency_ms: Quantiles,
    /// Time to the first token, in milliseconds.
    pub ttft_ms: Quantiles,
    /// Response tokens per second over all calls that report both numbers.
    pub tokens_per_second: Option<f64>,
    /// Tokens in the prompts.
    pub prompt_tokens: u64,
    /// Tokens in the responses.
    pub response_tokens: u64,
    /// The runtime engines in one number; null when they never applied.
    pub health: Option<StreamHealth>,
    /// What was decided.
    pub verdicts: Decisions,
    /// What was decided per question.
    pub questions: Questions<QuestionCounted>,
    /// What its tokens cost, by the prices of the configuration.
    pub cost: Vec<Cost>,
    /// What of it no price fits; absent when there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpriced: Option<Unpriced>,
    /// Records whose time is before that of the record before them in their stream.
    pub timestamps_backwards: u64,
    /// What no single record of it shows; each is a reason of the gate.
    pub facts: Vec<StreamFact>,
}

impl StreamSummary {
    /// How it is, in a word: what is wrong with the whole of it goes before the mean of its records.
    pub fn condition(&self) -> Option<&'static str> {
        match self.facts.first() {
            Some(fact) if fact.rule == service::LEVEL_SHIFT => Some("slower"),
            Some(_) => Some("failing"),
            None => self.health.as_ref().map(|health| health.label),
        }
    }
}

/// What is wrong with a whole stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StreamFact {
    /// The rule of the gate.
    pub rule: &'static str,
    /// What was found, as a sentence without a full stop.
    pub message: String,
}

/// Decisions on one question in one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QuestionCounted {
    /// Records on which it had something to go on.
    pub assessed: u64,
    /// Records that it flagged.
    pub flagged: u64,
    /// Records that it blocked.
    pub blocked: u64,
}

/// What stands out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Top {
    /// The signals that fired most.
    pub signals: Vec<SignalSummary>,
    /// The categories of rules of which something was found, the worst first.
    pub categories: Vec<CategorySummary>,
    /// The rules that were found most.
    pub findings: Vec<RuleSummary>,
    /// The worst records: by decision, then by posterior, then in input order.
    pub records: Vec<VerdictRecord>,
}

/// Percentiles, within 1%; null without a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Quantiles {
    /// The median.
    pub p50: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
}

/// Health of one stream.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamHealth {
    /// Mean of the records' scores: 0 is well, 1 is unwell.
    pub score: f64,
    /// The label of the mean.
    pub label: &'static str,
    /// Records with each label.
    pub counts: HealthCounts,
}

/// Records with each label of health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HealthCounts {
    /// Scores up to 0.25.
    pub stable: u64,
    /// Scores up to 0.50.
    pub minor_variation: u64,
    /// Scores up to 0.75.
    pub degraded: u64,
    /// Scores above.
    pub unstable: u64,
}

/// A level that has shifted: one event of the stream, not one per record.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Event {
    /// The stream; null when the records do not name it.
    pub stream: Option<String>,
    /// `llm` or `tool`.
    pub kind: &'static str,
    /// What has shifted: `latency_ms`, `tokens_per_second`, `result_length`, or a field of the result.
    pub chart: String,
    /// The level before.
    pub from: f64,
    /// The level after.
    pub to: f64,
    /// The unit of both.
    pub unit: &'static str,
    /// When the new level began, in RFC 3339.
    pub began: Option<String>,
    /// The source of the record on which it was seen.
    pub source: String,
    /// The line of that record.
    pub line: u64,
    /// The id of that record.
    pub record: String,
    /// The time of that record, in RFC 3339.
    pub timestamp: Option<String>,
}

/// How often a signal fired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SignalSummary {
    /// Its name.
    pub id: &'static str,
    /// The question that it bears on.
    pub question: Question,
    /// Records on which it fired.
    pub fired: u64,
    /// Records on which it was looked for.
    pub applicable: u64,
}

/// How often a rule was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleSummary {
    /// `family/name`.
    pub rule: Cow<'static, str>,
    /// The worst severity with which it was found.
    pub severity: Severity,
    /// Places.
    pub findings: u64,
    /// Records with at least one.
    pub records: u64,
}

/// How often rules of a category were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CategorySummary {
    /// `family/category` of the rule, as `llmverify rules` lists them; the family alone for what no table of rules finds.
    pub category: Cow<'static, str>,
    /// The worst severity with which one of its rules was found.
    pub severity: Severity,
    /// Places.
    pub findings: u64,
    /// Records with at least one.
    pub records: u64,
}

/// The units that are no records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RejectedSummary {
    /// How many there are.
    pub total: u64,
    /// How many of them are listed at most.
    pub listed_max: u64,
    /// The first of them.
    pub first: Vec<RejectedUnit>,
}

/// The fields that were present but could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProblemSummary {
    /// How many there are.
    pub total: u64,
    /// How many of them are listed at most.
    pub listed_max: u64,
    /// The first of them.
    pub first: Vec<PlacedProblem>,
}

/// A field that was present but could not be used, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlacedProblem {
    /// The source that the record comes from.
    pub source: String,
    /// Line on which the record begins, from 1.
    pub line: u64,
    /// Position among the records of that line, from 0; absent when the line holds one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// Offset of the record's first byte in the (decompressed) source.
    pub byte: u64,
    /// The field.
    pub field: String,
    /// Why it could not be used, as a clause.
    pub reason: String,
}

/// A limit that was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LimitReached {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub limit: u64,
    /// How often it was reached.
    pub times: u64,
}

impl Report {
    /// The report on everything that was counted.
    pub fn new(whole: Partial, totals: &Totals, policy: &gate::Policy, health: &health::Settings) -> Report {
        let limits_reached = limits(&whole);
        let all = whole.streams.all();
        let streams = streams(&whole, health, policy);
        let named = |stream: &StreamSummary| {
            let name = clip(stream.name.as_deref().unwrap_or("(no model)"), NAME_CHARS_MAX).into_owned();
            let facts = stream.facts.clone();
            facts.into_iter().map(move |fact| (fact.rule, format!("{name}: {}", fact.message)))
        };
        let small = small_streams(&whole, policy).into_iter();
        let facts: Vec<(&'static str, String)> = streams.iter().flat_map(named).chain(small).collect();
        let details = details(&whole, &all);
        let top_records = whole.worst.iter().take(WORST_SHOWN_MAX).map(|record| (**record).clone()).collect();
        Report {
            schema: ReportSchema::V1,
            tool: Tool { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") },
            gate: gate::decide(policy, &counts(&whole, totals), &facts),
            input: input(&whole, totals),
            formats: whole.formats.summary(),
            coverage: whole.coverage,
            grounding: whole.claims.summary(),
            unread: whole.unread.summary(),
            time_doubts: time_doubts(&whole),
            verdicts: Verdicts { decisions: whole.decisions, high_risk: whole.high_risk },
            questions: Questions::from_fn(|question| question_summary(whole.questions.get(question))),
            health: stream_health(&all, health),
            streams,
            other_streams: (whole.streams.others.requests > 0)
                .then(|| stream_summary(None, None, &whole.streams.others, health)),
            events_total: whole.events_total,
            timeline: whole.timeline.clone().finish(),
            top: Top {
                signals: top_signals(&all),
                categories: top_categories(&whole),
                findings: top_findings(&whole),
                records: top_records,
            },
            cost: all.costs.finish(),
            unpriced: all.costs.unpriced(),
            checks: Vec::new(),
            comparison: None,
            details: Details { worst: whole.worst, ..details },
            issues: issues(whole.issues, whole.issues_total, &all),
            rejected: RejectedSummary {
                total: whole.ledger.rejected,
                listed_max: REJECTED_LISTED_MAX as u64,
                first: whole.rejected,
            },
            problems: ProblemSummary {
                total: whole.problems_total,
                listed_max: PROBLEMS_LISTED_MAX as u64,
                first: whole.problems,
            },
            events: whole.events,
            suppressions: SuppressionSummary {
                hits: whole.suppressed.values().sum(),
                by_entry: whole.suppressed,
                drafts: whole.drafts,
                ..SuppressionSummary::default()
            },
            limits_reached,
        }
    }
}

impl Report {
    /// What every report for people says before its verdicts: what was read, what there is to judge, what is doubtful.
    pub(super) fn notices(&self) -> Vec<String> {
        let mut notices: Vec<String> =
            [self.formats.line(), self.coverage.line(), self.grounding.map(|claims| claims.line()), self.unread.line()]
                .into_iter()
                .flatten()
                .collect();
        notices.extend(self.time_doubts.iter().take(DOUBTS_SHOWN_MAX).map(|doubt| {
            let name = doubt.stream.as_deref().unwrap_or("(no model)");
            format!("doubtful times of {}: {}", clip(name, NAME_CHARS_MAX), doubt.message)
        }));
        notices
    }
}

/// Models whose times are doubtful that the head of a report names.
const DOUBTS_SHOWN_MAX: usize = 5;
const NAME_CHARS_MAX: usize = 48;

fn time_doubts(whole: &Partial) -> Vec<TimeDoubt> {
    let models = whole.streams.iter().filter(|((kind, _), _)| *kind == "llm");
    models.flat_map(|((_, name), counts)| doubts(name.as_deref(), &counts.measured())).collect()
}

fn counts(whole: &Partial, totals: &Totals) -> Counts {
    Counts {
        units: units(whole, totals).saturating_sub(whole.ledger.skipped),
        audited: whole.ledger.audited,
        accept: whole.decisions.accept,
        flag: whole.decisions.flag,
        block: whole.decisions.block,
        not_assessed: whole.decisions.not_assessed,
        high_risk: whole.high_risk,
        rejected: whole.ledger.rejected,
        unaccounted: whole.ledger.total().abs_diff(units(whole, totals)),
        partially_read: whole.ledger.partially_read,
        unreadable_sources: totals.unreadable_sources,
        unreadable: totals.unreadable.iter().map(|name| shown(name)).collect(),
        answerable: whole.coverage.answerable(),
        answered: whole.coverage.response,
        empty: whole.coverage.empty,
        supported_claims: whole.claims.of_all().0,
        claims: whole.claims.of_all().1,
    }
}

/// What there is to account for.
fn units(whole: &Partial, totals: &Totals) -> u64 {
    totals.units + whole.ledger.further_items
}

fn input(whole: &Partial, totals: &Totals) -> Input {
    let ledger = &whole.ledger;
    Input {
        files: totals.files,
        unreadable_sources: totals.unreadable_sources,
        bytes: totals.bytes,
        lines: totals.lines,
        blank_lines: totals.blank_lines,
        units: units(whole, totals),
        audited: ledger.audited,
        feedback: ledger.feedback,
        merged: ledger.merged,
        parent: ledger.parent,
        rejected: ledger.rejected,
        skipped: ledger.skipped,
        partially_read: ledger.partially_read,
        timestamps_backwards: whole.streams.all().timestamps_backwards,
        ledger_adds_up: ledger.total() == units(whole, totals),
    }
}

fn question_summary(counts: &QuestionCounts) -> QuestionSummary {
    let hits = counts.flagged + counts.blocked;
    let interval = wilson::interval(hits, counts.assessed);
    QuestionSummary {
        assessed: counts.assessed,
        not_assessed: counts.not_assessed,
        flagged: counts.flagged,
        blocked: counts.blocked,
        rate: (counts.assessed > 0).then(|| hits as f64 / counts.assessed as f64),
        wilson_low: interval.map(|(low, _)| low),
        wilson_high: interval.map(|(_, high)| high),
    }
}

fn streams(whole: &Partial, health: &health::Settings, policy: &gate::Policy) -> Vec<StreamSummary> {
    let summary = |((kind, name), counts): (&(&'static str, Option<String>), &StreamCounts)| {
        let facts = stream_facts(kind, counts, policy);
        StreamSummary { facts, ..stream_summary(name.clone(), Some(kind), counts, health) }
    };
    let mut streams: Vec<StreamSummary> = whole.streams.iter().map(summary).collect();
    streams.sort_by_key(|stream| Reverse(stream.requests));
    streams
}

fn stream_facts(kind: &str, counts: &StreamCounts, policy: &gate::Policy) -> Vec<StreamFact> {
    let [latency, output] = &counts.charts;
    let stream = service::Stream {
        records: counts.requests,
        degraded: counts.degraded,
        latency: latency.blocks(),
        // The second chart of a tool is the size of its answers.
        speed: if kind == "llm" { output.blocks() } else { Vec::new() },
        failed: counts.failed.blocks(),
    };
    let found = service::facts(&stream, &policy.service());
    found.into_iter().map(|fact| StreamFact { rule: fact.rule, message: fact.message }).collect()
}

/// What is wrong with the streams that are too small to be judged by themselves, together: a service is no less dead for its
/// many names.
fn small_streams(whole: &Partial, policy: &gate::Policy) -> Vec<(&'static str, String)> {
    let small = whole.streams.iter().map(|(_, counts)| counts).filter(|counts| counts.requests < service::RECORDS_MIN);
    let small: Vec<&StreamCounts> = small.chain([&whole.streams.others]).filter(|counts| counts.requests > 0).collect();
    let stream = service::Stream {
        records: small.iter().map(|counts| counts.requests).sum(),
        degraded: small.iter().map(|counts| counts.degraded).sum(),
        ..service::Stream::default()
    };
    let name = match small.len() {
        1 => "streams that are not told apart".to_owned(),
        n => format!("{n} small streams together"),
    };
    let found = service::facts(&stream, &policy.service()).into_iter();
    found.map(|fact| (fact.rule, format!("{name}: {}", fact.message))).collect()
}

fn stream_summary(
    name: Option<String>,
    kind: Option<&'static str>,
    counts: &StreamCounts,
    health: &health::Settings,
) -> StreamSummary {
    let latency_s = counts.timed_latency_us as f64 / 1e6;
    StreamSummary {
        name,
        kind,
        requests: counts.requests,
        errors: counts.errors,
        latency_ms: quantiles(&counts.latency_ms),
        ttft_ms: quantiles(&counts.ttft_ms),
        tokens_per_second: (latency_s > 0.0).then(|| counts.timed_tokens as f64 / latency_s),
        prompt_tokens: counts.prompt_tokens,
        response_tokens: counts.response_tokens,
        health: stream_health(counts, health),
        verdicts: counts.decisions,
        questions: Questions::from_fn(|question| {
            let QuestionCounts { assessed, flagged, blocked, .. } = *counts.questions.get(question);
            QuestionCounted { assessed, flagged, blocked }
        }),
        cost: counts.costs.finish(),
        unpriced: counts.costs.unpriced(),
        timestamps_backwards: counts.timestamps_backwards,
        facts: Vec::new(),
    }
}

fn quantiles(histogram: &Histogram) -> Quantiles {
    Quantiles { p50: histogram.quantile(0.5), p95: histogram.quantile(0.95), p99: histogram.quantile(0.99) }
}

fn stream_health(counts: &StreamCounts, settings: &health::Settings) -> Option<StreamHealth> {
    let [stable, minor_variation, degraded, unstable] = counts.health_labels;
    let n = stable + minor_variation + degraded + unstable;
    if n == 0 {
        return None;
    }
    let score = counts.health_micro as f64 / 1e6 / n as f64;
    let label = health::label(score, settings);
    Some(StreamHealth { score, label, counts: HealthCounts { stable, minor_variation, degraded, unstable } })
}

fn details(whole: &Partial, all: &StreamCounts) -> Details {
    let others = (None, None, &whole.streams.others);
    let streams = || whole.streams.iter().map(|((kind, name), counts)| (Some(*kind), name.clone(), counts));
    let signals = |(kind, stream, counts): (Option<&'static str>, Option<String>, &StreamCounts)| {
        let signal = |((id, question), counts): (&(&'static str, Question), &SignalCounts)| StreamSignal {
            id,
            question: *question,
            kind,
            stream: stream.clone(),
            applicable: counts.applicable,
            fired: counts.fired,
            issues: counts.issues,
            blocked: counts.blocked,
            high_risk: counts.high_risk,
        };
        counts.signals.iter().map(signal).collect::<Vec<_>>()
    };
    let mut busiest: Vec<_> = streams().collect();
    busiest.sort_by_key(|(_, _, counts)| Reverse(counts.requests));
    Details {
        worst: Vec::new(),
        signals: streams().chain([others]).flat_map(signals).collect(),
        latency_ms: all.latency_ms.bins().collect(),
        tokens_per_second: all.tokens_per_second.bins().collect(),
        charts: busiest.into_iter().take(CHARTED_STREAMS_MAX).flat_map(charts).collect(),
        calibration: calibration(&whole.calibration),
    }
}

fn charts((kind, stream, counts): (Option<&'static str>, Option<String>, &StreamCounts)) -> Vec<StreamChart> {
    let kind = kind.unwrap_or_default();
    let output = if kind == "tool" { ("size of the result", "code points") } else { ("tokens per second", "1/s") };
    let whats = [("latency", "ms"), output];
    let chart = |(series, (what, unit)): (&ControlSeries, (&'static str, &'static str))| StreamChart {
        stream: stream.clone(),
        kind,
        what,
        unit,
        buckets: series.clone().finish(),
    };
    counts.charts.iter().zip(whats).filter(|(series, _)| !series.is_empty()).map(chart).collect()
}

fn calibration(bins: &[CalibrationCounts; CALIBRATION_BINS]) -> Vec<CalibrationBin> {
    let width = 1.0 / CALIBRATION_BINS as f64;
    let bin = |(index, counts): (usize, &CalibrationCounts)| CalibrationBin {
        from: index as f64 * width,
        to: (index + 1) as f64 * width,
        labelled: counts.labelled,
        positive: counts.positive,
        mean: counts.posterior_micro as f64 / 1e6 / counts.labelled as f64,
    };
    bins.iter().enumerate().filter(|(_, counts)| counts.labelled > 0).map(bin).collect()
}

#[expect(clippy::vec_box, reason = "as they were counted")]
fn issues(worst: Vec<Box<Issue>>, total: u64, all: &StreamCounts) -> IssueSummary {
    let mut by_rule: BTreeMap<String, RuleIssues> = BTreeMap::new();
    for ((id, question), counts) in &all.signals {
        let new = RuleIssues { question: *question, looked_for: 0, records: 0, fingerprints: Vec::new() };
        let rule = by_rule.entry((*id).to_owned()).or_insert(new);
        rule.looked_for += counts.applicable;
        rule.records += counts.issues;
    }
    for issue in &worst {
        if let Some(rule) = by_rule.get_mut(issue.rule) {
            rule.fingerprints.push(issue.fingerprint());
        }
    }
    IssueSummary { total, listed_max: ISSUES_MAX as u64, by_rule, worst }
}

fn top_signals(all: &StreamCounts) -> Vec<SignalSummary> {
    let fired = all.signals.iter().filter(|(_, counts)| counts.fired > 0);
    let mut top: Vec<SignalSummary> = fired
        .map(|((id, question), counts)| SignalSummary {
            id,
            question: *question,
            fired: counts.fired,
            applicable: counts.applicable,
        })
        .collect();
    top.sort_by_key(|signal| Reverse(signal.fired));
    top.truncate(TOP_MAX);
    top
}

fn top_categories(whole: &Partial) -> Vec<CategorySummary> {
    let summary = |(category, counts): (&Cow<'static, str>, RuleCounts)| CategorySummary {
        category: category.clone(),
        severity: counts.severity,
        findings: counts.findings,
        records: counts.records,
    };
    worst_first(&whole.categories).map(summary).collect()
}

fn top_findings(whole: &Partial) -> Vec<RuleSummary> {
    let summary = |(rule, counts): (&Cow<'static, str>, RuleCounts)| RuleSummary {
        rule: rule.clone(),
        severity: counts.severity,
        findings: counts.findings,
        records: counts.records,
    };
    worst_first(&whole.rules).map(summary).collect()
}

/// What is worst matters more than what is found most often: an inventory is long.
fn worst_first(counts: &FindingCounts) -> impl Iterator<Item = (&Cow<'static, str>, RuleCounts)> {
    let mut all: Vec<_> = counts.iter().map(|(name, counts)| (name, *counts)).collect();
    all.sort_by_key(|(_, counts)| Reverse((counts.severity, counts.findings)));
    all.into_iter().take(TOP_MAX)
}

/// The limits that were reached while auditing, and those of the report itself.
fn limits(whole: &Partial) -> Vec<LimitReached> {
    let own = [
        ("events_listed", EVENTS_MAX as u64, whole.events_total.saturating_sub(EVENTS_MAX as u64)),
        (
            "rejected_listed",
            REJECTED_LISTED_MAX as u64,
            whole.ledger.rejected.saturating_sub(REJECTED_LISTED_MAX as u64),
        ),
        ("streams", STREAMS_MAX as u64, whole.streams.others.requests),
        ("issues_listed", ISSUES_MAX as u64, whole.issues_total.saturating_sub(ISSUES_MAX as u64)),
    ];
    let noted = whole.limits.iter().map(|(name, counts)| (*name, counts.limit, counts.times));
    let mut reached: Vec<LimitReached> = noted
        .chain(own.into_iter().filter(|(_, _, times)| *times > 0))
        .map(|(name, limit, times)| LimitReached { name, limit, times })
        .collect();
    reached.sort_by_key(|limit| limit.name);
    reached
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Measures, samples},
        *,
    };

    #[test]
    fn the_ledger_is_checked_against_the_reader() {
        let report = samples::report();
        assert!(report.input.ledger_adds_up);
        let totals = Totals { units: 99, ..samples::totals() };
        let report = Report::new(samples::partial(), &totals, &gate::Policy::default(), &health::Settings::default());
        assert!(!report.input.ledger_adds_up);
        assert_eq!((report.gate.exit.code(), report.gate.reasons[0].rule), (3, "ledger"));
    }

    #[test]
    fn nothing_audited_does_not_pass_and_has_no_rates() {
        let report =
            Report::new(Partial::default(), &Totals::default(), &gate::Policy::default(), &health::Settings::default());
        assert_eq!(report.gate.exit.code(), 3);
        assert_eq!(report.questions.fabricated.rate, None);
        assert!(report.input.ledger_adds_up);
    }

    #[test]
    fn rates_and_throughput_are_of_what_was_measured() {
        let mut partial = Partial::default();
        let measures = |latency_ms, response_tokens| Measures {
            stream: Some("gpt"),
            latency_ms: Some(latency_ms),
            response_tokens,
            ..Measures::default()
        };
        samples::accepted(1).count(&mut partial, &measures(1500.0, Some(100)));
        samples::blocked(2).count(&mut partial, &measures(500.0, Some(60)));
        samples::accepted(3).count(&mut partial, &measures(9000.0, None));
        let totals = Totals { units: 3, ..Totals::default() };
        let report = Report::new(partial, &totals, &gate::Policy::default(), &health::Settings::default());
        let stream = &report.streams[0];
        assert_eq!((stream.requests, stream.response_tokens, stream.tokens_per_second), (3, 160, Some(80.0)));
        assert!((stream.latency_ms.p50.unwrap() - 1500.0).abs() <= 15.0);
        assert_eq!(stream.latency_ms.p99, Some(9000.0));
        assert_eq!(stream.ttft_ms, Quantiles::default());
        let health = stream.health.as_ref().unwrap();
        assert_eq!((health.score, health.label, health.counts.minor_variation), (0.5, "minor_variation", 1));
        let fabricated = &report.questions.fabricated;
        assert_eq!((fabricated.assessed, fabricated.blocked, fabricated.rate), (3, 1, Some(1.0 / 3.0)));
        assert_eq!(report.questions.attacked.not_assessed, 3);
        assert_eq!(report.top.signals[0].id, "schema_mismatch");
        assert_eq!((&*report.top.findings[0].rule, report.top.findings[0].records), ("pii/email", 1));
        assert_eq!(report.top.records[0].line, 2);
        assert_eq!(report.gate.reasons[0].rule, "max_rejected");
    }

    #[test]
    fn findings_are_counted_by_rule_and_by_category() {
        let (mut first, mut second) = (Partial::default(), Partial::default());
        let (email, phone) = ("pii/email_address", "pii/phone_number");
        samples::with_findings(1, &[email, email, phone]).count(&mut first, &Measures::default());
        samples::with_findings(2, &[phone, "refusal/phrase"]).count(&mut second, &Measures::default());
        first.merge(second);
        let top = Report::new(first, &Totals::default(), &gate::Policy::default(), &health::Settings::default()).top;
        let categories: Vec<_> = top.categories.iter().map(|of| (&*of.category, of.findings, of.records)).collect();
        assert_eq!(categories, [("pii/contact", 4, 2), ("refusal", 1, 1)]);
        assert_eq!(top.findings.iter().map(|of| of.records).sum::<u64>(), 4);
    }

    #[test]
    fn limits_of_the_report_are_named() {
        let mut partial = Partial::default();
        for line in 0..(EVENTS_MAX as u64 + 2) {
            partial.event(samples::event(line));
        }
        partial.limit("sessions", 1000, 4);
        let report = Report::new(partial, &Totals::default(), &gate::Policy::default(), &health::Settings::default());
        let names: Vec<_> = report.limits_reached.iter().map(|limit| (limit.name, limit.times)).collect();
        assert_eq!(names, [("events_listed", 2), ("sessions", 4)]);
    }
}
