//! Many words in a text at once, in any case.
//!
//! Each byte belongs to one of 32 classes, and four bytes in a row, the *gram*, are one bit of a table of 2²⁰. A word is
//! found by the rarest two neighbouring grams in it, so that in ordinary text few grams have their bit set, and only
//! there are words compared. Of two neighbours one ends at an odd place, so that every second gram of a text need not be
//! looked at. That takes a handful of instructions for each byte, whatever the number of words, and a table that is made
//! in no time; an automaton of all words takes longer to make than megabytes to pass.
//!
//! **Case**: ASCII letters are the same in either case; other characters are not.
//!
//! **Limits**: [`WORD_BYTES_MAX`] bytes of a word.

use std::ops::Range;

/// The longest word.
pub const WORD_BYTES_MAX: usize = 255;
/// Bytes of text that are searched before what was found in them is told.
const BLOCK_BYTES: usize = 32 << 10;
/// Bytes of a gram.
const GRAM_BYTES: usize = 4;
/// Bits of a class.
const CLASS_BITS: u32 = 5;
const CLASSES: u32 = 1 << CLASS_BITS;
const GRAM_MASK: u32 = (1 << (CLASS_BITS * GRAM_BYTES as u32)) - 1;
/// Words of the table.
const TABLE_WORDS: usize = (GRAM_MASK as usize + 1) / 64;
/// The class of white space, which also stands before and behind the text.
const BLANK: u32 = 27;

/// What the class of a byte is. Bytes of other scripts share the classes of ASCII.
static CLASS_OF: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0usize;
    while byte < 256 {
        let one = byte as u8;
        classes[byte] = match one {
            b'a'..=b'z' => one - b'a',
            b'A'..=b'Z' => one - b'A',
            b'0'..=b'9' => 26,
            b' ' | b'\t' | b'\n' | b'\r' => BLANK as u8,
            b'=' | b':' | b'"' | b'\'' => 28,
            b'-' | b'_' => 29,
            b'.' | b',' | b';' | b'/' => 30,
            0x80.. => one % CLASSES as u8,
            _ => 31,
        };
        byte += 1;
    }
    classes
};

/// How often a byte stands in text, roughly, in thousandths; of letters in English (Lewand, Cryptological Mathematics).
static FREQUENCY_OF: [u16; 256] = {
    const LETTERS: [u16; 26] =
        [65, 12, 22, 34, 102, 18, 16, 49, 56, 2, 6, 32, 19, 54, 60, 15, 1, 48, 51, 73, 22, 8, 19, 2, 16, 1];
    let mut frequencies = [8; 256];
    let mut byte = 0usize;
    while byte < 256 {
        let one = byte as u8;
        frequencies[byte] = match one {
            b'a'..=b'z' => LETTERS[(one - b'a') as usize],
            b'A'..=b'Z' => LETTERS[(one - b'A') as usize],
            b'0'..=b'9' => 40,
            b' ' => 180,
            b'-' | b'_' => 20,
            b'.' | b',' | b';' | b'/' => 30,
            // The first byte of a character says little more than which script it is of.
            0xc0.. => 200,
            _ => 20,
        };
        byte += 1;
    }
    frequencies
};

/// Words, ready to be looked for.
pub struct Keywords {
    words: Vec<Box<[u8]>>,
    /// A bit for each gram that calls a word.
    grams: Box<[u64; TABLE_WORDS]>,
    /// For each word of the table, the grams that stand before it.
    grams_before: Box<[u32]>,
    /// For each gram, where its calls begin; one more at the end.
    calls_of: Vec<u32>,
    calls: Vec<Call>,
    /// Words of one byte, which no gram can tell apart.
    singles: Vec<(u8, u32)>,
}

/// A word that a gram calls.
#[derive(Clone, Copy)]
struct Call {
    word: u32,
    /// Bytes from the first of the word to the last of the gram.
    to_end: u32,
}

