//! Solutions of linear equations: after "2x + 3 = 11", "x = 5" is wrong.
//!
//! **A claim** is a letter that is said to be a number, after equations of the first degree in that letter alone.
//!
//! **Formula**: the root of each equation, exactly. The solution is false when it is no rounding of the root of any equation
//! of the same derivation; the nearest one before it must have been understood.
//!
//! **Limits**: one letter, [`EQUATIONS_MAX`] equations, [`GAP_BYTES_MAX`] bytes between one and the next. A new problem, a case,
//! an equation of a higher degree or of several letters, and a letter that is tried, set or supposed, begin afresh.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::{
    Reason, Report, claim,
    expression::{self, Expression, Words, is_label},
    lexer::{Kind, Relation, Token},
    number::{Exact, is_rounding},
    unit::Unit,
};

/// Equations that are remembered.
const EQUATIONS_MAX: usize = 40;
/// Bytes between two equations of one derivation.
const GAP_BYTES_MAX: usize = 500;
/// Bytes within which a letter that was computed is said to be a number.
const LINE_BYTES_MAX: usize = 60;
/// Tokens of a side.
const SIDE_TOKENS_MAX: usize = 100;
/// Tokens before a solution that are read for words which make no solution of it.
const CLAUSE_TOKENS_MAX: usize = 10;
/// By how much a solution may be off that is said to be about right.
const ABOUT_SHARE: f64 = 0.02;
/// The same for one whose digits cannot hold the root.
const ROUNDED_SHARE: f64 = 0.005;

/// Words after which a letter is given a number, and not found to be one.
const GIVEN: [&str; 38] = [
    "if",
    "when",
    "whenever",
    "let",
    "letting",
    "suppose",
    "assume",
    "assuming",
    "try",
    "trying",
    "set",
    "setting",
    "put",
    "take",
    "taking",
    "for",
    "at",
    "with",
    "where",
    "given",
    "plug",
    "plugging",
    "substitute",
    "substituting",
    "check",
    "checking",
    "test",
    "testing",
    "guess",
    "using",
    "choose",
    "say",
    "initially",
    "start",
    "unless",
    "once",
    "until",
    "from",
];
/// Words that begin a clause in which the letter is found.
const FOUND: [&str; 11] =
    ["then", "so", "thus", "therefore", "hence", "gives", "get", "means", "implies", "yields", "find"];
/// Words between two equations with which another problem begins.
const AFRESH: [&str; 19] = [
    "problem",
    "example",
    "question",
    "exercise",
    "case",
    "another",
    "similarly",
    "consider",
    "suppose",
    "part",
    "system",
    "second equation",
    "next equation",
    "alternatively",
    "instead",
    "now let",
    "option",
    "scenario",
    "\n#",
];

/// The equations of a derivation so far, line by line.
#[derive(Debug, Default)]
pub struct Derivation {
    equations: Vec<Equation>,
    /// Numbers that letters were given, and not found to be.
    given: Vec<(u8, Exact)>,
    /// Where the last one ended.
    end: usize,
}

/// An equation in a letter.
#[derive(Debug)]
struct Equation {
    letter: u8,
    /// Its root, when it is of the first degree and has no other letter.
    root: Option<Exact>,
    unit: Option<u8>,
    /// Where it ends, when it only says how the letter is computed.
    computed_at: Option<usize>,
}

impl Equation {
    /// One that is not understood.
    fn unknown(letter: u8) -> Equation {
        Equation { letter, root: None, unit: None, computed_at: None }
    }
}

impl Derivation {
    /// Checks the solutions in `tokens`, which follow what was read before.
    pub fn examine(&mut self, text: &str, tokens: &[Token], report: &mut Report) {
        for at in 0..tokens.len() {
            let Kind::Relation(relation) = tokens[at].kind else { continue };
            if !matches!(relation, Relation::Equal | Relation::Approximate) {
                continue;
            }
            let is_about = relation == Relation::Approximate
                || tokens.get(at + 1).is_some_and(|token| matches!(token.kind, Kind::About));
            self.equation(text, tokens, at, is_about, report);
        }
    }

