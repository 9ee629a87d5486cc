//! Plugins that fail, break the contract or panic: the step ends, says who it was, and keeps what it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use iodyno_engine::Parts;
use iodyno_plugin::{
    Buffers, CompletionStyle, Error, Filled, More, Op, OpSet, Queue, QueueSpec, Request, Result, Stream,
    StreamSpec, Target, TargetInfo, Workload, WorkloadInfo,
};
use iodyno_record::{End, RowKind, StepSpec};

use crate::fakes::{Answer, Asks, Real, Trick, Virtual, info, parts, spec};
use crate::outcome::{Outcome, run};

const WORKLOAD: &str = "workload `fake-workload` of stream `s0`";
const BACKEND: &str = "backend `fake-backend`";

fn bounded() -> StepSpec {
    StepSpec { measure_ns: Some(50_000_000), interval_ns: 10_000_000, ..spec(1, 4) }
}

#[track_caller]
fn failed(outcome: &Outcome, who: &str, what: &str) {
    match &outcome.result.end {
        End::Failed { reason } => assert!(reason.contains(who) && reason.contains(what), "{reason}"),
        end => panic!("{end:?}, not failed because of {who}: {what}"),
    }
}

/// In virtual and in real time.
fn both(workload: Asks) -> [Outcome; 2] {
    let real = Real::new(CompletionStyle::Interrupt, 100_000);
    [
        run(&bounded(), &parts(Virtual::constant(4, 100_000), vec![workload.clone().shared()])),
        run(&bounded(), &parts(real, vec![workload.shared()])),
    ]
}

#[test]
fn requests_that_may_not_pass_end_the_step() {
    let tricks: [(Trick, &str); 8] = [
        (|r| change(|| r.offset = 1 << 30), "region"),
        (|r| change(|| r.offset += 1), "multiple of 512"),
        (|r| change(|| r.len = 8192), "no longer than 4096"),
        (|r| change(|| r.op = Op::Write as u8), "did not declare"),
        (|r| change(|| r.op = 77), "operation 77"),
        (|r| change(|| r.at_ns = 5), "closed loop"),
        (|_| Err(Error::contract("out of ideas")), "out of ideas"),
        (|_| panic!("lost my way"), "panicked: lost my way"),
    ];
    for (trick, what) in tricks {
        for outcome in both(Asks::reads().tricked(Some(99), trick)) {
            failed(&outcome, WORKLOAD, what);
            assert!((80..100).contains(&outcome.completed(None)), "{}", outcome.completed(None));
        }
    }
}

fn change(change: impl FnOnce()) -> Result<()> {
    change();
    Ok(())
}

/// A lane that answers every fill with the same words.
struct Says(Filled, bool);

impl Workload for Says {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo { wants_completions: self.1, ..Asks::reads().info }
    }

    fn stream(&self, _: &StreamSpec) -> Result<Box<dyn Stream>> {
        Ok(Box::new(Says(self.0, self.1)))
    }
}

impl Stream for Says {
    fn fill(&mut self, _: &mut [Request]) -> Result<Filled> {
        Ok(self.0)
    }
}

#[test]
fn lanes_that_say_what_cannot_be_end_the_step() {
    for (n, more, wants, what) in [
        (5000, More::More, false, "gave 5000 requests, asked for"),
        (0, More::Blocked, false, "is blocked"),
        (0, More::Blocked, true, "is blocked"),
        (0, More::More, false, "no requests any more"),
    ] {
        for target in [
            Arc::new(Virtual::constant(1, 1000)) as Arc<dyn Target>,
            Arc::new(Real::new(CompletionStyle::Inline, 0)),
        ] {
            let workloads: Vec<Arc<dyn Workload>> = vec![Arc::new(Says(Filled { n, more }, wants))];
            let parts = Parts { backend: "fake-backend".to_owned(), target, workloads };
            failed(&run(&StepSpec { measure_ns: Some(60_000_000_000), ..bounded() }, &parts), "", what);
        }
    }
}

