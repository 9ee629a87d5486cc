//! For the tests of reporters: the example runs, and a host that keeps a reporter's files in memory.

use std::fs;
use std::path::Path;

use iodyno_plugin::{Factory, FileId, Output, Plugin, Reporter, Result, RunView};

/// A run read from disk.
pub(crate) struct Example {
    pub(crate) results: Vec<u8>,
    pub(crate) rows: Vec<u8>,
    pub(crate) histograms: Vec<u8>,
}

impl Example {
    /// The run in the folder `name` beside this file.
    pub(crate) fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(name);
        let file = |name: &str| fs::read(folder.join(name)).expect("example runs are in the repository");
        Example {
            results: file("results.json"),
            rows: file("rows.ndjson"),
            histograms: file("histograms.hlog"),
        }
    }

    pub(crate) fn view(&self) -> RunView<'_> {
        RunView { results: &self.results, rows: &self.rows, histograms: &self.histograms }
    }
}

/// The reporter that is registered as `name`.
pub(crate) fn reporter(name: &str) -> Box<dyn Reporter> {
    let mut all = iodyno_plugin::inventory::iter::<Plugin>.into_iter();
    let plugin = all.find(|plugin| plugin.name == name).expect("it registers itself");
    let Factory::Reporter(create) = plugin.factory else { panic!("{name} is a reporter") };
    create(&iodyno_plugin::Options::default()).expect("it needs no options")
}

/// The files that a reporter made.
#[derive(Default)]
pub(crate) struct Memory {
    files: Vec<(String, Vec<u8>, bool)>,
}

impl Memory {
    /// Names and texts, in the order in which they were made. All must be complete.
    pub(crate) fn files(self) -> Vec<(String, String)> {
        let whole = |(name, bytes, finished): (String, Vec<u8>, bool)| {
            assert!(finished, "{name} was not finished");
            (name, String::from_utf8(bytes).expect("text is UTF-8"))
        };
        self.files.into_iter().map(whole).collect()
    }
}

impl Output for Memory {
    fn create(&mut self, name: &str, media_type: &str) -> Result<FileId> {
        assert!(media_type.contains('/'), "{media_type} is no media type");
        self.files.push((name.to_owned(), Vec::new(), false));
        Ok(FileId(self.files.len() as u32 - 1))
    }

    fn write(&mut self, file: FileId, bytes: &[u8]) -> Result<()> {
        let (name, content, finished) = &mut self.files[file.0 as usize];
        assert!(!*finished, "{name} is finished");
        content.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(&mut self, file: FileId) -> Result<()> {
        self.files[file.0 as usize].2 = true;
        Ok(())
    }
}