    fn equation(&mut self, text: &str, tokens: &[Token], at: usize, is_about: bool, report: &mut Report) {
        let (left, right) = sides(text, tokens, at, is_about);
        let is_cut = is_cut(text, tokens, &left, &right);
        // What is cut off may hold letters too.
        let from = if is_cut { left.start.saturating_sub(CLAUSE_TOKENS_MAX) } else { left.start };
        let letters = letters(text, &tokens[from..right.end]);
        if letters.is_empty() {
            return;
        }
        let from = tokens[left.start].span.start;
        let gap = text.get(self.end..from).unwrap_or_default();
        if gap.len() > GAP_BYTES_MAX || begins_afresh(gap) {
            self.equations.clear();
            self.given.clear();
        }
        self.end = tokens[right.end - 1].span.end;
        let unit = tokens.get(right.end).filter(|next| matches!(next.kind, Kind::Word));
        let unit = unit
            .and_then(|next| Unit::of(&text[next.span.clone()]))
            .filter(|unit| !unit.is_money())
            .map(|unit| unit.id);
        let letter = match letters[..] {
            [letter] if !is_cut => letter,
            _ => return letters.into_iter().for_each(|letter| self.push(Equation::unknown(letter))),
        };
        let parsed = |range: Range<usize>| whole(text, &tokens[range]);
        let (Some(a), Some(b)) = (parsed(left.clone()), parsed(right.clone())) else {
            return self.push(Equation::unknown(letter));
        };
        let is_letter = |range: &Range<usize>| range.len() == 1 && matches!(tokens[range.start].kind, Kind::Word);
        let is_number = |side: &Expression| side.variables == 0 && side.operators == 0;
        if is_letter(&left) && is_number(&b) {
            let Ok(stated) = b.exact_with(&[]) else { return };
            let found = Solution { letter, stated: &stated, side: &b, is_about, unit };
            return self.solution(text, tokens, left.start..right.end, &found, report);
        }
        // "x = 2 * 3 = 6" says already what it is, and "x = 2 * 3" holds for the next line only.
        let is_computed = is_letter(&left) && b.variables == 0;
        let goes_on = matches!(tokens.get(right.end).map(|next| &next.kind), Some(Kind::Relation(_)));
        let root = if is_computed && goes_on { None } else { root_of(&a, &b) };
        // "k = 2: 2k = 4" says what comes of a number that was given.
        let is_value =
            |root: &Exact| self.given.iter().any(|(own, value)| *own == letter && value.compare(root).is_eq());
        let root = root.filter(|root| !is_value(root));
        self.push(Equation { letter, root, unit, computed_at: is_computed.then_some(self.end) });
    }

    fn push(&mut self, equation: Equation) {
        if self.equations.len() == EQUATIONS_MAX {
            self.equations.remove(0);
        }
        self.equations.push(equation);
    }

    fn give(&mut self, found: &Solution<'_>) {
        if self.given.len() < EQUATIONS_MAX {
            self.given.push((found.letter, found.stated.clone()));
        }
    }

    fn solution(
        &mut self,
        text: &str,
        tokens: &[Token],
        place: Range<usize>,
        found: &Solution<'_>,
        report: &mut Report,
    ) {
        let is_choice =
            |token: Option<&Token>| token.is_some_and(|token| token.is_word_of(text, &["or", "to", "and/or"]));
        let is_one_of_several = is_choice(tokens.get(place.end))
            || is_choice(place.start.checked_sub(1).and_then(|before| tokens.get(before)))
            || is_list(tokens, place.end);
        if is_one_of_several {
            return self.push(Equation::unknown(found.letter));
        }
        if is_given(text, tokens, place.start) || !ends(text, tokens, place.end) {
            return self.give(found);
        }
        let from = tokens[place.start].span.start;
        let is_far =
            |equation: &Equation| equation.computed_at.is_some_and(|end| from.saturating_sub(end) > LINE_BYTES_MAX);
        let own = self.equations.iter().rev().filter(|equation| equation.letter == found.letter);
        let roots: Vec<(&Exact, Option<u8>)> = own
            .map_while(|equation| Some((equation.root.as_ref().filter(|_| !is_far(equation))?, equation.unit)))
            .collect();
        let Some((nearest, unit)) = roots.first() else { return self.give(found) };
        if *unit != found.unit && (unit.is_some() && found.unit.is_some()) {
            return;
        }
        if roots.iter().any(|(root, _)| found.is_root(root)) {
            // It is solved: what the letter is from here on is another matter.
            self.push(Equation::unknown(found.letter));
            return report.hold();
        }
        if unit.is_some() != found.unit.is_some() && found.unit.is_some() {
            return;
        }
        let sentence = text[..from].rfind(['.', '!', '?', '\n']).map_or(0, |at| at + 1);
        let is_in_sentence = own_end(&self.equations, found.letter).is_some_and(|end| end > sentence);
        let letter = char::from(found.letter);
        let detail = format!("{letter} is {}, not {}", nearest.show(), found.stated.show());
        let supposes = SUPPOSES.is_match(&text[sentence..from]) && !is_in_sentence;
        match claim::taken_back(text, tokens, place) {
            _ if supposes => report.skip(Some(Reason::Hypothetical)),
            None => {
                report.refute("arithmetic/false_solution", found.side.span.clone(), detail);
            }
            // "If 2x = 10, then x = 4": it does not follow, whether the one is so or not. "If you forgot the 3" is another
            // equation.
            Some(Reason::Hypothetical) if is_in_sentence => {
                report.refute("arithmetic/false_solution", found.side.span.clone(), detail);
            }
            Some(reason) => report.skip(Some(reason)),
        }
    }
}

