//! Records what one worker does: cuts time into the parts of a step and its windows, integrates outstanding
//! I/O, and counts each completion where it belongs. The same for real and virtual time.
//!
//! A part's windows start at the part's start plus whole multiples of the interval, on every worker. An I/O
//! belongs to the part in which it was submitted, and to the window of its completion.

use iodyno_record::RowKind;

use crate::cpu::{CpuSpan, ThreadCpu};
use crate::interval::Interval;
use crate::queue::Slot;
use crate::shared::{Mailbox, Shared};

/// So many completions may share an interval; then it is handed over within its window, so that no counter of
/// 32 bits can wrap.
const TURNED_MAX: u64 = 1 << 31;

/// How a step is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub(crate) warmup_ns: u64,
    pub(crate) interval_ns: u64,
    /// I/O completes within the submitting call.
    pub(crate) inline: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Warmup,
    Measure,
    /// After the end of submission.
    Tail,
}

/// Records for one worker.
pub(crate) struct Recorder<'a> {
    schedule: Schedule,
    shared: &'a Shared,
    mailbox: &'a Mailbox,
    part: Part,
    /// I/O submitted before this belongs to the warm-up, which is over.
    part_start_ns: u64,
    /// The measure began.
    measured: bool,
    /// End of the window.
    border_ns: u64,
    /// Outstanding I/O is integrated up to here.
    last_ns: u64,
    current: Interval,
    /// The cells that can hold anything on this worker.
    cells: Vec<u16>,
    /// I/O of the warm-up that completes after it, while there is any.
    carried: Option<Interval>,
    /// So much of it is left; without end where the warm-up was stopped, because the recorder may learn of that
    /// later than of what was submitted after.
    carried_left: u64,
    /// Empty intervals; the one that came back last is used first, so that few are ever touched.
    spare: Vec<Interval>,
    /// Those of them that the ends of parts will need.
    reserved: usize,
    in_flight_max: u32,
    last_completion_ns: u64,
    /// When the last turn was over.
    looked_ns: u64,
    cpu_start: ThreadCpu,
}

impl<'a> Recorder<'a> {
    /// How many intervals a worker needs: the current one, two on their way, and what ends of parts take.
    pub(crate) fn intervals(schedule: Schedule) -> usize {
        if schedule.warmup_ns > 0 { 6 } else { 4 }
    }

    /// With its intervals ([`Recorder::intervals`] of them) and the cells that its lanes use.
    pub(crate) fn new(
        schedule: Schedule,
        shared: &'a Shared,
        mailbox: &'a Mailbox,
        mut intervals: Vec<Interval>,
        cells: Vec<u16>,
    ) -> Self {
        let warms_up = schedule.warmup_ns > 0;
        let mut current = intervals.pop().expect("a worker has intervals");
        let (part, kind) =
            if warms_up { (Part::Warmup, RowKind::Warmup) } else { (Part::Measure, RowKind::Measure) };
        (current.kind, current.start_ns) = (kind, 0);
        Recorder {
            schedule,
            shared,
            mailbox,
            part,
            part_start_ns: 0,
            measured: !warms_up,
            border_ns: schedule.interval_ns,
            last_ns: 0,
            current,
            cells,
            carried: None,
            carried_left: 0,
            reserved: if warms_up { 3 } else { 1 },
            spare: intervals,
            in_flight_max: 0,
            last_completion_ns: 0,
            looked_ns: 0,
            cpu_start: ThreadCpu::default(),
        }
    }

    /// The step starts on this thread.
    pub(crate) fn start(&mut self) {
        self.cpu_start = ThreadCpu::now();
    }

    /// Moves time on to completions at `to_ns`. One that comes at the very end of a window still belongs to it.
    #[inline]
    pub(crate) fn advance(&mut self, to_ns: u64) {
        if to_ns > self.border_ns || to_ns > self.part_end_ns() {
            self.cut(to_ns);
        }
        self.integrate(to_ns);
    }

