//! Reports: where they go, that they can be read, and that `report` gives what the run gave.

use std::fs;
use std::path::{Path, PathBuf};

use iodyno_record::{Envelope, Event, ResultsFile, SCHEMA_VERSION};
use iodyno_tests::Folder;

use crate::{folder, results, schema, simulated};

/// A folder with one finished run.
fn finished() -> (Folder, PathBuf) {
    let folder = folder();
    folder.run("run simulated.toml -q").exits(0);
    let run = folder.only_run();
    (folder, run)
}

#[track_caller]
fn same(a: &Path, b: &Path) {
    let (left, right) = (fs::read(a).unwrap(), fs::read(b).unwrap());
    assert!(left == right && left.len() > 100, "{} is not as {}", a.display(), b.display());
}

#[test]
fn a_document_on_stdout_is_alone_there() {
    let folder = folder();
    let ended = folder.run("run simulated.toml -o json=-");
    let document: ResultsFile = serde_json::from_str(&ended.exits(0).out).unwrap();
    assert_eq!((document.schema.as_str(), document.schema_version), (ResultsFile::SCHEMA, SCHEMA_VERSION));
    ended.says("PASS mixed").says("IN FLIGHT").says("1 test: 1 passed");
    fs::write(folder.path("x.json"), &ended.out).unwrap();
    schema::must_fit(&folder.path("x.json"));

    let ended = folder.run("run simulated.toml -o ndjson=-");
    let events: Vec<Envelope> =
        ended.exits(0).lines().iter().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(matches!(events[0].event, Event::RunStarted { .. }));
    assert!(matches!(events.last().unwrap().event, Event::RunFinished { .. }));
    assert!(events.iter().any(|e| matches!(&e.event, Event::Rows { rows } if !rows.is_empty())));

    let ended = folder.run("run simulated.toml -o csv=- -o html=x.html");
    let header = ended.exits(0).lines()[0].to_owned();
    let columns = header.split(',').count();
    assert!(columns > 10 && header.contains("_ns") && ended.lines().len() > 2, "{ended}");
    assert!(ended.lines().iter().all(|line| line.split(',').count() >= columns));
    assert!(folder.path("x.html").exists());
    // Its other file is not dropped into the current folder.
    let rows = folder.runs().iter().filter(|run| run.join("report/csv/rows.csv").exists()).count();
    assert!(rows == 1 && !folder.path("rows.csv").exists());
}

#[test]
fn results_are_shown_even_where_files_are_asked_for() {
    let folder = folder();
    let ended =
        folder.run("run simulated.toml -o json=a.json -o csv=a.csv -o html=a.html -o ndjson=a.ndjson");
    ended.exits(0).prints("1 test: 1 passed");
    for file in ["json a.json", "csv a.csv", "html a.html"] {
        ended.says(file);
    }
    for file in ["a.json", "a.csv", "a-rows.csv", "a.html", "a.ndjson"] {
        assert!(fs::metadata(folder.path(file)).unwrap().len() > 100, "{file}");
    }
    assert!(!folder.only_run().join("report").exists(), "what was named elsewhere is not there");
    assert!(
        !fs::read_dir(folder.path("")).unwrap().any(|f| f
            .unwrap()
            .file_name()
            .to_string_lossy()
            .ends_with(".part"))
    );
    folder.run("run simulated.toml -o json -o csv -o ndjson").exits(0);
    let report = folder.runs()[1].join("report");
    for file in ["json/results.json", "csv/summary.csv", "csv/rows.csv", "ndjson/events.ndjson"] {
        assert!(report.join(file).exists(), "{file}");
    }
}

#[test]
fn report_gives_what_the_run_gave() {
    let folder = folder();
    let outputs = |name: &str| {
        format!("-o json={name}.json -o csv={name}.csv -o html={name}.html -o console={name}.txt")
    };
    let line = format!("run reads.toml --size 16MiB {}", outputs("run"));
    folder.run(&line).exits(0);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let run = folder.only_run();
    folder.run(&format!("report {} {}", run.display(), outputs("later"))).exits(0);
    // Moved and called by another name, it is the same run.
    let moved = folder.path("elsewhere");
    fs::rename(&run, &moved).unwrap();
    folder.run(&format!("report elsewhere/ {}", outputs("moved"))).exits(0);
    for kind in ["json", "csv", "html", "txt"] {
        same(&folder.path(&format!("run.{kind}")), &folder.path(&format!("later.{kind}")));
        same(&folder.path(&format!("run.{kind}")), &folder.path(&format!("moved.{kind}")));
    }
    schema::must_fit(&folder.path("run.json"));
}

