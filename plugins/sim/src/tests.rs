//! The simulated device against the formulas of queueing theory, through its queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iodyno_plugin::conformance::{self, CheckedQueue, Io};
use iodyno_plugin::{ErrorKind, Op, Options, Value};

use super::*;

const SPEC: TargetSpec<'_> = TargetSpec {
    label: "nothing",
    kind: TargetKind::Virtual,
    fd: None,
    len: 1 << 40,
    granule: 512,
    direct: true,
    writable: true,
    seed: 1,
};
const US: i64 = 1000;

/// One server, 100 us, constant, no errors; and what `set` says.
fn options(set: &[(&str, Value)]) -> Options {
    let defaults = Options::default()
        .with("servers", Value::Int(1))
        .with("service", Value::Int(100 * US))
        .with("distribution", Value::Text("constant".to_owned()))
        .with("error_rate", Value::Float(0.0))
        .with("errno", Value::Int(5));
    set.iter().fold(defaults, |options, (name, value)| options.with(name, value.clone()))
}

fn servers(n: usize) -> (&'static str, Value) {
    ("servers", Value::Int(n as i64))
}

fn exponential() -> (&'static str, Value) {
    ("distribution", Value::Text("exponential".to_owned()))
}

fn open(set: &[(&str, Value)], seed: u64) -> Box<dyn Target> {
    let backend = conformance::backend("sim", &options(set)).unwrap();
    backend.open(&TargetSpec { seed, ..SPEC }, None).unwrap()
}

/// What a closed loop saw: finish times and service times in the order of completion, those that failed again.
struct Seen {
    finish_ns: Vec<u64>,
    service_ns: Vec<u64>,
    failed_ns: Vec<u64>,
}

impl Seen {
    fn per_second(&self) -> f64 {
        self.finish_ns.len() as f64 * 1e9 / *self.finish_ns.last().unwrap() as f64
    }

    fn mean_ns(&self) -> f64 {
        mean(&self.service_ns)
    }

    fn percentile_ns(&self, share: f64) -> f64 {
        let mut sorted = self.service_ns.clone();
        sorted.sort_unstable();
        sorted[(share * sorted.len() as f64) as usize] as f64
    }
}

fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len() as f64
}

/// Keeps `outstanding` I/O in flight until `count` have completed: the loop of the engine in small.
fn closed_loop(target: &dyn Target, op: Op, outstanding: u32, count: usize) -> Seen {
    let mut queue = CheckedQueue::new(target, outstanding, 512);
    let mut ends = BinaryHeap::new();
    let mut seen = Seen { finish_ns: Vec::new(), service_ns: Vec::new(), failed_ns: Vec::new() };
    let submit = |queue: &mut CheckedQueue, ends: &mut BinaryHeap<_>, now_ns, slot| {
        queue.now_ns = now_ns;
        let io = Io { op, slot, offset: 0, len: 512, shift: 0 };
        let done = queue.turn(&[io], 1, Wait::default()).completions[0];
        ends.push(Reverse((done.finish_ns, now_ns, slot, done.errno, done.bytes)));
    };
    (0..outstanding).for_each(|slot| submit(&mut queue, &mut ends, 0, slot));
    while seen.finish_ns.len() < count {
        let Reverse((now_ns, began_ns, slot, errno, bytes)) = ends.pop().unwrap();
        seen.finish_ns.push(now_ns);
        seen.service_ns.push(now_ns - began_ns);
        if errno != 0 {
            seen.failed_ns.push(now_ns - began_ns);
        }
        assert_eq!(bytes, if errno == 0 { 512 } else { 0 });
        submit(&mut queue, &mut ends, now_ns, slot);
    }
    seen
}

fn close(is: f64, expected: f64, within: f64) {
    assert!((is / expected - 1.0).abs() <= within, "{is}, expected {expected} within {within}");
}

#[test]
fn it_keeps_the_contract() {
    conformance::check(&*open(&[servers(4), exponential()], 1), SPEC.len);
}

#[test]
fn constant_service_is_served_by_the_formula() {
    for (k, n) in [(1, 1), (1, 8), (4, 1), (4, 4), (4, 8), (4, 7), (3, 128), (64, 32)] {
        let seen = closed_loop(&*open(&[servers(k)], 1), Op::Read, n, 100_000);
        let throughput = f64::from(n.min(k as u32)) * 10_000.0;
        close(seen.per_second(), throughput, 0.001);
        close(seen.mean_ns(), f64::from(n) / throughput * 1e9, 0.001);
    }
}

