//! Characters that are not what they look like, or that are not seen at all.
//!
//! Two kinds of views. *Folded* text reads as a person sees it: compatibility forms (fullwidth, mathematical, enclosed
//! letters) as ASCII, letters of other scripts that look Latin as Latin inside of Latin words, storms of combining marks
//! and invisible characters inside of words left out; all of it is one view. *Hidden* text is what invisible characters
//! carry as data: tag characters, variation selectors, bits of invisible operators and of zero-width characters; and text
//! that is written in the other direction or upside down.
//!
//! Innocent, and by themselves no view: ZWJ in emoji, joiners of Persian and Indic scripts, marks of direction at
//! right-to-left text, BOM, tag characters of flags, one variation selector behind a character, the words of a text in
//! another script.
//!
//! **Sources**: UAX 15 (NFKC), UTS 39 (confusables), UTS 51 (emoji, flags), UAX 9 (bidi), CVE-2021-42574 (overrides).
//!
//! **Limits**: folding looks at characters one by one; a Latin letter that a ligature of several stands for is kept.

use std::{ops::Range, sync::LazyLock};

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use unicode_security::confusable_detection::skeleton;

use super::{
    Candidate,
    base::{Strictness, is_readable},
    english,
    offsets::{Piece, Writer},
    signs::Signs,
};

/// Compatibility forms in a row, or in a word with ASCII letters, that are folded.
const COMPATIBLE_RUN_MIN: usize = 4;
/// Combining marks on one character that no language writes.
const MARKS_ON_ONE_MIN: usize = 3;
/// Combining marks of a text, one on every second letter, from which a text is a storm.
const MARKS_MIN: usize = 8;
/// Hidden characters in a row that are data.
const HIDDEN_RUN_MIN: usize = 4;
/// Hidden bits in a row that are data.
const HIDDEN_BITS_MIN: usize = 24;

/// What kind of character one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Ordinary,
    Invisible,
    Tag,
    Selector,
    Mark,
    Compatible,
    Foreign,
    Turned,
}

fn class(character: char) -> Class {
    match character {
        '\u{0}'..='\u{7f}' => Class::Ordinary,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' => {
            Class::Invisible
        }
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' => {
            Class::Invisible
        }
        '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' => Class::Invisible,
        '\u{34f}' => Class::Invisible,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' => Class::Mark,
        '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}' => Class::Mark,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Class::Selector,
        '\u{e0000}'..='\u{e007f}' => Class::Tag,
        '\u{250}'..='\u{2af}' | '\u{1d00}'..='\u{1dbf}' | 'ǝ' | 'Ɔ' | 'Ǝ' => Class::Turned,
        '\u{2070}'..='\u{209f}' | '\u{2100}'..='\u{214f}' | '\u{2460}'..='\u{24ff}' | '\u{ff01}'..='\u{ff5e}' => {
            Class::Compatible
        }
        '\u{1d400}'..='\u{1d7ff}' | '\u{1f100}'..='\u{1f149}' => Class::Compatible,
        '\u{180}'..='\u{24f}' | '\u{370}'..='\u{58f}' | '\u{10a0}'..='\u{10ff}' | '\u{13a0}'..='\u{13ff}' => {
            Class::Foreign
        }
        '\u{1e00}'..='\u{1fff}' | '\u{2c00}'..='\u{2dff}' | '\u{a4d0}'..='\u{a4ff}' | '\u{a640}'..='\u{a7ff}' => {
            Class::Foreign
        }
        '\u{ab30}'..='\u{abbf}' | '\u{131}' | '\u{138}' | '\u{17f}' => Class::Foreign,
        _ => Class::Ordinary,
    }
}

/// How many characters of each class there are.
#[derive(Debug, Default)]
struct Counts {
    invisible: usize,
    tags: usize,
    selectors: usize,
    marks: usize,
    compatible: usize,
    foreign: usize,
    turned: usize,
}

impl Counts {
    fn of(text: &str) -> Counts {
        let mut counts = Counts::default();
        for character in text.chars() {
            match class(character) {
                Class::Ordinary => {}
                Class::Invisible => counts.invisible += 1,
                Class::Tag => counts.tags += 1,
                Class::Selector => counts.selectors += 1,
                Class::Mark => counts.marks += 1,
                Class::Compatible => counts.compatible += 1,
                Class::Foreign => counts.foreign += 1,
                Class::Turned => counts.turned += 1,
            }
        }
        counts
    }
}

