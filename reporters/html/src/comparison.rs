//! Key figures of several runs: a column a run, a row a number.

use iodyno_record::{LatencySummary, units};

use crate::escape::Html;
use crate::facts::scroll;
use crate::figures;
use crate::marks;
use crate::run::Run;
use crate::subject::{Found, Line, Subject};
use crate::words::{self, NOTHING};

/// A number of one run.
struct Figure {
    /// For the change against the first run.
    value: f64,
    text: String,
    class: &'static str,
}

impl Figure {
    fn new(value: f64, text: String) -> Option<Figure> {
        Some(Figure { value, text, class: "n" })
    }
}

/// The table of all subjects.
pub(crate) fn table(out: &mut Html, runs: &[Run], subjects: &[Subject<'_>]) {
    scroll(out, "Key figures");
    out.raw("<table class=\"figures compare\"><thead><tr><td></td>");
    for (index, run) in runs.iter().enumerate() {
        out.raw("<th scope=\"col\" class=\"n\"><span class=\"key c").text(index % 6).raw("\"></span>");
        out.text(&run.label).raw(if index > 0 { "</th><td></td>" } else { "</th>" });
    }
    out.raw("</tr></thead>");
    for (index, subject) in subjects.iter().enumerate() {
        if subject.measured() {
            subject.lines.iter().for_each(|line| rows(out, index, subject, line));
            continue;
        }
        out.raw("<tbody><tr class=\"group\"><th scope=\"rowgroup\">");
        figures::link(out, index, subject);
        out.raw("</th>");
        for (run, entry) in subject.entries.iter().enumerate() {
            out.element("td", "n off", entry.as_ref().map_or(NOTHING.to_owned(), figures::absence));
            out.raw(if run > 0 { "<td></td>" } else { "" });
        }
        out.raw("</tr></tbody>");
    }
    out.raw("</table></div><p class=\"aid\">Latencies are service times: from submission to completion. The change is against the first run. Each column is one run: a small change may be chance.");
    if subjects.iter().any(figures::any_few) {
        out.raw(" ").text(figures::FEW);
    }
    out.raw("</p>");
}

/// One operation of a subject.
fn rows(out: &mut Html, index: usize, subject: &Subject<'_>, line: &Line) {
    out.raw("<tbody><tr class=\"group\"><th scope=\"rowgroup\">");
    figures::link(out, index, subject);
    out.raw(" · ").text(&line.label);
    out.raw("</th>");
    for (run, entry) in subject.entries.iter().enumerate() {
        out.raw("<td class=\"n\">");
        marks::badges(out, entry.iter().map(marks::of));
        out.raw(if run > 0 { "</td><td></td>" } else { "</td>" });
    }
    out.raw("</tr>");
    for (name, number) in NUMBERS {
        let figures: Vec<Option<Figure>> = subject
            .entries
            .iter()
            .map(|e| e.as_ref().and_then(|e| e.find(line)).and_then(|found| number(found)))
            .collect();
        // Most runs have no errors: then there is nothing to compare.
        if figures.iter().flatten().any(|f| f.value != 0.0) {
            out.raw("<tr><th scope=\"row\">").raw(name).raw("</th>");
            cells(out, &figures);
            out.raw("</tr>");
        }
    }
    out.raw("</tbody>");
}

/// A cell a run, and one with the change against the first for each further one.
fn cells(out: &mut Html, figures: &[Option<Figure>]) {
    let first = figures[0].as_ref().map(|f| f.value).filter(|first| *first != 0.0);
    for (index, figure) in figures.iter().enumerate() {
        let (class, text) = figure.as_ref().map_or(("n", NOTHING), |f| (f.class, &f.text));
        out.element("td", class, text);
        if index > 0 {
            let change = first.zip(figure.as_ref()).map(|(first, figure)| change(first, figure.value));
            out.element("td", "n change", change.unwrap_or_default());
        }
    }
}

/// `+12.3 %`.
fn change(first: f64, value: f64) -> String {
    let percent = (value / first - 1.0) * 100.0;
    let digits = if percent.abs() < 99.95 { 1 } else { 0 };
    format!("{percent:+.digits$} %").replace('-', "\u{2212}")
}

type Number = fn(Found<'_>) -> Option<Figure>;

const NUMBERS: [(&str, Number); 11] = [
    ("IOPS", |f| Figure::new(f.op.iops?, words::count(f.op.iops))),
    ("bandwidth", |f| Figure::new(f.op.bandwidth_bytes_per_s?, words::bandwidth(f.op))),
    ("mean", |f| latency(f, |l| l.mean_ns)),
    ("p50", |f| percentile(f, 50.0)),
    ("p90", |f| percentile(f, 90.0)),
    ("p99", |f| percentile(f, 99.0)),
    ("p99.9", |f| percentile(f, 99.9)),
    ("p99.99", |f| percentile(f, 99.99)),
    ("max", |f| latency(f, |l| l.max_ns as f64)),
    ("errors", |f| Figure::new(f.op.errors.values().sum::<u64>() as f64, words::errors(&f.op.errors))),
    ("in flight", |f| Figure::new(f.stream.in_flight_mean?, words::count(f.stream.in_flight_mean))),
];

fn latency(found: Found<'_>, value: fn(&LatencySummary) -> f64) -> Option<Figure> {
    let ns = value(found.op.service.as_ref()?);
    Figure::new(ns, units::latency(ns))
}

fn percentile(found: Found<'_>, percent: f64) -> Option<Figure> {
    let p = found.op.service.as_ref()?.percentile(percent)?;
    let ns = p.value_ns as f64;
    let text = units::latency(ns);
    match p.few_samples {
        true => Some(Figure { value: ns, text: format!("~{text}"), class: "n few" }),
        false => Figure::new(ns, text),
    }
}

#[cfg(test)]
mod tests {
    use super::change;

    #[test]
    fn changes_have_a_sign() {
        assert_eq!([change(100.0, 112.34), change(100.0, 50.0)], ["+12.3 %", "\u{2212}50.0 %"]);
        assert_eq!([change(1.0, 12.0), change(5.0, 5.0)], ["+1100 %", "+0.0 %"]);
    }
}
