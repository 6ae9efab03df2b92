//! The checks that a rule may name: what a match must satisfy beyond its pattern.
//!
//! A check is a pure function from a [`Candidate`] to [`Checked`]. The tables name it (`check = "luhn"`); [`by_name`]
//! finds it. One file per kind of check; each states its formula and where it comes from.

mod assigned;
mod key;
pub mod placeholder;
pub mod token;
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
    CHECKS.iter().find(|(known, _)| *known == name).map(|(_, check)| *check)
}

/// All checks, by name.
pub const CHECKS: &[(&str, Check)] = &[
    // Secrets.
    ("not_placeholder", placeholder::check),
    ("random_value", assigned::random),
    ("assigned_value", assigned::assigned),
    ("random_with_digits", assigned::random_with_digits),
    ("password_value", assigned::password),
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
    ("seed_phrase", key::seed_phrase),
];