/// Finds all views of a text that is not ASCII.
pub fn find(signs: &Signs<'_>, out: &mut Vec<Candidate>) {
    let text = signs.text;
    let counts = Counts::of(text);
    if counts.invisible + counts.marks + counts.compatible + counts.foreign + counts.turned > 0 {
        out.extend(folded(text, &counts));
    }
    let mut add = |name: &'static str, writer: Writer<'_>| {
        out.extend(writer.finish().map(|view| Candidate { steps: vec![name], view }));
    };
    if counts.tags > 0 {
        add("tag_characters", tags(text));
    }
    if counts.selectors >= HIDDEN_RUN_MIN {
        add("variation_selectors", selectors(text));
    }
    if counts.invisible >= HIDDEN_BITS_MIN {
        add("invisible_bits", bits(text));
    }
    if counts.invisible > 0 && text.contains(['\u{202d}', '\u{202e}']) {
        add("bidi_override", overridden(text));
    }
    if counts.turned >= HIDDEN_RUN_MIN {
        add("upside_down", upside_down(text));
    }
}

/// What is folded all over a text because some word of it calls for it.
#[derive(Clone, Copy, Default)]
struct Folds {
    compatible: bool,
    foreign: bool,
    invisible: bool,
    marks: bool,
}

fn folded(text: &str, counts: &Counts) -> Option<Candidate> {
    let letters = text.chars().filter(|character| character.is_alphabetic()).count();
    let scripts = Scripts::of(text, counts);
    let mut folds = Folds { marks: counts.marks >= MARKS_MIN && counts.marks * 2 >= letters, ..Folds::default() };
    each_word(text, |word| {
        let of_word = Reading::of(word, &scripts, Folds::default());
        folds.compatible |= of_word.folds.compatible;
        folds.foreign |= of_word.folds.foreign;
        folds.invisible |= of_word.folds.invisible;
    });
    let mut writer = Writer::new(text);
    let mut steps =
        [("compatibility", false), ("confusables", false), ("combining_marks", false), ("invisible", false)];
    each_word(text, |word| fold_word(word, &Reading::of(word, &scripts, folds), &mut writer, &mut steps));
    let view = writer.finish()?;
    Some(Candidate { steps: steps.into_iter().filter_map(|(name, is_used)| is_used.then_some(name)).collect(), view })
}

/// Every word of more than ordinary characters.
fn each_word(text: &str, mut each: impl FnMut(&[(usize, char)])) {
    let mut word: Vec<(usize, char)> = Vec::new();
    let mut is_ordinary = true;
    for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
        let class = class(character);
        if character.is_alphanumeric()
            || matches!(class, Class::Mark | Class::Invisible | Class::Compatible | Class::Selector)
        {
            word.push((at, character));
            is_ordinary &= class == Class::Ordinary;
            continue;
        }
        if !is_ordinary {
            each(&word);
        }
        word.clear();
        is_ordinary = true;
    }
}

/// Which scripts a text is really written in: letters that have no Latin look-alike.
struct Scripts {
    has_cyrillic: bool,
    has_greek: bool,
    has_others: bool,
}

impl Scripts {
    fn of(text: &str, counts: &Counts) -> Scripts {
        let mut scripts = Scripts { has_cyrillic: false, has_greek: false, has_others: false };
        if counts.foreign == 0 {
            return scripts;
        }
        for character in text.chars() {
            let is_own = || latin_of(character).is_none();
            match character {
                '\u{400}'..='\u{52f}' if !scripts.has_cyrillic => scripts.has_cyrillic = is_own(),
                '\u{370}'..='\u{3ff}' if !scripts.has_greek => scripts.has_greek = is_own(),
                '\u{530}'..='\u{58f}' | '\u{10a0}'..='\u{10ff}' | '\u{13a0}'..='\u{13ff}' if !scripts.has_others => {
                    scripts.has_others = is_own();
                }
                _ => {}
            }
        }
        scripts
    }

    /// Whether a word of letters that look Latin may be a word of its own script here.
    fn has(&self, character: char) -> bool {
        match character {
            '\u{400}'..='\u{52f}' => self.has_cyrillic,
            '\u{370}'..='\u{3ff}' => self.has_greek,
            _ => self.has_others,
        }
    }
}

/// The answers of [`find_latin`] for Greek, Cyrillic and what stands near them, which whole texts are written in.
static LATIN: LazyLock<Vec<Option<char>>> =
    LazyLock::new(|| (0..0x590).map(|code| char::from_u32(code).and_then(find_latin)).collect());

/// The Latin letter that a letter of another script looks like.
fn latin_of(character: char) -> Option<char> {
    LATIN.get(u32::from(character) as usize).copied().unwrap_or_else(|| find_latin(character))
}

