//! The engine of the store over a PostgreSQL database, for those who have a database that is backed up and replicated already.
//!
//! ```text
//!  commit, submit ──▶ waiting ──▶ thread of the engine: one transaction for all that wait, its statements sent together
//!  get, page ───────▶ the same thread, another connection: requests of all readers in flight at once
//! ```
//!
//! - **Table `entries`** holds full keys and values; `bytea` compares byte by byte, as the store does. **Table `meta`** holds the version of the
//!   schema and the position of the last commit.
//! - **Several processes at once.** Table `holds` gives a locked key or a claimed message to one process, table `waits` has the units of work that wait. Both
//!   are unlogged: a crash of the server ends all processes. A commit deletes the holds on the keys that it changes in its transaction, so a lock is free
//!   in the instant in which the change is visible. Claims use `SKIP LOCKED`.
//! - **A process lives as long as the session that commits**, which holds an advisory lock of the process. When that lock is free, no commit of the process can
//!   follow, and the others free what it held.
//! - **Processes tell each other** of free keys and new messages by `NOTIFY`, only where `waits` names somebody who listens. The question comes after the
//!   commit, and who waits writes into `waits` before it looks the last time, so no news is lost.
//! - **A lost connection poisons the engine**, because nobody knows then whether the last transaction committed. Open it again: every acknowledged
//!   unit of work is there.
//! - **TLS** is that of rustls with the settings of the address; SCRAM binds the password to the server's certificate.

mod actor;
mod engine;
mod holds;
mod sql;
mod tls;

pub use engine::PostgresEngine;
pub use quayline_postgres::Endpoint;
