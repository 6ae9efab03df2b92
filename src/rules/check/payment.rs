//! Numbers of payment and securities: cards, bank accounts, identifiers of paper.
//!
//! **Formula**: cards: a known prefix with its length, and Luhn. IBAN: a known country with its length, and mod 97 = 1.
//! Chance of a random number: card 0.03 (Luhn 0.1, prefix 0.3), IBAN 0.01 besides the country, BIC by its country.
//!
//! **Source**: ISO/IEC 7812-1, ISO 13616 with SWIFT's IBAN registry, ISO 9362, ISO 6166, ISO 17442.

use super::{
    Candidate, Check, Checked,
    number::{compact, digits, is_mod_97, is_one_character, luhn, luhn_text, number_checks, value},
};
use crate::rules::scanner::has_word_near;

number_checks![bic, isin, cusip, sedol, lei];

/// Checks that know examples, or look at what stands around.
pub const CHECKS_IN_TEXT: &[(&str, Check)] = &[("credit_card", credit_card), ("iban", iban)];

/// Numbers that card networks and payment services publish for tests.
const TEST_CARDS: &[&str] = &[
    "4111111111111111",
    "4242424242424242",
    "4012888888881881",
    "4222222222222",
    "5555555555554444",
    "5105105105105100",
    "2223003122003222",
    "378282246310005",
    "371449635398431",
    "378734493671000",
    "6011111111111117",
    "6011000990139424",
    "30569309025904",
    "38520000023237",
    "3530111333300000",
    "3566002020360505",
    "6200000000000005",
    "5019717010103742",
    "6331101999990016",
    "122000000000003",
    "4484070000000000",
];

/// IBANs of specifications and manuals.
const EXAMPLE_IBANS: &[&[u8]] = &[
    b"GB82WEST12345698765432",
    b"GB29NWBK60161331926819",
    b"DE89370400440532013000",
    b"FR1420041010050500013M02606",
    b"NL91ABNA0417164300",
    b"ES9121000418450200051332",
    b"IT60X0542811101000000123456",
    b"CH9300762011623852957",
    b"AT611904300234573201",
    b"BE68539007547034",
    b"GB33BUKB20201555555555",
];

/// Whether the number stands by itself: not a part of an identifier, of a decimal number, or of a path.
pub fn stands_alone(candidate: &Candidate<'_>) -> bool {
    let before = candidate.before().as_bytes();
    let after = candidate.after().as_bytes();
    let joins = |joint: Option<&u8>, beyond: Option<&u8>| match joint {
        Some(b'_' | b'@' | b'#' | b'$' | b'\\') => true,
        Some(b'-' | b'.' | b'/' | b',' | b'=' | b'%') => beyond.is_some_and(u8::is_ascii_alphanumeric),
        Some(byte) => byte.is_ascii_alphanumeric(),
        None => false,
    };
    let last = before.len();
    let is_joined_before = joins(last.checked_sub(1).map(|at| &before[at]), last.checked_sub(2).map(|at| &before[at]))
        && before.last() != Some(&b'=');
    !is_joined_before && !joins(after.first(), after.get(1))
}

fn credit_card(candidate: &Candidate<'_>) -> Checked {
    let number = compact(candidate.value());
    if !luhn_text(&number) || is_one_character(&number) || !stands_alone(candidate) {
        return Checked::Fails;
    }
    let may_be_new = matches!(number[0], b'2'..=b'6') && number.len() == 16 && speaks_of_cards(candidate);
    if !is_issued(&number) && !may_be_new {
        return Checked::Fails;
    }
    let is_test = TEST_CARDS.iter().any(|test| test.as_bytes() == number) || number.starts_with(b"40000000000000");
    if is_test { Checked::Example("test card") } else { Checked::Holds }
}

/// Networks get new prefixes: behind a word for cards, sixteen digits whose check digit holds are enough.
fn speaks_of_cards(candidate: &Candidate<'_>) -> bool {
    let words = ["card", "credit", "debit", "cc"].map(str::to_owned);
    has_word_near(candidate.text, &(candidate.start..candidate.end), &words)
}

/// Whether a network gives out numbers of this length that begin like this.
fn is_issued(number: &[u8]) -> bool {
    let (length, Some(prefix)) = (number.len(), number.get(..6).and_then(value)) else { return false };
    match prefix {
        400_000..500_000 => matches!(length, 13 | 16 | 19),
        510_000..560_000 | 222_100..272_100 => length == 16,
        340_000..350_000 | 370_000..380_000 => length == 15,
        352_800..359_000 => (16..=19).contains(&length),
        300_000..306_000 | 360_000..370_000 | 380_000..400_000 => (14..=19).contains(&length),
        220_000..220_500 => (16..=19).contains(&length),
        500_000..510_000 | 560_000..600_000 => (12..=19).contains(&length),
        600_000..700_000 => (12..=19).contains(&length),
        810_000..830_000 => length == 16,
        100_000..180_000 => length == 15,
        180_000..180_100 | 213_100..213_200 => length == 15,
        _ => false,
    }
}

