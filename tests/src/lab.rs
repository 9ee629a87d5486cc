//! Devices and file systems that a test makes, may destroy, and takes away again whatever happens. All of it
//! needs root; a test that has none fails and says so, and `tests/run` names it.

#![expect(clippy::print_stderr, reason = "tests speak to whoever runs them")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread, time};

/// Demands root.
///
/// # Panics
/// Without it.
#[track_caller]
pub fn need_root() {
    assert!(rustix::process::geteuid().is_root(), "needs root");
}

/// A loop device over a file.
pub struct Loop {
    device: PathBuf,
    partitions: Vec<PathBuf>,
}

impl Loop {
    /// Makes the file `backing`, sparse, and a loop device of `bytes` over it, with direct I/O where the file
    /// system has it.
    ///
    /// # Panics
    /// Without root, or when the system refuses.
    #[track_caller]
    pub fn new(backing: &Path, bytes: u64) -> Loop {
        need_root();
        let file = fs::File::create_new(backing).expect("the backing file is new");
        file.set_len(bytes).expect("the file system takes sparse files");
        let device = tool("losetup", &["--find", "--show", "--partscan", "--direct-io=on", text(backing)]);
        Loop { device: PathBuf::from(device.trim()), partitions: Vec::new() }
    }

    /// Its node, `/dev/loop0`.
    pub fn path(&self) -> &Path {
        &self.device
    }

    /// Its name, `loop0`.
    ///
    /// # Panics
    /// Never: the node has a name.
    pub fn name(&self) -> &str {
        self.device.file_name().and_then(|name| name.to_str()).expect("a node has a name")
    }

    /// Adds a partition of `bytes` from `start` on, both multiples of 512, and gives its node.
    ///
    /// # Panics
    /// When the system refuses.
    #[track_caller]
    pub fn partition(&mut self, start: u64, bytes: u64) -> PathBuf {
        let number = self.partitions.len() + 1;
        let (first, sectors) = ((start / 512).to_string(), (bytes / 512).to_string());
        tool("addpart", &[text(&self.device), &number.to_string(), &first, &sectors]);
        let node = PathBuf::from(format!("{}p{number}", self.device.display()));
        self.partitions.push(node.clone());
        wait_for(&node);
        node
    }

    /// Sectors read and written since it was made, as `/sys/block/loopN/stat` counts them, in bytes.
    ///
    /// # Panics
    /// When the file is not as the kernel documents it.
    pub fn bytes_read_and_written(&self) -> (u64, u64) {
        let stat =
            fs::read_to_string(format!("/sys/block/{}/stat", self.name())).expect("a block device has it");
        let fields: Vec<u64> = stat.split_whitespace().map(|f| f.parse().expect("a number")).collect();
        (fields[2] * 512, fields[6] * 512)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        for number in 1..=self.partitions.len() {
            quietly("delpart", &[text(&self.device), &number.to_string()]);
        }
        quietly("losetup", &["--detach", text(&self.device)]);
    }
}

/// A mounted file system.
pub struct Mount {
    point: PathBuf,
}

impl Mount {
    /// Makes an ext4 file system on `device` and mounts it at the new folder `point`.
    ///
    /// # Panics
    /// Without root, or when the system refuses.
    #[track_caller]
    pub fn ext4(device: &Path, point: &Path) -> Mount {
        need_root();
        tool("mkfs.ext4", &["-q", "-F", text(device)]);
        Mount::attach(&[text(device)], point)
    }

    /// Mounts a tmpfs of `bytes` at the new folder `point`.
    ///
    /// # Panics
    /// As [`Mount::ext4`].
    #[track_caller]
    pub fn tmpfs(bytes: u64, point: &Path) -> Mount {
        Mount::attach(&["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"], point)
    }

