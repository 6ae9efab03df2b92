//! What labelled data say of signals: tables of likelihood ratios, weights, priors and thresholds, as a file.
//!
//! **Formula**: a signal with a table adds weight · temperature · log_odds(bin of what it measured) to the log odds of
//! its question, in the place of its stated ratio, and fired when that is above 0. A signal without a table keeps its
//! stated ratio; a signal that the record does not have stays out; a proof stays a proof, and is left alone.
//!
//! Prior and thresholds of a calibration count for the records that have at least one signal with a table, and only
//! where the configuration (or a tool's feedback) leaves the default: what a person states wins.
//!
//! **Range**: log odds in nats, finite; `temperature` and `weight` in [0, ∞); `prior` in (0, 1).
//!
//! **Source**: seed 002 (log odds that add up); what replaces its stated ratios is fitted. The file is written by `llmverify calibrate`
//! ([`fitting`](super::fitting)) and described in `docs/calibration.md`.
//!
//! **Limits**: off under `compat = "seed"`. The ordered stage decides what to learn by the stated ratios, so that
//! history does not depend on a calibration. Whether a table is for a signal that exists is checked in the pipeline, which
//! knows all of them.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use super::judge::Policy;
use crate::{
    engines::{Class, Question, RatioSource, Signal},
    stats::fit::{Direction, look_up},
};

/// The version of the file's form.
pub const VERSION: u32 = 1;

const BUILT_IN: &str = include_str!("calibration_default.toml");

/// A calibration that cannot be used; the message names the place and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalibrationError(pub String);

impl fmt::Display for CalibrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CalibrationError {}

/// Fitted tables, weights, priors and thresholds, per question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The version of the form: [`VERSION`].
    pub version: u32,
    /// Is the content made up?
    #[serde(default, skip_serializing_if = "QuestionCalibration::is_empty")]
    pub fabricated: QuestionCalibration,
    /// Does the input try to subvert the model?
    #[serde(default, skip_serializing_if = "QuestionCalibration::is_empty")]
    pub attacked: QuestionCalibration,
    /// Does the output give away what it must not?
    #[serde(default, skip_serializing_if = "QuestionCalibration::is_empty")]
    pub leaking: QuestionCalibration,
    /// Is the service unwell?
    #[serde(default, skip_serializing_if = "QuestionCalibration::is_empty")]
    pub degraded: QuestionCalibration,
}

/// What was fitted for one question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionCalibration {
    /// Multiplies all weights; below 1 where signals overlap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// P(yes) before the evidence: the intercept of the fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior: Option<f64>,
    /// A posterior from here on is flagged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag_from: Option<f64>,
    /// A posterior from here on is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_from: Option<f64>,
    /// P(yes) before the evidence, for single streams (model or tool).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stream_priors: BTreeMap<String, f64>,
    /// How this was fitted; never read for a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// Tables by the id of the signal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub signals: BTreeMap<String, SignalTable>,
}

/// What was fitted for one signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalTable {
    /// Which way the signal points; stated, not fitted.
    #[serde(default)]
    pub direction: Direction,
    /// Ascending; each is the largest value of its bin, and the last bin has no end.
    pub edges: Vec<f64>,
    /// One per bin, in nats, monotone in the direction.
    pub log_odds: Vec<f64>,
    /// Not negative; below 1 where other signals say the same.
    #[serde(default = "one")]
    pub weight: f64,
}

fn one() -> f64 {
    1.0
}

/// How a question was fitted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Provenance {
    /// What the labels are, in words.
    pub source: String,
    /// Labelled records.
    pub labels: u64,
    /// Those labelled yes.
    pub positives: u64,
    /// Groups that were kept together.
    pub groups: u64,
    /// Folds of the cross-validation.
    pub folds: u64,
    /// How tables were added up: `weights` or `temperature`.
    pub fusion: String,
    /// Cross-validated: the share of pairs in which the positive scores higher.
    pub auroc: Option<f64>,
    /// Cross-validated: the mean log loss in nats.
    pub log_loss: Option<f64>,
    /// Cross-validated: the mean squared error of the posterior.
    pub brier: Option<f64>,
    /// Cross-validated: the expected calibration error.
    pub expected_calibration_error: Option<f64>,
}

