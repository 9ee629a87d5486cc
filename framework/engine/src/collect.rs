//! Collects what the workers hand over, on the caller's thread: rows, totals, progress. Totals are sums of
//! rows, by construction: nothing else is added to them.

use iodyno_record::{Histogram, Row, RowKind, StepSpec};

use crate::clock::monotonic_ns;
use crate::interval::Interval;
use crate::layout::Layout;
use crate::recorder::Schedule;
use crate::shared::Mailbox;
use crate::window::{Merged, Sums, Track};
use crate::{Message, Window};

/// So many workers may keep the memory of all their histograms: up to 0.3 MB for each operation of each stream.
const FEW_WORKERS: usize = 32;
const PROGRESS_EVERY_NS: u64 = 250_000_000;

/// Everything that a step's rows add up to.
pub(crate) struct Totals {
    /// The measure and its tail.
    pub(crate) sums: Sums,
    /// Good I/O that completed within the measure, whenever submitted, by cell, and their bytes.
    pub(crate) window: Vec<(u64, u64)>,
    /// Outstanding I/O times ns of the measure, by cell.
    pub(crate) in_flight_ns: Vec<u128>,
    /// Failed I/O of the warm-up.
    pub(crate) warmup_errors: u64,
    /// Good and failed I/O of the measure and its tail, by worker.
    pub(crate) by_worker: Vec<u64>,
    /// Windows that are longer than an interval because a worker had none left.
    pub(crate) stretched: u64,
    /// Turns of the measure and its tail whose completions may be stamped late, and by how much at most, together.
    pub(crate) blind_turns: u64,
    pub(crate) blind_ns: u64,
}

/// Collects for one step.
pub(crate) struct Collector<'a> {
    tracks: Vec<Track>,
    book: Book<'a>,
    bytes: u64,
    next_progress_ns: u64,
    /// There are so many workers that the memory of intervals counts which are not in use.
    release: bool,
}

struct Book<'a> {
    spec: &'a StepSpec,
    layout: &'a Layout,
    messages: &'a mut dyn FnMut(Message),
    totals: Totals,
}

const KINDS: [RowKind; 4] = [RowKind::Warmup, RowKind::WarmupTail, RowKind::Measure, RowKind::Tail];

impl<'a> Collector<'a> {
    pub(crate) fn new(
        spec: &'a StepSpec,
        layout: &'a Layout,
        schedule: Schedule,
        messages: &'a mut dyn FnMut(Message),
    ) -> Self {
        let (cells, workers) = (layout.cells.len(), layout.workers.len());
        let track = |kind| {
            let (origin_ns, interval_ns) = match kind {
                RowKind::Warmup => (0, schedule.interval_ns),
                RowKind::Measure => (schedule.warmup_ns, schedule.interval_ns),
                RowKind::WarmupTail | RowKind::Tail => (0, u64::MAX),
            };
            Track::new(kind, origin_ns, interval_ns, workers, cells)
        };
        let totals = Totals {
            sums: Sums::new(cells),
            window: vec![(0, 0); cells],
            in_flight_ns: vec![0; cells],
            warmup_errors: 0,
            by_worker: vec![0; workers],
            stretched: 0,
            blind_turns: 0,
            blind_ns: 0,
        };
        let next_progress_ns = monotonic_ns() + PROGRESS_EVERY_NS;
        let book = Book { spec, layout, messages, totals };
        Collector {
            tracks: KINDS.map(track).into(),
            book,
            bytes: 0,
            next_progress_ns,
            release: workers > FEW_WORKERS,
        }
    }

    /// Takes all that a worker has ready, and gives it back for reuse.
    pub(crate) fn receive(&mut self, worker: usize, mailbox: &Mailbox) {
        while let Some(mut interval) = mailbox.receive() {
            self.take(worker, &interval);
            interval.clear(self.release);
            mailbox.give_back(interval);
        }
    }

