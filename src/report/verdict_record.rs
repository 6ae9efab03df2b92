//! What is said of one record: one object that owns its text, the same in every format.
//!
//! [`VerdictRecord::new`] takes plain data: identity strings, a [`Verdict`], signals and assessments. Values are kept
//! exactly as they were in the log; each format makes them safe in its own way ([`safe_json`](super::safe_json),
//! [`csv`](super::csv), [`terminal`](super::terminal)). Only [`VerdictRecord::explanation`] is made safe here, because
//! it is our sentence around their words.

use std::{borrow::Cow, ops::Range};

use schemars::JsonSchema;
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::explanation::explain;
use crate::{
    engines::{
        Assessment, Class, Detail, Finding, Question, RatioSource, Severity, Signal, Status, Tier,
        grounding::{
            Grounding, SourceKind,
            claims::ClaimType,
            trust::{ClaimVerdict, Reason},
        },
    },
    verdict::{
        Decision, Verdict,
        verifiers::{Verifiers, Vote},
    },
};

/// No record lists more findings than this; the rest is counted in [`VerdictRecord::findings_total`].
pub const FINDINGS_PER_RECORD_MAX: usize = 100;

/// The rule of a finding of which only the span itself is shown, without what stands around it.
pub const QUOTE_RULE: &str = "grounding/quote";

/// No name in a report (id, model, tool, session, label) is longer than this many characters; the rest is cut off.
pub const NAME_CHARS_MAX: usize = 256;

/// One audited record.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VerdictRecord {
    /// Name and version of this object's format.
    pub schema: VerdictSchema,
    /// What this object is, among the lines of a JSON Lines report.
    #[serde(rename = "type")]
    pub line_type: RecordType,
    /// The source that the record comes from (`-` for standard input).
    pub source: String,
    /// Line on which it begins, from 1.
    pub line: u64,
    /// Position among the records of that line, from 0; absent when the line holds one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// Offset of its first byte in the (decompressed) source.
    pub byte: u64,
    /// The record's own id, else `source:line` or `source:line:item`.
    pub id: String,
    /// `llm` or `tool`.
    pub kind: &'static str,
    /// The model that answered.
    pub model: Option<String>,
    /// The tool that was called.
    pub tool: Option<String>,
    /// The conversation that it belongs to.
    pub session_id: Option<String>,
    /// When the call began, in RFC 3339, UTC.
    pub timestamp: Option<String>,
    /// The worst decision of the four questions.
    pub verdict: Decision,
    /// Whether something is proven, or nearly certain, on a question that blocks.
    pub high_risk: bool,
    /// The answers.
    pub questions: Questions<QuestionAnswer>,
    /// All signals that were applicable, in the order in which they were computed.
    pub signals: Vec<SignalEntry>,
    /// Places in the text, at most [`FINDINGS_PER_RECORD_MAX`].
    pub findings: Vec<FindingEntry>,
    /// How many findings there were.
    pub findings_total: u64,
    /// P(fabricated), as seed 002 names it; null when that was not assessed.
    pub confidence: Option<f64>,
    /// Whether the record is blocked as fabricated, as seed 002 names it.
    pub is_hallucinated: bool,
    /// What each engine said.
    #[schemars(with = "std::collections::BTreeMap<String, EngineEntry>")]
    pub engines: Ordered<EngineEntry>,
    /// The verifiers of seed 003 and their weighted confidence; null when none of them ran. The verdict does not rest on it.
    pub verifiers: Option<VerifiersEntry>,
    /// The claims of the answer against its sources; null when there was nothing to compare.
    pub grounding: Option<GroundingEntry>,
    /// The runtime engines in one number; null when none applies.
    pub health: Option<HealthEntry>,
    /// How far the audit of this record went.
    pub tier_reached: Tier,
    /// The verdict in one or two sentences.
    pub explanation: String,
    /// A label from outside, carried through; no verdict depends on it.
    pub label: Option<String>,
    /// Fields that were present but could not be used.
    pub problems: Vec<Problem>,
}

