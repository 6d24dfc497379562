//! One side of a connection: the server's, or with [`Endpoint::client`] the client's.
//!
//! [`Endpoint::receive`] takes bytes and leaves [`Event`]s; calls answer them and leave bytes in [`Endpoint::output`]. An event
//! that requires an answer names the call for it. Channels and handles of a server have the numbers of the peer's.

mod client;
mod commands;
mod incoming;
mod link;
mod session;

use std::collections::{BTreeMap, VecDeque};

use crate::error::{AmqpError, condition};
use crate::frame::{Frame, FrameType, HEADER_BYTES, MIN_MAX_FRAME_SIZE, Protocol};
use crate::limits::Limits;
use crate::performative::{Attach, Open, Performative};
use crate::sasl::{SaslCode, SaslFrame};
use crate::state::DeliveryState;
use crate::value::Value;
pub use client::{ClientLogin, ClientSettings, LinkRequest};
use session::Session;

/// A link of a connection. Ids are never used again.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LinkId {
    channel: u16,
    handle: u32,
    serial: u64,
}

/// A delivery of a link, in either direction.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Delivery {
    /// The link.
    pub link: LinkId,
    /// Number in the session.
    pub id: u32,
}

/// Identity of an authenticated client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Identity {
    /// The client gave no identity.
    Anonymous,
    /// The client's name.
    Named(String),
}

/// Events of a connection.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Event {
    /// The client chose a mechanism. Answer with [`Endpoint::authenticated`] or [`Endpoint::not_authenticated`].
    Sasl {
        /// The mechanism, one of those offered.
        mechanism: String,
        /// Initial response of the client.
        response: Vec<u8>,
    },
    /// The connection is open.
    Opened(Box<Open>),
    /// The peer attaches a link. Answer with [`Endpoint::accept`] or [`Endpoint::refuse`].
    Attach(LinkId, Box<Attach>),
    /// The server answered [`Endpoint::attach`].
    Attached(LinkId, Box<Attach>),
    /// A message is complete. Answer with [`Endpoint::settle`] unless it is settled.
    Message(Message),
    /// The peer reports the outcome of a delivery from this side.
    Outcome {
        /// The delivery.
        delivery: Delivery,
        /// The outcome; none if the peer settled without one.
        state: Option<DeliveryState>,
        /// True if the peer has settled; otherwise answer with [`Endpoint::confirm`].
        settled: bool,
    },
    /// Credit of a link to the peer has changed, or the peer used up credit of a link from it without a message.
    Credit(LinkId),
    /// A link ended, perhaps with the peer's error; its deliveries are forgotten.
    Detached(LinkId, Option<AmqpError>),
    /// The peer closed the connection, or violated the protocol and received the error. All links have ended.
    Closed(Option<AmqpError>),
}

/// A message that arrived.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message {
    /// The delivery.
    pub delivery: Delivery,
    /// True if the sender expects no outcome.
    pub settled: bool,
    /// State at the sender: a transaction.
    pub state: Option<DeliveryState>,
    /// Format; 0 is the standard's.
    pub format: u32,
    /// All sections of the message.
    pub bytes: Vec<u8>,
}

/// Properties that this side announces, and its options.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of the container.
    pub container_id: String,
    /// SASL mechanisms, the best first.
    pub mechanisms: Vec<String>,
    /// True if a client may omit SASL and be anonymous.
    pub sasl_optional: bool,
    /// Extensions offered.
    pub capabilities: Vec<String>,
    /// Facts about the server.
    pub properties: Option<Value>,
    /// Bounds.
    pub limits: Limits,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Stage {
    /// A protocol header is expected.
    Header,
    /// SASL: the choice of a mechanism is expected.
    Init,
    /// SASL: a response to an empty challenge is expected.
    Response(String),
    /// SASL: the user of this crate decides.
    Deciding,
    /// The SASL exchange is complete; the AMQP protocol header follows.
    SecondHeader,
    /// Client: the header of the SASL layer is expected.
    SaslHeader,
    /// Client: the offered mechanisms are expected.
    Mechanisms,
    /// Client: the outcome of the login is expected.
    Outcome,
    /// Client: the header of AMQP is expected.
    AmqpHeader,
    /// An open frame is expected.
    Open,
    /// Any frame may arrive.
    Running,
    /// We closed; only the peer's close matters.
    Closing,
    /// The connection is closed; no frame may arrive.
    Closed,
}

