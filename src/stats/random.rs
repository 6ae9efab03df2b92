//! Reproducible random numbers, for resampling.
//!
//! **Formula**: SplitMix64: the state grows by [`STEP`], and a finaliser mixes it. A number below n is the upper half of
//! the 128-bit product with n.
//!
//! **Range**: all of u64; below n: 0 to n - 1.
//!
//! **Source**: G. L. Steele, D. Lea and C. H. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014;
//! D. Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29 (2019), without its rejection step.
//!
//! **Limits**: for statistics, never for secrets. Numbers below n are uneven by less than n / 2^64.

/// The odd constant by which the state grows: 2^64 divided by the golden ratio.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator; the same seed gives the same numbers everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// A generator that begins at `seed`.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.draw()) * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The first outputs of the reference implementation for the seed 1234567.
    #[test]
    fn it_is_the_published_generator() {
        let mut random = SplitMix64::new(1_234_567);
        let drawn = [random.draw(), random.draw(), random.draw()];
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn numbers_below_n_are_spread_evenly() {
        let mut random = SplitMix64::new(1);
        let mut counts = [0_u32; 7];
        for _ in 0..7_000 {
            counts[random.below(7)] += 1;
        }
        assert!(counts.iter().all(|count| (880..1_120).contains(count)), "{counts:?}");
        assert_eq!(random.below(0), 0);
    }
}
