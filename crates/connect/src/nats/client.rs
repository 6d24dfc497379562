//! One connection to a NATS server.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::parser::{NatsMessage, NatsOperation, NatsParser, PAYLOAD_BYTES_MAX, ParseError};

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
/// Messages of a pull that wait while a request has no answer yet. Default 4,096; more than any pull asks for.
const WAITING_MAX: usize = 4_096;

/// Why a server does not do what is asked of it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NatsError {
    /// No connection.
    #[error("{place} cannot be reached: {why}")]
    Unreachable {
        /// Host and port.
        place: String,
        /// Reason of the system.
        why: String,
    },
    /// The connection ended.
    #[error("the connection ended")]
    Closed,
    /// No answer.
    #[error("no answer within {wait_ms} ms")]
    Late {
        /// Milliseconds.
        wait_ms: u64,
    },
    /// The server sends what is not of the protocol.
    #[error("the server does not speak the NATS protocol: {0}")]
    Protocol(#[from] ParseError),
    /// The server closes the connection or refuses an operation.
    #[error("the server says: {0}")]
    Denied(String),
    /// The server requires what this client does not have.
    #[error("the server requires {0}, which is not supported")]
    Requires(&'static str),
    /// Nobody listens on the subject: no stream takes it, or streams are not enabled.
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

/// Where a server is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NatsAddress(String);

impl NatsAddress {
    /// Reads `nats://HOST:PORT`; the port may be missing.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let place = match text.split_once("://") {
            Some(("nats", place)) => place.trim_end_matches('/'),
            Some(("tls", _)) => return Err("TLS is not supported".to_owned()),
            _ => return Err("it does not begin with nats://".to_owned()),
        };
        if place.contains('@') {
            return Err("it has a user or password, and flow files are not secret".to_owned());
        }
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (place, None),
        };
        if host.is_empty() || host.contains(['/', ' ', ',']) {
            return Err("it names no host, or more than one".to_owned());
        }
        match port.map(str::parse::<u16>) {
            None => Ok(NatsAddress(format!("{host}:{PORT}"))),
            Some(Ok(port)) if port > 0 => Ok(NatsAddress(format!("{host}:{port}"))),
            Some(_) => Err("its port is not a number from 1 to 65535".to_owned()),
        }
    }

    /// Host and port.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.0
    }
}

/// Who connects.
#[derive(Clone, Default)]
pub struct NatsLogin {
    /// Name of the connection, for the server's operator.
    pub name: String,
    /// User.
    pub user: Option<String>,
    /// Password of the user, or a token where there is no user.
    pub secret: Option<String>,
}

/// A connection. It belongs to one task.
#[derive(Debug)]
pub struct NatsClient {
    stream: TcpStream,
    parser: NatsParser,
    output: Vec<u8>,
    written: usize,
    inbox: String,
    requests: u64,
    max_payload: usize,
    waiting: VecDeque<NatsMessage>,
}

impl NatsClient {
    /// Connects. `salt` makes the subject of answers one that nobody can guess.
    ///
    /// # Errors
    /// The server cannot be reached, does not accept the login, or requires what is not supported.
    pub async fn connect(address: &NatsAddress, login: &NatsLogin, salt: u64) -> Result<Self, NatsError> {
        let greeted = async {
            let unreachable = |error: std::io::Error| NatsError::Unreachable {
                place: address.0.clone(),
                // The system's text without its number.
                why: error.to_string().split(" (os error").next().unwrap_or_default().to_owned(),
            };
            let stream = TcpStream::connect(&address.0).await.map_err(unreachable)?;
            stream.set_nodelay(true).map_err(unreachable)?;
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
            client.greet(login).await?;
            Ok(client)
        };
        match tokio::time::timeout(CONNECT_WAIT, greeted).await {
            Ok(done) => done,
            Err(_) => Err(NatsError::Late { wait_ms: u64::try_from(CONNECT_WAIT.as_millis()).unwrap_or(u64::MAX) }),
        }
    }

    async fn greet(&mut self, login: &NatsLogin) -> Result<(), NatsError> {
        let info = loop {
            match self.operation().await? {
                NatsOperation::Info(info) => break info,
                NatsOperation::Error(text) => return Err(NatsError::Denied(text)),
                _ => {}
            }
        };
        let info: serde_json::Value =
            serde_json::from_str(&info).map_err(|_| NatsError::Answer { subject: "INFO".to_owned() })?;
        if info["tls_required"] == true {
            return Err(NatsError::Requires("TLS"));
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

    /// Longest content with headers that the server takes.
    #[must_use]
    pub fn max_payload(&self) -> usize {
        self.max_payload
    }

    /// A subject that answers of a pull come to.
    pub(super) fn pull_inbox(&mut self) -> String {
        self.requests += 1;
        format!("{}.p.{}", self.inbox, self.requests)
    }

    /// Adds a message to what is sent next. Names and values of headers must have no line ends.
    ///
    /// # Errors
    /// It is too long for the server.
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
    /// Nobody listens, there is no answer in time, or the connection ends. Whether the message had an effect is then unknown.
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

    /// The next message of a pull. It may be dropped at any time without losing one.
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

    /// Sends what is published. It may be dropped at any time.
    ///
    /// # Errors
    /// The connection ends.
    pub async fn flush(&mut self) -> Result<(), NatsError> {
        while self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]).await {
                Ok(0) | Err(_) => return Err(NatsError::Closed),
                Ok(count) => self.written += count,
            }
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
