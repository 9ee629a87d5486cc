//! `summary.csv`: what steps came to.

use std::collections::BTreeMap;

use iodyno_record::{
    ItemResult, LatencySummary, OpResult, Percentile, Results, Setting, StepRecord, StreamPlan, StreamResult,
};
use serde::Serialize;

use crate::table::{self, Line};

/// What a line is about; a line of an item in which nothing was done has nothing below the item.
#[derive(Clone, Copy, Default)]
struct Place<'a> {
    results: Option<&'a Results>,
    item: Option<&'a ItemResult>,
    step: Option<&'a StepRecord>,
    stream: Option<(&'a StreamPlan, &'a StreamResult)>,
    op: Option<&'a OpResult>,
}

/// All operations of all streams of all steps of all runs.
pub(crate) fn table<'a>(runs: impl Iterator<Item = &'a Results>) -> String {
    let mut lines = Vec::new();
    for results in runs {
        for item in &results.items {
            let of_item = Place { results: Some(results), item: Some(item), ..Place::default() };
            let before = lines.len();
            for step in &item.steps {
                for (plan, stream) in step.spec.streams.iter().zip(&step.result.streams) {
                    let of_stream = Place { step: Some(step), stream: Some((plan, stream)), ..of_item };
                    lines.extend(stream.ops.iter().map(|op| line(Place { op: Some(op), ..of_stream })));
                }
            }
            // Not run, idle, or stopped before anything came of it: it is told all the same.
            if lines.len() == before {
                lines.push(line(of_item));
            }
        }
    }
    table::table(&line(Place::default()), lines.into_iter())
}

fn line(place: Place<'_>) -> Line {
    let mut line = Line::default();
    of_run(&mut line, place);
    of_step(&mut line, place.step);
    of_stream(&mut line, place.stream);
    of_op(&mut line, place.op);
    line
}

fn of_run(line: &mut Line, place: Place<'_>) {
    let Place { results, item, .. } = place;
    let planned = results.zip(item).and_then(|(r, item)| r.plan.items.iter().find(|i| i.id == item.item));
    let target = planned.map(|planned| &planned.step.target);
    line.optional("run", results.map(|r| &r.run.id));
    line.optional("suite", results.map(|r| &r.plan.suite));
    line.optional("seed", results.map(|r| r.plan.seed));
    line.optional("target", target.map(|t| &t.label));
    line.optional("target_path", target.and_then(|t| t.path.as_ref()));
    line.optional("target_model", target.and_then(|t| t.model.as_ref()));
    line.optional("target_size_bytes", target.map(|t| t.size_bytes));
    line.optional("item", item.map(|i| i.item));
    line.optional("kind", item.map(|i| word(&i.kind)));
    line.optional("test", item.map(|i| &i.name));
    line.optional("outcome", item.map(|i| word(&i.outcome)));
    line.optional("reason", item.and_then(|i| i.reason.as_ref()));
}

fn of_step(line: &mut Line, step: Option<&StepRecord>) {
    let (spec, result) = (step.map(|s| &s.spec), step.map(|s| &s.result));
    let notes = |step: &StepRecord| {
        let codes = step.result.notes.iter().map(|note| note.code.as_str());
        let facts = step.result.backend.facts.iter().filter(|fact| fact.fallback.is_some());
        codes.chain(facts.map(|fact| fact.name.as_str())).collect::<Vec<_>>().join(" ")
    };
    line.optional("step", spec.map(|s| s.step));
    line.optional("phase", spec.map(|s| word(&s.phase)));
    line.optional("end", result.map(|r| word_of_tagged(&r.end, "how")));
    line.optional("started_unix_ms", result.map(|r| r.started_unix_ms));
    line.optional("backend", result.map(|r| &r.backend.plugin));
    line.optional("direct", spec.map(|s| s.direct));
    line.optional("clock", result.map(|r| &r.timing.clock));
    line.optional("resolution_ns", result.map(|r| r.timing.resolution_ns));
    line.optional("warmup_ns", result.map(|r| r.warmup_ns));
    line.optional("window_ns", result.map(|r| r.window_ns));
    line.optional("tail_ns", result.map(|r| r.tail_ns));
    line.optional("depth_asked", result.map(|r| r.depth.asked));
    line.optional("depth_mean", result.and_then(|r| r.depth.mean));
    line.optional("depth_max", result.map(|r| r.depth.max));
    line.optional("cpu_user_ns", result.map(|r| r.cpu.user_ns));
    line.optional("cpu_system_ns", result.map(|r| r.cpu.system_ns));
    line.optional("cpu_helper_ns", result.map(|r| r.cpu.helper_ns));
    line.optional("notes", step.map(notes));
}

