//! Damaged suites and random arguments: a plan, or errors with a place. Never a panic.

use iodyno_plugin::random::{Random, derive};
use iodyno_suite::{Diagnostics, Overrides, Suite, check, plan, sources, targets};

use crate::catalog::{Made, facts};

/// Uses everything that a suite can say.
const WHOLE: &str = r#"schema = 1 # and a comment
[suite]
name        = "whole"
description = "Everything, ä little of it"

[defaults]
backend  = { plugin = "memory", servers = 4, service = "100us", rate = "50 MB/s", hot = "25%" }
direct   = true
buffers  = { fill = "random", compress = 0, dedup = 0 }
region   = "25%"
phases   = { warmup = "10s", measure = "60s" }
interval = "500ms"
streams  = "independent"

[[target]]
label   = "DUT-1"
scratch = "1GiB"
[target.datasheet]
random_read_iops = { value = 825000, block_size = "4k", region = "100%" }
read_time        = "80us"

[[prepare]]
fill = { passes = 1, block_size = "128k", outstanding = 32 }
[[prepare]]
name = "rest"
idle = "5m"

[[test]]
name     = "4k-random-read"
tags     = ["corners", 'four']
requires = { capacity = "1GB", kind = "file" }
workload = { plugin = "synthetic", mix = { read = 100 }, block_size = "4k", pattern = "random" }
load     = { outstanding = 128, workers = 2 }
expect   = ["read.service.p99.9 < 1ms", "errors == 0", "iops >= 95% of datasheet.random_read_iops"]

[[test]]
name    = "oltp-like"
expect  = ["data.read.service.mean < 80% of datasheet.read_time", "log.write.bandwidth > 1 MB/s"]
[[test.stream]]
name     = "data"
workload = { plugin = "synthetic", mix = { read = 80, write = 20 }, block_size = [{ size = "8k", weight = 9.5 }, { size = 0x4000, weight = 1 }], theta = 1.1 }
region   = "5%..100%"
load     = { outstanding = 34 }
[[test.stream]]
name     = "log"
workload = { plugin = "synthetic", mix = { write = 100 }, pattern = "sequential" }
region   = "0..64MiB"

[profile.quick.defaults]
phases = { warmup = "1s", measure = "3s" }
[profile.quick.test.oltp-like]
load = { outstanding = 2 }
"#;

/// Prints how to repeat what failed.
struct Repeat<'a>(u64, &'a str, &'a Overrides);

impl Drop for Repeat<'_> {
    #[expect(clippy::print_stderr, reason = "a failing test says how to repeat it")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Repeat(seed, text, overrides) = self;
            eprintln!("seed {seed} made this suite:\n{text}\nand these arguments: {overrides:?}");
        }
    }
}

/// Whether every error has a place in a text that is there.
fn assert_located(diagnostics: &Diagnostics, text: &str, overrides: &Overrides) {
    assert!(!diagnostics.is_empty());
    for diagnostic in diagnostics.iter() {
        assert!(!diagnostic.message.is_empty());
        let texts: Vec<&str> = match diagnostic.file.as_str() {
            "damaged.toml" => vec![text],
            "--set" => overrides.set.iter().map(String::as_str).collect(),
            "--profile" | "--target" | "--size" | "--seed" => continue,
            other => panic!("an error in {other}: {}", diagnostic.message),
        };
        let is_there = |text: &&str| {
            let line = text.split('\n').nth(diagnostic.line - 1);
            line.is_some_and(|line| diagnostic.column <= line.chars().count() + 1)
        };
        assert!(
            texts.iter().any(is_there),
            "{}:{}: {}",
            diagnostic.line,
            diagnostic.column,
            diagnostic.message
        );
    }
    assert!(diagnostics.render(false).contains("error: "));
    assert!(diagnostics.render(true).contains("\u{1b}["));
}

/// Runs everything that reads a suite; whether it came to a plan.
fn read(seed: u64, text: &str, overrides: &Overrides) -> bool {
    let repeat = Repeat(seed, text, overrides);
    let result = Suite::parse("damaged.toml", text).and_then(|suite| {
        if let Err(diagnostics) = check(&suite, overrides, &Made) {
            assert_located(&diagnostics, text, overrides);
        }
        let _ = sources(&suite, overrides, &Made);
        targets(&suite, overrides, &Made)?;
        plan(&suite, overrides, &[facts(1 << 30)], &Made, seed)
    });
    if let Err(diagnostics) = &result {
        assert_located(diagnostics, text, overrides);
    }
    drop(repeat);
    result.is_ok()
}

fn pick<'a, T: ?Sized>(random: &mut Random, from: &[&'a T]) -> &'a T {
    from[random.below(from.len() as u64) as usize]
}

const EXTREMES: &[&str] = &[
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "1e999",
    "-0.0",
    "nan",
    "inf",
    "0x7fffffffffffffff",
    "2024-01-01",
    "\"\"",
    "\"18446744073709551615\"",
    "\"16777216p\"",
    "\"0.1k\"",
    "\"100%\"",
    "\"0%\"",
    "\"50%..10%\"",
    "\"99999y\"",
    "\"1ns\"",
    "[]",
    "{}",
    "[[[[]]]]",
    "true",
    "\"\u{0}\"",
    "'''\nx'''",
];

