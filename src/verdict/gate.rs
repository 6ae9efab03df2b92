//! Counts of decisions meet a policy: passed or not, which exit status, and every reason for it.
//!
//! **Formula**: a rate fails when the *lower* end of its 95% Wilson interval lies above the limit, so that one stray
//! record in a large log does not fail a build. The rates are over the records with an assessed question. Whatever
//! could not be read counts against [`Policy::max_rejected`] as a plain share: there is no sampling in it.
//!
//! **Range**: an [`ExitStatus`]; of several the gravest wins ([`ExitStatus::merge`]), and all reasons are listed.
//!
//! **Source**: the interval is [`wilson`]; why its lower end: one record of 10,000 is no rate.
//!
//! **Limits**: a gate that saw nothing does not pass: with [`Policy::min_records`] above 0, nothing audited and nothing
//! assessed are both [`ExitStatus::CouldNotAudit`], and so is a log of which too few calls have an answer to read
//! ([`Policy::min_assessed`]).

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, de};

use super::service;
use crate::stats::wilson;

/// What must hold for the audit to pass.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// The mildest record that fails the audit by itself.
    pub fail_on: FailOn,
    /// Highest share of blocked records.
    #[serde(deserialize_with = "optional_share")]
    pub max_block_rate: Option<f64>,
    /// Highest share of records that are flagged or blocked.
    #[serde(deserialize_with = "optional_share")]
    pub max_flag_rate: Option<f64>,
    /// Fewer audited records than this are no audit.
    pub min_records: u64,
    /// Highest share of units that were rejected or only partially read.
    #[serde(deserialize_with = "share")]
    pub max_rejected: f64,
    /// Lowest share of the LLM calls with the text of an answer, of those that did not fail and did not call tools
    /// instead. A blank answer counts as one where others have a text.
    #[serde(deserialize_with = "share")]
    pub min_assessed: f64,
    /// Highest share of the records of a stream (of 20 or more) that are degraded, failed or declined.
    #[serde(deserialize_with = "optional_share")]
    pub max_degraded: Option<f64>,
    /// How many times its earlier level a stream's latency may reach and keep to the end of the log.
    pub max_level_shift: Option<f64>,
    /// Whether a stream of which more calls fail than before, to the end of the log, fails the audit.
    pub rising_errors: bool,
    /// Lowest share of the claims of answers that their documents must bear out.
    #[serde(deserialize_with = "optional_share")]
    pub min_trust: Option<f64>,
    /// How much more, as a share of the records, may be flagged or blocked than in the baseline, on any question.
    #[serde(deserialize_with = "optional_share")]
    pub max_regression: Option<f64>,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            fail_on: FailOn::Block,
            max_block_rate: None,
            max_flag_rate: None,
            min_records: 1,
            max_rejected: 0.0,
            min_assessed: 0.5,
            max_degraded: Some(0.5),
            max_level_shift: Some(3.0),
            rising_errors: true,
            min_trust: None,
            max_regression: None,
        }
    }
}

impl Policy {
    /// What a stream may show.
    pub fn service(&self) -> service::Limits {
        service::Limits {
            degraded: self.max_degraded,
            level_shift: self.max_level_shift.filter(|times| *times > 1.0),
            rising_errors: self.rising_errors,
        }
    }
}

/// The mildest record that fails the audit by itself.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailOn {
    /// A high-risk record: something proven, or a posterior of 0.9 on a question that blocks.
    High,
    /// A blocked record.
    #[default]
    Block,
    /// A flagged or blocked record.
    Flag,
    /// No record; only rates fail.
    Never,
}

impl FailOn {
    /// All values, in the order of the documentation.
    pub const ALL: [FailOn; 4] = [FailOn::High, FailOn::Block, FailOn::Flag, FailOn::Never];

    /// The name on the command line and in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            FailOn::High => "high",
            FailOn::Block => "block",
            FailOn::Flag => "flag",
            FailOn::Never => "never",
        }
    }
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<FailOn, String> {
        let found = FailOn::ALL.into_iter().find(|value| value.as_str() == text);
        found.ok_or_else(|| format!("`{text}` is none of high, block, flag, never"))
    }
}

