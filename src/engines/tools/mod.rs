//! Does a tool's answer look real? The checks of seed 002, tier 0: from one call alone, without its history.
//!
//! - [`agent`]: tools that may be called, and what history needs to see loops and flows
//! - [`contradiction`]: answers against the results of their own tools
//! - [`schema`]: fields that must or must not be there
//! - [`latency`]: faster than possible, slower than expected
//! - [`pattern`]: the JSON text matches none of the expected patterns
//! - [`length`]: the JSON text is too short or too long
//! - [`error`]: the answer says itself that the call failed
//! - [`profile`]: what a user registers about a tool
//!
//! A signal is in the list only when it was applicable: a schema with fields to check, a time that is known.

pub mod agent;
pub mod contradiction;
pub mod error;
pub mod latency;
pub mod length;
pub mod pattern;
pub mod profile;
pub mod schema;

use serde::{Deserialize, Serialize};

pub use profile::{Profile, ProfileError, ToolProfile};

use super::{Question, RatioSource, Row, Signal, Tier, row::FIELDS_MAX, row::Field};
use crate::{
    hash,
    record::{Kind, LatencySource, Record, json::Json},
};

/// Settings of the checks of one call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Required and forbidden fields.
    pub schema: schema::Settings,
    /// Too fast and too slow.
    pub latency: latency::Settings,
    /// Expected patterns.
    pub pattern: pattern::Settings,
    /// Length of the JSON text.
    pub length: length::Settings,
    /// Explicit errors.
    pub error: error::Settings,
    /// Whether a boolean field is a number, 0 or 1, to the history (seed 002's program).
    pub booleans_are_numbers: bool,
}

impl Settings {
    /// The letter of seed 002 and, where it is silent, its program.
    pub fn seed() -> Settings {
        Settings {
            schema: schema::Settings::seed(),
            latency: latency::Settings::seed(),
            pattern: pattern::Settings::seed(),
            length: length::Settings::default(),
            error: error::Settings::default(),
            booleans_are_numbers: true,
        }
    }
}

/// The signals of one tool call; empty for any other kind of record.
pub fn tier0(record: &Record<'_>, profile: Option<&Profile>, settings: &Settings) -> Vec<Signal> {
    if record.kind != Kind::Tool {
        return Vec::new();
    }
    let answer = Answer::of(record);
    let checks = [
        schema_signal(&answer, profile, &settings.schema),
        latency_signal(record, profile, &settings.latency),
        pattern_signal(&answer, profile, &settings.pattern),
        length_signal(&answer, profile, &settings.length),
        slow_signal(record, profile, &settings.latency),
        error_signal(&answer, &settings.error),
    ];
    checks.into_iter().flatten().collect()
}

/// Writes into `row` what the ordered stage needs of a tool call: its tier-0 signals, its time, its arguments, and the
/// size and fields of its answer. Stream, session and timestamp are the caller's.
pub fn fill_row(record: &Record<'_>, profile: Option<&Profile>, settings: &Settings, row: &mut Row) {
    if record.kind != Kind::Tool {
        return;
    }
    row.is_tool = true;
    row.tier0.extend(tier0(record, profile, settings));
    row.is_error = is_error(record);
    row.args = record.args.as_ref().map(Json::canonical_hash);
    row.latency_ms = record.execution_time_ms;
    row.latency_is_whole = record.execution_time_ms.is_some_and(|ms| ms.fract() == 0.0);
    row.latency_if_fine = latency_if_fine(record, profile, &settings.latency);
    row.latency_if_slow = latency_if_slow(record, profile, &settings.latency);
    let Some(result) = &record.result else { return };
    row.result_length = Some(result.spaced_length_chars() as f64);
    let Json::Object(members) = result else { return };
    row.field_names.extend(members.iter().take(FIELDS_MAX + 1).map(|(name, _)| hash::name(name)));
    let names = row.field_names.iter().zip(members).take(FIELDS_MAX).enumerate();
    row.fields.extend(names.filter_map(|(index, (&name, (_, value)))| {
        number(value, settings.booleans_are_numbers).map(|value| Field { name, value, index: index as u32 })
    }));
}

/// A tool's answer, if the record holds one, and whether the call failed by its own account.
struct Answer<'r, 'a> {
    result: Option<&'r Json<'a>>,
    is_error: bool,
    has_error: bool,
}

impl<'r, 'a> Answer<'r, 'a> {
    fn of(record: &'r Record<'a>) -> Answer<'r, 'a> {
        Answer { result: record.result.as_ref(), is_error: is_error(record), has_error: record.error.is_some() }
    }
}

