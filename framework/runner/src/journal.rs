//! The one way by which events go out: stored, shown and handed to observing reporters, in one order.

use std::time::{SystemTime, UNIX_EPOCH};

use iodyno_record::{Envelope, Event, Note, SCHEMA_VERSION};

use crate::error::RunError;
use crate::folder::RunFolder;

/// Somebody who watches a run: the terminal, an observing reporter.
pub type Observer<'a> = dyn FnMut(&Envelope) + 'a;

/// Numbers events, stores them and passes them on.
pub(crate) struct Journal<'a> {
    folder: RunFolder,
    observer: &'a mut Observer<'a>,
    seq: u64,
}

impl<'a> Journal<'a> {
    pub(crate) fn new(folder: RunFolder, observer: &'a mut Observer<'a>) -> Self {
        Journal { folder, observer, seq: 0 }
    }

    pub(crate) fn folder(&mut self) -> &mut RunFolder {
        &mut self.folder
    }

    /// Sends an event; one that is stored is in the folder before anybody sees it.
    pub(crate) fn send(&mut self, event: Event) -> Result<(), RunError> {
        let stored = event.is_stored();
        let envelope = Envelope { schema_version: SCHEMA_VERSION, seq: self.seq, unix_ms: unix_ms(), event };
        if stored {
            self.folder.event(&envelope)?;
            self.seq += 1;
        }
        (self.observer)(&envelope);
        Ok(())
    }

    pub(crate) fn note(&mut self, note: &Note) -> Result<(), RunError> {
        self.send(Event::Noted { note: note.clone() })
    }
}

/// Now, ms since the epoch; 0 on a machine whose clock is before it.
pub(crate) fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}
