//! Computations that are put into words: "the average of 3, 4 and 8 is 6", "20% off $50 is $45", "2 hours is 140 minutes".
//!
//! What is said stands in `statements.toml`, by language: patterns of words and numbers with a formula each. Numbers may be
//! digits or words. Expressions with spelled-out operators between digits ("12 times 4 is 48") are those of
//! [`claim`](super::claim).
//!
//! **Formula**: the formula over the numbers that were read, by exact rationals. A statement is false when the result, at the
//! precision in which it is written, is no rounding of any value that may be meant, nor of one that it takes when its numbers
//! are roundings themselves.
//!
//! **Limits**: [`OPERANDS_MAX`] numbers of a list, [`STEPS_MAX`] steps of one comparison. A result that its places cannot hold
//! may be off by [`ROUNDED_SHARE`] of itself, a change in percent by [`CHANGE_SHARE`], a conversion between systems by
//! [`SYSTEMS_SHARE`]; "about" is not assessed. Before a statement that begins with a number stands nothing, or a word that
//! cannot own the number.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
    sync::LazyLock,
};

use serde::Deserialize;

use super::{
    ORDER_RULE, Reason, Report, STATEMENT_RULE, Settings, claim,
    expression::{self, Expression, Words},
    lexer::{self, Kind, Relation, Token},
    number::{Exact, Literal, choices, factorial, is_rounding},
    unit::{self, Unit},
};
use crate::text::quantity::spelled;

/// Numbers of one list.
pub const OPERANDS_MAX: usize = 20;
/// Steps of the comparison of one pattern with one place.
pub const STEPS_MAX: u32 = 400;
/// By how much a result may be off, relative to itself, that cannot be written exactly in its places.
pub const ROUNDED_SHARE: f64 = 0.005;
/// By how much a change in percent may be off, relative to itself: both ends of it are rounded more often than not.
pub const CHANGE_SHARE: f64 = 0.02;
/// By how much a conversion may be off whose factor is no whole number.
pub const SYSTEMS_SHARE: f64 = 0.03;
/// The same where several units have one name, or the factor is a mean: tons, cups, months.
pub const LOOSE_SHARE: f64 = 0.1;
/// Words between a result and the end of its clause that say what it counts.
const LABELS_MAX: usize = 2;
/// The largest denominator of a fraction.
const DENOMINATOR_MAX: i64 = 1_000;

/// The patterns of one language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Language {
    leads: Vec<String>,
    refuses: Vec<String>,
    goes_on: Vec<String>,
    #[serde(default)]
    versions: Vec<String>,
    #[serde(default)]
    articles: Vec<String>,
    statement: Vec<Entry>,
}

/// A statement as it stands in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    what: String,
    says: Vec<String>,
    #[serde(default)]
    value: Vec<String>,
    compare: Option<String>,
    #[serde(default)]
    convert: bool,
    #[serde(default)]
    change: bool,
    #[serde(default)]
    spelled: bool,
    #[serde(default)]
    anywhere: bool,
    #[serde(default)]
    within: bool,
    #[serde(default)]
    about: bool,
}

/// A number, by its letter.
type Letter = u8;

/// A part of a pattern.
#[derive(Clone, Debug)]
enum Part {
    /// One of several sequences of words.
    Words(Vec<Vec<String>>),
    /// A number.
    Number(Letter),
    /// A percentage.
    Percent(Letter),
    /// A fraction in words or digits.
    Fraction(Letter),
    /// Numbers with commas and "and" between them.
    List,
    /// A word that is the same wherever it stands.
    Noun(u8),
    /// A unit of measure, as one of it.
    Unit,
}

/// What a result is held against.
#[derive(Debug)]
enum Value {
    Formula(Expression),
    Mean,
    Median,
    Sum,
    Product,
    Factorial,
    Choices,
    Root(u32),
}

#[derive(Debug)]
struct Statement {
    what: String,
    values: Vec<Value>,
    /// Whether {a} must be above {b}; `Some(false)`: below.
    compare: Option<bool>,
    is_conversion: bool,
    is_change: bool,
    is_spelled: bool,
    is_anywhere: bool,
    is_within: bool,
    is_about: bool,
    /// Words behind the result that may say what it counts.
    labels: usize,
}

#[derive(Debug)]
struct Pattern {
    statement: usize,
    parts: Vec<(Part, bool)>,
}

/// All patterns, by how they begin.
struct Known {
    statements: Vec<Statement>,
    patterns: Vec<Pattern>,
    by_word: HashMap<String, Vec<usize>>,
    by_number: Vec<usize>,
    leads: HashSet<String>,
    refuses: HashSet<String>,
    goes_on: HashSet<String>,
    versions: HashSet<String>,
    articles: HashSet<String>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let table: BTreeMap<String, Language> = toml::from_str(include_str!("statements.toml")).unwrap_or_default();
    let mut known = Known {
        statements: Vec::new(),
        patterns: Vec::new(),
        by_word: HashMap::new(),
        by_number: Vec::new(),
        leads: HashSet::new(),
        refuses: HashSet::new(),
        goes_on: HashSet::new(),
        versions: HashSet::new(),
        articles: HashSet::new(),
    };
    for (name, language) in table {
        // What may follow a number without counting with it ("18 Jahre alt") is known of English only.
        let labels = if name == "en" { LABELS_MAX } else { 0 };
        known.articles.extend(language.articles);
        known.leads.extend(language.leads);
        known.refuses.extend(language.refuses);
        known.goes_on.extend(language.goes_on);
        known.versions.extend(language.versions);
        for entry in language.statement {
            known.add(entry, labels);
        }
    }
    known
});

impl Statement {
    /// Whether nothing but a lead may stand before it: it says little by itself.
    fn is_strict(&self) -> bool {
        !self.is_anywhere && (self.is_conversion || self.compare.is_some())
    }
}

