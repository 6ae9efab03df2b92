//! All phrases that any language engine looks for, in one table.
//!
//! [`super::words`] offers every word of a text once; a word that begins a phrase is compared with it on the spot.
//! Engines ask which families occur and where. Adding a phrase is adding a string to [`PHRASES`].
//!
//! **Matching**: in any ASCII case, overlapping, and on word boundaries: words are letters, digits, underscores, and
//! apostrophes and hyphens between them, so "can't" does not hold "can". A space in a phrase stands for any white
//! space, a straight apostrophe also for a curly one.
//!
//! **Source**: the lists that seed 001 names are marked; the others are ours and English.
//!
//! **Limits**: of a phrase only the first place is kept, except for the two sides of a contradiction, of which
//! [`SIDE_PLACES_MAX`] are.
//!
//! A word table instead of an automaton over bytes: the words are hashed anyway, and one test of a bit tells that most
//! of them begin no phrase.

use std::{ops::Range, sync::LazyLock};

use super::hash::hash_of;

/// Places kept per side of a contradiction.
pub const SIDE_PLACES_MAX: usize = 8;

/// What a phrase stands for. Engines test families; a phrase may be listed in several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Family {
    /// Overconfident words of seed 001.
    Overconfident,
    /// "100%", which seed 000 counts among them.
    HundredPercent,
    /// Contradiction: "is required".
    Required,
    /// Contradiction: "is optional".
    Optional,
    /// Contradiction: "must".
    Must,
    /// Contradiction: "does not need to".
    NeedNot,
    /// Contradiction: "can".
    Can,
    /// Contradiction: "cannot".
    Cannot,
    /// Contradiction: "will".
    Will,
    /// Contradiction: "will not".
    WillNot,
    /// Contradiction: "always".
    Always,
    /// Contradiction: "never".
    Never,
    /// Words that join one step of an argument to the next.
    Transition,
    /// Verbs that ask for reasoning.
    Reasoning,
    /// The first of several parts.
    PartFirst,
    /// A later part.
    PartNext,
    /// A further wish.
    PartAlso,
    /// A request for JSON.
    JsonAsked,
    /// Intent summary, pattern 1.
    SummaryMarker,
    /// Intent summary, pattern 2.
    SummaryBrief,
    /// Intent explanation, pattern 1.
    ExplanationCause,
    /// Intent explanation, pattern 2.
    ExplanationReason,
    /// Intent explanation, pattern 3.
    ExplanationExample,
    /// Intent code, pattern 2 (pattern 1 is a fence).
    CodeKeyword,
    /// Intent code, pattern 4 (pattern 3 is syntax).
    CodeTool,
    /// Intent list, pattern 3 (1 and 2 are bullets and numbers).
    ListLead,
    /// Intent question, pattern 2 (pattern 1 is a question mark).
    QuestionOpening,
    /// Intent instruction, pattern 1.
    InstructionStep,
    /// Intent instruction, pattern 2.
    InstructionModal,
    /// Intent creative, pattern 1.
    CreativeForm,
    /// Intent creative, pattern 2.
    CreativeScene,
    /// Intent analysis, pattern 1.
    AnalysisVerb,
    /// Intent analysis, pattern 2.
    AnalysisSides,
    /// Intent analysis, pattern 3.
    AnalysisFactors,
    /// Intent comparison, pattern 1.
    ComparisonMarker,
    /// Intent comparison, pattern 2.
    ComparisonContrast,
    /// Intent definition, pattern 1.
    DefinitionIs,
    /// Intent definition, pattern 2.
    DefinitionMeans,
    /// Intent translation, pattern 1.
    Translation,
    /// Intent conversation, pattern 1.
    ConversationGreeting,
    /// Intent conversation, pattern 2.
    ConversationOpinion,
    /// Intent data, pattern 2 (pattern 1 is a percentage or a decimal number).
    DataTable,
    /// Intent data, pattern 3.
    DataStatistic,
}

