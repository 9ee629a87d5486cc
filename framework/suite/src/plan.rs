//! The plan: a draft and the facts about its target, resolved until nothing is left to decide.

use iodyno_plugin::random::derive;
use iodyno_plugin::{Catalog, OpSet, StreamSpec};
use iodyno_record::{
    Bounds, DeviceFacts, Item, Note, NoteLevel, Plan, PlanTarget, Procedure, SCHEMA_VERSION, StepSpec,
    StreamPlan, TargetKind, units,
};

use crate::diagnostics::{Diagnostics, Fault, Issues};
use crate::draft::{Draft, ItemDraft, SEED_LIMIT, StreamDraft, draft};
use crate::extent::Region;
use crate::overrides::Overrides;
use crate::suite::Suite;
use crate::targets::{Place, TargetFacts, TargetRequest};

/// A step stops after this many failed I/O in a row.
const CONSECUTIVE_ERRORS_MAX: u32 = 100;

/// What must be found out before [`plan`] can be called, one entry for each target.
///
/// # Errors
/// Everything that is wrong with the suite, whatever the target turns out to be.
pub fn targets(
    suite: &Suite,
    overrides: &Overrides,
    catalog: &dyn Catalog,
) -> Result<Vec<TargetRequest>, Diagnostics> {
    let draft = draft(suite, overrides, catalog)?;
    Ok(vec![TargetRequest {
        label: draft.target.label,
        place: draft.target.place,
        size_bytes: draft.target.size.map(|size| size.value),
        serial: draft.target.serial.map(|serial| serial.value),
        writes: draft.items.iter().any(ItemDraft::writes),
        direct: draft.items.iter().filter(|item| !item.streams.is_empty()).all(|item| item.direct),
    }])
}

/// Makes the plan. `facts` answers the requests of [`targets`], in their order; `seed` is the run's, below 2^53.
///
/// # Errors
/// Everything that is wrong with the suite or does not fit the target.
///
/// # Panics
/// When there is not one entry of `facts` for each request, or the seed is not below 2^53.
pub fn plan(
    suite: &Suite,
    overrides: &Overrides,
    facts: &[TargetFacts],
    catalog: &dyn Catalog,
    seed: u64,
) -> Result<Plan, Diagnostics> {
    let draft = draft(suite, overrides, catalog)?;
    assert!(seed < SEED_LIMIT, "seed {seed} is not below 2^53");
    let [facts] = facts else { panic!("{} facts for 1 target", facts.len()) };
    let mut known = facts.facts.clone();
    if let Some(size) = draft.target.size.filter(|_| known.kind == TargetKind::Char) {
        known.size_bytes = size.value;
    }
    let mut planner = Planner { draft: &draft, facts: &known, seed, notes: draft.notes.clone() };
    planner.check_target();
    let mut items: Vec<Item> = Vec::new();
    let is_used = draft.items.iter().any(|i| !i.streams.is_empty() && planner.not_run(i).is_none());
    let first_fill = draft.first_fill.as_ref().filter(|_| is_used && !facts.filled);
    for item in first_fill.into_iter().chain(&draft.items) {
        let id = u32::try_from(items.len()).expect("a suite has fewer than 2^32 items");
        items.push(planner.item(id, item));
    }
    let target = PlanTarget {
        identity: planner.facts.identity(),
        facts: known.clone(),
        scratch: matches!(draft.target.place, Place::Scratch { .. }),
        written: draft.items.iter().any(|i| i.writes() && planner.not_run(i).is_none())
            || first_fill.is_some(),
        datasheet: draft.target.datasheet.iter().map(|(name, (value, _))| (name.clone(), *value)).collect(),
    };
    let notes = planner.notes;
    draft.issues.check()?;
    Ok(Plan {
        schema_version: SCHEMA_VERSION,
        suite: draft.name,
        description: draft.description,
        profile: overrides.profile.clone(),
        seed,
        targets: vec![target],
        items,
        notes,
    })
}

struct Planner<'a> {
    draft: &'a Draft,
    facts: &'a DeviceFacts,
    seed: u64,
    notes: Vec<Note>,
}

