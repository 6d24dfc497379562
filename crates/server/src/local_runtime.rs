//! The runtime of one thread.

use std::io;
use std::time::Duration;

use tokio::task::LocalSet;

/// Runs a future and the tasks that it spawns on this thread, until the future ends.
pub(crate) fn on_thread<F: Future<Output = ()>>(work: F) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, work);
    // Files on a network that does not answer must not delay the end of the process.
    runtime.shutdown_timeout(BLOCKING_WAIT);
    Ok(())
}

/// Maximum time that the end of a thread waits for its blocking work, such as an answer of another part of the program.
const BLOCKING_WAIT: Duration = Duration::from_secs(5);
