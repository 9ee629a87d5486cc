//! One value of one of the contract's types, checked and brought into canonical form.

use std::collections::BTreeMap;

use iodyno_plugin::{Default, OptionKind, OptionSpec, Value};
use iodyno_record::units;

use crate::diagnostics::{Fault, Issues, instead, listed, nearest};
use crate::extent::{Extent, Share};
use crate::quantity::{self, Counted};
use crate::size::{self, Wrong};
use crate::text::{Origin, Texts};
use crate::tree::{self, Node, Raw, Table};

/// Reads values, telling every fault. `complete` = a table gets its defaults and must have what is required;
/// else only what is there is checked.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a> {
    pub(crate) issues: &'a Issues,
    pub(crate) complete: bool,
}

impl Values<'_> {
    /// The value of a node; `None` after a fault. `name` is what the user calls it.
    pub(crate) fn read(self, kind: &OptionKind, name: &str, node: &Node) -> Option<Value> {
        match (kind, &node.raw) {
            (OptionKind::Bool, Raw::Bool(b)) => Some(Value::Bool(*b)),
            (OptionKind::Text, Raw::Text(text)) => Some(Value::Text(text.clone())),
            (OptionKind::Int { min, max }, Raw::Int(int)) => {
                let fits = (min..=max).contains(&int);
                self.within(fits, name, node, *min, *max).then_some(Value::Int(*int))
            }
            (OptionKind::Float { min, max }, Raw::Int(_) | Raw::Float(_)) => {
                let float = number(node);
                let fits = (*min..=*max).contains(&float);
                self.within(fits, name, node, *min, *max).then_some(Value::Float(float))
            }
            (OptionKind::Enum(words), Raw::Text(text)) => self.word(words, name, node, text),
            (OptionKind::Size { min, max }, Raw::Text(_) | Raw::Int(_)) => self.size(*min, *max, name, node),
            (OptionKind::Duration { min_ns, max_ns }, Raw::Text(_) | Raw::Int(_) | Raw::Float(_)) => {
                self.duration(*min_ns, *max_ns, name, node)
            }
            (OptionKind::Percent, Raw::Int(_) | Raw::Float(_)) => {
                let fits = (0.0..=100.0).contains(&number(node));
                self.within(fits, name, node, 0, 100).then(|| Value::Float(number(node)))
            }
            (OptionKind::Percent, Raw::Text(text)) => {
                self.parsed(name, node, Share::parse(text)).map(|share| Value::Float(share.percent()))
            }
            (OptionKind::Rate, Raw::Text(text)) => {
                self.parsed(name, node, quantity::rate(text)).map(|(rate, counted)| {
                    let unit = if counted == Counted::Io { "io" } else { "byte" };
                    table([("per_second", Value::Float(rate)), ("unit", Value::Text(unit.to_owned()))])
                })
            }
            (OptionKind::Extent, Raw::Text(_) | Raw::Int(_)) => self.extent(name, node),
            (OptionKind::List(inner), Raw::List(list)) => {
                let items: Vec<_> = list.iter().map(|item| self.read(inner, name, item)).collect();
                items.into_iter().collect::<Option<Vec<_>>>().map(Value::List)
            }
            (OptionKind::Weighted { key, kind }, _) => self.weighted(key, kind, name, node),
            (OptionKind::Table(specs), Raw::Table(given)) => {
                self.table(specs, name, node, given).map(Value::Table)
            }
            _ => self.wrong_type(name, node, &expected(kind)),
        }
    }

    /// The options of a table.
    pub(crate) fn table(
        self,
        specs: &[OptionSpec],
        name: &str,
        node: &Node,
        given: &Table,
    ) -> Option<BTreeMap<String, Value>> {
        let mut good = true;
        for (key, entry) in given.iter().filter(|(key, _)| !specs.iter().any(|s| s.name == *key)) {
            let fault = Fault::new(entry.key, format!("`{name}` has no option `{key}`"));
            self.issues.add(fault.label("unknown option").help(instead(key, specs.iter().map(|s| s.name))));
            good = false;
        }
        let mut values = BTreeMap::new();
        for spec in specs {
            let value = match (given.get(spec.name), spec.default) {
                (Some(entry), _) => self.read(&spec.kind, spec.name, &entry.node),
                (None, Default::Is(_)) if self.complete => self.default(spec, node),
                (None, Default::Required) if self.complete => {
                    let message = format!("`{name}` needs the option `{}`", spec.name);
                    self.issues.add(Fault::new(node.place, message).help(lower(spec.doc)));
                    None
                }
                _ => continue,
            };
            good &= value.is_some();
            values.extend(value.map(|value| (spec.name.to_owned(), value)));
        }
        good.then_some(values)
    }

    fn default(self, spec: &OptionSpec, node: &Node) -> Option<Value> {
        let value = default_value(spec);
        if let Err(fault) = &value {
            self.issues.add(Fault::new(node.place, fault.clone()));
        }
        value.ok()
    }

    fn word(self, words: &[&str], name: &str, node: &Node, text: &str) -> Option<Value> {
        if words.contains(&text) {
            return Some(Value::Text(text.to_owned()));
        }
        let fault =
            Fault::new(node.place, format!("`{name}` is \"{text}\", must be one of {}", listed(words)));
        let near = nearest(text, words.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        self.tell(fault.maybe_help(near))
    }

    fn size(self, min: u64, max: u64, name: &str, node: &Node) -> Option<Value> {
        let size = match &node.raw {
            Raw::Int(int) => {
                let bytes = u64::try_from(*int).map_err(|_| Wrong::new(format!("{int} is negative")));
                bytes.map(|bytes| size::Size { bytes, decimal: false })
            }
            _ => size::parse(node.as_text().unwrap_or_default()),
        };
        let size = self.parsed(name, node, size)?;
        self.note_decimal(size.decimal, node);
        let max = max.min(i64::MAX as u64);
        let fits = (min..=max).contains(&size.bytes);
        let limit = |bytes| if bytes == i64::MAX as u64 { "8EiB".to_owned() } else { units::size(bytes) };
        self.within(fits, name, node, limit(min), limit(max)).then_some(Value::Int(size.bytes as i64))
    }

    fn duration(self, min_ns: u64, max_ns: u64, name: &str, node: &Node) -> Option<Value> {
        let duration = match &node.raw {
            Raw::Text(text) => quantity::duration_ns(text),
            _ => Err(quantity::bare_duration(&node.describe())),
        };
        let ns = self.parsed(name, node, duration)?;
        let max_ns = max_ns.min(i64::MAX as u64);
        let fits = (min_ns..=max_ns).contains(&ns);
        let limit = |ns| if ns == i64::MAX as u64 { "292 years".to_owned() } else { shown_duration(ns) };
        self.within(fits, name, node, limit(min_ns), limit(max_ns)).then_some(Value::Int(ns as i64))
    }

    fn extent(self, name: &str, node: &Node) -> Option<Value> {
        let extent = match &node.raw {
            Raw::Int(int) => {
                let bytes = u64::try_from(*int).map_err(|_| Wrong::new(format!("{int} is negative")));
                bytes.map(|bytes| (Extent::Bytes(bytes), false))
            }
            _ => Extent::parse(node.as_text().unwrap_or_default()),
        };
        let (extent, decimal) = self.parsed(name, node, extent)?;
        self.note_decimal(decimal, node);
        match extent {
            Extent::Share(share) => Some(table([("percent", Value::Float(share.percent()))])),
            Extent::Bytes(bytes) => {
                let fits = i64::try_from(bytes).is_ok();
                self.within(fits, name, node, 0, "8EiB").then(|| table([("bytes", Value::Int(bytes as i64))]))
            }
        }
    }

    fn weighted(self, key: &str, kind: &OptionKind, name: &str, node: &Node) -> Option<Value> {
        let weighted = |value, weight| table([("value", value), ("weight", Value::Float(weight))]);
        let Raw::List(list) = &node.raw else {
            return self.read(kind, name, node).map(|value| Value::List(vec![weighted(value, 1.0)]));
        };
        let example = format!("{{ {key} = .., weight = .. }}");
        if list.is_empty() {
            let fault = Fault::new(node.place, format!("`{name}` is an empty list"));
            return self.tell(fault.help(format!("write one value, or a list of {example}")));
        }
        let mut items = Vec::new();
        for item in list {
            let Some(given) = item.as_table() else {
                self.wrong_type::<()>(name, item, &format!("{example} within a list"));
                continue;
            };
            for (other, entry) in given.iter().filter(|(k, _)| *k != key && *k != "weight") {
                let fault = Fault::new(entry.key, format!("unknown key `{other}` in `{name}`"));
                self.issues.add(fault.help(instead(other, [key, "weight"])));
            }
            let (Some(value), Some(weight)) = (item.get(key), item.get("weight")) else {
                self.issues.add(Fault::new(item.place, format!("each of `{name}` must be {example}")));
                continue;
            };
            let weight_kind = OptionKind::Float { min: 0.0, max: 1e9 };
            let value = self.read(kind, key, value);
            let weight = self.read(&weight_kind, "weight", weight).and_then(|w| w.as_float());
            items.extend(value.zip(weight).map(|(value, weight)| weighted(value, weight)));
        }
        (items.len() == list.len()).then_some(Value::List(items))
    }

    /// What was read from a text, or its fault told.
    pub(crate) fn parsed<T>(self, name: &str, node: &Node, read: Result<T, Wrong>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(wrong) => {
                let fault = Fault::new(node.place, format!("`{name}`: {}", wrong.message));
                self.tell(fault.maybe_help(wrong.help))
            }
        }
    }

    /// Tells that a node is of the wrong type.
    pub(crate) fn wrong_type<T>(self, name: &str, node: &Node, expected: &str) -> Option<T> {
        let fault = Fault::new(node.place, format!("`{name}` is {}, must be {expected}", node.describe()));
        let unquoted = match &node.raw {
            Raw::Text(text) if matches!(text.as_str(), "true" | "false") || text.parse::<f64>().is_ok() => {
                Some(format!("write {text} without quotes"))
            }
            _ => None,
        };
        self.tell(fault.maybe_help(unquoted))
    }

    fn within(
        self,
        fits: bool,
        name: &str,
        node: &Node,
        min: impl std::fmt::Display,
        max: impl std::fmt::Display,
    ) -> bool {
        if !fits {
            let value = node.to_toml();
            self.issues
                .add(Fault::new(node.place, format!("`{name}` is {value}, must be within {min} and {max}")));
        }
        fits
    }

    /// Decimal sizes are not what storage people type by habit: the plan says what was understood.
    pub(crate) fn note_decimal(self, decimal: bool, node: &Node) {
        if decimal && let Some(text) = node.as_text() {
            let bytes = size::parse(text).map_or(String::new(), |size| format!(" ({} bytes)", size.bytes));
            let text =
                format!("\"{text}\" was read as decimal{bytes}; `k`, `m`, `g` alone are powers of 1024");
            self.issues.note("decimal_size", text);
        }
    }

    fn tell<T>(self, fault: Fault) -> Option<T> {
        self.issues.add(fault);
        None
    }
}

