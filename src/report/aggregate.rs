//! Verdicts → counts: what a batch adds to the report, and how batches meet.
//!
//! A [`Partial`] holds integers, fixed-bin histograms and capped lists; no floating-point number is ever summed, so that
//! the report is the same for every batch size and thread count. Parts are merged in input order, from the left:
//! `total.merge(first); total.merge(second); …`. Lists keep what came first (or what is worst, then first), which is why
//! the order counts.
//!
//! **Limits**: parts and total alike are bounded by [`STREAMS_MAX`], [`EVENTS_MAX`], [`REJECTED_LISTED_MAX`],
//! [`PROBLEMS_LISTED_MAX`], [`WORST_MAX`] and [`ISSUES_MAX`]. Streams beyond the limit are counted together; which those are, only the
//! ordered stage can know, and it comes with the record ([`Measures::is_beyond_limit`]).

use std::{borrow::Cow, collections::BTreeMap, mem};

use super::{
    claims::Claims,
    control::{ControlPoint, ControlSeries},
    coverage::{Coverage, Holds},
    formats::{Formats, Names},
    issues::{ISSUES_MAX, Issue, is_issue, of_record},
    prices::{Charge, Costs},
    summary::{Event, PlacedProblem},
    timeline::{Decisions, Timeline},
    times::Measured,
    unread::{Unread, UnreadLeaf},
    verdict_record::{FINDINGS_PER_RECORD_MAX, Identity, Judged, Problem, Questions, RejectedUnit, VerdictRecord},
};
use crate::{
    engines::{Question, Severity, check::expect::Expectation, language::refusal, runtime::health},
    stats::histogram::Histogram,
    verdict::{
        Answer, Decision, Verdict,
        expectation::{GROUPS_MAX, Sample, Tallies},
    },
};

/// No report tells more streams apart than this.
pub const STREAMS_MAX: usize = 200;
/// No report lists more events than this.
pub const EVENTS_MAX: usize = 100;
/// No report lists more rejected units than this.
pub const REJECTED_LISTED_MAX: usize = 20;
/// No report lists more unusable fields than this.
pub const PROBLEMS_LISTED_MAX: usize = 20;
/// No report keeps more of the worst records than this.
pub const WORST_MAX: usize = 300;
/// Bins of equal width in which posteriors are compared with labels.
pub const CALIBRATION_BINS: usize = 10;

const US_PER_MS: f64 = 1000.0;
const MS_PER_S: f64 = 1000.0;
const MICRO: f64 = 1e6;

/// The numbers of one record that its verdict does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measures<'a> {
    /// The name of the stream: model, tool, or the field that streams are grouped by.
    pub stream: Option<&'a str>,
    /// Whether [`STREAMS_MAX`] other streams came before this one, so that it is not told apart.
    pub is_beyond_limit: bool,
    /// Whether its time is before that of the stream's record before it.
    pub is_backwards: bool,
    /// Whether the call ended with an error.
    pub is_error: bool,
    /// Latency of the call or execution time of the tool, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Whether the unit of the latency was assumed beside numbers of nanoseconds or microseconds.
    pub unit_is_doubtful: bool,
    /// Time to the first token, in milliseconds.
    pub ttft_ms: Option<f64>,
    /// Tokens in the prompt.
    pub prompt_tokens: Option<u64>,
    /// Tokens in the response.
    pub response_tokens: Option<u64>,
    /// When the call began, in milliseconds since the epoch.
    pub timestamp_ms: Option<i64>,
    /// What its tokens cost.
    pub charge: Charge<'a>,
    /// Whether the user speaks of what a model rightly declines.
    pub is_harmful: bool,
    /// How many records of the stream came before.
    pub number: Option<u64>,
    /// Where latency, and tokens per second or the size of a tool's answer, stand on the charts of the stream.
    pub points: [Option<ControlPoint>; 2],
    /// Whether a person says that the content is made up.
    pub is_fabricated: Option<bool>,
    /// What an LLM call holds of what is judged; `None` for calls of tools.
    pub holds: Option<Holds>,
}

/// What of a record is made only when it is asked for.
pub struct OnDemand<'f> {
    /// The object that reports show.
    pub full: &'f dyn Fn() -> VerdictRecord,
    /// A text as reports show it: without the names that must not be shown.
    pub shown: &'f dyn Fn(&str) -> String,
    /// What findings of a rule are counted under.
    pub category: &'f dyn Fn(&str) -> String,
    /// The hash by which the record is known again in another run.
    pub identity_hash: &'f dyn Fn() -> u64,
}

