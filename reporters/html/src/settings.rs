//! How a step was set up, and how it went beside its key figures.

use iodyno_record::{
    Fill, NoteLevel, Op, PluginUse, Sharing, Stamps, StepRecord, StreamPlan, StreamResult, units,
};

use crate::facts::Facts;
use crate::subject::Subject;
use crate::words;

/// Settings and circumstances of one subject.
pub(crate) fn of_subject(subject: &Subject<'_>) -> Facts {
    let mut facts = Facts::default();
    let mut row = |name: &str, value: &dyn Fn(&StepRecord) -> Option<String>| {
        facts.row(name, subject.entries.iter().map(|e| e.as_ref().and_then(|e| e.step).and_then(value)));
    };
    let io = |s: &StepRecord| !s.spec.streams.is_empty();
    let duration = |ns: u64| if ns > 0 { Some(units::duration(ns)) } else { None };
    row("target", &|s| Some(s.spec.target.with_label()));
    row("workload", &|s| per_stream(s, |p| plugin(&p.workload)));
    row("region", &|s| per_stream(s, |p| region(p, s.spec.target.size_bytes)));
    row("load", &|s| io(s).then(|| load(s)));
    row("blocks written", &|s| {
        let writes = s.result.ops(Some(Op::Write)).next().is_some();
        writes.then(|| per_stream(s, |p| written(s, p).to_owned())).flatten()
    });
    row("direct I/O", &|s| io(s).then(|| if s.spec.direct { "yes" } else { "no, page cache" }.to_owned()));
    row("backend", &|s| io(s).then(|| backend(s)));
    row("warm-up", &|s| duration(s.result.warmup_ns));
    row("measured", &|s| {
        let asked = s.spec.measure_ns.map(|ns| format!(" of {} asked for", units::duration(ns)));
        Some(format!("{}{}", units::duration(s.result.window_ns), asked.unwrap_or_default()))
    });
    row("last I/O after the end", &|s| {
        (s.result.tail_ns > 0).then(|| units::latency(s.result.tail_ns as f64))
    });
    row("completed", &|s| io(s).then(|| completed(s)));
    row("most in flight", &|s| io(s).then(|| s.result.depth.max.to_string()));
    row("interval", &|s| io(s).then(|| units::duration(s.spec.interval_ns)));
    row("timing", &|s| io(s).then(|| timing(s)));
    row("CPU", &|s| cpu(s));
    row("began", &|s| Some(format!("{} UTC", units::utc(s.result.started_unix_ms))));
    row("step seed", &|s| io(s).then(|| s.spec.seed.to_string()));
    row("remarks", &|s| {
        let notes = s.result.notes.iter().filter(|n| n.level == NoteLevel::Info).map(|n| n.text.clone());
        let notes: Vec<String> = notes.collect();
        (!notes.is_empty()).then(|| notes.join("\n"))
    });
    facts
}

