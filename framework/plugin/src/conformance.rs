//! Checks that every backend must pass, for the tests of plugin crates (feature `conformance`).
//!
//! [`check`] drives a target through random batches at several depths and [`check_storage`] also looks at the
//! data that comes back; both through a [`CheckedQueue`], which holds the queue to its contract in every turn.
//! What is particular to a backend is tested over a `CheckedQueue`, too:
//!
//! ```no_run
//! use iodyno_plugin::conformance::{CheckedQueue, Io, backend, check_storage};
//! use iodyno_plugin::{Op, Options, TargetSpec, Wait};
//!
//! # fn example(spec: TargetSpec<'_>) -> iodyno_plugin::Result<()> {
//! let target = backend("mine", &Options::default())?.open(&spec, None)?;
//! check_storage(&*target, spec.len);
//!
//! let mut queue = CheckedQueue::new(&*target, 4, 4096);
//! let beyond = Io { op: Op::Read, slot: 0, offset: spec.len, len: 4096, shift: 0 };
//! let done = queue.turn(&[beyond], 4, Wait { min: 1, reserved: 0, timeout_ns: u64::MAX });
//! assert_eq!((done.completions[0].errno, done.completions[0].bytes), (0, 0));
//! # Ok(())
//! # }
//! ```
//!
//! All functions panic where a backend is at fault: they are assertions.

use std::sync::Arc;

use crate::random::{Random, mix};
use crate::{Backend, Completion, Error, Factory, Op, Options, Plugin, Result, Target, Wait};

mod queue;
#[cfg(test)]
mod tests;

pub use queue::{CheckedQueue, Io, Memory, Turned, UNTOUCHED};

/// Depths that are tried, as far as the target allows them.
const DEPTHS: [u32; 5] = [1, 2, 7, 32, 128];
/// Longest I/O that is tried, bytes.
const LEN_MAX: u32 = 64 << 10;
/// How much of the target is used, bytes.
const AREA_MAX: u64 = 8 << 20;
/// When an I/O counts as lost, ns.
const PATIENCE_NS: u64 = 30_000_000_000;

/// An I/O without a slot; [`drive`] finds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// What.
    pub op: Op,
    /// Where, bytes from the start of the target.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}

/// The registered backend `name`, made with `options`, which must be complete: there is no suite here that
/// would add the defaults.
///
/// # Errors
/// What the plugin says to the options.
///
/// # Panics
/// When there is none; name its crate with `use my_crate as _;`, or the linker leaves it out.
pub fn backend(name: &str, options: &Options) -> Result<Arc<dyn Backend>> {
    let plugin = inventory::iter::<Plugin>().find(|plugin| plugin.name == name);
    match plugin.unwrap_or_else(|| panic!("no plugin `{name}` is linked in")).factory {
        Factory::Backend { create, .. } => create(options),
        _ => Err(Error::contract(format!("plugin `{name}` is no backend"))),
    }
}

/// Checks what a target says of itself, and that every I/O completes once, whatever the batches, waits and
/// depths. Overwrites the target if it takes writes.
///
/// `len` is the target's length in bytes, all of which must be readable.
///
/// # Panics
/// Where the target breaks the contract.
pub fn check(target: &dyn Target, len: u64) {
    let info = target.info();
    assert!(info.granule > 0 && info.max_depth > 0, "granule and max_depth must be positive: {info:?}");
    assert!(info.max_len >= info.granule, "max_len is below the granule: {info:?}");
    assert!(info.max_len.is_multiple_of(info.granule), "max_len is no multiple of the granule: {info:?}");
    assert!(info.ops.iter().next().is_some(), "it takes no operation");
    for mut queue in queues(target) {
        waits_for_nothing_when_idle(&mut queue);
        let mut random = Random::new(u64::from(queue.depth()));
        let ops: Vec<Op> = info.ops.iter().collect();
        let mut jobs = pieces(target, len, &mut random);
        assert!(!jobs.is_empty(), "a target of {len} bytes is too small to check");
        for job in &mut jobs {
            job.op = ops[random.below(ops.len() as u64) as usize];
            if job.op == Op::Flush {
                *job = FLUSH;
            }
        }
        let mut completed = 0;
        drive(
            &mut queue,
            &jobs,
            |_, _| {},
            |job, done, _| {
                assert_eq!((done.errno, done.bytes), (0, job.len), "{job:?} failed or was short");
                completed += 1;
            },
        );
        assert_eq!(completed, jobs.len());
    }
}

