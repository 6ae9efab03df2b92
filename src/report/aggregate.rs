//! Verdicts → counts: what a batch adds to the report, and how batches meet.
//!
//! A [`Partial`] holds integers, fixed-bin histograms and capped lists; no floating-point number is ever summed, so that
//! the report is the same for every batch size and thread count. Parts are merged in input order, from the left:
//! `total.merge(first); total.merge(second); …`. Lists keep what came first (or what is worst, then first), which is why
//! the order counts.
//!
//! **Limits**: parts and total alike are bounded by [`STREAMS_MAX`], [`EVENTS_MAX`], [`REJECTED_LISTED_MAX`],
//! [`PROBLEMS_LISTED_MAX`] and [`WORST_MAX`]. Streams beyond the limit are counted together; which those are, only the
//! ordered stage can know, and it comes with the record ([`Measures::is_beyond_limit`]).

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    formats::{Formats, Names},
    summary::{Event, PlacedProblem},
    timeline::{Decisions, Timeline},
    verdict_record::{FINDINGS_PER_RECORD_MAX, Identity, Judged, Problem, Questions, RejectedUnit, VerdictRecord},
};
use crate::{
    engines::{Question, Severity, runtime::health},
    stats::histogram::Histogram,
    verdict::{Decision, Verdict},
};

/// No report tells more streams apart than this.
pub const STREAMS_MAX: usize = 200;
/// No report lists more events than this.
pub const EVENTS_MAX: usize = 100;
/// No report lists more rejected units than this.
pub const REJECTED_LISTED_MAX: usize = 20;
/// No report lists more unusable fields than this.
pub const PROBLEMS_LISTED_MAX: usize = 20;
/// No report shows more of the worst records than this.
pub const WORST_MAX: usize = 10;

const US_PER_MS: f64 = 1000.0;
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
    /// Time to the first token, in milliseconds.
    pub ttft_ms: Option<f64>,
    /// Tokens in the prompt.
    pub prompt_tokens: Option<u64>,
    /// Tokens in the response.
    pub response_tokens: Option<u64>,
    /// When the call began, in milliseconds since the epoch.
    pub timestamp_ms: Option<i64>,
}

/// Suppressions that one audit drafts.
pub const DRAFTS_MAX: usize = 10_000;

/// What some records add to the report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Partial {
    pub(super) ledger: Ledger,
    pub(super) formats: Formats,
    pub(super) decisions: Decisions,
    pub(super) high_risk: u64,
    pub(super) questions: Questions<QuestionCounts>,
    pub(super) streams: Streams,
    pub(super) timeline: Timeline,
    pub(super) signals: BTreeMap<(&'static str, Question), SignalCounts>,
    pub(super) rules: BTreeMap<Cow<'static, str>, RuleCounts>,
    pub(super) worst: Vec<VerdictRecord>,
    /// What is not worse than this is not among the worst of the whole.
    floor: Badness,
    pub(super) rejected: Vec<RejectedUnit>,
    pub(super) problems: Vec<PlacedProblem>,
    pub(super) problems_total: u64,
    pub(super) events: Vec<Event>,
    pub(super) events_total: u64,
    pub(super) limits: BTreeMap<&'static str, LimitCounts>,
    /// How often each suppression took a hit out, by its index.
    pub(super) suppressed: BTreeMap<usize, u64>,
    /// What could be suppressed: rule and fingerprint, and where it was first seen.
    pub(super) drafts: BTreeMap<(String, String), String>,
}

/// How bad a verdict is: its decision, then its deciding posterior. The least is not bad at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Badness(u64);

impl Badness {
    fn new(decision: Decision, posterior: f64) -> Badness {
        // The bits of numbers from 0 to 1 are in the order of the numbers, and leave the first two free.
        Badness((decision as u64) << 62 | posterior.max(0.0).to_bits())
    }

