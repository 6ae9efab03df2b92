//! Ordered, keyed memory: what came before, per stream and session. One thread, input order, numbers and hashes only.
//!
//! - [`baseline`]: exponential moving averages (seed 001)
//! - [`spc`]: control charts with the four Western Electric rules (seed 002)
//! - [`plausibility`]: a field far from its last values (seed 002)
//! - [`presence`]: a field that was always there and is missing (seed 002)
//! - [`latency`]: faster or slower than the stream has been (seed 002)
//! - [`shift`]: a level that has moved is one event of the stream
//! - [`consistency`]: against the session, and against the same arguments in the past (seed 002)
//! - [`adaptive`]: thresholds and priors that follow feedback (seed 002)
//! - [`agent`]: the same call over and over, loops, flows that must not be
//! - [`turns`]: attacks that take several turns (seed 000)
//! - `tool_calls`, `llm_calls`: what is asked of a row of either kind, and in which order
//! - [`reason`]: why a signal fired, to be put into words where the record is
//!
//! Every state is bounded, and scores a record before it learns from it. [`History::observe`] takes one row: it runs
//! the [`BaselineEngine`]s against the averages as they were, decides whether tier 0 blocks, and unless it does, adds
//! the signals of tier 1 and learns.

pub mod adaptive;
pub mod agent;
pub mod baseline;
pub mod consistency;
pub mod latency;
pub mod pace;
mod llm_calls;
pub mod plausibility;
pub mod presence;
pub mod reason;
pub mod shift;
pub mod spc;
mod tool_calls;
pub mod turns;

use std::collections::{BTreeMap, HashMap, hash_map::Entry};

use serde::{Deserialize, Serialize};

pub use adaptive::Cuts;
pub use reason::{Chart, Reason};
pub use shift::Shift;

use crate::{
    engines::{
        About, Assessment, Baseline, BaselineEngine, Row, Signal, Tier, facts::identity, row::FIELDS_MAX,
        runtime::fingerprint, tools,
    },
    hash,
};
use adaptive::Learnt;
use consistency::Memory;
use shift::When;
use spc::{ControlChart, ControlPoint, Limits, Point};
use tool_calls::FieldPoint;

/// Settings of everything that remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Prior and thresholds of the question `fabricated`; the policies of the questions say which.
    #[serde(skip)]
    pub fabricated: Cuts,
    /// Prior and thresholds of single tools or models, by name; the policies of the streams say which.
    #[serde(skip)]
    pub streams: BTreeMap<String, Override>,
    /// Whether something must have fired before a record is blocked at tier 0 (seed 002's program: no).
    #[serde(skip)]
    pub needs_evidence: bool,
    /// Rolling averages.
    pub baseline: baseline::Settings,
    /// Weights of the distance between fingerprints, which is charted.
    #[serde(skip)]
    pub fingerprint: fingerprint::Weights,
    /// Control charts.
    pub spc: spc::Settings,
    /// A field far from its last values.
    pub plausibility: plausibility::Settings,
    /// A field that is missing.
    pub presence: presence::Settings,
    /// Latency against the stream.
    pub latency: latency::Settings,
    /// Shifted levels.
    pub shift: shift::Settings,
    /// Consistency with the session and with the same arguments.
    pub consistency: consistency::Settings,
    /// What tells a model from another by its behaviour; set with the engine `identity`.
    #[serde(skip)]
    pub behaviour: identity::Behaviour,
    /// Attacks over several turns.
    pub turns: turns::Settings,
    /// What agents do; set with `agents`.
    #[serde(skip)]
    pub agents: tools::agent::Settings,
    /// What feedback changes.
    pub adaptive: adaptive::Settings,
    /// Streams that are remembered; rows of further ones have no history.
    pub streams_max: usize,
    /// Fields that are charted in all; further ones are not.
    pub charts_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            fabricated: Cuts::default(),
            streams: BTreeMap::new(),
            needs_evidence: true,
            baseline: baseline::Settings::default(),
            fingerprint: fingerprint::Weights::default(),
            spc: spc::Settings::default(),
            plausibility: plausibility::Settings::default(),
            presence: presence::Settings::default(),
            latency: latency::Settings::default(),
            shift: shift::Settings::default(),
            consistency: consistency::Settings::default(),
            behaviour: identity::Behaviour::default(),
            turns: turns::Settings::default(),
            agents: tools::agent::Settings::default(),
            adaptive: adaptive::Settings::default(),
            streams_max: STREAMS_MAX,
            charts_max: CHARTS_MAX,
        }
    }
}

