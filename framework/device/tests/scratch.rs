//! Scratch files: made, filled, trusted, and not trusted any more.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use iodyno_device::scratch::{State, create, default_scratch_dir, mark_filled, state};
use iodyno_device::testing::{Disk, Folder, require_root};
use iodyno_device::undo::{LoopDevice, LoopOptions, Mount, make_file_system};
use iodyno_device::{DeviceError, Grants, OpenTarget, open_read, open_write, probe};
use rustix::fs::XattrFlags;
use support::*;

const ATTRIBUTE: &str = "user.iodyno.scratch";

/// Writes a file in full, as a run does, and says so.
fn fill(path: &Path, direct: bool) -> OpenTarget {
    let target = open_write(&probe("scratch", path).unwrap(), direct, &Grants::default()).unwrap();
    let memory = vec![0x5a; (2 * MIB) as usize];
    let start = memory.as_ptr().align_offset(4096);
    for offset in (0..target.facts().size_bytes).step_by(MIB as usize) {
        let len = (target.facts().size_bytes - offset).min(MIB) as usize;
        let written = rustix::io::pwrite(target.fd(), &memory[start..start + len], offset).unwrap();
        assert_eq!(written, len);
    }
    mark_filled(&target, true).unwrap();
    target
}

fn is_foreign<T: std::fmt::Debug>(result: Result<T, DeviceError>) {
    assert!(matches!(result, Err(DeviceError::Foreign { .. })), "{result:?}");
}

/// From nothing to trusted, to another size.
fn life_cycle(path: &Path, direct: bool) {
    let size = 4 * MIB;
    assert_eq!(state(path, size).unwrap(), State::Missing);
    create(path, size).unwrap();
    assert_eq!(state(path, size).unwrap(), State::NeedsFill);
    assert_eq!(fs::metadata(path).unwrap().len(), size);
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    create(path, size).unwrap();
    assert_eq!(state(path, size).unwrap(), State::NeedsFill, "made once");
    let target = fill(path, direct);
    assert_eq!(target.grant().unwrap().why(), "own scratch file");
    drop(target);
    assert_eq!(state(path, size).unwrap(), State::Ready);
    create(path, size).unwrap();
    assert_eq!(state(path, size).unwrap(), State::Ready, "kept for the next run");
    assert_eq!(fs::read(path).unwrap(), vec![0x5a; size as usize]);
    open_read(&probe("scratch", path).unwrap(), direct).unwrap();

    for other in [size + MIB, MIB] {
        assert_eq!(state(path, other).unwrap(), State::NeedsFill, "of another size");
        create(path, other).unwrap();
        assert_eq!(fs::metadata(path).unwrap().len(), other);
        assert_eq!(state(path, other).unwrap(), State::NeedsFill);
        drop(fill(path, direct));
        assert_eq!(state(path, other).unwrap(), State::Ready);
    }
    fs::remove_file(path).unwrap();
    assert_eq!(state(path, size).unwrap(), State::Missing);
    create(path, size).unwrap();
    assert_eq!(state(path, size).unwrap(), State::NeedsFill, "removed and made again");
}

#[test]
fn on_a_file_system_with_attributes() {
    let folder = Folder::new().unwrap();
    let path = folder.join("scratch");
    life_cycle(&path, true);
    assert!(!folder.join("scratch.iodyno").exists());
    let link = folder.join("link");
    symlink(&path, &link).unwrap();
    drop(fill(&path, true));
    assert_eq!(state(&link, 4 * MIB).unwrap(), State::Ready);
    create(&link, 8 * MIB).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "the file is replaced, not the link");
    assert_eq!(state(&path, 8 * MIB).unwrap(), State::NeedsFill);
}

