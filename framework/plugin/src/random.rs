//! Random numbers that are the same for ever and everywhere: SplitMix64 for deriving seeds and
//! xoshiro256++ for draws (Blackman and Vigna, <https://prng.di.unimi.it/>), integers and `libm` only.

/// One step of SplitMix64: a well-mixed value from any other.
pub const fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The seed of a part: derived from the whole's seed and the part's number, so that neighbours share nothing.
pub const fn derive(seed: u64, part: u64) -> u64 {
    mix(mix(seed) ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93))
}

/// xoshiro256++.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    s: [u64; 4],
}

impl Random {
    /// A generator from a seed; every seed is good.
    pub fn new(seed: u64) -> Self {
        let mut x = seed;
        let s = [(); 4].map(|()| {
            let word = mix(x);
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            word
        });
        Random { s }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.s;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// A whole number in `0..n`, by the high half of a product; the bias is below `n / 2^64`.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A number in `0.0..1.0` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// An exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SplitMix64's and xoshiro256++'s published first outputs for seed 0 (reference C code).
    #[test]
    fn golden() {
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
        let mut r = Random::new(0);
        assert_eq!([(); 3].map(|()| r.bits()), [0x53175d61490b23df, 0x61da6f3dc380d507, 0x5c0fdf91ec9a7bfc]);
    }

    #[test]
    fn below_stays_below_and_reaches_all() {
        let mut r = Random::new(7);
        let mut seen = [false; 10];
        for _ in 0..1000 {
            seen[r.below(10) as usize] = true;
        }
        assert_eq!(seen, [true; 10]);
    }

    #[test]
    fn exponential_has_mean_one() {
        let mut r = Random::new(1);
        let n = 1_000_000;
        let mean = (0..n).map(|_| r.exponential()).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 5.0 / f64::from(n).sqrt(), "mean {mean}");
    }
}
