//! Signals between the applier and committers.

use parking_lot::{Condvar, Mutex};

/// Signals between the applier and committers.
#[derive(Debug, Default)]
pub(crate) struct ApplierSignals {
    pub(crate) state: Mutex<State>,
    /// The applier waits here.
    pub(crate) work: Condvar,
    /// Committers wait here for room.
    pub(crate) room: Condvar,
    /// One apply at a time.
    pub(crate) running: Mutex<()>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) wanted: bool,
    pub(crate) stop: bool,
}

impl ApplierSignals {
    /// Wakes the applier before its interval.
    pub(crate) fn want(&self) {
        let mut state = self.state.lock();
        if !state.wanted {
            state.wanted = true;
            self.work.notify_one();
        }
    }
}
