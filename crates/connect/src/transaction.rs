//! Transactions that clients have open.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quayline_amqp::AmqpError;
use quayline_store::Unit;
use quayline_store::queue::{Attempt, Claim};

/// A transaction.
#[derive(Debug)]
pub(crate) struct Transaction {
    /// The unit of work. `None` after it was rolled back because of its age.
    pub(crate) unit: Option<Unit>,
    /// Messages that return to their queues when the transaction commits.
    pub(crate) releases: Vec<(Claim, Attempt)>,
    /// Reason why the transaction cannot commit.
    pub(crate) failed: Option<AmqpError>,
    pub(crate) began_ms: u64,
    /// Place among the open transactions, held as long as `unit`.
    pub(crate) place: Option<TransactionPlace>,
}

/// A place among the open transactions of a listener, which is released however the transaction ends.
#[derive(Debug)]
pub(crate) struct TransactionPlace(Arc<AtomicUsize>);

impl TransactionPlace {
    /// Takes a place among `max`; `None` if all are taken.
    pub(crate) fn take(taken: &Arc<AtomicUsize>, max: usize) -> Option<TransactionPlace> {
        let place = TransactionPlace(Arc::clone(taken));
        (taken.fetch_add(1, Ordering::Relaxed) < max).then_some(place)
    }
}

impl Drop for TransactionPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
