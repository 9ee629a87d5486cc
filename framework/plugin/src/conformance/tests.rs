//! The checks pass a backend that is right and find each thing that one can do wrong.
#![expect(unsafe_code, reason = "implements a backend, whose buffers are raw memory")]

use std::slice;
use std::sync::{Arc, Mutex};

use super::*;
use crate::{Buffers, CompletionStyle, OpSet, Queue, QueueSpec, Submission, TargetInfo, Turn};

const LEN: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    CompletesTwice,
    CompletesAnotherSlot,
    Loses,
    ReturnsEarly,
    AcceptsTooMany,
    WritesElsewhere,
    CutsReads,
    MovesTooMuch,
    FailsWithData,
    NegativeErrno,
    FinishTime,
}

/// Keeps its data in memory; completes late and out of order.
struct Ram {
    data: Arc<Mutex<Vec<u8>>>,
    fault: Fault,
}

struct RamQueue {
    data: Arc<Mutex<Vec<u8>>>,
    fault: Fault,
    done: Vec<Completion>,
    count: u32,
}

impl Target for Ram {
    fn info(&self) -> TargetInfo {
        TargetInfo {
            ops: OpSet::ALL,
            granule: 512,
            max_len: 1 << 20,
            max_depth: 128,
            simulated: false,
            completion: CompletionStyle::Polled,
        }
    }

    fn queue(&self, _: &QueueSpec, _: &Buffers) -> Result<Box<dyn Queue>> {
        let data = Arc::clone(&self.data);
        Ok(Box::new(RamQueue { data, fault: self.fault, done: Vec::new(), count: 0 }))
    }
}

impl RamQueue {
    fn start(&mut self, s: &Submission) {
        let mut data = self.data.lock().unwrap();
        let (at, len) = (s.offset as usize, s.len as usize);
        match Op::from_code(s.op).unwrap() {
            Op::Read => {
                // SAFETY: the caller of `turn` promises it.
                unsafe { slice::from_raw_parts_mut(s.buf, len) }.copy_from_slice(&data[at..at + len]);
            }
            Op::Write => {
                let at = if self.fault == Fault::WritesElsewhere { at ^ 512 } else { at };
                let end = (at + len).min(data.len());
                // SAFETY: as above.
                let bytes = unsafe { slice::from_raw_parts(s.buf, end - at) };
                data[at..end].copy_from_slice(bytes);
            }
            Op::Flush => {}
        }
        let mut done = Completion { slot: s.slot, bytes: s.len, ..Completion::default() };
        self.count += 1;
        // Often enough for every check, but not at once.
        if self.count.is_multiple_of(5) {
            match self.fault {
                Fault::CompletesAnotherSlot => done.slot += 1,
                Fault::CutsReads if s.op == Op::Read as u8 => done.bytes /= 2,
                Fault::MovesTooMuch => done.bytes += 1,
                Fault::FailsWithData => done.errno = 5,
                Fault::NegativeErrno => (done.errno, done.bytes) = (-5, 0),
                Fault::FinishTime => done.finish_ns = 1,
                Fault::CompletesTwice => self.done.push(done),
                Fault::Loses => return,
                _ => {}
            }
        }
        self.done.push(done);
    }
}

impl Queue for RamQueue {
    unsafe fn turn(&mut self, sub: &[Submission], out: &mut [Completion], wait: Wait) -> Result<Turn> {
        sub.iter().for_each(|s| self.start(s));
        // As few as are asked for, from the other end.
        let early = u32::from(self.fault == Fault::ReturnsEarly);
        let completed = out.len().min(self.done.len()).min(wait.min.max(1).saturating_sub(early) as usize);
        for one in &mut out[..completed] {
            *one = self.done.pop().unwrap();
        }
        let more = u32::from(self.fault == Fault::AcceptsTooMany);
        Ok(Turn { accepted: sub.len() as u32 + more, completed: completed as u32 })
    }
}

fn ram(fault: Fault) -> Ram {
    Ram { data: Arc::new(Mutex::new(vec![0; LEN as usize])), fault }
}

#[test]
fn a_right_one_passes() {
    check_storage(&ram(Fault::None), LEN);
}

#[test]
fn each_fault_is_found() {
    let faults = [
        (Fault::CompletesTwice, "is not in flight"),
        (Fault::CompletesAnotherSlot, "is not in flight"),
        (Fault::Loses, "before the timeout"),
        (Fault::ReturnsEarly, "before the timeout"),
        (Fault::AcceptsTooMany, "accepted 1 of 0"),
        (Fault::WritesElsewhere, "returned other data"),
        (Fault::CutsReads, "failed or was short"),
        (Fault::MovesTooMuch, "asked for"),
        (Fault::FailsWithData, "failed and moved data"),
        (Fault::NegativeErrno, "is negative"),
        (Fault::FinishTime, "only a simulated target"),
    ];
    for (fault, expected) in faults {
        let found = std::panic::catch_unwind(|| check_storage(&ram(fault), LEN)).unwrap_err();
        let message = found.downcast::<String>().unwrap();
        assert!(message.contains(expected), "{fault:?} was found as: {message}");
    }
}

#[test]
fn a_wait_is_not_cut_short_unless_signals_may_come() {
    let mut queue = CheckedQueue::new(&ram(Fault::ReturnsEarly), 2, 512);
    queue.may_be_interrupted = true;
    let io = Io { op: Op::Read, slot: 0, offset: 0, len: 512, shift: 0 };
    let turned = queue.turn(&[io], 2, Wait { min: 1, reserved: 0, timeout_ns: u64::MAX });
    assert_eq!((turned.accepted, turned.completions.len(), queue.in_flight()), (1, 0, 1));
}

#[test]
fn memory_outlives_its_queue() {
    let mut queue = CheckedQueue::new(&ram(Fault::None), 2, 512);
    queue.buffer(1)[511] = 0;
    let memory = queue.drop_queue();
    assert_eq!((memory.buffer(0)[511], memory.buffer(1)[511]), (UNTOUCHED, 0));
}

#[test]
fn pieces_cover_the_area_once() {
    let mut jobs = pieces(&ram(Fault::None), LEN + 100, &mut Random::new(1));
    jobs.sort_by_key(|job| job.offset);
    let end = jobs.iter().fold(0, |at, job| {
        assert_eq!(job.offset, at);
        at + u64::from(job.len)
    });
    assert_eq!(end, LEN);
}
