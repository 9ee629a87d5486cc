//! Changes to the system that are taken back on drop: loop devices, partitions, file systems' mounts, swap,
//! zram. All of them need root.
//!
//! Declare them in the order in which they are made: Rust drops local variables in reverse.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::{MountFlags, UnmountFlags};

use crate::error::DeviceError;
use crate::kernel;

/// How a loop device is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopOptions {
    /// Whether the kernel bypasses the page cache below it (`losetup --direct-io=on`).
    pub direct_io: bool,
    /// Whether it can have partitions (`losetup -P`).
    pub partitions: bool,
    /// Whether it refuses writes.
    pub read_only: bool,
    /// Logical block in bytes; 0 = the kernel's choice, 512.
    pub logical_block_bytes: u32,
}

/// A loop device, detached on drop.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    device: File,
}

impl LoopDevice {
    /// Attaches a file or block device to a free loop device.
    ///
    /// # Errors
    /// When the system refuses; it needs root.
    pub fn attach(file: &Path, options: LoopOptions) -> Result<Self, DeviceError> {
        let open = |path: &Path, write: bool| {
            let opened = OpenOptions::new().read(true).write(write).open(path);
            opened.map_err(|e| DeviceError::system("open", path, e))
        };
        let control_path = Path::new("/dev/loop-control");
        let control = open(control_path, true)?;
        let backing = open(file, !options.read_only)?;
        let flags = [
            (true, kernel::LOOP_AUTO_CLEAR), // by the kernel, should this process be killed
            (options.direct_io, kernel::LOOP_DIRECT_IO),
            (options.partitions, kernel::LOOP_PARTITIONS),
            (options.read_only, kernel::LOOP_READ_ONLY),
        ];
        let flags = flags.iter().filter(|(wanted, _)| *wanted).map(|(_, flag)| flag).sum();
        // Another process may take the free one between the two calls.
        for _ in 0..100 {
            let number = kernel::loop_free_number(&control)
                .map_err(|e| DeviceError::system("find a free loop device by", control_path, e))?;
            let path = PathBuf::from(format!("/dev/loop{number}"));
            // Kept open for reading only, or the guard of another process would call it in use.
            let device = open(&path, false)?;
            match kernel::loop_attach(open(&path, true)?, &backing, flags, options.logical_block_bytes) {
                Ok(()) => return Ok(LoopDevice { path, device }),
                Err(e) if e.kind() == io::ErrorKind::ResourceBusy => {}
                Err(e) => return Err(DeviceError::system("attach to a loop device", file, e)),
            }
        }
        Err(DeviceError::system(
            "attach to a loop device",
            file,
            io::Error::from(io::ErrorKind::ResourceBusy),
        ))
    }

    /// Its path, such as `/dev/loop0`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Tells the kernel of a partition without writing a partition table; its path is the device's with `p`
    /// and the number. Start and length are in bytes.
    ///
    /// # Errors
    /// When the system refuses; the device must have been attached with [`LoopOptions::partitions`].
    pub fn add_partition(
        &self,
        number: u32,
        start_bytes: u64,
        len_bytes: u64,
    ) -> Result<LoopPartition<'_>, DeviceError> {
        let path = PathBuf::from(format!("{}p{number}", self.path.display()));
        kernel::partition_add(&self.device, number, start_bytes, len_bytes)
            .map_err(|e| DeviceError::system("add partition", &path, e))?;
        Ok(LoopPartition { path, number, disk: self })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        warn("detach", &self.path, kernel::loop_detach(&self.device));
    }
}

/// A partition of a loop device, removed on drop.
#[derive(Debug)]
pub struct LoopPartition<'a> {
    path: PathBuf,
    number: u32,
    disk: &'a LoopDevice,
}

impl LoopPartition<'_> {
    /// Its path, such as `/dev/loop0p1`.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LoopPartition<'_> {
    fn drop(&mut self) {
        warn("remove", &self.path, kernel::partition_remove(&self.disk.device, self.number));
    }
}

/// A mount, unmounted on drop.
#[derive(Debug)]
pub struct Mount {
    point: PathBuf,
}

