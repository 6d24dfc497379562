//! Tests of AMQP 1.0: golden vectors, laws, and conversations with an endpoint.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod client;
mod conversation;
mod laws;
mod vectors;
