//! What was written gives nothing to a device that compresses or deduplicates.

use std::collections::HashSet;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;

use iodyno_tests::Folder;

use crate::{beside_others, run};

/// Writes all over the first half at random, all over the second in order, in sizes of all kinds.
const SUITE: &str = r#"
    schema = 1
    [[target]]
    label   = "disk"
    scratch = "128MiB"
    [defaults]
    phases = { warmup = "0s", measure = "1200ms" }
    [[test]]
    name     = "random"
    region   = "0%..50%"
    load     = { outstanding = 16, workers = 2 }
    workload = { plugin = "synthetic", mix = { write = 100 }, pattern = "random", block_size = [
        { size = "512", weight = 5 }, { size = "4k", weight = 60 }, { size = "12k", weight = 20 }, { size = "64k", weight = 15 } ] }
    [[test]]
    name     = "sequential"
    backend  = "sync"
    region   = "50%..100%"
    load     = { outstanding = 4 }
    workload = { plugin = "synthetic", mix = { write = 100 }, pattern = "sequential", block_size = [
        { size = "4k", weight = 50 }, { size = "128k", weight = 40 }, { size = "1MiB", weight = 10 } ] }
"#;

/// The share of blocks of `len` bytes that occur before.
fn duplicates(bytes: &[u8], len: usize) -> f64 {
    let state = RandomState::new();
    // Two blocks in a million times a million million would have the same hash by chance.
    let distinct: HashSet<u64> = bytes.chunks(len).map(|block| state.hash_one(block)).collect();
    1.0 - distinct.len() as f64 / bytes.len().div_ceil(len) as f64
}

/// The share that zstd saves, looking for what repeats anywhere in the file.
fn compressible(bytes: &[u8]) -> f64 {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).expect("there is such a level");
    encoder.long_distance_matching(true).expect("zstd can");
    encoder.window_log(27).expect("zstd can");
    encoder.write_all(bytes).expect("memory takes all");
    let packed = encoder.finish().expect("memory takes all");
    1.0 - packed.len() as f64 / bytes.len() as f64
}

fn changed(before: &[u8], after: &[u8]) -> f64 {
    let blocks = before.chunks(4096).zip(after.chunks(4096));
    blocks.filter(|(before, after)| before != after).count() as f64 / (before.len() / 4096) as f64
}

/// Gives what there is to gain by compression and by deduplication of 4 KiB and of 512 bytes.
fn gain(what: &str, bytes: &[u8]) -> [f64; 3] {
    let gain = [compressible(bytes), duplicates(bytes, 4096), duplicates(bytes, 512)];
    let [packed, large, small] = gain.map(|share| share * 100.0);
    println!("{what}: zstd saves {packed:.4} %, duplicates of 4 KiB {large:.4} %, of 512 bytes {small:.4} %");
    gain
}

#[test]
fn there_is_nothing_to_gain() {
    let _machine = beside_others();
    let folder = Folder::new();
    let file = folder.path("iodyno-scratch.dat");
    let filled = {
        run(&folder, &SUITE.replace("write = 100", "read = 100"), "");
        fs::read(&file).expect("the scratch file stays")
    };
    assert!(gain("filled", &filled).iter().all(|share| *share < 0.01));

    run(&folder, SUITE, "");
    let written = fs::read(&file).expect("the scratch file stays");
    let half = filled.len() / 2;
    let (random, sequential) =
        (changed(&filled[..half], &written[..half]), changed(&filled[half..], &written[half..]));
    println!("changed by random writes {random:.3}, by sequential ones {sequential:.3}");
    assert!(random > 0.5 && sequential > 0.5, "what was scanned is what was written");
    assert!(gain("written", &written).iter().all(|share| *share < 0.01));

    // What one run wrote does not help to store what another wrote.
    let mut both = filled;
    both.extend(
        written
            .chunks(4096)
            .zip(both.clone().chunks(4096))
            .filter(|(new, old)| new != old)
            .flat_map(|(new, _)| new),
    );
    assert!(duplicates(&both, 4096) < 0.01);

    // The scan finds what there is to find.
    run(&folder, &SUITE.replace("[defaults]", "[defaults]\n    buffers = { fill = \"zero\" }"), "");
    let zeroed = fs::read(&file).expect("the scratch file stays");
    assert!(gain("zeroed", &zeroed).iter().all(|share| *share > 0.5));
}
