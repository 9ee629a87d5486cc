//! Lanes: where requests come from. A lane holds the generator of a stream in one worker; a pool holds the
//! slots that its lanes may use, and decides which lane is asked next.

use iodyno_plugin::random::{Random, derive};
use iodyno_plugin::{Completion, CompletionStyle, Feedback, More, Op, Request, Stream, StreamSpec};
use iodyno_record::Fill;

use crate::admission::{Admission, Multiple};
use crate::ahead::SPARES_MAX;
use crate::job::Job;
use crate::layout::Share;
use crate::memory::BufferShape;
use crate::payload::Payload;
use crate::queue::{Io, Slot, SlotQueue, Tag};
use crate::worker::failure;

/// Most requests of one turn. All of them share its stamps, so more would blur them, and fewer would cost more
/// calls: a call takes about as long as ten requests.
const BATCH: usize = 32;

/// Most requests of one turn and pool for a target that works while we do not. Given all that it is short of at
/// once, a device that completes in bursts falls into step: it is idle while we prepare, and we while it works.
const BATCH_ASYNC: usize = 4;

/// A part of the seed's space that no stream uses.
const DRAW_PART: u64 = u64::MAX;

struct Lane {
    stream: usize,
    generator: Box<dyn Stream>,
    title: String,
    admission: Admission,
    region_offset: u64,
    fill: Fill,
    wants_completions: bool,
    more: More,
    /// When the generator was done, ns since the step's start.
    done_ns: Option<u64>,
    seq: u64,
    /// Requests that came from the generator, `next..ready` of them not used yet. Only within a call.
    requests: Vec<Request>,
    next: usize,
    ready: usize,
    /// Completions that the generator was not told yet.
    feedback: Vec<Feedback>,
    /// Completions that it was told.
    told: u64,
}

impl Lane {
    /// The lane of `stream` in a share; its I/O bears `tag` with the cell of its operation.
    fn new(job: &Job<'_>, stream: usize, share: &Share, tag: Tag) -> Result<Self, String> {
        let (layout, spec) = (job.layout, job.spec);
        let (facts, plan) = (&layout.streams[stream], &spec.streams[stream]);
        let (granule, outstanding) = (layout.target.granule, share.outstanding as usize);
        // No request is longer than its region: admission relies on it.
        let max_len = facts.info.max_len.min(u32::try_from(plan.region_len_bytes).unwrap_or(u32::MAX));
        let stream_spec = StreamSpec {
            seed: derive(spec.seed, stream as u64),
            lane: share.lane,
            lanes: share.lanes,
            region_len: plan.region_len_bytes,
            granule,
            max_len,
            ops: facts.info.ops,
        };
        let generator = job.parts.workloads[stream].stream(&stream_spec);
        let generator = generator.map_err(|e| format!("{}: {e}", facts.title))?;
        let admission = Admission {
            region_len: plan.region_len_bytes,
            max_len,
            tags: facts.cells.map(|cell| cell.map(|cell| Tag { cell, ..tag })),
            granule: Multiple::of(u64::from(granule)),
        };
        Ok(Lane {
            stream,
            generator,
            title: facts.title.clone(),
            admission,
            region_offset: plan.region_offset_bytes,
            fill: plan.fill,
            wants_completions: facts.info.wants_completions,
            more: More::More,
            done_ns: None,
            seq: 0,
            requests: vec![Request::default(); BATCH.min(outstanding)],
            next: 0,
            ready: 0,
            feedback: Vec::with_capacity(if facts.info.wants_completions { outstanding } else { 0 }),
            told: 0,
        })
    }

    /// Asks the generator for `n` requests at most.
    fn ask(&mut self, n: usize, now_ns: u64) -> Result<(), String> {
        (self.next, self.ready) = (0, 0);
        if n == 0 || self.more != More::More {
            return Ok(());
        }
        let filled = self.generator.fill(&mut self.requests[..n]).map_err(|e| format!("failed: {e}"))?;
        if filled.n > n {
            return Err(format!("gave {} requests, asked for {n}", filled.n));
        }
        (self.ready, self.more) = (filled.n, filled.more);
        if self.more == More::Done {
            self.done_ns = Some(now_ns);
        }
        let outstanding = self.seq + filled.n as u64 - self.told;
        if self.more == More::Blocked && !(self.wants_completions && outstanding > 0) {
            return Err("is blocked, but no completion will come that it waits for".to_owned());
        }
        Ok(())
    }

