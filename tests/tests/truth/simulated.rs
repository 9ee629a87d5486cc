//! Against queueing theory, on the backend `sim`: k servers, N outstanding I/O in a closed loop, nobody thinks.
//! Then N are always there, min(N, k) servers are always busy, and the rest follows.

use std::fmt::Write as _;
use std::fs;

use iodyno_record::RowKind;
use iodyno_tests::{Folder, Step};

use crate::{beside_others, run, within};

const SERVICE_NS: f64 = 137_000.0;

fn suite(distribution: &str, measure: &str, points: &[(u32, u32)]) -> String {
    let mut suite = format!(
        "schema = 1\n[[target]]\nlabel = \"device\"\nsize = \"1TiB\"\n[defaults]\ninterval = \"20s\"\n\
         phases = {{ warmup = \"1s\", measure = \"{measure}\" }}\n\
         workload = {{ plugin = \"synthetic\", mix = {{ read = 100 }}, block_size = \"4k\", pattern = \"random\" }}\n"
    );
    for (servers, outstanding) in points {
        write!(
            suite,
            "[[test]]\nname = \"{servers}-{outstanding}\"\nload = {{ outstanding = {outstanding} }}\n\
             backend = {{ plugin = \"sim\", servers = {servers}, service = \"137us\", distribution = \"{distribution}\" }}\n"
        )
        .expect("a string takes all");
    }
    suite
}

/// Demands throughput min(N, k)/s and mean service time N/throughput, within `share`.
fn must_be_as_fast_as_theory(step: &Step, (servers, outstanding): (u32, u32), share: f64) {
    let rate = f64::from(servers.min(outstanding)) / SERVICE_NS * 1e9;
    let mean_ns = f64::from(outstanding) / rate * 1e9;
    let (iops, service_ns) = (step.iops(), step.mean_service_ns());
    println!(
        "{servers:>3} servers, {outstanding:>3} outstanding: {iops:>9.1} of {rate:>9.1} IOPS ({:+.4} %), \
         {:>8.2} of {:>8.2} us ({:+.4} %), {} I/O",
        (iops / rate - 1.0) * 100.0,
        service_ns / 1e3,
        mean_ns / 1e3,
        (service_ns / mean_ns - 1.0) * 100.0,
        step.completed(None),
    );
    assert!(within(share, iops, rate) && within(share, service_ns, mean_ns));
    assert!(within(share, step.in_flight_mean(), f64::from(outstanding)));
}

#[test]
fn constant_service_is_as_fast_as_theory_to_a_thousandth() {
    let _machine = beside_others();
    let points: Vec<(u32, u32)> =
        [1, 4, 16].iter().flat_map(|k| [1, 3, 4, 5, 32, 128].map(|n| (*k, n))).collect();
    let record = run(&Folder::new(), &suite("constant", "3s", &points), "");
    for point in points {
        let step = record.step(&format!("{}-{}", point.0, point.1));
        must_be_as_fast_as_theory(step, point, 0.001);
    }
    record.must_add_up();
}

/// The share of I/O that take longer than `t` (in units of the mean service time s): those that need not wait
/// follow Exp(s); with N > k others wait for N - k departures, which follow Erlang(N - k, k/s), and are served
/// then.
fn exceeds(servers: u32, outstanding: u32, t: f64) -> f64 {
    let waits_for = outstanding.saturating_sub(servers);
    if waits_for == 0 {
        return (-t).exp();
    }
    let k = f64::from(servers);
    if servers == 1 {
        // The sum of exponential times of one rate.
        return erlang_exceeds(waits_for + 1, t);
    }
    // By parts: the wait is over before t, and what is left of t is too short for the service.
    let ends_after =
        (k / (k - 1.0)).powi(waits_for as i32) * (1.0 - erlang_exceeds(waits_for, (k - 1.0) * t));
    erlang_exceeds(waits_for, k * t) + (-t).exp() * ends_after
}

/// The share of sums of `n` exponential times of mean 1 that are longer than `t`.
fn erlang_exceeds(n: u32, t: f64) -> f64 {
    let mut term = (-t).exp();
    let mut sum = term;
    for i in 1..n {
        term *= t / f64::from(i);
        sum += term;
    }
    sum
}

/// The time that `percent` do not exceed, in units of the mean service time.
fn percentile(servers: u32, outstanding: u32, percent: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1000.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if exceeds(servers, outstanding, middle) > 1.0 - percent / 100.0 {
            low = middle
        } else {
            high = middle
        }
    }
    high
}

#[test]
fn the_formula_is_right_where_the_answer_is_known() {
    assert!(within(1e-9, percentile(4, 4, 50.0), 2.0_f64.ln()));
    assert!(within(1e-9, percentile(4, 1, 99.0), 100.0_f64.ln()));
    // The median of Erlang(2, 1), from tables.
    assert!(within(1e-6, percentile(1, 2, 50.0), 1.678_346_99));
    // The mean is the integral of what is exceeded.
    for (k, n) in [(1, 4), (2, 5), (4, 12), (8, 9)] {
        let mean: f64 = (0..400_000).map(|i| exceeds(k, n, (f64::from(i) + 0.5) / 1e4) / 1e4).sum();
        assert!(within(1e-6, mean, f64::from(n) / f64::from(k)), "{k} servers, {n} outstanding: {mean}");
    }
}

#[test]
fn exponential_service_follows_the_closed_queue() {
    let _machine = beside_others();
    // 10^7 I/O each.
    for (point, measure) in [((4, 4), "350s"), ((4, 12), "350s"), ((1, 3), "1400s")] {
        let record = run(&Folder::new(), &suite("exponential", measure, &[point]), "--seed 1");
        let step = &record.steps[0];
        assert!(step.completed(None) >= 10_000_000);
        must_be_as_fast_as_theory(step, point, 0.01);
        let service = step.result.streams[0].ops[0].service.as_ref().expect("something completed");
        for percent in [50.0, 99.0] {
            let truth = percentile(point.0, point.1, percent) * SERVICE_NS;
            let found = service.percentile(percent).expect("every summary holds it").value_ns as f64;
            println!(
                "    p{percent}: {:.2} of {:.2} us ({:+.3} %)",
                found / 1e3,
                truth / 1e3,
                (found / truth - 1.0) * 100.0
            );
            assert!(within(0.01, found, truth));
        }
    }
}

#[test]
fn the_seed_decides_everything() {
    let _machine = beside_others();
    let rows = |seed: u64| {
        let folder = Folder::new();
        let record = run(&folder, &suite("exponential", "2s", &[(3, 8), (2, 1)]), &format!("--seed {seed}"));
        assert!(record.rows.iter().any(|row| row.kind == RowKind::Tail && row.completed > 0));
        fs::read_to_string(folder.only_run().join("rows.ndjson")).expect("a run leaves its rows")
    };
    let (first, again, other) = (rows(5), rows(5), rows(6));
    assert!(first == again, "the same seed, other rows");
    assert!(first != other, "another seed, the same rows");
}
