//! Does the answer read like a sound one? Five engines over the language of the response (seed 001).
//!
//! - [`intent`]: what kind of text is it?
//! - [`hallucination`]: does it show what made-up answers often show?
//! - [`compression`]: is it too shallow for its prompt?
//! - [`compliance`]: does it follow the rules that it was given?
//! - [`json_repair`]: can its broken JSON be mended?

pub mod compliance;
pub mod compression;
pub mod hallucination;
pub mod intent;
pub mod json_repair;

use super::RatioSource;

/// Why an engine of responses has nothing to go on.
pub(super) const NO_RESPONSE: &str = "no response";

/// The likelihood ratio that a setting asks for, and where it comes from; the built-in one when it is no ratio.
pub(super) fn ratio(set: f64, built_in: f64) -> (f64, RatioSource) {
    let is_ratio = set.is_finite() && set >= 0.0;
    if is_ratio && set != built_in { (set, RatioSource::Config) } else { (built_in, RatioSource::Default) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_from_the_configuration_is_taken_as_it_stands() {
        assert_eq!(ratio(1.2, 1.2), (1.2, RatioSource::Default));
        assert_eq!(ratio(7.0, 1.2), (7.0, RatioSource::Config));
        assert_eq!(ratio(f64::NAN, 1.2), (1.2, RatioSource::Default));
        assert_eq!(ratio(-1.0, 1.2), (1.2, RatioSource::Default));
    }
}
