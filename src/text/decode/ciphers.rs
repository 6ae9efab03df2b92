//! Letters put for letters, or in another order: Caesar shifts (ROT13 among them), Atbash, reversed text, Pig Latin,
//! leetspeak.
//!
//! **Formula**: each word weighs by how much more English it reads behind the cipher than in front of it (difference of
//! [`english::score`], in half bits); the stretch with the greatest sum of weights is taken, ended where the sum has
//! fallen by [`DROP_HALF_BITS`]. It is a view from [`GAIN_HALF_BITS_MIN`] on, and if what it says reads as English.
//!
//! **Source**: the maximal scoring segment of sequence alignment (Karlin and Altschul 1990), with weights per word.
//!
//! **Limits**: English only, [`CIPHER_BYTES_MAX`] of a text, one cipher for each place.

use std::ops::Range;

use super::{
    Candidate, Step, english,
    offsets::{Piece, Writer, boundary_below},
    signs::{Signs, widened},
};

/// Bytes that look like a cipher of which all shifts are tried, of one text.
pub const CIPHER_BYTES_MAX: usize = 1 << 20;
/// What a stretch gains at least when it is decoded: 20 bits.
const GAIN_HALF_BITS_MIN: i64 = 40;
/// By how much the sum may fall before a stretch ends.
const DROP_HALF_BITS: i64 = 60;
/// Words on either side of a stretch, in its line, that belong to it though they read no better decoded ("won"); common words do not.
const EDGE_WORDS_MAX: usize = 2;
/// By how much less English they may read.
const EDGE_HALF_BITS: i64 = 32;
/// Words in Pig Latin in a row.
const PIG_WORDS_MIN: usize = 4;

const STEPS: [&str; 26] = [
    "atbash", "caesar1", "caesar2", "caesar3", "caesar4", "caesar5", "caesar6", "caesar7", "caesar8", "caesar9",
    "caesar10", "caesar11", "caesar12", "rot13", "caesar14", "caesar15", "caesar16", "caesar17", "caesar18",
    "caesar19", "caesar20", "caesar21", "caesar22", "caesar23", "caesar24", "caesar25",
];

/// Cipher `index` of [`STEPS`], backwards: Caesar shifts by so many letters were undone.
fn substitute(byte: u8, index: usize) -> u8 {
    let base = match byte {
        b'a'..=b'z' => b'a',
        b'A'..=b'Z' => b'A',
        _ => return byte,
    };
    let place = byte - base;
    match index {
        0 => base + 25 - place,
        shift => base + (place + 26 - shift as u8) % 26,
    }
}

