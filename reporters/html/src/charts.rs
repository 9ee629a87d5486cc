//! Charts: what the script draws, as data, and the figures that hold it.

use std::collections::HashMap;

use iodyno_plugin::Result;
use iodyno_record::{Op, Row, RowKind, StepRecord};
use serde::Serialize;

use crate::escape::Html;
use crate::series::{POINTS_MAX, Place, Point, Short, quantiles, reduce};
use crate::subject::{Entry, Found, Subject};

/// All charts of a page, in the order of their figures.
#[derive(Default, Serialize)]
pub(crate) struct Charts(Vec<Chart>);

#[derive(Serialize)]
struct Chart {
    x: Axis,
    y: Unit,
    /// First and last x of a time chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<[Place; 2]>,
    /// Time charts of one group zoom together.
    group: usize,
    series: Vec<Series>,
    /// Whether a series has fewer points than windows.
    #[serde(skip)]
    reduced: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Axis {
    /// Seconds since the measure began; negative in the warm-up.
    Time,
    /// -log10 of the share beyond.
    Quantile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Iops,
    Bandwidth,
    Latency,
}

/// Points are columns, so that a name is written once.
#[derive(Debug, Serialize)]
struct Series {
    /// Which run, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// Which operation of which stream.
    line: String,
    /// Which statistic, where a chart shows several.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'static str>,
    colour: usize,
    dash: usize,
    x: Vec<Place>,
    y: Vec<Option<Short>>,
    /// From this point on few samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    few: Option<usize>,
}

/// Classes of the style sheet: `c0` and on, `d0` and on.
const COLOURS: usize = 6;
const DASHES: usize = 4;

/// How a series looks.
struct Look {
    run: Option<String>,
    line: String,
    colour: usize,
    dash: usize,
}

/// A rate comes from windows of at least this share of the usual length: the rest of a step that was stopped may
/// be so short that its rate is noise.
const SHORTEST: f64 = 0.1;

/// Named statistics of a row.
type Parts = &'static [(Option<&'static str>, fn(&Row) -> Option<f64>)];

const LATENCY: Parts = &[
    (Some("p50"), |row| row.service.as_ref().map(|l| l.p50_ns as f64)),
    (Some("p99"), |row| row.service.as_ref().map(|l| l.p99_ns as f64)),
    (Some("max"), |row| row.service.as_ref().map(|l| l.max_ns as f64)),
];
const IOPS: Parts = &[(None, Row::iops)];
const BANDWIDTH: Parts = &[(None, |row| row.bandwidth_bytes_per_s().filter(|_| row.op != Op::Flush))];

impl Charts {
    /// Adds the figures of a subject to the page.
    ///
    /// # Errors
    /// When a histogram of the record is damaged.
    pub(crate) fn figures(&mut self, out: &mut Html, subject: &Subject<'_>, group: usize) -> Result<()> {
        let looks = looks(subject);
        let chart = percentiles(subject, &looks, group)?;
        let few = chart.series.iter().any(|s| s.few.is_some());
        out.raw("<div class=\"charts\">");
        self.figure(
            out,
            "Service time by percentile",
            &[
                "At 99% one I/O in a hundred took longer than the curve is high. Lower and flatter is better.",
                if few { " Dotted: fewer than ten samples lie beyond, so it is the luck of this run." } else { "" },
            ],
            chart,
        );
        let over_time = [
            (
                "Service time over time",
                "Median, 99th percentile and slowest I/O of each window. A high dot is a stall.",
                Unit::Latency,
                LATENCY,
            ),
            (
                "IOPS over time",
                "I/O completed per second in each window. Even is good; a step down may be a cache that is full.",
                Unit::Iops,
                IOPS,
            ),
            (
                "Bandwidth over time",
                "Bytes moved per second in each window, decimal units.",
                Unit::Bandwidth,
                BANDWIDTH,
            ),
        ];
        for (title, aid, unit, parts) in over_time {
            let chart = time_chart(subject, &looks, group, unit, parts);
            let warmup = chart.span.is_some_and(|span| span[0].0 < 0.0);
            let shaded = if warmup { " Shaded: the warm-up, which is in no result." } else { "" };
            let reduced = if chart.reduced {
                " Too many windows to show all: of each stretch the least and the greatest are here."
            } else {
                ""
            };
            self.figure(out, title, &[aid, shaded, reduced], chart);
        }
        out.raw("</div>");
        Ok(())
    }

    fn figure(&mut self, out: &mut Html, title: &'static str, aid: &[&'static str], chart: Chart) {
        if chart.series.is_empty() {
            out.raw("<figure class=\"chart empty\"><figcaption>").text(title).raw("</figcaption>");
            out.raw("<p class=\"nothing\">Nothing was measured.</p></figure>");
            return;
        }
        out.raw("<figure class=\"chart\" data-chart=\"").text(self.0.len()).raw("\">");
        out.raw("<figcaption>").text(title).raw("</figcaption><div class=\"plot\"></div><p class=\"aid\">");
        aid.iter().for_each(|text| {
            out.raw(text);
        });
        out.raw("</p></figure>");
        self.0.push(chart);
    }

    /// The JSON for the script.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("charts are plain data")
    }
}

