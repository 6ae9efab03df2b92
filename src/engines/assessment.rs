//! What an engine answers: a status, a value, details, signals for the verdict, and findings in the text.

use std::{borrow::Cow, ops::Range};

use serde::Serialize;

use super::{grounding::Grounding, row::Turn};
pub use crate::rules::Severity;
use crate::stats::log_odds::Evidence;

/// One of the four questions that every record is asked. Each is answered by a probability.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Is the content made up?
    Fabricated,
    /// Does the input try to subvert the model?
    Attacked,
    /// Does the output give away what it must not?
    Leaking,
    /// Is the service unwell?
    Degraded,
}

impl Question {
    /// All questions, in the order of reports.
    pub const ALL: [Question; 4] = [Question::Fabricated, Question::Attacked, Question::Leaking, Question::Degraded];

    /// The name in reports and in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Question::Fabricated => "fabricated",
            Question::Attacked => "attacked",
            Question::Leaking => "leaking",
            Question::Degraded => "degraded",
        }
    }
}

/// When a signal is computed: tier 0 from the record alone, tier 1 from what came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema)]
pub enum Tier {
    /// From the record alone, before anything else is looked at.
    #[serde(rename = "TIER_0")]
    Zero,
    /// From the history of the stream.
    #[serde(rename = "TIER_1")]
    One,
}

/// What follows from a signal alone, when it fired.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Nothing: it speaks for an answer, with others.
    #[default]
    Evidence,
    /// A fault that is plain from the record, and no guess about its content: it flags.
    Fact,
    /// It settles the question: it blocks.
    Proof,
}

impl Class {
    /// A proof where `is_proven`, else evidence.
    pub fn proven_if(is_proven: bool) -> Class {
        if is_proven { Class::Proof } else { Class::Evidence }
    }
}

/// What a fault that is plain from the record counts as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It flags by itself.
    #[default]
    Fact,
    /// It is weighed with the rest.
    Evidence,
    /// Nothing; it is not looked for.
    Off,
}

/// The least likelihood ratio of a fact, so that the posterior agrees with what it decides.
pub const FACT_RATIO_MIN: f64 = 20.0;

impl Effect {
    /// `signal` as it counts.
    pub fn of(self, signal: Signal) -> Option<Signal> {
        match self {
            Effect::Fact => {
                let likelihood_ratio = signal.likelihood_ratio.max(FACT_RATIO_MIN);
                let score = if signal.fired { 1.0 } else { signal.score };
                Some(Signal { class: Class::Fact, likelihood_ratio, score, ..signal })
            }
            Effect::Evidence => Some(signal),
            Effect::Off => None,
        }
    }
}

/// Where a likelihood ratio comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RatioSource {
    /// Stated by the specification.
    Seed,
    /// Ours, modest until it is fitted on labelled data.
    Default,
    /// Set in the configuration.
    Config,
    /// Fitted on labelled data; what was measured decides, not score and ratio.
    Fitted,
}

/// One piece of evidence for or against one question.
///
/// A signal in the list was applicable; one that could not be computed is not in the list at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// The name in reports, `snake_case`.
    pub id: &'static str,
    /// The question that it bears on.
    pub question: Question,
    /// When it is computed.
    pub tier: Tier,
    /// Whether it fired.
    pub fired: bool,
    /// Strength in [0, 1]; what the engine measured even when it did not fire.
    pub score: f64,
    /// P(fires | yes) / P(fires | no), at full score.
    pub likelihood_ratio: f64,
    /// Where the ratio comes from.
    pub ratio_source: RatioSource,
    /// What was measured, on the signal's own scale, for a calibration to go by; the score where there is no other.
    pub measured: Option<f64>,
    /// What a calibration says that it adds to the log odds, in nats, in the place of score and ratio.
    pub fitted_log_odds: Option<f64>,
    /// What follows from it alone.
    pub class: Class,
    /// Whether what it found did no harm (an attack that the model refused): its question is flagged at most.
    pub contained: bool,
    /// Whether the configuration states what follows from it, so that no ceiling of its question holds that back.
    pub is_stated: bool,
    /// Why it fired, as a clause without a full stop; empty when it did not.
    pub detail: Cow<'static, str>,
}

impl Signal {
    /// A signal that was looked for and not found.
    pub fn absent(id: &'static str, question: Question, tier: Tier, ratio: (f64, RatioSource)) -> Signal {
        let (likelihood_ratio, ratio_source) = ratio;
        Signal {
            id,
            question,
            tier,
            fired: false,
            score: 0.0,
            likelihood_ratio,
            ratio_source,
            measured: None,
            fitted_log_odds: None,
            class: Class::Evidence,
            contained: false,
            is_stated: false,
            detail: Cow::Borrowed(""),
        }
    }

    /// The same signal, fired with `score` because of `detail`.
    pub fn fire(mut self, score: f64, detail: impl Into<Cow<'static, str>>) -> Signal {
        self.fired = true;
        self.score = score;
        self.detail = detail.into();
        self
    }
}

impl Signal {
    /// The signal as the combiner sees it.
    pub fn evidence(&self) -> Evidence {
        Evidence {
            fired: self.fired,
            score: self.score,
            likelihood_ratio: self.likelihood_ratio,
            // Most faults are rare: that one is absent says next to nothing of the others.
            absence_counts: self.tier == Tier::Zero && self.class != Class::Fact,
            fitted_log_odds: self.fitted_log_odds,
        }
    }
}

