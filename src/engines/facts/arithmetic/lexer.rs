//! Text becomes tokens: numbers, operators, relations, words; LaTeX, Markdown and Unicode signs as what they mean.
//!
//! A token knows its bytes. What is only layout (spaces, emphasis, `\left`, alignment) becomes no token; what separates
//! (line ends, math delimiters, quotation marks) becomes [`Kind::Boundary`]. Anything without meaning here is
//! [`Kind::Other`], beside which nothing is assessed.

use std::ops::Range;

use super::{
    number::{self, DecimalMark, Exact, Literal, NotANumber},
    unit::Unit,
};

/// Bytes of a group that is looked for behind `\text`, `<<` and the like.
const GROUP_BYTES_MAX: usize = 300;

/// Bytes of the longest word that is more than a word: "approximately".
const KEYWORD_BYTES_MAX: usize = 13;

/// What stands between two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `=`, "equals"
    Equal,
    /// `≈`, `= about`
    Approximate,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `≤`
    AtMost,
    /// `≥`
    AtLeast,
    /// "is", where a spelled-out expression stands before it.
    Is,
    /// `≠`, `≡`, `==`: nothing that is checked.
    Other,
}

/// What a token is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A number.
    Number(Box<Literal>),
    /// Digits that are no number that counts.
    NotANumber(NotANumber),
    /// A sign of money before a number.
    Currency(Unit),
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*` and its kin
    Times,
    /// `/` and its kin
    Divide,
    /// `%` or "mod" between numbers
    Modulo,
    /// `^`
    Power,
    /// `%`
    Percent,
    /// `!`
    Factorial,
    /// `(`, `[`, `{`
    Open,
    /// `)`, `]`, `}`
    Close,
    /// `\frac`
    Fraction,
    /// A root of this degree
    Root(u32),
    /// `π`
    Pi,
    /// Between two sides
    Relation(Relation),
    /// "about", `~`
    About,
    /// Letters
    Word,
    /// `,`
    Comma,
    /// `.`, `;`, `:`
    Stop,
    /// `?`
    Question,
    /// A line end, a math delimiter
    Boundary,
    /// A quotation mark
    Quote,
    /// Anything else
    Other,
}

/// A piece of text with a meaning.
#[derive(Clone, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its bytes in the whole text.
    pub span: Range<usize>,
    /// Whether something blank stands before it.
    pub is_spaced: bool,
}

impl Token {
    /// Whether it is a word, and one of `words` (in lower case).
    pub fn is_word_of(&self, text: &str, words: &[&str]) -> bool {
        matches!(self.kind, Kind::Word)
            && text.get(self.span.clone()).is_some_and(|own| words.iter().any(|word| word.eq_ignore_ascii_case(own)))
    }

    /// Whether an operand can end here.
    pub fn ends_operand(&self) -> bool {
        matches!(self.kind, Kind::Number(_) | Kind::Close | Kind::Percent | Kind::Pi | Kind::Factorial)
    }

    /// Whether an operand can begin here.
    pub fn begins_operand(&self) -> bool {
        matches!(
            self.kind,
            Kind::Number(_) | Kind::Currency(_) | Kind::Open | Kind::Fraction | Kind::Root(_) | Kind::Pi
        )
    }

    /// Whether it is an operator with two sides.
    pub fn is_operator(&self) -> bool {
        matches!(self.kind, Kind::Plus | Kind::Minus | Kind::Times | Kind::Divide | Kind::Power | Kind::Modulo)
    }
}

/// The tokens of `text[range]`. An annotation `<<...>>` (GSM8K) becomes no token; its inner range goes to `annotations`.
pub fn tokens(text: &str, range: Range<usize>, annotations: &mut Vec<Range<usize>>) -> Vec<Token> {
    tokens_with(text, range, annotations, DecimalMark::Point)
}

/// The same where decimals stand behind `mark`.
pub fn tokens_with(
    text: &str,
    range: Range<usize>,
    annotations: &mut Vec<Range<usize>>,
    mark: DecimalMark,
) -> Vec<Token> {
    let (at, end) = (range.start, range.end);
    let mut lexer = Lexer { text, at, end, tokens: Vec::new(), is_spaced: true, annotations, mark };
    lexer.run();
    lexer.tokens
}

struct Lexer<'t, 'n> {
    text: &'t str,
    at: usize,
    end: usize,
    tokens: Vec<Token>,
    is_spaced: bool,
    annotations: &'n mut Vec<Range<usize>>,
    mark: DecimalMark,
}

impl<'t> Lexer<'t, '_> {
    fn run(&mut self) {
        while self.at < self.end {
            let rest = &self.text[self.at..self.end];
            let byte = rest.as_bytes()[0];
            match byte {
                b' ' | b'\t' | b'\r' => self.skip(1),
                b'&' if self.is_spaced || rest[1..].starts_with([' ', '=']) => self.skip(1),
                b'\n' => self.line_end(rest),
                b'0'..=b'9' => self.number(rest),
                b'.' => self.point(rest),
                b'a'..=b'z' | b'A'..=b'Z' => self.word(rest),
                b'\\' => self.command(rest),
                0x80.. => self.unicode(rest),
                _ => self.ascii(rest, byte),
            }
        }
    }

    fn push(&mut self, kind: Kind, length: usize) {
        self.tokens.push(Token { kind, span: self.at..self.at + length, is_spaced: self.is_spaced });
        self.at += length;
        self.is_spaced = false;
    }

    fn skip(&mut self, length: usize) {
        self.at += length;
        self.is_spaced = true;
    }

    /// Leaves out what is neither token nor space.
    fn drop(&mut self, length: usize) {
        self.at += length;
    }

    fn last(&self) -> Option<&Kind> {
        self.tokens.last().map(|token| &token.kind)
    }

    fn follows_operand(&self) -> bool {
        self.tokens.last().is_some_and(Token::ends_operand)
    }

    /// A line end separates, unless the equation goes on: after `=`, or before it.
    fn line_end(&mut self, rest: &str) {
        let next = rest.trim_start_matches(['\n', '\r', ' ', '\t', '&']);
        let goes_on = matches!(self.last(), Some(Kind::Relation(_))) || begins_relation(next);
        let blank = rest.len() - rest.trim_start_matches(['\r', ' ', '\t', '\n']).len();
        if goes_on {
            self.skip(blank.max(1))
        } else {
            self.push(Kind::Boundary, 1)
        }
        self.is_spaced = true;
    }

    fn number(&mut self, rest: &str) {
        let (literal, length) = number::read_with(rest, self.mark);
        let behind = &rest[length..];
        if let Some(more) = not_a_count(rest, length) {
            return self.push(Kind::NotANumber(NotANumber::Ambiguous), more);
        }
        let vulgar = behind.chars().next().and_then(vulgar_fraction);
        match (literal, vulgar) {
            (Ok(literal), Some((n, d))) => {
                let sum = literal.value.add(&Exact::fraction(n, d));
                let kind = sum.map_or(Kind::Other, |sum| Kind::Number(Box::new(Literal::exactly(sum))));
                self.push(kind, length + behind.chars().next().map_or(0, char::len_utf8));
            }
            (Ok(literal), None) => self.push(Kind::Number(Box::new(literal)), length),
            (Err(why), _) => self.push(Kind::NotANumber(why), length),
        }
    }

    fn point(&mut self, rest: &str) {
        let begins_number = rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if begins_number && (self.is_spaced || !matches!(self.last(), Some(Kind::Word | Kind::NotANumber(_)))) {
            return self.number(rest);
        }
        let dots = rest.len() - rest.trim_start_matches('.').len();
        self.push(if dots > 1 { Kind::Other } else { Kind::Stop }, dots);
    }

    fn word(&mut self, rest: &str) {
        let is_glued_cross = rest[1..].starts_with(|c: char| c.is_ascii_digit() || c == '$');
        let is_cross = matches!(rest.as_bytes()[0], b'x' | b'X') && !self.is_spaced && self.follows_operand();
        let length = if is_cross && is_glued_cross { 1 } else { word_length(rest) };
        let word = &rest[..length];
        let mut buffer = [0; KEYWORD_BYTES_MAX];
        let lower = lower_case(word, &mut buffer);
        let behind = rest[length..].trim_start_matches([' ', '\t']);
        let follows = self.follows_operand() || matches!(self.last(), Some(Kind::Word));
        let two_words = |second: &str| {
            let stripped = behind.strip_prefix(second)?;
            (!stripped.starts_with(|c: char| c.is_alphanumeric())).then(|| rest.len() - stripped.len())
        };
        let kind = match lower {
            "x" if follows && self.is_cross(rest) => Kind::Times,
            "times" if follows && begins_number(behind) => Kind::Times,
            "plus" if follows => Kind::Plus,
            "minus" if follows || begins_number(behind) => Kind::Minus,
            "multiplied" | "divided" if follows => match two_words("by") {
                Some(length) if lower == "multiplied" => return self.push(Kind::Times, length),
                Some(length) => return self.push(Kind::Divide, length),
                None => Kind::Word,
            },
            "mod" | "modulo" => Kind::Modulo,
            "of" if self.follows_share() => Kind::Times,
            "percent" | "prozent" if self.follows_operand() => Kind::Percent,
            // In French, Spanish, Portuguese and Italian, and in British spelling.
            "pour" | "por" | "per" if self.follows_operand() => {
                match ["cent", "ciento", "cento"].into_iter().find_map(two_words) {
                    Some(length) => return self.push(Kind::Percent, length),
                    None => Kind::Word,
                }
            }
            "squared" | "cubed" if self.follows_operand() => {
                let degree = if lower == "squared" { 2 } else { 3 };
                self.push(Kind::Power, length);
                self.tokens.push(number_token(degree, self.at));
                return;
            }
            "sqrt" if behind.starts_with('(') => Kind::Root(2),
            "cbrt" if behind.starts_with('(') => Kind::Root(3),
            "pi" => Kind::Pi,
            "about" | "approximately" | "approx" | "roughly" | "around" | "nearly" | "almost" => Kind::About,
            "equals" | "equal" => match two_words("to") {
                Some(length) => return self.push(Kind::Relation(Relation::Equal), length),
                None if lower == "equals" => Kind::Relation(Relation::Equal),
                None => Kind::Word,
            },
            "is" | "gives" | "makes" | "yields" => match two_words("equal to") {
                Some(length) => return self.push(Kind::Relation(Relation::Equal), length),
                None => Kind::Relation(Relation::Is),
            },
            _ => Kind::Word,
        };
        // cm^2, m², and the like are one word.
        let unit_power =
            if matches!(kind, Kind::Word) && Unit::of(word).is_some() { power_length(&rest[length..]) } else { 0 };
        self.push(kind, length + unit_power);
    }

    /// Whether the letter x multiplies: with blanks on both sides, or between digits.
    fn is_cross(&self, rest: &str) -> bool {
        let behind = &rest[1..];
        let is_tight =
            behind.starts_with(|c: char| c.is_ascii_digit() || c == '$') && !matches!(self.last(), Some(Kind::Word));
        let is_apart = self.is_spaced && begins_number(behind.trim_start_matches(' ')) && !behind.starts_with('-');
        is_tight && !self.is_spaced || is_apart
    }

    /// Whether what was read last is a share of something: a percentage, a fraction, a decimal below one.
    fn follows_share(&self) -> bool {
        match self.tokens.as_slice() {
            [.., Token { kind: Kind::Percent, .. }] => true,
            [
                ..,
                Token { kind: Kind::Number(a), .. },
                Token { kind: Kind::Divide, is_spaced: false, .. },
                Token { kind: Kind::Number(b), .. },
            ] => a.places == 0 && b.places == 0,
            [.., Token { kind: Kind::Number(a), .. }] => !a.value.is_whole() && a.value.to_double() < 1.0,
            _ => false,
        }
    }

    fn command(&mut self, rest: &str) {
        let letters = rest[1..].bytes().take_while(u8::is_ascii_alphabetic).count();
        if letters == 0 {
            let Some(next) = rest[1..].chars().next() else { return self.push(Kind::Other, 1) };
            let length = 1 + next.len_utf8();
            return match next {
                '(' | ')' | '[' | ']' => self.push(Kind::Boundary, length),
                ',' | ';' | ':' | '!' | ' ' => self.skip(length),
                '%' => self.percent(&rest[1..], 1),
                '$' => self.dollar(&rest[1..], 1),
                '\\' => self.latex_line_end(rest),
                '{' | '}' | '&' | '_' | '#' => self.push(Kind::Other, length),
                _ => self.push(Kind::Other, 1),
            };
        }
        let length = 1 + letters;
        let behind = &rest[length..];
        match &rest[1..length] {
            "frac" | "dfrac" | "tfrac" | "cfrac" if behind.trim_start().starts_with('{') => {
                self.push(Kind::Fraction, length)
            }
            "binom" | "dbinom" | "tbinom" => self.binomial(behind, length),
            "cdot" | "times" | "ast" => self.push(Kind::Times, length),
            "div" => self.push(Kind::Divide, length),
            "sqrt" => self.latex_root(behind, length),
            "pi" => self.push(Kind::Pi, length),
            "left" | "right" | "big" | "Big" | "bigl" | "bigr" | "Bigl" | "Bigr" | "displaystyle" | "boxed"
            | "mathbf" | "limits" | "bigg" | "Bigg" | "underline" | "textstyle" => self.drop(length),
            "quad" | "qquad" | "thinspace" => self.push(Kind::Boundary, length),
            "text" | "textrm" | "textbf" | "textit" | "mathrm" | "mbox" | "operatorname" => {
                self.latex_text(behind, length)
            }
            "approx" | "simeq" | "sim" | "thickapprox" => self.push(Kind::Relation(Relation::Approximate), length),
            "ne" | "neq" | "equiv" | "cong" => self.push(Kind::Relation(Relation::Other), length),
            "lt" => self.push(Kind::Relation(Relation::Less), length),
            "gt" => self.push(Kind::Relation(Relation::Greater), length),
            "le" | "leq" => self.push(Kind::Relation(Relation::AtMost), length),
            "ge" | "geq" => self.push(Kind::Relation(Relation::AtLeast), length),
            "implies" | "Rightarrow" | "rightarrow" | "to" | "therefore" | "Longrightarrow" | "iff" => {
                self.push(Kind::Boundary, length);
            }
            "bmod" | "pmod" | "mod" => self.push(Kind::Modulo, length),
            "begin" | "end" => {
                let name =
                    behind.strip_prefix('{').and_then(|name| name.find('}')).filter(|end| *end < GROUP_BYTES_MAX);
                self.push(Kind::Boundary, length + name.map_or(0, |end| end + 2));
            }
            _ => self.push(Kind::Other, length),
        }
    }

    /// `\binom{5}{2}`: 5! over 2! times 3!.
    fn binomial(&mut self, behind: &str, length: usize) {
        let group = |text: &str| {
            let inner = text.strip_prefix('{')?;
            let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
            let value: i64 = inner[..digits].parse().ok().filter(|_| inner[digits..].starts_with('}'))?;
            Some((value, digits + 2))
        };
        let found = group(behind).and_then(|(n, first)| {
            let (k, second) = group(&behind[first..])?;
            (k <= n).then_some((n, k, length + first + second))
        });
        let Some((n, k, length)) = found else { return self.push(Kind::Other, length) };
        let (start, is_spaced) = (self.at, self.is_spaced);
        self.push(Kind::Open, length);
        let end = self.at;
        let mut token = |kind: Kind, span: Range<usize>| self.tokens.push(Token { kind, span, is_spaced: false });
        let number = |value: i64| Kind::Number(Box::new(Literal::exactly(Exact::whole(value))));
        for kind in [number(n), Kind::Factorial, Kind::Divide, Kind::Open, number(k), Kind::Factorial, Kind::Times] {
            token(kind, end..end);
        }
        for kind in [number(n - k), Kind::Factorial, Kind::Close, Kind::Close] {
            token(kind, end..end);
        }
        if let Some(open) = self.tokens.iter_mut().rev().find(|token| token.span.start == start) {
            open.is_spaced = is_spaced;
        }
    }

    fn latex_root(&mut self, behind: &str, length: usize) {
        let Some(index) = behind.strip_prefix('[') else { return self.push(Kind::Root(2), length) };
        let digits = index.bytes().take_while(u8::is_ascii_digit).count();
        let degree = index[..digits.min(3)].parse::<u32>().ok().filter(|_| index[digits..].starts_with(']'));
        match degree {
            Some(degree) if degree > 0 => self.push(Kind::Root(degree), length + digits + 2),
            _ => self.push(Kind::Other, length),
        }
    }

    /// `\text{ apples}`: the words in it.
    fn latex_text(&mut self, behind: &str, length: usize) {
        let group = behind.strip_prefix('{').and_then(|group| group.find('}')).filter(|end| *end < GROUP_BYTES_MAX);
        let Some(group) = group else { return self.push(Kind::Other, length) };
        let inner = self.at + length + 1..self.at + length + 1 + group;
        let after = inner.end + 1;
        let is_plain = !self.text[inner.clone()].contains(['\\', '{']);
        if !is_plain {
            return self.push(Kind::Other, after - self.at);
        }
        let tokens = tokens_with(self.text, inner, self.annotations, self.mark);
        self.tokens.extend(tokens);
        self.at = after;
        self.is_spaced = true;
    }

    fn latex_line_end(&mut self, rest: &str) {
        let next = rest[2..].trim_start_matches(['\n', '\r', ' ', '\t', '&']);
        let goes_on = matches!(self.last(), Some(Kind::Relation(_))) || begins_relation(next);
        let length = if goes_on { rest.len() - next.len() } else { 2 };
        if goes_on {
            self.skip(length)
        } else {
            self.push(Kind::Boundary, length)
        }
        self.is_spaced = true;
    }

    fn percent(&mut self, rest: &str, before: usize) {
        let is_operator = begins_number(rest[1..].trim_start()) && self.follows_operand();
        self.push(if is_operator { Kind::Modulo } else { Kind::Percent }, before + 1);
    }

    /// A dollar sign is money before a number and after one, else a delimiter of mathematics.
    fn dollar(&mut self, rest: &str, before: usize) {
        let behind = rest[1..].trim_start_matches(' ');
        let is_money = behind.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        if rest.starts_with("$$") {
            self.push(Kind::Boundary, before + 2);
        } else if is_money && !matches!(self.last(), Some(Kind::Number(_))) {
            self.currency('$', before + 1);
        } else if matches!(self.last(), Some(Kind::Number(_) | Kind::Close)) && !self.is_spaced {
            // "5$": behind the number, or the end of mathematics; either way it changes nothing.
            self.drop(before + 1);
        } else {
            self.push(Kind::Boundary, before + 1);
        }
    }

    fn currency(&mut self, sign: char, length: usize) {
        let mut buffer = [0; 4];
        let kind = Unit::of(sign.encode_utf8(&mut buffer)).map_or(Kind::Other, Kind::Currency);
        self.push(kind, length);
    }

    fn ascii(&mut self, rest: &str, byte: u8) {
        let next = rest.as_bytes().get(1).copied().unwrap_or(b'\n');
        match byte {
            b'+' if next == b'=' => self.push(Kind::Relation(Relation::Other), 2),
            b'+' => self.push(Kind::Plus, 1),
            b'-' if next == b'>' => self.push(Kind::Boundary, 2),
            b'-' if next == b'-' && !begins_number(&rest[2..]) => {
                let length = rest.len() - rest.trim_start_matches('-').len();
                self.push(Kind::Boundary, length);
            }
            b'-' if next == b'=' => self.push(Kind::Relation(Relation::Other), 2),
            b'-' => self.push(Kind::Minus, 1),
            b'*' => self.star(rest, next),
            b'/' if next == b'/' || next == b'=' => self.push(Kind::Other, 2),
            b'/' => self.push(Kind::Divide, 1),
            b'^' => self.push(Kind::Power, 1),
            b'%' => self.percent(rest, 0),
            b'!' if next == b'=' => self.push(Kind::Relation(Relation::Other), 2),
            b'!' if self.follows_operand() && !self.is_spaced && next != b'!' => self.push(Kind::Factorial, 1),
            b'!' => self.push(Kind::Stop, 1),
            b'(' | b'[' => self.bracket(rest),
            b'{' => self.push(Kind::Open, 1),
            b')' | b']' | b'}' => self.push(Kind::Close, 1),
            b'=' => match next {
                b'=' => self.push(Kind::Relation(Relation::Other), rest.len() - rest.trim_start_matches('=').len()),
                b'>' => self.push(Kind::Boundary, 2),
                b'~' => self.push(Kind::Relation(Relation::Approximate), 2),
                b'<' if !rest.starts_with("=<<") => self.push(Kind::Relation(Relation::AtMost), 2),
                _ => self.push(Kind::Relation(Relation::Equal), 1),
            },
            b'<' | b'>' => self.angle(rest, byte, next),
            b'~' if next == b'=' => self.push(Kind::Relation(Relation::Approximate), 2),
            b'~' => self.push(Kind::About, 1),
            b'$' => self.dollar(rest, 0),
            b',' => self.push(Kind::Comma, 1),
            b';' => self.push(Kind::Stop, 1),
            b':' if next == b'=' => self.push(Kind::Relation(Relation::Other), 2),
            b':' => self.push(Kind::Stop, 1),
            b'?' => self.push(Kind::Question, 1),
            b'"' => self.push(Kind::Quote, 1),
            b'`' | b'|' | b'#' => self.push(Kind::Boundary, 1),
            _ => self.push(Kind::Other, 1),
        }
    }

    /// Emphasis, a power, or a product.
    fn star(&mut self, rest: &str, next: u8) {
        let stars = rest.len() - rest.trim_start_matches('*').len();
        let behind = &rest[stars..];
        let is_open = self.is_spaced && !behind.starts_with([' ', '\n', '\t']) && !behind.is_empty();
        let is_close = !self.is_spaced
            && (behind.is_empty()
                || behind.starts_with(|c: char| !c.is_alphanumeric() && c != '(' && c != '-' && c != '$'));
        match stars {
            1 if matches!(self.last(), Some(Kind::Relation(_))) && next != b' ' => self.drop(1),
            1 if !self.follows_operand() && !matches!(self.last(), Some(Kind::Word)) && is_open => self.drop(1),
            1 if behind.is_empty() || behind.starts_with('\n') => self.drop(1),
            1 => self.push(Kind::Times, 1),
            2 if is_open && self.follows_operand() && begins_number(behind) && !behind.contains("**") => {
                self.push(Kind::Power, 2)
            }
            2 if is_open || (is_close && !behind.starts_with(' ')) || !self.follows_operand() => self.drop(2),
            2 if is_close && !begins_number(behind.trim_start()) => self.drop(2),
            2 if !self.is_spaced && behind.starts_with(' ') => self.drop(2),
            2 => self.push(Kind::Power, 2),
            _ => self.push(Kind::Boundary, stars),
        }
    }

    /// A bracket, unless only words stand in it: those say what the number before it is.
    fn bracket(&mut self, rest: &str) {
        let close = if rest.starts_with('(') { ')' } else { ']' };
        let group = rest.bytes().take(GROUP_BYTES_MAX).position(|byte| byte == close as u8);
        let is_remark = group.is_some_and(|end| {
            let inner = &rest[1..end];
            inner.bytes().any(|byte| byte.is_ascii_alphabetic())
                && inner
                    .bytes()
                    .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b' ' | b'\'' | b'-' | b'.' | b','))
                && (inner.len() > 2 || Unit::of(inner).is_some())
        });
        match group {
            Some(end) if is_remark && self.is_spaced && self.follows_operand() => self.skip(end + 1),
            Some(end) if is_remark => self.push(Kind::Word, end + 1),
            _ => self.push(Kind::Open, 1),
        }
    }

    fn angle(&mut self, rest: &str, byte: u8, next: u8) {
        if rest.starts_with("<<") {
            if let Some(end) =
                rest.as_bytes()[..rest.len().min(GROUP_BYTES_MAX)].windows(2).position(|two| two == b">>")
            {
                self.annotations.push(self.at + 2..self.at + end);
                return self.drop(end + 2);
            }
            return self.push(Kind::Other, 2);
        }
        let relation = match (byte, next) {
            (b'<', b'=') => Some((Relation::AtMost, 2)),
            (b'>', b'=') => Some((Relation::AtLeast, 2)),
            (b'<', b' ') if self.is_spaced => Some((Relation::Less, 1)),
            (b'>', b' ') if self.is_spaced && !self.tokens.is_empty() => Some((Relation::Greater, 1)),
            _ => None,
        };
        match relation {
            Some((relation, length)) => self.push(Kind::Relation(relation), length),
            None => self.push(Kind::Boundary, 1),
        }
    }

    fn unicode(&mut self, rest: &str) {
        let Some(c) = rest.chars().next() else { return };
        let length = c.len_utf8();
        let kind = match c {
            '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{2003}' | '\u{2002}' | '\u{200b}' => return self.skip(length),
            '×' | '·' | '∙' | '⋅' | '∗' | '✕' | '✖' => Kind::Times,
            '÷' | '∕' | '⁄' => Kind::Divide,
            '−' | '–' | '‐' | '‑' | '﹣' | '－' => Kind::Minus,
            '—' | '→' | '⇒' | '⟹' | '•' | '∴' | '✅' | '✓' | '✔' | '│' => Kind::Boundary,
            '＝' => Kind::Relation(Relation::Equal),
            '＋' => Kind::Plus,
            '≈' | '≃' | '≅' | '∼' | '≒' => Kind::Relation(Relation::Approximate),
            '≠' | '≡' => Kind::Relation(Relation::Other),
            '≤' | '⩽' => Kind::Relation(Relation::AtMost),
            '≥' | '⩾' => Kind::Relation(Relation::AtLeast),
            '√' => Kind::Root(2),
            '∛' => Kind::Root(3),
            'π' => Kind::Pi,
            '€' | '£' | '¥' | '₹' if begins_number(rest[length..].trim_start()) => {
                return self.currency(c, length);
            }
            '€' | '¢' | '£' | '¥' | '₹' => Kind::Word,
            '°' if self.follows_operand() => return self.drop(length),
            '“' | '”' | '„' | '«' | '»' => Kind::Quote,
            '？' => Kind::Question,
            _ => {
                if let Some(exponent) = superscript(rest) {
                    return self.superscript(exponent);
                }
                if let Some((n, d)) = vulgar_fraction(c) {
                    Kind::Number(Box::new(Literal::exactly(Exact::fraction(n, d))))
                } else if c.is_alphabetic() {
                    return self.push(Kind::Word, word_length(rest).max(length));
                } else {
                    Kind::Other
                }
            }
        };
        self.push(kind, length);
    }

    fn superscript(&mut self, (value, length): (i64, usize)) {
        self.push(Kind::Power, length);
        if value < 0 {
            self.tokens.push(Token { kind: Kind::Minus, span: self.at..self.at, is_spaced: false });
        }
        self.tokens.push(number_token(value.abs(), self.at));
    }
}

