//! How streams share outstanding I/O, and how lanes are laid over workers.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use iodyno_plugin::random::derive;
use iodyno_plugin::{CompletionStyle, OpSet, Result, Stream, StreamSpec, Workload, WorkloadInfo};
use iodyno_record::{End, Sharing, StepSpec};

use crate::fakes::{Asks, Real, Truth, Virtual, parts, spec};
use crate::outcome::run;

/// Notes what its lanes are told.
struct Spy(Asks, Arc<Mutex<Vec<StreamSpec>>>);

impl Workload for Spy {
    fn info(&self) -> WorkloadInfo {
        self.0.info()
    }

    fn stream(&self, spec: &StreamSpec) -> Result<Box<dyn Stream>> {
        self.1.lock().unwrap().push(*spec);
        self.0.stream(spec)
    }
}

fn hinted(hint: u16) -> Asks {
    Asks { hint, ..Asks::reads() }
}

fn shared(weights: &[f64], outstanding: u32) -> StepSpec {
    let mut spec = StepSpec { sharing: Sharing::Shared, outstanding, ..spec(weights.len(), 1) };
    spec.streams.iter_mut().zip(weights).for_each(|(stream, weight)| stream.weight = *weight);
    spec
}

/// The streams in the order of submission.
fn order(spec: &StepSpec, target: Virtual, workloads: Vec<Asks>) -> Vec<usize> {
    let truth: Arc<Mutex<Vec<Truth>>> = Arc::clone(&target.truth);
    run(spec, &parts(target, workloads.into_iter().map(Asks::shared).collect()));
    let truth = std::mem::take(&mut *truth.lock().unwrap());
    truth.into_iter().map(|io| io.stream).collect()
}

#[test]
fn shares_follow_the_weights() {
    let weights = [1.0, 0.25, 2.75];
    let spec = StepSpec { measure_ns: Some(50_000_000), ..shared(&weights, 16) };
    let workloads = (0..3).map(hinted).map(Asks::shared).collect();
    let result = run(&spec, &parts(Virtual::constant(16, 10_000), workloads)).result;
    let total: u64 = result.ops(None).map(|o| o.completed).sum();
    assert!(total > 75_000);
    for (stream, weight) in result.streams.iter().zip(weights) {
        let (share, expected) = (stream.ops[0].completed as f64 / total as f64, weight / 4.0);
        let sigma = (expected * (1.0 - expected) / total as f64).sqrt();
        assert!((share - expected).abs() < 4.0 * sigma, "{share} for {expected} +- {sigma}");
    }
    assert_eq!((result.depth.asked, result.depth.max), (16, 16));
    assert!((result.depth.mean.unwrap() - 16.0).abs() < 1e-9);
}

/// One draw for each request: how many are asked for at a time changes nothing.
#[test]
fn the_order_of_streams_does_not_depend_on_batches() {
    let ends = |asks: Vec<Asks>| asks.into_iter().map(|a| a.times(3000)).collect::<Vec<_>>();
    let plain = order(&shared(&[1.0, 3.0], 1), Virtual::constant(1, 10), ends(vec![hinted(0), hinted(1)]));
    let deep = order(&shared(&[1.0, 3.0], 100), Virtual::constant(7, 10), ends(vec![hinted(0), hinted(1)]));
    let few = Asks { per_fill: 1, ..hinted(1) };
    let slow = order(&shared(&[1.0, 3.0], 64), Virtual::constant(7, 10), ends(vec![hinted(0), few]));
    assert_eq!(plain.len(), 6000);
    assert_eq!(plain, deep);
    // A lane that gives one at a time keeps its place, and so its share.
    let ones = |order: &[usize]| order[..2000].iter().sum::<usize>() as f64;
    assert!((ones(&slow) / ones(&plain) - 1.0).abs() < 0.05, "{} {}", ones(&slow), ones(&plain));
}

/// Nor does it matter where between two batches a stream is found to be done.
#[test]
fn the_order_of_streams_does_not_depend_on_batches_when_some_are_done() {
    let weights = [1.0, 3.0, 0.5, 2.0];
    let ends = || {
        let times = [700, 60, 4000, 300];
        times.into_iter().enumerate().map(|(hint, n)| hinted(hint as u16).times(n)).collect::<Vec<_>>()
    };
    let plain = order(&shared(&weights, 1), Virtual::constant(1, 10), ends());
    assert_eq!(plain.len(), 5060);
    for (outstanding, servers) in [(7, 1), (33, 5), (100, 7)] {
        assert_eq!(plain, order(&shared(&weights, outstanding), Virtual::constant(servers, 10), ends()));
    }
    // While streams 0 and 2 are left, their weights are what counts.
    let last = |stream| plain.iter().rposition(|s| *s == stream).unwrap();
    let both = &plain[last(3)..last(0)];
    let share = both.iter().filter(|s| **s == 0).count() as f64 / both.len() as f64;
    assert!(both.len() > 100 && (share - 2.0 / 3.0).abs() < 0.15, "{share} of {}", both.len());
}

