//! JSON values become times, counts and names: units are converted, numbers in strings are accepted, and what cannot
//! be used is refused with a clause that says why.
//!
//! A length of time may say its own unit (`"350ms"`, `"1.2 s"`, `"PT1.2S"`, `"0:00:01.2"`, `{"seconds": 1, "nanos":
//! 200000000}`), which then counts. Dates stand as RFC 3339, ISO 8601, RFC 2822 and as loggers write them ([`PATTERNS`]).
//! MongoDB's wrappers (`{"$date": ...}`, `{"$numberLong": ...}`, `{"$oid": ...}`) are what they wrap.
//!
//! **Formula** (times without a unit, by magnitude): below 1e11 seconds, below 1e14 milliseconds, below 1e17
//! microseconds, from 6.3e17 to 6.5e17 .NET ticks (100 ns since the year 1), else nanoseconds since 1970.
//!
//! **Limits**: a time without a zone is taken as UTC; times before 1970 are refused as numbers; dates of which nobody
//! knows whether the day or the month comes first are not read, nor those without a year.

use std::{borrow::Cow, str::FromStr, sync::LazyLock};

use data_encoding::{BASE64URL_NOPAD, Encoding};
use jiff::{
    SignedDuration, Timestamp,
    civil::DateTime,
    fmt::{rfc2822, strtime::BrokenDownTime},
    tz::TimeZone,
};
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

/// Dates as loggers write them, beside the standards: Go and nginx's errors, Apache, C, JavaScript, Kibana, browsers.
const PATTERNS: [&str; 8] = [
    "%Y/%m/%d %H:%M:%S%.f",
    "%d/%b/%Y:%H:%M:%S %z",
    "%a %b %d %H:%M:%S %Y",
    "%a %b %d %Y %H:%M:%S GMT%z",
    "%b %d, %Y @ %H:%M:%S%.f",
    "%b %d, %Y, %I:%M:%S %p",
    "%m/%d/%Y, %I:%M:%S %p",
    "%d %b %Y %H:%M:%S%.f",
];

/// No date is longer.
const DATE_BYTES_MAX: usize = 80;

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

/// A length of time, in milliseconds: finite and not negative. `unit` is that of a bare number.
pub(crate) fn duration_ms(value: &Json<'_>, unit: Unit) -> Result<f64, Refusal> {
    let ms = match spelled_ms(value) {
        Some(ms) => ms,
        None => unit.to_ms(number(value)?.as_f64()),
    };
    if !ms.is_finite() {
        return Err("is not finite".into());
    }
    if ms < 0.0 {
        return Err("is negative".into());
    }
    Ok(ms + 0.0)
}

/// Whether a length of time says its own unit.
pub(crate) fn says_unit(value: &Json<'_>) -> bool {
    spelled_ms(value).is_some()
}

/// A length of time that says its unit, in milliseconds.
fn spelled_ms(value: &Json<'_>) -> Option<f64> {
    match value {
        Json::String(text) => {
            let text = without_separators(text.trim());
            // The sign of a length that ends before it begins belongs to the number.
            let is_spelled = text.contains(|c: char| c.is_alphabetic() || c == ':') && text.len() <= DATE_BYTES_MAX;
            let text = text.trim_start_matches(['~', '≈']).trim_start();
            let parsed = || text.parse::<SignedDuration>().or_else(|_| text.to_lowercase().parse()).ok();
            let length = is_spelled.then(parsed).flatten()?;
            Some(length.as_secs_f64() * 1e3)
        }
        Json::Object(_) => {
            let (s, ns) = seconds_and_nanos(value)?;
            Some(s as f64 * 1e3 + ns as f64 / 1e6)
        }
        _ => None,
    }
}

