//! Tests: what each says, laid over the defaults.

use iodyno_record::{Fill, ItemKind, Load, Op, Phase, Sharing, TargetKind};

use crate::context::Context;
use crate::diagnostics::Fault;
use crate::draft::{ItemDraft, Requires, StreamDraft};
use crate::expect::{self, RESERVED, Subject};
use crate::fields::{self, OUTSTANDING_MAX};
use crate::overlay::overlay;
use crate::overrides::is_name;
use crate::plugin_use;
use crate::reader::{At, Section};
use crate::shape::Shape;
use crate::targets::Target;
use crate::text::{Origin, Place};
use crate::tree::{Node, Raw, Table};

/// The name of a stream that has none.
const ONLY_STREAM: &str = "main";

/// The defaults that a suite has, laid over the built-in ones.
pub(crate) fn defaults(root: &Node, built_in: &Node, context: &Context<'_>) -> Node {
    let mut base = built_in.get("defaults").expect("the built-in defaults have those of tests").clone();
    if let Some(over) = root.get("defaults").filter(|n| n.as_table().is_some()) {
        overlay(&mut base, over, &Shape::Table(fields::DEFAULTS), context.issues);
    }
    base
}

/// Reads a test. `None` after a fault.
pub(crate) fn item(
    row: &Section<'_>,
    root: &Node,
    built_in: &Node,
    target: &Target,
    context: &Context<'_>,
) -> Option<ItemDraft> {
    let mut whole = defaults(root, built_in, context);
    overlay(&mut whole, row.node(), &Shape::Table(fields::TEST), context.issues);
    let test = Section::new(&whole, fields::TEST, context.issues);
    let name = test.text("name");
    let path = format!("test.{}", name.as_ref().map_or("?", |name| name.value.as_str()));
    let sharing = sharing(&test);
    tell_sources(&test, sharing, &path, context);
    let streams = streams(row, &whole, sharing.unwrap_or(Sharing::Shared), &path, context);
    let backend = plugin_use::backend(test.get("backend")?, &format!("{path}.backend"), row.place(), context);
    let phases = test.section("phases");
    let length = |name| phases.and_then(|p| p.whole(name)).map(|at| at.value);
    let (warmup_ns, measure_ns) = (length("warmup"), length("measure"));
    let (direct, interval) = (test.bool("direct"), test.whole("interval"));
    let total = outstanding(&test, sharing, streams.as_deref(), row.place(), context);
    let requires = requires(&test);
    let expects = expects(row, streams.as_deref(), target, context);
    Some(ItemDraft {
        name: name?,
        kind: ItemKind::Test,
        phase: Phase::Load,
        tags: test.texts("tags").into_iter().map(|tag| tag.value.to_owned()).collect(),
        requires,
        sharing: sharing?,
        outstanding: total?,
        streams: streams?,
        backend: backend?,
        direct: direct?.value,
        interval_ns: interval?.value,
        warmup_ns: warmup_ns?,
        measure_ns: Some(measure_ns?),
        expects,
    })
}

/// Who says what of a test; plugins and streams tell of theirs.
fn tell_sources(test: &Section<'_>, sharing: Option<Sharing>, path: &str, context: &Context<'_>) {
    let has_streams = test.get("stream").is_some();
    for (key, entry) in test.node().as_table().into_iter().flatten() {
        let elsewhere = match key.as_str() {
            "name" | "stream" | "backend" | "workload" => true,
            "region" | "buffers" => has_streams,
            "load" => has_streams && sharing == Some(Sharing::Independent),
            _ => false,
        };
        if !elsewhere {
            context.source(&format!("{path}.{key}"), &entry.node);
        }
    }
}

fn sharing(test: &Section<'_>) -> Option<Sharing> {
    let word = test.text("streams")?.value;
    Some(if word == "independent" { Sharing::Independent } else { Sharing::Shared })
}

fn requires(test: &Section<'_>) -> Requires {
    let Some(section) = test.section("requires") else { return Requires::default() };
    let capacity_bytes = section.whole("capacity").map(|at| at.value);
    let kind = section.text("kind").map(|kind| match kind.value.as_str() {
        "file" => TargetKind::File,
        "block" => TargetKind::Block,
        "char" => TargetKind::Char,
        _ => TargetKind::Virtual,
    });
    Requires { capacity_bytes, kind }
}

