//! Does it look like words? Random characters do not follow the letter pairs of English; names and placeholders do.
//!
//! **Formula**: for each pair of letters next to one another, log2(P(second | first in English) · 26), rounded and
//! limited to ±5 ([`PAIRS`]); [`wordiness`] is the mean over all pairs within a word (a digit, a sign and the step from
//! lower to upper case end one). English is near +1, random letters near -2.
//!
//! **Source**: letter pairs counted in nine million words of English software documentation (our own count).
//!
//! **Limits**: a value with fewer than [`PAIRS_MIN`] pairs has no wordiness; words of other languages score lower.

/// For `a` to `z`, how the next letter compares with chance: `f` is as likely, each letter further on twice as likely.
const PAIRS: [&[u8; 26]; 26] = [
    b"bfffcceafadgghafaghhdebcda",
    b"gcddhccaffdgbahbafhdhaadfa",
    b"gbdbgbagebfhcaifafdgecaeda",
    b"fccfjccbgaaebcgbadedebaada",
    b"fdfgefdbdfbffhdedhhgbedfea",
    b"gdddggaahaafbchcagffhacaea",
    b"fcebibegiaaedgfbagfefbaacb",
    b"haaaiaaagaagdbgfagbhgaaaba",
    b"eggfeefaaabgfhgeaeghaeadad",
    b"eabbhaaadabaaadbbajadabaaa",
    b"gecejdddgbbdbeedbcgeeacadb",
    b"hcbehbdaifahaagbaafffcaaea",
    b"hfbdicbahbafgbghabfbeaaaca",
    b"gbhggdhbfaddcdhcaaghfdaada",
    b"cdfhcfdacbcfghffahfffeebbc",
    b"iabchabdfaagbbfgaggggaaafa",
    b"ghcbdaaafaacbadabccejebaaa",
    b"hbeeideahaedfegcafffedbafa",
    b"eaeahcaegaceccfhadhifbbaea",
    b"gbcehcahhaaeebgfahfgeadbfa",
    b"ehfgffdafaahghcfagghaaacaa",
    b"iacajadahaabebfaaacebaaaaa",
    b"hacdgacgiabddfhbagfaaafaaa",
    b"hafbgcacfaabfabgadhhbaahca",
    b"dcdbebdadaaffggiahggbbgaac",
    b"hcbcibaeibbgebebabcccabbee",
];

/// Fewer pairs of letters say nothing.
pub const PAIRS_MIN: usize = 3;
/// From here on a value looks like words: 3% of random letters of length 8 and 4% of English words are on the wrong
/// side.
pub const WORDS_FROM: f64 = -0.2;

/// How much like English words the letters of `value` are, in bits per pair; `None` with too few letters.
pub fn wordiness(value: &str) -> Option<f64> {
    let (mut sum, mut pairs) = (0_i32, 0_usize);
    for two in value.as_bytes().windows(2) {
        let &[first, second] = two else { continue };
        let is_step = first.is_ascii_lowercase() && second.is_ascii_uppercase();
        if is_step || !first.is_ascii_alphabetic() || !second.is_ascii_alphabetic() {
            continue;
        }
        let row = PAIRS[usize::from(first.to_ascii_lowercase() - b'a')];
        sum += i32::from(row[usize::from(second.to_ascii_lowercase() - b'a')]) - i32::from(b'f');
        pairs += 1;
    }
    (pairs >= PAIRS_MIN).then(|| f64::from(sum) / pairs as f64)
}

/// Whether `value` looks like words rather than like random characters.
///
/// Letters that change case as often as chance would are no words, whatever their pairs.
pub fn looks_like_words(value: &str) -> bool {
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    if letters < 3 || digits * 2 > value.len() || changes_of_kind(value) * 3 > value.len() {
        return false;
    }
    wordiness(value).is_some_and(|bits| bits >= WORDS_FROM)
}

/// How often the kind of character changes (small, capital, digit, sign), capitals that begin a word left out.
fn changes_of_kind(value: &str) -> usize {
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let steps = value.as_bytes().windows(2).map(|two| (kind(two[0]), kind(two[1])));
    steps.filter(|(a, b)| a != b && (*a, *b) != (1, 0) && *a != 3 && *b != 3).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_random_characters_are_not() {
        for words in [
            "password",
            "changeme",
            "mySecretKey",
            "consumer_key",
            "getElementById",
            "TEST_SECRET",
            "hunter2",
            "swordsman",
        ] {
            assert!(looks_like_words(words), "{words} {:?}", wordiness(words));
        }
        for random in
            ["q8Zk2LmX9vTb", "hohjdxhf", "8f14e45fceea167a", "kqzwvxpj", "1234567890", "aB3dE5gH7jK9", "x9", ""]
        {
            assert!(!looks_like_words(random), "{random} {:?}", wordiness(random));
        }
    }

    #[test]
    fn too_few_letters_have_no_wordiness() {
        assert_eq!(wordiness("ab1"), None);
        assert_eq!(wordiness("é€漢"), None);
        assert_eq!(wordiness("thth"), Some(2.0));
    }
}
