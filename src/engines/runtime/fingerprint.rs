//! The fingerprint of a text: its structure in four numbers.
//!
//! **Source**: seed 001, "Fingerprint Components".

use crate::{engines::Fingerprint, text::Features};

/// The fingerprint, with sentences by our splitter (at least 1).
pub fn extract(features: &Features) -> Fingerprint {
    fingerprint(features, features.sentences)
}

/// The fingerprint as the program of seed 001 computes it: a sentence is whatever is not blank between any two of . ! ?
pub fn extract_by_pieces(features: &Features) -> Fingerprint {
    fingerprint(features, features.pieces)
}

fn fingerprint(features: &Features, sentences: u64) -> Fingerprint {
    let (tokens, sentences) = (features.words as f64, sentences.max(1) as f64);
    Fingerprint { tokens, sentences, average_sentence_length: tokens / sentences, entropy_bits: features.entropy_bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_text_has_one_sentence_of_no_words() {
        let expected = Fingerprint { tokens: 0.0, sentences: 1.0, average_sentence_length: 0.0, entropy_bits: 0.0 };
        assert_eq!(extract(&Features::of("")), expected);
    }

    #[test]
    fn a_version_number_makes_pieces_but_no_sentences() {
        let features = Features::of("Version 3.11.7 is out. It works.");
        assert_eq!((extract(&features).sentences, extract_by_pieces(&features).sentences), (2.0, 4.0));
    }
}
