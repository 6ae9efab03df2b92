//! Do the equations of an answer hold?
//!
//! Equations are found in prose, LaTeX, tables and the annotations of GSM8K, and are checked with exact rationals; what is not
//! rational, or too long, is known as an interval that contains it.
//!
//! **Formula**: value = false claims / claims that could be checked. A claim is false when its right side, at the precision
//! in which it is written, is no correct rounding of its left side, nor of a side before it in the chain, in any reading of
//! its signs and units; "about", `~`, `≈` allow [`ABOUT_SHARE`](claim::ABOUT_SHARE). With `strict` both sides must be equal.
//! One false claim fires the signal, as a proof: it blocks. The order of two bare numbers alone is evidence only.
//!
//! **Range**: 0 (everything holds) to 1 (nothing does). Without anything to check the engine is not assessed.
//!
//! **Source**: seed 003, verifier 04 (Symbolic Solver): LHS ≠ RHS is always BLOCK. The rule of rounding is ours: the seed
//! is silent on it.
//!
//! **Limits**: [`EQUATIONS_MAX`] equations of a text, lines of [`LINE_BYTES_MAX`] bytes, and those of the numbers
//! ([`DIGITS_MAX`](number::DIGITS_MAX), [`BITS_MAX`](number::BITS_MAX)) and expressions
//! ([`DEPTH_MAX`](expression::DEPTH_MAX), [`NODES_MAX`](expression::NODES_MAX)); what is beyond is not assessed, and counted by its
//! reason. Equations with letters are definitions or unknowns, and no claims, except for identities
//! ([`identity`]) and the solutions of linear ones ([`linear`]). What is asked, quoted, supposed or taken back, modular arithmetic, other bases, clock times, ranges,
//! what holds in a novel or a game ([`framed`]),
//! matrices and program text are no claims either. The words stand in tables by language.

pub mod claim;
pub mod doubt;
pub mod expression;
pub mod framed;
pub mod identity;
pub mod lexer;
pub mod linear;
pub mod statement;
pub mod table;

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, packed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use claim::Outcome;
use expression::Words;
use lexer::Relation;

use crate::{
    engines::{
        About, Assessment, Class, Detail, Engine, Finding, Question, RatioSource, Severity, Signal, SignalAbout,
        Status, Tier, View,
    },
    record::Kind,
    text::{
        code,
        excerpt::REDACTED,
        quantity::{number, unit},
    },
};

/// What is known of the engine.
pub const ABOUT: About = About {
    name: NAME,
    summary: "Equations, sums and identities in the answer that do not hold.",
    formula: "false claims / claims that could be checked, by exact rationals; a correct rounding holds",
    range: "0 (everything holds) to 1; one false claim blocks",
    source: "seed 003, Symbolic Solver; the rule of rounding is ours",
    signals: &[SignalAbout {
        id: SIGNAL,
        question: Question::Fabricated,
        title: "An equation, sum or identity in the answer does not hold.",
        owasp: "LLM09",
        help: "Recompute the marked equation; let a tool calculate where numbers matter.",
    }],
};

/// The engine.
pub const NAME: &str = "arithmetic";
/// The signal.
pub const SIGNAL: &str = "false_equation";
/// P(a false equation | made up) / P(it | not); the proof blocks in any case.
pub const LIKELIHOOD_RATIO: f64 = 100.0;
/// The same where all that is wrong is said in words, or is the order of two bare numbers: words have other readings (a parenthesis
/// may be another length, "in a day" a special one), and numbers may be ranks or versions.
pub const WORDS_RATIO: f64 = 5.0;
/// The rule of an equation that does not hold.
const EQUATION_RULE: &str = "arithmetic/false_equation";
/// The rule of a statement in words that does not hold.
const STATEMENT_RULE: &str = "arithmetic/false_statement";
/// The rule of two numbers that are said to stand in the other order.
const ORDER_RULE: &str = "arithmetic/false_order";
/// The ratio with which equations that hold speak against fabrication: hardly.
const ABSENT_RATIO: f64 = 2.0;
/// Equations of one text.
pub const EQUATIONS_MAX: u64 = 1_000;
/// Bytes of a line with an equation; a longer one is not read.
pub const LINE_BYTES_MAX: usize = 1 << 16;
/// Letters of a line in a block of code that may still be an equation: x, sqrt.
const CODE_LETTERS_MAX: usize = 4;
/// Lines that one equation may go over.
pub const LINES_MAX: usize = 40;

