//! The thread that runs completions.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use quayline_store::shared::Arrival;
use quayline_store::{Completion, Position, StoreError};

/// Name of the thread that runs completions.
pub(crate) const COMPLETIONS: &str = "store-postgres-after";

/// Work for the completion thread, because it may block.
pub(crate) enum After {
    /// A unit of work ended: its callback with the outcome.
    Ended(Completion, Result<Position, StoreError>),
    /// Entries arrived.
    Arrived(Arc<dyn Arrival>, u64),
}

/// Runs completions on a thread of their own, in the order of the commits. A completion may wait for a lock whose owner waits for an answer of
/// the thread that talks to the database, or may read the store itself.
pub(crate) fn completions() -> std::io::Result<(Sender<After>, JoinHandle<()>)> {
    let (endings, ended) = std::sync::mpsc::channel::<After>();
    let thread = std::thread::Builder::new().name(COMPLETIONS.to_owned());
    let each = |after| match after {
        After::Ended(after, outcome) => after(outcome),
        After::Arrived(arrival, count) => arrival.arrived(count),
    };
    let thread = thread.spawn(move || ended.into_iter().for_each(each))?;
    Ok((endings, thread))
}
