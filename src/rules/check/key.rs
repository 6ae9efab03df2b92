//! Keys that prove themselves: the structure of a private key, or the checksum that wallets put into theirs.
//!
//! | key | proof | source |
//! |---|---|---|
//! | PEM private key | base64 of a DER SEQUENCE that is as long as it says | RFC 7468, RFC 5208, RFC 8017, RFC 5915 |
//! | OpenSSH private key | `openssh-key-v1`, then a cipher's name of the stated length | openssh PROTOCOL.key |
//! | PGP private key | CRC-24 of the armour | RFC 4880, 6.1 |
//! | PuTTY private key | its lines | PuTTY, "PPK file format" |
//! | age identity | bech32 checksum | age specification, BIP-173 |
//! | WIF, xprv | base58check: the first 4 bytes of SHA-256 twice | Bitcoin wiki, BIP-32 |
//! | seed phrase | 12 to 24 words of the list, with their checksum | BIP-39; the list: its reference implementation (MIT) |
//! | service account | JSON with key, e-mail and kind | Google Cloud, "Service account credentials" |

use std::sync::LazyLock;

use data_encoding::{BASE64_MIME_PERMISSIVE, BASE64_NOPAD};
use sha2::{Digest, Sha256};

use super::{Candidate, Checked, placeholder::verdict};

/// The longest key that is decoded; what is longer still holds.
const KEY_BYTES_MAX: usize = 32 << 10;
/// A body with fewer characters of base64 is a heading in a text about keys.
const BODY_CHARS_MIN: usize = 40;

/// A private key between its `BEGIN` and `END`, or cut off before the end.
pub fn private_key(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let Some(body) = value.splitn(3, "-----").nth(2).map(|rest| rest.split("-----").next().unwrap_or(rest)) else {
        return Checked::Fails;
    };
    if body.len() > KEY_BYTES_MAX {
        return Checked::Holds;
    }
    let lines = body.replace("\\r", "").replace("\\n", "\n");
    let is_base64 = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    // Header lines of the armour (`Version: …`) hold a colon; the checksum of PGP begins with `=`.
    let rows = lines.lines().map(|line| line.trim_matches(|c: char| !is_base64(&c)));
    let rows: Vec<&str> = rows.filter(|line| !line.contains(':') && !line.is_empty()).collect();
    let is_pgp = value.starts_with("-----BEGIN PGP");
    let (rows, armour) = match rows.split_last() {
        Some((last, rows)) if is_pgp && last.len() == 5 && last.starts_with('=') => (rows, Some(&last[1..])),
        _ => (rows.as_slice(), None),
    };
    let encoded: String = rows.concat().chars().filter(is_base64).collect();
    if encoded.len() < BODY_CHARS_MIN {
        return if body.trim().is_empty() { Checked::Fails } else { Checked::Example("placeholder") };
    }
    if is_stand_in(&encoded) {
        return Checked::Example("placeholder");
    }
    let whole = encoded.trim_end_matches('=');
    let bytes = BASE64_NOPAD.decode(whole.as_bytes()).unwrap_or_default();
    let has_crc = armour.is_some_and(|armour| {
        BASE64_NOPAD.decode(armour.as_bytes()).is_ok_and(|crc| crc == crc24(&bytes).to_be_bytes()[1..])
    });
    if has_crc || is_der_sequence(&bytes) || is_openssh(&bytes) { Checked::Proves } else { Checked::Holds }
}

/// Whether the body is filled with one character or with words (`MIIEvQIBADANBg...YOUR KEY HERE`).
fn is_stand_in(encoded: &str) -> bool {
    let mut counts = [0_usize; 128];
    encoded.bytes().for_each(|byte| counts[usize::from(byte & 127)] += 1);
    counts.iter().max().is_some_and(|most| most * 3 > encoded.len()) || super::words::looks_like_words(encoded)
}

