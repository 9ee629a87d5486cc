//! The plan: a suite resolved against real targets, with nothing optional left.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::DeviceFacts;
use crate::expect::Expect;
use crate::step::{Note, StepSpec, TargetIdentity};

/// Everything that will be done, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Version of this data.
    pub schema_version: u32,
    /// Name of the suite.
    pub suite: String,
    /// Description from the suite.
    pub description: Option<String>,
    /// Profile in use.
    pub profile: Option<String>,
    /// Seed of the run, below 2^53.
    pub seed: u64,
    /// The targets.
    pub targets: Vec<PlanTarget>,
    /// What is done, in order.
    pub items: Vec<Item>,
    /// Remarks from planning (a decimal size, a share that was rounded).
    pub notes: Vec<Note>,
}

/// A target of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanTarget {
    /// Who it is.
    pub identity: TargetIdentity,
    /// What the kernel says of it.
    pub facts: DeviceFacts,
    /// A scratch file that iodyno makes and may write to.
    pub scratch: bool,
    /// Whether any item writes to it.
    pub written: bool,
    /// Where a number comes from, for `datasheet` expectations: name and value in base units.
    pub datasheet: std::collections::BTreeMap<String, f64>,
}

/// One entry of the plan: a preparation or a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// Position in the plan.
    pub id: u32,
    /// Unique name.
    pub name: String,
    /// Preparation or test.
    pub kind: ItemKind,
    /// Tags.
    pub tags: Vec<String>,
    /// Index of its target.
    pub target: u32,
    /// How it walks through steps.
    pub procedure: Procedure,
    /// The step to run; procedures vary its load.
    pub step: StepSpec,
    /// What is expected.
    pub expects: Vec<Expect>,
    /// Why it will not run (a requirement that the target does not meet).
    pub not_run: Option<String>,
    /// What it takes at most.
    pub bounds: Bounds,
}

/// Preparation or test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// Brings the target into a state.
    Prepare,
    /// Measures it.
    Test,
}

/// How an item walks through steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "procedure", rename_all = "snake_case")]
pub enum Procedure {
    /// One step.
    Fixed,
}

/// Upper bounds of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// Time, ns; `null` = as long as it takes.
    pub time_ns: Option<u64>,
    /// Bytes written; `null` = unbounded, 0 = none.
    pub bytes_written: Option<u64>,
}
