//! Waits, timeouts, cancelling and dropping, on a pipe: a read of it is in flight until the test writes.

use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use iodyno_plugin::conformance::{CheckedQueue, Io, UNTOUCHED};
use iodyno_plugin::{Op, TargetKind, TargetSpec, Wait};

use crate::with_registered;

const MS: u64 = 1_000_000;

/// A queue of eight over the reading end, whose buffers the kernel may or may not have.
fn queue(reader: &PipeReader, registered: bool) -> CheckedQueue {
    let spec = TargetSpec {
        label: "pipe",
        kind: TargetKind::Char,
        fd: Some(reader.as_fd()),
        len: 1 << 30,
        granule: 1,
        direct: false,
        writable: false,
        seed: 0,
    };
    let target = with_registered(registered).open(&spec, None).expect("a pipe is a descriptor");
    CheckedQueue::new(&*target, 8, 4096)
}

fn read(slot: u32) -> Io {
    Io { op: Op::Read, slot, offset: 0, len: 1, shift: 0 }
}

fn wait(min: u32, timeout_ns: u64) -> Wait {
    Wait { min, reserved: 0, timeout_ns }
}

/// Writes a byte for each of `times`, that many ms from now.
fn write_at(mut writer: PipeWriter, times: &'static [u64]) -> thread::JoinHandle<PipeWriter> {
    thread::spawn(move || {
        let mut now = 0;
        for time in times {
            thread::sleep(Duration::from_millis(time - now));
            now = *time;
            writer.write_all(&[*time as u8]).expect("there is room in the pipe");
        }
        writer
    })
}

/// `CheckedQueue` looks that a turn neither returns before its time nor long after it.
#[test]
fn a_turn_ends_with_its_timeout() {
    for registered in [false, true] {
        let (reader, _writer) = pipe().unwrap();
        let mut queue = queue(&reader, registered);
        assert_eq!(queue.turn(&[read(0)], 8, wait(1, 30 * MS)).completions, []);
        assert_eq!(queue.turn(&[], 8, wait(1, 30 * MS)).completions, []);
        assert_eq!(queue.turn(&[read(1)], 8, wait(0, u64::MAX)).completions, []);
        assert_eq!(queue.turn(&[], 8, wait(0, u64::MAX)).completions, []);
        assert_eq!(queue.turn(&[], 8, wait(2, 0)).completions, []);
        assert_eq!(queue.in_flight(), 2);
    }
}

#[test]
fn a_turn_waits_for_as_many_as_it_is_told() {
    let (reader, writer) = pipe().unwrap();
    let mut queue = queue(&reader, true);
    assert_eq!(queue.turn(&[0, 1, 2, 3].map(read), 8, wait(0, 0)).accepted, 4);
    let writing = write_at(writer, &[20, 40, 60, 80]);
    let first = queue.turn(&[], 8, wait(1, u64::MAX));
    let rest = queue.turn(&[], 8, wait(8, u64::MAX));
    assert!(!first.completions.is_empty(), "waited for one");
    assert_eq!(
        first.completions.len() + rest.completions.len(),
        4,
        "all there are, though eight were asked for"
    );
    writing.join().unwrap();
    let mut bytes = [0, 1, 2, 3].map(|slot| queue.buffer(slot)[0]);
    bytes.sort_unstable();
    assert_eq!(bytes, [20, 40, 60, 80]);
}

#[test]
fn completions_that_find_no_room_are_kept() {
    let (reader, mut writer) = pipe().unwrap();
    let mut queue = queue(&reader, true);
    writer.write_all(&[7; 4]).unwrap();
    assert_eq!(queue.turn(&[0, 1, 2, 3].map(read), 1, wait(4, u64::MAX)).completions.len(), 1);
    assert_eq!(queue.turn(&[], 0, wait(4, u64::MAX)).completions.len(), 0);
    assert_eq!(queue.turn(&[], 2, wait(1, u64::MAX)).completions.len(), 2);
    assert_eq!(queue.turn(&[], 8, wait(0, u64::MAX)).completions.len(), 1);
}

#[test]
fn a_turn_waits_for_no_more_than_it_has_room_for() {
    let (reader, writer) = pipe().unwrap();
    let mut queue = queue(&reader, true);
    queue.turn(&[0, 1].map(read), 8, wait(0, 0));
    let writing = write_at(writer, &[1, 200]);
    assert_eq!(queue.turn(&[], 1, wait(2, u64::MAX)).completions.len(), 1);
    assert_eq!(queue.turn(&[], 1, wait(0, 0)).completions.len(), 0, "it waited for the second one, too");
    writing.join().unwrap();
}

/// Nothing is to be waited for, but what has happened must be seen, which on most setups takes a call.
#[test]
fn looking_finds_what_has_happened() {
    let (reader, mut writer) = pipe().unwrap();
    let mut queue = queue(&reader, true);
    queue.turn(&[read(5)], 8, wait(0, 0));
    writer.write_all(&[7]).unwrap();
    // The write has woken the read before it returned.
    let found = (0..1000).find_map(|_| queue.turn(&[], 8, wait(0, 0)).completions.pop());
    assert_eq!(found.map(|done| (done.slot, done.bytes)), Some((5, 1)));
}

#[test]
fn a_cancelled_io_completes_with_an_error_and_others_stay() {
    let (reader, mut writer) = pipe().unwrap();
    let mut queue = queue(&reader, true);
    queue.turn(&[read(3), read(6)], 8, wait(0, 0));
    queue.cancel(3).unwrap();
    let done = queue.turn(&[], 8, wait(1, u64::MAX)).completions;
    assert_eq!(done.iter().map(|one| (one.slot, one.errno)).collect::<Vec<_>>(), [(3, 125)], "ECANCELED");
    // Over already, or never there: nothing to do.
    queue.cancel(3).unwrap();
    writer.write_all(&[7]).unwrap();
    assert_eq!(queue.turn(&[], 8, wait(1, u64::MAX)).completions[0].slot, 6);
}

#[test]
fn a_dropped_queue_cancels_what_it_can() {
    for registered in [false, true] {
        let (reader, mut writer) = pipe().unwrap();
        let mut queue = queue(&reader, registered);
        queue.turn(&[0, 1, 2].map(read), 8, wait(0, 0));
        let memory = queue.drop_queue();
        writer.write_all(&[7; 16]).unwrap();
        thread::sleep(Duration::from_millis(20));
        assert!(
            (0..8).all(|slot| memory.buffer(slot).iter().all(|byte| *byte == UNTOUCHED)),
            "registered: {registered}"
        );
    }
}
