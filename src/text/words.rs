//! Words, sentences, capitalised entities and characters of a text, in one pass over its bytes.
//!
//! A *word* is a run of characters that are not white space. Vocabulary, entities and phrases are made of words without
//! the punctuation around them and without a possessive 's, in lower case, by hash. ASCII takes a fast path, words of
//! letters the fastest; a run with other characters is decoded, so that Unicode white space, case, dashes and quotes
//! count as they should.
//!
//! **Sentences**: ours end at . ! ? (also behind closing quotes and brackets) before white space, except after
//! abbreviations and initials, and at CJK stops. *Pieces* are what seed 001 counts: whatever is not blank between any
//! two of . ! ?, so that "3.11.7" makes three.
//!
//! **Limits**: [`DISTINCT_WORDS_MAX`] and [`ENTITIES_MAX`]; words beyond them are counted but not told apart.

use std::{ops::Range, sync::LazyLock};

use super::{
    code::code_ranges,
    entropy::{Histogram, Summary},
    hash::{WordSet, end_of_run, first_lane, hash_of, word_at, word_in},
    phrases::{Finder, Hits},
    spelling::Spelling,
};

/// Distinct words of one text that are told apart; further ones do not enter the vocabulary.
pub const DISTINCT_WORDS_MAX: usize = 65_536;
/// Distinct entities of one text that are kept.
pub const ENTITIES_MAX: usize = 4_096;
/// Entities for which there is room from the first one on.
const ENTITIES_USUAL: usize = 16;

/// What one pass over a text finds.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Runs of characters that are not white space.
    pub words: u64,
    /// Sentences by our rule; 0 for a text without words.
    pub sentences: u64,
    /// Non-blank pieces between . ! ? (seed 001); 0 for a blank text.
    pub pieces: u64,
    /// Whether a number is followed by a percent sign.
    pub has_percentage: bool,
    /// Whether there is a number with a decimal point.
    pub has_decimal: bool,
    /// Whether there are marks that stand in code and hardly in prose, such as `=>` or `);`.
    pub has_code_marks: bool,
    /// The distinct words and how often the most frequent one occurs.
    pub vocabulary: Vocabulary,
    /// Words outside of code, by how they are spelled.
    pub spelling: Spelling,
    /// Capitalised words that may be names, each once, in order.
    pub entities: Vec<Entity>,
    /// The phrases of the language engines.
    pub phrases: Hits,
    /// Sums over all characters.
    pub characters: Summary,
}

/// A capitalised word inside of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entity {
    /// Hash of the word in lower case, as in [`Vocabulary::contains`].
    pub hash: u64,
    /// First byte of its first place.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

impl Words {
    /// Passes over `text` once.
    pub fn of(text: &str) -> Words {
        Words::with_code(text, &code_ranges(text))
    }

    /// As [`Words::of`], with the ranges of code already at hand.
    pub fn with_code(text: &str, code: &[Range<usize>]) -> Words {
        let mut scan = Scan::new(text, code, true);
        scan.pass();
        Words { characters: scan.histogram.summary(text.as_bytes()), ..scan.finish() }
    }

    /// As [`Words::of`], without spelling, entities, and sums over the characters but for question marks.
    pub fn of_prompt(text: &str) -> Words {
        let mut scan = Scan::new(text, &[], false);
        scan.pass();
        let questions = memchr::memchr_iter(b'?', text.as_bytes()).count() as u64;
        Words { characters: Summary { questions, ..Summary::default() }, ..scan.finish() }
    }
}

/// The runs of bytes of `text` that are not ASCII white space; other white space may be in them.
pub fn ascii_runs(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (start, end, _) = next_run(text.as_bytes(), at)?;
        at = end + 1;
        Some(start..end)
    })
}

