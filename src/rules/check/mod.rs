//! The checks that a rule may name: what a match must satisfy beyond its pattern.
//!
//! A check is a pure function from a [`Candidate`] to [`Checked`]. The tables name it (`check = "luhn"`); [`by_name`]
//! finds it. One file per kind of check; each states its formula and where it comes from.

use std::ops::Range;

pub mod americas;
pub mod asia_africa;
pub mod contact;
pub mod device;
pub mod europe;
pub mod network;
pub mod number;
pub mod payment;
pub mod wallet;

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
    let all = CHECKS.iter().chain(PERSONAL.iter().copied().flatten());
    all.into_iter().find(|(known, _)| *known == name).map(|(_, check)| *check)
}

/// All checks, by name.
pub const CHECKS: &[(&str, Check)] = &[];

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
        let mut names: Vec<&str> =
            CHECKS.iter().chain(PERSONAL.iter().copied().flatten()).map(|(name, _)| *name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
