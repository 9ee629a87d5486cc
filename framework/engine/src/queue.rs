//! A backend's queue and the slots of its I/O: the one place that calls [`Queue::turn`], and keeps what that
//! demands. Buffers live as long as the queue, a slot holds one I/O at a time, and what the queue answers is
//! checked before anyone believes it.
#![expect(unsafe_code, reason = "the queue's contract is about memory that the kernel reads and writes")]

use std::mem::ManuallyDrop;
use std::slice;

use iodyno_plugin::{Completion, Op, Queue, Submission, Turn, Wait};
use iodyno_record::Fact;

use crate::ahead::Ahead;
use crate::memory::{IoBuffers, Place};
use crate::payload::all_zero;
use crate::recorder::Recorder;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// In the batch, the queue has not taken it.
    Queued,
    InFlight,
    /// The queue told how it ends; its time has not come.
    Told,
}

/// Whose an I/O is, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub(crate) struct Tag {
    /// Where it is counted.
    pub(crate) cell: u16,
    /// Of the worker.
    pub(crate) pool: u16,
    /// Of the pool.
    pub(crate) lane: u16,
}

/// An I/O, or room for one: a cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Slot {
    pub(crate) start_ns: u64,
    /// Which request of its lane.
    pub(crate) seq: u64,
    pub(crate) offset: u64,
    pub(crate) tag: Tag,
    pub(crate) len: u32,
    pub(crate) op: u8,
    state: State,
    place: Place,
}

const _: () = assert!(size_of::<Slot>() == 64);

#[cfg(test)]
impl Slot {
    /// One that was submitted, without anything behind it.
    pub(crate) fn submitted(start_ns: u64, len: u32) -> Self {
        let place = Place { start: std::ptr::null_mut(), len: 0, block: 0 };
        let state = State::InFlight;
        Slot { start_ns, seq: 0, offset: 0, tag: Tag::default(), len, op: 0, state, place }
    }
}

/// What to do with a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Io {
    pub(crate) op: u8,
    pub(crate) hint: u16,
    pub(crate) len: u32,
    /// From the target's start.
    pub(crate) offset: u64,
    pub(crate) seq: u64,
    pub(crate) tag: Tag,
    /// Write zeroes instead of the slot's buffer.
    pub(crate) zeroes: bool,
}

/// A turn that is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turned {
    pub(crate) end_ns: u64,
    pub(crate) accepted: u32,
    pub(crate) completed: u32,
}

/// A queue, its slots and its buffers.
pub(crate) struct SlotQueue {
    /// Until it is dropped.
    queue: Option<Box<dyn Queue>>,
    buffers: Option<IoBuffers>,
    zeroes: Option<Place>,
    ahead: Ahead,
    slots: Vec<Slot>,
    batch: Vec<Submission>,
    done: Vec<Completion>,
    in_flight: u32,
    /// Inside of a call, or after one that failed: what the queue took is not known.
    unsure: bool,
}

impl SlotQueue {
    /// A queue over `buffers`, which it was made with, that takes up to `done` completions in a turn.
    pub(crate) fn new(queue: Box<dyn Queue>, mut buffers: IoBuffers, done: usize) -> Self {
        let slot = |place: &Place| Slot {
            start_ns: 0,
            seq: 0,
            offset: 0,
            tag: Tag::default(),
            len: 0,
            op: 0,
            state: State::Free,
            place: *place,
        };
        SlotQueue {
            queue: Some(queue),
            zeroes: buffers.zeroes,
            ahead: Ahead::new(std::mem::take(&mut buffers.spares)),
            slots: buffers.places.iter().map(slot).collect(),
            batch: Vec::with_capacity(buffers.places.len()),
            buffers: Some(buffers),
            done: vec![Completion::default(); done],
            in_flight: 0,
            unsure: false,
        }
    }

    /// I/O that the queue holds.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// I/O that the queue did not take yet.
    #[inline]
    pub(crate) fn queued(&self) -> usize {
        self.batch.len()
    }

    /// Whether a call of the queue did not return, or returned a failure.
    pub(crate) fn is_unsure(&self) -> bool {
        self.unsure
    }

    /// Believes nothing any more that the queue says: its I/O may still be going on.
    pub(crate) fn distrust(&mut self) {
        self.unsure = true;
    }

