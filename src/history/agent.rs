//! What an agent does over a session: the same call over and over, calls in a loop, flows that must not be.
//!
//! **Formula**: over the last [`CALLS_MAX`] calls of tools in the session
//! - `agent_repeated_call`: the same tool with the same arguments has given the same result n times, n at least
//!   `repeats_min`; score min(1, (n - 2) / 3);
//! - `agent_loop`: a sequence of 2 to [`PERIOD_MAX`] calls, not all the same, has come at least `loops_min` times, one after
//!   another; score 1;
//! - `agent_flow`: a tool is called that ends a flow of the configuration which an earlier tool of the session began; score 1,
//!   and a proof unless the configuration says otherwise.
//!
//! **Range**: 0 (nothing) to 1.
//!
//! **Source**: ours; OWASP LLM10:2025 (unbounded consumption) for loops, LLM06:2025 (excessive agency) for flows.
//!
//! **Limits**: calls are hashes of tool and arguments; a loop whose arguments change a little each time is not seen, and so is
//! one that waits for a changing result (polling). A flow says that both tools were used in this order, not that the one
//! gave away what the other read. Sessions are bounded, the longest unused go first.

use std::collections::VecDeque;

use lru::LruCache;

use super::{History, Observation, Reason};
use crate::{
    engines::{
        About, Assessment, Class, Detail, Finding, Question, RatioSource, Row, Severity, Signal, SignalAbout, Status,
        Tier, tools::agent::LIKELIHOOD_RATIO,
    },
    hash,
};

/// What is known of [`REPEAT_SIGNAL`].
pub const REPEAT_ABOUT: About = About {
    name: REPEAT_SIGNAL,
    summary: "Finds calls that an agent makes over and over with the same result.",
    formula: "the same tool, arguments and result n times among the last 20 calls of the session, n from 3 on; min(1, (n - 2) / 3)",
    range: "0 (nothing) to 1 (five times)",
    source: "llmverify; OWASP LLM10:2025",
    signals: &[SignalAbout {
        id: REPEAT_SIGNAL,
        question: Question::Degraded,
        title: "A tool is called again with the same arguments, to the same result.",
        owasp: "LLM10",
        help: "Look at why the agent did not use the result that it had.",
    }],
};

/// What is known of [`LOOP_SIGNAL`].
pub const LOOP_ABOUT: About = About {
    name: LOOP_SIGNAL,
    summary: "Finds agents that go round in circles.",
    formula: "1 when a sequence of 2 to 6 calls has come three times, one after another",
    range: "0 or 1",
    source: "llmverify; OWASP LLM10:2025",
    signals: &[SignalAbout {
        id: LOOP_SIGNAL,
        question: Question::Degraded,
        title: "The same calls of tools come again and again.",
        owasp: "LLM10",
        help: "Look at the results: does the agent make headway? Bound its steps.",
    }],
};

/// What is known of [`FLOW_SIGNAL`].
pub const FLOW_ABOUT: About = About {
    name: FLOW_SIGNAL,
    summary: "Finds flows between tools that the configuration forbids.",
    formula: "1 when a tool of `to` is called after one of `from` in the same session",
    range: "0 or 1",
    source: "llmverify; OWASP LLM06:2025",
    signals: &[SignalAbout {
        id: FLOW_SIGNAL,
        question: Question::Leaking,
        title: "A tool was called that must not be called after another one of the session.",
        owasp: "LLM06",
        help: "Look at what the first tool read and at what the second one gave away.",
    }],
};

/// The signal of a call that was made before.
pub const REPEAT_SIGNAL: &str = "agent_repeated_call";
/// The signal of calls in a loop.
pub const LOOP_SIGNAL: &str = "agent_loop";
/// The signal of a flow that must not be.
pub const FLOW_SIGNAL: &str = "agent_flow";
/// Calls of a session that are looked at together.
pub const CALLS_MAX: usize = 20;
/// Calls in the longest loop that is looked for.
pub const PERIOD_MAX: usize = 6;