#[test]
fn a_dead_queue_ends_the_step_and_what_came_before_is_kept() {
    let mut target = Virtual::constant(4, 100_000);
    target.dies_at = 50;
    let outcome = run(&bounded(), &parts(target, vec![Asks::reads().shared()]));
    failed(&outcome, BACKEND, "its queue died: turn: no such device");
    assert_eq!(outcome.completed(None), 50 * 4);
    let dies = |turn| if turn == 50 { Err(Error::system("turn", "gone")) } else { Ok(()) };
    let target = Real::new(CompletionStyle::Interrupt, 100_000).before(dies);
    let outcome = run(&bounded(), &parts(target, vec![Asks::reads().shared()]));
    failed(&outcome, BACKEND, "its queue died: turn: gone");
    assert!((40..=200).contains(&outcome.completed(None)));
    assert!(outcome.result.window_ns > 0 && outcome.result.window_ns < 50_000_000);
}

#[test]
fn a_queue_that_dies_in_the_warmup_leaves_its_rows() {
    let mut target = Virtual::constant(1, 100_000);
    target.dies_at = 50;
    let spec = StepSpec { warmup_ns: 30_000_000, ..bounded() };
    let outcome = run(&spec, &parts(target, vec![Asks::reads().shared()]));
    failed(&outcome, BACKEND, "its queue died");
    assert_eq!(outcome.rows(RowKind::Warmup).map(|(r, _)| r.completed).sum::<u64>(), 50);
    assert_eq!(outcome.rows(RowKind::WarmupTail).map(|(r, _)| r.completed).sum::<u64>(), 0);
    assert_eq!((outcome.rows(RowKind::Measure).count(), outcome.completed(None)), (0, 0));
}

#[test]
fn one_dead_queue_stops_all_workers() {
    let dead = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&dead);
    let target = Real::new(CompletionStyle::Interrupt, 100_000).before(move |turn| {
        if turn == 30 && counter.fetch_add(1, SeqCst) == 0 {
            Err(Error::system("turn", "gone"))
        } else {
            Ok(())
        }
    });
    let mut spec = StepSpec { measure_ns: Some(60_000_000_000), ..bounded() };
    spec.streams[0].load.workers = 4;
    let outcome = run(&spec, &parts(target, vec![Asks::reads().shared()]));
    failed(&outcome, BACKEND, "gone");
    assert!(outcome.result.window_ns < 10_000_000_000);
    assert!(outcome.result.workers.iter().filter(|w| w.completed >= 10).count() >= 3);
}

#[test]
fn a_backend_that_panics_is_named() {
    let panics = |turn| if turn == 20 { panic!("ring is square") } else { Ok(()) };
    let target = Real::new(CompletionStyle::Interrupt, 10_000).before(panics);
    let outcome = run(&bounded(), &parts(target, vec![Asks::reads().shared()]));
    failed(&outcome, BACKEND, "panicked: ring is square");
    assert!(outcome.completed(None) > 0);
}

/// A target whose queue cannot be opened on the second worker, one way or another.
struct Shut(fn() -> Result<Box<dyn Queue>>, Real);

impl Target for Shut {
    fn info(&self) -> TargetInfo {
        self.1.info
    }

    fn queue(&self, spec: &QueueSpec, buffers: &Buffers) -> Result<Box<dyn Queue>> {
        if spec.worker == 1 { (self.0)() } else { self.1.queue(spec, buffers) }
    }
}

#[test]
fn a_worker_that_cannot_start_stops_the_others_before_they_do() {
    for (open, what) in [
        (
            (|| Err(Error::system("io_uring_setup", "too many open files")))
                as fn() -> Result<Box<dyn Queue>>,
            "too many open files",
        ),
        (|| panic!("no ring"), "panicked: no ring"),
    ] {
        let mut spec = StepSpec { measure_ns: Some(60_000_000_000), ..bounded() };
        spec.streams[0].load.workers = 3;
        let real = Real::new(CompletionStyle::Interrupt, 10_000);
        let outcome = run(&spec, &parts(Shut(open, real), vec![Asks::reads().shared()]));
        failed(&outcome, BACKEND, what);
        assert!(outcome.windows.is_empty());
        assert_eq!(outcome.result.streams[0].ops[0].completed, 0);
    }
}

