//! Targets of every kind, also those that are none.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use iodyno_tests::confined::as_nobody;
use iodyno_tests::lab::Mount;
use iodyno_tests::{Folder, Record, Running};

use crate::{READS, folder, writes};

#[test]
fn what_cannot_be_tested_is_told_with_what_to_do() {
    let folder = folder();
    fs::create_dir(folder.path("sub")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.path("pipe"), rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path("socket")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path("dangling")).unwrap();
    folder.file("empty", "");
    let cases = [
        ("sub", "is a directory: name a file in it"),
        ("pipe", "is a pipe: name a file or a block device"),
        ("socket", "is a socket: name a file or a block device"),
        ("dangling", "No such file"),
        ("none", "name a file or device that exists"),
        ("empty", "is empty: name a file with content"),
        ("/dev/tty", "only /dev/null and /dev/zero can be tested"),
        ("/dev/random", "only /dev/null and /dev/zero can be tested"),
        ("/proc/version", "is a file of the kernel (proc)"),
    ];
    for (target, text) in cases {
        for suite in ["reads", "writes"] {
            folder.run(&format!("run {suite}.toml --target {target}")).exits(3).says(text);
        }
        folder
            .run(&format!("run writes.toml --target {target} --allow-destroy {target}"))
            .exits(3)
            .says(text);
    }
    assert_eq!(folder.runs().len(), 0);
    // With a size they are places for scratch files, or would be.
    for (target, text) in
        [("sub", "is a directory"), ("pipe", "is a pipe"), ("/dev/null", "give it a size in the suite")]
    {
        folder.run(&format!("run reads.toml --target {target} --size 1MiB")).exits(3).says(text);
    }
    folder.run("run reads.toml --target dangling --size 1MiB").exits(3).says("leads nowhere");
}

#[test]
fn devices_without_an_end_need_a_size_and_no_grant() {
    let folder = folder();
    folder.run("run reads.toml --target /dev/zero").exits(2).says("a character device needs size");
    let target = |path: &str| format!("[[target]]\npath = \"{path}\"\nsize = \"1GiB\"\n[suite]");
    for backend in ["io_uring", "sync"] {
        let line = format!("run suite.toml --progress none --set defaults.backend={backend}");
        folder.file("suite.toml", &READS.replacen("[suite]", &target("/dev/zero"), 1));
        folder.run(&line).exits(0).prints("of reads").prints("nothing but zeroes");
        folder.file("suite.toml", &writes().replacen("[suite]", &target("/dev/null"), 1));
        folder.run(&line).exits(0).prints("1 test: 1 passed");
        folder.file("suite.toml", &writes().replacen("[suite]", &target("/dev/zero"), 1));
        folder.run(&line).exits(0).prints("1 test: 1 passed");
        // /dev/null has nothing to read: each read is short.
        folder.file("suite.toml", &READS.replacen("[suite]", &target("/dev/null"), 1));
        folder.run(&line).says("short");
    }
}

#[test]
fn a_file_that_is_smaller_than_a_block() {
    let folder = folder();
    folder.file("small", &"x".repeat(1000));
    folder.run("run reads.toml --target small").exits(2).says("too small for a block of 4KiB");
    folder
        .run("run reads.toml --target small --set test.read.workload.block_size=512")
        .exits(0)
        .says("rounded inward to 0 to 512");
}

#[test]
fn a_file_that_is_no_multiple_of_a_block() {
    let folder = folder();
    folder.file("odd", &"x".repeat(1_000_001));
    folder.run("run reads.toml --target odd").exits(0).says("is 0 to 1000001 bytes, rounded inward");
    folder.run("run writes.toml --target odd --allow-destroy odd").exits(0);
    let bytes = fs::read(folder.path("odd")).unwrap();
    assert_eq!((bytes.len(), bytes[1_000_000]), (1_000_001, b'x'), "the end is left alone");
    assert!(bytes[..999_424].iter().any(|byte| *byte != b'x'));
    Record::read(&folder.runs()[1]).must_add_up();
}

#[test]
fn a_suite_without_a_target_makes_a_scratch_file() {
    let folder = folder();
    folder.run("run writes.toml --size 4MiB").exits(0).says("PASS fill-scratch");
    let file = fs::metadata(folder.path("iodyno-scratch.dat")).unwrap();
    assert_eq!((file.len(), file.permissions().mode() & 0o777), (4 << 20, 0o600));
    folder.run("run writes.toml --target other --size 4MiB").exits(0).says("PASS fill-scratch");
    // Its own file needs neither size nor grant, once it is filled.
    folder.run("run writes.toml --target other").exits(0).never_says("fill-scratch");
}

#[test]
fn where_the_current_folder_is_in_memory_the_scratch_file_is_elsewhere() {
    let folder = folder();
    let memory = Mount::tmpfs(128 << 20, &folder.path("memory"));
    let mut command = folder.command("run ../reads.toml --dry-run --size 4MiB");
    command.current_dir(memory.path());
    let ended = Running::new(command, "reads.toml on a tmpfs").end();
    ended
        .exits(0)
        .prints("target scratch: /var/tmp/iodyno-scratch.dat")
        .prints("so the scratch file is in /var/tmp");
    // Named, it is made where it is named, which has no direct I/O or is told to be memory.
    let mut command = folder.command("run ../reads.toml --target here --size 4MiB");
    command.current_dir(memory.path());
    let ended = Running::new(command, "here").end();
    assert!(
        ended.code == Some(3) && ended.err.contains("no direct i/o") || ended.err.contains("is in memory"),
        "{ended}"
    );
}

#[test]
fn nobody_needs_no_root() {
    let folder = folder();
    let run = |line: &str| Running::new(as_nobody(&folder, 8 << 20, line), line).end();
    run("run writes.toml --size 16MiB").exits(0).says("PASS fill-scratch").prints("1 test: 1 passed");
    run("run reads.toml --size 16MiB").exits(0);
    Record::read(&folder.runs()[0]).must_add_up();
}

#[test]
fn nobody_is_told_what_is_not_permitted() {
    let folder = folder();
    folder.file("secret", &"x".repeat(1 << 20));
    let run = |line: &str| {
        let command = as_nobody(&folder, 8 << 20, line);
        fs::set_permissions(folder.path("secret"), Permissions::from_mode(0o000)).unwrap();
        Running::new(command, line).end()
    };
    run("run reads.toml --target secret").exits(3).says("Permission denied").says("it must be readable");
    run("run reads.toml --target /dev/loop-control").exits(3);
    run("run simulated.toml --runs /usr/iodyno-runs").exits(3).says("Permission denied").says("--runs DIR");
    run("run simulated.toml -q -o html=/usr/x.html").exits(3).says("Permission denied").says("-o html=FILE");
}

#[test]
fn a_read_only_file_can_be_read() {
    let folder = Folder::new();
    folder.file("reads.toml", READS);
    folder.file("writes.toml", &writes());
    folder.file("file", &"x".repeat(1 << 20));
    let run = |line: &str| {
        let command = as_nobody(&folder, 8 << 20, line);
        fs::set_permissions(folder.path("file"), Permissions::from_mode(0o444)).unwrap();
        Running::new(command, line).end()
    };
    run("run reads.toml --target file").exits(0);
    run("run writes.toml --target file --allow-destroy file")
        .exits(3)
        .says("Permission denied")
        .says("writable");
}
