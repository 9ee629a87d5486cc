//! Targets: what is looked at before a plan is made, and what is opened before the first I/O.

use std::path::{Path, PathBuf};

use iodyno_device::scratch::{self, State};
use iodyno_device::{DeviceError, Grants, OpenTarget, Refusal};
use iodyno_record::{
    DeviceFacts, End, Fill, Item, Note, Op, Phase, Plan, PlanTarget, StepResult, StepSpec, TargetKind,
};
use iodyno_suite::{Place, TargetFacts, TargetRequest};

use crate::error::RunError;
use crate::open::VIRTUAL_GRANULE;

/// Finds out about each target; writes nothing. A scratch file that is not there yet is described as it will
/// be, which [`make_scratch`] and a second look make certain.
///
/// # Errors
/// When a target is not there, is none that can be tested, or is a scratch file of somebody else.
pub fn resolve(requests: &[TargetRequest]) -> Result<Vec<TargetFacts>, RunError> {
    requests.iter().map(look).collect()
}

/// Makes the scratch files that are asked for and not there yet. They are allocated; the plan fills them.
///
/// # Errors
/// When there is too little room, or the system refuses.
pub fn make_scratch(requests: &[TargetRequest]) -> Result<(), RunError> {
    for request in requests {
        if let Place::Scratch { path, size_bytes } = &request.place {
            let (path, _) = scratch_path(path.as_deref())?;
            if scratch::state(&path, *size_bytes)? != State::Ready {
                scratch::create(&path, *size_bytes)?;
            }
        }
    }
    Ok(())
}

/// Everything that stands against writing to a target; empty for those that iodyno makes itself.
pub fn refusals(target: &PlanTarget, grants: &Grants) -> Vec<Refusal> {
    if target.identity.kind == TargetKind::Virtual || target.scratch {
        return Vec::new();
    }
    iodyno_device::refusals(&target.facts, grants)
}

fn look(request: &TargetRequest) -> Result<TargetFacts, RunError> {
    let label = &request.label;
    match &request.place {
        Place::Virtual { size_bytes } => {
            let facts = bare_facts(label, TargetKind::Virtual, None, *size_bytes);
            Ok(TargetFacts { facts, filled: true })
        }
        Place::Path(path) => {
            let path = Path::new(path);
            let facts = iodyno_device::probe(label, path)?;
            let unfilled = facts.kind == TargetKind::File
                && scratch::state(path, facts.size_bytes).is_ok_and(|state| state == State::NeedsFill);
            if unfilled {
                let (path, size) = (path.display(), facts.size_bytes);
                let text = format!(
                    "{path} is a scratch file that is not filled: say `--target {path} --size {size}` to have it \
                     filled first"
                );
                return Err(RunError::Target(text));
            }
            Ok(TargetFacts { facts, filled: true })
        }
        Place::Scratch { path, size_bytes } => {
            let (path, _) = scratch_path(path.as_deref())?;
            let state = scratch::state(&path, *size_bytes)?;
            let facts = match state {
                State::Foreign => return Err(no_scratch(label, path)),
                State::Missing => bare_facts(label, TargetKind::File, Some(&path), *size_bytes),
                // What is there may have another size; `make_scratch` gives it the right one.
                State::NeedsFill | State::Ready => {
                    DeviceFacts { size_bytes: *size_bytes, ..iodyno_device::probe(label, &path)? }
                }
            };
            Ok(TargetFacts { facts, filled: state == State::Ready })
        }
    }
}

/// What is there instead of a scratch file.
fn no_scratch(label: &str, path: PathBuf) -> RunError {
    let advice = match iodyno_device::probe(label, &path).map(|facts| facts.kind) {
        Err(e) => return e.into(),
        Ok(TargetKind::File | TargetKind::Virtual) => return DeviceError::Foreign { path }.into(),
        Ok(TargetKind::Block) => {
            "is a block device, which has a size of its own: leave `--size` or `scratch` out; `region` says which \
             part of it is used"
        }
        Ok(TargetKind::Char) => {
            "is a character device, no place for a scratch file: give it a size in the suite, [[target]] with \
             `path` and `size`"
        }
    };
    RunError::Target(format!("{} {advice}", path.display()))
}

