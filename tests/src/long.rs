//! Tests that could go on for ever: each run takes another sample of their cases.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "tests speak to whoever runs them")]

use std::str::FromStr;

use iodyno_plugin::random::derive;

/// The variable that chooses the sample: `SEED` or `SEED:CASES`.
pub const VARIABLE: &str = "IODYNO_LONG";
/// The variable that repeats one case, by its seed.
pub const ONE_CASE: &str = "IODYNO_CASE";

/// Which cases to run. Without the variable it is a small one that never changes; `tests/run` takes a larger
/// one that changes every day, and prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Seed of the sample.
    pub seed: u64,
    /// How many cases.
    pub cases: u64,
}

impl Sample {
    /// The sample that the environment asks for, else seed 0 with `few` cases.
    ///
    /// # Panics
    /// When the variable is not as it must be.
    pub fn take(few: u64) -> Sample {
        match std::env::var(VARIABLE) {
            Ok(text) => text.parse().unwrap_or_else(|e: String| panic!("{VARIABLE}={text}: {e}")),
            Err(_) => Sample { seed: 0, cases: few },
        }
    }

    /// Runs `case` with a seed of its own for each case; a failure names the command that repeats it.
    ///
    /// # Panics
    /// When a case does.
    pub fn run(self, test: &str, mut case: impl FnMut(u64)) {
        if let Ok(seed) = std::env::var(ONE_CASE) {
            return case(seed.parse().unwrap_or_else(|_| panic!("{ONE_CASE}={seed} is no whole number")));
        }
        for number in 0..self.cases {
            let told = Told { test, seed: derive(self.seed, number) };
            case(told.seed);
        }
        println!("{test}: {} cases of sample {}", self.cases, self.seed);
    }
}

/// Tells how to repeat the case that is running when it panics.
struct Told<'a> {
    test: &'a str,
    seed: u64,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Told { test, seed } = self;
            eprintln!("to repeat: {ONE_CASE}={seed} cargo test -p iodyno-tests --test long {test}");
        }
    }
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Sample, String> {
        let (seed, cases) = text.split_once(':').unwrap_or((text, "100"));
        let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no whole number"));
        Ok(Sample { seed: number(seed)?, cases: number(cases)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read() {
        assert_eq!("7:20".parse(), Ok(Sample { seed: 7, cases: 20 }));
        assert_eq!("7".parse(), Ok(Sample { seed: 7, cases: 100 }));
        assert!("x".parse::<Sample>().is_err() && "1:".parse::<Sample>().is_err());
    }

    #[test]
    fn a_sample_is_the_same_each_time_and_another_is_another() {
        let seeds = |seed| {
            let mut seeds = Vec::new();
            Sample { seed, cases: 3 }.run("x", |case| seeds.push(case));
            seeds
        };
        assert_eq!(seeds(1), seeds(1));
        assert!(seeds(1).iter().all(|seed| !seeds(2).contains(seed)));
    }
}
