//! Whether what was measured holds what was expected.

use iodyno_record::{
    Comparison, Expect, ExpectResult, Histogram, Item, LatencySummary, Limit, Metric, MetricKind, Op,
    OpResult, Side, Statistic, StepResult, StreamResult, TargetKind, units,
};

use crate::expect::unit;
use crate::quantity::Unit;

/// Judges every expectation of an item by its results. What was not measured does not hold. Where all reads gave
/// zeroes and nothing is said about that, an expectation that no suite wrote is missed.
pub fn evaluate(item: &Item, results: &[StepResult]) -> Vec<ExpectResult> {
    let written = item.expects.iter().map(|expect| judge(expect, results));
    written.chain(results.last().and_then(|result| more_than_zeroes(item, result))).collect()
}

/// What was never written is never read: a device looks it up in its map and answers at once. Such a result
/// measures nothing, so it is not for a warning only. Where nothing is stored, nothing can be filled first.
fn more_than_zeroes(item: &Item, result: &StepResult) -> Option<ExpectResult> {
    let stores = matches!(item.step.target.kind, TargetKind::File | TargetKind::Block);
    let is_known = item.expects.iter().any(|expect| expect.metric.kind == MetricKind::ZeroReads);
    let zero: u64 = result.streams.iter().map(|stream| stream.zero_reads).sum();
    let reads: u64 = result.ops(Some(Op::Read)).map(|op| op.completed).sum();
    (stores && !is_known && reads > 0 && zero >= reads).then(|| ExpectResult {
        text: "zero_reads < read.completed".to_owned(),
        measured: Some(zero as f64),
        held: false,
        remark: Some(format!(
            "all {reads} reads gave nothing but zeroes, so no storage was measured: fill the target first, or say \
             expect = [\"zero_reads >= 0\"] where this is meant"
        )),
    })
}

/// A number, and what to bear in mind with it.
struct Measured {
    value: f64,
    remark: Option<String>,
}

impl From<f64> for Measured {
    fn from(value: f64) -> Self {
        Measured { value, remark: None }
    }
}

fn judge(expect: &Expect, results: &[StepResult]) -> ExpectResult {
    let (Limit::Value { value: limit } | Limit::Datasheet { value: limit, .. }) = expect.limit;
    let text = expect.text.clone();
    // A fixed procedure has one step; its last is what counts.
    let Some(measured) = results.last().and_then(|result| measure(&expect.metric, result)) else {
        let remark = Some("nothing was measured".to_owned());
        return ExpectResult { text, measured: None, held: false, remark };
    };
    let held = holds(expect.comparison, measured.value, limit);
    let unit = unit(expect.metric.kind);
    let missed = || format!("measured {}, limit {}", shown(unit, measured.value), shown(unit, limit));
    let remarks: Vec<String> = (!held).then(missed).into_iter().chain(measured.remark.clone()).collect();
    let remark = (!remarks.is_empty()).then(|| remarks.join("; "));
    ExpectResult { text, measured: Some(measured.value), held, remark }
}

fn holds(comparison: Comparison, value: f64, limit: f64) -> bool {
    match comparison {
        Comparison::Less => value < limit,
        Comparison::LessOrEqual => value <= limit,
        Comparison::Equal => value == limit,
        Comparison::NotEqual => value != limit,
        Comparison::GreaterOrEqual => value >= limit,
        Comparison::Greater => value > limit,
    }
}

fn shown(unit: Unit, value: f64) -> String {
    match unit {
        // Small counts to the last one: "1000.4 of 1000" would else be told as "1k of 1k".
        Unit::Plain if value < 1e6 => format!("{}", (value * 10.0).round() / 10.0),
        Unit::Plain => units::count(value),
        Unit::Time => units::latency(value),
        Unit::Bytes => units::amount(value),
        Unit::BytesPerSecond => units::bandwidth(value),
    }
}

fn measure(metric: &Metric, result: &StepResult) -> Option<Measured> {
    let is_meant = |s: &&StreamResult| metric.stream.as_ref().is_none_or(|name| *name == s.name);
    let streams: Vec<&StreamResult> = result.streams.iter().filter(is_meant).collect();
    let is_asked = |o: &&OpResult| metric.op.is_none_or(|op| op == o.op);
    let ops: Vec<&OpResult> = streams.iter().flat_map(|s| &s.ops).filter(is_asked).collect();
    if ops.is_empty() {
        return None;
    }
    let sum = |of: fn(&OpResult) -> u64| Some(Measured::from(ops.iter().map(|o| of(o)).sum::<u64>() as f64));
    let rate = |of: fn(&OpResult) -> Option<f64>| {
        ops.iter().filter_map(|o| of(o)).reduce(|sum, more| sum + more).map(Measured::from)
    };
    match metric.kind {
        MetricKind::Iops => rate(|o| o.iops),
        MetricKind::Bandwidth => rate(|o| o.bandwidth_bytes_per_s),
        MetricKind::Errors => sum(|o| o.errors.values().sum()),
        MetricKind::Completed => sum(|o| o.completed),
        MetricKind::Bytes => sum(|o| o.bytes),
        MetricKind::Short => sum(|o| o.short),
        MetricKind::ZeroReads => {
            Some(Measured::from(streams.iter().map(|s| s.zero_reads).sum::<u64>() as f64))
        }
        MetricKind::Latency { side, statistic } => {
            let of = |o: &&OpResult| match side {
                Side::Service => o.service.clone(),
                Side::Response => o.response.clone(),
            };
            latency(&ops.iter().filter_map(of).collect::<Vec<_>>(), statistic)
        }
    }
}

fn latency(summaries: &[LatencySummary], statistic: Statistic) -> Option<Measured> {
    let count: u64 = summaries.iter().map(|s| s.count).sum();
    let (min, max) = (summaries.iter().map(|s| s.min_ns).min()?, summaries.iter().map(|s| s.max_ns).max()?);
    if count == 0 {
        return None;
    }
    Some(match statistic {
        Statistic::Min => (min as f64).into(),
        Statistic::Max => (max as f64).into(),
        Statistic::Mean => {
            let sum: f64 = summaries.iter().map(|s| s.mean_ns * s.count as f64).sum();
            (sum / count as f64).into()
        }
        Statistic::Percentile(percent) => {
            let percentile = percentile(summaries, percent)?;
            let few = || {
                format!(
                    "fewer than ten of {count} samples lie beyond p{percent}: it is little more than luck"
                )
            };
            // Rebuilt from slots, the extremes are known to a slot only; the summaries have them exactly.
            let value = percentile.value_ns.clamp(min, max) as f64;
            Measured { value, remark: percentile.few_samples.then(few) }
        }
    })
}

/// Percentiles are never averaged: histograms are merged.
fn percentile(summaries: &[LatencySummary], percent: f64) -> Option<iodyno_record::Percentile> {
    if let [one] = summaries
        && let Some(known) = one.percentile(percent)
    {
        return Some(known);
    }
    let mut merged = Histogram::new();
    for summary in summaries {
        merged.merge(&Histogram::from_hdr_v2(&summary.hdr_v2).ok()?);
    }
    merged.percentile(percent)
}