/// A case that is only supposed: "if you forgot the 3, then x = 5.5".
static SUPPOSES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:if|assum\w+|suppos\w+|imagine|were|had|wenn|falls|angenommen|si|supposons|se|supponiamo|suponga\w*|als|stel)\b")
        .expect("a pattern of this crate")
});

/// Where the last equation in `letter` that was solved ends.
fn own_end(equations: &[Equation], letter: u8) -> Option<usize> {
    equations.iter().rev().filter(|equation| equation.letter == letter).find_map(|equation| equation.computed_at)
}

/// A letter that is said to be a number.
struct Solution<'s> {
    letter: u8,
    stated: &'s Exact,
    side: &'s Expression,
    is_about: bool,
    unit: Option<u8>,
}

impl Solution<'_> {
    fn is_root(&self, root: &Exact) -> bool {
        let Some(place) = self.side.literals().next().map(|literal| &literal.last_place) else { return false };
        if is_rounding(root, self.stated, place) {
            return true;
        }
        let is_exact = root.div(place).is_some_and(|places| places.is_whole());
        let share = if self.is_about {
            ABOUT_SHARE
        } else if is_exact {
            0.0
        } else {
            ROUNDED_SHARE
        };
        let room = share * root.to_double().abs() + if is_exact { 0.0 } else { place.to_double() };
        root.sub(self.stated).is_some_and(|off| off.abs().to_double() <= room)
    }
}

/// Where both sides of the sign at `at` stand, as far as they consist of numbers, letters and signs.
fn sides(text: &str, tokens: &[Token], at: usize, is_about: bool) -> (Range<usize>, Range<usize>) {
    let floor = at.saturating_sub(SIDE_TOKENS_MAX);
    let start = (floor..at).rev().take_while(|index| belongs(text, tokens, *index)).last().unwrap_or(at);
    let first =
        at + 1 + usize::from(is_about && matches!(tokens.get(at + 1).map(|token| &token.kind), Some(Kind::About)));
    let first = first.min(tokens.len());
    let limit = (first + SIDE_TOKENS_MAX).min(tokens.len());
    let length = (first..limit).take_while(|index| belongs(text, tokens, *index)).count();
    (start..at, first..(first + length).max(at + 1))
}

fn belongs(text: &str, tokens: &[Token], at: usize) -> bool {
    let token = &tokens[at];
    match token.kind {
        Kind::Number(_) | Kind::Open | Kind::Close | Kind::Fraction | Kind::Currency(_) => true,
        Kind::Word => {
            let word = &text[token.span.clone()];
            let is_letter = word.len() == 1 && word.as_bytes()[0].is_ascii_alphabetic();
            // "a" and "I" are words, unless they stand beside a sign.
            let is_article = matches!(word, "a" | "A" | "I");
            let beside = |index: Option<usize>| {
                index.and_then(|index| tokens.get(index)).is_some_and(|token| {
                    token.is_operator() || matches!(token.kind, Kind::Relation(_) | Kind::Open | Kind::Close)
                })
            };
            is_letter && (!is_article || !token.is_spaced || beside(Some(at + 1)) || beside(at.checked_sub(1)))
        }
        _ => token.is_operator(),
    }
}

