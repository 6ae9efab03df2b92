//! The verification engine, one part at a time: JSON in, JSON out, in the shapes of the golden vectors.
//!
//! Every function takes the `input` of a vector and the settings to run under. Answers hold at least the keys of the
//! vectors' `expected` and `seed_expected`.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{
    engines::{Class, Fingerprint, Question, Row, Signal, Tier, row::Field, tools},
    hash,
    history::{
        self, Chart, Cuts, History, Override,
        adaptive::Learnt,
        baseline,
        consistency::{self, Violation},
        latency::{self, Pace},
        plausibility::{self, Window},
        shift::When,
        spc::{ControlChart, Hits, Limits, Quantity, Scale, Side},
    },
    record::{Feedback, Kind, Record, json::Json},
    stats::{
        log_odds::{self, Evidence},
        welford::Welford,
    },
    text::Features,
    verdict::judge::{Decision, Policy},
};

/// The settings of both halves of the engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Checks of one call.
    pub tools: tools::Settings,
    /// Everything that remembers.
    pub history: history::Settings,
}

impl Settings {
    /// The letter of seed 002 and, where it is silent, its program.
    pub fn seed() -> Settings {
        Settings { tools: tools::Settings::seed(), history: history::Settings::seed() }
    }
}

/// The parts that can be run by themselves.
pub const NAMES: [&str; 15] = [
    "signal_latency",
    "signal_schema",
    "signal_pattern",
    "signal_length",
    "signal_plausibility",
    "combiner",
    "verify",
    "sequence",
    "running_stats",
    "spc",
    "consistency_session",
    "consistency_historical",
    "adaptive",
    "calibrate",
    "baseline",
];

/// Runs the part called `name`; `None` when there is none of that name.
pub fn run(name: &str, input: &Value, settings: &Settings) -> Option<Result<Value>> {
    let part = match name {
        "signal_latency" => signal_latency,
        "signal_schema" => signal_schema,
        "signal_pattern" => signal_pattern,
        "signal_length" => signal_length,
        "signal_plausibility" => signal_plausibility,
        "combiner" => combiner,
        "verify" => verify,
        "sequence" => sequence,
        "running_stats" => running_stats,
        "spc" => spc,
        "consistency_session" => consistency_session,
        "consistency_historical" => consistency_historical,
        "adaptive" => adaptive,
        "calibrate" => calibrate,
        "baseline" => baseline,
        _ => return None,
    };
    Some(part(input, settings))
}

fn signal_latency(input: &Value, settings: &Settings) -> Result<Value> {
    #[derive(Deserialize)]
    struct Stats {
        mean: f64,
        std: f64,
    }
    #[derive(Deserialize)]
    struct Input {
        execution_time_ms: f64,
        expected_range: (f64, f64),
        historical_stats: Option<Stats>,
        #[serde(default = "yes")]
        has_network_io: bool,
    }
    let input: Input = read(input)?;
    let (ms, tool) = (input.execution_time_ms, &settings.tools.latency);
    let floor = tools::latency::floor_for(Some(input.has_network_io), ms.fract() != 0.0, tool);
    let reading = tools::latency::too_fast(ms, input.expected_range.0, floor, tool);
    let mut answer = json!({"fired": reading.fired, "score": reading.score, "lr": reading.likelihood_ratio});
    if let Some(stats) = input.historical_stats.filter(|stats| !reading.fired && stats.std > 0.0)
        && let Pace::Anomaly(score) = latency::judge((ms - stats.mean) / stats.std, &settings.history.latency)
    {
        answer["fired"] = json!(true);
        answer["score"] = json!(score);
    }
    Ok(answer)
}

fn signal_schema(input: &Value, settings: &Settings) -> Result<Value> {
    #[derive(Deserialize)]
    struct Input {
        result: Value,
        required: Vec<String>,
        forbidden: Vec<String>,
    }
    let input: Input = read(input)?;
    let fields = input.result.as_object();
    let present = |name: &str| fields.is_some_and(|fields| fields.contains_key(name));
    let score = settings.tools.schema.not_an_object_score;
    let found = tools::schema::check(fields.is_some(), present, &input.required, &input.forbidden, score);
    Ok(json!({"fired": found.fired(), "score": found.score, "detail": found.describe()}))
}

