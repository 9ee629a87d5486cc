//! Scratch files: files that iodyno makes, recognises as its own, and may overwrite without a grant.
//!
//! A mark says that a file is iodyno's, how large it is and whether it has been written in full. It is an
//! extended attribute of the file, or a file beside it where the file system has none. The mark names the
//! inode and its time of birth, which no copy shares, the size, and when iodyno last wrote to it: a file that
//! was copied, replaced, resized or written to by anybody else is not trusted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use iodyno_record::{DeviceFacts, Note, NoteLevel};
use rustix::fs::{FallocateFlags, FlockOperation, OFlags, Statx, StatxFlags, XattrFlags};
use rustix::io::Errno;

use crate::error::{DeviceError, Refusal};
use crate::guard::{self, Grants, OpenTarget};
use crate::object::{self, DeviceNumber};
use crate::probe;

/// Name of the scratch file that is used when no target is named.
pub const DEFAULT_NAME: &str = "iodyno-scratch.dat";

/// Why a scratch file may be written to.
pub(crate) const OWN: &str = "own scratch file";

const ATTRIBUTE: &str = "user.iodyno.scratch";
const SIDECAR_SUFFIX: &str = ".iodyno";
const LONGEST_MARK: usize = 1024;

/// What is at the path of a scratch file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing: [`create`] will make it.
    Missing,
    /// A file that iodyno did not make or that was changed since; [`create`] will refuse.
    Foreign,
    /// A file of iodyno's that must be filled before it is read; [`create`] gives it the right size.
    NeedsFill,
    /// A file of iodyno's with the size asked for, written in full, with more than zeroes.
    Ready,
}

/// What is at `path`, where a scratch file of `size_bytes` is wanted. Changes nothing.
///
/// # Errors
/// When the system refuses to look, or another run has it.
pub fn state(path: &Path, size_bytes: u64) -> Result<State, DeviceError> {
    let path = probe::absolute(path)?;
    let Some((file, status)) = open_regular(&path)? else {
        probe::check_place(&path)?;
        return Ok(State::Missing);
    };
    let Some(file) = file else {
        return Ok(State::Foreign);
    };
    let mark =
        read_mark(file.as_fd(), &path).map_err(|e| DeviceError::system("read the mark of", &path, e))?;
    match mark {
        Some(mark) if mark.fits(&status) && mark.filled && status.stx_size == size_bytes => Ok(State::Ready),
        Some(mark) if mark.fits(&status) => Ok(State::NeedsFill),
        // What a run writes to just now is not as its mark says.
        Some(_) => lock(&file, &path).map(|()| State::Foreign),
        None => Ok(State::Foreign),
    }
}

/// Makes sure that a scratch file of `size_bytes` is at `path`: makes it, or replaces one of iodyno's that
/// has another size. Its blocks are allocated but not written; [`state`] tells whether they must be.
///
/// # Errors
/// [`DeviceError::Foreign`] when somebody else's file is there, [`DeviceError::Refused`] when iodyno's own
/// is in use,
/// [`DeviceError::NoSpace`] when less than the size and a reserve (1 %, at least 64 MiB) is free.
pub fn create(path: &Path, size_bytes: u64) -> Result<(), DeviceError> {
    let path = probe::absolute(path)?;
    let path = fs::canonicalize(&path).unwrap_or(path);
    let mut reclaimed_bytes = 0;
    match state(&path, size_bytes)? {
        State::Foreign => return Err(DeviceError::Foreign { path }),
        State::Ready => return Ok(()),
        State::Missing => {}
        State::NeedsFill => {
            let old = fs::metadata(&path).map_err(|e| DeviceError::system("look at", &path, e))?;
            if old.len() == size_bytes {
                return Ok(());
            }
            reclaimed_bytes = old.blocks() * crate::block::SECTOR;
        }
    }
    check_space(&path, size_bytes, reclaimed_bytes)?;
    remove_own(&path)?;
    allocate(&path, size_bytes)
}

/// Remembers that a scratch file has been written in full, so that reads of it measure something; or that this is
/// so no more. What was written is durable then.
///
/// # Errors
/// When the target is no scratch file, or the system refuses.
pub fn mark_filled(target: &OpenTarget, filled: bool) -> Result<(), DeviceError> {
    let path = PathBuf::from(target.facts().path.as_deref().unwrap_or_default());
    if target.grant().is_none_or(|grant| grant.why() != OWN) {
        return Err(DeviceError::Foreign { path });
    }
    rustix::fs::fsync(target.fd()).map_err(|e| DeviceError::system("make durable", &path, e))?;
    write_mark(target.fd(), &path, filled, target.facts().size_bytes)
}

