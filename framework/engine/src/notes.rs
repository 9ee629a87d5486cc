//! Remarks on a result: what a reader must know before believing its numbers. Codes are fixed.

use iodyno_plugin::{CompletionStyle, Op};
use iodyno_record::{
    End, Fill, Note, NoteLevel, Phase, Stamps, StepResult, StepSpec, StreamResult, TargetKind,
};

use crate::collect::Totals;
use crate::layout::Layout;

/// Of the asked depth that must be reached.
const DEPTH_REACHED: f64 = 0.95;
/// Of the window that a worker may be busy before it is what limits.
const BUSY: f64 = 0.95;
/// Of the mean service time that a stamp may be off by.
const BLUR: f64 = 0.1;

/// All remarks on a result.
pub(crate) fn notes(spec: &StepSpec, layout: &Layout, totals: &Totals, result: &StepResult) -> Vec<Note> {
    let found = [
        simulated(layout),
        page_cache(spec),
        zero_fill(spec, layout),
        zero_reads(result),
        short_io(result),
        warmup_errors(totals),
        depth_not_reached(spec, layout, result),
        cpu_limited(layout, result),
        kernel_helpers(result),
        late_stamps(spec, totals, result),
        ended_early(spec, result),
        long_rows(totals),
    ];
    found.into_iter().flatten().chain(streams_ended_early(result)).collect()
}

fn warning(code: &str, text: String) -> Note {
    Note { level: NoteLevel::Warning, code: code.to_owned(), text }
}

fn info(code: &str, text: String) -> Note {
    Note { level: NoteLevel::Info, code: code.to_owned(), text }
}

fn percent(part: f64, of: f64) -> f64 {
    if of > 0.0 { part / of * 100.0 } else { 0.0 }
}

fn simulated(layout: &Layout) -> Option<Note> {
    let text = "simulated: no device was driven, and time is virtual";
    layout.target.simulated.then(|| info("simulated", text.to_owned()))
}

fn page_cache(spec: &StepSpec) -> Option<Note> {
    let cached = !spec.direct && matches!(spec.target.kind, TargetKind::File | TargetKind::Block);
    let text =
        "page cache: the I/O is not direct, so memory was measured as well; `direct = true` goes past it";
    cached.then(|| warning("page_cache", text.to_owned()))
}

fn zero_fill(spec: &StepSpec, layout: &Layout) -> Option<Note> {
    let writes = |(plan, facts): (&iodyno_record::StreamPlan, &crate::layout::StreamFacts)| {
        plan.fill == Fill::Zero && facts.info.ops.has(Op::Write)
    };
    let text = "zeroes were written: a device may store none of them; `fill = \"random\"` measures writing";
    spec.streams.iter().zip(&layout.streams).any(writes).then(|| warning("zero_fill", text.to_owned()))
}

fn zero_reads(result: &StepResult) -> Option<Note> {
    let zero: u64 = result.streams.iter().map(|s| s.zero_reads).sum();
    let reads: u64 = result.ops(Some(iodyno_record::Op::Read)).map(|op| op.completed).sum();
    let share = percent(zero as f64, reads as f64);
    let text = || {
        format!(
            "{share:.3} % of reads ({zero}) gave nothing but zeroes: such blocks were never written, or were \
             trimmed, and a device need not look for them; fill the target first"
        )
    };
    (zero > 0).then(|| warning("zero_reads", text()))
}

fn short_io(result: &StepResult) -> Option<Note> {
    let short: u64 = result.ops(None).map(|op| op.short).sum();
    let text = || format!("{short} I/O moved fewer bytes than asked; bandwidth counts what was moved");
    (short > 0).then(|| warning("short_io", text()))
}

fn warmup_errors(totals: &Totals) -> Option<Note> {
    let errors = totals.warmup_errors;
    let text =
        || format!("{errors} I/O of the warm-up failed; they are in its rows, not in the step's counts");
    (errors > 0).then(|| warning("warmup_errors", text()))
}

fn depth_not_reached(spec: &StepSpec, layout: &Layout, result: &StepResult) -> Option<Note> {
    let (asked, mean) = (result.depth.asked, result.depth.mean?);
    let whole = spec.measure_ns.is_some_and(|asked_ns| result.window_ns >= asked_ns);
    let bounded = whole && result.end == End::Completed;
    let why = if layout.target.completion == CompletionStyle::Inline && !layout.target.simulated {
        "this target completes within the submitting call, so that no more is ever outstanding than one call takes"
    } else {
        "the target completes in bursts, or the workload or the CPU time of its workers did not give more"
    };
    let text = || format!("{asked} outstanding I/O were asked for, {mean:.1} on average reached: {why}");
    let missed = bounded && mean < f64::from(asked) * DEPTH_REACHED;
    missed.then(|| warning("depth_not_reached", text()))
}

