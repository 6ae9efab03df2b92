//! Does a claim say the opposite of the sentence of the sources that is closest to it, or the same of something else?
//!
//! **Formula**: a sentence is read as clauses of words, with what denies them and the pairs of opposites in them
//! ([`super::lexicon`]). A claim is compared with each of the closest sentences that hold [`COVER_MIN`] of its words by
//! weight: by the same stem, the other side of a pair, or a negative prefix (`un-`, `in-`, `non-`, `-less`). Then
//!
//! - *opposite*: one of the two clauses is denied and the other is not; or a pair stands on different sides and both
//!   are denied, or none. Denied and on the other side is the same. A denial counts by pairs ("not uncommon"), or once
//!   in languages of concord; one that reaches no common word does not count.
//! - *relation*: where the two things of "before" or "more" have changed places, the other side is the same.
//! - *swap*: a name, a number or a unit of the claim that its sentence does not have, where the sentence has another one
//!   beside the same word; or two names that have changed places between the two parts of the sentence. What is a field
//!   of data is said of one thing of many: a value that stands elsewhere in the sources is none there.
//!
//! One close sentence that agrees outweighs those that do not.
//!
//! **Source**: ours; the clauses, scopes and pairs are those of school grammar.
//!
//! **Limits**: opposites and swaps between sentences that share few words are not seen. [`WORDS_MAX`] words of a
//! sentence are read, and a longer one is not compared.

use std::{collections::HashSet, ops::Range, sync::LazyLock};

use super::{
    idf::{IDF_MAX, idf},
    lexicon::{Kind, Lexicon, Mark},
    numbers::{Number, NumberIndex, Unit as Converted, numbers},
    tokens::{ACRONYM, CAPITAL, DIGIT, Token},
};
use crate::text::quantity::{
    date,
    unit::{CALENDAR, TIME, Unit},
};

/// Share of a claim's words, by weight, that a sentence holds which it can contradict.
pub const COVER_MIN: f64 = 0.75;
/// The same where a pair of opposites stands in both.
pub const COVER_PAIR_MIN: f64 = 0.66;
/// The same where the name or the number of the claim stands in another sentence of the sources.
pub const COVER_KNOWN_MIN: f64 = 0.9;
/// Share of a clause of the source, by weight, that the claim speaks of.
pub const BACK_MIN: f64 = 0.4;
/// Clauses of the source that hold this share of what the best one holds of the claim have a say, too.
const CLAUSE_SHARE: f64 = 0.7;
/// A sentence that covers this much less than the closest one still speaks for the claim.
pub const COVER_MARGIN: f64 = 0.12;
/// Words of a sentence that are read.
pub const WORDS_MAX: usize = 96;
/// Words behind "no" of which one is what it denies; behind "not" it is the first.
const DENIED_WORDS: usize = 2;
/// Words that a pair of opposites and what it is said of may have between them.
const NEAR_WORDS: usize = 1;
/// Tokens of the source for each word that it shares with the claim; what is spread wider was not said together.
const SPREAD_MAX: usize = 5;
/// Words between a key of a bound pair and the thing that it is of.
const BOUND_WORDS: usize = 3;

/// A content word.
#[derive(Clone, Copy, Debug)]
struct Word {
    stem: u32,
    prefix: u32,
    /// The stem without a negative prefix or suffix; 0 when there is none.
    bare: u32,
    weight: f64,
    clause: u8,
    at: u16,
    is_name: bool,
    /// An adverb, which stands between a denial and what it denies.
    is_adverb: bool,
    /// Two letters at most: no name, but a part of an abbreviation.
    is_short: bool,
    /// Its first letter.
    initial: u8,
    /// Its letters, where they are all capitals and few; else zero.
    acronym: [u8; 4],
    /// Denied by "not un-" or the like, so that two denials are none.
    is_doubled: bool,
}

#[derive(Clone, Copy, Debug)]
struct Side {
    pair: u16,
    is_minus: bool,
    kind: Kind,
    clause: u8,
    at: u16,
}

#[derive(Clone, Copy, Debug, Default)]
struct Clause {
    is_partial: bool,
    is_all: bool,
    is_some: bool,
    is_exception: bool,
}

/// A word that denies.
#[derive(Clone, Copy, Debug)]
struct Denial {
    clause: u8,
    at: u16,
    /// Words behind it of which one is what it denies.
    reach: usize,
    /// Whether it stands behind a preposition.
    is_phrase: bool,
}

/// A sentence, read for what it denies.
#[derive(Debug, Default)]
pub struct Said {
    words: Vec<Word>,
    sides: Vec<Side>,
    clauses: Vec<Clause>,
    /// Where denials stand, and of what word the denied one is looked for: clause, token.
    denials: Vec<Denial>,
    /// Stems of all tokens, for what stands beside what.
    stems: Vec<u32>,
    numbers: Vec<Number>,
    units: Vec<Option<Unit>>,
    /// Per what each number is, and the token that says it: "a month".
    periods: Vec<Option<(usize, Unit)>>,
    /// What says of what part of a range something holds.
    ranges: Vec<u32>,
    spans: Vec<(u32, u16)>,
    commas: Vec<u16>,
    /// Whether it is too long to be compared.
    is_long: bool,
    /// Whether it is a field of data, beside others of the same name.
    pub is_field: bool,
}

/// What a sentence of the sources says of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Conflict {
    /// The opposite.
    Opposite,
    /// Another name: the bytes of the claim's.
    Name(Range<usize>),
    /// Another number.
    Number(Range<usize>),
    /// Another unit.
    Unit(Range<usize>),
}

impl Conflict {
    /// The bytes of the claim that differ; `None` where it is the whole.
    pub fn part(&self) -> Option<Range<usize>> {
        match self {
            Conflict::Opposite => None,
            Conflict::Name(span) | Conflict::Number(span) | Conflict::Unit(span) => Some(span.clone()),
        }
    }
}

/// How close two sentences are, and what stands between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Share of the claim's words that the sentence holds.
    pub cover: f64,
    /// What the sentence says otherwise.
    pub conflict: Option<Conflict>,
}

/// Tells "non-refundable" from "refundable".
const NON_MARK: u32 = 0x0F0F_0001;
/// Prefixes that deny, the longer ones first.
const NEGATIVE_PREFIXES: [&str; 7] = ["non", "dis", "un", "in", "im", "il", "ir"];
/// Bytes of a word that has a negative prefix, without it.
const BARE_BYTES_MIN: usize = 4;

fn stem_of(text: &str) -> u32 {
    super::tokens::stem_of(text)
}

/// The stem of a word without what denies it.
fn bare(word: &str) -> u32 {
    let head = NEGATIVE_PREFIXES.iter().find(|prefix| {
        word.len() >= prefix.len() + BARE_BYTES_MIN
            && word.is_char_boundary(prefix.len())
            && word[..prefix.len()].eq_ignore_ascii_case(prefix)
    });
    if let Some(prefix) = head {
        return stem_of(&word[prefix.len()..]);
    }
    let tail = word.len().saturating_sub(4);
    if tail >= 3 && word.is_char_boundary(tail) && word[tail..].eq_ignore_ascii_case("less") {
        return stem_of(&word[..tail]);
    }
    0
}