#[test]
fn completions_that_cannot_be_are_the_backends_fault() {
    for (trick, what) in [
        (
            (|turn, done| {
                if turn == 9 {
                    done[1] = done[0]
                }
            }) as fn(u64, &mut [iodyno_plugin::Completion]),
            "completed twice",
        ),
        (
            |turn, done| {
                if turn == 9 {
                    done[0].slot = 4000
                }
            },
            "slot 4000, which does not exist",
        ),
        (
            |turn, done| {
                if turn == 9 {
                    done[0].bytes += 1
                }
            },
            "with 4097 bytes; 4096 were asked for",
        ),
        (
            |turn, done| {
                if turn == 9 {
                    done[0].errno = -5
                }
            },
            "errno -5",
        ),
        (
            |turn, done| {
                if turn == 9 {
                    done[0].finish_ns = 3
                }
            },
            "ends before",
        ),
    ] {
        let mut target = Virtual::constant(4, 100_000);
        target.trick = Some(trick);
        let outcome = run(&bounded(), &parts(target, vec![Asks::reads().shared()]));
        failed(&outcome, BACKEND, what);
        assert!((20..=40).contains(&outcome.completed(None)), "{}", outcome.completed(None));
    }
    let mut target = Real::new(CompletionStyle::Inline, 0);
    target.trick = Some(|_, n| n + 1);
    failed(
        &run(&spec(1, 40), &parts(target, vec![Asks::reads().shared()])),
        BACKEND,
        "accepted 32 of 32 requests and gave 33",
    );
    let mut target = Real::new(CompletionStyle::Inline, 0);
    target.trick = Some(|done, n| {
        done[n - 1] = done[0];
        n
    });
    failed(&run(&spec(1, 4), &parts(target, vec![Asks::reads().shared()])), BACKEND, "completed twice");
}

#[test]
fn a_queue_that_does_nothing_does_not_hang_the_step() {
    let mut target = Real::new(CompletionStyle::Inline, 0);
    target.trick = Some(|_, _| 0);
    failed(
        &run(&spec(1, 4), &parts(target, vec![Asks::reads().shared()])),
        BACKEND,
        "took and gave nothing 1000000 times",
    );
    let mut target = Virtual::constant(1, 10);
    target.accepts = 0;
    failed(&run(&spec(1, 4), &parts(target, vec![Asks::reads().shared()])), BACKEND, "takes no request");
}

#[test]
fn virtual_time_must_move() {
    let outcome = run(&bounded(), &parts(Virtual::constant(1, 0), vec![Asks::reads().shared()]));
    failed(&outcome, BACKEND, "virtual time stands still");
}

#[test]
fn failed_io_is_counted_apart_and_ends_the_step_when_it_is_all() {
    let answer: Answer = Arc::new(|n, sub, _| if n < 1000 { (1000, 0, sub.len) } else { (1000, 5, 0) });
    let mut spec = StepSpec { warmup_ns: 10_000, ..bounded() };
    spec.consecutive_errors_max = 100;
    let outcome = run(&spec, &parts(Virtual::new(1, answer), vec![Asks::reads().shared()]));
    let End::Errors { reason } = &outcome.result.end else { panic!("{:?}", outcome.result.end) };
    assert!(reason.contains("100 i/o failed in a row, the last a read of 4096 bytes at"), "{reason}");
    assert!(reason.contains("EIO"), "{reason}");
    let read = outcome.result.ops(None).next().unwrap();
    // 13 were submitted in the warm-up. Three more were in flight at the end, are waited for, and fail, too.
    assert_eq!((read.completed, read.errors[&5]), (987, 103));
    assert_eq!(read.service.as_ref().unwrap().count, 987);
    assert_eq!(outcome.result.errors(None), 103);
}