/// Words and signs, other than `=`, without which no claim is made. At least three bytes each, and no more than 64 of them, so
/// that vector instructions find them.
const TRIGGERS: [&str; 64] = [
    " < ",
    " > ",
    "≈",
    "\\approx",
    "≤",
    "≥",
    "\\le",
    "\\ge",
    " is ",
    " are ",
    " has ",
    " have ",
    " equal",
    " make",
    " means ",
    " gives ",
    " comes to",
    " come to ",
    "plus ",
    "minus ",
    "times ",
    "% of ",
    "percent of ",
    "alf of ",
    "verage",
    "ncreas",
    "ecreas",
    " from ",
    " cost",
    " so ",
    "iscount",
    " earn",
    " brings ",
    " would be ",
    "emainder",
    "% de ",
    "% von ",
    "% di ",
    "cent de ",
    "rozent von",
    "ividid",
    "umme von ",
    "doble de ",
    "ento d",
    "% Rabatt",
    "lfte von",
    "itié de ",
    "itad de ",
    "etade de ",
    "età di ",
    " mal ",
    " fois ",
    " más ",
    " mais ",
    " più ",
    " vezes ",
    " moins ",
    " menos ",
    " durch ",
    "chschnitt von",
    "oyenne de ",
    "romedio de ",
    "édia de ",
    "media di ",
];

/// Words of a block without digits in which there may be a claim all the same.
const SPELLED_TRIGGERS: [&str; 14] = [
    "plus ",
    "minus ",
    "times ",
    "ivided by",
    "multiplied",
    "alf of",
    "third",
    "uarter",
    "dozen",
    "verage of",
    "um of",
    "tenth",
    " mal ",
    " fois ",
];

static SPELLED_TRIGGER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(SPELLED_TRIGGERS).ok());

/// Whether numbers stand there, in digits or in words.
fn has_numbers(block: &str) -> bool {
    block.bytes().any(|byte| byte.is_ascii_digit())
        || SPELLED_TRIGGER.as_ref().is_some_and(|trigger| trigger.is_match(block))
}

static TRIGGER: LazyLock<Trigger> = LazyLock::new(Trigger::new);

/// Finds [`TRIGGERS`]: with vector instructions where the machine has them.
struct Trigger {
    packed: Option<packed::Searcher>,
    automaton: Option<AhoCorasick>,
}

impl Trigger {
    fn new() -> Trigger {
        let packed = packed::Searcher::new(TRIGGERS);
        let automaton = if packed.is_some() { None } else { AhoCorasick::new(TRIGGERS).ok() };
        Trigger { packed, automaton }
    }

    fn find(&self, text: &str) -> Option<usize> {
        match (&self.packed, &self.automaton) {
            (Some(packed), _) => packed.find(text).map(|found| found.start()),
            (None, Some(automaton)) => automaton.find(text).map(|found| found.start()),
            (None, None) => None,
        }
    }
}

/// Walks over the signs and words of claims in a text; each part of it is searched once.
struct Signs<'t> {
    text: &'t str,
    sign: Option<usize>,
    word: Option<usize>,
}