/// In a closed loop all servers are always busy where there are enough I/O, so departures come at k/s: an I/O
/// waits for N-k of them, then for its own service.
#[test]
fn exponential_service_is_served_by_the_formula() {
    const COUNT: usize = 1_000_000;
    let s = 100_000.0;
    for (k, n) in [(1, 1), (8, 8), (8, 3)] {
        let seen = closed_loop(&*open(&[servers(k), exponential()], 7), Op::Read, n, COUNT);
        close(seen.mean_ns(), s, 0.01);
        close(seen.percentile_ns(0.5), s * std::f64::consts::LN_2, 0.01);
        close(seen.percentile_ns(0.99), s * 4.605_170, 0.01);
        close(seen.per_second(), f64::from(n) / s * 1e9, 0.01);
    }
    // One server: the sum of four services, Erlang(4).
    let seen = closed_loop(&*open(&[exponential()], 7), Op::Read, 4, COUNT);
    close(seen.percentile_ns(0.5), s * 3.672_061, 0.01);
    close(seen.percentile_ns(0.99), s * 10.045_118, 0.01);
    // Four servers: Erlang(4) of a quarter of the time, and one service.
    let seen = closed_loop(&*open(&[servers(4), exponential()], 7), Op::Read, 8, COUNT);
    close(seen.per_second(), 4.0 / s * 1e9, 0.01);
    close(seen.mean_ns(), 2.0 * s, 0.01);
    let square = |x: &u64| (*x as f64 - 2.0 * s) * (*x as f64 - 2.0 * s);
    close(seen.service_ns.iter().map(square).sum::<f64>() / COUNT as f64, 1.25 * s * s, 0.02);
}

#[test]
fn stalls_take_their_share() {
    let stalls = [("stall_every", Value::Int(10_000 * US)), ("stall", Value::Int(2_500 * US))];
    let seen = closed_loop(&*open(&stalls, 1), Op::Read, 1, 100_000);
    close(seen.per_second(), 10_000.0 * 0.75, 0.001);
    let stalled = seen.service_ns.iter().filter(|ns| **ns != 100_000);
    assert!(stalled.clone().all(|ns| *ns == 2_600_000), "the stall and the service");
    close(stalled.count() as f64, *seen.finish_ns.last().unwrap() as f64 / 1e7, 0.001);
}

#[test]
fn writes_may_take_another_time() {
    let first = |set: &[_], op| closed_loop(&*open(set, 1), op, 1, 1).service_ns[0];
    let apart = [("write_service", Value::Int(30 * US))];
    assert_eq!(Op::ALL.map(|op| first(&apart, op)), [100_000, 30_000, 100_000]);
    assert_eq!(Op::ALL.map(|op| first(&[], op)), [100_000; 3]);
}

/// `CheckedQueue` sees to it. A service of no time comes from a draw that is rounded down.
#[test]
fn nothing_ends_before_it_begins_not_even_in_a_stall() {
    let stalls = [("stall_every", Value::Int(1000)), ("stall", Value::Int(500))];
    let target = open(&[&[servers(100), exponential(), ("service", Value::Int(1))], &stalls[..]].concat(), 1);
    let mut queue = CheckedQueue::new(&*target, 100, 512);
    queue.now_ns = 1200;
    let ios: Vec<Io> =
        (0..100).map(|slot| Io { op: Op::Read, slot, offset: 0, len: 512, shift: 0 }).collect();
    let done = queue.turn(&ios, 100, Wait::default()).completions;
    let at_once = done.iter().filter(|one| one.finish_ns == 1200).count();
    let behind = done.iter().filter(|one| one.finish_ns > 1500).count();
    assert!(
        at_once > 0 && behind > 0 && at_once + behind == 100,
        "{at_once} at once, {behind} behind the stall"
    );
}