impl Family {
    /// Whether every place counts (up to [`SIDE_PLACES_MAX`]) and not only the first of each phrase.
    fn keeps_places(self) -> bool {
        (Family::Required as u8..=Family::Never as u8).contains(&(self as u8))
    }

    fn bit(self) -> u64 {
        1 << (self as u8)
    }
}

/// The phrases of each family.
#[rustfmt::skip]
pub const PHRASES: &[(Family, &[&str])] = &[
    // Seed 001, "Overconfident Language Score"; its six.
    (Family::Overconfident, &["definitely", "certainly", "guaranteed", "proven", "no doubt", "absolutely"]),
    (Family::HundredPercent, &["100%", "100 %"]),
    // Seed 001, "Contradiction Score"; the pairs after the first two are those of its program, on word boundaries.
    (Family::Required, &["is required"]),
    (Family::Optional, &["is optional"]),
    (Family::Must, &["must"]),
    (Family::NeedNot, &["does not need to", "doesn't need to"]),
    (Family::Can, &["can"]),
    (Family::Cannot, &["cannot", "can not", "can't"]),
    (Family::Will, &["will"]),
    (Family::WillNot, &["will not", "won't"]),
    (Family::Always, &["always"]),
    (Family::Never, &["never"]),
    (Family::Transition, &[
        "because", "therefore", "thus", "hence", "since", "however", "although", "whereas", "consequently",
        "furthermore", "moreover", "additionally", "in addition", "as a result", "for example", "for instance",
        "in other words", "on the other hand", "in contrast", "this means", "which means", "so that", "due to",
        "first", "firstly", "second", "secondly", "third", "then", "next", "finally", "in conclusion", "step 1",
        "step 2",
    ]),
    (Family::Reasoning, &[
        "explain", "analyze", "analyse", "compare", "contrast", "evaluate", "justify", "assess", "discuss", "derive",
        "prove", "critique", "elaborate", "reason", "why", "walk me through", "walk through", "step by step",
        "step-by-step", "think through", "trade-offs", "tradeoffs", "pros and cons",
    ]),
    (Family::PartFirst, &["first", "firstly", "step 1", "part 1"]),
    (Family::PartNext, &["then", "second", "secondly", "next", "after that", "finally", "step 2", "part 2"]),
    (Family::PartAlso, &["and also", "additionally", "in addition"]),
    (Family::JsonAsked, &[
        "as json", "in json", "valid json", "json format", "json object", "json array", "json only", "only json",
        "json response", "json output", "return json", "output json", "respond with json", "json schema",
    ]),
    // Seed 001, "Intent Detection": "in summary", "key points", "tldr".
    (Family::SummaryMarker, &[
        "in summary", "key points", "tldr", "tl;dr", "to summarize", "to summarise", "summary", "main points",
        "key takeaways", "takeaways",
    ]),
    (Family::SummaryBrief, &["in short", "in brief", "briefly", "to sum up", "in conclusion", "overall"]),
    // Seed 001: "because", "therefore", "this means".
    (Family::ExplanationCause, &[
        "because", "therefore", "this means", "which means", "due to", "as a result", "consequently", "hence",
    ]),
    (Family::ExplanationReason, &[
        "reason for", "reason is", "reason why", "that is why", "that's why", "which is why", "in other words",
        "this happens when",
    ]),
    (Family::ExplanationExample, &["for example", "for instance", "works by", "how it works", "think of it as"]),
    // Seed 001: function, const and class keywords.
    (Family::CodeKeyword, &[
        "function", "const", "class", "def", "import", "return", "struct", "elif", "async", "await", "void",
        "println", "printf", "enum", "typedef", "elsif",
    ]),
    (Family::CodeTool, &[
        "commit", "compile", "compiler", "git", "npm", "pip install", "docker", "stack trace", "traceback",
        "console.log", "localhost", "sudo", "script",
    ]),
    (Family::ListLead, &[
        "following", "here are", "here is a list", "here's a list", "checklist:", "listed below", "as follows",
    ]),
    (Family::QuestionOpening, &[
        "could you", "would you", "can you", "do you", "did you", "are you", "have you", "what do", "what is",
        "what are", "why is", "why do", "how do", "how would", "which one", "who is", "when did", "where is",
    ]),
    (Family::InstructionStep, &[
        "first", "firstly", "then", "next", "finally", "step 1", "step 2", "step one", "afterwards", "after that",
    ]),
    (Family::InstructionModal, &[
        "please", "do not", "make sure", "you should", "you must", "you need to", "you have to", "be sure to",
        "ensure", "remember to", "should be", "must be",
    ]),
    (Family::CreativeForm, &["once upon a time", "story", "poem", "haiku", "stanza", "chapter", "lyrics", "verse"]),
    (Family::CreativeScene, &[
        "imagine", "in a world", "long ago", "whispered", "she said", "he said", "moonlight", "heart",
    ]),
    (Family::AnalysisVerb, &[
        "analysis", "analyze", "analyse", "analyzes", "analyses", "examine", "examines", "evaluation", "assessment",
    ]),
    (Family::AnalysisSides, &[
        "advantages", "disadvantages", "pros and cons", "strengths", "weaknesses", "drawbacks", "trade-offs",
        "tradeoffs", "benefits",
    ]),
    (Family::AnalysisFactors, &[
        "considerations", "factors", "implications", "impact", "in terms of", "perspective", "consider",
    ]),
    // Seed 001: "compared to", "versus", "unlike".
    (Family::ComparisonMarker, &[
        "compared to", "compared with", "comparison", "versus", "vs", "unlike", "whereas", "in comparison",
    ]),
    (Family::ComparisonContrast, &[
        "in contrast", "by contrast", "on the other hand", "similarly", "likewise", "difference between",
        "differences between", "better than", "worse than", "faster than",
    ]),
    (Family::DefinitionIs, &["defined as", "definition", "type of", "kind of", "term for"]),
    (Family::DefinitionMeans, &["means", "meaning", "refers to", "stands for", "known as"]),
    (Family::Translation, &[
        "translates to", "translates as", "translation", "translated", "in french", "in spanish", "in german",
        "in italian", "in japanese", "in chinese", "in portuguese", "in russian",
    ]),
    (Family::ConversationGreeting, &[
        "hi", "hello", "hey", "thanks", "thank you", "sure", "okay", "ok", "you're welcome", "good morning",
    ]),
    (Family::ConversationOpinion, &[
        "i think", "i believe", "i feel", "in my opinion", "i guess", "sounds good", "let me know", "happy to help",
    ]),
    (Family::DataTable, &["table", "chart", "graph", "dataset", "spreadsheet", "column", "columns"]),
    (Family::DataStatistic, &[
        "data", "average", "mean", "median", "percent", "percentage", "total", "growth", "statistics",
        "standard deviation",
    ]),
];

