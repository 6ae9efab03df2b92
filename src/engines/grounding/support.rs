//! What of a sentence the sources do not bear out, as numbers with a fixed direction: more is worse.
//!
//! **Formula**, for the content stems C of a sentence, the stems V of the sources and Q of the question, U = C without V
//! and Q:
//!
//! | measure | what it is |
//! |---|---|
//! | `unsupported_run` | idf of the longest run of content words in U |
//! | `best_sentence` | 1 - share of the idf of C in the best sentence of the sources |
//! | `best_window` | the same for a sentence with its neighbours |
//! | `new_bigrams_share` | share of the neighbouring content stems that no source has side by side, or one apart |
//! | `unsupported_numbers` | numbers that neither sources nor question hold ([`super::numbers`]) |
//! | `misplaced_numbers` | numbers that stand in the sources, but not near the best sentence |
//! | `mismatched_numbers` | numbers whose neighbours in the sources are others: fewer than a third of the known content words within three tokens stand in a sentence, or an object, with the number |
//! | `unsupported_entities` | names, each by the share of its words that the sources do not hold |
//! | `flipped_fields` | yes/no fields said to be the opposite ([`super::fields`]) |
//! | `asserted_nulls` | fields of unknown value said to hold |
//! | `denied_nulls` | fields of unknown value said not to hold |
//! | `schedule_conflicts` | statements on hours that are not those of the sources |
//! | `unsupported_tail` | share of U in the second half of C |
//! | `place` | how far into the answer the sentence stands, k / (n + 1): answers drift away from their sources |
//! | `opposite` | whether its closest sentence says otherwise ([`super::polarity`]) |
//! | `number_differs` | whether a number of it stands in no source, and its closest sentence has another one there |
//!
//! For the verdicts on claims, `stems` are those of U that share their first five letters with no stem of the sources, and
//! `share` is their idf with [`SOFT_SHARE`] of that of the rest of U, against the idf of C.
//!
//! **Source**: the study behind this engine; the bigrams are the copy measures of Grusky et al. 2018 ("Newsroom").
//!
//! **Limits**: recombined words of the source are hardly seen, and neither are true statements that the source does not
//! make. [`NUMBER_PAIRS_MAX`] and [`FOLDED_SEARCHES_MAX`] bound what one record costs.

use std::{ops::Range, sync::LazyLock};

use super::{
    fields::{self, Conflicts},
    idf::{IDF_MAX, idf},
    index::{Index, POSTINGS_PER_STEM_MAX, Sentence, fold},
    lexicon::Lexicon,
    numbers::{Number, numbers},
    polarity::{self, Conflict, Elsewhere, Said},
    tokens::{ACRONYM, CAPITAL, DIGIT, NEGATION, STOP, Token, stem_of},
};
use crate::text::lexicon::{Words, words_of};

/// How much a word counts that shares its first five letters with one of the sources.
pub const SOFT_SHARE: f64 = 0.4;
/// Below this share of known neighbours a number is mismatched.
pub const NEIGHBOURS_SHARE_MIN: f64 = 0.34;
/// Tokens on each side of a number that are its neighbours.
pub const NEIGHBOURS: usize = 3;
/// Numbers of a record whose neighbours are looked up.
pub const NUMBER_PAIRS_MAX: usize = 256;
/// Names of a record that are searched for letter by letter.
pub const FOLDED_SEARCHES_MAX: usize = 64;
/// Sources above this size are not searched letter by letter.
pub const FOLDED_BYTES_MAX: usize = 1 << 20;
/// Sentences of the sources that a claim is compared with word by word.
pub const CLOSEST_MAX: usize = 6;
/// What a number that a sentence shares with a claim adds to how close it is, in nats.
const NUMBER_WEIGHT: f32 = 6.0;
/// Tokens of a sentence that are compared with fields and hours.
pub const FIELD_TOKENS_MAX: usize = 512;
/// A first word of a name that is more common than this begins a sentence rather than a name.
const COMMON_IDF: f64 = 5.0;

/// The measures of a sentence, in order.
pub const MEASURES: [&str; 16] = [
    "unsupported_run",
    "best_sentence",
    "best_window",
    "new_bigrams_share",
    "unsupported_numbers",
    "misplaced_numbers",
    "mismatched_numbers",
    "unsupported_entities",
    "flipped_fields",
    "asserted_nulls",
    "denied_nulls",
    "schedule_conflicts",
    "unsupported_tail",
    "place",
    "opposite",
    "number_differs",
];

