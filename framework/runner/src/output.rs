//! Where reporters' files go: whole files, put into place by a rename.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use iodyno_plugin::{Error, FileId, Output, Result};
use iodyno_record::Plan;

use crate::error::RunError;

/// A reporter that was asked for, and where its main file goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputRequest {
    /// The reporter.
    pub reporter: String,
    /// Where.
    pub place: Place,
}

impl OutputRequest {
    /// Finds out before a run whether its file can be made after it.
    ///
    /// # Errors
    /// When the path is a folder or a block device, or its folder is not there.
    pub fn check(&self) -> std::result::Result<(), RunError> {
        let Place::Path(path) = &self.place else { return Ok(()) };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let reason = if path.is_dir() {
            format!("{} is a folder", path.display())
        } else if let Some(reason) = not_a_place(path, &[]) {
            reason
        } else if !folder.is_dir() {
            format!("there is no folder {}", folder.display())
        } else {
            return Ok(());
        };
        Err(RunError::Output { name: self.reporter.clone(), reason })
    }
}

/// Why a report must not be written to `path`: reports need no grant, so they never go to a device, nor to
/// what was tested.
fn not_a_place(path: &Path, targets: &[PathBuf]) -> Option<String> {
    let there = fs::metadata(path).ok()?;
    if there.file_type().is_block_device() {
        return Some(format!("{} is a block device, to which no report is written", path.display()));
    }
    let is_same = |target: &PathBuf| {
        fs::metadata(target).is_ok_and(|t| (t.dev(), t.ino()) == (there.dev(), there.ino()))
    };
    let tested = there.is_file() && targets.iter().any(is_same);
    tested.then(|| format!("{} is the target of the run", path.display()))
}

/// Where the targets of a plan are.
pub(crate) fn target_paths(plan: &Plan) -> Vec<PathBuf> {
    plan.targets.iter().filter_map(|t| t.identity.path.as_ref()).map(PathBuf::from).collect()
}

/// Where a reporter's main file goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Into the run folder, with the others.
    RunFolder,
    /// To standard output.
    Stdout,
    /// To standard error, where people look when a document has standard output to itself.
    Stderr,
    /// To this path.
    Path(PathBuf),
}

/// Files of one reporter. Others than the main one go beside it, with its name in front of theirs; beside none
/// they go into the run folder.
pub(crate) struct Files<'a> {
    folder: Option<PathBuf>,
    main: &'a Place,
    stream: &'a mut dyn Write,
    targets: Vec<PathBuf>,
    files: Vec<Open>,
}

struct Open {
    to: Option<PathBuf>,
    part: PathBuf,
    file: Option<File>,
}

impl<'a> Files<'a> {
    /// Files below `folder` (made when needed; several runs have none), the main one at `main`, which may be
    /// `stream`, and none at one of `targets`.
    pub(crate) fn new(
        folder: Option<PathBuf>,
        main: &'a Place,
        stream: &'a mut dyn Write,
        targets: Vec<PathBuf>,
    ) -> Self {
        Files { folder, main, stream, targets, files: Vec::new() }
    }

    /// Where the main file is, when it is a file.
    pub(crate) fn main_path(&self) -> Option<&Path> {
        self.files.first().and_then(|f| f.to.as_deref())
    }

    fn place(&self, name: &str) -> Option<PathBuf> {
        match self.main {
            Place::Stdout | Place::Stderr if self.files.is_empty() => None,
            Place::Path(path) if self.files.is_empty() => Some(path.clone()),
            Place::Path(path) => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                Some(path.with_file_name(format!("{stem}-{name}")))
            }
            Place::RunFolder | Place::Stdout | Place::Stderr => {
                let folder = self.folder.as_ref();
                Some(folder.map_or_else(|| PathBuf::from("/dev/null"), |folder| folder.join(name)))
            }
        }
    }

    fn open(&mut self, file: FileId) -> Result<&mut Open> {
        self.files
            .get_mut(file.0 as usize)
            .ok_or_else(|| Error::contract(format!("no output file {}", file.0)))
    }
}

