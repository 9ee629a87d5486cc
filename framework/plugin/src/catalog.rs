//! Declaring and finding plugins.

use std::sync::Arc;

use crate::backend::{Backend, TargetKind};
use crate::error::Result;
use crate::options::OptionSpec;
use crate::reporter::Reporter;
use crate::value::Options;
use crate::workload::Workload;

/// The role of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Says what is asked.
    Workload,
    /// Carries I/O.
    Backend,
    /// Shows runs.
    Reporter,
}

impl Kind {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Workload => "workload",
            Kind::Backend => "backend",
            Kind::Reporter => "reporter",
        }
    }
}

/// Makes an instance from checked options.
#[derive(Clone, Copy)]
pub enum Factory {
    /// Of a workload: one for each stream of a step.
    Workload(fn(&Options) -> Result<Arc<dyn Workload>>),
    /// Of a backend.
    Backend {
        /// Makes it.
        create: fn(&Options) -> Result<Arc<dyn Backend>>,
        /// Place among those that `auto` tries, lowest first; `None` = only by name.
        auto_rank: Option<u32>,
        /// Kinds of targets that it can drive, so that a suite that gives it another is told before anything starts.
        drives: &'static [TargetKind],
    },
    /// Of a reporter.
    Reporter(fn(&Options) -> Result<Box<dyn Reporter>>),
}

/// One plugin, declared.
pub struct Plugin {
    /// Its name: `[a-z][a-z0-9_-]*`.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// One line for lists and help.
    pub summary: &'static str,
    /// Its options.
    pub options: &'static [OptionSpec],
    /// Makes instances.
    pub factory: Factory,
}

impl Plugin {
    /// Kinds of targets that it can drive; none for what is no backend.
    pub const fn drives(&self) -> &'static [TargetKind] {
        match self.factory {
            Factory::Backend { drives, .. } => drives,
            _ => &[],
        }
    }

    /// Its role.
    pub const fn kind(&self) -> Kind {
        match self.factory {
            Factory::Workload(_) => Kind::Workload,
            Factory::Backend { .. } => Kind::Backend,
            Factory::Reporter(_) => Kind::Reporter,
        }
    }
}

inventory::collect!(Plugin);

/// Registers a built-in: `iodyno_plugin::register!(Plugin { .. });`. The crate must also be named in the
/// `builtins` crate, or the linker leaves it out.
#[macro_export]
macro_rules! register {
    ($plugin:expr) => {
        $crate::inventory::submit! { $plugin }
    };
}

/// All plugins that can be used, from whatever source.
pub trait Catalog: Sync {
    /// All of a role, sorted by name.
    fn list(&self, kind: Kind) -> Vec<&Plugin>;

    /// One by name.
    fn find(&self, kind: Kind, name: &str) -> Option<&Plugin> {
        self.list(kind).into_iter().find(|p| p.name == name)
    }
}
