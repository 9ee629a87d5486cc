//! Runs on a simulated target, and what can be read back of them: whole, cut short, damaged.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use iodyno_builtins as _;

use std::fs;
use std::path::{Path, PathBuf};

use iodyno_host::Registry;
use iodyno_record::{Envelope, Event, Histogram, Outcome, Row, RowKind, Stamps};
use iodyno_runner::{
    Control, Finished, Grants, Observer, OutputRequest, Place, RunRequest, load, report, resolve, run,
};
use iodyno_suite::{Overrides, Suite};

const SUITE: &str = r#"
schema = 1
[suite]
name = "record"
[[target]]
label = "sim"
size = "1GiB"
[defaults]
backend = { plugin = "sim", servers = 2, service = "100us", distribution = "exponential" }
phases = { warmup = "1s", measure = "5s" }
[[prepare]]
fill = { block_size = "1MiB" }
[[prepare]]
idle = "10ms"
[[test]]
name = "mixed"
workload = { plugin = "synthetic", mix = { read = 70, write = 30 } }
load = { outstanding = 8 }
expect = ["errors == 0", "iops > 19000"]
[[test]]
name = "too-large"
requires = { capacity = "1TB" }
workload = { plugin = "synthetic" }
"#;

struct Bench {
    folder: tempfile::TempDir,
    registry: Registry,
    control: Control,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Bench { folder, registry: Registry::load().unwrap(), control: Control::default() }
    }

    fn run(&self, suite: &str, seen: &mut Vec<Envelope>) -> Finished {
        self.run_watched(suite, &mut |envelope| seen.push(envelope.clone()))
    }

    fn run_watched(&self, suite: &str, observer: &mut Observer<'_>) -> Finished {
        let (parsed, overrides) = (Suite::parse("record.toml", suite).unwrap(), Overrides::default());
        let requests = iodyno_suite::targets(&parsed, &overrides, &self.registry).unwrap();
        let facts = resolve(&requests).unwrap();
        let plan = iodyno_suite::plan(&parsed, &overrides, &facts, &self.registry, 7).unwrap();
        let request = RunRequest {
            plan: &plan,
            suite,
            runs: self.folder.path(),
            command: vec!["iodyno".to_owned()],
            grants: &Grants::default(),
            registry: &self.registry,
            control: &self.control,
        };
        run(&request, &mut |_| {}, &mut |envelope| observer(envelope)).unwrap()
    }

    fn rows(folder: &Path) -> Vec<Row> {
        let text = fs::read_to_string(folder.join("rows.ndjson")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Cuts the event log behind the first event that `last` accepts.
fn cut_events(folder: &Path, last: impl Fn(&Event) -> bool) {
    let path = folder.join("events.ndjson");
    let mut kept = String::new();
    for line in fs::read_to_string(&path).unwrap().lines() {
        kept += line;
        kept.push('\n');
        if last(&serde_json::from_str::<Envelope>(line).unwrap().event) {
            break;
        }
    }
    fs::write(&path, kept).unwrap();
}

fn is_start_of(name: &str) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::StepStarted { spec } if spec.name == name)
}

