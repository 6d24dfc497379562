//! State of one link.

use crate::performative::Role;
use crate::state::DeliveryState;

/// Stage of a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LinkStage {
    /// The user of this crate has not answered the attach.
    Attaching,
    /// Attached.
    Attached,
    /// We detached; only the peer's detach matters.
    Detaching,
}

/// A message whose last frame has not arrived.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) delivery_id: u32,
    pub(super) settled: bool,
    pub(super) state: Option<DeliveryState>,
    pub(super) format: u32,
    pub(super) bytes: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) serial: u64,
    pub(super) name: String,
    /// Our role.
    pub(super) role: Role,
    pub(super) stage: LinkStage,
    pub(super) delivery_count: u32,
    pub(super) credit: u32,
    /// True if the peer requests that this side use up its credit.
    pub(super) drain: bool,
    /// True if this side sends settled deliveries.
    pub(super) sends_settled: bool,
    /// Bytes of a message that this side takes.
    pub(super) max_message_size: u64,
    pub(super) assembly: Option<Assembly>,
}

impl Link {
    /// Returns whether the caller has received the event for the start of the link, but not the one for its end.
    pub(super) fn is_known(&self) -> bool {
        self.stage != LinkStage::Detaching
    }
}
