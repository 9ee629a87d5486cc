//! `iodyno list`.

use std::fmt::Write as _;

use iodyno_host::{OptionDescription, PluginDescription, Registry};
use serde_json::json;

use crate::args::{Format, ListArguments, Listed};
use crate::exit::Exit;
use crate::{fail, print, suites};

/// Lists what was asked for.
pub(crate) fn list(arguments: &ListArguments, registry: &Registry) -> Exit {
    let json = arguments.format == Format::Json;
    print(&match arguments.what {
        Listed::Plugins if json => lines(&json!(registry.descriptions())),
        Listed::Plugins => registry.descriptions().iter().map(plugin).collect(),
        Listed::Suites => {
            let suites: Vec<(&str, &str)> = suites::SHIPPED.iter().map(|s| (s.name, s.summary)).collect();
            if json {
                let suites: Vec<_> = suites.iter().map(|(n, s)| json!({ "name": n, "summary": s })).collect();
                lines(&json!(suites))
            } else {
                suites.iter().map(|(name, summary)| format!("{name:<24} {summary}\n")).collect()
            }
        }
        Listed::Profiles => {
            let Some(path) = &arguments.suite else {
                return fail(Exit::Usage, "profiles belong to a suite: iodyno list profiles SUITE.toml");
            };
            match suites::profiles(path) {
                Ok(profiles) if json => lines(&json!(profiles)),
                Ok(profiles) => profiles.iter().map(|p| format!("{p}\n")).collect(),
                Err(exit) => return exit,
            }
        }
    })
}

fn lines(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

fn plugin(plugin: &PluginDescription) -> String {
    let PluginDescription { kind, name, version, summary, options } = plugin;
    let mut text = format!("{kind} {name} ({version}): {summary}\n");
    options.iter().for_each(|o| option(&mut text, o, 4));
    text + "\n"
}

fn option(text: &mut String, description: &OptionDescription, indent: usize) {
    let OptionDescription { name, takes, default, required, doc, options } = description;
    let default = match default {
        Some(value) => format!("default {value}"),
        None if *required => "required".to_owned(),
        None => "optional".to_owned(),
    };
    let _ = writeln!(text, "{:indent$}{name}: {takes}; {default}\n{:indent$}    {doc}", "", "");
    options.iter().for_each(|o| option(text, o, indent + 4));
}
