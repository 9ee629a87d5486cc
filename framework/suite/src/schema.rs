//! JSON Schemas (draft 2020-12), made from the same tables as everything else: the suite's from field and option
//! tables, the results document's from the record's types.

use iodyno_plugin::{Catalog, Default, Kind, OptionKind, OptionSpec, Plugin};
use iodyno_record::ResultsFile;
use serde_json::json;

use crate::fields;
use crate::plugin_use::AUTO;
use crate::shape::{Field, Shape};

type Map = serde_json::Map<String, serde_json::Value>;

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
/// As [`crate::size`] reads them; the limits are checked by `iodyno check`.
const SIZE: &str =
    r"^\s*(0[xX][0-9a-fA-F_]+|[0-9][0-9_]*(\.[0-9_]+)?)\s*([kKmMgGtTpP]?[bB]?|[kKmMgGtTpP][iI][bB]?)\s*$";
const PERCENT: &str = r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*%\s*$";
const DURATION: &str = r"^\s*([0-9]+(\.[0-9]+)?\s*[a-zA-Zµ]+\s*)+$";

/// The schema of suite files, with the options of every plugin in `catalog`.
pub fn suite_schema(catalog: &dyn Catalog) -> String {
    let mut schema = table(fields::SUITE, true);
    schema.insert("$schema".to_owned(), json!(DRAFT));
    schema.insert("title".to_owned(), json!("iodyno suite"));
    let plugins = [Kind::Backend, Kind::Workload].map(|kind| (kind.name().to_owned(), plugin(kind, catalog)));
    schema.insert("$defs".to_owned(), serde_json::Value::Object(plugins.into_iter().collect()));
    pretty(&serde_json::Value::Object(schema))
}

/// The schema of the results document that the `json` reporter writes.
pub fn results_schema() -> String {
    pretty(schemars::schema_for!(ResultsFile).as_value())
}

fn pretty(schema: &serde_json::Value) -> String {
    let mut text = serde_json::to_string_pretty(schema).expect("a schema is plain data with text keys");
    text.push('\n');
    text
}

fn table(fields: &'static [Field], whole: bool) -> Map {
    let usable = || fields.iter().filter(|f| !matches!(f.shape, Shape::Later(_)));
    let properties: Map = usable()
        .map(|field| (field.name.to_owned(), described(shape(&field.shape, whole), field.doc)))
        .collect();
    let required: Vec<&str> = usable().filter(|f| whole && f.required).map(|f| f.name).collect();
    object(properties, &required)
}

fn object(properties: Map, required: &[&str]) -> Map {
    let mut object = Map::new();
    object.insert("type".to_owned(), json!("object"));
    object.insert("properties".to_owned(), serde_json::Value::Object(properties));
    object.insert("additionalProperties".to_owned(), json!(false));
    if !required.is_empty() {
        object.insert("required".to_owned(), json!(required));
    }
    object
}

fn described(mut schema: serde_json::Value, doc: &str) -> serde_json::Value {
    if let Some(object) = schema.as_object_mut() {
        object.insert("description".to_owned(), json!(doc));
    }
    schema
}

fn shape(shape: &Shape, whole: bool) -> serde_json::Value {
    match shape {
        Shape::Value(kind) => option(kind),
        Shape::Region => json!({ "type": ["string", "integer"], "minLength": 1, "minimum": 1 }),
        Shape::Quantity => json!({ "type": ["string", "number"], "minLength": 1, "minimum": 0 }),
        Shape::Plugin(kind) => json!({ "$ref": format!("#/$defs/{}", kind.name()) }),
        Shape::Passed => json!({}),
        Shape::Table(fields) => serde_json::Value::Object(table(fields, whole)),
        Shape::Short { key, fields } => {
            let short =
                fields.iter().find(|f| f.name == *key).expect("the short form names a field of its own");
            json!({ "anyOf": [self::shape(&short.shape, whole), table(fields, whole)] })
        }
        Shape::Rows { fields, .. } => json!({ "type": "array", "items": table(fields, whole) }),
        Shape::Named(inner) => {
            let whole = matches!(inner, Shape::Short { .. });
            json!({ "type": "object", "additionalProperties": self::shape(inner, whole) })
        }
        Shape::Later(_) => unreachable!("fields that cannot be used yet are left out"),
    }
}

