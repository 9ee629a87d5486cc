//! Fake plugins: targets in virtual and in real time, and workloads, each as good or bad as a test needs.
#![expect(unsafe_code, reason = "a queue's `turn` is unsafe to call, and fakes move data like real ones")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use iodyno_engine::{Parts, monotonic_ns};
use iodyno_plugin::random::{Random, derive};
use iodyno_plugin::{
    Buffers, Completion, CompletionStyle, Error, Fact, Feedback, Filled, More, Op, OpSet, Queue, QueueSpec,
    Request, Result, Stream, StreamSpec, Submission, Target, TargetInfo, Turn, Wait, Workload, WorkloadInfo,
};
use iodyno_record::{
    Fill, Load, Phase, PluginUse, Settings, Sharing, StepSpec, StreamPlan, TargetIdentity, TargetKind,
};

/// Every stream has a region of its own of this length.
pub(crate) const REGION: u64 = 1 << 30;

pub(crate) fn info() -> TargetInfo {
    TargetInfo {
        ops: OpSet::ALL,
        granule: 512,
        max_len: 1 << 20,
        max_depth: 1 << 16,
        simulated: false,
        completion: CompletionStyle::Inline,
    }
}

/// A spec of so many streams, each with `outstanding`; tests change what they need.
pub(crate) fn spec(streams: usize, outstanding: u32) -> StepSpec {
    let plugin = |name: &str| PluginUse { plugin: name.to_owned(), options: Settings::default() };
    let stream = |i: usize| StreamPlan {
        name: format!("s{i}"),
        workload: plugin("fake-workload"),
        region_offset_bytes: i as u64 * REGION,
        region_len_bytes: REGION,
        load: Load { outstanding, workers: 1 },
        weight: 1.0,
        fill: Fill::Random,
    };
    StepSpec {
        item: 3,
        name: "step".to_owned(),
        step: 1,
        phase: Phase::Load,
        seed: 42,
        target: TargetIdentity {
            label: "T".to_owned(),
            kind: TargetKind::Virtual,
            path: None,
            size_bytes: streams as u64 * REGION,
            device: None,
            inode: None,
            model: None,
            serial: None,
            firmware: None,
        },
        direct: true,
        backend: plugin("fake-backend"),
        sharing: Sharing::Independent,
        outstanding: outstanding * streams as u32,
        streams: (0..streams).map(stream).collect(),
        warmup_ns: 0,
        measure_ns: None,
        interval_ns: 1_000_000,
        consecutive_errors_max: 100,
    }
}

pub(crate) fn parts(target: impl Target + 'static, workloads: Vec<Arc<dyn Workload>>) -> Parts {
    Parts { backend: "fake-backend".to_owned(), target: Arc::new(target), workloads }
}

/// A workload of random requests.
#[derive(Clone)]
pub(crate) struct Asks {
    pub(crate) info: WorkloadInfo,
    /// Requests of each lane; the last one says done.
    pub(crate) count: u64,
    /// Weight of each operation by its code.
    pub(crate) mix: [u64; 3],
    /// Lengths, drawn evenly.
    pub(crate) lens: Vec<u32>,
    /// At most so many requests a call.
    pub(crate) per_fill: usize,
    /// After so many requests in a row without a completion it says blocked.
    pub(crate) window: u64,
    /// Changes a request: the one with this number, or all.
    pub(crate) trick: Option<(Option<u64>, Trick)>,
    /// Tells its requests from those of others.
    pub(crate) hint: u16,
    /// Keeps no feedback.
    pub(crate) quiet: bool,
    /// All feedback, by lane.
    pub(crate) told: Arc<Mutex<BTreeMap<u32, Vec<Feedback>>>>,
}

/// Changes what a workload gives.
pub(crate) type Trick = fn(&mut Request) -> Result<()>;

impl Asks {
    /// Reads of 4 KiB without end.
    pub(crate) fn reads() -> Self {
        Asks::mix([1, 0, 0], vec![4096])
    }