/// Where a scratch file is, and what to say about that.
fn scratch_path(path: Option<&str>) -> Result<(PathBuf, Option<Note>), RunError> {
    if let Some(path) = path {
        return Ok((PathBuf::from(path), None));
    }
    let (folder, note) = scratch::default_scratch_dir(Path::new("."))?;
    Ok((folder.join(scratch::DEFAULT_NAME), note))
}

/// Remarks on where scratch files are.
pub fn scratch_notes(requests: &[TargetRequest]) -> Vec<Note> {
    let place = |request: &TargetRequest| match &request.place {
        Place::Scratch { path, .. } => scratch_path(path.as_deref()).ok()?.1,
        Place::Path(_) | Place::Virtual { .. } => None,
    };
    requests.iter().filter_map(place).collect()
}

fn bare_facts(label: &str, kind: TargetKind, path: Option<&Path>, size_bytes: u64) -> DeviceFacts {
    let path = path.map(|p| std::path::absolute(p).unwrap_or(p.to_owned()).display().to_string());
    DeviceFacts::bare(label, kind, path, size_bytes, VIRTUAL_GRANULE)
}

/// The targets of a plan, open for as long as it runs.
pub(crate) struct OpenTargets {
    open: Vec<Option<OpenTarget>>,
    scratch: Vec<bool>,
}

/// Opens every target of a plan once: for writing where it is written to, else for reading only.
///
/// # Errors
/// What the guard says.
pub(crate) fn open_targets(plan: &Plan, grants: &Grants) -> Result<OpenTargets, RunError> {
    let open = |(index, target): (usize, &PlanTarget)| {
        if target.identity.kind == TargetKind::Virtual {
            return Ok(None);
        }
        let uses = plan.items.iter().filter(|i| i.target as usize == index && !i.step.streams.is_empty());
        let direct = uses.map(|i| i.step.direct).next().unwrap_or(true);
        let opened = if target.written {
            iodyno_device::open_write(&target.facts, direct, grants)
        } else {
            iodyno_device::open_read(&target.facts, direct)
        };
        opened.map(Some).map_err(RunError::from)
    };
    Ok(OpenTargets {
        open: plan.targets.iter().enumerate().map(open).collect::<Result<_, _>>()?,
        scratch: plan.targets.iter().map(|t| t.scratch).collect(),
    })
}

impl OpenTargets {
    /// The descriptor of an item's target, `None` where nothing is behind it.
    pub(crate) fn of(&self, item: &Item) -> Option<&OpenTarget> {
        self.open[item.target as usize].as_ref()
    }

    /// Gives an item's target the cache mode of a step.
    pub(crate) fn set_direct(&self, item: &Item, spec: &StepSpec) -> Result<(), RunError> {
        Ok(self.of(item).map_or(Ok(()), |target| target.switch_direct(spec.direct))?)
    }

    /// What the guard remarked.
    pub(crate) fn notes(&self) -> Vec<Note> {
        self.open.iter().flatten().flat_map(|t| t.notes().iter().cloned()).collect()
    }

    /// Nothing of a fill may be left in a cache. A scratch file is remembered as filled once it was written whole,
    /// until zeroes are written to it, for reads of those measure nothing.
    pub(crate) fn after_step(
        &self,
        item: &Item,
        spec: &StepSpec,
        result: &StepResult,
    ) -> Result<(), RunError> {
        let Some(target) = self.of(item) else { return Ok(()) };
        let size = target.facts().size_bytes;
        let asked_to_write = |name: &str| {
            let mut stream = result.streams.iter().filter(|s| s.name == name);
            stream.any(|s| s.ops.iter().any(|op| op.op == Op::Write))
        };
        let zeroes = spec.streams.iter().any(|s| s.fill == Fill::Zero && asked_to_write(&s.name));
        let filled = spec.phase == Phase::Fill && result.end == End::Completed;
        let written: u64 = result.ops(Some(Op::Write)).map(|op| op.bytes).sum();
        let whole = written >= size
            && result.errors(None) == 0
            && spec.streams.iter().any(|s| s.region_offset_bytes == 0 && s.region_len_bytes == size);
        let is_scratch = self.scratch[item.target as usize];
        if is_scratch && zeroes || is_scratch && filled && whole {
            scratch::mark_filled(target, !zeroes)?;
        } else if filled {
            target.sync()?;
        }
        Ok(())
    }
}
