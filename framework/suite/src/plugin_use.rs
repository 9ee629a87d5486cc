//! A plugin as a suite uses it: found, its options checked and complete, and asked what it says of itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use iodyno_plugin::{
    Catalog, Default, Error, Factory, Kind, Options, Plugin, TargetKind, Workload, WorkloadInfo,
};
use iodyno_record::{PluginUse, Settings};

use crate::context::Context;
use crate::diagnostics::{Fault, instead};
use crate::text::{BUILT_IN, Origin, Place};
use crate::tree::{Node, Raw, Table};
use crate::value::{Values, default_value};

/// The word for the best backend that works.
pub(crate) const AUTO: &str = "auto";

/// A plugin with its options.
#[derive(Clone, Debug)]
pub(crate) struct Used {
    pub(crate) recorded: PluginUse,
    /// Where the plugin is named.
    pub(crate) place: Place,
    kind: Kind,
    options: BTreeMap<String, Place>,
}

/// A workload that is ready to be asked.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) used: Used,
    pub(crate) workload: Arc<dyn Workload>,
    pub(crate) info: WorkloadInfo,
}

impl Used {
    /// For a step without I/O.
    pub(crate) fn none(place: Place) -> Self {
        Used::without_options("none", place)
    }

    fn without_options(plugin: &str, place: Place) -> Self {
        let recorded = PluginUse { plugin: plugin.to_owned(), options: Settings::default() };
        Used { recorded, place, kind: Kind::Backend, options: BTreeMap::new() }
    }

    /// What kinds of targets the backend can drive: `auto` chooses among those with a file descriptor.
    pub(crate) fn drives(&self, catalog: &dyn Catalog) -> &'static [TargetKind] {
        let plugin = catalog.find(self.kind, &self.recorded.plugin);
        plugin.map_or(TargetKind::WITH_FD, Plugin::drives)
    }

    /// What a plugin says against its options, each at the place of the option.
    pub(crate) fn faults(&self, error: &Error) -> impl Iterator<Item = Fault> {
        let title = format!("{} `{}`", self.kind.name(), self.recorded.plugin);
        error.all().map(move |error| match error.option_name() {
            Some(option) => {
                let place = self.options.get(option).copied().unwrap_or(self.place);
                Fault::new(place, format!("{title}, option `{option}`: {}", error.message()))
            }
            None => Fault::new(self.place, format!("{title}: {}", error.message())),
        })
    }

    /// Tells them.
    fn refused<T>(&self, error: &Error, context: &Context<'_>) -> Option<T> {
        self.faults(error).for_each(|fault| context.issues.add(fault));
        None
    }
}

/// The default options of a plugin, for where no suite names it.
///
/// # Errors
/// When an option is required, or the plugin declares a default that is none.
pub fn default_options(plugin: &Plugin) -> iodyno_plugin::Result<Options> {
    let mut options = Options::default();
    for spec in plugin.options {
        match spec.default {
            Default::Is(_) => {
                let value = default_value(spec).map_err(Error::contract)?;
                options = options.with(spec.name, value);
            }
            Default::Required => return Err(Error::option(spec.name, "must be set")),
            Default::Absent => {}
        }
    }
    Ok(options)
}

/// Reads a workload. `path` is its full name for the list of sources; `user` is what calls for it, where
/// faults go that would else point into the built-in defaults.
pub(crate) fn workload(node: &Node, path: &str, user: Place, context: &Context<'_>) -> Option<Work> {
    let (plugin, used, options) = resolve(node, Kind::Workload, path, user, context)?;
    let Factory::Workload(create) = plugin.factory else {
        unreachable!("the catalog was asked for a workload")
    };
    match create(&options) {
        Ok(workload) => Some(Work { used, info: workload.info(), workload }),
        Err(error) => used.refused(&error, context),
    }
}

/// Reads a backend, or `auto`; as [`workload`].
pub(crate) fn backend(node: &Node, path: &str, user: Place, context: &Context<'_>) -> Option<Used> {
    let is_auto = |node: &Node| node.as_text() == Some(AUTO);
    if is_auto(node) || node.get("plugin").is_some_and(is_auto) {
        for (name, entry) in node.as_table().into_iter().flatten().filter(|(name, _)| *name != "plugin") {
            let fault = Fault::new(entry.key, format!("`auto` takes no options, so not `{name}`"));
            context.issues.add(fault.help("name a backend to give it options"));
        }
        context.source(path, node);
        return Some(Used::without_options(AUTO, node.place));
    }
    let (plugin, used, options) = resolve(node, Kind::Backend, path, user, context)?;
    let Factory::Backend { create, .. } = plugin.factory else {
        unreachable!("the catalog was asked for a backend")
    };
    match create(&options) {
        Ok(_) => Some(used),
        Err(error) => used.refused(&error, context),
    }
}

fn resolve<'c>(
    node: &Node,
    kind: Kind,
    path: &str,
    user: Place,
    context: &Context<'c>,
) -> Option<(&'c Plugin, Used, Options)> {
    let none = Table::new();
    let (named, given) = match &node.raw {
        Raw::Text(_) => (node, &none),
        Raw::Table(table) => match table.get("plugin") {
            Some(entry) => (&entry.node, table),
            None => {
                let fault = Fault::new(node.place, format!("no plugin is named for this {}", kind.name()));
                return context.fault(
                    fault.help(format!("write {{ plugin = \"{}\", .. }}", first(context.catalog, kind))),
                );
            }
        },
        // The structure was checked: this was told.
        _ => return None,
    };
    let name = named.as_text()?;
    let place = if named.place.text == BUILT_IN { user } else { named.place };
    let Some(plugin) = context.catalog.find(kind, name) else {
        let names: Vec<&str> = context.catalog.list(kind).iter().map(|p| p.name).collect();
        let names = names.into_iter().chain((kind == Kind::Backend).then_some(AUTO));
        let fault = Fault::new(place, format!("no plugin provides the {} `{name}`", kind.name()));
        return context.fault(fault.label(format!("unknown {}", kind.name())).help(instead(name, names)));
    };
    let options: Table =
        given.iter().filter(|(name, _)| *name != "plugin").map(|(k, e)| (k.clone(), e.clone())).collect();
    sources(plugin, named, &options, path, context);
    let values = Values { issues: context.issues, complete: true };
    let canonical = values.table(plugin.options, plugin.name, node, &options)?;
    let canonical = Options(canonical);
    let settings = Settings::from_json(&canonical.to_json()).expect("options are canonical JSON");
    let used = Used {
        recorded: PluginUse { plugin: plugin.name.to_owned(), options: settings },
        place,
        kind,
        options: options
            .iter()
            .filter(|(_, entry)| entry.node.place.text != BUILT_IN)
            .map(|(name, entry)| (name.clone(), entry.node.place))
            .collect(),
    };
    Some((plugin, used, canonical))
}

fn first(catalog: &dyn Catalog, kind: Kind) -> &str {
    catalog.list(kind).first().map_or("NAME", |plugin| plugin.name)
}

/// Tells who says each option.
fn sources(plugin: &Plugin, named: &Node, given: &Table, path: &str, context: &Context<'_>) {
    context.source(&format!("{path}.plugin"), named);
    for spec in plugin.options {
        let path = format!("{path}.{}", spec.name);
        match (given.get(spec.name), spec.default) {
            (Some(entry), _) => context.source(&path, &entry.node),
            (None, Default::Is(value)) => context.source_value(&path, value, Origin::BuiltIn, named.place),
            (None, _) => {}
        }
    }
}
