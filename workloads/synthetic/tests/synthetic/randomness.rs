//! What is drawn has the shares and the spread that were asked for. All seeds are fixed; limits are such that
//! chance alone passes them about once in 10^5 seeds.

use std::collections::BTreeMap;

use iodyno_plugin::{Op, Request};

use crate::{lane, requests, stream};

fn drawn(json: &str, seed: u64, region_len: u64, n: usize) -> Vec<Request> {
    requests(&mut *stream(json, &lane(seed, region_len)), n, 256)
}

/// Chi-square of counts that should all be the same, and what it may be.
fn chi_square(counts: &[u64]) -> (f64, f64) {
    let degrees = counts.len() as f64 - 1.0;
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let chi = counts.iter().map(|n| (*n as f64 - expected) * (*n as f64 - expected) / expected).sum();
    (chi, degrees + 4.3 * (2.0 * degrees).sqrt() + 10.0)
}

#[test]
fn the_mix_is_exact_in_the_long_run() {
    let json = r#"{"mix":{"read":70.1,"write":29.65,"flush":0.25},
        "block_size":[{"value":4096,"weight":9.0},{"value":8192,"weight":0.5},{"value":65536,"weight":0.5}]}"#;
    let n = 4_000_000;
    let all = drawn(json, 3, 1 << 30, n);
    let count = |is: &dyn Fn(&&Request) -> bool| all.iter().filter(is).count() as f64;
    let moved = count(&|r| r.op != Op::Flush as u8);
    let shares = [
        (count(&|r| r.op == Op::Read as u8), n as f64, 0.701),
        (count(&|r| r.op == Op::Write as u8), n as f64, 0.2965),
        (count(&|r| r.op == Op::Flush as u8), n as f64, 0.0025),
        (count(&|r| r.len == 4096), moved, 0.9),
        (count(&|r| r.len == 8192), moved, 0.05),
        (count(&|r| r.len == 65536), moved, 0.05),
        // Operation and size know nothing of each other.
        (count(&|r| r.op == Op::Write as u8 && r.len == 8192), n as f64, 0.2965 * 0.05),
    ];
    for (got, of, share) in shares {
        let deviation = (of * share * (1.0 - share)).sqrt();
        assert!((got - of * share).abs() < 4.5 * deviation, "{got} of {of}, expected {share}");
    }
}

#[test]
fn every_place_is_equally_likely() {
    for (json, places, step) in [
        ("{}", 1000, 4096),
        (r#"{"align":512}"#, 1000 * 8 - 7, 512),
        (r#"{"block_size":[{"value":65536,"weight":1.0}]}"#, 62, 65536),
    ] {
        let mut counts = vec![0; places];
        for request in drawn(json, 11, 1000 * 4096, 2_000_000) {
            counts[(request.offset / step) as usize] += 1;
        }
        let (chi, limit) = chi_square(&counts);
        assert!(chi < limit, "{json}: chi-square {chi}, limit {limit}");
        assert!(chi > 2.0 * (places as f64 - 1.0) - limit, "{json}: more even than chance allows: {chi}");
    }
}

/// A sequence that moves in steps, however hidden, shows in pairs of neighbours, or in the distance between
/// them.
#[test]
fn random_is_nothing_like_sequential() {
    const CELLS: u64 = 64;
    let (blocks, n) = (1u64 << 20, 1_000_000);
    let all: Vec<u64> = drawn("{}", 17, blocks * 4096, n).iter().map(|r| r.offset / 4096).collect();
    for apart in 1..=8 {
        let mut counts = vec![0; (CELLS * CELLS) as usize];
        let mut distance = 0.0;
        for pair in all.windows(apart + 1) {
            let (a, b) = (pair[0], pair[apart]);
            counts[(a * CELLS / blocks * CELLS + b * CELLS / blocks) as usize] += 1;
            distance += a.abs_diff(b) as f64 / blocks as f64;
        }
        let (chi, limit) = chi_square(&counts);
        assert!(chi < limit, "{apart} apart: chi-square {chi}, limit {limit}");
        // Two places are a third of the region apart on average, with a deviation of sqrt(1/18).
        let mean = distance / (n - apart) as f64;
        assert!((mean - 1.0 / 3.0).abs() < 5.0 * (1.0 / 18.0 / n as f64).sqrt(), "{apart} apart: {mean}");
    }
    let next = all.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    assert!(next < 12, "{next} of {n} follow on, one expected");
}

/// The hottest block, and its share, of a zipf stream.
fn hottest(json: &str, seed: u64) -> (u64, f64) {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    let n = 400_000;
    for request in drawn(json, seed, 1 << 32, n) {
        *counts.entry(request.offset).or_default() += 1;
    }
    let (place, count) = counts.into_iter().max_by_key(|(_, count)| *count).unwrap();
    (place, count as f64 / n as f64)
}

#[test]
fn hot_spots_stay_where_they_are_whatever_the_seed() {
    let json = r#"{"distribution":"zipf","theta":1.0}"#;
    let (place, share) = hottest(json, 1);
    assert!(place > 1 << 22, "the hottest block should not lie at the very start: {place}");
    // 1 / H(2^20) = 1 / 14.4402
    assert!((share - 0.069_251).abs() < 4.5 * (0.0693f64 / 400_000.0).sqrt(), "{share}");
    for seed in [2, 99, u64::MAX] {
        assert_eq!(hottest(json, seed).0, place, "seed {seed}");
    }
    let other_theta = r#"{"distribution":"zipf","theta":1.2,"mix":{"write":100.0}}"#;
    assert_eq!(hottest(other_theta, 5).0, place, "places do not depend on theta");
}

/// Fewer than half of all blocks would be reached by a map from ranks to blocks that is no bijection.
#[test]
fn zipf_reaches_every_block() {
    let mut seen = vec![false; 5000];
    for request in drawn(r#"{"distribution":"zipf","theta":0.5}"#, 23, 5000 * 4096, 300_000) {
        seen[(request.offset / 4096) as usize] = true;
    }
    assert_eq!(seen.iter().filter(|s| !**s).count(), 0);
}
