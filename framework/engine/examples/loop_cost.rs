//! Drives a number of I/O through the engine's loop and a queue that completes at once, so that the
//! instructions of one I/O can be counted: `loop_cost COUNT read|write` under callgrind with two counts, and
//! the difference divided. 4 KiB, random, outstanding 128, closed loop, histograms on, the real clock.
#![expect(unsafe_code, reason = "a queue's `turn` is unsafe to call; this one touches no buffer")]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::channel;

use iodyno_engine::{Parts, run_step};
use iodyno_plugin::random::{Random, derive};
use iodyno_plugin::{
    Buffers, Completion, CompletionStyle, Filled, More, Op, OpSet, Queue, QueueSpec, Request, Result, Stream,
    StreamSpec, Submission, Target, TargetInfo, Turn, Wait, Workload, WorkloadInfo,
};
use iodyno_record::{
    End, Fill, Load, Phase, PluginUse, Settings, Sharing, StepSpec, StreamPlan, TargetIdentity, TargetKind,
};

const BLOCK: u32 = 4096;
const REGION: u64 = 1 << 40;

struct Null;

impl Target for Null {
    fn info(&self) -> TargetInfo {
        TargetInfo {
            ops: OpSet::ALL,
            granule: 512,
            max_len: 1 << 20,
            max_depth: 4096,
            simulated: false,
            completion: CompletionStyle::Inline,
        }
    }

    fn queue(&self, _: &QueueSpec, _: &Buffers) -> Result<Box<dyn Queue>> {
        Ok(Box::new(NullQueue))
    }
}

struct NullQueue;

impl Queue for NullQueue {
    unsafe fn turn(&mut self, sub: &[Submission], done: &mut [Completion], _: Wait) -> Result<Turn> {
        for (done, sub) in done.iter_mut().zip(sub) {
            *done = Completion { slot: sub.slot, bytes: sub.len, ..Completion::default() };
        }
        let n = sub.len().min(done.len()) as u32;
        Ok(Turn { accepted: n, completed: n })
    }
}

#[derive(Clone, Copy)]
struct Uniform {
    op: Op,
    count: u64,
}

impl Workload for Uniform {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            ops: OpSet::EMPTY.with(self.op),
            max_len: BLOCK,
            granule: BLOCK,
            wants_completions: false,
            passes: None,
        }
    }

    fn stream(&self, spec: &StreamSpec) -> Result<Box<dyn Stream>> {
        let random = Random::new(derive(spec.seed, u64::from(spec.lane)));
        let blocks = spec.region_len / u64::from(BLOCK);
        Ok(Box::new(UniformLane { op: self.op as u8, left: self.count, random, blocks }))
    }
}

struct UniformLane {
    op: u8,
    left: u64,
    random: Random,
    blocks: u64,
}

impl Stream for UniformLane {
    fn fill(&mut self, out: &mut [Request]) -> Result<Filled> {
        let n = (out.len() as u64).min(self.left) as usize;
        for request in &mut out[..n] {
            let offset = self.random.below(self.blocks) * u64::from(BLOCK);
            *request = Request { op: self.op, len: BLOCK, offset, ..Request::default() };
        }
        self.left -= n as u64;
        Ok(Filled { n, more: if self.left == 0 { More::Done } else { More::More } })
    }
}

fn spec() -> StepSpec {
    let plugin = |name: &str| PluginUse { plugin: name.to_owned(), options: Settings::default() };
    StepSpec {
        item: 0,
        name: "loop-cost".to_owned(),
        step: 0,
        phase: Phase::Load,
        seed: 1,
        target: TargetIdentity {
            label: "null".to_owned(),
            kind: TargetKind::Virtual,
            path: None,
            size_bytes: REGION,
            device: None,
            inode: None,
            model: None,
            serial: None,
            firmware: None,
        },
        direct: true,
        backend: plugin("null"),
        sharing: Sharing::Independent,
        outstanding: 128,
        streams: vec![StreamPlan {
            name: "main".to_owned(),
            workload: plugin("uniform"),
            region_offset_bytes: 0,
            region_len_bytes: REGION,
            load: Load { outstanding: 128, workers: 1 },
            weight: 1.0,
            fill: Fill::Random,
        }],
        warmup_ns: 0,
        measure_ns: None,
        interval_ns: 1_000_000_000,
        consecutive_errors_max: 100,
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let op = match arguments.get(2).map(String::as_str) {
        Some("read") => Op::Read,
        Some("write") => Op::Write,
        _ => return ExitCode::from(2),
    };
    let Some(count) = arguments.get(1).and_then(|count| count.parse().ok()) else { return ExitCode::from(2) };
    let parts = Parts {
        backend: "null".to_owned(),
        target: Arc::new(Null),
        workloads: vec![Arc::new(Uniform { op, count })],
    };
    let (_sender, commands) = channel();
    let result = run_step(&spec(), &parts, &commands, &mut |_| {});
    let completed: u64 = result.ops(None).map(|op| op.completed).sum();
    if result.end == End::Completed && completed == count { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