/// A plugin by name, or a table; without `plugin` it changes options of an inherited one.
fn plugin(kind: Kind, catalog: &dyn Catalog) -> serde_json::Value {
    let plugins = catalog.list(kind);
    let auto = (kind == Kind::Backend).then_some(AUTO);
    let names: Vec<&str> = plugins.iter().map(|p| p.name).chain(auto).collect();
    let forms = std::iter::once(json!({ "enum": names })).chain(plugins.into_iter().map(long_form));
    json!({ "anyOf": forms.collect::<Vec<_>>() })
}

fn long_form(plugin: &Plugin) -> serde_json::Value {
    let mut properties = options(plugin.options);
    properties.insert("plugin".to_owned(), json!({ "const": plugin.name, "description": plugin.summary }));
    serde_json::Value::Object(object(properties, &[]))
}

fn options(specs: &[OptionSpec]) -> Map {
    let described = |spec: &OptionSpec| {
        let doc = spec.doc.trim_end_matches('.');
        let doc = match spec.default {
            Default::Is(value) => format!("{doc}. Default: {value}"),
            Default::Required => format!("{doc}. Must be set."),
            Default::Absent => format!("{doc}."),
        };
        (spec.name.to_owned(), described(option(&spec.kind), &doc))
    };
    specs.iter().map(described).collect()
}

fn bounded(kind: &str, min: Option<serde_json::Value>, max: Option<serde_json::Value>) -> serde_json::Value {
    let mut schema = json!({ "type": kind });
    let bounds = [("minimum", min), ("maximum", max)];
    let object = schema.as_object_mut().expect("it was made an object");
    object.extend(bounds.into_iter().filter_map(|(name, bound)| Some((name.to_owned(), bound?))));
    schema
}

fn option(kind: &OptionKind) -> serde_json::Value {
    match kind {
        OptionKind::Bool => json!({ "type": "boolean" }),
        OptionKind::Int { min, max } => {
            let (min, max) = ((*min != i64::MIN).then_some(*min), (*max != i64::MAX).then_some(*max));
            bounded("integer", min.map(|m| json!(m)), max.map(|m| json!(m)))
        }
        OptionKind::Float { min, max } => {
            let limit = |limit: f64| (limit.is_finite() && limit.abs() != f64::MAX).then(|| json!(limit));
            bounded("number", limit(*min), limit(*max))
        }
        OptionKind::Text => json!({ "type": "string" }),
        OptionKind::Enum(words) => json!({ "enum": words }),
        OptionKind::Size { min, max } => {
            json!({ "type": ["string", "integer"], "pattern": SIZE, "minimum": min, "maximum": max })
        }
        OptionKind::Duration { .. } => json!({ "type": "string", "pattern": DURATION }),
        OptionKind::Percent => {
            json!({ "type": ["string", "number"], "pattern": PERCENT, "minimum": 0, "maximum": 100 })
        }
        OptionKind::Rate => json!({ "type": "string", "minLength": 1 }),
        OptionKind::Extent => json!({ "type": ["string", "integer"], "minLength": 1, "minimum": 0 }),
        OptionKind::List(inner) => json!({ "type": "array", "items": option(inner) }),
        OptionKind::Weighted { key, kind } => {
            let weight = json!({ "type": "number", "minimum": 0 });
            let properties = [((*key).to_owned(), option(kind)), ("weight".to_owned(), weight)];
            let item = object(properties.into_iter().collect(), &[key, "weight"]);
            json!({ "anyOf": [option(kind), { "type": "array", "items": item, "minItems": 1 }] })
        }
        OptionKind::Table(specs) => serde_json::Value::Object(object(options(specs), &[])),
        _ => json!({}),
    }
}
