//! Values that are assigned to a name such as `password` or `api_key`: is it a literal, and does it look like a secret?
//!
//! **Formula**: a value is *random* when its characters are spread widely enough for its length, it does not look like
//! words ([`super::words`]), and it is none of the things that look random and give no access: a path, an address, a
//! version, a date, a name in code. A *literal* stands in quotes, or alone at the end of its line; a bare value inside
//! of code must be random. A password may hold words when it mixes them with digits or signs.
//!
//! **Source**: the filters that detect-secrets and gitleaks list for the same purpose (sequences, identifiers, templates,
//! indirect references), on letter pairs rather than on lists.
//!
//! **Limits**: a password of words alone (`swordfish`) is only found where the name leaves no doubt and it is quoted.

use super::{Candidate, Checked, placeholder, words};
use crate::rules::{labels, scanner::entropy_bits};

/// The shortest value that is called random.
const RANDOM_BYTES_MIN: usize = 8;
/// Values of a name that say no more than the name does, and defaults that everyone has.
const WEAK: &[&str] = &[
    "password",
    "passwd",
    "passwort",
    "secret",
    "token",
    "changeme",
    "test",
    "testing",
    "tester",
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "string",
    "hidden",
    "empty",
    "default",
    "value",
    "text",
    "user",
    "username",
    "admin",
    "root",
    "foobar",
    "foo",
    "bar",
    "baz",
    "qux",
    "pass",
    "pwd",
    "key",
    "apikey",
    "mypassword",
    "mysecret",
    "mytoken",
    "secretkey",
    "required",
    "optional",
    "invalid",
    "unknown",
    "abc",
    "abcd",
    "asdf",
    "qwerty",
    "letmein",
    "hello",
    "world",
    "dummy",
    "fake",
    "mock",
    "wrong",
    "correct",
    "basic",
    "bearer",
    "plain",
    "plaintext",
    "encrypted",
    "prompt",
    "bcrypt",
    "sha256",
    "sha512",
    "md5",
    "utf8",
    "utf16",
    "base64",
    "localhost",
];

/// Whether the characters look drawn by chance.
pub fn is_random(value: &str) -> bool {
    let length = value.len();
    if length < RANDOM_BYTES_MIN || !value.is_ascii() {
        return false;
    }
    // Random characters of this length have about log2(length) bits, less where the alphabet is small (hex: 4).
    let bits = entropy_bits(value.as_bytes());
    let enough = if length < 16 { 2.2 } else { 2.75 };
    bits >= enough && !words::looks_like_words(value) && !is_ordinary(value)
}

/// A value that was assigned to a name with `key`, `token` or the like in it.
pub fn assigned(candidate: &Candidate<'_>) -> Checked {
    if names_no_secret(candidate) { Checked::Fails } else { random(candidate) }
}

/// A value where a key or token is expected: behind a vendor's name, in a header, in an address.
pub fn random(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    if !is_literal(candidate) || !is_random(value) {
        return Checked::Fails;
    }
    // Bare letters without a digit are a name in code or a word of another language, unless they are many and mixed.
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    let is_long_mix = value.len() >= 16 && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    if !has(u8::is_ascii_digit) && !is_quoted(candidate) && !is_long_mix {
        return Checked::Fails;
    }
    stand_in(value)
}

/// A value without an operator in front: it must hold letters and digits, neither of them by the way.
pub fn random_with_digits(candidate: &Candidate<'_>) -> Checked {
    const EACH_MIN: usize = 4;
    let value = candidate.value();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    if digits < EACH_MIN || letters < EACH_MIN { Checked::Fails } else { random(candidate) }
}

/// A value that was assigned to the name of a password.
pub fn password(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    if !is_literal(candidate) || !is_password(value, is_quoted(candidate)) {
        return Checked::Fails;
    }
    stand_in(value)
}

/// A password inside of an address or a command, where it is always a literal.
pub fn inline_password(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let is_reference = value.starts_with(['$', '<', '{', '%', '[', '(', '&', '*']) || value.contains("${");
    if is_reference || is_weak(value) || value.len() < 3 {
        return Checked::Fails;
    }
    stand_in(value)
}

