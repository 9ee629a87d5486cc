//! Whether what a run folder tells twice is the same: rows and histograms, rows and results. A run that was written
//! whole is consistent by construction, so what is not was damaged later.

use std::collections::BTreeMap;

use iodyno_record::{HdrLogEntry, Note, NoteLevel, Op, Row, RowKind, StepRecord, StepSpec};

use crate::folder::histogram_tag;

/// Remarks on all that is not the same in finished steps. One that never finished has no result of its own.
pub(crate) fn remarks<'a>(
    finished: impl Iterator<Item = &'a StepRecord>,
    rows: &[Row],
    log: &[HdrLogEntry],
) -> Vec<Note> {
    let steps: BTreeMap<(u32, u32), &StepRecord> =
        finished.map(|step| ((step.spec.item, step.spec.step), step)).collect();
    let specs = steps.iter().map(|(of, step)| (*of, &step.spec)).collect();
    let histograms = rows_and_histograms(&specs, rows, log);
    histograms
        .into_iter()
        .chain(steps.values().filter_map(|step| rows_and_result(step, rows)))
        .map(note)
        .collect()
}

/// The log has an entry for each row in which something completed, in the same order; it may have more in the end,
/// as entries are written first.
fn rows_and_histograms(
    specs: &BTreeMap<(u32, u32), &StepSpec>,
    rows: &[Row],
    log: &[HdrLogEntry],
) -> Option<String> {
    let mut entries = log.iter().filter(|entry| entry.tag.ends_with("/service"));
    for (number, row) in rows.iter().enumerate().filter(|(_, row)| row.completed > 0) {
        let Some(spec) = specs.get(&(row.item, row.step)) else { continue };
        let belongs = |entry: &HdrLogEntry| {
            entry.tag == histogram_tag(spec, row, "service") && entry.histogram.count() == row.completed
        };
        if !entries.next().is_some_and(belongs) {
            let number = number + 1;
            return Some(format!(
                "row {number} (of `{}`) and its histogram do not belong together",
                spec.name
            ));
        }
    }
    None
}

fn rows_and_result(step: &StepRecord, rows: &[Row]) -> Option<String> {
    let StepRecord { spec, result } = step;
    let mut sums = BTreeMap::<(u32, Op), [u64; 4]>::new();
    for row in rows.iter().filter(|row| (row.item, row.step) == (spec.item, spec.step)) {
        let sum = sums.entry((row.stream, row.op)).or_default();
        let (own, window) = match row.kind {
            RowKind::Measure => (1, 1),
            RowKind::Tail => (1, 0),
            RowKind::Warmup | RowKind::WarmupTail => (0, 0),
        };
        sum[0] = sum[0].saturating_add(row.completed * own);
        sum[1] = sum[1].saturating_add(row.bytes * own);
        sum[2] = sum[2].saturating_add(row.completed.saturating_add(row.carried) * window);
        sum[3] = sum[3].saturating_add(row.bytes.saturating_add(row.carried_bytes) * window);
    }
    let differs = |(stream, op): (u32, &iodyno_record::OpResult)| {
        let told = [op.completed, op.bytes, op.window_completed, op.window_bytes];
        let sum = sums.get(&(stream, op.op)).copied().unwrap_or_default();
        (told != sum).then(|| {
            let (name, op) = (&spec.name, op.op.name());
            format!(
                "of `{name}`, the rows count {} {op} I/O and {} bytes, the result {} and {}",
                sum[0], sum[1], told[0], told[1]
            )
        })
    };
    let streams = (0..).zip(&result.streams);
    let mut ops = streams.flat_map(|(index, stream)| stream.ops.iter().map(move |op| (index, op)));
    ops.find_map(differs).or_else(|| workers_and_result(step))
}

/// All I/O that came back was driven by some worker. A step that was put together later knows none.
fn workers_and_result(step: &StepRecord) -> Option<String> {
    let StepRecord { spec, result } = step;
    let ops = result.streams.iter().flat_map(|stream| &stream.ops);
    let came_back = ops.fold(0_u64, |sum, op| op.errors.values().fold(sum.saturating_add(op.completed), add));
    let driven = result.workers.iter().map(|worker| &worker.completed).fold(0, add);
    (driven != came_back && !result.workers.is_empty())
        .then(|| format!("of `{}`, the workers completed {driven} I/O, the streams {came_back}", spec.name))
}

fn add(sum: u64, value: &u64) -> u64 {
    sum.saturating_add(*value)
}

fn note(what: String) -> Note {
    let text = format!(
        "the record was damaged after the run: {what}; totals are those that the run stored, what is shown over time \
         may lack something"
    );
    Note { level: NoteLevel::Warning, code: "record_damaged".to_owned(), text }
}
