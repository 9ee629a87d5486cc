//! What a run left in its folder, and whether it adds up: rows, histograms and totals must tell of the same I/O.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::path::Path;

use iodyno_record::{
    Envelope, Event, HdrLog, HdrLogEntry, Histogram, Op, OpResult, RELATIVE_ERROR, Row, RowKind, StepResult,
    StepSpec,
};
use serde::de::DeserializeOwned;

/// The record of a run that came to its end.
#[derive(Clone, Debug)]
pub struct Record {
    /// All steps, in their order.
    pub steps: Vec<Step>,
    /// All rows, in their order.
    pub rows: Vec<Row>,
    /// The interval log.
    pub log: Vec<HdrLogEntry>,
}

/// A step: what was asked and what came.
#[derive(Clone, Debug)]
pub struct Step {
    /// Asked.
    pub spec: StepSpec,
    /// Achieved.
    pub result: StepResult,
}

impl Step {
    /// Mean service time of all operations, ns; 0 when nothing completed.
    pub fn mean_service_ns(&self) -> f64 {
        let parts = self.result.ops(None).filter_map(|op| op.service.as_ref());
        let (sum, count) =
            parts.fold((0.0, 0), |(sum, n), part| (sum + part.mean_ns * part.count as f64, n + part.count));
        sum / (count as f64).max(1.0)
    }

    /// Good I/O of all operations per second of the window.
    ///
    /// # Panics
    /// When the window has no length.
    #[track_caller]
    pub fn iops(&self) -> f64 {
        self.result.iops(None).expect("the window has a length")
    }

    /// Outstanding I/O over the window, averaged over time.
    ///
    /// # Panics
    /// When the window has no length.
    #[track_caller]
    pub fn in_flight_mean(&self) -> f64 {
        self.result.depth.mean.expect("the window has a length")
    }

    /// Good I/O of an operation, or of all.
    pub fn completed(&self, op: Option<Op>) -> u64 {
        self.result.ops(op).map(|op| op.completed).sum()
    }

    /// Bytes of an operation, or of all, the tail's included.
    pub fn bytes(&self, op: Option<Op>) -> u64 {
        self.result.ops(op).map(|op| op.bytes).sum()
    }

    /// How a feature of the backend is in use, and why not better.
    ///
    /// # Panics
    /// When the backend told nothing of it.
    #[track_caller]
    pub fn fact(&self, name: &str) -> (&str, Option<&str>) {
        let facts = &self.result.backend.facts;
        let fact = facts.iter().find(|fact| fact.name == name);
        let fact = fact.unwrap_or_else(|| panic!("no fact `{name}` in {facts:?}"));
        (&fact.value, fact.fallback.as_deref())
    }
}

impl Record {
    /// Reads a run folder.
    ///
    /// # Panics
    /// When it is damaged, or a step has no end.
    #[track_caller]
    pub fn read(run: &Path) -> Record {
        let (mut specs, mut steps) = (BTreeMap::new(), Vec::new());
        for envelope in lines::<Envelope>(&run.join("events.ndjson")) {
            match envelope.event {
                Event::StepStarted { spec } => drop(specs.insert((spec.item, spec.step), *spec)),
                Event::StepFinished { result } => {
                    let spec = specs.remove(&(result.item, result.step));
                    let spec = spec.expect("a step starts before it ends");
                    steps.push(Step { spec, result: *result });
                }
                _ => {}
            }
        }
        assert!(specs.is_empty(), "steps without end: {specs:?}");
        let log = fs::read_to_string(run.join("histograms.hlog")).expect("a run leaves its log");
        let log = HdrLog::read(&log).expect("a whole log");
        Record { steps, rows: lines(&run.join("rows.ndjson")), log }
    }

    /// The only step of an item.
    ///
    /// # Panics
    /// When there is another number of them.
    #[track_caller]
    pub fn step(&self, item: &str) -> &Step {
        let mut steps = self.steps.iter().filter(|step| step.spec.name == item);
        let step = steps.next().unwrap_or_else(|| panic!("no step of `{item}`"));
        assert!(steps.next().is_none(), "several steps of `{item}`");
        step
    }

