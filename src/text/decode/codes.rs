//! Letters written as signals or numbers: Morse, Braille, the NATO alphabet, character codes, A1Z26, regional indicators.
//!
//! A run of codes is a view only if the letters read as English ([`english::score`]), since dots, digits and words such
//! as "delta" are in many texts. Letters without gaps between words are cut into words ([`words_of`]).
//!
//! **Sources**: ITU-R M.1677 (Morse), Unicode block 2800 with the English Braille alphabet, ICAO Annex 10 (the NATO
//! alphabet), ASCII.

use std::ops::Range;

use super::{
    Candidate, english,
    offsets::{Piece, Writer},
    signs::{Signs, widened},
};

/// Letters of a run at least.
const LETTERS_MIN: usize = 8;
/// Half bits per pair of letters from which a run reads as English, before it is cut into words.
const MEAN_MIN: f64 = 0.9;
/// Letters that are cut into words at once; what is longer is left as it is.
const UNCUT_LETTERS_MAX: usize = 4_096;
/// Letters of a word when letters are cut into words.
const WORD_LETTERS_MAX: usize = 14;

/// One decoded letter, or `' '` for the gap between two words, and where it stands.
type Letter = (char, Range<usize>);

/// Finds all codes.
pub fn find(signs: &Signs<'_>, out: &mut Vec<Candidate>) {
    let mut runs: Vec<(&'static str, Vec<Letter>)> = Vec::new();
    for place in widened(signs.text, &signs.dashes) {
        morse(signs.bytes(), place, &mut |run| runs.push(("morse", run)));
    }
    for place in widened(signs.text, &signs.digits) {
        numbers(signs.bytes(), place, &mut |name, run| runs.push((name, run)));
    }
    nato(signs, &mut |run| runs.push(("nato", run)));
    if !signs.is_ascii {
        by_character(signs.text, braille_letter, &mut |run| runs.push(("braille", run)));
        by_character(signs.text, indicator_letter, &mut |run| runs.push(("regional_indicators", run)));
    }
    write(signs.text, runs, out);
}

/// One view for each name, of all runs that read as English.
pub fn write(text: &str, runs: Vec<(&'static str, Vec<Letter>)>, out: &mut Vec<Candidate>) {
    let mut writers: Vec<(&'static str, Writer<'_>)> = Vec::new();
    for (name, run) in runs {
        let Some((range, piece)) = piece_of(run) else { continue };
        let at = writers.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            writers.push((name, Writer::new(text)));
            writers.len() - 1
        });
        if range.start >= writers[at].1.done() {
            writers[at].1.piece(range, &piece);
        }
    }
    out.extend(writers.into_iter().filter_map(|(name, writer)| {
        let view = writer.finish()?;
        Some(Candidate { steps: vec![name], view })
    }));
}

/// The words that a run of letters makes; `None` unless they read as English.
pub fn piece_of(mut run: Vec<Letter>) -> Option<(Range<usize>, Piece)> {
    while run.last().is_some_and(|(letter, _)| *letter == ' ') {
        run.pop();
    }
    let letters = run.iter().filter(|(letter, _)| letter.is_ascii_alphabetic()).count();
    let range = run.first()?.1.start..run.last()?.1.end;
    let others = run.iter().filter(|(letter, _)| !letter.is_ascii_alphabetic() && *letter != ' ').count();
    if letters < LETTERS_MIN || others > letters {
        return None;
    }
    let score = english::score(run.iter().map(|(letter, _)| if letter.is_ascii() { *letter as u8 } else { b' ' }));
    if score.mean() < MEAN_MIN {
        return None;
    }
    let longest = run.split(|(letter, _)| *letter == ' ').map(<[Letter]>::len).max().unwrap_or_default();
    let mut piece = Piece::default();
    for word in run.split_inclusive(|(letter, _)| *letter == ' ') {
        let cuts = if longest > WORD_LETTERS_MAX + 4 { words_of(word) } else { Vec::new() };
        for (index, (letter, from)) in word.iter().enumerate() {
            if cuts.contains(&index) {
                piece.push(" ", from.start..from.start);
            }
            piece.push_char(*letter, from.clone());
        }
    }
    let has_words = piece.text.split(' ').any(|word| word.len() >= 3 && english::is_common(word));
    has_words.then_some((range, piece))
}