/// Whether `bytes` are one DER SEQUENCE, whole, that begins with an INTEGER or a SEQUENCE.
fn is_der_sequence(bytes: &[u8]) -> bool {
    let (length, head) = match bytes {
        [0x30, short, ..] if *short < 0x80 => (usize::from(*short), 2),
        [0x30, 0x81, length, ..] => (usize::from(*length), 3),
        [0x30, 0x82, high, low, ..] => (usize::from(*high) << 8 | usize::from(*low), 4),
        _ => return false,
    };
    // Length, tag and the next tag: 2 bytes of length, 1 of tag and 1 of the next, 2^-31 together.
    length + head == bytes.len() && length >= 32 && matches!(bytes.get(head), Some(0x02 | 0x30))
}

fn is_openssh(bytes: &[u8]) -> bool {
    bytes.strip_prefix(b"openssh-key-v1\0").is_some_and(|rest| rest.starts_with(&[0, 0, 0]))
}

/// The checksum of PGP armour.
fn crc24(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x00B7_04CE, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte) << 16, |crc, _| {
            let shifted = crc << 1;
            if shifted & 0x0100_0000 != 0 { (shifted ^ 0x0186_4CFB) & 0x00FF_FFFF } else { shifted }
        })
    })
}

/// A key in base58 with its checksum: WIF, `xprv` and its kind.
pub fn base58check(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    match base58(value) {
        Some(bytes) if has_double_sha256(&bytes) => verdict(value, Checked::Proves),
        _ => Checked::Fails,
    }
}

/// The bytes that base 58 (Bitcoin's alphabet) stands for; at most 120 characters.
fn base58(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    if text.len() > 120 {
        return None;
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    for digit in text.bytes() {
        let mut carry = ALPHABET.iter().position(|known| *known == digit)? as u32;
        for byte in bytes.iter_mut().rev() {
            carry += u32::from(*byte) * 58;
            *byte = carry as u8;
            carry >>= 8;
        }
        while carry > 0 {
            bytes.insert(0, carry as u8);
            carry >>= 8;
        }
    }
    let zeros = text.bytes().take_while(|digit| *digit == b'1').count();
    bytes.splice(0..0, std::iter::repeat_n(0, zeros));
    Some(bytes)
}

fn has_double_sha256(bytes: &[u8]) -> bool {
    let Some((body, checksum)) = bytes.split_last_chunk::<4>() else { return false };
    Sha256::digest(Sha256::digest(body)).starts_with(checksum)
}

/// A secret in bech32, as age writes its identities.
pub fn bech32(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    if is_bech32(&value.to_ascii_lowercase()) { verdict(value, Checked::Proves) } else { Checked::Fails }
}

fn is_bech32(text: &str) -> bool {
    const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let Some((human, data)) = text.rsplit_once('1') else { return false };
    let step = |checksum: u32, value: u32| {
        let top = checksum >> 25;
        let shifted = (checksum & 0x01ff_ffff) << 5 ^ value;
        (0..5).filter(|bit| top >> bit & 1 == 1).fold(shifted, |sum, bit| sum ^ GENERATOR[bit])
    };
    let highs = human.bytes().map(|byte| u32::from(byte >> 5));
    let lows = human.bytes().map(|byte| u32::from(byte & 31));
    let mut checksum = highs.chain([0]).chain(lows).fold(1, step);
    for byte in data.bytes() {
        let Some(value) = ALPHABET.iter().position(|known| *known == byte) else { return false };
        checksum = step(checksum, value as u32);
    }
    data.len() >= 6 && checksum == 1
}

/// A key in base 32 with CRC-16 behind it, low byte first, as NATS and Stellar write them.
pub fn crc16_base32(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let bytes = data_encoding::BASE32_NOPAD.decode(value.as_bytes());
    let holds =
        bytes.is_ok_and(|bytes| bytes.split_last_chunk().is_some_and(|(key, crc)| crc16(key).to_le_bytes() == *crc));
    if holds { verdict(value, Checked::Proves) } else { Checked::Fails }
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| if crc & 0x8000 != 0 { crc << 1 ^ 0x1021 } else { crc << 1 })
    })
}

/// The words of BIP-39, in order, which is that of the alphabet.
static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| include_str!("bip39_english.txt").lines().collect());

