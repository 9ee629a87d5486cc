//! The reporter `ndjson`: the events of a run, one JSON object a line, each written as it happens. Lines have
//! the type [`Envelope`]; interval rows and progress are among them.
//!
//! For a run that is over, the events are told again from its record: the same lines in the same order, but for
//! the progress, with the rows of each step in one line, and with times as exact as the record has them.

use iodyno_plugin::{Error, Factory, FileId, Output, Plugin, Reporter, Result, RunView, register};
use iodyno_record::{Envelope, Event, ItemResult, Results, Row, SCHEMA_VERSION, StepRecord};
use serde::de::DeserializeOwned;

register! {
    Plugin {
        name: "ndjson",
        version: env!("CARGO_PKG_VERSION"),
        summary: "each event of a run as a line of JSON, as it happens",
        options: &[],
        factory: Factory::Reporter(|_| Ok(Box::new(Ndjson { file: None }))),
    }
}

struct Ndjson {
    /// Open from the first event on.
    file: Option<FileId>,
}

impl Ndjson {
    fn file(&mut self, out: &mut dyn Output) -> Result<FileId> {
        match self.file {
            Some(file) => Ok(file),
            None => Ok(*self.file.insert(out.create("events.ndjson", "application/x-ndjson")?)),
        }
    }
}

impl Reporter for Ndjson {
    fn observes(&self) -> bool {
        true
    }

    fn event(&mut self, event: &[u8], out: &mut dyn Output) -> Result<()> {
        let file = self.file(out)?;
        // In one piece, so that who follows the file never sees half a line.
        out.write(file, &[event, b"\n"].concat())
    }

    fn finish(&mut self, runs: &[RunView<'_>], out: &mut dyn Output) -> Result<()> {
        let told = self.file.is_some();
        let file = self.file(out)?;
        if !told {
            for run in runs {
                for line in retell(run)? {
                    let line = serde_json::to_string(&line).expect("records are plain data with text keys");
                    out.write(file, (line + "\n").as_bytes())?;
                }
            }
        }
        out.finish(file)
    }
}

fn read<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|e| Error::contract(format!("{what} cannot be read: {e}")))
}

/// The events of a run that is over.
fn retell(run: &RunView<'_>) -> Result<Vec<Envelope>> {
    let results: Results = read("the results document", run.results)?;
    let lines = run.rows.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let rows: Vec<Row> = lines.map(|line| read("an interval row", line)).collect::<Result<_>>()?;
    let mut tale = Tale { lines: Vec::new(), now_unix_ms: results.run.started_unix_ms };
    tale.tell(Event::RunStarted {
        run: results.run.id.clone(),
        suite: results.plan.suite.clone(),
        seed: results.plan.seed,
        items: u32::try_from(results.plan.items.len()).unwrap_or(u32::MAX),
    });
    for item in results.items {
        tale.item(item, &rows);
    }
    for note in results.notes {
        tale.tell(Event::Noted { note });
    }
    tale.now_unix_ms = results.run.ended_unix_ms;
    tale.tell(Event::RunFinished { outcome: results.run.outcome });
    Ok(tale.lines)
}

struct Tale {
    lines: Vec<Envelope>,
    now_unix_ms: u64,
}

impl Tale {
    fn tell(&mut self, event: Event) {
        let seq = self.lines.len() as u64;
        self.lines.push(Envelope { schema_version: SCHEMA_VERSION, seq, unix_ms: self.now_unix_ms, event });
    }

    fn item(&mut self, item: ItemResult, rows: &[Row]) {
        self.tell(Event::ItemStarted { item: item.item, name: item.name.clone() });
        let without_steps = ItemResult { steps: Vec::new(), ..item };
        for StepRecord { spec, result } in item.steps {
            self.now_unix_ms = result.started_unix_ms;
            let of_step = |row: &&Row| (row.item, row.step) == (spec.item, spec.step);
            let rows: Vec<Row> = rows.iter().filter(of_step).cloned().collect();
            self.tell(Event::StepStarted { spec: Box::new(spec) });
            self.now_unix_ms += (result.warmup_ns + result.window_ns + result.tail_ns) / 1_000_000;
            if !rows.is_empty() {
                self.tell(Event::Rows { rows });
            }
            self.tell(Event::StepFinished { result: Box::new(result) });
        }
        self.tell(Event::ItemFinished { result: Box::new(without_steps) });
    }
}
