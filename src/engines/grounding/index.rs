//! The sources of a record, read once: which stem stands in which sentence, which numbers, fields and hours there are.
//!
//! **Formula**: all passages become one text, JSON as lines ([`super::fields`]); each is cut into sentences; every
//! content stem keeps the first [`POSTINGS_PER_STEM_MAX`] sentences in which it stands. Stems of the question, and
//! months of dates in digits, are kept beside them: a word that the user brought up is no invention.
//!
//! **Limits**: linear in the text. The index is emptied and used again for the next record.

use std::{ops::Range, sync::LazyLock};

use super::{
    aliases,
    fields::{self, Facts},
    idf::idf,
    numbers::{self, Number, NumberIndex},
    table::Table,
    tokens::{ACRONYM, CAPITAL, DIGIT, PAIR, QUIET, STOP, Token, stem_of, tokens},
};
use crate::text::{
    quantity::date::{self, Date},
    sentence::split,
};

/// Sentences that a stem leads to; it is a common word beyond that.
pub const POSTINGS_PER_STEM_MAX: u32 = 64;
/// Bytes of a question that are read: what is beyond is no question.
pub const QUESTION_BYTES_MAX: usize = 64 << 10;

/// A place in the flattened text and where it comes from. What follows, up to the next segment, was copied as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset in the flattened text.
    pub flat: u32,
    /// The passage.
    pub passage: u32,
    /// Offset in that passage.
    pub raw: u32,
}

/// Groups from here on are objects.
const OBJECTS_FROM: u32 = 1 << 31;

/// A sentence of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// First byte in the flattened text.
    pub start: u32,
    /// Byte after the last.
    pub end: u32,
    /// The passage.
    pub passage: u32,
    /// What stands together: the fields of an object, or one sentence of prose.
    pub group: u32,
}

/// Keeps codes and words apart.
const CODE_MARK: u32 = 0x0C0D_E001;
/// Letters of the longest name that is known by its initials.
const INITIALS_MAX: usize = 6;
/// Stems of the names of each month, in all languages.
static MONTHS: LazyLock<[Vec<u32>; 12]> = LazyLock::new(|| {
    let mut months: [Vec<u32>; 12] = Default::default();
    date::month_names().for_each(|(name, month)| months[usize::from(month) - 1].push(stem_of(name)));
    months
});

#[derive(Clone, Copy, Debug)]
struct Entry {
    head: u32,
    tail: u32,
    count: u32,
}

/// No posting.
const NONE: u32 = u32::MAX;

/// The sources of a record.
#[derive(Default)]
pub struct Index {
    /// All passages, JSON as lines.
    pub flat: String,
    segments: Vec<Segment>,
    /// The sentences of all passages, in order.
    pub sentences: Vec<Sentence>,
    stems: Table,
    entries: Vec<Entry>,
    postings: Vec<(u32, u32)>,
    marks: Table,
    question: Table,
    question_stems: Vec<u32>,
    /// The numbers of the sources and of the question.
    pub numbers: NumberIndex,
    /// Yes/no fields and hours.
    pub facts: Facts,
    /// Letters and digits of the flattened text in lower case, once they are asked for.
    folded: Option<String>,
    tokens: Vec<Token>,
    found: Vec<Number>,
    /// Whether the sources are in a script without blanks, wholly or in part.
    pub has_pairs: bool,
    /// Whether most of the sources is JSON.
    pub is_data: bool,
}