/// Whether a phrase of 12, 15, 18, 21 or 24 words of BIP-39, with their checksum, stands in the text.
///
/// Of twelve words of English prose one in thousands of millions are all in the list and pass the checksum.
pub fn seed_phrase(candidate: &Candidate<'_>) -> Checked {
    const LENGTHS: [usize; 5] = [24, 21, 18, 15, 12];
    let words = candidate.value().split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    let indices: Vec<Option<u16>> = words.map(index_of).collect();
    let phrases = LENGTHS.into_iter().flat_map(|length| indices.windows(length));
    let mut found = phrases.filter_map(|phrase| phrase.iter().copied().collect::<Option<Vec<u16>>>());
    match found.find(|phrase| is_phrase(phrase)) {
        // Test vectors repeat a few words; a drawn phrase does so once in a million times.
        Some(phrase) if different(&phrase) * 3 < phrase.len() * 2 => Checked::Example("published example"),
        Some(_) => Checked::Proves,
        None => Checked::Fails,
    }
}

fn index_of(word: &str) -> Option<u16> {
    let word = word.to_ascii_lowercase();
    WORDS.binary_search(&word.as_str()).ok().map(|index| index as u16)
}

fn different(phrase: &[u16]) -> usize {
    let mut sorted = phrase.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len()
}

/// Whether the last bits of the words, one for each 32 of the others, are the first of SHA-256 of these.
fn is_phrase(phrase: &[u16]) -> bool {
    let checksum_bits = phrase.len() / 3;
    let bits: Vec<bool> = phrase.iter().flat_map(|word| (0..11).rev().map(move |bit| word >> bit & 1 == 1)).collect();
    let byte_of = |bits: &[bool]| bits.iter().fold(0_u8, |byte, bit| byte << 1 | u8::from(*bit));
    let (entropy, checksum) = bits.split_at(bits.len() - checksum_bits);
    let bytes: Vec<u8> = entropy.chunks(8).map(byte_of).collect();
    let first = Sha256::digest(&bytes)[0];
    byte_of(checksum) == first >> (8 - checksum_bits)
}

/// A service account's JSON: the members that make it one stand beside one another.
pub fn service_account(candidate: &Candidate<'_>) -> Checked {
    // The pattern asks for `type` and `service_account`; what stands around says whether the key is there.
    const AROUND_BYTES: usize = 4096;
    let text = candidate.text;
    let start = text.floor_char_boundary(candidate.start.saturating_sub(AROUND_BYTES));
    let end = text.ceil_char_boundary((candidate.end + AROUND_BYTES).min(text.len()));
    let around = &text[start..end];
    let Some(key) = around.find("private_key\"").or_else(|| around.find("private_key\\\"")) else {
        return Checked::Fails;
    };
    let key = &around[key..];
    if !key.contains("-----BEGIN") {
        return Checked::Fails;
    }
    let body: String = key.chars().skip_while(|c| *c != '-').take(400).collect();
    let base64 = body.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/')).count();
    if base64 < 150 || body.contains("...") { Checked::Example("placeholder") } else { Checked::Holds }
}

/// Base64 of a text that says what it is: `user:password` of basic authorization.
pub fn basic_credentials(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let bytes = BASE64_MIME_PERMISSIVE.decode(value.as_bytes()).or_else(|_| BASE64_NOPAD.decode(value.as_bytes()));
    let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    match text.split_once(':') {
        Some((_, "")) => Checked::Fails,
        Some((user, _)) if user.chars().any(char::is_control) => Checked::Fails,
        Some((user, password)) if is_documented(user, password) => Checked::Example("published example"),
        Some((_, password)) => verdict(password, Checked::Holds),
        None if value.len() >= 16 && super::assigned::is_random(value) => verdict(value, Checked::Holds),
        None => Checked::Fails,
    }
}

