//! Sentences that name their material and hand it over: `Summarize the following article:`, `Context information is below.`
//!
//! A noun of material and a cue beside it, within one sentence. The cue says where the material is, or only that there
//! is some.

use std::ops::Range;

use super::words::{
    AHEAD, ASKS, BEHIND, BELOW, CHANGES, CONDITIONS, FOLLOWING, GIVEN, HANDED, HERE, LEADS, MAKES, MATERIAL, ORDERS,
    POLITE, QUESTION, RESTING, RESULTS, SEARCHED, SITUATION, SUMS, TEXTUAL, THE, THIS, USES, Word, words,
};

/// Bytes of a line in which such a sentence is looked for, at its beginning.
pub(super) const HANDING_BYTES_MAX: usize = 600;
/// Words from a cue to its noun.
const CUE_BEFORE_WORDS: usize = 8;
/// Words from a noun to its cue.
const CUE_AFTER_WORDS: usize = 5;
/// The same where the cue does not say that it comes.
const NEAR_COLON_WORDS: usize = 6;
/// Words from a noun with a cue to the colon behind which the material stands.
const COLON_WORDS: usize = 14;
/// The same for a noun without a cue.
const BARE_COLON_WORDS: usize = 1;

/// Words that may stand between `following` and its noun, and belong to neither.
const FOLLOWING_WORDS: usize = 2;
/// Words of the longest sentence that only says that the material is there: `Context information is below.`
const PRESENTS_WORDS_MAX: usize = 25;

/// What a sentence does with its material.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It says what to do with it.
    Asks,
    /// It says that it is there.
    Presents,
    /// It speaks of it.
    Mentions,
}

/// A sentence that speaks of material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Handing {
    /// The groups of its nouns.
    pub(super) groups: u64,
    /// The groups of its cues: ahead, behind, given, this, resting.
    pub(super) cues: u64,
    pub(super) role: Role,
    /// Whether it speaks of an answer.
    pub(super) asks: bool,
    /// Whether it says that something is used.
    pub(super) uses: bool,
    /// Whether it asks for a summary.
    pub(super) sums: bool,
    /// Where the material begins, if a colon says so; it may be the end of the line.
    pub(super) content: Option<usize>,
}

impl Handing {
    pub(super) fn is(&self, cues: u64) -> bool {
        self.cues & cues != 0
    }

    /// Whether it announces material, and does not describe something by the way.
    pub(super) fn announces(&self) -> bool {
        match self.role {
            Role::Asks => true,
            Role::Presents => self.groups & (HANDED | TEXTUAL) != 0 || self.is(HERE | BELOW),
            Role::Mentions => false,
        }
    }
}

/// What has been seen of a sentence.
#[derive(Default)]
struct Sentence {
    /// Words so far.
    count: usize,
    /// The groups of the first word, of the first behind the courtesies, and of all.
    first: u64,
    verb: u64,
    all: u64,
    /// Where the last cue of each kind stood.
    cue_at: [Option<usize>; CUES.len()],
    /// Strange words since the last `following`.
    strange: usize,
    noun_at: Option<usize>,
    searched_at: Option<usize>,
    has_searched: bool,
    groups: u64,
    cues: u64,
    /// Whether the last word is a cue that stands for what follows.
    ends_ahead: bool,
    /// Whether it says what is wanted, which then follows.
    wants: bool,
    /// Whether a colon behind the last word is about that word: `the title of:`, `from these sources, answer:`
    ends_open: bool,
}

const CUES: [u64; 8] = [FOLLOWING, BELOW, BEHIND, GIVEN, THIS, RESTING, THE, HERE];

/// The place of `following` among them.
const CUE_FOLLOWING: usize = 0;

/// All of them.
const ANY_CUE: u64 = FOLLOWING | BELOW | BEHIND | GIVEN | THIS | RESTING | THE | HERE;

