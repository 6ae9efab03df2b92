//! Phone numbers and dates.
//!
//! **Formula**: a phone number has 7 to 15 digits; behind `+` it begins with a country's code, without it, it is no date,
//! no decimal number and no IP address. A date is a day of the calendar.
//!
//! **Source**: ITU-T E.164 and its list of country codes; the North American Numbering Plan (area and exchange begin with
//! 2 to 9; 555-0100 to 555-0199 are for fiction); ISO 8601.
//!
//! **Limits**: lengths are not known by country.

use super::{
    Candidate, Check, Checked,
    number::{compact, is_date, is_one_character, value},
    payment::stands_alone,
};
use std::sync::LazyLock;

use crate::rules::{labels, scanner::has_word_near};

/// The checks of this file, by name.
pub const CHECKS: &[(&str, Check)] = &[
    ("phone", phone),
    ("ph_mobile_number", ph_mobile_number),
    ("tr_phone_number", tr_phone_number),
    ("date", date),
    ("birth_date", birth_date),
    ("coordinates", coordinates),
];

/// Country codes of one and two digits; the others have three.
const SHORT_COUNTRY_CODES: &[u64] = &[
    1, 7, 20, 27, 30, 31, 32, 33, 34, 36, 39, 40, 41, 43, 44, 45, 46, 47, 48, 49, 51, 52, 53, 54, 55, 56, 57, 58, 60,
    61, 62, 63, 64, 65, 66, 81, 82, 84, 86, 90, 91, 92, 93, 94, 95, 98,
];

fn phone(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let digits: Vec<u8> = subscriber(value).bytes().filter(u8::is_ascii_digit).collect();
    let is_part = !value.starts_with(['+', '(']) && follows_code(candidate);
    if !(7..=15).contains(&digits.len()) || is_one_character(&digits) || is_part || !is_separate(candidate) {
        return Checked::Fails;
    }
    if let Some(international) = value.strip_prefix('+').or(value.strip_prefix("(+")) {
        // What has a rule of its own is left to it.
        let is_of_another = is_ph_mobile(&digits) || is_tr(&digits);
        if !has_country_code(&digits) || is_of_another || international.contains('+') {
            return Checked::Fails;
        }
    } else if is_term(candidate)
        || is_other_number(value)
        || value.bytes().all(|byte| byte.is_ascii_digit()) && !speaks_of_phones(candidate)
    {
        return Checked::Fails;
    }
    if is_fiction(&digits) { Checked::Example("number of fiction") } else { Checked::Holds }
}

/// Whether the number is no part of an identifier or a formula. A word may be tied to its end: `541-714-1388-Office`.
fn is_separate(candidate: &Candidate<'_>) -> bool {
    let after = candidate.after();
    let is_tied = after.strip_prefix('-').is_some_and(|word| {
        let letters = word.bytes().take_while(u8::is_ascii_alphabetic).count();
        letters >= 3 && !word.as_bytes().get(letters).is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-')
    });
    // A plus begins a number, also in a row of values between commas.
    let start =
        if candidate.value().starts_with('+') && candidate.before().ends_with(',') { candidate.start } else { 0 };
    let end = if is_tied { candidate.end } else { candidate.text.len() };
    let cut = Candidate::new(&candidate.text[start..end], candidate.start - start..candidate.end - start);
    !candidate.before().ends_with(['*', '^', '+']) && stands_alone(&cut)
}

/// Whether it is a term of an equation: `20000-12000 = 8000`.
fn is_term(candidate: &Candidate<'_>) -> bool {
    candidate.after().trim_start_matches(' ').starts_with('=')
}

/// Digits in a row are a phone number only behind words that are said of nothing else.
fn speaks_of_phones(candidate: &Candidate<'_>) -> bool {
    static WORDS: LazyLock<Vec<String>> = LazyLock::new(|| labels::words("phone").map(str::to_owned).collect());
    candidate.text.trim().len() == candidate.value().len()
        || has_word_near(candidate.text, &(candidate.start..candidate.end), &WORDS)
}

/// The number without an extension.
fn subscriber(value: &str) -> &str {
    value.find(['x', 'X', 'e', 'E', '#']).map_or(value, |at| &value[..at])
}

