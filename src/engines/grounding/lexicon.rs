//! Words that deny, leave out, begin a clause, or have an opposite, by language.
//!
//! **Source**: `polarity.toml`, which says what each list is for. Words are compared by their stems ([`super::tokens`]),
//! so that "permits" and "permitted" are one entry; forms that a stem does not bring together are listed.
//!
//! **Limits**: English, German, French, Spanish and Portuguese; a text in another language is read as English.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{
    table::Table,
    tokens::{Token, tokens},
};

/// How the two sides of a pair are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The minus side denies, also where the other sentence lacks the pair.
    Opposite,
    /// Compared only where both sentences have the pair.
    Scale,
    /// The same between two things, which may change places.
    Relation,
    /// The same, but between two things only where the sentences say "than".
    Comparison,
    /// Of the thing beside it.
    Bound,
}

/// What a word or a phrase does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Denies the word behind it, and with it the clause.
    Negation,
    /// The same before a noun.
    NoneOf,
    /// Denies what follows.
    Local,
    /// A denial behind it is of a phrase.
    Preposition,
    /// Holds a word of denial and denies nothing.
    Neutral,
    /// Denies that something holds of all.
    Partial,
    /// What follows is left out of what is said before.
    Exception,
    /// Begins a clause.
    Break,
    /// Begins a clause inside of another one.
    Relative,
    /// A part of a sentence with one of these is a clause.
    Auxiliary,
    /// Says of what part of a range something holds.
    Range,
    /// Of all.
    All,
    /// Of some.
    Some,
    /// One side of a pair.
    Side {
        /// Which pair.
        pair: u16,
        /// Which side.
        is_minus: bool,
        /// How it is compared.
        kind: Kind,
    },
}

/// The lists of one language as they stand in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    concord: bool,
    function: String,
    negations: String,
    none: String,
    local: String,
    neutral: String,
    partial: String,
    exceptions: String,
    breaks: String,
    relatives: String,
    prepositions: String,
    auxiliaries: String,
    ranges: String,
    all: String,
    some: String,
    pairs: Vec<Pairs>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pairs {
    kind: Kind,
    pairs: Vec<[String; 2]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    en: Lists,
    de: Lists,
    fr: Lists,
    es: Lists,
    pt: Lists,
}

/// A word or a phrase; those that begin alike are chained.
struct Entry {
    words: Vec<u32>,
    mark: Mark,
    next: u32,
}

const NONE: u32 = u32::MAX;

/// The words of one language.
pub struct Lexicon {
    /// Whether several denials of a clause are one.
    pub has_concord: bool,
    /// Whether capitals make names, and stems are known.
    pub is_english: bool,
    heads: Table,
    entries: Vec<Entry>,
    function: Vec<String>,
}

impl Lexicon {
    fn of(lists: &Lists, is_english: bool) -> Lexicon {
        let function = lists.function.split_whitespace().map(str::to_owned).collect();
        let mut lexicon =
            Lexicon { has_concord: lists.concord, is_english, heads: Table::default(), entries: Vec::new(), function };
        for (words, mark) in [
            (&lists.negations, Mark::Negation),
            (&lists.none, Mark::NoneOf),
            (&lists.local, Mark::Local),
            (&lists.prepositions, Mark::Preposition),
            (&lists.neutral, Mark::Neutral),
            (&lists.partial, Mark::Partial),
            (&lists.exceptions, Mark::Exception),
            (&lists.breaks, Mark::Break),
            (&lists.relatives, Mark::Relative),
            (&lists.ranges, Mark::Range),
            (&lists.all, Mark::All),
            (&lists.some, Mark::Some),
        ] {
            words.split(',').for_each(|phrase| lexicon.add(phrase, mark));
        }
        lists.auxiliaries.split_whitespace().for_each(|word| lexicon.add(word, Mark::Auxiliary));
        let all = lists.pairs.iter().flat_map(|group| group.pairs.iter().map(|pair| (pair, group.kind)));
        for (index, (pair, kind)) in all.enumerate() {
            for (side, is_minus) in pair.iter().zip([false, true]) {
                let mark = Mark::Side { pair: index as u16, is_minus, kind };
                side.split(',').for_each(|phrase| lexicon.add(phrase, mark));
            }
        }
        lexicon
    }