/// Where the next run of bytes that are not white space begins and ends, and what it begins with.
#[inline(always)]
fn next_run(bytes: &[u8], at: usize) -> Option<(usize, usize, u64)> {
    let mut start = at;
    while is_space(*bytes.get(start)?) {
        start += 1;
    }
    let (lane, mut end) = first_lane(bytes, start);
    // Other control characters than white space belong to the word.
    while bytes.get(end).is_some_and(|byte| !is_space(*byte)) {
        end = end_of_run(bytes, end + 1);
    }
    Some((start, end, lane))
}

fn is_space(byte: u8) -> bool {
    CLASS[usize::from(byte)] & SPACE != 0
}

const SPACE: u8 = 1;
const STOP: u8 = 2;
const PERCENT: u8 = 4;
/// What a mark of code ends with, see [`is_code_mark`].
const SYNTAX: u8 = 8;
const APOSTROPHE: u8 = 16;
const OTHER: u8 = 32;
/// Letters and digits.
const CORE: u8 = 64;
const EVERY_CLASS: u8 = u8::MAX;

/// The class of every byte; bytes of characters beyond ASCII are `OTHER`.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => SPACE,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => CORE,
            b'.' | b'!' | b'?' => STOP,
            b'%' => PERCENT,
            b'=' | b'&' | b'|' | b'>' | b';' | b'{' | b':' => SYNTAX,
            b'\'' => APOSTROPHE,
            0x80.. => OTHER,
            _ => 0,
        };
        byte += 1;
    }
    class
};

/// Whether two characters stand together in code and hardly in prose.
fn is_code_mark(pair: &[u8]) -> bool {
    matches!(pair, b");" | b"){" | b"=>" | b"==" | b"!=" | b"&&" | b"||" | b"->" | b"::" | b"+=")
}

/// How the word before ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// There was none.
    Start,
    /// In the middle of a sentence.
    Inside,
    /// With . ! ?, which ends a sentence.
    Stop,
    /// With an abbreviation that ends a sentence when a capital follows.
    Perhaps,
    /// With an abbreviation or an initial, which does not.
    Abbreviation,
}

struct Scan<'t> {
    text: &'t str,
    bytes: &'t [u8],
    /// Ranges of code that may hold what is still to come.
    code: &'t [Range<usize>],
    /// Whether spelling and entities are asked for.
    is_response: bool,
    found: Words,
    phrases: Finder,
    histogram: Histogram,
    ending: Ending,
    /// Whether the sentence at hand has letters or digits.
    open: bool,
    /// Whether the piece at hand has characters.
    piece: bool,
}

