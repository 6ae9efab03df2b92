//! How much a word tells: its inverse document frequency, by an embedded table.
//!
//! **Formula**: idf = ln((N + 1) / (df + 0.5)), rounded to half a nat. A word that is not in the table counts as never
//! seen: [`IDF_MAX`].
//!
//! **Source**: counted over 4,397 English texts of at least 300 bytes (first 6,000 characters of each) out of BEGIN
//! (CC-BY), FoolMeTwice and SummEdits and Factcheck-GPT (Apache-2.0), HaluEval general (MIT), and prompts of
//! FastChat, Arena-Hard and self-instruct (Apache-2.0); words in six texts or more. What is embedded are counts, no text.
//!
//! **Limits**: English. For other languages every word weighs the same.

use std::sync::LazyLock;

use super::{table::Table, tokens::stem_of};

/// The weight of a word that is not in the table: ln(4398 / 0.5).
pub const IDF_MAX: f64 = 9.08;
/// Steps of the table for each nat.
const STEPS_PER_NAT: f64 = 2.0;

static CLASSES: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    for line in include_str!("document_frequencies.txt").lines() {
        let mut parts = line.split(' ');
        let class = parts.next().and_then(|class| class.parse().ok()).unwrap_or_default();
        for word in parts {
            table.get_or_insert(stem_of(word), class);
        }
    }
    table
});

/// The weight of a stem, in nats.
#[inline]
pub fn idf(stem: u32) -> f64 {
    CLASSES.get(stem).map_or(IDF_MAX, |class| f64::from(class) / STEPS_PER_NAT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_weigh_more() {
        let of = |word| idf(stem_of(word));
        assert!(of("time") < of("president") && of("president") < of("zyzzyva"));
        assert_eq!(of("zyzzyva"), IDF_MAX);
        assert_eq!(of("Times"), of("time"));
    }
}
