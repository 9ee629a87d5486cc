//! The guard on block devices, real ones: loop devices of the test's own. Nothing may be written to what is
//! refused.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use iodyno_device::testing::{Disk, Folder, require_root};
use iodyno_device::undo::{LoopDevice, LoopOptions, Mount, Swap, Zram, make_file_system, make_swap};
use iodyno_device::{DeviceError, open_read, open_write, probe};
use iodyno_record::NoteLevel;
use support::*;

const PARTITIONS: LoopOptions =
    LoopOptions { direct_io: false, partitions: true, read_only: false, logical_block_bytes: 0 };

fn disk() -> Disk {
    Disk::new(32 * MIB, LoopOptions::default()).unwrap()
}

fn folder_in(folder: &Folder, name: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    fs::create_dir(&path).unwrap();
    path
}

/// Mounts an ext4 that the kernel leaves alone when nobody writes to it.
fn mount_ext4(device: &Path, point: &Path) -> Mount {
    Mount::new(device, point, "ext4", "noinit_itable").unwrap()
}

#[test]
fn a_granted_device_is_held_exclusively() {
    require_root();
    let disk = disk();
    let target = open_for_writing(disk.path(), &grant(disk.path()));
    assert_eq!(target.grant().unwrap().why(), "--allow-destroy");
    assert_eq!(write_block(&target, 7).unwrap(), 4096);
    assert_eq!(refused(disk.path(), &grant(disk.path())), ["busy"], "by ourselves");
    make_file_system("ext4", &disk.folder().join("none")).unwrap_err();
    let point = folder_in(disk.folder(), "point");
    Mount::new(disk.path(), &point, "ext4", "").expect_err("it is claimed");
    drop(target);
    let mut block = vec![0; 4096];
    rustix::fs::sync();
    File::open(disk.backing_file()).unwrap().read_exact_at(&mut block, 0).unwrap();
    assert_eq!(block, [7; 4096]);
    assert_eq!(refused(disk.path(), &grant(disk.path())), [""; 0]);
}

#[test]
fn without_a_grant() {
    require_root();
    let (disk, other) = (disk(), disk());
    let before = Untouched::new(&disk.backing_file());
    assert_eq!(refused(disk.path(), &no_grants()), ["not_granted"]);
    assert_eq!(refused(disk.path(), &grant(other.path())), ["not_granted"], "another device is named");
    assert_eq!(refused(disk.path(), &grant(&disk.backing_file())), ["not_granted"], "its file is named");
    assert_eq!(
        refused(disk.path(), &grant(Path::new("/dev/loop99999"))),
        ["not_granted"],
        "nothing is named"
    );
    let text = refusal_text(disk.path(), &grant(other.path()));
    let path = disk.path().display();
    assert!(text.starts_with(&format!("{path} (33.55 MB) will not be written to:\n  - ")), "{text}");
    assert!(text.contains(&format!("({} is something else)", other.path().display())), "{text}");
    assert!(text.ends_with(&format!("add `--allow-destroy {path}`")), "{text}");
    before.check();
}

#[test]
fn every_alias_of_a_mounted_device() {
    require_root();
    let disk = disk();
    make_file_system("ext4", disk.path()).unwrap();
    let folder = disk.folder();
    let (point, second) = (folder_in(folder, "point"), folder_in(folder, "second"));
    let (link, node, bound) = (folder.join("link"), folder.join("node"), folder.join("bound"));
    symlink(disk.path(), &link).unwrap();
    let number = fs::metadata(disk.path()).map(|m| std::os::unix::fs::MetadataExt::rdev(&m)).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &node, rustix::fs::FileType::BlockDevice, mode, number).unwrap();
    File::create(&bound).unwrap();
    let _bound = Mount::bind(disk.path(), &bound).unwrap();
    let relative = Path::new("/dev/../dev/.").join(disk.path().file_name().unwrap());
    let mounted = mount_ext4(disk.path(), &point);
    let before = Untouched::new(&disk.backing_file());

    let expected = ["mounted", "signature", "busy"];
    for alias in [disk.path(), &link, &node, &bound, &relative] {
        assert_eq!(refused(alias, &grant(alias)), expected, "{}", alias.display());
        assert_eq!(refused(alias, &grant(disk.path())), expected, "{}", alias.display());
        assert_eq!(refused(disk.path(), &grant(alias)), expected, "{}", alias.display());
        assert_eq!(
            refused(alias, &grant_and_wipe(alias, &["ext4"])),
            ["mounted", "busy"],
            "{}",
            alias.display()
        );
        assert_eq!(refused(alias, &no_grants()), ["not_granted", "mounted", "signature", "busy"]);
    }
    // Only a bind mount of a folder in it is left.
    let bind = Mount::bind(&point, &second).unwrap();
    drop(mounted);
    assert_eq!(refused(disk.path(), &grant(disk.path())), expected);
    assert!(refusal_text(disk.path(), &no_grants()).contains(&second.display().to_string()));
    before.check();
    drop(bind);
    assert_eq!(refused(&node, &grant_and_wipe(&link, &["ext4"])), [""; 0], "unmounted, by any alias");
    open_for_writing(&relative, &grant_and_wipe(&bound, &["ext4"]));
}

