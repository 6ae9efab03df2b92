//! Why a signal of the history fired: numbers here, words once the record is at hand.
//!
//! The ordered stage knows fields by their position and hash only. [`Reason::describe`] is called where the record is,
//! with a function that knows the names.

/// One level of a stream that is charted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chart {
    /// Latency of a model or execution time of a tool, in milliseconds.
    Latency,
    /// Tokens per second of a model.
    TokensPerSecond,
    /// Length of a tool's answer, in code points of its JSON text.
    Size,
    /// A numeric field of a tool's answer, by its position among the answer's fields.
    Field(u32),
    /// Distance of a model's answer from the usual fingerprint.
    Style,
}

impl Chart {
    /// The name of what is charted; `names` knows those of fields.
    pub fn name(self, names: &dyn Fn(u32) -> String) -> String {
        match self {
            Chart::Latency => "latency_ms".to_owned(),
            Chart::TokensPerSecond => "tokens_per_second".to_owned(),
            Chart::Size => "result_length".to_owned(),
            Chart::Field(index) => names(index),
            Chart::Style => "fingerprint_distance".to_owned(),
        }
    }
}

/// Why a signal fired.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// A value far from the level of its chart, or of its last values.
    Far {
        /// What is charted.
        chart: Chart,
        /// Its value.
        value: f64,
        /// The usual level, in the same unit.
        level: f64,
        /// How far, in sigmas of the chart's scale; negative below.
        sigmas: f64,
        /// How many last values the level rests on; `None` for the whole stream.
        last: Option<u32>,
    },
    /// Several of the last points lie on one side.
    Side {
        /// What is charted.
        chart: Chart,
        /// How many points.
        points: u32,
        /// Of how many.
        of: u32,
        /// Further from the mean than this, in sigmas.
        sigmas: f64,
        /// Whether they lie above the mean.
        above: bool,
    },
    /// Fields that nearly every earlier result had are missing.
    Missing {
        /// How many fields.
        fields: u32,
        /// How many earlier results there are.
        results: u64,
    },
    /// Far away from all recent results of the session.
    Session {
        /// Position of the field.
        field: u32,
        /// Its value.
        value: f64,
        /// The earlier value that it is compared with.
        earlier: f64,
        /// How many results were compared.
        results: u32,
    },
    /// Far away from what the same arguments gave.
    Arguments {
        /// Position of the field.
        field: u32,
        /// Its value.
        value: f64,
        /// The median, or the earlier value that it is compared with.
        earlier: f64,
        /// How many results were compared.
        results: u32,
    },
    /// A name answered that is new for the name that was asked for.
    NewVersion {
        /// How many answered before.
        earlier: u32,
    },
    /// Style and pace of an answer are unusual at once, in sigmas.
    Behaviour {
        /// Of the style.
        style: f64,
        /// Of latency or speed, whichever is further.
        pace: f64,
    },
    /// The same call gave the same result before.
    Repeated {
        /// How often, this time included.
        times: u32,
    },
    /// Calls go round in circles.
    Loop {
        /// Calls in a round.
        calls: u32,
        /// Rounds.
        times: u32,
    },
    /// A flow that must not be.
    Flow {
        /// Its place in the configuration, from 1.
        number: u32,
    },
    /// What several turns of a conversation show together.
    Turns(super::turns::Pattern),
    /// The stream has shown a clock finer than a millisecond, so that the time can be taken at its word.
    FineClock {
        /// The time, in milliseconds.
        ms: f64,
    },
    /// The tool's own past shows that it takes time.
    FasterThanIo {
        /// The time, in milliseconds.
        ms: f64,
    },
}

