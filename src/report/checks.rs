//! The checks of the user's own: on how many records each was looked for, on how many it does not hold, and what is measured
//! of what is expected of many.

use std::{cmp::Reverse, collections::BTreeMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::summary::{Report, StreamSignal};
use crate::{
    engines::check::{Checks, Consequence, OfMany},
    verdict::{
        expectation::{Judged, Outcome, Tallies, written},
        gate::{ExitStatus, Reason},
    },
};

/// Groups of one expectation that a report lists, those that fail first.
pub const GROUPS_LISTED_MAX: usize = 20;
/// Groups of one expectation that become a reason of the gate of their own.
const REASONS_MAX: usize = 5;

/// One check.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CheckSummary {
    /// `check/NAME`.
    pub name: &'static str,
    /// What follows when it does not hold: `flag` or `block`.
    pub effect: Consequence,
    /// Records on which it was looked for. None: it checks nothing in this log.
    pub records: u64,
    /// Records on which it does not hold; of what is expected of many, the groups.
    pub failed: u64,
    /// What is expected of many records; absent when something is asserted of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// What is measured of each group, those that fail first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupSummary>,
    /// How many groups there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_total: Option<u64>,
}

/// What is measured of one group.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GroupSummary {
    /// Its name; null when nothing is grouped, and for records without one.
    pub group: Option<String>,
    /// Records of which something is measured.
    pub records: u64,
    /// What is measured: shares in [0, 1], times in milliseconds.
    pub value: Option<f64>,
    /// Lower end of its 95% interval; null where there is none.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// `holds`, `fails`, `unsure` (beyond the limit, and it may be chance) or `too_few` (records).
    pub outcome: Outcome,
    /// Value and interval as tables show them.
    #[serde(skip)]
    pub shown: [String; 2],
}

impl GroupSummary {
    fn new(check: &OfMany, group: Option<String>, judged: Judged) -> GroupSummary {
        let write = |value: Option<f64>| value.map(|value| written(&check.expectation.measure, value));
        let interval = match (write(judged.low), write(judged.high)) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("from {low}"),
            (None, Some(high)) => format!("up to {high}"),
            (None, None) => String::new(),
        };
        let Judged { records, value, low, high, outcome } = judged;
        GroupSummary { group, records, value, low, high, outcome, shown: [write(value).unwrap_or_default(), interval] }
    }
}

impl CheckSummary {
    /// What people are told of the group in a line, without the check's name.
    fn message(&self, check: &OfMany, group: &GroupSummary) -> String {
        let [value, interval] = &group.shown;
        let of = group.group.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
        let said = if check.message.is_empty() { String::new() } else { format!("{}: ", check.message) };
        let measure = check.expectation.text.split(' ').next().unwrap_or_default();
        let interval = if interval.is_empty() { String::new() } else { format!(", {interval} with 95% confidence") };
        let records = group.records;
        let noun = if records == 1 { "record" } else { "records" };
        format!("{said}{measure}{of} is {value} ({records} {noun}{interval}), expected {}", check.expectation.text)
    }
}

