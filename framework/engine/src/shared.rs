//! What the threads of a step share: when it ends, why it failed, and the way of intervals between a worker
//! and the collector.

use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use crossbeam_queue::ArrayQueue;
use iodyno_record::End;

use crate::interval::Interval;

/// A fault that ends a step.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Too many failed I/O in a row.
    Errors(String),
    /// A plugin, the system or this crate failed.
    Failed(String),
}

/// The common state of a step.
pub(crate) struct Shared {
    /// When submission ends, ns since the step's start. Only ever moved forward.
    end_ns: AtomicU64,
    first_fault: Mutex<Option<Fault>>,
}

impl Shared {
    /// A step that ends at `end_ns` unless something happens before; `u64::MAX` = when its workloads end.
    pub(crate) fn new(end_ns: u64) -> Self {
        Shared { end_ns: AtomicU64::new(end_ns), first_fault: Mutex::new(None) }
    }

    /// When submission ends.
    #[inline]
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns.load(Relaxed)
    }

    /// Ends submission at `now_ns` if it did not end before.
    pub(crate) fn stop(&self, now_ns: u64) {
        self.end_ns.fetch_min(now_ns, Relaxed);
    }

    /// Ends submission because of a fault; the first one counts.
    pub(crate) fn fail(&self, now_ns: u64, fault: Fault) {
        self.stop(now_ns);
        let mut first = self.first_fault.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        first.get_or_insert(fault);
    }

    /// The first fault, if there was one.
    pub(crate) fn fault(&self) -> Option<End> {
        let first = self.first_fault.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        first.map(|fault| match fault {
            Fault::Errors(reason) => End::Errors { reason },
            Fault::Failed(reason) => End::Failed { reason },
        })
    }
}

/// Takes intervals from a worker to the collector and back, without locks or allocations.
pub(crate) struct Mailbox {
    full: ArrayQueue<Interval>,
    empty: ArrayQueue<Interval>,
    closed: AtomicBool,
}

impl Mailbox {
    /// For a worker that has `intervals` of them.
    pub(crate) fn new(intervals: usize) -> Self {
        Mailbox {
            full: ArrayQueue::new(intervals),
            empty: ArrayQueue::new(intervals),
            closed: AtomicBool::new(false),
        }
    }

    /// From the worker.
    pub(crate) fn send(&self, interval: Interval) {
        let kept = self.full.push(interval);
        assert!(kept.is_ok(), "a mailbox holds all intervals of its worker");
    }

    /// To the collector.
    pub(crate) fn receive(&self) -> Option<Interval> {
        self.full.pop()
    }

    /// From the collector, cleared.
    pub(crate) fn give_back(&self, interval: Interval) {
        let kept = self.empty.push(interval);
        assert!(kept.is_ok(), "a mailbox holds all intervals of its worker");
    }

    /// To the worker.
    pub(crate) fn take_back(&self) -> Option<Interval> {
        self.empty.pop()
    }

    /// The worker sends nothing more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Release);
    }

    /// Whether the worker is over. What it sent before is there to be received.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Acquire)
    }

    /// Whether something waits for the collector.
    pub(crate) fn has_mail(&self) -> bool {
        !self.full.is_empty()
    }
}
