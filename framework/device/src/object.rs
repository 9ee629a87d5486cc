//! Files and devices by identity: which object it is, whatever path or descriptor led to it.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Statx, StatxFlags};

/// Number of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeviceNumber {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl DeviceNumber {
    /// From `major:minor`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }

    /// From the kernel's packed form, which the loop driver uses.
    pub(crate) fn unpack(packed: u64) -> Self {
        DeviceNumber { major: rustix::fs::major(packed), minor: rustix::fs::minor(packed) }
    }
}

/// Which object it is. Equal identities are the same storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// A block device.
    Block(DeviceNumber),
    /// A file, by its file system and inode.
    File(DeviceNumber, u64),
    /// `/dev/null` or `/dev/zero`: nothing is stored there.
    Bottomless(DeviceNumber),
}

impl Identity {
    /// `None` for what can't be a target.
    pub(crate) fn of(status: &Statx) -> Option<Self> {
        let holder = DeviceNumber { major: status.stx_dev_major, minor: status.stx_dev_minor };
        let device = DeviceNumber { major: status.stx_rdev_major, minor: status.stx_rdev_minor };
        match file_type(status) {
            FileType::RegularFile => Some(Identity::File(holder, status.stx_ino)),
            FileType::BlockDevice => Some(Identity::Block(device)),
            FileType::CharacterDevice if device.major == 1 && matches!(device.minor, 3 | 5) => {
                Some(Identity::Bottomless(device))
            }
            _ => None,
        }
    }

    /// Of what a path leads to, symlinks followed, without opening it.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        rustix::fs::statx(CWD, path, AtFlags::empty(), WANTED).ok().and_then(|s| Identity::of(&s))
    }
}

const WANTED: StatxFlags =
    StatxFlags::BASIC_STATS.union(StatxFlags::BTIME).union(StatxFlags::MNT_ID).union(StatxFlags::DIOALIGN);

/// Status of an open object.
pub(crate) fn status(fd: impl AsFd) -> io::Result<Statx> {
    Ok(rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, WANTED)?)
}

/// Status of a path as the kernel has it in memory: never waits for a network.
pub(crate) fn cached_status(path: &Path) -> io::Result<Statx> {
    Ok(rustix::fs::statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::BASIC_STATS)?)
}

/// What kind of file.
pub(crate) fn file_type(status: &Statx) -> FileType {
    FileType::from_raw_mode(status.stx_mode.into())
}

/// Finds what a path leads to and holds on to it without opening it: no driver is called, nothing blocks.
pub(crate) fn find(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

/// Opens what [`find`] holds. No other object can have slipped in.
pub(crate) fn open_found(found: &OwnedFd, flags: OFlags) -> io::Result<OwnedFd> {
    let link = format!("/proc/self/fd/{}", found.as_raw_fd());
    Ok(rustix::fs::open(link, flags | OFlags::CLOEXEC, Mode::empty())?)
}
