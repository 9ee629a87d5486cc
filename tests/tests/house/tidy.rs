//! What every file must look like. A [`Rule`] carries what it must refuse and what it must accept, so a rule
//! that cannot fail does not pass.

use crate::tree::{self, Fault, File};
use crate::{tidy_rust, words};

/// A rule over one file at a time.
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    pub(crate) check: fn(&File) -> Vec<Fault>,
    /// Each of these must be refused.
    pub(crate) bad: fn() -> Vec<File>,
    /// Each of these must be accepted.
    pub(crate) good: fn() -> Vec<File>,
}

const RULES: &[Rule] = &[
    Rule {
        name: "length",
        check: length,
        bad: || {
            vec![File::new("a.rs", "//\n".repeat(601)), File::new("tests/run", "#!/bin/bash\n".repeat(601))]
        },
        good: || vec![File::new("a.rs", "//\n".repeat(600)), File::new("a.md", "x\n".repeat(601))],
    },
    Rule {
        name: "names",
        check: names,
        bad: || vec![File::new("framework/x/src/utils.rs", ""), File::new("x/helpers/mod.rs", "")],
        good: || vec![File::new("framework/x/src/utilisation.rs", ""), File::new("common-good.md", "")],
    },
    Rule {
        name: "marks",
        check: marks,
        bad: || {
            let bad = [
                "// TO~DO later\n",
                "# FIX~ME\n",
                "XX~X\n",
                "db~g!(x);\n",
                "#[ig~nore]\n",
                "#[ig~nore = \"\"]\n",
            ];
            bad.map(|text| File::new("a.rs", text.replace('~', ""))).into()
        },
        good: || vec![File::new("a.rs", "// nothing to do; XXXL; #[test]\n")],
    },
    Rule {
        name: "spaces",
        check: spaces,
        bad: || ["a \n", "a\t\n", "a\r\n", "a\tb\n", "a", "a\n\n"].map(|text| File::new("a.md", text)).into(),
        good: || vec![File::new("a.md", "a b\n\nc\n"), File::new("empty", ""), File::new("a.json", "{}")],
    },
    Rule {
        name: "places",
        check: places,
        bad: || PLACES.iter().map(|place| File::new("a.md", format!("see {place}x\n"))).collect(),
        good: || vec![File::new("a.md", "framework/workload, ./root/x, /dev/nvme0n1\n")],
    },
];

const LINES_MAX: usize = 600;

fn length(file: &File) -> Vec<Fault> {
    let counts =
        matches!(file.extension(), "rs" | "js" | "css" | "toml" | "sh") || file.text.starts_with("#!");
    let lines = file.text.lines().count();
    let fault =
        || Fault::new(file, lines, format!("{lines} lines, at most {LINES_MAX}: split it by concept"));
    (counts && lines > LINES_MAX).then(fault).into_iter().collect()
}

/// Names that say nothing of what is inside.
pub(crate) const EMPTY_NAMES: &[&str] = &["common", "helper", "helpers", "manager", "misc", "util", "utils"];

fn names(file: &File) -> Vec<Fault> {
    let stems = file.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    let empty = stems.filter(|stem| EMPTY_NAMES.contains(stem));
    empty.map(|stem| Fault::new(file, 0, format!("`{stem}` says nothing: name what is inside"))).collect()
}

/// Marks of unfinished work, split here so that this file does not hold them.
const MARKS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("db", "g!"),
    concat!("#[ig", "nore"),
];

fn marks(file: &File) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (number, line) in file.lines().filter(|_| file.is_written()) {
        for mark in MARKS.iter().filter(|mark| holds(line, mark)) {
            faults.push(Fault::new(file, number, format!("`{mark}`: finish it or file it")));
        }
    }
    faults
}

/// Whether `line` holds `mark` as a word of its own.
fn holds(line: &str, mark: &str) -> bool {
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(mark).any(|(at, _)| {
        !joins(line[..at].chars().next_back()) && !joins(line[at + mark.len()..].chars().next())
    })
}

fn spaces(file: &File) -> Vec<Fault> {
    let mut faults = Vec::new();
    if !file.is_written() {
        return faults;
    }
    for (number, line) in file.text.split('\n').enumerate().map(|(i, line)| (i + 1, line)) {
        if line.ends_with([' ', '\t', '\r']) {
            faults.push(Fault::new(file, number, "space at the end of the line"));
        } else if line.contains('\t') {
            faults.push(Fault::new(file, number, "a tab: use spaces"));
        }
    }
    if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
        faults.push(Fault::new(file, file.text.lines().count(), "must end with exactly one newline"));
    }
    faults
}

/// Places that exist on one machine only, split here so that this file does not hold them.
const PLACES: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

fn places(file: &File) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (number, line) in file.lines() {
        for place in PLACES {
            // `./root/x` and `framework/work/` are relative: only what starts a path counts.
            let starts =
                |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-".contains(c));
            if line.match_indices(place).any(|(at, _)| starts(at)) {
                faults.push(Fault::new(file, number, format!("`{place}`: a place on one machine only")));
            }
        }
    }
    faults
}

fn all_rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().chain(tidy_rust::RULES).chain(words::RULES)
}

#[test]
fn every_rule_can_fail() {
    for rule in all_rules() {
        let samples = (rule.bad)();
        assert!(!samples.is_empty(), "rule `{}` has nothing that it must refuse", rule.name);
        for sample in samples {
            let faults = (rule.check)(&sample);
            assert!(
                !faults.is_empty(),
                "rule `{}` let {} pass: {:.60?}",
                rule.name,
                sample.path,
                sample.text
            );
        }
    }
}

#[test]
fn every_rule_can_hold() {
    for rule in all_rules() {
        for sample in (rule.good)() {
            assert_eq!((rule.check)(&sample), [], "rule `{}` refused {:.60?}", rule.name, sample.text);
        }
    }
}

#[test]
fn all_files_keep_the_rules() {
    let of_one = |file| all_rules().flat_map(move |rule| (rule.check)(file));
    let faults: Vec<Fault> = tree::files().iter().flat_map(of_one).collect();
    tree::no_faults(&faults);
}
