//! Random places.

use std::sync::Arc;

use iodyno_plugin::Request;
use iodyno_plugin::random::Random;

use crate::permutation::Permutation;
use crate::walk::Region;
use crate::zipf::Zipf;

/// Draws from `0..n`, each equally likely: Lemire, "Fast random integer generation in an interval", 2019.
#[derive(Clone, Copy, Debug)]
struct Below {
    n: u64,
    /// 2^64 modulo `n`: products whose low half is less would make some numbers likelier.
    reject: u64,
}

impl Below {
    fn new(n: u64) -> Self {
        Below { n, reject: n.wrapping_neg() % n }
    }

    #[inline]
    fn draw(self, rng: &mut Random) -> u64 {
        loop {
            let product = u128::from(rng.bits()) * u128::from(self.n);
            if product as u64 >= self.reject {
                return (product >> 64) as u64;
            }
        }
    }
}

/// Places of random requests.
pub(crate) struct RandomPlaces {
    rng: Random,
    start: u64,
    /// Offsets are multiples of this, counted from `start`.
    align: u64,
    /// Sizes, and how many places there are for each.
    sizes: Vec<(u32, Below)>,
    /// Ranks and where they lie; `None` = all places are equally likely.
    zipf: Option<(Arc<Zipf>, Permutation)>,
    budget: Budget,
}

impl RandomPlaces {
    /// Over a region that holds the longest of `lens`.
    pub(crate) fn new(rng: Random, region: Region, align: u64, lens: &[u32], budget: Budget) -> Self {
        let places = |len: u32| (region.len - u64::from(len)) / align + 1;
        let sizes = lens.iter().map(|len| (*len, Below::new(places(*len)))).collect();
        RandomPlaces { rng, start: region.start, align, sizes, zipf: None, budget }
    }

    /// The same with few hot places. `table` gives the distribution over a number of places.
    pub(crate) fn with_zipf(mut self, table: impl FnOnce(u64) -> Arc<Zipf>) -> Self {
        let n = self.sizes.iter().map(|(_, places)| places.n).max().unwrap_or(1);
        self.zipf = Some((table(n), Permutation::new(n)));
        self
    }

    /// Whether [`RandomPlaces::fill`] can be used: no end, one size, all places equally likely.
    pub(crate) fn is_plain(&self) -> bool {
        self.budget.0.is_none() && self.sizes.len() == 1 && self.zipf.is_none()
    }

    /// What [`RandomPlaces::place`] does for copies of one request that is no flush. This is the most frequent
    /// use by far: about 25 instructions a request.
    pub(crate) fn fill(&mut self, request: Request, out: &mut [Request]) {
        let (start, align, (_, places)) = (self.start, self.align, self.sizes[0]);
        // A copy that lives in registers, since nothing else can see it.
        let mut rng = self.rng.clone();
        for slot in out {
            // Whole first, so that the fields need no stores of their own.
            *slot = request;
            slot.offset = start + places.draw(&mut rng) * align;
        }
        self.rng = rng;
    }

    /// Gives places to requests whose length is set, and says how many got one before the end.
    pub(crate) fn place(&mut self, out: &mut [Request]) -> usize {
        let n = self.budget.spend(out);
        let (start, align) = (self.start, self.align);
        let mut rng = self.rng.clone();
        // A flush has neither length nor place.
        let moving = out[..n].iter_mut().filter(|request| request.len > 0);
        match &self.zipf {
            None => {
                for request in moving {
                    let places = of_len(&self.sizes, request.len);
                    request.offset = start + places.draw(&mut rng) * align;
                }
            }
            Some((ranks, shuffle)) => {
                for request in moving {
                    // A longer request that would not fit at the very end is moved to fit.
                    let last = of_len(&self.sizes, request.len).n - 1;
                    request.offset = start + shuffle.map(ranks.draw(&mut rng)).min(last) * align;
                }
            }
        }
        self.rng = rng;
        n
    }
}

/// The places for requests of `len` bytes.
#[inline]
fn of_len(sizes: &[(u32, Below)], len: u32) -> Below {
    sizes.iter().find(|(size, _)| *size == len).expect("every length is one of the sizes").1
}

/// Bytes that a lane may still ask for; `None` = without end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget(Option<u128>);

impl Budget {
    /// A lane's share of all passes over the region, when `lanes` share it.
    pub(crate) fn new(region: Region, lanes: u32) -> Self {
        let all = |passes: u32| u128::from(region.len) * u128::from(passes) / u128::from(lanes.max(1));
        Budget(region.passes.map(all))
    }

    /// Spends the bytes of requests up to the first that would be too much, and tells how many those are.
    fn spend(&mut self, out: &[Request]) -> usize {
        let Some(left) = &mut self.0 else { return out.len() };
        for (n, request) in out.iter().enumerate() {
            let Some(rest) = left.checked_sub(u128::from(request.len)) else {
                *left = 0;
                return n;
            };
            *left = rest;
        }
        out.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of three quarters of all 64-bit numbers, every third would be twice as likely as the others if no
    /// product were rejected.
    #[test]
    fn no_number_is_likelier_than_another() {
        let below = Below::new(3 << 62);
        let mut rng = Random::new(3);
        let mut counts = [0u32; 3];
        (0..30_000).for_each(|_| counts[(below.draw(&mut rng) % 3) as usize] += 1);
        // Binomial with mean 10,000 and deviation 82.
        assert!(counts.iter().all(|n| n.abs_diff(10_000) < 400), "seed 3: {counts:?}");
    }
}
