//! Counts of a listener.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the start, and the current number of connections and links.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ListenerFacts {
    /// Connections that are open.
    pub connections: u64,
    /// Connections that were accepted.
    pub accepted: u64,
    /// TLS handshakes: full, resumed.
    pub handshakes: [u64; 2],
    /// Connections that a limit refused.
    pub refused: u64,
    /// Clients that did not authenticate.
    pub unauthenticated: u64,
    /// Messages that clients sent and that are committed.
    pub received: u64,
    /// Messages that were sent to clients, browsed ones included.
    pub sent: u64,
    /// Messages of clients that were refused.
    pub rejected: u64,
    /// Transactions committed.
    pub committed: u64,
    /// Transactions rolled back.
    pub rolled_back: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections: AtomicU64,
    pub(crate) accepted: AtomicU64,
    pub(crate) handshakes: [AtomicU64; 2],
    pub(crate) refused: AtomicU64,
    pub(crate) unauthenticated: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) committed: AtomicU64,
    pub(crate) rolled_back: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counters {
    pub(crate) fn facts(&self) -> ListenerFacts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ListenerFacts {
            connections: of(&self.connections),
            accepted: of(&self.accepted),
            handshakes: [of(&self.handshakes[0]), of(&self.handshakes[1])],
            refused: of(&self.refused),
            unauthenticated: of(&self.unauthenticated),
            received: of(&self.received),
            sent: of(&self.sent),
            rejected: of(&self.rejected),
            committed: of(&self.committed),
            rolled_back: of(&self.rolled_back),
        }
    }
}
