//! The reporter `csv`: two tables as RFC 4180 has them, with a line of names and units in the names. Numbers
//! are not rounded; a cell is empty where nothing was measured.
//!
//! - `summary.csv`: one line for each operation of each stream of each step, and one for each item that has no
//!   steps, which says why.
//! - `rows.csv`: one line for each interval row.

mod rows;
mod summary;
mod table;

use iodyno_plugin::{Error, Factory, Output, Plugin, Reporter, Result, RunView, register};
use iodyno_record::{Results, Row};
use serde::de::DeserializeOwned;

register! {
    Plugin {
        name: "csv",
        version: env!("CARGO_PKG_VERSION"),
        summary: "a table of results and a table of interval rows, for spreadsheets and data frames",
        options: &[],
        factory: Factory::Reporter(|_| Ok(Box::new(Csv))),
    }
}

struct Csv;

impl Reporter for Csv {
    fn finish(&mut self, runs: &[RunView<'_>], out: &mut dyn Output) -> Result<()> {
        let mut read = Vec::with_capacity(runs.len());
        for run in runs {
            let lines = run.rows.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let rows = lines.map(|line| parse("an interval row", line)).collect::<Result<Vec<Row>>>()?;
            read.push((parse::<Results>("the results document", run.results)?, rows));
        }
        write(out, "summary.csv", &summary::table(read.iter().map(|(results, _)| results)))?;
        write(out, "rows.csv", &rows::table(&read))
    }
}

fn parse<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|e| Error::contract(format!("{what} cannot be read: {e}")))
}

fn write(out: &mut dyn Output, name: &str, text: &str) -> Result<()> {
    let file = out.create(name, "text/csv")?;
    out.write(file, text.as_bytes())?;
    out.finish(file)
}
