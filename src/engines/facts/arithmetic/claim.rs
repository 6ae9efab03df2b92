//! Which equations a text states, and whether they hold.
//!
//! **A claim** is a link of a chain `a = b = c` of which one side at least is computed (has an operator), or was shown to
//! equal one that is. To the left of the first sign the expression goes back as far as operators and operands alternate;
//! a term that is not understood there (a letter, a word) leaves the link unassessed. To the right it ends with the words
//! that say what is counted.
//!
//! **It holds** when the right side, at the precision in which it is written, is a correct rounding of the left side, or
//! of any side before it in the chain. It is **false** when that fails in every reading: percent as share, as nothing, as
//! share of the left; points as decimals and as thousands; units taken as written and converted. What might be rounded
//! before, cut off, a range, or said of what is not the case is not assessed.

use std::{collections::HashSet, ops::Range};

use super::{
    EQUATION_RULE, ORDER_RULE, Reason, Report, Settings,
    doubt::{self, Said},
    expression::{self, Expression, Percent, Reading, Slack, Words, is_label},
    framed, identity,
    lexer::{Kind, Relation, Token, tokens_with},
    linear::Derivation,
    number::{DecimalMark, Exact, is_rounding, is_truncation},
    statement,
    unit::{Unit, Units},
};

/// By how much what is said to be about equal may differ.
pub const ABOUT_SHARE: f64 = 0.02;
/// Tokens around an equation that are read for words which take it back.
const CONTEXT_TOKENS_MAX: usize = 60;
/// Characters of an expression in a finding.
const SHOWN_CHARS_MAX: usize = 60;
/// Digits from which a result may be that of floating-point arithmetic.
const FLOAT_DIGITS_MIN: usize = 15;
/// Digits behind the point from which a number in a computation may be rounded.
const ROUNDED_PLACES_MIN: u32 = 2;
/// The same for amounts of money, whose cents are exact.
const ROUNDED_MONEY_PLACES_MIN: u32 = 3;

/// Words behind which an order of two numbers is stated as a reason.
const REASONING: [&str; 3] = ["since", "as", "because"];

/// Words directly before an expression that belong to the computation.
const OPERATING: [&str; 21] = [
    "select",
    "half",
    "twice",
    "double",
    "triple",
    "third",
    "quarter",
    "thirds",
    "quarters",
    "than",
    "sum",
    "product",
    "difference",
    "average",
    "mean",
    "log",
    "ln",
    "sin",
    "cos",
    "tan",
    "exp",
];

/// Words before "of" that make a computation of what follows.
const OPERATING_OF: [&str; 16] = [
    "sum",
    "product",
    "difference",
    "average",
    "mean",
    "half",
    "third",
    "quarter",
    "thirds",
    "quarters",
    "root",
    "square",
    "cube",
    "median",
    "factor",
    "percent",
];

/// Verbs of which the expression behind "to", "from" and "by" is only a part.
const OPERATING_VERBS: [&str; 12] = [
    "add",
    "adding",
    "added",
    "subtract",
    "subtracting",
    "subtracted",
    "multiply",
    "multiplying",
    "divide",
    "dividing",
    "multiplied",
    "divided",
];

/// What a check says of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It holds.
    Held,
    /// It does not, in any reading; what is the case.
    False(String),
    /// Nothing can be said.
    NotAssessed(Reason),
}

/// Checks every equation in `text[range]`.
pub fn examine(
    text: &str,
    range: Range<usize>,
    (is_code, mark): (bool, DecimalMark),
    settings: &Settings,
    derivation: &mut Derivation,
    report: &mut Report,
) {
    let mut annotations = Vec::new();
    let tokens = tokens_with(text, range, &mut annotations, mark);
    Block { text, tokens: &tokens, is_code, settings }.examine(report);
    if !is_code {
        statement::examine(text, &tokens, settings, report);
        identity::examine(text, &tokens, report);
        derivation.examine(text, &tokens, report);
    }
    for range in annotations {
        let tokens = super::lexer::tokens(text, range, &mut Vec::new());
        Block { text, tokens: &tokens, is_code, settings }.examine(report);
    }
}

/// Why what the tokens of `place` say is not stated as a fact.
pub fn taken_back(text: &str, tokens: &[Token], place: Range<usize>) -> Option<Reason> {
    let bytes = tokens.get(place.clone()).and_then(|own| Some(own.first()?.span.start..own.last()?.span.end))?;
    let settings = Settings::default();
    Block { text, tokens, is_code: false, settings: &settings }.taken_back(place, bytes, true)
}

struct Block<'t> {
    text: &'t str,
    tokens: &'t [Token],
    is_code: bool,
    settings: &'t Settings,
}

/// A side of a link, and where its tokens stand.
struct Side {
    expression: Expression,
    tokens: Range<usize>,
}