/// `{"seconds": 1, "nanos": 200000000}`, as protobuf, Firestore and Rust write moments and lengths of time.
fn seconds_and_nanos(value: &Json<'_>) -> Option<(i64, i64)> {
    let entries = value.as_object()?;
    let of = |keys: &[&str]| {
        let (_, value) = entries.iter().find(|(key, _)| keys.contains(&key.trim_start_matches('_')))?;
        i64::try_from(number(value).ok()?.as_integer()?).ok()
    };
    let s = of(&["seconds", "secs"])?;
    let ns = of(&["nanos", "nanoseconds"]).unwrap_or(0);
    (entries.len() <= 2).then_some((s, ns))
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

/// The bytes of a text in base64 of either alphabet, with or without padding and line breaks; `None` for any other text.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    static LENIENT: LazyLock<Option<Encoding>> = LazyLock::new(|| {
        let mut specification = BASE64URL_NOPAD.specification();
        specification.check_trailing_bits = false;
        specification.ignore.push_str(" \t\r\n=");
        specification.translate.from.push_str("+/");
        specification.translate.to.push_str("-_");
        specification.encoding().ok()
    });
    LENIENT.as_ref()?.decode(text.as_bytes()).ok()
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
    let ms = match moment(value)? {
        Moment::Written(moment) => moment.as_millisecond(),
        Moment::Number(number) => epoch_ms(number, unit)?,
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
    let ns = match moment(value)? {
        Moment::Written(moment) => moment.as_nanosecond(),
        Moment::Number(number) => epoch_ns(number, unit)?,
    };
    let is_too_late = ns > i128::from(MAX_TIMESTAMP_MS) * 1_000_000;
    if is_too_late { Err("lies beyond the year 9999".into()) } else { Ok(ns) }
}

enum Moment {
    Written(Timestamp),
    Number(Number),
}

fn moment(value: &Json<'_>) -> Result<Moment, Refusal> {
    let value = value.get("$date").unwrap_or(value);
    match value {
        Json::String(text) => match number(value) {
            Ok(number) => Ok(Moment::Number(number)),
            Err(_) => written(text.trim()).map(Moment::Written).ok_or("is not a date and time that can be read".into()),
        },
        Json::Number(number) => Ok(Moment::Number(*number)),
        Json::Object(_) => match (number(value), seconds_and_nanos(value)) {
            (Ok(number), _) => Ok(Moment::Number(number)),
            (_, Some((s, ns))) => {
                let moment = i32::try_from(ns).ok().and_then(|ns| Timestamp::new(s, ns).ok());
                moment.map(Moment::Written).ok_or("is not a date and time that can be read".into())
            }
            _ => Err(misplaced(value, "a time")),
        },
        _ => Err(misplaced(value, "a time")),
    }
}

/// A name or an id. Numbers keep their digits; an empty name is none.
pub(crate) fn name<'a>(value: Json<'a>) -> Result<Option<Cow<'a, str>>, Refusal> {
    match value {
        Json::String(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Json::Number(Number::Float(value)) if value.fract() == 0.0 && value.abs() >= 2f64.powi(63) => {
            Err("is an integer beyond 64 bits, whose last digits are lost".into())
        }
        Json::Number(_) => Ok(Some(value.to_compact_string().into())),
        Json::Object(mut entries) if entries.len() == 1 && WRAPPERS.contains(&entries[0].0.as_ref()) => {
            name(entries.swap_remove(0).1)
        }
        _ => Err(misplaced(&value, "text")),
    }
}

/// Keys under which MongoDB's extended JSON keeps ids and numbers.
const WRAPPERS: [&str; 6] = ["$oid", "$uuid", "$numberLong", "$numberInt", "$numberDouble", "$numberDecimal"];

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
    let text = match value {
        Json::String(text) => without_separators(text.trim()),
        Json::Object(entries) if entries.len() == 1 && WRAPPERS.contains(&entries[0].0.as_ref()) => {
            return number(&entries[0].1);
        }
        _ => return value.as_number().ok_or_else(|| misplaced(value, "a number")),
    };
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

/// A text without the commas that set its thousands apart: `1,204.5 ms`.
fn without_separators(text: &str) -> Cow<'_, str> {
    let digits = text.split(|c: char| !c.is_ascii_digit() && c != ',').next().unwrap_or_default();
    let mut groups = digits.split(',');
    let is_first = groups.next().is_some_and(|first| (1..=3).contains(&first.len()));
    match digits.contains(',') && is_first && groups.all(|group| group.len() == 3) {
        true => text.replacen(',', "", digits.matches(',').count()).into(),
        false => text.into(),
    }
}

