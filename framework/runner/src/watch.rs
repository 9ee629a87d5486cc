//! Observing reporters: each on a thread of its own, behind a queue, so that a slow one stalls nobody.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use iodyno_plugin::{Catalog, Reporter};
use iodyno_record::{Envelope, Plan};

use crate::error::RunError;
use crate::folder::names;
use crate::load::Loaded;
use crate::output::{Files, OutputRequest, target_paths};
use crate::report::create;

enum Told {
    Event(Arc<Vec<u8>>),
    Finish(Arc<Loaded>),
}

struct Watcher {
    name: String,
    queue: Sender<Told>,
    thread: JoinHandle<iodyno_plugin::Result<()>>,
}

/// Requests whose reporters watch a run while it goes on, and those that make documents afterwards.
///
/// # Errors
/// When a reporter is not there, or its file cannot be made.
pub fn split(
    outputs: Vec<OutputRequest>,
    catalog: &dyn Catalog,
) -> Result<(Vec<OutputRequest>, Vec<OutputRequest>), RunError> {
    let mut sides = (Vec::new(), Vec::new());
    for output in outputs {
        output.check()?;
        let side = if create(&output.reporter, catalog)?.observes() { &mut sides.0 } else { &mut sides.1 };
        side.push(output);
    }
    Ok(sides)
}

/// The reporters that watch a run.
#[derive(Default)]
pub struct Watchers {
    watchers: Vec<Watcher>,
}

impl Watchers {
    /// Starts the reporters of `outputs` over the run that is kept in `folder`.
    ///
    /// # Errors
    /// When a reporter is not there.
    pub fn start(
        outputs: &[OutputRequest],
        catalog: &dyn Catalog,
        plan: &Plan,
        folder: &Path,
    ) -> Result<Self, RunError> {
        let mut watchers = Vec::new();
        for output in outputs {
            let reporter = create(&output.reporter, catalog)?;
            let (queue, told) = channel();
            let (output, folder) = (output.clone(), folder.join(names::REPORT).join(&output.reporter));
            let name = output.reporter.clone();
            let targets = target_paths(plan);
            let thread = std::thread::spawn(move || watch(reporter, &output, folder, targets, &told));
            watchers.push(Watcher { name, queue, thread });
        }
        Ok(Watchers { watchers })
    }

    /// Tells an event.
    pub fn event(&self, envelope: &Envelope) {
        if self.watchers.is_empty() {
            return;
        }
        let bytes = Arc::new(serde_json::to_vec(envelope).expect("records are plain data with text keys"));
        for watcher in &self.watchers {
            // One that failed no longer listens; its failure is told at the end.
            let _ = watcher.queue.send(Told::Event(Arc::clone(&bytes)));
        }
    }

    /// Lets each complete its files.
    ///
    /// # Errors
    /// The first failure of a reporter.
    pub fn finish(self, run: &Arc<Loaded>) -> Result<(), RunError> {
        let mut failure = None;
        for watcher in self.watchers {
            let _ = watcher.queue.send(Told::Finish(Arc::clone(run)));
            drop(watcher.queue);
            let ended =
                watcher.thread.join().unwrap_or_else(|_| Err(iodyno_plugin::Error::contract("it panicked")));
            failure = failure.or(ended.err().map(|e| RunError::reporter(&watcher.name, &e)));
        }
        failure.map_or(Ok(()), Err)
    }
}

fn watch(
    mut reporter: Box<dyn Reporter>,
    output: &OutputRequest,
    folder: PathBuf,
    targets: Vec<PathBuf>,
    told: &Receiver<Told>,
) -> iodyno_plugin::Result<()> {
    let mut stdout = std::io::stdout();
    let mut files = Files::new(Some(folder), &output.place, &mut stdout, targets);
    for next in told {
        match next {
            Told::Event(bytes) => reporter.event(&bytes, &mut files)?,
            Told::Finish(run) => reporter.finish(&[run.view()], &mut files)?,
        }
    }
    Ok(())
}