/// Places of the measures in [`MEASURES`].
#[allow(missing_docs, reason = "named as in the table above")]
pub mod measure {
    pub const RUN: usize = 0;
    pub const SENTENCE: usize = 1;
    pub const WINDOW: usize = 2;
    pub const BIGRAMS_SHARE: usize = 3;
    pub const NUMBERS: usize = 4;
    pub const NUMBERS_ELSEWHERE: usize = 5;
    pub const NUMBER_PAIRS: usize = 6;
    pub const ENTITIES: usize = 7;
    pub const FLIPPED: usize = 8;
    pub const NULLS: usize = 9;
    pub const NULLS_DENIED: usize = 10;
    pub const HOURS: usize = 11;
    pub const TAIL: usize = 12;
    pub const PLACE: usize = 13;
    pub const OPPOSITE: usize = 14;
    pub const DIFFERS: usize = 15;
}

/// What was measured of a sentence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Support {
    /// By the order of [`MEASURES`].
    pub measures: [f64; MEASURES.len()],
    /// Words that no source has, nor one like them.
    pub unknown_stems: u32,
    /// Share of its words by weight that no source has.
    pub unknown_share: f64,
    /// The sentence of the sources that holds most of it.
    pub best: Option<u32>,
    /// Content stems, numbers and names of it: nothing can be said of a sentence that has none.
    pub checked: usize,
    /// The words that stand in no source, from first to last.
    pub unsupported: Option<Range<usize>>,
    /// Whether it holds numbers.
    pub has_numbers: bool,
    /// Whether the sources have other amounts of the kind of the first number that stands in none.
    pub has_other_of_kind: bool,
    /// The first number that stands in no source.
    pub number: Option<Range<usize>>,
    /// Whether the best sentence of the sources has another number beside the word that stands beside that one.
    pub differs: bool,
    /// The first name that stands in no source.
    pub entity: Option<Range<usize>>,
    /// What the closest sentences of the sources say otherwise, and which of them.
    pub conflict: Option<(u32, Conflict)>,
}

/// Room that is used again for every sentence.
#[derive(Default)]
pub struct Scratch {
    stems: Vec<u32>,
    scores: Vec<(f32, f32)>,
    touched: Vec<u32>,
    numbers: Vec<Number>,
    /// Sentences of the sources that hold numbers of the sentence, in order.
    numbered: Vec<u32>,
    /// The closest sentences of the sources, with how close they are.
    closest: Vec<(f32, u32)>,
    source_tokens: Vec<Token>,
    /// First bytes of numbers that are the result of a sum.
    derived: Vec<usize>,
    /// First bytes of words that stand for a code or a key of the sources, in order.
    glossed: Vec<u32>,
    pairs_left: usize,
    searches_left: usize,
    looks_for_names: bool,
}

impl Scratch {
    /// To be called for every record; capitals make names only in languages that do not capitalise nouns.
    pub fn begin(&mut self, sentences: usize, looks_for_names: bool) {
        self.looks_for_names = looks_for_names;
        self.scores.clear();
        self.scores.resize(sentences, (0.0, 0.0));
        self.pairs_left = NUMBER_PAIRS_MAX;
        self.searches_left = FOLDED_SEARCHES_MAX;
    }
}

