//! Tokens become expressions, and expressions become values: exactly where that is possible, else as an interval.
//!
//! **Grammar**, from the loosest: sums, products (`a b` in brackets too), signs, powers (to the right; -3^2 = -9), then
//! percent, factorial and units behind an operand. "2 1/2" is a mixed number. Nouns behind a number ("20 sheep") belong
//! to it and count nothing.
//!
//! **Limits**: [`DEPTH_MAX`] brackets or signs inside of one another, [`NODES_MAX`] operands and operators of a side.

use std::ops::Range;

use super::{
    Reason,
    lexer::{Kind, Token},
    number::{Exact, Interval, Literal, NotANumber, factorial},
    unit::{Dimension, KINDS, Unit, Units},
};
use crate::text::quantity::spelled;

/// Brackets and signs inside of one another.
pub const DEPTH_MAX: u32 = 40;
/// Operands and operators of one side.
pub const NODES_MAX: usize = 400;
/// Words behind a number that say what it counts.
pub const LABEL_WORDS_MAX: usize = 5;

/// Words that end what a number counts.
const STOP_WORDS: [&str; 64] = [
    "and",
    "or",
    "but",
    "so",
    "then",
    "thus",
    "hence",
    "therefore",
    "for",
    "to",
    "in",
    "on",
    "at",
    "of",
    "from",
    "with",
    "by",
    "as",
    "if",
    "when",
    "while",
    "because",
    "since",
    "which",
    "that",
    "this",
    "the",
    "a",
    "an",
    "is",
    "are",
    "was",
    "were",
    "be",
    "it",
    "he",
    "she",
    "they",
    "we",
    "you",
    "i",
    "there",
    "more",
    "less",
    "fewer",
    "than",
    "after",
    "before",
    "minus",
    "plus",
    "times",
    "what",
    "who",
    "where",
    "has",
    "have",
    "had",
    "will",
    "would",
    "can",
    "not",
    "gives",
    "giving",
    "equals",
];

/// What an expression is made of.
#[derive(Clone, Debug)]
enum Node {
    Number(Literal),
    Pi,
    Variable(u8),
    Negative(usize),
    Sum(usize, usize),
    Difference(usize, usize),
    Product(usize, usize),
    Quotient(usize, usize),
    Modulo(usize, usize),
    Power(usize, usize),
    Root(u32, usize),
    Factorial(usize),
    Percent(usize),
    /// A whole number and a fraction: their sum, or their product.
    Adjacent(usize, usize),
    /// A number with a unit.
    Quantity(usize, Dimension),
    /// A number and a word that scales it.
    Scaled(usize, Exact),
}

/// How percent signs, points and adjacent numbers are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// What a percent sign means.
    pub percent: Percent,
    /// Whether 1.200 is a thousand and two hundred.
    pub points_are_thousands: bool,
    /// Whether 2 1/2 is a product.
    pub adjacent_is_product: bool,
    /// Whether "million" says what is counted: 2 * 10 = 20 million.
    pub scales_are_nouns: bool,
}

/// What a percent sign means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Percent {
    /// A hundredth.
    #[default]
    Share,
    /// Nothing: 100% - 60% = 40.
    Nothing,
    /// 50 + 10% is 55.
    OfLeft,
}

/// The number of a side that is one number.
#[derive(Clone, Debug)]
pub struct Written {
    /// What it says.
    pub value: Exact,
    /// The unit of its last digit.
    pub last_place: Exact,
    /// Digits behind the decimal point.
    pub places: u32,
    /// Significant digits.
    pub digits: usize,
    /// Whether dots follow.
    pub goes_on: bool,
}

/// One side of an equation.
#[derive(Clone, Debug)]
pub struct Expression {
    root: usize,
    nodes: Vec<Node>,
    /// Its bytes in the whole text.
    pub span: Range<usize>,
    /// The units that stand in it.
    pub units: Units,
    /// Operators, roots and percent signs.
    pub operators: usize,
    /// Whether there is a percent sign.
    pub has_percent: bool,
    /// Whether there is a remainder that can be read in several ways.
    pub has_modulo: bool,
    /// Whether a word scales a number.
    pub has_scale: bool,
    /// Whether there is a quotient.
    pub has_quotient: bool,
    /// Letters that stand for numbers, a bit for each.
    pub variables: u32,
    /// Whether its minus sign may mean "to" (5-10): both numbers whole, nothing blank between.
    pub may_be_range: bool,
    /// The sum of two whole numbers with a minus sign and nothing blank between them.
    pub tight_sum: Option<Exact>,
    /// Whether it begins with a bracket.
    pub begins_with_bracket: bool,
}

/// What words may stand in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Units and nouns.
    Labels,
    /// Single letters, which stand for numbers.
    Variables,
}

