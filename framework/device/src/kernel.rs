//! Kernel calls that no safe crate offers: loop devices, partitions, leases, swap.
#![expect(unsafe_code, reason = "ioctl, fcntl and swapon are foreign functions")]

use std::ffi::CString;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::ioctl::opcode;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LoopInfo {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// `struct blkpg_ioctl_arg`.
#[repr(C)]
struct PartitionCall {
    op: i32,
    flags: i32,
    data_len: i32,
    data: *mut PartitionData,
}

/// `struct blkpg_partition`.
#[repr(C)]
struct PartitionData {
    start: i64,
    length: i64,
    number: i32,
    device_name: [u8; 64],
    volume_name: [u8; 64],
}

const _: () = assert!(size_of::<LoopInfo>() == 232 && size_of::<LoopConfig>() == 304);
const _: () = assert!(size_of::<PartitionData>() == 152);

const LOOP_CLR_FD: u32 = 0x4C01;
const LOOP_GET_STATUS64: u32 = 0x4C05;
const LOOP_CONFIGURE: u32 = 0x4C0A;
const LOOP_CTL_GET_FREE: u32 = 0x4C82;
const BLKPG: u32 = opcode::none(0x12, 105);
const BLKPG_ADD_PARTITION: i32 = 1;
const BLKPG_DEL_PARTITION: i32 = 2;
const F_SETSIG: i32 = 10;

/// Loop device flags of the kernel.
pub(crate) const LOOP_READ_ONLY: u32 = 1;
pub(crate) const LOOP_AUTO_CLEAR: u32 = 4;
pub(crate) const LOOP_PARTITIONS: u32 = 8;
pub(crate) const LOOP_DIRECT_IO: u32 = 16;

fn checked(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// What a loop device stands on.
pub(crate) fn loop_status(device: impl AsFd) -> io::Result<LoopInfo> {
    let mut info = empty_loop_info();
    let fd = device.as_fd().as_raw_fd();
    // SAFETY: `info` is a writable `loop_info64`, its size asserted above; the kernel keeps no pointer.
    checked(unsafe { libc::ioctl(fd, LOOP_GET_STATUS64 as libc::Ioctl, &raw mut info) })?;
    Ok(info)
}

/// Number of a loop device that is free now; another process may take it first.
pub(crate) fn loop_free_number(control: impl AsFd) -> io::Result<u32> {
    // SAFETY: this request takes no argument.
    let number =
        checked(unsafe { libc::ioctl(control.as_fd().as_raw_fd(), LOOP_CTL_GET_FREE as libc::Ioctl) })?;
    Ok(number as u32)
}

/// Puts a file behind a free loop device. `EBUSY` = it is no longer free.
pub(crate) fn loop_attach(device: impl AsFd, file: impl AsFd, flags: u32, block_size: u32) -> io::Result<()> {
    let info = LoopInfo { flags, ..empty_loop_info() };
    let config = LoopConfig { fd: file.as_fd().as_raw_fd() as u32, block_size, info, reserved: [0; 8] };
    let fd = device.as_fd().as_raw_fd();
    // SAFETY: `config` is a readable `loop_config`, its size asserted above; the kernel keeps no pointer.
    checked(unsafe { libc::ioctl(fd, LOOP_CONFIGURE as libc::Ioctl, &raw const config) })?;
    Ok(())
}

/// Takes the file from behind a loop device, at its last close if it is still in use.
pub(crate) fn loop_detach(device: impl AsFd) -> io::Result<()> {
    // SAFETY: this request takes no argument.
    checked(unsafe { libc::ioctl(device.as_fd().as_raw_fd(), LOOP_CLR_FD as libc::Ioctl) })?;
    Ok(())
}

fn empty_loop_info() -> LoopInfo {
    LoopInfo {
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        size_limit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: 0,
        file_name: [0; 64],
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    }
}

/// Tells the kernel of a partition, without any partition table.
pub(crate) fn partition_add(
    disk: impl AsFd,
    number: u32,
    start_bytes: u64,
    len_bytes: u64,
) -> io::Result<()> {
    partition_call(disk, BLKPG_ADD_PARTITION, number, start_bytes, len_bytes)
}

/// Makes the kernel forget a partition.
pub(crate) fn partition_remove(disk: impl AsFd, number: u32) -> io::Result<()> {
    partition_call(disk, BLKPG_DEL_PARTITION, number, 0, 0)
}

fn partition_call(disk: impl AsFd, op: i32, number: u32, start: u64, len: u64) -> io::Result<()> {
    let mut data = PartitionData {
        start: start as i64,
        length: len as i64,
        number: number as i32,
        device_name: [0; 64],
        volume_name: [0; 64],
    };
    let call =
        PartitionCall { op, flags: 0, data_len: size_of::<PartitionData>() as i32, data: &raw mut data };
    // SAFETY: `call` is a readable `blkpg_ioctl_arg` and points to a `blkpg_partition` of the size it tells.
    checked(unsafe { libc::ioctl(disk.as_fd().as_raw_fd(), BLKPG as libc::Ioctl, &raw const call) })?;
    Ok(())
}

/// Whether nobody else has the file open, in any process, in any mount namespace, or within the kernel.
///
/// A write lease is given only to the sole opener. It is given back at once. Errors: `EINVAL` where the file
/// system has no leases, `EACCES` for somebody else's file.
pub(crate) fn is_sole_opener(file: impl AsFd) -> io::Result<bool> {
    let fd = file.as_fd().as_raw_fd();
    let call = |command: i32, argument: i32| {
        // SAFETY: these commands take a number; the descriptor is open, for `file` is borrowed.
        checked(unsafe { libc::fcntl(fd, command, argument) })
    };
    // Somebody who opens the file in this moment makes the kernel send a signal, by default one that kills.
    call(F_SETSIG, libc::SIGURG)?;
    let sole = match call(libc::F_SETLEASE, libc::F_WRLCK) {
        Ok(_) => call(libc::F_SETLEASE, libc::F_UNLCK).map(|_| true),
        Err(e) if e.raw_os_error() == Some(libc::EAGAIN) => Ok(false),
        Err(e) => Err(e),
    };
    call(F_SETSIG, 0)?;
    sole
}

/// Starts swapping on a device or file.
pub(crate) fn swap_on(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `path` is a C string that lives through the call.
    checked(unsafe { libc::swapon(path.as_ptr(), 0) })?;
    Ok(())
}

/// Stops swapping on a device or file.
pub(crate) fn swap_off(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `path` is a C string that lives through the call.
    checked(unsafe { libc::swapoff(path.as_ptr()) })?;
    Ok(())
}
