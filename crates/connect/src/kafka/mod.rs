//! A client for Kafka: as much of its protocol as the nodes of flows need.
//!
//! ```text
//! socket ─▶ KafkaConnection::call ─▶ bytes of an answer ─▶ requests: Cluster, offsets, Fetched ─▶ records: batches ─▶ KafkaRecord
//! ```
//!
//! - **Positions are the user's.** There are no consumer groups, and nothing is committed to Kafka.
//! - **A producer's numbers are the user's, too**: with the producer id, epoch and sequence number of an earlier attempt, the broker finds a batch that it
//!   has already, also after a crash of this side.
//! - **Bounded.** An answer, a batch and its uncompressed records have limits. Each count is compared with the bytes that are left.
//! - **Old versions on purpose.** Each request has the oldest version that Kafka 4 still takes, which brokers have had since Kafka 1.0.
//!
//! Source: Kafka protocol guide; KIP-98 (idempotent producer, batches), KIP-896 (oldest versions).

mod connection;
mod records;
mod requests;
mod wire;

pub use connection::{KafkaAddress, KafkaConnection, KafkaError, KafkaLogin};
pub use records::{KafkaRecord, Producer, partition_of_key};
pub use requests::{Cluster, Fetched, Leader};
