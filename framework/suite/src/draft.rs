//! A draft: everything that a suite and the command line say, checked against the plugins, before anything is
//! known of the target. The plan is made from it.

use iodyno_plugin::{Catalog, Kind, TargetKind as PluginTargetKind};
use iodyno_record::{Expect, Fill, ItemKind, Load, Note, Phase, Sharing, TargetKind};

use crate::context::Context;
use crate::diagnostics::{Diagnostics, Fault, Issues};
use crate::extent::Region;
use crate::fields;
use crate::overrides::{self, Arguments, Overrides};
use crate::plugin_use::{AUTO, Used, Work};
use crate::reader::{At, Section, check};
use crate::shape::Shape;
use crate::suite::Suite;
use crate::targets::{self, Place, Target, name_fault};
use crate::text::{BUILT_IN, Origin, Sourced, Texts};
use crate::tree::{self, Node};
use crate::{prepare, test_item};

const BUILT_IN_DEFAULTS: &str = include_str!("built_in.toml");
/// Seeds stay below this, so that every JSON reader keeps them.
pub(crate) const SEED_LIMIT: u64 = 1 << 53;

/// A suite, read.
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) target: Target,
    /// Fills a scratch file that was just made; `None` for other targets.
    pub(crate) first_fill: Option<ItemDraft>,
    pub(crate) items: Vec<ItemDraft>,
    pub(crate) notes: Vec<Note>,
    pub(crate) sources: Vec<Sourced>,
    /// Takes faults that show only with the target.
    pub(crate) issues: Issues,
}

/// A preparation or test.
#[derive(Clone)]
pub(crate) struct ItemDraft {
    pub(crate) name: At<String>,
    pub(crate) kind: ItemKind,
    pub(crate) phase: Phase,
    pub(crate) tags: Vec<String>,
    pub(crate) requires: Requires,
    pub(crate) sharing: Sharing,
    pub(crate) outstanding: u32,
    pub(crate) streams: Vec<StreamDraft>,
    pub(crate) backend: Used,
    pub(crate) direct: bool,
    pub(crate) interval_ns: u64,
    pub(crate) warmup_ns: u64,
    pub(crate) measure_ns: Option<u64>,
    pub(crate) expects: Vec<Expect>,
}

impl ItemDraft {
    /// Whether it needs a descriptor that can write.
    pub(crate) fn writes(&self) -> bool {
        self.streams.iter().any(|s| s.work.info.ops.writes())
    }
}

/// What a test needs of its target.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requires {
    pub(crate) capacity_bytes: Option<u64>,
    pub(crate) kind: Option<TargetKind>,
}

/// One stream.
#[derive(Clone)]
pub(crate) struct StreamDraft {
    pub(crate) name: String,
    pub(crate) work: Work,
    pub(crate) region: At<Region>,
    pub(crate) load: Load,
    pub(crate) weight: f64,
    pub(crate) fill: Fill,
}

/// The built-in defaults as a tree.
pub(crate) fn built_in() -> Node {
    tree::parse(BUILT_IN, BUILT_IN_DEFAULTS, Origin::BuiltIn).expect("the built-in defaults are TOML")
}

/// Reads a suite as the command line changes it.
///
/// # Errors
/// Everything that is wrong, however the target turns out.
pub(crate) fn draft(
    suite: &Suite,
    overrides: &Overrides,
    catalog: &dyn Catalog,
) -> Result<Draft, Diagnostics> {
    let mut texts = Texts::new(suite.file_name(), suite.text(), BUILT_IN_DEFAULTS);
    let arguments = Arguments::new(overrides, &mut texts);
    let issues = Issues::new(texts, overrides.profile.clone());
    if overrides.seed.is_some_and(|seed| seed >= SEED_LIMIT)
        && let Some(place) = arguments.seed
    {
        issues.add(
            Fault::new(place, "the seed must be below 2^53").help("then every JSON reader keeps it exactly"),
        );
    }
    let built_in = built_in();
    let mut root = suite.root().clone();
    overrides::apply(&mut root, &built_in, &arguments, &issues);
    check(&root, &Shape::Table(fields::SUITE), "", true, &issues);
    let context = Context::new(catalog, &issues);
    if let (Some(seed), Some(place)) = (overrides.seed, arguments.seed) {
        context.source_value("seed", &seed.to_string(), Origin::Flag, place);
    }
    let (name, description) = head(&root, suite, &context);
    let target = targets::read(&root, &context);
    let first_fill = match target.place {
        Place::Scratch { .. } => prepare::first_fill(&root, &built_in, &context),
        _ => None,
    };
    let items = items(&root, &built_in, &target, &context);
    check_backends(&target, &items, &context);
    let sources = context.take_sources();
    issues.check()?;
    let notes = issues.take_notes();
    Ok(Draft { name, description, target, first_fill, items, notes, sources, issues })
}

