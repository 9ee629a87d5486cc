//! A plugin's options as they are recorded.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One option value in canonical form: sizes in bytes, durations in ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Setting {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
    /// Several.
    List(Vec<Setting>),
    /// A table.
    Table(BTreeMap<String, Setting>),
}

/// Options by name; the same JSON as the plugin got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Settings(pub BTreeMap<String, Setting>);

impl Settings {
    /// Canonical JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("settings are plain data with text keys")
    }

    /// From canonical JSON.
    ///
    /// # Errors
    /// When the text is no JSON object of such values.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}
