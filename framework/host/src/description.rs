//! What plugins declare, as data: for lists, help and the option reference. No plugin code runs.

use iodyno_plugin::{Default, OptionKind, OptionSpec, Plugin};
use serde::Serialize;

/// A plugin as it declares itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PluginDescription {
    /// `workload`, `backend` or `reporter`.
    pub kind: &'static str,
    /// Name.
    pub name: &'static str,
    /// Version.
    pub version: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Its options.
    pub options: Vec<OptionDescription>,
}

/// An option as its plugin declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OptionDescription {
    /// Name.
    pub name: &'static str,
    /// Type and limits in words.
    pub takes: String,
    /// Default in TOML; `null` where there is none.
    pub default: Option<&'static str>,
    /// Whether it must be set.
    pub required: bool,
    /// What it does.
    pub doc: &'static str,
    /// Options within, for a table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<OptionDescription>,
}

impl PluginDescription {
    /// Of a plugin.
    pub(crate) fn of(plugin: &Plugin) -> Self {
        let options = plugin.options.iter().map(OptionDescription::of).collect();
        let Plugin { name, version, summary, .. } = *plugin;
        PluginDescription { kind: plugin.kind().name(), name, version, summary, options }
    }
}

impl OptionDescription {
    fn of(option: &OptionSpec) -> Self {
        let inner = if let OptionKind::Table(inner) = option.kind { inner } else { &[] };
        OptionDescription {
            name: option.name,
            takes: takes(&option.kind),
            default: if let Default::Is(value) = option.default { Some(value) } else { None },
            required: option.default == Default::Required,
            doc: option.doc,
            options: inner.iter().map(OptionDescription::of).collect(),
        }
    }
}

/// An option's type in words.
fn takes(kind: &OptionKind) -> String {
    match kind {
        OptionKind::Bool => "true or false".to_owned(),
        OptionKind::Int { min, max } => match (*min, *max) {
            (i64::MIN, i64::MAX) => "whole number".to_owned(),
            (min, i64::MAX) => format!("whole number from {min}"),
            (min, max) => format!("whole number {min} to {max}"),
        },
        OptionKind::Float { min, max } if max.is_infinite() || *max == f64::MAX => {
            format!("number from {min}")
        }
        OptionKind::Float { min, max } => format!("number {min} to {max}"),
        OptionKind::Text => "text".to_owned(),
        OptionKind::Enum(words) => words.join(" | "),
        OptionKind::Size { .. } => "size, like \"4k\" or \"1MiB\"".to_owned(),
        OptionKind::Duration { .. } => "duration, like \"100us\" or \"1m30s\"".to_owned(),
        OptionKind::Percent => "percent, 0 to 100".to_owned(),
        OptionKind::Rate => "rate, like \"1000 iops\" or \"50 MB/s\"".to_owned(),
        OptionKind::Extent => "size or percent of the target, like \"10GiB\" or \"25%\"".to_owned(),
        OptionKind::List(inner) => format!("list of: {}", takes(inner)),
        OptionKind::Weighted { key, kind } => {
            format!("{}, or a list of {{ {key} = .., weight = .. }}", takes(kind))
        }
        OptionKind::Table(_) => "table".to_owned(),
        _ => "see the plugin's documentation".to_owned(),
    }
}
