//! Runs a plan: items in order, steps as their procedures ask, everything recorded as it happens.

use std::path::{Path, PathBuf};
use std::time::Duration;

use iodyno_device::Grants;
use iodyno_engine::Message;
use iodyno_host::Registry;
use iodyno_record::{
    BackendUse, Cpu, Depth, End, Environment, Event, Item, ItemKind, ItemResult, MetricKind, Note, NoteLevel,
    Op, Outcome, Phase, Plan, SCHEMA_VERSION, Stamps, StepResult, StepSpec, Timing,
};
use iodyno_suite::{Next, evaluate, next};
use tracing::{debug, info, info_span};

use crate::control::Control;
use crate::error::RunError;
use crate::folder::{RunFolder, RunHeader};
use crate::journal::{Journal, Observer, unix_ms};
use crate::limits::check_limits;
use crate::open::open;
use crate::targets::{OpenTargets, open_targets};

/// What a run needs beside its plan.
pub struct RunRequest<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The suite's text, kept with the record.
    pub suite: &'a str,
    /// Where run folders go.
    pub runs: &'a Path,
    /// The command line, kept with the record.
    pub command: Vec<String>,
    /// What may be destroyed.
    pub grants: &'a Grants,
    /// The plugins.
    pub registry: &'a Registry,
    /// Stops it.
    pub control: &'a Control,
}

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its folder.
    pub folder: PathBuf,
    /// How it ended.
    pub outcome: Outcome,
}

/// Runs a plan and keeps its record. `started` is told the run folder before the first event.
///
/// # Errors
/// Before the first I/O: when a target is refused or cannot be driven, or the folder cannot be made. Later:
/// when the record can no longer be kept; the run is then stopped and what was recorded stays.
pub fn run<'a>(
    request: &RunRequest<'a>,
    started: &mut dyn FnMut(&Path),
    observer: &'a mut Observer<'a>,
) -> Result<Finished, RunError> {
    let _span = info_span!("plan", suite = %request.plan.suite).entered();
    let targets = open_targets(request.plan, request.grants)?;
    let host = iodyno_device::host_facts();
    for item in request.plan.items.iter().filter(|i| i.not_run.is_none() && !i.step.streams.is_empty()) {
        let opened = open(&item.step, targets.of(item), request.registry)?;
        check_limits(&item.step, &opened.parts, &host)?;
        iodyno_engine::check_step(&item.step, &opened.parts)
            .map_err(|reason| RunError::Target(format!("`{}` cannot be run: {reason}", item.name)))?;
    }
    let started_unix_ms = unix_ms();
    let (mut folder, id) = RunFolder::create(request.runs, &request.plan.suite, started_unix_ms)?;
    let header = RunHeader {
        schema_version: SCHEMA_VERSION,
        id: id.clone(),
        started_unix_ms,
        command: request.command.clone(),
    };
    let environment = Environment {
        iodyno_version: env!("CARGO_PKG_VERSION").to_owned(),
        host,
        devices: request.plan.targets.iter().map(|t| t.facts.clone()).collect(),
        plugins: request.registry.facts(),
    };
    let path = folder.path().to_owned();
    if let Err(e) = folder.begin(&header, request.suite, request.plan, &environment) {
        // Nothing was run, and what is there cannot be read: it would only be in the way.
        drop(std::fs::remove_dir_all(&path));
        return Err(e);
    }
    started(&path);
    let mut runner = Runner { request, targets, started_unix_ms, journal: Journal::new(folder, observer) };
    let outcome = runner.all(id)?;
    Ok(Finished { folder: path, outcome })
}

struct Runner<'r, 'a> {
    request: &'r RunRequest<'a>,
    targets: OpenTargets,
    started_unix_ms: u64,
    journal: Journal<'a>,
}

impl Runner<'_, '_> {
    fn all(&mut self, run: String) -> Result<Outcome, RunError> {
        let plan = self.request.plan;
        let items = plan.items.len() as u32;
        self.journal.send(Event::RunStarted { run, suite: plan.suite.clone(), seed: plan.seed, items })?;
        for note in self.targets.notes().iter().chain(&plan.notes) {
            self.journal.note(note)?;
        }
        let mut outcomes = Vec::new();
        let mut unprepared: Option<String> = None;
        for item in &plan.items {
            if self.request.control.stopped() {
                break;
            }
            let outcome = match &unprepared {
                Some(reason) => self.leave_out(item, reason)?,
                None => self.item(item)?,
            };
            if item.kind == ItemKind::Prepare
                && matches!(outcome, Outcome::Failed | Outcome::ThresholdsCrossed)
            {
                unprepared = Some(format!("preparation `{}` failed", item.name));
            }
            outcomes.push((item.kind, outcome));
        }
        let outcome = judge_run(&outcomes, outcomes.len() < plan.items.len());
        self.journal.send(Event::RunFinished { outcome })?;
        self.journal.folder().sync()?;
        Ok(outcome)
    }

