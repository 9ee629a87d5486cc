//! What one worker did in one interval: counters and compact histograms, allocated before the start, reused,
//! and touched only where something was counted.

use std::collections::BTreeMap;

use iodyno_record::{Histogram, RowKind, SLOTS, slot_of};

use crate::memory::Counts;

/// Counters of one operation of one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) completed: u64,
    pub(crate) bytes: u64,
    pub(crate) short: u64,
    pub(crate) carried: u64,
    pub(crate) carried_bytes: u64,
    pub(crate) zero_reads: u64,
    pub(crate) errors: Errors,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        self.completed += other.completed;
        self.bytes += other.bytes;
        self.short += other.short;
        self.carried += other.carried;
        self.carried_bytes += other.carried_bytes;
        self.zero_reads += other.zero_reads;
        for (errno, count) in other.errors.iter() {
            self.errors.add(errno, count);
        }
    }
}

/// Failed I/O by errno: the first few kinds by number, all others together under 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors([(i32, u64); 8]);

impl Errors {
    pub(crate) fn add(&mut self, errno: i32, count: u64) {
        let last = self.0.len() - 1;
        let place = self.0[..last].iter().position(|(e, n)| *e == errno || *n == 0);
        let (e, n) = &mut self.0[place.unwrap_or(last)];
        *e = if place.is_some() { errno } else { 0 };
        *n += count;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (i32, u64)> {
        self.0.iter().copied().filter(|(_, n)| *n > 0)
    }

    pub(crate) fn total(&self) -> u64 {
        self.iter().map(|(_, n)| n).sum()
    }

    pub(crate) fn to_map(&self) -> BTreeMap<i32, u64> {
        let mut map = BTreeMap::new();
        self.iter().for_each(|(errno, n)| *map.entry(errno).or_default() += n);
        map
    }
}

/// One operation of one stream in an interval: counters, and the exact part of its histogram.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) tally: Tally,
    /// Outstanding I/O; at the interval's end once it is handed over.
    pub(crate) in_flight: u32,
    /// Outstanding I/O times ns, over the interval.
    pub(crate) in_flight_ns: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    overflow: u64,
}

const EMPTY: Cell = Cell {
    tally: Tally {
        completed: 0,
        bytes: 0,
        short: 0,
        carried: 0,
        carried_bytes: 0,
        zero_reads: 0,
        errors: Errors([(0, 0); 8]),
    },
    in_flight: 0,
    in_flight_ns: 0,
    sum_ns: 0,
    min_ns: u64::MAX,
    max_ns: 0,
    overflow: 0,
};

/// What one worker did from `start_ns` to `end_ns`.
pub(crate) struct Interval {
    pub(crate) kind: RowKind,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// So many whole windows follow in which nothing completed and outstanding I/O stayed as at the end.
    pub(crate) quiet: u64,
    /// Completions of turns, good and bad.
    pub(crate) turned: u64,
    /// Turns whose completions may be stamped late, and by how much at most, together.
    pub(crate) blind_turns: u64,
    pub(crate) blind_ns: u64,
    pub(crate) cells: Vec<Cell>,
    /// [`SLOTS`] counters for each cell.
    counts: Counts,
}

impl Interval {
    /// For so many cells.
    ///
    /// # Errors
    /// When the system has no memory.
    pub(crate) fn new(cells: usize) -> Result<Self, String> {
        Ok(Interval {
            kind: RowKind::Warmup,
            start_ns: 0,
            end_ns: 0,
            quiet: 0,
            turned: 0,
            blind_turns: 0,
            blind_ns: 0,
            cells: vec![EMPTY; cells],
            counts: Counts::new(cells * SLOTS)?,
        })
    }

    /// Counts a good I/O that belongs to this interval.
    #[inline(always)]
    pub(crate) fn good(&mut self, index: u16, service_ns: u64, bytes: u32, short: bool) {
        let index = usize::from(index);
        let cell = &mut self.cells[index];
        cell.tally.completed += 1;
        cell.tally.bytes += u64::from(bytes);
        cell.tally.short += u64::from(short);
        cell.sum_ns += service_ns;
        // New extremes are rare after the first few.
        if service_ns < cell.min_ns {
            cell.lower(service_ns);
        }
        if service_ns > cell.max_ns {
            cell.raise(service_ns);
        }
        match slot_of(service_ns) {
            Some(slot) => self.counts[index * SLOTS + slot] += 1,
            None => cell.overflow += 1,
        }
    }

