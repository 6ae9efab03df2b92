//! Fitted likelihood ratios of what was measured: for each measure, what each range of values adds to the log odds.
//!
//! **Formula**: log odds = `intercept` + Σ the entry of each measure's bin. The bins are ranges between `edges`, the first
//! one holds what is at most the first edge. The entries never fall as the measure grows.
//!
//! **Source**: fitted by `cargo bench --bench accuracy -- DATA groundedness-fit` on the annotations of RAGTruth
//! (development folds, MIT); `docs/accuracy.md` has protocol and figures.

use std::sync::LazyLock;

use serde::Deserialize;

/// What one measure adds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// Its name.
    pub id: String,
    /// Upper ends of all bins but the last, in ascending order.
    pub edges: Vec<f64>,
    /// What each bin adds, in nats; one more than there are edges.
    pub log_odds: Vec<f64>,
}

impl Ratio {
    /// What `value` adds.
    #[inline]
    pub fn of(&self, value: f64) -> f64 {
        let bin = self.edges.iter().take_while(|edge| value > **edge).count();
        self.log_odds.get(bin).copied().unwrap_or_default()
    }
}

/// A table of ratios.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratios {
    /// Log odds of the positives where it was fitted, with what the ratios leave over.
    pub intercept: f64,
    /// What each measure adds.
    pub ratio: Vec<Ratio>,
}

/// Both stages.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// Is this sentence unsupported by prose? By [`super::support::MEASURES`].
    pub prose: Ratios,
    /// The same by data: records of named fields, which the answer puts into words of its own.
    pub data: Ratios,
    /// Does this answer hold an unsupported statement? By [`super::trust::RESPONSE_MEASURES`].
    pub response: Ratios,
    /// The same where the sources are what tools answered: an answer adds, counts and plans on them.
    pub tool_results: Ratios,
}

static FITTED: LazyLock<Fitted> =
    LazyLock::new(|| toml::from_str(include_str!("ratios.toml")).expect("a test reads the table"));

impl Fitted {
    /// The ratios of sentences where the sources are data, or prose.
    pub fn of_sentences(&self, is_data: bool) -> &Ratios {
        if is_data { &self.data } else { &self.prose }
    }
}

/// The table that is embedded.
pub fn fitted() -> &'static Fitted {
    &FITTED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::grounding::{support::MEASURES, trust::RESPONSE_MEASURES};

    #[test]
    fn the_table_is_sound_and_monotone() {
        for (ratios, names) in [
            (&fitted().prose, &MEASURES[..]),
            (&fitted().data, &MEASURES[..]),
            (&fitted().response, &RESPONSE_MEASURES[..]),
            (&fitted().tool_results, &RESPONSE_MEASURES[..]),
        ] {
            assert_eq!(ratios.ratio.iter().map(|ratio| ratio.id.as_str()).collect::<Vec<_>>(), names);
            for ratio in &ratios.ratio {
                assert_eq!(ratio.log_odds.len(), ratio.edges.len() + 1, "{}", ratio.id);
                assert!(ratio.edges.is_sorted() && ratio.log_odds.is_sorted(), "{}", ratio.id);
            }
        }
    }

    #[test]
    fn a_value_falls_into_the_bin_below_the_next_edge() {
        let ratio = Ratio { id: String::new(), edges: vec![0.0, 2.0], log_odds: vec![-1.0, 0.0, 3.0] };
        assert_eq!([0.0, 0.1, 2.0, 2.1].map(|value| ratio.of(value)), [-1.0, 0.0, 0.0, 3.0]);
    }
}