impl Planner<'_> {
    fn issues(&self) -> &Issues {
        &self.draft.issues
    }

    fn check_target(&self) {
        let target = &self.draft.target;
        if let Some(wanted) = target.serial.as_ref().filter(|w| Some(&w.value) != self.facts.serial.as_ref())
        {
            let has = match &self.facts.serial {
                Some(serial) => format!("has the serial number \"{serial}\""),
                None => "tells no serial number".to_owned(),
            };
            let message = format!("target `{}` {has}, must be \"{}\"", target.label, wanted.value);
            self.issues().add(Fault::new(wanted.place, message).help("is this the right device?"));
        }
        if let Some(size) = target.size.filter(|_| self.facts.kind != TargetKind::Char) {
            let message =
                format!("target `{}` is {} with a size of its own", target.label, kind_name(self.facts.kind));
            self.issues().add(
                Fault::new(size.place, message).help("leave `size` out; `region` limits what is touched"),
            );
        } else if self.facts.size_bytes == 0 {
            let message = format!("target `{}` has no storage: its size is 0", target.label);
            let fault = Fault::new(target.at, message);
            self.issues()
                .add(fault.help("scratch = \"1GiB\" makes a file; a character device needs size = \"1GiB\""));
        }
    }

    /// Why an item is not run on this target.
    fn not_run(&self, item: &ItemDraft) -> Option<String> {
        let label = &self.draft.target.label;
        if let Some(wanted) = item.requires.capacity_bytes.filter(|wanted| *wanted > self.facts.size_bytes) {
            let (has, wanted) = (units::amount(self.facts.size_bytes as f64), units::amount(wanted as f64));
            return Some(format!("target `{label}` is too small: it has {has}, the test requires {wanted}"));
        }
        let wanted = item.requires.kind.filter(|wanted| *wanted != self.facts.kind)?;
        let (is, wanted) = (kind_name(self.facts.kind), kind_name(wanted));
        Some(format!("target `{label}` is {is}, the test requires {wanted}"))
    }

    fn item(&mut self, id: u32, item: &ItemDraft) -> Item {
        let not_run = self.not_run(item);
        let streams: Vec<StreamPlan> =
            item.streams.iter().map(|s| self.stream(item, s, not_run.is_none())).collect();
        let bounds = if not_run.is_some() {
            Bounds { time_ns: Some(0), bytes_written: Some(0) }
        } else {
            bounds(item, &streams)
        };
        let step = StepSpec {
            item: id,
            name: item.name.value.clone(),
            step: 0,
            phase: item.phase,
            seed: derive(self.seed, u64::from(id)) & (SEED_LIMIT - 1),
            target: self.facts.identity(),
            direct: item.direct,
            backend: item.backend.recorded.clone(),
            sharing: item.sharing,
            outstanding: item.outstanding,
            streams,
            warmup_ns: item.warmup_ns,
            measure_ns: item.measure_ns,
            interval_ns: item.interval_ns,
            consecutive_errors_max: CONSECUTIVE_ERRORS_MAX,
        };
        Item {
            id,
            name: item.name.value.clone(),
            kind: item.kind,
            tags: item.tags.clone(),
            target: 0,
            procedure: Procedure::Fixed,
            step,
            expects: item.expects.clone(),
            not_run,
            bounds,
        }
    }

    /// `checked` = it will run, so it must fit.
    fn stream(&mut self, item: &ItemDraft, stream: &StreamDraft, checked: bool) -> StreamPlan {
        let region = self.place_region(item, stream, checked).unwrap_or((0, self.facts.size_bytes));
        if checked {
            self.check_workload(stream, region.1);
        }
        StreamPlan {
            name: stream.name.clone(),
            workload: stream.work.used.recorded.clone(),
            region_offset_bytes: region.0,
            region_len_bytes: region.1,
            load: stream.load.clone(),
            weight: stream.weight,
            fill: stream.fill,
        }
    }

    /// Offset and length of a stream's region, rounded inward to what the workload asks in multiples of, but at
    /// the target's end to what the target takes, so that a fill leaves nothing out.
    fn place_region(&mut self, item: &ItemDraft, stream: &StreamDraft, checked: bool) -> Option<(u64, u64)> {
        let (size, granule) = (self.facts.size_bytes, u64::from(self.facts.granule_bytes.max(1)));
        let Region { start, end } = stream.region.value;
        let (asked_start, asked_end) = (start.on(size), end.on(size));
        let fault =
            |message: String| checked.then(|| self.issues().add(Fault::new(stream.region.place, message)));
        let label = &self.draft.target.label;
        if asked_end > size || asked_start >= asked_end {
            let (from, to, size) = (units::size(asked_start), units::size(asked_end), units::size(size));
            let why = if asked_start >= asked_end { "is empty" } else { "reaches beyond its end" };
            fault(format!(
                "region {} of target `{label}` {why}: from {from} to {to}, the target has {size}",
                stream.region.value
            ));
            return None;
        }
        let info = stream.work.info;
        let block = u64::from(info.granule.max(1));
        let block = if block.is_multiple_of(granule) { block } else { granule };
        let end_block = if asked_end == size { granule } else { block };
        let (offset, rounded_end) = (asked_start.next_multiple_of(block), asked_end - asked_end % end_block);
        let len = rounded_end.saturating_sub(offset);
        if len < u64::from(info.max_len).max(1) {
            fault(format!(
                "region {} of target `{label}` is {} after rounding, too small for a block of {}",
                stream.region.value,
                units::size(len),
                units::size(u64::from(info.max_len))
            ));
            return None;
        }
        if checked {
            self.note_rounding(item, stream, (asked_start, asked_end), (offset, rounded_end));
        }
        Some((offset, len))
    }

    fn note_rounding(
        &mut self,
        item: &ItemDraft,
        stream: &StreamDraft,
        asked: (u64, u64),
        placed: (u64, u64),
    ) {
        if asked == placed {
            return;
        }
        let name = &item.name.value;
        let stream_name =
            if item.streams.len() > 1 { format!(", stream `{}`", stream.name) } else { String::new() };
        let text = format!(
            "`{name}`{stream_name}: region {} is {} to {} bytes, rounded inward to {} to {}",
            stream.region.value, asked.0, asked.1, placed.0, placed.1
        );
        let note = Note { level: NoteLevel::Info, code: "region_rounded".to_owned(), text };
        self.notes.push(note);
    }

    /// Makes the generators of the first and the last lane, to see that they can be made when it counts.
    fn check_workload(&self, stream: &StreamDraft, region_len: u64) {
        if self.facts.size_bytes == 0 {
            // That is a fault already; whatever does not fit follows from it.
            return;
        }
        let (granule, lanes) = (self.facts.granule_bytes.max(1), stream.load.workers);
        let (work, label) = (&stream.work, &self.draft.target.label);
        let aligned = work.info.granule.is_multiple_of(granule);
        let takes = (!aligned).then(|| format!("target `{label}` takes multiples of {granule} bytes"));
        for lane in [0, lanes - 1] {
            let spec = StreamSpec {
                seed: 0,
                lane,
                lanes,
                region_len,
                granule,
                max_len: work.info.max_len,
                ops: OpSet::ALL,
            };
            if let Err(error) = work.workload.stream(&spec) {
                work.used.faults(&error).for_each(|fault| self.issues().add(fault.maybe_help(takes.clone())));
                return;
            }
        }
        if !aligned {
            let message = format!(
                "workload `{}` asks in multiples of {} bytes, must be multiples of {granule}",
                work.used.recorded.plugin, work.info.granule
            );
            self.issues().add(Fault::new(work.used.place, message).maybe_help(takes));
        }
    }
}

/// What an item takes at most.
fn bounds(item: &ItemDraft, streams: &[StreamPlan]) -> Bounds {
    let written = |(draft, plan): (&StreamDraft, &StreamPlan)| {
        let info = draft.work.info;
        if !info.ops.has(iodyno_plugin::Op::Write) {
            return Some(0);
        }
        info.passes.and_then(|passes| plan.region_len_bytes.checked_mul(u64::from(passes)))
    };
    let time_ns = item.measure_ns.map(|measure| measure.saturating_add(item.warmup_ns));
    let bytes = item.streams.iter().zip(streams).map(written);
    let bytes_written = bytes.reduce(|a, b| a?.checked_add(b?)).unwrap_or(Some(0));
    Bounds { time_ns, bytes_written }
}

fn kind_name(kind: TargetKind) -> &'static str {
    match kind {
        TargetKind::File => "a file",
        TargetKind::Block => "a block device",
        TargetKind::Char => "a character device",
        TargetKind::Virtual => "in memory only",
    }
}