/// Name and version of the format of [`VerdictRecord`] and [`RejectedUnit`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub enum VerdictSchema {
    /// The first version.
    #[default]
    #[serde(rename = "llmverify.verdict/1")]
    V1,
}

/// The `type` of a [`VerdictRecord`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub enum RecordType {
    /// An audited record.
    #[default]
    #[serde(rename = "record")]
    Record,
}

/// The `type` of a [`RejectedUnit`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub enum RejectedType {
    /// A unit of input that is no record.
    #[default]
    #[serde(rename = "rejected")]
    Rejected,
}

/// A unit of input that is no record, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RejectedUnit {
    /// Name and version of this object's format.
    pub schema: VerdictSchema,
    /// What this object is, among the lines of a JSON Lines report.
    #[serde(rename = "type")]
    pub line_type: RejectedType,
    /// The source that it stands in.
    pub source: String,
    /// Line on which it begins, from 1.
    pub line: u64,
    /// Position among the units of that line, from 0; absent when the line holds one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// Offset of its first byte in the (decompressed) source.
    pub byte: u64,
    /// Why it is no record.
    pub reason: String,
}

impl RejectedUnit {
    /// The unit at this place, rejected because of `reason`.
    pub fn new(source: &str, line: u64, item: Option<u32>, byte: u64, reason: impl Into<String>) -> RejectedUnit {
        RejectedUnit {
            schema: VerdictSchema::V1,
            line_type: RejectedType::Rejected,
            source: source.to_owned(),
            line,
            item,
            byte,
            reason: reason.into(),
        }
    }
}

/// One value per question, under its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Questions<T> {
    /// Is the content made up?
    pub fabricated: T,
    /// Does the input try to subvert the model?
    pub attacked: T,
    /// Does the output give away what it must not?
    pub leaking: T,
    /// Is the service unwell?
    pub degraded: T,
}

impl<T> Questions<T> {
    /// The value of each question, by `of`.
    pub fn from_fn(mut of: impl FnMut(Question) -> T) -> Questions<T> {
        Questions {
            fabricated: of(Question::Fabricated),
            attacked: of(Question::Attacked),
            leaking: of(Question::Leaking),
            degraded: of(Question::Degraded),
        }
    }

    /// The value of one question.
    pub fn get(&self, question: Question) -> &T {
        match question {
            Question::Fabricated => &self.fabricated,
            Question::Attacked => &self.attacked,
            Question::Leaking => &self.leaking,
            Question::Degraded => &self.degraded,
        }
    }

    /// The value of one question, to change it.
    pub fn get_mut(&mut self, question: Question) -> &mut T {
        match question {
            Question::Fabricated => &mut self.fabricated,
            Question::Attacked => &mut self.attacked,
            Question::Leaking => &mut self.leaking,
            Question::Degraded => &mut self.degraded,
        }
    }

    /// The values with their questions, in the order of reports.
    pub fn iter(&self) -> impl Iterator<Item = (Question, &T)> {
        Question::ALL.into_iter().map(|question| (question, self.get(question)))
    }
}

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QuestionAnswer {
    /// Whether there was anything to go on.
    pub state: State,
    /// Why there was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// P(yes) before the evidence.
    pub prior: f64,
    /// P(yes) after it; the prior when not assessed.
    pub posterior: f64,
    /// What follows.
    pub verdict: Decision,
    /// What decided: the strongest class of what fired.
    pub class: Class,
}

/// Whether a question had anything to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It had.
    Assessed,
    /// It had not, which is neither a pass nor a zero.
    NotAssessed,
}

/// One signal.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SignalEntry {
    /// Its name.
    pub id: &'static str,
    /// The question that it bears on.
    pub question: Question,
    /// Whether it fired.
    pub fired: bool,
    /// Its strength in [0, 1].
    pub score: f64,
    /// P(fires | yes) / P(fires | no), at full score.
    pub likelihood_ratio: f64,
    /// Where the ratio comes from.
    pub ratio_source: RatioSource,
    /// What it added to the log odds of its question.
    pub log_odds: f64,
    /// When it was computed.
    pub tier: Tier,
    /// What follows from it alone.
    pub class: Class,
    /// Why it fired; empty when it did not.
    pub detail: String,
}

