//! Made-up trees of /sys and /proc for tests: this machine need not have NVMe, LVM, md, multipath or btrfs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::sysroot::SysRoot;

/// In sectors.
const MIB: u64 = 2048;

pub(crate) struct System {
    folder: tempfile::TempDir,
    mounts: Vec<String>,
}

impl System {
    pub(crate) fn new() -> Self {
        let system = System { folder: tempfile::tempdir().unwrap(), mounts: Vec::new() };
        for folder in ["sys/class/block", "sys/dev/block", "proc/self"] {
            fs::create_dir_all(system.path(folder)).unwrap();
        }
        system.write("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
        system.write("proc/self/mountinfo", "22 1 0:21 / /proc rw - proc proc rw\n");
        system
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    pub(crate) fn root(&self) -> SysRoot {
        SysRoot::at(self.folder.path())
    }

    pub(crate) fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn device(&self, folder: &str, number: &str, sectors: u64) -> &Self {
        let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
        self.write(&format!("{folder}/dev"), &format!("{number}\n"));
        self.write(&format!("{folder}/size"), &format!("{sectors}\n"));
        symlink(self.path(folder), self.path(&format!("sys/class/block/{name}"))).unwrap();
        symlink(self.path(folder), self.path(&format!("sys/dev/block/{number}"))).unwrap();
        self
    }

    pub(crate) fn disk(&self, name: &str, number: &str) -> &Self {
        self.device(&format!("sys/devices/{name}"), number, 1000 * MIB)
    }

    /// A partition of 100 MiB, the `n`-th of its disk.
    pub(crate) fn partition(&self, disk: &str, n: u64, number: &str) -> &Self {
        let folder = format!("sys/devices/{disk}/{disk}{n}");
        self.device(&folder, number, 100 * MIB);
        self.write(&format!("{folder}/partition"), &n.to_string());
        self.write(&format!("{folder}/start"), &(n * 100 * MIB).to_string());
        self
    }

    /// `upper` is built on `lower` (a folder below sys/devices).
    pub(crate) fn build(&self, upper: &str, lower: &str) -> &Self {
        let name = Path::new(lower).file_name().unwrap().to_str().unwrap();
        for (folder, to) in [(format!("{lower}/holders"), upper), (format!("{upper}/slaves"), lower)] {
            let folder = self.path("sys/devices").join(folder);
            fs::create_dir_all(&folder).unwrap();
            let link = if to == lower { name } else { to };
            symlink(self.path("sys/devices").join(to), folder.join(link)).unwrap();
        }
        self
    }

    pub(crate) fn mount(&mut self, number: &str, source: &str, point: &str) {
        self.mounts.push(format!("36 22 {number} / {point} rw - some {source} rw\n"));
        self.write("proc/self/mountinfo", &self.mounts.concat());
    }

    pub(crate) fn attach(&self, number: u32, backing: &str) {
        let name = format!("loop{number}");
        self.disk(&name, &format!("7:{number}"));
        self.write(&format!("sys/devices/{name}/loop/backing_file"), &format!("{backing}\n"));
    }
}
