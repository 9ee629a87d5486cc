//! The guard on files: those that somebody else made, and what cannot be a target at all.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use iodyno_device::testing::{Disk, Folder, require_root};
use iodyno_device::undo::{LoopDevice, LoopOptions, Mount, Swap, make_file_system, make_swap};
use iodyno_device::{DeviceError, Grants, open_read, open_write, probe};
use iodyno_record::TargetKind;
use support::*;

/// Somebody's file, without anything in it that looks like a signature.
fn foreign(folder: &Folder, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, vec![0x11; MIB as usize]).unwrap();
    path
}

#[test]
fn a_foreign_file_needs_the_grant() {
    let folder = Folder::new().unwrap();
    let (file, other) = (foreign(&folder, "file"), foreign(&folder, "other"));
    let link = folder.join("link");
    symlink(&file, &link).unwrap();
    let before = Untouched::new(&file);
    assert_eq!(refused(&file, &no_grants()), ["not_granted"]);
    assert_eq!(refused(&file, &grant(&other)), ["not_granted"]);
    assert_eq!(refused(&file, &grant(folder.path())), ["not_granted"], "not by its folder");
    assert_eq!(refused(&link, &no_grants()), ["not_granted"]);
    before.check();
    let relative = folder.path().join("..").join(folder.path().file_name().unwrap()).join("./file");
    for alias in [&file, &link, &relative] {
        let target = open_for_writing(alias, &grant(&file));
        assert_eq!(target.grant().unwrap().why(), "--allow-destroy");
        assert_eq!(refused(&file, &grant(alias)), ["in_use", "busy"], "one at a time");
        assert_eq!(write_block(&target, 0x22).unwrap(), 4096);
        assert_eq!(write_block(&target, 0x11).unwrap(), 4096);
    }
}

#[test]
fn a_file_that_is_reached_by_a_relative_path() {
    let folder = Folder::new().unwrap();
    let file = foreign(&folder, "file");
    // The current folder belongs to all tests, so the path goes up from wherever it is.
    let up: PathBuf = std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect();
    let relative = up.join(file.strip_prefix("/").unwrap());
    assert!(relative.is_relative());
    let facts = probe("file", &relative).unwrap();
    assert!(Path::new(facts.path.as_ref().unwrap()).is_absolute());
    open_write(&facts, true, &grant(&file)).unwrap();
    open_write(&probe("file", &file).unwrap(), true, &grant(&relative)).unwrap();
}

#[test]
fn hard_links() {
    let folder = Folder::new().unwrap();
    let (file, second) = (foreign(&folder, "file"), folder.join("second"));
    fs::hard_link(&file, &second).unwrap();
    let before = Untouched::new(&file);
    assert_eq!(refused(&file, &grant(&file)), ["hard_links"]);
    assert_eq!(refused(&second, &grant(&file)), ["hard_links"]);
    before.check();
    fs::remove_file(&second).unwrap();
    assert_eq!(refused(&file, &grant(&file)), [""; 0]);
}

#[test]
fn a_disk_image_holds_signatures() {
    let folder = Folder::new().unwrap();
    let image = foreign(&folder, "image");
    OpenOptions::new().write(true).open(&image).unwrap().write_all_at(b"QFI\xfb", 0).unwrap();
    let before = Untouched::new(&image);
    assert_eq!(refused(&image, &no_grants()), ["not_granted", "signature"]);
    assert_eq!(refused(&image, &grant(&image)), ["signature"]);
    before.check();
    assert_eq!(refused(&image, &grant_and_wipe(&image, &["qcow2"])), [""; 0]);
}

#[test]
fn a_file_that_another_process_has_open() {
    let folder = Folder::new().unwrap();
    let file = foreign(&folder, "file");
    let before = Untouched::new(&file);
    let mut reader = Command::new("sleep").arg("60").stdin(File::open(&file).unwrap()).spawn().unwrap();
    let codes = refused(&file, &grant(&file));
    let text = refusal_text(&file, &grant(&file));
    reader.kill().unwrap();
    reader.wait().unwrap();
    assert_eq!(codes, ["in_use"]);
    assert!(text.contains(&format!("sleep ({}) has it open: end that first", reader.id())), "{text}");
    before.check();
    // Our own process is found by the lease, as a process of another user or the kernel would be.
    let held = File::open(&file).unwrap();
    assert!(refusal_text(&file, &grant(&file)).contains("the kernel or another user's process has it open"));
    drop(held);
    assert_eq!(refused(&file, &grant(&file)), [""; 0]);
}

