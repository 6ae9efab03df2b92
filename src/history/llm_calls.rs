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
use crate::engines::{Question, RatioSource, Row, Signal, Tier, runtime::fingerprint};

impl History {
    /// Judges an LLM call against its model, and learns from it.
    pub(super) fn observe_model(&mut self, row: &Row, at: usize, when: When, observation: &mut Observation) {
        let (settings, stream) = (&self.settings, &mut self.streams[at]);
        observation.tier_reached = Tier::One;
        let usual = stream.baseline.fingerprint.filter(|_| stream.baseline.stable);
        if let Some((current, usual)) = row.fingerprint.zip(usual).filter(|_| settings.spc.style_shift) {
            let distance = fingerprint::distance(&current, &usual, &settings.fingerprint);
            let point = stream.style.place(distance, Quantity::Number, &settings.spc);
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
        for (chart, state, value) in
            [(Chart::Latency, &mut stream.latency, row.latency_ms), (Chart::TokensPerSecond, &mut stream.output, speed)]
        {
            let Some(value) = value else { continue };
            let point = state.place(value, Quantity::Magnitude, &settings.spc);
            if let Some(since) = state.learn(&point, spc::RULE_POINTS_MAX, when, &settings.spc, &settings.shift) {
                observation.shifts.push(shift_event(row.stream, chart, when, &point, since.began, since.mean()));
            }
        }
        baseline::learn(&mut stream.baseline, row, &settings.baseline);
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
