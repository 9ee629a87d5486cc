//! Other people's data: what must not be overwritten is refused before a byte is written, whatever it is called
//! and although it was granted.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use iodyno_tests::lab::{Loop, Mount, Swap, Untouched, make_ext4, make_node};
use iodyno_tests::{Ended, Folder};

use crate::folder;

const MIB: u64 = 1 << 20;

/// A test's folder with a loop device over the file `backing` in it.
fn device() -> (Folder, Loop) {
    let folder = folder();
    let device = Loop::new(&folder.path("backing"), 32 * MIB);
    (folder, device)
}

/// Runs the suite that writes on `target`, granting it.
fn granted(folder: &Folder, target: &Path) -> Ended {
    let target = target.to_str().expect("paths of tests are UTF-8");
    folder.run_words(["run", "writes.toml", "--target", target, "--allow-destroy", target])
}

/// The same must be refused for a reason that holds `why`, and say `advice`.
#[track_caller]
fn refused(folder: &Folder, target: &Path, why: &str, advice: &str) {
    granted(folder, target).exits(3).says("will not be written to").says(why).says(advice);
    assert_eq!(folder.runs().len(), 0, "a refusal leaves no run");
}

#[test]
fn a_mounted_device_by_any_name() {
    let (folder, device) = device();
    let _mount = Mount::ext4(device.path(), &folder.path("mounted"));
    let (link, node, bound) = (folder.path("link"), folder.path("node"), folder.path("bound"));
    symlink(device.path(), &link).unwrap();
    make_node(device.path(), &node);
    let relative = PathBuf::from(format!("../../../dev/../dev/./{}", device.name()));
    assert_eq!(folder.path("").join(&relative).canonicalize().unwrap(), device.path());
    let _bound = Mount::bind_file(device.path(), &bound);
    let before = Untouched::look(&folder.path("backing"));
    for name in [device.path(), &link, &node, &relative, &bound] {
        refused(&folder, name, "it is mounted on", "`umount` it first");
    }
    before.must_be_so();
}

#[test]
fn a_partition_of_a_mounted_disk_and_the_disk_of_a_mounted_partition() {
    let (folder, mut device) = device();
    let (first, second) = (device.partition(MIB, 8 * MIB), device.partition(16 * MIB, 8 * MIB));
    let mount = Mount::ext4(&first, &folder.path("mounted"));
    let before = Untouched::look(&folder.path("backing"));
    refused(&folder, &first, "it is mounted on", "`umount` it first");
    refused(&folder, device.path(), "its partition", "is mounted on");
    before.must_be_so();
    granted(&folder, &second).exits(0);
    drop(mount);
    let whole = Mount::ext4(device.path(), &folder.path("mounted-whole"));
    fs::remove_dir_all(folder.path("runs")).unwrap();
    refused(&folder, &second, "its disk", "is mounted on");
    drop(whole);
}

#[test]
fn what_is_behind_a_loop_device() {
    let (folder, device) = device();
    let hard_link = folder.path("hard-link");
    fs::hard_link(folder.path("backing"), &hard_link).unwrap();
    let before = Untouched::look(&folder.path("backing"));
    refused(&folder, &folder.path("backing"), "behind the loop device", "losetup -d");
    refused(&folder, &hard_link, "behind the loop device", "2 names");
    drop(device);
    before.must_be_so();
}

#[test]
fn active_swap() {
    let (folder, device) = device();
    let swap = Swap::on(device.path());
    let before = Untouched::look(&folder.path("backing"));
    refused(&folder, device.path(), "is swap space", "swapoff");
    drop(swap);
    // Swapped off, it still has its signature.
    refused(&folder, device.path(), "it holds `swap`", "--wipe-signature swap");
    before.must_begin_so();

    let file = folder.path("swap-file");
    fs::write(&file, vec![0; 16 << 20]).unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let swap = Swap::on(&file);
    let before = Untouched::look(&file);
    refused(&folder, &file, "is swap space", "swapoff");
    before.must_begin_so();
    drop(swap);
}

#[test]
fn what_somebody_else_holds() {
    let (folder, device) = device();
    let before = Untouched::look(&folder.path("backing"));
    let holder = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(device.path()).unwrap();
    refused(&folder, device.path(), "cannot be opened exclusively", "has claimed it");
    drop(holder);
    let file = folder.file("file", &"x".repeat(1 << 20));
    let holder = File::open(&file).unwrap();
    refused(&folder, &file, "has it open", "end that first");
    drop(holder);
    before.must_be_so();
    granted(&folder, device.path()).exits(0);
}

