//! Steps in real time. Bounds are wide: the machine may be busy with other things.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use iodyno_engine::Message;
use iodyno_plugin::{CompletionStyle, Feedback};
use iodyno_record::{End, RowKind, Stamps, StepSpec};

use crate::fakes::{Asks, Real, Virtual, parts, spec};
use crate::outcome::{Outcome, run, run_until};

fn bounded(outstanding: u32, measure_ms: u64) -> StepSpec {
    StepSpec { measure_ns: Some(measure_ms * 1_000_000), interval_ns: 20_000_000, ..spec(1, outstanding) }
}

fn mean_service_ns(outcome: &Outcome) -> f64 {
    outcome.result.ops(None).next().unwrap().service.as_ref().unwrap().mean_ns
}

/// IOPS x mean service = outstanding I/O averaged over time, which is integrated apart from the stamps.
#[test]
fn littles_law_holds() {
    for style in [CompletionStyle::Interrupt, CompletionStyle::Polled, CompletionStyle::Inline] {
        for outstanding in [1, 8, 32] {
            let target = Real::new(style, 2_000_000);
            let spec = StepSpec { warmup_ns: 20_000_000, ..bounded(outstanding, 400) };
            let outcome = run(&spec, &parts(target, vec![Asks::reads().shared()]));
            let product = outcome.result.iops(None).unwrap() * mean_service_ns(&outcome) / 1e9;
            let mean = outcome.result.depth.mean.unwrap();
            assert!((product / mean - 1.0).abs() < 0.05, "{style:?} {outstanding}: {product} for {mean}");
            assert!(mean > f64::from(outstanding) * 0.8, "{style:?} {outstanding}: {mean}");
            assert_eq!(outcome.result.depth.max, outstanding);
            assert_eq!(outcome.result.window_ns, 400_000_000);
            let timing = &outcome.result.timing;
            assert_eq!((timing.stamps, timing.clock.as_str()), (Stamps::PerTurn, "monotonic"));
            let resolution_ns = timing.resolution_ns;
            assert!(resolution_ns >= 1.0 && (style == CompletionStyle::Inline || resolution_ns < 100_000.0));
        }
    }
}

/// The end stamp of one I/O is not the start stamp of the next: what the workload takes is not the target's.
#[test]
fn stamps_are_not_chained() {
    let slow = |_: &mut iodyno_plugin::Request| {
        sleep(Duration::from_millis(2));
        Ok(())
    };
    for style in [CompletionStyle::Inline, CompletionStyle::Interrupt] {
        let workload = Asks::reads().times(50).tricked(None, slow).shared();
        let outcome = run(&spec(1, 1), &parts(Real::new(style, 0), vec![workload]));
        assert!(outcome.result.window_ns > 100_000_000);
        let p50 =
            outcome.result.ops(None).next().unwrap().service.as_ref().unwrap().percentile(50.0).unwrap();
        assert!(p50.value_ns < 1_000_000, "{style:?}: {p50:?}");
    }
}

/// A device that works while we do not gets a few requests a turn, so that it starts before all are prepared; one
/// that completes within the call gets all, so that calls are few.
#[test]
fn a_device_need_not_wait_for_the_whole_batch() {
    let turns = |style, service_ns| {
        let turns = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&turns);
        let target = Real::new(style, service_ns).before(move |turn| {
            counted.fetch_max(turn, Ordering::Relaxed);
            Ok(())
        });
        let outcome = run(&spec(1, 32), &parts(target, vec![Asks::reads().times(32).shared()]));
        assert_eq!(outcome.result.ops(None).next().unwrap().completed, 32);
        turns.load(Ordering::Relaxed)
    };
    let (few, many) = (turns(CompletionStyle::Inline, 0), turns(CompletionStyle::Interrupt, 50_000_000));
    assert!(few <= 1 && many >= 7, "{few} and {many}");
}

#[test]
fn parts_in_real_time_lose_nothing() {
    let target = Real::new(CompletionStyle::Interrupt, 3_000_000);
    let spec = StepSpec { warmup_ns: 50_000_000, ..bounded(16, 100) };
    let outcome = run(&spec, &parts(target, vec![Asks::reads().shared()]));
    assert_eq!(outcome.result.end, End::Completed);
    let sum = |kind| outcome.rows(kind).map(|(r, _)| r.completed).sum::<u64>();
    let carried: u64 = outcome.rows(RowKind::Measure).map(|(r, _)| r.carried).sum();
    // All 16 are in flight at each border.
    assert_eq!((sum(RowKind::WarmupTail), carried, sum(RowKind::Tail)), (16, 16, 16));
    assert_eq!(outcome.rows(RowKind::Measure).count(), 5);
    assert!(outcome.result.tail_ns > 0 && outcome.result.tail_ns < 100_000_000);
    assert_eq!(outcome.result.warmup_ns, 50_000_000);
}

