//! What a step came to, put together from its rows' totals and its workers' ends.

use iodyno_record::{
    BackendUse, Cpu, Depth, End, Fact, OpResult, RowKind, Stamps, StepResult, StepSpec, StreamResult, Timing,
    WorkerResult,
};

use crate::Parts;
use crate::clock::step_ns;
use crate::collect::{Collector, Totals};
use crate::job::WorkerEnd;
use crate::layout::Layout;
use crate::notes::notes;

/// How a step ended.
pub(crate) struct Outcome {
    pub(crate) end: End,
    pub(crate) started_unix_ms: u64,
    /// One for each worker that was started.
    pub(crate) ends: Vec<WorkerEnd>,
}

/// The result of a step.
pub(crate) fn result(
    spec: &StepSpec,
    parts: &Parts,
    layout: &Layout,
    collector: &Collector<'_>,
    outcome: Outcome,
) -> StepResult {
    let Outcome { end, started_unix_ms, ends } = outcome;
    let totals = collector.totals();
    let window_end_ns = collector.reached_ns(RowKind::Measure).unwrap_or(spec.warmup_ns);
    let window_ns = window_end_ns - spec.warmup_ns;
    let tail_end_ns = collector.reached_ns(RowKind::Tail).unwrap_or(window_end_ns);
    let workers = workers(&ends, totals);
    let mut result = StepResult {
        item: spec.item,
        step: spec.step,
        end,
        started_unix_ms,
        warmup_ns: collector.reached_ns(RowKind::Warmup).unwrap_or(0),
        window_ns,
        tail_ns: tail_end_ns - window_end_ns,
        streams: (0..spec.streams.len())
            .map(|index| StreamResult {
                ended_after_ns: done_ns(&ends, index)
                    .map(|ns| ns.saturating_sub(spec.warmup_ns).min(window_ns)),
                ..stream(spec, layout, totals, index, window_ns)
            })
            .collect(),
        depth: Depth {
            asked: layout.asked,
            mean: per(totals.in_flight_ns.iter().sum::<u128>() as f64, window_ns as f64),
            max: ends.iter().map(|end| end.in_flight_max).sum(),
        },
        cpu: workers.iter().fold(Cpu::default(), |sum, worker| Cpu {
            user_ns: sum.user_ns + worker.cpu.user_ns,
            system_ns: sum.system_ns + worker.cpu.system_ns,
            helper_ns: sum.helper_ns + worker.cpu.helper_ns,
        }),
        workers,
        timing: timing(layout, totals),
        backend: BackendUse { plugin: parts.backend.clone(), facts: facts(&ends) },
        notes: Vec::new(),
    };
    result.notes = notes(spec, layout, totals, &result);
    result
}

/// The result of a step that could not start.
pub(crate) fn never_ran(spec: &StepSpec, parts: &Parts, started_unix_ms: u64, reason: String) -> StepResult {
    let stream = |s: &iodyno_record::StreamPlan| StreamResult {
        name: s.name.clone(),
        ops: Vec::new(),
        in_flight_mean: None,
        ended_after_ns: None,
        zero_reads: 0,
    };
    StepResult {
        item: spec.item,
        step: spec.step,
        end: End::Failed { reason },
        started_unix_ms,
        warmup_ns: 0,
        window_ns: 0,
        tail_ns: 0,
        streams: spec.streams.iter().map(stream).collect(),
        depth: Depth { asked: spec.outstanding, mean: None, max: 0 },
        cpu: Cpu::default(),
        workers: Vec::new(),
        timing: Timing {
            clock: "monotonic".to_owned(),
            stamps: Stamps::Unknown,
            resolution_ns: step_ns() as f64,
        },
        backend: BackendUse { plugin: parts.backend.clone(), facts: Vec::new() },
        notes: Vec::new(),
    }
}

fn stream(spec: &StepSpec, layout: &Layout, totals: &Totals, index: usize, window_ns: u64) -> StreamResult {
    let (mut ops, mut zero_reads, mut in_flight_ns) = (Vec::new(), 0, 0);
    for cell in layout.of_stream(index as u32) {
        let (tally, service) = &totals.sums.cells[cell];
        let (window_completed, window_bytes) = totals.window[cell];
        zero_reads += tally.zero_reads;
        in_flight_ns += totals.in_flight_ns[cell];
        ops.push(OpResult {
            op: layout.cells[cell].1,
            completed: tally.completed,
            bytes: tally.bytes,
            short: tally.short,
            errors: tally.errors.to_map(),
            window_completed,
            window_bytes,
            iops: per(window_completed as f64 * 1e9, window_ns as f64),
            bandwidth_bytes_per_s: per(window_bytes as f64 * 1e9, window_ns as f64),
            service: service.summary(),
            response: None,
        });
    }
    let in_flight_mean = per(in_flight_ns as f64, window_ns as f64);
    let name = spec.streams[index].name.clone();
    StreamResult { name, ops, in_flight_mean, ended_after_ns: None, zero_reads }
}

/// When the workload of a stream was done on all its workers.
fn done_ns(ends: &[WorkerEnd], stream: usize) -> Option<u64> {
    let lanes = ends.iter().flat_map(|end| &end.done_ns).filter(|(of, _)| *of == stream);
    lanes.map(|(_, done_ns)| *done_ns).reduce(|a, b| Some(a?.max(b?)))?
}

/// What the queues told, each distinct fact once.
fn facts(ends: &[WorkerEnd]) -> Vec<Fact> {
    let mut distinct: Vec<Fact> = Vec::new();
    for fact in ends.iter().flat_map(|end| &end.facts) {
        if !distinct.contains(fact) {
            distinct.push(fact.clone());
        }
    }
    distinct
}

fn workers(ends: &[WorkerEnd], totals: &Totals) -> Vec<WorkerResult> {
    let worker = |(index, end): (usize, &WorkerEnd)| WorkerResult {
        worker: index as u32,
        completed: totals.by_worker[index],
        cpu: Cpu { user_ns: end.cpu.user_ns, system_ns: end.cpu.system_ns, helper_ns: end.helper_ns },
    };
    ends.iter().enumerate().map(worker).collect()
}

/// What a stamp can be off by: see [`Timing::resolution_ns`].
fn timing(layout: &Layout, totals: &Totals) -> Timing {
    if layout.target.simulated {
        return Timing { clock: "virtual".to_owned(), stamps: Stamps::Simulated, resolution_ns: 1.0 };
    }
    let blind_ns = per(totals.blind_ns as f64, totals.blind_turns as f64).unwrap_or(0.0);
    Timing {
        clock: "monotonic".to_owned(),
        stamps: Stamps::PerTurn,
        resolution_ns: (step_ns() as f64).max(blind_ns),
    }
}

/// `amount / of`, if there is anything of it.
fn per(amount: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| amount / of)
}
