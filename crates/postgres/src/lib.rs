//! A blocking PostgreSQL connection for batch work: many statements travel in one write, and their answers are read when they are needed.
//!
//! ```text
//! Pipeline: Bind + Execute of any number of statements ──┐
//!                                                        ├─ Connection::send ─▶ one write, one Sync ─▶ server
//! Answers: counts, rows, or the statement that failed ◀──┴─ Connection::receive ◀─ as late as the caller likes
//! ```
//!
//! - [`Transaction`] collects statements, sends them together with `COMMIT`, and finds out afterwards whether they held.
//! - A statement is parsed once by each connection that uses it.
//! - An error names the statement of the pipeline that failed, so that its sender can name the item.
//! - Large pipelines are written while their answers are read, so neither side waits for the other's buffers.
//!
//! `tokio-postgres` serves the store. This crate exists beside it because a chunk step is synchronous, and because a pipeline of thousands of
//! single-row statements costs a quarter of the CPU when nothing is allocated for each. Authentication (SCRAM, MD5) is that of
//! `postgres-protocol`. TLS is that of rustls, and where the server offers it, SCRAM binds the password to the server's certificate.

mod answers;
mod connection;
mod cursor;
mod endpoint;
mod error;
mod pipeline;
mod pool;
pub mod server;
mod tls;
mod transaction;

pub use answers::{Answers, Row};
pub use connection::Connection;
pub use cursor::Cursor;
pub use endpoint::{Endpoint, EndpointError};
pub use error::{Refusal, SqlError};
pub use pipeline::{Format, Param, Pipeline, Statement};
pub use pool::Pool;
pub use tls::{TlsMode, TlsSettings, channel_binding, server_name};
pub use transaction::{OnItsWay, Savepoint, Transaction};
