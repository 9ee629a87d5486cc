//! On real targets, too, rows, histograms and totals tell of the same I/O, whatever the streams.

use iodyno_record::{Histogram, Op, Row, RowKind, slot_lowest};
use iodyno_tests::{Folder, Record};

use crate::{beside_others, run};

const SUITE: &str = r#"
    schema = 1
    [[target]]
    label   = "disk"
    scratch = "128MiB"
    [defaults]
    interval = "100ms"
    phases   = { warmup = "250ms", measure = "770ms" }

    [[test]]
    name     = "one-worker"
    load     = { outstanding = 32 }
    workload = { plugin = "synthetic", mix = { read = 60, write = 39, flush = 1 }, pattern = "random", block_size = [
        { size = "4k", weight = 70 }, { size = "16k", weight = 20 }, { size = "256k", weight = 10 } ] }

    [[test]]
    name    = "shared"
    load    = { outstanding = 24, workers = 3 }
    [[test.stream]]
    name     = "cold"
    weight   = 1
    region   = "50%..100%"
    workload = { plugin = "synthetic", mix = { write = 100 }, block_size = "64k", pattern = "sequential" }
    [[test.stream]]
    name     = "hot"
    weight   = 9
    region   = "0%..50%"
    workload = { plugin = "synthetic", mix = { read = 100 }, block_size = "4k", pattern = "random", distribution = "zipf" }

    [[test]]
    name    = "independent"
    streams = "independent"
    [[test.stream]]
    name     = "data"
    region   = "10%..100%"
    load     = { outstanding = 12, workers = 2 }
    workload = { plugin = "synthetic", mix = { read = 80, write = 20 }, block_size = "8k", pattern = "random" }
    [[test.stream]]
    name     = "log"
    region   = "0%..10%"
    load     = { outstanding = 1 }
    workload = { plugin = "synthetic", mix = { write = 90, flush = 10 }, block_size = "4k", pattern = "sequential" }
"#;

fn recorded(backend: &str) -> Record {
    run(&Folder::new(), &SUITE.replace("[defaults]", &format!("[defaults]\n    backend = \"{backend}\"")), "")
}

#[test]
fn rows_histograms_and_totals_agree_on_real_files() {
    let _machine = beside_others();
    for (backend, workers) in [("io_uring", [1, 3, 2]), ("sync", [32, 24, 13])] {
        let record = recorded(backend);
        record.must_add_up();
        for (name, workers) in ["one-worker", "shared", "independent"].iter().zip(workers) {
            let step = record.step(name);
            let [reads, writes, flushes] = Op::ALL.map(|op| step.completed(Some(op)));
            println!(
                "{backend}, {name}: {workers} workers, {reads} reads, {writes} writes, {flushes} flushes"
            );
            assert_eq!(step.result.workers.len(), workers);
            assert!(reads > 0 && writes > 0 && (flushes > 0) == (*name != "shared"));
            assert_eq!((step.result.window_ns, step.result.errors(None)), (770_000_000, 0));
            assert!(step.result.streams.iter().all(|stream| stream.zero_reads == 0), "the file was filled");
        }
        let kinds = [RowKind::Warmup, RowKind::WarmupTail, RowKind::Measure, RowKind::Tail];
        assert!(
            kinds.iter().all(|kind| record.rows.iter().any(|row| row.kind == *kind && row.completed > 0))
        );
    }
}

#[test]
fn a_record_that_does_not_add_up_is_noticed() {
    let _machine = beside_others();
    let record = recorded("io_uring");
    record.must_add_up();
    let measured = |row: &Row| row.kind == RowKind::Measure && row.completed > 1 && row.item == 1;
    let at = record.rows.iter().position(measured).expect("something was measured");
    let changes: [fn(&mut Record, usize); 10] = [
        |r, at| r.rows[at].completed -= 1,
        |r, at| r.rows[at].carried += 1,
        |r, at| r.rows[at].bytes += 512,
        |r, at| _ = r.rows[at].errors.insert(5, 1),
        |r, at| r.rows[at].in_flight_mean = r.rows[at].in_flight_mean.map(|mean| mean * 1.000_01),
        |r, at| r.rows[at].end_ns += 1,
        |r, at| _ = r.rows.remove(at),
        |r, _| _ = r.log.pop(),
        |r, _| r.steps[1].result.streams[0].ops[0].window_completed += 1,
        // An I/O goes into another slot of its histogram.
        |r, _| {
            let histogram = &mut r.log[0].histogram;
            let least = histogram.min_ns().expect("it is not empty");
            let mut moved = Histogram::new();
            moved.record(least * 2);
            let others = histogram.slots().flat_map(|(slot, n)| (0..n).map(move |_| slot_lowest(slot)));
            others.skip(1).for_each(|value| moved.record(value));
            *histogram = moved;
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut damaged = record.clone();
        change(&mut damaged, at);
        let faults = damaged.faults();
        println!("change {number}: {} faults", faults.len());
        assert!(!faults.is_empty());
    }
}