/// What the gate looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Units of input that the audit was asked to look at: all but those that a filter left out.
    pub units: u64,
    /// Records that were audited.
    pub audited: u64,
    /// Records with the verdict `accept`.
    pub accept: u64,
    /// Records with the verdict `flag`.
    pub flag: u64,
    /// Records with the verdict `block`.
    pub block: u64,
    /// Records on which no question could be assessed.
    pub not_assessed: u64,
    /// Records at high risk.
    pub high_risk: u64,
    /// Units that are no record.
    pub rejected: u64,
    /// Units of which the report cannot say what became of them: more or fewer were counted than there were.
    pub unaccounted: u64,
    /// Records that were audited without a field that was present but unusable.
    pub partially_read: u64,
    /// Sources that could not be opened, or not read to their end.
    pub unreadable_sources: u64,
    /// The names of the first of them, safe to show.
    pub unreadable: Vec<String>,
    /// LLM calls that should have an answer: all but those that failed, or called tools instead.
    pub answerable: u64,
    /// LLM calls with the text of an answer.
    pub answered: u64,
    /// LLM calls whose answer is there, and blank.
    pub empty: u64,
    /// Claims of answers that their documents bear out.
    pub supported_claims: u64,
    /// All claims of answers that were compared with documents.
    pub claims: u64,
}

impl Counts {
    /// Records on which at least one question was assessed.
    pub fn assessed(&self) -> u64 {
        self.accept + self.flag + self.block
    }
}

/// Exit status of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(into = "u8")]
pub enum ExitStatus {
    /// 0: audited, and within the policy.
    #[default]
    Ok,
    /// 1: audited, and the policy is violated.
    PolicyViolated,
    /// 2: wrong usage, configuration or rules.
    Usage,
    /// 3: could not audit: unreadable input, too many rejected units, too few records.
    CouldNotAudit,
    /// 4: evidence does not verify.
    EvidenceInvalid,
    /// 130: interrupted by the user (128 + SIGINT).
    Interrupted,
}

impl ExitStatus {
    /// The number that the process exits with.
    pub fn code(self) -> u8 {
        match self {
            ExitStatus::Ok => 0,
            ExitStatus::PolicyViolated => 1,
            ExitStatus::Usage => 2,
            ExitStatus::CouldNotAudit => 3,
            ExitStatus::EvidenceInvalid => 4,
            ExitStatus::Interrupted => 130,
        }
    }

    /// The graver of the two: interrupted before 2 before 4 before 3 before 1 before 0.
    pub fn merge(self, other: ExitStatus) -> ExitStatus {
        if self.gravity() >= other.gravity() { self } else { other }
    }

    fn gravity(self) -> u8 {
        match self {
            ExitStatus::Ok => 0,
            ExitStatus::PolicyViolated => 1,
            ExitStatus::CouldNotAudit => 2,
            ExitStatus::EvidenceInvalid => 3,
            ExitStatus::Usage => 4,
            ExitStatus::Interrupted => 5,
        }
    }
}

impl From<ExitStatus> for u8 {
    fn from(status: ExitStatus) -> u8 {
        status.code()
    }
}

/// What the gate decided.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Outcome {
    /// Whether the exit status is 0.
    pub passed: bool,
    /// The gravest exit status of the reasons.
    #[schemars(with = "u8")]
    pub exit: ExitStatus,
    /// Everything that keeps the audit from passing, gravest first.
    pub reasons: Vec<Reason>,
    /// What was asked for.
    pub policy: Policy,
}

impl Outcome {
    /// Adds a reason that keeps the audit from passing.
    pub fn add(&mut self, reason: Reason) {
        self.exit = self.exit.merge(reason.exit);
        self.passed = self.exit == ExitStatus::Ok;
        self.reasons.push(reason);
    }
}

/// One thing that keeps the audit from passing.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Reason {
    /// The exit status that follows from it alone.
    #[schemars(with = "u8")]
    pub exit: ExitStatus,
    /// The rule that it breaks, in the words of the configuration.
    pub rule: &'static str,
    /// What was found, as a sentence without a full stop.
    pub message: String,
}

