//! What a person sees while a run goes on: one line for each step, renewed on a terminal.

use std::io::{IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use iodyno_record::units::{amount, bandwidth, count, duration, latency};
use iodyno_record::{
    Envelope, Event, ItemResult, Note, NoteLevel, Op, Outcome, Phase, Plan, Row, RowKind, StepResult,
    StepSpec,
};

use crate::args::Progress;

/// Watches the event stream and writes to standard error.
pub(crate) struct Display {
    form: Form,
    quiet: bool,
    line_open: bool,
    last_line_ms: u64,
    now: String,
    figures: String,
    step: Option<Box<StepSpec>>,
    planned_ns: Vec<Option<u64>>,
}

/// How progress within a step is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Renewed,
    Lines,
    Nothing,
}

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default().bold();
const DIM: Style = Style::new().dimmed();
/// Plain lines come this often.
const LINE_EVERY_MS: u64 = 10_000;

impl Display {
    /// A display as asked for. `planned_ns` is what each item of the plan takes at most.
    pub(crate) fn new(progress: Progress, quiet: bool, planned_ns: Vec<Option<u64>>) -> Self {
        let form = match progress {
            _ if quiet => Form::Nothing,
            Progress::None => Form::Nothing,
            Progress::Auto if std::io::stderr().is_terminal() => Form::Renewed,
            Progress::Bar => Form::Renewed,
            Progress::Auto | Progress::Line => Form::Lines,
        };
        let (now, figures) = (String::new(), String::new());
        Display { form, quiet, line_open: false, last_line_ms: 0, now, figures, step: None, planned_ns }
    }

    /// Tells what the run will be done to.
    pub(crate) fn targets(&mut self, plan: &Plan) {
        for target in &plan.targets {
            let identity = &target.identity;
            let mut text = identity.with_label();
            let destroyed = target.written && !target.scratch && identity.path.is_some();
            if destroyed {
                text += ": everything on it will be overwritten";
            }
            self.line(if destroyed { WARN } else { DIM }, "target", &text);
        }
    }

