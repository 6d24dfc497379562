//! One connection to a NATS server.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::credentials::NatsCredentials;
use super::parser::{NatsMessage, NatsOperation, NatsParser, PAYLOAD_BYTES_MAX, ParseError};

use crate::dial::{ClientTls, Place, Wire, reason};

/// Longest wait for a connection and its greeting.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// Bytes of one read.
const READ_BYTES: usize = 64 << 10;
/// Port that a server listens on by default.
const PORT: u16 = 4222;
/// Subscription of answers to requests.
const ANSWERS: u64 = 1;
/// Subscription of messages that were pulled.
pub(super) const PULLED: u64 = 2;
/// Maximum number of pulled messages that are buffered during another request. Default 4,096, more than the size of any pull.
const WAITING_MAX: usize = 4_096;

/// Error of a connection to a NATS server.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NatsError {
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
    /// The server did not answer in time.
    #[error("no answer within {wait_ms} ms")]
    Late {
        /// Milliseconds.
        wait_ms: u64,
    },
    /// The server sent data that violates the protocol.
    #[error("the server does not speak the NATS protocol: {0}")]
    Protocol(#[from] ParseError),
    /// The server closes the connection or refuses an operation.
    #[error("the server says: {0}")]
    Denied(String),
    /// The server requires a feature that this client does not have.
    #[error("the server requires {0}, which is not supported")]
    Requires(&'static str),
    /// No subscriber on the subject: no stream stores it, or streams are not enabled.
    #[error("nothing listens on the subject {subject}")]
    NoResponder {
        /// The subject.
        subject: String,
    },
    /// An error of the API of streams.
    #[error("the server refuses with code {code}, error {number}: {text}")]
    Refused {
        /// Code like that of HTTP.
        code: u64,
        /// Number of the error.
        number: u64,
        /// The server's text.
        text: String,
    },
    /// The server answers to the change of a consumer, and leaves it as it was.
    #[error(
        "the server does not change the consumer {consumer}, whose subject or limits differ from those of the node"
    )]
    Unchanged {
        /// Name of the consumer.
        consumer: String,
    },
    /// An answer that is not as documented.
    #[error("the server's answer to {subject} is of no known form")]
    Answer {
        /// The subject of the request.
        subject: String,
    },
    /// A message that the server would refuse.
    #[error("the message has {bytes} bytes, and the server takes {max}")]
    TooLong {
        /// Bytes of content and headers.
        bytes: usize,
        /// The server's `max_payload`.
        max: usize,
    },
}

/// Address of a server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NatsAddress {
    place: Place,
    needs_tls: bool,
}

impl NatsAddress {
    /// Reads `nats://HOST:PORT` or `tls://HOST:PORT`; the port may be missing. Both have TLS if the server requires it, the second always.
    ///
    /// # Errors
    /// A description of the syntax error.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (needs_tls, place) = match text.split_once("://") {
            Some(("nats", place)) => (false, place),
            Some(("tls", place)) => (true, place),
            _ => return Err("it does not begin with nats:// or tls://".to_owned()),
        };
        Ok(NatsAddress { place: Place::parse(place, PORT)?, needs_tls })
    }

    /// Returns true if the connection always uses TLS.
    #[must_use]
    pub fn needs_tls(&self) -> bool {
        self.needs_tls
    }
}

/// Identity and credentials of the client.
#[derive(Clone, Default)]
pub struct NatsLogin {
    /// Name of the connection, for the server's operator.
    pub name: String,
    /// User.
    pub user: Option<String>,
    /// Password of the user, or a token if `user` is `None`.
    pub secret: Option<String>,
    /// NKey, perhaps with the user's JWT.
    pub credentials: Option<NatsCredentials>,
    /// Certificates, for a server with TLS.
    pub tls: Option<ClientTls>,
}

/// A connection. It belongs to one task.
#[derive(Debug)]
pub struct NatsClient {
    stream: Wire,
    parser: NatsParser,
    output: Vec<u8>,
    written: usize,
    inbox: String,
    requests: u64,
    max_payload: usize,
    waiting: VecDeque<NatsMessage>,
}