#[test]
fn the_file_behind_a_mounted_loop_device_by_every_alias() {
    require_root();
    let disk = Disk::new(32 * MIB, LoopOptions::default()).unwrap();
    make_file_system("ext4", disk.path()).unwrap();
    let (file, folder) = (disk.backing_file(), disk.folder());
    let (link, hard, bound, point) =
        (folder.join("link"), folder.join("hard"), folder.join("bound"), folder.join("point"));
    fs::create_dir(&point).unwrap();
    symlink(&file, &link).unwrap();
    fs::hard_link(&file, &hard).unwrap();
    File::create(&bound).unwrap();
    let _bound = Mount::bind(&file, &bound).unwrap();
    let mounted = Mount::new(disk.path(), &point, "ext4", "noinit_itable").unwrap();
    let before = Untouched::new(&file);
    for alias in [&file, &link, &hard, &bound] {
        let all = grant_and_wipe(alias, &["ext4"]);
        assert_eq!(refused(alias, &all), ["loop", "hard_links", "in_use"], "{}", alias.display());
        assert!(refusal_text(alias, &all).contains(&format!("`losetup -d {}` first", disk.path().display())));
    }
    // The name by which it was attached is gone: the driver still knows the inode.
    fs::remove_file(&file).unwrap();
    let text = refusal_text(&hard, &grant_and_wipe(&hard, &["ext4"]));
    assert!(text.contains("it is behind the loop device"), "{text}");
    fs::hard_link(&hard, &file).unwrap();
    let moved = folder.join("moved");
    fs::rename(&file, &moved).unwrap();
    fs::remove_file(&hard).unwrap();
    let moved_before = Untouched::new(&moved);
    assert_eq!(refused(&moved, &grant_and_wipe(&moved, &["ext4"])), ["loop", "in_use"]);
    moved_before.check();
    assert!(moved_before.same_content(&before));
    drop(mounted);
    assert_eq!(
        refused(&moved, &grant_and_wipe(&moved, &["ext4"])),
        ["loop", "in_use"],
        "it is still attached"
    );
}

#[test]
fn the_file_behind_a_loop_device_of_another_file_system_view() {
    require_root();
    let folder = Folder::new().unwrap();
    let lower = foreign(&folder, "upper-file");
    let names = ["lower", "upper", "work", "merged"].map(|name| folder.join(name));
    names.iter().for_each(|path| fs::create_dir(path).unwrap());
    let [lower_dir, upper, work, merged] = &names;
    fs::rename(lower, upper.join("file")).unwrap();
    let options =
        format!("lowerdir={},upperdir={},workdir={}", lower_dir.display(), upper.display(), work.display());
    let _overlay = Mount::new(Path::new("overlay"), merged, "overlay", &options).unwrap();
    // The loop driver knows the overlay's inode, which is another one than the file's own below it.
    let device = LoopDevice::attach(&merged.join("file"), LoopOptions::default()).unwrap();
    let file = upper.join("file");
    let before = Untouched::new(&file);
    assert_eq!(refused(&file, &grant(&file)), ["in_use"]);
    before.check();
    drop(device);
    assert_eq!(refused(&file, &grant(&file)), [""; 0]);
}

#[test]
fn an_active_swap_file() {
    require_root();
    let folder = Folder::new().unwrap();
    let file = foreign(&folder, "swap");
    make_swap(&file).unwrap();
    let hard = folder.join("hard");
    let swap = Swap::on(&file).unwrap();
    let before = Untouched::new(&file);
    assert_eq!(refused(&file, &grant(&file)), ["swap", "in_use", "signature"]);
    fs::hard_link(&file, &hard).unwrap();
    for alias in [&file, &hard] {
        let all = grant_and_wipe(alias, &["swap"]);
        assert_eq!(refused(alias, &all), ["swap", "hard_links", "in_use"]);
        assert!(refusal_text(alias, &all).contains(&format!("`swapoff {}` first", file.display())));
    }
    before.check_header();
    drop(swap);
    fs::remove_file(&hard).unwrap();
    assert_eq!(refused(&file, &grant_and_wipe(&file, &["swap"])), [""; 0]);
}

