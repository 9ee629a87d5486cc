//! Whether results hold what was expected.

use iodyno_record::{
    BackendUse, Cpu, Depth, End, ExpectResult, Histogram, Item, Op, OpResult, Stamps, StepResult,
    StreamResult, TargetKind, Timing,
};
use iodyno_suite::{Next, Overrides, Suite, evaluate, next, plan};

use crate::catalog::{Made, facts};

fn item(expect: &str) -> Item {
    let text = format!(
        "schema = 1\n[[test]]\nname = \"a\"\nstreams = \"independent\"\nworkload = {{ plugin = \"synthetic\", mix = {{ read = 50, write = 50 }} }}\nexpect = [{expect:?}]\n[[test.stream]]\nname = \"x\"\n[[test.stream]]\nname = \"y\"\n"
    );
    let suite = Suite::parse("a.toml", &text).expect("it is good");
    let plan = plan(&suite, &Overrides::default(), &[facts(1 << 30)], &Made, 1);
    plan.expect("it is good").items.pop().expect("there is a test")
}

fn op(op: Op, times: impl Iterator<Item = u64>) -> OpResult {
    let mut histogram = Histogram::new();
    times.for_each(|ns| histogram.record(ns));
    let completed = histogram.count();
    OpResult {
        op,
        completed,
        bytes: completed * 4096,
        short: 0,
        errors: [(5, 1)].into(),
        window_completed: completed,
        window_bytes: completed * 4096,
        iops: Some(completed as f64 / 2.0),
        bandwidth_bytes_per_s: Some(completed as f64 * 2048.0),
        service: histogram.summary(),
        response: None,
    }
}

/// Reads of stream x take 1..=1000 us, those of y 1001..=2000 us; only x writes, twice.
fn result() -> StepResult {
    let stream = |name: &str, ops| StreamResult {
        name: name.to_owned(),
        ops,
        in_flight_mean: Some(1.0),
        ended_after_ns: None,
        zero_reads: 3,
    };
    let x = vec![op(Op::Read, (1..=1000).map(|us| us * 1000)), op(Op::Write, [50, 70].into_iter())];
    let y = vec![op(Op::Read, (1001..=2000).map(|us| us * 1000)), op(Op::Write, std::iter::empty())];
    StepResult {
        item: 1,
        step: 0,
        end: End::Completed,
        started_unix_ms: 0,
        warmup_ns: 0,
        window_ns: 2_000_000_000,
        tail_ns: 0,
        streams: vec![stream("x", x), stream("y", y)],
        depth: Depth { asked: 1, mean: Some(1.0), max: 1 },
        cpu: Cpu::default(),
        workers: Vec::new(),
        timing: Timing { clock: "virtual".to_owned(), stamps: Stamps::Simulated, resolution_ns: 1.0 },
        backend: BackendUse { plugin: "memory".to_owned(), facts: Vec::new() },
        notes: Vec::new(),
    }
}

