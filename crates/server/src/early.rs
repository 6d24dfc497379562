//! Signals that arrive while a server starts.
//!
//! Queues and flows work before the server handles signals. Without this, SIGTERM would end the process in between, and the store would not be closed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};

/// SIGTERM and SIGINT until the server handles them.
#[derive(Debug)]
pub struct EarlySignals {
    arrived: Arc<AtomicBool>,
    ending: Vec<SigId>,
}

impl EarlySignals {
    /// Keeps the first signal for the server, which then stops in order. During the start, a second signal ends the process with `code`.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub fn take(code: i32) -> io::Result<EarlySignals> {
        let arrived = Arc::new(AtomicBool::new(false));
        let mut ending = Vec::new();
        for signal in [SIGINT, SIGTERM] {
            ending.push(flag::register_conditional_shutdown(signal, code, Arc::clone(&arrived))?);
            flag::register(signal, Arc::clone(&arrived))?;
        }
        Ok(EarlySignals { arrived, ending })
    }

    /// Returns true if a signal arrived. Later signals are left to the server.
    pub(crate) fn hand_over(&self) -> bool {
        for id in &self.ending {
            low_level::unregister(*id);
        }
        self.arrived.load(Ordering::SeqCst)
    }
}
