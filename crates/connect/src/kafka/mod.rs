//! A Kafka client that implements the part of the protocol that the flow nodes need.
//!
//! ```text
//! socket ─▶ KafkaConnection::call ─▶ bytes of an answer ─▶ requests: Cluster, offsets, Fetched ─▶ records: batches ─▶ KafkaRecord
//! ```
//!
//! - **The caller keeps the positions.** There are no consumer groups, and nothing is committed to Kafka.
//! - **The caller keeps the producer numbers, too.** After a crash, the caller retries with the producer id, epoch and sequence number of the
//!   earlier attempt, and the broker recognizes a batch that it already has.
//! - **Bounded.** A response, a batch and its uncompressed records have limits. Each count is compared with the number of bytes left.
//! - **Deliberately old versions.** Each request uses the oldest version that Kafka 4 accepts; brokers since Kafka 1.0 support it.
//!
//! Source: Kafka protocol guide; KIP-98 (idempotent producer, batches), KIP-896 (oldest versions).

mod connection;
mod records;
mod requests;
mod wire;

pub use connection::{KafkaAddress, KafkaConnection, KafkaError, KafkaLogin};
pub use records::{KafkaRecord, Producer, partition_of_key};
pub use requests::{Cluster, Fetched, Leader};