fn signal_pattern(input: &Value, settings: &Settings) -> Result<Value> {
    #[derive(Deserialize)]
    struct Input {
        result: Value,
        patterns: Vec<String>,
    }
    let input: Input = read(input)?;
    let pattern = &settings.tools.pattern;
    let patterns = tools::pattern::Patterns::compile(&input.patterns, pattern.tolerate_bad_patterns)?;
    let fired = patterns.stated() > 0 && !patterns.any_match(&tree(&input.result)?.to_spaced_string());
    Ok(json!({"fired": fired, "score": if fired { pattern.mismatch_score } else { 0.0 }}))
}

fn signal_length(input: &Value, settings: &Settings) -> Result<Value> {
    #[derive(Deserialize)]
    struct Input {
        result: Value,
        min_length: Option<u64>,
        max_length: Option<u64>,
    }
    let input: Input = read(input)?;
    let length = tree(&input.result)?.spaced_length_chars() as u64;
    let score = tools::length::score(length, input.min_length, input.max_length, &settings.tools.length);
    let detail = tools::length::describe(length, input.min_length, input.max_length);
    Ok(json!({"fired": score > 0.0, "score": score, "detail": detail}))
}

/// The program's unit needs five values, its engine eight.
const PLAUSIBILITY_UNIT_VALUES_MIN: usize = 5;

fn signal_plausibility(input: &Value, settings: &Settings) -> Result<Value> {
    #[derive(Deserialize)]
    struct Input {
        result: Value,
        historical_values: Map<String, Value>,
    }
    let input: Input = read(input)?;
    let plausibility =
        plausibility::Settings { values_min: PLAUSIBILITY_UNIT_VALUES_MIN, ..settings.history.plausibility.clone() };
    let scale = if settings.history.spc.linear_scales { Scale::Linear } else { Scale::SignedLog { unit: 1.0 } };
    let mut implausible = 0;
    for (name, values) in &input.historical_values {
        let Some(value) = input.result.get(name).and_then(|value| number(value, settings)) else { continue };
        let mut window = Window::default();
        for earlier in values.as_array().into_iter().flatten().filter_map(Value::as_f64) {
            window.push(scale.apply(earlier), plausibility.values_max);
        }
        let z = plausibility::distance(scale.apply(value), &window, &plausibility);
        implausible += usize::from(z.is_some_and(|z| z.abs() > plausibility.sigmas));
    }
    let score = plausibility::score(implausible, &plausibility);
    Ok(json!({"fired": implausible > 0, "score": score}))
}

fn combiner(input: &Value, _: &Settings) -> Result<Value> {
    #[derive(Deserialize)]
    struct One {
        fired: bool,
        score: f64,
        lr: f64,
    }
    #[derive(Deserialize)]
    struct Input {
        prior: f64,
        signals: Map<String, Value>,
    }
    let input: Input = read(input)?;
    let signals: Vec<One> = input.signals.values().map(read).collect::<Result<_>>()?;
    let evidence = signals.iter().map(|signal| Evidence {
        fired: signal.fired,
        score: signal.score,
        likelihood_ratio: signal.lr,
        absence_counts: true,
        fitted_log_odds: None,
    });
    Ok(json!({"posterior": log_odds::posterior(input.prior, evidence)}))
}

fn verify(input: &Value, settings: &Settings) -> Result<Value> {
    let mut settings = settings.clone();
    if let Some(prior) = input.pointer("/engine/prior").and_then(Value::as_f64) {
        settings.history.fabricated.prior = prior;
    }
    let profile = profile(input.get("profile"), &settings)?;
    let mut history = History::new(&settings.history, Vec::new());
    step(&read::<Call>(input)?, profile.as_ref(), &mut history, &settings)
}

fn sequence(input: &Value, settings: &Settings) -> Result<Value> {
    let calls = input.get("calls").and_then(Value::as_array).context("no calls")?;
    let mut history = History::new(&settings.history, Vec::new());
    let mut steps = Vec::new();
    for call in calls {
        let call: Call = read(call)?;
        let profile = profile(input.get("profiles").and_then(|profiles| profiles.get(&call.tool)), settings)?;
        let mut answer = step(&call, profile.as_ref(), &mut history, settings)?;
        if let Some(signals) = answer.get_mut("signals").and_then(Value::as_object_mut) {
            signals.retain(|_, signal| signal["fired"] == json!(true));
        }
        steps.push(answer);
    }
    Ok(json!({ "steps": steps }))
}