impl Said {
    /// Reads the sentence `text[span]`, whose tokens are `list`.
    pub fn read(text: &str, span: Range<usize>, list: &[Token], lexicon: &Lexicon) -> Said {
        let mut said = Said { is_long: list.len() > WORDS_MAX, ..Said::default() };
        if said.is_long {
            return said;
        }
        said.clauses.push(Clause::default());
        numbers(text, list, true, |number| said.numbers.push(number));
        said.units = said.numbers.iter().map(|number| unit_of(text, list, number)).collect();
        said.periods = said.numbers.iter().map(|number| period_of(text, list, number)).collect();
        said.stems.extend(list.iter().map(|token| token.stem));
        said.spans.extend(list.iter().map(|token| (token.start, token.length)));
        let marks = marks_of(list, lexicon);
        let between = |at: usize| {
            let from = if at == 0 { span.start } else { list[at - 1].span().end };
            &text[from.min(list[at].span().start)..list[at].span().start]
        };
        let has =
            |range: Range<usize>, mark: Mark| marks.iter().any(|(at, found)| range.contains(at) && *found == mark);
        let stops: Vec<usize> =
            (1..list.len()).filter(|at| between(*at).contains([',', ';', ':', '\u{2014}'])).collect();
        let mut at_mark = 0;
        let mut last_denial = usize::MAX;
        // A clause inside of another one ends where a second auxiliary follows a word.
        let (mut in_relative, mut relative_words) = (false, 0);
        for at in 0..list.len() {
            let token = &list[at];
            let gap = if at == 0 { "" } else { between(at) };
            if gap.contains(',') {
                said.commas.push(at as u16);
            }
            let own = {
                let from = at_mark;
                while at_mark < marks.len() && marks[at_mark].0 == at {
                    at_mark += 1;
                }
                &marks[from..at_mark]
            };
            let is = |mark: Mark| own.iter().any(|(_, found)| *found == mark);
            let start = said.clause_start(at);
            let next_stop = stops.iter().copied().find(|stop| *stop > at).unwrap_or(list.len());
            let has_both = || has(start..at, Mark::Auxiliary) && has(at..next_stop, Mark::Auxiliary);
            let word = &text[token.span()];
            let is_joint = gap.contains(',') || matches!(word, "and" | "or" | "und" | "et" | "y" | "nor");
            let ends_relative = in_relative && relative_words > 1 && is(Mark::Auxiliary);
            // "X, not Y" says X, and denies Y by itself.
            let is_aside = at > 0 && gap.contains(',') && is(Mark::Negation) && !has(at..next_stop, Mark::Auxiliary);
            let begins = gap.contains([';', '\u{2014}'])
                || is(Mark::Break) && at > 0
                || is(Mark::Relative) && at > 0
                || is(Mark::Exception) && at > 0
                || is_joint && at > 0 && has_both()
                || is_aside
                || ends_relative;
            if begins && said.clauses.len() < usize::from(u8::MAX) {
                said.clauses.push(Clause::default());
                said.begins(at);
            } else if gap.contains(',') && (said.clause().is_exception || has(start..start + 1, Mark::Break)) {
                // "Except on Sundays, it is open.", "If it rains, the match is off."
                said.clauses.push(Clause::default());
                said.begins(at);
            }
            if is(Mark::Relative) || ends_relative {
                in_relative = is(Mark::Relative);
                relative_words = 0;
            }
            let clause = (said.clauses.len() - 1) as u8;
            for (_, mark) in own {
                let state = &mut said.clauses[usize::from(clause)];
                match *mark {
                    // "No, pets are welcome": an answer, and no denial of what follows.
                    Mark::Negation | Mark::NoneOf | Mark::Local | Mark::Partial if !is_interjection(text, list, at) => {
                        last_denial = at;
                        let preposition =
                            marks.iter().any(|(place, mark)| place + 1 == at && *mark == Mark::Preposition);
                        // "Neither the one nor the other" denies once.
                        if word.eq_ignore_ascii_case("nor") && said.denials.iter().any(|denial| denial.clause == clause)
                        {
                            continue;
                        }
                        // "Does not lack", "no lack of".
                        let is_twice = |denial: &Denial| denial.clause == clause && at - usize::from(denial.at) <= 2;
                        if *mark == Mark::Local && said.denials.last().is_some_and(is_twice) {
                            said.denials.pop();
                            continue;
                        }
                        let reach = if *mark == Mark::Negation { 1 } else { DENIED_WORDS };
                        // "Nicht" and "nichts" have one stem.
                        said.denials.retain(|denial| usize::from(denial.at) != at);
                        said.denials.push(Denial { clause, at: at as u16, reach, is_phrase: preposition });
                        state.is_partial |= *mark == Mark::Partial;
                    }
                    Mark::Exception => state.is_exception = true,
                    Mark::Range => said.ranges.push(token.stem),
                    Mark::All => state.is_all = true,
                    Mark::Some => state.is_some = true,
                    Mark::Side { pair, is_minus, kind } => {
                        said.sides.push(Side { pair, is_minus, kind, clause, at: at as u16 });
                    }
                    Mark::Negation
                    | Mark::NoneOf
                    | Mark::Local
                    | Mark::Partial
                    | Mark::Neutral
                    | Mark::Break
                    | Mark::Relative
                    | Mark::Preposition
                    | Mark::Auxiliary => {}
                }
            }
            let is_function = own.iter().any(|(_, mark)| {
                matches!(
                    mark,
                    Mark::Negation | Mark::NoneOf | Mark::Auxiliary | Mark::Partial | Mark::Break | Mark::All
                )
            });
            let is_dated =
                said.numbers.iter().any(|number| number.date().is_some() && (number.token..number.end).contains(&at));
            let is_period = said.periods.iter().flatten().any(|(place, _)| *place == at);
            // One side of a pair ("included") is compared, common as it is.
            let is_side = own.iter().any(|(_, mark)| matches!(mark, Mark::Side { kind: Kind::Opposite, .. }));
            if !(token.is_content() || is_side)
                || token.value > 0
                || is_function
                || is_dated
                || is_period
                || is_unit(text, list, at)
            {
                continue;
            }
            relative_words += 1;
            let is_first = at == 0 || gap.contains(['.', ':', '!', '?', '"', '*']);
            let is_known = idf(token.stem) < IDF_MAX;
            let is_non =
                at > 0 && !gap.contains([',', '.', '!']) && text[list[at - 1].span()].eq_ignore_ascii_case("non");
            let is_capital = token.flags & CAPITAL != 0;
            let is_name = lexicon.is_english && is_capital && (token.flags & ACRONYM != 0 || !is_first || !is_known)
                || !lexicon.is_english && CALENDAR_NAMES.contains(&token.stem);
            let bare = if is_non {
                token.stem
            } else if is_name {
                0
            } else {
                bare(word)
            };
            let is_doubled = bare != 0
                && idf(bare) < IDF_MAX
                && word.get(..2).is_some_and(|head| head.eq_ignore_ascii_case("un"))
                && last_denial != usize::MAX
                && at - last_denial <= 2;
            let stem = if is_non { token.stem ^ NON_MARK } else { token.stem };
            let (prefix, weight) = (if is_non { 0 } else { token.prefix }, idf(token.stem));
            said.words.push(Word {
                stem,
                prefix,
                bare,
                weight,
                clause,
                at: at as u16,
                is_name,
                is_adverb: word.ends_with("ly"),
                is_short: word.len() <= 2,
                initial: word.as_bytes()[0].to_ascii_lowercase(),
                acronym: if token.flags & ACRONYM != 0 { letters(word) } else { [0; 4] },
                is_doubled,
            });
        }
        // Parts of a product's or a room's name: "X200".
        for (at, token) in list.iter().enumerate().filter(|(_, token)| token.flags & DIGIT != 0) {
            let before = text[..token.span().start].chars().next_back();
            if before.is_some_and(char::is_alphabetic) {
                let (stem, at) = (token.stem, at as u16);
                said.words.push(Word {
                    stem,
                    prefix: 0,
                    bare: 0,
                    weight: IDF_MAX,
                    clause: 0,
                    at,
                    is_name: true,
                    is_adverb: false,
                    is_short: false,
                    initial: 0,
                    acronym: [0; 4],
                    is_doubled: false,
                });
            }
        }
        said.words.sort_by_key(|word| word.at);
        said
    }

    fn clause(&self) -> Clause {
        self.clauses.last().copied().unwrap_or_default()
    }

    fn begins(&mut self, at: usize) {
        self.commas.push(at as u16 | CLAUSE_MARK);
    }