impl Keywords {
    /// These words, by their index; the empty ones and those beyond the limit are never found.
    pub fn of<W: AsRef<str>>(words: &[W]) -> Keywords {
        let words: Vec<Box<[u8]>> = words.iter().map(|word| word.as_ref().as_bytes().into()).collect();
        let (mut called, mut singles) = (Vec::new(), Vec::new());
        for (index, word) in (0..).zip(&words) {
            match word.len() {
                1 => {
                    singles.push((word[0].to_ascii_lowercase(), index));
                    if word[0].is_ascii_alphabetic() {
                        singles.push((word[0].to_ascii_uppercase(), index));
                    }
                }
                2..=WORD_BYTES_MAX => {
                    grams_of(word, |gram, to_end| called.push((gram, Call { word: index, to_end })));
                }
                _ => {}
            }
        }
        let mut grams: Box<[u64; TABLE_WORDS]> = Box::new([0; TABLE_WORDS]);
        for (gram, _) in &called {
            grams[(gram >> 6) as usize] |= 1 << (gram & 63);
        }
        let mut before = 0;
        let grams_before = grams.iter().map(|bits| {
            before += bits.count_ones();
            before - bits.count_ones()
        });
        let grams_before: Box<[u32]> = grams_before.collect();
        // The calls in the order of their grams, without comparing any: short words have a thousand of them each.
        let index_of = |gram: u32| {
            let (cell, bit) = ((gram >> 6) as usize, gram & 63);
            (grams_before[cell] + (grams[cell] & ((1 << bit) - 1)).count_ones()) as usize
        };
        let mut calls_of = vec![0; before as usize + 2];
        for (gram, _) in &called {
            calls_of[index_of(*gram) + 2] += 1;
        }
        for index in 1..calls_of.len() {
            calls_of[index] += calls_of[index - 1];
        }
        let mut calls = vec![Call { word: 0, to_end: 0 }; called.len()];
        for (gram, call) in called {
            let place: &mut u32 = &mut calls_of[index_of(gram) + 1];
            calls[*place as usize] = call;
            *place += 1;
        }
        calls_of.pop();
        Keywords { words, grams, grams_before, calls_of, calls, singles }
    }

    /// Every place of every word, also where they overlap, in the order of their beginnings, then of the words.
    pub fn each(&self, text: &[u8], mut found: impl FnMut(usize, Range<usize>)) {
        let mut places: Vec<(usize, u32)> = Vec::new();
        let mut gram = 0;
        for _ in 0..GRAM_BYTES {
            gram = next(gram, BLANK);
        }
        let mut start = 0;
        while start < text.len() {
            let end = (start + BLOCK_BYTES).min(text.len());
            gram = self.pass(text, start..end, gram, &mut places);
            let mut settled = end.saturating_sub(WORD_BYTES_MAX);
            if end == text.len() {
                // What ends with the text is seen when its gram is complete.
                for at in end & !1..end + GRAM_BYTES {
                    gram = next(gram, text.get(at).map_or(BLANK, |byte| u32::from(CLASS_OF[usize::from(*byte)])));
                    if at % 2 == 1 {
                        self.look_up(text, at, gram, &mut places);
                    }
                }
                settled = end;
            }
            start = end;
            if places.is_empty() {
                continue;
            }
            // A word is seen at its gram, which stands at its beginning or at its end.
            places.sort_unstable();
            let settled = places.partition_point(|(start, _)| *start < settled);
            for (start, word) in places.drain(..settled) {
                found(word as usize, start..start + self.words[word as usize].len());
            }
        }
    }

    /// Looks at the grams that end at odd places of the block, which begins at an even one; the last place of a block
    /// of odd length is left.
    fn pass(&self, text: &[u8], block: Range<usize>, mut gram: u32, places: &mut Vec<(usize, u32)>) -> u32 {
        let (pairs, _) = text[block.clone()].as_chunks::<2>();
        for (index, [first, second]) in pairs.iter().enumerate() {
            let (first, second) = (CLASS_OF[usize::from(*first)], CLASS_OF[usize::from(*second)]);
            gram = (gram << (2 * CLASS_BITS) | u32::from(first) << CLASS_BITS | u32::from(second)) & GRAM_MASK;
            if self.grams[(gram >> 6) as usize] >> (gram & 63) & 1 != 0 {
                self.look_up(text, block.start + 2 * index + 1, gram, places);
            }
        }
        for (byte, word) in &self.singles {
            places.extend(memchr::memchr_iter(*byte, &text[block.clone()]).map(|at| (block.start + at, *word)));
        }
        gram
    }

    /// Notes the words that a gram calls, if they stand where it ends: at the byte `at`.
    fn look_up(&self, text: &[u8], at: usize, gram: u32, places: &mut Vec<(usize, u32)>) {
        let (cell, bit) = ((gram >> 6) as usize, gram & 63);
        if self.grams[cell] >> bit & 1 == 0 {
            return;
        }
        let index = self.grams_before[cell] + (self.grams[cell] & ((1 << bit) - 1)).count_ones();
        let calls = self.calls_of[index as usize] as usize..self.calls_of[index as usize + 1] as usize;
        for call in &self.calls[calls] {
            let Some(start) = at.checked_sub(call.to_end as usize) else { continue };
            let word = &self.words[call.word as usize];
            if text.get(start..start + word.len()).is_some_and(|there| there.eq_ignore_ascii_case(word)) {
                places.push((start, call.word));
            }
        }
    }
}

