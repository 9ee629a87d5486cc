use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use super::*;
use crate::made_up::System;
use crate::openers::{Access, openers};

trait Uses {
    fn uses_of(&self, object: Identity) -> Vec<String>;

    fn uses(&self, number: &str) -> Vec<String> {
        self.uses_of(Identity::Block(DeviceNumber::parse(number).unwrap()))
    }
}

impl Uses for System {
    fn uses_of(&self, object: Identity) -> Vec<String> {
        uses(&self.root(), object).unwrap().iter().map(|r| format!("{}: {}", r.code, r.text)).collect()
    }
}

const NOTHING: [&str; 0] = [];

fn file(path: &Path) -> Identity {
    Identity::of_path(path).unwrap()
}

#[test]
fn a_disk_and_its_partitions() {
    let mut system = System::new();
    system.disk("sda", "8:0").partition("sda", 1, "8:1").partition("sda", 2, "8:2").disk("sdb", "8:16");
    assert_eq!(system.uses("8:0"), NOTHING);
    system.mount("8:1", "/dev/sda1", r"/my\040data");
    assert_eq!(system.uses("8:1"), ["mounted: it is mounted on /my data: `umount` it first"]);
    assert_eq!(system.uses("8:0"), ["mounted: its partition sda1 is mounted on /my data: `umount` it first"]);
    assert_eq!(system.uses("8:2"), NOTHING, "the neighbour's mount is no use of this one");
    assert_eq!(system.uses("8:16"), NOTHING);
    system.mount("8:0", "/dev/sda", "/whole");
    let on_disk = "mounted: its disk sda is mounted on /whole: `umount` it first";
    assert_eq!(system.uses("8:2"), [on_disk]);
}

#[test]
fn a_device_that_sys_does_not_have() {
    let system = System::new();
    assert!(system.uses("8:0")[0].starts_with("unknown: "));
}

#[test]
fn tables_that_cannot_be_read_are_no_permission() {
    let system = System::new();
    system.disk("sda", "8:0");
    fs::remove_file(system.path("proc/self/mountinfo")).unwrap();
    assert!(uses(&system.root(), Identity::Block(DeviceNumber { major: 8, minor: 0 })).is_err());
}

#[test]
fn lvm_on_a_partition_of_a_raid() {
    let mut system = System::new();
    system.disk("sda", "8:0").partition("sda", 1, "8:1").disk("sdb", "8:16").disk("sdc", "8:32");
    system.disk("md0", "9:0").disk("dm-0", "252:0").disk("dm-1", "252:1");
    system.build("md0", "sda/sda1").build("md0", "sdb").build("dm-0", "md0").build("dm-1", "md0");
    system.mount("252:1", "/dev/mapper/vg-home", "/home");
    let part = |who: &str, of: &str| {
        format!(
            "held: {who} is part of {of}, mounted on /home: take that apart first (LVM, md, device mapper or bcache)"
        )
    };
    assert_eq!(system.uses("8:0"), [part("its partition sda1", "md0")]);
    assert_eq!(system.uses("8:1"), [part("it", "md0")]);
    assert_eq!(system.uses("8:16"), [part("it", "md0")]);
    assert_eq!(system.uses("9:0"), [part("it", "dm-0 and dm-1")]);
    assert_eq!(system.uses("252:1"), ["mounted: it is mounted on /home: `umount` it first"]);
    assert_eq!(system.uses("252:0"), NOTHING, "an unused volume beside one in use");
    assert_eq!(system.uses("8:32"), NOTHING);
}

#[test]
fn a_holder_without_any_mount() {
    let system = System::new();
    system.disk("sda", "8:0").disk("dm-0", "252:0").build("dm-0", "sda");
    assert!(system.uses("8:0")[0].starts_with("held: it is part of dm-0: "), "{:?}", system.uses("8:0"));
}

#[test]
fn a_volume_whose_disk_is_mounted_behind_its_back() {
    let mut system = System::new();
    system.disk("sda", "8:0").disk("dm-0", "252:0").disk("dm-1", "252:1");
    system.build("dm-0", "sda").build("dm-1", "dm-0");
    system.mount("8:0", "/dev/sda", "/mnt");
    let text = "mounted: sda below it is mounted on /mnt: `umount` it first";
    assert_eq!(system.uses("252:1"), [text]);
}

#[test]
fn two_paths_to_one_disk() {
    let mut system = System::new();
    system.disk("sda", "8:0").partition("sda", 1, "8:1").partition("sda", 2, "8:2");
    system.disk("sdb", "8:16").partition("sdb", 1, "8:17").partition("sdb", 2, "8:18").disk("sdc", "8:32");
    for (disk, wwid) in [("sda", "naa.5000"), ("sdb", "naa.5000"), ("sdc", "naa.6000")] {
        system.write(&format!("sys/devices/{disk}/device/wwid"), wwid);
    }
    system.mount("8:17", "/dev/sdb1", "/mnt");
    let text = "mounted: sdb1 (on another path to the same disk) is mounted on /mnt: `umount` it first";
    assert_eq!(system.uses("8:0"), [text]);
    assert_eq!(system.uses("8:1"), [text]);
    assert_eq!(system.uses("8:2"), NOTHING, "another part of it");
    assert_eq!(system.uses("8:32"), NOTHING, "another disk");
    system.disk("dm-0", "252:0").build("dm-0", "sdb");
    let held = "held: sdb (another path to the same disk) is part of dm-0";
    assert!(system.uses("8:2")[0].starts_with(held), "{:?}", system.uses("8:2"));
}

