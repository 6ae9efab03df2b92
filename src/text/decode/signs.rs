//! The quick pass: where in a text something could be encoded at all.
//!
//! Blocks of [`BLOCK_BYTES`] are counted, which compilers turn into vector instructions; a decoder runs only around the
//! blocks that show its sign. Ordinary prose shows none, and the few blocks of it that do cost a closer look.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, MatchKind};

use super::{
    english,
    offsets::{boundary_above, boundary_below},
};

/// Bytes that are counted together.
const BLOCK_BYTES: usize = 64;
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
const NATO_MARKS: [&str; 8] = ["oscar", "romeo", "sierra", "november", "OSCAR", "ROMEO", "Romeo ", "Oscar "];

static MARKS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let marks = REVERSED_MARKS.iter().chain(&NATO_MARKS);
    AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(marks).ok()
});

impl<'t> Signs<'t> {
    /// Passes over `text`.
    pub fn of(text: &'t str) -> Signs<'t> {
        let bytes = text.as_bytes();
        let mut signs = Signs { text, is_ascii: text.is_ascii(), runs: runs(bytes), ..Signs::default() };
        let mut start = 0;
        while start < bytes.len() {
            let end = (start + BLOCK_BYTES).min(bytes.len());
            // The last block overlaps the one before, so that what stands in it is not too short to show.
            let begin = end.saturating_sub(BLOCK_BYTES);
            signs.look_at(bytes, begin..end);
            start = end;
        }
        if let Some(marks) = MARKS.as_ref() {
            for found in marks.find_iter(bytes) {
                let is_reversed = found.pattern().as_usize() < REVERSED_MARKS.len();
                mark(if is_reversed { &mut signs.reversed } else { &mut signs.nato }, &found.range());
            }
        }
        signs
    }

    /// The bytes of the text.
    pub fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    fn look_at(&mut self, bytes: &[u8], at: Range<usize>) {
        let mut window = [b' '; BLOCK_BYTES + 2];
        let from = at.start.saturating_sub(1);
        let to = (at.end + 1).min(bytes.len());
        let offset = 1 - (at.start - from);
        window[offset..offset + to - from].copy_from_slice(&bytes[from..to]);
        let counts = Counts::of(&window);
        let seen = at.len() - usize::from(counts.spaces).min(at.len());
        let (letters, digits) = (usize::from(counts.letters), usize::from(counts.digits));
        if letters >= 14 && usize::from(counts.frequent) * 100 < letters * 40 {
            let block = english::score(bytes[at.clone()].iter().copied());
            if block.is_strange() {
                mark(&mut self.strange, &at);
            }
        }
        if digits >= 10 && digits * 20 >= seen * 9 {
            mark(&mut self.digits, &at);
        }
        if usize::from(counts.dashes) >= 10 && usize::from(counts.dashes) * 10 >= seen * 8 {
            mark(&mut self.dashes, &at);
        }
        if counts.singles >= 6 {
            mark(&mut self.singles, &at);
        }
        if counts.mixed >= 4 {
            mark(&mut self.mixed, &at);
        }
        if counts.ay >= 3 {
            mark(&mut self.ay, &at);
        }
    }
}

/// Counts over one block; each at most 64.
#[derive(Default)]
struct Counts {
    letters: u8,
    frequent: u8,
    digits: u8,
    spaces: u8,
    dashes: u8,
    singles: u8,
    mixed: u8,
    ay: u8,
}

impl Counts {
    /// Counts the inner bytes; the first and the last are neighbours only.
    fn of(window: &[u8; BLOCK_BYTES + 2]) -> Counts {
        let mut lower = [0u8; BLOCK_BYTES + 2];
        let mut is_letter = [0u8; BLOCK_BYTES + 2];
        let mut is_digit = [0u8; BLOCK_BYTES + 2];
        let mut is_sign = [0u8; BLOCK_BYTES + 2];
        for index in 0..BLOCK_BYTES + 2 {
            let byte = window[index];
            lower[index] = byte | 0x20;
            is_letter[index] = u8::from((byte | 0x20).wrapping_sub(b'a') < 26);
            is_digit[index] = u8::from(byte.wrapping_sub(b'0') < 10);
            is_sign[index] = u8::from(byte == b'@') | u8::from(byte == b'$') | u8::from(byte == b'!');
        }
        let mut counts = Counts::default();
        for index in 1..=BLOCK_BYTES {
            let byte = window[index];
            counts.letters += is_letter[index];
            counts.digits += is_digit[index];
            counts.spaces += u8::from(byte <= b' ');
            counts.dashes += u8::from(byte.wrapping_sub(b'-') < 3) | u8::from(byte == b'_') | u8::from(byte == b'|');
            let lower = lower[index];
            counts.frequent += u8::from(lower == b'e')
                | u8::from(lower == b't')
                | u8::from(lower == b'a')
                | u8::from(lower == b'o')
                | u8::from(lower == b'i')
                | u8::from(lower == b'n');
        }
        for index in 1..=BLOCK_BYTES {
            let near = is_letter[index - 1] | is_letter[index + 1];
            counts.singles += is_letter[index] & !(near | is_digit[index - 1] | is_digit[index + 1]) & 1;
            counts.mixed += (is_digit[index] | is_sign[index]) & near;
            counts.ay +=
                u8::from(lower[index - 1] == b'a') & u8::from(lower[index] == b'y') & !is_letter[index + 1] & 1;
        }
        counts
    }
}

fn mark(places: &mut Vec<Range<usize>>, at: &Range<usize>) {
    match places.last_mut() {
        Some(last) if at.start <= last.end + BLOCK_BYTES => last.end = at.end,
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