impl Known {
    fn add(&mut self, entry: Entry, labels: usize) {
        let statement = self.statements.len();
        self.statements.push(Statement {
            what: entry.what,
            values: entry.value.iter().filter_map(|text| value_of(text)).collect(),
            compare: entry.compare.map(|order| order == "greater"),
            is_conversion: entry.convert,
            is_change: entry.change,
            is_spelled: entry.spelled,
            is_anywhere: entry.anywhere,
            is_within: entry.within,
            is_about: entry.about,
            labels,
        });
        for says in entry.says {
            let pattern = Pattern { statement, parts: parts_of(&says) };
            let index = self.patterns.len();
            let mut begins_with_number = false;
            for (part, is_optional) in &pattern.parts {
                match part {
                    Part::Words(alternatives) => {
                        for first in alternatives.iter().filter_map(|words| words.first()) {
                            let called = self.by_word.entry(first.clone()).or_default();
                            if called.last() != Some(&index) {
                                called.push(index);
                            }
                        }
                    }
                    _ => begins_with_number = true,
                }
                if !is_optional {
                    break;
                }
            }
            if begins_with_number {
                self.by_number.push(index);
            }
            self.patterns.push(pattern);
        }
    }
}

fn value_of(text: &str) -> Option<Value> {
    Some(match text {
        "mean" => Value::Mean,
        "median" => Value::Median,
        "sum" => Value::Sum,
        "product" => Value::Product,
        "factorial" => Value::Factorial,
        "choices" => Value::Choices,
        "square_root" => Value::Root(2),
        "cube_root" => Value::Root(3),
        formula => {
            let tokens = lexer::tokens(formula, 0..formula.len(), &mut Vec::new());
            Value::Formula(expression::parse(formula, &tokens, Words::Variables).ok()?.0)
        }
    })
}

/// The parts of a pattern, and which of them may be missing.
fn parts_of(says: &str) -> Vec<(Part, bool)> {
    let mut parts = Vec::new();
    let mut rest = says.trim();
    while !rest.is_empty() {
        let end = if rest.starts_with('(') && !rest.starts_with("( ") {
            rest.find(')').map_or(rest.len(), |end| end + 1)
        } else {
            rest.find(' ').unwrap_or(rest.len())
        };
        let (mut own, mut behind) = rest.split_at(end);
        let is_optional = behind.trim_start().starts_with("? ") || behind.starts_with('?') || own.ends_with('?');
        own = own.trim_end_matches('?');
        behind = behind.trim_start().trim_start_matches('?');
        parts.push((part_of(own), is_optional));
        rest = behind.trim_start();
    }
    parts
}

fn part_of(own: &str) -> Part {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    match own.strip_prefix('{').and_then(|own| own.strip_suffix('}')) {
        Some("list") => Part::List,
        Some("unit") => Part::Unit,
        Some("f") => Part::Fraction(b'f'),
        Some("noun") => Part::Noun(0),
        Some("noun2") => Part::Noun(1),
        Some(name) if name.ends_with('%') => Part::Percent(name.as_bytes()[0]),
        Some(name) => Part::Number(name.bytes().next().unwrap_or(b'a')),
        None => match own.strip_prefix('(').and_then(|own| own.strip_suffix(')')) {
            Some(inner) => Part::Words(inner.split('|').map(words).collect()),
            None => Part::Words(vec![words(own)]),
        },
    }
}

/// A piece of a text: a number, or anything else.
#[derive(Debug)]
struct Item<'t> {
    said: Said<'t>,
    tokens: Range<usize>,
}

#[derive(Debug)]
enum Said<'t> {
    Number(Box<Number>),
    /// In lower case.
    Text(Cow<'t, str>),
}

/// A number in digits or words.
#[derive(Clone, Debug)]
struct Number {
    literal: Literal,
    unit: Option<Unit>,
    is_percent: bool,
    is_spelled: bool,
    is_fraction: bool,
    is_scaled: bool,
}

impl Number {
    fn is_plain(&self) -> bool {
        !self.is_percent
    }

    /// How far it may be away from what it is a rounding of.
    fn half_place(&self) -> Option<Exact> {
        let may_be_rounded = self.is_scaled || self.literal.places > 0 && self.unit.is_none();
        may_be_rounded.then(|| self.literal.last_place.div(&Exact::whole(2))).flatten()
    }
}

/// Checks the statements in `tokens`.
pub fn examine(text: &str, tokens: &[Token], settings: &Settings, report: &mut Report) {
    let items = items(text, tokens);
    let known = &*KNOWN;
    let mut at = 0;
    while at < items.len() {
        let called = match &items[at].said {
            Said::Number(_) => Some(&known.by_number),
            Said::Text(word) => known.by_word.get(word.as_ref()),
        };
        let found = called.into_iter().flatten().find_map(|index| {
            let pattern = &known.patterns[*index];
            Match::of(&items, tokens, text, at, pattern).map(|found| (found, &known.statements[pattern.statement]))
        });
        let Some((found, statement)) = found else {
            at += 1;
            continue;
        };
        let place = items[at].tokens.start..items[found.end - 1].tokens.end;
        match found.outcome(statement, settings) {
            None => {}
            Some(Ok(())) => report.hold(),
            Some(Err(Outcome::Doubtful)) => report.skip(Some(Reason::Rounded)),
            Some(Err(Outcome::False(number, detail))) => {
                let is_version = statement.compare.is_some() && is_about_versions(text, tokens, &place, &found);
                let reason = claim::taken_back(text, tokens, place).or(is_version.then_some(Reason::Ambiguous));
                match reason {
                    Some(reason) => report.skip(Some(reason)),
                    None => {
                        let own = &tokens[number];
                        let span = own.first().map_or(0, |token| token.span.start)
                            ..own.last().map_or(0, |token| token.span.end);
                        let rule = if statement.compare.is_some() { ORDER_RULE } else { STATEMENT_RULE };
                        report.refute(rule, span, detail);
                    }
                }
            }
        }
        // The result may be where the next statement begins.
        at = (found.end - 1).max(at + 1);
    }
}

