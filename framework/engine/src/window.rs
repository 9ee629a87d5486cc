//! Merges what workers did in the same window. A window is told when every worker has passed it.

use std::collections::VecDeque;

use iodyno_record::{Histogram, RowKind};

use crate::interval::{Interval, Tally};

/// What all workers did in a window, by cell.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    pub(crate) cells: Vec<(Tally, Histogram)>,
    /// Outstanding I/O times ns.
    pub(crate) in_flight_ns: Vec<u128>,
}

impl Sums {
    pub(crate) fn new(cells: usize) -> Self {
        Sums { cells: vec![Default::default(); cells], in_flight_ns: vec![0; cells] }
    }

    fn add_interval(&mut self, interval: &Interval) {
        for (index, ((sum, histogram), tally)) in self.cells.iter_mut().zip(interval.tallies()).enumerate() {
            sum.add(tally);
            interval.merge_into(index, histogram);
        }
        for (sum, cell) in self.in_flight_ns.iter_mut().zip(&interval.cells) {
            *sum += u128::from(cell.in_flight_ns);
        }
    }

    /// Adds all of another.
    pub(crate) fn add(&mut self, other: &Sums) {
        for ((sum, histogram), (tally, more)) in self.cells.iter_mut().zip(&other.cells) {
            sum.add(tally);
            histogram.merge(more);
        }
        for (sum, more) in self.in_flight_ns.iter_mut().zip(&other.in_flight_ns) {
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
    cells: usize,
}

impl Track {
    /// The part `kind`, whose windows begin at `origin_ns` and are `interval_ns` long; `u64::MAX` = one window.
    pub(crate) fn new(kind: RowKind, origin_ns: u64, interval_ns: u64, workers: usize, cells: usize) -> Self {
        Track {
            kind,
            origin_ns,
            interval_ns,
            open: VecDeque::new(),
            reached_ns: vec![None; workers],
            finished: vec![false; workers],
            cells,
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
            for (sum, cell) in window.sums.in_flight_ns.iter_mut().zip(&interval.cells) {
                *sum += u128::from(cell.in_flight) * length_ns;
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
            _ => Open { first, end, start_ns, sums: Sums::new(self.cells) },
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

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: u64 = 500;

    fn interval(start_ns: u64, end_ns: u64, completed: u64) -> Interval {
        let mut interval = Interval::new(1).unwrap();
        (interval.kind, interval.start_ns, interval.end_ns) =
            (RowKind::Measure, ORIGIN + start_ns, ORIGIN + end_ns);
        (0..completed).for_each(|_| interval.good(0, 7, 1, false));
        interval.cells[0].in_flight_ns = 2 * (end_ns - start_ns);
        interval.cells[0].in_flight = 2;
        interval
    }

    fn quiet(quiet: u64, mut interval: Interval) -> Interval {
        interval.quiet = quiet;
        interval
    }

    #[derive(Default)]
    struct Told(Vec<(u32, u64, u64, u64, u128)>);

    impl Told {
        fn take(&mut self) -> Vec<(u32, u64, u64, u64, u128)> {
            std::mem::take(&mut self.0)
        }

        fn window(&mut self, merged: Merged) {
            let Merged { window, start_ns, end_ns, sums, .. } = merged;
            assert_eq!(sums.cells[0].0.completed, sums.cells[0].1.count());
            self.0.push((
                window,
                start_ns - ORIGIN,
                end_ns - ORIGIN,
                sums.cells[0].0.completed,
                sums.in_flight_ns[0],
            ));
        }
    }

    fn track(workers: usize) -> Track {
        Track::new(RowKind::Measure, ORIGIN, 10, workers, 1)
    }

    #[test]
    fn a_window_is_told_when_all_workers_have_passed_it() {
        let (mut track, mut told) = (track(2), Told::default());
        for (worker, interval) in [(0, interval(0, 10, 1)), (0, interval(10, 20, 2)), (1, interval(0, 10, 4))]
        {
            track.take(worker, &interval, &mut |m| told.window(m));
        }
        track.tell(&mut |m| told.window(m));
        assert_eq!(told.take(), [(0, 0, 10, 5, 40)]);
        // The second worker is done early; the first one's last window is short.
        track.take(1, &interval(10, 13, 8), &mut |m| told.window(m));
        track.finish(1);
        track.tell(&mut |m| told.window(m));
        assert_eq!(told.take(), [(1, 10, 20, 10, 26)]);
        track.take(0, &interval(20, 26, 3), &mut |m| told.window(m));
        track.tell(&mut |m| told.window(m));
        assert_eq!(told.take(), []);
        track.finish(0);
        track.tell(&mut |m| told.window(m));
        assert_eq!(told.take(), [(2, 20, 26, 3, 12)]);
        assert_eq!(track.reached_ns(), Some(ORIGIN + 26));
    }

    #[test]
    fn a_long_piece_of_one_worker_makes_one_window_of_several() {
        let (mut track, mut told) = (track(2), Told::default());
        for (worker, interval) in [
            (0, interval(0, 10, 1)),
            (0, interval(10, 20, 1)),
            (0, interval(20, 30, 1)),
            (0, interval(30, 40, 1)),
            (1, interval(0, 10, 1)),
            (1, interval(10, 30, 5)),
            (1, interval(30, 40, 1)),
        ] {
            track.take(worker, &interval, &mut |m| told.window(m));
        }
        track.tell(&mut |m| told.window(m));
        assert_eq!(told.take(), [(0, 0, 10, 2, 40), (1, 10, 30, 7, 80), (3, 30, 40, 2, 40)]);
    }

    #[test]
    fn pieces_of_a_window_and_quiet_windows_are_put_together() {
        let (mut track, mut told) = (track(2), Told::default());
        track.take(0, &interval(0, 4, 1), &mut |m| told.window(m));
        track.take(0, &quiet(2, interval(4, 10, 1)), &mut |m| told.window(m));
        track.take(1, &quiet(1, interval(0, 10, 1)), &mut |m| told.window(m));
        assert_eq!(told.take(), [(0, 0, 10, 3, 40), (1, 10, 20, 0, 40)]);
        track.take(1, &interval(20, 30, 1), &mut |m| told.window(m));
        track.tell(&mut |m| told.window(m));
        assert_eq!(told.take(), [(2, 20, 30, 1, 40)]);
    }
}
