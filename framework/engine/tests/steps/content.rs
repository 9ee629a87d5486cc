//! What is written, and what is said of what was read.

use std::collections::HashSet;
use std::sync::Arc;

use iodyno_plugin::CompletionStyle;
use iodyno_record::{End, Fill, Op, StepSpec, TargetKind};

use crate::fakes::{Asks, REGION, Real, parts, spec};
use crate::outcome::run;

fn memory() -> Real {
    Real::new(CompletionStyle::Inline, 0)
}

#[test]
fn what_is_written_is_unique_and_incompressible() {
    let target = memory();
    let blocks = Arc::clone(&target.blocks);
    let mut spec = spec(2, 16);
    spec.streams[0].load.workers = 3;
    let writes = || Asks::mix([0, 1, 0], vec![4096, 16384]).times(2000).shared();
    let outcome = run(&spec, &parts(target, vec![writes(), writes()]));
    assert_eq!((outcome.result.end.clone(), outcome.completed(Some(Op::Write))), (End::Completed, 8000));
    let blocks = blocks.lock().unwrap();
    let whole: Vec<&Vec<u8>> = blocks.values().filter(|b| b.len() == 4096).collect();
    assert!(whole.len() > 8000, "{}", whole.len());
    assert_eq!(whole.iter().collect::<HashSet<_>>().len(), whole.len(), "equal blocks");
    let all: Vec<u8> = whole.into_iter().flatten().copied().collect();
    let packed = zstd::encode_all(&all[..], 3).unwrap().len();
    assert!(packed as f64 > all.len() as f64 * 0.99, "{packed} of {}", all.len());
}

#[test]
fn zeroes_are_written_when_asked_for_and_noted() {
    let target = memory();
    let blocks = Arc::clone(&target.blocks);
    let mut spec = spec(1, 8);
    spec.streams[0].fill = Fill::Zero;
    // Reads in between leave other data in the buffers.
    blocks.lock().unwrap().extend((0..REGION / 4096 / 64).map(|n| (n * 64, vec![7; 4096])));
    let outcome =
        run(&spec, &parts(target, vec![Asks::mix([1, 1, 0], vec![4096, 65536]).times(1000).shared()]));
    assert!(outcome.notes().contains(&"zero_fill"));
    let blocks = blocks.lock().unwrap();
    let written = blocks.values().filter(|b| b[0] != 7).collect::<Vec<_>>();
    assert!(written.len() > 1000 && written.iter().all(|b| b.iter().all(|x| *x == 0)));
}

#[test]
fn reads_of_nothing_but_zeroes_are_counted() {
    let target = memory();
    let mut spec = spec(2, 4);
    spec.streams[1].region_len_bytes = 4096 * 64;
    let data = (0..64).map(|n| (REGION / 4096 + n, [vec![0; 4095], vec![1]].concat()));
    target.blocks.lock().unwrap().extend(data);
    let aligned = |r: &mut iodyno_plugin::Request| {
        r.offset &= !4095;
        Ok(())
    };
    let reads = || Asks::reads().times(500).tricked(None, aligned).shared();
    let outcome = run(&spec, &parts(target, vec![reads(), reads()]));
    // Nothing was ever written to the first region; the second has one byte at each block's end.
    assert_eq!(outcome.result.streams.iter().map(|s| s.zero_reads).collect::<Vec<_>>(), [500, 0]);
    assert!(outcome.notes().contains(&"zero_reads"));
    assert!(outcome.result.notes.iter().any(|n| n.text.contains("50.000 % of reads (500)")));
}

/// The end of a target that became shorter: a read of nothing is neither good nor a read of zeroes.
#[test]
fn an_io_that_moved_nothing_has_failed() {
    let mut target = memory();
    target.trick = Some(|done, n| {
        done[..n].iter_mut().for_each(|d| d.bytes = 0);
        n
    });
    let outcome = run(&spec(1, 4), &parts(target, vec![Asks::reads().times(50).shared()]));
    assert_eq!(outcome.result.streams[0].zero_reads, 0);
    let read = outcome.result.ops(None).next().unwrap();
    assert_eq!((read.completed, read.short, read.bytes), (0, 0, 0));
    assert_eq!(read.errors, [(61, 50)].into());
}

#[test]
fn the_page_cache_is_noted_where_there_is_one() {
    for (direct, kind, noted) in [
        (false, TargetKind::File, true),
        (false, TargetKind::Block, true),
        (true, TargetKind::File, false),
        (false, TargetKind::Char, false),
        (false, TargetKind::Virtual, false),
    ] {
        let mut spec = StepSpec { direct, ..spec(1, 1) };
        spec.target.kind = kind;
        let outcome = run(&spec, &parts(memory(), vec![Asks::reads().times(1).shared()]));
        assert_eq!(outcome.notes().contains(&"page_cache"), noted, "{direct} {kind:?}");
    }
}
