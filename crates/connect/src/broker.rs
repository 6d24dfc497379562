//! A client for the queues of another AMQP 1.0 broker: one connection with one session, in one task.
//!
//! ```text
//! socket ─▶ amqp::Endpoint::client ─▶ BrokerClient::next ─▶ BrokerEvent: a message, the outcome of one that was sent, credit
//!                                         ▲ receive, send, settle, grant
//! ```
//!
//! - **The client never settles automatically.** The code that processes a message settles it after the commit.
//! - **Cancel-safe.** Dropping the future of [`BrokerClient::next`] loses nothing, so it can be one branch of a `select`.
//! - **Bounded** by the limits of `quayline-amqp`. The link credit that the caller grants bounds the messages waiting here.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use quayline_amqp::{
    AmqpError, ClientLogin, ClientSettings, Delivery, DeliveryState, Endpoint, Event, Limits, LinkId, LinkRequest,
    LinkTarget, Role, Source, Target, condition,
};
use quayline_store::queue::Message;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

use crate::convert;
use crate::dial::{ClientTls, Place, Wire, reason};
use crate::get::now_ms;

/// Longest wait for a connection, its login, and a link.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// Longest wait for the broker's answer to a close.
const CLOSE_WAIT: Duration = Duration::from_secs(1);
/// Bytes of one read.
const READ_BYTES: usize = 64 << 10;
/// Milliseconds of silence after which a connection counts as broken. The peer is requested to show life twice as often.
const SILENCE_MS: u64 = 30_000;
/// Ports that brokers listen on by default, without and with TLS.
const PORTS: (u16, u16) = (5672, 5671);
/// Longest message that this side receives. Default 100 MiB, as for queues.
const MESSAGE_BYTES_MAX: u64 = 100 << 20;

/// Error of a connection to an AMQP broker.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BrokerError {
    /// The connection could not be established.
    #[error("{place} cannot be reached: {why}")]
    Unreachable {
        /// Host and port.
        place: String,
        /// Reason of the system or of TLS.
        why: String,
    },
    /// The connection ended.
    #[error("the connection ended")]
    Closed,
    /// The broker did not answer in time.
    #[error("no answer within {wait_ms} ms")]
    Late {
        /// The wait in milliseconds.
        wait_ms: u64,
    },
    /// The broker refuses the login.
    #[error("{0}")]
    Login(String),
    /// The broker ended a connection or link, or this side did because of received data.
    #[error("the broker says {condition}: {text}")]
    Refused {
        /// Condition of the standard.
        condition: String,
        /// The text; may be empty.
        text: String,
    },
    /// A message that the broker would refuse.
    #[error("the message has {bytes} bytes, and the broker takes {max}")]
    TooLong {
        /// Bytes of the encoded message.
        bytes: u64,
        /// The broker's `max-message-size`.
        max: u64,
    },
}

impl From<AmqpError> for BrokerError {
    fn from(error: AmqpError) -> Self {
        let AmqpError { condition, description: text } = error;
        match condition.as_str() {
            condition::UNAUTHORIZED => BrokerError::Login(text),
            _ => BrokerError::Refused { condition, text },
        }
    }
}

/// Address of a broker.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BrokerAddress {
    place: Place,
    is_encrypted: bool,
}

impl BrokerAddress {
    /// Reads `amqp://HOST:PORT` or, with TLS from the first byte, `amqps://HOST:PORT`; the port may be missing.
    ///
    /// # Errors
    /// A description of the syntax error.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (is_encrypted, place) = match text.split_once("://") {
            Some(("amqp", place)) => (false, place),
            Some(("amqps", place)) => (true, place),
            _ => return Err("it does not begin with amqp:// or amqps://".to_owned()),
        };
        let port = if is_encrypted { PORTS.1 } else { PORTS.0 };
        Ok(BrokerAddress { place: Place::parse(place, port)?, is_encrypted })
    }

    /// Returns true if the connection uses TLS.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }
}

impl std::fmt::Display for BrokerAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.place.fmt(f)
    }
}

