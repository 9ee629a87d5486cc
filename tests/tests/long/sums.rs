//! Whatever a plan asks for, its record adds up: rows, histograms and totals tell of the same I/O, and on a
//! simulated target the same seed tells the same twice.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use iodyno_plugin::random::Random;
use iodyno_tests::long::Sample;
use iodyno_tests::{Folder, Record};

/// One of several, at random.
fn one<'a>(random: &mut Random, of: &[&'a str]) -> &'a str {
    of[random.below(of.len() as u64) as usize]
}

fn backend(random: &mut Random) -> String {
    if random.below(4) == 0 {
        return "\"null\"".to_owned();
    }
    let servers = 1 + random.below(16);
    let service = one(random, &["20us", "100us", "900us", "7ms"]);
    let distribution = one(random, &["constant", "exponential"]);
    format!(
        "{{ plugin = \"sim\", servers = {servers}, service = \"{service}\", distribution = \"{distribution}\" }}"
    )
}

fn workload(random: &mut Random) -> String {
    let mix = one(
        random,
        &["read = 100", "write = 100", "read = 70, write = 30", "read = 49, write = 50, flush = 1"],
    );
    let sizes =
        "[{ size = \"4k\", weight = 60 }, { size = \"16k\", weight = 30 }, { size = \"64k\", weight = 10 }]";
    let block_size = one(random, &["\"4k\"", "\"8k\"", "\"128k\"", sizes]);
    let pattern = one(random, &["random", "sequential"]);
    format!(
        "{{ plugin = \"synthetic\", mix = {{ {mix} }}, block_size = {block_size}, pattern = \"{pattern}\" }}"
    )
}

/// A suite of one to three tests on a target without substance.
fn suite(random: &mut Random) -> String {
    let size = one(random, &["8MiB", "1GiB", "3TiB"]);
    let mut out =
        format!("schema = 1\n[suite]\nname = \"sums\"\n[[target]]\nlabel = \"t\"\nsize = \"{size}\"\n");
    for test in 0..=random.below(3) {
        let (warmup, measure) = (random.below(300), 20 + random.below(1500));
        let backend = backend(random);
        // The null backend runs in real time.
        let (warmup, measure) =
            if backend.contains("null") { (warmup / 30, 20 + measure / 30) } else { (warmup, measure) };
        let sharing = one(random, &["shared", "independent"]);
        write!(
            out,
            "[[test]]\nname = \"test-{test}\"\nbackend = {backend}\nphases = {{ warmup = \"{warmup}ms\", measure = \"{measure}ms\" }}\nstreams = \"{sharing}\"\n"
        )
        .expect("a string takes all");
        let outstanding = 1 + random.below(64);
        if sharing == "shared" {
            writeln!(out, "load = {{ outstanding = {outstanding} }}").expect("a string takes all");
        }
        for stream in 0..=random.below(3) {
            let workload = workload(random);
            writeln!(out, "[[test.stream]]\nname = \"stream-{stream}\"\nworkload = {workload}")
                .expect("a string takes all");
            let last = if sharing == "shared" {
                format!("weight = {}", 1 + random.below(9))
            } else {
                format!("load = {{ outstanding = {} }}", 1 + random.below(40))
            };
            writeln!(out, "{last}").expect("a string takes all");
        }
    }
    out
}

#[test]
fn records_add_up() {
    Sample::take(25).run("records_add_up", |seed| {
        let text = suite(&mut Random::new(seed));
        let folder = Folder::new();
        folder.file("sums.toml", &text);
        let line = format!("run sums.toml --seed {} --progress none -o json=results.json", seed >> 11);
        let ended = folder.run(&line);
        assert!(ended.code == Some(0), "{ended}\n--- suite\n{text}");
        let record = Record::read(&folder.only_run());
        assert!(!record.steps.is_empty(), "--- suite\n{text}");
        record.must_add_up();
        if !text.contains("\"null\"") {
            folder.run(&line).exits(0);
            let [first, second] = &folder.runs()[..] else { panic!("two runs") };
            let rows = |run: &Path| fs::read(run.join("rows.ndjson")).expect("readable");
            assert!(rows(first) == rows(second), "the same seed told something else\n--- suite\n{text}");
        }
    });
}
