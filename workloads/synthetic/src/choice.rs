//! Draws one of several by weight.

use iodyno_plugin::random::Random;

/// Weights as bounds on 64 random bits, so that a draw compares whole numbers. Weights are honoured to 2^-53.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Upper bounds of all but the last.
    bounds: Vec<u64>,
}

impl Choice {
    /// From weights that are not negative and whose sum is finite and greater than 0.
    pub(crate) fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut below = 0.0;
        let bounds = weights.iter().map(|weight| {
            below += weight;
            // Saturates at the top, where a bound stands for "always".
            (below / total * 18_446_744_073_709_551_616.0) as u64
        });
        let mut bounds: Vec<u64> = bounds.collect();
        bounds.pop();
        Choice { bounds }
    }

    /// The index of one; no random bits are used where there is only one.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Random) -> usize {
        if self.bounds.is_empty() {
            return 0;
        }
        let bits = rng.bits();
        self.bounds.iter().filter(|bound| bits >= **bound).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_weights() {
        let quarter = u64::MAX / 4 + 1;
        assert_eq!(Choice::new(&[25.0, 75.0]).bounds, [quarter]);
        assert_eq!(Choice::new(&[1.0, 1.0, 2.0]).bounds, [quarter, 2 * quarter]);
        assert!(Choice::new(&[5.0]).bounds.is_empty());
    }

    /// A share of a thousandth of a percent is there, and no larger than it should be.
    #[test]
    fn a_thousandth_of_a_percent_is_kept() {
        let choice = Choice::new(&[99.999, 0.001]);
        let share = (u64::MAX - choice.bounds[0]) as f64 / u64::MAX as f64;
        assert!((share - 1e-5).abs() < 1e-12, "{share}");
        let mut rng = Random::new(5);
        let n = 20_000_000;
        let rare = (0..n).filter(|_| choice.draw(&mut rng) == 1).count() as f64;
        // Poisson with mean 200: five deviations.
        assert!((rare - 200.0).abs() < 5.0 * 200f64.sqrt(), "seed 5: {rare} of {n}");
    }
}
