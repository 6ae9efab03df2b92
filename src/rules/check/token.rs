//! Tokens that prove themselves: a checksum, or a structure that they decode to.
//!
//! | token | proof | source |
//! |---|---|---|
//! | GitHub, npm | the last 6 characters are the CRC-32 of the 30 before them, in base 62 | GitHub blog, "Behind GitHub's new authentication token formats" (2021); npm blog (2021) |
//! | Grafana service account | the last 8 characters are the CRC-32 of all before them, little-endian, in hex | grafana/grafana, `satokengen` |
//! | JWT | header and payload are JSON, the header names an algorithm | RFC 7519, RFC 7515 |
//! | Sentry organisation token | the payload is base64 of JSON with `iat` and `url` | RFC 0091 of Sentry |
//! | PyPI, and other macaroons | the location inside is a field of the stated length | libmacaroons v2; PyPI documentation |
//! | OpenAI | `T3BlbkFJ` (base64 of `OpenAI`) in the middle | observed in all keys since 2022 |
//! | AWS key id | decodes to the account's number | AWS, "Unique identifiers"; base 32, bits 41 to 1 |
//!
//! A checksum of 32 bits is passed by a random text once in four billion times: [`Checked::Proves`]. A token that has
//! the shape and fails the checksum still [`Checked::Holds`]: vendors change their formats.

use data_encoding::{BASE32_NOPAD, BASE64_NOPAD, BASE64URL_NOPAD};
use serde_json::Value;

use super::{Candidate, Checked, placeholder::verdict};

/// The longest token that is decoded.
const TOKEN_BYTES_MAX: usize = 16 << 10;

/// `prefix_` + 30 characters + CRC-32 of these, as 6 digits in base 62.
pub fn crc_base62(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let body = value.split_once('_').map_or("", |(_, body)| body);
    let is_proven = body.len() == 36
        && body.is_ascii()
        && base62(crc32fast::hash(&body.as_bytes()[..30]), 6).as_bytes() == &body.as_bytes()[30..];
    verdict(value, if is_proven { Checked::Proves } else { Checked::Holds })
}

fn base62(mut number: u32, digits: usize) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut out = vec![b'0'; digits];
    for place in out.iter_mut().rev() {
        *place = DIGITS[(number % 62) as usize];
        number /= 62;
    }
    out.into_iter().map(char::from).collect()
}

/// `glsa_` + 32 characters + `_` + CRC-32 of all that, little-endian, in hex.
pub fn crc_grafana(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let is_proven = value.rsplit_once('_').is_some_and(|(body, checksum)| {
        let expected = crc32fast::hash(body.as_bytes()).swap_bytes();
        checksum.len() == 8 && u32::from_str_radix(checksum, 16) == Ok(expected)
    });
    verdict(value, if is_proven { Checked::Proves } else { Checked::Holds })
}

/// An OpenAI key with the marker in its middle.
pub fn openai(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let is_proven = value.split_once("T3BlbkFJ").is_some_and(|(before, after)| before.len() >= 20 && after.len() >= 20);
    verdict(value, if is_proven { Checked::Proves } else { Checked::Holds })
}

/// The members of a JWT's header and payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Jwt {
    /// The algorithm that the header names.
    pub algorithm: String,
    /// When it expires, in seconds since 1970.
    pub expires_s: Option<i64>,
    /// Whether it carries a signature.
    pub is_signed: bool,
}

/// Reads a JWT; `None` when its parts are not what RFC 7519 says.
pub fn jwt_of(value: &str) -> Option<Jwt> {
    let mut parts = value.split('.');
    let (header, payload) = (json_of(parts.next()?)?, json_of(parts.next()?)?);
    let algorithm = header.get("alg")?.as_str()?.to_owned();
    let expires_s = payload.get("exp").and_then(|exp| exp.as_i64().or_else(|| exp.as_f64().map(|s| s as i64)));
    Some(Jwt { algorithm, expires_s, is_signed: parts.next().is_some_and(|signature| !signature.is_empty()) })
}

/// A JWT whose header and payload decode. It proves itself to be a JWT, not to be live, so it only holds.
pub fn jwt(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    match jwt_of(value) {
        Some(_) if value.contains("MTIzNDU2Nzg5MCIsIm5hbWUiOiJKb2huIERvZ") => Checked::Example("published example"),
        Some(_) => verdict(value, Checked::Holds),
        // Cut or changed, but nothing that anyone writes.
        None if value.bytes().any(|byte| byte.is_ascii_digit()) && super::assigned::is_random(value) => {
            verdict(value, Checked::Holds)
        }
        None => Checked::Fails,
    }
}

fn json_of(part: &str) -> Option<Value> {
    if part.len() > TOKEN_BYTES_MAX {
        return None;
    }
    let part = part.trim_end_matches('=');
    let bytes = BASE64URL_NOPAD.decode(part.as_bytes()).or_else(|_| BASE64_NOPAD.decode(part.as_bytes())).ok()?;
    serde_json::from_slice::<Value>(&bytes).ok().filter(Value::is_object)
}

/// `sntrys_` + base64 of JSON with `iat` and `url`, `_`, signature.
pub fn sentry(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let payload = value.strip_prefix("sntrys_").and_then(|rest| rest.split('_').next()).and_then(json_of);
    let is_proven = payload.is_some_and(|payload| payload.get("iat").is_some() && payload.get("url").is_some());
    verdict(value, if is_proven { Checked::Proves } else { Checked::Holds })
}

