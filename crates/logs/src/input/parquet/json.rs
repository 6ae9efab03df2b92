//! A row of a Parquet file → JSON.

use jiff::{Timestamp, ToSpan as _, civil::Date};
use parquet::{
    basic::{ConvertedType, LogicalType, TimeUnit},
    record::{Field, Row},
    schema::types::Type,
};
use serde::Serialize;

/// Appends the object of a row, of the columns that have a value in it.
pub(super) fn row(row: &Row, of: Option<&Type>, out: &mut Vec<u8>) {
    out.push(b'{');
    let there = row.get_column_iter().enumerate().filter(|(_, (_, field))| !matches!(field, Field::Null));
    for (count, (index, (name, field))) in there.enumerate() {
        if count > 0 {
            out.push(b',');
        }
        value(name, out);
        out.push(b':');
        self::field(field, child(of, index), out);
    }
    out.push(b'}');
}

fn field(field: &Field, of: Option<&Type>, out: &mut Vec<u8>) {
    match field {
        Field::Null => out.extend_from_slice(b"null"),
        Field::Bool(inner) => value(inner, out),
        Field::Byte(inner) => value(inner, out),
        Field::Short(inner) => value(inner, out),
        Field::Int(inner) => value(inner, out),
        Field::Long(inner) if is_nanoseconds(of) => time(Timestamp::from_nanosecond(i128::from(*inner)), inner, out),
        Field::Long(inner) => value(inner, out),
        Field::UByte(inner) => value(inner, out),
        Field::UShort(inner) => value(inner, out),
        Field::UInt(inner) => value(inner, out),
        Field::ULong(inner) => value(inner, out),
        // What is infinite or no number is `null`.
        Field::Float16(inner) => value(&inner.to_f32(), out),
        Field::Float(inner) => value(inner, out),
        Field::Double(inner) => value(inner, out),
        Field::Decimal(_) => decimal(&field.to_string(), out),
        Field::Str(inner) if is_json(of) && is_valid_json(inner) => out.extend_from_slice(inner.as_bytes()),
        Field::Str(inner) => value(inner, out),
        Field::Bytes(inner) => bytes(inner.data(), of, out),
        Field::Date(days) => date(*days, out),
        Field::TimeMillis(inner) => time_of_day(i64::from(*inner) * 1000, out),
        Field::TimeMicros(inner) => time_of_day(*inner, out),
        Field::TimestampMillis(inner) => time(Timestamp::from_millisecond(*inner), inner, out),
        Field::TimestampMicros(inner) => time(Timestamp::from_microsecond(*inner), inner, out),
        Field::Group(inner) => row(inner, of, out),
        Field::ListInternal(list) => {
            let of = element_type(of);
            joined(list.elements(), (b'[', b']'), out, |element, out| self::field(element, of, out));
        }
        Field::MapInternal(map) => entries(map.entries(), child(of, 0), out),
    }
}

/// A map as an object; as an array of pairs when a key is no text.
fn entries(entries: &[(Field, Field)], pair: Option<&Type>, out: &mut Vec<u8>) {
    let (key_type, value_type) = (child(pair, 0), child(pair, 1));
    let has_names = entries.iter().all(|(key, _)| match key {
        Field::Str(_) => true,
        Field::Bytes(key) => std::str::from_utf8(key.data()).is_ok(),
        _ => false,
    });
    let brackets = if has_names { (b'{', b'}') } else { (b'[', b']') };
    joined(entries, brackets, out, |(key, inner), out| {
        if !has_names {
            out.push(b'[');
        }
        field(key, key_type, out);
        out.push(if has_names { b':' } else { b',' });
        field(inner, value_type, out);
        if !has_names {
            out.push(b']');
        }
    });
}

fn joined<T>(list: &[T], brackets: (u8, u8), out: &mut Vec<u8>, mut write: impl FnMut(&T, &mut Vec<u8>)) {
    out.push(brackets.0);
    for (index, element) in list.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(element, out);
    }
    out.push(brackets.1);
}

fn child(of: Option<&Type>, index: usize) -> Option<&Type> {
    of.filter(|of| of.is_group()).and_then(|of| of.get_fields().get(index)).map(AsRef::as_ref)
}

/// The type of the elements of a list, which stand one level deeper in most.
fn element_type(of: Option<&Type>) -> Option<&Type> {
    let repeated = child(of, 0)?;
    if repeated.is_group() && repeated.get_fields().len() == 1 { child(Some(repeated), 0) } else { Some(repeated) }
}

fn logical(of: Option<&Type>) -> Option<&LogicalType> {
    of.and_then(|of| of.get_basic_info().logical_type_ref())
}

fn is_nanoseconds(of: Option<&Type>) -> bool {
    matches!(logical(of), Some(LogicalType::Timestamp(time)) if matches!(time.unit, TimeUnit::NANOS))
}

fn is_json(of: Option<&Type>) -> bool {
    matches!(logical(of), Some(LogicalType::Json))
        || of.is_some_and(|of| of.get_basic_info().converted_type() == ConvertedType::JSON)
}

fn is_valid_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn value(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) {
    let begin = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(begin);
        out.extend_from_slice(b"null");
    }
}

/// A time in RFC 3339; the number where it is out of range.
fn time(time: Result<Timestamp, jiff::Error>, number: &i64, out: &mut Vec<u8>) {
    match time {
        Ok(time) => value(&time.to_string(), out),
        Err(_) => value(number, out),
    }
}

fn time_of_day(microseconds: i64, out: &mut Vec<u8>) {
    let (seconds, rest) = (microseconds.div_euclid(1_000_000), microseconds.rem_euclid(1_000_000));
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    value(&format!("{hours:02}:{minutes:02}:{:02}.{rest:06}", seconds % 60), out);
}

fn date(days: i32, out: &mut Vec<u8>) {
    const EPOCH: Date = Date::constant(1970, 1, 1);
    // More days than that are no span of jiff, and no date either.
    const DAYS_MAX: i32 = 4_000_000;
    let date = (-DAYS_MAX..DAYS_MAX).contains(&days).then(|| EPOCH.checked_add(days.days()).ok()).flatten();
    match date {
        Some(date) => value(&date.to_string(), out),
        None => value(&days, out),
    }
}

fn decimal(text: &str, out: &mut Vec<u8>) {
    match serde_json::from_str::<serde_json::Number>(text) {
        Ok(_) => out.extend_from_slice(text.as_bytes()),
        Err(_) => value(text, out),
    }
}

fn bytes(bytes: &[u8], of: Option<&Type>, out: &mut Vec<u8>) {
    if matches!(logical(of), Some(LogicalType::Uuid)) && bytes.len() == 16 {
        let hex = data_encoding::HEXLOWER.encode(bytes);
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        return value(&parts.join("-"), out);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => value(text, out),
        Err(_) => value(&data_encoding::BASE64.encode(bytes), out),
    }
}
