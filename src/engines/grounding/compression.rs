//! How well the sources spell out the answer: the cost of copying it from them, against that of writing it alone.
//!
//! **Formula**: the answer is parsed from left to right into copies and literal bytes. A copy is the longest match of at
//! least [`MATCH_BYTES_MIN`] bytes at one of the last [`CANDIDATES`] places where the same four bytes stood, in the sources or earlier in the
//! answer; it costs [`MATCH_BITS`], a literal [`LITERAL_BITS`]. ratio = cost with the sources / cost without them.
//!
//! **Range**: 0 (copied) to about 1 (nothing of it stands in the sources).
//!
//! **Source**: conditional compression as a measure of similarity (Li et al. 2004, "The similarity metric"); the parse is
//! that of LZ77.
//!
//! **Limits**: the last [`SOURCE_BYTES_MAX`] bytes of the sources and the first [`ANSWER_BYTES_MAX`] of the answer.

use std::ops::Range;

/// Bytes of the sources that can be copied from.
pub const SOURCE_BYTES_MAX: usize = 256 << 10;
/// Bytes of the answer that are parsed.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Bytes of the shortest copy.
pub const MATCH_BYTES_MIN: usize = 4;
/// What a copy costs: where it stands and how long it is.
pub const MATCH_BITS: f64 = 18.0;
/// What a byte costs that is not copied.
pub const LITERAL_BITS: f64 = 5.0;

/// Earlier places of the same four bytes that are tried for a copy.
const CANDIDATES: usize = 8;
const HASH_BITS: u32 = 15;

/// Latest places of four bytes.
pub struct Matcher {
    /// Place plus `base`; below `base` it is of another text.
    heads: Vec<u32>,
    base: u32,
    used: u32,
    /// For each place, how far back the same hash stood before; 0 for not at all.
    back: Vec<u32>,
}

impl Default for Matcher {
    fn default() -> Matcher {
        Matcher { heads: vec![0; 1 << HASH_BITS], base: 1, used: 0, back: Vec::new() }
    }
}

#[inline]
fn four(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|four| u32::from_le_bytes(*four) | 0x2020_2020)
}

#[inline]
fn slot(four: u32) -> usize {
    (four.wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)) as usize
}

impl Matcher {
    fn reset(&mut self) {
        match self.base.checked_add(self.used).filter(|base| *base < u32::MAX / 2) {
            Some(base) => self.base = base,
            None => *self = Matcher::default(),
        }
        self.used = 0;
        self.back.clear();
    }

    #[inline]
    fn put(&mut self, four: u32, place: usize) {
        let head = &mut self.heads[slot(four)];
        let earlier = head.checked_sub(self.base).map_or(0, |earlier| place as u32 - earlier);
        *head = self.base + place as u32;
        self.back.resize(place, 0);
        self.back.push(earlier);
        self.used = place as u32 + 1;
    }

    #[inline]
    fn get(&self, four: u32) -> Option<usize> {
        self.heads[slot(four)].checked_sub(self.base).map(|place| place as usize)
    }

    /// What each of the `pieces` of `answer` costs, in bits, when it can be copied from `source` and from what is before
    /// it; and what the whole costs without the source.
    pub fn costs(&mut self, source: &[u8], answer: &[u8], pieces: &[Range<usize>], costs: &mut Vec<f64>) -> (f64, f64) {
        let source = &source[source.len().saturating_sub(SOURCE_BYTES_MAX)..];
        let answer = &answer[..answer.len().min(ANSWER_BYTES_MAX)];
        costs.clear();
        costs.resize(pieces.len(), 0.0);
        self.reset();
        for at in 0..source.len().saturating_sub(3) {
            if let Some(four) = four(source, at) {
                self.put(four, at);
            }
        }
        let with = self.parse(source, answer, pieces, costs);
        self.reset();
        let alone = self.parse(&[], answer, &[], &mut Vec::new());
        (with, alone)
    }

    fn parse(&mut self, source: &[u8], answer: &[u8], pieces: &[Range<usize>], costs: &mut [f64]) -> f64 {
        let mut piece = 0;
        let (mut at, mut total) = (0, 0.0);
        while at < answer.len() {
            while piece < pieces.len() && pieces[piece].end <= at {
                piece += 1;
            }
            let length = self.longest(source, answer, at);
            let (width, bits) = if length >= MATCH_BYTES_MIN { (length, MATCH_BITS) } else { (1, LITERAL_BITS) };
            for place in at..at + width {
                if let Some(four) = four(answer, place) {
                    self.put(four, source.len() + place);
                }
            }
            total += bits;
            if let Some(cost) = costs.get_mut(piece) {
                *cost += bits;
            }
            at += width;
        }
        total
    }

    /// The length of the match for what stands at `at` of the answer.
    fn longest(&self, source: &[u8], answer: &[u8], at: usize) -> usize {
        let Some(mut place) = four(answer, at).and_then(|four| self.get(four)) else { return 0 };
        let mut longest = 0;
        for _ in 0..CANDIDATES {
            let text = match place.checked_sub(source.len()) {
                None => &source[place..],
                Some(earlier) => &answer[earlier..at],
            };
            let length = text.iter().zip(&answer[at..]).take_while(|(a, b)| *a | 0x20 == **b | 0x20).count();
            longest = longest.max(length);
            match self.back.get(place) {
                Some(&back) if back > 0 => place -= back as usize,
                _ => break,
            }
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ratio(source: &str, answer: &str) -> f64 {
        let mut costs = Vec::new();
        let (with, alone) = Matcher::default().costs(source.as_bytes(), answer.as_bytes(), &[], &mut costs);
        with / alone
    }

    #[test]
    fn copies_cost_less_than_inventions() {
        let source = "The tower stands in the centre of the city and was finished in 1889.";
        assert!(ratio(source, "The tower was finished in 1889.") < 0.5);
        assert!(ratio(source, "Green cheese makes poor building material.") > 0.9);
        assert_eq!(ratio("", "anything at all"), 1.0);
    }

    proptest! {
        #[test]
        fn a_matcher_forgets_what_it_read(source in "[a-c]{0,60}", answer in "[a-c]{1,60}", other in "[a-c]{0,60}") {
            let (mut used, mut costs) = (Matcher::default(), Vec::new());
            used.costs(other.as_bytes(), source.as_bytes(), &[], &mut costs);
            let (with, alone) = used.costs(source.as_bytes(), answer.as_bytes(), &[], &mut costs);
            prop_assert_eq!(with / alone, ratio(&source, &answer));
        }
    }
}
