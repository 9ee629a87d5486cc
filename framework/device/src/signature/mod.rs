//! Traces of other people's data: partition tables, file systems, swap, volumes, RAID members, disk images.
//!
//! Only the first [`HEAD`] and last [`TAIL`] bytes are read. A trace that was half erased counts too (the
//! backup of a partition table, the second label of a pool): somebody may be about to rescue it. Random
//! data must not count: every check compares at least 32 bits.

mod special;
mod table;

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::Advice;
use table::{Place, TABLE};

/// Bytes read at the start; the last known place there is LUKS2's at 4 MiB.
const HEAD: u64 = (4 << 20) + (64 << 10);
/// Bytes read at the end; the first known place there is bcachefs's at 1 MiB before it.
const TAIL: u64 = 2 << 20;

/// A trace of data, by the name that `wipefs` and `lsblk -f` print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Name, to be given to `--wipe-signature`.
    pub name: &'static str,
    /// What it stands for.
    pub kind: SignatureKind,
    /// Where it was found, in bytes from the start of the target.
    pub offsets_bytes: Vec<u64>,
}

/// What a signature stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureKind {
    /// A partition table.
    PartitionTable,
    /// A file system.
    FileSystem,
    /// Swap space or a hibernated system.
    Swap,
    /// An encrypted or verified volume.
    Encrypted,
    /// A part of a volume manager, RAID, cache, cluster or database.
    Member,
    /// The disk of a virtual machine, in a file.
    DiskImage,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            SignatureKind::PartitionTable => "partition table",
            SignatureKind::FileSystem => "file system",
            SignatureKind::Swap => "swap",
            SignatureKind::Encrypted => "encrypted volume",
            SignatureKind::Member => "volume member",
            SignatureKind::DiskImage => "disk image",
        };
        let offsets: Vec<String> = self.offsets_bytes.iter().map(u64::to_string).collect();
        write!(f, "`{}` ({kind}, at byte {})", self.name, offsets.join(", "))
    }
}

/// The parts of a target that can hold signatures.
struct View {
    size: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl View {
    /// Reads through a descriptor that must not be open for direct I/O.
    fn read(fd: BorrowedFd<'_>, size: u64) -> io::Result<View> {
        let head = read_range(fd, 0, size.min(HEAD))?;
        let tail_start = size.saturating_sub(TAIL);
        let tail = read_range(fd, tail_start, size - tail_start)?;
        // What we read must not lie in the page cache when the measurement begins.
        let _ = rustix::fs::fadvise(fd, 0, None, Advice::DontNeed);
        Ok(View { size, head, tail })
    }

    /// Bytes at an offset; `None` where nothing was read.
    fn get(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let slice = |data: &'_ [u8], start: u64| -> Option<(usize, usize)> {
            let from = usize::try_from(offset.checked_sub(start)?).ok()?;
            let to = from.checked_add(len)?;
            (to <= data.len()).then_some((from, to))
        };
        if let Some((from, to)) = slice(&self.head, 0) {
            return Some(&self.head[from..to]);
        }
        let (from, to) = slice(&self.tail, self.size - self.tail.len() as u64)?;
        Some(&self.tail[from..to])
    }

    fn has(&self, offset: u64, bytes: &[u8]) -> bool {
        self.get(offset, bytes.len()) == Some(bytes)
    }

    fn byte(&self, offset: u64) -> Option<u8> {
        Some(self.get(offset, 1)?[0])
    }

    fn u16(&self, offset: u64) -> Option<u16> {
        Some(u16::from_le_bytes(self.get(offset, 2)?.try_into().ok()?))
    }

    fn u32(&self, offset: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.get(offset, 4)?.try_into().ok()?))
    }

    /// Where a place lies on this target.
    fn locate(&self, place: Place) -> Option<u64> {
        match place {
            Place::Start(offset) => Some(offset),
            Place::End(unit, back) => (self.size / unit * unit).checked_sub(back),
        }
    }
}

fn read_range(fd: BorrowedFd<'_>, start: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
    let mut done = 0;
    while done < bytes.len() {
        match rustix::io::pread(fd, &mut bytes[done..], start + done as u64) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            Ok(n) => done += n,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(bytes)
}

/// All signatures on an open target of `size` bytes.
///
/// # Errors
/// When the target cannot be read where they would be.
pub(crate) fn signatures(fd: BorrowedFd<'_>, size: u64) -> io::Result<Vec<Signature>> {
    Ok(detect(&View::read(fd, size)?))
}

fn detect(view: &View) -> Vec<Signature> {
    let mut found = Found::default();
    for known in TABLE {
        for start in known.places.iter().filter_map(|place| view.locate(*place)) {
            if known.parts.iter().all(|(distance, bytes)| view.has(start + distance, bytes)) {
                found.add(known.name, known.kind, start + known.parts[0].0);
            }
        }
    }
    special::detect(view, &mut found);
    found.0
}

#[derive(Default)]
struct Found(Vec<Signature>);

impl Found {
    fn add(&mut self, name: &'static str, kind: SignatureKind, offset: u64) {
        match self.0.iter_mut().find(|s| s.name == name) {
            Some(known) if known.offsets_bytes.contains(&offset) => {}
            Some(known) => known.offsets_bytes.push(offset),
            None => self.0.push(Signature { name, kind, offsets_bytes: vec![offset] }),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|s| s.name == name)
    }
}

#[cfg(test)]
mod tests;
