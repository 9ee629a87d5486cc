//! A queue that is held to its contract in every turn.
#![expect(unsafe_code, reason = "owns the memory that a backend does I/O on, and calls it")]
#![expect(clippy::disallowed_methods, reason = "looks how long a turn took, as a test must")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::slice;
use std::time::{Duration, Instant};

use crate::{Buffers, Completion, DmaBlock, Fact, Op, Queue, QueueSpec, Result, Submission, Target, Wait};

/// How much longer than its timeout a turn may take on a busy machine.
const LATE: Duration = Duration::from_secs(20);
const PAGE: usize = 4096;
/// What every byte of a buffer is at first.
pub const UNTOUCHED: u8 = 0xa5;

/// An I/O to submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// What.
    pub op: Op,
    /// In which slot, which must be free. The slot's buffer is used.
    pub slot: u32,
    /// Where, bytes from the start of the target.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// How many bytes behind the start of the buffer, which lies on a page, the data lies.
    pub shift: usize,
}

/// What a turn gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turned {
    /// How many I/O were taken, from the front.
    pub accepted: usize,
    /// Those that are over.
    pub completions: Vec<Completion>,
}

/// Buffers of equal length on page boundaries, one a slot, in one block. At first every byte is
/// [`UNTOUCHED`].
pub struct Memory {
    start: NonNull<u8>,
    stride: usize,
    slots: u32,
    dma: Option<DmaBlock>,
}

impl Memory {
    fn new(target: &dyn Target, slots: u32, buffer_len: usize) -> Self {
        let stride = buffer_len.max(1).next_multiple_of(PAGE);
        let len = stride * slots as usize;
        let dma = target.alloc(len, PAGE).map(|block| block.expect("the backend has memory of its own"));
        let start = match &dma {
            Some(block) => {
                assert!(block.len >= len, "asked for {len} bytes of memory, got {}", block.len);
                block.ptr
            }
            // SAFETY: the size is not 0.
            None => unsafe { alloc(Self::layout(len)) },
        };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(Self::layout(len)) };
        assert!(start.addr().get().is_multiple_of(PAGE), "the memory does not start on a page");
        // SAFETY: just allocated with this length.
        unsafe { start.write_bytes(UNTOUCHED, len) };
        Memory { start, stride, slots, dma }
    }

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, PAGE).expect("a page is a power of two, the length is small")
    }

    fn len(&self) -> usize {
        self.stride * self.slots as usize
    }

    fn address(&self, slot: u32) -> *mut u8 {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        // SAFETY: lies within the allocation.
        unsafe { self.start.add(slot as usize * self.stride).as_ptr() }
    }

    /// The buffer of `slot`.
    ///
    /// # Panics
    /// When there is no such slot.
    pub fn buffer(&self, slot: u32) -> &[u8] {
        // SAFETY: within the allocation; a `Memory` outside a queue has no I/O on it.
        unsafe { slice::from_raw_parts(self.address(slot), self.stride) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match &self.dma {
            Some(block) => (block.free)(block.ptr, block.len),
            // SAFETY: allocated with this layout.
            None => unsafe { dealloc(self.start.as_ptr(), Self::layout(self.len())) },
        }
    }
}

/// A queue with its buffers. Every turn asserts the contract: counts within bounds, completions of slots that
/// are in flight and of each one once, no more bytes than asked for, waits neither cut short nor overlong.
pub struct CheckedQueue {
    // In this order: the queue goes before the memory that its I/O may reach.
    queue: Box<dyn Queue>,
    memory: Memory,
    /// Length and submission time of what is in flight.
    in_flight: Vec<Option<(u32, u64)>>,
    simulated: bool,
    /// The engine's clock, ns, stamped on submissions. Only simulated targets look at it.
    pub now_ns: u64,
    /// Whether a turn may end early: a signal can arrive.
    pub may_be_interrupted: bool,
}

impl CheckedQueue {
    /// A queue of `target` for `depth` I/O of up to `buffer_len` bytes each.
    ///
    /// # Panics
    /// When the target gives none.
    pub fn new(target: &dyn Target, depth: u32, buffer_len: usize) -> Self {
        let memory = Memory::new(target, depth, buffer_len);
        let buffers = Buffers { blocks: vec![(memory.start.as_ptr(), memory.len())] };
        let queue = target.queue(&QueueSpec { depth, worker: 0 }, &buffers);
        CheckedQueue {
            queue: queue.unwrap_or_else(|e| panic!("no queue of depth {depth}: {e}")),
            memory,
            in_flight: vec![None; depth as usize],
            simulated: target.info().simulated,
            now_ns: 0,
            may_be_interrupted: false,
        }
    }

    /// Its depth.
    pub fn depth(&self) -> u32 {
        self.memory.slots
    }

