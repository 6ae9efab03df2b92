//! Engines that check what an answer states against what can be computed.
//!
//! - [`arithmetic`]: equations, sums of tables, identities (`fabricated`)

pub mod arithmetic;
