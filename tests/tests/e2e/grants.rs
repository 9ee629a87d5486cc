//! What a grant allows, who can give it, and what a dry run tells before.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use iodyno_tests::Folder;
use iodyno_tests::lab::{Loop, Mount, Untouched, make_ext4};

use crate::{folder, simulated, writes};

const MIB: u64 = 1 << 20;

#[test]
fn a_granted_device_is_written_to_and_named_before() {
    let folder = folder();
    let device = Loop::new(&folder.path("backing"), 32 * MIB);
    let path = device.path().display();
    let ended = folder.run(&format!("run writes.toml --target {path} --allow-destroy {path}"));
    ended.exits(0).says(&format!("{path} (33.55 MB): everything on it will be overwritten"));
    assert!(device.bytes_read_and_written().1 > 0);
    // At its end it has let go of it.
    make_ext4(device.path());
}

#[test]
fn a_suite_cannot_grant_anything() {
    let folder = folder();
    let file = folder.file("precious", &"x".repeat(1 << 20));
    let before = Untouched::look(&file);
    let grants = [
        ("[suite]", "[suite]\nallow_destroy = [\"precious\"]"),
        ("[defaults]", "[defaults]\nallow_destroy = \"precious\""),
        ("[[test]]", "[[test]]\nallow_destroy = true"),
        ("[suite]", "[[target]]\npath = \"precious\"\nallow_destroy = true\n[suite]"),
        ("[suite]", "allow_destroy = [\"precious\"]\n[suite]"),
    ];
    for (place, grant) in grants {
        folder.file("greedy.toml", &writes().replacen(place, grant, 1));
        folder.run("run greedy.toml --target precious").exits(2).says("allow_destroy");
    }
    folder.run("run writes.toml --target precious --set defaults.allow_destroy=true").exits(2);
    // Neither does a path that says scratch.
    folder.file(
        "named.toml",
        &writes().replacen("[suite]", "[[target]]\npath = \"precious\"\nscratch = \"1MiB\"\n[suite]", 1),
    );
    folder.run("run named.toml").exits(3).says("iodyno did not make it");
    before.must_be_so();
    assert_eq!(folder.runs().len(), 0);
}

/// Everything in a folder with its length and time of change.
fn inventory(folder: &Folder) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let entries = fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().path());
    let facts = |path: &Path| fs::metadata(path).map(|file| (file.len(), file.modified().unwrap())).unwrap();
    entries.map(|path| (path.clone(), facts(&path))).collect()
}

#[test]
fn a_dry_run_touches_nothing() {
    let folder = folder();
    let device = Loop::new(&folder.path("backing"), 32 * MIB);
    make_ext4(device.path());
    let mount = Mount::ext4(device.path(), &folder.path("mounted"));
    folder.file("precious", &"x".repeat(1 << 20));
    let before = Untouched::look(&folder.path("backing"));
    let (there, written) = (inventory(&folder), device.bytes_read_and_written().1);
    let path = device.path().display();
    folder
        .run(&format!("run writes.toml --dry-run --target {path}"))
        .exits(0)
        .prints("WOULD BE DESTROYED")
        .prints("now refused: everything on it would be lost, and no `--allow-destroy` names it")
        .prints("now refused: it is mounted on")
        .prints("now refused: it holds `ext4`")
        .prints("bytes written: unbounded");
    folder
        .run(&format!("run reads.toml -n --target {path}"))
        .exits(0)
        .prints("is only read")
        .prints("bytes written: 0 B");
    folder.run("run writes.toml -n --target precious").exits(0).prints("WOULD BE DESTROYED");
    folder
        .run("run reads.toml -n")
        .exits(0)
        .prints("a scratch file that iodyno makes")
        .prints("fill-scratch");
    folder
        .run("run simulated.toml -n")
        .exits(0)
        .prints("servers (in memory only, 1.1 TB)")
        .prints("1m 10s in all");
    assert_eq!(inventory(&folder), there, "nothing was made, nothing changed");
    assert_eq!(device.bytes_read_and_written().1, written);
    before.must_be_so();
    drop(mount);
}

#[test]
fn a_dry_run_bounds_what_is_written() {
    let folder = folder();
    let fill = "expect = [\"errors == 0\"]\n[[prepare]]\nfill = { passes = 2, block_size = \"1MiB\" }\n[[prepare]]\nidle = \"5s\"";
    folder.file(
        "filled.toml",
        &simulated(fill).replace("write = 30", "write = 0").replace("read = 70", "read = 100"),
    );
    folder
        .run("run filled.toml -n --size 1GiB")
        .exits(0)
        .prints("idle 5s")
        .prints("writes at most 2.147 GB")
        .prints("writes nothing")
        .prints("bytes written: 2.147 GB")
        .prints("expects errors == 0")
        .prints("region 0B to 1GiB, outstanding 8");
}

#[test]
fn a_dry_run_tells_where_each_value_comes_from() {
    let folder = folder();
    folder.file(
        "suite.toml",
        &format!("{}\n[profile.long.defaults]\nphases = {{ measure = \"2h\" }}\n", simulated("")),
    );
    let ended = folder.run("run suite.toml -n --profile long --set test.mixed.load.outstanding=2 --seed 5");
    ended.exits(0).prints("seed 5, profile long");
    let source = |path: &str, end: &str| {
        let line = ended.lines().into_iter().find(|line| line.trim_start().starts_with(path));
        let line = line.unwrap_or_else(|| panic!("no {path}\n{ended}"));
        assert!(line.ends_with(end), "{line}");
    };
    source("test.mixed.phases.measure ", "\"2h\"   (profile long, line 18)");
    source("test.mixed.phases.warmup ", "\"10s\"   (suite, line 10)");
    source("test.mixed.load.outstanding ", "2   (--set)");
    source("test.mixed.direct ", "true   (built-in)");
}
