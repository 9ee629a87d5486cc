//! Makes documents from run folders. A run that has just ended is reported through the same path as an old
//! one, so both give the same by construction.

use std::io::Write;
use std::path::PathBuf;

use iodyno_plugin::{Catalog, Factory, Kind, Reporter, RunView};

use crate::error::RunError;
use crate::folder::names;
use crate::load::Loaded;
use crate::output::{Files, OutputRequest, Place, target_paths};

/// Documents that were made.
#[derive(Debug, Default)]
pub struct Reported {
    /// Reporter and main file of each that is a file.
    pub files: Vec<(String, PathBuf)>,
    /// What failed: a reporter that is not there, or could not make its document.
    pub failures: Vec<RunError>,
}

/// Makes each document that was asked for from all of `runs`, in order. One that fails does not keep the others
/// from being made.
pub fn report(
    runs: &[Loaded],
    outputs: &[OutputRequest],
    catalog: &dyn Catalog,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Reported {
    let views: Vec<RunView<'_>> = runs.iter().map(Loaded::view).collect();
    let mut reported = Reported::default();
    for output in outputs {
        let stream: &mut dyn Write = if output.place == Place::Stderr { stderr } else { stdout };
        match document(runs, &views, output, catalog, stream) {
            Ok(Some(path)) => reported.files.push((output.reporter.clone(), path)),
            Ok(None) => {}
            Err(e) => reported.failures.push(e),
        }
    }
    reported
}

fn document(
    runs: &[Loaded],
    views: &[RunView<'_>],
    output: &OutputRequest,
    catalog: &dyn Catalog,
    stream: &mut dyn Write,
) -> Result<Option<PathBuf>, RunError> {
    let name = &output.reporter;
    let mut reporter = create(name, catalog)?;
    let folder = match runs {
        [run] => Some(run.path.join(names::REPORT).join(name)),
        _ if output.place == Place::RunFolder => {
            let reason = format!("{} runs have no one folder", runs.len());
            return Err(RunError::Output { name: name.clone(), reason });
        }
        _ => None,
    };
    let targets = runs.iter().flat_map(|run| target_paths(&run.results.plan)).collect();
    let mut files = Files::new(folder, &output.place, stream, targets);
    reporter.finish(views, &mut files).map_err(|e| RunError::reporter(name, &e))?;
    Ok(files.main_path().map(PathBuf::from))
}

/// A reporter by name, with its default options.
///
/// # Errors
/// When there is none.
pub(crate) fn create(name: &str, catalog: &dyn Catalog) -> Result<Box<dyn Reporter>, RunError> {
    let Some(plugin) = catalog.find(Kind::Reporter, name) else {
        let there = catalog.list(Kind::Reporter).iter().map(|p| p.name.to_owned()).collect();
        return Err(RunError::NoReporter { name: name.to_owned(), there });
    };
    let Factory::Reporter(create) = plugin.factory else {
        unreachable!("the catalog gives plugins of the role that was asked for")
    };
    iodyno_suite::default_options(plugin).and_then(|o| create(&o)).map_err(|e| RunError::reporter(name, &e))
}
