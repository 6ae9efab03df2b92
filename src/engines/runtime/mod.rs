//! Is the service well?
//!
//! - [`structure`]: JSON, lists and code blocks, and whether they are broken
//! - [`fingerprint`]: the response in four numbers

pub mod fingerprint;
pub mod structure;
