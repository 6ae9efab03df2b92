//! Who attacks the model, and what do prompts and answers give away?
//!
//! - [`evidence`]: every text of a record, scanned once for all of these engines
//! - [`injection`]: text that tries to subvert the model, and whether it did (`attacked`)
//! - [`indirect`]: data that speaks to the model (`attacked`)
//! - [`pii`]: data about persons (`leaking`)
//! - [`secrets`]: keys, tokens and passwords (`leaking`)
//! - [`exfiltration`]: links and images that carry data away (`leaking`)
//! - [`prompt_leak`]: the system prompt in the answer (`leaking`)
//! - [`active_content`]: what acts on whoever shows or runs the answer (`attacked`)
//!
//! The rules are data, under [`crate::rules`]; here their hits become signals and findings.

pub mod active_content;
pub mod evidence;
pub mod exfiltration;
pub mod indirect;
pub mod injection;
pub mod pii;
pub mod prompt_leak;
pub mod secrets;

pub use evidence::{Evidence, Place, ScannedText};