/// Identity and credentials of the client.
#[derive(Clone, Default)]
pub struct BrokerLogin {
    /// Name of the container, for the broker's operator.
    pub container: String,
    /// User and password.
    pub user: Option<(String, String)>,
    /// Certificates, for a broker with TLS.
    pub tls: Option<ClientTls>,
}

impl BrokerLogin {
    /// Chooses the SASL mechanism: PLAIN with a user name, otherwise EXTERNAL with a certificate, otherwise ANONYMOUS. Source: RFC 4616;
    /// RFC 4422 appendix A; RFC 4505.
    fn logins(&self) -> Vec<ClientLogin> {
        let login = |mechanism: &str, response: Vec<u8>| ClientLogin { mechanism: mechanism.to_owned(), response };
        if let Some((user, password)) = &self.user {
            return vec![login("PLAIN", format!("\0{user}\0{password}").into_bytes())];
        }
        let external = self.tls.as_ref().filter(|tls| tls.has_certificate()).map(|_| login("EXTERNAL", Vec::new()));
        external.into_iter().chain([login("ANONYMOUS", b"quayline".to_vec())]).collect()
    }
}

/// A message of a broker.
#[derive(Debug)]
pub struct BrokerMessage {
    /// The delivery; [`BrokerClient::settle`] it.
    pub delivery: Delivery,
    /// The message, or why it cannot be read. Its id is zero if its sender gave it none.
    pub message: Result<Message, AmqpError>,
    /// Bytes as it arrived.
    pub bytes: usize,
}

/// An event from the broker.
#[derive(Debug)]
pub enum BrokerEvent {
    /// The broker sent a message.
    Message(Box<BrokerMessage>),
    /// The broker accepted, released or rejected a message that this side sent.
    Outcome(Delivery, Option<DeliveryState>),
    /// The credit of a link changed: the other side granted some, or used some without a message.
    Credit(LinkId),
    /// The broker closed a link.
    Detached(LinkId, BrokerError),
}

/// A connection to a broker. It belongs to one task.
#[derive(Debug)]
pub struct BrokerClient {
    wire: Wire,
    endpoint: Endpoint,
    channel: u16,
    input: Vec<u8>,
    /// Bytes of the input that were taken.
    taken: usize,
    /// True if bytes were written to the socket and not flushed.
    is_written: bool,
    began: Instant,
    container: String,
    links: u64,
}

impl BrokerClient {
    /// Connects, logs in and begins a session.
    ///
    /// # Errors
    /// The broker cannot be reached, does not accept the login, or does not speak AMQP 1.0.
    pub async fn connect(address: &BrokerAddress, login: &BrokerLogin) -> Result<Self, BrokerError> {
        let connected = async {
            let place = &address.place;
            let unreachable =
                |error: std::io::Error| BrokerError::Unreachable { place: place.to_string(), why: reason(&error) };
            let mut wire = Wire::open(place).await.map_err(unreachable)?;
            if address.is_encrypted {
                let tls = match &login.tls {
                    Some(tls) => tls.clone(),
                    None => ClientTls::from_files(None, None)
                        .map_err(|why| BrokerError::Unreachable { place: place.to_string(), why })?,
                };
                wire = wire.encrypted(place, &tls).await.map_err(unreachable)?;
            }
            let settings = ClientSettings {
                container_id: login.container.clone(),
                hostname: Some(place.server_name().to_owned()),
                logins: login.logins(),
                limits: Limits { idle_ms_max: SILENCE_MS, channel_max: 0, ..Limits::default() },
            };
            let mut client = BrokerClient {
                wire,
                endpoint: Endpoint::client(settings),
                channel: 0,
                input: Vec::new(),
                taken: 0,
                is_written: false,
                began: Instant::now(),
                container: login.container.clone(),
                links: 0,
            };
            while !client.endpoint.is_open() {
                client.event(true).await?;
            }
            client.channel = client.endpoint.begin().ok_or(BrokerError::Closed)?;
            Ok(client)
        };
        within(connected).await
    }

    /// Attaches a link that receives from a queue, without credit.
    ///
    /// # Errors
    /// The broker refuses it, or the connection ends.
    pub async fn receiver(&mut self, queue: &str) -> Result<LinkId, BrokerError> {
        self.attach(Role::Receiver, queue).await.map(|(link, _)| link)
    }

