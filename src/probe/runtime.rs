//! The runtime engines, one at a time: JSON in, JSON out, in the shapes of the golden vectors.
//!
//! Every function takes the `input` of a vector and the settings to run under. Answers hold at least the keys of the
//! vectors' `expected` and `seed_expected`; what the vectors round to two decimals is rounded here too. Without numbers
//! to compare, the status is `not_assessed`, the value null, and `message` says why.

use anyhow::{Context, Result};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    engines::{
        Assessment, Baseline, BaselineEngine, Fingerprint, Row, Status,
        runtime::{fingerprint, health, latency, token_rate},
    },
    text::Features,
};

/// The alert level of each health label.
const ALERTS: [&str; health::LABELS.len()] = ["none", "info", "warning", "critical"];

/// Latency against the baseline. `thresholds` of the input (`warnRatio`, `errorRatio`) go before the settings.
pub fn latency(input: &Value, settings: &latency::Settings) -> Result<Value> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Thresholds {
        warn_ratio: f64,
        error_ratio: f64,
    }
    #[derive(Deserialize)]
    struct Input {
        call: Call,
        baseline: Average,
        thresholds: Option<Thresholds>,
    }
    let input: Input = read(input)?;
    let settings = match input.thresholds {
        Some(cuts) => {
            latency::Settings { warn_deviation: cuts.warn_ratio, error_deviation: cuts.error_ratio, ..settings.clone() }
        }
        None => settings.clone(),
    };
    let row = Row { latency_ms: input.call.latency_ms, ..Row::default() };
    let baseline = Baseline { stable: true, latency_ms: input.baseline.avg_latency_ms, ..Baseline::default() };
    let ratio =
        row.latency_ms.zip(baseline.latency_ms.filter(|ms| *ms > 0.0)).map(|(ms, usual)| hundredths(ms / usual));
    Ok(answer(latency::Latency::new(settings).assess(&row, &baseline), json!({ "ratio": ratio })))
}

/// Token rate against the baseline.
pub fn token_rate(input: &Value, settings: &token_rate::Settings) -> Result<Value> {
    #[derive(Deserialize)]
    struct Input {
        call: Call,
        baseline: Average,
    }
    let input: Input = read(input)?;
    let Call { latency_ms, response_tokens, .. } = input.call;
    let row = Row { latency_ms, response_tokens, ..Row::default() };
    let tokens_per_second = input.baseline.avg_tokens_per_second;
    let baseline = Baseline { stable: true, tokens_per_second, ..Baseline::default() };
    let rate = response_tokens.zip(latency_ms).and_then(|(tokens, ms)| token_rate::tokens_per_second(tokens, ms));
    let engine = token_rate::TokenRate::new(settings.clone());
    Ok(answer(engine.assess(&row, &baseline), json!({ "tps": rate.map(hundredths) })))
}

/// The fingerprint of a text against the baseline's.
pub fn fingerprint(input: &Value, settings: &fingerprint::Settings) -> Result<Value> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        call: Call,
        baseline_fingerprint: Option<Shape>,
    }
    let input: Input = read(input)?;
    let text = input.call.response_text.as_deref();
    let current = text.map(|text| fingerprint::extract(&Features::of(text), settings));
    let usual = input.baseline_fingerprint.and_then(Shape::fingerprint);
    let row = Row { fingerprint: current, ..Row::default() };
    let baseline = Baseline { stable: true, fingerprint: usual, ..Baseline::default() };
    let engine = fingerprint::FingerprintDrift::new(settings.clone());
    let details = json!({
        "curr": current.map(shape),
        "diffs": current.zip(usual).map(|(current, usual)| diffs(&current, &usual)),
        "initialized": usual.is_none(),
    });
    Ok(answer(engine.assess(&row, &baseline), details))
}

/// The fingerprint of a text.
pub fn fingerprint_extract(input: &Value, settings: &fingerprint::Settings) -> Result<Value> {
    #[derive(Deserialize)]
    struct Input {
        text: String,
    }
    let input: Input = read(input)?;
    Ok(shape(fingerprint::extract(&Features::of(&input.text), settings)))
}

/// The health score of engine results. Where no metric has a weight, the score is 0 as the seed's sum is, and `state`
/// tells it from a good one.
pub fn health(input: &Value, settings: &health::Settings) -> Result<Value> {
    #[derive(Deserialize)]
    struct Metric {
        metric: String,
        value: Option<f64>,
        status: Option<String>,
    }
    #[derive(Deserialize)]
    struct Input {
        results: Vec<Metric>,
    }
    let input: Input = read(input)?;
    let values: Vec<(&str, f64)> =
        input.results.iter().filter_map(|result| Some((result.metric.as_str(), result.value?))).collect();
    let assessed = health::score(values, settings);
    let (score, label) = assessed.unwrap_or((0.0, health::label(0.0, settings)));
    let level = health::LABELS.iter().position(|known| *known == label).unwrap_or(0);
    let unwell = |result: &&Metric| matches!(result.status.as_deref(), Some("warn" | "error"));
    let recommendations = input.results.iter().filter(unwell).map(|result| format!("look into {}", result.metric));
    Ok(json!({
        "state": if assessed.is_some() { "assessed" } else { "not_assessed" },
        "score": score,
        "health": label,
        "alert": ALERTS[level],
        "healthy": level < 2,
        "recommendations": recommendations.collect::<Vec<_>>(),
    }))
}

/// A call, as the vectors write it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Call {
    latency_ms: Option<f64>,
    response_tokens: Option<f64>,
    response_text: Option<String>,
}

/// A baseline, as the vectors write it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Average {
    avg_latency_ms: Option<f64>,
    avg_tokens_per_second: Option<f64>,
}

/// A fingerprint, as the vectors write it; `{}` is none.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shape {
    tokens: Option<f64>,
    sentences: Option<f64>,
    avg_sent_length: Option<f64>,
    entropy: Option<f64>,
}

impl Shape {
    fn fingerprint(self) -> Option<Fingerprint> {
        Some(Fingerprint {
            tokens: self.tokens?,
            sentences: self.sentences?,
            average_sentence_length: self.avg_sent_length?,
            entropy_bits: self.entropy?,
        })
    }
}

fn shape(print: Fingerprint) -> Value {
    json!({
        "tokens": print.tokens,
        "sentences": print.sentences,
        "avgSentLength": print.average_sentence_length,
        "entropy": print.entropy_bits,
    })
}

fn diffs(current: &Fingerprint, usual: &Fingerprint) -> Value {
    let diff = |current: f64, usual: f64| hundredths((current - usual).abs() / usual.max(1.0));
    json!({
        "tokenLength": diff(current.tokens, usual.tokens),
        "sentenceLength": diff(current.average_sentence_length, usual.average_sentence_length),
        "sentenceCount": diff(current.sentences, usual.sentences),
        "entropy": diff(current.entropy_bits, usual.entropy_bits),
    })
}

fn answer(assessment: Option<Assessment>, details: Value) -> Value {
    let assessment = assessment.unwrap_or_else(|| Assessment::not_assessed("not its kind of record"));
    let mut answer = json!({ "status": assessment.status.as_str(), "value": assessment.value });
    if let Status::NotAssessed(reason) = assessment.status {
        answer["message"] = reason.into();
    }
    if let Value::Object(details) = details {
        for (name, value) in details {
            answer[name] = value;
        }
    }
    answer
}

fn hundredths(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

fn read<T: DeserializeOwned>(input: &Value) -> Result<T> {
    T::deserialize(input).context("the input has not the shape of this engine's vectors")
}
