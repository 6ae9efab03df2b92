//! What a check expects of many records together: `error_rate < 2%`, `p95_latency_ms < 5000`, `mean_trust > 0.8`.
//!
//! **Grammar**: `MEASURE OP NUMBER`; OP is `<`, `<=`, `>` or `>=`; a rate may be written as a percentage, a time in `ms` or `s`.
//!
//! | measure | what it is |
//! |---|---|
//! | `error_rate`, `flag_rate`, `block_rate` | share of records that failed, are flagged or blocked, are blocked |
//! | `fabricated_rate`, `attacked_rate`, `leaking_rate`, `degraded_rate` | share flagged or blocked on that question, of those assessed |
//! | `SIGNAL_rate`, `rate(SIGNAL)` | share on which a signal, or a check, fired, of those on which it was looked for |
//! | `pN_QUANTITY` | the N-th percentile |
//! | `mean_QUANTITY`, `total_QUANTITY` | mean, sum |
//! | `records` | how many there are |

use crate::{engines::Question, text::nearest::nearest};

/// A number of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Latency of the call, or execution time of the tool.
    LatencyMs,
    /// Time to the first token.
    TtftMs,
    /// Response tokens per second.
    TokensPerSecond,
    /// Tokens in the prompt.
    PromptTokens,
    /// Tokens in the response.
    ResponseTokens,
    /// What the tokens cost.
    Cost,
    /// Share of the claims that the documents bear out.
    Trust,
    /// The health score.
    Health,
    /// Words in the response.
    Words,
}

impl Quantity {
    /// All quantities, by name.
    pub const ALL: [(&'static str, Quantity); 9] = [
        ("latency_ms", Quantity::LatencyMs),
        ("ttft_ms", Quantity::TtftMs),
        ("tokens_per_second", Quantity::TokensPerSecond),
        ("prompt_tokens", Quantity::PromptTokens),
        ("response_tokens", Quantity::ResponseTokens),
        ("cost", Quantity::Cost),
        ("trust", Quantity::Trust),
        ("health", Quantity::Health),
        ("words", Quantity::Words),
    ];

    fn is_time(self) -> bool {
        matches!(self, Quantity::LatencyMs | Quantity::TtftMs)
    }
}

/// What a share is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Share {
    /// Records that ended with an error.
    Error,
    /// Records that are flagged or blocked.
    Flagged,
    /// Records that are blocked.
    Blocked,
    /// Records that are flagged or blocked on a question, of those assessed.
    Question(Question),
    /// Records on which a signal fired, of those on which it was looked for.
    Signal(String),
}

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// A share of records.
    Rate(Share),
    /// A quantile: the share of records below it, in (0, 1).
    Quantile(f64, Quantity),
    /// A mean.
    Mean(Quantity),
    /// A sum.
    Total(Quantity),
    /// How many records there are.
    Records,
}

/// How what is measured must stand to the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Below it.
    Less,
    /// At most it.
    AtMost,
    /// Above it.
    Greater,
    /// At least it.
    AtLeast,
}

impl Op {
    /// Longer ones first, as they begin with shorter ones.
    const ALL: [(&'static str, Op); 4] = [("<=", Op::AtMost), (">=", Op::AtLeast), ("<", Op::Less), (">", Op::Greater)];

    /// Whether `value` is as it must be.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Op::Less => value < limit,
            Op::AtMost => value <= limit,
            Op::Greater => value > limit,
            Op::AtLeast => value >= limit,
        }
    }

    /// Whether small values are wanted.
    pub fn is_upper(self) -> bool {
        matches!(self, Op::Less | Op::AtMost)
    }
}

/// One expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// As the user wrote it, with single blanks.
    pub text: String,
    /// What is measured.
    pub measure: Measure,
    /// How it must stand to the limit.
    pub op: Op,
    /// The limit; shares in [0, 1], times in milliseconds.
    pub limit: f64,
}

/// Names of measures, for suggestions and the documentation.
const EXAMPLES: [&str; 18] = [
    "error_rate",
    "flag_rate",
    "block_rate",
    "fabricated_rate",
    "attacked_rate",
    "leaking_rate",
    "degraded_rate",
    "refusal_rate",
    "truncation_rate",
    "p50_latency_ms",
    "p95_latency_ms",
    "p99_latency_ms",
    "p95_ttft_ms",
    "mean_trust",
    "mean_latency_ms",
    "mean_cost",
    "total_cost",
    "records",
];

