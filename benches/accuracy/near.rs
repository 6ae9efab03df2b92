//! Near-duplicates: texts that are one text with a name, a sentence or a topic changed.
//!
//! Two texts are near when their word triples (lower case, without punctuation) overlap with a Jaccard index of at
//! least [`NEAR`]. A benchmark counts one of them: a template of which a set holds forty copies is one case, and a text
//! that stands in the laboratory is none of the field.
//!
//! **Source**: A. Broder, On the resemblance and containment of documents, 1997 (shingles, resemblance).

use std::{
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

/// The least Jaccard index of what is near.
pub const NEAR: f64 = 0.5;

/// Texts that were seen.
#[derive(Default)]
pub struct Texts {
    /// The word triples of each text.
    triples: Vec<BTreeSet<u64>>,
    /// The texts that hold a triple.
    holders: HashMap<u64, Vec<usize>>,
}

impl Texts {
    /// Takes `text` in, unless one that is near was seen before: then its number.
    pub fn near_or_new(&mut self, text: &str) -> Option<usize> {
        let triples = triples(text);
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for holder in triples.iter().filter_map(|triple| self.holders.get(triple)).flatten() {
            *shared.entry(*holder).or_default() += 1;
        }
        let is_near = |(other, both): &(usize, usize)| {
            let either = triples.len() + self.triples[*other].len() - both;
            *both as f64 >= NEAR * either as f64
        };
        let near = shared.into_iter().filter(is_near).map(|(other, _)| other).min();
        if near.is_none() {
            for triple in &triples {
                self.holders.entry(*triple).or_default().push(self.triples.len());
            }
            self.triples.push(triples);
        }
        near
    }

    /// Whether nothing near it was seen; it is seen now.
    pub fn is_new(&mut self, text: &str) -> bool {
        self.near_or_new(text).is_none()
    }
}

fn triples(text: &str) -> BTreeSet<u64> {
    let words: Vec<String> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let hash = |words: &[String]| {
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        hasher.finish()
    };
    // A text of one or two words, or in a script without spaces, is compared as a whole.
    if words.len() < 3 { BTreeSet::from([hash(&words)]) } else { words.windows(3).map(hash).collect() }
}
