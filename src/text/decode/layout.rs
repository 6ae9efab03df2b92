//! Letters apart, and words together: "i g n o r e", "i.g.n.o.r.e", "ignoreAllPreviousInstructions".
//!
//! Letters that stand apart are joined where six or more follow each other with the same sign between them; a longer gap
//! is the gap between two words, and where there is none the letters are cut into words. Words that are glued are parted
//! before their capitals where the words are common English; the name of a function or a class is not.
//!
//! **Limits**: names made of common words ("shouldReturnTheListOfAllUsers") are parted too, and say nothing more by it.

use std::ops::Range;

use super::{
    Candidate, codes, english,
    offsets::{Piece, Writer},
    signs::{Signs, widened},
};

/// Letters in a row that stand apart.
const APART_LETTERS_MIN: usize = 6;
/// Capitals in one glued run.
const GLUED_WORDS_MIN: usize = 5;
/// Letters of one glued run.
const GLUED_LETTERS_MIN: usize = 24;

/// Finds letters apart and words together.
pub fn find(signs: &Signs<'_>, out: &mut Vec<Candidate>) {
    let mut runs = Vec::new();
    for place in widened(signs.text, &signs.singles) {
        apart(signs.bytes(), place, &mut |run| runs.push(("spaced_letters", run)));
    }
    codes::write(signs.text, runs, out);
    let mut writer = Writer::new(signs.text);
    for run in &signs.runs {
        glued(signs.text, run.clone(), &mut writer);
    }
    out.extend(writer.finish().map(|view| Candidate { steps: vec!["camel_case"], view }));
}

/// Letters, each behind the same sign.
fn apart(bytes: &[u8], place: Range<usize>, done: &mut dyn FnMut(Vec<(char, Range<usize>)>)) {
    let is_word = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80);
    let is_single = |at: usize| bytes[at].is_ascii_alphanumeric() && !is_word(at + 1) && (at == 0 || !is_word(at - 1));
    let mut run: Vec<(char, Range<usize>)> = Vec::new();
    let mut sign: Option<u8> = None;
    let mut finish = |run: &mut Vec<(char, Range<usize>)>| {
        let run = std::mem::take(run);
        if run.iter().filter(|(letter, _)| letter.is_ascii_alphabetic()).count() >= APART_LETTERS_MIN {
            done(run);
        }
    };
    for at in place {
        if !is_single(at) {
            if bytes[at].is_ascii_alphanumeric() {
                finish(&mut run);
                sign = None;
            }
            continue;
        }
        if let Some((_, last)) = run.last() {
            let gap = last.end..at;
            let usual = sign.unwrap_or(bytes[gap.start]);
            let is_gap = match gap.len() {
                1 => bytes[gap.start] == usual,
                2..=6 => bytes[gap.clone()].iter().any(u8::is_ascii_whitespace),
                _ => false,
            };
            let is_other = gap.len() == 1 && !is_gap && bytes[gap.start].is_ascii_whitespace();
            if !is_gap && !is_other {
                finish(&mut run);
                sign = None;
            } else if gap.len() > 1 || is_other {
                run.push((' ', gap));
            } else {
                sign = Some(usual);
            }
        }
        run.push((char::from(bytes[at]), at..at + 1));
    }
    finish(&mut run);
}

/// Words without a gap, each but the first with a capital.
fn glued(text: &str, run: Range<usize>, writer: &mut Writer<'_>) {
    let bytes = text.as_bytes();
    let mut at = run.start;
    while at < run.end {
        let len = bytes[at..run.end].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if len >= GLUED_LETTERS_MIN {
            let range = at..at + len;
            let mut piece = Piece::default();
            let mut words = 1;
            for index in range.clone() {
                let is_start = bytes[index].is_ascii_uppercase()
                    && index > at
                    && (bytes[index - 1].is_ascii_lowercase()
                        || bytes.get(index + 1).is_some_and(u8::is_ascii_lowercase)
                        || index - at == 1);
                if is_start {
                    piece.push(" ", index..index);
                    words += 1;
                }
                piece.push_copy(text, index..index + 1);
            }
            if words >= GLUED_WORDS_MIN && english::is_english(&piece.text) {
                writer.piece(range, &piece);
            }
        }
        at += len.max(1);
    }
}
