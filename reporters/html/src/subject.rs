//! What the page shows: the steps of all runs, matched by the name of their item.

use iodyno_record::{Item, ItemKind, ItemResult, Op, OpResult, StepRecord, StreamResult};

use crate::run::Run;

/// A step of one run, or why there is none.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) run: &'a Run,
    pub(crate) item: &'a Item,
    /// `None` = the run ended before it.
    pub(crate) result: Option<&'a ItemResult>,
    /// `None` = it was not run.
    pub(crate) step: Option<&'a StepRecord>,
}

/// One test or preparation, in one or more runs.
pub(crate) struct Subject<'a> {
    /// Its name; with the number of the step, where an item has several.
    pub(crate) name: String,
    pub(crate) kind: ItemKind,
    /// One for each run, `None` = that run's plan does not have it.
    pub(crate) entries: Vec<Option<Entry<'a>>>,
    /// Every operation of every stream in any run.
    pub(crate) lines: Vec<Line>,
}

/// One operation of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) stream: String,
    pub(crate) op: Op,
    /// `read`, or `data read` where there are several streams.
    pub(crate) label: String,
}

/// What one run has of a line.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a> {
    pub(crate) index: u32,
    pub(crate) stream: &'a StreamResult,
    pub(crate) op: &'a OpResult,
}

impl<'a> Entry<'a> {
    /// What this run measured of a line.
    pub(crate) fn find(&self, line: &Line) -> Option<Found<'a>> {
        let mut streams = self.step?.result.streams.iter().zip(0..);
        let (stream, index) = streams.find(|(s, _)| s.name == line.stream)?;
        Some(Found { index, stream, op: stream.ops.iter().find(|o| o.op == line.op)? })
    }
}

impl<'a> Subject<'a> {
    /// The entries that there are, with the number of their run.
    pub(crate) fn present(&self) -> impl Iterator<Item = (usize, Entry<'a>)> + '_ {
        self.entries.iter().enumerate().filter_map(|(i, e)| e.map(|e| (i, e)))
    }

    /// Whether any run did I/O: then the page has a section about it.
    pub(crate) fn has_section(&self) -> bool {
        self.present().any(|(_, entry)| entry.step.is_some_and(|s| !s.spec.streams.is_empty()))
    }

    /// Whether any run measured something.
    pub(crate) fn measured(&self) -> bool {
        !self.lines.is_empty()
    }
}

/// All, tests first, each kind in the order of the plans.
pub(crate) fn subjects(runs: &[Run]) -> Vec<Subject<'_>> {
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        for item in &run.results.plan.items {
            let result = run.results.items.iter().find(|r| r.item == item.id);
            let steps = result.map_or(&[][..], |r| &r.steps);
            let mut add = |name: String, step| {
                let entry = Entry { run, item, result, step };
                place(&mut subjects, name, runs.len()).entries[index] = Some(entry);
            };
            match steps {
                [] => add(item.name.clone(), None),
                [step] => add(item.name.clone(), Some(step)),
                steps => steps
                    .iter()
                    .for_each(|s| add(format!("{}, step {}", item.name, s.spec.step + 1), Some(s))),
            }
        }
    }
    for subject in &mut subjects {
        let first = subject.entries.iter().flatten().next();
        subject.kind = first.map_or(ItemKind::Test, |entry| entry.item.kind);
        subject.lines = lines(&subject.entries);
    }
    subjects.sort_by_key(|s| s.kind == ItemKind::Prepare);
    subjects
}

fn place<'a, 's>(subjects: &'s mut Vec<Subject<'a>>, name: String, runs: usize) -> &'s mut Subject<'a> {
    let at = subjects.iter().position(|s| s.name == name).unwrap_or_else(|| {
        subjects.push(Subject { name, kind: ItemKind::Test, entries: vec![None; runs], lines: Vec::new() });
        subjects.len() - 1
    });
    &mut subjects[at]
}

fn lines(entries: &[Option<Entry<'_>>]) -> Vec<Line> {
    let steps = || entries.iter().flatten().filter_map(|e| e.step);
    let several = steps().any(|s| s.result.streams.len() > 1);
    let mut lines = Vec::new();
    for (stream, op) in
        steps().flat_map(|s| &s.result.streams).flat_map(|s| s.ops.iter().map(move |o| (s, o.op)))
    {
        let label = if several { format!("{} {}", stream.name, op.name()) } else { op.name().to_owned() };
        let line = Line { stream: stream.name.clone(), op, label };
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}