fn is_error(record: &Record<'_>) -> bool {
    let in_answer = match &record.result {
        Some(Json::Object(members)) => members.iter().any(|(name, value)| error::says_error(name, look_into(value))),
        _ => false,
    };
    in_answer || record.error.as_deref().is_some_and(|text| !text.trim().is_empty())
}

fn look_into<'v>(value: &'v Json<'_>) -> error::Value<'v> {
    match value {
        Json::Null => error::Value::Empty,
        Json::Bool(yes) => error::Value::Bool(*yes),
        Json::Number(_) => error::Value::Number(value.as_f64().unwrap_or_default()),
        Json::String(text) => error::Value::Text(text),
        Json::Array(items) if items.is_empty() => error::Value::Empty,
        Json::Object(members) if members.is_empty() => error::Value::Empty,
        Json::Array(_) | Json::Object(_) => error::Value::Filled,
    }
}

fn number(value: &Json<'_>, booleans_are_numbers: bool) -> Option<f64> {
    match value {
        Json::Number(_) => value.as_f64().filter(|number| number.is_finite()),
        Json::Bool(yes) if booleans_are_numbers => Some(f64::from(u8::from(*yes))),
        _ => None,
    }
}

fn schema_signal(answer: &Answer<'_, '_>, profile: Option<&Profile>, settings: &schema::Settings) -> Option<Signal> {
    let tool = &profile?.tool;
    let result = answer.result?;
    let required = if answer.is_error && !settings.errors_are_violations { &[][..] } else { &tool.required_fields };
    if required.is_empty() && tool.forbidden_fields.is_empty() {
        return None;
    }
    let members = match result {
        Json::Object(members) => Some(members),
        _ => None,
    };
    let present = |field: &str| members.is_some_and(|members| members.iter().any(|(name, _)| name == field));
    let found =
        schema::check(members.is_some(), present, required, &tool.forbidden_fields, settings.not_an_object_score);
    let absent = fabricated(schema::SIGNAL, settings.likelihood_ratio, schema::LIKELIHOOD_RATIO);
    Some(if found.fired() { absent.fire(found.score, found.describe()) } else { absent })
}

fn latency_signal(record: &Record<'_>, profile: Option<&Profile>, settings: &latency::Settings) -> Option<Signal> {
    let ms = execution_time_ms(record, profile, settings)?;
    let (least_ms, _) = latency_range(profile);
    let reading = reading(ms, profile, ms.fract() != 0.0, settings);
    let mut signal = fabricated(latency::SIGNAL, settings.likelihood_ratio, latency::LIKELIHOOD_RATIO);
    signal.score = reading.score;
    signal.likelihood_ratio = reading.likelihood_ratio;
    if !reading.fired {
        return Some(signal);
    }
    Some(if reading.by_floor {
        signal.fire(reading.score, format!("{ms} ms is below the {} ms that any real I/O takes", settings.floor_ms))
    } else {
        signal.fire(reading.score, format!("{ms} ms is below the expected minimum of {least_ms} ms"))
    })
}

/// The time of a call, where it can say that the call was too fast.
fn execution_time_ms(record: &Record<'_>, profile: Option<&Profile>, settings: &latency::Settings) -> Option<f64> {
    let is_assumed = profile.is_none() && record.latency_source == Some(LatencySource::Assumed);
    let counts = (settings.failed_calls_count || !is_error(record)) && (settings.assumed_unit_counts || !is_assumed);
    record.execution_time_ms.filter(|_| counts)
}

fn reading(ms: f64, profile: Option<&Profile>, clock_is_fine: bool, settings: &latency::Settings) -> latency::Reading {
    let floor = latency::floor_for(network_io(profile), clock_is_fine, settings);
    latency::too_fast(ms, latency_range(profile).0, floor, settings)
}

/// What the latency signal becomes when the clock is fine, for a whole number of milliseconds below the floor.
fn latency_if_fine(record: &Record<'_>, profile: Option<&Profile>, settings: &latency::Settings) -> Option<(f64, f64)> {
    let ms = execution_time_ms(record, profile, settings)?;
    if ms.fract() != 0.0 || ms >= settings.floor_ms {
        return None;
    }
    let [coarse, fine] = [false, true].map(|clock_is_fine| reading(ms, profile, clock_is_fine, settings));
    (fine.fired && fine != coarse).then_some((fine.score, fine.likelihood_ratio))
}

