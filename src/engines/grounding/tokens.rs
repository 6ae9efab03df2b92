//! A text becomes tokens: words by the hash of their stem, numbers, and pairs of characters where a script has no blanks.
//!
//! **Formula**: a word is a run of letters, with one apostrophe inside; a number is digits with `.`, `,` or `:` between
//! them. Words are compared in lower case, without a possessive 's, by [`stem`]: plural and verb endings of English are
//! taken off, so that "tested", "testing" and "tests" are one. In scripts without blanks (Han, Kana, Thai, Lao, Khmer,
//! Myanmar) every pair of neighbouring characters is a token.
//!
//! **Source**: seed 004 asks for the similarity of a claim and a sentence; content stems are the measure that carried
//! most in the study behind this engine. The endings are the first steps of Porter's stemmer (1980), shortened.
//!
//! **Limits**: the stemmer is English; words of other languages are compared as they stand, in lower case. The first
//! [`WORD_BYTES_MAX`] bytes of a word count.

use std::{ops::Range, sync::LazyLock};

use crate::text::quantity::spelled;

/// Bytes of a word that are compared.
pub const WORD_BYTES_MAX: usize = 32;

/// Says little by itself: an article, a pronoun, an auxiliary.
pub const STOP: u8 = 1;
/// Begins with a digit.
pub const DIGIT: u8 = 2;
/// Begins with a capital.
pub const CAPITAL: u8 = 4;
/// Has at least two letters, all of them capitals.
pub const ACRONYM: u8 = 8;
/// Denies.
pub const NEGATION: u8 = 16;
/// Two characters of a script without blanks.
pub const PAIR: u8 = 32;
/// Ends the reach of a negation: but, however, although.
pub const CONTRAST: u8 = 64;

/// Says a number, and is too common to claim one.
pub const QUIET: u8 = 128;

/// One token and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Hash of the stem.
    pub stem: u32,
    /// Hash of the first five letters of a stem that has as many; else 0.
    pub prefix: u32,
    /// First byte.
    pub start: u32,
    /// Length in bytes, possessive included, at most 65,535.
    pub length: u16,
    /// What kind of token it is.
    pub flags: u8,
    /// The entry of [`spelled::counting`] that the word is, from 1; else 0.
    pub value: u8,
}

impl Token {
    /// Whether the token says something by itself: no function word and no number.
    pub fn is_content(&self) -> bool {
        self.flags & (STOP | DIGIT) == 0
    }

    /// Where it stands.
    pub fn span(&self) -> Range<usize> {
        self.start as usize..self.start as usize + usize::from(self.length)
    }
}

const STOP_WORDS: &str = "a an the and or but if then else of to in on at by for from with without as is are was were be been \
    being am do does did doing have has had having i you he she it we they them him her his hers its our ours your yours \
    their theirs this that these those there here who whom whose which what when where why how not no nor so than too very \
    can could will would shall should may might must also just only even about into over under again further once both each \
    few more most other some such own same s t don now up down out off because while during before after above below between \
    through against until within across per via upon among around along since including include includes included however \
    additionally moreover furthermore therefore thus overall one another well like many much any all every either neither \
    themselves itself himself herself me my us yes doesn isn aren wasn weren hasn haven hadn couldn wouldn shouldn won didn \
    don't doesn't isn't aren't wasn't weren't hasn't haven't hadn't couldn't wouldn't shouldn't won't didn't can't it's \
    i'm you're they're we're i've they've we've";
const NEGATIONS: &str = "no not never none neither nor without cannot can't won't don't doesn't didn't isn't aren't wasn't \
    weren't hasn't haven't hadn't couldn't wouldn't shouldn't lack lacks lacking unable closed unavailable fails failed false";
const CONTRASTS: &str = "but however while although though except yet whereas despite";

/// Flags and number of the words that mean something to this engine.
struct Lexicon {
    slots: Vec<(u32, u8, u8)>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut lexicon = Lexicon { slots: vec![(0, 0, 0); 1024] };
    for (words, flag) in [(STOP_WORDS, STOP), (NEGATIONS, NEGATION), (CONTRASTS, CONTRAST)] {
        words.split_whitespace().for_each(|word| lexicon.add(word, flag, 0));
    }
    for (index, (word, _)) in spelled::counting().iter().enumerate() {
        lexicon.add(word, 0, index as u8 + 1);
    }
    spelled::quiet_words().for_each(|word| lexicon.add(word, QUIET, 0));
    lexicon
});

