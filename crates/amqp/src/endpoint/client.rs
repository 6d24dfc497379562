//! The client's side: opens the connection, begins its session and attaches links.
//!
//! Channels and handles of this crate's user are those of this side. Those of the peer, which differ, are translated when a frame arrives.

use std::collections::HashMap;

use super::link::{Link, LinkStage};
use super::session::Session;
use super::{Endpoint, Event, LinkId, Settings, Stage};
use crate::error::{AmqpError, condition};
use crate::frame::{Frame, FrameType, HEADER_BYTES, Protocol};
use crate::limits::Limits;
use crate::performative::{Attach, Begin, Performative, Role};
use crate::sasl::SaslFrame;
use crate::terminus::{LinkTarget, Source};

/// A way to authenticate.
#[derive(Clone, Eq, PartialEq)]
pub struct ClientLogin {
    /// SASL mechanism.
    pub mechanism: String,
    /// Initial response of the mechanism.
    pub response: Vec<u8>,
}

impl std::fmt::Debug for ClientLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The response is a secret.
        f.debug_struct("ClientLogin").field("mechanism", &self.mechanism).finish_non_exhaustive()
    }
}

/// Properties that a client announces when it opens a connection.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Name of the container.
    pub container_id: String,
    /// Host that the client means.
    pub hostname: Option<String>,
    /// Ways to authenticate, the best first; none leaves out the SASL layer.
    pub logins: Vec<ClientLogin>,
    /// Bounds.
    pub limits: Limits,
}

/// State that only the client side of an endpoint has.
#[derive(Debug)]
pub(super) struct Initiator {
    pub(super) hostname: Option<String>,
    logins: Vec<ClientLogin>,
    /// Channels of this side by those of the peer.
    channels: HashMap<u16, u16>,
}

/// A link to attach.
#[derive(Clone, Debug)]
pub struct LinkRequest {
    /// Name, which no other link between the two containers has.
    pub name: String,
    /// Role of this side.
    pub role: Role,
    /// Source of messages.
    pub source: Source,
    /// Target of messages.
    pub target: LinkTarget,
    /// Largest message that this side takes, in bytes.
    pub max_message_size: u64,
}

impl Endpoint {
    /// Creates the client's side of a connection; its first bytes are in the output at once.
    #[must_use]
    pub fn client(settings: ClientSettings) -> Self {
        let ClientSettings { container_id, hostname, logins, limits } = settings;
        let mut endpoint = Endpoint::new(Settings {
            container_id,
            mechanisms: Vec::new(),
            sasl_optional: false,
            capabilities: Vec::new(),
            properties: None,
            limits,
        });
        let has_sasl = !logins.is_empty();
        endpoint.initiator = Some(Initiator { hostname, logins, channels: HashMap::new() });
        if has_sasl {
            endpoint.out.extend_from_slice(&Protocol::Sasl.header());
            endpoint.stage = Stage::SaslHeader;
        } else {
            endpoint.start_amqp();
        }
        endpoint
    }

    fn start_amqp(&mut self) {
        self.out.extend_from_slice(&Protocol::Amqp.header());
        self.send_open();
        self.stage = Stage::AmqpHeader;
    }

    /// Handles the protocol header of a server.
    pub(super) fn receive_server_header(&mut self, input: &[u8]) -> usize {
        let (expected, next, what) = match self.stage {
            Stage::SaslHeader => (Protocol::Sasl, Stage::Mechanisms, "with a SASL layer"),
            _ => (Protocol::Amqp, Stage::Open, "as it was requested"),
        };
        let header = expected.header();
        let known = input.len().min(HEADER_BYTES);
        if input[..known] != header[..known] {
            let what = format!("the server does not speak AMQP 1.0 {what}");
            self.fail(AmqpError::new(condition::NOT_IMPLEMENTED, what));
            return input.len();
        }
        if known < HEADER_BYTES {
            return 0;
        }
        self.stage = next;
        HEADER_BYTES
    }

