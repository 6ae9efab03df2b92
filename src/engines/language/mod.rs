//! Does the answer read like a sound one? Five engines of seed 001 over the language of the response, and seven for
//! answers that come to nothing.
//!
//! - [`intent`]: what kind of text is it?
//! - [`hallucination`]: does it show what made-up answers often show?
//! - [`compression`]: is it too shallow for its prompt?
//! - [`compliance`]: does it follow the rules that it was given?
//! - [`json_repair`]: can its broken JSON be mended?
//! - [`refusal`]: does it decline?
//! - [`truncation`]: does it break off?
//! - [`repetition`]: does it say the same over and over?
//! - [`gibberish`]: is it made of words?
//! - [`echo`]: is it what the user said?
//! - [`template`]: was it filled in?
//! - [`other_language`]: is it in the language that was asked for?

use super::{Assessment, Question, RatioSource, Signal, Tier, View};
use crate::record::Kind;

pub mod compliance;
pub mod compression;
pub mod echo;
pub mod gibberish;
pub mod hallucination;
pub mod intent;
pub mod json_repair;
pub mod other_language;
pub mod refusal;
pub mod repetition;
pub mod template;
pub mod truncation;

/// Why an engine of responses has nothing to go on.
pub(super) const NO_RESPONSE: &str = "no response";

/// What `judge` says of the response of an LLM call; calls of tools do not concern these engines.
fn of_response(view: &View<'_, '_>, judge: impl FnOnce(&str) -> Assessment) -> Option<Assessment> {
    let record = view.record;
    (record.kind == Kind::Llm)
        .then(|| record.response.as_deref().map_or_else(|| Assessment::not_assessed(NO_RESPONSE), judge))
}

/// The signal of an engine that asks how well the service is, not fired yet; with the ratio that its settings ask for.
fn degraded(id: &'static str, set_ratio: f64, built_in_ratio: f64) -> Signal {
    let ratio = RatioSource::default_or_config(set_ratio, built_in_ratio);
    Signal::absent(id, Question::Degraded, Tier::Zero, ratio)
}
