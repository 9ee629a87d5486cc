//! A suite file, read as TOML.

use iodyno_plugin::Catalog;

use crate::diagnostics::{Diagnostics, Fault};
use crate::draft::draft;
use crate::overrides::{Overrides, is_name};
use crate::text::{Origin, SUITE, Sourced, Texts};
use crate::tree::{self, Node, Raw, Table};

/// The version of the suite format that is read.
const SCHEMA: i64 = 1;

/// A suite file that is TOML and of a version that is known. What it says is checked by [`crate::targets()`],
/// [`crate::plan()`] and [`check`].
#[derive(Clone, Debug)]
pub struct Suite {
    file_name: String,
    text: String,
    root: Node,
}

impl Suite {
    /// Reads the text of a suite. `file_name` is for messages.
    ///
    /// # Errors
    /// When the text is no TOML, or its `schema` is not 1.
    pub fn parse(file_name: &str, text: &str) -> Result<Suite, Diagnostics> {
        let fault = match tree::parse(SUITE, text, Origin::Suite) {
            Ok(root) => match schema_fault(&root) {
                None => return Ok(Suite { file_name: file_name.to_owned(), text: text.to_owned(), root }),
                Some(fault) => fault,
            },
            Err(fault) => fault,
        };
        Err(Diagnostics::new(&Texts::new(file_name, text, ""), vec![fault]))
    }

    /// The names of its profiles.
    pub fn profiles(&self) -> Vec<String> {
        self.root.get("profile").and_then(Node::as_table).into_iter().flat_map(Table::keys).cloned().collect()
    }

    pub(crate) fn file_name(&self) -> &str {
        &self.file_name
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    /// A name made from that of the file.
    pub(crate) fn stem(&self) -> String {
        let file = self.file_name.rsplit('/').next().unwrap_or_default();
        let stem = file.strip_suffix(".toml").unwrap_or(file);
        if is_name(stem) { stem.to_owned() } else { "suite".to_owned() }
    }
}

fn schema_fault(root: &Node) -> Option<Fault> {
    match root.get("schema") {
        Some(Node { raw: Raw::Int(SCHEMA), .. }) => None,
        Some(node) => {
            let message = format!("`schema` is {}, this version of iodyno reads {SCHEMA}", node.describe());
            Some(Fault::new(node.place, message).help(format!("write schema = {SCHEMA}")))
        }
        None => {
            let fault = Fault::new(root.place, "the suite does not say which version of the format it has");
            Some(fault.help(format!("begin the file with schema = {SCHEMA}")))
        }
    }
}

/// Checks a suite as it is, and with each of its profiles, without looking at any target. With a profile in
/// `overrides` only that one.
///
/// # Errors
/// Everything that is wrong.
pub fn check(suite: &Suite, overrides: &Overrides, catalog: &dyn Catalog) -> Result<(), Diagnostics> {
    let profiles = suite.profiles().into_iter().map(Some);
    let profiles: Vec<Option<String>> = match &overrides.profile {
        Some(_) => vec![overrides.profile.clone()],
        None => std::iter::once(None).chain(profiles).collect(),
    };
    let mut found: Option<Diagnostics> = None;
    for profile in profiles {
        let overrides = Overrides { profile, ..overrides.clone() };
        if let Err(diagnostics) = draft(suite, &overrides, catalog) {
            match &mut found {
                Some(found) => found.merge(diagnostics),
                None => found = Some(diagnostics),
            }
        }
    }
    found.map_or(Ok(()), Err)
}

/// Every value that holds and who says so. Empty when something is wrong with the suite: [`crate::plan()`] tells.
pub fn sources(suite: &Suite, overrides: &Overrides, catalog: &dyn Catalog) -> Vec<Sourced> {
    draft(suite, overrides, catalog).map(|draft| draft.sources).unwrap_or_default()
}