/// A password behind its word in a sentence, in whatever language: it mixes letters with digits or signs, as the next
/// word of a sentence does not.
pub fn said_password(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let count = |test: fn(u8) -> bool| value.bytes().filter(|byte| test(*byte)).count();
    let letters = count(|byte| byte.is_ascii_alphabetic());
    let digits = count(|byte| byte.is_ascii_digit());
    let signs =
        count(|byte| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'~' | b'+' | b'?'));
    let inner = value.trim_end_matches(['!', '?', '*']);
    let is_mixed = letters >= 2 && value.len() >= 6 && (digits > 0 || signs > 0 && inner.len() >= 6 && has_sign(inner));
    // `12-stellig`, `8+`, `2FA`: how long it is, or what kind.
    let lead = value.bytes().take_while(u8::is_ascii_digit).count();
    let is_measure =
        (1..=2).contains(&lead) && value.bytes().skip(lead).all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    let is_joined =
        candidate.after().starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '(' | '[' | '{' | '/'));
    let is_reference = value.starts_with(['$', '%', '&', '/', '=']) || value.contains("://");
    let is_name = value.starts_with(['#', '.', '@']) && digits == 0;
    // Where nothing says that what follows is the value, a word with digits (`sha256sum`) is not enough.
    let is_plain = signs == 0 && !value.bytes().any(|byte| byte.is_ascii_uppercase());
    let is_vague = is_plain && !is_said(candidate);
    if !is_mixed
        || is_measure
        || is_joined
        || is_reference
        || is_name
        || is_vague
        || is_weak(value)
        || is_ordinary(value)
    {
        return Checked::Fails;
    }
    stand_in(value)
}

/// Whether a colon, an equals sign or a word such as "is" stands in front of the value.
fn is_said(candidate: &Candidate<'_>) -> bool {
    let before =
        candidate.just_before(24).trim_end_matches([' ', '\t', '"', '\'', '`', '*', '«', '»', '„', '“', '”', '「']);
    let before = labels::lower(before);
    before.ends_with([':', '=', '：']) || labels::words("is").any(|word| before.ends_with(word))
}

fn has_sign(value: &str) -> bool {
    value.bytes().any(|byte| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'~' | b'+' | b'?'))
}

/// Digits behind the word of a PIN or a one-time code. In India a PIN code of six digits is that of a post office.
pub fn pin_code(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let digits: Vec<u8> = value.bytes().filter(u8::is_ascii_digit).collect();
    let label = candidate.just_before(24).to_ascii_lowercase();
    // Of a connector or a chip, `pin 4417` is the name; what opens a card is in capitals, or said to be so.
    let is_of_plug = candidate.just_before(4).ends_with("in ") && !candidate.just_before(4).ends_with("PIN ");
    let is_post_office = digits.len() == 6
        && digits[0] != b'0'
        && ["pin code", "pincode", "pin-code", "pin:", "pin "].iter().any(|name| label.contains(name));
    let is_run = digits.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1))
        || digits.windows(2).all(|pair| pair[0] == pair[1]);
    let is_year = digits.len() == 4 && (digits.starts_with(b"19") || digits.starts_with(b"20"));
    if is_of_plug || is_post_office || is_run || is_year || digits.is_empty() { Checked::Fails } else { Checked::Holds }
}

/// Credentials in an `Authorization` header: whatever the scheme, they look drawn by chance.
pub fn header_credentials(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    if !has_digit || !is_random(value) { Checked::Fails } else { stand_in(value) }
}

/// A random value that is told beside an id: letters and digits, neither of them by the way.
pub fn said_random(candidate: &Candidate<'_>) -> Checked {
    const EACH_MIN: usize = 2;
    let value = candidate.value();
    let count = |test: fn(&u8) -> bool| value.bytes().filter(test).count();
    if count(u8::is_ascii_digit) < EACH_MIN || count(u8::is_ascii_alphabetic) < EACH_MIN || !is_random(value) {
        return Checked::Fails;
    }
    stand_in(value)
}

/// A stand-in for an assigned value is not worth a finding: there is one on every page of documentation.
fn stand_in(value: &str) -> Checked {
    match placeholder::reason(value) {
        Some(why @ "published example") => Checked::Example(why),
        Some(_) => Checked::Fails,
        None => Checked::Holds,
    }
}

