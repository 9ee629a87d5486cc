//! Time. Nothing else in this crate reads a clock, and no stamp comes from a plugin.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// The monotonic clock, ns since some moment in the past.
#[inline]
pub fn monotonic_ns() -> u64 {
    ns(clock_gettime(ClockId::Monotonic))
}

/// CPU time of the calling thread, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    ns(clock_gettime(ClockId::ThreadCPUTime))
}

#[inline]
fn ns(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The date, ms since 1970.
pub(crate) fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// The real clock of a step: ns since its start, the same for all workers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) origin_ns: u64,
}

impl Clock {
    #[inline]
    pub(crate) fn now(self) -> u64 {
        monotonic_ns().saturating_sub(self.origin_ns)
    }
}

/// The least step of the monotonic clock that two readings show, ns. It includes the reading itself.
pub(crate) fn step_ns() -> u64 {
    let step = |_| {
        let first = monotonic_ns();
        (0..1000).map(|_| monotonic_ns()).find(|now| *now > first).map(|now| now - first)
    };
    (0..200).filter_map(step).min().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_moves_by_small_steps() {
        let before = monotonic_ns();
        let step = step_ns();
        assert!(step > 0 && step < 1_000_000, "{step} ns");
        assert!(monotonic_ns() >= before + step);
    }
}