    /// Moves time on to submissions at `to_ns`. One at the very end of a part belongs to the next.
    #[inline]
    pub(crate) fn begin(&mut self, to_ns: u64) {
        if to_ns >= self.border_ns || to_ns >= self.part_end_ns() {
            self.cut(to_ns + 1);
        }
        self.integrate(to_ns);
    }

    /// An I/O was submitted, at the time of the last [`Recorder::begin`].
    #[inline(always)]
    pub(crate) fn submitted(&mut self, slot: &Slot) {
        self.current.cells[usize::from(slot.tag.cell)].in_flight += 1;
    }

    #[inline]
    fn integrate(&mut self, to_ns: u64) {
        let passed = to_ns.saturating_sub(self.last_ns);
        for cell in &self.cells {
            let cell = &mut self.current.cells[usize::from(*cell)];
            cell.in_flight_ns += u64::from(cell.in_flight) * passed;
        }
        self.last_ns += passed;
    }

    #[inline]
    fn part_end_ns(&self) -> u64 {
        match self.part {
            Part::Warmup => self.schedule.warmup_ns.min(self.shared.end_ns()),
            Part::Measure => self.shared.end_ns(),
            Part::Tail => u64::MAX,
        }
    }

    /// Ends all windows and parts whose end lies before `before_ns`.
    #[cold]
    fn cut(&mut self, before_ns: u64) {
        loop {
            // A stop may lie before what was already recorded.
            let part_end = self.part_end_ns().max(self.last_ns);
            let border = self.border_ns.min(part_end);
            if border >= before_ns {
                return;
            }
            self.integrate(border);
            if border == part_end { self.end_part() } else { self.end_window(part_end.min(before_ns - 1)) }
        }
    }

    /// Ends the window at its border. Where time jumped over whole windows up to `to_ns`, they are told with
    /// it. Where no interval is left the window grows longer instead: nothing waits, nothing is lost.
    fn end_window(&mut self, to_ns: u64) {
        let quiet = (to_ns - self.border_ns) / self.schedule.interval_ns;
        let next_start = self.border_ns + quiet * self.schedule.interval_ns;
        if self.hand_over_current(self.border_ns, quiet, next_start) {
            self.last_ns = next_start;
        }
        self.border_ns = next_start.saturating_add(self.schedule.interval_ns);
    }

    /// Gives the current interval away if there is another that no end of a part needs.
    fn hand_over_current(&mut self, end_ns: u64, quiet: u64, next_start_ns: u64) -> bool {
        while let Some(back) = self.mailbox.take_back() {
            self.spare.push(back);
        }
        if self.spare.len() <= self.reserved {
            return false;
        }
        self.replace_current(self.current.kind, end_ns, quiet, next_start_ns);
        true
    }

    fn replace_current(&mut self, kind: RowKind, end_ns: u64, quiet: u64, next_start_ns: u64) {
        let mut full = self.spare.pop().expect("intervals are kept back for the ends of parts");
        (full.kind, full.start_ns) = (kind, next_start_ns);
        std::mem::swap(&mut full, &mut self.current);
        (full.end_ns, full.quiet) = (end_ns, quiet);
        for (next, cell) in self.current.cells.iter_mut().zip(&full.cells) {
            next.in_flight = cell.in_flight;
        }
        self.mailbox.send(full);
    }

    /// Ends warm-up or measure, now.
    fn end_part(&mut self) {
        let at = self.last_ns;
        let (from, to) = match self.part {
            Part::Warmup if at >= self.schedule.warmup_ns => (Part::Warmup, Part::Measure),
            // Stopped before there was anything to measure.
            from => (from, Part::Tail),
        };
        let kind = if to == Part::Measure { RowKind::Measure } else { RowKind::Tail };
        self.reserved -= 1;
        if self.current.start_ns < at {
            self.replace_current(kind, at, 0, at);
        } else {
            // All before was told as windows that passed at once.
            (self.current.kind, self.current.start_ns) = (kind, at);
        }
        self.part = to;
        self.measured |= to == Part::Measure;
        self.border_ns =
            if to == Part::Measure { at.saturating_add(self.schedule.interval_ns) } else { u64::MAX };
        if from == Part::Warmup {
            self.end_warmup(at);
        }
    }