    fn clause_start(&self, at: usize) -> usize {
        let begun = self.commas.iter().rev().find(|comma| **comma & CLAUSE_MARK != 0);
        begun.map_or(0, |comma| usize::from(comma & !CLAUSE_MARK)).min(at)
    }

    fn span(&self, at: u16) -> Range<usize> {
        let (start, length) = self.spans[usize::from(at)];
        start as usize..start as usize + usize::from(length)
    }
}

/// Days of the week and months in languages that write them small, or all nouns with a capital.
static CALENDAR_NAMES: LazyLock<HashSet<u32>> = LazyLock::new(|| {
    let months = date::month_names().map(|(name, _)| name).filter(|name| name.len() > 3);
    date::weekday_names().chain(months).map(stem_of).collect()
});

/// Tokens from the first to the last word of a name.
const NAME_TOKENS_MAX: u16 = 5;
/// Tells the beginning of a clause from a comma; a sentence has no more than [`WORDS_MAX`] tokens.
const CLAUSE_MARK: u16 = 1 << 15;

/// The marks of a sentence and their tokens; what a longer phrase holds is not looked at by itself.
fn marks_of(list: &[Token], lexicon: &Lexicon) -> Vec<(usize, Mark)> {
    let mut marks = Vec::new();
    let mut at = 0;
    while at < list.len() {
        let length = lexicon.at(list, at, |mark| marks.push((at, mark)));
        at += length;
    }
    marks
}

/// Whether a denial at the head of a sentence answers by itself: "No, ...", "Gar nicht, ...", "Not at all."
fn is_interjection(text: &str, list: &[Token], at: usize) -> bool {
    /// Words of such an answer, and letters of those behind the denial.
    const HEAD_WORDS: usize = 3;
    const SHORT_BYTES: u16 = 4;
    let ends = |token: &Token| matches!(text.as_bytes().get(token.span().end), Some(b',' | b'.' | b'!' | b';'));
    let head = list.iter().take(HEAD_WORDS).position(ends);
    head.is_some_and(|last| {
        let is_short = last > 0 || list[0].length <= SHORT_BYTES;
        at <= last
            && last + 1 < list.len()
            && is_short
            && list[at + 1..=last].iter().all(|token| token.length <= SHORT_BYTES)
    })
}

/// The letters of a short word in lower case; zero where it is longer.
fn letters(word: &str) -> [u8; 4] {
    let mut letters = [0; 4];
    if word.len() <= letters.len() {
        letters.iter_mut().zip(word.bytes()).for_each(|(to, from)| *to = from.to_ascii_lowercase());
    }
    letters
}

/// Whether a word is the unit of the number before it, which is compared with the number.
fn is_unit(text: &str, list: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &list[before]);
    before.is_some_and(|before| before.flags & DIGIT != 0 || before.value > 0)
        && Unit::of(&text[list[at].span()]).is_some()
}

/// The unit of a number, behind it or as a sign before it.
fn unit_of(text: &str, list: &[Token], number: &Number) -> Option<Unit> {
    let before = text[..number.span.start].chars().next_back();
    let sign = before.filter(|sign| matches!(sign, '$' | '\u{20ac}' | '\u{a3}' | '\u{a5}'));
    if let Some(sign) = sign {
        return Unit::of(sign.encode_utf8(&mut [0; 4]));
    }
    let behind = list.iter().skip(number.end).take(2);
    let near = behind.take_while(|token| token.span().start <= number.span.end + 12);
    near.filter(|token| token.span().start >= number.span.end).find_map(|token| Unit::of(&text[token.span()]))
}

/// Per what a number is, "a month", "par an", and the token that says it.
fn period_of(text: &str, list: &[Token], number: &Number) -> Option<(usize, Unit)> {
    /// Tokens behind a number in which it is said.
    const PERIOD_TOKENS: usize = 4;
    const PER: [&str; 15] =
        ["a", "an", "per", "each", "every", "pro", "im", "je", "jeden", "par", "al", "por", "cada", "ao", "la"];
    let word = |at: usize| text[list[at].span()].to_lowercase();
    let last = list.len().min(number.end + PERIOD_TOKENS);
    (number.end + 1..last).find_map(|at| {
        let before = word(at - 1);
        let is_behind_slash = text[..list[at].span().start].ends_with('/');
        if !is_behind_slash && !PER.contains(&before.as_str()) {
            return None;
        }
        let word = word(at);
        let name = if before == "par" && word == "an" { "year" } else { &word };
        Unit::of(name).filter(|unit| matches!(unit.kind, TIME | CALENDAR)).map(|unit| (at, unit))
    })
}

/// Which word of the source a word of the claim is, and whether it says the opposite of it.
#[derive(Clone, Copy)]
struct Found {
    word: usize,
    is_opposite: bool,
}

fn find(word: &Word, said: &Said) -> Option<Found> {
    let exact = said.words.iter().position(|other| other.stem == word.stem);
    let opposite = || {
        let is_opposite =
            |other: &Word| word.bare != 0 && word.bare == other.stem || other.bare != 0 && other.bare == word.stem;
        said.words.iter().position(is_opposite)
    };
    let alike = || said.words.iter().position(|other| other.prefix != 0 && other.prefix == word.prefix);
    exact
        .map(|word| Found { word, is_opposite: false })
        .or_else(|| opposite().map(|word| Found { word, is_opposite: true }))
        .or_else(|| alike().map(|word| Found { word, is_opposite: false }))
}

/// Compares a claim with one sentence of the sources. `elsewhere` says what else stands in the sources.
pub fn compare(claim: &Said, source: &Said, has_concord: bool, elsewhere: &Elsewhere<'_>) -> Compared {
    let nothing = Compared { cover: 0.0, conflict: None };
    if claim.is_long || source.is_long || claim.words.is_empty() && claim.numbers.is_empty() {
        return nothing;
    }
    // What the claim itself leaves out is not compared.
    let is_main = |clause: u8| !claim.clauses[usize::from(clause)].is_exception;
    let found: Vec<Option<Found>> = claim.words.iter().map(|word| find(word, source)).collect();
    let shared_pair = |at: u16| {
        let own = claim.sides.iter().filter(|side| side.at == at);
        own.into_iter().any(|side| source.sides.iter().any(|other| other.pair == side.pair))
    };
    let (mut held, mut total, mut names, mut plain) = (0.0, 0.0, 0.0, 0);
    for (word, found) in claim.words.iter().zip(&found).filter(|(word, _)| is_main(word.clause)) {
        if word.is_name && found.is_none() {
            names += word.weight;
            continue;
        }
        total += word.weight;
        if found.is_some() || shared_pair(word.at) {
            held += word.weight;
        }
        plain += usize::from(found.is_some_and(|found| !found.is_opposite));
    }
    let places = || found.iter().flatten().map(|found| source.words[found.word].at);
    let width = places().max().unwrap_or_default() - places().min().unwrap_or_default();
    if usize::from(width) > SPREAD_MAX * places().count() {
        return nothing;
    }
    let cover = if total + names > 0.0 { held / (total + names) } else { 0.0 };
    let cover_rest = if total > 0.0 { held / total } else { 0.0 };
    if plain == 0 && held == 0.0 {
        return nothing;
    }
    // Of another name, or another number, the opposite may be true.
    let has_other_name = names > 0.0 && source.words.iter().any(|word| word.is_name && find(word, claim).is_none());
    let stands = |number: &Number| source.numbers.iter().any(|other| is_equal((number, None), (other, None)));
    let has_other_number = !claim.numbers.iter().all(stands);
    let conflict = if !has_other_name && !has_other_number && opposite(claim, source, &found, has_concord, cover) {
        Some(Conflict::Opposite)
    } else if let Some(span) = exchanged(claim, source, &found).filter(|_| cover >= COVER_KNOWN_MIN) {
        Some(Conflict::Name(span))
    } else if cover_rest >= COVER_MIN && (plain > 0 || held > 0.0) {
        swapped(claim, source, &found, cover_rest, elsewhere)
    } else {
        None
    };
    Compared { cover, conflict }
}