impl NatsClient {
    /// Connects. `salt` makes the subject of replies unpredictable.
    ///
    /// # Errors
    /// The server cannot be reached, does not accept the login, or requires an unsupported feature.
    pub async fn connect(address: &NatsAddress, login: &NatsLogin, salt: u64) -> Result<Self, NatsError> {
        let greeted = async {
            let unreachable = |error: std::io::Error| unreachable(&address.place, &error);
            let stream = Wire::open(&address.place).await.map_err(unreachable)?;
            let mut client = NatsClient {
                stream,
                parser: NatsParser::default(),
                output: Vec::new(),
                written: 0,
                inbox: format!("_INBOX.{salt:016x}"),
                requests: 0,
                max_payload: 1 << 20,
                waiting: VecDeque::new(),
            };
            client.greet(address, login).await?;

            Ok(client)
        };
        match tokio::time::timeout(CONNECT_WAIT, greeted).await {
            Ok(done) => done,
            Err(_) => Err(NatsError::Late { wait_ms: u64::try_from(CONNECT_WAIT.as_millis()).unwrap_or(u64::MAX) }),
        }
    }

    async fn greet(&mut self, address: &NatsAddress, login: &NatsLogin) -> Result<(), NatsError> {
        let info = loop {
            match self.operation().await? {
                NatsOperation::Info(info) => break info,
                NatsOperation::Error(text) => return Err(NatsError::Denied(text)),
                _ => {}
            }
        };
        let info: serde_json::Value =
            serde_json::from_str(&info).map_err(|_| NatsError::Answer { subject: "INFO".to_owned() })?;
        // The server is greeted by TLS after its first line.
        if info["tls_required"] == true || address.needs_tls {
            self.encrypt(address, login).await?;
        }
        if info["headers"] != true {
            return Err(NatsError::Requires("an older protocol without headers"));
        }
        if let Some(max) = info["max_payload"].as_u64().and_then(|max| usize::try_from(max).ok()) {
            self.max_payload = max.min(PAYLOAD_BYTES_MAX);
        }
        let mut connect = serde_json::json!({
            "verbose": false, "pedantic": false, "headers": true, "no_responders": true, "echo": true,
            "lang": "quayline", "version": env!("CARGO_PKG_VERSION"), "protocol": 1, "name": login.name,
        });
        if let Some(credentials) = &login.credentials {
            let nonce = info["nonce"].as_str().ok_or(NatsError::Requires("a login without NKey"))?;
            connect["sig"] = credentials.sign(nonce.as_bytes()).into();
            match credentials.jwt() {
                Some(jwt) => connect["jwt"] = jwt.into(),
                None => connect["nkey"] = credentials.public_key().into(),
            }
        }
        if let Some(user) = &login.user {
            connect["user"] = user.as_str().into();
        }
        if let Some(secret) = &login.secret {
            connect[if login.user.is_some() { "pass" } else { "auth_token" }] = secret.as_str().into();
        }
        let inbox = &self.inbox;
        let hello = format!("CONNECT {connect}\r\nSUB {inbox}.a.* {ANSWERS}\r\nSUB {inbox}.p.* {PULLED}\r\nPING\r\n");
        self.output.extend_from_slice(hello.as_bytes());
        loop {
            match self.operation().await? {
                NatsOperation::Pong => return Ok(()),
                NatsOperation::Error(text) => return Err(NatsError::Denied(text)),
                _ => {}
            }
        }
    }

    async fn encrypt(&mut self, address: &NatsAddress, login: &NatsLogin) -> Result<(), NatsError> {
        let place = &address.place;
        let tls = match &login.tls {
            Some(tls) => tls.clone(),
            None => ClientTls::from_files(None, None)
                .map_err(|why| NatsError::Unreachable { place: place.to_string(), why })?,
        };
        let plain = std::mem::replace(&mut self.stream, Wire::Closed);
        self.stream = plain.encrypted(place, &tls).await.map_err(|error| unreachable(place, &error))?;
        Ok(())
    }

    /// Returns the maximum length in bytes of headers and payload that the server accepts.
    #[must_use]
    pub fn max_payload(&self) -> usize {
        self.max_payload
    }

    /// Returns a new subject for the messages of a pull.
    pub(super) fn pull_inbox(&mut self) -> String {
        self.requests += 1;
        format!("{}.p.{}", self.inbox, self.requests)
    }