#[test]
fn errors_of_the_warmup_are_noted_not_counted() {
    let answer: Answer =
        Arc::new(|n, sub, _| if n % 10 == 0 && n < 500 { (1000, 28, 0) } else { (1000, 0, sub.len) });
    let spec = StepSpec { warmup_ns: 1_000_000, measure_ns: Some(1_000_000), ..bounded() };
    let outcome = run(&spec, &parts(Virtual::new(1, answer), vec![Asks::reads().shared()]));
    assert_eq!((outcome.result.end.clone(), outcome.result.errors(None)), (End::Completed, 0));
    assert!(outcome.notes().contains(&"warmup_errors"));
    assert_eq!(outcome.rows(RowKind::Warmup).map(|(r, _)| r.errors[&28]).sum::<u64>(), 50);
}

#[test]
fn what_cannot_work_is_refused_before_anything_runs() {
    let refused = |change: fn(&mut StepSpec), target: TargetInfo, workload: Asks, what: &str| {
        let (mut spec, mut virtual_target) = (bounded(), Virtual::constant(1, 1000));
        change(&mut spec);
        virtual_target.info = TargetInfo { simulated: true, ..target };
        let outcome = run(&spec, &parts(virtual_target, vec![workload.shared()]));
        failed(&outcome, "", what);
        assert!(outcome.windows.is_empty());
    };
    let (reads, same) = (Asks::reads, |_: &mut StepSpec| {});
    refused(
        same,
        TargetInfo { ops: OpSet::READ, ..info() },
        Asks::mix([1, 1, 0], vec![4096]),
        "does not take: write",
    );
    refused(same, TargetInfo { granule: 4096, ..info() }, reads(), "works in multiples of 512 bytes");
    refused(same, TargetInfo { max_len: 2048, ..info() }, reads(), "asks for 4096 bytes at once");
    refused(|s| s.streams[0].region_offset_bytes = 512, info(), reads(), "beyond the target's end");
    refused(|s| s.streams[0].load.outstanding = 0, info(), reads(), "0 outstanding");
    refused(|s| s.streams[0].weight = f64::NAN, info(), reads(), "weight");
    refused(|s| s.streams.clear(), info(), reads(), "0 streams");
    refused(|s| s.interval_ns = 0, info(), reads(), "interval");
}

/// Panics where a plugin is asked about itself, or closed.
#[derive(Clone)]
struct Rude {
    at: &'static str,
    real: Real,
}

impl Rude {
    fn panic_at(&self, at: &str) {
        assert!(self.at != at, "rude at {at}");
    }
}

impl Target for Rude {
    fn info(&self) -> TargetInfo {
        self.panic_at("info");
        self.real.info
    }

    fn alloc(&self, _: usize, _: usize) -> Option<Result<iodyno_plugin::DmaBlock>> {
        self.panic_at("alloc");
        None
    }

    fn queue(&self, spec: &QueueSpec, buffers: &Buffers) -> Result<Box<dyn Queue>> {
        self.real.queue(spec, buffers)
    }
}

impl Workload for Rude {
    fn info(&self) -> WorkloadInfo {
        Asks::reads().info
    }

    fn stream(&self, spec: &StreamSpec) -> Result<Box<dyn Stream>> {
        self.panic_at("stream");
        Ok(Box::new(RudeLane(self.clone(), Asks::reads().times(10).stream(spec)?)))
    }
}

struct RudeLane(Rude, Box<dyn Stream>);

impl Stream for RudeLane {
    fn fill(&mut self, out: &mut [Request]) -> Result<Filled> {
        self.1.fill(out)
    }
}

impl Drop for RudeLane {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.panic_at("drop");
        }
    }
}

#[test]
fn a_panic_anywhere_in_a_plugin_is_only_the_end_of_the_step() {
    for at in ["info", "alloc", "stream", "drop"] {
        let rude = Rude { at, real: Real::new(CompletionStyle::Inline, 0) };
        let outcome = run(&spec(1, 4), &parts(rude.clone(), vec![Arc::new(rude)]));
        failed(&outcome, "panicked", &format!("rude at {at}"));
        assert_eq!(outcome.completed(None), if at == "drop" { 10 } else { 0 });
    }
}