#[test]
fn btrfs_on_several_disks() {
    let mut system = System::new();
    system.disk("sda", "8:0").disk("sdb", "8:16").disk("sdc", "8:32");
    system.mount("0:45", "/dev/sda", "/pool");
    system.write("sys/fs/btrfs/features/raid56", "0");
    for disk in ["sda", "sdb"] {
        system.write(&format!("sys/fs/btrfs/0815/devices/{disk}/dev"), "");
    }
    assert!(system.uses("8:0")[0].starts_with("mounted: it is part of a mounted btrfs"));
    assert!(system.uses("8:16")[0].starts_with("mounted: it is part of a mounted btrfs"));
    assert_eq!(system.uses("8:32"), NOTHING);
}

#[test]
fn file_systems_that_make_up_a_device_number() {
    crate::testing::require_root();
    let mut system = System::new();
    system.disk("sda", "8:0").disk("sdb", "8:16").disk("sdc", "8:32");
    fs::create_dir(system.path("dev")).unwrap();
    for (name, minor) in [("pci-0000:00:1-scsi-0", 0), ("sdb", 16)] {
        let (path, number) = (system.path("dev").join(name), rustix::fs::makedev(8, minor));
        let (kind, mode) = (rustix::fs::FileType::BlockDevice, rustix::fs::Mode::empty());
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, number).unwrap();
    }
    system.mount("0:45", "/dev/pci-0000:00:1-scsi-0", "/btrfs");
    assert_eq!(system.uses("8:0"), ["mounted: it is mounted on /btrfs: `umount` it first"]);
    assert_eq!(system.uses("8:16"), NOTHING);
    system.mount("0:46", "/dev/pci-0000:00:1-scsi-0:/dev/sdb", "/bcachefs");
    assert_eq!(system.uses("8:16"), ["mounted: it is mounted on /bcachefs: `umount` it first"]);
    assert_eq!(system.uses("8:32"), NOTHING);
}

#[test]
fn loop_devices() {
    let mut system = System::new();
    system.write("image", "x");
    fs::hard_link(system.path("image"), system.path("same")).unwrap();
    system.write("other", "x");
    system.attach(0, "/image");
    let (image, other) = (file(&system.path("same")), file(&system.path("other")));
    assert_eq!(
        system.uses_of(image),
        ["loop: it is behind the loop device /dev/loop0: `losetup -d /dev/loop0` first"]
    );
    assert_eq!(system.uses_of(other), NOTHING);
    assert_eq!(system.uses("7:0"), NOTHING, "a loop device is not in use because it has a file");

    system.attach(1, "/same");
    let behind = "loop: /image behind it is behind the loop device /dev/loop1";
    assert!(system.uses("7:0")[0].starts_with(behind), "{:?}", system.uses("7:0"));

    system.mount("7:1", "/dev/loop1", "/mnt");
    assert!(system.uses("7:1")[0].starts_with("mounted: "));
}

#[test]
fn a_loop_device_that_does_not_tell_what_is_behind_it() {
    let system = System::new();
    system.write("file", "x");
    system.disk("sda", "8:0");
    system.attach(0, "/gone (deleted)");
    assert!(system.uses("8:0")[0].starts_with("unknown: "), "may be this disk");
    assert_eq!(system.uses_of(file(&system.path("file"))), NOTHING, "the lease tells for files");
}

#[test]
fn swap_files() {
    let system = System::new();
    system.write("var/swap file", "x");
    system.write("var/other", "x");
    fs::hard_link(system.path("var/swap file"), system.path("alias")).unwrap();
    let table =
        "Filename Type Size Used Priority\n/var/swap\\040file file 1024 0 -2\n/var/gone file 1 0 -3\n";
    system.write("proc/swaps", table);
    let used = system.uses_of(file(&system.path("alias")));
    assert!(used[0].starts_with("swap: it is swap space ("), "{used:?}");
    assert_eq!(system.uses_of(file(&system.path("var/other"))), NOTHING);
}

#[test]
fn processes_that_have_a_file_open() {
    let system = System::new();
    system.write("image", "x");
    let image = file(&system.path("image"));
    let open = |pid: &str, flags: &str| {
        system.write(&format!("proc/{pid}/comm"), "qemu\n");
        system.write(&format!("proc/{pid}/fdinfo/7"), &format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t27\n"));
        fs::create_dir_all(system.path(&format!("proc/{pid}/fd"))).unwrap();
        symlink(system.path("image"), system.path(&format!("proc/{pid}/fd/7"))).unwrap();
    };
    let seen = |access| openers(&system.root(), &[image], access);
    open(&std::process::id().to_string(), "0100002");
    open("4240", "012000000");
    assert_eq!(seen(Access::Any), NOTHING, "neither ourselves nor a path without an opening");
    open("4241", "0100000");
    assert_eq!(seen(Access::Any), ["qemu (4241)"]);
    assert_eq!(seen(Access::Write), NOTHING);
    open("4242", "02100001");
    assert_eq!(seen(Access::Write), ["qemu (4242)"]);
    assert!(fs::metadata(system.path("image")).unwrap().ino() > 0);
    assert_eq!(
        openers(&system.root(), &[Identity::Block(DeviceNumber { major: 8, minor: 0 })], Access::Any),
        NOTHING
    );
}