/// Where a scratch file goes when no path was given: the current folder, or `/var/tmp` with a note when that
/// is in memory.
///
/// # Errors
/// When both are in memory, or the system refuses to look.
pub fn default_scratch_dir(current: &Path) -> Result<(PathBuf, Option<Note>), DeviceError> {
    if !is_in_memory(current)? {
        return Ok((current.to_owned(), None));
    }
    let other = Path::new("/var/tmp");
    if is_in_memory(other)? {
        let reason = "and /var/tmp are in memory: name a scratch file on a disk";
        return Err(DeviceError::unsuitable(current, reason));
    }
    let text = format!("{} is in memory, so the scratch file is in {}", current.display(), other.display());
    let note = Note { level: NoteLevel::Info, code: "scratch_moved".to_owned(), text };
    Ok((other.to_owned(), Some(note)))
}

fn is_in_memory(folder: &Path) -> Result<bool, DeviceError> {
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    const RAMFS_MAGIC: u64 = 0x8584_58f6;
    let kind = rustix::fs::statfs(folder).map_err(|e| DeviceError::system("look at", folder, e))?.f_type;
    Ok([TMPFS_MAGIC, RAMFS_MAGIC].contains(&(kind as u64 & 0xffff_ffff)))
}

/// iodyno is done with writing: what changes the file from now on is somebody else's doing. A run that is
/// killed never says so, and its scratch file is then foreign to the next.
pub(crate) fn seal(fd: BorrowedFd<'_>, facts: &DeviceFacts) {
    let path = Path::new(facts.path.as_deref().unwrap_or_default());
    let sealed = match read_mark(fd, path) {
        Ok(Some(mark)) => write_mark(fd, path, mark.filled, mark.size_bytes).map_err(|e| e.to_string()),
        Ok(None) => Err("the mark is gone".to_owned()),
        Err(e) => Err(e.to_string()),
    };
    if let Err(e) = sealed {
        tracing::warn!("{} will not be known as iodyno's own again: {e}", path.display());
    }
}

/// Whether an open file is one of iodyno's own. Whatever is unclear means no.
pub(crate) fn is_own(fd: BorrowedFd<'_>, facts: &DeviceFacts) -> bool {
    let path = Path::new(facts.path.as_deref().unwrap_or_default());
    let mark = read_mark(fd, path).ok().flatten();
    let status = object::status(fd).ok();
    mark.zip(status).is_some_and(|(mark, status)| mark.fits(&status))
}

type Opened = Option<(Option<File>, Statx)>;

/// Opens what is at `path` if it is a regular file; symlinks are followed. `None` = nothing is there.
fn open_regular(path: &Path) -> Result<Opened, DeviceError> {
    let found = match object::find(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            // A symlink that leads nowhere is something, though.
            return match fs::symlink_metadata(path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
                _ => Err(DeviceError::unsuitable(path, "is a symlink that leads nowhere: remove it")),
            };
        }
        found => found.map_err(|e| DeviceError::system("find", path, e))?,
    };
    let status = object::status(&found).map_err(|e| DeviceError::system("look at", path, e))?;
    if object::file_type(&status) != rustix::fs::FileType::RegularFile {
        return Ok(Some((None, status)));
    }
    match object::open_found(&found, OFlags::RDONLY) {
        Ok(fd) => Ok(Some((Some(File::from(fd)), status))),
        Err(e) => Err(DeviceError::system("open", path, e)),
    }
}

fn check_space(path: &Path, size_bytes: u64, reclaimed_bytes: u64) -> Result<(), DeviceError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let space = rustix::fs::statvfs(folder).map_err(|e| DeviceError::system("look at", folder, e))?;
    if space.f_blocks == 0 {
        return Ok(()); // ramfs and some network file systems do not tell
    }
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize).saturating_add(reclaimed_bytes);
    let reserve_bytes = (size_bytes / 100).max(64 << 20);
    let needed_bytes = size_bytes.saturating_add(reserve_bytes);
    if needed_bytes > free_bytes {
        return Err(DeviceError::NoSpace { path: path.to_owned(), needed_bytes, free_bytes });
    }
    Ok(())
}

