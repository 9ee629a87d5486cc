//! The page as a reader gets it: what the file holds, and what a browser makes of it.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod browser;
mod fixture;

use iodyno_record::{End, Fill, Outcome, TargetKind};

use crate::browser::{Browser, check};
use crate::fixture::{Example, render};

#[test]
fn the_script_is_sound() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/report.js");
    let node = std::process::Command::new("node").args(["--check", script]).output();
    let node = node.expect("node reads the report's script: install the package `nodejs`");
    assert!(node.status.success(), "{}", String::from_utf8_lossy(&node.stderr));
    let bytes = std::fs::metadata(script).unwrap().len();
    assert!(bytes < 14_000, "{bytes} bytes: the script stays small, or a library would do");
}

#[test]
fn the_file_needs_nothing_else() {
    let page = render(&[Example::load("run")]);
    let outside = page.replace("\"http://www.w3.org/2000/svg\"", "");
    for reference in ["http", "src=", "@import", "url(", "<link rel=\"stylesheet", "fetch(", "XMLHttp"] {
        assert!(!outside.contains(reference), "the page holds `{reference}`");
    }
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert_eq!(page.matches("</script>").count(), 2, "data and script");
}

#[test]
fn tables_are_there_without_a_script() {
    let page = render(&[Example::load("run")]);
    let before_script = &page[..page.find("<script").unwrap()];
    for text in [
        "4k-random-read",
        "358.5k IOPS at 32 outstanding, mean 89.25 us, p99 209.4 us",
        ">~17.06 ms<",
        "fewer than ten samples",
        "2 (errno 5)",
        "32 of 32",
        "needs a capacity of 4TB",
        "<code>write.service.max &lt; 10ms</code>",
        "crossed",
        "cpupower frequency-set -g performance",
        "io_uring (asked for: auto)",
        "EX0123456789",
        "1.0.4",
        "6.12.41",
        "8214565720323",
        "iodyno run drive-check.toml --target /dev/nvme0n1",
        "block_size 4KiB",
        "a stamp per turn of the queue, resolution 31 ns",
    ] {
        assert!(before_script.contains(text), "no `{text}` in the page");
    }
}

#[test]
fn marks_cannot_be_overlooked() {
    let plain = render(&[Example::load("run")]);
    assert!(!plain.contains("class=\"banner"), "nothing is wrong with this run");

    let banner = |example: Example, mark: &str, meaning: &str| {
        let page = render(&[example]);
        let head = &page[..page.find("<h2>Summary").unwrap()];
        assert!(
            head.contains(&format!("<strong>{mark}</strong>")) && head.contains(meaning),
            "{mark}: {head}"
        );
    };
    banner(Example::load("interrupted"), "interrupted", "2 of 5 items reached, 4k-random-read");
    let mut buffered = Example::load("run");
    buffered.steps(|step| step.spec.direct = false);
    banner(buffered, "page cache", "through the page cache");
    let mut simulated = Example::load("run");
    simulated.steps(|step| step.result.timing.clock = "virtual".into());
    banner(simulated, "simulated", "No device was measured");
    let mut null = Example::load("run");
    null.steps(|step| step.spec.target.kind = TargetKind::Virtual);
    banner(null, "no storage", "no storage behind it");
    let mut zeroes = Example::load("run");
    zeroes.steps(|step| step.spec.streams.iter_mut().for_each(|s| s.fill = Fill::Zero));
    banner(zeroes, "zeroes written", "128k-sequential-write, mixed-70-30, fill");
    let mut failed = Example::load("run");
    failed.results.items[1].outcome = Outcome::Failed;
    failed.results.items[1].steps[0].result.end = End::Errors { reason: "100 failed I/O in a row".into() };
    banner(failed, "failed", "4k-random-read");
}

#[test]
fn two_runs_stand_side_by_side() {
    let first = Example::load("run");
    let mut second = Example::load("run");
    second.results.environment.devices[0].model = Some("OTHER".into());
    second.results.items.remove(3);
    second.steps(|step| {
        for op in step.result.streams.iter_mut().flat_map(|s| &mut s.ops) {
            op.iops = op.iops.map(|iops| iops * 1.25);
        }
    });
    let page = render(&[first, second]);
    assert!(page.contains("drive-check: 2 runs compared"));
    assert!(page.contains("+25.0 %"));
    assert!(page.contains("<tr class=\"differs\"><th scope=\"row\">model</th>"));
    assert!(page.contains("the run ended before it"), "an item that only one run has");
}

#[test]
fn a_damaged_or_newer_record_is_refused() {
    let mut newer = Example::load("run");
    newer.results.schema_version = 999;
    assert!(newer.error().contains("take a newer iodyno"));
    let mut damaged = Example::load("run");
    damaged.rows.truncate(500);
    assert!(damaged.error().contains("interval row"));
}

