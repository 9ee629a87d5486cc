//! Tables of numbers: key figures of one run, and expectations.

use iodyno_record::{
    ExpectResult, ItemKind, LatencySummary, MetricKind, Percentile, Sharing, StepRecord, units,
};

use crate::escape::Html;
use crate::facts::scroll;
use crate::marks;
use crate::run::Run;
use crate::subject::{Entry, Subject};
use crate::words::{self, NOTHING};

/// The percentiles of the key figures.
pub(crate) const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// What the mark before a percentile means.
pub(crate) const FEW: &str =
    "~ fewer than ten samples lie beyond this percentile: it is little more than the luck of this run.";

/// Key figures of one run: a row for each operation of each stream.
pub(crate) fn key_figures(out: &mut Html, subjects: &[Subject<'_>]) {
    scroll(out, "Key figures");
    out.raw(
        "<table class=\"figures\"><thead><tr><th scope=\"col\">Test</th><th scope=\"col\">Operation</th>",
    );
    let percentiles = PERCENTILES.map(Percentile::name);
    let heads = ["IOPS", "Bandwidth", "Mean"].into_iter().chain(percentiles.iter().map(String::as_str));
    for head in heads.chain(["Max", "Errors", "In flight"]) {
        out.raw("<th scope=\"col\" class=\"n\">").text(head).raw("</th>");
    }
    out.raw("</tr></thead>");
    for (index, subject) in subjects.iter().enumerate() {
        let Some((_, entry)) = subject.present().next() else { continue };
        out.raw("<tbody>");
        match entry.step {
            Some(step) if subject.measured() => rows(out, index, subject, &entry, step),
            _ => {
                out.raw("<tr>");
                name_cell(out, index, subject, &entry, 1);
                out.raw("<td colspan=\"12\" class=\"off\">").text(absence(&entry)).raw("</td></tr>");
            }
        }
        out.raw("</tbody>");
    }
    out.raw("</table></div>");
    let service = "Latencies are service times: from submission to completion. In flight: I/O outstanding, averaged over time, of those asked for.";
    out.raw("<p class=\"aid\">").text(service);
    if subjects.iter().any(any_few) {
        out.raw(" ").text(FEW);
    }
    out.raw("</p>");
}

fn rows(out: &mut Html, index: usize, subject: &Subject<'_>, entry: &Entry<'_>, step: &StepRecord) {
    let mut stream_before = None;
    for (row, line) in subject.lines.iter().enumerate() {
        let Some(found) = entry.find(line) else { continue };
        out.raw("<tr>");
        if row == 0 {
            name_cell(out, index, subject, entry, subject.lines.len());
        }
        out.raw("<th scope=\"row\">").text(&line.label).raw("</th>");
        out.element("td", "n rate", words::count(found.op.iops));
        out.element("td", "n rate", words::bandwidth(found.op));
        latencies(out, found.op.service.as_ref());
        let failed = !found.op.errors.is_empty();
        out.element("td", if failed { "n bad" } else { "n" }, words::errors(&found.op.errors));
        // What was asked is said once per queue: of the step where streams share one, else of each stream.
        let of_stream = step.spec.sharing == Sharing::Independent && step.result.streams.len() > 1;
        if row == 0 || (of_stream && stream_before != Some(found.index)) {
            let same = subject.lines.iter().filter(|l| l.stream == line.stream).count();
            let asked = step.spec.streams.get(found.index as usize).map(|s| s.load.outstanding);
            let (rows, mean, asked) = if of_stream {
                (same, found.stream.in_flight_mean, asked.unwrap_or(step.result.depth.asked))
            } else {
                (subject.lines.len(), step.result.depth.mean, step.result.depth.asked)
            };
            out.raw("<td class=\"n\" rowspan=\"").text(rows).raw("\">");
            out.text(format!("{} of {}", words::count(mean), units::count(f64::from(asked)))).raw("</td>");
        }
        stream_before = Some(found.index);
        out.raw("</tr>");
    }
}

/// Why an entry has no numbers.
pub(crate) fn absence(entry: &Entry<'_>) -> String {
    let (state, reason) = (words::state(entry).0, words::sentence(entry));
    if reason.is_empty() { state.to_owned() } else { format!("{state}: {reason}") }
}

fn name_cell(out: &mut Html, index: usize, subject: &Subject<'_>, entry: &Entry<'_>, rows: usize) {
    out.raw("<th scope=\"rowgroup\" rowspan=\"").text(rows).raw("\">");
    link(out, index, subject);
    if subject.kind == ItemKind::Prepare {
        out.raw(" ").element("span", "tag off", words::kind(subject.kind));
    }
    marks::badges(out, std::iter::once(marks::of(entry)));
    out.raw("</th>");
}

/// The name of a subject, leading to its section where it has one.
pub(crate) fn link(out: &mut Html, index: usize, subject: &Subject<'_>) {
    if subject.has_section() {
        out.raw("<a href=\"#t").text(index).raw("\">").text(&subject.name).raw("</a>");
    } else {
        out.text(&subject.name);
    }
}

fn latencies(out: &mut Html, latency: Option<&LatencySummary>) {
    let cell = |out: &mut Html, ns: Option<f64>| {
        out.element("td", "n", ns.map_or(NOTHING.to_owned(), units::latency));
    };
    cell(out, latency.map(|l| l.mean_ns));
    for percent in PERCENTILES {
        match latency.and_then(|l| l.percentile(percent)) {
            Some(p) if p.few_samples => {
                out.element("td", "n few", format!("~{}", units::latency(p.value_ns as f64)));
            }
            p => cell(out, p.map(|p| p.value_ns as f64)),
        }
    }
    cell(out, latency.map(|l| l.max_ns as f64));
}

/// Whether a percentile that is shown rests on few samples.
pub(crate) fn any_few(subject: &Subject<'_>) -> bool {
    let found = subject.present().flat_map(|(_, e)| subject.lines.iter().filter_map(move |l| e.find(l)));
    found
        .filter_map(|f| f.op.service.as_ref())
        .any(|latency| PERCENTILES.iter().filter_map(|p| latency.percentile(*p)).any(|p| p.few_samples))
}

/// All expectations of all runs.
pub(crate) fn expectations(out: &mut Html, runs: &[Run], subjects: &[Subject<'_>]) {
    let judged = || {
        subjects.iter().enumerate().flat_map(|(i, s)| {
            s.present().flat_map(move |(_, e)| {
                e.result.into_iter().flat_map(move |r| r.expects.iter().map(move |x| (i, s, e, x)))
            })
        })
    };
    if judged().next().is_none() {
        return;
    }
    let several = runs.len() > 1;
    out.raw("<section><h2>Expectations</h2>");
    scroll(out, "Expectations");
    out.raw("<table class=\"figures\"><thead><tr><th scope=\"col\">Test</th>");
    if several {
        out.raw("<th scope=\"col\">Run</th>");
    }
    out.raw("<th scope=\"col\">Expected</th><th scope=\"col\" class=\"n\">Measured</th><th scope=\"col\">Held</th></tr></thead><tbody>");
    for (index, subject, entry, expect) in judged() {
        out.raw("<tr><th scope=\"row\">");
        link(out, index, subject);
        out.raw("</th>");
        if several {
            out.element("td", "", &entry.run.label);
        }
        out.raw("<td><code>").text(&expect.text).raw("</code></td>");
        out.element("td", "n", measured(&entry, expect)).raw("<td>");
        let (word, class) = if expect.held { ("held", "tag good") } else { ("crossed", "tag bad") };
        out.element("span", class, word);
        if let Some(remark) = &expect.remark {
            out.raw(" ").element("span", "where", remark);
        }
        out.raw("</td></tr>");
    }
    out.raw("</tbody></table></div></section>");
}

/// What was measured, in the unit of what was asked.
fn measured(entry: &Entry<'_>, expect: &ExpectResult) -> String {
    let Some(value) = expect.measured else { return NOTHING.to_owned() };
    let asked = entry.item.expects.iter().find(|e| e.text == expect.text);
    match asked.map(|e| e.metric.kind) {
        Some(MetricKind::Latency { .. }) => units::latency(value),
        Some(MetricKind::Bandwidth) => units::bandwidth(value),
        Some(MetricKind::Bytes) => units::amount(value),
        _ => units::count(value),
    }
}