    /// All I/O in flight now belongs to the warm-up.
    fn end_warmup(&mut self, at: u64) {
        self.part_start_ns = if self.measured { at } else { u64::MAX };
        self.in_flight_max = self.in_flight_all();
        self.cpu_start = ThreadCpu::now();
        self.reserved -= 1;
        let mut carried = self.spare.pop().expect("intervals are kept back for the ends of parts");
        (carried.kind, carried.start_ns) = (RowKind::WarmupTail, at);
        self.carried = Some(carried);
        self.carried_left = if self.measured { u64::from(self.in_flight_all()) } else { u64::MAX };
        self.hand_over_carried(at);
    }

    fn hand_over_carried(&mut self, at: u64) {
        if self.carried_left == 0
            && let Some(mut carried) = self.carried.take()
        {
            carried.end_ns = at.max(carried.start_ns);
            self.mailbox.send(carried);
        }
    }

    fn in_flight_all(&self) -> u32 {
        self.cells.iter().map(|cell| self.current.cells[usize::from(*cell)].in_flight).sum()
    }

    /// A turn from `start_ns` to `end_ns` is over: `completed` I/O came back. Everything in flight before it
    /// was seen at once.
    #[inline]
    pub(crate) fn turned(&mut self, start_ns: u64, end_ns: u64, completed: u32) {
        self.in_flight_max = self.in_flight_max.max(self.in_flight_all());
        self.advance(end_ns);
        self.current.turned += u64::from(completed);
        // Where I/O completes within the call, all but the last did so before its end. Elsewhere it completes at
        // any time, and is seen late if nobody looks then.
        let (counts, blind_ns) = match self.schedule.inline {
            true => (completed > 1, end_ns - start_ns),
            false => (completed > 0, start_ns - self.looked_ns.min(start_ns)),
        };
        if counts {
            self.current.blind_turns += 1;
            self.current.blind_ns += blind_ns;
        }
        self.looked_ns = end_ns;
        if self.current.turned > TURNED_MAX {
            self.hand_over_current(self.last_ns, 0, self.last_ns);
        }
    }

    /// The I/O of `slot` ended well, with `bytes` moved.
    #[inline(always)]
    pub(crate) fn good(&mut self, slot: &Slot, end_ns: u64, bytes: u32) {
        let (service_ns, short) = (end_ns - slot.start_ns, bytes < slot.len);
        self.current.cells[usize::from(slot.tag.cell)].in_flight -= 1;
        if slot.start_ns < self.part_start_ns {
            return self.carry_good(slot, end_ns, bytes);
        }
        self.current.good(slot.tag.cell, service_ns, bytes, short);
    }

    /// The I/O of `slot`, which is about to end well, read nothing but zeroes.
    #[cold]
    pub(crate) fn read_zeroes(&mut self, slot: &Slot) {
        let carried = self.carried.as_mut().filter(|_| slot.start_ns < self.part_start_ns);
        carried.unwrap_or(&mut self.current).tally(slot.tag.cell).zero_reads += 1;
    }

    /// The I/O of `slot` failed.
    #[cold]
    pub(crate) fn failed(&mut self, slot: &Slot, end_ns: u64, errno: i32) {
        self.current.cells[usize::from(slot.tag.cell)].in_flight -= 1;
        if slot.start_ns < self.part_start_ns {
            self.carry(slot, end_ns, |carried| carried.tally(slot.tag.cell).errors.add(errno, 1));
        } else {
            self.current.tally(slot.tag.cell).errors.add(errno, 1);
        }
    }

    /// The last completions so far were at `end_ns`.
    #[inline]
    pub(crate) fn completed_at(&mut self, end_ns: u64) {
        self.last_completion_ns = end_ns;
    }