impl Index {
    /// Reads the sources of a record, its question, and the system prompt.
    pub fn read<'p>(&mut self, passages: impl Iterator<Item = &'p str>, question: &str, system: &str) {
        self.clear();
        let (mut count, mut data_bytes) = (0, 0);
        for (passage, raw) in passages.enumerate() {
            let passage = passage as u32;
            let start = self.flat.len();
            let is_json = fields::flatten(raw, passage, &mut self.flat, &mut self.segments, &mut self.facts);
            if !is_json {
                self.segments.push(Segment { flat: start as u32, passage, raw: 0 });
                self.flat.push_str(raw);
            }
            self.flat.push('\n');
            self.sentences_of(start..self.flat.len(), passage, is_json);
            data_bytes += if is_json { self.flat.len() - start } else { 0 };
            count = passage + 1;
        }
        self.is_data = data_bytes * 2 > self.flat.len();
        self.question_of(question, count);
        // What the system prompt says is known, and is not asked.
        let asked = self.question_stems.len();
        self.question_of(system, count);
        self.question_stems.truncate(asked);
        self.aliases();
        self.numbers.finish();
    }

    fn clear(&mut self) {
        self.flat.clear();
        self.segments.clear();
        self.sentences.clear();
        self.stems.clear();
        self.entries.clear();
        self.postings.clear();
        self.marks.clear();
        self.question.clear();
        self.question_stems.clear();
        self.numbers.clear();
        self.facts.clear();
        self.folded = None;
        self.has_pairs = false;
    }

    fn sentences_of(&mut self, range: Range<usize>, passage: u32, is_json: bool) {
        let first = self.sentences.len();
        let (offset, sentences, brackets) = (range.start, &mut self.sentences, &self.facts.brackets);
        split(&self.flat[range], &[], |span| {
            let (start, end) = ((offset + span.start) as u32, (offset + span.end) as u32);
            let group = if is_json {
                OBJECTS_FROM + brackets.partition_point(|bracket| *bracket <= start) as u32
            } else {
                sentences.len() as u32
            };
            sentences.push(Sentence { start, end, passage, group });
        });
        let mut list = std::mem::take(&mut self.tokens);
        for sentence in first..self.sentences.len() {
            list.clear();
            let Sentence { start, end, .. } = self.sentences[sentence];
            tokens(&self.flat, start as usize..end as usize, |token| list.push(token));
            self.add_sentence(sentence as u32, &list);
        }
        self.tokens = list;
    }

    fn add_sentence(&mut self, sentence: u32, tokens: &[Token]) {
        // What can be the initials of words: the key of a field, and what is written in capitals.
        let is_field = self.sentences[sentence as usize].group >= OBJECTS_FROM;
        let key = tokens.first().filter(|_| is_field).map(|token| token.start);
        for token in tokens.iter().filter(|token| token.flags & ACRONYM != 0 || Some(token.start) == key) {
            self.marks.get_or_insert(token.stem ^ CODE_MARK, 0);
        }
        let (mut last, mut before) = (0, 0);
        let mut has_numbers = false;
        for token in tokens {
            has_numbers |= token.flags & (DIGIT | QUIET) != 0 || token.value > 0;
            if token.flags & PAIR != 0 {
                self.has_pairs = true;
            }
            self.add_stem(token, sentence);
            if token.is_content() {
                self.marks.get_or_insert(bigram(last, token.stem), 0);
                self.marks.get_or_insert(bigram(before, token.stem), 0);
                (before, last) = (last, token.stem);
            }
        }
        self.initials_of(tokens);
        if has_numbers {
            let mut found = std::mem::take(&mut self.found);
            numbers::numbers(&self.flat, tokens, false, |number| found.push(number));
            for number in found.drain(..) {
                number.date().into_iter().for_each(|date| self.month_of(date));
                self.numbers.add(&number, sentence);
            }
            self.found = found;
        }
    }

    /// A date names its month in any language: 2024-05-21 is in May.
    fn month_of(&mut self, date: Date) {
        let months = [date.month, if date.is_ambiguous { date.day } else { 0 }];
        for names in months.into_iter().filter_map(|month| MONTHS.get(usize::from(month).wrapping_sub(1))) {
            for stem in names {
                self.question.get_or_insert(*stem, NONE);
            }
        }
    }

    #[inline]
    fn add_stem(&mut self, token: &Token, sentence: u32) {
        let (entry, is_new) = self.stems.get_or_insert(token.stem, self.entries.len() as u32);
        if is_new {
            self.entries.push(Entry { head: NONE, tail: NONE, count: 0 });
            if token.prefix != 0 {
                self.marks.get_or_insert(token.prefix, 0);
            }
        }
        if token.flags & STOP != 0 {
            return;
        }
        let entry = &mut self.entries[entry as usize];
        let is_known = entry.tail != NONE && self.postings[entry.tail as usize].0 == sentence;
        if is_known || entry.count >= POSTINGS_PER_STEM_MAX {
            return;
        }
        let posting = self.postings.len() as u32;
        self.postings.push((sentence, NONE));
        match entry.tail {
            NONE => entry.head = posting,
            tail => self.postings[tail as usize].1 = posting,
        }
        entry.tail = posting;
        entry.count += 1;
    }

    /// What the sources name by a code is no invention by its name, and the other way round.
    fn aliases(&mut self) {
        for group in aliases::groups() {
            let stands = |member: &Vec<u32>| member.iter().all(|stem| self.sentences_with(*stem).next().is_some());
            if !group.iter().any(stands) {
                continue;
            }
            for stem in group.iter().flatten() {
                self.question.get_or_insert(*stem, NONE);
            }
        }
    }

    /// The initials of a name of several words stand for it, and the parts of `camelCase` for the words.
    fn initials_of(&mut self, tokens: &[Token]) {
        let is_name = |token: &Token| token.flags & CAPITAL != 0 && token.flags & (DIGIT | STOP) == 0;
        let mut at = 0;
        while at < tokens.len() {
            let mut letters = String::new();
            let mut next = at;
            while let Some(token) = tokens.get(next).filter(|_| letters.len() < INITIALS_MAX) {
                let is_near = next == at || token.start as usize <= tokens[next - 1].span().end + 2;
                let is_link = next > at && token.flags & STOP != 0 && tokens.get(next + 1).is_some_and(is_name);
                if !is_near || !is_name(token) && !is_link {
                    break;
                }
                if is_name(token) {
                    letters.extend(self.flat[token.span()].chars().next());
                }
                next += 1;
            }
            if letters.len() >= 2 {
                let stem = stem_of(&letters);
                self.question.get_or_insert(stem, NONE);
            }
            let span = tokens[at].span();
            if is_name(&tokens[at]) || tokens[at].length > 6 {
                let word = &self.flat[span];
                if word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
                    && word.bytes().any(|byte| byte.is_ascii_lowercase())
                {
                    let stems: Vec<u32> = fields::camel_words(word).map(stem_of).collect();
                    stems.into_iter().for_each(|stem| {
                        self.question.get_or_insert(stem, NONE);
                    });
                }
            }
            at = next.max(at + 1);
        }
    }

    fn question_of(&mut self, question: &str, passages: u32) {
        let mut end = question.len().min(QUESTION_BYTES_MAX);
        while !question.is_char_boundary(end) {
            end -= 1;
        }
        let mut list = std::mem::take(&mut self.tokens);
        list.clear();
        tokens(question, 0..end, |token| list.push(token));
        for token in list.iter().filter(|token| token.flags & STOP == 0) {
            let (_, is_new) = self.question.get_or_insert(token.stem, passages);
            if is_new && token.is_content() {
                self.question_stems.push(token.stem);
            }
        }
        let sentence = u32::MAX;
        numbers::numbers(question, &list, false, |number| self.numbers.add(&number, sentence));
        self.tokens = list;
    }

    /// Whether a stem stands in the sources.
    #[inline]
    pub fn has_stem(&self, stem: u32) -> bool {
        self.stems.get(stem).is_some()
    }

    /// Whether a stem stands in the sources or in the question.
    #[inline]
    pub fn knows(&self, stem: u32) -> bool {
        self.has_stem(stem) || self.question.get(stem).is_some()
    }

    /// Whether a stem stands for another one of the sources: a code, the initials of a name, the month of a date.
    pub fn is_alias(&self, stem: u32) -> bool {
        self.question.get(stem) == Some(NONE)
    }

    /// Whether a stem is a code of the sources: the key of a field, or a word in capitals.
    pub fn has_code(&self, stem: u32) -> bool {
        self.marks.get(stem ^ CODE_MARK).is_some()
    }

    /// Whether some stem of the sources begins with the same five letters.
    #[inline]
    pub fn has_prefix(&self, token: &Token) -> bool {
        token.prefix != 0 && self.marks.get(token.prefix).is_some()
    }

    /// Whether two content stems stand side by side in the sources, or with one between them.
    #[inline]
    pub fn has_bigram(&self, first: u32, second: u32) -> bool {
        self.marks.get(bigram(first, second)).is_some()
    }

    /// The sentences in which a stem stands, in order.
    #[inline]
    pub fn sentences_with(&self, stem: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.stems.get(stem).map_or(NONE, |entry| self.entries[entry as usize].head);
        std::iter::from_fn(move || {
            let (sentence, next) = *self.postings.get(at as usize)?;
            at = next;
            Some(sentence)
        })
    }

    /// Whether letters and digits in this order stand somewhere in the sources, whatever is between them.
    pub fn has_folded(&mut self, letters: &str) -> bool {
        let flat = &self.flat;
        let folded = self.folded.get_or_insert_with(|| fold(flat));
        memchr::memmem::find(folded.as_bytes(), letters.as_bytes()).is_some()
    }

    /// A sentence as passage and bytes in it.
    pub fn raw_place(&self, sentence: u32) -> Option<(u32, Range<usize>)> {
        let Sentence { start, end, .. } = *self.sentences.get(sentence as usize)?;
        fields::raw_place(&self.segments, start as usize..end as usize)
    }

    /// Whether a sentence is a field of data.
    pub fn is_field(&self, sentence: u32) -> bool {
        self.sentences.get(sentence as usize).is_some_and(|sentence| sentence.group >= OBJECTS_FROM)
    }

    /// The sentence that holds a byte of the flattened text.
    pub fn sentence_at(&self, flat: usize) -> Option<u32> {
        let after = self.sentences.partition_point(|sentence| sentence.start as usize <= flat);
        after.checked_sub(1).map(|index| index as u32)
    }

    /// How much of the question each of the first `passages` holds: the share of the weight of its content stems. `None`
    /// without a question.
    pub fn relevance(&self, passages: usize) -> Option<Vec<f64>> {
        let total: f64 = self.question_stems.iter().map(|stem| idf(*stem)).sum();
        if total == 0.0 {
            return None;
        }
        let mut shares = vec![0.0; passages];
        for stem in &self.question_stems {
            let mut last = NONE;
            for sentence in self.sentences_with(*stem) {
                let passage = self.sentences[sentence as usize].passage;
                if passage != last && (passage as usize) < passages {
                    shares[passage as usize] += idf(*stem) / total;
                }
                last = passage;
            }
        }
        Some(shares)
    }
}

