//! Transactions that clients have open.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use quayline_amqp::AmqpError;
use quayline_store::Unit;
use quayline_store::queue::{Attempt, Claim};

use crate::client::Shared;

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
pub(crate) struct TransactionPlace(Arc<Shared>);

impl TransactionPlace {
    /// Takes a place. The error is the number of places, all of which are taken.
    pub(crate) fn take(shared: &Arc<Shared>) -> Result<TransactionPlace, usize> {
        let max = shared.settings.limits.transactions_all.min(shared.store.limits().units_open_max / STORE_PART).max(1);
        let place = TransactionPlace(Arc::clone(shared));
        if shared.transactions.fetch_add(1, Ordering::Relaxed) < max { Ok(place) } else { Err(max) }
    }
}

impl Drop for TransactionPlace {
    fn drop(&mut self) {
        self.0.transactions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Clients may hold one of this many parts of the store's units of work.
const STORE_PART: usize = 4;
