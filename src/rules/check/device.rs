//! Numbers of things that lead to a person: phones, SIM cards, vehicles, passports as machines read them.
//!
//! **Formula**: IMEI and ICCID: Luhn. VIN: letters as digits, weights 8 7 6 5 4 3 2 10 0 9 8 7 6 5 4 3 2, mod 11 in ninth
//! place, 10 is X. Machine-readable zones: weights 7 3 1, letters 10 to 35, `<` 0, mod 10.
//!
//! **Source**: 3GPP TS 23.003, ITU-T E.118, ISO 3779 with 49 CFR 565, ICAO 9303.
//!
//! **Limits**: Europe's makers need not keep the check digit of a VIN; such ones pass only behind the word.

use super::{
    Candidate, Check, Checked,
    number::{compact, digits, is_one_character, luhn_text, number_checks, value},
};

number_checks![imei, iccid, imsi];

/// Checks that look at what stands around.
pub const CHECKS_IN_TEXT: &[(&str, Check)] = &[("vin", vin), ("mrz", mrz)];

fn imei(number: &[u8]) -> bool {
    number.len() == 15 && luhn_text(number) && !is_one_character(number)
}

fn iccid(number: &[u8]) -> bool {
    (19..=20).contains(&number.len()) && number.starts_with(b"89") && luhn_text(number)
}

/// A country code of ITU-T E.212 begins with 2 to 7.
fn imsi(number: &[u8]) -> bool {
    number.len() == 15 && matches!(number[0], b'2'..=b'7') && value(number).is_some() && !is_one_character(number)
}

fn vin(candidate: &Candidate<'_>) -> Checked {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    let number = compact(candidate.value());
    let value_of = |byte: &u8| match byte {
        b'0'..=b'9' => Some(u32::from(byte - b'0')),
        b'A'..=b'H' => Some(u32::from(byte - b'A') + 1),
        b'J'..=b'N' => Some(u32::from(byte - b'J') + 1),
        b'P' => Some(7),
        b'R' => Some(9),
        b'S'..=b'Z' => Some(u32::from(byte - b'S') + 2),
        _ => None,
    };
    let values: Option<Vec<u32>> = number.iter().map(value_of).collect();
    let Some(values) = values.filter(|values| values.len() == 17) else { return Checked::Fails };
    let check = b"0123456789X"[(super::number::weighted(&values, &WEIGHTS) % 11) as usize];
    let digits = number.iter().filter(|byte| byte.is_ascii_digit()).count();
    if check != number[8] || digits < 4 || digits == 17 || candidate.value().len() != 17 {
        return Checked::Fails;
    }
    if number == b"1HGBH41JXMN109186" || number == b"1M8GDM9AXKP042788" || number == b"11111111111111111" {
        return Checked::Example("number of documentation");
    }
    Checked::Holds
}

/// The second line of a passport or card: number, birth and expiry each with its check digit.
fn mrz(candidate: &Candidate<'_>) -> Checked {
    let line = candidate.value().as_bytes();
    let fits = |range: std::ops::Range<usize>, check: usize| {
        let (Some(field), Some(check)) = (line.get(range), line.get(check)) else { return false };
        let values = field.iter().map(|byte| char::from(*byte).to_digit(36).unwrap_or(0));
        let sum: u32 = values.zip([7, 3, 1].into_iter().cycle()).map(|(value, weight)| value * weight).sum();
        check.is_ascii_digit() && u32::from(check - b'0') == sum % 10
    };
    let is_day = |at: usize| line.get(at..at + 6).and_then(digits::<6>).is_some();
    let holds = matches!(line.len(), 36 | 44) && fits(0..9, 9) && fits(13..19, 19) && fits(21..27, 27) && is_day(13);
    if holds { Checked::Holds } else { Checked::Fails }
}