/// Outstanding I/O of all streams together.
fn outstanding(
    test: &Section<'_>,
    sharing: Option<Sharing>,
    streams: Option<&[StreamDraft]>,
    place: Place,
    context: &Context<'_>,
) -> Option<u32> {
    if sharing? == Sharing::Shared {
        return load(test, context).map(|load| load.outstanding);
    }
    let total: u64 = streams?.iter().map(|s| u64::from(s.load.outstanding)).sum();
    if total > OUTSTANDING_MAX as u64 {
        let message =
            format!("the streams have {total} outstanding together, must be at most {OUTSTANDING_MAX}");
        return context.fault(Fault::new(place, message));
    }
    u32::try_from(total).ok()
}

/// Reads the load of a test or stream.
fn load(section: &Section<'_>, context: &Context<'_>) -> Option<Load> {
    let load = section.section("load")?;
    let (outstanding, workers) = (load.whole("outstanding")?, load.whole("workers")?);
    workers_fit(&outstanding, &workers, context)?;
    Some(Load { outstanding: outstanding.value as u32, workers: workers.value as u32 })
}

/// Each worker needs an I/O of its own.
pub(crate) fn workers_fit(outstanding: &At<u64>, workers: &At<u64>, context: &Context<'_>) -> Option<()> {
    if workers.value <= outstanding.value {
        return Some(());
    }
    let message = format!(
        "`workers` is {}, must be at most `outstanding`, which is {}: each needs an I/O of its own",
        workers.value, outstanding.value
    );
    context.fault(Fault::new(workers.place, message).related(outstanding.place, "outstanding"))
}

/// What is written.
pub(crate) fn fill(section: &Section<'_>, context: &Context<'_>) -> Option<Fill> {
    let buffers = section.section("buffers")?;
    for name in ["compress", "dedup"] {
        if let Some(share) = buffers.number(name).filter(|share| share.value != 0.0) {
            let fault = Fault::new(share.place, format!("`{name}` above 0 is not supported yet"));
            context.issues.add(fault.help("for now, every block is unique and incompressible, or zero"));
        }
    }
    Some(if buffers.text("fill")?.value == "zero" { Fill::Zero } else { Fill::Random })
}

fn streams(
    row: &Section<'_>,
    test: &Node,
    sharing: Sharing,
    path: &str,
    context: &Context<'_>,
) -> Option<Vec<StreamDraft>> {
    let rows = row.rows("stream");
    if rows.is_empty() {
        if let Some(node) = row.get("stream").filter(|n| matches!(&n.raw, Raw::List(list) if list.is_empty()))
        {
            return context
                .fault(Fault::new(node.place, "`stream` is empty").help("leave it out, or add a stream"));
        }
        let mut only = inherited(test);
        only.place = row.place();
        let section = Section::new(&only, fields::STREAM, context.issues);
        return stream(&section, ONLY_STREAM.to_owned(), path, false, context).map(|s| vec![s]);
    }
    let mut streams = Vec::new();
    let mut seen: Vec<At<String>> = Vec::new();
    for row in &rows {
        check_row(row, sharing, rows.len(), context);
        let mut whole = inherited(test);
        whole.place = row.place();
        overlay(&mut whole, row.node(), &Shape::Table(fields::STREAM), context.issues);
        if let (Sharing::Shared, Some(load)) = (sharing, test.get("load")) {
            whole.set("load", load.clone());
        }
        let section = Section::new(&whole, fields::STREAM, context.issues);
        let Some(name) = section.text("name") else { continue };
        check_stream_name(&name, &seen, context);
        let path = format!("{path}.stream.{}", name.value);
        let own_load = sharing == Sharing::Independent;
        streams.push(stream(&section, name.value.clone(), &path, own_load, context));
        seen.push(name);
    }
    let complete = streams.len() == rows.len();
    streams.into_iter().collect::<Option<Vec<_>>>().filter(|_| complete)
}

/// What a stream takes from its test.
fn inherited(test: &Node) -> Node {
    let keys = ["workload", "region", "load", "buffers"];
    let table: Table = test
        .as_table()
        .into_iter()
        .flatten()
        .filter(|(key, _)| keys.contains(&key.as_str()))
        .map(|(key, entry)| (key.clone(), entry.clone()))
        .collect();
    Node::new(test.place, Origin::BuiltIn, Raw::Table(table))
}