/// Suppressions that one audit drafts.
pub const DRAFTS_MAX: usize = 10_000;

/// What some records add to the report.
#[expect(clippy::vec_box, reason = "the lists are kept in order, and large values are costly to move along")]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Partial {
    pub(super) ledger: Ledger,
    pub(super) formats: Formats,
    pub(super) coverage: Coverage,
    pub(super) claims: Claims,
    pub(super) unread: Unread,
    pub(super) decisions: Decisions,
    pub(super) high_risk: u64,
    pub(super) questions: Questions<QuestionCounts>,
    pub(super) streams: Streams,
    pub(super) timeline: Timeline,
    pub(super) rules: FindingCounts,
    pub(super) categories: FindingCounts,
    pub(super) worst: Vec<Box<VerdictRecord>>,
    pub(super) issues: Vec<Box<Issue>>,
    pub(super) issues_total: u64,
    pub(super) calibration: [CalibrationCounts; CALIBRATION_BINS],
    /// What is not worse than this is not kept in the whole.
    floors: Floors,
    pub(super) rejected: Vec<RejectedUnit>,
    pub(super) problems: Vec<PlacedProblem>,
    pub(super) problems_total: u64,
    pub(super) events: Vec<Event>,
    pub(super) events_total: u64,
    pub(super) limits: BTreeMap<&'static str, LimitCounts>,
    /// What is expected of many records, by the number of the check.
    pub(super) expectations: BTreeMap<usize, Tallies>,
    /// How often each suppression took a hit out, by its index.
    pub(super) suppressed: BTreeMap<usize, u64>,
    /// What could be suppressed: rule and fingerprint, and where it was first seen.
    pub(super) drafts: BTreeMap<(String, String), String>,
}

/// How bad a verdict is: its decision, then its deciding posterior. The least is not bad at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Badness(u64);

impl Badness {
    pub(super) fn new(decision: Decision, posterior: f64) -> Badness {
        // The bits of numbers from 0 to 1 are in the order of the numbers, and leave the first two free.
        Badness((decision as u64) << 62 | posterior.max(0.0).to_bits())
    }

    pub(super) fn of(record: &VerdictRecord) -> Badness {
        Badness::new(record.verdict, record.deciding_posterior())
    }

    /// As a number that a thread can hand to another.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The badness of these bits.
    pub fn from_bits(bits: u64) -> Badness {
        Badness(bits)
    }
}

/// What a record must be worse than, for the whole to keep it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floors {
    /// Among the worst records.
    pub worst: Badness,
    /// Among the issues.
    pub issues: Badness,
}

/// Labelled records whose posterior of `fabricated` falls into one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CalibrationCounts {
    pub labelled: u64,
    pub positive: u64,
    pub posterior_micro: u64,
}

/// What became of the units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    pub audited: u64,
    pub feedback: u64,
    pub merged: u64,
    pub parent: u64,
    pub rejected: u64,
    pub skipped: u64,
    pub partially_read: u64,
    /// Records and rejected items beyond the first of their unit.
    pub further_items: u64,
}

/// The answers to one question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QuestionCounts {
    pub assessed: u64,
    pub not_assessed: u64,
    pub flagged: u64,
    pub blocked: u64,
}

/// How often a signal was looked for, and how often it fired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SignalCounts {
    pub applicable: u64,
    pub fired: u64,
    /// Records on which it fired and whose question was flagged or blocked.
    pub issues: u64,
    /// Of those, blocked records.
    pub blocked: u64,
    /// Of those, records at high risk.
    pub high_risk: u64,
}

impl SignalCounts {
    fn merge(&mut self, next: &SignalCounts) {
        self.applicable += next.applicable;
        self.fired += next.fired;
        self.issues += next.issues;
        self.blocked += next.blocked;
        self.high_risk += next.high_risk;
    }
}

/// How often each rule, or each category of rules, was found.
pub(super) type FindingCounts = BTreeMap<Cow<'static, str>, RuleCounts>;

/// How often a rule, or a category of rules, was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RuleCounts {
    pub severity: Severity,
    pub findings: u64,
    pub records: u64,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LimitCounts {
    pub limit: u64,
    pub times: u64,
}

