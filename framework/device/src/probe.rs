//! What a path leads to.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use iodyno_record::{DeviceFacts, TargetKind};
use rustix::fs::{FileType, Statx, StatxFlags};

use crate::block::BlockDevice;
use crate::error::DeviceError;
use crate::mounts::{self, Mounted};
use crate::object::{self, DeviceNumber, Identity};
use crate::sysroot::SysRoot;

/// What direct I/O needs where nothing tells.
const CAREFUL_GRANULE_BYTES: u32 = 4096;

/// The kernel's own file systems: their files are switches, not storage.
const KERNEL_FILESYSTEMS: [&str; 16] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "nsfs",
    "proc",
    "pstore",
    "securityfs",
    "sysfs",
    "tracefs",
];

/// Facts about a file, a block device, `/dev/null` or `/dev/zero`. Nothing is opened, read or written.
///
/// The size of `/dev/null` and `/dev/zero` is 0: they have no end.
///
/// # Errors
/// When there is nothing at `path`, or something that cannot be tested; the text says what to do.
pub fn probe(label: &str, path: &Path) -> Result<DeviceFacts, DeviceError> {
    let path = absolute(path)?;
    let found = object::find(&path).map_err(|e| DeviceError::system("find", &path, e))?;
    facts_of(&SysRoot::real(), label, &path, &found)
}

pub(crate) fn absolute(path: &Path) -> Result<PathBuf, DeviceError> {
    if path.to_str().is_none() {
        return Err(DeviceError::unsuitable(path, "is no UTF-8: use another name or a symlink"));
    }
    std::path::absolute(path).map_err(|e| DeviceError::system("find", path, e))
}

/// Facts about an open object, which `path` led to.
pub(crate) fn facts_of(
    root: &SysRoot,
    label: &str,
    path: &Path,
    object: &OwnedFd,
) -> Result<DeviceFacts, DeviceError> {
    let status = object::status(object).map_err(|e| DeviceError::system("look at", path, e))?;
    let mut facts = bare(label, path);
    match Identity::of(&status) {
        Some(Identity::Block(number)) => block_facts(root, path, &status, number, &mut facts)?,
        Some(Identity::File(holder, inode)) => {
            facts.device = Some(holder.to_string());
            facts.inode = Some(inode);
            file_facts(root, path, &status, holder, &mut facts)?;
        }
        Some(Identity::Bottomless(number)) => {
            facts.kind = TargetKind::Char;
            facts.device = Some(number.to_string());
            facts.granule_bytes = 1;
        }
        None => return Err(DeviceError::unsuitable(path, unsuitable(object::file_type(&status)))),
    }
    Ok(facts)
}

fn unsuitable(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "is a directory: name a file in it; `scratch` makes one",
        FileType::CharacterDevice => {
            "is a character device: only /dev/null and /dev/zero can be tested; for a disk name its block device"
        }
        FileType::Fifo => "is a pipe: name a file or a block device",
        FileType::Socket => "is a socket: name a file or a block device",
        _ => "is neither a file nor a device: name a file or a block device",
    }
}

fn block_facts(
    root: &SysRoot,
    path: &Path,
    status: &Statx,
    number: DeviceNumber,
    facts: &mut DeviceFacts,
) -> Result<(), DeviceError> {
    let unknown =
        || DeviceError::unsuitable(path, format!("is device {number}, which /sys/dev/block does not have"));
    let device = BlockDevice::by_number(root, number).ok_or_else(unknown)?;
    let size = device.size_bytes().ok_or_else(unknown)?;
    if size == 0 {
        let advice = "has size 0: nothing is behind it; insert a medium or attach a file with `losetup`";
        return Err(DeviceError::unsuitable(path, advice));
    }
    facts.kind = TargetKind::Block;
    facts.device = Some(number.to_string());
    facts.size_bytes = size;
    queue_facts(&device, facts);
    facts.granule_bytes = match direct_alignment(status) {
        DirectAlignment::Bytes(bytes) => bytes.max(facts.logical_block_bytes.unwrap_or(0)),
        _ => facts.logical_block_bytes.unwrap_or(CAREFUL_GRANULE_BYTES),
    };
    Ok(())
}

/// Whether a file can be made at `path`, as far as its folder's file system goes.
///
/// # Errors
/// When that is one of the kernel's.
pub(crate) fn check_place(path: &Path) -> Result<(), DeviceError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let error = |e: std::io::Error| DeviceError::system("look at", folder, e);
    let found = object::find(folder).map_err(error)?;
    let status = object::status(&found).map_err(error)?;
    let mounts = mounts::mounts(&SysRoot::real()).map_err(error)?;
    let holder = DeviceNumber { major: status.stx_dev_major, minor: status.stx_dev_minor };
    let id = StatxFlags::from_bits_retain(status.stx_mask)
        .contains(StatxFlags::MNT_ID)
        .then_some(status.stx_mnt_id);
    match mounts::mount_of(&mounts, id, holder, folder) {
        Some(mount) if KERNEL_FILESYSTEMS.contains(&mount.filesystem.as_str()) => {
            let reason = format!("would be a file of the kernel ({}): name one on a disk", mount.filesystem);
            Err(DeviceError::unsuitable(path, reason))
        }
        _ => Ok(()),
    }
}

