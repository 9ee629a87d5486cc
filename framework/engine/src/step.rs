//! Runs one step from its spec to its result.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use iodyno_plugin::CompletionStyle;
use iodyno_record::{End, StepResult, StepSpec};

use crate::clock::unix_ms;
use crate::collect::Collector;
use crate::job::{Job, WorkerEnd, caught, guarded};
use crate::lane::Lanes;
use crate::layout::Layout;
use crate::payload::{Noise, Payload};
use crate::recorder::{Recorder, Schedule};
use crate::result::{self, Outcome};
use crate::shared::{Fault, Mailbox, Shared};
use crate::simulate::simulate;
use crate::threads;
use crate::{Command, Message, Parts};

/// Runs a step. Blocks until it is over: as planned, on [`Command::Stop`], or because something failed
/// ([`End::Failed`], with the name of the plugin, also for one that panics). In any case everything in flight is
/// waited for, unless its queue is dead, and all that was measured is kept.
///
/// `messages` is called on the calling thread. Windows come in order, each when all workers have passed it.
pub fn run_step(
    spec: &StepSpec,
    parts: &Parts,
    commands: &Receiver<Command>,
    messages: &mut dyn FnMut(Message),
) -> StepResult {
    let started_unix_ms = unix_ms();
    let layout = match guarded(|| Layout::new(spec, parts)).and_then(|layout| layout) {
        Ok(layout) => layout,
        Err(reason) => return result::never_ran(spec, parts, started_unix_ms, reason),
    };
    let schedule = schedule(spec, &layout);
    let planned_end_ns = spec.measure_ns.map_or(u64::MAX, |measure| spec.warmup_ns.saturating_add(measure));
    let mut collector = Collector::new(spec, &layout, schedule, messages);
    let job = Job { spec, parts, layout: &layout, schedule, shared: Shared::new(planned_end_ns) };
    let ends = match guarded(|| lanes(&job)).and_then(|lanes| lanes) {
        Ok(lanes) if layout.target.simulated => run_simulated(&job, lanes, &mut collector, commands),
        Ok(lanes) => threads::run(&job, lanes, &mut collector, commands),
        Err(reason) => {
            job.shared.fail(0, Fault::Failed(reason));
            Vec::new()
        }
    };
    let cut_short = job.shared.end_ns() < planned_end_ns && ends.iter().any(|end| end.stopped);
    let end = match job.shared.fault() {
        Some(end) => end,
        None if cut_short => End::Interrupted,
        None => End::Completed,
    };
    let outcome = Outcome { end, started_unix_ms, ends };
    result::result(spec, parts, &layout, &collector, outcome)
}

fn schedule(spec: &StepSpec, layout: &Layout) -> Schedule {
    let inline = layout.target.completion == CompletionStyle::Inline;
    Schedule { warmup_ns: spec.warmup_ns, interval_ns: spec.interval_ns, inline }
}

/// Whether a step can be run as its spec says: its lanes are made, and nothing is started.
///
/// # Errors
/// What [`run_step`] would fail with, with the plugin's name.
pub fn check_step(spec: &StepSpec, parts: &Parts) -> Result<(), String> {
    let layout = guarded(|| Layout::new(spec, parts)).and_then(|layout| layout)?;
    let schedule = schedule(spec, &layout);
    let job = Job { spec, parts, layout: &layout, schedule, shared: Shared::new(0) };
    guarded(|| lanes(&job)).and_then(|lanes| lanes).map(drop)
}

/// The lanes of all workers.
fn lanes(job: &Job<'_>) -> Result<Vec<Lanes>, String> {
    let noise = Arc::new(Noise::new(job.spec.seed));
    let lanes = job.layout.workers.iter().enumerate().map(|(worker, shares)| {
        let payload = Payload::new(&noise, job.spec.seed, worker as u32);
        Lanes::new(job, shares, payload)
    });
    lanes.collect()
}

/// Runs a step in virtual time, on this thread.
fn run_simulated(
    job: &Job<'_>,
    lanes: Vec<Lanes>,
    collector: &mut Collector<'_>,
    commands: &Receiver<Command>,
) -> Vec<WorkerEnd> {
    let mailbox = Mailbox::new(Recorder::intervals(job.schedule));
    let mut lanes = lanes.into_iter().next().expect("a simulated target has one worker");
    let opened = match job.open(0, &mut lanes) {
        Ok(opened) => opened,
        Err(reason) => {
            job.shared.fail(0, Fault::Failed(reason));
            return vec![WorkerEnd::ABSENT];
        }
    };
    let mut driver = job.driver(opened, lanes, &mailbox);
    let mut attend = |now_ns, often| {
        collector.receive(0, &mailbox);
        collector.tell();
        if often {
            collector.progress(now_ns);
        }
        often && commands.try_recv() == Ok(Command::Stop)
    };
    let left = caught(|| simulate(&mut driver, &mut attend));
    let now_ns = driver.recorder.now_ns();
    let end = job.end(driver, left, now_ns);
    collector.receive(0, &mailbox);
    collector.ended(0);
    collector.tell();
    vec![end]
}
