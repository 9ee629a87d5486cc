//! The data path: runs one step.
//!
//! [`run_step`] takes a [`StepSpec`](iodyno_record::StepSpec) and open plugins, drives the I/O, sends each
//! finished window as a [`Message`], and returns what was measured. It knows no suite file, no reporter and no
//! terminal, and opens nothing.
//!
//! A step is driven by workers, one thread each over one queue of the target each; `layout.rs` says how many,
//! `threads.rs` starts them. Each runs the loop of `worker.rs`:
//!
//! ```text
//! fill     each lane's generator writes requests            lane.rs
//! admit    region, granule, operation; content of writes    admission.rs, payload.rs
//! turn     the queue takes a batch and gives completions    queue.rs
//! record   counts and histograms of the current interval    recorder.rs, interval.rs
//! ```
//!
//! After the start it allocates nothing, locks nothing and logs nothing; which variant of it runs is chosen
//! before. A simulated target is driven by `simulate.rs` instead, which replaces the clock and the order of
//! events and shares the rest. Workers cut their intervals on a common grid and hand them to `collect.rs`, on
//! the caller's thread, which merges them into rows (`window.rs`); totals are sums of rows (`result.rs`).
//!
//! What an I/O costs here, plugins aside: about 215 instructions (`examples/loop_cost.rs`).

use std::sync::Arc;

mod admission;
mod ahead;
mod clock;
mod collect;
mod cpu;
mod errno;
mod interval;
mod job;
mod lane;
mod layout;
mod memory;
mod notes;
mod payload;
mod queue;
mod recorder;
mod result;
mod shared;
mod simulate;
mod step;
mod threads;
mod window;
mod worker;

pub use clock::monotonic_ns;
pub use step::{check_step, run_step};

/// What the caller may ask for while a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Stop submission, wait for everything in flight, keep all that was measured.
    Stop,
}

/// What a step tells while it runs.
#[derive(Clone, Debug)]
pub enum Message {
    /// A window is over on all workers.
    Window(Window),
    /// How far it is; at most four times a second.
    Progress {
        /// Time since the step's start, ns.
        elapsed_ns: u64,
        /// Bytes moved in the windows that are over.
        bytes: u64,
    },
}

/// What all workers did in one window of a step.
#[derive(Clone, Debug)]
pub struct Window {
    /// One for each stream and operation that its workload declares.
    pub rows: Vec<iodyno_record::Row>,
    /// Service times of each row.
    pub service: Vec<iodyno_record::Histogram>,
    /// Response times of each row; `None` in a closed loop, where nothing is intended.
    pub response: Vec<Option<iodyno_record::Histogram>>,
}

/// The plugins of a step, open and ready.
#[derive(Clone)]
pub struct Parts {
    /// Name of the backend in use.
    pub backend: String,
    /// The open target.
    pub target: Arc<dyn iodyno_plugin::Target>,
    /// One workload for each stream of the spec.
    pub workloads: Vec<Arc<dyn iodyno_plugin::Workload>>,
}
