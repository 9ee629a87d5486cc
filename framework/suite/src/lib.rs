//! The TOML suite: from text to a plan, the procedures that walk through a plan's items, and the judgement of
//! what was measured. No I/O: what must be known of the machine is handed in.
//!
//! ```text
//! text      Suite::parse: TOML with the place of every value          tree.rs
//! overlay   profile, --set, --target, --size                          overrides.rs, overlay.rs
//! check     every field against the field tables, all faults at once  shape.rs, fields.rs, reader.rs, value.rs
//! draft     each item laid over the defaults, plugins asked           draft.rs, test_item.rs, prepare.rs
//! plan      with the facts about the target: regions, bounds, steps   plan.rs
//! ```
//!
//! A caller asks [`targets()`] what to look at, finds that out, and calls [`plan()`]. While running it asks [`next`]
//! for the steps of an item, and [`evaluate()`] whether its expectations hold.
//!
//! Whatever a user can get wrong is told by [`Diagnostics`], all of it together, each with its place, the value,
//! the limit and what to type instead. Once a plan exists, a step cannot fail on configuration.

mod context;
mod diagnostics;
mod draft;
mod evaluate;
mod expect;
mod extent;
mod fields;
mod foreign;
mod overlay;
mod overrides;
mod plan;
mod plugin_use;
mod prepare;
mod procedure;
mod quantity;
mod reader;
mod schema;
mod shape;
mod size;
mod suite;
mod targets;
mod test_item;
mod text;
mod tree;
mod value;

pub use diagnostics::{Diagnostic, Diagnostics, nearest};
pub use evaluate::evaluate;
pub use overrides::Overrides;
pub use plan::{plan, targets};
pub use plugin_use::default_options;
pub use procedure::{Next, next};
pub use schema::{results_schema, suite_schema};
pub use suite::{Suite, check, sources};
pub use targets::{Place, TargetFacts, TargetRequest};
pub use text::{Source, Sourced};
