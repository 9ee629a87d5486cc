//! Opens what a step needs: workloads, and a backend over the guarded descriptor.

use std::sync::Arc;

use iodyno_device::OpenTarget;
use iodyno_engine::Parts;
use iodyno_plugin::{Catalog, ErrorKind, Factory, Kind, Options, Plugin, Target, TargetKind, TargetSpec};
use iodyno_record::{Fact, PluginUse, StepSpec};

use crate::error::RunError;

/// What a step runs on, and what had to be taken instead of what was wanted.
pub(crate) struct Opened {
    pub(crate) parts: Parts,
    pub(crate) facts: Vec<Fact>,
}

/// Opens workloads and backend of a step. `target` is `None` for simulated ones.
///
/// # Errors
/// When a plugin is away or cannot drive the target.
pub(crate) fn open(
    spec: &StepSpec,
    target: Option<&OpenTarget>,
    catalog: &dyn Catalog,
) -> Result<Opened, RunError> {
    let workload = |used: &PluginUse| match factory(catalog, Kind::Workload, &used.plugin)? {
        Factory::Workload(create) => {
            create(&options(used)).map_err(|e| failed(Kind::Workload, &used.plugin, &e))
        }
        _ => unreachable!("the catalog gives plugins of the role that was asked for"),
    };
    let workloads = spec.streams.iter().map(|s| workload(&s.workload)).collect::<Result<Vec<_>, _>>()?;
    let (backend, target, facts) = backend(spec, target, catalog)?;
    Ok(Opened { parts: Parts { backend, target, workloads }, facts })
}

type Backend = (String, Arc<dyn Target>, Vec<Fact>);

fn backend(spec: &StepSpec, target: Option<&OpenTarget>, catalog: &dyn Catalog) -> Result<Backend, RunError> {
    let wanted = &spec.backend;
    if wanted.plugin != "auto" {
        let Factory::Backend { create, .. } = factory(catalog, Kind::Backend, &wanted.plugin)? else {
            unreachable!("the catalog gives plugins of the role that was asked for")
        };
        let opened = create(&options(wanted)).and_then(|b| b.open(&target_spec(spec, target), None));
        let opened = opened.map_err(|e| failed(Kind::Backend, &wanted.plugin, &e))?;
        return Ok((wanted.plugin.clone(), opened.into(), Vec::new()));
    }
    let mut passed_over = Vec::new();
    for (plugin, create) in automatic(catalog) {
        let opened = iodyno_suite::default_options(plugin)
            .and_then(|options| create(&options))
            .and_then(|b| b.open(&target_spec(spec, target), None));
        match opened {
            Ok(opened) => {
                let facts = (!passed_over.is_empty()).then(|| Fact {
                    name: "backend".to_owned(),
                    value: plugin.name.to_owned(),
                    fallback: Some(passed_over.join("; ")),
                });
                return Ok((plugin.name.to_owned(), opened.into(), facts.into_iter().collect()));
            }
            Err(e) if e.kind() == ErrorKind::Unsupported => passed_over.push(format!("{}: {e}", plugin.name)),
            Err(e) => return Err(failed(Kind::Backend, plugin.name, &e)),
        }
    }
    let label = &spec.target.label;
    Err(RunError::Backend(format!("no backend can drive target `{label}`: {}", passed_over.join("; "))))
}

type Create = fn(&Options) -> iodyno_plugin::Result<Arc<dyn iodyno_plugin::Backend>>;

/// The backends that `auto` tries, best first.
fn automatic(catalog: &dyn Catalog) -> Vec<(&Plugin, Create)> {
    let mut ranked: Vec<(u32, &Plugin, Create)> = catalog
        .list(Kind::Backend)
        .into_iter()
        .filter_map(|plugin| match plugin.factory {
            Factory::Backend { create, auto_rank: Some(rank), .. } => Some((rank, plugin, create)),
            _ => None,
        })
        .collect();
    ranked.sort_by_key(|(rank, plugin, _)| (*rank, plugin.name));
    ranked.into_iter().map(|(_, plugin, create)| (plugin, create)).collect()
}

fn target_spec<'a>(spec: &'a StepSpec, target: Option<&'a OpenTarget>) -> TargetSpec<'a> {
    use iodyno_record::TargetKind as Recorded;
    TargetSpec {
        label: &spec.target.label,
        kind: match spec.target.kind {
            Recorded::File => TargetKind::File,
            Recorded::Block => TargetKind::Block,
            Recorded::Char => TargetKind::Char,
            Recorded::Virtual => TargetKind::Virtual,
        },
        fd: target.map(OpenTarget::fd),
        len: spec.target.size_bytes,
        granule: target.map_or(VIRTUAL_GRANULE, |t| t.facts().granule_bytes),
        direct: spec.direct,
        writable: target.is_none_or(|t| t.grant().is_some()),
        seed: spec.seed,
    }
}

/// Granule of targets that exist only in memory: a sector.
pub(crate) const VIRTUAL_GRANULE: u32 = 512;

fn factory(catalog: &dyn Catalog, kind: Kind, name: &str) -> Result<Factory, RunError> {
    let found = catalog.find(kind, name).map(|p| p.factory);
    found.ok_or_else(|| RunError::Backend(format!("{} plugin `{name}` is not here", kind.name())))
}

fn options(used: &PluginUse) -> Options {
    Options::from_json(&used.options.to_json()).expect("recorded settings are canonical JSON")
}

fn failed(kind: Kind, name: &str, error: &iodyno_plugin::Error) -> RunError {
    RunError::Backend(format!("{} `{name}`: {error}", kind.name()))
}
