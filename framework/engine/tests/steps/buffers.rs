//! Memory that the kernel reads and writes: it lies where the contract says, and outlives the queue.
#![expect(unsafe_code, reason = "a queue's `turn` is unsafe to call; this one touches no buffer")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::sync::Mutex;

use iodyno_plugin::{
    Buffers, Completion, DmaBlock, Error, Op, Queue, QueueSpec, Result, Submission, Target, TargetInfo, Turn,
    Wait,
};
use iodyno_record::{End, Fill};

use crate::fakes::{Asks, info, parts, spec};
use crate::outcome::run;

/// What happened to memory and queues, in order. One test at a time looks at it.
static EVENTS: Mutex<Vec<&str>> = Mutex::new(Vec::new());
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn log(event: &'static str) {
    EVENTS.lock().unwrap().push(event);
}

fn layout(len: usize) -> Layout {
    Layout::from_size_align(len, 4096).unwrap()
}

extern "C" fn free(ptr: *mut u8, len: usize) {
    log("freed");
    // SAFETY: allocated in `alloc` with this layout.
    unsafe { dealloc(ptr, layout(len)) }
}

/// Has memory of its own, takes a few I/O a turn, gives one back, and may die.
struct Dma {
    dies_at: u64,
    own_memory: bool,
}

impl Target for Dma {
    fn info(&self) -> TargetInfo {
        info()
    }

    fn alloc(&self, len: usize, align: usize) -> Option<Result<DmaBlock>> {
        assert_eq!((len % 4096, align), (0, 4096));
        // SAFETY: the length is not 0.
        self.own_memory.then(|| Ok(DmaBlock { ptr: unsafe { alloc_zeroed(layout(len)) }, len, free }))
    }

    fn queue(&self, spec: &QueueSpec, buffers: &Buffers) -> Result<Box<dyn Queue>> {
        log("opened");
        let blocks = buffers.blocks.iter().map(|(start, len)| (*start as usize, *len)).collect();
        Ok(Box::new(DmaQueue {
            depth: spec.depth,
            dies_at: self.dies_at,
            blocks,
            in_flight: BTreeMap::new(),
            turns: 0,
        }))
    }
}

struct DmaQueue {
    depth: u32,
    dies_at: u64,
    blocks: Vec<(usize, usize)>,
    /// Start and end of each buffer in use, by slot; writes of zeroes share theirs.
    in_flight: BTreeMap<u32, (u8, usize, usize)>,
    turns: u64,
}

impl Drop for DmaQueue {
    fn drop(&mut self) {
        log("closed");
    }
}

impl DmaQueue {
    fn check(&self, sub: &Submission) -> (u8, usize, usize) {
        assert!(sub.slot < self.depth && !self.in_flight.contains_key(&sub.slot));
        assert_eq!((sub.flags, sub.prio, sub.aux, sub.reserved, sub.at_ns), (0, 0, 0, 0, 0));
        let (start, end) = (sub.buf as usize, sub.buf as usize + sub.len as usize);
        if sub.op == Op::Flush as u8 {
            assert_eq!((start, sub.len, sub.offset), (0, 0, 0));
            return (sub.op, 0, 0);
        }
        let (block, len) = self.blocks[usize::from(sub.buf_index)];
        assert!(start % 4096 == 0 && start >= block && end <= block + len);
        for (op, other_start, other_end) in self.in_flight.values() {
            let both_write = [*op, sub.op] == [Op::Write as u8; 2];
            assert!(both_write || start >= *other_end || end <= *other_start, "two I/O share a buffer");
        }
        (sub.op, start, end)
    }
}

impl Queue for DmaQueue {
    unsafe fn turn(&mut self, sub: &[Submission], done: &mut [Completion], wait: Wait) -> Result<Turn> {
        assert_eq!((wait.reserved, wait.timeout_ns), (0, u64::MAX));
        self.turns += 1;
        if self.turns == self.dies_at {
            return Err(Error::system("turn", "gone"));
        }
        let accepted = sub.len().min(5);
        for sub in &sub[..accepted] {
            let place = self.check(sub);
            self.in_flight.insert(sub.slot, place);
        }
        let first =
            self.in_flight.first_key_value().map(|(slot, (_, start, end))| (*slot, (end - start) as u32));
        let completed = u32::from(first.is_some());
        if let Some((slot, bytes)) = first {
            self.in_flight.remove(&slot);
            done[0] = Completion { slot, bytes, ..Completion::default() };
        }
        Ok(Turn { accepted: accepted as u32, completed })
    }
}

fn events(target: Dma) -> (End, Vec<&'static str>) {
    EVENTS.lock().unwrap().clear();
    let mut spec = spec(2, 70);
    (spec.streams[0].load.outstanding, spec.streams[1].fill) = (3, Fill::Zero);
    let workloads = vec![
        Asks::mix([1, 1, 1], vec![4096, 1 << 20]).times(300).shared(),
        Asks::mix([1, 1, 1], vec![512, 2048]).times(300).shared(),
    ];
    let outcome = run(&spec, &parts(target, workloads));
    (outcome.result.end, std::mem::take(&mut *EVENTS.lock().unwrap()))
}

#[test]
fn buffers_lie_apart_and_are_freed_after_the_queue() {
    let _one = ONE_AT_A_TIME.lock();
    let (end, events) = events(Dma { dies_at: 0, own_memory: true });
    assert_eq!(end, End::Completed);
    // Large ones, small ones, and the zeroes.
    assert_eq!(events, ["opened", "closed", "freed", "freed", "freed"]);
}

#[test]
fn buffers_of_lost_io_are_never_freed() {
    let _one = ONE_AT_A_TIME.lock();
    let (end, events) = events(Dma { dies_at: 100, own_memory: true });
    assert!(matches!(end, End::Failed { .. }));
    assert_eq!(events, ["opened", "closed"]);
}

#[test]
fn memory_of_the_engines_own_will_do() {
    let _one = ONE_AT_A_TIME.lock();
    let (end, events) = events(Dma { dies_at: 0, own_memory: false });
    assert_eq!((end, events), (End::Completed, vec!["opened", "closed"]));
}
