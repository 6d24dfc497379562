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
//! - **A chunk is one unit of work.** Input that the reader takes, output of the writer and the checkpoint commit together in the store. A file
//!   written outside the store is truncated to the checkpoint when the step continues.
//! - **While chunk n commits, chunk n + 1 is read and processed**; it is written only when n is known to be durable.
//! - **One record for each checkpoint**: the state of the step or partition. Starting costs the same after a million executions.
//! - **One process for an execution**: each commit checks the execution's lease. Executions of an ended process become FAILED, and
//!   can be restarted.
//! - **In a database** ([`DatabaseBackend`]) a chunk's statements, its checkpoint and `COMMIT` need one round trip. Their outcome is known
//!   one chunk later: if the database refuses them, the chunk runs again with each write confirmed, and its error names the item. If the database
//!   does not respond, the engine waits, reads the last checkpoint and continues there.
//!
//! # Artifacts in Rust
//!
//! An artifact implements a trait of [`artifact`], and a [`Registry`](artifact::Registry) has the name by which jobs refer to it. This processor
//! keeps lines with a word and filters the others:
//!
//! ```
//! use std::sync::Arc;
//!
//! use quayline_batch::artifact::{Answer, Item, Processor, Registry};
//! use quayline_batch::{BatchStatus, Engine, Repository, StoreBackend, builtin};
//! use quayline_project::job::{JobFile, Parameters};
//! use quayline_store::{Access, MemoryEngine, Store, StoreLimits, SystemClock};
//!
//! struct Having(String);
//!
//! impl Processor for Having {
//!     fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
//!         let has_word = item.windows(self.0.len()).any(|bytes| bytes == self.0.as_bytes());
//!         Ok(has_word.then(|| item.clone()))
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("quayline-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! std::fs::write(folder.join("in.txt"), "a fine day\na grey one\n")?;
//! let mut registry = Registry::default();
//! builtin::register(&mut registry);
//! registry.processor("having", |with| Ok(Box::new(Having(with.required("word")?.to_owned()))));
//!
//! let store = Store::open(Arc::new(MemoryEngine::new()), Arc::new(SystemClock), StoreLimits::default(), Access::Write)?;
//! let repository = Arc::new(Repository::new(Arc::new(StoreBackend::new(store, Arc::new(SystemClock))?)));
//! let engine = Engine::new(repository, registry, folder.clone());
//! let job = JobFile::parse(
//!     "job.xml",
//!     r#"<job id="days" xmlns="https://jakarta.ee/xml/ns/jakartaee" version="2.0"><step id="copy"><chunk>
//!          <reader ref="quayline.fileReader"><properties><property name="file" value="in.txt"/></properties></reader>
//!          <processor ref="having"><properties><property name="word" value="fine"/></properties></processor>
//!          <writer ref="quayline.fileWriter"><properties><property name="file" value="out.txt"/></properties></writer>
//!        </chunk></step></job>"#,
//! )?;
//! let execution = engine.start(&job, Parameters::new())?.run()?;
//! assert_eq!(execution.status, BatchStatus::Completed);
//! assert_eq!(std::fs::read_to_string(folder.join("out.txt"))?, "a fine day\n");
//! # std::fs::remove_dir_all(folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! Departures from the specification, and choices where it is silent:
//! - A chunk also ends when its items have [`EngineSettings::chunk_bytes_max`] bytes.
//! - If a write is skipped, a writer that can isolate ([`Writer::isolates`](artifact::Writer::isolates)) loses only the items that fail; others lose
//!   the chunk.
//! - Read, write and filter counts of a chunk that rolls back are reset, so that they count items once.
//! - Each partition has a separate skip and retry limit.
//! - A loop is refused: an element runs once in an execution.

pub mod artifact;
pub mod builtin;
pub mod chunk_times;
pub mod context;
pub mod event;
pub mod log;
pub mod record;

mod civil_time;
mod codes;
mod control;
mod database;
mod delivery;
mod engine;
mod error;
mod external;
mod job_limits;
mod record_bytes;
mod repository;
mod status;
mod store_backend;
mod times;
mod work;

pub use control::StopRequests;
pub use database::DatabaseBackend;
pub use delivery::delivery;
pub use engine::{
    Assist, Assisted, Drift, Engine, EngineSettings, Launched, StartError, SystemProperties, system_property,
};
pub use error::{BatchError, ROOT_CLASSES, Thrown};
pub use event::Relay;
pub use external::{FUNCTION_TIME, FunctionProgram};
pub use repository::{ExecutionFilter, LeftBehind, Order, PartitionProgress, Repository, Slow, StepProgress};
pub use status::BatchStatus;
pub use store_backend::StoreBackend;
pub use work::{Backend, Confirm, Entry, Fence, PageOf, Pending, Work, WorkMark};