    fn of(record: &VerdictRecord) -> Badness {
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
}

/// How often a rule was found.
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

impl Partial {
    /// A part of something whose worst records are known to be worse than `floor`.
    pub fn above(floor: Badness) -> Partial {
        Partial { floor, ..Partial::default() }
    }

    /// What a later record must be worse than to be among the worst.
    pub fn worst_floor(&self) -> Badness {
        let last = self.worst.get(WORST_MAX - 1).map(Badness::of);
        last.unwrap_or_default().max(self.floor)
    }

    /// Counts an audited record. `full` makes the object that reports show; it is asked for only when the record is
    /// among the worst.
    pub fn record(
        &mut self,
        identity: &Identity<'_>,
        judged: &Judged<'_>,
        measures: &Measures<'_>,
        full: impl FnOnce() -> VerdictRecord,
    ) {
        let verdict = judged.verdict;
        self.ledger.audited += 1;
        self.ledger.partially_read += u64::from(!judged.problems.is_empty());
        self.decisions.add(verdict.decision);
        self.high_risk += u64::from(verdict.high_risk);
        self.timeline.add(measures.timestamp_ms, verdict.decision);
        self.streams.record(identity.kind, judged, measures);
        for answer in &verdict.answers {
            let counts = self.questions.get_mut(answer.question);
            counts.assessed += u64::from(answer.not_assessed.is_none());
            counts.not_assessed += u64::from(answer.not_assessed.is_some());
            counts.flagged += u64::from(answer.decision == Decision::Flag);
            counts.blocked += u64::from(answer.decision == Decision::Block);
        }
        for signal in judged.signals {
            let counts = self.signals.entry((signal.id, signal.question)).or_default();
            counts.applicable += 1;
            counts.fired += u64::from(signal.fired);
        }
        self.list_problems(identity, &judged.problems);
        self.count_findings(judged);
        self.keep_if_bad(verdict, full);
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
        self.decisions.merge(&next.decisions);
        self.high_risk += next.high_risk;
        for question in Question::ALL {
            self.questions.get_mut(question).merge(next.questions.get(question));
        }
        self.streams.merge(next.streams);
        self.timeline.merge(next.timeline);
        for (key, counts) in next.signals {
            let sum = self.signals.entry(key).or_default();
            sum.applicable += counts.applicable;
            sum.fired += counts.fired;
        }
        for (rule, counts) in next.rules {
            self.count_rule(rule, counts);
        }
        for record in next.worst {
            self.insert_worst(record);
        }
        self.rejected.extend(next.rejected);
        self.rejected.truncate(REJECTED_LISTED_MAX);
        self.problems.extend(next.problems);
        self.problems.truncate(PROBLEMS_LISTED_MAX);
        self.problems_total += next.problems_total;
        self.events.extend(next.events);
        self.events.truncate(EVENTS_MAX);
        self.events_total += next.events_total;
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

    fn count_findings(&mut self, judged: &Judged<'_>) {
        let mut rules: BTreeMap<&str, RuleCounts> = BTreeMap::new();
        for finding in judged.findings().take(FINDINGS_PER_RECORD_MAX) {
            let new = RuleCounts { severity: finding.severity, findings: 0, records: 1 };
            let counts = rules.entry(&finding.rule).or_insert(new);
            counts.findings += 1;
            counts.severity = counts.severity.max(finding.severity);
        }
        for (rule, counts) in rules {
            self.count_rule(rule.to_owned().into(), counts);
        }
        if judged.findings().count() > FINDINGS_PER_RECORD_MAX {
            self.limit("findings_per_record", FINDINGS_PER_RECORD_MAX as u64, 1);
        }
    }

    fn count_rule(&mut self, rule: Cow<'static, str>, counts: RuleCounts) {
        let none = RuleCounts { severity: counts.severity, findings: 0, records: 0 };
        let sum = self.rules.entry(rule).or_insert(none);
        sum.findings += counts.findings;
        sum.records += counts.records;
        sum.severity = sum.severity.max(counts.severity);
    }

    /// Which are kept must not depend on how the log was cut into parts, so the first in their own order are.
    fn cap_drafts(&mut self) {
        while self.drafts.len() > DRAFTS_MAX {
            self.drafts.pop_last();
        }
    }

    fn keep_if_bad(&mut self, verdict: &Verdict, full: impl FnOnce() -> VerdictRecord) {
        let badness = Badness::new(verdict.decision, verdict.deciding_posterior());
        if verdict.decision >= Decision::Flag && badness > self.worst_floor() {
            self.insert_worst(full());
        }
    }

    /// Of two that are equally bad, the one that came first stays in front.
    fn insert_worst(&mut self, record: VerdictRecord) {
        let badness = Badness::of(&record);
        let at = self.worst.partition_point(|kept| Badness::of(kept) >= badness);
        self.worst.insert(at, record);
        self.worst.truncate(WORST_MAX);
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
    pub prompt_tokens: u64,
    pub response_tokens: u64,
    /// Response tokens and latency of the calls that report both.
    pub timed_tokens: u64,
    pub timed_latency_us: u64,
    pub health_micro: u64,
    pub health_labels: [u64; health::LABELS.len()],
    pub decisions: Decisions,
    pub timestamps_backwards: u64,
}

impl StreamCounts {
    fn record(&mut self, judged: &Judged<'_>, measures: &Measures<'_>) {
        self.requests += 1;
        self.errors += u64::from(measures.is_error);
        self.decisions.add(judged.verdict.decision);
        if let Some(latency_ms) = measures.latency_ms {
            self.latency_ms.add(latency_ms);
        }
        if let Some(ttft_ms) = measures.ttft_ms {
            self.ttft_ms.add(ttft_ms);
        }
        self.prompt_tokens = self.prompt_tokens.saturating_add(measures.prompt_tokens.unwrap_or(0));
        self.response_tokens = self.response_tokens.saturating_add(measures.response_tokens.unwrap_or(0));
        if let (Some(tokens), Some(latency_ms)) = (measures.response_tokens, measures.latency_ms) {
            self.timed_tokens = self.timed_tokens.saturating_add(tokens);
            // A float that does not fit into an integer becomes the nearest one that does.
            self.timed_latency_us = self.timed_latency_us.saturating_add((latency_ms * US_PER_MS).round() as u64);
        }
        if let Some((score, own_label)) = judged.health {
            self.health_micro = self.health_micro.saturating_add((score * MICRO).round() as u64);
            if let Some(i) = health::LABELS.iter().position(|label| *label == own_label) {
                self.health_labels[i] += 1;
            }
        }
        self.timestamps_backwards += u64::from(measures.is_backwards);
    }

    fn merge(&mut self, next: &StreamCounts) {
        self.requests += next.requests;
        self.errors += next.errors;
        self.latency_ms.merge(&next.latency_ms);
        self.ttft_ms.merge(&next.ttft_ms);
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
                        is_backwards: line.is_multiple_of(5),
                        is_error: line.is_multiple_of(7),
                        latency_ms: Some(*latency_ms),
                        ttft_ms: Some(latency_ms / 2.0),
                        prompt_tokens: *tokens,
                        response_tokens: *tokens,
                        timestamp_ms: *timestamp_ms,
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
        let part = |lines: std::ops::Range<u64>, floor: Badness| {
            let mut part = Partial::above(floor);
            lines.for_each(|line| samples::scored(line, score(line)).count(&mut part, &Measures::default()));
            part
        };
        let (mut plain, mut spared) = (Partial::default(), Partial::default());
        let mut kept = 0;
        for start in (0..600).step_by(50) {
            plain.merge(part(start..start + 50, Badness::default()));
            let of_part = part(start..start + 50, Badness::from_bits(spared.worst_floor().to_bits()));
            kept += of_part.worst.len();
            spared.merge(of_part);
        }
        assert_eq!(plain, spared);
        assert!(kept < 450, "{kept} of 600 were made");
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
