//! Parts of a step and their windows: small cases with the numbers worked out by hand.

use std::sync::Arc;

use iodyno_engine::Message;
use iodyno_record::{End, RowKind, StepSpec};

use crate::fakes::{Answer, Asks, Virtual, parts, spec};
use crate::outcome::{Outcome, run, run_until};

/// Warm-up of 1 ms and measure of 2 ms, windows of 1 ms.
fn three_ms(outstanding: u32) -> StepSpec {
    StepSpec { warmup_ns: 1_000_000, measure_ns: Some(2_000_000), ..spec(1, outstanding) }
}

fn counts(outcome: &Outcome, kind: RowKind) -> Vec<(u64, u64, u64, u64)> {
    outcome.rows(kind).map(|(r, _)| (r.start_ns / 1000, r.end_ns / 1000, r.completed, r.carried)).collect()
}

/// Two at a time, 400 us each: they start at 0, 400, 800, ... us.
#[test]
fn an_io_belongs_to_the_part_in_which_it_was_submitted() {
    let target = Virtual::constant(2, 400_000);
    let outcome = run(&three_ms(2), &parts(target, vec![Asks::reads().shared()]));
    assert_eq!(counts(&outcome, RowKind::Warmup), [(0, 1000, 4, 0)]);
    assert_eq!(counts(&outcome, RowKind::WarmupTail), [(1000, 1200, 2, 0)]);
    assert_eq!(counts(&outcome, RowKind::Measure), [(1000, 2000, 4, 2), (2000, 3000, 4, 0)]);
    assert_eq!(counts(&outcome, RowKind::Tail), [(3000, 3200, 2, 0)]);
    let result = &outcome.result;
    assert_eq!(result.end, End::Completed);
    assert_eq!((result.warmup_ns, result.window_ns, result.tail_ns), (1_000_000, 2_000_000, 200_000));
    let read = result.ops(None).next().unwrap();
    assert_eq!((read.completed, read.window_completed, read.iops), (10, 10, Some(5000.0)));
    assert_eq!(read.bandwidth_bytes_per_s, Some(5000.0 * 4096.0));
    assert_eq!((result.depth.asked, result.depth.mean, result.depth.max), (2, Some(2.0), 2));
    assert_eq!(outcome.notes(), ["simulated"]);
}

/// What ends exactly at the end of a window is in it; what starts exactly at the end of a part is in the next.
#[test]
fn borders_belong_to_the_window_before_and_to_the_part_after() {
    let target = Virtual::constant(1, 500_000);
    let outcome = run(&three_ms(1), &parts(target, vec![Asks::reads().shared()]));
    assert_eq!(counts(&outcome, RowKind::Warmup), [(0, 1000, 2, 0)]);
    assert_eq!(counts(&outcome, RowKind::WarmupTail), [(1000, 1000, 0, 0)]);
    assert_eq!(counts(&outcome, RowKind::Measure), [(1000, 2000, 2, 0), (2000, 3000, 2, 0)]);
    assert_eq!(counts(&outcome, RowKind::Tail), [(3000, 3000, 0, 0)]);
    assert!(outcome.rows(RowKind::Tail).all(|(row, _)| row.service.is_none()));
}

/// The fifth I/O takes 5.2 ms: every window of the stall is there, with nothing in it but what is outstanding.
#[test]
fn a_stall_has_its_windows_and_they_are_empty() {
    let answer: Answer = Arc::new(|n, sub, _| (if n == 4 { 5_200_000 } else { 100_000 }, 0, sub.len));
    let spec = StepSpec { measure_ns: Some(8_000_000), ..spec(1, 1) };
    let outcome = run(&spec, &parts(Virtual::new(1, answer), vec![Asks::reads().shared()]));
    let rows: Vec<_> = outcome.rows(RowKind::Measure).map(|(row, _)| row).collect();
    assert_eq!(rows.len(), 8);
    assert_eq!(rows.iter().map(|r| r.completed).collect::<Vec<_>>(), [4, 0, 0, 0, 0, 5, 10, 10]);
    assert!(rows.iter().all(|r| r.in_flight_mean == Some(1.0) && r.end_ns - r.start_ns == 1_000_000));
    assert!(rows[1..5].iter().all(|r| r.service.is_none() && r.iops() == Some(0.0)));
    assert_eq!(rows[5].service.as_ref().unwrap().max_ns, 5_200_000);
}

