//! What the system uses storage for: mounts, swap, loop devices.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::block::BlockDevice;
use crate::kernel;
use crate::object::{DeviceNumber, Identity};
use crate::sysroot::{SysRoot, names};

/// A mounted file system.
#[derive(Clone, Debug)]
pub(crate) struct Mounted {
    /// As statx calls it.
    pub(crate) id: u64,
    /// Number of its device; some file systems make one up.
    pub(crate) device: DeviceNumber,
    /// Numbers of the devices that its source names: what btrfs, bcachefs and others are really on.
    pub(crate) sources: Vec<DeviceNumber>,
    /// Where.
    pub(crate) point: String,
    /// Type.
    pub(crate) filesystem: String,
}

/// All mounts that this process sees.
pub(crate) fn mounts(root: &SysRoot) -> io::Result<Vec<Mounted>> {
    let bytes = fs::read(root.path("proc/self/mountinfo"))?;
    let lines = bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| parse_mount(root, line).ok_or_else(|| odd("mountinfo", line))).collect()
}

/// `36 35 98:0 /root /point options [optional...] - type source options`
fn parse_mount(root: &SysRoot, line: &[u8]) -> Option<Mounted> {
    let fields: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
    let dash = fields.iter().skip(6).position(|f| *f == b"-")? + 6;
    let text = |i: usize| fields.get(i).map(|f| String::from_utf8_lossy(&unescape(f)).into_owned());
    // bcachefs joins its devices with `:`, which names below /dev/disk/by-path contain, too.
    let source = *fields.get(dash + 2)?;
    let sources = [source].into_iter().chain(source.split(|&b| b == b':')).filter(|s| s.starts_with(b"/"));
    let block = |source: &[u8]| match Identity::of_path(&below(root, unescape(source))) {
        Some(Identity::Block(number)) => Some(number),
        _ => None,
    };
    Some(Mounted {
        id: text(0)?.parse().ok()?,
        device: DeviceNumber::parse(&text(2)?)?,
        sources: sources.filter_map(block).collect(),
        point: text(4)?,
        filesystem: text(dash + 1)?,
    })
}

/// Active swap: its path, and what it is unless the path leads nowhere any more.
pub(crate) fn swaps(root: &SysRoot) -> io::Result<Vec<(PathBuf, Option<Identity>)>> {
    let bytes = match fs::read(root.path("proc/swaps")) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()), // a kernel without swap
        read => read?,
    };
    let lines = bytes.split(|&b| b == b'\n').skip(1).filter(|line| !line.is_empty());
    let path = |line: &[u8]| line.split(u8::is_ascii_whitespace).next().map(unescape);
    let entry = |raw: Vec<u8>| {
        let path = below(root, raw);
        let identity = Identity::of_path(&path);
        (path, identity)
    };
    lines.map(|line| path(line).map(entry).ok_or_else(|| odd("swaps", line))).collect()
}

/// An attached loop device.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// The device.
    pub(crate) device: BlockDevice,
    /// Path of the file or device behind it, as it was when it was attached.
    pub(crate) path: String,
    /// What is behind it; `None` when neither the driver nor the path tells.
    pub(crate) backing: Option<Identity>,
}

/// All attached loop devices.
pub(crate) fn loops(root: &SysRoot) -> Vec<Loop> {
    let devices = BlockDevice::all(root).into_iter().filter(|d| !d.is_partition());
    let attached = devices.filter_map(|device| Some((device.attribute("loop/backing_file")?, device)));
    attached
        .map(|(path, device)| {
            // The driver knows the inode itself; the path may have been renamed, or be another mount
            // namespace's.
            let backing =
                ask_driver(root, &device).or_else(|| Identity::of_path(&below(root, path.clone().into())));
            Loop { device, path, backing }
        })
        .collect()
}

fn ask_driver(root: &SysRoot, device: &BlockDevice) -> Option<Identity> {
    let node = root.path(device.node().trim_start_matches('/'));
    if Identity::of_path(&node) != Some(Identity::Block(device.number)) {
        return None;
    }
    let fd =
        rustix::fs::open(node, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let info = kernel::loop_status(&fd).ok()?;
    // For a file, some kernels leave `rdevice` 0 and others repeat `device` in it.
    match info.rdevice {
        rdevice if rdevice == 0 || rdevice == info.device => {
            Some(Identity::File(DeviceNumber::unpack(info.device), info.inode))
        }
        rdevice => Some(Identity::Block(DeviceNumber::unpack(rdevice))),
    }
}

/// Names of the devices that mounted btrfs file systems are on; mountinfo names only one of each.
pub(crate) fn btrfs_members(root: &SysRoot) -> Vec<String> {
    let base = root.path("sys/fs/btrfs");
    names(&base).iter().flat_map(|uuid| names(&base.join(uuid).join("devices"))).collect()
}

fn below(root: &SysRoot, path: Vec<u8>) -> PathBuf {
    let path = PathBuf::from(std::ffi::OsString::from_vec(path));
    root.path(path.strip_prefix("/").unwrap_or(&path))
}

/// The kernel writes white space and backslashes as three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail.get(..3).filter(|d| first == b'\\' && d.iter().all(|b| (b'0'..=b'7').contains(b)));
        match octal {
            Some(d) => {
                out.push(d.iter().fold(0u8, |value, b| value.wrapping_mul(8).wrapping_add(b - b'0')));
                rest = &tail[3..];
            }
            None => {
                out.push(first);
                rest = tail;
            }
        }
    }
    out
}

fn odd(file: &str, line: &[u8]) -> io::Error {
    io::Error::other(format!("/proc: a line of {file} makes no sense: {}", String::from_utf8_lossy(line)))
}

/// The mount that an open object lies in.
pub(crate) fn mount_of<'a>(
    mounts: &'a [Mounted],
    id: Option<u64>,
    device: DeviceNumber,
    path: &Path,
) -> Option<&'a Mounted> {
    let by_id = id.and_then(|id| mounts.iter().find(|m| m.id == id));
    let by_device = || mounts.iter().filter(|m| m.device == device && path.starts_with(&m.point));
    by_id.or_else(|| by_device().max_by_key(|m| m.point.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octal_escapes() {
        assert_eq!(unescape(br"/a\040b\134c"), b"/a b\\c");
        assert_eq!(unescape(br"\04"), br"\04");
        assert_eq!(unescape(br"\999\"), br"\999\");
        assert_eq!(unescape(br"\777"), [0xff]);
    }

    #[test]
    fn mountinfo_lines() {
        let root = SysRoot::real();
        let line = br"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 shared:2 - ext3 /none rw";
        let m = parse_mount(&root, line).unwrap();
        assert_eq!((m.id, m.point.as_str(), m.filesystem.as_str()), (36, "/mnt 2", "ext3"));
        assert_eq!(m.device, DeviceNumber { major: 98, minor: 0 });
        assert!(parse_mount(&root, b"36 35 98:0 / /point rw").is_none(), "no type");
        // A mount point called "-" must not be taken for the separator.
        assert_eq!(parse_mount(&root, b"36 35 98:0 / - rw - tmpfs none rw").unwrap().filesystem, "tmpfs");
    }

    #[test]
    fn a_line_that_makes_no_sense_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("proc/self")).unwrap();
        std::fs::write(folder.path().join("proc/self/mountinfo"), "rubbish\n").unwrap();
        assert!(mounts(&SysRoot::at(folder.path())).is_err());
    }
}
