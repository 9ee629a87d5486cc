//! The repository's own text files, read once.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// One text file.
pub(crate) struct File {
    /// Path from the repository's root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn new(path: &str, text: impl Into<String>) -> File {
        File { path: path.to_owned(), text: text.into() }
    }

    /// The part of the name after the last dot; empty where there is none (shell scripts have none).
    pub(crate) fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// Whether people write it, as against data that a program left.
    pub(crate) fn is_written(&self) -> bool {
        let written = ["css", "html", "js", "md", "rs", "sh", "toml", "yml"];
        written.contains(&self.extension()) || self.extension().is_empty()
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(i, line)| (i + 1, line))
    }
}

/// What is wrong with a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) path: String,
    /// From 1; 0 = the file as a whole.
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(file: &File, line: usize, message: impl Into<String>) -> Fault {
        Fault { path: file.path.clone(), line, message: message.into() }
    }
}

impl fmt::Display for Fault {
    /// In the form that editors jump to.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Fails with every fault in a line of its own.
#[track_caller]
pub(crate) fn no_faults<T: fmt::Display>(faults: &[T]) {
    let lines: Vec<String> = faults.iter().map(T::to_string).collect();
    assert!(lines.is_empty(), "{} faults\n{}", lines.len(), lines.join("\n"));
}

/// The repository's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the root")
}

/// What is not ours to judge: build output, what runs leave, texts of licences, what cargo writes.
const SKIPPED: &[&str] = &[".git", "Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "runs", "target"];

/// Every text file of the repository, sorted by path.
pub(crate) fn files() -> &'static [File] {
    static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
        let mut files = Vec::new();
        gather(root(), "", &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    });
    &FILES
}

fn gather(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("the repository can be read") {
        let entry = entry.expect("the repository can be read");
        let name = entry.file_name().into_string().expect("names here are UTF-8");
        if SKIPPED.contains(&name.as_str()) || name.starts_with("iodyno-scratch") {
            continue;
        }
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let kind = entry.file_type().expect("the repository can be read");
        if kind.is_dir() {
            gather(&entry.path(), &path, files);
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            files.push(File { path, text });
        }
    }
}

#[test]
fn the_walk_finds_what_is_there() {
    let paths: Vec<&str> = files().iter().map(|f| f.path.as_str()).collect();
    for expected in
        ["Cargo.toml", "framework/plugin/src/lib.rs", "tests/run", ".ci/run", "examples/quick.toml"]
    {
        assert!(paths.contains(&expected), "{expected} is not among {} files", paths.len());
    }
    assert!(!paths.iter().any(|p| p.starts_with("target/") || p.starts_with(".git/")));
}