/// Letters and digits in lower case.
pub fn fold(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[inline]
fn bigram(first: u32, second: u32) -> u32 {
    (first.wrapping_mul(0x85EB_CA6B) ^ second.wrapping_mul(0xC2B2_AE35).rotate_left(13)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_in_digits_names_its_month() {
        let mut index = Index::default();
        index.read(["booked for 2024-04-21, code 2024-13-01"].into_iter(), "", "");
        for (word, expected) in [("april", true), ("Apr", true), ("abril", true), ("march", false), ("December", false)]
        {
            assert_eq!(index.knows(stem_of(word)), expected, "{word}");
        }
    }

    #[test]
    fn fields_of_an_object_stand_together() {
        let mut index = Index::default();
        index.read(["[{\"to\": \"Rome\", \"price\": 7}, {\"to\": \"Oslo\", \"price\": 9}]"].into_iter(), "", "");
        let groups: Vec<u32> = index.sentences.iter().map(|sentence| sentence.group).collect();
        assert_eq!(groups.len(), 4);
        assert!(groups[0] == groups[1] && groups[1] != groups[2] && groups[2] == groups[3], "{groups:?}");
    }

    #[test]
    fn stems_lead_to_sentences_and_sentences_to_passages() {
        let mut index = Index::default();
        let passages = ["The tower stands in Paris. It is tall.", "{\"height\": \"330 metres tall\"}"];
        for _ in 0..2 {
            index.read(passages.into_iter(), "How tall is the Eiffel tower?", "You are a guide.");
            let with = |word| index.sentences_with(stem_of(word)).collect::<Vec<_>>();
            assert_eq!((with("towers"), with("tall"), with("absent")), (vec![0], vec![1, 2], vec![]));
            assert!(
                index.knows(stem_of("guide")) && index.knows(stem_of("eiffel")) && !index.has_stem(stem_of("eiffel"))
            );
            let (passage, raw) = index.raw_place(2).unwrap();
            assert_eq!((passage, &passages[1][raw]), (1, "\"height\": \"330 metres tall\""));
            let relevance = index.relevance(2).unwrap();
            assert!(relevance[0] > relevance[1] && relevance[1] > 0.0 && relevance[0] < 1.0, "{relevance:?}");
        }
    }
}