/// Fields that mean nothing under this sharing would be ignored, so they are refused.
fn check_row(row: &Section<'_>, sharing: Sharing, count: usize, context: &Context<'_>) {
    match (sharing, row.get("load"), row.get("weight")) {
        (Sharing::Shared, Some(load), _) => {
            let fault = Fault::new(load.place, "streams that share a queue have no `load` of their own");
            let advice = "put `load` into the test, or write streams = \"independent\" there";
            context.issues.add(fault.help(advice));
        }
        (Sharing::Independent, _, Some(weight)) if count > 1 => {
            let fault = Fault::new(weight.place, "independent streams have no `weight`");
            context.issues.add(fault.help("leave it out, or write streams = \"shared\" in the test"));
        }
        _ => {}
    }
}

fn check_stream_name(name: &At<String>, seen: &[At<String>], context: &Context<'_>) {
    let text = name.value.as_str();
    let fault = if RESERVED.contains(&text) {
        let fault = Fault::new(name.place, format!("a stream cannot be called `{text}`"));
        fault.help("that word means something in `expect`; choose another")
    } else if !is_name(text) || text.contains('.') {
        let fault = Fault::new(name.place, format!("the name \"{text}\" cannot be used for a stream"));
        fault.help("start with a letter or digit, go on with letters, digits, `_` and `-`, 64 at most")
    } else if let Some(first) = seen.iter().find(|other| other.value == text) {
        let fault = Fault::new(name.place, format!("the test has two streams `{text}`"));
        fault.label("again here").related(first.place, "first used here")
    } else {
        return;
    };
    context.issues.add(fault);
}

fn stream(
    section: &Section<'_>,
    name: String,
    path: &str,
    own_load: bool,
    context: &Context<'_>,
) -> Option<StreamDraft> {
    let at = |key: &str| format!("{path}.{key}");
    if path.contains(".stream.") {
        for key in ["region", "buffers", "weight"].into_iter().chain(own_load.then_some("load")) {
            if let Some(node) = section.get(key) {
                context.source(&at(key), node);
            }
        }
    }
    let work =
        match section.get("workload") {
            Some(node) => plugin_use::workload(node, &at("workload"), section.place(), context),
            None => {
                let what = if path.contains(".stream.") { "this stream" } else { "this test" };
                let fault = Fault::new(section.place(), format!("{what} has no workload"));
                let plugins = context.catalog.list(iodyno_plugin::Kind::Workload);
                let example = plugins.first().map_or("NAME", |p| p.name);
                context.fault(fault.help(format!(
                    "add workload = {{ plugin = \"{example}\", .. }}, or put it into [defaults]"
                )))
            }
        };
    let (region, fill, load) = (section.region("region"), fill(section, context), load(section, context));
    let weight = if section.get("weight").is_some() { section.number("weight")?.value } else { 1.0 };
    Some(StreamDraft { name, work: work?, region: region?, load: load?, weight, fill: fill? })
}

fn expects(
    row: &Section<'_>,
    streams: Option<&[StreamDraft]>,
    target: &Target,
    context: &Context<'_>,
) -> Vec<iodyno_record::Expect> {
    let ops = |stream: &StreamDraft| {
        let asked = |op: &Op| stream.work.info.ops.iter().any(|asked| asked.name() == op.name());
        Op::ALL.into_iter().filter(asked).collect()
    };
    let streams: Vec<(String, Vec<Op>)> = match streams {
        Some(streams) => streams.iter().map(|s| (s.name.clone(), ops(s))).collect(),
        // With a fault in them nobody knows what they ask for; the rest of the line can still be read.
        None => {
            let named = row.rows("stream").into_iter().filter_map(|row| row.text("name"));
            named
                .map(|name| name.value)
                .chain([ONLY_STREAM.to_owned()])
                .map(|n| (n, Op::ALL.into()))
                .collect()
        }
    };
    let subject = Subject { streams, target };
    let mut expects = Vec::new();
    for line in row.texts("expect") {
        match expect::parse(&line, &subject, context.issues.texts()) {
            Ok(expect) => expects.push(expect),
            Err(fault) => context.issues.add(fault),
        }
    }
    expects
}
