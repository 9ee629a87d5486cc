//! Runs, read from their views.

use std::collections::{HashMap, HashSet};

use iodyno_plugin::{Error, Result, RunView};
use iodyno_record::{Results, Row, SCHEMA_VERSION, units};
use serde::de::DeserializeOwned;

/// One run, read.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// What tells it from the other runs of the page.
    pub(crate) label: String,
    pub(crate) results: Results,
    /// Interval rows by item and step.
    pub(crate) rows: HashMap<(u32, u32), Vec<Row>>,
}

impl Run {
    /// Rows of a step, in the order of the record.
    pub(crate) fn rows(&self, item: u32, step: u32) -> &[Row] {
        self.rows.get(&(item, step)).map_or(&[], Vec::as_slice)
    }
}

/// Reads all.
///
/// # Errors
/// When a record is damaged or newer than this version understands.
pub(crate) fn read(views: &[RunView<'_>]) -> Result<Vec<Run>> {
    if views.is_empty() {
        return Err(Error::contract("a report needs at least one run"));
    }
    let mut runs = views.iter().map(read_one).collect::<Result<Vec<Run>>>()?;
    let labels = labels(&runs.iter().map(|run| &run.results).collect::<Vec<_>>());
    runs.iter_mut().zip(labels).for_each(|(run, label)| run.label = label);
    Ok(runs)
}

fn read_one(view: &RunView<'_>) -> Result<Run> {
    let results: Results = parse("the results document", view.results)?;
    if results.schema_version > SCHEMA_VERSION {
        return Err(Error::contract(format!(
            "the record of run {} has schema version {}, this report reads up to {SCHEMA_VERSION}: take a newer iodyno",
            results.run.id, results.schema_version
        )));
    }
    let mut rows: HashMap<_, Vec<Row>> = HashMap::new();
    for line in view.rows.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let row: Row = parse("an interval row", line)?;
        rows.entry((row.item, row.step)).or_default().push(row);
    }
    Ok(Run { label: String::new(), results, rows })
}

fn parse<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|e| Error::contract(format!("{what} cannot be read: {e}")))
}

/// The first of device, suite and time that tells all runs apart, else their ids.
fn labels(runs: &[&Results]) -> Vec<String> {
    let device =
        |r: &Results| r.environment.devices.first().map(|d| d.model.clone().unwrap_or(d.label.clone()));
    let of_all = |label: &dyn Fn(&Results) -> Option<String>| -> Option<Vec<String>> {
        let labels: Vec<String> = runs.iter().map(|r| label(r)).collect::<Option<_>>()?;
        (labels.iter().collect::<HashSet<_>>().len() == runs.len()).then_some(labels)
    };
    of_all(&device)
        .or_else(|| of_all(&|r| Some(r.plan.suite.clone())))
        .or_else(|| of_all(&|r| Some(format!("{} UTC", units::utc(r.run.started_unix_ms)))))
        .or_else(|| of_all(&|r| Some(r.run.id.clone())))
        .unwrap_or_else(|| {
            runs.iter().enumerate().map(|(i, r)| format!("{} ({})", r.run.id, i + 1)).collect()
        })
}