impl Calibration {
    /// The calibration that is built in.
    pub fn built_in() -> Calibration {
        let parsed = Calibration::parse("calibration_default.toml", BUILT_IN);
        debug_assert!(parsed.is_ok(), "the built-in calibration is checked by a test: {parsed:?}");
        parsed.unwrap_or_default()
    }

    /// Reads `text`, which stands in `file`.
    ///
    /// # Errors
    /// When it is not TOML, holds an unknown key, or a number that cannot be meant.
    pub fn parse(file: &str, text: &str) -> Result<Calibration, CalibrationError> {
        let calibration: Calibration = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            CalibrationError(format!("{file}:{line}: {}", error.message()))
        })?;
        calibration.check().map_err(|fault| CalibrationError(format!("{file}: {fault}")))?;
        Ok(calibration)
    }

    /// The text of the file.
    ///
    /// # Errors
    /// When a number cannot be written, which [`Calibration::parse`] and the fit rule out.
    pub fn to_toml(&self) -> Result<String, CalibrationError> {
        toml::to_string(self).map_err(|error| CalibrationError(format!("cannot be written as TOML: {error}")))
    }

    /// What was fitted for one question.
    pub fn of(&self, question: Question) -> &QuestionCalibration {
        match question {
            Question::Fabricated => &self.fabricated,
            Question::Attacked => &self.attacked,
            Question::Leaking => &self.leaking,
            Question::Degraded => &self.degraded,
        }
    }

    /// What was fitted for one question, to change it.
    pub fn of_mut(&mut self, question: Question) -> &mut QuestionCalibration {
        match question {
            Question::Fabricated => &mut self.fabricated,
            Question::Attacked => &mut self.attacked,
            Question::Leaking => &mut self.leaking,
            Question::Degraded => &mut self.degraded,
        }
    }

    /// This calibration with `over` laid on it: signal by signal, and setting by setting.
    #[must_use]
    pub fn overlaid_with(mut self, over: Calibration) -> Calibration {
        for question in Question::ALL {
            self.of_mut(question).overlay(over.of(question));
        }
        self.version = VERSION;
        self
    }

    /// Sets what the signals of one record add to the log odds, and the policies that follow. `usual` are the policies
    /// that nobody changed.
    pub fn apply(&self, stream: &str, signals: &mut [Signal], policies: &mut [Policy; 4], usual: &[Policy; 4]) {
        for question in Question::ALL {
            let fitted = self.of(question);
            if fitted.signals.is_empty() {
                continue;
            }
            let about = signals.iter_mut().filter(|signal| signal.question == question);
            let applied = about.filter_map(|signal| fitted.set(signal)).count();
            if applied > 0 {
                fitted.set_policy(stream, &mut policies[question as usize], &usual[question as usize]);
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        if self.version != VERSION {
            return Err(format!("version {} is not {VERSION}, the one that this program reads", self.version));
        }
        Question::ALL.into_iter().try_for_each(|question| {
            self.of(question).check().map_err(|fault| format!("[{}] {fault}", question.as_str()))
        })
    }
}

impl QuestionCalibration {
    /// Whether nothing was fitted.
    pub fn is_empty(&self) -> bool {
        *self == QuestionCalibration::default()
    }

    /// The prior of one stream.
    pub fn prior_of(&self, stream: &str) -> Option<f64> {
        self.stream_priors.get(stream).copied().or(self.prior)
    }

    /// What the signal `id` adds to the log odds when it measured `value`; `None` when it has no table.
    pub fn log_odds(&self, id: &str, value: f64) -> Option<f64> {
        let table = self.signals.get(id)?;
        Some(table.weight * self.temperature.unwrap_or(1.0) * look_up(&table.edges, &table.log_odds, value))
    }

    /// Sets what `signal` adds, if it has a table.
    fn set(&self, signal: &mut Signal) -> Option<()> {
        if signal.class != Class::Evidence && signal.fired {
            return None;
        }
        let value = measured(signal);
        let log_odds = self.log_odds(signal.id, value)?;
        signal.fitted_log_odds = Some(log_odds);
        signal.likelihood_ratio = log_odds.exp();
        signal.ratio_source = RatioSource::Fitted;
        signal.fired = log_odds > 0.0;
        if !signal.fired {
            signal.detail = Cow::Borrowed("");
        } else if signal.detail.is_empty() {
            signal.detail = Cow::Owned(format!("{} measured {value:.3}", signal.id));
        }
        Some(())
    }

    fn set_policy(&self, stream: &str, policy: &mut Policy, usual: &Policy) {
        let set = |own: &mut f64, usual: f64, fitted: Option<f64>| {
            if let Some(fitted) = fitted.filter(|_| *own == usual) {
                *own = fitted;
            }
        };
        set(&mut policy.prior, usual.prior, self.prior_of(stream));
        set(&mut policy.flag_from, usual.flag_from, self.flag_from);
        set(&mut policy.block_from, usual.block_from, self.block_from);
        if self.flag_from == Some(policy.flag_from) {
            // What is not even flagged must not be blocked.
            policy.block_from = policy.block_from.max(policy.flag_from);
        }
    }

    fn overlay(&mut self, over: &QuestionCalibration) {
        if over.is_empty() {
            return;
        }
        // A temperature belongs to the tables that it was fitted with.
        let own = self.temperature.take().unwrap_or(1.0);
        self.signals.values_mut().for_each(|table| table.weight *= own);
        let theirs = over.temperature.unwrap_or(1.0);
        for (id, table) in &over.signals {
            self.signals.insert(id.clone(), SignalTable { weight: table.weight * theirs, ..table.clone() });
        }
        if over.prior.is_some() {
            (self.prior, self.stream_priors) = (over.prior, BTreeMap::new());
        }
        self.stream_priors.extend(over.stream_priors.clone());
        self.flag_from = over.flag_from.or(self.flag_from);
        self.block_from = over.block_from.or(self.block_from);
        self.provenance = over.provenance.clone();
    }

    fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: Option<f64>, from: f64, to: f64| match value {
            Some(value) if !(from..=to).contains(&value) => Err(format!("{name} must lie between {from} and {to}")),
            _ => Ok(()),
        };
        within("temperature", self.temperature, 0.0, f64::MAX)?;
        for (name, value) in [("flag_from", self.flag_from), ("block_from", self.block_from)] {
            within(name, value, 0.0, 1.0)?;
        }
        // No evidence moves a prior of 0 or 1.
        let open = |name: &str, prior: f64| {
            let is_open = prior > 0.0 && prior < 1.0;
            if is_open { Ok(()) } else { Err(format!("{name} must lie between 0 and 1, and be neither")) }
        };
        self.prior.map_or(Ok(()), |prior| open("prior", prior))?;
        for (stream, prior) in &self.stream_priors {
            open(&format!("stream_priors.{stream}"), *prior)?;
        }
        self.signals.iter().try_for_each(|(id, table)| table.check().map_err(|fault| format!("signals.{id}: {fault}")))
    }
}