fn find_latin(character: char) -> Option<char> {
    if class(character) != Class::Foreign {
        return None;
    }
    // UTS 39 writes I, l and 1 as one, and m as two letters: here they are kept apart.
    match character {
        'І' | 'Ι' | 'Ӏ' | 'Ꮖ' => return Some('I'),
        'м' | 'М' | 'Μ' | 'Ϻ' | 'Ꮇ' => return Some(if character == 'м' { 'm' } else { 'M' }),
        'т' => return Some('t'),
        'к' | 'κ' => return Some('k'),
        'н' | 'г' | 'п' | 'и' | 'ш' | 'щ' | 'л' | 'д' | 'б' => return None,
        _ => {}
    }
    let mut prototype = skeleton(character.encode_utf8(&mut [0; 4])).collect::<Vec<_>>().into_iter();
    match (prototype.next(), prototype.next()) {
        (Some(latin), None) if latin.is_ascii_alphabetic() => Some(latin),
        _ => None,
    }
}

/// The ASCII letter or digit that a compatibility form stands for.
fn compatible_of(character: char) -> Option<char> {
    if class(character) != Class::Compatible {
        return None;
    }
    let mut normal =
        std::iter::once(character).nfkc().filter(|character| character.is_ascii_alphanumeric() || *character == '@');
    let first = normal.next()?;
    normal.next().is_none().then_some(first)
}

fn is_latin(character: char) -> bool {
    character.is_ascii_alphabetic() || ('\u{c0}'..='\u{17f}').contains(&character)
}

/// What is to be folded in one word.
struct Reading {
    folds: Folds,
}

impl Reading {
    fn of(word: &[(usize, char)], scripts: &Scripts, of_text: Folds) -> Reading {
        let count = |of: fn(char) -> bool| word.iter().filter(|(_, character)| of(*character)).count();
        let latin = count(is_latin);
        let compatible = count(|character| compatible_of(character).is_some());
        let foreign = count(|character| class(character) == Class::Foreign);
        let look_alikes = if foreign == 0 { 0 } else { count(|character| latin_of(character).is_some()) };
        let is_own =
            || word.iter().any(|(_, character)| class(*character) == Class::Foreign && scripts.has(*character));
        // Mixed with Latin letters they are meant to look so; by themselves only where nothing else is of their script.
        let looks_latin = look_alikes > 0 && look_alikes == foreign;
        let is_foreign = latin >= 1 && latin + look_alikes >= 3 || latin == 0 && look_alikes >= 2 && !is_own();
        let mut folds = Folds {
            compatible: compatible > 0 && (of_text.compatible || compatible >= COMPATIBLE_RUN_MIN || latin >= 2),
            foreign: looks_latin && (is_foreign || of_text.foreign && (latin >= 1 || !is_own())),
            invisible: of_text.invisible,
            marks: of_text.marks || marks_on_one(word) >= MARKS_ON_ONE_MIN,
        };
        if !folds.invisible && count(is_hidden) > 0 {
            let seen = |character: char| {
                is_latin(character) || character.is_ascii_digit() || folds.foreign && latin_of(character).is_some()
            };
            let first = word.iter().position(|(_, character)| seen(*character));
            let last = word.iter().rposition(|(_, character)| seen(*character));
            let inside = first.zip(last).and_then(|(first, last)| word.get(first..last)).unwrap_or_default();
            // Between two Latin letters nothing invisible has a purpose; a letter of another script may need it.
            folds.invisible = inside.iter().any(|(_, character)| is_hidden(*character))
                && inside.iter().all(|(_, character)| seen(*character) || class(*character) != Class::Ordinary);
        }
        Reading { folds }
    }
}

fn is_hidden(character: char) -> bool {
    matches!(class(character), Class::Invisible | Class::Selector)
}

