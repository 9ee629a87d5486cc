//! The binary under test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The path of `iodyno`, built in the profile of the running test, once a process and before the first use.
///
/// # Panics
/// When it cannot be built.
pub fn iodyno() -> &'static Path {
    static BINARY: LazyLock<PathBuf> = LazyLock::new(build);
    &BINARY
}

fn build() -> PathBuf {
    // This test lies in <target>/<profile>/deps.
    let test = std::env::current_exe().expect("a process knows its file");
    let profile_folder = test.ancestors().nth(2).expect("cargo puts tests into <target>/<profile>/deps");
    let target = profile_folder.parent().expect("cargo puts profiles into <target>");
    let profile = match profile_folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "iodyno", "--bin", "iodyno", "--profile", profile]);
    cargo.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success(), "the binary does not build");
    profile_folder.join("iodyno")
}
