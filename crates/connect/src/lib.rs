//! The outside of queues: a listener for AMQP 1.0, so that JMS, Python, Go, JavaScript and .NET programs use them with their own clients.
//!
//! ```text
//! listener ─▶ thread ─▶ connection: bytes ─▶ amqp::Endpoint ─▶ Client ─┬─ messages ─▶ unit of work ──commit──▶ Mailbox ─▶ settle
//!                          ▲                                            ├─ claims ──▶ transfers;  outcomes ─▶ unit of work ─▶ confirm
//!                          └──────────────── bytes ◀────────────────────┴─ transactions: one unit of work each
//! ```
//!
//! - **A message is accepted when its unit of work is durable**, and not before. No thread waits for that: the commit leaves its
//!   outcome in the `Mailbox` of its connection. Messages and acknowledgments from one read are one unit of work.
//! - **A message that is sent is claimed**; its get becomes a part of a unit of work when the client accepts it.
//! - **A transaction of the client is a unit of work.**
//! - **Everything is bounded** by [`ListenerLimits`] and the limits of `quayline-amqp`. Quayline stops sending to a slow client,
//!   and stops reading from one that is faster than the disk.
//! - One thread serves many connections; a connection never leaves its thread.
//!
//! Clients reach what others have: [`BrokerClient`] queues of AMQP 1.0 brokers, [`NatsClient`] streams of NATS, [`KafkaConnection`] topics of Kafka.

mod auth;
mod batch;
mod broker;
mod browse;
mod client;
mod connection;
mod convert;
mod coordinator;
mod dial;
mod facts;
mod get;
mod ids;
mod kafka;
mod links;
mod listener;
mod mailbox;
mod nats;
mod put;
mod settings;
mod temporary;
mod transaction;

pub use auth::{Anonymous, Authenticator, Transport};
pub use broker::{BrokerAddress, BrokerClient, BrokerError, BrokerEvent, BrokerLogin, BrokerMessage};
pub use dial::ClientTls;
pub use facts::ListenerFacts;
pub use kafka::{
    Cluster, Fetched, KafkaAddress, KafkaConnection, KafkaError, KafkaLogin, KafkaRecord, Leader, Producer,
    partition_of_key,
};
pub use listener::{ListenError, Listener};
pub use nats::{
    Acknowledged, ConsumerFacts, ConsumerSettings, DeliveredBy, NatsAddress, NatsClient, NatsCredentials, NatsError,
    NatsLogin, NatsMessage, NatsOperation, NatsParser, ParseError, Published, StreamFacts,
};
pub use quayline_amqp::{AmqpError, Delivery, DeliveryState, LinkId};
pub use settings::{ListenerLimits, ListenerSettings, TlsSettings};
