//! Shannon entropy of the characters of a text.
//!
//! **Formula**: H = log2 N - (1/N) Σ c log2 c over the counts c of the distinct Unicode code points, N their sum.
//!
//! **Range**: 0 (at most one distinct character) to log2 of the number of distinct characters; in bits.
//!
//! **Source**: seed 001, "Shannon entropy of character distribution".

use std::{ops::RangeInclusive, sync::LazyLock};

/// How often each character beyond ASCII occurs; ASCII is counted in the end, in a pass of its own.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Open-addressing table: code point (0 when free) and count.
    others: Vec<(u32, u64)>,
    distinct_others: usize,
}

/// Sums over the characters of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Characters in all.
    pub total: u64,
    /// Letters and digits.
    pub alphanumerics: u64,
    /// Characters that are neither letter, digit, white space nor control.
    pub punctuation: u64,
    /// Question marks.
    pub questions: u64,
    /// Tabs.
    pub tabs: u64,
    /// The entropy in bits.
    pub entropy_bits: f64,
}

impl Histogram {
    /// Counts one character beyond ASCII.
    pub fn add(&mut self, character: char) {
        if self.distinct_others * 2 >= self.others.len() {
            self.grow();
        }
        let index = find(&self.others, character as u32);
        let slot = &mut self.others[index];
        self.distinct_others += usize::from(slot.0 == 0);
        *slot = (character as u32, slot.1 + 1);
    }

    /// The sums over all characters, the ASCII ones of `bytes` included. Ranges instead of tests: a branch per character costs more than a short text.
    pub fn summary(&self, bytes: &[u8]) -> Summary {
        let mut counts = [0u32; 256];
        for byte in bytes {
            counts[usize::from(*byte)] += 1;
        }
        let ascii = &counts[..128];
        let sum = |ranges: &[RangeInclusive<u8>]| -> u64 {
            ranges
                .iter()
                .map(|r| {
                    ascii[usize::from(*r.start())..=usize::from(*r.end())]
                        .iter()
                        .map(|count| u64::from(*count))
                        .sum::<u64>()
                })
                .sum()
        };
        let mut summary = Summary {
            total: sum(&[0..=127]),
            alphanumerics: sum(&[b'0'..=b'9', b'A'..=b'Z', b'a'..=b'z']),
            punctuation: sum(&[b'!'..=b'/', b':'..=b'@', b'['..=b'`', b'{'..=b'~']),
            questions: ascii[usize::from(b'?')].into(),
            tabs: ascii[usize::from(b'\t')].into(),
            entropy_bits: 0.0,
        };
        let known = TIMES_LOG2.as_slice();
        let mut weighted = 0.0;
        // Whole groups, because which single characters occur cannot be predicted; those that do not add 0.
        for group in ascii.chunks_exact(8).filter(|group| group.iter().fold(0, |any, count| any | count) > 0) {
            for count in group {
                weighted += times_log2(known, u64::from(*count));
            }
        }
        for (character, count) in self.others.iter().filter_map(|slot| Some((char::from_u32(slot.0)?, slot.1))) {
            summary.total += count;
            weighted += times_log2(known, count);
            if character.is_alphanumeric() {
                summary.alphanumerics += count;
            } else if !character.is_whitespace() && !character.is_control() {
                summary.punctuation += count;
            }
        }
        if summary.total > 0 {
            let total = summary.total as f64;
            summary.entropy_bits = (total.log2() - weighted / total).max(0.0);
        }
        summary
    }

    fn grow(&mut self) {
        let larger = vec![(0, 0); (self.others.len() * 2).max(32)];
        for slot in std::mem::replace(&mut self.others, larger) {
            if slot.0 != 0 {
                let index = find(&self.others, slot.0);
                self.others[index] = slot;
            }
        }
    }
}

/// c log2 c, 0 for 0.
fn times_log2(known: &[f64], count: u64) -> f64 {
    match known.get(count as usize) {
        Some(value) => *value,
        None => count as f64 * (count as f64).log2(),
    }
}

/// c log2 c of the counts that are usual in a text of some pages: logarithms are most of the work otherwise.
static TIMES_LOG2: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..512).map(|count: u32| f64::from(count) * f64::from(count.max(1)).log2()).collect());

fn find(slots: &[(u32, u64)], code_point: u32) -> usize {
    let mask = slots.len() - 1;
    let mut index = (code_point.wrapping_mul(0x9E37_79B9) >> 12) as usize & mask;
    while slots[index].0 != 0 && slots[index].0 != code_point {
        index = (index + 1) & mask;
    }
    index
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use crate::text::words::Words;

    fn naive(text: &str) -> f64 {
        let mut counts = BTreeMap::new();
        text.chars().for_each(|c| *counts.entry(c).or_insert(0.0) += 1.0);
        let total: f64 = counts.values().sum();
        counts.values().map(|c: &f64| -c / total * (c / total).log2()).sum()
    }

    #[test]
    fn one_character_has_no_entropy_and_two_have_one_bit() {
        for (text, bits) in [("", 0.0), ("aaaa", 0.0), ("abab", 1.0), ("éèéè", 1.0), ("a🎉a🎉", 1.0)] {
            assert_eq!(Words::of(text).characters.entropy_bits, bits, "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_is_the_textbook_sum(text in "[a-e é日本語\u{1F680}-\u{1F6FF}\u{a0}.]{0,200}") {
            let summary = Words::of(&text).characters;
            prop_assert!((summary.entropy_bits - naive(&text)).abs() < 1e-9);
            prop_assert_eq!(summary.total, text.chars().count() as u64);
        }
    }
}
