//! What documents promise: links that lead somewhere, the two set-up commands, examples that are run.

use crate::tree::{self, Fault, File};

/// Links of a Markdown file to files of the repository: line and path from the root.
fn links(file: &File) -> Vec<(usize, String)> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut found = Vec::new();
    for (number, line) in file.lines() {
        for part in line.split("](").skip(1) {
            let target = part.split([')', '#']).next().unwrap_or("");
            if !target.is_empty() && !target.contains("://") {
                let path = if folder.is_empty() { target.to_owned() } else { format!("{folder}/{target}") };
                found.push((number, path));
            }
        }
    }
    found
}

/// The lines of the first indented block below a heading.
fn commands_below<'a>(text: &'a str, heading: &str) -> Vec<&'a str> {
    let section =
        text.lines().skip_while(|line| *line != heading).skip(1).take_while(|l| !l.starts_with('#'));
    let block = section.skip_while(|line| !line.starts_with("    "));
    block.map_while(|line| line.strip_prefix("    ")).collect()
}

#[test]
fn links_lead_somewhere() {
    let sample = File::new("docs/a.md", "x [b](b.md#part) [c](https://c.d/)\n[up](../README.md)\n");
    assert_eq!(links(&sample), [(1, "docs/b.md".to_owned()), (2, "docs/../README.md".to_owned())]);
    let mut faults = Vec::new();
    for file in tree::files().iter().filter(|file| file.extension() == "md") {
        let dead = links(file).into_iter().filter(|(_, path)| !tree::root().join(path).exists());
        faults.extend(dead.map(|(line, path)| Fault::new(file, line, format!("{path} is not there"))));
    }
    tree::no_faults(&faults);
}

#[test]
fn two_commands_set_everything_up() {
    assert_eq!(commands_below("# a\n\n    x\n    y\n\n    z\n", "# a"), ["x", "y"]);
    let readme = tree::files().iter().find(|file| file.path == "README.md").expect("is there");
    let commands = ["cargo run --release -- run examples/quick.toml", "tests/run"];
    assert_eq!(commands_below(&readme.text, "## Set-up"), commands);
}

/// The numbers that the enum of exit codes gives out.
fn exit_codes(source: &str) -> Vec<&str> {
    let variants =
        source.lines().skip_while(|line| !line.contains("enum Exit")).take_while(|line| *line != "}");
    variants
        .filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = ").map(|(_, code)| code))
        .collect()
}

#[test]
fn every_exit_code_is_documented() {
    let text = |path: &str| &tree::files().iter().find(|file| file.path == path).expect("is there").text;
    assert_eq!(
        exit_codes("x = 1,\nenum Exit {\n    /// a = b\n    A = 0,\n    B = 7,\n}\n C = 2,"),
        ["0", "7"]
    );
    let codes = exit_codes(text("framework/cli/src/exit.rs"));
    assert!(codes.len() > 5 && codes.contains(&"130"), "{codes:?}");
    let table: Vec<&str> = text("README.md")
        .lines()
        .filter_map(|l| l.strip_prefix("| ")?.split_once(" |"))
        .map(|row| row.0)
        .collect();
    let (_, help) = text("docs/command-line.md").split_once("Exit codes:").expect("help tells them");
    for code in codes {
        assert!(table.contains(&code), "README.md does not tell what exit code {code} means");
        assert!(
            help.split("## ").next().is_some_and(|help| help.contains(&format!("{code} "))),
            "help: {code}"
        );
    }
}

/// Examples that no test of the binary names.
fn never_run<'a>(examples: &[&'a str], tests: &[&File]) -> Vec<&'a str> {
    let named = |example: &str| tests.iter().any(|file| file.text.contains(&format!("{example}\"")));
    examples.iter().copied().filter(|example| !named(example)).collect()
}

#[test]
fn every_example_is_run_by_a_test() {
    let test = File::new("tests/tests/e2e/a.rs", "run(\"a.toml\")");
    assert_eq!(never_run(&["a.toml", "b.toml"], &[&test]), ["b.toml"]);
    let in_folder = |folder: &'static str| tree::files().iter().filter(move |f| f.path.starts_with(folder));
    let examples: Vec<&str> =
        in_folder("examples/").filter(|f| f.extension() == "toml").map(File::name).collect();
    let tests: Vec<&File> = in_folder("tests/tests/e2e/").collect();
    assert!(!examples.is_empty());
    assert_eq!(never_run(&examples, &tests), Vec::<&str>::new(), "name each in a test of tests/tests/e2e");
}
