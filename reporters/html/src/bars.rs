//! Bars of throughput by test: plain HTML, so that they are there without a script and on paper.

use iodyno_record::{ItemKind, Op, OpResult, StepRecord, units};

use crate::escape::Html;
use crate::figures;
use crate::run::Run;
use crate::subject::Subject;
use crate::words::NOTHING;

/// The two figures.
pub(crate) fn figures(out: &mut Html, runs: &[Run], subjects: &[Subject<'_>]) {
    let tests: Vec<(usize, &Subject<'_>)> =
        subjects.iter().enumerate().filter(|(_, s)| s.kind == ItemKind::Test && s.measured()).collect();
    if tests.is_empty() {
        return;
    }
    out.raw("<div class=\"charts\">");
    bars(out, runs, &tests, "IOPS by test", |op| op.iops, units::count);
    bars(out, runs, &tests, "Bandwidth by test", |op| op.bandwidth_bytes_per_s, units::bandwidth);
    out.raw("</div>");
}

fn bars(
    out: &mut Html,
    runs: &[Run],
    tests: &[(usize, &Subject<'_>)],
    title: &'static str,
    value: fn(&OpResult) -> Option<f64>,
    text: fn(f64) -> String,
) {
    let of = |step: &StepRecord, op: Op| step.result.ops(Some(op)).filter_map(value).sum::<f64>();
    let total = |step: &StepRecord| step.result.ops(None).filter_map(value).reduce(|sum, more| sum + more);
    let steps = tests.iter().flat_map(|(_, s)| s.present()).filter_map(|(_, e)| e.step);
    let most = steps.filter_map(total).fold(0.0, f64::max);
    let mut ops_seen = [false; Op::ALL.len()];
    out.raw("<figure class=\"bars\"><figcaption>").text(title).raw("</figcaption><table><tbody>");
    for (index, subject) in tests {
        for (at, (run, entry)) in subject.present().enumerate() {
            out.raw(if at == 0 {
                "<tr class=\"first\"><th scope=\"row\">"
            } else {
                "<tr><th scope=\"row\">"
            });
            if at == 0 {
                figures::link(out, *index, subject);
            }
            out.raw("</th><td>");
            let Some(step) = entry.step else {
                out.raw("not run</td></tr>");
                continue;
            };
            for op in Op::ALL {
                let share = if most > 0.0 { of(step, op) / most * 70.0 } else { 0.0 };
                if share > 0.0 {
                    ops_seen[op as usize] = true;
                    let (colour, fade) =
                        if runs.len() > 1 { (run % 6, op as usize) } else { (op as usize, 0) };
                    out.raw("<span class=\"bar c").text(colour).raw(" f").text(fade);
                    out.raw("\" style=\"width:").text(format_args!("{share:.2}")).raw("%\" title=\"");
                    out.text(format_args!("{} {}", op.name(), text(of(step, op)))).raw("\"></span>");
                }
            }
            out.raw("<span class=\"value\">")
                .text(total(step).map_or(NOTHING.to_owned(), text))
                .raw("</span></td></tr>");
        }
    }
    out.raw("</tbody></table><p class=\"aid\">");
    if runs.len() > 1 {
        out.raw("All operations together; in a bar, the fainter part is writes, then flushes.");
        for (index, run) in runs.iter().enumerate() {
            out.raw(" <span class=\"key c").text(index % 6).raw("\"></span>").text(&run.label);
        }
    } else {
        out.raw("All operations together:");
        for op in Op::ALL.into_iter().filter(|op| ops_seen[*op as usize]) {
            out.raw(" <span class=\"key c").text(op as usize).raw("\"></span>").text(op.name());
        }
    }
    out.raw("</p></figure>");
}