    /// Operations by weight, lengths drawn evenly, without end.
    pub(crate) fn mix(mix: [u64; 3], lens: Vec<u32>) -> Self {
        let ops = Op::ALL.into_iter().filter(|op| mix[*op as usize] > 0).fold(OpSet::EMPTY, OpSet::with);
        let max_len = lens.iter().copied().max().expect("a length");
        let info = WorkloadInfo { ops, max_len, granule: 512, wants_completions: false, passes: None };
        let (count, per_fill, window) = (u64::MAX, usize::MAX, u64::MAX);
        Asks {
            info,
            count,
            mix,
            lens,
            per_fill,
            window,
            trick: None,
            hint: 0,
            quiet: false,
            told: Arc::default(),
        }
    }

    pub(crate) fn times(self, count: u64) -> Self {
        Asks { count, ..self }
    }

    pub(crate) fn tricked(self, number: Option<u64>, trick: Trick) -> Self {
        Asks { trick: Some((number, trick)), ..self }
    }

    pub(crate) fn windowed(mut self, window: u64) -> Self {
        self.info.wants_completions = true;
        Asks { window, ..self }
    }

    pub(crate) fn shared(self) -> Arc<dyn Workload> {
        Arc::new(self)
    }
}

impl Workload for Asks {
    fn info(&self) -> WorkloadInfo {
        self.info
    }

    fn stream(&self, spec: &StreamSpec) -> Result<Box<dyn Stream>> {
        let random = Random::new(derive(spec.seed, u64::from(spec.lane)));
        Ok(Box::new(AskLane { asks: self.clone(), spec: *spec, random, given: 0, back: 0 }))
    }
}

struct AskLane {
    asks: Asks,
    spec: StreamSpec,
    random: Random,
    given: u64,
    back: u64,
}

impl AskLane {
    fn request(&mut self) -> Request {
        let mut draw = self.random.below(self.asks.mix.iter().sum());
        let code = (0..3).find(|op| {
            let weight = self.asks.mix[*op];
            let hit = draw < weight;
            draw = draw.saturating_sub(weight);
            hit
        });
        let op = Op::ALL[code.expect("below the sum of the weights")];
        let len = self.asks.lens[self.random.below(self.asks.lens.len() as u64) as usize];
        let offset = self.random.below((self.spec.region_len - u64::from(len)) / 512) * 512;
        let request = Request { op: op as u8, hint: self.asks.hint, ..Request::default() };
        if op == Op::Flush { request } else { Request { len, offset, ..request } }
    }
}

impl Stream for AskLane {
    fn fill(&mut self, out: &mut [Request]) -> Result<Filled> {
        let left = (self.asks.count - self.given).min(self.asks.window - (self.given - self.back));
        let n = out.len().min(self.asks.per_fill).min(usize::try_from(left).unwrap_or(usize::MAX));
        for slot in &mut out[..n] {
            let mut request = self.request();
            if let Some((number, trick)) = self.asks.trick
                && number.is_none_or(|number| number == self.given)
            {
                trick(&mut request)?;
            }
            *slot = request;
            self.given += 1;
        }
        let more = if self.given == self.asks.count {
            More::Done
        } else if self.given - self.back == self.asks.window {
            More::Blocked
        } else {
            More::More
        };
        Ok(Filled { n, more })
    }

    fn complete(&mut self, done: &[Feedback]) -> Result<()> {
        if self.asks.window != u64::MAX {
            self.back += done.len() as u64;
        }
        if self.asks.quiet {
            return Ok(());
        }
        self.asks
            .told
            .lock()
            .expect("no panic inside")
            .entry(self.spec.lane)
            .or_default()
            .extend_from_slice(done);
        Ok(())
    }
}

/// One I/O of a simulated target, as it truly was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Truth {
    pub(crate) stream: usize,
    pub(crate) op: Op,
    pub(crate) len: u32,
    pub(crate) start_ns: u64,
    pub(crate) finish_ns: u64,
    pub(crate) errno: i32,
    pub(crate) bytes: u32,
}