impl<'t> Scan<'t> {
    fn new(text: &'t str, code: &'t [Range<usize>], is_response: bool) -> Scan<'t> {
        let found = Words { vocabulary: Vocabulary::for_bytes(text.len()), ..Words::default() };
        let (bytes, phrases) = (text.as_bytes(), Finder::new());
        Scan {
            text,
            bytes,
            code,
            is_response,
            found,
            phrases,
            histogram: Histogram::default(),
            ending: Ending::Start,
            open: false,
            piece: false,
        }
    }

    fn pass(&mut self) {
        let mut at = 0;
        while let Some((start, end, lane)) = next_run(self.bytes, at) {
            self.word(start, end, lane);
            at = end + 1;
        }
    }

    fn finish(mut self) -> Words {
        self.found.sentences += u64::from(self.open);
        self.found.phrases = self.phrases.into_hits();
        self.found
    }

    /// A run without ASCII white space. Words of letters, and those with one mark behind, are most of a prose.
    /// `lane` is what it begins with.
    #[inline(always)]
    fn word(&mut self, start: usize, end: usize, lane: u64) {
        let last = CLASS[usize::from(self.bytes[end - 1])];
        let length = end - start - usize::from(last & (CORE | OTHER) == 0);
        let word = word_in(lane, self.bytes, start, length);
        if !word.letters || length == 0 {
            return self.marked_word(start, end);
        }
        self.part(start, start + length, word.hash, self.bytes[start].is_ascii_uppercase(), true);
        if last & STOP == 0 {
            return self.plain_end();
        }
        self.found.words += 1;
        self.found.pieces += u64::from(!self.piece);
        self.piece = false;
        let may_be_short = length == 1 || ABBREVIATIONS.contains(word.hash);
        self.ending = if may_be_short { ending_of(&self.text[start..end]) } else { Ending::Stop };
        self.close_sentence();
    }

    /// A word that is followed by white space and says nothing of the sentence.
    #[inline]
    fn plain_end(&mut self) {
        self.found.words += 1;
        self.found.pieces += u64::from(!self.piece);
        self.piece = true;
        self.ending = Ending::Inside;
    }

    /// A word with something else than ASCII letters.
    fn marked_word(&mut self, start: usize, end: usize) {
        let word = &self.bytes[start..end];
        let class = word.iter().fold(0, |class, byte| class | CLASS[usize::from(*byte)]);
        if class & OTHER != 0 {
            return self.mixed_word(start, end);
        }
        if class & CORE != 0 {
            self.trimmed_part(start, end, class);
        }
        self.end_word(start, end, class);
    }

    /// What remains of an ASCII word without punctuation around it and without a possessive 's.
    #[inline]
    fn trimmed_part(&mut self, start: usize, end: usize, class: u8) {
        let word = &self.bytes[start..end];
        let is_core = |byte: &u8| CLASS[usize::from(*byte)] & CORE != 0;
        let Some(first) = word.iter().position(is_core) else { return };
        let last = word.iter().rposition(is_core).unwrap_or(first);
        let (start, end) = (start + first, start + last + 1);
        if class & APOSTROPHE != 0 {
            return self.possessive_part(start, end);
        }
        let word = word_at(self.bytes, start, end - start);
        self.other_part(start, end, word.hash, self.bytes[start].is_ascii_uppercase(), word.letters);
    }

    /// The name before a possessive 's counts as the name; phrases such as "that's why" see the whole.
    fn possessive_part(&mut self, start: usize, end: usize) {
        let core = &self.text[start..end];
        let hash = hash_of(core);
        let name = core.strip_suffix("'s").or_else(|| core.strip_suffix("\u{2019}s")).filter(|name| !name.is_empty());
        let letters = |name: &str| name.chars().all(char::is_alphabetic);
        let capital = core.starts_with(char::is_uppercase);
        let Some(name) = name else { return self.other_part(start, end, hash, capital, letters(core)) };
        self.phrases.offer(self.bytes, start, end, hash);
        self.other_part(start, start + name.len(), hash_of(name), capital, letters(name));
    }

    /// As [`Scan::part`], off the fast path.
    #[inline(never)]
    fn other_part(&mut self, start: usize, end: usize, hash: u64, capital: bool, letters: bool) {
        self.part(start, end, hash, capital, letters);
    }

    /// A word without what stands around it: what the vocabulary, the phrases and the entities are made of.
    #[inline(always)]
    fn part(&mut self, start: usize, end: usize, hash: u64, capital: bool, letters: bool) {
        if self.ending == Ending::Perhaps {
            self.after_abbreviation(capital);
        }
        self.open = true;
        if letters & !capital & self.is_response && !self.is_in_code(start) {
            self.found.spelling.add(&self.bytes[start..end]);
        }
        self.found.vocabulary.add(hash);
        self.phrases.offer(self.bytes, start, end, hash);
        if capital & letters & self.is_response & (self.ending == Ending::Inside) {
            self.entity(start, end, hash);
        }
    }

    /// Whether a word that begins behind all before it begins in code.
    #[inline]
    fn is_in_code(&mut self, start: usize) -> bool {
        while let [first, rest @ ..] = self.code {
            if start < first.end {
                return start >= first.start;
            }
            self.code = rest;
        }
        false
    }

    /// A capital after an abbreviation such as "etc." shows that the sentence ended there.
    fn after_abbreviation(&mut self, capital: bool) {
        if capital {
            self.found.sentences += u64::from(self.open);
            self.ending = Ending::Stop;
        } else {
            self.ending = Ending::Inside;
        }
    }

    fn entity(&mut self, start: usize, end: usize, hash: u64) {
        let room = self.found.entities.len() < ENTITIES_MAX;
        let long = self.text[start..end].chars().nth(1).is_some();
        if long && room && !is_stopword(hash) && self.found.vocabulary.mark(hash) {
            if self.found.entities.is_empty() {
                self.found.entities.reserve(ENTITIES_USUAL);
            }
            self.found.entities.push(Entity { hash, start, end });
        }
    }

    /// A run with characters beyond ASCII, some of which may be white space or punctuation.
    #[cold]
    fn mixed_word(&mut self, start: usize, end: usize) {
        let text = self.text;
        let (mut word, mut part) = (start, start);
        for (offset, character) in text[start..end].char_indices().filter(|(_, character)| !character.is_ascii()) {
            self.histogram.add(character);
            if character.is_alphanumeric() || character == '\u{2019}' {
                continue;
            }
            let (at, after) = (start + offset, start + offset + character.len_utf8());
            self.mixed_part(part, at);
            part = after;
            if character.is_whitespace() {
                self.end_word(word, at, EVERY_CLASS);
                word = after;
            } else if is_cjk_stop(character) {
                self.ending = Ending::Stop;
                self.close_sentence();
            }
        }
        self.mixed_part(part, end);
        self.end_word(word, end, EVERY_CLASS);
    }

    fn mixed_part(&mut self, start: usize, end: usize) {
        let left = self.text[start..end].trim_start_matches(|character: char| !character.is_alphanumeric());
        let core = left.trim_end_matches(|character: char| !character.is_alphanumeric());
        if !core.is_empty() {
            self.possessive_part(end - left.len(), end - left.len() + core.len());
        }
    }

    /// The end of a word that holds more than letters.
    fn end_word(&mut self, start: usize, end: usize, class: u8) {
        if start >= end {
            return;
        }
        if class & STOP == 0 {
            self.plain_end();
        } else {
            self.stops(start, end);
        }
        if class & (PERCENT | SYNTAX) != 0 {
            self.marks(start, end, class);
        }
    }

    /// The end of a word that may end a sentence.
    fn stops(&mut self, start: usize, end: usize) {
        self.found.words += 1;
        let word = &self.bytes[start..end];
        let (mut pieces, mut piece) = (0, self.piece);
        for (index, byte) in word.iter().enumerate() {
            if CLASS[usize::from(*byte)] & STOP == 0 {
                pieces += u64::from(!piece);
                piece = true;
                continue;
            }
            piece = false;
            let digit_before = index > 0 && word[index - 1].is_ascii_digit();
            let digit_behind = word.get(index + 1).is_some_and(u8::is_ascii_digit);
            self.found.has_decimal |= *byte == b'.' && digit_before && digit_behind;
        }
        self.found.pieces += pieces;
        self.piece = piece;
        self.ending = ending_of(&self.text[start..end]);
        self.close_sentence();
    }

    /// A word with a percent sign or with marks of code.
    fn marks(&mut self, start: usize, end: usize, class: u8) {
        let word = &self.bytes[start..end];
        if class & PERCENT != 0 && !self.found.has_percentage {
            self.found.has_percentage = word.windows(2).any(|pair| pair[1] == b'%' && pair[0].is_ascii_digit());
        }
        if class & SYNTAX != 0 && !self.found.has_code_marks {
            let is_mark = |pair: &[u8]| CLASS[usize::from(pair[1])] & SYNTAX != 0 && is_code_mark(pair);
            self.found.has_code_marks = word.windows(2).any(is_mark);
        }
    }

    fn close_sentence(&mut self) {
        if self.ending == Ending::Stop {
            self.found.sentences += u64::from(self.open);
            self.open = false;
        }
    }
}

