//! Jakarta Batch jobs: restartable, with checkpoints that commit together with the data.
//!
//! ```text
//! jobs/NAME.xml ─▶ project::job ─▶ Engine ──▶ Repository: instances, executions, steps, checkpoints
//!                                    │                │ Backend: units of work
//!                                    ▼                ▼
//!              Registry: readers, processors, writers ──▶ Work: data and checkpoint commit together
//! ```
//!
//! - [`Engine`] runs executions on the threads of its callers; [`Engine::start`] and [`Engine::restart`] create them.
//! - **A chunk is one unit of work.** What the reader takes, what the writer puts and the checkpoint commit together in the store. A file that is
//!   written outside the store is cut back to the checkpoint when the step continues.
//! - **While chunk n commits, chunk n + 1 is read and processed**; it is written only when n is known to be durable.
//! - **One record for each checkpoint**: the state of the step or partition. Launching costs the same after a million executions.
//! - **One process for an execution**: each commit looks at the execution's lease. What is left of a process that ended becomes FAILED, and
//!   can be restarted.
//! - **In a database** ([`DatabaseBackend`]) a chunk's statements, its checkpoint and `COMMIT` travel in one round trip. Whether they hold is known
//!   one chunk later: if the database refuses them, the chunk runs again with each write confirmed, and its error names the item. If the database
//!   does not answer, the engine waits, reads the last checkpoint and continues there.
//!
//! Departures from the specification, and choices where it is silent:
//! - A chunk also ends when its items have [`EngineSettings::chunk_bytes_max`] bytes.
//! - A writer that can isolate ([`Writer::isolates`](artifact::Writer::isolates)) loses only the items that fail when a write is skipped; others lose the chunk.
//! - Read, write and filter counts of a chunk that rolls back are taken back, so that they count items once.
//! - A partition has a skip and a retry limit of its own.
//! - A loop is refused: an element runs once in an execution.

pub mod artifact;
pub mod builtin;
pub mod context;
pub mod event;
pub mod log;
pub mod record;

mod codes;
mod control;
mod database;
mod engine;
mod error;
mod external;
mod repository;
mod status;
mod store_backend;
mod work;

pub use control::StopRequests;
pub use database::DatabaseBackend;
pub use engine::{
    Assist, Assisted, Drift, Engine, EngineSettings, Launched, StartError, SystemProperties, system_property,
};
pub use error::{BatchError, ROOT_CLASSES, Thrown};
pub use external::{FUNCTION_TIME, FunctionProgram};
pub use repository::{ExecutionFilter, LeftBehind, PartitionProgress, Repository, Slow, StepProgress};
pub use status::BatchStatus;
pub use store_backend::StoreBackend;
pub use work::{Backend, Entry, Fence, PageOf, Pending, Work, WorkMark};
