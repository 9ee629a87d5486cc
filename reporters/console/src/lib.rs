//! The reporter `console`: results of one or more runs as plain text, to be read in a terminal.
//!
//! Each run has a head (what ran, where, with what), one table for all tests, its expectations, and whatever
//! the reader must know to judge the numbers: warnings, fallbacks, what did not run and what was cut short.

mod layout;
mod results;
mod text;

use iodyno_plugin::{Error, Factory, Output, Plugin, Reporter, Result, RunView, register};
use iodyno_record::Results;

register! {
    Plugin {
        name: "console",
        version: env!("CARGO_PKG_VERSION"),
        summary: "results as text: a table of all tests, expectations, warnings",
        options: &[],
        factory: Factory::Reporter(|_| Ok(Box::new(Console))),
    }
}

struct Console;

impl Reporter for Console {
    fn finish(&mut self, runs: &[RunView<'_>], out: &mut dyn Output) -> Result<()> {
        let mut texts = Vec::with_capacity(runs.len());
        for run in runs {
            let results: Results = serde_json::from_slice(run.results)
                .map_err(|e| Error::contract(format!("the results document cannot be read: {e}")))?;
            texts.push(text::run(&results));
        }
        let file = out.create("results.txt", "text/plain")?;
        out.write(file, texts.join("\n").as_bytes())?;
        out.finish(file)
    }
}