#[test]
fn a_path_that_leads_to_another_file_since_it_was_probed() {
    let folder = Folder::new().unwrap();
    let (file, other, link) = (foreign(&folder, "file"), foreign(&folder, "other"), folder.join("link"));
    symlink(&file, &link).unwrap();
    let facts = probe("file", &link).unwrap();
    fs::remove_file(&link).unwrap();
    symlink(&other, &link).unwrap();
    let before = Untouched::new(&other);
    for grants in [grant(&link), grant(&file), grant(&other)] {
        let error = open_write(&facts, true, &grants).unwrap_err();
        assert!(matches!(error, DeviceError::Changed { what: "inode", .. }), "{error}");
    }
    before.check();
    // Replaced by a file of the same name.
    let facts = probe("file", &file).unwrap();
    let kept = File::open(&file).unwrap(); // its inode stays taken
    fs::remove_file(&file).unwrap();
    foreign(&folder, "file");
    assert!(matches!(
        open_write(&facts, true, &grant(&file)),
        Err(DeviceError::Changed { what: "inode", .. })
    ));
    drop(kept);
    // Truncated.
    let facts = probe("file", &file).unwrap();
    OpenOptions::new().write(true).open(&file).unwrap().set_len(4096).unwrap();
    let error = open_read(&facts, true).unwrap_err().to_string();
    let expected = format!(
        "{} is no longer what was planned for: its size in bytes was 1048576 and is 4096; start again",
        file.display()
    );
    assert_eq!(error, expected);
}