    /// Attaches a link that sends to a queue or topic. The number is the longest message in bytes that the broker takes.
    ///
    /// # Errors
    /// The broker refuses it, or the connection ends.
    pub async fn sender(&mut self, queue: &str) -> Result<(LinkId, u64), BrokerError> {
        self.attach(Role::Sender, queue).await
    }

    async fn attach(&mut self, role: Role, queue: &str) -> Result<(LinkId, u64), BrokerError> {
        let (source, target) = match role {
            Role::Receiver => (Some(queue.to_owned()), None),
            Role::Sender => (None, Some(queue.to_owned())),
        };
        self.links += 1;
        let request = LinkRequest {
            name: format!("{} {}", self.container, self.links),
            role,
            source: Source {
                address: source,
                outcomes: ["amqp:accepted:list", "amqp:rejected:list", "amqp:released:list", "amqp:modified:list"]
                    .map(str::to_owned)
                    .to_vec(),
                ..Source::default()
            },
            target: LinkTarget::Node(Box::new(Target { address: target, ..Target::default() })),
            max_message_size: MESSAGE_BYTES_MAX,
        };
        let link = self.endpoint.attach(self.channel, request).ok_or(BrokerError::Closed)?;
        let answered = async {
            loop {
                match self.event(true).await? {
                    Event::Attached(found, attach) if found == link => {
                        return Ok((link, attach.bytes_max()));
                    }
                    Event::Detached(found, error) if found == link => return Err(detached(error)),
                    // There is no other link with messages yet.
                    _ => {}
                }
            }
        };
        within(answered).await
    }

    /// Returns the next event from the broker. If `may_read` is false, nothing is read from the socket. The future can be dropped at any time
    /// without losing data.
    ///
    /// # Errors
    /// The connection ends.
    pub async fn next(&mut self, may_read: bool) -> Result<BrokerEvent, BrokerError> {
        loop {
            match self.event(may_read).await? {
                Event::Message(transferred) => {
                    let bytes = transferred.bytes.len();
                    let message = match transferred.format {
                        0 => convert::from_amqp(transferred.bytes, now_ms()).map(|arrived| arrived.message),
                        other => {
                            let what = format!("message-format is {other}, expected 0: the standard's");
                            Err(AmqpError::new(condition::NOT_IMPLEMENTED, what))
                        }
                    };
                    let message = BrokerMessage { delivery: transferred.delivery, message, bytes };
                    return Ok(BrokerEvent::Message(Box::new(message)));
                }
                Event::Outcome { delivery, state, .. } => return Ok(BrokerEvent::Outcome(delivery, state)),
                Event::Credit(link) => return Ok(BrokerEvent::Credit(link)),
                Event::Detached(link, error) => return Ok(BrokerEvent::Detached(link, detached(error))),
                _ => {}
            }
        }
    }

    /// Messages that the broker may still send on a link.
    #[must_use]
    pub fn granted(&self, link: LinkId) -> u32 {
        self.endpoint.granted(link)
    }

    /// Lets the broker send this number of messages on a link.
    pub fn grant(&mut self, link: LinkId, credit: u32) {
        self.endpoint.grant(link, credit);
    }

    /// Answers a message. [`Self::next`] sends it.
    pub fn settle(&mut self, delivery: Delivery, state: DeliveryState) {
        self.endpoint.settle(delivery, state);
    }

    /// Sends a message and waits for its outcome. `message` has its own id; `duplicate_property` is the name of an application property with the
    /// hexadecimal id, by which some brokers find duplicates.
    ///
    /// # Errors
    /// The message is too long, the outcome does not arrive in time, or the connection or link ends. In the last two cases the broker may
    /// or may not have stored the message.
    pub async fn send(
        &mut self,
        (link, bytes_max): (LinkId, u64),
        message: &Message,
        duplicate_property: Option<&str>,
        wait: Duration,
    ) -> Result<Option<DeliveryState>, BrokerError> {
        let bytes = convert::to_broker(message, now_ms(), duplicate_property);
        let length = bytes.len() as u64;
        if length > bytes_max {
            return Err(BrokerError::TooLong { bytes: length, max: bytes_max });
        }
        let sent = async {
            while !self.endpoint.can_send(link) {
                match self.event(true).await? {
                    Event::Detached(found, error) if found == link => return Err(detached(error)),
                    _ => {}
                }
            }
            let delivery = self.endpoint.send(link, bytes).ok_or(BrokerError::Closed)?;
            loop {
                match self.event(true).await? {
                    Event::Outcome { delivery: found, state, .. } if found == delivery => return Ok(state),
                    Event::Detached(found, error) if found == link => return Err(detached(error)),
                    _ => {}
                }
            }
        };
        limited(wait, sent).await
    }

