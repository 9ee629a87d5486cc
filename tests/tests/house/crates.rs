//! Which crate may see which: ours by direction, others by room. Read from `cargo metadata`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use crate::tree;

/// Direction. A crate is found by the longest start of its folder that is here, and may see the crates whose
/// folders start with one of the others. Dev-dependencies are free, except in `plugin` and `record`: a test
/// of the engine may well use a backend.
const SEES: &[(&str, &[&str])] = &[
    ("framework/builtins", &["plugins/", "workloads/", "reporters/"]),
    (
        "framework/cli",
        &["framework/runner", "framework/builtins", "framework/suite", "framework/record", "framework/host"],
    ),
    ("framework/device", &["framework/plugin", "framework/record"]),
    ("framework/engine", &["framework/plugin", "framework/record"]),
    ("framework/host", &["framework/plugin", "framework/record"]),
    ("framework/plugin", &[]),
    ("framework/record", &[]),
    (
        "framework/runner",
        &[
            "framework/plugin",
            "framework/record",
            "framework/suite",
            "framework/engine",
            "framework/device",
            "framework/host",
        ],
    ),
    ("framework/suite", &["framework/plugin", "framework/record"]),
    ("plugins/", &["framework/plugin"]),
    ("reporters/", &["framework/plugin", "framework/record"]),
    ("tests", &[""]),
    ("workloads/", &["framework/plugin"]),
];

/// Crates whose dev-dependencies must keep the direction, too.
const ALONE: &[&str] = &["framework/plugin", "framework/record"];

/// Who may depend on a crate that is not ours. One that is not here has no room yet: give it one, and say why
/// in the root's Cargo.toml.
const ROOMS: &[(&str, &[&str])] = &[
    ("annotate-snippets", &["framework/suite"]),
    ("anstream", &["framework/cli"]),
    ("anstyle", &["framework/cli"]),
    ("base64", &["framework/record"]),
    ("cargo_metadata", TESTS),
    ("clap", &["framework/cli"]),
    ("crossbeam-queue", &["framework/engine"]),
    ("hdrhistogram", &["framework/record"]),
    ("humantime", &["framework/suite"]),
    ("insta", TESTS),
    ("inventory", &["framework/plugin", "framework/host"]),
    ("io-uring", &["plugins/io-uring"]),
    ("libc", &["framework/device", "plugins/", "tests"]),
    ("libm", &["framework/plugin", "workloads/", "plugins/sim"]),
    ("proptest", TESTS),
    ("rustix", &["framework/device", "framework/engine", "framework/runner", "plugins/", "tests"]),
    ("schemars", &["framework/record", "framework/suite"]),
    ("serde", ANYWHERE),
    ("serde_json", ANYWHERE),
    ("signal-hook", &["framework/cli"]),
    ("strsim", &["framework/suite"]),
    ("tempfile", TESTS),
    ("thiserror", ANYWHERE),
    ("toml", &["framework/suite"]),
    ("tracing", &["framework/"]),
    ("tracing-subscriber", &["framework/cli"]),
    ("zstd", TESTS),
];
const ANYWHERE: &[&str] = &[""];
/// Only the crate of tests, and dev-dependencies everywhere.
const TESTS: &[&str] = &["tests"];

/// A crate of ours.
pub(crate) struct Crate {
    pub(crate) name: String,
    /// From the repository's root.
    pub(crate) folder: String,
    pub(crate) description: String,
    pub(crate) uses: Vec<Use>,
}

/// A dependency of a crate of ours.
pub(crate) struct Use {
    pub(crate) name: String,
    pub(crate) dev: bool,
}

/// What `cargo metadata` says.
pub(crate) fn metadata() -> &'static Metadata {
    static METADATA: LazyLock<Metadata> = LazyLock::new(|| {
        let mut command = MetadataCommand::new();
        // One platform, so that the number of dependencies is the same wherever it is counted.
        let options = ["--locked", "--filter-platform", "x86_64-unknown-linux-gnu"].map(str::to_owned);
        command.current_dir(tree::root()).other_options(options);
        command.exec().expect("cargo can read the workspace")
    });
    &METADATA
}

/// Our crates.
pub(crate) fn ours() -> &'static [Crate] {
    static OURS: LazyLock<Vec<Crate>> = LazyLock::new(|| {
        let crates = metadata().workspace_packages().into_iter().map(|package| Crate {
            name: package.name.to_string(),
            folder: folder(package.manifest_path.as_str()),
            description: package.description.clone().unwrap_or_default(),
            uses: package.dependencies.iter().map(used).collect(),
        });
        crates.collect()
    });
    &OURS
}

fn folder(manifest: &str) -> String {
    let root = metadata().workspace_root.as_str();
    let inside = manifest.strip_prefix(root).expect("members lie in the workspace");
    inside.trim_start_matches('/').trim_end_matches("/Cargo.toml").to_owned()
}

fn used(dependency: &cargo_metadata::Dependency) -> Use {
    Use { name: dependency.name.clone(), dev: dependency.kind == DependencyKind::Development }
}