/// Measures the sentence `text[span]`, whose tokens are `tokens`.
pub fn of_sentence(
    index: &mut Index,
    text: &str,
    span: Range<usize>,
    tokens: &[Token],
    scratch: &mut Scratch,
) -> Support {
    let mut support = Support::default();
    glosses(index, text, tokens, &mut scratch.glossed);
    words(index, tokens, scratch, &mut support);
    let mut found = std::mem::take(&mut scratch.numbers);
    found.clear();
    numbers(text, tokens, true, |number| found.push(number));
    scratch.numbered.clear();
    for number in found.iter().take(CLOSEST_MAX) {
        scratch.numbered.extend(index.numbers.sentences(number).take(POSTINGS_PER_STEM_MAX as usize));
    }
    scratch.numbered.sort_unstable();
    windows(index, scratch, &mut support);
    support.checked += found.len();
    support.has_numbers = !found.is_empty();
    scratch.derived.clear();
    let says = |words: &Words| words.stand_in(&text[span.clone()]);
    let unknown = found.iter().filter(|number| !index.numbers.supports(number)).take(DERIVED_MAX);
    let unknown: Vec<&Number> = unknown.collect();
    let is_result = !unknown.is_empty() && says(&DERIVED.results);
    if is_result || !unknown.is_empty() && says(&DERIVED.periods) {
        let spans = unknown.into_iter().filter(|number| is_derived(index, text, number, &found, is_result));
        scratch.derived.extend(spans.map(|number| number.span.start));
    }
    for number in &found {
        if scratch.derived.contains(&number.span.start) {
            continue;
        }
        check_number(index, tokens, number, scratch, &mut support);
        // Once is enough, and it costs a look into the sources.
        if !support.differs && support.number.as_ref() == Some(&number.span) {
            support.differs = differs(index, text, tokens, number, support.best);
            support.measures[measure::DIFFERS] = f64::from(u8::from(support.differs));
        }
    }
    if !index.facts.is_empty() {
        let tokens = &tokens[..tokens.len().min(FIELD_TOKENS_MAX)];
        let Conflicts { flipped, null_asserted, null_denied, hours, at } =
            fields::conflicts(&index.facts, text, tokens, &found);
        support.measures[measure::FLIPPED] = f64::from(flipped);
        support.measures[measure::NULLS] = f64::from(null_asserted);
        support.measures[measure::NULLS_DENIED] = f64::from(null_denied);
        support.measures[measure::HOURS] = f64::from(hours);
        support.best = at.and_then(|at| index.sentence_at(at)).or(support.best);
    }
    scratch.numbers = found;
    if scratch.looks_for_names {
        entities(index, text, span, tokens, scratch, &mut support);
    }
    support
}

fn words(index: &Index, tokens: &[Token], scratch: &mut Scratch, support: &mut Support) {
    let (mut run, mut longest) = (0.0, 0.0f64);
    let (mut last, mut bigrams, mut new_bigrams) = (0, 0u32, 0u32);
    let (mut hard, mut mass, mut total) = (0u32, 0.0, 0.0);
    let content = tokens.iter().filter(|token| token.is_content()).count();
    let (mut seen, mut tail) = (0, 0u32);
    scratch.stems.clear();
    for token in tokens.iter().filter(|token| token.flags & STOP == 0) {
        if !token.is_content() {
            longest = longest.max(run);
            run = 0.0;
            continue;
        }
        let weight = idf(token.stem);
        let is_known = index.knows(token.stem) || scratch.glossed.binary_search(&token.start).is_ok();
        seen += 1;
        if last != 0 {
            bigrams += 1;
            new_bigrams += u32::from(!index.has_bigram(last, token.stem));
        }
        last = token.stem;
        if is_known {
            longest = longest.max(run);
            run = 0.0;
        } else {
            run += weight;
            tail += u32::from(seen * 2 > content);
        }
        // A sentence has few stems; a very long one counts those beyond as new.
        const DISTINCT_MAX: usize = 256;
        if scratch.stems.len() < DISTINCT_MAX && scratch.stems.contains(&token.stem) {
            continue;
        }
        scratch.stems.push(token.stem);
        total += weight;
        if !is_known {
            let is_soft = index.has_prefix(token);
            hard += u32::from(!is_soft);
            mass += weight * if is_soft { SOFT_SHARE } else { 1.0 };
            let span = token.span();
            let from = support.unsupported.as_ref().map_or(span.start, |before| before.start);
            support.unsupported = Some(from..span.end);
        }
    }
    let share = |part: f64, whole: f64| if whole == 0.0 { 0.0 } else { part / whole };
    let measures = &mut support.measures;
    measures[measure::RUN] = longest.max(run);
    measures[measure::BIGRAMS_SHARE] = share(f64::from(new_bigrams), f64::from(bigrams));
    measures[measure::TAIL] = share(f64::from(tail), (content - content / 2) as f64);
    support.unknown_stems = hard;
    support.unknown_share = share(mass, total);
    support.checked = scratch.stems.len();
}

