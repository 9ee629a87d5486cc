//! What these tests have in common.
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use iodyno_device::{DeviceError, Grants, OpenTarget, open_write, probe, refusals};

pub(crate) const MIB: u64 = 1 << 20;

/// A file that must come out of a test as it went in: content and times of change.
pub(crate) struct Untouched {
    path: PathBuf,
    content: Vec<u8>,
    times: [i64; 4],
}

impl Untouched {
    pub(crate) fn new(path: &Path) -> Self {
        rustix::fs::sync();
        let metadata = fs::metadata(path).unwrap();
        let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
        Untouched { path: path.to_owned(), content: fs::read(path).unwrap(), times }
    }

    /// For active swap, to which the kernel may write at any time, but not where its header is.
    pub(crate) fn check_header(&self) {
        let now = fs::read(&self.path).unwrap();
        assert!(now[..4096] == self.content[..4096], "{} was written to", self.path.display());
    }

    pub(crate) fn same_content(&self, other: &Untouched) -> bool {
        self.content == other.content
    }

    pub(crate) fn check(&self) {
        let now = Untouched::new(&self.path);
        assert!(now.content == self.content, "{} was written to", self.path.display());
        assert_eq!(now.times, self.times, "{} was touched", self.path.display());
    }
}

pub(crate) fn no_grants() -> Grants {
    Grants::default()
}

pub(crate) fn grant(path: &Path) -> Grants {
    Grants { allow_destroy: vec![path.to_owned()], wipe_signatures: Vec::new() }
}

pub(crate) fn grant_and_wipe(path: &Path, signatures: &[&str]) -> Grants {
    let wipe_signatures = signatures.iter().map(|s| (*s).to_owned()).collect();
    Grants { allow_destroy: vec![path.to_owned()], wipe_signatures }
}

/// Codes of the reasons for which a target is refused. Asking and trying must give the same.
pub(crate) fn refused(path: &Path, grants: &Grants) -> Vec<&'static str> {
    let facts = probe("target", path).unwrap();
    let asked: Vec<_> = refusals(&facts, grants).iter().map(|r| r.code).collect();
    match open_write(&facts, true, grants) {
        Err(DeviceError::Refused { refusals, .. }) => {
            let tried: Vec<_> = refusals.iter().map(|r| r.code).collect();
            assert_eq!(asked, tried, "{}", path.display());
        }
        Err(e) => panic!("{}: {e}", path.display()),
        Ok(_) => assert_eq!(asked, [""; 0], "{} was opened", path.display()),
    }
    asked
}

/// The text of the refusal.
pub(crate) fn refusal_text(path: &Path, grants: &Grants) -> String {
    open_write(&probe("target", path).unwrap(), true, grants).unwrap_err().to_string()
}

pub(crate) fn open_for_writing(path: &Path, grants: &Grants) -> OpenTarget {
    open_write(&probe("target", path).unwrap(), true, grants).unwrap_or_else(|e| panic!("{e}"))
}

/// Writes one aligned block through a target's descriptor.
pub(crate) fn write_block(target: &OpenTarget, byte: u8) -> rustix::io::Result<usize> {
    let memory = vec![byte; 8192];
    let start = memory.as_ptr().align_offset(4096);
    rustix::io::pwrite(target.fd(), &memory[start..start + 4096], 0)
}
