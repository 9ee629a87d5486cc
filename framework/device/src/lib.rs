//! Facts about devices, and the guard that protects other people's data.
//!
//! [`probe()`] tells what a path leads to. [`open_read`] and [`open_write`] open it; nothing else in iodyno
//! opens a target, and [`open_write`] is the only maker of a [`WriteGrant`]. These rules hold:
//!
//! - **The descriptor is the grant.** A target is opened once, compared with what was probed, checked through
//!   the open descriptor, and held (exclusively, if it may be written to) until [`OpenTarget`] is dropped.
//!   Without a grant the descriptor is read-only, so the kernel enforces it.
//! - **Identity, not name.** Everything is compared by device number and inode; symlinks, hard links, other
//!   device nodes and bind mounts are the same object.
//! - **What cannot be found out counts as a reason against.** Every check that fails to run is a refusal.
//! - **All reasons at once.** [`refusals`] says everything that stands against writing, for dry runs too.

mod block;
mod error;
mod guard;
mod host;
mod kernel;
#[cfg(test)]
mod made_up;
mod mounts;
mod object;
mod openers;
mod probe;
pub mod scratch;
mod signature;
mod stats;
mod sysroot;
pub mod testing;
pub mod undo;
mod usage;

pub use error::{DeviceError, Refusal, open_files_advice};
pub use guard::{Grants, OpenTarget, WriteGrant, open_read, open_write, refusals};
pub use host::host_facts;
pub use probe::probe;
pub use signature::{Signature, SignatureKind};
pub use stats::{DiskStats, disk_stats};