fn cpu_limited(layout: &Layout, result: &StepResult) -> Option<Note> {
    let waits = layout.target.completion == CompletionStyle::Interrupt && !layout.target.simulated;
    let window_ns = result.window_ns + result.tail_ns;
    let busy = |w: &&iodyno_record::WorkerResult| {
        (w.cpu.user_ns + w.cpu.system_ns) as f64 >= window_ns as f64 * BUSY
    };
    let count = if waits && window_ns > 0 { result.workers.iter().filter(busy).count() } else { 0 };
    let all = result.workers.len();
    let text = || {
        format!(
            "{count} of {all} workers had no idle CPU time: the host limits, not the target; ask for more workers"
        )
    };
    (count > 0).then(|| warning("cpu_limited", text()))
}

fn kernel_helpers(result: &StepResult) -> Option<Note> {
    let helper_ns = result.cpu.helper_ns;
    let share = percent(helper_ns as f64, (helper_ns + result.cpu.user_ns + result.cpu.system_ns) as f64);
    let text = || {
        format!(
            "the kernel gave I/O to threads of its own (io-wq), which took {share:.1} % of the CPU time: this \
             target cannot do it without waiting; backend `sync` may be faster"
        )
    };
    (helper_ns > 0).then(|| warning("kernel_helpers", text()))
}

fn late_stamps(spec: &StepSpec, totals: &Totals, result: &StepResult) -> Option<Note> {
    let resolution_ns = result.timing.resolution_ns;
    let mean_ns =
        result.ops(None).filter_map(|op| op.service.as_ref().map(|s| s.mean_ns)).reduce(f64::min)?;
    // Nobody fills to learn of latencies.
    let measured =
        spec.phase == Phase::Load && result.timing.stamps == Stamps::PerTurn && totals.blind_turns > 0;
    let text = || {
        format!(
            "a latency may be off by {}, which is much of it: completions are seen when their worker has done with \
             those before; less outstanding per worker sharpens them",
            iodyno_record::units::latency(resolution_ns)
        )
    };
    (measured && resolution_ns > mean_ns * BLUR).then(|| warning("late_stamps", text()))
}

fn ended_early(spec: &StepSpec, result: &StepResult) -> Option<Note> {
    let asked_ns = spec.measure_ns?;
    let early = result.end == End::Completed && result.window_ns < asked_ns;
    let duration = iodyno_record::units::duration;
    let (was, asked) = (duration(result.window_ns), duration(asked_ns));
    let text = || format!("the workloads were done after {was} of {asked}; rates are over that time");
    early.then(|| info("ended_early", text()))
}

/// Streams that were done clearly before the window was over and before another one.
fn streams_ended_early(result: &StepResult) -> impl Iterator<Item = Note> {
    let window_ns = result.window_ns;
    let ended_ns = move |stream: &StreamResult| stream.ended_after_ns.unwrap_or(window_ns);
    let last_ns = result.streams.iter().map(ended_ns).max().unwrap_or(0);
    let early = move |stream: &&StreamResult| last_ns - ended_ns(stream) > window_ns / 100;
    result.streams.iter().filter(early).map(move |stream| {
        let duration = iodyno_record::units::duration;
        let (name, ended_ns) = (&stream.name, ended_ns(stream));
        let completed: u64 = stream.ops.iter().map(|op| op.window_completed).sum();
        let rate = match ended_ns {
            0 => String::new(),
            _ => format!("; over the time that it lasted it did {:.0} IOPS", completed as f64 * 1e9 / ended_ns as f64),
        };
        let (was, of) = (duration(ended_ns), duration(window_ns));
        let text = format!(
            "stream `{name}` was done after {was} of {of}: its rates are averages over all of that time, in the rest of \
             which the other streams ran without it{rate}"
        );
        warning("stream_ended_early", text)
    })
}

fn long_rows(totals: &Totals) -> Option<Note> {
    let stretched = totals.stretched;
    let text = || {
        format!("windows longer than an interval: {stretched}, because the record was not kept fast enough")
    };
    (stretched > 0).then(|| info("long_rows", text()))
}