/// How much of the sentence the best sentence of the sources holds, and the best with its neighbours.
fn windows(index: &Index, scratch: &mut Scratch, support: &mut Support) {
    let total: f64 = scratch.stems.iter().map(|stem| idf(*stem)).sum();
    let sentences = scratch.scores.len() as u32;
    for stem in &scratch.stems {
        let weight = idf(*stem) as f32;
        // Windows up to this one have the stem already.
        let mut done = 0;
        for sentence in index.sentences_with(*stem) {
            scratch.scores[sentence as usize].0 += weight;
            for centre in done.max(sentence.saturating_sub(1))..(sentence + 2).min(sentences) {
                let score = &mut scratch.scores[centre as usize];
                if score.1 == 0.0 {
                    scratch.touched.push(centre);
                }
                score.1 += weight;
            }
            done = (sentence + 2).min(sentences);
        }
    }
    let (mut best, mut window) = (0.0f32, 0.0f32);
    scratch.closest.clear();
    for sentence in scratch.touched.drain(..) {
        let (own, around) = std::mem::take(&mut scratch.scores[sentence as usize]);
        let numbered = &scratch.numbered;
        let from = numbered.partition_point(|other| *other < sentence);
        let held = numbered[from..].iter().take_while(|other| **other == sentence).count();
        closest(&mut scratch.closest, own + held as f32 * NUMBER_WEIGHT, sentence);
        if own > best || own == best && own > 0.0 && support.best.is_some_and(|best| sentence < best) {
            best = own;
            support.best = Some(sentence);
        }
        window = window.max(around);
    }
    let missing = |held: f32| if total == 0.0 { 0.0 } else { (1.0 - f64::from(held) / total).clamp(0.0, 1.0) };
    support.measures[measure::SENTENCE] = missing(best);
    support.measures[measure::WINDOW] = missing(window);
}

/// Keeps the [`CLOSEST_MAX`] closest sentences, the first of those that are equally close.
fn closest(kept: &mut Vec<(f32, u32)>, score: f32, sentence: u32) {
    if score <= 0.0 {
        return;
    }
    let at = kept.partition_point(|(other, place)| *other > score || *other == score && *place < sentence);
    if at < CLOSEST_MAX {
        kept.truncate(CLOSEST_MAX - 1);
        kept.insert(at, (score, sentence));
    }
}

/// What the closest sentences say otherwise.
pub fn conflict(
    index: &Index,
    text: &str,
    span: Range<usize>,
    tokens: &[Token],
    lexicon: &Lexicon,
    scratch: &mut Scratch,
) -> Option<(u32, Conflict)> {
    if scratch.closest.is_empty() {
        return None;
    }
    let claim = Said::read(text, span, tokens, lexicon);
    let is_glossed = |name: Range<usize>| is_glossed(index, text, name);
    let has_number = |number: &Number| index.numbers.supports(number);
    let has_stem = |stem: u32| index.has_stem(stem);
    let is_alias = |stem: u32| index.is_alias(stem);
    let is_derived = |number: &Number| scratch.derived.contains(&number.span.start);
    let elsewhere = Elsewhere {
        is_derived: &is_derived,
        is_glossed: &is_glossed,
        has_number: &has_number,
        has_stem: &has_stem,
        is_alias: &is_alias,
    };
    let mut compared = Vec::with_capacity(scratch.closest.len());
    for (_, sentence) in &scratch.closest {
        let Sentence { start, end, .. } = index.sentences[*sentence as usize];
        let range = start as usize..end as usize;
        let list = &mut scratch.source_tokens;
        list.clear();
        super::tokens::tokens(&index.flat, range.clone(), |token| list.push(token));
        let mut source = Said::read(&index.flat, range, list, lexicon);
        source.is_field = index.is_field(*sentence);
        compared.push((*sentence, polarity::compare(&claim, &source, lexicon.has_concord, &elsewhere)));
    }
    polarity::judge(&compared)
}