/// Names of functions, of which the letter behind them is the argument.
const FUNCTIONS: [&str; 12] = ["sin", "cos", "tan", "log", "ln", "exp", "sqrt", "det", "lim", "max", "min", "mod"];

/// Whether the sides are only a part of what is written: "ax^2 + c = 0", "cos(C) = 0.5", "A = 1/2 |12|", "V = [0-3]".
fn is_cut(text: &str, tokens: &[Token], left: &Range<usize>, right: &Range<usize>) -> bool {
    let own = |token: &Token| text.get(token.span.clone()).unwrap_or_default();
    let Some(first) = tokens.get(left.start) else { return true };
    let is_sign = matches!(first.kind, Kind::Minus)
        && tokens.get(left.start + 1).is_some_and(|next| first.is_spaced && !next.is_spaced);
    let before = left.start.checked_sub(1).map(|before| &tokens[before]);
    let follows = before.is_some_and(|before| match before.kind {
        Kind::Word => !first.is_spaced || before.is_word_of(text, &FUNCTIONS) || first.is_operator() && !is_sign,
        Kind::Boundary => own(before) == "|",
        Kind::Other | Kind::NotANumber(_) | Kind::Percent | Kind::Factorial | Kind::Pi | Kind::Root(_) => true,
        _ => false,
    });
    let begins_with_operator = first.is_operator() && !matches!(first.kind, Kind::Minus);
    let goes_on = tokens.get(right.end).is_some_and(|next| match next.kind {
        Kind::Boundary => matches!(own(next), "|" | "`" | "#"),
        Kind::Word => !next.is_spaced || next.is_word_of(text, &FUNCTIONS),
        Kind::Other | Kind::NotANumber(_) | Kind::Percent | Kind::Factorial | Kind::Pi | Kind::Root(_) => true,
        _ => false,
    });
    let has_square =
        tokens[left.start..right.end].iter().any(|token| matches!(token.kind, Kind::Open) && own(token) == "[");
    follows || begins_with_operator || goes_on || has_square
}

/// The letters in `tokens`, each once.
fn letters(text: &str, tokens: &[Token]) -> Vec<u8> {
    let mut letters = Vec::new();
    for token in tokens.iter().filter(|token| matches!(token.kind, Kind::Word)) {
        let letter = text.as_bytes()[token.span.start];
        if token.span.len() == 1 && !letters.contains(&letter) {
            letters.push(letter);
        }
    }
    letters
}

/// The expression, when all tokens belong to it.
fn whole(text: &str, tokens: &[Token]) -> Option<Expression> {
    let (expression, read) = expression::parse(text, tokens, Words::Variables).ok()?;
    (read == tokens.len()).then_some(expression)
}

/// The root of `a` = `b`, when that is of the first degree.
fn root_of(a: &Expression, b: &Expression) -> Option<Exact> {
    let difference = |x: i64| {
        let values = vec![Exact::whole(x); 26];
        a.exact_with(&values).ok()?.sub(&b.exact_with(&values).ok()?)
    };
    // Points at which a quotient of letters is unlikely to have a pole.
    let (at_two, at_three) = (difference(2)?, difference(3)?);
    let slope = at_three.sub(&at_two)?;
    let is_straight = [5, 11, -7].iter().all(|x| {
        let expected = slope.mul(&Exact::whole(x - 2)).and_then(|rise| at_two.add(&rise));
        expected.zip(difference(*x)).is_some_and(|(expected, value)| expected.compare(&value).is_eq())
    });
    if !is_straight || slope.is_zero() {
        return None;
    }
    Exact::whole(2).sub(&at_two.div(&slope)?)
}

/// Whether the clause before a token gives a number to a letter.
fn is_given(text: &str, tokens: &[Token], start: usize) -> bool {
    let floor = start.saturating_sub(CLAUSE_TOKENS_MAX);
    for token in tokens[floor..start].iter().rev() {
        let ends_clause = matches!(
            token.kind,
            Kind::Boundary
                | Kind::Stop
                | Kind::Comma
                | Kind::Question
                | Kind::Relation(Relation::Equal | Relation::Approximate)
        );
        if ends_clause || token.is_word_of(text, &FOUND) {
            return false;
        }
        if token.is_word_of(text, &GIVEN) {
            return true;
        }
    }
    false
}

