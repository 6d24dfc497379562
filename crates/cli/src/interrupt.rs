//! Ctrl-C as a flag: what is under way is finished and made resumable; a second Ctrl-C ends at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

/// Has a file that may not grow further be an error of its write, which is told, instead of the end of the process.
pub(crate) fn survive_file_size_limit() {
    // Where that is not possible, the process ends as before.
    let _ = flag::register(libc::SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// A flag that Ctrl-C (SIGINT) or SIGTERM sets. Whichever comes a second time ends the process with [`Exit::Interrupted`].
pub(crate) fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset and only sets it.
        flag::register_conditional_shutdown(signal, i32::from(Exit::Interrupted.code()), Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
