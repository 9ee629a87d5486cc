//! Merges what workers did in the same window. A window is told when every worker has passed it.

use std::collections::VecDeque;

use iodyno_record::{Histogram, RowKind};

use crate::interval::{Interval, Tally};

/// What all workers did in a window, by cell and by stream.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    pub(crate) cells: Vec<(Tally, Histogram)>,
    /// Outstanding I/O times ns, by stream.
    pub(crate) in_flight: Vec<u128>,
}

impl Sums {
    pub(crate) fn new(cells: usize, streams: usize) -> Self {
        Sums { cells: vec![Default::default(); cells], in_flight: vec![0; streams] }
    }

    fn add_interval(&mut self, interval: &Interval) {
        for (index, ((sum, histogram), tally)) in self.cells.iter_mut().zip(interval.tallies()).enumerate() {
            sum.add(tally);
            interval.merge_into(index, histogram);
        }
        for (sum, stream) in self.in_flight.iter_mut().zip(&interval.streams) {
            *sum += u128::from(stream.integral);
        }
    }

    /// Adds all of another.
    pub(crate) fn add(&mut self, other: &Sums) {
        for ((sum, histogram), (tally, more)) in self.cells.iter_mut().zip(&other.cells) {
            sum.add(tally);
            histogram.merge(more);
        }
        for (sum, more) in self.in_flight.iter_mut().zip(&other.in_flight) {
            *sum += more;
        }
    }
}

/// A window that is over.
#[derive(Clone, Debug)]
pub(crate) struct Merged {
    pub(crate) kind: RowKind,
    pub(crate) window: u32,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// It is longer than an interval, because a worker had none left.
    pub(crate) stretched: bool,
    pub(crate) sums: Sums,
}

struct Open {
    /// Windows of the grid, from `first` to before `end`.
    first: u64,
    end: u64,
    /// The earliest start that a worker told.
    start_ns: u64,
    sums: Sums,
}

/// The windows of one part of a step.
pub(crate) struct Track {
    kind: RowKind,
    origin_ns: u64,
    interval_ns: u64,
    open: VecDeque<Open>,
    /// How far each worker got, and whether it will tell more.
    reached_ns: Vec<Option<u64>>,
    finished: Vec<bool>,
    shape: (usize, usize),
}

impl Track {
    /// The part `kind`, whose windows begin at `origin_ns` and are `interval_ns` long; `u64::MAX` = one window.
    /// `shape` is the number of cells and streams.
    pub(crate) fn new(
        kind: RowKind,
        origin_ns: u64,
        interval_ns: u64,
        workers: usize,
        shape: (usize, usize),
    ) -> Self {
        Track {
            kind,
            origin_ns,
            interval_ns,
            open: VecDeque::new(),
            reached_ns: vec![None; workers],
            finished: vec![false; workers],
            shape,
        }
    }

    /// Takes what a worker did. What is over on all workers goes to `told`.
    pub(crate) fn take(&mut self, worker: usize, interval: &Interval, told: &mut dyn FnMut(Merged)) {
        self.window(interval.start_ns, interval.end_ns).sums.add_interval(interval);
        self.reached_ns[worker] = Some(interval.end_ns);
        for number in 0..interval.quiet {
            let start_ns = interval.end_ns + number * self.interval_ns;
            let (end_ns, length_ns) = (start_ns + self.interval_ns, u128::from(self.interval_ns));
            let window = self.window(start_ns, end_ns);
            for (sum, stream) in window.sums.in_flight.iter_mut().zip(&interval.streams) {
                *sum += u128::from(stream.at_end) * length_ns;
            }
            self.reached_ns[worker] = Some(end_ns);
            // A stall of a simulated device may be millions of windows long.
            self.tell(told);
        }
    }

    /// The worker will tell no more.
    pub(crate) fn finish(&mut self, worker: usize) {
        self.finished[worker] = true;
    }

    /// Tells windows that are over on all workers, in their order.
    pub(crate) fn tell(&mut self, told: &mut dyn FnMut(Merged)) {
        while let Some(front) = self.open.front() {
            let nominal_ns = self.origin_ns.saturating_add(front.end.saturating_mul(self.interval_ns));
            let mut workers = self.reached_ns.iter().zip(&self.finished);
            if !workers.all(|(reached, finished)| *finished || reached.is_some_and(|at| at >= nominal_ns)) {
                return;
            }
            let end_ns = nominal_ns.min(self.reached_ns().unwrap_or(nominal_ns));
            let Some(Open { first, end, start_ns, sums }) = self.open.pop_front() else { return };
            let window = u32::try_from(first).unwrap_or(u32::MAX);
            let stretched = end - first > 1;
            told(Merged { kind: self.kind, window, start_ns, end_ns, stretched, sums });
        }
    }

    /// How far the farthest worker got.
    pub(crate) fn reached_ns(&self) -> Option<u64> {
        self.reached_ns.iter().flatten().max().copied()
    }

    /// The open window that holds a worker's time from `start_ns` to `end_ns`. Where that spans several they
    /// become one.
    fn window(&mut self, start_ns: u64, end_ns: u64) -> &mut Open {
        let first = (start_ns - self.origin_ns) / self.interval_ns;
        let end = (end_ns - self.origin_ns).div_ceil(self.interval_ns).max(first + 1);
        let at = self.open.iter().position(|open| first < open.end).unwrap_or(self.open.len());
        let mut one = match self.open.get(at) {
            Some(open) if open.first < end => self.open.remove(at).expect("just seen"),
            _ => Open { first, end, start_ns, sums: Sums::new(self.shape.0, self.shape.1) },
        };
        while self.open.get(at).is_some_and(|open| open.first < end) {
            let other = self.open.remove(at).expect("just seen");
            one.end = other.end;
            one.sums.add(&other.sums);
        }
        one.first = one.first.min(first);
        one.end = one.end.max(end);
        one.start_ns = one.start_ns.min(start_ns);
        self.open.insert(at, one);
        &mut self.open[at]
    }
}