fn begins_afresh(gap: &str) -> bool {
    let lower = gap.to_ascii_lowercase();
    AFRESH.iter().any(|word| lower.contains(word)) || lower.contains("\n---")
}

/// "x = 1, 2, 3"
fn is_list(tokens: &[Token], end: usize) -> bool {
    matches!(tokens.get(end).map(|token| &token.kind), Some(Kind::Comma))
        && tokens.get(end + 1).is_some_and(|token| matches!(token.kind, Kind::Number(_) | Kind::Minus))
        && tokens.get(end + 2).is_none_or(|token| !matches!(token.kind, Kind::Word) && !token.is_operator())
}

/// Whether a clause ends at a token, perhaps behind what the number counts.
fn ends(text: &str, tokens: &[Token], end: usize) -> bool {
    const LABELS_MAX: usize = 3;
    let labels =
        tokens[end.min(tokens.len())..].iter().take(LABELS_MAX).take_while(|token| is_label(text, token)).count();
    tokens.get(end + labels).is_none_or(|token| {
        matches!(token.kind, Kind::Boundary | Kind::Stop | Kind::Comma | Kind::Question | Kind::Quote | Kind::Close)
            || token.is_word_of(text, &["and", "so", "but", "because", "which", "is", "as"])
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Settings, examine};

    #[track_caller]
    fn check(text: &str, wrong: &[&str]) {
        let report = examine(text, "", &Settings::default());
        let found: Vec<&str> = report.refuted.iter().map(|claim| &text[claim.span.clone()]).collect();
        assert_eq!(found, wrong, "{text}: {:?}", report.refuted);
    }

    #[test]
    fn a_solution_is_the_root_of_what_was_written_before() {
        for (text, wrong) in [
            ("2x + 3 = 11, so x = 5.", &["5"][..]),
            ("We have 3(k + 1) = 24.\nThen k + 1 = 8 and k = 9.", &["9"]),
            ("6t = 5t + 12\nt = 13 apples", &["13"]),
            ("y/3 = 7, which means y = 24", &["24"]),
            ("7x = 30, so x = 4.29", &[]),
            ("7x = 30, so x = 4.2", &[]),
            ("7x = 30, so x = 5.2", &["5.2"]),
            ("\\(2x = 10\\), hence \\(x = 6\\)", &["6"]),
        ] {
            check(text, wrong);
        }
    }

    #[test]
    fn what_is_tried_or_belongs_to_another_problem_is_none() {
        for text in [
            "2x + 3 = 11. Try x = 5: 2(5) + 3 = 13, too big.",
            "2x = 8. If x = 5, this fails.",
            "x^2 = 9, so x = 3 or x = -3.",
            "3x + 2y = 12. When x = 2, y = 3.",
            "2x = 8, so x = 4.\n\nProblem 2: the second number is x = 7.",
            "2x = 8 or 2x = 10, so x = 4 or x = 5.",
            "2t = 3 minutes, so t = 90 seconds.",
            "2x = 8. Is x = 5?",
            "2x = 8, and x = 5 is wrong.",
            "d = v * t. v = 20, t = 5.",
            "x = 304 - 180\nf(x) = 2x + 1\nx = 5",
            "2x = 10% and x = 3",
            "x, y = 3, 4",
            "First puzzle: 2n = 14, n = 7. The other one has n = 9.",
            "k = 1: 2k = 2\nk = 2: 2k = 4\nk = 3: 2k = 6",
            "-24 = -48cos(C)\ncos(C) = 0.5\nC = 60 degrees",
            "A = \\frac{1}{2} |12|, A = 6",
            "I may use V=[0-3]:\n\nV=0 code golf\n\nV=1 concise",
            "ax^2 + bx + c = 0 with c = 3",
            "ax^2 - c = 0 and c = 3",
            "x = 2 * 3 = 6. In the next round x = 7.",
            "n = 2 + 3 gives the first size. After the resize, which may take a while, n = 9.",
        ] {
            check(text, &[]);
        }
    }
}