    /// Handles a SASL frame of a server.
    pub(super) fn receive_server_sasl(&mut self, body: &[u8]) -> Result<(), AmqpError> {
        let unauthorized = |what: String| AmqpError::new(condition::UNAUTHORIZED, what);
        let out_of_turn = || AmqpError::new(condition::ILLEGAL_STATE, "a SASL frame out of turn");
        let answer = match (SaslFrame::read(body)?, &self.stage) {
            (SaslFrame::Mechanisms(offered), Stage::Mechanisms) => {
                let logins = self.initiator.as_ref().map_or(&[][..], |initiator| &initiator.logins);
                let Some(login) = logins.iter().find(|login| offered.contains(&login.mechanism)) else {
                    let own: Vec<&str> = logins.iter().map(|login| login.mechanism.as_str()).collect();
                    let (offered, own) = (offered.join(", "), own.join(", "));
                    return Err(unauthorized(format!("the server offers {offered} to log in, expected {own}")));
                };
                let response = Some(login.response.clone());
                self.stage = Stage::Outcome;
                SaslFrame::Init { mechanism: login.mechanism.clone(), response }
            }
            // Some servers challenge although they have everything.
            (SaslFrame::Challenge(challenge), Stage::Outcome) if challenge.is_empty() => {
                SaslFrame::Response(Vec::new())
            }
            (SaslFrame::Outcome(0), Stage::Outcome) => {
                self.start_amqp();
                return Ok(());
            }
            (SaslFrame::Outcome(code @ 1..=2), Stage::Outcome) => {
                return Err(unauthorized(format!("the server refuses the login (SASL outcome {code})")));
            }
            (SaslFrame::Outcome(code), Stage::Outcome) => {
                return Err(unauthorized(format!("the server cannot decide about the login (SASL outcome {code})")));
            }
            _ => return Err(out_of_turn()),
        };
        Frame::write(&mut self.out, FrameType::Sasl, 0, |out| answer.write(out));
        Ok(())
    }

    /// Begins a session and returns its channel; `None` if the connection has no channel left or has not begun.
    pub fn begin(&mut self) -> Option<u16> {
        self.initiator.as_ref()?;
        let limits = self.settings.limits;
        let is_usable = matches!(self.stage, Stage::Running);
        let channel = (0..=limits.channel_max.min(self.peer_channel_max)).find(|at| !self.sessions.contains_key(at));
        let channel = channel.filter(|_| is_usable)?;
        // Until the peer answers, its window is closed.
        let session = Session::new(channel, &Begin::default(), limits.incoming_window);
        let begin = Begin {
            remote_channel: None,
            next_outgoing_id: session.next_outgoing_id,
            incoming_window: session.incoming_window,
            outgoing_window: u32::MAX >> 1,
            handle_max: Some(limits.handle_max),
        };
        self.write(channel, &Performative::Begin(begin));
        self.sessions.insert(channel, session);
        Some(channel)
    }

    /// Handles the peer's answer to [`Self::begin`].
    pub(super) fn begin_answered(&mut self, from: u16, begin: &Begin) -> Result<(), AmqpError> {
        let not_allowed = |what: &str| Err(AmqpError::new(condition::NOT_ALLOWED, what));
        let Some(channel) = begin.remote_channel else {
            return not_allowed("a session that the server begins");
        };
        let known = self.initiator.as_ref().is_some_and(|initiator| {
            initiator.channels.contains_key(&from) || initiator.channels.values().any(|own| *own == channel)
        });
        let Some(session) = self.sessions.get_mut(&channel).filter(|_| !known) else {
            return not_allowed("an answer to a begin that was never sent");
        };
        session.next_incoming_id = begin.next_outgoing_id;
        session.peer_window = begin.incoming_window;
        session.peer_handle_max = begin.handle_max.unwrap_or(u32::MAX);
        if let Some(initiator) = &mut self.initiator {
            initiator.channels.insert(from, channel);
        }
        Ok(())
    }

    /// Returns the channel of this side for a channel of the peer.
    pub(super) fn own_channel(&self, from: u16) -> Option<u16> {
        match &self.initiator {
            None => Some(from),
            Some(initiator) => initiator.channels.get(&from).copied(),
        }
    }

