//! `iodyno run --dry-run`: everything that would be done, before any of it is.

use std::fmt::Write as _;

use iodyno_record::units::{amount, duration, size};
use iodyno_record::{Item, ItemKind, Phase, Plan, Setting, Settings, StepSpec};
use iodyno_runner::Grants;

use crate::suites::Planned;

/// The plan in words.
pub(crate) fn text(planned: &Planned, grants: &Grants) -> String {
    let plan = &planned.plan;
    let mut text = format!("suite {}, seed {}", plan.suite, plan.seed);
    if let Some(profile) = &plan.profile {
        let _ = write!(text, ", profile {profile}");
    }
    text.push('\n');
    targets(&mut text, plan, grants);
    text.push_str("\nsteps\n");
    plan.items.iter().for_each(|i| item(&mut text, i));
    totals(&mut text, plan);
    for note in &plan.notes {
        let _ = writeln!(text, "note: {}", note.text);
    }
    text.push_str("\nvalues and where they come from\n");
    let width = planned.sources.iter().map(|s| s.path.len()).max().unwrap_or(0);
    for source in &planned.sources {
        let _ = writeln!(text, "  {:width$} = {}   ({})", source.path, source.value, source.source);
    }
    text
}

fn targets(text: &mut String, plan: &Plan, grants: &Grants) {
    for target in &plan.targets {
        let _ = writeln!(text, "\ntarget {}", target.identity.with_label());
        if !target.written {
            text.push_str("  is only read\n");
        } else if target.scratch {
            text.push_str("  a scratch file that iodyno makes and writes to; nothing else is touched\n");
        } else if target.identity.path.is_some() {
            text.push_str("  WOULD BE DESTROYED: everything on it is lost\n");
            for refusal in iodyno_runner::refusals(target, grants) {
                let _ = writeln!(text, "  now refused: {}", refusal.text);
            }
        }
    }
}

fn item(text: &mut String, item: &Item) {
    let _ = writeln!(text, "  {:>3}  {}", item.id + 1, item.name);
    if let Some(reason) = &item.not_run {
        let _ = writeln!(text, "       not run: {reason}");
        return;
    }
    let _ = writeln!(text, "       {}, {}; {}", phases(&item.step), time(item), written(item));
    for stream in &item.step.streams {
        let _ = writeln!(
            text,
            "       {}: {} {{ {} }}, region {} to {}, outstanding {}",
            stream.name,
            stream.workload.plugin,
            settings(&stream.workload.options),
            size(stream.region_offset_bytes),
            size(stream.region_offset_bytes + stream.region_len_bytes),
            stream.load.outstanding,
        );
    }
    if !item.step.streams.is_empty() {
        let backend = &item.step.backend;
        let cache = if item.step.direct { "direct" } else { "through the page cache" };
        let options = settings(&backend.options);
        let options = if options.is_empty() { String::new() } else { format!(" {{ {options} }}") };
        let _ = writeln!(text, "       backend {}{options}, {cache}", backend.plugin);
    }
    for expect in &item.expects {
        let _ = writeln!(text, "       expects {}", expect.text);
    }
}

fn phases(step: &StepSpec) -> String {
    let length = |ns: Option<u64>| ns.map_or("until it is done".to_owned(), duration);
    match step.phase {
        Phase::Fill => "fill".to_owned(),
        Phase::Idle => format!("idle {}", length(step.measure_ns)),
        Phase::Load => format!("warm-up {}, measure {}", duration(step.warmup_ns), length(step.measure_ns)),
    }
}

fn time(item: &Item) -> String {
    item.bounds.time_ns.map_or("as long as it takes".to_owned(), |ns| format!("{} in all", duration(ns)))
}

fn written(item: &Item) -> String {
    match item.bounds.bytes_written {
        Some(0) => "writes nothing".to_owned(),
        Some(bytes) => format!("writes at most {}", amount(bytes as f64)),
        None => "writes unbounded".to_owned(),
    }
}

fn totals(text: &mut String, plan: &Plan) {
    let run: Vec<&Item> = plan.items.iter().filter(|i| i.not_run.is_none()).collect();
    let tests = run.iter().filter(|i| i.kind == ItemKind::Test).count();
    let known: u64 = run.iter().filter_map(|i| i.bounds.time_ns).sum();
    let open = run.iter().filter(|i| i.bounds.time_ns.is_none()).count();
    let also = if open > 0 { format!(" and {open} that take as long as they take") } else { String::new() };
    let written = run.iter().map(|i| i.bounds.bytes_written).sum::<Option<u64>>();
    let written = written.map_or("unbounded".to_owned(), |bytes| amount(bytes as f64));
    let _ = writeln!(
        text,
        "\n{} to run, {tests} of them tests: {}{also}; bytes written: {written}",
        run.len(),
        duration(known)
    );
}

fn settings(settings: &Settings) -> String {
    let entries: Vec<String> =
        settings.0.iter().map(|(name, value)| format!("{name} = {}", setting(value))).collect();
    entries.join(", ")
}

fn setting(value: &Setting) -> String {
    match value {
        Setting::Bool(b) => b.to_string(),
        Setting::Int(i) => i.to_string(),
        Setting::Float(f) => f.to_string(),
        Setting::Text(t) => format!("\"{t}\""),
        Setting::List(l) => format!("[{}]", l.iter().map(setting).collect::<Vec<_>>().join(", ")),
        Setting::Table(t) => {
            let entries: Vec<String> = t.iter().map(|(k, v)| format!("{k} = {}", setting(v))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}
