//! Why a target cannot be used.

use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

/// A target that cannot be probed, opened or written to. The text is for the user and says what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The system refused.
    #[error("cannot {what} {}: {cause}{}", path.display(), advice(cause))]
    System {
        /// What was tried.
        what: &'static str,
        /// On which path.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Not a thing that can be tested.
    #[error("{} {reason}", path.display())]
    Unsuitable {
        /// Which path.
        path: PathBuf,
        /// What it is instead, and what to do.
        reason: String,
    },
    /// Not the object that was probed.
    #[error("{} is no longer what was planned for: its {what} was {was} and is {is}; start again", path.display())]
    Changed {
        /// Which path.
        path: PathBuf,
        /// Which property.
        what: &'static str,
        /// Its value when the plan was made.
        was: String,
        /// Its value now.
        is: String,
    },
    /// The file system has no direct I/O.
    #[error(
        "{} is on {filesystem}, which has no direct i/o for it: test a file elsewhere, or set `direct = false` to \
         measure the page cache",
        path.display()
    )]
    DirectUnsupported {
        /// Which path.
        path: PathBuf,
        /// Type of its file system.
        filesystem: String,
    },
    /// Too little room for a scratch file.
    #[error(
        "{} needs {needed_bytes} bytes with its reserve, but its file system has {free_bytes} free: make room, \
         choose a smaller `--size`, or name another place",
        path.display()
    )]
    NoSpace {
        /// The file to be made.
        path: PathBuf,
        /// Bytes it needs, with the reserve that must stay free.
        needed_bytes: u64,
        /// Bytes that are free.
        free_bytes: u64,
    },
    /// A scratch path is taken by a file that iodyno did not make.
    #[error(
        "{0} exists, and iodyno did not make it, or it was changed since, by somebody else or by a run that was \
         killed: remove it or name another scratch file; to overwrite it as it is, use it as a target with \
         `--target {0} --allow-destroy {0}`",
        path.display()
    )]
    Foreign {
        /// Which path.
        path: PathBuf,
    },
    /// The guard refuses to let it be written to.
    #[error("{target} will not be written to:{}", list(refusals))]
    Refused {
        /// The target in words.
        target: String,
        /// All reasons.
        refusals: Vec<Refusal>,
    },
}

impl DeviceError {
    pub(crate) fn system(what: &'static str, path: &Path, cause: impl Into<io::Error>) -> Self {
        DeviceError::System { what, path: path.to_owned(), cause: cause.into() }
    }

    pub(crate) fn unsuitable(path: &Path, reason: impl Into<String>) -> Self {
        DeviceError::Unsuitable { path: path.to_owned(), reason: reason.into() }
    }
}

/// One reason not to write to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A fixed word for programs: `not_granted`, `mounted`, `swap`, `held`, `loop`, `busy`, `in_use`,
    /// `signature`, `hard_links`, `unknown`.
    pub code: &'static str,
    /// For people: what was found and what to do.
    pub text: String,
}

impl Refusal {
    pub(crate) fn new(code: &'static str, text: impl Into<String>) -> Self {
        Refusal { code, text: text.into() }
    }

    /// What could not be found out counts against writing.
    pub(crate) fn unknown(what: &str, cause: impl std::fmt::Display) -> Self {
        Refusal::new("unknown", format!("{what} could not be found out: {cause}"))
    }
}

fn list(refusals: &[Refusal]) -> String {
    refusals.iter().map(|r| format!("\n  - {}", r.text)).collect()
}

fn advice(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::NotFound => {
            "; name a file or device that exists, or let iodyno make one with `scratch`"
        }
        io::ErrorKind::PermissionDenied => {
            "; it must be readable, and writable if the suite writes (devices: as root, or as a member of the \
             device's group; files: not immutable)"
        }
        io::ErrorKind::ReadOnlyFilesystem => "; a suite that only reads can use it",
        _ => "",
    }
}

/// What to do when an error says that no file can be opened because too many are. Any part of a run may meet that, a
/// plugin too, of whose error only the text is left.
pub fn open_files_advice(error: &str) -> String {
    if error.contains("(os error 24)") {
        let limit = getrlimit(Resource::Nofile).current;
        let limit = limit.map_or("any number of".to_owned(), |n| n.to_string());
        return format!(
            "; this process may have {limit} files open: raise the limit, for example `ulimit -n 1024`"
        );
    }
    if error.contains("(os error 23)") {
        return "; the whole machine has too many files open: raise `sysctl fs.file-max`".to_owned();
    }
    String::new()
}
