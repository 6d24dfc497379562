//! One connection to a broker: a request, then its answer.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::requests::{Leader, NEEDED};
use super::wire::{In, Out};
use crate::dial::{ClientTls, Place, Wire, reason};

/// Longest wait for a connection and its login.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// Maximum length of a response in bytes. Default 256 MiB: a response exceeds the requested size only if its first batch does.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Port that brokers listen on by default.
const PORT: u16 = 9092;
/// Requests of the login.
const API_VERSIONS: (i16, i16) = (18, 0);
const SASL_HANDSHAKE: (i16, i16) = (17, 1);
const SASL_AUTHENTICATE: (i16, i16) = (36, 0);

/// Error of a connection to a Kafka broker.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KafkaError {
    /// The connection could not be established.
    #[error("{place} cannot be reached: {why}")]
    Unreachable {
        /// Hosts and ports.
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
        /// Milliseconds.
        wait_ms: u64,
    },
    /// The broker refuses the login.
    #[error("the broker refuses the login: {0}")]
    Login(String),
    /// The broker is too old or too new.
    #[error("the broker takes versions {min} to {max} of request {kind}, expected {version}")]
    Version {
        /// Number of the kind of request.
        kind: i16,
        /// The version that this client has.
        version: i16,
        /// The oldest.
        min: i16,
        /// The newest.
        max: i16,
    },
    /// An error of the protocol.
    #[error("{what}: Kafka error {code}")]
    Refused {
        /// Number of the error in the protocol guide.
        code: i16,
        /// The topic, partition or id that the error concerns.
        what: String,
    },
    /// The partition does not have the offset.
    #[error("partition {partition} does not have offset {offset}")]
    OutOfRange {
        /// Partition.
        partition: u32,
        /// Offset.
        offset: i64,
    },
    /// A batch that cannot be read.
    #[error("the batch at offset {offset} has {what}")]
    Batch {
        /// First offset.
        offset: i64,
        /// A description of the problem.
        what: String,
    },
    /// An answer that is not as documented.
    #[error("an answer of the broker is of no known form: {0}")]
    Answer(&'static str),
}

/// Addresses of the brokers of a cluster.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KafkaAddress {
    places: Vec<Place>,
    is_encrypted: bool,
}

impl KafkaAddress {
    /// Reads `kafka://HOST:PORT,HOST:PORT` or, with TLS, `kafkas://…`; ports may be missing. One broker that is up is enough.
    ///
    /// # Errors
    /// A description of the syntax error.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (is_encrypted, places) = match text.split_once("://") {
            Some(("kafka", places)) => (false, places),
            Some(("kafkas", places)) => (true, places),
            _ => return Err("it does not begin with kafka:// or kafkas://".to_owned()),
        };
        let places = places.split(',').map(|place| Place::parse(place, PORT)).collect::<Result<_, _>>()?;
        Ok(KafkaAddress { places, is_encrypted })
    }

    /// Returns true if connections use TLS.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }
}

/// Identity and credentials of the client.
#[derive(Clone, Default)]
pub struct KafkaLogin {
    /// Name of the client, for the operator.
    pub name: String,
    /// User and password (SASL PLAIN).
    pub user: Option<(String, String)>,
    /// Certificates, for brokers with TLS.
    pub tls: Option<ClientTls>,
}

/// A connection to one broker. It belongs to one task.
#[derive(Debug)]
pub struct KafkaConnection {
    wire: Wire,
    name: String,
    correlation: i32,
}