    /// Closes the connection in an orderly way, so that the broker does not count messages that were not processed as failed.
    pub async fn close(mut self) {
        self.endpoint.finish();
        let closed = async { while self.event(true).await.is_ok() {} };
        let _ = tokio::time::timeout(CLOSE_WAIT, closed).await;
    }

    async fn event(&mut self, may_read: bool) -> Result<Event, BrokerError> {
        loop {
            match self.endpoint.event() {
                Some(Event::Closed(error)) => return Err(error.map_or(BrokerError::Closed, BrokerError::from)),
                Some(event) => return Ok(event),
                None => {}
            }
            let taken = self.endpoint.receive(&self.input[self.taken..]);
            self.taken += taken;
            if taken > 0 {
                continue;
            }
            if self.endpoint.is_finished() {
                return Err(BrokerError::Closed);
            }
            if !may_read {
                self.endpoint.is_not_reading();
            }
            let now_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let pause = Duration::from_millis(self.endpoint.tick(now_ms).saturating_sub(now_ms).max(1));
            tokio::select! {
                moved = poll_fn(|context| self.poll_io(context, may_read)) => moved?,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Writes and reads as much as the socket takes and has. Pending if that is nothing.
    fn poll_io(&mut self, context: &mut Context<'_>, may_read: bool) -> Poll<Result<(), BrokerError>> {
        let BrokerClient { wire, endpoint, input, taken, is_written, .. } = self;
        let mut is_moved = false;
        loop {
            let output = endpoint.output();
            if output.is_empty() {
                break;
            }
            match Pin::new(&mut *wire).poll_write(context, output) {
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Err(BrokerError::Closed)),
                Poll::Ready(Ok(count)) => {
                    endpoint.written(count);
                    (*is_written, is_moved) = (true, true);
                }
                Poll::Pending => break,
            }
        }
        if *is_written {
            match Pin::new(&mut *wire).poll_flush(context) {
                Poll::Ready(Err(_)) => return Poll::Ready(Err(BrokerError::Closed)),
                Poll::Ready(Ok(())) => *is_written = false,
                Poll::Pending => {}
            }
        }
        if may_read {
            input.drain(..*taken);
            *taken = 0;
            let known = input.len();
            input.resize(known + READ_BYTES, 0);
            let mut bytes = ReadBuf::new(&mut input[known..]);
            let read = Pin::new(&mut *wire).poll_read(context, &mut bytes);
            let count = bytes.filled().len();
            input.truncate(known + count);
            match read {
                Poll::Ready(Ok(())) if count > 0 => is_moved = true,
                Poll::Ready(_) => return Poll::Ready(Err(BrokerError::Closed)),
                Poll::Pending => {}
            }
        }
        if is_moved { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}

fn detached(error: Option<AmqpError>) -> BrokerError {
    error.map_or_else(
        || BrokerError::Refused { condition: condition::DETACH_FORCED.to_owned(), text: "the link ended".to_owned() },
        BrokerError::from,
    )
}

async fn within<T>(work: impl Future<Output = Result<T, BrokerError>>) -> Result<T, BrokerError> {
    limited(CONNECT_WAIT, work).await
}

async fn limited<T>(wait: Duration, work: impl Future<Output = Result<T, BrokerError>>) -> Result<T, BrokerError> {
    match tokio::time::timeout(wait, work).await {
        Ok(done) => done,
        Err(_) => Err(BrokerError::Late { wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX) }),
    }
}