    fn tell(&mut self) -> Result<(), String> {
        if self.feedback.is_empty() {
            return Ok(());
        }
        self.generator.complete(&self.feedback).map_err(|e| format!("failed: {e}"))?;
        self.told += self.feedback.len() as u64;
        self.feedback.clear();
        if self.more == More::Blocked {
            self.more = More::More;
        }
        Ok(())
    }
}

/// Which lane comes next where several share a pool: drawn by weight, once for each request. A pick that its
/// lane cannot serve yet waits, and one whose lane is done goes to another: so the order of the streams depends
/// on the seed alone, not on how many requests a turn took.
struct Draw {
    random: Random,
    weights: Vec<f64>,
    /// Highest random number of each lane.
    limits: Vec<u64>,
    /// Lanes that are done.
    done: Vec<bool>,
    picks: Vec<Pick>,
}

#[derive(Clone, Copy)]
struct Pick {
    number: u64,
    lane: usize,
}

impl Draw {
    fn new(seed: u64, weights: Vec<f64>, outstanding: usize) -> Self {
        let sum: f64 = weights.iter().sum();
        let mut below = 0.0;
        let limit = |weight: &f64| {
            below += weight;
            // Saturates at the top, which the last lane with a weight must reach.
            if below >= sum { u64::MAX } else { (below / sum * 2_f64.powi(64)) as u64 }
        };
        let (limits, done) = (weights.iter().map(limit).collect(), vec![false; weights.len()]);
        Draw { random: Random::new(seed), weights, limits, done, picks: Vec::with_capacity(outstanding) }
    }

    fn leave_out(&mut self, lane: usize) {
        if !std::mem::replace(&mut self.done[lane], true) {
            let mut picks = std::mem::take(&mut self.picks);
            picks.retain_mut(|pick| pick.lane != lane || self.give_away(pick));
            self.picks = picks;
        }
    }

    /// Gives a pick to a lane that is not done, by weight. Each lane's chance comes from the pick's number, as the
    /// least of exponential times (one with rate `weight` each), so that it does not matter in which order lanes
    /// were found to be done. `false` when no lane can take it.
    #[cold]
    fn give_away(&self, pick: &mut Pick) -> bool {
        let number = pick.number;
        let time = |lane: usize| Random::new(derive(number, lane as u64)).exponential() / self.weights[lane];
        let open = (0..self.weights.len()).filter(|lane| self.can_serve(*lane));
        let first = open.min_by(|a, b| time(*a).total_cmp(&time(*b)));
        first.inspect(|lane| pick.lane = *lane).is_some()
    }

    fn can_serve(&self, lane: usize) -> bool {
        !self.done[lane] && self.weights[lane] > 0.0
    }

    fn pick(&mut self, n: usize) {
        if !(0..self.weights.len()).any(|lane| self.can_serve(lane)) {
            return;
        }
        while self.picks.len() < n {
            let number = self.random.bits();
            let lane = (0..self.limits.len()).find(|l| self.weights[*l] > 0.0 && number <= self.limits[*l]);
            let mut pick = Pick { number, lane: lane.expect("the last limit is the highest number") };
            if !self.done[pick.lane] || self.give_away(&mut pick) {
                self.picks.push(pick);
            }
        }
    }
}

struct Pool {
    lanes: Vec<Lane>,
    free: Vec<u32>,
    draw: Draw,
}

/// What a fill left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Supply {
    /// There is room and there may be more at once.
    More,
    /// Nothing more before a completion.
    Enough,
    /// Nothing more at all.
    Done,
}

/// All lanes of a worker.
pub(crate) struct Lanes {
    pools: Vec<Pool>,
    /// Most requests of a pool in one turn.
    quota: usize,
    payload: Payload,
    /// The target works while we do not, and takes its own time: what writes will write can be made meanwhile.
    apart: bool,
    /// The pool and lane whose generator is being called.
    calling: Option<(usize, usize)>,
}

impl Lanes {
    /// The lanes of a worker's shares.
    ///
    /// # Errors
    /// When a workload cannot do what is asked.
    pub(crate) fn new(job: &Job<'_>, shares: &[Share], payload: Payload) -> Result<Self, String> {
        let spec = job.spec;
        let mut first_slot = 0;
        let mut pools = Vec::new();
        for (pool, share) in shares.iter().enumerate() {
            let lanes = share.streams.iter().enumerate().map(|(lane, stream)| {
                let tag = Tag { cell: 0, pool: pool as u16, lane: lane as u16 };
                Lane::new(job, *stream, share, tag)
            });
            let weights = share.streams.iter().map(|s| spec.streams[*s].weight).collect();
            let seed = derive(derive(spec.seed, DRAW_PART), u64::from(share.lane));
            let slots = first_slot..first_slot + share.outstanding;
            first_slot = slots.end;
            pools.push(Pool {
                lanes: lanes.collect::<Result<_, _>>()?,
                // Taken from the end: low slots first, and the one that was used last, which is still in cache.
                free: slots.rev().collect(),
                draw: Draw::new(seed, weights, share.outstanding as usize),
            });
        }
        let apart = job.layout.target.completion != CompletionStyle::Inline && !job.layout.target.simulated;
        let quota = (BATCH / pools.len()).clamp(1, if apart { BATCH_ASYNC } else { BATCH });
        Ok(Lanes { quota, pools, payload, apart, calling: None })
    }

