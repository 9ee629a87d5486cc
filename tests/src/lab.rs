//! Devices and file systems that a test makes, may destroy, and takes away again whatever happens. All of it
//! needs root; a test that has none fails and says so, and `tests/run` names it.

#![expect(clippy::print_stderr, reason = "tests speak to whoever runs them")]

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
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
        // Two that look for a free one at the same time open the same one for a moment.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
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
        make_ext4(device);
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

    /// Makes the file or device `source` appear at the new file `point`, too.
    ///
    /// # Panics
    /// As [`Mount::ext4`].
    #[track_caller]
    pub fn bind_file(source: &Path, point: &Path) -> Mount {
        fs::File::create_new(point).expect("the mount point is new");
        Mount::on(&["--bind", text(source)], point)
    }

    #[track_caller]
    fn attach(what: &[&str], point: &Path) -> Mount {
        fs::create_dir(point).expect("the mount point is new");
        Mount::on(what, point)
    }

    #[track_caller]
    fn on(what: &[&str], point: &Path) -> Mount {
        need_root();
        let mut arguments = what.to_vec();
        arguments.push(text(point));
        tool("mount", &arguments);
        Mount { point: point.to_owned() }
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.point
    }

    /// Lets nothing be written to it any more.
    ///
    /// # Panics
    /// When the system refuses.
    #[track_caller]
    pub fn make_read_only(&self) {
        tool("mount", &["-o", "remount,ro", text(&self.point)]);
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        quietly("umount", &[text(&self.point)]);
    }
}

/// Makes an ext4 file system on `device`, to which the kernel writes nothing by itself once it is mounted.
///
/// # Panics
/// Without root, or when the system refuses.
#[track_caller]
pub fn make_ext4(device: &Path) {
    need_root();
    let now = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
    tool("mkfs.ext4", &["-q", "-F", "-E", now, text(device)]);
}

/// Makes another node for the device behind `device`.
///
/// # Panics
/// Without root, or when the system refuses.
#[track_caller]
pub fn make_node(device: &Path, node: &Path) {
    need_root();
    let number = fs::metadata(device).expect("the device is there").rdev();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let kind = rustix::fs::FileType::BlockDevice;
    rustix::fs::mknodat(rustix::fs::CWD, node, kind, mode, number).expect("the file system takes nodes");
}

/// A file that must come out of a test as it went in: content and times of change.
pub struct Untouched {
    path: PathBuf,
    content: Vec<u8>,
    times: [i64; 4],
}

impl Untouched {
    /// The file as it is now.
    ///
    /// # Panics
    /// When it cannot be read.
    #[track_caller]
    pub fn look(path: &Path) -> Untouched {
        rustix::fs::sync();
        let file = fs::metadata(path).expect("the file is there");
        let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()];
        Untouched { path: path.to_owned(), content: fs::read(path).expect("the file can be read"), times }
    }

    /// Demands that it is still the same.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn must_be_so(&self) {
        let now = Untouched::look(&self.path);
        assert!(now.content == self.content, "{} was written to", self.path.display());
        assert_eq!(now.times, self.times, "{} was touched", self.path.display());
    }

    /// Demands it of the first page only: to the rest of a swap area the kernel may write when it likes.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn must_begin_so(&self) {
        let now = Untouched::look(&self.path);
        assert!(now.content[..4096] == self.content[..4096], "{} was written to", self.path.display());
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