    fn take(&mut self, worker: usize, interval: &Interval) {
        let Collector { tracks, book, .. } = self;
        let kind = KINDS.iter().position(|kind| *kind == interval.kind).expect("all kinds are there");
        let [warmup, warmup_tail, measure, tail] = &mut tracks[..] else { unreachable!("one for each kind") };
        if interval.kind != RowKind::Warmup {
            warmup.finish(worker);
        }
        if matches!(interval.kind, RowKind::Measure | RowKind::Tail) {
            let done = interval.tallies().map(|t| t.completed + t.errors.total()).sum::<u64>();
            book.totals.by_worker[worker] += done;
            book.totals.blind_turns += interval.blind_turns;
            book.totals.blind_ns += interval.blind_ns;
        }
        match interval.kind {
            RowKind::WarmupTail => warmup_tail.finish(worker),
            RowKind::Tail => {
                measure.finish(worker);
                tail.finish(worker);
            }
            RowKind::Warmup | RowKind::Measure => {}
        }
        self.bytes += interval.tallies().map(|t| t.bytes).sum::<u64>();
        tracks[kind].take(worker, interval, &mut |merged| book.window(merged));
    }

    /// A worker is over: it hands over nothing more.
    pub(crate) fn ended(&mut self, worker: usize) {
        self.tracks.iter_mut().for_each(|track| track.finish(worker));
    }

    /// Tells windows that all workers have passed.
    pub(crate) fn tell(&mut self) {
        let Collector { tracks, book, .. } = self;
        for track in tracks {
            track.tell(&mut |merged| book.window(merged));
        }
    }

    /// Tells progress, if it is time to.
    pub(crate) fn progress(&mut self, elapsed_ns: u64) {
        let now_ns = monotonic_ns();
        if now_ns >= self.next_progress_ns {
            self.next_progress_ns = now_ns + PROGRESS_EVERY_NS;
            (self.book.messages)(Message::Progress { elapsed_ns, bytes: self.bytes });
        }
    }

    /// How far a part of the step got, ns since its start; `None` when it never began.
    pub(crate) fn reached_ns(&self, kind: RowKind) -> Option<u64> {
        KINDS.iter().zip(&self.tracks).find(|(k, _)| **k == kind).and_then(|(_, track)| track.reached_ns())
    }

    /// What all rows came to.
    pub(crate) fn totals(&self) -> &Totals {
        &self.book.totals
    }
}

impl Book<'_> {
    fn window(&mut self, merged: Merged) {
        self.count(&merged);
        let Merged { kind, window, start_ns, end_ns, sums, .. } = merged;
        let Sums { cells, in_flight_ns } = sums;
        let length_ns = (end_ns - start_ns) as f64;
        let mean = |stream| {
            let sum = self.layout.of_stream(stream).map(|cell| in_flight_ns[cell]).sum::<u128>();
            (length_ns > 0.0).then(|| sum as f64 / length_ns)
        };
        let mut rows = Vec::with_capacity(cells.len());
        for ((stream, op), (tally, service)) in self.layout.cells.iter().zip(&cells) {
            rows.push(Row {
                item: self.spec.item,
                step: self.spec.step,
                kind,
                window,
                start_ns,
                end_ns,
                stream: *stream,
                op: *op,
                completed: tally.completed,
                bytes: tally.bytes,
                carried: tally.carried,
                carried_bytes: tally.carried_bytes,
                short: tally.short,
                errors: tally.errors.to_map(),
                service: service.row(),
                response: None,
                in_flight_mean: mean(*stream),
            });
        }
        let service: Vec<Histogram> = cells.into_iter().map(|(_, histogram)| histogram).collect();
        let response = vec![None; service.len()];
        (self.messages)(Message::Window(Window { rows, service, response }));
    }

    fn count(&mut self, merged: &Merged) {
        let totals = &mut self.totals;
        totals.stretched += u64::from(merged.stretched);
        if matches!(merged.kind, RowKind::Measure | RowKind::Tail) {
            totals.sums.add(&merged.sums);
        } else {
            totals.warmup_errors += merged.sums.cells.iter().map(|(t, _)| t.errors.total()).sum::<u64>();
        }
        if merged.kind == RowKind::Measure {
            for ((completed, bytes), (tally, _)) in totals.window.iter_mut().zip(&merged.sums.cells) {
                *completed += tally.completed + tally.carried;
                *bytes += tally.bytes + tally.carried_bytes;
            }
            for (sum, more) in totals.in_flight_ns.iter_mut().zip(&merged.sums.in_flight_ns) {
                *sum += more;
            }
        }
    }
}
