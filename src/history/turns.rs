//! Attacks that take several turns: what the earlier turns of a conversation add to the last.
//!
//! **Formula**: over the last [`TURNS_MAX`] turns of the user, each with its points and its categories of attack, the
//! largest of
//! - 1.0 when a turn that attacks follows an attack that the model refused;
//! - 0.8 when the points of the last three turns rise, from some to [`HIGH_POINTS`];
//! - 0.8 when at least [`SPREAD_CATEGORIES`] categories add up over turns none of which shows more than half of them.
//!
//! The last turn must attack by itself, if only weakly ([`SOME_POINTS`]).
//!
//! **Range**: 0 (nothing) to 1 (a retry).
//!
//! **Source**: seed 000 (multi-turn attacks as a category); crescendo: M. Russinovich et al., arXiv 2404.01833.
//!
//! **Limits**: turns are numbers and bits, no text; what is innocent turn by turn stays unseen. The ratio is modest: alone
//! it does not flag. Conversations are remembered by stream and session, at most [`SESSIONS_MAX`]; the longest unused
//! go first.

use std::collections::VecDeque;

use lru::LruCache;
use serde::{Deserialize, Serialize};

use crate::engines::{About, Question, SignalAbout, row::Turn};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: SIGNAL,
    summary: "Finds attacks that take several turns: retries after a refusal, rising attacks, attacks in pieces.",
    formula: "1 for a retry; 0.8 for points that rise over three turns, or four categories spread over turns",
    range: "0 (nothing) to 1 (a retry)",
    source: "seed 000; arXiv 2404.01833",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Attacked,
        title: "An attack that takes several turns.",
        owasp: "LLM01",
        help: "Read the conversation from its first turn; treat the session as hostile.",
    }],
};

/// The signal.
pub const SIGNAL: &str = "injection_multi_turn";
/// P(fires | attack) / P(fires | none), ours; the flag threshold needs three times as much.
pub const LIKELIHOOD_RATIO: f64 = 8.0;
/// Turns that are looked at together.
pub const TURNS_MAX: usize = 8;
/// Sessions that are remembered.
pub const SESSIONS_MAX: usize = 16_384;
/// Points from which a turn attacks, if only weakly: from here on the engine speaks.
pub const SOME_POINTS: f64 = 3.0;
/// Points up to which rising turns have to rise.
pub const HIGH_POINTS: f64 = 6.0;
/// Categories that have to add up.
pub const SPREAD_CATEGORIES: u32 = 4;

/// Settings of the multi-turn memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// P(fires | attack) / P(fires | none) of `injection_multi_turn`.
    pub likelihood_ratio: f64,
    /// Sessions, per stream, that are remembered.
    pub sessions_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { likelihood_ratio: LIKELIHOOD_RATIO, sessions_max: SESSIONS_MAX }
    }
}

/// What several turns show together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// An attack after one that was refused.
    Retry,
    /// Attacks that rise.
    Rising,
    /// An attack in pieces.
    Spread,
}

impl Pattern {
    /// The pattern as a clause.
    pub fn describe(self) -> &'static str {
        match self {
            Pattern::Retry => "an attack that the model refused is tried again",
            Pattern::Rising => "the attack rises over the last three turns",
            Pattern::Spread => "categories of attack add up over several turns",
        }
    }

    fn score(self) -> f64 {
        match self {
            Pattern::Retry => 1.0,
            Pattern::Rising | Pattern::Spread => 0.8,
        }
    }
}

/// What the last of `turns` is in the light of those before it, oldest first, and how strongly.
pub fn judge(turns: &[Turn]) -> Option<(f64, Pattern)> {
    let (last, before) = turns.split_last()?;
    let before = &before[before.len().saturating_sub(TURNS_MAX - 1)..];
    if last.points < SOME_POINTS || before.is_empty() {
        return None;
    }
    let is_retry = before.iter().any(|turn| turn.is_refused && turn.points >= SOME_POINTS);
    let rises = match before {
        [.., first, second] => {
            first.points > 0.0
                && first.points < second.points
                && second.points < last.points
                && last.points >= HIGH_POINTS
        }
        _ => false,
    };
    let together = before.iter().fold(last.categories, |all, turn| all | turn.categories).count_ones();
    let most = before.iter().chain([last]).map(|turn| turn.categories.count_ones()).max().unwrap_or(0);
    let is_spread = together >= SPREAD_CATEGORIES && 2 * most <= together;
    let shown = [(is_retry, Pattern::Retry), (rises, Pattern::Rising), (is_spread, Pattern::Spread)];
    shown.into_iter().find(|(is_shown, _)| *is_shown).map(|(_, pattern)| (pattern.score(), pattern))
}

/// The last turns of each session.
#[derive(Debug)]
pub struct Memory {
    sessions: LruCache<(u64, u64), VecDeque<Turn>>,
    sessions_max: usize,
    forgotten: u64,
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

    /// Judges the turns of a record, and learns them. A record that brings its conversation along is judged by that.
    pub fn observe(&mut self, stream: u64, session: Option<u64>, turns: &[Turn]) -> Option<(f64, Pattern)> {
        let Some(session) = session.filter(|_| turns.len() < 2) else { return judge(turns) };
        let key = (stream, session);
        let last = *turns.first()?;
        if !self.sessions.contains(&key)
            && self.sessions.len() >= self.sessions_max
            && self.sessions.pop_lru().is_some()
        {
            self.forgotten += 1;
        }
        let known = self.sessions.get_or_insert_mut(key, VecDeque::new);
        if known.len() == TURNS_MAX {
            known.pop_front();
        }
        known.push_back(last);
        judge(known.make_contiguous())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(points: f64, categories: u32) -> Turn {
        Turn { points, categories, is_refused: false }
    }

    fn check(turns: &[Turn], expected: Option<Pattern>) {
        assert_eq!(judge(turns).map(|(_, pattern)| pattern), expected, "{turns:?}");
    }

    #[test]
    fn earlier_turns_add_to_the_last() {
        let refused = Turn { is_refused: true, ..turn(9.0, 1) };
        check(&[refused, turn(5.0, 1)], Some(Pattern::Retry));
        check(&[refused, turn(0.0, 0), turn(5.0, 1)], Some(Pattern::Retry));
        check(&[refused, turn(1.0, 1)], None);
        check(&[turn(1.0, 1), turn(3.0, 1), turn(6.5, 1)], Some(Pattern::Rising));
        check(&[turn(3.0, 1), turn(1.0, 1), turn(6.5, 1)], None);
        check(&[turn(0.5, 1), turn(4.0, 2), turn(4.0, 4), turn(4.0, 8)], Some(Pattern::Spread));
        check(&[turn(4.0, 0b1111), turn(4.0, 1)], None);
        check(&[turn(12.0, 0b1111)], None);
        check(&[], None);
    }

    #[test]
    fn sessions_are_kept_apart_and_bounded() {
        let refused = Turn { is_refused: true, ..turn(9.0, 1) };
        let mut memory = Memory::new(2);
        assert_eq!(memory.observe(1, Some(1), &[refused]), None);
        assert_eq!(memory.observe(1, Some(2), &[turn(5.0, 1)]), None);
        assert!(memory.observe(1, Some(1), &[turn(5.0, 1)]).is_some());
        assert_eq!(memory.observe(2, Some(1), &[turn(5.0, 1)]), None);
        assert_eq!(memory.forgotten(), 1);
        assert_eq!(memory.observe(1, None, &[turn(5.0, 1)]), None);
        // A record that holds its whole conversation needs no memory.
        assert!(memory.observe(3, None, &[refused, turn(5.0, 1)]).is_some());
    }
}
