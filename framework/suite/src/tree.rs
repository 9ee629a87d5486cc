//! A TOML document as an owned tree in which every key and value knows its place and who says it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostics::Fault;
use crate::text::{Origin, Place};

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) origin: Origin,
    pub(crate) raw: Raw,
}

/// What TOML can say.
#[derive(Clone, Debug)]
pub(crate) enum Raw {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// A date, or a number beyond 64 bits: as written. Nothing takes one.
    Unusable(String),
    List(Vec<Node>),
    Table(Table),
}

/// A table, by key.
pub(crate) type Table = BTreeMap<String, Entry>;

/// A value in a table, and where its key stands.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Place,
    pub(crate) node: Node,
}

impl Node {
    /// A value that is not in any text, at the place that calls for it.
    pub(crate) fn new(place: Place, origin: Origin, raw: Raw) -> Self {
        Node { place, origin, raw }
    }

    pub(crate) fn as_table(&self) -> Option<&Table> {
        if let Raw::Table(table) = &self.raw { Some(table) } else { None }
    }

    pub(crate) fn as_table_mut(&mut self) -> Option<&mut Table> {
        if let Raw::Table(table) = &mut self.raw { Some(table) } else { None }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Raw::Text(text) = &self.raw { Some(text) } else { None }
    }

    /// The value of a key, where this is a table that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.as_table()?.get(key).map(|entry| &entry.node)
    }

    /// Sets a key of a table to a value; the key's place is the value's.
    ///
    /// # Panics
    /// When this is no table.
    pub(crate) fn set(&mut self, key: &str, node: Node) {
        let entry = Entry { key: node.place, node };
        self.as_table_mut().expect("only tables have keys").insert(key.to_owned(), entry);
    }

    /// What it is, in words with its value: `the text "x"`.
    pub(crate) fn describe(&self) -> String {
        match &self.raw {
            Raw::Bool(b) => b.to_string(),
            Raw::Int(i) => i.to_string(),
            Raw::Float(f) => f.to_string(),
            Raw::Text(text) if text.chars().count() > 60 => "a long text".to_owned(),
            Raw::Text(text) => format!("the text {text:?}"),
            Raw::Unusable(text) => text.clone(),
            Raw::List(_) => "a list".to_owned(),
            Raw::Table(_) => "a table".to_owned(),
        }
    }

    /// The value as TOML, on one line.
    pub(crate) fn to_toml(&self) -> String {
        match &self.raw {
            Raw::Bool(b) => b.to_string(),
            Raw::Int(i) => i.to_string(),
            Raw::Float(f) => format!("{f:?}"),
            Raw::Text(text) => format!("{text:?}"),
            Raw::Unusable(text) => text.clone(),
            Raw::List(list) => {
                let items: Vec<String> = list.iter().map(Node::to_toml).collect();
                format!("[{}]", items.join(", "))
            }
            Raw::Table(table) => {
                let mut out = String::from("{ ");
                for (i, (key, entry)) in table.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    let _ = write!(out, "{comma}{key} = {}", entry.node.to_toml());
                }
                out.push_str(" }");
                out
            }
        }
    }

    /// Changes who says this and all below.
    pub(crate) fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
        match &mut self.raw {
            Raw::List(list) => list.iter_mut().for_each(|n| n.set_origin(origin)),
            Raw::Table(table) => table.values_mut().for_each(|e| e.node.set_origin(origin)),
            _ => {}
        }
    }
}

/// Reads a TOML document.
///
/// # Errors
/// The first fault of its syntax.
pub(crate) fn parse(text: usize, content: &str, origin: Origin) -> Result<Node, Fault> {
    match DeTable::parse(content) {
        Ok(document) => {
            let span = document.span();
            let place = Place { text, start: span.start, end: span.end };
            Ok(Node::new(place, origin, Raw::Table(table(text, origin, document.get_ref()))))
        }
        Err(error) => {
            let span = error.span().unwrap_or(content.len()..content.len());
            let place = Place { text, start: span.start, end: span.end };
            Err(Fault::new(place, format!("this is no TOML: {}", error.message())))
        }
    }
}

fn table(text: usize, origin: Origin, table: &DeTable<'_>) -> Table {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let key: &Spanned<std::borrow::Cow<'_, str>> = key;
        let span = key.span();
        let place = Place { text, start: span.start, end: span.end };
        (key.get_ref().clone().into_owned(), Entry { key: place, node: node(text, origin, value) })
    };
    table.iter().map(entry).collect()
}

fn node(text: usize, origin: Origin, value: &Spanned<DeValue<'_>>) -> Node {
    let span = value.span();
    let raw = match value.get_ref() {
        DeValue::Boolean(b) => Raw::Bool(*b),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(int) => Raw::Int(int),
            Err(_) => Raw::Unusable(i.to_string()),
        },
        DeValue::Float(f) => match f.as_str().parse::<f64>() {
            Ok(float) if float.is_finite() => Raw::Float(float),
            _ => Raw::Unusable(f.to_string()),
        },
        DeValue::String(s) => Raw::Text(s.clone().into_owned()),
        DeValue::Datetime(d) => Raw::Unusable(d.to_string()),
        DeValue::Array(a) => Raw::List(a.iter().map(|v| node(text, origin, v)).collect()),
        DeValue::Table(t) => Raw::Table(table(text, origin, t)),
    };
    Node::new(Place { text, start: span.start, end: span.end }, origin, raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1_0\n[suite]\nname = 'x'\n[[test]]\n[[test.stream]]\nx.y = 0x10\n";

    fn written(node: &Node) -> &'static str {
        &TEXT[node.place.start..node.place.end]
    }

    #[test]
    fn every_value_knows_its_place() {
        let root = parse(0, TEXT, Origin::Suite).unwrap();
        let suite = root.get("suite").unwrap();
        assert_eq!(root.get("a").map(|n| (written(n), n.to_toml())), Some(("1_0", "10".to_owned())));
        assert_eq!((written(suite), written(suite.get("name").unwrap())), ("[suite]", "'x'"));
        let Some(Raw::List(tests)) = root.get("test").map(|n| &n.raw) else { panic!("no list") };
        let Some(Raw::List(streams)) = tests[0].get("stream").map(|n| &n.raw) else { panic!("no list") };
        assert_eq!((written(&tests[0]), written(&streams[0])), ("[[test]]", "[[test.stream]]"));
        assert_eq!(streams[0].to_toml(), "{ x = { y = 16 } }");
    }

    #[test]
    fn what_nothing_takes_is_kept_as_written() {
        let root = parse(0, "a = 99999999999999999999\nb = 1e999\nc = nan\nd = 2024-01-01\n", Origin::Suite)
            .unwrap();
        for (key, text) in [("a", "99999999999999999999"), ("b", "1e999"), ("c", "nan"), ("d", "2024-01-01")]
        {
            assert_eq!(root.get(key).map(Node::describe).as_deref(), Some(text));
        }
    }

    #[test]
    fn a_fault_of_syntax_has_its_place() {
        for text in ["a = ", "a = 1\na = 2\n", "[a\n", "a = 'x", "= 1", "a = 1 b = 2", "\u{0}"] {
            assert!(parse(0, text, Origin::Suite).is_err(), "{text}");
        }
    }
}
