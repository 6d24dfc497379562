//! Messages that an input took from a server, before they are processed.

use std::rc::Rc;
use std::time::Duration;

use quayline_store::Unit;
use quayline_store::queue::Message;

/// First and longest pause before a message that failed is processed again.
const AGAIN_MS: (u64, u64) = (100, 10_000);

/// A message that is processed now.
pub(crate) struct Taken {
    pub(crate) unit: Unit,
    pub(crate) header: Message,
    pub(crate) content: Rc<[u8]>,
    /// Queue that it moves to instead, and why.
    pub(crate) backout: Option<(String, String)>,
}

/// Pause after this number of failures.
pub(crate) fn pause_again(failures: u64) -> Duration {
    Duration::from_millis(AGAIN_MS.0.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(AGAIN_MS.1))
}
