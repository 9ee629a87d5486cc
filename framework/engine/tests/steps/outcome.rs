//! Runs a step and checks what must hold of every result, whatever it is.

use std::sync::mpsc::channel;

use iodyno_engine::{Command, Message, Parts, Window, run_step};
use iodyno_record::{Histogram, Op, Row, RowKind, StepResult, StepSpec};

/// A step that is over, with all that it told.
pub(crate) struct Outcome {
    pub(crate) result: StepResult,
    pub(crate) windows: Vec<Window>,
    pub(crate) progress: usize,
}

/// Runs a step to its end.
pub(crate) fn run(spec: &StepSpec, parts: &Parts) -> Outcome {
    run_until(spec, parts, |_| false)
}

/// Runs a step and stops it when `stop` says so of a message.
pub(crate) fn run_until(spec: &StepSpec, parts: &Parts, mut stop: impl FnMut(&Message) -> bool) -> Outcome {
    let (sender, commands) = channel();
    let (mut windows, mut progress) = (Vec::new(), 0);
    let result = run_step(spec, parts, &commands, &mut |message| {
        if stop(&message) {
            sender.send(Command::Stop).unwrap();
        }
        match message {
            Message::Window(window) => windows.push(window),
            Message::Progress { .. } => progress += 1,
        }
    });
    let outcome = Outcome { result, windows, progress };
    outcome.check(spec);
    outcome
}

impl Outcome {
    /// All rows of a kind, with their histograms.
    pub(crate) fn rows(&self, kind: RowKind) -> impl Iterator<Item = (&Row, &Histogram)> {
        let all = self.windows.iter().flat_map(|w| w.rows.iter().zip(&w.service));
        all.filter(move |(row, _)| row.kind == kind)
    }

    /// Codes of the notes.
    pub(crate) fn notes(&self) -> Vec<&str> {
        self.result.notes.iter().map(|note| note.code.as_str()).collect()
    }

    /// Good I/O of an operation of the measure and its tail.
    pub(crate) fn completed(&self, op: Option<Op>) -> u64 {
        self.result.ops(op).map(|o| o.completed).sum()
    }

    fn check(&self, spec: &StepSpec) {
        for window in &self.windows {
            assert_eq!(window.rows.len(), window.service.len());
            assert_eq!(window.rows.len(), window.response.len());
            assert!(window.response.iter().all(Option::is_none));
            for (row, histogram) in window.rows.iter().zip(&window.service) {
                assert_eq!(histogram.count(), row.completed, "{row:?}");
                assert_eq!(histogram.row(), row.service, "{row:?}");
                assert_eq!((row.item, row.step), (spec.item, spec.step));
                assert!(row.end_ns >= row.start_ns, "{row:?}");
            }
        }
        self.windows_follow_each_other(spec);
        self.totals_are_sums_of_rows();
    }

    fn windows_follow_each_other(&self, spec: &StepSpec) {
        for (kind, origin_ns) in [(RowKind::Warmup, 0), (RowKind::Measure, spec.warmup_ns)] {
            let mut end_ns = origin_ns;
            let windows = self.windows.iter().filter(|w| w.rows.first().is_some_and(|r| r.kind == kind));
            let mut windows = windows.peekable();
            while let Some(window) = windows.next() {
                for row in &window.rows {
                    assert_eq!(row.start_ns, end_ns, "{row:?}");
                    let border_ns = origin_ns + u64::from(row.window) * spec.interval_ns;
                    assert_eq!(row.start_ns, border_ns, "{row:?}");
                    if windows.peek().is_some() {
                        assert_eq!((row.end_ns - origin_ns) % spec.interval_ns, 0, "{row:?}");
                    }
                }
                end_ns = window.rows[0].end_ns;
            }
            let whole = if kind == RowKind::Measure { self.result.window_ns } else { self.result.warmup_ns };
            assert_eq!(end_ns - origin_ns, whole, "{kind:?}");
        }
    }

    fn totals_are_sums_of_rows(&self) {
        let seconds = self.result.window_ns as f64 / 1e9;
        for (stream, result) in self.result.streams.iter().enumerate() {
            for op in &result.ops {
                let of = |kinds: &[RowKind], value: fn(&Row) -> u64| {
                    let all = kinds.iter().flat_map(|kind| self.rows(*kind).map(|(row, _)| row));
                    all.filter(|r| r.stream as usize == stream && r.op == op.op).map(value).sum::<u64>()
                };
                let own = [RowKind::Measure, RowKind::Tail];
                assert_eq!(of(&own, |r| r.completed), op.completed);
                assert_eq!(of(&own, |r| r.bytes), op.bytes);
                assert_eq!(of(&own, |r| r.short), op.short);
                assert_eq!(of(&own, |r| r.errors.values().sum()), op.errors.values().sum::<u64>());
                assert_eq!(of(&own[..1], |r| r.completed + r.carried), op.window_completed);
                assert_eq!(of(&own[..1], |r| r.bytes + r.carried_bytes), op.window_bytes);
                assert_eq!(of(&[RowKind::Warmup, RowKind::WarmupTail, RowKind::Tail], |r| r.carried), 0);
                assert_eq!(op.service.as_ref().map_or(0, |s| s.count), op.completed);
                assert_eq!(op.iops.is_some(), seconds > 0.0);
                if let Some(found) = op.iops {
                    let iops = op.window_completed as f64 / seconds;
                    assert!((found - iops).abs() <= iops * 1e-9, "{found} for {iops}");
                }
            }
        }
        let depth: f64 = self.result.streams.iter().filter_map(|s| s.in_flight_mean).sum();
        assert!((depth - self.result.depth.mean.unwrap_or(0.0)).abs() <= depth * 1e-9);
        let all = self.result.ops(None).map(|o| o.completed + o.errors.values().sum::<u64>()).sum::<u64>();
        assert_eq!(self.result.workers.iter().map(|w| w.completed).sum::<u64>(), all);
    }
}
