//! Finds, checks and loads plugins. Today all are built in and register themselves through `inventory`;
//! nothing here knows any of them by name, so those from other sources will join the same [`Registry`].

mod description;

use std::collections::BTreeMap;

use iodyno_plugin::{Catalog, Kind, OptionKind, OptionSpec, Plugin};
use iodyno_record::PluginFact;

pub use description::{OptionDescription, PluginDescription};

/// A plugin set that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostError {
    /// Two plugins claim one name.
    #[error("{kind} plugin `{name}` is there twice: version {first} and version {second}; remove one")]
    Duplicate {
        /// Role.
        kind: &'static str,
        /// Name.
        name: String,
        /// Version of one.
        first: String,
        /// Version of the other.
        second: String,
    },
    /// A name that cannot be typed in a suite.
    #[error("{kind} plugin `{name}` has a name that does not match [a-z][a-z0-9_-]*")]
    Name {
        /// Role.
        kind: &'static str,
        /// Name.
        name: String,
    },
    /// An option table with a fault.
    #[error("{kind} plugin `{plugin}`, option `{option}`: {fault}")]
    Option {
        /// Role.
        kind: &'static str,
        /// Plugin.
        plugin: String,
        /// Option.
        option: String,
        /// What is wrong.
        fault: &'static str,
    },
}

/// Every plugin that can be used, by role and name.
pub struct Registry {
    plugins: BTreeMap<(Kind, &'static str), &'static Plugin>,
}

impl Registry {
    /// Gathers the plugins of this process and checks what they declare.
    ///
    /// # Errors
    /// When a name or an option table cannot be used, or a name is taken twice.
    pub fn load() -> Result<Self, HostError> {
        Self::of(inventory::iter::<Plugin>.into_iter())
    }

    fn of(found: impl Iterator<Item = &'static Plugin>) -> Result<Self, HostError> {
        let mut plugins = BTreeMap::new();
        for plugin in found {
            check(plugin)?;
            if let Some(first) = plugins.insert((plugin.kind(), plugin.name), plugin) {
                let (kind, name) = (plugin.kind().name(), plugin.name.to_owned());
                let (first, second) = (first.version.to_owned(), plugin.version.to_owned());
                return Err(HostError::Duplicate { kind, name, first, second });
            }
        }
        Ok(Registry { plugins })
    }

    /// What every plugin declares, sorted by role and name.
    pub fn descriptions(&self) -> Vec<PluginDescription> {
        self.plugins.values().map(|p| PluginDescription::of(p)).collect()
    }

    /// All plugins as they are recorded, sorted by role and name.
    pub fn facts(&self) -> Vec<PluginFact> {
        let fact = |p: &&'static Plugin| PluginFact {
            kind: p.kind().name().to_owned(),
            name: p.name.to_owned(),
            version: p.version.to_owned(),
            source: "built in".to_owned(),
            sha256: None,
        };
        self.plugins.values().map(fact).collect()
    }
}

impl Catalog for Registry {
    fn list(&self, kind: Kind) -> Vec<&Plugin> {
        self.plugins.values().copied().filter(|p| p.kind() == kind).collect()
    }

    fn find(&self, kind: Kind, name: &str) -> Option<&Plugin> {
        self.plugins
            .range((kind, "")..)
            .take_while(|(key, _)| key.0 == kind)
            .find(|(key, _)| key.1 == name)
            .map(|(_, p)| *p)
    }
}

fn check(plugin: &Plugin) -> Result<(), HostError> {
    let kind = plugin.kind().name();
    let mut chars = plugin.name.chars();
    let starts_well = chars.next().is_some_and(|c| c.is_ascii_lowercase());
    if !starts_well || !chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c)) {
        return Err(HostError::Name { kind, name: plugin.name.to_owned() });
    }
    check_options(plugin, plugin.options)
}

fn check_options(plugin: &Plugin, options: &[OptionSpec]) -> Result<(), HostError> {
    for (i, option) in options.iter().enumerate() {
        let fault = if option.name == "plugin" {
            Some("the name `plugin` is taken by the suite")
        } else if options[..i].iter().any(|other| other.name == option.name) {
            Some("it is declared twice")
        } else if option.doc.is_empty() {
            Some("it has no doc")
        } else {
            None
        };
        if let Some(fault) = fault {
            let (kind, plugin, option) =
                (plugin.kind().name(), plugin.name.to_owned(), option.name.to_owned());
            return Err(HostError::Option { kind, plugin, option, fault });
        }
        if let OptionKind::Table(inner) = option.kind {
            check_options(plugin, inner)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_plugin::{Default, Error, Factory};

    const fn plugin(name: &'static str, options: &'static [OptionSpec]) -> Plugin {
        let factory = Factory::Workload(|_| Err(Error::unsupported("only declared")));
        Plugin { name, version: "1.0", summary: "for a test", options, factory }
    }

    const fn option(name: &'static str) -> OptionSpec {
        OptionSpec { name, kind: OptionKind::Bool, default: Default::Absent, doc: "for a test" }
    }

    #[test]
    fn plugins_are_found_by_role_and_name() {
        static A: Plugin = plugin("a", &[]);
        static B: Plugin = plugin("b-2_x", &[option("one"), option("two")]);
        let registry = Registry::of([&B, &A].into_iter()).unwrap();
        assert_eq!(registry.list(Kind::Workload).iter().map(|p| p.name).collect::<Vec<_>>(), ["a", "b-2_x"]);
        assert!(registry.find(Kind::Workload, "a").is_some());
        assert!(registry.find(Kind::Backend, "a").is_none());
        assert_eq!(registry.facts().len(), 2);
    }

    #[test]
    fn faults_are_named() {
        static A: Plugin = plugin("a", &[]);
        static UPPER: Plugin = plugin("Upper", &[]);
        static TWICE: Plugin = plugin("t", &[option("x"), option("x")]);
        static TAKEN: Plugin = plugin("t", &[option("plugin")]);
        let message =
            |set: &[&'static Plugin]| Registry::of(set.iter().copied()).err().map(|e| e.to_string());
        assert!(message(&[&A, &A]).unwrap().contains("`a` is there twice"));
        assert!(message(&[&UPPER]).unwrap().contains("[a-z]"));
        assert!(message(&[&TWICE]).unwrap().contains("declared twice"));
        assert!(message(&[&TAKEN]).unwrap().contains("taken by the suite"));
    }
}