/// Two things that have changed places between the two parts of a sentence, "A rose while B fell": the part of the claim
/// that has the one's name has what the source says of the other, both ways. The bytes of the first name.
fn exchanged(claim: &Said, source: &Said, found: &[Option<Found>]) -> Option<Range<usize>> {
    let bounds = |said: &Said| {
        let starts = said.commas.iter().filter(|comma| **comma & CLAUSE_MARK != 0).map(|comma| comma & !CLAUSE_MARK);
        starts.collect::<Vec<u16>>()
    };
    let (own, other) = (bounds(claim), bounds(source));
    let ([own], [other]) = (&own[..], &other[..]) else { return None };
    let part = |bound: u16, at: u16| usize::from(at >= bound);
    // What stands in one part only: for each part of the claim, in which of the source.
    let place = |stem: u32| {
        let mut parts = source.words.iter().filter(|word| word.stem == stem).map(|word| part(*other, word.at));
        let first = parts.next()?;
        parts.all(|next| next == first).then_some(first)
    };
    let is_once = |word: &Word| {
        let mut alike = claim.words.iter().filter(|own| own.stem == word.stem);
        alike.all(|alike| part(*own, alike.at) == part(*own, word.at))
    };
    let (mut names, mut rest): ([Vec<usize>; 2], [Vec<usize>; 2]) = Default::default();
    let mut first = None;
    for (word, found) in claim.words.iter().zip(found).filter(|(word, _)| is_once(word)) {
        let Some(found) = found.filter(|found| !found.is_opposite) else { continue };
        let Some(there) = place(source.words[found.word].stem) else { continue };
        let here = part(*own, word.at);
        // At the head of a sentence a common name is told by the other sentence only.
        if word.is_name || source.words[found.word].is_name {
            first = first.or(Some(word.at));
            names[here].push(there);
        } else if !claim.sides.iter().any(|side| side.at == word.at) {
            rest[here].push(there);
        }
    }
    for number in &claim.numbers {
        let equal = source.numbers.iter().filter(|other| is_equal((number, None), (other, None)));
        let mut parts = equal.map(|equal| part(*other, equal.token as u16));
        if let (Some(there), None) = (parts.next(), parts.next()) {
            rest[part(*own, number.token as u16)].push(there);
        }
    }
    for side in &claim.sides {
        let same = source.sides.iter().filter(|other| (other.pair, other.is_minus) == (side.pair, side.is_minus));
        let mut parts = same.map(|same| part(*other, same.at));
        if let (Some(there), None) = (parts.next(), parts.next()) {
            rest[part(*own, side.at)].push(there);
        }
    }
    let denied = |said: &Said, bound: u16| {
        said.denials.iter().fold([false; 2], |mut denied, denial| {
            denied[part(bound, denial.at)] = true;
            denied
        })
    };
    if let ([true, false] | [false, true], [true, false] | [false, true]) =
        (denied(claim, *own), denied(source, *other))
    {
        let (here, there) = (usize::from(denied(claim, *own)[1]), usize::from(denied(source, *other)[1]));
        rest[here].push(there);
    }
    let all = |list: &[usize], wanted: usize| !list.is_empty() && list.iter().all(|there| *there == wanted);
    let is_exchanged = [0, 1]
        .into_iter()
        .any(|to| all(&names[0], to) && all(&names[1], 1 - to) && all(&rest[0], 1 - to) && all(&rest[1], to));
    first.filter(|_| is_exchanged).map(|at| claim.span(at))
}

/// Whether the clauses that belong together say the opposite.
fn opposite(claim: &Said, source: &Said, found: &[Option<Found>], has_concord: bool, cover: f64) -> bool {
    if cover < COVER_PAIR_MIN {
        return false;
    }
    // "Not unless it is pressed" is "only when it is pressed".
    let is_left_out = |said: &Said, clause: u8| said.clauses[usize::from(clause)].is_exception;
    let is_condition = claim.words.iter().zip(found).any(|(word, found)| {
        is_left_out(claim, word.clause)
            && found.is_some_and(|found| !is_left_out(source, source.words[found.word].clause))
    });
    if is_condition {
        return false;
    }
    let mains = (0..claim.clauses.len() as u8).filter(|clause| !claim.clauses[usize::from(*clause)].is_exception);
    mains.into_iter().any(|clause| {
        let weights = weights(claim, source, found, clause);
        let best = weights.iter().copied().fold(0.0, f64::max);
        let close = (0..weights.len()).filter(|other| best > 0.0 && weights[*other] >= CLAUSE_SHARE * best);
        let mut is_any = false;
        let is_all = close.into_iter().all(|other| {
            is_any = true;
            clauses_differ(claim, source, found, (clause, other as u8), has_concord, cover)
        });
        is_any && is_all
    })
}

/// How much of a clause of the claim each clause of the source holds.
fn weights(claim: &Said, source: &Said, found: &[Option<Found>], clause: u8) -> Vec<f64> {
    /// What the other side of a pair counts, and how much more the first word counts, of which the clause speaks.
    const SIDE_WEIGHT: f64 = 2.0;
    const FIRST_FACTOR: f64 = 1.5;
    let mut weights = vec![0.0; source.clauses.len()];
    let mut factor = FIRST_FACTOR;
    let words = claim.words.iter().zip(found).filter(|(word, _)| word.clause == clause);
    for (word, found) in words.filter_map(|(word, found)| Some((word, (*found)?))) {
        let own = source.words[found.word].clause;
        weights[usize::from(own)] += word.weight * factor;
        // The same word may stand in several clauses.
        let others = source.words.iter().filter(|other| other.stem == word.stem && other.clause != own);
        others.for_each(|other| weights[usize::from(other.clause)] += word.weight * factor);
        factor = 1.0;
    }
    for side in claim.sides.iter().filter(|side| side.clause == clause) {
        let others = source.sides.iter().filter(|other| other.pair == side.pair);
        others.for_each(|other| weights[usize::from(other.clause)] += SIDE_WEIGHT);
    }
    weights
}

