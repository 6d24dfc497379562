//! Calls for the user of an endpoint.

use super::link::{Link, LinkStage};
use super::session::{Outgoing, Session};
use super::{Delivery, Endpoint, LinkId};
use crate::error::AmqpError;
use crate::frame::{Frame, FrameType};
use crate::performative::{Attach, Detach, Performative, Role};
use crate::state::DeliveryState;
use crate::terminus::{LinkTarget, Source};

impl Endpoint {
    fn link(&self, id: LinkId) -> Option<(&Session, &Link)> {
        let session = self.sessions.get(&id.channel)?;
        let link = session.links.get(&id.handle).filter(|link| link.serial == id.serial)?;
        Some((session, link))
    }

    fn link_mut(&mut self, id: LinkId) -> Option<(&mut Session, LinkStage)> {
        let session = self.sessions.get_mut(&id.channel)?;
        let stage = session.links.get(&id.handle).filter(|link| link.serial == id.serial)?.stage;
        Some((session, stage))
    }

    /// Accepts a link with its actual source and target. `max_message_size` is the limit of this side, for a link from the peer.
    pub fn accept(&mut self, id: LinkId, source: Option<Source>, target: Option<LinkTarget>, max_message_size: u64) {
        let Some((session, LinkStage::Attaching)) = self.link_mut(id) else { return };
        let Some(link) = session.links.get_mut(&id.handle) else { return };
        link.stage = LinkStage::Attached;
        link.max_message_size = max_message_size;
        let sends = link.role == Role::Sender;
        let answer = Attach {
            name: link.name.clone(),
            handle: id.handle,
            role: link.role,
            snd_settle_mode: if link.sends_settled { 1 } else { 2 },
            rcv_settle_mode: 0,
            source: source.map(Box::new),
            target,
            initial_delivery_count: sends.then_some(0),
            max_message_size: (!sends).then_some(max_message_size),
            offered_capabilities: Vec::new(),
            desired_capabilities: Vec::new(),
            properties: None,
        };
        self.write(id.channel, &Performative::Attach(Box::new(answer)));
    }

    /// Refuses a link: it is attached without source and target and detached with the error, as the standard requires.
    pub fn refuse(&mut self, id: LinkId, error: AmqpError) {
        let Some((session, LinkStage::Attaching)) = self.link_mut(id) else { return };
        let Some(link) = session.links.get_mut(&id.handle) else { return };
        link.stage = LinkStage::Detaching;
        let answer = Attach {
            name: link.name.clone(),
            handle: id.handle,
            role: link.role,
            snd_settle_mode: 2,
            rcv_settle_mode: 0,
            source: None,
            target: None,
            initial_delivery_count: (link.role == Role::Sender).then_some(0),
            max_message_size: None,
            offered_capabilities: Vec::new(),
            desired_capabilities: Vec::new(),
            properties: None,
        };
        let detach = Detach { handle: id.handle, closed: true, error: Some(error) };
        self.write(id.channel, &Performative::Attach(Box::new(answer)));
        self.write(id.channel, &Performative::Detach(detach));
    }

    /// Ends a link. It causes no further events.
    pub fn detach(&mut self, id: LinkId, error: Option<AmqpError>) {
        self.flush();
        let Some((session, LinkStage::Attaching | LinkStage::Attached)) = self.link_mut(id) else { return };
        let Some(link) = session.links.get_mut(&id.handle) else { return };
        link.stage = LinkStage::Detaching;
        let dropped = link.assembly.take().map_or(0, |assembly| assembly.bytes.len() as u64);
        session.forget_link(id.serial);
        self.assembling -= dropped;
        self.write(id.channel, &Performative::Detach(Detach { handle: id.handle, closed: true, error: error.clone() }));
        self.events.push_back(super::Event::Detached(id, error));
    }

    /// Messages that the peer may still send on a link from it.
    #[must_use]
    pub fn granted(&self, id: LinkId) -> u32 {
        self.link(id).map_or(0, |(_, link)| link.credit)
    }

    /// Grants the peer credit: the number of messages that it may send on the link.
    pub fn grant(&mut self, id: LinkId, credit: u32) {
        let Some((session, LinkStage::Attached)) = self.link_mut(id) else { return };
        if let Some(link) = session.links.get_mut(&id.handle) {
            link.credit = credit;
        }
        let Some(link) = session.links.get(&id.handle) else { return };
        let flow = session.link_flow(id.handle, link);
        self.write(id.channel, &Performative::Flow(flow));
    }

