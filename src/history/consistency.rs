//! Numbers that contradict the session, or what the same arguments gave before.
//!
//! **Formula**: the ratio of two numbers is |a / b| or its inverse, whichever is at least 1, and |x| + 1 between 0 and x;
//! severity = min(1, log10(ratio) / 3); the score is the mean severity of the fields that fire.
//! - session: the last [`SESSION_RESULTS`] results of the tool in the session, two needed: a field fires when it is at
//!   least [`SESSION_SWING`]-fold away from the *nearest* of them
//! - same arguments: the last [`ARGUMENTS_RESULTS`] results across sessions, [`ARGUMENTS_RESULTS_MIN`] needed: a field
//!   fires outside of median ± max(3 · 1.4826 · MAD, 0.5 · |median|); its ratio is that to the median
//!
//! **Range**: 0 (consistent) to 1 (a thousandfold swing).
//!
//! **Source**: seed 002, "Cross-Session Consistency" (50×, last 10; last 50); severity from its program. The nearest
//! value and the median are ours: between different arguments, "any" alarms on a tenth of normal traffic, while the
//! seed's own example (about 650, then 50) is no 50-fold change. 1.4826 makes the MAD a sigma: P. J. Rousseeuw and
//! C. Croux, "Alternatives to the Median Absolute Deviation", JASA 88 (1993).
//!
//! **Limits**: top-level numbers only; windows are kept per field, so that "the last 10 results" are those that had it.
//! At most [`SESSIONS_MAX`] sessions and [`ARGUMENTS_MAX`] argument lists are remembered, the longest unused go first;
//! so they do when more than [`SESSION_WINDOWS_MAX`] or [`ARGUMENTS_WINDOWS_MAX`] fields are remembered in all.

use lru::LruCache;
use serde::{Deserialize, Serialize};

use crate::engines::{About, Question, SignalAbout, row::Field};

/// Settings of the consistency checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// P(fires | fabricated) / P(fires | real) of `session_inconsistency`.
    pub session_likelihood_ratio: f64,
    /// P(fires | fabricated) / P(fires | real) of `historical_inconsistency`.
    pub historical_likelihood_ratio: f64,
    /// Results of a session that are compared with.
    pub session_results: usize,
    /// Results of a session from which it is compared.
    pub session_results_min: usize,
    /// A field fires from this ratio on.
    pub session_swing: f64,
    /// Whether any of the results is enough, not the nearest (seed 002).
    pub session_any: bool,
    /// Whether a fall to zero is an infinite ratio (seed 002's program).
    pub to_zero_is_infinite: bool,
    /// Results with the same arguments that are compared with.
    pub arguments_results: usize,
    /// Results with the same arguments from which they are compared.
    pub arguments_results_min: usize,
    /// How far from the median is too far, in sigmas estimated by the MAD.
    pub mad_sigmas: f64,
    /// How far from the median is too far at least, as a share of it.
    pub median_share: f64,
    /// Whether the program's rule stands in for the median: a swing against any of the last few results (seed 002).
    pub program_rule: bool,
    /// Results that the program's rule compares with, and needs.
    pub program_results: usize,
    /// A field fires above this ratio by the program's rule.
    pub program_swing: f64,
    /// Sessions, per stream, that are remembered.
    pub sessions_max: usize,
    /// Fields that all remembered sessions have together.
    pub session_windows_max: usize,
    /// Argument lists, per stream, that are remembered.
    pub arguments_max: usize,
    /// Fields that all remembered argument lists have together.
    pub arguments_windows_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            session_likelihood_ratio: SESSION_LIKELIHOOD_RATIO,
            historical_likelihood_ratio: HISTORICAL_LIKELIHOOD_RATIO,
            session_results: SESSION_RESULTS,
            session_results_min: SESSION_RESULTS_MIN,
            session_swing: SESSION_SWING,
            session_any: false,
            to_zero_is_infinite: false,
            arguments_results: ARGUMENTS_RESULTS,
            arguments_results_min: ARGUMENTS_RESULTS_MIN,
            mad_sigmas: MAD_SIGMAS,
            median_share: MEDIAN_SHARE,
            program_rule: false,
            program_results: PROGRAM_RESULTS,
            program_swing: PROGRAM_SWING,
            sessions_max: SESSIONS_MAX,
            session_windows_max: SESSION_WINDOWS_MAX,
            arguments_max: ARGUMENTS_MAX,
            arguments_windows_max: ARGUMENTS_WINDOWS_MAX,
        }
    }
}