/// Dependencies among our crates that go the wrong way.
fn direction_faults(crates: &[Crate]) -> Vec<String> {
    let mut faults = Vec::new();
    for one in crates {
        let row =
            SEES.iter().filter(|(start, _)| one.folder.starts_with(start)).max_by_key(|row| row.0.len());
        let Some((_, allowed)) = row else {
            faults.push(format!("{} has no place in the table of directions", one.folder));
            continue;
        };
        for used in one.uses.iter().filter(|used| !used.dev || ALONE.contains(&one.folder.as_str())) {
            let Some(other) = crates.iter().find(|other| other.name == used.name) else { continue };
            if !allowed.iter().any(|start| other.folder.starts_with(start)) {
                faults.push(format!("{} must not see {}", one.folder, other.folder));
            }
        }
    }
    faults
}

/// Dependencies on crates of others outside their rooms, and rooms that stand empty.
fn room_faults(crates: &[Crate]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for one in crates {
        for used in one.uses.iter().filter(|used| !crates.iter().any(|other| other.name == used.name)) {
            seen.insert(used.name.as_str());
            match ROOMS.iter().find(|(name, _)| *name == used.name) {
                None => faults.push(format!("{} uses {}, which has no room yet", one.folder, used.name)),
                Some((_, rooms)) if *rooms == TESTS && used.dev => {}
                Some((_, rooms)) if rooms.iter().any(|room| one.folder.starts_with(room)) => {}
                Some(_) => faults.push(format!("{} must not use {}", one.folder, used.name)),
            }
        }
    }
    let empty = ROOMS.iter().filter(|(name, _)| !seen.contains(name));
    faults.extend(
        empty.map(|(name, _)| format!("nobody uses {name}: take it out of Cargo.toml and of the rooms")),
    );
    faults
}

/// The number of crates of others in the binary, build scripts and macros included.
pub(crate) fn dependencies_of_the_binary() -> u64 {
    let resolve = metadata().resolve.as_ref().expect("asked for with dependencies");
    let start = &metadata()
        .workspace_packages()
        .into_iter()
        .find(|p| p.name.as_str() == "iodyno")
        .expect("the binary")
        .id;
    let (mut seen, mut open) = (BTreeSet::from([start]), vec![start]);
    while let Some(id) = open.pop() {
        let node = resolve.nodes.iter().find(|node| node.id == *id).expect("the graph is closed");
        for next in &node.deps {
            let built_in = next.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development);
            if built_in && seen.insert(&next.pkg) {
                open.push(&next.pkg);
            }
        }
    }
    seen.iter().filter(|id| !metadata().workspace_members.contains(id)).count() as u64
}

#[test]
fn crates_see_only_what_lies_below_them() {
    tree::no_faults(&direction_faults(ours()));
}

#[test]
fn crates_of_others_stay_in_their_rooms() {
    tree::no_faults(&room_faults(ours()));
}

#[cfg(test)]
fn sample(folder: &str, uses: &[(&str, bool)]) -> Crate {
    let uses = uses.iter().map(|(name, dev)| Use { name: (*name).to_owned(), dev: *dev }).collect();
    Crate { name: folder.replace('/', "-"), folder: folder.to_owned(), description: String::new(), uses }
}

#[test]
fn the_wrong_direction_is_seen() {
    let wrong = |folder: &str, other: &str, dev: bool| {
        direction_faults(&[sample(folder, &[(&other.replace('/', "-"), dev)]), sample(other, &[])])
    };
    assert_eq!(
        wrong("plugins/null", "framework/record", false),
        ["plugins/null must not see framework/record"]
    );
    assert_eq!(wrong("framework/engine", "framework/suite", false).len(), 1);
    assert_eq!(wrong("framework/plugin", "plugins/null", true).len(), 1);
    assert_eq!(wrong("framework/engine", "plugins/null", true), Vec::<String>::new());
    assert_eq!(wrong("reporters/csv", "framework/record", false), Vec::<String>::new());
    assert_eq!(
        direction_faults(&[sample("extra/x", &[])]),
        ["extra/x has no place in the table of directions"]
    );
}

#[test]
fn the_wrong_room_is_seen() {
    let has = |folder: &str, other: &str, dev: bool, fault: &str| {
        room_faults(&[sample(folder, &[(other, dev)])]).iter().any(|f| f == fault)
    };
    assert!(has("framework/engine", "clap", false, "framework/engine must not use clap"));
    assert!(has("framework/engine", "clap", true, "framework/engine must not use clap"));
    assert!(has("framework/cli", "tokio", false, "framework/cli uses tokio, which has no room yet"));
    assert!(has("framework/cli", "insta", false, "framework/cli must not use insta"));
    assert!(!has("framework/cli", "insta", true, "framework/cli must not use insta"));
    assert!(has("x", "y", false, "nobody uses toml: take it out of Cargo.toml and of the rooms"));
}