fn fold_word(
    word: &[(usize, char)],
    reading: &Reading,
    writer: &mut Writer<'_>,
    steps: &mut [(&'static str, bool); 4],
) {
    let folds = reading.folds;
    let is_seen = |character: char| {
        character.is_ascii_alphanumeric() || is_latin(character) || folds.foreign && latin_of(character).is_some()
    };
    let has_others = word.iter().any(|(_, character)| class(*character) == Class::Ordinary && !is_seen(*character));
    let has_seen = word.iter().any(|(_, character)| is_seen(*character));
    for (at, character) in word {
        let range = *at..at + character.len_utf8();
        let mut replace = |step: usize, by: &str| {
            steps[step].1 = true;
            writer.replace(range.clone(), by);
        };
        match class(*character) {
            Class::Compatible if folds.compatible => {
                if let Some(plain) = compatible_of(*character) {
                    replace(0, plain.encode_utf8(&mut [0; 4]));
                }
            }
            Class::Foreign if folds.foreign => {
                if let Some(latin) = latin_of(*character) {
                    replace(1, latin.encode_utf8(&mut [0; 4]));
                }
            }
            Class::Mark if folds.marks => replace(2, ""),
            Class::Invisible | Class::Selector if folds.invisible && has_seen && !has_others => replace(3, ""),
            Class::Ordinary if folds.marks && !character.is_ascii() => {
                // A composed letter in a storm: one mark more.
                let mut parts = std::iter::once(*character).nfd().filter(|part| !is_combining_mark(*part));
                if let (Some(base), None) = (parts.next(), parts.next())
                    && base != *character
                {
                    replace(2, base.encode_utf8(&mut [0; 4]));
                }
            }
            _ => {}
        }
    }
}

/// The most combining marks behind one character of a word.
fn marks_on_one(word: &[(usize, char)]) -> usize {
    let (mut most, mut now) = (0, 0);
    for (_, character) in word {
        now = if class(*character) == Class::Mark { now + 1 } else { 0 };
        most = most.max(now);
    }
    most
}

/// Tag characters as ASCII, except those of a flag.
fn tags(text: &str) -> Writer<'_> {
    let mut writer = Writer::new(text);
    for (run, before) in runs(text, |character| class(character) == Class::Tag) {
        let is_flag = before == Some('\u{1f3f4}') && run.len() <= 7 * 4 && text[run.clone()].ends_with('\u{e007f}');
        if is_flag {
            continue;
        }
        let mut piece = Piece::default();
        for (at, character) in text[run.clone()].char_indices() {
            let at = run.start + at;
            let plain = char::from((u32::from(character) - 0xe0000) as u8);
            if !plain.is_control() {
                piece.push_char(plain, at..at + character.len_utf8());
            }
        }
        if !piece.text.is_empty() {
            writer.piece(run, &piece);
        }
    }
    writer
}

/// Runs of characters of a kind, with the character in front.
fn runs(text: &str, is_of: impl Fn(char) -> bool) -> Vec<(Range<usize>, Option<char>)> {
    let mut runs: Vec<(Range<usize>, Option<char>)> = Vec::new();
    let mut last = None;
    for (at, character) in text.char_indices() {
        if is_of(character) {
            let end = at + character.len_utf8();
            match runs.last_mut() {
                Some((run, _)) if run.end == at => run.end = end,
                _ => runs.push((at..end, last)),
            }
        } else {
            last = Some(character);
        }
    }
    runs
}

/// Variation selectors, each a byte: FE00 to FE0F are 0 to 15, E0100 to E01EF are 16 to 255.
fn selectors(text: &str) -> Writer<'_> {
    let mut writer = Writer::new(text);
    for (run, _) in runs(text, |character| class(character) == Class::Selector) {
        let bytes: Vec<(u8, Range<usize>)> = text[run.clone()]
            .char_indices()
            .map(|(at, character)| {
                let code = u32::from(character);
                let byte = if code < 0xe0100 { code - 0xfe00 } else { code - 0xe0100 + 16 };
                (byte as u8, run.start + at..run.start + at + character.len_utf8())
            })
            .collect();
        if let Some(piece) = of_bytes(&bytes).filter(|_| bytes.len() >= HIDDEN_RUN_MIN) {
            writer.piece(run, &piece);
        }
    }
    writer
}

fn of_bytes(bytes: &[(u8, Range<usize>)]) -> Option<Piece> {
    let data: Vec<u8> = bytes.iter().map(|(byte, _)| *byte).collect();
    let text = String::from_utf8(data).ok()?;
    let mut piece = Piece::default();
    let mut at = 0;
    for character in text.chars() {
        let end = at + character.len_utf8();
        piece.push_char(character, bytes[at].1.start..bytes[end - 1].1.end);
        at = end;
    }
    is_readable(&piece.text, Strictness::Usual).then_some(piece)
}

