//! Signals become four probabilities, probabilities become a verdict, verdicts meet the gate.
//!
//! - [`judge`]: signals → one [`Answer`] per question → one [`Decision`]
//! - [`gate`]: counts of decisions → passed or not, and the exit status

pub mod gate;
pub mod judge;
pub mod verifiers;

pub use judge::{Answer, Decision, Verdict};
