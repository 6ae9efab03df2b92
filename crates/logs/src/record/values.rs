//! JSON values become times, counts and names: units are converted, numbers in strings are accepted, and what cannot
//! be used is refused with a clause that says why.
//!
//! **Formula** (times without a unit, by magnitude): below 1e11 seconds, below 1e14 milliseconds, below 1e17
//! microseconds, from 6.3e17 to 6.5e17 .NET ticks (100 ns since the year 1), else nanoseconds since 1970.
//!
//! **Limits**: a time without a zone is taken as UTC; times before 1970 are refused as numbers.

use std::{borrow::Cow, str::FromStr};

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde::{Deserialize, Serialize};

use super::json::{Json, Number};

/// Counts beyond this are no counts: floats are not exact from here on.
const MAX_COUNT: u64 = 1 << 53;

/// Milliseconds at the end of the year 9999, the last that RFC 3339 can write.
const MAX_TIMESTAMP_MS: i64 = 253_402_300_799_999;

/// .NET ticks at the beginning of 1970.
const UNIX_EPOCH_TICKS: i64 = 621_355_968_000_000_000;

/// .NET ticks in a millisecond.
const TICKS_PER_MS: i64 = 10_000;

/// .NET ticks from the year 1997 to 2060; as nanoseconds since 1970 they would all lie in 1989 and 1990.
const TICKS: std::ops::Range<f64> = 6.3e17..6.5e17;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
}

impl Unit {
    /// All units, in the order of messages.
    pub const ALL: [Unit; 4] = [Unit::Ms, Unit::S, Unit::Us, Unit::Ns];

    /// The unit's symbol: `ms`, `s`, `us` or `ns`.
    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Ms => "ms",
            Unit::S => "s",
            Unit::Us => "us",
            Unit::Ns => "ns",
        }
    }

    /// A value in this unit, in milliseconds.
    pub fn to_ms(self, value: f64) -> f64 {
        match self {
            Unit::Ms => value,
            Unit::S => value * 1e3,
            Unit::Us => value / 1e3,
            Unit::Ns => value / 1e6,
        }
    }
}

impl FromStr for Unit {
    type Err = ();

    fn from_str(symbol: &str) -> Result<Unit, ()> {
        Unit::ALL.into_iter().find(|unit| unit.as_str() == symbol).ok_or(())
    }
}

/// Why a value cannot be used: a clause that continues its name ("is negative").
pub(crate) type Refusal = Cow<'static, str>;

/// A length of time, in milliseconds: finite and not negative.
pub(crate) fn duration_ms(value: &Json<'_>, unit: Unit) -> Result<f64, Refusal> {
    let ms = unit.to_ms(number(value)?.as_f64());
    if !ms.is_finite() {
        return Err("is not finite".into());
    }
    if ms < 0.0 {
        return Err("is negative".into());
    }
    Ok(ms + 0.0)
}

/// A count: a whole number, not negative. `39`, `39.0` and `"39"` are the same count.
pub(crate) fn count(value: &Json<'_>) -> Result<u64, Refusal> {
    match number(value)?.as_integer() {
        Some(..0) => Err("is negative".into()),
        Some(count) => u64::try_from(count).ok().filter(|count| *count <= MAX_COUNT).ok_or("is too large".into()),
        None => Err("is not a whole number".into()),
    }
}

/// A share between 0 and 1.
pub(crate) fn fraction(value: &Json<'_>) -> Result<f64, Refusal> {
    let fraction = number(value)?.as_f64();
    if (0.0..=1.0).contains(&fraction) { Ok(fraction) } else { Err("is not between 0 and 1".into()) }
}

/// Yes or no; also as `0` and `1`, and as text.
pub(crate) fn flag(value: &Json<'_>) -> Result<bool, Refusal> {
    if let Json::Bool(flag) = value {
        return Ok(*flag);
    }
    if let Json::String(text) = value
        && let Some(flag) =
            [("true", true), ("false", false)].into_iter().find(|(name, _)| text.eq_ignore_ascii_case(name))
    {
        return Ok(flag.1);
    }
    match number(value).ok().and_then(Number::as_integer) {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        _ => Err(misplaced(value, "true or false")),
    }
}

