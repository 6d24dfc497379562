//! Signals of other threads to a connection: outcomes of commits, and queues with new messages.

use std::sync::Arc;
use std::task::{Wake, Waker};

use parking_lot::Mutex;
use quayline_amqp::{AmqpError, Delivery, DeliveryState, LinkId};
use quayline_store::StoreError;
use tokio::sync::Notify;

/// An outcome of a commit.
#[derive(Debug)]
pub(crate) struct Committed {
    /// Messages of the client, to be settled.
    pub(crate) puts: Vec<Delivery>,
    /// Messages to the client, to be confirmed.
    pub(crate) gets: Vec<(Delivery, DeliveryState)>,
    /// Bytes that the unit of work put.
    pub(crate) bytes: u64,
    pub(crate) outcome: Result<(), StoreError>,
}

/// News for a connection.
#[derive(Debug)]
pub(crate) enum Signal {
    /// A unit of work of messages and acknowledgments.
    Committed(Committed),
    /// A transaction was discharged.
    Discharged { delivery: Delivery, outcome: Result<(), StoreError> },
    /// A queue has a message.
    Arrived(LinkId),
    /// A temporary queue was made, or not.
    Made { link: LinkId, name: String, outcome: Result<(), AmqpError> },
}

/// Signals of one connection.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    signals: Mutex<Vec<Signal>>,
    pub(crate) notify: Notify,
}

impl Mailbox {
    pub(crate) fn leave(&self, signal: Signal) {
        let mut signals = self.signals.lock();
        let is_first = signals.is_empty();
        signals.push(signal);
        drop(signals);
        // The connection takes all at once.
        if is_first {
            self.notify.notify_one();
        }
    }

    pub(crate) fn take(&self) -> Vec<Signal> {
        std::mem::take(&mut self.signals.lock())
    }
}

/// Wakes a link whose queue has a message.
struct Arrival {
    mailbox: Arc<Mailbox>,
    link: LinkId,
}

impl Wake for Arrival {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.mailbox.leave(Signal::Arrived(self.link));
    }
}

/// Returns a waker that signals the connection's task for a link.
pub(crate) fn waker(mailbox: &Arc<Mailbox>, link: LinkId) -> Waker {
    Waker::from(Arc::new(Arrival { mailbox: Arc::clone(mailbox), link }))
}
