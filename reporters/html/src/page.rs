//! The page: what stands where.

use iodyno_plugin::Result;
use iodyno_record::{ItemKind, Outcome, units};

use crate::charts::Charts;
use crate::escape::Html;
use crate::run::Run;
use crate::subject::{Subject, subjects};
use crate::{bars, comparison, environment, figures, marks, settings, words};

const STYLE: &str = include_str!("../assets/report.css");
const SCRIPT: &str = include_str!("../assets/report.js");

/// The whole file.
///
/// # Errors
/// When a histogram of the record is damaged.
pub(crate) fn page(runs: &[Run]) -> Result<Html> {
    let subjects = subjects(runs);
    let mut charts = Charts::default();
    let mut out = Html::default();
    head(&mut out, runs);
    hero(&mut out, runs);
    out.raw("<main>");
    marks::banners(&mut out, runs, &subjects);
    marks::warnings(&mut out, runs, &subjects);
    summary(&mut out, runs, &subjects);
    out.raw("<section><h2>Key figures</h2>");
    if runs.len() > 1 {
        comparison::table(&mut out, runs, &subjects);
    } else {
        figures::key_figures(&mut out, &subjects);
    }
    bars::figures(&mut out, runs, &subjects);
    out.raw("</section>");
    figures::expectations(&mut out, runs, &subjects);
    for (kind, title) in [(ItemKind::Test, "Tests"), (ItemKind::Prepare, "Preparation")] {
        let mut of_kind =
            subjects.iter().enumerate().filter(|(_, s)| s.kind == kind && s.has_section()).peekable();
        if of_kind.peek().is_some() {
            out.raw("<section><h2>").raw(title).raw("</h2>");
            for (index, subject) in of_kind {
                detail(&mut out, runs, subject, index, &mut charts)?;
            }
            out.raw("</section>");
        }
    }
    environment::environment(&mut out, runs);
    environment::provenance(&mut out, runs);
    how_to_read(&mut out);
    out.raw("</main><footer>Made by iodyno. Everything is in this file; it loads nothing.</footer>");
    out.raw("<script type=\"application/json\" id=\"charts\">").json(&charts.to_json()).raw("</script>");
    out.raw("<script>").raw(SCRIPT).raw("</script></body></html>\n");
    Ok(out)
}

/// The suites' name, or names.
fn title(runs: &[Run]) -> String {
    let mut names: Vec<&str> = runs.iter().map(|r| r.results.plan.suite.as_str()).collect();
    names.dedup();
    let names = names.join(", ");
    if runs.len() > 1 { format!("{names}: {} runs compared", runs.len()) } else { names }
}

fn head(out: &mut Html, runs: &[Run]) {
    out.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    out.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>");
    out.text(title(runs)).raw(" \u{b7} iodyno</title><link rel=\"icon\" href=\"data:,\">");
    out.raw("<style>").raw(STYLE).raw("</style>");
    out.raw("<noscript><style>.chart{display:none}</style></noscript></head><body>");
}

fn hero(out: &mut Html, runs: &[Run]) {
    out.raw("<header><div class=\"top\"><span class=\"kicker\">iodyno \u{b7} storage test report</span>");
    out.raw("<button type=\"button\" id=\"theme\" hidden>Light or dark</button></div><h1>");
    out.text(title(runs)).raw("</h1>");
    let mut descriptions: Vec<&String> =
        runs.iter().filter_map(|r| r.results.plan.description.as_ref()).collect();
    descriptions.dedup();
    for description in descriptions {
        out.element("p", "description", description);
    }
    for (index, run) in runs.iter().enumerate() {
        if runs.len() > 1 {
            out.raw("<h2 class=\"run\"><span class=\"key c").text(index % 6).raw("\"></span>");
            out.text(&run.label).raw("</h2>");
        }
        strip(out, run);
    }
    out.raw("</header>");
}

/// The run at a glance.
fn strip(out: &mut Html, run: &Run) {
    let results = &run.results;
    let (word, class) = words::outcome(results.run.outcome);
    out.raw("<dl class=\"strip\"><div><dt>Outcome</dt><dd>").element("span", class, word);
    out.element("small", "", tally(run)).raw("</dd></div>");

    let devices = &results.environment.devices;
    let name = devices.first().map_or(words::NOTHING, |d| d.model.as_deref().unwrap_or(&d.label));
    let place = devices.first().map(|d| {
        let path = d.path.as_deref().unwrap_or(&d.label);
        format!("{} \u{b7} {path}", units::amount(d.size_bytes as f64))
    });
    let more = if devices.len() > 1 { format!(" and {} more", devices.len() - 1) } else { String::new() };
    cell(out, "Target", &format!("{name}{more}"), place.as_deref());

    let host = &results.environment.host;
    let kernel = host.kernel.as_ref().map(|k| format!("kernel {k}"));
    let machine = host.cpu_model.as_deref().or(host.hostname.as_deref());
    cell(out, "Machine", machine.unwrap_or(words::NOTHING), kernel.as_deref());

    let began = units::utc(results.run.started_unix_ms);
    let took_ms = results.run.ended_unix_ms.saturating_sub(results.run.started_unix_ms);
    cell(
        out,
        "Began",
        &format!("{began} UTC"),
        Some(&format!("took {}", units::duration(took_ms * 1_000_000))),
    );
    cell(out, "Run", &results.run.id, Some(&format!("seed {}", results.plan.seed)));
    out.raw("</dl>");
}

