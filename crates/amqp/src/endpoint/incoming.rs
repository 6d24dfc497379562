//! Handling of the peer's performatives.

use super::link::{Assembly, Link, LinkStage};
use super::session::Session;
use super::{Delivery, Endpoint, Event, LinkId, Message, Stage};
use crate::error::{AmqpError, condition};
use crate::frame::MIN_MAX_FRAME_SIZE;
use crate::performative::{Attach, Begin, Detach, Disposition, Flow, Open, Performative, Role, Transfer};
use crate::reader::Reader;

fn broken(condition: &str, what: impl Into<String>) -> AmqpError {
    AmqpError::new(condition, what)
}

impl Endpoint {
    /// Handles the body of a frame. An error ends the connection.
    pub(super) fn receive_performative(&mut self, channel: u16, body: &[u8]) -> Result<(), AmqpError> {
        if body.is_empty() {
            return Ok(());
        }
        let mut reader = Reader::new(body);
        let performative = Performative::read(&mut reader)?;
        match (self.stage.clone(), performative) {
            (Stage::Closing, Performative::Close(_)) => {
                self.stage = Stage::Closed;
                Ok(())
            }
            (Stage::Closing, _) => Ok(()),
            (Stage::Open, Performative::Open(open)) => self.opened(open),
            (Stage::Open, Performative::Close(_)) | (_, Performative::Open(_)) => {
                Err(broken(condition::ILLEGAL_STATE, "open comes once, before anything else"))
            }
            (Stage::Open, _) => Err(broken(condition::ILLEGAL_STATE, "expected open as the first frame")),
            (_, Performative::Close(error)) => {
                self.flush();
                self.write(0, &Performative::Close(None));
                self.stage = Stage::Closed;
                self.peer_failed = error.is_some();
                self.end_all();
                self.events.push_back(Event::Closed(error));
                Ok(())
            }
            (_, Performative::Begin(begin)) if self.initiator.is_some() => self.begin_answered(channel, &begin),
            (_, Performative::Begin(begin)) => self.begun(channel, &begin),
            (_, other) => self.in_session(channel, other, reader.rest()),
        }
    }

    fn opened(&mut self, open: Box<Open>) -> Result<(), AmqpError> {
        let frame_max = open.max_frame_size.unwrap_or(u32::MAX);
        if frame_max < MIN_MAX_FRAME_SIZE {
            let what = format!("max-frame-size is {frame_max}, at least {MIN_MAX_FRAME_SIZE} is allowed");
            return Err(broken(condition::INVALID_FIELD, what));
        }
        self.send_open();
        // Larger frames would only make the output larger.
        self.peer_frame_max = usize::try_from(frame_max.min(self.settings.limits.frame_bytes_max)).unwrap_or(512);
        self.peer_channel_max = open.channel_max.unwrap_or(u16::MAX);
        self.peer_idle_ms = open.idle_time_out.filter(|ms| *ms > 0).map(u64::from);
        self.stage = Stage::Running;
        self.events.push_back(Event::Opened(open));
        Ok(())
    }

    fn begun(&mut self, channel: u16, begin: &Begin) -> Result<(), AmqpError> {
        let max = self.settings.limits.channel_max;
        if channel > max {
            return Err(broken(condition::FRAMING, format!("channel {channel}, at most {max} was announced")));
        }
        if begin.remote_channel.is_some() {
            return Err(broken(condition::INVALID_FIELD, "a begin that answers one that was never sent"));
        }
        if channel > self.peer_channel_max {
            let what = "the answer would need a channel above the client's own channel-max";
            return Err(broken(condition::NOT_ALLOWED, what));
        }
        if self.sessions.contains_key(&channel) {
            return Err(broken(condition::ILLEGAL_STATE, format!("channel {channel} has a session")));
        }
        let limits = self.settings.limits;
        let session = Session::new(channel, begin, limits.incoming_window);
        let answer = Begin {
            remote_channel: Some(channel),
            next_outgoing_id: session.next_outgoing_id,
            incoming_window: session.incoming_window,
            outgoing_window: u32::MAX >> 1,
            handle_max: Some(limits.handle_max),
        };
        self.write(channel, &Performative::Begin(answer));
        self.sessions.insert(channel, session);
        Ok(())
    }