    /// The counters of a cell.
    #[inline]
    pub(crate) fn tally(&mut self, index: u16) -> &mut Tally {
        &mut self.cells[usize::from(index)].tally
    }

    /// The counters of all cells.
    pub(crate) fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.cells.iter().map(|cell| &cell.tally)
    }

    /// Adds the histogram of a cell to another.
    pub(crate) fn merge_into(&self, cell: usize, histogram: &mut Histogram) {
        let Cell { tally, sum_ns, min_ns, max_ns, overflow, .. } = &self.cells[cell];
        let Some(touched) = self.cells[cell].touched() else { return };
        let base = cell * SLOTS;
        for slot in touched.filter(|slot| self.counts[base + slot] > 0) {
            histogram.add_slot(slot, u64::from(self.counts[base + slot]));
        }
        histogram.add_overflow(*overflow);
        histogram.add_exact(tally.completed, u128::from(*sum_ns), *min_ns, *max_ns);
    }

    /// Makes it empty again; with `release` its histograms take no memory until they are touched.
    pub(crate) fn clear(&mut self, release: bool) {
        let released = release && self.counts.release();
        for (index, cell) in self.cells.iter_mut().enumerate() {
            if let (Some(touched), false) = (cell.touched(), released) {
                let base = index * SLOTS;
                self.counts[base + touched.start()..=base + touched.end()].fill(0);
            }
            *cell = EMPTY;
        }
        (self.quiet, self.turned, self.blind_turns, self.blind_ns) = (0, 0, 0, 0);
    }
}

impl Cell {
    #[cold]
    fn lower(&mut self, service_ns: u64) {
        self.min_ns = service_ns;
    }

    #[cold]
    fn raise(&mut self, service_ns: u64) {
        self.max_ns = service_ns;
    }

    /// The slots that may hold something.
    fn touched(&self) -> Option<std::ops::RangeInclusive<usize>> {
        let lowest = (self.tally.completed > 0).then_some(self.min_ns).and_then(slot_of);
        lowest.map(|lowest| lowest..=slot_of(self.max_ns).unwrap_or(SLOTS - 1))
    }
}

#[cfg(test)]
mod tests {
    use iodyno_plugin::random::Random;

    use super::*;

    #[test]
    fn equals_the_records_histogram_and_clears() {
        let mut interval = Interval::new(2).unwrap();
        let mut random = Random::new(3);
        for round in 0..20 {
            let mut expected = Histogram::new();
            for _ in 0..random.below(500) {
                let value = random.bits() >> random.below(64);
                // Sums of 64 bits hold what fits between two cuts.
                let value = value & ((1 << 44) - 1);
                expected.record(value);
                interval.good(1, value, 4096, false);
            }
            let mut merged = Histogram::new();
            interval.merge_into(1, &mut merged);
            assert_eq!(merged, expected, "round {round}");
            interval.clear(round % 3 == 0);
            assert!(interval.counts.iter().all(|n| *n == 0), "round {round}");
            let mut empty = Histogram::new();
            interval.merge_into(1, &mut empty);
            interval.merge_into(0, &mut empty);
            assert_eq!(empty, Histogram::new());
        }
    }

    #[test]
    fn errors_are_kept_apart_as_long_as_there_is_room() {
        let mut errors = Errors::default();
        (1..=10).for_each(|errno| errors.add(errno, u64::from(errno.unsigned_abs())));
        errors.add(3, 100);
        assert_eq!(
            errors.to_map().into_iter().collect::<Vec<_>>(),
            [(0, 27), (1, 1), (2, 2), (3, 103), (4, 4), (5, 5), (6, 6), (7, 7)]
        );
        assert_eq!(errors.total(), 155);
        let mut sum = Tally::default();
        sum.add(&Tally { errors: errors.clone(), ..Tally::default() });
        sum.add(&Tally { errors, ..Tally::default() });
        assert_eq!(sum.errors.total(), 310);
        assert_eq!(sum.errors.to_map()[&0], 54);
    }
}
