//! National identifiers of the Americas: length, ranges, check digits.
//!
//! **Formula**: each function states its own; `weighted` is Σ digit · weight. A random number of the right length passes
//! one check digit with a chance of 0.1 (mod 10) or 0.09 (mod 11), two with 0.01.
//!
//! **Source**: the issuing authorities' published descriptions; agreement with python-stdnum on
//! `fixtures/golden/pii_numbers.jsonl`.

use super::{
    Candidate, Check, Checked,
    number::{compact, digits, holds, is_date, is_one_character, luhn, number_checks, pair, value, weighted},
};

number_checks![
    us_itin,
    us_ein,
    us_npi,
    us_dea,
    aba_routing,
    ca_sin,
    ca_bc_phn,
    br_cpf,
    br_cnpj,
    br_pis,
    ar_cuit,
    cl_rut,
    co_nit,
    pe_ruc,
    uy_rut,
    ec_ci,
    mx_curp,
    mx_rfc,
    ve_rif,
    do_cedula,
    py_ruc,
    gt_nit,
];

/// Checks that need more than the number.
pub const CHECKS_IN_TEXT: &[(&str, Check)] = &[("us_ssn", us_ssn), ("us_npi_or_named", us_npi_or_named)];

/// Bytes in front of a number in which its own name must stand to count as its label.
const LABEL_BYTES: usize = 32;

/// Whether one of `names` stands directly in front, with nothing but punctuation and small words between.
fn is_labelled(candidate: &Candidate<'_>, names: &[&str]) -> bool {
    let before = candidate.just_before(LABEL_BYTES).to_ascii_lowercase();
    names.iter().any(|name| {
        before.rfind(name).is_some_and(|at| {
            let between = &before[at + name.len()..];
            between.split(|c: char| !c.is_ascii_alphanumeric()).all(|word| matches!(word, "" | "is" | "no" | "number"))
        })
    })
}

/// Area, group and serial are not 0, the area is not 666 or above 899.
fn us_ssn(candidate: &Candidate<'_>) -> Checked {
    let number = compact(candidate.value());
    let Some(d) = digits::<9>(&number) else { return Checked::Fails };
    let (area, group, serial) = (d[0] * 100 + pair(&d, 1), pair(&d, 3), pair(&d, 5) * 100 + pair(&d, 7));
    let separators: Vec<u8> = candidate.value().bytes().filter(|byte| !byte.is_ascii_digit()).collect();
    let is_even = is_one_character(&separators) && separators.len() != 1;
    if area == 0 || area == 666 || area >= 900 || group == 0 || serial == 0 || is_one_character(&number) || !is_even {
        return Checked::Fails;
    }
    match number.as_slice() {
        // Printed on specimen cards and in advertisements, never to be assigned again.
        b"078051120" | b"219099999" => return if separators.is_empty() { Checked::Fails } else { EXAMPLE_SSN },
        b"123456789" => return EXAMPLE_SSN,
        _ => {}
    }
    Checked::Holds
}

const EXAMPLE_SSN: Checked = Checked::Example("number of specimen cards");

/// 9xx, and the fourth and fifth digit in the ranges 50-65, 70-88, 90-92, 94-99.
fn us_itin(number: &[u8]) -> bool {
    digits::<9>(number).is_some_and(|d| d[0] == 9 && matches!(pair(&d, 3), 50..=65 | 70..=88 | 90..=92 | 94..=99))
}

/// The first two digits are those of a campus that assigns them.
fn us_ein(number: &[u8]) -> bool {
    digits::<9>(number).is_some_and(|d| {
        matches!(
            pair(&d, 0),
            1..=6 | 10..=16 | 20..=27 | 30..=48 | 50..=68 | 71..=77 | 80..=88 | 90..=95 | 98 | 99
        )
    })
}

/// Luhn over 80840 and the number; the first digit is 1 or 2.
fn us_npi(number: &[u8]) -> bool {
    let Some(d) = digits::<10>(number) else { return false };
    let mut whole = vec![8, 0, 8, 4, 0];
    whole.extend(d);
    matches!(d[0], 1 | 2) && !is_one_character(&number[..9]) && luhn(&whole)
}

/// The check digit holds, or the text itself calls it one.
fn us_npi_or_named(candidate: &Candidate<'_>) -> Checked {
    if is_labelled(candidate, &["npi", "national provider identifier"]) {
        return if digits::<10>(&compact(candidate.value())).is_some() { Checked::Holds } else { Checked::Fails };
    }
    holds(candidate, us_npi)
}