#[test]
fn as_many_fail_as_are_to_fail_and_take_as_long_as_others() {
    const COUNT: usize = 100_000;
    let run = |percent| {
        let set = [exponential(), ("error_rate", Value::Float(percent))];
        closed_loop(&*open(&set, 3), Op::Read, 1, COUNT)
    };
    let (none, some, all) = (run(0.0), run(10.0), run(100.0));
    assert_eq!((none.failed_ns.len(), all.failed_ns.len()), (0, COUNT));
    let deviation = (COUNT as f64 * 0.1 * 0.9).sqrt();
    let failed = some.failed_ns.len() as f64;
    assert!((failed - COUNT as f64 * 0.1).abs() < 5.0 * deviation, "{failed} failed");
    assert_eq!(some.service_ns, none.service_ns);
    close(mean(&some.failed_ns), 100_000.0, 0.05);
}

#[test]
fn a_failed_io_has_the_errno_that_was_asked_for() {
    let target = open(&[("error_rate", Value::Float(100.0)), ("errno", Value::Int(61))], 1);
    let mut queue = CheckedQueue::new(&*target, 1, 512);
    let done = queue.turn(&[Io { op: Op::Read, slot: 0, offset: 0, len: 512, shift: 0 }], 1, Wait::default());
    assert_eq!((done.completions[0].errno, done.completions[0].bytes), (61, 0));
}

#[test]
fn the_seed_decides_and_a_new_step_begins_anew() {
    let set = [servers(2), exponential(), ("error_rate", Value::Float(20.0))];
    let target = open(&set, 5);
    let run = |target: &dyn Target| closed_loop(target, Op::Read, 4, 1000).finish_ns;
    let first = run(&*target);
    assert_eq!(run(&*target), first, "on the same target");
    assert_eq!(run(&*open(&set, 5)), first, "on another target");
    assert_ne!(run(&*open(&set, 6)), first, "with another seed");
}

/// Golden: the same for ever and on every machine.
#[test]
fn service_times_never_change() {
    let seen = closed_loop(&*open(&[exponential()], 1), Op::Read, 1, 4);
    assert_eq!(seen.service_ns, [28518, 58414, 90, 42824]);
}

#[test]
fn queues_of_a_target_share_its_servers() {
    let target = open(&[], 1);
    let io = Io { op: Op::Read, slot: 0, offset: 0, len: 512, shift: 0 };
    let mut queues = [0, 1].map(|_| CheckedQueue::new(&*target, 1, 512));
    let ends = queues.each_mut().map(|q| q.turn(&[io], 1, Wait::default()).completions[0].finish_ns);
    assert_eq!(ends, [100_000, 200_000]);
}

#[test]
fn time_does_not_run_backwards() {
    let target = open(&[], 1);
    let mut queue = CheckedQueue::new(&*target, 2, 512);
    let io = |slot| Io { op: Op::Read, slot, offset: 0, len: 512, shift: 0 };
    queue.now_ns = 10;
    queue.turn(&[io(0)], 1, Wait::default());
    queue.now_ns = 9;
    let error = queue.try_turn(&[io(1)], 1, Wait::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Contract);
    assert_eq!(error.message(), "submitted at 9 ns, after what was submitted at 10 ns");
}

#[test]
fn buffers_are_never_touched() {
    let target = open(&[], 1);
    let mut queue = CheckedQueue::new(&*target, 1, 512);
    queue.turn(&[Io { op: Op::Read, slot: 0, offset: 0, len: 512, shift: 0 }], 1, Wait::default());
    assert!(queue.buffer(0).iter().all(|byte| *byte == conformance::UNTOUCHED));
}

#[test]
fn options_that_do_not_fit_together_are_refused() {
    let refused = |set: &[(&str, Value)]| {
        let error = conformance::backend("sim", &options(set)).err().unwrap();
        (error.option_name().unwrap().to_owned(), error.message().to_owned())
    };
    let (every, stall) = (("stall_every", Value::Int(1000)), ("stall", Value::Int(1000)));
    assert_eq!(refused(std::slice::from_ref(&every)).0, "stall_every");
    assert_eq!(refused(std::slice::from_ref(&stall)).0, "stall");
    let (option, message) = refused(&[every, stall]);
    assert_eq!(option, "stall");
    assert!(message.contains("1000 ns every 1000 ns"), "{message}");
}

#[test]
fn a_real_target_is_refused() {
    let backend = conformance::backend("sim", &options(&[])).unwrap();
    let error = backend.open(&TargetSpec { kind: TargetKind::File, ..SPEC }, None).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("`nothing` is a real target"), "{error}");
}