/// One place of one phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The family that the phrase belongs to.
    pub family: Family,
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

/// Which phrases occur in a text, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    families: u64,
    places: Vec<Place>,
}

impl Hits {
    /// Whether any phrase of `family` occurs.
    pub fn has(&self, family: Family) -> bool {
        self.families & family.bit() != 0
    }

    /// Where phrases of `family` stand, in the order of the text: the first place of each phrase, or all (up to the
    /// limit) for the sides of a contradiction.
    pub fn places(&self, family: Family) -> impl Iterator<Item = Range<usize>> + '_ {
        let of_family = self.places.iter().filter(move |place| place.family == family);
        of_family.map(|place| place.start..place.end)
    }
}

/// Looks up the words of one text.
pub(super) struct Finder {
    table: &'static Table,
    /// As [`Table::filter`], without the words of which nothing new can come.
    filter: [u64; FILTER_WORDS],
    seen: [u64; SEEN_WORDS],
    hits: Hits,
}

impl Finder {
    pub(super) fn new() -> Finder {
        let table = &*TABLE;
        Finder { table, filter: table.filter, seen: [0; SEEN_WORDS], hits: Hits::default() }
    }

    pub(super) fn into_hits(self) -> Hits {
        self.hits
    }

    /// Offers the word `bytes[start..end]` with its hash.
    #[inline]
    pub(super) fn offer(&mut self, bytes: &[u8], start: usize, end: usize, hash: u64) {
        let (index, bit) = filter_bit(hash);
        if self.filter[index] & bit != 0 {
            self.look_up(bytes, start, end, hash);
        }
    }