#[test]
fn a_path_that_changes_all_the_time() {
    let folder = Folder::new().unwrap();
    let (ours, victim) = (foreign(&folder, "ours"), foreign(&folder, "victim"));
    let (link, next) = (folder.join("link"), folder.join("next"));
    symlink(&ours, &link).unwrap();
    let facts = probe("file", &ours).unwrap();
    let facts = iodyno_record::DeviceFacts { path: link.to_str().map(str::to_owned), ..facts };
    let before = Untouched::new(&victim);
    let stop = AtomicBool::new(false);
    let (mut opened, mut changed) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let both = [&victim, &ours].into_iter().cycle().take(1_000_000);
            for to in both.take_while(|_| !stop.load(Ordering::Relaxed)) {
                symlink(to, &next).unwrap();
                fs::rename(&next, &link).unwrap();
            }
        });
        // Until both have happened often enough, and never for ever.
        for _ in 0..3000 {
            match open_write(&facts, true, &grant(&ours)) {
                Ok(target) => {
                    assert_eq!(write_block(&target, 0x33).unwrap(), 4096);
                    opened += 1;
                }
                Err(DeviceError::Changed { what: "inode", .. }) => changed += 1,
                Err(e) => panic!("{e}"),
            }
            if opened >= 20 && changed >= 20 {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(opened > 0 && changed > 0, "{opened} times opened, {changed} times changed");
    before.check();
    assert_eq!(fs::read(&ours).unwrap()[..4096], [0x33; 4096]);
}

#[test]
fn direct_io_is_never_given_up_quietly() {
    require_root();
    let folder = Folder::new().unwrap();
    let file = foreign(&folder, "file");
    let direct = |target: &iodyno_device::OpenTarget| {
        rustix::fs::fcntl_getfl(target.fd()).unwrap().contains(rustix::fs::OFlags::DIRECT)
    };
    let facts = probe("file", &file).unwrap();
    assert!(direct(&open_read(&facts, true).unwrap()) && !direct(&open_read(&facts, false).unwrap()));
    assert!(direct(&open_write(&facts, true, &grant(&file)).unwrap()));
    assert!(!direct(&open_write(&facts, false, &grant(&file)).unwrap()));

    // ramfs refuses the flag; ext4 takes it and goes through the page cache when it journals data.
    let disk = Disk::new(32 * MIB, LoopOptions::default()).unwrap();
    make_file_system("ext4", disk.path()).unwrap();
    for (source, kind, options) in [(Path::new("none"), "ramfs", ""), (disk.path(), "ext4", "data=journal")] {
        let point = folder.join(kind);
        fs::create_dir(&point).unwrap();
        let _mounted = Mount::new(source, &point, kind, options).unwrap();
        let file = point.join("file");
        fs::write(&file, vec![0x11; 65_536]).unwrap();
        let facts = probe("file", &file).unwrap();
        assert_eq!(facts.filesystem.as_deref(), Some(kind));
        for opened in [open_read(&facts, true), open_write(&facts, true, &grant(&file))] {
            let error = opened.unwrap_err();
            assert!(
                matches!(&error, DeviceError::DirectUnsupported { filesystem, .. } if filesystem == kind)
            );
            assert!(error.to_string().contains("set `direct = false`"), "{error}");
        }
        open_read(&facts, false).unwrap();
        open_write(&facts, false, &grant(&file)).unwrap();
    }
}

#[test]
fn files_in_memory_are_noted() {
    require_root();
    let folder = Folder::new().unwrap();
    let _mounted = Mount::new(Path::new("none"), folder.path(), "tmpfs", "size=8m").unwrap();
    let file = foreign(&folder, "file");
    let target = open_read(&probe("file", &file).unwrap(), false).unwrap();
    assert_eq!(target.notes().iter().map(|n| n.code.as_str()).collect::<Vec<_>>(), ["tmpfs"]);
}

#[test]
fn what_cannot_be_a_target() {
    let folder = Folder::new().unwrap();
    let text = |path: &Path| probe("x", path).unwrap_err().to_string();
    let (pipe, empty) = (folder.join("pipe"), folder.join("empty"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    File::create(&empty).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
    for (path, expected) in [
        (folder.path(), "is a directory"),
        (&pipe, "is a pipe"),
        (&folder.join("socket"), "is a socket"),
        (&empty, "is empty"),
        (Path::new("/dev/full"), "is a character device: only /dev/null and /dev/zero"),
        (Path::new("/dev/random"), "is a character device"),
        (Path::new("/proc/self/status"), "is a file of the kernel (proc)"),
        (Path::new("/sys/kernel/uevent_seqnum"), "is a file of the kernel (sysfs)"),
    ] {
        let text = text(path);
        assert!(text.starts_with(&format!("{} {expected}", path.display())), "{text}");
    }
    drop(socket);
    let missing = text(&folder.join("missing"));
    let expected = "cannot find /var/tmp/iodyno-test-";
    assert!(missing.starts_with(expected) && missing.contains("No such file"), "{missing}");
    assert!(missing.ends_with("; name a file or device that exists, or let iodyno make one with `scratch`"));
    let latin1 = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"/tmp/\xe9");
    assert!(text(Path::new(latin1)).contains("is no UTF-8"));
}

#[test]
fn devices_that_store_nothing() {
    for path in ["/dev/null", "/dev/zero"] {
        let facts = probe("x", Path::new(path)).unwrap();
        assert_eq!((facts.kind, facts.size_bytes, facts.granule_bytes), (TargetKind::Char, 0, 1));
        let target = open_write(&facts, true, &Grants::default()).unwrap();
        assert_eq!(target.grant().unwrap().why(), "nothing is stored there");
        assert_eq!(write_block(&target, 1).unwrap(), 4096);
        open_read(&facts, true).unwrap();
    }
}

#[test]
fn a_read_only_mount_is_a_plain_error() {
    require_root();
    let disk = Disk::new(32 * MIB, LoopOptions::default()).unwrap();
    make_file_system("ext4", disk.path()).unwrap();
    let point = disk.folder().join("point");
    fs::create_dir(&point).unwrap();
    let mounted = Mount::new(disk.path(), &point, "ext4", "").unwrap();
    let file = point.join("file");
    fs::write(&file, vec![0x11; 65_536]).unwrap();
    rustix::mount::mount_remount(mounted.point(), rustix::mount::MountFlags::RDONLY, "").unwrap();
    let error = open_write(&probe("x", &file).unwrap(), true, &grant(&file)).unwrap_err().to_string();
    assert!(error.contains("Read-only file system") && error.contains("a suite that only reads"), "{error}");
}

#[test]
fn an_immutable_file_is_a_plain_error() {
    require_root();
    let folder = Folder::new().unwrap();
    let file = foreign(&folder, "file");
    let change = |mode: &str| {
        let status = Command::new("chattr").arg(mode).arg(&file).stdout(Stdio::null()).status().unwrap();
        assert!(status.success());
    };
    change("+i");
    let opened = open_write(&probe("x", &file).unwrap(), true, &grant(&file));
    change("-i");
    let error = opened.unwrap_err().to_string();
    assert!(error.contains("Operation not permitted") && error.contains("not immutable"), "{error}");
}