fn is_about_versions(text: &str, tokens: &[Token], place: &Range<usize>, found: &Match<'_>) -> bool {
    const WORDS_MAX: usize = 40;
    let has_points = found.numbers.values().any(|(number, _)| number.literal.places > 0);
    let around = tokens[place.start.saturating_sub(WORDS_MAX)..(place.end + WORDS_MAX).min(tokens.len())].iter();
    let is_version = |token: &Token| KNOWN.versions.contains(&text[token.span.clone()].to_ascii_lowercase());
    has_points && around.into_iter().any(is_version)
}

/// Numbers with their signs, units of money, scales and percent signs become one item each.
fn items<'t>(text: &'t str, tokens: &[Token]) -> Vec<Item<'t>> {
    let mut items = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if let Some((number, end)) = number_at(text, tokens, at) {
            items.push(Item { said: Said::Number(Box::new(number)), tokens: at..end });
            at = end;
            continue;
        }
        // "divided by" is one operator and two words. The number of "squared" has no text.
        let said = text_of(text, &tokens[at]);
        match said.split_once(' ') {
            Some((first, second)) => {
                for word in [first, second] {
                    items.push(Item { said: Said::Text(word.to_owned().into()), tokens: at..at + 1 });
                }
            }
            None if said.is_empty() => {}
            None => items.push(Item { said: Said::Text(said), tokens: at..at + 1 }),
        }
        at += 1;
    }
    items
}

fn text_of<'t>(text: &'t str, token: &Token) -> Cow<'t, str> {
    let own = &text[token.span.clone()];
    match token.kind {
        _ if own == "\u{2014}" => Cow::Borrowed(","),
        Kind::Boundary => Cow::Borrowed("\n"),
        Kind::Relation(Relation::Equal) if own.starts_with(|c: char| c.is_ascii_alphabetic()) => "equals".into(),
        _ if own.bytes().any(|byte| byte.is_ascii_uppercase()) => own.to_ascii_lowercase().into(),
        _ => Cow::Borrowed(own),
    }
}

/// The number that begins at a token, and where it ends.
fn number_at(text: &str, tokens: &[Token], start: usize) -> Option<(Number, usize)> {
    let mut at = start;
    let is_negative = matches!(tokens[at].kind, Kind::Minus)
        && tokens.get(at + 1).is_some_and(|next| !next.is_spaced)
        && (at == 0 || tokens[at].is_spaced && !tokens[at - 1].ends_operand());
    at += usize::from(is_negative);
    let mut unit = None;
    if let Kind::Currency(sign) = tokens.get(at)?.kind {
        unit = Some(sign);
        at += 1;
    }
    let (mut literal, is_spelled, mut is_fraction) = match &tokens.get(at)?.kind {
        Kind::Number(literal) if !tokens[at].span.is_empty() => ((**literal).clone(), false, false),
        Kind::Word if unit.is_none() && !is_negative => {
            let (value, count) = spelled_at(text, tokens, at)?;
            at += count - 1;
            (Literal::exactly(value), true, false)
        }
        _ => return None,
    };
    at += 1;
    // 3/4 and "three quarters"
    if let [
        Token { kind: Kind::Divide, is_spaced: false, .. },
        Token { kind: Kind::Number(below), is_spaced: false, .. },
        ..,
    ] = tokens.get(at..)?
    {
        let parts = literal.value.to_whole().zip(below.value.to_whole());
        let (a, b) = parts.filter(|(_, b)| (2..=DENOMINATOR_MAX).contains(b) && unit.is_none())?;
        literal = Literal::exactly(Exact::fraction(a, b));
        is_fraction = true;
        at += 2;
    } else if let Some(part) = word_at(text, tokens, at).filter(|_| is_spelled).and_then(|word| spelled::part(&word)) {
        literal = Literal::exactly(literal.value.div(&Exact::whole(part))?);
        is_fraction = true;
        at += 1;
    }
    let mut is_scaled = literal.is_scaled;
    if !is_spelled && !is_fraction {
        // "500k" needs no money.
        let is_thousands = |word: &str| word == "k" && tokens.get(at).is_some_and(|token| !token.is_spaced);
        let power = word_at(text, tokens, at)
            .and_then(|word| if is_thousands(&word) { Some(3) } else { spelled::scale(&word) });
        if let Some(power) = power {
            literal = literal.scaled(&Exact::whole(10).pow(i64::from(power))?)?;
            is_scaled = true;
            at += 1;
        }
    }
    if is_negative {
        literal.value = literal.value.negated();
    }
    let is_percent = tokens.get(at).is_some_and(|token| matches!(token.kind, Kind::Percent));
    at += usize::from(is_percent);
    Some((Number { literal, unit, is_percent, is_spelled, is_fraction, is_scaled }, at))
}

fn word_at(text: &str, tokens: &[Token], at: usize) -> Option<String> {
    let token = tokens.get(at).filter(|token| matches!(token.kind, Kind::Word))?;
    Some(text[token.span.clone()].to_ascii_lowercase())
}

/// The number in words at a token, and its words.
fn spelled_at(text: &str, tokens: &[Token], at: usize) -> Option<(Exact, usize)> {
    const WORDS_MAX: usize = 8;
    let first = word_at(text, tokens, at)?;
    if !spelled::is_number_word(&first) {
        return None;
    }
    let words: Vec<String> = (at..at + WORDS_MAX).map_while(|at| word_at(text, tokens, at)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (value, count) = spelled::read(&words)?;
    Some((Exact::whole(value), count))
}

/// What became of a statement that does not hold.
enum Outcome {
    /// Its numbers may be rounded.
    Doubtful,
    /// It is false: the tokens of the number that is wrong, and what is the case.
    False(Range<usize>, String),
}

/// A pattern that fits.
#[derive(Clone, Debug, Default)]
struct Match<'i> {
    /// By their letters, with their tokens.
    numbers: BTreeMap<Letter, (Number, Range<usize>)>,
    list: Vec<&'i Number>,
    nouns: [Option<String>; 2],
    end: usize,
}