    /// The buffers that these lanes need, in the order of their slots; and how many zeroes.
    pub(crate) fn buffer_shapes(&self) -> (Vec<BufferShape>, usize) {
        // What completes within the call leaves no time to make anything ahead.
        let spares = |p: &Pool| match self.apart && p.lanes.iter().any(|l| l.writes() && l.fill != Fill::Zero)
        {
            true => p.free.len().min(SPARES_MAX),
            false => 0,
        };
        let longest = |lanes: &[Lane]| lanes.iter().map(|l| l.admission.max_len as usize).max().unwrap_or(0);
        let shape = |p: &Pool| BufferShape { count: p.free.len(), spares: spares(p), len: longest(&p.lanes) };
        let zeroes = self.pools.iter().flat_map(|p| &p.lanes).filter(|l| l.fill == Fill::Zero && l.writes());
        (
            self.pools.iter().map(shape).collect(),
            zeroes.map(|l| l.admission.max_len as usize).max().unwrap_or(0),
        )
    }

    /// Slots of all pools.
    pub(crate) fn depth(&self) -> u32 {
        self.pools.iter().map(|p| p.free.len() as u32).sum()
    }

    /// Most completions of one turn.
    pub(crate) fn batch(&self) -> usize {
        BATCH.min(self.depth() as usize)
    }

    /// Whether any lane writes.
    pub(crate) fn any_writes(&self) -> bool {
        self.pools.iter().flat_map(|p| &p.lanes).any(Lane::writes)
    }

    /// Whether any lane wants to learn of completions.
    pub(crate) fn any_wants_completions(&self) -> bool {
        self.pools.iter().flat_map(|p| &p.lanes).any(|l| l.wants_completions)
    }

    /// When each lane's generator was done, by stream.
    pub(crate) fn done_ns(&self) -> impl Iterator<Item = (usize, Option<u64>)> {
        self.pools.iter().flat_map(|p| &p.lanes).map(|lane| (lane.stream, lane.done_ns))
    }

