//! Laying one table over another: what a test says over the defaults, a profile over the suite, an argument
//! over both.

use crate::diagnostics::{Fault, Issues, instead};
use crate::shape::{self, Shape};
use crate::text::Place;
use crate::tree::{Entry, Node, Raw, Table};

/// Lays `over` over `base`. Tables are merged field by field, a plugin's options one by one where it stays
/// the same plugin; anything else is replaced. Rows are found by name. Unknown fields are left out: they are
/// told where they stand.
pub(crate) fn overlay(base: &mut Node, over: &Node, shape: &Shape, issues: &Issues) {
    match (shape, &over.raw) {
        (Shape::Table(fields), Raw::Table(table)) if base.as_table().is_some() => {
            let below = base.as_table_mut().expect("it was matched as a table");
            for (name, entry) in table {
                match (below.get_mut(name), shape::find(fields, name)) {
                    (_, None) => {}
                    (Some(below), Some(field)) => overlay(&mut below.node, &entry.node, &field.shape, issues),
                    (None, Some(_)) => {
                        below.insert(name.clone(), entry.clone());
                    }
                }
            }
        }
        (Shape::Rows { key, fields }, Raw::Table(table)) => {
            for (name, entry) in table {
                if let Some(row) = row(base, key, name, entry.key, issues) {
                    overlay(row, &entry.node, &Shape::Table(fields), issues);
                }
            }
        }
        (Shape::Plugin(_), _) => overlay_plugin(base, over),
        _ => *base = over.clone(),
    }
}

fn overlay_plugin(base: &mut Node, over: &Node) {
    let plugin = |node: &Node| {
        let name = node.as_text().or_else(|| node.get("plugin").and_then(Node::as_text));
        name.map(str::to_owned)
    };
    let (below, above) = (plugin(base), plugin(over));
    if above.is_some() && above != below {
        *base = over.clone();
        return;
    }
    let Some(options) = over.as_table() else { return };
    open_plugin(base);
    match base.as_table_mut() {
        Some(table) => {
            let changed = options.iter().filter(|(name, _)| *name != "plugin");
            table.extend(changed.map(|(name, entry)| (name.clone(), entry.clone())));
        }
        None => *base = over.clone(),
    }
}

/// Turns the short form of a plugin, its name, into the long one, so that options can be added.
fn open_plugin(node: &mut Node) {
    if node.as_text().is_some() {
        let name = node.clone();
        node.raw = Raw::Table(Table::new());
        node.set("plugin", name);
    }
}

/// Sets the value at a path of keys; tables on the way are made where they are missing.
pub(crate) fn assign(base: &mut Node, path: &[(String, Place)], value: Node, shape: &Shape, issues: &Issues) {
    let Some(((name, place), rest)) = path.split_first() else {
        *base = value;
        return;
    };
    if let Shape::Rows { key, fields } = shape {
        if let Some(row) = row(base, key, name, *place, issues) {
            assign(row, rest, value, &Shape::Table(fields), issues);
        }
        return;
    }
    if matches!(shape, Shape::Plugin(_)) {
        open_plugin(base);
        let named = base.get("plugin").and_then(Node::as_text);
        if rest.is_empty() && name == "plugin" && named != value.as_text() {
            // Another plugin has other options.
            base.raw = Raw::Table(Table::new());
        }
    }
    let inner = match shape {
        Shape::Table(fields) | Shape::Short { fields, .. } => {
            shape::find(fields, name).map_or(Shape::Passed, |f| f.shape)
        }
        Shape::Named(inner) => **inner,
        _ => Shape::Passed,
    };
    let (origin, at) = (value.origin, *place);
    let empty = || match inner {
        Shape::Rows { .. } => Node::new(at, origin, Raw::List(Vec::new())),
        _ => Node::new(at, origin, Raw::Table(Table::new())),
    };
    if base.as_table().is_none() {
        *base = Node::new(at, origin, Raw::Table(Table::new()));
    }
    let table = base.as_table_mut().expect("it was made one");
    let entry = table.entry(name.clone()).or_insert_with(|| Entry { key: at, node: empty() });
    if rest.is_empty() {
        entry.key = at;
    }
    assign(&mut entry.node, rest, value, &inner, issues);
}

/// The row of a name, or the fault told.
fn row<'n>(rows: &'n mut Node, key: &str, name: &str, place: Place, issues: &Issues) -> Option<&'n mut Node> {
    let Raw::List(list) = &mut rows.raw else { return None };
    let names: Vec<String> =
        list.iter().filter_map(|row| row.get(key).and_then(Node::as_text).map(str::to_owned)).collect();
    let found = list.iter_mut().find(|row| row.get(key).and_then(Node::as_text) == Some(name));
    if found.is_none() {
        let fault = Fault::new(place, format!("nothing has the {key} `{name}`"));
        issues.add(fault.help(instead(name, names.iter().map(String::as_str))));
    }
    found
}