impl Lexicon {
    fn add(&mut self, word: &str, flag: u8, value: u8) {
        let mut buffer = [0; WORD_BYTES_MAX];
        buffer[..word.len()].copy_from_slice(word.as_bytes());
        let slot = self.slot(hash(&buffer, word.len()));
        let (key, flags, own) = self.slots[slot];
        let hash = if key == 0 { hash(&buffer, word.len()) } else { key };
        self.slots[slot] = (hash, flags | flag, own.max(value));
    }

    #[inline]
    fn slot(&self, hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (hash >> 7) as usize & mask;
        while self.slots[slot].0 != hash && self.slots[slot].0 != 0 {
            slot = (slot + 1) & mask;
        }
        slot
    }

    #[inline]
    fn of(&self, hash: u32) -> (u8, u8) {
        let (_, flags, value) = self.slots[self.slot(hash)];
        (flags, value)
    }
}

/// The hash of the first `length` bytes of a word in lower case; never 0. What is behind them must be zero.
#[inline]
fn hash(word: &[u8; WORD_BYTES_MAX], length: usize) -> u32 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let (lanes, _) = word.as_chunks::<8>();
    let mut hash = length as u64;
    for lane in &lanes[..length.div_ceil(8)] {
        hash = (hash ^ u64::from_le_bytes(*lane)).wrapping_mul(FACTOR);
        hash ^= hash >> 29;
    }
    ((hash >> 32) as u32 ^ hash as u32).max(1)
}

/// Takes English endings off the word in `word[..length]`, in lower case, and gives its new length. What is cut off
/// becomes zero.
pub fn stem(word: &mut [u8; WORD_BYTES_MAX], length: usize) -> usize {
    if length <= 3 || length > WORD_BYTES_MAX {
        return length;
    }
    let mut end = length;
    let ends = |word: &[u8; WORD_BYTES_MAX], end: usize, ending: &[u8]| word[..end].ends_with(ending);
    match word[end - 1] {
        b's' if ends(word, end, b"ies") && end > 4 => {
            word[end - 3] = b'y';
            end -= 2;
        }
        b's' if ends(word, end, b"sses") => end -= 2,
        b's' if end > 4 && [b"xes".as_slice(), b"ses", b"zes", b"ches", b"shes"].iter().any(|e| ends(word, end, e)) => {
            end -= 2;
        }
        b's' if !matches!(word[end - 2], b's' | b'u' | b'i') => end -= 1,
        _ => {}
    }
    match word[end - 1] {
        b'g' if end >= 6 && ends(word, end, b"ing") => end -= 3,
        b'd' if end > 4 && ends(word, end, b"ied") => {
            word[end - 3] = b'y';
            end -= 2;
        }
        b'd' if end >= 5 && ends(word, end, b"ed") => end -= 2,
        b'y' if end >= 6 && ends(word, end, b"ly") => end -= 2,
        b't' if end >= 8 && ends(word, end, b"ment") => end -= 4,
        b'n' if end >= 8 && ends(word, end, b"ation") => end -= 5,
        _ => {}
    }
    if end > 3 && word[end - 1] == word[end - 2] && !matches!(word[end - 1], b'l' | b's' | b'z') {
        end -= 1;
    }
    if end > 4 && word[end - 1] == b'e' {
        end -= 1;
    }
    if end > 3 && word[end - 1] == b'y' {
        word[end - 1] = b'i';
    }
    word[end..length].fill(0);
    end
}

/// The hash of a word's stem, as in [`Token::stem`].
pub fn stem_of(word: &str) -> u32 {
    let mut found = 0;
    tokens(word, 0..word.len(), |token| found = if found == 0 { token.stem } else { found });
    found
}

const LETTER: u8 = 1;
const UPPER: u8 = 2;
const NUMBER: u8 = 4;
const OTHER: u8 = 8;
/// The class of every byte.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'a'..=b'z' => LETTER,
            b'A'..=b'Z' => LETTER | UPPER,
            b'0'..=b'9' => NUMBER,
            0x80.. => OTHER,
            _ => 0,
        };
        byte += 1;
    }
    class
};

/// Whether words of this script stand without blanks between them.
pub fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Hands every token of `text[range]` to `take`, in order.
#[inline]
pub fn tokens(text: &str, range: Range<usize>, mut take: impl FnMut(Token)) {
    let lexicon = &*LEXICON;
    let (bytes, end) = (text.as_bytes(), range.end.min(text.len()));
    let mut at = range.start;
    while at < end {
        match CLASS[usize::from(bytes[at])] {
            0 => at += 1,
            NUMBER => at = number(bytes, at, end, &mut take),
            OTHER => at = other(text, at, end, lexicon, &mut take),
            _ => at = word(text, at, end, lexicon, &mut take),
        }
    }
}

