//! Texts become features: what every engine needs, computed once per text, in a fixed number of passes.
//!
//! - [`words`]: words, sentences, entities, vocabulary, characters, phrases
//! - [`sentence`]: where sentences end
//! - [`hash`]: how words are compared
//! - [`canonical_json`]: the one form of JSON that is hashed
//! - [`decode`]: what a text says when it is decoded
//! - [`entropy`]: Shannon entropy of the characters
//! - [`code`]: which parts are code
//! - [`lines`]: bullets, numbers, indentation, fences
//! - [`phrases`]: the table of the phrases of all engines
//! - [`quantity`]: numbers, number words and units
//! - [`spelling`]: which words hardly any language has
//! - [`json_part`]: the JSON inside of the text, parsed once
//! - [`nearest`]: what was probably meant by an unknown name
//! - [`excerpt`]: the only way by which raw text reaches a report
//!
//! Engines read [`Features`] and do not loop over the text again, except where they report a finding.

pub mod canonical_json;
pub mod code;
pub mod decode;
pub mod entropy;
pub mod excerpt;
pub mod hash;
pub mod json_part;
pub mod keywords;
pub mod lexicon;
pub mod lines;
pub mod nearest;
pub mod phrases;
pub mod quantity;
pub mod sentence;
pub mod spelling;
pub mod words;

pub use excerpt::excerpt;
pub use json_part::JsonPart;
pub use lines::Lines;
pub use phrases::{Family, Hits};
pub use spelling::Spelling;
pub use words::{Entity, Vocabulary};

use std::ops::Range;

use words::Words;

/// What engines know of a text.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// Length in UTF-8 bytes.
    pub bytes: usize,
    /// Length in Unicode code points.
    pub code_points: u64,
    /// Words, separated by white space.
    pub words: u64,
    /// Sentences by our splitter; 0 for a text without words.
    pub sentences: u64,
    /// Non-blank pieces between . ! ? (what seed 001 calls sentences); 0 for a blank text.
    pub pieces: u64,
    /// Shannon entropy of the code points, in bits.
    pub entropy_bits: f64,
    /// Letters and digits, in code points.
    pub alphanumerics: u64,
    /// Characters that are neither letter, digit, white space nor control, in code points.
    pub punctuation: u64,
    /// Question marks.
    pub questions: u64,
    /// Whether there is a tab anywhere.
    pub has_tab: bool,
    /// Whether a number is followed by a percent sign.
    pub has_percentage: bool,
    /// Whether there is a number with a decimal point.
    pub has_decimal: bool,
    /// Whether there are marks that stand in code and hardly in prose, such as `=>` or `);`.
    pub has_code_marks: bool,
    /// How often the most frequent word other than a function word occurs.
    pub top_word_count: u64,
    /// The distinct words.
    pub vocabulary: Vocabulary,
    /// Words outside of code, by how they are spelled.
    pub spelling: Spelling,
    /// Capitalised words inside of sentences, each once, in order.
    pub entities: Vec<Entity>,
    /// Bullets, numbers, indentation and fences.
    pub lines: Lines,
    /// Phrases of the language engines.
    pub phrases: Hits,
    /// Fenced and inline code, in order.
    pub code: Vec<Range<usize>>,
    /// The JSON of the text, when something looks like it.
    pub json: Option<JsonPart>,
}

impl Features {
    /// Computes all features of `text`.
    pub fn of(text: &str) -> Features {
        let code = code::code_ranges(text);
        let words = Words::with_code(text, &code);
        let mut features = Features::new(text, words);
        features.json = JsonPart::with_lines(text, &features.lines);
        features.code = code;
        features
    }

    /// Those features of `text` that engines ask of a prompt, which may be much longer than its response: words,
    /// sentences, vocabulary, phrases, lines, bytes and question marks. The others are those of an empty text.
    pub fn of_prompt(text: &str) -> Features {
        Features::new(text, Words::of_prompt(text))
    }

    fn new(text: &str, words: Words) -> Features {
        let characters = words.characters;
        Features {
            bytes: text.len(),
            code_points: characters.total,
            words: words.words,
            sentences: words.sentences,
            pieces: words.pieces,
            entropy_bits: characters.entropy_bits,
            alphanumerics: characters.alphanumerics,
            punctuation: characters.punctuation,
            questions: characters.questions,
            has_tab: characters.tabs > 0,
            has_percentage: words.has_percentage,
            has_decimal: words.has_decimal,
            has_code_marks: words.has_code_marks,
            top_word_count: words.vocabulary.top_count(),
            vocabulary: words.vocabulary,
            spelling: words.spelling,
            entities: words.entities,
            lines: Lines::of(text),
            phrases: words.phrases,
            code: Vec::new(),
            json: None,
        }
    }

    /// Style in four numbers (seed 000): sentences (at least 1), average word length in letters and digits, distinct
    /// words per word, punctuation marks per code point. The last three are 0 for a text without words.
    pub fn style(&self) -> [f64; 4] {
        let ratio = |part: f64, whole: u64| if whole == 0 { 0.0 } else { part / whole as f64 };
        [
            self.sentences.max(1) as f64,
            ratio(self.alphanumerics as f64, self.words),
            ratio(self.vocabulary.distinct() as f64, self.vocabulary.total()),
            ratio(self.punctuation as f64, self.code_points),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_counts_sentences_word_length_diversity_and_punctuation() {
        assert_eq!(Features::of("").style(), [1.0, 0.0, 0.0, 0.0]);
        let style = Features::of("The cat, the dog. Wow!").style();
        assert_eq!(style, [2.0, 15.0 / 5.0, 4.0 / 5.0, 3.0 / 22.0]);
    }

    #[test]
    fn of_a_prompt_is_known_what_engines_ask_of_it() {
        let text = "First, name Paris? Then\n1. explain why?\n2. answer as JSON {\"a\": 1} in caf\u{e9} `x`.";
        let (all, some) = (Features::of(text), Features::of_prompt(text));
        let of = |features: &Features| {
            let Features { bytes, words, sentences, pieces, questions, .. } = *features;
            (bytes, words, sentences, pieces, questions, features.lines.clone(), features.phrases.clone())
        };
        assert_eq!(of(&some), of(&all));
        assert_eq!(some.vocabulary.distinct(), all.vocabulary.distinct());
        assert!(some.json.is_none() && some.entities.is_empty() && some.code.is_empty());
    }

    #[test]
    fn code_points_are_counted_not_bytes() {
        let features = Features::of("naïve 🎉 —");
        assert_eq!((features.bytes, features.code_points, features.words), (15, 9, 3));
    }
}