fn running_stats(input: &Value, _: &Settings) -> Result<Value> {
    #[derive(Deserialize)]
    struct Input {
        window: usize,
        values: Vec<f64>,
    }
    let input: Input = read(input)?;
    let (mut moments, mut window) = (Welford::default(), Window::default());
    for &value in &input.values {
        moments.push(value);
        window.push(value, input.window);
    }
    let (min, max) = window.bounds().unwrap_or_default();
    Ok(json!({
        "count": input.values.len(),
        "mean": moments.mean(),
        "std": moments.sigma(),
        "variance": moments.variance(),
        "min": min,
        "max": max,
        "window_len": window.len(),
    }))
}

fn spc(input: &Value, settings: &Settings) -> Result<Value> {
    #[derive(Deserialize)]
    struct Input {
        prior_latencies: Vec<f64>,
        current: f64,
    }
    let input: Input = read(input)?;
    let (spc, shifts) = (&settings.history.spc, &settings.history.shift);
    let mut chart = ControlChart::default();
    for &latency in &input.prior_latencies {
        let point = chart.place(latency, Quantity::Magnitude, spc);
        chart.learn(&point, plausibility::VALUES_MAX, When::default(), spc, shifts);
    }
    let point = chart.place(input.current, Quantity::Magnitude, spc);
    let hits = chart.hits(&point, &Limits::new(1, spc), Side::Both);
    let sigma = point.z.unwrap_or_default().abs();
    let anomaly = |rule: &str| json!({"rule": rule, "field": Chart::Latency.name(&|_| String::new()), "sigma": sigma});
    let anomalies: Vec<Value> = broken(&hits).into_iter().map(anomaly).collect();
    let score = hits.score(spc);
    let (mean, std) = (chart.moments().mean(), chart.moments().sigma());
    Ok(json!({"is_anomalous": score > 0.0, "score": score, "anomalies": anomalies, "mean": mean, "std": std}))
}

fn broken(hits: &Hits) -> Vec<&'static str> {
    let rules = [
        (hits.outlier, "rule_1_3sigma"),
        (hits.pair.is_some(), "rule_2_2of3_2sigma"),
        (hits.four.is_some(), "rule_3_4of5_1sigma"),
        (hits.run.is_some(), "rule_4_8_consecutive"),
    ];
    rules.into_iter().filter(|(broken, _)| *broken).map(|(_, rule)| rule).collect()
}

fn consistency_session(input: &Value, settings: &Settings) -> Result<Value> {
    let consistency = &settings.history.consistency;
    consistency_of(input, settings, consistency.session_results, |field, earlier, violations| {
        consistency::against_session(field, earlier, consistency, violations);
    })
}

fn consistency_historical(input: &Value, settings: &Settings) -> Result<Value> {
    let consistency = &settings.history.consistency;
    consistency_of(input, settings, consistency.arguments_results, |field, earlier, violations| {
        if consistency.program_rule {
            consistency::by_program(field, earlier.iter().copied(), consistency, violations);
        } else {
            consistency::against_arguments(field, earlier, consistency, violations);
        }
    })
}

fn consistency_of(
    input: &Value,
    settings: &Settings,
    results: usize,
    compare: impl Fn(&Field, &[f64], &mut Vec<Violation>),
) -> Result<Value> {
    #[derive(Deserialize)]
    struct Input {
        history: Vec<Value>,
        current: Value,
    }
    let input: Input = read(input)?;
    let (mut violations, mut found) = (Vec::new(), Vec::new());
    for (name, value) in input.current.as_object().into_iter().flatten() {
        let Some(value) = number(value, settings) else { continue };
        let of_field = |result: &Value| result.get(name).and_then(|value| number(value, settings));
        let earlier: Vec<f64> = input.history.iter().filter_map(of_field).collect();
        let mut own = Vec::new();
        compare(&Field { name: 0, value, index: 0 }, &earlier[earlier.len().saturating_sub(results)..], &mut own);
        found.extend(own.iter().map(|v| json!({"field": name, "severity": v.severity, "prior": v.earlier})));
        violations.extend(own);
    }
    let fires = !violations.is_empty();
    let score = consistency::score(&violations);
    Ok(json!({"is_consistent": !fires, "fires": fires, "score": score, "violations": found}))
}