impl Expectation {
    /// Reads `text`; `signals` are the names that a share may be of.
    ///
    /// # Errors
    /// Says what is wrong and what was probably meant.
    pub fn parse(text: &str, signals: &[&str]) -> Result<Expectation, String> {
        let form = || format!("`{text}` is no expectation; write one such as `error_rate < 2%`");
        let at = text.find(['<', '>']).ok_or_else(form)?;
        let (name, rest) = (text[..at].trim(), &text[at..]);
        let (sign, op) = Op::ALL.into_iter().find(|(sign, _)| rest.starts_with(sign)).ok_or_else(form)?;
        let measure = Measure::parse(name, signals)?;
        let number = rest[sign.len()..].trim();
        let limit = limit(number, &measure)?;
        Ok(Expectation { text: format!("{name} {sign} {number}"), measure, op, limit })
    }
}

impl Measure {
    /// Whether it is of what calls cost.
    pub fn is_cost(&self) -> bool {
        matches!(
            self,
            Measure::Quantile(_, Quantity::Cost) | Measure::Mean(Quantity::Cost) | Measure::Total(Quantity::Cost)
        )
    }

    /// Whether it is counted, and not estimated from a sample.
    pub fn is_exact(&self) -> bool {
        matches!(self, Measure::Total(_) | Measure::Records)
    }

    fn parse(name: &str, signals: &[&str]) -> Result<Measure, String> {
        if name == "records" {
            return Ok(Measure::Records);
        }
        if let Some(of) = name.strip_prefix("rate(").and_then(|rest| rest.strip_suffix(')')) {
            return signal(of.trim(), signals);
        }
        if let Some(of) = name.strip_suffix("_rate") {
            let question = Question::ALL.into_iter().find(|question| question.as_str() == of);
            return match (of, question) {
                ("error", _) => Ok(Measure::Rate(Share::Error)),
                ("flag", _) => Ok(Measure::Rate(Share::Flagged)),
                ("block", _) => Ok(Measure::Rate(Share::Blocked)),
                (_, Some(question)) => Ok(Measure::Rate(Share::Question(question))),
                _ if signals.contains(&of) => Ok(Measure::Rate(Share::Signal(of.to_owned()))),
                _ => Err(unknown(name)),
            };
        }
        let of = |prefix: &str| name.strip_prefix(prefix).and_then(quantity);
        if let Some(quantity) = of("mean_") {
            return Ok(Measure::Mean(quantity));
        }
        if let Some(quantity) = of("total_") {
            return Ok(Measure::Total(quantity));
        }
        let percentile = name.strip_prefix('p').and_then(|rest| rest.split_once('_'));
        if let Some((percent, quantity)) = percentile.and_then(|(percent, of)| Some((percent, quantity(of)?))) {
            let percent: f64 = percent.parse().map_err(|_| unknown(name))?;
            if !(percent > 0.0 && percent < 100.0) {
                return Err(format!("`{name}`: a percentile lies between 0 and 100"));
            }
            return Ok(Measure::Quantile(percent / 100.0, quantity));
        }
        Err(unknown(name))
    }
}

fn quantity(name: &str) -> Option<Quantity> {
    Quantity::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, quantity)| quantity)
}

fn signal(name: &str, signals: &[&str]) -> Result<Measure, String> {
    if signals.contains(&name) {
        return Ok(Measure::Rate(Share::Signal(name.to_owned())));
    }
    let meant = nearest(name, signals).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Err(format!("there is no signal `{name}`{meant}"))
}

fn unknown(name: &str) -> String {
    match nearest(name, &EXAMPLES) {
        Some(near) => format!("there is no measure `{name}`; did you mean `{near}`?"),
        None => format!("there is no measure `{name}`; there are {}", EXAMPLES.join(", ")),
    }
}