    /// Makes `source` appear at the new folder `point`, too.
    ///
    /// # Panics
    /// As [`Mount::ext4`].
    #[track_caller]
    pub fn bind(source: &Path, point: &Path) -> Mount {
        Mount::attach(&["--bind", text(source)], point)
    }

    #[track_caller]
    fn attach(what: &[&str], point: &Path) -> Mount {
        need_root();
        fs::create_dir(point).expect("the mount point is new");
        let mut arguments = what.to_vec();
        arguments.push(text(point));
        tool("mount", &arguments);
        Mount { point: point.to_owned() }
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.point
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        quietly("umount", &[text(&self.point)]);
    }
}

/// Swap that is in use.
pub struct Swap {
    path: PathBuf,
}

impl Swap {
    /// Makes `path`, a device or a file without holes, a swap area and uses it.
    ///
    /// # Panics
    /// Without root, or when the system refuses.
    #[track_caller]
    pub fn on(path: &Path) -> Swap {
        need_root();
        tool("mkswap", &[text(path)]);
        tool("swapon", &[text(path)]);
        Swap { path: path.to_owned() }
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        quietly("swapoff", &[text(&self.path)]);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are UTF-8")
}

/// Runs a tool of the system and gives what it prints.
#[track_caller]
fn tool(name: &str, arguments: &[&str]) -> String {
    let output = Command::new(name).args(arguments).output();
    let output =
        output.unwrap_or_else(|e| panic!("cannot start {name}: {e}; tests/run installs what is missing"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {} failed: {said}", arguments.join(" "));
    String::from_utf8(output.stdout).expect("tools write UTF-8")
}

/// Takes something away. A failure is told, but cannot be mended here.
fn quietly(name: &str, arguments: &[&str]) {
    // What has just been in use may be busy for a moment.
    for _ in 0..20 {
        if Command::new(name).args(arguments).output().is_ok_and(|output| output.status.success()) {
            return;
        }
        thread::sleep(time::Duration::from_millis(50));
    }
    eprintln!("left behind: {name} {} failed", arguments.join(" "));
}

#[track_caller]
fn wait_for(node: &Path) {
    for _ in 0..100 {
        if node.exists() {
            return;
        }
        thread::sleep(time::Duration::from_millis(20));
    }
    panic!("{} did not appear", node.display());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Folder;

    fn in_use(path: &str, what: &Path) -> bool {
        fs::read_to_string(path).unwrap().contains(text(what))
    }

    #[test]
    fn everything_goes_away_again() {
        let folder = Folder::new();
        let (node, partition) = {
            let mut device = Loop::new(&folder.path("backing"), 32 << 20);
            let node = device.path().to_owned();
            let partition = device.partition(1 << 20, 8 << 20);
            let mount = Mount::ext4(&node, &folder.path("mounted"));
            assert!(in_use("/proc/self/mounts", &node));
            let bound = Mount::bind(mount.path(), &folder.path("bound"));
            fs::write(bound.path().join("x"), "seen twice").unwrap();
            assert_eq!(fs::read_to_string(mount.path().join("x")).unwrap(), "seen twice");
            assert!(device.bytes_read_and_written().1 > 0);
            assert!(fs::read_link(format!("/sys/class/block/{}", device.name())).is_ok());
            (node, partition)
        };
        assert!(!in_use("/proc/self/mounts", &node));
        assert!(!partition.exists());
    }

    #[test]
    fn swap_goes_away_again() {
        let folder = Folder::new();
        let device = Loop::new(&folder.path("backing"), 16 << 20);
        let swap = Swap::on(device.path());
        assert!(in_use("/proc/swaps", device.path()));
        drop(swap);
        assert!(!in_use("/proc/swaps", device.path()));
    }

    #[test]
    fn a_tmpfs_has_its_size() {
        let folder = Folder::new();
        let mount = Mount::tmpfs(1 << 20, &folder.path("small"));
        assert!(fs::write(mount.path().join("large"), vec![0; 2 << 20]).is_err());
    }
}
