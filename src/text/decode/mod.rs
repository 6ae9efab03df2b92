//! What a text says when it is decoded: views of it, each with a way back to where the encoded characters stand.
//!
//! Ordinary text has no views. [`signs`] passes over it once and sees that nothing could be encoded; only around what
//! could be does a decoder run, and what it decodes is a view only if that reads as text. Views are decoded again, so
//! that chains are found. A view holds what was decoded and the text around it; [`Decoded::is_decoded`] tells the two apart.
//!
//! | step | what it decodes | gate |
//! |---|---|---|
//! | `compatibility` | fullwidth, mathematical, enclosed letters and digits | four in a word, or one in a Latin word |
//! | `confusables` | letters of other scripts that look Latin | in a Latin word, or in a text without their script |
//! | `combining_marks` | Zalgo: marks over marks | three on one letter, or one on every second letter |
//! | `invisible` | zero-width and other invisible characters | between two Latin letters or digits |
//! | `tag_characters` | Unicode tags as ASCII | outside of flags |
//! | `variation_selectors` | selectors as bytes | four in a row that read as text |
//! | `invisible_bits` | bits of U+2062/2064 or zero-width characters | bytes that read as text |
//! | `bidi_override` | text behind U+202E | reads more English backwards, with common words |
//! | `upside_down` | turned letters, last first | four of them, English |
//! | `hex`, `base32`, `base64` | RFC 4648, wrapped, unpadded, URL-safe; hex also in pairs | 16 characters, readable |
//! | `base58`, `base85`, `ascii85` | the alphabets of Bitcoin; of Python and git, and of ZeroMQ; of Adobe | readable |
//! | `uuencode` | lines that name their length | readable |
//! | `base2048`, `ecoji` | wide alphabets | all of the alphabet, readable |
//! | `gzip`, `utf16` | inside of the above: gzip, zlib, UTF-16 | readable |
//! | `percent`, `html_entities`, `backslash` | `%69`, `&#105;`, `\x69`, `\u0069`, `\151` | UTF-8, no control characters |
//! | `quoted_printable`, `mime_words` | RFC 2045, RFC 2047 | four escapes, two of them in a row; readable |
//! | `string_concatenation` | `'igno' + 're'` | letters on both sides of the joint |
//! | `joined_pieces` | `a = 'igno'; b = 're'; a + b`, halves that are to be joined | two strings in quotes |
//! | `morse`, `braille`, `nato`, `regional_indicators` | a signal for each letter | eight letters, English |
//! | `binary`, `decimal`, `octal`, `a1z26` | a number for each letter | eight letters, English |
//! | `rot13`, `caesar1` to `caesar25`, `atbash` | a letter for a letter | 20 bits more English, common words |
//! | `reversed`, `reversed_words` | last letter first | the same |
//! | `pig_latin` | "eviouspray" | four words, English |
//! | `leetspeak` | "1gn0r3" | three words, two of them common |
//! | `spaced_letters` | "i g n o r e", "i.g.n.o.r.e" | six letters behind the same sign, English |
//! | `camel_case` | "ignoreAllPreviousInstructions" | five words, 24 letters, English |
//!
//! **Limits**: [`DEPTH_MAX`], [`VIEWS_MAX`], [`VIEW_BYTES_MAX`], and those of the modules; [`Views::is_capped`] says
//! when one was reached. Ciphers and codes for single letters are recognised in English only.

use std::ops::Range;

mod base;
mod ciphers;
mod codes;
mod english;
mod escapes;
mod layout;
mod offsets;
mod pieces;
mod signs;
mod unicode;

use offsets::{Chain, Rewritten, boundary_below};
use signs::Signs;

/// Encodings inside of each other that are decoded.
pub const DEPTH_MAX: usize = 3;
/// Views of one text.
pub const VIEWS_MAX: usize = 24;
/// Bytes of all views of one text together.
pub const VIEW_BYTES_MAX: usize = 8 << 20;

/// One decoded view of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// What it says, with the text around what was decoded.
    pub text: String,
    /// By which steps it was decoded, from the outside in.
    pub steps: Vec<&'static str>,
    chain: Chain,
}

impl Decoded {
    /// The steps, as reports show them.
    pub fn chain(&self) -> String {
        self.steps.join(" > ")
    }

