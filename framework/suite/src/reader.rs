//! Reads tables of the suite by their field tables.
//!
//! [`check`] walks the whole document once: unknown fields, wrong types and values out of range all come
//! together, also where nothing will be used. [`Section`] then gives typed values of what is in force; where
//! it meets a fault again, it is the same fault, told once.

use iodyno_plugin::{Kind, OptionKind, Value};

use crate::diagnostics::{Fault, Issues, instead, nearest};
use crate::extent::{Extent, Region};
use crate::quantity::{self, Unit};
use crate::shape::{self, Field, Shape};
use crate::size::Wrong;
use crate::text::Place;
use crate::tree::{Node, Raw};
use crate::value::Values;

/// A value and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

/// Checks the structure of a node. `name` is what the user calls it; `whole` = required fields must be there.
pub(crate) fn check(node: &Node, shape: &Shape, name: &str, whole: bool, issues: &Issues) {
    let values = Values { issues, complete: false };
    match shape {
        Shape::Value(kind) => {
            values.read(kind, name, node);
        }
        Shape::Region => {
            region(node, name, issues);
        }
        Shape::Quantity => {
            quantity(node, name, issues);
        }
        Shape::Plugin(kind) => check_plugin(node, *kind, name, issues),
        Shape::Passed => {}
        Shape::Table(fields) => check_table(node, fields, name, whole, issues),
        Shape::Short { fields, .. } if node.as_table().is_some() => {
            check_table(node, fields, name, whole, issues)
        }
        Shape::Short { key, fields } => {
            let field = shape::find(fields, key).expect("the short form names a field of its own");
            check(node, &field.shape, name, whole, issues);
        }
        Shape::Rows { fields, .. } => match &node.raw {
            Raw::List(rows) => rows.iter().for_each(|row| check_table(row, fields, name, whole, issues)),
            _ => {
                let fault =
                    Fault::new(node.place, format!("`{name}` is {}, must be a list", node.describe()));
                issues.add(fault.help("write its name in double brackets, as in [[test]]"));
            }
        },
        // What stands under a name of the user's changes something else: it need not be whole.
        Shape::Named(inner) => match node.as_table() {
            Some(table) => {
                let whole = matches!(inner, Shape::Short { .. });
                table.iter().for_each(|(key, entry)| check(&entry.node, inner, key, whole, issues));
            }
            None => {
                let fault =
                    Fault::new(node.place, format!("`{name}` is {}, must be a table", node.describe()));
                issues.add(fault.help(format!("write [{name}.NAME]")));
            }
        },
        Shape::Later(instead) => {
            let fault = Fault::new(node.place, format!("`{name}` is not supported yet"));
            issues.add(fault.help(format!("for now, {instead}")));
        }
    }
}

fn check_table(node: &Node, fields: &'static [Field], name: &str, whole: bool, issues: &Issues) {
    let Some(table) = node.as_table() else {
        let fault = Fault::new(node.place, format!("`{name}` is {}, must be a table", node.describe()));
        let names: Vec<&str> = shape::names(fields).collect();
        issues.add(fault.help(format!("write {{ {} = .. }}", names[0])));
        return;
    };
    for (key, entry) in table {
        match shape::find(fields, key) {
            Some(Field { shape: Shape::Later(instead), .. }) => {
                let fault = Fault::new(entry.key, format!("`{key}` is not supported yet"));
                issues.add(fault.help(format!("for now, {instead}")));
            }
            Some(field) => check(&entry.node, &field.shape, key, whole, issues),
            None => {
                let place = if name.is_empty() { String::new() } else { format!(" in `{name}`") };
                let fault = Fault::new(entry.key, format!("unknown field `{key}`{place}"));
                issues.add(fault.label("unknown field").help(elsewhere(key, fields)));
            }
        }
    }
    let missing = fields.iter().filter(|f| whole && f.required && !table.contains_key(f.name));
    for field in missing {
        let fault = Fault::new(node.place, format!("`{name}` has no `{}`", field.name));
        issues.add(fault.help(format!("add {} = ..", field.name)));
    }
}

/// Advice for an unknown field: the nearest, the table that it belongs into, or all that there are.
fn elsewhere(key: &str, fields: &'static [Field]) -> String {
    if nearest(key, shape::names(fields)).is_some() {
        return instead(key, shape::names(fields));
    }
    for field in fields {
        if let Shape::Table(inner) = field.shape
            && shape::names(inner).any(|name| name == key)
        {
            return format!("it belongs into `{0}`: {0} = {{ {key} = .. }}", field.name);
        }
    }
    let all = instead(key, shape::names(fields));
    let has_workload = shape::find(fields, "workload").is_some();
    let options = "; options of a workload go into it: workload = { plugin = .., .. }";
    format!("{all}{}", if has_workload { options } else { "" })
}

/// Only the form: which plugins there are is known where it is used.
fn check_plugin(node: &Node, kind: Kind, name: &str, issues: &Issues) {
    let named = match &node.raw {
        Raw::Text(_) => true,
        Raw::Table(table) => match table.get("plugin").map(|e| &e.node) {
            Some(plugin) if plugin.as_text().is_none() => {
                Values { issues, complete: false }.wrong_type::<()>("plugin", plugin, "the name of a plugin");
                return;
            }
            _ => true,
        },
        _ => false,
    };
    if !named {
        let fault = Fault::new(node.place, format!("`{name}` is {}, must be a plugin", node.describe()));
        issues
            .add(fault.help(format!("write the name of a {}, or {{ plugin = \"NAME\", .. }}", kind.name())));
    }
}

