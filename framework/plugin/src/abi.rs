//! Plain data that crosses the plugin border: `repr(C)`, no pointers to Rust types, no padding that
//! matters, reserved fields from the start. Array elements never grow within a major version.
//!
//! This module uses `core` only.

/// Operation codes as they cross the border. Unknown codes are refused, never guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Op {
    /// Read `len` bytes at `offset`.
    Read = 0,
    /// Write `len` bytes at `offset`.
    Write = 1,
    /// Make all completed writes durable; `offset` and `len` are 0.
    Flush = 2,
}

impl Op {
    /// How many operation codes there are; codes are `0..COUNT`.
    pub const COUNT: usize = 3;
    /// Every operation in the order of its code.
    pub const ALL: [Op; Op::COUNT] = [Op::Read, Op::Write, Op::Flush];

    /// The operation of a code, or `None` when this version does not know it.
    pub const fn from_code(code: u8) -> Option<Op> {
        match code {
            0 => Some(Op::Read),
            1 => Some(Op::Write),
            2 => Some(Op::Flush),
            _ => None,
        }
    }

    /// The word for it in suites, records and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "flush",
        }
    }
}

/// A set of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct OpSet(pub u32);

impl OpSet {
    /// No operation.
    pub const EMPTY: OpSet = OpSet(0);
    /// Reads alone: what a target without a write grant allows.
    pub const READ: OpSet = OpSet(1 << Op::Read as u32);
    /// All operations that this version knows.
    pub const ALL: OpSet = OpSet((1 << Op::COUNT as u32) - 1);

    /// This set and `op`.
    #[must_use]
    pub const fn with(self, op: Op) -> OpSet {
        OpSet(self.0 | 1 << op as u32)
    }

    /// Whether `op` is in the set.
    pub const fn has(self, op: Op) -> bool {
        self.0 & 1 << op as u32 != 0
    }

    /// Whether it holds an operation that needs a descriptor open for writing.
    pub const fn writes(self) -> bool {
        self.0 & !OpSet::READ.0 != 0
    }

    /// The operations in the set, in the order of their codes.
    pub fn iter(self) -> impl Iterator<Item = Op> {
        Op::ALL.into_iter().filter(move |op| self.has(*op))
    }
}

/// What a workload asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Request {
    /// Code of an [`Op`].
    pub op: u8,
    /// None defined; must be 0.
    pub flags: u8,
    /// Free for the workload, handed on to the backend (a placement hint, later).
    pub hint: u16,
    /// Bytes; a multiple of the granule, 0 for a flush.
    pub len: u32,
    /// Bytes from the start of the stream's region.
    pub offset: u64,
    /// Intended start in ns from the start of the step; 0 = the load decides. A replay sets it.
    pub at_ns: u64,
    /// Must be 0.
    pub reserved: u64,
}

/// What the engine hands to a backend.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Submission {
    /// Code of an [`Op`], checked.
    pub op: u8,
    /// None defined; 0.
    pub flags: u8,
    /// Priority as the kernel's `ioprio`; 0 = none.
    pub prio: u16,
    /// Bytes.
    pub len: u32,
    /// Bytes from the start of the target.
    pub offset: u64,
    /// Memory of at least `len` bytes, valid until the completion; null for a flush.
    pub buf: *mut u8,
    /// Names this I/O until its completion; below the queue's depth.
    pub slot: u32,
    /// The request's hint.
    pub hint: u16,
    /// Which block of [`crate::Buffers`] holds `buf`.
    pub buf_index: u16,
    /// Free for later operations (a second offset, a zone).
    pub aux: u64,
    /// Time of submission in ns of the engine's clock. Simulated targets count from it; others ignore it.
    pub at_ns: u64,
    /// 0.
    pub reserved: u64,
}

/// What a backend gives back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Completion {
    /// The submission's slot.
    pub slot: u32,
    /// 0, or a positive errno.
    pub errno: i32,
    /// Bytes moved; fewer than asked is a short I/O.
    pub bytes: u32,
    /// NVMe status, where there is one.
    pub status: u32,
    /// A result value (zone append: the address).
    pub value: u64,
    /// Simulated targets only: when it finishes, in ns of the engine's clock.
    pub finish_ns: u64,
    /// 0.
    pub reserved: u64,
}

/// What a workload that asked for it learns of a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Feedback {
    /// Which request of the stream, counted from 0 in the order of fill.
    pub seq: u64,
    /// Submit to completion, ns.
    pub service_ns: u64,
    /// 0, or a positive errno.
    pub errno: i32,
    /// Bytes moved.
    pub bytes: u32,
}

/// How long a [`crate::Queue::turn`] may wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Wait {
    /// Completions to wait for; 0 = only look.
    pub min: u32,
    /// 0.
    pub reserved: u32,
    /// Upper bound of the wait in ns; `u64::MAX` = none.
    pub timeout_ns: u64,
}

/// What a [`crate::Queue::turn`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Turn {
    /// Submissions taken, from the front of the batch. The engine offers the rest again.
    pub accepted: u32,
    /// Completions written to the front of `done`.
    pub completed: u32,
}