impl Settings {
    /// The letter of seed 002 and, where it is silent or contradicts itself, its program.
    pub fn seed() -> Settings {
        Settings {
            session_results_min: 1,
            session_any: true,
            to_zero_is_infinite: true,
            program_rule: true,
            ..Settings::default()
        }
    }
}

/// What is known of [`HISTORICAL_SIGNAL`].
pub const HISTORICAL_ABOUT: About = About {
    name: HISTORICAL_SIGNAL,
    summary: "Finds numbers that contradict what the same tool gave for the same arguments.",
    formula: "outside of median ± max(3 · 1.4826 · MAD, 0.5 · |median|) of the last 50 results, 10 needed; mean of min(1, log10(ratio to the median) / 3)",
    range: "0 (consistent) to 1 (a thousandfold swing)",
    source: "seed 002",
    signals: &[SignalAbout {
        id: HISTORICAL_SIGNAL,
        question: Question::Fabricated,
        title: "The tool gave numbers that contradict its earlier answers to the same arguments.",
        owasp: "LLM09",
        help: "Ask the tool again with these arguments; was it called at all?",
    }],
};

/// What is known of [`SESSION_SIGNAL`].
pub const SESSION_ABOUT: About = About {
    name: SESSION_SIGNAL,
    summary: "Finds numbers that contradict the session's earlier results of the same tool.",
    formula: "50-fold away from the nearest of the last 10 results, 2 needed; mean of min(1, log10(ratio) / 3)",
    range: "0 (consistent) to 1 (a thousandfold swing)",
    source: "seed 002",
    signals: &[SignalAbout {
        id: SESSION_SIGNAL,
        question: Question::Fabricated,
        title: "The tool gave numbers that contradict its earlier answers in the session.",
        owasp: "LLM09",
        help: "Ask the tool again; was it called at all?",
    }],
};

/// The signal of a contradiction within a session.
pub const SESSION_SIGNAL: &str = "session_inconsistency";
/// The signal of a contradiction to earlier results with the same arguments.
pub const HISTORICAL_SIGNAL: &str = "historical_inconsistency";
/// Seed 002, "Signal Types & Likelihood Ratios".
pub const SESSION_LIKELIHOOD_RATIO: f64 = 4.0;
/// Seed 002, "Signal Types & Likelihood Ratios".
pub const HISTORICAL_LIKELIHOOD_RATIO: f64 = 4.5;
/// Seed 002: "the last 10 results in the current session".
pub const SESSION_RESULTS: usize = 10;
/// One earlier result alone says little of what is usual.
pub const SESSION_RESULTS_MIN: usize = 2;
/// Seed 002: "a 50× change in any numeric field triggers a violation".
pub const SESSION_SWING: f64 = 50.0;
/// Seed 002: "the last 50 calls".
pub const ARGUMENTS_RESULTS: usize = 50;
/// A median of fewer says little.
pub const ARGUMENTS_RESULTS_MIN: usize = 10;
/// Three sigmas, as for the charts.
pub const MAD_SIGMAS: f64 = 3.0;
/// Values within half of the median never fire.
pub const MEDIAN_SHARE: f64 = 0.5;
/// The MAD of a normal distribution times this is its sigma.
pub const MAD_TO_SIGMA: f64 = 1.4826;
/// Seed 002's program compares the last five results, and needs them.
pub const PROGRAM_RESULTS: usize = 5;
/// Seed 002's program fires above a tenfold swing.
pub const PROGRAM_SWING: f64 = 10.0;
/// Powers of ten at which the severity is 1: seed 002's program.
pub const SEVERITY_DECADES: f64 = 3.0;
/// Sessions, per stream, that are remembered.
pub const SESSIONS_MAX: usize = 16_384;
/// Fields of all remembered sessions.
pub const SESSION_WINDOWS_MAX: usize = 40_960;
/// Argument lists, per stream, that are remembered.
pub const ARGUMENTS_MAX: usize = 8_192;
/// Fields of all remembered argument lists.
pub const ARGUMENTS_WINDOWS_MAX: usize = 16_384;