fn verdict(expect: &str) -> ExpectResult {
    let mut all = evaluate(&item(expect), &[result()]);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// Measured within the histogram's error, and held.
fn holds(expect: &str, measured: f64) {
    let verdict = verdict(expect);
    let value = verdict.measured.expect("there is something to measure");
    assert!((value - measured).abs() <= measured / 1000.0, "{expect}: {value}, not {measured}");
    assert!(verdict.held, "{expect}: {verdict:?}");
}

#[test]
fn counters_are_sums() {
    holds("iops >= 1001", 1001.0);
    holds("x.iops == 501", 501.0);
    holds("x.write.completed == 2", 2.0);
    holds("read.bandwidth > 4 MB/s", 2000.0 * 2048.0);
    holds("y.bytes == 4000k", 4_096_000.0);
    holds("errors <= 4", 4.0);
    holds("read.errors != 1", 2.0);
    holds("zero_reads < 7", 6.0);
    holds("short == 0", 0.0);
}

#[test]
fn percentiles_come_from_merged_histograms() {
    holds("x.read.service.p50 < 501us", 500_000.0);
    holds("read.service.p50 < 1002us", 1_000_000.0);
    holds("read.service.p75 < 1502us", 1_500_000.0);
    holds("read.service.p99.5 < 2ms", 1_990_000.0);
    holds("x.read.service.p12.5 < 1ms", 125_000.0);
    holds("read.service.mean < 1001us", 1_000_500.0);
    holds("read.service.min == 1us", 1000.0);
    holds("read.service.max == 2ms", 2_000_000.0);
    holds("read.service.p100 == 2ms", 2_000_000.0);
}

#[test]
fn what_was_missed_says_by_how_much() {
    let missed = verdict("read.service.p50 < 1us");
    assert!(!missed.held);
    assert_eq!(missed.remark.as_deref(), Some("measured 1 ms, limit 1 us"));
    assert_eq!(verdict("errors == 0").remark.as_deref(), Some("measured 4, limit 0"));
    assert_eq!(
        verdict("read.bandwidth > 1 GB/s").remark.as_deref(),
        Some("measured 4.096 MB/s, limit 1 GB/s")
    );
}

#[test]
fn a_percentile_of_few_samples_is_marked() {
    let few = verdict("x.write.service.p99 < 1us");
    assert!(few.held);
    assert!(few.remark.as_ref().unwrap().contains("fewer than ten of 2 samples"), "{few:?}");
    assert_eq!(verdict("x.read.service.p99 < 1ms").remark, None);
    assert!(verdict("x.read.service.p99.9 < 1ms").remark.is_some());
}

#[test]
fn nothing_measured_does_not_hold() {
    let nothing = verdict("y.write.service.p99 < 1h");
    assert_eq!((nothing.measured, nothing.held), (None, false));
    assert_eq!(nothing.remark.as_deref(), Some("nothing was measured"));
    let none = evaluate(&item("errors == 0"), &[]);
    assert_eq!((none[0].measured, none[0].held), (None, false));
    let mut stopped = result();
    stopped.window_ns = 0;
    stopped.streams.iter_mut().flat_map(|stream| &mut stream.ops).for_each(|op| op.iops = None);
    assert!(!evaluate(&item("iops >= 0"), &[stopped])[0].held);
}

#[test]
fn a_fixed_item_has_one_step() {
    let item = item("errors == 0");
    let Next::Run(step) = next(&item, &[]) else { panic!("nothing to run") };
    assert_eq!(*step, item.step);
    assert_eq!(next(&item, &[result()]), Next::Done);
}

#[test]
fn a_test_that_read_only_zeroes_is_missed_unless_its_suite_speaks_of_them() {
    let mut zeroes = result();
    for stream in &mut zeroes.streams {
        stream.zero_reads = 1000;
    }
    let verdicts = |kind, expect: &str, result: &StepResult| {
        let mut item = item(expect);
        item.step.target.kind = kind;
        evaluate(&item, std::slice::from_ref(result))
    };
    for kind in [TargetKind::File, TargetKind::Block] {
        let [_, missed] = &verdicts(kind, "iops > 0", &zeroes)[..] else {
            panic!("no expectation of its own")
        };
        assert_eq!((missed.measured, missed.held), (Some(2000.0), false));
        assert!(
            missed.remark.as_ref().unwrap().contains("all 2000 reads gave nothing but zeroes"),
            "{missed:?}"
        );
        assert!(verdicts(kind, "zero_reads >= 0", &zeroes).iter().all(|expect| expect.held));
        let mut one_of_them_is_not = zeroes.clone();
        one_of_them_is_not.streams[1].zero_reads = 999;
        assert_eq!(verdicts(kind, "iops > 0", &one_of_them_is_not).len(), 1);
    }
    for kind in [TargetKind::Char, TargetKind::Virtual] {
        assert_eq!(verdicts(kind, "iops > 0", &zeroes).len(), 1);
    }
    let mut none_read = zeroes.clone();
    none_read
        .streams
        .iter_mut()
        .for_each(|s| (s.zero_reads, s.ops) = (0, vec![op(Op::Write, [5].into_iter())]));
    assert_eq!(verdicts(TargetKind::File, "iops > 0", &none_read).len(), 1);
}
