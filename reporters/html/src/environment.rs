//! Where a run took place, and where its numbers come from.

use iodyno_record::{DeviceFacts, HostFacts, NoteLevel, PluginFact, TargetKind, units};

use crate::escape::Html;
use crate::facts::Facts;
use crate::run::Run;
use crate::words;

/// Targets and machine.
pub(crate) fn environment(out: &mut Html, runs: &[Run]) {
    let labels: Vec<&str> = runs.iter().map(|r| r.label.as_str()).collect();
    let targets = runs.iter().map(|r| r.results.environment.devices.len()).max().unwrap_or(0);
    out.raw("<section><h2>Environment</h2>");
    for index in 0..targets {
        let facts = device(runs, index);
        if !facts.is_empty() {
            out.raw("<h3>Target");
            if targets > 1 {
                out.raw(" ").text(index + 1);
            }
            out.raw("</h3>");
            facts.write(out, "Target", &labels);
        }
    }
    let facts = host(runs);
    if !facts.is_empty() {
        out.raw("<h3>Machine</h3>");
        facts.write(out, "Machine", &labels);
    }
    out.raw("</section>");
}

fn device(runs: &[Run], index: usize) -> Facts {
    let mut facts = Facts::default();
    let mut row = |name: &str, value: &dyn Fn(&DeviceFacts) -> Option<String>| {
        facts.row(name, runs.iter().map(|r| r.results.environment.devices.get(index).and_then(value)));
    };
    let bytes = |n: Option<u32>| n.map(|n| units::size(u64::from(n)));
    row("label", &|d| Some(d.label.clone()));
    row("path", &|d| d.path.clone());
    row("kind", &|d| Some(kind(d.kind).to_owned()));
    row("model", &|d| d.model.clone());
    row("serial number", &|d| d.serial.clone());
    row("firmware", &|d| d.firmware.clone());
    row("world-wide name", &|d| d.wwn.clone());
    row("size", &|d| {
        Some(format!("{} ({} bytes)", units::amount(d.size_bytes as f64), words::grouped(d.size_bytes)))
    });
    row("file system", &|d| {
        let at = d.mount_point.as_ref().map(|m| format!(" on {m}")).unwrap_or_default();
        d.filesystem.as_ref().map(|f| format!("{f}{at}"))
    });
    row("block device", &|d| {
        let number = d.device.as_ref().map(|n| format!(" ({n})")).unwrap_or_default();
        d.block_device.as_ref().map(|b| format!("{b}{number}"))
    });
    row("block size, logical", &|d| bytes(d.logical_block_bytes));
    row("block size, physical", &|d| bytes(d.physical_block_bytes));
    row("granule of direct I/O", &|d| Some(units::size(u64::from(d.granule_bytes))));
    row("medium", &|d| d.rotational.map(|r| if r { "turns" } else { "does not turn" }.to_owned()));
    row("scheduler", &|d| d.scheduler.clone());
    row("write cache", &|d| d.write_cache.clone());
    row("requests in the block layer", &|d| d.nr_requests.map(|n| n.to_string()));
    row("largest request", &|d| d.max_request_bytes.map(units::size));
    row("NUMA node", &|d| d.numa_node.map(|n| n.to_string()));
    facts
}

const fn kind(kind: TargetKind) -> &'static str {
    match kind {
        TargetKind::File => "file",
        TargetKind::Block => "block device",
        TargetKind::Char => "character device without storage",
        TargetKind::Virtual => "virtual: nothing behind it",
    }
}

fn host(runs: &[Run]) -> Facts {
    let mut facts = Facts::default();
    let mut row = |name: &str, value: &dyn Fn(&HostFacts) -> Option<String>| {
        facts.row(name, runs.iter().map(|r| value(&r.results.environment.host)));
    };
    row("host", &|h| h.hostname.clone());
    row("system", &|h| h.os.clone());
    row("kernel", &|h| h.kernel.clone());
    row("CPU", &|h| h.cpu_model.clone());
    row("CPUs online", &|h| h.cpus.map(|n| n.to_string()));
    row("governor", &|h| h.governor.clone());
    row("clock source", &|h| h.clocksource.clone());
    row("memory", &|h| h.memory_bytes.map(|b| units::amount(b as f64)));
    row("NUMA nodes", &|h| h.numa_nodes.map(|n| n.to_string()));
    row("virtual machine", &|h| h.virtualised.map(|v| if v { "yes" } else { "no" }.to_owned()));
    facts
}

/// Where the numbers come from.
pub(crate) fn provenance(out: &mut Html, runs: &[Run]) {
    let mut facts = Facts::default();
    let mut row = |name: &str, value: &dyn Fn(&Run) -> Option<String>| {
        facts.row(name, runs.iter().map(value));
    };
    let plan = |r: &Run| r.results.plan.clone();
    row("run", &|r| Some(r.results.run.id.clone()));
    row("suite", &|r| Some(r.results.plan.suite.clone()));
    row("description", &|r| plan(r).description);
    row("profile", &|r| plan(r).profile);
    row("seed", &|r| Some(r.results.plan.seed.to_string()));
    row("command", &|r| Some(words::command(&r.results.run.command)));
    row("began", &|r| Some(format!("{} UTC", units::utc(r.results.run.started_unix_ms))));
    row("ended", &|r| Some(format!("{} UTC", units::utc(r.results.run.ended_unix_ms))));
    row("iodyno", &|r| Some(r.results.environment.iodyno_version.clone()));
    row("plugins", &|r| {
        let plugin = |p: &PluginFact| {
            let hash = p.sha256.as_ref().map(|h| format!(", SHA-256 {h}")).unwrap_or_default();
            format!("{} {} {} ({}{hash})", p.kind, p.name, p.version, p.source)
        };
        let plugins: Vec<String> = r.results.environment.plugins.iter().map(plugin).collect();
        (!plugins.is_empty()).then(|| plugins.join("\n"))
    });
    row("schema of the record", &|r| Some(format!("version {}", r.results.schema_version)));
    row("remarks", &|r| {
        let notes = r.results.notes.iter().chain(&r.results.plan.notes);
        let notes: Vec<&str> =
            notes.filter(|n| n.level == NoteLevel::Info).map(|n| n.text.as_str()).collect();
        (!notes.is_empty()).then(|| notes.join("\n"))
    });
    let labels: Vec<&str> = runs.iter().map(|r| r.label.as_str()).collect();
    out.raw("<section><h2>Provenance</h2>");
    facts.write(out, "Provenance", &labels);
    out.raw("<p class=\"aid\">The same suite with the same seed asks for the same I/O in the same order: add <code>--seed</code> with this seed to the command.</p></section>");
}
