//! The run folder while it is written.
//!
//! Everything is handed to the kernel as it happens, so a killed process loses nothing. The files are
//! fsynced when the plan is stored, after every step and at the end, never during a step, where it would
//! disturb what is measured: a power cut loses at most the step in progress.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use iodyno_record::{Envelope, Environment, HdrLog, HdrLogEntry, Plan, Row, RowKind, StepSpec};
use serde::{Deserialize, Serialize};

use crate::error::RunError;

/// Names of the files in a run folder.
pub mod names {
    /// What identifies the run.
    pub const RUN: &str = "run.json";
    /// The plan.
    pub const PLAN: &str = "plan.json";
    /// Host, devices, plugins.
    pub const ENVIRONMENT: &str = "environment.json";
    /// The suite as it was given.
    pub const SUITE: &str = "suite.toml";
    /// The event log.
    pub const EVENTS: &str = "events.ndjson";
    /// Interval rows.
    pub const ROWS: &str = "rows.ndjson";
    /// Interval histograms.
    pub const HISTOGRAMS: &str = "histograms.hlog";
    /// iodyno's own log.
    pub const LOG: &str = "iodyno.log";
    /// Reporters' files, a folder for each.
    pub const REPORT: &str = "report";
}

/// What identifies a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunHeader {
    /// Version of the record's data.
    pub schema_version: u32,
    /// Id, the folder's name.
    pub id: String,
    /// When it began.
    pub started_unix_ms: u64,
    /// Command line.
    pub command: Vec<String>,
}

/// A run folder open for writing.
pub(crate) struct RunFolder {
    path: PathBuf,
    events: File,
    rows: File,
    histograms: File,
}

impl RunFolder {
    /// Makes a new folder below `runs`, named by time and suite, never one that exists.
    ///
    /// # Errors
    /// When the system refuses; the path is named.
    pub(crate) fn create(runs: &Path, suite: &str, started_unix_ms: u64) -> Result<(Self, String), RunError> {
        fs::create_dir_all(runs).map_err(|e| RunError::folder(runs, e))?;
        let stamp: String =
            iodyno_record::units::utc(started_unix_ms).replace(['-', ':'], "").replace(' ', "-");
        let mut number = 1;
        let (id, path) = loop {
            let id =
                if number == 1 { format!("{stamp}-{suite}") } else { format!("{stamp}-{suite}-{number}") };
            let path = runs.join(&id);
            match fs::create_dir(&path) {
                Ok(()) => break (id, path),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && number < 1000 => number += 1,
                Err(e) => return Err(RunError::folder(&path, e)),
            }
        };
        let append = |name: &str| {
            let file = path.join(name);
            OpenOptions::new()
                .create_new(true)
                .append(true)
                .open(&file)
                .map_err(|e| RunError::folder(&file, e))
        };
        let (events, rows, histograms) =
            (append(names::EVENTS)?, append(names::ROWS)?, append(names::HISTOGRAMS)?);
        // Tells readers that the run goes on, for as long as it does. Where the file system has no locks, they take
        // it for one that was killed.
        drop(events.try_lock());
        Ok((RunFolder { path, events, rows, histograms }, id))
    }

    /// Whether a run goes on that writes into `folder`.
    pub(crate) fn is_in_use(folder: &Path) -> bool {
        let lock = File::open(folder.join(names::EVENTS)).map(|events| events.try_lock_shared());
        matches!(lock, Ok(Err(TryLockError::WouldBlock)))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Stores what is known before the first I/O, and makes it durable.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn begin(
        &mut self,
        header: &RunHeader,
        suite: &str,
        plan: &Plan,
        environment: &Environment,
    ) -> Result<(), RunError> {
        let put = |name: &str, bytes: &[u8]| {
            let file = File::create(self.path.join(name))?;
            write(&file, bytes)?;
            file.sync_all()
        };
        put(names::SUITE, suite.as_bytes())
            .and_then(|()| put(names::PLAN, &pretty(plan)))
            .and_then(|()| put(names::ENVIRONMENT, &pretty(environment)))
            .and_then(|()| write(&self.histograms, HdrLog::header(header.started_unix_ms).as_bytes()))
            .and_then(|()| put(names::RUN, &pretty(header)))
            .and_then(|()| File::open(&self.path)?.sync_all())
            .map_err(|e| self.error(e))
    }

    /// Appends an event.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn event(&mut self, envelope: &Envelope) -> Result<(), RunError> {
        write(&self.events, &line(envelope)).map_err(|e| self.error(e))
    }

    /// Appends the rows and histograms of a window. `step_start_ns` is the step's start since the run's.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn window(
        &mut self,
        spec: &StepSpec,
        step_start_ns: u64,
        window: &iodyno_engine::Window,
    ) -> Result<(), RunError> {
        let rows: Vec<u8> = window.rows.iter().flat_map(line).collect();
        let mut log = String::new();
        for ((row, service), response) in window.rows.iter().zip(&window.service).zip(&window.response) {
            for (side, histogram) in [("service", Some(service)), ("response", response.as_ref())] {
                let Some(histogram) = histogram.filter(|h| h.count() > 0) else { continue };
                let entry = HdrLogEntry {
                    tag: histogram_tag(spec, row, side),
                    start_ns: step_start_ns + row.start_ns,
                    length_ns: row.end_ns - row.start_ns,
                    histogram: histogram.clone(),
                };
                log += &HdrLog::line(&entry);
            }
        }
        // In this order, so that every row has its histogram, wherever the record stops.
        write(&self.histograms, log.as_bytes())
            .and_then(|()| write(&self.rows, &rows))
            .map_err(|e| self.error(e))
    }

    /// Makes everything durable.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn sync(&mut self) -> Result<(), RunError> {
        let files = [&self.events, &self.rows, &self.histograms];
        files.into_iter().try_for_each(File::sync_data).map_err(|e| self.error(e))
    }

    fn error(&self, cause: std::io::Error) -> RunError {
        RunError::folder(&self.path, cause)
    }
}

/// Names a histogram of the log: `item/step/kind/stream/operation/side`.
pub(crate) fn histogram_tag(spec: &StepSpec, row: &Row, side: &str) -> String {
    let stream = spec.streams.get(row.stream as usize).map_or("?", |s| s.name.as_str());
    let kind = match row.kind {
        RowKind::Warmup => "warmup",
        RowKind::WarmupTail => "warmup_tail",
        RowKind::Measure => "measure",
        RowKind::Tail => "tail",
    };
    format!("{}/{}/{kind}/{stream}/{}/{side}", spec.name, spec.step, row.op.name())
}

fn write(mut file: &File, bytes: &[u8]) -> std::io::Result<()> {
    file.write_all(bytes)
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(value).expect("records are plain data with text keys");
    bytes.push(b'\n');
    bytes
}

fn pretty(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("records are plain data with text keys");
    bytes.push(b'\n');
    bytes
}
