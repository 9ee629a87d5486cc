//! CPU time: that of the workers and of kernel threads that work for them is what the system counts.

use std::fs;
use std::path::Path;

use iodyno_record::Cpu;
use iodyno_tests::lab::{Loop, Mount};
use iodyno_tests::{Folder, Record};

use crate::{alone, one_of_five, within};

const BYTES: usize = 64 << 20;

/// Reads at random from `file` for so long. Gives what iodyno and what the system counted, s, and the result.
fn read(folder: &Folder, file: &Path, measure: &str) -> (Cpu, f64, Record) {
    folder.file(
        "suite.toml",
        &format!(
            r#"
            schema = 1
            [[test]]
            name     = "reads"
            backend  = "io_uring"
            phases   = {{ warmup = "0s", measure = "{measure}" }}
            load     = {{ outstanding = 8 }}
            workload = {{ plugin = "synthetic", mix = {{ read = 100 }}, block_size = "64k", pattern = "random" }}
            "#
        ),
    );
    let before = folder.runs();
    let line = format!("run suite.toml --progress none -o json=results.json --target {}", file.display());
    let ended = folder.run(&line);
    ended.exits(0);
    let mut runs = folder.runs();
    runs.retain(|run| !before.contains(run));
    let record = Record::read(&runs[0]);
    (record.steps[0].result.cpu, ended.cpu.as_secs_f64(), record)
}

fn seconds(cpu: Cpu) -> f64 {
    (cpu.user_ns + cpu.system_ns + cpu.helper_ns) as f64 / 1e9
}

fn data() -> Vec<u8> {
    let mut random = iodyno_plugin::random::Random::new(1);
    (0..BYTES / 8).flat_map(|_| random.bits().to_le_bytes()).collect()
}

/// A tmpfs cannot do direct I/O without waiting, so io_uring gives all of it to threads of the kernel.
#[test]
fn kernel_threads_are_counted_where_they_work() {
    let _machine = alone();
    let folder = Folder::new();
    let mount = Mount::tmpfs(2 * BYTES as u64, &folder.path("memory"));
    let file = mount.path().join("file");
    fs::write(&file, data()).expect("there is room");
    one_of_five(|| {
        // The difference of a long and a short run leaves out what is not measured: start, report, end.
        let (short, short_of_system, _) = read(&folder, &file, "10ms");
        let (long, long_of_system, record) = read(&folder, &file, "3s");
        let counted = seconds(long) - seconds(short);
        let of_system = long_of_system - short_of_system;
        let helpers = long.helper_ns as f64 / 1e9;
        println!(
            "worker {:.3} s, kernel threads {helpers:.3} s; difference to a short run {counted:.3} s, \
             by the system {of_system:.3} s ({:+.2} %)",
            seconds(long) - helpers,
            (counted / of_system - 1.0) * 100.0
        );
        assert!(record.steps[0].result.notes.iter().any(|note| note.code == "kernel_helpers"));
        assert!(helpers > 0.2 * of_system, "kernel threads do most of the work");
        within(0.05, counted, of_system)
    });
}

#[test]
fn no_kernel_thread_works_where_ext4_does_direct_io() {
    let _machine = alone();
    let folder = Folder::new();
    let device = Loop::new(&folder.path("backing"), 4 * BYTES as u64);
    let mount = Mount::ext4(device.path(), &folder.path("mounted"));
    let file = mount.path().join("file");
    fs::write(&file, data()).expect("there is room");
    fs::File::open(&file).and_then(|file| file.sync_all()).expect("it can be made durable");
    one_of_five(|| {
        let (short, short_of_system, _) = read(&folder, &file, "10ms");
        let (long, long_of_system, _) = read(&folder, &file, "3s");
        let (counted, of_system) = (seconds(long) - seconds(short), long_of_system - short_of_system);
        println!(
            "worker {:.3} s, kernel threads {:.6} s; difference to a short run {counted:.3} s, by the system \
             {of_system:.3} s ({:+.2} %)",
            seconds(long),
            long.helper_ns as f64 / 1e9,
            (counted / of_system - 1.0) * 100.0
        );
        assert!(long.helper_ns as f64 / 1e9 < 0.01 * counted, "kernel threads at work: {long:?}");
        // The system counts in hundredths of a second, and so the difference of two.
        within(0.05, counted, of_system) || (counted - of_system).abs() < 0.03
    });
}