/// A moment, in milliseconds since 1970.
pub(crate) fn timestamp_ms(value: &Json<'_>, unit: Option<Unit>) -> Result<i64, Refusal> {
    let ms = match value {
        Json::String(text) => match number(value) {
            Ok(number) => epoch_ms(number, unit)?,
            Err(_) => {
                written(text.trim()).map(Timestamp::as_millisecond).ok_or("is not a date and time that can be read")?
            }
        },
        Json::Number(number) => epoch_ms(*number, unit)?,
        _ => return Err(misplaced(value, "a time")),
    };
    if ms > MAX_TIMESTAMP_MS { Err("lies beyond the year 9999".into()) } else { Ok(ms) }
}

/// A moment in milliseconds since 1970, when the value is one.
pub fn moment_ms(value: &Json<'_>) -> Option<i64> {
    timestamp_ms(value, None).ok()
}

/// A moment, in nanoseconds since 1970: what a length of time is the difference of. Seconds with a fraction are good to
/// the microsecond.
pub(crate) fn moment_ns(value: &Json<'_>, unit: Option<Unit>) -> Result<i128, Refusal> {
    let ns = match value {
        Json::String(text) => match number(value) {
            Ok(number) => epoch_ns(number, unit)?,
            Err(_) => {
                written(text.trim()).map(Timestamp::as_nanosecond).ok_or("is not a date and time that can be read")?
            }
        },
        Json::Number(number) => epoch_ns(*number, unit)?,
        _ => return Err(misplaced(value, "a time")),
    };
    let is_too_late = ns > i128::from(MAX_TIMESTAMP_MS) * 1_000_000;
    if is_too_late { Err("lies beyond the year 9999".into()) } else { Ok(ns) }
}

/// A name or an id. Numbers keep their digits; an empty name is none.
pub(crate) fn name<'a>(value: Json<'a>) -> Result<Option<Cow<'a, str>>, Refusal> {
    match value {
        Json::String(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Json::Number(Number::Float(value)) if value.fract() == 0.0 && value.abs() >= 2f64.powi(63) => {
            Err("is an integer beyond 64 bits, whose last digits are lost".into())
        }
        Json::Number(_) => Ok(Some(value.to_compact_string().into())),
        _ => Err(misplaced(&value, "text")),
    }
}

/// A label from outside: a name, or yes or no.
pub(crate) fn label<'a>(value: Json<'a>) -> Result<Option<Cow<'a, str>>, Refusal> {
    match value {
        Json::Bool(flag) => Ok(Some(if flag { "true" } else { "false" }.into())),
        other => name(other),
    }
}

/// A string that holds a JSON object becomes that object.
pub(crate) fn unwrap_object(value: Json<'_>) -> Json<'_> {
    unwrap(value, &['{'])
}

/// A string that holds a JSON object or array becomes that.
pub(crate) fn unwrap_container(value: Json<'_>) -> Json<'_> {
    unwrap(value, &['{', '['])
}

fn unwrap<'a>(value: Json<'a>, begins: &[char]) -> Json<'a> {
    match value {
        Json::String(text) if text.trim_start().starts_with(begins) => {
            Json::parse_text(text).unwrap_or_else(Json::String)
        }
        other => other,
    }
}

/// That a value is of another type than the field.
pub(crate) fn misplaced(value: &Json<'_>, expected: &str) -> Refusal {
    format!("is {} where {expected} belongs", value.type_name()).into()
}

/// A number, or a string that holds one.
fn number(value: &Json<'_>) -> Result<Number, Refusal> {
    let Json::String(text) = value else {
        return value.as_number().ok_or_else(|| misplaced(value, "a number"));
    };
    let text = text.trim();
    let integer = text.parse().map(Number::Unsigned).or_else(|_| text.parse().map(Number::Signed));
    let is_numeric = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    match integer {
        Ok(number) => Ok(number),
        Err(_) if is_numeric => text.parse().map(Number::Float).map_err(|_| "is text and not a number".into()),
        Err(_) => Err("is text and not a number".into()),
    }
}