fn adaptive(input: &Value, settings: &Settings) -> Result<Value> {
    let labels: Vec<bool> = read(input.get("feedback").context("no feedback")?)?;
    let (usual, adaptive) = (settings.history.fabricated, &settings.history.adaptive);
    let mut learnt = Learnt::new(usual.prior);
    let steps: Vec<Value> = labels
        .into_iter()
        .map(|label| {
            learnt.learn(label, adaptive);
            let cuts = learnt.cuts(&usual, adaptive);
            json!({"threshold": cuts.block_from, "prior": cuts.prior, "ema": learnt.rate})
        })
        .collect();
    Ok(json!({ "steps": steps }))
}

fn calibrate(input: &Value, settings: &Settings) -> Result<Value> {
    #[derive(Deserialize)]
    struct Calibration {
        tool_name: Option<String>,
        prior: Option<f64>,
        accept_threshold: Option<f64>,
        block_threshold: Option<f64>,
    }
    #[derive(Deserialize)]
    struct Input {
        calibrate: Calibration,
        calls: Vec<(String, Value, f64)>,
    }
    let mut settings = settings.clone();
    let profile = profile(input.get("profile"), &settings)?;
    let Input { calibrate, calls } = read(input)?;
    let own = Override {
        prior: calibrate.prior,
        flag_from: calibrate.accept_threshold,
        block_from: calibrate.block_threshold,
    };
    let usual = &mut settings.history.fabricated;
    match &calibrate.tool_name {
        Some(tool) => {
            settings.history.streams.insert(tool.clone(), own);
        }
        None => {
            *usual = Cuts {
                prior: own.prior.unwrap_or(usual.prior),
                flag_from: own.flag_from.unwrap_or(usual.flag_from),
                block_from: own.block_from.unwrap_or(usual.block_from),
            };
        }
    }
    let mut history = History::new(&settings.history, Vec::new());
    let Some(tool) = calibrate.tool_name.or_else(|| Some(calls.first()?.0.clone())) else { bail!("no calls") };
    let cuts = history.cuts(hash::name(&tool), true);
    let mut results = Vec::new();
    for (tool, result, ms) in calls {
        let call = Call { tool, result, ms: Some(ms), args: None, session: None, feedback: None };
        results.push(step(&call, profile.as_ref(), &mut history, &settings)?);
    }
    let calibration = json!({
        "tool_name": tool,
        "prior": cuts.prior,
        "accept_threshold": cuts.flag_from,
        "block_threshold": cuts.block_from,
        "tool_threshold": cuts.block_from,
        "hallucination_rate": cuts.prior,
    });
    Ok(json!({"calibration": calibration, "results": results}))
}

fn baseline(input: &Value, settings: &Settings) -> Result<Value> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answered {
        latency_ms: Option<f64>,
        response_tokens: Option<f64>,
        response_text: Option<String>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        learning_rate: Option<f64>,
        min_samples: Option<u64>,
        calls: Vec<Answered>,
    }
    let input: Input = read(input)?;
    let mut settings = settings.history.clone();
    settings.baseline = baseline::Settings {
        alpha: input.learning_rate.unwrap_or(settings.baseline.alpha),
        stable_from: input.min_samples.unwrap_or(settings.baseline.stable_from),
    };
    let mut history = History::new(&settings, Vec::new());
    let mut steps = Vec::new();
    for call in input.calls {
        let row = Row {
            latency_ms: call.latency_ms,
            response_tokens: call.response_tokens,
            fingerprint: call.response_text.as_deref().map(|text| fingerprint(&Features::of(text))),
            ..Row::default()
        };
        history.observe(&row);
        let baseline = history.baseline(row.stream, false).context("the stream is not remembered")?;
        let shape = baseline.fingerprint.unwrap_or_default();
        steps.push(json!({
            "avgLatencyMs": baseline.latency_ms,
            "avgTokensPerSecond": baseline.tokens_per_second,
            "fingerprint": {
                "tokens": shape.tokens,
                "sentences": shape.sentences,
                "avgSentLength": shape.average_sentence_length,
                "entropy": shape.entropy_bits,
            },
            "sampleCount": baseline.samples,
            "stable": baseline.stable,
        }));
    }
    Ok(json!({ "steps": steps }))
}

