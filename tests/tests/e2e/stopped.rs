//! A run that is asked to stop keeps what it has; asked twice, it goes at once.

use std::fs;
use std::time::Duration;

use iodyno_record::{End, Outcome};
use iodyno_tests::{Folder, Record, Running};
use rustix::process::Signal;

use crate::{folder, results, simulated};

const LONG: &str = "run long.toml --progress none -o json=x.json -o html=x.html";

/// What a row of the first test holds, the fill before it being item 0.
const MEASURES: &str = "{\"item\":1,\"step\":0,\"kind\":\"measure\"";

/// A suite that would read for ten minutes, and idle for ten more.
fn long(folder: &Folder) {
    let suite = crate::READS.replace("100ms", "600s");
    folder.file(
        "long.toml",
        &format!(
            "{suite}\n    [[test]]\n    name = \"never\"\n    workload = {{ plugin = \"synthetic\" }}\n"
        ),
    );
    folder.file("idle.toml", &format!("{suite}\n    [[prepare]]\n    idle = \"600s\"\n"));
}

/// Starts `line` and waits until its run folder holds `text`.
fn running(folder: &Folder, line: &str, file: &str, text: &str) -> Running {
    let mut running = folder.start(line);
    running.wait_until(text, || {
        let run = folder.runs().pop();
        run.is_some_and(|run| fs::read_to_string(run.join(file)).unwrap_or_default().contains(text))
    });
    running
}

#[test]
fn one_signal_stops_it_and_keeps_everything() {
    for (signal, backend) in
        [(Signal::INT, "io_uring"), (Signal::INT, "sync"), (Signal::TERM, "auto"), (Signal::HUP, "auto")]
    {
        let folder = folder();
        long(&folder);
        let line = format!("{LONG} --size 4MiB --set defaults.backend={backend}");
        let running = running(&folder, &line, "rows.ndjson", MEASURES);
        running.signal(signal);
        let ended = running.end();
        ended
            .exits(130)
            .says("stopping")
            .says("INTERRUPTED read")
            .says("html x.html")
            .prints("! interrupted");
        ended.prints("1 interrupted").prints("1 never reached");
        let run = &results(&folder.path("x.json")).runs[0];
        let item = run.items.last().unwrap();
        assert_eq!((run.run.outcome, item.outcome), (Outcome::Interrupted, Outcome::Interrupted));
        let result = &item.steps[0].result;
        assert_eq!(result.end, End::Interrupted);
        assert!(result.window_ns > 0 && result.iops(None) > Some(0.0) && !result.workers.is_empty());
        Record::read(&folder.only_run()).must_add_up();
        folder.run_words(["report", folder.only_run().to_str().unwrap()]).exits(0).prints("! interrupted");
    }
}

#[test]
fn a_simulation_and_idling_stop_soon() {
    let folder = folder();
    folder.file("long.toml", &simulated("").replace("60s", "700h"));
    let run = running(&folder, LONG, "rows.ndjson", "\"measure\"");
    run.signal(Signal::INT);
    run.end().exits(130);
    long(&folder);
    let run = running(&folder, "run idle.toml --size 4MiB", "events.ndjson", "\"name\":\"idle\"");
    run.signal(Signal::INT);
    let ended = run.end();
    ended.exits(130);
    assert!(ended.took < Duration::from_secs(60), "{ended}");
}

#[test]
fn a_fill_that_was_stopped_is_begun_again() {
    // A fast disk needs a large file, or the fill is over before it is stopped.
    let in_the_fill = ["64MiB", "256MiB", "1GiB", "4GiB"].iter().any(|size| {
        let folder = folder();
        long(&folder);
        let line = format!("run idle.toml --size {size}");
        let run = running(&folder, &line, "events.ndjson", "\"name\":\"fill-scratch\"");
        run.signal(Signal::INT);
        let ended = run.end();
        let stopped = ended.exits(130).err.contains("INTERRUPTED fill-scratch");
        if stopped {
            folder.run(&format!("run reads.toml --size {size} -n")).exits(0).prints("fill-scratch");
        }
        stopped
    });
    assert!(in_the_fill, "the fill of 4 GiB takes some time");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = folder();
    long(&folder);
    let run = running(&folder, LONG, "rows.ndjson", MEASURES);
    // Both are there when it goes on, so that it cannot be through with the first before the second comes.
    for signal in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
        run.signal(signal);
    }
    run.end().exits(130).says("once more to leave at once");
    let events = fs::read_to_string(folder.only_run().join("events.ndjson")).unwrap();
    assert!(!events.contains("run_finished"), "it was not at once:\n{events}");
    assert!(!folder.path("x.json").exists());
    // It is then like one that was killed.
    folder.run_words(["report", folder.only_run().to_str().unwrap()]).exits(0).prints("! interrupted");
}

#[test]
fn what_failed_before_stays_in_the_record() {
    let folder = folder();
    let errors = simulated("").replace("servers = 4", "servers = 4, error_rate = 1").replace("60s", "700h");
    folder.file(
        "long.toml",
        &format!(
            "{}\n    [[test]]\n    name = \"next\"\n    workload = {{ plugin = \"synthetic\" }}\n",
            errors.replacen(
                "    name     = \"mixed\"",
                "    name     = \"mixed\"\n    phases = { measure = \"10s\" }",
                1
            )
        ),
    );
    let run = running(&folder, LONG, "events.ndjson", "\"name\":\"next\"");
    run.signal(Signal::INT);
    run.end().exits(130).says("FAIL mixed").prints("1 failed, 1 interrupted");
}