struct Matcher<'i, 't> {
    items: &'i [Item<'t>],
    parts: &'i [(Part, bool)],
    found: Match<'i>,
    steps: u32,
}

impl<'i> Match<'i> {
    fn of(items: &'i [Item<'_>], tokens: &[Token], text: &str, at: usize, pattern: &'i Pattern) -> Option<Match<'i>> {
        let statement = &KNOWN.statements[pattern.statement];
        if !may_begin(items, tokens, at, statement) {
            return None;
        }
        let mut matcher = Matcher { items, parts: &pattern.parts, found: Match::default(), steps: STEPS_MAX };
        let ends_with_number =
            matches!(pattern.parts.last(), Some((Part::Number(_) | Part::Percent(_) | Part::Fraction(_), _)));
        // "9 out of 10 agree, which is 95% confidence"
        let labels = if matches!(pattern.parts.last(), Some((Part::Percent(_), _))) { 0 } else { statement.labels };
        let end = matcher.fits(0, at, &|end| !ends_with_number || may_end(items, tokens, text, end, labels))?;
        let mut found = matcher.found;
        found.end = end;
        let numbers = || found.numbers.values().map(|(number, _)| number);
        let is_spelled = !statement.is_spelled || numbers().any(|number| number.is_spelled);
        // One unit of money, or none.
        let money: Vec<u8> = numbers().filter_map(|number| number.unit).map(|unit| unit.kind).collect();
        let is_alike = statement.is_conversion || money.windows(2).all(|pair| pair[0] == pair[1]);
        (is_spelled && is_alike).then_some(found)
    }

    /// Whether it holds; `None` when nothing can be said.
    fn outcome(&self, statement: &Statement, settings: &Settings) -> Option<Result<(), Outcome>> {
        if statement.is_conversion {
            return self.conversion(settings, statement.is_about);
        }
        if let Some(is_greater) = statement.compare {
            return self.comparison(is_greater);
        }
        let (said, place) = self.numbers.get(&b'r')?;
        let values: Vec<Exact> = statement.values.iter().filter_map(|value| self.value(value, None)).collect();
        let value = values.first()?;
        let stated = &said.literal;
        let is_below = |number: &&Number| number.literal.value.compare(&stated.value).is_le();
        let below = self.list.iter().copied().filter(|number| is_below(number)).count();
        if statement.is_within && (below == 0 || below == self.list.len()) {
            return None;
        }
        let holds = |value: &Exact| {
            if settings.strict {
                value.compare(&stated.value).is_eq()
            } else {
                is_rounding(value, &stated.value, &stated.last_place)
            }
        };
        if values.iter().any(holds) {
            return Some(Ok(()));
        }
        let share = if statement.is_change { CHANGE_SHARE } else { ROUNDED_SHARE };
        let is_near = |value: &Exact| {
            let is_exact = value.div(&stated.last_place).is_some_and(|places| places.is_whole());
            let room = share * value.to_double().abs() + stated.last_place.to_double();
            let distance = value.sub(&stated.value).map_or(f64::INFINITY, |off| off.abs().to_double());
            (!is_exact || statement.is_change && distance < room - stated.last_place.to_double()) && distance <= room
        };
        if values.iter().any(is_near) || statement.values.iter().any(|value| self.may_be_rounded(value, stated)) {
            return Some(Err(Outcome::Doubtful));
        }
        // "from 5 to 10 percent", years, and a fall that is called a rise, are something else.
        let is_year = |letter: &u8| {
            let year = self.numbers.get(letter).and_then(|(number, _)| number.literal.value.to_whole());
            year.is_some_and(|year| (1_900..=2_100).contains(&year))
        };
        if statement.is_change && ([b'a', b'b'].iter().all(is_year) || value.is_negative()) {
            return None;
        }
        let sign = if said.is_percent { "%" } else { "" };
        let detail = format!("{} is {}{sign}, not {}{sign}", statement.what, value.show(), stated.value.show());
        Some(Err(Outcome::False(place.clone(), detail)))
    }

    /// The value with the numbers as they stand, or with those of `corner` moved by half of their last place.
    fn value(&self, value: &Value, corner: Option<u32>) -> Option<Exact> {
        let list = || self.list.iter().map(|number| &number.literal.value);
        let sum = || list().try_fold(Exact::whole(0), |sum, value| sum.add(value));
        let first = || self.numbers.get(&b'a').map(|(number, _)| &number.literal.value);
        match value {
            Value::Formula(formula) => {
                let mut values = vec![Exact::whole(0); 26];
                let mut bit = 0;
                for (letter, (number, _)) in &self.numbers {
                    let mut own = number.literal.value.clone();
                    if let Some((half, corner)) = number.half_place().zip(corner).filter(|_| *letter != b'r') {
                        let is_up = corner & (1 << bit) != 0;
                        own = if is_up { own.add(&half) } else { own.sub(&half) }?;
                        bit += 1;
                    }
                    *values.get_mut(usize::from(letter.checked_sub(b'a')?))? = own;
                }
                formula.exact_with(&values).ok()
            }
            Value::Sum => sum(),
            Value::Mean => sum()?.div(&Exact::whole(self.list.len() as i64)),
            Value::Product => list().try_fold(Exact::whole(1), |product, value| product.mul(value)),
            Value::Median => {
                let mut sorted: Vec<&Exact> = list().collect();
                sorted.sort_by(|a, b| a.compare(b));
                let middle = sorted.len() / 2;
                let upper = *sorted.get(middle)?;
                if sorted.len() % 2 == 1 {
                    return Some(upper.clone());
                }
                upper.add(sorted.get(middle.checked_sub(1)?)?)?.div(&Exact::whole(2))
            }
            Value::Factorial => factorial(first()?.to_whole()?),
            Value::Choices => choices(first()?.to_whole()?, self.numbers.get(&b'b')?.0.literal.value.to_whole()?),
            Value::Root(degree) => {
                /// Digits of a root that is not rational.
                const DIGITS: i64 = 1_000_000_000;
                let of = first()?;
                of.root(*degree).or_else(|| {
                    let root = of.to_double().powf(1.0 / f64::from(*degree)) * DIGITS as f64;
                    (root.is_finite() && root.abs() < i64::MAX as f64)
                        .then(|| Exact::fraction(root.round() as i64, DIGITS))
                })
            }
        }
    }