    /// How many I/O are in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight.iter().flatten().count()
    }

    /// What the queue says of itself.
    pub fn facts(&self) -> Vec<Fact> {
        self.queue.facts()
    }

    /// The buffer of a slot that is not in flight.
    ///
    /// # Panics
    /// When it is.
    pub fn buffer(&mut self, slot: u32) -> &mut [u8] {
        assert!(self.in_flight[slot as usize].is_none(), "slot {slot} is in flight");
        // SAFETY: within the allocation; the slot is idle, so nobody else touches it, and `self` is borrowed.
        unsafe { slice::from_raw_parts_mut(self.memory.address(slot), self.memory.stride) }
    }

    /// Asks to cancel a slot.
    ///
    /// # Errors
    /// What the queue says.
    pub fn cancel(&mut self, slot: u32) -> Result<()> {
        self.queue.cancel(slot)
    }

    /// Ends the queue, whatever is in flight, and gives back the memory, which must not change any more.
    pub fn drop_queue(self) -> Memory {
        let CheckedQueue { queue, memory, .. } = self;
        drop(queue);
        memory
    }

    /// One turn, with room for `room` completions.
    ///
    /// # Panics
    /// Where the queue breaks its contract or is dead.
    #[track_caller]
    pub fn turn(&mut self, ios: &[Io], room: usize, wait: Wait) -> Turned {
        self.try_turn(ios, room, wait).unwrap_or_else(|e| panic!("the queue is dead: {e}"))
    }

    /// As [`CheckedQueue::turn`], where the queue may die.
    ///
    /// # Errors
    /// When it is dead.
    ///
    /// # Panics
    /// Where the queue breaks its contract, and when `ios` break theirs: a slot in use, or too long.
    #[track_caller]
    pub fn try_turn(&mut self, ios: &[Io], room: usize, wait: Wait) -> Result<Turned> {
        let was_in_flight = self.in_flight();
        let submissions: Vec<Submission> = ios.iter().map(|io| self.submission(io)).collect();
        let mut done = vec![Completion { slot: u32::MAX, ..Completion::default() }; room];
        let before = Instant::now();
        // SAFETY: `submission` has checked that each buffer is as long as its I/O and each slot free, and made
        // them distinct; the buffers live until after the queue is dropped.
        let turn = unsafe { self.queue.turn(&submissions, &mut done, wait) };
        let took = before.elapsed();

        let turn = turn?;
        let (accepted, completed) = (turn.accepted as usize, turn.completed as usize);
        assert!(accepted <= ios.len(), "accepted {accepted} of {}", ios.len());
        assert!(completed <= room, "{completed} completions into {room}");
        // What was not taken is offered again, so it is not in flight.
        ios[accepted..].iter().for_each(|io| self.in_flight[io.slot as usize] = None);
        done.truncate(completed);
        done.iter().for_each(|one| self.complete(one));

        let limit = Duration::from_nanos(wait.timeout_ns);
        let wanted = room.min(was_in_flight + accepted).min(wait.min as usize);
        let early = completed < wanted && took < limit && !self.may_be_interrupted;
        assert!(
            !early,
            "{completed} of {wanted} completions after {took:?}, before the timeout of {limit:?}"
        );
        assert!(took < limit.saturating_add(LATE), "took {took:?}, with a timeout of {limit:?}");
        Ok(Turned { accepted, completions: done })
    }

    #[track_caller]
    fn submission(&mut self, io: &Io) -> Submission {
        assert!(io.shift + io.len as usize <= self.memory.stride, "{io:?} is longer than the buffer");
        let entry = &mut self.in_flight[io.slot as usize];
        assert!(entry.is_none(), "slot {} is used twice", io.slot);
        *entry = Some((io.len, self.now_ns));
        Submission {
            op: io.op as u8,
            flags: 0,
            prio: 0,
            len: io.len,
            offset: io.offset,
            buf: match io.op {
                Op::Flush => std::ptr::null_mut(),
                // SAFETY: `shift` is within the buffer.
                _ => unsafe { self.memory.address(io.slot).add(io.shift) },
            },
            slot: io.slot,
            hint: 0,
            buf_index: 0,
            aux: 0,
            at_ns: self.now_ns,
            reserved: 0,
        }
    }

    #[track_caller]
    fn complete(&mut self, done: &Completion) {
        let entry = self.in_flight.get_mut(done.slot as usize).and_then(Option::take);
        let Some((len, at_ns)) = entry else { panic!("slot {} completed, but is not in flight", done.slot) };
        assert!(done.errno >= 0, "errno {} is negative", done.errno);
        assert!(done.errno == 0 || done.bytes == 0, "an i/o failed and moved data: {done:?}");
        assert!(done.bytes <= len, "{} bytes moved, {len} asked for", done.bytes);
        if self.simulated {
            assert!(done.finish_ns >= at_ns, "it ends at {} ns and began at {at_ns} ns", done.finish_ns);
        } else {
            assert_eq!(done.finish_ns, 0, "only a simulated target gives finish times");
        }
    }
}
