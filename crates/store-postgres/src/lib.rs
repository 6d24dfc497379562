//! Store engine over a PostgreSQL database, for installations that already back up and replicate a database.
//!
//! ```text
//!  commit, submit ──▶ waiting ──▶ thread of the engine: one transaction for all that wait, its statements sent together
//!  get, page ───────▶ the same thread, another connection: requests of all readers in flight at once
//! ```
//!
//! - **Table `entries`** holds full keys and values; `bytea` compares byte by byte, as the store does. **Table `meta`** holds the version of the
//!   schema and the position of the last commit.
//! - **Several processes at once.** Table `holds` records which process has a key locked or a message claimed. Table `waits` has the units of work that
//!   wait. Both are unlogged: a crash of the server ends all processes. A commit deletes the locks on the keys that it changes in its own transaction, so a
//!   lock becomes free at the same instant as the change becomes visible. Claims use `SKIP LOCKED`.
//! - **A process lives as long as the session that commits**, which holds an advisory lock for the process. Once that lock is free, the process can commit
//!   nothing more, and the other processes release what it held.
//! - **Processes notify each other** of free keys and new messages with `NOTIFY`, but only if `waits` names a listener. The check runs after the commit,
//!   and a waiting process inserts its row into `waits` before it looks for the last time, so no notification is lost.
//! - **A lost connection closes the engine for good**, because it is unknown whether the last transaction committed. Reopen the store: every
//!   acknowledged unit of work is there.
//! - **TLS** uses rustls with the settings of the address. SCRAM binds the password to the server's certificate.

mod actor;
mod completions;
mod connection;
mod engine;
mod hold_wish;
mod holds;
mod rows;
mod session;
mod sql;
mod state;
mod tls;

pub use engine::PostgresEngine;
pub use quayline_postgres::Endpoint;
