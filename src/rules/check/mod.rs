//! The checks that a rule may name: what a match must satisfy beyond its pattern.
//!
//! A check is a pure function from a [`Candidate`] to [`Checked`]. The tables name it (`check = "luhn"`); [`by_name`]
//! finds it. One file per kind of check; each states its formula and where it comes from.

mod assigned;
mod key;
pub mod americas;
pub mod asia_africa;
pub mod contact;
pub mod device;
pub mod europe;
pub mod network;
pub mod number;
pub mod payment;
pub mod phrases;
pub mod placeholder;
pub mod token;
pub mod wallet;
pub mod words;

use std::ops::Range;

/// A match that is to be checked.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'t> {
    /// The text in which it stands.
    pub text: &'t str,
    /// First byte of the evidence.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

impl<'t> Candidate<'t> {
    /// The evidence of a match at `span`.
    pub fn new(text: &'t str, span: Range<usize>) -> Candidate<'t> {
        Candidate { text, start: span.start, end: span.end }
    }

    /// The evidence.
    pub fn value(&self) -> &'t str {
        self.text.get(self.start..self.end).unwrap_or_default()
    }

    /// What stands before it.
    pub fn before(&self) -> &'t str {
        self.text.get(..self.start).unwrap_or_default()
    }

    /// The last bytes of what stands before it: as many as these, up to three more for a character that they cut.
    pub fn just_before(&self, bytes: usize) -> &'t str {
        let before = self.before();
        let mut start = before.len().saturating_sub(bytes);
        while !before.is_char_boundary(start) {
            start -= 1;
        }
        &before[start..]
    }

    /// What stands behind it.
    pub fn after(&self) -> &'t str {
        self.text.get(self.end..).unwrap_or_default()
    }
}

/// What a check says of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// It is not what the rule looks for.
    Fails,
    /// It may be.
    Holds,
    /// It certainly is: a random text passes with a chance of one in a million or less.
    Proves,
    /// It is one that documentation and tests use, and names why.
    Example(&'static str),
}

/// A check.
pub type Check = fn(&Candidate<'_>) -> Checked;

/// The check of this name.
pub fn by_name(name: &str) -> Option<Check> {
    all().find(|(known, _)| *known == name).map(|(_, check)| check)
}

/// All checks, with their names.
pub fn all() -> impl Iterator<Item = (&'static str, Check)> {
    let personal = PERSONAL.iter().copied().flatten();
    INJECTION.iter().chain(SECRET).chain(personal).copied()
}

/// The checks of what stands around a phrase.
const INJECTION: &[(&str, Check)] = &[
    ("at_line_start", phrases::at_line_start),
    ("at_sentence_start", phrases::at_sentence_start),
    ("from_the_start", phrases::from_the_start),
    ("is_order_to_drop", phrases::is_order_to_drop),
    ("mode_of_answering", phrases::mode_of_answering),
    ("no_second_negation", phrases::no_second_negation),
    ("no_product_name", phrases::no_product_name),
    ("not_users_own", phrases::not_users_own),
    ("order_follows", phrases::order_follows),
    ("whole_short_text", phrases::whole_short_text),
];

/// The checks of tokens and keys.
const SECRET: &[(&str, Check)] = &[
    ("not_placeholder", placeholder::check),
    ("random_value", assigned::random),
    ("assigned_value", assigned::assigned),
    ("random_with_digits", assigned::random_with_digits),
    ("password_value", assigned::password),
    ("said_password", assigned::said_password),
    ("pin_code", assigned::pin_code),
    ("header_credentials", assigned::header_credentials),
    ("random_with_digits_said", assigned::said_random),
    ("inline_password", assigned::inline_password),
    ("crc_base62", token::crc_base62),
    ("crc_grafana", token::crc_grafana),
    ("openai_marker", token::openai),
    ("jwt", token::jwt),
    ("sentry_payload", token::sentry),
    ("macaroon", token::macaroon),
    ("base64_of_64_bytes", token::base64_of_64_bytes),
    ("private_key", key::private_key),
    ("service_account", key::service_account),
    ("basic_credentials", key::basic_credentials),
    ("base58check", key::base58check),
    ("bech32", key::bech32),
    ("crc16_base32", key::crc16_base32),
    ("seed_phrase", key::seed_phrase),
];

/// The checks of numbers and names of persons, file by file.
const PERSONAL: &[&[(&str, Check)]] = &[
    americas::CHECKS,
    americas::CHECKS_IN_TEXT,
    europe::CHECKS,
    asia_africa::CHECKS,
    payment::CHECKS,
    payment::CHECKS_IN_TEXT,
    wallet::CHECKS,
    network::CHECKS,
    device::CHECKS,
    device::CHECKS_IN_TEXT,
    contact::CHECKS,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Golden {
        check: String,
        number: String,
        valid: bool,
    }

    #[test]
    fn every_check_digit_agrees_with_an_independent_implementation() {
        let golden = include_str!("../../../fixtures/golden/pii_numbers.jsonl");
        let mut disagreements = Vec::new();
        for line in golden.lines() {
            let golden: Golden = serde_json::from_str(line).unwrap();
            let check = by_name(&golden.check).unwrap_or_else(|| panic!("no check {}", golden.check));
            let passes = check(&Candidate::new(&golden.number, 0..golden.number.len())) != Checked::Fails;
            if passes != golden.valid {
                disagreements.push(format!("{} {} {}", golden.check, golden.number, golden.valid));
            }
        }
        assert!(disagreements.is_empty(), "{} disagree: {disagreements:#?}", disagreements.len());
    }

    #[test]
    fn names_of_checks_are_unique() {
        let mut names: Vec<&str> = all().map(|(name, _)| name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
