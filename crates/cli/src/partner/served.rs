//! Partners in `quayline serve`: a thread that watches the places in `[serve.partners]`, and closes envelopes that are due.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use quayline_core::Findings;
use quayline_server::PartnersConfig;

use super::PartnersPart;
use super::folders::{WatchedPlaces, Watcher, pause};
use crate::console::Console;
use crate::exit::Stop;

/// Interval in seconds between two checks of envelopes if nothing is watched.
const ENVELOPES_SECONDS: u64 = 5;

/// The thread.
pub(crate) struct ServedPartners {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl ServedPartners {
    /// Starts the thread.
    pub(crate) fn start(
        part: &Arc<PartnersPart>,
        project: &Path,
        config: Option<&PartnersConfig>,
    ) -> Result<ServedPartners, Stop> {
        let interval = config.map_or(ENVELOPES_SECONDS, |config| config.interval_seconds);
        let config = config.cloned().unwrap_or_default();
        let places = WatchedPlaces {
            inbox: config.inbox,
            send: config.send.into_iter().collect(),
            archive: config.archive,
            rejected: config.rejected,
            settle_seconds: config.settle_seconds,
        };
        let mut watcher = Watcher::new(project, &places, &Console::plain())?;
        let stop = Arc::new(AtomicBool::new(false));
        let (part, is_stopped) = (Arc::clone(part), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let console = Console::plain();
            let mut book = None;
            while !is_stopped.load(Ordering::Relaxed) {
                let done = part.round(&mut watcher, &mut book, &is_stopped, &console);
                // The server continues: a failure of the store is reported once, and the work is retried.
                let found = match done {
                    Err(Stop::Findings(Findings(found))) => found,
                    Ok(()) | Err(Stop::ClosedPipe) => Vec::new(),
                };
                watcher.report("round", &found, &console);
                pause(interval, &is_stopped);
            }
        });
        Ok(ServedPartners { stop, thread })
    }

    /// Ends the thread after the round in progress.
    pub(crate) fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        // A thread that panicked committed nothing that is half done.
        let _ = self.thread.join();
    }
}
