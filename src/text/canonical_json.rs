//! JSON in the one form that everybody who hashes it writes: RFC 8785.
//!
//! No white space, the keys of an object by their UTF-16 units, strings with the fewest escapes, numbers as ECMAScript
//! prints doubles. Two parties hash the same value to the same digest.
//!
//! **Source**: RFC 8785 (JSON Canonicalization Scheme); seed 003 hashes the parts of a bundle by it.
//!
//! **Limits**: numbers are doubles, so that a whole number beyond 2^53 loses its last digits, as the RFC says.

use serde_json::Value;

/// The canonical text of `value`.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&double(number.as_f64().unwrap_or_default())),
        Value::String(text) => string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (name, value)) in entries.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                string(name, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The shortest digits that read back as the same double, in the notation of ECMAScript.
fn double(value: f64) -> String {
    /// The largest and smallest positions of the decimal point that are written without an exponent.
    const POINT_MAX: i32 = 21;
    const POINT_MIN: i32 = -5;
    if value == 0.0 {
        return "0".to_owned();
    }
    let shown = format!("{:e}", value.abs());
    let Some((mantissa, exponent)) = shown.split_once('e') else { return shown };
    let digits = mantissa.replace('.', "");
    let (count, exponent) = (digits.len() as i32, exponent.parse::<i32>().unwrap_or_default());
    // Where the point stands, counted from the first digit.
    let point = exponent + 1;
    let body = if (count..=POINT_MAX).contains(&point) {
        digits + &"0".repeat((point - count) as usize)
    } else if (1..=POINT_MAX).contains(&point) {
        let (front, back) = digits.split_at(point as usize);
        format!("{front}.{back}")
    } else if (POINT_MIN..=0).contains(&point) {
        format!("0.{}{digits}", "0".repeat(-point as usize))
    } else {
        let (first, rest) = digits.split_at(1);
        let separator = if rest.is_empty() { "" } else { "." };
        let sign = if exponent > 0 { "+" } else { "" };
        format!("{first}{separator}{rest}e{sign}{exponent}")
    };
    if value < 0.0 { format!("-{body}") } else { body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_rfc_lists_them() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (f64::MIN_POSITIVE * f64::EPSILON, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (295_147_905_179_352_830_000.0, "295147905179352830000"),
            (9.999_999_999_999_997e22, "9.999999999999997e+22"),
            (1e23, "1e+23"),
            (999_999_999_999_999_700_000.0, "999999999999999700000"),
            (1e21, "1e+21"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (333_333_333.333_333_3, "333333333.3333333"),
            (-4.5, "-4.5"),
        ] {
            assert_eq!(double(value), expected);
        }
    }

    #[test]
    fn keys_are_sorted_and_strings_have_the_fewest_escapes() {
        let value = serde_json::json!({"\u{20ac}": "Euro", "\r": 1, "1": [true, null], "\u{fb33}": "\u{7f}\u{1f}<", "\u{1f600}": {}});
        let expected =
            "{\"\\r\":1,\"1\":[true,null],\"\u{20ac}\":\"Euro\",\"\u{1f600}\":{},\"\u{fb33}\":\"\u{7f}\\u001f<\"}";
        assert_eq!(canonical(&value), expected);
    }
}
