//! What every part of the reading needs: the plugins, where faults go, and the list of who says what.

use std::cell::RefCell;

use iodyno_plugin::Catalog;

use crate::diagnostics::{Fault, Issues};
use crate::text::{Origin, Place, Sourced};
use crate::tree::{Node, Raw};

/// The context of one reading.
pub(crate) struct Context<'a> {
    pub(crate) catalog: &'a dyn Catalog,
    pub(crate) issues: &'a Issues,
    sources: RefCell<Vec<Sourced>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(catalog: &'a dyn Catalog, issues: &'a Issues) -> Self {
        Context { catalog, issues, sources: RefCell::default() }
    }

    /// Tells a fault where a value was wanted.
    pub(crate) fn fault<T>(&self, fault: Fault) -> Option<T> {
        self.issues.add(fault);
        None
    }

    /// Tells who says a value, and all values within.
    pub(crate) fn source(&self, path: &str, node: &Node) {
        match &node.raw {
            Raw::Table(table) => {
                table.iter().for_each(|(key, entry)| self.source(&format!("{path}.{key}"), &entry.node));
            }
            _ => self.source_value(path, &node.to_toml(), node.origin, node.place),
        }
    }

    /// Tells who says a value.
    pub(crate) fn source_value(&self, path: &str, value: &str, origin: Origin, place: Place) {
        let source = self.issues.source(origin, place);
        self.sources.borrow_mut().push(Sourced { path: path.to_owned(), value: value.to_owned(), source });
    }

    pub(crate) fn take_sources(&self) -> Vec<Sourced> {
        self.sources.take()
    }
}
