//! Both tables, read back as any RFC 4180 reader would.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../../testdata/memory.rs"]
mod memory;

use std::collections::HashMap;

use iodyno_csv as _;
use iodyno_record::{OpResult, Results, Row};
use memory::{Example, Memory, reporter};

/// Records of fields: fields in quotes may hold anything, with quotes doubled.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.push(chars.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\r' if !quoted => {
                assert_eq!(chars.next(), Some('\n'));
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            c => field.push(c),
        }
    }
    assert!(record.is_empty() && field.is_empty(), "the last record must end, too");
    records
}

type Line = HashMap<String, String>;

fn lines(text: &str) -> Vec<Line> {
    let mut records = records(text).into_iter();
    let names = records.next().unwrap();
    let line = |cells: Vec<String>| {
        assert_eq!(cells.len(), names.len());
        names.iter().cloned().zip(cells).collect()
    };
    records.map(line).collect()
}

fn tables(runs: &[Example]) -> [String; 2] {
    let views: Vec<_> = runs.iter().map(Example::view).collect();
    let mut out = Memory::default();
    reporter("csv").finish(&views, &mut out).unwrap();
    let files = out.files();
    let [(summary_name, summary), (rows_name, rows)] = &files[..] else { panic!("two files") };
    assert_eq!((summary_name.as_str(), rows_name.as_str()), ("summary.csv", "rows.csv"));
    [summary.clone(), rows.clone()]
}

#[test]
fn the_summary_has_a_line_for_each_operation() {
    let [summary, _] = tables(&[Example::read("run"), Example::read("interrupted")]);
    let lines = lines(&summary);
    let place = |line: &Line| ["outcome", "test", "stream", "op"].map(|name| line[name].clone()).join(" ");
    let places: Vec<String> = lines.iter().map(place).collect();
    assert_eq!(
        places,
        [
            "passed fill fill write",
            "passed 4k-random-read main read",
            "thresholds_crossed 128k-sequential-write main write",
            "passed mixed-70-30 data read",
            "passed mixed-70-30 data write",
            "passed mixed-70-30 log write",
            "passed mixed-70-30 log flush",
            "not_run 64k-random-read  ",
            "passed fill fill write",
            "interrupted 4k-random-read main read",
        ]
    );
}

#[test]
fn the_summary_has_the_numbers_of_the_record() {
    let run = Example::read("run");
    let results: Results = serde_json::from_slice(&run.results).unwrap();
    let [summary, _] = tables(&[run]);
    let lines = lines(&summary);
    let ops: Vec<&OpResult> =
        results.items.iter().flat_map(|i| &i.steps).flat_map(|s| s.result.ops(None)).collect();
    assert_eq!(ops.len() + 1, lines.len());
    for (op, line) in ops.iter().zip(&lines) {
        let number = |name: &str| line[name].parse::<f64>().unwrap_or_else(|e| panic!("{name}: {e}"));
        let service = op.service.as_ref().unwrap();
        assert_eq!(Some(number("iops")), op.iops);
        assert_eq!(Some(number("bandwidth_bytes_per_s")), op.bandwidth_bytes_per_s);
        assert_eq!(number("completed"), op.completed as f64);
        assert_eq!(number("service_mean_ns"), service.mean_ns);
        assert_eq!(number("service_p99_9_ns"), service.percentile(99.9).unwrap().value_ns as f64);
        assert_eq!(number("service_max_ns"), service.max_ns as f64);
        assert_eq!(line["service_few_samples"].contains("p99.999"), service.percentiles[7].few_samples);
        assert!(line.iter().all(|(name, cell)| !name.starts_with("response_") || cell.is_empty()));
    }
    let cell = |line: usize, name: &str| lines[line][name].as_str();
    assert_eq!(cell(0, "kind"), "prepare");
    assert_eq!(cell(0, "phase"), "fill");
    assert_eq!(cell(0, "end"), "completed");
    assert_eq!(cell(1, "block_size_bytes"), "4096");
    assert!(cell(1, "workload_options").starts_with("{\"block_size\":[{\"value\":4096,"));
    assert_eq!(cell(1, "notes"), "zero_reads");
    assert_eq!(cell(2, "notes"), "registered_buffers");
    assert_eq!((cell(4, "errors"), cell(4, "errors_by_errno")), ("2", "5:2"));
    assert_eq!((cell(3, "errors"), cell(3, "errors_by_errno")), ("0", ""));
    assert_eq!(cell(6, "service_few_samples"), "p99.99 p99.999");
    assert_eq!(cell(7, "reason"), "needs a capacity of 4TB, DUT-1 has 88.92 GB");
    assert_eq!(cell(7, "target"), "DUT-1");
    assert_eq!((cell(7, "step"), cell(7, "iops"), cell(7, "errors")), ("", "", ""));
}

#[test]
fn every_interval_row_is_there() {
    let run = Example::read("run");
    let text = String::from_utf8(run.rows.clone()).unwrap();
    let rows: Vec<Row> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [_, table] = tables(&[run]);
    let lines = lines(&table);
    assert_eq!(lines.len(), rows.len());
    for (row, line) in rows.iter().zip(&lines) {
        assert_eq!(line["run"], "20261201-025512-drive-check");
        assert_eq!(line["window"], row.window.to_string());
        assert_eq!(line["completed"], row.completed.to_string());
        assert_eq!(line["iops"].parse::<f64>().ok(), row.iops());
        let p99 = row.service.as_ref().map(|s| s.p99_ns.to_string());
        assert_eq!(line["service_p99_ns"], p99.unwrap_or_default());
    }
    let last = lines.last().unwrap();
    assert_eq!(
        ["test", "stream", "op", "kind"].map(|n| last[n].as_str()),
        ["mixed-70-30", "log", "flush", "tail"]
    );
}

/// What an empty window leaves is empty cells, never 0.
#[test]
fn an_empty_window_has_empty_cells() {
    let mut run = Example::read("run");
    let first = run.rows.split(|b| *b == b'\n').next().unwrap();
    let mut row: Row = serde_json::from_slice(first).unwrap();
    row.service = None;
    row.end_ns = row.start_ns;
    run.rows = serde_json::to_vec(&row).unwrap();
    let [_, table] = tables(&[run]);
    let line = &lines(&table)[0];
    assert_eq!((line["service_p50_ns"].as_str(), line["iops"].as_str()), ("", ""));
}

/// Columns are added at the end of their group, never renamed: scripts depend on them.
#[test]
fn columns_have_their_units_in_their_names() {
    let [summary, rows] = tables(&[]);
    for table in [&summary, &rows] {
        let records = records(table);
        assert_eq!(records.len(), 1, "names alone");
        let mut names = records[0].clone();
        assert!(
            names.iter().all(|n| n.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'))
        );
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all, "no name twice");
    }
    assert!(rows.starts_with("run,item,test,step,kind,window,start_ns,end_ns,stream,op,completed,bytes,"));
}