/// How a simulated target answers the n-th request: service time, errno and bytes.
pub(crate) type Answer = Arc<dyn Fn(u64, &Submission, &mut Random) -> (u64, i32, u32) + Send + Sync>;

/// A target in virtual time: `servers` serve in the order of submission.
#[derive(Clone)]
pub(crate) struct Virtual {
    pub(crate) info: TargetInfo,
    pub(crate) servers: usize,
    pub(crate) answer: Answer,
    /// Takes at most so many requests a turn.
    pub(crate) accepts: usize,
    /// Dies at this turn.
    pub(crate) dies_at: u64,
    pub(crate) truth: Arc<Mutex<Vec<Truth>>>,
    /// Changes a turn's completions.
    pub(crate) trick: Option<fn(u64, &mut [Completion])>,
}

impl Virtual {
    pub(crate) fn new(servers: usize, answer: Answer) -> Self {
        let info = TargetInfo { simulated: true, completion: CompletionStyle::Interrupt, ..info() };
        Virtual {
            info,
            servers,
            answer,
            accepts: usize::MAX,
            dies_at: u64::MAX,
            truth: Arc::default(),
            trick: None,
        }
    }

    /// All I/O take the same time.
    pub(crate) fn constant(servers: usize, service_ns: u64) -> Self {
        Virtual::new(servers, Arc::new(move |_, sub, _| (service_ns, 0, sub.len)))
    }
}

impl Target for Virtual {
    fn info(&self) -> TargetInfo {
        self.info
    }

    fn queue(&self, _: &QueueSpec, _: &Buffers) -> Result<Box<dyn Queue>> {
        let (random, free_at) = (Random::new(99), vec![0; self.servers]);
        Ok(Box::new(VirtualQueue { target: self.clone(), random, free_at, count: 0, turns: 0 }))
    }
}

struct VirtualQueue {
    target: Virtual,
    random: Random,
    free_at: Vec<u64>,
    count: u64,
    turns: u64,
}

impl Queue for VirtualQueue {
    unsafe fn turn(&mut self, sub: &[Submission], done: &mut [Completion], wait: Wait) -> Result<Turn> {
        assert_eq!(wait.min, 0, "virtual targets never wait");
        if self.turns == self.target.dies_at {
            return Err(Error::system("turn", "no such device"));
        }
        let n = sub.len().min(self.target.accepts);
        let mut truth = self.target.truth.lock().expect("no panic inside");
        for (sub, done) in sub[..n].iter().zip(&mut *done) {
            assert_eq!(sub.buf.is_null(), sub.op == Op::Flush as u8);
            let server = self.free_at.iter_mut().min().expect("a server");
            let (service_ns, errno, bytes) = (self.target.answer)(self.count, sub, &mut self.random);
            let finish_ns = sub.at_ns.max(*server) + service_ns;
            *server = finish_ns;
            self.count += 1;
            *done = Completion { slot: sub.slot, errno, bytes, finish_ns, ..Completion::default() };
            truth.push(Truth {
                stream: usize::from(sub.hint),
                op: Op::from_code(sub.op).expect("checked by the engine"),
                len: sub.len,
                start_ns: sub.at_ns,
                finish_ns,
                errno,
                bytes,
            });
        }
        if let Some(trick) = self.target.trick {
            trick(self.turns, &mut done[..n]);
        }
        self.turns += 1;
        Ok(Turn { accepted: n as u32, completed: n as u32 })
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact { name: "virtual".to_owned(), value: "yes".to_owned(), fallback: None }]
    }
}

/// What a turn of a [`Real`] target does before it answers; `Err` kills the queue.
pub(crate) type BeforeTurn = Arc<dyn Fn(u64) -> Result<()> + Send + Sync>;

