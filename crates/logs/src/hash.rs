//! Stable 64-bit hashes of names: the same on every machine, in every run and in every release.
//!
//! **Formula**: SipHash-1-3 of the UTF-8 bytes under [`KEYS`]. [`combine`] hashes two hashes in order.
//!
//! **Range**: all of u64. Two of a million different names share a hash with a probability of about 3e-8.
//!
//! **Source**: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (2012).
//!
//! **Limits**: the keys are public, so that outputs are reproducible; a collision costs a mixed-up history, no more.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// The fixed keys of the hash; changing them changes no output, only the layout of memory.
pub const KEYS: (u64, u64) = (0x6c6c_6d76_6572_6966, 0x7920_6e61_6d65_7321);

/// The hash of a name: a stream, a session, a field.
pub fn name(text: &str) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(KEYS.0, KEYS.1);
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// The hash of two hashes, in this order.
pub fn combine(first: u64, second: u64) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(KEYS.0, KEYS.1);
    hasher.write(&first.to_le_bytes());
    hasher.write(&second.to_le_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fixed once; a change here would mix up hashes that were stored.
    #[test]
    fn hashes_are_stable() {
        assert_eq!(name(""), 0xa136_0d4f_12db_f85b);
        assert_eq!(name("get_weather"), 0xe168_407c_86f1_dd21);
    }

    #[test]
    fn order_and_boundaries_matter() {
        assert_ne!(combine(1, 2), combine(2, 1));
        assert_ne!(name("ab"), name("ba"));
    }
}