/// What the latency signal becomes when the tool's own past shows that it takes time, for a time below the floor.
fn latency_if_slow(record: &Record<'_>, profile: Option<&Profile>, settings: &latency::Settings) -> Option<(f64, f64)> {
    let ms = execution_time_ms(record, profile, settings)?;
    let is_unknown = profile.is_none() && !settings.unknown_tools_count && ms < settings.floor_ms;
    let reading = latency::too_fast(ms, latency_range(profile).0, latency::Floor::Plain, settings);
    (is_unknown && reading.fired).then_some((reading.score, reading.likelihood_ratio))
}

fn pattern_signal(answer: &Answer<'_, '_>, profile: Option<&Profile>, settings: &pattern::Settings) -> Option<Signal> {
    let patterns = &profile?.patterns;
    let result = answer.result?;
    if patterns.stated() == 0 {
        return None;
    }
    let absent = fabricated(pattern::SIGNAL, settings.likelihood_ratio, pattern::LIKELIHOOD_RATIO);
    if patterns.any_match(&result.to_spaced_string()) {
        return Some(absent);
    }
    Some(absent.fire(settings.mismatch_score, format!("none of {} expected patterns matches", patterns.stated())))
}

fn length_signal(answer: &Answer<'_, '_>, profile: Option<&Profile>, settings: &length::Settings) -> Option<Signal> {
    let tool = &profile?.tool;
    let (least, most) = (tool.min_response_length, tool.max_response_length);
    if least.is_none() && most.is_none() {
        return None;
    }
    let length = answer.result?.spaced_length_chars() as u64;
    let score = length::score(length, least, most, settings);
    let absent = fabricated(length::SIGNAL, settings.likelihood_ratio, length::LIKELIHOOD_RATIO);
    Some(if score > 0.0 { absent.fire(score, length::describe(length, least, most)) } else { absent })
}

fn slow_signal(record: &Record<'_>, profile: Option<&Profile>, settings: &latency::Settings) -> Option<Signal> {
    let ms = record.execution_time_ms.filter(|_| settings.slow_counts)?;
    let (_, most_ms) = latency_range(profile);
    let (score, fired) = latency::too_slow(ms, most_ms, settings);
    let mut signal = degraded(latency::SLOW_SIGNAL, settings.slow_likelihood_ratio, latency::SLOW_LIKELIHOOD_RATIO);
    signal.score = score;
    Some(if fired {
        signal.fire(score, format!("{ms} ms is above the expected maximum of {most_ms} ms"))
    } else {
        signal
    })
}

fn error_signal(answer: &Answer<'_, '_>, settings: &error::Settings) -> Option<Signal> {
    if answer.result.is_none() && !answer.has_error {
        return None;
    }
    let absent = degraded(error::SIGNAL, settings.likelihood_ratio, error::LIKELIHOOD_RATIO);
    Some(if answer.is_error { absent.fire(1.0, "the call reports an error") } else { absent })
}

fn latency_range(profile: Option<&Profile>) -> (f64, f64) {
    profile.map_or(profile::UNREGISTERED_LATENCY_RANGE_MS, |profile| profile.tool.expected_latency_ms)
}

fn network_io(profile: Option<&Profile>) -> Option<bool> {
    profile.map(|profile| profile.tool.has_network_io)
}

fn fabricated(id: &'static str, ratio: f64, built_in: f64) -> Signal {
    let source = RatioSource::of(ratio, built_in, RatioSource::Seed);
    Signal::absent(id, Question::Fabricated, Tier::Zero, (ratio, source))
}