/// Where words begin in letters without gaps: the cut with the best pairs, common words first.
fn words_of(run: &[Letter]) -> Vec<usize> {
    const COMMON_BONUS: i64 = 5;
    const WORD_COST: i64 = 8;
    if run.len() > UNCUT_LETTERS_MAX {
        return Vec::new();
    }
    let letters: String =
        run.iter().map(|(letter, _)| if letter.is_ascii() { letter.to_ascii_lowercase() } else { ' ' }).collect();
    let bytes = letters.as_bytes();
    let mut best: Vec<(i64, usize)> = vec![(0, 0)];
    for end in 1..=bytes.len() {
        let mut choice = (i64::MIN, end - 1);
        for start in end.saturating_sub(WORD_LETTERS_MAX)..end {
            let word = &letters[start..end];
            let pairs = english::score(word.bytes()).half_bits + english::pair(0, english::letter(bytes[start]));
            let common = if english::is_common(word) { COMMON_BONUS * (end - start) as i64 } else { 0 };
            let total = best[start].0 + pairs + common - WORD_COST;
            if total > choice.0 {
                choice = (total, start);
            }
        }
        best.push(choice);
    }
    let mut cuts = Vec::new();
    let mut at = bytes.len();
    while at > 0 {
        at = best[at].1;
        if at > 0 {
            cuts.push(at);
        }
    }
    cuts
}

#[rustfmt::skip]
const MORSE: [(&str, char); 45] = [
    (".-", 'a'), ("-...", 'b'), ("-.-.", 'c'), ("-..", 'd'), (".", 'e'), ("..-.", 'f'), ("--.", 'g'), ("....", 'h'), ("..", 'i'),
    (".---", 'j'), ("-.-", 'k'), (".-..", 'l'), ("--", 'm'), ("-.", 'n'), ("---", 'o'), (".--.", 'p'), ("--.-", 'q'), (".-.", 'r'),
    ("...", 's'), ("-", 't'), ("..-", 'u'), ("...-", 'v'), (".--", 'w'), ("-..-", 'x'), ("-.--", 'y'), ("--..", 'z'), ("-----", '0'),
    (".----", '1'), ("..---", '2'), ("...--", '3'), ("....-", '4'), (".....", '5'), ("-....", '6'), ("--...", '7'), ("---..", '8'),
    ("----.", '9'), (".-.-.-", '.'), ("--..--", ','), ("..--..", '?'), (".----.", '\''), ("-.-.--", '!'), ("-..-.", '/'), ("---...", ':'),
    ("-....-", '-'), (".--.-.", '@'),
];

fn morse(bytes: &[u8], place: Range<usize>, done: &mut dyn FnMut(Vec<Letter>)) {
    let mut run: Vec<Letter> = Vec::new();
    let mut at = place.start;
    while at < place.end {
        let len = bytes[at..place.end].iter().take_while(|byte| matches!(byte, b'.' | b'-' | b'_')).count();
        if len > 0 {
            let code: String =
                bytes[at..at + len.min(8)].iter().map(|byte| if *byte == b'.' { '.' } else { '-' }).collect();
            let is_word = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
            match MORSE.iter().find(|(known, _)| *known == code) {
                Some((_, letter)) if !is_word(Some(at + len)) && !is_word(at.checked_sub(1)) => {
                    run.push((*letter, at..at + len))
                }
                _ => done(std::mem::take(&mut run)),
            }
            at += len;
            continue;
        }
        let gap = bytes[at..place.end]
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'/' | b'|' | b'\n' | b'\r' | b'\t'))
            .count();
        if gap == 0 {
            done(std::mem::take(&mut run));
            at += 1;
            continue;
        }
        if &bytes[at..at + gap] != b" " && !run.is_empty() {
            run.push((' ', at..at + gap));
        }
        at += gap;
    }
    done(run);
}