impl Block<'_> {
    fn examine(&self, report: &mut Report) {
        let relations = (0..self.tokens.len()).filter_map(|at| match self.tokens[at].kind {
            Kind::Relation(relation) => Some((at, relation)),
            _ => None,
        });
        // The sides of the chain so far that are taken to be equal, and whether any of them is computed.
        let mut chain: Vec<Side> = Vec::new();
        let mut consumed = 0;
        for (at, relation) in relations {
            let continues = relation != Relation::Is && chain.last().is_some_and(|side| side.tokens.end == at);
            let mut is_known = continues;
            if !continues {
                chain.clear();
                match self.left_side(consumed, at, relation) {
                    Ok(side) => {
                        chain.push(side);
                        is_known = true;
                    }
                    Err(reason) => {
                        report.skip(reason.filter(|_| relation != Relation::Is));
                    }
                }
            }
            let right = self.right_side(at, relation);
            let outcome = match (&right, chain.as_slice()) {
                (_, []) => None,
                (Err(reason), _) => Some(Outcome::NotAssessed(*reason)).filter(|_| relation != Relation::Is),
                (Ok(_), _) if relation == Relation::Other => None,
                (Ok(side), [left])
                    if is_order(relation) && left.expression.operators + side.expression.operators == 0 =>
                {
                    self.order(left, relation, side)
                }
                (Ok(side), sides)
                    if side.expression.operators + sides.iter().map(|s| s.expression.operators).sum::<usize>() == 0 =>
                {
                    None
                }
                (Ok(side), sides) => Some(self.judge(sides, relation_of(relation, self.tokens, at), side)),
            };
            consumed = right.as_ref().map_or(at + 1, |side| side.tokens.end);
            match (outcome, right) {
                (Some(Outcome::False(detail)), Ok(side)) => {
                    let operators =
                        side.expression.operators + chain.iter().map(|side| side.expression.operators).sum::<usize>();
                    let rule = if is_order(relation) && operators == 0 { ORDER_RULE } else { EQUATION_RULE };
                    report.refute(rule, self.wrong_span(&chain, &side), detail);
                    chain = vec![side];
                }
                (outcome, right) => {
                    match outcome {
                        Some(Outcome::Held) => report.hold(),
                        Some(Outcome::NotAssessed(reason)) => report.skip(Some(reason)),
                        _ => {}
                    }
                    let is_equality = matches!(relation, Relation::Equal | Relation::Approximate | Relation::Is);
                    match right {
                        // What is not understood is nothing to go on from, unless its value is.
                        Ok(_) if !is_known && relation == Relation::Is => chain.clear(),
                        Ok(side) if is_equality => chain.push(side),
                        Ok(side) => chain = vec![side],
                        Err(_) => chain.clear(),
                    }
                }
            }
        }
    }

    /// The number that is wrong: the right side, unless only the left one is a number.
    fn wrong_span(&self, chain: &[Side], right: &Side) -> Range<usize> {
        let is_number = |side: &Side| side.expression.written(Reading::default()).is_some();
        let side = match chain.last() {
            Some(left) if is_number(left) && !is_number(right) => left,
            _ => right,
        };
        let tokens = &self.tokens[side.tokens.clone()];
        let mut numbers = tokens.iter().filter(|token| matches!(token.kind, Kind::Number(_)));
        match (numbers.next(), numbers.next()) {
            (Some(number), None) => {
                let first = tokens.first().filter(|first| matches!(first.kind, Kind::Minus));
                first.map_or(number.span.start, |sign| sign.span.start)..number.span.end
            }
            _ => side.expression.span.clone(),
        }
    }

    /// The expression that ends before the sign at `end`. `Err(None)` when there is nothing like one.
    fn left_side(&self, from: usize, end: usize, relation: Relation) -> Result<Side, Option<Reason>> {
        let start = self.left_start(from, end)?;
        self.refuse_operating(from, start)?;
        let tokens = &self.tokens[start..end];
        // With the sign behind it, so that what ends before one is told from what ends a sentence.
        let with_sign = &self.tokens[start..=end];
        let (expression, length) = expression::parse(self.text, with_sign, Words::Labels).map_err(Some)?;
        if length != tokens.len() {
            return Err(Some(Reason::Notation));
        }
        let follows_boundary = start == 0 || matches!(self.tokens[start - 1].kind, Kind::Boundary);
        let has_noun = tokens
            .iter()
            .any(|token| matches!(token.kind, Kind::Word) && Unit::of(&self.text[token.span.clone()]).is_none());
        // "Since 0.45 > 0.5": the number belongs to nothing before it.
        let follows_lead = is_order(relation)
            && start.checked_sub(1).is_some_and(|before| self.tokens[before].is_word_of(self.text, &REASONING));
        if expression.operators == 0 && (!(follows_boundary || follows_lead) || has_noun) {
            return Err(None);
        }
        let is_worded = self.text[self.tokens[end].span.clone()].starts_with(|c: char| c.is_ascii_alphabetic());
        // "4/7 is equal to $24": a share of something.
        let is_share = expression.operators == 1
            && tokens.iter().any(|token| matches!(token.kind, Kind::Divide) && !token.is_spaced);
        if is_worded && is_share {
            return Err(None);
        }
        if relation == Relation::Is && !self.is_spelled_out(tokens) {
            return Err(None);
        }
        let is_whole =
            (follows_boundary || follows_lead) && tokens.iter().all(|token| !matches!(token.kind, Kind::Word));
        if self.is_code && !is_whole {
            return Err(Some(Reason::Code));
        }
        if is_order(relation) && !is_whole {
            return Err(None);
        }
        Ok(Side { expression, tokens: start..end })
    }

    /// Whether an operator is a word, a plus sign or a power, so that "is" behind it can mean "equals".
    fn is_spelled_out(&self, tokens: &[Token]) -> bool {
        self.has_worded_operator(tokens)
            || tokens
                .iter()
                .any(|token| matches!(token.kind, Kind::Plus) && token.is_spaced || matches!(token.kind, Kind::Power))
    }

    fn has_worded_operator(&self, tokens: &[Token]) -> bool {
        tokens.iter().any(|token| {
            token.is_operator()
                && self.text[token.span.clone()].starts_with(|c: char| c.is_ascii_alphabetic() && c != 'x')
        })
    }

    /// Where the expression that ends at `end` begins: operators and operands alternate, read from the right.
    fn left_start(&self, from: usize, end: usize) -> Result<usize, Option<Reason>> {
        let mut at = end;
        // A number alone that follows words is a label of what follows, not a side: there is nothing to say of it.
        let mut reason = None;
        loop {
            at = self.operand_start(from, at).ok_or(reason)?;
            if at > from && matches!(self.tokens[at - 1].kind, Kind::Currency(_)) {
                at -= 1;
            }
            // Roots and signs before the operand, then the operator before it.
            loop {
                if at == from {
                    return Ok(at);
                }
                let before = &self.tokens[at - 1];
                match before.kind {
                    Kind::Root(_) => at -= 1,
                    Kind::Minus | Kind::Plus => {
                        reason = Some(Reason::Variable);
                        if self.ends_term(from, at - 1) {
                            at -= 1;
                            break;
                        }
                        let is_bullet = self.tokens[at].is_spaced
                            && (at - 1 == 0 || matches!(self.tokens[at - 2].kind, Kind::Boundary));
                        if is_bullet {
                            return Ok(at);
                        }
                        if at - 1 == from {
                            return Ok(at - 1);
                        }
                        let is_sign =
                            matches!(before.kind, Kind::Minus) && before.is_spaced && !self.tokens[at].is_spaced;
                        match self.tokens[at - 2].kind {
                            Kind::Word if is_sign && self.tokens[at - 2].span.len() > 1 => return Ok(at - 1),
                            Kind::Word | Kind::NotANumber(_) | Kind::Other => return Err(reason),
                            _ => at -= 1,
                        }
                    }
                    Kind::Times | Kind::Divide | Kind::Power | Kind::Modulo => {
                        reason = Some(Reason::Variable);
                        at -= 1;
                        break;
                    }
                    // 2(3), 2√3, 2 1/2
                    Kind::Number(_) | Kind::Pi => break,
                    Kind::Close => match self.open_of(from, at - 1) {
                        None => return Ok(at),
                        Some(open) if open + 2 == at - 1 && self.tokens[at].is_spaced => return Ok(at),
                        Some(_) => break,
                    },
                    Kind::Word if !self.tokens[at].is_spaced => return Err(Some(Reason::Variable)),
                    Kind::NotANumber(_) | Kind::Other => return Err(Some(Reason::Notation)),
                    Kind::Comma if !self.tokens[at].is_spaced => return Err(Some(Reason::Notation)),
                    _ => return Ok(at),
                }
            }
        }
    }

    /// Where the operand that ends at `end` begins, words that say what it counts included.
    fn operand_start(&self, from: usize, end: usize) -> Option<usize> {
        let mut at = end;
        let mut words = 0;
        while at > from {
            let token = &self.tokens[at - 1];
            match token.kind {
                Kind::Percent | Kind::Factorial => at -= 1,
                Kind::Word if words <= expression::LABEL_WORDS_MAX && is_label(self.text, token) => {
                    words += 1;
                    at -= 1;
                    let is_rate = at > from + 1 && matches!(self.tokens[at - 1].kind, Kind::Divide);
                    at -= usize::from(is_rate);
                }
                // "90 pieces of straw"
                Kind::Word
                    if at > from + 1
                        && at < end
                        && expression::joins_labels(self.text, &self.tokens[at - 2], token, &self.tokens[at]) =>
                {
                    at -= 1;
                }
                _ => break,
            }
        }
        let last = at.checked_sub(1).filter(|last| *last >= from)?;
        match self.tokens[last].kind {
            Kind::Number(_) | Kind::Pi => Some(last),
            Kind::Close => {
                let open = self.open_of(from, last)?;
                let before = open
                    .checked_sub(1)
                    .filter(|before| *before >= from && matches!(self.tokens[*before].kind, Kind::Close));
                let fraction = before.and_then(|close| self.open_of(from, close)).and_then(|open| open.checked_sub(1));
                let fraction = fraction.filter(|at| *at >= from && matches!(self.tokens[*at].kind, Kind::Fraction));
                Some(fraction.unwrap_or(open))
            }
            _ => None,
        }
    }

    /// Whether a term ends before `end`, so that a sign there has a left side.
    fn ends_term(&self, from: usize, end: usize) -> bool {
        self.operand_start(from, end).is_some()
    }

    /// The bracket that the one at `close` closes.
    fn open_of(&self, from: usize, close: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in (from..=close).rev() {
            match self.tokens[at].kind {
                Kind::Close => depth += 1,
                Kind::Open => depth -= 1,
                Kind::Boundary | Kind::Relation(_) => return None,
                _ => {}
            }
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    /// Refuses an expression of which the words before it make another one.
    fn refuse_operating(&self, from: usize, start: usize) -> Result<(), Option<Reason>> {
        let ambiguous = Err(Some(Reason::Ambiguous));
        let word = |back: usize| start.checked_sub(back).filter(|at| *at >= from).map(|at| &self.tokens[at]);
        let Some(before) = word(1) else { return Ok(()) };
        let is = |token: Option<&Token>, words: &[&str]| token.is_some_and(|token| token.is_word_of(self.text, words));
        let opens_call = matches!(self.tokens[start].kind, Kind::Open) && !self.tokens[start].is_spaced;
        if is(Some(before), &OPERATING) || opens_call && matches!(before.kind, Kind::Word) {
            return ambiguous;
        }
        let is_letter = matches!(before.kind, Kind::Word) && before.span.len() == 1;
        if is_letter && !is(Some(before), &["a", "i"]) {
            return Err(Some(Reason::Variable));
        }
        // "40 pieces of $1 bills x $0.50"
        let is_of = is(Some(before), &["of"]) && (is(word(2), &OPERATING_OF) || self.ends_term(from, start - 1));
        let is_and = is(Some(before), &["and"]) && word(2).is_some_and(Token::ends_operand);
        let is_part =
            is(Some(before), &["to", "from", "by", "with"]) && (2..=6).any(|back| is(word(back), &OPERATING_VERBS));
        let is_list = matches!((&before.kind, word(2).map(|token| &token.kind)), (Kind::Comma, Some(Kind::Close)))
            && matches!(self.tokens[start].kind, Kind::Open);
        if is_of || is_and || is_part || is_list { ambiguous } else { Ok(()) }
    }

    /// The expression behind the sign at `at`.
    fn right_side(&self, at: usize, relation: Relation) -> Result<Side, Reason> {
        let is_about = self.tokens.get(at + 1).is_some_and(|token| matches!(token.kind, Kind::About));
        let start = at + 1 + usize::from(is_about);
        let rest = &self.tokens[start.min(self.tokens.len())..];
        let (expression, length) = expression::parse(self.text, rest, Words::Labels)?;
        let end = start + length;
        let next = self.tokens.get(end);
        let is_number = |at: usize| self.tokens.get(at).is_some_and(Token::begins_operand);
        let is_sign = !self.text[self.tokens[at].span.clone()].starts_with(|c: char| c.is_ascii_alphabetic());
        // "= 20 times 2 people": the sentence goes on.
        if is_sign && self.has_worded_operator(&self.tokens[start..end]) {
            return Err(Reason::Ambiguous);
        }
        if let Some(next) = next {
            let is_part = next.is_word_of(self.text, &["or", "to", "of", "out"]) && is_number(end + 1);
            // "= 3 and 1/2", unless another equation begins there.
            let is_mixed = next.is_word_of(self.text, &["and"])
                && matches!(self.tokens.get(end + 2).map(|token| &token.kind), Some(Kind::Divide))
                && self.is_end(end + 4);
            let is_part = is_part || is_mixed;
            let is_glued = matches!(next.kind, Kind::NotANumber(_))
                || !next.is_spaced && matches!(next.kind, Kind::Other | Kind::Open);
            let item =
                end + 1 + usize::from(matches!(self.tokens.get(end + 1).map(|token| &token.kind), Some(Kind::Minus)));
            let is_list = matches!(next.kind, Kind::Comma) && is_number(item) && self.is_end(item + 1);
            if is_part || is_list || next.is_word_of(self.text, &["remainder", "mod", "modulo", "r"]) {
                return Err(Reason::Ambiguous);
            }
            if is_glued
                || matches!(next.kind, Kind::Modulo)
                || next.is_operator() && !matches!(next.kind, Kind::Plus | Kind::Minus)
            {
                return Err(Reason::Notation);
            }
        }
        if relation == Relation::Is && (expression.written(Reading::default()).is_none() || !self.is_end(end)) {
            return Err(Reason::Ambiguous);
        }
        let is_whole =
            self.is_end(end) && self.tokens[start..end].iter().all(|token| !matches!(token.kind, Kind::Word));
        if (self.is_code || is_order(relation))
            && !is_whole
            && !matches!(next.map(|next| &next.kind), Some(Kind::Relation(_)))
        {
            return Err(Reason::Code);
        }
        Ok(Side { expression, tokens: start..end })
    }

    /// Whether a clause ends at `at`.
    fn is_end(&self, at: usize) -> bool {
        self.tokens.get(at).is_none_or(|token| {
            matches!(
                token.kind,
                Kind::Boundary | Kind::Stop | Kind::Comma | Kind::Question | Kind::Quote | Kind::Relation(_)
            )
        })
    }

    /// "0.5 < 0.25": two numbers and nothing else.
    fn order(&self, left: &Side, relation: Relation, right: &Side) -> Option<Outcome> {
        let numbers = [&left.expression, &right.expression];
        let is_bare =
            numbers.iter().all(|side| side.written(Reading::default()).is_some() && side.units == Units::default());
        if self.is_code || !is_bare || !self.is_end(right.tokens.end) {
            return None;
        }
        // A trace of tests: "7 > 9? no", "7 > 9, no".
        let behind = &self.tokens[right.tokens.end..];
        let is_denied = behind
            .iter()
            .take(3)
            .any(|token| token.is_word_of(self.text, &["no", "false", "stop", "skip", "fail", "fails"]));
        match check(&left.expression, relation, &right.expression, self.settings.strict) {
            Outcome::False(_) if is_denied => Some(Outcome::NotAssessed(Reason::TakenBack)),
            Outcome::False(detail) => {
                let bytes = left.expression.span.start..right.expression.span.end;
                let reason = self.taken_back(left.tokens.start..right.tokens.end, bytes, true);
                Some(reason.map_or(Outcome::False(detail), Outcome::NotAssessed))
            }
            // That one number is below another is no computation.
            _ => None,
        }
    }

    fn judge(&self, chain: &[Side], relation: Relation, right: &Side) -> Outcome {
        let Some(last) = chain.last() else { return Outcome::NotAssessed(Reason::MissingOperand) };
        let (left, written) = (&last.expression, &right.expression);
        let sign = self.tokens.get(last.tokens.end).map_or("", |sign| &self.text[sign.span.clone()]);
        let relation_is_worded = sign.starts_with(|c: char| c.is_ascii_alphabetic());
        let outcome = check(left, relation, written, self.settings.strict);
        let Outcome::False(_) = outcome else { return outcome };
        // A rounded link may be followed by one that goes on from the exact value.
        let earlier =
            chain.iter().rev().skip(1).map(|side| check(&side.expression, relation, written, self.settings.strict));
        if let Some(better) = earlier.into_iter().find(|outcome| !matches!(outcome, Outcome::False(_))) {
            return better;
        }
        let whole = chain.first().map_or(last.tokens.start, |side| side.tokens.start)..right.tokens.end;
        // "Nearly 3/4 of 60 is 40."
        if whole.start.checked_sub(1).is_some_and(|before| matches!(self.tokens[before].kind, Kind::About)) {
            return Outcome::NotAssessed(Reason::Rounded);
        }
        let is_worded = relation_is_worded || self.has_worded_operator(&self.tokens[whole.clone()]);
        let reason = self.taken_back(whole, last.expression.span.start..written.span.end, is_worded);
        match reason.or_else(|| self.other_reading(last, right).filter(|_| !self.settings.strict)) {
            Some(reason) => Outcome::NotAssessed(reason),
            None => outcome,
        }
    }

    /// How else an equation may be meant that does not hold.
    fn other_reading(&self, left: &Side, right: &Side) -> Option<Reason> {
        let plain = Reading::default();
        let bytes = |side: &Side| {
            let tokens = &self.tokens[side.tokens.clone()];
            Some(tokens.first()?.span.start..tokens.last()?.span.end)
        };
        let (from, to) = (bytes(left)?, bytes(right)?);
        let line = self.text[..from.start].rfind('\n').map_or(0, |end| end + 1);
        let said = Said {
            before: &self.text[line..from.start],
            left: &self.text[from],
            right: &self.text[to.clone()],
            behind: &self.text[to.end..],
            exact: left.expression.exact(plain).ok()?.to_double(),
            stated: right.expression.exact(plain).ok()?.to_double(),
            operators: left.expression.operators,
        };
        doubt::other_reading(&said)
    }

    /// Why the equation at these tokens, and bytes, is not stated as a fact.
    fn taken_back(&self, place: Range<usize>, bytes: Range<usize>, is_worded: bool) -> Option<Reason> {
        let is = |token: &Token, words: &[&str]| token.is_word_of(self.text, words);
        let is_of = |token: &Token, words: &HashSet<String>| framed::is_one_of(self.text, token, words);
        let words = &*framed::WORDS;
        let mut sentence_start = place.start;
        let ends_sentence = |token: &Token| {
            matches!(token.kind, Kind::Boundary | Kind::Question)
                || matches!(token.kind, Kind::Stop) && !self.text[token.span.clone()].starts_with(':')
        };
        let mut is_same_clause = true;
        let mut quotes = 0;
        for (distance, token) in self.tokens[..place.start].iter().rev().take(CONTEXT_TOKENS_MAX).enumerate() {
            if ends_sentence(token) {
                break;
            }
            sentence_start = place.start - 1 - distance;
            is_same_clause &= !(matches!(token.kind, Kind::Comma | Kind::Stop) || is(token, &["then", "so"]));
            quotes += usize::from(matches!(token.kind, Kind::Quote));
            // "If 2 + 3 = 10, then 7 + 2 = 63": a puzzle, to its end.
            let said_under_it = &self.tokens[place.start - distance..place.start];
            let is_puzzle = said_under_it.first().is_some_and(Token::begins_operand)
                && said_under_it.iter().any(|token| matches!(token.kind, Kind::Relation(Relation::Equal)));
            if (is_same_clause || is_puzzle) && is_of(token, &words.hypothetical) {
                return Some(Reason::Hypothetical);
            }
            let is_base = is(token, &["base"]) && self.is_base(place.start - 1 - distance);
            let is_held = is_of(token, &words.held)
                && self.tokens[place.start - distance..].first().is_some_and(|next| is(next, &["that"]));
            let is_said = is_of(token, &words.taken_back) || is_of(token, &words.reports);
            if is_said || is_base || is_held || distance < 3 && is_of(token, &words.not) {
                return Some(Reason::TakenBack);
            }
        }
        if framed::is_framed(self.text, self.tokens, sentence_start, place.clone(), is_worded) {
            return Some(Reason::Framed);
        }
        let mut sentences = 0;
        for (distance, token) in self.tokens[place.end..].iter().take(CONTEXT_TOKENS_MAX).enumerate() {
            if matches!(token.kind, Kind::Question) && sentences == 0 {
                return Some(Reason::Question);
            }
            if sentences == 0 && matches!(token.kind, Kind::Quote) && quotes % 2 == 1 {
                return Some(Reason::Quoted);
            }
            if matches!(token.kind, Kind::Modulo) && distance < 3 {
                return Some(Reason::TakenBack);
            }
            if is(token, &["base"]) && sentences == 0 && self.is_base(place.end + distance) {
                return Some(Reason::Base);
            }
            let is_said = is_of(token, &words.taken_back) && (sentences == 0 || distance < 10);
            if is_said || is_of(token, &words.not) && distance < 4 {
                return Some(Reason::TakenBack);
            }
            sentences += usize::from(ends_sentence(token));
            if sentences > 1 {
                break;
            }
        }
        self.taken_back_by_lines(bytes)
    }

    /// Whether "base" at this token is that of a number system: base 2, in base ten.
    fn is_base(&self, at: usize) -> bool {
        let follows = self.tokens.get(at + 1).is_some_and(|token| matches!(token.kind, Kind::Number(_) | Kind::Minus));
        follows || at > 0 && self.tokens[at - 1].is_word_of(self.text, &["in"])
    }

    /// The same, by the line that the equation stands on and the one above it.
    fn taken_back_by_lines(&self, bytes: Range<usize>) -> Option<Reason> {
        const LINE_BYTES_MAX: usize = 300;
        let floor = self.text.floor_char_boundary(bytes.start.saturating_sub(2 * LINE_BYTES_MAX));
        let before = &self.text[floor..bytes.start];
        let (above, own) = before.rsplit_once('\n').unwrap_or(("", before));
        if own.trim_start().starts_with('>') {
            return Some(Reason::Quoted);
        }
        if own.contains(['❌', '✗', '✘', '❎']) {
            return Some(Reason::TakenBack);
        }
        let above = above.trim_end().rsplit('\n').next().unwrap_or_default().trim();
        let announces = above.ends_with(':') || above.starts_with('#') || above.ends_with("**");
        let lower = above.to_ascii_lowercase();
        let is_taken_back = announces
            && ["incorrect", "wrong", "mistake", "error", "false", "binary", "suppose", "assume", "if "]
                .iter()
                .any(|word| lower.contains(word));
        is_taken_back.then_some(Reason::TakenBack)
    }
}

fn is_order(relation: Relation) -> bool {
    matches!(relation, Relation::Less | Relation::Greater | Relation::AtMost | Relation::AtLeast)
}

/// The relation, with "about" behind the sign.
fn relation_of(relation: Relation, tokens: &[Token], at: usize) -> Relation {
    let is_about = tokens.get(at + 1).is_some_and(|token| matches!(token.kind, Kind::About))
        || at > 0 && matches!(tokens[at - 1].kind, Kind::About);
    match relation {
        Relation::Equal | Relation::Is if is_about => Relation::Approximate,
        Relation::Is => Relation::Equal,
        relation => relation,
    }
}

/// Whether `left` stands to `right` as is said, in some reading.
pub fn check(left: &Expression, relation: Relation, right: &Expression, strict: bool) -> Outcome {
    let plain = Reading::default();
    let first = compare(left, relation, right, plain, strict);
    if first != Some(false) {
        return match first {
            Some(_) => Outcome::Held,
            None => Outcome::NotAssessed(
                left.exact(plain).err().or(right.exact(plain).err()).unwrap_or(Reason::NotRational),
            ),
        };
    }
    if readings(left, right).any(|reading| compare(left, relation, right, reading, strict) != Some(false)) {
        return Outcome::Held;
    }
    if strict {
        return refuted(left, right);
    }
    match excuse(left, relation, right) {
        Some(Ok(())) => Outcome::Held,
        Some(Err(reason)) => Outcome::NotAssessed(reason),
        None => refuted(left, right),
    }
}

fn refuted(left: &Expression, right: &Expression) -> Outcome {
    let plain = Reading::default();
    let value = |side: &Expression| match side.exact(plain) {
        Ok(value) => value.show(),
        Err(_) => {
            side.interval(plain, Slack::None).map_or_else(String::new, |range| super::number::show_double(range.low))
        }
    };
    // 15 = 3 * 4: the number is what is wrong, on whichever side it stands.
    let (computed, stated) = if left.operators == 0 && right.operators > 0 { (right, left) } else { (left, right) };
    let (expected, said) = (value(computed), value(stated));
    let shown = computed.show(SHOWN_CHARS_MAX);
    match in_unit_of(computed, stated) {
        Some(expected) => Outcome::False(format!("{shown} = {expected} in the unit of the result, not {said}")),
        None => Outcome::False(format!("{shown} = {expected}, not {said}")),
    }
}

/// What `computed` is in the unit of `stated`, when its own units differ.
fn in_unit_of(computed: &Expression, stated: &Expression) -> Option<String> {
    let is_mixed = computed.units.union(stated.units).are_mixed();
    let ((value, powers), (base, of)) = (computed.converted().filter(|_| is_mixed)?, stated.converted()?);
    let unit = base.div(&stated.exact(Reading::default()).ok()?)?;
    (powers == of).then(|| value.div(&unit)).flatten().map(|value| value.show())
}

/// The other ways to read the signs of both sides.
fn readings(left: &Expression, right: &Expression) -> impl Iterator<Item = Reading> {
    let has_percent = left.has_percent || right.has_percent;
    let has_points =
        [left, right].iter().any(|side| side.literals().any(|literal| literal.with_points_as_thousands.is_some()));
    let plain = Reading::default();
    let has_scale = left.has_scale || right.has_scale;
    let nouns = Reading { scales_are_nouns: true, ..plain };
    let percents = [Percent::Nothing, Percent::OfLeft].map(|percent| Reading { percent, ..plain });
    let points = Reading { points_are_thousands: true, ..plain };
    let product = Reading { adjacent_is_product: true, ..plain };
    percents
        .into_iter()
        .filter(move |_| has_percent)
        .chain(Some(points).filter(|_| has_points))
        .chain([product])
        .chain(Some(nouns).filter(|_| has_scale))
}

/// Whether the relation holds in one reading; `None` when that cannot be told.
fn compare(left: &Expression, relation: Relation, right: &Expression, reading: Reading, strict: bool) -> Option<bool> {
    let (a, b) = (left.exact(reading), right.exact(reading));
    match relation {
        Relation::Equal => {}
        Relation::Approximate => return about(left, right, reading),
        _ => {
            let order = a.ok()?.compare(&b.ok()?);
            return Some(match relation {
                Relation::Less => order.is_lt(),
                Relation::Greater => order.is_gt(),
                Relation::AtMost => order.is_le(),
                Relation::AtLeast => order.is_ge(),
                _ => return None,
            });
        }
    }
    if let (Ok(a), Ok(b)) = (&a, &b) {
        if a.compare(b).is_eq() {
            return Some(true);
        }
        if strict {
            return Some(false);
        }
        return Some(match (left.written(reading), right.written(reading)) {
            (_, Some(written)) => is_rounding(a, &written.value, &written.last_place),
            // 0.33 = 1/3
            (Some(written), None) => is_rounding(b, &written.value, &written.last_place),
            (None, None) => overlap(left, right, reading, Slack::Places(1))?,
        });
    }
    let is_unknown = |side: &Result<Exact, Reason>| matches!(side, Err(reason) if !matches!(reason, Reason::NotRational | Reason::TooLong));
    if is_unknown(&a) || is_unknown(&b) {
        return None;
    }
    if strict {
        return strictly(left, right, reading);
    }
    let (from, to) = (left.interval(reading, Slack::None)?, side_range(right, reading)?);
    let overlaps = from.low <= to.high && to.low <= from.high;
    let is_narrow = from.high - from.low <= from.magnitude() * 1e-9;
    (is_narrow || !overlaps).then_some(overlaps)
}

/// The range of what the right side may be a rounding of.
fn side_range(right: &Expression, reading: Reading) -> Option<super::number::Interval> {
    match right.written(reading) {
        Some(written) => {
            let places = if written.goes_on { 1.0 } else { 0.5 };
            super::number::Interval::around(&written.value, written.last_place.to_double() * places)
        }
        None => right.interval(reading, Slack::Places(1)),
    }
}

/// A root is never equal to a decimal; whether two roots are equal is told by their doubles.
fn strictly(left: &Expression, right: &Expression, reading: Reading) -> Option<bool> {
    const DOUBLES_AGREE: f64 = 1e-12;
    let (a, b) = (left.interval(reading, Slack::None)?, right.interval(reading, Slack::None)?);
    let distance = (a.low - b.high).max(b.low - a.high).max(0.0);
    Some(distance <= a.magnitude() * DOUBLES_AGREE)
}

fn about(left: &Expression, right: &Expression, reading: Reading) -> Option<bool> {
    let (a, b) = (left.interval(reading, Slack::None)?, side_range(right, reading)?);
    let room = ABOUT_SHARE * a.magnitude().max(b.magnitude());
    Some(a.low - room <= b.high && b.low - room <= a.high)
}

fn overlap(left: &Expression, right: &Expression, reading: Reading, slack: Slack) -> Option<bool> {
    let (a, b) = (left.interval(reading, slack)?, right.interval(reading, slack)?);
    Some(a.low <= b.high && b.low <= a.high)
}

/// Why an equation that fails is not called false: `Ok` when it holds after all.
fn excuse(left: &Expression, relation: Relation, right: &Expression) -> Option<Result<(), Reason>> {
    let plain = Reading::default();
    if left.has_modulo || right.has_modulo {
        return Some(Err(Reason::Ambiguous));
    }
    // Goals and assists: 5-1=6.
    let is_tally =
        left.tight_sum.as_ref().zip(right.exact(plain).ok()).is_some_and(|(sum, said)| sum.compare(&said).is_eq());
    if left.may_be_range || right.may_be_range || is_tally {
        return Some(Err(Reason::Range));
    }
    if left.literals().chain(right.literals()).all(|literal| literal.may_be_binary) {
        return Some(Err(Reason::Base));
    }
    let units = left.units.union(right.units);
    if units.are_mixed() {
        let (Some((a, p)), Some((b, q))) = (left.converted(), right.converted()) else {
            return Some(Err(Reason::MixedUnits));
        };
        if p != q {
            return if is_slip_of_rates(left, right) { None } else { Some(Err(Reason::MixedUnits)) };
        }
        let distance = a.sub(&b).map_or(f64::INFINITY, |distance| distance.abs().to_double());
        // Without the unit of the last place: what is written to three digits is held to them.
        let is_near = distance <= ABOUT_SHARE / 4.0 * a.to_double().abs();
        return is_near.then_some(Ok(()));
    }
    if is_factor_apart(left, right) {
        return Some(Err(Reason::MixedUnits));
    }
    // 3/4 = 75, 60% of 100 is 60%
    let hundred = if left.has_percent { Exact::fraction(1, 100) } else { Exact::whole(100) };
    if (left.has_percent || right.has_percent) && is_apart_by(left, right, &hundred) {
        return Some(Err(Reason::Ambiguous));
    }
    if relation != Relation::Equal {
        return None;
    }
    let places = if is_money(left) || is_money(right) { ROUNDED_MONEY_PLACES_MIN } else { ROUNDED_PLACES_MIN };
    let has_rounded = left.exact(plain).is_err() || left.literals().any(|literal| literal.may_be_rounded(places));
    let may_be_rounded = left.interval(plain, Slack::Places(places)).zip(side_range(right, plain));
    if has_rounded && may_be_rounded.is_some_and(|(a, b)| a.low <= b.high && b.low <= a.high) {
        return Some(Err(Reason::Rounded));
    }
    // 3 * 5 = 15 + 2 = 17: said one after the other.
    let runs_on = right.operators > 0
        && !right.begins_with_bracket
        && right
            .first_number()
            .zip(left.exact(plain).ok())
            .is_some_and(|(first, exact)| is_rounding(&exact, &first.value, &first.last_place));
    if runs_on {
        return Some(Err(Reason::RunOn));
    }
    let (exact, written) = (left.exact(plain).ok()?, right.written(plain)?);
    let may_be_cut = written.goes_on || written.places >= ROUNDED_PLACES_MIN || left.has_quotient;
    if may_be_cut && !exact.is_whole() && is_truncation(&exact, &written.value, &written.last_place) {
        return Some(Err(Reason::Truncated));
    }
    let distance = exact.sub(&written.value)?.abs().to_double();
    let is_float =
        written.digits >= FLOAT_DIGITS_MIN && distance <= exact.to_double().abs() * 1e-14 && !exact.is_whole();
    is_float.then_some(Err(Reason::FloatingPoint))
}

/// $1200/month * 12 months/year = $14401: a product whose result is near the one that it says. Units of time differ by four
/// times at least, so that no conversion explains it.
fn is_slip_of_rates(left: &Expression, right: &Expression) -> bool {
    const RATIO_MAX: f64 = 2.0;
    let plain = Reading::default();
    let (Ok(exact), Some(written)) = (left.exact(plain), right.written(plain)) else { return false };
    let ratio = exact.to_double() / written.value.to_double();
    let is_near = ratio > 1.0 / RATIO_MAX && ratio < RATIO_MAX;
    let is_rounded = is_rounding(&exact, &written.value, &written.last_place) || !exact.is_whole();
    is_near && !is_rounded && left.is_product_of_whole() && left.units.union(right.units).are_mixed_in_time_only()
}

fn is_money(side: &Expression) -> bool {
    ["$", "€", "£", "¥"].iter().any(|sign| Unit::of(sign).is_some_and(|unit| side.units.contains(unit)))
}

/// Whether the sides differ by what one unit is of another of its kind: 2 * 60 = 2 hours.
fn is_factor_apart(left: &Expression, right: &Expression) -> bool {
    let is_one = |factor: &Exact| factor.to_whole() == Some(1);
    let of_right = right.units.factors(left.units);
    let of_left = left.units.factors(right.units).into_iter().filter_map(|factor| Exact::whole(1).div(&factor));
    of_right.into_iter().chain(of_left).filter(|factor| !is_one(factor)).any(|factor| is_apart_by(left, right, &factor))
}

/// Whether the right side is `factor` times the left one.
fn is_apart_by(left: &Expression, right: &Expression, factor: &Exact) -> bool {
    let plain = Reading::default();
    let (Some(a), Some(b)) = (left.interval(plain, Slack::None), side_range(right, plain)) else { return false };
    /// Half of the last place, relative to the number, beyond which a rounding says too little.
    const COARSE: f64 = 0.1;
    let factor = factor.to_double();
    let (low, high) = (a.low * factor, a.high * factor);
    let is_coarse = b.high - b.low > 2.0 * COARSE * b.magnitude();
    let b = if is_coarse { right.interval(plain, Slack::None).unwrap_or(b) } else { b };
    low.min(high) <= b.high && b.low <= low.max(high)
}
