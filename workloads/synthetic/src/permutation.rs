//! A fixed shuffle of `0..n` that needs no memory.

/// A bijection of `0..n`: an alternating Feistel network over the next power of two, walked until the value
/// lies below `n` (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002), which takes less than
/// two walks on average. Its keys are constants, so that it depends on `n` alone.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    n: u64,
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
}

/// Round keys: the first digits of pi.
const KEYS: [u64; 4] =
    [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344, 0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89];

impl Permutation {
    /// The shuffle of `0..n`.
    pub(crate) fn new(n: u64) -> Self {
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        let mask = |bits: u32| (1 << bits) - 1;
        let low_bits = bits.div_ceil(2);
        Permutation { n, low_bits, low_mask: mask(low_bits), high_mask: mask(bits - low_bits) }
    }

    /// Where `x`, which must be below `n`, goes.
    #[inline]
    pub(crate) fn map(&self, x: u64) -> u64 {
        debug_assert!(x < self.n);
        let mut x = x;
        loop {
            x = self.shuffle(x);
            if x < self.n {
                return x;
            }
        }
    }

    /// Four rounds over the whole power of two; each can be undone, so together they are a bijection.
    #[inline]
    fn shuffle(&self, x: u64) -> u64 {
        let (mut high, mut low) = (x >> self.low_bits, x & self.low_mask);
        for pair in KEYS.chunks_exact(2) {
            high ^= round(low, pair[0]) & self.high_mask;
            low ^= round(high, pair[1]) & self.low_mask;
        }
        high << self.low_bits | low
    }
}

#[inline]
fn round(half: u64, key: u64) -> u64 {
    (half ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_bijection(n: u64) -> bool {
        let permutation = Permutation::new(n);
        let mut seen = vec![false; n as usize];
        (0..n).for_each(|x| seen[permutation.map(x) as usize] = true);
        seen.iter().all(|s| *s)
    }

    #[test]
    fn every_number_is_reached_once() {
        for n in (1..=2100).chain([65_535, 65_536, 65_537, 1_000_003]) {
            assert!(is_bijection(n), "n = {n}");
        }
    }

    /// At 2^40 and around only a part can be looked at: within, and no two to the same place.
    #[test]
    fn large_ranges_stay_within_and_never_collide() {
        for n in [(1 << 40) - 1, 1 << 40, (1 << 40) + 1, 3_000_000_019] {
            let permutation = Permutation::new(n);
            let mut places: Vec<u64> = (0..200_000).map(|x| permutation.map(x * (n / 200_000))).collect();
            places.sort_unstable();
            assert!(places.last().is_some_and(|top| *top < n));
            assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "n = {n}");
        }
    }

    /// The first ranks, which are the hottest, lie all over the range and not beside each other.
    #[test]
    fn neighbours_are_scattered() {
        for n in [10_000, 1_048_576, 123_456_789, 1 << 40] {
            let permutation = Permutation::new(n);
            let ranks = n.min(4000) / 4;
            let mut tenths = [0u64; 10];
            let mut close = 0;
            for x in 0..ranks {
                let (here, next) = (permutation.map(x), permutation.map(x + 1));
                tenths[(here as u128 * 10 / n as u128) as usize] += 1;
                close += u64::from(here.abs_diff(next) < n / 100);
            }
            let expected = ranks as f64 / 10.0;
            let chi: f64 =
                tenths.iter().map(|t| (*t as f64 - expected) * (*t as f64 - expected) / expected).sum();
            assert!(chi < 27.9, "n = {n}: chi-square {chi} of 9 degrees, {tenths:?}");
            assert!(close * 25 < ranks, "n = {n}: {close} of {ranks} steps within 1 %, 2 % expected");
        }
    }
}
