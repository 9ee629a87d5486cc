//! The end stamp of an I/O is never the start stamp of the next one: what iodyno itself does between two I/O
//! (draw the next request, fill its block) is not the target's time.

use iodyno_tests::Folder;

use crate::{alone, run};

/// The backend `null` completes at once, so nearly all of the time goes into filling blocks. Were the stamps
/// chained, the service time would be the whole time of an I/O.
#[test]
fn filling_a_block_is_not_service_time() {
    let _machine = alone();
    let suite = r#"
        schema = 1
        [[target]]
        label = "nothing"
        size  = "1GiB"
        [[test]]
        name     = "one-after-the-other"
        backend  = "null"
        phases   = { warmup = "100ms", measure = "1s" }
        load     = { outstanding = 1 }
        workload = { plugin = "synthetic", mix = { write = 100 }, block_size = "1MiB", pattern = "random" }
    "#;
    let record = run(&Folder::new(), suite, "");
    let step = record.step("one-after-the-other");
    let (each_ns, service_ns) = (1e9 / step.iops(), step.mean_service_ns());
    let in_flight = step.in_flight_mean();
    println!("an I/O every {each_ns:.0} ns, service time {service_ns:.1} ns, in flight {in_flight:.5}");
    assert!(each_ns > 10_000.0, "1 MiB is filled in {each_ns} ns");
    assert!(service_ns < each_ns / 20.0, "service time holds what lies between two I/O");
    assert!(in_flight < 0.05, "nothing is in flight while a block is filled");
}