/// Digits, and single marks between digits.
#[inline]
fn number(bytes: &[u8], start: usize, end: usize, take: &mut impl FnMut(Token)) -> usize {
    let is_digit = |at: usize| at < end && bytes[at].is_ascii_digit();
    let mut at = start + 1;
    loop {
        if is_digit(at) {
            at += 1;
        } else if at < end && matches!(bytes[at], b'.' | b',' | b':') && is_digit(at + 1) {
            at += 2;
        } else {
            break;
        }
    }
    let mut buffer = [0; WORD_BYTES_MAX];
    let length = (at - start).min(WORD_BYTES_MAX);
    buffer[..length].copy_from_slice(&bytes[start..start + length]);
    take(token(hash(&buffer, length), 0, start, at, DIGIT));
    at
}

fn token(stem: u32, prefix: u32, start: usize, end: usize, flags: u8) -> Token {
    let length = (end - start).min(usize::from(u16::MAX)) as u16;
    Token { stem, prefix, start: start as u32, length, flags, value: 0 }
}

/// A word that begins with an ASCII letter.
#[inline]
fn word(text: &str, start: usize, end: usize, lexicon: &Lexicon, take: &mut impl FnMut(Token)) -> usize {
    let bytes = text.as_bytes();
    let mut buffer = [0u8; WORD_BYTES_MAX];
    let mut at = start;
    let mut uppers = 0;
    while at < end {
        let class = CLASS[usize::from(bytes[at])];
        if class & LETTER == 0 {
            break;
        }
        if at - start < WORD_BYTES_MAX {
            buffer[at - start] = bytes[at] | 0x20;
        }
        uppers += usize::from(class & UPPER != 0);
        at += 1;
    }
    if at < end && CLASS[usize::from(bytes[at])] == OTHER && starts_with_letter(&text[at..]) {
        return wide_word(text, start, end, lexicon, take);
    }
    let letters = at - start;
    // "IDs" is "ID".
    let is_plural = uppers >= 2 && uppers + 1 == letters && bytes[at - 1] == b's';
    let mut length = (letters - usize::from(is_plural)).min(WORD_BYTES_MAX);
    buffer[length..].fill(0);
    // An apostrophe inside: a possessive is left out, a contraction is part of the word.
    let quote = apostrophe(bytes, at, end);
    if quote > 0 {
        let rest = bytes[at + quote..end].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let is_possessive = rest == 1 && bytes[at + quote] | 0x20 == b's';
        if rest > 0 {
            if !is_possessive && length + 1 + rest <= WORD_BYTES_MAX {
                buffer[length] = b'\'';
                for (to, from) in buffer[length + 1..].iter_mut().zip(&bytes[at + quote..at + quote + rest]) {
                    *to = from | 0x20;
                }
                length += 1 + rest;
            }
            at += quote + rest;
        }
    }
    let mut flags = if bytes[start].is_ascii_uppercase() { CAPITAL } else { 0 };
    if uppers >= 2 && uppers + usize::from(is_plural) == letters {
        flags |= ACRONYM;
    }
    finish(&mut buffer, length, start, at, flags, lexicon, take);
    at
}

/// Bytes of the apostrophe at `at`, 0 when there is none.
#[inline]
fn apostrophe(bytes: &[u8], at: usize, end: usize) -> usize {
    match bytes[at.min(end)..end] {
        [b'\'', ..] => 1,
        [0xE2, 0x80, 0x99, ..] => 3,
        _ => 0,
    }
}

fn starts_with_letter(text: &str) -> bool {
    text.chars().next().is_some_and(|c| c.is_alphabetic() && !is_unspaced(c))
}

#[inline]
fn finish(
    buffer: &mut [u8; WORD_BYTES_MAX],
    length: usize,
    start: usize,
    end: usize,
    flags: u8,
    lexicon: &Lexicon,
    take: &mut impl FnMut(Token),
) {
    let (own, value) = lexicon.of(hash(buffer, length));
    let length = stem(buffer, length);
    let mut prefix = 0;
    if length >= 5 {
        let mut first = [0; WORD_BYTES_MAX];
        first[..5].copy_from_slice(&buffer[..5]);
        prefix = hash(&first, 5) ^ PREFIX_MARK;
    }
    take(Token { value, ..token(hash(buffer, length), prefix, start, end, flags | own) });
}

/// Keeps the hashes of prefixes and of words apart.
const PREFIX_MARK: u32 = 0x5A5A_0001;