    /// Whether the numbers may be roundings of ones with which it holds.
    fn may_be_rounded(&self, value: &Value, stated: &Literal) -> bool {
        let rounded = self.numbers.values().filter(|(number, _)| number.half_place().is_some()).count();
        if rounded == 0 || rounded > 4 {
            return false;
        }
        let corners = (0..1_u32 << rounded).filter_map(|corner| self.value(value, Some(corner)));
        let ends: Vec<f64> = corners.map(|value| value.to_double()).collect();
        let (low, high) = (
            ends.iter().copied().fold(f64::INFINITY, f64::min),
            ends.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        let (said, place) = (stated.value.to_double(), stated.last_place.to_double());
        low - place <= said && said <= high + place
    }

    fn comparison(&self, is_greater: bool) -> Option<Result<(), Outcome>> {
        let ((a, _), (b, place)) = (self.numbers.get(&b'a')?, self.numbers.get(&b'b')?);
        let scale = |number: &Number| number.unit.map_or_else(|| Exact::whole(1), Unit::factor);
        let kinds = (a.unit.map(|unit| unit.kind), b.unit.map(|unit| unit.kind));
        if kinds.0 != kinds.1 || a.is_percent != b.is_percent {
            return None;
        }
        let order = a.literal.value.mul(&scale(a))?.compare(&b.literal.value.mul(&scale(b))?);
        if order.is_gt() == is_greater && order.is_ne() {
            return Some(Ok(()));
        }
        let name = match order {
            std::cmp::Ordering::Less => "less than",
            std::cmp::Ordering::Equal => "equal to",
            std::cmp::Ordering::Greater => "greater than",
        };
        let detail = format!("{} is {name} {}", a.literal.value.show(), b.literal.value.show());
        Some(Err(Outcome::False(place.clone(), detail)))
    }

    fn conversion(&self, settings: &Settings, is_about: bool) -> Option<Result<(), Outcome>> {
        let ((a, from), (b, to)) = (self.numbers.get(&b'a')?, self.numbers.get(&b'b')?);
        let (own, other) = (a.unit?, b.unit?);
        let calendar = |unit: Unit| if unit.kind == unit::CALENDAR { unit::TIME } else { unit.kind };
        if own.id == other.id || calendar(own) != calendar(other) || a.is_percent || b.is_percent {
            return None;
        }
        let factor = own.factor().div(&other.factor())?;
        let is_even =
            |factor: &Exact| factor.is_whole() || Exact::whole(1).div(factor).is_some_and(|one| one.is_whole());
        let is_mixed_calendar = own.kind != other.kind;
        let is_loose = is_mixed_calendar || own.has_several_sizes() != other.has_several_sizes();
        let share = if is_about {
            about_share(&b.literal)
        } else if is_loose {
            LOOSE_SHARE
        } else if is_even(&factor) {
            0.0
        } else {
            SYSTEMS_SHARE
        };
        let factor = if is_mixed_calendar { days_of(own)?.div(&days_of(other)?)? } else { factor };
        let mut values = vec![a.literal.value.mul(&factor)?];
        // An imperial gallon has imperial pints and litres like any other.
        let sizes = |unit: Unit| unit.other_sizes();
        let (own_sizes, their_sizes) = (sizes(own), sizes(other));
        let mut other_values = Vec::new();
        for index in 0..own_sizes.len().max(their_sizes.len()) {
            let factor = own_sizes.get(index).cloned().unwrap_or_else(|| own.factor());
            let unit = their_sizes.get(index).cloned().unwrap_or_else(|| other.factor());
            other_values.push(a.literal.value.mul(&factor)?.div(&unit)?);
        }
        if own.kind == unit::DATA {
            let bit = Exact::fraction(1_024, 1_000);
            for power in -4..=4_i64 {
                values.push(values[0].mul(&bit.pow(power)?)?);
            }
        }
        let stated = &b.literal;
        let half = a.literal.last_place.div(&Exact::whole(2))?.mul(&factor)?.to_double().abs();
        let is_rounded = a.literal.places > 0 || a.is_scaled;
        let near = |value: &Exact| {
            let is_exact = value.div(&stated.last_place).is_some_and(|places| places.is_whole());
            let distance = value.sub(&stated.value).map_or(f64::INFINITY, |off| off.abs().to_double());
            let room = share.max(if is_exact { 0.0 } else { ROUNDED_SHARE }) * value.to_double().abs();
            let rounding = if is_rounded && !(is_exact && share == 0.0 && a.literal.places <= 1) { half } else { 0.0 };
            distance <= room + rounding
        };
        let holds = |value: &Exact| is_rounding(value, &stated.value, &stated.last_place);
        if values.iter().any(|value| if settings.strict { value.compare(&stated.value).is_eq() } else { holds(value) })
        {
            return Some(Ok(()));
        }
        // Days of eight hours, weeks of five days.
        let is_working = |share: &Exact| values[0].mul(share).is_some_and(|value| value.compare(&stated.value).is_eq());
        let shares = [Exact::fraction(8, 24), Exact::fraction(5, 7), Exact::fraction(40, 168)];
        let is_day_or_more = days_of(own).is_some_and(|days| days.compare(&Exact::whole(1)).is_ge());
        let is_working_time = [own, other].iter().all(|unit| calendar(*unit) == unit::TIME)
            && (a.literal.value.to_whole() == Some(1) && is_day_or_more || shares.iter().any(is_working))
            && values[0].compare(&stated.value).is_gt();
        if values.iter().chain(&other_values).any(near) || is_working_time {
            return Some(Err(Outcome::Doubtful));
        }
        let is_one = stated.value.to_whole() == Some(1);
        let place = if is_one { from.clone() } else { to.clone() };
        let detail = format!("in the unit of the result it is {}, not {}", values[0].show(), stated.value.show());
        Some(Err(Outcome::False(place, detail)))
    }
}

/// By how much "about" may be off: the fewer digits, the rounder the number is meant (a yard is about a metre).
fn about_share(stated: &Literal) -> f64 {
    let mut digits = stated.digits;
    if let Some(mut whole) = stated.value.to_whole().filter(|whole| *whole != 0 && stated.places == 0) {
        while whole % 10 == 0 {
            (whole, digits) = (whole / 10, digits.saturating_sub(1));
        }
    }
    match digits {
        0 | 1 => 2.0 * LOOSE_SHARE,
        2 => LOOSE_SHARE,
        _ => LOOSE_SHARE / 2.0,
    }
}

/// Days of a unit of time, on average.
fn days_of(unit: Unit) -> Option<Exact> {
    if unit.kind == unit::CALENDAR {
        return Exact::fraction(3_652_425, 10_000 * 12).mul(&unit.factor());
    }
    unit.factor().div(&Exact::whole(86_400))
}

/// Whether a statement may begin at an item: what stands before it cannot own it.
fn may_begin(items: &[Item<'_>], tokens: &[Token], at: usize, statement: &Statement) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| &items[before]) else { return true };
    let token = &tokens[before.tokens.end - 1];
    let begins_with_number = matches!(items[at].said, Said::Number(_));
    match token.kind {
        Kind::Boundary | Kind::Stop | Kind::Quote | Kind::Question => return true,
        // Not in the middle of a list.
        Kind::Comma if begins_with_number => return at < 2 || !matches!(items[at - 2].said, Said::Number(_)),
        Kind::Comma => return true,
        Kind::About => return false,
        _ => {}
    }
    let Said::Text(word) = &before.said else { return !begins_with_number && !statement.is_strict() };
    let is_article = KNOWN.articles.contains(word.as_ref());
    if is_article {
        return may_begin(items, tokens, at - 1, statement);
    }
    let is_owner = KNOWN.refuses.contains(word.as_ref()) || token.is_operator();
    let is_lead = KNOWN.leads.contains(word.as_ref()) && !matches!(token.kind, Kind::Relation(_));
    let is_free = statement.is_anywhere || !begins_with_number && !statement.is_strict();
    is_lead || is_free && !is_owner
}

/// Whether a clause ends at an item, perhaps behind words that say what was counted.
fn may_end(items: &[Item<'_>], tokens: &[Token], text: &str, at: usize, labels: usize) -> bool {
    for at in at..=at + labels {
        let Some(item) = items.get(at) else { return true };
        let Said::Text(word) = &item.said else { return false };
        let token = &tokens[item.tokens.start];
        let is_number = |at: usize| matches!(items.get(at), Some(Item { said: Said::Number(_), .. }));
        match token.kind {
            Kind::Boundary | Kind::Question | Kind::Quote | Kind::Close => return true,
            Kind::Stop => return true,
            Kind::Comma => return !(is_number(at + 1) && is_list_end(items, tokens, at + 2)),
            Kind::Word if KNOWN.goes_on.contains(word.as_ref()) => {
                return !(is_number(at + 1) && is_list_end(items, tokens, at + 2));
            }
            Kind::Word if expression::is_label(text, token) && !is_no_label(word) => {}
            _ => return false,
        }
    }
    false
}

/// Whether a number of a list ends here, so that what stands before it is one of several.
fn is_list_end(items: &[Item<'_>], tokens: &[Token], at: usize) -> bool {
    items.get(at).is_none_or(|item| {
        let token = &tokens[item.tokens.start];
        matches!(token.kind, Kind::Boundary | Kind::Stop | Kind::Comma | Kind::Question)
    })
}

/// Words behind a number that make another number of it.
fn is_no_label(word: &str) -> bool {
    matches!(
        word,
        "percent"
            | "percentage"
            | "points"
            | "point"
            | "pp"
            | "old"
            | "dozen"
            | "hundred"
            | "thousand"
            | "million"
            | "billion"
            | "or"
            | "too"
            | "per"
            | "each"
            | "apiece"
            | "off"
            | "cheaper"
            | "longer"
            | "shorter"
            | "higher"
            | "lower"
            | "halves"
            | "thirds"
            | "quarters"
            | "squared"
            | "cubed"
            | "away"
            | "out"
            | "plus"
            | "left"
            | "times"
            | "only"
            | "just"
            | "with"
            | "k"
            | "m"
    ) || spelled::part(word).is_some()
}

impl<'i, 't> Matcher<'i, 't> {
    fn text(&self, at: usize) -> Option<&'i str> {
        match &self.items.get(at)?.said {
            Said::Text(word) => Some(word.as_ref()),
            Said::Number(_) => None,
        }
    }

    fn number(&self, at: usize) -> Option<&'i Number> {
        match &self.items.get(at)?.said {
            Said::Number(number) => Some(number),
            Said::Text(_) => None,
        }
    }

    /// Where the rest of the pattern, from `part` on, ends when it begins at `at`.
    fn fits(&mut self, part: usize, at: usize, may_end: &dyn Fn(usize) -> bool) -> Option<usize> {
        self.steps = self.steps.checked_sub(1)?;
        let parts = self.parts;
        let Some((own, is_optional)) = parts.get(part) else { return may_end(at).then_some(at) };
        let fits = match own {
            Part::Words(alternatives) => alternatives.iter().find_map(|words| {
                let is_there = words.iter().enumerate().all(|(index, word)| self.is_word(at + index, word));
                if is_there { self.fits(part + 1, at + words.len(), may_end) } else { None }
            }),
            Part::Number(letter) => self
                .number(at)
                .filter(|number| number.is_plain())
                .and_then(|number| self.bind(*letter, number.clone(), at, part, may_end)),
            Part::Percent(letter) => self
                .number(at)
                .filter(|number| number.is_percent)
                .and_then(|number| self.bind(*letter, number.clone(), at, part, may_end)),
            Part::Fraction(letter) => self
                .number(at)
                .filter(|number| number.is_fraction)
                .and_then(|number| self.bind(*letter, number.clone(), at, part, may_end)),
            Part::List => self.list(part, at, may_end),
            Part::Noun(index) => self.noun(usize::from(*index), part, at, may_end),
            Part::Unit => {
                let unit = self.text(at).and_then(Unit::of);
                unit.and_then(|unit| {
                    let one = Number {
                        literal: Literal::exactly(Exact::whole(1)),
                        unit: Some(unit),
                        is_percent: false,
                        is_spelled: false,
                        is_fraction: false,
                        is_scaled: false,
                    };
                    // "1,200 grams in a kilogram": the one is what is converted.
                    if let Some(said) = self.found.numbers.remove(&b'a') {
                        self.found.numbers.insert(b'b', said);
                    }
                    self.found.numbers.insert(b'a', (one, self.items[at].tokens.clone()));
                    self.fits(part + 1, at + 1, may_end)
                })
            }
        };
        fits.or_else(|| if *is_optional { self.fits(part + 1, at, may_end) } else { None })
    }

    fn is_word(&self, at: usize, word: &str) -> bool {
        match self.text(at) {
            Some(own) => own == word,
            // "1 dozen"
            None => self.number(at).is_some_and(|number| {
                !number.is_spelled
                    && word.parse::<i64>().is_ok_and(|value| number.literal.value.to_whole() == Some(value))
            }),
        }
    }

    /// Binds a number, with the unit behind it or without.
    fn bind(
        &mut self,
        letter: Letter,
        number: Number,
        at: usize,
        part: usize,
        may_end: &dyn Fn(usize) -> bool,
    ) -> Option<usize> {
        let tokens = self.items[at].tokens.clone();
        let unit = self.text(at + 1).and_then(Unit::of).filter(|_| number.unit.is_none() && !number.is_percent);
        if let Some(unit) = unit {
            let with_unit = Number { unit: Some(unit), ..number.clone() };
            self.found.numbers.insert(letter, (with_unit, tokens.clone()));
            if let Some(end) = self.fits(part + 1, at + 2, may_end) {
                return Some(end);
            }
        }
        self.found.numbers.insert(letter, (number, tokens));
        let end = self.fits(part + 1, at + 1, may_end);
        if end.is_none() {
            self.found.numbers.remove(&letter);
        }
        end
    }

    /// "2, 3, and 4"
    fn list(&mut self, part: usize, mut at: usize, may_end: &dyn Fn(usize) -> bool) -> Option<usize> {
        let mut list = Vec::new();
        let mut before = at;
        while list.len() < OPERANDS_MAX {
            let Some(number) = self.number(at).filter(|number| number.is_plain() && !number.is_fraction) else { break };
            list.push(number);
            at += 1;
            before = at;
            at += usize::from(self.text(at) == Some(","));
            at += usize::from(matches!(self.text(at), Some("and" | "und" | "et" | "y" | "e")));
            if at == before {
                break;
            }
        }
        if list.len() < 2 {
            return None;
        }
        // A comma behind the last number is none of the list.
        self.found.list = list;
        self.fits(part + 1, before, may_end)
    }

    fn noun(&mut self, index: usize, part: usize, at: usize, may_end: &dyn Fn(usize) -> bool) -> Option<usize> {
        let word = self.text(at).filter(|word| word.starts_with(|c: char| c.is_alphabetic()))?;
        let singular = singular(word);
        let before = self.found.nouns[index].clone();
        if before.as_ref().is_some_and(|known| *known != singular) {
            return None;
        }
        self.found.nouns[index] = Some(singular);
        let end = self.fits(part + 1, at + 1, may_end);
        if end.is_none() {
            self.found.nouns[index] = before;
        }
        end
    }
}

fn singular(word: &str) -> String {
    for (plural, one) in [("ies", "y"), ("oxes", "ox"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss")] {
        if let Some(stem) = word.strip_suffix(plural) {
            return format!("{stem}{one}");
        }
    }
    word.strip_suffix('s').unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{super::examine as examine_text, *};

    #[track_caller]
    fn check(text: &str, wrong: &[&str]) {
        let report = examine_text(text, "", &Settings::default());
        let found: Vec<&str> = report.refuted.iter().map(|claim| &text[claim.span.clone()]).collect();
        assert_eq!(found, wrong, "{text}: {:?}", report.refuted);
    }

    #[track_caller]
    fn holds(text: &str) {
        let report = examine_text(text, "", &Settings::default());
        assert_eq!((report.held, report.refuted.len()), (1, 0), "{text}: {report:?}");
    }

    #[test]
    fn every_pattern_of_the_file_is_read() {
        let known = &*KNOWN;
        assert!(known.patterns.len() > 60 && !known.leads.is_empty() && !known.refuses.is_empty());
        for statement in &known.statements {
            let says = statement.values.len()
                + usize::from(statement.is_conversion)
                + usize::from(statement.compare.is_some());
            assert!(says > 0, "{}: a formula could not be read", statement.what);
        }
    }

    #[test]
    fn statements_that_hold_are_counted() {
        for text in [
            "The average of 3, 4 and 8 is 5.",
            "The median of 1, 9 and 5 is 5.",
            "With the code, 20% off $50 is $40.",
            "A 20% discount on a $50 shirt saves you $10.",
            "Sales rose from 80 to 100, a 25% increase.",
            "Costs fell from 90 to 60, a decrease of 33%.",
            "An 18% tip on a $50 bill is $9.",
            "5 km is 5,000 m.",
            "1 GB is 1,024 MB.",
            "1 GB is 1,000 MB.",
            "1 inch is 2.54 cm.",
            "There are 16 ounces in a pound.",
            "20 °C is 68 °F.",
            "17 mod 5 is 2.",
            "9.9 is greater than 9.11.",
            "Seven times eight is fifty-six.",
            "Two thirds of ninety is sixty.",
            "15 out of 60 is 25%.",
            "The cube root of 27 is 3.",
            "The square root of 2 is 1.41.",
            "You pay $12 for 3 pens, so each pen costs $4.",
        ] {
            holds(text);
        }
    }

    #[test]
    fn statements_that_do_not_hold_are_found_where_they_stand() {
        for (text, wrong) in [
            ("The average of 3, 4 and 8 is 6.", "6"),
            ("So 20% off $50 is $45.", "$45"),
            ("Sales rose from 80 to 100, a 20% increase.", "20%"),
            ("5 km = 500 m", "500"),
            ("2 hours is 140 minutes.", "140"),
            ("There are 1,200 grams in a kilogram.", "1,200"),
            ("9.11 is greater than 9.9.", "9.9"),
            ("Seven times eight is fifty-four.", "fifty-four"),
            ("Three quarters of 60 is 40.", "40"),
            ("17 mod 5 = 3", "3"),
            ("The factorial of 5 is 100.", "100"),
            ("100 °C is 200 °F.", "200"),
            ("If you increase 200 by 15%, you get 240.", "240"),
            ("If traffic grows by 10% from 5,000 visits, it reaches 5,050 visits.", "5,050"),
            ("Adding 19% VAT to €100 gives €120.", "€120"),
            ("Churn dropped from 8% to 6%, i.e. a decline of 2.5 percentage points.", "2.5"),
            ("Scores: 70, 80, 96. The mean is 84.", "84"),
            ("He drove 150 miles in 3 hours, so his average speed was 45 mph.", "45"),
            ("Each box holds 24 cans and we have 6 boxes, so that is 134 cans in total.", "134"),
            ("5 choose 2 is 12.", "12"),
            ("38 divided by 5 leaves a remainder of 2.", "2"),
            ("Tickets cost $12 each, so 7 tickets cost $94.", "$94"),
            ("There are 50 minutes in an hour.", "50"),
            ("Turnover fell from 500k to 450k, a drop of 15%.", "15%"),
            ("The rent went from $1,000 to $1,150 — a 12% increase.", "12%"),
            ("Three dozen eggs are 48 eggs.", "48"),
            ("The plank is 2.5 m (25 cm) long.", "25"),
        ] {
            check(text, &[wrong]);
        }
    }

    #[test]
    fn what_may_be_meant_otherwise_is_none() {
        for text in [
            "The average of 3 and 4 is about 4.",
            "The weighted average of 80 and 90 is 87.",
            "Half of the average of 3 and 5 is 2.",
            "Get 20% off $50 or more; the jacket is $45.",
            "A 20% tip on $44.90 is $9.",
            "Revenue rose from $1.2 million to $1.3 million, an 8% increase.",
            "The share rose from 10% to 12%, a 2% increase.",
            "It rose from 2005 to 2012, a 20% increase.",
            "The talk is 2 hours; it is 140 minutes with the break.",
            "1 month is 30 days.",
            "There are 8 hours in a day.",
            "1 cup is 240 ml.",
            "1 ton is 2,000 pounds.",
            "Python 3.11 is greater than 3.9.",
            "Version 9.11 is greater than 9.9.",
            "Is 10 less than 9? No.",
            "A baker's dozen is thirteen.",
            "20% of 80 people are 18 years old.",
            "Each ticket costs $15, so 4 tickets cost $50 with the discount.",
            "You wrote that the average of 3, 4 and 8 is 6.",
            "Suppose the average of 3, 4 and 8 is 6.",
            "1 pound is 100 pence.",
            "Nearly 3/4 of 60 is 40.",
            "We had 200, 300 and 400 requests, on average 260 when weighted.",
            "The rooms are 3, 4 and 5. Their average is 12.",
            "It takes 2 weeks (10 days) of work.",
            "Churn dropped from 8% to 6%, a decline of 25%.",
            "About half of 20 is 12.",
            "9 out of 10 dentists agree, which is 95% confidence.",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn statements_in_other_languages_are_read() {
        for (text, wrong) in [
            ("19 % von 200 Euro sind 36 Euro.", "36"),
            ("16 Prozent von 250 sind 45.", "45"),
            ("Sieben mal acht ist vierundfünfzig.", "vierundfünfzig"),
            ("Der Durchschnitt von 4, 6 und 8 ist 7.", "7"),
            ("Le 25 % de 80 est 25.", "25"),
            ("15 pour cent de 200 font 35.", "35"),
            ("Quatre fois six font vingt-six.", "vingt-six"),
            ("La mitad de 50 es 20.", "20"),
            ("10% de 250 é 35.", "35"),
            ("La metà di 64 è 34.", "34"),
            ("3,5 x 4 = 15", "15"),
            ("Das macht 12.500,75 - 500,25 = 12.100,50 Euro.", "12.100,50"),
            ("250 plus 8% tax is 258.", "258"),
            ("With 30% off, the chair costs 90 instead of 120.", "90"),
            ("7 items at $3 come to $22.", "$22"),
            ("5 miles are about 9.05 km.", "9.05"),
        ] {
            check(text, &[wrong]);
        }
        for text in [
            "20 % de 45 personnes font du sport.",
            "19% von 50 sind 18 Jahre alt.",
            "Dreimal die Hälfte von 90 ist 135.",
            "f(1,5) = 6 + 1 = 7",
            "(3,4) + (1,2) = (4,6)",
            "1,500 + 500 = 2,000, also 3,5 kg",
            "A yard is about 1 metre.",
            "L'élève a écrit que 15 fois 4 font 65.",
            "Ist 7 mal 8 gleich 54?",
        ] {
            check(text, &[]);
        }
    }
}
