//! A thousand random steps in virtual time against the truth, I/O by I/O.

use std::collections::BTreeMap;
use std::sync::Arc;

use iodyno_plugin::random::Random;
use iodyno_plugin::{Op, Submission};
use iodyno_record::{End, Fill, Histogram, RELATIVE_ERROR, RowKind, Sharing, StepSpec};

use crate::fakes::{Answer, Asks, Truth, Virtual, parts, spec};
use crate::outcome::{Outcome, run};

/// What a row should hold.
#[derive(Clone, Default)]
struct Expected {
    completed: u64,
    bytes: u64,
    carried: u64,
    carried_bytes: u64,
    short: u64,
    errors: BTreeMap<i32, u64>,
    service: Histogram,
}

type Key = (RowKind, u32, u32, iodyno_record::Op);

/// Which window a completion at `at` lies in: one at a window's very end still belongs to it.
fn window_of(at: u64, origin: u64, interval: u64) -> u32 {
    (((at - origin).max(1) - 1) / interval) as u32
}

/// All rows that are not empty, from the truth. Submission ended at `end_ns`.
fn expected(spec: &StepSpec, truth: &[Truth], end_ns: u64) -> BTreeMap<Key, Expected> {
    let mut rows: BTreeMap<Key, Expected> = BTreeMap::new();
    let interval = spec.interval_ns;
    for io in truth {
        let (stream, op) = (io.stream as u32, iodyno_record::Op::ALL[io.op as usize]);
        let warms_up = io.start_ns < spec.warmup_ns;
        let key = match (warms_up, io.finish_ns) {
            (true, at) if at <= spec.warmup_ns => (RowKind::Warmup, window_of(at, 0, interval)),
            (true, _) => (RowKind::WarmupTail, 0),
            (false, at) if at <= end_ns => (RowKind::Measure, window_of(at, spec.warmup_ns, interval)),
            (false, _) => (RowKind::Tail, 0),
        };
        let row = rows.entry((key.0, key.1, stream, op)).or_default();
        if io.errno != 0 {
            *row.errors.entry(io.errno).or_default() += 1;
            continue;
        }
        row.completed += 1;
        row.bytes += u64::from(io.bytes);
        row.short += u64::from(io.bytes < io.len);
        row.service.record(io.finish_ns - io.start_ns);
        if key.0 == RowKind::WarmupTail && io.finish_ns <= end_ns {
            let window = window_of(io.finish_ns, spec.warmup_ns, interval);
            let row = rows.entry((RowKind::Measure, window, stream, op)).or_default();
            row.carried += 1;
            row.carried_bytes += u64::from(io.bytes);
        }
    }
    rows
}

fn outstanding_ns(truth: &[Truth], stream: usize, from: u64, to: u64, warmup_only: Option<u64>) -> f64 {
    let own = truth.iter().filter(|io| io.stream == stream && warmup_only.is_none_or(|w| io.start_ns < w));
    own.map(|io| io.finish_ns.min(to).saturating_sub(io.start_ns.max(from)) as f64).sum()
}

fn compare(outcome: &Outcome, spec: &StepSpec, truth: &[Truth]) {
    let last = truth.iter().map(|io| io.finish_ns).max().unwrap_or(0);
    let end_ns = spec.measure_ns.map_or(last, |measure| spec.warmup_ns + measure);
    let mut left = expected(spec, truth, end_ns);
    for window in &outcome.windows {
        for (row, histogram) in window.rows.iter().zip(&window.service) {
            let expected = left.remove(&(row.kind, row.window, row.stream, row.op)).unwrap_or_default();
            assert_eq!(row.completed, expected.completed, "{row:?}");
            assert_eq!(row.bytes, expected.bytes, "{row:?}");
            assert_eq!(
                (row.carried, row.carried_bytes),
                (expected.carried, expected.carried_bytes),
                "{row:?}"
            );
            assert_eq!(row.short, expected.short, "{row:?}");
            assert_eq!(row.errors, expected.errors, "{row:?}");
            assert!(*histogram == expected.service, "not the same service times: {row:?}");
            // The truth is slow to add up: where there are many windows, only some are.
            if outcome.windows.len() > 300 && row.window % 100 != 0 {
                continue;
            }
            let warmup_only = (row.kind == RowKind::WarmupTail).then_some(spec.warmup_ns);
            let sum = outstanding_ns(truth, row.stream as usize, row.start_ns, row.end_ns, warmup_only);
            let mean = if row.end_ns > row.start_ns { sum / (row.end_ns - row.start_ns) as f64 } else { 0.0 };
            assert!(
                (row.in_flight_mean.unwrap_or(0.0) - mean).abs() < 1e-6 * mean.max(1.0),
                "{mean}: {row:?}"
            );
        }
    }
    assert_eq!(left.keys().next(), None, "a row that was never told");
    compare_totals(outcome, spec, truth, end_ns);
}