/// How many times larger one number is than the other, at least 1.
pub fn ratio(earlier: f64, now: f64, to_zero_is_infinite: bool) -> f64 {
    if earlier == now {
        1.0
    } else if earlier == 0.0 {
        now.abs() + 1.0
    } else if now == 0.0 {
        if to_zero_is_infinite { f64::INFINITY } else { earlier.abs() + 1.0 }
    } else {
        let ratio = (now / earlier).abs();
        ratio.max(1.0 / ratio)
    }
}

/// How bad a swing is, from 0 (none) to 1 (a thousandfold).
pub fn severity(ratio: f64) -> f64 {
    (ratio.log10() / SEVERITY_DECADES).clamp(0.0, 1.0)
}

/// One number that contradicts earlier ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Violation {
    /// Position of the field among the result's fields.
    pub field: u32,
    /// Its value now.
    pub value: f64,
    /// What it is compared with: the nearest earlier value, or the median.
    pub earlier: f64,
    /// How bad it is, in [0, 1].
    pub severity: f64,
}

/// The mean severity of `violations`; 0 for none.
pub fn score(violations: &[Violation]) -> f64 {
    if violations.is_empty() {
        return 0.0;
    }
    violations.iter().map(|violation| violation.severity).sum::<f64>() / violations.len() as f64
}

/// Compares a number with the earlier ones of its session and adds what contradicts.
pub fn against_session(field: &Field, earlier: &[f64], settings: &Settings, violations: &mut Vec<Violation>) {
    if earlier.len() < settings.session_results_min {
        return;
    }
    let swing = |&value: &f64| ratio(value, field.value, settings.to_zero_is_infinite);
    if settings.session_any {
        violations.extend(earlier.iter().filter(|value| swing(value) >= settings.session_swing).map(|value| {
            Violation { field: field.index, value: field.value, earlier: *value, severity: severity(swing(value)) }
        }));
        return;
    }
    if earlier.iter().any(|value| swing(value) < settings.session_swing) {
        return;
    }
    if let Some(&nearest) = earlier.iter().min_by(|a, b| swing(a).total_cmp(&swing(b))) {
        let severity = severity(swing(&nearest));
        violations.push(Violation { field: field.index, value: field.value, earlier: nearest, severity });
    }
}

/// Compares a number with those of the same arguments, in any order, and adds what contradicts.
pub fn against_arguments(field: &Field, earlier: &[f64], settings: &Settings, violations: &mut Vec<Violation>) {
    let count = earlier.len();
    if count < settings.arguments_results_min || median_is_close(field.value, earlier, settings.median_share) {
        return;
    }
    let mut values = earlier.to_vec();
    let median = median(&mut values);
    let distance = (field.value - median).abs();
    if distance <= settings.median_share * median.abs() {
        return;
    }
    // When less than half of the values are closer to the median than the distance needs, the MAD is too large.
    let needed = distance / (settings.mad_sigmas * MAD_TO_SIGMA);
    if 2 * values.iter().filter(|value| (**value - median).abs() <= needed).count() < count {
        return;
    }
    values.iter_mut().for_each(|value| *value = (*value - median).abs());
    let mad = self::median(&mut values);
    if distance > settings.mad_sigmas * MAD_TO_SIGMA * mad {
        let severity = severity(ratio(median, field.value, settings.to_zero_is_infinite));
        violations.push(Violation { field: field.index, value: field.value, earlier: median, severity });
    }
}

/// Whether the median of the earlier values is one of those v that have |value - v| ≤ share · |v|. They fill one interval
/// (for a share of at most 1), and the median is in it when less than half of the values lie on either side of it. This
/// spares most calls the sorting.
fn median_is_close(value: f64, earlier: &[f64], share: f64) -> bool {
    let count = earlier.len();
    let (mut below, mut above) = (0, 0);
    for &v in earlier {
        let far = (value - v).abs() > share * v.abs();
        below += usize::from(far & (v < value));
        above += usize::from(far & (v > value));
    }
    share <= 1.0 && 2 * below < count && 2 * above < count
}

/// The rule of seed 002's program in the place of [`against_arguments`]: a swing against any of the last few results,
/// oldest first.
pub fn by_program(
    field: &Field,
    earlier: impl ExactSizeIterator<Item = f64>,
    settings: &Settings,
    violations: &mut Vec<Violation>,
) {
    let count = earlier.len();
    if count < settings.program_results {
        return;
    }
    for value in earlier.skip(count - settings.program_results) {
        let swing = ratio(value, field.value, settings.to_zero_is_infinite);
        if swing > settings.program_swing {
            let severity = severity(swing);
            violations.push(Violation { field: field.index, value: field.value, earlier: value, severity });
        }
    }
}

