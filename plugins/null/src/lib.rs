//! The backend `null`: completes every I/O at once and does nothing. It shows what iodyno itself costs, and it
//! is the backend to copy when you write your own.
//!
//! # Writing a backend
//!
//! A backend says how requests reach a target, in three steps from the slow to the fast:
//!
//! 1. [`register!`] declares the plugin: its name, its options, and a function that makes the [`Backend`] from
//!    them. Options have a closed set of types, see [`iodyno_plugin::OptionKind`]; this backend has none.
//! 2. [`Backend::open`] is called once a step with the target. It finds out whether this machine and this
//!    target can be driven, so that `auto` can take another backend while nothing has started, and gives a
//!    [`Target`], which says in [`Target::info`] what it can do.
//! 3. [`Target::queue`] is called once for each worker, on its thread. [`Queue::turn`] is the data path: it
//!    takes a batch of I/O and gives back those that are over, with at most one kernel entry. It must not
//!    allocate, lock or print.
//!
//! A failed I/O is a completion with its errno, never an `Err`: that says that the whole queue is dead. What
//! is slower than it could be, but works, is a [`iodyno_plugin::Fact`] of the queue.
//!
//! Then name your crate in `framework/builtins`, and test it as the bottom of this file does:
//! `iodyno_plugin::conformance` drives any target through everything that the engine may ask of it. The
//! backend `sync` is the next one to read: it does I/O.
#![expect(unsafe_code, reason = "implements `turn`, whose caller answers for the buffers")]

use std::sync::Arc;

use iodyno_plugin::{
    Backend, Buffers, Completion, CompletionStyle, Error, Factory, OpSet, Plugin, Queue, QueueSpec, Result,
    Submission, Target, TargetInfo, TargetKind, TargetSpec, Turn, Wait, register,
};

register! {
    Plugin {
        name: "null",
        version: env!("CARGO_PKG_VERSION"),
        summary: "completes every I/O at once and does nothing: shows what iodyno itself costs",
        options: &[],
        factory: Factory::Backend {
            create: |_| Ok(Arc::new(Null)),
            auto_rank: None,
            drives: &[TargetKind::Virtual],
        },
    }
}

/// The backend. One that has options keeps them here.
struct Null;

impl Backend for Null {
    fn open(&self, target: &TargetSpec<'_>, _inner: Option<Box<dyn Target>>) -> Result<Box<dyn Target>> {
        // Whoever names a device would believe that it was measured.
        if target.kind != TargetKind::Virtual {
            let text = format!("null does no i/o and `{}` is a real target: give a size only", target.label);
            return Err(Error::unsupported(text));
        }
        Ok(Box::new(NullTarget { granule: target.granule }))
    }
}

/// An open target. One that does I/O keeps a duplicate of the descriptor.
struct NullTarget {
    granule: u32,
}

impl Target for NullTarget {
    fn info(&self) -> TargetInfo {
        TargetInfo {
            ops: OpSet::ALL,
            granule: self.granule,
            max_len: 1 << 30,
            max_depth: 1 << 20,
            simulated: false,
            completion: CompletionStyle::Inline,
        }
    }

    fn queue(&self, _: &QueueSpec, _: &Buffers) -> Result<Box<dyn Queue>> {
        Ok(Box::new(NullQueue))
    }
}

/// A queue of one worker. One that does I/O keeps what is in flight.
struct NullQueue;

impl Queue for NullQueue {
    // Reads leave the buffers as they are. The engine has filled them, so they do not count as zeroes.
    unsafe fn turn(&mut self, sub: &[Submission], done: &mut [Completion], _: Wait) -> Result<Turn> {
        // As many as `done` has room for: the engine offers the rest again.
        let n = sub.len().min(done.len()) as u32;
        for (s, completion) in sub.iter().zip(done) {
            *completion = Completion { slot: s.slot, bytes: s.len, ..Completion::default() };
        }
        Ok(Turn { accepted: n, completed: n })
    }
}

#[cfg(test)]
mod tests {
    use iodyno_plugin::conformance::{self, CheckedQueue, Io, UNTOUCHED};
    use iodyno_plugin::{ErrorKind, Op, Options};

    use super::*;

    const SPEC: TargetSpec<'_> = TargetSpec {
        label: "nothing",
        kind: TargetKind::Virtual,
        fd: None,
        len: 1 << 30,
        granule: 512,
        direct: true,
        writable: true,
        seed: 0,
    };

    fn open(spec: &TargetSpec<'_>) -> Result<Box<dyn Target>> {
        conformance::backend("null", &Options::default())?.open(spec, None)
    }

    #[test]
    fn it_keeps_the_contract() {
        conformance::check(&*open(&SPEC).unwrap(), SPEC.len);
    }

    #[test]
    fn everything_completes_at_once_and_buffers_stay() {
        let mut queue = CheckedQueue::new(&*open(&SPEC).unwrap(), 3, 4096);
        let io = |slot| Io { op: Op::ALL[slot as usize], slot, offset: 0, len: slot * 512, shift: 0 };
        let turned = queue.turn(&[io(2), io(0), io(1)], 2, Wait::default());
        let done: Vec<_> = turned.completions.iter().map(|c| (c.slot, c.errno, c.bytes)).collect();
        assert_eq!((turned.accepted, done), (2, vec![(2, 0, 1024), (0, 0, 0)]));
        let memory = queue.drop_queue();
        assert!((0..3).all(|slot| memory.buffer(slot).iter().all(|byte| *byte == UNTOUCHED)));
    }

    #[test]
    fn a_real_target_is_refused() {
        let error = open(&TargetSpec { kind: TargetKind::Block, ..SPEC }).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("`nothing` is a real target"), "{error}");
    }
}
