//! Backends: how I/O reaches a target.

use std::os::fd::BorrowedFd;

use crate::abi::{Completion, OpSet, Submission, Turn, Wait};
use crate::error::Result;

/// An I/O backend with its options.
pub trait Backend: Send + Sync {
    /// Opens a target. Must not write to it, and must probe what it will need, so that `auto` can take
    /// another backend while nothing has started.
    ///
    /// `inner` is the target below, for a backend that stands over another (a fault injector).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unsupported`] when this machine or target cannot be driven by this backend.
    fn open(&self, target: &TargetSpec<'_>, inner: Option<Box<dyn Target>>) -> Result<Box<dyn Target>>;
}

/// What kind of thing a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A block device.
    Block,
    /// A character device without storage, such as `/dev/null`.
    Char,
    /// Nothing behind it: `null` and `sim` need a size only.
    Virtual,
}

impl TargetKind {
    /// Those that a file descriptor stands for.
    pub const WITH_FD: &'static [TargetKind] = &[TargetKind::File, TargetKind::Block, TargetKind::Char];
}

/// The target to open. The descriptor *is* the grant: it was opened by the device guard with its final
/// flags, is read-only where nothing may be written, and a backend only duplicates it.
#[derive(Clone, Copy, Debug)]
pub struct TargetSpec<'a> {
    /// Label for messages.
    pub label: &'a str,
    /// What it is.
    pub kind: TargetKind,
    /// The open descriptor; `None` for [`TargetKind::Virtual`].
    pub fd: Option<BorrowedFd<'a>>,
    /// Size in bytes.
    pub len: u64,
    /// Offsets, lengths and buffers must be multiples of this many bytes.
    pub granule: u32,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// Whether the descriptor may write.
    pub writable: bool,
    /// Seed for backends that draw (simulated service times).
    pub seed: u64,
}

/// How a target completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionStyle {
    /// Within the submitting call.
    Inline,
    /// Later, by interrupt or by another thread.
    Interrupt,
    /// Later, and only when somebody looks.
    Polled,
}

/// What an open target can do.
#[derive(Clone, Copy, Debug)]
pub struct TargetInfo {
    /// Operations that it takes.
    pub ops: OpSet,
    /// Bytes: offsets and lengths must be multiples.
    pub granule: u32,
    /// Most bytes of one I/O.
    pub max_len: u32,
    /// Most outstanding I/O of one queue. The engine starts more workers where a stream wants more.
    pub max_depth: u32,
    /// Whether time is virtual: `turn` gives completions at once, with their `finish_ns`.
    pub simulated: bool,
    /// How it completes; the engine chooses how it takes stamps by it.
    pub completion: CompletionStyle,
}

/// A fact about what is in use, recorded with the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What, snake case: `registered_buffers`.
    pub name: String,
    /// How: `yes`, `no`, `128`.
    pub value: String,
    /// If it is less than was wanted: why, and what would mend it.
    pub fallback: Option<String>,
}

/// An open target.
pub trait Target: Send + Sync {
    /// What it can do.
    fn info(&self) -> TargetInfo;

    /// Memory of `len` bytes for buffers, where the backend needs its own (DMA); `None` = the engine's will do.
    fn alloc(&self, len: usize, align: usize) -> Option<Result<DmaBlock>> {
        let _ = (len, align);
        None
    }

    /// A queue for one worker. Called on the thread that will drive it.
    ///
    /// # Errors
    /// When the system refuses; what is only slower is a [`Fact`] instead.
    fn queue(&self, spec: &QueueSpec, buffers: &Buffers) -> Result<Box<dyn Queue>>;
}

/// Memory that a backend allocated. Returned to it by `free`.
#[derive(Debug)]
#[repr(C)]
pub struct DmaBlock {
    /// Start.
    pub ptr: *mut u8,
    /// Bytes.
    pub len: usize,
    /// Gives it back.
    pub free: extern "C" fn(*mut u8, usize),
}

/// What a queue must hold.
#[derive(Clone, Copy, Debug)]
pub struct QueueSpec {
    /// Outstanding I/O at most; slots are `0..depth`.
    pub depth: u32,
    /// Which worker, from 0.
    pub worker: u32,
}

/// The worker's buffer memory, for backends that register it. Valid for as long as the queue lives. The engine
/// fills it before it makes a queue: what a backend never writes to does not look like zeroes that it read.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    /// Start and length of each block, at most 1 GiB; `Submission::buf_index` names one.
    pub blocks: Vec<(*mut u8, usize)>,
}

/// A queue, used by one thread only.
pub trait Queue {
    /// Hands over a batch and takes back completions, with at most one kernel entry.
    ///
    /// Takes submissions from the front of `sub` and writes completions to the front of `done`. Waits until
    /// there are `wait.min` completions, the timeout is over, a signal arrives, `done` is full or nothing is in
    /// flight. Returns as soon as `wait.min` is reached, with all that is there. A failed I/O is a completion
    /// with its errno.
    ///
    /// # Safety
    /// Every `buf` must be valid for `len` bytes (readable for a write, writable for a read) until its
    /// completion has been returned or the queue has been dropped, and no slot may be used twice at a time.
    ///
    /// # Errors
    /// The queue is dead; what is in flight is lost.
    #[expect(unsafe_code, reason = "buffers must outlive the I/O, which the type system cannot say")]
    unsafe fn turn(&mut self, sub: &[Submission], done: &mut [Completion], wait: Wait) -> Result<Turn>;

    /// Asks to give up the I/O of `slot`, whose completion still comes.
    ///
    /// # Errors
    /// When this backend cannot cancel.
    fn cancel(&mut self, slot: u32) -> Result<()> {
        let _ = slot;
        Err(crate::Error::unsupported("this backend cannot cancel an i/o"))
    }

    /// What was in use on this queue, and what stood in its way: features, fallbacks, calls that were refused.
    /// Asked for once, after its last turn, which may have failed.
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }
}
