//! A folder in which the binary runs, and what a run came to.

use std::ffi::OsStr;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tempfile::TempDir;

use crate::binary::iodyno;

/// No single run of the binary in a test may take longer.
const TIME_MAX: Duration = Duration::from_secs(180);

/// A temporary folder on a real file system (direct I/O does not work on a tmpfs), removed in the end.
pub struct Folder {
    folder: TempDir,
}

impl Folder {
    /// A new one.
    ///
    /// # Panics
    /// When it cannot be made.
    #[expect(clippy::new_without_default, reason = "a folder appears on the disk; that must be asked for")]
    pub fn new() -> Folder {
        let folder = tempfile::Builder::new().prefix("iodyno-test-").tempdir_in("/var/tmp");
        Folder { folder: folder.expect("/var/tmp takes a folder") }
    }

    /// Path of `name` inside.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file inside.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("the folder takes a file");
        path
    }

    /// Runs the binary here with the words of `line` and waits for its end.
    pub fn run(&self, line: &str) -> Ended {
        self.start(line).end()
    }

    /// Runs the binary here with these words, which may hold spaces.
    pub fn run_words<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Ended {
        let mut command = self.command("");
        command.args(words);
        let line = format!("{:?}", command.get_args().collect::<Vec<_>>());
        Running::new(command, &line).end()
    }

    /// Starts the binary here with the words of `line`.
    pub fn start(&self, line: &str) -> Running {
        Running::new(self.command(line), line)
    }

    /// The command that [`Folder::start`] starts, for a test that changes its surroundings first.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(iodyno());
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    /// The folders of all runs that took place here, oldest first.
    pub fn runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path("runs")) else { return Vec::new() };
        let mut runs: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
        runs.retain(|path| path.is_dir() && !path.is_symlink());
        runs.sort_by_key(|path| fs::metadata(path).and_then(|m| m.modified()).ok());
        runs
    }

    /// The folder of the only run that took place here.
    ///
    /// # Panics
    /// When there is none, or more than one.
    pub fn only_run(&self) -> PathBuf {
        let mut runs = self.runs();
        assert_eq!(runs.len(), 1, "runs here: {runs:?}");
        runs.remove(0)
    }
}

/// A command at work. Dropped, it is killed.
pub struct Running {
    child: Child,
    line: String,
    started: Instant,
    out: Option<JoinHandle<String>>,
    err: Option<JoinHandle<String>>,
}

impl Running {
    /// Starts `command`, and reads all that it says.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn new(mut command: Command, line: &str) -> Running {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
        let out = child.stdout.take().map(read_all);
        let err = child.stderr.take().map(read_all);
        Running { child, line: line.to_owned(), started: Instant::now(), out, err }
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// When the process is gone.
    pub fn signal(&self, signal: Signal) -> &Self {
        rustix::process::kill_process(self.pid(), signal).expect("the process is there");
        self
    }

    /// Its process id.
    ///
    /// # Panics
    /// Never: a child has one.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits until `ready` holds.
    ///
    /// # Panics
    /// When the process ends before, or it takes too long.
    pub fn wait_until(&mut self, what: &str, mut ready: impl FnMut() -> bool) -> &mut Self {
        let start = Instant::now();
        while !ready() {
            let ended = self.child.try_wait().expect("a child can be waited for");
            assert!(ended.is_none(), "`{}` ended ({ended:?}) before {what}", self.line);
            assert!(start.elapsed() < TIME_MAX, "`{}`: no {what} in {TIME_MAX:?}", self.line);
            thread::sleep(Duration::from_millis(10));
        }
        self
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// When it takes too long.
    pub fn end(mut self) -> Ended {
        // Left as it is, so that its CPU time can still be read.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(self.pid()), options).expect("a child can be waited for").is_none() {
            assert!(self.started.elapsed() < TIME_MAX, "`{}` is still at work after {TIME_MAX:?}", self.line);
            thread::sleep(Duration::from_millis(5));
        }
        let (took, cpu) = (self.started.elapsed(), cpu_time(self.pid()));
        let text = |reader: Option<JoinHandle<String>>| {
            reader.map_or_else(String::new, |reader| reader.join().expect("reading does not fail"))
        };
        let (out, err) = (text(self.out.take()), text(self.err.take()));
        let code = self.child.wait().expect("a child can be waited for").code();
        Ended { line: self.line.clone(), code, out, err, took, cpu }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails when it has ended, and then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// CPU time of a process and of all its threads, those of the kernel on its behalf included.
fn cpu_time(pid: Pid) -> Duration {
    let stat =
        fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process has it until it is waited for");
    // The name, in parentheses, may hold anything.
    let (_, fields) = stat.rsplit_once(") ").expect("a name in parentheses");
    let ticks = fields.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().expect("a number"));
    Duration::from_secs(ticks.sum()) / rustix::param::clock_ticks_per_second() as u32
}

fn read_all(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).expect("a pipe can be read");
        String::from_utf8(bytes).expect("iodyno writes UTF-8")
    })
}

/// A command that ended.
#[derive(Debug)]
pub struct Ended {
    line: String,
    /// Exit code; `None` = killed by a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// How long it took.
    pub took: Duration,
    /// How much CPU time it took, to a hundredth of a second.
    pub cpu: Duration,
}

impl Ended {
    /// Demands an exit code.
    ///
    /// # Panics
    /// When it is another.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        assert!(self.code == Some(code), "must exit {code}\n{self}");
        self
    }

    /// Demands that standard output holds `text`.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn prints(&self, text: &str) -> &Self {
        assert!(self.out.contains(text), "must print `{text}`\n{self}");
        self
    }

    /// Demands that standard error holds `text`.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.err.contains(text), "must say `{text}`\n{self}");
        self
    }

    /// Demands that neither output holds `text`.
    ///
    /// # Panics
    /// When one does.
    #[track_caller]
    pub fn never_says(&self, text: &str) -> &Self {
        assert!(!self.err.contains(text) && !self.out.contains(text), "must not say `{text}`\n{self}");
        self
    }

    /// Standard output as lines.
    pub fn lines(&self) -> Vec<&str> {
        self.out.lines().collect()
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ended { line, code, out, err, took, .. } = self;
        write!(f, "$ iodyno {line}\nexit {code:?} after {took:.1?}\n--- stdout\n{out}\n--- stderr\n{err}")
    }
}