    fn in_session(&mut self, from: u16, mut performative: Performative, content: &[u8]) -> Result<(), AmqpError> {
        let channel = self.own_channel(from);
        let session = channel.and_then(|channel| Some((channel, self.sessions.get_mut(&channel)?)));
        let Some((channel, session)) = session else {
            let what = format!("channel {from} has no session");
            return Err(broken(condition::NOT_ALLOWED, what));
        };
        if let Performative::End(error) = performative {
            let was_ending = session.is_ending;
            self.flush();
            self.forget_channel(from);
            if let Some(session) = self.sessions.remove(&channel) {
                self.forget(session, error.as_ref());
            }
            if !was_ending {
                self.write(channel, &Performative::End(None));
            }
            return Ok(());
        }
        if session.is_ending {
            return Ok(());
        }
        if self.initiator.is_some() {
            let handle = match &mut performative {
                Performative::Flow(flow) => flow.handle.as_mut(),
                Performative::Transfer(transfer) => Some(&mut transfer.handle),
                Performative::Detach(detach) => Some(&mut detach.handle),
                _ => None,
            };
            if let Some(handle) = handle {
                let Some(own) = session.remote_handles.get(handle) else {
                    let what = format!("a frame for handle {handle}, which has no link");
                    self.end_session(channel, broken(condition::UNATTACHED_HANDLE, what));
                    return Ok(());
                };
                *handle = *own;
            }
        }
        let done = match performative {
            Performative::Attach(attach) if self.initiator.is_some() => self.attach_answered(channel, attach),
            Performative::Attach(attach) => self.attached(channel, attach),
            Performative::Flow(flow) => self.flowed(channel, &flow),
            Performative::Transfer(transfer) => self.transferred(channel, transfer, content),
            Performative::Disposition(disposition) => {
                self.disposed(channel, disposition);
                Ok(())
            }
            Performative::Detach(detach) => self.detached(channel, &detach),
            _ => Ok(()),
        };
        if let Err(error) = done {
            self.end_session(channel, error);
        }
        Ok(())
    }

    /// Ends a session with an error.
    fn end_session(&mut self, channel: u16, error: AmqpError) {
        self.flush();
        let Some(session) = self.sessions.get_mut(&channel) else { return };
        let incoming_window = session.incoming_window;
        let ended = std::mem::replace(session, Session::new(channel, &Begin::default(), incoming_window));
        session.is_ending = true;
        self.write(channel, &Performative::End(Some(error.clone())));
        self.forget(ended, Some(&error));
    }

    fn attached(&mut self, channel: u16, attach: Box<Attach>) -> Result<(), AmqpError> {
        let limits = self.settings.limits;
        let serial = self.next_serial;
        let Some(session) = self.sessions.get_mut(&channel) else { return Ok(()) };
        let handle = attach.handle;
        if handle > limits.handle_max || handle > session.peer_handle_max {
            let max = limits.handle_max.min(session.peer_handle_max);
            let what = format!("handle {handle}, at most {max} is allowed by both sides");
            return Err(broken(condition::RESOURCE_LIMIT, what));
        }
        if session.links.contains_key(&handle) {
            return Err(broken(condition::HANDLE_IN_USE, format!("handle {handle} has a link")));
        }
        if attach.name.len() > limits.name_bytes_max {
            let what = format!("a link name of {} bytes, at most {}", attach.name.len(), limits.name_bytes_max);
            return Err(broken(condition::RESOURCE_LIMIT, what));
        }
        if attach.snd_settle_mode > 2 || attach.rcv_settle_mode > 1 {
            return Err(broken(condition::INVALID_FIELD, "a settle mode that the standard does not have"));
        }
        self.next_serial += 1;
        let role = attach.role.other();
        let link = Link {
            serial,
            name: attach.name.clone(),
            role,
            stage: LinkStage::Attaching,
            delivery_count: if role == Role::Receiver { attach.initial_delivery_count.unwrap_or(0) } else { 0 },
            credit: 0,
            drain: false,
            sends_settled: attach.snd_settle_mode == 1,
            max_message_size: u64::MAX,
            assembly: None,
        };
        session.links.insert(handle, link);
        self.events.push_back(Event::Attach(LinkId { channel, handle, serial }, attach));
        Ok(())
    }