impl Reason {
    /// What, how far, and against what, as a clause; `names` knows the names of fields.
    pub fn describe(&self, names: &dyn Fn(u32) -> String) -> String {
        match *self {
            Reason::Far { chart, value, level, sigmas, last } => {
                let (name, value, level) = (chart.name(names), plain(value), plain(level));
                let side = if sigmas < 0.0 { "below" } else { "above" };
                let sigmas = sigmas.abs();
                match last {
                    None => format!("{name} {value} is {sigmas:.1} sigma {side} the stream's mean {level}"),
                    Some(last) => {
                        format!("{name} {value} is {sigmas:.1} sigma {side} the mean {level} of its last {last} values")
                    }
                }
            }
            Reason::NewVersion { earlier } => {
                let others = if earlier == 1 { "another one" } else { "others" };
                format!("the name that was asked for is answered by a new model or version; {others} did before")
            }
            Reason::Behaviour { style, pace } => {
                format!("style ({style:.1} sigma) and pace ({pace:.1} sigma) are unlike the model's")
            }
            Reason::Turns(pattern) => pattern.describe().to_owned(),
            Reason::Repeated { times } => {
                format!("the same call has given the same result {times} times in this session")
            }
            Reason::Loop { calls, times } => format!("a sequence of {calls} calls has come {times} times in a row"),
            Reason::Flow { number } => {
                format!(
                    "an earlier tool of this session begins flow {number} of the configuration, which this one ends"
                )
            }
            Reason::Side { chart, points, of, sigmas, above } => {
                let name = chart.name(names);
                let side = if above { "above" } else { "below" };
                if points == of {
                    format!("the last {of} values of {name} are {side} the stream's mean")
                } else {
                    format!(
                        "{points} of the last {of} values of {name} are more than {sigmas:.1} sigma {side} the stream's mean"
                    )
                }
            }
            Reason::Missing { fields: 1, results } => {
                format!("a field is missing that nearly all of {results} earlier results had")
            }
            Reason::Missing { fields, results } => {
                format!("{fields} fields are missing that nearly all of {results} earlier results had")
            }
            Reason::Session { field, value, earlier, results } => format!(
                "{} {} against {}, the closest of the last {results} results in the session",
                names(field),
                plain(value),
                plain(earlier)
            ),
            Reason::Arguments { field, value, earlier, results } => format!(
                "{} {} against a median of {} in the last {results} calls with the same arguments",
                names(field),
                plain(value),
                plain(earlier)
            ),
            Reason::FasterThanIo { ms } => {
                format!("{} ms is less than any real I/O takes, and the tool's calls usually take time", plain(ms))
            }
            Reason::FineClock { ms } => {
                format!("{} ms is less than any real I/O takes, on a clock finer than a millisecond", plain(ms))
            }
        }
    }
}

/// A number as people write it: whole numbers whole, others to four significant digits.
fn plain(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 && size < 1e15 {
        return format!("{value:.0}");
    }
    if !(1e-4..1e15).contains(&size) {
        return format!("{value:.3e}");
    }
    let decimals = (3 - size.log10().floor() as i32).clamp(1, 7) as usize;
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reason: Reason, expected: &str) {
        assert_eq!(reason.describe(&|_| "price".to_owned()), expected);
    }

    #[test]
    fn details_say_what_how_far_and_against_what() {
        let far = Reason::Far { chart: Chart::Latency, value: 3500.0, level: 353.5875, sigmas: 9.24, last: None };
        check(far, "latency_ms 3500 is 9.2 sigma above the stream's mean 353.6");
        let far = Reason::Far { chart: Chart::Field(0), value: 0.5, level: 120.0, sigmas: -4.0, last: Some(100) };
        check(far, "price 0.5 is 4.0 sigma below the mean 120 of its last 100 values");
        let arguments = Reason::Arguments { field: 0, value: 50.0, earlier: 650.0, results: 50 };
        check(arguments, "price 50 against a median of 650 in the last 50 calls with the same arguments");
        let run = Reason::Side { chart: Chart::Size, points: 9, of: 9, sigmas: 0.0, above: false };
        check(run, "the last 9 values of result_length are below the stream's mean");
    }

    #[test]
    fn numbers_as_people_write_them() {
        for (value, expected) in [
            (0.0, "0"),
            (650.0, "650"),
            (353.5875, "353.6"),
            (-0.25, "-0.25"),
            (0.001234567, "0.001235"),
            (123_456.78, "123456.8"),
            (1e-9, "1.000e-9"),
            (1e300, "1.000e300"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(plain(value), expected);
        }
    }
}
