//! Places to do I/O on, made by a test and gone after it. Other backends' tests use this file, too.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use iodyno_plugin::{Target, TargetKind, TargetSpec};
use rustix::fs::{OFlags, fcntl_setfl};

use crate::backend;

/// An open file or device.
pub(crate) struct Place {
    pub(crate) file: File,
    kind: TargetKind,
    pub(crate) len: u64,
    granule: u32,
    direct: bool,
    pub(crate) writable: bool,
    _loop: Option<Loop>,
}

impl Place {
    /// A file of `len` bytes in `folder` that has no name, so that nothing is left of it.
    pub(crate) fn file(folder: &Path, len: u64, direct: bool) -> Place {
        let file = tempfile::tempfile_in(folder).expect("the folder takes files");
        file.set_len(len).expect("the file system takes sparse files");
        let granule = if direct { 4096 } else { 1 };
        if direct {
            fcntl_setfl(&file, OFlags::DIRECT).expect("the file system takes direct i/o");
        }
        Place { file, kind: TargetKind::File, len, granule, direct, writable: true, _loop: None }
    }

    /// A device that is there.
    pub(crate) fn char_device(path: &str) -> Place {
        let file = OpenOptions::new().read(true).write(true).open(path).expect("every machine has it");
        let kind = TargetKind::Char;
        Place { file, kind, len: 1 << 40, granule: 1, direct: false, writable: true, _loop: None }
    }

    /// A loop device over a file on disk, opened for direct I/O.
    pub(crate) fn loop_device(len: u64) -> Place {
        let device = Loop::new(len);
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags((OFlags::DIRECT | OFlags::EXCL).bits() as i32);
        let file = options.open(&device.node).expect("nobody else has it");
        let kind = TargetKind::Block;
        Place { file, kind, len, granule: 4096, direct: true, writable: true, _loop: Some(device) }
    }

    pub(crate) fn spec(&self) -> TargetSpec<'_> {
        TargetSpec {
            label: "place",
            kind: self.kind,
            fd: Some(self.file.as_fd()),
            len: self.len,
            granule: self.granule,
            direct: self.direct,
            writable: self.writable,
            seed: 0,
        }
    }

    /// The place, opened by the backend under test.
    pub(crate) fn target(&self) -> Box<dyn Target> {
        backend().open(&self.spec(), None).expect("the backend takes it")
    }
}

/// A folder on the disk that the build is on.
pub(crate) fn disk() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// A folder in memory.
pub(crate) fn tmpfs() -> &'static Path {
    Path::new("/dev/shm")
}

/// A loop device and the file under it.
struct Loop {
    node: PathBuf,
    _backing: tempfile::NamedTempFile,
}

impl Loop {
    fn new(len: u64) -> Loop {
        assert!(rustix::process::geteuid().is_root(), "needs root");
        let backing = tempfile::NamedTempFile::new_in(disk()).expect("the folder takes files");
        backing.as_file().set_len(len).expect("the file system takes sparse files");
        let made =
            Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(backing.path()).output();
        let made = made.expect("losetup is there");
        assert!(made.status.success(), "losetup: {}", String::from_utf8_lossy(&made.stderr));
        Loop { node: String::from_utf8_lossy(&made.stdout).trim().into(), _backing: backing }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // The kernel detaches it when its last descriptor is closed, in whatever order they go.
        let status = Command::new("losetup").arg("--detach").arg(&self.node).status();
        assert!(status.is_ok_and(|s| s.success()) || std::thread::panicking(), "{:?} stays", self.node);
    }
}
