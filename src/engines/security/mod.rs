//! Who attacks the model, and what do prompts and answers give away?
//!
//! - [`evidence`]: every text of a record, scanned once for all of these engines
//! - [`injection`]: text that tries to subvert the model, and whether it did (`attacked`)
//! - [`pii`]: data about persons (`leaking`)
//! - [`secrets`]: keys, tokens and passwords (`leaking`)
//!
//! The rules are data, under [`crate::rules`]; here their hits become signals and findings.

pub mod evidence;
pub mod injection;
pub mod pii;
pub mod secrets;

pub use evidence::{Evidence, Place, ScannedText};