    fn item(&mut self, item: &Item) -> Result<Outcome, RunError> {
        if let Some(reason) = &item.not_run {
            return self.leave_out(item, reason);
        }
        self.journal.send(Event::ItemStarted { item: item.id, name: item.name.clone() })?;
        let mut results = Vec::new();
        while let Next::Run(spec) = next(item, &results) {
            let result = self.step(item, &spec)?;
            let completed = result.end == End::Completed;
            results.push(result);
            if !completed {
                break;
            }
        }
        let expects = evaluate(item, &results);
        let (outcome, reason) = judge_item(item, &results, expects.iter().all(|e| e.held));
        let result = ItemResult {
            item: item.id,
            name: item.name.clone(),
            kind: item.kind,
            outcome,
            reason,
            expects,
            steps: Vec::new(),
        };
        self.journal.send(Event::ItemFinished { result: Box::new(result) })?;
        self.journal.folder().sync()?;
        Ok(outcome)
    }

    fn leave_out(&mut self, item: &Item, reason: &str) -> Result<Outcome, RunError> {
        self.journal.send(Event::ItemStarted { item: item.id, name: item.name.clone() })?;
        let result = ItemResult {
            item: item.id,
            name: item.name.clone(),
            kind: item.kind,
            outcome: Outcome::NotRun,
            reason: Some(reason.to_owned()),
            expects: Vec::new(),
            steps: Vec::new(),
        };
        self.journal.send(Event::ItemFinished { result: Box::new(result) })?;
        Ok(Outcome::NotRun)
    }

    fn step(&mut self, item: &Item, spec: &StepSpec) -> Result<StepResult, RunError> {
        let _span = info_span!("step", item = %spec.name, step = spec.step, phase = ?spec.phase).entered();
        debug!(?spec, "asked");
        self.journal.send(Event::StepStarted { spec: Box::new(spec.clone()) })?;
        let mut result = if spec.phase == Phase::Idle { self.idle(spec)? } else { self.load(item, spec)? };
        let cared_for = self.targets.after_step(item, spec, &result);
        if let Err(e) = cared_for
            && result.end == End::Completed
        {
            result.end = End::Failed { reason: e.to_string() };
        }
        if !spec.direct && result.ops(None).any(|op| op.op != Op::Read) {
            self.write_back(item, &mut result);
        }
        info!(end = ?result.end, window_ns = result.window_ns, "achieved");
        self.journal.send(Event::StepFinished { result: Box::new(result.clone()) })?;
        self.journal.folder().sync()?;
        Ok(result)
    }

    fn load(&mut self, item: &Item, spec: &StepSpec) -> Result<StepResult, RunError> {
        self.targets.set_direct(item, spec)?;
        let opened = open(spec, self.targets.of(item), self.request.registry)?;
        let commands = self.request.control.begin_step();
        let step_start_ns = unix_ms().saturating_sub(self.started_unix_ms) * 1_000_000;
        let (journal, control) = (&mut self.journal, self.request.control);
        let mut broken = None;
        let mut receive = |message: Message| {
            if broken.is_some() {
                return;
            }
            let kept = match message {
                Message::Window(window) => journal
                    .folder()
                    .window(spec, step_start_ns, &window)
                    .and_then(|()| journal.send(Event::Rows { rows: window.rows })),
                Message::Progress { elapsed_ns, bytes } => {
                    journal.send(progress(item, spec, elapsed_ns, bytes))
                }
            };
            if let Err(e) = kept {
                // What cannot be recorded need not be measured; a line behind half a line would be lost with it.
                broken = Some(e);
                control.stop();
            }
        };
        let mut result = iodyno_engine::run_step(spec, &opened.parts, &commands, &mut receive);
        result.backend.facts.splice(0..0, opened.facts);
        broken.map_or(Ok(result), Err)
    }

    /// Writes out what a step left in the page cache: it must not fall into the next one, and only now its errors
    /// come to light.
    fn write_back(&self, item: &Item, result: &mut StepResult) {
        let Some(target) = self.targets.of(item) else { return };
        let start_ns = iodyno_engine::monotonic_ns();
        match target.sync() {
            Ok(()) => {
                let took = iodyno_record::units::duration(iodyno_engine::monotonic_ns() - start_ns);
                let text =
                    format!("what was left in the page cache took {took} to be written out afterwards");
                result.notes.push(Note { level: NoteLevel::Info, code: "write_back".to_owned(), text });
            }
            Err(e) => {
                result.end = End::Failed { reason: format!("the page cache could not be written out: {e}") }
            }
        }
    }

