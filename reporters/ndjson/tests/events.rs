//! Events as they happen, and told again from a record.

#[path = "../../testdata/memory.rs"]
mod memory;

use iodyno_ndjson as _;
use iodyno_record::{Envelope, Event, Outcome, Results, Row};
use memory::{Example, Memory, reporter};

fn lines(out: Memory) -> Vec<String> {
    let files = out.files();
    let [(name, text)] = &files[..] else { panic!("one file") };
    assert_eq!(name, "events.ndjson");
    assert!(text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

#[test]
fn events_are_written_as_they_come() {
    let mut ndjson = reporter("ndjson");
    assert!(ndjson.observes());
    let mut out = Memory::default();
    let events = [r#"{"seq":0,"event":"run_started"}"#, r#"{"seq":1,"event":"unknown to this version"}"#];
    for event in events {
        ndjson.event(event.as_bytes(), &mut out).unwrap();
    }
    ndjson.finish(&[Example::read("run").view()], &mut out).unwrap();
    assert_eq!(lines(out), events, "the record adds nothing to what was seen");
}

/// Kinds of events, with the item that they are about.
fn kinds(events: &[Envelope]) -> Vec<String> {
    let kind = |envelope: &Envelope| match &envelope.event {
        Event::RunStarted { items, .. } => format!("run of {items}"),
        Event::ItemStarted { name, .. } => format!("{name}:"),
        Event::StepStarted { .. } => "step".into(),
        Event::Rows { .. } => "rows".into(),
        Event::Progress { .. } => "progress".into(),
        Event::StepFinished { .. } => "done".into(),
        Event::ItemFinished { result } => format!("{:?}", result.outcome),
        Event::Noted { note } => format!("note {}", note.code),
        Event::RunFinished { outcome } => format!("run {outcome:?}"),
    };
    events.iter().map(kind).collect()
}

#[test]
fn a_run_that_is_over_is_told_again() {
    let run = Example::read("run");
    let mut out = Memory::default();
    reporter("ndjson").finish(&[run.view()], &mut out).unwrap();
    let events: Vec<Envelope> = lines(out).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let step = "step rows done";
    let expected = format!(
        "run of 5 fill: {step} Passed 4k-random-read: {step} Passed \
         128k-sequential-write: {step} ThresholdsCrossed mixed-70-30: {step} Passed \
         64k-random-read: NotRun note governor run ThresholdsCrossed"
    );
    assert_eq!(kinds(&events).join(" "), expected);
    assert!(events.iter().map(|e| e.seq).eq(0..events.len() as u64));
    assert!(events.is_sorted_by_key(|e| e.unix_ms));

    let results: Results = serde_json::from_slice(&run.results).unwrap();
    let told = events.iter().filter_map(|e| match &e.event {
        Event::StepFinished { result } => Some(&**result),
        _ => None,
    });
    assert!(told.eq(results.items.iter().flat_map(|i| &i.steps).map(|s| &s.result)));
    let told =
        events.iter().filter_map(|e| if let Event::Rows { rows } = &e.event { Some(rows) } else { None });
    let text = String::from_utf8(run.rows.clone()).unwrap();
    let rows: Vec<Row> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(told.flatten().eq(&rows));
}

#[test]
fn several_runs_follow_one_another() {
    let runs = [Example::read("interrupted"), Example::read("interrupted")];
    let mut out = Memory::default();
    reporter("ndjson").finish(&[runs[0].view(), runs[1].view()], &mut out).unwrap();
    let lines = lines(out);
    let (first, second) = lines.split_at(lines.len() / 2);
    assert_eq!(first, second);
    let last: Envelope = serde_json::from_str(second.last().unwrap()).unwrap();
    assert_eq!(last.event, Event::RunFinished { outcome: Outcome::Interrupted });
}