fn file_facts(
    root: &SysRoot,
    path: &Path,
    status: &Statx,
    holder: DeviceNumber,
    facts: &mut DeviceFacts,
) -> Result<(), DeviceError> {
    let mounts = mounts::mounts(root).map_err(|e| DeviceError::system("read the mounts for", path, e))?;
    let id = StatxFlags::from_bits_retain(status.stx_mask)
        .contains(StatxFlags::MNT_ID)
        .then_some(status.stx_mnt_id);
    let mount = mounts::mount_of(&mounts, id, holder, path);
    if let Some(kind) = mount.map(|m| &m.filesystem).filter(|f| KERNEL_FILESYSTEMS.contains(&f.as_str())) {
        return Err(DeviceError::unsuitable(
            path,
            format!("is a file of the kernel ({kind}): name one on a disk"),
        ));
    }
    if status.stx_size == 0 {
        return Err(DeviceError::unsuitable(path, "is empty: name a file with content; `scratch` makes one"));
    }
    facts.size_bytes = status.stx_size;
    facts.filesystem = mount.map(|m| m.filesystem.clone());
    facts.mount_point = mount.map(|m| m.point.clone());
    let numbers = [holder].into_iter().chain(mount.into_iter().flat_map(|m: &Mounted| m.sources.clone()));
    if let Some(device) = numbers.into_iter().find_map(|number| BlockDevice::by_number(root, number)) {
        queue_facts(&device, facts);
    }
    facts.granule_bytes = match direct_alignment(status) {
        DirectAlignment::Bytes(bytes) => bytes,
        _ => facts.logical_block_bytes.unwrap_or(CAREFUL_GRANULE_BYTES),
    };
    Ok(())
}

/// What the kernel says of direct I/O on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectAlignment {
    /// Offsets, lengths and buffers must be multiples.
    Bytes(u32),
    /// There is none, or the file system would quietly go through the page cache.
    Unsupported,
    /// This kernel or file system does not say.
    Unknown,
}

pub(crate) fn direct_alignment(status: &Statx) -> DirectAlignment {
    if !StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::DIOALIGN) {
        return DirectAlignment::Unknown;
    }
    match status.stx_dio_offset_align.max(status.stx_dio_mem_align) {
        0 => DirectAlignment::Unsupported,
        _ if status.stx_dio_offset_align == 0 => DirectAlignment::Unsupported,
        bytes => DirectAlignment::Bytes(bytes),
    }
}

/// Facts about a block device; a partition has its disk's.
fn queue_facts(device: &BlockDevice, facts: &mut DeviceFacts) {
    let disk = device.disk();
    let text = |name: &str| disk.attribute(name);
    let number = |name: &str| disk.number_attribute(name);
    let small = |name: &str| number(name).and_then(|n| u32::try_from(n).ok());
    facts.block_device = Some(device.name.clone());
    facts.logical_block_bytes = small("queue/logical_block_size");
    facts.physical_block_bytes = small("queue/physical_block_size");
    facts.model = text("device/model").or_else(|| text("device/name")).or_else(|| text("dm/name"));
    facts.serial = disk.serial();
    facts.firmware =
        text("device/firmware_rev").or_else(|| text("device/rev")).or_else(|| text("device/fwrev"));
    facts.wwn = text("wwid").or_else(|| text("device/wwid"));
    facts.scheduler = text("queue/scheduler").map(|all| chosen(&all));
    facts.rotational = number("queue/rotational").map(|n| n != 0);
    facts.write_cache = text("queue/write_cache");
    facts.nr_requests = small("queue/nr_requests");
    facts.max_request_bytes = number("queue/max_sectors_kb").map(|kib| kib * 1024);
    facts.numa_node = disk.numa_node();
}

/// `none [mq-deadline] kyber` -> `mq-deadline`
fn chosen(all: &str) -> String {
    let in_brackets = all.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    in_brackets.map_or(all, |(name, _)| name).to_owned()
}

fn bare(label: &str, path: &Path) -> DeviceFacts {
    let path = path.to_str().map(str::to_owned);
    DeviceFacts::bare(label, TargetKind::File, path, 0, CAREFUL_GRANULE_BYTES)
}

/// Which object the facts tell of.
pub(crate) fn identity(facts: &DeviceFacts) -> Option<Identity> {
    let device = DeviceNumber::parse(facts.device.as_deref()?)?;
    match facts.kind {
        TargetKind::File => Some(Identity::File(device, facts.inode?)),
        TargetKind::Block => Some(Identity::Block(device)),
        TargetKind::Char => Some(Identity::Bottomless(device)),
        TargetKind::Virtual => None,
    }
}