fn compare_totals(outcome: &Outcome, spec: &StepSpec, truth: &[Truth], end_ns: u64) {
    assert_eq!(outcome.result.window_ns, end_ns.max(spec.warmup_ns) - spec.warmup_ns);
    for (stream, result) in outcome.result.streams.iter().enumerate() {
        for op in &result.ops {
            let own = |io: &&Truth| {
                io.stream == stream
                    && io.op as usize == op.op as usize
                    && io.errno == 0
                    && io.start_ns >= spec.warmup_ns
            };
            let mut service: Vec<u64> =
                truth.iter().filter(own).map(|io| io.finish_ns - io.start_ns).collect();
            service.sort_unstable();
            assert_eq!(op.completed, service.len() as u64);
            let Some(summary) = &op.service else { continue };
            assert_eq!((summary.min_ns, summary.max_ns), (service[0], service[service.len() - 1]));
            let mean = service.iter().sum::<u64>() as f64 / service.len() as f64;
            assert!((summary.mean_ns - mean).abs() <= mean * 1e-12);
            for p in &summary.percentiles {
                let rank = (p.percent.next_down() / 100.0 * service.len() as f64).ceil().max(1.0) as usize;
                let exact = service[rank - 1];
                let error = p.value_ns as f64 - exact as f64;
                assert!((0.0..=exact as f64 * RELATIVE_ERROR).contains(&error), "{p:?} for {exact}");
            }
        }
        let sum = outstanding_ns(truth, stream, spec.warmup_ns, end_ns, None);
        let window_ns = outcome.result.window_ns;
        assert_eq!(result.in_flight_mean.is_some(), window_ns > 0);
        if let Some(found) = result.in_flight_mean {
            let mean = sum / window_ns as f64;
            assert!((found - mean).abs() < 1e-6 * mean.max(1.0), "{mean}");
        }
    }
}

/// Service times of many shapes, errors and short I/O.
fn random_answer(random: &mut Random) -> Answer {
    let base = 1 + random.below(200_000);
    let (shape, errors, shorts) = (random.below(4), random.below(3) == 0, random.below(3) == 0);
    Arc::new(move |_, sub: &Submission, random: &mut Random| {
        let service = match shape {
            0 => base,
            1 => 1 + random.below(2 * base),
            2 => (random.exponential() * base as f64) as u64,
            // Stalls over many windows.
            _ if random.below(200) == 0 => base * 300,
            _ => base,
        };
        let errno = if errors && random.below(10) == 0 { 1 + random.below(6) as i32 } else { 0 };
        let bytes = match errno {
            0 if shorts && random.below(10) == 0 => {
                (random.below(u64::from(sub.len) + 1) as u32).max(sub.len.min(1))
            }
            0 => sub.len,
            _ => 0,
        };
        (service, errno, bytes)
    })
}

fn random_step(seed: u64) -> (StepSpec, Virtual, Vec<Asks>) {
    let mut random = Random::new(seed);
    let streams = 1 + random.below(4) as usize;
    let mut spec = spec(streams, 1);
    spec.seed = random.bits() >> 11;
    spec.sharing = if random.below(2) == 0 { Sharing::Shared } else { Sharing::Independent };
    spec.outstanding = 1 + random.below(70) as u32;
    spec.interval_ns = [200_000, 1_000_000, 4_000_000][random.below(3) as usize] + random.below(100_000);
    spec.consecutive_errors_max = u32::MAX;
    spec.warmup_ns = [0, 1, random.below(5_000_000)][random.below(3) as usize];
    let bounded = random.below(3) > 0;
    spec.measure_ns = bounded.then(|| 1 + random.below(20_000_000));
    let mut workloads = Vec::new();
    for (hint, stream) in spec.streams.iter_mut().enumerate() {
        stream.load.outstanding = 1 + random.below(70) as u32;
        stream.load.workers = 1 + random.below(4) as u32;
        stream.weight = 0.1 + random.unit() * 5.0;
        stream.fill = if random.below(2) == 0 { Fill::Zero } else { Fill::Random };
        let mix = [1 + random.below(5), random.below(5), random.below(2)];
        let lens = (0..1 + random.below(3)).map(|_| 512 * (1 + random.below(64) as u32)).collect();
        let mut asks = Asks { hint: hint as u16, ..Asks::mix(mix, lens) };
        if !bounded || random.below(5) == 0 {
            asks = asks.times(random.below(1500));
        }
        if random.below(3) == 0 {
            asks.per_fill = 1 + random.below(40) as usize;
        }
        if random.below(4) == 0 {
            asks = asks.windowed(1 + random.below(20));
        }
        workloads.push(asks);
    }
    let mut target = Virtual::new(1 + random.below(20) as usize, random_answer(&mut random));
    if random.below(4) == 0 {
        target.accepts = 1 + random.below(20) as usize;
    }
    if random.below(4) == 0 {
        target.info.max_depth = 1 + random.below(100) as u32;
    }
    (spec, target, workloads)
}