#[test]
fn a_run_is_recorded_whole() {
    let bench = Bench::new();
    let mut seen = Vec::new();
    let finished = bench.run(SUITE, &mut seen);
    assert_eq!(finished.outcome, Outcome::Passed);
    let loaded = load(&finished.folder).unwrap();
    let items = &loaded.results.items;
    let outcomes: Vec<_> = items.iter().map(|i| (i.name.as_str(), i.outcome)).collect();
    assert_eq!(outcomes[2..], [("mixed", Outcome::Passed), ("too-large", Outcome::NotRun)]);
    assert!(items[3].reason.as_ref().unwrap().contains("too small"));

    let result = &items[2].steps[0].result;
    let (rows, id) = (Bench::rows(&finished.folder), items[2].item);
    for op in result.ops(None) {
        let rows = || rows.iter().filter(|r| r.item == id && r.op == op.op);
        let total: u64 =
            rows().filter(|r| matches!(r.kind, RowKind::Measure | RowKind::Tail)).map(|r| r.completed).sum();
        assert_eq!(total, op.completed);
        let window: u64 =
            rows().filter(|r| r.kind == RowKind::Measure).map(|r| r.completed + r.carried).sum();
        assert_eq!(window, op.window_completed);
        let service = op.service.as_ref().unwrap();
        assert_eq!(service.count, op.completed);
        assert_eq!(Histogram::from_hdr_v2(&service.hdr_v2).unwrap().count(), op.completed);
    }

    let stored: Vec<Envelope> = fs::read_to_string(finished.folder.join("events.ndjson"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(stored.iter().enumerate().all(|(i, e)| e.seq == i as u64), "events count without gaps");
    seen.retain(|e| e.event.is_stored());
    assert_eq!(seen, stored, "what is watched and what is stored are the same");
}

#[test]
fn a_step_that_never_finished_is_rebuilt_from_its_rows() {
    let bench = Bench::new();
    let folder = bench.run(SUITE, &mut Vec::new()).folder;
    let whole = load(&folder).unwrap().results.items.remove(2).steps.remove(0).result;
    cut_events(&folder, is_start_of("mixed"));

    let loaded = load(&folder).unwrap().results;
    assert_eq!(loaded.run.outcome, Outcome::Interrupted);
    let item = loaded.items.last().unwrap();
    assert_eq!((item.name.as_str(), item.outcome), ("mixed", Outcome::Interrupted));
    let salvaged = &item.steps[0].result;
    assert_eq!(salvaged.timing.stamps, Stamps::Unknown);
    assert_eq!((salvaged.window_ns, salvaged.warmup_ns), (whole.window_ns, whole.warmup_ns));
    for (left, right) in salvaged.ops(None).zip(whole.ops(None)) {
        assert_eq!((left.op, left.completed, left.bytes), (right.op, right.completed, right.bytes));
        assert_eq!((left.window_completed, left.iops), (right.window_completed, right.iops));
        let (left, right) = (left.service.as_ref().unwrap(), right.service.as_ref().unwrap());
        let slots = |text: &str| Histogram::from_hdr_v2(text).unwrap().slots().collect::<Vec<_>>();
        assert_eq!(slots(&left.hdr_v2), slots(&right.hdr_v2));
    }
    assert!((salvaged.depth.mean.unwrap() - whole.depth.mean.unwrap()).abs() < 1e-6);
}

#[test]
fn a_line_that_was_cut_short_is_left_out() {
    let bench = Bench::new();
    let folder = bench.run(SUITE, &mut Vec::new()).folder;
    cut_events(&folder, is_start_of("mixed"));
    for name in ["events.ndjson", "rows.ndjson", "histograms.hlog"] {
        let path = folder.join(name);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 10]).unwrap();
    }
    // The start of the step was the line that was cut: the run now ends with the item's.
    let results = load(&folder).unwrap().results;
    assert_eq!(results.items.last().unwrap().steps.len(), 0);
    assert_eq!(results.run.outcome, Outcome::Interrupted);
}

#[test]
fn every_prefix_of_the_event_log_can_be_read() {
    let bench = Bench::new();
    let folder = bench.run(SUITE, &mut Vec::new()).folder;
    let path = folder.join("events.ndjson");
    let bytes = fs::read(&path).unwrap();
    for end in (0..bytes.len()).step_by(997) {
        fs::write(&path, &bytes[..end]).unwrap();
        assert_eq!(load(&folder).unwrap().results.run.outcome, Outcome::Interrupted, "cut at {end}");
    }
}

#[test]
fn damage_is_located() {
    let bench = Bench::new();
    let folder = bench.run(SUITE, &mut Vec::new()).folder;
    let text = fs::read_to_string(folder.join("events.ndjson")).unwrap();
    fs::write(folder.join("events.ndjson"), text.replacen("\"item_started\"", "\"item_starte\"", 1)).unwrap();
    let message = load(&folder).unwrap_err().to_string();
    assert!(message.contains("events.ndjson, line 3, column "), "{message}");
    let header = fs::read_to_string(folder.join("run.json")).unwrap();
    fs::write(folder.join("run.json"), header.replace("\"schema_version\": 1", "\"schema_version\": 99"))
        .unwrap();
    let message = load(&folder).unwrap_err().to_string();
    assert!(message.contains("schema 99"), "{message}");
    let message = load(bench.folder.path()).unwrap_err().to_string();
    assert!(message.contains("is no readable run folder"), "{message}");
}

