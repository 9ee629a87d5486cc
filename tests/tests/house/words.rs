//! One word for one thing, everywhere: words that must not be used for what the glossary in ARCHITECTURE.md
//! names otherwise, in code, suites and documents alike.

use crate::rust_text::{snake, words};
use crate::tidy::Rule;
use crate::tree::{self, Fault, File};

pub(crate) const RULES: &[Rule] = &[Rule {
    name: "words",
    check: banned,
    bad: || {
        let bad = [
            "let max_queue_depth = 1;",
            "struct QueueDepth;",
            "blocksize = \"4k\"",
            "the io_engine",
            "a: bs,",
        ];
        bad.map(|line| File::new("x/a.rs", line)).into()
    },
    good: || vec![File::new("x/a.rs", "let depth = absent; // queue depth, latency, tv_nsec\n")],
}];

/// Word in snake case, and what to say instead. A name is refused when the word is a part of it.
const BANNED: &[(&str, &str)] = &[
    ("blk_size", "block_size"),
    ("blocksize", "block_size"),
    ("bs", "block_size"),
    ("clat", "service"),
    ("inflight", "in_flight"),
    ("io_depth", "outstanding"),
    ("io_engine", "backend"),
    ("iodepth", "outstanding"),
    ("ioengine", "backend"),
    ("job_file", "suite"),
    ("jobfile", "suite"),
    ("lat", "service or response"),
    ("mbps", "bandwidth, with its unit"),
    ("msec", "_ms"),
    ("msecs", "_ms"),
    ("nsec", "_ns"),
    ("nsecs", "_ns"),
    ("nthreads", "workers"),
    ("num_jobs", "workers"),
    ("num_threads", "workers"),
    ("numjobs", "workers"),
    ("qd", "outstanding"),
    ("qdepth", "depth"),
    ("queue_depth", "outstanding (what is asked) or depth (what a queue holds)"),
    ("ramp_time", "warmup"),
    ("randread", "pattern random, mix read"),
    ("randwrite", "pattern random, mix write"),
    ("rw_mix", "mix"),
    ("rwmix", "mix"),
    ("slat", "service"),
    ("thread_count", "workers"),
    ("usec", "_us"),
    ("usecs", "_us"),
    ("warm_up", "warmup"),
];

/// Where a banned word is right: word, path, reason. One that is not needed any more is a fault.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

/// Names that other people gave.
const FOREIGN: &[&str] = &["ctime_nsec", "mtime_nsec", "st_mtime_nsec", "tv_nsec", "tv_usec"];

/// The files that must hold the words: to refuse them, or to speak to a tool that has them.
const ABOUT_WORDS: &[&str] = &[
    "tests/tests/house/words.rs",
    "tests/tests/house/rust_text.rs",
    "tests/bench/against-fio",
    "framework/suite/src/foreign.rs",
    "framework/suite/tests/suite/bad/foreign_words.toml",
];

fn banned(file: &File) -> Vec<Fault> {
    let excepted = |word: &str| EXCEPTIONS.iter().any(|(w, path, _)| *w == word && *path == file.path);
    let found = uses(file).into_iter().filter(|(_, word, _)| !excepted(word));
    found.map(|(line, word, instead)| Fault::new(file, line, format!("`{word}`: say {instead}"))).collect()
}

/// Line, word and what to say instead, of each banned word in a file.
fn uses(file: &File) -> Vec<(usize, &'static str, &'static str)> {
    if !file.is_written() || ABOUT_WORDS.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (number, line) in file.lines() {
        for name in words(line).filter(|name| !FOREIGN.contains(name)) {
            let name = format!("_{}_", snake(name));
            let hits = BANNED.iter().filter(|(word, _)| name.contains(&format!("_{word}_")));
            found.extend(hits.map(|(word, instead)| (number, *word, *instead)));
        }
    }
    found
}

#[test]
fn every_exception_is_needed() {
    for (word, path, _) in EXCEPTIONS {
        let file = tree::files().iter().find(|f| f.path == *path).unwrap_or_else(|| panic!("{path} is gone"));
        assert!(uses(file).iter().any(|(_, w, _)| w == word), "{path} does not say `{word}` any more");
    }
}
