//! `iodyno report`, and the reports at the end of a run.

use std::path::PathBuf;

use iodyno_host::Registry;
use iodyno_runner::{Loaded, OutputRequest, Place};

use crate::args::ReportArguments;
use crate::exit::Exit;
use crate::{fail, tell};

/// Makes reports of run folders.
pub(crate) fn report(arguments: &ReportArguments, registry: &Registry, quiet: bool) -> Exit {
    let outputs = match requests(&arguments.output, arguments.runs.len()) {
        Ok(outputs) => outputs,
        Err(e) => return fail(Exit::Usage, e),
    };
    let mut runs = Vec::new();
    for folder in &arguments.runs {
        match iodyno_runner::load(folder) {
            Ok(run) => runs.push(run),
            Err(e) => return fail(Exit::from(&e), e),
        }
    }
    show(&runs, &outputs, registry, quiet)
}

/// Makes the documents, and names those that are files.
pub(crate) fn show(runs: &[Loaded], outputs: &[OutputRequest], registry: &Registry, quiet: bool) -> Exit {
    let quietly = |output: &&OutputRequest| !(quiet && output.place == Place::Stderr);
    let outputs: Vec<OutputRequest> = outputs.iter().filter(quietly).cloned().collect();
    let (mut stdout, mut stderr) = (anstream::stdout().lock(), anstream::stderr());
    let reported = iodyno_runner::report(runs, &outputs, registry, &mut stdout, &mut stderr);
    let exits: Vec<Exit> = reported.failures.iter().map(|e| fail(Exit::from(e), e)).collect();
    for (reporter, path) in reported.files.iter().filter(|_| !quiet) {
        tell(&format!("{reporter:>12} {}", path.display()));
    }
    exits.first().copied().unwrap_or(Exit::Passed)
}

/// The outputs of a command line. Without any, an HTML report goes into the run folder. Results are always shown:
/// on standard output, or on standard error where a document has that to itself.
pub(crate) fn requests(texts: &[String], runs: usize) -> Result<Vec<OutputRequest>, String> {
    let mut outputs = texts.iter().map(|text| request(text)).collect::<Result<Vec<_>, _>>()?;
    let to_stdout = outputs.iter().filter(|o| o.place == Place::Stdout).count();
    if to_stdout > 1 {
        return Err("two outputs go to standard output; name a file for one of them".to_owned());
    }
    if let Some(of_none) = outputs.iter().find(|o| runs > 1 && o.place == Place::RunFolder) {
        let name = &of_none.reporter;
        return Err(format!("{runs} runs have no one folder for `-o {name}`; say `-o {name}=FILE`"));
    }
    if texts.is_empty() && runs == 1 {
        outputs.push(OutputRequest { reporter: "html".to_owned(), place: Place::RunFolder });
    }
    if !outputs.iter().any(|o| o.reporter == "console" && o.place == Place::Stdout) {
        let place = if to_stdout == 0 { Place::Stdout } else { Place::Stderr };
        outputs.insert(0, OutputRequest { reporter: "console".to_owned(), place });
    }
    Ok(outputs)
}

fn request(text: &str) -> Result<OutputRequest, String> {
    let (reporter, place) = match text.split_once('=') {
        None => (text, Place::RunFolder),
        Some((reporter, "-")) => (reporter, Place::Stdout),
        Some((_, "")) => {
            return Err(format!("`-o {text}` names no file; say NAME=FILE, or NAME=- for standard output"));
        }
        Some((reporter, path)) => (reporter, Place::Path(PathBuf::from(path))),
    };
    Ok(OutputRequest { reporter: reporter.to_owned(), place })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Vec<(String, Place)> {
        let texts: Vec<String> = texts.iter().map(|&t| t.to_owned()).collect();
        requests(&texts, 1).unwrap().into_iter().map(|o| (o.reporter, o.place)).collect()
    }

    #[test]
    fn results_are_always_shown_somewhere() {
        assert_eq!(of(&[]), [("console".into(), Place::Stdout), ("html".into(), Place::RunFolder)]);
        assert_eq!(of(&["console=-"]), [("console".into(), Place::Stdout)]);
        assert_eq!(of(&["json=-"]), [("console".into(), Place::Stderr), ("json".into(), Place::Stdout)]);
        assert_eq!(
            of(&["csv=a=b.csv"]),
            [("console".into(), Place::Stdout), ("csv".into(), Place::Path("a=b.csv".into()))]
        );
    }

    #[test]
    fn two_cannot_share_standard_output() {
        assert!(requests(&["json=-".into(), "csv=-".into()], 1).unwrap_err().contains("standard output"));
        assert!(requests(&["json=".into()], 1).unwrap_err().contains("names no file"));
        assert!(requests(&["html".into()], 2).unwrap_err().contains("say `-o html=FILE`"));
    }
}
