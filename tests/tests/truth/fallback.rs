//! Nothing falls back in silence: where io_uring is blocked, or memory may not be locked, iodyno works and says
//! what it could not do; and what cannot be done is refused before anything is written.

use std::fs;

use iodyno_tests::confined::{as_nobody, without_io_uring};
use iodyno_tests::{Ended, Folder, Record, Running};

use crate::beside_others;

const SUITE: &str = r#"
    schema = 1
    [[target]]
    label   = "disk"
    scratch = "64MiB"
    [defaults]
    phases   = { warmup = "100ms", measure = "300ms" }
    workload = { plugin = "synthetic", mix = { read = 50, write = 50 }, block_size = "128k", pattern = "random" }
    load     = { outstanding = 128 }
    [[test]]
    name = "both"
"#;

const LINE: &str = "run suite.toml --progress none";

fn blocked(folder: &Folder, line: &str) -> Ended {
    let mut command = folder.command(line);
    without_io_uring(&mut command);
    Running::new(command, line).end()
}

#[test]
fn where_io_uring_is_blocked_auto_takes_sync_and_says_so() {
    let _machine = beside_others();
    let folder = Folder::new();
    folder.file("suite.toml", SUITE);
    let ended = blocked(&folder, LINE);
    ended
        .exits(0)
        .says("backend = sync")
        .says("seccomp")
        .prints("sync (asked for: auto)")
        .prints("forbidden");
    let record = Record::read(&folder.only_run());
    for step in &record.steps {
        assert_eq!((&*step.spec.backend.plugin, &*step.result.backend.plugin), ("auto", "sync"));
        let (value, why) = step.fact("backend");
        assert!(value == "sync" && why.is_some_and(|why| why.contains("seccomp")), "{value}: {why:?}");
        assert!(step.completed(None) > 0);
    }
    record.must_add_up();

    let free = Folder::new();
    free.file("suite.toml", SUITE);
    free.run(LINE).exits(0).never_says("fallback").prints("io_uring (asked for: auto)");
}

#[test]
fn where_io_uring_is_demanded_and_blocked_nothing_is_written() {
    let _machine = beside_others();
    let folder = Folder::new();
    let precious = vec![7; 16 << 20];
    fs::write(folder.path("precious"), &precious).expect("there is room");
    // The first test could run; the second cannot, and that must be known before.
    let suite = SUITE
        .replace("scratch = \"64MiB\"", "path = \"precious\"")
        .replace("\"both\"", "\"both\"\n    backend = \"sync\"");
    folder.file("suite.toml", &format!("{suite}\n[[test]]\nname = \"demanding\"\nbackend = \"io_uring\"\n"));
    let line = format!("{LINE} --allow-destroy precious");
    let ended = blocked(&folder, &line);
    ended.exits(3).says("io_uring is forbidden here").says("allow io_uring_setup").says("seccomp profile");
    assert!(fs::read(folder.path("precious")).expect("it is there") == precious, "something was written");

    // Where it is allowed, that command writes.
    folder.run(&line).exits(0);
    assert!(fs::read(folder.path("precious")).expect("it is there") != precious);
}

#[test]
fn buffers_that_may_not_be_locked_are_not_registered_and_that_is_told() {
    let _machine = beside_others();
    // Buffers of 128 KiB, four more than are outstanding, of which 8 MiB may be locked.
    for (outstanding, registered) in [(128, false), (16, true)] {
        let folder = Folder::new();
        folder.file("suite.toml", &SUITE.replace("= 128 }", &format!("= {outstanding} }}")));
        let ended = Running::new(as_nobody(&folder, 8 << 20, LINE), LINE).end();
        ended.exits(0);
        let record = Record::read(&folder.only_run());
        record.must_add_up();
        let step = record.step("both");
        let (value, why) = step.fact("registered_buffers");
        println!("{outstanding} x 128 KiB: registered_buffers = {value}, {why:?}");
        assert_eq!((&*step.result.backend.plugin, step.result.depth.asked), ("io_uring", outstanding));
        if registered {
            assert_eq!((value, why), ("yes", None));
        } else {
            let why = why.expect("a fallback says why");
            assert!(value == "no" && why.contains("16896 KiB") && why.contains("ulimit -l"), "{why}");
            ended.says("registered_buffers = no").says("16896 KiB").prints("ulimit -l");
        }
    }
}