    /// Demands that rows, histograms and totals tell of the same I/O.
    ///
    /// # Panics
    /// When they do not.
    #[track_caller]
    pub fn must_add_up(&self) {
        let faults = self.faults();
        assert!(faults.is_empty(), "the record does not add up:\n{}", faults.join("\n"));
    }

    /// All that does not add up.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Faults(Vec::new());
        let histograms = self.histograms(&mut faults);
        for step in &self.steps {
            self.check(step, &histograms, &mut faults);
        }
        faults.0
    }

    /// The histogram of each row, none where nothing completed: the log has a line for each other row, in
    /// the same order.
    fn histograms(&self, faults: &mut Faults) -> Vec<Histogram> {
        let mut log = self.log.iter();
        let mut histograms = Vec::new();
        for row in &self.rows {
            let entry = if row.completed > 0 { log.next() } else { None };
            let Some((entry, service)) = entry.zip(row.service.as_ref()) else {
                faults.equal(
                    row,
                    "latencies without I/O",
                    (row.completed, row.service.is_some()),
                    (0, false),
                );
                histograms.push(Histogram::new());
                continue;
            };
            let step = self.steps.iter().find(|step| belongs(row, step));
            faults.equal(row, "line of the log", Some(&entry.tag), step.map(|step| tag(step, row)).as_ref());
            faults.equal(row, "length", entry.length_ns, row.end_ns - row.start_ns);
            faults.equal(row, "number in the log", entry.histogram.count(), row.completed);
            for (percent, value) in [(50.0, service.p50_ns), (99.0, service.p99_ns), (99.9, service.p99_9_ns)]
            {
                let percentile = entry.histogram.percentile_ns(percent).unwrap_or(0);
                faults.equal(row, "percentile", percentile.min(service.max_ns).max(service.min_ns), value);
            }
            let mean = entry.histogram.mean_ns().unwrap_or(0.0);
            faults.near(row, "mean", mean, service.mean_ns, RELATIVE_ERROR);
            histograms.push(entry.histogram.clone());
        }
        faults.equal("log", "lines of no row", log.count(), 0);
        histograms
    }

    fn check(&self, step: &Step, histograms: &[Histogram], faults: &mut Faults) {
        let Step { spec, result } = step;
        let per_s = |sum: f64| (result.window_ns > 0).then(|| sum * 1e9 / result.window_ns as f64);
        for (index, stream) in result.streams.iter().enumerate() {
            for op in &stream.ops {
                let name = format!("{} {} {}", spec.name, stream.name, op.op.name());
                let of_op = |(row, _): &(&Row, &Histogram)| {
                    let counts = matches!(row.kind, RowKind::Measure | RowKind::Tail);
                    belongs(row, step) && counts && (row.stream as usize, row.op) == (index, op.op)
                };
                let (rows, histograms): (Vec<&Row>, Vec<&Histogram>) =
                    self.rows.iter().zip(histograms).filter(of_op).unzip();
                check_counts(&name, op, &rows, faults);
                check_latencies(&name, op, &rows, &histograms, faults);
                faults.near(&name, "iops", op.iops, per_s(op.window_completed as f64), ROUNDING);
                faults.near(
                    &name,
                    "bandwidth",
                    op.bandwidth_bytes_per_s,
                    per_s(op.window_bytes as f64),
                    ROUNDING,
                );
                let mut at = result.warmup_ns;
                let mut in_flight = 0.0;
                for row in rows.iter().filter(|row| row.kind == RowKind::Measure) {
                    faults.equal(row, "the last window ended", at, row.start_ns);
                    at = row.end_ns;
                    in_flight += row.in_flight_mean.unwrap_or(0.0) * row.seconds();
                }
                faults.equal(&name, "end of the measure", at, result.warmup_ns + result.window_ns);
                faults.near(&name, "in flight", stream.in_flight_mean, per_s(in_flight), ROUNDING);
            }
        }
        let of_streams =
            result.streams.iter().filter_map(|stream| stream.in_flight_mean).reduce(|sum, more| sum + more);
        faults.near(&spec.name, "depth", result.depth.mean, of_streams, ROUNDING);
        let of_workers: u64 = result.workers.iter().map(|worker| worker.completed).sum();
        faults.equal(&spec.name, "workers", of_workers, step.completed(None) + result.errors(None));
    }
}