impl Sentence {
    fn add(&mut self, word: &Word, spelled: &str) {
        let at = self.count;
        self.count += 1;
        let is_of = spelled.eq_ignore_ascii_case("of");
        if word.groups == 0 && at > 0 && !is_of {
            // Most words say nothing.
            self.verb |= u64::from(self.verb == 0) << 63;
            self.strange += usize::from(spelled.len() > 3);
            (self.ends_ahead, self.ends_open) = (false, false);
            return;
        }
        self.all |= word.groups;
        if at == 0 {
            self.first = word.groups;
        }
        if self.verb == 0 && !word.is(POLITE) {
            self.verb = word.groups | 1 << 63;
        }
        for (seen, cue) in self.cue_at.iter_mut().zip(CUES).filter(|_| word.is(ANY_CUE)) {
            // `Given the context, ...` does not say that it was given.
            let is_cue = if at == 0 && word.is(GIVEN) && word.is(CONDITIONS) { cue == RESTING } else { word.is(cue) };
            if is_cue {
                *seen = Some(at);
            }
        }
        self.strange = match word.is(FOLLOWING) {
            true => 0,
            false => self.strange + usize::from(word.groups == 0 && spelled.len() > 3),
        };
        if self.noun_at.is_some_and(|noun| at - noun <= CUE_AFTER_WORDS) {
            self.cues |= word.groups & (BELOW | BEHIND | GIVEN);
        }
        if at == 0 && word.is(THIS) {
            // `This is the contract:`
            self.cue_at[CUES.len() - 1] = Some(at);
        }
        if is_of && self.noun_at.is_some_and(|noun| noun + 1 == at) && self.groups & SITUATION != 0 {
            // `in the context of`
            (self.noun_at, self.groups, self.cues) = (None, 0, 0);
        }
        self.ends_ahead = word.is(FOLLOWING);
        self.ends_open = is_of || (word.is(ASKS | QUESTION) && !word.is(MATERIAL));
        let is_of_search =
            word.is(RESULTS) && (self.has_searched || self.searched_at.is_some_and(|seen| at - seen <= 1));
        if word.is(SEARCHED) {
            self.searched_at = Some(at);
        }
        // What leads the sentence is its verb: `Review the contract`.
        let is_noun = (word.is(MATERIAL) && (at > 0 || !word.is(LEADS))) || is_of_search;
        if !is_noun {
            return;
        }
        for (seen, cue) in self.cue_at.iter().zip(CUES) {
            let is_near = seen.is_some_and(|seen| seen < at && at - seen <= CUE_BEFORE_WORDS);
            if is_near && (cue != FOLLOWING || self.strange <= FOLLOWING_WORDS) {
                self.cues |= cue;
            }
        }
        let is_next = self.cue_at[CUE_FOLLOWING].is_some_and(|seen| seen + 1 == at);
        if is_next && self.all & ASKS != 0 && self.all & USES == 0 && word.is(SITUATION) && !word.is(HANDED) {
            // `Extract the following information: ...` says what is wanted.
            self.wants = true;
            return;
        }
        self.noun_at = Some(at);
        self.groups |= if is_of_search { HANDED } else { word.groups };
    }

    fn role(&self) -> Role {
        let is_task = self.all & (ASKS | USES) != 0 || self.verb & (LEADS | CHANGES | MAKES) != 0;
        let is_there = self.count <= PRESENTS_WORDS_MAX && self.cues & (AHEAD | HERE | GIVEN) != 0;
        match (is_task, is_there) {
            (true, _) => Role::Asks,
            (false, true) => Role::Presents,
            _ => Role::Mentions,
        }
    }

    /// The sentence, when it speaks of material.
    fn handing(&self, content: Option<usize>) -> Option<Handing> {
        let (groups, cues) = match self.noun_at {
            Some(_) => (self.groups, self.cues),
            // `Summarize the following:` needs no noun.
            None if self.ends_ahead && self.all & SUMS != 0 => (TEXTUAL, FOLLOWING),
            None => return None,
        };
        // `The text is long` hands nothing over.
        let speaks = cues & (AHEAD | BEHIND | GIVEN | THIS | HERE) != 0
            || (cues & RESTING != 0 && cues & THE != 0)
            || content.is_some();
        let role = self.role();
        speaks.then_some(Handing {
            groups,
            cues,
            role,
            asks: self.all & ASKS != 0,
            uses: self.all & USES != 0,
            sums: self.all & SUMS != 0,
            content,
        })
    }

    /// Whether a colon at this place announces the material.
    fn announces(&self) -> bool {
        let since = |noun: usize| self.count - noun;
        match self.noun_at {
            _ if self.ends_open || self.wants => false,
            Some(noun) if self.cues & (AHEAD | HERE) != 0 => since(noun) <= COLON_WORDS,
            Some(noun) if self.cues & (GIVEN | THIS) != 0 => since(noun) <= NEAR_COLON_WORDS,
            // `the text:`, and not `the cost of the material is:`
            Some(noun) if self.cues & (THE | RESTING) != 0 => {
                since(noun) <= BARE_COLON_WORDS && self.groups & (HANDED | TEXTUAL) != 0
            }
            Some(_) => false,
            None => self.ends_ahead && self.all & SUMS != 0,
        }
    }
}