#[test]
fn on_a_file_system_without_attributes() {
    require_root();
    let folder = Folder::new().unwrap();
    let _mounted = Mount::new(Path::new("none"), folder.path(), "ramfs", "").unwrap();
    let path = folder.join("scratch");
    life_cycle(&path, false);
    let sidecar = folder.join("scratch.iodyno");
    let text = fs::read_to_string(&sidecar).unwrap();
    assert!(text.starts_with("iodyno scratch 2 allocated size 4194304 inode "), "{text}");

    // A sidecar that somebody else can have written is worth nothing, nor one that is a symlink.
    assert_eq!(state(&path, 4 * MIB).unwrap(), State::NeedsFill);
    fs::set_permissions(&sidecar, fs::Permissions::from_mode(0o622)).unwrap();
    assert_eq!(state(&path, 4 * MIB).unwrap(), State::Foreign);
    fs::set_permissions(&sidecar, fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::chown(&sidecar, Some(65_534), None).unwrap();
    assert_eq!(state(&path, 4 * MIB).unwrap(), State::Foreign);
    std::os::unix::fs::chown(&sidecar, Some(0), None).unwrap();
    assert_eq!(state(&path, 4 * MIB).unwrap(), State::NeedsFill);
    fs::rename(&sidecar, folder.join("elsewhere")).unwrap();
    symlink(folder.join("elsewhere"), &sidecar).unwrap();
    state(&path, 4 * MIB).unwrap_err();
    assert_eq!(refused(&path, &no_grants())[0], "not_granted");
    fs::remove_file(&sidecar).unwrap();

    // Another file at the name does not inherit the mark.
    fs::rename(folder.join("elsewhere"), &sidecar).unwrap();
    assert_eq!(state(&path, 4 * MIB).unwrap(), State::NeedsFill);
    fs::rename(&path, folder.join("old")).unwrap();
    fs::write(&path, vec![1; 4 * MIB as usize]).unwrap();
    assert_eq!(state(&path, 4 * MIB).unwrap(), State::Foreign);
}

#[test]
fn a_file_of_somebody_else() {
    let folder = Folder::new().unwrap();
    let path = folder.join("data");
    fs::write(&path, vec![1; MIB as usize]).unwrap();
    let before = Untouched::new(&path);
    for size in [MIB, 2 * MIB] {
        assert_eq!(state(&path, size).unwrap(), State::Foreign);
        let error = create(&path, size).unwrap_err();
        let name = path.display();
        assert!(matches!(error, DeviceError::Foreign { .. }));
        let text = error.to_string();
        assert!(text.starts_with(&format!("{name} exists, and iodyno did not make it")), "{text}");
        assert!(text.ends_with(&format!("with `--target {name} --allow-destroy {name}`")), "{text}");
    }
    before.check();
    // A grant allows to write to it, but does not make it iodyno's.
    let target = open_write(&probe("x", &path).unwrap(), true, &grant(&path)).unwrap();
    is_foreign(mark_filled(&target, true));
    drop(target);
    assert_eq!(state(&path, MIB).unwrap(), State::Foreign);
    for (name, content) in [("empty", ""), ("text", "iodyno")] {
        fs::write(folder.join(name), content).unwrap();
        is_foreign(create(&folder.join(name), MIB));
    }
    is_foreign(create(folder.path(), MIB));
    symlink("nowhere", folder.join("dangling")).unwrap();
    assert!(matches!(create(&folder.join("dangling"), MIB), Err(DeviceError::Unsuitable { .. })));
    assert!(fs::symlink_metadata(folder.join("nowhere")).is_err());
}

#[test]
fn a_mark_does_not_travel() {
    let folder = Folder::new().unwrap();
    let (path, copy, other) = (folder.join("scratch"), folder.join("copy"), folder.join("other"));
    create(&path, MIB).unwrap();
    drop(fill(&path, true));

    let copied = Command::new("cp").args(["-a", "--sparse=never"]).args([&path, &copy]).status().unwrap();
    assert!(copied.success());
    let mut mark = [0; 1024];
    assert!(rustix::fs::getxattr(&copy, ATTRIBUTE, &mut mark[..]).is_ok(), "the copy has the attribute");
    assert_eq!(state(&copy, MIB).unwrap(), State::Foreign);
    is_foreign(create(&copy, 2 * MIB));
    assert_eq!(refused(&copy, &no_grants()), ["not_granted"]);

    // Somebody's data was copied over the scratch file: inode and attribute stay.
    fs::write(&other, vec![7; 300_000]).unwrap();
    fs::copy(&other, &path).unwrap();
    assert_eq!(state(&path, MIB).unwrap(), State::Foreign);
    assert_eq!(refused(&path, &no_grants()), ["not_granted"]);
    is_foreign(create(&path, MIB));
    assert_eq!(fs::read(&path).unwrap(), vec![7; 300_000]);
}

#[test]
fn marks_that_make_no_sense() {
    let folder = Folder::new().unwrap();
    let path = folder.join("file");
    fs::write(&path, vec![1; MIB as usize]).unwrap();
    let long = "x".repeat(4000);
    let marks = ["", "iodyno", "iodyno scratch 2 filled size 1 inode 1 device 0:0 birth -", &long];
    for mark in marks {
        rustix::fs::setxattr(&path, ATTRIBUTE, mark.as_bytes(), XattrFlags::empty()).unwrap();
        assert_eq!(state(&path, MIB).unwrap(), State::Foreign, "{mark:?}");
        assert_eq!(refused(&path, &no_grants()), ["not_granted"], "{mark:?}");
    }
}

#[test]
fn a_run_that_was_killed_while_it_made_the_file() {
    let folder = Folder::new().unwrap();
    let path = folder.join("scratch");
    create(&path, MIB).unwrap();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
    assert_eq!(state(&path, MIB).unwrap(), State::NeedsFill);
    // While the other run is still alive, it holds the lock.
    let held = File::open(&path).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert!(matches!(create(&path, MIB), Err(DeviceError::Refused { .. })));
    drop(held);
    create(&path, MIB).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), MIB);
}

