//! Computations that are put into words: "the sum of 2 and 3 is 5", "half of 20 is 10", "increased by 10% from 50 to 55".
//!
//! Expressions with spelled-out operators ("12 times 4 is 48", "20% of 80 is 16") are those of [`claim`](super::claim).
//!
//! **Limits**: [`OPERANDS_MAX`] operands. A change in percent may be off by [`CHANGE_SHARE`] of itself, because both ends of
//! it are rounded more often than not.

use super::{
    Report, Settings, claim,
    lexer::{Kind, Relation, Token},
    number::{Exact, Literal, is_rounding},
};

/// Operands of one sum or product.
pub const OPERANDS_MAX: usize = 20;
/// By how much a change in percent may be off, relative to itself.
pub const CHANGE_SHARE: f64 = 0.02;

/// What a phrase computes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phrase {
    Sum,
    Product,
    Difference,
    Half,
}

/// Checks the phrases in `tokens`.
pub fn examine(text: &str, tokens: &[Token], settings: &Settings, report: &mut Report) {
    for at in 0..tokens.len() {
        let Kind::Word = tokens[at].kind else { continue };
        let claim = computed(text, tokens, at, settings).or_else(|| change(text, tokens, at));
        let Some(Stated { end, wrong }) = claim else { continue };
        let Some((number, detail)) = wrong else {
            report.hold();
            continue;
        };
        match claim::taken_back(text, tokens, at..end) {
            Some(reason) => report.skip(Some(reason)),
            None => report.refute("arithmetic/false_equation", tokens[number].span.clone(), detail),
        }
    }
}

/// A statement that ends at a token, and what is wrong with it, if anything: which number, and what is the case.
struct Stated {
    end: usize,
    wrong: Option<(usize, String)>,
}

/// "the sum of 2, 3 and 4 is 9"
fn computed(text: &str, tokens: &[Token], at: usize, settings: &Settings) -> Option<Stated> {
    let is = |at: usize, words: &[&str]| tokens.get(at).is_some_and(|token| token.is_word_of(text, words));
    let (phrase, name) = [
        (Phrase::Sum, "sum"),
        (Phrase::Product, "product"),
        (Phrase::Difference, "difference"),
        (Phrase::Half, "half"),
    ]
    .into_iter()
    .find(|(_, name)| is(at, &[name]))?;
    if !is(at + 1, if phrase == Phrase::Difference { &["between"] } else { &["of"] }) {
        return None;
    }
    let (operands, mut next) = list(text, tokens, at + 2)?;
    let is_count_right = match phrase {
        Phrase::Half => operands.len() == 1,
        Phrase::Difference => operands.len() == 2,
        Phrase::Sum | Phrase::Product => operands.len() >= 2,
    };
    let Kind::Relation(Relation::Is | Relation::Equal) = tokens.get(next).filter(|_| is_count_right)?.kind else {
        return None;
    };
    next += 1;
    if matches!(tokens.get(next)?.kind, Kind::Currency(_)) {
        next += 1;
    }
    let Kind::Number(said) = &tokens.get(next)?.kind else { return None };
    let is_end = tokens
        .get(next + 1)
        .is_none_or(|token| matches!(token.kind, Kind::Stop | Kind::Comma | Kind::Boundary | Kind::Question));
    if !is_end {
        return None;
    }
    let value = compute(phrase, &operands)?;
    let shown = operands.iter().map(|operand| operand.value.show()).collect::<Vec<_>>().join(" and ");
    let holds = if settings.strict {
        value.compare(&said.value).is_eq()
    } else {
        is_rounding(&value, &said.value, &said.last_place)
    };
    let detail = || format!("the {name} of {shown} is {}, not {}", value.show(), said.value.show());
    let wrong = (!holds).then(|| (next, detail()));
    Some(Stated { end: next + 1, wrong })
}

fn compute(phrase: Phrase, operands: &[&Literal]) -> Option<Exact> {
    let (first, rest) = operands.split_first()?;
    match phrase {
        Phrase::Half => first.value.div(&Exact::whole(2)),
        Phrase::Sum => rest.iter().try_fold(first.value.clone(), |sum, operand| sum.add(&operand.value)),
        Phrase::Product => rest.iter().try_fold(first.value.clone(), |product, operand| product.mul(&operand.value)),
        Phrase::Difference => rest.first().and_then(|other| first.value.sub(&other.value)).map(|value| value.abs()),
    }
}

/// "2, 3, and 4" from `at` on, and where it ends.
fn list<'t>(text: &str, tokens: &'t [Token], mut at: usize) -> Option<(Vec<&'t Literal>, usize)> {
    let mut operands = Vec::new();
    while operands.len() < OPERANDS_MAX {
        if matches!(tokens.get(at)?.kind, Kind::Currency(_)) {
            at += 1;
        }
        let Kind::Number(literal) = &tokens.get(at)?.kind else { return None };
        operands.push(&**literal);
        at += 1;
        let before = at;
        if matches!(tokens.get(at)?.kind, Kind::Comma) {
            at += 1;
        }
        if tokens.get(at)?.is_word_of(text, &["and"]) {
            at += 1;
        }
        if at == before {
            return Some((operands, at));
        }
    }
    None
}

/// "increased by 10% from 50 to 55"
fn change(text: &str, tokens: &[Token], at: usize) -> Option<Stated> {
    const RISES: [&str; 3] = ["increased", "rose", "grew"];
    const FALLS: [&str; 4] = ["decreased", "fell", "dropped", "declined"];
    let is = |at: usize, words: &[&str]| tokens.get(at).is_some_and(|token| token.is_word_of(text, words));
    let rises = is(at, &RISES);
    if !(rises || is(at, &FALLS)) || !is(at + 1, &["by"]) || !is(at + 4, &["from"]) {
        return None;
    }
    let Kind::Percent = tokens.get(at + 3)?.kind else { return None };
    let number = |at: usize| match tokens.get(at).map(|token| &token.kind) {
        Some(Kind::Number(literal)) => Some((&**literal, at + 1)),
        Some(Kind::Currency(_)) => match tokens.get(at + 1).map(|token| &token.kind) {
            Some(Kind::Number(literal)) => Some((&**literal, at + 2)),
            _ => None,
        },
        _ => None,
    };
    let (percent, _) = number(at + 2)?;
    let (from, next) = number(at + 5)?;
    if !is(next, &["to"]) {
        return None;
    }
    let (to, end) = number(next + 1)?;
    let is_end = tokens.get(end).is_none_or(|token| matches!(token.kind, Kind::Stop | Kind::Comma | Kind::Boundary));
    // From one year to another.
    let is_year = |literal: &Literal| literal.value.to_whole().is_some_and(|year| (1_000..=2_100).contains(&year));
    if is_year(from) && is_year(to) {
        return None;
    }
    let growth = to.value.sub(&from.value)?.div(&from.value)?.mul(&Exact::whole(100))?;
    let growth = if rises { growth } else { growth.negated() };
    let said = &percent.value;
    let ends = (from.half_place() + to.half_place()) / from.value.to_double().abs() * 100.0;
    let rounds = if from.places + to.places > 0 { ends } else { 0.0 };
    let room = CHANGE_SHARE * growth.to_double().abs() + percent.half_place() + rounds;
    let off = growth.sub(said)?.to_double().abs();
    let detail = || {
        let (from, to) = (from.value.show(), to.value.show());
        format!("from {from} to {to} it is {:.1}%, not {}%", growth.to_double(), said.show())
    };
    let wrong = (off > room).then(|| (at + 2, detail()));
    is_end.then_some(Stated { end, wrong })
}