impl SignalEntry {
    fn new(signal: &Signal) -> SignalEntry {
        SignalEntry {
            id: signal.id,
            question: signal.question,
            fired: signal.fired,
            score: finite(signal.score),
            likelihood_ratio: finite(signal.likelihood_ratio),
            ratio_source: signal.ratio_source,
            log_odds: finite(signal.evidence().contribution()),
            tier: signal.tier,
            class: signal.class,
            detail: signal.detail.clone().into_owned(),
        }
    }
}

/// One place in the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingEntry {
    /// `family/name`.
    pub rule: Cow<'static, str>,
    /// How bad it is.
    pub severity: Severity,
    /// JSON Pointer into the normal form of the record.
    pub field: String,
    /// First byte in that field.
    pub start: usize,
    /// Byte after the last one.
    pub end: usize,
    /// What stands there, cut and redacted.
    pub excerpt: String,
    /// What else is to be said of it: by which chain it was decoded, that it is an example.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub detail: Cow<'static, str>,
}

/// What one engine said.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EngineEntry {
    /// `ok`, `warn`, `error` or `not_assessed`.
    pub status: &'static str,
    /// Why it was not assessed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Its number, if it has one.
    pub value: Option<f64>,
    /// Its details, beside the three fields above.
    #[serde(flatten)]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub details: Ordered<Detail>,
}

impl EngineEntry {
    fn new(assessment: &Assessment) -> EngineEntry {
        let reason = match assessment.status {
            Status::NotAssessed(reason) => Some(reason),
            _ => None,
        };
        EngineEntry {
            status: assessment.status.as_str(),
            reason,
            value: assessment.value.filter(|value| value.is_finite()),
            details: Ordered(assessment.details.clone()),
        }
    }
}

/// The verifiers of seed 003, and what they say together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VerifiersEntry {
    /// `full`, or `fast` for those that only compute.
    pub mode: &'static str,
    /// Mean of the scores of those that ran, by their weights.
    pub confidence: f64,
    /// `accept` (PASS), `flag` or `block`.
    pub verdict: Decision,
    /// Whether one of them proves a failure, which blocks whatever the confidence.
    pub proof: bool,
    /// What each of them says.
    #[schemars(with = "std::collections::BTreeMap<String, VerifierEntry>")]
    pub results: Ordered<VerifierEntry>,
}

/// What one verifier says.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VerifierEntry {
    /// From 0 (failed) to 1 (passed); null when it was skipped.
    pub score: Option<f64>,
    /// What it weighs.
    pub weight: f64,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<&'static str>,
}

impl VerifiersEntry {
    fn new(verifiers: &Verifiers) -> VerifiersEntry {
        let entry = |vote: &Vote| {
            let entry =
                VerifierEntry { score: vote.score.ok(), weight: finite(vote.weight), skipped: vote.score.err() };
            (vote.name, entry)
        };
        VerifiersEntry {
            mode: verifiers.mode.as_str(),
            confidence: finite(verifiers.confidence),
            verdict: verifiers.decision,
            proof: verifiers.is_proven(),
            results: Ordered(verifiers.votes.iter().map(entry).collect()),
        }
    }
}

/// The claims of an answer against its sources.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GroundingEntry {
    /// From where the sources come.
    pub source: SourceKind,
    /// Supported claims / all claims; null where there is nothing to compare them with.
    pub trust_score: Option<f64>,
    /// Claims that the sources bear out.
    pub supported: u32,
    /// Claims of which the sources say otherwise.
    pub contradicted: u32,
    /// Claims of which the sources say nothing.
    pub unsupported: u32,
    /// Claims with nothing to compare, and those that say that the sources are silent.
    pub not_assessed: u32,
    /// How much of the question each context holds, by the weight of its content words.
    pub relevance: Vec<f64>,
    /// The first claims; the counts above are of all.
    pub claims: Vec<ClaimEntry>,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClaimEntry {
    /// `clm_1` for the first.
    pub id: String,
    /// What kind of statement it is.
    #[serde(rename = "type")]
    pub claim_type: ClaimType,
    /// What is said of it.
    pub verdict: ClaimVerdict,
    /// Why.
    pub reason: Reason,
    /// P(the sources bear it out).
    pub support: f64,
    /// First byte in the response.
    pub start: usize,
    /// Byte after the last one.
    pub end: usize,
    /// What it says, cut and redacted.
    pub text: String,
    /// The part that the sources do not bear out, where it can be named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<QuoteEntry>,
    /// The closest sentence of the sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<QuoteEntry>,
}

