//! The guard: opens targets, and lets them be written to only when nothing stands against it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use iodyno_record::{DeviceFacts, Note, NoteLevel, TargetKind};
use rustix::fs::{FlockOperation, OFlags};

use crate::block::BlockDevice;
use crate::error::{DeviceError, Refusal};
use crate::object::{self, Identity};
use crate::openers::{Access, openers};
use crate::probe::{self, DirectAlignment};
use crate::sysroot::SysRoot;
use crate::{kernel, scratch, signature, usage};

/// What the user allowed on the command line; a suite cannot add to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// `--allow-destroy`: paths of targets. Each grants what it leads to now, and nothing else: not the disk
    /// of a partition, nor the partitions of a disk.
    pub allow_destroy: Vec<PathBuf>,
    /// `--wipe-signature`: exact names of signatures that may be overwritten.
    pub wipe_signatures: Vec<String>,
}

/// Proof that the guard let one target be written to. Only [`open_write`] makes it, and it lives in the
/// [`OpenTarget`] whose descriptor it is about.
#[derive(Debug)]
pub struct WriteGrant {
    why: &'static str,
}

impl WriteGrant {
    /// Why writing is allowed, for the record: `--allow-destroy`, `own scratch file`,
    /// `nothing is stored there`.
    pub fn why(&self) -> &'static str {
        self.why
    }
}

/// An open target. The descriptor is read-only unless there is a grant, exclusive where there is one, and
/// closed on drop. Backends only duplicate it.
#[derive(Debug)]
pub struct OpenTarget {
    fd: OwnedFd,
    facts: DeviceFacts,
    grant: Option<WriteGrant>,
    notes: Vec<Note>,
}

impl OpenTarget {
    /// The descriptor, with its final flags.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// What it is.
    pub fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    /// The grant, where it may be written to.
    pub fn grant(&self) -> Option<&WriteGrant> {
        self.grant.as_ref()
    }

    /// Switches direct I/O on or off, for this descriptor and all its duplicates: only while nothing is in flight.
    ///
    /// # Errors
    /// When the file system has no direct I/O.
    pub fn switch_direct(&self, direct: bool) -> Result<(), DeviceError> {
        if direct {
            return set_direct(&self.fd, &self.facts, true);
        }
        let path = Path::new(self.facts.path.as_deref().unwrap_or_default());
        let flags = rustix::fs::fcntl_getfl(&self.fd).map(|flags| flags - OFlags::DIRECT);
        flags
            .and_then(|flags| rustix::fs::fcntl_setfl(&self.fd, flags))
            .map_err(|e| DeviceError::system("switch off direct i/o for", path, e))
    }

    /// Makes durable what was written.
    ///
    /// # Errors
    /// When the device or the system fails; nothing that was written is then certain.
    pub fn sync(&self) -> Result<(), DeviceError> {
        let path = Path::new(self.facts.path.as_deref().unwrap_or_default());
        rustix::fs::fsync(&self.fd).map_err(|e| DeviceError::system("flush", path, e))
    }

    /// What the reader of results should know: `target_mounted`, `tmpfs`, ...
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}

impl Drop for OpenTarget {
    /// A scratch file stays known as iodyno's own, as it is now.
    fn drop(&mut self) {
        if self.grant.as_ref().is_some_and(|grant| grant.why == scratch::OWN) {
            scratch::seal(self.fd.as_fd(), &self.facts);
        }
    }
}

/// Opens a target for reading, with direct I/O if `direct`. It may be mounted or in use, which a note says.
///
/// # Errors
/// When it is not what was probed, or the system or file system refuses.
pub fn open_read(facts: &DeviceFacts, direct: bool) -> Result<OpenTarget, DeviceError> {
    let root = SysRoot::real();
    let fd = open(&root, facts, OFlags::RDONLY)?;
    set_direct(&fd, facts, direct)?;
    let mut notes = notes(facts, direct);
    notes.extend(use_note(&root, facts));
    Ok(OpenTarget { fd, facts: facts.clone(), grant: None, notes })
}

