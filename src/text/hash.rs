//! The hash by which words are compared: the same for upper and lower case, the same on every machine.
//!
//! **Limits**: 64 bits; two of a million different words collide with a chance of 3 in 100 million, and then count as
//! one.

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
const LOWER_CASE_BITS: u64 = 0x2020_2020_2020_2020;

/// The hash of a word in any case, a curly apostrophe counting as a straight one.
pub fn hash_of(word: &str) -> u64 {
    if word.is_ascii() {
        return hash_at(word.as_bytes(), 0, word.len());
    }
    let lower = word.to_lowercase().replace('\u{2019}', "'");
    hash_at(lower.as_bytes(), 0, lower.len())
}

/// The hash of the word `bytes[start..start + length]`, which is ASCII or in lower case; never 0. Setting one bit per
/// byte makes letters lower case; the punctuation that it maps together does not matter here.
#[inline]
pub(super) fn hash_at(bytes: &[u8], start: usize, length: usize) -> u64 {
    hash_and_letters(bytes, start, length).0
}

/// As [`hash_at`], and whether the word has nothing but ASCII letters.
#[inline]
pub(super) fn hash_and_letters(bytes: &[u8], start: usize, length: usize) -> (u64, bool) {
    let mut hash = (length as u64).wrapping_mul(FACTOR);
    let mut letters = true;
    let mut offset = 0;
    while offset < length {
        let mut lane = lane_at(bytes, start + offset) | LOWER_CASE_BITS;
        let rest = length - offset;
        let mask = if rest < 8 { (1 << (8 * rest)) - 1 } else { u64::MAX };
        lane &= mask;
        letters &= are_letters(lane | (EACH_A & !mask));
        hash = (hash ^ lane).wrapping_mul(FACTOR);
        hash ^= hash >> 29;
        offset += 8;
    }
    (hash.max(1), letters)
}

/// A run of bytes above the space character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub end: usize,
    pub hash: u64,
    /// Whether it has nothing but ASCII letters.
    pub letters: bool,
}

/// The run that begins at `start`, with its hash as of [`hash_at`]. Most words of a prose fit in one lane.
#[inline]
pub(super) fn run_at(bytes: &[u8], start: usize) -> Run {
    let lane = lane_at(bytes, start);
    let low = low_bytes(lane);
    if low == 0 {
        let end = end_of_run(bytes, start + 8);
        let (hash, letters) = hash_and_letters(bytes, start, end - start);
        return Run { end, hash, letters };
    }
    let length = low.trailing_zeros() / 8;
    let mask = (1u64 << (8 * length)) - 1;
    let lane = (lane | LOWER_CASE_BITS) & mask;
    let mut hash = (u64::from(length).wrapping_mul(FACTOR) ^ lane).wrapping_mul(FACTOR);
    hash ^= hash >> 29;
    Run { end: start + length as usize, hash: hash.max(1), letters: are_letters(lane | (EACH_A & !mask)) }
}

/// Where the run of bytes above the space character that goes on at `start` ends.
#[inline]
pub(super) fn end_of_run(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    loop {
        let low = low_bytes(lane_at(bytes, at));
        if low != 0 {
            return (at + (low.trailing_zeros() / 8) as usize).min(bytes.len());
        }
        at += 8;
    }
}

/// The high bits of bytes below 0x21. The lowest of them is exact, those above it need not be.
#[inline]
fn low_bytes(lane: u64) -> u64 {
    lane.wrapping_sub(EACH * 0x21) & !lane & (EACH * 0x80)
}

/// One in each byte.
const EACH: u64 = 0x0101_0101_0101_0101;
/// The letter a in each byte.
const EACH_A: u64 = EACH * b'a' as u64;

/// Whether all bytes are ASCII letters in lower case.
fn are_letters(lane: u64) -> bool {
    let at_least_a = lane.wrapping_add(EACH * (0x80 - b'a' as u64));
    let above_z = lane.wrapping_add(EACH * (0x7F - b'z' as u64));
    let high = EACH * 0x80;
    lane & high == 0 && at_least_a & !above_z & high == high
}

/// Eight bytes from `at` on, zeros beyond the end.
#[inline]
fn lane_at(bytes: &[u8], at: usize) -> u64 {
    if let Some(lane) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        return u64::from_le_bytes(*lane);
    }
    last_lane(bytes, at)
}

#[cold]
fn last_lane(bytes: &[u8], at: usize) -> u64 {
    let mut lane = [0; 8];
    for (to, from) in lane.iter_mut().zip(bytes.get(at..).unwrap_or_default()) {
        *to = *from;
    }
    u64::from_le_bytes(lane)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_ignores_case_place_and_the_shape_of_apostrophes() {
        assert_eq!(hash_of("Don't"), hash_of("DON\u{2019}T"));
        assert_eq!(hash_of("ÉTÉ"), hash_of("été"));
        assert_eq!(hash_at(b"a word!", 2, 4), hash_of("WORD"));
        assert_ne!(hash_of("ab"), hash_of("ab "));
    }

    proptest! {
        #[test]
        fn letters_are_told_from_everything_else(word in "[a-zA-Z]{1,20}|[ -~é]{1,20}") {
            let letters = word.bytes().all(|byte| byte.is_ascii_alphabetic());
            prop_assert_eq!(hash_and_letters(word.as_bytes(), 0, word.len()).1, letters);
        }

        #[test]
        fn runs_end_at_the_first_byte_up_to_space(text in "[!-~é]{0,20}[\\x00-\\x20]?[\\x00-~é]{0,20}") {
            let end = text.bytes().position(|byte| byte <= b' ').unwrap_or(text.len());
            prop_assert_eq!(end_of_run(text.as_bytes(), 0), end);
            let (hash, letters) = hash_and_letters(text.as_bytes(), 0, end);
            let run = Run { end, hash, letters };
            prop_assert!(end == 0 || run_at(text.as_bytes(), 0) == run);
        }

        #[test]
        fn it_does_not_depend_on_what_follows(word in "[a-z]{1,20}", rest in "[ -~]{0,12}") {
            prop_assert_eq!(hash_at((word.clone() + &rest).as_bytes(), 0, word.len()), hash_of(&word.to_uppercase()));
        }
    }
}
