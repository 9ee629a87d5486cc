//! What keeps a run from starting, or its record from being kept.

use std::path::{Path, PathBuf};

use iodyno_device::DeviceError;
use iodyno_plugin::ErrorKind;

/// A run that cannot start or go on. The message is for the user.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The run folder.
    #[error("cannot keep the record in {}: {cause}; `--runs DIR` names another place", path.display())]
    Folder {
        /// Where.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// A target that the guard or the system refuses.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A target of the wrong kind, or none.
    #[error("{0}")]
    Target(String),
    /// No backend can drive the target.
    #[error("{0}")]
    Backend(String),
    /// A folder that is no run folder, or one that is damaged.
    #[error("{} is no readable run folder: {reason}", path.display())]
    Record {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A reporter that is not there.
    #[error("no reporter is called `{name}`; there are {}", there.join(", "))]
    NoReporter {
        /// What was asked for.
        name: String,
        /// Those that are there.
        there: Vec<String>,
    },
    /// A reporter that failed.
    #[error("reporter `{name}`: {reason}")]
    Reporter {
        /// Which.
        name: String,
        /// Why.
        reason: String,
    },
    /// A report that the system did not take.
    #[error("reporter `{name}`: {reason}; `-o {name}=FILE` names another place")]
    Output {
        /// Which reporter's.
        name: String,
        /// Why.
        reason: String,
    },
}

impl RunError {
    pub(crate) fn folder(path: &Path, cause: std::io::Error) -> Self {
        RunError::Folder { path: path.to_owned(), cause }
    }

    pub(crate) fn record(path: &Path, reason: impl ToString) -> Self {
        RunError::Record { path: path.to_owned(), reason: reason.to_string() }
    }

    pub(crate) fn reporter(name: &str, error: &iodyno_plugin::Error) -> Self {
        let (name, reason) = (name.to_owned(), error.to_string());
        match error.kind() {
            ErrorKind::System => RunError::Output { name, reason },
            _ => RunError::Reporter { name, reason },
        }
    }
}
