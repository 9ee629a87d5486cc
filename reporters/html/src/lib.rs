//! The reporter `html`: one page from the record of one or more runs. The file needs nothing else: style, script
//! and data are inside, nothing is loaded from anywhere. Tables and bars are plain HTML; the script adds charts.
//!
//! Everything that comes from the record goes through `escape::Html`, which takes markup as constants only.

mod bars;
mod charts;
mod comparison;
mod environment;
mod escape;
mod facts;
mod figures;
mod marks;
mod page;
mod run;
mod series;
mod settings;
mod subject;
mod words;

use iodyno_plugin::{Factory, Output, Plugin, Reporter, Result, RunView, register};

register! {
    Plugin {
        name: "html",
        version: env!("CARGO_PKG_VERSION"),
        summary: "one page with tables and charts that needs no network",
        options: &[],
        factory: Factory::Reporter(|_| Ok(Box::new(HtmlReport))),
    }
}

struct HtmlReport;

impl Reporter for HtmlReport {
    fn finish(&mut self, runs: &[RunView<'_>], out: &mut dyn Output) -> Result<()> {
        let page = page::page(&run::read(runs)?)?;
        let file = out.create("report.html", "text/html")?;
        out.write(file, page.as_str().as_bytes())?;
        out.finish(file)
    }
}
