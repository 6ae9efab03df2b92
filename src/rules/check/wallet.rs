//! Addresses of cryptocurrencies, each with its checksum.
//!
//! **Formula**: base58check: the last 4 of 25 bytes are the first of SHA-256(SHA-256(the others)); Bech32 and Bech32m:
//! a polynomial over 32 characters leaves 1 or 0x2bc830a3; Ethereum (EIP-55): a letter is upper case where the nibble of
//! Keccak-256 over the lower-case address is 8 or more. A random text passes with 2⁻³², 2⁻³⁰, and 2⁻ⁿ for n letters.
//!
//! **Source**: Bitcoin's base58check; BIP-173 and BIP-350; EIP-55.
//!
//! **Limits**: an Ethereum address in one case only has no checksum, and merely holds.

use sha2::Sha256;
use sha3::{Digest, Keccak256};

use super::{Candidate, Check, Checked};

/// The checks of this file, by name.
pub const CHECKS: &[(&str, Check)] =
    &[("base58check_address", base58check_address), ("bech32_address", bech32_address), ("ethereum_address", eip_55)];

const BITCOIN_ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const RIPPLE_ALPHABET: &[u8; 58] = b"rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz";
/// Bytes of an address: a version, the hash of a key, four of checksum.
const ADDRESS_BYTES: usize = 25;
/// Letters of an Ethereum address from which its case proves it: 2⁻²⁰ is one in a million.
const CASE_LETTERS_MIN: usize = 20;

fn base58check_address(candidate: &Candidate<'_>) -> Checked {
    let address = candidate.value().as_bytes();
    let alphabet = if address.first() == Some(&b'r') { RIPPLE_ALPHABET } else { BITCOIN_ALPHABET };
    let Some(bytes) = base58_bytes(address, alphabet) else { return Checked::Fails };
    let (body, checksum) = bytes.split_at(ADDRESS_BYTES - 4);
    let hash = Sha256::digest(Sha256::digest(body));
    if hash[..4] != *checksum {
        return Checked::Fails;
    }
    // The first block's reward, and addresses of manuals.
    match candidate.value() {
        "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"
        | "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"
        | "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy" => Checked::Example("address of documentation"),
        _ => Checked::Proves,
    }
}

fn base58_bytes(text: &[u8], alphabet: &[u8; 58]) -> Option<[u8; ADDRESS_BYTES]> {
    let mut bytes = [0_u8; ADDRESS_BYTES];
    for character in text {
        let mut carry = alphabet.iter().position(|known| known == character)?;
        for byte in bytes.iter_mut().rev() {
            carry += usize::from(*byte) * 58;
            *byte = (carry % 256) as u8;
            carry /= 256;
        }
        if carry > 0 {
            return None;
        }
    }
    let zeros = text.iter().take_while(|character| **character == alphabet[0]).count();
    (bytes.iter().take_while(|byte| **byte == 0).count() == zeros).then_some(bytes)
}

fn bech32_address(candidate: &Candidate<'_>) -> Checked {
    const CHARACTERS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let address = candidate.value().to_ascii_lowercase();
    let Some((human, data)) = address.rsplit_once('1') else { return Checked::Fails };
    let values: Option<Vec<u32>> =
        data.bytes().map(|byte| CHARACTERS.iter().position(|known| *known == byte).map(|value| value as u32)).collect();
    let Some(values) = values.filter(|values| values.len() > 6) else { return Checked::Fails };
    let human = human.as_bytes();
    let expanded = human.iter().map(|byte| u32::from(byte >> 5)).chain([0]);
    let expanded = expanded.chain(human.iter().map(|byte| u32::from(byte & 31))).chain(values);
    let rest = expanded.fold(1_u32, |rest, value| {
        let top = rest >> 25;
        let shifted = (rest & 0x1ff_ffff) << 5 ^ value;
        (0..5).fold(shifted, |rest, bit| if top >> bit & 1 == 1 { rest ^ GENERATOR[bit] } else { rest })
    });
    if matches!(rest, 1 | 0x2bc8_30a3) { Checked::Proves } else { Checked::Fails }
}

fn eip_55(candidate: &Candidate<'_>) -> Checked {
    let Some(address) = candidate.value().get(2..).filter(|address| address.len() == 40) else { return Checked::Fails };
    let lower = address.to_ascii_lowercase();
    let letters = address.bytes().filter(u8::is_ascii_alphabetic).count();
    if lower.bytes().collect::<std::collections::BTreeSet<_>>().len() < 6 {
        return Checked::Fails;
    }
    if address == lower || address == address.to_ascii_uppercase() {
        return Checked::Holds;
    }
    let hash = Keccak256::digest(lower.as_bytes());
    let is_upper = |place: usize| (hash[place / 2] >> if place.is_multiple_of(2) { 4 } else { 0 }) & 15 >= 8;
    let agrees = address
        .bytes()
        .enumerate()
        .all(|(place, byte)| !byte.is_ascii_alphabetic() || byte.is_ascii_uppercase() == is_upper(place));
    match (agrees, letters >= CASE_LETTERS_MIN) {
        (true, true) => Checked::Proves,
        (true, false) => Checked::Holds,
        _ => Checked::Fails,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(check: Check, address: &str) -> Checked {
        check(&Candidate::new(address, 0..address.len()))
    }

    #[test]
    fn addresses_of_the_standards_pass_and_with_another_character_they_do_not() {
        // BIP-173, BIP-350, EIP-55 (specification examples); a Bitcoin address of the base58check description.
        for (name, address) in [
            (bech32_address as Check, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"),
            (bech32_address, "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4"),
            (bech32_address, "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"),
            (base58check_address, "16UwLL9Risc3QfPqBUvKofHmBQ7wMtjvM"),
            (base58check_address, "rrrrrrrrrrrrrrrrrrrrBZbvji"),
        ] {
            assert_eq!(check(name, address), Checked::Proves, "{address}");
            let other = if address.ends_with('4') { '5' } else { '4' };
            assert_eq!(check(name, &format!("{}{other}", &address[..address.len() - 1])), Checked::Fails, "{address}");
        }
        for address in ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"] {
            assert_ne!(check(eip_55, address), Checked::Fails, "{address}");
            assert_eq!(check(eip_55, &address.replacen('A', "a", 1).replacen("bB", "bb", 1)), Checked::Fails);
        }
    }
}