fn add_findings(sum: &mut FindingCounts, more: impl IntoIterator<Item = (Cow<'static, str>, RuleCounts)>) {
    more.into_iter().for_each(|(name, counts)| add_finding(sum, name, counts));
}

fn add_finding(sum: &mut FindingCounts, name: Cow<'static, str>, more: RuleCounts) {
    let none = RuleCounts { severity: more.severity, findings: 0, records: 0 };
    let sum = sum.entry(name).or_insert(none);
    sum.findings += more.findings;
    sum.records += more.records;
    sum.severity = sum.severity.max(more.severity);
}

impl Partial {
    /// A part of something that keeps only what is worse than `floors`.
    pub fn above(floors: Floors) -> Partial {
        Partial { floors, ..Partial::default() }
    }

    /// What a later record must be worse than to be kept.
    pub fn floors(&self) -> Floors {
        let worst = self.worst.get(WORST_MAX - 1).map(|record| Badness::of(record));
        let issues = self.issues.get(ISSUES_MAX - 1).map(|issue| issue.badness());
        Floors {
            worst: worst.unwrap_or_default().max(self.floors.worst),
            issues: issues.unwrap_or_default().max(self.floors.issues),
        }
    }

    /// Counts an audited record; what is costly to make is asked for only when the record is among the worst.
    pub fn record(
        &mut self,
        identity: &Identity<'_>,
        judged: &Judged<'_>,
        measures: &Measures<'_>,
        on_demand: &OnDemand<'_>,
    ) {
        let verdict = judged.verdict;
        self.ledger.audited += 1;
        self.ledger.partially_read += u64::from(!judged.problems.is_empty());
        self.decisions.add(verdict.decision);
        self.high_risk += u64::from(verdict.high_risk);
        self.timeline.add(measures.timestamp_ms, verdict.decision);
        self.streams.record(identity.kind, judged, measures);
        if let Some(holds) = measures.holds {
            self.coverage.add(holds);
        }
        let grounding = judged.assessments.iter().find_map(|(_, said)| said.grounding.as_deref());
        if let Some(grounding) = grounding.filter(|grounding| grounding.is_compared()) {
            self.claims.add(grounding);
        }
        for answer in &verdict.answers {
            self.questions.get_mut(answer.question).record(answer);
        }
        self.calibrate(verdict, measures);
        self.list_problems(identity, &judged.problems);
        self.count_findings(judged, on_demand);
        self.keep_if_bad(identity, judged, measures, on_demand);
    }

    fn calibrate(&mut self, verdict: &Verdict, measures: &Measures<'_>) {
        let answer = &verdict.answers[Question::Fabricated as usize];
        let (Some(is_fabricated), None) = (measures.is_fabricated, answer.not_assessed) else { return };
        let posterior = answer.posterior.clamp(0.0, 1.0);
        let bin = ((posterior * CALIBRATION_BINS as f64) as usize).min(CALIBRATION_BINS - 1);
        let counts = &mut self.calibration[bin];
        counts.labelled += 1;
        counts.positive += u64::from(is_fabricated);
        counts.posterior_micro += (posterior * MICRO).round() as u64;
    }

    fn list_problems(&mut self, identity: &Identity<'_>, problems: &[Problem]) {
        self.problems_total += problems.len() as u64;
        let room = PROBLEMS_LISTED_MAX.saturating_sub(self.problems.len());
        self.problems.extend(problems.iter().take(room).map(|problem| PlacedProblem {
            source: identity.source.to_owned(),
            line: identity.line,
            item: identity.item,
            byte: identity.byte,
            field: problem.field.clone(),
            reason: problem.reason.clone(),
        }));
    }

    /// Counts hits that suppressions took out, by the indices of these.
    pub fn suppressed(&mut self, by: &[usize]) {
        for index in by {
            *self.suppressed.entry(*index).or_default() += 1;
        }
    }

    /// Notes what could be suppressed: rule and fingerprint, found in the record `identity`.
    pub fn draft<'d>(&mut self, identity: &Identity<'_>, found: impl Iterator<Item = &'d (String, String)>) {
        for what in found {
            let place = || format!("{}:{}", identity.source, identity.line);
            self.drafts.entry(what.clone()).or_insert_with(place);
        }
        self.cap_drafts();
    }

    /// Counts a record of `group` for what the check of this number expects of many.
    pub fn expect(&mut self, check: usize, expectation: &Expectation, group: Option<String>, sample: Sample) {
        self.expectations.entry(check).or_default().add(expectation, group, sample);
    }

    /// What was counted of what is expected of many records.
    pub fn take_expectations(&mut self) -> BTreeMap<usize, Tallies> {
        for tallies in self.expectations.values() {
            let times = tallies.beyond_limit();
            if times > 0 {
                let none = LimitCounts { limit: GROUPS_MAX as u64, times: 0 };
                self.limits.entry("check_groups").or_insert(none).times += times;
            }
        }
        mem::take(&mut self.expectations)
    }

    /// Counts an item of a unit that holds many, from the second on; the reader has counted the unit once.
    pub fn further_item(&mut self) {
        self.ledger.further_items += 1;
    }

    /// Counts a unit that is no record.
    pub fn rejected(&mut self, unit: &RejectedUnit) {
        self.ledger.rejected += 1;
        if self.rejected.len() < REJECTED_LISTED_MAX {
            self.rejected.push(unit.clone());
        }
    }

    /// Counts a unit with feedback.
    pub fn feedback(&mut self) {
        self.ledger.feedback += 1;
    }

    /// Counts a unit that is part of another record.
    pub fn merged(&mut self) {
        self.ledger.merged += 1;
    }

    /// Counts a unit that repeats its children.
    pub fn parent(&mut self) {
        self.ledger.parent += 1;
    }

    /// Notes what an audited record was written by.
    pub fn format(&mut self, format: Names, notes: impl Iterator<Item = &'static str>, identity: &Identity<'_>) {
        self.formats.record(format, notes, identity.source, identity.line);
    }

    /// Counts a unit that was recognised and holds no call of its own.
    pub fn aside(&mut self, format: Names, what: &'static str, is_parent: bool, source: &str, line: u64) {
        if is_parent {
            self.parent()
        } else {
            self.skipped()
        }
        self.formats.aside(format, what, is_parent, source, line);
    }

    /// Counts a unit that a filter (`--since`, `--until`, `--sample`) left out.
    pub fn skipped(&mut self) {
        self.ledger.skipped += 1;
    }

    /// Notes what of a unit was not read.
    pub fn unread(&mut self, leaves: Vec<UnreadLeaf>) {
        self.unread.unit(leaves);
    }

    /// Adds an event of a stream.
    pub fn event(&mut self, event: Event) {
        self.events_total += 1;
        if self.events.len() < EVENTS_MAX {
            self.events.push(event);
        }
    }

    /// Notes that the limit `name` was reached.
    pub fn limit(&mut self, name: &'static str, limit: u64, times: u64) {
        self.limits.entry(name).or_insert(LimitCounts { limit, times: 0 }).times += times;
    }

    /// Adds the part that follows in the input.
    pub fn merge(&mut self, next: Partial) {
        self.ledger.merge(&next.ledger);
        self.formats.merge(next.formats);
        self.coverage.merge(&next.coverage);
        self.claims.merge(&next.claims);
        self.unread.merge(next.unread);
        self.decisions.merge(&next.decisions);
        self.high_risk += next.high_risk;
        for question in Question::ALL {
            self.questions.get_mut(question).merge(next.questions.get(question));
        }
        self.streams.merge(next.streams);
        self.timeline.merge(next.timeline);
        add_findings(&mut self.rules, next.rules);
        add_findings(&mut self.categories, next.categories);
        for record in next.worst {
            self.insert_worst(record);
        }
        for issue in next.issues {
            self.insert_issue(issue);
        }
        self.issues_total += next.issues_total;
        for (sum, counts) in self.calibration.iter_mut().zip(next.calibration) {
            sum.labelled += counts.labelled;
            sum.positive += counts.positive;
            sum.posterior_micro += counts.posterior_micro;
        }
        self.rejected.extend(next.rejected);
        self.rejected.truncate(REJECTED_LISTED_MAX);
        self.problems.extend(next.problems);
        self.problems.truncate(PROBLEMS_LISTED_MAX);
        self.problems_total += next.problems_total;
        self.events.extend(next.events);
        self.events.truncate(EVENTS_MAX);
        self.events_total += next.events_total;
        for (check, tallies) in next.expectations {
            self.expectations.entry(check).or_default().merge(tallies);
        }
        for (what, place) in next.drafts {
            self.drafts.entry(what).or_insert(place);
        }
        self.cap_drafts();
        for (index, times) in next.suppressed {
            *self.suppressed.entry(index).or_default() += times;
        }
        for (name, counts) in next.limits {
            self.limit(name, counts.limit, counts.times);
        }
    }

    fn count_findings(&mut self, judged: &Judged<'_>, on_demand: &OnDemand<'_>) {
        let mut rules: BTreeMap<&str, RuleCounts> = BTreeMap::new();
        for finding in judged.findings().take(FINDINGS_PER_RECORD_MAX) {
            let new = RuleCounts { severity: finding.severity, findings: 0, records: 1 };
            let counts = rules.entry(&finding.rule).or_insert(new);
            counts.findings += 1;
            counts.severity = counts.severity.max(finding.severity);
        }
        let mut categories = FindingCounts::new();
        for (rule, counts) in &rules {
            add_finding(&mut categories, (on_demand.category)(rule).into(), *counts);
        }
        // A record counts once, however many rules of a category it meets.
        categories.values_mut().for_each(|counts| counts.records = 1);
        add_findings(&mut self.categories, categories);
        add_findings(&mut self.rules, rules.into_iter().map(|(rule, counts)| (rule.to_owned().into(), counts)));
        if judged.findings().count() > FINDINGS_PER_RECORD_MAX {
            self.limit("findings_per_record", FINDINGS_PER_RECORD_MAX as u64, 1);
        }
    }

    /// Which are kept must not depend on how the log was cut into parts, so the first in their own order are.
    fn cap_drafts(&mut self) {
        while self.drafts.len() > DRAFTS_MAX {
            self.drafts.pop_last();
        }
    }

    fn keep_if_bad(
        &mut self,
        identity: &Identity<'_>,
        judged: &Judged<'_>,
        measures: &Measures<'_>,
        on_demand: &OnDemand<'_>,
    ) {
        let verdict = judged.verdict;
        if verdict.decision < Decision::Flag {
            return;
        }
        self.issues_total += judged.signals.iter().filter(|signal| is_issue(verdict, signal)).count() as u64;
        let (badness, floors) = (Badness::new(verdict.decision, verdict.deciding_posterior()), self.floors());
        if badness > floors.issues {
            let issues = of_record(identity, judged, measures.stream, on_demand);
            issues.into_iter().for_each(|issue| self.insert_issue(Box::new(issue)));
        }
        if badness > floors.worst {
            self.insert_worst(Box::new((on_demand.full)()));
        }
    }

    /// Of two that are equally bad, the one that came first stays in front.
    fn insert_worst(&mut self, record: Box<VerdictRecord>) {
        let badness = Badness::of(&record);
        let at = self.worst.partition_point(|kept| Badness::of(kept) >= badness);
        if at < WORST_MAX {
            self.worst.insert(at, record);
            self.worst.truncate(WORST_MAX);
        }
    }

    /// As [`Partial::insert_worst`].
    fn insert_issue(&mut self, issue: Box<Issue>) {
        let at = self.issues.partition_point(|kept| kept.badness() >= issue.badness());
        if at < ISSUES_MAX {
            self.issues.insert(at, issue);
            self.issues.truncate(ISSUES_MAX);
        }
    }
}

