//! Stage 4: what was computed of a call becomes its verdict, and the object that reports show.

use crate::{
    config::Settings,
    engines::{Assessment, Finding, Question, Signal, runtime::health},
    history::{Chart, Observation, Shift},
    input::Place,
    record::{Kind, Record, json::Json},
    report::{
        Measures, RejectedUnit, VerdictRecord,
        summary::Event,
        verdict_record::{Identity, Judged, Problem},
    },
    text::excerpt::excerpt,
    verdict::{
        Verdict,
        judge::{Policy, judge},
    },
};

use super::analyse::{Call, UNKNOWN_STREAM};

/// Why a question has no answer, when no signal bears on it, in the order of [`Question::ALL`].
const ABSENCES: [&str; 4] = [
    "no signal applies to this record",
    "no engine for attacks in this version",
    "no engine for leaks in this version",
    "no signal applies to this record",
];

/// A call with its verdict and all that led to it.
pub struct Opinion {
    pub verdict: Verdict,
    pub signals: Vec<Signal>,
    pub assessments: Vec<(&'static str, Assessment)>,
    pub health: Option<(f64, &'static str)>,
    pub policies: [Policy; 4],
}

/// Judges one call by what was computed of it alone and what history said.
pub fn opinion(call: &Call<'_>, observation: &Observation, settings: &Settings) -> Opinion {
    let mut policies = settings.policies(&call.stream);
    let fabricated = &mut policies[Question::Fabricated as usize];
    // Feedback moves these three, so history knows better than the settings.
    fabricated.prior = observation.prior;
    fabricated.flag_from = observation.flag_from;
    fabricated.block_from = observation.block_from;

    let mut assessments = call.assessments.clone();
    assessments.extend(observation.assessments.iter().cloned());
    let mut signals: Vec<Signal> = assessments.iter().flat_map(|(_, said)| said.signals.iter().cloned()).collect();
    let name = |index: u32| field_name(&call.record, index);
    signals.extend(observation.clone().into_signals(call.row.tier0.clone(), &name));

    let verdict = judge(&signals, &policies, &ABSENCES);
    let values: Vec<(&str, f64)> =
        assessments.iter().filter_map(|(name, said)| Some((*name, said.value?))).collect();
    let health = health::score(&values, &settings.engines.health);
    Opinion { verdict, signals, assessments, health, policies }
}

fn field_name(record: &Record<'_>, index: u32) -> String {
    let members = record.result.as_ref().and_then(Json::as_object).unwrap_or_default();
    members.get(index as usize).map_or_else(|| format!("field {index}"), |(name, _)| name.clone().into_owned())
}

/// The object that reports show.
pub fn describe(place: &Place, call: &Call<'_>, observation: &Observation, opinion: &Opinion) -> VerdictRecord {
    let record = &call.record;
    let identity = Identity {
        source: &place.source,
        line: place.line,
        item: place.item,
        byte: place.byte,
        id: record.id.as_deref(),
        kind: record.kind.as_str(),
        model: record.model.as_deref(),
        tool: record.tool.as_deref(),
        session_id: record.session_id.as_deref(),
        timestamp_ms: record.timestamp_ms,
        label: record.label.as_deref(),
    };
    let problem = |problem: &crate::record::Problem| Problem {
        field: problem.field.clone(),
        reason: problem.reason.clone(),
    };
    let judged = Judged {
        verdict: &opinion.verdict,
        signals: &opinion.signals,
        assessments: &opinion.assessments,
        health: opinion.health,
        tier_reached: observation.tier_reached,
        problems: record.problems.iter().map(problem).collect(),
    };
    VerdictRecord::new(identity, judged, |finding| excerpt_of(record, finding))
}

/// The evidence of a finding, cut and redacted; the only way for raw text into a report.
fn excerpt_of(record: &Record<'_>, finding: &Finding) -> String {
    record.text_at(&finding.field).map_or_else(String::new, |text| excerpt(text, finding.span.clone()))
}

/// What the report counts of the call besides its verdict.
pub fn measures<'c>(call: &'c Call<'_>) -> Measures<'c> {
    let record = &call.record;
    Measures {
        stream: (call.stream != UNKNOWN_STREAM).then_some(call.stream.as_str()),
        is_error: record.error.is_some() || call.row.is_error,
        latency_ms: if record.kind == Kind::Llm { record.latency_ms } else { record.execution_time_ms },
        ttft_ms: record.ttft_ms,
        prompt_tokens: record.prompt_tokens,
        response_tokens: record.response_tokens,
        timestamp_ms: record.timestamp_ms,
    }
}

/// A level of the call's stream that has moved, as it was noticed with this record.
pub fn event(shift: &Shift, call: &Call<'_>, record: &VerdictRecord) -> Event {
    let (chart, unit) = match shift.chart {
        Chart::Latency => ("latency_ms".to_owned(), "ms"),
        Chart::TokensPerSecond => ("tokens_per_second".to_owned(), "1/s"),
        Chart::Size => ("result_length".to_owned(), "code points"),
        Chart::Style => ("fingerprint_distance".to_owned(), ""),
        Chart::Field(index) => (field_name(&call.record, index), ""),
    };
    Event {
        stream: (call.stream != UNKNOWN_STREAM).then(|| call.stream.clone()),
        kind: record.kind,
        chart,
        from: shift.from,
        to: shift.to,
        unit,
        source: record.source.clone(),
        line: record.line,
        record: record.id.clone(),
        timestamp: record.timestamp.clone(),
    }
}

/// The object for a unit that is no record.
pub fn rejected(place: &Place, fault_byte: usize, reason: &str) -> RejectedUnit {
    RejectedUnit::new(&place.source, place.line, place.item, place.byte + fault_byte as u64, reason)
}