/// Runs of two invisible characters as bits, eight to a byte; other invisible characters between them are gaps.
fn bits(text: &str) -> Writer<'_> {
    const PAIRS: [[char; 2]; 6] = [
        ['\u{2062}', '\u{2064}'],
        ['\u{200b}', '\u{200c}'],
        ['\u{200b}', '\u{200d}'],
        ['\u{200c}', '\u{200d}'],
        ['\u{200b}', '\u{2060}'],
        ['\u{200b}', '\u{feff}'],
    ];
    let mut writer = Writer::new(text);
    for (run, _) in runs(text, |character| class(character) == Class::Invisible) {
        if run.len() < HIDDEN_BITS_MIN * 3 {
            continue;
        }
        let piece =
            PAIRS.iter().flat_map(|[a, b]| [[*a, *b], [*b, *a]]).find_map(|pair| of_bits(text, run.clone(), pair));
        if let Some(piece) = piece {
            writer.piece(run, &piece);
        }
    }
    writer
}

fn of_bits(text: &str, run: Range<usize>, [zero, one]: [char; 2]) -> Option<Piece> {
    let mut bytes = Vec::with_capacity(run.len() / 24);
    let (mut byte, mut count, mut start) = (0u8, 0, run.start);
    let mut others = 0;
    for (at, character) in text[run.clone()].char_indices() {
        let at = run.start + at;
        if character != zero && character != one {
            others += 1;
            continue;
        }
        if count == 0 {
            start = at;
        }
        byte = byte << 1 | u8::from(character == one);
        count += 1;
        if count == 8 {
            bytes.push((byte, start..at + character.len_utf8()));
            (byte, count) = (0, 0);
        }
    }
    (count == 0 && others <= bytes.len() + 2).then(|| of_bytes(&bytes)).flatten()
}

/// Text behind an override of direction, as it is shown.
fn overridden(text: &str) -> Writer<'_> {
    let mut writer = Writer::new(text);
    let mut start = None;
    for (at, character) in text.char_indices().chain([(text.len(), '\n')]) {
        match (start, character) {
            (None, '\u{202e}') => start = Some(at + character.len_utf8()),
            (Some(from), '\u{202c}' | '\n' | '\u{202d}' | '\u{202e}') => {
                let mut piece = Piece::default();
                for (offset, character) in text[from..at].char_indices().rev() {
                    let offset = from + offset;
                    piece.push_char(character, offset..offset + character.len_utf8());
                }
                if english::score(piece.text.bytes()).mean() > english::score(text[from..at].bytes()).mean()
                    && english::has_common_words(&piece.text)
                {
                    writer.piece(from..at, &piece);
                }
                start = None;
            }
            _ => {}
        }
    }
    writer
}

#[rustfmt::skip]
const TURNED: [(char, char); 34] = [
    ('ɐ', 'a'), ('q', 'b'), ('ɔ', 'c'), ('p', 'd'), ('ǝ', 'e'), ('ɟ', 'f'), ('ƃ', 'g'), ('ɓ', 'g'), ('ɥ', 'h'), ('ı', 'i'), ('ᴉ', 'i'), ('ɾ', 'j'),
    ('ſ', 'j'), ('ʞ', 'k'), ('ʃ', 'l'), ('ꞁ', 'l'), ('ɯ', 'm'), ('u', 'n'), ('d', 'p'), ('b', 'q'), ('ɹ', 'r'), ('ʇ', 't'), ('n', 'u'), ('ʌ', 'v'),
    ('ʍ', 'w'), ('ʎ', 'y'), ('Ɔ', 'C'), ('Ǝ', 'E'), ('˙', '.'), ('¿', '?'), ('¡', '!'), ('\'', ','), (',', '\''), ('ᵷ', 'g'),
];

/// Letters upside down, last first, line by line.
fn upside_down(text: &str) -> Writer<'_> {
    let mut runs = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let turned = line.chars().filter(|character| class(*character) == Class::Turned).count();
        if turned >= HIDDEN_RUN_MIN {
            let letters: Vec<(char, Range<usize>)> = line
                .trim_end_matches('\n')
                .char_indices()
                .rev()
                .map(|(at, character)| {
                    let upright = TURNED
                        .iter()
                        .find(|(turned, _)| *turned == character)
                        .map_or(character, |(_, upright)| *upright);
                    (upright, start + at..start + at + character.len_utf8())
                })
                .collect();
            runs.push(letters);
        }
        start += line.len();
    }
    let mut writer = Writer::new(text);
    for run in runs {
        let (Some(last), Some(first)) = (run.first(), run.last()) else { continue };
        let range = first.1.start..last.1.end;
        let mut piece = Piece::default();
        for (letter, from) in run {
            piece.push_char(letter, from);
        }
        if english::score(piece.text.bytes()).mean() >= 0.8 && english::has_common_words(&piece.text) {
            writer.piece(range, &piece);
        }
    }
    writer
}