    #[inline(never)]
    fn look_up(&mut self, bytes: &[u8], start: usize, end: usize, hash: u64) {
        let next = Initials::of(&bytes[end..]);
        let (index, bit) = filter_bit(hash ^ next.bits());
        let (alone_index, alone_bit) = filter_bit(hash);
        let may_go_on = next == Initials::ANY || self.table.pairs[index] & bit != 0;
        if may_go_on || self.table.alone[alone_index] & alone_bit != 0 {
            self.compare(bytes, start, end, hash, next);
        }
    }

    /// Compares what stands there with the phrases that begin with this word.
    #[inline(never)]
    fn compare(&mut self, bytes: &[u8], start: usize, end: usize, hash: u64, next: Initials) {
        let Some(head) = self.table.head(hash) else { return };
        let phrases = usize::from(head.start)..usize::from(head.end);
        let mut is_done = false;
        for (index, phrase) in phrases.clone().zip(&self.table.phrases[phrases.clone()]) {
            let (word, bit) = (index / 64, 1u64 << (index % 64));
            if !phrase.next.may_be(next) || self.seen[word] & bit != 0 {
                continue;
            }
            let Some(end) = end_of(phrase.rest.as_bytes(), bytes, end) else { continue };
            self.hits.families |= phrase.family.bit();
            if self.hits.places.is_empty() {
                self.hits.places.reserve(PLACES_USUAL);
            }
            self.hits.places.push(Place { family: phrase.family, start, end });
            if !phrase.family.keeps_places() || self.hits.places(phrase.family).count() >= SIDE_PLACES_MAX {
                self.seen[word] |= bit;
                is_done = true;
            }
        }
        let is_seen = |index: usize| self.seen[index / 64] >> (index % 64) & 1 == 1;
        if is_done && !head.shares_bit && phrases.into_iter().all(is_seen) {
            let (index, bit) = filter_bit(hash);
            self.filter[index] &= !bit;
        }
    }
}

/// Places for which there is room from the first one on.
const PLACES_USUAL: usize = 16;
/// Bits for phrases already seen; a test checks that there are enough.
const SEEN_WORDS: usize = 8;
/// 64-bit words of the filters.
const FILTER_WORDS: usize = 128;

/// A phrase, cut behind its first word.
struct Phrase {
    rest: &'static str,
    /// How the rest begins.
    next: Initials,
    family: Family,
}

/// The phrases that begin with one word.
#[derive(Clone, Copy, Default)]
struct Head {
    /// 0 when there is none.
    hash: u64,
    /// Into [`Table::phrases`].
    start: u16,
    end: u16,
    /// Whether the filter has one bit for this word and others.
    shares_bit: bool,
}

struct Table {
    /// One bit per hash of a first word, folded: most words of a text do not pass.
    filter: [u64; FILTER_WORDS],
    /// As the filter, of the words with a phrase whose [`Initials`] are not known: it is one word, for example.
    alone: [u64; FILTER_WORDS],
    /// One bit per first word and [`Initials`] of the next: most first words are function words.
    pairs: [u64; FILTER_WORDS],
    /// Open addressing by hash.
    heads: Vec<Head>,
    phrases: Vec<Phrase>,
}

impl Table {
    fn head(&self, hash: u64) -> Option<&Head> {
        let head = &self.heads[self.slot(hash)];
        (head.hash != 0).then_some(head)
    }