impl<'t> Signs<'t> {
    fn of(text: &'t str) -> Signs<'t> {
        Signs { text, sign: memchr::memchr(b'=', text.as_bytes()), word: TRIGGER.find(text) }
    }

    /// The first one at `from` or behind it.
    fn next(&mut self, from: usize) -> Option<usize> {
        let rest = self.text.get(from..)?;
        if self.sign.is_some_and(|at| at < from) {
            self.sign = memchr::memchr(b'=', rest.as_bytes()).map(|at| from + at);
        }
        if self.word.is_some_and(|at| at < from) {
            self.word = TRIGGER.find(rest).map(|at| from + at);
        }
        self.sign.into_iter().chain(self.word).min()
    }
}

/// Why something that looks like an equation is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A side, or a term of it, is missing.
    MissingOperand,
    /// A letter or word stands for a number.
    Variable,
    /// Signs that are not understood.
    Notation,
    /// It can be read in several ways.
    Ambiguous,
    /// Beyond a limit of digits, powers, depth or terms.
    TooLong,
    /// Beyond [`EQUATIONS_MAX`], or [`LINE_BYTES_MAX`].
    TooMany,
    /// Its units cannot be converted into one another.
    MixedUnits,
    /// A root or π, which no rational is equal to.
    NotRational,
    /// A division by zero and the like.
    Undefined,
    /// Numbers that may have been rounded before.
    Rounded,
    /// Digits cut off instead of rounded.
    Truncated,
    /// A result from which the next computation goes on (3 * 5 = 15 + 2 = 17).
    RunOn,
    /// The result of floating-point arithmetic.
    FloatingPoint,
    /// The minus sign may mean "to".
    Range,
    /// Zeros and ones: it may be binary.
    Base,
    /// Said under "if", "suppose".
    Hypothetical,
    /// Said to be wrong, or not to be meant as numbers.
    TakenBack,
    /// Said of another world or system: a novel, a game, modulo 7.
    Framed,
    /// A question.
    Question,
    /// In quotation marks, or in the prompt too.
    Quoted,
    /// Program text.
    Code,
}

impl Reason {
    const ALL: [(Reason, &'static str); 21] = [
        (Reason::MissingOperand, "not_assessed_missing_operand"),
        (Reason::Variable, "not_assessed_variable"),
        (Reason::Notation, "not_assessed_notation"),
        (Reason::Ambiguous, "not_assessed_ambiguous"),
        (Reason::TooLong, "not_assessed_too_long"),
        (Reason::TooMany, "not_assessed_too_many"),
        (Reason::MixedUnits, "not_assessed_mixed_units"),
        (Reason::NotRational, "not_assessed_not_rational"),
        (Reason::Undefined, "not_assessed_undefined"),
        (Reason::Rounded, "not_assessed_rounded"),
        (Reason::Truncated, "not_assessed_truncated"),
        (Reason::RunOn, "not_assessed_run_on"),
        (Reason::FloatingPoint, "not_assessed_floating_point"),
        (Reason::Range, "not_assessed_range"),
        (Reason::Base, "not_assessed_base"),
        (Reason::Hypothetical, "not_assessed_hypothetical"),
        (Reason::TakenBack, "not_assessed_taken_back"),
        (Reason::Framed, "not_assessed_framed"),
        (Reason::Question, "not_assessed_question"),
        (Reason::Quoted, "not_assessed_quoted"),
        (Reason::Code, "not_assessed_code"),
    ];
}

/// A claim that does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct FalseClaim {
    /// `arithmetic/NAME`.
    pub rule: &'static str,
    /// The bytes that are wrong.
    pub span: Range<usize>,
    /// What is the case.
    pub detail: String,
}

/// What was found in a text.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Claims that hold.
    pub held: u64,
    /// Claims that do not.
    pub refuted: Vec<FalseClaim>,
    /// What looks like a claim and is not checked, by reason in the order of [`Reason`].
    pub skipped: [u64; Reason::ALL.len()],
}

impl Report {
    /// Claims that were checked.
    pub fn claims(&self) -> u64 {
        self.held + self.refuted.len() as u64
    }

    fn hold(&mut self) {
        if self.has_room() {
            self.held += 1;
        }
    }

    fn has_room(&mut self) -> bool {
        let has_room = self.claims() < EQUATIONS_MAX;
        if !has_room {
            self.skip(Some(Reason::TooMany));
        }
        has_room
    }

    fn refute(&mut self, rule: &'static str, span: Range<usize>, detail: String) {
        if self.has_room() {
            self.refuted.push(FalseClaim { rule, span, detail: without_identifiers(&detail) });
        }
    }

    fn skip(&mut self, reason: Option<Reason>) {
        if let Some(reason) = reason {
            self.skipped[reason as usize] += 1;
        }
    }
}

/// Settings of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether both sides must be equal, and a rounding is false.
    pub strict: bool,
    /// Whether one false claim blocks by itself.
    pub block: bool,
    /// P(fires | fabricated) / P(fires | not).
    pub likelihood_ratio: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { strict: false, block: true, likelihood_ratio: LIKELIHOOD_RATIO }
    }
}