fn has_country_code(digits: &[u8]) -> bool {
    let code = |length: usize| digits.get(..length).and_then(value).unwrap_or(0);
    if SHORT_COUNTRY_CODES.contains(&code(1)) {
        // Ten digits follow the codes 1 and 7, whose areas do not begin with 0 or 1.
        return digits.len() == 11 && !matches!(digits[1], b'0' | b'1');
    }
    digits.len() >= 8
        && (SHORT_COUNTRY_CODES.contains(&code(2))
            || matches!(code(3), 210..=299 | 350..=389 | 420..=423 | 500..=599 | 670..=699 | 800..=899 | 960..=998))
}

/// Dates, decimal numbers, IP addresses, ranges and runs that are written with the same signs.
fn is_other_number(value: &str) -> bool {
    let groups: Vec<&str> = value.split(['-', '.', '/', ' ']).filter(|group| !group.is_empty()).collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let is_one_of = |sign: char| value.contains(sign) && value.chars().all(|c| c.is_ascii_digit() || c == sign);
    let number = |group: &str| group.parse::<u32>().unwrap_or(u32::MAX);
    let is_year_first = |lengths: &[usize]| {
        matches!(lengths, [4, 2, 2] | [4, 1..=2, 1..=2, ..]) && (1000..2200).contains(&number(groups[0]))
    };
    let is_year_last = matches!(lengths.as_slice(), [1..=2, 1..=2, 4]) && number(groups[0]) <= 31;
    let is_years =
        matches!(lengths.as_slice(), [4, 4]) && groups.iter().all(|group| (1000..2200).contains(&number(group)));
    let is_decimal =
        is_one_of('.') && (groups.len() == 2 || groups.len() == 4 && lengths.iter().all(|length| *length <= 3));
    let is_thousands = lengths.len() >= 2
        && (is_one_of('.') || is_one_of(' '))
        && lengths[0] <= 3
        && lengths[1..].iter().all(|length| *length == 3)
        && value.starts_with(|c: char| ('1'..='9').contains(&c))
        && lengths.len() != 3;
    // The groups of a social security number.
    let is_ssn = is_one_of('-') && lengths == [3, 2, 4];
    let is_of_machines = value.parse::<u64>().is_ok_and(is_limit_of_machines);
    let is_single = lengths.iter().all(|length| *length == 1)
        || value.bytes().all(|byte| matches!(byte, b'0' | b'1' | b' ' | b'-' | b'.'));
    is_year_first(&lengths)
        || is_year_last
        || is_years
        || is_ssn
        || is_decimal
        || is_thousands
        || is_single
        || is_of_machines
}

/// A power of two or a neighbour of one: the largest number of a type, a size of memory.
fn is_limit_of_machines(number: u64) -> bool {
    [number.saturating_sub(1), number, number.saturating_add(1)].iter().any(|near| near.is_power_of_two())
}

fn is_fiction(digits: &[u8]) -> bool {
    let national = if digits.len() == 11 && digits[0] == b'1' { &digits[1..] } else { digits };
    let is_nanp_fiction =
        national.len() == 10 && &national[3..6] == b"555" || national.len() == 7 && national.starts_with(b"555");
    let is_run = [b"1234567890".as_slice(), b"0123456789", b"9876543210"]
        .iter()
        .any(|run| run.starts_with(national) || national == *run);
    is_nanp_fiction || is_run || national == b"1234567891"
}

/// Numbers with the code of their country.
fn is_ph_mobile(digits: &[u8]) -> bool {
    digits.len() == 12 && digits.starts_with(b"639")
}

fn is_tr(digits: &[u8]) -> bool {
    digits.len() == 12 && digits.starts_with(b"90") && matches!(digits[2], b'2'..=b'5')
}

/// 09 and nine more digits, or +63 9.
fn ph_mobile_number(candidate: &Candidate<'_>) -> Checked {
    let number = compact(candidate.value());
    let national = number.strip_prefix(b"63").or(number.strip_prefix(b"0"));
    let fits = national.is_some_and(|rest| rest.len() == 10 && rest[0] == b'9') && stands_alone(candidate);
    if fits { Checked::Holds } else { Checked::Fails }
}

