//! The text of the example runs, as people see it.

#[path = "../../testdata/memory.rs"]
mod memory;

use iodyno_console as _;
use iodyno_record::{Depth, End, Fact, Note, NoteLevel, Outcome, Results, Sharing, Stamps};
use memory::{Example, Memory, reporter};

fn text(runs: &[&Example]) -> String {
    let views: Vec<_> = runs.iter().map(|run| run.view()).collect();
    let mut out = Memory::default();
    reporter("console").finish(&views, &mut out).expect("the record can be read");
    let files = out.files();
    let [(name, text)] = &files[..] else { panic!("one file") };
    assert_eq!(name, "results.txt");
    text.clone()
}

#[test]
fn a_finished_run() {
    insta::assert_snapshot!(text(&[&Example::read("run")]), @r#"
iodyno 0.1.0: drive-check
Random reads, sequential writes and a mixed load on a written drive.

  target   DUT-1: /dev/nvme0n1 (EXAMPLE NVMe 90GB, serial EX0123456789, firmware 1.0.4, 88.92 GB)
  backend  io_uring (asked for: auto), direct I/O
  timing   monotonic clock, a stamp per turn of the queue, good to 31 ns
  host     lab-3, Example CPU 9354, 64 CPUs, Linux 6.12.41, governor powersave
  seed     8214565720323
  run      20261201-025512-drive-check
  started  2026-12-01 02:55:12 UTC, took 2m 09s
  outcome  ✗ thresholds crossed

  TEST                          FOR    IOPS   BANDWIDTH      MEAN       P50       P99     P99.9       MAX  IN FLIGHT  ERRORS
  fill (prepare)         write  30s  22.61k  2.964 GB/s  1.415 ms  1.306 ms   3.32 ms  6.705 ms  104.4 ms      32/32       -
  4k-random-read         read   30s  358.5k  1.468 GB/s  89.25 us  82.37 us  209.4 us  422.9 us  6.588 ms      32/32       -
  128k-sequential-write  write  30s   22.2k   2.91 GB/s  360.4 us  332.5 us  845.3 us  1.707 ms  26.59 ms        8/8       -
  mixed-70-30                   30s
    data                 read        138.3k  1.133 GB/s  104.5 us  96.45 us  245.2 us  495.1 us  4.351 ms      16/16       -
                         write       59.27k  485.5 MB/s  26.12 us  24.11 us  61.31 us  123.8 us  1.009 ms                  2
    log                  write        7.56k  30.97 MB/s   20.7 us  19.09 us  48.54 us  97.86 us  861.1 us     1.01/1       -
                         flush       1.889k              449.6 us  411.6 us  1.047 ms  2.093 ms  18.58 ms                  -
  in flight: mean over time/asked; mean to max: service time, from submission to completion

  EXPECTATIONS
  ✓ 4k-random-read         read.service.p99 < 500us                   209.4 us
  ✓ 4k-random-read         iops >= 90% of datasheet.random_read_iops    358.5k
  ✗ 128k-sequential-write  write.service.max < 10ms                   26.59 ms  the limit is 10 ms
  ✓ mixed-70-30            errors <= 10                                      2

  NOT RUN OR CUT SHORT
  - 64k-random-read not run: needs a capacity of 4TB, DUT-1 has 88.92 GB

  WARNINGS
  ! the CPU governor is `powersave`, so latencies hold wake-up times: `cpupower frequency-set -g
    performance` as root, then run again
  ! 4k-random-read: 1204 reads returned only zeroes: those blocks were never written or were
    trimmed, and reading them measures nothing; add a [[prepare]] fill
  ! 128k-sequential-write: registered_buffers = no: 1 MiB of locked memory was refused (limit 8 MiB
    is used up): each I/O maps its buffer anew; raise it with `ulimit -l`
  ! mixed-70-30: 2 write I/O of stream `data` failed: Input/output error (os error 5)

  Summary  4 tests: 2 passed, 1 thresholds crossed, 1 not run
"#);
}

#[test]
fn an_interrupted_run() {
    insta::assert_snapshot!(text(&[&Example::read("interrupted")]), @r#"
iodyno 0.1.0: drive-check
Random reads, sequential writes and a mixed load on a written drive.

  target   DUT-1: /dev/nvme0n1 (EXAMPLE NVMe 90GB, serial EX0123456789, firmware 1.0.4, 88.92 GB)
  backend  io_uring (asked for: auto), direct I/O
  timing   monotonic clock, a stamp per turn of the queue, good to 31 ns
  host     lab-3, Example CPU 9354, 64 CPUs, Linux 6.12.41, governor powersave
  seed     8214565720323
  run      20261201-025512-drive-check
  started  2026-12-01 02:55:12 UTC, took 45s
  outcome  ! interrupted

  TEST                     FOR    IOPS   BANDWIDTH      MEAN       P50       P99     P99.9       MAX  IN FLIGHT  ERRORS
  fill (prepare)    write  30s  22.61k  2.964 GB/s  1.415 ms  1.306 ms   3.32 ms  6.705 ms  104.4 ms      32/32       -
  4k-random-read *  read   12s  354.7k  1.453 GB/s  90.21 us  82.75 us  215.9 us  424.2 us  6.588 ms      32/32       -
  * cut short: from what was measured until then
  in flight: mean over time/asked; mean to max: service time, from submission to completion

  NOT RUN OR CUT SHORT
  ! 4k-random-read interrupted: stopped by SIGINT after 12s of 30s
  - never reached: 128k-sequential-write, mixed-70-30, 64k-random-read

  WARNINGS
  ! 4k-random-read: 1204 reads returned only zeroes: those blocks were never written or were
    trimmed, and reading them measures nothing; add a [[prepare]] fill

  Summary  4 tests: 1 interrupted, 3 never reached
"#);
}

/// What the examples do not have: a simulated target, streams that share a queue, response times, marked
/// percentiles, an empty operation, short I/O, a failed step, one remark on several tests.
fn with_every_mark() -> Example {
    let mut run = Example::read("run");
    let mut results: Results = serde_json::from_slice(&run.results).expect("it is a results document");
    results.plan.profile = Some("quick".into());
    results.plan.notes =
        vec![Note { level: NoteLevel::Info, code: "size".into(), text: "4kb is 4000 bytes".into() }];
    results.notes.clear();
    results.items[0].steps.clear();
    let fact = Fact { name: "sqpoll".into(), value: "no".into(), fallback: Some("needs root".into()) };
    let last = results.items[3].steps[0].clone();
    for item in &mut results.items[1..4] {
        let step = &mut item.steps[0];
        step.spec.direct = false;
        step.result.notes.clear();
        step.result.backend.facts = vec![fact.clone()];
        step.result.backend.plugin = "sim".into();
        step.result.timing.clock = "virtual".into();
        step.result.timing.stamps = Stamps::Simulated;
        step.result.timing.resolution_ns = 0.0;
        let op = &mut step.result.streams[0].ops[0];
        op.response = op.service.clone();
    }
    let [_, first, second, third, _] = &mut results.items[..] else { panic!("five items") };
    for percentile in
        &mut first.steps[0].result.streams[0].ops[0].service.as_mut().expect("measured").percentiles[5..]
    {
        percentile.few_samples = true;
    }
    let op = &mut second.steps[0].result.streams[0].ops[0];
    (op.service, op.response, op.iops, op.bytes, op.short) = (None, None, Some(0.0), 0, 3);
    second.expects[0].measured = None;
    second.outcome = Outcome::Failed;
    second.reason = Some("sim: the model gave a finish before its submission".into());
    second.steps[0].result.end = End::Failed { reason: "the same".into() };
    third.steps[0].spec.sharing = Sharing::Shared;
    third.steps[0].result.depth = Depth { asked: 17, mean: Some(16.994), max: 17 };
    third.steps.push(last);
    third.steps[1].spec.step = 1;
    run.results = serde_json::to_vec(&results).expect("records are plain data");
    run
}

#[test]
fn every_mark() {
    insta::assert_snapshot!(text(&[&with_every_mark()]), @r#"
iodyno 0.1.0: drive-check
Random reads, sequential writes and a mixed load on a written drive.

  target   DUT-1: /dev/nvme0n1 (EXAMPLE NVMe 90GB, serial EX0123456789, firmware 1.0.4, 88.92 GB)
  backend  sim (asked for: auto), through the page cache; io_uring (asked for: auto), direct I/O
  timing   virtual clock, simulated; monotonic clock, a stamp per turn of the queue, good to 31 ns
  host     lab-3, Example CPU 9354, 64 CPUs, Linux 6.12.41, governor powersave
  profile  quick
  seed     8214565720323
  run      20261201-025512-drive-check
  started  2026-12-01 02:55:12 UTC, took 2m 09s
  outcome  ✗ thresholds crossed

  TEST                               FOR    IOPS   BANDWIDTH      MEAN       P50       P99      P99.9       MAX  IN FLIGHT   ERRORS
  4k-random-read           read      30s  358.5k  1.468 GB/s  89.25 us  82.37 us  209.4 us  ~422.9 us  6.588 ms      32/32        -
                           response                           89.25 us  82.37 us  209.4 us   422.9 us  6.588 ms
  128k-sequential-write *  write     30s       0                     -         -         -          -         -        8/8  3 short
  mixed-70-30 #0                     30s                                                                          16.99/17
    data                   read           138.3k  1.133 GB/s  104.5 us  96.45 us  245.2 us   495.1 us  4.351 ms         16        -
                           response                           104.5 us  96.45 us  245.2 us   495.1 us  4.351 ms
                           write          59.27k  485.5 MB/s  26.12 us  24.11 us  61.31 us   123.8 us  1.009 ms                   2
    log                    write           7.56k  30.97 MB/s   20.7 us  19.09 us  48.54 us   97.86 us  861.1 us       1.01        -
                           flush          1.889k              449.6 us  411.6 us  1.047 ms   2.093 ms  18.58 ms                   -
  mixed-70-30 #1                     30s
    data                   read           138.3k  1.133 GB/s  104.5 us  96.45 us  245.2 us   495.1 us  4.351 ms      16/16        -
                           write          59.27k  485.5 MB/s  26.12 us  24.11 us  61.31 us   123.8 us  1.009 ms                   2
    log                    write           7.56k  30.97 MB/s   20.7 us  19.09 us  48.54 us   97.86 us  861.1 us     1.01/1        -
                           flush          1.889k              449.6 us  411.6 us  1.047 ms   2.093 ms  18.58 ms                   -
  ~ fewer than ten samples lie beyond: the luck of this run as much as the target
  * cut short: from what was measured until then
  in flight: mean over time/asked; mean to max: service time, from submission to completion, or response time, from the intended start

  EXPECTATIONS
  ✓ 4k-random-read         read.service.p99 < 500us                           209.4 us
  ✓ 4k-random-read         iops >= 90% of datasheet.random_read_iops            358.5k
  ✗ 128k-sequential-write  write.service.max < 10ms                   nothing measured  the limit is 10 ms
  ✓ mixed-70-30            errors <= 10                                              2

  NOT RUN OR CUT SHORT
  ✗ 128k-sequential-write failed: sim: the model gave a finish before its submission
  - 64k-random-read not run: needs a capacity of 4TB, DUT-1 has 88.92 GB

  WARNINGS
  ! 4k-random-read, 128k-sequential-write, mixed-70-30: sqpoll = no: needs root
  ! mixed-70-30: 2 write I/O of stream `data` failed: Input/output error (os error 5)

  NOTES
  - 4kb is 4000 bytes

  Summary  4 tests: 2 passed, 1 failed, 1 not run
"#);
}

#[test]
fn runs_follow_one_another() {
    let [first, second] = ["run", "interrupted"].map(Example::read);
    let both = text(&[&first, &second]);
    assert_eq!(both, text(&[&first]) + "\n" + &text(&[&second]));
}

#[test]
fn no_line_ends_with_a_space() {
    let text = text(&[&Example::read("run")]);
    assert!(text.lines().all(|line| line.trim_end() == line));
}