#[test]
fn a_stopped_run_keeps_what_it_has() {
    let bench = Bench::new();
    bench.control.stop();
    let finished = bench.run(SUITE, &mut Vec::new());
    assert_eq!(finished.outcome, Outcome::Interrupted);
    assert_eq!(load(&finished.folder).unwrap().results.items.len(), 0);
}

#[test]
fn failed_io_fails_the_run_unless_an_expectation_allows_it() {
    let faulty = SUITE
        .replace("service = ", "error_rate = 1, service = ")
        .replace("[[prepare]]\nfill = { block_size = \"1MiB\" }", "");
    let judged = |suite: &str| Bench::new().run(suite, &mut Vec::new()).outcome;
    assert_eq!(judged(&faulty.replace("\"errors == 0\", ", "")), Outcome::Failed);
    assert_eq!(judged(&faulty), Outcome::ThresholdsCrossed);
    assert_eq!(judged(&faulty.replace("errors == 0", "errors > 0")), Outcome::Passed);
}

#[test]
fn nothing_run_is_no_success() {
    let start = SUITE.find("[[test]]\nname = \"mixed\"").unwrap();
    let end = SUITE.find("[[test]]\nname = \"too-large\"").unwrap();
    let suite = format!("{}{}", &SUITE[..start], &SUITE[end..]);
    assert_eq!(Bench::new().run(&suite, &mut Vec::new()).outcome, Outcome::NotRun);
}

#[test]
fn reports_come_from_the_record_alone() {
    let bench = Bench::new();
    let folder = bench.run(SUITE, &mut Vec::new()).folder;
    let made = |name: &str| -> Vec<(PathBuf, Vec<u8>)> {
        let runs = [load(&folder).unwrap()];
        let outputs = [OutputRequest { reporter: name.to_owned(), place: Place::RunFolder }];
        let reported = report(&runs, &outputs, &bench.registry, &mut Vec::new(), &mut Vec::new());
        assert!(reported.failures.is_empty(), "{:?}", reported.failures);
        reported.files.into_iter().map(|(_, path)| (path.clone(), fs::read(path).unwrap())).collect()
    };
    for reporter in ["console", "csv", "html", "json", "ndjson"] {
        let (first, second) = (made(reporter), made(reporter));
        assert_eq!(first, second, "{reporter}");
        assert!(first[0].0.starts_with(folder.join("report").join(reporter)) && first[0].1.len() > 100);
    }
    let runs = [load(&folder).unwrap()];
    let unknown = [OutputRequest { reporter: "htm".to_owned(), place: Place::Stdout }];
    let message =
        report(&runs, &unknown, &bench.registry, &mut Vec::new(), &mut Vec::new()).failures[0].to_string();
    assert!(message.contains("no reporter is called `htm`; there are console, csv, html"), "{message}");
}

/// A suite on a scratch file in `folder`, with more lines in `[defaults]` and for the test.
fn on_scratch(folder: &Path, defaults: &str, test: &str) -> String {
    let path = folder.join("scratch.dat");
    format!(
        "schema = 1\n[suite]\nname = \"scratch\"\n[[target]]\npath = \"{}\"\nscratch = \"4MiB\"\n\
         [defaults]\nphases = {{ warmup = \"10ms\", measure = \"50ms\" }}\n{defaults}\n\
         [[test]]\nname = \"t\"\n{test}\n",
        path.display()
    )
}

impl Bench {
    fn run_on_scratch(&self, suite: &str) -> Result<Finished, iodyno_runner::RunError> {
        let (parsed, overrides) = (Suite::parse("scratch.toml", suite).unwrap(), Overrides::default());
        let requests = iodyno_suite::targets(&parsed, &overrides, &self.registry).unwrap();
        iodyno_runner::make_scratch(&requests).unwrap();
        let facts = resolve(&requests).unwrap();
        let plan = iodyno_suite::plan(&parsed, &overrides, &facts, &self.registry, 7).unwrap();
        let request = RunRequest {
            plan: &plan,
            suite,
            runs: &self.folder.path().join("runs"),
            command: Vec::new(),
            grants: &Grants::default(),
            registry: &self.registry,
            control: &self.control,
        };
        run(&request, &mut |_| {}, &mut |_| {})
    }

    /// What was run, by name.
    fn items_on_scratch(&self, suite: &str) -> Vec<String> {
        let results = load(&self.run_on_scratch(suite).unwrap().folder).unwrap().results;
        results.items.into_iter().map(|item| item.name).collect()
    }
}

