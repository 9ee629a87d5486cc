//! The text of one run, section by section.

use std::fmt::Write as _;

use iodyno_record::{
    ExpectResult, HostFacts, ItemKind, Metric, MetricKind, NoteLevel, Outcome, Results, Stamps, StepRecord,
    TargetKind, units,
};

use crate::layout::{Side, columns, paragraph};
use crate::results::{self, steps};

/// The whole text.
pub(crate) fn run(results: &Results) -> String {
    let sections = [
        head(results),
        results::table(results),
        section("EXPECTATIONS", &expectations(results)),
        section("NOT RUN OR CUT SHORT", &missing(results)),
        section("WARNINGS", &remarks(results, NoteLevel::Warning, "!")),
        section("NOTES", &remarks(results, NoteLevel::Info, "-")),
    ];
    let mut text = String::new();
    for section in sections.iter().filter(|section| !section.is_empty()) {
        text += section;
        text.push('\n');
    }
    text + &summary(results)
}

fn section(title: &str, content: &str) -> String {
    if content.is_empty() { String::new() } else { format!("  {title}\n{content}") }
}

fn head(results: &Results) -> String {
    let (plan, run) = (&results.plan, &results.run);
    let mut text = format!("iodyno {}: {}\n", results.environment.iodyno_version, plan.suite);
    if let Some(description) = &plan.description {
        let _ = writeln!(text, "{description}");
    }
    text.push('\n');
    let mut lines: Vec<(&str, String)> =
        plan.targets.iter().map(|t| ("target", t.identity.with_label())).collect();
    lines.push(("backend", backend(results)));
    lines.push(("timing", timing(results)));
    lines.push(("host", host(&results.environment.host)));
    if let Some(profile) = &plan.profile {
        lines.push(("profile", profile.clone()));
    }
    lines.push(("seed", plan.seed.to_string()));
    lines.push(("run", run.id.clone()));
    let took = units::duration(run.ended_unix_ms.saturating_sub(run.started_unix_ms) * 1_000_000);
    lines.push(("started", format!("{} UTC, took {took}", units::utc(run.started_unix_ms))));
    lines.push(("outcome", format!("{} {}", mark(run.outcome), outcome(run.outcome))));
    let lines = lines.into_iter().filter(|(_, value)| !value.is_empty());
    let lines: Vec<Vec<String>> = lines.map(|(name, value)| vec![name.to_owned(), value]).collect();
    text + &columns(&[Side::Left, Side::Left], &lines)
}

/// Each text once, in the order in which they come.
fn distinct(texts: impl Iterator<Item = String>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen.join("; ")
}

fn backend(results: &Results) -> String {
    distinct(steps(results).map(|step| {
        let (used, asked) = (&step.result.backend.plugin, &step.spec.backend.plugin);
        let by = if used == asked { String::new() } else { format!(" (asked for: {asked})") };
        let stored = matches!(step.spec.target.kind, TargetKind::File | TargetKind::Block);
        let cache = match step.spec.direct {
            _ if !stored => "",
            true => ", direct I/O",
            false => ", through the page cache",
        };
        format!("{used}{by}{cache}")
    }))
}

/// How stamps were taken, each way with the worst resolution that it had.
fn timing(results: &Results) -> String {
    let mut ways: Vec<(String, f64)> = Vec::new();
    for step in steps(results) {
        let timing = &step.result.timing;
        let stamps = match timing.stamps {
            Stamps::PerTurn => "a stamp per turn of the queue",
            Stamps::Simulated => "simulated",
            Stamps::Unknown => "stamps unknown",
        };
        let way = format!("{} clock, {stamps}", timing.clock);
        match ways.iter_mut().find(|(known, _)| *known == way) {
            Some((_, worst)) => *worst = worst.max(timing.resolution_ns),
            None => ways.push((way, timing.resolution_ns)),
        }
    }
    let way = |(way, worst): (String, f64)| {
        if worst > 0.0 { format!("{way}, good to {}", units::latency(worst)) } else { way }
    };
    ways.into_iter().map(way).collect::<Vec<_>>().join("; ")
}

fn host(host: &HostFacts) -> String {
    let mut parts = Vec::new();
    parts.extend(host.hostname.clone());
    parts.extend(host.cpu_model.clone());
    parts.extend(host.cpus.map(|cpus| format!("{cpus} CPUs")));
    parts.extend(host.kernel.as_ref().map(|kernel| format!("Linux {kernel}")));
    parts.extend(host.governor.as_ref().map(|governor| format!("governor {governor}")));
    if host.virtualised == Some(true) {
        parts.push("virtual machine".into());
    }
    parts.join(", ")
}

fn mark(outcome: Outcome) -> char {
    match outcome {
        Outcome::Passed => '✓',
        Outcome::NotRun => '-',
        Outcome::ThresholdsCrossed | Outcome::Failed => '✗',
        Outcome::Interrupted => '!',
    }
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::NotRun => "not run",
        Outcome::ThresholdsCrossed => "thresholds crossed",
        Outcome::Failed => "failed",
        Outcome::Interrupted => "interrupted",
    }
}

