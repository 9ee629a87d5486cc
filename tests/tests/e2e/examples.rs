//! Examples run as they are, but for the time they take.

use std::fs;
use std::path::{Path, PathBuf};

use iodyno_tests::{Ended, Folder, Record};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name)
}

/// Checks an example and runs it with further words.
#[track_caller]
fn run(folder: &Folder, name: &str, line: &str) -> Ended {
    let path = example(name);
    let suite = path.to_str().expect("the repository's path is UTF-8");
    folder.run_words(["check", suite]).exits(0).prints("is a valid suite");
    folder.run_words(["run", suite].into_iter().chain(line.split_whitespace()))
}

const SHORT: &str = "--size 64MiB --set defaults.phases.warmup=50ms --set defaults.phases.measure=200ms";

#[test]
fn the_suite_in_the_readme_is_valid() {
    let readme = fs::read_to_string(example("../README.md")).unwrap();
    let block = readme.lines().skip_while(|line| *line != "    schema = 1");
    let suite: Vec<&str> =
        block.take_while(|l| l.is_empty() || l.starts_with("    ")).map(str::trim_start).collect();
    let folder = Folder::new();
    folder.file("readers.toml", &suite.join("\n"));
    folder.run("check readers.toml").exits(0);
    let line = "run readers.toml --set test.4k-random-read.load.outstanding=1 --dry-run";
    folder.run(line).exits(0).prints("4k-random-read").prints("outstanding 1").prints("expects errors == 0");
}

#[test]
fn quick_ends_by_naming_its_html_report() {
    let folder = Folder::new();
    let ended = run(&folder, "quick.toml", SHORT);
    ended.exits(0).says("PASS fill-scratch").says("PASS 128k-sequential-write").prints("4 tests: 4 passed");
    let last = ended.err.lines().last().expect("it says something").trim_start();
    let report = last.strip_prefix("html ").unwrap_or_else(|| panic!("`{last}` does not name the report"));
    let page = fs::read_to_string(folder.path(report)).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("4k-random-read"));

    let run = folder.only_run();
    let files = ["run", "plan", "environment"].map(|name| format!("{name}.json"));
    let others = ["suite.toml", "events.ndjson", "rows.ndjson", "histograms.hlog", "iodyno.log"];
    for file in files.iter().map(String::as_str).chain(others) {
        assert!(fs::metadata(run.join(file)).unwrap().len() > 0, "{file} is empty");
    }
    assert_eq!(fs::read(run.join("suite.toml")).unwrap(), fs::read(example("quick.toml")).unwrap());
    Record::read(&run).must_add_up();
}

#[test]
fn quick_fills_its_scratch_file_once() {
    let folder = Folder::new();
    run(&folder, "quick.toml", SHORT).exits(0).says("fill-scratch");
    let made = fs::metadata(folder.path("iodyno-scratch.dat")).unwrap().created().unwrap();
    run(&folder, "quick.toml", SHORT).exits(0).never_says("fill-scratch");
    assert_eq!(fs::metadata(folder.path("iodyno-scratch.dat")).unwrap().created().unwrap(), made);
    // One of another size is another file.
    run(&folder, "quick.toml", &SHORT.replace("64MiB", "32MiB")).exits(0).says("fill-scratch");
    assert_eq!(fs::metadata(folder.path("iodyno-scratch.dat")).unwrap().len(), 32 << 20);
}

#[test]
fn quick_comes_with_the_binary() {
    let folder = Folder::new();
    folder.run("list suites").exits(0).prints("quick");
    folder.run("run quik").exits(2).says("did you mean `quick`?");
    folder.run(&format!("run quick {SHORT} -q")).exits(0).prints("4 tests: 4 passed");
}

#[test]
fn simulated_runs_as_it_is() {
    let folder = Folder::new();
    run(&folder, "simulated.toml", "").exits(0).prints("3 tests: 3 passed").prints("time is virtual");
    Record::read(&folder.only_run()).must_add_up();
}

#[test]
fn two_streams_runs_with_its_profile() {
    let folder = Folder::new();
    let path = example("two-streams.toml");
    folder.run_words(["list", "profiles", path.to_str().unwrap()]).exits(0).prints("quick");
    // How fast the disk is that the tests run on is not asked here, and a slow one may reach only a few flushes.
    let line = "--profile quick --size 64MiB --set defaults.phases.measure=500ms --set test.oltp-like.expect=[] \
                --set test.oltp-like.stream.log.workload.mix={write=50,flush=50}";
    run(&folder, "two-streams.toml", line).exits(0).prints("flush").prints("1 test: 1 passed");
    Record::read(&folder.only_run()).must_add_up();
}