/// Words that say what a code or a key of the sources says: "Date of Birth" for `dob`, the name before "(LAX)", the
/// parts of `flightNumber`.
fn glosses(index: &Index, text: &str, tokens: &[Token], glossed: &mut Vec<u32>) {
    /// Words of a key that is made of their first letters.
    const KEY_WORDS: std::ops::RangeInclusive<usize> = 3..=5;
    glossed.clear();
    for at in 0..tokens.len() {
        let is_near = |next: usize| tokens[next].start as usize <= tokens[next - 1].span().end + 1;
        let mut letters = String::new();
        for next in at..tokens.len().min(at + KEY_WORDS.end()) {
            if next > at && !is_near(next) {
                break;
            }
            letters.extend(text[tokens[next].span()].chars().next());
            let count = next + 1 - at;
            if !KEY_WORDS.contains(&count) || !tokens[at].is_content() || !tokens[next].is_content() {
                continue;
            }
            let stem = stem_of(&letters);
            if idf(stem) == IDF_MAX && index.has_code(stem) {
                glossed.extend(tokens[at..=next].iter().map(|token| token.start));
            }
        }
        let token = &tokens[at];
        let word = &text[token.span()];
        if !index.knows(token.stem) && word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase()) {
            let mut parts = fields::camel_words(word).map(stem_of).peekable();
            let is_camel = parts.peek().is_some() && parts.all(|stem| index.knows(stem));
            if is_camel && token.flags & ACRONYM == 0 {
                glossed.push(token.start);
            }
        }
        if token.flags & CAPITAL != 0 && token.flags & STOP == 0 {
            // The words of one name, up to the bracket.
            let mut end = at + 1;
            while end < tokens.len() && end < at + 4 && tokens[end].flags & CAPITAL != 0 && is_near(end) {
                end += 1;
            }
            if is_glossed(index, text, token.span().start..tokens[end - 1].span().end) {
                glossed.extend(tokens[at..end].iter().map(|token| token.start));
            }
        }
    }
    glossed.sort_unstable();
    glossed.dedup();
}

/// Whether a name stands beside its code in brackets, and the sources have the code: "Los Angeles (LAX)".
fn is_glossed(index: &Index, text: &str, name: Range<usize>) -> bool {
    /// Bytes of a code.
    const CODE_BYTES_MAX: usize = 24;
    let behind = text[name.end..].trim_start_matches(['*', '_', ' ']);
    let inside = behind.strip_prefix('(').and_then(|rest| rest.get(..rest.find(')')?));
    let before = text[..name.start].trim_end_matches(['*', '_', ' ']);
    let outside = before.strip_suffix('(').map(|rest| rest.trim_end().rsplit([' ', '\n']).next().unwrap_or_default());
    let is_code = |code: &str| {
        let is_written = code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        is_written && !code.is_empty() && code.len() <= CODE_BYTES_MAX && index.has_stem(stem_of(code))
    };
    inside.is_some_and(is_code) || outside.is_some_and(is_code)
}

/// Numbers of a sentence that are looked at as results of sums.
const DERIVED_MAX: usize = 4;
/// Values of the sources of which sums are made.
const OPERANDS_MAX: usize = 12;

/// What says that a number is the result of others, by language.
static DERIVED: LazyLock<Derived> = LazyLock::new(|| {
    let [results, periods] = words_of(include_str!("derived.toml"), ["results", "periods"]);
    Derived { results, periods }
});

/// What says that a number is the result of others.
struct Derived {
    /// Of any two.
    results: Words,
    /// Of one, by the months of a year or the like.
    periods: Words,
}

/// Whether a number is the sum, difference, product, quotient or share of two others of the sentence, the question and
/// the sources, one of them by the months of a year or the like; or is written behind "=".
fn is_derived(index: &Index, text: &str, number: &Number, others: &[Number], is_result: bool) -> bool {
    /// Months of a year and quarter, days, hours, minutes.
    const PERIODS: [f64; 7] = [12.0, 52.0, 7.0, 365.0, 24.0, 60.0, 5.0];
    /// A result may be rounded to its last digit.
    const ROUNDING: f64 = 0.006;
    if number.date().is_some() || number.unit == super::numbers::Unit::Time {
        return false;
    }
    let before = text[..number.span.start].trim_end_matches([' ', '$', '\u{20ac}', '\u{a3}']);
    if before.ends_with('=') {
        return true;
    }
    let mut operands = index.numbers.few_values(OPERANDS_MAX);
    let own = others.iter().filter(|other| other.span != number.span && other.date().is_none());
    operands.extend(own.take(OPERANDS_MAX).map(|other| other.value));
    let is = |value: f64| (value - number.value).abs() <= ROUNDING;
    // "A year" multiplies by the months; only who says that it is a result sums up.
    operands.iter().any(|a| PERIODS.iter().any(|b| is(a * b) || is(a / b)))
        || is_result
            && operands.iter().enumerate().any(|(at, a)| {
                let others = operands.iter().enumerate().filter(|(other, _)| *other != at);
                others.into_iter().any(|(_, b)| {
                    is(a + b) || is(a - b) || is(a * b) || is(a / b) || is(a * b / 100.0) || is(a * (1.0 - b / 100.0))
                })
            })
}