    fn slot(&self, hash: u64) -> usize {
        let mask = self.heads.len() - 1;
        let mut index = hash as usize & mask;
        while self.heads[index].hash != 0 && self.heads[index].hash != hash {
            index = (index + 1) & mask;
        }
        index
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let cut = |phrase: &'static str| {
        let word = phrase.split(' ').next().unwrap_or_default().trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        phrase.split_at(word.len())
    };
    let all = PHRASES.iter().flat_map(|(family, list)| list.iter().map(|phrase| (*family, cut(phrase))));
    let mut all: Vec<(u64, Phrase)> = all
        .map(|(family, (head, rest))| (hash_of(head), Phrase { rest, next: Initials::of_rest(rest), family }))
        .collect();
    all.sort_by_key(|(head, _)| *head);

    let heads = vec![Head::default(); (all.len() * 4).next_power_of_two()];
    let mut table = Table {
        filter: [0; FILTER_WORDS],
        alone: [0; FILTER_WORDS],
        pairs: [0; FILTER_WORDS],
        heads,
        phrases: Vec::new(),
    };
    for (index, (hash, phrase)) in all.into_iter().enumerate() {
        let (word, bit) = filter_bit(hash);
        let slot = table.slot(hash);
        let head = &mut table.heads[slot];
        let is_new = head.hash == 0;
        let start = if is_new { index as u16 } else { head.start };
        let shares_bit = head.shares_bit || (is_new && table.filter[word] & bit != 0);
        table.filter[word] |= bit;
        if phrase.next == Initials::ANY {
            table.alone[word] |= bit;
        } else {
            let (word, bit) = filter_bit(hash ^ phrase.next.bits());
            table.pairs[word] |= bit;
        }
        *head = Head { hash, start, end: index as u16 + 1, shares_bit };
        table.phrases.push(phrase);
    }
    table
});

fn filter_bit(hash: u64) -> (usize, u64) {
    let bits = hash >> 51;
    ((bits / 64) as usize, 1 << (bits % 64))
}

/// The first two letters or digits of the word behind a blank, in any case; of a word of one letter, that and a blank.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Initials(u16);

impl Initials {
    /// No more is known than that a blank may follow, or anything in the case of a phrase.
    const ANY: Initials = Initials(u16::MAX);

    /// No white space stands behind the word.
    const NONE: Initials = Initials(u16::MAX - 1);

    /// The initials in the text behind a word.
    #[inline]
    fn of(rest: &[u8]) -> Initials {
        match rest {
            [b' ', first, second, ..] if !first.is_ascii_whitespace() => {
                let second = if second.is_ascii_whitespace() { b' ' } else { *second };
                Initials(u16::from(first & INITIAL_MASK) << 5 | u16::from(second & INITIAL_MASK))
            }
            [blank, ..] if blank.is_ascii_whitespace() => Initials::ANY,
            _ => Initials::NONE,
        }
    }

    /// Those of a phrase, which are known when no other text can match.
    fn of_rest(rest: &str) -> Initials {
        match rest.as_bytes() {
            [b' ', first, second, ..]
                if first.is_ascii_alphanumeric() && (second.is_ascii_alphanumeric() || *second == b' ') =>
            {
                Initials::of(rest.as_bytes())
            }
            _ => Initials::ANY,
        }
    }

    /// Whether a phrase that goes on with these may stand where the text goes on with `next`.
    fn may_be(self, next: Initials) -> bool {
        self == next || self == Initials::ANY || next == Initials::ANY
    }

    /// What makes other bits of a filter of them, when they belong to a first word.
    fn bits(self) -> u64 {
        u64::from(self.0) << 54
    }
}

/// The bits of a byte that are compared: those that do not tell the case of a letter.
const INITIAL_MASK: u8 = 0x1F;

/// Where the rest of a phrase ends that begins at `at`, if it stands there.
fn end_of(rest: &[u8], bytes: &[u8], at: usize) -> Option<usize> {
    let behind = &bytes[at..];
    let same = rest.iter().zip(behind).take_while(|(expected, byte)| byte.eq_ignore_ascii_case(expected)).count();
    let end = if same == rest.len() {
        at + same
    } else if behind.get(same).is_some_and(|byte| byte.is_ascii_whitespace() || !byte.is_ascii()) {
        end_of_variant(rest, bytes, at)?
    } else {
        return None;
    };
    let ends_in_word = rest.last().is_some_and(u8::is_ascii_alphanumeric);
    (!ends_in_word || !goes_on(&bytes[end..])).then_some(end)
}

