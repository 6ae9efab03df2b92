//! Is it a stand-in for a secret rather than one?
//!
//! **Formula**: a value is a placeholder when it holds a word that says so ([`MARKERS`]), a template's brackets, more
//! than half of one character, a run of neighbours (`abcdef`, `123456`) over half of its length, or when it is a value
//! that a vendor prints in its documentation ([`PUBLISHED`]).
//!
//! **Limits**: whoever uses `example` in a live password hides it from us; it is still shown, as an example.

use super::{Candidate, Checked};

/// Words that mark a placeholder, in lower case and without signs between them.
const MARKERS: &[&str] = &[
    "example",
    "placeholder",
    "yourapi",
    "yourkey",
    "yoursecret",
    "yourtoken",
    "yourpassword",
    "yourown",
    "youraccess",
    "yourclient",
    "yourservice",
    "yourpersonal",
    "yourproject",
    "youropenai",
    "yourgithub",
    "yourstripe",
    "yourlive",
    "yourtest",
    "youractual",
    "yourreal",
    "yourprivate",
    "yoursupersecret",
    "yourorg",
    "changeme",
    "changeit",
    "replaceme",
    "replacewith",
    "redacted",
    "dummykey",
    "dummytoken",
    "dummysecret",
    "dummypass",
    "fakekey",
    "faketoken",
    "fakesecret",
    "insertyour",
    "insertkey",
    "enteryour",
    "pasteyour",
    "goeshere",
    "keyhere",
    "tokenhere",
    "secrethere",
    "passwordhere",
    "xxxxx",
    "notarealkey",
    "notreal",
    "samplekey",
    "sampletoken",
    "mockkey",
    "mocktoken",
    "apikeyhere",
    "addyour",
    "putyour",
    "tokenexample",
    "somesecret",
    "sometoken",
    "somekey",
];

/// Beginnings of values that vendors print in their documentation.
const PUBLISHED: &[&str] = &[
    // AWS, "Managing access keys": the key id and the secret of all examples.
    "AKIAIOSFODNN7",
    "AKIAI44QH8DHB",
    "ASIAIOSFODNN7",
    "wJalrXUtnFEMI/K7MDENG",
    "je7MtGbClwBF/2Zp9Utk",
    // Stripe, API reference: the key of all examples.
    "sk_test_4eC39HqLyjW",
    "sk_test_BQokikJOvBi",
    "pk_test_TYooMQauvdEDq",
    // RFC 7519 and jwt.io: the token that every tutorial shows.
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l",
    // NuGet, "nuget.config reference": the passwords of its examples.
    "33f!!lloppa",
    "hal+9ooo_da!sY",
    // Azurite and the storage emulator: the account key that everyone has.
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6",
    // BIP-39, the all-zero and all-one test vectors.
    "abandon abandon abandon abandon abandon abandon",
    "zoo zoo zoo zoo zoo zoo",
    "legal winner thank year wave sausage worth useful legal winner thank yellow",
    // BIP-32, test vector 1.
    "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi",
];

/// The longest value that is looked at for runs; what is longer is no placeholder.
const VALUE_BYTES_MAX: usize = 400;

/// Why `value` is a stand-in, if it is one.
pub fn reason(value: &str) -> Option<&'static str> {
    if PUBLISHED.iter().any(|published| value.starts_with(published)) {
        return Some("published example");
    }
    if value.len() > VALUE_BYTES_MAX {
        return None;
    }
    let has_template = ["${", "{{", "}}", "<%", "%(", "$(", "#{"].iter().any(|bracket| value.contains(bracket))
        || value.starts_with('<') && value.ends_with('>')
        || value.starts_with('%') && value.ends_with('%') && value.len() > 2
        || value.starts_with('[') && value.ends_with(']');
    if has_template {
        return Some("template");
    }
    let body = tail(value);
    if is_mostly_one(body) || is_mostly_one(value) {
        return Some("placeholder");
    }
    if body.len() >= 6 && longest_run(body) * 2 > body.len() {
        return Some("sequence");
    }
    let plain: String = value.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let is_marked = MARKERS.iter().any(|marker| plain.contains(marker))
        || value.to_ascii_lowercase().starts_with("your_")
        || value.to_ascii_lowercase().starts_with("your-")
        || value.contains("...");
    is_marked.then_some("placeholder")
}