/// A number that stands for a word or sign at `at`.
fn number_token(value: i64, at: usize) -> Token {
    Token { kind: Kind::Number(Box::new(Literal::exactly(Exact::whole(value)))), span: at..at, is_spaced: false }
}

/// Whether a relation stands at the beginning, so that the line before goes on.
fn begins_relation(text: &str) -> bool {
    (text.starts_with('=') && !text.starts_with("==") && !text.starts_with("=>"))
        || text.starts_with('≈')
        || text.starts_with("\\approx")
}

/// Whether a number, or something in brackets, begins here.
fn begins_number(text: &str) -> bool {
    let text = text.trim_start_matches(['$', '€', '£', '-', '−', '\\']);
    text.starts_with(|c: char| c.is_ascii_digit() || c == '(' || c == '[')
        || text.starts_with('.') && text[1..].starts_with(|c: char| c.is_ascii_digit())
        || ["frac", "sqrt", "left", "dfrac"].iter().any(|command| text.starts_with(command))
}

/// `word` in lower case, when it is short enough to mean anything here.
fn lower_case<'b>(word: &str, buffer: &'b mut [u8; KEYWORD_BYTES_MAX]) -> &'b str {
    let Some(lower) = buffer.get_mut(..word.len()) else { return "" };
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    std::str::from_utf8(lower).unwrap_or_default()
}

