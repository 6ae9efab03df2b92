//! Times whose unit cannot be right: medians that no service has, and a first token after the last.
//!
//! **Formula**: the median latency of a model lies outside of [`USUAL_MS`], or more than half of its calls have their first
//! token after their end, or a latency without a unit beside numbers of nanoseconds or microseconds. The unit that would
//! fit is the one in which the median lies where most services answer ([`COMMON_MS`]), else where any does ([`USUAL_MS`]).
//!
//! **Source**: ours; no hosted model answers in 20 ms, and none is waited for longer than an hour.
//!
//! **Limits**: a cache or a mock may answer that fast. Nothing is changed, the doubt is named.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::Serialize;

use super::table::{decimal, grouped};

/// Medians of models that answer.
pub const USUAL_MS: RangeInclusive<f64> = 20.0..=3_600_000.0;
/// Where most of them lie.
pub const COMMON_MS: RangeInclusive<f64> = 100.0..=120_000.0;
/// No first token comes earlier.
const FIRST_MS_MIN: f64 = 5.0;
/// Fewer calls have no median worth a doubt.
pub const CALLS_MIN: u64 = 3;

/// Units that a number may be in which was taken for milliseconds: symbol, name, milliseconds in one.
const UNITS: [(&str, &str, f64); 3] =
    [("s", "seconds", 1e3), ("us", "microseconds", 1e-3), ("ns", "nanoseconds", 1e-6)];

/// What is measured of one model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    /// Calls with a latency.
    pub timed: u64,
    /// The median latency.
    pub latency_ms: Option<f64>,
    /// The median time to the first token.
    pub ttft_ms: Option<f64>,
    /// Calls with both times.
    pub with_first_token: u64,
    /// Those whose first token comes after their end.
    pub first_token_late: u64,
    /// Calls whose latency has no unit and stands beside numbers of nanoseconds or microseconds.
    pub unit_doubtful: u64,
}

/// A doubt about the times of one model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimeDoubt {
    /// The model; null when the log does not name it.
    pub stream: Option<String>,
    /// `latency_ms` or `ttft_ms`: which time.
    pub field: &'static str,
    /// Its median, taken for milliseconds.
    pub median_ms: f64,
    /// Calls that speak for the doubt.
    pub calls: u64,
    /// The unit that would fit, as `--map` takes it; null when none does.
    pub fits: Option<&'static str>,
    /// The doubt in a sentence without a full stop.
    pub message: String,
}

/// The doubts about one model.
pub(super) fn doubts(stream: Option<&str>, of: &Measured) -> Vec<TimeDoubt> {
    let mut doubts = Vec::new();
    let doubt = |field, median_ms, calls, found: String, unit: Option<(&'static str, &str)>| {
        let hint = unit.map_or_else(
            || "no unit would fit".to_owned(),
            |(symbol, name)| format!("{name} would fit (--map {field}=/POINTER:{symbol})"),
        );
        let stream = stream.map(str::to_owned);
        TimeDoubt {
            stream,
            field,
            median_ms,
            calls,
            fits: unit.map(|(symbol, _)| symbol),
            message: format!("{found}; {hint}"),
        }
    };
    let Some(latency_ms) = of.latency_ms else { return doubts };
    let is_late = of.with_first_token >= CALLS_MIN && of.first_token_late * 2 > of.with_first_token;
    if let Some(ttft_ms) = of.ttft_ms.filter(|_| is_late) {
        let found = format!(
            "the first token comes after the end in {} of {} calls (medians {} and {} ms)",
            grouped(of.first_token_late),
            grouped(of.with_first_token),
            decimal(ttft_ms),
            decimal(latency_ms)
        );
        // Whichever of the two has a unit in which both make sense, a common latency before a rare one.
        let of_latency = |range: &RangeInclusive<f64>| {
            UNITS.into_iter().find(|(_, _, ms)| {
                let latency_ms = latency_ms * ms;
                *ms > 1.0 && latency_ms >= ttft_ms && range.contains(&latency_ms)
            })
        };
        let of_first =
            UNITS.into_iter().find(|(_, _, ms)| *ms < 1.0 && (FIRST_MS_MIN..=latency_ms).contains(&(ttft_ms * ms)));
        // Times that lie close together differ by their clocks, not by their units.
        let is_far = ttft_ms >= latency_ms * 2.0;
        let rare = || of_latency(&USUAL_MS).filter(|_| is_far && of_first.is_none());
        let of_latency = of_latency(&COMMON_MS).or_else(rare);
        doubts.push(match (of_latency, of_first) {
            (Some((symbol, name, _)), _) => {
                doubt("latency_ms", latency_ms, of.first_token_late, found, Some((symbol, name)))
            }
            (None, fits) => {
                let unit = fits.map(|(symbol, name, _)| (symbol, name));
                doubt("ttft_ms", ttft_ms, of.first_token_late, found, unit)
            }
        });
    }
    let is_named = doubts.iter().any(|doubt| doubt.field == "latency_ms");
    if of.timed >= CALLS_MIN && !is_named && !USUAL_MS.contains(&latency_ms) {
        let side = if latency_ms < *USUAL_MS.start() { "below 20 ms" } else { "above an hour" };
        let found = format!("the median latency of {} calls is {} ms, {side}", grouped(of.timed), decimal(latency_ms));
        doubts.push(doubt("latency_ms", latency_ms, of.timed, found, fitting(latency_ms)));
    }
    let is_named = doubts.iter().any(|doubt| doubt.field == "latency_ms");
    let is_beside = of.unit_doubtful >= CALLS_MIN && of.unit_doubtful * 2 > of.timed;
    if is_beside && !is_named && !COMMON_MS.contains(&latency_ms) {
        let found = format!(
            "the latency of {} calls has no unit and stands beside numbers of nanoseconds or microseconds, the median is {} ms",
            grouped(of.unit_doubtful),
            decimal(latency_ms)
        );
        let finer = UNITS[1..].iter().find(|(_, _, ms)| COMMON_MS.contains(&(latency_ms * ms)));
        doubts.push(doubt(
            "latency_ms",
            latency_ms,
            of.unit_doubtful,
            found,
            finer.map(|(symbol, name, _)| (*symbol, *name)),
        ));
    }
    doubts
}