fn run_random(seed: u64) -> (StepSpec, Outcome, Vec<Truth>) {
    let (spec, target, workloads) = random_step(seed);
    let truth = Arc::clone(&target.truth);
    let outcome = run(&spec, &parts(target, workloads.into_iter().map(Asks::shared).collect()));
    let truth = truth.lock().unwrap().clone();
    (spec, outcome, truth)
}

#[test]
fn a_thousand_random_plans_equal_the_truth() {
    let only: Option<u64> = std::option_env!("IODYNO_PLAN").map(|seed| seed.parse().unwrap());
    let mut total = 0;
    for seed in only.map_or(0..1000, |seed| seed..seed + 1) {
        println!("to repeat plan {seed} alone: IODYNO_PLAN={seed} cargo test -p iodyno-engine thousand");
        let (spec, outcome, truth) = run_random(seed);
        let done_early = outcome.result.window_ns < spec.measure_ns.unwrap_or(0);
        assert_eq!(outcome.result.end, End::Completed);
        let mut as_it_was = spec.clone();
        if done_early {
            // Its workloads were done before: then it is as if it had no bound.
            as_it_was.measure_ns = None;
            assert!(outcome.notes().contains(&"ended_early"));
        }
        compare(&outcome, &as_it_was, &truth);
        assert!(outcome.notes().contains(&"simulated"));
        total += truth.len();
    }
    println!("{total} i/o");
    assert!(only.is_some() || total > 1_000_000, "{total} I/O are too few to mean much");
}

#[test]
fn the_same_seed_gives_the_same_result() {
    for seed in 0..50 {
        let repeat = || {
            let (_, outcome, _) = run_random(seed);
            let mut result = outcome.result;
            result.started_unix_ms = 0;
            (result.cpu, result.workers) = Default::default();
            let rows: Vec<_> = outcome.windows.into_iter().flat_map(|w| w.rows).collect();
            (result, rows)
        };
        assert_eq!(repeat(), repeat(), "seed {seed}");
    }
}

#[test]
fn another_seed_gives_other_requests() {
    let offsets = |seed| {
        let mut spec = spec(1, 4);
        spec.seed = seed;
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let target = Virtual::new(
            1,
            Arc::new(move |_, sub, _| {
                log.lock().unwrap().push(sub.offset);
                (100, 0, sub.len)
            }),
        );
        run(&spec, &parts(target, vec![Asks::reads().times(100).shared()]));
        std::mem::take(&mut *seen.lock().unwrap())
    };
    assert_eq!(offsets(1), offsets(1));
    assert_ne!(offsets(1), offsets(2));
}

/// k servers of fixed service time s at N outstanding: throughput min(N, k) / s, latency N / throughput.
#[test]
fn throughput_of_servers_is_exact() {
    for (servers, outstanding) in [(1, 1), (1, 8), (4, 1), (4, 4), (4, 32), (16, 10)] {
        let mut spec = spec(1, outstanding);
        (spec.warmup_ns, spec.measure_ns) = (10_000_000, Some(1_000_000_000));
        spec.interval_ns = 100_000_000;
        let target = Virtual::constant(servers, 100_000);
        let result = run(&spec, &parts(target, vec![Asks::reads().shared()])).result;
        let expected = f64::from(outstanding).min(servers as f64) / 100e-6;
        let iops = result.iops(None).unwrap();
        assert!((iops / expected - 1.0).abs() < 1e-3, "{servers} {outstanding}: {iops} for {expected}");
        let mean_s = result.ops(None).next().unwrap().service.as_ref().unwrap().mean_ns / 1e9;
        assert!((mean_s * expected / f64::from(outstanding) - 1.0).abs() < 1e-3, "{mean_s}");
        assert!((result.depth.mean.unwrap() / f64::from(outstanding) - 1.0).abs() < 1e-3);
        assert_eq!(result.depth.max, outstanding);
    }
}

/// Exponential service, closed loop at N on k servers: all N are outstanding, and throughput is k / s.
#[test]
fn exponential_service_is_as_fast_as_theory_says() {
    let mut spec = spec(1, 12);
    spec.interval_ns = 1_000_000_000;
    let answer: Answer = Arc::new(|_, sub, random| ((random.exponential() * 1e6) as u64, 0, sub.len));
    let target = Virtual::new(4, answer);
    let n = 1_000_000;
    let result = run(&spec, &parts(target, vec![Asks::reads().times(n).shared()])).result;
    let iops = result.iops(None).unwrap();
    assert!((iops / 4000.0 - 1.0).abs() < 0.005, "{iops}");
    let mean_ns = result.ops(None).next().unwrap().service.as_ref().unwrap().mean_ns;
    assert!((mean_ns / 3e6 - 1.0).abs() < 0.005, "{mean_ns}");
    assert_eq!(result.ops(None).next().unwrap().op, iodyno_record::Op::Read);
    assert_eq!(Op::Read as usize, 0);
}