/// A target in real time that keeps its data in memory: an I/O takes `service_ns` from its submission, and the
/// queue sleeps while it waits.
#[derive(Clone)]
pub(crate) struct Real {
    pub(crate) info: TargetInfo,
    pub(crate) service_ns: u64,
    pub(crate) before: BeforeTurn,
    /// Blocks of 4 KiB by number. What is not here reads as zeroes.
    pub(crate) blocks: Arc<Mutex<BTreeMap<u64, Vec<u8>>>>,
    /// Queues that were opened.
    pub(crate) queues: Arc<AtomicU64>,
    /// Called at a turn's end with its number, and with `u64::MAX` when the queue is closed.
    pub(crate) after: Option<fn(u64)>,
    /// Changes a turn's completions; gives how many are told.
    pub(crate) trick: Option<fn(&mut [Completion], usize) -> usize>,
}

impl Real {
    pub(crate) fn new(completion: CompletionStyle, service_ns: u64) -> Self {
        let info = TargetInfo { completion, ..info() };
        let before: BeforeTurn = Arc::new(|_| Ok(()));
        Real {
            info,
            service_ns,
            before,
            blocks: Arc::default(),
            queues: Arc::default(),
            after: None,
            trick: None,
        }
    }

    pub(crate) fn before(self, before: impl Fn(u64) -> Result<()> + Send + Sync + 'static) -> Self {
        Real { before: Arc::new(before), ..self }
    }
}

impl Target for Real {
    fn info(&self) -> TargetInfo {
        self.info
    }

    fn queue(&self, spec: &QueueSpec, buffers: &Buffers) -> Result<Box<dyn Queue>> {
        assert!(spec.depth <= self.info.max_depth && !buffers.blocks.is_empty());
        self.queues.fetch_add(1, SeqCst);
        let value = if spec.worker == 1 { "no" } else { "yes" };
        Ok(Box::new(RealQueue {
            target: self.clone(),
            waiting: Vec::new(),
            turns: 0,
            fact: value.to_owned(),
        }))
    }
}

struct RealQueue {
    target: Real,
    waiting: Vec<(u64, Completion)>,
    turns: u64,
    fact: String,
}

impl Drop for RealQueue {
    fn drop(&mut self) {
        if let Some(after) = self.target.after {
            after(u64::MAX);
        }
    }
}

impl RealQueue {
    fn carry_out(&self, sub: &Submission) {
        let mut blocks = self.target.blocks.lock().expect("no panic inside");
        if sub.op == Op::Flush as u8 {
            return;
        }
        // SAFETY: the engine lends `len` bytes until the completion, which is not told yet.
        let data = unsafe { std::slice::from_raw_parts_mut(sub.buf, sub.len as usize) };
        for (index, part) in data.chunks_mut(4096).enumerate() {
            let number = sub.offset / 4096 + index as u64;
            if sub.op == Op::Write as u8 {
                blocks.insert(number, part.to_vec());
            } else {
                match blocks.get(&number) {
                    Some(block) => part.copy_from_slice(block),
                    None => part.fill(0),
                }
            }
        }
    }
}

impl Queue for RealQueue {
    unsafe fn turn(&mut self, sub: &[Submission], done: &mut [Completion], wait: Wait) -> Result<Turn> {
        (self.target.before)(self.turns)?;
        self.turns += 1;
        for sub in sub {
            self.carry_out(sub);
            let told = Completion { slot: sub.slot, bytes: sub.len, ..Completion::default() };
            self.waiting.push((monotonic_ns() + self.target.service_ns, told));
        }
        let mut n = 0;
        loop {
            let now = monotonic_ns();
            let mut index = 0;
            while index < self.waiting.len() && n < done.len() {
                if self.waiting[index].0 <= now {
                    done[n] = self.waiting.remove(index).1;
                    n += 1;
                } else {
                    index += 1;
                }
            }
            if n >= wait.min as usize || self.waiting.is_empty() {
                break;
            }
            let next = self.waiting.iter().map(|(due, _)| *due).min().expect("one waits");
            std::thread::sleep(Duration::from_nanos(next.saturating_sub(now)));
        }
        if let Some(trick) = self.target.trick {
            n = trick(done, n);
        }
        if let Some(after) = self.target.after {
            after(self.turns - 1);
        }
        Ok(Turn { accepted: sub.len() as u32, completed: n as u32 })
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact { name: "registered".to_owned(), value: self.fact.clone(), fallback: None }]
    }
}
