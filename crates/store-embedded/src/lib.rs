//! The embedded engine of the store: one data folder, no server.
//!
//! ```text
//!  commit, submit ──▶ group ──one write, one sync──▶ log (segment files)
//!                       │ durable                       │ freed when applied
//!                       ▼                               │
//!                     delta: active ──freeze──▶ frozen ─┤ applier: batches by key, each with the log position
//!                       ▲                               ▼
//!  get, page ───────────┴──────── snapshots ◀──── applied store (redb)
//! ```
//!
//! - **The log makes a commit durable; the applied store makes it findable.** Concurrent commits become one write and one sync. Changes are readable
//!   from memory at once and reach the tree in the background, sorted, in batches that do not hold the disk for long.
//! - **Recovery** opens the applied store and replays the log from the position that it remembers. A torn end of the log is where replay ends; an
//!   intact group after a damaged one is an error that names both.
//! - **A failed write or sync poisons the engine.** No later commit succeeds; open the store again. Reads continue to answer what was committed.
//! - **All file access goes through [`Medium`]**, and the clock is injected, so tests run the engine over a disk that loses, reorders and tears
//!   what was not synced ([`fake`]).
//!
//! `docs/reference/store-format.md` draws the files byte by byte and states what is assumed of the medium.

mod applied;
mod applier;
mod applier_signals;
mod delta;
mod engine;
mod exchange;
pub mod fake;
mod group_commit;
mod groups;
mod log;
mod medium;
mod overlay;
mod page;
mod readable;
mod record_cache;
mod save_folder;
mod saves;
mod settings;
mod shared;
mod sorted_changes;
mod tree_file;

pub use engine::EmbeddedEngine;
pub use exchange::{Recovered, exchange_stores, foreign_files, recover_exchange, restoring_folder, sync_parent};
pub use medium::{Folder, Medium, MediumFile, OpenMode};
pub use overlay::Overlay;
pub use save_folder::SaveFolder;
pub use saves::{SaveSource, save_to_folder};
pub use settings::{Durability, Settings, Work};