/// Numbers in a row: bits, octal or decimal codes of characters, places in the alphabet.
fn numbers(bytes: &[u8], place: Range<usize>, done: &mut dyn FnMut(&'static str, Vec<Letter>)) {
    let mut run: Vec<Range<usize>> = Vec::new();
    let mut at = place.start;
    while at < place.end {
        let len = bytes[at..place.end].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if len > 0 {
            run.push(at..at + len);
            at += len;
            continue;
        }
        let gap = bytes[at..place.end].iter().take(4).take_while(|byte| b" ,-/.;|\n\r\t".contains(byte)).count();
        if gap == 0 || gap == 4 {
            of_numbers(bytes, &std::mem::take(&mut run), done);
        }
        at += gap.max(1);
    }
    of_numbers(bytes, &run, done);
}

fn of_numbers(bytes: &[u8], run: &[Range<usize>], done: &mut dyn FnMut(&'static str, Vec<Letter>)) {
    let is_binary = |at: &Range<usize>| bytes[at.clone()].iter().all(|byte| matches!(byte, b'0' | b'1'));
    let character = |code: Option<u32>, at: Range<usize>| {
        let character = code.and_then(char::from_u32).filter(|character| (' '..='~').contains(character))?;
        Some((character, at))
    };
    if run.iter().all(is_binary) {
        let bits = run.iter().flat_map(|at| {
            let width = if at.len() == 7 { 7 } else { 8 };
            (at.start..at.end).step_by(width).map(move |start| start..(start + width).min(at.end))
        });
        let letters =
            bits.map(|at| character(u32::from_str_radix(std::str::from_utf8(&bytes[at.clone()]).ok()?, 2).ok(), at));
        if let Some(letters) = letters.collect::<Option<Vec<Letter>>>() {
            done("binary", letters);
        }
        return;
    }
    if run.len() < LETTERS_MIN {
        return;
    }
    let number = |at: &Range<usize>, radix: u32| -> Option<u32> {
        let digits = bytes.get(at.clone()).filter(|digits| digits.len() <= 4)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
    };
    for (name, radix) in [("decimal", 10), ("octal", 8)] {
        let letters = run.iter().map(|at| character(number(at, radix), at.clone()));
        if let Some(letters) = letters.collect::<Option<Vec<Letter>>>() {
            done(name, letters);
        }
    }
    let mut letters: Vec<Letter> = Vec::new();
    for at in run {
        let Some(place @ 1..=26) = number(at, 10) else { return };
        // Within words the same sign stands between all letters; another one separates words.
        if let (Some((_, last)), Some(usual)) = (letters.last(), run.get(1)) {
            let usual = &bytes[run[0].end..usual.start];
            let gap = last.end..at.start;
            if &bytes[gap.clone()] != usual {
                letters.push((' ', gap));
            }
        }
        letters.push((char::from(b'a' - 1 + place as u8), at.clone()));
    }
    done("a1z26", letters);
}

#[rustfmt::skip]
const NATO: [(&str, char); 29] = [
    ("alfa", 'a'), ("alpha", 'a'), ("bravo", 'b'), ("charlie", 'c'), ("delta", 'd'), ("echo", 'e'), ("foxtrot", 'f'), ("golf", 'g'),
    ("hotel", 'h'), ("india", 'i'), ("juliet", 'j'), ("juliett", 'j'), ("kilo", 'k'), ("lima", 'l'), ("mike", 'm'), ("november", 'n'),
    ("oscar", 'o'), ("papa", 'p'), ("quebec", 'q'), ("romeo", 'r'), ("sierra", 's'), ("tango", 't'), ("uniform", 'u'), ("victor", 'v'),
    ("whiskey", 'w'), ("whisky", 'w'), ("xray", 'x'), ("yankee", 'y'), ("zulu", 'z'),
];

fn nato(signs: &Signs<'_>, done: &mut dyn FnMut(Vec<Letter>)) {
    let bytes = signs.bytes();
    for place in widened(signs.text, &signs.nato) {
        let mut run: Vec<Letter> = Vec::new();
        let mut at = place.start;
        let mut end = place.start;
        while at < place.end {
            if !bytes[at].is_ascii_alphabetic() {
                at += 1;
                continue;
            }
            let len = bytes[at..place.end].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            let word = &signs.text[at..at + len];
            // "X-ray" is two words here.
            let is_xray = word.eq_ignore_ascii_case("x")
                && bytes[at..place.end].get(1..5).is_some_and(|tail| tail.eq_ignore_ascii_case(b"-ray"));
            let len = if is_xray { 5 } else { len };
            let letter = if is_xray {
                Some('x')
            } else {
                NATO.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)).map(|(_, letter)| *letter)
            };
            let gap = &bytes[end..at];
            let is_near = run.is_empty() || gap.len() <= 4;
            match letter {
                Some(letter) if is_near => {
                    if !run.is_empty() && (gap == b"\n" || gap.len() > 1 && gap != b", ") {
                        run.push((' ', end..at));
                    }
                    run.push((letter, at..at + len));
                }
                _ => {
                    done(unspaced(std::mem::take(&mut run)));
                    if let Some(letter) = letter {
                        run.push((letter, at..at + len));
                    }
                }
            }
            end = at + len;
            at = end;
        }
        done(unspaced(run));
    }
}

