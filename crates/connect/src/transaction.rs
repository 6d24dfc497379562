//! Transactions that clients have open.

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
}
