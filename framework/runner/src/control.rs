//! Stopping a run from outside: a signal handler, a test.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use iodyno_engine::Command;

/// Stops a run: submission ends, what is in flight is reaped, all is kept. Clones act on the same run.
#[derive(Clone, Default)]
pub struct Control {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    step: Mutex<Option<Sender<Command>>>,
    woken: Condvar,
}

impl Control {
    /// Asks the run to stop as soon as it can. Calling it again changes nothing.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        let step = self.shared.step.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(commands) = &*step {
            // A step that is just over no longer listens.
            let _ = commands.send(Command::Stop);
        }
        self.shared.woken.notify_all();
    }

    /// Whether somebody asked.
    pub fn stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::SeqCst)
    }

    /// The commands of a step that begins now.
    pub(crate) fn begin_step(&self) -> Receiver<Command> {
        let (commands, receiver) = channel();
        let mut step = self.shared.step.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stopped() {
            commands.send(Command::Stop).expect("the receiver is still here");
        }
        *step = Some(commands);
        receiver
    }

    /// Waits, at most until somebody stops the run.
    pub(crate) fn wait(&self, time: Duration) {
        let step = self.shared.step.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.stopped() {
            drop(self.shared.woken.wait_timeout(step, time));
        }
    }
}
