//! Zipf's distribution: rank k of n is drawn with a chance proportional to `k^-theta`.
//!
//! Exact for every theta above 0 and every n, without the harmonic sum: ranks are put into buckets that widen
//! in proportion, a bucket is drawn by the alias method (Walker 1977, Vose 1991) with the chance that it would
//! have if all its ranks were as likely as its first, then a rank uniformly, which is accepted with the chance
//! that it deserves. A bucket is at most 1/64 of its first rank wide, so nearly all are accepted by comparison
//! with the least chance in the bucket, and `pow` is rarely needed.

use iodyno_plugin::random::Random;

/// Buckets of each power of two, as a power of two. Ranks below twice as many have a bucket of their own.
const SUB_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BITS;

const TWO_64: f64 = 18_446_744_073_709_551_616.0;

/// The table of one `n` and `theta`: 24 bytes for each of at most 64 buckets a power of two.
#[derive(Debug)]
pub(crate) struct Zipf {
    n: u64,
    theta: f64,
    buckets: Vec<Bucket>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Below this the bucket itself is meant, from it on the other.
    keep: u64,
    /// What every rank of the bucket deserves at least.
    sure: u64,
    other: u32,
}

/// The first rank, from 1, and the width of a bucket, from 0.
#[inline]
fn span(bucket: usize) -> (u64, u64) {
    let slot = bucket as u64 + 1;
    let octave = (slot >> SUB_BITS).saturating_sub(1);
    ((slot - (octave << SUB_BITS)) << octave, 1 << octave)
}

/// The bucket of a rank from 1.
fn bucket_of(rank: u64) -> usize {
    let octave = 63 - SUB_BITS - (rank | (2 * SUB - 1)).leading_zeros();
    ((u64::from(octave) << SUB_BITS) + (rank >> octave)) as usize - 1
}

impl Zipf {
    /// The distribution over `n` ranks, at least 1.
    pub(crate) fn new(n: u64, theta: f64) -> Self {
        let count = bucket_of(n) + 1;
        let mut weights = Vec::with_capacity(count);
        let mut buckets = Vec::with_capacity(count);
        for bucket in 0..count {
            let (first, width) = span(bucket);
            let width = width.min(n - first + 1);
            weights.push(width as f64 * libm::pow(first as f64, -theta));
            let least = libm::pow(first as f64 / (first + width - 1) as f64, theta);
            // A little less, so that rounding never accepts what the exact comparison would not.
            let sure = if width == 1 { u64::MAX } else { (least * (1.0 - 1e-12) * TWO_64) as u64 };
            buckets.push(Bucket { keep: u64::MAX, sure, other: bucket as u32 });
        }
        alias(&mut buckets, &weights);
        Zipf { n, theta, buckets }
    }

    /// How many ranks.
    pub(crate) fn len(&self) -> u64 {
        self.n
    }

    /// A rank, from 0.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Random) -> u64 {
        loop {
            let product = u128::from(rng.bits()) * self.buckets.len() as u128;
            let mut index = (product >> 64) as usize;
            if product as u64 >= self.buckets[index].keep {
                index = self.buckets[index].other as usize;
            }
            let (first, width) = span(index);
            if width == 1 {
                return first - 1;
            }
            let width = width.min(self.n - first + 1);
            let rank = first + ((u128::from(rng.bits()) * u128::from(width)) >> 64) as u64;
            let chance = rng.bits();
            if chance < self.buckets[index].sure || self.deserves(first, rank, chance) {
                return rank - 1;
            }
        }
    }

    /// Whether `rank` is accepted in the bucket that begins with `first`.
    #[cold]
    fn deserves(&self, first: u64, rank: u64, chance: u64) -> bool {
        (chance as f64) < libm::pow(first as f64 / rank as f64, self.theta) * TWO_64
    }
}