/// `prefix-` + a macaroon: version 2, a location field (type 1) of the stated length with a host's name in it.
pub fn macaroon(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let body = value.split_once('-').map_or(value, |(_, body)| body).as_bytes();
    let body = &body[..body.len().min(TOKEN_BYTES_MAX) / 4 * 4];
    let bytes = BASE64URL_NOPAD.decode(body).unwrap_or_default();
    let location = match bytes.as_slice() {
        [2, 1, length, rest @ ..] => rest.get(..usize::from(*length)).unwrap_or_default(),
        _ => &[],
    };
    let follows = bytes.get(3 + location.len()) == Some(&2);
    let is_proven = location.len() >= 4 && location.iter().all(u8::is_ascii_graphic) && follows;
    verdict(value, if is_proven { Checked::Proves } else { Checked::Holds })
}

/// The number of the account that an AWS key id belongs to; keys made before 2019 do not hold it.
pub fn aws_account(key_id: &str) -> Option<u64> {
    let body = key_id.get(4..20).filter(|body| body.as_bytes()[0] >= b'Q')?;
    let bytes = BASE32_NOPAD.decode(body.as_bytes()).ok()?;
    let number = bytes.get(..6)?.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    Some((number & 0x7fff_ffff_ff80) >> 7)
}

/// Base64 of exactly 64 bytes, as the keys of Azure Storage, Cosmos DB and Batch are.
pub fn base64_of_64_bytes(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let bytes = BASE64_NOPAD.decode(value.trim_end_matches('=').as_bytes()).unwrap_or_default();
    if bytes.len() != 64 {
        return Checked::Fails;
    }
    verdict(value, Checked::Holds)
}

/// What a token says of itself, safe to show: the account of an AWS key, algorithm and expiry of a JWT.
pub fn describe(value: &str) -> Option<String> {
    if matches!(value.get(..4), Some("AKIA" | "ASIA")) {
        return aws_account(value).map(|account| format!("AWS account {account:012}"));
    }
    if !value.starts_with("ey") {
        return None;
    }
    let Jwt { algorithm, expires_s, is_signed } = jwt_of(value)?;
    // What a token names itself is hostile text: only a name such as `HS256` is shown.
    let is_name = algorithm.len() <= 16 && algorithm.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let algorithm = if is_name { algorithm.as_str() } else { "unknown" };
    let unsigned = if is_signed && !algorithm.eq_ignore_ascii_case("none") { "" } else { ", not signed" };
    let expires = expires_s.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let expires = expires.map_or(String::new(), |time| format!(", expires {time}"));
    Some(format!("JWT, algorithm {algorithm}{unsigned}{expires}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(function: super::super::Check, text: &str) -> Checked {
        function(&Candidate::new(text, 0..text.len()))
    }

    #[test]
    fn checksums_prove_and_their_absence_only_weakens() {
        // The body of GitHub's own example (2021), and a token of the tests of grafana/grafana.
        let github = format!("gh{}_{}{}", "p", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17");
        assert_eq!(check(crc_base62, &github), Checked::Proves);
        assert_eq!(check(crc_base62, &github.replace("0mLq17", "0mLq18")), Checked::Holds);
        let grafana = format!("gl{}_{}_{}", "sa", "yscW25imSKJIuav8zF37RZmnbiDvB05G", "fcaaf58a");
        assert_eq!(check(crc_grafana, &grafana), Checked::Proves);
        assert_eq!(check(crc_grafana, &grafana.replace("fcaa", "fcab")), Checked::Holds);
        assert_eq!(check(crc_grafana, "glsa_é"), Checked::Holds);
    }

    #[test]
    fn an_aws_key_id_holds_its_account() {
        assert_eq!(aws_account(concat!("ASIAQNZGKIQY", "56JQ7WML")), Some(29_608_264_753));
        assert_eq!(aws_account("AKIAIOSFODNN7ABCDEFG"), None);
        assert_eq!(aws_account("AKIAQ"), None);
        assert_eq!(aws_account("AKIAé"), None);
    }

    #[test]
    fn a_jwt_says_its_algorithm_and_its_end() {
        let encode = |json: &str| BASE64URL_NOPAD.encode(json.as_bytes());
        let token =
            |header: &str, payload: &str, signature| format!("{}.{}.{signature}", encode(header), encode(payload));
        let signed = token(r#"{"alg":"HS256"}"#, r#"{"exp":1700000000}"#, "c2ln");
        assert_eq!(check(jwt, &signed), Checked::Holds);
        assert_eq!(describe(&signed).unwrap(), "JWT, algorithm HS256, expires 2023-11-14T22:13:20Z");
        let unsigned = token(r#"{"alg":"none"}"#, "{}", "");
        assert_eq!(describe(&unsigned).unwrap(), "JWT, algorithm none, not signed");
        assert_eq!(describe(&token(r#"{"alg":"<b>"}"#, "{}", "x")).unwrap(), "JWT, algorithm unknown");
        assert_eq!(check(jwt, "eyes.eyeball.eyebrow"), Checked::Fails);
    }

    #[test]
    fn macaroons_and_sentry_tokens_decode() {
        let mut bytes = vec![2, 1, 8];
        bytes.extend(b"pypi.org\x02\x24");
        bytes.extend([7; 60]);
        let token = format!("pypi-{}", BASE64URL_NOPAD.encode(&bytes));
        assert_eq!(check(macaroon, &token), Checked::Proves);
        assert_eq!(check(macaroon, "pypi-AgEIcHlwaS5v"), Checked::Holds);
        let sentry_token = format!("sntrys_{}_c2ln", BASE64_NOPAD.encode(br#"{"iat":1.5,"url":"https://s.io"}"#));
        assert_eq!(check(sentry, &sentry_token), Checked::Proves);
        assert_eq!(check(sentry, "sntrys_eyJpYXQ_x"), Checked::Holds);
    }
}
