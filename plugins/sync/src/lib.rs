//! The backend `sync`: one blocking system call an I/O, `pread`, `pwrite` or `fdatasync`. It works on every
//! kernel and in every container.
//!
//! A queue holds one I/O. The engine starts a worker, which is a thread, for each outstanding I/O.
#![expect(unsafe_code, reason = "does I/O on buffers that it gets as raw memory")]

use std::os::fd::OwnedFd;
use std::slice;
use std::sync::Arc;

use iodyno_plugin::{
    Backend, Buffers, Completion, CompletionStyle, Error, Factory, Op, OpSet, Plugin, Queue, QueueSpec,
    Result, Submission, Target, TargetInfo, TargetKind, TargetSpec, Turn, Wait, register,
};
use rustix::fs::fdatasync;
use rustix::io::{Errno, pread, pwrite, retry_on_intr};

register! {
    Plugin {
        name: "sync",
        version: env!("CARGO_PKG_VERSION"),
        summary: "one blocking system call an I/O, one thread for each outstanding I/O",
        options: &[],
        factory: Factory::Backend {
            create: |_| Ok(Arc::new(SyncBackend)),
            auto_rank: Some(2),
            drives: TargetKind::WITH_FD,
        },
    }
}

struct SyncBackend;

impl Backend for SyncBackend {
    fn open(&self, target: &TargetSpec<'_>, _inner: Option<Box<dyn Target>>) -> Result<Box<dyn Target>> {
        let Some(fd) = target.fd else {
            let text = format!("`{}` is no file and no device: use the backend null or sim", target.label);
            return Err(Error::unsupported(text));
        };
        let fd = fd.try_clone_to_owned().map_err(|e| Error::system("cannot duplicate the descriptor", e))?;
        Ok(Box::new(SyncTarget { fd: Arc::new(fd), ops: ops(target), granule: target.granule }))
    }
}

fn ops(target: &TargetSpec<'_>) -> OpSet {
    match (target.writable, target.kind) {
        (false, _) => OpSet::READ,
        // There is nothing to flush: fdatasync says EINVAL.
        (true, TargetKind::Char) => OpSet::READ.with(Op::Write),
        (true, _) => OpSet::ALL,
    }
}

struct SyncTarget {
    fd: Arc<OwnedFd>,
    ops: OpSet,
    granule: u32,
}

impl Target for SyncTarget {
    fn info(&self) -> TargetInfo {
        TargetInfo {
            ops: self.ops,
            granule: self.granule,
            max_len: 1 << 30,
            max_depth: 1,
            simulated: false,
            completion: CompletionStyle::Inline,
        }
    }

    fn queue(&self, _: &QueueSpec, _: &Buffers) -> Result<Box<dyn Queue>> {
        Ok(Box::new(SyncQueue { fd: Arc::clone(&self.fd) }))
    }
}

struct SyncQueue {
    fd: Arc<OwnedFd>,
}

impl Queue for SyncQueue {
    unsafe fn turn(&mut self, sub: &[Submission], done: &mut [Completion], _: Wait) -> Result<Turn> {
        let (Some(s), Some(completion)) = (sub.first(), done.first_mut()) else { return Ok(Turn::default()) };
        let Some(op) = Op::from_code(s.op) else {
            return Err(Error::contract(format!("operation code {} is not known", s.op)));
        };
        // SAFETY: our caller promises that the buffer is valid until the completion has been returned.
        let result = retry_on_intr(|| unsafe { self.transfer(op, s) });
        *completion = Completion { slot: s.slot, ..Completion::default() };
        match result {
            Ok(bytes) => completion.bytes = bytes as u32,
            Err(e) => completion.errno = e.raw_os_error(),
        }
        Ok(Turn { accepted: 1, completed: 1 })
    }
}

impl SyncQueue {
    /// Does one I/O and gives the bytes moved.
    ///
    /// # Safety
    /// `s.buf` must be valid for `s.len` bytes, and nobody else may write to it, or for a read touch it.
    unsafe fn transfer(&self, op: Op, s: &Submission) -> std::result::Result<usize, Errno> {
        let len = s.len as usize;
        match op {
            Op::Read => {
                // SAFETY: by the promise above.
                let buffer = unsafe { slice::from_raw_parts_mut(s.buf, len) };
                pread(&*self.fd, buffer, s.offset)
            }
            Op::Write => {
                // SAFETY: by the promise above.
                let buffer = unsafe { slice::from_raw_parts(s.buf, len) };
                pwrite(&*self.fd, buffer, s.offset)
            }
            Op::Flush => fdatasync(&*self.fd).map(|()| 0),
        }
    }
}