/// A date and time as standards and loggers write them, in UTC where it says no zone.
fn written(text: &str) -> Option<Timestamp> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment);
    }
    let is_date = text.len() <= DATE_BYTES_MAX && text.bytes().any(|byte| byte.is_ascii_digit());
    // JavaScript and Go name the zone behind its offset, others in its place.
    let text = text.split(" (").next().filter(|_| is_date)?;
    if let Ok(moment) = rfc2822::parse(text) {
        return Some(moment.timestamp());
    }
    let text = match text.rsplit_once(' ') {
        Some((before, "UTC" | "GMT" | "Z")) => before,
        Some((before, zone))
            if zone.bytes().all(|byte| byte.is_ascii_uppercase())
                && before.rsplit_once(' ').is_some_and(|(_, offset)| offset.starts_with(['+', '-'])) =>
        {
            before
        }
        _ => text,
    };
    let in_utc = |local: DateTime| Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp());
    if let Some((local, offset)) = text.rsplit_once(' ')
        && offset.starts_with(['+', '-'])
        && let Ok(moment) = format!("{local}{offset}").parse::<Timestamp>()
    {
        return Some(moment);
    }
    if let Ok(local) = text.parse::<DateTime>() {
        return in_utc(local);
    }
    PATTERNS.iter().find_map(|pattern| {
        let time = BrokenDownTime::parse(pattern, text).ok()?;
        match time.offset() {
            Some(_) => time.to_timestamp().ok(),
            None => in_utc(time.to_datetime().ok()?),
        }
    })
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
        check("\"2025-03-10 01:25:52,123\"", moment);
        check("\"2025-03-10 01:25:52.123 +0000\"", moment);
        check("\"2025-03-10 02:25:52.123 +0100 CET\"", moment);
        check("\"2025-03-10 01:25:52.123 +0000 UTC\"", moment);
        check("\"2025-03-10T01:25:52.123+0000\"", moment);
        check("\"2025-03-09 18:25:52.123 -07:00\"", moment);
        check("\"2025/03/10 01:25:52.123\"", moment);
        check("\"Mar 10, 2025 @ 01:25:52.123\"", moment);
        check("\"10 Mar 2025 01:25:52.123\"", moment);
        check(r#"{"$date":"2025-03-10T01:25:52.123Z"}"#, moment);
        check(r#"{"$date":{"$numberLong":"1741569952123"}}"#, moment);
        check(r#"{"$date":1741569952123}"#, moment);
        check(r#"{"seconds":"1741569952","nanos":123000000}"#, moment);
        check(r#"{"_seconds":1741569952,"_nanoseconds":123000000}"#, moment);
        let second = Ok(1_741_569_952_000);
        check("\"Mon, 10 Mar 2025 01:25:52 GMT\"", second);
        check("\"Mon, 10 Mar 2025 02:25:52 +0100\"", second);
        check("\"Mon Mar 10 2025 01:25:52 GMT+0000 (Coordinated Universal Time)\"", second);
        check("\"Mon Mar 10 01:25:52 2025\"", second);
        check("\"10/Mar/2025:01:25:52 +0000\"", second);
        check("\"3/10/2025, 1:25:52 AM\"", second);
        check("\"Mar 10, 2025, 1:25:52 AM\"", second);
        check("\"03/10/2025 01:25:52\"", Err("is not a date and time that can be read"));
        check("\"Mar 10 01:25:52\"", Err("is not a date and time that can be read"));
        check("{}", Err("is an object where a time belongs"));
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
        check("\"350ms\"", Unit::S, Ok(350.0));
        check("\"1.2 s\"", Unit::Ms, Ok(1200.0));
        check("\"1,204 ms\"", Unit::Ms, Ok(1204.0));
        check("\"1,204\"", Unit::Ms, Ok(1204.0));
        check("\"1,2 s\"", Unit::Ms, Ok(1200.0));
        check("\"1.2 Seconds\"", Unit::Ms, Ok(1200.0));
        check("\"350MS\"", Unit::S, Ok(350.0));
        check("\"~350 ms\"", Unit::S, Ok(350.0));
        check("\"2 min\"", Unit::Ms, Ok(120_000.0));
        check("\"1m2.5s\"", Unit::Ms, Ok(62_500.0));
        check("\"250µs\"", Unit::Ms, Ok(0.25));
        check("\"PT1.2S\"", Unit::Ms, Ok(1200.0));
        check("\"0:00:01.2\"", Unit::Ms, Ok(1200.0));
        check("\"00:00:01.200\"", Unit::Ms, Ok(1200.0));
        check("\"-3s\"", Unit::Ms, Err("is negative"));
        check(r#"{"seconds":1,"nanos":200000000}"#, Unit::Ms, Ok(1200.0));
        check(r#"{"$numberLong":"39"}"#, Unit::Ms, Ok(39.0));
        check("\"1,20 4\"", Unit::Ms, Err("is text and not a number"));
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