    /// What the queue tells of itself.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let told = self.queue.iter().flat_map(|queue| queue.facts());
        told.map(|iodyno_plugin::Fact { name, value, fallback }| Fact { name, value, fallback }).collect()
    }

    /// What a slot that is free still needs to write `len` bytes: the part of its buffer that is not made yet. It
    /// may get another buffer, of those of `pool`.
    #[inline]
    pub(crate) fn unmade(&mut self, slot: u32, pool: u16, len: u32) -> &mut [u8] {
        let Slot { state, place, .. } = &mut self.slots[slot as usize];
        assert!(*state == State::Free && len <= place.len);
        let made = self.ahead.take(pool, len, place);
        // SAFETY: all buffers of a pool are as long, so at least `len`, and live as long as `self`. The slot is
        // free, so that the kernel does not use it, and the borrow of `self` keeps it so.
        let buffer = unsafe { slice::from_raw_parts_mut(place.start, len as usize) };
        &mut buffer[made..]
    }

    /// Whether there is something to make for the next writes.
    #[inline]
    pub(crate) fn wants_ahead(&self) -> bool {
        self.ahead.is_wanted()
    }

    /// A part of a buffer that the next write will want to have made, and counts as made from now on.
    pub(crate) fn ahead(&mut self) -> Option<&mut [u8]> {
        let (place, part) = self.ahead.next()?;
        // SAFETY: the part lies in the buffer, as it was in one of this pool that was as long. It belongs to no
        // slot, so that the kernel does not use it; it lives as long as `self`, whose borrow keeps it so.
        Some(unsafe { slice::from_raw_parts_mut(place.start.add(part.start), part.len()) })
    }

    /// Puts an I/O into the batch.
    #[inline(always)]
    pub(crate) fn push(&mut self, index: u32, io: Io) {
        let slot = &mut self.slots[index as usize];
        assert!(slot.state == State::Free, "a slot holds one I/O at a time");
        let Io { op, hint, len, offset, seq, tag, zeroes } = io;
        (slot.seq, slot.offset, slot.tag, slot.len) = (seq, offset, tag, len);
        (slot.op, slot.state) = (op, State::Queued);
        let place = if zeroes { self.zeroes.expect("there where zeroes are written") } else { slot.place };
        assert!(len <= place.len, "requests fit their buffers");
        // A flush has neither place nor buffer.
        let (buf, offset) =
            if op == Op::Flush as u8 { (std::ptr::null_mut(), 0) } else { (place.start, offset) };
        let buf_index = place.block;
        let (flags, prio, aux, at_ns, reserved) = (0, 0, 0, 0, 0);
        self.batch.push(Submission {
            op,
            flags,
            prio,
            len,
            offset,
            buf,
            slot: index,
            hint,
            buf_index,
            aux,
            at_ns,
            reserved,
        });
    }

    /// Stamps the batch with the time of its submission, for simulated targets.
    pub(crate) fn stamp(&mut self, at_ns: u64) {
        self.batch.iter_mut().for_each(|submission| submission.at_ns = at_ns);
    }

    /// Takes back what the queue did not take. The slots are free again, but nobody is told: for the end.
    pub(crate) fn withdraw(&mut self) {
        for submission in self.batch.drain(..) {
            self.slots[submission.slot as usize].state = State::Free;
        }
    }

    /// One call of the queue: hands over the batch, takes completions. `start_ns` was read right before, `now`
    /// reads the clock right after. What was taken counts as outstanding from `start_ns` on.
    ///
    /// # Errors
    /// When the queue died, or its answer cannot be true.
    #[inline(always)]
    pub(crate) fn turn(
        &mut self,
        start_ns: u64,
        min: u32,
        now: impl FnOnce() -> u64,
        recorder: &mut Recorder<'_>,
    ) -> Result<Turned, String> {
        let wait = Wait { min, reserved: 0, timeout_ns: u64::MAX };
        let queue = self.queue.as_mut().expect("there until the drop");
        self.unsure = true;
        // SAFETY: each buffer is as long as its request (checked in `push`) and is given back to the system
        // only after the queue (in `drop`); a slot is in the batch once, because it was free before, and is
        // not reused before its completion.
        let turn = unsafe { queue.turn(&self.batch, &mut self.done, wait) };
        let end_ns = now();
        let Turn { accepted, completed } = turn.map_err(|e| format!("its queue died: {e}"))?;
        self.unsure = false;
        if accepted as usize > self.batch.len() || completed as usize > self.done.len() {
            self.unsure = true;
            let (offered, room) = (self.batch.len(), self.done.len());
            return Err(format!(
                "accepted {accepted} of {offered} requests and gave {completed} completions for {room}"
            ));
        }
        recorder.begin(start_ns);
        let slots = &mut self.slots[..];
        for submission in &self.batch[..accepted as usize] {
            let slot = &mut slots[submission.slot as usize];
            (slot.start_ns, slot.state) = (start_ns, State::InFlight);
            recorder.submitted(slot);
        }
        self.in_flight += accepted;
        if accepted as usize == self.batch.len() {
            self.batch.clear();
        } else {
            self.batch.drain(..accepted as usize);
        }
        recorder.turned(start_ns, end_ns, completed);
        Ok(Turned { end_ns, accepted, completed })
    }

    /// The first `completed` completions of the last turn, and the slots that they end.
    #[inline(always)]
    pub(crate) fn completions(&mut self, completed: u32) -> (&[Completion], Ending<'_>) {
        let ending = Ending { slots: &mut self.slots, in_flight: &mut self.in_flight };
        (&self.done[..completed as usize], ending)
    }

    /// Notes that the I/O of completion `index` of the last turn will end as it says; its slot stays in use.
    ///
    /// # Errors
    /// When the completion cannot be true.
    pub(crate) fn tell(&mut self, index: u32) -> Result<(Completion, &Slot), String> {
        let done = self.done[index as usize];
        let slot = checked(&mut self.slots, &done)?;
        slot.state = State::Told;
        Ok((done, slot))
    }

    /// Ends an I/O that was told: its slot is free.
    pub(crate) fn end(&mut self, index: u32) -> &Slot {
        let slot = &mut self.slots[index as usize];
        assert!(slot.state == State::Told, "ends are told once");
        slot.state = State::Free;
        self.in_flight -= 1;
        slot
    }
}

