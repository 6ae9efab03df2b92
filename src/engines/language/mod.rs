//! Does the answer read like a sound one? Five engines of seed 001 over the language of the response, and four for
//! answers that come to nothing.
//!
//! - [`intent`]: what kind of text is it?
//! - [`hallucination`]: does it show what made-up answers often show?
//! - [`compression`]: is it too shallow for its prompt?
//! - [`compliance`]: does it follow the rules that it was given?
//! - [`json_repair`]: can its broken JSON be mended?
//! - [`refusal`]: does it decline?
//! - [`truncation`]: does it break off?
//! - [`repetition`]: does it say the same over and over?
//! - [`gibberish`]: is it made of words?

pub mod compliance;
pub mod compression;
pub mod gibberish;
pub mod hallucination;
pub mod intent;
pub mod json_repair;
pub mod refusal;
pub mod repetition;
pub mod truncation;

/// Why an engine of responses has nothing to go on.
pub(super) const NO_RESPONSE: &str = "no response";