/// Length of an IBAN by country.
const IBAN_LENGTHS: &[(&[u8; 2], usize)] = &[
    (b"AD", 24),
    (b"AE", 23),
    (b"AL", 28),
    (b"AT", 20),
    (b"AZ", 28),
    (b"BA", 20),
    (b"BE", 16),
    (b"BG", 22),
    (b"BH", 22),
    (b"BI", 27),
    (b"BR", 29),
    (b"BY", 28),
    (b"CH", 21),
    (b"CR", 22),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DJ", 27),
    (b"DK", 18),
    (b"DO", 28),
    (b"EE", 20),
    (b"EG", 29),
    (b"ES", 24),
    (b"FI", 18),
    (b"FK", 18),
    (b"FO", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GE", 22),
    (b"GI", 23),
    (b"GL", 18),
    (b"GR", 27),
    (b"GT", 28),
    (b"HN", 28),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IQ", 23),
    (b"IS", 26),
    (b"IT", 27),
    (b"JO", 30),
    (b"KW", 30),
    (b"KZ", 20),
    (b"LB", 28),
    (b"LC", 32),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"LY", 25),
    (b"MC", 27),
    (b"MD", 24),
    (b"ME", 22),
    (b"MK", 19),
    (b"MN", 20),
    (b"MR", 27),
    (b"MT", 31),
    (b"MU", 30),
    (b"NI", 28),
    (b"NL", 18),
    (b"NO", 15),
    (b"OM", 23),
    (b"PK", 24),
    (b"PL", 28),
    (b"PS", 29),
    (b"PT", 25),
    (b"QA", 29),
    (b"RO", 24),
    (b"RS", 22),
    (b"RU", 33),
    (b"SA", 24),
    (b"SC", 31),
    (b"SD", 18),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"SO", 23),
    (b"ST", 25),
    (b"SV", 28),
    (b"TL", 23),
    (b"TN", 24),
    (b"TR", 26),
    (b"UA", 29),
    (b"VA", 22),
    (b"VG", 24),
    (b"XK", 20),
    (b"YE", 30),
];

fn iban(candidate: &Candidate<'_>) -> Checked {
    let whole = compact(candidate.value());
    let length = IBAN_LENGTHS.iter().find(|(country, _)| whole.starts_with(*country)).map(|(_, length)| *length);
    if length != Some(whole.len()) || !is_mod_97(whole[4..].iter().chain(&whole[..4]).copied()) {
        return Checked::Fails;
    }
    if EXAMPLE_IBANS.contains(&whole.as_slice()) {
        Checked::Example("account of documentation")
    } else {
        Checked::Holds
    }
}

/// Four letters, a country, two characters for the place, and three for the branch or none.
fn bic(number: &[u8]) -> bool {
    matches!(number.len(), 8 | 11)
        && number[..6].iter().all(u8::is_ascii_uppercase)
        && super::network::is_country(&number[4..6])
}

/// A country and nine characters, letters as two digits, Luhn.
fn isin(number: &[u8]) -> bool {
    if number.len() != 12 || !number[..2].iter().all(u8::is_ascii_uppercase) || !number[11].is_ascii_digit() {
        return false;
    }
    let spelled = number.iter().flat_map(|byte| {
        let value = char::from(*byte).to_digit(36).unwrap_or(0);
        [value / 10, value % 10].into_iter().skip(usize::from(value < 10))
    });
    (super::network::is_country(&number[..2]) || number.starts_with(b"XS")) && luhn(&spelled.collect::<Vec<_>>())
}

/// Every second value doubled, digit sums, 10 - mod 10.
fn cusip(number: &[u8]) -> bool {
    if number.len() != 9 || !number[8].is_ascii_digit() {
        return false;
    }
    let value_of = |byte: &u8| char::from(*byte).to_digit(36).unwrap_or(0);
    let terms = number[..8].iter().enumerate().map(|(place, byte)| value_of(byte) * if place % 2 == 1 { 2 } else { 1 });
    (10 - terms.map(|value| value / 10 + value % 10).sum::<u32>() % 10) % 10 == value_of(&number[8])
}

/// Weights 1 3 1 7 3 9 1 over values without vowels, mod 10.
fn sedol(number: &[u8]) -> bool {
    if number.len() != 7 || number.iter().any(|byte| b"AEIOU".contains(byte)) || !number[6].is_ascii_digit() {
        return false;
    }
    // The numbers of before 2004 have digits only.
    if number[0].is_ascii_digit() && digits::<7>(number).is_none() {
        return false;
    }
    let values: Vec<u32> = number.iter().map(|byte| char::from(*byte).to_digit(36).unwrap_or(0)).collect();
    super::number::weighted(&values, &[1, 3, 1, 7, 3, 9, 1]).is_multiple_of(10)
}

/// Eighteen characters and two digits, mod 97 = 1.
fn lei(number: &[u8]) -> bool {
    number.len() == 20 && number[18..].iter().all(u8::is_ascii_digit) && is_mod_97(number.iter().copied())
}