/// Opens a target for writing (and reading), with direct I/O if `direct`: the only way to do so.
///
/// The target is checked before it is opened for writing, and again through the descriptor that then is the
/// grant. It is held exclusively until [`OpenTarget`] is dropped: a block device can then be neither mounted
/// nor claimed by others, a file not be written to by another iodyno.
///
/// # Errors
/// [`DeviceError::Refused`] with all reasons; else as [`open_read`].
pub fn open_write(facts: &DeviceFacts, direct: bool, grants: &Grants) -> Result<OpenTarget, DeviceError> {
    let root = SysRoot::real();
    check_writable(&root, facts)?;
    let refused = |refusals| DeviceError::Refused { target: facts.identity().in_words(), refusals };
    let reasons = reasons_against(&root, facts, grants)?;
    if !reasons.is_empty() {
        return Err(refused(reasons));
    }
    let fd = open_exclusively(&root, facts, OFlags::RDWR)?.map_err(|reason| refused(vec![reason]))?;
    let grant = examine(&root, facts, grants, fd.as_fd()).map_err(refused)?;
    set_direct(&fd, facts, direct)?;
    tracing::info!(target = %facts.identity().in_words(), why = grant.why, "open for writing");
    Ok(OpenTarget { fd, facts: facts.clone(), grant: Some(grant), notes: notes(facts, direct) })
}

/// Some kernels let a read-only device be opened for writing, and fail each write.
fn check_writable(root: &SysRoot, facts: &DeviceFacts) -> Result<(), DeviceError> {
    let Some(Identity::Block(number)) = probe::identity(facts) else { return Ok(()) };
    let device = BlockDevice::by_number(root, number);
    if device.and_then(|d| d.number_attribute("ro")).is_some_and(|ro| ro != 0) {
        let path = Path::new(facts.path.as_deref().unwrap_or_default());
        return Err(DeviceError::system(
            "write to",
            path,
            io::Error::from(io::ErrorKind::ReadOnlyFilesystem),
        ));
    }
    Ok(())
}

/// Everything that stands against writing to a target; nothing is written, and it is not even opened for
/// writing. What cannot be found out is a reason, too.
pub fn refusals(facts: &DeviceFacts, grants: &Grants) -> Vec<Refusal> {
    let reasons = reasons_against(&SysRoot::real(), facts, grants);
    reasons.unwrap_or_else(|error| vec![Refusal::unknown("its state", error)])
}

fn reasons_against(
    root: &SysRoot,
    facts: &DeviceFacts,
    grants: &Grants,
) -> Result<Vec<Refusal>, DeviceError> {
    let fd = open(root, facts, OFlags::RDONLY)?;
    let mut reasons = examine(root, facts, grants, fd.as_fd()).err().unwrap_or_default();
    drop(fd);
    reasons.extend(open_exclusively(root, facts, OFlags::RDONLY)?.err());
    Ok(reasons)
}

/// Opens exactly the object that was probed. It is found first and compared, so that no driver's open is
/// called and no pipe waited for when the path now leads elsewhere; and compared again when it is open.
fn open(root: &SysRoot, facts: &DeviceFacts, flags: OFlags) -> Result<OwnedFd, DeviceError> {
    let path = Path::new(facts.path.as_deref().unwrap_or_default());
    let found = object::find(path).map_err(|e| DeviceError::system("find", path, e))?;
    probe::verify(root, facts, &found)?;
    let fd = object::open_found(&found, flags).map_err(|e| DeviceError::system("open", path, e))?;
    probe::verify(root, facts, &fd)?;
    if facts.kind == TargetKind::File {
        // Only the owner may ask for this; it spares the measurement updates of the inode.
        let _ = add_flags(&fd, OFlags::NOATIME);
    }
    Ok(fd)
}

/// Like [`open`], and claims the object; the inner error says that somebody else has.
fn open_exclusively(
    root: &SysRoot,
    facts: &DeviceFacts,
    flags: OFlags,
) -> Result<Result<OwnedFd, Refusal>, DeviceError> {
    let busy = |text: &str| Err(Refusal::new("busy", text));
    match facts.kind {
        TargetKind::Block => match patiently(|| open(root, facts, flags | OFlags::EXCL)) {
            Err(DeviceError::System { cause, .. }) if cause.kind() == io::ErrorKind::ResourceBusy => {
                Ok(busy("it cannot be opened exclusively: the kernel or a program has claimed it"))
            }
            opened => opened.map(Ok),
        },
        TargetKind::File => {
            let fd = open(root, facts, flags)?;
            match patiently(|| rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)) {
                Err(e) if e == rustix::io::Errno::WOULDBLOCK => {
                    Ok(busy("it is locked by another program, perhaps another run of iodyno"))
                }
                Err(e) => {
                    tracing::warn!(
                        "{} cannot be locked against other runs: {e}",
                        facts.identity().in_words()
                    );
                    Ok(Ok(fd))
                }
                Ok(()) => Ok(Ok(fd)),
            }
        }
        TargetKind::Char | TargetKind::Virtual => open(root, facts, flags).map(Ok),
    }
}