impl Settings {
    /// The letter of seeds 001 and 002 and, where they are silent, their programs.
    pub fn seed() -> Settings {
        Settings {
            needs_evidence: false,
            spc: spc::Settings::seed(),
            plausibility: plausibility::Settings::seed(),
            presence: presence::Settings::seed(),
            latency: latency::Settings::seed(),
            shift: shift::Settings::seed(),
            consistency: consistency::Settings::seed(),
            ..Settings::default()
        }
    }
}

/// What differs from the usual for one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Override {
    /// P(fabricated) before any evidence.
    pub prior: Option<f64>,
    /// A posterior from here on is flagged.
    pub flag_from: Option<f64>,
    /// A posterior from here on is blocked.
    pub block_from: Option<f64>,
}

/// Streams that are remembered.
pub const STREAMS_MAX: usize = 10_000;
/// Fields that are charted in all; each takes about a kilobyte.
pub const CHARTS_MAX: usize = 8_192;

/// The parts with a signal of their own, in the order of their signals.
pub const ABOUTS: &[About] = &[
    consistency::HISTORICAL_ABOUT,
    consistency::SESSION_ABOUT,
    spc::ABOUT,
    plausibility::ABOUT,
    spc::STYLE_ABOUT,
    identity::DRIFT_ABOUT,
    identity::BEHAVIOUR_ABOUT,
    turns::ABOUT,
    agent::REPEAT_ABOUT,
    agent::LOOP_ABOUT,
    agent::FLOW_ABOUT,
];