/// Reads the limit of `measure`.
fn limit(text: &str, measure: &Measure) -> Result<f64, String> {
    let quantity = match measure {
        Measure::Quantile(_, quantity) | Measure::Mean(quantity) | Measure::Total(quantity) => Some(*quantity),
        Measure::Rate(_) | Measure::Records => None,
    };
    let is_share = matches!(measure, Measure::Rate(_)) || quantity == Some(Quantity::Trust);
    let is_time = quantity.is_some_and(Quantity::is_time);
    let units = [("%", 0.01, is_share), ("ms", 1.0, is_time), ("s", 1000.0, is_time)];
    let unit = units.into_iter().find(|(sign, ..)| text.ends_with(sign));
    let (number, scale) = match unit {
        Some((sign, _, false)) => return Err(format!("`{text}`: what is measured is not written in `{sign}`")),
        Some((sign, scale, true)) => (text[..text.len() - sign.len()].trim_end(), scale),
        None => (text, 1.0),
    };
    let value: f64 = number.replace('_', "").parse().map_err(|_| format!("`{text}` is no number"))?;
    let value = if scale < 1.0 { value / 100.0 } else { value * scale };
    if !value.is_finite() || value < 0.0 {
        return Err(format!("`{text}` is no limit: it must be a number that is not negative"));
    }
    if is_share && value > 1.0 {
        return Err(format!("`{text}`: a share lies between 0 and 1; five percent is 0.05 or 5%"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, measure: Measure, op: Op, limit: f64) {
        let expected = Expectation { text: text.to_owned(), measure, op, limit };
        assert_eq!(Expectation::parse(text, &["refusal", "check/x"]), Ok(expected));
    }

    #[test]
    fn what_can_be_expected() {
        check("error_rate < 2%", Measure::Rate(Share::Error), Op::Less, 0.02);
        check("block_rate <= 0", Measure::Rate(Share::Blocked), Op::AtMost, 0.0);
        check("leaking_rate < 0.001", Measure::Rate(Share::Question(Question::Leaking)), Op::Less, 0.001);
        check("refusal_rate < 2%", Measure::Rate(Share::Signal("refusal".into())), Op::Less, 0.02);
        check("rate(check/x) < 5%", Measure::Rate(Share::Signal("check/x".into())), Op::Less, 0.05);
        check("p95_latency_ms < 5000", Measure::Quantile(0.95, Quantity::LatencyMs), Op::Less, 5000.0);
        check("p95_latency_ms < 5 s", Measure::Quantile(0.95, Quantity::LatencyMs), Op::Less, 5000.0);
        check("p99_ttft_ms <= 800ms", Measure::Quantile(0.99, Quantity::TtftMs), Op::AtMost, 800.0);
        check("mean_trust > 0.8", Measure::Mean(Quantity::Trust), Op::Greater, 0.8);
        check("mean_trust >= 80%", Measure::Mean(Quantity::Trust), Op::AtLeast, 0.8);
        check("total_cost < 20", Measure::Total(Quantity::Cost), Op::Less, 20.0);
        check("records >= 100", Measure::Records, Op::AtLeast, 100.0);
    }

    #[test]
    fn blanks_do_not_matter() {
        let parsed = Expectation::parse("  error_rate<2 % ", &[]).unwrap();
        assert_eq!((parsed.text.as_str(), parsed.limit), ("error_rate < 2 %", 0.02));
    }

    #[test]
    fn what_cannot_is_said() {
        for (text, why) in [
            ("", "is no expectation"),
            ("error_rate", "is no expectation"),
            ("error_rate = 2%", "is no expectation"),
            ("eror_rate < 2%", "did you mean `error_rate`?"),
            ("p95_latency < 5000", "did you mean `p95_latency_ms`?"),
            ("p100_latency_ms < 5000", "between 0 and 100"),
            ("pxx_latency_ms < 5000", "there is no measure"),
            ("rate(refusl) < 1%", "did you mean `refusal`?"),
            ("error_rate < 2", "a share lies between 0 and 1"),
            ("error_rate < 200%", "a share lies between 0 and 1"),
            ("error_rate < -1%", "not negative"),
            ("error_rate < nan", "not negative"),
            ("error_rate < 2 ms", "not written in `ms`"),
            ("p95_latency_ms < 5%", "not written in `%`"),
            ("error_rate < two", "is no number"),
            ("error_rate <", "is no number"),
            ("error_rate << 2%", "is no number"),
        ] {
            let error = Expectation::parse(text, &["refusal"]).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
