//! Block devices as /sys describes them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::object::DeviceNumber;
use crate::sysroot::{SysRoot, names, text};

/// A block device: a whole disk or a partition.
#[derive(Clone, Debug)]
pub(crate) struct BlockDevice {
    /// Name, as in `/sys/class/block`.
    pub(crate) name: String,
    /// Number.
    pub(crate) number: DeviceNumber,
    folder: PathBuf,
}

impl BlockDevice {
    /// By number.
    pub(crate) fn by_number(root: &SysRoot, number: DeviceNumber) -> Option<Self> {
        Self::in_folder(&root.path(format!("sys/dev/block/{number}")))
    }

    /// By name.
    pub(crate) fn by_name(root: &SysRoot, name: &str) -> Option<Self> {
        Self::in_folder(&root.path("sys/class/block").join(name))
    }

    /// All of the system.
    pub(crate) fn all(root: &SysRoot) -> Vec<Self> {
        names(&root.path("sys/class/block")).iter().filter_map(|name| Self::by_name(root, name)).collect()
    }

    fn in_folder(link: &Path) -> Option<Self> {
        let folder = fs::canonicalize(link).ok()?;
        let name = folder.file_name()?.to_str()?.to_owned();
        let number = DeviceNumber::parse(&text(&folder.join("dev"))?)?;
        Some(BlockDevice { name, number, folder })
    }

    /// Its usual path; `!` stands for `/` in /sys.
    pub(crate) fn node(&self) -> String {
        format!("/dev/{}", self.name.replace('!', "/"))
    }

    /// An attribute of this device itself.
    pub(crate) fn attribute(&self, path: &str) -> Option<String> {
        text(&self.folder.join(path))
    }

    /// A numeric attribute of this device itself.
    pub(crate) fn number_attribute(&self, path: &str) -> Option<u64> {
        self.attribute(path)?.parse().ok()
    }

    /// Bytes.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        self.number_attribute("size").map(|sectors| sectors * SECTOR)
    }

    /// The disk it is a part of, or itself.
    pub(crate) fn disk(&self) -> BlockDevice {
        if !self.is_partition() {
            return self.clone();
        }
        self.folder.parent().and_then(Self::in_folder).unwrap_or_else(|| self.clone())
    }

    /// Whether it is a part of a disk.
    pub(crate) fn is_partition(&self) -> bool {
        self.folder.join("partition").exists()
    }

    /// Its partitions.
    pub(crate) fn partitions(&self) -> Vec<BlockDevice> {
        let folders = names(&self.folder).into_iter().map(|name| self.folder.join(name));
        folders.filter(|f| f.join("partition").exists()).filter_map(|f| Self::in_folder(&f)).collect()
    }

    /// The devices that are built on this one: dm, md, bcache.
    pub(crate) fn holders(&self, root: &SysRoot) -> Vec<BlockDevice> {
        self.linked(root, "holders")
    }

    /// The devices that this one is built on.
    pub(crate) fn slaves(&self, root: &SysRoot) -> Vec<BlockDevice> {
        self.linked(root, "slaves")
    }

    fn linked(&self, root: &SysRoot, what: &str) -> Vec<BlockDevice> {
        let folder = self.folder.join(what);
        let find = |name: &String| Self::in_folder(&folder.join(name)).or_else(|| Self::by_name(root, name));
        names(&folder).iter().filter_map(find).collect()
    }

    /// Names in `holders`, also of those that cannot be looked at.
    pub(crate) fn holder_names(&self) -> Vec<String> {
        names(&self.folder.join("holders"))
    }

    /// The range of its disk that it covers, in bytes from the disk's start.
    pub(crate) fn range(&self) -> (u64, u64) {
        let start = self.number_attribute("start").map_or(0, |sectors| sectors * SECTOR);
        (start, start.saturating_add(self.size_bytes().unwrap_or(0)))
    }

    /// Whether both cover some block of the same disk.
    pub(crate) fn overlaps(&self, other: &BlockDevice) -> bool {
        let (a, b) = (self.range(), other.range());
        a.0 < b.1 && b.0 < a.1
    }

    /// Identity of the unit behind a disk: two devices with the same one are two paths to one disk.
    pub(crate) fn unit(&self) -> Option<String> {
        let id = self.attribute("wwid").or_else(|| self.attribute("device/wwid"))?;
        Some(format!("{id}, {} bytes", self.size_bytes()?))
    }

    /// Serial number. SCSI disks show theirs only in a page of vital product data, after 4 bytes of header.
    pub(crate) fn serial(&self) -> Option<String> {
        let plain = self.attribute("serial").or_else(|| self.attribute("device/serial"));
        plain.or_else(|| {
            let page = fs::read(self.folder.join("device/vpd_pg80")).ok()?;
            let serial = String::from_utf8_lossy(page.get(4..)?).trim_matches(['\0', ' ']).to_owned();
            (!serial.is_empty()).then_some(serial)
        })
    }

    /// NUMA node of the nearest bus device above it; `None` where the machine does not say.
    pub(crate) fn numa_node(&self) -> Option<i32> {
        let above = self.folder.ancestors().find_map(|folder| text(&folder.join("numa_node")));
        above?.parse().ok().filter(|node| *node >= 0)
    }
}

/// /sys counts in sectors of this size on every device.
pub(crate) const SECTOR: u64 = 512;
