//! Whatever a plan asks for, its record adds up: rows, histograms and totals tell of the same I/O, and on a
//! simulated target the same seed tells the same twice.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use iodyno_plugin::random::Random;
use iodyno_record::{Envelope, Event, HdrLog, Row, RowKind, StepResult, StepSpec};
use iodyno_tests::Folder;
use iodyno_tests::long::Sample;

/// One of several, at random.
fn one<'a>(random: &mut Random, of: &[&'a str]) -> &'a str {
    of[random.below(of.len() as u64) as usize]
}

fn backend(random: &mut Random) -> String {
    if random.below(4) == 0 {
        return "\"null\"".to_owned();
    }
    let servers = 1 + random.below(16);
    let service = one(random, &["20us", "100us", "900us", "7ms"]);
    let distribution = one(random, &["constant", "exponential"]);
    format!(
        "{{ plugin = \"sim\", servers = {servers}, service = \"{service}\", distribution = \"{distribution}\" }}"
    )
}

fn workload(random: &mut Random) -> String {
    let mix = one(
        random,
        &["read = 100", "write = 100", "read = 70, write = 30", "read = 49, write = 50, flush = 1"],
    );
    let sizes =
        "[{ size = \"4k\", weight = 60 }, { size = \"16k\", weight = 30 }, { size = \"64k\", weight = 10 }]";
    let block_size = one(random, &["\"4k\"", "\"8k\"", "\"128k\"", sizes]);
    let pattern = one(random, &["random", "sequential"]);
    format!(
        "{{ plugin = \"synthetic\", mix = {{ {mix} }}, block_size = {block_size}, pattern = \"{pattern}\" }}"
    )
}

/// A suite of one to three tests on a target without substance.
fn suite(random: &mut Random) -> String {
    let size = one(random, &["8MiB", "1GiB", "3TiB"]);
    let mut out =
        format!("schema = 1\n[suite]\nname = \"sums\"\n[[target]]\nlabel = \"t\"\nsize = \"{size}\"\n");
    for test in 0..=random.below(3) {
        let (warmup, measure) = (random.below(300), 20 + random.below(1500));
        let backend = backend(random);
        // The null backend runs in real time.
        let (warmup, measure) =
            if backend.contains("null") { (warmup / 30, 20 + measure / 30) } else { (warmup, measure) };
        let sharing = one(random, &["shared", "independent"]);
        write!(
            out,
            "[[test]]\nname = \"test-{test}\"\nbackend = {backend}\nphases = {{ warmup = \"{warmup}ms\", measure = \"{measure}ms\" }}\nstreams = \"{sharing}\"\n"
        )
        .expect("a string takes all");
        let outstanding = 1 + random.below(64);
        if sharing == "shared" {
            writeln!(out, "load = {{ outstanding = {outstanding} }}").expect("a string takes all");
        }
        for stream in 0..=random.below(3) {
            let workload = workload(random);
            writeln!(out, "[[test.stream]]\nname = \"stream-{stream}\"\nworkload = {workload}")
                .expect("a string takes all");
            let last = if sharing == "shared" {
                format!("weight = {}", 1 + random.below(9))
            } else {
                format!("load = {{ outstanding = {} }}", 1 + random.below(40))
            };
            writeln!(out, "{last}").expect("a string takes all");
        }
    }
    out
}

/// All that rows and log tell of one operation of one stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    completed: u64,
    bytes: u64,
    short: u64,
    errors: u64,
    window_completed: u64,
    window_bytes: u64,
    histogram: u64,
}

