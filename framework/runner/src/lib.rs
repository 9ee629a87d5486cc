//! Runs a plan and keeps its record: opens targets through the guard and plugins through the host, runs each
//! step in the engine, writes the run folder as it goes, judges, and feeds reporters.
//!
//! The main flow: [`resolve`] looks at targets, the suite crate makes the plan, [`run()`] does it, [`load()`]
//! reads the run folder back, [`report()`] makes documents of it.

mod consistency;
mod control;
mod error;
mod folder;
mod journal;
mod limits;
mod load;
mod open;
mod output;
mod report;
mod run;
mod salvage;
mod targets;
mod watch;

pub use control::Control;
pub use error::RunError;
pub use folder::names;
pub use iodyno_device::{Grants, open_files_advice};
pub use journal::Observer;
pub use load::{Loaded, load};
pub use output::{OutputRequest, Place};
pub use report::{Reported, report};
pub use run::{Finished, RunRequest, run};
pub use targets::{make_scratch, refusals, resolve, scratch_notes};
pub use watch::{Watchers, split};
