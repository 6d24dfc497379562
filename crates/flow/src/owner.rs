//! One owner, among the processes on one store, for what two of them must not do at the same time.
//!
//! ```text
//! lock on checkpoint "flow-owner/FLOW/NODE"   held by a unit of work that never commits, as long as the node takes messages
//! ```
//!
//! Messages of a queue without order may be processed anywhere, and each process has its own address for HTTP. Everything else has a state that only one
//! process can have: which files are taken, when a timer fires next, which messages of a broker are known, whose turn it is in an order, which message of an
//! outbox is on its way.
//!
//! The lock is the store's own. It ends when its process ends, however it ends, and the store takes no commit of that process afterwards. So the owner before
//! cannot have another effect: what it still does outside of the store is repeated by the next owner and recognized there as a repetition.

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

/// Whether only one of several processes may take the messages of a node.
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

    /// The unit of work that holds the right as long as it lives.
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