/// Compares `counts` with `policy`. `facts` are what is wrong with whole streams: the rule, and what was found.
pub fn decide(policy: &Policy, counts: &Counts, facts: &[(&'static str, String)]) -> Outcome {
    let could_not_audit = |rule, message| Reason { exit: ExitStatus::CouldNotAudit, rule, message };
    let violated = |rule, message| Reason { exit: ExitStatus::PolicyViolated, rule, message };
    let of_records = [
        unaccounted(counts).map(|message| could_not_audit("ledger", message)),
        unreadable(counts).map(|message| could_not_audit("unreadable_sources", message)),
        too_few(policy, counts).map(|message| could_not_audit("min_records", message)),
        too_many_rejected(policy, counts).map(|message| could_not_audit("max_rejected", message)),
        too_silent(policy, counts).map(|message| could_not_audit("min_assessed", message)),
        failing_record(policy, counts).map(|message| violated("fail_on", message)),
        above(policy.max_block_rate, counts.block, counts, "blocked")
            .map(|message| violated("max_block_rate", message)),
        above(policy.max_flag_rate, counts.flag + counts.block, counts, "flagged or blocked")
            .map(|message| violated("max_flag_rate", message)),
        too_little_trust(policy, counts).map(|message| violated("min_trust", message)),
    ]
    .into_iter()
    .flatten();
    let of_streams = facts.iter().map(|(rule, message)| violated(rule, message.clone()));
    let reasons: Vec<Reason> = of_records.chain(of_streams).collect();
    let exit = reasons.iter().fold(ExitStatus::Ok, |exit, reason| exit.merge(reason.exit));
    Outcome { passed: exit == ExitStatus::Ok, exit, reasons, policy: policy.clone() }
}

/// A share in [0, 1], written as `0.01` or `1%`.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent.trim_end(), 100.0));
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is no share; write 0.01 or 1%"))?;
    in_range(number / scale)
}

fn in_range(share: f64) -> Result<f64, String> {
    if (0.0..=1.0).contains(&share) {
        Ok(share)
    } else {
        Err(format!("a share of {share} is not between 0 and 1; five percent is 0.05 or \"5%\""))
    }
}

fn unaccounted(counts: &Counts) -> Option<String> {
    let n = counts.unaccounted;
    (n > 0).then(|| {
        format!(
            "what became of {n} {} is not known, which is a fault of llmverify; please report it",
            plural(n, "unit", "units")
        )
    })
}

fn unreadable(counts: &Counts) -> Option<String> {
    /// Names that the reason gives; the report lists more.
    const NAMES_SHOWN: usize = 3;
    let n = counts.unreadable_sources;
    let names = counts.unreadable.iter().take(NAMES_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if n as usize > NAMES_SHOWN { ", ..." } else { "" };
    let named = if names.is_empty() { names } else { format!(": {names}{more}") };
    (n > 0).then(|| format!("{n} {} could not be read to the end{named}", plural(n, "source", "sources")))
}

fn too_few(policy: &Policy, counts: &Counts) -> Option<String> {
    if counts.audited < policy.min_records {
        let (found, asked) = (counts.audited, policy.min_records);
        return Some(format!(
            "{found} {} audited, at least {asked} needed",
            plural(found, "record was", "records were")
        ));
    }
    let blind = policy.min_records > 0 && counts.assessed() == 0;
    blind.then(|| "no record had anything that could be assessed".to_owned())
}

fn too_many_rejected(policy: &Policy, counts: &Counts) -> Option<String> {
    let bad = counts.rejected + counts.partially_read;
    let share = bad as f64 / counts.units.max(1) as f64;
    (bad > 0 && share > policy.max_rejected).then(|| {
        format!(
            "{} of {} units could not be read, {} more only in part ({}, allowed {})",
            counts.rejected,
            counts.units,
            counts.partially_read,
            Percent(share),
            Percent(policy.max_rejected),
        )
    })
}

fn too_silent(policy: &Policy, counts: &Counts) -> Option<String> {
    // A blank answer beside others is one that was judged; where all are blank, it may be the log that has no texts.
    let judged = if counts.answered > 0 { counts.answered + counts.empty } else { 0 };
    let share = judged as f64 / counts.answerable.max(1) as f64;
    if counts.answerable == 0 || share >= policy.min_assessed {
        return None;
    }
    let blank = if counts.empty > 0 { format!(" and {} are empty", counts.empty) } else { String::new() };
    Some(format!(
        "{} of {} LLM calls have the text of an answer{blank} ({}, at least {} needed): log the content, or name its field (--map response=/POINTER)",
        counts.answered,
        counts.answerable,
        Percent(share),
        Percent(policy.min_assessed),
    ))
}

fn failing_record(policy: &Policy, counts: &Counts) -> Option<String> {
    let (n, what) = match policy.fail_on {
        FailOn::High => (counts.high_risk, "at high risk"),
        FailOn::Block => (counts.block, "blocked"),
        FailOn::Flag => (counts.flag + counts.block, "flagged or blocked"),
        FailOn::Never => return None,
    };
    let verb = plural(n, "record is", "records are");
    (n > 0).then(|| format!("{n} {verb} {what} (fail_on = {})", policy.fail_on.as_str()))
}

fn above(limit: Option<f64>, n: u64, counts: &Counts, what: &str) -> Option<String> {
    let (limit, assessed) = (limit?, counts.assessed());
    let low = wilson::lower_bound(n, assessed);
    (low > limit).then(|| {
        let (low, limit) = (Percent(low), Percent(limit));
        format!(
            "{n} of {assessed} assessed records are {what}: a rate of at least {low} (95% confidence), allowed {limit}"
        )
    })
}

fn too_little_trust(policy: &Policy, counts: &Counts) -> Option<String> {
    let limit = policy.min_trust?;
    let (supported, claims) = (counts.supported_claims, counts.claims);
    let (_, high) = wilson::interval(supported, claims)?;
    (high < limit).then(|| {
        let (high, limit) = (Percent(high), Percent(limit));
        format!("the documents bear out {supported} of {claims} claims: trust of at most {high} (95% confidence), at least {limit} needed")
    })
}

fn plural(n: u64, one: &'static str, many: &'static str) -> &'static str {
    if n == 1 { one } else { many }
}

/// A share as a percentage with as many digits as it takes to tell it from zero.
struct Percent(f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        let decimals = if percent == 0.0 || percent >= 10.0 { 0 } else { 2 };
        if percent > 0.0 && percent < 0.01 { write!(f, "<0.01%") } else { write!(f, "{percent:.decimals$}%") }
    }
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    struct Share;

    impl de::Visitor<'_> for Share {
        type Value = f64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a share such as 0.01 or \"1%\"")
        }

        fn visit_f64<E: de::Error>(self, share: f64) -> Result<f64, E> {
            in_range(share).map_err(E::custom)
        }

        fn visit_i64<E: de::Error>(self, share: i64) -> Result<f64, E> {
            self.visit_f64(share as f64)
        }

        fn visit_u64<E: de::Error>(self, share: u64) -> Result<f64, E> {
            self.visit_f64(share as f64)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<f64, E> {
            parse_share(text).map_err(E::custom)
        }
    }

    deserializer.deserialize_any(Share)
}

