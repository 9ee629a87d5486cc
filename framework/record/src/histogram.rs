//! The latency histogram: HdrHistogram's layout with three digits and unit 1 ns, so that an HDR V2 log holds
//! bucket for bucket what was counted.
//!
//! A value below 2048 ns has a slot of its own; above, each power of two is cut into 1024 slots. So a slot's
//! width is at most [`RELATIVE_ERROR`] of its lowest value. Values from 2^42 ns (73 minutes) on are counted
//! apart; count, sum, minimum and maximum are always exact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::row::RowLatency;

/// Bits of a sub-bucket index: 2048 slots in the first bucket, 1024 in each further one.
const HALF_BITS: u32 = 10;
const TOP_BITS: u32 = 42;
/// Slots of the histogram.
pub const SLOTS: usize = ((TOP_BITS - HALF_BITS - 1) as usize * (1 << HALF_BITS)) + (2 << HALF_BITS);
/// The largest relative error of a percentile.
pub const RELATIVE_ERROR: f64 = 1.0 / 1024.0;

/// The slot of a value, or `None` from 2^42 ns on.
#[inline]
pub const fn slot_of(value_ns: u64) -> Option<usize> {
    if value_ns >> TOP_BITS != 0 {
        return None;
    }
    let bucket = 63 - HALF_BITS - (value_ns | ((2 << HALF_BITS) - 1)).leading_zeros();
    Some(((bucket as usize) << HALF_BITS) + (value_ns >> bucket) as usize)
}

/// The lowest value of a slot, ns.
pub const fn slot_lowest(slot: usize) -> u64 {
    let bucket = if slot < 2 << HALF_BITS { 0 } else { (slot >> HALF_BITS) - 1 };
    ((slot - (bucket << HALF_BITS)) as u64) << bucket
}

/// The highest value of a slot, ns.
pub const fn slot_highest(slot: usize) -> u64 {
    let bucket = if slot < 2 << HALF_BITS { 0 } else { (slot >> HALF_BITS) - 1 };
    slot_lowest(slot) + (1 << bucket) - 1
}

/// Counts of latencies. Merged by [`Histogram::merge`]; its memory grows with the highest slot in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    overflow: u64,
}

impl Histogram {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one value.
    pub fn record(&mut self, value_ns: u64) {
        match slot_of(value_ns) {
            Some(slot) => self.add_slot(slot, 1),
            None => self.overflow += 1,
        }
        self.add_exact(1, u128::from(value_ns), value_ns, value_ns);
    }

    /// Adds `n` to a slot without touching count, sum and extremes: half of a merge from another
    /// representation, completed by [`Histogram::add_exact`].
    ///
    /// # Panics
    /// When `slot` is not below [`SLOTS`].
    pub fn add_slot(&mut self, slot: usize, n: u64) {
        assert!(slot < SLOTS, "slot {slot} of {SLOTS}");
        if slot >= self.counts.len() {
            self.counts.resize(slot + 1, 0);
        }
        self.counts[slot] += n;
    }

    /// Adds to the number of values from 2^42 ns on; completed by [`Histogram::add_exact`].
    pub fn add_overflow(&mut self, n: u64) {
        self.overflow += n;
    }

    /// Adds the exact part of `count` values whose slots were added apart.
    pub fn add_exact(&mut self, count: u64, sum_ns: u128, min_ns: u64, max_ns: u64) {
        if count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { min_ns } else { self.min_ns.min(min_ns) };
        self.max_ns = self.max_ns.max(max_ns);
        self.count += count;
        self.sum_ns += sum_ns;
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Histogram) {
        for (slot, n) in other.slots() {
            self.add_slot(slot, n);
        }
        self.overflow += other.overflow;
        self.add_exact(other.count, other.sum_ns, other.min_ns, other.max_ns);
    }