/// As [`check`], and that what is read is what was written. Overwrites the target.
///
/// # Panics
/// Where the target breaks the contract or returns other data.
pub fn check_storage(target: &dyn Target, len: u64) {
    check(target, len);
    for mut queue in queues(target) {
        let seed = u64::from(queue.depth());
        let mut random = Random::new(seed);
        let whole = |job: &Job, done: &Completion| {
            assert_eq!((done.errno, done.bytes), (0, job.len), "{job:?} failed or was short");
        };
        let mut jobs = pieces(target, len, &mut random);
        jobs.iter_mut().for_each(|job| job.op = Op::Write);
        drive(
            &mut queue,
            &jobs,
            |job, buffer| pattern(seed, job.offset, buffer),
            |job, done, _| whole(job, done),
        );
        drive(&mut queue, &[FLUSH], |_, _| {}, |job, done, _| whole(job, done));

        // Cut into other pieces, in another order.
        let jobs = pieces(target, len, &mut random);
        let mut expected = vec![0; LEN_MAX as usize];
        drive(
            &mut queue,
            &jobs,
            |_, buffer| buffer.fill(0),
            |job, done, buffer| {
                whole(job, done);
                let expected = &mut expected[..buffer.len()];
                pattern(seed, job.offset, expected);
                assert!(buffer == expected, "{job:?} returned other data than was written");
            },
        );
    }
}

/// Runs all of `jobs` in batches of random size, with random waits, as many at a time as the queue is deep.
/// Calls `fill` with the buffer before a job is submitted, and `done` with the buffer when it is over; the
/// order of completion is the queue's.
///
/// # Panics
/// Where the queue breaks the contract, or when an I/O is lost.
pub fn drive(
    queue: &mut CheckedQueue,
    jobs: &[Job],
    mut fill: impl FnMut(&Job, &mut [u8]),
    mut done: impl FnMut(&Job, &Completion, &[u8]),
) {
    let depth = queue.depth();
    let mut random = Random::new(jobs.len() as u64);
    let mut running: Vec<Option<&Job>> = vec![None; depth as usize];
    let mut free: Vec<u32> = (0..depth).collect();
    let mut offered: Vec<Io> = Vec::new();
    let mut jobs = jobs.iter();
    loop {
        let batch = 1 + random.below(u64::from(depth)) as usize;
        while offered.len() < batch && !free.is_empty() {
            let Some(job) = jobs.next() else { break };
            let slot = free.pop().expect("just looked");
            running[slot as usize] = Some(job);
            fill(job, &mut queue.buffer(slot)[..job.len as usize]);
            offered.push(Io { op: job.op, slot, offset: job.offset, len: job.len, shift: 0 });
        }
        if free.len() == depth as usize {
            return;
        }
        let room = 1 + random.below(u64::from(depth)) as usize;
        let min = random.below(u64::from(depth) + 1) as u32;
        let turned = queue.turn(&offered, room, Wait { min, reserved: 0, timeout_ns: PATIENCE_NS });
        let progress = min == 0 || turned.accepted > 0 || !turned.completions.is_empty();
        assert!(progress, "lost: {} i/o, none of which completed in 30 s", depth as usize - free.len());
        offered.drain(..turned.accepted);
        for completion in &turned.completions {
            let job = running[completion.slot as usize].take().expect("a checked slot is in flight");
            done(job, completion, &queue.buffer(completion.slot)[..job.len as usize]);
            free.push(completion.slot);
        }
    }
}

const FLUSH: Job = Job { op: Op::Flush, offset: 0, len: 0 };

fn queues(target: &dyn Target) -> impl Iterator<Item = CheckedQueue> {
    let max = target.info().max_depth;
    DEPTHS
        .into_iter()
        .filter(move |depth| *depth <= max)
        .map(|depth| CheckedQueue::new(target, depth, LEN_MAX as usize))
}

/// The area cut into reads of random lengths, in random order.
fn pieces(target: &dyn Target, len: u64, random: &mut Random) -> Vec<Job> {
    let info = target.info();
    // Pieces of single bytes would be too many for small granules.
    let unit = u64::from(info.granule).next_multiple_of(512);
    let longest = u64::from(info.max_len.min(LEN_MAX)) / unit;
    let area = len.min(AREA_MAX) / unit * unit;
    let (mut jobs, mut offset) = (Vec::new(), 0);
    while offset < area {
        let len = ((1 + random.below(longest)) * unit).min(area - offset);
        jobs.push(Job { op: Op::Read, offset, len: len as u32 });
        offset += len;
    }
    for i in (1..jobs.len()).rev() {
        jobs.swap(i, random.below(i as u64 + 1) as usize);
    }
    jobs
}

/// What belongs at `offset`: each word depends on its place, so that pieces can be cut anywhere.
fn pattern(seed: u64, offset: u64, out: &mut [u8]) {
    for (i, word) in out.chunks_mut(8).enumerate() {
        let value = mix(seed ^ (offset + 8 * i as u64)).to_le_bytes();
        word.copy_from_slice(&value[..word.len()]);
    }
}

fn waits_for_nothing_when_idle(queue: &mut CheckedQueue) {
    let turned = queue.turn(&[], 1, Wait { min: 1, reserved: 0, timeout_ns: u64::MAX });
    assert!(turned.completions.is_empty(), "a completion of nothing: {:?}", turned.completions);
}