fn epoch_ms(number: Number, unit: Option<Unit>) -> Result<i64, Refusal> {
    let magnitude = number.as_f64();
    if magnitude < 0.0 {
        return Err("lies before 1970".into());
    }
    let integer = number.as_integer().and_then(|integer| i64::try_from(integer).ok());
    if let (None, Some(ticks), true) = (unit, integer, TICKS.contains(&magnitude)) {
        return Ok((ticks - UNIX_EPOCH_TICKS) / TICKS_PER_MS);
    }
    let unit = unit.unwrap_or_else(|| unit_of(magnitude));
    let Some(integer) = integer else {
        // A float beyond the range of the result saturates, and is refused for its year.
        return Ok(unit.to_ms(magnitude).round() as i64);
    };
    Ok(match unit {
        Unit::S => integer.saturating_mul(1000),
        Unit::Ms => integer,
        Unit::Us => integer / 1000,
        Unit::Ns => integer / 1_000_000,
    })
}

/// The unit that a time since 1970 must be in, by its magnitude.
fn unit_of(magnitude: f64) -> Unit {
    match magnitude {
        ..1e11 => Unit::S,
        ..1e14 => Unit::Ms,
        ..1e17 => Unit::Us,
        _ => Unit::Ns,
    }
}

fn epoch_ns(number: Number, unit: Option<Unit>) -> Result<i128, Refusal> {
    let magnitude = number.as_f64();
    if magnitude < 0.0 {
        return Err("lies before 1970".into());
    }
    let integer = number.as_integer().filter(|integer| *integer < i128::from(i64::MAX));
    if let (None, Some(ticks), true) = (unit, integer, TICKS.contains(&magnitude)) {
        return Ok((ticks - i128::from(UNIX_EPOCH_TICKS)) * 100);
    }
    let unit = unit.unwrap_or_else(|| unit_of(magnitude));
    let Some(integer) = integer else {
        // Saturates, and is refused for its year then.
        return Ok((unit.to_ms(magnitude) * 1e3).round() as i128).map(|us| us.saturating_mul(1000));
    };
    Ok(match unit {
        Unit::S => integer * 1_000_000_000,
        Unit::Ms => integer * 1_000_000,
        Unit::Us => integer * 1000,
        Unit::Ns => integer,
    })
}

