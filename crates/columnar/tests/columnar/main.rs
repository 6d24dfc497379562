//! Columns, Arrow IPC and Parquet, read back by the libraries' own readers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod dump;
mod files;
mod laws;
mod model;
mod nesting;
mod numbers;
mod reading;
mod refusals;
