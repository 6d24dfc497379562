//! Requests of other threads to the connection for locks and claims.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::time::Instant;

use quayline_store::queue::MessageId;
use quayline_store::shared::{Hold, Reads};
use quayline_store::{FullKey, Space, StoreError, UnitId, Value};

use crate::rows::{Parameters, Rows};

/// A request of another thread to the connection for locks and claims. Requests keep their order.
pub(crate) enum HoldWish {
    /// Takes a key for a unit.
    Hold(Asked),
    /// Gives keys back.
    Release { unit: UnitId, keys: Vec<FullKey> },
    /// Gives a claimed entry back, later if there is a time, with the id of the message.
    GiveBack { key: FullKey, beside: Option<(FullKey, Value)>, at: Option<(Instant, MessageId)> },
    /// Gives the entries of a space back that are to be given back later.
    EndPauses(Space),
    /// A unit waits; whether it must give up.
    Waits { unit: UnitId, key: FullKey, answer: Sender<Result<bool, StoreError>> },
    /// The unit no longer waits.
    WaitsNoMore { unit: UnitId },
    /// Rows of a statement.
    Query { text: String, parameters: Parameters, answer: Sender<Rows> },
    /// A commit freed keys and added entries to spaces.
    Tell(Told),
    /// A notification from another process arrived.
    Heard(String),
    /// End the task after the pending requests.
    Stop,
}

/// A unit's request for the lock of a key.
pub(crate) struct Asked {
    pub(crate) unit: UnitId,
    pub(crate) key: FullKey,
    pub(crate) reads: Reads,
    pub(crate) answer: Sender<Result<Hold, StoreError>>,
}

/// Freed keys, and spaces with new entries.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) spaces: HashMap<Space, i64>,
}

impl Told {
    pub(crate) fn add(&mut self, other: Told) {
        self.keys.extend(other.keys);
        for (space, count) in other.spaces {
            *self.spaces.entry(space).or_default() += count;
        }
    }
}