    /// Takes an event.
    pub(crate) fn event(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::RunStarted { run, suite, seed, items } => {
                let items = if *items == 1 { "1 item".to_owned() } else { format!("{items} items") };
                self.line(DIM, "run", &format!("{run}: suite {suite}, {items}, seed {seed}"));
            }
            Event::StepStarted { spec } => {
                self.step = Some(spec.clone());
                self.now.clear();
                self.last_line_ms = envelope.unix_ms;
            }
            Event::Rows { rows } => self.now = live(rows),
            Event::Progress { elapsed_ns, expected_ns, bytes, expected_bytes, .. } => {
                self.progress(envelope.unix_ms, *elapsed_ns, *expected_ns, *bytes, *expected_bytes);
            }
            Event::StepFinished { result } => self.step_finished(result),
            Event::ItemFinished { result } => self.item_finished(result),
            Event::Noted { note } => self.note(note),
            Event::ItemStarted { .. } | Event::RunFinished { .. } => {}
        }
    }

    fn progress(
        &mut self,
        now_ms: u64,
        elapsed_ns: u64,
        expected_ns: Option<u64>,
        bytes: u64,
        all: Option<u64>,
    ) {
        let due = self.form == Form::Renewed || now_ms >= self.last_line_ms + LINE_EVERY_MS;
        if self.form == Form::Nothing || !due {
            return;
        }
        self.last_line_ms = now_ms;
        let Some(spec) = &self.step else { return };
        let left_ns = match (expected_ns, all) {
            (Some(expected), _) => Some(expected.saturating_sub(elapsed_ns)),
            (None, Some(all)) if bytes > 0 => {
                Some((elapsed_ns as f64 * (all.saturating_sub(bytes) as f64 / bytes as f64)) as u64)
            }
            _ => None,
        };
        let later = self.planned_ns.iter().skip(spec.item as usize + 1).copied().sum::<Option<u64>>();
        let share = match (expected_ns, all) {
            (Some(expected), _) if expected > 0 => Some(elapsed_ns as f64 / expected as f64),
            (_, Some(all)) if all > 0 => Some(bytes as f64 / all as f64),
            _ => None,
        };
        let mut text = spec.name.clone();
        if let Some(share) = share {
            text += &format!("  {:3.0}%", (share * 100.0).min(100.0));
        }
        if let Some(left) = left_ns {
            text += &format!("  {} left", duration(left));
        }
        if let (Some(left), Some(later)) = (left_ns, later.filter(|l| *l > 0)) {
            text += &format!(" of {}", duration(left + later));
        }
        if all.is_some() {
            text += &format!("  {}", amount(bytes as f64));
        }
        text += &self.now;
        let word = if spec.phase == Phase::Load && elapsed_ns < spec.warmup_ns {
            "warm-up"
        } else {
            phase(spec.phase)
        };
        self.write(DIM, word, &text, self.form == Form::Renewed);
    }

    fn step_finished(&mut self, result: &StepResult) {
        let Some(spec) = self.step.take() else { return };
        if spec.phase == Phase::Idle {
            return;
        }
        self.figures = figures(result);
        for note in result.notes.iter().filter(|n| n.level == NoteLevel::Warning) {
            self.note(note);
        }
        for fact in &result.backend.facts {
            if let Some(reason) = &fact.fallback {
                self.line(WARN, "fallback", &format!("{} = {}: {reason}", fact.name, fact.value));
            }
        }
    }

    fn item_finished(&mut self, result: &ItemResult) {
        let (style, word) = match result.outcome {
            Outcome::Passed => (GOOD, "PASS"),
            Outcome::NotRun => (WARN, "NOT RUN"),
            Outcome::ThresholdsCrossed => (BAD, "CROSSED"),
            Outcome::Failed => (BAD, "FAIL"),
            Outcome::Interrupted => (WARN, "INTERRUPTED"),
        };
        let reason = result.reason.as_deref().map(|r| format!(": {r}")).unwrap_or_default();
        let figures = std::mem::take(&mut self.figures);
        self.line(style, word, &format!("{}{figures}{reason}", result.name));
        for expect in result.expects.iter().filter(|e| !e.held) {
            let remark = expect.remark.as_deref().map(|r| format!(" ({r})")).unwrap_or_default();
            self.line(BAD, "expected", &format!("{}{remark}", expect.text));
        }
    }

    fn note(&mut self, note: &Note) {
        match note.level {
            NoteLevel::Warning => self.line(WARN, "warning", &note.text),
            NoteLevel::Info => self.line(DIM, "note", &note.text),
        }
    }

    /// A line that stays.
    fn line(&mut self, style: Style, word: &str, text: &str) {
        if !self.quiet {
            self.write(style, word, text, false);
        }
    }

    fn write(&mut self, style: Style, word: &str, text: &str, renew: bool) {
        let mut out = anstream::stderr().lock();
        let start = if self.line_open { "\r\x1b[K" } else { "" };
        let end = if renew { "" } else { "\n" };
        // Nobody is left to tell when standard error is gone.
        let _ = write!(out, "{start}{style}{word:>12}{style:#} {text}{end}").and_then(|()| out.flush());
        self.line_open = renew;
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if self.line_open {
            let _ = writeln!(anstream::stderr());
        }
    }
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Fill => "fill",
        Phase::Idle => "idle",
        Phase::Load => "measure",
    }
}

/// A step's result in a few words.
fn figures(result: &StepResult) -> String {
    let p99 = result.ops(None).filter_map(|o| Some((o.op, o.service.as_ref()?.percentile(99.0)?.value_ns)));
    let p99 = worst(p99);
    let rates = result.iops(None).zip(result.bandwidth_bytes_per_s(None));
    rates.map_or(p99.clone(), |(iops, rate)| format!("  {} IOPS  {}{p99}", count(iops), bandwidth(rate)))
}

/// The highest of what each operation reached for 99 % of its I/O, which is named where there are several.
fn worst(p99_ns: impl Iterator<Item = (Op, u64)>) -> String {
    let p99_ns: Vec<(Op, u64)> = p99_ns.collect();
    let Some((op, ns)) = p99_ns.iter().max_by_key(|(_, ns)| ns) else { return String::new() };
    let several = p99_ns.iter().any(|(other, _)| other != op);
    let name = if several { format!("{} ", op.name()) } else { String::new() };
    format!("  {name}p99 {}", latency(*ns as f64))
}

/// The last window in a few words.
fn live(rows: &[Row]) -> String {
    let rows: Vec<&Row> =
        rows.iter().filter(|r| matches!(r.kind, RowKind::Warmup | RowKind::Measure)).collect();
    let iops: f64 = rows.iter().filter_map(|r| r.iops()).sum();
    let bytes: f64 = rows.iter().filter_map(|r| r.bandwidth_bytes_per_s()).sum();
    let p99 = worst(rows.iter().filter_map(|r| Some((r.op, r.service.as_ref()?.p99_ns))));
    if rows.is_empty() { String::new() } else { format!("  {} IOPS  {}{p99}", count(iops), bandwidth(bytes)) }
}