fn is_cjk_stop(character: char) -> bool {
    matches!(character, '。' | '！' | '？' | '｡')
}

/// How a word ends, closing quotes and brackets aside.
fn ending_of(word: &str) -> Ending {
    if word.ends_with(|last: char| last.is_ascii_alphanumeric()) {
        return Ending::Inside;
    }
    let closers = word.bytes().rev().take_while(|byte| b"\"')]*_".contains(byte)).count();
    let word = &word[..word.len() - closers];
    let word =
        if word.is_ascii() { word } else { word.trim_end_matches(['"', '\'', ')', ']', '*', '_', '”', '’', '»']) };
    match word.as_bytes().last() {
        Some(b'!' | b'?') => return Ending::Stop,
        Some(b'.') if word.ends_with("..") => return Ending::Perhaps,
        Some(b'.') => {}
        _ if word.ends_with(is_cjk_stop) => return Ending::Stop,
        _ => return Ending::Inside,
    }
    let core = word.trim_matches(|character: char| !character.is_alphanumeric());
    if core.len() > 1 && !ABBREVIATIONS.contains(hash_of(core)) {
        return Ending::Stop;
    }
    let is = |list: &[&str]| list.iter().any(|entry| core.eq_ignore_ascii_case(entry));
    let is_initial = core.len() == 1 && core.starts_with(|c: char| c.is_ascii_uppercase() && c != 'I');
    if TITLES.contains(&core) || is(&LEADING) || is_initial {
        Ending::Abbreviation
    } else if is(&CLOSING) {
        Ending::Perhaps
    } else {
        Ending::Stop
    }
}

