//! Which words hardly any language in Latin script has.
//!
//! **Judged** are the words of [`WORD_LETTERS`] letters a to z outside of code: capitals begin names and make up
//! abbreviations. **Implausible** is a word that holds a pair of letters of [`RARE_PAIRS`], no vowel, or
//! [`CONSONANTS_MAX`] consonants in a row.
//!
//! **Source**: ours. The pairs occur less than 8 times in a million pairs of 3 million letters of English prose, and in no
//! native word of German, Dutch, Nordic, Romance or Slavic languages that we know. A random word of six letters holds
//! one in half of the cases.

/// Letters of a word that is judged.
pub const WORD_LETTERS: std::ops::RangeInclusive<usize> = 4..=30;
/// Consonants in a row of an implausible word; y is none.
pub const CONSONANTS_MAX: u32 = 6;

/// Letters that hardly ever follow the first one.
pub const RARE_PAIRS: &[(u8, &[u8])] = &[
    (b'b', b"qx"),
    (b'c', b"bfgjpvx"),
    (b'd', b"qx"),
    (b'f', b"cqvx"),
    (b'g', b"qx"),
    (b'h', b"x"),
    (b'j', b"cqx"),
    (b'k', b"qx"),
    (b'l', b"qx"),
    (b'm', b"qx"),
    (b'p', b"qx"),
    (b'q', b"bcdfghjklmnprstvwxz"),
    (b's', b"x"),
    (b't', b"qx"),
    (b'v', b"bfqwx"),
    (b'w', b"jqvx"),
    (b'x', b"bdfgjkmnqrsvwxz"),
    (b'y', b"q"),
    (b'z', b"fjqx"),
];

/// Letters that seldom follow the first one: pairs of less than 30 in a million in 2 million pairs of English prose. Other
/// languages have words with one or two of them, but none has most of its words of such.
pub const UNCOMMON_PAIRS: &[(u8, &[u8])] = &[
    (b'a', b"oq"),
    (b'b', b"cdfghknpqvwxz"),
    (b'c', b"bdfgjmnpqvwxz"),
    (b'd', b"chkpqtxz"),
    (b'f', b"bcdghjkmnpqvwxz"),
    (b'g', b"bcdfjkpqvwxz"),
    (b'h', b"dfghjkqvwxz"),
    (b'i', b"w"),
    (b'j', b"bcdfghijklmnpqrstvwxyz"),
    (b'k', b"bcghjkmqrtuvwxz"),
    (b'l', b"hjqxz"),
    (b'm', b"cdghjkqrtvwxz"),
    (b'n', b"bqwz"),
    (b'o', b"q"),
    (b'p', b"bgjknqvwxz"),
    (b'q', b"abcdefghijklmnopqrstvwxyz"),
    (b'r', b"jqxz"),
    (b's', b"bdgjvxz"),
    (b't', b"gjkqvxz"),
    (b'u', b"qwx"),
    (b'v', b"bcdfghjklmnpqrstuvwxz"),
    (b'w', b"cfgjkmpquvwxyz"),
    (b'x', b"bdfghjklmnoqrsuvwxz"),
    (b'y', b"fhjkqvwxy"),
    (b'z', b"bcdfghjkmnpqrstvwx"),
];

/// Whether a word holds two of [`UNCOMMON_PAIRS`].
pub fn is_odd(word: &[u8]) -> bool {
    let is_uncommon =
        |pair: &&[u8]| UNCOMMON_PAIRS.iter().any(|(first, seconds)| *first == pair[0] && seconds.contains(&pair[1]));
    word.windows(2).filter(is_uncommon).nth(1).is_some()
}

/// Words that were judged, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spelling {
    /// Words that were judged.
    pub judged: u64,
    /// Those that hardly any language has.
    pub implausible: u64,
}

impl Spelling {
    /// Judges a word, if it is one to be judged.
    #[inline]
    pub fn add(&mut self, word: &[u8]) {
        if WORD_LETTERS.contains(&word.len()) {
            self.judge(word);
        }
    }

    #[inline(never)]
    fn judge(&mut self, word: &[u8]) {
        let (mut classes, mut rare, mut vowels, mut before) = (0, 0, 0_u32, 0_u32);
        for byte in word {
            let letter = LETTERS[usize::from(*byte)];
            classes |= letter;
            rare |= before.wrapping_shr(u32::from(*byte));
            vowels = vowels << 1 | letter >> VOWEL_BIT;
            before = letter;
        }
        if classes & NO_LETTER != 0 {
            return;
        }
        let consonants = !vowels & ((1 << word.len()) - 1);
        self.judged += 1;
        self.implausible += u64::from((rare & 1 != 0) | (vowels == 0) | has_run(consonants));
    }
}

/// Whether [`CONSONANTS_MAX`] neighbours are among the bits.
fn has_run(bits: u32) -> bool {
    let pairs = bits & bits >> 1;
    let fours = pairs & pairs >> 2;
    fours & pairs >> (CONSONANTS_MAX - 2) != 0
}

/// Of what is no letter a to z.
const NO_LETTER: u32 = 1;
/// The highest bit, that of a vowel.
const VOWEL_BIT: u32 = 31;

/// 1 to 26 for a to z: what a shift takes of them.
const fn index_of(byte: u8) -> u32 {
    (byte & 0x1F) as u32
}

/// What is known of every byte: the letters that hardly follow it, by their index, and whether it is a vowel.
static LETTERS: [u32; 256] = {
    let mut letters = [NO_LETTER; 256];
    let mut letter = b'a';
    while letter <= b'z' {
        let is_vowel = matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
        letters[letter as usize] = (is_vowel as u32) << VOWEL_BIT;
        letter += 1;
    }
    let mut row = 0;
    while row < RARE_PAIRS.len() {
        let (first, seconds) = RARE_PAIRS[row];
        let mut column = 0;
        while column < seconds.len() {
            letters[first as usize] |= 1 << index_of(seconds[column]);
            column += 1;
        }
        row += 1;
    }
    letters
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn judge(word: &str) -> Option<bool> {
        let mut spelling = Spelling::default();
        spelling.add(word.as_bytes());
        (spelling.judged > 0).then_some(spelling.implausible > 0)
    }

    #[test]
    fn words_are_judged_by_pairs_vowels_and_runs() {
        for (word, expected) in [
            ("the", None),
            ("Quick", None),
            ("iPhone", None),
            ("caf\u{e9}s", None),
            ("utf8", None),
            ("rhythms", Some(false)),
            ("angstschweiss", Some(true)),
            ("twelfths", Some(false)),
            ("lengths", Some(false)),
            ("borschtsch", Some(true)),
            ("kjwh", Some(true)),
            ("aqza", Some(true)),
            ("strengthening", Some(false)),
        ] {
            assert_eq!(judge(word), expected, "{word}");
        }
    }

    proptest! {
        #[test]
        fn it_is_what_it_says(word in "[a-z]{4,30}|[bcdfghtsaz]{4,30}") {
            let letters = word.as_bytes();
            let is_vowel = |letter: &u8| b"aeiouy".contains(letter);
            let is_rare = |pair: &[u8]| RARE_PAIRS.iter().any(|(a, list)| *a == pair[0] && list.contains(&pair[1]));
            let run = letters.windows(CONSONANTS_MAX as usize).any(|run| !run.iter().any(is_vowel));
            let expected = run || !letters.iter().any(is_vowel) || letters.windows(2).any(is_rare);
            prop_assert_eq!(judge(&word), Some(expected));
        }
    }
}