/// Finds what a substitution or the other direction makes English.
pub fn find(signs: &Signs<'_>, step: &mut Step) {
    let mut left = CIPHER_BYTES_MAX;
    let mut found: Vec<(Vec<&'static str>, Range<usize>, Piece)> = Vec::new();
    for place in widened(signs.text, &signs.strange) {
        if left == 0 {
            step.is_capped = true;
            break;
        }
        let end = boundary_below(signs.text, place.end.min(place.start + left));
        step.is_capped |= end < place.end;
        let place = place.start..end;
        left -= place.len();
        substituted(signs.text, place, &mut found);
    }
    for place in widened(signs.text, &signs.reversed) {
        for (range, words) in stretches(signs.text, place, |word| gain(word, None, None, true)) {
            let whole = backwards(signs.text, range.clone(), None);
            if english::is_english(&whole.text) {
                found.push((vec!["reversed"], range.clone(), whole));
                let by_word = each_backwards(signs.text, range.clone(), &words);
                found.push((vec!["reversed_words"], range, by_word));
            }
        }
    }
    for place in widened(signs.text, &signs.ay) {
        pig_latin(signs.text, place, &mut found);
    }
    for place in widened(signs.text, &signs.mixed) {
        leetspeak(signs.text, place, &mut found);
    }
    let mut writers: Vec<(Vec<&'static str>, Writer<'_>)> = Vec::new();
    for (steps, range, piece) in found {
        let at = writers.iter().position(|(known, _)| *known == steps).unwrap_or_else(|| {
            writers.push((steps, Writer::new(signs.text)));
            writers.len() - 1
        });
        if range.start >= writers[at].1.done() {
            writers[at].1.piece(range, &piece);
        }
    }
    for (steps, writer) in writers {
        step.found.extend(writer.finish().map(|view| Candidate { steps, view }));
    }
}

/// How much more English a word reads decoded than as it stands.
fn gain(word: &[u8], plain: Option<i64>, cipher: Option<usize>, is_backwards: bool) -> i64 {
    let decode = |byte: &u8| cipher.map_or(*byte, |index| substitute(*byte, index));
    let decoded = match is_backwards {
        true => english::score(word.iter().rev().map(decode)),
        false => english::score(word.iter().map(decode)),
    };
    let plain = plain.unwrap_or_else(|| english::score(word.iter().copied()).half_bits);
    decoded.half_bits - plain
}

/// Words of a place: runs without white space.
fn words(text: &str, place: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let base = text.as_ptr() as usize;
    text[place].split_ascii_whitespace().map(move |word| {
        let start = word.as_ptr() as usize - base;
        start..start + word.len()
    })
}

/// The stretches of a place with the greatest sums of weights.
fn stretches(text: &str, place: Range<usize>, weight: impl Fn(&[u8]) -> i64) -> Vec<(Range<usize>, Vec<Range<usize>>)> {
    let words: Vec<Range<usize>> = words(text, place).collect();
    let mut found = Vec::new();
    let (mut first, mut sum, mut best, mut best_end) = (0, 0, 0, 0);
    let mut index = 0;
    while index <= words.len() {
        sum += words.get(index).map_or(i64::MIN / 2, |word| weight(&text.as_bytes()[word.clone()]));
        if sum > best {
            (best, best_end) = (sum, index + 1);
        }
        let is_over = sum <= 0 || sum < best - DROP_HALF_BITS;
        index += 1;
        if is_over {
            if best >= GAIN_HALF_BITS_MIN {
                let is_edge = |at: usize, gap: Range<usize>| {
                    let word = &text[words[at].clone()];
                    !text[gap].contains('\n') && !english::is_common(word) && weight(word.as_bytes()) > -EDGE_HALF_BITS
                };
                let (mut from, mut to) = (first, best_end);
                let done = found.last().map_or(0, |(range, _): &(Range<usize>, _)| range.end);
                while from > 0 && first - from < EDGE_WORDS_MAX && words[from - 1].start >= done {
                    if !is_edge(from - 1, words[from - 1].end..words[from].start) {
                        break;
                    }
                    from -= 1;
                }
                while to < words.len()
                    && to - best_end < EDGE_WORDS_MAX
                    && is_edge(to, words[to - 1].end..words[to].start)
                {
                    to += 1;
                }
                found.push((words[from].start..words[to - 1].end, words[from..to].to_vec()));
            }
            (first, sum, best) = (index, 0, 0);
        }
    }
    found
}

fn substituted(text: &str, place: Range<usize>, found: &mut Vec<(Vec<&'static str>, Range<usize>, Piece)>) {
    let bytes = text.as_bytes();
    let plain: Vec<(Range<usize>, i64)> = words(text, place.clone())
        .map(|word| (word.clone(), english::score(bytes[word].iter().copied()).half_bits))
        .collect();
    let total = |cipher: usize, is_backwards: bool| -> i64 {
        plain
            .iter()
            .map(|(word, plain)| gain(&bytes[word.clone()], Some(*plain), Some(cipher), is_backwards).max(0))
            .sum()
    };
    let Some((_, cipher, is_backwards)) = (0..STEPS.len())
        .flat_map(|cipher| [(cipher, false), (cipher, true)])
        .map(|(cipher, is_backwards)| (total(cipher, is_backwards), cipher, is_backwards))
        .max_by_key(|(total, cipher, is_backwards)| (*total, std::cmp::Reverse((*cipher, *is_backwards))))
    else {
        return;
    };
    for (range, _) in stretches(text, place, |word| gain(word, None, Some(cipher), is_backwards)) {
        let piece = match is_backwards {
            true => backwards(text, range.clone(), Some(cipher)),
            false => {
                let mut piece = Piece::default();
                for (at, character) in text[range.clone()].char_indices() {
                    let at = range.start + at;
                    let decoded =
                        if character.is_ascii() { substitute(character as u8, cipher).into() } else { character };
                    piece.push_char(decoded, at..at + character.len_utf8());
                }
                piece
            }
        };
        if english::is_english(&piece.text) {
            let further = is_backwards.then_some("reversed");
            found.push(([STEPS[cipher]].into_iter().chain(further).collect(), range, piece));
        }
    }
}

fn backwards(text: &str, range: Range<usize>, cipher: Option<usize>) -> Piece {
    let mut piece = Piece::default();
    for (at, character) in text[range.clone()].char_indices().rev() {
        let at = range.start + at;
        let decoded = match cipher {
            Some(index) if character.is_ascii() => substitute(character as u8, index).into(),
            _ => character,
        };
        piece.push_char(decoded, at..at + character.len_utf8());
    }
    piece
}

fn each_backwards(text: &str, range: Range<usize>, words: &[Range<usize>]) -> Piece {
    let mut piece = Piece::default();
    let mut done = range.start;
    for word in words {
        piece.push_copy(text, done..word.start);
        for (at, character) in text[word.clone()].char_indices().rev() {
            let at = word.start + at;
            piece.push_char(character, at..at + character.len_utf8());
        }
        done = word.end;
    }
    piece
}

/// "Ignoreway allway eviouspray": the beginning of each word stands at its end, with "ay".
fn pig_latin(text: &str, place: Range<usize>, found: &mut Vec<(Vec<&'static str>, Range<usize>, Piece)>) {
    let words: Vec<Range<usize>> = words(text, place).collect();
    let is_pig = |word: &Range<usize>| pig_core(&text[word.clone()]).is_some();
    let mut index = 0;
    while index < words.len() {
        // Two words in a row that are none end a stretch.
        let mut end = index;
        let mut at = index;
        let mut count = 0;
        while at < words.len() && at < end + 2 {
            if is_pig(&words[at]) {
                count += 1;
                end = at + 1;
            }
            at += 1;
        }
        if count >= PIG_WORDS_MIN && count * 10 >= (end - index) * 7 {
            let range = words[index].start..words[end - 1].end;
            let mut piece = Piece::default();
            let mut done = range.start;
            let mut common = 0;
            for word in &words[index..end] {
                piece.push_copy(text, done..word.start);
                done = word.end;
                let Some((core, len)) = pig_core(&text[word.clone()]) else {
                    piece.push_copy(text, word.clone());
                    continue;
                };
                let plain = from_pig(&core);
                common += usize::from(english::is_common(&plain));
                piece.push(&plain, word.start..word.start + len);
                piece.push_copy(text, word.start + len..word.end);
            }
            if common >= 2 && english::is_english(&piece.text) {
                found.push((vec!["pig_latin"], range, piece));
            }
        }
        index = end.max(index + 1);
    }
}

/// The letters of a word in Pig Latin without "ay", in lower case, and the bytes that it takes up.
fn pig_core(word: &str) -> Option<(String, usize)> {
    let len = word.bytes().take_while(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'\'' | b'-')).count();
    let letters = word[..len].to_ascii_lowercase().replace(['-', '\''], "");
    let core = letters.strip_suffix("ay").filter(|core| core.len() >= 2 && core.contains(is_vowel))?;
    word[len..].bytes().all(|byte| byte.is_ascii_punctuation()).then(|| (core.to_owned(), len))
}

fn is_vowel(letter: char) -> bool {
    matches!(letter, 'a' | 'e' | 'i' | 'o' | 'u')
}

fn from_pig(core: &str) -> String {
    let bytes = core.as_bytes();
    let mut choices: Vec<String> = Vec::new();
    if core.starts_with(is_vowel) && matches!(bytes[bytes.len() - 1], b'w' | b'y' | b'h') {
        choices.push(core[..core.len() - 1].to_owned());
    }
    for moved in 0..bytes.len().min(6) {
        let (rest, head) = core.split_at(core.len() - moved);
        let is_cluster = !head.contains(is_vowel) || head.ends_with("qu");
        if is_cluster && (moved > 0 || core.starts_with(is_vowel)) {
            choices.push(format!("{head}{rest}"));
        }
    }
    // "ownay" is "now": a word that begins with a vowel would have got a "w" or the like.
    let value =
        |word: &String| (english::is_common(word), word != core, (english::score(word.bytes()).mean() * 64.0) as i64);
    choices.into_iter().max_by_key(value).unwrap_or_else(|| core.to_owned())
}

/// "1gn0r3 4ll": digits and signs that look like letters.
fn leetspeak(text: &str, place: Range<usize>, found: &mut Vec<(Vec<&'static str>, Range<usize>, Piece)>) {
    let mut piece = Piece::default();
    let mut done = place.start;
    let mut read: Vec<String> = Vec::new();
    for word in words(text, place.clone()) {
        let Some(plain) = from_leet(&text[word.clone()]) else { continue };
        piece.push_copy(text, done..word.start);
        for ((at, character), decoded) in text[word.clone()].char_indices().zip(plain.chars()) {
            let at = word.start + at;
            let span = at..at + character.len_utf8();
            if decoded == character { piece.push_copy(text, span) } else { piece.push_char(decoded, span) }
        }
        done = word.end;
        if text[word].bytes().any(|byte| byte.is_ascii_alphabetic()) {
            read.push(plain.trim_matches(|character: char| !character.is_ascii_alphabetic()).to_ascii_lowercase());
        }
    }
    piece.push_copy(text, done..place.end);
    // `x1`, `i32` and `h264` are no words; three that are written so, two of them common, are no accident.
    let mut common: Vec<&str> =
        read.iter().map(String::as_str).filter(|word| word.len() >= 3 && english::is_common(word)).collect();
    common.sort_unstable();
    common.dedup();
    let score = english::score(read.join(" ").bytes());
    if read.len() >= 3 && common.len() >= 2 && score.mean() >= 0.9 {
        found.push((vec!["leetspeak"], place, piece));
    }
}

/// A word with digits and signs for letters, read; `None` if it has none, or is no such word.
fn from_leet(word: &str) -> Option<String> {
    let has_letters = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let has_signs = word.bytes().any(|byte| byte.is_ascii_digit() || matches!(byte, b'@' | b'$' | b'!' | b'|'));
    if !has_signs || word.len() > 32 || !has_letters && word.len() > 3 {
        return None;
    }
    let read = |one: char| -> String {
        let last = word.trim_end_matches(['!', '.', ',', '?', '"']).len();
        word.char_indices()
            .map(|(at, character)| match character {
                _ if at >= last => character,
                '0' => 'o',
                '1' | '|' => one,
                '2' => 'z',
                '3' => 'e',
                '4' | '@' => 'a',
                '5' | '$' => 's',
                '6' | '9' => 'g',
                '7' => 't',
                '8' => 'b',
                '!' => 'i',
                _ => character,
            })
            .collect()
    };
    let value = |word: &String| (english::is_common(word), english::score(word.bytes()).half_bits);
    [read('i'), read('l')].into_iter().max_by_key(value)
}