/// All abbreviations below, in any case.
static ABBREVIATIONS: LazyLock<WordSet> =
    LazyLock::new(|| WordSet::of([&TITLES[..], &LEADING, &CLOSING].into_iter().flatten().copied()));
/// Titles, which stand before a name; as written, for "ms." is also milliseconds.
const TITLES: [&str; 14] =
    ["Dr", "Mr", "Mrs", "Ms", "Prof", "St", "Gen", "Sen", "Rep", "Rev", "Hon", "Capt", "Sgt", "Gov"];
/// Abbreviations after which the sentence goes on.
const LEADING: [&str; 8] = ["e.g", "i.e", "cf", "vs", "approx", "viz", "fig", "figs"];
/// Abbreviations that end the sentence when a capital follows.
const CLOSING: [&str; 18] = [
    "inc", "ltd", "co", "corp", "etc", "jr", "sr", "a.m", "p.m", "u.s", "u.k", "ph.d", "al", "dept", "no", "sec",
    "min", "eq",
];

/// The distinct words of a text, by hash, with their counts: an open-addressing table.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// 0 when free; else the upper [`HASH_BITS`] of the hash, how often the word occurs (unless it is a stopword), and
    /// one bit for a mark. At least a third of the slots are free.
    slots: Vec<u64>,
    /// Words for which there is room in them.
    room: usize,
    total: u64,
    top_count: u64,
}

/// Bits by which the words of one text are told apart.
const HASH_BITS: u32 = 40;
/// The other bits of a slot, mark and count.
const COUNT_MASK: u64 = (1 << (64 - HASH_BITS)) - 1;
const MARK: u64 = 1;
/// One occurrence, behind the mark.
const ONCE: u64 = 2;
/// Occurrences of one word that are counted: texts with more are beyond 16 MB.
const COUNT_MAX: u64 = COUNT_MASK / ONCE;

/// Whether a slot belongs to another word: it is not free, and differs in the hash. One comparison for both, because
/// each alone is hard to predict.
fn is_of_another(slot: u64, hash: u64) -> bool {
    slot.min(slot ^ hash) > COUNT_MASK
}

impl Vocabulary {
    /// A table with room for the words of a text of `bytes`, as far as can be guessed.
    fn for_bytes(bytes: usize) -> Vocabulary {
        let slots = (bytes / 6).clamp(16, 4_096).next_power_of_two();
        Vocabulary { slots: vec![0; slots], room: Vocabulary::words_for(slots), ..Vocabulary::default() }
    }

    /// Different words.
    pub fn distinct(&self) -> usize {
        Vocabulary::words_for(self.slots.len()) - self.room
    }