/// Whether an open object is still what `facts` tell of.
///
/// # Errors
/// [`DeviceError::Changed`] with the first property that differs.
pub(crate) fn verify(root: &SysRoot, facts: &DeviceFacts, object: impl AsFd) -> Result<(), DeviceError> {
    let path = PathBuf::from(facts.path.as_deref().unwrap_or_default());
    let object = object.as_fd().try_clone_to_owned().map_err(|e| DeviceError::system("look at", &path, e))?;
    let now = facts_of(root, &facts.label, &path, &object)?;
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let properties = |f: &DeviceFacts| {
        [
            ("kind", format!("{:?}", f.kind).to_lowercase()),
            ("device number", text(&f.device)),
            ("inode", f.inode.map_or_else(|| "none".to_owned(), |n| n.to_string())),
            // One without an end has the size that the suite gave it.
            ("size in bytes", if f.kind == TargetKind::Char { 0 } else { f.size_bytes }.to_string()),
            ("model", text(&f.model)),
            ("serial number", text(&f.serial)),
            ("world-wide name", text(&f.wwn)),
        ]
    };
    match properties(facts).into_iter().zip(properties(&now)).find(|(was, is)| was != is) {
        None => Ok(()),
        Some(((what, was), (_, is))) => Err(DeviceError::Changed { path, what, was, is }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::System;

    fn facts(system: &System, name: &str) -> DeviceFacts {
        let mut facts = bare("x", Path::new("/dev/x"));
        queue_facts(&BlockDevice::by_name(&system.root(), name).unwrap(), &mut facts);
        facts
    }

    #[test]
    fn an_nvme_drive_and_its_partition() {
        let system = System::new();
        let disk = "sys/devices/pci0000:00/0000:00:02.0/nvme/nvme0/nvme0n1";
        system.device(disk, "259:0", 2048).device(&format!("{disk}/nvme0n1p1"), "259:1", 1024);
        let name = |file: &str| format!("{disk}/{file}");
        system.write("sys/devices/pci0000:00/0000:00:02.0/numa_node", "1\n");
        for (file, content) in [
            ("nvme0n1p1/partition", "1"),
            ("queue/logical_block_size", "512\n"),
            ("queue/physical_block_size", "4096\n"),
            ("queue/scheduler", "[none] mq-deadline kyber\n"),
            ("queue/rotational", "0\n"),
            ("queue/write_cache", "write back\n"),
            ("queue/nr_requests", "1023\n"),
            ("queue/max_sectors_kb", "128\n"),
            ("device/model", "ACME Turbo 2TB                          \n"),
            ("device/serial", "S4X0815             \n"),
            ("device/firmware_rev", "1.0\n"),
            ("wwid", "eui.0025385b21404321\n"),
        ] {
            system.write(&name(file), content);
        }
        let facts_of_disk = facts(&system, "nvme0n1");
        let text = |value: &Option<String>| value.clone().unwrap();
        assert_eq!(text(&facts_of_disk.model), "ACME Turbo 2TB");
        assert_eq!(text(&facts_of_disk.serial), "S4X0815");
        assert_eq!(text(&facts_of_disk.firmware), "1.0");
        assert_eq!(text(&facts_of_disk.wwn), "eui.0025385b21404321");
        assert_eq!(text(&facts_of_disk.scheduler), "none");
        assert_eq!(text(&facts_of_disk.write_cache), "write back");
        assert_eq!(
            (facts_of_disk.logical_block_bytes, facts_of_disk.physical_block_bytes),
            (Some(512), Some(4096))
        );
        assert_eq!((facts_of_disk.rotational, facts_of_disk.numa_node), (Some(false), Some(1)));
        assert_eq!((facts_of_disk.nr_requests, facts_of_disk.max_request_bytes), (Some(1023), Some(131_072)));
        let partition = facts(&system, "nvme0n1p1");
        assert_eq!(partition.block_device.as_deref(), Some("nvme0n1p1"));
        assert_eq!(
            DeviceFacts { block_device: facts_of_disk.block_device.clone(), ..partition },
            facts_of_disk
        );
        assert_eq!(
            DeviceFacts { kind: TargetKind::Block, size_bytes: 2_000_000_000_000, ..facts_of_disk }
                .identity()
                .in_words(),
            "/dev/x (ACME Turbo 2TB, serial S4X0815, firmware 1.0, 2 TB)"
        );
    }

    #[test]
    fn a_scsi_disk_tells_its_serial_number_in_a_page() {
        let system = System::new();
        system.disk("sda", "8:0");
        system.write("sys/devices/sda/device/vpd_pg80", "\0\u{80}\x08WD-1234 ");
        system.write("sys/devices/sda/device/rev", "01.0");
        system.write("sys/devices/sda/queue/scheduler", "none [mq-deadline]");
        system.write("sys/devices/sda/device/numa_node", "-1");
        let facts = facts(&system, "sda");
        assert_eq!(facts.serial.as_deref(), Some("WD-1234"));
        assert_eq!(facts.firmware.as_deref(), Some("01.0"));
        assert_eq!(facts.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!((facts.numa_node, facts.model), (None, None));
    }
}
