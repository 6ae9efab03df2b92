//! What stands for a value that was taken out.
//!
//! - *placeholder*: `[EMAIL_1]`: the rule's name and a number; the same value has the same number, in the order of the
//!   first occurrence
//! - *mask*: asterisks, as many as the length rounded up to a power of two, 4 to 64; keys of objects have placeholders
//! - *hash*: `[EMAIL_9f86d081]`: the first 32 bits of HMAC-SHA-256 of the value under a key, so that values can be matched
//!   over logs by whoever has the key, and by nobody else
//!
//! **Limits**: a log that holds placeholders already keeps them, and new ones are numbered from 1 as well: redact a log once,
//! or by hash. A value that is longer than its rule expects, or stands in encoded text, may be taken out in part; a text
//! nested deeper than 1,000 brackets is a line of text. Numbers are told apart for the first [`VALUES_MAX`] values; later ones are `[EMAIL]`. Of 32 bits, two among
//! 65,000 values agree by chance.

use std::{collections::HashMap, fmt::Write as _, sync::Arc};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Values that are told apart.
pub const VALUES_MAX: usize = 4_000_000;
/// Bytes of the shortest key.
pub const KEY_BYTES_MIN: usize = 16;
/// Bytes of a hash that are shown.
const HASH_BYTES: usize = 4;
const MASK_CHARS: std::ops::RangeInclusive<usize> = 4..=64;

/// How values are replaced.
#[derive(Clone, PartialEq, Eq)]
pub enum Mode {
    /// By type and number.
    Placeholder,
    /// By asterisks.
    Mask,
    /// By type and a hash under this key.
    Hash(Vec<u8>),
}

/// Gives each value what stands for it.
pub struct Values {
    mode: Mode,
    /// By the hash of the value: the type and the number that it was given first. What is a phone number in one place and
    /// an account in another is one value all the same.
    numbers: HashMap<u128, (Arc<str>, u64)>,
    last: HashMap<Arc<str>, u64>,
}

impl Values {
    /// None given yet.
    pub fn new(mode: Mode) -> Values {
        Values { mode, numbers: HashMap::new(), last: HashMap::new() }
    }

    /// What stands for `value`, which the rule of this id hit.
    pub fn replacement(&mut self, rule: &str, value: &str) -> String {
        match &self.mode {
            Mode::Mask => mask(value),
            Mode::Hash(key) => format!("[{}_{}]", label(rule), hash(key, value)),
            Mode::Placeholder => self.numbered(label(rule), value),
        }
    }

    /// The same, with a number in the place of a mask, which does not tell values apart.
    pub fn told_apart(&mut self, rule: &str, value: &str) -> String {
        match &self.mode {
            Mode::Mask => self.numbered(label(rule), value),
            Mode::Placeholder | Mode::Hash(_) => self.replacement(rule, value),
        }
    }

    fn numbered(&mut self, label: String, value: &str) -> String {
        // Two independent halves, so that no value is kept and none is taken for another.
        let digest = siphasher::sip128::SipHasher13::new().hash(value.as_bytes()).as_u128();
        if let Some((label, number)) = self.numbers.get(&digest) {
            return format!("[{label}_{number}]");
        }
        if self.numbers.len() >= VALUES_MAX {
            return format!("[{label}]");
        }
        let label: Arc<str> = label.into();
        let number = self.last.entry(label.clone()).or_default();
        *number += 1;
        self.numbers.insert(digest, (label.clone(), *number));
        format!("[{label}_{number}]")
    }
}

/// The name of a rule as a type: `pii/email_address` is `EMAIL`.
pub fn label(rule: &str) -> String {
    let name = rule.split_once('/').map_or(rule, |(_, name)| name);
    let name = name.strip_suffix("_address").or_else(|| name.strip_suffix("_number")).unwrap_or(name);
    name.to_ascii_uppercase()
}

fn mask(value: &str) -> String {
    let length = value.chars().count().next_power_of_two();
    "*".repeat(length.clamp(*MASK_CHARS.start(), *MASK_CHARS.end()))
}

fn hash(key: &[u8], value: &str) -> String {
    let mut hex = String::with_capacity(2 * HASH_BYTES);
    if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) {
        mac.update(value.as_bytes());
        for byte in mac.finalize().into_bytes().iter().take(HASH_BYTES) {
            let _ = write!(hex, "{byte:02x}");
        }
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_has_the_same_number() {
        let mut values = Values::new(Mode::Placeholder);
        let mut of = |rule: &str, value: &str| values.replacement(rule, value);
        assert_eq!(of("pii/email_address", "a"), "[EMAIL_1]");
        assert_eq!(of("pii/email_address", "b"), "[EMAIL_2]");
        assert_eq!(of("secret/aws_access_key_id", "k"), "[AWS_ACCESS_KEY_ID_1]");
        assert_eq!(of("pii/email_address", "a"), "[EMAIL_1]");
        assert_eq!(of("pii/phone_number", "a"), "[EMAIL_1]");
        assert_eq!(of("pii/phone_number", "c"), "[PHONE_1]");
    }

    #[test]
    fn a_mask_tells_the_class_of_the_length() {
        for (value, length) in [("a", 4), ("abcd", 4), ("abcde", 8), ("ééééééééé", 16), (&"x".repeat(500), 64)]
        {
            assert_eq!(mask(value), "*".repeat(length), "{value}");
        }
    }

    #[test]
    fn hashes_are_those_of_hmac() {
        // RFC 4231, test case 2.
        assert_eq!(hash(b"Jefe", "what do ya want for nothing?"), "5bdcc146");
        let mut values = Values::new(Mode::Hash(b"Jefe".to_vec()));
        assert_eq!(values.replacement("pii/phone_number", "what do ya want for nothing?"), "[PHONE_5bdcc146]");
    }
}
