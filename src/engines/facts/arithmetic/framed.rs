//! Words and phrases by which a claim is not the answer's own: what is supposed, what others say, and what holds in another
//! world or system only ("In the novel, ...", "in mod 3").
//!
//! Asked only of what is about to be called false, since a false claim blocks. The words stand in `framed.toml`.
//!
//! **Limits**: a phrase is known by its first word and what stands right behind it; what frames a whole page is not seen.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
    sync::LazyLock,
};

use serde::Deserialize;

use super::lexer::{Kind, Token};

/// Tokens behind a preposition in which its noun stands.
const PHRASE_TOKENS_MAX: usize = 6;
/// Tokens behind a preposition in which a filler makes a stock phrase of it: "in the first case".
const FILLER_TOKENS_MAX: usize = 3;

/// The words, of one language or of all.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// A clause behind it is supposed.
    pub hypothetical: HashSet<String>,
    /// A sentence with it says what does not hold, or means no numbers.
    pub taken_back: HashSet<String>,
    /// What follows it is said by somebody else.
    pub reports: HashSet<String>,
    /// The same, with "that" behind it.
    pub held: HashSet<String>,
    /// "Not", next to the claim.
    pub not: HashSet<String>,
    frames: HashSet<String>,
    scopes: HashSet<String>,
    fillers: HashSet<String>,
    systems: HashSet<String>,
}

/// The words of all languages.
pub static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let table: BTreeMap<String, Words> = toml::from_str(include_str!("framed.toml")).unwrap_or_default();
    let mut all = Words::default();
    for own in table.into_values() {
        all.hypothetical.extend(own.hypothetical);
        all.taken_back.extend(own.taken_back);
        all.reports.extend(own.reports);
        all.held.extend(own.held);
        all.not.extend(own.not);
        all.frames.extend(own.frames);
        all.scopes.extend(own.scopes);
        all.fillers.extend(own.fillers);
        all.systems.extend(own.systems);
    }
    all
});

/// Whether a token is one of `words`, in any case.
pub fn is_one_of(text: &str, token: &Token, words: &HashSet<String>) -> bool {
    let Some(own) = text.get(token.span.clone()).filter(|_| matches!(token.kind, Kind::Word | Kind::Modulo)) else {
        return false;
    };
    words.contains(own) || words.contains(&own.to_lowercase())
}

/// Whether the claim at `place`, in a sentence that begins at `start`, holds in another world or system only. A claim that
/// is worded and begins with a bare number ("2 plus 2 is 5", "1 gallon is 4.5 litres") needs less of a frame: digits with
/// signs, percentages and money are meant as they stand.
pub fn is_framed(text: &str, tokens: &[Token], start: usize, place: Range<usize>, is_worded: bool) -> bool {
    let words = &*WORDS;
    let before = &tokens[start..place.start];
    let is = |token: &Token, set: &HashSet<String>| is_one_of(text, token, set);
    // "modulo 7, 5 times 3 is 1"
    if before.iter().any(|token| matches!(token.kind, Kind::Modulo)) {
        return true;
    }
    let names_system = before.iter().enumerate().any(|(at, token)| {
        let phrase = before[at + 1..].iter().take(PHRASE_TOKENS_MAX);
        (is(token, &words.frames) || is(token, &words.scopes))
            && phrase.take_while(|token| !matches!(token.kind, Kind::Comma)).any(|token| is(token, &words.systems))
    });
    if names_system {
        return true;
    }
    let own = &tokens[place.clone()];
    let is_counted =
        own.iter().any(|token| matches!(token.kind, Kind::Percent | Kind::Currency(_))) || text_is_money(text, own);
    if !is_worded || is_counted {
        return false;
    }
    let opens = |at: usize| {
        let Some(phrase) =
            tokens.get(at + 1..).filter(|_| tokens.get(at).is_some_and(|token| is(token, &words.frames)))
        else {
            return false;
        };
        let is_noun = match phrase {
            // "In 1984, ..."
            [Token { kind: Kind::Number(_), .. }, Token { kind: Kind::Comma, .. }, ..] => at < place.start,
            [Token { kind: Kind::Word | Kind::NotANumber(_), .. }, ..] => true,
            _ => false,
        };
        is_noun && !phrase.iter().take(FILLER_TOKENS_MAX).any(|token| is(token, &words.fillers))
    };
    // "And in our scheme, ..."
    let leads = before.iter().take(2).take_while(|token| token.is_word_of(text, &["and", "but", "so", "now"])).count();
    before.get(leads).is_some() && opens(start + leads) || opens(place.end)
}

fn text_is_money(text: &str, tokens: &[Token]) -> bool {
    tokens.iter().any(|token| {
        let word = text.get(token.span.clone()).filter(|_| matches!(token.kind, Kind::Word));
        word.and_then(super::unit::Unit::of).is_some_and(|unit| unit.is_money())
    })
}

#[cfg(test)]
mod tests {
    use super::super::{ORDER_RULE, Settings, examine};

    #[track_caller]
    fn check(text: &str, wrong: usize) {
        let report = examine(text, "", &Settings::default());
        assert_eq!(report.refuted.len(), wrong, "{text}: {report:?}");
    }

    #[test]
    fn what_holds_elsewhere_or_is_said_by_others_is_none() {
        for text in [
            "In Britain, 1 gallon is 4.5 litres.",
            "1 gallon is 4.55 litres.",
            "1 pint is 568 ml.",
            "In mod 3, 2 plus 2 is 1.",
            "In 1984, 2 plus 2 is 5.",
            "Two plus two is five in the novel.",
            "Reports say that half of 30 is 20.",
            "The villain argues that 3 times 3 is 10.",
            "In this puzzle, 4 + 4 = 10.",
            "At our school, 1 hour is 45 minutes.",
            "Im Roman ist zwei plus zwei fünf.",
            "Dans le roman, deux plus deux font cinq.",
        ] {
            check(text, 0);
        }
    }

    #[test]
    fn a_stock_phrase_is_no_frame() {
        for text in [
            "In total, 12 times 4 is 49.",
            "In other words, 2 kg is 3,000 g.",
            "In March, 19% of 50 is 12.",
            "1 gallon is 6 litres.",
            "In the first week he sold 5 * 3 = 16 books.",
        ] {
            check(text, 1);
        }
    }

    #[test]
    fn the_order_of_two_numbers_is_no_proof() {
        let report = examine("9.11 is greater than 9.9.", "", &Settings::default());
        assert_eq!(report.refuted.iter().map(|claim| claim.rule).collect::<Vec<_>>(), [ORDER_RULE]);
    }
}