fn next(gram: u32, class: u32) -> u32 {
    (gram << CLASS_BITS | class) & GRAM_MASK
}

/// The grams by which a word is found, and how far behind its first byte they end: for each parity of the place where it
/// begins, the rarest gram in it, or, when it is too short for that, whatever may stand before or behind it.
fn grams_of(word: &[u8], mut take: impl FnMut(u32, u32)) {
    let class = |byte: &u8| u32::from(CLASS_OF[usize::from(*byte)]);
    let gram = |bytes: &[u8]| bytes.iter().fold(0, |gram, byte| gram << CLASS_BITS | class(byte));
    let frequency =
        |bytes: &[u8]| bytes.iter().map(|byte| u64::from(FREQUENCY_OF[usize::from(*byte)])).product::<u64>();
    // A part of the word with every class on either side; `start` is where its gram begins, from the byte before the word.
    let mut open = |part: &[u8], start: usize| {
        let behind = GRAM_BYTES - part.len() - usize::from(start == 0);
        let before = if start == 0 { 0..CLASSES } else { 0..1 };
        let (part_bits, behind_bits) = (CLASS_BITS * part.len() as u32, CLASS_BITS * behind as u32);
        let middle = gram(part) << behind_bits;
        for class in before {
            for last in 0..1 << behind_bits {
                take(class << (part_bits + behind_bits) | middle | last, (start + GRAM_BYTES - 2) as u32);
            }
        }
    };
    match word.len() {
        0..GRAM_BYTES => {
            open(word, 0);
            open(word, 1);
        }
        GRAM_BYTES => {
            let (first, last) = (&word[..GRAM_BYTES - 1], &word[1..]);
            if frequency(first) < frequency(last) {
                open(first, 0)
            } else {
                open(last, 2)
            }
            take(gram(word), GRAM_BYTES as u32 - 1);
        }
        _ => {
            let both = |five: &[u8]| frequency(&five[..GRAM_BYTES]) + frequency(&five[1..]);
            let rarest = word.windows(GRAM_BYTES + 1).enumerate().min_by_key(|(_, five)| both(five));
            let (at, five) = rarest.unwrap_or((0, word));
            let end = (at + GRAM_BYTES - 1) as u32;
            take(gram(&five[..GRAM_BYTES]), end);
            take(gram(&five[1..=GRAM_BYTES]), end + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What each of `words` is found at.
    fn check(words: &[&str], text: &str, expected: &[(&str, usize)]) {
        let mut found = Vec::new();
        Keywords::of(words).each(text.as_bytes(), |word, at| found.push((words[word], at.start)));
        assert_eq!(found, expected, "{words:?} in {text:?}");
    }

    #[test]
    fn words_of_any_length_are_found_in_any_case() {
        check(
            &["@", "ai", "dan", "ignore", "prévious"],
            "AI: DAN, ignoRe prévious @",
            &[("ai", 0), ("dan", 4), ("ignore", 9), ("prévious", 16), ("@", 26)],
        );
        check(&["one"], "one", &[("one", 0)]);
        check(&["no", "one", "none"], "none", &[("no", 0), ("none", 0), ("one", 1)]);
        check(&["aa"], "aaa", &[("aa", 0), ("aa", 1)]);
        check(&["", "abcd"], "abc", &[]);
    }

    #[test]
    fn words_across_blocks_come_in_order() {
        let filler = "x".repeat(BLOCK_BYTES - 3);
        check(
            &["zebra crossing", "crossing"],
            &format!("{filler}zebra crossing"),
            &[("zebra crossing", BLOCK_BYTES - 3), ("crossing", BLOCK_BYTES + 3)],
        );
    }

    proptest! {
        #[test]
        fn nothing_is_missed_and_nothing_is_made_up(
            words in prop::collection::vec("[abAB .é]{1,6}", 1..8),
            text in "[abAB .é]{0,60}",
        ) {
            let mut found = Vec::new();
            Keywords::of(&words).each(text.as_bytes(), |word, at| found.push((at.start, word)));
            let (lower, text) = (|word: &str| word.to_ascii_lowercase(), text.to_ascii_lowercase());
            let mut expected = Vec::new();
            for at in 0..text.len() {
                for (index, word) in words.iter().enumerate() {
                    if text.as_bytes()[at..].starts_with(lower(word).as_bytes()) {
                        expected.push((at, index));
                    }
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
