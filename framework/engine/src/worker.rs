//! The loop of a worker in real time, and what it has in common with the simulated one.

use iodyno_plugin::{Completion, Op};

use crate::clock::Clock;
use crate::errno;
use crate::lane::{Lanes, Supply};
use crate::queue::{Slot, SlotQueue};
use crate::recorder::Recorder;
use crate::shared::{Fault, Shared};

/// So many turns or fills in a row may move nothing; then somebody is broken, and waiting longer is no use.
const IDLE_MAX: u32 = 1_000_000;

/// What is wrong when the workloads are.
pub(crate) const NO_REQUESTS: &str =
    "the workloads give no requests any more, but do not say that they are done";

/// Why a loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// The workloads are done and everything is back.
    Done,
    /// Submission ended and everything is back.
    Time,
}

/// ENODATA of Linux: an I/O that asked for data and moved none.
const NOTHING_MOVED: i32 = 61;

/// The errno of a completion, 0 for a good one. One that moved nothing though it should have is none: it came
/// from behind the end of a target that has become shorter.
#[inline(always)]
pub(crate) fn failure(slot: &Slot, done: &Completion) -> i32 {
    if done.errno == 0 && done.bytes == 0 && slot.len > 0 { NOTHING_MOVED } else { done.errno }
}

/// Counts a completion where it belongs.
///
/// # Errors
/// When its errno cannot be true.
#[inline(always)]
pub(crate) fn record(
    recorder: &mut Recorder<'_>,
    errors: &mut ErrorRow<'_>,
    slot: &Slot,
    done: &Completion,
    end_ns: u64,
) -> Result<(), String> {
    match failure(slot, done) {
        0 => {
            recorder.good(slot, end_ns, done.bytes);
            errors.in_a_row = 0;
            Ok(())
        }
        errno => {
            recorder.failed(slot, end_ns, errno);
            errors.count(slot, end_ns, errno)
        }
    }
}

/// Everything that a worker drives.
pub(crate) struct Driver<'a> {
    pub(crate) queue: SlotQueue,
    pub(crate) lanes: Lanes,
    pub(crate) recorder: Recorder<'a>,
    pub(crate) shared: &'a Shared,
    pub(crate) errors: ErrorRow<'a>,
    pub(crate) idle: u32,
}

/// Failed I/O in a row, on one worker.
pub(crate) struct ErrorRow<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) in_a_row: u32,
    /// So many end the step.
    pub(crate) max: u32,
}

impl ErrorRow<'_> {
    /// Counts one.
    ///
    /// # Errors
    /// When the number cannot be true.
    #[cold]
    pub(crate) fn count(&mut self, slot: &Slot, end_ns: u64, errno: i32) -> Result<(), String> {
        if errno < 0 {
            return Err(format!("completed an i/o with errno {errno}, which must not be negative"));
        }
        self.in_a_row += 1;
        if self.in_a_row >= self.max {
            let name = Op::from_code(slot.op).map_or("request", Op::name);
            let (count, len, offset, errno) = (self.in_a_row, slot.len, slot.offset, errno::describe(errno));
            let reason =
                format!("{count} i/o failed in a row, the last a {name} of {len} bytes at {offset}: {errno}");
            self.shared.fail(end_ns, Fault::Errors(reason));
        }
        Ok(())
    }
}

impl Driver<'_> {
    /// Drives the lanes until submission ends or they are done, and everything is back.
    ///
    /// # Errors
    /// When the queue is dead; what was in flight is lost.
    pub(crate) fn run(&mut self, clock: Clock) -> Result<Left, String> {
        match (self.lanes.any_writes(), self.lanes.any_wants_completions()) {
            (false, false) => self.drive::<false, false>(clock),
            (false, true) => self.drive::<false, true>(clock),
            (true, false) => self.drive::<true, false>(clock),
            (true, true) => self.drive::<true, true>(clock),
        }
    }

    /// The loop.
    fn drive<const WRITE: bool, const FEEDBACK: bool>(&mut self, clock: Clock) -> Result<Left, String> {
        let mut now_ns = clock.now();
        while now_ns < self.shared.end_ns() {
            let supply = match self.lanes.fill::<WRITE>(&mut self.queue, now_ns) {
                Ok(supply) => supply,
                Err(reason) => {
                    self.shared.fail(clock.now(), Fault::Failed(reason));
                    break;
                }
            };
            if WRITE && self.queue.queued() == 0 && self.lanes.make_ahead(&mut self.queue) {
                self.idle = 0;
            }
            // A fresh stamp: what the generator took is not the target's.
            now_ns = clock.now();
            if now_ns >= self.shared.end_ns() {
                break;
            }
            if self.queue.in_flight() == 0 && self.queue.queued() == 0 {
                if supply == Supply::Done {
                    return Ok(Left::Done);
                }
                if self.is_idle() {
                    self.shared.fail(now_ns, Fault::Failed(NO_REQUESTS.to_owned()));
                }
                continue;
            }
            let more = supply == Supply::More || WRITE && self.queue.wants_ahead();
            let min = u32::from(!more);
            now_ns = self.turn::<FEEDBACK>(clock, now_ns, min)?;
        }
        self.queue.withdraw();
        self.recorder.begin(clock.now());
        while self.queue.in_flight() > 0 {
            self.turn::<FEEDBACK>(clock, clock.now(), 1)?;
        }
        Ok(Left::Time)
    }

    /// One call of the queue and what follows from it. Gives its end.
    ///
    /// All completions of a turn end when it does: they were there by then, and a later stamp for each would add
    /// only the time that the ones before it take to be counted.
    #[inline(always)]
    fn turn<const FEEDBACK: bool>(&mut self, clock: Clock, start_ns: u64, min: u32) -> Result<u64, String> {
        let Driver { queue, lanes, recorder, errors, .. } = self;
        let turned = queue.turn(start_ns, min, || clock.now(), recorder)?;
        let end_ns = turned.end_ns;
        let (completions, mut ending) = queue.completions(turned.completed);
        for done in completions {
            let (slot, zeroes) = ending.end(done)?;
            if zeroes {
                recorder.read_zeroes(slot);
            }
            record(recorder, errors, slot, done, end_ns)?;
            lanes.over::<FEEDBACK>(slot, done, end_ns);
        }
        if turned.completed > 0 {
            recorder.completed_at(end_ns);
        }
        if FEEDBACK {
            self.tell(end_ns);
        }
        if turned.accepted | turned.completed != 0 {
            self.idle = 0;
        } else if self.is_idle() {
            return Err(format!(
                "its queue took and gave nothing {IDLE_MAX} times, although it was asked to wait"
            ));
        }
        Ok(end_ns)
    }

    /// Tells the lanes of their completions.
    pub(crate) fn tell(&mut self, now_ns: u64) {
        if let Err(reason) = self.lanes.tell() {
            self.shared.fail(now_ns, Fault::Failed(reason));
        }
    }

    /// Nothing moved; whether that is the last straw.
    #[cold]
    pub(crate) fn is_idle(&mut self) -> bool {
        self.idle += 1;
        self.idle >= IDLE_MAX
    }
}