    /// Good I/O of the warm-up that ends after it: counts for the rate of the window in which it ends, and
    /// belongs to a row of its own.
    #[cold]
    fn carry_good(&mut self, slot: &Slot, end_ns: u64, bytes: u32) {
        self.carry(slot, end_ns, |carried| {
            carried.good(slot.tag.cell, end_ns - slot.start_ns, bytes, bytes < slot.len);
        });
        if self.part == Part::Measure {
            let tally = self.current.tally(slot.tag.cell);
            tally.carried += 1;
            tally.carried_bytes += u64::from(bytes);
        }
    }

    fn carry(&mut self, slot: &Slot, end_ns: u64, count: impl FnOnce(&mut Interval)) {
        let carried = self.carried.as_mut().expect("kept until the last I/O of the warm-up is back");
        count(carried);
        let outstanding_ns = end_ns.saturating_sub(carried.start_ns);
        carried.cells[usize::from(slot.tag.cell)].in_flight_ns += outstanding_ns;
        self.carried_left -= 1;
        self.hand_over_carried(end_ns);
    }

    /// Nothing will come any more: hands over what is left. I/O still in flight is lost. What has no end of
    /// its own ends with the last completion, or at `now_ns` where something failed.
    pub(crate) fn finish(mut self, now_ns: Option<u64>) -> Report {
        let cpu = if self.measured { ThreadCpu::now().since(self.cpu_start) } else { CpuSpan::default() };
        match now_ns {
            Some(now_ns) => self.begin(now_ns),
            None => self.advance(self.last_completion_ns),
        }
        self.carried_left = 0;
        self.hand_over_carried(self.last_completion_ns);
        if self.measured || self.part == Part::Warmup {
            let end_ns = now_ns.unwrap_or(self.last_completion_ns);
            self.current.end_ns = end_ns.max(self.current.start_ns);
            self.mailbox.send(self.current);
        }
        Report { cpu, in_flight_max: if self.measured { self.in_flight_max } else { 0 } }
    }

    /// The time up to which everything is recorded.
    pub(crate) fn now_ns(&self) -> u64 {
        self.last_ns
    }

    /// Whether an interval waits for the collector.
    #[inline]
    pub(crate) fn has_mail(&self) -> bool {
        self.mailbox.has_mail()
    }
}