fn cell(out: &mut Html, name: &'static str, big: &str, small: Option<&str>) {
    out.raw("<div><dt>").raw(name).raw("</dt><dd>").text(big);
    if let Some(small) = small {
        out.element("small", "", small);
    }
    out.raw("</dd></div>");
}

/// How many tests ended how: `3 passed, 1 not run`.
fn tally(run: &Run) -> String {
    let tests: Vec<Outcome> =
        run.results.items.iter().filter(|i| i.kind == ItemKind::Test).map(|i| i.outcome).collect();
    let planned = run.results.plan.items.iter().filter(|i| i.kind == ItemKind::Test).count();
    let all =
        [Outcome::Passed, Outcome::ThresholdsCrossed, Outcome::Failed, Outcome::Interrupted, Outcome::NotRun];
    let count = |outcome| (tests.iter().filter(|o| **o == outcome).count(), words::outcome(outcome).0);
    let unreached = (planned.saturating_sub(tests.len()), "not reached");
    let counts = all.map(count).into_iter().chain([unreached]).filter(|(n, _)| *n > 0);
    let texts: Vec<String> = counts.map(|(n, word)| format!("{n} {word}")).collect();
    if texts.is_empty() { "no tests".to_owned() } else { texts.join(", ") }
}

/// A line of words for each test; a list of contents at the same time.
fn summary(out: &mut Html, runs: &[Run], subjects: &[Subject<'_>]) {
    if subjects.is_empty() {
        return;
    }
    out.raw("<section><h2>Summary</h2><ul class=\"summary\">");
    for (index, subject) in subjects.iter().enumerate() {
        out.raw("<li>");
        figures::link(out, index, subject);
        sentences(out, runs, subject);
        out.raw("</li>");
    }
    out.raw("</ul></section>");
}

/// Outcome, marks and sentence of each run of a subject.
fn sentences(out: &mut Html, runs: &[Run], subject: &Subject<'_>) {
    for (run, entry) in subject.present() {
        out.raw(if runs.len() > 1 { "<p><span class=\"key c" } else { "<p>" });
        if runs.len() > 1 {
            out.text(run % 6).raw("\"></span>").element("b", "", &entry.run.label).raw(" ");
        }
        let (word, class) = words::state(&entry);
        out.element("span", class, word);
        let failed = [marks::Mark::Failed, marks::Mark::Interrupted];
        marks::badges(
            out,
            std::iter::once(marks::of(&entry)).map(|mut m| {
                // The outcome says these two already.
                m.retain(|m| !failed.contains(m));
                m
            }),
        );
        out.raw(" ").text(words::sentence(&entry)).raw("</p>");
    }
}

/// Everything about one subject.
fn detail(
    out: &mut Html,
    runs: &[Run],
    subject: &Subject<'_>,
    index: usize,
    charts: &mut Charts,
) -> Result<()> {
    out.raw("<article id=\"t").text(index).raw("\"><h3>").text(&subject.name).raw("</h3>");
    sentences(out, runs, subject);
    charts.figures(out, subject, index)?;
    out.raw("<details><summary>Settings and circumstances</summary>");
    let labels: Vec<&str> = runs.iter().map(|r| r.label.as_str()).collect();
    settings::of_subject(subject).write(out, "Settings and circumstances", &labels);
    out.raw("</details></article>");
    Ok(())
}

const HOW_TO_READ: [(&str, &str); 8] = [
    (
        "Service time",
        "From the submission of an I/O to its completion. In a closed loop the next I/O waits for a free place, so a slow device is asked less, and that wait is in no latency here.",
    ),
    (
        "Percentiles",
        "p99 = 1 ms: of a hundred I/O, one took longer than 1 ms. They come from whole histograms with a relative error of at most 0.1 %, and are never averaged. Mean, least and greatest are exact.",
    ),
    (
        "IOPS and bandwidth",
        "Good I/O that completed in the measured window, and the bytes they moved, per second. Bandwidth is decimal (1 MB = 1,000,000 bytes); block sizes are binary (4KiB = 4096 bytes).",
    ),
    (
        "In flight",
        "I/O outstanding, averaged over time and counted apart from the latencies. IOPS times mean service time comes to the same number, or something is wrong.",
    ),
    (
        "Warm-up and tail",
        "What was submitted in the warm-up is in no result. What was submitted in the window but completed after its end is in the latencies, and in no rate.",
    ),
    ("Errors", "Failed I/O. They are in no rate and no latency."),
    ("Gaps", "Where nothing was measured there is a gap in a line and a dash in a table, never a zero."),
    (
        "Charts",
        "Point at a chart for values, drag to zoom, double-click to go back; the buttons hide and show lines. By keyboard: arrow keys move, + and \u{2212} zoom, Escape goes back.",
    ),
];

fn how_to_read(out: &mut Html) {
    out.raw("<section><h2>How to read it</h2><dl class=\"reading\">");
    for (word, meaning) in HOW_TO_READ {
        out.raw("<div><dt>").raw(word).raw("</dt><dd>").raw(meaning).raw("</dd></div>");
    }
    out.raw("</dl></section>");
}
