//! The ring of one queue. The crate `io_uring` is used here only.
#![expect(unsafe_code, reason = "shares memory with the kernel, which does I/O on raw buffers")]

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use io_uring::types::{CancelBuilder, Fd, FsyncFlags, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};
use iodyno_plugin::{Buffers, Completion, Error, Fact, Op, Queue, Result, Submission, Turn, Wait};

use crate::setup::Setup;

/// How often in a row the kernel may have no memory for an entry before the queue counts as dead, 1 ms apart.
const REFUSALS_MAX: u32 = 2000;
/// How long a queue that is dropped waits for its I/O, s. The kernel's drivers give up on a command earlier.
const LAST_WAIT_S: u32 = 180;

/// A ring, used by the thread that made it.
///
/// # On drop
///
/// The buffers belong to the caller, who may free them after the drop. So it cancels what is in flight and
/// waits for it, even where that takes as long as the device needs. A device from which nothing comes back
/// for three minutes leaves no way to return, as it might still write to the buffers: the process aborts with
/// a message.
pub(crate) struct Ring {
    io: IoUring,
    entries: Entries,
    /// What `io_uring_enter` takes: the ring's descriptor, or the index of the registered one.
    enter_fd: RawFd,
    enter_flags: EnterFlags,
    /// Accepted, completion not returned.
    in_flight: u32,
    /// Refused calls since the last one that went well.
    refusals: u32,
    /// All of them.
    refusals_total: u64,
    /// What is in use.
    pub(crate) facts: Vec<Fact>,
    target: Arc<OwnedFd>,
}

/// Makes the entries of the submission ring.
#[derive(Clone, Copy)]
struct Entries {
    /// The target's descriptor, or its index where `flags` say so.
    file: Fd,
    flags: squeue::Flags,
    fixed_buffers: bool,
}

impl Entries {
    /// `None` when the operation is not known.
    #[inline]
    fn entry(&self, s: &Submission) -> Option<squeue::Entry> {
        let (file, at, prio) = (self.file, s.offset, s.prio);
        let entry = match (Op::from_code(s.op)?, self.fixed_buffers) {
            (Op::Read, true) => {
                opcode::ReadFixed::new(file, s.buf, s.len, s.buf_index).offset(at).ioprio(prio).build()
            }
            (Op::Read, false) => opcode::Read::new(file, s.buf, s.len).offset(at).ioprio(prio).build(),
            (Op::Write, true) => {
                opcode::WriteFixed::new(file, s.buf, s.len, s.buf_index).offset(at).ioprio(prio).build()
            }
            (Op::Write, false) => opcode::Write::new(file, s.buf, s.len).offset(at).ioprio(prio).build(),
            (Op::Flush, _) => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
        };
        Some(entry.flags(self.flags).user_data(u64::from(s.slot)))
    }
}

/// `struct io_uring_getevents_arg`.
#[repr(C)]
struct WaitArgument {
    signal_mask: u64,
    signal_mask_len: u32,
    min_wait_us: u32,
    /// Address of a [`Timespec`], or 0.
    timeout: u64,
}

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct RingUpdate {
    index: u32,
    reserved: u32,
    fd: u64,
}

/// Operations of `io_uring_register` that the crate keeps to itself.
const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;

fn build(setup: Setup, entries: u32) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    match setup {
        Setup::InOrder | Setup::Deferred => {
            builder.setup_single_issuer().setup_defer_taskrun().setup_coop_taskrun();
            builder.setup_taskrun_flag().setup_submit_all();
        }
        Setup::Cooperative => {
            builder.setup_coop_taskrun().setup_taskrun_flag().setup_submit_all();
        }
        Setup::Plain => {}
    }
    if setup == Setup::InOrder {
        builder.setup_no_sqarray();
    }
    // The kernel makes the completion ring twice as long, so it cannot overflow.
    let io = builder.build(entries)?;
    // Without it a wait has no timeout.
    if io.params().is_feature_ext_arg() {
        Ok(io)
    } else {
        Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
    }
}

