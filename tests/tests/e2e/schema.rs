//! A small JSON Schema checker, enough for the schemas that iodyno publishes.

use std::path::Path;

use serde_json::{Value, json};

/// Demands that a results document fits the published schema.
#[track_caller]
pub(crate) fn must_fit(document: &Path) {
    let read = |path: &Path| -> Value {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let schema = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results.schema.json"));
    let faults = faults(&schema, &read(document));
    assert!(faults.is_empty(), "{} does not fit the schema:\n{}", document.display(), faults.join("\n"));
}

/// All that does not fit.
fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut checker = Checker { root: schema, faults: Vec::new() };
    checker.check(schema, value, "$");
    checker.faults
}

const NUMBER: &str = r"^-?\d+$";

struct Checker<'a> {
    root: &'a Value,
    faults: Vec<String>,
}

impl Checker<'_> {
    fn check(&mut self, schema: &Value, value: &Value, at: &str) {
        let rules = match schema {
            Value::Bool(true) => return,
            Value::Object(rules) => rules,
            _ => return self.faults.push(format!("{at}: must not be here")),
        };
        for (keyword, rule) in rules {
            let fits = match keyword.as_str() {
                "type" => kinds(rule).iter().any(|kind| is(kind, value)),
                "enum" => rule.as_array().is_some_and(|all| all.contains(value)),
                "const" => rule == value,
                "minimum" => value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap_or(0.0)),
                "maximum" => value.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap_or(0.0)),
                "required" => {
                    let has = |name: &Value| name.as_str().is_some_and(|name| value.get(name).is_some());
                    !value.is_object() || rule.as_array().is_some_and(|names| names.iter().all(has))
                }
                "oneOf" => self.fitting(rule, value) == 1,
                "anyOf" => self.fitting(rule, value) > 0,
                "$ref" => {
                    let path =
                        rule.as_str().and_then(|path| path.strip_prefix('#')).expect("a local reference");
                    let target = self.root.pointer(path).unwrap_or_else(|| panic!("{path} is not there"));
                    self.check(target, value, at);
                    true
                }
                "properties" | "patternProperties" | "additionalProperties" | "items" => {
                    self.inside(keyword, rules, value, at);
                    true
                }
                "$schema" | "$id" | "$defs" | "title" | "description" | "format" | "default" => true,
                other => panic!("the checker does not know `{other}`"),
            };
            if !fits {
                self.faults.push(format!("{at}: {keyword} {rule}, but it is {value:.60}"));
            }
        }
    }

    fn fitting(&self, rule: &Value, value: &Value) -> usize {
        let fits = |schema: &&Value| {
            let mut checker = Checker { root: self.root, faults: Vec::new() };
            checker.check(schema, value, "");
            checker.faults.is_empty()
        };
        rule.as_array().expect("a list of schemas").iter().filter(fits).count()
    }

    fn inside(&mut self, keyword: &str, rules: &serde_json::Map<String, Value>, value: &Value, at: &str) {
        let rule = &rules[keyword];
        // The one pattern in use: keys that are numbers.
        let numbers = rules.get("patternProperties").and_then(|all| all.get(NUMBER));
        let known = |name: &str| {
            rules.get("properties").is_some_and(|all| all.get(name).is_some())
                || numbers.is_some() && name.parse::<i64>().is_ok()
        };
        match (keyword, value) {
            ("items", Value::Array(items)) => {
                for (i, item) in items.iter().enumerate() {
                    self.check(rule, item, &format!("{at}[{i}]"));
                }
            }
            ("properties", Value::Object(fields)) => {
                for (name, field) in fields {
                    rule.get(name)
                        .into_iter()
                        .for_each(|rule| self.check(rule, field, &format!("{at}.{name}")));
                }
            }
            ("patternProperties", Value::Object(fields)) => {
                let pattern = numbers.expect("the checker knows no other pattern");
                for (name, field) in fields.iter().filter(|(name, _)| name.parse::<i64>().is_ok()) {
                    self.check(pattern, field, &format!("{at}.{name}"));
                }
            }
            ("additionalProperties", Value::Object(fields)) => {
                for (name, field) in fields.iter().filter(|(name, _)| !known(name)) {
                    self.check(rule, field, &format!("{at}.{name}"));
                }
            }
            _ => {}
        }
    }
}

fn kinds(rule: &Value) -> Vec<&str> {
    match rule {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("there is no type `{other}`"),
    }
}

#[test]
fn the_checker_sees_what_does_not_fit() {
    let schema = json!({
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": { "type": ["integer", "null"], "minimum": 0 },
            "b": { "type": "array", "items": { "$ref": "#/$defs/word" } },
            "c": { "oneOf": [{ "const": 1 }, { "type": "string" }] }
        },
        "additionalProperties": false,
        "$defs": { "word": { "enum": ["x", "y"] } }
    });
    for good in
        [json!({ "a": null }), json!({ "a": 1, "b": ["x", "y"], "c": 1 }), json!({ "a": 1, "c": "z" })]
    {
        assert_eq!(faults(&schema, &good), [""; 0]);
    }
    let bad = [
        json!([]),
        json!({}),
        json!({ "a": "1" }),
        json!({ "a": -1 }),
        json!({ "a": 1, "b": ["z"] }),
        json!({ "a": 1, "b": {} }),
        json!({ "a": 1, "c": 2 }),
        json!({ "a": 1, "d": 2 }),
    ];
    for value in bad {
        assert!(!faults(&schema, &value).is_empty(), "{value}");
    }
}