fn percentiles(subject: &Subject<'_>, looks: &Looks, group: usize) -> Result<Chart> {
    let mut all = Vec::new();
    for ((_, found), look) in each(subject, looks) {
        let Some(latency) = &found.op.service else { continue };
        let curve = quantiles(latency)?;
        let few = (curve.few_from < curve.points.len()).then_some(curve.few_from);
        all.push(Series { few, ..series(look, None, &curve.points) });
    }
    Ok(Chart { x: Axis::Quantile, y: Unit::Latency, span: None, group, series: all, reduced: false })
}

fn time_chart(subject: &Subject<'_>, looks: &Looks, group: usize, y: Unit, parts: Parts) -> Chart {
    let steps = || subject.present().filter_map(|(_, entry)| entry.step);
    let longest = |ns: fn(&StepRecord) -> u64| steps().map(ns).max().unwrap_or(0) as f64 / 1e9;
    let span = [Place(-longest(|s| s.result.warmup_ns)), Place(longest(|s| s.result.window_ns))];
    let mut reduced = false;
    let mut all = Vec::new();
    for ((entry, found), look) in each(subject, looks) {
        let windows = windows(&entry, found, y);
        for (part, value) in parts {
            let points = points(&entry, &windows, *value);
            if points.iter().any(|p| p.1.is_some()) {
                reduced |= points.len() > POINTS_MAX;
                all.push(series(look, *part, &points));
            }
        }
    }
    Chart { x: Axis::Time, y, span: Some(span), group, series: all, reduced }
}

type Looks = HashMap<(usize, usize), Look>;

/// Colour is the run where there are several, else the operation or stream; dashes tell the rest apart.
fn looks(subject: &Subject<'_>) -> Looks {
    let several = subject.entries.len() > 1;
    let single_stream = subject.lines.iter().all(|l| l.stream == subject.lines[0].stream);
    let mut looks = Looks::new();
    for (run, entry) in subject.present() {
        for (index, line) in subject.lines.iter().enumerate() {
            let (colour, dash) = match several {
                true => (run, index),
                // The same colour for reads on all of the page.
                false if single_stream => (line.op as usize, 0),
                false => (index, index / COLOURS),
            };
            let look = Look {
                run: several.then(|| entry.run.label.clone()),
                line: line.label.clone(),
                colour: colour % COLOURS,
                dash: dash % DASHES,
            };
            looks.insert((run, index), look);
        }
    }
    looks
}

/// What each run has of each line, with its look.
fn each<'s, 'a: 's>(
    subject: &'s Subject<'a>,
    looks: &'s Looks,
) -> impl Iterator<Item = ((Entry<'a>, Found<'a>), &'s Look)> {
    subject.lines.iter().enumerate().flat_map(move |(index, line)| {
        subject
            .present()
            .filter_map(move |(run, entry)| Some(((entry, entry.find(line)?), &looks[&(run, index)])))
    })
}

fn series(look: &Look, part: Option<&'static str>, points: &[Point]) -> Series {
    let points = reduce(points, POINTS_MAX);
    Series {
        run: look.run.clone(),
        line: look.line.clone(),
        part,
        colour: look.colour,
        dash: look.dash,
        x: points.iter().map(|p| Place(p.0)).collect(),
        y: points.iter().map(|p| p.1.map(Short)).collect(),
        few: None,
    }
}

/// The windows of warm-up and measure, in the order of time; for rates without those that are very short.
fn windows<'a>(entry: &Entry<'a>, found: Found<'_>, unit: Unit) -> Vec<&'a Row> {
    let Some(step) = entry.step else { return Vec::new() };
    let least_ns = if unit == Unit::Latency { 0.0 } else { step.spec.interval_ns as f64 * SHORTEST };
    let mut rows: Vec<&Row> = entry
        .run
        .rows(step.spec.item, step.spec.step)
        .iter()
        .filter(|r| r.stream == found.index && r.op == found.op.op)
        .filter(|r| matches!(r.kind, RowKind::Warmup | RowKind::Measure))
        .filter(|r| r.end_ns > r.start_ns && (r.end_ns - r.start_ns) as f64 >= least_ns)
        .collect();
    rows.sort_by_key(|r| r.start_ns);
    rows
}

/// One point a window, at its middle; a gap where the record has no window, or nothing in it.
fn points(entry: &Entry<'_>, windows: &[&Row], value: fn(&Row) -> Option<f64>) -> Vec<Point> {
    let zero_ns = entry.step.map_or(0.0, |s| s.result.warmup_ns as f64);
    let middle = |from: u64, to: u64| ((from as f64 + to as f64) / 2.0 - zero_ns) / 1e9;
    let mut points = Vec::with_capacity(windows.len());
    let mut end_ns = None;
    for row in windows {
        if let Some(end_ns) = end_ns.filter(|end| row.start_ns > *end) {
            points.push((middle(end_ns, row.start_ns), None));
        }
        points.push((middle(row.start_ns, row.end_ns), value(row)));
        end_ns = Some(row.end_ns);
    }
    points
}