impl Ring {
    /// A ring for `depth` I/O on `target`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn new(setup: Setup, depth: u32, target: Arc<OwnedFd>) -> io::Result<Self> {
        let io = build(setup, depth)?;
        let file = Fd(target.as_raw_fd());
        Ok(Ring {
            entries: Entries { file, flags: squeue::Flags::empty(), fixed_buffers: false },
            enter_fd: io.as_raw_fd(),
            enter_flags: EnterFlags::GETEVENTS | EnterFlags::EXT_ARG,
            in_flight: 0,
            refusals: 0,
            refusals_total: 0,
            facts: Vec::new(),
            target,
            io,
        })
    }

    /// Makes a ring and sends an empty request through it.
    ///
    /// # Errors
    /// When one of the calls that a queue needs is refused.
    pub(crate) fn try_out(setup: Setup, target: &Arc<OwnedFd>) -> io::Result<()> {
        let mut ring = Ring::new(setup, 1, Arc::clone(target))?;
        // SAFETY: an empty request reaches no memory.
        unsafe { ring.io.submission().push(&opcode::Nop::new().build()) }.expect("the ring is empty");
        ring.in_flight = 1;
        ring.enter(1, 1, u64::MAX)
    }

    /// Saves the kernel looking the target's descriptor up.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn register_file(&mut self) -> io::Result<()> {
        self.io.submitter().register_files(&[self.target.as_raw_fd()])?;
        // The first of the registered ones, by its index.
        (self.entries.file, self.entries.flags) = (Fd(0), squeue::Flags::FIXED_FILE);
        Ok(())
    }

    /// Has the kernel pin the buffers, which the contract keeps valid for as long as the queue lives.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn register_buffers(&mut self, buffers: &Buffers) -> io::Result<()> {
        let block = |&(start, len): &(*mut u8, usize)| libc::iovec { iov_base: start.cast(), iov_len: len };
        let blocks: Vec<libc::iovec> = buffers.blocks.iter().map(block).collect();
        // SAFETY: they are valid until the queue is dropped, which takes them back from the kernel.
        unsafe { self.io.submitter().register_buffers(&blocks) }?;
        self.entries.fixed_buffers = true;
        Ok(())
    }

    /// Saves the kernel looking the ring's own descriptor up.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn register_itself(&mut self) -> io::Result<()> {
        let mut update = RingUpdate { index: u32::MAX, reserved: 0, fd: self.io.as_raw_fd() as u64 };
        self.register(REGISTER_RING_FDS, &mut update)?;
        self.enter_fd = update.index as RawFd;
        self.enter_flags |= EnterFlags::REGISTERED_RING;
        Ok(())
    }

    fn register(&self, operation: u32, update: &mut RingUpdate) -> io::Result<()> {
        let fd = self.io.as_raw_fd();
        // SAFETY: both operations read and write one such struct.
        let result =
            unsafe { libc::syscall(libc::SYS_io_uring_register, fd, operation, &raw mut *update, 1) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Fills the submission ring from the front of `sub`; gives how many it took.
    ///
    /// # Safety
    /// As for [`Queue::turn`].
    unsafe fn push(&mut self, sub: &[Submission]) -> Result<u32> {
        let before = self.in_flight;
        let mut ring = self.io.submission();
        for s in sub {
            let Some(entry) = self.entries.entry(s) else {
                return Err(Error::contract(format!("operation code {} is not known", s.op)));
            };
            // SAFETY: the caller keeps the buffer valid until the completion, and `drop` waits for that.
            if unsafe { ring.push(&entry) }.is_err() {
                break;
            }
            self.in_flight += 1;
        }
        Ok(self.in_flight - before)
    }

    /// Enters the kernel once, if there is something to do: entries to submit, completions to wait for, or
    /// some that the kernel has not put into the ring yet.
    fn enter_if_needed(&mut self, want: u32, timeout_ns: u64) -> Result<()> {
        let ready = self.io.completion().len() as u32;
        let ring = self.io.submission();
        let submit = ring.len() as u32;
        let held_back = ready == 0 && (ring.taskrun() || ring.cq_overflow());
        drop(ring);
        if submit == 0 && ready >= want && !held_back {
            return Ok(());
        }
        let Err(error) = self.enter(submit, want, timeout_ns) else {
            self.refusals = 0;
            return Ok(());
        };
        match error.raw_os_error() {
            Some(libc::ETIME | libc::EINTR) => Ok(()),
            // No memory for an entry now, or on old kernels, completions must be taken first. What was not
            // submitted stays in the ring for the next turn.
            Some(libc::EAGAIN | libc::EBUSY) if self.refusals < REFUSALS_MAX => {
                self.refusals += 1;
                self.refusals_total += 1;
                if ready == 0 {
                    self.await_room();
                }
                Ok(())
            }
            _ => Err(Error::system("io_uring_enter failed", error)),
        }
    }

    /// After a refusal: waits for a completion, which makes room, where the kernel has something to complete. Memory
    /// may be there a little later without one.
    fn await_room(&mut self) {
        const NS: u64 = 1_000_000;
        let unsubmitted = self.io.submission().len() as u32;
        let waited = self.in_flight > unsubmitted
            && match self.enter(0, 1, NS) {
                Ok(()) => true,
                Err(e) => e.raw_os_error() == Some(libc::ETIME),
            };
        if !waited {
            thread::sleep(Duration::from_nanos(NS));
        }
    }

    /// Submits and waits. Completions that are in the ring already count.
    fn enter(&self, submit: u32, want: u32, timeout_ns: u64) -> io::Result<()> {
        let timeout = Timespec::from(Duration::from_nanos(timeout_ns));
        let timeout = if timeout_ns == u64::MAX { 0 } else { (&raw const timeout).addr() as u64 };
        let wait = WaitArgument { signal_mask: 0, signal_mask_len: 0, min_wait_us: 0, timeout };
        let (call, len) = (libc::SYS_io_uring_enter, size_of::<WaitArgument>());
        let flags = self.enter_flags.bits();
        // SAFETY: the arguments live through the call, and `push` answers for the entries.
        let result = unsafe { libc::syscall(call, self.enter_fd, submit, want, flags, &raw const wait, len) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Takes completions as far as there is room; gives how many.
    fn reap(&mut self, done: &mut [Completion]) -> u32 {
        let mut count = 0;
        for (completion, entry) in done.iter_mut().zip(self.io.completion()) {
            let result = entry.result();
            *completion = Completion {
                slot: entry.user_data() as u32,
                errno: (-result).max(0),
                bytes: result.max(0) as u32,
                ..Completion::default()
            };
            count += 1;
        }
        self.in_flight -= count;
        count
    }

    /// Cancels what `which` finds. Its completions still come.
    fn cancel_now(&self, which: CancelBuilder) -> io::Result<()> {
        // No time: what runs already is not waited for here.
        self.io.submitter().register_sync_cancel(Some(Timespec::new()), which)
    }

    /// Waits for all that the kernel has, and throws the completions away.
    fn finish(&mut self) {
        // What is still in the submission ring stays there, since nobody submits it.
        self.in_flight -= self.io.submission().len() as u32;
        if self.in_flight > 0 {
            // Where that is refused, there is the wait.
            let _ = self.cancel_now(CancelBuilder::any());
        }
        let mut patience = LAST_WAIT_S;
        loop {
            self.in_flight -= self.io.completion().count() as u32;
            if self.in_flight == 0 {
                return;
            }
            match self.enter(0, 1, 1_000_000_000) {
                Err(e) if e.raw_os_error() == Some(libc::EINTR) => {}
                Err(_) if patience == 0 => give_up(self.in_flight),
                Err(_) => patience -= 1,
                Ok(()) => patience = LAST_WAIT_S,
            }
        }
    }
}

/// Ends the process with a message: a panic cannot leave a function of another language.
extern "C" fn give_up(in_flight: u32) -> ! {
    panic!(
        "{in_flight} i/o have not come back for {LAST_WAIT_S} s: their buffers can be neither kept nor freed"
    )
}

impl Queue for Ring {
    unsafe fn turn(&mut self, sub: &[Submission], done: &mut [Completion], wait: Wait) -> Result<Turn> {
        // SAFETY: our caller promises the same.
        let accepted = unsafe { self.push(sub) }?;
        let want = wait.min.min(self.in_flight).min(done.len() as u32);
        self.enter_if_needed(want, wait.timeout_ns)?;
        Ok(Turn { accepted, completed: self.reap(done) })
    }

    fn cancel(&mut self, slot: u32) -> Result<()> {
        match self.cancel_now(CancelBuilder::user_data(u64::from(slot))) {
            Ok(()) => Ok(()),
            Err(e) => match e.raw_os_error() {
                // Over already, or running: the completion comes.
                Some(libc::ENOENT | libc::EALREADY | libc::ETIME) => Ok(()),
                Some(libc::EINVAL) => Err(Error::unsupported("cancelling an i/o needs Linux 6.0")),
                _ => Err(Error::system("cannot cancel an i/o", e)),
            },
        }
    }

    fn facts(&self) -> Vec<Fact> {
        let refused = (self.refusals_total > 0).then(|| Fact {
            name: "refused_calls".to_owned(),
            value: self.refusals_total.to_string(),
            fallback: Some(
                "the kernel had no memory or no room for I/O and was asked again up to 1 ms later: latencies contain \
                 that wait; free memory, or ask for less outstanding"
                    .to_owned(),
            ),
        });
        self.facts.iter().cloned().chain(refused).collect()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.finish();
        // By closing the ring the kernel would let go of both some time later: the buffers of the next queue might
        // be over the limit by then, and the target would still be held when the process is gone.
        let _ = self.io.submitter().unregister_buffers();
        let _ = self.io.submitter().unregister_files();
        if self.enter_flags.contains(EnterFlags::REGISTERED_RING) {
            // Else the thread would hold the ring to its end.
            let mut update = RingUpdate { index: self.enter_fd as u32, reserved: 0, fd: 0 };
            let _ = self.register(UNREGISTER_RING_FDS, &mut update);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_buffers_are_used_by_their_index() {
        let submission = |op| Submission {
            op,
            flags: 0,
            prio: 0,
            len: 512,
            offset: 0,
            buf: std::ptr::null_mut(),
            slot: 9,
            hint: 0,
            buf_index: 0,
            aux: 0,
            at_ns: 0,
            reserved: 0,
        };
        let file = Arc::new(OwnedFd::from(tempfile::tempfile().unwrap()));
        let mut ring = Ring::new(Setup::Plain, 1, file).unwrap();
        let codes = |ring: &Ring| {
            [Op::Read, Op::Write, Op::Flush].map(|op| {
                let entry = ring.entries.entry(&submission(op as u8)).unwrap();
                assert_eq!(entry.get_user_data(), 9);
                entry.get_opcode() as u8
            })
        };
        assert_eq!(codes(&ring), [opcode::Read::CODE, opcode::Write::CODE, opcode::Fsync::CODE]);
        let mut memory = vec![0; 4096];
        ring.register_buffers(&Buffers { blocks: vec![(memory.as_mut_ptr(), 4096)] }).unwrap();
        assert_eq!(codes(&ring), [opcode::ReadFixed::CODE, opcode::WriteFixed::CODE, opcode::Fsync::CODE]);
        assert!(ring.entries.entry(&submission(99)).is_none());
        drop(ring);
        drop(memory);
    }
}
