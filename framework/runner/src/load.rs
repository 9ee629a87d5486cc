//! Reads a run folder, whole or cut short, into what reporters get.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use iodyno_plugin::RunView;
use iodyno_record::{
    Envelope, Event, HdrLog, ItemKind, ItemResult, Note, NoteLevel, Outcome, Plan, Results, Row, Run,
    SCHEMA_VERSION, StepRecord, StepSpec,
};
use serde::de::DeserializeOwned;

use crate::consistency;
use crate::error::RunError;
use crate::folder::{RunFolder, RunHeader, names};
use crate::salvage::salvage;

/// A run read back.
#[derive(Debug)]
pub struct Loaded {
    /// Its folder.
    pub path: PathBuf,
    /// The results document.
    pub results: Results,
    json: Vec<u8>,
    rows: Vec<u8>,
    histograms: Vec<u8>,
}

impl Loaded {
    /// As reporters see it.
    pub fn view(&self) -> RunView<'_> {
        RunView { results: &self.json, rows: &self.rows, histograms: &self.histograms }
    }
}

/// Reads a run folder. A run that was killed, or goes on, is complete up to its last recorded line, its unfinished
/// step is rebuilt from rows and histograms, and it is marked interrupted. What does not add up is remarked on.
///
/// # Errors
/// When the folder is none, or damaged elsewhere than at the end of a file.
pub fn load(folder: &Path) -> Result<Loaded, RunError> {
    let is_run = |folder: &Path| folder.join(names::RUN).is_file();
    if folder.exists() && !is_run(folder) {
        let text = format!("{}: No such file{}", names::RUN, elsewhere(folder, is_run));
        return Err(RunError::record(folder, text));
    }
    let header: RunHeader = document(folder, names::RUN)?;
    if header.schema_version > SCHEMA_VERSION {
        let reason = format!(
            "{}: it has schema {}, this version reads up to {SCHEMA_VERSION}",
            names::RUN,
            header.schema_version
        );
        return Err(RunError::record(folder, reason));
    }
    // Asked before anything is read: a run that ends meanwhile has written all of it.
    let goes_on = RunFolder::is_in_use(folder);
    let (events, rows) = (lines(folder, names::EVENTS)?, lines(folder, names::ROWS)?);
    let histograms = lines(folder, names::HISTOGRAMS)?;
    let plan: Plan = document(folder, names::PLAN)?;
    let replay = Replay::of(folder, &plan, [&events, &rows, &histograms], goes_on)?;
    let run = Run {
        id: header.id,
        outcome: replay.outcome.unwrap_or(Outcome::Interrupted),
        started_unix_ms: header.started_unix_ms,
        ended_unix_ms: replay.last_unix_ms.max(header.started_unix_ms),
        command: header.command,
    };
    let results = Results {
        schema_version: SCHEMA_VERSION,
        run,
        environment: document(folder, names::ENVIRONMENT)?,
        plan,
        items: replay.items,
        notes: replay.notes,
    };
    let json = serde_json::to_vec(&results).expect("records are plain data with text keys");
    Ok(Loaded { path: folder.to_owned(), results, json, rows, histograms })
}

/// Where a run folder is near a path that is none: around it, or in it.
fn elsewhere(path: &Path, is_run: impl Fn(&Path) -> bool) -> String {
    if let Some(around) = path.ancestors().skip(1).find(|folder| is_run(folder)) {
        let around = if around.as_os_str().is_empty() { Path::new(".") } else { around };
        return format!("; it is a part of the run folder {}", around.display());
    }
    let inside = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    // Names begin with the time.
    let newest = inside.filter(|folder| is_run(folder)).max();
    newest.map_or(String::new(), |run| format!("; name a run in it, for example {}", run.display()))
}

const STOPS_HERE: &str =
    "the record stops here: iodyno was killed, its disk was full, or the machine went down";

const GOES_ON: &str = "this is what it had recorded when it was read";

/// What the event log tells.
#[derive(Default)]
struct Replay {
    items: Vec<ItemResult>,
    notes: Vec<Note>,
    outcome: Option<Outcome>,
    last_unix_ms: u64,
    open_item: Option<(u32, String)>,
    open_step: Option<(Box<StepSpec>, u64)>,
    steps: Vec<StepRecord>,
}

