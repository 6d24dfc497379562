//! Tests of the listener.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that fails should say where")]

mod clients;
mod kill;
mod limits;
mod messages;
mod peer;
mod server;
