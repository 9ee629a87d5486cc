//! Option values as a plugin gets them: checked, complete, canonical.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// One value in canonical form; see [`crate::OptionKind`] for the form of each type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// A whole number; sizes are bytes, durations ns.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text or an enum's word.
    Text(String),
    /// Several.
    List(Vec<Value>),
    /// A table.
    Table(BTreeMap<String, Value>),
}

/// All options of one plugin use, by name. Serialises to the canonical JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Options(pub BTreeMap<String, Value>);

impl Options {
    /// The canonical JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("values are plain data with text keys")
    }

    /// Reads the canonical JSON.
    ///
    /// # Errors
    /// When the text is no JSON object of such values.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| Error::contract(format!("options are no canonical JSON: {e}")))
    }

    /// Sets a value; for tests and tools that call plugins without a suite.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    /// The value of `name`, or `None` where it is absent.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    fn need<'a, T>(&'a self, name: &str, what: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<T> {
        let value = self
            .get(name)
            .ok_or_else(|| Error::contract(format!("the host gave no value for option `{name}`")))?;
        read(value).ok_or_else(|| Error::contract(format!("option `{name}` is {value:?}, expected {what}")))
    }

    /// A truth value.
    ///
    /// # Errors
    /// These readers fail only when the host broke the contract: the option is away or of another type.
    pub fn bool(&self, name: &str) -> Result<bool> {
        self.need(name, "a bool", |v| if let Value::Bool(b) = v { Some(*b) } else { None })
    }

    /// A whole number.
    ///
    /// # Errors
    /// As [`Options::bool`].
    pub fn int(&self, name: &str) -> Result<i64> {
        self.need(name, "an int", Value::as_int)
    }

    /// A size in bytes.
    ///
    /// # Errors
    /// As [`Options::bool`].
    pub fn bytes(&self, name: &str) -> Result<u64> {
        self.need(name, "a size in bytes", |v| v.as_int().and_then(|i| u64::try_from(i).ok()))
    }

    /// A duration in ns.
    ///
    /// # Errors
    /// As [`Options::bool`].
    pub fn duration_ns(&self, name: &str) -> Result<u64> {
        self.need(name, "a duration in ns", |v| v.as_int().and_then(|i| u64::try_from(i).ok()))
    }

    /// A number, or a percentage.
    ///
    /// # Errors
    /// As [`Options::bool`].
    pub fn float(&self, name: &str) -> Result<f64> {
        self.need(name, "a number", Value::as_float)
    }

    /// A text or an enum's word.
    ///
    /// # Errors
    /// As [`Options::bool`].
    pub fn text(&self, name: &str) -> Result<&str> {
        self.need(name, "a text", |v| if let Value::Text(t) = v { Some(t.as_str()) } else { None })
    }

    /// A list.
    ///
    /// # Errors
    /// As [`Options::bool`].
    pub fn list(&self, name: &str) -> Result<&[Value]> {
        self.need(name, "a list", |v| if let Value::List(l) = v { Some(l.as_slice()) } else { None })
    }

    /// A table.
    ///
    /// # Errors
    /// As [`Options::bool`].
    pub fn table(&self, name: &str) -> Result<Options> {
        self.need(name, "a table", |v| if let Value::Table(t) = v { Some(Options(t.clone())) } else { None })
    }

    /// A weighted list: values and weights, in the suite's order.
    ///
    /// # Errors
    /// As [`Options::bool`].
    pub fn weighted(&self, name: &str) -> Result<Vec<(Value, f64)>> {
        let one = |v: &Value| match v {
            Value::Table(t) => Some((t.get("value")?.clone(), t.get("weight")?.as_float()?)),
            _ => None,
        };
        let read = |v: &Value| if let Value::List(l) = v { l.iter().map(one).collect() } else { None };
        self.need(name, "a weighted list", read)
    }
}

impl Value {
    /// The whole number, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        if let Value::Int(i) = self { Some(*i) } else { None }
    }

    /// The number, whole or not.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(f) => Some(*f),
            Value::Int(i) => Some(*i as f64),
            _ => None,
        }
    }
}
