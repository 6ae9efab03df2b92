//! Offline audit of LLM and tool-call logs.
//!
//! Bytes become lines, lines become records (both in the crate `llmverify-logs`), records become signals (in parallel, without memory), signals meet
//! what came before (in order, with memory), signals become four probabilities, probabilities become a verdict,
//! verdicts become a report.
//!
//! The modules below stand in the order in which the data flows, and a module imports only modules above it
//! (`tests/architecture.rs` reads this list and names an offender). `docs/architecture.md` is the guided tour;
//! `docs/extending.md` shows how to add an engine, from inside or from outside of this crate.
//!
//! The library does not print, read the clock, exit, or touch the network: only the binary speaks.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub use llmverify_logs::{assemble, hash, input, reader, record, writers};

pub mod stats;
pub mod text;
pub mod rules;
pub mod redact;
pub mod engines;
pub mod history;
pub mod verdict;
pub mod report;
pub mod config;
pub mod pipeline;
pub mod probe;
