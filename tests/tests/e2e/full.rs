//! No room: for the record, for a scratch file, for a report; and a device that fails to take what is written.

use std::fs;
use std::process::Command;

use iodyno_record::Outcome;
use iodyno_tests::lab::{Loop, Mount};
use iodyno_tests::{Running, iodyno};

use crate::{folder, results, simulated, writes};

const MIB: u64 = 1 << 20;

#[test]
fn a_record_that_can_no_longer_be_kept_stops_the_run() {
    let folder = folder();
    let small = Mount::tmpfs(MIB, &folder.path("small"));
    folder.file("long.toml", &simulated("").replace("60s", "500h"));
    let ended = folder.run("run long.toml --runs small --progress none");
    ended.exits(3).says("cannot keep the record in small/").says("No space left").says("`--runs DIR`");
    let run = fs::read_dir(small.path()).unwrap().next().unwrap().unwrap().path();
    ended.says(&format!("iodyno report small/{}", run.file_name().unwrap().display()));

    // What was recorded is not lost, and says of itself that it is not all.
    let report = format!("report {} -o json=kept.json -o html=kept.html -o csv=kept.csv", run.display());
    folder.run(&report).exits(0).prints("interrupted").prints("its disk was full");
    let document = results(&folder.path("kept.json"));
    assert_eq!(document.runs[0].run.outcome, Outcome::Interrupted);
    let step = &document.runs[0].items[0].steps[0].result;
    assert!(step.window_ns > 0 && step.ops(None).all(|op| op.completed > 0));
    // There is no room for a report beside it.
    folder.run(&format!("report {}", run.display())).exits(3).says("No space left").says("-o html=FILE");
}

#[test]
fn without_room_for_a_record_nothing_is_run() {
    let folder = folder();
    let small = Mount::tmpfs(MIB, &folder.path("small"));
    fs::write(small.path().join("ballast"), vec![1; 2 << 20]).unwrap_err();
    folder.file("target", &"x".repeat(1 << 20));
    let ended = folder.run("run writes.toml --target target --allow-destroy target --runs small");
    ended.exits(3).says("No space left").never_says("what was recorded");
    assert_eq!(fs::read_dir(small.path()).unwrap().count(), 1, "no folder that cannot be read");
    assert_eq!(fs::read(folder.path("target")).unwrap(), vec![b'x'; 1 << 20]);
}

#[test]
fn a_scratch_file_that_does_not_fit_is_not_begun() {
    let folder = folder();
    let device = Loop::new(&folder.path("backing"), 128 * MIB);
    let small = Mount::ext4(device.path(), &folder.path("small"));
    let ended = folder.run("run writes.toml --target small/scratch --size 1GiB");
    ended.exits(3).says("with its reserve, but its file system has").says("choose a smaller `--size`");
    assert!(!small.path().join("scratch").exists());
    assert_eq!(folder.runs().len(), 0);
    folder.run("run writes.toml --target small/scratch --size 16MiB").exits(0);
    // One that is there makes room for a larger one, if that fits.
    folder.run("run writes.toml --target small/scratch --size 24MiB").exits(0);
    folder.run("run writes.toml --target small/scratch --size 64MiB").exits(3).says("with its reserve");
    assert_eq!(fs::metadata(small.path().join("scratch")).unwrap().len(), 24 << 20);
}

#[test]
fn a_file_system_that_is_read_only() {
    let folder = folder();
    let mount = Mount::tmpfs(128 * MIB, &folder.path("small"));
    fs::write(mount.path().join("target"), vec![b'x'; 1 << 20]).unwrap();
    mount.make_read_only();
    folder
        .run("run simulated.toml --runs small/runs")
        .exits(3)
        .says("Read-only file system")
        .says("`--runs DIR`");
    folder.run("run simulated.toml -q -o html=small/x.html").exits(3).says("Read-only file system");
    folder
        .run("run writes.toml --target small/target --allow-destroy small/target")
        .exits(3)
        .says("Read-only file system")
        .says("a suite that only reads can use it");
    folder.run("run writes.toml --target small/scratch --size 1MiB").exits(3).says("Read-only file system");
}

#[test]
fn a_report_is_made_where_it_can_be_or_refused_before_the_run() {
    let folder = folder();
    fs::create_dir(folder.path("sub")).unwrap();
    for (place, text) in [
        ("sub", "sub is a folder"),
        ("none/x.html", "there is no folder none"),
        ("reads.toml/x", "no folder"),
    ] {
        folder.run(&format!("run simulated.toml -o html={place}")).exits(3).says(text).says("-o html=FILE");
        assert_eq!(folder.runs().len(), 0, "nothing is run in vain");
    }
    folder.run("run simulated.toml -o html=sub/x.html -o csv=sub/x.csv -o json=/dev/null").exits(0);
    assert!(folder.path("sub/x.html").exists());
    // The others are still made, and the run is kept.
    let ended = folder.run("run simulated.toml -o html=/dev/full -o json=x.json");
    ended.exits(3).says("No space left").says("json x.json").prints("1 test: 1 passed");
    results(&folder.path("x.json"));
}

/// A disk of 64 MiB over a file system that has room for a few of them.
#[test]
fn a_device_that_fails_stops_the_step_and_tells_why() {
    let folder = folder();
    let small = Mount::tmpfs(8 * MIB, &folder.path("small"));
    let device = Loop::new(&small.path().join("backing"), 64 * MIB);
    let fill = "[[prepare]]\nfill = { block_size = \"128k\" }\n";
    folder.file("filled.toml", &format!("{}{fill}", writes()));
    let path = device.path().display();
    let ended = folder.run(&format!("run filled.toml --target {path} --allow-destroy {path} -o json=x.json"));
    ended.exits(100).says("FAIL fill").says("in a row").prints("error");
    let run = &results(&folder.path("x.json")).runs[0];
    let [fill, test] = run.items.as_slice() else { panic!("two items: {:?}", run.items) };
    assert_eq!((fill.outcome, test.outcome), (Outcome::Failed, Outcome::NotRun));
    let errors: u64 = fill.steps[0].result.errors(None);
    assert!(errors >= 100, "{errors} errors");
    assert!(test.reason.as_ref().unwrap().contains("preparation `fill` failed"));
}

#[test]
fn too_few_files_may_be_open() {
    let folder = folder();
    let mut refused = 0;
    for limit in 6..=16 {
        let line = format!("run writes.toml --size 1MiB --progress none --runs runs-{limit}");
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={limit}:{limit}"));
        command.arg(iodyno()).args(line.split(' ')).current_dir(folder.path(""));
        let ended = Running::new(command, &line).end();
        if ended.code != Some(0) {
            ended
                .exits(3)
                .says(&format!("this process may have {limit} files open"))
                .says("`ulimit -n 1024`");
            refused += 1;
        }
    }
    assert!(refused >= 3, "{refused} limits led to that error");
}