/// Looks at everything that can stand against writing to the object behind `fd`, which must not be open for
/// direct I/O. Only this function makes grants.
fn examine(
    root: &SysRoot,
    facts: &DeviceFacts,
    grants: &Grants,
    fd: BorrowedFd<'_>,
) -> Result<WriteGrant, Vec<Refusal>> {
    let identity = match object::status(fd).map(|status| Identity::of(&status)) {
        Ok(Some(identity)) => identity,
        Ok(None) => return Err(vec![Refusal::unknown("what it is", "neither file nor block device")]),
        Err(e) => return Err(vec![Refusal::unknown("what it is", e)]),
    };
    if let Identity::Bottomless(_) = identity {
        return Ok(WriteGrant { why: "nothing is stored there" });
    }
    let mut reasons = Vec::new();
    let why = if scratch::is_own(fd, facts) {
        scratch::OWN
    } else {
        if !grants.allow_destroy.iter().any(|path| Identity::of_path(path) == Some(identity)) {
            reasons.push(not_granted(facts, grants));
        }
        "--allow-destroy"
    };
    match uses(root, identity) {
        Ok(uses) => reasons.extend(uses),
        Err(e) => reasons.push(Refusal::unknown("how it is used", e)),
    }
    reasons.extend(links(fd));
    reasons.extend(open_elsewhere(root, identity, fd));
    reasons.extend(data(fd, facts, grants));
    if reasons.is_empty() { Ok(WriteGrant { why }) } else { Err(reasons) }
}

fn not_granted(facts: &DeviceFacts, grants: &Grants) -> Refusal {
    let path = facts.path.as_deref().unwrap_or_default();
    let named: Vec<String> = grants.allow_destroy.iter().map(|path| path.display().to_string()).collect();
    let others =
        if named.is_empty() { String::new() } else { format!(" ({} is something else)", named.join(", ")) };
    let text = format!(
        "everything on it would be lost, and no `--allow-destroy` names it{others}: if you want that, add \
         `--allow-destroy {path}`"
    );
    Refusal::new("not_granted", text)
}

/// Traces of other people's data that may not be wiped.
fn data(fd: BorrowedFd<'_>, facts: &DeviceFacts, grants: &Grants) -> Vec<Refusal> {
    let found = match signature::signatures(fd, facts.size_bytes) {
        Ok(found) => found,
        Err(e) => return vec![Refusal::unknown("whether it holds data", e)],
    };
    let kept = found.into_iter().filter(|s| !grants.wipe_signatures.iter().any(|name| name == s.name));
    kept.map(|signature| {
        let name = signature.name;
        let text = format!("it holds {signature}: if that can go, add `--wipe-signature {name}`");
        Refusal::new("signature", text)
    })
    .collect()
}

/// A file with several names is other people's file, too.
fn links(fd: BorrowedFd<'_>) -> Option<Refusal> {
    let status = match object::status(fd) {
        Err(e) => return Some(Refusal::unknown("how many names it has", e)),
        Ok(status) => status,
    };
    let names = status.stx_nlink;
    (object::file_type(&status) == rustix::fs::FileType::RegularFile && names > 1).then(|| {
        let text = format!("it has {names} names (hard links), all of which would lose it: use a copy");
        Refusal::new("hard_links", text)
    })
}