/// Letters, then letters, digits, `_`, and hyphens or apostrophes between letters.
fn word_length(text: &str) -> usize {
    let mut length = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map_or(' ', |(_, next)| *next);
        let is_inner = matches!(c, '-' | '\'' | '’') && length > 0 && next.is_alphabetic();
        if !(c.is_alphanumeric() || c == '_' || is_inner) || !c.is_ascii() && superscript(&text[at..]).is_some() {
            break;
        }
        length = at + c.len_utf8();
    }
    length
}

/// Bytes of a power of two or three behind a unit.
fn power_length(text: &str) -> usize {
    ["²", "³", "^2", "^3", "^{2}", "^{3}"].iter().find(|power| text.starts_with(*power)).map_or(0, |power| power.len())
}

/// Bytes of digits that count nothing: a date, a clock time, a ratio, an ordinal.
fn not_a_count(text: &str, length: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits_from =
        |at: usize| bytes.get(at..).map_or(0, |rest| rest.iter().take_while(|byte| byte.is_ascii_digit()).count());
    if bytes.get(length) == Some(&b':') && digits_from(length + 1) > 0 {
        return Some(length + 1 + digits_from(length + 1));
    }
    let month = if length == 4 && bytes.get(length) == Some(&b'-') { digits_from(length + 1) } else { 0 };
    if month == 2 && bytes.get(length + 3) == Some(&b'-') && digits_from(length + 4) == 2 {
        return Some(length + 6);
    }
    None
}

