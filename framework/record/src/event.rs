//! What happens while a run goes on: the interface between the runner and everything that shows or stores.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::{ItemResult, Outcome};
use crate::row::Row;
use crate::step::{Note, StepResult, StepSpec};

/// One line of `events.ndjson`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    /// Version of this data.
    pub schema_version: u32,
    /// Counts the events of a run from 0, without gaps.
    pub seq: u64,
    /// When.
    pub unix_ms: u64,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run began; plan and environment lie beside the events.
    RunStarted {
        /// Id of the run, the name of its folder.
        run: String,
        /// Name of the suite.
        suite: String,
        /// Seed.
        seed: u64,
        /// Number of items in the plan.
        items: u32,
    },
    /// An item began.
    ItemStarted {
        /// Its id.
        item: u32,
        /// Its name.
        name: String,
    },
    /// A step began.
    StepStarted {
        /// What is asked.
        spec: Box<StepSpec>,
    },
    /// A window is over. Not in `events.ndjson`: rows have a file of their own.
    Rows {
        /// One for each stream and operation.
        rows: Vec<Row>,
    },
    /// How far a step is, a few times a second. Not stored.
    Progress {
        /// Id of the item.
        item: u32,
        /// Which step.
        step: u32,
        /// Time since the step's start, ns.
        elapsed_ns: u64,
        /// Expected length of the step, ns, where it is known.
        expected_ns: Option<u64>,
        /// Bytes moved so far.
        bytes: u64,
        /// Bytes expected, where known.
        expected_bytes: Option<u64>,
    },
    /// A step is over.
    StepFinished {
        /// What it came to.
        result: Box<StepResult>,
    },
    /// An item is over.
    ItemFinished {
        /// What it came to, without its steps, which were told before.
        result: Box<ItemResult>,
    },
    /// A remark on the run.
    Noted {
        /// It.
        note: Note,
    },
    /// The run is over.
    RunFinished {
        /// How.
        outcome: Outcome,
    },
}

impl Event {
    /// Whether it belongs into `events.ndjson`.
    pub fn is_stored(&self) -> bool {
        !matches!(self, Event::Rows { .. } | Event::Progress { .. })
    }
}
