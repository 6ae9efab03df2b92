//! The checks that a rule may name: what a match must satisfy beyond its pattern.
//!
//! A check is a pure function from a [`Candidate`] to [`Checked`]. The tables name it (`check = "luhn"`); [`by_name`]
//! finds it. One file per kind of check; each states its formula and where it comes from.

pub mod phrases;

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
    ("at_line_start", phrases::at_line_start),
    ("at_sentence_start", phrases::at_sentence_start),
    ("from_the_start", phrases::from_the_start),
    ("is_order_to_drop", phrases::is_order_to_drop),
    ("mode_of_answering", phrases::mode_of_answering),
    ("no_product_name", phrases::no_product_name),
    ("not_users_own", phrases::not_users_own),
    ("order_follows", phrases::order_follows),
    ("whole_short_text", phrases::whole_short_text),
];