/// As [`end_of`], with any white space for a blank, and with curly apostrophes; whatever follows.
fn end_of_variant(rest: &[u8], bytes: &[u8], mut at: usize) -> Option<usize> {
    for expected in rest {
        let behind = &bytes[at..];
        at += match expected {
            b' ' => behind.iter().take(BLANKS_MAX).take_while(|byte| byte.is_ascii_whitespace()).count(),
            b'\'' if behind.starts_with("\u{2019}".as_bytes()) => 3,
            _ => usize::from(behind.first().is_some_and(|byte| byte.eq_ignore_ascii_case(expected))),
        };
        if behind.len() == bytes.len() - at {
            return None;
        }
    }
    Some(at)
}

/// The most white space that may stand between two words of a phrase.
const BLANKS_MAX: usize = 64;

/// Whether a word goes on in what follows.
fn goes_on(rest: &[u8]) -> bool {
    match rest {
        [b'\'' | b'-', next, ..] => next.is_ascii_alphanumeric(),
        [0xE2, 0x80, 0x99, next, ..] => next.is_ascii_alphanumeric(),
        [first, ..] if first.is_ascii() => first.is_ascii_alphanumeric() || *first == b'_',
        _ => {
            let head = &rest[..rest.len().min(4)];
            let first = head.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
            first.is_some_and(char::is_alphanumeric)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words::Words;

    fn found(text: &str, family: Family) -> Vec<&str> {
        Words::of(text).phrases.places(family).map(|span| &text[span]).collect()
    }

    #[test]
    fn every_family_fits_in_the_bitset_and_every_phrase_in_the_seen_bits() {
        assert!((Family::DataStatistic as usize) < 64);
        assert!(TABLE.phrases.len() <= SEEN_WORDS * 64, "{}", TABLE.phrases.len());
    }

    #[test]
    fn every_listed_phrase_is_found_in_its_family() {
        for (family, list) in PHRASES {
            for phrase in *list {
                let text = format!("x {} y", phrase.to_uppercase());
                assert!(Words::of(&text).phrases.has(*family), "{family:?} {phrase}");
            }
        }
    }

    #[test]
    fn phrases_end_at_word_boundaries() {
        for text in ["uncertainly", "certainly_not", "éproven", "provené", "un-proven", "proven-ish", "canned", "can't"]
        {
            assert_eq!(found(text, Family::Overconfident), Vec::<&str>::new(), "{text}");
            assert_eq!(found(text, Family::Can), Vec::<&str>::new(), "{text}");
        }
        for text in ["(certainly)", "certainly.", "—certainly—", "'certainly'", "- certainly", "certainly-"] {
            assert_eq!(found(text, Family::Overconfident), ["certainly"], "{text}");
        }
    }

    #[test]
    fn curly_apostrophes_count_as_straight_ones() {
        assert_eq!(found("It won\u{2019}t start", Family::WillNot), ["won\u{2019}t"]);
        assert_eq!(found("I can\u{2019}t", Family::Can), Vec::<&str>::new());
        assert_eq!(found("He doesn\u{2019}t\n need  to", Family::NeedNot), ["doesn\u{2019}t\n need  to"]);
    }

    #[test]
    fn overlapping_phrases_are_all_found() {
        let hits = Words::of("this means it will not stop").phrases;
        assert!(hits.has(Family::ExplanationCause) && hits.has(Family::DefinitionMeans));
        assert!(hits.has(Family::Will) && hits.has(Family::WillNot));
    }

    #[test]
    fn of_a_phrase_the_first_place_is_kept_and_of_a_side_the_first_eight() {
        assert_eq!(found("proven, proven", Family::Overconfident).len(), 1);
        assert_eq!(found(&"must ".repeat(20), Family::Must).len(), SIDE_PLACES_MAX);
    }
}