fn optional_share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    #[derive(Deserialize)]
    struct Written(#[serde(deserialize_with = "share")] f64);

    Ok(Option::<Written>::deserialize(deserializer)?.map(|Written(share)| share))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [ExitStatus; 6] = [
        ExitStatus::Ok,
        ExitStatus::PolicyViolated,
        ExitStatus::Usage,
        ExitStatus::CouldNotAudit,
        ExitStatus::EvidenceInvalid,
        ExitStatus::Interrupted,
    ];

    fn clean(n: u64) -> Counts {
        Counts { units: n, audited: n, accept: n, ..Counts::default() }
    }

    #[track_caller]
    fn check(policy: Policy, counts: Counts, exit: u8, rules: &[&str]) {
        let outcome = decide(&policy, &counts, &[]);
        assert_eq!(outcome.exit.code(), exit, "{outcome:?}");
        assert_eq!(outcome.passed, exit == 0);
        assert_eq!(outcome.reasons.iter().map(|reason| reason.rule).collect::<Vec<_>>(), rules);
    }

    #[test]
    fn a_clean_log_passes_and_an_empty_one_does_not() {
        check(Policy::default(), clean(1), 0, &[]);
        check(Policy::default(), clean(0), 3, &["min_records"]);
        check(Policy { min_records: 0, ..Policy::default() }, clean(0), 0, &[]);
        check(Policy { min_records: 10, ..Policy::default() }, clean(9), 3, &["min_records"]);
    }

    #[test]
    fn trust_fails_when_the_upper_end_lies_below() {
        let of = |supported_claims, claims| Counts { supported_claims, claims, ..clean(10) };
        let policy = Policy { min_trust: Some(0.8), ..Policy::default() };
        check(policy.clone(), of(50, 100), 1, &["min_trust"]);
        check(policy.clone(), of(75, 100), 0, &[]);
        check(policy.clone(), of(1, 2), 0, &[]);
        check(policy, of(0, 0), 0, &[]);
        check(Policy::default(), of(0, 100), 0, &[]);
    }

    #[test]
    fn a_log_on_which_nothing_was_assessed_does_not_pass() {
        let blind = Counts { units: 5, audited: 5, not_assessed: 5, ..Counts::default() };
        check(Policy::default(), blind.clone(), 3, &["min_records"]);
        check(Policy { min_records: 0, ..Policy::default() }, blind, 0, &[]);
    }

    #[test]
    fn fail_on_names_the_mildest_failing_record() {
        let counts = |flag, block, high_risk| Counts { flag, block, high_risk, ..clean(100) };
        let on = |fail_on| Policy { fail_on, ..Policy::default() };
        check(on(FailOn::High), counts(9, 9, 0), 0, &[]);
        check(on(FailOn::High), counts(0, 1, 1), 1, &["fail_on"]);
        check(on(FailOn::Block), counts(9, 0, 0), 0, &[]);
        check(on(FailOn::Block), counts(0, 1, 0), 1, &["fail_on"]);
        check(on(FailOn::Flag), counts(1, 0, 0), 1, &["fail_on"]);
        check(on(FailOn::Never), counts(9, 9, 9), 0, &[]);
    }

    #[test]
    fn rates_fail_on_the_lower_bound_only() {
        let policy = Policy { fail_on: FailOn::Never, max_block_rate: Some(0.01), ..Policy::default() };
        let blocked = |block, n| Counts { block, accept: n - block, units: n, audited: n, ..Counts::default() };
        check(policy.clone(), blocked(1, 10), 1, &["max_block_rate"]);
        check(policy.clone(), blocked(1, 50), 0, &[]);
        check(policy.clone(), blocked(12, 1000), 0, &[]);
        check(policy, blocked(30, 1000), 1, &["max_block_rate"]);
    }

    #[test]
    fn the_flag_rate_counts_blocked_records_too() {
        let policy = Policy { fail_on: FailOn::Never, max_flag_rate: Some(0.1), ..Policy::default() };
        check(policy.clone(), Counts { flag: 20, ..clean(100) }, 1, &["max_flag_rate"]);
        check(policy, Counts { block: 20, ..clean(100) }, 1, &["max_flag_rate"]);
    }

    #[test]
    fn what_could_not_be_read_fails_the_audit() {
        check(Policy::default(), Counts { unaccounted: 1, ..clean(100) }, 3, &["ledger"]);
        check(Policy::default(), Counts { rejected: 1, ..clean(100) }, 3, &["max_rejected"]);
        check(Policy::default(), Counts { partially_read: 1, ..clean(100) }, 3, &["max_rejected"]);
        check(Policy::default(), Counts { unreadable_sources: 1, ..clean(100) }, 3, &["unreadable_sources"]);
        let lenient = Policy { max_rejected: 0.01, ..Policy::default() };
        check(lenient.clone(), Counts { rejected: 1, ..clean(100) }, 0, &[]);
        check(lenient, Counts { rejected: 2, ..clean(100) }, 3, &["max_rejected"]);
    }

    #[test]
    fn a_log_without_answers_does_not_pass() {
        let silent = |answered, answerable| Counts { answered, answerable, ..clean(20) };
        check(Policy::default(), silent(0, 20), 3, &["min_assessed"]);
        check(Policy::default(), silent(9, 20), 3, &["min_assessed"]);
        check(Policy::default(), silent(10, 20), 0, &[]);
        check(Policy::default(), silent(0, 0), 0, &[]);
        check(Policy { min_assessed: 0.0, ..Policy::default() }, silent(0, 20), 0, &[]);
        check(Policy { min_assessed: 0.9, ..Policy::default() }, silent(17, 20), 3, &["min_assessed"]);
        // Blank answers are judged for what they are, as long as the log has texts at all.
        check(Policy::default(), Counts { empty: 16, ..silent(4, 20) }, 0, &[]);
        check(Policy::default(), Counts { empty: 20, ..silent(0, 20) }, 3, &["min_assessed"]);
    }

    #[test]
    fn all_reasons_are_listed_and_the_gravest_decides() {
        let counts = Counts { rejected: 5, high_risk: 2, block: 2, unreadable_sources: 1, ..clean(10) };
        let policy = Policy { max_block_rate: Some(0.0), ..Policy::default() };
        check(policy, counts, 3, &["unreadable_sources", "max_rejected", "fail_on", "max_block_rate"]);
    }

    #[test]
    fn the_codes_are_the_documented_ones() {
        assert_eq!(ALL.map(ExitStatus::code), [0, 1, 2, 3, 4, 130]);
    }

    #[test]
    fn of_several_the_first_of_2_4_3_1_wins() {
        let merge = |codes: &[ExitStatus]| codes.iter().fold(ExitStatus::default(), |sum, code| sum.merge(*code));
        use ExitStatus::{CouldNotAudit, EvidenceInvalid, Interrupted, Ok, PolicyViolated, Usage};
        assert_eq!(merge(&[]), Ok);
        assert_eq!(merge(&[PolicyViolated, CouldNotAudit]), CouldNotAudit);
        assert_eq!(merge(&[CouldNotAudit, EvidenceInvalid, PolicyViolated]), EvidenceInvalid);
        assert_eq!(merge(&[EvidenceInvalid, Usage, CouldNotAudit]), Usage);
        assert_eq!(merge(&[Usage, Interrupted]), Interrupted);
    }

    #[test]
    fn merging_obeys_the_laws() {
        for a in ALL {
            assert_eq!((a.merge(ExitStatus::Ok), ExitStatus::Ok.merge(a), a.merge(a)), (a, a, a));
            for b in ALL {
                assert_eq!(a.merge(b), b.merge(a));
                for c in ALL {
                    assert_eq!(a.merge(b).merge(c), a.merge(b.merge(c)));
                }
            }
        }
    }

    #[test]
    fn shares_are_written_as_numbers_or_percentages() {
        for (text, share) in [("1%", 0.01), ("0.01", 0.01), (" 5 % ", 0.05), ("0", 0.0), ("100%", 1.0)] {
            assert_eq!(parse_share(text), Ok(share), "{text}");
        }
        for text in ["", "%", "5", "-1%", "101%", "nan", "inf", "1%%", "half"] {
            assert!(parse_share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_configuration_takes_both_ways_of_writing_and_nothing_unknown() {
        let policy: Policy =
            toml::from_str("fail_on = 'block'\nmax_block_rate = '1%'\nmax_flag_rate = 0.2\nmax_rejected = 0").unwrap();
        assert_eq!(policy.fail_on, FailOn::Block);
        assert_eq!((policy.max_block_rate, policy.max_flag_rate, policy.max_rejected), (Some(0.01), Some(0.2), 0.0));
        assert!(toml::from_str::<Policy>("max_rejected = 2").is_err());
        assert!(toml::from_str::<Policy>("max_rejectd = 0.1").is_err());
        let written = toml::to_string(&policy).unwrap();
        assert_eq!(toml::from_str::<Policy>(&written).unwrap(), policy);
    }

    proptest! {
        #[test]
        fn more_blocked_records_never_make_it_pass(accept in 0..1000u64, block in 0..1000u64, more in 1..1000u64, limit in 0.0..1.0f64) {
            let policy = Policy { fail_on: FailOn::Never, max_block_rate: Some(limit), min_records: 0, ..Policy::default() };
            let passed = |block| {
                let n = accept + block;
                decide(&policy, &Counts { units: n, audited: n, accept, block, ..Counts::default() }, &[]).passed
            };
            prop_assert!(passed(block) || !passed(block + more));
        }
    }
}