/// Whether a clause of the claim and one of the source say the opposite.
fn clauses_differ(
    claim: &Said,
    source: &Said,
    found: &[Option<Found>],
    (clause, other): (u8, u8),
    has_concord: bool,
    cover: f64,
) -> bool {
    let words = || claim.words.iter().zip(found).filter(|(word, _)| word.clause == clause);
    let shared_side = |word: &Word| {
        let own = claim.sides.iter().filter(|side| side.at == word.at);
        own.into_iter().any(|side| source.sides.iter().any(|other| other.pair == side.pair))
    };
    let total: f64 = words().map(|(word, _)| word.weight).sum();
    let held = words().filter(|(word, found)| found.is_some() || shared_side(word));
    let held: f64 = held.map(|(word, _)| word.weight).sum();
    let own_cover = if total > 0.0 { held / total } else { 0.0 };
    // What the source leaves out is said the other way round.
    let clause_of = |found: &Found| source.words[found.word].clause;
    let is_excepted = claim.words.iter().zip(found).any(|(word, found)| {
        !claim.clauses[usize::from(word.clause)].is_exception
            && found.as_ref().is_some_and(|found| source.clauses[usize::from(clause_of(found))].is_exception)
    });
    if is_excepted && words().filter(|(_, found)| found.is_some()).count() < 2 {
        return false;
    }
    let other = if source.clauses[usize::from(other)].is_exception { other.saturating_sub(1) } else { other };
    let Turns { turned, is_unsure, used_claim, used_source } = turns(claim, source, found, (clause, other));
    if is_unsure {
        return false;
    }
    // How much of the source's clause the claim speaks of.
    let stem = |index: usize| source.words[index].stem;
    let is_meant = |index: usize| words().any(|(_, found)| found.is_some_and(|found| stem(found.word) == stem(index)));
    let of_source = || source.words.iter().enumerate().filter(|(_, word)| word.clause == other);
    let all: f64 = of_source().map(|(_, word)| word.weight).sum();
    let meant = of_source().filter(|(index, word)| is_meant(*index) || used_source.contains(&word.at));
    let meant: f64 = meant.map(|(_, word)| word.weight).sum();
    if meant < BACK_MIN * all {
        return false;
    }
    let is_shared = |index: usize| found[index].is_some();
    let own = denied(claim, source, &used_claim, &is_shared);
    let others = denied(source, claim, &used_source, &is_meant);
    // What both deny is the same, wherever it stands.
    let stem_of = |said: &Said, at: u16| said.stems[usize::from(at)];
    let own_stem = |at: u16| {
        let index = claim.words.iter().position(|word| word.at == at)?;
        Some(source.words[found[index]?.word].stem)
    };
    let denies_too = |at: u16| {
        let stem = own_stem(at);
        stem.is_some() && others.iter().any(|other| other.word.map(|at| stem_of(source, at)) == stem)
    };
    let is_denied_too = |at: u16| {
        let stem = Some(stem_of(source, at));
        own.iter().any(|own| own.word.is_some_and(|own| own_stem(own) == stem))
    };
    let count = |list: &[Denied], clause: u8, is_both: &dyn Fn(u16) -> bool| {
        let words = list.iter().filter(|denied| denied.clause == clause).filter_map(|denied| denied.word);
        let count = words.filter(|at| !is_both(*at)).count();
        if has_concord { count > 0 } else { count % 2 == 1 }
    };
    let own_denied = count(&own, clause, &denies_too);
    let other_denied = count(&others, other, &is_denied_too);
    // A clause that denies something else may deny all of it.
    let is_open = |list: &[Denied], clause: u8| {
        list.iter().any(|denied| denied.clause == clause && denied.word.is_none() && !denied.is_phrase)
    };
    if own_denied && is_open(&others, other) || other_denied && is_open(&own, clause) {
        return false;
    }
    let (a, b) = (claim.clauses[usize::from(clause)], source.clauses[usize::from(other)]);
    let affixes = words().filter(|(_, found)| found.is_some_and(|found| found.is_opposite)).count();
    let is_turned = turned + affixes > 0;
    let mut differs = (own_denied != other_denied) ^ is_excepted;
    // "Not un-" where the other sentence has neither.
    if !is_turned && words().any(|(word, found)| word.is_doubled && found.is_none()) {
        differs = !differs;
    }
    if a.is_partial || b.is_partial || a.is_some && own_denied || b.is_some && other_denied {
        // Not all of them: only who says "all" says otherwise.
        let says_all = |clause: Clause, is_denied: bool| clause.is_all && !clause.is_partial && !is_denied;
        let is_all = if own_denied { says_all(b, other_denied) } else { says_all(a, own_denied) };
        return is_all && cover >= COVER_MIN && !is_turned;
    }
    // What is said of: at least one word in both, and not the opposite.
    let is_common = words().any(|(_, found)| found.is_some_and(|found| !found.is_opposite));
    if is_turned {
        !differs && own_cover >= COVER_PAIR_MIN && (is_common || own_cover >= 0.99)
    } else {
        // "Only within 30 days" denies what is after them.
        let (denied, plain) = if own_denied { (claim, source) } else { (source, claim) };
        let is_of_part = denied.ranges.iter().any(|range| !plain.ranges.contains(range));
        differs && !is_of_part && own_cover >= COVER_MIN && cover >= COVER_MIN && is_common
    }
}

/// How the pairs of two clauses stand.
struct Turns {
    /// Pairs on different sides.
    turned: usize,
    /// Whether a pair is on different sides of which it is not plain that both are said of the same thing.
    is_unsure: bool,
    /// Tokens of both that are compared by a pair.
    used_claim: Vec<u16>,
    used_source: Vec<u16>,
}

/// How many pairs stand on different sides in a clause of the claim and in the source, and which tokens of both are
/// compared by a pair.
fn turns(claim: &Said, source: &Said, found: &[Option<Found>], (clause, other): (u8, u8)) -> Turns {
    let mut is_unsure = false;
    let (mut turned, mut used_claim, mut used_source) = (0, Vec::new(), Vec::new());
    // The same word may stand in several clauses: that of the clause that is compared.
    let place = |index: usize| {
        let first = &source.words[found[index]?.word];
        let own = source.words.iter().find(|word| word.clause == other && word.stem == first.stem);
        Some(own.unwrap_or(first).at)
    };
    for side in claim.sides.iter().filter(|side| side.clause == clause) {
        // The word that stands nearest to it and in both.
        let near = (0..claim.words.len())
            .filter(|index| found[*index].is_some() && claim.words[*index].at != side.at)
            .min_by_key(|index| claim.words[*index].at.abs_diff(side.at));
        let is_here = source.sides.iter().any(|own| own.pair == side.pair && own.clause == other);
        let others = || source.sides.iter().filter(|own| own.pair == side.pair && (!is_here || own.clause == other));
        // The source has the same side, whatever else it has: of what, is not known.
        let mut same = others().filter(|own| own.is_minus == side.is_minus);
        if let Some(one) = same.next() {
            let is_only = same.next().is_none();
            if is_only
                && is_order(claim, source, side.kind)
                && has_exchanged(claim, source, found, (side.at, one.at), side.kind)
            {
                turned += 1;
            }
            used_claim.push(side.at);
            used_source.extend(others().map(|own| own.at));
            continue;
        }
        let others = others();
        let nearest = others.min_by_key(|other| near.and_then(place).map_or(other.at, |at| at.abs_diff(other.at)));
        let Some(other) = nearest else { continue };
        // Where the claim has both sides, each stands for itself.
        let has_both =
            |said: &Said| said.sides.iter().any(|own| own.pair == side.pair && own.is_minus != side.is_minus);
        if has_both(claim) {
            used_claim.push(side.at);
            used_source.extend(source.sides.iter().filter(|own| own.pair == side.pair).map(|own| own.at));
            continue;
        }
        if side.kind == Kind::Bound {
            let is_of = |index: &usize| {
                let (own, Some(at)) = (claim.words[*index].at, place(*index)) else { return false };
                own != side.at
                    && words_between(claim, own, side.at) < BOUND_WORDS
                    && words_between(source, at, other.at) < BOUND_WORDS
            };
            if !(0..claim.words.len()).any(|index| is_of(&index)) {
                continue;
            }
        }
        used_claim.push(side.at);
        used_source.push(other.at);
        if side.is_minus == other.is_minus {
            continue;
        }
        let (own, there) = (pivot(claim, side.at, side.kind), pivot(source, other.at, side.kind));
        if is_order(claim, source, side.kind) && is_crossed(claim, source, found, own, there) {
            continue;
        }
        if side.kind != Kind::Bound && !is_beside(claim, source, &place, side.at, other.at) {
            is_unsure |= is_here;
            continue;
        }
        turned += 1;
    }
    Turns { turned, is_unsure: is_unsure && turned == 0, used_claim, used_source }
}

/// Whether a pair of this kind stands between two things.
fn is_order(claim: &Said, source: &Said, kind: Kind) -> bool {
    let than = stem_of("than");
    kind == Kind::Relation || kind == Kind::Comparison && claim.stems.contains(&than) && source.stems.contains(&than)
}

/// Where the two things are told apart: at the word itself, or where the sentence says "than".
fn pivot(said: &Said, at: u16, kind: Kind) -> u16 {
    let than = stem_of("than");
    let behind = said.stems.iter().skip(usize::from(at)).position(|stem| *stem == than);
    behind.filter(|_| kind == Kind::Comparison).map_or(at, |behind| at + behind as u16)
}