fn is_password(value: &str, is_quoted: bool) -> bool {
    if is_weak(value) || is_ordinary(value) || value.len() < 4 {
        return false;
    }
    // `$name`, `:name`, `a[`, `a->b`: a reference to what holds the password.
    let is_variable = value.starts_with(['$', ':', '@', '&', '#', '*']) && words::looks_like_words(&value[1..]);
    let is_code = ["::", "->", "()", "[", "]"].iter().any(|sign| value.contains(sign)) || value.ends_with(':');
    if is_variable || is_code && !is_quoted || value.contains("->") {
        return false;
    }
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    let kinds = [u8::is_ascii_lowercase as fn(&u8) -> bool, u8::is_ascii_uppercase, u8::is_ascii_digit];
    let kinds = kinds.into_iter().filter(|kind| has(*kind)).count();
    let has_sign =
        value.bytes().any(|byte| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'?' | b'~'));
    let is_wordy = words::wordiness(value).is_none_or(|bits| bits >= words::WORDS_FROM);
    if !is_wordy {
        return is_quoted || kinds + usize::from(has_sign) >= 2 || value.len() >= 6;
    }
    // Words with digits or signs in them are a password; words alone are a message or a name.
    let has_digit = has(u8::is_ascii_digit);
    let is_name = value.contains(['_', '.', '-']) || value.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    has_sign && kinds >= 1 && value.len() >= 6
        || has_digit && kinds >= 2 && value.len() >= 6 && (!is_name || kinds == 3)
}

/// The name to which the value is assigned, as far as it can be told: what stands before operator and quotes.
fn name_of<'t>(candidate: &Candidate<'t>) -> &'t str {
    const NAME_BYTES_MAX: usize = 64;
    let before = candidate.before();
    let before = &before[before.ceil_char_boundary(before.len().saturating_sub(NAME_BYTES_MAX))..];
    let before = before.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let start = before.rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))).map_or(0, |at| at + 1);
    before.get(start..).unwrap_or_default()
}

/// Whether the name is that of something that is meant to be seen: an id of a secret, a key of a table, a public key.
fn names_no_secret(candidate: &Candidate<'_>) -> bool {
    const ENDS: &[&str] =
        &["id", "ids", "name", "names", "type", "path", "file", "url", "uri", "arn", "alias", "version"];
    const HOLDS: &[&str] = &[
        "public",
        "primarykey",
        "foreignkey",
        "sortkey",
        "partitionkey",
        "cachekey",
        "routekey",
        "rowkey",
        "objectkey",
        "bucketkey",
        "indexkey",
        "hotkey",
        "keyvault",
        "keyword",
        "keyboard",
        "keyframe",
        "csrf",
        "xsrf",
        "tokenizer",
        "monkey",
        "donkey",
        "turkey",
        "hockey",
        "author",
        "accessib",
        "integrity",
        "checksum",
        "fingerprint",
        "thumbprint",
        "capital",
        "apiversion",
        "rapid",
    ];
    let plain: String = name_of(candidate).chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    let is_identifier = ENDS.iter().any(|end| plain.ends_with(end)) && !plain.ends_with("accesskeyid");
    // A client's or an application's id is half of a login; the vendors' own rules look for those that matter.
    is_identifier || HOLDS.iter().any(|part| plain.contains(part))
}

/// Whether the value says no more than that there is one.
fn is_weak(value: &str) -> bool {
    let plain: String = value.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let letters = plain.trim_end_matches(|c: char| c.is_ascii_digit());
    WEAK.contains(&letters) || WEAK.contains(&plain.as_str()) || letters.is_empty() && plain.len() < 6
}

/// Whether the value is something that looks random and gives no access.
fn is_ordinary(value: &str) -> bool {
    let bytes = value.as_bytes();
    let count = |byte: u8| bytes.iter().filter(|b| **b == byte).count();
    let is_path =
        value.starts_with(['/', '.', '~']) && count(b'/') > 1 || value.contains("://") || value.starts_with("./");
    let is_call = value.contains(['(', '{']) || value.contains("->") || value.contains("::");
    // `name-1.2.3`, `lib_0.11`: the version of something.
    let is_version = value.rsplit(['-', '_', 'v', '@']).next().is_some_and(|end| {
        let is_dotted = end.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        end.len() < value.len() && is_dotted && end.trim_matches('.').contains('.')
    });
    let is_mail = value.split_once('@').is_some_and(|(_, host)| host.contains('.') && !host.contains('@'));
    let is_number = bytes.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'-' | b':' | b'/'))
        && (value.len() < 14 || value.contains(['.', ',', '-', ':', '/']));
    // Parts that are words, between dots, underscores, slashes or hyphens: a name.
    let parts: Vec<&str> = value.split(['.', '_', '-', '/', ':']).filter(|part| !part.is_empty()).collect();
    let wordy = parts.iter().filter(|part| is_word(part)).count();
    is_path || is_call || is_mail || is_number || is_version || parts.len() > 1 && wordy * 3 > parts.len() * 2
}

