//! Ordered, keyed memory: what came before, per stream and session. One thread, input order, numbers and hashes only.
//!
//! - [`baseline`]: exponential moving averages (seed 001)
//! - [`spc`]: control charts with the four Western Electric rules (seed 002)
//! - [`shift`]: a level that has moved is one event of the stream
//! - [`consistency`]: against the session, and against the same arguments in the past (seed 002)
//! - [`adaptive`]: thresholds and priors that follow feedback (seed 002)
//!
//! Every state is bounded, and scores a record before it learns from it.

pub mod adaptive;
pub mod baseline;
pub mod consistency;
pub mod shift;
pub mod spc;