    /// Where the characters of the original text stand from which these bytes of the view come.
    pub fn original(&self, span: Range<usize>) -> Range<usize> {
        self.chain.original(self.widened(span))
    }

    /// Whether any of these bytes were decoded; what was not stands in the text, or in another view, as it is.
    pub fn is_decoded(&self, span: Range<usize>) -> bool {
        self.chain.is_changed(&self.widened(span))
    }

    fn widened(&self, span: Range<usize>) -> Range<usize> {
        let end = offsets::boundary_above(&self.text, span.end);
        boundary_below(&self.text, span.start).min(end)..end
    }
}

/// All views of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Views {
    /// In the order in which they were found, views of the text before views of views.
    pub views: Vec<Decoded>,
    /// Whether a limit was reached.
    pub is_capped: bool,
}

/// A view that a step found.
#[derive(Debug)]
struct Candidate {
    steps: Vec<&'static str>,
    view: Rewritten,
}

/// What one step, or all steps, found in one text.
#[derive(Debug, Default)]
struct Step {
    found: Vec<Candidate>,
    is_capped: bool,
}

/// Whether `text` could have views at all: not when it is short, ASCII, and without a sign that begins an escape.
pub fn may_be_encoded(text: &str) -> bool {
    let begins_escape = |byte: u8| matches!(byte, b'%' | b'&' | b'\\' | b'=' | b'\'' | b'"');
    text.len() >= signs::RUN_MIN_BYTES || text.bytes().any(|byte| !byte.is_ascii() || begins_escape(byte))
}

/// The views of `text`; none for ordinary text.
pub fn views(text: &str) -> Views {
    let mut views = Views::default();
    let mut bytes_left = VIEW_BYTES_MAX;
    let first = step(text);
    views.is_capped = first.is_capped;
    for candidate in first.found {
        add(&mut views, text, None, candidate, &mut bytes_left);
    }
    let mut parent = 0;
    let mut depth_ends = views.views.len();
    let mut depth = 1;
    while parent < views.views.len() {
        if parent == depth_ends {
            depth += 1;
            depth_ends = views.views.len();
        }
        let of_view = step(&views.views[parent].text);
        views.is_capped |= of_view.is_capped;
        for candidate in of_view.found {
            let chain = &views.views[parent].chain;
            if !candidate.view.changed.iter().any(|range| chain.is_changed_last(range)) {
                continue;
            }
            if depth == DEPTH_MAX {
                views.is_capped = true;
                break;
            }
            add(&mut views, text, Some(parent), candidate, &mut bytes_left);
        }
        parent += 1;
    }
    views
}

/// Adds a view, unless another says the same.
fn add(views: &mut Views, text: &str, parent: Option<usize>, candidate: Candidate, bytes_left: &mut usize) {
    let Candidate { steps, view } = candidate;
    let mut said = view.piece.text;
    if said == text || views.views.iter().any(|known| known.text == said) {
        return;
    }
    if views.views.len() == VIEWS_MAX || *bytes_left == 0 {
        views.is_capped = true;
        return;
    }
    if said.len() > *bytes_left {
        said.truncate(boundary_below(&said, *bytes_left));
        views.is_capped = true;
    }
    *bytes_left -= said.len();
    let (mut all, chain) = match parent.and_then(|parent| views.views.get(parent)) {
        Some(parent) => (parent.steps.clone(), parent.chain.with(view.piece.map)),
        None => (Vec::new(), Chain::default().with(view.piece.map)),
    };
    all.extend(steps);
    views.views.push(Decoded { text: said, steps: all, chain });
}

/// Everything that one step of decoding finds.
fn step(text: &str) -> Step {
    let mut step = Step::default();
    let signs = Signs::of(text);
    if !signs.is_ascii {
        unicode::find(&signs, &mut step.found);
        base::find_wide(&signs, &mut step.found);
    }
    escapes::find(&signs, &mut step.found);
    base::find(&signs, &mut step.found);
    codes::find(&signs, &mut step.found);
    layout::find(&signs, &mut step.found);
    pieces::find(&signs, &mut step.found);
    ciphers::find(&signs, &mut step);
    step
}

#[cfg(test)]
mod tests;