/// Whether two things have changed places around the same word: "A sold more than B", "B sold more than A". Around a
/// relation they are names, and nothing is compared.
fn has_exchanged(claim: &Said, source: &Said, found: &[Option<Found>], (own, other): (u16, u16), kind: Kind) -> bool {
    let is_comparison = kind == Kind::Comparison;
    let than = stem_of("than");
    if !is_comparison && (claim.stems.contains(&than) || source.stems.contains(&than)) {
        return false;
    }
    let (own, other) = (pivot(claim, own, kind), pivot(source, other, kind));
    let mut moved = [false; 2];
    let mut stays = false;
    for (word, found) in claim.words.iter().zip(found) {
        let Some(there) = found.map(|found| &source.words[found.word]) else { continue };
        if !is_comparison && !word.is_name && !there.is_name {
            continue;
        }
        let (is_behind, was_behind) = (is_behind(claim, own, word.at), is_behind(source, other, there.at));
        moved[usize::from(is_behind)] |= is_behind != was_behind;
        stays |= is_behind && was_behind;
    }
    moved == [true; 2] && (is_comparison || !stays)
}

/// Whether the two sides of a pair are said of the same thing: a word, or a number, that both sentences have stands
/// beside both, on the same side.
fn is_beside(claim: &Said, source: &Said, place: &dyn Fn(usize) -> Option<u16>, own: u16, other: u16) -> bool {
    let is_word = |index: usize| {
        let (at, Some(place)) = (claim.words[index].at, place(index)) else { return false };
        at != own
            && place != other
            && (at < own) == (place < other)
            && words_between(claim, at, own) <= NEAR_WORDS
            && words_between(source, place, other) <= NEAR_WORDS
    };
    let next = |said: &Said, at: u16| {
        let number = said.numbers.iter().find(|number| number.token > usize::from(at))?;
        (words_between(said, at, number.token as u16) == 0).then_some(number.value)
    };
    (0..claim.words.len()).any(is_word) || next(claim, own).is_some_and(|value| next(source, other) == Some(value))
}

/// Content words between two tokens.
fn words_between(said: &Said, a: u16, b: u16) -> usize {
    let (from, to) = (a.min(b), a.max(b));
    said.words.iter().filter(|word| from < word.at && word.at < to).count()
}

/// Whether a word belongs behind the relation at `at`.
fn is_behind(said: &Said, at: u16, word: u16) -> bool {
    let is_fronted = !said.words.iter().any(|word| word.at < at);
    let comma = said.commas.iter().map(|comma| comma & !CLAUSE_MARK).find(|comma| *comma > at);
    match comma.filter(|_| is_fronted) {
        // "After the meal, ...": the first part is behind the word.
        Some(comma) => word < comma,
        None => word > at,
    }
}

/// Whether what stands before `at` in the claim stands behind `other` in the source.
fn is_crossed(claim: &Said, source: &Said, found: &[Option<Found>], at: u16, other: u16) -> bool {
    // What the others are compared with stands behind the word; the rest may be common to both.
    let (mut straight, mut crossed) = (0.0, 0.0);
    for (word, found) in claim.words.iter().zip(found).filter(|(word, _)| word.at != at) {
        let Some(found) = found else { continue };
        let place = source.words[found.word].at;
        match (is_behind(claim, at, word.at), is_behind(source, other, place)) {
            (true, true) => straight += word.weight,
            (false, false) => {}
            _ => crossed += word.weight,
        }
    }
    crossed > straight
}

/// A denial, and what it denies.
#[derive(Clone, Copy, Debug)]
struct Denied {
    clause: u8,
    /// The word that it denies and that both sentences have, or whose pair they have; `None` where it denies another.
    word: Option<u16>,
    /// Whether it denies no more than a phrase: "at no cost".
    is_phrase: bool,
}

/// The denials of a sentence by what they deny; `used` are the tokens that are compared by a pair.
fn denied(said: &Said, other: &Said, used: &[u16], is_common: &dyn Fn(usize) -> bool) -> Vec<Denied> {
    let is_shared = |index: usize, word: &Word| is_common(index) || used.contains(&word.at);
    let target = |clause: u8, at: u16, reach: usize| {
        let own = || said.words.iter().enumerate().filter(|(_, word)| word.clause == clause);
        let mut behind = own().filter(|(_, word)| word.at >= at && !word.is_adverb).peekable();
        if behind.peek().is_none() {
            // "Entry is refused", "dogs are not".
            let before = own().rev().filter(|(_, word)| word.at < at);
            let before = before.filter(|(_, word)| !said.sides.iter().any(|side| side.at == word.at && side.is_minus));
            return before.take(DENIED_WORDS).find(|(index, word)| is_shared(*index, word)).map(|(_, word)| word.at);
        }
        // "It is not possible to exchange it" denies the exchange.
        let is_plain = |word: &Word| {
            let side = said.sides.iter().find(|side| side.at == word.at && !side.is_minus);
            side.is_none_or(|side| !matches!(side.kind, Kind::Opposite | Kind::Bound))
        };
        let behind = behind.filter(|(index, word)| is_shared(*index, word) || is_plain(word));
        behind.take(reach).find(|(index, word)| is_shared(*index, word)).map(|(_, word)| word.at)
    };
    let words = said.denials.iter().map(|denial| {
        let Denial { clause, at, reach, is_phrase } = *denial;
        Denied { clause, word: target(clause, at, reach), is_phrase }
    });
    let mut found: Vec<Denied> = words.collect();
    let mut last = u16::MAX;
    for side in said.sides.iter().filter(|side| side.is_minus && !used.contains(&side.at)) {
        let reach = match side.kind {
            Kind::Opposite if !other.stems.contains(&said.stems[usize::from(side.at)]) => 1,
            Kind::Bound => DENIED_WORDS,
            Kind::Opposite | Kind::Scale | Kind::Relation | Kind::Comparison => continue,
        };
        if side.at != last {
            let word = target(side.clause, side.at + 1, reach);
            found.extend(word.map(|word| Denied { clause: side.clause, word: Some(word), is_phrase: false }));
        }
        last = side.at;
    }
    found
}

/// A name, a number or a unit of the claim in whose place the source has another one.
fn swapped(
    claim: &Said,
    source: &Said,
    found: &[Option<Found>],
    cover: f64,
    elsewhere: &Elsewhere<'_>,
) -> Option<Conflict> {
    // Another field of the same name has the value.
    let is_close = cover >= COVER_KNOWN_MIN && !source.is_field;
    // What is not in this sentence stands together, and is all that is not.
    let unknown = || claim.words.iter().zip(found).filter(|(word, found)| word.is_name && found.is_none());
    let width = unknown().next_back().map_or(0, |(word, _)| word.at) - unknown().next().map_or(0, |(word, _)| word.at);
    // "It does not stop on floor 2" says nothing of floor 3.
    if width > NAME_TOKENS_MAX || claim.denials.len() != source.denials.len() {
        return None;
    }
    number_swap(claim, source, found, is_close, elsewhere)
        .or_else(|| name_swap(claim, source, found, is_close, elsewhere))
}

/// What else stands in the sources.
pub struct Elsewhere<'e> {
    /// Whether a name stands beside a code of the sources in brackets.
    pub is_glossed: &'e dyn Fn(Range<usize>) -> bool,
    /// Whether a number is the result of a sum of others.
    pub is_derived: &'e dyn Fn(&Number) -> bool,
    /// Whether a number stands anywhere.
    pub has_number: &'e dyn Fn(&Number) -> bool,
    /// Whether a word stands anywhere.
    pub has_stem: &'e dyn Fn(u32) -> bool,
    /// Whether a word stands for another one of the sources.
    pub is_alias: &'e dyn Fn(u32) -> bool,
}

static ARTICLES: LazyLock<[u32; 3]> = LazyLock::new(|| ["the", "a", "an"].map(stem_of));

/// Whether something stands beside the same word in both.
fn is_same_place(claim: &Said, own: Range<u16>, source: &Said, other: Range<u16>) -> bool {
    let beside = |said: &Said, range: &Range<u16>| {
        // "By the United States" and "by Italy" stand behind the same word.
        let before = said.stems[..usize::from(range.start)].iter().rev().find(|stem| !ARTICLES.contains(stem));
        let before = before.copied().unwrap_or_default();
        let behind = said.stems.get(usize::from(range.end)).copied().unwrap_or(1);
        (before, behind)
    };
    let (a, b) = (beside(claim, &own), beside(source, &other));
    // Both begin, or both end, with it: only together with the other neighbour, or where little else stands.
    let same_before = a.0 == b.0;
    let same_behind = a.1 == b.1;
    (same_before && a.0 != 0) || (same_behind && a.1 != 1) || same_before && same_behind
}

