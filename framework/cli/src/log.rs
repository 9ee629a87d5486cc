//! iodyno's own log: into the run folder, all of it; to standard error as far as `-v` asks.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

static FILE: OnceLock<File> = OnceLock::new();

/// Writes to the run folder's log once there is one; what comes before is dropped.
struct ToFile;

impl MakeWriter<'_> for ToFile {
    type Writer = Box<dyn Write>;

    fn make_writer(&self) -> Self::Writer {
        match FILE.get() {
            Some(file) => Box::new(file),
            None => Box::new(io::sink()),
        }
    }
}

/// Starts logging. `verbose` is how often `-v` was said.
pub(crate) fn start(verbose: u8) {
    let level = ["off", "info", "debug", "trace"][usize::from(verbose.min(3))];
    let stderr = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_target(false)
        .with_filter(EnvFilter::new(level));
    let file = tracing_subscriber::fmt::layer()
        .with_writer(ToFile)
        .with_ansi(false)
        .with_filter(EnvFilter::new("debug"));
    tracing_subscriber::registry().with(stderr).with(file).init();
}

/// From here on the log is also kept in `path`.
pub(crate) fn keep(path: &Path) {
    match File::create(path) {
        Ok(file) => drop(FILE.set(file)),
        Err(e) => tracing::warn!("cannot keep the log in {}: {e}", path.display()),
    }
}