/// The unit in which a time is one that services have.
fn fitting(time: f64) -> Option<(&'static str, &'static str)> {
    let within = |range: &RangeInclusive<f64>| UNITS.into_iter().find(|(_, _, ms)| range.contains(&(time * ms)));
    within(&COMMON_MS).or_else(|| within(&USUAL_MS)).map(|(symbol, name, _)| (symbol, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(measured: Measured, expected: &[(&str, Option<&str>)]) {
        let found = doubts(Some("m"), &measured);
        let found: Vec<(&str, Option<&str>)> = found.iter().map(|doubt| (doubt.field, doubt.fits)).collect();
        assert_eq!(found, expected, "{measured:?}");
    }

    #[test]
    fn medians_that_no_service_has_are_named_with_the_unit_that_fits() {
        let median = |ms| Measured { timed: 10, latency_ms: Some(ms), ..Measured::default() };
        check(median(850.0), &[]);
        check(median(20.0), &[]);
        check(median(3_600_000.0), &[]);
        check(median(1.2), &[("latency_ms", Some("s"))]);
        check(median(0.85), &[("latency_ms", Some("s"))]);
        check(median(812_345_678.0), &[("latency_ms", Some("ns"))]);
        check(median(45_000_000.0), &[("latency_ms", Some("us"))]);
        check(median(1e-9), &[("latency_ms", None)]);
        check(Measured { timed: 2, ..median(1.2) }, &[]);
        assert!(doubts(None, &median(1.2))[0].message.ends_with("seconds would fit (--map latency_ms=/POINTER:s)"));
    }

    #[test]
    fn a_bare_latency_beside_nanoseconds_is_named() {
        let beside =
            |ms, calls| Measured { timed: 10, latency_ms: Some(ms), unit_doubtful: calls, ..Measured::default() };
        check(beside(850_000.0, 5), &[]);
        check(beside(850_000.0, 6), &[("latency_ms", Some("us"))]);
        check(beside(850.0, 10), &[]);
        check(beside(125_000.0, 10), &[("latency_ms", Some("us"))]);
        check(beside(812_345_678.0, 10), &[("latency_ms", Some("ns"))]);
    }

    #[test]
    fn a_first_token_after_the_end_is_named() {
        let times = |ttft, latency, late| Measured {
            timed: 10,
            latency_ms: Some(latency),
            ttft_ms: Some(ttft),
            with_first_token: 10,
            first_token_late: late,
            unit_doubtful: 0,
        };
        check(times(300.0, 1_200.0, 0), &[]);
        check(times(300.0, 1_200.0, 5), &[]);
        check(times(300.0, 1.2, 10), &[("latency_ms", Some("s"))]);
        check(times(900.0, 300.0, 10), &[("latency_ms", Some("s"))]);
        check(times(300_000.0, 1_200.0, 10), &[("ttft_ms", Some("us"))]);
        check(times(300_000_000.0, 1_200.0, 10), &[("ttft_ms", Some("ns"))]);
        check(times(1_300.0, 1_200.0, 10), &[("ttft_ms", None)]);
    }
}