    fn flowed(&mut self, channel: u16, flow: &Flow) -> Result<(), AmqpError> {
        let Some(session) = self.sessions.get_mut(&channel) else { return Ok(()) };
        // Before the peer has seen our begin it counts from our first id.
        let seen = flow.next_incoming_id.unwrap_or(0);
        session.peer_window = seen.wrapping_add(flow.incoming_window).wrapping_sub(session.next_outgoing_id);
        // More than half of all numbers is a window that is over-used: nothing until the next flow.
        if session.peer_window > flow.incoming_window {
            session.peer_window = 0;
        }
        let Some(handle) = flow.handle else {
            if flow.echo {
                let answer = Performative::Flow(session.flow());
                self.write(channel, &answer);
            }
            return Ok(());
        };
        let Some(link) = session.links.get_mut(&handle) else {
            return Err(broken(condition::UNATTACHED_HANDLE, format!("a flow for handle {handle}, which has no link")));
        };
        if link.stage == LinkStage::Detaching {
            return Ok(());
        }
        let id = LinkId { channel, handle, serial: link.serial };
        match link.role {
            Role::Sender => {
                let limit = flow.delivery_count.unwrap_or(0).wrapping_add(flow.link_credit.unwrap_or(0));
                let credit = limit.wrapping_sub(link.delivery_count);
                // The peer reduced the credit below the messages on their way.
                link.credit = if credit > u32::MAX / 2 { 0 } else { credit };
                link.drain = flow.drain;
                self.events.push_back(Event::Credit(id));
            }
            Role::Receiver => {
                if let Some(count) = flow.delivery_count {
                    let used = count.wrapping_sub(link.delivery_count);
                    link.delivery_count = count;
                    link.credit = link.credit.saturating_sub(used);
                    if used > 0 {
                        self.events.push_back(Event::Credit(id));
                    }
                }
            }
        }
        if flow.echo
            && let Some(session) = self.sessions.get(&channel)
            && let Some(link) = session.links.get(&handle)
        {
            let answer = Performative::Flow(session.link_flow(handle, link));
            self.write(channel, &answer);
        }
        Ok(())
    }

    fn transferred(&mut self, channel: u16, transfer: Transfer, content: &[u8]) -> Result<(), AmqpError> {
        let limits = self.settings.limits;
        let Some(session) = self.sessions.get_mut(&channel) else { return Ok(()) };
        if session.incoming_window == 0 {
            return Err(broken(condition::WINDOW_VIOLATION, "a transfer without room in the session's window"));
        }
        session.incoming_window -= 1;
        session.next_incoming_id = session.next_incoming_id.wrapping_add(1);
        let refill = session.incoming_window <= limits.incoming_window / 2;
        if refill {
            session.incoming_window = limits.incoming_window;
        }
        let refilled = refill.then(|| Performative::Flow(session.flow()));
        let handle = transfer.handle;
        let Some(link) = session.links.get_mut(&handle) else {
            let what = format!("a transfer for handle {handle}, which has no link");
            return Err(broken(condition::UNATTACHED_HANDLE, what));
        };
        let id = LinkId { channel, handle, serial: link.serial };
        let is_aborted = transfer.aborted && link.stage != LinkStage::Detaching;
        let outcome = match link.stage {
            LinkStage::Detaching => Ok(None),
            _ => take_part(link, transfer, content, &mut self.assembling, limits.assembly_bytes_max),
        };
        if let Some(refilled) = refilled {
            self.write(channel, &refilled);
        }
        match outcome {
            Ok(Some(assembly)) => self.complete(id, assembly),
            // The message used credit, and no other event makes this side renew it.
            Ok(None) if is_aborted => self.events.push_back(Event::Credit(id)),
            Ok(None) => {}
            Err(error) => self.detach(id, Some(error)),
        }
        Ok(())
    }

    fn complete(&mut self, link: LinkId, assembly: Assembly) {
        self.assembling -= assembly.bytes.len() as u64;
        let Some(session) = self.sessions.get_mut(&link.channel) else { return };
        if !assembly.settled {
            session.unsettled_in.insert(assembly.delivery_id, (link.handle, link.serial));
        }
        self.events.push_back(Event::Message(Message {
            delivery: Delivery { link, id: assembly.delivery_id },
            settled: assembly.settled,
            state: assembly.state,
            format: assembly.format,
            bytes: assembly.bytes,
        }));
    }

