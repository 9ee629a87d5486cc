//! Exit codes: a promise to scripts.

use crate::{folder, simulated};

/// Runs the simulated suite with `more` in its test.
#[track_caller]
fn judged(more: &str) -> iodyno_tests::Ended {
    let folder = folder();
    folder.file("suite.toml", &simulated(more));
    folder.run("run suite.toml")
}

#[test]
fn passed_is_0() {
    judged("").exits(0).says("PASS mixed").prints("1 test: 1 passed");
    judged(r#"expect = ["errors == 0", "read.service.mean < 10ms"]"#).exits(0);
}

#[test]
fn wrong_usage_or_suite_is_2() {
    let folder = folder();
    folder.file("bad.toml", "schema = 1\n[[test]]\nname = \"x\"\nwork = 1\n");
    folder.run("run bad.toml").exits(2).says("bad.toml:4:1").says("work");
    folder.run("check bad.toml").exits(2).says("bad.toml:4:1");
    let lines = [
        "",
        "run",
        "frobnicate",
        "run reads.toml --no-such-flag",
        "run there-is-none.toml",
        "run .",
        "run reads.toml --profile none",
        "run reads.toml --set nothing",
        "run reads.toml --set test.none.load.outstanding=1",
        "run reads.toml --size much",
        "run reads.toml --seed many",
        "run reads.toml -o html=",
        "run reads.toml -o json=- -o csv=-",
        "run reads.toml -q -v",
        "check there-is-none.toml",
        "report",
        "list profiles",
        "schema plan",
    ];
    for line in lines {
        folder.run(line).exits(2);
    }
    assert_eq!(folder.runs().len(), 0, "nothing of that is a run");
}

#[test]
fn an_unusable_target_is_3() {
    let folder = folder();
    folder.run("run reads.toml --target none").exits(3).says("name a file or device that exists");
    folder.run("report none").exits(3).says("no readable run folder");
    assert_eq!(folder.runs().len(), 0);
}

#[test]
fn nothing_run_is_4() {
    judged(r#"requires = { capacity = "1PB" }"#)
        .exits(4)
        .says("NOT RUN mixed: target `servers` is too small")
        .prints("1 test: 1 not run");
}

#[test]
fn a_missing_plugin_is_6() {
    let folder = folder();
    folder.run("run simulated.toml -o htm=x.html").exits(6).says("`htm`").says("console, csv, html");
    assert_eq!(folder.runs().len(), 0, "it is found before the run");
    folder.run("run simulated.toml -q").exits(0);
    let run = folder.only_run();
    folder.run_words(["report", run.to_str().unwrap(), "-o", "htm=x.html"]).exits(6).says("`htm`");
    // A backend is asked for by the suite, which is then wrong.
    folder.run("check simulated.toml --set defaults.backend=uring").exits(2).says("io_uring");
}

#[test]
fn a_crossed_threshold_is_99() {
    judged(r#"expect = ["iops > 1000000"]"#).exits(99).says("CROSSED mixed").says("iops > 1000000");
}

#[test]
fn reads_of_what_was_never_written_are_99_unless_that_is_meant() {
    let folder = folder();
    std::fs::File::create(folder.path("sparse.dat")).unwrap().set_len(16 << 20).unwrap();
    let advice = "fill the target first, or say expect = [\"zero_reads >= 0\"]";
    folder.run("run reads.toml --target sparse.dat").exits(99).says("CROSSED read").says(advice);
    let meant = crate::READS.replace("workload =", "expect = [\"zero_reads >= 0\"]\n    workload =");
    folder.file("meant.toml", &meant);
    folder.run("run meant.toml --target sparse.dat").exits(0);
    let zero = "[[target]]\n    path = \"/dev/zero\"\n    size = \"16MiB\"\n    [defaults]";
    folder.file("zero.toml", &crate::READS.replace("[defaults]", zero));
    folder.run("run zero.toml").exits(0);
}

const ERRORS: &str = r#"backend = { plugin = "sim", servers = 4, service = "1ms", error_rate = 1 }"#;

#[test]
fn failed_io_is_100_unless_it_is_expected() {
    judged(ERRORS).exits(100).says("i/o failed").prints("Input/output error");
    judged(&format!("{ERRORS}\nexpect = [\"iops > 1000000\"]")).exits(100);
    judged(&format!("{ERRORS}\nexpect = [\"errors < 100000\"]")).exits(0);
    judged(&format!("{ERRORS}\nexpect = [\"errors == 0\"]")).exits(99);
}

#[test]
fn a_target_that_always_fails_ends_the_step() {
    let broken = ERRORS.replace("error_rate = 1 ", "error_rate = 100 ");
    judged(&format!("{broken}\nexpect = [\"errors > 0\"]")).exits(100).says("100");
}