/// Reads the longest expression at the beginning of `tokens`: it, and how many tokens belong to it.
pub fn parse(text: &str, tokens: &[Token], words: Words) -> Result<(Expression, usize), Reason> {
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        depth: 0,
        words,
        nodes: Vec::new(),
        units: Units::default(),
        operators: 0,
        has_percent: false,
        has_modulo: false,
        modulo_words: 0,
        has_scale: false,
        has_quotient: false,
        variables: 0,
    };
    let first = tokens.first().ok_or(Reason::MissingOperand)?.span.start;
    let root = parser.sum()?;
    let at = parser.at;
    let last = tokens[..at].iter().map(|token| token.span.end).max().unwrap_or(first);
    let may_be_range = matches!(
        &tokens[..at],
        [
            Token { kind: Kind::Number(a), .. },
            Token { kind: Kind::Minus, is_spaced: false, .. },
            Token { kind: Kind::Number(b), is_spaced: false, .. },
            ..
        ] if a.value.compare(&b.value).is_lt()
    );
    let tight_sum = match &tokens[..at] {
        [
            Token { kind: Kind::Number(a), .. },
            Token { kind: Kind::Minus, is_spaced: false, .. },
            Token { kind: Kind::Number(b), is_spaced: false, .. },
        ] => a.value.add(&b.value).filter(|_| a.places + b.places == 0),
        _ => None,
    };
    let expression = Expression {
        root,
        nodes: parser.nodes,
        span: first..last,
        units: parser.units,
        operators: parser.operators,
        has_percent: parser.has_percent,
        has_modulo: parser.has_modulo || parser.modulo_words > 0 && parser.operators > 1,
        has_scale: parser.has_scale,
        has_quotient: parser.has_quotient,
        variables: parser.variables,
        may_be_range,
        tight_sum,
        begins_with_bracket: matches!(tokens[0].kind, Kind::Open),
    };
    Ok((expression, at))
}

/// Whether `token` is a word that can say what a number counts.
pub fn is_label(text: &str, token: &Token) -> bool {
    let Kind::Word = token.kind else { return false };
    let word = &text[token.span.clone()];
    let is_letter = word.chars().count() == 1 && Unit::of(word).is_none();
    !is_letter && !STOP_WORDS.iter().any(|stop| stop.eq_ignore_ascii_case(word))
}

/// Whether `of` joins two nouns to what one number counts: pieces of straw.
pub fn joins_labels(text: &str, before: &Token, of: &Token, behind: &Token) -> bool {
    of.is_word_of(text, &["of"]) && [before, behind].iter().all(|noun| is_label(text, noun) && noun.span.len() > 2)
}

struct Parser<'t> {
    text: &'t str,
    tokens: &'t [Token],
    at: usize,
    depth: u32,
    words: Words,
    nodes: Vec<Node>,
    units: Units,
    operators: usize,
    has_percent: bool,
    has_modulo: bool,
    modulo_words: u32,
    has_scale: bool,
    has_quotient: bool,
    variables: u32,
}

