//! Interval rows: what one operation of one stream did in one window of a step.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::step::Op;

/// Which part of a step a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// A window of the warm-up.
    Warmup,
    /// I/O submitted in the warm-up that completed after it.
    WarmupTail,
    /// A window of the measure.
    Measure,
    /// I/O submitted in the measure that completed after its end; outside every rate.
    Tail,
}

/// One row. `completed` of all `measure` rows and the `tail` row add up to the step's total.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Id of the plan's item.
    pub item: u32,
    /// Which step of it.
    pub step: u32,
    /// Part of the step.
    pub kind: RowKind,
    /// Which window of this kind, from 0.
    pub window: u32,
    /// Start, ns since the step's start.
    pub start_ns: u64,
    /// End, ns since the step's start.
    pub end_ns: u64,
    /// Which stream of the step.
    pub stream: u32,
    /// The operation.
    pub op: Op,
    /// Good I/O of this part of the step that completed in the window.
    pub completed: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Good I/O submitted before this part of the step that completed in the window: counts for the rate of
    /// the window, and sits in the row of the part to which it belongs.
    pub carried: u64,
    /// Bytes that those moved.
    pub carried_bytes: u64,
    /// Those of `completed` that were short.
    pub short: u64,
    /// Failed I/O by errno.
    #[serde(deserialize_with = "crate::errno::counts")]
    pub errors: BTreeMap<i32, u64>,
    /// Submit to completion of `completed`; `null` when there were none.
    pub service: Option<RowLatency>,
    /// Intended start to completion; `null` in a closed loop.
    pub response: Option<RowLatency>,
    /// Outstanding I/O of the stream, averaged over the window (the same in each row of a stream); `null` where
    /// the window has no length.
    pub in_flight_mean: Option<f64>,
}

impl Row {
    /// Length of the window in seconds.
    pub fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }

    /// I/O per second in the window; `None` where it has no length.
    pub fn iops(&self) -> Option<f64> {
        (self.end_ns > self.start_ns).then(|| (self.completed + self.carried) as f64 / self.seconds())
    }

    /// Bytes per second in the window.
    pub fn bandwidth_bytes_per_s(&self) -> Option<f64> {
        (self.end_ns > self.start_ns).then(|| (self.bytes + self.carried_bytes) as f64 / self.seconds())
    }
}

/// Latencies of a row; the interval log has the whole histogram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RowLatency {
    /// Exact mean.
    pub mean_ns: f64,
    /// Exact least.
    pub min_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p99_9_ns: u64,
    /// Exact greatest.
    pub max_ns: u64,
}