#[test]
fn a_browser_draws_every_chart() {
    let browser = Browser::new();
    for (examples, sections) in [
        (vec![Example::load("run")], 4),
        (vec![Example::load("interrupted")], 2),
        (vec![Example::load("run"), Example::load("interrupted")], 4),
    ] {
        let seen = browser.look(&render(&examples), check::CHARTS);
        assert_eq!(seen["faults"], serde_json::json!([]));
        assert_eq!(seen["figures"], 2 + 4 * sections, "bars, and four charts for each test and preparation");
        assert_eq!(seen["without_line"], serde_json::json!([]), "each chart has a line");
        assert_eq!(seen["clipped"], serde_json::json!([]), "no text leaves its chart");
        assert_eq!(seen["overlapping"], serde_json::json!([]), "no tick label covers another");
        let ticks: Vec<&str> =
            seen["percentile_ticks"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
        assert_eq!(ticks[..4], ["50%", "90%", "99%", "99.9%"]);
    }
}

#[test]
fn a_reader_can_point_zoom_and_choose() {
    let seen = Browser::new().look(&render(&[Example::load("run")]), check::READER);
    assert_eq!(seen["faults"], serde_json::json!([]));
    assert!(seen["hover"].as_str().unwrap().contains("p99"), "{seen}");
    assert_eq!(seen["away"], true, "the values go when the pointer does");
    assert_ne!(seen["ticks_zoomed"], seen["ticks"]);
    assert_eq!(seen["sibling_zoomed"], seen["ticks_zoomed"], "charts of a test zoom together");
    assert_eq!(seen["other_test"], seen["other_test_zoomed"], "other tests do not");
    assert_eq!(seen["ticks_back"], seen["ticks"]);
    assert_eq!(seen["pressed"], serde_json::json!(["true", "false"]));
    assert_eq!(seen["lines"], serde_json::json!([3, 2, 3]), "hidden and shown again");
    assert!(seen["keys"].as_str().unwrap().contains("p99"), "{seen}");
    assert_ne!(seen["key_zoomed"], seen["ticks"]);
    assert_eq!(seen["key_back"], seen["ticks"]);
    assert_eq!(seen["themes"], serde_json::json!(["dark", "light"]));
}

#[test]
fn a_gap_in_the_record_is_a_gap_in_the_line() {
    let mut example = Example::load("run");
    example.drop_rows(|row| row.item == 1 && (10..14).contains(&row.window));
    let seen = Browser::new().look(&render(&[example]), check::GAP);
    assert_eq!(seen["faults"], serde_json::json!([]));
    assert_eq!(seen["strokes"], 2, "one stroke before the gap, one behind it");
}

#[test]
fn nothing_measured_is_not_zero() {
    let mut example = Example::load("run");
    example.rows.clear();
    example.steps(|step| {
        for op in step.result.streams.iter_mut().flat_map(|s| &mut s.ops) {
            (op.service, op.completed, op.window_completed) = (None, 0, 0);
            (op.iops, op.bandwidth_bytes_per_s) = (Some(0.0), Some(0.0));
        }
    });
    let page = render(&[example]);
    assert!(page.contains("Nothing was measured.") && page.contains("nothing completed at 32 outstanding"));
    assert!(!page.contains("NaN") && !page.contains("0 ns"));
    let seen = Browser::new().look(&page, check::CHARTS);
    assert_eq!((&seen["faults"], &seen["figures"]), (&serde_json::json!([]), &serde_json::json!(18)));

    let mut empty = Example::load("run");
    empty.rows.clear();
    empty.results.items.clear();
    empty.results.plan.items.clear();
    empty.results.environment.devices.clear();
    assert!(render(&[empty]).contains("no tests"));
}

#[test]
fn names_from_the_record_stay_text() {
    let bad = "</script><script>faults.push('ran')</script><img src=x onerror=faults.push('ran')><!--\"'";
    let mut example = Example::load("run");
    let results = &mut example.results;
    results.plan.suite = bad.into();
    results.plan.description = Some(bad.into());
    results.run.command.push(bad.into());
    results.environment.devices[0].model = Some(bad.into());
    results.notes[0].text = format!("`{bad}`");
    for (item, result) in results.plan.items.iter_mut().zip(&mut results.items) {
        item.name.push_str(bad);
        result.name.push_str(bad);
    }
    example.steps(|step| {
        step.spec.name.push_str(bad);
        step.spec.streams.iter_mut().for_each(|s| s.name.push_str(bad));
        step.result.streams.iter_mut().for_each(|s| s.name.push_str(bad));
        step.result.backend.facts[0].value = bad.into();
    });
    let seen = Browser::new().look(&render(&[example]), check::CHARTS);
    assert_eq!(seen["faults"], serde_json::json!([]));
    assert_eq!((&seen["images"], &seen["figures"]), (&serde_json::json!(0), &serde_json::json!(18)));
    assert_eq!(seen["heading"].as_str().unwrap(), bad);
    assert!(seen["legend"].as_str().unwrap().contains(bad), "{seen}");
}