    /// Words counted, those beyond the limit included.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether the word with this hash occurs; see [`super::hash::hash_of`].
    pub fn contains(&self, hash: u64) -> bool {
        !self.slots.is_empty() && self.slots[self.slot(hash)] != 0
    }

    /// The number of times that the most frequent word other than a stopword occurs, up to 8 million.
    pub fn top_count(&self) -> u64 {
        self.top_count
    }

    /// Counts one word.
    #[inline(always)]
    fn add(&mut self, hash: u64) {
        self.total += 1;
        if self.room == 0 && !self.grow() && !self.contains(hash) {
            return;
        }
        let mask = self.slots.len() - 1;
        let mut index = (hash >> 40) as usize & mask;
        let mut slot = self.slots[index];
        while is_of_another(slot, hash) {
            index = (index + 1) & mask;
            slot = self.slots[index];
        }
        // Half of the words are new, and which ones cannot be predicted: no branch.
        self.room -= usize::from(slot == 0);
        slot = if slot == 0 { hash & !COUNT_MASK } else { slot };
        let count = (slot & COUNT_MASK) / ONCE + 1;
        if count < COUNT_MAX {
            self.slots[index] = slot + ONCE;
        }
        if count > self.top_count {
            self.rise(hash, index, count);
        }
    }

    /// A word that occurs more often than all before it. A stopword begins anew, so as not to come here each time.
    #[inline(never)]
    fn rise(&mut self, hash: u64, index: usize, count: u64) {
        if is_stopword(hash) {
            self.slots[index] &= !COUNT_MASK | MARK;
        } else {
            self.top_count = count;
        }
    }

    /// Marks a word; whether it is there and was not marked before.
    fn mark(&mut self, hash: u64) -> bool {
        let index = self.slot(hash);
        let slot = self.slots[index];
        if slot == 0 || slot & MARK != 0 {
            return false;
        }
        self.slots[index] = slot | MARK;
        true
    }

    /// The slot of `hash`, or the free one where it belongs.
    #[inline]
    fn slot(&self, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut index = (hash >> 40) as usize & mask;
        loop {
            if !is_of_another(self.slots[index], hash) {
                return index;
            }
            index = (index + 1) & mask;
        }
    }

    /// Makes room for further words; false when there are too many.
    #[cold]
    fn grow(&mut self) -> bool {
        let distinct = self.distinct();
        if distinct >= DISTINCT_WORDS_MAX {
            return false;
        }
        let larger = vec![0; self.slots.len() * 2];
        for slot in std::mem::replace(&mut self.slots, larger).into_iter().filter(|slot| *slot != 0) {
            let index = self.slot(slot);
            self.slots[index] = slot;
        }
        self.room = Vocabulary::words_for(self.slots.len()) - distinct;
        true
    }

    /// Words that a table of so many slots may hold.
    fn words_for(slots: usize) -> usize {
        (slots * 2 / 3).min(DISTINCT_WORDS_MAX)
    }
}

/// Whether the word with this hash is an English function word.
pub fn is_stopword(hash: u64) -> bool {
    STOPWORD_SET.contains(hash)
}

static STOPWORD_SET: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(STOPWORDS.split_whitespace()));

