//! What every crate of ours must bring: a manifest that takes versions and lints from the root, only what it
//! uses, a purpose, and its paragraph in ARCHITECTURE.md.

use crate::crates::{self, Crate};
use crate::rust_text::words;
use crate::tree::{self, File};

/// Faults of one manifest by its text.
fn manifest_faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut section = "";
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with('[') {
            section = line;
        }
        let dependency = section.ends_with("dependencies]") && line.contains('=');
        if dependency && !line.replace(' ', "").contains("workspace=true") {
            faults.push(format!(
                "`{line}`: versions belong into the root's Cargo.toml, say `x.workspace = true`"
            ));
        }
    }
    if !text.contains("[lints]\nworkspace = true\n") {
        faults.push("does not take the workspace's lints".to_owned());
    }
    faults
}

/// Dependencies that no source file of the crate names.
fn unused<'a>(one: &'a Crate, sources: &[&File]) -> Vec<&'a str> {
    let named = |name: &str| {
        let name = name.replace('-', "_");
        sources.iter().any(|file| words(&file.text).any(|word| word == name))
    };
    one.uses.iter().map(|used| used.name.as_str()).filter(|name| !named(name)).collect()
}

#[test]
fn manifests_take_everything_from_the_root() {
    let mut faults = Vec::new();
    for one in crates::ours() {
        let path = format!("{}/Cargo.toml", one.folder);
        let manifest =
            tree::files().iter().find(|file| file.path == path).expect("every crate has a manifest");
        faults.extend(manifest_faults(&manifest.text).into_iter().map(|fault| format!("{path}: {fault}")));
        if one.description.len() < 10 {
            faults.push(format!("{path}: needs a description"));
        }
    }
    tree::no_faults(&faults);
}

#[test]
fn a_manifest_with_a_version_of_its_own_is_seen() {
    let good = "[dependencies]\na.workspace = true\nb = { workspace = true, features = [\"x\"] }\n\n[lints]\nworkspace = true\n";
    assert_eq!(manifest_faults(good), Vec::<String>::new());
    assert_eq!(manifest_faults(&good.replace("a.workspace = true", "a = \"1\"")).len(), 1);
    assert_eq!(manifest_faults(&good.replace("[lints]", "[x]")), ["does not take the workspace's lints"]);
}

#[test]
fn every_dependency_is_used() {
    let mut faults = Vec::new();
    for one in crates::ours() {
        let inside = format!("{}/", one.folder);
        let sources: Vec<&File> =
            tree::files().iter().filter(|f| f.path.starts_with(&inside) && f.extension() == "rs").collect();
        faults
            .extend(unused(one, &sources).iter().map(|name| format!("{}: nothing names {name}", one.folder)));
    }
    tree::no_faults(&faults);
}

#[test]
fn an_unused_dependency_is_seen() {
    let uses = ["serde_json", "io-uring"].map(|name| crates::Use { name: name.to_owned(), dev: false });
    let one =
        Crate { name: String::new(), folder: String::new(), description: String::new(), uses: uses.into() };
    assert_eq!(unused(&one, &[&File::new("a.rs", "use serde_json::x; my_io_uring();")]), ["io-uring"]);
}

#[test]
fn architecture_names_every_crate() {
    let text = &tree::files().iter().find(|file| file.path == "ARCHITECTURE.md").expect("is there").text;
    let missing: Vec<&str> = crates::ours()
        .iter()
        .filter(|one| !text.contains(&format!("`{}`", one.name)) || !text.contains(&one.folder))
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(missing, Vec::<&str>::new(), "ARCHITECTURE.md must have the name and folder of each");
}

/// The lines of `root` that forbid something and that `own` leaves out.
fn left_out<'a>(root: &'a str, own: &str) -> Vec<&'a str> {
    root.lines().filter(|line| line.contains("path =") && !own.contains(line.trim())).collect()
}

#[test]
fn a_clippy_file_of_a_crate_repeats_the_one_of_the_root() {
    let find = |path: &str| tree::files().iter().find(|file| file.path == path);
    let root = &find("clippy.toml").expect("is there").text;
    assert!(!left_out(root, "").is_empty());
    // Tests may look at the clock and the environment; all others only add to what the root forbids.
    for one in crates::ours().iter().filter(|one| one.folder != "tests") {
        let path = format!("{}/clippy.toml", one.folder);
        let Some(own) = find(&path) else { continue };
        assert_eq!(left_out(root, &own.text), Vec::<&str>::new(), "{path} replaces the root's file");
    }
}

/// Names in the root's `[workspace.dependencies]`.
fn offered(root: &str) -> Vec<&str> {
    let lines = root.lines().skip_while(|line| *line != "[workspace.dependencies]").skip(1);
    let section = lines.take_while(|line| !line.starts_with('['));
    section
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| Some(line.split_once('=')?.0.trim()))
        .collect()
}

#[test]
fn the_root_offers_only_what_somebody_takes() {
    assert_eq!(
        offered("[workspace.dependencies]\n# x = 1\na = \"1\"\n\nb-c = { x = 1 }\n[x]\nd = 1\n"),
        ["a", "b-c"]
    );
    let root = tree::files().iter().find(|file| file.path == "Cargo.toml").expect("is there");
    let taken = |name: &str| crates::ours().iter().any(|one| one.uses.iter().any(|used| used.name == name));
    let faults: Vec<String> = offered(&root.text)
        .into_iter()
        .filter(|name| !taken(name))
        .map(|name| format!("Cargo.toml: no crate uses {name}"))
        .collect();
    tree::no_faults(&faults);
}
