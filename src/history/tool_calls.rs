//! A tool call against what its tool has shown: tier 1, and what history makes of tier 0 (seed 002).
//!
//! [`History::observe_tool`] goes through it in this order: latency against the stream, whether tier 0 blocks, the charts
//! of latency, size and fields, plausibility and presence of fields, consistency with the session and with the same
//! arguments; then it learns.

use super::{
    CHARTS_AT_ONCE_MAX, FieldMemory, History, Observation, Stream,
    consistency::{self, Memory, Violation},
    latency::{self, Pace},
    plausibility::{self, Window},
    presence,
    reason::{Chart, Reason},
    shift::When,
    shift_event,
    spc::{self, ControlChart, Point, Quantity, Side},
};
use crate::{
    engines::{
        Class, Question, RatioSource, Row, Signal, Tier,
        row::{FIELDS_MAX, Field},
        tools,
    },
    stats::log_odds,
};

/// A tool whose calls take longer than this, at the median of [`CALLS_MIN`](super::pace::CALLS_MIN), does I/O.
const TAKES_TIME_MS: f64 = 20.0;

/// A numeric field of the row at hand, against its chart.
pub(super) struct FieldPoint {
    field: Field,
    memory: usize,
    point: Point,
}

impl History {
    /// Judges a tool call, unless tier 0 blocks it, and learns from it.
    pub(super) fn observe_tool(&mut self, row: &Row, at: usize, when: When, observation: &mut Observation) {
        let (settings, stream) = (&self.settings, &mut self.streams[at]);
        let latency = row.latency_ms.map(|ms| stream.latency.place(ms, Quantity::Magnitude, &settings.spc));
        let size = row.result_length.map(|length| stream.output.place(length, Quantity::Magnitude, &settings.spc));
        for (chart, point) in [&latency, &size].into_iter().enumerate() {
            observation.points[chart] = point.as_ref().map(|point| stream.draw(chart, point, &self.limits[1]));
        }
        judge_latency(row, latency.as_ref(), stream, &settings.latency, observation);
        let blocked = tier0_blocks(row, observation, settings.needs_evidence);
        if !blocked {
            observation.tier_reached = Tier::One;
        } else if !settings.spc.learn_blocked {
            return;
        }
        self.place_fields(row, at);
        if !blocked {
            self.judge_charts(row, at, latency.as_ref(), size.as_ref(), observation);
            self.judge_consistency(row, observation);
            self.sessions_and_arguments(row, |memory, key| memory.learn(key, &row.fields));
        }
        self.learn_tool(row, at, when, latency.as_ref(), size.as_ref(), observation);
    }

    /// Fills the scratch list with the row's numeric fields that have a chart, and where they stand on it.
    fn place_fields(&mut self, row: &Row, at: usize) {
        self.scratch.clear();
        let memories = &self.streams[at].fields;
        for field in &row.fields {
            let Some(memory) = find(memories, field.name, field.index as usize) else { continue };
            let Some(chart) = &memories[memory].chart else { continue };
            let point = chart.place(field.value, Quantity::Number, &self.settings.spc);
            self.scratch.push(FieldPoint { field: *field, memory, point });
        }
    }