/// The number that superscript digits say, and their bytes.
fn superscript(text: &str) -> Option<(i64, usize)> {
    let (mut value, mut length, mut sign, mut digits) = (0_i64, 0, 1, 0);
    for c in text.chars() {
        let digit = match c {
            '⁰' => 0,
            '¹' => 1,
            '²' => 2,
            '³' => 3,
            '⁴'..='⁹' => i64::from(u32::from(c) - u32::from('⁰')),
            '⁻' if length == 0 => {
                sign = -1;
                length += c.len_utf8();
                continue;
            }
            _ => break,
        };
        value = value.saturating_mul(10).saturating_add(digit);
        digits += 1;
        length += c.len_utf8();
    }
    (digits > 0).then_some((sign * value, length))
}

/// ½ and its kin.
fn vulgar_fraction(c: char) -> Option<(i64, i64)> {
    Some(match c {
        '½' => (1, 2),
        '⅓' => (1, 3),
        '⅔' => (2, 3),
        '¼' => (1, 4),
        '¾' => (3, 4),
        '⅕' => (1, 5),
        '⅖' => (2, 5),
        '⅗' => (3, 5),
        '⅘' => (4, 5),
        '⅙' => (1, 6),
        '⅚' => (5, 6),
        '⅛' => (1, 8),
        '⅜' => (3, 8),
        '⅝' => (5, 8),
        '⅞' => (7, 8),
        _ => return None,
    })
}
