//! Is the service well? Each answer is compared with the rolling averages of its stream (seed 001).
//!
//! - [`outcome`]: did the call end well?
//! - [`latency`]: slower than usual?
//! - [`token_rate`]: fewer tokens per second than usual?
//! - [`fingerprint`]: shaped unlike the usual answer?
//! - [`structure`]: what structure it has, and whether a promised one is broken
//! - [`health`]: the four in one number

pub mod error_text;
pub mod fingerprint;
pub mod health;
pub mod latency;
pub mod outcome;
pub mod structure;
pub mod token_rate;
