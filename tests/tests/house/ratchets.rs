//! Sizes that grow only on purpose: tests/ratchets.toml holds a limit for each, and raising one is a visible
//! commit. `tests/run` measures those that need a release build.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::{crates, generated, tree};

const PATH: &str = "tests/ratchets.toml";

const HEAD: &str = "\
# Limits of what tends to grow. Above its limit a test fails; so it does when a limit is far above what is
# there, so that what was won is kept. `tests/bless` sets those that are out of bounds; say in the commit why.
";

/// Explains each section, in the file's order.
const SECTIONS: &[(&str, &str)] = &[
    ("lines", "Rust lines in src/ of each crate, unit tests included, and lines of each script of a page."),
    ("dependencies", "Crates of others in the binary, build scripts and macros included, on x86-64 Linux."),
    ("bytes", "Bytes of the stripped release binary."),
    (
        "instructions",
        "User instructions of one 4 KiB I/O in the loop, by callgrind: tests/bench/instructions.",
    ),
];

type Limits = BTreeMap<(String, String), u64>;

/// Reads the file: sections, and `name = number` in them.
fn parse(text: &str) -> Result<Limits, String> {
    let mut limits = Limits::new();
    let mut section = "";
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
            continue;
        }
        let (name, value) = line.split_once('=').ok_or_else(|| format!("no `name = number`: {line}"))?;
        let value = value.trim().replace('_', "").parse().map_err(|_| format!("no whole number: {line}"))?;
        limits.insert((section.to_owned(), name.trim().trim_matches('"').to_owned()), value);
    }
    Ok(limits)
}

fn render(limits: &Limits) -> String {
    let mut out = HEAD.to_owned();
    for (section, explained) in SECTIONS {
        write!(out, "\n# {explained}\n[{section}]\n").expect("a string takes all");
        for ((_, name), value) in limits.iter().filter(|((s, _), _)| s == section) {
            let quote = if name.contains(['/', '.']) { "\"" } else { "" };
            writeln!(out, "{quote}{name}{quote} = {value}").expect("a string takes all");
        }
    }
    out
}

/// How far a limit may lie above what is measured.
fn slack(section: &str, measured: u64) -> u64 {
    match section {
        "lines" => measured / 8 + 60,
        _ => 0,
    }
}

/// What is wrong with a limit.
fn fault(measured: u64, limit: Option<u64>, slack: u64) -> Option<String> {
    match limit {
        None => Some(format!("has no limit yet, is {measured}")),
        Some(limit) if measured > limit => Some(format!("is {measured}, above its limit of {limit}")),
        Some(limit) if limit > measured + slack => {
            Some(format!("is {measured}, far below its limit of {limit}"))
        }
        Some(_) => None,
    }
}

/// What can be measured here.
fn measured() -> Limits {
    let mut all = Limits::new();
    for one in crates::ours() {
        let source = format!("{}/src/", one.folder);
        let files = tree::files().iter().filter(|f| f.path.starts_with(&source) && f.extension() == "rs");
        let lines = files.map(|file| file.text.lines().count() as u64).sum();
        all.insert(("lines".to_owned(), one.folder.clone()), lines);
    }
    for file in tree::files().iter().filter(|file| file.extension() == "js") {
        all.insert(("lines".to_owned(), file.path.clone()), file.text.lines().count() as u64);
    }
    all.insert(("dependencies".to_owned(), "iodyno".to_owned()), crates::dependencies_of_the_binary());
    all
}

/// Faults of all limits, and the limits that would have none.
fn compare(limits: &Limits, measured: &Limits) -> (Vec<String>, Limits) {
    let mut faults = Vec::new();
    let mut better = limits.clone();
    for (key, value) in measured {
        let slack = slack(&key.0, *value);
        if let Some(fault) = fault(*value, limits.get(key).copied(), slack) {
            faults.push(format!("{} {}: {fault}", key.0, key.1));
            better.insert(key.clone(), value + slack / 2);
        }
    }
    let sections: Vec<&String> = measured.keys().map(|key| &key.0).collect();
    for key in limits.keys().filter(|key| sections.contains(&&key.0) && !measured.contains_key(key)) {
        faults.push(format!("{} {}: there is no such thing any more", key.0, key.1));
        better.remove(key);
    }
    (faults, better)
}

#[test]
fn nothing_grows_by_chance() {
    let text = &tree::files().iter().find(|file| file.path == PATH).map_or("", |file| &file.text);
    let limits = parse(text).unwrap();
    let (faults, better) = compare(&limits, &measured());
    if generated::blessing() && *text != render(&better) {
        std::fs::write(tree::root().join(PATH), render(&better)).expect("the file can be written");
    } else {
        assert!(faults.is_empty(), "{PATH}:\n{}\ntests/bless sets them; say why", faults.join("\n"));
        assert_eq!(*text, render(&limits), "{PATH} is not as tests/bless writes it");
    }
}

#[test]
fn growth_and_slack_are_seen() {
    let limits = |lines: &[(&str, u64)]| -> Limits {
        lines.iter().map(|(name, n)| (("lines".to_owned(), (*name).to_owned()), *n)).collect()
    };
    let faults = |limit: u64, measured: u64| compare(&limits(&[("a", limit)]), &limits(&[("a", measured)])).0;
    assert_eq!(faults(100, 101), ["lines a: is 101, above its limit of 100"]);
    assert_eq!(faults(100, 100), Vec::<String>::new());
    assert_eq!(faults(1000, 100), ["lines a: is 100, far below its limit of 1000"]);
    let (faults, better) = compare(&limits(&[("gone", 5)]), &limits(&[("new", 80)]));
    assert_eq!(faults.len(), 2);
    assert_eq!(better, limits(&[("new", 115)]));
    assert_eq!(compare(&better, &limits(&[("new", 80)])).0, Vec::<String>::new());
}

#[test]
fn the_file_is_read_as_it_is_written() {
    let text = render(&measured());
    assert_eq!(render(&parse(&text).unwrap()), text);
    assert!(parse("[lines]\nx\n").is_err() && parse("[lines]\nx = many\n").is_err());
}
