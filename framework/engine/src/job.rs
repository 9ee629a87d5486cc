//! A step that is ready to run, and what every worker of it does at its start and end, in real or virtual time.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use iodyno_plugin::QueueSpec;
use iodyno_record::{Fact, StepSpec};

use crate::Parts;
use crate::cpu::CpuSpan;
use crate::interval::Interval;
use crate::lane::Lanes;
use crate::layout::Layout;
use crate::memory::{BufferShape, IoBuffers};
use crate::queue::SlotQueue;
use crate::recorder::{Recorder, Schedule};
use crate::shared::{Fault, Mailbox, Shared};
use crate::worker::{Driver, ErrorRow, Left};

/// A step that is ready to run.
pub(crate) struct Job<'a> {
    pub(crate) spec: &'a StepSpec,
    pub(crate) parts: &'a Parts,
    pub(crate) layout: &'a Layout,
    pub(crate) schedule: Schedule,
    pub(crate) shared: Shared,
}

/// What a worker tells at its end.
#[derive(Debug)]
pub(crate) struct WorkerEnd {
    pub(crate) cpu: CpuSpan,
    pub(crate) helper_ns: u64,
    pub(crate) in_flight_max: u32,
    /// It stopped before its workloads were done.
    pub(crate) stopped: bool,
    /// When the workload of each of its lanes was done, by stream.
    pub(crate) done_ns: Vec<(usize, Option<u64>)>,
    /// What its queue told of itself.
    pub(crate) facts: Vec<Fact>,
}

impl WorkerEnd {
    /// Of a worker that never ran.
    pub(crate) const ABSENT: WorkerEnd = WorkerEnd {
        cpu: CpuSpan { user_ns: 0, system_ns: 0 },
        helper_ns: 0,
        in_flight_max: 0,
        stopped: true,
        done_ns: Vec::new(),
        facts: Vec::new(),
    };
}

/// A queue with what it needs, open.
pub(crate) struct Opened {
    pub(crate) queue: SlotQueue,
    pub(crate) intervals: Vec<Interval>,
}

impl Job<'_> {
    /// Opens the queue of a worker, on the thread that will drive it.
    ///
    /// # Errors
    /// When there is no memory, or the backend cannot or panics.
    pub(crate) fn open(&self, worker: usize, lanes: &mut Lanes) -> Result<Opened, String> {
        let (target, simulated) = (&*self.parts.target, self.layout.target.simulated);
        let depth = lanes.depth();
        let (mut shapes, zeroes) = lanes.buffer_shapes();
        if simulated {
            // No data moves, and nothing outlives a turn: one buffer does for all.
            let len = shapes.iter().map(|shape| shape.len).max().unwrap_or(0);
            shapes = vec![BufferShape { count: 1, spares: 0, len }];
        }
        let mut buffers = guarded(|| IoBuffers::new(target, &shapes, zeroes, |out| lanes.scribble(out)))
            .map_err(|e| self.backend(&e))?
            .map_err(|e| self.backend(&e))?;
        if simulated {
            buffers.places = vec![buffers.places[0]; depth as usize];
        }
        let registered = buffers.register();
        let spec = QueueSpec { depth, worker: worker as u32 };
        let queue = guarded(|| target.queue(&spec, &registered)).map_err(|e| self.backend(&e))?;
        let queue = queue.map_err(|e| self.backend(&format!("cannot open a queue: {e}")))?;
        let done = if simulated { depth as usize } else { lanes.batch() };
        let cells = self.layout.cells.len();
        let count = Recorder::intervals(self.schedule);
        let intervals = (0..count).map(|_| Interval::new(cells)).collect::<Result<_, _>>()?;
        Ok(Opened { queue: SlotQueue::new(queue, buffers, done), intervals })
    }

    /// A driver over what was opened.
    pub(crate) fn driver<'d>(&'d self, opened: Opened, lanes: Lanes, mailbox: &'d Mailbox) -> Driver<'d> {
        let cells = lanes.cells();
        let mut recorder = Recorder::new(self.schedule, &self.shared, mailbox, opened.intervals, cells);
        recorder.start();
        let errors = ErrorRow { shared: &self.shared, in_a_row: 0, max: self.spec.consecutive_errors_max };
        Driver { queue: opened.queue, lanes, recorder, shared: &self.shared, errors, idle: 0 }
    }

    /// Ends a driver whose loop gave `left` (or panicked), at `now_ns`.
    pub(crate) fn end(
        &self,
        mut driver: Driver<'_>,
        left: thread::Result<Result<Left, String>>,
        now_ns: u64,
    ) -> WorkerEnd {
        let reason = match &left {
            Ok(Ok(_)) => None,
            Ok(Err(reason)) => Some(self.backend(reason)),
            Err(panic) => Some(self.panicked(&driver, &**panic)),
        };
        let failed = reason.is_some();
        if let Some(reason) = reason {
            driver.queue.distrust();
            self.shared.fail(now_ns, Fault::Failed(reason));
        }
        let done_ns = driver.lanes.done_ns().collect();
        let report = driver.recorder.finish(failed.then_some(now_ns));
        let mut facts = Vec::new();
        let close = || {
            facts = driver.queue.facts();
            drop((driver.queue, driver.lanes));
        };
        if let Err(reason) = guarded(close) {
            self.shared
                .fail(now_ns, Fault::Failed(format!("a plugin panicked while it was closed: {reason}")));
        }
        let stopped = !matches!(left, Ok(Ok(Left::Done)));
        let in_flight_max = report.in_flight_max;
        WorkerEnd { cpu: report.cpu, helper_ns: 0, in_flight_max, stopped, done_ns, facts }
    }

    fn panicked(&self, driver: &Driver<'_>, panic: &(dyn Any + Send)) -> String {
        let said = said(panic);
        match driver.lanes.calling() {
            _ if driver.queue.is_unsure() => self.backend(&format!("panicked: {said}")),
            Some(title) => format!("{title} panicked: {said}"),
            None => format!("the engine panicked: {said}"),
        }
    }

    fn backend(&self, reason: &str) -> String {
        format!("backend `{}`: {reason}", self.parts.backend)
    }
}

/// Calls plugins; what they left behind when they panicked is dropped, or looked at with care.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> thread::Result<T> {
    catch_unwind(AssertUnwindSafe(call))
}

/// Calls a plugin; a panic becomes an error.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    caught(call).map_err(|panic| format!("panicked: {}", said(&*panic)))
}

/// What a panic said.
pub(crate) fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