const FRAGMENTS: &[&str] = &[
    "defaults",
    "test",
    "target",
    "prepare",
    "suite",
    "profile",
    "schema",
    "4k-random-read",
    "oltp-like",
    "rest",
    "DUT-1",
    "quick",
    "stream",
    "data",
    "log",
    "workload",
    "backend",
    "plugin",
    "mix",
    "read",
    "block_size",
    "load",
    "outstanding",
    "workers",
    "phases",
    "measure",
    "region",
    "fill",
    "passes",
    "datasheet",
    "read_time",
    "value",
    "expect",
    "tags",
    "name",
    "label",
    "scratch",
    "path",
    "size",
    "buffers",
    "interval",
    "streams",
    "\"a.b\"",
    "",
    " ",
    "x",
];

/// Damages a text: bytes, lines, numbers, words.
fn damage(random: &mut Random) -> String {
    let mut text = WHOLE.to_owned();
    for _ in 0..1 + random.below(3) {
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let (a, b) = (random.below(lines.len() as u64) as usize, random.below(lines.len() as u64) as usize);
        match random.below(7) {
            0 => {
                let mut bytes = text.into_bytes();
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << random.below(8);
                lines = String::from_utf8_lossy(&bytes).split('\n').map(str::to_owned).collect();
            }
            1 => lines.swap(a, b),
            2 => drop(lines.remove(a)),
            3 => lines.insert(a, lines[b].clone()),
            4 => lines[a] = replace_value(random, &lines[a]),
            5 => {
                let cut: Vec<char> = lines[a].chars().collect();
                let at = random.below(cut.len() as u64 + 1) as usize;
                lines[a] = cut[..at].iter().collect();
            }
            _ => {
                let word = pick(random, FRAGMENTS);
                lines[a] = lines[a].replacen(pick(random, FRAGMENTS), word, 1);
            }
        }
        text = lines.join("\n");
    }
    text
}

/// Puts an extreme behind one of the line's `=`.
fn replace_value(random: &mut Random, line: &str) -> String {
    let equals: Vec<usize> = line.match_indices('=').map(|(at, _)| at).collect();
    if equals.is_empty() {
        return line.to_owned();
    }
    let at = equals[random.below(equals.len() as u64) as usize] + 1;
    let end = line[at..].find([',', '}']).map_or(line.len(), |end| at + end);
    format!("{} {}{}", &line[..at], pick(random, EXTREMES), &line[end..])
}

fn argument(random: &mut Random) -> String {
    let keys: Vec<&str> = (0..1 + random.below(5)).map(|_| pick(random, FRAGMENTS)).collect();
    let value = if random.below(3) == 0 { pick(random, FRAGMENTS) } else { pick(random, EXTREMES) };
    let sign = if random.below(20) == 0 { "" } else { "=" };
    format!("{}{sign}{value}", keys.join("."))
}

/// A path that leads somewhere, so that values get far.
fn good_path(random: &mut Random) -> String {
    let paths = [
        "defaults.backend",
        "defaults.backend.servers",
        "defaults.region",
        "defaults.phases.measure",
        "defaults.load",
        "test.4k-random-read.workload.block_size",
        "test.4k-random-read.workload.mix",
        "test.4k-random-read.expect",
        "test.4k-random-read.load.outstanding",
        "test.oltp-like.stream.log.region",
        "test.oltp-like.stream",
        "test.oltp-like.stream.data.load.workers",
        "target.DUT-1.scratch",
        "target.DUT-1.size",
        "target.DUT-1",
        "target.DUT-1.datasheet.read_time",
        "target.DUT-1.datasheet.read_time.value",
        "prepare.rest.idle",
        "target",
        "test",
        "prepare.rest.fill.passes",
        "suite.name",
        "defaults.workload",
        "test.oltp-like.name",
    ];
    let likely = [
        "4k",
        "8",
        "25%",
        "5%..50%",
        "1m",
        "slow",
        "memory",
        "synthetic",
        "[\"errors == 0\"]",
        "2GiB",
        "80us",
    ];
    let values = if random.below(2) == 0 { EXTREMES } else { &likely };
    format!("{}={}", pick(random, &paths), pick(random, values))
}

#[test]
fn a_whole_suite_is_a_plan() {
    for profile in [None, Some("quick".to_owned())] {
        let overrides = Overrides { profile, ..Overrides::default() };
        assert!(read(0, WHOLE, &overrides), "{:?}", overrides.profile);
    }
}

#[test]
fn a_thousand_damaged_suites_are_plans_or_located_errors() {
    let mut plans = 0;
    for seed in 0..1000 {
        let text = damage(&mut Random::new(derive(1, seed)));
        plans += u32::from(read(seed, &text, &Overrides::default()));
    }
    assert!(
        (20..900).contains(&plans),
        "{plans} of 1000 are still good: the damage is too small or too great"
    );
}

#[test]
fn a_thousand_random_arguments_are_plans_or_located_errors() {
    let mut plans = 0;
    for seed in 0..1000 {
        let random = &mut Random::new(derive(2, seed));
        let mut set = vec![good_path(random)];
        set.extend((0..random.below(6).saturating_sub(3)).map(|_| argument(random)));
        let sometimes =
            |random: &mut Random, of: &[&str]| (random.below(8) == 0).then(|| pick(random, of).to_owned());
        let overrides = Overrides {
            set,
            profile: sometimes(random, &["quick", "quik", "", "\n"]),
            targets: sometimes(random, &["/dev/x", "DUT-1=/dev/x", "X=/dev/x", "=", "", "DUT-1="])
                .into_iter()
                .collect(),
            size: sometimes(random, &["2GiB", "1", "", "x", "99999p", "-1"]),
            seed: (random.below(8) == 0).then(|| random.bits()),
        };
        plans += u32::from(read(seed, WHOLE, &overrides));
    }
    assert!(plans > 20, "only {plans} of 1000 are good: the arguments never get far");
}
