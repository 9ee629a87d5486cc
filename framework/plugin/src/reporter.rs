//! Reporters: how runs are shown.
//!
//! A reporter sees data, never a device: versioned JSON whose schema `iodyno schema results` prints, and
//! histograms in HdrHistogram V2 form. So fields can be added without a new version of this contract. Rust
//! reporters read the JSON with `iodyno_record`.

use crate::error::Result;

/// One run, finished or interrupted, as a reporter sees it.
#[derive(Clone, Copy, Debug)]
pub struct RunView<'a> {
    /// The results document, UTF-8 JSON.
    pub results: &'a [u8],
    /// Interval rows, one JSON object a line.
    pub rows: &'a [u8],
    /// Interval histograms, an HdrHistogram V2 log.
    pub histograms: &'a [u8],
}

/// Shows runs. Observers take events while a run goes on, documents are made from whole runs.
pub trait Reporter: Send {
    /// Whether [`Reporter::event`] is wanted.
    fn observes(&self) -> bool {
        false
    }

    /// One event, a JSON object. Must not block for long; it is called on a thread of its own.
    ///
    /// # Errors
    /// The reporter is left out from then on, with a warning; the run goes on.
    fn event(&mut self, event: &[u8], out: &mut dyn Output) -> Result<()> {
        let _ = (event, out);
        Ok(())
    }

    /// Makes the document of one or more runs.
    ///
    /// # Errors
    /// Shown to the user; the run's record is not touched.
    fn finish(&mut self, runs: &[RunView<'_>], out: &mut dyn Output) -> Result<()>;
}

/// Names an open output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(pub u32);

/// Where a reporter's files go. The host decides the place; names are relative, `[A-Za-z0-9._-]`, no `..`.
pub trait Output {
    /// Starts a file. The first file that a reporter creates is its main one, which `-o NAME=PATH` moves.
    ///
    /// # Errors
    /// When the name is not allowed or the file cannot be made.
    fn create(&mut self, name: &str, media_type: &str) -> Result<FileId>;

    /// Adds bytes.
    ///
    /// # Errors
    /// When the system refuses.
    fn write(&mut self, file: FileId, bytes: &[u8]) -> Result<()>;

    /// Completes a file: it appears whole under its name.
    ///
    /// # Errors
    /// When the system refuses.
    fn finish(&mut self, file: FileId) -> Result<()>;
}