/// (d1 + d3 + d5) + 2 (d2 + d4 + d6) ends in d7; the first letter is a registrant type.
fn us_dea(number: &[u8]) -> bool {
    let [kind, second, rest @ ..] = number else { return false };
    let Some(d) = digits::<7>(rest) else { return false };
    let sum = d[0] + d[2] + d[4] + 2 * (d[1] + d[3] + d[5]);
    b"ABCDEFGHJKLMPRSTUX".contains(kind) && (second.is_ascii_uppercase() || *second == b'9') && sum % 10 == d[6]
}

/// Weights 3 7 1, mod 10; the first two digits are a Federal Reserve district.
fn aba_routing(number: &[u8]) -> bool {
    digits::<9>(number).is_some_and(|d| {
        matches!(pair(&d, 0), 0..=12 | 21..=32 | 61..=72 | 80)
            && weighted(&d, &[3, 7, 1, 3, 7, 1, 3, 7, 1]).is_multiple_of(10)
            && !is_one_character(number)
    })
}

/// Luhn; the first digit is not 0 or 8.
fn ca_sin(number: &[u8]) -> bool {
    digits::<9>(number).is_some_and(|d| !matches!(d[0], 0 | 8) && luhn(&d) && !is_one_character(number))
}

/// British Columbia: begins with 9; Σ (digit · weight mod 11) over eight digits, 11 - mod 11.
fn ca_bc_phn(number: &[u8]) -> bool {
    digits::<10>(number).is_some_and(|d| {
        let terms = d[1..9].iter().zip([2, 4, 8, 5, 10, 9, 7, 3]).map(|(digit, weight)| digit * weight % 11);
        d[0] == 9 && (11 - terms.sum::<u32>() % 11) % 11 == d[9]
    })
}

/// Two check digits: weights 10 to 2 and 11 to 2, 11 - mod 11, 10 and 11 become 0.
fn br_cpf(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| {
        let check = |count: usize| {
            let sum: u32 =
                d[..count].iter().zip((2..=count as u32 + 1).rev()).map(|(digit, weight)| digit * weight).sum();
            complement_11(sum) % 11 % 10
        };
        !is_one_character(number) && check(9) == d[9] && check(10) == d[10]
    })
}

fn complement_11(sum: u32) -> u32 {
    11 - sum % 11
}

/// Two check digits with weights 2 to 9 from the right, again and again. Letters count as their code minus 48.
fn br_cnpj(number: &[u8]) -> bool {
    if number.len() != 14 || !number[12..].iter().all(u8::is_ascii_digit) || is_one_character(number) {
        return false;
    }
    let check = |count: usize| {
        let terms = number[..count].iter().rev().zip((2..=9).cycle());
        let rest = terms.map(|(byte, weight): (&u8, u32)| u32::from(byte - b'0') * weight).sum::<u32>() % 11;
        if rest < 2 { 0 } else { 11 - rest }
    };
    check(12) == u32::from(number[12] - b'0') && check(13) == u32::from(number[13] - b'0')
}

/// Weights 3 2 9 8 7 6 5 4 3 2, 11 - mod 11, 10 and 11 become 0.
fn br_pis(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| {
        complement_11(weighted(&d[..10], &[3, 2, 9, 8, 7, 6, 5, 4, 3, 2])) % 11 % 10 == d[10]
            && !is_one_character(number)
    })
}

/// Weights 5 4 3 2 7 6 5 4 3 2, 11 - mod 11, 11 becomes 0 and 10 becomes 9; the prefix is a kind of taxpayer.
fn ar_cuit(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| {
        let check = match complement_11(weighted(&d[..10], &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2])) {
            11 => 0,
            10 => 9,
            other => other,
        };
        matches!(pair(&d, 0), 20 | 23 | 24 | 27 | 30 | 33 | 34 | 50 | 51 | 55) && check == d[10]
    })
}

/// Weights 2 to 7 from the right, again and again, 11 - mod 11; 10 is K.
fn cl_rut(number: &[u8]) -> bool {
    let Some((check, body)) = number.split_last() else { return false };
    if !(7..=8).contains(&body.len()) || !body.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 = body.iter().rev().zip((2..=7).cycle()).map(|(byte, weight)| u32::from(byte - b'0') * weight).sum();
    *check == b"0123456789K0"[(complement_11(sum)) as usize]
}

/// Prime weights from the right, mod 11; 0 and 1 stand for themselves, else 11 - it.
fn co_nit(number: &[u8]) -> bool {
    const WEIGHTS: [u32; 15] = [3, 7, 13, 17, 19, 23, 29, 37, 41, 43, 47, 53, 59, 67, 71];
    let Some((check, body)) = number.split_last() else { return false };
    if !(7..=15).contains(&body.len()) || !number.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let terms = body.iter().rev().zip(WEIGHTS).map(|(byte, weight)| u32::from(byte - b'0') * weight);
    let rest = terms.sum::<u32>() % 11;
    u32::from(check - b'0') == if rest < 2 { rest } else { 11 - rest }
}