#[test]
fn a_device_mounted_where_we_cannot_see_it() {
    require_root();
    let disk = disk();
    make_file_system("ext4", disk.path()).unwrap();
    let point = folder_in(disk.folder(), "point");
    let mounted = mount_ext4(disk.path(), &point);
    // A process that stays in the folder keeps the file system alive after it has left the tree of mounts.
    let _inside = Running::new(Command::new("sleep").arg("60").current_dir(&point));
    drop(mounted);
    assert!(!fs::read_to_string("/proc/self/mountinfo").unwrap().contains(point.to_str().unwrap()));
    let before = Untouched::new(&disk.backing_file());
    assert_eq!(refused(disk.path(), &grant_and_wipe(disk.path(), &["ext4"])), ["busy"]);
    before.check();
}

#[test]
fn partitions() {
    require_root();
    let disk = Disk::new(32 * MIB, PARTITIONS).unwrap();
    let first = disk.device().add_partition(1, MIB, 16 * MIB).unwrap();
    let second = disk.device().add_partition(2, 17 * MIB, 8 * MIB).unwrap();
    make_file_system("ext4", first.path()).unwrap();
    let point = folder_in(disk.folder(), "point");
    let mounted = mount_ext4(first.path(), &point);
    let before = Untouched::new(&disk.backing_file());
    assert_eq!(refused(first.path(), &grant(first.path())), ["mounted", "signature", "busy"]);
    assert_eq!(refused(disk.path(), &grant(disk.path())), ["mounted", "busy"], "the whole disk");
    let name = first.path().file_name().unwrap().to_str().unwrap();
    let text = refusal_text(disk.path(), &grant(disk.path()));
    assert!(text.contains(&format!("its partition {name} is mounted on {}", point.display())), "{text}");
    assert_eq!(
        refused(second.path(), &grant(disk.path())),
        ["not_granted"],
        "a disk's grant is not its partition's"
    );
    assert_eq!(refused(disk.path(), &grant(second.path())), ["not_granted", "mounted", "busy"]);
    before.check();
    assert_eq!(refused(second.path(), &grant(second.path())), [""; 0], "the neighbour is free");
    let target = open_for_writing(second.path(), &grant(second.path()));
    assert_eq!(target.facts().size_bytes, 8 * MIB);
    drop((target, mounted));

    // Now the whole disk is mounted, and the partition with it.
    make_file_system("ext4", disk.path()).unwrap();
    let _mounted = mount_ext4(disk.path(), &point);
    let codes = refused(second.path(), &grant(second.path()));
    assert!(codes.contains(&"mounted") && codes.contains(&"busy"), "{codes:?}");
}

#[test]
fn swap_on_a_device() {
    require_root();
    let disk = disk();
    make_swap(disk.path()).unwrap();
    let swap = Swap::on(disk.path()).unwrap();
    let node = disk.folder().join("node");
    symlink(disk.path(), &node).unwrap();
    let before = Untouched::new(&disk.backing_file());
    for alias in [disk.path(), &node] {
        assert_eq!(refused(alias, &grant(alias)), ["swap", "signature", "busy"]);
        assert_eq!(refused(alias, &grant_and_wipe(alias, &["swap"])), ["swap", "busy"]);
    }
    before.check_header();
    drop(swap);
    assert_eq!(refused(disk.path(), &grant(disk.path())), ["signature"]);
    assert_eq!(
        refused(disk.path(), &grant_and_wipe(disk.path(), &["Swap", "swap2"])),
        ["signature"],
        "exact names"
    );
    assert_eq!(refused(disk.path(), &grant_and_wipe(disk.path(), &["swap"])), [""; 0]);
}

#[test]
fn an_exclusively_held_device() {
    require_root();
    let disk = disk();
    let before = Untouched::new(&disk.backing_file());
    let holder = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(disk.path()).unwrap();
    assert_eq!(refused(disk.path(), &grant(disk.path())), ["busy"]);
    before.check();
    drop(holder);
    assert_eq!(refused(disk.path(), &grant(disk.path())), [""; 0]);
}