impl Replay {
    fn of(
        folder: &Path,
        plan: &Plan,
        [events, rows, histograms]: [&[u8]; 3],
        goes_on: bool,
    ) -> Result<Self, RunError> {
        let mut replay = Replay::default();
        for (seq, (number, line)) in (0..).zip(numbered(events)) {
            let envelope: Envelope = parse(folder, names::EVENTS, number, line)?;
            if envelope.seq != seq {
                let found = envelope.seq;
                let reason = format!(
                    "{}, line {number}: it is event {found}, where event {seq} should be: lines are missing, or stand twice",
                    names::EVENTS
                );
                return Err(RunError::record(folder, reason));
            }
            replay.last_unix_ms = envelope.unix_ms;
            replay.apply(envelope);
        }
        // Read in any case, so that damage is told with its place before a reporter meets it.
        let rows = numbered(rows)
            .map(|(number, line)| parse::<Row>(folder, names::ROWS, number, line))
            .collect::<Result<Vec<_>, _>>()?;
        let damaged = |e: &dyn Display| RunError::record(folder, format!("{}: {e}", names::HISTOGRAMS));
        let log = std::str::from_utf8(histograms).map_err(|e| damaged(&e))?;
        let log = HdrLog::read(log).map_err(|e| damaged(&e))?;
        if goes_on {
            replay.notes.push(Note {
                level: NoteLevel::Warning,
                code: "goes_on".to_owned(),
                text: format!("the run is not over: {GOES_ON}"),
            });
        }
        let finished = replay.items.iter().flat_map(|item| &item.steps).chain(&replay.steps);
        let remarks = consistency::remarks(finished, &rows, &log);
        replay.notes.extend(remarks);
        if let Some((spec, started)) = replay.open_step.take() {
            let (result, ended) = salvage(&spec, started, &rows, &log);
            replay.last_unix_ms = replay.last_unix_ms.max(ended);
            replay.steps.push(StepRecord { spec: *spec, result });
        }
        if let Some((item, name)) = replay.open_item.take() {
            let steps = std::mem::take(&mut replay.steps);
            replay.items.push(ItemResult {
                item,
                name,
                kind: plan.items.get(item as usize).map_or(ItemKind::Test, |planned| planned.kind),
                outcome: Outcome::Interrupted,
                reason: Some(if goes_on { GOES_ON } else { STOPS_HERE }.to_owned()),
                expects: Vec::new(),
                steps,
            });
        }
        Ok(replay)
    }

    fn apply(&mut self, envelope: Envelope) {
        match envelope.event {
            Event::ItemStarted { item, name } => self.open_item = Some((item, name)),
            Event::StepStarted { spec } => self.open_step = Some((spec, envelope.unix_ms)),
            Event::StepFinished { result } => {
                if let Some((spec, _)) = self.open_step.take() {
                    self.steps.push(StepRecord { spec: *spec, result: *result });
                }
            }
            Event::ItemFinished { result } => {
                self.open_item = None;
                let steps = std::mem::take(&mut self.steps);
                self.items.push(ItemResult { steps, ..*result });
            }
            Event::Noted { note } => self.notes.push(note),
            Event::RunFinished { outcome, .. } => self.outcome = Some(outcome),
            Event::RunStarted { .. } | Event::Rows { .. } | Event::Progress { .. } => {}
        }
    }
}

fn document<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<T, RunError> {
    let bytes = read(folder, name)?;
    serde_json::from_slice(&bytes).map_err(|e| RunError::record(folder, format!("{name}: {e}")))
}

/// The whole lines of a file: one that was cut short by a kill is left out.
fn lines(folder: &Path, name: &str) -> Result<Vec<u8>, RunError> {
    let mut bytes = read(folder, name)?;
    bytes.truncate(bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1));
    Ok(bytes)
}

fn read(folder: &Path, name: &str) -> Result<Vec<u8>, RunError> {
    fs::read(folder.join(name)).map_err(|e| RunError::record(folder, format!("{name}: {e}")))
}

fn numbered(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    bytes.split(|b| *b == b'\n').enumerate().filter(|(_, l)| !l.is_empty()).map(|(i, l)| (i + 1, l))
}

fn parse<T: DeserializeOwned>(folder: &Path, name: &str, number: usize, line: &[u8]) -> Result<T, RunError> {
    serde_json::from_slice(line).map_err(|e| {
        // The line is a document of its own to the parser, which would call it line 1.
        let text = e.to_string();
        let text = text.rsplit_once(" at line 1 column").map_or(text.as_str(), |(text, _)| text);
        RunError::record(folder, format!("{name}, line {number}, column {}: {text}", e.column().max(1)))
    })
}