impl Settings {
    /// The seed: LHS ≠ RHS is always BLOCK, and nothing is said of roundings.
    pub fn seed() -> Settings {
        Settings { strict: true, ..Settings::default() }
    }
}

/// Digits of a whole number from which it may be an account, and so may what is computed of it.
const IDENTIFIER_DIGITS_MIN: usize = 9;

/// A detail whose long whole numbers are hidden.
fn without_identifiers(detail: &str) -> String {
    let mut shown = String::with_capacity(detail.len());
    let mut rest = detail;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[start..].bytes().take_while(u8::is_ascii_digit).count();
        let is_fraction = rest[..start].ends_with('.');
        shown.push_str(&rest[..start]);
        let is_hidden = digits >= IDENTIFIER_DIGITS_MIN && !is_fraction;
        shown.push_str(if is_hidden { REDACTED } else { &rest[start..start + digits] });
        rest = &rest[start + digits..];
    }
    shown + rest
}

/// Checks every claim in `text`. A false one that stands in `prompt` too, word for word, is quoted.
pub fn examine(text: &str, prompt: &str, settings: &Settings) -> Report {
    let mut report = Report::default();
    let bytes = text.as_bytes();
    let mut code: Option<Vec<Range<usize>>> = None;
    let mut mark = None;
    let mut done = 0;
    let mut signs = Signs::of(text);
    let mut derivation = linear::Derivation::default();
    while let Some(at) = signs.next(done).filter(|_| report.claims() < EQUATIONS_MAX) {
        let block = block_around(text, at, done);
        done = block.end.max(at + 1);
        if block.len() > LINE_BYTES_MAX {
            report.skip(Some(Reason::TooMany));
            continue;
        }
        if !has_numbers(&text[block.clone()]) {
            continue;
        }
        let is_code = code::is_within(code.get_or_insert_with(|| code::code_ranges(text)), at);
        let found = report.refuted.len();
        // Program text has names in it; what has none may be a computation that is set in a block.
        if is_code && bytes[block.clone()].iter().filter(|byte| byte.is_ascii_alphabetic()).count() > CODE_LETTERS_MAX {
            report.skip(Some(Reason::Code));
            continue;
        }
        let mark = *mark.get_or_insert_with(|| number::decimal_mark(text));
        claim::examine(text, block.clone(), (is_code, mark), settings, &mut derivation, &mut report);
        forget_quoted(text, prompt, block, found, &mut report);
    }
    table::examine(text, &mut report);
    table::examine_lists(text, &mut report);
    report.refuted.sort_by_key(|claim| (claim.span.start, claim.span.end));
    report.refuted.dedup_by_key(|claim| claim.span.clone());
    report
}

/// Whether two sides, given by themselves, are equal; `None` when that is not known.
pub fn are_equal(left: &str, right: &str, settings: &Settings) -> Option<bool> {
    let side = |text: &str, words: Words| {
        let tokens = lexer::tokens(text, 0..text.len(), &mut Vec::new());
        let (expression, length) = expression::parse(text, &tokens, words).ok()?;
        (length == tokens.len()).then_some(expression)
    };
    if let Some((left, right)) = side(left, Words::Labels).zip(side(right, Words::Labels)) {
        return match claim::check(&left, Relation::Equal, &right, settings.strict) {
            Outcome::Held => Some(true),
            Outcome::False(_) => Some(false),
            Outcome::NotAssessed(_) => None,
        };
    }
    let (left, right) = (side(left, Words::Variables)?, side(right, Words::Variables)?);
    identity::difference(&left, &right).ok().map(|difference| difference.is_none())
}

/// The lines that an equation around `at` goes over, from `floor` on.
fn block_around(text: &str, at: usize, floor: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let line_start = |at: usize| memchr::memrchr(b'\n', &bytes[floor..at]).map_or(floor, |end| floor + end + 1);
    let line_end = |at: usize| memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length);
    let begins_with_sign = |line: &str| {
        let line = line.trim_start_matches([' ', '\t', '&', '\r']);
        line.starts_with('=') || line.starts_with('≈') || line.starts_with("\\approx")
    };
    let (mut start, mut end) = (line_start(at), line_end(at));
    for _ in 0..LINES_MAX {
        if start == floor || !begins_with_sign(&text[start..end]) {
            break;
        }
        start = line_start(start - 1);
    }
    for _ in 0..LINES_MAX {
        let next = (end + 1).min(bytes.len());
        let next_end = line_end(next);
        let goes_on = text[start..end].trim_end().ends_with('=') || begins_with_sign(&text[next..next_end]);
        if next == bytes.len() || !goes_on || next_end - start > LINE_BYTES_MAX {
            break;
        }
        end = next_end;
    }
    start..end
}