/// A place in a text and what stands there, cut and redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QuoteEntry {
    /// JSON Pointer into the normal form of the record.
    pub field: String,
    /// First byte in that field.
    pub start: usize,
    /// Byte after the last one.
    pub end: usize,
    /// What stands there.
    pub text: String,
}

impl GroundingEntry {
    /// The entry of `grounding`; `quote` gives the text of a place, cut and redacted.
    fn new(grounding: &Grounding, quote: impl Fn(&str, Range<usize>) -> String) -> GroundingEntry {
        let place = |field: &str, span: &Range<usize>| QuoteEntry {
            field: field.to_owned(),
            start: span.start,
            end: span.end,
            text: quote(field, span.clone()),
        };
        let claims = grounding.claims.iter().enumerate().map(|(index, claim)| ClaimEntry {
            id: format!("clm_{}", index + 1),
            claim_type: claim.claim_type,
            verdict: claim.verdict,
            reason: claim.reason,
            support: rounded(claim.support),
            start: claim.span.start,
            end: claim.span.end,
            text: quote(RESPONSE, claim.span.clone()),
            part: claim.part.as_ref().map(|part| place(RESPONSE, part)),
            evidence: claim.evidence.as_ref().map(|(field, span)| place(field, span)),
        });
        let [supported, contradicted, unsupported, not_assessed] = grounding.counts;
        GroundingEntry {
            source: grounding.source,
            trust_score: grounding.is_compared().then(|| rounded(grounding.trust_score)),
            supported,
            contradicted,
            unsupported,
            not_assessed,
            relevance: grounding.relevance.iter().copied().map(rounded).collect(),
            claims: claims.collect(),
        }
    }
}

/// The field that claims stand in.
const RESPONSE: &str = "/response";

/// A share in four digits.
fn rounded(share: f64) -> f64 {
    (finite(share) * 1e4).round() / 1e4
}

/// The runtime engines in one number.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HealthEntry {
    /// 0 is well, 1 is unwell.
    pub score: f64,
    /// `stable`, `minor_variation`, `degraded` or `unstable`.
    pub label: &'static str,
}

/// A field that was present but could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// The field.
    pub field: String,
    /// Why it could not be used, as a clause.
    pub reason: String,
}

/// Named values in the order in which they were given, written as a JSON object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ordered<T>(pub Vec<(&'static str, T)>);

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Who a record is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity<'a> {
    /// The source that the record comes from.
    pub source: &'a str,
    /// Line on which it begins, from 1.
    pub line: u64,
    /// Position among the records of that line, from 0; `None` when the line holds one.
    pub item: Option<u32>,
    /// Offset of its first byte in the (decompressed) source.
    pub byte: u64,
    /// The record's own id.
    pub id: Option<&'a str>,
    /// `llm` or `tool`.
    pub kind: &'static str,
    /// The model that answered.
    pub model: Option<&'a str>,
    /// The tool that was called.
    pub tool: Option<&'a str>,
    /// The conversation that it belongs to.
    pub session_id: Option<&'a str>,
    /// When the call began, in milliseconds since the epoch.
    pub timestamp_ms: Option<i64>,
    /// A label from outside.
    pub label: Option<&'a str>,
}

impl Identity<'_> {
    /// The record's own id, else its place.
    pub fn own_id(&self) -> String {
        self.id.map_or_else(|| place(self.source, self.line, self.item), bounded)
    }
}