/// Whether another process has it open: any way for a file, for writing for a device.
fn open_elsewhere(root: &SysRoot, identity: Identity, fd: BorrowedFd<'_>) -> Option<Refusal> {
    let (objects, access) = match identity {
        Identity::Block(number) => {
            let device = BlockDevice::by_number(root, number)?;
            let relatives = usage::relatives(root, &device).into_iter();
            (relatives.map(|(device, _)| Identity::Block(device.number)).collect(), Access::Write)
        }
        _ => (vec![identity], Access::Any),
    };
    let seen = patiently(|| match openers(root, &objects, access) {
        openers if openers.is_empty() => Ok(()),
        openers => Err(openers),
    });
    if let Err(openers) = seen {
        let text = format!("{} has it open: end that first", openers.join(" and "));
        return Some(Refusal::new("in_use", text));
    }
    // Processes of other users and the kernel itself cannot be seen that way, but files have leases. Where
    // there are none (network file systems, somebody else's file) this is all that can be known.
    let alone = || if matches!(kernel::is_sole_opener(fd), Ok(false)) { Err(()) } else { Ok(()) };
    let shared = matches!(identity, Identity::File(..)) && patiently(alone).is_err();
    shared.then(|| Refusal::new("in_use", "the kernel or another user's process has it open: end that first"))
}

/// How an object is used. Loop devices of others may come or go while they are looked at, so what could not be
/// found out is looked for again.
fn uses(root: &SysRoot, identity: Identity) -> io::Result<Vec<Refusal>> {
    let seen = patiently(|| match usage::uses(root, identity) {
        Ok(uses) if uses.iter().all(|u| u.code != "unknown") => Ok(uses),
        unclear => Err(unclear),
    });
    seen.map_or_else(|unclear| unclear, Ok)
}

/// Tries again for a tenth of a second: a process that is just being started holds copies of our descriptors.
pub(crate) fn patiently<T, E>(mut attempt: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    for _ in 0..5 {
        if let Ok(value) = attempt() {
            return Ok(value);
        }
        thread::sleep(Duration::from_millis(20));
    }
    attempt()
}

/// Switches direct I/O on, last of all: checks read through the page cache.
fn set_direct(fd: &OwnedFd, facts: &DeviceFacts, direct: bool) -> Result<(), DeviceError> {
    let path = Path::new(facts.path.as_deref().unwrap_or_default());
    if !direct || facts.kind == TargetKind::Char {
        return Ok(());
    }
    let unsupported = || DeviceError::DirectUnsupported {
        path: path.to_owned(),
        filesystem: facts.filesystem.clone().unwrap_or_else(|| "a device".to_owned()),
    };
    // Some file systems take the flag and quietly go through the page cache (ext4 with data=journal).
    let status = object::status(fd).map_err(|e| DeviceError::system("look at", path, e))?;
    if probe::direct_alignment(&status) == DirectAlignment::Unsupported {
        return Err(unsupported());
    }
    add_flags(fd, OFlags::DIRECT).map_err(|e| match e {
        rustix::io::Errno::INVAL => unsupported(),
        e => DeviceError::system("switch on direct i/o for", path, e),
    })
}

fn add_flags(fd: &OwnedFd, flags: OFlags) -> rustix::io::Result<()> {
    rustix::fs::fcntl_setfl(fd, rustix::fs::fcntl_getfl(fd)? | flags)
}

fn use_note(root: &SysRoot, facts: &DeviceFacts) -> Option<Note> {
    let uses = match uses(root, probe::identity(facts)?) {
        Ok(uses) if uses.is_empty() => return None,
        Ok(uses) => uses,
        Err(e) => vec![Refusal::unknown("how it is used", e)],
    };
    let code = if uses.iter().any(|u| u.code == "mounted") { "target_mounted" } else { "target_in_use" };
    let texts: Vec<&str> = uses.iter().map(|u| u.text.as_str()).collect();
    let text = format!(
        "{} is in use while it is read, so other i/o may be in the numbers: {}",
        facts.identity().in_words(),
        texts.join("; ")
    );
    Some(warning(code, text))
}

fn notes(facts: &DeviceFacts, direct: bool) -> Vec<Note> {
    let name = facts.identity().in_words();
    match facts.filesystem.as_deref() {
        Some(kind @ ("tmpfs" | "ramfs")) => {
            vec![warning(
                "tmpfs",
                format!("{name} is in memory ({kind}): the numbers are not those of a device"),
            )]
        }
        Some(kind @ ("btrfs" | "zfs" | "fuse" | "fuseblk")) if direct => {
            let text = format!(
                "{name} is on {kind}, which may pass direct i/o through the page cache: compare with a file on \
                 another file system"
            );
            vec![warning("direct_uncertain", text)]
        }
        _ => Vec::new(),
    }
}

fn warning(code: &str, text: String) -> Note {
    Note { level: NoteLevel::Warning, code: code.to_owned(), text }
}
