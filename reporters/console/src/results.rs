//! The table of results.

use std::mem::take;

use iodyno_record::{
    End, ItemKind, ItemResult, LatencySummary, OpResult, Results, Sharing, StepRecord, StreamPlan,
    StreamResult, units,
};

use crate::layout::{Side, columns};

/// Percentiles that the table shows.
const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

const SIDES: [Side; 12] = {
    let mut sides = [Side::Right; 12];
    (sides[0], sides[1]) = (Side::Left, Side::Left);
    sides
};

/// The table with a legend of the marks in it; empty where no step moved anything.
pub(crate) fn table(results: &Results) -> String {
    let head =
        ["test", "", "for", "iops", "bandwidth", "mean", "p50", "p99", "p99.9", "max", "in flight", "errors"];
    let mut lines = vec![head.map(str::to_uppercase).to_vec()];
    for item in &results.items {
        for step in item.steps.iter().filter(|step| !step.spec.streams.is_empty()) {
            self::step(&mut lines, item, step);
        }
    }
    if lines.len() == 1 {
        return String::new();
    }
    let mut text = columns(&SIDES, &lines);
    if steps(results).any(has_few_samples) {
        text += "  ~ fewer than ten samples lie beyond: the luck of this run as much as the target\n";
    }
    if steps(results).any(|step| step.result.end != End::Completed) {
        text += "  * cut short: from what was measured until then\n";
    }
    text += "  in flight: mean over time/asked; mean to max: service time, from submission to completion";
    if steps(results).any(|step| step.result.ops(None).any(|op| op.response.is_some())) {
        text += ", or response time, from the intended start";
    }
    text + "\n"
}

/// Steps that move something.
pub(crate) fn steps(results: &Results) -> impl Iterator<Item = &StepRecord> {
    results.items.iter().flat_map(|item| &item.steps).filter(|step| !step.spec.streams.is_empty())
}

fn has_few_samples(step: &StepRecord) -> bool {
    let summaries = step.result.ops(None).flat_map(|op| op.service.iter().chain(&op.response));
    let few = |summary: &LatencySummary, percent| summary.percentile(percent).is_some_and(|p| p.few_samples);
    summaries.into_iter().any(|summary| PERCENTILES.iter().any(|percent| few(summary, *percent)))
}

fn step(lines: &mut Vec<Vec<String>>, item: &ItemResult, step: &StepRecord) {
    let streams: Vec<_> = step.spec.streams.iter().zip(&step.result.streams).collect();
    let mut name = item.name.clone();
    if item.kind == ItemKind::Prepare {
        name += " (prepare)";
    }
    if item.steps.len() > 1 {
        name += &format!(" #{}", step.spec.step);
    }
    if step.result.end != End::Completed {
        name += " *";
    }
    let depth = &step.result.depth;
    let of_step = in_flight(depth.mean, Some(depth.asked));
    let length = units::duration(step.result.window_ns);
    match streams[..] {
        [(_, stream)] => self::stream(lines, [&name, &length, &of_step], stream),
        _ => {
            // Of streams that share a queue, only the whole was asked for.
            let asked = |plan: &StreamPlan| {
                (step.spec.sharing == Sharing::Independent).then_some(plan.load.outstanding)
            };
            let mut line = vec![name, String::new(), length];
            if step.spec.sharing == Sharing::Shared {
                line.resize(SIDES.len() - 2, String::new());
                line.push(of_step);
            }
            lines.push(line);
            for (plan, stream) in streams {
                let of_stream = in_flight(stream.in_flight_mean, asked(plan));
                self::stream(lines, [&format!("  {}", plan.name), "", &of_stream], stream);
            }
        }
    }
}

/// One line for each operation; name, length and outstanding I/O of the stream stand in the first.
fn stream(lines: &mut Vec<Vec<String>>, of_stream: [&str; 3], stream: &StreamResult) {
    let [mut name, mut length, mut in_flight] = of_stream.map(str::to_owned);
    for op in &stream.ops {
        let mut line = vec![take(&mut name), op.op.name().to_owned(), take(&mut length)];
        line.extend([op.iops.map_or("-".into(), units::count), bandwidth(op)]);
        line.extend(latency(op.service.as_ref()));
        line.extend([take(&mut in_flight), errors(op)]);
        lines.push(line);
        if op.response.is_some() {
            let mut line =
                vec![String::new(), "response".into(), String::new(), String::new(), String::new()];
            line.extend(latency(op.response.as_ref()));
            lines.push(line);
        }
    }
}

fn bandwidth(op: &OpResult) -> String {
    match op.bandwidth_bytes_per_s {
        // A flush moves nothing.
        _ if op.bytes == 0 => String::new(),
        bandwidth => bandwidth.map_or("-".into(), units::bandwidth),
    }
}

fn errors(op: &OpResult) -> String {
    let errors: u64 = op.errors.values().sum();
    match (errors, op.short) {
        (0, 0) => "-".into(),
        (errors, 0) => errors.to_string(),
        (0, short) => format!("{short} short"),
        (errors, short) => format!("{errors} + {short} short"),
    }
}

/// Mean, percentiles and maximum; nothing measured is a dash.
fn latency(summary: Option<&LatencySummary>) -> Vec<String> {
    let Some(summary) = summary else { return vec!["-".into(); PERCENTILES.len() + 2] };
    let mut cells = vec![units::latency(summary.mean_ns)];
    cells.extend(PERCENTILES.map(|percent| match summary.percentile(percent) {
        Some(p) if p.few_samples => format!("~{}", units::latency(p.value_ns as f64)),
        Some(p) => units::latency(p.value_ns as f64),
        None => "-".into(),
    }));
    cells.push(units::latency(summary.max_ns as f64));
    cells
}

/// Reached of asked; a whole number where it is one to the digits shown.
fn in_flight(mean: Option<f64>, asked: Option<u32>) -> String {
    let Some(mean) = mean else { return "-".into() };
    let reached = format!("{mean:.2}").trim_end_matches('0').trim_end_matches('.').to_owned();
    asked.map_or(reached.clone(), |asked| format!("{reached}/{asked}"))
}
