//! Suppressions: findings that a person has looked at and accepted, told by what was found and not by where.
//!
//! A file (`llmverify.suppress.toml`) lists them:
//!
//! ```toml
//! key = "5f1d…"                                  # 32 random bytes, in hexadecimal: what the fingerprints are made with
//!
//! [[suppression]]
//! rule = "secret/aws_access_key_id"
//! fingerprint = "9c1185a5c5e9fc54612808977ee8f548"
//! reason = "revoked in January"
//! owner = "ana"
//! expires = 2027-06-30                           # optional: from this day on it counts no more
//! ```
//!
//! **Formula**: fingerprint = the first 16 bytes of HMAC-SHA-256(key, rule id, one zero byte, evidence), in hexadecimal. The evidence
//! is the bytes that the rule matched, decoded. There is no line number in it, no time, no file: the same key in another record is
//! the same finding, another key in the same place is not.
//!
//! **Effect**: a suppressed hit is taken out before the engines see it, so that every other hit of the record counts
//! as before. Its text stays redacted in excerpts.
//!
//! **Limits**: whoever has the file can try evidence of few possible values (a phone number) against a fingerprint;
//! keep it as you keep the code.

use std::collections::{BTreeMap, BTreeSet};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use sha2::Sha256;

use super::RuleError;

/// The name of the file.
pub const FILE_NAME: &str = "llmverify.suppress.toml";
/// Bytes of a new key.
pub const KEY_BYTES: usize = 32;
/// The fewest bytes of a key.
const KEY_BYTES_MIN: usize = 16;
/// Bytes of a fingerprint: two of a million findings are the same with a chance of 10^-27.
const FINGERPRINT_BYTES: usize = 16;

/// One accepted finding.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suppression {
    /// The rule.
    pub rule: String,
    /// What it found, as [`Suppressions::fingerprint`] makes it.
    pub fingerprint: String,
    /// Why it is accepted.
    pub reason: String,
    /// Who accepted it.
    pub owner: String,
    /// The first day on which it counts no more.
    #[serde(default)]
    pub expires: Option<toml::value::Datetime>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    key: String,
    #[serde(default)]
    suppression: Vec<Suppression>,
}

/// A file of suppressions, ready to be asked.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    key: Vec<u8>,
    entries: Vec<Suppression>,
    /// Index of the entries that count, by rule and fingerprint.
    active: BTreeMap<(String, String), usize>,
    expired: Vec<usize>,
    is_drafting: bool,
}

impl Suppressions {
    /// No suppressions, and fingerprints made with `key`.
    pub fn with_key(key: &[u8]) -> Suppressions {
        Suppressions { key: key.to_owned(), ..Suppressions::default() }
    }

    /// Reads a file; `today` decides which entries have expired.
    ///
    /// # Errors
    /// When it cannot be read, has no usable key, names an unknown rule, lists a finding twice, or an entry has no reason
    /// or no owner.
    pub fn parse(
        file: &str,
        text: &str,
        today: jiff::civil::Date,
        is_known: impl Fn(&str) -> bool,
    ) -> Result<Suppressions, RuleError> {
        let error = |rule: &str, reason: String| RuleError { file: file.to_owned(), rule: rule.to_owned(), reason };
        let read: File = toml::from_str(text).map_err(|e| error("", e.to_string()))?;
        let key = data_encoding::HEXLOWER_PERMISSIVE.decode(read.key.trim().as_bytes());
        let key = key.ok().filter(|key| key.len() >= KEY_BYTES_MIN);
        let key = key.ok_or_else(|| error("", format!("needs a key of at least {KEY_BYTES_MIN} hexadecimal bytes")))?;
        let mut suppressions = Suppressions::with_key(&key);
        let mut seen = BTreeSet::new();
        for (index, entry) in read.suppression.into_iter().enumerate() {
            if !is_known(&entry.rule) {
                return Err(error(&entry.rule, "is suppressed and does not exist".into()));
            }
            if entry.reason.trim().is_empty() || entry.owner.trim().is_empty() {
                return Err(error(&entry.rule, "is suppressed without a reason or an owner".into()));
            }
            let id = (entry.rule.clone(), entry.fingerprint.to_ascii_lowercase());
            if !seen.insert(id.clone()) {
                return Err(error(&entry.rule, format!("is suppressed twice for {}", entry.fingerprint)));
            }
            if has_expired(&entry, today).map_err(|reason| error(&entry.rule, reason))? {
                suppressions.expired.push(index);
            } else {
                suppressions.active.insert(id, index);
            }
            suppressions.entries.push(entry);
        }
        Ok(suppressions)
    }

