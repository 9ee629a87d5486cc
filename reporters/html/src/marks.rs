//! What must not be overlooked: marks on results that mean something other than they seem to, and warnings with
//! their advice.

use iodyno_record::{End, Fill, Note, NoteLevel, Op, Outcome, Stamps, StepRecord, TargetKind};

use crate::escape::Html;
use crate::run::Run;
use crate::subject::{Entry, Subject};

/// A reason why numbers are not those of a device at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// A model on a virtual clock.
    Simulated,
    /// A target with nothing behind it.
    NoStorage,
    /// Buffered I/O.
    PageCache,
    /// Written zeroes.
    ZeroFill,
    /// Stopped before its end.
    Interrupted,
    /// Something broke, or too many I/O failed.
    Failed,
}

impl Mark {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Mark::Simulated => "simulated",
            Mark::NoStorage => "no storage",
            Mark::PageCache => "page cache",
            Mark::ZeroFill => "zeroes written",
            Mark::Interrupted => "interrupted",
            Mark::Failed => "failed",
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Mark::Simulated => "Latencies come from a model on a virtual clock. No device was measured.",
            Mark::NoStorage => {
                "The target has no storage behind it. The numbers show how fast iodyno itself is."
            }
            Mark::PageCache => {
                "I/O went through the page cache: the numbers mix memory and device, and writes may not have reached it."
            }
            Mark::ZeroFill => "Blocks full of zeroes were written, which a device may not store at all.",
            Mark::Interrupted => {
                "The run was stopped before its end. What was measured until then is kept; the rest is missing."
            }
            Mark::Failed => "Something broke or I/O failed. Numbers cover what was measured before.",
        }
    }
}

/// The marks of one entry.
pub(crate) fn of(entry: &Entry<'_>) -> Vec<Mark> {
    let mut marks = Vec::new();
    if let Some(step) = entry.step {
        let kind = step.spec.target.kind;
        let simulated =
            step.result.timing.stamps == Stamps::Simulated || step.result.timing.clock == "virtual";
        let virtual_target = matches!(kind, TargetKind::Virtual | TargetKind::Char);
        let noted = |code: &str| step.result.notes.iter().any(|n| n.code == code);
        let writes = step.result.ops(Some(Op::Write)).any(|o| o.completed > 0);
        let zeroes = step.spec.streams.iter().any(|s| s.fill == Fill::Zero);
        let measures = !step.spec.streams.is_empty();
        let found = [
            (Mark::Simulated, simulated && measures),
            (Mark::NoStorage, virtual_target && !simulated && measures),
            (Mark::PageCache, noted("page_cache") || (measures && !step.spec.direct && !virtual_target)),
            (Mark::ZeroFill, writes && zeroes && !virtual_target),
            (Mark::Interrupted, step.result.end == End::Interrupted),
            (Mark::Failed, matches!(step.result.end, End::Failed { .. } | End::Errors { .. })),
        ];
        marks.extend(found.into_iter().filter(|(_, holds)| *holds).map(|(mark, _)| mark));
    }
    let outcome = entry.result.map(|r| r.outcome);
    marks.extend((outcome == Some(Outcome::Interrupted)).then_some(Mark::Interrupted));
    marks.extend((outcome == Some(Outcome::Failed)).then_some(Mark::Failed));
    marks.sort_unstable();
    marks.dedup();
    marks
}