#[test]
fn a_scratch_file_is_filled_once_and_never_with_what_a_suite_chooses() {
    let bench = Bench::new();
    let suite = on_scratch(
        bench.folder.path(),
        "buffers = { fill = \"zero\" }\nbackend = \"sync\"",
        "workload = { plugin = \"synthetic\", mix = { read = 100 } }\nload = { outstanding = 1 }",
    );
    let first = load(&bench.run_on_scratch(&suite).unwrap().folder).unwrap().results;
    let names: Vec<&str> = first.items.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["fill-scratch", "t"]);
    assert_eq!(first.items[1].steps[0].result.streams[0].zero_reads, 0);
    assert_eq!(bench.items_on_scratch(&suite), ["t"]);
}

#[test]
fn a_scratch_file_that_zeroes_were_written_to_is_filled_again() {
    let bench = Bench::new();
    let suite = |defaults: &str, op: &str| {
        let test = format!(
            "workload = {{ plugin = \"synthetic\", mix = {{ {op} = 100 }} }}\nload = {{ outstanding = 1 }}"
        );
        on_scratch(bench.folder.path(), &format!("{defaults}\nbackend = \"sync\""), &test)
    };
    let zero = "buffers = { fill = \"zero\" }";
    assert_eq!(bench.items_on_scratch(&suite(zero, "read")), ["fill-scratch", "t"]);
    assert_eq!(bench.items_on_scratch(&suite("", "write")), ["t"], "none were written");
    assert_eq!(bench.items_on_scratch(&suite(zero, "write")), ["t"]);
    assert_eq!(bench.items_on_scratch(&suite("", "read")), ["fill-scratch", "t"]);
    let own_fill = suite(zero, "read").replace("[[test]]", "[[prepare]]\nfill = {}\n[[test]]");
    assert_eq!(bench.items_on_scratch(&own_fill), ["fill", "t"]);
    assert_eq!(bench.items_on_scratch(&suite("", "read")), ["fill-scratch", "t"]);
}

#[test]
fn what_cannot_work_is_told_before_the_first_io() {
    let bench = Bench::new();
    let asks = |load: &str, more: &str| {
        let test =
            format!("workload = {{ plugin = \"synthetic\", mix = {{ read = 100 }}{more} }}\nload = {load}");
        let suite = on_scratch(bench.folder.path(), "backend = \"sync\"", &test);
        bench.run_on_scratch(&suite).unwrap_err().to_string()
    };
    let slices =
        asks("{ outstanding = 8 }", ", pattern = \"sequential\", slices = true, block_size = \"1MiB\"");
    assert!(slices.contains("`t` cannot be run: workload `synthetic`"), "{slices}");
    let threads = asks("{ outstanding = 20000 }", "");
    assert!(threads.contains("needs 20000 threads"), "{threads}");
    assert!(!bench.folder.path().join("runs").exists(), "no run folder, no i/o");
}

#[test]
fn what_is_left_in_the_page_cache_is_written_out() {
    let bench = Bench::new();
    let suite = on_scratch(
        bench.folder.path(),
        "direct = false\nbackend = \"sync\"",
        "workload = { plugin = \"synthetic\", mix = { write = 100 } }\nload = { outstanding = 1 }",
    );
    let results = load(&bench.run_on_scratch(&suite).unwrap().folder).unwrap().results;
    let notes: Vec<&str> = results.items[1].steps[0].result.notes.iter().map(|n| n.code.as_str()).collect();
    assert!(notes.contains(&"write_back") && notes.contains(&"page_cache"), "{notes:?}");
}

/// What it makes of a file; `None` removes it.
type Damage = fn(&[u8]) -> Option<Vec<u8>>;

const DAMAGES: [(&str, Damage); 9] = [
    ("missing", |_| None),
    ("empty", |_| Some(Vec::new())),
    ("first half only", |bytes| Some(bytes[..bytes.len() / 2].to_vec())),
    ("second half only", |bytes| Some(bytes[bytes.len() / 2..].to_vec())),
    ("first line gone", |bytes| Some(without_line(bytes, 0))),
    ("a line in the middle gone", |bytes| Some(without_line(bytes, bytes.len() / 2))),
    ("a line in the middle twice", twice),
    ("a byte in the middle is 0xff", |bytes| Some(with_byte(bytes, bytes.len() / 2, |_| 0xff))),
    ("a digit of a count is another", |bytes| {
        let at = find(bytes, b"\"completed\":").or_else(|| bytes.iter().rposition(u8::is_ascii_digit))?;
        Some(with_byte(bytes, at, |digit| if digit == b'9' { b'8' } else { digit + 1 }))
    }),
];