impl Ledger {
    fn merge(&mut self, next: &Ledger) {
        self.audited += next.audited;
        self.feedback += next.feedback;
        self.merged += next.merged;
        self.parent += next.parent;
        self.rejected += next.rejected;
        self.skipped += next.skipped;
        self.partially_read += next.partially_read;
        self.further_items += next.further_items;
    }

    /// All units that were accounted for.
    pub(super) fn total(&self) -> u64 {
        self.audited + self.feedback + self.merged + self.parent + self.rejected + self.skipped
    }
}

impl QuestionCounts {
    fn record(&mut self, answer: &Answer) {
        self.assessed += u64::from(answer.not_assessed.is_none());
        self.not_assessed += u64::from(answer.not_assessed.is_some());
        self.flagged += u64::from(answer.decision == Decision::Flag);
        self.blocked += u64::from(answer.decision == Decision::Block);
    }

    fn merge(&mut self, next: &QuestionCounts) {
        self.assessed += next.assessed;
        self.not_assessed += next.not_assessed;
        self.flagged += next.flagged;
        self.blocked += next.blocked;
    }
}

/// A stream is told apart by its kind and its name.
type StreamKey = (&'static str, Option<String>);

/// Counts per stream, and those of the streams beyond the limit together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Streams {
    by_key: BTreeMap<StreamKey, StreamCounts>,
    pub(super) others: StreamCounts,
}