#[test]
fn a_path_that_is_no_run_is_answered_with_the_nearest_one() {
    let (folder, run) = finished();
    let run = run.strip_prefix(folder.path("")).unwrap().display().to_string();
    std::os::unix::fs::symlink(&run, folder.path("link")).unwrap();
    folder.run("report link -o json=linked.json").exits(0).prints("1 test: 1 passed");
    folder.run(&format!("report {run}/run.json")).exits(3).says(&format!("a part of the run folder {run}"));
    folder
        .run(&format!("report {run}/report/html"))
        .exits(3)
        .says(&format!("a part of the run folder {run}"));
    folder.run("report runs").exits(3).says("run.json: No such file; name a run in it").says(&run);
    folder.run("report linked.json").exits(3).says("run.json: No such file").never_says("name a run");
    folder.run("report nothing").exits(3).says("nothing is no readable run folder").says("No such file");
}

#[test]
fn several_runs_in_one_report() {
    let (folder, first) = finished();
    folder.file("other.toml", &simulated("").replace("1ms", "2ms").replace("\"simulated\"", "\"other\""));
    folder.run("run other.toml -q").exits(0);
    let second = folder.runs().into_iter().find(|run| *run != first).unwrap();
    let both = format!("report {} {}", first.display(), second.display());
    let ids = [&first, &second].map(|run| run.file_name().unwrap().to_str().unwrap().to_owned());
    let ended = folder.run(&format!("{both} -o html=both.html -o json=both.json -o csv=both.csv"));
    ended.exits(0).prints(&ids[0]).prints(&ids[1]);
    let document = results(&folder.path("both.json"));
    assert_eq!(document.runs.iter().map(|run| run.run.id.clone()).collect::<Vec<_>>(), ids);
    schema::must_fit(&folder.path("both.json"));
    for file in ["both.html", "both.csv"] {
        let text = fs::read_to_string(folder.path(file)).unwrap();
        assert!(ids.iter().all(|id| text.contains(id.as_str())), "{file}");
    }
    folder.run(&both).exits(0).prints(&ids[0]).prints(&ids[1]);
    folder.run(&format!("{both} -o html")).exits(2).says("2 runs have no one folder").says("-o html=FILE");
}

#[test]
fn a_cut_line_is_left_out_and_damage_is_located() {
    let (folder, run) = finished();
    let report = format!("report {} -o json=x.json", run.display());
    let damaged = |file: &str, change: &dyn Fn(String) -> String| {
        let path = run.join(file);
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, change(whole.clone())).unwrap();
        let ended = folder.run(&report);
        fs::write(&path, whole).unwrap();
        ended.never_says("panicked");
        ended
    };
    for file in ["events.ndjson", "rows.ndjson", "histograms.hlog"] {
        damaged(file, &|text| text[..text.len() - 20].to_owned()).exits(0);
    }
    damaged("events.ndjson", &|text| text[..text.len() - 20].to_owned()).prints("! interrupted");
    for file in ["events.ndjson", "rows.ndjson"] {
        let spoil = |text: String| text.replacen("\n{", "\n[", 1);
        damaged(file, &spoil).exits(3).says(&format!("{file}, line 2, column "));
    }
    let change = |text: String| text.replacen("\"completed\":", "\"completed\":-", 1);
    damaged("rows.ndjson", &change).exits(3).says("rows.ndjson, line 1, column");
    for file in ["run.json", "plan.json", "environment.json"] {
        damaged(file, &|text| text.replacen('"', "", 1)).exits(3).says(&format!("{file}: "));
        damaged(file, &|_| String::new()).exits(3).says(file);
        let gone = run.join("gone");
        fs::rename(run.join(file), &gone).unwrap();
        folder.run(&report).exits(3).says(file).says("No such file");
        fs::rename(&gone, run.join(file)).unwrap();
    }
    let newer = |text: String| text.replace("\"schema_version\": 1", "\"schema_version\": 99");
    damaged("run.json", &newer).exits(3).says("it has schema 99, this version reads up to 1");
    folder.run(&report).exits(0);
}

#[test]
fn the_seed_is_told_and_repeats_the_run() {
    let folder = folder();
    folder.run("run simulated.toml -q -o json=a.json --seed 42").exits(0).prints("seed     42");
    folder.run("run simulated.toml -q -o json=b.json --seed 42").exits(0);
    folder.run("run simulated.toml -q -o json=c.json --seed 43").exits(0);
    let streams = |name: &str| {
        let run = results(&folder.path(name)).runs.remove(0);
        assert!(run.plan.seed == 42 || name == "c.json");
        run.items[0].steps[0].result.streams.clone()
    };
    assert_eq!(streams("a.json"), streams("b.json"));
    assert_ne!(streams("a.json"), streams("c.json"));
}