fn region(node: &Node, name: &str, issues: &Issues) -> Option<Region> {
    let values = Values { issues, complete: false };
    let read = match &node.raw {
        Raw::Text(text) => Region::parse(text),
        Raw::Int(int) => match u64::try_from(*int) {
            Ok(bytes) if bytes > 0 => Ok((Region::first(Extent::Bytes(bytes)), false)),
            _ => Err(Wrong::new(format!("{int} is no length"))),
        },
        _ => return values.wrong_type(name, node, "a region like \"25%\", \"10GiB\" or \"5%..100%\""),
    };
    let (region, decimal) = values.parsed(name, node, read)?;
    values.note_decimal(decimal, node);
    Some(region)
}

fn quantity(node: &Node, name: &str, issues: &Issues) -> Option<(f64, Unit)> {
    let values = Values { issues, complete: false };
    match &node.raw {
        Raw::Int(int) if *int >= 0 => Some((*int as f64, Unit::Plain)),
        Raw::Float(float) if *float >= 0.0 => Some((*float, Unit::Plain)),
        Raw::Text(text) => values.parsed(name, node, quantity::any(text)),
        _ => values.wrong_type(name, node, "a number like 825000, \"825k\", \"7 GB/s\" or \"80us\""),
    }
}

/// A table whose structure was checked, read by its field table.
#[derive(Clone, Copy)]
pub(crate) struct Section<'a> {
    node: &'a Node,
    fields: &'static [Field],
    issues: &'a Issues,
}

impl<'a> Section<'a> {
    /// A table. Whatever is none has no fields.
    pub(crate) fn new(node: &'a Node, fields: &'static [Field], issues: &'a Issues) -> Self {
        Section { node, fields, issues }
    }

    pub(crate) fn place(&self) -> Place {
        self.node.place
    }

    pub(crate) fn node(&self) -> &'a Node {
        self.node
    }

    /// The node of a field, if it is there.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Node> {
        self.node.get(name)
    }

    fn field(&self, name: &str) -> &'static Field {
        shape::find(self.fields, name).expect("the field is in the table")
    }

    fn value<T>(&self, name: &str, take: impl Fn(Value) -> Option<T>) -> Option<At<T>> {
        let Shape::Value(kind) = &self.field(name).shape else { panic!("`{name}` holds no plain value") };
        let node = self.get(name)?;
        let value = Values { issues: self.issues, complete: true }.read(kind, name, node)?;
        let value = take(value).expect("the reader is that of the field's kind");
        Some(At { value, place: node.place })
    }

    pub(crate) fn bool(&self, name: &str) -> Option<At<bool>> {
        self.value(name, |v| if let Value::Bool(b) = v { Some(b) } else { None })
    }

    /// A count, a size in bytes, or a duration in ns.
    pub(crate) fn whole(&self, name: &str) -> Option<At<u64>> {
        self.value(name, |v| v.as_int().and_then(|i| u64::try_from(i).ok()))
    }

    /// A number, or a percentage.
    pub(crate) fn number(&self, name: &str) -> Option<At<f64>> {
        self.value(name, |v| v.as_float())
    }

    /// A text, or a word of several.
    pub(crate) fn text(&self, name: &str) -> Option<At<String>> {
        self.value(name, |v| if let Value::Text(text) = v { Some(text) } else { None })
    }

    /// A list of texts, each with its place.
    pub(crate) fn texts(&self, name: &str) -> Vec<At<&'a str>> {
        let OptionKind::List(OptionKind::Text) = (match &self.field(name).shape {
            Shape::Value(kind) => kind,
            _ => panic!("`{name}` holds no list of texts"),
        }) else {
            panic!("`{name}` holds no list of texts")
        };
        let list = self.get(name).and_then(|n| if let Raw::List(l) = &n.raw { Some(l) } else { None });
        let texts =
            list.into_iter().flatten().filter_map(|n| Some(At { value: n.as_text()?, place: n.place }));
        texts.collect()
    }

    pub(crate) fn region(&self, name: &str) -> Option<At<Region>> {
        let node = self.get(name)?;
        region(node, name, self.issues).map(|value| At { value, place: node.place })
    }

    pub(crate) fn quantity(&self, name: &str) -> Option<At<(f64, Unit)>> {
        let node = self.get(name)?;
        quantity(node, name, self.issues).map(|value| At { value, place: node.place })
    }

    /// A table within.
    pub(crate) fn section(&self, name: &str) -> Option<Section<'a>> {
        let Shape::Table(fields) = self.field(name).shape else { panic!("`{name}` holds no table") };
        let node = self.get(name).filter(|n| n.as_table().is_some())?;
        Some(Section { node, fields, issues: self.issues })
    }

    /// The tables of a list.
    pub(crate) fn rows(&self, name: &str) -> Vec<Section<'a>> {
        let Shape::Rows { fields, .. } = self.field(name).shape else { panic!("`{name}` holds no tables") };
        let list = self.get(name).and_then(|n| if let Raw::List(l) = &n.raw { Some(l) } else { None });
        let tables = list.into_iter().flatten().filter(|n| n.as_table().is_some());
        tables.map(|node| Section { node, fields, issues: self.issues }).collect()
    }
}
