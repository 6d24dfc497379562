//! Links of a client, by their purpose.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::task::Waker;

use quayline_amqp::{Attach, DeliveryState};
use quayline_store::queue::{Claim, Message, Queue, Select};

/// Purpose of a link.
#[derive(Debug)]
pub(crate) enum Link {
    Put(PutLink),
    Get(GetLink),
    Browse(BrowseLink),
    /// A link to the transaction coordinator (AMQP 1.0, part 4).
    Control,
    /// Waits for its temporary queue to be created.
    Making(Box<Attach>),
}

/// A link that puts messages.
#[derive(Debug)]
pub(crate) struct PutLink {
    /// The queue; `None` if each message names its own.
    pub(crate) queue: Option<Queue>,
    /// Queues that messages named.
    pub(crate) named: HashMap<String, Queue>,
    /// Messages with a pending outcome.
    pub(crate) pending: u32,
}

/// A link that gets messages.
#[derive(Debug)]
pub(crate) struct GetLink {
    pub(crate) queue: Queue,
    pub(crate) select: Select,
    /// Longest message that the client takes.
    pub(crate) bytes_max: u64,
    pub(crate) waker: Waker,
    /// Messages that the client has, with their sizes, in the order in which they were sent.
    pub(crate) unsettled: BTreeMap<u32, (Claim, u64)>,
    /// Treatment of messages that are settled without an outcome.
    pub(crate) default_outcome: Option<DeliveryState>,
    /// Time, by the monotonic clock, at which the next message on the queue ends its retry delay.
    pub(crate) due_ms: Option<u64>,
}

/// A link that browses. It continues when the client requests more.
#[derive(Debug)]
pub(crate) struct BrowseLink {
    pub(crate) queue: Queue,
    /// Longest message that the client takes.
    pub(crate) bytes_max: u64,
    pub(crate) after: Option<[u8; 9]>,
    pub(crate) read: VecDeque<Message>,
}
