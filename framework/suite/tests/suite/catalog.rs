//! A catalog of made-up plugins, so that these tests say what the suite does and not what plugins do.

use std::sync::Arc;

use iodyno_plugin::{
    self as plugin, Backend, Catalog, Default, Error, Errors, Factory, Filled, Kind, More, Op, OpSet,
    OptionKind, OptionSpec, Options, Plugin, Request, Result, Stream, StreamSpec, Target, TargetSpec,
    Workload, WorkloadInfo,
};
use iodyno_record::{DeviceFacts, TargetKind};
use iodyno_suite::TargetFacts;

/// All made-up plugins.
pub(crate) struct Made;

static PLUGINS: [Plugin; 7] = [
    backend("fast", FAST, Some(1), plugin::TargetKind::WITH_FD),
    backend("memory", MEMORY, None, ANYTHING),
    backend("model", &[], None, &[plugin::TargetKind::Virtual]),
    backend("slow", &[], Some(2), plugin::TargetKind::WITH_FD),
    workload("endless", &[], |_| {
        Ok(Arc::new(Asks { ops: OpSet::READ, len: 4096, passes: None, slices: false }))
    }),
    workload("synthetic", SYNTHETIC, synthetic),
    workload("strict", STRICT, |_| {
        let mut errors = Errors::default();
        errors.keep(Err(Error::option("level", "the levels 3 and 4 are taken")), ());
        errors.keep(Err(Error::option("words", "others would be better")), ());
        errors.end().map(|()| unreachable!("there are two"))
    }),
];

impl Catalog for Made {
    fn list(&self, kind: Kind) -> Vec<&Plugin> {
        PLUGINS.iter().filter(|p| p.kind() == kind).collect()
    }
}

const fn backend(
    name: &'static str,
    options: &'static [OptionSpec],
    auto_rank: Option<u32>,
    drives: &'static [plugin::TargetKind],
) -> Plugin {
    let factory = Factory::Backend { create: |_| Ok(Arc::new(Nowhere)), auto_rank, drives };
    Plugin { name, version: "1", summary: "carries nothing", options, factory }
}

const fn workload(
    name: &'static str,
    options: &'static [OptionSpec],
    create: fn(&Options) -> Result<Arc<dyn Workload>>,
) -> Plugin {
    Plugin { name, version: "1", summary: "asks", options, factory: Factory::Workload(create) }
}

const fn option(name: &'static str, kind: OptionKind, default: Default) -> OptionSpec {
    OptionSpec { name, kind, default, doc: "For a test." }
}

const ANYTHING: &[plugin::TargetKind] = &[plugin::TargetKind::File, plugin::TargetKind::Virtual];
const PERCENT: OptionKind = OptionKind::Percent;
const SIZE: OptionKind = OptionKind::Size { min: 1, max: 1 << 30 };

const FAST: &[OptionSpec] = &[option("polled", OptionKind::Bool, Default::Is("false"))];

const MEMORY: &[OptionSpec] = &[
    option("servers", OptionKind::Int { min: 1, max: 4096 }, Default::Is("1")),
    option("service", OptionKind::Duration { min_ns: 1, max_ns: 1_000_000_000 }, Default::Is("\"100us\"")),
    option("rate", OptionKind::Rate, Default::Absent),
    option("hot", OptionKind::Extent, Default::Absent),
];

const STRICT: &[OptionSpec] = &[
    option("level", OptionKind::Int { min: 0, max: 9 }, Default::Required),
    option("words", OptionKind::List(&OptionKind::Text), Default::Absent),
];

const MIX: &[OptionSpec] = &[
    option("read", PERCENT, Default::Absent),
    option("write", PERCENT, Default::Absent),
    option("flush", PERCENT, Default::Absent),
];

const SYNTHETIC: &[OptionSpec] = &[
    option("mix", OptionKind::Table(MIX), Default::Is("{ read = 100 }")),
    option("block_size", OptionKind::Weighted { key: "size", kind: &SIZE }, Default::Is("\"4k\"")),
    option("pattern", OptionKind::Enum(&["sequential", "random", "strided"]), Default::Is("\"random\"")),
    option("slices", OptionKind::Bool, Default::Is("false")),
    option("theta", OptionKind::Float { min: 0.01, max: 10.0 }, Default::Absent),
    option("passes", OptionKind::Int { min: 1, max: 1000 }, Default::Absent),
];

fn synthetic(options: &Options) -> Result<Arc<dyn Workload>> {
    let mix = options.table("mix")?;
    let mut ops = OpSet::EMPTY;
    let mut sum = 0.0;
    for op in Op::ALL.into_iter().filter(|op| mix.get(op.name()).is_some()) {
        sum += mix.float(op.name())?;
        ops = ops.with(op);
    }
    if sum != 100.0 {
        return Err(Error::option("mix", format!("the shares are {sum} percent together, must be 100")));
    }
    let sizes = options.weighted("block_size")?;
    let len = sizes.iter().filter_map(|(size, _)| size.as_int()).max().unwrap_or(1) as u32;
    let passes = options.get("passes").and_then(|p| p.as_int()).map(|p| p as u32);
    Ok(Arc::new(Asks { ops, len, passes, slices: options.bool("slices")? }))
}

struct Asks {
    ops: OpSet,
    len: u32,
    passes: Option<u32>,
    slices: bool,
}

impl Workload for Asks {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            ops: self.ops,
            max_len: self.len,
            granule: self.len,
            wants_completions: false,
            passes: self.passes,
        }
    }

    fn stream(&self, spec: &StreamSpec) -> Result<Box<dyn Stream>> {
        if !self.len.is_multiple_of(spec.granule) {
            let text = format!("{} bytes are no multiple of the target's {}", self.len, spec.granule);
            return Err(Error::option("block_size", text));
        }
        if self.slices && spec.region_len / u64::from(spec.lanes) < u64::from(self.len) {
            return Err(Error::option("slices", format!("no room for {} slices", spec.lanes)));
        }
        Ok(Box::new(Silent))
    }
}

struct Silent;

impl Stream for Silent {
    fn fill(&mut self, _: &mut [Request]) -> Result<Filled> {
        Ok(Filled { n: 0, more: More::Done })
    }
}

struct Nowhere;

impl Backend for Nowhere {
    fn open(&self, _: &TargetSpec<'_>, _: Option<Box<dyn Target>>) -> Result<Box<dyn Target>> {
        Err(Error::unsupported("made up"))
    }
}

/// A target of so many bytes with blocks of 4 KiB.
pub(crate) fn facts(size_bytes: u64) -> TargetFacts {
    let facts = DeviceFacts {
        logical_block_bytes: Some(4096),
        physical_block_bytes: Some(4096),
        inode: Some(7),
        serial: Some("S1".to_owned()),
        ..DeviceFacts::bare(
            "scratch",
            TargetKind::File,
            Some("/tmp/scratch.dat".to_owned()),
            size_bytes,
            4096,
        )
    };
    TargetFacts { facts, filled: false }
}
