//! Steps: one phase at one load point. A [`StepSpec`] goes into the engine, a [`StepResult`] comes out.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::TargetKind;
use crate::histogram::LatencySummary;
use crate::settings::Settings;
use crate::units;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Make completed writes durable.
    Flush,
}

impl Op {
    /// All, in the order of the plugin contract's codes.
    pub const ALL: [Op; 3] = [Op::Read, Op::Write, Op::Flush];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "flush",
        }
    }
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Writing the target before it is measured.
    Fill,
    /// Doing nothing for a while.
    Idle,
    /// Warm-up and measure at one load point.
    Load,
}

/// Everything that the engine needs to know to run one step; nothing is left to decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepSpec {
    /// Id of the plan's item.
    pub item: u32,
    /// Its name.
    pub name: String,
    /// Which step of the item, from 0.
    pub step: u32,
    /// What it is for.
    pub phase: Phase,
    /// Seed of the step, below 2^53 so that every JSON reader keeps it.
    pub seed: u64,
    /// The target.
    pub target: TargetIdentity,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// The backend that was asked for; `auto` takes the best that works.
    pub backend: PluginUse,
    /// How the streams share the queue.
    pub sharing: Sharing,
    /// Outstanding I/O of all streams together where they share; else the sum of theirs.
    pub outstanding: u32,
    /// The streams; none in an idle step.
    pub streams: Vec<StreamPlan>,
    /// Warm-up before the measure.
    pub warmup_ns: u64,
    /// Length of the measure (or of the idling); `null` = until the workloads end by themselves.
    pub measure_ns: Option<u64>,
    /// Length of an interval row.
    pub interval_ns: u64,
    /// The step stops after this many failed I/O in a row.
    pub consecutive_errors_max: u32,
}

/// How the streams of a step share outstanding I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// One queue for all; each I/O is drawn from a stream by weight.
    Shared,
    /// Each stream has its own outstanding.
    Independent,
}

/// One stream of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamPlan {
    /// Its name.
    pub name: String,
    /// What it asks.
    pub workload: PluginUse,
    /// Start of its region on the target.
    pub region_offset_bytes: u64,
    /// Length of its region.
    pub region_len_bytes: u64,
    /// How hard it asks.
    pub load: Load,
    /// Its share where streams share a queue.
    pub weight: f64,
    /// What it writes.
    pub fill: Fill,
}

/// How hard a stream asks: closed loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Total of outstanding I/O, divided over the workers.
    pub outstanding: u32,
    /// Threads that drive it; a backend whose queue holds less than a worker's share gets more.
    pub workers: u32,
}

/// Content of written blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Every block unique and incompressible.
    Random,
    /// Zeroes: devices may not store them at all, so results are marked.
    Zero,
}

/// A plugin and its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginUse {
    /// Its name.
    pub plugin: String,
    /// All of its options, canonical.
    pub options: Settings,
}

/// Names a target beyond doubt, so that a child process or a later run can demand the same one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetIdentity {
    /// Its label in the suite and in reports.
    pub label: String,
    /// What it is.
    pub kind: TargetKind,
    /// Its path, made absolute; `null` for simulated ones.
    pub path: Option<String>,
    /// Size.
    pub size_bytes: u64,
    /// `major:minor` of a device, or of the file system that holds a file.
    pub device: Option<String>,
    /// Inode of a file.
    pub inode: Option<u64>,
    /// Model, as the device tells it.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
}

impl TargetIdentity {
    /// The target in one phrase: `/dev/nvme0n1 (ACME Turbo 2TB, serial S4X0815, firmware 1.0, 2 TB)`. Without a path
    /// its label stands in front.
    pub fn in_words(&self) -> String {
        let kind = match self.kind {
            TargetKind::File => Some("file".to_owned()),
            TargetKind::Virtual => Some("in memory only".to_owned()),
            TargetKind::Block | TargetKind::Char => None,
        };
        let serial = self.serial.as_ref().map(|serial| format!("serial {serial}"));
        let firmware = self.firmware.as_ref().map(|firmware| format!("firmware {firmware}"));
        let size = (self.size_bytes > 0).then(|| units::amount(self.size_bytes as f64));
        let known: Vec<String> =
            [kind, self.model.clone(), serial, firmware, size].into_iter().flatten().collect();
        let name = self.path.as_ref().unwrap_or(&self.label);
        if known.is_empty() { name.clone() } else { format!("{name} ({})", known.join(", ")) }
    }

    /// The target in one phrase with its label in front, unless that is how it begins.
    pub fn with_label(&self) -> String {
        let (label, words) = (&self.label, self.in_words());
        if self.path.as_ref().is_none_or(|path| path == label) { words } else { format!("{label}: {words}") }
    }
}

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepResult {
    /// Id of the plan's item.
    pub item: u32,
    /// Which step of it.
    pub step: u32,
    /// How it ended.
    pub end: End,
    /// When it started.
    pub started_unix_ms: u64,
    /// Warm-up as it was.
    pub warmup_ns: u64,
    /// Length of the window behind every rate: from the end of warm-up to the end of submission (to the last
    /// completion, where the workloads ended by themselves).
    pub window_ns: u64,
    /// From the end of submission to the last completion.
    pub tail_ns: u64,
    /// What each stream did.
    pub streams: Vec<StreamResult>,
    /// Depth asked and reached.
    pub depth: Depth,
    /// CPU time of the window and its tail, all workers and helpers.
    pub cpu: Cpu,
    /// Each worker.
    pub workers: Vec<WorkerResult>,
    /// How time was taken.
    pub timing: Timing,
    /// The backend that ran.
    pub backend: BackendUse,
    /// What the reader should know.
    pub notes: Vec<Note>,
}