/// The check of a token whose shape says enough: it is not a placeholder.
pub fn check(candidate: &Candidate<'_>) -> Checked {
    verdict(candidate.value(), Checked::Holds)
}

/// `otherwise`, unless the value is a placeholder.
pub fn verdict(value: &str, otherwise: Checked) -> Checked {
    reason(value).map_or(otherwise, Checked::Example)
}

/// Whether what stands there is what `llmverify redact` writes for a value: a log may be redacted before it is audited.
pub fn is_redacted(text: &str, span: &std::ops::Range<usize>) -> bool {
    let before = text[..span.start].ends_with('[');
    let behind = text[span.end..].starts_with(']');
    let value = &text[span.start - usize::from(before)..span.end + usize::from(behind)];
    let is_label = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let is_number = |mark: &str| (1..=7).contains(&mark.len()) && mark.bytes().all(|byte| byte.is_ascii_digit());
    let is_hash = |mark: &str| mark.len() == 8 && mark.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_mark = |(label, mark): (&str, &str)| {
        !label.is_empty() && label.chars().all(is_label) && (is_number(mark) || is_hash(mark))
    };
    let inside = value.strip_prefix('[').and_then(|value| value.strip_suffix(']'));
    inside.and_then(|inside| inside.rsplit_once('_')).is_some_and(is_mark) || value.bytes().all(|byte| byte == b'*')
}

/// What follows a vendor's prefix: the part behind the last sign of the first few characters.
fn tail(value: &str) -> &str {
    let head = value.floor_char_boundary(16.min(value.len() / 2));
    let start = value[..head].rfind(['_', '-', '.', ':']).map_or(0, |at| at + 1);
    &value[start..]
}

fn is_mostly_one(value: &str) -> bool {
    let mut counts = [0_usize; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte.to_ascii_lowercase())] += 1);
    value.len() >= 4 && counts.iter().max().is_some_and(|most| most * 2 > value.len())
}

/// The most characters in a row each of which is the one before it plus one (or all minus one), 9 before 0 included.
fn longest_run(value: &str) -> usize {
    let (mut longest, mut run, mut direction) = (1, 1, 0_i16);
    for two in value.as_bytes().windows(2) {
        let step = match (two[0], two[1]) {
            (b'9', b'0') => 1,
            (b'0', b'9') => -1,
            (a, b) if a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric() => i16::from(b) - i16::from(a),
            _ => 0,
        };
        let goes_on = step.abs() == 1 && (direction == 0 || direction == step);
        (run, direction) = if goes_on { (run + 1, step) } else { (1, 0) };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_are_told_from_secrets() {
        for (value, why) in [
            (concat!("AKIAIOSFODNN7", "EXAMPLE"), Some("published example")),
            ("xxxxxxxxxxxx", Some("placeholder")),
            ("ghp_XXXXXXXXXXXXXXXXXXXX", Some("placeholder")),
            ("sk-your-api-key-here", Some("placeholder")),
            ("YOUR_SECRET", Some("placeholder")),
            ("<token>", Some("template")),
            ("${DB_PASSWORD}", Some("template")),
            ("{{ secrets.TOKEN }}", Some("template")),
            ("%PASSWORD%", Some("template")),
            ("key_abcdefghijklmnop", Some("sequence")),
            ("1234567890123456", Some("sequence")),
            ("987654321", Some("sequence")),
            ("0000000000000000", Some("placeholder")),
            ("q8Zk2LmX9vTbW4rP", None),
            ("hunter2", None),
            ("", None),
        ] {
            assert_eq!(reason(value), why, "{value}");
        }
    }
}