/// Weights 5 4 3 2 7 6 5 4 3 2, 11 - mod 11, mod 10; the prefix is a kind of taxpayer.
fn pe_ruc(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| {
        matches!(pair(&d, 0), 10 | 15 | 17 | 20)
            && complement_11(weighted(&d[..10], &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2])) % 10 == d[10]
    })
}

/// Weights 4 3 2 9 8 7 6 5 4 3 2, 11 - mod 11; 01 to 22 first, 001 before the check digit.
fn uy_rut(number: &[u8]) -> bool {
    digits::<12>(number).is_some_and(|d| {
        (1..=22).contains(&pair(&d, 0))
            && d[2..8] != [0; 6]
            && d[8..11] == [0, 0, 1]
            && complement_11(weighted(&d[..11], &[4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])) % 11 == d[11]
    })
}

/// Province 01 to 24, 30 or 50; third digit up to 6; Luhn.
fn ec_ci(number: &[u8]) -> bool {
    digits::<10>(number).is_some_and(|d| matches!(pair(&d, 0), 1..=24 | 30 | 50) && d[2] <= 6 && luhn(&d))
}

/// Letters of a name, birth date, sex, state, and Σ value · (18 - place), 10 - mod 10, in the alphabet with Ñ after N.
fn mx_curp(number: &[u8]) -> bool {
    const STATES: &[u8] = b"ASBCBSCCCSCHCLCMDFDGGTGRHGJCMCMNMSNTNLOCPLQTQRSPSLSRTCTSTLVZYNZSNE";
    let Some(d) = number.get(4..10).and_then(digits::<6>) else { return false };
    if number.len() != 18 || !is_date(pair(&d, 0), pair(&d, 2), pair(&d, 4)) {
        return false;
    }
    let value_of = |byte: u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'N' => u32::from(byte - b'A') + 10,
        _ => u32::from(byte - b'A') + 11,
    };
    let sum: u32 = number[..17].iter().zip((2..=18).rev()).map(|(byte, weight)| value_of(*byte) * weight).sum();
    let has_letters = number[..4].iter().chain(&number[10..16]).all(u8::is_ascii_uppercase);
    has_letters
        && matches!(number[10], b'H' | b'M')
        && STATES.chunks(2).any(|state| *state == number[11..13])
        && u32::from(number[17].wrapping_sub(b'0')) == (10 - sum % 10) % 10
}

/// Three (company) or four letters, a date, three characters.
fn mx_rfc(number: &[u8]) -> bool {
    let letters = match number.len() {
        12 => 3,
        13 => 4,
        _ => return false,
    };
    let date = digits::<6>(&number[letters..letters + 6]);
    number[..letters].iter().all(u8::is_ascii_uppercase)
        && date.is_some_and(|d| is_date(pair(&d, 0), pair(&d, 2), pair(&d, 4)))
        && matches!(number.last(), Some(b'0'..=b'9' | b'A'))
}

/// The kind of taxpayer counts 4 for each step, then weights 3 2 7 6 5 4 3 2; 11 - mod 11, 10 and 11 become 0.
fn ve_rif(number: &[u8]) -> bool {
    let Some((kind, rest)) = number.split_first() else { return false };
    let Some(step) = b"VEJPG".iter().position(|known| known == kind) else { return false };
    digits::<9>(rest).is_some_and(|d| {
        complement_11(4 * (step as u32 + 1) + weighted(&d[..8], &[3, 2, 7, 6, 5, 4, 3, 2])) % 11 % 10 == d[8]
    })
}

/// Luhn.
fn do_cedula(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| luhn(&d) && !is_one_character(number))
}

/// Weights from 2 from the right, 11 - mod 11, mod 10.
fn py_ruc(number: &[u8]) -> bool {
    let Some((check, body)) = number.split_last() else { return false };
    if !(6..=8).contains(&body.len()) || value(number).is_none() {
        return false;
    }
    let sum: u32 = body.iter().rev().zip(2..).map(|(byte, weight)| u32::from(byte - b'0') * weight).sum();
    u32::from(check - b'0') == (11 - sum % 11) % 11 % 10
}

/// Weights from 2 from the right, 11 - mod 11; 10 is K.
fn gt_nit(number: &[u8]) -> bool {
    let Some((check, body)) = number.split_last() else { return false };
    if !(6..=9).contains(&body.len()) || value(body).is_none() {
        return false;
    }
    let sum: u32 = body.iter().rev().zip(2..).map(|(byte, weight)| u32::from(byte - b'0') * weight).sum();
    *check == b"0123456789K"[((11 - sum % 11) % 11) as usize]
}