    fn disposed(&mut self, channel: u16, disposition: Disposition) {
        let Some(session) = self.sessions.get_mut(&channel) else { return };
        let last = disposition.last.unwrap_or(disposition.first);
        if disposition.role == Role::Sender {
            if disposition.settled {
                for (id, _) in Session::in_range(&session.unsettled_in, disposition.first, last) {
                    session.unsettled_in.remove(&id);
                }
            }
            return;
        }
        let found = Session::in_range(&session.unsettled_out, disposition.first, last);
        for (id, (handle, serial)) in found {
            if disposition.settled {
                session.unsettled_out.remove(&id);
            }
            let has_outcome = disposition.state.as_ref().is_some_and(|state| state.is_outcome());
            if disposition.settled || has_outcome {
                let delivery = Delivery { link: LinkId { channel, handle, serial }, id };
                let state = disposition.state.clone();
                self.events.push_back(Event::Outcome { delivery, state, settled: disposition.settled });
            }
        }
    }

    fn detached(&mut self, channel: u16, detach: &Detach) -> Result<(), AmqpError> {
        let handle = detach.handle;
        self.flush();
        let Some(session) = self.sessions.get_mut(&channel) else { return Ok(()) };
        let Some(link) = session.links.remove(&handle) else {
            return Err(broken(
                condition::UNATTACHED_HANDLE,
                format!("a detach of handle {handle}, which has no link"),
            ));
        };
        session.forget_link(link.serial);
        session.remote_handles.retain(|_, own| *own != handle);
        self.assembling -= link.assembly.as_ref().map_or(0, |assembly| assembly.bytes.len() as u64);
        if link.is_known() {
            let id = LinkId { channel, handle, serial: link.serial };
            self.events.push_back(Event::Detached(id, detach.error.clone()));
            let answer = Detach { handle, closed: detach.closed, error: None };
            self.write(channel, &Performative::Detach(answer));
        }
        Ok(())
    }
}

/// Adds one frame to the message of a link. The message once it is complete; an error ends the link.
fn take_part(
    link: &mut Link,
    transfer: Transfer,
    content: &[u8],
    assembling: &mut u64,
    assembling_max: u64,
) -> Result<Option<Assembly>, AmqpError> {
    if link.role != Role::Receiver {
        return Err(broken(condition::NOT_ALLOWED, "a transfer on a link whose sender is this side"));
    }
    if transfer.resume {
        return Err(broken(condition::NOT_IMPLEMENTED, "deliveries of earlier links are not resumed; send them again"));
    }
    let mut assembly = match link.assembly.take() {
        Some(assembly) => assembly,
        None => {
            let Some(delivery_id) = transfer.delivery_id else {
                return Err(broken(condition::INVALID_FIELD, "the first transfer of a delivery has no delivery-id"));
            };
            if link.credit == 0 {
                return Err(broken(condition::TRANSFER_LIMIT, "a message without credit for it"));
            }
            link.credit -= 1;
            link.delivery_count = link.delivery_count.wrapping_add(1);
            let format = transfer.message_format.unwrap_or(0);
            Assembly { delivery_id, settled: false, state: None, format, bytes: Vec::new() }
        }
    };
    let length = (assembly.bytes.len() + content.len()) as u64;
    let abandoned = assembly.bytes.len() as u64;
    if transfer.aborted {
        *assembling -= abandoned;
        return Ok(None);
    }
    let too_large = if length > link.max_message_size {
        let what =
            format!("the message has more than {} bytes, which is the limit of this link", link.max_message_size);
        Some(broken(condition::MESSAGE_SIZE, what))
    } else if *assembling + content.len() as u64 > assembling_max {
        let what = format!("messages that have not ended have more than {assembling_max} bytes on this connection");
        Some(broken(condition::RESOURCE_LIMIT, what))
    } else {
        None
    };
    if let Some(error) = too_large {
        *assembling -= abandoned;
        return Err(error);
    }
    *assembling += content.len() as u64;
    assembly.settled |= transfer.settled.unwrap_or(false);
    if transfer.state.is_some() {
        assembly.state = transfer.state;
    }
    assembly.bytes.extend_from_slice(content);
    if transfer.more {
        link.assembly = Some(assembly);
        return Ok(None);
    }
    Ok(Some(assembly))
}