impl Streams {
    fn record(&mut self, kind: &'static str, judged: &Judged<'_>, measures: &Measures<'_>) {
        let counts = if measures.is_beyond_limit {
            &mut self.others
        } else {
            self.by_key.entry((kind, measures.stream.map(str::to_owned))).or_default()
        };
        counts.record(judged, measures);
    }

    fn merge(&mut self, next: Streams) {
        for (key, counts) in next.by_key {
            self.by_key.entry(key).or_default().merge(&counts);
        }
        self.others.merge(&next.others);
    }

    /// The counts of all streams together.
    pub(super) fn all(&self) -> StreamCounts {
        let mut all = self.others.clone();
        for counts in self.by_key.values() {
            all.merge(counts);
        }
        all
    }

    /// The streams with their counts, by kind and name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&StreamKey, &StreamCounts)> {
        self.by_key.iter()
    }
}

/// What is counted of one stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StreamCounts {
    pub requests: u64,
    pub errors: u64,
    pub latency_ms: Histogram,
    pub ttft_ms: Histogram,
    /// Calls with both times, and those whose first token comes after their end.
    pub with_first_token: u64,
    pub first_token_late: u64,
    /// Calls whose latency has a unit that was assumed beside finer ones.
    pub unit_doubtful: u64,
    pub prompt_tokens: u64,
    pub response_tokens: u64,
    /// Response tokens and latency of the calls that report both.
    pub timed_tokens: u64,
    pub timed_latency_us: u64,
    pub health_micro: u64,
    pub health_labels: [u64; health::LABELS.len()],
    pub decisions: Decisions,
    pub timestamps_backwards: u64,
    pub questions: Questions<QuestionCounts>,
    pub signals: BTreeMap<(&'static str, Question), SignalCounts>,
    pub tokens_per_second: Histogram,
    pub costs: Costs,
    /// Charts of latency, and of tokens per second or the size of a tool's answer.
    pub charts: [ControlSeries; 2],
    /// Records that are degraded, failed, or declined without an attack.
    pub degraded: u64,
    /// 1 for each of these and 0 for each other, by its number in the stream.
    pub failed: ControlSeries,
}

