//! The loop in virtual time: one thread, one order of events, the same result for the same seed on every
//! machine. A simulated target says at submission when each I/O will end; time jumps from end to end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iodyno_plugin::Completion;

use crate::lane::Supply;
use crate::shared::Fault;
use crate::worker::{Driver, Left, NO_REQUESTS, record};

/// So many I/O may take no time before the step is given up: it would never end.
const TIMELESS_MAX: u64 = 10_000_000;
/// The caller is attended to at least this often, counted in I/O.
const ATTEND_EVERY: u64 = 4096;

/// Runs the step. `attend` is called with the time whenever an interval is ready, and often enough beside (then
/// with `true`); it says whether submission should stop.
///
/// # Errors
/// When the target broke its contract.
pub(crate) fn simulate(
    driver: &mut Driver<'_>,
    attend: &mut dyn FnMut(u64, bool) -> bool,
) -> Result<Left, String> {
    let mut pending = Pending::new(driver.lanes.depth() as usize);
    let (mut now_ns, mut timeless, mut unattended) = (0, 0, 0);
    while now_ns < driver.shared.end_ns() {
        match pending.refill(driver, now_ns)? {
            Refill::Again => continue,
            Refill::Full => {}
            Refill::Done => return Ok(Left::Done),
        }
        let before_ns = now_ns;
        let ended = pending.deliver_next(driver, &mut now_ns)?;
        timeless = if now_ns > before_ns { 0 } else { timeless + ended };
        if timeless > TIMELESS_MAX {
            return Err(format!("virtual time stands still: the last {timeless} i/o took none"));
        }
        unattended += ended;
        let often = unattended >= ATTEND_EVERY;
        if often || driver.recorder.has_mail() {
            unattended = if often { 0 } else { unattended };
            if attend(now_ns, often) {
                driver.shared.stop(now_ns);
            }
        }
    }
    driver.queue.withdraw();
    driver.recorder.begin(now_ns);
    while pending.deliver_next(driver, &mut now_ns)? > 0 {}
    Ok(Left::Time)
}

/// What a refill came to.
enum Refill {
    /// Nothing more before time moves.
    Full,
    /// There may be more at once.
    Again,
    /// The workloads are done and everything is back.
    Done,
}

/// I/O whose end was told, in the order in which they end: by time, then lane, then request.
struct Pending {
    order: BinaryHeap<Reverse<(u64, u32, u64, u32)>>,
    /// By slot.
    told: Vec<Completion>,
}

impl Pending {
    fn new(depth: usize) -> Self {
        Pending { order: BinaryHeap::with_capacity(depth), told: vec![Completion::default(); depth] }
    }

    /// Submits what the lanes give.
    fn refill(&mut self, driver: &mut Driver<'_>, now_ns: u64) -> Result<Refill, String> {
        let supply = match driver.lanes.fill::<false>(&mut driver.queue, now_ns) {
            Ok(supply) => supply,
            Err(reason) => {
                driver.shared.fail(now_ns, Fault::Failed(reason));
                return Ok(Refill::Again);
            }
        };
        if driver.queue.queued() > 0 {
            self.submit(driver, now_ns)?;
            return Ok(if supply == Supply::More || self.order.is_empty() {
                Refill::Again
            } else {
                Refill::Full
            });
        }
        if !self.order.is_empty() {
            return Ok(Refill::Full);
        }
        if supply == Supply::Done {
            return Ok(Refill::Done);
        }
        if driver.is_idle() {
            driver.shared.fail(now_ns, Fault::Failed(NO_REQUESTS.to_owned()));
        }
        Ok(Refill::Again)
    }

    /// Hands the batch over, and notes when each I/O will end.
    fn submit(&mut self, driver: &mut Driver<'_>, now_ns: u64) -> Result<(), String> {
        driver.queue.stamp(now_ns);
        let turned = driver.queue.turn(now_ns, 0, || now_ns, &mut driver.recorder)?;
        for index in 0..turned.completed {
            let (done, slot) = driver.queue.tell(index)?;
            if done.finish_ns < now_ns {
                return Err(format!("an i/o submitted at {now_ns} ns ends before, at {} ns", done.finish_ns));
            }
            let lane = u32::from(slot.tag.pool) << 16 | u32::from(slot.tag.lane);
            self.order.push(Reverse((done.finish_ns, lane, slot.seq, done.slot)));
            self.told[done.slot as usize] = done;
        }
        let (told, in_flight) = (self.order.len(), driver.queue.in_flight() as usize);
        if told != in_flight {
            return Err(format!(
                "a simulated target must tell the end of each i/o at once: {told} of {in_flight}"
            ));
        }
        if turned.accepted > 0 {
            driver.idle = 0;
        } else if told == 0 && driver.is_idle() {
            return Err("its queue takes no request, although none is in flight".to_owned());
        }
        Ok(())
    }

    /// Moves time to the next end and delivers all I/O that end then: how many.
    fn deliver_next(&mut self, driver: &mut Driver<'_>, now_ns: &mut u64) -> Result<u64, String> {
        let Some(Reverse((finish_ns, ..))) = self.order.peek().copied() else { return Ok(0) };
        let Driver { queue, lanes, recorder, errors, .. } = driver;
        *now_ns = finish_ns;
        recorder.advance(finish_ns);
        let mut ended = 0;
        while let Some(Reverse((at, _, _, slot))) = self.order.peek().copied()
            && at == finish_ns
        {
            self.order.pop();
            let (done, slot) = (&self.told[slot as usize], queue.end(slot));
            record(recorder, errors, slot, done, finish_ns)?;
            lanes.over::<true>(slot, done, finish_ns);
            ended += 1;
        }
        recorder.completed_at(finish_ns);
        driver.tell(finish_ns);
        Ok(ended)
    }
}
