//! What the check digits of numbers have in common: reading the number, and the sums behind them.
//!
//! **Source**: ISO/IEC 7064 (mod 11,10; mod 11-2; mod 97-10), ISO/IEC 7812-1 annex B (Luhn), J. Verhoeff, Error
//! Detecting Decimal Codes, 1969.

use super::{Candidate, Checked};

/// The most characters of a number that is checked; what is longer is none.
pub const NUMBER_CHARS_MAX: usize = 128;

/// Letters in upper case and digits, without what stands between them.
pub fn compact(text: &str) -> Vec<u8> {
    if text.len() > NUMBER_CHARS_MAX {
        return Vec::new();
    }
    text.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_uppercase()).collect()
}

/// The digits of a number that has `N` of them and nothing else.
pub fn digits<const N: usize>(number: &[u8]) -> Option<[u32; N]> {
    let mut digits = [0; N];
    if number.len() != N {
        return None;
    }
    for (digit, byte) in digits.iter_mut().zip(number) {
        *digit = char::from(*byte).to_digit(10)?;
    }
    Some(digits)
}

/// The number that these digits spell; `None` when there are others, or more than 18.
pub fn value(number: &[u8]) -> Option<u64> {
    if number.is_empty() || number.len() > 18 {
        return None;
    }
    number.iter().try_fold(0, |value, byte| Some(value * 10 + u64::from(char::from(*byte).to_digit(10)?)))
}

/// Σ digit · weight, over as many as there are of both.
pub fn weighted(digits: &[u32], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| digit * weight).sum()
}

/// Luhn: from the right, every second digit doubled and its digits added; the sum is a multiple of 10.
pub fn luhn(digits: &[u32]) -> bool {
    luhn_sum(digits).is_multiple_of(10)
}

/// The sum that [`luhn`] looks at.
pub fn luhn_sum(digits: &[u32]) -> u32 {
    let doubled = |digit: u32| digit * 2 / 10 + digit * 2 % 10;
    let from_right = digits.iter().rev().enumerate();
    from_right.map(|(place, digit)| if place % 2 == 1 { doubled(*digit) } else { *digit }).sum()
}

/// Luhn over a text of digits of any length.
pub fn luhn_text(number: &[u8]) -> bool {
    let digits: Option<Vec<u32>> = number.iter().map(|byte| char::from(*byte).to_digit(10)).collect();
    digits.is_some_and(|digits| !digits.is_empty() && luhn(&digits))
}

/// ISO 7064 mod 97-10: letters stand for 10 to 35, and the whole number leaves 1.
pub fn is_mod_97(number: impl IntoIterator<Item = u8>) -> bool {
    let mut rest = 0;
    for byte in number {
        let Some(value) = char::from(byte).to_digit(36) else { return false };
        rest = (rest * if value > 9 { 100 } else { 10 } + value) % 97;
    }
    rest == 1
}

/// ISO 7064 mod 11,10.
pub fn is_mod_11_10(digits: &[u32]) -> bool {
    let Some((last, body)) = digits.split_last() else { return false };
    let product = body.iter().fold(10, |product, digit| {
        let sum = (product + digit) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    (product + last) % 10 == 1
}

/// Verhoeff: a chain in the group of the pentagon's symmetries, each digit permuted by its place.
pub fn verhoeff(digits: &[u32]) -> bool {
    /// Five turns, then five reflections: turn by turn adds, a reflection takes away.
    fn product(a: u32, b: u32) -> u32 {
        match (a < 5, b < 5) {
            (true, true) => (a + b) % 5,
            (true, false) => 5 + (a + b - 5) % 5,
            (false, true) => 5 + (a - 5 + 5 - b) % 5,
            (false, false) => (a - 5 + 5 - (b - 5)) % 5,
        }
    }
    const PERMUTATION: [u32; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let permuted = |digit: u32, times: usize| (0..times % 8).fold(digit, |digit, _| PERMUTATION[digit as usize]);
    digits.iter().rev().enumerate().fold(0, |sum, (place, digit)| product(sum, permuted(*digit, place))) == 0
}

/// Whether all characters are the same.
pub fn is_one_character(number: &[u8]) -> bool {
    number.windows(2).all(|pair| pair[0] == pair[1])
}

/// Whether such a day exists; two digits of a year are taken in any century, so that 29 February holds in leap years only.
pub fn is_date(year: u32, month: u32, day: u32) -> bool {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400) || year == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// The number of two digits.
pub fn pair(digits: &[u32], at: usize) -> u32 {
    digits[at] * 10 + digits[at + 1]
}

/// `Holds` when the compacted evidence satisfies `is_valid`.
pub fn holds(candidate: &Candidate<'_>, is_valid: fn(&[u8]) -> bool) -> Checked {
    if is_valid(&compact(candidate.value())) { Checked::Holds } else { Checked::Fails }
}

/// Checks by the names of their functions, each over the compacted evidence.
macro_rules! number_checks {
    ($($name:ident),* $(,)?) => {
        /// The checks of this file, by name.
        pub const CHECKS: &[(&str, $crate::rules::Check)] =
            &[$((stringify!($name), |candidate| $crate::rules::check::number::holds(candidate, $name))),*];
    };
}
pub(crate) use number_checks;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_hold_for_the_numbers_of_their_sources() {
        let of = |text: &str| text.bytes().map(|byte| u32::from(byte - b'0')).collect::<Vec<_>>();
        assert!(luhn(&of("79927398713")) && !luhn(&of("79927398714")));
        assert!(verhoeff(&of("2363")) && !verhoeff(&of("2364")));
        assert!(is_mod_11_10(&of("07945")) && !is_mod_11_10(&of("07946")));
        assert!(is_mod_97(*b"79444") && !is_mod_97(*b"79445"));
    }

    #[test]
    fn days_of_the_calendar() {
        assert!(is_date(2024, 2, 29) && !is_date(2023, 2, 29) && !is_date(1900, 2, 29) && is_date(0, 2, 29));
        assert!(!is_date(2024, 13, 1) && !is_date(2024, 4, 31) && !is_date(2024, 1, 0));
    }
}