fn degraded(id: &'static str, ratio: f64, built_in: f64) -> Signal {
    let source = RatioSource::of(ratio, built_in, RatioSource::Default);
    Signal::absent(id, Question::Degraded, Tier::Zero, (ratio, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(result: &'static str, ms: f64) -> Record<'static> {
        let mut record = Record::new(Kind::Tool);
        record.result = Some(Json::parse(result.as_bytes()).unwrap());
        record.execution_time_ms = Some(ms);
        record
    }

    fn profile() -> Profile {
        let tool = ToolProfile {
            required_fields: vec!["rows".into()],
            response_patterns: vec![r#""rows": \["#.into()],
            min_response_length: Some(5),
            ..ToolProfile::default()
        };
        Profile::new(tool, false).unwrap()
    }

    fn fired(result: &'static str, ms: f64, settings: &Settings) -> Vec<&'static str> {
        let signals = tier0(&record(result, ms), Some(&profile()), settings);
        signals.iter().filter(|signal| signal.fired).map(|signal| signal.id).collect()
    }

    #[test]
    fn what_fires() {
        let ours = Settings::default();
        for (result, ms, expected) in [
            (r#"{"rows": [1]}"#, 100.0, &[][..]),
            (r#"{"rows": []}"#, 0.5, &["latency_anomaly"]),
            (r#"{"row": []}"#, 100.0, &["schema_mismatch", "pattern_mismatch"]),
            ("[1]", 100.0, &["schema_mismatch", "pattern_mismatch", "length_anomaly"]),
            (r#"{"rows": [], "error": "quota"}"#, 100.0, &["tool_error"]),
            (r#"{"error": "quota"}"#, 1e9, &["pattern_mismatch", "slow_tool", "tool_error"]),
        ] {
            assert_eq!(fired(result, ms, &ours), expected, "{result} in {ms} ms");
        }
        let seed = fired(r#"{"error": "quota"}"#, 1e9, &Settings::seed());
        assert_eq!(seed, ["schema_mismatch", "pattern_mismatch", "tool_error"]);
    }

    #[test]
    fn only_what_applies_is_in_the_list() {
        let ids = |signals: Vec<Signal>| signals.iter().map(|signal| signal.id).collect::<Vec<_>>();
        let ours = Settings::default();
        assert_eq!(ids(tier0(&record("{}", 9.0), None, &ours)), ["latency_anomaly", "slow_tool", "tool_error"]);
        assert_eq!(ids(tier0(&Record::new(Kind::Tool), Some(&profile()), &ours)), [""; 0]);
        assert_eq!(ids(tier0(&Record::new(Kind::Llm), Some(&profile()), &ours)), [""; 0]);
    }

    #[test]
    fn a_row_holds_numbers_and_hashes() {
        let mut row = Row::default();
        let record = record(r#"{"ok": true, "price": 6.5, "name": "x", "volume": -3}"#, 100.5);
        fill_row(&record, None, &Settings::default(), &mut row);
        let fields: Vec<_> = row.fields.iter().map(|field| (field.index, field.value)).collect();
        assert_eq!(fields, [(1, 6.5), (3, -3.0)]);
        assert_eq!((row.field_names.len(), row.latency_is_whole, row.is_tool), (4, false, true));
        assert_eq!(row.result_length, Some(53.0));
        fill_row(&record, None, &Settings::seed(), &mut row);
        assert_eq!(row.fields[2].value, 1.0);
    }

    #[test]
    fn a_row_is_bounded() {
        let names: Vec<String> = (0..1000).map(|i| format!("\"f{i}\": {i}")).collect();
        let text = format!("{{{}}}", names.join(", "));
        let mut record = Record::new(Kind::Tool);
        record.result = Some(Json::parse(text.as_bytes()).unwrap());
        let mut row = Row::default();
        fill_row(&record, None, &Settings::default(), &mut row);
        assert_eq!((row.fields.len(), row.field_names.len()), (FIELDS_MAX, FIELDS_MAX + 1));
    }

    #[test]
    fn a_time_below_the_floor_waits_for_the_clock_or_the_past() {
        let profile = profile();
        let if_fine = |ms, profile| {
            let mut row = Row::default();
            fill_row(&record(r#"{"rows": [1]}"#, ms), profile, &Settings::default(), &mut row);
            let signal = row.tier0.iter().find(|signal| signal.id == latency::SIGNAL).unwrap();
            (row.latency_if_fine, row.latency_if_slow.is_some(), signal.fired, signal.likelihood_ratio)
        };
        assert_eq!(if_fine(0.0, Some(&profile)), (Some((1.0, 50.0)), false, true, 3.5));
        assert_eq!(if_fine(0.1, Some(&profile)), (None, false, true, 50.0));
        assert_eq!(if_fine(5.0, Some(&profile)), (None, false, true, 3.5));
        assert_eq!(if_fine(1.0, None), (None, true, false, 3.5));
        assert_eq!(if_fine(0.1, None), (None, true, false, 3.5));
        assert_eq!(if_fine(5.0, None), (None, false, false, 3.5));
    }

    #[test]
    fn a_call_that_failed_is_not_too_fast() {
        let failed = r#"{"error": "no such tool"}"#;
        let is_known = |settings: &Settings| {
            tier0(&record(failed, 0.5), None, settings).iter().any(|signal| signal.id == latency::SIGNAL)
        };
        assert_eq!([Settings::default(), Settings::seed()].map(|settings| is_known(&settings)), [false, true]);
    }
}
