//! Jobs from XML to their end: semantics, restarts, crashes.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests"
)]

mod around;
mod builtins;
mod checkpoints;
mod complaints;
mod crash;
mod crash_disk;
mod database;
mod external;
mod failures;
mod history;
mod hostile;
mod http;
mod java;
mod jsl;
mod kit;
mod measured;
mod operator;
mod parquet;
mod processors;
mod semantics;
mod split;
mod tck;
