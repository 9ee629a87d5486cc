//! Preparations: filling the target, and leaving it alone for a while. They never inherit `region` or a time.

use iodyno_plugin::Op;
use iodyno_record::{ItemKind, Load, Phase, Sharing};

use crate::context::Context;
use crate::diagnostics::Fault;
use crate::draft::{ItemDraft, Requires, StreamDraft};
use crate::fields;
use crate::overlay::overlay;
use crate::plugin_use;
use crate::reader::{At, Section};
use crate::shape::Shape;
use crate::test_item::{defaults, fill as content, workers_fit};
use crate::tree::{Node, Raw, Table};

/// The item that fills a scratch file that was just made.
pub(crate) const FIRST_FILL: &str = "fill-scratch";

/// Reads all preparations.
pub(crate) fn items(
    rows: &[Section<'_>],
    tests: &[Section<'_>],
    root: &Node,
    built_in: &Node,
    context: &Context<'_>,
) -> Vec<ItemDraft> {
    let mut taken: Vec<String> =
        rows.iter().chain(tests).filter_map(|row| row.text("name")).map(|name| name.value).collect();
    let mut items = Vec::new();
    for row in rows {
        let (what, node) = match (row.get("fill"), row.get("idle")) {
            (Some(fill), None) => ("fill", fill),
            (None, Some(idle)) => ("idle", idle),
            (Some(_), Some(idle)) => {
                let fault = Fault::new(idle.place, "a preparation is either `fill` or `idle`");
                context.issues.add(fault.help("write a [[prepare]] for each"));
                continue;
            }
            (None, None) => {
                let fault = Fault::new(row.place(), "this preparation does nothing");
                context.issues.add(fault.help("add fill = {} or idle = \"5m\""));
                continue;
            }
        };
        let name = row.text("name").unwrap_or_else(|| {
            let numbered = (1_u32..).map(|i| if i == 1 { what.to_owned() } else { format!("{what}-{i}") });
            let free = numbered.into_iter().find(|name| !taken.contains(name));
            At { value: free.expect("numbers do not end"), place: row.place() }
        });
        taken.push(name.value.clone());
        items.extend(match what {
            "fill" => fill(node, name, &defaults(root, built_in, context), built_in, context),
            _ => idle(row, name, &defaults(root, built_in, context), context),
        });
    }
    items
}

/// The fill of a scratch file that was just made.
pub(crate) fn first_fill(root: &Node, built_in: &Node, context: &Context<'_>) -> Option<ItemDraft> {
    let node = built_in.get("fill_scratch").expect("the built-in defaults have it");
    let name = At { value: FIRST_FILL.to_owned(), place: node.place };
    let mut defaults = defaults(root, built_in, context);
    // The file is kept and trusted by later runs, so its content is not this suite's to choose.
    let content = built_in.get("defaults").and_then(|d| d.get("buffers"));
    defaults.set("buffers", content.expect("the built-in defaults have it").clone());
    fill(node, name, &defaults, built_in, context)
}

fn fill(
    node: &Node,
    name: At<String>,
    defaults: &Node,
    built_in: &Node,
    context: &Context<'_>,
) -> Option<ItemDraft> {
    let mut whole = built_in.get("fill").expect("the built-in defaults have it").clone();
    for key in ["backend", "direct", "buffers", "interval"] {
        if let Some(value) = defaults.get(key) {
            whole.set(key, value.clone());
        }
    }
    whole.place = node.place;
    overlay(&mut whole, node, &Shape::Table(fields::FILL), context.issues);
    pass_options(&mut whole, context);
    let section = Section::new(&whole, fields::FILL, context.issues);
    let path = format!("prepare.{}", name.value);
    for key in ["region", "outstanding", "workers", "direct", "buffers", "interval"] {
        whole.get(key).iter().for_each(|value| context.source(&format!("{path}.{key}"), value));
    }
    let work =
        plugin_use::workload(section.get("workload")?, &format!("{path}.workload"), node.place, context);
    let backend =
        plugin_use::backend(section.get("backend")?, &format!("{path}.backend"), node.place, context);
    let (outstanding, workers) = (section.whole("outstanding"), section.whole("workers"));
    let (region, content) = (section.region("region"), content(&section, context));
    let (direct, interval) = (section.bool("direct"), section.whole("interval"));
    let (work, outstanding, workers) = (work?, outstanding?, workers?);
    check_ends(&work, context)?;
    workers_fit(&outstanding, &workers, context)?;
    let load = Load { outstanding: outstanding.value as u32, workers: workers.value as u32 };
    Some(ItemDraft {
        name,
        kind: ItemKind::Prepare,
        phase: Phase::Fill,
        tags: Vec::new(),
        requires: Requires::default(),
        sharing: Sharing::Shared,
        outstanding: load.outstanding,
        streams: vec![StreamDraft {
            name: "fill".to_owned(),
            work,
            region: region?,
            load,
            weight: 1.0,
            fill: content?,
        }],
        backend: backend?,
        direct: direct?.value,
        interval_ns: interval?.value,
        warmup_ns: 0,
        measure_ns: None,
        expects: Vec::new(),
    })
}

/// `passes`, `block_size` and `pattern` are short for options of the workload.
fn pass_options(fill: &mut Node, context: &Context<'_>) {
    let Some(table) = fill.as_table_mut() else { return };
    let passed: Table =
        ["passes", "block_size", "pattern"].into_iter().filter_map(|key| table.remove_entry(key)).collect();
    if let Some(entry) = table.get_mut("workload")
        && !passed.is_empty()
    {
        let over = Node::new(entry.node.place, entry.node.origin, Raw::Table(passed));
        overlay(&mut entry.node, &over, &Shape::Plugin(iodyno_plugin::Kind::Workload), context.issues);
    }
}

/// A fill writes, and comes to an end.
fn check_ends(work: &plugin_use::Work, context: &Context<'_>) -> Option<()> {
    if !work.info.ops.has(Op::Write) {
        let fault = Fault::new(work.used.place, "this workload writes nothing, so it fills nothing");
        return context.fault(fault.help("give the fill a workload that writes"));
    }
    if work.info.passes.is_none() {
        let fault = Fault::new(work.used.place, "this workload never ends by itself, and a fill has no time");
        return context.fault(fault.help("set how often the region is written, for example passes = 1"));
    }
    Some(())
}

fn idle(row: &Section<'_>, name: At<String>, defaults: &Node, context: &Context<'_>) -> Option<ItemDraft> {
    let path = format!("prepare.{}", name.value);
    context.source(&format!("{path}.idle"), row.get("idle")?);
    let idle = row.whole("idle")?;
    let section = Section::new(defaults, fields::DEFAULTS, context.issues);
    Some(ItemDraft {
        name,
        kind: ItemKind::Prepare,
        phase: Phase::Idle,
        tags: Vec::new(),
        requires: Requires::default(),
        sharing: Sharing::Shared,
        outstanding: 0,
        streams: Vec::new(),
        backend: plugin_use::Used::none(idle.place),
        direct: section.bool("direct")?.value,
        interval_ns: section.whole("interval")?.value,
        warmup_ns: 0,
        measure_ns: Some(idle.value),
        expects: Vec::new(),
    })
}