/// English function words: articles, pronouns, prepositions, conjunctions, auxiliaries, and a few adverbs.
const STOPWORDS: &str = "a about above after again against all also although am an and another any are as at be because \
    been before being below between both but by can could did do does doing during each either every few for from \
    further had has have having he hence her here hers him his how however i if in into is it its itself just let like \
    many may me might mine more most much must my neither no nor not now of off on once one only or other our ours out \
    over own per please same shall she should since so some such than that the their theirs them then there therefore \
    these they this those though through thus to too two under until up upon us very via was we were what when where \
    whether which while who whom whose why will with within without would yes yet you your yours";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, words: u64, sentences: u64, pieces: u64) {
        let found = Words::of(text);
        assert_eq!((found.words, found.sentences, found.pieces), (words, sentences, pieces), "{text:?}");
    }

    fn entities(text: &str) -> Vec<&str> {
        Words::of(text).entities.iter().map(|entity| &text[entity.start..entity.end]).collect()
    }

    #[test]
    fn words_sentences_and_pieces() {
        check("", 0, 0, 0);
        check(" \n ", 0, 0, 0);
        check("The build passed.", 3, 1, 1);
        check("The build passed. Deployment starts at noon.", 7, 2, 2);
        check("Latency rose to 98.5 ms. Version 3.11.7 fixed it.", 9, 2, 5);
        check("Dr. Ngata reviewed the plan, e.g. the rollback step. Acme Inc. approved it.", 13, 2, 6);
        check("See No. 5. No. That is fig. 3 of J. Smith.", 11, 3, 6);
        check("We met at 5 p.m. The talk was short.", 9, 2, 3);
        check("He said \"Stop!\" Then (really?) he left...", 7, 3, 3);
        check("1. Open the console\n2) Choose the region\n3. Create the bucket", 12, 3, 3);
        check("模型已部署。延迟为二十毫秒。没有错误。", 1, 3, 1);
        check("Où est-il\u{a0}? Là\u{2003}bas!", 5, 2, 2);
        check("!!! ???", 2, 0, 0);
    }

    #[test]
    fn entities_are_capitalised_words_inside_of_sentences() {
        assert_eq!(entities("Work by Alice Nakamura continues in Zurich."), ["Alice", "Nakamura", "Zurich"]);
        assert_eq!(entities("THE SYSTEM IS DOWN NOW"), ["SYSTEM", "DOWN"]);
        assert_eq!(entities("1) Paris 2) London 1) Paris"), ["Paris", "London"]);
        assert_eq!(entities("We use JSON. Oracle does too! And X, A1, Tokyo's (Osaka)."), ["JSON", "Tokyo", "Osaka"]);
        assert_eq!(entities("in Zürich and Émile"), ["Zürich", "Émile"]);
    }

    #[test]
    fn numbers_with_percent_and_decimal_point_are_noticed() {
        for (text, percentage, decimal) in
            [("45% up", true, false), ("% 45", false, false), ("3.5 on", false, true), ("end 3. 5", false, false)]
        {
            let found = Words::of(text);
            assert_eq!((found.has_percentage, found.has_decimal), (percentage, decimal), "{text}");
        }
    }

    #[test]
    fn the_top_count_leaves_out_function_words_and_ignores_case_and_punctuation() {
        let found = Words::of("The the the cache, Cache (cache) the 'lease'.");
        assert_eq!(found.vocabulary.top_count(), 3);
        assert_eq!(found.vocabulary.distinct(), 3);
        assert!(found.vocabulary.contains(hash_of("LEASE")));
        assert!(!found.vocabulary.contains(hash_of("lea")));
    }

    #[test]
    fn beyond_the_limit_words_are_counted_but_not_told_apart() {
        let text: String = (0..DISTINCT_WORDS_MAX + 100).map(|n| format!("w{n} ")).collect();
        let found = Words::of(&text);
        assert_eq!(found.vocabulary.distinct(), DISTINCT_WORDS_MAX);
        assert_eq!(found.vocabulary.total(), DISTINCT_WORDS_MAX as u64 + 100);
    }

    proptest! {
        #[test]
        fn words_are_those_of_the_standard_library(text in "[a-zé \u{a0}\n\u{2003}.,'A-C。-]{0,60}") {
            prop_assert_eq!(Words::of(&text).words, text.split_whitespace().count() as u64);
        }

        #[test]
        fn pieces_are_those_of_a_split(text in "[a é。.!? \n]{0,60}") {
            let expected = text.split(['.', '!', '?']).filter(|piece| !piece.trim().is_empty()).count() as u64;
            prop_assert_eq!(Words::of(&text).pieces, expected);
        }

        #[test]
        fn any_text_is_accepted(text in "\\PC{0,80}") {
            let found = Words::of(&text);
            prop_assert!(found.sentences <= found.words + found.pieces + text.chars().count() as u64);
        }

    }
}