    /// The cells in which I/O of these lanes is counted.
    pub(crate) fn cells(&self) -> Vec<u16> {
        let tags = self.pools.iter().flat_map(|p| &p.lanes).flat_map(|l| l.admission.tags);
        let mut cells: Vec<u16> = tags.flatten().map(|tag| tag.cell).collect();
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    /// Makes some of what the next writes will write, unless all is made; says whether it did.
    pub(crate) fn make_ahead(&mut self, queue: &mut SlotQueue) -> bool {
        queue.ahead().map(|part| self.payload.write(part)).is_some()
    }

    /// Fills a buffer as a write would.
    pub(crate) fn scribble(&mut self, out: &mut [u8]) {
        self.payload.write(out);
    }

    /// Name of the workload that is being called, if one is.
    pub(crate) fn calling(&self) -> Option<&str> {
        self.calling.map(|(pool, lane)| self.pools[pool].lanes[lane].title.as_str())
    }

    /// Puts as many requests into the batch as there are free slots, up to the quota of each pool; `now_ns` is the
    /// time. With `WRITE` false no lane writes.
    ///
    /// # Errors
    /// When a workload failed or broke its contract.
    #[inline]
    pub(crate) fn fill<const WRITE: bool>(
        &mut self,
        queue: &mut SlotQueue,
        now_ns: u64,
    ) -> Result<Supply, String> {
        let mut supply = Supply::Done;
        for index in 0..self.pools.len() {
            let pool = &mut self.pools[index];
            let before = pool.free.len();
            let n = before.min(self.quota);
            if n == 0 {
                supply = supply.and(Supply::Enough);
                continue;
            }
            if let [lane] = &mut pool.lanes[..] {
                self.calling = Some((index, 0));
                lane.ask(n, now_ns).map_err(|e| format!("{} {e}", lane.title))?;
                self.calling = None;
                let left = before - lane.ready;
                lane.admit::<WRITE>(pool.free[left..].iter().rev(), &mut self.payload, queue)?;
                pool.free.truncate(left);
            } else {
                self.fill_shared::<WRITE>(index, n, queue, now_ns)?;
            }
            supply = supply.and(self.pools[index].supply(before));
        }
        Ok(supply)
    }

    fn fill_shared<const WRITE: bool>(
        &mut self,
        index: usize,
        n: usize,
        queue: &mut SlotQueue,
        now_ns: u64,
    ) -> Result<(), String> {
        let Pool { lanes, free, draw } = &mut self.pools[index];
        draw.pick(n);
        let n = n.min(draw.picks.len());
        for (number, lane) in lanes.iter_mut().enumerate() {
            let wanted = draw.picks[..n].iter().filter(|pick| pick.lane == number).count();
            self.calling = Some((index, number));
            lane.ask(wanted, now_ns).map_err(|e| format!("{} {e}", lane.title))?;
            self.calling = None;
        }
        let mut waiting = 0;
        for at in 0..n {
            let pick = draw.picks[at];
            let lane = &mut lanes[pick.lane];
            if lane.next < lane.ready {
                let slot = free.pop().expect("as many picks as are free");
                lane.admit::<WRITE>([&slot].into_iter(), &mut self.payload, queue)?;
            } else {
                draw.picks[waiting] = pick;
                waiting += 1;
            }
        }
        draw.picks.drain(waiting..n);
        for (number, lane) in lanes.iter().enumerate() {
            if lane.more == More::Done {
                draw.leave_out(number);
            }
        }
        Ok(())
    }

    /// An I/O is over: its slot is free again.
    #[inline(always)]
    pub(crate) fn over<const FEEDBACK: bool>(&mut self, slot: &Slot, done: &Completion, end_ns: u64) {
        let pool = &mut self.pools[usize::from(slot.tag.pool)];
        pool.free.push(done.slot);
        if FEEDBACK {
            let lane = &mut pool.lanes[usize::from(slot.tag.lane)];
            if lane.wants_completions {
                let (errno, service_ns) = (failure(slot, done), end_ns - slot.start_ns);
                lane.feedback.push(Feedback { seq: slot.seq, service_ns, errno, bytes: done.bytes });
            }
        }
    }

    /// Tells lanes of their completions.
    ///
    /// # Errors
    /// When a workload failed.
    pub(crate) fn tell(&mut self) -> Result<(), String> {
        for (index, pool) in self.pools.iter_mut().enumerate() {
            for (number, lane) in pool.lanes.iter_mut().enumerate() {
                self.calling = Some((index, number));
                lane.tell().map_err(|e| format!("{} {e}", lane.title))?;
                self.calling = None;
            }
        }
        Ok(())
    }
}

impl Lane {
    /// Checks the next requests, one for each of the free slots, and puts them into the batch.
    #[inline(always)]
    fn admit<'s, const WRITE: bool>(
        &mut self,
        slots: impl ExactSizeIterator<Item = &'s u32>,
        payload: &mut Payload,
        queue: &mut SlotQueue,
    ) -> Result<(), String> {
        let Lane { admission, region_offset, fill, .. } = *self;
        let (first, mut seq) = (self.next, self.seq);
        self.next += slots.len();
        for (request, slot) in self.requests[first..self.next].iter().zip(slots) {
            let Some(tag) = admission.admit(request) else {
                return Err(format!("{} {}", self.title, admission.reason(request)));
            };
            let Request { op, hint, len, offset, .. } = *request;
            let zeroes = WRITE && op == Op::Write as u8 && fill == Fill::Zero;
            if WRITE && op == Op::Write as u8 && !zeroes {
                payload.write(queue.unmade(*slot, tag.pool, len));
            }
            queue.push(*slot, Io { op, hint, len, offset: region_offset + offset, seq, tag, zeroes });
            seq += 1;
        }
        self.seq = seq;
        Ok(())
    }

    fn writes(&self) -> bool {
        self.admission.tags[Op::Write as usize].is_some()
    }
}

impl Pool {
    /// What is left after a fill that began with `before` free slots.
    fn supply(&self, before: usize) -> Supply {
        let left = self.free.len();
        if left > 0 && left < before && self.lanes.iter().any(|lane| lane.more == More::More) {
            Supply::More
        } else if self.lanes.iter().all(|lane| lane.more == More::Done) {
            Supply::Done
        } else {
            Supply::Enough
        }
    }
}

impl Supply {
    fn and(self, other: Supply) -> Supply {
        match (self, other) {
            (Supply::More, _) | (_, Supply::More) => Supply::More,
            (Supply::Done, Supply::Done) => Supply::Done,
            _ => Supply::Enough,
        }
    }
}