/// The start of the line that `at` lies in, and the start of the next one.
fn line_around(bytes: &[u8], at: usize) -> (usize, usize) {
    let start = bytes[..at].iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
    (start, bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |end| at + end + 1))
}

fn without_line(bytes: &[u8], at: usize) -> Vec<u8> {
    let (start, end) = line_around(bytes, at);
    [&bytes[..start], &bytes[end..]].concat()
}

fn twice(bytes: &[u8]) -> Option<Vec<u8>> {
    let (start, end) = line_around(bytes, bytes.len() / 2);
    Some([&bytes[..end], &bytes[start..]].concat())
}

fn with_byte(bytes: &[u8], at: usize, change: fn(u8) -> u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] = change(bytes[at]);
    bytes
}

/// Where the number behind the last `key` begins.
fn find(bytes: &[u8], key: &[u8]) -> Option<usize> {
    bytes.windows(key.len()).rposition(|window| window == key).map(|at| at + key.len())
}

/// A damaged record is refused with the file's name, or says of itself that it is not all, or gives what it would
/// have given whole. It never gives other results in silence.
#[test]
fn no_damage_changes_results_in_silence() {
    let bench = Bench::new();
    let folder = bench.run(SUITE, &mut Vec::new()).folder;
    let whole = load(&folder).unwrap();
    assert!(whole.results.notes.iter().all(|note| note.code != "record_damaged"));
    let (mut told, mut without_effect) = (Vec::new(), Vec::new());
    for name in
        ["run.json", "plan.json", "environment.json", "events.ndjson", "rows.ndjson", "histograms.hlog"]
    {
        let path = folder.join(name);
        let bytes = fs::read(&path).unwrap();
        for (what, damage) in DAMAGES {
            match damage(&bytes) {
                Some(damaged) if damaged == bytes => continue,
                Some(damaged) => fs::write(&path, damaged).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            match load(&folder) {
                Err(e) => {
                    assert!(e.to_string().contains(name), "{name}, {what}: {e}");
                    told.push((name, what));
                }
                Ok(loaded) => {
                    let remarked = loaded.results.notes.iter().any(|note| note.code == "record_damaged");
                    if remarked || loaded.results.run.outcome == Outcome::Interrupted {
                        told.push((name, what));
                    } else {
                        let same = loaded.results.items == whole.results.items;
                        assert!(same, "{name}, {what}: other results, and nothing says so");
                        without_effect.push((name, what));
                    }
                }
            }
            fs::write(&path, &bytes).unwrap();
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let message = load(&folder).unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
        fs::remove_dir(&path).unwrap();
        fs::write(&path, &bytes).unwrap();
    }
    println!("told: {told:#?}\nwithout effect on the results: {without_effect:#?}");
    // Only what a document says of itself, and the log's line about its format, may be another unnoticed.
    let may_be = |(name, what): &(&str, &str)| {
        name.ends_with(".json") || (*name, *what) == ("histograms.hlog", "first line gone")
    };
    assert!(without_effect.iter().all(may_be), "{without_effect:?}");
}

#[test]
fn a_run_that_goes_on_says_so() {
    let bench = Bench::new();
    let mut read = None;
    let finished = bench.run_watched(SUITE, &mut |envelope| {
        if is_start_of("mixed")(&envelope.event) {
            let run = fs::read_dir(bench.folder.path()).unwrap().next().unwrap().unwrap();
            read = Some(load(&run.path()).unwrap().results);
        }
    });
    let results = read.expect("the test was started");
    assert!(results.notes.iter().any(|note| note.code == "goes_on"), "{:?}", results.notes);
    assert!(results.items.last().unwrap().reason.as_ref().unwrap().contains("when it was read"));
    let notes = load(&finished.folder).unwrap().results.notes;
    assert!(notes.iter().all(|note| note.code != "goes_on"), "{notes:?}");
}
