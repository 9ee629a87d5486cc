//! The document holds what the record holds, and says what it is.

#[path = "../../testdata/memory.rs"]
mod memory;

use iodyno_json as _;
use iodyno_record::{Results, ResultsFile, SCHEMA_VERSION};
use memory::{Example, Memory, reporter};

#[test]
fn all_runs_are_in_one_document() {
    let runs = [Example::read("run"), Example::read("interrupted")];
    let mut out = Memory::default();
    reporter("json").finish(&[runs[0].view(), runs[1].view()], &mut out).unwrap();
    let files = out.files();
    let [(name, text)] = &files[..] else { panic!("one file") };
    assert_eq!(name, "results.json");
    assert!(
        text.starts_with("{\n  \"schema\": \"iodyno-results\",\n  \"schema_version\": 1,\n  \"runs\": [")
    );
    assert!(text.ends_with("}\n"));
    let file: ResultsFile = serde_json::from_str(text).unwrap();
    assert_eq!(file.schema_version, SCHEMA_VERSION);
    for (example, run) in runs.iter().zip(&file.runs) {
        assert_eq!(*run, serde_json::from_slice::<Results>(&example.results).unwrap());
    }
    assert_eq!(file.runs.len(), 2);
}

#[test]
fn a_damaged_record_is_told() {
    let mut run = Example::read("run");
    run.results.truncate(1000);
    let error = reporter("json").finish(&[run.view()], &mut Memory::default()).unwrap_err();
    assert!(error.message().starts_with("the results document cannot be read: EOF"), "{error}");
}
