//! The server as its clients and operators see it: real sockets, real programs.
#![expect(clippy::unwrap_used, reason = "a test stops at what is wrong")]

mod access;
mod agreement;
mod audit;
mod dealership;
mod failing_programs;
mod hostile;
mod http;
mod issuer;
mod limits;
mod operation;
mod parameters;
mod proxies;
mod queues;
mod records;
mod reload;
mod sql;
mod telemetry;
mod tls;
mod world;