/// One side of a connection.
#[derive(Debug)]
pub struct Endpoint {
    settings: Settings,
    /// State of a client; `None` on the server side.
    initiator: Option<client::Initiator>,
    stage: Stage,
    sessions: BTreeMap<u16, Session>,
    out: Vec<u8>,
    events: VecDeque<Event>,
    /// Largest frame that the peer takes.
    peer_frame_max: usize,
    peer_channel_max: u16,
    open_sent: bool,
    next_serial: u64,
    /// Bytes of unfinished messages of all links.
    assembling: u64,
    heard: bool,
    heard_ms: Option<u64>,
    spoke_ms: Option<u64>,
    /// Bytes written before the last tick.
    spoken: u64,
    written: u64,
    peer_idle_ms: Option<u64>,
    /// True if an error of the peer ended the connection.
    peer_failed: bool,
}

impl Endpoint {
    /// Creates the server's side of a connection before its first byte.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Endpoint {
            settings,
            initiator: None,
            stage: Stage::Header,
            sessions: BTreeMap::new(),
            out: Vec::new(),
            events: VecDeque::new(),
            peer_frame_max: usize::try_from(MIN_MAX_FRAME_SIZE).unwrap_or(usize::MAX),
            peer_channel_max: 0,
            open_sent: false,
            next_serial: 1,
            assembling: 0,
            heard: false,
            heard_ms: None,
            spoke_ms: None,
            spoken: 0,
            written: 0,
            peer_idle_ms: None,
            peer_failed: false,
        }
    }

    /// Takes one header or frame from the beginning of `input`. Returns the bytes taken; 0 means that more are needed. Bytes after
    /// an error are taken and dropped.
    pub fn receive(&mut self, input: &[u8]) -> usize {
        if input.is_empty() {
            return 0;
        }
        self.heard = true;
        match self.stage {
            Stage::Header | Stage::SecondHeader => self.receive_header(input),
            Stage::SaslHeader | Stage::AmqpHeader => self.receive_server_header(input),
            Stage::Closed => input.len(),
            // The decision comes first; the bytes are kept until then.
            Stage::Deciding => 0,
            _ => self.receive_frame(input),
        }
    }

    fn receive_header(&mut self, input: &[u8]) -> usize {
        let Some((header, _)) = input.split_first_chunk::<HEADER_BYTES>() else {
            // Enough to see that it is another protocol.
            if !input.starts_with(&b"AMQP"[..input.len().min(4)]) {
                self.refuse_protocol();
                return input.len();
            }
            return 0;
        };
        match (Protocol::of(header), &self.stage) {
            (Some(Protocol::Sasl), Stage::Header) => {
                self.out.extend_from_slice(header);
                let mechanisms = SaslFrame::Mechanisms(self.settings.mechanisms.clone());
                Frame::write(&mut self.out, FrameType::Sasl, 0, |out| mechanisms.write(out));
                self.stage = Stage::Init;
            }
            (Some(Protocol::Amqp), Stage::SecondHeader) => {
                self.out.extend_from_slice(header);
                self.stage = Stage::Open;
            }
            (Some(Protocol::Amqp), _) if self.settings.sasl_optional => {
                self.out.extend_from_slice(header);
                self.stage = Stage::Open;
            }
            _ => {
                self.refuse_protocol();
                return input.len();
            }
        }
        HEADER_BYTES
    }

    /// Answers with the header of the supported protocol, and ends.
    fn refuse_protocol(&mut self) {
        let spoken = if self.stage == Stage::SecondHeader { Protocol::Amqp } else { Protocol::Sasl };
        self.out.extend_from_slice(&spoken.header());
        self.stage = Stage::Closed;
        self.events.push_back(Event::Closed(Some(AmqpError::new(
            condition::NOT_IMPLEMENTED,
            "the client does not speak AMQP 1.0, or leaves out the SASL layer",
        ))));
    }

    fn receive_frame(&mut self, input: &[u8]) -> usize {
        let (frame, size) = match Frame::split(input, self.settings.limits.frame_bytes_max) {
            Ok(Some(found)) => found,
            Ok(None) => return 0,
            Err(error) => {
                self.fail(error);
                return input.len();
            }
        };
        let is_server_sasl = matches!(self.stage, Stage::Mechanisms | Stage::Outcome);
        let is_sasl = is_server_sasl || matches!(self.stage, Stage::Init | Stage::Response(_));
        let done = match (frame.kind, is_sasl) {
            (FrameType::Sasl, true) if is_server_sasl => self.receive_server_sasl(frame.body),
            (FrameType::Sasl, true) => self.receive_sasl(frame.body),
            (FrameType::Amqp, false) => self.receive_performative(frame.channel, frame.body),
            _ => Err(AmqpError::new(condition::FRAMING, "a frame of the other layer, of SASL or of AMQP")),
        };
        if let Err(error) = done {
            self.fail(error);
        }
        size
    }

    fn receive_sasl(&mut self, body: &[u8]) -> Result<(), AmqpError> {
        let (mechanism, response) = match (SaslFrame::read(body)?, std::mem::replace(&mut self.stage, Stage::Deciding))
        {
            (SaslFrame::Init { mechanism, response }, Stage::Init) => (mechanism, response),
            (SaslFrame::Response(response), Stage::Response(mechanism)) => (mechanism, Some(response)),
            _ => return Err(AmqpError::new(condition::ILLEGAL_STATE, "a SASL frame out of turn")),
        };
        if !self.settings.mechanisms.contains(&mechanism) {
            self.not_authenticated(SaslCode::Auth);
            return Ok(());
        }
        match response {
            // Anonymous clients have no response to send; others are challenged once.
            None if mechanism != "ANONYMOUS" => {
                let challenge = SaslFrame::Challenge(Vec::new());
                Frame::write(&mut self.out, FrameType::Sasl, 0, |out| challenge.write(out));
                self.stage = Stage::Response(mechanism);
            }
            response => self.events.push_back(Event::Sasl { mechanism, response: response.unwrap_or_default() }),
        }
        Ok(())
    }

    /// Confirms the client's identity.
    pub fn authenticated(&mut self) {
        if self.stage == Stage::Deciding {
            let outcome = SaslFrame::outcome(SaslCode::Ok);
            Frame::write(&mut self.out, FrameType::Sasl, 0, |out| outcome.write(out));
            self.stage = Stage::SecondHeader;
        }
    }

    /// Refuses the login: the credentials are wrong or cannot be checked.
    pub fn not_authenticated(&mut self, code: SaslCode) {
        if self.stage == Stage::Deciding {
            let outcome = SaslFrame::outcome(code);
            Frame::write(&mut self.out, FrameType::Sasl, 0, |out| outcome.write(out));
            self.stage = Stage::Closed;
            let error = AmqpError::new(condition::UNAUTHORIZED, "the client did not authenticate");
            self.events.push_back(Event::Closed(Some(error)));
        }
    }

    /// Returns the next event.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the bytes to send. Call [`Self::written`] with the number of bytes that were sent.
    pub fn output(&mut self) -> &[u8] {
        self.flush();
        &self.out
    }

    /// Removes bytes from the beginning of the output.
    pub fn written(&mut self, count: usize) {
        self.out.drain(..count);
        self.written = self.written.wrapping_add(count as u64);
        if self.out.is_empty() && self.out.capacity() > 4 * self.settings.limits.output_bytes_high {
            self.out = Vec::new();
        }
    }

    /// Returns whether both sides have closed, or the peer cannot be reached: write the output and close the socket.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.stage == Stage::Closed
    }

    /// Returns whether this side has closed and waits for the peer.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.stage == Stage::Closing
    }

    /// Returns whether the connection ended because the peer violated the protocol, was silent for too long, or closed with an error.
    #[must_use]
    pub fn peer_failed(&self) -> bool {
        self.peer_failed
    }

    /// Returns whether the peer's open frame has arrived.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.stage == Stage::Running
    }

    /// Bytes of messages that are not complete.
    #[must_use]
    pub fn assembling(&self) -> u64 {
        self.assembling
    }

    /// Advances the clock: sends a heartbeat, or ends a connection that sends none. Returns when to call again, in milliseconds of
    /// the same clock.
    pub fn tick(&mut self, now_ms: u64) -> u64 {
        if std::mem::take(&mut self.heard) || self.heard_ms.is_none() {
            self.heard_ms = Some(now_ms);
        }
        let silent_ms = now_ms.saturating_sub(self.heard_ms.unwrap_or(now_ms));
        let idle_ms_max = self.settings.limits.idle_ms_max;
        if silent_ms >= idle_ms_max && self.stage == Stage::Running {
            let what = format!("nothing was heard for {silent_ms} ms, at most {idle_ms_max} are allowed");
            self.fail(AmqpError::new(condition::RESOURCE_LIMIT, what));
        }
        let mut next_ms = idle_ms_max.saturating_sub(silent_ms).max(1);
        if let Some(peer_ms) = self.peer_idle_ms {
            if self.written != self.spoken || !self.out.is_empty() || self.spoke_ms.is_none() {
                self.spoken = self.written;
                self.spoke_ms = Some(now_ms);
            }
            let every_ms = (peer_ms / 2).max(1);
            let since_ms = now_ms.saturating_sub(self.spoke_ms.unwrap_or(now_ms));
            if since_ms >= every_ms && self.stage == Stage::Running {
                Frame::write(&mut self.out, FrameType::Amqp, 0, |_| {});
                self.spoke_ms = Some(now_ms);
            }
            next_ms = next_ms.min(every_ms.saturating_sub(since_ms).max(1)).min(every_ms);
        }
        now_ms + next_ms
    }

    fn write(&mut self, channel: u16, performative: &Performative) {
        Frame::write(&mut self.out, FrameType::Amqp, channel, |out| performative.write(out));
    }

    fn send_open(&mut self) {
        if self.open_sent {
            return;
        }
        self.open_sent = true;
        let limits = &self.settings.limits;
        let open = Open {
            container_id: self.settings.container_id.clone(),
            hostname: self.initiator.as_ref().and_then(|initiator| initiator.hostname.clone()),
            max_frame_size: Some(limits.frame_bytes_max),
            channel_max: Some(limits.channel_max),
            idle_time_out: Some(u32::try_from(limits.idle_ms_max / 2).unwrap_or(u32::MAX)),
            offered_capabilities: self.settings.capabilities.clone(),
            properties: self.settings.properties.clone(),
            ..Open::default()
        };
        self.write(0, &Performative::Open(Box::new(open)));
    }

    /// Ends the connection with an error of the peer.
    fn fail(&mut self, error: AmqpError) {
        self.peer_failed |= !matches!(self.stage, Stage::Closing | Stage::Closed);
        self.close(error);
    }

    /// Ends the connection: with an error of this side, or because the server stops.
    pub fn close(&mut self, error: AmqpError) {
        match self.stage {
            Stage::Closing | Stage::Closed => {}
            Stage::Open | Stage::Running => {
                self.send_open();
                self.flush();
                self.write(0, &Performative::Close(Some(error.clone())));
                self.stage = Stage::Closing;
                self.end_all();
                self.events.push_back(Event::Closed(Some(error)));
            }
            _ => {
                self.stage = Stage::Closed;
                self.events.push_back(Event::Closed(Some(error)));
            }
        }
    }

    fn end_all(&mut self) {
        for session in std::mem::take(&mut self.sessions).into_values() {
            self.forget(session, None);
        }
    }

    /// Reports the links of a session that has ended.
    fn forget(&mut self, session: Session, error: Option<&AmqpError>) {
        for (handle, link) in session.links {
            self.assembling -= link.assembly.as_ref().map_or(0, |assembly| assembly.bytes.len() as u64);
            if link.is_known() {
                let id = LinkId { channel: session.channel, handle, serial: link.serial };
                self.events.push_back(Event::Detached(id, error.cloned()));
            }
        }
    }
}