/// One line a stream, named where there are several.
fn per_stream(step: &StepRecord, text: impl Fn(&StreamPlan) -> String) -> Option<String> {
    let several = step.spec.streams.len() > 1;
    let line = |p: &StreamPlan| if several { format!("{}: {}", p.name, text(p)) } else { text(p) };
    let lines: Vec<String> = step.spec.streams.iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn plugin(used: &PluginUse) -> String {
    let options: Vec<String> =
        used.options.0.iter().map(|(k, v)| format!("{k} {}", words::setting(k, v))).collect();
    if options.is_empty() {
        used.plugin.clone()
    } else {
        format!("{}: {}", used.plugin, options.join(" \u{b7} "))
    }
}

fn region(stream: &StreamPlan, size_bytes: u64) -> String {
    let share = stream.region_len_bytes as f64 / size_bytes.max(1) as f64 * 100.0;
    let from = match stream.region_offset_bytes {
        0 => "from the start".to_owned(),
        offset => format!("from {}", units::amount(offset as f64)),
    };
    format!("{} ({} %) {from}", units::amount(stream.region_len_bytes as f64), units::count(share))
}

fn load(step: &StepRecord) -> String {
    let workers = |n: u32| if n == 1 { "1 worker".to_owned() } else { format!("{n} workers") };
    let started = workers(u32::try_from(step.result.workers.len()).unwrap_or(u32::MAX));
    match (step.spec.sharing, step.spec.streams.len()) {
        (_, 1) => format!("closed loop, {} outstanding, {started}", step.spec.outstanding),
        (Sharing::Shared, _) => {
            let weights = per_stream(step, |p| format!("weight {}", p.weight)).unwrap_or_default();
            format!("closed loop, {} outstanding in one queue, {started}\n{weights}", step.spec.outstanding)
        }
        (Sharing::Independent, _) => {
            let each =
                per_stream(step, |p| format!("{} outstanding", p.load.outstanding)).unwrap_or_default();
            format!("closed loop, independent streams, {started}\n{each}")
        }
    }
}

fn written(step: &StepRecord, stream: &StreamPlan) -> &'static str {
    let writes = |s: &StreamResult| s.name == stream.name && s.ops.iter().any(|o| o.op == Op::Write);
    if !step.result.streams.iter().any(writes) {
        return "none";
    }
    match stream.fill {
        Fill::Random => "every one unique and incompressible",
        Fill::Zero => "zeroes",
    }
}

fn backend(step: &StepRecord) -> String {
    let (asked, used) = (&step.spec.backend, &step.result.backend);
    let mut text = used.plugin.clone();
    if asked.plugin != used.plugin {
        text += &format!(" (asked for: {})", asked.plugin);
    } else if !asked.options.0.is_empty() {
        text = plugin(asked);
    }
    for fact in &used.facts {
        text += &format!("\n{}: {}", fact.name, fact.value);
        if let Some(why) = &fact.fallback {
            text += &format!(" (fallback: {why})");
        }
    }
    text
}

fn completed(step: &StepRecord) -> String {
    let several = step.result.streams.len() > 1;
    let mut lines = Vec::new();
    for stream in &step.result.streams {
        for op in &stream.ops {
            let name = if several { format!("{} ", stream.name) } else { String::new() };
            let bytes =
                if op.bytes > 0 { format!(", {}", units::amount(op.bytes as f64)) } else { String::new() };
            let short =
                if op.short > 0 { format!(", {} short", words::grouped(op.short)) } else { String::new() };
            let zero = stream.zero_reads;
            let zero = if zero > 0 && op.op == Op::Read {
                format!(", {} of nothing but zeroes", words::grouped(zero))
            } else {
                String::new()
            };
            lines.push(format!(
                "{name}{}: {}{bytes}{short}{zero}",
                op.op.name(),
                words::grouped(op.completed)
            ));
        }
    }
    lines.join("\n")
}

fn timing(step: &StepRecord) -> String {
    let timing = &step.result.timing;
    let stamps = match timing.stamps {
        Stamps::PerTurn => "a stamp per turn of the queue",
        Stamps::Simulated => "finish times from the model",
        Stamps::Unknown => "stamps unknown: the process was killed",
    };
    format!("{} clock, {stamps}, resolution {}", timing.clock, units::latency(timing.resolution_ns))
}

/// How many CPUs were busy, and CPU time per I/O.
fn cpu(step: &StepRecord) -> Option<String> {
    let cpu = &step.result.cpu;
    let total_ns = (cpu.user_ns + cpu.system_ns + cpu.helper_ns) as f64;
    let elapsed_ns = (step.result.window_ns + step.result.tail_ns) as f64;
    let done: u64 = step.result.workers.iter().map(|w| w.completed).sum();
    if total_ns == 0.0 || elapsed_ns == 0.0 || done == 0 {
        return None;
    }
    let share = |ns: u64| format!("{:.0} %", ns as f64 / total_ns * 100.0);
    Some(format!(
        "{:.2} busy, {} per I/O ({} user, {} system, {} kernel helpers)",
        total_ns / elapsed_ns,
        units::latency(total_ns / done as f64),
        share(cpu.user_ns),
        share(cpu.system_ns),
        share(cpu.helper_ns)
    ))
}
