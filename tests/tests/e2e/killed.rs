//! A run that is killed at any moment leaves a record from which every report can be made.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use iodyno_plugin::random::Random;
use iodyno_record::{Envelope, Event, Histogram, Op, Outcome, Row, RowKind, StepRecord};
use iodyno_tests::Folder;
use rustix::process::Signal;

use crate::{READS, folder, results, schema};

/// Long phases with short rows on a scratch file, after a while of idling.
const LONG: &str = r#"
    schema = 1
    [[target]]
    label   = "disk"
    scratch = "1GiB"
    [defaults]
    interval = "50ms"
    load     = { outstanding = 8 }
    [[prepare]]
    idle = "300ms"
    [[test]]
    name     = "mixed"
    phases   = { warmup = "WARMUP", measure = "60s" }
    workload = { plugin = "synthetic", mix = { read = 70, write = 30 }, block_size = "4k", pattern = "random" }
"#;

/// The whole lines of a record's file, of whatever is there now.
fn lines<T: serde::de::DeserializeOwned>(run: &Path, file: &str) -> Vec<T> {
    let text = fs::read_to_string(run.join(file)).unwrap_or_default();
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn started(run: &Path, name: &str) -> bool {
    let starts = |event: &Event| matches!(event, Event::StepStarted { spec } if spec.name == name);
    lines::<Envelope>(run, "events.ndjson").iter().any(|envelope| starts(&envelope.event))
}

fn rows(run: &Path, kind: RowKind) -> usize {
    lines::<Row>(run, "rows.ndjson").iter().filter(|row| row.item > 0 && row.kind == kind).count()
}

/// Kills a run of `suite` as soon as `moment` holds of its folder, and makes all reports.
#[track_caller]
fn killed(
    folder: &Folder,
    suite: &str,
    what: &str,
    moment: impl Fn(&Path) -> bool,
) -> iodyno_record::Results {
    folder.file("long.toml", suite);
    let mut running = folder.start("run long.toml --progress none");
    running.wait_until(what, || folder.runs().last().is_some_and(|run| moment(run)));
    running.signal(Signal::KILL);
    let ended = running.end();
    assert_eq!(ended.code, None, "killed by a signal, not ended\n{ended}");
    let run = folder.runs().pop().unwrap();
    let report = format!("report {} -o json=k.json -o html=k.html -o csv=k.csv", run.display());
    folder.run(&report).exits(0).prints("! interrupted").never_says("panicked");
    for file in ["k.html", "k.csv"] {
        let text = fs::read_to_string(folder.path(file)).unwrap();
        assert!(text.contains("interrupted"), "{file} does not say that it is not all");
    }
    schema::must_fit(&folder.path("k.json"));
    let mut document = results(&folder.path("k.json"));
    let results = document.runs.remove(0);
    assert_eq!(results.run.outcome, Outcome::Interrupted);
    check_last_step(&run, &results.items);
    results
}

/// Totals and histograms of the step that never finished are those of its rows.
#[track_caller]
fn check_last_step(run: &Path, items: &[iodyno_record::ItemResult]) {
    let Some(StepRecord { spec, result }) = items.last().and_then(|item| item.steps.last()) else { return };
    let mut totals = BTreeMap::<Op, [u64; 2]>::new();
    let of_step = |row: &Row| (row.item, row.step) == (spec.item, spec.step);
    for row in lines::<Row>(run, "rows.ndjson").iter().filter(|row| of_step(row)) {
        if matches!(row.kind, RowKind::Measure | RowKind::Tail) {
            let total = totals.entry(row.op).or_default();
            *total = [total[0] + row.completed, total[1] + row.bytes];
        }
    }
    let told: BTreeMap<Op, [u64; 2]> = result.ops(None).map(|op| (op.op, [op.completed, op.bytes])).collect();
    assert_eq!(told, totals);
    for op in result.ops(None).filter(|op| op.completed > 0) {
        let service = op.service.as_ref().expect("what completed took a time");
        let counted = Histogram::from_hdr_v2(&service.hdr_v2).unwrap().count();
        assert_eq!((service.count, counted), (op.completed, op.completed));
    }
}

#[test]
fn while_it_fills() {
    // A fast disk needs a large file, or the fill is over before it is killed.
    let in_the_fill = ["64MiB", "256MiB", "1GiB", "4GiB"].iter().find_map(|size| {
        let (folder, suite) = (folder(), LONG.replace("WARMUP", "0s").replace("1GiB", size));
        let results = killed(&folder, &suite, "the fill", |run| started(run, "fill-scratch"));
        let [item] = results.items.as_slice() else { return None };
        assert_eq!((item.name.as_str(), item.outcome), ("fill-scratch", Outcome::Interrupted));
        Some(folder)
    });
    let folder = in_the_fill.expect("the fill of 4 GiB takes some time");
    // Nobody knows what else happened to the file since, so it is not trusted; only if it was killed before the
    // first write is it as it was made.
    let ended = folder.run("run long.toml --set test.mixed.phases.measure=100ms");
    let again = ended.code == Some(0) && ended.err.contains("PASS fill-scratch");
    assert!(
        again || ended.code == Some(3) && ended.err.contains("by a run that was killed: remove it"),
        "{ended}"
    );
}

#[test]
fn while_it_idles() {
    let suite = LONG.replace("WARMUP", "0s").replace("300ms", "60s").replace("1GiB", "16MiB");
    let results = killed(&folder(), &suite, "the idling", |run| started(run, "idle"));
    assert_eq!(results.items.len(), 2, "the fill was whole");
    assert_eq!(results.items[0].outcome, Outcome::Passed);
    assert_eq!(results.items[1].outcome, Outcome::Interrupted);
}

#[test]
fn while_it_warms_up() {
    let suite = LONG.replace("WARMUP", "60s").replace("1GiB", "16MiB");
    let results = killed(&folder(), &suite, "rows", |run| rows(run, RowKind::Warmup) > 2);
    let step = &results.items.last().unwrap().steps[0].result;
    assert_eq!(step.window_ns, 0);
    assert!(step.warmup_ns > 0);
    assert_eq!(step.ops(None).count(), 0, "nothing of the measure is there");
}

#[test]
fn while_it_measures() {
    let suite = LONG.replace("WARMUP", "100ms").replace("1GiB", "16MiB");
    for rows_wanted in [1, 2, 5, 20] {
        let results = killed(&folder(), &suite, "rows", |run| rows(run, RowKind::Measure) >= rows_wanted);
        let item = results.items.last().unwrap();
        assert_eq!((item.name.as_str(), item.outcome), ("mixed", Outcome::Interrupted));
        let step = &item.steps[0].result;
        assert!(step.window_ns > 0 && step.ops(None).all(|op| op.completed > 0 && op.iops > Some(0.0)));
        assert!(item.reason.as_ref().unwrap().contains("the record stops here"));
    }
}

#[test]
fn while_a_simulation_writes_rows_as_fast_as_it_can() {
    let folder = folder();
    let suite =
        crate::simulated("").replace("60s", "700h").replace("[defaults]", "[defaults]\ninterval = \"100ms\"");
    for rows_wanted in [100, 700] {
        killed(&folder, &suite, "rows", |run| {
            fs::read_to_string(run.join("rows.ndjson")).unwrap_or_default().lines().count() > rows_wanted
        });
    }
}

#[test]
fn before_its_record_is_begun() {
    let folder = folder();
    folder.run("run simulated.toml -q").exits(0);
    let run = folder.only_run();
    // The header is written last of what comes before the first I/O.
    fs::remove_file(run.join("run.json")).unwrap();
    folder
        .run(&format!("report {}", run.display()))
        .exits(3)
        .says("is no readable run folder: run.json: No such file");
}

/// Between steps, while reports are written, wherever chance has it.
#[test]
fn at_any_moment() {
    const SEED: u64 = 7;
    let (folder, mut random) = (folder(), Random::new(SEED));
    let (head, test) = READS.split_once("[[test]]").unwrap();
    let test = |n: u32| format!("[[test]]{}", test.replace("\"read\"", &format!("\"read-{n}\"")));
    let tests: String = (0..8).map(test).collect();
    folder.file("short.toml", &(head.replace("300ms", "20ms").replace("50ms", "10ms") + &tests));
    folder.run("run short.toml --size 16MiB -q").exits(0);
    let (mut unbegun, mut interrupted, mut finished) = (0, 0, 0);
    for _ in 0..20 {
        let known = folder.runs();
        let wait = Duration::from_micros(random.below(500_000));
        println!("seed {SEED}: killed after {wait:?}");
        let running = folder.start("run short.toml --size 16MiB -q");
        thread::sleep(wait);
        running.signal(Signal::KILL);
        running.end();
        let Some(run) = folder.runs().into_iter().find(|run| !known.contains(run)) else {
            unbegun += 1;
            continue;
        };
        let report = format!("report {} -o json=k.json -o html=k.html -o csv=k.csv", run.display());
        if !run.join("run.json").exists() {
            folder.run(&report).exits(3).says("run.json: No such file");
            unbegun += 1;
            continue;
        }
        folder.run(&report).exits(0).never_says("panicked");
        schema::must_fit(&folder.path("k.json"));
        let results = results(&folder.path("k.json")).runs.remove(0);
        check_last_step(&run, &results.items);
        match results.run.outcome {
            Outcome::Interrupted => interrupted += 1,
            outcome => {
                assert_eq!((outcome, results.items.len()), (Outcome::Passed, 8));
                finished += 1;
            }
        }
    }
    println!("{unbegun} not begun, {interrupted} interrupted, {finished} finished");
    assert!(interrupted > 0);
}