impl StreamCounts {
    fn record(&mut self, judged: &Judged<'_>, measures: &Measures<'_>) {
        self.requests += 1;
        self.errors += u64::from(measures.is_error);
        self.decisions.add(judged.verdict.decision);
        if let Some(latency_ms) = measures.latency_ms {
            self.latency_ms.add(latency_ms);
            self.unit_doubtful += u64::from(measures.unit_is_doubtful);
        }
        if let Some(ttft_ms) = measures.ttft_ms {
            self.ttft_ms.add(ttft_ms);
            self.with_first_token += u64::from(measures.latency_ms.is_some());
            self.first_token_late += u64::from(measures.latency_ms.is_some_and(|latency_ms| ttft_ms > latency_ms));
        }
        self.prompt_tokens = self.prompt_tokens.saturating_add(measures.prompt_tokens.unwrap_or(0));
        self.response_tokens = self.response_tokens.saturating_add(measures.response_tokens.unwrap_or(0));
        if let (Some(tokens), Some(latency_ms)) = (measures.response_tokens, measures.latency_ms) {
            self.timed_tokens = self.timed_tokens.saturating_add(tokens);
            // A float that does not fit into an integer becomes the nearest one that does.
            self.timed_latency_us = self.timed_latency_us.saturating_add((latency_ms * US_PER_MS).round() as u64);
            if latency_ms > 0.0 {
                self.tokens_per_second.add(tokens as f64 / (latency_ms / MS_PER_S));
            }
        }
        let tokens = [measures.prompt_tokens, measures.response_tokens].map(Option::unwrap_or_default);
        self.costs.add(measures.charge, tokens[0], tokens[1]);
        for (chart, point) in self.charts.iter_mut().zip(&measures.points) {
            point.iter().for_each(|point| chart.add(point));
        }
        let decided = |question: Question| judged.verdict.answers[question as usize].decision >= Decision::Flag;
        let has_declined = judged.signals.iter().any(|signal| signal.fired && signal.id == refusal::SIGNAL);
        let is_degraded = measures.is_error
            || decided(Question::Degraded)
            || (has_declined && !decided(Question::Attacked) && !measures.is_harmful);
        self.degraded += u64::from(is_degraded);
        if let Some(number) = measures.number {
            let x = if is_degraded { 1.0 } else { 0.0 };
            self.failed.add(&ControlPoint { number, x, limits: None, broken: [false; 4] });
        }
        self.record_answers(judged);
        if let Some((score, own_label)) = judged.health {
            self.health_micro = self.health_micro.saturating_add((score * MICRO).round() as u64);
            if let Some(i) = health::LABELS.iter().position(|label| *label == own_label) {
                self.health_labels[i] += 1;
            }
        }
        self.timestamps_backwards += u64::from(measures.is_backwards);
    }