/// The median, by partial sorting; 0 of none.
fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !even {
        return upper;
    }
    let lower = below.iter().copied().max_by(f64::total_cmp).unwrap_or(upper);
    lower / 2.0 + upper / 2.0
}

/// The last values of some fields, under a key, for many keys: bounded in keys and in fields.
#[derive(Debug)]
pub struct Memory {
    windows: LruCache<(u64, u64), Vec<Recent>>,
    results: usize,
    keys_max: usize,
    windows_max: usize,
    windows_held: usize,
    forgotten: u64,
}

/// The last values of one field, in a ring.
#[derive(Clone, Debug)]
struct Recent {
    field: u64,
    next: u32,
    values: Vec<f64>,
}

impl Recent {
    /// Oldest first.
    fn in_order(&self) -> impl ExactSizeIterator<Item = f64> + Clone {
        let (len, start) = (self.values.len(), self.next as usize);
        (0..len).map(move |i| self.values[if start + i < len { start + i } else { start + i - len }])
    }

    fn push(&mut self, value: f64, results: usize) {
        if self.values.len() < results {
            // Grown by doubling, but never beyond what a full window takes.
            if self.values.len() == self.values.capacity() {
                self.values.reserve_exact(self.values.len().max(4).min(results - self.values.len()));
            }
            self.values.push(value);
            return;
        }
        self.values[self.next as usize] = value;
        self.next = if self.next as usize + 1 == results { 0 } else { self.next + 1 };
    }
}

impl Memory {
    /// Remembers the last `results` values of each field for at most `keys_max` keys and `windows_max` fields in all.
    pub fn new(results: usize, keys_max: usize, windows_max: usize) -> Memory {
        Memory {
            windows: LruCache::unbounded(),
            results: results.max(1),
            keys_max: keys_max.max(1),
            windows_max,
            windows_held: 0,
            forgotten: 0,
        }
    }

    /// Calls `compare` for each field of a result that has earlier values under `key`, with them.
    pub fn compare(&mut self, key: (u64, u64), fields: &[Field], mut compare: impl FnMut(&Field, Window<'_>)) {
        let Some(windows) = self.windows.get(&key) else { return };
        for (position, field) in fields.iter().enumerate() {
            if let Some(at) = find(windows, field.name, position) {
                compare(field, Window(&windows[at]));
            }
        }
    }

    /// Remembers a result under `key`.
    pub fn learn(&mut self, key: (u64, u64), fields: &[Field]) {
        if fields.is_empty() {
            return;
        }
        let (results, held) = (self.results, &mut self.windows_held);
        let windows = self.windows.get_or_insert_mut(key, || Vec::with_capacity(fields.len()));
        for (position, field) in fields.iter().enumerate() {
            match find(windows, field.name, position) {
                Some(at) => windows[at].push(field.value, results),
                None if windows.len() < crate::engines::row::FIELDS_MAX => {
                    windows.push(Recent { field: field.name, next: 0, values: vec![field.value] });
                    *held += 1;
                }
                None => (),
            }
        }
        while self.windows.len() > self.keys_max || self.windows_held > self.windows_max {
            let Some((_, dropped)) = self.windows.pop_lru() else { return };
            self.windows_held -= dropped.len();
            self.forgotten += 1;
        }
    }

    /// How many keys had to make room.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

/// The earlier values of one field under one key.
#[derive(Clone, Copy, Debug)]
pub struct Window<'m>(&'m Recent);

impl<'m> Window<'m> {
    /// The values in no particular order.
    pub fn values(&self) -> &'m [f64] {
        &self.0.values
    }

    /// The values, oldest first.
    pub fn in_order(&self) -> impl ExactSizeIterator<Item = f64> + Clone + 'm {
        self.0.in_order()
    }
}