/// A word with letters beyond ASCII.
fn wide_word(text: &str, start: usize, end: usize, lexicon: &Lexicon, take: &mut impl FnMut(Token)) -> usize {
    let mut buffer = [0u8; WORD_BYTES_MAX];
    let (mut length, mut at) = (0, start);
    let mut is_capital = false;
    for (offset, character) in text[start..end].char_indices() {
        if !character.is_alphabetic() || is_unspaced(character) {
            break;
        }
        is_capital |= offset == 0 && character.is_uppercase();
        at = start + offset + character.len_utf8();
        for lower in character.to_lowercase() {
            let mut utf8 = [0; 4];
            let utf8 = lower.encode_utf8(&mut utf8).as_bytes();
            if length + utf8.len() <= WORD_BYTES_MAX {
                buffer[length..length + utf8.len()].copy_from_slice(utf8);
                length += utf8.len();
            }
        }
    }
    let quote = apostrophe(text.as_bytes(), at, end);
    if quote > 0 && text.as_bytes().get(at + quote).is_some_and(|byte| byte | 0x20 == b's') {
        at += quote + 1;
    }
    finish(&mut buffer, length, start, at, if is_capital { CAPITAL } else { 0 }, lexicon, take);
    at
}

/// What begins with a character beyond ASCII: a word, a pair of characters, or a mark.
fn other(text: &str, start: usize, end: usize, lexicon: &Lexicon, take: &mut impl FnMut(Token)) -> usize {
    let mut characters = text[start..end].chars();
    let Some(first) = characters.next() else { return end };
    let next = start + first.len_utf8();
    if !is_unspaced(first) {
        return if first.is_alphabetic() { wide_word(text, start, end, lexicon, take) } else { next };
    }
    if let Some(second) = characters.next().filter(|second| is_unspaced(*second) && first.is_alphanumeric()) {
        let mut buffer = [0; WORD_BYTES_MAX];
        let length = first.len_utf8() + second.len_utf8();
        buffer[..length].copy_from_slice(&text.as_bytes()[start..start + length]);
        take(token(hash(&buffer, length), 0, start, start + length, PAIR));
    }
    next
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        tokens(text, 0..text.len(), |token| found.push(&text[token.span()]));
        found
    }

    fn stemmed(word: &str) -> String {
        let mut buffer = [0; WORD_BYTES_MAX];
        buffer[..word.len()].copy_from_slice(word.as_bytes());
        let length = stem(&mut buffer, word.len());
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[test]
    fn endings_are_taken_off() {
        for (word, expected) in [
            ("cat", "cat"),
            ("cities", "citi"),
            ("classes", "class"),
            ("boxes", "box"),
            ("walls", "wall"),
            ("bus", "bus"),
            ("running", "run"),
            ("tried", "try"),
            ("tested", "test"),
            ("quickly", "quick"),
            ("government", "govern"),
            ("information", "inform"),
            ("make", "make"),
            ("making", "mak"),
            ("places", "plac"),
        ] {
            assert_eq!(stemmed(word), expected, "{word}");
        }
        assert_eq!(stem_of("Tests"), stem_of("testing"));
        assert_ne!(stem_of("test"), stem_of("taste"));
    }

    #[test]
    fn words_numbers_and_pairs_are_told_apart() {
        assert_eq!(words("Mary's 1,200.50 cats, 10:30."), ["Mary's", "1,200.50", "cats", "10:30"]);
        assert_eq!(words("don\u{2019}t caf\u{e9} \u{2014} x"), ["don\u{2019}t", "caf\u{e9}", "x"]);
        assert_eq!(words("\u{6e29}\u{5ea6}\u{306f}20"), ["\u{6e29}\u{5ea6}", "\u{5ea6}\u{306f}", "20"]);
        assert_eq!(stem_of("Mary's"), stem_of("mary\u{2019}s"));
        assert_eq!(stem_of("IDs"), stem_of("id"));
        assert_eq!(stem_of("CAF\u{c9}"), stem_of("caf\u{e9}"));
    }

    #[test]
    fn what_words_are_for_is_known() {
        let mut flags = Vec::new();
        tokens("The NASA isn't But forty 7", 0..26, |token| flags.push((token.flags, token.value)));
        let forty = spelled::counting().iter().position(|(word, _)| word == "forty").unwrap() as u8 + 1;
        assert_eq!(
            flags,
            [
                (STOP | CAPITAL, 0),
                (CAPITAL | ACRONYM, 0),
                (STOP | NEGATION, 0),
                (STOP | CONTRAST | CAPITAL, 0),
                (0, forty),
                (DIGIT, 0)
            ]
        );
    }

    proptest! {
        #[test]
        fn tokens_stand_in_order_inside_of_any_text(text in "\\PC{0,60}") {
            let mut last = 0;
            tokens(&text, 0..text.len(), |token| {
                assert!(token.start as usize >= last && text.get(token.span()).is_some(), "{text:?} {token:?}");
                last = token.start as usize;
            });
        }
    }
}