/// Vose's alias table: each bucket keeps its own share of an equal column and gives the rest to one other.
fn alias(buckets: &mut [Bucket], weights: &[f64]) {
    let scale = weights.len() as f64 / weights.iter().sum::<f64>();
    let mut left: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..left.len()).partition(|i| left[*i] < 1.0);
    while let (Some(poor), Some(rich)) = (small.pop(), large.last().copied()) {
        buckets[poor].keep = (left[poor] * TWO_64) as u64;
        buckets[poor].other = rich as u32;
        left[rich] -= 1.0 - left[poor];
        if left[rich] < 1.0 {
            large.pop();
            small.push(rich);
        }
    }
    // What is left over is full but for rounding, and keeps its whole column.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_all_ranks_without_gap() {
        let mut next = 1;
        for bucket in 0..bucket_of(1 << 40) + 1 {
            let (first, width) = span(bucket);
            assert_eq!(first, next);
            assert_eq!((bucket_of(first), bucket_of(first + width - 1)), (bucket, bucket));
            assert!(width == 1 || width * SUB <= first);
            next = first + width;
        }
        assert!(next > 1 << 40);
    }

    /// The quick comparison accepts nothing that the exact one would refuse.
    #[test]
    fn what_is_sure_is_deserved() {
        for theta in [0.01, 0.99, 1.0, 10.0] {
            let zipf = Zipf::new((1 << 40) - 12_345, theta);
            for (index, bucket) in zipf.buckets.iter().enumerate() {
                let (first, width) = span(index);
                if width > 1 {
                    let last = (first + width - 1).min(zipf.n);
                    assert!(zipf.deserves(first, last, bucket.sure), "theta {theta}, bucket {index}");
                }
            }
        }
    }

    /// The sum of `k^-theta` for k from `from` to `to`: the first terms one by one, the rest by Euler and
    /// Maclaurin, whose error is below 1e-12 from the thousandth term on.
    fn mass(from: u64, to: u64, theta: f64) -> f64 {
        let f = |k: f64| libm::pow(k, -theta);
        let head_end = to.min(from.max(1000));
        let head: f64 = (from..=head_end).map(|k| f(k as f64)).sum();
        if head_end == to {
            return head;
        }
        let (a, b) = ((head_end + 1) as f64, to as f64);
        let integral = if theta == 1.0 {
            libm::log(b / a)
        } else {
            (libm::pow(b, 1.0 - theta) - libm::pow(a, 1.0 - theta)) / (1.0 - theta)
        };
        let slope = |k: f64| -theta * libm::pow(k, -theta - 1.0);
        head + integral + (f(a) + f(b)) / 2.0 + (slope(b) - slope(a)) / 12.0
    }

    #[test]
    fn the_reference_is_right() {
        for (from, to, theta) in [(1, 50_000, 0.99), (3000, 90_000, 1.0), (1, 20_000, 1.2), (7, 9, 0.5)] {
            let exact: f64 = (from..=to).rev().map(|k| libm::pow(k as f64, -theta)).sum();
            assert!((mass(from, to, theta) / exact - 1.0).abs() < 1e-11, "{from} {to} {theta}");
        }
    }

    /// Ranges of ranks to compare: the hottest ones singly, then four ranges for each power of two.
    fn ranges(n: u64) -> Vec<(u64, u64)> {
        let mut out: Vec<(u64, u64)> = (1..=n.min(64)).map(|k| (k, k)).collect();
        let mut first = 65;
        while first <= n {
            let width = (first.next_power_of_two() / 8).max(1);
            let last = (first + width - 1).min(n);
            out.push((first, last));
            first = last + 1;
        }
        out
    }

    /// Realised frequencies against the exact distribution: chi-square over ranges, and the largest deviation
    /// of the distribution function (Kolmogorov). Limits are passed by chance once in about 10^5.
    #[test]
    fn frequencies_are_exact() {
        const DRAWS: u64 = 4_000_000;
        for theta in [0.5, 0.99, 1.0, 1.2, 3.0] {
            for n in [1, 2, 10, 127, 128, 129, 1000, 12_345, 1 << 20, 3_000_000_019, 1 << 40] {
                let zipf = Zipf::new(n, theta);
                let seed = n ^ theta.to_bits();
                let mut rng = Random::new(seed);
                let ranges = ranges(n);
                let mut counts = vec![0u64; ranges.len()];
                for _ in 0..DRAWS {
                    let rank = zipf.draw(&mut rng) + 1;
                    counts[ranges.partition_point(|(_, last)| *last < rank)] += 1;
                }
                let total = mass(1, n, theta);
                let (mut chi, mut degrees, mut sum, mut expected_sum, mut apart) =
                    (0.0, -1.0, 0.0, 0.0, 0f64);
                // Ranges too rare for the test of each are put together.
                let (mut rare, mut rare_expected) = (0.0, 0.0);
                for ((from, to), count) in ranges.iter().zip(&counts) {
                    let (count, expected) = (*count as f64, mass(*from, *to, theta) / total * DRAWS as f64);
                    sum += count;
                    expected_sum += expected;
                    apart = apart.max((sum - expected_sum).abs());
                    if expected >= 10.0 {
                        chi += (count - expected) * (count - expected) / expected;
                        degrees += 1.0;
                    } else {
                        rare += count;
                        rare_expected += expected;
                    }
                }
                if rare_expected >= 10.0 {
                    chi += (rare - rare_expected) * (rare - rare_expected) / rare_expected;
                    degrees += 1.0;
                }
                let place = format!("theta {theta}, n {n}, seed {seed}");
                let limit = degrees + 4.3 * (2.0f64 * degrees).sqrt() + 10.0;
                assert!(degrees <= 0.0 || chi < limit, "{place}: chi-square {chi} of {degrees} degrees");
                assert!(apart < 2.5 * (DRAWS as f64).sqrt(), "{place}: distribution off by {apart} draws");
            }
        }
    }

    /// The test above would see the faults of other generators: a harmonic sum that ends too early, or theta
    /// off by two thousandths.
    #[test]
    fn a_slightly_wrong_theta_would_be_seen() {
        let (n, draws) = (1 << 40, 4_000_000u64);
        let zipf = Zipf::new(n, 0.99);
        let mut rng = Random::new(1);
        let top: u64 = (0..draws).map(|_| u64::from(zipf.draw(&mut rng) < 1000)).sum();
        let share = |theta: f64| mass(1, 1000, theta) / mass(1, n, theta) * draws as f64;
        let deviation = (draws as f64).sqrt() / 2.0;
        assert!((top as f64 - share(0.99)).abs() < 4.5 * deviation);
        assert!((top as f64 - share(0.992)).abs() > 4.5 * deviation);
    }
}