    /// What is measured of its times.
    pub(super) fn measured(&self) -> Measured {
        Measured {
            timed: self.latency_ms.count(),
            latency_ms: self.latency_ms.quantile(0.5),
            ttft_ms: self.ttft_ms.quantile(0.5),
            with_first_token: self.with_first_token,
            first_token_late: self.first_token_late,
            unit_doubtful: self.unit_doubtful,
        }
    }

    fn record_answers(&mut self, judged: &Judged<'_>) {
        for answer in &judged.verdict.answers {
            self.questions.get_mut(answer.question).record(answer);
        }
        for signal in judged.signals {
            let counts = self.signals.entry((signal.id, signal.question)).or_default();
            counts.applicable += 1;
            counts.fired += u64::from(signal.fired);
            if is_issue(judged.verdict, signal) {
                counts.issues += 1;
                counts.blocked += u64::from(judged.verdict.decision == Decision::Block);
                counts.high_risk += u64::from(judged.verdict.high_risk);
            }
        }
    }

    fn merge(&mut self, next: &StreamCounts) {
        self.requests += next.requests;
        self.errors += next.errors;
        self.latency_ms.merge(&next.latency_ms);
        self.ttft_ms.merge(&next.ttft_ms);
        self.with_first_token += next.with_first_token;
        self.first_token_late += next.first_token_late;
        self.unit_doubtful += next.unit_doubtful;
        self.prompt_tokens = self.prompt_tokens.saturating_add(next.prompt_tokens);
        self.response_tokens = self.response_tokens.saturating_add(next.response_tokens);
        self.timed_tokens = self.timed_tokens.saturating_add(next.timed_tokens);
        self.timed_latency_us = self.timed_latency_us.saturating_add(next.timed_latency_us);
        self.health_micro = self.health_micro.saturating_add(next.health_micro);
        for (sum, count) in self.health_labels.iter_mut().zip(next.health_labels) {
            *sum += count;
        }
        self.decisions.merge(&next.decisions);
        self.timestamps_backwards += next.timestamps_backwards;
        for question in Question::ALL {
            self.questions.get_mut(question).merge(next.questions.get(question));
        }
        for (key, counts) in &next.signals {
            self.signals.entry(*key).or_default().merge(counts);
        }
        self.tokens_per_second.merge(&next.tokens_per_second);
        self.costs.merge(&next.costs);
        self.degraded += next.degraded;
        self.failed.merge(&next.failed);
        for (chart, next) in self.charts.iter_mut().zip(&next.charts) {
            chart.merge(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::{super::samples, *};

    /// One unit of input, small enough to be made at random.
    #[derive(Clone, Debug)]
    enum Item {
        Record {
            score: f64,
            stream: Option<u8>,
            latency_ms: f64,
            tokens: Option<u64>,
            timestamp_ms: Option<i64>,
            full: bool,
        },
        Rejected,
        Skipped,
        Event,
    }

    fn item() -> impl Strategy<Value = Item> {
        let stream = proptest::option::of(0..5u8);
        let tokens = proptest::option::of(prop_oneof![0..1000u64, Just(u64::MAX)]);
        let timestamp_ms = proptest::option::of(prop_oneof![0..10_000_000i64, any::<i64>()]);
        let record = (0..8u8, stream, 0.0..1e5f64, tokens, timestamp_ms, any::<bool>()).prop_map(
            |(score, stream, latency_ms, tokens, timestamp_ms, full)| Item::Record {
                score: f64::from(score) / 8.0,
                stream,
                latency_ms,
                tokens,
                timestamp_ms,
                full,
            },
        );
        prop_oneof![8 => record, 2 => Just(Item::Rejected), 1 => Just(Item::Skipped), 1 => Just(Item::Event)]
    }

    fn count(partial: &mut Partial, line: u64, item: &Item) {
        match item {
            Item::Record { score, stream, latency_ms, tokens, timestamp_ms, full } => {
                let sample = if *full { samples::blocked(line) } else { samples::scored(line, *score) };
                let name = stream.map(|stream| format!("stream-{stream}"));
                sample.count(
                    partial,
                    &Measures {
                        stream: name.as_deref(),
                        is_beyond_limit: *stream == Some(4),
                        is_harmful: false,
                        number: None,
                        is_backwards: line.is_multiple_of(5),
                        is_error: line.is_multiple_of(7),
                        latency_ms: Some(*latency_ms),
                        unit_is_doubtful: false,
                        ttft_ms: Some(latency_ms / 2.0),
                        prompt_tokens: *tokens,
                        response_tokens: *tokens,
                        timestamp_ms: *timestamp_ms,
                        charge: tokens.map_or(Charge::Unpriced, |tokens| Charge::Of("USD", u128::from(tokens) * 7)),
                        points: [
                            Some(ControlPoint { number: line, x: score.ln_1p(), ..ControlPoint::default() }),
                            None,
                        ],
                        is_fabricated: Some(line.is_multiple_of(3)),
                        holds: tokens.map(|_| Holds { response: *full, ..Holds::default() }),
                    },
                );
            }
            Item::Rejected => partial.rejected(&RejectedUnit::new("a", line, None, 0, "is not JSON")),
            Item::Skipped => partial.skipped(),
            Item::Event => partial.event(samples::event(line)),
        }
    }

    fn part(items: &[Item], first_line: usize) -> Partial {
        let mut partial = Partial::default();
        for (i, item) in items.iter().enumerate() {
            count(&mut partial, (first_line + i) as u64, item);
        }
        partial
    }

    fn total(parts: impl IntoIterator<Item = Partial>) -> Partial {
        let mut total = Partial::default();
        parts.into_iter().for_each(|part| total.merge(part));
        total
    }

    #[test]
    fn parts_that_know_the_floor_leave_out_only_what_would_be_dropped() {
        let score = |line: u64| 0.1 + (line * 37 % 101) as f64 / 120.0;
        let part = |lines: std::ops::Range<u64>, floors: Floors| {
            let mut part = Partial::above(floors);
            lines.for_each(|line| samples::scored(line, score(line)).count(&mut part, &Measures::default()));
            part
        };
        let (mut plain, mut spared) = (Partial::default(), Partial::default());
        let mut kept = 0;
        for start in (0..6000).step_by(50) {
            plain.merge(part(start..start + 50, Floors::default()));
            let of_part = part(start..start + 50, spared.floors());
            kept += of_part.worst.len();
            spared.merge(of_part);
        }
        assert_eq!(plain, spared);
        assert!(kept < 4500, "{kept} of 6000 were made");
    }

    #[test]
    fn the_worst_are_sorted_by_decision_posterior_and_order() {
        let mut partial = Partial::default();
        for (line, score) in [(1, 0.2), (2, 0.9), (3, 0.01), (4, 0.5), (5, 0.9)] {
            samples::scored(line, score).count(&mut partial, &Measures::default());
        }
        let lines: Vec<u64> = partial.worst.iter().map(|record| record.line).collect();
        assert_eq!(lines, [2, 5, 4, 1]);
    }

    #[test]
    fn streams_beyond_the_limit_are_counted_together_and_so_are_their_clocks() {
        let mut partial = Partial::default();
        for (stream, is_beyond_limit) in [("a", false), ("b", true), ("c", true), ("a", false)] {
            let measures =
                Measures { stream: Some(stream), is_beyond_limit, is_backwards: true, ..Measures::default() };
            samples::accepted(1).count(&mut partial, &measures);
        }
        let listed: Vec<_> =
            partial.streams.iter().map(|((_, name), counts)| (name.as_deref(), counts.requests)).collect();
        assert_eq!(listed, [(Some("a"), 2)]);
        assert_eq!((partial.streams.others.requests, partial.streams.others.timestamps_backwards), (2, 2));
        assert_eq!(partial.streams.all().timestamps_backwards, 4);
    }

    #[test]
    fn lists_are_capped_and_totals_are_not() {
        let items = vec![Item::Rejected; REJECTED_LISTED_MAX + 3];
        let partial = part(&items, 1);
        assert_eq!((partial.rejected.len(), partial.ledger.rejected), (REJECTED_LISTED_MAX, 23));
        let items = vec![Item::Event; EVENTS_MAX + 3];
        let partial = total([part(&items[..50], 1), part(&items[50..], 51)]);
        assert_eq!((partial.events.len(), partial.events_total), (EVENTS_MAX, 103));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_split_merged_in_order_gives_the_same(items in vec(item(), 0..60), cuts in vec(0..60usize, 0..6)) {
            let whole = total([part(&items, 1)]);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(items.len())).collect();
            cuts.sort_unstable();
            let mut parts = Vec::new();
            let mut from = 0;
            for to in cuts.into_iter().chain([items.len()]) {
                parts.push(part(&items[from..to], from + 1));
                from = to;
            }
            prop_assert_eq!(total(parts), whole);
        }
    }
}