#[test]
fn a_device_that_another_process_writes_to() {
    require_root();
    let disk = Disk::new(32 * MIB, PARTITIONS).unwrap();
    let part = disk.device().add_partition(1, MIB, 16 * MIB).unwrap();
    let before = Untouched::new(&disk.backing_file());
    let hold = |path: &Path, write: bool| {
        let file = OpenOptions::new().read(true).write(write).open(path).unwrap();
        Running::new(Command::new("sleep").arg("60").stdin(file))
    };
    let reader = hold(disk.path(), false);
    assert_eq!(refused(disk.path(), &grant(disk.path())), [""; 0], "readers do no harm");
    drop(reader);
    for (held, target) in [(disk.path(), disk.path()), (disk.path(), part.path()), (part.path(), disk.path())]
    {
        let writer = hold(held, true);
        assert_eq!(refused(target, &grant(target)), ["in_use"]);
        let text = refusal_text(target, &grant(target));
        assert!(text.contains(&format!("sleep ({}) has it open", writer.0.id())), "{text}");
    }
    before.check();
    assert_eq!(refused(disk.path(), &grant(disk.path())), [""; 0]);
}

#[test]
fn loop_devices_on_devices_and_files() {
    require_root();
    let disk = disk();
    make_file_system("ext4", disk.path()).unwrap();
    let point = folder_in(disk.folder(), "point");
    let upper = LoopDevice::attach(disk.path(), LoopOptions::default()).unwrap();
    let twin = LoopDevice::attach(&disk.backing_file(), LoopOptions::default()).unwrap();
    let _mounted = mount_ext4(twin.path(), &point);
    let before = Untouched::new(&disk.backing_file());
    // upper -> disk -> file <- twin: writing to any of them changes the mounted file system.
    let all = |path: &Path| refused(path, &grant_and_wipe(path, &["ext4"]));
    assert_eq!(all(twin.path()), ["mounted", "loop", "busy"], "by its other loop device");
    assert_eq!(all(disk.path()), ["loop", "loop"], "it has one above, and its file another one");
    assert_eq!(all(upper.path()), ["loop"], "what is behind it has another one");
    assert_eq!(all(&disk.backing_file()), ["loop", "loop", "in_use"]);
    before.check();
}

#[test]
fn signatures_are_named_one_by_one() {
    require_root();
    let disk = disk();
    let end = 32 * MIB;
    for (offset, bytes) in [
        (512, &b"EFI PART"[..]),
        (end - 512, b"EFI PART"),
        (0x218, b"LVM2 001"),
        (0x1_0040, b"_BHRfS_M"),
        (end - 4096 + 60, &[0x83, 0x74, 0x02, 0x6b]),
    ] {
        OpenOptions::new().write(true).open(disk.path()).unwrap().write_all_at(bytes, offset).unwrap();
    }
    let before = Untouched::new(&disk.backing_file());
    let codes = |names: &[&str]| refused(disk.path(), &grant_and_wipe(disk.path(), names)).len();
    assert_eq!(codes(&[]), 4);
    assert_eq!(codes(&["gpt"]), 3);
    assert_eq!(codes(&["gpt", "LVM2_member", "btrfs"]), 1);
    assert_eq!(codes(&["all", "*", ""]), 4);
    let text = refusal_text(disk.path(), &grant(disk.path()));
    let expected = [
        format!(
            "it holds `gpt` (partition table, at byte 512, {}): if that can go, add `--wipe-signature gpt`",
            end - 512
        ),
        "it holds `LVM2_member` (volume member, at byte 536)".to_owned(),
        "it holds `btrfs` (file system, at byte 65600)".to_owned(),
        format!("it holds `drbd` (volume member, at byte {})", end - 4036),
    ];
    for line in expected {
        assert!(text.contains(&line), "{line}\n{text}");
    }
    before.check();
    assert_eq!(codes(&["drbd", "gpt", "LVM2_member", "btrfs"]), 0);
    open_for_writing(disk.path(), &grant_and_wipe(disk.path(), &["drbd", "gpt", "LVM2_member", "btrfs"]));
}