/// The checks of one audit, in the order of the configuration, and what keeps it from passing. `shown` makes names safe.
pub fn summaries(
    checks: &Checks,
    tallies: &BTreeMap<usize, Tallies>,
    signals: &[StreamSignal],
    shown: impl Fn(&str) -> String,
) -> (Vec<CheckSummary>, Vec<Reason>) {
    let mut reasons = Vec::new();
    let mut all: Vec<CheckSummary> = checks
        .of_record
        .iter()
        .map(|check| {
            let own = || signals.iter().filter(|signal| signal.id == check.id);
            CheckSummary {
                name: check.id,
                effect: check.effect,
                records: own().map(|signal| signal.applicable).sum(),
                failed: own().map(|signal| signal.fired).sum(),
                expect: None,
                groups: Vec::new(),
                groups_total: None,
            }
        })
        .collect();
    let none = Tallies::default();
    for (index, check) in checks.of_many.iter().enumerate() {
        let tallies = tallies.get(&index).unwrap_or(&none);
        let judged = tallies.judge(check).into_iter();
        let mut groups: Vec<GroupSummary> =
            judged.map(|(name, judged)| GroupSummary::new(check, name.as_deref().map(&shown), judged)).collect();
        groups.sort_by_key(|group| (rank(group.outcome), Reverse(group.records)));
        let failing = groups.iter().filter(|group| group.outcome == Outcome::Fails).count();
        let (total, records) = (groups.len() as u64, tallies.records());
        let mut summary = CheckSummary {
            name: check.id,
            effect: check.effect,
            records,
            failed: failing as u64,
            expect: Some(check.expectation.text.clone()),
            groups: Vec::new(),
            groups_total: check.group_by.is_some().then_some(total),
        };
        if check.effect == Consequence::Block {
            let reason = |message| Reason { exit: ExitStatus::PolicyViolated, rule: check.id, message };
            let failed = groups.iter().take(failing);
            reasons.extend(failed.take(REASONS_MAX).map(|group| reason(summary.message(check, group))));
            if failing > REASONS_MAX {
                reasons.push(reason(format!("{} more groups fail {}", failing - REASONS_MAX, check.expectation.text)));
            }
        }
        let (min, is_stated) = check.records_min;
        let measured: u64 = groups.iter().map(|group| group.records).sum();
        if is_stated && !check.group_by.is_some() && measured < min {
            let message =
                format!("{measured} records to measure, at least {min} needed for {}", check.expectation.text);
            reasons.push(Reason { exit: ExitStatus::CouldNotAudit, rule: check.id, message });
        }
        groups.truncate(GROUPS_LISTED_MAX);
        summary.groups = groups;
        all.push(summary);
    }
    (all, reasons)
}

fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Fails => 0,
        Outcome::Unsure => 1,
        Outcome::Holds => 2,
        Outcome::TooFew => 3,
    }
}

/// One row of the table of checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The check, and the group.
    pub name: String,
    /// What follows.
    pub effect: &'static str,
    /// Records that were looked at.
    pub records: u64,
    /// What is expected of many, or nothing.
    pub expect: String,
    /// How many do not hold, or what is measured.
    pub measured: String,
    /// The interval of what is measured.
    pub interval: String,
    /// `holds`, `fails`, `unsure`, `too few`, or `no records`.
    pub outcome: &'static str,
}

impl Report {
    /// The table of checks, the same in every format for people.
    pub(super) fn check_rows(&self) -> Vec<Row> {
        self.checks.iter().flat_map(rows).collect()
    }
}

fn rows(check: &CheckSummary) -> Vec<Row> {
    /// What is said of a check that looked at nothing.
    const NOTHING: &str = "no records";
    let name = check.name.trim_start_matches(crate::engines::check::PREFIX);
    let row = |name: String| Row {
        name,
        effect: check.effect.as_str(),
        records: check.records,
        expect: check.expect.clone().unwrap_or_default(),
        measured: String::new(),
        interval: String::new(),
        outcome: if check.records == 0 { NOTHING } else { Outcome::Holds.as_str() },
    };
    if check.expect.is_none() {
        let outcome = match (check.records, check.failed) {
            (0, _) => NOTHING,
            (_, 0) => Outcome::Holds.as_str(),
            _ => Outcome::Fails.as_str(),
        };
        return vec![Row { measured: format!("{} failed", check.failed), outcome, ..row(name.to_owned()) }];
    }
    if check.groups.is_empty() {
        return vec![row(name.to_owned())];
    }
    let of_group = |group: &GroupSummary| {
        let [measured, interval] = group.shown.clone();
        let name = match (&group.group, check.groups_total) {
            (Some(group), _) => format!("{name} ({group})"),
            (None, Some(_)) => format!("{name} (no name)"),
            (None, None) => name.to_owned(),
        };
        let is_exact = group.outcome == Outcome::Fails || group.outcome == Outcome::Holds;
        let outcome = if check.records == 0 && !is_exact { NOTHING } else { group.outcome.as_str() };
        Row { records: group.records, measured, interval, outcome, ..row(name) }
    };
    let mut rows: Vec<Row> = check.groups.iter().map(of_group).collect();
    let listed = check.groups.len() as u64;
    if let Some(more) = check.groups_total.and_then(|total| total.checked_sub(listed)).filter(|more| *more > 0) {
        rows.push(Row {
            records: 0,
            expect: String::new(),
            outcome: "",
            ..row(format!("{name} ({more} more groups)"))
        });
    }
    rows
}