/// Takes back what is false but stands in the prompt too: the answer may only speak of it.
fn forget_quoted(text: &str, prompt: &str, block: Range<usize>, found: usize, report: &mut Report) {
    /// Bytes before the wrong number that make it the same equation.
    const EQUATION_BYTES: usize = 8;
    if report.refuted.len() == found || prompt.is_empty() {
        return;
    }
    let is_quoted = |claim: &FalseClaim| {
        let start = text.floor_char_boundary(claim.span.start.saturating_sub(EQUATION_BYTES).max(block.start));
        let equation = text[start..claim.span.end].trim();
        equation.contains('=') && prompt.contains(equation)
    };
    let before = report.refuted.len();
    let mut index = 0;
    report.refuted.retain(|claim| {
        index += 1;
        index <= found || !is_quoted(claim)
    });
    report.skipped[Reason::Quoted as usize] += (before - report.refuted.len()) as u64;
}

/// The engine.
pub struct Arithmetic {
    settings: Settings,
}

impl Arithmetic {
    /// The engine with these settings.
    pub fn new(settings: Settings) -> Arithmetic {
        Arithmetic { settings }
    }
}

impl Engine for Arithmetic {
    fn about(&self) -> About {
        ABOUT
    }

    fn assess(&self, view: &View<'_, '_>) -> Option<Assessment> {
        let record = view.record;
        if record.kind != Kind::Llm {
            return None;
        }
        let Some(response) = record.response.as_deref() else {
            return Some(Assessment::not_assessed("no response"));
        };
        let report = examine(response, view.prompt_text, &self.settings);
        Some(assessment(report, &self.settings))
    }
}

fn assessment(report: Report, settings: &Settings) -> Assessment {
    let (claims, refuted) = (report.claims(), report.refuted.len() as u64);
    let mut assessment = if claims == 0 {
        Assessment::not_assessed("no equation that could be checked")
    } else {
        let status = if refuted > 0 { Status::Error } else { Status::Ok };
        Assessment::new(status, refuted as f64 / claims as f64)
            .with("checked", Detail::Count(claims))
            .with("held", Detail::Count(report.held))
            .with("false", Detail::Count(refuted))
    };
    for ((_, name), count) in Reason::ALL.iter().zip(report.skipped) {
        if count > 0 {
            assessment = assessment.with(name, Detail::Count(count));
        }
    }
    if claims > 0 {
        assessment = assessment.signal(signal(&report, settings));
    }
    let finding = |claim: FalseClaim| Finding {
        detail: claim.detail.into(),
        ..Finding::new(claim.rule, Severity::High, "/response", claim.span)
    };
    assessment.findings = report.refuted.into_iter().map(finding).collect();
    assessment
}

/// Whether more may stand in the text than was checked.
pub fn is_capped(said: &Assessment) -> bool {
    said.details
        .iter()
        .any(|(name, detail)| matches!((*name, detail), ("checked", Detail::Count(claims)) if *claims >= EQUATIONS_MAX))
}