/// The sentence at the head of a line that hands material over: one with a colon before others, one that says that it
/// follows before one that says that it is there.
pub(super) fn handing(text: &str, line: &Range<usize>) -> Option<Handing> {
    let end = text.floor_char_boundary(line.end.min(line.start + HANDING_BYTES_MAX));
    let head = &text[line.start..end];
    let mut best: Option<Handing> = None;
    let mut sentence = Sentence::default();
    let mut keep = |sentence: &mut Sentence| {
        let has_searched = sentence.has_searched || sentence.all & SEARCHED != 0;
        let found = std::mem::take(sentence).handing(None);
        // `I searched the web. Here are the results:`
        sentence.has_searched = has_searched;
        if let Some(found) = found
            && best.is_none_or(|best| !(best.is(AHEAD) && best.announces()) && found.is(AHEAD | BEHIND | GIVEN | HERE))
        {
            best = Some(found);
        }
    };
    let mut before = 0;
    for word in words(head).chain([Word { span: head.len()..head.len(), groups: 0 }]) {
        let gap = &head[before..word.span.start];
        if let Some(colon) = colon_in(head, before..word.span.start) {
            if sentence.announces() {
                return sentence.handing(Some(line.start + colon));
            }
            keep(&mut sentence);
        } else if ends_sentence(gap, word.span.start == head.len()) {
            keep(&mut sentence);
        }
        before = word.span.end;
        if !word.span.is_empty() {
            sentence.add(&word, &head[word.span.clone()]);
        }
    }
    keep(&mut sentence);
    best
}

/// Where what follows a colon begins, when one stands in the gap between two words and is none of a time or an address.
fn colon_in(head: &str, gap: Range<usize>) -> Option<usize> {
    let at = gap.start + head[gap.clone()].find(':')?;
    let is_last = head[at + 1..].is_empty();
    let opens = head[at + 1..].starts_with([' ', '\t', '\r', '"', '\'', '“', '`', '*', '_', '\n', '[', '{', '<']);
    (is_last || opens).then_some(at + 1)
}

fn ends_sentence(gap: &str, is_last: bool) -> bool {
    let stop = gap.find(['.', '?', '!', ';', '。', '？']);
    stop.is_some_and(|at| is_last || gap[at + 1..].contains(char::is_whitespace) || !gap.is_ascii())
}

/// The groups of the verb that leads a sentence, behind the courtesies.
pub(super) fn lead(sentence: &str) -> u64 {
    let mut last = 0;
    for word in words(sentence).take(12) {
        last = word.groups;
        if !word.is(POLITE) {
            return word.groups;
        }
    }
    last & ORDERS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_hand_material_over() {
        // The cues that must be among those found, and what stands behind the colon.
        let check = |line: &str, cues: u64, content: Option<&str>| {
            let found = handing(line, &(0..line.len())).unwrap_or_else(|| panic!("{line}"));
            assert!(found.is(cues), "{line}: {found:?}");
            assert_eq!(found.content.map(|at| line[at..].trim()), content, "{line}");
        };
        check("Summarize the following news within 120 words:", AHEAD, Some(""));
        check("Summarize this article: The city of", THIS, Some("The city of"));
        check("Context information is below.", AHEAD, None);
        check("Use the following pieces of context to answer the question at the end.", AHEAD, None);
        check("You are given the following extracted parts of a long document and a question.", AHEAD, None);
        check("Use the below articles on the games to answer the subsequent question.", AHEAD, None);
        check("Your response should be strictly based on the following three passages:", AHEAD, Some(""));
        check("Write an answer using only the provided search results (some are irrelevant).", GIVEN, None);
        check("Please answer the question based on the given information.", GIVEN, None);
        check("Summarize the text above.", BEHIND, None);
        check("Answer the question based on the context below. Context:", AHEAD, None);
        check("Summarize the following:", AHEAD, Some(""));
        check("Write a summary of the following. Try to use only the information provided.", AHEAD | GIVEN, None);
        check("Answer from the documents.", RESTING, None);
        check("get the totals of this invoice ocr document:", THIS, Some(""));
        check("The text delimited by triple backticks is a contract.", AHEAD, None);
    }

    #[test]
    fn other_sentences_do_not() {
        let check = |line: &str| assert_eq!(handing(line, &(0..line.len())), None, "{line}");
        check("");
        check("Write a poem about the sea.");
        check("Answer the following questions: who was first?");
        check("The meeting starts at 10:30 and the text is long.");
        check("Do the following steps: wash, rinse, repeat");
        check("My name is Ada: hello");
        check("Please answer the following: who was first?");
        check("In the context of the talks, who was first?");
    }

    #[test]
    fn what_is_described_is_not_announced() {
        let check = |line: &str, expected: bool| {
            let found = handing(line, &(0..line.len())).is_some_and(|said| said.announces());
            assert_eq!(found, expected, "{line}");
        };
        check("You have a sales table with the following columns: a, b", false);
        check("The plants, which are the origin of the network, have the following details:", false);
        check("The following is a memorandum from the head of advertising:", true);
        check("Some text is provided below.", true);
        check("Here is the contract:", true);
        check("The text was written by somebody who had seen the following events", false);
    }

    #[test]
    fn the_verb_leads() {
        let check = |sentence: &str, wanted: &str| {
            assert_eq!(lead(sentence), super::super::words::groups(wanted.as_bytes()), "{sentence}");
        };
        check("Please could you translate this?", "translate");
        check("Your task is to summarize the text.", "summarize");
        check("What is it?", "what");
    }
}
