//! What the command line changes: a profile, `--target`, `--size`, `--set`, in this order.

use crate::diagnostics::{Fault, Issues, instead};
use crate::fields;
use crate::overlay::{assign, overlay};
use crate::shape::Shape;
use crate::targets::DEFAULT_LABEL;
use crate::text::{Origin, Place, Texts};
use crate::tree::{self, Node, Raw, Table};

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--set`: `test.NAME.load.outstanding=8`. The value is TOML; a bare word is taken as a text.
    pub set: Vec<String>,
    /// `--profile`: its name.
    pub profile: Option<String>,
    /// `--target`: `PATH`, or `LABEL=PATH`.
    pub targets: Vec<String>,
    /// `--size`: of the scratch file, or of a target that exists in memory only.
    pub size: Option<String>,
    /// `--seed`: below 2^53.
    pub seed: Option<u64>,
}

/// The places of the arguments, in a text each.
pub(crate) struct Arguments {
    set: Vec<Place>,
    profile: Option<Place>,
    targets: Vec<Place>,
    size: Option<Place>,
    pub(crate) seed: Option<Place>,
}

impl Arguments {
    pub(crate) fn new(overrides: &Overrides, texts: &mut Texts) -> Self {
        Arguments {
            set: overrides.set.iter().map(|arg| texts.add_argument("--set", arg)).collect(),
            profile: overrides.profile.as_ref().map(|arg| texts.add_argument("--profile", arg)),
            targets: overrides.targets.iter().map(|arg| texts.add_argument("--target", arg)).collect(),
            size: overrides.size.as_ref().map(|arg| texts.add_argument("--size", arg)),
            seed: overrides.seed.map(|seed| texts.add_argument("--seed", &seed.to_string())),
        }
    }
}

/// Changes the suite's tree as the command line says.
pub(crate) fn apply(root: &mut Node, built_in: &Node, arguments: &Arguments, issues: &Issues) {
    let named_by_suite = root.get("target").is_some();
    label_targets(root, built_in);
    if let Some(place) = arguments.profile {
        apply_profile(root, place, issues);
    }
    apply_targets(root, &arguments.targets, named_by_suite, issues);
    if let Some(place) = arguments.size {
        apply_size(root, place, issues);
    }
    for place in &arguments.set {
        match parse_set(issues.texts().content(*place), *place) {
            Ok((path, value)) => assign(root, &path, value, &Shape::Table(fields::SUITE), issues),
            Err(fault) => issues.add(fault),
        }
    }
}

/// Gives every target a label, and a target where there is none.
fn label_targets(root: &mut Node, built_in: &Node) {
    let default = built_in.get("target").expect("the built-in defaults have a target");
    if root.get("target").is_none() {
        let list = Node::new(default.place, Origin::BuiltIn, Raw::List(vec![default.clone()]));
        root.set("target", list);
        return;
    }
    for row in rows(root) {
        if row.as_table().is_some() && row.get("label").is_none() {
            let label = if row.get("scratch").is_some() { "scratch" } else { DEFAULT_LABEL };
            let label = Node::new(row.place, Origin::BuiltIn, Raw::Text(label.to_owned()));
            row.set("label", label);
        }
    }
}

fn rows(root: &mut Node) -> &mut [Node] {
    match root.as_table_mut().and_then(|t| t.get_mut("target")).map(|e| &mut e.node.raw) {
        Some(Raw::List(list)) => list,
        _ => &mut [],
    }
}

fn apply_profile(root: &mut Node, place: Place, issues: &Issues) {
    let name = issues.texts().content(place).to_owned();
    let profiles = root.get("profile").and_then(Node::as_table);
    let Some(entry) = profiles.and_then(|profiles| profiles.get(&name)) else {
        let names: Vec<&str> = profiles.into_iter().flat_map(|p| p.keys().map(String::as_str)).collect();
        let fault = Fault::new(place, format!("the suite has no profile `{name}`"));
        issues.add(fault.help(instead(&name, names)));
        return;
    };
    let mut profile = entry.node.clone();
    if profile.as_table().is_none() {
        return;
    }
    profile.set_origin(Origin::Profile);
    for rows in ["test", "prepare"] {
        if profile.get(rows).is_some() && root.get(rows).is_none() {
            root.set(rows, Node::new(place, Origin::Profile, Raw::List(Vec::new())));
        }
    }
    overlay(root, &profile, &Shape::Table(fields::SUITE), issues);
}

type Assignment = (Vec<(String, Place)>, Node);

const FORM: &str = "write PATH=VALUE, for example defaults.backend=sync or test.NAME.load.outstanding=8";

/// Reads an argument of `--set`. It is a line of TOML, but for a value that is none: that is a text.
fn parse_set(argument: &str, place: Place) -> Result<Assignment, Fault> {
    let wrong = |message: &str| Fault::new(place, message).help(FORM);
    if argument.contains(['\n', '\r']) {
        return Err(wrong("an argument of --set is one line"));
    }
    let equals = equals_sign(argument).ok_or_else(|| wrong("there is no `=` in the argument of --set"))?;
    let (key, value) = (&argument[..equals], &argument[equals + 1..]);
    let keys = tree::parse(place.text, &format!("{key}=0"), Origin::Flag)
        .map_err(|_| wrong(&format!("`{}` is no path of keys", key.trim())))?;
    let path = chain(&keys);
    let tops = ["defaults", "target", "prepare", "test", "suite"];
    match path.first() {
        Some((top, _)) if tops.contains(&top.as_str()) => {}
        Some((top, at)) => {
            let fault = Fault::new(*at, format!("--set cannot change `{top}`"));
            return Err(fault.help(instead(top, tops)));
        }
        None => return Err(wrong("there is no path before the `=`")),
    }
    let trimmed = value.trim();
    if trimmed.is_empty() {
        return Err(wrong("there is no value behind the `=`"));
    }
    let read = tree::parse(place.text, argument, Origin::Flag).ok().and_then(|root| {
        let found = path.iter().try_fold(&root, |node, (key, _)| node.get(key));
        found.cloned()
    });
    let bare = || {
        let start = place.start + equals + 1 + (value.len() - value.trim_start().len());
        let at = Place { start, end: start + trimmed.len(), ..place };
        Node::new(at, Origin::Flag, Raw::Text(trimmed.to_owned()))
    };
    Ok((path, read.unwrap_or_else(bare)))
}

/// The first `=` that is not within quotes.
fn equals_sign(argument: &str) -> Option<usize> {
    let mut quote = None;
    argument.char_indices().find_map(|(at, c)| {
        match (quote, c) {
            (None, '=') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(q), c) if q == c => quote = None,
            _ => {}
        }
        None
    })
}

/// The keys of tables that hold one key each.
fn chain(root: &Node) -> Vec<(String, Place)> {
    let mut path = Vec::new();
    let mut node = root;
    while let Some((key, entry)) = node.as_table().and_then(Table::first_key_value) {
        path.push((key.clone(), entry.key));
        node = &entry.node;
    }
    path
}

fn apply_targets(root: &mut Node, arguments: &[Place], named_by_suite: bool, issues: &Issues) {
    for (i, place) in arguments.iter().enumerate() {
        if i > 0 {
            let fault = Fault::new(*place, "more than one --target: a run has one target for now");
            issues.add(fault.help("leave one, and run the suite once for each target"));
            return;
        }
        let argument = issues.texts().content(*place).to_owned();
        if argument.is_empty() {
            issues.add(Fault::new(*place, "--target is empty").help("write --target PATH"));
            return;
        }
        let (label, path) = match argument.split_once('=') {
            Some((label, path)) if is_name(label) && !path.is_empty() => (Some(label.to_owned()), path),
            _ => (None, argument.as_str()),
        };
        let start = place.end - path.len();
        let path = Node::new(Place { start, ..*place }, Origin::Flag, Raw::Text(path.to_owned()));
        set_path(root, label, *place, path, named_by_suite, issues);
    }
}

fn set_path(
    root: &mut Node,
    label: Option<String>,
    place: Place,
    path: Node,
    named_by_suite: bool,
    issues: &Issues,
) {
    let Some(Raw::List(list)) =
        root.as_table_mut().and_then(|t| t.get_mut("target")).map(|e| &mut e.node.raw)
    else {
        return;
    };
    if !named_by_suite {
        // Nobody described the target, so nothing of the default one holds for it.
        let name = label.unwrap_or_else(|| DEFAULT_LABEL.to_owned());
        for row in list.iter_mut().filter(|row| row.as_table().is_some()) {
            row.set("label", Node::new(place, Origin::Flag, Raw::Text(name.clone())));
        }
    } else if let Some(label) = label {
        let is_named = |row: &Node| row.get("label").and_then(Node::as_text) == Some(&label);
        if !list.iter().any(is_named) {
            let labels = list.iter().filter_map(|row| row.get("label").and_then(Node::as_text));
            let advice = format!("{}; for a path write ./{label}=..", instead(&label, labels));
            issues.add(Fault::new(place, format!("no target has the label `{label}`")).help(advice));
            return;
        }
        list.retain(is_named);
    }
    if let [row] = list.as_mut_slice()
        && let Some(table) = row.as_table_mut()
    {
        table.remove("scratch");
        table.remove("size");
        row.set("path", path);
    }
}

fn apply_size(root: &mut Node, place: Place, issues: &Issues) {
    let size = Node::new(place, Origin::Flag, Raw::Text(issues.texts().content(place).to_owned()));
    if let [row] = rows(root)
        && row.as_table().is_some()
    {
        // With a path, it is the size of the scratch file to make there.
        let key = if row.get("size").is_some() { "size" } else { "scratch" };
        row.set(key, size);
    }
}

/// Whether a name can be used in file names and paths of `--set`.
pub(crate) fn is_name(name: &str) -> bool {
    let usable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.len() <= 64 && name.chars().all(usable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(argument: &str) -> Result<(String, String), Fault> {
        let place = Place { text: 2, start: 0, end: argument.len() };
        let (path, value) = parse_set(argument, place)?;
        let path: Vec<String> = path.into_iter().map(|(key, _)| key).collect();
        assert_eq!(value.place.text, 2);
        Ok((path.join("|"), value.to_toml()))
    }

    #[test]
    fn an_argument_is_a_path_and_a_value() {
        let good = [
            ("test.4k-read.load.outstanding=8", "test|4k-read|load|outstanding", "8"),
            ("defaults.backend=sync", "defaults|backend", "\"sync\""),
            ("defaults.region=5%..50%", "defaults|region", "\"5%..50%\""),
            ("defaults.interval = 500ms", "defaults|interval", "\"500ms\""),
            ("defaults.direct=false", "defaults|direct", "false"),
            ("test.\"a.b=c\".region=\"1=2\"", "test|a.b=c|region", "\"1=2\""),
            ("defaults.phases={ measure = \"1s\" }", "defaults|phases", "{ measure = \"1s\" }"),
            ("test.a.tags=[\"x\"]", "test|a|tags", "[\"x\"]"),
            ("test.a.tags=[x", "test|a|tags", "\"[x\""),
        ];
        for (argument, path, value) in good {
            assert_eq!(set(argument).ok(), Some((path.to_owned(), value.to_owned())), "{argument}");
        }
        for argument in
            ["", "=", "x", "defaults.backend=", "a b=1", "=1", "schema=2", "defaults.x=1\ny=2", "\"=1"]
        {
            assert!(set(argument).is_err(), "{argument}");
        }
    }

    #[test]
    fn names_can_stand_in_file_names() {
        for name in ["a", "4k-read", "a.b_c", "Z9"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".a", "-a", "a/b", "a b", "ä", "{x}", &"a".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