    /// Slots that hold something, lowest first, with their counts.
    pub fn slots(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        // None lies below the slot of the least value.
        let first = if self.count == 0 { 0 } else { slot_of(self.min_ns).unwrap_or(0) };
        self.counts.iter().copied().enumerate().skip(first).filter(|(_, n)| *n > 0)
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their exact sum, ns.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The exact least, `None` when empty.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min_ns)
    }

    /// The exact greatest, `None` when empty.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// Values from 2^42 ns on.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// The exact mean, `None` when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// The standard deviation, from slot middles around the exact mean; `None` when empty.
    pub fn stddev_ns(&self) -> Option<f64> {
        let mean = self.mean_ns()?;
        let middle = |slot| (slot_lowest(slot) + slot_highest(slot)) as f64 / 2.0;
        let mut squares: f64 =
            self.slots().map(|(slot, n)| n as f64 * (middle(slot) - mean) * (middle(slot) - mean)).sum();
        squares += self.overflow as f64 * (self.max_ns as f64 - mean) * (self.max_ns as f64 - mean);
        Some((squares / self.count as f64).sqrt())
    }

    /// The value that `percent` of all values do not exceed: the highest of its slot, within minimum and
    /// maximum, as HdrHistogram does. `None` when empty.
    ///
    /// # Panics
    /// When `percent` is not in `0..=100`.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        assert!((0.0..=100.0).contains(&percent), "percentile {percent}");
        if self.count == 0 {
            return None;
        }
        // As HdrHistogram: the next lower double, so that 99 % of 100 values is 99 and not 99.00000000000001.
        let rank = (percent.next_down() / 100.0 * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (slot, n) in self.slots() {
            seen += n;
            if seen >= rank {
                return Some(slot_highest(slot).clamp(self.min_ns, self.max_ns));
            }
        }
        Some(self.max_ns)
    }

    /// Everything that is usually shown; `None` when empty.
    pub fn summary(&self) -> Option<LatencySummary> {
        Some(LatencySummary {
            count: self.count,
            mean_ns: self.mean_ns()?,
            stddev_ns: self.stddev_ns()?,
            min_ns: self.min_ns()?,
            max_ns: self.max_ns()?,
            overflow: self.overflow,
            percentiles: Percentile::SHOWN.iter().filter_map(|p| self.percentile(*p)).collect(),
            hdr_v2: self.to_hdr_v2(),
        })
    }

    /// What an interval row shows; `None` when empty.
    pub fn row(&self) -> Option<RowLatency> {
        Some(RowLatency {
            mean_ns: self.mean_ns()?,
            min_ns: self.min_ns()?,
            p50_ns: self.percentile_ns(50.0)?,
            p99_ns: self.percentile_ns(99.0)?,
            p99_9_ns: self.percentile_ns(99.9)?,
            max_ns: self.max_ns()?,
        })
    }

    /// One percentile with its mark.
    pub fn percentile(&self, percent: f64) -> Option<Percentile> {
        let value_ns = self.percentile_ns(percent)?;
        let beyond = self.count as f64 * (100.0 - percent) / 100.0;
        Some(Percentile { percent, value_ns, few_samples: beyond < 10.0 - 1e-6 })
    }
}

/// What a histogram comes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    /// How many I/O.
    pub count: u64,
    /// Exact mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub stddev_ns: f64,
    /// Exact least.
    pub min_ns: u64,
    /// Exact greatest.
    pub max_ns: u64,
    /// How many took 2^42 ns (73 minutes) or more: percentiles cannot tell them apart.
    pub overflow: u64,
    /// The usual percentiles.
    pub percentiles: Vec<Percentile>,
    /// The whole histogram: HdrHistogram V2, deflated, base64.
    pub hdr_v2: String,
}

impl LatencySummary {
    /// A percentile of those in the summary.
    pub fn percentile(&self, percent: f64) -> Option<Percentile> {
        self.percentiles.iter().find(|p| p.percent == percent).copied()
    }
}

/// One percentile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentile {
    /// Which, 0 to 100.
    pub percent: f64,
    /// Its value.
    pub value_ns: u64,
    /// Fewer than ten samples lie beyond it: it is little more than the luck of this run.
    pub few_samples: bool,
}

impl Percentile {
    /// Those that every summary holds.
    pub const SHOWN: [f64; 8] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];

    /// Its usual name: `p99.9`.
    pub fn name(percent: f64) -> String {
        format!("p{percent}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_cover_all_values_without_gap() {
        for slot in 0..SLOTS - 1 {
            assert_eq!(slot_highest(slot) + 1, slot_lowest(slot + 1), "slot {slot}");
            assert_eq!(slot_of(slot_lowest(slot)), Some(slot));
            assert_eq!(slot_of(slot_highest(slot)), Some(slot));
        }
        assert_eq!(slot_highest(SLOTS - 1), (1 << 42) - 1);
        assert_eq!(slot_of(1 << 42), None);
    }

    #[test]
    fn no_slot_is_wider_than_the_stated_error() {
        for slot in 0..SLOTS {
            let width = slot_highest(slot) - slot_lowest(slot);
            assert!(width as f64 <= slot_lowest(slot) as f64 * RELATIVE_ERROR);
        }
    }

    #[test]
    fn percentiles_of_one_to_a_thousand() {
        let mut h = Histogram::new();
        (1..=1000).for_each(|v| h.record(v));
        assert_eq!(h.percentile_ns(0.0), Some(1));
        assert_eq!(h.percentile_ns(50.0), Some(500));
        assert_eq!(h.percentile_ns(99.0), Some(990));
        assert_eq!(h.percentile_ns(99.9), Some(999));
        assert_eq!(h.percentile_ns(100.0), Some(1000));
        assert_eq!(h.mean_ns(), Some(500.5));
        assert!((h.stddev_ns().unwrap() - 288.675).abs() < 0.01);
        assert!(!h.percentile(99.0).unwrap().few_samples);
        assert!(h.percentile(99.1).unwrap().few_samples);
    }

    #[test]
    fn a_percentile_never_exceeds_the_maximum() {
        let mut h = Histogram::new();
        h.record(54_776_876);
        assert_eq!(h.percentile_ns(99.9999), Some(54_776_876));
    }

    #[test]
    fn what_is_too_slow_for_the_slots_is_counted_and_bounds_the_tail() {
        let mut h = Histogram::new();
        h.record(1000);
        h.record(1 << 43);
        assert_eq!((h.count(), h.overflow()), (2, 1));
        assert_eq!(h.percentile_ns(99.0), Some(1 << 43));
        assert_eq!(h.percentile_ns(50.0), Some(1000));
    }

    #[test]
    fn an_empty_one_has_no_numbers() {
        let h = Histogram::new();
        assert_eq!((h.min_ns(), h.mean_ns(), h.percentile_ns(50.0), h.summary()), (None, None, None, None));
    }
}