#[test]
fn trust_does_not_excuse_use() {
    require_root();
    let folder = Folder::new().unwrap();
    let path = folder.join("scratch");
    create(&path, 32 * MIB).unwrap();
    drop(fill(&path, true));
    let device = LoopDevice::attach(&path, LoopOptions::default()).unwrap();
    assert_eq!(refused(&path, &no_grants()), ["loop", "in_use"]);
    assert!(matches!(create(&path, MIB), Err(DeviceError::Refused { .. })), "nor is it replaced");
    assert_eq!(fs::metadata(&path).unwrap().len(), 32 * MIB);
    // Somebody keeps a file system in it now.
    make_file_system("ext4", device.path()).unwrap();
    drop(device);
    assert_eq!(refused(&path, &no_grants()), ["not_granted", "signature"]);
    is_foreign(create(&path, MIB));
    assert_eq!(fs::metadata(&path).unwrap().len(), 32 * MIB);

    let (second, third) = (folder.join("second"), folder.join("third"));
    create(&second, MIB).unwrap();
    fs::hard_link(&second, &third).unwrap();
    assert_eq!(refused(&second, &no_grants()), ["hard_links"]);
}

/// Keeps inode, birth, attribute and size, but not the time of the last write.
#[test]
fn what_somebody_else_wrote_into_is_foreign() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 4] = [
        ("written over", |path| fs::write(path, vec![7; 4 << 20]).unwrap()),
        ("one byte", |path| {
            OpenOptions::new().write(true).open(path).unwrap().write_all_at(b"x", 9).unwrap()
        }),
        ("cut and grown", |path| {
            let file = OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(0).unwrap();
            file.set_len(4 << 20).unwrap();
        }),
        ("a hole", |path| {
            let file = OpenOptions::new().write(true).open(path).unwrap();
            let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
            rustix::fs::fallocate(&file, flags, 0, 1 << 20).unwrap();
        }),
    ];
    for (name, change) in changes {
        let folder = Folder::new().unwrap();
        let path = folder.join("scratch");
        create(&path, 4 * MIB).unwrap();
        drop(fill(&path, true));
        assert_eq!(state(&path, 4 * MIB).unwrap(), State::Ready);
        change(&path);
        assert_eq!(state(&path, 4 * MIB).unwrap(), State::Foreign, "{name}");
        assert_eq!(refused(&path, &no_grants()), ["not_granted"], "{name}");
        is_foreign(create(&path, MIB));
    }
}

