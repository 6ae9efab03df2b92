//! An LLM call against what its model has shown: the chart of its style, and the levels of latency and speed.
//!
//! The averages that the baseline engines of seed 001 compare with are learnt here too, after everything was judged.

use super::{
    History, Observation, Reason, baseline,
    reason::Chart,
    shift::{self, When},
    shift_event,
    spc::{self, Quantity, Side},
    turns,
};
use crate::engines::{
    Assessment, Detail, Finding, Question, RatioSource, Row, Severity, Signal, Status, Tier, facts::identity,
    runtime::fingerprint,
};

/// Names that may answer to one name; further ones are news each time.
const VERSIONS_MAX: usize = 64;

/// Judges whether an answer is unlike the model's usual ones.
fn judge_behaviour(
    style: Option<f64>,
    pace: [Option<f64>; 2],
    settings: &identity::Behaviour,
    observation: &mut Observation,
) {
    let Some(score) = identity::behaviour_score(style, pace, settings.sigmas).filter(|_| settings.detect) else {
        return;
    };
    let source = RatioSource::of(settings.likelihood_ratio, identity::BEHAVIOUR_RATIO, RatioSource::Default);
    let ratio = (settings.likelihood_ratio, source);
    let absent = Signal::absent(identity::BEHAVIOUR_SIGNAL, Question::Fabricated, Tier::One, ratio);
    observation.push(absent, score);
    if score > 0.0 {
        let furthest = pace.into_iter().flatten().fold(0.0, |far: f64, z| if z.abs() > far.abs() { z } else { far });
        let reason = Reason::Behaviour { style: style.unwrap_or_default(), pace: furthest };
        observation.reasons.push((identity::BEHAVIOUR_SIGNAL, reason));
    }
}

impl History {
    /// Judges an LLM call against its model, and learns from it.
    pub(super) fn observe_model(&mut self, row: &Row, at: usize, when: When, observation: &mut Observation) {
        let (settings, stream) = (&self.settings, &mut self.streams[at]);
        observation.tier_reached = Tier::One;
        let mut style_z = None;
        let mut pace_z = [None; 2];
        let usual = stream.baseline.fingerprint.filter(|_| stream.baseline.stable);
        if let Some((current, usual)) = row.fingerprint.zip(usual).filter(|_| settings.spc.style_shift) {
            let distance = fingerprint::distance(&current, &usual, &settings.fingerprint);
            let point = stream.style.place(distance, Quantity::Number, &settings.spc);
            style_z = point.z;
            if point.z.is_some() {
                let limits = &self.limits[1];
                let hits = stream.style.hits(&point, limits, Side::Above);
                let ratio = settings.spc.style_likelihood_ratio;
                let source = RatioSource::of(ratio, spc::STYLE_LIKELIHOOD_RATIO, RatioSource::Default);
                let absent = Signal::absent(spc::STYLE_SIGNAL, Question::Degraded, Tier::One, (ratio, source));
                observation.push(absent, hits.score(&settings.spc));
                hits.reasons(Chart::Style, &point, limits, |reason| {
                    observation.reasons.push((spc::STYLE_SIGNAL, reason));
                });
            }
            // The baseline follows a new style by itself, so that the distance has no level of its own to shift.
            let still = shift::Settings { detect: false, ..settings.shift.clone() };
            stream.style.learn(&point, spc::RULE_POINTS_MAX, when, &settings.spc, &still);
        }
        let speed = row.response_tokens.zip(row.latency_ms);
        let speed = speed.and_then(|(tokens, ms)| baseline::tokens_per_second(tokens, ms));
        let paces = [(Chart::Latency, row.latency_ms), (Chart::TokensPerSecond, speed)];
        for (index, (chart, value)) in paces.into_iter().enumerate() {
            let Some(value) = value else { continue };
            let state = if index == 0 { &stream.latency } else { &stream.output };
            let point = state.place(value, Quantity::Magnitude, &settings.spc);
            pace_z[index] = point.z;
            observation.points[index] = Some(stream.draw(index, &point, &self.limits[1]));
            let state = if index == 0 { &mut stream.latency } else { &mut stream.output };
            if let Some(since) = state.learn(&point, spc::RULE_POINTS_MAX, when, &settings.spc, &settings.shift) {
                observation.shifts.push(shift_event(row.stream, chart, when, &point, since.began, since.mean()));
            }
        }
        stream.learn_usual(row, &settings.baseline);
        judge_behaviour(style_z, pace_z, &settings.behaviour, observation);
    }

    /// Judges whether the name that answered is new for the name that was asked for.
    pub(super) fn judge_version(&mut self, row: &Row, observation: &mut Observation) {
        let Some(names) = row.models else { return };
        if self.versions.len() >= self.settings.streams_max && !self.versions.contains_key(&names.declared) {
            self.reached.streams += 1;
            return;
        }
        let known = self.versions.entry(names.declared).or_default();
        let is_known = known.contains(&names.served);
        let is_news = !is_known && !known.is_empty();
        let ratio = self.settings.behaviour.drift_likelihood_ratio;
        let source = RatioSource::of(ratio, identity::DRIFT_RATIO, RatioSource::Default);
        let absent = Signal::absent(identity::DRIFT_SIGNAL, Question::Degraded, Tier::One, (ratio, source));
        observation.push(absent, if is_news { 1.0 } else { 0.0 });
        if is_news {
            let earlier = known.len() as u32;
            observation.reasons.push((identity::DRIFT_SIGNAL, Reason::NewVersion { earlier }));
            let finding = Finding::new("identity/version_changed", Severity::Medium, "/model", 0..names.served_bytes);
            let mut said = Assessment::new(Status::Warn, 1.0).with("versions_before", Detail::Count(earlier.into()));
            said.findings.push(finding);
            observation.assessments.push((identity::DRIFT_SIGNAL, said));
        }
        if !is_known && known.len() < VERSIONS_MAX {
            known.push(names.served);
        }
    }

    /// Judges what the turns of a conversation add up to.
    pub(super) fn judge_turns(&mut self, row: &Row, observation: &mut Observation) {
        if row.turns.is_empty() || row.session.is_none() && row.turns.len() < 2 {
            return;
        }
        let ratio = self.settings.turns.likelihood_ratio;
        let source = RatioSource::of(ratio, turns::LIKELIHOOD_RATIO, RatioSource::Default);
        let absent = Signal::absent(turns::SIGNAL, Question::Attacked, Tier::One, (ratio, source));
        let judged = self.conversations.observe(row.stream, row.session, &row.turns);
        observation.push(absent, judged.map_or(0.0, |(score, _)| score));
        if let Some((_, pattern)) = judged {
            observation.reasons.push((turns::SIGNAL, Reason::Turns(pattern)));
        }
    }
}
