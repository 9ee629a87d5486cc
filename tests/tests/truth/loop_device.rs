//! Against the kernel's own count of a loop device, `/sys/block/loopN/stat`.

use std::fs;
use std::path::Path;
use std::process::Command;

use iodyno_record::Op;
use iodyno_tests::lab::{Loop, Mount};
use iodyno_tests::{Folder, Record, Running, iodyno};

use crate::{alone, beside_others, one_of_five};

const BYTES: u64 = 64 << 20;

/// Reads and writes that the kernel counted: number, bytes, and time of all together, ms.
#[derive(Clone, Copy, Debug)]
struct Count {
    reads: u64,
    read_bytes: u64,
    read_ms: u64,
    writes: u64,
    written_bytes: u64,
}

fn count(device: &Loop) -> Count {
    let path = format!("/sys/block/{}/stat", device.name());
    let stat = fs::read_to_string(path).expect("a block device has it");
    let fields: Vec<u64> = stat.split_whitespace().map(|field| field.parse().expect("a number")).collect();
    let [reads, _, read_sectors, read_ms, writes, _, written_sectors, ..] = fields[..] else {
        panic!("not as the kernel documents it: {stat}")
    };
    Count { reads, read_bytes: read_sectors * 512, read_ms, writes, written_bytes: written_sectors * 512 }
}

/// Runs one test, whose further lines are `test`, on `device`. Gives the record and what the kernel counted
/// meanwhile. The guard has looked at the device before and is not counted: the run idles for a while first.
///
/// It runs before all others on the machine. To wait for a CPU after an I/O is over takes time, too, but none that
/// the kernel counts for the I/O.
fn measure(folder: &Folder, device: &Loop, test: &str) -> (Record, Count) {
    let suite = format!(
        "schema = 1\n[defaults]\ndirect = true\n[[prepare]]\nidle = \"600ms\"\n[[test]]\nname = \"test\"\n{test}\n"
    );
    folder.file("suite.toml", &suite);
    let known = folder.runs();
    let node = device.path().display();
    let line =
        format!("run suite.toml --progress none -o json=results.json --target {node} --allow-destroy {node}");
    let mut command = Command::new("chrt");
    command.args(["--fifo", "1"]).arg(iodyno()).args(line.split(' ')).current_dir(folder.path(""));
    let mut running = Running::new(command, &line);
    let steps_begun = |run: &Path| {
        let events = fs::read_to_string(run.join("events.ndjson")).unwrap_or_default();
        events.matches("\"event\":\"step_started\"").count()
    };
    let new_run = || folder.runs().into_iter().find(|run| !known.contains(run));
    running.wait_until("idle phase", || new_run().is_some_and(|run| steps_begun(&run) > 0));
    let run = new_run().expect("just seen");
    let before = count(device);
    assert_eq!(steps_begun(&run), 1, "the idle phase was over before the count was read");
    running.end().exits(0);
    let after = count(device);
    let record = Record::read(&run);
    record.must_add_up();
    let count = Count {
        reads: after.reads - before.reads,
        read_bytes: after.read_bytes - before.read_bytes,
        read_ms: after.read_ms - before.read_ms,
        writes: after.writes - before.writes,
        written_bytes: after.written_bytes - before.written_bytes,
    };
    (record, count)
}

#[test]
fn the_kernel_counts_the_same_bytes() {
    let _machine = beside_others();
    let folder = Folder::new();
    // In memory, where a flush takes no time: so there are many I/O.
    let memory = Mount::tmpfs(2 * BYTES, &folder.path("memory"));
    let device = Loop::new(&memory.path().join("backing"), BYTES);
    let mut io = 0;
    for (backend, pattern) in [("io_uring", "random"), ("io_uring", "sequential"), ("sync", "random")] {
        let test = format!(
            r#"
            backend  = "{backend}"
            phases   = {{ warmup = "0s", measure = "700ms" }}
            load     = {{ outstanding = 8 }}
            [test.workload]
            plugin     = "synthetic"
            pattern    = "{pattern}"
            mix        = {{ read = 45, write = 45, flush = 10 }}
            block_size = [ {{ size = "512", weight = 1 }}, {{ size = "4k", weight = 2 }}, {{ size = "68k", weight = 1 }} ]
            "#
        );
        let (record, kernel) = measure(&folder, &device, &test);
        let step = record.step("test");
        println!(
            "{backend}, {pattern}: {} of {} bytes read in {} of {} I/O, {} of {} bytes written in {} of {}, {} flushes",
            step.bytes(Some(Op::Read)),
            kernel.read_bytes,
            step.completed(Some(Op::Read)),
            kernel.reads,
            step.bytes(Some(Op::Write)),
            kernel.written_bytes,
            step.completed(Some(Op::Write)),
            kernel.writes,
            step.completed(Some(Op::Flush)),
        );
        assert_eq!(step.bytes(Some(Op::Read)), kernel.read_bytes);
        assert_eq!(step.bytes(Some(Op::Write)), kernel.written_bytes);
        assert!(step.completed(Some(Op::Flush)) > 0 && step.bytes(Some(Op::Flush)) == 0);
        io += step.completed(None);
    }
    assert!(io >= 10_000, "{io} I/O are few to compare");
}

#[test]
fn the_kernel_counts_the_same_time() {
    let _machine = alone();
    let folder = Folder::new();
    let device = Loop::new(&folder.path("backing"), BYTES);
    let write = r#"
        phases   = { warmup = "0s", measure = "1m" }
        workload = { plugin = "synthetic", mix = { write = 100 }, block_size = "1MiB", pattern = "sequential", passes = 1 }
    "#;
    measure(&folder, &device, write);
    for (backend, outstanding) in [("io_uring", 1), ("io_uring", 4), ("sync", 1), ("sync", 4)] {
        // What else takes time after an I/O is over depends on the machine: threads that wait for one another where
        // CPUs are few and I/O small, a virtual CPU that its host has taken away where I/O are large.
        let mut blocks = ["4k", "64k", "256k"].into_iter().cycle();
        one_of_five(|| {
            let block = blocks.next().expect("goes on for ever");
            // Enough for 10,000 I/O.
            let length = if block == "256k" { 6 } else { 2 };
            let test = format!(
                r#"
                backend  = "{backend}"
                phases   = {{ warmup = "0s", measure = "{length}s" }}
                load     = {{ outstanding = {outstanding} }}
                workload = {{ plugin = "synthetic", mix = {{ read = 100 }}, block_size = "{block}", pattern = "random" }}
                "#
            );
            let (record, kernel) = measure(&folder, &device, &test);
            let step = record.step("test");
            let (ours_us, kernels_us) =
                (step.mean_service_ns() / 1e3, kernel.read_ms as f64 * 1e3 / kernel.reads as f64);
            let (more_us, completed) = (ours_us - kernels_us, step.completed(None));
            println!(
                "{backend}, {outstanding} x {block} outstanding: {ours_us:.2} us, by the kernel {kernels_us:.2} us \
                 ({more_us:+.2} us); {completed} I/O, by the kernel {}",
                kernel.reads
            );
            assert_eq!(step.bytes(None), kernel.read_bytes);
            completed >= 10_000 && (more_us.abs() < 20.0 || more_us.abs() < 0.05 * kernels_us)
        });
    }
}
