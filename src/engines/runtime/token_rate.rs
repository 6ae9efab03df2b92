//! Answers that arrive with far fewer tokens per second than the stream's average.
//!
//! **Formula**: rate = response tokens / latency · 1000; deficit = max(0, 1 - rate / baseline). The value is the
//! deficit; `warn` from [`Settings::warn_deficit`], `error` from [`Settings::error_deficit`].
//!
//! **Range**: [0, 1]; 0 is the usual rate or more, 1 is no token at all.
//!
//! **Source**: seed 001, "TokenRateEngine".
//!
//! **Limits**: short answers vary a lot; a tokeniser other than the provider's shifts all rates alike. It needs a
//! reported token count: an estimate is used only on request, and the row then carries it.

use serde::{Deserialize, Serialize};

use crate::engines::{
    About, Assessment, Baseline, BaselineEngine, Detail, Question, RatioSource, Row, Signal, SignalAbout, Status, Tier,
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: "token_rate",
    summary: "Finds answers that arrive with far fewer tokens per second than the stream's average.",
    formula: "deficit = max(0, 1 - (response_tokens / latency_ms * 1000) / baseline)",
    range: "0 (the usual rate or more) to 1 (no token at all)",
    source: "seed 001, TokenRateEngine",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Degraded,
        title: "The answer came with far fewer tokens per second than usual.",
        owasp: "",
        help: "Look at the provider's status at that time.",
    }],
};

/// The signal of this engine.
pub const SIGNAL: &str = "token_rate_low";
/// Modest until it is fitted: the rate of short answers varies a lot.
pub const LIKELIHOOD_RATIO: f64 = 3.0;

/// Tokens per word of English text, about.
pub const TOKENS_PER_WORD: f64 = 4.0 / 3.0;

const MS_PER_SECOND: f64 = 1000.0;

/// The cuts of the engine.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `warn` from this deficit on.
    pub warn_deficit: f64,
    /// `error` from this deficit on.
    pub error_deficit: f64,
    /// Whether a call that reports no token count gets one: four tokens per three words.
    pub estimate_tokens: bool,
    /// Likelihood ratio of `token_rate_low`.
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { warn_deficit: 0.3, error_deficit: 0.6, estimate_tokens: false, likelihood_ratio: LIKELIHOOD_RATIO }
    }
}

impl Settings {
    /// The seed's cuts, which are also the default.
    pub fn seed() -> Settings {
        Settings::default()
    }
}

/// An estimate of the tokens in so many words, for calls that report no count.
pub fn estimated_tokens(words: u64) -> f64 {
    words as f64 * TOKENS_PER_WORD
}

/// Tokens per second; `None` when no time passed.
pub fn tokens_per_second(response_tokens: f64, latency_ms: f64) -> Option<f64> {
    (latency_ms > 0.0).then(|| response_tokens / latency_ms * MS_PER_SECOND)
}

/// Status and value of a rate, given a baseline above 0.
pub fn deficit(tokens_per_second: f64, baseline_tokens_per_second: f64, settings: &Settings) -> (Status, f64) {
    let deficit = (1.0 - tokens_per_second / baseline_tokens_per_second).max(0.0);
    (Status::from_cuts(deficit, settings.warn_deficit, settings.error_deficit), deficit)
}

/// Compares a row's token rate with its baseline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenRate {
    settings: Settings,
}

impl TokenRate {
    /// The engine with its constants.
    pub fn new(settings: Settings) -> TokenRate {
        TokenRate { settings }
    }
}

