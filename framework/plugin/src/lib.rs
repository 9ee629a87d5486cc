//! The contract between iodyno and its plugins.
//!
//! A plugin takes one of three roles: a [`Workload`] says *what* is asked of a target, a [`Backend`]
//! is *how* requests reach it, a [`Reporter`] says how a finished run is shown. Each is declared by one
//! [`Plugin`] value with its option table ([`OptionSpec`]), registered with [`register!`].
//!
//! Everything that crosses the border in the data path is plain data ([`abi`]), in batches, so that a C
//! table and a WASM interface can carry the same contract. This crate depends on nothing of iodyno: what
//! it shows is all that a stranger's plugin sees.
//!
//! The interface is version 0.x: it may change until the SPDK, NVMe and verification work has used it.

pub mod abi;
mod backend;
mod catalog;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
mod model;
mod options;
pub mod random;
mod reporter;
mod value;
mod workload;

pub use abi::{Completion, Feedback, Op, OpSet, Request, Submission, Turn, Wait};
pub use backend::{
    Backend, Buffers, CompletionStyle, DmaBlock, Fact, Queue, QueueSpec, Target, TargetInfo, TargetKind,
    TargetSpec,
};
pub use catalog::{Catalog, Factory, Kind, Plugin};
pub use error::{Error, ErrorKind, Errors, Result};
pub use model::{DeviceModel, Finish};
pub use options::{Default, OptionKind, OptionSpec};
pub use reporter::{FileId, Output, Reporter, RunView};
pub use value::{Options, Value};
pub use workload::{Filled, More, Stream, StreamSpec, Workload, WorkloadInfo};

#[doc(hidden)]
pub use inventory;

/// Version of the contract, `(major, minor)`. A plugin made for another major version is refused.
pub const API_VERSION: (u32, u32) = (0, 1);