#[test]
fn a_stream_that_is_done_before_others_is_told() {
    let spec = StepSpec { warmup_ns: 1_000_000, measure_ns: Some(10_000_000), ..shared(&[1.0, 1.0, 1.0], 3) };
    let workloads = vec![hinted(0).times(2000).shared(), hinted(1).shared(), hinted(2).times(10).shared()];
    let outcome = run(&spec, &parts(Virtual::constant(3, 1000), workloads));
    let [some, all, none] = &outcome.result.streams[..] else { panic!("three streams") };
    let ended_ns = some.ended_after_ns.expect("half of 3 I/O a microsecond");
    assert!((270_000..390_000).contains(&ended_ns), "{ended_ns}");
    assert_eq!((all.ended_after_ns, none.ended_after_ns), (None, Some(0)));
    assert_eq!(outcome.notes().iter().filter(|code| **code == "stream_ended_early").count(), 2);
    // Those that end together are the end of the step, and nothing to wonder about.
    let workloads =
        vec![hinted(0).times(500).shared(), hinted(1).times(500).shared(), hinted(2).times(500).shared()];
    let spec = StepSpec { sharing: iodyno_record::Sharing::Independent, ..spec };
    let outcome = run(&spec, &parts(Virtual::constant(3, 10_000), workloads));
    assert!(outcome.result.streams.iter().all(|stream| stream.ended_after_ns.is_some()));
    assert!(!outcome.notes().contains(&"stream_ended_early"), "{:?}", outcome.result.notes);
}

#[test]
fn a_stream_that_is_done_leaves_its_share_to_the_others() {
    let spec = shared(&[1.0, 1.0], 8);
    let workloads = vec![hinted(0).times(10).shared(), hinted(1).times(5000).shared()];
    let result = run(&spec, &parts(Virtual::constant(8, 1000), workloads)).result;
    assert_eq!(result.end, End::Completed);
    assert_eq!([result.streams[0].ops[0].completed, result.streams[1].ops[0].completed], [10, 5000]);
    assert!(result.depth.mean > Some(7.9));
}

#[test]
fn independent_streams_have_their_own_outstanding() {
    let mut spec = StepSpec { measure_ns: Some(10_000_000), ..spec(2, 1) };
    spec.streams[0].load.outstanding = 34;
    let workloads = vec![hinted(0).shared(), hinted(1).shared()];
    let result = run(&spec, &parts(Virtual::constant(100, 10_000), workloads)).result;
    let means: Vec<f64> = result.streams.iter().filter_map(|s| s.in_flight_mean).collect();
    assert!((means[0] - 34.0).abs() < 1e-9 && (means[1] - 1.0).abs() < 1e-9, "{means:?}");
    assert_eq!([result.streams[0].ops[0].completed, result.streams[1].ops[0].completed], [34_000, 1000]);
    assert_eq!((result.depth.asked, result.depth.max), (35, 35));
}

#[test]
fn lanes_learn_their_place_and_the_streams_seed() {
    let specs = Arc::new(Mutex::new(Vec::new()));
    let spy = Spy(Asks::reads().times(100), Arc::clone(&specs));
    let mut spec = spec(2, 10);
    (spec.streams[1].load.workers, spec.seed) = (4, 77);
    let outcome =
        run(&spec, &parts(Virtual::constant(4, 1000), vec![Asks::reads().times(1).shared(), Arc::new(spy)]));
    assert_eq!(outcome.completed(None), 401);
    let specs = specs.lock().unwrap();
    let lanes: BTreeSet<_> = specs.iter().map(|s| (s.lane, s.lanes)).collect();
    assert_eq!(lanes, (0..4).map(|lane| (lane, 4)).collect());
    for told in specs.iter() {
        assert_eq!((told.seed, told.region_len), (derive(77, 1), spec.streams[1].region_len_bytes));
        assert_eq!((told.granule, told.max_len, told.ops), (512, 4096, OpSet::READ));
    }
}

#[test]
fn a_queue_of_one_gets_a_worker_for_each_outstanding_io() {
    let mut target = Real::new(CompletionStyle::Inline, 0);
    target.info.max_depth = 1;
    let queues = Arc::clone(&target.queues);
    let mut spec = spec(2, 1);
    spec.streams[0].load.outstanding = 5;
    let workloads = (0..2).map(|hint| hinted(hint).times(200).shared()).collect();
    let outcome = run(&spec, &parts(target, workloads));
    assert_eq!(outcome.result.end, End::Completed);
    assert_eq!((outcome.result.workers.len(), outcome.result.depth.asked), (6, 6));
    assert_eq!(queues.load(std::sync::atomic::Ordering::SeqCst), 6);
    assert_eq!(outcome.completed(None), 6 * 200);
    assert!(outcome.result.workers.iter().all(|w| w.completed == 200));
    // Facts are told once each, also where they differ.
    let facts: Vec<&str> = outcome.result.backend.facts.iter().map(|f| f.value.as_str()).collect();
    assert_eq!(facts, ["yes", "no"]);
}

#[test]
fn several_workers_share_a_streams_outstanding() {
    let target = Real::new(CompletionStyle::Interrupt, 200_000);
    let mut spec = StepSpec { measure_ns: Some(150_000_000), interval_ns: 10_000_000, ..spec(1, 7) };
    spec.streams[0].load.workers = 3;
    let outcome = run(&spec, &parts(target, vec![Asks::reads().shared()]));
    assert_eq!((outcome.result.workers.len(), outcome.result.depth.max), (3, 7));
    assert!(outcome.result.workers.iter().all(|w| w.completed > 0));
}