fn check_number(index: &Index, tokens: &[Token], number: &Number, scratch: &mut Scratch, support: &mut Support) {
    if !index.numbers.supports(number) {
        support.measures[measure::NUMBERS] += 1.0;
        if support.number.is_none() {
            support.number = Some(number.span.clone());
            support.has_other_of_kind = index.numbers.has_kind(number);
        }
        return;
    }
    let near = |sentence: u32| support.best.is_some_and(|best| sentence.abs_diff(best) <= 1);
    let mut sentences = index.numbers.sentences(number).peekable();
    if sentences.peek().is_none() {
        return;
    }
    /// Sentences with the number that are looked at.
    const SENTENCES_MAX: usize = 64;
    let places: Vec<u32> = sentences.take(SENTENCES_MAX).collect();
    // What the question says stands in no sentence.
    let is_asked = places.contains(&u32::MAX);
    if !is_asked && !places.iter().any(|sentence| near(*sentence)) {
        support.measures[measure::NUMBERS_ELSEWHERE] += 1.0;
    }
    if is_asked || number.unit == super::numbers::Unit::Time || number.date().is_some() || scratch.pairs_left == 0 {
        return;
    }
    scratch.pairs_left -= 1;
    let around = number.token.saturating_sub(NEIGHBOURS)..(number.token + NEIGHBOURS + 1).min(tokens.len());
    let neighbours: Vec<u32> = tokens[around]
        .iter()
        .filter(|token| token.is_content() && token.value == 0 && index.has_stem(token.stem))
        .map(|token| token.stem)
        .collect();
    if neighbours.is_empty() {
        return;
    }
    let group = |sentence: u32| index.sentences.get(sentence as usize).map(|sentence| sentence.group);
    let together = places.iter().map(|place| {
        let stands = |stem: &&u32| index.sentences_with(**stem).any(|sentence| group(sentence) == group(*place));
        neighbours.iter().filter(stands).count()
    });
    let most = together.max().unwrap_or_default() as f64 / neighbours.len() as f64;
    if most < NEIGHBOURS_SHARE_MIN {
        support.measures[measure::NUMBER_PAIRS] += 1.0;
    }
}

/// Words before a number that make a bound of it: "more than 1,200" is true of 1,240.
const BOUNDS: &[&str] =
    &["more", "less", "fewer", "over", "under", "least", "most", "than", "above", "below", "nearly", "almost", "up"];
/// Tokens before a number in which a bound or a denial of it stands.
const BOUND_TOKENS: usize = 4;

/// Whether the source has the answer's statement with another number: beside the same word, in its best sentence.
fn differs(index: &Index, text: &str, answer: &[Token], number: &Number, best: Option<u32>) -> bool {
    let Some(best) = best else { return false };
    let before = &answer[number.token.saturating_sub(BOUND_TOKENS)..number.token];
    let is_bound = |token: &Token| {
        token.flags & NEGATION != 0 || BOUNDS.iter().any(|bound| text[token.span()].eq_ignore_ascii_case(bound))
    };
    if before.iter().any(is_bound) {
        return false;
    }
    let own = beside(answer, number.token..number.end);
    if own == [0, 0] {
        return false;
    }
    let passage = index.sentences.get(best as usize).map(|sentence| sentence.passage);
    let near = best.saturating_sub(1)..=best.saturating_add(1);
    near.filter_map(|sentence| index.sentences.get(sentence as usize)).any(|sentence| {
        let mut tokens = Vec::new();
        let range = sentence.start as usize..sentence.end as usize;
        super::tokens::tokens(&index.flat, range, |token| tokens.push(token));
        let is_number = |token: &Token| token.flags & DIGIT != 0 || token.value > 0;
        let stands_alike = |at: usize| {
            let other = beside(&tokens, at..at + 1);
            (0..2).any(|side| own[side] != 0 && own[side] == other[side])
        };
        Some(sentence.passage) == passage && (0..tokens.len()).any(|at| is_number(&tokens[at]) && stands_alike(at))
    })
}