/// The default of an option.
///
/// # Errors
/// When its plugin declares one that is no value of its kind.
pub(crate) fn default_value(spec: &OptionSpec) -> Result<Value, String> {
    let Default::Is(text) = spec.default else {
        return Err(format!("option `{}` has no default", spec.name));
    };
    let content = format!("default = {text}");
    let issues = Issues::new(Texts::new("default", &content, ""), None);
    let read = match tree::parse(0, &content, Origin::BuiltIn) {
        Ok(root) => root
            .get("default")
            .and_then(|node| Values { issues: &issues, complete: true }.read(&spec.kind, spec.name, node)),
        Err(fault) => {
            issues.add(fault);
            None
        }
    };
    let reason =
        || issues.check().err().and_then(|d| d.iter().next().map(|d| d.message.clone())).unwrap_or_default();
    read.ok_or_else(|| format!("the plugin declares `{text}` as default of `{}`: {}", spec.name, reason()))
}

fn number(node: &Node) -> f64 {
    match node.raw {
        Raw::Int(int) => int as f64,
        Raw::Float(float) => float,
        _ => f64::NAN,
    }
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Table(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// A duration as it may be typed.
fn shown_duration(ns: u64) -> String {
    humantime::format_duration(std::time::Duration::from_nanos(ns)).to_string().replace(' ', "")
}

/// A doc sentence as advice.
fn lower(doc: &str) -> String {
    let mut chars = doc.trim_end_matches('.').chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// What a kind takes, in words.
fn expected(kind: &OptionKind) -> String {
    match kind {
        OptionKind::Bool => "true or false".to_owned(),
        OptionKind::Int { .. } => "a whole number".to_owned(),
        OptionKind::Float { .. } => "a number".to_owned(),
        OptionKind::Text => "a text in quotes".to_owned(),
        OptionKind::Enum(words) => format!("one of {}", listed(words)),
        OptionKind::Size { .. } => "a size like \"4k\" or 4096".to_owned(),
        OptionKind::Duration { .. } => "a time like \"30s\"".to_owned(),
        OptionKind::Percent => "a percentage like 30 or \"30%\"".to_owned(),
        OptionKind::Rate => "a rate like \"1000 iops\" or \"50 MB/s\"".to_owned(),
        OptionKind::Extent => "a size or share like \"10GiB\" or \"25%\"".to_owned(),
        OptionKind::List(inner) => format!("a list, each {}", expected(inner)),
        OptionKind::Weighted { kind, .. } => expected(kind),
        OptionKind::Table(specs) => {
            let names: Vec<&str> = specs.iter().map(|s| s.name).collect();
            format!("a table with {}", listed(&names))
        }
        _ => "of a type that this version knows".to_owned(),
    }
}
