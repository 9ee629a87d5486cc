//! The result of a step that never finished, from what was recorded of it: rows and interval histograms.

use iodyno_record::{
    BackendUse, Cpu, Depth, End, HdrLogEntry, Histogram, Note, NoteLevel, Op, OpResult, Row, RowKind, Stamps,
    StepResult, StepSpec, StreamResult, Timing,
};

use crate::folder::histogram_tag;

/// Rebuilds the result of `spec`, and tells until when (ms since the epoch) there are rows.
pub(crate) fn salvage(
    spec: &StepSpec,
    started_unix_ms: u64,
    rows: &[Row],
    log: &[HdrLogEntry],
) -> (StepResult, u64) {
    let rows: Vec<&Row> = rows.iter().filter(|r| (r.item, r.step) == (spec.item, spec.step)).collect();
    let measured = || rows.iter().copied().filter(|r| r.kind == RowKind::Measure);
    let start_ns = measured().map(|r| r.start_ns).min();
    let end_ns = measured().map(|r| r.end_ns).max();
    let window_ns = start_ns.zip(end_ns).map_or(0, |(start, end)| end - start);
    let last_ns = rows.iter().map(|r| r.end_ns).max().unwrap_or(0);
    let streams: Vec<StreamResult> = (0..spec.streams.len())
        .map(|stream| {
            let of_stream: Vec<&Row> =
                measured_and_tail(&rows).filter(|r| r.stream as usize == stream).collect();
            StreamResult {
                name: spec.streams[stream].name.clone(),
                ops: Op::ALL
                    .iter()
                    .filter_map(|op| operation(spec, &of_stream, *op, window_ns, log))
                    .collect(),
                in_flight_mean: in_flight(&of_stream, window_ns),
                ended_after_ns: None,
                zero_reads: 0,
            }
        })
        .collect();
    let mean = streams.iter().filter_map(|s| s.in_flight_mean).reduce(|sum, more| sum + more);
    let text = "the step never finished: totals come from its interval rows; CPU time, zero reads and timing were lost";
    let result = StepResult {
        item: spec.item,
        step: spec.step,
        end: End::Interrupted,
        started_unix_ms,
        warmup_ns: start_ns.unwrap_or(last_ns).min(spec.warmup_ns),
        window_ns,
        tail_ns: 0,
        streams,
        depth: Depth { asked: spec.outstanding, mean, max: mean.unwrap_or(0.0).ceil() as u32 },
        cpu: Cpu::default(),
        workers: Vec::new(),
        timing: Timing { clock: "unknown".to_owned(), stamps: Stamps::Unknown, resolution_ns: 0.0 },
        backend: BackendUse { plugin: spec.backend.plugin.clone(), facts: Vec::new() },
        notes: vec![Note { level: NoteLevel::Warning, code: "salvaged".to_owned(), text: text.to_owned() }],
    };
    (result, started_unix_ms + last_ns / 1_000_000)
}

fn measured_and_tail<'a>(rows: &'a [&'a Row]) -> impl Iterator<Item = &'a Row> {
    rows.iter().copied().filter(|r| matches!(r.kind, RowKind::Measure | RowKind::Tail))
}

fn in_flight(rows: &[&Row], window_ns: u64) -> Option<f64> {
    let op = rows.first()?.op;
    let one_op = rows.iter().filter(|r| r.op == op && r.kind == RowKind::Measure);
    let weighted: f64 = one_op.filter_map(|r| Some(r.in_flight_mean? * (r.end_ns - r.start_ns) as f64)).sum();
    (window_ns > 0).then(|| weighted / window_ns as f64)
}

fn operation(
    spec: &StepSpec,
    rows: &[&Row],
    op: Op,
    window_ns: u64,
    log: &[HdrLogEntry],
) -> Option<OpResult> {
    let rows: Vec<&Row> = rows.iter().copied().filter(|r| r.op == op).collect();
    let first = *rows.first()?;
    let measured = || rows.iter().filter(|r| r.kind == RowKind::Measure);
    let mut errors = std::collections::BTreeMap::new();
    rows.iter().flat_map(|r| &r.errors).for_each(|(errno, n)| *errors.entry(*errno).or_insert(0) += n);
    let (window_completed, window_bytes) = measured()
        .fold((0, 0), |(n, bytes), r| (n + r.completed + r.carried, bytes + r.bytes + r.carried_bytes));
    let per_second = |n: u64| (window_ns > 0).then(|| n as f64 * 1e9 / window_ns as f64);
    let merged = |side: &str| {
        let mut histogram = Histogram::new();
        for kind in [RowKind::Measure, RowKind::Tail] {
            let tag = histogram_tag(spec, &Row { kind, ..first.clone() }, side);
            // The last may have been written without its row.
            let counted = rows.iter().filter(|r| r.kind == kind && r.completed > 0).count();
            log.iter().filter(|e| e.tag == tag).take(counted).for_each(|e| histogram.merge(&e.histogram));
        }
        histogram.summary()
    };
    Some(OpResult {
        op,
        completed: rows.iter().map(|r| r.completed).sum(),
        bytes: rows.iter().map(|r| r.bytes).sum(),
        short: rows.iter().map(|r| r.short).sum(),
        errors,
        window_completed,
        window_bytes,
        iops: per_second(window_completed),
        bandwidth_bytes_per_s: per_second(window_bytes),
        service: merged("service"),
        response: merged("response"),
    })
}