/// A stall over the ends of warm-up and measure: what was submitted in the warm-up stays there.
#[test]
fn a_stall_over_all_borders_is_a_matter_of_the_warmup() {
    let answer: Answer = Arc::new(|n, sub, _| (if n == 1 { 9_000_000 } else { 600_000 }, 0, sub.len));
    let outcome = run(&three_ms(1), &parts(Virtual::new(1, answer), vec![Asks::reads().shared()]));
    assert_eq!(counts(&outcome, RowKind::Warmup), [(0, 1000, 1, 0)]);
    assert_eq!(counts(&outcome, RowKind::WarmupTail), [(1000, 9600, 1, 0)]);
    assert_eq!(counts(&outcome, RowKind::Measure), [(1000, 2000, 0, 0), (2000, 3000, 0, 0)]);
    assert_eq!(counts(&outcome, RowKind::Tail), [(3000, 9600, 0, 0)]);
    let read = outcome.result.ops(None).next().unwrap();
    assert_eq!((read.completed, read.window_completed, read.iops), (0, 0, Some(0.0)));
    assert_eq!(read.service, None);
    assert_eq!((outcome.result.depth.mean, outcome.result.tail_ns), (Some(1.0), 6_600_000));
}

#[test]
fn a_step_without_bound_ends_with_its_last_completion() {
    let target = Virtual::constant(2, 300_000);
    let outcome = run(&spec(1, 4), &parts(target, vec![Asks::reads().times(9).shared()]));
    assert_eq!(outcome.result.end, End::Completed);
    assert_eq!(counts(&outcome, RowKind::Measure), [(0, 1000, 6, 0), (1000, 1500, 3, 0)]);
    assert_eq!(outcome.rows(RowKind::Tail).count(), 0);
    assert_eq!((outcome.result.window_ns, outcome.result.tail_ns), (1_500_000, 0));
}

#[test]
fn workloads_that_are_done_end_a_bounded_step_early() {
    let target = Virtual::constant(1, 400_000);
    let outcome = run(&three_ms(1), &parts(target, vec![Asks::reads().times(4).shared()]));
    assert_eq!(outcome.result.end, End::Completed);
    assert_eq!(counts(&outcome, RowKind::Measure), [(1000, 1600, 1, 1)]);
    assert_eq!(outcome.result.window_ns, 600_000);
    assert_eq!(outcome.notes(), ["simulated", "ended_early"]);
    // Done within the warm-up: nothing was measured.
    let target = Virtual::constant(1, 400_000);
    let outcome = run(&three_ms(1), &parts(target, vec![Asks::reads().times(2).shared()]));
    assert_eq!(counts(&outcome, RowKind::Warmup), [(0, 800, 2, 0)]);
    assert_eq!((outcome.result.window_ns, outcome.completed(None)), (0, 0));
}

#[test]
fn a_stop_keeps_what_was_measured() {
    let spec =
        StepSpec { warmup_ns: 3_000_000, measure_ns: Some(1 << 50), interval_ns: 5_000_000, ..spec(1, 4) };
    let parts = parts(Virtual::constant(4, 1_000), vec![Asks::reads().shared()]);
    let mut windows = 0;
    let outcome = run_until(&spec, &parts, |message| {
        windows += u32::from(matches!(message, Message::Window(w) if w.rows[0].kind == RowKind::Measure));
        windows == 3
    });
    assert_eq!(outcome.result.end, End::Interrupted);
    assert!(outcome.result.window_ns >= 15_000_000 && outcome.result.window_ns < 40_000_000);
    assert!(outcome.completed(None) >= 60_000);
    assert_eq!(outcome.rows(RowKind::Tail).count(), 1);
    assert!(!outcome.notes().contains(&"ended_early"));
}

#[test]
fn a_stop_in_the_warmup_measures_nothing() {
    let spec =
        StepSpec { warmup_ns: 1 << 50, measure_ns: Some(1 << 50), interval_ns: 5_000_000, ..spec(1, 4) };
    let parts = parts(Virtual::constant(1, 1_000), vec![Asks::reads().shared()]);
    let outcome = run_until(&spec, &parts, |message| matches!(message, Message::Window(_)));
    assert_eq!(outcome.result.end, End::Interrupted);
    assert_eq!((outcome.result.window_ns, outcome.result.tail_ns, outcome.completed(None)), (0, 0, 0));
    assert!(outcome.result.warmup_ns >= 5_000_000);
    assert_eq!(outcome.rows(RowKind::Measure).count() + outcome.rows(RowKind::Tail).count(), 0);
    // Nothing is lost: three of four were in flight when the fourth ended.
    let warmup: u64 = outcome.rows(RowKind::Warmup).map(|(r, _)| r.completed).sum();
    let tail: u64 = outcome.rows(RowKind::WarmupTail).map(|(r, _)| r.completed).sum();
    assert_eq!((tail, warmup), (3, outcome.result.warmup_ns / 1000));
}

#[test]
fn a_step_without_bound_can_be_stopped() {
    let spec = StepSpec { interval_ns: 5_000_000, ..spec(1, 4) };
    let parts = parts(Virtual::constant(4, 1_000), vec![Asks::reads().shared()]);
    let outcome = run_until(&spec, &parts, |message| matches!(message, Message::Window(_)));
    assert_eq!(outcome.result.end, End::Interrupted);
    assert!(outcome.result.window_ns >= 5_000_000);
}
