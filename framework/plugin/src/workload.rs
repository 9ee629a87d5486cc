//! Workloads: what is asked of a target.

use crate::abi::{Feedback, OpSet, Request};
use crate::error::Result;

/// A request workload with its options, for one stream of one step. Tables, and a cursor that several
/// lanes share, live here.
pub trait Workload: Send + Sync {
    /// What this workload will ask for with the options it has. Known before any target is opened, so that
    /// a plan that writes is refused in time.
    fn info(&self) -> WorkloadInfo;

    /// The generator of one lane. Called once a lane, with the same region for all lanes of the stream.
    ///
    /// The sequence is a function of `(seed, lane, lanes)` and the region alone, on every machine, and
    /// never of how many requests a `fill` asked for. With several lanes a cursor they share promises only
    /// that all of them together ask for each place once.
    ///
    /// # Errors
    /// When the region cannot hold what the options ask for.
    fn stream(&self, spec: &StreamSpec) -> Result<Box<dyn Stream>>;
}

/// What a workload will ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadInfo {
    /// Every operation it may ask for.
    pub ops: OpSet,
    /// Longest request, bytes; buffers are this large.
    pub max_len: u32,
    /// Every length and offset is a multiple of this many bytes, but for a request that is cut at the region's
    /// end, to a multiple of [`StreamSpec::granule`]. Must itself be a multiple of the target's granule.
    pub granule: u32,
    /// Whether `Stream::complete` must be called. It costs some time for each I/O.
    pub wants_completions: bool,
    /// Whether the stream ends by itself ([`More::Done`]) after a number of bytes that is bounded by
    /// `passes` times its region; `None` = it never ends.
    pub passes: Option<u32>,
}

/// What a lane's generator may know.
#[derive(Clone, Copy, Debug)]
pub struct StreamSpec {
    /// Seed of the stream; the lane is not mixed in yet.
    pub seed: u64,
    /// Which lane, `0..lanes`.
    pub lane: u32,
    /// How many lanes share the stream.
    pub lanes: u32,
    /// Length of the region in bytes; offsets lie in `0..region_len`.
    pub region_len: u64,
    /// Bytes: every offset and length must be a multiple.
    pub granule: u32,
    /// Most bytes that a request may have.
    pub max_len: u32,
    /// What may be asked; others stop the step.
    pub ops: OpSet,
}

/// Generates the requests of one lane. It has no clock and does no I/O.
pub trait Stream: Send {
    /// Writes up to `out.len()` requests to the front of `out`. Fewer is allowed.
    ///
    /// # Errors
    /// The step stops with the plugin's name and the message.
    fn fill(&mut self, out: &mut [Request]) -> Result<Filled>;

    /// Learns of completions, in the order in which they came. Called only where
    /// [`WorkloadInfo::wants_completions`] is set, which is also the only case where `fill` may say
    /// [`More::Blocked`].
    ///
    /// # Errors
    /// As for `fill`.
    fn complete(&mut self, done: &[Feedback]) -> Result<()> {
        let _ = done;
        Ok(())
    }
}

/// What a `fill` gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Requests written.
    pub n: usize,
    /// Whether there will be others.
    pub more: More,
}

/// Whether a stream goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// Ask again.
    More,
    /// Not before a completion came back.
    Blocked,
    /// Never again.
    Done,
}