impl SignalTable {
    fn check(&self) -> Result<(), &'static str> {
        let ascends = |pair: &[f64]| pair[0] < pair[1];
        let is_monotone = |pair: &[f64]| match self.direction {
            Direction::Rising => pair[0] <= pair[1],
            Direction::Falling => pair[0] >= pair[1],
        };
        if self.log_odds.len() != self.edges.len() + 1 {
            return Err("log_odds must hold one more than edges");
        }
        if !self.edges.iter().chain(&self.log_odds).all(|number| number.is_finite()) {
            return Err("edges and log_odds must be finite numbers");
        }
        if !self.edges.windows(2).all(ascends) {
            return Err("edges must ascend");
        }
        if !self.log_odds.windows(2).all(is_monotone) {
            return Err("log_odds must go the way that direction states");
        }
        if !(0.0..=f64::MAX).contains(&self.weight) {
            return Err("weight must not be negative");
        }
        Ok(())
    }
}

/// What a calibration goes by: what was measured, else the score.
pub fn measured(signal: &Signal) -> f64 {
    signal.measured.unwrap_or(signal.score)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{engines::Tier, verdict::judge::judge};

    const FILE: &str = "\
version = 1
[fabricated]
temperature = 0.5
prior = 0.4
flag_from = 0.3
[fabricated.stream_priors]
\"gpt-4o\" = 0.1
[fabricated.signals.unsupported]
direction = \"rising\"
edges = [0.0, 2.0]
log_odds = [-0.4, 0.2, 2.0]
weight = 1.5
";

    fn signal(measured: f64) -> Signal {
        let ratio = (3.0, RatioSource::Default);
        Signal { measured: Some(measured), ..Signal::absent("unsupported", Question::Fabricated, Tier::Zero, ratio) }
    }

    fn applied(text: &str, stream: &str, mut signal: Signal) -> (Signal, Policy) {
        let usual = [Policy::default(); 4];
        let mut policies = usual;
        let calibration = Calibration::parse("x.toml", text).unwrap();
        calibration.apply(stream, std::slice::from_mut(&mut signal), &mut policies, &usual);
        (signal, policies[0])
    }

    #[test]
    fn the_table_takes_the_place_of_score_and_ratio() {
        for (value, log_odds) in [(0.0, -0.3), (1.0, 0.15), (2.0, 0.15), (2.5, 1.5)] {
            let (signal, policy) = applied(FILE, "other", signal(value));
            assert!((signal.fitted_log_odds.unwrap() - log_odds).abs() < 1e-12, "{value}");
            assert!((signal.evidence().contribution() - log_odds).abs() < 1e-12);
            assert_eq!((signal.ratio_source, signal.fired), (RatioSource::Fitted, log_odds > 0.0));
            assert_eq!(signal.detail.is_empty(), !signal.fired);
            assert_eq!((policy.prior, policy.flag_from, policy.block_from), (0.4, 0.3, 0.5));
        }
        assert_eq!(applied(FILE, "gpt-4o", signal(0.0)).1.prior, 0.1);
    }

    #[test]
    fn what_a_person_states_wins() {
        let usual = [Policy::default(); 4];
        let mut policies = [Policy { flag_from: 0.7, ..Policy::default() }; 4];
        let calibration = Calibration::parse("x.toml", FILE).unwrap();
        calibration.apply("other", &mut [signal(9.0)], &mut policies, &usual);
        assert_eq!((policies[0].prior, policies[0].flag_from), (0.4, 0.7));
    }

    #[test]
    fn what_is_not_flagged_is_not_blocked() {
        let (_, policy) = applied(&FILE.replace("flag_from = 0.3", "flag_from = 0.8"), "other", signal(0.0));
        assert_eq!((policy.flag_from, policy.block_from), (0.8, 0.8));
    }

    #[test]
    fn other_signals_and_proofs_are_left_alone() {
        let other = Signal { id: "other", ..signal(9.0) };
        assert_eq!(applied(FILE, "s", other.clone()), (other, Policy::default()));
        let proof = Signal { class: Class::Proof, ..signal(0.0).fire(1.0, "it is proven") };
        assert_eq!(applied(FILE, "s", proof.clone()).0, proof);
        let attacked = Signal { question: Question::Attacked, ..signal(9.0) };
        assert_eq!(applied(FILE, "s", attacked.clone()).0, attacked);
    }

    #[test]
    fn a_fitted_signal_decides() {
        let usual = [Policy::default(); 4];
        let mut policies = usual;
        let mut signals = [signal(9.0)];
        Calibration::parse("x.toml", FILE).unwrap().apply("s", &mut signals, &mut policies, &usual);
        let answer = &judge(&signals, &policies, &[""; 4]).answers[0];
        // By hand: logit(0.4) + 1.5 = 1.0945.
        assert!((answer.posterior - 0.749_235).abs() < 1e-6, "{}", answer.posterior);
    }

    #[test]
    fn an_overlay_replaces_single_signals_and_keeps_the_weight_of_the_rest() {
        let base = Calibration::parse("x.toml", FILE).unwrap();
        let over =
            "version = 1\n[fabricated]\ntemperature = 0.1\n[fabricated.signals.b]\nedges = []\nlog_odds = [1.0]\n";
        let both = base.clone().overlaid_with(Calibration::parse("y.toml", over).unwrap()).fabricated;
        assert_eq!(both.log_odds("unsupported", 9.0), base.fabricated.log_odds("unsupported", 9.0));
        assert_eq!(both.log_odds("b", 9.0), Some(0.1));
        assert_eq!((both.prior, both.flag_from), (Some(0.4), Some(0.3)));
        assert_eq!(base.clone().overlaid_with(Calibration::default()).fabricated, base.fabricated);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_name() {
        for (text, expected) in [
            ("version = 2\n", "x.toml: version 2 is not 1"),
            ("version = 1\n[fabricated]\npriors = 0.1\n", "x.toml:3: unknown field `priors`"),
            ("version = 1\n[leaking]\nprior = 1.5\n", "x.toml: [leaking] prior must lie between 0 and 1"),
            ("version = 1\n[leaking]\nprior = nan\n", "x.toml: [leaking] prior must lie"),
            ("version = 1\n[leaking]\nprior = 0.0\n", "x.toml: [leaking] prior must lie"),
            ("version = 1\n[leaking]\nprior = 1.0\n", "x.toml: [leaking] prior must lie"),
            ("version = 1\n[leaking.stream_priors]\nm = 1.0\n", "x.toml: [leaking] stream_priors.m must lie"),
            ("version = 1\n[degraded.signals.a]\nedges = [1.0]\nlog_odds = [1.0]\n", "signals.a: log_odds must hold"),
            ("version = 1\n[degraded.signals.a]\nedges = [1.0]\nlog_odds = [1.0, 0.0]\n", "the way that direction"),
            ("version = 1\n[degraded.signals.a]\nedges = [2.0, 1.0]\nlog_odds = [0.0, 1.0, 2.0]\n", "must ascend"),
            ("version = 1\n[degraded.signals.a]\nedges = [inf]\nlog_odds = [0.0, 1.0]\n", "finite"),
            ("version = 1\n[degraded.signals.a]\nedges = []\nlog_odds = [0.0]\nweight = -1.0\n", "weight"),
            ("nonsense", "x.toml:1:"),
        ] {
            let error = Calibration::parse("x.toml", text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_built_in_calibration_can_be_used() {
        assert_eq!(Calibration::parse("x.toml", BUILT_IN), Ok(Calibration::built_in()));
    }

    proptest! {
        #[test]
        fn a_file_is_read_back_as_it_was_written(prior in 1e-6..1.0f64, weight in 0.0..9.0f64, edge in -1e9..1e9f64) {
            let mut calibration = Calibration::parse("x.toml", FILE).unwrap();
            calibration.attacked.prior = Some(prior);
            let table = SignalTable { direction: Direction::Falling, edges: vec![edge], log_odds: vec![1.0, -1.0], weight };
            calibration.attacked.signals.insert("a b.c".to_owned(), table);
            prop_assert_eq!(Calibration::parse("x.toml", &calibration.to_toml().unwrap()), Ok(calibration));
        }
    }
}