/// The banners at the top: each mark once, with what it holds for.
pub(crate) fn banners(out: &mut Html, runs: &[Run], subjects: &[Subject<'_>]) {
    let marks =
        [Mark::Failed, Mark::Interrupted, Mark::Simulated, Mark::NoStorage, Mark::PageCache, Mark::ZeroFill];
    for mark in marks {
        let mut places = Vec::new();
        for (index, run) in runs.iter().enumerate() {
            let mut here: Vec<String> = reached(run, mark).into_iter().collect();
            here.extend(marked(subjects, index, mark));
            if runs.len() > 1 && !here.is_empty() {
                here[0] = format!("{}: {}", run.label, here[0]);
            }
            places.extend(here);
        }
        if !places.is_empty() {
            out.raw("<div class=\"banner ").raw(if mark == Mark::Failed { "bad" } else { "warn" });
            out.raw("\" role=\"note\">").element("strong", "", mark.name());
            out.raw("<p>").text(mark.meaning()).raw(" ").element("span", "where", places.join(", "));
            out.raw("</p></div>");
        }
    }
}

/// What has a mark in one run, in short where it is all.
fn marked(subjects: &[Subject<'_>], run: usize, mark: Mark) -> Vec<String> {
    let steps: Vec<(&str, bool)> = subjects
        .iter()
        .filter_map(|s| Some((s, s.entries[run].filter(|e| e.step.is_some())?)))
        .filter(|(s, _)| s.has_section())
        .map(|(s, entry)| (s.name.as_str(), of(&entry).contains(&mark)))
        .collect();
    if steps.len() > 1 && steps.iter().all(|(_, marked)| *marked) {
        return vec!["all".to_owned()];
    }
    steps.into_iter().filter(|(_, marked)| *marked).map(|(name, _)| name.to_owned()).collect()
}

/// How far a run came that ended as `mark` says.
fn reached(run: &Run, mark: Mark) -> Option<String> {
    let ended = match run.results.run.outcome {
        Outcome::Interrupted => Some(Mark::Interrupted),
        Outcome::Failed => Some(Mark::Failed),
        _ => None,
    };
    let (done, all) = (run.results.items.len(), run.results.plan.items.len());
    (ended == Some(mark)).then(|| format!("{done} of {all} items reached"))
}

/// Badges beside a name.
pub(crate) fn badges(out: &mut Html, entries: impl Iterator<Item = Vec<Mark>>) {
    let mut marks: Vec<Mark> = entries.flatten().collect();
    marks.sort_unstable();
    marks.dedup();
    for mark in marks {
        out.raw(" ").element("span", if mark == Mark::Failed { "tag bad" } else { "tag warn" }, mark.name());
    }
}

/// Warnings of all runs, fallbacks among them, each text once with the places where it was seen.
pub(crate) fn warnings(out: &mut Html, runs: &[Run], subjects: &[Subject<'_>]) {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |text: String, place: &str| {
        let at = found.iter().position(|(t, _)| *t == text).unwrap_or_else(|| {
            found.push((text, Vec::new()));
            found.len() - 1
        });
        if !place.is_empty() && !found[at].1.iter().any(|p| p == place) {
            found[at].1.push(place.to_owned());
        }
    };
    for run in runs {
        let place = if runs.len() > 1 { run.label.as_str() } else { "" };
        for note in run.results.notes.iter().chain(&run.results.plan.notes).filter(|n| is_warning(n)) {
            add(sentence(&note.text), place);
        }
    }
    for (subject, (_, entry)) in subjects.iter().flat_map(|s| s.present().map(move |e| (s, e))) {
        let place = match runs.len() {
            1 => subject.name.clone(),
            _ => format!("{}: {}", entry.run.label, subject.name),
        };
        for text in entry.step.map(of_step).unwrap_or_default() {
            add(text, &place);
        }
    }
    if found.is_empty() {
        return;
    }
    out.raw("<section class=\"warnings\"><h2>Warnings</h2><ul>");
    for (text, places) in found {
        out.raw("<li>").prose(&text);
        if !places.is_empty() {
            out.raw(" <span class=\"where\">").text(places.join(", ")).raw("</span>");
        }
        out.raw("</li>");
    }
    out.raw("</ul></section>");
}

/// Warnings of a step.
fn of_step(step: &StepRecord) -> Vec<String> {
    let mut texts: Vec<String> =
        step.result.notes.iter().filter(|n| is_warning(n)).map(|n| sentence(&n.text)).collect();
    for fact in &step.result.backend.facts {
        if let Some(why) = &fact.fallback {
            texts.push(format!("{} = {}: {why}", fact.name, fact.value));
        }
    }
    texts
}

fn is_warning(note: &Note) -> bool {
    note.level == NoteLevel::Warning
}

/// Begins with a capital: notes are written as fragments.
pub(crate) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