/// The fingerprint with seed 001's sentences: the pieces between . ! ?, at least one.
fn fingerprint(text: &Features) -> Fingerprint {
    let (tokens, sentences) = (text.words as f64, text.pieces.max(1) as f64);
    Fingerprint { tokens, sentences, average_sentence_length: tokens / sentences, entropy_bits: text.entropy_bits }
}

/// One call of a tool, or feedback on it, as the vectors write it.
#[derive(Deserialize)]
struct Call {
    tool: String,
    #[serde(default)]
    result: Value,
    #[serde(alias = "execution_time_ms")]
    ms: Option<f64>,
    args: Option<Value>,
    #[serde(alias = "session_id")]
    session: Option<String>,
    feedback: Option<(f64, bool)>,
}

impl Call {
    fn record(&self) -> Result<Record<'static>> {
        let mut record = Record::new(Kind::Tool);
        record.tool = Some(self.tool.clone().into());
        record.session_id = self.session.clone().map(Into::into);
        record.args = self.args.as_ref().map(tree).transpose()?;
        record.execution_time_ms = self.ms;
        if let Some((confidence, was_hallucination)) = self.feedback {
            record.kind = Kind::Feedback;
            record.feedback = Some(Feedback { was_hallucination, confidence: Some(confidence) });
        } else {
            record.result = Some(tree(&self.result)?);
        }
        Ok(record)
    }
}

/// Runs one call through the checks, the history and the combiner.
fn step(call: &Call, profile: Option<&tools::Profile>, history: &mut History, settings: &Settings) -> Result<Value> {
    let record = call.record()?;
    let stream = hash::name(&call.tool);
    let mut row = Row {
        stream,
        session: record.session_id.as_deref().map(hash::name),
        feedback: record.feedback,
        ..Row::default()
    };
    tools::fill_row(&record, profile, &settings.tools, &mut row);
    let observation = history.observe(&row);
    if record.kind == Kind::Feedback {
        return Ok(json!({"feedback": true, "threshold": observation.block_from, "prior": observation.prior}));
    }
    let policy = Policy {
        prior: observation.prior,
        flag_from: observation.flag_from,
        block_from: observation.block_from,
        ceiling: Decision::Block,
        needs_evidence: settings.history.needs_evidence,
    };
    let tier = observation.tier_reached;
    let fields = record.result.as_ref().and_then(Json::as_object).unwrap_or_default();
    let names = |index: u32| fields.get(index as usize).map_or_else(String::new, |(name, _)| name.to_string());
    let signals: Vec<Signal> = observation.into_signals(row.tier0, &names);
    let about: Vec<&Signal> = signals.iter().filter(|signal| signal.question == Question::Fabricated).collect();
    let posterior = log_odds::posterior(policy.prior, about.iter().map(|signal| signal.evidence()));
    let fired = about.iter().any(|signal| signal.fired);
    let shown: Map<String, Value> = signals.iter().map(|signal| (signal.id.to_owned(), shown(signal))).collect();
    let rounded = (posterior * 1e4).round() / 1e4;
    Ok(json!({
        "verdict": policy.decide(posterior, fired.then_some(Class::Evidence)).as_str(),
        "confidence": rounded,
        "prior": policy.prior,
        "posterior": rounded,
        "tier_reached": if tier == Tier::Zero { "TIER_0" } else { "TIER_1" },
        "signals": shown,
    }))
}

fn shown(signal: &Signal) -> Value {
    json!({
        "fired": signal.fired,
        "score": signal.score,
        "lr": signal.likelihood_ratio,
        "question": signal.question.as_str(),
        "detail": signal.detail,
    })
}

fn profile(value: Option<&Value>, settings: &Settings) -> Result<Option<tools::Profile>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let profile = tools::Profile::new(read(value)?, settings.tools.pattern.tolerate_bad_patterns);
            Ok(Some(profile?))
        }
    }
}

fn number(value: &Value, settings: &Settings) -> Option<f64> {
    match value {
        Value::Bool(yes) if settings.tools.booleans_are_numbers => Some(f64::from(u8::from(*yes))),
        _ => value.as_f64(),
    }
}

fn tree(value: &Value) -> Result<Json<'static>> {
    let text = value.to_string();
    Ok(Json::parse(text.as_bytes())?.into_owned())
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T> {
    T::deserialize(value).context("the input has not the expected shape")
}

fn yes() -> bool {
    true
}
