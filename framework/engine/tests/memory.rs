//! 1,024 workers, as a backend that blocks needs them for as much outstanding I/O, stay small.

#[path = "steps/fakes.rs"]
#[expect(dead_code, reason = "made for more tests than those here")]
mod fakes;

use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::Duration;

use iodyno_engine::{Message, run_step};
use iodyno_plugin::CompletionStyle;
use iodyno_record::{End, StepSpec};

use fakes::{Asks, Real, parts, spec};

const WORKERS: u32 = 1024;
const LIMIT: u64 = 60_000_000;

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("there is /proc");
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("the second number is resident pages") * 4096
}

#[test]
fn a_thousand_workers_are_small() {
    // Latencies from 20 to 85 ms: the wider they are, the more of a histogram is touched.
    let mut target = Real::new(CompletionStyle::Inline, 20_000_000).before(|turn| {
        sleep(Duration::from_micros(1 << (turn * 7 % 17)));
        Ok(())
    });
    target.info.max_depth = 1;
    let spec = StepSpec {
        warmup_ns: 300_000_000,
        measure_ns: Some(2_000_000_000),
        interval_ns: 300_000_000,
        ..spec(1, WORKERS)
    };
    let (_sender, commands) = channel();
    let (before, mut most) = (resident(), 0);
    let result = run_step(&spec, &parts(target, vec![Asks::reads().shared()]), &commands, &mut |message| {
        if matches!(message, Message::Window(_)) {
            most = most.max(resident());
        }
    });
    assert_eq!((result.end.clone(), result.workers.len()), (End::Completed, WORKERS as usize));
    assert!(result.workers.iter().filter(|w| w.completed > 0).count() > WORKERS as usize / 2);
    println!("{} MB for {WORKERS} workers", (most - before) / 1_000_000);
    assert!(most - before < LIMIT, "{} bytes for {WORKERS} workers, at most {LIMIT}", most - before);
}