#[test]
fn a_signature_that_was_not_named() {
    let (folder, device) = device();
    make_ext4(device.path());
    let before = Untouched::look(&folder.path("backing"));
    refused(&folder, device.path(), "it holds `ext4` (file system", "--wipe-signature ext4");
    let path = device.path().to_str().unwrap();
    let words = ["run", "writes.toml", "--target", path, "--allow-destroy", path, "--wipe-signature"];
    folder.run_words(words.into_iter().chain(["xfs"])).exits(3).says("--wipe-signature ext4");
    before.must_be_so();
    folder.run_words(words.into_iter().chain(["ext4"])).exits(0).says("everything on it will be overwritten");
}

#[test]
fn a_file_of_somebody_else() {
    let folder = folder();
    let file = folder.file("precious", &"x".repeat(1 << 20));
    let before = Untouched::look(&file);
    let path = file.to_str().unwrap();
    folder
        .run("run writes.toml --target precious")
        .exits(3)
        .says("no `--allow-destroy` names it")
        .says(&format!("add `--allow-destroy {path}`"));
    folder.file("other", "y");
    folder
        .run("run writes.toml --target precious --allow-destroy other")
        .exits(3)
        .says("other is something else");
    fs::hard_link(&file, folder.path("twin")).unwrap();
    let before_with_twin = Untouched::look(&file);
    refused(&folder, &file, "2 names", "use a copy");
    before_with_twin.must_be_so();
    fs::remove_file(folder.path("twin")).unwrap();
    assert_eq!(fs::read(&file).unwrap(), vec![b'x'; 1 << 20]);
    drop(before);

    // A name that iodyno would use for a scratch file is no exception.
    folder.file("iodyno-scratch.dat", &"z".repeat(1 << 20));
    folder.run("run writes.toml").exits(3).says("iodyno did not make it").says("name another scratch file");
    folder.run("run writes.toml --target precious --size 1MiB").exits(3).says("iodyno did not make it");
    assert_eq!(fs::read(folder.path("iodyno-scratch.dat")).unwrap(), vec![b'z'; 1 << 20]);
    assert_eq!(fs::read(&file).unwrap(), vec![b'x'; 1 << 20]);
    granted(&folder, &file).exits(0);
}

#[test]
fn a_copy_of_a_scratch_file_is_somebody_elses() {
    let folder = folder();
    folder.run("run writes.toml --size 4MiB -q").exits(0);
    let copied = std::process::Command::new("cp")
        .args(["--preserve=all"])
        .args([folder.path("iodyno-scratch.dat"), folder.path("copy")])
        .status();
    assert!(copied.unwrap().success());
    let before = Untouched::look(&folder.path("copy"));
    folder.run("run writes.toml --target copy").exits(3).says("no `--allow-destroy` names it");
    before.must_be_so();
}

#[test]
fn a_scratch_file_in_use_by_another_run() {
    let folder = folder();
    let line = "run writes.toml --size 16MiB --set defaults.phases.measure=60s --progress none";
    let mut first = folder.start(line);
    let rows = || {
        folder
            .runs()
            .first()
            .is_some_and(|run| fs::metadata(run.join("rows.ndjson")).is_ok_and(|f| f.len() > 0))
    };
    first.wait_until("rows", rows);
    folder.run("run writes.toml --size 16MiB").exits(3).says("another run of iodyno");
    // Not even to give it another size.
    folder.run("run writes.toml --size 8MiB").exits(3).says("will not be written to");
    first.signal(rustix::process::Signal::INT);
    first.end().exits(130);
    assert_eq!(fs::metadata(folder.path("iodyno-scratch.dat")).unwrap().len(), 16 << 20);
}

#[test]
fn reading_needs_no_grant_even_where_it_is_mounted() {
    let (folder, device) = device();
    let _mount = Mount::ext4(device.path(), &folder.path("mounted"));
    let before = Untouched::look(&folder.path("backing"));
    let line = format!("run reads.toml --target {}", device.path().display());
    folder.run(&line).exits(0).says("warning").says("is mounted on").prints("is in use while it is read");
    before.must_be_so();
}