/// Whether the nearest word before two runs of tokens, or behind them, is the same in both sentences.
fn is_of_same(claim: &Said, own: &Range<u16>, source: &Said, other: &Range<u16>, found: &[Option<Found>]) -> bool {
    let is_known = |index: usize| found[index].is_some() || !claim.words[index].is_name;
    let indices = || (0..claim.words.len()).filter(|index| is_known(*index));
    let plain = || source.words.iter().filter(|word| !word.is_name || claim.words.iter().any(|c| c.stem == word.stem));
    let is_same = |index: Option<usize>, word: Option<&Word>| {
        index.zip(word).is_some_and(|(index, word)| {
            let is_found = found[index].is_some_and(|found| source.words[found.word].stem == word.stem);
            let pair = |side: &&Side| side.at == claim.words[index].at;
            is_found
                || claim.sides.iter().filter(pair).any(|side| {
                    source
                        .sides
                        .iter()
                        .any(|other| other.at == word.at && other.pair == side.pair && other.is_minus == side.is_minus)
                })
        })
    };
    let before = indices().rev().find(|index| claim.words[*index].at < own.start);
    let behind = indices().find(|index| claim.words[*index].at >= own.end);
    is_same(before, plain().rev().find(|word| word.at < other.start))
        || is_same(behind, plain().find(|word| word.at >= other.end))
}

/// Whether a content word that is no name stands right beside a run of tokens.
fn has_content_beside(said: &Said, run: &Range<u16>) -> bool {
    let is_plain = |at: u16| said.words.iter().any(|word| word.at == at && !word.is_name);
    run.start.checked_sub(1).is_some_and(is_plain) || is_plain(run.end)
}