#[test]
fn real_file_systems_and_swap_are_recognised() {
    require_root();
    let disk = disk();
    for (make, name) in [("ext2", "ext2"), ("ext3", "ext3"), ("ext4", "ext4"), ("swap", "swap")] {
        let wipe = OpenOptions::new().write(true).open(disk.path()).unwrap();
        wipe.write_all_at(&vec![0; MIB as usize], 0).unwrap();
        drop(wipe);
        if make == "swap" {
            make_swap(disk.path()).unwrap()
        } else {
            make_file_system(make, disk.path()).unwrap()
        }
        let text = refusal_text(disk.path(), &grant(disk.path()));
        assert_eq!(text.matches("it holds").count(), 1, "{text}");
        assert!(text.contains(&format!("it holds `{name}` (")), "{text}");
    }
}

#[test]
fn reading_a_mounted_device() {
    require_root();
    let disk = disk();
    make_file_system("ext4", disk.path()).unwrap();
    let facts = probe("disk", disk.path()).unwrap();
    assert_eq!(open_read(&facts, true).unwrap().notes(), []);
    let point = folder_in(disk.folder(), "point");
    let _mounted = mount_ext4(disk.path(), &point);
    let before = Untouched::new(&disk.backing_file());
    let target = open_read(&facts, true).unwrap();
    let [note] = target.notes() else { panic!("{:?}", target.notes()) };
    assert_eq!((note.level, note.code.as_str()), (NoteLevel::Warning, "target_mounted"));
    assert!(note.text.contains(point.to_str().unwrap()), "{}", note.text);
    assert!(target.grant().is_none());
    assert_eq!(write_block(&target, 1), Err(rustix::io::Errno::BADF), "the kernel enforces it");
    // Nor can the descriptor be turned into one that writes.
    rustix::fs::fcntl_setfl(target.fd(), rustix::fs::OFlags::RDWR).unwrap();
    assert_eq!(write_block(&target, 1), Err(rustix::io::Errno::BADF));
    before.check();
}

#[test]
fn a_path_that_leads_elsewhere_since_it_was_probed() {
    require_root();
    let (disk, other) = (disk(), disk());
    let link = disk.folder().join("link");
    symlink(disk.path(), &link).unwrap();
    let facts = probe("disk", &link).unwrap();
    fs::remove_file(&link).unwrap();
    symlink(other.path(), &link).unwrap();
    let (before, other_before) =
        (Untouched::new(&disk.backing_file()), Untouched::new(&other.backing_file()));
    for grants in [grant(&link), grant(disk.path()), grant(other.path())] {
        let error = open_write(&facts, true, &grants).unwrap_err();
        assert!(matches!(error, DeviceError::Changed { what: "device number", .. }), "{error}");
        assert_eq!(iodyno_device::refusals(&facts, &grants)[0].code, "unknown");
    }
    assert!(matches!(open_read(&facts, true), Err(DeviceError::Changed { .. })));
    // A pipe or a character device must not even be opened: that may wait for ever, or do something.
    fs::remove_file(&link).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &link, rustix::fs::Mode::RWXU).unwrap();
    assert!(matches!(open_read(&facts, true), Err(DeviceError::Unsuitable { .. })));
    before.check();
    other_before.check();
}

#[test]
fn a_device_of_another_size_since_it_was_probed() {
    require_root();
    let small = disk();
    let mut facts = probe("disk", small.path()).unwrap();
    facts.size_bytes += 4096;
    let error = open_write(&facts, true, &grant(small.path())).unwrap_err();
    assert!(matches!(error, DeviceError::Changed { what: "size in bytes", .. }), "{error}");
}

#[test]
fn a_read_only_device() {
    require_root();
    let folder = Folder::new().unwrap();
    let image = folder.join("image");
    File::create(&image).unwrap().set_len(8 * MIB).unwrap();
    let device =
        LoopDevice::attach(&image, LoopOptions { read_only: true, ..LoopOptions::default() }).unwrap();
    let facts = probe("disk", device.path()).unwrap();
    let error = open_write(&facts, true, &grant(device.path())).unwrap_err().to_string();
    let expected =
        format!("cannot write to {}: read-only filesystem or storage medium; ", device.path().display());
    assert!(error.starts_with(&expected), "{error}");
    open_read(&facts, true).unwrap();
}

#[test]
fn zram() {
    require_root();
    let zram = Zram::new(16 * MIB).unwrap();
    assert_eq!(refused(zram.path(), &no_grants()), ["not_granted"]);
    let target = open_for_writing(zram.path(), &grant(zram.path()));
    assert_eq!(target.facts().granule_bytes, 4096);
    assert_eq!(write_block(&target, 1).unwrap(), 4096);
}

/// A process that is ended on drop.
struct Running(Child);

impl Running {
    fn new(command: &mut Command) -> Self {
        Running(command.stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