impl RatioSource {
    /// `usual` when a ratio is the built-in one, else [`RatioSource::Config`].
    pub fn of(ratio: f64, built_in: f64, usual: RatioSource) -> RatioSource {
        if ratio == built_in { usual } else { RatioSource::Config }
    }

    /// The ratio that a setting asks for, and where it comes from; the built-in default when the setting is no ratio.
    pub fn default_or_config(set: f64, built_in: f64) -> (f64, RatioSource) {
        let ratio = if set.is_finite() && set >= 0.0 { set } else { built_in };
        (ratio, RatioSource::of(ratio, built_in, RatioSource::Default))
    }
}

/// How an engine's value is to be read.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// Nothing unusual.
    Ok,
    /// Beyond the first cut.
    Warn,
    /// Beyond the second cut.
    Error,
    /// The engine had nothing to go on; neither a pass nor a zero.
    NotAssessed(&'static str),
}

impl Status {
    /// The name in reports: `ok`, `warn`, `error` or `not_assessed`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Error => "error",
            Status::NotAssessed(_) => "not_assessed",
        }
    }

    /// `ok` below `warn`, `warn` below `error`, else `error`.
    pub fn from_cuts(value: f64, warn: f64, error: f64) -> Status {
        if value < warn {
            Status::Ok
        } else if value < error {
            Status::Warn
        } else {
            Status::Error
        }
    }
}

/// One named detail of an assessment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Detail {
    /// A measured number; not finite is written as null.
    Number(f64),
    /// A count.
    Count(u64),
    /// Yes or no.
    Flag(bool),
    /// One of a fixed set of names.
    Label(&'static str),
    /// Names out of a fixed set, in order.
    Labels(Vec<&'static str>),
    /// Free text that must already be safe to show (no raw text of the record).
    Text(String),
}

/// Something in the text: which rule, where, how bad. The excerpt is cut, and redacted, when the finding is reported.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// `family/name`.
    pub rule: Cow<'static, str>,
    /// How bad it is.
    pub severity: Severity,
    /// JSON pointer into the normal form of the record: `/response`, `/prompt/2/text`.
    pub field: Cow<'static, str>,
    /// UTF-8 byte range in that field.
    pub span: Range<usize>,
    /// What else is to be said of it, safe to show: by which chain it was decoded, that it is an example; often empty.
    pub detail: Cow<'static, str>,
}

impl Finding {
    /// A finding of which nothing else is to be said.
    pub fn new(
        rule: impl Into<Cow<'static, str>>,
        severity: Severity,
        field: impl Into<Cow<'static, str>>,
        span: Range<usize>,
    ) -> Finding {
        Finding { rule: rule.into(), severity, field: field.into(), span, detail: Cow::Borrowed("") }
    }
}

/// What an engine says of one record.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// How the value is to be read.
    pub status: Status,
    /// The engine's number, if it has one; its range is in the engine's [`About`](super::About).
    pub value: Option<f64>,
    /// Named details, in a fixed order.
    pub details: Vec<(&'static str, Detail)>,
    /// Evidence for the verdict.
    pub signals: Vec<Signal>,
    /// Places in the text.
    pub findings: Vec<Finding>,
    /// What the ordered stage is to know of what the user said.
    pub turns: Vec<Turn>,
    /// The claims of the answer against its sources, from the engine that judges them.
    pub grounding: Option<Box<Grounding>>,
}

impl Assessment {
    /// An assessment with a status and a value and nothing else.
    #[inline]
    pub fn new(status: Status, value: f64) -> Assessment {
        /// Details that most engines have room for.
        const DETAILS_USUAL: usize = 6;
        let details = Vec::with_capacity(DETAILS_USUAL);
        Assessment {
            status,
            value: Some(value),
            details,
            signals: Vec::new(),
            findings: Vec::new(),
            turns: Vec::new(),
            grounding: None,
        }
    }

    /// The engine had nothing to go on.
    pub fn not_assessed(reason: &'static str) -> Assessment {
        Assessment {
            status: Status::NotAssessed(reason),
            value: None,
            details: Vec::new(),
            signals: Vec::new(),
            findings: Vec::new(),
            turns: Vec::new(),
            grounding: None,
        }
    }

    /// Whether it bears on texts alone, and found nothing.
    pub fn is_of_text(&self) -> bool {
        let found = self.signals.iter().any(|signal| signal.fired || signal.question == Question::Degraded);
        !found && !self.signals.is_empty() && self.findings.is_empty()
    }

    /// Adds a detail.
    #[inline]
    pub fn with(mut self, name: &'static str, detail: Detail) -> Assessment {
        self.details.push((name, detail));
        self
    }

    /// Adds a signal, if there is one.
    #[inline]
    pub fn signal(mut self, signal: impl Into<Option<Signal>>) -> Assessment {
        if let Some(signal) = signal.into() {
            // Most engines give one, and a growing list would make room for four.
            self.signals.reserve_exact(1);
            self.signals.push(signal);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_from_the_configuration_is_taken_as_it_stands() {
        let of = RatioSource::default_or_config;
        assert_eq!(of(1.2, 1.2), (1.2, RatioSource::Default));
        assert_eq!(of(7.0, 1.2), (7.0, RatioSource::Config));
        assert_eq!(of(f64::NAN, 1.2), (1.2, RatioSource::Default));
        assert_eq!(of(-1.0, 1.2), (1.2, RatioSource::Default));
    }
}