fn head(root: &Node, suite: &Suite, context: &Context<'_>) -> (String, Option<String>) {
    let (mut name, mut description) = (None, None);
    if let Some(node) = root.get("suite") {
        context.source("suite", node);
        let section = Section::new(node, fields::HEAD, context.issues);
        name = section.text("name");
        description = section.text("description").map(|d| d.value);
    }
    if let Some(name) = name.as_ref().filter(|name| !overrides::is_name(&name.value)) {
        context.issues.add(name_fault(name, "name"));
    }
    (name.map_or_else(|| suite.stem(), |name| name.value), description)
}

fn items(root: &Node, built_in: &Node, target: &Target, context: &Context<'_>) -> Vec<ItemDraft> {
    let section = Section::new(root, fields::SUITE, context.issues);
    let tests = section.rows("test");
    let preparations = section.rows("prepare");
    if tests.is_empty() && preparations.is_empty() {
        let fault = Fault::new(root.place, "the suite has no test");
        context.issues.add(fault.help("add [[test]] with a name and a workload"));
    }
    check_names(&preparations, &tests, context);
    let mut items = prepare::items(&preparations, &tests, root, built_in, context);
    items.extend(tests.iter().filter_map(|row| test_item::item(row, root, built_in, target, context)));
    items
}

/// Names are unique and can stand in file names.
fn check_names(preparations: &[Section<'_>], tests: &[Section<'_>], context: &Context<'_>) {
    let mut seen: Vec<At<String>> = Vec::new();
    for name in preparations.iter().chain(tests).filter_map(|row| row.text("name")) {
        if name.value == prepare::FIRST_FILL {
            let fault = Fault::new(name.place, format!("the name `{}` is taken by iodyno", name.value));
            context.issues.add(fault.help("choose another"));
        } else if !overrides::is_name(&name.value) {
            let fault = name_fault(&name, "name");
            let pattern = name.value.contains('{');
            let later =
                "names with {..} belong to a matrix, which is not supported yet: write a [[test]] for each";
            context.issues.add(if pattern { fault.help(later) } else { fault });
        } else if let Some(first) = seen.iter().find(|other| other.value == name.value) {
            let fault = Fault::new(name.place, format!("the name `{}` is used twice", name.value));
            context.issues.add(fault.label("again here").related(first.place, "first used here"));
        }
        seen.push(name);
    }
}

/// Tells which backends cannot drive the target; each once, however many steps name it.
fn check_backends(target: &Target, items: &[ItemDraft], context: &Context<'_>) {
    let is_virtual = matches!(target.place, Place::Virtual { .. });
    let fits = |kinds: &[PluginTargetKind]| {
        kinds.iter().any(|kind| (*kind == PluginTargetKind::Virtual) == is_virtual)
    };
    let mut told: Vec<&str> = Vec::new();
    for item in items.iter().filter(|item| !item.streams.is_empty()) {
        let name = item.backend.recorded.plugin.as_str();
        if told.contains(&name) || fits(item.backend.drives(context.catalog)) {
            continue;
        }
        told.push(name);
        let (needs, is, instead) = match is_virtual {
            true => ("a file or device", "exists in memory only", "path = \"/dev/..\" or scratch = \"1GiB\""),
            false => ("a target in memory only", "is a file or device", "size = \"100GiB\" and no path"),
        };
        let message = format!("backend `{name}` needs {needs}, and target `{}` {is}", target.label);
        // The built-in default names one too, where no line of the suite does.
        let by_default = item.backend.place.text == BUILT_IN;
        let fault = match by_default {
            true => Fault::new(target.at, message),
            false => Fault::new(item.backend.place, message).related(target.at, "the target is here"),
        };
        let named = context.catalog.list(Kind::Backend).into_iter().find(|plugin| fits(plugin.drives()));
        let other = if is_virtual { named.map_or("NAME", |plugin| plugin.name) } else { AUTO };
        let step = &item.name.value;
        context.issues.add(
            fault.help(format!(
                "for `{step}` write backend = \"{other}\", or describe the target by {instead}"
            )),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape;

    #[test]
    fn the_built_in_defaults_are_good_and_leave_nothing_open() {
        let issues = Issues::new(Texts::new("a.toml", "", BUILT_IN_DEFAULTS), None);
        let built_in = built_in();
        for (name, fields) in [
            ("defaults", fields::DEFAULTS),
            ("fill", fields::FILL),
            ("fill_scratch", fields::FILL),
            ("target", fields::TARGET),
        ] {
            let node = built_in.get(name).unwrap_or_else(|| panic!("no {name}"));
            check(node, &Shape::Table(fields), name, true, &issues);
        }
        issues.check().unwrap_or_else(|d| panic!("{d}"));
        let defaults = built_in.get("defaults").unwrap();
        let open: Vec<&str> = shape::names(fields::DEFAULTS).filter(|f| defaults.get(f).is_none()).collect();
        assert_eq!(open, ["workload"], "what is asked must be said by the suite");
    }
}