    /// Forgets the channel of a session that the peer ended.
    pub(super) fn forget_channel(&mut self, from: u16) {
        if let Some(initiator) = &mut self.initiator {
            initiator.channels.remove(&from);
        }
    }

    /// Attaches a link. Returns `None` if the session does not exist or has no free handle. [`Event::Attached`] or [`Event::Detached`] follows.
    pub fn attach(&mut self, channel: u16, request: LinkRequest) -> Option<LinkId> {
        let limits = self.settings.limits;
        let session = self.sessions.get_mut(&channel).filter(|session| !session.is_ending)?;
        let max = limits.handle_max.min(session.peer_handle_max);
        let handle = (0..=max).find(|handle| !session.links.contains_key(handle))?;
        let serial = self.next_serial;
        self.next_serial += 1;
        let sends = request.role == Role::Sender;
        let link = Link {
            serial,
            name: request.name.clone(),
            role: request.role,
            stage: LinkStage::Attaching,
            delivery_count: 0,
            credit: 0,
            drain: false,
            sends_settled: false,
            max_message_size: request.max_message_size,
            assembly: None,
        };
        session.links.insert(handle, link);
        let attach = Attach {
            name: request.name,
            handle,
            role: request.role,
            // Each message has an outcome.
            snd_settle_mode: 0,
            rcv_settle_mode: 0,
            source: Some(Box::new(request.source)),
            target: Some(request.target),
            initial_delivery_count: sends.then_some(0),
            max_message_size: (!sends).then_some(request.max_message_size),
            offered_capabilities: Vec::new(),
            desired_capabilities: Vec::new(),
            properties: None,
        };
        self.write(channel, &Performative::Attach(Box::new(attach)));
        Some(LinkId { channel, handle, serial })
    }

    /// Handles the peer's answer to [`Self::attach`]. An answer without a terminus is a refusal, and a detach with the reason follows.
    pub(super) fn attach_answered(&mut self, channel: u16, attach: Box<Attach>) -> Result<(), AmqpError> {
        let handle_max = self.settings.limits.handle_max;
        let Some(session) = self.sessions.get_mut(&channel) else { return Ok(()) };
        if attach.handle > handle_max {
            let what = format!("handle {}, at most {handle_max} was announced", attach.handle);
            return Err(AmqpError::new(condition::RESOURCE_LIMIT, what));
        }
        if session.remote_handles.contains_key(&attach.handle) {
            return Err(AmqpError::new(condition::HANDLE_IN_USE, format!("handle {} has a link", attach.handle)));
        }
        let taken: Vec<u32> = session.remote_handles.values().copied().collect();
        let found = session.links.iter_mut().find(|(handle, link)| {
            link.name == attach.name && link.role == attach.role.other() && !taken.contains(handle)
        });
        let Some((&handle, link)) = found else {
            return Err(AmqpError::new(condition::NOT_ALLOWED, "a link that the server attaches"));
        };
        session.remote_handles.insert(attach.handle, handle);
        let is_refused = match link.role {
            Role::Receiver => attach.source.is_none(),
            Role::Sender => attach.target.is_none(),
        };
        if link.stage != LinkStage::Attaching || is_refused {
            return Ok(());
        }
        link.stage = LinkStage::Attached;
        if link.role == Role::Receiver {
            link.delivery_count = attach.initial_delivery_count.unwrap_or(0);
        }
        let id = LinkId { channel, handle, serial: link.serial };
        self.events.push_back(Event::Attached(id, attach));
        Ok(())
    }

    /// Closes the connection without an error. The peer answers, and [`Self::is_finished`] is then true.
    pub fn finish(&mut self) {
        if matches!(self.stage, Stage::Open | Stage::Running) {
            self.flush();
            self.write(0, &Performative::Close(None));
            self.stage = Stage::Closing;
        }
    }

    /// Counts the peer as heard. Call it while this side reads nothing, so that [`Self::tick`] does not take that for silence.
    pub fn is_not_reading(&mut self) {
        self.heard = true;
    }
}