fn begins_alike(a: &[u8], b: &[u8]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

fn is_equal(a: (&Number, Option<Unit>), b: (&Number, Option<Unit>)) -> bool {
    if let (Some(own), Some(other)) = (a.0.date(), b.0.date()) {
        return own.agrees(other);
    }
    let mut index = NumberIndex::default();
    index.add(b.0, 0);
    index.finish();
    if index.supports(a.0) {
        return true;
    }
    let (Some(own), Some(other)) = (a.1, b.1) else { return false };
    let scaled = |number: &Number, unit: Unit| number.value * unit.factor.0 as f64 / unit.factor.1 as f64;
    let (own_value, other_value) = (scaled(a.0, own), scaled(b.0, other));
    own.kind == other.kind && (own_value - other_value).abs() <= 0.02 * other_value.abs()
}

fn number_swap(
    claim: &Said,
    source: &Said,
    found: &[Option<Found>],
    is_close: bool,
    elsewhere: &Elsewhere<'_>,
) -> Option<Conflict> {
    let pairs = |said: &Said| said.numbers.iter().cloned().zip(said.units.iter().copied()).collect::<Vec<_>>();
    let (own, others) = (pairs(claim), pairs(source));
    let period = |said: &Said, number: &Number| {
        let at = said.numbers.iter().position(|own| own.span == number.span)?;
        said.periods[at].map(|(_, unit)| unit.id)
    };
    let has_other_period = |number: &Number, other: &Number| {
        period(claim, number).zip(period(source, other)).is_some_and(|(own, other)| own != other)
    };
    for (number, unit) in &own {
        if (elsewhere.is_derived)(number) {
            continue;
        }
        let equal = others.iter().find(|(other, other_unit)| is_equal((number, *unit), (other, *other_unit)));
        if let Some((other, other_unit)) = equal {
            if number.value == other.value && has_other_period(number, other) {
                return Some(Conflict::Unit(number.span.clone()));
            }
            let (Some(a), Some(b)) = (unit, other_unit) else { continue };
            let is_money = a.is_money() && b.is_money();
            let group = |unit: &Unit| if unit.kind == CALENDAR { TIME } else { unit.kind };
            let is_other = a.id != b.id && (group(a) == group(b) || is_money);
            // Another unit with the same digits is another amount.
            let is_converted = number.value != other.value;
            let has_same = others.iter().any(|(_, unit)| unit.is_some_and(|unit| unit.id == a.id));
            if is_other && !is_converted && !has_same {
                return Some(Conflict::Unit(number.span.clone()));
            }
            continue;
        }
        if is_bounded(claim, number) {
            continue;
        }
        let range = |number: &Number| number.token as u16..number.end as u16;
        let is_free = |other: &Number, unit: Option<Unit>| {
            !own.iter().any(|(mine, own_unit)| is_equal((mine, *own_unit), (other, unit)))
        };
        if is_torn(claim, number) || !is_close && (elsewhere.has_number)(number) {
            continue;
        }
        let is_time = |number: &Number| (number.unit == Converted::Time, number.date().is_some());
        let swap = others.iter().any(|(other, other_unit)| {
            is_time(number) == is_time(other)
                && !has_other_period(number, other)
                && is_free(other, *other_unit)
                && !is_bounded(source, other)
                && !is_torn(source, other)
                && is_of_same(claim, &range(number), source, &range(other), found)
                && (is_same_place(claim, range(number), source, range(other))
                    || unit.is_some_and(|unit| other_unit.is_some_and(|other| unit.kind == other.kind)))
        });
        if swap {
            return Some(Conflict::Number(number.span.clone()));
        }
    }
    None
}

/// Whether another number stands right beside it: "26, 000", a range, a date in digits.
fn is_torn(said: &Said, number: &Number) -> bool {
    said.numbers.iter().any(|other| {
        other.span != number.span
            && (other.span.start.abs_diff(number.span.end) <= 2 || number.span.start.abs_diff(other.span.end) <= 2)
            && other.token.abs_diff(number.token) == 1
    })
}

/// Words before a number that make a bound of it: "more than 1,200" is true of 1,240.
const BOUNDS: [&str; 14] = [
    "more", "less", "fewer", "over", "under", "least", "most", "than", "above", "below", "nearly", "almost", "about",
    "around",
];

fn is_bounded(said: &Said, number: &Number) -> bool {
    let from = number.token.saturating_sub(3);
    said.stems[from..number.token].iter().any(|stem| BOUNDS.iter().any(|bound| stem_of(bound) == *stem))
}

fn name_swap(
    claim: &Said,
    source: &Said,
    found: &[Option<Found>],
    is_close: bool,
    elsewhere: &Elsewhere<'_>,
) -> Option<Conflict> {
    let unmatched = |said: &Said, is_held: &dyn Fn(usize) -> bool| {
        let mut runs: Vec<Range<u16>> = Vec::new();
        for (_, word) in said.words.iter().enumerate().filter(|(index, word)| word.is_name && !is_held(*index)) {
            match runs.last_mut() {
                Some(run) if word.at <= run.end + 1 => run.end = word.at + 1,
                _ => runs.push(word.at..word.at + 1),
            }
        }
        runs
    };
    let own = unmatched(claim, &|index| found[index].is_some());
    if own.is_empty() {
        return None;
    }
    let others = unmatched(source, &|index| find(&source.words[index], claim).is_some());
    let initials = |said: &Said, run: &Range<u16>| -> Vec<u8> {
        let words = said.words.iter().filter(|word| run.contains(&word.at));
        words
            .flat_map(|word| if word.acronym[0] != 0 { word.acronym.to_vec() } else { vec![word.initial] })
            .filter(|letter| *letter != 0)
            .collect()
    };
    for run in own {
        let span = claim.span(run.start).start..claim.span(run.end - 1).end;
        let stems = || claim.words.iter().filter(|word| run.contains(&word.at)).map(|word| word.stem);
        let is_short = claim.words.iter().any(|word| run.contains(&word.at) && word.is_short);
        if is_short
            || stems().any(elsewhere.is_alias)
            || (elsewhere.is_glossed)(span.clone())
            || !is_close && stems().all(elsewhere.has_stem)
        {
            continue;
        }
        // "NC" is North Carolina.
        let own_initials = initials(claim, &run);
        let is_other = |other: &Range<u16>| {
            is_same_place(claim, run.clone(), source, other.clone())
                && (is_close || has_content_beside(claim, &run))
                && is_of_same(claim, &run, source, other, found)
                && !(run.len() != other.len()
                    && own_initials.len() > 1
                    && begins_alike(&own_initials, &initials(source, other)))
        };
        if others.iter().any(is_other) {
            return Some(Conflict::Name(span));
        }
    }
    None
}

/// What the closest sentences say of a claim, the first conflict of the closest one.
pub fn judge(compared: &[(u32, Compared)]) -> Option<(u32, Conflict)> {
    let best = compared.iter().map(|(_, compared)| compared.cover).fold(0.0, f64::max);
    let speaks_for = |compared: &Compared| {
        compared.conflict.is_none() && compared.cover >= COVER_PAIR_MIN && compared.cover >= best - COVER_MARGIN
    };
    if compared.iter().any(|(_, compared)| speaks_for(compared)) {
        return None;
    }
    let against = compared.iter().filter_map(|(sentence, compared)| {
        let conflict = compared.conflict.clone()?;
        Some((*sentence, compared.cover, conflict))
    });
    let (sentence, _, conflict) = against.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    Some((sentence, conflict))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::grounding::{lexicon::of_texts, tokens::tokens};

    fn read(text: &str) -> Said {
        let mut list = Vec::new();
        tokens(text, 0..text.len(), |token| list.push(token));
        Said::read(text, 0..text.len(), &list, of_texts(&[text]))
    }

    #[track_caller]
    fn check(source: &str, claim: &str, expected: Option<&str>) {
        let compared = compare(
            &read(claim),
            &read(source),
            false,
            &Elsewhere {
                is_derived: &|_| false,
                is_glossed: &|_| false,
                has_number: &|_| false,
                has_stem: &|_| false,
                is_alias: &|_| false,
            },
        );
        let name = compared.conflict.as_ref().map(|conflict| match conflict {
            Conflict::Opposite => "opposite",
            Conflict::Name(_) => "name",
            Conflict::Number(_) => "number",
            Conflict::Unit(_) => "unit",
        });
        assert_eq!(name, expected, "{source} / {claim} {compared:?}");
    }

    #[test]
    fn opposites() {
        check("Pets are allowed.", "Pets are not allowed.", Some("opposite"));
        check("Pets are not allowed.", "Pets are forbidden.", None);
        check("Breakfast is not included and costs 14 euros.", "Breakfast is included.", Some("opposite"));
        check("Lunch is not included today.", "Lunch is not included.", None);
        check("The road is closed in winter.", "The road is open in winter.", Some("opposite"));
        check("Errors are common.", "Errors are not uncommon.", None);
        check("The plan is compatible.", "The plan is incompatible.", Some("opposite"));
        check(
            "The contract renews automatically unless it is cancelled.",
            "The contract does not renew automatically.",
            Some("opposite"),
        );
        check(
            "The bridge is open to pedestrians between 6 am and 10 pm.",
            "The bridge is closed to pedestrians between 6 am and 10 pm.",
            Some("opposite"),
        );
        check(
            "The northern route is shorter than the southern one.",
            "The northern route is not as long as the southern one.",
            None,
        );
        check("Hunde sind im Park nicht erlaubt.", "Hunde sind im Park erlaubt.", Some("opposite"));
        check("Gift cards cannot be exchanged for cash.", "It isn't possible to exchange a gift card for cash.", None);
        check("Guests may enter the spa without a reservation.", "No reservation is needed to enter the spa.", None);
        check("The fund pays a dividend every quarter.", "The fund never pays a dividend.", Some("opposite"));
        check("Early repayment is possible at no extra cost.", "Early repayment is not possible.", Some("opposite"));
        check(
            "There are about 26, 000 people in Brazil and 15, 000 in Peru.",
            "There are about 26,000 people in Brazil and 15,000 in Peru.",
            None,
        );
        check("It uses at least 2 GB of memory.", "It uses at most 2 GB of memory.", Some("opposite"));
        check(
            "Temporary staff are excluded from the plan.",
            "Temporary staff are included in the plan.",
            Some("opposite"),
        );
        check("The cup was hosted by the United States.", "The cup was hosted by Italy.", Some("name"));
        check("It is closed on Mondays and open on all other days.", "It is open on Tuesdays.", None);
        check("Visitors may not enter unless they have signed.", "Visitors who have signed may enter.", None);
        check("The lift does not stop on floor 2.", "The lift stops on floor 3.", None);
        check("Sales fell in March but rose in April.", "Sales rose in April.", None);
        check(
            "The old bridge was closed in 1998, and the new bridge was opened in 1999.",
            "The new bridge was opened in 1999.",
            None,
        );
        check("Entry after 10 pm is refused.", "No one may enter after 10 pm.", None);
        check("Cats are allowed, but dogs are not.", "Cats are allowed.", None);
        check("Neither the guide nor the driver was hurt.", "The guide and the driver were hurt.", Some("opposite"));
        check("Neither the guide nor the driver was hurt.", "The guide and the driver were not hurt.", None);
        check("The pump runs only when the lid is shut.", "Unless the lid is shut, the pump will not run.", None);
        check(
            "Mary was promoted in 2011, while John retired in 2014.",
            "John was promoted in 2011, while Mary retired in 2014.",
            Some("name"),
        );
        check(
            "Mary was promoted in 2011, while John retired in 2014.",
            "John retired in 2014, while Mary was promoted in 2011.",
            None,
        );
        check("Norway has more fish than Iceland today.", "Iceland has more fish than Norway today.", Some("opposite"));
        check("Norway sold more fish than Iceland.", "Iceland sold less fish than Norway.", None);
        check("The farm keeps more goats than sheep.", "The farm has fewer sheep than goats.", None);
        check("The board has yet to agree.", "The board has not agreed so far.", None);
        check("The coat is warm, not waterproof.", "The coat is not waterproof, only warm.", None);
        check("It is held in Oslo, not in Bergen.", "It is held in Bergen, not in Oslo.", Some("opposite"));
        check("Cats are allowed, but dogs are not allowed.", "Dogs are allowed.", Some("opposite"));
        check("Refunds are only given within 30 days.", "Refunds are not given after 30 days.", None);
        check("Guests can check in from 15:00.", "Guests cannot check in before 15:00.", None);
        check("The hotel does not lack parking.", "The hotel has parking.", None);
        check("The hotel does not lack parking.", "The hotel lacks parking.", Some("opposite"));
        check("No surgery was performed.", "Surgery was performed.", Some("opposite"));
        check("The lease begins on 14 June 2025.", "The lease begins on 2025-06-14.", None);
        check("The lease begins on 14 June 2025.", "The lease begins on 14.07.2025.", Some("number"));
        check("The deadline is 31 March 2024.", "The deadline is 31 May 2024.", Some("number"));
        check("Membership costs 4.90 euros a month.", "Membership costs 4.90 euros a week.", Some("unit"));
        check("Der Laden ist am Montag geschlossen.", "Der Laden ist am Dienstag geschlossen.", Some("name"));
        check("Die Bibliothek ist montags geschlossen.", "Gar nicht, montags hat die Bibliothek zu.", None);
        check("La cuota es de 300 euros al año.", "La cuota es de 300 euros al mes.", Some("unit"));
        check("Les chiens ne sont pas admis ici.", "Non, les chiens ne sont pas admis ici.", None);
        check("Não é permitido fumar no quarto.", "É permitido fumar no quarto.", Some("opposite"));
    }
}
