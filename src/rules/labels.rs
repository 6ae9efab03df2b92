//! Words that stand in front of values, by language (`tables/labels.toml`), and what the nearest of them says.
//!
//! **Formula**: of the words directly in front of a value, from the nearest on, those that say nothing are passed by; the
//! first that a rule knows as its own label speaks for it, and the first that names a thing (an order, a part, a flight)
//! against it. At most [`WORDS_MAX`] words are read, and none beyond a comma, a bracket or the end of a line.
//!
//! **Limits**: a label behind the value is not read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

/// Words in front of a value that are read.
const WORDS_MAX: usize = 5;
/// Of them, those that no list knows.
const UNKNOWN_MAX: usize = 1;
/// Bytes in front of a value in which they stand.
const BYTES_MAX: usize = 72;

type Lists = BTreeMap<String, BTreeMap<String, Vec<String>>>;

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    // A file that cannot be read is a defect of this crate, and `the_lists_are_sound` names it.
    toml::from_str(include_str!("tables/labels.toml")).unwrap_or_default()
});

static THINGS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| words("thing").chain(words("value")).collect());
static FIELDS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| words("field").collect());
static FILLERS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| words("filler").collect());
/// Things in other scripts, which are inflected, or stand without blanks.
static STEMS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| words("thing").filter(|word| !word.is_ascii() && !is_latin(word)).collect());

/// All words of a list, in all languages; none when there is no such list.
pub fn words(list: &str) -> impl Iterator<Item = &'static str> {
    LISTS.get(list).into_iter().flat_map(BTreeMap::values).flatten().map(String::as_str)
}

/// The lists, each as a pattern that matches one of its words in any case.
pub fn patterns() -> Vec<(String, String)> {
    let pattern = |list: &String| {
        let mut all: BTreeSet<String> = words(list).flat_map(cases).collect();
        all.extend(words(list).filter(|word| word.is_ascii()).map(str::to_owned));
        let mut all: Vec<String> = all.into_iter().collect();
        // The longest first, for the first that matches is taken.
        all.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let all = all.iter().map(|word| regex::escape(word).replace("\\ ", " ").replace(' ', "[ _-]?"));
        (format!("(?&label_{list})"), format!("(?:{})", all.collect::<Vec<_>>().join("|")))
    };
    LISTS.keys().map(pattern).collect()
}

/// A word in the cases in which it is written, where a pattern over ASCII does not know them to be the same.
pub fn cases(word: &str) -> Vec<String> {
    if word.is_ascii() {
        return vec![word.to_owned()];
    }
    let mut characters = word.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    let title: String = first.chain(characters).collect();
    // Turkish has a capital of its own for the i with a dot.
    let dotted = |word: &str| word.replace('i', "İ").to_uppercase();
    let mut all = vec![word.to_owned(), title, word.to_uppercase(), dotted(word)];
    all.dedup();
    all
}

/// A text in lower case, in any script.
pub fn lower(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.to_lowercase() }
}

/// Whether what stands directly in front of `text[start..]` says that it is the number of a thing, and not what a rule
/// with the labels `own` looks for.
pub fn names_a_thing(text: &str, start: usize, own: &[String]) -> bool {
    let before = &text[text.ceil_char_boundary(start.saturating_sub(BYTES_MAX))..start];
    let is_field = before.trim_end_matches([' ', '"', '\'', '\\']).ends_with([':', '=']);
    let (mut unknown, mut ends_field) = (0, false);
    for (at, word) in words_before(before).into_iter().enumerate() {
        if is_own(&word, own) {
            return false;
        }
        if ends_field {
            return true;
        }
        if FILLERS.contains(&*word) || word.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let is_stem = !word.is_ascii() && STEMS.iter().any(|stem| word.contains(stem));
        if is_stem || THINGS.contains(&*word) {
            return true;
        }
        // `birth_date` is none: what stands before it may say more.
        ends_field = at == 0 && is_field && FIELDS.contains(&*word);
        unknown += usize::from(!ends_field);
        if unknown > UNKNOWN_MAX {
            return false;
        }
    }
    ends_field
}

/// Whether `word` is one of these labels, or says in one of several words what it is of.
fn is_own(word: &str, own: &[String]) -> bool {
    let says_little = |part: &str| FILLERS.contains(part) || FIELDS.contains(part);
    own.iter().any(|label| label.split(' ').any(|part| !says_little(part) && is_word(word, part)))
}

/// Whether `word` is `label`; in scripts without blanks, whether it holds it.
fn is_word(word: &str, label: &str) -> bool {
    word == label || !label.is_ascii() && !is_latin(label) && word.contains(label)
}

fn is_latin(word: &str) -> bool {
    word.chars().all(|c| c < '\u{250}')
}

/// The words at the end of `before`, the nearest first, in lower case. A name in code is as many words as it is made of.
fn words_before(before: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Vec<char> = Vec::new();
    let mut behind = ' ';
    for c in before.chars().rev() {
        let begins_hump = c.is_lowercase() && word.last().is_some_and(|first| first.is_uppercase());
        if !word.is_empty() && (!c.is_alphanumeric() || begins_hump) {
            words.push(lower(&word.drain(..).rev().collect::<String>()));
        }
        let ends_sentence = c == '.' && behind == ' ' && !words.is_empty();
        if words.len() == WORDS_MAX
            || ends_sentence
            || matches!(c, ',' | ';' | '{' | '}' | '[' | ']' | '(' | ')' | '\n' | '!' | '?' | '|' | '<' | '>')
        {
            return words;
        }
        if c.is_alphanumeric() {
            word.push(c);
        }
        behind = c;
    }
    if !word.is_empty() {
        words.push(lower(&word.iter().rev().collect::<String>()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sound() {
        let lists: Lists = toml::from_str(include_str!("tables/labels.toml")).unwrap();
        for (list, languages) in &lists {
            for word in languages.values().flatten() {
                assert_eq!(&lower(word), word, "{list}");
                assert!(!word.trim().is_empty() && word.trim() == word, "{list}: {word:?}");
            }
        }
        for needed in ["thing", "field", "filler"] {
            assert!(lists.contains_key(needed), "{needed}");
        }
    }

    #[test]
    fn the_nearest_label_decides() {
        let own = ["phone".to_owned(), "card".to_owned(), "手机".to_owned(), "number".to_owned()];
        let check = |text: &str, expected: bool| {
            assert_eq!(names_a_thing(text, text.len(), &own), expected, "{text}");
        };
        for thing in [
            "Your order number is ",
            "orderId=",
            "\"order_id\": \"",
            "order no. ",
            "ORDER #",
            "part number ",
            "订单号 ",
            "注文番号は ",
            "Номер заказа: ",
            "Bestellnummer: ",
            "{\"created\":",
            "total_tokens=",
            "Commande n° ",
            "\"phone\": \"1\", \"date\": \"",
        ] {
            check(thing, true);
        }
        for other in [
            "",
            "my number is ",
            "order by phone: ",
            "I have your order. Call ",
            "the order, phone ",
            "order for Ana Lopez, ",
            "手机号是",
            "any time ",
            "count on me ",
            "card_date: ",
        ] {
            check(other, false);
        }
    }
}
