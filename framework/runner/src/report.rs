//! Makes documents from run folders. A run that has just ended is reported through the same path as an old
//! one, so both give the same by construction.

use std::io::Write;
use std::path::PathBuf;

use iodyno_plugin::{Catalog, Factory, Kind, Reporter, RunView};

use crate::error::RunError;
use crate::folder::names;
use crate::load::Loaded;
use crate::output::{Files, OutputRequest, Place};

/// Makes each document that was asked for from all of `runs`, in order, and tells where their main files are.
///
/// # Errors
/// When a reporter is not there or fails; the others are still made, and the first failure is told.
pub fn report(
    runs: &[Loaded],
    outputs: &[OutputRequest],
    catalog: &dyn Catalog,
    stdout: &mut dyn Write,
) -> Result<Vec<(String, PathBuf)>, RunError> {
    let views: Vec<RunView<'_>> = runs.iter().map(Loaded::view).collect();
    let mut files = Vec::new();
    let mut failure = None;
    for output in outputs {
        match document(runs, &views, output, catalog, stdout) {
            Ok(Some(path)) => files.push((output.reporter.clone(), path)),
            Ok(None) => {}
            Err(e) => failure = failure.or(Some(e)),
        }
    }
    failure.map_or(Ok(files), Err)
}

fn document(
    runs: &[Loaded],
    views: &[RunView<'_>],
    output: &OutputRequest,
    catalog: &dyn Catalog,
    stdout: &mut dyn Write,
) -> Result<Option<PathBuf>, RunError> {
    let name = &output.reporter;
    let [first, others @ ..] = runs else { return Err(RunError::reporter(name, "there is no run to show")) };
    if output.place == Place::RunFolder && !others.is_empty() {
        return Err(RunError::reporter(
            name,
            format!("several runs have no one folder: say `-o {name}=FILE`"),
        ));
    }
    let mut reporter = create(name, catalog)?;
    let folder = first.path.join(names::REPORT).join(name);
    let mut files = Files::new(folder, &output.place, stdout);
    reporter.finish(views, &mut files).map_err(|e| RunError::reporter(name, e))?;
    Ok(files.main_path().map(PathBuf::from))
}

/// A reporter by name, with its default options.
///
/// # Errors
/// When there is none.
pub(crate) fn create(name: &str, catalog: &dyn Catalog) -> Result<Box<dyn Reporter>, RunError> {
    let Some(plugin) = catalog.find(Kind::Reporter, name) else {
        let names: Vec<&str> = catalog.list(Kind::Reporter).iter().map(|p| p.name).collect();
        return Err(RunError::reporter(name, format!("no such reporter; there are {}", names.join(", "))));
    };
    let Factory::Reporter(create) = plugin.factory else {
        unreachable!("the catalog gives plugins of the role that was asked for")
    };
    iodyno_suite::default_options(plugin).and_then(|o| create(&o)).map_err(|e| RunError::reporter(name, e))
}