/// What history says of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// What the [`BaselineEngine`]s say, with their names, in their order.
    pub assessments: Vec<(&'static str, Assessment)>,
    /// Signals of the history: those of tier 1, and those of tier 0 that history changes, which stand for the one of
    /// the same name in the row. Their details are in `reasons`.
    pub signals: Vec<Signal>,
    /// Why they fired: the name of the signal, and the reason.
    pub reasons: Vec<(&'static str, Reason)>,
    /// How far the row got.
    pub tier_reached: Tier,
    /// How many streams came before this one, by their first rows; `None` when there is no room to remember it.
    pub streams_before: Option<usize>,
    /// How many records of its stream came before.
    pub number: Option<u64>,
    /// Whether the row's time is before that of the row before it in its stream.
    pub is_backwards: bool,
    /// Prior of `fabricated` for this stream, after feedback.
    pub prior: f64,
    /// Threshold of `fabricated` from which it is flagged, after feedback.
    pub flag_from: f64,
    /// Threshold of `fabricated` from which it is blocked, after feedback.
    pub block_from: f64,
    /// Levels of the stream that have shifted with this row.
    pub shifts: Vec<Shift>,
    /// Where latency, and tokens per second or the size of a tool's answer, stand on the charts of the stream.
    pub points: [Option<ControlPoint>; 2],
}

/// Reasons that a detail spells out; further ones are counted.
pub const REASONS_SHOWN_MAX: usize = 3;

impl Observation {
    fn new(cuts: Cuts) -> Observation {
        Observation {
            assessments: Vec::new(),
            signals: Vec::new(),
            reasons: Vec::new(),
            tier_reached: Tier::Zero,
            streams_before: None,
            number: None,
            is_backwards: false,
            prior: cuts.prior,
            flag_from: cuts.flag_from,
            block_from: cuts.block_from,
            shifts: Vec::new(),
            points: [None; 2],
        }
    }

    /// All signals of the record: those of tier 0 as history left them, then those of tier 1. `names` knows the names of
    /// the fields of the record's result by their position.
    pub fn into_signals(mut self, tier0: Vec<Signal>, names: &dyn Fn(u32) -> String) -> Vec<Signal> {
        let mut signals = tier0;
        for mut signal in self.signals.drain(..) {
            if signal.fired {
                signal.detail = detail(signal.id, &self.reasons, names).into();
            }
            match signals.iter_mut().find(|other| other.id == signal.id) {
                Some(other) => *other = signal,
                None => signals.push(signal),
            }
        }
        signals
    }

    fn fire(&mut self, absent: Signal, score: f64) {
        self.signals.push(absent.fire(score, ""));
    }

    /// Adds a signal that was looked for: fired with `score` when that is above 0.
    fn push(&mut self, absent: Signal, score: f64) {
        self.signals.push(if score > 0.0 { absent.fire(score, "") } else { absent });
    }
}

fn detail(id: &str, reasons: &[(&'static str, Reason)], names: &dyn Fn(u32) -> String) -> String {
    let mine = || reasons.iter().filter(|(signal, _)| *signal == id);
    let shown: Vec<String> = mine().take(REASONS_SHOWN_MAX).map(|(_, reason)| reason.describe(names)).collect();
    let further = mine().count() - shown.len();
    if further == 0 { shown.join("; ") } else { format!("{}; and {further} more", shown.join("; ")) }
}

/// The memory of a run.
pub struct History {
    settings: Settings,
    overrides: HashMap<u64, Override>,
    engines: Vec<Box<dyn BaselineEngine>>,
    limits: Vec<Limits>,
    plausible_sigmas: Vec<f64>,
    index: HashMap<u64, usize>,
    streams: Vec<Stream>,
    /// What feedback has changed, by tool.
    learnt: HashMap<u64, Learnt>,
    sessions: Memory,
    arguments: Memory,
    conversations: turns::Memory,
    agents: agent::Memory,
    /// The names that answered to each name that was asked for.
    versions: HashMap<u64, Vec<u64>>,
    charts_held: usize,
    rows: u64,
    reached: Reached,
    scratch: Vec<FieldPoint>,
}

/// How often a limit was in the way.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    streams: u64,
    fields: u64,
    charts: u64,
}

/// What is remembered of one stream.
#[derive(Default)]
struct Stream {
    baseline: Baseline,
    latency: ControlChart,
    /// Size of a tool's answers, or tokens per second of a model.
    output: ControlChart,
    style: ControlChart,
    fields: Vec<FieldMemory>,
    results: u64,
    /// Records so far.
    records: u64,
    clock_is_fine: bool,
    last_ms: Option<i64>,
    pace: pace::Pace,
    token_pace: pace::Pace,
}

impl Stream {
    /// Moves what is usual by one row.
    fn learn_usual(&mut self, row: &Row, settings: &baseline::Settings) {
        let is_slow = row.slowness(&self.baseline).is_some();
        // How long a failed call takes says nothing of the others.
        if let Some(ms) = row.latency_ms.filter(|_| !row.is_error) {
            self.pace.learn(ms, is_slow);
            self.baseline.usual = self.pace.usual();
        }
        if let Some(ms) = row.ms_per_token().filter(|_| !row.is_error) {
            self.token_pace.learn(ms, is_slow);
            self.baseline.usual_per_token = self.token_pace.usual();
        }
        baseline::learn(&mut self.baseline, row, settings);
    }
}

/// What is remembered of one field of a tool's results.
struct FieldMemory {
    name: u64,
    rate: f64,
    chart: Option<Box<ControlChart>>,
}

/// Keeps a tool and a model of the same name apart.
const TOOL_SALT: u64 = 0x746f_6f6c;

impl History {
    /// An empty memory.
    pub fn new(settings: &Settings, engines: Vec<Box<dyn BaselineEngine>>) -> History {
        let limits: Vec<Limits> = (0..=CHARTS_AT_ONCE_MAX).map(|charts| Limits::new(charts, &settings.spc)).collect();
        let sigmas = settings.plausibility.sigmas;
        let widen = settings.plausibility.widen_limit;
        let plausible_sigmas = (0..=CHARTS_AT_ONCE_MAX)
            .map(|charts| if widen && charts > 1 { spc::widened(sigmas, charts as f64) } else { sigmas })
            .collect();
        let consistency = &settings.consistency;
        let overrides = settings.streams.iter().map(|(name, cuts)| (hash::name(name), *cuts)).collect();
        History {
            settings: settings.clone(),
            overrides,
            engines,
            limits,
            plausible_sigmas,
            index: HashMap::new(),
            streams: Vec::new(),
            learnt: HashMap::new(),
            sessions: Memory::new(
                consistency.session_results,
                consistency.sessions_max,
                consistency.session_windows_max,
            ),
            arguments: Memory::new(
                consistency.arguments_results,
                consistency.arguments_max,
                consistency.arguments_windows_max,
            ),
            conversations: turns::Memory::new(settings.turns.sessions_max),
            agents: agent::Memory::new(settings.agents.sessions_max),
            versions: HashMap::new(),
            charts_held: 0,
            rows: 0,
            reached: Reached::default(),
            scratch: Vec::new(),
        }
    }

    /// Takes the next row of the input: says what history knows of it, then learns from it.
    pub fn observe(&mut self, row: &Row) -> Observation {
        let when = When { row: self.rows, timestamp_ms: row.timestamp_ms };
        self.rows += 1;
        let usual = self.usual_cuts(row.stream);
        let Some(at) = self.stream_of(row) else {
            self.reached.streams += 1;
            let mut observation = Observation::new(usual);
            observation.assessments = assessments(&self.engines, row, &Baseline::default());
            return observation;
        };
        let subject = key_of(row.subject.unwrap_or(row.stream), row.is_tool || row.feedback.is_some());
        if let Some(feedback) = row.feedback {
            self.learn_feedback(subject, feedback.was_hallucination, usual.prior);
        }
        let stream = &mut self.streams[at];
        let learnt = self.learnt.get(&subject);
        let cuts = learnt.map_or(usual, |learnt| learnt.cuts(&usual, &self.settings.adaptive));
        let mut observation = Observation::new(cuts);
        if row.feedback.is_some() {
            return observation;
        }
        observation.streams_before = Some(at);
        observation.number = Some(stream.records);
        stream.records += 1;
        observation.is_backwards = stream.pass_time(row.timestamp_ms);
        observation.assessments = assessments(&self.engines, row, &stream.baseline);
        if row.is_tool {
            self.observe_tool(row, at, when, &mut observation);
            self.judge_agent(row, &mut observation);
        } else {
            self.observe_model(row, at, when, &mut observation);
            self.judge_version(row, &mut observation);
            self.judge_turns(row, &mut observation);
        }
        observation
    }

    /// Prior and thresholds of a stream as they stand now.
    pub fn cuts(&self, stream: u64, is_tool: bool) -> Cuts {
        let usual = self.usual_cuts(stream);
        let known = self.learnt.get(&key_of(stream, is_tool));
        known.map_or(usual, |learnt| learnt.cuts(&usual, &self.settings.adaptive))
    }

    fn learn_feedback(&mut self, subject: u64, was_hallucination: bool, prior: f64) {
        if self.learnt.len() >= self.settings.streams_max && !self.learnt.contains_key(&subject) {
            self.reached.streams += 1;
            return;
        }
        let learnt = self.learnt.entry(subject).or_insert_with(|| Learnt::new(prior));
        learnt.learn(was_hallucination, &self.settings.adaptive);
    }

    /// The rolling averages of a stream as they stand now; `None` when it is unknown.
    pub fn baseline(&self, stream: u64, is_tool: bool) -> Option<&Baseline> {
        self.index.get(&key_of(stream, is_tool)).map(|&at| &self.streams[at].baseline)
    }

    /// The limits that were reached: name, value, and how often it was in the way.
    pub fn limits_reached(&self) -> Vec<(&'static str, u64, u64)> {
        let (settings, consistency) = (&self.settings, &self.settings.consistency);
        let all = [
            ("history.streams_max", settings.streams_max, self.reached.streams),
            ("history.fields_max", FIELDS_MAX, self.reached.fields),
            ("history.charts_max", settings.charts_max, self.reached.charts),
            ("history.consistency.sessions_max", consistency.sessions_max, self.sessions.forgotten()),
            ("history.consistency.arguments_max", consistency.arguments_max, self.arguments.forgotten()),
            ("agents.sessions_max", settings.agents.sessions_max, self.agents.forgotten()),
            ("history.turns.sessions_max", settings.turns.sessions_max, self.conversations.forgotten()),
        ];
        let reached = all.into_iter().filter(|(_, _, times)| *times > 0);
        reached.map(|(name, limit, times)| (name, limit as u64, times)).collect()
    }

    fn usual_cuts(&self, stream: u64) -> Cuts {
        let usual = self.settings.fabricated;
        match self.overrides.get(&stream) {
            None => usual,
            Some(own) => Cuts {
                prior: own.prior.unwrap_or(usual.prior),
                flag_from: own.flag_from.unwrap_or(usual.flag_from),
                block_from: own.block_from.unwrap_or(usual.block_from),
            },
        }
    }

    fn stream_of(&mut self, row: &Row) -> Option<usize> {
        let key = key_of(row.stream, row.is_tool || row.feedback.is_some());
        match self.index.entry(key) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(free) if self.streams.len() < self.settings.streams_max => {
                self.streams.push(Stream::default());
                Some(*free.insert(self.streams.len() - 1))
            }
            Entry::Vacant(_) => None,
        }
    }
}

impl Stream {
    /// Where a value stands on the chart of latency (0) or output (1), for reports to draw.
    fn draw(&mut self, chart: usize, point: &Point, limits: &Limits) -> ControlPoint {
        let state = if chart == 0 { &self.latency } else { &self.output };
        // Charts are laid beside one another: by the number of the record, which was counted already.
        state.drawn(point, self.records.saturating_sub(1), limits)
    }

    /// Whether `now_ms` is before the time of the row before.
    fn pass_time(&mut self, now_ms: Option<i64>) -> bool {
        let Some(now_ms) = now_ms else { return false };
        self.last_ms.replace(now_ms).is_some_and(|last_ms| now_ms < last_ms)
    }
}

/// Charts that can speak of one row at most: latency, size, presence and the fields.
const CHARTS_AT_ONCE_MAX: usize = FIELDS_MAX + 3;

fn key_of(stream: u64, is_tool: bool) -> u64 {
    if is_tool { stream ^ TOOL_SALT } else { stream }
}

fn assessments(engines: &[Box<dyn BaselineEngine>], row: &Row, baseline: &Baseline) -> Vec<(&'static str, Assessment)> {
    engines.iter().filter_map(|engine| Some((engine.about().name, engine.assess(row, baseline)?))).collect()
}

fn shift_event(stream: u64, chart: Chart, found: When, point: &Point, began: When, level: f64) -> Shift {
    Shift {
        stream,
        chart,
        found_row: found.row,
        found_ms: found.timestamp_ms,
        began_row: began.row,
        began_ms: began.timestamp_ms,
        from: point.scale.invert(point.mean),
        to: point.scale.invert(level),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{tool_calls::tier1, *};
    use crate::{
        engines::{Fingerprint, Question, row::Field},
        record::Feedback,
    };

    const TOOL: u64 = 1;

    fn history(settings: Settings) -> History {
        History::new(&settings, Vec::new())
    }

    /// A tool call with one field, whose latency and value scatter a little, the same for the same `i`.
    fn call(i: u64) -> Row {
        let scatter = (i * 7919 % 101) as f64 / 101.0;
        let absent = tier1(tools::latency::SIGNAL, 3.5, 3.5);
        Row {
            is_tool: true,
            stream: TOOL,
            latency_ms: Some(300.0 + 50.0 * scatter),
            result_length: Some(40.0 + (i % 3) as f64),
            fields: vec![Field { name: 9, value: 20.0 + 5.0 * (1.0 - scatter), index: 0 }],
            field_names: vec![9],
            tier0: vec![Signal { tier: Tier::Zero, ..absent }],
            ..Row::default()
        }
    }

    fn fired(observation: &Observation, id: &str) -> Option<f64> {
        observation.signals.iter().find(|signal| signal.id == id && signal.fired).map(|signal| signal.score)
    }
    #[test]
    fn a_retry_after_a_refusal_is_a_signal_of_its_own() {
        let mut history = history(Settings::default());
        let said = |points: f64, is_refused: bool| Row {
            stream: TOOL,
            session: Some(7),
            turns: vec![crate::engines::row::Turn { points, categories: 1, is_refused }],
            ..Row::default()
        };
        assert_eq!(fired(&history.observe(&said(9.0, true)), turns::SIGNAL), None);
        assert_eq!(fired(&history.observe(&said(0.0, false)), turns::SIGNAL), None);
        let again = history.observe(&said(5.0, false));
        assert_eq!(fired(&again, turns::SIGNAL), Some(1.0));
        let signals = again.into_signals(Vec::new(), &|_| String::new());
        assert_eq!(signals[0].detail, "an attack that the model refused is tried again");
        // Alone it does not flag.
        assert!(crate::stats::log_odds::posterior(0.01, [signals[0].evidence()]) < 0.2);
        let other = Row { session: Some(8), ..said(5.0, false) };
        assert_eq!(fired(&history.observe(&other), turns::SIGNAL), None);
    }

    fn after(calls: u64, settings: Settings) -> History {
        let mut history = history(settings);
        (0..calls).for_each(|i| {
            history.observe(&call(i));
        });
        history
    }

    #[test]
    fn a_wild_value_fires_and_says_why() {
        let mut history = after(100, Settings::default());
        let mut row = call(100);
        row.fields[0].value = 11_000.0;
        let observation = history.observe(&row);
        assert_eq!(fired(&observation, spc::SIGNAL), Some(0.4));
        assert_eq!(fired(&observation, plausibility::SIGNAL), None, "the chart counts, so that the window does not");
        let signals = observation.into_signals(row.tier0, &|_| "temperature".to_owned());
        let signal = signals.iter().find(|signal| signal.id == spc::SIGNAL).unwrap();
        assert!(signal.detail.starts_with("temperature 11000 is "), "{}", signal.detail);
    }

    #[test]
    fn usual_calls_fire_nothing() {
        let mut history = after(100, Settings::default());
        for i in 100..400 {
            let observation = history.observe(&call(i));
            assert_eq!(observation.tier_reached, Tier::One);
            assert!(observation.signals.iter().all(|signal| !signal.fired), "{i}: {:?}", observation.reasons);
        }
    }

    #[test]
    fn a_missing_field_fires_after_twenty_results() {
        for (calls, expected) in [(19, None), (20, Some(0.4))] {
            let mut history = after(calls, Settings::default());
            let mut row = call(calls);
            (row.fields, row.field_names) = (Vec::new(), vec![5]);
            assert_eq!(fired(&history.observe(&row), spc::SIGNAL), expected, "{calls}");
        }
    }

    #[test]
    fn a_shifted_level_is_one_event_and_then_normal() {
        let mut history = after(300, Settings::default());
        let (mut shifts, mut late) = (Vec::new(), 0);
        for i in 300..600 {
            let mut row = call(i);
            row.latency_ms = row.latency_ms.map(|ms| ms * 5.0);
            row.timestamp_ms = Some(i as i64);
            let observation = history.observe(&row);
            late += usize::from(i >= 320 && observation.signals.iter().any(|signal| signal.fired));
            shifts.extend(observation.shifts);
        }
        assert_eq!((shifts.len(), late), (1, 0), "{shifts:?}");
        let shift = shifts[0];
        assert_eq!((shift.stream, shift.chart, shift.began_row), (TOOL, Chart::Latency, 300));
        assert_eq!(shift.began_ms, Some(300));
        assert!(shift.found_row < 310, "{shift:?}");
        assert!((shift.from - 325.0).abs() < 10.0 && (shift.to - 1625.0).abs() < 150.0, "{shift:?}");
    }

    #[test]
    fn what_tier_0_blocks_is_not_learnt() {
        for (settings, learnt) in [(Settings::default(), false), (Settings::seed(), true)] {
            let mut history = after(50, settings);
            let before = history.streams[0].latency.moments().mean();
            let mut row = call(50);
            row.latency_ms = Some(0.1);
            row.tier0[0] = row.tier0[0].clone().fire(1.0, "too fast");
            row.tier0[0].likelihood_ratio = 50.0;
            let observation = history.observe(&row);
            assert_eq!(observation.tier_reached, Tier::Zero);
            assert_eq!(history.streams[0].latency.moments().mean() != before, learnt);
        }
    }

    #[test]
    fn a_fine_clock_makes_zero_milliseconds_near_certain() {
        let zero = |history: &mut History| {
            let mut row = call(0);
            (row.latency_ms, row.latency_is_whole, row.latency_if_fine) = (Some(0.0), true, Some((1.0, 50.0)));
            row.tier0[0] = row.tier0[0].clone().fire(1.0, "too fast");
            history.observe(&row).tier_reached
        };
        assert_eq!(zero(&mut history(Settings::default())), Tier::One);
        assert_eq!(zero(&mut after(1, Settings::default())), Tier::Zero);
    }

    #[test]
    fn a_time_below_the_floor_counts_where_the_past_takes_time() {
        for (usual_ms, expected) in [(5.0, false), (120.0, true)] {
            let mut history = history(Settings::default());
            for i in 0..25 {
                let mut row = call(0);
                row.latency_ms = Some(usual_ms + f64::from(i));
                history.observe(&row);
            }
            let mut row = call(0);
            (row.latency_ms, row.latency_if_slow) = (Some(0.4), Some((0.8, 3.5)));
            let found = fired(&history.observe(&row), tools::latency::SIGNAL).is_some();
            assert_eq!(found, expected, "{usual_ms} ms");
        }
    }

    #[test]
    fn sessions_and_arguments_are_compared() {
        let mut history = history(Settings::default());
        let with = |value: f64| {
            let mut row = call(0);
            (row.session, row.args) = (Some(3), Some(4));
            row.fields[0].value = value;
            row
        };
        (0..12).for_each(|i| {
            history.observe(&with(650.0 + f64::from(i)));
        });
        let observation = history.observe(&with(50.0));
        assert!(fired(&observation, consistency::HISTORICAL_SIGNAL).is_some());
        assert_eq!(fired(&observation, consistency::SESSION_SIGNAL), None);
        let observation = history.observe(&with(60_000.0));
        assert!(fired(&observation, consistency::SESSION_SIGNAL).is_some());
    }

    #[test]
    fn feedback_moves_the_cuts_of_its_tool_alone() {
        let mut history = history(Settings::default());
        let feedback = Feedback { was_hallucination: true, confidence: None };
        let row = Row { stream: TOOL, feedback: Some(feedback), ..Row::default() };
        let observation = history.observe(&row);
        assert!((observation.block_from - 0.415).abs() < 1e-12);
        assert!((history.observe(&call(0)).block_from - 0.415).abs() < 1e-12);
        assert_eq!(history.observe(&Row { stream: 2, ..call(0) }).block_from, 0.5);
    }

    #[test]
    fn a_stream_can_have_cuts_of_its_own() {
        let own = Override { prior: Some(0.4), ..Override::default() };
        let settings = Settings { streams: [("w".to_owned(), own)].into(), ..Settings::default() };
        let mut history = history(settings);
        assert_eq!(history.observe(&Row { stream: hash::name("w"), ..call(0) }).prior, 0.4);
        assert_eq!(history.observe(&call(0)).prior, adaptive::PRIOR);
    }

    #[test]
    fn a_time_before_the_last_one_of_its_stream_is_noticed() {
        let mut history = history(Settings { streams_max: 2, ..Settings::default() });
        let mut observe = |stream, timestamp_ms| {
            let observation = history.observe(&Row { stream, timestamp_ms, ..Row::default() });
            (observation.streams_before, observation.is_backwards)
        };
        assert_eq!(observe(7, Some(10)), (Some(0), false));
        assert_eq!(observe(8, Some(5)), (Some(1), false), "streams have clocks of their own");
        assert_eq!(observe(7, Some(10)), (Some(0), false));
        assert_eq!(observe(7, None), (Some(0), false));
        assert_eq!(observe(7, Some(9)), (Some(0), true));
        assert_eq!(observe(7, Some(9)), (Some(0), false));
        assert_eq!(observe(9, Some(1)), (None, false), "there is no room");
    }

    #[test]
    fn limits_are_named_when_reached() {
        let mut history = history(Settings { streams_max: 1, charts_max: 0, ..Settings::default() });
        assert_eq!(history.observe(&call(0)).tier_reached, Tier::One);
        assert_eq!(history.observe(&Row { stream: 2, ..call(0) }).tier_reached, Tier::Zero);
        assert_eq!(history.limits_reached(), [("history.streams_max", 1, 1), ("history.charts_max", 0, 1)]);
    }

    #[test]
    fn an_answer_of_another_shape_fires_for_its_model() {
        let mut history = history(Settings::default());
        let answer = |words: f64| Row {
            stream: 7,
            fingerprint: Some(Fingerprint {
                tokens: words,
                sentences: (words / 12.0).max(1.0),
                average_sentence_length: 12.0,
                entropy_bits: 4.2,
            }),
            ..Row::default()
        };
        (0..60).for_each(|i| {
            history.observe(&answer(100.0 + f64::from(i * 13 % 40)));
        });
        assert_eq!(fired(&history.observe(&answer(118.0)), spc::STYLE_SIGNAL), None);
        let observation = history.observe(&answer(5000.0));
        assert!(fired(&observation, spc::STYLE_SIGNAL).is_some());
        assert!(observation.signals.iter().all(|signal| signal.question == Question::Degraded));
    }

    #[test]
    fn a_tool_and_a_model_of_one_name_are_kept_apart() {
        let mut history = after(10, Settings::default());
        history.observe(&Row { stream: TOOL, latency_ms: Some(1.0), ..Row::default() });
        assert_eq!(history.baseline(TOOL, false).unwrap().samples, 1);
        assert_eq!(history.baseline(TOOL, true).unwrap().samples, 10);
    }

    proptest! {
        #[test]
        fn any_rows_give_scores_in_range(
            rows in prop::collection::vec((0u64..3, 0u64..3, prop::num::f64::NORMAL | prop::num::f64::ZERO, 0u64..5), 1..80),
            seed in any::<bool>(),
        ) {
            let settings = if seed { Settings::seed() } else { Settings::default() };
            let (mut one, mut two) = (history(settings.clone()), history(settings));
            for (stream, session, value, name) in rows {
                let mut row = Row { stream, session: Some(session), args: Some(session), ..call(0) };
                row.latency_ms = Some(value.abs());
                (row.fields[0].value, row.fields[0].name, row.field_names) = (value, name, vec![name]);
                let observation = one.observe(&row);
                for signal in &observation.signals {
                    prop_assert!((0.0..=1.0).contains(&signal.score), "{signal:?}");
                    prop_assert!(signal.fired == (signal.score > 0.0), "{signal:?}");
                }
                prop_assert_eq!(&observation, &two.observe(&row));
            }
        }
    }
}
