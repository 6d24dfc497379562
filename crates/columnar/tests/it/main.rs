//! Columns, Arrow IPC and Parquet, read back by the libraries' own readers.

mod dump;
mod files;
mod laws;
mod model;
mod nesting;
mod numbers;
mod refusals;
