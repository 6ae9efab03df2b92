//! Rules as data: one table per family, one entry per rule, one scanner for all of them.
//!
//! - [`rule`]: what a rule is; the tables under `tables/` and a user's own files have the same form
//! - [`library`]: the rules of the tables and of a user's files, checked
//! - [`check`]: the checks that a rule may name (a check digit, a decoded structure)
//! - [`examples`]: the texts that a rule must hit and must miss, and running them
//! - [`resolve`]: of what overlaps, the strongest
//! - [`scanner`]: text → [`Hit`]s: keywords, then a window, then the pattern, then context and check
//! - [`suppress`]: findings that a person has accepted, told by what was found and not by where
//!
//! From an entry come the scanner's pattern, the documentation, `llmverify rules`, the tests and the tags in reports.

pub mod check;
pub mod examples;
mod labels;
pub mod library;
pub mod resolve;
pub mod rule;
pub mod scanner;
pub mod suppress;

pub use check::{Candidate, Check, Checked};
pub use library::{Library, RuleError};
pub use rule::{Family, Rule, Severity};
pub use scanner::{Hit, Scanner};
pub use suppress::Suppressions;
