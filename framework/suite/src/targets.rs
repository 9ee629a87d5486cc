//! The target: what the suite and the command line say of it, what must be found out about it, and what was.

use std::collections::BTreeMap;

use iodyno_record::DeviceFacts;

use crate::context::Context;
use crate::diagnostics::{Fault, instead};
use crate::fields;
use crate::overrides::is_name;
use crate::quantity::Unit;
use crate::reader::{At, Section};
use crate::text::Place as TextPlace;
use crate::tree::{Node, Raw};

/// A target to look at before the plan can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRequest {
    /// Its label.
    pub label: String,
    /// Where it is.
    pub place: Place,
    /// The size of a target that has none of its own: a character device. The plan takes it from here.
    pub size_bytes: Option<u64>,
    /// The serial number that it must have; the plan checks it.
    pub serial: Option<String>,
    /// Whether a preparation or test writes to it. The first fill of a scratch file does not count.
    pub writes: bool,
    /// Whether all I/O bypasses the page cache.
    pub direct: bool,
}

/// Where a target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file or device that is there.
    Path(String),
    /// A file that iodyno makes.
    Scratch {
        /// Where; `None` = the usual name in the current folder.
        path: Option<String>,
        /// Its size.
        size_bytes: u64,
    },
    /// In memory only.
    Virtual {
        /// Its size.
        size_bytes: u64,
    },
}

/// What was found out about a target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetFacts {
    /// What the kernel says; for a target in memory only, its size and a granule. A scratch file that is not
    /// there yet has the size that it will have, and the granule of its folder's device.
    pub facts: DeviceFacts,
    /// A scratch file that was written in full. Of no meaning for others.
    pub filled: bool,
}

/// The target as it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) label: String,
    pub(crate) at: TextPlace,
    pub(crate) place: Place,
    /// For a character device.
    pub(crate) size: Option<At<u64>>,
    pub(crate) serial: Option<At<String>>,
    pub(crate) datasheet: BTreeMap<String, (f64, Unit)>,
}

/// Reads the one target of a suite. After a fault it is good enough to go on reading.
pub(crate) fn read(root: &Node, context: &Context<'_>) -> Target {
    let node = root.get("target").unwrap_or(root);
    let rows = Section::new(root, fields::SUITE, context.issues).rows("target");
    let Some(section) = rows.first() else {
        let fault = Fault::new(node.place, "there is no target");
        context
            .issues
            .add(fault.help("leave `target` out, or write [[target]] with a path, scratch or size"));
        let (label, place) = (DEFAULT_LABEL.to_owned(), Place::Path(String::new()));
        return Target { label, at: node.place, place, size: None, serial: None, datasheet: BTreeMap::new() };
    };
    let label = section.text("label");
    if let Some(label) = label.as_ref().filter(|label| !is_name(&label.value)) {
        context.issues.add(name_fault(label, "label"));
    }
    let label = label.map_or_else(|| DEFAULT_LABEL.to_owned(), |l| l.value);
    if let Some(second) = rows.get(1) {
        let message = format!("{} targets, but a run has one target for now", rows.len());
        let fault = Fault::new(second.place(), message).related(section.place(), "the first is here");
        context.issues.add(fault.help(format!("choose one on the command line: --target {label}=PATH")));
    }
    context.source(&format!("target.{label}"), section.node());
    let place = place(section, context).unwrap_or(Place::Path(String::new()));
    Target {
        label,
        at: section.place(),
        size: section.whole("size").filter(|_| matches!(place, Place::Path(_))),
        place,
        serial: section.text("serial"),
        datasheet: datasheet(section, context),
    }
}

/// The fault of a name that cannot be used.
pub(crate) fn name_fault(name: &At<String>, what: &str) -> Fault {
    let fault = Fault::new(name.place, format!("the {what} \"{}\" cannot be used in file names", name.value));
    fault.help("start with a letter or digit, go on with letters, digits, `.`, `_` and `-`, 64 at most")
}

/// The label of a target that has none.
pub(crate) const DEFAULT_LABEL: &str = "target";
const SECTOR: u64 = 512;
/// Sizes of scratch files are multiples of this, so that every device takes them.
const BLOCK: u64 = 4096;

fn place(section: &Section<'_>, context: &Context<'_>) -> Option<Place> {
    let whole = |name: &str, of: u64| {
        let size = section.whole(name)?;
        if !size.value.is_multiple_of(of) {
            let message = format!("`{name}` is {} bytes, must be a multiple of {of}", size.value);
            let next = size.value.checked_next_multiple_of(of).map(iodyno_record::units::size);
            let help = next.map(|next| format!("write \"{next}\""));
            return context.fault(Fault::new(size.place, message).maybe_help(help));
        }
        Some(size.value)
    };
    let path = section.text("path");
    if let Some(path) = path.as_ref().filter(|path| path.value.is_empty()) {
        return context.fault(Fault::new(path.place, "`path` is empty"));
    }
    match (path, section.get("scratch"), section.get("size")) {
        (path, Some(_), None) => {
            Some(Place::Scratch { path: path.map(|p| p.value), size_bytes: whole("scratch", BLOCK)? })
        }
        (_, Some(_), Some(size)) => {
            let fault = Fault::new(size.place, "a target with `scratch` has no `size`");
            context.fault(
                fault.help("leave one out: scratch = \"1GiB\" gives the size of a file that iodyno makes"),
            )
        }
        (None, None, Some(_)) => Some(Place::Virtual { size_bytes: whole("size", SECTOR)? }),
        (Some(path), None, Some(_)) => whole("size", SECTOR).map(|_| Place::Path(path.value)),
        (Some(path), None, None) => Some(Place::Path(path.value)),
        // A path of the wrong type was told.
        (None, None, None) if section.get("path").is_some() => None,
        (None, None, None) => {
            let fault = Fault::new(section.place(), "this target has no place");
            context.fault(fault.help(
                "add path = \"/dev/..\", scratch = \"1GiB\" for a file that iodyno makes, or size = \"100GiB\" for one in memory only",
            ))
        }
    }
}

fn datasheet(section: &Section<'_>, context: &Context<'_>) -> BTreeMap<String, (f64, Unit)> {
    let mut entries = BTreeMap::new();
    for (name, entry) in section.get("datasheet").and_then(Node::as_table).into_iter().flatten() {
        let mut long = entry.node.clone();
        if long.as_table().is_none() {
            long.raw = Raw::Table(Default::default());
            long.set("value", entry.node.clone());
        }
        let value = Section::new(&long, fields::DATASHEET_ENTRY, context.issues).quantity("value");
        entries.extend(value.map(|value| (name.clone(), value.value)));
    }
    entries
}

/// The entry of a data sheet, or the fault.
pub(crate) fn datasheet_entry(target: &Target, name: &str, at: TextPlace) -> Result<(f64, Unit), Fault> {
    let found = target.datasheet.get(name).copied();
    found.ok_or_else(|| {
        let fault = Fault::new(at, format!("the data sheet of target `{}` has no `{name}`", target.label));
        fault.help(instead(name, target.datasheet.keys().map(String::as_str)))
    })
}
