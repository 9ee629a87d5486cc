//! Exit codes: the one place that knows them.

use iodyno_record::Outcome;
use iodyno_runner::RunError;

/// How the program ends. The numbers are a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// All is well.
    Passed = 0,
    /// Something that should not happen.
    Unexpected = 1,
    /// The command line or the suite is wrong.
    Usage = 2,
    /// A target, a folder or the machine cannot be used.
    Unusable = 3,
    /// Nothing was there to run.
    NothingRun = 4,
    /// A plugin is missing or failed.
    Plugin = 6,
    /// An expectation did not hold.
    Thresholds = 99,
    /// A test failed.
    Failed = 100,
    /// Interrupted; results are kept.
    Interrupted = 130,
}

impl From<Outcome> for Exit {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Passed => Exit::Passed,
            Outcome::NotRun => Exit::NothingRun,
            Outcome::ThresholdsCrossed => Exit::Thresholds,
            Outcome::Failed => Exit::Failed,
            Outcome::Interrupted => Exit::Interrupted,
        }
    }
}

impl From<&RunError> for Exit {
    fn from(error: &RunError) -> Self {
        match error {
            RunError::NoReporter { .. } | RunError::Reporter { .. } => Exit::Plugin,
            _ => Exit::Unusable,
        }
    }
}
