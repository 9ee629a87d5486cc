//! The reporter `json`: everything in the record of one or more runs but the interval rows, as one document of
//! the type [`ResultsFile`], whose schema `iodyno schema results` prints. Units stand in the field names.

use iodyno_plugin::{Error, Factory, Output, Plugin, Reporter, Result, RunView, register};
use iodyno_record::{Results, ResultsFile, SCHEMA_VERSION};

register! {
    Plugin {
        name: "json",
        version: env!("CARGO_PKG_VERSION"),
        summary: "all results in one JSON document with a published schema",
        options: &[],
        factory: Factory::Reporter(|_| Ok(Box::new(Json))),
    }
}

struct Json;

impl Reporter for Json {
    fn finish(&mut self, runs: &[RunView<'_>], out: &mut dyn Output) -> Result<()> {
        let read = |run: &RunView<'_>| {
            serde_json::from_slice::<Results>(run.results)
                .map_err(|e| Error::contract(format!("the results document cannot be read: {e}")))
        };
        let document = ResultsFile {
            schema: ResultsFile::SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            runs: runs.iter().map(read).collect::<Result<_>>()?,
        };
        let mut text =
            serde_json::to_string_pretty(&document).expect("records are plain data with text keys");
        text.push('\n');
        let file = out.create("results.json", "application/json")?;
        out.write(file, text.as_bytes())?;
        out.finish(file)
    }
}