/// Pairs of the RFCs and of every tutorial.
fn is_documented(user: &str, password: &str) -> bool {
    const PAIRS: &[(&str, &str)] = &[
        ("Aladdin", "open sesame"),
        ("aladdin", "opensesame"),
        ("username", "password"),
        ("user", "password"),
        ("user", "pass"),
        ("test", "123£"),
    ];
    PAIRS.contains(&(user, password))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(function: super::super::Check, text: &str) -> Checked {
        function(&Candidate::new(text, 0..text.len()))
    }

    fn pem(kind: &str, bytes: &[u8]) -> String {
        let body = BASE64_NOPAD.encode(bytes);
        let lines: Vec<&str> = body.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        format!("-----BEGIN {kind} KEY-----\n{}\n-----END {kind} KEY-----", lines.join("\n"))
    }

    fn noise(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 167 + at * at * 31 + 13) as u8).collect()
    }

    #[test]
    fn a_private_key_is_proven_by_its_structure_and_held_when_it_is_cut() {
        let mut der = vec![0x30, 0x82, 0x02, 0x02, 0x02, 0x01];
        der.extend(noise(512));
        let key = pem("RSA PRIVATE", &der);
        assert_eq!(check(private_key, &key), Checked::Proves);
        assert_eq!(check(private_key, &key.replace('\n', "\\n")), Checked::Proves);
        assert_eq!(check(private_key, &key[..key.len() / 2]), Checked::Holds);
        let mut ssh = b"openssh-key-v1\0\0\0\0\x04none".to_vec();
        ssh.extend(noise(200));
        assert_eq!(check(private_key, &pem("OPENSSH PRIVATE", &ssh)), Checked::Proves);
        assert_eq!(
            check(private_key, "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END"),
            Checked::Example("placeholder")
        );
        assert_eq!(check(private_key, "-----BEGIN RSA PRIVATE KEY-----"), Checked::Fails);
        let filled = format!("-----BEGIN PRIVATE KEY-----\n{}\n", "A".repeat(200));
        assert_eq!(check(private_key, &filled), Checked::Example("placeholder"));
    }

    #[test]
    fn pgp_armour_is_proven_by_its_crc() {
        let bytes = noise(120);
        let (body, crc) = (BASE64_NOPAD.encode(&bytes), BASE64_NOPAD.encode(&crc24(&bytes).to_be_bytes()[1..]));
        let key = |crc: &str| {
            format!(
                "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{body}\n={crc}\n-----END PGP PRIVATE KEY BLOCK-----"
            )
        };
        assert_eq!(check(private_key, &key(&crc)), Checked::Proves);
        assert_eq!(check(private_key, &key("AAAA")), Checked::Holds);
        assert_eq!(crc24(b"123456789"), 0x21_CF02);
    }

    #[test]
    fn wallets_prove_themselves() {
        // Bitcoin wiki, "Wallet import format", and BIP-39's own vectors.
        let wif = concat!("5HueCGU8rMjxEXxiPuD5BDku4MkFq", "eZyd4dZ1jvhTVqvbTLvyTJ");
        assert_eq!(check(base58check, wif), Checked::Proves);
        assert_eq!(check(base58check, &wif.replace("TJ", "TK")), Checked::Fails);
        assert_eq!(WORDS.len(), 2048);
        assert!(WORDS.is_sorted());
        let phrase = concat!("ozone drill grab fiber curtain grace ", "pudding thank cruise elder eight picnic");
        assert_eq!(check(seed_phrase, &format!("it is {phrase} ok")), Checked::Proves);
        assert_eq!(check(seed_phrase, &phrase.replace("picnic", "pigeon")), Checked::Fails);
        let zeros = ["abandon"; 11].join(" ") + " about";
        assert_eq!(check(seed_phrase, &zeros), Checked::Example("published example"));
    }

    #[test]
    fn bech32_is_checked() {
        // BIP-173, test vectors.
        assert!(is_bech32("a12uel5l") && is_bech32("abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"));
        assert!(!is_bech32("a12uel5q") && !is_bech32("nothing") && !is_bech32("1é"));
    }

    #[test]
    fn basic_credentials_are_a_user_and_a_password() {
        assert_eq!(check(basic_credentials, &BASE64_NOPAD.encode(b"admin:Tr0ub4dor")), Checked::Holds);
        let documented = BASE64_NOPAD.encode(b"Aladdin:open sesame");
        assert_eq!(check(basic_credentials, &documented), Checked::Example("published example"));
        assert_eq!(check(basic_credentials, "authentication"), Checked::Fails);
    }
}
