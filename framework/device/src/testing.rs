//! What tests of devices need, here and in other crates: root, and disks of their own that leave nothing
//! behind.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::DeviceError;
use crate::undo::{LoopDevice, LoopOptions};

/// Fails the calling test unless it runs as root: a test that cannot run must not look as if it had passed.
///
/// # Panics
/// When the effective user is not root; the text names the test.
pub fn require_root() {
    if !rustix::process::geteuid().is_root() {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("this test");
        panic!("{test} was not run: it needs root, for it makes loop devices and mounts");
    }
}

/// A folder of its own in `/var/tmp` (never in memory), removed on drop.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes it.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn new() -> Result<Self, DeviceError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = PathBuf::from(format!("/var/tmp/iodyno-test-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Folder(path)),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(DeviceError::system("make", &path, e)),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A path in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Not across mounts: what is mounted there and could not be unmounted is not ours to empty.
        let _ = remove_below(&self.0);
    }
}

fn remove_below(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let device = fs::symlink_metadata(folder)?.dev();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let metadata = fs::symlink_metadata(&path)?;
        match metadata.is_dir() {
            true if metadata.dev() == device => remove_below(&path)?,
            true => {}
            false => fs::remove_file(&path)?,
        }
    }
    fs::remove_dir(folder)
}

/// A disk of one's own: a loop device on a file in a [`Folder`]. All of it is gone on drop.
#[derive(Debug)]
pub struct Disk {
    device: LoopDevice,
    folder: Folder,
}

impl Disk {
    /// Makes one of `size_bytes`, all zeroes.
    ///
    /// # Errors
    /// When the system refuses; it needs root.
    pub fn new(size_bytes: u64, options: LoopOptions) -> Result<Self, DeviceError> {
        let folder = Folder::new()?;
        let path = folder.join("disk");
        let file = File::create_new(&path).map_err(|e| DeviceError::system("make", &path, e))?;
        file.set_len(size_bytes).map_err(|e| DeviceError::system("make", &path, e))?;
        Ok(Disk { device: LoopDevice::attach(&path, options)?, folder })
    }

    /// Path of the device.
    pub fn path(&self) -> &Path {
        self.device.path()
    }

    /// Path of the file behind it.
    pub fn backing_file(&self) -> PathBuf {
        self.folder.join("disk")
    }

    /// The loop device.
    pub fn device(&self) -> &LoopDevice {
        &self.device
    }

    /// The folder that holds the file, for more files that belong to the test.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }
}
