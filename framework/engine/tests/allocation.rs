//! The loop allocates nothing after its start: counted by the allocator, on the worker's thread, between two
//! turns far apart. Windows are cut and the warm-up ends in between.
#![expect(unsafe_code, reason = "counts allocations in front of the system's allocator, and is a queue")]

#[path = "steps/fakes.rs"]
#[expect(dead_code, reason = "made for more tests than those here")]
mod fakes;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::channel;

use iodyno_engine::{Message, run_step};
use iodyno_plugin::CompletionStyle;
use iodyno_record::{End, Fill, RowKind, Sharing, StepSpec};

use fakes::{Asks, Real, parts, spec};

struct Counting;

thread_local! {
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// As many as there were at the last turn.
static AT_LAST_TURN: AtomicU64 = AtomicU64::new(0);

fn count() {
    if COUNTED.get() {
        ALLOCATIONS.fetch_add(1, SeqCst);
    }
}

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Counts on the worker's thread from turn 20 on, but for what the fake does itself.
fn watched(completion: CompletionStyle) -> Real {
    let mut target = Real::new(completion, 20_000).before(|turn| {
        COUNTED.set(false);
        if turn == 19 {
            ALLOCATIONS.store(0, SeqCst);
        }
        AT_LAST_TURN.store(ALLOCATIONS.load(SeqCst), SeqCst);
        Ok(())
    });
    target.after = Some(|turn| COUNTED.set((19..u64::MAX).contains(&turn)));
    target
}

fn allocations(spec: &StepSpec, target: Real, workloads: Vec<Asks>) -> u64 {
    let (_sender, commands) = channel();
    let workloads = workloads.into_iter().map(Asks::shared).collect();
    let mut windows = 0;
    let result = run_step(spec, &parts(target, workloads), &commands, &mut |message| {
        windows += u32::from(matches!(message, Message::Window(w) if w.rows[0].kind == RowKind::Measure));
    });
    assert_eq!(result.end, End::Completed);
    assert!(windows >= 5 && result.ops(None).map(|o| o.completed).sum::<u64>() > 1000, "{windows} windows");
    AT_LAST_TURN.load(SeqCst)
}

#[test]
fn the_loop_allocates_nothing() {
    COUNTED.set(true);
    drop(std::hint::black_box(Box::new(1)));
    COUNTED.set(false);
    assert_eq!(ALLOCATIONS.load(SeqCst), 2, "one would be seen");
    let base = StepSpec {
        warmup_ns: 50_000_000,
        measure_ns: Some(200_000_000),
        interval_ns: 20_000_000,
        consecutive_errors_max: u32::MAX,
        ..spec(1, 8)
    };
    assert_eq!(allocations(&base, watched(CompletionStyle::Inline), vec![Asks::reads()]), 0);
    let writes = Asks { quiet: true, ..Asks::mix([3, 3, 1], vec![4096, 8192]) }.windowed(7);
    assert_eq!(allocations(&base, watched(CompletionStyle::Interrupt), vec![writes.clone()]), 0);
    let mut shared =
        StepSpec { sharing: Sharing::Shared, outstanding: 40, streams: spec(2, 1).streams, ..base };
    shared.target.size_bytes *= 2;
    (shared.streams[0].fill, shared.streams[1].weight) = (Fill::Zero, 0.3);
    assert_eq!(
        allocations(
            &shared,
            watched(CompletionStyle::Polled),
            vec![Asks::mix([1, 1, 0], vec![4096]), writes]
        ),
        0
    );
}
