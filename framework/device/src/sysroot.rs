//! Where the kernel's files lie, so that tests can put a made-up tree in their place.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder that holds `sys`, `proc`, `dev` and `etc`: `/`, or a made-up tree in a test.
#[derive(Clone, Debug)]
pub(crate) struct SysRoot(PathBuf);

impl SysRoot {
    /// The running system.
    pub(crate) fn real() -> Self {
        SysRoot(PathBuf::from("/"))
    }

    /// A made-up tree.
    #[cfg(test)]
    pub(crate) fn at(folder: &Path) -> Self {
        SysRoot(folder.to_owned())
    }

    /// Path of `relative` below the root.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.0.join(relative)
    }

    /// Content of a small text file without white space around it; `None` when it is not there, cannot be
    /// read or is empty.
    pub(crate) fn text(&self, relative: impl AsRef<Path>) -> Option<String> {
        text(&self.path(relative))
    }
}

/// Like [`SysRoot::text`], for a full path.
pub(crate) fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// Names in a folder, sorted; none when it is not there.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
