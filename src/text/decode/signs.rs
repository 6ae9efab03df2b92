//! The quick pass: where in a text something could be encoded at all.
//!
//! Blocks of [`BLOCK_BYTES`] are counted, many bytes at once; a decoder runs only around the
//! blocks that show its sign. Ordinary prose shows none, and the few blocks of it that do cost a closer look.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, MatchKind};

use super::{
    english,
    offsets::{boundary_above, boundary_below},
};

/// Bytes that are counted together.
const BLOCK_BYTES: usize = 64;
/// Bytes of a text in which a cipher or a code could show.
const BYTES_MIN: usize = 10;
/// Bytes without white space from which a run may be an encoding.
pub const RUN_MIN_BYTES: usize = 16;

/// What the quick pass saw.
#[derive(Debug, Default)]
pub struct Signs<'t> {
    /// The text.
    pub text: &'t str,
    /// Whether it is ASCII only.
    pub is_ascii: bool,
    /// Runs of visible ASCII of [`RUN_MIN_BYTES`] and more.
    pub runs: Vec<Range<usize>>,
    /// Letters that hardly are English: E T A O I N are fewer than usual, and so are the usual pairs.
    pub strange: Vec<Range<usize>>,
    /// Mostly digits.
    pub digits: Vec<Range<usize>>,
    /// Mostly dots and dashes.
    pub dashes: Vec<Range<usize>>,
    /// Letters that stand alone.
    pub singles: Vec<Range<usize>>,
    /// Letters and digits, or letters and the signs that look like them, without a gap.
    pub mixed: Vec<Range<usize>>,
    /// Words that end in AY.
    pub ay: Vec<Range<usize>>,
    /// Function words and endings of English backwards.
    pub reversed: Vec<Range<usize>>,
    /// Words of the NATO alphabet.
    pub nato: Vec<Range<usize>>,
}

/// What calls for a closer look at English backwards: pieces of frequent words that stand in hardly any other text.
const REVERSED_MARKS: [&str; 16] = [
    " eht ", " dna ", "snoitc", "noita", " lla ", " ruoy ", " siht ", " taht ", " htiw ", " uoy ", " morf ", "erongi",
    "suoiverp", "tpmorp", "SNOITC", "EHT ",
];
/// Words of the NATO alphabet that stand for frequent letters.
const NATO_MARKS: [&str; 8] = ["oscar", "romeo", "sierra", "november", "OSCAR", "ROMEO", "Romeo", "Oscar"];

/// Bytes between two of them in one text in that alphabet: some thirty letters without O, R, S and N.
const NATO_GAP_BYTES: usize = 256;

static MARKS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let marks = REVERSED_MARKS.iter().chain(&NATO_MARKS);
    AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(marks).ok()
});

impl<'t> Signs<'t> {
    /// Passes over `text`.
    pub fn of(text: &'t str) -> Signs<'t> {
        let bytes = text.as_bytes();
        let mut signs = Signs { text, is_ascii: text.is_ascii(), runs: runs(bytes), ..Signs::default() };
        let mut end = 0;
        while end < bytes.len() && bytes.len() >= BYTES_MIN {
            end = (end + BLOCK_BYTES).min(bytes.len());
            // The last block overlaps the one before, so that what stands in it is not too short to show.
            signs.look_at(end.saturating_sub(BLOCK_BYTES)..end);
        }
        if let Some(marks) = MARKS.as_ref() {
            for found in marks.find_iter(bytes) {
                let is_reversed = found.pattern().as_usize() < REVERSED_MARKS.len();
                match is_reversed {
                    true => mark(&mut signs.reversed, &found.range()),
                    false => mark_within(&mut signs.nato, &found.range(), NATO_GAP_BYTES),
                }
            }
        }
        signs
    }

    /// The bytes of the text.
    pub fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    fn look_at(&mut self, at: Range<usize>) {
        let bytes = self.bytes();
        let block = Block::of(bytes, &at);
        let [letters, digits] = [block.count(is_letter), block.count(is_digit)];
        let seen = at.len() - block.spaces(at.len());
        // Neither letter nor digit; what cannot be enough of something is not counted.
        let others = seen - (letters + digits).min(seen);
        if letters >= 14 && block.count(is_frequent) * 100 < letters * 40 {
            let block = english::score(bytes[at.clone()].iter().copied());
            if block.is_strange() {
                mark(&mut self.strange, &at);
            }
        }
        if digits >= 10 && digits * 20 >= seen * 9 {
            mark(&mut self.digits, &at);
        }
        if others >= 10 && block.count(is_dash) >= 10 && block.count(is_dash) * 10 >= seen * 8 {
            mark(&mut self.dashes, &at);
        }
        if block.singles() >= 6 {
            mark(&mut self.singles, &at);
        }
        if digits + others >= 4 && block.mixed() >= 4 {
            mark(&mut self.mixed, &at);
        }
        if block.count(|byte| byte | 0x20 == b'y') >= 3 && endings_in_ay(&bytes[at.clone()]) >= 3 {
            mark(&mut self.ay, &at);
        }
    }
}

/// The bytes of a block between those in front and behind; blanks stand for what is not there. Each count is a loop
/// without a branch, which takes many bytes at once.
struct Block([u8; BLOCK_BYTES + 2]);

impl Block {
    /// The block `bytes[at]`, of at most [`BLOCK_BYTES`].
    fn of(bytes: &[u8], at: &Range<usize>) -> Block {
        let mut block = [b' '; BLOCK_BYTES + 2];
        let from = at.start.saturating_sub(1);
        let with_neighbours = &bytes[from..(at.end + 1).min(bytes.len())];
        let start = usize::from(at.start == 0);
        block[start..start + with_neighbours.len()].copy_from_slice(with_neighbours);
        Block(block)
    }

