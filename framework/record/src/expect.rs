//! Expectations: what a test promises, and whether it held.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::step::Op;

/// One line of `expect`, read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expect {
    /// As written.
    pub text: String,
    /// What is compared.
    pub metric: Metric,
    /// How.
    pub comparison: Comparison,
    /// With what.
    pub limit: Limit,
}

/// A number of a step's result: `read.service.p99`, `data.write.iops`, `errors`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Of one stream; `null` = all together.
    pub stream: Option<String>,
    /// Of one operation; `null` = all together.
    pub op: Option<Op>,
    /// Which number.
    #[serde(flatten)]
    pub kind: MetricKind,
}

/// Which number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MetricKind {
    /// I/O per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Failed I/O.
    Errors,
    /// Good I/O.
    Completed,
    /// Bytes moved.
    Bytes,
    /// Short I/O.
    Short,
    /// Reads of nothing but zeroes.
    ZeroReads,
    /// A latency, ns.
    Latency {
        /// Service or response.
        side: Side,
        /// Which statistic.
        statistic: Statistic,
    },
}

/// Which latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Submit to completion.
    Service,
    /// Intended start to completion.
    Response,
}

/// Which statistic of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "statistic", content = "percent", rename_all = "snake_case")]
pub enum Statistic {
    /// Mean.
    Mean,
    /// Least.
    Min,
    /// Greatest.
    Max,
    /// A percentile, 0 to 100.
    Percentile(f64),
}

/// How metric and limit compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Comparison {
    /// Less.
    #[serde(rename = "<")]
    Less,
    /// Less or equal.
    #[serde(rename = "<=")]
    LessOrEqual,
    /// Equal.
    #[serde(rename = "==")]
    Equal,
    /// Not equal.
    #[serde(rename = "!=")]
    NotEqual,
    /// Greater or equal.
    #[serde(rename = ">=")]
    GreaterOrEqual,
    /// Greater.
    #[serde(rename = ">")]
    Greater,
}

/// The limit, in the metric's unit: ns, bytes, or a count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Limit {
    /// A number.
    Value {
        /// It.
        value: f64,
    },
    /// A share of what the target's data sheet says, already looked up.
    Datasheet {
        /// Name of the entry.
        name: String,
        /// Share in percent.
        percent: f64,
        /// The resulting number.
        value: f64,
    },
}

/// Whether an expectation held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectResult {
    /// As written.
    pub text: String,
    /// What was measured; `null` = nothing.
    pub measured: Option<f64>,
    /// Whether it held; nothing measured never does.
    pub held: bool,
    /// Why not, or what to bear in mind (a percentile of few samples).
    pub remark: Option<String>,
}
