//! Engines that check what an answer states against what can be computed, or is known.
//!
//! - [`arithmetic`]: equations, sums of tables, identities (`fabricated`)
//! - [`knowledge`]: statements against knowledge files (`fabricated`)
//! - [`temporal`]: facts given as current against a recency index, dates that cannot be (`fabricated`)
//! - [`schema`]: structured output and tool arguments against their schema (`fabricated`)
//! - [`identity`]: the model that answered against the one that was asked for (`fabricated`)
//! - [`sentence`], [`date`]: what they have in common

pub mod arithmetic;
pub mod date;
pub mod identity;
pub mod knowledge;
pub mod schema;
pub mod sentence;
pub mod temporal;

use std::sync::Arc;

/// What the configuration gives these engines to hold answers against, read and ready.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The knowledge files.
    pub knowledge: Arc<knowledge::Base>,
    /// The recency index.
    pub recency: Arc<temporal::Index>,
    /// The schemas of models and tools.
    pub schemas: Arc<schema::Schemas>,
}
