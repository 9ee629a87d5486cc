//! `rows.csv`: interval rows.

use std::collections::HashMap;

use iodyno_record::{Results, Row, RowLatency, StepSpec};

use crate::summary::{errors, word};
use crate::table::{self, Line};

/// All rows of all runs.
pub(crate) fn table(runs: &[(Results, Vec<Row>)]) -> String {
    let lines = runs.iter().flat_map(|(results, rows)| {
        let steps = results.items.iter().flat_map(|item| &item.steps);
        let specs: HashMap<(u32, u32), &StepSpec> =
            steps.map(|step| ((step.spec.item, step.spec.step), &step.spec)).collect();
        rows.iter()
            .map(move |row| line(&results.run.id, specs.get(&(row.item, row.step)).copied(), Some(row)))
    });
    table::table(&line("", None, None), lines)
}

fn line(run: &str, spec: Option<&StepSpec>, row: Option<&Row>) -> Line {
    let mut line = Line::default();
    let stream = row.and_then(|row| spec?.streams.get(row.stream as usize));
    line.cell("run", run);
    line.optional("item", row.map(|row| row.item));
    line.optional("test", spec.map(|spec| &spec.name));
    line.optional("step", row.map(|row| row.step));
    line.optional("kind", row.map(|row| word(&row.kind)));
    line.optional("window", row.map(|row| row.window));
    line.optional("start_ns", row.map(|row| row.start_ns));
    line.optional("end_ns", row.map(|row| row.end_ns));
    line.optional("stream", stream.map(|stream| &stream.name));
    line.optional("op", row.map(|row| row.op.name()));
    line.optional("completed", row.map(|row| row.completed));
    line.optional("bytes", row.map(|row| row.bytes));
    line.optional("carried", row.map(|row| row.carried));
    line.optional("carried_bytes", row.map(|row| row.carried_bytes));
    line.optional("short", row.map(|row| row.short));
    line.optional("errors", row.map(|row| row.errors.values().sum::<u64>()));
    line.optional("errors_by_errno", row.map(|row| errors(&row.errors)));
    line.optional("iops", row.and_then(Row::iops));
    line.optional("bandwidth_bytes_per_s", row.and_then(Row::bandwidth_bytes_per_s));
    line.optional("in_flight_mean", row.and_then(|row| row.in_flight_mean));
    latency(&mut line, "service", row.and_then(|row| row.service.as_ref()));
    latency(&mut line, "response", row.and_then(|row| row.response.as_ref()));
    line
}

fn latency(line: &mut Line, side: &str, latency: Option<&RowLatency>) {
    line.optional(format!("{side}_mean_ns"), latency.map(|l| l.mean_ns));
    line.optional(format!("{side}_min_ns"), latency.map(|l| l.min_ns));
    line.optional(format!("{side}_p50_ns"), latency.map(|l| l.p50_ns));
    line.optional(format!("{side}_p99_ns"), latency.map(|l| l.p99_ns));
    line.optional(format!("{side}_p99_9_ns"), latency.map(|l| l.p99_9_ns));
    line.optional(format!("{side}_max_ns"), latency.map(|l| l.max_ns));
}