    fn add(&mut self, phrase: &str, mark: Mark) {
        let mut words = Vec::new();
        tokens(phrase, 0..phrase.len(), |token| words.push(token.stem));
        let Some(first) = words.first().copied() else { return };
        // Forms of one stem are listed for people to read.
        if self.entries.iter().any(|entry| entry.mark == mark && entry.words == words) {
            return;
        }
        let own = self.entries.len() as u32;
        let (mut last, is_new) = self.heads.get_or_insert(first, own);
        if !is_new {
            while self.entries[last as usize].next != NONE {
                last = self.entries[last as usize].next;
            }
            self.entries[last as usize].next = own;
        }
        self.entries.push(Entry { words, mark, next: NONE });
    }

    /// Hands the marks at token `at` to `take`, those of the longest phrase only, and says how many tokens it has.
    pub fn at(&self, tokens: &[Token], at: usize, mut take: impl FnMut(Mark)) -> usize {
        let Some(head) = tokens.get(at).and_then(|token| self.heads.get(token.stem)) else { return 1 };
        let chain = |head: u32| {
            std::iter::successors(self.entries.get(head as usize), |entry| self.entries.get(entry.next as usize))
        };
        let stands = |entry: &&Entry| {
            let words = tokens.get(at..at + entry.words.len()).unwrap_or_default();
            words.len() == entry.words.len() && words.iter().zip(&entry.words).all(|(token, word)| token.stem == *word)
        };
        let longest = chain(head).filter(stands).map(|entry| entry.words.len()).max().unwrap_or_default();
        chain(head).filter(|entry| entry.words.len() == longest).filter(stands).for_each(|entry| take(entry.mark));
        longest.max(1)
    }

    /// Function words of this language among the first words of a text.
    fn share(&self, head: &str) -> usize {
        let words = head.split(|c: char| !c.is_alphabetic());
        words.filter(|word| self.function.iter().any(|known| word.eq_ignore_ascii_case(known))).count()
    }
}

static LEXICONS: LazyLock<[Lexicon; 5]> = LazyLock::new(|| {
    let File { en, de, fr, es, pt } = toml::from_str(include_str!("polarity.toml")).expect("a test reads the table");
    [(en, true), (de, false), (fr, false), (es, false), (pt, false)]
        .map(|(lists, is_english)| Lexicon::of(&lists, is_english))
});

/// Bytes of a text by which its language is told.
const LANGUAGE_BYTES: usize = 2_000;

/// The words of the language of some texts.
pub fn of_texts(texts: &[&str]) -> &'static Lexicon {
    let heads = || texts.iter().map(|text| &text[..text.floor_char_boundary(LANGUAGE_BYTES)]);
    let lexicons = &*LEXICONS;
    // The first of those that share most: English where there is nothing to go by.
    let shares = lexicons.iter().map(|lexicon| (heads().map(|head| lexicon.share(head)).sum::<usize>(), lexicon)).rev();
    shares.max_by_key(|(share, _)| *share).map_or(&lexicons[0], |(_, lexicon)| lexicon)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_phrase_is_taken() {
        let lexicon = of_texts(&["the text of it"]);
        for (text, marks, length) in
            [("no later than", 1, 3), ("no refunds", 1, 1), ("not only", 1, 2), ("lower", 3, 1), ("refunds", 0, 1)]
        {
            let mut list = Vec::new();
            tokens(text, 0..text.len(), |token| list.push(token));
            let mut found = Vec::new();
            assert_eq!(lexicon.at(&list, 0, |mark| found.push(mark)), length, "{text}");
            assert_eq!(found.len(), marks, "{text} {found:?}");
        }
    }

    #[test]
    fn languages_are_told_by_their_function_words() {
        for (text, index) in [
            ("Pets", 0),
            ("The dog is in the park.", 0),
            ("Hunde sind im Park nicht erlaubt.", 1),
            ("Les chiens ne sont pas admis dans le restaurant.", 2),
            ("El desayuno no está incluido en el precio.", 3),
            ("O café da manhã não está incluído no preço da diária.", 4),
        ] {
            assert!(std::ptr::eq(of_texts(&[text]), &LEXICONS[index]), "{text}");
        }
    }

    #[test]
    fn no_word_stands_on_both_sides_of_a_pair() {
        for lexicon in &*LEXICONS {
            for (index, entry) in lexicon.entries.iter().enumerate() {
                let Mark::Side { pair, is_minus, .. } = entry.mark else { continue };
                let other = lexicon.entries[index..].iter().find(|other| {
                    other.words == entry.words
                        && matches!(other.mark, Mark::Side { pair: p, is_minus: m, .. } if p == pair && m != is_minus)
                });
                assert!(other.is_none(), "pair {pair}");
            }
        }
    }
}