/// What is lost when numbers of 53 bits are added up.
const ROUNDING: f64 = 1e-9;

struct Faults(Vec<String>);

impl Faults {
    fn equal<T: PartialEq + Debug>(&mut self, place: impl Debug, what: &str, a: T, b: T) {
        if a != b {
            self.0.push(format!("{place:?}: {what}: {a:?} is not {b:?}"));
        }
    }

    fn near(
        &mut self,
        place: impl Debug,
        what: &str,
        a: impl Into<Option<f64>>,
        b: impl Into<Option<f64>>,
        share: f64,
    ) {
        let (a, b) = (a.into(), b.into());
        let near = a.zip(b).is_some_and(|(a, b)| (a - b).abs() <= share * a.abs().max(b.abs()));
        self.equal(place, what, if near { b } else { a }, b);
    }
}

fn check_counts(name: &str, op: &OpResult, rows: &[&Row], faults: &mut Faults) {
    let sum = |value: fn(&Row) -> u64| rows.iter().map(|row| value(row)).sum::<u64>();
    let in_window = |value: fn(&Row) -> u64| {
        rows.iter().filter(|row| row.kind == RowKind::Measure).map(|row| value(row)).sum::<u64>()
    };
    faults.equal(name, "completed", op.completed, sum(|r| r.completed));
    faults.equal(name, "bytes", op.bytes, sum(|r| r.bytes));
    faults.equal(name, "short", op.short, sum(|r| r.short));
    faults.equal(name, "in the window", op.window_completed, in_window(|r| r.completed + r.carried));
    faults.equal(name, "bytes in the window", op.window_bytes, in_window(|r| r.bytes + r.carried_bytes));
    let mut errors = BTreeMap::<i32, u64>::new();
    for (errno, n) in rows.iter().flat_map(|row| &row.errors) {
        *errors.entry(*errno).or_default() += n;
    }
    faults.equal(name, "errors", &op.errors, &errors);
}

/// Histograms of rows, merged, are that of the result, slot by slot.
fn check_latencies(name: &str, op: &OpResult, rows: &[&Row], histograms: &[&Histogram], faults: &mut Faults) {
    let mut merged = Histogram::new();
    histograms.iter().for_each(|histogram| merged.merge(histogram));
    let Some(service) = &op.service else {
        return faults.equal(name, "latencies", (op.completed, merged.count()), (0, 0));
    };
    let whole = Histogram::from_hdr_v2(&service.hdr_v2).unwrap_or_default();
    faults.equal(name, "histogram", (whole.count(), service.count), (op.completed, op.completed));
    faults.equal(name, "slots", whole.slots().collect::<Vec<_>>(), merged.slots().collect());
    let told = || rows.iter().filter_map(|row| Some((row.completed as f64, row.service.as_ref()?)));
    faults.equal(name, "least", Some(service.min_ns), told().map(|(_, row)| row.min_ns).min());
    faults.equal(name, "greatest", Some(service.max_ns), told().map(|(_, row)| row.max_ns).max());
    let sum: f64 = told().map(|(n, row)| n * row.mean_ns).sum();
    faults.near(name, "mean", service.mean_ns, sum / op.completed as f64, ROUNDING);
}

fn belongs(row: &Row, step: &Step) -> bool {
    (row.item, row.step) == (step.spec.item, step.spec.step)
}

fn tag(step: &Step, row: &Row) -> String {
    let StepSpec { name, step: number, streams, .. } = &step.spec;
    let kind = match row.kind {
        RowKind::Warmup => "warmup",
        RowKind::WarmupTail => "warmup_tail",
        RowKind::Measure => "measure",
        RowKind::Tail => "tail",
    };
    format!("{name}/{number}/{kind}/{}/{}/service", streams[row.stream as usize].name, row.op.name())
}

#[track_caller]
fn lines<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}