impl BaselineEngine for TokenRate {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, row: &Row, baseline: &Baseline) -> Option<Assessment> {
        if row.is_tool || row.feedback.is_some() {
            return None;
        }
        let Some(response_tokens) = row.response_tokens else {
            return Some(Assessment::not_assessed("no token count"));
        };
        let Some(latency_ms) = row.latency_ms else {
            return Some(Assessment::not_assessed("no latency"));
        };
        let Some(rate) = tokens_per_second(response_tokens, latency_ms) else {
            return Some(Assessment::not_assessed("latency is zero"));
        };
        if !baseline.stable {
            return Some(Assessment::not_assessed("baseline not stable yet"));
        }
        let Some(usual) = baseline.tokens_per_second.filter(|rate| *rate > 0.0) else {
            return Some(Assessment::not_assessed("no token rate in the baseline"));
        };
        let (status, value) = deficit(rate, usual, &self.settings);
        let ratio = RatioSource::default_or_config(self.settings.likelihood_ratio, LIKELIHOOD_RATIO);
        let absent = Signal::absent(SIGNAL, Question::Degraded, Tier::One, ratio);
        let signal = if status == Status::Ok { absent } else { absent.fire(value, clause(rate, usual)) };
        let assessment = Assessment::new(status, value)
            .with("tokens_per_second", Detail::Number(rate))
            .with("baseline_tokens_per_second", Detail::Number(usual))
            .with("is_estimate", Detail::Flag(row.tokens_are_estimated));
        Some(assessment.signal(signal))
    }
}

fn clause(rate: f64, usual: f64) -> String {
    format!("{rate:.1} tokens per second against an average of {usual:.1}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(rate: f64, status: Status, value: f64) {
        let (got_status, got_value) = deficit(rate, 100.0, &Settings::default());
        assert_eq!(got_status, status, "{rate} tokens per second");
        assert!((got_value - value).abs() < 1e-12, "{rate} tokens per second: {got_value}");
    }

    #[test]
    fn the_cuts_are_at_deficits_of_three_and_six_tenths() {
        check(150.0, Status::Ok, 0.0);
        check(90.0, Status::Ok, 0.1);
        check(71.0, Status::Ok, 0.29);
        check(69.0, Status::Warn, 0.31);
        check(41.0, Status::Warn, 0.59);
        check(39.0, Status::Error, 0.61);
        check(0.0, Status::Error, 1.0);
    }

    fn row(response_tokens: f64, latency_ms: f64) -> Row {
        Row { response_tokens: Some(response_tokens), latency_ms: Some(latency_ms), ..Row::default() }
    }

    fn baseline() -> Baseline {
        Baseline { samples: 5, stable: true, tokens_per_second: Some(100.0), ..Baseline::default() }
    }

    #[test]
    fn a_slow_stream_fires_and_says_why() {
        let assessment = TokenRate::default().assess(&row(20.0, 1000.0), &baseline()).unwrap();
        assert!(assessment.signals[0].fired);
        assert_eq!(assessment.signals[0].detail, "20.0 tokens per second against an average of 100.0");
    }

    #[test]
    fn without_numbers_nothing_is_assessed() {
        let status = |row: &Row, baseline: &Baseline| TokenRate::default().assess(row, baseline).unwrap().status;
        let no_tokens = Row { latency_ms: Some(1.0), ..Row::default() };
        let no_latency = Row { response_tokens: Some(1.0), ..Row::default() };
        let young = Baseline { stable: false, ..baseline() };
        assert_eq!(status(&no_tokens, &baseline()), Status::NotAssessed("no token count"));
        assert_eq!(status(&no_latency, &baseline()), Status::NotAssessed("no latency"));
        assert_eq!(status(&row(5.0, 0.0), &baseline()), Status::NotAssessed("latency is zero"));
        assert_eq!(status(&row(5.0, 9.0), &young), Status::NotAssessed("baseline not stable yet"));
    }

    #[test]
    fn tools_are_not_its_business() {
        let tool = Row { is_tool: true, ..row(5.0, 9.0) };
        assert_eq!(TokenRate::default().assess(&tool, &baseline()), None);
    }

    proptest! {
        #[test]
        fn the_value_is_in_range_and_falls_with_the_rate(a in 0.0..1e5f64, b in 0.0..1e5f64, usual in 0.001..1e4f64) {
            let value = |rate| deficit(rate, usual, &Settings::default()).1;
            prop_assert!((0.0..=1.0).contains(&value(a)));
            prop_assert!(value(a.min(b)) >= value(a.max(b)));
        }
    }
}