/// What a recorder knows beside its intervals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// CPU time of the worker's thread since the measure began.
    pub(crate) cpu: CpuSpan,
    /// Most I/O outstanding at a time since the measure began.
    pub(crate) in_flight_max: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(schedule: Schedule, end_ns: u64, drive: impl FnOnce(&mut Recorder<'_>)) -> Vec<Interval> {
        let (shared, mailbox) = (Shared::new(end_ns), Mailbox::new(8));
        let intervals = (0..Recorder::intervals(schedule)).map(|_| Interval::new(1).unwrap()).collect();
        let mut recorder = Recorder::new(schedule, &shared, &mailbox, intervals, vec![0]);
        drive(&mut recorder);
        recorder.finish(None);
        std::iter::from_fn(|| mailbox.receive()).collect()
    }

    fn spans(intervals: &[Interval]) -> Vec<(RowKind, u64, u64, u64)> {
        intervals.iter().map(|i| (i.kind, i.start_ns, i.end_ns, i.quiet)).collect()
    }

    const SCHEDULE: Schedule = Schedule { warmup_ns: 25, interval_ns: 10, inline: true };

    #[test]
    fn time_is_cut_into_parts_and_windows() {
        let intervals = recorded(SCHEDULE, 60, |recorder| {
            recorder.begin(3);
            recorder.current.cells[0].in_flight += 2;
            recorder.advance(10);
            recorder.begin(12);
            recorder.advance(70);
        });
        // All spares are used up by 12, so the rest of the warm-up is one piece; two I/O are never back.
        let (warmup, tail, measure) = (RowKind::Warmup, RowKind::WarmupTail, RowKind::Measure);
        assert_eq!(
            spans(&intervals),
            [
                (warmup, 0, 10, 0),
                (warmup, 10, 20, 0),
                (warmup, 20, 25, 0),
                (measure, 25, 60, 0),
                (tail, 25, 25, 0),
                (RowKind::Tail, 60, 60, 0)
            ]
        );
        let sums: Vec<u64> = intervals.iter().map(|i| i.cells[0].in_flight_ns).collect();
        assert_eq!(sums, [14, 20, 10, 70, 0, 20]);
    }

    #[test]
    fn windows_that_pass_at_once_are_told_with_the_one_before() {
        let intervals = recorded(Schedule { warmup_ns: 0, interval_ns: 10, inline: true }, 100, |recorder| {
            recorder.begin(0);
            recorder.current.cells[0].in_flight += 3;
            recorder.advance(95);
            recorder.advance(120);
        });
        let measure = RowKind::Measure;
        assert_eq!(
            spans(&intervals),
            [(measure, 0, 10, 8), (measure, 90, 100, 0), (RowKind::Tail, 100, 100, 0)]
        );
        assert_eq!(intervals[0].cells[0].in_flight, 3);
    }

    #[test]
    fn a_stop_that_lies_behind_ends_the_part_at_once() {
        let shared = Shared::new(1000);
        let mailbox = Mailbox::new(8);
        let intervals = (0..4).map(|_| Interval::new(1).unwrap()).collect();
        let mut recorder = Recorder::new(
            Schedule { warmup_ns: 0, interval_ns: 10, inline: true },
            &shared,
            &mailbox,
            intervals,
            vec![0],
        );
        recorder.begin(7);
        shared.stop(3);
        recorder.advance(8);
        recorder.finish(None);
        let intervals: Vec<Interval> = std::iter::from_fn(|| mailbox.receive()).collect();
        assert_eq!(spans(&intervals), [(RowKind::Measure, 0, 7, 0), (RowKind::Tail, 7, 7, 0)]);
    }

    /// Another worker failed in the warm-up while this one was about to submit.
    #[test]
    fn what_is_submitted_while_the_warmup_is_stopped_is_kept() {
        let (shared, mailbox) = (Shared::new(1000), Mailbox::new(8));
        let schedule = Schedule { warmup_ns: 500, interval_ns: 1000, inline: true };
        let intervals = (0..Recorder::intervals(schedule)).map(|_| Interval::new(1).unwrap()).collect();
        let mut recorder = Recorder::new(schedule, &shared, &mailbox, intervals, vec![0]);
        recorder.begin(10);
        shared.stop(20);
        recorder.begin(30);
        let slot = Slot::submitted(30, 4096);
        recorder.submitted(&slot);
        recorder.turned(30, 70, 1);
        recorder.good(&slot, 70, 4096);
        recorder.completed_at(70);
        recorder.finish(None);
        let intervals: Vec<Interval> = std::iter::from_fn(|| mailbox.receive()).collect();
        assert_eq!(spans(&intervals), [(RowKind::Warmup, 0, 20, 0), (RowKind::WarmupTail, 20, 70, 0)]);
        assert_eq!(intervals[1].tallies().map(|t| (t.completed, t.bytes)).collect::<Vec<_>>(), [(1, 4096)]);
    }

    #[test]
    fn an_interval_is_handed_over_before_its_counters_can_wrap() {
        let intervals =
            recorded(Schedule { warmup_ns: 0, interval_ns: 1000, inline: true }, 1000, |recorder| {
                recorder.begin(0);
                recorder.turned(0, 10, u32::MAX);
                recorder.turned(20, 30, 5);
                recorder.advance(1001);
            });
        let measure = RowKind::Measure;
        assert_eq!(
            spans(&intervals),
            [(measure, 0, 10, 0), (measure, 10, 1000, 0), (RowKind::Tail, 1000, 1000, 0)]
        );
        assert_eq!(intervals.iter().map(|i| i.turned).collect::<Vec<_>>(), [u64::from(u32::MAX), 5, 0]);
        assert_eq!((intervals[1].blind_turns, intervals[1].blind_ns), (1, 10));
    }
}
