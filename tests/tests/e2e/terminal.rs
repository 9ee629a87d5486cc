//! What is said where: colours, quiet, verbose, progress, a reader that goes away.

use std::io::pipe;
use std::process::Command;

use iodyno_tests::{Folder, Running};

use crate::folder;

#[test]
fn results_go_to_stdout_and_progress_to_stderr() {
    let ended = folder().run("run simulated.toml");
    ended.exits(0).prints("IN FLIGHT").says("seed").says("PASS mixed").says("run folder");
    assert!(!ended.out.contains("PASS") && !ended.err.contains("IN FLIGHT"), "{ended}");
}

#[test]
fn progress_names_the_operation_whose_latency_it_tells() {
    let folder = folder();
    let mixed = folder.run("run simulated.toml");
    assert!(["  read p99 ", "  write p99 "].iter().any(|text| mixed.err.contains(text)), "{mixed}");
    folder.run("run reads.toml --size 16MiB").exits(0).says("B/s  p99 ");
}

#[test]
fn quiet_says_nothing_but_errors() {
    let folder = folder();
    let ended = folder.run("run simulated.toml --quiet");
    assert_eq!(ended.exits(0).err, "");
    ended.prints("1 test: 1 passed");
    let run = folder.only_run();
    let ended = folder.run_words(["-q", "report", run.to_str().unwrap(), "-o", "html=x.html"]);
    assert_eq!(ended.exits(0).err, "");
    folder.run("run reads.toml -q --target none").exits(3).says("error: ");
}

#[test]
fn verbose_tells_the_log_which_the_run_folder_has_in_any_case() {
    let folder = folder();
    folder.run("run simulated.toml -v").exits(0).says("INFO").says("plan{").says("step{").never_says("DEBUG");
    folder.run("run simulated.toml -vv").exits(0).says("DEBUG").says("asked");
    for run in folder.runs() {
        let log = std::fs::read_to_string(run.join("iodyno.log")).unwrap();
        assert!(log.contains("DEBUG") && log.contains("achieved"), "{log}");
        assert!(!log.contains('\x1b'), "a file has no colours");
    }
}

const ESCAPE: &str = "\x1b[";

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let folder = folder();
    for line in ["run simulated.toml", "run simulated.toml -vv", "check none.toml", "--help"] {
        folder.run(line).never_says(ESCAPE);
        folder.run(&format!("{line} --color never")).never_says(ESCAPE);
    }
    folder.run("run simulated.toml --color always").exits(0).says(ESCAPE);
    folder.run("check simulated.toml --set x=1 --color always").exits(2).says(ESCAPE);
    // What was asked for on the command line wins over the environment.
    let of = |line: &str, variable: &str| {
        let mut command = folder.command(line);
        command.env(variable, "1");
        Running::new(command, line).end()
    };
    of("run simulated.toml --color always", "NO_COLOR").exits(0).says(ESCAPE);
    of("run simulated.toml", "CLICOLOR_FORCE").exits(0).says(ESCAPE);
}

/// Runs on a terminal that `script` makes, and gives what appeared there.
fn on_a_terminal(folder: &Folder, words: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new("script");
    command
        .args(["--quiet", "--return", "--command"])
        .arg(format!("{} {words}", iodyno_tests::iodyno().display()));
    command.arg("/dev/null").current_dir(folder.path("")).env_remove("NO_COLOR").env("TERM", "xterm");
    command.envs(variables.iter().copied());
    let ended = Running::new(command, words).end();
    ended.exits(0);
    ended.out
}

#[test]
fn on_a_terminal_one_line_is_renewed() {
    let folder = folder();
    let line = "run reads.toml --size 16MiB --set defaults.phases.measure=1s";
    let shown = on_a_terminal(&folder, line, &[]);
    assert!(shown.contains("\r\x1b[K") && shown.contains("left"), "{shown:?}");
    let plain = on_a_terminal(&folder, &format!("{line} --progress line"), &[("NO_COLOR", "1")]);
    assert!(!plain.contains(ESCAPE), "{plain:?}");
    let verbose = on_a_terminal(&folder, &format!("{line} -v"), &[]);
    assert!(!verbose.contains("\r\x1b[K"), "the log would run into it: {verbose:?}");
}

#[test]
fn progress_is_as_asked_for() {
    let folder = folder();
    let line = "run reads.toml --size 16MiB --set defaults.phases.measure=1s";
    folder.run(&format!("{line} --progress bar")).exits(0).says("\r");
    folder.run(&format!("{line} --progress none")).exits(0).says("PASS read").never_says(" left");
    folder.run(line).exits(0).says("PASS read").never_says("\r");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = folder();
    folder.run("run simulated.toml -q").exits(0);
    let run = folder.only_run().display().to_string();
    let lines = [
        "list",
        "schema suite",
        "--help",
        "run simulated.toml --dry-run",
        "run simulated.toml",
        "run simulated.toml -o ndjson=-",
        &format!("report {run} -o json=-"),
    ];
    for line in lines {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let mut command = folder.command(line);
        let status = command.stdout(writer).stderr(std::process::Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(0), "{line}");
    }
}

#[test]
fn what_cannot_be_written_to_stdout_is_told() {
    let folder = folder();
    for line in ["list", "run simulated.toml -q", "run simulated.toml -q -o json=-"] {
        let mut command = folder.command(line);
        command.stdout(std::fs::File::create("/dev/full").unwrap());
        let output = command.stderr(std::process::Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{line}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("No space left"), "{line}");
    }
}

#[test]
fn lists_are_for_people_and_for_programs() {
    let folder = folder();
    folder.run("--version").exits(0).prints(concat!("iodyno ", env!("CARGO_PKG_VERSION")));
    folder
        .run("list")
        .exits(0)
        .prints("backend io_uring")
        .prints("workload synthetic")
        .prints("reporter html");
    let ended = folder.run("list plugins --format json");
    let plugins: serde_json::Value = serde_json::from_str(&ended.exits(0).out).unwrap();
    let names: Vec<&str> = plugins.as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    let all = ["synthetic", "io_uring", "null", "sim", "sync", "console", "csv", "html", "json", "ndjson"];
    assert!(all.iter().all(|name| names.contains(name)) && names.len() == all.len(), "{names:?}");
    let ended = folder.run("list suites --format json");
    assert!(serde_json::from_str::<serde_json::Value>(&ended.exits(0).out).unwrap().is_array());
}
