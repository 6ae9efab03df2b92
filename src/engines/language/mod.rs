//! Does the answer read like a sound one? Five engines over the language of the response (seed 001).
//!
//! - [`intent`]: what kind of text is it?
//! - [`hallucination`]: does it show what made-up answers often show?
//! - [`compression`]: is it too shallow for its prompt?
//! - [`compliance`]: does it follow the rules that it was given?
//! - [`json_repair`]: can its broken JSON be mended?

pub mod compliance;
pub mod compression;
pub mod hallucination;
pub mod intent;
pub mod json_repair;

/// Why an engine of responses has nothing to go on.
pub(super) const NO_RESPONSE: &str = "no response";
