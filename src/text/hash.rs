//! The hash by which words are compared: the same for upper and lower case, the same on every machine.
//!
//! **Limits**: 64 bits; two of a million different words collide with a chance of 3 in 100 million, and then count as
//! one. The vocabulary of a text compares 40 of them.

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
    word_at(bytes, start, length).hash
}

/// As [`hash_at`], and whether the word has nothing but ASCII letters.
#[inline]
pub(super) fn word_at(bytes: &[u8], start: usize, length: usize) -> Word {
    word_in(lane_at(bytes, start), bytes, start, length)
}

/// As [`word_at`], with the first lane of the word at hand.
#[inline(always)]
pub(super) fn word_in(first: u64, bytes: &[u8], start: usize, length: usize) -> Word {
    let mut word = Word::default();
    if length <= 8 {
        return word.and(first, low_mask(length)).finish();
    }
    let mut offset = 0;
    while offset + 8 < length {
        word = word.and(lane_at(bytes, start + offset), u64::MAX);
        offset += 8;
    }
    word.and(lane_at(bytes, start + offset), low_mask(length - offset)).finish()
}

/// The hash of `bytes[start..start + length]`, in which upper and lower case are not the same.
pub(crate) fn hash_as_written(bytes: &[u8], start: usize, length: usize) -> u64 {
    let mut hash = length as u64;
    let mut add = |lane: u64| {
        hash = (hash ^ lane).wrapping_mul(FACTOR);
        hash ^= hash >> 29;
    };
    let (lanes, rest) = bytes[start..start + length].as_chunks::<8>();
    lanes.iter().for_each(|lane| add(u64::from_le_bytes(*lane)));
    if !rest.is_empty() {
        add(lane_at(bytes, start + length - rest.len()) & low_mask(rest.len()));
    }
    hash
}

/// What is known of a word after some of its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub hash: u64,
    /// Whether it has nothing but ASCII letters.
    pub letters: bool,
}

impl Default for Word {
    fn default() -> Word {
        Word { hash: 0, letters: true }
    }
}

impl Word {
    /// The word with one more lane, of which `mask` belongs to it. No byte of a word becomes 0, so the length need not
    /// enter, and words of one lane never collide.
    #[inline]
    fn and(self, lane: u64, mask: u64) -> Word {
        let lane = (lane | LOWER_CASE_BITS) & mask;
        let hash = (self.hash ^ lane).wrapping_mul(FACTOR);
        Word { hash: hash ^ (hash >> 29), letters: self.letters & are_letters(lane, mask) }
    }

    fn finish(self) -> Word {
        Word { hash: self.hash.max(1), ..self }
    }
}

/// A mask of the first bytes of a lane, at most 8.
#[inline]
fn low_mask(bytes: usize) -> u64 {
    LOW_MASKS[bytes.min(8)]
}

/// The masks of 0 to 8 bytes: read faster than made.
static LOW_MASKS: [u64; 9] =
    [0, 0xFF, 0xFFFF, 0xFF_FFFF, u32::MAX as u64, (1 << 40) - 1, (1 << 48) - 1, (1 << 56) - 1, u64::MAX];

/// A fixed set of words, by hash: an open-addressing table.
pub(super) struct WordSet {
    /// 0 when free; at least three quarters are.
    slots: Vec<u64>,
}

impl WordSet {
    pub(super) fn of<'w>(words: impl Iterator<Item = &'w str>) -> WordSet {
        let hashes: Vec<u64> = words.map(hash_of).collect();
        let mut set = WordSet { slots: vec![0; (hashes.len() * 4).next_power_of_two()] };
        for hash in hashes {
            let slot = set.slot(hash);
            set.slots[slot] = hash;
        }
        set
    }

    #[inline]
    pub(super) fn contains(&self, hash: u64) -> bool {
        self.slots[self.slot(hash)] == hash
    }

    #[inline]
    fn slot(&self, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (hash >> 40) as usize & mask;
        while self.slots[slot] != hash && self.slots[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// The first lane of the run of bytes above the space character that begins at `start`, and where the run ends.
#[inline]
pub(super) fn first_lane(bytes: &[u8], start: usize) -> (u64, usize) {
    let lane = lane_at(bytes, start);
    let low = low_bytes(lane);
    if low == 0 {
        return (lane, end_of_run(bytes, start + 8));
    }
    (lane, (start + (low.trailing_zeros() / 8) as usize).min(bytes.len()))
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
/// Whether all bytes under the mask are ASCII letters in lower case.
#[inline]
fn are_letters(lane: u64, mask: u64) -> bool {
    let at_least_a = lane.wrapping_add(EACH * (0x80 - b'a' as u64));
    let above_z = lane.wrapping_add(EACH * (0x7F - b'z' as u64));
    (!at_least_a | above_z | lane) & mask & (EACH * 0x80) == 0
}

/// Eight bytes from `at` on, zeros beyond the end.
#[inline]
fn lane_at(bytes: &[u8], at: usize) -> u64 {
    if let Some(lane) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        return u64::from_le_bytes(*lane);
    }
    last_lane(bytes, at)
}

#[inline(never)]
fn last_lane(bytes: &[u8], at: usize) -> u64 {
    let missing = at + 8 - bytes.len();
    if let Some(lane) = bytes.last_chunk::<8>()
        && missing < 8
    {
        return u64::from_le_bytes(*lane) >> (8 * missing);
    }
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
        fn as_written_case_length_and_every_byte_count(a in "[a-zA-Z\\x00]{0,20}", b in "[a-zA-Z\\x00]{0,20}", rest in "[ -~]{0,9}") {
            let hash = |text: &str| hash_as_written((text.to_string() + &rest).as_bytes(), 0, text.len());
            prop_assert_eq!(hash(&a) == hash(&b), a == b);
            prop_assert_eq!(hash(&a), hash_as_written(a.as_bytes(), 0, a.len()));
        }

        #[test]
        fn letters_are_told_from_everything_else(word in "[a-zA-Z]{1,20}|[ -~é]{1,20}") {
            let letters = word.bytes().all(|byte| byte.is_ascii_alphabetic());
            prop_assert_eq!(word_at(word.as_bytes(), 0, word.len()).letters, letters);
        }

        #[test]
        fn runs_end_at_the_first_byte_up_to_space(text in "[!-~é]{0,20}[a-z]{0,9}[!-~]?[\\x00-\\x20]?[\\x00-~é]{0,20}") {
            let end = text.bytes().position(|byte| byte <= b' ').unwrap_or(text.len());
            prop_assert_eq!(end_of_run(text.as_bytes(), 0), end);
            prop_assert_eq!(first_lane(text.as_bytes(), 0).1, end);
        }

        #[test]
        fn it_does_not_depend_on_what_follows(word in "[a-z]{1,20}", rest in "[ -~]{0,12}") {
            prop_assert_eq!(hash_at((word.clone() + &rest).as_bytes(), 0, word.len()), hash_of(&word.to_uppercase()));
        }
    }
}