    fn judge_charts(
        &self,
        row: &Row,
        at: usize,
        latency: Option<&Point>,
        size: Option<&Point>,
        observation: &mut Observation,
    ) {
        let (settings, stream) = (&self.settings, &self.streams[at]);
        let speaks = |point: &&Point| point.z.is_some();
        let presence = missing_fields(row, stream, &settings.presence);
        let charts = latency.iter().filter(|point| speaks(point)).count()
            + size.iter().filter(|point| speaks(point)).count()
            + self.scratch.iter().filter(|field| field.point.z.is_some()).count()
            + usize::from(presence.is_some());
        let charts = charts.min(CHARTS_AT_ONCE_MAX);
        let limits = &self.limits[charts];
        let mut sum = Total::new(settings.spc.sum_over_charts);
        // Slow is not fabricated: what lies above the usual latency is `slow_tool`, a sign of `degraded`.
        let latency_side = if settings.latency.slow_is_fabricated { Side::Both } else { Side::Below };
        for (chart, state, point, side) in
            [(Chart::Latency, &stream.latency, latency, latency_side), (Chart::Size, &stream.output, size, Side::Both)]
        {
            let Some(point) = point else { continue };
            let is_local = chart == Chart::Latency && row.latency_if_slow.is_some() && !takes_time(stream);
            if is_local {
                continue;
            }
            let hits = state.hits(point, limits, side);
            sum.add(hits.score(&settings.spc));
            hits.reasons(chart, point, limits, |reason| observation.reasons.push((spc::SIGNAL, reason)));
        }
        if let Some(missing) = presence.filter(|&missing| missing > 0) {
            sum.add(settings.presence.missing_score);
            let reason = Reason::Missing { fields: missing, results: stream.results };
            observation.reasons.push((spc::SIGNAL, reason));
        }
        let (mut implausible, mut compared) = (0, false);
        for FieldPoint { field, memory, point } in &self.scratch {
            let Some(state) = &stream.fields[*memory].chart else { continue };
            let chart = Chart::Field(field.index);
            let hits = state.hits(point, limits, Side::Both);
            let score = hits.score(&settings.spc);
            let distance = plausibility::distance(point.x, state.window(), &settings.plausibility);
            compared |= distance.is_some();
            let far = distance.filter(|z| z.abs() > self.plausible_sigmas[charts]);
            // Chart and plausibility of one field are one piece of evidence: the larger counts.
            let beside = settings.plausibility.beside_chart;
            if score > 0.0 && (beside || far.is_none() || score >= settings.plausibility.field_score) {
                sum.add(score);
                hits.reasons(chart, point, limits, |reason| observation.reasons.push((spc::SIGNAL, reason)));
            }
            if let Some(sigmas) = far.filter(|_| beside || score < settings.plausibility.field_score) {
                implausible += 1;
                let reason = far_from_last(chart, point, state.window(), sigmas);
                observation.reasons.push((plausibility::SIGNAL, reason));
            }
        }
        if charts > 0 {
            observation.push(tier1(spc::SIGNAL, settings.spc.likelihood_ratio, spc::LIKELIHOOD_RATIO), sum.score());
        }
        if compared {
            let ratio = settings.plausibility.likelihood_ratio;
            let score = plausibility::score(implausible, &settings.plausibility);
            observation.push(tier1(plausibility::SIGNAL, ratio, plausibility::LIKELIHOOD_RATIO), score);
        }
    }

    fn judge_consistency(&mut self, row: &Row, observation: &mut Observation) {
        let settings = &self.settings.consistency;
        if let Some(session) = row.session {
            let (mut violations, mut compared) = (Vec::new(), 0);
            self.sessions.compare((row.stream, session), &row.fields, |field, window| {
                compared = compared.max(window.values().len());
                consistency::against_session(field, window.values(), settings, &mut violations);
            });
            if compared >= settings.session_results_min {
                let ratio = settings.session_likelihood_ratio;
                let absent = tier1(consistency::SESSION_SIGNAL, ratio, consistency::SESSION_LIKELIHOOD_RATIO);
                push_violations(absent, &violations, observation, |v| Reason::Session {
                    field: v.field,
                    value: v.value,
                    earlier: v.earlier,
                    results: compared as u32,
                });
            }
        }
        if let Some(arguments) = row.args {
            let (mut violations, mut compared) = (Vec::new(), 0);
            self.arguments.compare((row.stream, arguments), &row.fields, |field, window| {
                compared = compared.max(window.values().len());
                if settings.program_rule {
                    consistency::by_program(field, window.in_order(), settings, &mut violations);
                } else {
                    consistency::against_arguments(field, window.values(), settings, &mut violations);
                }
            });
            let needed = if settings.program_rule { settings.program_results } else { settings.arguments_results_min };
            if compared >= needed {
                let ratio = settings.historical_likelihood_ratio;
                let absent = tier1(consistency::HISTORICAL_SIGNAL, ratio, consistency::HISTORICAL_LIKELIHOOD_RATIO);
                push_violations(absent, &violations, observation, |v| Reason::Arguments {
                    field: v.field,
                    value: v.value,
                    earlier: v.earlier,
                    results: compared as u32,
                });
            }
        }
    }

