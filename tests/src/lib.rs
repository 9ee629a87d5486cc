//! Tests of the whole: the binary, the house rules, the published formats.
//!
//! This library is what the tests are written in. A test of the binary takes a few lines:
//!
//! ```no_run
//! let folder = iodyno_tests::Folder::new();
//! folder.file("a.toml", "schema = 2\n");
//! folder.run("check a.toml").exits(2).says("schema");
//! ```
//!
//! What a run left is read by [`Record`]. Devices that a test may destroy come from [`lab`]; tests that can take
//! any length draw their cases from [`long::Sample`].

mod binary;
pub mod confined;
mod folder;
pub mod lab;
pub mod long;
mod record;

pub use binary::iodyno;
pub use folder::{Ended, Folder, Running};
pub use record::{Record, Step};