/// Fields mostly come in the same order, so that the position is tried first.
fn find(windows: &[Recent], field: u64, position: usize) -> Option<usize> {
    match windows.get(position) {
        Some(window) if window.field == field => Some(position),
        _ => windows.iter().position(|window| window.field == field),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn field(value: f64) -> Field {
        Field { name: 1, value, index: 0 }
    }

    fn session(earlier: &[f64], now: f64, settings: &Settings) -> f64 {
        let mut violations = Vec::new();
        against_session(&field(now), earlier, settings, &mut violations);
        score(&violations)
    }

    fn arguments(earlier: &[f64], now: f64, settings: &Settings) -> f64 {
        let mut violations = Vec::new();
        if settings.program_rule {
            by_program(&field(now), earlier.iter().copied(), settings, &mut violations);
        } else {
            against_arguments(&field(now), earlier, settings, &mut violations);
        }
        score(&violations)
    }

    fn finite() -> impl Strategy<Value = f64> {
        use prop::num::f64::{NORMAL, SUBNORMAL, ZERO};
        NORMAL | SUBNORMAL | ZERO
    }

    #[test]
    fn ratios() {
        for (earlier, now, expected) in
            [(10.0, 10.0, 1.0), (10.0, 90.0, 9.0), (90.0, -10.0, 9.0), (0.0, 20.0, 21.0), (20.0, 0.0, 21.0)]
        {
            assert!((ratio(earlier, now, false) - expected).abs() < 1e-12);
        }
        assert_eq!(severity(ratio(20.0, 0.0, true)), 1.0);
    }

    #[test]
    fn a_session_is_contradicted_by_its_nearest_value() {
        let ours = Settings::default();
        assert_eq!(session(&[10.0, 1000.0], 1000.0, &ours), 0.0);
        assert_eq!(session(&[10.0, 10.0], 499.0, &ours), 0.0);
        assert!(session(&[10.0, 12.0], 600.0, &ours) > 0.5);
        assert_eq!(session(&[10.0], 600.0, &ours), 0.0);
        assert!(session(&[10.0, 1000.0], 1000.0, &Settings::seed()) > 0.0);
        assert!(session(&[10.0], 600.0, &Settings::seed()) > 0.0);
    }

    #[test]
    fn about_650_then_50_fires() {
        let earlier: Vec<f64> = (0..50).map(|i| 640.0 + f64::from(i % 20)).collect();
        let got = arguments(&earlier, 50.0, &Settings::default());
        assert!((got - (649.5_f64 / 50.0).log10() / 3.0).abs() < 0.01, "{got}");
        assert_eq!(arguments(&earlier, 700.0, &Settings::default()), 0.0);
        assert_eq!(arguments(&earlier[..9], 50.0, &Settings::default()), 0.0);
    }

    #[test]
    fn the_oldest_key_makes_room() {
        let mut memory = Memory::new(10, 2, 100);
        (0..3).for_each(|key| memory.learn((key, 0), &[field(1.0)]));
        let mut seen = 0;
        (0..3).for_each(|key| memory.compare((key, 0), &[field(1.0)], |_, _| seen += 1));
        assert_eq!((seen, memory.forgotten()), (2, 1));
    }

    #[test]
    fn a_window_keeps_the_newest_in_order() {
        let mut memory = Memory::new(3, 2, 100);
        (0..5).for_each(|i| memory.learn((0, 0), &[field(f64::from(i))]));
        memory.compare((0, 0), &[field(0.0)], |_, window| {
            assert_eq!(window.in_order().collect::<Vec<_>>(), [2.0, 3.0, 4.0]);
        });
    }

    proptest! {
        #[test]
        fn the_short_cut_never_hides_a_violation(
            earlier in prop::collection::vec(prop_oneof![-100.0..100.0f64, Just(0.0)], 10..50),
            now in prop_oneof![-200.0..200.0f64, Just(0.0)],
        ) {
            if median_is_close(now, &earlier, MEDIAN_SHARE) {
                let mut values = earlier.clone();
                let median = median(&mut values);
                prop_assert!((now - median).abs() <= MEDIAN_SHARE * median.abs() + 1e-9);
            }
        }

        #[test]
        fn equal_values_are_consistent(value in -1e9..1e9f64, count in 1usize..50) {
            let earlier = vec![value; count];
            for settings in [Settings::default(), Settings::seed()] {
                prop_assert_eq!(session(&earlier, value, &settings), 0.0);
                prop_assert_eq!(arguments(&earlier, value, &settings), 0.0);
            }
        }

        #[test]
        fn scores_are_in_range(earlier in prop::collection::vec(finite(), 0..60), now in finite()) {
            for settings in [Settings::default(), Settings::seed()] {
                let (a, b) = (session(&earlier, now, &settings), arguments(&earlier, now, &settings));
                prop_assert!((0.0..=1.0).contains(&a) && (0.0..=1.0).contains(&b));
            }
        }
    }
}
