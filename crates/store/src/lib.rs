//! The unit of work: keyed record files, queues, checkpoints, control numbers and the transaction log that commit together.
//!
//! ```text
//!  record files ──┐   queues ──┐   numbers, checkpoints, log
//!   keys, indexes │    claims  │            │
//!                 ▼            ▼            ▼
//!               Unit: own changes (ordered), record locks, outcomes
//!                 │ Batch: changes of one unit, one for each key
//!                 ▼
//!               Engine: get, page, commit, submit ──▶ in-memory twin │ embedded (own log, delta, redb)
//! ```
//!
//! - **An engine knows bytes by key and nothing else.** Record files and queues are written once, above it, so every engine has them alike.
//! - **A unit of work is a list of changes until its commit.** Nothing of it reaches the engine before, so rolling back costs nothing and a crash
//!   leaves nothing behind, however many units are open.
//! - **Isolation.** Changes and reads for update lock their keys until the outcome is visible. A deadlock is found when the last lock of the
//!   circle is asked for; the unit that asks gets [`StoreError::Deadlock`]. Other reads see the newest commit.
//! - **A commit holds no thread.** [`Unit::submit`] gives a future, [`Unit::submit_with`] calls back; [`Unit::commit`] waits and may do the work of the
//!   whole group on the calling thread, which saves two switches of threads.
//! - **Everything is bounded** by [`StoreLimits`] and the engine's own limits; a bound that is reached is an error or makes the caller wait.

mod bytes;
mod catalog;
mod clock;
mod codec;
mod dropping;
mod engine;
mod error;
mod file_use;
mod limits;
mod lock;
mod memory;
mod status;
mod store;
mod ticket;
mod unit;
mod usage;

pub mod conformance;
pub mod queue;
pub mod record_file;
pub mod save;
pub mod shared;

pub use bytes::{FullKey, Space, Value};
pub use clock::{Clock, ManualClock, SystemClock};
pub use engine::{
    Batch, Change, Completion, Direction, EVERY_ENTRY, Engine, EngineFacts, EntryRange, EntryVisit, KeyRange,
    LoadSource, Page, PageLimit, Position, SalvageVisit, Salvaged, Snapshot, full_bounds,
};
pub use error::*;
pub use file_use::{FileUse, PageKind, count_page};
pub use limits::StoreLimits;
pub use lock::{LockWait, UnitId};
pub use memory::MemoryEngine;
pub use status::FileStatus;
pub use store::{Access, Store};
pub use ticket::Ticket;
pub use unit::{Cause, RollBack, Unit, UnitMark};
pub use usage::{Owner, OwnerFacts, Sampled, UsageFacts};
