//! The texts that a rule must hit and must miss, and running them.
//!
//! An example may hold made-up characters: `{base62:36}` is 36 letters and digits, drawn from the rule's id and the
//! example's position, always the same. That keeps texts that look like live secrets out of our own files.
//! The kinds: `digits`, `hex`, `upper_hex`, `lower` (letters), `upper`, `alnum` (lower case and digits), `upper_alnum`,
//! `base32`, `base62`, `base64`, `base64url`. Other braces stand for themselves.

use std::fmt::Write as _;

use super::{Library, Rule, Scanner};

/// An example of a rule that does not do what its list says.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The rule.
    pub rule: String,
    /// Whether the text should have been hit.
    pub should_hit: bool,
    /// The example, as it was scanned.
    pub text: String,
}

/// Runs every example of `rule`.
pub fn failures(rule: &Rule, library: &Library, scanner: &Scanner) -> Vec<Failure> {
    let hits = rule.hits.iter().map(|text| (true, text));
    let misses = rule.misses.iter().map(|text| (false, text));
    let mut failures = Vec::new();
    for (position, (should_hit, example)) in hits.chain(misses).enumerate() {
        let text = expand(example, &rule.id, position);
        let is_hit = scanner.scan_thoroughly(&text).hits.iter().any(|hit| library.rule(hit.rule).id == rule.id);
        if is_hit != should_hit {
            failures.push(Failure { rule: rule.id.clone(), should_hit, text });
        }
    }
    failures
}

/// The example with its made-up characters.
pub fn expand(example: &str, id: &str, position: usize) -> String {
    let mut random = Random::of(id, position);
    let mut out = String::with_capacity(example.len() + 64);
    let mut rest = example;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let Some((alphabet, count, length)) = placeholder(rest) else {
            out.push('{');
            rest = &rest[1..];
            continue;
        };
        (0..count).for_each(|_| out.push(random.pick(alphabet)));
        rest = &rest[length..];
    }
    let _ = write!(out, "{rest}");
    out
}

/// The most characters that one placeholder stands for.
const PLACEHOLDER_CHARS_MAX: usize = 10_000;

/// The alphabet, the count and the length of the placeholder that `text` begins with.
fn placeholder(text: &str) -> Option<(&'static [u8], usize, usize)> {
    let close = text.find('}')?;
    let (kind, count) = text[1..close].split_once(':')?;
    let alphabet = ALPHABETS.iter().find(|(name, _)| *name == kind)?.1;
    let count = count.parse().ok().filter(|count| *count <= PLACEHOLDER_CHARS_MAX)?;
    Some((alphabet, count, close + 1))
}

const ALPHABETS: &[(&str, &[u8])] = &[
    ("digits", b"0123456789"),
    ("hex", b"0123456789abcdef"),
    ("upper_hex", b"0123456789ABCDEF"),
    ("lower", b"abcdefghijklmnopqrstuvwxyz"),
    ("upper", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    ("alnum", b"abcdefghijklmnopqrstuvwxyz0123456789"),
    ("upper_alnum", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
    ("base32", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    ("base62", b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
    ("base64", b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
    ("base64url", b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
];

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn of(id: &str, position: usize) -> Random {
        let seed = id
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Random(seed.wrapping_add(position as u64))
    }

    fn pick(&mut self, alphabet: &[u8]) -> char {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        char::from(alphabet[(mixed % alphabet.len() as u64) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_of_every_built_in_rule_does_what_it_says() {
        let library = Library::built_in();
        let scanner = Scanner::new(library.clone());
        let failures: Vec<Failure> =
            library.rules().iter().flat_map(|rule| failures(rule, &library, &scanner)).collect();
        assert!(failures.is_empty(), "{} examples fail: {:#?}", failures.len(), &failures[..failures.len().min(20)]);
    }

    #[test]
    fn placeholders_are_filled_and_other_braces_stay() {
        let text = expand("key={hex:8} {\"a\": {digits:3}} {nothing:2} {hex:x", "secret/x", 0);
        assert_eq!(text, expand("key={hex:8} {\"a\": {digits:3}} {nothing:2} {hex:x", "secret/x", 0));
        assert_eq!(text.len(), "key=12345678 {\"a\": 123} {nothing:2} {hex:x".len());
        assert!(text.ends_with("{nothing:2} {hex:x"));
        assert_ne!(expand("{hex:8}", "secret/x", 0), expand("{hex:8}", "secret/x", 1));
    }
}
