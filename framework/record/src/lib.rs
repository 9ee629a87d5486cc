//! What a run leaves behind, as data: the plan that was made, the events while it ran, interval rows, step
//! results, and the results document that reporters get.
//!
//! This crate does no I/O and knows no plugin. Everything here serialises to JSON with units in the field
//! names; [`SCHEMA_VERSION`] counts changes. Times are ns unless a name says otherwise; an empty window has
//! `null` latencies, never 0; percentiles are never averaged, histograms are merged ([`Histogram`]).

mod environment;
mod errno;
mod event;
mod expect;
mod hdr;
mod histogram;
mod plan;
mod results;
mod row;
mod settings;
mod step;
pub mod units;

pub use environment::{DeviceFacts, Environment, HostFacts, PluginFact, TargetKind};
pub use event::{Envelope, Event};
pub use expect::{Comparison, Expect, ExpectResult, Limit, Metric, MetricKind, Side, Statistic};
pub use hdr::{HdrError, HdrLog, HdrLogEntry};
pub use histogram::{
    Histogram, LatencySummary, Percentile, RELATIVE_ERROR, SLOTS, slot_highest, slot_lowest, slot_of,
};
pub use plan::{Bounds, Item, ItemKind, Plan, PlanTarget, Procedure};
pub use results::{ItemResult, Outcome, Results, ResultsFile, Run, StepRecord};
pub use row::{Row, RowKind, RowLatency};
pub use settings::{Setting, Settings};
pub use step::{
    BackendUse, Cpu, Depth, End, Fact, Fill, Load, Note, NoteLevel, Op, OpResult, Phase, PluginUse, Sharing,
    Stamps, StepResult, StepSpec, StreamPlan, StreamResult, TargetIdentity, Timing, WorkerResult,
};

/// Version of the record's data: events, rows and results. Readers accept this and older ones.
pub const SCHEMA_VERSION: u32 = 1;