    /// Bytes for which something holds.
    #[inline(always)]
    fn count(&self, holds: impl Fn(u8) -> bool) -> usize {
        self.count_three(|[_, this, _]| holds(this))
    }

    /// Bytes for which something holds, together with the bytes beside them.
    #[inline(always)]
    fn count_three(&self, holds: impl Fn([u8; 3]) -> bool) -> usize {
        let mut total = 0_u8;
        for at in 0..BLOCK_BYTES {
            total += u8::from(holds([self.0[at], self.0[at + 1], self.0[at + 2]]));
        }
        usize::from(total)
    }

    /// White space and controls among the first `length` bytes.
    fn spaces(&self, length: usize) -> usize {
        self.count(|byte| byte <= b' ') - (BLOCK_BYTES - length)
    }

    /// Letters between two bytes that are neither letter nor digit.
    fn singles(&self) -> usize {
        let of_word = |byte| is_letter(byte) | is_digit(byte);
        self.count_three(|[before, this, behind]| is_letter(this) & !of_word(before) & !of_word(behind))
    }

    /// Digits, and signs that look like letters, beside a letter.
    fn mixed(&self) -> usize {
        self.count_three(|[before, this, behind]| {
            (is_digit(this) | is_sign(this)) & (is_letter(before) | is_letter(behind))
        })
    }
}

#[inline(always)]
fn is_letter(byte: u8) -> bool {
    (byte | 0x20).wrapping_sub(b'a') < 26
}

#[inline(always)]
fn is_digit(byte: u8) -> bool {
    byte.wrapping_sub(b'0') < 10
}

/// E, T, A, O, I or N, which are 45 of 100 letters in English and 25 in ciphers of it.
#[inline(always)]
fn is_frequent(byte: u8) -> bool {
    let lower = byte | 0x20;
    (lower == b'e') | (lower == b't') | (lower == b'a') | (lower == b'o') | (lower == b'i') | (lower == b'n')
}

#[inline(always)]
fn is_dash(byte: u8) -> bool {
    (byte == b'-') | (byte == b'.') | (byte == b'/') | (byte == b'_') | (byte == b'|')
}

/// A sign that looks like a letter.
#[inline(always)]
fn is_sign(byte: u8) -> bool {
    (byte == b'@') | (byte == b'$') | (byte == b'!')
}

/// Words of a block that end in "ay".
fn endings_in_ay(block: &[u8]) -> usize {
    let is_end = |three: &[u8]| three[..2].eq_ignore_ascii_case(b"ay") && !three[2].is_ascii_alphabetic();
    block.windows(3).filter(|three| is_end(three)).count() + usize::from(block.to_ascii_lowercase().ends_with(b"ay"))
}

fn mark(places: &mut Vec<Range<usize>>, at: &Range<usize>) {
    mark_within(places, at, BLOCK_BYTES);
}

fn mark_within(places: &mut Vec<Range<usize>>, at: &Range<usize>, gap_bytes: usize) {
    match places.last_mut() {
        Some(last) if at.start <= last.end + gap_bytes => last.end = at.end,
        _ => places.push(at.clone()),
    }
}

/// The marked places, each widened by a block to both sides and then to white space, joined where they meet.
pub fn widened(text: &str, places: &[Range<usize>]) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut wide: Vec<Range<usize>> = Vec::new();
    for place in places {
        let floor = wide.last().map_or(0, |last| last.end);
        let mut start = place.start.saturating_sub(BLOCK_BYTES).max(floor);
        while start > floor && !bytes[start - 1].is_ascii_whitespace() {
            start -= 1;
        }
        let mut end = (place.end + BLOCK_BYTES).min(bytes.len()).max(floor);
        while end < bytes.len() && !bytes[end].is_ascii_whitespace() {
            end += 1;
        }
        let (start, end) = (boundary_below(text, start), boundary_above(text, end));
        match wide.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => wide.push(start..end),
        }
    }
    wide
}

/// Runs of visible ASCII: every 16th byte is looked at, and its neighbours only where it is visible.
fn runs(bytes: &[u8]) -> Vec<Range<usize>> {
    let is_visible = |byte: u8| byte.wrapping_sub(b'!') < 94;
    let mut runs = Vec::new();
    let mut floor = 0;
    let mut probe = RUN_MIN_BYTES - 1;
    while probe < bytes.len() {
        let gap = bytes[floor..=probe].iter().rposition(|byte| !is_visible(*byte));
        match gap {
            Some(gap) => {
                floor += gap + 1;
                probe = floor + RUN_MIN_BYTES - 1;
            }
            None => {
                let end =
                    bytes[probe..].iter().position(|byte| !is_visible(*byte)).map_or(bytes.len(), |at| probe + at);
                runs.push(floor..end);
                floor = end;
                probe = end + RUN_MIN_BYTES - 1;
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_wherever_they_stand() {
        for before in 0..40 {
            for len in 14..40 {
                let text = format!("{}{} end", "ab ".repeat(before), "x".repeat(len));
                let expected = (len >= RUN_MIN_BYTES).then_some(before * 3..before * 3 + len);
                assert_eq!(runs(text.as_bytes()).first(), expected.as_ref(), "{before} {len}");
            }
        }
    }

    #[test]
    fn ordinary_prose_shows_no_sign() {
        let text = "The committee met on Tuesday to discuss the budget for the coming year. Several members asked \
                    whether the figures that had been sent around in March were still correct, and the treasurer \
                    promised to check them again before the next meeting takes place.";
        let signs = Signs::of(text);
        let places = [&signs.strange, &signs.digits, &signs.dashes, &signs.singles, &signs.mixed, &signs.ay];
        assert!(signs.runs.is_empty() && places.iter().all(|places| places.is_empty()), "{signs:?}");
    }
}