/// The stems of the content words before and behind some tokens, function words left out; 0 where there is none near.
fn beside(tokens: &[Token], at: Range<usize>) -> [u32; 2] {
    let word = |token: &&Token| token.flags & STOP == 0;
    let stem = |token: Option<&Token>| token.filter(|token| token.is_content()).map_or(0, |token| token.stem);
    let before = &tokens[at.start.saturating_sub(BOUND_TOKENS)..at.start];
    let behind = &tokens[at.end.min(tokens.len())..(at.end + BOUND_TOKENS).min(tokens.len())];
    [stem(before.iter().rev().find(word)), stem(behind.iter().find(word))]
}

static DAYS: LazyLock<[u32; 7]> =
    LazyLock::new(|| ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"].map(stem_of));

/// Names: runs of capitalised words, joined by `of`, `the`, `and` and the like.
fn entities(
    index: &mut Index,
    text: &str,
    span: Range<usize>,
    tokens: &[Token],
    scratch: &mut Scratch,
    support: &mut Support,
) {
    let is_name = |token: &Token| {
        token.flags & CAPITAL != 0
            && token.flags & STOP == 0
            && !DAYS.contains(&token.stem)
            && !is_first_person(&text[token.span()])
    };
    let mut at = 0;
    while at < tokens.len() {
        if !is_name(&tokens[at]) {
            at += 1;
            continue;
        }
        let start = at;
        let mut end = at + 1;
        let mut next = end;
        // A word in lower case joins two names; more than two such words do not.
        while next < tokens.len() && next <= end + 1 && joins(text, &tokens[next - 1], &tokens[next]) {
            if is_name(&tokens[next]) {
                end = next + 1;
            } else if !is_link(text, &tokens[next]) {
                break;
            }
            next += 1;
        }
        at = end;
        let name = &tokens[start..end];
        let begins = is_beginning(text, span.start, name[0].start as usize);
        if begins && is_label(text, name[name.len() - 1].span().end) || is_in_heading(text, name[0].start as usize) {
            continue;
        }
        let mut words: &[Token] = name;
        if begins {
            if name.len() == 1 && name[0].flags & ACRONYM == 0 {
                continue;
            }
            if name.len() > 1 && idf(name[0].stem) < COMMON_IDF {
                words = &name[1..];
            }
        }
        check_name(index, text, words, scratch, support);
    }
}

/// "I", also with a verb: "I'll".
fn is_first_person(word: &str) -> bool {
    word.strip_prefix('I').is_some_and(|rest| rest.is_empty() || rest.starts_with(['\'', '\u{2019}']))
}

fn check_name(index: &mut Index, text: &str, words: &[Token], scratch: &mut Scratch, support: &mut Support) {
    let (mut held, mut count) = (0u32, 0u32);
    for word in words.iter().filter(|word| word.flags & STOP == 0) {
        count += 1;
        let mut is_held = index.knows(word.stem) || scratch.glossed.binary_search(&word.start).is_ok();
        if !is_held && word.length > 3 && scratch.searches_left > 0 && index.flat.len() <= FOLDED_BYTES_MAX {
            scratch.searches_left -= 1;
            is_held = index.has_folded(&fold(&text[word.span()]));
        }
        held += u32::from(is_held);
    }
    if count == 0 {
        return;
    }
    let missing = 1.0 - f64::from(held) / f64::from(count);
    support.measures[measure::ENTITIES] += missing;
    if missing > 0.5 {
        let first = words[0].span().start;
        support.entity.get_or_insert(first..words[words.len() - 1].span().end);
    }
}

/// Whether nothing but a blank, a hyphen, a point or an ampersand stands between two tokens.
fn joins(text: &str, first: &Token, second: &Token) -> bool {
    let between = &text.as_bytes()[first.span().end.min(second.start as usize)..second.start as usize];
    between.len() <= 3 && between.iter().all(|byte| matches!(byte, b' ' | b'-' | b'.' | b'&' | b'\''))
}

fn is_link(text: &str, token: &Token) -> bool {
    matches!(&text[token.span()], "of" | "the" | "de" | "la" | "van" | "von" | "and")
}

/// Whether what ends at `at` is followed by a colon, as in "**Cabin Class:** Economy".
fn is_label(text: &str, at: usize) -> bool {
    text[at..].trim_start_matches(['*', '_', ' ']).starts_with(':')
}

/// Whether the line up to `at` begins as a heading of Markdown.
fn is_in_heading(text: &str, at: usize) -> bool {
    /// Bytes before a name in which the line begins.
    const HEADING_BYTES: usize = 128;
    let before = &text.as_bytes()[at.saturating_sub(HEADING_BYTES)..at];
    let line = before.iter().rposition(|byte| *byte == b'\n').map_or(before, |newline| &before[newline + 1..]);
    line.trim_ascii_start().starts_with(b"#")
}

/// Whether a sentence, or a part of one that begins with a capital, begins at `at`.
fn is_beginning(text: &str, start: usize, at: usize) -> bool {
    let before = text[start..at]
        .trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '*' | '(' | '\u{201c}'));
    before.is_empty()
        || before.ends_with([':', '.', '!', '?', '-', '\u{2022}', ')'])
        || before.ends_with(|c: char| c.is_ascii_digit()) && before.len() <= 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::grounding::tokens::tokens;

    const SOURCE: &str = "The Eiffel Tower stands in Paris. It was finished in 1889 and is 330 metres tall. \
        About 300 workers joined 18,038 pieces of iron.";

    fn of(answer: &str) -> Support {
        let mut index = Index::default();
        index.read([SOURCE].into_iter(), "When was the tower built?", "");
        let (mut list, mut scratch) = (Vec::new(), Scratch::default());
        tokens(answer, 0..answer.len(), |token| list.push(token));
        scratch.begin(index.sentences.len(), true);
        of_sentence(&mut index, answer, 0..answer.len(), &list, &mut scratch)
    }

    #[test]
    fn what_the_source_says_is_supported() {
        let support = of("The Eiffel Tower was finished in 1889.");
        for measure in [measure::NUMBERS, measure::ENTITIES, measure::RUN] {
            assert_eq!(support.measures[measure], 0.0, "{}", MEASURES[measure]);
        }
        assert_eq!((support.unknown_stems, support.unknown_share), (0, 0.0));
        assert!(support.measures[measure::WINDOW] < 0.01, "{support:?}");
    }

    #[test]
    fn inventions_are_named_with_their_place() {
        let answer = "It was painted green by Gustave Moreau in 1887.";
        let support = of(answer);
        assert_eq!(&answer[support.number.clone().unwrap()], "1887");
        assert_eq!(&answer[support.entity.clone().unwrap()], "Gustave Moreau");
        assert_eq!(support.measures[measure::NUMBERS], 1.0);
        assert_eq!(support.measures[measure::ENTITIES], 1.0);
        assert_eq!(support.unknown_stems, 4);
    }

    #[test]
    fn labels_and_headings_are_no_names() {
        for answer in ["- **Building Height:** 330 metres", "### Main Facts (Paris)", "Opening Year: 1889"] {
            assert_eq!(of(answer).measures[measure::ENTITIES], 0.0, "{answer}");
        }
        assert_eq!(of("- **Height:** Built by Gustave Moreau").measures[measure::ENTITIES], 1.0);
    }

    #[test]
    fn another_number_beside_the_same_word_differs() {
        for (answer, expected) in [
            ("The tower is 350 metres tall.", true),
            ("It was finished in 1887.", true),
            ("The tower is more than 320 metres tall.", false),
            ("It was not finished in 1887.", false),
            ("The tower has 2 tall pieces of iron.", false),
        ] {
            assert_eq!(of(answer).differs, expected, "{answer}");
        }
    }

    #[test]
    fn numbers_beside_other_words_are_mismatched() {
        assert_eq!(of("The tower has 300 metres.").measures[measure::NUMBER_PAIRS], 1.0);
        assert_eq!(of("The tower had 300 workers.").measures[measure::NUMBER_PAIRS], 0.0);
    }

    #[test]
    fn the_question_is_no_invention() {
        assert_eq!(of("It was built in 1889.").unknown_stems, 0);
    }
}
