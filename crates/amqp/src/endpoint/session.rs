//! State of one session: windows, numbers of deliveries, pending frames.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::link::Link;
use crate::performative::{Begin, Disposition, Flow, Performative, Role, Transfer};
use crate::state::DeliveryState;

/// A message on its way to the peer.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) handle: u32,
    pub(super) serial: u64,
    pub(super) delivery_id: u32,
    pub(super) settled: bool,
    pub(super) tag: Vec<u8>,
    pub(super) bytes: Vec<u8>,
    /// Bytes that were framed.
    pub(super) at: usize,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) channel: u16,
    pub(super) links: HashMap<u32, Link>,
    /// Handles of this side by those of the peer, where this side attaches.
    pub(super) remote_handles: HashMap<u32, u32>,
    /// Id of the next transfer of the peer.
    pub(super) next_incoming_id: u32,
    pub(super) incoming_window: u32,
    /// Id of our next transfer.
    pub(super) next_outgoing_id: u32,
    pub(super) peer_window: u32,
    pub(super) peer_handle_max: u32,
    /// Number of our next delivery.
    pub(super) next_delivery_id: u32,
    /// Our deliveries that the peer has not settled, with their links.
    pub(super) unsettled_out: BTreeMap<u32, (u32, u64)>,
    /// Deliveries of the peer that we have not settled.
    pub(super) unsettled_in: BTreeMap<u32, (u32, u64)>,
    pub(super) outgoing: VecDeque<Outgoing>,
    /// States to send: our role, delivery, state.
    pub(super) states: Vec<(Role, u32, DeliveryState)>,
    /// True if this side ended the session; only the peer's end is still expected.
    pub(super) is_ending: bool,
}

impl Session {
    pub(super) fn new(channel: u16, begin: &Begin, incoming_window: u32) -> Self {
        Session {
            channel,
            links: HashMap::new(),
            remote_handles: HashMap::new(),
            next_incoming_id: begin.next_outgoing_id,
            incoming_window,
            next_outgoing_id: 0,
            peer_window: begin.incoming_window,
            peer_handle_max: begin.handle_max.unwrap_or(u32::MAX),
            next_delivery_id: 0,
            unsettled_out: BTreeMap::new(),
            unsettled_in: BTreeMap::new(),
            outgoing: VecDeque::new(),
            states: Vec::new(),
            is_ending: false,
        }
    }

    /// Returns a flow frame with the state of the session.
    pub(super) fn flow(&self) -> Flow {
        Flow {
            next_incoming_id: Some(self.next_incoming_id),
            incoming_window: self.incoming_window,
            next_outgoing_id: self.next_outgoing_id,
            // The pending frames are bounded elsewhere.
            outgoing_window: u32::MAX >> 1,
            ..Flow::default()
        }
    }

    /// Returns a flow frame with the state of a link.
    pub(super) fn link_flow(&self, handle: u32, link: &Link) -> Flow {
        Flow {
            handle: Some(handle),
            delivery_count: Some(link.delivery_count),
            link_credit: Some(link.credit),
            drain: link.role == Role::Sender && link.drain,
            ..self.flow()
        }
    }

    /// Takes the pending states, equal ones of consecutive deliveries as one.
    pub(super) fn take_states(&mut self) -> Vec<Performative> {
        let mut frames: Vec<Disposition> = Vec::new();
        for (role, id, state) in self.states.drain(..) {
            if let Some(last) = frames.last_mut()
                && last.role == role
                && last.last.unwrap_or(last.first).wrapping_add(1) == id
                && last.state.as_ref() == Some(&state)
            {
                last.last = Some(id);
                continue;
            }
            frames.push(Disposition {
                role,
                first: id,
                last: None,
                settled: true,
                state: Some(state),
                batchable: false,
            });
        }
        frames.into_iter().map(Performative::Disposition).collect()
    }

    /// Passes the next frame of the first waiting message and its content to `write`. Returns false if nothing waits or the peer's window
    /// is closed.
    pub(super) fn next_transfer(&mut self, frame_max: usize, write: impl FnOnce(u16, Transfer, &[u8])) -> bool {
        /// Bytes of a transfer without content: header, fields, a tag of 32 bytes.
        const OVERHEAD: usize = 96;
        if self.peer_window == 0 {
            return false;
        }
        let Some(message) = self.outgoing.front_mut() else { return false };
        let rest = message.bytes.len() - message.at;
        let length = rest.min(frame_max - OVERHEAD);
        let is_first = message.at == 0;
        let transfer = Transfer {
            handle: message.handle,
            delivery_id: is_first.then_some(message.delivery_id),
            delivery_tag: is_first.then(|| std::mem::take(&mut message.tag)),
            message_format: is_first.then_some(0),
            settled: Some(message.settled),
            more: length < rest,
            ..Transfer::default()
        };
        write(self.channel, transfer, &message.bytes[message.at..message.at + length]);
        message.at += length;
        if length == rest {
            self.outgoing.pop_front();
        }
        self.next_outgoing_id = self.next_outgoing_id.wrapping_add(1);
        self.peer_window -= 1;
        true
    }

    /// Removes and returns the unsettled ids of a range. The cost is bounded by the number of unsettled ids, however large the range is.
    pub(super) fn in_range(unsettled: &BTreeMap<u32, (u32, u64)>, first: u32, last: u32) -> Vec<(u32, (u32, u64))> {
        let found = |from: u32, to: u32| unsettled.range(from..=to).map(|(id, link)| (*id, *link));
        if first <= last {
            found(first, last).collect()
        } else {
            // Numbers of deliveries wrap.
            found(first, u32::MAX).chain(found(0, last)).collect()
        }
    }

    /// Forgets the deliveries of a link.
    pub(super) fn forget_link(&mut self, serial: u64) {
        self.unsettled_out.retain(|_, (_, of)| *of != serial);
        self.unsettled_in.retain(|_, (_, of)| *of != serial);
        self.outgoing.retain(|message| message.serial != serial);
    }
}
