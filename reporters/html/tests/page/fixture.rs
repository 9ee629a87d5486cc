//! The example runs that all reporters are tested on, and the page made of them.

use std::fs;
use std::path::Path;

use iodyno_html as _;
use iodyno_plugin::{Factory, FileId, Options, Output, Plugin, Result, RunView, inventory};
use iodyno_record::{Results, Row, StepRecord};

/// A run that a test may change.
pub(crate) struct Example {
    pub(crate) results: Results,
    pub(crate) rows: Vec<u8>,
    histograms: Vec<u8>,
}

impl Example {
    pub(crate) fn load(name: &str) -> Example {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(name);
        let read = |file| fs::read(folder.join(file)).unwrap();
        Example {
            results: serde_json::from_slice(&read("results.json")).unwrap(),
            rows: read("rows.ndjson"),
            histograms: read("histograms.hlog"),
        }
    }

    /// Changes every step.
    pub(crate) fn steps(&mut self, change: impl FnMut(&mut StepRecord)) {
        self.results.items.iter_mut().flat_map(|i| &mut i.steps).for_each(change);
    }

    pub(crate) fn drop_rows(&mut self, which: impl Fn(&Row) -> bool) {
        let keep = |line: &&[u8]| line.is_empty() || !which(&serde_json::from_slice(line).unwrap());
        let lines: Vec<&[u8]> = self.rows.split(|byte| *byte == b'\n').filter(keep).collect();
        self.rows = lines.join(&b'\n');
    }

    /// What the reporter says when it refuses this run.
    pub(crate) fn error(&self) -> String {
        finish(std::slice::from_ref(self), &mut Memory::default()).unwrap_err().to_string()
    }
}

/// Takes one file.
#[derive(Default)]
struct Memory {
    names: Vec<String>,
    bytes: Vec<u8>,
    finished: bool,
}

impl Output for Memory {
    fn create(&mut self, name: &str, media_type: &str) -> Result<FileId> {
        assert_eq!(media_type, "text/html");
        self.names.push(name.to_owned());
        Ok(FileId(7))
    }

    fn write(&mut self, file: FileId, bytes: &[u8]) -> Result<()> {
        assert_eq!(file, FileId(7));
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(&mut self, file: FileId) -> Result<()> {
        assert_eq!(file, FileId(7));
        self.finished = true;
        Ok(())
    }
}

fn finish(runs: &[Example], out: &mut Memory) -> Result<()> {
    let plugin = inventory::iter::<Plugin>().find(|p| p.name == "html").unwrap();
    let Factory::Reporter(create) = plugin.factory else { panic!("html is a reporter") };
    let documents: Vec<Vec<u8>> = runs.iter().map(|r| serde_json::to_vec(&r.results).unwrap()).collect();
    let view = |(run, results)| {
        let run: &Example = run;
        let results: &Vec<u8> = results;
        RunView { results, rows: &run.rows, histograms: &run.histograms }
    };
    let views: Vec<RunView<'_>> = runs.iter().zip(&documents).map(view).collect();
    create(&Options::default())?.finish(&views, out)
}

/// The page of some runs.
pub(crate) fn render(runs: &[Example]) -> String {
    let mut out = Memory::default();
    finish(runs, &mut out).unwrap();
    assert!(out.finished);
    assert_eq!(out.names, ["report.html"]);
    String::from_utf8(out.bytes).unwrap()
}
