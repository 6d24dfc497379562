//! Ownership: among the processes on one store, only one may do certain work.
//!
//! ```text
//! lock on checkpoint "flow-owner/FLOW/NODE"   held by a unit of work that never commits, as long as the node takes messages
//! ```
//!
//! Messages of an unordered queue may be processed by any process, and each process has its own HTTP address. All other inputs have state that only one
//! process can have: the files taken, the next time of a timer, the known messages of a broker, the order of messages, the message of an outbox that
//! is being delivered.
//!
//! The lock is the store's own. It ends when its process ends in any way, and the store accepts no commit of that process afterwards. The previous owner
//! therefore cannot have another effect: its last actions outside the store are repeated by the next owner and recognized there as repetitions.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use quayline_project::FlowNode;
use quayline_store::{LockWait, Space, Store, StoreError, Unit};
use tokio::time::{Instant, Sleep};

use crate::failure::Failure;
use crate::run::Run;

/// Pause between two attempts. Default 1 s: the store frees the locks of a process that ended within that time.
const PAUSE: Duration = Duration::from_secs(1);

/// Returns true if only one of several processes may take the messages of a node.
pub(crate) fn needs_one(store: &Store, node: &FlowNode) -> bool {
    if store.engine().shared().is_none() {
        return false;
    }
    match node.kind.name {
        "http_input" => false,
        "queue_input" => matches!(node.text("order"), Some("by_queue" | "by_user" | "by_key")),
        _ => true,
    }
}

/// The attempts to become the owner of a node.
pub(crate) struct Ownership {
    key: String,
    pause: Pin<Box<Sleep>>,
}

impl Ownership {
    pub(crate) fn new(flow: &str, node: &str) -> Ownership {
        Ownership { key: format!("flow-owner/{flow}/{node}"), pause: Box::pin(tokio::time::sleep(Duration::ZERO)) }
    }

    /// Returns the unit of work that holds the ownership as long as it lives.
    pub(crate) fn poll(&mut self, run: &Run<'_>, at: usize, context: &mut Context<'_>) -> Poll<Result<Unit, Failure>> {
        loop {
            ready!(self.pause.as_mut().poll(context));
            self.pause.as_mut().reset(Instant::now() + PAUSE);
            let mut unit = run.store.begin()?;
            let is_elsewhere = match unit.lock(Space::CHECKPOINTS, self.key.as_bytes(), LockWait::No) {
                Ok(()) => false,
                Err(StoreError::LockTimeout { .. }) => true,
                Err(error) => return Poll::Ready(Err(error.into())),
            };
            run.stats.nodes[at].is_elsewhere.store(is_elsewhere, Ordering::Relaxed);
            if !is_elsewhere {
                return Poll::Ready(Ok(unit));
            }
        }
    }
}