impl KafkaConnection {
    /// Connects to the first broker of a cluster that answers.
    ///
    /// # Errors
    /// No broker can be reached, or none accepts the login.
    pub async fn connect(address: &KafkaAddress, login: &KafkaLogin) -> Result<Self, KafkaError> {
        let mut last = KafkaError::Closed;
        for place in &address.places {
            match KafkaConnection::to(place, address.is_encrypted, login).await {
                Ok(connection) => return Ok(connection),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Connects to the leader of partitions.
    ///
    /// # Errors
    /// As for [`Self::connect`].
    pub async fn connect_leader(
        address: &KafkaAddress,
        leader: &Leader,
        login: &KafkaLogin,
    ) -> Result<Self, KafkaError> {
        KafkaConnection::to(&leader.0, address.is_encrypted, login).await
    }

    async fn to(place: &Place, is_encrypted: bool, login: &KafkaLogin) -> Result<Self, KafkaError> {
        let connected = async {
            let unreachable =
                |error: std::io::Error| KafkaError::Unreachable { place: place.to_string(), why: reason(&error) };
            let mut wire = Wire::open(place).await.map_err(unreachable)?;
            if is_encrypted {
                let tls = match &login.tls {
                    Some(tls) => tls.clone(),
                    None => ClientTls::from_files(None, None)
                        .map_err(|why| KafkaError::Unreachable { place: place.to_string(), why })?,
                };
                wire = wire.encrypted(place, &tls).await.map_err(unreachable)?;
            }
            let mut connection = KafkaConnection { wire, name: login.name.clone(), correlation: 0 };
            connection.check_versions().await?;
            if let Some((user, password)) = &login.user {
                connection.log_in(user, password).await?;
            }
            Ok(connection)
        };
        limited(CONNECT_WAIT, connected).await
    }

    async fn check_versions(&mut self) -> Result<(), KafkaError> {
        let answer = self.call(API_VERSIONS, &[], CONNECT_WAIT).await?;
        let mut input = In(&answer);
        match input.i16()? {
            0 => {}
            code => return Err(KafkaError::Refused { code, what: "versions".to_owned() }),
        }
        let mut known = Vec::new();
        for _ in 0..input.count()? {
            known.push((input.i16()?, input.i16()?, input.i16()?));
        }
        for (kind, version) in NEEDED {
            let (min, max) = known.iter().find(|known| known.0 == kind).map_or((0, -1), |known| (known.1, known.2));
            if !(min..=max).contains(&version) {
                return Err(KafkaError::Version { kind, version, min, max });
            }
        }
        Ok(())
    }

    /// Logs in with SASL PLAIN. Source: RFC 4616, KIP-43, KIP-152.
    async fn log_in(&mut self, user: &str, password: &str) -> Result<(), KafkaError> {
        let mut request = Out::default();
        request.text("PLAIN");
        let answer = self.call(SASL_HANDSHAKE, &request.0, CONNECT_WAIT).await?;
        if In(&answer).i16()? != 0 {
            return Err(KafkaError::Login("it does not offer SASL PLAIN".to_owned()));
        }
        let token = format!("\0{user}\0{password}");
        let mut request = Out::default();
        request.count(token.len()).bytes(token.as_bytes());
        let answer = self.call(SASL_AUTHENTICATE, &request.0, CONNECT_WAIT).await?;
        let mut input = In(&answer);
        match input.i16()? {
            0 => Ok(()),
            _ => Err(KafkaError::Login(input.text()?.unwrap_or("no reason").to_owned())),
        }
    }

    /// Sends a request of a kind and version, and waits for its answer. A connection whose call is dropped must not be used again.
    pub(super) async fn call(
        &mut self,
        (kind, version): (i16, i16),
        body: &[u8],
        wait: Duration,
    ) -> Result<Vec<u8>, KafkaError> {
        self.correlation = self.correlation.wrapping_add(1);
        let mut head = Out::default();
        head.i16(kind).i16(version).i32(self.correlation).text(&self.name);
        let mut request = Out::default();
        request.count(head.0.len() + body.len()).bytes(&head.0).bytes(body);
        let answered = async {
            let closed = |_| KafkaError::Closed;
            self.wire.write_all(&request.0).await.map_err(closed)?;
            self.wire.flush().await.map_err(closed)?;
            let mut length = [0; 4];
            self.wire.read_exact(&mut length).await.map_err(closed)?;
            let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
            if !(4..=ANSWER_BYTES_MAX).contains(&length) {
                return Err(KafkaError::Answer("its length is out of range"));
            }
            let mut correlation = [0; 4];
            self.wire.read_exact(&mut correlation).await.map_err(closed)?;
            if i32::from_be_bytes(correlation) != self.correlation {
                return Err(KafkaError::Answer("it is to another request"));
            }
            // The room grows with what arrives.
            let mut answer = Vec::new();
            let rest = u64::try_from(length - 4).unwrap_or(u64::MAX);
            (&mut self.wire).take(rest).read_to_end(&mut answer).await.map_err(closed)?;
            if answer.len() == length - 4 { Ok(answer) } else { Err(KafkaError::Closed) }
        };
        limited(wait, answered).await
    }
}

async fn limited<T>(wait: Duration, work: impl Future<Output = Result<T, KafkaError>>) -> Result<T, KafkaError> {
    match tokio::time::timeout(wait, work).await {
        Ok(done) => done,
        Err(_) => Err(KafkaError::Late { wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX) }),
    }
}