/// Slots whose I/O may end.
pub(crate) struct Ending<'s> {
    slots: &'s mut [Slot],
    in_flight: &'s mut u32,
}

impl Ending<'_> {
    /// Ends the I/O of a completion: its slot is free. Says also whether it read nothing but zeroes.
    ///
    /// # Errors
    /// When the completion cannot be true.
    #[inline(always)]
    pub(crate) fn end(&mut self, done: &Completion) -> Result<(&Slot, bool), String> {
        let slot = checked(self.slots, done)?;
        *self.in_flight -= 1;
        slot.state = State::Free;
        // SAFETY: the buffer is at least as long as the request (checked in `push`), which is at least `bytes`
        // long (checked above). It was filled before its first use, and lives as long as the slots. The slot is
        // free: the kernel does not use it.
        let data = unsafe { slice::from_raw_parts(slot.place.start, done.bytes as usize) };
        let zero = slot.op == Op::Read as u8 && all_zero(data) && done.errno == 0 && done.bytes > 0;
        Ok((slot, zero))
    }
}

/// The slot that a completion ends, if that can be true.
#[inline(always)]
fn checked<'s>(slots: &'s mut [Slot], done: &Completion) -> Result<&'s mut Slot, String> {
    let Some(slot) = slots.get_mut(done.slot as usize) else { return Err(untrue(None, done)) };
    if slot.state != State::InFlight || done.bytes > slot.len {
        return Err(untrue(Some(slot), done));
    }
    Ok(slot)
}

#[cold]
fn untrue(slot: Option<&Slot>, done: &Completion) -> String {
    let Completion { slot: index, bytes, .. } = done;
    match slot {
        None => format!("completed slot {index}, which does not exist"),
        Some(slot) if slot.state != State::InFlight => {
            format!(
                "completed slot {index}, which holds no I/O in flight: completed twice, or never submitted"
            )
        }
        Some(slot) => format!("completed slot {index} with {bytes} bytes; {} were asked for", slot.len),
    }
}

impl Drop for SlotQueue {
    /// The queue first, then the buffers. Where I/O was lost the kernel may write into them at any time later:
    /// then they are never given back.
    fn drop(&mut self) {
        let lost = self.unsure || self.in_flight > 0;
        let buffers = ManuallyDrop::new(self.buffers.take());
        // Should this panic, then the buffers stay, too.
        self.queue = None;
        if !lost {
            drop(ManuallyDrop::into_inner(buffers));
        }
    }
}