/// A call: hash of tool and arguments, and of the result.
type Call = (u64, Option<u64>);

/// The sessions.
#[derive(Debug)]
pub struct Memory {
    sessions: LruCache<u64, Session>,
    sessions_max: usize,
    forgotten: u64,
}

#[derive(Debug, Default)]
struct Session {
    calls: VecDeque<Call>,
    /// Flows of the configuration that were begun, as bits.
    begun: u64,
}

/// What the last call of a session is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// How often the call came with this result, this one included.
    pub times: u32,
    /// The calls of the loop that it goes on with, and how often they came; `None` when there is no loop.
    pub looping: Option<(u32, u32)>,
    /// The first flow that it ends, by its place in the configuration.
    pub flow: Option<u32>,
}

impl Memory {
    /// Remembers at most `sessions_max` sessions.
    pub fn new(sessions_max: usize) -> Memory {
        Memory { sessions: LruCache::unbounded(), sessions_max: sessions_max.max(1), forgotten: 0 }
    }

    /// How often a session had to be forgotten.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Judges the next call of a session, then learns it.
    pub fn observe(&mut self, session: u64, call: Call, begins: u64, ends: u64) -> Judged {
        let is_new = !self.sessions.contains(&session);
        if is_new && self.sessions.len() >= self.sessions_max && self.sessions.pop_lru().is_some() {
            self.forgotten += 1;
        }
        let known = self.sessions.get_or_insert_mut(session, Session::default);
        if known.calls.len() == CALLS_MAX {
            known.calls.pop_front();
        }
        known.calls.push_back(call);
        let ended = known.begun & ends;
        known.begun |= begins;
        let calls = known.calls.make_contiguous();
        Judged { times: times(calls), looping: looping(calls), flow: (ended != 0).then(|| ended.trailing_zeros()) }
    }
}

/// How often the last call came with the same result; 0 when it has none.
fn times(calls: &[Call]) -> u32 {
    let Some(last) = calls.last().filter(|(_, result)| result.is_some()) else { return 0 };
    calls.iter().filter(|call| *call == last).count() as u32
}

/// The shortest loop that the calls end with: its calls, and how often they came.
fn looping(calls: &[Call]) -> Option<(u32, u32)> {
    let last: Vec<u64> = calls.iter().rev().map(|(call, _)| *call).collect();
    (2..=PERIOD_MAX).find_map(|period| {
        let is_varied = last.get(..period)?.iter().any(|call| *call != last[0]);
        let run = last.iter().zip(last.get(period..)?).take_while(|(one, other)| one == other).count();
        let times = run / period + 1;
        (is_varied && times >= 2).then_some((period as u32, times as u32))
    })
}

impl History {
    /// Judges what an agent does, from call to call of its session.
    pub(super) fn judge_agent(&mut self, row: &Row, observation: &mut Observation) {
        let Some(session) = row.session else { return };
        let call = hash::combine(row.subject.unwrap_or(row.stream), row.args.unwrap_or_default());
        let judged = self.agents.observe(session, (call, row.result), row.flows_begun, row.flows_ended);
        let settings = &self.settings.agents;
        let span = 0..row.tool_bytes;

        let repeats = judged.times >= settings.repeats_min.max(2);
        let score = if repeats { (f64::from(judged.times - 2) / 3.0).clamp(0.1, 1.0) } else { 0.0 };
        observation.push(absent(REPEAT_SIGNAL, Question::Degraded, settings.repeat_likelihood_ratio), score);
        if repeats {
            observation.reasons.push((REPEAT_SIGNAL, Reason::Repeated { times: judged.times }));
            let finding = Finding::new("agent/repeated_call", Severity::Low, "/tool", span.clone());
            observation.assessments.push((REPEAT_SIGNAL, said("times", judged.times, Status::Warn, finding)));
        }

        let looping = judged.looping.filter(|(_, times)| *times >= settings.loops_min.max(2));
        let score = if looping.is_some() { 1.0 } else { 0.0 };
        observation.push(absent(LOOP_SIGNAL, Question::Degraded, settings.loop_likelihood_ratio), score);
        if let Some((calls, times)) = looping {
            observation.reasons.push((LOOP_SIGNAL, Reason::Loop { calls, times }));
            let finding = Finding::new("agent/loop", Severity::Medium, "/tool", span.clone());
            observation.assessments.push((LOOP_SIGNAL, said("calls", calls, Status::Warn, finding)));
        }

        if row.flows_ended == 0 {
            return;
        }
        let mut signal = absent(FLOW_SIGNAL, Question::Leaking, settings.flow_likelihood_ratio);
        // Two conversations that begin alike are no session.
        if settings.block && judged.flow.is_some() && !row.session_is_guessed {
            signal.class = Class::Proof;
        }
        observation.push(signal, if judged.flow.is_some() { 1.0 } else { 0.0 });
        if let Some(flow) = judged.flow {
            observation.reasons.push((FLOW_SIGNAL, Reason::Flow { number: flow + 1 }));
            let finding = Finding::new("agent/flow", Severity::High, "/tool", span);
            observation.assessments.push((FLOW_SIGNAL, said("flow", flow + 1, Status::Error, finding)));
        }
    }
}

