//! The results document: what reporters get of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::expect::ExpectResult;
use crate::plan::{ItemKind, Plan};
use crate::step::{Note, StepResult, StepSpec};

/// The document of the `json` reporter: several runs, or one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultsFile {
    /// Always `iodyno-results`, so that a file can be told from others.
    #[schemars(extend("const" = ResultsFile::SCHEMA))]
    pub schema: String,
    /// Version of this data.
    pub schema_version: u32,
    /// The runs, in the order in which they were asked for.
    pub runs: Vec<Results>,
}

impl ResultsFile {
    /// The word in `schema`.
    pub const SCHEMA: &str = "iodyno-results";
}

/// A run, finished or interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// Version of this data.
    pub schema_version: u32,
    /// The run.
    pub run: Run,
    /// Where it took place.
    pub environment: Environment,
    /// What was planned.
    pub plan: Plan,
    /// What came of each item, in the plan's order; those never reached are left out.
    pub items: Vec<ItemResult>,
    /// Remarks on the run as a whole.
    pub notes: Vec<Note>,
}

/// The run itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// How it ended. A run whose record simply stops was killed: `interrupted`.
    pub outcome: Outcome,
    /// When it began.
    pub started_unix_ms: u64,
    /// When it ended; of a killed one, the last thing that was recorded.
    pub ended_unix_ms: u64,
    /// The command line.
    pub command: Vec<String>,
}

/// How an item or a run ended, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All is well.
    Passed,
    /// It was not run.
    NotRun,
    /// An expectation did not hold.
    ThresholdsCrossed,
    /// I/O failed, or something broke.
    Failed,
    /// Somebody stopped it; what was measured is kept.
    Interrupted,
}

/// What came of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ItemResult {
    /// Its id in the plan.
    pub item: u32,
    /// Its name.
    pub name: String,
    /// Preparation or test.
    pub kind: ItemKind,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, where it is not plain.
    pub reason: Option<String>,
    /// Its expectations.
    pub expects: Vec<ExpectResult>,
    /// Its steps. Absent in the event, which follows those of the steps.
    #[serde(default)]
    pub steps: Vec<StepRecord>,
}

/// A step: what was asked and what came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepRecord {
    /// Asked.
    pub spec: StepSpec,
    /// Achieved.
    pub result: StepResult,
}