fn is_word(part: &str) -> bool {
    let is_short = part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_short || part.bytes().all(|byte| byte.is_ascii_alphabetic()) && words::looks_like_words(part)
}

fn is_quoted(candidate: &Candidate<'_>) -> bool {
    candidate.before().as_bytes().last().is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'`'))
}

/// Whether the value is the whole of what is assigned: a string in quotes, or a bare value that ends where it should.
fn is_literal(candidate: &Candidate<'_>) -> bool {
    let next = candidate.after().as_bytes();
    if is_quoted(candidate) {
        return matches!(next.first(), None | Some(b'"' | b'\'' | b'`' | b'\\' | b'&' | b';'));
    }
    match next.first() {
        None | Some(b'\n' | b'\r' | b',' | b';' | b'&' | b'<' | b'"' | b'\'' | b'`' | b'\\' | b'}' | b']') => true,
        // A comment, another option or the end of the line may follow, but not an operator or an argument.
        Some(b' ' | b'\t' | b')' | b'|') => {
            let rest = next.trim_ascii_start();
            !matches!(rest.first(), Some(b'(' | b'=' | b'+' | b'?' | b'*' | b'.' | b'['))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(function: super::super::Check, before: &str, value: &str, after: &str) -> Checked {
        let text = format!("{before}{value}{after}");
        function(&Candidate::new(&text, before.len()..before.len() + value.len()))
    }

    #[test]
    fn random_values_are_told_from_names_paths_and_stand_ins() {
        for value in [
            "q8Zk2LmX9vTbW4rP",
            "8f14e45fceea167a5a36dedd4bea2543",
            "kd83-hf7s_2hd9",
            "550e8400-e29b-41d4-a716-446655440000",
        ] {
            assert_eq!(checked(random, "k = \"", value, "\""), Checked::Holds, "{value}");
        }
        for value in [
            "process.env.API_KEY",
            "jjwt-jackson-0.11.2",
            "my_secret_key",
            "/etc/ssl/key.pem",
            "https://x.io/a1b2c3d4",
            "xxxxxxxxxxxx",
            "YOUR_API_KEY",
            "12.04.2023",
            "getToken()",
            "access_token2",
        ] {
            assert_eq!(checked(random, "k = \"", value, "\""), Checked::Fails, "{value}");
        }
    }

    #[test]
    fn names_that_hold_no_secret_are_known() {
        let value = "q8Zk2LmX9vTbW4rP";
        for name in ["credentialsId = '", "\"publicKey\": \"", "primaryKey=", "csrf-token=", "\"secretName\": \""] {
            assert_eq!(
                checked(assigned, name, value, if name.ends_with('=') { "" } else { "'" }),
                Checked::Fails,
                "{name}"
            );
        }
        assert_eq!(checked(assigned, "\"secretKey\": \"", value, "\""), Checked::Holds);
    }

    #[test]
    fn a_password_is_a_literal_and_no_reference() {
        for (before, value, after) in [
            ("password = \"", "hunter2!", "\""),
            ("password: ", "hunter2", "\n"),
            ("pwd='", "Blooby123", "'"),
            ("pwd='", "qwxkzvbp", "'"),
            ("password=", "tr0ub4dor&3", ""),
        ] {
            assert_eq!(checked(password, before, value, after), Checked::Holds, "{before}{value}{after}");
        }
        for (before, value, after) in [
            ("password = ", "get_password", "()"),
            ("password = ", "user.password", "\n"),
            ("password: \"", "Enter", " your password\""),
            ("password = '", "password", "'"),
            ("password = '", "changeme123", "'"),
            ("password = \"", "${DB_PASS}", "\""),
            ("password = ", "None", "\n"),
            ("password = \"", "user@mail.example.com", "\""),
        ] {
            assert_eq!(checked(password, before, value, after), Checked::Fails, "{before}{value}{after}");
        }
    }

    #[test]
    fn odd_characters_are_no_harm() {
        for value in ["é", "漢字漢字漢字", "\u{202e}", "", "====", "((((((((("] {
            checked(random, "é", value, "é");
            checked(password, "", value, "");
            checked(inline_password, "\"", value, "\u{300}");
        }
    }
}