fn of_stream(line: &mut Line, stream: Option<(&StreamPlan, &StreamResult)>) {
    let (plan, result) = (stream.map(|s| s.0), stream.map(|s| s.1));
    line.optional("stream", plan.map(|p| &p.name));
    line.optional("workload", plan.map(|p| &p.workload.plugin));
    line.optional("block_size_bytes", plan.and_then(block_size_bytes));
    line.optional("workload_options", plan.map(|p| p.workload.options.to_json()));
    line.optional("region_offset_bytes", plan.map(|p| p.region_offset_bytes));
    line.optional("region_len_bytes", plan.map(|p| p.region_len_bytes));
    line.optional("outstanding", plan.map(|p| p.load.outstanding));
    line.optional("workers", plan.map(|p| p.load.workers));
    line.optional("in_flight_mean", result.and_then(|r| r.in_flight_mean));
    line.optional("ended_after_ns", result.and_then(|r| r.ended_after_ns));
    line.optional("zero_reads", result.map(|r| r.zero_reads));
}

fn of_op(line: &mut Line, op: Option<&OpResult>) {
    line.optional("op", op.map(|o| o.op.name()));
    line.optional("iops", op.and_then(|o| o.iops));
    line.optional("bandwidth_bytes_per_s", op.and_then(|o| o.bandwidth_bytes_per_s));
    line.optional("completed", op.map(|o| o.completed));
    line.optional("bytes", op.map(|o| o.bytes));
    line.optional("short", op.map(|o| o.short));
    line.optional("errors", op.map(|o| o.errors.values().sum::<u64>()));
    line.optional("errors_by_errno", op.map(|o| errors(&o.errors)));
    latency(line, "service", op.and_then(|o| o.service.as_ref()));
    latency(line, "response", op.and_then(|o| o.response.as_ref()));
}

fn latency(line: &mut Line, side: &str, latency: Option<&LatencySummary>) {
    line.optional(format!("{side}_mean_ns"), latency.map(|l| l.mean_ns));
    line.optional(format!("{side}_stddev_ns"), latency.map(|l| l.stddev_ns));
    line.optional(format!("{side}_min_ns"), latency.map(|l| l.min_ns));
    for percent in Percentile::SHOWN {
        let name = Percentile::name(percent).replace('.', "_");
        line.optional(
            format!("{side}_{name}_ns"),
            latency.and_then(|l| l.percentile(percent)).map(|p| p.value_ns),
        );
    }
    line.optional(format!("{side}_max_ns"), latency.map(|l| l.max_ns));
    let few = |l: &LatencySummary| {
        let marked = l.percentiles.iter().filter(|p| p.few_samples);
        marked.map(|p| Percentile::name(p.percent)).collect::<Vec<_>>().join(" ")
    };
    line.optional(format!("{side}_few_samples"), latency.map(few));
}

/// Errors as `errno:count`, separated by spaces.
pub(crate) fn errors(errors: &BTreeMap<i32, u64>) -> String {
    errors.iter().map(|(errno, n)| format!("{errno}:{n}")).collect::<Vec<_>>().join(" ")
}

/// The block size, where the workload has exactly one.
fn block_size_bytes(plan: &StreamPlan) -> Option<i64> {
    let Setting::List(sizes) = plan.workload.options.0.get("block_size")? else { return None };
    let [Setting::Table(only)] = &sizes[..] else { return None };
    match only.get("value")? {
        Setting::Int(bytes) => Some(*bytes),
        _ => None,
    }
}

/// The word that a plain enum has in the record.
pub(crate) fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).expect("records are plain data with text keys");
    value.as_str().unwrap_or_default().to_owned()
}

/// The word that says which variant an enum is, which the record keeps in the field `tag`.
fn word_of_tagged(value: &impl Serialize, tag: &str) -> String {
    let value = serde_json::to_value(value).expect("records are plain data with text keys");
    value[tag].as_str().unwrap_or_default().to_owned()
}