/// Runs of characters that stand for a letter each; spaces between them are gaps between words.
fn by_character(text: &str, letter_of: fn(char) -> Option<char>, done: &mut dyn FnMut(Vec<Letter>)) {
    let mut run: Vec<Letter> = Vec::new();
    for (at, character) in text.char_indices() {
        if character.is_ascii() && run.is_empty() {
            continue;
        }
        let span = at..at + character.len_utf8();
        match letter_of(character) {
            Some(letter) => run.push((letter, span)),
            None if run.is_empty() || matches!(character, '\u{200b}'..='\u{200d}' | '\u{2060}') => {}
            None if matches!(character, ' ' | '\n') => run.push((' ', span)),
            None => done(unspaced(std::mem::take(&mut run))),
        }
    }
    done(unspaced(run));
}

/// A run without the single spaces between its letters, where these are the rule.
fn unspaced(run: Vec<Letter>) -> Vec<Letter> {
    let gaps: Vec<usize> = run.split(|(letter, _)| *letter != ' ').map(<[Letter]>::len).collect();
    let singles = gaps.iter().filter(|len| **len == 1).count();
    if singles * 2 < gaps.len() {
        return run;
    }
    let is_space = |at: Option<usize>| at.and_then(|at| run.get(at)).is_some_and(|(letter, _)| *letter == ' ');
    let kept = (0..run.len()).filter(|at| {
        let is_single = is_space(Some(*at)) && !is_space(at.checked_sub(1)) && !is_space(Some(at + 1));
        !is_single
    });
    kept.map(|at| run[at].clone()).collect()
}

/// English Braille, grade 1: letters, and the marks of a sentence.
fn braille_letter(character: char) -> Option<char> {
    let dots = u32::from(character).checked_sub(0x2800).filter(|dots| *dots < 0x100)?;
    const A_TO_J: [u32; 10] = [0x01, 0x03, 0x09, 0x19, 0x11, 0x0b, 0x1b, 0x13, 0x0a, 0x1a];
    let tenth = |dots: u32| A_TO_J.iter().position(|known| *known == dots).map(|at| at as u8);
    if let Some(at) = tenth(dots) {
        return Some(char::from(b'a' + at));
    }
    Some(match dots {
        0x00 => ' ',
        0x3a => 'w',
        0x02 => ',',
        0x06 => ';',
        0x12 => ':',
        0x32 => '.',
        0x16 => '!',
        0x26 => '?',
        0x04 => '\'',
        0x24 => '-',
        _ if dots & 0x24 == 0x04 => char::from(b'k' + tenth(dots & !0x04)?),
        _ if dots & 0x24 == 0x24 => *['u', 'v', 'x', 'y', 'z'].get(usize::from(tenth(dots & !0x24)?))?,
        _ => return None,
    })
}

/// 🇦 to 🇿, and the white letters on black that have no compatibility form.
fn indicator_letter(character: char) -> Option<char> {
    let place = match character {
        '\u{1f1e6}'..='\u{1f1ff}' => u32::from(character) - 0x1f1e6,
        '\u{1f150}'..='\u{1f169}' => u32::from(character) - 0x1f150,
        '\u{1f170}'..='\u{1f189}' => u32::from(character) - 0x1f170,
        _ => return None,
    };
    Some(char::from(b'a' + place as u8))
}