fn said(name: &'static str, count: u32, status: Status, finding: Finding) -> Assessment {
    let mut said = Assessment::new(status, 1.0).with(name, Detail::Count(count.into()));
    said.findings.push(finding);
    said
}

fn absent(id: &'static str, question: Question, ratio: f64) -> Signal {
    Signal::absent(id, question, Tier::One, RatioSource::default_or_config(ratio, LIKELIHOOD_RATIO))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(calls: &[(u64, u64)]) -> Judged {
        let mut memory = Memory::new(4);
        calls.iter().map(|(call, result)| memory.observe(7, (*call, Some(*result)), 0, 0)).last().unwrap()
    }

    #[test]
    fn the_same_call_with_the_same_result_is_counted() {
        assert_eq!(judge(&[(1, 1), (1, 1), (1, 1)]).times, 3);
        assert_eq!(judge(&[(1, 1), (1, 2), (1, 3)]).times, 1, "what changes is polled, not repeated");
        assert_eq!(judge(&[(1, 1), (2, 1), (1, 1)]).times, 2);
        let mut memory = Memory::new(4);
        memory.observe(7, (1, None), 0, 0);
        assert_eq!(memory.observe(7, (1, None), 0, 0).times, 0, "without results nothing is known");
        // Only so far back.
        let mut calls = vec![(1, 1)];
        calls.extend((0..CALLS_MAX as u64).map(|call| (100 + call, 0)));
        calls.push((1, 1));
        assert_eq!(judge(&calls).times, 1);
    }

    #[test]
    fn loops_are_sequences_that_come_again() {
        let of =
            |calls: &[u64]| judge(&calls.iter().zip(0..).map(|(call, at)| (*call, at)).collect::<Vec<_>>()).looping;
        assert_eq!(of(&[1, 2, 1, 2, 1, 2]), Some((2, 3)));
        assert_eq!(of(&[9, 1, 2, 3, 1, 2, 3]), Some((3, 2)));
        assert_eq!(of(&[1, 2, 3, 1, 2, 4]), None);
        assert_eq!(of(&[1, 1, 1, 1]), None, "one call alone is repeated and no loop");
        assert_eq!(of(&[1]), None);
    }

    #[test]
    fn a_flow_needs_its_beginning_before_its_end_in_the_same_session() {
        let mut memory = Memory::new(2);
        assert_eq!(memory.observe(1, (1, None), 0, 0b10).flow, None);
        assert_eq!(memory.observe(1, (2, None), 0b10, 0).flow, None);
        assert_eq!(memory.observe(2, (1, None), 0, 0b10).flow, None);
        assert_eq!(memory.observe(1, (1, None), 0, 0b10).flow, Some(1));
        memory.observe(3, (1, None), 0, 0);
        assert_eq!(memory.forgotten(), 1);
    }
}