#[test]
fn a_stop_ends_a_real_step_soon() {
    for measure_ns in [Some(3_600_000_000_000), None] {
        let mut spec = StepSpec { measure_ns, ..bounded(8, 1) };
        spec.streams[0].load.workers = 2;
        let target = Real::new(CompletionStyle::Interrupt, 1_000_000);
        let mut windows = 0;
        let outcome = run_until(&spec, &parts(target, vec![Asks::reads().shared()]), |message| {
            windows += u32::from(matches!(message, Message::Window(_)));
            windows == 2
        });
        assert_eq!(outcome.result.end, End::Interrupted);
        assert!(outcome.result.window_ns >= 40_000_000 && outcome.result.window_ns < 5_000_000_000);
        // Both workers ended at the same time.
        let last = outcome.rows(RowKind::Measure).last().unwrap().0.end_ns;
        assert_eq!(last, outcome.result.window_ns);
        assert_eq!(outcome.rows(RowKind::Tail).map(|(r, _)| r.completed).sum::<u64>(), 8);
    }
}

/// The caller is slower than the windows: rows grow longer, and nothing is lost.
#[test]
fn a_slow_caller_makes_rows_longer_and_loses_nothing() {
    let mut spec = StepSpec { interval_ns: 2_000_000, ..bounded(4, 300) };
    spec.streams[0].load.workers = 2;
    let target = Real::new(CompletionStyle::Interrupt, 200_000);
    let outcome = run_until(&spec, &parts(target, vec![Asks::reads().shared()]), |message| {
        if matches!(message, Message::Window(_)) {
            sleep(Duration::from_millis(25));
        }
        false
    });
    assert_eq!(outcome.result.window_ns, 300_000_000);
    let rows = outcome.rows(RowKind::Measure).count();
    assert!(rows < 120, "{rows} rows");
    assert!(outcome.rows(RowKind::Measure).any(|(r, _)| r.end_ns - r.start_ns > spec.interval_ns));
    assert!(outcome.notes().contains(&"long_rows"));
    assert!(outcome.completed(None) > 500);
}

#[test]
fn a_caller_that_panics_does_not_hang() {
    let spec = StepSpec { measure_ns: Some(3_600_000_000_000), ..bounded(4, 1) };
    let parts = parts(Real::new(CompletionStyle::Interrupt, 100_000), vec![Asks::reads().shared()]);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        run_until(&spec, &parts, |_| panic!("no more of this"));
    }));
    assert!(panicked.is_err());
}

#[test]
fn progress_is_told_a_few_times_a_second() {
    let target = Real::new(CompletionStyle::Interrupt, 1_000_000);
    let mut told = Vec::new();
    let outcome = run_until(&bounded(4, 1100), &parts(target, vec![Asks::reads().shared()]), |message| {
        if let Message::Progress { elapsed_ns, bytes } = message {
            told.push((*elapsed_ns, *bytes));
        }
        false
    });
    assert!((1..=5).contains(&outcome.progress), "{}", outcome.progress);
    assert!(told.is_sorted() && told.iter().all(|(_, bytes)| *bytes > 0), "{told:?}");
}

#[test]
fn an_inline_target_shows_that_depth_is_not_reached_and_stamps_are_shared() {
    let outcome =
        run(&bounded(128, 100), &parts(Real::new(CompletionStyle::Inline, 0), vec![Asks::reads().shared()]));
    assert!(outcome.result.depth.mean < Some(64.0));
    let notes = outcome.notes();
    assert!(notes.contains(&"depth_not_reached") && notes.contains(&"late_stamps"), "{notes:?}");
    assert!(outcome.result.timing.resolution_ns > 100.0);
    let cpu = outcome.result.cpu;
    assert!(cpu.user_ns + cpu.system_ns > 10_000_000 && cpu.helper_ns == 0, "{cpu:?}");
}

fn check_feedback(
    told: &BTreeMap<u32, Vec<Feedback>>,
    lanes: u32,
    per_lane: u64,
    service_ns: std::ops::Range<u64>,
) {
    assert_eq!(told.len() as u32, lanes);
    for feedback in told.values() {
        let mut seqs: Vec<u64> = feedback.iter().map(|f| f.seq).collect();
        seqs.sort_unstable();
        assert_eq!(seqs, (0..per_lane).collect::<Vec<_>>());
        assert!(
            feedback.iter().all(|f| f.errno == 0 && f.bytes == 4096 && service_ns.contains(&f.service_ns))
        );
    }
}

/// A lane that waits for its completions gets them all, and goes on.
#[test]
fn completions_are_told_to_those_who_want_them() {
    let mut spec = spec(1, 8);
    spec.streams[0].load.workers = 2;
    let asks = Asks::reads().times(300).windowed(3);
    let told = Arc::clone(&asks.told);
    let outcome = run(&spec, &parts(Real::new(CompletionStyle::Interrupt, 50_000), vec![asks.shared()]));
    assert_eq!((outcome.result.end.clone(), outcome.completed(None)), (End::Completed, 600));
    assert_eq!(outcome.result.depth.max, 6);
    check_feedback(&told.lock().unwrap(), 2, 300, 50_000..10_000_000_000);
    let asks = Asks::reads().times(300).windowed(3);
    let told = Arc::clone(&asks.told);
    let outcome = run(&spec, &parts(Virtual::constant(100, 50_000), vec![asks.shared()]));
    assert_eq!((outcome.completed(None), outcome.result.depth.max), (600, 6));
    check_feedback(&told.lock().unwrap(), 2, 300, 50_000..50_001);
}