    /// Returns whether a message may be sent on a link to the peer now: there is credit, room for its outcome, and a socket that
    /// keeps up.
    #[must_use]
    pub fn can_send(&self, id: LinkId) -> bool {
        let limits = &self.settings.limits;
        self.link(id).is_some_and(|(session, link)| {
            link.stage == LinkStage::Attached
                && link.credit > 0
                && session.outgoing.is_empty()
                && session.unsettled_out.len() < limits.unsettled_max
                && self.out.len() < limits.output_bytes_high
        })
    }

    /// Returns the credit that the peer has on a link.
    #[must_use]
    pub fn credit(&self, id: LinkId) -> u32 {
        self.link(id).map_or(0, |(_, link)| link.credit)
    }

    /// Returns whether messages of the link are sent settled.
    #[must_use]
    pub fn sends_settled(&self, id: LinkId) -> bool {
        self.link(id).is_some_and(|(_, link)| link.sends_settled)
    }

    /// Sends a message. Returns `None` if the link has no credit.
    pub fn send(&mut self, id: LinkId, bytes: Vec<u8>) -> Option<Delivery> {
        let (session, LinkStage::Attached) = self.link_mut(id)? else { return None };
        let link = session.links.get_mut(&id.handle)?;
        link.credit = link.credit.checked_sub(1)?;
        link.delivery_count = link.delivery_count.wrapping_add(1);
        let settled = link.sends_settled;
        let delivery_id = session.next_delivery_id;
        session.next_delivery_id = delivery_id.wrapping_add(1);
        if !settled {
            session.unsettled_out.insert(delivery_id, (id.handle, id.serial));
        }
        let tag = delivery_id.to_be_bytes().to_vec();
        session.outgoing.push_back(Outgoing {
            handle: id.handle,
            serial: id.serial,
            delivery_id,
            settled,
            tag,
            bytes,
            at: 0,
        });
        self.pump();
        Some(Delivery { link: id, id: delivery_id })
    }

    /// Returns whether the peer waits for its credit to be used up.
    #[must_use]
    pub fn is_draining(&self, id: LinkId) -> bool {
        self.link(id).is_some_and(|(_, link)| link.drain && link.credit > 0)
    }

    /// Reports to the peer that no messages are available for the remaining credit.
    pub fn drained(&mut self, id: LinkId) {
        self.flush();
        let Some((session, LinkStage::Attached)) = self.link_mut(id) else { return };
        let Some(link) = session.links.get_mut(&id.handle).filter(|link| link.drain) else { return };
        link.delivery_count = link.delivery_count.wrapping_add(link.credit);
        link.credit = 0;
        let Some(link) = session.links.get(&id.handle) else { return };
        let flow = session.link_flow(id.handle, link);
        if let Some(link) = session.links.get_mut(&id.handle) {
            link.drain = false;
        }
        self.write(id.channel, &Performative::Flow(flow));
    }

    /// Answers a message of the peer with its final state.
    pub fn settle(&mut self, delivery: Delivery, state: DeliveryState) {
        let Some(session) = self.sessions.get_mut(&delivery.link.channel) else { return };
        let is_open = session.unsettled_in.get(&delivery.id).is_some_and(|(_, serial)| *serial == delivery.link.serial);
        if is_open {
            session.unsettled_in.remove(&delivery.id);
            session.states.push((Role::Receiver, delivery.id, state));
        }
    }

    /// Settles a message to the peer after its outcome was carried out.
    pub fn confirm(&mut self, delivery: Delivery, state: DeliveryState) {
        let Some(session) = self.sessions.get_mut(&delivery.link.channel) else { return };
        let is_open =
            session.unsettled_out.get(&delivery.id).is_some_and(|(_, serial)| *serial == delivery.link.serial);
        if is_open {
            session.unsettled_out.remove(&delivery.id);
            session.states.push((Role::Sender, delivery.id, state));
        }
    }

    /// Frames pending performatives as far as they fit.
    pub(super) fn flush(&mut self) {
        let mut frames = Vec::new();
        for session in self.sessions.values_mut().filter(|session| !session.states.is_empty()) {
            frames.extend(session.take_states().into_iter().map(|frame| (session.channel, frame)));
        }
        for (channel, frame) in frames {
            self.write(channel, &frame);
        }
        self.pump();
    }

    fn pump(&mut self) {
        let high = self.settings.limits.output_bytes_high;
        let (frame_max, out) = (self.peer_frame_max, &mut self.out);
        for session in self.sessions.values_mut() {
            while out.len() < high
                && session.next_transfer(frame_max, |channel, transfer, content| {
                    Frame::write(out, FrameType::Amqp, channel, |out| {
                        Performative::Transfer(transfer).write(out);
                        out.extend_from_slice(content);
                    });
                })
            {}
        }
    }
}