/// Removes a scratch file of another size, if nobody uses it.
fn remove_own(path: &Path) -> Result<(), DeviceError> {
    let error = |e: io::Error| DeviceError::system("remove", path, e);
    let file = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file.map_err(error)?,
    };
    // Held until it is removed. An empty one, left by a run that was killed while it made it, can't be a
    // target.
    let (_lock, _target);
    if file.metadata().map_err(error)?.len() == 0 {
        lock(&file, path)?;
        _lock = file;
    } else {
        drop(file);
        let facts = probe::probe("scratch", path)?;
        _target = guard::open_write(&facts, false, &Grants::default())?;
    }
    for path in [path.to_owned(), sidecar(path)] {
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(error(e)),
            _ => {}
        }
    }
    Ok(())
}

fn allocate(path: &Path, size_bytes: u64) -> Result<(), DeviceError> {
    let new = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
    let file = new.map_err(|e| DeviceError::system("make", path, e))?;
    let unfinished = Unfinished(path);
    lock(&file, path)?;
    // The mark comes first: a run that is killed now leaves a file that the next one may replace.
    write_mark(file.as_fd(), path, false, size_bytes)?;
    match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size_bytes) {
        Err(Errno::OPNOTSUPP) => file.set_len(size_bytes),
        allocated => allocated.map_err(io::Error::from),
    }
    .map_err(|e| DeviceError::system("allocate", path, e))?;
    write_mark(file.as_fd(), path, false, size_bytes)?;
    std::mem::forget(unfinished);
    Ok(())
}

/// Keeps other runs away while a file is made or removed.
fn lock(file: &File, path: &Path) -> Result<(), DeviceError> {
    match guard::patiently(|| rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)) {
        Err(Errno::WOULDBLOCK) => {
            let refusals =
                vec![Refusal::new("busy", "another run of iodyno has it right now: wait for its end")];
            Err(DeviceError::Refused { target: path.display().to_string(), refusals })
        }
        _ => Ok(()), // some network file systems have no locks
    }
}

/// Removes a file that could not be made in full.
struct Unfinished<'a>(&'a Path);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        for path in [self.0.to_owned(), sidecar(self.0)] {
            let _ = fs::remove_file(path);
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Mark {
    filled: bool,
    size_bytes: u64,
    inode: u64,
    device: DeviceNumber,
    /// Seconds and nanoseconds; `None` where the file system does not keep it.
    birth: Option<(i64, u32)>,
    /// When iodyno last wrote to it.
    modified: (i64, u32),
}

impl Mark {
    fn of(status: &Statx, filled: bool, size_bytes: u64) -> Self {
        Mark {
            filled,
            size_bytes,
            inode: status.stx_ino,
            device: DeviceNumber { major: status.stx_dev_major, minor: status.stx_dev_minor },
            birth: birth(status),
            modified: (status.stx_mtime.tv_sec, status.stx_mtime.tv_nsec),
        }
    }

    /// Whether this is the file that was marked, as iodyno left it. Device numbers can change with a reboot, times of birth do
    /// not.
    fn fits(&self, status: &Statx) -> bool {
        let now = Mark::of(status, self.filled, self.size_bytes);
        let same_file = self.inode == now.inode
            && match (self.birth, now.birth) {
                (Some(a), Some(b)) => a == b,
                (None, None) => self.device == now.device,
                _ => false,
            };
        let as_left = self.modified == now.modified && status.stx_size == self.size_bytes;
        // An empty one was left by a run that was killed while it made it, and there is nothing to lose.
        same_file && (as_left || (!self.filled && status.stx_size == 0))
    }

    fn write(&self) -> String {
        let time = |(s, ns): (i64, u32)| format!("{s}.{ns:09}");
        let (birth, modified) = (self.birth.map_or_else(|| "-".to_owned(), time), time(self.modified));
        let state = if self.filled { "filled" } else { "allocated" };
        format!(
            "iodyno scratch 2 {state} size {} inode {} device {} birth {birth} modified {modified}",
            self.size_bytes, self.inode, self.device
        )
    }

    fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["iodyno", "scratch", "2", state, fields @ ..] = &words[..] else { return None };
        let ["size", size, "inode", inode, "device", device, "birth", birth, "modified", modified] = fields
        else {
            return None;
        };
        let time = |text: &str| -> Option<(i64, u32)> {
            let (seconds, ns) = text.split_once('.')?;
            Some((seconds.parse().ok()?, ns.parse().ok()?))
        };
        Some(Mark {
            filled: match *state {
                "filled" => true,
                "allocated" => false,
                _ => return None,
            },
            size_bytes: size.parse().ok()?,
            inode: inode.parse().ok()?,
            device: DeviceNumber::parse(device)?,
            birth: if *birth == "-" { None } else { Some(time(birth)?) },
            modified: time(modified)?,
        })
    }
}