impl Mount {
    /// Mounts a file system of type `filesystem` with its mount options on an existing folder.
    ///
    /// # Errors
    /// When the system refuses; it needs root.
    pub fn new(source: &Path, point: &Path, filesystem: &str, options: &str) -> Result<Self, DeviceError> {
        let options = std::ffi::CString::new(options).map_err(|e| DeviceError::system("mount", source, e))?;
        rustix::mount::mount(source, point, filesystem, MountFlags::empty(), options.as_c_str())
            .map_err(|e| DeviceError::system("mount", source, e))?;
        Ok(Mount { point: point.to_owned() })
    }

    /// Mounts a file or folder at a second place.
    ///
    /// # Errors
    /// When the system refuses; it needs root.
    pub fn bind(source: &Path, point: &Path) -> Result<Self, DeviceError> {
        rustix::mount::mount_bind(source, point).map_err(|e| DeviceError::system("mount", source, e))?;
        Ok(Mount { point: point.to_owned() })
    }

    /// Where.
    pub fn point(&self) -> &Path {
        &self.point
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Something may still have a file open there; it must not stay in the tree.
        let unmounted = rustix::mount::unmount(&self.point, UnmountFlags::empty())
            .or_else(|_| rustix::mount::unmount(&self.point, UnmountFlags::DETACH));
        warn("unmount", &self.point, unmounted.map_err(io::Error::from));
    }
}

/// Active swap space, switched off on drop.
#[derive(Debug)]
pub struct Swap {
    path: PathBuf,
}

impl Swap {
    /// Starts swapping on a file or device that [`make_swap`] prepared.
    ///
    /// # Errors
    /// When the system refuses; it needs root.
    pub fn on(path: &Path) -> Result<Self, DeviceError> {
        kernel::swap_on(path).map_err(|e| DeviceError::system("swap on", path, e))?;
        Ok(Swap { path: path.to_owned() })
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        warn("stop swapping on", &self.path, kernel::swap_off(&self.path));
    }
}

/// A compressed disk in memory, removed on drop.
#[derive(Debug)]
pub struct Zram {
    path: PathBuf,
    number: u32,
}

impl Zram {
    /// Makes one of `size_bytes`.
    ///
    /// # Errors
    /// When the kernel has no zram, or refuses; it needs root.
    pub fn new(size_bytes: u64) -> Result<Self, DeviceError> {
        let control = Path::new("/sys/class/zram-control/hot_add");
        let number = fs::read_to_string(control)
            .map_err(|e| DeviceError::system("make a zram device by", control, e))?;
        let number: u32 = number
            .trim()
            .parse()
            .map_err(|e| DeviceError::system("make a zram device by", control, io::Error::other(e)))?;
        let zram = Zram { path: PathBuf::from(format!("/dev/zram{number}")), number };
        let size = zram.attribute("disksize");
        fs::write(&size, size_bytes.to_string()).map_err(|e| DeviceError::system("write", &size, e))?;
        Ok(zram)
    }

    /// Its path, such as `/dev/zram1`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn attribute(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/sys/block/zram{}/{name}", self.number))
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let removed = fs::write(self.attribute("reset"), "1")
            .and_then(|()| fs::write("/sys/class/zram-control/hot_remove", self.number.to_string()));
        warn("remove", &self.path, removed);
    }
}

/// Makes a file system of type `filesystem` (`ext4`, `xfs`, ...) with `mkfs`. What was there is lost.
///
/// # Errors
/// When `mkfs` for it is not there, or fails.
pub fn make_file_system(filesystem: &str, device: &Path) -> Result<(), DeviceError> {
    // Each asks differently to be allowed to overwrite.
    let force = if filesystem.starts_with("ext") { "-F" } else { "-f" };
    run(
        Command::new(format!("mkfs.{filesystem}")).args(["-q", force]).arg(device),
        "make a file system on",
        device,
    )
}

/// Prepares a file or device for swap with `mkswap`. What was there is lost.
///
/// # Errors
/// When `mkswap` is not there, or fails.
pub fn make_swap(path: &Path) -> Result<(), DeviceError> {
    run(Command::new("mkswap").arg(path), "prepare for swap", path)
}

fn run(command: &mut Command, what: &'static str, path: &Path) -> Result<(), DeviceError> {
    let output = command.output().map_err(|e| DeviceError::system(what, path, e))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(DeviceError::system(what, path, io::Error::other(text)))
}

fn warn(what: &str, path: &Path, result: io::Result<()>) {
    if let Err(e) = result {
        tracing::warn!("cannot {what} {}: {e}; do it by hand", path.display());
    }
}
