//! Names that people give to files: spaces, other scripts, line breaks, very long ones, no UTF-8.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use iodyno_tests::{Folder, Record};

use crate::{READS, folder, results, simulated};

const ODD: &[&str] =
    &["with space", "größe 大小 🚀", "two\nlines", "'quotes' \"and\" \\", "a=b", "-dash", "%s {x}"];

#[test]
fn odd_names_of_suites_targets_and_runs() {
    for name in ODD {
        let folder = Folder::new();
        let suite = folder.file(&format!("{name}.toml"), READS);
        let target = folder.file(name, &"x".repeat(1 << 20));
        let runs = format!("runs of {name}");
        let report = folder.path(&format!("{name}.json"));
        let output = format!("json={}", report.display());
        let ended = folder.run_words([
            "run",
            suite.to_str().unwrap(),
            "--target",
            target.to_str().unwrap(),
            "--runs",
            &runs,
            "-o",
            &output,
        ]);
        ended.exits(0).says(name).prints(name);
        let document = results(&report);
        assert_eq!(document.runs[0].plan.targets[0].identity.path.as_deref(), target.to_str());
        let run = fs::read_dir(folder.path(&runs)).unwrap().next().unwrap().unwrap().path();
        Record::read(&run).must_add_up();
        folder.run_words(["report", run.to_str().unwrap()]).exits(0).prints(name);
    }
}

#[test]
fn a_name_that_looks_like_a_label_is_written_with_its_folder() {
    let folder = folder();
    folder.file("a=b", &"x".repeat(1 << 20));
    folder.file(
        "suite.toml",
        &READS.replacen("[suite]", "[[target]]\nlabel = \"disk\"\npath = \"none\"\n[suite]", 1),
    );
    folder.run("run suite.toml --target a=b").exits(2).says("no target has the label `a`").says("./a=");
    folder.run("run suite.toml --target ./a=b").exits(0);
    folder.run("run suite.toml --target disk=a=b").exits(0);
}

#[test]
fn very_long_paths() {
    let folder = folder();
    let long = format!("{}/{}", "d".repeat(250), "e".repeat(250));
    fs::create_dir_all(folder.path(&long)).unwrap();
    let path = format!("{long}/{}", "f".repeat(250));
    let line = format!("run reads.toml --target {path} --size 1MiB --runs {long}/runs");
    folder.run(&line).exits(0).says("PASS fill-scratch");
    let too_long = "x".repeat(5000);
    folder.run(&format!("run reads.toml --target {too_long}")).exits(3).says("File name too long");
    folder.run(&format!("run simulated.toml --runs {too_long}")).exits(3).says("File name too long");
    folder.run(&format!("run simulated.toml -q -o html={too_long}")).exits(3).says("File name too long");
}

#[test]
fn names_that_are_no_utf8() {
    let folder = folder();
    let bytes = |text: &'static [u8]| OsStr::from_bytes(text);
    fs::write(folder.path("").join(bytes(b"\xffsuite.toml")), simulated("")).unwrap();
    let (suite, runs) = (bytes(b"\xffsuite.toml"), bytes(b"\xffruns"));
    folder.run_words([OsStr::new("run"), suite, OsStr::new("--runs"), runs]).exits(0);
    let run = fs::read_dir(folder.path("").join(runs)).unwrap().next().unwrap().unwrap().path();
    folder.run_words([OsStr::new("report"), run.as_os_str()]).exits(0);
    // A target's name goes into documents, which are UTF-8.
    folder
        .run_words([OsStr::new("run"), OsStr::new("reads.toml"), OsStr::new("--target"), bytes(b"\xff")])
        .exits(2)
        .says("UTF-8");
    folder.run_words([OsStr::new("check"), bytes(b"\xff")]).exits(2);
}

#[test]
fn a_suite_of_bytes_is_refused() {
    let folder = folder();
    fs::write(folder.path("bytes.toml"), [0xff, 0xfe, 0, 1]).unwrap();
    folder.run("check bytes.toml").exits(2).says("UTF-8");
}
