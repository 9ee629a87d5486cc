//! The published schemas know what the reader knows.

use iodyno_suite::{results_schema, suite_schema};
use serde_json::Value;

use crate::catalog::Made;

fn parsed(text: &str) -> Value {
    assert!(text.ends_with("}\n"));
    serde_json::from_str(text).expect("a schema is JSON")
}

#[test]
fn the_suite_schema_has_fields_and_plugin_options() {
    let schema = parsed(&suite_schema(&Made));
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["required"], serde_json::json!(["schema"]));
    let test = &schema["properties"]["test"]["items"];
    assert_eq!(test["required"], serde_json::json!(["name"]));
    assert!(test["properties"].get("matrix").is_none(), "what is refused is not proposed");
    assert_eq!(test["properties"]["workload"]["$ref"], "#/$defs/workload");
    let forms = schema["$defs"]["workload"]["anyOf"].as_array().unwrap();
    assert_eq!(forms[0]["enum"], serde_json::json!(["endless", "synthetic", "strict"]));
    let synthetic = forms.iter().find(|f| f["properties"]["plugin"]["const"] == "synthetic").unwrap();
    assert_eq!(
        synthetic["properties"]["pattern"]["enum"],
        serde_json::json!(["sequential", "random", "strided"])
    );
    let mix = &synthetic["properties"]["mix"];
    assert_eq!((mix["additionalProperties"].as_bool(), mix["type"].as_str()), (Some(false), Some("object")));
    assert_eq!(schema["$defs"]["backend"]["anyOf"][0]["enum"][4], "auto");
    let profile = &schema["properties"]["profile"]["additionalProperties"]["properties"];
    assert!(profile["test"]["additionalProperties"].get("required").is_none(), "a profile changes parts");
}

#[test]
fn the_results_schema_is_one() {
    let schema = parsed(&results_schema());
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(schema["properties"].get("runs").is_some());
}
