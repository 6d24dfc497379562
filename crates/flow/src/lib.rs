//! Message flows: nodes and wires between queues, record files, folders and maps, run exactly once on few threads.
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
//! - **A unit of work is a future, not a thread.** It is created when a message is claimed and ends with its commit or rollback, so idle instances cost
//!   nothing, and a commit, a lock or a full queue holds a future and no thread.
//! - **One unit of work for everything**: the get, record changes, puts, checkpoints of passes, files of the outbox. What fails is rolled back as a whole.
//! - **The outside is behind an outbox.** What leaves for a database or a server is a message of a queue until it is accepted (`deliver`), so a rollback
//!   never leaves and a crash repeats what the other side can recognize. Messages that wait for others of their group are in the store, too (`aggregate`).
//! - **Failures have one way**: the `failure` terminal of the node, the nearest `try`, the `catch` terminal of the input, the rollback. The queue then counts,
//!   waits longer each time, and moves the message to its backout queue.
//! - **Shapes are known before a message comes.** Expressions and maps are checked against what arrives at their node.

mod aggregate;
mod amqp;
mod answers;
mod call;
mod codes;
mod compile;
mod deliver;
mod edges;
mod engine;
mod expression;
mod failure;
mod folder;
mod http;
mod input;
mod kafka;
mod kafka_output;
mod message;
mod metrics;
mod nats;
mod nodes;
mod numbers;
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
mod taken;
mod tls;
mod trace;
mod worker;

pub use compile::{Flow, STATUS_OUTLINE, flow_files, missing_definitions, shared_addresses};
pub use edges::Edge;
pub use engine::{Commits, Engine, EngineOptions, FlowState};
pub use message::ENVELOPE_NAMES;
pub use metrics::{METRICS, Metric, metrics};
pub use page::page;
pub use picture::{Note, svg, text, text_with};
pub use program::shared_modules;
pub use run::Observer;
pub use stats::{CpuPart, CpuSplit, FlowStats, LastError, NodeStats};
pub use trace::TraceEvent;