/// What was computed of a record.
#[derive(Clone, Debug)]
pub struct Judged<'a> {
    /// The answers and what follows from them.
    pub verdict: &'a Verdict,
    /// All applicable signals, in the order in which they were computed.
    pub signals: &'a [Signal],
    /// What each engine said, under its name.
    pub assessments: &'a [(&'static str, Assessment)],
    /// What the verifiers of seed 003 say together; `None` when none of them ran.
    pub verifiers: Option<&'a Verifiers>,
    /// Score and label of the health engine.
    pub health: Option<(f64, &'static str)>,
    /// How far the audit went.
    pub tier_reached: Tier,
    /// Fields that were present but could not be used.
    pub problems: Vec<Problem>,
}

impl Judged<'_> {
    /// What all engines found in the texts.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.assessments.iter().flat_map(|(_, assessment)| &assessment.findings)
    }
}

impl VerdictRecord {
    /// The object for one record. `excerpt` gives the text of a finding, already cut and redacted.
    pub fn new(identity: Identity<'_>, judged: Judged<'_>, excerpt: impl Fn(&Finding) -> String) -> VerdictRecord {
        let findings = judged.findings().take(FINDINGS_PER_RECORD_MAX).map(|finding| entry(finding, excerpt(finding)));
        let (findings, findings_total) = (findings.collect(), judged.findings().count() as u64);
        let Judged { verdict, signals, assessments, verifiers, health, tier_reached, problems } = judged;
        let owned = |text: Option<&str>| text.map(bounded);
        let quote = |field: &str, span: Range<usize>| {
            excerpt(&Finding::new(QUOTE_RULE, Severity::Info, field.to_owned(), span))
        };
        let grounding = assessments.iter().find_map(|(_, said)| said.grounding.as_deref());
        VerdictRecord {
            schema: VerdictSchema::V1,
            line_type: RecordType::Record,
            source: identity.source.to_owned(),
            line: identity.line,
            item: identity.item,
            byte: identity.byte,
            id: identity.own_id(),
            kind: identity.kind,
            model: owned(identity.model),
            tool: owned(identity.tool),
            session_id: owned(identity.session_id),
            timestamp: identity.timestamp_ms.and_then(rfc3339),
            verdict: verdict.decision,
            high_risk: verdict.high_risk,
            questions: answers(verdict),
            signals: signals.iter().map(SignalEntry::new).collect(),
            findings,
            findings_total,
            confidence: verdict.confidence(),
            is_hallucinated: verdict.is_hallucinated(),
            engines: Ordered(assessments.iter().map(|(name, said)| (*name, EngineEntry::new(said))).collect()),
            verifiers: verifiers.map(VerifiersEntry::new),
            grounding: grounding.map(|grounding| GroundingEntry::new(grounding, quote)),
            health: health.map(|(score, label)| HealthEntry { score: finite(score), label }),
            tier_reached,
            explanation: explain(verdict, signals),
            label: owned(identity.label),
            problems,
        }
    }

    /// The posterior that the decision rests on: the largest among the questions that decided the same.
    pub fn deciding_posterior(&self) -> f64 {
        let deciding = self.questions.iter().filter(|(_, answer)| answer.verdict == self.verdict);
        deciding.map(|(_, answer)| answer.posterior).fold(0.0, f64::max)
    }

    /// Where the record stands, as `source:line` or `source:line:item`.
    pub fn place(&self) -> String {
        place(&self.source, self.line, self.item)
    }
}

/// A name from a log, cut to [`NAME_CHARS_MAX`].
pub fn bounded(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", &name[..end]),
    }
}

/// `source:line`, or `source:line:item` where a line holds several.
pub fn place(source: &str, line: u64, item: Option<u32>) -> String {
    match item {
        None => format!("{source}:{line}"),
        Some(item) => format!("{source}:{line}:{item}"),
    }
}

/// A time in RFC 3339, UTC, with milliseconds when there are any; `None` outside of the years that it can write.
pub fn rfc3339(timestamp_ms: i64) -> Option<String> {
    jiff::Timestamp::from_millisecond(timestamp_ms).ok().map(|timestamp| timestamp.to_string())
}