    fn sessions_and_arguments(&mut self, row: &Row, mut act: impl FnMut(&mut Memory, (u64, u64))) {
        if let Some(session) = row.session {
            act(&mut self.sessions, (row.stream, session));
        }
        if let Some(arguments) = row.args {
            act(&mut self.arguments, (row.stream, arguments));
        }
    }

    fn learn_tool(
        &mut self,
        row: &Row,
        at: usize,
        when: When,
        latency: Option<&Point>,
        size: Option<&Point>,
        observation: &mut Observation,
    ) {
        let (settings, stream) = (&self.settings, &mut self.streams[at]);
        stream.learn_usual(row, &settings.baseline);
        let mut learn = |chart: Chart, state: &mut ControlChart, point: &Point, values: usize| {
            if let Some(since) = state.learn(point, values, when, &settings.spc, &settings.shift) {
                observation.shifts.push(shift_event(row.stream, chart, when, point, since.began, since.mean()));
            }
        };
        if let Some(point) = latency {
            learn(Chart::Latency, &mut stream.latency, point, spc::RULE_POINTS_MAX);
            stream.clock_is_fine |= !row.latency_is_whole;
        }
        let Some(size) = size else { return };
        learn(Chart::Size, &mut stream.output, size, spc::RULE_POINTS_MAX);
        for FieldPoint { field, memory, point } in &self.scratch {
            if let Some(state) = &mut stream.fields[*memory].chart {
                learn(
                    Chart::Field(field.index),
                    state,
                    point,
                    settings.plausibility.values_max.max(spc::RULE_POINTS_MAX),
                );
            }
        }
        self.learn_fields(row, at);
    }

    /// Counts the fields that are there, and makes room for new ones.
    fn learn_fields(&mut self, row: &Row, at: usize) {
        let (settings, stream) = (&self.settings, &mut self.streams[at]);
        let weight_max = settings.presence.weight_max;
        for (position, memory) in stream.fields.iter_mut().enumerate() {
            let present = has_field(&row.field_names, memory.name, position);
            memory.rate = presence::learn(memory.rate, present, stream.results, weight_max);
        }
        for (position, &name) in row.field_names.iter().enumerate() {
            if find(&stream.fields, name, position).is_some() {
                continue;
            }
            if stream.fields.len() >= FIELDS_MAX {
                self.reached.fields += 1;
                break;
            }
            let rate = presence::learn(0.0, true, stream.results, weight_max);
            stream.fields.push(FieldMemory { name, rate, chart: None });
        }
        stream.results += 1;
        for field in &row.fields {
            let Some(memory) = find(&stream.fields, field.name, field.index as usize) else { continue };
            if stream.fields[memory].chart.is_some() {
                continue;
            }
            if self.charts_held >= settings.charts_max {
                self.reached.charts += 1;
                break;
            }
            self.charts_held += 1;
            let mut chart = Box::<ControlChart>::default();
            let point = chart.place(field.value, Quantity::Number, &settings.spc);
            let values = settings.plausibility.values_max.max(spc::RULE_POINTS_MAX);
            chart.learn(&point, values, When::default(), &settings.spc, &settings.shift);
            stream.fields[memory].chart = Some(chart);
        }
    }
}

/// The score of several charts: their largest, or their sum.
struct Total {
    sums: bool,
    score: f64,
}

impl Total {
    fn new(sums: bool) -> Total {
        Total { sums, score: 0.0 }
    }

    fn add(&mut self, score: f64) {
        self.score = if self.sums { self.score + score } else { self.score.max(score) };
    }

    fn score(&self) -> f64 {
        self.score.min(1.0)
    }
}

