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
//! - **An engine stores bytes by key and has no other concept.** Record files and queues are implemented once, above it, so they behave the same with
//!   every engine.
//! - **A unit of work is a list of changes until its commit.** None of them reaches the engine before, so a rollback costs nothing and a crash
//!   leaves no trace, regardless of the number of open units.
//! - **Isolation.** Changes and reads for update lock their keys until the outcome is visible. A deadlock is detected when the last lock of the
//!   cycle is requested; the requesting unit gets [`StoreError::Deadlock`]. Other reads see the newest commit.
//! - **A commit blocks no thread.** [`Unit::submit`] returns a future and [`Unit::submit_with`] calls back. [`Unit::commit`] blocks and may do the
//!   work of the whole commit group on the calling thread, which saves two thread switches.
//! - **Everything is bounded** by [`StoreLimits`] and the engine's limits; reaching a limit is an error or blocks the caller.
//!
//! ```
//! use std::sync::Arc;
//!
//! use quayline_store::queue::{GetWait, Message, QueueDefinition, Select};
//! use quayline_store::{Access, MemoryEngine, Store, StoreLimits, SystemClock};
//!
//! let engine = Arc::new(MemoryEngine::new());
//! let store = Store::open(engine, Arc::new(SystemClock), StoreLimits::default(), Access::Write)?;
//! let mut unit = store.begin()?;
//! store.define_queue(&mut unit, QueueDefinition::local("ORDERS"))?;
//! store.define_queue(&mut unit, QueueDefinition::local("SHIPPING"))?;
//! unit.commit()?;
//! let (orders, shipping) = (store.queue("ORDERS")?, store.queue("SHIPPING")?);
//! let mut unit = store.begin()?;
//! orders.put(&mut unit, &Message::new("order 4711"))?;
//! unit.commit()?;
//!
//! // A get and a put commit together. If the unit is dropped or rolled back, the message is on ORDERS as before.
//! let mut unit = store.begin()?;
//! let message = orders.get(&mut unit, Select::First, GetWait::No)?;
//! shipping.put(&mut unit, &message)?;
//! unit.commit()?;
//! # Ok::<(), quayline_store::StoreError>(())
//! ```

mod bytes;
mod catalog;
mod clock;
mod codec;
mod dropping;
mod engine;
mod error;
mod file_use;
mod guard;
mod limits;
mod lock;
mod memory;
mod page;
mod roll_back;
mod status;
mod store;
mod sweep;
mod ticket;
mod unit;
mod unit_id;
mod usage;

pub mod conformance;
pub mod queue;
pub mod record_file;
pub mod save;
pub mod shared;

pub use bytes::{FullKey, Space, Value};
pub use catalog::check_name;
pub use clock::{Clock, ManualClock, SystemClock};
pub use engine::{
    Batch, Change, Completion, EVERY_ENTRY, Engine, EngineFacts, EntryRange, EntryVisit, LoadSource, Position,
    SalvageVisit, Salvaged, Snapshot, full_bounds,
};
pub use error::*;
pub use file_use::{FileUse, PageKind, count_page};
pub use guard::{GuardedPanic, count_guarded_panic, guarded, is_guarded};
pub use limits::StoreLimits;
pub use lock::LockWait;
pub use memory::MemoryEngine;
pub use page::{Direction, KeyRange, Page, PageLimit};
pub use roll_back::{Cause, RollBack};
pub use status::FileStatus;
pub use store::{Access, Store};
pub use ticket::Ticket;
pub use unit::{Unit, UnitMark};
pub use unit_id::UnitId;
pub use usage::{Owner, OwnerFacts, Sampled, UsageFacts};