    /// Does nothing for a while, in steps short enough to notice a stop and to tell the time.
    fn idle(&mut self, spec: &StepSpec) -> Result<StepResult, RunError> {
        let started_unix_ms = unix_ms();
        let wanted_ns = spec.measure_ns.unwrap_or(0);
        let start_ns = iodyno_engine::monotonic_ns();
        let mut elapsed_ns = 0;
        while elapsed_ns < wanted_ns && !self.request.control.stopped() {
            let event = Event::Progress {
                item: spec.item,
                step: spec.step,
                elapsed_ns,
                expected_ns: Some(wanted_ns),
                bytes: 0,
                expected_bytes: None,
            };
            self.journal.send(event)?;
            self.request.control.wait(Duration::from_nanos((wanted_ns - elapsed_ns).min(250_000_000)));
            elapsed_ns = iodyno_engine::monotonic_ns() - start_ns;
        }
        Ok(StepResult {
            item: spec.item,
            step: spec.step,
            end: if elapsed_ns < wanted_ns { End::Interrupted } else { End::Completed },
            started_unix_ms,
            warmup_ns: 0,
            window_ns: elapsed_ns,
            tail_ns: 0,
            streams: Vec::new(),
            depth: Depth { asked: 0, mean: None, max: 0 },
            cpu: Cpu::default(),
            workers: Vec::new(),
            timing: Timing { clock: "monotonic".to_owned(), stamps: Stamps::PerTurn, resolution_ns: 1.0 },
            backend: BackendUse { plugin: "none".to_owned(), facts: Vec::new() },
            notes: Vec::new(),
        })
    }
}

fn progress(item: &Item, spec: &StepSpec, elapsed_ns: u64, bytes: u64) -> Event {
    Event::Progress {
        item: spec.item,
        step: spec.step,
        elapsed_ns,
        expected_ns: spec.measure_ns.map(|m| m + spec.warmup_ns),
        bytes,
        expected_bytes: if spec.measure_ns.is_none() { item.bounds.bytes_written } else { None },
    }
}

fn judge_item(item: &Item, results: &[StepResult], expectations_held: bool) -> (Outcome, Option<String>) {
    for result in results {
        match &result.end {
            End::Completed => {}
            End::Interrupted => return (Outcome::Interrupted, Some("stopped from outside".to_owned())),
            End::Errors { reason } | End::Failed { reason } => {
                return (Outcome::Failed, Some(reason.clone()));
            }
        }
    }
    if let Some(reason) = results.iter().find_map(nothing_measured) {
        return (Outcome::Failed, Some(reason));
    }
    let judges_errors = item.expects.iter().any(|e| e.metric.kind == MetricKind::Errors);
    let errors: u64 = results.iter().map(|r| r.errors(None)).sum();
    if errors > 0 && !judges_errors {
        let reason = format!("{errors} i/o failed; an `expect` on `errors` can allow some");
        return (Outcome::Failed, Some(reason));
    }
    if expectations_held { (Outcome::Passed, None) } else { (Outcome::ThresholdsCrossed, None) }
}

/// A measure in which nothing came back is no result, whatever was expected.
fn nothing_measured(result: &StepResult) -> Option<String> {
    let silent = !result.streams.is_empty() && result.ops(None).all(|op| op.window_completed == 0);
    let failed = result.errors(None);
    (silent && failed == 0).then(|| {
        let (asked, window) = (result.depth.asked, iodyno_record::units::duration(result.window_ns));
        format!("no i/o completed in the {window} of the measure, with {asked} outstanding")
    })
}

/// A run that was stopped is interrupted, whatever came of its items before: who stopped it expects that.
fn judge_run(outcomes: &[(ItemKind, Outcome)], cut_short: bool) -> Outcome {
    let worst = outcomes.iter().map(|(_, o)| *o).filter(|o| *o != Outcome::NotRun).max();
    let mut tests = outcomes.iter().filter(|(kind, _)| *kind == ItemKind::Test).map(|(_, o)| *o).peekable();
    let no_test_ran = tests.peek().is_some() && tests.all(|o| o == Outcome::NotRun);
    match worst {
        _ if cut_short => Outcome::Interrupted,
        None | Some(Outcome::Passed) if no_test_ran => Outcome::NotRun,
        Some(outcome) => outcome,
        None => Outcome::Passed,
    }
}
