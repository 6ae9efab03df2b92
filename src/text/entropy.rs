//! Shannon entropy of the characters of a text.
//!
//! **Formula**: H = log2 N - (1/N) Σ c log2 c over the counts c of the distinct Unicode code points, N their sum.
//!
//! **Range**: 0 (at most one distinct character) to log2 of the number of distinct characters; in bits.
//!
//! **Source**: seed 001, "Shannon entropy of character distribution".

/// How often each character occurs.
#[derive(Clone, Debug)]
pub struct Histogram {
    ascii: [u64; 128],
    /// Open-addressing table of the other characters: code point (0 when free) and count.
    others: Vec<(u32, u64)>,
    distinct_others: usize,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { ascii: [0; 128], others: Vec::new(), distinct_others: 0 }
    }
}

impl Histogram {
    /// Counts the ASCII characters of `bytes`; for the others see [`Histogram::add`].
    pub fn add_ascii(&mut self, bytes: &[u8]) {
        let mut counts = [[0u64; 256]; 2];
        for pair in bytes.chunks(2) {
            counts[0][usize::from(pair[0])] += 1;
            counts[1][usize::from(*pair.last().unwrap_or(&0))] += u64::from(pair.len() == 2);
        }
        for (index, sum) in self.ascii.iter_mut().enumerate() {
            *sum += counts[0][index] + counts[1][index];
        }
    }

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

    /// How often the ASCII character `byte` occurs.
    pub fn ascii(&self, byte: u8) -> u64 {
        self.ascii.get(usize::from(byte)).copied().unwrap_or(0)
    }

    /// Characters in all.
    pub fn total(&self) -> u64 {
        self.counts().sum()
    }

    /// Letters and digits.
    pub fn alphanumerics(&self) -> u64 {
        let ascii = (0..128u8).filter(u8::is_ascii_alphanumeric).map(|byte| self.ascii(byte)).sum::<u64>();
        ascii + self.others_that(char::is_alphanumeric)
    }

    /// Characters that are neither letter, digit, white space nor control.
    pub fn punctuation(&self) -> u64 {
        let ascii = (0..128u8).filter(u8::is_ascii_punctuation).map(|byte| self.ascii(byte)).sum::<u64>();
        let is_mark = |c: char| !c.is_alphanumeric() && !c.is_whitespace() && !c.is_control();
        ascii + self.others_that(is_mark)
    }

    /// The entropy in bits.
    pub fn entropy_bits(&self) -> f64 {
        let total = self.total() as f64;
        if total == 0.0 {
            return 0.0;
        }
        let weighted: f64 = self.counts().filter(|count| *count > 1).map(|c| c as f64 * (c as f64).log2()).sum();
        (total.log2() - weighted / total).max(0.0)
    }

    fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.ascii.iter().copied().chain(self.others.iter().map(|slot| slot.1))
    }

    fn others_that(&self, is: impl Fn(char) -> bool) -> u64 {
        let used = self.others.iter().filter(|slot| char::from_u32(slot.0).is_some_and(&is));
        used.map(|slot| slot.1).sum()
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
            assert_eq!(Words::of(text).histogram.entropy_bits(), bits, "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_is_the_textbook_sum(text in "[a-e é日本語\u{1F680}-\u{1F6FF}\u{a0}.]{0,200}") {
            let histogram = Words::of(&text).histogram;
            prop_assert!((histogram.entropy_bits() - naive(&text)).abs() < 1e-9);
            prop_assert_eq!(histogram.total(), text.chars().count() as u64);
        }
    }
}
