//! Identities of polynomials and rational functions: (x + 1)^2 = x^2 + 2x + 1.
//!
//! **A claim** is an equation with the same letters on both sides, of which one side holds a bracket, in a sentence that
//! says so ("expand", "simplify", "factor", "FOIL"). Any other equation with letters is a definition or asks for a solution.
//!
//! **Formula**: both sides are computed exactly at [`POINTS`] points; one at which they differ refutes the identity, and is
//! shown. Polynomials that agree at so many points without being equal have a degree above the number of points.
//!
//! **Limits**: letters alone (`xy` is one word), [`LETTERS_MAX`] of them; d, e, f, g, h and i, which mean something else, are left out.

use std::ops::Range;

use super::{
    Reason, Report, claim,
    expression::{self, Expression, Words},
    lexer::{Kind, Relation, Token},
    number::Exact,
};

/// Points at which both sides are computed.
pub const POINTS: usize = 12;
/// Letters of one identity.
pub const LETTERS_MAX: u32 = 4;
/// Tokens of a side.
const SIDE_TOKENS_MAX: usize = 200;
/// Tokens before an equation in which the word stands that makes it an identity.
const CUE_TOKENS_MAX: usize = 40;

const CUES: [&str; 22] = [
    "expand",
    "expands",
    "expanding",
    "expanded",
    "expansion",
    "simplify",
    "simplifies",
    "simplifying",
    "simplified",
    "factor",
    "factors",
    "factoring",
    "factored",
    "factorize",
    "factorise",
    "factorization",
    "identity",
    "foil",
    "distribute",
    "distributing",
    "distributive",
    "distributes",
];
/// Words of an equation to be solved.
const UNKNOWN: [&str; 14] = [
    "solve",
    "solving",
    "equation",
    "equations",
    "root",
    "roots",
    "let",
    "given",
    "when",
    "where",
    "sides",
    "set",
    "setting",
    "system",
];

/// Checks the identities in `tokens`.
pub fn examine(text: &str, tokens: &[Token], report: &mut Report) {
    for at in 0..tokens.len() {
        if !matches!(tokens[at].kind, Kind::Relation(Relation::Equal)) || !is_said_to_be_one(text, tokens, at) {
            continue;
        }
        let (Some(left), Some(right)) = (left_side(text, tokens, at), right_side(text, tokens, at)) else { continue };
        if left.variables != right.variables || !has_letters(left.variables) {
            continue;
        }
        let span = right.span.clone();
        match difference(&left, &right) {
            Err(reason) => report.skip(Some(reason)),
            Ok(None) => report.hold(),
            Ok(Some(detail)) => match claim::taken_back(text, tokens, at..at + 1) {
                Some(reason) => report.skip(Some(reason)),
                None => report.refute("arithmetic/false_identity", span, detail),
            },
        }
    }
}

fn has_letters(variables: u32) -> bool {
    let taken: u32 = "defghi".bytes().map(|letter| 1 << (letter - b'a')).sum();
    (1..=LETTERS_MAX).contains(&variables.count_ones()) && variables & taken == 0
}

/// Whether the sentence of the sign at `at` speaks of rewriting, and a bracket stands on one side.
fn is_said_to_be_one(text: &str, tokens: &[Token], at: usize) -> bool {
    let before = &tokens[at.saturating_sub(CUE_TOKENS_MAX)..at];
    let behind = &tokens[at..(at + CUE_TOKENS_MAX).min(tokens.len())];
    let has = |tokens: &[Token], words: &[&str]| tokens.iter().any(|token| token.is_word_of(text, words));
    let has_bracket = |tokens: &[Token]| tokens.iter().any(|token| matches!(token.kind, Kind::Open | Kind::Fraction));
    let is_cued = has(before, &CUES) || has(behind, &CUES) && !has(behind, &["by"]);
    is_cued && !has(before, &UNKNOWN) && (has_bracket(before) || has_bracket(behind))
}

fn left_side(text: &str, tokens: &[Token], end: usize) -> Option<Expression> {
    let floor = end.saturating_sub(SIDE_TOKENS_MAX);
    let belongs = |token: &Token| {
        token.is_operator()
            || matches!(token.kind, Kind::Number(_) | Kind::Open | Kind::Close | Kind::Fraction | Kind::Root(_))
            || matches!(token.kind, Kind::Word) && token.span.len() == 1 && !token.is_word_of(text, &["a", "I"])
            || token.is_word_of(text, &["a"]) && !token.is_spaced
    };
    let start = (floor..end).rev().take_while(|at| belongs(&tokens[*at])).last()?;
    whole(text, tokens, start..end)
}

fn right_side(text: &str, tokens: &[Token], at: usize) -> Option<Expression> {
    let ends = |token: &Token| {
        matches!(
            token.kind,
            Kind::Boundary | Kind::Stop | Kind::Comma | Kind::Relation(_) | Kind::Question | Kind::Quote
        )
    };
    let rest = &tokens[at + 1..(at + 1 + SIDE_TOKENS_MAX).min(tokens.len())];
    let length = rest.iter().position(ends).unwrap_or(rest.len());
    whole(text, tokens, at + 1..at + 1 + length)
}

/// The expression, when all tokens belong to it.
fn whole(text: &str, tokens: &[Token], range: Range<usize>) -> Option<Expression> {
    let length = range.len();
    let (expression, read) = expression::parse(text, &tokens[range], Words::Variables).ok()?;
    (read == length).then_some(expression)
}

/// A point at which the sides differ; `None` when they agree at all of them.
pub fn difference(left: &Expression, right: &Expression) -> Result<Option<String>, Reason> {
    /// Numbers for the first letter; the others take the ones after it.
    const VALUES: [i64; POINTS] = [2, 3, 5, 7, -2, 11, -3, 13, 4, -5, 17, 6];
    let mut compared = 0;
    for start in 0..POINTS {
        let values: Vec<Exact> = (0..26).map(|letter| Exact::whole(VALUES[(start + 5 * letter) % POINTS])).collect();
        let (a, b) = match (left.exact_with(&values), right.exact_with(&values)) {
            (Ok(a), Ok(b)) => (a, b),
            // A pole of a rational function.
            (Err(Reason::Undefined), _) | (_, Err(Reason::Undefined)) => continue,
            (Err(reason), _) | (_, Err(reason)) => return Err(reason),
        };
        compared += 1;
        if !a.compare(&b).is_eq() {
            let letters = (0..26_u8).filter(|letter| left.variables & (1 << letter) != 0);
            let point: Vec<String> = letters
                .map(|letter| format!("{} = {}", char::from(b'a' + letter), values[usize::from(letter)].show()))
                .collect();
            return Ok(Some(format!(
                "for {} the left side is {}, the right side {}",
                point.join(", "),
                a.show(),
                b.show()
            )));
        }
    }
    if compared == 0 { Err(Reason::Undefined) } else { Ok(None) }
}