    /// The fingerprint of what a rule found.
    pub fn fingerprint(&self, rule: &str, evidence: &str) -> String {
        // HMAC takes keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key) else { return String::new() };
        mac.update(rule.as_bytes());
        mac.update(&[0]);
        mac.update(evidence.as_bytes());
        data_encoding::HEXLOWER.encode(&mac.finalize().into_bytes()[..FINGERPRINT_BYTES])
    }

    /// The index of the entry that suppresses this evidence, if one does.
    pub fn suppresses(&self, rule: &str, evidence: &str) -> Option<usize> {
        if self.active.is_empty() {
            return None;
        }
        self.active.get(&(rule.to_owned(), self.fingerprint(rule, evidence))).copied()
    }

    /// The same suppressions, of which new ones are to be drafted.
    #[must_use]
    pub fn drafting(mut self) -> Suppressions {
        self.is_drafting = true;
        self
    }

    /// Whether fingerprints of all that is found are wanted.
    pub fn is_drafting(&self) -> bool {
        self.is_drafting
    }

    /// What fingerprints are made with; empty when there is no file.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// All entries, in the order of the file.
    pub fn entries(&self) -> &[Suppression] {
        &self.entries
    }

    /// The indices of the entries that have expired.
    pub fn expired(&self) -> &[usize] {
        &self.expired
    }
}

fn has_expired(entry: &Suppression, today: jiff::civil::Date) -> Result<bool, String> {
    let Some(expires) = &entry.expires else { return Ok(false) };
    let date = expires.date.filter(|_| expires.time.is_none() && expires.offset.is_none());
    let date = date.and_then(|date| {
        let (year, month, day) = (i16::try_from(date.year), i8::try_from(date.month), i8::try_from(date.day));
        jiff::civil::Date::new(year.ok()?, month.ok()?, day.ok()?).ok()
    });
    date.map(|date| date <= today).ok_or_else(|| "is suppressed until something that is no date".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Library;

    const KEY: &str = "000102030405060708090a0b0c0d0e0f";

    fn parse(text: &str) -> Result<Suppressions, RuleError> {
        let text = format!("key = \"{KEY}\"\n{text}");
        Suppressions::parse("s.toml", &text, jiff::civil::date(2026, 11, 21), |rule| {
            Library::built_in().find(rule).is_some()
        })
    }

    fn entry(more: &str) -> String {
        let key: Vec<u8> = (0..16).collect();
        let fingerprint = Suppressions::with_key(&key).fingerprint("pii/email_address", "a@b.example");
        format!(
            "[[suppression]]\nrule = \"pii/email_address\"\nfingerprint = \"{fingerprint}\"\nreason = \"r\"\nowner = \"o\"\n{more}\n"
        )
    }

    #[test]
    fn a_fingerprint_is_the_hmac_of_rule_and_evidence() {
        // python3: hmac.new(bytes(range(16)), b"pii/email_address\0a@b.example", "sha256").hexdigest()[:32]
        let key: Vec<u8> = (0..16).collect();
        let fingerprint = Suppressions::with_key(&key).fingerprint("pii/email_address", "a@b.example");
        assert_eq!(fingerprint, "880145d632d30ad3d27dde1ac54f9687");
    }

    #[test]
    fn what_is_listed_is_suppressed_and_nothing_else() {
        let suppressions = parse(&entry("")).unwrap();
        assert_eq!(suppressions.suppresses("pii/email_address", "a@b.example"), Some(0));
        assert_eq!(suppressions.suppresses("pii/email_address", "a@c.example"), None);
        assert_eq!(suppressions.suppresses("pii/phone_number", "a@b.example"), None);
    }

    #[test]
    fn an_entry_counts_until_the_day_on_which_it_expires() {
        for (expires, counts) in [("2026-11-22", true), ("2026-11-21", false), ("2020-01-01", false)] {
            let suppressions = parse(&entry(&format!("expires = {expires}"))).unwrap();
            assert_eq!(suppressions.suppresses("pii/email_address", "a@b.example").is_some(), counts, "{expires}");
            assert_eq!(suppressions.expired().is_empty(), counts, "{expires}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_used_is_refused_with_the_reason() {
        for (text, reason) in [
            (entry("").replace("\"r\"", "\" \""), "without a reason"),
            (entry("").replace("\"o\"", "\"\""), "without a reason or an owner"),
            (entry("").replace("pii/email_address", "pii/nothing"), "does not exist"),
            (entry("") + &entry(""), "twice"),
            (entry("expires = 12:00:00"), "no date"),
            (entry("line = 3"), "unknown field"),
        ] {
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.starts_with("s.toml: ") && error.contains(reason), "{error} should say {reason}");
        }
        let error = Suppressions::parse("s.toml", "key = \"00\"", jiff::civil::date(2026, 1, 1), |rule| {
            Library::built_in().find(rule).is_some()
        });
        assert!(error.unwrap_err().to_string().contains("needs a key"));
    }
}