impl StepResult {
    /// I/O per second of an operation, or of all, over all streams; `None` where the window has no length, or
    /// nothing of the kind was asked for.
    pub fn iops(&self, op: Option<Op>) -> Option<f64> {
        self.ops(op).filter_map(|o| o.iops).reduce(|sum, more| sum + more)
    }

    /// Bytes per second of an operation, or of all, over all streams; `None` as for [`StepResult::iops`].
    pub fn bandwidth_bytes_per_s(&self, op: Option<Op>) -> Option<f64> {
        self.ops(op).filter_map(|o| o.bandwidth_bytes_per_s).reduce(|sum, more| sum + more)
    }

    /// Failed I/O of an operation, or of all, over all streams.
    pub fn errors(&self, op: Option<Op>) -> u64 {
        self.ops(op).map(|o| o.errors.values().sum::<u64>()).sum()
    }

    /// The results of an operation, or of all, over all streams.
    pub fn ops(&self, op: Option<Op>) -> impl Iterator<Item = &OpResult> {
        self.streams.iter().flat_map(|s| &s.ops).filter(move |o| op.is_none_or(|op| o.op == op))
    }
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum End {
    /// As planned.
    Completed,
    /// Somebody stopped it; what was measured is kept.
    Interrupted,
    /// Too many failed I/O in a row.
    Errors {
        /// In words.
        reason: String,
    },
    /// A plugin, the system or the engine failed; what was measured is kept.
    Failed {
        /// In words, with the plugin's name.
        reason: String,
    },
}

/// What a stream did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamResult {
    /// Its name.
    pub name: String,
    /// Each operation that it asked for.
    pub ops: Vec<OpResult>,
    /// Outstanding I/O over the window, averaged over time; `null` where the window has no length.
    pub in_flight_mean: Option<f64>,
    /// So much of the window had passed when the stream's workload was done, where that was before the window's
    /// end; `null` when it asked until the end.
    pub ended_after_ns: Option<u64>,
    /// Reads that returned nothing but zeroes: such blocks were never written, or trimmed.
    pub zero_reads: u64,
}

/// What one operation of a stream came to. An I/O belongs to the phase in which it was submitted; warm-up is not here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpResult {
    /// The operation.
    pub op: Op,
    /// Good I/O submitted in the window, those of the tail included: the number in the histograms.
    pub completed: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Good I/O that moved fewer bytes than asked (contained in `completed`).
    pub short: u64,
    /// Failed I/O by errno, not in `completed`.
    #[serde(deserialize_with = "crate::errno::counts")]
    pub errors: BTreeMap<i32, u64>,
    /// Good I/O that completed within the window, whenever submitted: what the rates rest on.
    pub window_completed: u64,
    /// Bytes that those moved.
    pub window_bytes: u64,
    /// `window_completed` per second of the window; `null` where that has no length.
    pub iops: Option<f64>,
    /// `window_bytes` per second of the window; `null` where that has no length.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Submit to completion.
    pub service: Option<LatencySummary>,
    /// Intended start to completion; `null` in a closed loop, where nothing is intended.
    pub response: Option<LatencySummary>,
}

/// Depth over the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Depth {
    /// Asked for.
    pub asked: u32,
    /// Reached, averaged over time; counted apart from the latencies. `null` where the window has no length.
    pub mean: Option<f64>,
    /// Most at any time, as the sum of what each worker had at most; where that is several workers it may never
    /// have been outstanding at once.
    pub max: u32,
}

/// CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Worker threads in user space.
    pub user_ns: u64,
    /// Worker threads in the kernel.
    pub system_ns: u64,
    /// Kernel threads at work for them (io_uring's io-wq), sampled.
    pub helper_ns: u64,
}

/// One worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerResult {
    /// Which.
    pub worker: u32,
    /// Good and failed I/O of the window and its tail.
    pub completed: u64,
    /// CPU time.
    pub cpu: Cpu,
}

/// How time was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// The clock: `monotonic`, or `virtual` for simulated targets.
    pub clock: String,
    /// Where stamps were taken.
    pub stamps: Stamps,
    /// What an end stamp can be late by, as measured: the clock's step; or if it is longer, the mean time for
    /// which a worker did not look for completions, or (where I/O completes within the submitting call) the mean
    /// length of the calls that gave several.
    pub resolution_ns: f64,
}

/// Where stamps were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stamps {
    /// One before and one right after each turn of the queue.
    PerTurn,
    /// The simulated device tells finish times.
    Simulated,
    /// The process was killed before it was recorded.
    Unknown,
}

/// The backend that ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackendUse {
    /// Its name.
    pub plugin: String,
    /// Features in use and fallbacks.
    pub facts: Vec<Fact>,
}

/// A feature in use, or a fallback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// What.
    pub name: String,
    /// How.
    pub value: String,
    /// If it is less than was wanted: why, and the remedy.
    pub fallback: Option<String>,
}

/// A remark on a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// How much it matters.
    pub level: NoteLevel,
    /// A fixed word for programs: `page_cache`, `zero_reads`.
    pub code: String,
    /// For people: what was seen and what to do.
    pub text: String,
}

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteLevel {
    /// Good to know.
    Info,
    /// The numbers may mean something other than they seem to.
    Warning,
}