/// Changes `latency_anomaly` and `slow_tool` by what the stream has shown: its clock, and its usual pace. The pace
/// counts when the call alone says nothing.
fn judge_latency(
    row: &Row,
    point: Option<&Point>,
    stream: &Stream,
    settings: &latency::Settings,
    observation: &mut Observation,
) {
    let Some(ms) = row.latency_ms else { return };
    let known = |id: &str| row.tier0.iter().find(|signal| signal.id == id);
    let anomaly = known(tools::latency::SIGNAL);
    if let (Some(signal), Some((score, ratio))) = (anomaly, row.latency_if_fine.filter(|_| stream.clock_is_fine)) {
        observation.fire(Signal { likelihood_ratio: ratio, ..signal.clone() }, score);
        observation.reasons.push((tools::latency::SIGNAL, Reason::FineClock { ms }));
        return;
    }
    // A local tool takes no time at all: what is below the floor is fabricated only where the tool's past takes time.
    if let (Some(signal), Some((score, ratio))) = (anomaly, row.latency_if_slow) {
        if takes_time(stream) {
            observation.fire(Signal { likelihood_ratio: ratio, ..signal.clone() }, score);
            observation.reasons.push((tools::latency::SIGNAL, Reason::FasterThanIo { ms }));
        }
        return;
    }
    let Some((point, z)) = point.and_then(|point| Some((point, point.z?))) else { return };
    if stream.latency.moments().weight() < settings.calls_min as f64 {
        return;
    }
    let (id, score) = match latency::judge(z, settings) {
        Pace::Usual => return,
        Pace::Anomaly(score) => (tools::latency::SIGNAL, score),
        Pace::Slow(score) => (tools::latency::SLOW_SIGNAL, score),
    };
    if let Some(signal) = known(id).filter(|signal| !signal.fired) {
        observation.fire(signal.clone(), score);
        observation.reasons.push((id, point.far(Chart::Latency)));
    }
}

/// Whether a tool's own past shows that it does more than compute.
fn takes_time(stream: &Stream) -> bool {
    stream.baseline.usual.is_some_and(|usual| usual.median_ms > TAKES_TIME_MS)
}

/// Whether the signals of tier 0, with what history made of them, block the row as fabricated.
fn tier0_blocks(row: &Row, observation: &Observation, needs_evidence: bool) -> bool {
    let current = |signal| observation.signals.iter().find(|own: &&Signal| own.id == signal);
    let signals = || {
        let zero = row.tier0.iter().map(|signal| current(signal.id).unwrap_or(signal));
        zero.filter(|signal| signal.question == Question::Fabricated)
    };
    if signals().any(|signal| signal.fired && signal.class == Class::Proof) {
        return true;
    }
    if needs_evidence && !signals().any(|signal| signal.fired) {
        return false;
    }
    log_odds::posterior(observation.prior, signals().map(Signal::evidence)) >= observation.block_from
}

/// How many expected fields are missing; `None` when there is nothing to compare.
fn missing_fields(row: &Row, stream: &Stream, settings: &presence::Settings) -> Option<u32> {
    let too_many = row.field_names.len() > FIELDS_MAX;
    if !settings.counts || row.result_length.is_none() || too_many || stream.results < settings.results_min {
        return None;
    }
    let expected = stream.fields.iter().enumerate().filter(|(_, memory)| memory.rate >= settings.expected_from);
    let missing = expected.filter(|(position, memory)| !has_field(&row.field_names, memory.name, *position));
    Some(missing.count() as u32)
}

fn far_from_last(chart: Chart, point: &Point, window: &Window, sigmas: f64) -> Reason {
    let (level, last) = (point.scale.invert(window.mean()), Some(window.len() as u32));
    Reason::Far { chart, value: point.value, level, sigmas, last }
}

fn push_violations(
    absent: Signal,
    violations: &[Violation],
    observation: &mut Observation,
    reason: impl Fn(&Violation) -> Reason,
) {
    let id = absent.id;
    observation.push(absent, consistency::score(violations));
    observation.reasons.extend(violations.iter().map(|violation| (id, reason(violation))));
}

pub(super) fn tier1(id: &'static str, ratio: f64, built_in: f64) -> Signal {
    let source = RatioSource::of(ratio, built_in, RatioSource::Seed);
    Signal::absent(id, Question::Fabricated, Tier::One, (ratio, source))
}

/// Fields mostly come in the same order, so that the position is tried first.
fn find(memories: &[FieldMemory], name: u64, position: usize) -> Option<usize> {
    match memories.get(position) {
        Some(memory) if memory.name == name => Some(position),
        _ => memories.iter().position(|memory| memory.name == name),
    }
}

/// Whether a row has a field that is remembered at `position`.
fn has_field(names: &[u64], name: u64, position: usize) -> bool {
    names.get(position) == Some(&name) || names.contains(&name)
}