    /// Appends a message to the output. Names and values of headers must not contain line ends.
    ///
    /// # Errors
    /// The message is too long for the server.
    pub fn publish(
        &mut self,
        subject: &str,
        reply: Option<&str>,
        headers: &[(&str, &str)],
        payload: &[u8],
    ) -> Result<(), NatsError> {
        let mut head = String::new();
        if !headers.is_empty() {
            head.push_str("NATS/1.0\r\n");
            for (name, value) in headers {
                let _ = write!(head, "{name}: {value}\r\n");
            }
            head.push_str("\r\n");
        }
        let bytes = head.len() + payload.len();
        if bytes > self.max_payload {
            return Err(NatsError::TooLong { bytes, max: self.max_payload });
        }
        let reply = reply.unwrap_or_default();
        let line = if head.is_empty() {
            format!("PUB {subject} {reply} {bytes}\r\n")
        } else {
            format!("HPUB {subject} {reply} {} {bytes}\r\n", head.len())
        };
        for part in [line.as_bytes(), head.as_bytes(), payload, b"\r\n"] {
            self.output.extend_from_slice(part);
        }
        Ok(())
    }

    /// Publishes a message and waits for its answer.
    ///
    /// # Errors
    /// No subscriber exists for the subject, the answer does not arrive in time, or the connection ends. In the last two cases the message may
    /// or may not have had an effect.
    pub async fn request(
        &mut self,
        subject: &str,
        headers: &[(&str, &str)],
        payload: &[u8],
        wait: Duration,
    ) -> Result<NatsMessage, NatsError> {
        self.requests += 1;
        let inbox = format!("{}.a.{}", self.inbox, self.requests);
        self.publish(subject, Some(&inbox), headers, payload)?;
        let answered = async {
            loop {
                let message = self.message().await?;
                if message.subscription == ANSWERS {
                    // The answer to an earlier request whose wait was over is of no use.
                    if message.subject == inbox {
                        return Ok::<_, NatsError>(message);
                    }
                } else if self.waiting.len() < WAITING_MAX {
                    self.waiting.push_back(message);
                }
            }
        };
        let answer = match tokio::time::timeout(wait, answered).await {
            Ok(answer) => answer?,
            Err(_) => return Err(NatsError::Late { wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX) }),
        };
        match answer.status {
            Some((503, _)) => Err(NatsError::NoResponder { subject: subject.to_owned() }),
            _ => Ok(answer),
        }
    }

    /// Returns the next message of a pull. The future can be dropped at any time without losing a message.
    ///
    /// # Errors
    /// The connection ends.
    pub async fn next(&mut self) -> Result<NatsMessage, NatsError> {
        loop {
            if let Some(message) = self.waiting.pop_front() {
                return Ok(message);
            }
            let message = self.message().await?;
            if message.subscription == PULLED {
                return Ok(message);
            }
        }
    }

    async fn message(&mut self) -> Result<NatsMessage, NatsError> {
        loop {
            match self.operation().await? {
                NatsOperation::Message(message) => return Ok(*message),
                NatsOperation::Error(text) => return Err(NatsError::Denied(text)),
                NatsOperation::Info(_) | NatsOperation::Ping | NatsOperation::Pong => {}
            }
        }
    }

    /// Sends the published messages. The future may be dropped at any time.
    ///
    /// # Errors
    /// The connection ended.
    pub async fn flush(&mut self) -> Result<(), NatsError> {
        while self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]).await {
                Ok(0) | Err(_) => return Err(NatsError::Closed),
                Ok(count) => self.written += count,
            }
        }
        if self.written > 0 {
            self.stream.flush().await.map_err(|_| NatsError::Closed)?;
        }
        self.output.clear();
        self.written = 0;
        Ok(())
    }

    async fn operation(&mut self) -> Result<NatsOperation, NatsError> {
        let mut bytes = Vec::new();
        loop {
            self.flush().await?;
            match self.parser.step()? {
                Some(NatsOperation::Ping) => self.output.extend_from_slice(b"PONG\r\n"),
                Some(operation) => return Ok(operation),
                None => {
                    bytes.clear();
                    bytes.reserve(READ_BYTES);
                    match self.stream.read_buf(&mut bytes).await {
                        Ok(0) | Err(_) => return Err(NatsError::Closed),
                        // Nothing is awaited between the read and here, so no byte is lost if this is dropped.
                        Ok(_) => self.parser.push(&bytes),
                    }
                }
            }
        }
    }
}

fn unreachable(place: &Place, error: &std::io::Error) -> NatsError {
    NatsError::Unreachable { place: place.to_string(), why: reason(error) }
}
