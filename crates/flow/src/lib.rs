//! Message flows: nodes and wires between queues, record files, folders and maps, executed exactly once on few threads.
//!
//! ```text
//! flows/orders.toml ─ project::FlowFile ─▶ Flow: shapes along the wires, expressions and maps compiled
//!                                            │ Engine::deploy
//!                                            ▼
//!            thread 1                                thread 2            a runtime each; they share the store and the counters
//!            run_flow: Pipes, Lanes, Inputs          …
//!              Input ─claims─▶ unit_of_work (a future) ─▶ nodes ─▶ submit ─▶ Ended ─▶ Input
//!                │                  │ waits for: commit, record lock, room in a queue, time
//!                ▼                  ▼
//!            store: queues       store: record files, checkpoints: one Unit, one commit
//! ```
//!
//! - **A unit of work is a future, not a thread.** It is created when a message is claimed and ends with its commit or rollback. Idle instances cost
//!   nothing, and a commit, a lock or a full queue blocks a future and no thread.
//! - **One unit of work for everything**: the get, record changes, puts, checkpoints of passes, files in the outbox. A failure rolls back all of them.
//! - **Other systems are reached through an outbox.** A message for a database or a server is in a queue until it is accepted (`deliver`). A rollback
//!   therefore sends nothing, and after a crash the other side can recognize a repetition. Groups that wait for messages are in the store, too (`aggregate`).
//! - **Failures take one path**: the `failure` terminal of the node, the nearest `try`, the `catch` terminal of the input, the rollback. The queue counts
//!   the failures, increases the retry delay, and finally moves the message to its backout queue.
//! - **Shapes are known before a message arrives.** Expressions and maps are checked against the messages that reach their node.

mod aggregate;
mod amqp;
mod answered;
mod answers;
mod call;
mod codes;
mod compile;
mod deliver;
mod edges;
mod engine;
mod expired;
mod expression;
mod failure;
mod folder;
mod http;
mod input;
mod kafka;
mod kafka_output;
mod message;
mod metrics;
mod names;
mod nats;
mod nodes;
mod numbers;
mod operators;
mod outbox;
mod owner;
mod page;
mod picture;
mod pipes;
mod program;
mod records;
mod run;
mod sql;
mod sql_input;
mod stats;
mod stranded;
mod taken;
mod tls;
mod trace;
mod trading;
mod worker;

pub use compile::{Flow, STATUS_OUTLINE, flow_files, missing_definitions, shared_addresses};
pub use edges::Edge;
pub use engine::{Commits, Engine, EngineOptions, FlowState};
pub use message::ENVELOPE_NAMES;
pub use metrics::{METRICS, Metric, metrics};
pub use operators::{answer, not_ready};
pub use outbox::LeftFiles;
pub use page::page;
pub use picture::{Note, svg, text, text_with};
pub use program::shared_modules;
pub use run::Observer;
pub use stats::{CpuPart, CpuSplit, FlowStats, LastError, NodeStats};
pub use trace::TraceEvent;
pub use trading::uses_partners;