impl Output for Files<'_> {
    fn create(&mut self, name: &str, _media_type: &str) -> Result<FileId> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.len() > 255 || name.starts_with('.') || !name.chars().all(plain) {
            return Err(Error::contract(format!("file name `{name}` is not made of [A-Za-z0-9._-]")));
        }
        let id = FileId(u32::try_from(self.files.len()).map_err(|_| Error::contract("too many files"))?);
        let Some(to) = self.place(name) else {
            self.files.push(Open { to: None, part: PathBuf::new(), file: None });
            return Ok(id);
        };
        if let Some(reason) = not_a_place(&to, &self.targets) {
            return Err(Error::system("cannot write the report", reason));
        }
        let failed = |e| Error::system(&format!("cannot write {}", to.display()), e);
        if let Some(folder) = self.folder.as_ref().filter(|folder| to.starts_with(folder)) {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let is_device = fs::metadata(&to).is_ok_and(|m| !m.is_file());
        let mut part = to.clone().into_os_string();
        if !is_device {
            part.push(".part");
        }
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(failed)?;
        self.files.push(Open { to: Some(to), part, file: Some(file) });
        Ok(id)
    }

    fn write(&mut self, file: FileId, bytes: &[u8]) -> Result<()> {
        if self.open(file)?.to.is_none() {
            return match self.stream.write_all(bytes).and_then(|()| self.stream.flush()) {
                // Who reads has gone away: `| head` had enough.
                Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
                written => written.map_err(|e| Error::system("cannot write to standard output", e)),
            };
        }
        let open = self.open(file)?;
        let Some(target) = &mut open.file else { return Err(Error::contract("write to a finished file")) };
        target
            .write_all(bytes)
            .map_err(|e| Error::system(&format!("cannot write {}", open.part.display()), e))
    }

    fn finish(&mut self, file: FileId) -> Result<()> {
        let open = self.open(file)?;
        let (Some(to), Some(file)) = (&open.to, open.file.take()) else { return Ok(()) };
        drop(file);
        if *to == open.part {
            return Ok(());
        }
        fs::rename(&open.part, to).map_err(|e| Error::system(&format!("cannot write {}", to.display()), e))
    }
}

impl Drop for Files<'_> {
    /// A file that was never finished leaves no half-written part behind.
    fn drop(&mut self) {
        for open in self.files.iter().filter(|f| f.file.is_some() && f.to.as_ref() != Some(&f.part)) {
            let _ = fs::remove_file(&open.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        let mut stdout = Vec::new();
        let mut files = Files::new(None, &Place::Stdout, &mut stdout, Vec::new());
        for name in ["", "../a", "/a", "a/b", ".hidden", "a b", "a\0"] {
            assert!(files.create(name, "text/plain").is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_file_appears_whole_and_an_unfinished_one_never() {
        let folder = tempfile::tempdir().unwrap();
        let mut stdout = Vec::new();
        let place = Place::Path(folder.path().join("main.txt"));
        let mut files = Files::new(None, &place, &mut stdout, Vec::new());
        let main = files.create("ignored.txt", "text/plain").unwrap();
        let second = files.create("second.txt", "text/plain").unwrap();
        files.write(main, b"hello").unwrap();
        files.write(second, b"never").unwrap();
        assert!(!folder.path().join("main.txt").exists());
        files.finish(main).unwrap();
        assert_eq!(fs::read(folder.path().join("main.txt")).unwrap(), b"hello");
        assert!(folder.path().join("main-second.txt.part").exists());
        drop(files);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_was_tested_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target.dat");
        fs::write(&target, "data").unwrap();
        for alias in ["alias", "main-alias"] {
            std::os::unix::fs::symlink(&target, folder.path().join(alias)).unwrap();
        }
        let mut stdout = Vec::new();
        for name in ["target.dat", "alias"] {
            let place = Place::Path(folder.path().join(name));
            let mut files = Files::new(None, &place, &mut stdout, vec![target.clone()]);
            let message = files.create("main.txt", "text/plain").unwrap_err().to_string();
            assert!(message.contains("is the target of the run"), "{message}");
        }
        // Nor by a further file beside the main one.
        let place = Place::Path(folder.path().join("main.txt"));
        let mut files = Files::new(None, &place, &mut stdout, vec![target.clone()]);
        files.create("main.txt", "text/plain").unwrap();
        assert!(files.create("alias", "text/plain").is_err());
        assert_eq!(fs::read(&target).unwrap(), b"data");
    }

    #[test]
    fn a_block_device_is_no_place_for_a_report() {
        let device = fs::read_dir("/dev")
            .unwrap()
            .map(|e| e.unwrap().path())
            .find(|p| fs::metadata(p).is_ok_and(|m| m.file_type().is_block_device()));
        let device = device.expect("every machine has a block device or two in /dev");
        let request = OutputRequest { reporter: "json".to_owned(), place: Place::Path(device) };
        let message = request.check().unwrap_err().to_string();
        assert!(message.contains("to which no report is written"), "{message}");
    }

    #[test]
    fn the_main_file_can_go_to_stdout() {
        let mut stdout = Vec::new();
        let mut files = Files::new(None, &Place::Stdout, &mut stdout, Vec::new());
        let main = files.create("a.txt", "text/plain").unwrap();
        files.write(main, b"text").unwrap();
        files.finish(main).unwrap();
        drop(files);
        assert_eq!(stdout, b"text");
    }
}