/// By item, step, stream's name and operation.
type Sums = BTreeMap<(u32, u32, String, &'static str), Sum>;

fn of_results(steps: &[(StepSpec, StepResult)]) -> Sums {
    let mut sums = Sums::new();
    for (spec, result) in steps {
        for stream in &result.streams {
            for op in &stream.ops {
                let errors = op.errors.values().sum();
                let histogram = op.service.as_ref().map_or(0, |summary| summary.count);
                let sum = Sum {
                    completed: op.completed,
                    bytes: op.bytes,
                    short: op.short,
                    errors,
                    window_completed: op.window_completed,
                    window_bytes: op.window_bytes,
                    histogram,
                };
                sums.insert((spec.item, spec.step, stream.name.clone(), op.op.name()), sum);
            }
        }
    }
    sums
}

fn of_rows(steps: &[(StepSpec, StepResult)], rows: &[Row], log: &str) -> Sums {
    let mut sums = Sums::new();
    let spec_of = |row: &Row| {
        let found =
            steps.iter().map(|(spec, _)| spec).find(|spec| (spec.item, spec.step) == (row.item, row.step));
        found.expect("every row belongs to a step")
    };
    for row in rows.iter().filter(|row| matches!(row.kind, RowKind::Measure | RowKind::Tail)) {
        let stream = spec_of(row).streams[row.stream as usize].name.clone();
        let sum = sums.entry((row.item, row.step, stream, row.op.name())).or_default();
        sum.completed += row.completed;
        sum.bytes += row.bytes;
        sum.short += row.short;
        sum.errors += row.errors.values().sum::<u64>();
        if row.kind == RowKind::Measure {
            sum.window_completed += row.completed + row.carried;
            sum.window_bytes += row.bytes + row.carried_bytes;
        }
        assert_eq!(row.service.is_some(), row.completed > 0, "latencies where something completed: {row:?}");
    }
    for entry in HdrLog::read(log).expect("a whole log") {
        let parts: Vec<&str> = entry.tag.split('/').collect();
        let [name, step, kind, stream, op, "service"] = parts[..] else { continue };
        if !kind.starts_with("measure") && kind != "tail" {
            continue;
        }
        let (spec, _) =
            steps.iter().find(|(spec, _)| spec.name == name).expect("every line belongs to an item");
        let op = iodyno_record::Op::ALL.into_iter().find(|o| o.name() == op).expect("an operation");
        let key = (spec.item, step.parse().expect("a step"), stream.to_owned(), op.name());
        sums.get_mut(&key).unwrap_or_else(|| panic!("no row for {}", entry.tag)).histogram +=
            entry.histogram.count();
    }
    sums
}

fn lines<T: serde::de::DeserializeOwned>(path: &Path) -> Vec<T> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}

fn steps(run: &Path) -> Vec<(StepSpec, StepResult)> {
    let (mut specs, mut steps) = (BTreeMap::new(), Vec::new());
    for envelope in lines::<Envelope>(&run.join("events.ndjson")) {
        match envelope.event {
            Event::StepStarted { spec } => drop(specs.insert((spec.item, spec.step), *spec)),
            Event::StepFinished { result } => {
                let spec = specs.remove(&(result.item, result.step)).expect("a step starts before it ends");
                steps.push((spec, *result));
            }
            _ => {}
        }
    }
    steps
}

#[test]
fn records_add_up() {
    Sample::take(25).run("records_add_up", |seed| {
        let text = suite(&mut Random::new(seed));
        let folder = Folder::new();
        folder.file("sums.toml", &text);
        let line = format!("run sums.toml --seed {} --progress none", seed >> 11);
        let ended = folder.run(&line);
        assert!(ended.code == Some(0), "{ended}\n--- suite\n{text}");
        let run = folder.only_run();
        let steps = steps(&run);
        assert!(!steps.is_empty());
        let log = fs::read_to_string(run.join("histograms.hlog")).expect("a run leaves its log");
        let mut told = of_rows(&steps, &lines(&run.join("rows.ndjson")), &log);
        let results = of_results(&steps);
        // An operation of the mix that was never drawn has a result and no row.
        for key in results.keys() {
            told.entry(key.clone()).or_default();
        }
        assert_eq!(told, results, "--- suite\n{text}");
        if !text.contains("\"null\"") {
            folder.run(&line).exits(0);
            let [first, second] = &folder.runs()[..] else { panic!("two runs") };
            let rows = |run: &Path| fs::read(run.join("rows.ndjson")).expect("readable");
            assert!(rows(first) == rows(second), "the same seed told something else\n--- suite\n{text}");
        }
    });
}
