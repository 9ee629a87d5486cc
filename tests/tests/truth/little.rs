//! Little's law: what is in flight is the rate times the time that each takes. The engine counts the three
//! apart: completions of the window, stamps of each I/O, and what is outstanding integrated over time.

use std::fmt::Write as _;

use iodyno_record::{Row, RowKind};
use iodyno_tests::{Folder, Record, Step};

use crate::{alone, one_of_five, run, within};

/// Outstanding, and a block size with which an I/O takes 100 us or more. Each is as large as it must be for the
/// target to work on it for longer than the CPU: a virtual disk completes by the dozen, and while the next I/O of a
/// dozen are submitted fewer are in flight.
const POINTS: [(u32, &str); 4] = [(1, "256k"), (8, "256k"), (32, "64k"), (128, "64k")];
const SHARE: f64 = 0.02;

fn suite(points: &[(&str, u32, &str)]) -> String {
    let mut suite = "schema = 1\n[[target]]\nlabel = \"disk\"\nscratch = \"256MiB\"\n\
                     [defaults]\nphases = { warmup = \"300ms\", measure = \"2s\" }\n"
        .to_owned();
    for (backend, outstanding, block_size) in points {
        // A thread that writes cannot make the next block meanwhile: the target is idle for so long, which is no
        // fault of the three counts.
        let write = if *backend == "sync" { 0 } else { 30 };
        let read = 100 - write;
        write!(
            suite,
            "[[test]]\nname = \"{backend}-{outstanding}\"\nbackend = \"{backend}\"\n\
             load = {{ outstanding = {outstanding} }}\n\
             workload = {{ plugin = \"synthetic\", mix = {{ read = {read}, write = {write} }}, \
             block_size = \"{block_size}\", pattern = \"random\" }}\n"
        )
        .expect("a string takes all");
    }
    suite
}

/// Whether the law holds in a step, which is printed.
fn holds(record: &Record, step: &Step) -> bool {
    let (mean, service_ns) = (step.in_flight_mean(), step.mean_service_ns());
    let asked = step.result.depth.asked;
    let tail = |row: &&Row| row.kind == RowKind::Tail && row.item == step.spec.item;
    let tail: u64 = record.rows.iter().filter(tail).map(|row| row.completed).sum();
    let product = step.iops() * service_ns / 1e9;
    println!(
        "{:>12}: {:>8.0} IOPS x {:>6.1} us = {product:>7.3}, in flight {:>7.3} of {}; {} I/O, {tail} in the tail",
        step.spec.name,
        step.iops(),
        service_ns / 1e3,
        mean,
        asked,
        step.completed(None),
    );
    assert!(step.result.streams.iter().all(|stream| stream.zero_reads == 0), "the file was filled");
    assert!(tail <= u64::from(asked), "no more is in the tail than was in flight");
    let asked = f64::from(asked);
    let equal = within(SHARE, product, mean) && within(SHARE, mean, asked);
    // The law needs time enough to forget how it began.
    equal && within(SHARE, product, asked) && service_ns >= 100e3 && step.completed(None) > 1000
}

#[test]
fn rate_times_service_time_is_what_is_in_flight() {
    let _machine = alone();
    let folder = Folder::new();
    let mut left: Vec<(&str, u32, &str)> =
        ["io_uring", "sync"].iter().flat_map(|backend| POINTS.map(|(n, size)| (*backend, n, size))).collect();
    one_of_five(|| {
        let record = run(&folder, &suite(&left), "");
        left.retain(|(backend, n, ..)| !holds(&record, record.step(&format!("{backend}-{n}"))));
        left.is_empty()
    });
}