impl Parser<'_> {
    fn kind(&self, ahead: usize) -> Option<&Kind> {
        self.tokens.get(self.at + ahead).map(|token| &token.kind)
    }

    fn word(&self, ahead: usize) -> &str {
        match self.tokens.get(self.at + ahead) {
            Some(Token { kind: Kind::Word, span, .. }) => &self.text[span.clone()],
            _ => "",
        }
    }

    fn is_spaced(&self, ahead: usize) -> bool {
        self.tokens.get(self.at + ahead).is_none_or(|token| token.is_spaced)
    }

    fn add(&mut self, node: Node) -> Result<usize, Reason> {
        if self.nodes.len() >= NODES_MAX {
            return Err(Reason::TooLong);
        }
        self.nodes.push(node);
        Ok(self.nodes.len() - 1)
    }

    fn follows_pi(&self) -> bool {
        self.at > 0 && matches!(self.tokens[self.at - 1].kind, Kind::Pi)
    }

    /// Whether an operand stands `ahead`, signs before it included.
    fn begins_operand(&self, ahead: usize) -> bool {
        let signs =
            (ahead..ahead + 2).take_while(|at| matches!(self.kind(*at), Some(Kind::Minus | Kind::Plus))).count();
        let at = ahead + signs;
        self.tokens.get(self.at + at).is_some_and(Token::begins_operand) || self.variable(at).is_some()
    }

    /// The letter `ahead` that stands for a number.
    fn variable(&self, ahead: usize) -> Option<u8> {
        let word = self.word(ahead).as_bytes();
        let is_letter = self.words == Words::Variables && word.len() == 1 && word[0].is_ascii_alphabetic();
        is_letter.then(|| word[0])
    }

    fn deeper<T>(&mut self, inner: fn(&mut Self) -> Result<T, Reason>) -> Result<T, Reason> {
        if self.depth >= DEPTH_MAX {
            return Err(Reason::TooLong);
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn sum(&mut self) -> Result<usize, Reason> {
        let mut left = self.product()?;
        while let Some(Kind::Plus | Kind::Minus) = self.kind(0) {
            let is_plus = matches!(self.kind(0), Some(Kind::Plus));
            if !self.begins_operand(1) {
                self.refuse_dangling(is_plus)?;
                break;
            }
            self.at += 1;
            let right = self.product()?;
            self.operators += 1;
            left = self.add(if is_plus { Node::Sum(left, right) } else { Node::Difference(left, right) })?;
        }
        Ok(left)
    }

    /// A sign without an operand behind it: a dash in a sentence, or a term that is not understood.
    fn refuse_dangling(&self, is_plus: bool) -> Result<(), Reason> {
        let behind = self.word(1);
        let is_term = behind.chars().count() == 1 && !matches!(behind, "a" | "A" | "I") || !self.is_spaced(1);
        let is_end = self.kind(1).is_none() || matches!(self.kind(1), Some(Kind::Boundary | Kind::Stop));
        if !is_end && (is_plus || is_term || behind.is_empty()) { Err(Reason::Variable) } else { Ok(()) }
    }

    fn product(&mut self) -> Result<usize, Reason> {
        let mut left = self.sign()?;
        let mut has_quotient = false;
        let mut has_spaced_quotient = false;
        loop {
            let next = match self.kind(0) {
                Some(Kind::Times) => Node::Product as fn(usize, usize) -> Node,
                Some(Kind::Divide) => Node::Quotient,
                Some(Kind::Modulo) => Node::Modulo,
                Some(Kind::Open) if !self.is_spaced(0) || matches!(self.nodes[left], Node::Pi) || self.follows_pi() => {
                    left = self.adjacent_bracket(left, has_quotient)?;
                    continue;
                }
                Some(Kind::Fraction | Kind::Root(_) | Kind::Pi) => {
                    left = self.adjacent_bracket(left, has_quotient)?;
                    continue;
                }
                Some(Kind::Word) if self.variable(0).is_some() => {
                    left = self.adjacent_bracket(left, has_quotient)?;
                    continue;
                }
                _ => return Ok(left),
            };
            if !self.begins_operand(1) {
                return Err(Reason::Variable);
            }
            if matches!(self.kind(1), Some(Kind::Plus)) {
                return Err(Reason::Notation);
            }
            if matches!(self.kind(0), Some(Kind::Divide)) {
                // 60 / 3/4: people mean the fraction.
                if has_quotient && !self.is_spaced(0) && has_spaced_quotient {
                    return Err(Reason::Ambiguous);
                }
                has_spaced_quotient |= self.is_spaced(0);
                has_quotient = true;
                self.has_quotient = true;
            }
            // "17 mod 5" has one meaning; with a percent sign, or among other operators, there are several.
            let is_word = self.text[self.tokens[self.at].span.clone()].starts_with(|c: char| c.is_ascii_alphabetic());
            self.has_modulo |= matches!(self.kind(0), Some(Kind::Modulo)) && (!is_word || self.operators > 0);
            self.modulo_words += u32::from(matches!(self.kind(0), Some(Kind::Modulo)));
            self.at += 1;
            let right = self.sign()?;
            self.operators += 1;
            left = self.add(next(left, right))?;
        }
    }

    /// 2(3 + 4), 2√3, (a)(b); not behind a quotient, where people disagree on what is divided.
    fn adjacent_bracket(&mut self, left: usize, has_quotient: bool) -> Result<usize, Reason> {
        if has_quotient {
            return Err(Reason::Ambiguous);
        }
        // The dollar sign of LaTeX makes money of the number behind it.
        let number = match &self.nodes[left] {
            Node::Quantity(inner, _) => &self.nodes[*inner],
            node => node,
        };
        let is_mixed = matches!(self.kind(0), Some(Kind::Fraction))
            && matches!(number, Node::Number(literal) if literal.places == 0);
        let right = self.power()?;
        self.operators += 1;
        self.add(if is_mixed { Node::Adjacent(left, right) } else { Node::Product(left, right) })
    }

    fn sign(&mut self) -> Result<usize, Reason> {
        match self.kind(0) {
            Some(Kind::Minus) => {
                self.at += 1;
                let inner = self.deeper(Parser::sign)?;
                self.add(Node::Negative(inner))
            }
            Some(Kind::Plus) => {
                self.at += 1;
                self.deeper(Parser::sign)
            }
            _ => self.power(),
        }
    }

    fn power(&mut self) -> Result<usize, Reason> {
        let base = self.postfix()?;
        if !matches!(self.kind(0), Some(Kind::Power)) {
            return Ok(base);
        }
        if !self.begins_operand(1) {
            return Err(Reason::Variable);
        }
        self.at += 1;
        let exponent = self.deeper(Parser::sign)?;
        self.operators += 1;
        self.add(Node::Power(base, exponent))
    }

    fn postfix(&mut self) -> Result<usize, Reason> {
        let mut operand = self.primary()?;
        loop {
            match self.kind(0) {
                Some(Kind::Percent) => {
                    self.at += 1;
                    self.has_percent = true;
                    operand = self.add(Node::Percent(operand))?;
                }
                Some(Kind::Factorial) => {
                    // At the end of a sentence it is a mark of joy.
                    let goes_on = self
                        .tokens
                        .get(self.at + 1)
                        .is_some_and(|next| next.is_operator() || matches!(next.kind, Kind::Relation(_) | Kind::Close));
                    if !goes_on {
                        return Ok(operand);
                    }
                    self.at += 1;
                    self.operators += 1;
                    operand = self.add(Node::Factorial(operand))?;
                }
                Some(Kind::Word) if self.words == Words::Labels => return self.labels(operand),
                Some(Kind::Divide) if self.words == Words::Labels && is_label_at(self, 1) => {
                    return self.labels(operand);
                }
                Some(Kind::Number(_)) => return Err(Reason::Notation),
                _ => return Ok(operand),
            }
        }
    }

    /// Units and nouns behind a number.
    fn labels(&mut self, mut operand: usize) -> Result<usize, Reason> {
        if let Some(scaled) = self.scale(operand)? {
            operand = scaled;
        }
        let mut dimension = Dimension::none();
        let mut has_unit = false;
        // Nouns belong to the number only where the expression goes on behind them.
        let mut nouns = 0;
        let begin = self.at;
        let mut end = begin;
        let mut power = 1;
        while nouns <= LABEL_WORDS_MAX {
            let is_rate = matches!(self.kind(0), Some(Kind::Divide)) && is_label_at(self, 1);
            if is_rate || self.word(0).eq_ignore_ascii_case("per") {
                power = -1;
                self.at += 1;
            }
            if nouns > 0 && self.joins_labels() {
                self.at += 1;
            }
            if !is_label_at(self, 0) {
                break;
            }
            let word = self.word(0);
            let unit = Unit::of(word.trim_end_matches(['²', '³', '}', '2', '3']).trim_end_matches(['^', '{']));
            // 6m^2 is a product more often than an area.
            let is_letter = word.split('^').next().is_some_and(|letter| letter.chars().count() == 1);
            if !self.is_spaced(0) && power > 0 && (unit.is_none() || is_letter) && self.at == begin {
                return Err(Reason::Variable);
            }
            match unit {
                Some(unit) if nouns == 0 || power < 0 => {
                    let area = if word.ends_with(['²', '2']) || word.ends_with("2}") { 2 } else { 1 };
                    let area = if word.ends_with(['³', '3']) || word.ends_with("3}") { 3 } else { area };
                    dimension = dimension.times(unit, power * area).ok_or(Reason::TooLong)?;
                    self.units.insert(unit);
                    has_unit = true;
                    self.at += 1;
                    if let Some((more, tokens)) = self.unit_power() {
                        dimension = dimension.times(unit, power * (more - 1)).ok_or(Reason::TooLong)?;
                        self.at += tokens;
                    }
                    end = self.at;
                }
                _ => {
                    nouns += 1;
                    self.at += 1;
                }
            }
            power = 1;
        }
        let goes_on = match self.tokens.get(self.at) {
            None => true,
            Some(Token { kind: Kind::Relation(_) | Kind::Close, .. }) => true,
            Some(token) if token.is_operator() => self.begins_operand(1),
            _ => false,
        };
        if !goes_on {
            // "8 bags of leaves / Y"
            let is_term = self.tokens.get(self.at).is_some_and(Token::is_operator)
                && self.word(1).len() == 1
                && !matches!(self.word(1), "a" | "A" | "I");
            if is_term {
                return Err(Reason::Variable);
            }
            self.at = end;
        }
        let is_letter = self.word(0).chars().count() == 1 && !matches!(self.word(0), "a" | "A" | "I");
        if is_letter || (self.at == begin && !self.is_spaced(0) && !self.word(0).is_empty()) {
            return Err(Reason::Variable);
        }
        if has_unit { self.add(Node::Quantity(operand, dimension)) } else { Ok(operand) }
    }

    /// Whether "of" stands here between two nouns.
    fn joins_labels(&self) -> bool {
        let around = self.at.checked_sub(1).and_then(|before| self.tokens.get(before..before + 3));
        matches!(around, Some([before, of, behind]) if joins_labels(self.text, before, of, behind))
    }

    /// The power of a unit that stands behind it, and its tokens: `\text{m}^2`.
    fn unit_power(&self) -> Option<(i8, usize)> {
        let Some(Kind::Power) = self.kind(0) else { return None };
        let small = |ahead: usize| match self.kind(ahead) {
            Some(Kind::Number(literal)) => {
                literal.value.to_whole().filter(|power| matches!(power, 2 | 3)).map(|power| power as i8)
            }
            _ => None,
        };
        match (self.kind(1), self.kind(3)) {
            (Some(Kind::Open), Some(Kind::Close)) => small(2).map(|power| (power, 4)),
            _ => small(1).map(|power| (power, 2)),
        }
    }

    /// "million" and the like behind a number, or a letter right behind an amount of money.
    fn scale(&mut self, operand: usize) -> Result<Option<usize>, Reason> {
        let word = self.word(0);
        let is_money = matches!(&self.nodes[operand], Node::Quantity(..)) && !self.is_spaced(0);
        let power = spelled::scale(word).or_else(|| spelled::money_scale(word).filter(|_| is_money));
        let Some(power) = power else { return Ok(None) };
        let ten = Exact::whole(10).pow(i64::from(power)).ok_or(Reason::TooLong)?;
        self.at += 1;
        self.has_scale = true;
        self.add(Node::Scaled(operand, ten)).map(Some)
    }

    fn primary(&mut self) -> Result<usize, Reason> {
        if let Some(letter) = self.variable(0) {
            self.variables |= 1 << (letter.to_ascii_lowercase() - b'a');
            self.at += 1;
            return self.add(Node::Variable(letter.to_ascii_lowercase() - b'a'));
        }
        match self.kind(0) {
            Some(Kind::Currency(unit)) => {
                let unit = *unit;
                self.at += 1;
                self.units.insert(unit);
                let number = self.deeper(Parser::sign_of_money)?;
                let dimension = Dimension::none().times(unit, 1).ok_or(Reason::TooLong)?;
                self.add(Node::Quantity(number, dimension))
            }
            Some(Kind::Number(literal)) => {
                let literal = (**literal).clone();
                self.at += 1;
                let number = self.add(Node::Number(literal))?;
                self.mixed(number)
            }
            Some(Kind::NotANumber(NotANumber::TooLong)) => Err(Reason::TooLong),
            Some(Kind::Pi) => {
                self.at += 1;
                self.add(Node::Pi)
            }
            Some(Kind::Open) => self.deeper(Parser::bracket),
            Some(Kind::Fraction) => {
                self.at += 1;
                let numerator = self.deeper(Parser::bracket)?;
                let denominator = self.deeper(Parser::bracket)?;
                self.operators += 1;
                self.has_quotient = true;
                self.add(Node::Quotient(numerator, denominator))
            }
            Some(Kind::Root(degree)) => {
                let degree = *degree;
                self.at += 1;
                let inner = self.deeper(Parser::primary)?;
                self.operators += 1;
                self.add(Node::Root(degree, inner))
            }
            Some(Kind::Word) => Err(Reason::Variable),
            _ => Err(Reason::Notation),
        }
    }

    /// The number behind a sign of money: `$-5`, `$5`.
    fn sign_of_money(&mut self) -> Result<usize, Reason> {
        match self.kind(0) {
            Some(Kind::Minus) => {
                self.at += 1;
                let inner = self.deeper(Parser::sign_of_money)?;
                self.add(Node::Negative(inner))
            }
            Some(Kind::Number(_)) => self.primary(),
            _ => Err(Reason::Notation),
        }
    }

    fn bracket(&mut self) -> Result<usize, Reason> {
        if !matches!(self.kind(0), Some(Kind::Open)) {
            return Err(Reason::Notation);
        }
        self.at += 1;
        let inner = self.sum()?;
        match self.kind(0) {
            Some(Kind::Close) => {
                self.at += 1;
                Ok(inner)
            }
            _ => Err(Reason::Notation),
        }
    }

    /// "2 1/2": a whole number, a blank, and a fraction without blanks.
    fn mixed(&mut self, whole: usize) -> Result<usize, Reason> {
        let (Some(Kind::Number(numerator)), Some(Kind::Divide), Some(Kind::Number(denominator))) =
            (self.kind(0), self.kind(1), self.kind(2))
        else {
            return Ok(whole);
        };
        let is_fraction = !self.is_spaced(1)
            && !self.is_spaced(2)
            && numerator.value.compare(&denominator.value).is_lt()
            && matches!(&self.nodes[whole], Node::Number(literal) if literal.places == 0);
        let Some(value) = numerator.value.div(&denominator.value).filter(|_| is_fraction) else {
            return Err(Reason::Notation);
        };
        self.at += 3;
        let fraction = self.add(Node::Number(Literal::exactly(value)))?;
        self.add(Node::Adjacent(whole, fraction))
    }
}

fn is_label_at(parser: &Parser<'_>, ahead: usize) -> bool {
    parser.tokens.get(parser.at + ahead).is_some_and(|token| is_label(parser.text, token))
}

/// How far the numbers of a side are taken to be rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slack {
    /// Every number is what it says.
    None,
    /// Numbers with at least so many digits behind the point may be rounded; π may be 3.14.
    Places(u32),
}

