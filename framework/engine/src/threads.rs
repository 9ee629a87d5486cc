//! Runs a step on real threads: starts the workers together, collects while they run, waits for them.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope, ScopedJoinHandle, Thread};
use std::time::Duration;

use crate::Command;
use crate::clock::{Clock, monotonic_ns};
use crate::collect::Collector;
use crate::cpu::Helpers;
use crate::job::{Job, WorkerEnd, caught, said};
use crate::lane::Lanes;
use crate::recorder::Recorder;
use crate::shared::{Fault, Mailbox, Shared};

/// Longest sleep of the collector: a stop is noticed and windows are told this fast.
const TICK: Duration = Duration::from_millis(50);
/// From a stop to its time, so that no worker is beyond it when it learns of it.
const STOP_AHEAD_NS: u64 = 1_000_000;
/// Kernel threads are looked for so often while there are none.
const LOOK_EVERY_NS: u64 = 250_000_000;

/// Holds workers until all are ready, then gives them the step's start.
#[derive(Default)]
struct Gate(AtomicU64);

impl Gate {
    const ABANDONED: u64 = u64::MAX;

    fn open(&self, origin_ns: u64) {
        self.0.store(origin_ns, SeqCst);
    }

    /// The start, or `None` when there is none.
    fn pass(&self) -> Option<u64> {
        loop {
            match self.0.load(SeqCst) {
                0 => thread::park(),
                Self::ABANDONED => return None,
                origin_ns => return Some(origin_ns),
            }
        }
    }
}

/// Stops the workers when the collector's side is left early, by a panic of the caller's.
struct StopOnDrop<'a>(&'a Shared);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop(0);
        }
    }
}

/// What a worker needs to start together with the others.
struct Start<'a> {
    gate: &'a Gate,
    ready: Sender<Ready>,
    over: Over<'a>,
}

struct Ready {
    worker: usize,
    /// The thread's id.
    opened: Result<u32, String>,
}

/// Tells the collector that a worker is over, however that came.
struct Over<'a> {
    mailbox: &'a Mailbox,
    caller: Thread,
}

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.mailbox.close();
        self.caller.unpark();
    }
}