/// RFC 3339, ISO 8601 and `YYYY-MM-DD HH:MM:SS`, with a zone, or in UTC, which may be written behind it.
fn written(text: &str) -> Option<Timestamp> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment);
    }
    let local = text.strip_suffix(" UTC").unwrap_or(text).parse::<DateTime>().ok()?;
    Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Json<'_> {
        Json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn times_in_every_spelling() {
        let check = |json: &str, expected: Result<i64, &'static str>| {
            assert_eq!(timestamp_ms(&parsed(json), None), expected.map_err(Refusal::from), "{json}");
        };
        let moment = Ok(1_741_569_952_123);
        check("\"2025-03-10T01:25:52.123Z\"", moment);
        check("\"2025-03-10T01:25:52.123456789Z\"", moment);
        check("\"2025-03-10T02:25:52.123+01:00\"", moment);
        check("\"2025-03-10T01:25:52.123000+00:00\"", moment);
        check("\"2025-03-10T01:25:52.123\"", moment);
        check("\"2025-03-10 01:25:52.123\"", moment);
        check("\"2025-03-10 01:25:52.123000 UTC\"", moment);
        check("\"2025-03-10 01:25:52.123456789\"", moment);
        check("\" 2025-03-10 01:25:52.123Z \"", moment);
        check("1741569952.123", moment);
        check("\"1741569952.123\"", moment);
        check("1741569952123", moment);
        check("1741569952123.0", moment);
        check("1741569952123456", moment);
        check("1741569952123456789", moment);
        check("\"1741569952123456789\"", moment);
        check("638771667521230000", moment);
        check("1741569952", Ok(1_741_569_952_000));
        check("\"2025-03-10T01:25:52Z\"", Ok(1_741_569_952_000));
        check("\"2025-03-10\"", Ok(1_741_564_800_000));
        check("0", Ok(0));
        check("-1", Err("lies before 1970"));
        check("1e300", Err("lies beyond the year 9999"));
        check("\"yesterday\"", Err("is not a date and time that can be read"));
        check("\"2025-02-30T00:00:00Z\"", Err("is not a date and time that can be read"));
        check("\"\"", Err("is not a date and time that can be read"));
        check("true", Err("is a boolean where a time belongs"));
        assert_eq!(timestamp_ms(&parsed("5000"), Some(Unit::Ms)), Ok(5000));
        assert_eq!(timestamp_ms(&parsed("5000"), Some(Unit::S)), Ok(5_000_000));
        assert!(timestamp_ms(&parsed("1741569952123456789"), Some(Unit::S)).is_err());
    }

    #[test]
    fn durations_in_every_unit() {
        let check = |json: &str, unit: Unit, expected: Result<f64, &'static str>| {
            assert_eq!(duration_ms(&parsed(json), unit), expected.map_err(Refusal::from), "{json}");
        };
        check("39", Unit::Ms, Ok(39.0));
        check("\"1.5\"", Unit::Ms, Ok(1.5));
        check("1.6393", Unit::S, Ok(1639.3));
        check("2500", Unit::Us, Ok(2.5));
        check("2500000", Unit::Ns, Ok(2.5));
        check("0", Unit::Ms, Ok(0.0));
        check("-1021", Unit::Ms, Err("is negative"));
        check("1e308", Unit::S, Err("is not finite"));
        check("\"1e999\"", Unit::Ms, Err("is not finite"));
        check("\"nan\"", Unit::Ms, Err("is text and not a number"));
        check("\"inf\"", Unit::Ms, Err("is text and not a number"));
        check("\"fast\"", Unit::Ms, Err("is text and not a number"));
        check("\"\"", Unit::Ms, Err("is text and not a number"));
        check("{}", Unit::Ms, Err("is an object where a number belongs"));
    }

    #[test]
    fn counts_are_whole_and_not_negative() {
        let check = |json: &str, expected: Result<u64, &'static str>| {
            assert_eq!(count(&parsed(json)), expected.map_err(Refusal::from), "{json}");
        };
        check("39", Ok(39));
        check("39.0", Ok(39));
        check("\"39\"", Ok(39));
        check("\"39.0\"", Ok(39));
        check("-1", Err("is negative"));
        check("\"-1\"", Err("is negative"));
        check("1.5", Err("is not a whole number"));
        check("1e300", Err("is not a whole number"));
        check("18446744073709551615", Err("is too large"));
        check("[]", Err("is an array where a number belongs"));
    }

    #[test]
    fn flags_in_every_spelling() {
        for (json, expected) in [("true", true), ("1", true), ("\"True\"", true), ("\"0\"", false), ("false", false)] {
            assert_eq!(flag(&parsed(json)), Ok(expected), "{json}");
        }
        for json in ["2", "\"yes\"", "[]"] {
            assert!(flag(&parsed(json)).is_err(), "{json}");
        }
    }

    #[test]
    fn names_keep_their_digits() {
        let check = |json: &str, expected: Option<&str>| {
            assert_eq!(name(parsed(json)).unwrap().as_deref(), expected, "{json}");
        };
        check("\"r1\"", Some("r1"));
        check("9007199254740993", Some("9007199254740993"));
        check("18446744073709551615", Some("18446744073709551615"));
        check("-7", Some("-7"));
        check("\"\"", None);
        assert!(name(parsed("123456789012345678901234567890")).is_err());
        assert!(name(parsed("[]")).is_err());
    }

    proptest! {
        #[test]
        fn written_times_read_as_what_they_mean(ms in 0..MAX_TIMESTAMP_MS) {
            let text = Timestamp::from_millisecond(ms).unwrap().to_string();
            prop_assert_eq!(written(&text).map(Timestamp::as_millisecond), Some(ms));
            prop_assert_eq!(written(text.trim_end_matches('Z')).map(Timestamp::as_millisecond), Some(ms));
        }

        #[test]
        fn what_is_accepted_is_within_range(value in crate::record::json::tests::values(), text in ".*") {
            for value in [value.to_string(), serde_json::Value::from(text).to_string()] {
                let value = parsed(&value);
                prop_assert!(duration_ms(&value, Unit::S).is_ok_and(|ms| ms.is_finite() && ms >= 0.0) || duration_ms(&value, Unit::S).is_err());
                prop_assert!(timestamp_ms(&value, None).is_ok_and(|ms| ms <= MAX_TIMESTAMP_MS) || timestamp_ms(&value, None).is_err());
                prop_assert!(count(&value).is_ok_and(|count| count <= MAX_COUNT) || count(&value).is_err());
            }
        }
    }
}