fn answers(verdict: &Verdict) -> Questions<QuestionAnswer> {
    Questions::from_fn(|question| {
        let answer = &verdict.answers[question as usize];
        QuestionAnswer {
            state: if answer.not_assessed.is_none() { State::Assessed } else { State::NotAssessed },
            reason: answer.not_assessed,
            prior: finite(answer.prior),
            posterior: finite(answer.posterior),
            verdict: answer.decision,
            class: answer.class,
        }
    })
}

fn entry(finding: &Finding, excerpt: String) -> FindingEntry {
    FindingEntry {
        rule: finding.rule.clone(),
        severity: finding.severity,
        field: finding.field.clone().into_owned(),
        start: finding.span.start,
        end: finding.span.end,
        excerpt,
        detail: finding.detail.clone(),
    }
}

/// JSON has no infinities and no NaN, and the schema promises numbers.
fn finite(number: f64) -> f64 {
    if number.is_nan() { 0.0 } else { number.clamp(f64::MIN, f64::MAX) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::samples, *};

    #[test]
    fn names_are_bounded() {
        assert_eq!(bounded("naïve"), "naïve");
        assert_eq!(bounded(&"é".repeat(300)), format!("{}…", "é".repeat(NAME_CHARS_MAX)));
    }

    #[test]
    fn a_missing_id_is_replaced_by_the_place() {
        let build = |identity| {
            VerdictRecord::new(identity, samples::judged(&samples::verdict_accepted(), &[]), |_| String::new())
        };
        let identity = Identity { source: "a.jsonl", line: 7, kind: "llm", ..Identity::default() };
        assert_eq!(build(identity).id, "a.jsonl:7");
        assert_eq!(build(Identity { item: Some(2), ..identity }).id, "a.jsonl:7:2");
        assert_eq!(build(Identity { id: Some("x"), ..identity }).id, "x");
    }

    #[test]
    fn times_are_written_in_rfc_3339() {
        assert_eq!(rfc3339(0).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(rfc3339(1_731_234_567_890).as_deref(), Some("2024-11-10T10:29:27.89Z"));
        assert_eq!(rfc3339(i64::MAX), None);
    }

    #[test]
    fn the_object_holds_every_field_in_a_fixed_order() {
        let value = serde_json::to_value(samples::blocked_record(3)).unwrap();
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys[..5], ["schema", "type", "source", "line", "byte"]);
        assert_eq!(value["schema"], "llmverify.verdict/1");
        assert_eq!(value["type"], "record");
        assert_eq!(value["questions"]["fabricated"]["state"], "assessed");
        assert_eq!(
            value["questions"]["attacked"],
            json!({
                "state": "not_assessed", "reason": "no prompt", "prior": 0.01, "posterior": 0.01,
                "verdict": "not_assessed", "class": "evidence",
            })
        );
        assert_eq!(value["signals"][0]["tier"], "TIER_0");
        assert_eq!(value["signals"][0]["ratio_source"], "seed");
        assert_eq!(
            value["findings"][0],
            json!({
                "rule": "pii/email", "severity": "medium", "field": "/response", "start": 4, "end": 21, "excerpt": "a…@example.com",
            })
        );
        assert_eq!(value["engines"]["latency"], json!({"status": "warn", "value": 0.5, "ratio": 2.5}));
        assert_eq!(
            value["engines"]["token_rate"],
            json!({"status": "not_assessed", "reason": "no token count", "value": null})
        );
        assert_eq!(value["health"], json!({"score": 0.5, "label": "minor_variation"}));
    }

    #[test]
    fn findings_are_capped_and_counted() {
        let mut assessment = Assessment::not_assessed("none");
        assessment.findings = vec![samples::finding(); FINDINGS_PER_RECORD_MAX + 5];
        let verdict = samples::verdict_accepted();
        let judged = Judged { assessments: &[("pii", assessment)], ..samples::judged(&verdict, &[]) };
        let record = VerdictRecord::new(samples::identity(1), judged, |_| String::new());
        assert_eq!((record.findings.len(), record.findings_total), (FINDINGS_PER_RECORD_MAX, 105));
    }
}