/// Runs a step and waits for its end. Gives what each worker came to.
pub(crate) fn run(
    job: &Job<'_>,
    lanes: Vec<Lanes>,
    collector: &mut Collector<'_>,
    commands: &Receiver<Command>,
) -> Vec<WorkerEnd> {
    let intervals = Recorder::intervals(job.schedule);
    let mailboxes: Vec<Mailbox> = lanes.iter().map(|_| Mailbox::new(intervals)).collect();
    let gate = Gate::default();
    thread::scope(|scope| {
        let _stop = StopOnDrop(&job.shared);
        let (ready, opened) = channel();
        let mut handles = Vec::with_capacity(lanes.len());
        for (worker, (lanes, mailbox)) in lanes.into_iter().zip(&mailboxes).enumerate() {
            let over = Over { mailbox, caller: thread::current() };
            let start = Start { gate: &gate, ready: ready.clone(), over };
            match spawn(scope, worker, move || work(job, worker, lanes, start)) {
                Ok(handle) => handles.push(handle),
                Err(reason) => {
                    job.shared.fail(0, Fault::Failed(reason));
                    break;
                }
            }
        }
        drop(ready);
        let tids = all_ready(job, handles.len(), &opened);
        let origin_ns = if job.shared.end_ns() == 0 { Gate::ABANDONED } else { monotonic_ns() };
        gate.open(origin_ns);
        handles.iter().for_each(|handle| handle.thread().unpark());
        let helpers =
            watch(job, Clock { origin_ns }, &mailboxes[..handles.len()], collector, commands, &tids);
        let ended = |(handle, helper_ns): (ScopedJoinHandle<'_, Option<WorkerEnd>>, u64)| match handle.join()
        {
            Ok(end) => WorkerEnd { helper_ns, ..end.unwrap_or(WorkerEnd::ABSENT) },
            Err(panic) => {
                job.shared.fail(0, Fault::Failed(format!("the engine panicked: {}", said(&*panic))));
                WorkerEnd::ABSENT
            }
        };
        handles.into_iter().zip(helpers).map(ended).collect()
    })
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    worker: usize,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, String> {
    let builder = thread::Builder::new().name(format!("iodyno-w{worker}"));
    builder.spawn_scoped(scope, work).map_err(|e| {
        format!("cannot start worker {worker}: {e}; ask for less outstanding or raise the limit of threads (ulimit -u)")
    })
}

/// Waits until all workers have their queues. Gives their thread ids.
fn all_ready(job: &Job<'_>, workers: usize, opened: &Receiver<Ready>) -> Vec<u32> {
    let mut tids = vec![0; workers];
    for Ready { worker, opened } in opened {
        match opened {
            Ok(tid) => tids[worker] = tid,
            Err(reason) => job.shared.fail(0, Fault::Failed(reason)),
        }
    }
    tids
}

/// A worker's thread.
fn work(job: &Job<'_>, worker: usize, mut lanes: Lanes, start: Start<'_>) -> Option<WorkerEnd> {
    let Start { gate, ready, over } = start;
    let opened = job.open(worker, &mut lanes);
    let (opened, told) = match opened {
        Ok(opened) => (Some(opened), Ok(rustix::thread::gettid().as_raw_nonzero().get() as u32)),
        Err(reason) => (None, Err(reason)),
    };
    // Nobody listens only when the step was given up.
    let _ = ready.send(Ready { worker, opened: told });
    drop(ready);
    let clock = Clock { origin_ns: gate.pass()? };
    let mut driver = job.driver(opened?, lanes, over.mailbox);
    let left = caught(|| driver.run(clock));
    Some(job.end(driver, left, clock.now()))
}

/// Collects until all workers are over. Gives the CPU time of kernel threads for each of them, ns.
fn watch(
    job: &Job<'_>,
    clock: Clock,
    mailboxes: &[Mailbox],
    collector: &mut Collector<'_>,
    commands: &Receiver<Command>,
    tids: &[u32],
) -> Vec<u64> {
    let tick = TICK.min(Duration::from_nanos(job.schedule.interval_ns)).max(Duration::from_millis(1));
    let (mut helpers, mut next_look_ns) = (Helpers::new(), 0);
    let tids: Vec<u32> = tids.iter().map(|tid| Helpers::name_of(*tid)).collect();
    let helped = |helpers: &Helpers| tids.iter().map(|tid| helpers.on_behalf_of(*tid)).collect::<Vec<_>>();
    // What there was at the end of the warm-up; nothing, where there is none.
    let mut before = (job.schedule.warmup_ns == 0).then(|| vec![0; tids.len()]);
    let mut running: Vec<usize> = (0..mailboxes.len()).collect();
    while !running.is_empty() {
        thread::park_timeout(tick);
        if let Ok(Command::Stop) = commands.try_recv() {
            job.shared.stop(clock.now() + STOP_AHEAD_NS);
        }
        running.retain(|worker| {
            // Looked at before its mail is received: so nothing is left behind.
            let over = mailboxes[*worker].is_closed();
            collector.receive(*worker, &mailboxes[*worker]);
            if over {
                collector.ended(*worker);
            }
            !over
        });
        collector.tell();
        let now_ns = clock.now();
        collector.progress(now_ns);
        let warmed_up = before.is_none() && now_ns >= job.schedule.warmup_ns;
        if now_ns >= next_look_ns || helpers.any() || running.is_empty() || warmed_up {
            next_look_ns = now_ns + LOOK_EVERY_NS;
            helpers.look();
        }
        if warmed_up {
            before = Some(helped(&helpers));
        }
    }
    let before = before.unwrap_or_else(|| vec![0; tids.len()]);
    helped(&helpers).iter().zip(before).map(|(after, before)| after - before).collect()
}