fn birth(status: &Statx) -> Option<(i64, u32)> {
    let known = StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::BTIME);
    known.then_some((status.stx_btime.tv_sec, status.stx_btime.tv_nsec))
}

/// Beside the file itself, by whatever symlink it was reached.
fn sidecar(path: &Path) -> PathBuf {
    let mut name = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).into_os_string();
    name.push(SIDECAR_SUFFIX);
    PathBuf::from(name)
}

fn write_mark(fd: BorrowedFd<'_>, path: &Path, filled: bool, size_bytes: u64) -> Result<(), DeviceError> {
    let error = |e: io::Error| DeviceError::system("mark", path, e);
    let text = Mark::of(&object::status(fd).map_err(error)?, filled, size_bytes).write();
    match rustix::fs::fsetxattr(fd, ATTRIBUTE, text.as_bytes(), XattrFlags::empty()) {
        Err(Errno::OPNOTSUPP) => write_sidecar(path, &text).map_err(error),
        marked => marked.map_err(|e| error(e.into())),
    }
}

fn write_sidecar(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let mut file = options.open(sidecar(path))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn read_mark(fd: BorrowedFd<'_>, path: &Path) -> io::Result<Option<Mark>> {
    let mut bytes = vec![0; LONGEST_MARK];
    let text = match rustix::fs::fgetxattr(fd, ATTRIBUTE, &mut bytes[..]) {
        Ok(len) => String::from_utf8_lossy(&bytes[..len]).into_owned(),
        Err(Errno::NODATA | Errno::RANGE) => return Ok(None),
        Err(Errno::OPNOTSUPP) => match read_sidecar(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        },
        Err(e) => return Err(e.into()),
    };
    Ok(Mark::read(&text))
}

/// A mark beside the file is worth something only if nobody else can have written it.
fn read_sidecar(path: &Path) -> io::Result<String> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(sidecar(path))?;
    let metadata = file.metadata()?;
    let user = rustix::process::geteuid().as_raw();
    if !metadata.is_file() || metadata.uid() != user || metadata.mode() & 0o022 != 0 {
        return Ok(String::new());
    }
    let mut text = String::new();
    file.take(LONGEST_MARK as u64).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_fits_one_file_only() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let status = object::status(&file).unwrap();
        let mark = |change: fn(&mut Mark)| {
            let mut mark = Mark::of(&status, true, 4096);
            change(&mut mark);
            mark.fits(&status)
        };
        assert!(birth(&status).is_some(), "this test needs a file system with times of birth");
        assert!(mark(|_| {}));
        assert!(!mark(|m| m.inode += 1));
        assert!(!mark(|m| m.size_bytes += 1));
        assert!(!mark(|m| m.birth = m.birth.map(|(s, ns)| (s, ns ^ 1))), "the inode was used again");
        assert!(!mark(|m| m.birth = None));
        assert!(!mark(|m| m.modified.1 ^= 1), "somebody wrote to it");
        assert!(mark(|m| m.device.minor += 1), "another number of the same device, after a reboot");
        // Where there is no time of birth, the device number must do.
        let mut old = status;
        old.stx_mask &= !StatxFlags::BTIME.bits();
        let mut mark = Mark::of(&old, true, 4096);
        assert!(mark.fits(&old) && mark.birth.is_none());
        mark.device.minor += 1;
        assert!(!mark.fits(&old));
    }

    #[test]
    fn marks_are_read_as_they_were_written() {
        let device = DeviceNumber { major: 259, minor: 3 };
        for birth in [None, Some((1_700_000_000, 7)), Some((-1, 999_999_999))] {
            for filled in [true, false] {
                let modified = (-1, 999_999_999);
                let mark = Mark { filled, size_bytes: u64::MAX, inode: 12, device, birth, modified };
                assert_eq!(Mark::read(&mark.write()), Some(mark));
            }
        }
        let mark = Mark { filled: true, size_bytes: 4096, inode: 12, device, birth: None, modified: (5, 6) };
        assert_eq!(
            mark.write(),
            "iodyno scratch 2 filled size 4096 inode 12 device 259:3 birth - modified 5.000000006"
        );
        for part in 0..mark.write().split(' ').count() {
            let mut words: Vec<String> = mark.write().split(' ').map(str::to_owned).collect();
            words[part] = "x".to_owned();
            assert_eq!(Mark::read(&words.join(" ")), None, "{words:?}");
        }
    }
}