/// Whether the number is the rest of one that begins with a plus and the code of a country.
fn follows_code(candidate: &Candidate<'_>) -> bool {
    let before = candidate.just_before(16);
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '.' | '-' | '(' | ')');
    before.trim_end_matches(is_part).ends_with('+')
}

/// Ten digits behind +90 or 0, or by themselves: the area begins with 2 to 5.
fn tr_phone_number(candidate: &Candidate<'_>) -> Checked {
    let number = compact(candidate.value());
    let national =
        number.strip_prefix(b"90").filter(|rest| rest.len() == 10).or(number.strip_prefix(b"0")).unwrap_or(&number);
    let fits = national.len() == 10 && matches!(national[0], b'2'..=b'5') && stands_alone(candidate);
    if fits && !follows_code(candidate) && !value(&number).is_some_and(is_limit_of_machines) {
        Checked::Holds
    } else {
        Checked::Fails
    }
}

/// Numbers of a date, the month's name as its number.
fn parts(text: &str) -> Vec<(u32, usize)> {
    /// Signs of Chinese, Japanese and Korean dates: year, month, day.
    const SIGNS: [char; 6] = ['年', '月', '日', '년', '월', '일'];
    static MONTHS: LazyLock<Vec<(&str, u32)>> =
        LazyLock::new(|| labels::words("month").zip((1..=12).cycle()).collect());
    let words = text.split(|c: char| !c.is_alphanumeric() || SIGNS.contains(&c)).filter(|word| !word.is_empty());
    words
        .filter_map(|word| {
            let lower = labels::lower(word);
            let month = MONTHS.iter().find(|(month, _)| lower.starts_with(month)).map(|(_, number)| (*number, 0));
            let digits = lower.trim_end_matches(char::is_alphabetic);
            month.or_else(|| digits.parse().ok().map(|number| (number, digits.len())))
        })
        .collect()
}

/// The year, month and day that a text may name; the year 0 where it names none.
fn day_of(text: &str) -> Option<(u32, u32, u32)> {
    // What stands behind the T between two digits is the time.
    let bytes = text.as_bytes();
    let is_time =
        |at: &usize| matches!(bytes[*at..], [a, b'T' | b't', b, ..] if a.is_ascii_digit() && b.is_ascii_digit());
    let date = (0..bytes.len()).find(is_time).map_or(text, |at| &text[..=at]);
    let days: &[(u32, u32, u32)] = match *parts(date).as_slice() {
        [(year, 4), (month, _), (day, _), ..] => &[(year, month, day)],
        // Only names of months have no digits.
        [(month, 0), (day, _), (year, _)] | [(day, _), (month, 0), (year, _)] => &[(year, month, day)],
        [(a, _), (b, _), (year, _), ..] => &[(year, a, b), (year, b, a)],
        [(month, 0), (day, _)] | [(day, _), (month, 0)] => &[(0, month, day)],
        [(month, _), (year, 4)] => &[(year, month, 1)],
        [(a, _), (b, _)] => &[(0, a, b), (0, b, a)],
        _ => &[],
    };
    days.iter().copied().find(|(year, month, day)| is_date(*year, *month, *day))
}

fn date(candidate: &Candidate<'_>) -> Checked {
    if day_of(candidate.value()).is_some() && stands_alone(candidate) { Checked::Holds } else { Checked::Fails }
}

/// A day on which someone living may have been born: 1900 to 2035, or two digits of a year.
fn birth_date(candidate: &Candidate<'_>) -> Checked {
    match day_of(candidate.value()) {
        Some((1900..=2035 | 1..=99, ..)) => Checked::Holds,
        _ => Checked::Fails,
    }
}

/// A latitude and a longitude.
fn coordinates(candidate: &Candidate<'_>) -> Checked {
    let numbers = candidate.value().split(|c: char| !c.is_ascii_digit() && c != '.' && c != '-');
    let numbers: Vec<f64> = numbers.filter_map(|number| number.parse().ok()).collect();
    match numbers.as_slice() {
        [latitude, longitude] if latitude.abs() <= 90.0 && longitude.abs() <= 180.0 => Checked::Holds,
        _ => Checked::Fails,
    }
}