impl Expression {
    /// The literals in it.
    pub fn literals(&self) -> impl Iterator<Item = &Literal> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Number(literal) => Some(literal),
            _ => None,
        })
    }

    /// The first number in it, when it is more than that.
    pub fn first_number(&self) -> Option<&Literal> {
        let mut at = self.root;
        loop {
            at = match &self.nodes[at] {
                Node::Number(literal) => return Some(literal),
                Node::Sum(a, _) | Node::Difference(a, _) | Node::Product(a, _) | Node::Quotient(a, _) => *a,
                Node::Quantity(inner, _) => *inner,
                _ => return None,
            };
        }
    }

    /// Whether it is a product or quotient of whole numbers and nothing else.
    pub fn is_product_of_whole(&self) -> bool {
        self.nodes.iter().all(|node| match node {
            Node::Number(literal) => literal.value.is_whole(),
            Node::Product(..) | Node::Quotient(..) | Node::Quantity(..) => true,
            _ => false,
        })
    }

    /// The exact value.
    pub fn exact(&self, reading: Reading) -> Result<Exact, Reason> {
        self.exact_at(self.root, reading, &[])
    }

    /// The exact value with a number for each letter.
    pub fn exact_with(&self, variables: &[Exact]) -> Result<Exact, Reason> {
        self.exact_at(self.root, Reading::default(), variables)
    }

    fn exact_at(&self, at: usize, reading: Reading, variables: &[Exact]) -> Result<Exact, Reason> {
        let of = |at: usize| self.exact_at(at, reading, variables);
        let too_long = || Reason::TooLong;
        match &self.nodes[at] {
            Node::Number(literal) => Ok(match &literal.with_points_as_thousands {
                Some(thousands) if reading.points_are_thousands => thousands.clone(),
                _ if literal.goes_on => return Err(Reason::NotRational),
                _ => literal.value.clone(),
            }),
            Node::Pi => Err(Reason::NotRational),
            Node::Variable(letter) => variables.get(usize::from(*letter)).cloned().ok_or(Reason::Variable),
            Node::Negative(inner) => Ok(of(*inner)?.negated()),
            Node::Sum(a, b) | Node::Difference(a, b) => {
                let is_sum = matches!(self.nodes[at], Node::Sum(..));
                let left = of(*a)?;
                let mut right = of(*b)?;
                if reading.percent == Percent::OfLeft && matches!(self.nodes[*b], Node::Percent(_)) {
                    right = right.mul(&left).ok_or_else(too_long)?;
                }
                if is_sum { left.add(&right) } else { left.sub(&right) }.ok_or_else(too_long)
            }
            Node::Product(a, b) => of(*a)?.mul(&of(*b)?).ok_or_else(too_long),
            Node::Quotient(a, b) => {
                let divisor = of(*b)?;
                if divisor.is_zero() { Err(Reason::Undefined) } else { of(*a)?.div(&divisor).ok_or_else(too_long) }
            }
            Node::Modulo(a, b) => {
                let (a, b) = (of(*a)?.to_whole(), of(*b)?.to_whole());
                let remainder = a.zip(b).and_then(|(a, b)| a.checked_rem_euclid(b));
                remainder.map(Exact::whole).ok_or(Reason::Undefined)
            }
            Node::Power(a, b) => self.exact_power(&of(*a)?, &of(*b)?),
            Node::Root(degree, inner) => {
                let inner = of(*inner)?;
                if inner.is_negative() {
                    Err(Reason::Undefined)
                } else {
                    inner.root(*degree).ok_or(Reason::NotRational)
                }
            }
            Node::Factorial(inner) => of(*inner)?.to_whole().and_then(factorial).ok_or(Reason::TooLong),
            Node::Percent(inner) => {
                let value = of(*inner)?;
                if reading.percent == Percent::Nothing {
                    Ok(value)
                } else {
                    value.div(&Exact::whole(100)).ok_or_else(too_long)
                }
            }
            Node::Adjacent(a, b) => {
                let (a, b) = (of(*a)?, of(*b)?);
                if reading.adjacent_is_product { a.mul(&b) } else { a.add(&b) }.ok_or_else(too_long)
            }
            Node::Quantity(inner, _) => of(*inner),
            Node::Scaled(inner, _) if reading.scales_are_nouns => of(*inner),
            Node::Scaled(inner, ten) => of(*inner)?.mul(ten).ok_or_else(too_long),
        }
    }

    fn exact_power(&self, base: &Exact, exponent: &Exact) -> Result<Exact, Reason> {
        if let Some(whole) = exponent.to_whole() {
            let is_undefined = base.is_zero() && whole <= 0;
            return if is_undefined { Err(Reason::Undefined) } else { base.pow(whole).ok_or(Reason::TooLong) };
        }
        // A power of 1/2 is a root.
        let degree = Exact::whole(1).div(exponent).and_then(|degree| degree.to_whole());
        let degree = degree.and_then(|degree| u32::try_from(degree).ok()).filter(|degree| (2..=100).contains(degree));
        degree.and_then(|degree| base.root(degree)).ok_or(Reason::NotRational)
    }

    /// An interval that contains the value.
    pub fn interval(&self, reading: Reading, slack: Slack) -> Option<Interval> {
        self.interval_at(self.root, reading, slack)
    }

    fn interval_at(&self, at: usize, reading: Reading, slack: Slack) -> Option<Interval> {
        let of = |at: usize| self.interval_at(at, reading, slack);
        let point = |value: &Exact| Interval::around(value, 0.0);
        match &self.nodes[at] {
            Node::Number(literal) => match (&literal.with_points_as_thousands, slack) {
                (Some(thousands), _) if reading.points_are_thousands => point(thousands),
                _ if literal.goes_on => Interval::around(&literal.value, 2.0 * literal.half_place()),
                (_, Slack::Places(places)) if literal.may_be_rounded(places) => {
                    Interval::around(&literal.value, literal.half_place())
                }
                _ => point(&literal.value),
            },
            Node::Pi if slack == Slack::None => Interval::widened(std::f64::consts::PI, std::f64::consts::PI),
            Node::Pi => Interval::widened(314.0 / 100.0, 22.0 / 7.0),
            Node::Variable(_) => None,
            Node::Negative(inner) => Some(of(*inner)?.negated()),
            Node::Sum(a, b) | Node::Difference(a, b) => {
                let left = of(*a)?;
                let mut right = of(*b)?;
                if reading.percent == Percent::OfLeft && matches!(self.nodes[*b], Node::Percent(_)) {
                    right = right.mul(left)?;
                }
                if matches!(self.nodes[at], Node::Sum(..)) { left.add(right) } else { left.add(right.negated()) }
            }
            Node::Product(a, b) => of(*a)?.mul(of(*b)?),
            Node::Quotient(a, b) => of(*a)?.div(of(*b)?),
            Node::Modulo(..) => point(&self.exact_at(at, reading, &[]).ok()?),
            Node::Power(a, b) => match self.exact_at(*b, reading, &[]).ok().and_then(|exponent| exponent.to_whole()) {
                Some(whole) => of(*a)?.whole_power(whole),
                None => of(*a)?.pow(of(*b)?),
            },
            Node::Root(degree, inner) => {
                let share = 1.0 / f64::from(*degree);
                of(*inner)?.pow(Interval::widened(share, share)?)
            }
            Node::Factorial(inner) => {
                let n = self.exact_at(*inner, reading, &[]).ok()?.to_whole()?;
                (0..=170).contains(&n).then(|| {
                    (2..=n).try_fold(Interval { low: 1.0, high: 1.0 }, |product, factor| {
                        product.mul(Interval { low: factor as f64, high: factor as f64 })
                    })
                })?
            }
            Node::Percent(inner) => {
                let value = of(*inner)?;
                let hundred = Interval { low: 100.0, high: 100.0 };
                if reading.percent == Percent::Nothing { Some(value) } else { value.div(hundred) }
            }
            Node::Adjacent(a, b) if reading.adjacent_is_product => of(*a)?.mul(of(*b)?),
            Node::Adjacent(a, b) => of(*a)?.add(of(*b)?),
            Node::Quantity(inner, _) => of(*inner),
            Node::Scaled(inner, _) if reading.scales_are_nouns => of(*inner),
            Node::Scaled(inner, ten) => of(*inner)?.mul(point(ten)?),
        }
    }

    /// The value in base units, and of which kinds it is; `None` when it adds what cannot be added.
    pub fn converted(&self) -> Option<(Exact, [i8; KINDS])> {
        self.converted_at(self.root)
    }

    fn converted_at(&self, at: usize) -> Option<(Exact, [i8; KINDS])> {
        let of = |at: usize| self.converted_at(at);
        let joined = |a: &[i8; KINDS], b: &[i8; KINDS], sign: i8| {
            let mut powers = *a;
            powers.iter_mut().zip(b).try_for_each(|(own, other)| {
                *own = own.checked_add(other.checked_mul(sign)?)?;
                Some(())
            })?;
            Some(powers)
        };
        match &self.nodes[at] {
            Node::Negative(inner) => of(*inner).map(|(value, powers)| (value.negated(), powers)),
            Node::Sum(a, b) | Node::Difference(a, b) => {
                let ((x, p), (y, q)) = (of(*a)?, of(*b)?);
                let is_sum = matches!(self.nodes[at], Node::Sum(..));
                (p == q).then_some(())?;
                Some((if is_sum { x.add(&y) } else { x.sub(&y) }?, p))
            }
            Node::Product(a, b) => {
                let ((x, p), (y, q)) = (of(*a)?, of(*b)?);
                Some((x.mul(&y)?, joined(&p, &q, 1)?))
            }
            Node::Quotient(a, b) => {
                let ((x, p), (y, q)) = (of(*a)?, of(*b)?);
                Some((x.div(&y)?, joined(&p, &q, -1)?))
            }
            Node::Quantity(inner, dimension) => {
                let (value, powers) = of(*inner)?;
                Some((value.mul(&dimension.factor)?, joined(&powers, &dimension.powers, 1)?))
            }
            Node::Scaled(inner, ten) => of(*inner).and_then(|(value, powers)| Some((value.mul(ten)?, powers))),
            Node::Percent(inner) => {
                of(*inner).and_then(|(value, powers)| Some((value.div(&Exact::whole(100))?, powers)))
            }
            _ => Some((self.exact_at(at, Reading::default(), &[]).ok()?, [0; KINDS])),
        }
    }

    /// The number, when the side is one: digits with a sign, a unit, a percent sign, or a power of ten.
    pub fn written(&self, reading: Reading) -> Option<Written> {
        self.written_at(self.root, reading)
    }

    fn written_at(&self, at: usize, reading: Reading) -> Option<Written> {
        match &self.nodes[at] {
            Node::Number(literal) => {
                let thousands = literal.with_points_as_thousands.as_ref().filter(|_| reading.points_are_thousands);
                Some(Written {
                    value: thousands.unwrap_or(&literal.value).clone(),
                    last_place: if thousands.is_some() { Exact::whole(1) } else { literal.last_place.clone() },
                    places: literal.places,
                    digits: literal.digits,
                    goes_on: literal.goes_on,
                })
            }
            Node::Negative(inner) => {
                let inner = self.written_at(*inner, reading)?;
                Some(Written { value: inner.value.negated(), ..inner })
            }
            Node::Percent(inner) => {
                let inner = self.written_at(*inner, reading)?;
                let hundred = Exact::whole(if reading.percent == Percent::Nothing { 1 } else { 100 });
                Some(Written {
                    value: inner.value.div(&hundred)?,
                    last_place: inner.last_place.div(&hundred)?,
                    ..inner
                })
            }
            Node::Quantity(inner, _) => self.written_at(*inner, reading),
            Node::Scaled(inner, _) if reading.scales_are_nouns => self.written_at(*inner, reading),
            Node::Scaled(inner, ten) => {
                let inner = self.written_at(*inner, reading)?;
                Some(Written { value: inner.value.mul(ten)?, last_place: inner.last_place.mul(ten)?, ..inner })
            }
            // 3.2 × 10^8
            Node::Product(a, b) => {
                let Node::Power(base, _) = &self.nodes[*b] else { return None };
                let Node::Number(ten) = &self.nodes[*base] else { return None };
                let is_ten = ten.value.to_whole() == Some(10) && ten.places == 0;
                let power = self.exact_at(*b, reading, &[]).ok().filter(|_| is_ten)?;
                let coefficient = self.written_at(*a, reading)?;
                Some(Written {
                    value: coefficient.value.mul(&power)?,
                    last_place: coefficient.last_place.mul(&power)?,
                    ..coefficient
                })
            }
            _ => None,
        }
    }

    /// How it reads, without units, cut after `chars_max` characters.
    pub fn show(&self, chars_max: usize) -> String {
        let mut shown = String::new();
        self.show_at(self.root, 0, &mut shown, chars_max);
        if shown.chars().count() > chars_max {
            let cut: String = shown.chars().take(chars_max).collect();
            return format!("{cut}...");
        }
        shown
    }

    fn show_at(&self, at: usize, binds: u8, out: &mut String, chars_max: usize) {
        if out.len() > 4 * chars_max {
            return;
        }
        let mut infix = |a: usize, sign: &str, b: usize, own: u8| {
            let needs = own < binds;
            out.push_str(if needs { "(" } else { "" });
            self.show_at(a, own, out, chars_max);
            out.push_str(sign);
            self.show_at(b, own + 1, out, chars_max);
            out.push_str(if needs { ")" } else { "" });
        };
        match &self.nodes[at] {
            Node::Sum(a, b) => infix(*a, " + ", *b, 1),
            Node::Difference(a, b) => infix(*a, " - ", *b, 1),
            Node::Product(a, b) => infix(*a, " * ", *b, 3),
            Node::Quotient(a, b) => infix(*a, " / ", *b, 3),
            Node::Modulo(a, b) => infix(*a, " mod ", *b, 3),
            // Powers bind to the right: what stands on the left is in brackets.
            Node::Power(a, b) => {
                self.show_at(*a, 6, out, chars_max);
                out.push('^');
                self.show_at(*b, 5, out, chars_max);
            }
            Node::Adjacent(a, b) => infix(*a, " ", *b, 5),
            Node::Number(literal) => out.push_str(&literal.value.show()),
            Node::Pi => out.push('π'),
            Node::Variable(letter) => out.push(char::from(b'a' + letter)),
            Node::Negative(inner) => {
                out.push_str(if binds > 4 { "(-" } else { "-" });
                self.show_at(*inner, 4, out, chars_max);
                out.push_str(if binds > 4 { ")" } else { "" });
            }
            Node::Root(degree, inner) => {
                out.push_str(if *degree == 2 { "sqrt(" } else { "root(" });
                self.show_at(*inner, 0, out, chars_max);
                out.push(')');
            }
            Node::Factorial(inner) => {
                self.show_at(*inner, 6, out, chars_max);
                out.push('!');
            }
            Node::Percent(inner) => {
                self.show_at(*inner, 6, out, chars_max);
                out.push('%');
            }
            Node::Quantity(inner, _) => self.show_at(*inner, binds, out, chars_max),
            Node::Scaled(inner, ten) => {
                self.show_at(*inner, 6, out, chars_max);
                out.push_str(&format!("e{}", ten.show().len() - 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::facts::arithmetic::lexer::tokens;

    fn parsed(text: &str) -> Result<(Expression, usize), Reason> {
        parse(text, &tokens(text, 0..text.len(), &mut Vec::new()), Words::Labels)
    }

    #[track_caller]
    fn value(text: &str, expected: &str) {
        let exact = parsed(text).and_then(|(expression, _)| expression.exact(Reading::default()));
        assert_eq!(exact.map(|value| value.show()), Ok(expected.to_owned()), "{text}");
    }

    #[test]
    fn expressions_have_the_usual_precedence() {
        for (text, expected) in [
            ("2 + 3 * 4", "14"),
            ("(2 + 3) * 4", "20"),
            ("2^3^2", "512"),
            ("-3^2", "-9"),
            ("(-3)^2", "9"),
            ("2**10", "1024"),
            ("8 / 4 / 2", "1"),
            ("10 − 4 – 3", "3"),
            ("2(3 + 4)", "14"),
            ("-5 + -9 - 0 + 8", "-6"),
            ("1/3 + 1/6", "0.5"),
            ("2 1/2 + 1/4", "2.75"),
            ("2½ + 1", "3.5"),
            ("20% of 50", "10"),
            ("1/2 of 30", "15"),
            ("5 plus 3 times 2", "11"),
            ("12 multiplied by 4", "48"),
            ("12 divided by 4", "3"),
            ("3 x 4 × 5 · 2", "120"),
            ("3x4", "12"),
            ("sqrt(16) + √9", "7"),
            ("5! - 20", "100"),
            ("5²", "25"),
            ("10⁻²", "0.01"),
            ("7 squared", "49"),
            ("\\frac{3}{4} \\cdot 8", "6"),
            ("\\left( \\frac{1}{2} + 1 \\right) \\times 2", "3"),
            ("\\sqrt{49} + \\sqrt[3]{27}", "10"),
            ("2^{10}", "1024"),
            ("\\$1{,}200 \\div 3", "400"),
            ("$5.20 x 4", "20.8"),
            ("20 sheep + 160 sheep", "180"),
            ("90 minutes peeling + 5 minutes cutting", "95"),
            ("2 people/hour * 3 hours/day", "6"),
            ("111 feet / 1.5 feet per plant", "74"),
            ("$1.65 billion + $2 million", "1652000000"),
            ("50,000 (Cash) + 10,000 (Inventory)", "60000"),
            ("7%3", "1"),
            ("**8** + 2", "10"),
            ("5 kg + 3 kg", "8"),
            ("4 m^2 + 5 m²", "9"),
            ("27^(1/3)", "3"),
            ("\\boxed{42} + 1", "43"),
        ] {
            value(text, expected);
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in ["5 * y", "9A", "2x + 1", "5 + tax", "8 - x", "6/2(1+2)", "(1, 2)", "5 3", "log(5)", "1.2.3", "3 x"]
        {
            let refused = parsed(text).and_then(|(expression, _)| expression.exact(Reading::default()));
            assert!(refused.is_err(), "{text}: {refused:?}");
        }
        assert_eq!(parsed("1/0").unwrap().0.exact(Reading::default()).err(), Some(Reason::Undefined));
        assert_eq!(parsed(&"(".repeat(10_000)).err(), Some(Reason::TooLong));
        assert_eq!(parsed(&"- ".repeat(10_000)).err(), Some(Reason::TooLong));
        assert_eq!(parsed(&"1+".repeat(10_000)).err(), Some(Reason::TooLong));
        assert!(parsed("2^(10^9)").unwrap().0.exact(Reading::default()).is_err());
    }

    #[test]
    fn an_expression_ends_where_the_sentence_goes_on() {
        for (text, expected) in [
            ("30 trees. Then", "30"),
            ("8 glasses and 5 + 3", "8"),
            ("25 - a great deal", "25"),
            ("8!", "8"),
            ("9 people", "9"),
            ("5 hours to read 120 pages", "5"),
        ] {
            value(text, expected);
        }
    }
}