fn expectations(results: &Results) -> String {
    let mut lines = Vec::new();
    for item in &results.items {
        let planned = results.plan.items.iter().find(|planned| planned.id == item.item);
        let metrics = planned.map(|planned| &planned.expects[..]).unwrap_or_default();
        for expect in &item.expects {
            let metric = metrics.iter().find(|e| e.text == expect.text).map(|e| &e.metric);
            let held = if expect.held { "✓" } else { "✗" };
            let measured = measured(expect, metric);
            let remark = expect.remark.clone().unwrap_or_default();
            lines.push(vec![format!("{held} {}", item.name), expect.text.clone(), measured, remark]);
        }
    }
    columns(&[Side::Left, Side::Left, Side::Right, Side::Left], &lines)
}

/// What was measured, in the unit of its metric.
fn measured(expect: &ExpectResult, metric: Option<&Metric>) -> String {
    let Some(value) = expect.measured else { return "nothing measured".into() };
    match metric.map(|metric| metric.kind) {
        Some(MetricKind::Latency { .. }) => units::latency(value),
        Some(MetricKind::Bandwidth) => units::bandwidth(value),
        Some(MetricKind::Bytes) => units::amount(value),
        Some(MetricKind::Iops) => units::count(value),
        _ => value.to_string(),
    }
}

fn missing(results: &Results) -> String {
    let mut text = String::new();
    for item in &results.items {
        let plain = matches!(item.outcome, Outcome::Passed | Outcome::ThresholdsCrossed);
        if !plain || item.reason.is_some() {
            let reason = item.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let content = format!("{} {}{reason}", item.name, outcome(item.outcome));
            text += &paragraph(&mark(item.outcome).to_string(), &content);
        }
    }
    let reached = |id: u32| results.items.iter().any(|item| item.item == id);
    let never = results.plan.items.iter().filter(|item| !reached(item.id));
    let never: Vec<&str> = never.map(|item| item.name.as_str()).collect();
    if !never.is_empty() {
        text += &paragraph("-", &format!("never reached: {}", never.join(", ")));
    }
    text
}

/// Remarks of one level, each behind the tests that it is about: the same one on several tests is told once.
fn remarks(results: &Results, level: NoteLevel, mark: &str) -> String {
    let of_run = results.plan.notes.iter().chain(&results.notes).filter(|note| note.level == level);
    let mut all: Vec<(Option<&str>, String)> = of_run.map(|note| (None, note.text.clone())).collect();
    for step in results.items.iter().flat_map(|item| &item.steps) {
        let mut of_step = if level == NoteLevel::Warning { faults(step) } else { Vec::new() };
        let notes = step.result.notes.iter().filter(|note| note.level == level);
        of_step.extend(notes.map(|note| note.text.clone()));
        all.extend(of_step.into_iter().map(|text| (Some(step.spec.name.as_str()), text)));
    }
    let mut told: Vec<(String, Vec<&str>)> = Vec::new();
    for (test, text) in all {
        let known = told.iter().position(|(known, _)| *known == text);
        let at = known.unwrap_or_else(|| {
            told.push((text, Vec::new()));
            told.len() - 1
        });
        let tests = &mut told[at].1;
        if let Some(test) = test.filter(|test| !tests.contains(test)) {
            tests.push(test);
        }
    }
    let line = |(text, tests): (String, Vec<&str>)| match &tests[..] {
        [] => paragraph(mark, &text),
        tests => paragraph(mark, &format!("{}: {text}", tests.join(", "))),
    };
    told.into_iter().map(line).collect()
}

/// Failed I/O, and what the backend could not use.
fn faults(step: &StepRecord) -> Vec<String> {
    let mut faults = Vec::new();
    for stream in &step.result.streams {
        for op in &stream.ops {
            for (errno, n) in &op.errors {
                let cause = std::io::Error::from_raw_os_error(*errno);
                let (name, op) = (&stream.name, op.op.name());
                faults.push(format!("{n} {op} I/O of stream `{name}` failed: {cause}"));
            }
        }
    }
    let facts = step.result.backend.facts.iter();
    let worse = facts.filter_map(|fact| Some((fact, fact.fallback.as_ref()?)));
    faults.extend(worse.map(|(fact, why)| format!("{} = {}: {why}", fact.name, fact.value)));
    faults
}

/// The last line: how many tests ended how.
fn summary(results: &Results) -> String {
    let planned = results.plan.items.iter().filter(|item| item.kind == ItemKind::Test);
    let ended = planned.map(|planned| {
        let result = results.items.iter().find(|item| item.item == planned.id);
        result.map_or("never reached", |result| outcome(result.outcome))
    });
    let mut counts: Vec<(&str, u32)> = Vec::new();
    for word in ended {
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, n)) => *n += 1,
            None => counts.push((word, 1)),
        }
    }
    let tests: u32 = counts.iter().map(|(_, n)| n).sum();
    let parts: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {word}")).collect();
    format!("  Summary  {tests} test{}: {}\n", if tests == 1 { "" } else { "s" }, parts.join(", "))
}
