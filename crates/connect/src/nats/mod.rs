//! A client for NATS and its streams (JetStream): as much of the protocol as the nodes of flows need, in one task.
//!
//! ```text
//! socket ─▶ NatsParser: bytes ─▶ NatsOperation ─▶ NatsClient ─┬─ request ─▶ its answer
//!                                                             └─ next ────▶ messages of a pull
//! ```
//!
//! - **The client never acknowledges by itself.** Whoever processes a message does, after the commit.
//! - **Bounded.** A line, a payload and the bytes of one pull have limits; nothing is read from the socket before the last message was taken.
//! - **Logins:** a user with a password, a token, an NKey, or an NKey with a JWT; TLS after the server's first line, with a certificate of this side.
//! - **Not supported:** TLS before the first line, and clusters with discovery.
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