#[test]
fn a_scratch_file_is_not_made_among_the_kernel_s() {
    for path in ["/dev/iodyno-scratch-test", "/proc/iodyno-scratch-test", "/sys/iodyno-scratch-test"] {
        let message = create(Path::new(path), MIB).unwrap_err().to_string();
        assert!(message.contains("would be a file of the kernel"), "{message}");
        assert!(!Path::new(path).exists());
    }
}

#[test]
fn two_runs_do_not_share_a_file() {
    let folder = Folder::new().unwrap();
    let path = folder.join("scratch");
    create(&path, MIB).unwrap();
    let first = fill(&path, true);
    let facts = probe("scratch", &path).unwrap();
    assert!(matches!(open_write(&facts, true, &Grants::default()), Err(DeviceError::Refused { .. })));
    assert!(
        matches!(create(&path, 2 * MIB), Err(DeviceError::Refused { .. })),
        "nor does one replace the other's"
    );
    drop(first);
    open_write(&facts, true, &Grants::default()).unwrap();
}

#[test]
fn free_space_is_checked_before_anything_is_made() {
    require_root();
    let disk = Disk::new(256 * MIB, LoopOptions::default()).unwrap();
    make_file_system("ext4", disk.path()).unwrap();
    for (source, kind, options) in [(disk.path(), "ext4", ""), (Path::new("none"), "tmpfs", "size=200m")] {
        let folder = Folder::new().unwrap();
        let _mounted = Mount::new(source, folder.path(), kind, options).unwrap();
        let path = folder.join("scratch");
        let space = rustix::fs::statvfs(folder.path()).unwrap();
        let free = space.f_bavail * space.f_frsize;
        match create(&path, free - 64 * MIB + 4096).unwrap_err() {
            DeviceError::NoSpace { needed_bytes, free_bytes, .. } => {
                assert_eq!((needed_bytes, free_bytes), (free + 4096, free));
            }
            other => panic!("{other}"),
        }
        assert!(matches!(create(&path, u64::MAX), Err(DeviceError::NoSpace { .. })));
        assert!(!path.exists());
        let text = create(&path, 1 << 40).unwrap_err().to_string();
        let needed = (1_u64 << 40) + (1 << 40) / 100;
        assert!(
            text.contains(&format!("needs {needed} bytes")) && text.contains(&format!("has {free} free")),
            "{text}"
        );

        create(&path, free - 64 * MIB).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), free - 64 * MIB);
        // What it gives up counts as free for its successor.
        create(&path, free - 64 * MIB - 4096 * 256).unwrap();
    }
}

#[test]
fn a_file_that_cannot_be_allocated_is_removed() {
    require_root();
    let folder = Folder::new().unwrap();
    // ramfs does not tell how much is free, and has no file that large.
    let _mounted = Mount::new(Path::new("none"), folder.path(), "ramfs", "").unwrap();
    let path = folder.join("scratch");
    let error = create(&path, u64::MAX).unwrap_err();
    assert!(matches!(error, DeviceError::System { what: "allocate", .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nor is its sidecar left");
}

#[test]
fn never_in_memory_by_default() {
    require_root();
    let folder = Folder::new().unwrap();
    assert_eq!(default_scratch_dir(folder.path()).unwrap(), (folder.path().to_owned(), None));
    for kind in ["tmpfs", "ramfs"] {
        let _mounted = Mount::new(Path::new("none"), folder.path(), kind, "").unwrap();
        let (chosen, note) = default_scratch_dir(folder.path()).unwrap();
        assert_eq!(chosen, Path::new("/var/tmp"));
        let text = note.unwrap().text;
        assert!(text.contains("is in memory, so the scratch file is in /var/tmp"), "{text}");
    }
}

#[test]
fn a_file_that_may_not_be_written_in_place_is_still_foreign() {
    let folder = Folder::new().unwrap();
    let path = folder.join("scratch");
    create(&path, MIB).unwrap();
    drop(fill(&path, true));
    // Grown by somebody: the tail is not ours.
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(b"mine", MIB).unwrap();
    drop(file);
    assert_eq!(state(&path, MIB).unwrap(), State::Foreign);
    assert_eq!(state(&path, MIB + 4).unwrap(), State::Foreign);
}
