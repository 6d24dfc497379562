//! A client for NATS and its streams (JetStream) in one task. It implements the part of the protocol that the flow nodes need.
//!
//! ```text
//! socket ─▶ NatsParser: bytes ─▶ NatsOperation ─▶ NatsClient ─┬─ request ─▶ its answer
//!                                                             └─ next ────▶ messages of a pull
//! ```
//!
//! - **The client never acknowledges automatically.** The code that processes a message acknowledges it after the commit.
//! - **Bounded.** A line, a payload and the bytes of one pull have limits. The socket is read again only after the caller has taken the last message.
//! - **Logins:** user and password, a token, an NKey, or an NKey with a JWT. TLS starts after the server's first line; client certificates are supported.
//! - **Not supported:** TLS before the first line, and discovery of cluster members.
//!
//! Source: NATS client protocol; ADR-4 (headers), ADR-8, ADR-13 (pull) and ADR-15 of NATS.

mod client;
mod credentials;
mod parser;
mod stream;

pub use client::{NatsAddress, NatsClient, NatsError, NatsLogin};
pub use credentials::NatsCredentials;
pub use parser::{NatsMessage, NatsOperation, NatsParser, ParseError};
pub use stream::{Acknowledged, ConsumerFacts, ConsumerSettings, DeliveredBy, Published, StreamFacts};
