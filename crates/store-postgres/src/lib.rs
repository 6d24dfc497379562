//! The engine of the store over a PostgreSQL database, for those who have a database that is backed up and replicated already.
//!
//! ```text
//!  commit, submit ──▶ waiting ──▶ thread of the engine: one transaction for all that wait, its statements sent together
//!  get, page ───────▶ the same thread, another connection: requests of all readers in flight at once
//! ```
//!
//! - **Table `entries`** holds full keys and values; `bytea` compares byte by byte, as the store does. **Table `meta`** holds the version of the
//!   schema and the position of the last commit.
//! - **One process at a time.** Record locks and claims of messages are in memory, so the engine holds an advisory lock of the database; a second
//!   process is refused until the first has ended or lost its connection. That makes a standby process possible, not several workers.
//! - **A lost connection poisons the engine**, because nobody knows then whether the last transaction committed. Open it again: every acknowledged
//!   unit of work is there.
//! - **No TLS here.** The driver authenticates with SCRAM; use a socket, a loopback address or a tunnel.

mod actor;
mod engine;
mod sql;

pub use engine::{Database, PostgresEngine};