fn signal(report: &Report, settings: &Settings) -> Signal {
    let Some(first) = report.refuted.first() else {
        return Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, (ABSENT_RATIO, RatioSource::Default));
    };
    let is_in_words = report.refuted.iter().all(|claim| matches!(claim.rule, ORDER_RULE | STATEMENT_RULE));
    let own = if is_in_words { settings.likelihood_ratio.min(WORDS_RATIO) } else { settings.likelihood_ratio };
    let ratio = RatioSource::default_or_config(own, if is_in_words { WORDS_RATIO } else { LIKELIHOOD_RATIO });
    let more = report.refuted.len() - 1;
    let detail = if more > 0 { format!("{}; {more} more", first.detail) } else { first.detail.clone() };
    let mut signal = Signal::absent(SIGNAL, Question::Fabricated, Tier::Zero, ratio).fire(1.0, detail);
    signal.class = Class::proven_if(settings.block && !is_in_words);
    signal
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn report(text: &str) -> Report {
        examine(text, "", &Settings::default())
    }

    /// What is wrong in `text`: the characters of each finding, and nothing else.
    #[track_caller]
    fn check(text: &str, wrong: &[&str]) {
        let found = report(text);
        let spans: Vec<&str> = found.refuted.iter().map(|claim| &text[claim.span.clone()]).collect();
        assert_eq!(spans, wrong, "{text:?}: {found:?}");
    }

    /// That so many claims of `text` hold and none fails.
    #[track_caller]
    fn holds(text: &str, claims: u64) {
        let found = report(text);
        assert_eq!((found.held, found.refuted.len()), (claims, 0), "{text:?}: {found:?}");
    }

    #[test]
    fn what_holds_is_counted() {
        for (text, claims) in [
            ("So 2 + 2 = 4.", 1),
            ("3/4 + 1/4 = 1", 1),
            ("10/3 = 3.33", 1),
            ("10 / 3 ≈ 3.3", 1),
            ("The total is 5 * 4 = 20 apples, and 20 - 3 = 17 are left.", 2),
            ("Area = length × width = 5 × 4 = 20 m²", 1),
            ("20% of 50 = 10", 1),
            ("50 + 10% = 55", 1),
            ("3/4 = 75%", 1),
            ("5 kg + 3 kg = 8 kg", 1),
            ("2 hours + 30 minutes = 150 minutes", 1),
            ("$1 - 85 cents = 15 cents", 1),
            ("1.200 + 300 = 1.500", 1),
            ("\\(\\frac{1}{2} + \\frac{1}{3} = \\frac{5}{6}\\)", 1),
            ("$$\\begin{aligned} 2 \\cdot 3 + 4 &= 6 + 4 \\\\ &= 10 \\end{aligned}$$", 2),
            ("2 + 2\n= 4", 1),
            ("2 + 2 =\n4", 1),
            ("5*4=<<5*4=20>>20", 2),
            ("**5 + 3** = **8**", 1),
            ("5 plus 3 equals 8", 1),
            ("12 times 4 is 48.", 1),
            ("20% of 80 is 16.", 1),
            ("The sum of 2 and 3 is 5.", 1),
            ("Half of 20 is 10.", 1),
            ("It increased by 10% from 50 to 55.", 1),
            ("sqrt(2) * sqrt(8) = 4", 1),
            ("√2 = 1.41", 1),
            ("π × 10² = 314.16", 1),
            ("2^10 = 1024 and 2^200 = 1606938044258990275541962092341162602522202993782792835301376", 2),
            ("5! = 120", 1),
            ("3.2 × 10^8 / 2 = 1.6 × 10^8", 1),
            ("7 - 9 = −2", 1),
            ("3 < 5\n", 0),
            ("2 + 2 < 5", 1),
            ("15 = 3 * 5", 1),
            ("2 * 10 = $20 million", 1),
            ("2 1/2 + 1/4 = 2 3/4", 1),
            ("\\[ 5 \\, \\text{m} \\times 7 \\, \\text{m} = 35 \\, \\text{m}^2 \\]", 1),
            ("$A = 4\\pi (7)^2 \\approx 615.75$", 1),
            ("90 pieces of straw / 3 cages = 30 pieces of straw.", 1),
            ("2x + 3 = 11\n2x = 8\nx = 4", 1),
        ] {
            holds(text, claims);
        }
    }

    #[test]
    fn what_does_not_hold_is_found_where_it_stands() {
        for (text, wrong) in [
            ("So 2 + 2 = 5.", &["5"][..]),
            ("3/4 + 1/4 = 2", &["2"]),
            ("10/3 = 3.34", &["3.34"]),
            ("10 / 3 ≈ 3.6", &["3.6"]),
            ("He pays 3 * $5 = $16 in all.", &["16"]),
            ("5 - 8 = 3", &["3"]),
            ("6 * 7 = 42 = 43", &["43"]),
            ("6 * 7 = 41 + 0 = 42", &["41 + 0", "42"]),
            ("20% of 50 = 11", &["11"]),
            ("2 hours + 30 minutes = 140 minutes", &["140"]),
            ("\\[ \\frac{1}{2} + \\frac{1}{3} = \\frac{2}{5} \\]", &["\\frac{2}{5}"]),
            ("5 plus 3 equals 9", &["9"]),
            ("12 times 4 is 46.", &["46"]),
            ("20% of 80 is 18.", &["18"]),
            ("The sum of 2, 3 and 4 is 10.", &["10"]),
            ("Half of 20 is 12.", &["12"]),
            ("Sales increased by 30% from 50 to 55.", &["30%"]),
            ("| a | n |\n|---|---|\n| x | 5 |\n| y | 7 |\n| **Total** | **13** |", &["13"]),
            (
                "| a | n | p | Total |\n|--|--|--|--|\n| x | 2 | 5 | 10 |\n| y | 3 | 4 | 12 |\n| z | 2 | 7 | 15 |",
                &["15"],
            ),
            ("Expanding, (x+1)^2 = x^2 + 1.", &["x^2 + 1"]),
            ("123456789*987654321 = 121932631112635268", &["121932631112635268"]),
            ("Therefore 9 + 1 > 12", &[][..]),
            ("15 = 3 * 4", &["15"]),
            ("In code:\n```\n2 + 2 = 5\n```\n", &["5"]),
            ("90 pieces of straw / 3 cages = 33 pieces of straw.", &["33"]),
            ("$1200/month * 12 months/year = $14401", &["14401"]),
            ("10^6 is 100,000.", &["100,000"]),
            ("0.5 < 0.25", &["0.25"]),
            ("17 mod 5 = 3", &["3"]),
        ] {
            check(text, wrong);
        }
    }

    #[test]
    fn what_is_not_claimed_is_not_checked() {
        for text in [
            "If 2 + 2 = 5, then pigs fly.",
            "Suppose that 1 + 1 = 3.",
            "Is 2 + 2 = 5?",
            "2 + 2 = 5 is wrong.",
            "It is incorrect that 2 + 2 = 5.",
            "2 + 2 = 5. That is not correct.",
            "Incorrect:\n2 + 2 = 5",
            "You wrote \"2 + 2 = 5\" above.",
            "> 2 + 2 = 5\n\nNo.",
            "2 + 2 ≠ 5",
            "7 + 8 = 3 (mod 12)",
            "In binary, 10 + 1 = 11",
            "1 + 1 = 10",
            "x = 5",
            "y = 2x + 1",
            "2x + 3 = 7",
            "3x - 5 = 10",
            "x + 5 + 3 = 8",
            "the cost x + 56 = $86",
            "f(2 + 3) = 10",
            "log(5 + 5) = 1",
            "pages 5-10 = 6 pages",
            "2:15 + 0:30 = 2:45",
            "0900 - 0130 = 0730",
            "version 1.2.3 = 4",
            "2023-01-05 = 3",
            "[1, 2] + [3, 4] = [4, 6]",
            "20/3 = 6.66",
            "0.1 + 0.2 = 0.30000000000000004",
            "3 * 4 = 12 + 5 = 17",
            "60 / 3/4 = 80",
            "6/2(1+2) = 9",
            "5 times 3 is 3 more than 12.",
            "20% of 80 people are 18 years old.",
            "3 lots of 2 + 2 = 9",
            "half of 2 + 2 = 3",
            "add 5 to 3 + 4 = 12",
            "`x = 2 + 3`",
            "```python\nx = 2 + 2 == 5\ny = 3 + 4 if z else 5 = 8\n```",
            "1/0 = 5",
            "7 / 2 = 3 remainder 1",
            "7 + 8 mod 12 = 3",
            "17 % 5 = 4",
            "(x+1)^2 = x^2+1",
            "Solve the equation and factor: (x+1)^2 = x^2 + 1",
            "| Item | Rate |\n|---|---|\n| a | 5 |\n| b | 7 |\n| Total | 13 |",
            "2 * 60 = 2 hours",
            "<b>5</b> = <i>6</i>",
            "4/7 is equal to $24",
            "He has 20 points (5-1=6).",
            "It increased by 17.2% from 2005 to 2012.",
            "https://a.example/?n=925-22-8758&phone=+1 (234)",
            "1 Column = 2- 1/16\"",
            "x = (1 - 2.5), (2 - 2.5) = -1.5, -0.5",
            "3 bags of leaves / 15 minutes = 8 bags of leaves / Y.",
            "Winston is made to accept that 2 + 2 = 5.",
            "7 > 9? No.",
            "7 > 9, no",
            "the slopes are $m(6m) = 6m^2 = \\frac{30}{11}$",
        ] {
            let found = report(text);
            assert!(found.refuted.is_empty(), "{text:?}: {found:?}");
        }
    }

    #[test]
    fn what_stands_in_the_prompt_is_only_spoken_of() {
        let settings = Settings::default();
        let text = "You know 2 + 2 = 5, and I see why.";
        assert_eq!(examine(text, "Is it true that 2 + 2 = 5", &settings).refuted.len(), 0);
        assert_eq!(examine(text, "Something else", &settings).refuted.len(), 1);
    }

    #[test]
    fn strict_asks_for_equality() {
        let strict = Settings { strict: true, ..Settings::default() };
        assert_eq!(examine("10/3 = 3.33", "", &strict).refuted.len(), 1);
        assert_eq!(examine("√2 = 1.41", "", &strict).refuted.len(), 1);
        assert_eq!(examine("7/2 = 3.5 and √16 = 4", "", &strict).held, 2);
    }

    #[test]
    fn a_false_equation_is_a_proof_and_nothing_is_not_assessed() {
        let of = |text: &str| assessment(report(text), &Settings::default());
        let wrong = of("3/4 + 1/4 = 2");
        assert_eq!(wrong.findings[0].detail, "3 / 4 + 1 / 4 = 1, not 2");
        assert!(wrong.signals[0].class == Class::Proof && wrong.signals[0].fired && wrong.status == Status::Error);
        let right = of("3/4 + 1/4 = 1");
        assert!(!right.signals[0].fired && right.value == Some(0.0));
        let nothing = of("y = 2x + 1");
        assert!(nothing.signals.is_empty() && matches!(nothing.status, Status::NotAssessed(_)));
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        for text in [
            "=".repeat(100_000),
            "1+".repeat(50_000) + "1 = 2",
            "(".repeat(50_000) + "= 1",
            "1 = ".repeat(30_000),
            "2 + 2 = 5\n".repeat(5_000),
            "\n= 1 + 1".repeat(10_000),
            "9".repeat(10_000) + " + 1 = 5",
            "2^(10^9) = 3, 2^2^2^2^2^2^2^2 = 1, 99999999! = 3".repeat(500),
            "1 / 3 + ".repeat(10_000) + "1 = 2",
            "| 1 ".repeat(50_000),
            "|1|2|\n".repeat(20_000),
            "<<".repeat(20_000) + "=1",
            "the sum of 1, ".repeat(10_000),
            "1.1^300 * ".repeat(300) + "1 = 2",
            "x = 2, ".repeat(20_000),
            "2x = 4\nx = 3\n".repeat(5_000),
            "the average of 1, ".repeat(3_000),
            "a: 1\nTotal: 1\n".repeat(20_000),
            "20% off $50 ".repeat(5_000) + "is $3",
            "five times five is ".repeat(3_000),
            "1 km is 2 m and ".repeat(3_500),
        ] {
            let found = report(&text);
            assert!(found.claims() <= EQUATIONS_MAX, "{}", &text[..20]);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "[0-9x+*/^=().,%$ \\n|{}<>!?a-c~≈√½²\\\\-]{0,120}") {
            let found = report(&text);
            for claim in found.refuted {
                prop_assert!(text.get(claim.span).is_some_and(|wrong| !wrong.is_empty()));
            }
        }

        #[test]
        fn true_sums_hold_and_false_ones_do_not(a in 2_i64..100_000, b in 2_i64..100_000, off in 1_i64..1_000) {
            prop_assert_eq!(report(&format!("So {a} + {b} = {} in all.", a + b)).held, 1);
            prop_assert_eq!(report(&format!("So {a} * {b} = {} in all.", a * b)).held, 1);
            prop_assert_eq!(report(&format!("So {a} + {b} = {} in all.", a + b + off)).refuted.len(), 1);
        }
    }
}
