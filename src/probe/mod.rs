//! Engines from outside, one at a time: JSON in, JSON out.
//!
//! - [`language`]: the engines of seed 001 that read a text

pub mod language;
